// Part III, Completion: what an argument that is being typed could become.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assemble, completions, server, type Completer } from "../mcp-raw.ts";
import { lane, request } from "./kit-http.ts";

const LANGUAGES = ["JavaScript", "Java", "Python", "pytorch", "Cython", "PyPy", "Rust"];
const many = (count: number) => Array.from({ length: count }, (_, at) => `v${at}`);
const completer = (complete: Record<string, Completer>) => completions({
  prompts: [{ name: "review", arguments: [{ name: "language" }, { name: "framework" }], complete }],
  templates: [{ uriTemplate: "note:{id}", complete: { id: ["1", "12", "2"] } }],
});
type Told = Record<string, unknown> & { code?: number; completion?: { values: string[] } };
const asking = (complete: Record<string, Completer> = { language: LANGUAGES }) => {
  const { exchange } = assemble({ name: "t", version: "1" }, [completer(complete)]);
  return async (params: object, method = "completion/complete"): Promise<Told> => {
    const response = await exchange(request(method, params), lane());
    const { _meta, ...told } = "error" in response ? response.error as Told : response.result;
    return told;
  };
};
const REVIEW = { type: "ref/prompt", name: "review" };
const NOTE = { type: "ref/resource", uri: "note:{id}" };
const typed = (value: string, more: object = {}, name = "language") =>
  ({ ref: REVIEW, argument: { name, value }, ...more });
const offers = (values: string[], total = values.length, hasMore = false) =>
  ({ resultType: "complete", completion: { values, total, hasMore } });

