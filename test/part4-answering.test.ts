// Part IV, Answering: a server asks for input, and the client calls again with what it was asked.
// The server is a list of results that the test writes, one for each round.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { afterEach, describe, mock, test } from "node:test";
import {
  answering, compileSchema, connect, connectChannel, dispatch, roundTrips, tools,
  type Answers, type Asked, type ClientOptions, type Context, type ElicitResult,
  type JSONRPCRequest, type Lane, type Methods,
} from "../mcp-raw.ts";
import { resultOf, scripted, within } from "./kit-http.ts";

type Json = Record<string, unknown>;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = <T>() => new Promise<T>(() => {});
const DONE = { resultType: "complete", content: [] };
const accept = (content?: Json) =>
  ({ action: "accept", ...(content && { content }) }) as ElicitResult;
const needs = (inputRequests: object, requestState?: string) => ({ resultType: "input_required",
  inputRequests, ...(requestState !== undefined && { requestState }) });
const elicit = (params: object) => ({ method: "elicitation/create", params });
const form = (properties: object, required: string[] = []) => elicit({ mode: "form",
  message: "Well?", requestedSchema: { type: "object", properties, required } });
const NAME = form({ name: { type: "string" } }, ["name"]);
const visit = (url: unknown) => elicit({ mode: "url", message: "Look here", url });
const sampling = (params: object) => ({ method: "sampling/createMessage", params });
const said = (role: string, content: unknown) => ({ role, content });
const text = (words: string) => ({ type: "text", text: words });
const use = (id: string) => ({ type: "tool_use", id, name: "get_weather", input: {} });
const outcome = (id: string) => ({ type: "tool_result", toolUseId: id, content: [text("18°C")] });
const SAID = { role: "assistant" as const, content: { type: "text" as const, text: "Paris" },
  model: "m", stopReason: "endTurn" };
const QUESTION = sampling({ messages: [said("user", text("?"))], maxTokens: 9 });
const metaOf = ({ params }: JSONRPCRequest) => params?._meta as Json;
/** The params of each request without what every request carries. */
const bare = (asked: JSONRPCRequest[]) => asked.map(({ params }) => {
  const { _meta, ...rest } = params ?? {};
  return rest;
});

/** A client that can answer, of a server that gives these results, the last one for ever. */
function clientOf(results: readonly object[], answers: Answers = {}, options: ClientOptions = {},
  more: Parameters<typeof answering>[1] = { compile: compileSchema }) {
  let n = 0;
  const { exchange, asked } = scripted(({ id }) =>
    ({ jsonrpc: "2.0", id, result: results[Math.min(n++, results.length - 1)] }));
  const client = connect(exchange, { ...options, ...answering(answers, more) });
  return { client, asked, call: (how?: object) => client.call("tools/call", { name: "t" }, how),
    sent: () => bare(asked) };
}
/** The same over literal lines: what the client sends, and the results as JSON text. */
function spoken(results: readonly string[], answers: Answers) {
  const lines: string[] = [];
  const channel = connectChannel((line) => {
    lines.push(line);
    const { id } = JSON.parse(line) as { id: unknown };
    const result = results[lines.length - 1];
    queueMicrotask(() => void channel.receive(`{"jsonrpc":"2.0","id":${id},"result":${result}}`));
  });
  return { client: connect(channel.exchange, answering(answers, { compile: compileSchema })),
    lines };
}
/** What a single question gets: the answer that is sent, or the error that ends the call. */
async function answerTo(question: unknown, answers: Answers): Promise<unknown> {
  const { call, sent } = clientOf([needs({ k: question }), DONE], answers);
  const failed = await call().then(() => undefined, (error: Error) => {
    for (let one: unknown = error; one instanceof Error; one = one.cause) {
      if (one instanceof assert.AssertionError) throw one;
    }
    return error.name;
  });
  assert.equal(sent().length, failed === undefined ? 2 : 1);
  return failed ?? (sent()[1]?.["inputResponses"] as Json)["k"];
}

