// Part V, the client of both eras on a channel. The server of an earlier revision is a script
// that speaks literal messages; what the client writes is looked at whole.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { afterEach, describe, mock, test } from "node:test";
import {
  ProtocolError, TransportError, answering, compileSchema, connect, connectEither, open, subscribe,
  type Answers, type JSONRPCMessage, type JSONRPCResponse,
} from "../mcp-raw.ts";
import { lane, ms, request, until, within } from "./kit-http.ts";

type Json = Record<string, unknown>;
interface Message { jsonrpc: "2.0"; id?: string | number; method?: string; params?: Json;
  result?: Json; error?: { code: number; message: string; data?: unknown } }
/** What a server says to a message: an answer, a line as it stands, or nothing. */
type Say = { result: object } | { error: object } | string | undefined;
type Script = Record<string, (message: Message) => Say | Promise<Say>>;
type Options = NonNullable<Parameters<typeof connectEither>[1]>;

const PREFIX = "io.modelcontextprotocol/";
const SERVER_INFO = `${PREFIX}serverInfo`, SUBSCRIPTION = `${PREFIX}subscriptionId`;
const ACK = "notifications/subscriptions/acknowledged";
const INFO = { name: "reader", version: "1" };
const HELLO = { protocolVersion: "2025-11-25", serverInfo: { name: "old", version: "3" },
  capabilities: { tools: { listChanged: true }, prompts: {}, logging: {},
    resources: { subscribe: true, listChanged: true } }, instructions: "Ask." };
const TOOL = { name: "t", inputSchema: { type: "object" } };
const no = (code: number, message = "no", data?: unknown) =>
  ({ error: { code, message, ...(data !== undefined && { data }) } });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async (): Promise<void> => { for (let n = 0; n < 10; n++) await turn(); };

/** A server that answers by a script, refuses the probe and shakes hands; and its client. */
function peer(script: Script = {}, options: Options = {}) {
  const wire: Message[] = []; // what the client wrote
  const stray: JSONRPCMessage[] = [];
  const unread: string[] = [];
  const all: Script = { "server/discover": () => no(-32601), initialize: () => ({ result: HELLO }),
    "tools/list": () => ({ result: { tools: [TOOL] } }),
    "tools/call": () => ({ result: { content: [] } }),
    "resources/subscribe": () => ({ result: {} }), "resources/unsubscribe": () => ({ result: {} }),
    "logging/setLevel": () => ({ result: {} }), ...script };
  const say = (message: object | string) => void end.receive(typeof message === "string" ? message
    : JSON.stringify({ jsonrpc: "2.0", ...message }));
  const end = connectEither((text) => {
    const message = JSON.parse(text) as Message;
    wire.push(message);
    const { id, method } = message;
    if (method === undefined) return;
    queueMicrotask(async () => {
      const said = await (all[method] ?? (() => no(-32601)))(message);
      if (id !== undefined && said !== undefined) say(typeof said === "string" ? said
        : { id, ...said });
    });
  }, { probeMs: 20, compile: compileSchema, other: (message) => void stray.push(message),
    unreadable: (text) => void unread.push(text), ...options });
  const { capabilities, resultTypes } = answering(options.answers ?? {});
  let last = 100;
  const ask = (method: string, params: object = {}, way = lane()) => end.exchange({ jsonrpc: "2.0",
    id: ++last, method, params: { ...params, _meta: { [`${PREFIX}protocolVersion`]: "2026-07-28",
      [`${PREFIX}clientInfo`]: INFO, [`${PREFIX}clientCapabilities`]: capabilities } } }, way);
  return { ...end, end, wire, stray, unread, say, ask,
    client: connect(end.exchange, { info: INFO, capabilities, resultTypes }),
    methods: () => wire.flatMap(({ method }) => method ?? []),
    sent: (method: string) => wire.filter((one) => one.method === method),
    answers: () => wire.filter((one) => one.method === undefined) };
}
/** A server whose handshake is over. */
async function ready(script: Script = {}, options: Options = {}) {
  const server = peer(script, { era: "legacy", ...options });
  await server.ask("tools/list");
  server.wire.length = 0;
  return server;
}
/** What the client answers to one request of the server. */
async function answered(message: object, answers: Answers = {}): Promise<Message> {
  const server = await ready({}, { answers });
  server.say({ id: "s1", ...message });
  await until(() => server.answers().length > 0);
  await turns();
  assert.equal(server.wire.length, 1);
  return server.wire[0] as Message;
}
/** A response without word of who answered. */
function unsigned(response: JSONRPCResponse): JSONRPCResponse {
  if ("error" in response) return response;
  const { _meta, ...result } = response.result;
  const { [SERVER_INFO]: info = HELLO.serverInfo, ...meta } = (_meta ?? {}) as Json;
  assert.deepEqual(info, HELLO.serverInfo);
  const kept = Object.keys(meta).length > 0 ? { ...result, _meta: meta } : result;
  return { ...response, result: kept };
}
const discovered = (supportedVersions: string[]) => ({ result: { resultType: "complete",
  supportedVersions, capabilities: { tools: {} }, ttlMs: 0, cacheScope: "public" } });
const MODERN: Script = { "server/discover": () => discovered(["2026-07-28"]),
  initialize: () => assert.fail("a modern server is not initialized"),
  "tools/list": () => ({ result: { resultType: "complete", tools: [], ttlMs: 0,
    cacheScope: "public" } }) };

afterEach(() => mock.timers.reset());

