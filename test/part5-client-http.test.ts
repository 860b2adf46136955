// Part V, the client of both eras over HTTP. The server of an earlier revision is a fetch that
// keeps sessions as that revision says, and otherwise does what a script tells it.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { afterEach, describe, mock, test } from "node:test";
import {
  ProtocolError, TransportError, answering, compileSchema, connect, connectHttpEither, subscribe,
  type JSONRPCResponse,
} from "../mcp-raw.ts";
import { jsonResponse, lane, ms, until, within } from "./kit-http.ts";

type Json = Record<string, unknown>;
interface Message { jsonrpc: "2.0"; id?: string | number; method?: string; params?: Json;
  result?: Json; error?: { code: number; message: string } }
interface Asked { http: string; headers: Headers; message: Message; signal: AbortSignal;
  redirect: string | undefined }
/** A reply: a Response, an answer under the id of the request as JSON, or none ever. */
type Reply = Response | { result: object } | { error: object } | undefined;
/** By the method of the message, or "answer"; all modern ones are "modern"; "GET", "DELETE". */
type Script = Record<string, (asked: Asked) => Reply | Promise<Reply>>;
type Options = NonNullable<Parameters<typeof connectHttpEither>[1]>;

const URL_ = "http://127.0.0.1:1/mcp";
const PREFIX = "io.modelcontextprotocol/";
const VERSION = "mcp-protocol-version", SESSION = "mcp-session-id", LAST = "last-event-id";
const INFO = { name: "reader", version: "1" };
/** What a modern server says of itself; other methods give an empty result. */
const MODERN = ({ message: { method } }: Asked) => ({ result: { resultType: "complete",
  ...(method === "server/discover" ? { supportedVersions: ["2026-07-28"], capabilities: {},
    ttlMs: 0, cacheScope: "public" } : { tools: [], content: [] }) } });
const HELLO = { protocolVersion: "2025-11-25", serverInfo: { name: "old", version: "3" },
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true } } };
const TOOL = { name: "t", inputSchema: { type: "object" } };
const DONE = { content: [] };
const no = (code: number, message = "no", data?: unknown) =>
  ({ error: { code, message, ...(data !== undefined && { data }) } });
const status = (code: number, body: string | null = null, type = "text/plain") =>
  new Response(body, { status: code, headers: body === null ? {} : { "content-type": type } });
/** What servers with sessions say to a request that comes without one. */
const UNKNOWN = '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not ' +
  'initialized"},"id":null}';
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async (n = 10): Promise<void> => { while (n-- > 0) await turn(); };
/** Waits for what needs no timer. */
async function comes(condition: () => boolean, what = condition.toString()): Promise<void> {
  for (let n = 0; n < 500 && !condition(); n++) await turn();
  assert.ok(condition(), `did not come to pass: ${what}`);
}

const bodies = new WeakMap<Response, (reason: unknown) => void>(); // what breaks a stream off
/** A reply that is a stream of events, sent as text. */
function stream(type = "text/event-stream") {
  let to: ReadableStreamDefaultController<Uint8Array> | undefined;
  let over = false;
  const body = new ReadableStream<Uint8Array>({ start(controller) { to = controller; },
    cancel() { over = true; } });
  const response = new Response(body, { headers: { "content-type": type } });
  const once = (act: () => void) => {
    if (!over) act();
    over = true;
  };
  const fail = (reason: unknown) => once(() => to?.error(reason));
  bodies.set(response, fail);
  return { response, fail, end: () => once(() => to?.close()), over: () => over,
    send(text: string) {
      if (!over) to?.enqueue(new TextEncoder().encode(text));
    } };
}
/** One event; its id and its data are text. */
const event = (data: object | string, id?: string) =>
  (id === undefined ? "" : `id: ${id}\n`) + `data: ${typeof data === "string" ? data
    : JSON.stringify({ jsonrpc: "2.0", ...data })}\n\n`;

/** A server of an earlier revision over HTTP, and its client. */
function peer(script: Script = {}, options: Options = {}, sessions = true) {
  const asked: Asked[] = [];
  const given: Response[] = [];
  let [count, live]: [number, string | undefined] = [0, undefined];
  const all: Script = {
    modern: () => status(400, UNKNOWN, "application/json"),
    initialize() {
      live = `s-${++count}`;
      const message = { jsonrpc: "2.0", id: asked.at(-1)?.message.id, result: HELLO };
      return new Response(JSON.stringify(message), { headers: {
        "content-type": "application/json", ...(sessions && { [SESSION]: live }) } });
    },
    GET: () => status(405), DELETE: () => status(200), answer: () => status(202),
    "tools/list": () => ({ result: { tools: [TOOL] } }), "tools/call": () => ({ result: DONE }),
    "resources/subscribe": () => ({ result: {} }), "resources/unsubscribe": () => ({ result: {} }),
    ...script,
  };
  async function replyTo(one: Asked): Promise<Reply> {
    const { http, headers, message } = one;
    const modern = headers.get(VERSION) === "2026-07-28";
    const key = http !== "POST" ? http : modern ? "modern" : message.method ?? "answer";
    const session = headers.get(SESSION);
    if (sessions && !modern && key !== "initialize") {
      if (session === null) return status(400, "no session");
      if (session !== live) return status(404, "no such session");
    }
    const handle = all[key] ?? (() => message.id === undefined ? status(202) : no(-32601));
    const reply = await handle(one);
    if (reply === undefined || reply instanceof Response) return reply;
    return jsonResponse({ jsonrpc: "2.0", id: message.id, ...reply });
  }
  const fetched: typeof fetch = async (input, init) => {
    const sent = new Request(input as string, init as RequestInit);
    const { signal } = sent;
    const text = await sent.clone().text();
    const one: Asked = { http: sent.method, headers: sent.headers, signal,
      message: text === "" ? {} : JSON.parse(text), redirect: init?.redirect };
    asked.push(one);
    const gone = new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason));
    });
    gone.catch(() => {});
    const reply = await Promise.race([replyTo(one), gone]);
    if (!(reply instanceof Response)) return gone;
    signal.addEventListener("abort", () => bodies.get(reply)?.(signal.reason));
    given.push(reply);
    return reply;
  };
  const { exchange, close } = connectHttpEither(URL_,
    { fetch: fetched, compile: compileSchema, ...options });
  const { capabilities, resultTypes } = answering(options.answers ?? {});
  let last = 100;
  const ask = (method: string, params: object = {}, way = lane()) => exchange({ jsonrpc: "2.0",
    id: ++last, method, params: { ...params, _meta: { [`${PREFIX}protocolVersion`]: "2026-07-28",
      [`${PREFIX}clientInfo`]: INFO, [`${PREFIX}clientCapabilities`]: capabilities } } }, way);
  const by = (http: string) => asked.filter((one) => one.http === http);
  return { exchange, close, asked, given, ask,
    client: connect(exchange, { info: INFO, capabilities, resultTypes }),
    gets: () => by("GET"), deletes: () => by("DELETE"), posts: () => by("POST"),
    sent: (method: string) => asked.filter(({ message }) => message.method === method),
    methods: () => by("POST").map(({ message }) => message.method ?? "answer"),
    answers: () => by("POST").filter(({ message }) => message.method === undefined)
      .map(({ message }) => message),
    resumed: () => by("GET").map(({ headers }) => headers.get(LAST)).filter((id) => id !== null),
    expire: () => { live = undefined; } };
}
/** A client whose handshake is over, and whose own stream was offered. */
async function ready(script: Script = {}, options: Options = {}, sessions = true) {
  const server = peer(script, { era: "legacy", ...options }, sessions);
  await server.ask("tools/list");
  for (let n = 0; n < 20 && server.gets().length === 0; n++) await turn();
  await turns();
  server.asked.length = 0;
  return server;
}
const isResult = (response: unknown) => assert.ok("result" in (response as JSONRPCResponse),
  JSON.stringify(response));