describe("Answering: rounds", () => {
  test("a call that needs input is made again with the answers, the state and all that it had " +
    "(spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const { client, asked } = clientOf([needs({ who: NAME }, "s1"), DONE],
      { form: () => accept({ name: "Ada" }) });
    const params = { name: "t", arguments: { a: 1 }, _meta: { "com.example/trace": "x" } };
    assert.deepEqual(await client.call("tools/call", params), DONE);
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo":
        metaOf(asked[0] as JSONRPCRequest)["io.modelcontextprotocol/clientInfo"],
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      "com.example/trace": "x" };
    const first = { name: "t", arguments: { a: 1 }, _meta };
    const [one, two] = asked.map(({ id }) => id);
    assert.deepEqual(asked, [{ jsonrpc: "2.0", id: one, method: "tools/call", params: first },
      { jsonrpc: "2.0", id: two, method: "tools/call", params: { ...first, requestState: "s1",
        inputResponses: { who: { action: "accept", content: { name: "Ada" } } } } }]);
    assert.notEqual(one, two);
  });

  test("LIF-28: an answer is the bare result under the key of its question " +
    "(spec basic/patterns/mrtr#inputresponses)", async () => {
    const { client, lines } = spoken([
      '{"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}}',
      '{"resultType":"complete","content":[]}'], { roots: [{ uri: "file:///a", name: "A" }] });
    await client.call("tools/call", { name: "t" });
    const { params } = JSON.parse(lines[1] ?? "") as { params: Json };
    assert.deepEqual(params["inputResponses"], { k: { roots: [{ uri: "file:///a", name: "A" }] } });
  });

  test("LIF-31: each round has its own id; the state is echoed byte for byte, and left out when " +
    "there was none (spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const asks = '"resultType":"input_required","inputRequests":{"k":{"method":"roots/list"}}';
    const { client, lines } = spoken([
      String.raw`{${asks},"requestState":"A+/=\u00e9\n"}`, `{${asks}}`,
      '{"resultType":"complete","content":[]}'], { roots: [] });
    await client.call("tools/call", { name: "t" });
    const sent = lines.map((line) => JSON.parse(line) as JSONRPCRequest);
    assert.equal(new Set(sent.map(({ id }) => id)).size, 3);
    assert.deepEqual(bare(sent), [{ name: "t" },
      { name: "t", inputResponses: { k: { roots: [] } }, requestState: "A+/=é\n" },
      { name: "t", inputResponses: { k: { roots: [] } } }]);
  });

  test("any text is a state: empty, JSON, long, half a surrogate pair " +
    "(spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    for (const state of ["", "{\"a\": 1}", " null ", "é".repeat(30_000), "\ud800", "__proto__"]) {
      const { call, sent } = clientOf([needs({ who: NAME }, state), DONE],
        { form: () => accept({ name: "a" }) });
      await call();
      assert.equal(sent()[1]?.["requestState"], state);
    }
  });

  test("a round with a state alone is followed by the same call with that state and no answers " +
    "(spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const later = { resultType: "input_required", requestState: "later" };
    const { call, sent } = clientOf([later, { ...later, requestState: "" }, DONE]);
    assert.deepEqual(await call(), DONE);
    assert.deepEqual(sent(), [{ name: "t" }, { name: "t", requestState: "later" },
      { name: "t", requestState: "" }]);
  });

  test("the answers and the state of one round do not go into the next, nor do those that the " +
    "caller gave (spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const { client, sent } = clientOf([needs({ a: NAME }, "s1"), needs({ b: NAME }), DONE],
      { form: (_, { key }) => accept({ name: key }) });
    await client.call("tools/call", { name: "t", requestState: "mine",
      inputResponses: { z: { action: "decline" } } });
    assert.deepEqual(sent(), [
      { name: "t", requestState: "mine", inputResponses: { z: { action: "decline" } } },
      { name: "t", requestState: "s1",
        inputResponses: { a: { action: "accept", content: { name: "a" } } } },
      { name: "t", inputResponses: { b: { action: "accept", content: { name: "b" } } } }]);
  });

  test("all questions of a round are answered before the call is made again, each by its kind " +
    "(spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const { call, sent } = clientOf([needs({ who: NAME, what: QUESTION,
      where: { method: "roots/list" }, how: visit("https://example.com/") }), DONE],
      { form: () => accept({ name: "Ada" }), url: () => accept(), sample: async () => SAID,
        roots: () => [{ uri: "file:///a" }] });
    await call();
    assert.deepEqual(sent()[1]?.["inputResponses"], {
      who: { action: "accept", content: { name: "Ada" } }, what: SAID,
      where: { roots: [{ uri: "file:///a" }] }, how: { action: "accept" } });
  });

  test("whoever answers is told the key, and the method of the call under way " +
    "(spec basic/patterns/mrtr#inputrequests)", async () => {
    const heard: unknown[] = [];
    const { client } = clientOf([needs({ "a key": NAME }), DONE], { form(params, asked: Asked) {
      heard.push(params, asked.key, asked.method);
      return accept({ name: "x" });
    } });
    await client.call("prompts/get", { name: "p" });
    assert.deepEqual(heard, [NAME.params, "a key", "prompts/get"]);
  });

  test("a key like __proto__ is a key like any other " +
    "(spec basic/patterns/mrtr#inputrequests)", async () => {
    const { client, lines } = spoken([
      '{"resultType":"input_required","inputRequests":{"__proto__":{"method":"roots/list"},' +
      '"constructor":{"method":"roots/list"}}}', '{"resultType":"complete","content":[]}'],
      { roots: [] });
    await client.call("tools/call", { name: "t" });
    assert.match(lines[1] ?? "", /"inputResponses":\{"__proto__":\{"roots":\[\]\},"constructor":/);
  });

  test("tools/call, prompts/get and resources/read may need input " +
    "(spec basic/patterns/mrtr#supported-requests)", async () => {
    for (const [method, params] of [["tools/call", { name: "t" }], ["prompts/get", { name: "p" }],
      ["resources/read", { uri: "x:/a" }]] as const) {
      const { client, sent } = clientOf([needs({ r: { method: "roots/list" } }, "s"), DONE],
        { roots: [] });
      await client.call(method, params as never);
      assert.deepEqual(sent(), [params,
        { ...params, inputResponses: { r: { roots: [] } }, requestState: "s" }]);
    }
  });

  test("LIF-30: input_required is invalid for any other method " +
    "(spec basic/patterns/mrtr#supported-requests)", async () => {
    for (const method of ["tools/list", "prompts/list", "resources/list",
      "resources/templates/list", "server/discover", "completion/complete",
      "subscriptions/listen"] as (keyof Methods)[]) {
      const { client, asked } = clientOf([needs({ r: { method: "roots/list" } }, "s"), DONE],
        { roots: [] });
      await assert.rejects(client.call(method, {} as never),
        { name: "TransportError", code: "result" }, method);
      assert.equal(asked.length, 1);
    }
  });

  test("LIF-30: input_required with neither questions nor a state is invalid, and so is what is " +
    "no map of questions and no text (spec basic/patterns/mrtr#inputrequiredresult)", async () => {
    for (const fields of [{}, { inputRequests: null }, { inputRequests: [] }, { requestState: 5 },
      { inputRequests: "k" }, { requestState: {} }, { inputRequests: { k: null } },
      { inputRequests: { k: [] } }, { inputRequests: { k: "roots/list" } },
      { inputRequests: { k: { method: "roots/list" } }, requestState: 5 }]) {
      const { call, asked } = clientOf([{ resultType: "input_required", ...fields }, DONE],
        { roots: [] });
      await assert.rejects(call(), { name: "TransportError", code: "result" },
        JSON.stringify(fields));
      assert.equal(asked.length, 1);
    }
  });

  test("a result without a type is complete, whatever it carries: nobody is asked " +
    "(spec basic#resulttype)", async () => {
    const result = { inputRequests: { who: NAME }, requestState: "s", content: [] };
    const { call, asked } = clientOf([result], { form: () => assert.fail("was asked") });
    assert.deepEqual(await call(), result);
    assert.equal(asked.length, 1);
  });

  test("a client that answers nothing holds input_required for an unknown kind of result " +
    "(spec basic#resulttype)", async () => {
    const { exchange, asked } = scripted(({ id }) => resultOf(id, needs({ who: NAME }, "s")));
    await assert.rejects(connect(exchange).call("tools/call", { name: "t" }),
      { name: "TransportError", code: "result" });
    assert.equal(asked.length, 1);
  });

  test("a server that asks for ever is left after ten rounds, or as many as were allowed " +
    "(engineering)", async () => {
    for (const [maxRounds, most] of [[undefined, 10], [3, 3]] as const) {
      const { call, asked } = clientOf([needs({ who: NAME }, "again")],
        { form: () => accept({ name: "a" }) }, {}, { compile: compileSchema,
          ...(maxRounds !== undefined && { maxRounds }) });
      await assert.rejects(call(), { name: "TransportError", code: "result" });
      assert.equal(asked.length, most + 1);
    }
  });

  test("a server that only ever hands out states is left after as many (engineering)", async () => {
    const { call, asked } = clientOf([{ resultType: "input_required", requestState: "again" }]);
    await assert.rejects(call(), { name: "TransportError", code: "result" });
    assert.equal(asked.length, 11);
  });

  test("a refusal of the second round is the outcome of the call, and no error is asked again " +
    "(spec basic/patterns/mrtr#error-handling)", async () => {
    const { exchange, asked } = scripted(({ id }) => asked.length === 1
      ? resultOf(id, needs({ who: NAME }, "s"))
      : { jsonrpc: "2.0", id, error: { code: -32602, message: "expired" } });
    const client = connect(exchange, answering({ form: () => accept({ name: "a" }) }));
    await assert.rejects(client.call("tools/call", { name: "t" }),
      { name: "ProtocolError", code: -32602, message: "expired" });
    assert.equal(asked.length, 2);
  });

  test("calls made at once keep their own answers and states, and a call beside them carries " +
    "neither (spec basic/patterns/mrtr#client-requirements-basic-workflow)", async () => {
    const { exchange, asked } = scripted(({ id, params }) =>
      params?.["name"] === "plain" || params?.["inputResponses"] !== undefined ? resultOf(id)
        : resultOf(id, needs({ who: NAME }, `state of ${params?.["name"]}`)));
    const answers: ((name: string) => void)[] = [];
    const client = connect(exchange, answering({ form: () => new Promise((resolve) =>
      answers.push((name) => resolve(accept({ name })))) }));
    const calls = ["a", "b"].map((name) => client.call("tools/call", { name }));
    await turn();
    answers[1]?.("second");
    await client.call("tools/call", { name: "plain" });
    answers[0]?.("first");
    await Promise.all(calls);
    const retry = (call: string, name: string) => ({ name: call, requestState: `state of ${call}`,
      inputResponses: { who: { action: "accept", content: { name } } } });
    assert.deepEqual(bare(asked).slice(0, 2), [{ name: "a" }, { name: "b" }]);
    const rest = bare(asked).slice(2).sort(({ name: a }, { name: b }) => `${a}` < `${b}` ? -1 : 1);
    assert.deepEqual(rest, [retry("a", "first"), retry("b", "second"), { name: "plain" }]);
  });

  test("a call that changes its revision after the first refusal asks on in that one " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const VERSION = "io.modelcontextprotocol/protocolVersion";
    const { exchange, asked } = scripted((request) => metaOf(request)[VERSION] !== "2026-07-28"
      ? { jsonrpc: "2.0", id: request.id, error: { code: -32022, message: "no",
        data: { supported: ["2026-07-28"], requested: "2030-01-01" } } }
      : resultOf(request.id, asked.length === 2 ? needs({ who: NAME }) : {}));
    const client = connect(exchange, { versions: ["2030-01-01", "2026-07-28"],
      ...answering({ form: () => accept({ name: "a" }) }) });
    await client.call("tools/call", { name: "t" });
    assert.deepEqual(asked.map((one) => metaOf(one)[VERSION]),
      ["2030-01-01", "2026-07-28", "2026-07-28"]);
  });

  test("a client and a server in one process: the handler's question reaches the user and the " +
    "answer comes back (spec basic/patterns/mrtr#basic-workflow)", async () => {
    const ask = async (_: object, { ask }: Context) => {
      const answer = await ask("who", NAME as never) as ElicitResult;
      return { content: [{ type: "text" as const, text: `Hello ${answer.content?.["name"]}` }] };
    };
    const exchange = dispatch({ name: "s", version: "1" }, [
      tools([{ name: "t", handler: ask }], { compile: compileSchema }),
      roundTrips({ compile: compileSchema })]);
    const client = connect(exchange, answering({ form: () => accept({ name: "Ada" }) }));
    const { content } = await client.call("tools/call", { name: "t" }) as { content: unknown };
    assert.deepEqual(content, [{ type: "text", text: "Hello Ada" }]);
  });
});

