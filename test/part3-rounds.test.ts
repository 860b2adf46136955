// Part III, Input requests and multi round-trip requests: a handler asks the
// client, which calls again with the answers. Nothing is kept here meanwhile:
// what outlives a round travels sealed.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  assemble, boundedPattern, capabilityFor, compileSchema, completions, lacking, prompts, resources,
  roundTrips, serveHttp, server, text, tools, type CompileSchema, type Context, type Exchange,
  type InputRequest, type RoundTripsOptions,
} from "../mcp-raw.ts";
import { conversation } from "./kit.ts";
import { META, headersFor, jsonOf, lane, post, posted } from "./kit-http.ts";

const KEY = "0123456789abcdef0123456789abcdef";
const compile: CompileSchema = (schema) => compileSchema(schema, { patterns: boundedPattern });
const CAN = { elicitation: { form: {}, url: {} }, sampling: { tools: {}, context: {} }, roots: {} };

type Work = (args: Record<string, unknown>, context: Context) => unknown;
/** The same work as the tools t and u, the prompt t and the resource x:t. */
function offering(work: Work, options: Partial<RoundTripsOptions> = {}): Exchange {
  const handler = work as never; // what a mistaken handler gives is for the server to find out
  return assemble({ name: "toy", version: "1" }, [
    tools([{ name: "t", handler, inputSchema: { type: "object" } }, { name: "u", handler,
      inputSchema: { type: "object" } }], { compile }),
    prompts([{ name: "t", get: handler }]),
    resources([{ uri: "x:t", name: "t", read: (context) => work({}, context) as never }],
      { templates: [{ uriTemplate: "y:{a}", name: "y",
        read: (variables, context) => work(variables, context) as never }] }),
    roundTrips({ compile, key: KEY, ...options }),
  ]).exchange;
}

interface Told {
  resultType?: string; requestState?: string; inputRequests?: Record<string, { method: string }>;
  content?: { text: string }[]; isError?: boolean; code?: number; message?: string;
  data?: { requiredCapabilities: object }; [key: string]: unknown;
}
interface Caller {
  can?: object; who?: string; method?: string; meta?: object; id?: string | number;
}
/** One round: a call with these params, and what comes of it as it crosses the wire. */
async function round(exchange: Exchange, params: object = {}, caller: Caller = {}): Promise<Told> {
  const { can = CAN, who, method = "tools/call", meta, id = 1 } = caller;
  const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": can, ...meta };
  const response = await exchange({ jsonrpc: "2.0", id, method, params: { name: "t", ...params,
    _meta } }, { ...lane(), ...(who !== undefined && { principal: { id: who } }) });
  const { _meta: __, ...told } = "error" in response ? response.error as Told : response.result;
  return JSON.parse(JSON.stringify(told)) as Told;
}
const again = ({ requestState }: Told, inputResponses?: object): object =>
  ({ requestState, ...(inputResponses && { inputResponses }) });
const OK = { resultType: "complete", content: [{ type: "text", text: "ok" }] };
const said = ({ content = [] }: Told): string | undefined => content[0]?.text;
const keysOf = ({ inputRequests = {} }: Told): string[] => Object.keys(inputRequests).sort();

const form = (properties: object, required: string[] = Object.keys(properties)) => ({
  method: "elicitation/create" as const, params: { mode: "form" as const, message: "Tell me",
    requestedSchema: { type: "object" as const, properties, required } } });
const SURE = form({ sure: { type: "boolean" } });
const YES = { action: "accept", content: { sure: true } };
const URL_MODE = { method: "elicitation/create" as const, params: { mode: "url" as const,
  message: "Visit", url: "https://example.com/connect" } };
const SAMPLE = { method: "sampling/createMessage" as const, params: { maxTokens: 9, messages: [
  { role: "user" as const, content: { type: "text" as const, text: "Capital of France?" } }] } };
const PARIS = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
const ROOTS = { method: "roots/list" as const };

/** Asks for the keys one after the other and says what it was told. */
const asks = (...keys: string[]): Work => async (_, { ask }) => {
  const told: unknown[] = [];
  for (const key of keys) told.push(await ask(key, SURE));
  return text(JSON.stringify(told));
};