describe("Handshake client: which era a server speaks", () => {
  for (const [what, reply] of [
    ["answers the probe with -32601", no(-32601)], ["answers it with -32602", no(-32602)],
    ["answers it with -32600", no(-32600)], ["answers it with -32000", no(-32000)],
    ["answers it with -32002", no(-32002)], ["answers it with the code 0", no(0)],
    ["answers it with -32023", no(-32023)], ["does not answer it", undefined],
    ["gives it an empty result", { result: {} }],
    ["gives it a result that is no DiscoverResult", { result: { supportedVersions: "all" } }],
    ["answers it with no JSON", "Server starting.."], ["answers it with no message", "{}"],
    ["answers it with a scalar", "42"],
    ["answers it without saying what", '{"jsonrpc":"2.0","id":1}'],
    ["answers an id that it could not read", '{"jsonrpc":"2.0","id":null,"error":' +
      '{"code":-32600,"message":"Invalid Request"}}'],
  ] as [string, Say][]) {
    test(`LIF-18: a server that ${what} is a legacy one, and is spoken to after a handshake ` +
      "(spec basic/transports/stdio#backward-compatibility)", async () => {
      const { ask, methods } = peer({ "server/discover": () => reply });
      assert.deepEqual(unsigned(await ask("tools/call", { name: "t" })), { jsonrpc: "2.0",
        id: 101, result: { resultType: "complete", content: [] } });
      assert.deepEqual(methods().filter((method) => method !== "notifications/cancelled"),
        ["server/discover", "initialize", "notifications/initialized", "tools/call"]);
    });
  }

  test("LIF-18: a server that says nothing is waited for a few seconds, unless told otherwise " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { ask, methods } = peer({ "server/discover": () => undefined },
      { probeMs: undefined } as unknown as Options); // as if it were not given
    const listed = ask("tools/list");
    await turns();
    mock.timers.tick(500);
    await turns();
    assert.deepEqual(methods(), ["server/discover"]);
    mock.timers.tick(9_500);
    await turns();
    assert.ok(methods().includes("initialize"));
    assert.ok("result" in await listed);
  });

  test("LIF-04: what was found, or was not, leaves no timer that would keep a process " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
    const before = timers();
    const refused: Script = { initialize: () => no(-32603) };
    for (const script of [{}, MODERN, refused]) {
      await peer(script, { probeMs: 60_000 }).ask("tools/list").catch(() => {});
      assert.equal(timers(), before);
    }
  });

  test("the probe is the first message, and a request of the newest revision like any other " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    const { ask, wire } = peer(MODERN);
    await ask("tools/list");
    const { id, params, ...rest } = wire[0] as Message;
    assert.deepEqual(rest, { jsonrpc: "2.0", method: "server/discover" });
    assert.ok(typeof id === "string" || Number.isInteger(id));
    const { [`${PREFIX}protocolVersion`]: version, [`${PREFIX}clientCapabilities`]: capabilities } =
      params?.["_meta"] as Json;
    assert.equal(version, "2026-07-28");
    assert.equal(typeof capabilities, "object");
  });

  test("a server that gives a DiscoverResult is modern: requests reach it as they are " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    const { ask, wire, methods } = peer(MODERN);
    const { result } = await ask("tools/list") as { result: unknown };
    assert.deepEqual(result, { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "public" });
    assert.deepEqual(methods(), ["server/discover", "tools/list"]);
    assert.deepEqual(wire[1]?.params, { _meta: { [`${PREFIX}protocolVersion`]: "2026-07-28",
      [`${PREFIX}clientInfo`]: INFO, [`${PREFIX}clientCapabilities`]: {} } });
  });

  test("an error of the modern era is no reason for a handshake " +
    "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
  async () => {
    for (const [code, data] of [[-32020, undefined], [-32021, { requiredCapabilities: {} }],
      [-32022, { supported: ["2026-07-28"], requested: "2026-07-28" }]] as const) {
      const { ask, methods } = peer({ ...MODERN, "server/discover": () => no(code, "no", data) });
      assert.ok("result" in await ask("tools/list"), String(code));
      assert.deepEqual(methods(), ["server/discover", "tools/list"], String(code));
    }
  });

  test("a server without a revision in common gives its error, and is not initialized " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    const refusal = no(-32022, "no", { supported: ["2030-01-01"], requested: "2026-07-28" });
    const { client, methods } = peer({ ...MODERN, "server/discover": () => refusal,
      "tools/list": () => refusal });
    await assert.rejects(client.call("tools/list", {}), (error) =>
      error instanceof ProtocolError && error.code === -32022);
    assert.ok(!methods().includes("initialize"));
  });

  test("what was found is remembered: one probe for all calls, also for those made at once " +
    "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
  async () => {
    for (const script of [{}, MODERN]) {
      const { ask, sent } = peer(script);
      await Promise.all([ask("tools/list"), ask("tools/list"), ask("tools/list")]);
      await ask("tools/list");
      assert.equal(sent("server/discover").length, 1);
      assert.equal(sent("initialize").length, script === MODERN ? 0 : 1);
      assert.equal(sent("tools/list").length, 4);
    }
  });

  test("an answer to the probe that comes after the wait changes nothing " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    for (const late of [no(-32601), discovered(["2026-07-28"])]) {
      const { ask, say, wire, sent } = peer({ "server/discover": () => undefined });
      await ask("tools/list");
      say({ id: wire[0]?.id, ...late });
      assert.ok("result" in await ask("tools/list"));
      assert.equal(sent("initialize").length, 1);
      assert.deepEqual(sent("tools/list").map(({ params }) => params?.["_meta"]),
        [undefined, undefined]);
    }
  });

  test("a server that is said to be legacy is not probed " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const { ask, methods } = peer({}, { era: "legacy" });
    await ask("tools/list");
    assert.deepEqual(methods(), ["initialize", "notifications/initialized", "tools/list"]);
  });

  test("a server that is said to be modern is never initialized, whatever it answers or does not " +
    "(spec basic/versioning#compatibility-matrix)", async () => {
    for (const reply of [no(-32601), no(-32000), undefined]) {
      const { ask, methods } = peer({ "server/discover": () => reply, "tools/list": () => reply },
        { era: "modern", probeMs: 5 });
      const outcome = await within(ask("tools/list").catch((error: unknown) => error), 40);
      if (reply !== undefined) assert.notEqual(outcome, "pending");
      assert.ok(!methods().includes("initialize"));
    }
  });

  test("a modern server that asks gets no answer: clients write no responses there " +
    "(spec basic/transports/stdio#sending-messages)", async () => {
    const { ask, say, answers } = peer(MODERN, { answers: { roots: [] } });
    await ask("tools/list");
    say({ id: "s1", method: "roots/list" });
    say({ id: "s2", method: "ping" });
    await turns();
    assert.deepEqual(answers(), []);
  });

  // A program of one line a message, on stdio. What it knows of the protocol stands here.
  const program = (onOther: string, version = "2025-11-25") => [process.execPath, "-e", `
    let ready = false, rest = "";
    process.stderr.write(process.pid + "\\n");
    process.stdin.on("end", () => process.exit(0)).on("data", (chunk) => {
      const lines = (rest + chunk).split("\\n");
      rest = lines.pop();
      for (const line of lines) {
        const { id, method } = JSON.parse(line);
        const say = (result) => process.stdout.write(
          JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
        if (method === "initialize") { ready = true; say({ protocolVersion: "${version}",
          capabilities: { tools: {} }, serverInfo: { name: "child", version: "1" } }); }
        else if (id !== undefined && !ready) { ${onOther} }
        else if (id !== undefined) say({ tools: [] });
      }
    });`];

  test("LIF-19: a program that ends at the probe is started anew and initialized " +
    "(spec basic/transports/stdio#backward-compatibility)", async () => {
    const { client, connection } = await open(program("process.exit(1)"), {});
    assert.deepEqual(await client.list("tools/list", "tools"), []);
    await connection.close();
  });

  test("LIF-11: a program that is ended while it is probed is not started anew " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const pids: string[] = [];
    const { client, connection } = await open(program(""), // it says nothing to the probe
      { onStderr: (text) => void pids.push(text) });
    const call = client.call("tools/list", {}).then(() => "resolved", () => "rejected");
    await until(() => pids.length > 0);
    await connection.close();
    const outcome = await within(call, 1_000);
    await ms(100); // in which a program would say its number
    for (const pid of pids.slice(1)) process.kill(Number(pid));
    assert.equal(outcome, "rejected");
    assert.equal(pids.length, 1);
  });

  test("LIF-04: a program with no revision in common is an error that names both, and is ended " +
    "(spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    let pid = 0;
    const opened = open(program("say({ nothing: true })", "1999-01-01"),
      { onStderr: (text) => void (pid ||= Number(text)) });
    await assert.rejects(opened.then(({ client }) => client.call("tools/list", {})), (error) =>
      error instanceof Error && /1999-01-01/.test(error.message) &&
      /2025-11-25/.test(error.message));
    await until(() => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true; // it is gone
      }
    }, "the program ends");
  });
});