describe("Answering: time and giving up", () => {
  afterEach(() => mock.timers.reset());
  const clock = () => mock.timers.enable({ apis: ["setTimeout"] });
  const pass = async (time: number) => {
    mock.timers.tick(time);
    for (let n = 0; n < 5; n++) await turn();
  };
  const slow = (results: object[], time: number, answers: Answers, options: ClientOptions) => {
    let n = 0;
    const { exchange, asked } = scripted(({ id }) => new Promise((resolve) =>
      setTimeout(resolve, time, { jsonrpc: "2.0", id, result: results[n++] })));
    return { client: connect(exchange, { ...options, ...answering(answers) }), asked };
  };

  test("the time limit is counted anew for each round, and the user's thinking does not count " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    const { client, asked } = slow([needs({ who: NAME }), needs({ who: NAME }), DONE], 90, {
      form: () => new Promise((resolve) =>
        setTimeout(resolve, 3_600_000, accept({ name: "a" }))),
    }, { timeoutMs: 100, maxTimeoutMs: 100 });
    const call = client.call("tools/call", { name: "t" });
    for (const time of [90, 3_600_000, 90, 3_600_000, 90]) await pass(time);
    assert.deepEqual(await within(call, 100), DONE);
    assert.equal(asked.length, 3);
  });

  test("a later round that gets no answer is given up in its time " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    let signal: AbortSignal | undefined;
    const { exchange, asked } = scripted(({ id }, lane: Lane) => {
      signal = lane.signal;
      return asked.length === 1 ? resultOf(id, needs({ who: NAME })) : never<object>();
    });
    const client = connect(exchange,
      { timeoutMs: 100, ...answering({ form: () => accept({ name: "a" }) }) });
    const call = assert.rejects(client.call("tools/call", { name: "t" }), { code: "timeout" });
    await pass(0);
    await pass(99);
    assert.deepEqual([asked.length, signal?.aborted], [2, false]);
    await pass(1);
    assert.notEqual(await within(call, 1), "pending");
    assert.equal(signal?.aborted, true);
  });

  test("a call cancelled while the user thinks ends at once; the user is told, and a late answer " +
    "is sent to nobody (spec basic/patterns/cancellation#cancellation-flow)", async () => {
    const controller = new AbortController();
    let [told, answer]: [AbortSignal | undefined, () => void] = [undefined, () => {}];
    const { call, asked } = clientOf([needs({ who: NAME }), DONE], { form: (_, { signal }) => {
      told = signal;
      return new Promise((resolve) => (answer = () => resolve(accept({ name: "a" }))));
    } });
    const ended = assert.rejects(call({ signal: controller.signal }),
      { name: "TransportError", code: "cancelled", message: "enough" });
    await turn();
    assert.equal((told as AbortSignal | undefined)?.aborted, false);
    controller.abort(new Error("enough"));
    assert.notEqual(await within(ended, 200), "pending");
    answer();
    await turn();
    assert.deepEqual([(told as AbortSignal | undefined)?.aborted, asked.length], [true, 1]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("a call cancelled in a later round ends that round " +
    "(spec basic/patterns/cancellation#cancellation-flow)", async () => {
    const controller = new AbortController();
    const signals: AbortSignal[] = [];
    const { exchange } = scripted(({ id }, { signal }: Lane) => {
      signals.push(signal);
      return signals.length === 1 ? resultOf(id, needs({ who: NAME })) : never<object>();
    });
    const call = connect(exchange, answering({ form: () => accept({ name: "a" }) }))
      .call("tools/call", { name: "t" }, { signal: controller.signal });
    const ended = assert.rejects(call, { code: "cancelled" });
    await turn();
    controller.abort();
    await ended;
    assert.equal(signals[1]?.aborted, true);
  });

  test("progress of every round reaches the caller " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    const heard: number[] = [];
    const { exchange, asked } = scripted(async (request, lane) => {
      await lane.notify({ jsonrpc: "2.0", method: "notifications/progress", params: {
        progressToken: metaOf(request)["progressToken"], progress: asked.length } });
      return resultOf(request.id, asked.length === 1 ? needs({ who: NAME }) : {});
    });
    await connect(exchange, answering({ form: () => accept({ name: "a" }) })).call("tools/call",
      { name: "t" }, { onProgress: ({ progress }) => void heard.push(progress) });
    assert.deepEqual(heard, [1, 2]);
  });

  test("no timer is left when the rounds are over, nor when answering failed " +
    "(engineering)", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
    const before = timers();
    for (const form of [() => accept({ name: "a" }), () => { throw new Error("closed"); }]) {
      await clientOf([needs({ who: NAME }), DONE], { form }).call().catch(() => {});
    }
    assert.equal(timers(), before);
  });

  test("who fails to answer ends the call, and the server is not asked again " +
    "(spec client/elicitation#error-handling)", async () => {
    const broken = new Error("the window is closed");
    for (const form of [() => { throw broken; }, () => Promise.reject(broken)]) {
      const { call, asked } = clientOf([needs({ who: NAME, what: NAME }), DONE], { form });
      await assert.rejects(call(), (error: Error & { cause?: unknown }) =>
        error === broken || error.cause === broken);
      assert.equal(asked.length, 1);
    }
  });
});

