// Part II, HTTP: the server is called with requests made by hand, the client
// with a fetch that a function answers. Sockets are in part7.test.ts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ProtocolError, TransportError, connectHttp, discover, dispatch, readText, serveHttp, webHandler,
  type Context, type HttpHandler, type HttpOptions,
} from "../mcp-raw.ts";
import {
  META, codeOf, fakeFetch, headersFor, jsonOf, jsonResponse, lane, ms, post, posted, read,
    refusalIn, request, resultIn,
  resultOf, until, within,
} from "./kit-http.ts";

const SERVER = { "io.modelcontextprotocol/serverInfo": { name: "probe", version: "1" } };
const CALL = "tools/call";
const done = { content: [{ type: "text", text: "done" }] };
const DONE = { jsonrpc: "2.0", id: 1, result: { resultType: "complete", ...done, _meta: SERVER } };

/** A server whose tools/call does what the test says;
  it knows tools/list and server/discover too. */
function probe(run: (context: Context) => object | Promise<object> = () => done,
  options: HttpOptions = {}): HttpHandler {
  return serveHttp(dispatch({ name: "probe", version: "1" }, [discover({ tools: {} }), { methods: {
    "tools/list": () => ({ tools: [], ttlMs: 0, cacheScope: "public" }),
    "tools/call": async (_, context) => ({ ...await run(context) }),
  } }]), options);
}
const call = (changes: Record<string, string | null> = {}, name = "x") =>
  post(CALL, { name }, changes);
const progress = (n: number) =>
  ({ jsonrpc: "2.0" as const, method: "notifications/progress",
    params: { progressToken: "p", progress: n } });
/** A web request to the endpoint. */
const web = (body: string | ReadableStream, headers: Record<string, string>, init: RequestInit =
  {}) =>
  new Request("http://127.0.0.1:3100/mcp", { method: "POST", body, headers, duplex: "half",
    ...init } as RequestInit);

describe("HTTP server: messages", () => {
  test("a request is answered with one JSON object " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const reply = await probe()(call());
    assert.equal(reply.status, 200);
    assert.deepEqual(reply.headers, { "Content-Type": "application/json" });
    assert.deepEqual(jsonOf(reply), DONE);
  });

  test("the web's own shapes carry the same status, headers and body " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const answer = webHandler(probe());
    const response = await answer(web(JSON.stringify(request(CALL, { name: "x" })),
      headersFor(CALL, "x")));
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), DONE);
    const refused = await answer(new Request("http://127.0.0.1:3100/mcp"));
    assert.equal(refused.status, 405);
  });

  test("HTTP-08: a notification is accepted with 202, no body and no Content-Type " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const heard: unknown[] = [];
    const handle = probe(undefined, { notifications: { "notifications/x": (params) =>
      void heard.push(params) } });
    const note = posted('{"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}}',
      headersFor("notifications/x"));
    assert.deepEqual(await handle(note), { status: 202, headers: {} });
    assert.deepEqual(heard, [{ a: 1 }]);
    const response = await webHandler(handle)(web('{"jsonrpc":"2.0","method":"notifications/y"}',
      { "content-type": "application/json", "accept": "application/json, text/event-stream" }));
    assert.equal(response.status, 202);
    assert.equal(response.headers.get("content-type"), null);
    assert.equal(await response.text(), "");
  });

  test("CAN-05: a posted notifications/cancelled is accepted with 202 and, in this revision, " +
    "ends nothing: closing the stream does " +
    "(spec basic/patterns/cancellation#transport-specific-cancellation)", async () => {
    let finish = () => {};
    const handle = probe(async ({ lane }) => {
      await new Promise<void>((resolve) => (finish = resolve));
      return { content: [], aborted: lane.signal.aborted };
    });
    const reply = handle(call());
    await ms(5);
    const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
    assert.equal((await handle(posted(cancel, headersFor("notifications/cancelled")))).status, 202);
    finish();
    assert.deepEqual(jsonOf(await reply), { jsonrpc: "2.0", id: 1,
      result: { resultType: "complete", content: [], aborted: false, _meta: SERVER } });
  });

  test("CAN-02: an invalid notifications/cancelled is accepted and ignored over HTTP too " +
    "(spec basic/patterns/cancellation#error-handling)", async () => {
    const handle = probe();
    for (const params of ['{"requestId":999}', '{"requestId":{}}', '{"requestId":null}', "{}"]) {
      const note = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
      assert.deepEqual(await handle(posted(note, headersFor("notifications/cancelled"))),
        { status: 202, headers: {} });
    }
    assert.deepEqual(jsonOf(await handle(call())), DONE);
  });

  test("a notification handler that throws is our fault: the notification is accepted, the error " +
    "goes to report alone (spec basic/transports/streamable-http#sending-messages)", async () => {
    const reported: unknown[] = [];
    const handle = probe(undefined, { report: (error) => void reported.push(error),
      notifications: { "notifications/x": () => { throw new Error("secret path"); } } });
    const reply = await handle(posted('{"jsonrpc":"2.0","method":"notifications/x"}',
      headersFor("notifications/x")));
    assert.deepEqual(reply, { status: 202, headers: {} });
    assert.match(String(reported), /secret path/);
  });

  const unreadable: [string, string, number, number | string | undefined][] = [
    ["a response", '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}', -32600,
      undefined],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600, undefined],
    ["an id that is null", '{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600, undefined],
    ["an id that is no integer", '{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600,
      undefined],
    ["a notification with an id", '{"jsonrpc":"2.0","id":7,"method":"notifications/x"}', -32600, 7],
    ["no version of JSON-RPC", '{"id":"a","method":"tools/list"}', -32600, "a"],
    ["params that are a list", '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[1]}',
      -32602, 1],
    ["an empty body", "", -32700, undefined],
  ];
  for (const [what, body, code, id] of unreadable) {
    test(`a POST of ${what} is refused with 400 and ${code} ` +
      `(spec basic/transports/streamable-http#sending-messages)`, async () => {
      const reply = await probe()(posted(body, headersFor("tools/list")));
      assert.equal(reply.status, 400);
      const { error, ...rest } = jsonOf(reply) as { error: { code: number; message: string } };
      assert.deepEqual(rest, id === undefined ? { jsonrpc: "2.0" } : { jsonrpc: "2.0", id });
      assert.equal(error.code, code);
      assert.ok(error.message.length > 0);
    });
  }

  test("HTTP-16: a body that is no JSON is refused with 400, application/json and -32700 without " +
    "an id (spec basic#error-responses)", async () => {
    const reply = await probe()(posted('{"jsonrpc":', headersFor(CALL, "x")));
    assert.equal(reply.status, 400);
    assert.deepEqual(reply.headers, { "Content-Type": "application/json" });
    const { jsonrpc, error, ...rest } = jsonOf(reply) as {
      jsonrpc: string; error: { code: number } };
    assert.deepEqual([jsonrpc, error.code, rest], ["2.0", -32700, {}]);
  });

  test("LIF-08: initialize is refused with 400 and an error that names the versions spoken " +
    "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
    async () => {
    const initialize = '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{' +
      '"protocolVersion":"2025-11-25","capabilities":{},' +
      '"clientInfo":{"name":"old","version":"1"}}}';
    for (const version of [null, "2025-11-25"]) {
      const reply = await probe()(posted(initialize, headersFor("initialize", undefined,
        { "mcp-protocol-version": version, "mcp-method": null })));
      assert.equal(reply.status, 400);
      const { id, error } = jsonOf(reply) as { id: string; error: {
        data: { supported: string[] } } };
      assert.deepEqual([id, error.data.supported], ["i", ["2026-07-28"]]);
    }
  });

  test("LIF-21: server/discover, however often it is asked, mints no session " +
    "(spec basic/transports/streamable-http#earlier-streamable-http-revisions)", async () => {
    const handle = probe();
    for (let n = 0; n < 1000; n++) {
      const { status, headers } = await handle(post("server/discover"));
      assert.deepEqual([status, headers], [200, { "Content-Type": "application/json" }]);
    }
  });

  test("LIF-24: the capabilities that one request declares count for no other, and -32021 is 400 " +
    "(spec basic#statelessness)", async () => {
    const data = { requiredCapabilities: { elicitation: {} } };
    const handle = probe(({ request }) => {
      const { "io.modelcontextprotocol/clientCapabilities": can } =
        request.params?._meta as typeof META;
      if (!("elicitation" in can)) throw new ProtocolError(-32021, "Elicitation is needed", data);
      return done;
    });
    const able = { ...META, "io.modelcontextprotocol/clientCapabilities": {
      elicitation: { form: {} } } };
    const first = JSON.stringify({ jsonrpc: "2.0", id: 1, method: CALL,
      params: { name: "x", _meta: able } });
    assert.deepEqual(jsonOf(await handle(posted(first, headersFor(CALL, "x")))), DONE);
    const second = await handle(call());
    assert.equal(second.status, 400);
    assert.deepEqual(jsonOf(second), { jsonrpc: "2.0", id: 1,
      error: { code: -32021, message: "Elicitation is needed", data } });
  });
});