/** How a call ended: "result", the code of the refusal, the code of the TransportError. */
const outcome = (call: Promise<JSONRPCResponse>) => call.then((response) =>
  "error" in response ? response.error.code : "result", (error: TransportError) => error.code);

afterEach(() => mock.timers.reset());

// What takes its time begins here, and goes on while other tests run.
const slowClose = ready({ DELETE: () => undefined }).then(({ close }) => within(close(), 10_000));

describe("Handshake client over HTTP: which era a server speaks", () => {
  for (const [what, reply] of [
    ["400 and an error of its own", () => status(400, UNKNOWN, "application/json")],
    ["400 and nothing", () => status(400)], ["400 and some text", () => status(400, "what?")],
    ["400 and -32602", () => jsonResponse({ jsonrpc: "2.0", id: 1, ...no(-32602) }, 400)],
    ["400 and -32600", () => jsonResponse({ jsonrpc: "2.0", id: 1, ...no(-32600) }, 400)],
    ["400 and JSON that is no message", () => jsonResponse({ error: "bad version" }, 400)],
    ["400 and broken JSON", () => status(400, "{", "application/json")],
    ["404 and a page", () => status(404, "<h1>Not Found</h1>", "text/html")],
    ["404 and -32001", () => jsonResponse({ jsonrpc: "2.0", id: null, ...no(-32001) }, 404)],
    ["405 and nothing", () => status(405)], ["406 and nothing", () => status(406)],
  ] as [string, () => Response][]) {
    test(`a server that answers a modern request with ${what} is a legacy one ` +
      "(spec basic/transports/streamable-http#backward-compatibility)", async () => {
      const { ask, methods, close } = peer({ modern: reply });
      assert.equal(await outcome(ask("tools/call", { name: "t" })), "result");
      assert.equal(await outcome(ask("tools/list")), "result");
      const [first, ...rest] = methods();
      assert.ok(first === "tools/call" || first === "server/discover");
      assert.deepEqual(rest, ["initialize", "notifications/initialized", "tools/call",
        "tools/list"]);
      await close();
    });
  }

  test("an error of the modern era is handed to the caller, and no reason for a handshake " +
    "(spec basic/transports/streamable-http#backward-compatibility)", async () => {
    const data = { supported: ["2030-01-01"] };
    for (const code of [-32020, -32021, -32022]) {
      const { ask, methods } = peer({ modern: ({ message: { id } }) =>
        jsonResponse({ jsonrpc: "2.0", id, ...no(code, "no", data) }, 400) });
      assert.equal(await outcome(ask("tools/list")), code);
      assert.ok(!methods().includes("initialize"));
    }
  });

  test("HDR-14: 404 with -32601 is a modern server that lacks the method " +
    "(spec basic/transports/streamable-http#protocol-version-header)", async () => {
    const { ask, methods } = peer({ modern: (asked) => asked.message.method === "made/up"
      ? jsonResponse({ jsonrpc: "2.0", id: asked.message.id, ...no(-32601) }, 404)
      : MODERN(asked) });
    assert.equal(await outcome(ask("made/up")), -32601);
    assert.equal(await outcome(ask("tools/list")), "result");
    assert.ok(!methods().includes("initialize"));
  });

  test("a server that cannot be reached, or fails, has not said which era it is of " +
    "(spec basic/versioning#compatibility-matrix)", async () => {
    for (const reply of [() => { throw new TypeError("fetch failed"); },
      () => status(500, "oops"), () => status(503)]) {
      const { ask, methods } = peer({ modern: reply });
      assert.equal(typeof await outcome(ask("tools/list")), "string");
      assert.ok(!methods().includes("initialize"));
    }
  });

  test("a modern server is spoken to as ever, and has no session to end " +
    "(spec basic/transports/streamable-http#standard-request-headers)", async () => {
    const { client, asked, close } = peer({ modern: MODERN });
    await client.call("tools/call", { name: "t" });
    await close();
    const { http, headers, message } = asked.at(-1) as Asked;
    assert.deepEqual([http, headers.get(VERSION), headers.get("mcp-method"),
      headers.get("mcp-name"), headers.get(SESSION)],
    ["POST", "2026-07-28", "tools/call", "t", null]);
    assert.equal((message.params?.["_meta"] as Json)[`${PREFIX}protocolVersion`], "2026-07-28");
    assert.ok(asked.every(({ http: method }) => method === "POST"));
  });

  test("what was found is remembered, also by calls that were made at once " +
    "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
  async () => {
    const { ask, sent, posts } = peer();
    const all = await Promise.all([1, 2, 3].map(() => outcome(ask("tools/list"))));
    assert.deepEqual(all, ["result", "result", "result"]);
    assert.equal(sent("initialize").length, 1);
    const before = posts().length;
    await ask("tools/list");
    assert.equal(posts().length, before + 1);
    assert.equal(posts().at(-1)?.headers.get(VERSION), "2025-11-25");
  });

  test("a server that is said to be legacy gets no modern request; one that is said to be modern " +
    "no handshake (spec basic/versioning#compatibility-matrix)", async () => {
    const legacy = peer({ modern: () => assert.fail("a modern request") }, { era: "legacy" });
    assert.equal(await outcome(legacy.ask("tools/list")), "result");
    const modern = peer({}, { era: "modern" });
    assert.notEqual(await outcome(modern.ask("tools/list")), "result");
    assert.ok(!modern.methods().includes("initialize"));
  });
});