describe("Answering: capabilities", () => {
  const declared = (answers: Answers) => answering(answers).capabilities;

  test("what can be answered is declared, and nothing else " +
    "(spec client/elicitation#capabilities)", () => {
    const yes = () => accept();
    assert.deepEqual(declared({}), {});
    assert.deepEqual(declared({ form: yes }), { elicitation: { form: {} } });
    assert.deepEqual(declared({ url: yes }), { elicitation: { url: {} } });
    assert.deepEqual(declared({ form: yes, url: yes }), { elicitation: { form: {}, url: {} } });
    assert.deepEqual(declared({ sample: () => SAID }), { sampling: {} });
    assert.deepEqual(declared({ sample: () => SAID, sampleTools: true }),
      { sampling: { tools: {} } });
    assert.deepEqual(declared({ roots: [] }), { roots: {} });
  });

  test("LIF-30: a question that was not declared ends the call, and nobody is asked " +
    "(spec client/elicitation#capabilities)", async () => {
    const fail = () => assert.fail("was asked");
    for (const [question, answers] of [[NAME, { url: fail }], [NAME, {}],
      [elicit({ message: "m", requestedSchema: { type: "object", properties: {} } }),
        { url: fail }],
      [visit("https://example.com/"), { form: fail }], [QUESTION, { form: fail }],
      [{ method: "roots/list" }, { form: fail, url: fail, sample: fail }],
      [{ method: "tools/list" }, { form: fail, roots: fail }],
      [{ method: "toString" }, { form: fail, roots: fail }]] as [object, Answers][]) {
      assert.equal(await answerTo(question, answers), "TransportError", JSON.stringify(question));
    }
  });

  test("when one question of several cannot be answered, none is put to the user " +
    "(engineering)", async () => {
    let asked = 0;
    const { call } = clientOf([needs({ who: NAME, what: QUESTION }), DONE],
      { form: () => (asked++, accept({ name: "a" })) });
    await assert.rejects(call(), { name: "TransportError" });
    assert.equal(asked, 0);
  });
});