describe("Handshake client: the handshake", () => {
  test("initialize names the newest revision, what the client can do and who it is; then comes " +
    "notifications/initialized, and only then a call " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const { ask, wire } = peer({}, { era: "legacy" });
    await ask("tools/call", { name: "t", arguments: { a: 1 } });
    assert.deepEqual(wire, [
      { jsonrpc: "2.0", id: wire[0]?.id, method: "initialize", params: {
        protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO } },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: wire[2]?.id, method: "tools/call",
        params: { name: "t", arguments: { a: 1 } } },
    ]);
  });

  test("what the client can do is what there are answers for " +
    "(spec@2025-11-25 basic/lifecycle#capability-negotiation)", async () => {
    const form = () => ({ action: "cancel" }) as const;
    const sample = () => assert.fail("nobody asked");
    for (const [answers, capabilities] of [
      [{ form }, { elicitation: { form: {} } }], [{ url: form }, { elicitation: { url: {} } }],
      [{ form, url: form }, { elicitation: { form: {}, url: {} } }],
      [{ sample }, { sampling: {} }], [{ sample, sampleTools: true }, { sampling: { tools: {} } }],
      [{ roots: [] }, { roots: {} }], [{ roots: () => [] }, { roots: {} }],
    ] as [Answers, object][]) {
      const { ask, sent } = peer({}, { era: "legacy", answers });
      await ask("tools/list");
      assert.deepEqual(sent("initialize")[0]?.params?.["capabilities"], capabilities);
    }
  });

  test("nothing but the handshake is written before initialize is answered " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    let answer = (_: Say) => {};
    const { ask, methods } = peer({ initialize: () => new Promise<Say>((resolve) =>
      (answer = resolve)) }, { era: "legacy" });
    const calls = [ask("tools/list"), ask("tools/call", { name: "t" })];
    await turns();
    assert.deepEqual(methods(), ["initialize"]);
    answer({ result: HELLO });
    await Promise.all(calls);
    assert.deepEqual(methods(), ["initialize", "notifications/initialized", "tools/list",
      "tools/call"]);
  });

  test("LIF-05: an older revision that the server answers with is accepted, and spoken " +
    "(spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    for (const protocolVersion of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
      const { ask, methods, sent } = peer({ initialize: () =>
        ({ result: { ...HELLO, protocolVersion } }) }, { era: "legacy" });
      const { result } = await ask("server/discover") as { result: Json };
      assert.ok((result["supportedVersions"] as string[]).includes(protocolVersion));
      assert.ok("result" in await ask("tools/list"));
      assert.equal(sent("initialize").length, 1);
      assert.deepEqual(methods().slice(-2), ["notifications/initialized", "tools/list"]);
    }
  });

  test("LIF-04: a revision that the client does not speak is an error that names both, and " +
    "nothing follows (spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    for (const protocolVersion of ["1999-01-01", "2026-07-28", "2099-01-01"]) {
      const { client, methods } = peer({ initialize: () =>
        ({ result: { ...HELLO, protocolVersion } }) }, { era: "legacy" });
      await assert.rejects(client.call("tools/list", {}), (error) => error instanceof Error &&
        error.message.includes(protocolVersion) && error.message.includes("2025-11-25"));
      await turns();
      assert.deepEqual(methods(), ["initialize"]);
    }
  });

  test("a handshake that the server refuses, or answers with nonsense, fails the call " +
    "(spec@2025-11-25 basic/lifecycle#error-handling)", async () => {
    for (const reply of [no(-32602, "Unsupported protocol version",
      { supported: ["2024-10-07"], requested: "2025-11-25" }), no(-32603), { result: {} },
    { result: { protocolVersion: 5 } }]) {
      const { client, methods } = peer({ initialize: () => reply }, { era: "legacy" });
      const call = client.call("tools/list", {});
      const failed = await within(call.catch((error: Error) => error), 500);
      const known = failed instanceof ProtocolError || failed instanceof TransportError;
      assert.ok(known, String(failed));
      assert.ok(!methods().includes("notifications/initialized"));
      assert.ok(!methods().includes("tools/list"));
    }
  });

  test("CAN-01: a handshake that takes too long fails the call, and is not cancelled " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { exchange, methods } = peer({ initialize: () => undefined }, { era: "legacy" });
    const client = connect(exchange, { timeoutMs: 20 });
    await assert.rejects(client.call("tools/list", {}), (error) =>
      error instanceof TransportError && error.code === "timeout");
    const controller = new AbortController();
    const call = client.call("tools/list", {}, { signal: controller.signal });
    await turns();
    controller.abort(new Error("no more"));
    await assert.rejects(call);
    await ms(10);
    assert.deepEqual([...new Set(methods())], ["initialize"]);
  });

  test("a call that is given up while the handshake is under way is never written " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    let answer = (_: Say) => {};
    const { ask, client, methods } = peer({ initialize: () => new Promise<Say>((resolve) =>
      (answer = resolve)) }, { era: "legacy" });
    const controller = new AbortController();
    const other = ask("tools/list");
    const call = client.call("tools/call", { name: "t" }, { signal: controller.signal });
    await turns();
    controller.abort(new Error("no more"));
    assert.equal(await within(call.catch((error: TransportError) => error.code), 200), "cancelled");
    answer({ result: HELLO });
    assert.ok("result" in await other);
    await turns();
    assert.deepEqual(methods(), ["initialize", "notifications/initialized", "tools/list"]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("server/discover is answered from the handshake, and not written " +
    "(spec server/discover#response)", async () => {
    const { client, methods } = peer({}, { era: "legacy" });
    const found = await client.call("server/discover", {});
    assert.deepEqual(found.supportedVersions.filter((one) => one !== "2026-07-28"),
      ["2025-11-25"]);
    assert.deepEqual(found.capabilities.tools, { listChanged: true });
    assert.equal(found.instructions, "Ask.");
    assert.deepEqual(found._meta?.[SERVER_INFO], HELLO.serverInfo);
    assert.ok(Number.isInteger(found.ttlMs) && found.ttlMs >= 0);
    assert.match(found.cacheScope, /^(public|private)$/);
    assert.equal(found.resultType, "complete");
    assert.deepEqual(methods(), ["initialize", "notifications/initialized"]);
  });

  test("a ping of the server is answered before the handshake is over " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const { ask, answers, say } = peer({ initialize() {
      say({ id: "p", method: "ping" });
      return undefined;
    } }, { era: "legacy" });
    ask("tools/list").catch(() => {}); // it waits for a handshake that does not come
    await until(() => answers().length > 0);
    assert.deepEqual(answers(), [{ jsonrpc: "2.0", id: "p", result: {} }]);
  });

  test("a channel that closes during the probe or the handshake fails the call, and nothing is " +
    "written afterwards (spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    for (const era of ["auto", "legacy"] as const) {
      const { ask, close, wire } = peer({ "server/discover": () => undefined,
        initialize: () => undefined }, { era, probeMs: 3_000 });
      const call = ask("tools/list").catch((error: unknown) => error);
      await turns();
      assert.equal(wire.length, 1);
      close(new TransportError("closed", "gone"));
      close(new TransportError("closed", "gone again"));
      assert.ok(await call instanceof TransportError);
      mock.timers.tick(60_000);
      await turns();
      assert.equal(wire.length, 1);
      await assert.rejects(ask("tools/list"));
      assert.equal(wire.length, 1);
    }
  });
});