describe("Multi round-trip requests: asking", () => {
  test("a handler that asks gets input_required sent, with the request as it was made, a state " +
    "that is text, and no hints for caches (spec basic/patterns/mrtr#inputrequiredresult)",
    async () => {
      const { requestState, ...told } = await round(offering(asks("sure")));
      assert.equal(typeof requestState, "string");
      assert.deepEqual(told, { resultType: "input_required", inputRequests: { sure: SURE } });
    });

  test("called again with the answer and the state, it completes " +
    "(spec basic/patterns/mrtr#basic-workflow)", async () => {
    const exchange = offering(asks("sure"));
    const told = await round(exchange, again(await round(exchange), { sure: YES }), { id: "2" });
    assert.deepEqual(told, { resultType: "complete",
      content: [{ type: "text", text: JSON.stringify([YES]) }] });
  });

  const places: [string, object, (answer: unknown) => unknown][] = [
    ["tools/call", { name: "t" }, () => text("ok")],
    ["prompts/get", { name: "t" }, () => "ok"],
    ["resources/read", { uri: "x:t" }, () => "ok"],
    ["resources/read", { uri: "y:1" }, () => "ok"],
  ];
  for (const [method, params, done] of places) {
    test(`${method} of ${JSON.stringify(params)} can ask ` +
      `(spec basic/patterns/mrtr#supported-requests)`, async () => {
      const exchange = offering(async (_, { ask }) => done(await ask("sure", SURE)));
      const { requestState, ...first } = await round(exchange, params, { method });
      assert.deepEqual(first, { resultType: "input_required", inputRequests: { sure: SURE } });
      const second = await round(exchange,
        { ...params, requestState, inputResponses: { sure: YES } }, { method });
      assert.equal(second.resultType, "complete", JSON.stringify(second));
    });
  }

  test("questions one after the other take a round each; earlier answers need not be sent again " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const exchange = offering(asks("a", "b", "c"));
    const NO = { action: "decline" };
    const one = await round(exchange);
    const two = await round(exchange, again(one, { a: YES }));
    const three = await round(exchange, again(two, { b: NO }));
    assert.deepEqual([one, two, three].map(keysOf), [["a"], ["b"], ["c"]]);
    const last = await round(exchange, again(three, { c: YES }));
    assert.deepEqual(JSON.parse(said(last) ?? ""), [YES, NO, YES]);
  });

  test("questions asked together go together " +
    "(spec basic/patterns/mrtr#inputrequests)", async () => {
    const exchange = offering(async (_, { ask }) => text(JSON.stringify(await Promise.all(
      [ask("sure", SURE), ask("visit", URL_MODE), ask("model", SAMPLE), ask("roots", ROOTS)]))));
    const first = await round(exchange);
    assert.deepEqual(first.inputRequests,
      { sure: SURE, visit: URL_MODE, model: SAMPLE, roots: ROOTS });
    const answers = { sure: YES, visit: { action: "accept" }, model: PARIS,
      roots: { roots: [{ uri: "file:///home/me", name: "Me" }] } };
    const last = await round(exchange, again(first, answers));
    assert.deepEqual(JSON.parse(said(last) ?? ""), Object.values(answers));
  });

  test("what is missing is asked for again, alone, and what was answered counts " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const exchange = offering(async (_, { ask }) => text(JSON.stringify(await Promise.all(
      [ask("a", SURE), ask("b", SURE)]))));
    const first = await round(exchange);
    const second = await round(exchange, again(first, { b: { action: "cancel" } }));
    assert.deepEqual([second.resultType, second.inputRequests], ["input_required", { a: SURE }]);
    const last = await round(exchange, again(second, { a: YES }));
    assert.deepEqual(JSON.parse(said(last) ?? ""), [YES, { action: "cancel" }]);
  });

  test("a client that comes back without any answer is asked again " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const exchange = offering(asks("sure"));
    const first = await round(exchange);
    for (const answers of [undefined, {}, { other: YES }]) {
      assert.deepEqual((await round(exchange, again(first, answers))).inputRequests,
        { sure: SURE });
    }
  });

  test("a question that the handler's own catch swallows is asked all the same (engineering)",
    async () => {
      const swallow: Work = async (_, { ask }) => {
        try {
          return text(JSON.stringify(await ask("a", SURE)));
        } catch {
          const more = await ask("b", SURE).catch(() => "nothing");
          return text(String(more));
        }
      };
      const exchange = offering(swallow);
      const first = await round(exchange);
      assert.deepEqual([first.resultType, keysOf(first)], ["input_required", ["a", "b"]]);
      const last = await round(exchange, again(first, { a: YES, b: YES }));
      assert.deepEqual(JSON.parse(said(last) ?? ""), YES);
    });

  test("a question wrapped in an error of the handler's own is asked all the same (engineering)",
    async () => {
      const told = await round(offering(async (_, { ask }) => {
        await ask("a", SURE).catch((cause: unknown) => { throw new Error("no luck", { cause }); });
      }));
      assert.deepEqual([told.resultType, keysOf(told)], ["input_required", ["a"]]);
    });

  test("a question that nobody waits for, and work that fails with nobody waiting, do not end " +
    "the process (engineering)", async () => {
    const crashes: unknown[] = [];
    const crash = (error: unknown) => void crashes.push(error);
    process.on("unhandledRejection", crash);
    await round(offering((_, { once }) => {
      void once("c", () => { throw new Error("c"); });
      return text("ok");
    }));
    const told = await round(offering((_, { ask, once }) => {
      void ask("a", SURE);
      void ask("b", { method: "tools/list" } as never);
      void once("c", () => { throw new Error("c"); });
      return text("ok");
    }));
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", crash);
    assert.deepEqual([crashes, told.resultType, keysOf(told)], [[], "input_required", ["a"]]);
  });

  test("a handler that needs nothing answers at once (spec basic/patterns/mrtr#basic-workflow)",
    async () => {
      assert.deepEqual(await round(offering(() => text("ok"))), OK);
    });

  test("keys that every object inherits are keys like any other " +
    "(spec basic/patterns/mrtr#inputrequests)", async () => {
    for (const key of ["__proto__", "constructor", "toString", ""]) {
      const exchange = offering(asks(key));
      const first = await round(exchange);
      assert.deepEqual(keysOf(first), [key]);
      const none = await round(exchange, again(first, {}));
      assert.deepEqual(keysOf(none), [key], "no answer is inherited");
      const answers = JSON.parse(`{${JSON.stringify(key)}:${JSON.stringify(YES)}}`) as object;
      assert.equal(said(await round(exchange, again(first, answers))), JSON.stringify([YES]), key);
    }
    assert.equal(({} as { action?: string }).action, undefined);
  });
});