describe("Answering: forms", () => {
  test("a question without a mode is a form " +
    "(spec client/elicitation#elicitation-requests)", async () => {
    const { mode, ...params } = NAME.params as Json;
    assert.deepEqual(await answerTo(elicit(params), { form: (given) => {
      assert.deepEqual(given, params);
      return accept({ name: "Ada" });
    } }), { action: "accept", content: { name: "Ada" } });
  });

  test("defaults are filled in where the user gave nothing, whatever their type, and nowhere " +
    "else (spec client/elicitation#requested-schema)", async () => {
    const question = form({ name: { type: "string", default: "John Doe" },
      age: { type: "integer", default: 30 }, score: { type: "number", default: 95.5 },
      status: { type: "string", enum: ["active", "inactive"], default: "active" },
      colour: { type: "string", oneOf: [{ const: "#f00", title: "Red" }], default: "#f00" },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["b"] },
      verified: { type: "boolean", default: true }, off: { type: "boolean", default: false },
      none: { type: "number", default: 0 }, empty: { type: "string", default: "" },
      free: { type: "string" } });
    assert.deepEqual(await answerTo(question, { form: () => accept({ age: 31 }) }),
      { action: "accept", content: { name: "John Doe", age: 31, score: 95.5, status: "active",
        colour: "#f00", tags: ["b"], verified: true, off: false, none: 0, empty: "" } });
  });

  test("what the user gave stands, be it false, zero, empty or no choice at all " +
    "(spec client/elicitation#requested-schema)", async () => {
    const question = form({ name: { type: "string", default: "x" },
      age: { type: "integer", default: 30 }, verified: { type: "boolean", default: true },
      tags: { type: "array", items: { type: "string", enum: ["a"] }, default: ["a"] } });
    const content = { name: "", age: 0, verified: false, tags: [] };
    assert.deepEqual(await answerTo(question, { form: () => accept(content) }),
      { action: "accept", content });
  });

  test("a field whose value is undefined was left out " +
    "(spec client/elicitation#requested-schema)", async () => {
    const question = form({ name: { type: "string", default: "x" } }, ["name"]);
    assert.deepEqual(await answerTo(question, { form: () => accept({ name: undefined }) }),
      { action: "accept", content: { name: "x" } });
  });

  test("a form accepted as it is gets its defaults " +
    "(spec client/elicitation#requested-schema)", async () => {
    const question = form({ name: { type: "string", default: "x" } }, ["name"]);
    assert.deepEqual(await answerTo(question, { form: () => accept() }),
      { action: "accept", content: { name: "x" } });
  });

  test("who declines or dismisses a form sends no content, and no defaults " +
    "(spec client/elicitation#response-actions)", async () => {
    const question = form({ name: { type: "string", default: "x" } });
    for (const action of ["decline", "cancel"] as const) {
      for (const more of [{}, { content: { name: "y" } }]) {
        assert.deepEqual(await answerTo(question, { form: () => ({ action, ...more }) }),
          { action });
      }
    }
  });

  test("a default for a property called __proto__ is a value, not a prototype " +
    "(spec client/elicitation#requested-schema)", async () => {
    const { client, lines } = spoken(['{"resultType":"input_required","inputRequests":{"k":{' +
      '"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object",' +
      '"properties":{"__proto__":{"type":"string","default":"p"}}}}}}}',
    '{"resultType":"complete","content":[]}'], { form: () => accept({}) });
    await client.call("tools/call", { name: "t" });
    assert.match(lines[1] ?? "", /"content":\{"__proto__":"p"\}/);
  });

  test("filling in defaults changes neither the user's answer nor the question " +
    "(engineering)", async () => {
    const question = form({ tags: { type: "array", items: { type: "string", enum: ["a"] },
      default: ["a"] } });
    const [given, before] = [accept({}), structuredClone(question)];
    await answerTo(question, { form: () => given });
    assert.deepEqual([given, question], [accept({}), before]);
  });

  test("an answer that breaks the form's schema, or is none, is not sent " +
    "(spec client/elicitation#form-mode-security)", async () => {
    const question = form({ name: { type: "string", maxLength: 3 } }, ["name"]);
    for (const answer of [accept({ name: 5 }), accept({ name: "long" }), accept({}),
      accept({ name: { first: "a" } }), { action: "yes" }, {}, null, "accept",
      { action: "accept", content: [] }, { action: "accept", content: "name" }]) {
      assert.notEqual(typeof await answerTo(question, { form: () => answer as ElicitResult }),
        "object", JSON.stringify(answer));
    }
  });

  test("content that is no object is not sent, though the form needs nothing " +
    "(spec client/elicitation#response-actions)", async () => {
    for (const content of [[], ["a"], "name", 5, true]) {
      assert.equal(await answerTo(form({ name: { type: "string" } }),
        { form: () => ({ action: "accept", content }) as never }), "TransportError",
        JSON.stringify(content));
    }
  });

  test("a question that is no form is not put to the user " +
    "(spec client/elicitation#form-mode-elicitation-requests)", async () => {
    const schema = { type: "object", properties: {} };
    for (const params of [undefined, null, {}, { message: "m" }, { requestedSchema: schema },
      { message: 5, requestedSchema: schema }, { message: "m", requestedSchema: null },
      { message: "m", requestedSchema: { type: "array" } },
      { mode: "form", message: "m", requestedSchema: "object" },
      { mode: "voice", message: "m", requestedSchema: schema },
      { mode: 1, message: "m", requestedSchema: schema }]) {
      assert.equal(await answerTo({ method: "elicitation/create", params },
        { form: () => assert.fail("was asked"), url: () => assert.fail("was asked") }),
        "TransportError", JSON.stringify(params));
    }
  });
});