describe("Handshake client: calls", () => {
  test("a request goes without the _meta of the modern era, which would make it modern, and with " +
    "all else (spec basic/versioning#compatibility-matrix)", async () => {
    const { ask, wire } = await ready();
    await ask("tools/call", { name: "t", arguments: { a: [1] } });
    assert.deepEqual(wire, [{ jsonrpc: "2.0", id: wire[0]?.id, method: "tools/call",
      params: { name: "t", arguments: { a: [1] } } }]);
    const { exchange, wire: lines } = await ready();
    const plain = request("tools/call", { name: "t" });
    const _meta = { ...plain.params?._meta as Json, progressToken: 0, "com.example/trace": "x" };
    await exchange({ ...plain, params: { ...plain.params, _meta } }, lane());
    assert.deepEqual(lines[0]?.params, { name: "t",
      _meta: { progressToken: 0, "com.example/trace": "x" } });
  });

  test("a result is complete, and a list or a resource says that it may not be kept: nobody " +
    "promised that it may (spec basic#resulttype)", async () => {
    const { ask } = await ready({
      "tools/call": () => ({ result: { content: [{ type: "text", text: "5" }],
        structuredContent: { five: 5 }, _meta: { "com.example/a": 1 } } }),
      "resources/read": () => ({ result: { contents: [{ uri: "x:/a", text: "a" }] } }),
      "resources/list": () => ({ result: { resources: [], nextCursor: "2" } }),
      "prompts/get": () => ({ result: { messages: [] } }),
    });
    const results = [];
    for (const method of ["tools/call", "prompts/get"]) {
      results.push((unsigned(await ask(method, { name: "t" })) as { result: Json }).result);
    }
    assert.deepEqual(results, [{ resultType: "complete", content: [{ type: "text", text: "5" }],
      structuredContent: { five: 5 }, _meta: { "com.example/a": 1 } },
    { resultType: "complete", messages: [] }]);
    const kept = [];
    for (const method of ["tools/list", "resources/list", "resources/read"]) {
      const { cacheScope, ...rest } =
        (unsigned(await ask(method, { uri: "x:/a" })) as { result: Json }).result;
      assert.match(String(cacheScope), /^(public|private)$/);
      kept.push(rest);
    }
    assert.deepEqual(kept, [{ resultType: "complete", ttlMs: 0, tools: [TOOL] },
      { resultType: "complete", ttlMs: 0, resources: [], nextCursor: "2" },
      { resultType: "complete", ttlMs: 0, contents: [{ uri: "x:/a", text: "a" }] }]);
  });

  test("an error reaches the caller as it came, under the id of the caller " +
    "(spec@2025-11-25 basic#error-responses)", async () => {
    const { ask } = await ready({ "tools/call": () => no(-32602, "Unknown tool", { name: "x" }),
      "prompts/get": () => no(-32601) });
    assert.deepEqual(await ask("tools/call", { name: "x" }), { jsonrpc: "2.0", id: 102,
      error: { code: -32602, message: "Unknown tool", data: { name: "x" } } });
    assert.deepEqual(await ask("prompts/get"), { jsonrpc: "2.0", id: 103,
      error: { code: -32601, message: "no" } });
  });

  test("calls in flight are told apart, whatever the order of the answers and the ids that their " +
    "callers gave them (spec@2025-11-25 basic#requests)", async () => {
    const held: ((said: Say) => void)[] = [];
    const { exchange, wire } = await ready({ "tools/call": () => new Promise<Say>((resolve) =>
      held.push(resolve)) });
    const ids = [0, "", 1, "1", "s1"];
    const calls = ids.map((id) =>
      exchange(request("tools/call", { name: String(id) }, id), lane()));
    await turns();
    for (const [at, resolve] of [...held.entries()].reverse()) {
      resolve({ result: { content: [], at } });
    }
    assert.deepEqual((await Promise.all(calls)).map((one) => unsigned(one)), ids.map((id, at) =>
      ({ jsonrpc: "2.0", id, result: { resultType: "complete", content: [], at } })));
    assert.deepEqual(wire.map(({ params }) => params?.["name"]), ids.map(String));
  });

  test("no id is used twice in a session, though the client adds requests of its own " +
    "(spec@2025-11-25 basic#requests)", async () => {
    const { client, wire } = peer();
    await client.call("tools/list", {});
    await client.call("tools/list", { _meta: { [`${PREFIX}logLevel`]: "info" } });
    const { acknowledged } = subscribe(client, { resourceSubscriptions: ["x:/a", "x:/b"] },
      { onChange() {} });
    await within(acknowledged, 500);
    await client.call("tools/call", { name: "t" });
    const ids = wire.flatMap(({ id }) => id ?? []);
    assert.ok(ids.length >= 7, String(ids));
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => typeof id === "string" || Number.isInteger(id)));
  });

  test("LIF-12: a list is read page by page, and ends where no cursor is given, or an empty one " +
    "(spec@2025-11-25 server/utilities/pagination#implementation-guidelines)", async () => {
    for (const last of [{}, { nextCursor: "" }, { nextCursor: null }]) {
      const { client, sent } = await ready({ "tools/list": ({ params }) => ({ result:
        params?.["cursor"] === "b=" ? { tools: [{ ...TOOL, name: "two" }], ...last }
          : { tools: [TOOL], nextCursor: "b=" } }) });
      const listed = await within(client.list("tools/list", "tools"), 500);
      assert.ok(listed !== "pending");
      assert.deepEqual(listed.map(({ name }) => name), ["t", "two"]);
      assert.deepEqual(sent("tools/list").map(({ params }) => params?.["cursor"]),
        [undefined, "b="]);
    }
  });

  test("progress reaches the call whose token it names " +
    "(spec@2025-11-25 basic/utilities/progress#progress-flow)", async () => {
    const { client, say } = await ready({ async "tools/call"({ params }) {
      const { progressToken } = params?.["_meta"] as { progressToken: string };
      for (const progress of [1, 2.5]) {
        say({ method: "notifications/progress",
          params: { progressToken, progress, total: 3, message: params?.["name"] } });
      }
      return { result: { content: [] } };
    } });
    const seen: unknown[][] = [[], []];
    await Promise.all(["a", "b"].map((name, at) => client.call("tools/call", { name },
      { onProgress: ({ progress, total, message }) => void seen[at]?.push([progress, total,
        message]) })));
    assert.deepEqual(seen, [[[1, 3, "a"], [2.5, 3, "a"]], [[1, 3, "b"], [2.5, 3, "b"]]]);
  });

  test("PRG-01: progress after the answer, or for nobody, is no fault " +
    "(spec@2025-11-25 basic/utilities/progress#behavior-requirements)", async () => {
    const { ask, say, wire } = await ready();
    for (const progressToken of [0, "p1", null]) {
      say({ method: "notifications/progress", params: { progressToken, progress: 1 } });
    }
    assert.ok("result" in await ask("tools/list"));
    assert.equal(wire.length, 1);
  });

  test("a call that is given up rejects at once, and the server is told under the id that it " +
    "knows; an answer that comes later is nobody's " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { exchange, wire, say, ask } = await ready({ "tools/call": () => undefined });
    const controller = new AbortController();
    const call = exchange(request("tools/call", { name: "t" }, "mine"), lane(controller.signal));
    await turns();
    controller.abort(new Error("I changed my mind"));
    await assert.rejects(call, (error) => error instanceof TransportError &&
      error.code === "cancelled");
    assert.deepEqual(wire.slice(1), [{ jsonrpc: "2.0", method: "notifications/cancelled",
      params: { requestId: wire[0]?.id, reason: "I changed my mind" } }]);
    say({ id: wire[0]?.id, result: { content: [] } });
    assert.ok("result" in await ask("tools/list"));
    assert.equal(wire.length, 3);
  });

  test("a call that takes too long is cancelled " +
    "(spec@2025-11-25 basic/lifecycle#timeouts)", async () => {
    const { client, wire } = await ready({ "tools/call": () => undefined });
    await assert.rejects(client.call("tools/call", { name: "t" }, { timeoutMs: 5 }), (error) =>
      error instanceof TransportError && error.code === "timeout");
    const [{ id } = assert.fail(), { method, params } = assert.fail(), ...others] = wire;
    assert.deepEqual([method, params?.["requestId"], others], ["notifications/cancelled", id, []]);
  });

  test("CAN-09: a signal used for many calls keeps no listener (engineering)", async () => {
    const { client } = await ready({ "resources/read": () => ({ result: { contents: [] } }) });
    const { signal } = new AbortController();
    for (let n = 0; n < 100; n++) {
      await client.call("resources/read", { uri: "x:/a" }, { signal });
    }
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  test("LIF-14: a ping that is answered with -32601 ends that call and nothing else " +
    "(spec@2025-11-25 basic/utilities/ping#behavior-requirements)", async () => {
    const { ask, methods } = await ready({ ping: () => no(-32601) });
    const { error } = await ask("ping") as { error: { code: number } };
    assert.equal(error.code, -32601);
    assert.ok("result" in await ask("tools/list"));
    assert.deepEqual(methods(), ["ping", "tools/list"]);
  });

  test("LIF-09: when the channel closes, the calls in flight settle, and so do those that listen " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const { ask, close, wire } = await ready({ "tools/call": () => undefined });
    const calls = [ask("tools/call", { name: "t" }), ask("subscriptions/listen",
      { notifications: { toolsListChanged: true } })];
    await turns();
    const before = wire.length;
    close(new TransportError("closed", "gone"));
    const outcomes = await within(Promise.allSettled(calls), 500);
    assert.ok(outcomes !== "pending");
    assert.deepEqual(outcomes.map(({ status }) => status), ["rejected", "rejected"]);
    await turns();
    assert.equal(wire.length, before);
  });

  test("RPC-08: an answer that is malformed or to nobody gets no reply and harms no other call " +
    "(spec@2025-11-25 basic#responses)", async () => {
    const { ask, say, wire } = await ready();
    for (const line of ['{"jsonrpc":"2.0","id":99,"result":{}}', '{"jsonrpc":"2.0","result":{}}',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', "null", "42", "[]",
      "}"]) {
      say(line);
    }
    assert.ok("result" in await ask("tools/list"));
    assert.equal(wire.length, 1);
  });

  test("a batch that a server of 2025-03-26 sends is taken apart " +
    "(spec@2025-03-26 basic#batching)", async () => {
    const ids: unknown[] = [];
    const { ask, answers } = await ready({
      initialize: () => ({ result: { ...HELLO, protocolVersion: "2025-03-26" } }),
      "tools/call"({ id }) {
        ids.push(id);
        if (ids.length < 2) return undefined;
        return JSON.stringify([...ids.map((one) =>
          ({ jsonrpc: "2.0", id: one, result: { content: [] } })),
        { jsonrpc: "2.0", id: "s1", method: "ping" }]);
      },
    });
    const both = await within(Promise.all([ask("tools/call"), ask("tools/call")]), 500);
    assert.ok(both !== "pending");
    assert.ok(both.every((one) => "result" in one));
    assert.deepEqual(answers(), [{ jsonrpc: "2.0", id: "s1", result: {} }]);
  });
});

