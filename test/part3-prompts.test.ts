// Part III, Prompts: texts that a person picks, with arguments that are strings.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ProtocolError, assemble, prompts, type PromptDefinition } from "../mcp-raw.ts";
import { lane, request } from "./kit-http.ts";

const REVIEW: PromptDefinition = {
  name: "review", title: "Review", description: "Asks for a review",
  arguments: [{ name: "code", title: "Code", description: "What to review", required: true },
    { name: "style", required: false }, { name: "tone" }],
  get: ({ code, style = "plain" }) => `Review this ${style} code: ${code}`,
};
type Told = Record<string, unknown> & { code?: number };
function asking(...all: PromptDefinition[]) {
  const { exchange } = assemble({ name: "t", version: "1" }, [prompts(all)]);
  return async (method: string, params: object = {}): Promise<Told> => {
    const response = await exchange(request(method, params), lane());
    const { _meta, ...told } = "error" in response ? response.error as Told : response.result;
    return JSON.parse(JSON.stringify(told)) as Told;
  };
}
const getting = (get: PromptDefinition["get"], params: object = {}) =>
  asking({ name: "p", get })("prompts/get", { name: "p", ...params });

describe("Prompts: listing", () => {
  test("the capability is declared (spec server/prompts#capabilities)", async () => {
    assert.deepEqual((await asking()("server/discover")).capabilities, { prompts: {} });
  });

  test("prompts are listed as they were defined, in their order, without what is the server's " +
    "own (spec server/prompts#listing-prompts)", async () => {
    const full = { ...REVIEW, icons: [{ src: "https://example.com/i.svg", sizes: ["any"] }],
      _meta: { "com.example/x": 1 }, complete: { style: ["a"] } };
    const { get, complete, ...wire } = full;
    assert.deepEqual(await asking({ name: "z", get: () => "z" }, full)("prompts/list"), {
      resultType: "complete", ttlMs: 300_000, cacheScope: "public",
      prompts: [{ name: "z" }, wire] });
  });

  test("a name is unique: two prompts of one name are refused when the server is made " +
    "(spec server/prompts#prompt)", () => {
    assert.throws(() => prompts([REVIEW, REVIEW]), { name: "TypeError", message: /review/ });
  });
});

describe("Prompts: getting", () => {
  test("a text becomes one message of the user, with the prompt's description " +
    "(spec server/prompts#getting-a-prompt)", async () => {
    const params = { name: "review", arguments: { code: "f()" } };
    assert.deepEqual(await asking(REVIEW)("prompts/get", params), { resultType: "complete",
      description: "Asks for a review", messages: [{ role: "user",
        content: { type: "text", text: "Review this plain code: f()" } }] });
  });

  test("messages may be of both roles and of every content " +
    "(spec server/prompts#promptmessage)", async () => {
    const messages = [
      { role: "user" as const, content: { type: "text" as const, text: "t" } },
      { role: "assistant" as const,
        content: { type: "image" as const, data: "aGk=", mimeType: "image/png" } },
      { role: "user" as const,
        content: { type: "audio" as const, data: "aGk=", mimeType: "audio/wav" } },
      { role: "user" as const,
        content: { type: "resource_link" as const, uri: "file:///a", name: "a" } },
      { role: "user" as const, content: { type: "resource" as const,
        resource: { uri: "x:1", mimeType: "text/plain", text: "r" } } },
    ];
    assert.deepEqual(await getting(() => messages), { resultType: "complete", messages });
    assert.deepEqual(await getting(async () => ({ description: "d", messages })),
      { resultType: "complete", description: "d", messages });
  });

  test("arguments may be left out where none is required " +
    "(spec server/prompts#getting-a-prompt)", async () => {
    const seen: unknown[] = [];
    const get: PromptDefinition["get"] = (args) => (seen.push({ ...args }), "p");
    await getting(get);
    await getting(get, { arguments: {} });
    await getting(get, { arguments: { a: "", é: "ü" } });
    assert.deepEqual(seen, [{}, {}, { a: "", é: "ü" }]);
  });

  test("an unknown prompt is -32602 (spec server/prompts#error-handling)", async () => {
    for (const name of ["nope", "Review", "review ", "", undefined, null, 5, ["review"]]) {
      assert.equal((await asking(REVIEW)("prompts/get", { name })).code, -32602, String(name));
    }
  });

  test("SCH-01: inherited names are unknown prompts and can be the names of prompts " +
    "(spec server/prompts#error-handling)", async () => {
    for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      assert.equal((await asking(REVIEW)("prompts/get", { name })).code, -32602, name);
      const own = await asking({ name, get: () => name })("prompts/get", { name });
      assert.equal(own.resultType, "complete", name);
    }
  });

  test("a required argument that is missing is -32602, an empty one is there " +
    "(spec server/prompts#error-handling)", async () => {
    const get = (args?: object) => asking(REVIEW)("prompts/get", { name: "review",
      arguments: args });
    for (const args of [undefined, {}, { style: "x" }]) {
      assert.equal((await get(args)).code, -32602, JSON.stringify(args));
    }
    assert.equal((await get({ code: "" })).resultType, "complete");
  });

  test("SCH-01: a required argument is not there because every object inherits its name " +
    "(spec server/prompts#error-handling)", async () => {
    for (const name of ["toString", "constructor", "valueOf"]) {
      const ask = asking({ name: "p", arguments: [{ name, required: true }], get: () => "p" });
      assert.equal((await ask("prompts/get", { name: "p", arguments: {} })).code, -32602, name);
    }
  });

  const wrong: unknown[] = [{ code: 5 }, { code: null }, { code: ["x"] }, { code: {} },
    { code: true }, { code: "x", other: 1 }, ["x"], "x", 5];
  test("arguments that are not strings by name are -32602 and the prompt does not see them " +
    "(spec server/prompts#implementation-considerations)", async () => {
    for (const args of wrong) {
      const ask = asking({ ...REVIEW, get: () => assert.fail("ran") });
      const told = await ask("prompts/get", { name: "review", arguments: args });
      assert.equal(told.code, -32602, JSON.stringify(args));
    }
  });

  test("a prompt that fails is -32603 and says nothing of why; one that refuses says what it " +
    "wants (spec server/prompts#error-handling)", async () => {
    assert.deepEqual(await getting(() => { throw new Error("/etc/secret"); }),
      { code: -32603, message: "Internal error" });
    assert.deepEqual(await getting(() => { throw new ProtocolError(-32602, "No such branch"); }),
      { code: -32602, message: "No such branch" });
  });

  test("what a prompt gives back by mistake is -32603, not a result without messages " +
    "(spec server/prompts#getting-a-prompt)", async () => {
    for (const given of [undefined, null, 5, {}, { messages: "hi" }]) {
      assert.equal((await getting(() => given as never)).code, -32603, JSON.stringify(given));
    }
  });
});