describe("Answering: addresses to visit", () => {
  test("the user sees the message and the address letter for letter, and consent is all that is " +
    "sent (spec client/elicitation#url-mode-elicitation-requests)", async () => {
    for (const url of ["https://mcp.example.com/ui/set_api_key", "HTTPS://EXAMPLE.com:443/a/../b",
      "http://localhost:3000/x?y=1#z", "https://xn--80ak6aa92e.com"]) {
      const shown: unknown[] = [];
      assert.deepEqual(await answerTo(visit(url), { url: (params) => {
        shown.push(params);
        return accept();
      } }), { action: "accept" });
      assert.deepEqual(shown, [{ mode: "url", message: "Look here", url }]);
    }
  });

  test("without consent nothing is accepted (spec client/elicitation#safe-url-handling)",
    async () => {
    for (const action of ["decline", "cancel"] as const) {
      assert.deepEqual(await answerTo(visit("https://example.com/"), { url: () => ({ action }) }),
        { action });
    }
  });

  test("content has no place in the answer (spec client/elicitation#response-actions)",
    async () => {
    assert.deepEqual(await answerTo(visit("https://example.com/"),
      { url: () => accept({ key: "secret" }) }), { action: "accept" });
  });

  test("SEC-08: an address that is not http or https is not shown, and nothing is accepted " +
    "(spec client/elicitation#safe-url-handling)", async () => {
    for (const url of ["JAVASCRIPT:alert(1)", "javascript:alert(1)", " javascript:x", "data:,x",
      "java\nscript:alert(1)", "vbscript:x", "file:///etc/passwd", "ftp://example.com/",
      "blob:https://example.com/1", "vscode://x", "//example.com", "/a", "example.com", "", 5,
      null, "https://", "http://[", {}, ["https://example.com/"], { toString: 1 }]) {
      const answer = await answerTo(visit(url), { url: () => assert.fail("was shown") });
      assert.ok(answer === "TransportError" || (answer as ElicitResult).action !== "accept",
        JSON.stringify([url, answer]));
    }
  });

  test("nothing is fetched from the address (spec client/elicitation#safe-url-handling)",
    async () => {
    const fetched = mock.method(globalThis, "fetch", () => never<Response>());
    await answerTo(visit("https://example.com/"), { url: () => accept() });
    assert.equal(fetched.mock.callCount(), 0);
    fetched.mock.restore();
  });
});