describe("HTTP server: status codes", () => {
  const thrown: [string, unknown, number, number, string][] = [
    ["unknown tool", new ProtocolError(-32602, "Unknown tool"), 200, -32602,
      "server/tools#error-handling"],
    ["internal error", new Error("boom"), 200, -32603, "basic#error-codes"],
    ["missing capability", new ProtocolError(-32021, "needs"), 400, -32021, "basic#meta"],
    ["header mismatch", new ProtocolError(-32020, "differs"), 400, -32020,
      "basic/transports/streamable-http#server-validation"],
    ["code of an application", new ProtocolError(1234, "own"), 200, 1234, "basic#error-codes"],
  ];
  for (const [what, error, status, code, anchor] of thrown) {
    test(`${code}, ${what}, travels with status ${status} (spec ${anchor})`, async () => {
      const reply = await probe(() => { throw error; })(call());
      assert.deepEqual([reply.status, codeOf(reply)], [status, code]);
      assert.doesNotMatch(reply.body ?? "", /boom/);
    });
  }

  test("HDR-14: an unknown method is 404, application/json, -32601 with the id of the request " +
    "(spec basic/transports/streamable-http#protocol-version-header)", async () => {
    const reply = await probe()(post("made/up", {}, {}, "m"));
    assert.equal(reply.status, 404);
    assert.deepEqual(reply.headers, { "Content-Type": "application/json" });
    const { id, error } = jsonOf(reply) as { id: string; error: { code: number } };
    assert.deepEqual([id, error.code], ["m", -32601]);
  });

  test("a _meta that lacks a required field is 400 and -32602, clientInfo alone may be missing " +
    "(spec basic#meta)", async () => {
    const { "io.modelcontextprotocol/clientInfo": _, ...anonymous } = META;
    const metas: [object | undefined, number][] = [
      [undefined, 400], [{}, 400], [anonymous, 200],
      [{ "io.modelcontextprotocol/protocolVersion": "2026-07-28" }, 400],
      [{ "io.modelcontextprotocol/clientCapabilities": {} }, 400],
      [{ ...META, "io.modelcontextprotocol/clientCapabilities": [] }, 400],
    ];
    for (const [_meta, status] of metas) {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: CALL,
        params: { name: "x", _meta } });
      const reply = await probe()(posted(body, headersFor(CALL, "x")));
      assert.deepEqual([reply.status, codeOf(reply)], [status, status === 200 ? undefined : -32602],
        body);
    }
  });

  test("what a handler gives that JSON cannot hold is -32603, not a broken reply " +
    "(spec basic#error-codes)", async () => {
    const reply = await probe(() => ({ content: [], big: 1n }))(call());
    assert.deepEqual(jsonOf(reply), { jsonrpc: "2.0", id: 1, error: {
      code: -32603, message: "Internal error" } });
  });
});