describe("Multi round-trip requests: what a client declared", () => {
  const tool = { name: "w", inputSchema: { type: "object" as const } };
  const sampling = (more: object) => ({ ...SAMPLE, params: { ...SAMPLE.params, ...more } });
  // A request, what the client must have declared, and declarations that do not do.
  const NEEDS: [string, InputRequest, object, object[]][] = [
    ["a form", SURE as InputRequest, { elicitation: { form: {} } },
      [{}, { elicitation: { url: {} } }, { sampling: {}, roots: {} }]],
    ["a form without its mode", { ...SURE, params: { message: "Tell me",
      requestedSchema: SURE.params.requestedSchema } } as InputRequest,
      { elicitation: { form: {} } }, [{}, { elicitation: { url: {} } }]],
    ["a visit to a URL", URL_MODE, { elicitation: { url: {} } }, [{}, { elicitation: {} },
      { elicitation: { form: {} } }]],
    ["a model", SAMPLE, { sampling: {} }, [{}, { elicitation: {}, roots: {} }]],
    ["a model with tools", sampling({ tools: [tool] }) as InputRequest,
      { sampling: { tools: {} } }, [{ sampling: {} }, { sampling: { context: {} } }]],
    ["a model with a choice of tools", sampling({ toolChoice: { mode: "none" } }) as InputRequest,
      { sampling: { tools: {} } }, [{ sampling: {} }]],
    ["a model with context", sampling({ includeContext: "thisServer" }) as InputRequest,
      { sampling: { context: {} } }, [{ sampling: {} }, { sampling: { tools: {} } }]],
    ["roots", ROOTS, { roots: {} }, [{}, { elicitation: {}, sampling: {} }]],
  ];
  for (const [what, request, needed, without] of NEEDS) {
    test(`${what} is asked of a client that declared ${JSON.stringify(needed)}, any other gets ` +
      `-32021 that names it (spec basic/patterns/mrtr#server-requirements-basic-workflow)`,
      async () => {
        const exchange = offering(async (_, { ask }) => text(String(await ask("k",
          request as never))));
        assert.deepEqual((await round(exchange, {}, { can: needed })).inputRequests,
          { k: request });
        for (const can of without) {
          const told = await round(exchange, {}, { can });
          assert.deepEqual([told.code, told.data, "inputRequests" in told],
            [-32021, { requiredCapabilities: needed }, false], JSON.stringify(can));
        }
        assert.deepEqual(capabilityFor(request), needed);
        assert.equal(lacking(needed, capabilityFor(request)), undefined);
      });
  }

  test("an empty elicitation capability means forms and no more " +
    "(spec client/elicitation#capabilities)", async () => {
    const can = { elicitation: {} };
    assert.equal((await round(offering(asks("a")), {}, { can })).resultType, "input_required");
    assert.deepEqual(lacking(can, { elicitation: { form: {} } }), undefined);
    assert.deepEqual(lacking(can, { elicitation: { url: {} } }), { elicitation: { url: {} } });
  });

  test("a capability that is inherited, or is no object, is not declared (spec basic#meta)",
    async () => {
      for (const can of [{ elicitation: null }, { elicitation: true }, { elicitation: [] },
        { elicitation: { form: null } }, { elicitation: { form: false } },
        JSON.parse('{"__proto__":{"elicitation":{}}}') as object]) {
        assert.equal((await round(offering(asks("a")), {}, { can })).code, -32021,
          JSON.stringify(can));
      }
      assert.deepEqual(lacking({}, { constructor: {} } as never), { constructor: {} });
    });

  test("LIF-24: a tool that asks what only an earlier request declared gets -32021, over HTTP " +
    "with status 400 (spec basic#statelessness)", async () => {
    const exchange = offering(asks("sure"));
    assert.equal((await round(exchange)).resultType, "input_required");
    const reply = await serveHttp(exchange)(post("tools/call", { name: "t" }));
    assert.equal(reply.status, 400);
    const { id, error } = jsonOf(reply) as { id: number; error: Told };
    assert.deepEqual([id, error.code, error.data],
      [1, -32021, { requiredCapabilities: { elicitation: { form: {} } } }]);
  });

  test("a tool may do without what the client lacks, having looked or having tried " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const looks: Work = async (_, { can, ask }) =>
      can({ elicitation: { form: {} } }) ? text(String(await ask("a", SURE))) : text("ok");
    const tries: Work = async (_, { ask }) => {
      const answer = await ask("a", SURE).catch(() => undefined);
      return text(answer === undefined ? "ok" : "asked");
    };
    for (const work of [looks, tries]) {
      assert.deepEqual(await round(offering(work), {}, { can: {} }), OK);
      assert.equal((await round(offering(work))).resultType, "input_required");
    }
  });

  test("a tool that did without one thing may still ask for another " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const exchange = offering(async (_, { ask }) => {
      const roots = await ask("roots", ROOTS).catch(() => undefined);
      const { action } = await ask("a", SURE);
      return text(`${roots === undefined ? "no roots" : "roots"}, ${action}`);
    });
    const caller = { can: { elicitation: {} } };
    const first = await round(exchange, {}, caller);
    assert.deepEqual(first.inputRequests, { a: SURE }, JSON.stringify(first));
    assert.equal(said(await round(exchange, again(first, { a: YES }), caller)),
      "no roots, accept");
  });

  test("requires() refuses with -32021 before any work is done (spec basic#meta)", async () => {
    let ran = 0;
    const exchange = offering((_, { requires }) => {
      requires({ sampling: { tools: {} }, roots: {} });
      ran++;
      return text("ok");
    });
    const told = await round(exchange, {}, { can: { sampling: {}, roots: {} } });
    assert.deepEqual([told.code, told.data, ran],
      [-32021, { requiredCapabilities: { sampling: { tools: {} } } }, 0]);
    assert.deepEqual(await round(exchange), OK);
  });

  test("a question that may not be asked never goes along with one that may " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    for (const hurried of [true, false]) {
      const exchange = offering(async (_, { ask }) => {
        const all = [ask("a", SURE), ask("b", ROOTS)];
        await (hurried ? Promise.all(all) : Promise.allSettled(all));
        return text("ok");
      });
      const told = await round(exchange, {}, { can: { elicitation: {} } });
      assert.ok(told.code === -32021 || keysOf(told).join() === "a", JSON.stringify(told));
    }
  });
});

