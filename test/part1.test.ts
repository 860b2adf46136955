// Part I: messages as values, with no byte in sight.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  CLIENT_CAPABILITIES, PROTOCOL_VERSION, ProtocolError, caller, discover, dispatch, errorResponse,
  firstCall, isObject, isRequestId, metaFault, readMessage,
  type Context, type Exchange, type Feature, type Handler, type JSONRPCNotification,
    type JSONRPCRequest, type Lane,
} from "../mcp-raw.ts";
import { INFO, META, callText, coded, toy } from "./kit.ts";

/** What is thrown, as the wire would have it. */
function thrown(act: () => unknown): { code: number; id: unknown; data?: unknown } {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof ProtocolError && error.message !== "", String(error));
    return { code: error.code, id: error.id, ...(error.data === undefined ? {}
      : { data: error.data }) };
  }
  assert.fail("nothing was thrown");
}
const read = (text: string) => readMessage(JSON.parse(text));
const lane: Lane = { signal: new AbortController().signal, notify() {} };
const ask = async (text: string, exchange: Exchange = toy().exchange): Promise<any> =>
  coded(await exchange(read(text) as JSONRPCRequest, lane)); // the texts below are requests
/** A literal request for a method that the test itself defines. */
const CALL = `{"jsonrpc":"2.0","id":1,"method":"m","params":{${META}}}`;
const info = { name: "toy", version: "1" };
const only = (method: string, handler: Feature["methods"][string],
  report?: (error: unknown, method: string) => void) =>
  dispatch(info, [{ methods: { [method]: handler } }], report);