describe("HTTP server: the request's headers", () => {
  const list = (changes: Record<string, string | null>) => probe()(post("tools/list", {}, changes));

  test("HTTP-01: Accept is read as media ranges, in any case, with wildcards, weights and " +
    "parameters (spec basic/transports/streamable-http#sending-messages)", async () => {
    for (const accept of ["*/*", "application/*, text/*", "*/*;q=0.8",
      "text/event-stream,application/json",
      "APPLICATION/JSON;charset=utf-8, Text/Event-Stream",
        "application/json ; q=0.5 , text/event-stream;q=1.0"]) {
      assert.equal((await list({ accept })).status, 200, accept);
    }
    const two = new Headers(headersFor("tools/list", undefined, { accept: null }));
    two.append("Accept", "application/json");
    two.append("Accept", "text/event-stream");
    const body = JSON.stringify(request("tools/list"));
    assert.equal((await webHandler(probe())(web(body, Object.fromEntries(two)))).status, 200);
  });

  test("HTTP-02: a POST that does not accept both types is 406, one without Accept is served " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    for (const accept of ["application/json", "text/event-stream", "text/html",
      "application/jsonp, text/event-stream",
      "application/json, text/event-stream;q=0", "application/json;q=0.0, text/event-stream", ""]) {
      const reply = await list({ accept });
      assert.deepEqual([reply.status, codeOf(reply)], [406, -32600], accept);
    }
    assert.equal((await list({ accept: null })).status, 200);
    for (const method of ["GET", "DELETE"]) {
      assert.equal((await probe()(posted("", { accept: "application/json" }, method))).status, 405);
      assert.equal((await probe()(posted("", {}, method))).status, 405);
    }
  });

  test("HTTP-04: Content-Type is application/json whatever its case and parameters, anything " +
    "else is 415 (spec basic/transports/streamable-http#sending-messages)", async () => {
    for (const type of ["application/json; charset=utf-8", 'Application/JSON;Charset="UTF-8"',
      "application/json ;x=y"]) {
      assert.equal((await list({ "content-type": type })).status, 200, type);
    }
    for (const type of ["text/plain; a=application/json", "application/jsonp",
      "application/json-patch+json",
      "text/application/json", "", null]) {
      const reply = await list({ "content-type": type });
      assert.deepEqual([reply.status, codeOf(reply)], [415, -32600], String(type));
    }
  });

  test("HTTP-05: a cross-site POST of text/plain runs no tool " +
    "(spec basic/transports/streamable-http#security-endpoint)", async () => {
    let ran = 0;
    const handle = probe(() => (ran++, done));
    const plain = { "content-type": "text/plain" };
    assert.equal((await handle(call({ ...plain, origin: "http://evil.example" }))).status, 403);
    assert.equal((await handle(call(plain))).status, 415);
    assert.equal(ran, 0);
  });

  test("HTTP-14: a body past the limit is 413, by its Content-Length unread, else by what is " +
    "read (spec basic/transports/streamable-http#sending-messages)", async () => {
    const handle = probe(undefined, { maxBody: 500 });
    const unread = { ...call({ "content-length": "501" }), text: () => assert.fail("was read") };
    const long = post(CALL, { name: "x", arguments: { pad: "é".repeat(150) } });
    for (const reply of [await handle(unread), await handle(long)]) {
      assert.deepEqual([reply.status, codeOf(reply)], [413, -32600]);
    }
    const lying = await handle(post(CALL, { name: "x", arguments: { pad: "y".repeat(500) } },
      { "content-length": "10" }));
    assert.equal(lying.status, 413);
    assert.equal((await handle(call())).status, 200);
  });

  test("the limit counts bytes while they arrive, and reading stops there (RFC 9110 " +
    "§15.5.14)", async () => {
    let pulled = 0;
    const endless = () => new ReadableStream<Uint8Array>({ pull(controller) {
      pulled++;
      controller.enqueue(new Uint8Array(1000).fill(0x20));
    } }, { highWaterMark: 0 });
    assert.equal(await readText(endless(), 3500), undefined);
    assert.equal(pulled, 4);
    const response = await webHandler(probe(undefined, { maxBody: 3500 }))(
      web(endless(), headersFor(CALL, "x")));
    assert.equal(response.status, 413);
    assert.ok(pulled < 20, `${pulled} chunks were pulled`);
  });

  test("a body that breaks off is 400 and dispatches nothing " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const broken = { ...call(), text: () => Promise.reject(new Error("reset")) };
    const reply = await probe(() => assert.fail("was called"))(broken);
    assert.deepEqual([reply.status, codeOf(reply)], [400, -32600]);
    assert.doesNotMatch(reply.body ?? "", /reset/);
  });

  test("JSON that nests too deep is refused with its id, and the server goes on " +
    "(spec basic#error-codes)", async () => {
    const nested = "[".repeat(5000) + "]".repeat(5000);
    const deep = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"a":${nested}}}`;
    const reply = await probe()(posted(deep, headersFor(CALL, "x")));
    assert.deepEqual([reply.status, codeOf(reply), (jsonOf(reply) as { id: number }).id],
      [400, -32602, 9]);
  });

  test("HDR-01: a POST without MCP-Protocol-Version is 400, -32020 and its id; so is one that " +
    "lacks Mcp-Method too (spec basic/transports/streamable-http#server-validation)", async () => {
    for (const changes of [{ "mcp-protocol-version": null },
      { "mcp-protocol-version": null, "mcp-method": null }]) {
      const reply = await list(changes);
      const { id, error } = jsonOf(reply) as { id: number; error: { code: number; data: unknown } };
      assert.deepEqual([reply.status, id, error.code, error.data],
        [400, 1, -32020, { supported: ["2026-07-28"] }]);
    }
  });

  test("HDR-02: an unsupported version in the header is -32022, a supported one that the body " +
    "contradicts -32020 (spec basic/transports/streamable-http#protocol-version-header)",
    async () => {
    const versions: [string, string, number][] = [
      ["1999-01-01", "1999-01-01", -32022], ["2026-07-28", "2025-11-25", -32020],
      ["mismatch.version", "2026-07-28", -32022],
    ];
    for (const [header, body, code] of versions) {
      const params = { _meta: { ...META, "io.modelcontextprotocol/protocolVersion": body } };
      const reply = await probe()(posted(JSON.stringify({ jsonrpc: "2.0", id: 1,
        method: "tools/list", params }),
        headersFor("tools/list", undefined, { "mcp-protocol-version": header })));
      const { error } = jsonOf(reply) as { error: { code: number; data?: unknown } };
      assert.deepEqual([reply.status, error.code], [400, code]);
      if (code === -32022) assert.deepEqual(error.data, { supported: ["2026-07-28"],
        requested: header });
    }
  });

  test("Mcp-Method is there and equals the method, case by case " +
    "(spec basic/transports/streamable-http#case-sensitivity)", async () => {
    for (const method of [null, "tools/call", "Tools/List", "tools/list/", ""]) {
      const reply = await list({ "mcp-method": method });
      assert.deepEqual([reply.status, codeOf(reply)], [400, -32020], String(method));
    }
    const upper = Object.entries(headersFor("tools/list")).map(
      ([name, value]) => [name.toUpperCase(), value]);
    const response = await webHandler(probe())(web(JSON.stringify(request("tools/list")),
      Object.fromEntries(upper)));
    assert.equal(response.status, 200);
  });

  test("Mcp-Name is there and equals the name or the uri of tools/call, prompts/get and " +
    "resources/read (spec basic/transports/streamable-http#standard-request-headers)", async () => {
    const named: [string, { [key: string]: unknown }, string][] =
      [["tools/call", { name: "x" }, "x"],
      ["prompts/get", { name: "p" }, "p"], ["resources/read", { uri: "file:///a" }, "file:///a"]];
    for (const [method, params, name] of named) {
      for (const [given, wrong] of [[name, false], [null, true], ["other", true],
        [name.toUpperCase(), true]] as const) {
        const reply = await probe()(post(method, params, { "mcp-name": given }));
        assert.equal(codeOf(reply) === -32020, wrong, `${method} ${given}`);
        if (wrong) assert.equal(reply.status, 400);
      }
    }
    assert.equal((await list({ "mcp-name": "ignored" })).status, 200);
  });

  test("a feature of its own puts its field into Mcp-Name " +
    "(spec basic/transports/streamable-http#standard-request-headers)", async () => {
    const handle = serveHttp(dispatch({ name: "probe", version: "1" },
      [{ methods: { "tasks/get": () => ({ ok: true }) } }]),
        { mirrors: { "tasks/get": "taskId" } });
    assert.equal((await handle(post("tasks/get", { taskId: "t" }, { "mcp-name": "t" }))).status,
      200);
    assert.equal(codeOf(await handle(post("tasks/get", { taskId: "t" }, { "mcp-name": "u" }))),
      -32020);
  });

  const names: [string, string, string, boolean][] = [
    ["HDR-05: a wrapper whose ends overlap is the literal text", "=?base64?=", "=?base64?=", true],
    ["HDR-05: an empty wrapper is the empty string", "=?base64??=", "", true],
    ["HDR-06: Base64 with junk in it is refused", "=?base64?SGVs bG8h*?=", "Hello!", false],
    ["HDR-06: the URL alphabet is refused", "=?base64?____?=", "\u00ff\u00ff\u00ff", false],
    ["HDR-06: bytes that are not UTF-8 are refused", "=?base64?/w==?=", "\ufffd", false],
    ["HDR-06: missing padding is refused", "=?base64?Zm8?=", "fo", false],
    ["HDR-07: what looks like a wrapper is decoded", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
      "=?base64?literal?=", true],
    ["HDR-07: blanks at the ends survive in a wrapper", "=?base64?IHBhZGRlZCA=?=", " padded ",
      true],
    ["HDR-08: the markers are lower case", "=?BASE64?Zm9v?=", "foo", false],
    ["HDR-08: other markers are literal text", "=?BASE64?Zm9v?=", "=?BASE64?Zm9v?=", true],
    ["HDR-10: a wrapped name beyond ASCII is compared decoded", "=?base64?Y2Fmw6k=?=", "café",
      true],
    ["HDR-10: raw UTF-8, read as Latin-1, is refused", "caf\u00c3\u00a9", "café", false],
    ["HDR-10: raw UTF-8 is refused even if the name is its mojibake", "caf\u00c3\u00a9",
      "caf\u00c3\u00a9", false],
    ["HDR-10: raw Latin-1 is refused though it compares equal", "caf\u00e9", "café", false],
  ];
  for (const [rule, header, name, fine] of names) {
    test(`${rule} (spec basic/transports/streamable-http#value-encoding)`, async () => {
      const reply = await probe()(call({ "mcp-name": header }, name));
      assert.deepEqual([reply.status, codeOf(reply)], fine ? [200, undefined] : [400, -32020]);
    });
  }

  test("HDR-09: blanks around a value are no part of it, a no-break space is, and trimming takes " +
    "linear time (RFC 9110 §5.5)", async () => {
    const method = (value: string) => probe()(call({ "mcp-method": value }));
    assert.equal((await method("\t tools/call  ")).status, 200);
    for (const odd of ["\u00a0tools/call", "\u00c2\u00a0tools/call", "tools/call\u00a0"]) {
      assert.equal(codeOf(await method(odd)), -32020);
    }
    const [tabs, start] = ["\t".repeat(100_000), performance.now()];
    assert.equal((await method(`${tabs}tools/call${tabs}`)).status, 200);
    assert.equal(codeOf(await method(`${tabs}x${tabs}y`)), -32020);
    assert.equal((await probe()(call({ "mcp-name": `${tabs}x${tabs}` }))).status, 200);
    assert.ok(performance.now() - start < 500, `${performance.now() - start} ms`);
  });

  test("HDR-18: session and resumption headers are ignored and none is sent back; GET and DELETE " +
    "are 405 (spec basic/transports/streamable-http#earlier-streamable-http-revisions)",
    async () => {
    const reply = await probe()(call({ "mcp-session-id": "x", "last-event-id": "3" }));
    assert.deepEqual([reply.status, reply.headers], [200, { "Content-Type": "application/json" }]);
    for (const method of ["GET", "DELETE", "PUT", "HEAD"]) {
      const { status, headers, body = "" } = await probe()(posted("", headersFor(CALL), method));
      assert.deepEqual([status, headers["Allow"]], [405, "POST"]);
      assert.match(body, /2026-07-28/);
    }
  });
});