describe("Multi round-trip requests: what may be asked", () => {
  const use = (id: string) => ({ role: "assistant", content: { type: "tool_use", id, name: "w",
    input: {} } });
  const result = (...ids: string[]) => ({ role: "user", content: ids.map((toolUseId) =>
    ({ type: "tool_result", toolUseId, content: [] })) });
  const hello = { role: "user", content: { type: "text", text: "hi" } };
  const sampling = (...messages: object[]) =>
    ({ method: "sampling/createMessage", params: { maxTokens: 9, messages } });
  const url = (url: unknown) => ({ method: "elicitation/create", params: { mode: "url",
    message: "m", url } });

  const unfit: [string, string, unknown][] = [
    ["a method that is none of the three", "basic/patterns/mrtr#server-requirements-basic-workflow",
      { method: "tools/list" }],
    ["something without a method", "basic/patterns/mrtr#server-requirements-basic-workflow", {}],
    ["nothing", "basic/patterns/mrtr#server-requirements-basic-workflow", null],
    ["a form without a message", "client/elicitation#elicitation-requests",
      { ...SURE, params: { ...SURE.params, message: undefined } }],
    ["a mode that is none", "client/elicitation#elicitation-requests",
      { ...SURE, params: { ...SURE.params, mode: "telepathy" } }],
    ["a form without a schema", "client/elicitation#form-mode-elicitation-requests",
      { ...SURE, params: { message: "m" } }],
    ["a form of a schema that is no object", "client/elicitation#requested-schema",
      { ...SURE, params: { message: "m", requestedSchema: { type: "string" } } }],
    ["a form in a form", "client/elicitation#requested-schema",
      form({ a: { type: "object", properties: {} } })],
    ["a form with a list of objects", "client/elicitation#requested-schema",
      form({ a: { type: "array", items: { type: "object" } } })],
    ["a form with a list of lists", "client/elicitation#requested-schema",
      form({ a: { type: "array", items: { type: "array", items: { type: "string" } } } })],
    ["a form with a field of no type", "client/elicitation#requested-schema", form({ a: {} })],
    ["a form with a field that refers elsewhere", "client/elicitation#requested-schema",
      form({ a: { $ref: "#/$defs/a" } })],
    ["a form with a null field", "client/elicitation#requested-schema",
      form({ a: { type: "null" } })],
    ["no URL", "client/elicitation#url-mode-elicitation-requests", url(undefined)],
    ["a URL that is none", "client/elicitation#url-mode-elicitation-requests", url("not a url")],
    ["a relative URL", "client/elicitation#url-mode-elicitation-requests", url("/connect")],
    ["a script for a URL", "client/elicitation#safe-url-handling", url("javascript:alert(1)")],
    ["sampling without messages", "client/sampling#creating-messages",
      { method: "sampling/createMessage", params: { maxTokens: 9 } }],
    ["sampling without maxTokens", "client/sampling#sampling-parameters",
      { method: "sampling/createMessage", params: { messages: [hello] } }],
    ["a message of nobody", "client/sampling#messages", sampling({ content: hello.content })],
    ["a message of a third role", "client/sampling#messages",
      sampling({ ...hello, role: "system" })],
    ["a message without content", "client/sampling#messages", sampling({ role: "user" })],
    ["a tool use without its result", "client/sampling#tool-use-and-result-balance",
      sampling(hello, use("1"), hello)],
    ["two tool uses and one result", "client/sampling#tool-use-and-result-balance",
      sampling(hello, { role: "assistant", content: [use("1").content, use("2").content] },
        result("1"))],
    ["a result of no use", "client/sampling#tool-use-and-result-balance",
      sampling(hello, result("1"))],
    ["a result after another message", "client/sampling#tool-use-and-result-balance",
      sampling(hello, use("1"), hello, result("1"))],
    ["a result beside text", "client/sampling#tool-result-messages", sampling(hello, use("1"),
      { role: "user", content: [hello.content, result("1").content[0]] })],
    ["a result of the assistant", "client/sampling#tool-result-messages",
      sampling(hello, use("1"), { ...result("1"), role: "assistant" })],
  ];
  for (const [what, anchor, request] of unfit) {
    test(`${what} never reaches a client, asked or given by hand (spec ${anchor})`, async () => {
      const byAsk = await round(offering(async (_, { ask }) => {
        await ask("k", request as never);
      }));
      const byHand = await round(offering(() =>
        ({ resultType: "input_required", inputRequests: { k: request } })));
      for (const told of [byAsk, byHand]) assert.ok(told.inputRequests === undefined &&
        (told.isError === true || told.code === -32603), JSON.stringify(told));
    });
  }

  const fit: [string, unknown][] = [
    ["every kind of field", form({
      s: { type: "string", minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
      n: { type: "number", minimum: 0, maximum: 9, default: 1 }, i: { type: "integer" },
      b: { type: "boolean", default: false }, e: { type: "string", enum: ["x", "y"] },
      t: { type: "string", oneOf: [{ const: "x", title: "X" }] },
      l: { type: "string", enum: ["x"], enumNames: ["X"] },
      m: { type: "array", minItems: 1, items: { type: "string", enum: ["x"] }, default: ["x"] },
      o: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } } }, ["s"])],
    ["no field at all", form({})],
    ["tool uses with their results", sampling(hello, { role: "assistant", content: [
      use("1").content, use("2").content] }, result("2", "1"), hello)],
    ["roots with a _meta", { method: "roots/list", params: { _meta: {} } }],
  ];
  for (const [what, request] of fit) {
    test(`${what} can be asked for (spec client/elicitation#requested-schema)`, async () => {
      const told = await round(offering(async (_, { ask }) => {
        await ask("k", request as never);
      }));
      assert.deepEqual(told.inputRequests, { k: request }, JSON.stringify(told));
    });
  }
});