describe("Handshake client over HTTP: the handshake", () => {
  test("initialize is a POST without a session and without a word of the modern era; then comes " +
    "notifications/initialized (spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const { ask, posts } = peer({}, { answers: { roots: [] } });
    await ask("tools/call", { name: "t" });
    const [, first, second, third] = posts();
    assert.deepEqual(first?.message, { jsonrpc: "2.0", id: first?.message.id, method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: { roots: {} }, clientInfo: INFO } });
    assert.equal(first?.headers.get(SESSION), null);
    assert.ok([null, "2025-11-25"].includes(first?.headers.get(VERSION) ?? null));
    assert.deepEqual(second?.message, { jsonrpc: "2.0", method: "notifications/initialized" });
    assert.deepEqual(third?.message, { jsonrpc: "2.0", id: third?.message.id, method: "tools/call",
      params: { name: "t" } });
  });

  test("each POST says that it is JSON, and that JSON and events are welcome " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { ask, posts } = peer();
    await ask("tools/list");
    for (const { headers } of posts()) {
      assert.match(headers.get("content-type") ?? "", /^application\/json/);
      assert.match(headers.get("accept") ?? "", /application\/json/);
      assert.match(headers.get("accept") ?? "", /text\/event-stream/);
    }
  });

  test("the session and the revision go with every request after it, of whatever kind " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const feed = stream();
    const { ask, asked, close, answers, gets } = peer({ GET: () => feed.response,
      "tools/call": ({ message: { params } }) => params?.["name"] === "t" ? { result: DONE }
        : undefined }, { era: "legacy" });
    await ask("tools/call", { name: "t" });
    await until(() => gets().length > 0);
    feed.send(event({ id: "s1", method: "ping" }));
    await until(() => answers().length > 0);
    const controller = new AbortController();
    const call = ask("tools/call", { name: "slow" }, lane(controller.signal));
    await ms(5);
    controller.abort(new Error("enough"));
    await assert.rejects(call);
    await ms(5);
    await close();
    const [first, ...rest] = asked;
    assert.equal(first?.message.method, "initialize");
    assert.deepEqual(rest.map(({ headers }) => [headers.get(SESSION), headers.get(VERSION)]),
      rest.map(() => ["s-1", "2025-11-25"]));
    const kinds = rest.map(({ http, message }) =>
      http === "POST" ? message.method ?? "answer" : http);
    assert.deepEqual(kinds.sort(), ["DELETE", "GET", "answer", "notifications/cancelled",
      "notifications/initialized", "tools/call", "tools/call"]);
    assert.ok(asked.every(({ headers }) => headers.get("mcp-method") === null ||
      headers.get(VERSION) !== null));
  });

  test("the headers that the caller wants go with every request; none follows a redirect " +
    "(spec@2025-11-25 basic/transports#security-warning)", async () => {
    const feed = stream();
    const { ask, asked, close, gets } = peer({ GET: () => feed.response },
      { era: "legacy", headers: { Authorization: "Bearer x" } });
    await ask("tools/list");
    await until(() => gets().length > 0);
    await close();
    assert.deepEqual([...new Set(asked.map(({ http }) => http))].sort(), ["DELETE", "GET", "POST"]);
    assert.ok(asked.every(({ headers }) => headers.get("authorization") === "Bearer x"));
    assert.ok(asked.every(({ redirect }) => redirect === "manual" || redirect === "error"));
  });

  test("a server may do without sessions: then no request names one, and none is ended " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, asked, close, deletes } = await ready({}, {}, false);
    await ask("tools/list");
    await close();
    assert.ok(asked.every(({ headers }) => headers.get(SESSION) === null));
    assert.deepEqual(deletes(), []);
  });

  test("SES-04: a session is taken from the reply to initialize, and from no other " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const evil = { [SESSION]: "evil", "content-type": "application/json" };
    const { ask, asked } = peer({
      "notifications/initialized": () => new Response(null, { status: 202, headers: evil }),
      "tools/list": ({ message: { id } }) => new Response(JSON.stringify({ jsonrpc: "2.0", id,
        result: { tools: [] } }), { headers: evil }),
      "tools/call": () => new Response("{}", { status: 500, headers: evil }),
      GET: () => new Response(null, { status: 405, headers: evil }),
    });
    await ask("tools/list");
    assert.equal(typeof await outcome(ask("tools/call", { name: "t" })), "string");
    await ask("tools/list");
    const sessions = asked.map(({ headers }) => headers.get(SESSION)).filter((id) => id !== null);
    assert.deepEqual([...new Set(sessions)], ["s-1"]);
    const stateless = peer({ modern: () => new Response("x", { status: 400, headers: evil }),
      "tools/list": ({ message: { id } }) => new Response(JSON.stringify({ jsonrpc: "2.0", id,
        result: { tools: [] } }), { headers: evil }) }, {}, false);
    await stateless.ask("tools/list");
    await stateless.ask("tools/list");
    assert.ok(stateless.asked.every(({ headers }) => headers.get(SESSION) === null));
  });

  test("LIF-05: an older revision that the server answers with is accepted, and named from then " +
    "on (spec@2025-11-25 basic/transports#protocol-version-header)", async () => {
    for (const protocolVersion of ["2025-06-18", "2025-03-26", "2024-11-05"]) {
      const { ask, posts } = peer({ initialize: ({ message: { id } }) => jsonResponse({
        jsonrpc: "2.0", id, result: { ...HELLO, protocolVersion } }) }, { era: "legacy" }, false);
      assert.equal(await outcome(ask("tools/list")), "result");
      const versions = posts().slice(1).map(({ headers }) => headers.get(VERSION));
      // Before 2025-06-18 there was no such header; another revision in it would be a lie.
      assert.ok(versions.every((one) => one === protocolVersion ||
        one === null && protocolVersion < "2025-06-18"), String(versions));
    }
  });

  test("LIF-04: a revision that the client does not speak is an error that names both, and the " +
    "session is left (spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    const { client, methods, gets } = peer({ initialize: ({ message: { id } }) => jsonResponse({
      jsonrpc: "2.0", id, result: { ...HELLO, protocolVersion: "1999-01-01" } }) },
    { era: "legacy" });
    await assert.rejects(client.call("tools/list", {}), (error) => error instanceof Error &&
      /1999-01-01/.test(error.message) && /2025-11-25/.test(error.message));
    await turns();
    assert.deepEqual(methods(), ["initialize"]);
    assert.deepEqual(gets(), []);
  });

  test("the reply to initialize may be a stream, whose events may have ids " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { ask, sent } = peer({ initialize: ({ message: { id } }) => new Response(
      `id: a\ndata: \n\n${event({ id, result: HELLO }, "b")}`,
      { headers: { "content-type": "text/event-stream", [SESSION]: "from a stream" } }) },
    { era: "legacy" }, false);
    assert.equal(await outcome(ask("tools/list")), "result");
    assert.equal(sent("tools/list")[0]?.headers.get(SESSION), "from a stream");
  });

  test("a handshake that is refused fails the call, and is not made over and over " +
    "(spec@2025-11-25 basic/lifecycle#error-handling)", async () => {
    for (const reply of [() => status(401), () => status(404, "no"), () => status(405),
      () => status(500, "oops"), () => no(-32602, "Unsupported protocol version"),
      () => { throw new TypeError("fetch failed"); }]) {
      const { client, sent } = peer({ initialize: reply }, { era: "legacy" });
      const call = client.call("tools/list", {});
      const failed = await within(call.catch((error: Error) => error), 500);
      const known = failed instanceof ProtocolError || failed instanceof TransportError;
      assert.ok(known, String(failed));
      assert.ok(sent("initialize").length <= 2);
      assert.equal(sent("tools/list").length, 0);
    }
  });

  test("HTTP-08: what comes with a 202 does not matter " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    for (const body of ["", "Accepted", "{}", "null"]) {
      const { ask } = peer({ "notifications/initialized": () => status(202, body,
        "application/json") }, { era: "legacy" });
      assert.equal(await outcome(ask("tools/list")), "result");
    }
  });

  test("CAN-01: a handshake that takes too long fails the call, and is not cancelled " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { exchange, methods } = peer({ initialize: () => undefined }, { era: "legacy" });
    const client = connect(exchange, { timeoutMs: 20 });
    await assert.rejects(client.call("tools/list", {}), (error) =>
      error instanceof TransportError && error.code === "timeout");
    await ms(5);
    assert.deepEqual([...new Set(methods())], ["initialize"]);
  });
});