describe("HTTP server: who may call", () => {
  const status = async (headers: Record<string, string | null>, options: HttpOptions = {}) =>
    (await probe(undefined, options)(call(headers))).status;

  test("SEC-03: an Origin that is absent or of this machine passes, any other is 403 " +
    "(spec basic/transports/streamable-http#security-endpoint)", async () => {
    const origins: [string | null, number][] = [["null", 403], ["http://evil.example", 403],
      ["http://localhost:6274", 200], ["http://[::1]:9", 200], ["http://localhost.evil.com", 403],
      ["http://127.0.0.1@evil.com", 403], [null, 200], ["", 403],
        ["http://127.0.0.1.evil.com", 403],
      ["file://", 403], ["http://localhost:6274/path", 403], ["https://127.0.0.1:8443", 200],
      ["http://localhost:1, http://evil.example", 403], [
        "http://evil.example#http://localhost", 403]];
    for (const [origin, expected] of origins) assert.equal(
      await status({ origin }), expected, String(origin));
  });

  test("the 403 comes before anything else is looked at, for every method, with a JSON-RPC error " +
    "that has no id (spec basic/transports/streamable-http#security-endpoint)", async () => {
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const foreign = { ...posted("", { origin: "http://evil.example" }, method), text: () =>
        assert.fail("was read") };
      const reply = await probe()(foreign);
      assert.equal(reply.status, 403);
      const { error, ...rest } = jsonOf(reply) as { error: { code: number } };
      assert.deepEqual([error.code, rest], [-32600, { jsonrpc: "2.0" }]);
    }
  });

  test("SEC-02: a server for this machine answers to the names of this machine alone " +
    "(spec basic/transports/streamable-http#security-endpoint)", async () => {
    const local: HttpOptions = { loopbackOnly: true };
    for (const host of ["localhost:3000", "LOCALHOST", "127.0.0.1:80", "[::1]:3000", "localhost.",
      "127.0.0.1"]) {
      assert.equal(await status({ host }, local), 200, host);
    }
    for (const host of ["127.0.0.1.evil.com", "localhost.evil.com", "evil.com:3000",
      "localhost@evil.com",
      "[::1].evil.com", "", "a, b", "localhost, evil.com", "localhost:3000:1", "xlocalhost",
        null]) {
      assert.equal(await status({ host }, local), 403, String(host));
    }
    assert.equal(await status({ host: "mcp.example" }), 200);
  });

  test("an allowed Origin passes exactly as it was named " +
    "(spec basic/transports/streamable-http#security-endpoint)", async () => {
    const open: HttpOptions = { allowOrigins: ["https://app.example"] };
    assert.equal(await status({ origin: "https://app.example" }, open), 200);
    for (const origin of ["http://app.example", "https://app.example:444",
      "https://sub.app.example",
      "https://app.example.evil", "HTTPS://APP.EXAMPLE/"]) {
      assert.equal(await status({ origin }, open), 403, origin);
    }
  });

  const corsOf = (headers: Record<string, string>) =>
    Object.keys(headers).filter((name) => /^access-control-/i.test(name));

  test("CORS is closed by default: no reply, preflights included, lets a page read it (Fetch " +
    "§3.2)", async () => {
    for (const origin of ["http://localhost:6274", "http://evil.example"]) {
      assert.deepEqual(corsOf((await probe()(call({ origin }))).headers), []);
      const preflight = posted("", { origin, "access-control-request-method": "POST" }, "OPTIONS");
      assert.deepEqual(corsOf((await probe()(preflight)).headers), []);
    }
    assert.equal((await probe()(posted("", {}, "OPTIONS"))).status, 405);
  });

  test("an allowed Origin, and it alone, gets CORS with the headers it may send and read (Fetch " +
    "§3.2)", async () => {
    const handle = probe(undefined, { allowOrigins: ["https://app.example", "https://b.example"] });
    const wanted = ["content-type", "mcp-method", "mcp-name", "mcp-param-region",
      "mcp-protocol-version"];
    const ask = { "access-control-request-method": "POST",
      "access-control-request-headers": wanted.join(",") };
    const preflight = await handle(posted("", { origin: "https://app.example", ...ask },
      "OPTIONS"));
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers["Access-Control-Allow-Origin"], "https://app.example");
    assert.match(preflight.headers["Access-Control-Allow-Methods"] ?? "", /\bPOST\b/);
    const allowed = (preflight.headers["Access-Control-Allow-Headers"] ?? "").toLowerCase().split(
      /, */);
    for (const name of wanted) assert.ok(allowed.includes(name), name);
    for (const reply of [await handle(call({ origin: "https://app.example" })),
      await handle(post("made/up", {}, { origin: "https://app.example" }))]) {
      assert.equal(reply.headers["Access-Control-Allow-Origin"], "https://app.example");
      assert.match(reply.headers["Access-Control-Expose-Headers"] ?? "", /Mcp-Session-Id/i);
      assert.match(reply.headers["Access-Control-Expose-Headers"] ?? "", /WWW-Authenticate/i);
      assert.equal(reply.headers["Vary"], "Origin");
      assert.equal(reply.headers["Access-Control-Allow-Credentials"], undefined);
    }
    for (const origin of ["http://localhost:6274", "https://evil.example"]) {
      assert.deepEqual(corsOf((await handle(call({ origin }))).headers), []);
    }
    assert.deepEqual(corsOf((await handle(call())).headers), []);
  });
});