describe("Handshake client: log messages", () => {
  const level = (name: string) => ({ _meta: { [`${PREFIX}logLevel`]: name } });
  const logged = (data: unknown) => ({ jsonrpc: "2.0", method: "notifications/message",
    params: { level: "warning", data } });

  test("the level that a call asks for is set once, ahead of the call, and again when it changes " +
    "(spec@2025-11-25 server/utilities/logging#setting-log-level)", async () => {
    const { client, wire } = await ready();
    for (const name of ["info", "info", "error"]) {
      await client.call("tools/call", { name: "t", ...level(name) });
    }
    assert.deepEqual(wire.map(({ method, params }) => [method, params]), [
      ["logging/setLevel", { level: "info" }], ["tools/call", { name: "t" }],
      ["tools/call", { name: "t" }],
      ["logging/setLevel", { level: "error" }], ["tools/call", { name: "t" }]]);
  });

  test("log messages reach the call that asked for them, and none that did not " +
    "(spec@2025-11-25 server/utilities/logging#log-message-notifications)", async () => {
    const { client, say } = await ready({ "tools/call"({ params }) {
      say(logged(params?.["name"]));
      return { result: { content: [] } };
    } });
    const [asked, silent]: [unknown[], unknown[]] = [[], []];
    await client.call("tools/call", { name: "a", ...level("info") },
      { onNotification: (one) => void asked.push(one) });
    await client.call("tools/call", { name: "b" }, { onNotification: (one) =>
      void silent.push(one) });
    assert.deepEqual(asked, [logged("a")]);
    assert.deepEqual(silent, []);
  });

  test("a server that declares no logging is not asked for it; one that refuses does not fail " +
    "the call (spec@2025-11-25 server/utilities/logging#capabilities)", async () => {
    const without = await ready({ initialize: () =>
      ({ result: { ...HELLO, capabilities: { tools: {} } } }) });
    await without.client.call("tools/call", { name: "t", ...level("info") });
    assert.deepEqual(without.methods(), ["tools/call"]);
    const refusing = await ready({ "logging/setLevel": () => no(-32603) });
    await refusing.client.call("tools/call", { name: "t", ...level("info") });
    assert.deepEqual(refusing.methods(), ["logging/setLevel", "tools/call"]);
  });
});