describe("Messages", () => {
  test("an object is neither null nor an array, and a request id is a string or an integer", () => {
    assert.deepEqual([{}, Object.create(null), null, [], "x", 1, undefined].map(isObject),
      [true, true, false, false, false, false, false]);
    assert.deepEqual(["", "1", 0, -1, 1e3, 1.5, NaN, Infinity, null, true, {},
      undefined].map(isRequestId),
      [true, true, true, true, true, false, false, false, false, false, false, false]);
  });

  test("each of the four shapes is read as it came, unknown members included " +
    "(spec basic#messages)", () => {
    for (const text of [
      '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      '{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{"x":[1]},"extra":null}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled"}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
      '{"jsonrpc":"2.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x","data":[1]}}',
    ]) assert.deepEqual(read(text), JSON.parse(text));
  });

  test("shapes are told apart by the keys that are there: id 0, id \"\" and method \"\" are " +
    "values (spec basic#requests)", () => {
    for (const text of ['{"jsonrpc":"2.0","id":0,"method":""}',
      '{"jsonrpc":"2.0","id":"","method":"x"}',
      '{"jsonrpc":"2.0","id":0,"result":{}}',
        '{"jsonrpc":"2.0","id":"","error":{"code":0,"message":""}}',
    ]) assert.deepEqual(read(text), JSON.parse(text));
  });

  test("a request id is a string or an integer and never null (spec basic#requests)", () => {
    for (const id of ["1.5", "true", "false", "null", "{}", "[]", "1e400"]) {
      assert.deepEqual(thrown(() => read(`{"jsonrpc":"2.0","id":${id},"method":"x"}`)),
        { code: -32600, id: undefined });
    }
  });

  test("a notification includes no id (spec basic#notifications)", () => {
    assert.deepEqual(thrown(() =>
      read('{"jsonrpc":"2.0","id":3,"method":"notifications/cancelled"}')),
      { code: -32600, id: 3 });
    assert.deepEqual(thrown(() =>
      read('{"jsonrpc":"2.0","id":null,"method":"notifications/cancelled"}')),
      { code: -32600, id: undefined });
  });

  test("an error response may lack its id, when the request could not be read " +
    "(spec basic#error-responses)", () => {
    assert.deepEqual(read('{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}'),
      { jsonrpc: "2.0", error: { code: -32700, message: "x" } });
  });

  test("an error code is an integer (spec basic#error-responses)", () => {
    for (const error of ['{"code":1.5,"message":"x"}', '{"code":"1","message":"x"}',
      '{"message":"x"}', "null", '"x"', "[]"]) {
      assert.equal(thrown(() => read(`{"jsonrpc":"2.0","id":1,"error":${error}}`)).code, -32600,
        error);
    }
  });

  test("an error has a message, which is a string (spec basic#error-responses)", () => {
    for (const error of ['{"code":1}', '{"code":1,"message":null}', '{"code":1,"message":{}}']) {
      assert.equal(thrown(() => read(`{"jsonrpc":"2.0","id":1,"error":${error}}`)).code, -32600,
        error);
    }
  });

  test("a result response includes an id and a result, which is an object " +
    "(spec basic#result-responses)", () => {
    for (const rest of ['"id":1,"result":null', '"id":1,"result":[]', '"id":1,"result":"x"',
      '"result":{}',
      '"id":null,"result":{}', '"id":1.5,"result":{}']) {
      assert.equal(thrown(() => read(`{"jsonrpc":"2.0",${rest}}`)).code, -32600, rest);
    }
  });

  test("what is wrong with an answer is marked as such, since an answer gets no answer " +
    "(spec basic#responses)", () => {
    for (const rest of ['"id":1,"result":null', '"result":{}', '"id":1,"error":{}']) {
      assert.equal(thrown(() => read(`{"jsonrpc":"2.0",${rest}}`)).id, null, rest);
    }
  });

  test("so is a notification whose params are wrong, since it gets no answer either " +
    "(spec basic#notifications)", () => {
    const text = '{"jsonrpc":"2.0","method":"notifications/x","params":[]}';
    assert.deepEqual(thrown(() => read(text)), { code: -32602, id: null });
  });

  test("params is an object if it is there, else -32602 under the id of the request " +
    "(spec basic#requests)", () => {
    for (const params of ["null", "[]", "1", '"x"', "false"]) {
      assert.deepEqual(thrown(() =>
        read(`{"jsonrpc":"2.0","id":1,"method":"x","params":${params}}`)), { code: -32602, id: 1 });
    }
  });

  test("whatever has none of the four shapes is -32600, with the id where there is one " +
    "(JSON-RPC 2.0 §5.1)", () => {
    for (const text of ["null", "42", '"x"', "true", "{}", "[]",
      '[{"jsonrpc":"2.0","id":1,"method":"x"}]',
      '{"id":1}', '{"jsonrpc":"2.0"}']) {
      assert.equal(thrown(() => read(text)).code, -32600, text);
    }
    for (const rest of ['"jsonrpc":"1.0","method":"x"', '"jsonrpc":2.0,"method":"x"',
      '"method":"x"', '"jsonrpc":"2.0"',
      '"jsonrpc":"2.0","method":123', '"jsonrpc":"2.0","method":null',
        '"jsonrpc":"2.0","Method":"x"']) {
      assert.deepEqual(thrown(() => read(`{"id":1,${rest}}`)), { code: -32600, id: 1 }, rest);
    }
  });
});

describe("Errors and parsing", () => {
  test("of a key that is given twice the last value counts, everywhere (RFC 8259 §4)", () => {
    assert.deepEqual(read('{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}'),
      { jsonrpc: "2.0", id: 2, method: "b" });
  });

  test("an error response repeats code, message and data, and the id if one was read " +
    "(spec basic#error-responses)", () => {
    const error = new ProtocolError(-32602, "no", { field: "a" });
    assert.deepEqual(errorResponse(0, error),
      { jsonrpc: "2.0", id: 0, error: { code: -32602, message: "no", data: { field: "a" } } });
    assert.deepEqual(errorResponse(undefined, new ProtocolError(-32700, "no")),
      { jsonrpc: "2.0", error: { code: -32700, message: "no" } });
  });

  test("of any other error the peer learns only that it happened: -32603 " +
    "(spec basic#error-codes)", () => {
    for (const error of [new Error("/home/me/secret"), "secret", undefined,
      { code: 1, message: "secret" }]) {
      assert.deepEqual(errorResponse("a", error),
        { jsonrpc: "2.0", id: "a", error: { code: -32603, message: "Internal error" } });
    }
  });
});