describe("Multi round-trip requests: answers", () => {
  const NAME = form({ name: { type: "string", maxLength: 5 }, age: { type: "integer" },
    pick: { type: "array", items: { type: "string", enum: ["x", "y"] } } }, ["name"]);
  // A request, answers that are none, and answers that are.
  const ANSWERS: [string, string, unknown, unknown[], unknown[]][] = [
    ["a form", "client/elicitation#form-mode-security", NAME,
      [null, "accept", [], {}, { action: "maybe" }, { action: 1 },
        { action: "accept", content: {} }, { action: "accept", content: { name: 5 } },
        { action: "accept", content: { name: "too long" } },
        { action: "accept", content: { name: "a", age: 1.5 } },
        { action: "accept", content: { name: "a", pick: ["z"] } },
        { action: "accept", content: "a" }, { action: "accept", content: null },
        { action: "accept", content: ["a"] }, { action: "accept" }],
      [{ action: "accept", content: { name: "a", age: 1, pick: ["x"] } }, { action: "decline" },
        { action: "cancel" }, { action: "decline", content: {} }]],
    ["a URL", "client/elicitation#response-actions", URL_MODE,
      [null, {}, { action: "yes" }],
      [{ action: "accept" }, { action: "decline" }, { action: "cancel" }]],
    ["a model", "client/sampling#result-fields", SAMPLE,
      [null, {}, { ...PARIS, model: undefined }, { ...PARIS, role: undefined },
        { ...PARIS, role: "system" }, { ...PARIS, content: undefined },
        { ...PARIS, content: "Paris" }, { ...PARIS, content: ["Paris"] }],
      [PARIS, { ...PARIS, content: [PARIS.content], stopReason: "endTurn" }]],
    ["roots", "client/roots#root", ROOTS,
      [null, {}, { roots: {} }, { roots: [null] }, { roots: [{ name: "x" }] },
        { roots: [{ uri: "https://example.com/" }] }, { roots: [{ uri: "/home/me" }] },
        { roots: [{ uri: 5 }] }],
      [{ roots: [] }, { roots: [{ uri: "file:///home/me" }] }]],
  ];
  for (const [what, anchor, request, wrong, right] of ANSWERS) {
    test(`answers to ${what} that are none are asked for again, others reach the handler as ` +
      `they came (spec ${anchor})`, async () => {
      const exchange = offering(async (_, { ask }) => text(JSON.stringify(await ask("k",
        request as never))));
      const first = await round(exchange);
      for (const answer of wrong) {
        const told = await round(exchange, again(first, { k: answer }));
        assert.deepEqual([told.resultType, told.inputRequests],
          ["input_required", { k: request }], JSON.stringify(answer));
      }
      for (const answer of right) {
        const told = await round(exchange, again(first, { k: answer }));
        assert.deepEqual(JSON.parse(said(told) ?? "null"), answer, JSON.stringify(told));
      }
    });
  }

  test("an accepted form of fields that may all be left out never gives a handler undefined " +
    "(spec client/elicitation#response-actions)", async () => {
    const exchange = offering(async (_, { ask }) => {
      const { action, content } = await ask("k", form({ name: { type: "string" } }, []));
      return text(`${action} ${content === undefined ? "nothing" : JSON.stringify(content)}`);
    });
    const told = await round(exchange, again(await round(exchange), { k: { action: "accept" } }));
    assert.notEqual(said(told), "accept nothing");
  });

  test("answers that nobody asked for count for nothing " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const exchange = offering(asks("a", "b"));
    const unasked = await round(exchange, { inputResponses: { a: YES, b: YES } });
    assert.deepEqual([unasked.resultType, keysOf(unasked)], ["input_required", ["a"]]);
    const early = await round(exchange, again(unasked, { a: YES, b: YES }));
    assert.deepEqual([early.resultType, keysOf(early)], ["input_required", ["b"]]);
  });

  test("an answer is not changed by a later one under its key " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const exchange = offering(asks("a", "b"));
    const second = await round(exchange, again(await round(exchange), { a: YES }));
    const last = await round(exchange,
      again(second, { a: { action: "decline" }, b: { action: "cancel" } }));
    assert.deepEqual(JSON.parse(said(last) ?? ""), [YES, { action: "cancel" }]);
  });

  test("answers to what is not asked are ignored, whatever they are " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const exchange = offering(asks("a"));
    const first = await round(exchange);
    const more = JSON.parse('{"x":5,"y":null,"__proto__":{"a":1},"toString":[]}') as object;
    assert.equal(said(await round(exchange, again(first, { ...more, a: YES }))),
      JSON.stringify([YES]));
  });

  test("inputResponses that are no object are -32602 and the handler does not run " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    let ran = 0;
    const exchange = offering((_, context) => (ran++, asks("a")(_, context)));
    const { requestState } = await round(exchange);
    for (const inputResponses of ["x", 5, true, [], [YES]]) {
      for (const state of [{}, { requestState }]) {
        assert.equal((await round(exchange, { inputResponses, ...state })).code, -32602);
      }
    }
    assert.equal(ran, 1);
  });

  test("neither answers nor state are among the arguments of a handler " +
    "(spec basic/patterns/mrtr#basic-workflow)", async () => {
    const seen: unknown[] = [];
    const exchange = offering(async (args, { ask }) => {
      seen.push(JSON.parse(JSON.stringify(args)));
      await ask("a", SURE);
      return text("ok");
    });
    const params = { arguments: { x: 1 } };
    const first = await round(exchange, params);
    assert.deepEqual(await round(exchange, { ...params, ...again(first, { a: YES }) }), OK);
    assert.deepEqual(seen, [{ x: 1 }, { x: 1 }]);
  });
});