describe("Handshake client over HTTP: a session that is over", () => {
  test("404 begins a new session, with an initialize that names none, and the call is made again " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, posts, expire } = await ready();
    expire();
    assert.equal(await outcome(ask("tools/call", { name: "t" })), "result");
    assert.deepEqual(posts().map(({ message, headers }) =>
      [message.method, headers.get(SESSION)]), [["tools/call", "s-1"], ["initialize", null],
      ["notifications/initialized", "s-2"], ["tools/call", "s-2"]]);
    assert.deepEqual(posts()[0]?.message.params, posts()[3]?.message.params);
  });

  test("SES-04: no session is taken from the reply that says that the old one is over " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, posts } = await ready({ "tools/call": ({ headers }) =>
      headers.get(SESSION) === "s-1" ? new Response("gone", { status: 404,
        headers: { [SESSION]: "evil" } }) : { result: DONE } });
    assert.equal(await outcome(ask("tools/call", { name: "t" })), "result");
    assert.deepEqual(posts().map(({ headers }) => headers.get(SESSION)),
      ["s-1", null, "s-2", "s-2"]);
  });

  test("SES-03: the calls that were in flight settle, all of them " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, expire } = await ready({ "resources/read": () => undefined });
    const slow = [ask("resources/read", { uri: "x:/a" }), ask("resources/read", { uri: "x:/b" })];
    await turns();
    expire();
    const third = ask("tools/call", { name: "t" });
    const all = await within(Promise.allSettled([...slow, third]), 1_000);
    assert.ok(all !== "pending");
    assert.equal(all[2]?.status, "fulfilled");
  });

  test("calls that are refused together share one new session " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, sent, expire } = await ready();
    expire();
    const all = [1, 2, 3, 4].map(() => outcome(ask("tools/call", { name: "t" })));
    assert.deepEqual(await Promise.all(all), ["result", "result", "result", "result"]);
    assert.equal(sent("initialize").length, 1);
    assert.equal(sent("tools/call").filter(({ headers }) => headers.get(SESSION) === "s-2").length,
      4);
  });

  test("a call that is refused in the new session too fails, and later calls work " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, sent } = await ready({ "tools/call": () => status(404, "no") });
    const failed = await within(outcome(ask("tools/call", { name: "t" })), 1_000);
    assert.ok(failed !== "pending" && failed !== "result");
    assert.equal(sent("tools/call").length, 2);
    assert.ok(sent("initialize").length <= 2);
    assert.equal(await outcome(ask("tools/list")), "result");
  });

  test("404 where there is no session is an error like another " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { ask, sent } = await ready({ "tools/call": () => status(404, "no") }, {}, false);
    assert.equal(await outcome(ask("tools/call", { name: "t" })), "http");
    assert.equal(sent("tools/call").length, 1);
    assert.equal(sent("initialize").length, 0);
  });

  test("in the new session the server's own stream is opened again, and what was watched is " +
    "watched again (spec basic/patterns/subscriptions#cancellation)", async () => {
    const feeds: ReturnType<typeof stream>[] = [];
    const { client, ask, sent, gets, expire } = await ready({ GET() {
      const feed = stream();
      feeds.push(feed);
      return feed.response;
    } });
    const heard: unknown[] = [];
    const { acknowledged } = subscribe(client, { resourceSubscriptions: ["x:/a"] },
      { onChange: ({ params }) => void heard.push(params?.["uri"]), retryMs: 1 });
    await within(acknowledged, 500);
    expire();
    await ask("tools/list");
    await until(() => sent("resources/subscribe").some(({ headers }) =>
      headers.get(SESSION) === "s-2"));
    await until(() => gets().some(({ headers }) => headers.get(SESSION) === "s-2"));
    feeds.at(-1)?.send(event({ method: "notifications/resources/updated",
      params: { uri: "x:/a" } }));
    await until(() => heard.length > 0);
    assert.deepEqual(heard, ["x:/a"]);
  });
});