describe("Handshake client: what the server asks", () => {
  const elicit = (params: object) => ({ method: "elicitation/create", params });
  const schema = (properties: object, required: string[] = []) =>
    ({ message: "Who?", requestedSchema: { type: "object", properties, required } });
  const ASKED = schema({ name: { type: "string" } }, ["name"]);
  const visit = (url: unknown) => elicit({ mode: "url", message: "Look", url,
    elicitationId: "e1" });
  const hello = [{ role: "user", content: { type: "text", text: "?" } }];
  const sampling = (params: object) => ({ method: "sampling/createMessage",
    params: { messages: hello, maxTokens: 9, ...params } });
  const SAID = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m",
    stopReason: "endTurn" } as const;
  const codeOf = ({ error }: Message) => error?.code;

  test("ping is answered with an empty result, under the same id of the same type " +
    "(spec@2025-11-25 basic/utilities/ping#behavior-requirements)", async () => {
    for (const id of [0, "", 7, "7", "s1"]) {
      assert.deepEqual(await answered({ id, method: "ping" }), { jsonrpc: "2.0", id, result: {} });
    }
  });

  test("a form is filled in by the user, and fields left out get their defaults; without a mode " +
    "it is a form (spec@2025-11-25 client/elicitation#form-mode-elicitation-requests)",
  async () => {
    const fields = schema({ name: { type: "string" }, city: { type: "string", default: "Paris" },
      age: { type: "integer", default: 0 }, sure: { type: "boolean", default: false },
      colours: { type: "array", items: { type: "string", enum: ["red", "green"] },
        default: ["red"] } }, ["name"]);
    for (const mode of [{}, { mode: "form" }]) {
      const shown: unknown[] = [];
      const answer = await answered(elicit({ ...mode, ...fields }), { form(params) {
        shown.push(params);
        return { action: "accept", content: { name: "Ada", age: 36 } };
      } });
      assert.deepEqual(answer, { jsonrpc: "2.0", id: "s1", result: { action: "accept", content: {
        name: "Ada", city: "Paris", age: 36, sure: false, colours: ["red"] } } });
      assert.deepEqual(shown, [{ ...mode, ...fields }]);
    }
  });

  test("a form that is declined or dismissed gives nothing away " +
    "(spec@2025-11-25 client/elicitation#response-actions)", async () => {
    for (const action of ["decline", "cancel"] as const) {
      const answer = await answered(elicit(ASKED), { form: () =>
        ({ action, content: { name: "Ada" } }) });
      assert.deepEqual(answer, { jsonrpc: "2.0", id: "s1", result: { action } });
    }
  });

  test("an address is shown whole, and what happened there is not for the server " +
    "(spec@2025-11-25 client/elicitation#url-mode-elicitation-requests)", async () => {
    for (const action of ["accept", "decline", "cancel"] as const) {
      const shown: unknown[] = [];
      const answer = await answered(visit("https://example.com/a?b=c#d"), { url(params) {
        shown.push(params.url);
        return { action, content: { secret: "x" } };
      } });
      assert.deepEqual(answer, { jsonrpc: "2.0", id: "s1", result: { action } });
      assert.deepEqual(shown, ["https://example.com/a?b=c#d"]);
    }
  });

  test("SEC-08: an address that is not http or https is not shown, and nothing is accepted " +
    "(spec@2025-11-25 client/elicitation#safe-url-handling)", async () => {
    for (const url of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "no url", 5,
      undefined]) {
      const answer = await answered(visit(url), { url: () => assert.fail("it was shown") });
      assert.notEqual(answer.result?.["action"], "accept");
    }
  });

  test("an address for a client that declared forms alone, and a form for one that declared " +
    "addresses alone, is -32602 (spec@2025-11-25 client/elicitation#error-handling)", async () => {
    const shown = () => assert.fail("it was shown");
    assert.equal(codeOf(await answered(visit("https://example.com/"), { form: shown })), -32602);
    assert.equal(codeOf(await answered(elicit(ASKED), { url: shown })), -32602);
  });

  test("a message is written by the model of the client " +
    "(spec@2025-11-25 client/sampling#creating-messages)", async () => {
    const seen: unknown[] = [];
    const answer = await answered(sampling({ systemPrompt: "Be brief." }), { sample(params) {
      seen.push(params);
      return SAID;
    } });
    assert.deepEqual(answer, { jsonrpc: "2.0", id: "s1", result: SAID });
    assert.deepEqual(seen, [{ messages: hello, maxTokens: 9, systemPrompt: "Be brief." }]);
  });

  test("tools are for a client that declared them " +
    "(spec@2025-11-25 client/sampling#tools-in-sampling)", async () => {
    const offered = sampling({ tools: [TOOL], toolChoice: { mode: "auto" } });
    assert.deepEqual((await answered(offered, { sample: () => SAID, sampleTools: true })).result,
      SAID);
    const sample = () => assert.fail("it was asked");
    assert.equal(typeof codeOf(await answered(offered, { sample })), "number");
  });

  test("a use of a tool without its result, or with something beside it, is -32602 " +
    "(spec@2025-11-25 client/sampling#error-handling)", async () => {
    const use = { role: "assistant",
      content: [{ type: "tool_use", id: "c", name: "t", input: {} }] };
    const outcome = { type: "tool_result", toolUseId: "c", content: [] };
    const sample = () => assert.fail("it was asked");
    for (const messages of [[...hello, use], [...hello, use, ...hello],
      [...hello, use, { role: "user", content: [outcome, { type: "text", text: "!" }] }]]) {
      const answer = await answered(sampling({ messages }), { sample, sampleTools: true });
      assert.equal(codeOf(answer), -32602);
    }
  });

  test("the folders of the project are told " +
    "(spec@2025-11-25 client/roots#listing-roots)", async () => {
    const roots = [{ uri: "file:///home/project", name: "Project" }];
    for (const given of [roots, async () => roots]) {
      assert.deepEqual(await answered({ method: "roots/list" }, { roots: given }),
        { jsonrpc: "2.0", id: "s1", result: { roots } });
    }
  });

  test("what the client did not declare, and what it does not know, is -32601 " +
    "(spec@2025-11-25 client/roots#error-handling)", async () => {
    for (const message of [{ method: "roots/list" }, sampling({}), { method: "tools/list" },
      { method: "toString" }, { method: "made/up", params: {} }]) {
      const answer = await answered(message);
      assert.equal(codeOf(answer), -32601, message.method);
      assert.equal(answer.id, "s1");
    }
    for (const message of [elicit(ASKED), visit("https://example.com/")]) {
      assert.match(String(codeOf(await answered(message))), /^-3260[12]$/); // no method, no mode
    }
  });

  test("a question that is malformed is an error, and nobody is shown it " +
    "(spec@2025-11-25 client/elicitation#form-mode-elicitation-requests)", async () => {
    const form = () => assert.fail("it was shown");
    for (const params of [undefined, {}, { message: 5 }, { message: "?" },
      { message: "?", requestedSchema: [] }, { message: "?", requestedSchema: { type: "object",
        properties: { deep: { type: "object" } } } }, { mode: "song", message: "?" }]) {
      const answer = await answered({ method: "elicitation/create", params }, { form });
      assert.equal(codeOf(answer), -32602, JSON.stringify(params));
    }
  });

  test("when the one who answers fails, the server is told that much and no more " +
    "(spec@2025-11-25 client/roots#error-handling)", async () => {
    const fail = () => { throw new Error("secret path"); };
    for (const [message, answers] of [[elicit(ASKED), { form: fail }],
      [sampling({}), { sample: fail }], [{ method: "roots/list" }, { roots: fail }]] as const) {
      const answer = await answered(message, answers as Answers);
      assert.equal(codeOf(answer), -32603);
      assert.doesNotMatch(JSON.stringify(answer), /secret/);
    }
  });

  test("an answer that the question does not admit is not sent " +
    "(spec@2025-11-25 client/elicitation#form-mode-security)", async () => {
    for (const answers of [{ form: () => ({ action: "perhaps" }) }, { form: () => undefined },
      { form: () => ({ action: "accept", content: "x" }) }]) {
      const answer = await answered(elicit(ASKED), answers as unknown as Answers);
      assert.equal(typeof codeOf(answer), "number", JSON.stringify(answer));
    }
    const answer = await answered({ method: "roots/list" },
      { roots: [{ uri: "https://example.com/" }] });
    assert.equal(typeof codeOf(answer), "number");
  });

  test("questions of the server and calls of the client may have the same ids, and be answered " +
    "in any order (spec@2025-11-25 basic#requests)", async () => {
    const asked: ((name: string) => void)[] = [];
    const form = () => new Promise<{ action: "accept"; content: { name: string } }>((resolve) =>
      asked.push((name) => resolve({ action: "accept", content: { name } })));
    let finish = (_: Say) => {};
    const { ask, say, wire, answers } = await ready({ "tools/call": () =>
      new Promise<Say>((resolve) => (finish = resolve)) }, { answers: { form } });
    const call = ask("tools/call", { name: "t" });
    await turns();
    const id = wire[0]?.id;
    say({ id, ...elicit(ASKED) });
    say({ id: "other", ...elicit(ASKED) });
    await turns();
    asked[1]?.("two");
    await turns();
    asked[0]?.("one");
    await turns();
    assert.deepEqual(answers(), [
      { jsonrpc: "2.0", id: "other", result: { action: "accept", content: { name: "two" } } },
      { jsonrpc: "2.0", id, result: { action: "accept", content: { name: "one" } } }]);
    finish({ result: { content: [] } });
    assert.ok("result" in await call);
  });

  test("a question that the server takes back is answered no more, and whoever is being asked is " +
    "told (spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    let asked: { signal: AbortSignal | undefined } | undefined;
    let answer = (_: { action: "accept"; content: { name: string } }) => {};
    const { say, wire } = await ready({}, { answers: { form(_, told) {
      asked = told;
      return new Promise((resolve) => (answer = resolve));
    } } });
    say({ id: 5, ...elicit(ASKED) });
    await turns();
    say({ method: "notifications/cancelled", params: { requestId: "5" } });
    await turns();
    assert.equal(asked?.signal?.aborted ?? false, false);
    say({ method: "notifications/cancelled", params: { requestId: 5, reason: "too late" } });
    await turns();
    assert.equal(asked?.signal?.aborted, true);
    answer({ action: "accept", content: { name: "Ada" } });
    await turns();
    assert.deepEqual(wire, []);
  });

  test("CAN-02: a server that cancels nothing that it asked is ignored " +
    "(spec@2025-11-25 basic/utilities/cancellation#error-handling)", async () => {
    let finish = (_: Say) => {};
    const { ask, say, wire } = await ready({ "tools/call": () =>
      new Promise<Say>((resolve) => (finish = resolve)) });
    const call = ask("tools/call", { name: "t" });
    await turns();
    for (const params of [{ requestId: wire[0]?.id }, { requestId: 999 }, { requestId: {} },
      { requestId: null }, undefined]) {
      say({ method: "notifications/cancelled", params });
    }
    await turns();
    finish({ result: { content: [] } });
    assert.ok("result" in await call);
    assert.equal(wire.length, 1);
  });

  test("a server that asks and does not read ends nobody " +
    "(spec@2025-11-25 basic/utilities/ping#error-handling)", async () => {
    let full = true;
    const wire: string[] = [];
    const end = connectEither((text) => {
      if (full && text.includes('"result"')) throw new TransportError("overflow", "it is full");
      wire.push(text);
      const { id, method } = JSON.parse(text) as Message;
      const result = method === "initialize" ? HELLO : method === "tools/list" ? { tools: [] } : {};
      if (id !== undefined) queueMicrotask(() => void end.receive(
        JSON.stringify({ jsonrpc: "2.0", id, result })));
    }, { era: "legacy" });
    const list = () => end.exchange(request("tools/list"), lane());
    await list();
    for (let n = 0; n < 3; n++) end.receive(`{"jsonrpc":"2.0","id":${n},"method":"ping"}`);
    await turns(); // a promise that nobody minds would fail the test
    full = false;
    end.receive('{"jsonrpc":"2.0","id":"p","method":"ping"}');
    await turns();
    assert.deepEqual(wire.slice(-1).map((text) => JSON.parse(text)),
      [{ jsonrpc: "2.0", id: "p", result: {} }]);
    assert.ok("result" in await list());
  });

  test("a channel that closes while the user is asked gets no answer " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    let answer = (_: { action: "cancel" }) => {};
    const { say, wire, close } = await ready({}, { answers: { form: () =>
      new Promise((resolve) => (answer = resolve)) } });
    say({ id: 5, ...elicit(ASKED) });
    await turns();
    close(new TransportError("closed", "gone"));
    answer({ action: "cancel" });
    await turns();
    assert.deepEqual(wire, []);
  });
});