describe("Multi round-trip requests: once", () => {
  test("work is done in one round, and its value is there in all that follow (engineering)",
    async () => {
      let ran = 0;
      const seen: unknown[] = [];
      const exchange = offering(async (_, { ask, once }) => {
        seen.push(await once("order", async () => ({ id: ++ran, lines: ["é", null] })));
        await ask("a", SURE);
        await once("nothing", () => void ran++);
        await ask("b", SURE);
        return text("ok");
      });
      const second = await round(exchange, again(await round(exchange), { a: YES }));
      const third = await round(exchange, again(second, {}));
      assert.deepEqual(await round(exchange, again(third, { b: YES })), OK);
      assert.deepEqual([ran, seen], [2, Array(4).fill({ id: 1, lines: ["é", null] })]);
    });

  test("work under one key is done once in a round, also when it is asked for twice at a time " +
    "(engineering)", async () => {
    let ran = 0;
    const told = await round(offering(async (_, { once }) => {
      const work = async () => ++ran;
      return text((await Promise.all([once("k", work), once("k", work)])).join());
    }));
    assert.deepEqual([said(told), ran], ["1,1", 1]);
  });

  test("each call does its own work, and keys that objects inherit are keys (engineering)",
    async () => {
      let ran = 0;
      const exchange = offering(async (_, { ask, once }) => {
        for (const key of ["__proto__", "constructor", ""]) await once(key, () => ++ran);
        await ask("a", SURE);
        return text("ok");
      });
      const [one, two] = [await round(exchange), await round(exchange)];
      for (const told of [one, two]) await round(exchange, again(told, { a: YES }));
      assert.equal(ran, 6);
    });
});

describe("Multi round-trip requests: state", () => {
  /** A server, the state of a call that asked, and how often its handler ran. */
  async function asked(options: Partial<RoundTripsOptions> = {}, caller: Caller = {}) {
    const counter = { ran: 0 };
    const exchange = offering((args, context) => (counter.ran++, asks("a")(args, context)),
      options);
    const params = { arguments: { file: "a", n: "1" } };
    const { requestState = "" } = await round(exchange, params, caller);
    const answered = { ...params, requestState, inputResponses: { a: YES } };
    return { exchange, counter, requestState, answered };
  }
  const INVALID = -32602;

  test("SEC-10: state that was changed in any place, cut short, or is no state at all is -32602 " +
    "and the handler does not run (spec basic/patterns/mrtr#security-considerations)", async () => {
    const { exchange, counter, requestState, answered } = await asked();
    const bytes = Buffer.from(requestState, "base64");
    assert.ok(bytes.length > 28, "the state is Base64: the flips below are flips of its bits");
    const flipped = Array.from(bytes, (byte, at) => {
      const changed = Buffer.from(bytes);
      changed[at] = byte ^ 1;
      return changed.toString("base64");
    });
    const forged: unknown[] = [...flipped, "", " ", requestState.slice(0, -1),
      requestState.slice(4), requestState + "AAAA", bytes.subarray(12).toString("base64"),
      requestState.repeat(2), "A".repeat(1_000_000), '{"alg":"none"}', "e30=", "!", "é",
      JSON.stringify({ until: 9e15, asked: ["a"], answers: [["a", YES]], kept: [] }),
      btoa(JSON.stringify({ until: 9e15, asked: ["a"], answers: [["a", YES]], kept: [] })),
      5, true, {}, [], [requestState]];
    for (const state of forged) {
      const told = await round(exchange, { ...answered, requestState: state });
      assert.equal(told.code, INVALID, JSON.stringify(state).slice(0, 60));
    }
    assert.equal(counter.ran, 1);
    assert.equal((await round(exchange, answered)).resultType, "complete");
  });

  const ALICE = { who: "alice" };
  const elsewhere: [string, object, Caller][] = [
    ["another tool", { name: "u" }, ALICE],
    ["other arguments", { arguments: { file: "b", n: "1" } }, ALICE],
    ["an argument more", { arguments: { file: "a", n: "1", force: true } }, ALICE],
    ["an argument fewer", { arguments: { file: "a" } }, ALICE],
    ["an argument of another type", { arguments: { file: "a", n: 1 } }, ALICE],
    ["no arguments", { arguments: undefined }, ALICE],
    ["another method", {}, { ...ALICE, method: "prompts/get" }],
    ["another caller", {}, { who: "bob" }],
    ["a caller whom nobody knows", {}, {}],
  ];
  for (const [what, change, caller] of elsewhere) {
    test(`SEC-11: state is refused with -32602 on ${what}, and the handler does not run ` +
      `(spec basic/patterns/mrtr#server-requirements-basic-workflow)`, async () => {
      const { exchange, counter, answered } = await asked({}, ALICE);
      const told = await round(exchange, { ...answered, ...change }, caller);
      assert.deepEqual([told.code, counter.ran], [INVALID, 1], JSON.stringify(told));
      assert.equal((await round(exchange, answered, ALICE)).resultType, "complete");
    });
  }

  test("SEC-11: state of a caller whom nobody knows is not good for one who is known " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const { exchange, answered } = await asked();
    for (const who of ["alice", "", "null", "undefined"]) {
      assert.equal((await round(exchange, answered, { who })).code, INVALID, who);
    }
  });

  test("SEC-11: state is good for ten minutes, or as long as the server was told, and refused " +
    "afterwards (spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    for (const [options, ttlMs] of [[{}, 600_000], [{ ttlMs: 50 }, 50]] as const) {
      const clock = { time: 1_700_000_000_000 };
      const { exchange, counter, answered } = await asked({ ...options, now: () => clock.time });
      clock.time += ttlMs - 1;
      assert.equal((await round(exchange, answered)).resultType, "complete");
      clock.time += 2;
      assert.equal((await round(exchange, answered)).code, INVALID);
      assert.equal(counter.ran, 2);
    }
  });

  test("what differs from call to call by right does not matter: id, progress token, log level, " +
    "the order of the arguments (spec basic/patterns/mrtr#client-requirements-basic-workflow)",
    async () => {
      const { exchange, answered } = await asked();
      for (const caller of [{ id: "other" }, { meta: { progressToken: 7, "com.example/x": 1 } }]) {
        assert.equal((await round(exchange, answered, caller)).resultType, "complete");
      }
      const params = { ...answered, arguments: { n: "1", file: "a" } };
      assert.equal((await round(exchange, params)).resultType, "complete");
    });

  test("state is good on every machine that has the key, on no other, and each process makes up " +
    "its own where none is given (spec basic/patterns/mrtr#security-considerations)", async () => {
    const { answered } = await asked();
    const another = { key: `${KEY.slice(0, -1)}X` };
    assert.equal((await round(offering(asks("a")), answered)).resultType, "complete");
    assert.equal((await round(offering(asks("a"), another), answered)).code, INVALID);
    const made = () => assemble({ name: "t", version: "1" }, [tools([{ name: "t",
      handler: asks("a") as never, inputSchema: { type: "object" } }], { compile }),
      roundTrips({ compile })]).exchange;
    const [one, two] = [made(), made()];
    const told = await round(one);
    assert.equal((await round(one, again(told, { a: YES }))).resultType, "complete");
    assert.equal((await round(two, again(told, { a: YES }))).code, INVALID);
  });

  test("SEC-10: a key that could be guessed is refused when the server is made " +
    "(spec basic/patterns/mrtr#security-considerations)", () => {
    for (const key of ["", "secret", "x".repeat(31)]) {
      assert.throws(() => roundTrips({ compile, key }), TypeError, key);
    }
  });

  test("nothing of the state can be read in it, and no two are alike " +
    "(spec basic/patterns/mrtr#security-considerations)", async () => {
    const exchange = offering(async (_, { ask, once }) => {
      await once("ledger-key", () => "hunter2-hunter2");
      await ask("first-question", form({ word: { type: "string" } }));
      await ask("second-question", SURE);
    }, { now: () => 1_700_000_000_000 });
    const first = await round(exchange);
    const answer = { action: "accept", content: { word: "swordfish-swordfish" } };
    const states: string[] = [];
    for (let n = 0; n < 2; n++) {
      const told = await round(exchange, again(first, { "first-question": answer }));
      states.push(told.requestState ?? "");
    }
    const words = /hunter2|ledger|question|swordfish|accept|until|asked/;
    for (const state of states) {
      for (const encoding of ["base64", "hex", "utf16le"] as const) {
        assert.doesNotMatch(Buffer.from(state, encoding).toString("latin1"), words);
      }
      assert.doesNotMatch(state, words);
    }
    assert.notEqual(states[0], states[1]);
  });

  test("state over its size is -32602 when it comes and -32603 when it would go " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const big = (size: number): Work => async (_, { ask, once }) => {
      await once("big", () => "x".repeat(size));
      await ask("a", SURE);
      return text("ok");
    };
    const told = await round(offering(big(2000)));
    assert.equal((await round(offering(big(2000)), again(told, { a: YES }))).resultType,
      "complete");
    assert.equal((await round(offering(big(2000), { maxState: 1000 }),
      again(told, { a: YES }))).code, INVALID);
    assert.equal((await round(offering(big(2000), { maxState: 1000 }))).code, -32603);
    assert.equal((await round(offering(big(40_000)))).resultType, "input_required");
    assert.equal((await round(offering(big(66_000)))).code, -32603);
  });
});