describe("Handshake client over HTTP: streams", () => {
  test("the client opens a stream for what the server says of itself " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    const feed = stream();
    const { ask, gets, client, answers } = peer({ GET: () => feed.response },
      { era: "legacy", answers: { roots: [{ uri: "file:///home/project" }] } });
    await ask("tools/list");
    await until(() => gets().length > 0);
    assert.match(gets()[0]?.headers.get("accept") ?? "", /text\/event-stream/);
    assert.equal(gets()[0]?.headers.get(LAST), null);
    const heard: unknown[] = [];
    const { acknowledged } = subscribe(client, { toolsListChanged: true },
      { onChange: ({ method }) => void heard.push(method) });
    await within(acknowledged, 500);
    feed.send(event({ method: "notifications/tools/list_changed" }) +
      event({ id: 0, method: "roots/list" }) + event({ id: "", method: "ping" }) +
      event({ id: "s3", method: "made/up" }));
    await until(() => heard.length > 0 && answers().length === 3);
    assert.deepEqual(heard, ["notifications/tools/list_changed"]);
    const [one, two, three] = ([0, "", "s3"] as const).map((id) =>
      answers().find((message) => message.id === id));
    assert.deepEqual(one, { jsonrpc: "2.0", id: 0, result: { roots:
      [{ uri: "file:///home/project" }] } });
    assert.deepEqual(two, { jsonrpc: "2.0", id: "", result: {} });
    assert.equal(three?.error?.code, -32601);
  });

  test("HTTP-13: a server without such a stream is as good, and is not asked again " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    for (const code of [405, 404, 400]) {
      const warnings: string[] = [];
      const { ask, gets, sent } = peer({ GET: () => status(code, "no") },
        { era: "legacy", warn: (text) => void warnings.push(text) });
      await ask("tools/list");
      await comes(() => gets().length > 0);
      for (let n = 0; n < 20; n++) {
        mock.timers.tick(60_000);
        await turns();
      }
      assert.equal(await outcome(ask("tools/list")), "result");
      assert.equal(gets().length, 1);
      assert.equal(sent("initialize").length, 1);
      if (code === 405) assert.deepEqual(warnings, []);
    }
  });

  test("HTTP-06: a stream is known by its media type, whatever the case and parameters " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    for (const type of ["text/event-stream;charset=utf-8", "Text/Event-Stream ; x=y"]) {
      const feed = stream(type);
      const { ask, answers, gets } = peer({ GET: () => feed.response,
        "tools/call"({ message: { id } }) {
          const reply = stream(type);
          reply.send(event({ id, result: DONE }));
          return reply.response;
        } }, { era: "legacy" });
      assert.equal(await outcome(ask("tools/call", { name: "t" })), "result");
      await until(() => gets().length > 0);
      feed.send(event({ id: "p", method: "ping" }));
      await until(() => answers().length > 0);
    }
  });

  test("a reply that is a stream brings progress, questions and the answer; each of ours is a " +
    "POST of its own (spec@2025-11-25 basic/transports#sending-messages-to-the-server)",
  async () => {
    const reply = stream();
    const { client, posts, answers } = await ready({ "tools/call": () => reply.response },
      { answers: { form: () => ({ action: "accept", content: { name: "Ada" } }) } });
    const seen: unknown[] = [];
    const call = client.call("tools/call", { name: "t" }, { onProgress: ({ progress }) =>
      void seen.push(progress) });
    await comes(() => posts().length > 0);
    const { id, params } = posts()[0]?.message as Message;
    const { progressToken } = params?.["_meta"] as Json;
    reply.send(event("", "x-1") + event({ method: "notifications/progress",
      params: { progressToken, progress: 0.5 } }, "x-2") + event({ id: 1, method:
      "elicitation/create", params: { message: "Who?", requestedSchema: { type: "object",
        properties: { name: { type: "string" } } } } }, "x-3"));
    await comes(() => answers().length > 0);
    assert.deepEqual(answers(), [{ jsonrpc: "2.0", id: 1, result: { action: "accept",
      content: { name: "Ada" } } }]);
    reply.send(event({ id, result: { content: [{ type: "text", text: "Ada" }] } }, "x-4"));
    const result = await call;
    assert.deepEqual([result.resultType, result.content],
      ["complete", [{ type: "text", text: "Ada" }]]);
    assert.deepEqual(seen, [0.5]);
  });

  test("what the server says of itself may come on the stream of a call, and what belongs to a " +
    "call on the stream of the server " +
    "(spec@2025-11-25 basic/transports#multiple-connections)", async () => {
    const [feed, reply] = [stream(), stream()];
    const { client, sent } = await ready({ GET: () => feed.response,
      "tools/call": () => reply.response });
    const [heard, seen]: [unknown[], unknown[]] = [[], []];
    const { acknowledged } = subscribe(client, { toolsListChanged: true },
      { onChange: ({ method }) => void heard.push(method) });
    await within(acknowledged, 500);
    const call = client.call("tools/call", { name: "t" }, { onProgress: ({ progress }) =>
      void seen.push(progress) });
    await comes(() => sent("tools/call").length > 0);
    const { id, params } = sent("tools/call")[0]?.message as Message;
    const { progressToken } = params?.["_meta"] as Json;
    feed.send(event({ method: "notifications/progress", params: { progressToken, progress: 1 } }));
    await comes(() => seen.length > 0);
    reply.send(event({ method: "notifications/tools/list_changed" }) +
      event({ id, result: DONE }));
    await call;
    await comes(() => heard.length > 0);
    assert.deepEqual([seen, heard], [[1], ["notifications/tools/list_changed"]]);
  });

  test("a call that is refused without its id says what the server said, or at least its status " +
    "(spec@2025-11-25 basic#error-responses)", async () => {
    const words = '{"jsonrpc":"2.0","error":{"code":-32000,"message":"not today"},"id":null}';
    for (const [code, body] of [[400, words], [400, words.replace(',"id":null', "")],
      [422, '{"detail":"not today"}'], [503, "<h1>not today</h1>"]] as const) {
      const { client } = await ready({ "tools/call": () => status(code, body,
        body.startsWith("{") ? "application/json" : "text/html") });
      await assert.rejects(client.call("tools/call", { name: "t" }), (error) =>
        error instanceof Error && (error.message.includes("not today") ||
          error.message.includes(String(code))));
    }
  });

  test("an answer that the server does not take harms nothing " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    for (const refuse of [() => status(400, "no"), () => status(500),
      () => { throw new TypeError("fetch failed"); }]) {
      const feed = stream();
      const { ask, answers } = await ready({ GET: () => feed.response, answer: refuse });
      feed.send(event({ id: "p", method: "ping" }));
      await comes(() => answers().length > 0);
      await turns();
      assert.equal(await outcome(ask("tools/list")), "result");
    }
  });

  test("HTTP-19: no reply is left unread, which would keep its connection " +
    "(WHATWG Fetch, body)", async () => {
    const server = peer({ "notifications/initialized": () => status(202, "fine"),
      answer: () => status(202, "fine"), GET: () => status(405, "no"),
      "notifications/cancelled": () => status(202, "fine"), DELETE: () => status(200, "bye"),
      "tools/call"({ message: { id } }) {
        const reply = stream();
        reply.send(event({ id: "p", method: "ping" }) + event({ id, result: DONE }));
        reply.end();
        return reply.response;
      }, "resources/read": () => undefined });
    await server.ask("tools/call", { name: "t" });
    const controller = new AbortController();
    const call = server.ask("resources/read", { uri: "x:/a" }, lane(controller.signal));
    await turns();
    controller.abort(new Error("enough"));
    await assert.rejects(call);
    await comes(() => server.answers().length > 0 && server.gets().length > 0);
    await server.close();
    await turns();
    assert.ok(server.given.length >= 7, String(server.given.length));
    assert.deepEqual(server.given.filter(({ body, bodyUsed }) => body !== null && !bodyUsed), []);
  });
});