describe("Handshake client: an address that must be visited first", () => {
  const page = (elicitationId = "e1", url = "https://example.com/connect") =>
    ({ mode: "url", elicitationId, url, message: "Log in" });
  const required = (...elicitations: object[]) => no(-32042, "This needs more.", { elicitations });
  /** A client of a server that wants pages visited before its tool runs, until `open` says so. */
  async function gated(opens: () => boolean, pages: object[], url?: Answers["url"]) {
    const answers = url === undefined ? {} : { url };
    const server = await ready({ "tools/call": () => opens() ? { result: { content: [] } }
      : required(...pages) }, { answers });
    const client = connect(server.exchange, answering(answers));
    return { ...server, call: () => client.call("tools/call", { name: "t", arguments: { a: 1 } }) };
  }

  test("a call that is refused with -32042 is made again when the user has agreed to each page " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    const shown: string[] = [];
    const server = await gated(() => shown.length === 2,
      [page(), page("e2", "https://example.com/2")], ({ url, message }) => {
        shown.push(`${message} ${url}`);
        server.say({ method: "notifications/elicitation/complete",
          params: { elicitationId: `e${shown.length}` } });
        return { action: "accept" };
      });
    const result = await within(server.call(), 1_000);
    assert.ok(result !== "pending");
    assert.deepEqual(result.content, []);
    assert.deepEqual(shown, ["Log in https://example.com/connect", "Log in https://example.com/2"]);
    const calls = server.sent("tools/call");
    assert.deepEqual(calls.map(({ params }) => params),
      [{ name: "t", arguments: { a: 1 } }, { name: "t", arguments: { a: 1 } }]);
    assert.notEqual(calls[0]?.id, calls[1]?.id);
    assert.deepEqual(server.answers(), []);
  });

  test("when the user does not agree, the call fails and is not made again " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    for (const action of ["decline", "cancel"] as const) {
      const { call, sent } = await gated(() => false, [page()], () => ({ action }));
      await assert.rejects(within(call(), 1_000));
      assert.equal(sent("tools/call").length, 1);
    }
  });

  test("a server that is never content is not asked for ever " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    const server = await gated(() => false, [page()], () => {
      server.say({ method: "notifications/elicitation/complete", params: { elicitationId: "e1" } });
      return { action: "accept" };
    });
    const failed = await within(server.call().then(() => "resolved", () => "rejected"), 2_000);
    assert.equal(failed, "rejected");
    assert.ok(server.sent("tools/call").length <= 12);
  });

  test("a client that shows no addresses gets the error as it is " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    const { call } = await gated(() => false, [page()]);
    await assert.rejects(call(), (error) => error instanceof ProtocolError &&
      error.code === -32042 &&
      JSON.stringify(error.data) === JSON.stringify({ elicitations: [page()] }));
  });

  test("SEC-08: an address in the error that is not http or https, or none at all, is not shown " +
    "(spec@2025-11-25 client/elicitation#safe-url-handling)", async () => {
    for (const pages of [[page("e1", "javascript:alert(1)")], [{ mode: "url" }], [null], []]) {
      const { call, sent } = await gated(() => false, pages as object[],
        () => assert.fail("it was shown"));
      await assert.rejects(within(call(), 1_000), (error) => !(error instanceof
        assert.AssertionError));
      assert.ok(sent("tools/call").length <= 12);
    }
  });

  test("an error that would have a form filled in is not obeyed " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    const form = () => assert.fail("it was shown");
    const { client, sent } = await ready({ "tools/call": () => required({ mode: "form",
      elicitationId: "e1", message: "?", requestedSchema: { type: "object", properties: {} } }) },
    { answers: { form, url: () => assert.fail("it was shown") } });
    await assert.rejects(within(client.call("tools/call", { name: "t" }), 1_000), (error) =>
      !(error instanceof assert.AssertionError));
    assert.equal(sent("tools/call").length, 1);
  });

  test("only word of the very address that was visited counts " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const server = await gated(() => server.sent("tools/call").length > 1, [page()], () =>
      ({ action: "accept" }));
    const call = server.call();
    await until(() => server.sent("tools/call").length === 1);
    await turns();
    const word = (elicitationId: string) => server.say({
      method: "notifications/elicitation/complete", params: { elicitationId } });
    word("e2");
    await turns();
    assert.equal(server.sent("tools/call").length, 1);
    word("e1");
    word("e1");
    assert.deepEqual((await call).content, []);
    assert.equal(server.sent("tools/call").length, 2);
  });

  test("a server that sends no word is asked again all the same, some time later " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const server = await gated(() => server.sent("tools/call").length > 1, [page()], () =>
      ({ action: "accept" }));
    mock.timers.enable({ apis: ["setTimeout"] });
    let done = false;
    const call = server.call().finally(() => (done = true));
    await turns();
    for (let n = 0; n < 55 && !done; n++) { // less than the call may take
      mock.timers.tick(1_000);
      await turns();
    }
    assert.ok(done);
    assert.deepEqual((await call).content, []);
  });

  test("word that an address was visited which nobody asked for is ignored " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const { ask, say, wire } = await ready();
    for (const params of [{ elicitationId: "nobody" }, {}, undefined]) {
      say({ method: "notifications/elicitation/complete", params });
    }
    assert.ok("result" in await ask("tools/list"));
    assert.equal(wire.length, 1);
  });
});