describe("Multi round-trip requests: by hand", () => {
  const steps: Work = (_, { requestState }) => requestState === "step 2" ? text("ok")
    : { resultType: "input_required", requestState: requestState === undefined ? "step 1"
      : "step 2" };

  test("a handler may give a state and no question; it travels sealed and comes back as it was " +
    "(spec basic/patterns/mrtr#inputrequiredresult)", async () => {
    const exchange = offering(steps);
    const first = await round(exchange);
    assert.deepEqual([first.resultType, "inputRequests" in first], ["input_required", false]);
    assert.doesNotMatch(`${first.requestState} ${atob(first.requestState ?? "")}`, /step/);
    const second = await round(exchange, again(first));
    assert.equal(second.resultType, "input_required");
    assert.deepEqual(await round(exchange, again(second)), OK);
    const foreign = { ...again(second), arguments: { other: 1 } };
    assert.equal((await round(exchange, foreign)).code, -32602);
    assert.equal((await round(exchange, { requestState: "step 2" })).code, -32602);
  });

  test("a handler may give the questions too, and reads the answers in its request " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const exchange = offering((_, { request, requestState }) => requestState === undefined
      ? { resultType: "input_required", requestState: "mine", inputRequests: { k: ROOTS } }
      : text(JSON.stringify(request.params?.inputResponses)));
    const first = await round(exchange);
    assert.deepEqual([first.resultType, first.inputRequests], ["input_required", { k: ROOTS }]);
    const answers = { k: { roots: [] } };
    assert.equal(said(await round(exchange, again(first, answers))), JSON.stringify(answers));
    const told = await round(exchange, {}, { can: {} });
    assert.deepEqual([told.code, told.data], [-32021, { requiredCapabilities: { roots: {} } }]);
  });

  test("LIF-30: input_required with neither questions nor state is -32603 " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    for (const given of [{}, { inputRequests: {} }, { inputRequests: undefined },
      { requestState: undefined }, { requestState: 5 }, { inputRequests: [] }]) {
      const told = await round(offering(() => ({ resultType: "input_required", ...given })));
      assert.equal(told.code, -32603, JSON.stringify(given));
    }
  });

  test("LIF-30: input_required where no request may be asked back is -32603, given or asked " +
    "(spec basic/patterns/mrtr#supported-requests)", async () => {
    const given = { resultType: "input_required", requestState: "s", inputRequests: { k: ROOTS } };
    const { exchange } = assemble({ name: "t", version: "1" }, [
      { methods: { "tools/list": () => given, "x/y": async () => given } },
      completions({ prompts: [{ name: "p", arguments: [{ name: "a" }], complete: {
        a: async (_, __, { ask }) => (await ask("k", ROOTS)).roots.map(({ uri }) => uri) } }] }),
      roundTrips({ compile, key: KEY }),
    ]);
    for (const method of ["tools/list", "x/y"]) {
      assert.equal((await round(exchange, {}, { method })).code, -32603, method);
    }
    const params = { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } };
    assert.equal((await round(exchange, params, { method: "completion/complete" })).code, -32603);
  });

  test("LIF-30: a question that needs what the client did not declare is -32021 " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const byHand = offering(() => ({ resultType: "input_required", inputRequests: { k: SURE } }));
    for (const exchange of [byHand, offering(asks("k"))]) {
      const told = await round(exchange, {}, { can: {} });
      assert.deepEqual([told.code, told.data],
        [-32021, { requiredCapabilities: { elicitation: { form: {} } } }]);
    }
  });
});