describe("Answering: sampling", () => {
  const TOOL = { name: "get_weather", inputSchema: { type: "object" } };
  const asking = (messages: unknown[], more = {}) =>
    sampling({ messages, maxTokens: 1000, ...more });

  test("the model's message goes back as it is (spec client/sampling#creating-messages)",
    async () => {
    const question = asking([said("user", text("Capital?"))], { systemPrompt: "s",
      modelPreferences: { hints: [{ name: "m" }], costPriority: 0.3 }, temperature: 0.1,
      includeContext: "none", stopSequences: ["."], metadata: { a: 1 } });
    assert.deepEqual(await answerTo(question, { sample: (params) => {
      assert.deepEqual(params, question.params);
      return SAID;
    } }), SAID);
  });

  test("context of servers may be asked for and ignored " +
    "(spec client/sampling#context-inclusion)", async () => {
    const question = asking([said("user", text("?"))], { includeContext: "thisServer" });
    assert.deepEqual(await answerTo(question, { sample: () => SAID }), SAID);
  });

  test("with tools declared, tools and their choice reach the model, and uses of tools go back " +
    "(spec client/sampling#sampling-with-tools)", async () => {
    const question = asking([said("user", text("Weather?"))],
      { tools: [TOOL], toolChoice: { mode: "auto" } });
    const answer = { role: "assistant" as const, content: [use("1"), use("2")], model: "m",
      stopReason: "toolUse" };
    assert.deepEqual(await answerTo(question, { sampleTools: true, sample: (params) => {
      assert.deepEqual(params, question.params);
      return answer as never;
    } }), answer);
  });

  test("tools for a client that declared none end the call, and the model is not asked " +
    "(spec client/sampling#tools-in-sampling)", async () => {
    for (const more of [{ tools: [TOOL] }, { tools: [] }, { toolChoice: { mode: "none" } }]) {
      assert.equal(await answerTo(asking([said("user", text("?"))], more),
        { sample: () => assert.fail("was asked") }), "TransportError");
    }
  });

  test("a conversation in which every use of a tool has its result reaches the model " +
    "(spec client/sampling#tool-use-and-result-balance)", async () => {
    for (const messages of [
      [said("assistant", [use("1"), use("2")]), said("user", [outcome("2"), outcome("1")])],
      [said("assistant", use("1")), said("user", outcome("1"))],
      [said("assistant", [text("hm"), use("1")]), said("user", [outcome("1")]),
        said("assistant", text("18")), said("user", text("thanks"))],
      [said("assistant", use("1")), said("user", outcome("1")), said("assistant", use("2")),
        said("user", outcome("2"))],
    ]) {
      assert.deepEqual(await answerTo(asking([said("user", text("?")), ...messages],
        { tools: [TOOL] }), { sampleTools: true, sample: () => SAID }), SAID);
    }
  });

  for (const [what, messages] of [
    ["a use whose result is missing", [said("assistant", [use("1"), use("2")]),
      said("user", [outcome("1")]), said("assistant", text("hm"))]],
    ["a use that nothing follows", [said("assistant", [use("1")])]],
    ["a use that is followed by words", [said("assistant", use("1")), said("user", text("go"))]],
    ["a use whose result comes a message later", [said("assistant", use("1")),
      said("user", text("wait")), said("user", outcome("1"))]],
    ["a use that is followed by another message of the assistant", [said("assistant", use("1")),
      said("assistant", text("hm")), said("user", outcome("1"))]],
    ["results mixed with words", [said("assistant", use("1")),
      said("user", [text("Here:"), outcome("1")])]],
    ["a result of another use", [said("assistant", use("1")), said("user", outcome("2"))]],
    ["a result of no use", [said("user", outcome("1"))]],
    ["two results of one use for two uses", [said("assistant", [use("1"), use("2")]),
      said("user", [outcome("1"), outcome("1")])]],
  ] as const) {
    test(`a conversation with ${what} ends the call, and the model is not asked ` +
      "(spec client/sampling#tool-use-and-result-balance)", async () => {
      assert.equal(await answerTo(asking([said("user", text("?")), ...messages],
        { tools: [TOOL] }), { sampleTools: true, sample: () => assert.fail("was asked") }),
        "TransportError");
    });
  }

  test("what is no conversation is not put to the model " +
    "(spec client/sampling#messages)", async () => {
    for (const params of [undefined, null, {}, { messages: [] }, { messages: "?", maxTokens: 1 },
      { messages: [null], maxTokens: 1 }, { messages: [said("system", text("?"))], maxTokens: 1 },
      { messages: [{ role: "user" }], maxTokens: 1 }, { messages: [said("user", text("?"))] },
      { messages: [said("user", text("?"))], maxTokens: "9" },
      { messages: [said("user", "words")], maxTokens: 1 },
      { messages: [said("user", [5])], maxTokens: 1 }]) {
      assert.equal(await answerTo({ method: "sampling/createMessage", params },
        { sample: () => assert.fail("was asked") }), "TransportError", JSON.stringify(params));
    }
  });

  test("what is no message of a model is not sent (spec client/sampling#result-fields)",
    async () => {
    for (const answer of [undefined, null, "Paris", {}, { role: "assistant", model: "m" },
      { role: "assistant", content: text("a") }, { content: text("a"), model: "m" },
      { role: "system", content: text("a"), model: "m" },
      { role: "assistant", content: "Paris", model: "m" },
      { role: "assistant", content: text("a"), model: 5 }]) {
      assert.notEqual(typeof await answerTo(QUESTION, { sample: () => answer as never }),
        "object", JSON.stringify(answer));
    }
  });
});