describe("Handshake client over HTTP: streams that break", () => {
  const started = event("", "x-1");
  /** A call under way, whose stream the test holds, and decides what comes when it is resumed. */
  async function broken(resume: (last: string, n: number, id: unknown) => Reply,
    options: Options = {}, controller = new AbortController()) {
    mock.timers.enable({ apis: ["setTimeout"] });
    const reply = stream();
    let n = 0;
    const server = await ready({ "tools/call": () => reply.response, GET({ headers }) {
      const last = headers.get(LAST);
      const id = server?.sent("tools/call")[0]?.message.id;
      return last === null ? status(405) : resume(last, n++, id);
    } }, options);
    const heard = lane(controller.signal);
    const call = outcome(server.ask("tools/call", { name: "t" }, heard));
    await comes(() => server.sent("tools/call").length > 0);
    const { id } = server.sent("tools/call")[0]?.message as Message;
    return { ...server, reply, call, id, said: heard.said, controller };
  }
  /** Lets the time pass, minutes of it, until the call is over. */
  async function overtime(call: Promise<unknown>, steps = 300) {
    let ended = false;
    void call.then(() => (ended = true));
    for (let n = 0; n < steps && !ended; n++) {
      mock.timers.tick(10_000);
      await turns();
    }
    assert.ok(ended, "the call is over some time");
    return call;
  }
  const text = (...parts: string[]) => new Response(parts.join(""),
    { headers: { "content-type": "text/event-stream" } });

  test("a stream that ends is resumed after the last event, when the time that the server gave " +
    "is over and not before " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    for (const how of ["end", "fail"] as const) {
      const { reply, call, resumed, gets, sent } = await broken((_, __, id) =>
        text(event({ id, result: DONE }, "x-3")));
      reply.send(`${started}retry: 5000\n\n${event({ method: "notifications/made_up" }, "x-2")}`);
      await turns();
      reply[how](new TypeError("terminated"));
      await turns();
      mock.timers.tick(4_999);
      await turns();
      assert.deepEqual(resumed(), []);
      assert.equal(await overtime(call), "result");
      assert.deepEqual(resumed(), ["x-2"]);
      assert.equal(gets()[0]?.headers.get(SESSION), "s-1");
      assert.equal(gets()[0]?.headers.get(VERSION), "2025-11-25");
      assert.match(gets()[0]?.headers.get("accept") ?? "", /text\/event-stream/);
      assert.equal(sent("tools/call").length, 1);
      mock.timers.reset();
    }
  });

  test("what comes on the resumed stream is as good as before: progress, and questions " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const note = { jsonrpc: "2.0", method: "notifications/made_up", params: { a: 1 } };
    const { reply, call, answers } = await broken((_, __, id) => text(event(note, "x-2"),
      event({ id: "s1", method: "ping" }, "x-3"), event({ id, result: DONE }, "x-4")));
    reply.send(started);
    await turns();
    reply.end();
    assert.equal(await overtime(call), "result");
    await comes(() => answers().length > 0);
    assert.deepEqual(answers(), [{ jsonrpc: "2.0", id: "s1", result: {} }]);
  });

  test("a server may close again and again, as long as the stream gets on " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { reply, call, resumed } = await broken((_, n, id) => n < 12
      ? text(event("", `x-${n + 2}`)) : text(event({ id, result: DONE }, "end")));
    reply.send(started);
    await turns();
    reply.end();
    assert.equal(await overtime(call), "result");
    assert.deepEqual(resumed(), Array.from({ length: 13 }, (_, n) => `x-${n + 1}`));
  });

  test("RES-06: a stream that does not get on is given up after a few tries, though the server " +
    "opens it each time (spec@2025-11-25 basic/lifecycle#timeouts)", async () => {
    for (const resume of [() => text(), () => text(": nothing\n\n"), () => text("retry: 1\n\n"),
      () => text(event("", "x-1")), () => status(503), () => { throw new TypeError("no"); }]) {
      const { reply, call, resumed } = await broken(resume);
      reply.send(`${started}retry: 1\n\n`);
      await turns();
      reply.end();
      assert.notEqual(await overtime(call), "result");
      assert.ok(resumed().length >= 1 && resumed().length <= 20, String(resumed().length));
      mock.timers.reset();
    }
  });

  test("RES-06: the number of tries is the one that was asked for, none included " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    for (const maxRetries of [0, 1, 2]) {
      const { reply, call, resumed } = await broken(() => text(), { maxRetries });
      reply.send(started);
      await turns();
      reply.end();
      assert.equal(typeof await overtime(call), "string");
      assert.deepEqual(resumed(), Array(maxRetries).fill("x-1"));
      mock.timers.reset();
    }
  });

  test("a stream whose events have no ids cannot be resumed, and its call fails " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { reply, call, gets } = await broken(() => assert.fail("it was resumed"));
    reply.send(event({ method: "notifications/made_up" }));
    await turns();
    reply.end();
    assert.equal(typeof await overtime(call), "string");
    assert.deepEqual(gets(), []);
  });

  test("a server that cannot resume it fails the call, not the client " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    for (const code of [400, 404, 405]) {
      const { reply, call, ask, resumed } = await broken(() => status(code, "no"));
      reply.send(started);
      await turns();
      reply.end();
      assert.notEqual(await overtime(call), "result");
      assert.deepEqual(resumed(), ["x-1"]); // the answer will not be another one
      assert.equal(await outcome(ask("tools/list")), "result");
      mock.timers.reset();
    }
  });

  test("two streams are resumed each from its own last event " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const replies = new Map<unknown, ReturnType<typeof stream>>();
    const server = await ready({ "tools/call"({ message: { params } }) {
      const reply = stream();
      replies.set(params?.["name"], reply);
      return reply.response;
    }, GET({ headers }) {
      const name = headers.get(LAST)?.slice(0, 1);
      const call = server?.sent("tools/call").find(({ message }) =>
        message.params?.["name"] === name);
      return call === undefined ? status(405)
        : text(event({ id: call.message.id, result: { content: [], name } }, `${name}-9`));
    } });
    const calls = ["a", "b"].map((name) => server.ask("tools/call", { name }));
    await comes(() => replies.size === 2);
    for (const [name, { send }] of replies) send(event("", `${name}-1`));
    replies.get("a")?.send(event("", "a-2"));
    await turns();
    for (const { end } of replies.values()) end();
    const both = Promise.all(calls) as Promise<unknown>;
    await overtime(both);
    assert.deepEqual((await both as { result: Json }[]).map(({ result }) => result["name"]),
      ["a", "b"]);
    assert.deepEqual(server.resumed().sort(), ["a-2", "b-1"]);
  });

  test("RES-08: nothing is resumed after close " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const { reply, call, close, asked, deletes, resumed } = await broken(() => text());
    reply.send(`${started}retry: 5000\n\n`);
    await turns();
    reply.end();
    await turns();
    await close();
    assert.equal(typeof await overtime(call), "string");
    assert.equal(deletes().length, 1);
    const before = asked.length;
    for (let n = 0; n < 20; n++) {
      mock.timers.tick(60_000);
      await turns();
    }
    assert.equal(asked.length, before);
    assert.deepEqual(resumed(), []);
  });

  test("a call that is given up while its stream is down is cancelled, and not resumed " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { reply, call, controller, resumed, sent, id } = await broken(() => text());
    reply.send(`${started}retry: 5000\n\n`);
    await turns();
    reply.end();
    await turns();
    controller.abort(new Error("enough"));
    assert.equal(await call, "cancelled");
    await comes(() => sent("notifications/cancelled").length > 0);
    assert.deepEqual(sent("notifications/cancelled")[0]?.message.params,
      { requestId: id, reason: "enough" });
    mock.timers.tick(600_000);
    await turns();
    assert.deepEqual(resumed(), []);
  });
});