describe("Versions and _meta", () => {
  const fault = (meta?: string) => {
    const params = meta === undefined ? "" : `,"params":{"_meta":${meta}}`;
    const text = `{"jsonrpc":"2.0","id":1,"method":"x"${params}}`;
    const found = metaFault(read(text) as JSONRPCRequest);
    return found && { code: found.code, data: found.data };
  };
  const [version, capabilities] = [`"${PROTOCOL_VERSION}":"2026-07-28"`,
    `"${CLIENT_CAPABILITIES}":{}`];

  test("the two required keys suffice, and whatever else _meta holds is nobody's business here " +
    "(spec basic#meta)", () => {
    for (const more of ["", ',"com.example/a":1', ',"progressToken":null', ',"traceparent":7',
      ',"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1","future":[]}',
        ',"__proto__":{"a":1}']) {
      assert.equal(fault(`{${version},${capabilities}${more}}`), undefined, more);
    }
  });

  test("a request without a required key is malformed: -32602 (spec basic#meta)", () => {
    for (const meta of [undefined, "{}", "null", "[]", '"x"', `{${version}}`, `{${capabilities}}`,
      `{${version},"${CLIENT_CAPABILITIES}":null}`, `{${version},"${CLIENT_CAPABILITIES}":[]}`,
      `{${version},"${CLIENT_CAPABILITIES}":"all"}`,
        `{"${PROTOCOL_VERSION}":20260728,${capabilities}}`,
      `{"${PROTOCOL_VERSION}":null,${capabilities}}`,
        `{"__proto__":{${version},${capabilities}}}`]) {
      assert.deepEqual(fault(meta), { code: -32602, data: { supported: ["2026-07-28"] } },
        `${meta}`);
    }
  });

  test("the error about a malformed _meta names the key that is at fault (spec basic#meta)", () => {
    for (const [meta, key] of [["{}", PROTOCOL_VERSION], [`{${capabilities}}`, PROTOCOL_VERSION],
      [`{${version}}`, CLIENT_CAPABILITIES], [`{"${PROTOCOL_VERSION}":20260728,${capabilities}}`,
        PROTOCOL_VERSION]] as const) {
      const message = metaFault({ jsonrpc: "2.0", id: 1, method: "x",
        params: { _meta: JSON.parse(meta) } })?.message ?? "";
      assert.ok(message.includes(key), `${meta}: ${message}`);
    }
  });

  test("a version that is not implemented is -32022 with what is supported and what was " +
    "requested (spec basic/versioning#protocol-version-negotiation)", () => {
    for (const requested of ["1900-01-01", "2025-11-25", "2030-01-01", "", "2026-07-28 "]) {
      const data = { supported: ["2026-07-28"], requested };
      const named = `"${PROTOCOL_VERSION}":${JSON.stringify(requested)}`;
      assert.deepEqual(fault(`{${named},${capabilities}}`), { code: -32022, data });
      assert.deepEqual(fault(`{"${PROTOCOL_VERSION}":${JSON.stringify(requested)}}`),
        { code: -32022, data });
    }
  });
});