describe("HTTP server: streams", () => {
  const slowly = (time: number) => async () => (await ms(time), done);

  test("HTTP-22: a reply that takes long opens its stream with a comment, so headers travel " +
    "before the first event (spec basic/transports/streamable-http#receiving-messages)",
    async () => {
    const reply = await probe(slowly(60), { jsonWithinMs: 10 })(call());
    assert.equal(reply.status, 200);
    const sink = read(reply);
    assert.match(sink.text, /^:[^\r\n]*\n\n$/);
    assert.equal(sink.closed, false);
    await until(() => sink.closed);
    assert.deepEqual(sink.text.split("\n\n").slice(1), [`data: ${JSON.stringify(DONE)}`, ""]);
  });

  test("HTTP-23: a stream's headers keep caches, compression and proxies from holding events " +
    "back (spec basic/transports/streamable-http#receiving-messages)", async () => {
    const { headers } = await probe(slowly(20), { jsonWithinMs: 1 })(call());
    assert.deepEqual(headers, { "Content-Type": "text/event-stream",
      "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no" });
  });

  test("a reply that is ready within the time given is JSON, however many turns it took " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const reply = await probe(slowly(20), { jsonWithinMs: 2_000 })(call());
    assert.deepEqual([reply.stream, jsonOf(reply)], [undefined, DONE]);
  });

  test("what is said before the answer opens the stream at once, in order; the response ends it " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const reply = await probe(async ({ lane }) => {
      for (const n of [1, 2]) await lane.notify(progress(n));
      return done;
    }, { jsonWithinMs: 10_000 })(call());
    const sink = read(reply);
    await until(() => sink.closed);
    const events = sink.text.split("\n\n").filter((event) => event !== "" &&
      !event.startsWith(":"));
    assert.deepEqual(events, [progress(1), progress(2), DONE].map(
      (message) => `data: ${JSON.stringify(message)}`));
  });

  test("an error that comes late travels on the stream with status 200 " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const reply = await probe(async ({ lane }) => {
      await lane.notify(progress(1));
      throw new ProtocolError(-32602, "no");
    })(call());
    const sink = read(reply);
    await until(() => sink.closed);
    assert.equal(reply.status, 200);
    assert.match(sink.text,
      /data: \{"jsonrpc":"2.0","id":1,"error":\{"code":-32602,"message":"no"\}\}\n\n$/);
  });

  test("a text with line breaks of every kind stays inside its event " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const text = "a\nb\r\nc\rdata: x\n\nid: 9\u2028";
    const reply = await probe(async ({ lane }) => {
      await lane.notify(progress(1));
      return { content: [{ type: "text", text }] };
    })(call());
    const sink = read(reply);
    await until(() => sink.closed);
    const last = sink.text.split("\n\n").at(-2) ?? "";
    assert.match(last, /^data: /);
    assert.equal((JSON.parse(last.slice(6)) as typeof DONE).result.content[0]?.text, text);
  });

  test("HTTP-24: a silent stream gets a comment at every interval, and none once it has ended " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const timers = () => process.getActiveResourcesInfo().filter(
      (name) => name === "Timeout").length;
    const before = timers();
    const sink = read(await probe(slowly(70), { jsonWithinMs: 1, keepAliveMs: 10 })(call()));
    await until(() => sink.closed);
    assert.equal(timers(), before);
    const comments = sink.text.split("\n\n").filter((event) => event.startsWith(":")).length;
    assert.ok(comments >= 4 && comments <= 9, `${comments} comments`);
    const length = sink.text.length;
    await ms(30);
    assert.equal(sink.text.length, length);
  });

  test("POR-07: the web's own streams, as Bun, Deno and workers serve them, get comments too " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const answer = webHandler(probe(slowly(45), { jsonWithinMs: 1, keepAliveMs: 10 }));
    const response = await answer(web(JSON.stringify(request(CALL, { name: "x" })),
      headersFor(CALL, "x")));
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    const events = (await response.text()).split("\n\n");
    assert.ok(events.filter((event) => event.startsWith(":")).length >= 3);
    assert.equal(events.at(-2), `data: ${JSON.stringify(DONE)}`);
  });

  test("CAN-07: closing the stream of a 2026-07-28 request cancels it, and nothing more is sent " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    let reason: unknown;
    const http = call();
    const sink = read(await probe(async ({ lane }) => {
      await lane.notify(progress(1));
      await new Promise<void>((resolve) => lane.signal.addEventListener("abort", () => resolve()));
      reason = lane.signal.reason;
      await lane.notify(progress(2));
      return done;
    })(http));
    await ms(5);
    const before = sink.text;
    http.leave();
    await until(() => reason !== undefined);
    await ms(5);
    assert.ok(reason instanceof TransportError);
    assert.equal(reason.code, "disconnected");
    assert.equal(sink.text, before);
  });

  test("HTTP-32: the reply to a request whose client has left comes to an end when its handler " +
    "does (spec basic/transports/streamable-http#cancellation)", async () => {
    const http = call();
    const reply = probe(({ lane }) => new Promise((resolve) =>
      lane.signal.addEventListener("abort", () => resolve(done))), { jsonWithinMs: 5_000 })(http);
    await ms(5);
    http.leave();
    assert.notEqual(await within(reply, 500), "pending");
  });

  test("a client that leaves before its stream opens leaves no timer and no writes behind " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    const http = call();
    const reply = probe(slowly(100), { jsonWithinMs: 20, keepAliveMs: 5 })(http);
    await ms(5);
    http.leave();
    const sink = read(await reply);
    await ms(60);
    assert.equal(sink.text, "");
  });

  test("a web request that is aborted cancels its handler " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    const controller = new AbortController();
    let aborted = false;
    const answer = webHandler(probe(({ lane }) => new Promise(
      (resolve) => lane.signal.addEventListener("abort", () => {
      aborted = true;
      resolve(done);
    })), { jsonWithinMs: 5_000 }));
    void answer(web(JSON.stringify(request(CALL, { name: "x" })), headersFor(CALL, "x"),
      { signal: controller.signal }));
    await ms(10);
    controller.abort();
    await until(() => aborted);
  });

  test("a web request that is aborted while its body arrives is cancelled as well " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    const controller = new AbortController();
    let [called, aborted] = [false, false];
    const body = new ReadableStream<Uint8Array>({ async start(stream) {
      await ms(10);
      controller.abort();
      stream.enqueue(new TextEncoder().encode(JSON.stringify(request(CALL, { name: "x" }))));
      stream.close();
    } });
    const reply = webHandler(probe(async ({ lane }) => {
      [called, aborted] = [true, lane.signal.aborted];
      return done;
    }))(web(body, headersFor(CALL, "x"), { signal: controller.signal })).catch(() => undefined);
    await within(reply, 200);
    assert.ok(!called || aborted, "the handler ran for nobody and was not told");
  });

  test("cancelling the body of a web response cancels the request " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    let aborted = false;
    const answer = webHandler(probe(async ({ lane }) => {
      lane.signal.addEventListener("abort", () => (aborted = true));
      await lane.notify(progress(1));
      await ms(30);
      return done;
    }));
    const response = await answer(web(JSON.stringify(request(CALL, { name: "x" })),
      headersFor(CALL, "x")));
    await response.body?.cancel();
    assert.equal(aborted, true);
    await ms(40); // the handler comes back and must not write to the closed stream
  });
});