describe("Handshake client over HTTP: the server's own stream", () => {
  /** Streams that the server gives one after another to each GET, and what comes after them. */
  async function feeding(then: () => Reply = () => undefined, options: Options = {}) {
    mock.timers.enable({ apis: ["setTimeout"] });
    const feeds = [stream(), stream()] as const;
    let n = 0;
    const server = peer({ GET: () => feeds[n++]?.response ?? then() },
      { era: "legacy", ...options });
    await server.ask("tools/list");
    await comes(() => server.gets().length > 0);
    return { ...server, feeds };
  }
  /** Lets minutes pass. */
  async function later(steps = 200) {
    while (steps-- > 0) {
      mock.timers.tick(60_000);
      await turns();
    }
  }
  const empty = () => new Response("retry: 1\n\n",
    { headers: { "content-type": "text/event-stream" } });

  test("it is opened again when it ends, after its last event if that had an id, when the time " +
    "that the server gave is over " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    for (const id of ["g-1", undefined]) {
      const { feeds: [one, two], gets, answers } = await feeding();
      one.send(`retry: 30000\n\n${event({ id: "s1", method: "ping" }, id)}`);
      await comes(() => answers().length > 0);
      one.end();
      await turns();
      mock.timers.tick(29_999);
      await turns();
      assert.equal(gets().length, 1, String(id));
      mock.timers.tick(60_000);
      await comes(() => gets().length > 1);
      assert.deepEqual(gets().map(({ headers }) => headers.get(LAST)), [null, id ?? null]);
      two.send(event({ id: "s2", method: "ping" }, "g-2"));
      await comes(() => answers().length > 1);
      mock.timers.reset();
    }
  });

  test("it may end as often as it likes, as long as there is something to hear " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    for (const ids of [true, false]) {
      let n = 0;
      const { feeds: [one, two], answers } = await feeding(() => ++n > 12 ? undefined
        : new Response(event({ id: n, method: "ping" }, ids ? `g-${n}` : undefined),
          { headers: { "content-type": "text/event-stream" } }));
      for (const feed of [one, two]) {
        feed.send(event({ id: 0, method: "ping" }, ids ? "g-0" : undefined));
        feed.end();
      }
      await later(60);
      assert.equal(answers().length, 14, `ids: ${ids}`);
      mock.timers.reset();
    }
  });

  test("RES-06: it is given up when it ends again and again without a word, and calls go on " +
    "(spec@2025-11-25 basic/lifecycle#timeouts)", async () => {
    const { feeds: [one, two], gets, ask } = await feeding(empty);
    one.end();
    two.end();
    await later();
    assert.ok(gets().length >= 2 && gets().length <= 20, String(gets().length));
    assert.equal(await outcome(ask("tools/list")), "result");
  });

  test("RES-06: without any more tries it is still opened once " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    for (const maxRetries of [0, 2]) {
      const { feeds: [one, two], gets } = await feeding(empty, { maxRetries });
      one.end();
      two.end();
      await later(20);
      assert.equal(gets().length, 1 + maxRetries);
      mock.timers.reset();
    }
  });

  test("RES-08: it is not opened again after close " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const { feeds: [one], gets, close } = await feeding();
    one.send(event("", "g-1"));
    await turns();
    one.end();
    await turns();
    await close();
    await later(20);
    assert.equal(gets().length, 1);
  });
});