describe("Handlers", () => {
  test("a result carries the id of its request, a resultType and who answered " +
    "(spec basic#result-responses)", async () => {
    for (const id of [0, "", "1", -7]) {
      assert.deepEqual(await ask(CALL.replace('"id":1', `"id":${JSON.stringify(id)}`),
        only("m", () => ({ a: 1 }))),
      { jsonrpc: "2.0", id, result: { resultType: "complete", a: 1, _meta: INFO } });
    }
  });

  test("a handler's own resultType and _meta are kept, and serverInfo stands beside them " +
    "(spec basic#resulttype)", async () => {
    const exchange = only("m", async () => ({ resultType: "input_required",
      _meta: { "com.example/a": 1 } }));
    assert.deepEqual(await ask(CALL,
      exchange),
      { jsonrpc: "2.0", id: 1, result: { resultType: "input_required",
        _meta: { ...INFO, "com.example/a": 1 } } });
  });

  test("a handler gets the params as they came, the request and the lane " +
    "(spec basic/patterns#request-and-response)", async () => {
    const seen: unknown[] = [];
    const text = CALL.replace('"params":{', '"params":{"a":{"__proto__":1},');
    const request = read(text) as JSONRPCRequest;
    await only("m", (params, context) => { seen.push(params, context.request,
      context.lane); return {}; })(request, lane);
    assert.deepEqual(seen, [request.params, request, lane]);
  });

  test("what features add to the context is there for every handler " +
    "(spec basic/patterns#request-and-response)", async () => {
    interface Greeting { greet(): unknown }
    const exchange = dispatch(info, [
      { methods: { m: (_, context) => ({ said: (context as Context & Greeting).greet() }) } },
      { methods: {},
        context: { greet(this: Context) {
          return `hello ${this.request.id}`;
        } } as Partial<Context> },
    ]);
    assert.equal((await ask(`{"jsonrpc":"2.0","id":5,"method":"m","params":{${META}}}`,
      exchange)).result.said, "hello 5");
  });

  test("an unknown method is -32601 under its id, whatever its _meta, and names what is " +
    "supported (spec basic#error-codes)", async () => {
    for (const params of ["", ',"params":{}', `,"params":{${META}}`]) {
      assert.deepEqual(await ask(`{"jsonrpc":"2.0","id":1,"method":"tools/nope"${params}}`),
        { jsonrpc: "2.0", id: 1, error: { code: -32601, message: "..",
          data: { supported: ["2026-07-28"] } } });
    }
  });

  test("a version that is not implemented is -32022 before anything else is said of the method " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const meta = META.replace("2026-07-28", "2030-01-01");
    assert.deepEqual(await ask(`{"jsonrpc":"2.0","id":1,"method":"tools/nope","params":{${meta}}}`),
      { jsonrpc: "2.0", id: 1,
      error: { code: -32022, message: "..", data: { supported: ["2026-07-28"],
        requested: "2030-01-01" } } });
  });

  test("the error to an initialize request names the versions that are supported " +
    "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
  async () => {
    assert.deepEqual(await ask('{"jsonrpc":"2.0","id":0,"method":"initialize",' +
      '"params":{"protocolVersion":"2025-11-25",' +
      '"capabilities":{},"clientInfo":{"name":"old","version":"1"}}}'),
    { jsonrpc: "2.0", id: 0, error: { code: -32601, message: "..",
      data: { supported: ["2026-07-28"] } } });
  });

  test("no request leans on one before it: each must bring its own _meta " +
    "(spec basic#statelessness)", async () => {
    const { exchange, ran } = toy();
    const bare = { jsonrpc: "2.0", id: 2, error: { code: -32602, message: "..",
      data: { supported: ["2026-07-28"] } } };
    await ask(callText("1", "echo"), exchange);
    assert.deepEqual(await ask(callText("2", "echo").replace(META, '"_meta":{}'), exchange), bare);
    assert.deepEqual(ran, [1]);
  });

  test("a feature may wrap every handler, its neighbours' too; the last feature is outermost " +
    "(spec basic/patterns#request-and-response)", async () => {
    const seen: string[] = [];
    const wrap = (name: string) => (next: Handler, method: string): Handler =>
      async (params, context) => {
      seen.push(`${name} ${method}`);
      return { ...await next(params, context), [name]: true };
    };
    const exchange = dispatch(info, [{ methods: { m: () => ({}) }, wrap: wrap("a") },
      { methods: {}, wrap: wrap("b") }]);
    const { result } = await ask(CALL,
      exchange);
    assert.deepEqual(result, { resultType: "complete", a: true, b: true, _meta: INFO });
    await ask('{"jsonrpc":"2.0","id":1,"method":"m"}', exchange); // refused, so nothing to wrap
    assert.deepEqual(seen, ["b m", "a m"]);
  });

  test("a handler that throws a ProtocolError answers with its code, message and data " +
    "(spec basic#error-responses)", async () => {
    const exchange = only("m", () => { throw new ProtocolError(-32602, "no such thing",
      { name: "x" }); });
    assert.deepEqual(await exchange(read(CALL) as JSONRPCRequest, lane),
      { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "no such thing",
        data: { name: "x" } } });
  });

  test("any other exception, a rejection or no result at all is -32603, and the hook alone gets " +
    "the original (spec basic#error-codes)", async () => {
    const secret = new Error("secret");
    const handlers = [() => { throw secret; }, () => Promise.reject(secret), () =>
      undefined as never];
    for (const handler of handlers) {
      const reports: unknown[][] = [];
      assert.deepEqual(await ask(CALL,
        only("m", handler, (...report) => reports.push(report))),
          { jsonrpc: "2.0", id: 1, error: { code: -32603, message: ".." } });
      assert.equal(reports.length, 1);
      assert.equal(reports[0]?.[1], "m");
      if (handler !== handlers[2]) assert.equal(reports[0]?.[0], secret);
    }
  });

  test("a handler may notify ahead of its response, and the lane carries it " +
    "(spec basic/patterns#request-and-response)", async () => {
    const sent: JSONRPCNotification[] = [];
    const note: JSONRPCNotification = { jsonrpc: "2.0", method: "notifications/progress",
      params: { progressToken: 1, progress: 2 } };
    const exchange = only("m", async (_, { lane }) => { await lane.notify(note); return {}; });
    await exchange(read(CALL) as JSONRPCRequest,
      { ...lane, notify: (notification) => { sent.push(notification); } });
    assert.deepEqual(sent, [note]);
  });
});