describe("Answering: roots", () => {
  const LIST = { method: "roots/list" };

  test("roots are told as they are, from a list or from a function asked each time " +
    "(spec client/roots#listing-roots)", async () => {
    const roots = [{ uri: "file:///home/user/projects/my%20project", name: "My Project" },
      { uri: "file:///b", _meta: { a: 1 } }];
    assert.deepEqual(await answerTo(LIST, { roots }), { roots });
    assert.deepEqual(await answerTo(LIST, { roots: async () => roots }), { roots });
    assert.deepEqual(await answerTo({ ...LIST, params: {} }, { roots: [] }), { roots: [] });
  });

  test("only file: URIs are told (spec client/roots#root)", async () => {
    for (const uri of ["https://example.com/a", "http://localhost/", "FTP://a/", "a/b", "", "C:\\a",
      "files:///a", "file", "git+file:///a", " https://a", 5, null]) {
      for (const roots of [[{ uri }], () => [{ uri: "file:///ok" }, { uri }]]) {
        const sent: unknown[] = [];
        try {
          sent.push(await answerTo(LIST, { roots } as never));
        } catch { /* refused when it was offered */ }
        assert.ok(!JSON.stringify(sent).includes(`"uri":${JSON.stringify(uri)}`),
          JSON.stringify(uri));
      }
    }
  });

  test("a root that climbs out of its own path is not told as it is " +
    "(spec client/roots#security-considerations)", async () => {
    for (const uri of ["file:///home/me/../../etc", "file:///home/me/%2e%2e/%2E%2E/etc"]) {
      const sent: unknown[] = [];
      try {
        sent.push(await answerTo(LIST, { roots: [{ uri }] }));
      } catch { /* refused when it was offered */ }
      assert.doesNotMatch(JSON.stringify(sent), /\.\.|%2e/i);
    }
  });
});