describe("Handshake client over HTTP: cancellation and close", () => {
  test("CAN-08: a call that is given up rejects at once, and the server is told in a POST that " +
    "nobody waits for (spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)",
  async () => {
    const { ask, sent, methods } = await ready({ "tools/call": () => undefined,
      "notifications/cancelled": () => undefined });
    const controller = new AbortController();
    const call = outcome(ask("tools/call", { name: "t" }, lane(controller.signal)));
    await turns();
    controller.abort(new Error("enough"));
    assert.equal(await within(call, 200), "cancelled");
    await comes(() => methods().length > 1);
    const { id } = sent("tools/call")[0]?.message as Message;
    assert.deepEqual(sent("notifications/cancelled").map(({ message }) => message), [{
      jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id,
        reason: "enough" } }]);
    assert.equal(await outcome(ask("tools/list")), "result");
  });

  test("a call that takes too long is cancelled; to hang up is not enough " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const reply = stream();
    const { client, sent } = await ready({ "tools/call": () => reply.response });
    await assert.rejects(client.call("tools/call", { name: "t" }, { timeoutMs: 10 }), (error) =>
      error instanceof TransportError && error.code === "timeout");
    await comes(() => sent("notifications/cancelled").length > 0);
    assert.equal(sent("notifications/cancelled")[0]?.message.params?.["requestId"],
      sent("tools/call")[0]?.message.id);
    await comes(reply.over);
  });

  test("CAN-09: a signal used for many calls keeps no listener (engineering)", async () => {
    const { client } = await ready();
    const { signal } = new AbortController();
    for (let n = 0; n < 50; n++) await client.call("tools/call", { name: "t" }, { signal });
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  test("close ends the session once, and all that was open with it " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const feed = stream();
    const server = peer({ GET: () => feed.response, "tools/call": () => undefined },
      { era: "legacy" });
    await server.ask("tools/list");
    await comes(() => server.gets().length > 0);
    const call = outcome(server.ask("tools/call", { name: "t" }));
    await turns();
    await Promise.all([server.close(), server.close()]);
    await server.close();
    assert.deepEqual(server.deletes().map(({ headers }) => [headers.get(SESSION),
      headers.get(VERSION)]), [["s-1", "2025-11-25"]]);
    assert.equal(typeof await within(call, 200), "string");
    await comes(feed.over);
    const before = server.asked.length;
    await assert.rejects(server.ask("tools/list"));
    await turns();
    assert.equal(server.asked.length, before);
  });

  test("a server that does not let its sessions be ended, or is gone, is no fault of close " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    for (const reply of [() => status(405), () => status(404), () => status(500, "oops"),
      () => { throw new TypeError("fetch failed"); }]) {
      const { close, deletes } = await ready({ DELETE: reply });
      await close();
      assert.equal(deletes().length, 1);
    }
  });

  test("before anything was asked there is nothing to end " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const { close, asked, ask } = peer();
    await close();
    assert.deepEqual(asked, []);
    await assert.rejects(ask("tools/list"));
    assert.deepEqual(asked, []);
  });

  test("close during the handshake fails the call, and nothing follows " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    let answer = (_: Reply) => {};
    const { ask, asked, close, methods } = peer({ initialize: () => new Promise<Reply>((resolve) =>
      (answer = resolve)) }, { era: "legacy" });
    const call = outcome(ask("tools/list"));
    await comes(() => asked.length > 0);
    await close();
    assert.equal(typeof await within(call, 200), "string");
    answer({ result: HELLO });
    await turns();
    assert.deepEqual(methods(), ["initialize"]);
  });

  test("what is under way with a modern server settles at close, too " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    const { ask, close, asked } = peer({ modern: (one) =>
      one.message.method === "tools/call" ? undefined : MODERN(one) });
    const call = outcome(ask("tools/call", { name: "t" }));
    await comes(() => asked.at(-1)?.message.method === "tools/call");
    await close();
    assert.equal(typeof await within(call, 200), "string");
    await assert.rejects(ask("tools/list"));
    assert.equal(asked.at(-1)?.message.method, "tools/call");
  });

  test("close does not wait for ever for a server that says nothing (engineering)", async () =>
    assert.equal(await slowClose, undefined));
});