describe("HTTP server: a slow reader", () => {
  const BIG = "x".repeat(40_000);
  const said = (n: number) => ({ ...progress(n), params: { progressToken: "p", progress: n,
    message: BIG } });
  const ask = (handle: HttpHandler) =>
    webHandler(handle)(web(JSON.stringify(request(CALL, { name: "x" })), headersFor(CALL, "x")));
  /** A handler whose stream is open before it goes on. */
  const streaming = (run: (context: Context) => Promise<object>, options?: HttpOptions) =>
    probe(async (context) => {
    await context.lane.notify(progress(0));
    await ms(2);
    return run(context);
  }, options);
  /** The events of a stream; undefined when it does not end in half a second. */
  async function drain(response: Response): Promise<string[] | undefined> {
    const reader = (response.body ?? assert.fail("no stream")).getReader();
    const [chunks, end]: [Uint8Array[], number] = [[], performance.now() + 500];
    for (;;) {
      const next = await within(reader.read(), Math.max(0, end - performance.now()));
      if (next === "pending") return void reader.cancel();
      if (next.done) break;
      chunks.push(next.value);
    }
    return Buffer.concat(chunks).toString().split("\n\n").filter(
      (event) => event.startsWith("data: "));
  }

  test("holds its own sender back: notify gives a promise until it reads " +
    "(engineering)", async () => {
    let sent = 0;
    const response = await ask(streaming(async ({ lane }) => {
      for (let n = 1; n <= 20; n++) {
        await lane.notify(said(n));
        sent = n;
      }
      return done;
    }));
    await ms(20);
    assert.ok(sent < 8, `${sent} notifications were not held back`);
    assert.equal((await drain(response))?.length, 22);
    assert.equal(sent, 20);
  });

  test("that reads again releases every sender that waits, not the last alone " +
    "(engineering)", async () => {
    let released = 0;
    const response = await ask(streaming(async ({ lane }) => {
      await Promise.all([1, 2, 3, 4].map(async (n) => {
        await lane.notify(said(n));
        released++;
      }));
      return done;
    }));
    await ms(10);
    const events = await drain(response);
    assert.deepEqual([released, events?.length], [4, 6]);
  });

  test("does not lose its sender to a keep-alive comment (engineering)", async () => {
    const response = await ask(streaming(async ({ lane }) => {
      for (let n = 1; n <= 4; n++) await lane.notify(said(n));
      return done;
    }, { keepAliveMs: 5 }));
    await ms(40);
    assert.equal((await drain(response))?.length, 6);
  });

  test("that leaves releases the sender that waits for it " +
    "(spec basic/transports/streamable-http#cancellation)", async () => {
    let settled = false;
    const response = await ask(streaming(async ({ lane }) => {
      for (let n = 1; n <= 20; n++) await lane.notify(said(n));
      settled = true;
      return done;
    }));
    await ms(10);
    await response.body?.cancel();
    await ms(20);
    assert.equal(settled, true, "the handler waits for ever");
  });

  test("makes notify throw when more than the limit waits for it, and is answered all the same " +
    "(engineering)", async () => {
    let [reason, sent]: [unknown, number] = [undefined, 0];
    const response = await ask(streaming(async ({ lane }) => {
      try {
        for (; sent < 50; sent++) {
          void lane.notify(said(sent));
          await ms(0);
        }
      } catch (error) {
        reason = error;
      }
      return done;
    }, { maxBody: 400_000 }));
    await until(() => reason !== undefined);
    assert.ok(reason instanceof TransportError);
    assert.equal(reason.code, "overflow");
    assert.ok(sent > 8 && sent < 16, `${sent} were taken`);
    const events = await drain(response);
    assert.ok(events !== undefined, "the stream was not ended");
    assert.match(events.at(-1) ?? "", /"result"/);
  });

  test("makes notify throw as well when its stream has not been taken up at all " +
    "(engineering)", async () => {
    let reason: unknown;
    await probe(async ({ lane }) => {
      try {
        for (let n = 0; n < 50; n++) void lane.notify(said(n));
      } catch (error) {
        reason = error;
      }
      return done;
    }, { maxBody: 400_000 })(call());
    await until(() => reason !== undefined);
    assert.equal((reason as TransportError).code, "overflow");
  });

  test("does not hold back another reader's reply (engineering)", async () => {
    const handle = probe(async ({ lane, request }) => {
      if (request.id === 1) for (let n = 1; n <= 20; n++) await lane.notify(said(n));
      return done;
    });
    const slow = await ask(handle);
    assert.notEqual(await within(handle(post(CALL, { name: "x" }, {}, 2)), 200), "pending");
    await slow.body?.cancel();
  });
});