describe("A first call", () => {
  const found = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {},
    ttlMs: 3_600_000, cacheScope: "public" };

  test("server/discover answers with versions, capabilities, identity and how long that may be " +
    "kept (spec server/discover#response)", async () => {
    const text = '{"jsonrpc":"2.0","id":"discover-1","method":"server/discover",' +
      `"params":{${META}}}`;
    assert.deepEqual(await ask(text, dispatch(info, [discover({ tools: {} } as object)])),
      { jsonrpc: "2.0", id: "discover-1", result: { ...found, capabilities: { tools: {} },
        _meta: INFO } });
    assert.deepEqual(await ask(text, dispatch(info, [discover({}, "Be brief.")])),
      { jsonrpc: "2.0", id: "discover-1", result: { ...found, instructions: "Be brief.",
        _meta: INFO } });
  });

  test("server/discover needs its _meta like any request " +
    "(spec server/discover#request)", async () => {
    assert.deepEqual(await ask('{"jsonrpc":"2.0","id":1,"method":"server/discover"}'),
      { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "..",
        data: { supported: ["2026-07-28"] } } });
  });

  test("a client calls a server with no transport between them " +
    "(spec server/discover)", async () => {
    assert.deepEqual(await firstCall(), { ...found,
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "first", version: "1" } } });
  });

  test("a caller gives every request an id of its own and the required _meta " +
    "(spec basic#meta)", async () => {
    const asked: JSONRPCRequest[] = [];
    const meta = { [PROTOCOL_VERSION]: "2026-07-28", [CLIENT_CAPABILITIES]: {} } as const;
    const call = caller(async (request) => { asked.push(request); return { jsonrpc: "2.0",
      id: request.id, result: { resultType: "complete" } }; }, meta);
    await Promise.all([call("server/discover", {}),
      call("server/discover", { _meta: { "com.example/a": 1 } })]);
    assert.deepEqual(asked, [
      { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta: meta } },
      { jsonrpc: "2.0", id: 2, method: "server/discover",
        params: { _meta: { ...meta, "com.example/a": 1 } } },
    ]);
  });

  test("a caller throws the error that comes back, with its code and data " +
    "(spec basic#error-responses)", async () => {
    const call = caller(dispatch(info, [discover({})]),
      { [PROTOCOL_VERSION]: "1900-01-01", [CLIENT_CAPABILITIES]: {} });
    await assert.rejects(call("server/discover", {}), (error) => error instanceof ProtocolError &&
      error.code === -32022 &&
      assert.deepEqual(error.data, { supported: ["2026-07-28"],
        requested: "1900-01-01" }) === undefined);
  });
});