describe("Multi round-trip requests: on the wire", () => {
  const able = { ...META, "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
  const line = (id: number, more: object) => JSON.stringify({ jsonrpc: "2.0", id,
    method: "tools/call", params: { name: "t", ...more, _meta: able } });

  test("over stdio both rounds are requests of their own, and the server sends none " +
    "(spec basic/transports/stdio#receiving-messages)", async () => {
    const talk = conversation(offering(asks("a")));
    await talk.say(line(1, {}));
    while (talk.heard().length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [{ result: { requestState } }] = talk.heard();
    await talk.say(line(2, { requestState, inputResponses: { a: YES } }));
    while (talk.heard().length === 1) await new Promise((resolve) => setImmediate(resolve));
    const [first, second, ...more] = await talk.end();
    assert.deepEqual([first.id, first.result.resultType, second.id, second.result.resultType],
      [1, "input_required", 2, "complete"]);
    assert.deepEqual([more, "method" in first, "method" in second], [[], false, false]);
  });

  test("over HTTP both rounds are POSTs of their own, answered with 200 " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const handle = serveHttp(offering(asks("a")));
    const posting = async (id: number, more: object) =>
      handle(posted(line(id, more), headersFor("tools/call", "t")));
    const first = await posting(1, {});
    const { result } = jsonOf(first) as { result: Told };
    assert.deepEqual([first.status, result.resultType], [200, "input_required"]);
    const second = await posting(2, again(result, { a: YES }));
    assert.deepEqual([second.status, (jsonOf(second) as { result: Told }).result.resultType],
      [200, "complete"]);
    const refused = await posting(3, { requestState: "forged" });
    assert.deepEqual([refused.status, (jsonOf(refused) as { error: Told }).error.code],
      [200, -32602]);
  });

  // The server of this program runs twice; its work says so on stderr.
  const PROGRAM = `
    import { server, text } from ${JSON.stringify(new URL("../mcp-raw.ts", import.meta.url).href)};
    const app = server({ name: "t", version: "1", stateKey: ${JSON.stringify(KEY)}, tools: [{
      name: "t", async handler(_, { ask, once }) {
        const number = await once("number", () => (console.error("worked"), process.pid));
        const { action } = await ask("a", ${JSON.stringify(SURE)});
        return text(action + " " + number);
      } }] });
    app.stdio();`;
  /** A process of its own, which is told one line, gives one back, and is killed. */
  async function life(said: string): Promise<{ pid: unknown; stderr: string; answer: any }> {
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const child = spawn(process.execPath,
      ["--import", tsx, "--input-type=module", "-e", PROGRAM]);
    const [out, err] = [["", ""], ["stdout", "stderr"] as const];
    const heard = new Promise<void>((resolve) => err.forEach((name, at) =>
      child[name].setEncoding("utf8").on("data", (part: string) => {
        out[at] += part;
        if (out[0]?.includes("\n")) resolve();
      }).on("end", resolve)));
    child.stdin.write(`${said}\n`);
    await heard;
    child.kill("SIGKILL");
    await new Promise((resolve) => child.on("close", resolve));
    return { pid: child.pid, stderr: out[1] ?? "", answer: JSON.parse(out[0] ?? "") };
  }

  test("a server that is killed between two rounds goes on where it was, if its key is the same: " +
    "it keeps nothing itself (spec basic/patterns/mrtr#basic-workflow)", async () => {
    const first = await life(line(1, {}));
    const { resultType, requestState } = first.answer.result;
    assert.deepEqual([resultType, first.stderr], ["input_required", "worked\n"]);
    const second = await life(line(2, { requestState, inputResponses: { a: YES } }));
    assert.notEqual(second.pid, first.pid);
    assert.deepEqual([second.answer.id, second.answer.result.content, second.stderr],
      [2, [{ type: "text", text: `accept ${String(first.pid)}` }], ""]);
  });

  test("two servers of one stateKey take over each other's calls, those of two keys do not " +
    "(spec basic/patterns/mrtr#security-considerations)", async () => {
    const made = (stateKey: string) => server({ name: "t", version: "1", stateKey, tools: [{
      name: "t", async handler(_: object, { ask }: Context) {
        return text((await ask("a", SURE)).action);
      } }] }).exchange;
    const told = await round(made(KEY));
    assert.equal(said(await round(made(KEY), again(told, { a: YES }))), "accept");
    assert.equal((await round(made(`${KEY}!`), again(told, { a: YES }))).code, -32602);
  });
});