describe("Completion", () => {
  test("the capability is declared (spec server/utilities/completion#capabilities)", async () => {
    const { capabilities } = await asking()({}, "server/discover");
    assert.deepEqual(capabilities, { completions: {} });
  });

  test("without it the method is not found (spec server/utilities/completion#error-handling)",
    async () => {
      const { exchange } = assemble({ name: "t", version: "1" }, []);
      const response = await exchange(request("completion/complete", typed("")), lane());
      assert.equal("error" in response && response.error.code, -32601);
    });

  test("those that start with what was typed come before those that hold it, whatever the case; " +
    "others are not offered (spec server/utilities/completion#completion-results)", async () => {
    const ask = asking();
    assert.deepEqual(await ask(typed("py")), offers(["Python", "pytorch", "PyPy"]));
    assert.deepEqual(await ask(typed("YTH")), offers(["Python", "Cython"]));
    assert.deepEqual(await ask(typed("t")), offers(["JavaScript", "Python", "pytorch", "Cython",
      "Rust"]));
    assert.deepEqual(await ask(typed("java")), offers(["JavaScript", "Java"]));
    assert.deepEqual(await ask(typed("ada")), offers([]));
  });

  test("a value that both starts and holds it goes where it starts, once " +
    "(spec server/utilities/completion#completion-results)", async () => {
    const ask = asking({ language: ["banana", "an", "Anana", "kiwi"] });
    assert.deepEqual(await ask(typed("an")), offers(["an", "Anana", "banana"]));
  });

  test("nothing typed yet is offered all, in their order " +
    "(spec server/utilities/completion#requesting-completions)", async () => {
    assert.deepEqual(await asking()(typed("")), offers(LANGUAGES));
  });

  test("at most 100 values are given, total tells how many there are " +
    "(spec server/utilities/completion#completion-results)", async () => {
    for (const [count, hasMore] of [[99, false], [100, false], [101, true], [5000, true]] as
      const) {
      for (const choice of [many(count), () => many(count), async () => many(count)]) {
        assert.deepEqual(await asking({ language: choice })(typed("v")),
          offers(many(count).slice(0, 100), count, hasMore));
      }
    }
  });

  test("a function makes its own choice, from the value and from what was filled in before " +
    "(spec server/utilities/completion#requesting-completions)", async () => {
    const seen: unknown[] = [];
    const ask = asking({ framework(value, given, { request }) {
      seen.push(value, { ...given }, request.method);
      return ["flask", "x"];
    } });
    const context = { arguments: { language: "python" } };
    assert.deepEqual(await ask(typed("fla", { context }, "framework")), offers(["flask", "x"]));
    await ask(typed("", {}, "framework"));
    await ask(typed("", { context: {} }, "framework"));
    assert.deepEqual(seen, ["fla", { language: "python" }, "completion/complete",
      "", {}, "completion/complete", "", {}, "completion/complete"]);
  });

  test("a variable of a resource template is completed by the template " +
    "(spec server/utilities/completion#reference-types)", async () => {
    const ask = asking();
    assert.deepEqual(await ask({ ref: NOTE, argument: { name: "id", value: "1" } }),
      offers(["1", "12"]));
  });

  test("an argument that nobody completes gets no values " +
    "(spec server/utilities/completion#completeresult)", async () => {
    assert.deepEqual(await asking({})(typed("p")), offers([]));
    assert.deepEqual(await asking()(typed("p", {}, "framework")), offers([]));
  });

  const strangers: [string, object][] = [
    ["an unknown prompt", { ...typed(""), ref: { type: "ref/prompt", name: "nope" } }],
    ["an unknown argument of a prompt", typed("", {}, "nope")],
    ["an unknown template", { ref: { type: "ref/resource", uri: "note:{x}" },
      argument: { name: "x", value: "" } }],
    ["a prompt asked for as a template", { ...typed(""), ref: { type: "ref/resource",
      uri: "review" } }],
    ["a template asked for as a prompt", { ref: { type: "ref/prompt", name: "note:{id}" },
      argument: { name: "id", value: "" } }],
    ["a reference of another type", { ...typed(""), ref: { type: "ref/tool", name: "review" } }],
    ["no reference", { argument: { name: "language", value: "" } }],
    ["a null reference", { ...typed(""), ref: null }],
    ["a reference without its name", { ...typed(""), ref: { type: "ref/prompt" } }],
    ["a name that is no string", { ...typed(""), ref: { type: "ref/prompt", name: ["review"] } }],
    ["no argument", { ref: REVIEW }],
    ["a list for an argument", { ref: REVIEW, argument: ["language", ""] }],
    ["an argument without a value", { ref: REVIEW, argument: { name: "language" } }],
    ["a value that is a number", { ref: REVIEW, argument: { name: "language", value: 1 } }],
    ["a null value", { ref: REVIEW, argument: { name: "language", value: null } }],
    ["a context that is a list", typed("", { context: ["python"] })],
    ["a context that is text", typed("", { context: "python" })],
    ["arguments before that are no strings", typed("", { context: { arguments: { a: 1 } } })],
    ["arguments before that are a list", typed("", { context: { arguments: ["a"] } })],
  ];
  for (const [what, params] of strangers) {
    test(`${what} is -32602 and no completer runs ` +
      `(spec server/utilities/completion#error-handling)`, async () => {
      const ask = asking({ language: () => assert.fail("ran") });
      assert.equal((await ask(params)).code, -32602);
    });
  }

  test("SCH-01: inherited names are no prompts, templates, arguments or completers " +
    "(spec server/utilities/completion#security)", async () => {
    const ask = asking();
    for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      const argument = { name, value: "" };
      assert.equal((await ask({ ref: { type: "ref/prompt", name }, argument })).code, -32602, name);
      assert.equal((await ask({ ref: REVIEW, argument })).code, -32602, name);
      const template = await ask({ ref: NOTE, argument });
      assert.ok(template.code === -32602 || template.completion?.values.length === 0, name);
    }
  });

  test("a completer that fails is -32603 and says nothing of why " +
    "(spec server/utilities/completion#error-handling)", async () => {
    const ask = asking({ language: () => { throw new Error("/etc/secret"); } });
    assert.deepEqual(await ask(typed("")), { code: -32603, message: "Internal error" });
  });

  test("prompts and templates of a server are completed by what they say of themselves; with " +
    "neither there is no such capability (spec server/utilities/completion#capabilities)",
    async () => {
      const app = server({ name: "t", version: "1",
        prompts: () => [{ name: "p", arguments: [{ name: "a" }], complete: { a: ["x1", "y"] },
          get: () => "p" }],
        templates: [{ uriTemplate: "n:{b}", name: "n", complete: { b: ["x2"] }, read: () => "n" }],
      });
      const complete = async (ref: object, name: string) => {
        const params = { ref, argument: { name, value: "x" } };
        const response = await app.exchange(request("completion/complete", params), lane());
        return "result" in response && response.result.completion;
      };
      assert.deepEqual(await complete({ type: "ref/prompt", name: "p" }, "a"),
        { values: ["x1"], total: 1, hasMore: false });
      assert.deepEqual(await complete({ type: "ref/resource", uri: "n:{b}" }, "b"),
        { values: ["x2"], total: 1, hasMore: false });
      const bare = server({ name: "t", version: "1", tools: [] });
      const response = await bare.exchange(request("server/discover"), lane());
      assert.ok("result" in response);
      assert.equal("completions" in (response.result.capabilities as object), false);
    });
});