describe("Handshake client: listening", () => {
  const changed = (kind: string) => ({ jsonrpc: "2.0",
    method: `notifications/${kind}/list_changed` });
  const updated = (uri: string) => ({ jsonrpc: "2.0", method: "notifications/resources/updated",
    params: { uri } });
  /** The same as it reaches whoever listens. */
  const told = (id: unknown, { params, ...rest }: { params?: object; [key: string]: unknown }) =>
    ({ ...rest, params: { ...params, _meta: { [SUBSCRIPTION]: id } } });
  const ack = (id: unknown, notifications: object) =>
    told(id, { jsonrpc: "2.0", method: ACK, params: { notifications } });
  /** A listening call under an id, and what it heard. */
  async function listening({ exchange }: Awaited<ReturnType<typeof ready>>, notifications: object,
    id: number | string = "sub") {
    const controller = new AbortController();
    const heard = lane(controller.signal);
    const done = exchange(request("subscriptions/listen", { notifications }, id), heard)
      .then(() => "resolved", (error: TransportError) => error.code);
    await turns();
    return { said: heard.said, done, stop: () => controller.abort(new Error("enough")) };
  }
  const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true,
    resourceSubscriptions: ["x:/a"] };

  test("listening becomes resources/subscribe, and is acknowledged for what the server can do " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const server = await ready();
    const { said } = await listening(server, { ...all, resourceSubscriptions: ["x:/a", "x:/b"] });
    assert.deepEqual(server.wire.map(({ method, params }) => [method, params]), [
      ["resources/subscribe", { uri: "x:/a" }], ["resources/subscribe", { uri: "x:/b" }]]);
    assert.deepEqual(said, [ack("sub", { toolsListChanged: true, resourcesListChanged: true,
      resourceSubscriptions: ["x:/a", "x:/b"] })]);
  });

  test("a server that declares none of it is asked for none of it " +
    "(spec@2025-11-25 server/resources#capabilities)", async () => {
    for (const resources of [{}, { listChanged: true }, undefined]) {
      const server = await ready({ initialize: () => ({ result: { ...HELLO, capabilities:
        { ...(resources && { resources }), tools: {} } } }) });
      const { said } = await listening(server, all);
      assert.deepEqual(server.wire, []);
      const { notifications } = said[0]?.params as { notifications: Json };
      assert.equal(notifications["resourcesListChanged"] ?? false, resources !== undefined &&
        "listChanged" in resources);
      assert.equal(notifications["toolsListChanged"] ?? false, false);
      assert.deepEqual(notifications["resourceSubscriptions"] ?? [], []);
    }
  });

  test("a resource that the server will not watch is not acknowledged, and the others are " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const server = await ready({ "resources/subscribe": ({ params }) =>
      params?.["uri"] === "x:/bad" ? no(-32002) : { result: {} } });
    const { said } = await listening(server, { resourceSubscriptions: ["x:/bad", "x:/a"] });
    assert.deepEqual(said, [ack("sub", { resourceSubscriptions: ["x:/a"] })]);
  });

  test("nothing is told before the acknowledgement, which waits for the server " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    let answer = (_: Say) => {};
    const server = await ready({ "resources/subscribe": () => new Promise<Say>((resolve) =>
      (answer = resolve)) });
    const { said } = await listening(server, all);
    assert.equal(said.length, 0);
    server.say(changed("tools"));
    await turns();
    assert.notEqual(said[0]?.method, "notifications/tools/list_changed");
    answer({ result: {} });
    await turns();
    assert.equal(said[0]?.method, ACK);
  });

  test("changes reach those that asked for them, under the id of their listening, and nobody " +
    "else (spec basic/patterns/subscriptions#receiving-notifications)", async () => {
    const server = await ready();
    const tools = await listening(server, { toolsListChanged: true }, 0);
    const files = await listening(server, { resourcesListChanged: true,
      resourceSubscriptions: ["x:/a"] }, "files");
    for (const message of [changed("tools"), changed("prompts"), changed("resources"),
      updated("x:/a"), updated("x:/ab"), updated("y:/a")]) {
      server.say(message);
    }
    await turns();
    assert.deepEqual(tools.said.slice(1), [told(0, changed("tools"))]);
    assert.deepEqual(files.said.slice(1), [told("files", changed("resources")),
      told("files", updated("x:/a"))]);
  });

  test("a part of a resource that is watched may change " +
    "(spec@2025-11-25 server/resources#subscriptions)", async () => {
    const server = await ready();
    const { said } = await listening(server, { resourceSubscriptions: ["x:/a"] });
    server.say(updated("x:/a/b"));
    await turns();
    assert.deepEqual(said.slice(1), [told("sub", updated("x:/a/b"))]);
  });

  test("whoever stops listening hears nothing more, and the server is told what need not be " +
    "watched, not that a request is cancelled which it never got " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const server = await ready();
    const first = await listening(server, { resourceSubscriptions: ["x:/a", "x:/b"] }, 1);
    const second = await listening(server, { resourceSubscriptions: ["x:/a"] }, 2);
    server.wire.length = 0;
    first.stop();
    assert.equal(await within(first.done, 500), "cancelled");
    await turns();
    assert.deepEqual(server.wire.map(({ method, params }) => [method, params]),
      [["resources/unsubscribe", { uri: "x:/b" }]]);
    server.say(updated("x:/a"));
    await turns();
    assert.equal(first.said.length, 1);
    assert.equal(second.said.length, 2);
    second.stop();
    await second.done;
    await turns();
    assert.deepEqual(server.wire.slice(1).map(({ method, params }) => [method, params]),
      [["resources/unsubscribe", { uri: "x:/a" }]]);
  });

  test("listening that is given up before the server has agreed is over too " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    let answer = (_: Say) => {};
    const server = await ready({ "resources/subscribe": () => new Promise<Say>((resolve) =>
      (answer = resolve)) });
    const { said, done, stop } = await listening(server, { ...all });
    stop();
    assert.equal(await within(done, 500), "cancelled");
    answer({ result: {} });
    await turns();
    server.say(changed("tools"));
    await turns();
    assert.deepEqual(said, []);
    assert.deepEqual(server.methods(), ["resources/subscribe", "resources/unsubscribe"]);
  });

  test("a listener that fails ends its own call, and no other " +
    "(spec@2025-11-25 server/utilities/logging#log-message-notifications)", async () => {
    let finish = (_: Say) => {};
    const { client, ask, end } = await ready({ "prompts/get": () =>
      new Promise<Say>((resolve) => (finish = resolve)) });
    const ended = (call: Promise<unknown>) =>
      within(call.then(() => "resolved", () => "rejected"), 500);
    for (const fail of [() => { throw new Error("mine"); },
      () => Promise.reject(new Error("mine"))]) {
      const onNotification = ({ method }: { method: string }) => method === ACK ? undefined
        : fail();
      const listens = ended(client.call("subscriptions/listen", { notifications:
        { toolsListChanged: true } }, { onNotification }));
      const logs = ended(client.call("prompts/get", { name: "p",
        _meta: { [`${PREFIX}logLevel`]: "info" } }, { onNotification }));
      await turns();
      end.receive(JSON.stringify(changed("tools"))); // which does not throw
      end.receive('{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}');
      assert.deepEqual(await Promise.all([listens, logs]), ["rejected", "rejected"]);
      finish({ result: { messages: [] } });
      assert.ok("result" in await ask("tools/list"));
    }
  });

  test("subscribe() works on top, whatever the era of the server " +
    "(spec basic/patterns/subscriptions#opening-a-stream)", async () => {
    const { client, say, methods } = await ready();
    const heard: unknown[] = [];
    const controller = new AbortController();
    const { acknowledged, closed } = subscribe(client, { resourceSubscriptions: ["x:/a"] },
      { onChange: ({ method, params }) => void heard.push([method, params?.["uri"]]),
        signal: controller.signal });
    assert.deepEqual(await within(acknowledged, 500), { resourceSubscriptions: ["x:/a"] });
    say(updated("x:/a"));
    await turns();
    assert.deepEqual(heard, [["notifications/resources/updated", "x:/a"]]);
    controller.abort();
    assert.equal(await within(closed, 500), undefined);
    await turns();
    assert.deepEqual(methods(), ["resources/subscribe", "resources/unsubscribe"]);
  });

  test("a change that nobody listens for harms nothing " +
    "(spec@2025-11-25 server/resources#list-changed-notification)", async () => {
    const server = await ready();
    for (const message of [changed("tools"), updated("x:/a"),
      { method: "notifications/resources/updated" }, { method: "notifications/made_up" }]) {
      server.say(message);
    }
    assert.ok("result" in await server.ask("tools/list"));
    assert.equal(server.wire.length, 1);
  });
});