describe("HTTP client", () => {
  const URL = "http://mcp.example/mcp";
  const tool = (properties: object, name = "sql") => ({ name,
    inputSchema: { type: "object", properties } });
  /** A server that offers tools and says "done" to every call. */
  const offering = (...tools: unknown[]) => fakeFetch((_, { id, method }) => jsonResponse(
    resultOf(id, method === "tools/list" ? { tools, ttlMs: 0, cacheScope: "public" } : done)));
  const stream = (text: string, type = "text/event-stream") =>
    new Response(text, { headers: { "content-type": type } });
  const event = (message: unknown) => `data: ${JSON.stringify(message)}\n\n`;

  test("each message is a POST of its own with both types in Accept and the metadata headers " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const fetched = offering();
    const exchange = connectHttp(URL, { fetch: fetched });
    const asked = request("tools/list", {}, 5);
    assert.deepEqual(await exchange(asked, lane()), resultOf(
      5, { tools: [], ttlMs: 0, cacheScope: "public" }));
    const [{ request: sent, body }] = fetched.asked as [typeof fetched.asked[0]];
    assert.deepEqual([sent.method, sent.url, body], ["POST", URL, asked]);
    const names = ["accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name",
      "mcp-session-id"];
    assert.deepEqual(names.map((name) => sent.headers.get(name)),
      ["application/json, text/event-stream", "application/json", "2026-07-28", "tools/list", null,
        null]);
  });

  test("HDR-13: the version header is that of the very message it travels with " +
    "(spec basic/transports/streamable-http#protocol-version-header)", async () => {
    const fetched = offering();
    const exchange = connectHttp(URL, { fetch: fetched });
    for (const version of ["2026-07-28", "2030-01-01", "2026-07-28"]) {
      const _meta = { ...META, "io.modelcontextprotocol/protocolVersion": version };
      await exchange({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } }, lane());
      assert.equal(fetched.asked.at(-1)?.request.headers.get("mcp-protocol-version"), version);
    }
  });

  test("Mcp-Name repeats the name or the uri " +
    "(spec basic/transports/streamable-http#client-behavior)", async () => {
    const fetched = offering();
    const exchange = connectHttp(URL, { fetch: fetched, mirrors: { "tasks/get": "taskId" } });
    const named: [string, object, string | null][] = [["tools/call", { name: "x" }, "x"],
      ["prompts/get", { name: "p" }, "p"], ["resources/read", { uri: "file:///a b" },
        "file:///a b"],
      ["tasks/get", { taskId: "t" }, "t"], ["prompts/list", {}, null]];
    for (const [method, params, name] of named) {
      await exchange(request(method, params), lane());
      assert.equal(fetched.asked.at(-1)?.request.headers.get("mcp-name"), name, method);
    }
  });

  test("HDR-10: a name beyond ASCII, even one that Latin-1 could carry, is sent in Base64 " +
    "(spec basic/transports/streamable-http#value-encoding)", async () => {
    const fetched = offering();
    await connectHttp(URL, { fetch: fetched })(request(CALL, { name: "café" }), lane());
    assert.equal(fetched.asked[0]?.request.headers.get("mcp-name"), "=?base64?Y2Fmw6k=?=");
  });

  const values: [unknown, string, string | null][] = [
    ["us-west1", "string", "us-west1"], [42, "integer", "42"], [-7, "integer", "-7"],
      [true, "boolean", "true"],
    [false, "boolean", "false"], [null, "string", null], [undefined, "string", null],
    ["Hello, 世界", "string", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    ["=?base64?literal?=", "string", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    [" padded ", "string", "=?base64?IHBhZGRlZCA=?="], [
      "line1\nline2", "string", "=?base64?bGluZTEKbGluZTI=?="],
  ];
  for (const [value, type, header] of values) {
    test(`HDR-07: the argument ${JSON.stringify(value)} travels as ${header ?? "no header"} ` +
      `(spec basic/transports/streamable-http#value-encoding)`, async () => {
      const fetched = offering(tool({ region: { type, "x-mcp-header": "Region" } }));
      const exchange = connectHttp(URL, { fetch: fetched });
      await exchange(request("tools/list"), lane());
      await exchange(request(CALL, { name: "sql", arguments: { region: value } }), lane());
      assert.equal(fetched.asked[1]?.request.headers.get("mcp-param-region"), header);
    });
  }

  test("HDR-07: an argument that is the empty string gets through " +
    "(spec basic/transports/streamable-http#value-encoding)", async () => {
    const fetched = offering(tool({ region: { type: "string", "x-mcp-header": "Region" } }));
    const exchange = connectHttp(URL, { fetch: fetched });
    await exchange(request("tools/list"), lane());
    await exchange(request(CALL, { name: "sql", arguments: { region: "" } }), lane());
    const sent = fetched.asked[1]?.request.headers.get("mcp-param-region");
    assert.ok(sent === "" || sent === "=?base64??=", String(sent));
  });

  test("an annotated argument is read at the exact path of its property " +
    "(spec basic/transports/streamable-http#schema-extension)", async () => {
    const fetched = offering(tool({ at: { type: "object", properties: {
      zone: { type: "string", "x-mcp-header": "Zone" } } } }));
    const exchange = connectHttp(URL, { fetch: fetched });
    await exchange(request("tools/list"), lane());
    for (const [args, header] of [[{ at: { zone: "a" }, zone: "b" }, "a"], [{ zone: "b" }, null],
      [{ at: [] }, null]] as const) {
      await exchange(request(CALL, { name: "sql", arguments: args }), lane());
      assert.equal(fetched.asked.at(-1)?.request.headers.get("mcp-param-zone"), header);
    }
  });

  test("a tool with a wrong annotation is left out and named in a warning, the others stay " +
    "(spec basic/transports/streamable-http#schema-extension)", async () => {
    const wrong: object[] = [
      { a: { type: "string", "x-mcp-header": "" } }, { a: { type: "string",
        "x-mcp-header": "a b" } },
      { a: { type: "string", "x-mcp-header": "a\r\nb" } },
        { a: { type: "number", "x-mcp-header": "A" } },
      { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } },
      { a: { anyOf: [{ type: "string", "x-mcp-header": "A" }] } },
        { a: { type: "object", "x-mcp-header": "A" } },
      { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } },
    ];
    const warnings: string[] = [];
    const tools = [...wrong.map((properties, n) => tool(properties, `bad${n}`)),
      tool({ a: { type: "string" } }, "good")];
    const answer = await connectHttp(URL, { fetch: offering(...tools), warn: (text) =>
      void warnings.push(text) })(
      request("tools/list"), lane());
    assert.deepEqual(resultIn<{ tools: { name: string }[] }>(answer).tools.map(({ name }) => name),
      ["good"]);
    assert.equal(warnings.length, wrong.length);
    warnings.forEach((text, n) => assert.match(text, new RegExp(`"bad${n}"`)));
  });

  test("after -32020 a call lists the tools again, and retries once with what it learnt " +
    "(spec basic/transports/streamable-http#client-behavior)", async () => {
    const fetched = fakeFetch(({ headers }, { id, method }) => method === "tools/list"
      ? jsonResponse(resultOf(id, { tools: [tool({ region: { type: "string",
        "x-mcp-header": "Region" } })] }))
      : headers.has("mcp-param-region") ? jsonResponse(resultOf(id, done))
      : jsonResponse({ jsonrpc: "2.0", id, error: { code: -32020, message: "Header mismatch" } },
        400));
    const exchange = connectHttp(URL, { fetch: fetched });
    const answer = await exchange(request(CALL, { name: "sql", arguments: { region: "eu" } }, 3),
      lane());
    assert.deepEqual(answer, resultOf(3, done));
    assert.deepEqual(fetched.asked.map(({ body }) => body.method), [CALL, "tools/list", CALL]);
    const stubborn = fakeFetch((_, { id, method }) => jsonResponse(method === "tools/list"
      ? resultOf(id, { tools: [] }) : { jsonrpc: "2.0", id, error: {
        code: -32020, message: "no" } }));
    const refused = await connectHttp(URL, { fetch: stubborn })(
      request(CALL, { name: "sql" }), lane());
    assert.deepEqual([refusalIn(refused), stubborn.asked.length], [-32020, 3]);
  });

  test("HTTP-06: a reply is understood by its media type, whatever the case and parameters " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const answer = resultOf(1, done);
    for (const response of [stream(event(answer), "text/event-stream;charset=utf-8"),
      stream(event(answer), "Text/Event-Stream"),
      new Response(JSON.stringify(answer), { headers: { "content-type": "Application/Json" } }),
      new Response(JSON.stringify(answer), { headers: { "content-type": "application/json; " +
        "charset=utf-8" } })]) {
      assert.deepEqual(await connectHttp(URL, { fetch: fakeFetch(() => response) })(
        request(CALL), lane()), answer);
    }
  });

  test("a stream gives its notifications to the call, then its answer; comments and empty events " +
    "are nothing (spec basic/transports/streamable-http#receiving-messages)", async () => {
    const text = `: open\r\n\r\nid: 1\ndata:\n\n${event(progress(1))}: ` +
      `ping\n\n${event(progress(2))}${event(resultOf(1, done))}`;
    const caller = lane();
    const answer = await connectHttp(URL, { fetch: fakeFetch(() => stream(text)) })(
      request(CALL), caller);
    assert.deepEqual(answer, resultOf(1, done));
    assert.deepEqual(caller.said, [progress(1), progress(2)]);
  });

  test("the answer ends the call though the server keeps the stream open " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event(resultOf(1, done)))),
      cancel() { cancelled = true; },
    });
    const response = new Response(body, { headers: { "content-type": "text/event-stream" } });
    const answer = connectHttp(URL, { fetch: fakeFetch(() => response) })(request(CALL), lane());
    assert.deepEqual(await within(answer, 500), resultOf(1, done));
    await until(() => cancelled);
  });

  test("a request on a stream is not answered and stops nothing " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const warnings: string[] = [];
    const text = event({ jsonrpc: "2.0", id: 9, method: "roots/list" }) + event(resultOf(1, done));
    const fetched = fakeFetch(() => stream(text));
    const exchange = connectHttp(URL, { fetch: fetched, warn: (warning) =>
      void warnings.push(warning) });
    assert.deepEqual(await exchange(request(CALL), lane()), resultOf(1, done));
    assert.equal(fetched.asked.length, 1);
    assert.match(warnings.join(), /roots\/list/);
  });

  test("an error is an answer whatever its status, also without an id " +
    "(spec basic#error-responses)", async () => {
    for (const [status, code, id] of [[400, -32022, 1], [404, -32601, 1], [200, -32602, 1],
      [400, -32700, undefined]] as const) {
      const error = { jsonrpc: "2.0", ...(id && { id }), error: { code, message: "no" } };
      const answer = await connectHttp(URL, { fetch: fakeFetch(
        () => jsonResponse(error, status)) })(request("a/b"), lane());
      assert.deepEqual(answer, error);
    }
  });

  test("HDR-14: -32601 with status 404 refuses that call alone " +
    "(spec basic/transports/streamable-http#protocol-version-header)", async () => {
    const fetched = fakeFetch((_, { id, method }) => method === "made/up"
      ? jsonResponse({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } },
        404)
      : jsonResponse(resultOf(id, done)));
    const exchange = connectHttp(URL, { fetch: fetched });
    assert.equal(refusalIn(await exchange(request("made/up"), lane())), -32601);
    assert.deepEqual(await exchange(request(CALL, { name: "x" }, 2), lane()), resultOf(2, done));
    assert.deepEqual(fetched.asked.map(({ body }) => body.method), ["made/up", CALL]);
  });

  const faults: [string, () => Response | Promise<Response>, string][] = [
    ["a page of HTML", () => new Response("<html>", { status: 404,
      headers: { "content-type": "text/html" } }), "http"],
    ["an empty 500", () => new Response(null, { status: 500 }), "http"],
    ["a 202 to a request", () => new Response(null, { status: 202 }), "http"],
    ["JSON that is no message", () => jsonResponse({ error: "unauthorized" }, 401), "unreadable"],
    ["an answer to another request", () => jsonResponse(resultOf(99)), "http"],
    ["a stream that ends without an answer", () => stream(event(progress(1))), "closed"],
    ["a stream with an unreadable event", () => stream("data: {oops\n\n"), "unreadable"],
    ["a connection refused", () => Promise.reject(new TypeError(
      "fetch failed", { cause: new Error("ECONNREFUSED") })), "unreachable"],
    ["a reply past the limit", () => jsonResponse({ ...resultOf(1), pad: "x".repeat(2000) }),
      "overflow"],
    ["an event past the limit", () => stream(event({ ...resultOf(1), pad: "x".repeat(2000) })),
      "overflow"],
  ];
  for (const [what, answer, code] of faults) {
    test(`${what} is a TransportError "${code}", never an answer (engineering)`, async () => {
      const exchange = connectHttp(URL, { fetch: fakeFetch(answer), limit: 1000 });
      await assert.rejects(exchange(request(CALL), lane()), (error: unknown) => {
        assert.ok(error instanceof TransportError);
        assert.equal(error.code, code);
        return true;
      });
    });
  }

  test("a redirect is not followed: it could carry the call to another host " +
    "(engineering)", async () => {
    const fetched = fakeFetch(() => new Response(null, { status: 307,
      headers: { location: "http://evil.example/" } }));
    await assert.rejects(connectHttp(URL, { fetch: fetched })(request(CALL), lane()),
      TransportError);
    assert.deepEqual(fetched.asked.map(({ redirect }) => redirect), ["manual"]);
  });

  test("CAN-08: an aborted call rejects at once and sends nothing more, though the server never " +
    "answers (spec basic/patterns/cancellation#transport-specific-cancellation)", async () => {
    const controller = new AbortController();
    const fetched = fakeFetch(() => new Promise<Response>(() => {}));
    const answer = connectHttp(URL, { fetch: fetched })(request(CALL), lane(controller.signal));
    await ms(5);
    const start = performance.now();
    controller.abort(new TransportError("cancelled", "enough"));
    await assert.rejects(answer, { code: "cancelled", message: "enough" });
    assert.ok(performance.now() - start < 50);
    assert.equal(fetched.asked.length, 1);
    assert.equal(fetched.asked[0]?.request.signal.aborted, true);
  });

  test("aborting a call closes the stream of its reply: that is the cancellation " +
    "(spec basic/patterns/cancellation#transport-specific-cancellation)", async () => {
    const controller = new AbortController();
    const body = new ReadableStream<Uint8Array>({ start(stream) {
      stream.enqueue(new TextEncoder().encode(event(progress(1))));
      controller.signal.addEventListener("abort", () => stream.error(controller.signal.reason));
        // as fetch does
    } });
    const caller = lane(controller.signal);
    const fetched = fakeFetch(() => new Response(body, { headers: {
      "content-type": "text/event-stream" } }));
    const answer = connectHttp(URL, { fetch: fetched })(request(CALL), caller);
    await until(() => caller.said.length === 1);
    controller.abort();
    await assert.rejects(answer, { name: "TransportError", code: "cancelled" });
  });

  test("SEC-18: neither errors nor warnings show a header of ours or a raw control character of " +
    "theirs (engineering)", async () => {
    const said: string[] = [];
    const page = "denied\r\nINFO fake \u001b[31m";
    const options = { headers: { Authorization: "Bearer s3cret" }, warn: (text: string) =>
      void said.push(text) };
    const replies = [() => new Response(page, { status: 403, headers: {
      "content-type": "text/plain" } }),
      () => stream(event({ jsonrpc: "2.0", id: "\u001b[31m\r\nx",
        result: { resultType: "complete" } })),
      () => stream(event({ jsonrpc: "2.0", id: 1, method: "x\u001b[31m\r\nINFO fake" })),
      () => jsonResponse(resultOf(1, { tools: [tool({ a: { type: "number",
        "x-mcp-header": "\u001b[31m" } }, page)] })),
      () => Promise.reject(new TypeError("fetch failed"))];
    for (const reply of replies) {
      const exchange = connectHttp(URL, { fetch: fakeFetch(reply), ...options });
      await exchange(request("tools/list"), lane()).catch(
        (error: Error) => said.push(error.message));
    }
    assert.ok(said.length >= replies.length);
    for (const text of said) {
      assert.doesNotMatch(text, /s3cret/);
      assert.doesNotMatch(text, /[\u0000-\u001f\u007f]/, JSON.stringify(text));
    }
  });

  test("a listener that throws fails its call, and is not taken for a server that cannot be " +
    "reached (engineering)", async () => {
    const text = event(progress(1)) + event(resultOf(1, done));
    const call = connectHttp(URL, { fetch: fakeFetch(() => stream(text)) })(request(CALL),
      { signal: new AbortController().signal, notify() { throw new Error("mine"); } });
    await assert.rejects(call, (error: Error & { code?: string }) => error.message === "mine" ||
      error.code === "usage");
  });

  test("headers given to the client go with every request and win over its own " +
    "(engineering)", async () => {
    const fetched = offering();
    const exchange = connectHttp(URL, { fetch: fetched, headers: {
      "X-Own": "1", "accept": "application/json" } });
    await exchange(request("tools/list"), lane());
    assert.equal(fetched.asked[0]?.request.headers.get("x-own"), "1");
    assert.equal(fetched.asked[0]?.request.headers.get("accept"), "application/json");
  });
});

// Cases of kind http and cancellation that are elsewhere: those that need sockets in part7, those
// of the client in part4, those of earlier revisions in part5-*.
