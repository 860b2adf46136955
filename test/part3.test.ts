// Part III: what servers offer. A server is assembled from features and called
// as a function; its validator is a small one of this file's own, so that whole
// messages can be asserted here whatever the real one says.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ProtocolError, assemble, base64, blocks, connectHttp, structured, text, tool, toolError, tools,
  type CompileSchema, type Context, type Exchange, type Feature, type ToolDefinition,
    type ToolsOptions,
} from "../mcp-raw.ts";
import { META, fakeFetch, jsonResponse, lane, refusalIn, request, resultIn,
  resultOf } from "./kit-http.ts";

const INFO = { name: "probe", version: "1" };
const SERVER = { "io.modelcontextprotocol/serverInfo": INFO };
const complete = (result: object, id: number | string = 1) =>
  ({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result, _meta: SERVER } });
const failed = (text: string) => complete({ content: [{ type: "text", text }], isError: true });
const refused = (code: number, message: string) => ({ jsonrpc: "2.0", id: 1,
  error: { code, message } });

/** Knows type, properties, required and additionalProperties: false. */
const compile: CompileSchema = (schema) => {
  const { $schema, type, properties = {}, required = [], additionalProperties } = schema as {
    $schema?: string; type?: string; properties?: Record<string, object>; required?: string[];
      additionalProperties?: boolean };
  if ($schema === "unusable") throw new Error("no such dialect");
  const kind = (value: unknown) => Array.isArray(value) ? "array" : value === null ? "null"
    : typeof value;
  return (value) => {
    if (type !== undefined && kind(value) !== type) return [
      { path: "", message: `expected ${type}, got ${kind(value)}` }];
    if (kind(value) !== "object") return undefined;
    const entries = value as Record<string, unknown>;
    const issues = required.filter((name) => !Object.hasOwn(entries, name))
      .map((name) => ({ path: `/${name}`, message: "is required" }));
    for (const [name, inner] of Object.entries(entries)) {
      const found = Object.hasOwn(properties, name) ? compile(properties[name])(inner)
        : additionalProperties === false ? [{ path: "", message: "is not known" }] : undefined;
      issues.push(...(found ?? []).map(({ path, message }) =>
        ({ path: `/${name}${path}`, message })));
    }
    return issues.length > 0 ? issues : undefined;
  };
};

type Loose = Omit<ToolDefinition, "handler"> & { handler?: (args: Record<string, unknown>,
  context: Context) => unknown };
/** A server of these tools; one without a handler says "ok". */
function offer(definitions: readonly Loose[], options: Partial<ToolsOptions> = {}): Exchange {
  const whole = definitions.map((given) => ({ handler: () => text("ok"),
    ...given }) as ToolDefinition);
  return assemble(INFO, [tools(whole, { compile, ...options })]).exchange;
}
const callTool = (server: Exchange, params: object, on = lane()) =>
  server(request("tools/call", params), on);
const OK = complete({ content: [{ type: "text", text: "ok" }] });
const ADD = { name: "add", description: "Adds", inputSchema: { type: "object" as const,
  properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] } };

describe("Results", () => {
  test("each kind of content has the shape of its section (spec server/tools#tool-result)", () => {
    assert.deepEqual(text("hi"), { resultType: "complete", content: [
      { type: "text", text: "hi" }] });
    const all = blocks({ type: "text", text: "t" }, { type: "image", data: "aGk=",
      mimeType: "image/png" },
      { type: "audio", data: "aGk=", mimeType: "audio/wav" },
        { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///a", text: "x" } });
    assert.deepEqual(all, { resultType: "complete", content: [{ type: "text", text: "t" },
      { type: "image", data: "aGk=", mimeType: "image/png" },
        { type: "audio", data: "aGk=", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///a", text: "x" } }] });
  });

  test("a failure that a model can mend is a result with isError " +
    "(spec server/tools#error-handling)", () => {
    assert.deepEqual(toolError("too late"),
      { resultType: "complete", content: [{ type: "text", text: "too late" }], isError: true });
  });

  test("structured content comes with its JSON as text, whatever JSON value it is " +
    "(spec server/tools#structured-content)", () => {
    for (const value of [{ t: 22.5 }, [1, "a"], "s", 7, false, null]) {
      assert.deepEqual(structured(value), { resultType: "complete", structuredContent: value,
        content: [{ type: "text", text: JSON.stringify(value) }] });
    }
  });

  test("bytes become Base64 with the standard alphabet and padding, however many they are (RFC " +
    "4648 §4)", () => {
    assert.equal(base64(new Uint8Array([])), "");
    assert.equal(base64(new Uint8Array([0xfb, 0xff, 0x00])), "+/8A");
    assert.equal(base64(new Uint8Array([0x66])), "Zg==");
    const many = new Uint8Array(300_000).map((_, at) => at % 256);
    assert.equal(base64(many), Buffer.from(many).toString("base64"));
  });
});

describe("Tools: listing", () => {
  test("tools are listed as they were defined, in their order, without what is the server's own " +
    "(spec server/tools#listing-tools)", async () => {
    const full = { ...ADD, title: "Add", icons: [{ src: "https://example.com/i.png",
      mimeType: "image/png", sizes: ["48x48"] }],
      outputSchema: { type: "object" }, annotations: { readOnlyHint: true },
        _meta: { "com.example/x": 1 } };
    const server = offer([{ ...full, name: "z" }, { ...full, name: "a" }, ADD]);
    const expected = complete({ tools: [{ ...full, name: "z" }, { ...full, name: "a" }, ADD],
      ttlMs: 300_000, cacheScope: "public" });
    for (let n = 0; n < 2; n++) {
      assert.deepEqual(JSON.parse(JSON.stringify(await server(request("tools/list"), lane()))),
        expected);
    }
  });

  test("a list says for how long, 0 or more whole milliseconds, and for whom it holds " +
    "(spec server/utilities/caching#time-to-live-ttl-field)", async () => {
    for (const server of [offer([ADD]), offer([ADD], { visible: () => true })]) {
      const result = resultIn<{ ttlMs: number; cacheScope: string }>(
        await server(request("tools/list"), lane()));
      assert.ok(Number.isInteger(result.ttlMs) && result.ttlMs >= 0);
      assert.match(result.cacheScope, /^(public|private)$/);
    }
  });

  test("a cursor that the server never gave is -32602 " +
    "(spec server/utilities/pagination#error-handling)", async () => {
    const response = await offer([ADD])(request("tools/list", { cursor: "made up" }), lane());
    assert.equal(refusalIn(response), -32602);
  });

  test("a server of no tools lists none (spec server/tools#capabilities)", async () => {
    const response = await offer([])(request("tools/list"), lane());
    assert.deepEqual(response, complete({ tools: [], ttlMs: 300_000, cacheScope: "public" }));
  });

  test("SCH-19: a tool without a schema is listed with an object schema that takes nothing " +
    "(spec server/tools#tool)", async () => {
    const server = offer([{ name: "now" }]);
    const result = resultIn<{ tools: unknown[] }>(await server(request("tools/list"), lane()));
    assert.deepEqual(result.tools, [{ name: "now",
      inputSchema: { type: "object", properties: {}, additionalProperties: false } }]);
    assert.deepEqual(await callTool(server, { name: "now" }), OK);
    assert.deepEqual(await callTool(server, { name: "now", arguments: { x: 1 } }),
      failed("Invalid arguments for now: /x: is not known"));
  });

  for (const schema of [true, false, "object", [], { type: "array" }, { properties: {} }]) {
    test(`SCH-19: an inputSchema ${JSON.stringify(schema)} never reaches a client ` +
      `(spec server/tools#tool)`, async () => {
      let server: Exchange;
      try {
        server = offer([{ name: "odd", inputSchema: schema as never }]);
      } catch (error) {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, /odd/);
        return;
      }
      const result = resultIn<{ tools: { inputSchema: { type?: unknown } }[] }>(
        await server(request("tools/list"), lane()));
      assert.equal(result.tools[0]?.inputSchema.type, "object");
    });
  }

  test("SCH-29: a name outside the recommended set is reported, and the tool still answers to it " +
    "exactly (spec server/tools#tool-names)", async () => {
    for (const name of ["ok\n", "a b", "", "x".repeat(129), "a,b", "é"]) {
      const reported: unknown[] = [];
      const server = offer([{ name }], { report: (error) => void reported.push(error) });
      assert.equal(reported.length, 1, JSON.stringify(name));
      assert.ok(reported[0] instanceof TypeError);
      assert.deepEqual(await callTool(server, { name }), OK);
      assert.deepEqual(await callTool(server, { name: `${name} ` }),
        refused(-32602, `Unknown tool: ${name} `));
    }
    for (const name of ["x", "x".repeat(128), "getUser", "DATA_EXPORT_v2", "admin.tools.list",
      "a-b"]) {
      offer([{ name }], { report: (error) => assert.fail(String(error)) });
    }
  });

  test("names are case-sensitive, and two tools with one name are refused when the server is " +
    "made (spec server/tools#tool-names)", async () => {
    const server = offer([{ name: "Add" }, { name: "add" }]);
    assert.deepEqual(await callTool(server, { name: "ADD" }), refused(-32602, "Unknown tool: ADD"));
    assert.throws(() => offer([{ name: "add" }, { name: "add" }]),
      { name: "TypeError", message: /add/ });
  });

  const annotations: [string, object][] = [
    ["is empty", { a: { type: "string", "x-mcp-header": "" } }],
    ["is no token", { a: { type: "string", "x-mcp-header": "a b" } }],
    ["breaks the line", { a: { type: "string", "x-mcp-header": "A\r\nB" } }],
    ["is no string", { a: { type: "string", "x-mcp-header": 1 } }],
    ["is used twice, whatever the case", { a: { type: "string", "x-mcp-header": "A" },
      b: { type: "string", "x-mcp-header": "a" } }],
    ["is on a number", { a: { type: "number", "x-mcp-header": "A" } }],
    ["is on an array", { a: { type: "array", "x-mcp-header": "A" } }],
    ["is on several types", { a: { type: ["string", "null"], "x-mcp-header": "A" } }],
    ["is below items", { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } }],
    ["is below anyOf", { a: { anyOf: [{ type: "string", "x-mcp-header": "A" }] } }],
    ["is below if", { a: { if: { type: "string", "x-mcp-header": "A" } } }],
    ["is below not", { a: { not: { properties: { b: { type: "string",
      "x-mcp-header": "A" } } } } }],
    ["is below additionalProperties", { a: { additionalProperties: {
      type: "string", "x-mcp-header": "A" } } }],
  ];
  for (const [what, properties] of annotations) {
    test(`a tool whose x-mcp-header ${what} is refused when the server is made ` +
      `(spec server/tools#x-mcp-header)`, () => {
      assert.throws(() => offer([{ name: "t", inputSchema: { type: "object", properties } }]),
        TypeError);
    });
  }

  test("x-mcp-header below $defs is refused, inside data and as a property's name it is nothing " +
    "(spec server/tools#x-mcp-header)", () => {
    const schema = (more: object) => ({ name: "t", inputSchema: {
      type: "object" as const, ...more } });
    assert.throws(() => offer([schema({ $defs: { a: { type: "string", "x-mcp-header": "A" } } })]),
      TypeError);
    assert.throws(() => offer([schema({ "x-mcp-header": "A" })]), TypeError);
    offer([schema({ properties: { a: { enum: [{ "x-mcp-header": "" }],
      const: { "x-mcp-header": 1 } } } })]);
    offer([schema({ properties: { "x-mcp-header": { type: "string" } } })]);
  });
});

describe("Tools: calling", () => {
  test("a call runs the handler with the arguments and answers what it gives " +
    "(spec server/tools#calling-tools)", async () => {
    const server = offer([{ ...ADD, handler: ({ a, b }) => text(`${Number(a) + Number(b)}`) }]);
    assert.deepEqual(await callTool(server, { name: "add", arguments: { a: 2, b: 3 } }),
      complete({ content: [{ type: "text", text: "5" }] }));
  });

  test("a handler is given the request and the lane of its call (engineering)", async () => {
    const on = lane();
    let seen: Context | undefined;
    await callTool(offer([{ name: "t", handler: (_, context) => (seen = context, text("ok")) }]),
      { name: "t" }, on);
    assert.equal(seen?.lane, on);
    assert.deepEqual(seen?.request, request("tools/call", { name: "t" }));
  });

  test("SCH-01: names that every object inherits are unknown tools, and can be the names of " +
    "tools (spec server/tools#error-handling)", async () => {
    const inherited = ["toString", "constructor", "__proto__", "hasOwnProperty", "valueOf"];
    for (const name of inherited) {
      assert.deepEqual(await callTool(offer([ADD]), { name }),
        refused(-32602, `Unknown tool: ${name}`));
    }
    const server = offer(inherited.map((name) => ({ name, handler: () => text(name) })));
    for (const name of inherited) {
      assert.deepEqual(await callTool(server, { name }),
        complete({ content: [{ type: "text", text: name }] }));
    }
  });

  test("SCH-26: an unknown tool is a protocol error, -32602, not a result " +
    "(spec server/tools#error-handling)", async () => {
    assert.deepEqual(await callTool(offer([ADD]), { name: "nope" }),
      refused(-32602, "Unknown tool: nope"));
  });

  test("SCH-18: arguments may be left out or null, and are an object otherwise " +
    "(spec server/tools#calling-tools)", async () => {
    const given: unknown[] = [];
    const optional = { name: "list", inputSchema: { type: "object" as const,
      properties: { all: { type: "boolean" } } } };
    const server = offer([{ ...optional, handler: (args) => (given.push(args), text("ok")) }]);
    assert.deepEqual(await callTool(server, { name: "list" }), OK);
    assert.deepEqual(await callTool(server, { name: "list", arguments: null }), OK);
    assert.deepEqual(given, [{}, {}]);
    for (const wrong of [[], "a", 1, false]) {
      const response = await callTool(server, { name: "list", arguments: wrong });
      assert.equal(refusalIn(response), -32602);
    }
    assert.equal(given.length, 2);
  });

  test("a call that names no tool is malformed: -32602 " +
    "(spec server/tools#error-handling)", async () => {
    for (const params of [{}, { name: 5 }, { name: null }, { name: ["add"] },
      { name: { toString: 1 } }]) {
      const response = await callTool(offer([ADD, { name: "5" }, { name: "null" }]), params);
      assert.equal(refusalIn(response), -32602, JSON.stringify(params));
    }
  });

  test("SCH-25: arguments that break the schema are a result with isError that names the place; " +
    "the handler does not run (spec server/tools#error-handling)", async () => {
    const server = offer([{ ...ADD, handler: () => assert.fail("ran") }]);
    assert.deepEqual(await callTool(server, { name: "add", arguments: { a: 1, b: "2" } }),
      failed("Invalid arguments for add: /b: expected number, got string"));
    assert.deepEqual(await callTool(server, { name: "add", arguments: { b: "2" } }),
      failed("Invalid arguments for add: /a: is required; /b: expected number, got string"));
  });

  test("what a tool throws is a result with isError and its message, never a stack " +
    "(spec server/tools#error-handling)", async () => {
    const reported: unknown[] = [];
    const fault = new TypeError("no such city");
    const server = offer([{ name: "t", handler: () => { throw fault; } }],
      { report: (error) => void reported.push(error) });
    assert.deepEqual(await callTool(server, { name: "t" }), failed("no such city"));
    const later = offer([{ name: "t", handler: () => Promise.reject(fault) }]);
    assert.deepEqual(await callTool(later, { name: "t" }), failed("no such city"));
    assert.deepEqual(reported, [fault]);
  });

  test("what is thrown but is no Error, or is to be masked, is told as a failure alone " +
    "(engineering)", async () => {
    for (const thrown of ["secret", { message: "secret" }, null, undefined]) {
      const server = offer([{ name: "t", handler: () => { throw thrown; } }]);
      assert.deepEqual(await callTool(server, { name: "t" }), failed("The tool failed"));
    }
    const masked = offer([{ name: "t", handler: () => { throw new Error("secret"); } }],
      { maskErrors: true });
    assert.deepEqual(await callTool(masked, { name: "t" }), failed("The tool failed"));
  });

  test("a ProtocolError that a tool throws is the protocol error that it names " +
    "(spec server/tools#error-handling)", async () => {
    const server = offer([{ name: "t", handler: () => { throw new ProtocolError(
      -32602, "bad cursor", { at: 1 }); } }]);
    assert.deepEqual(await callTool(server, { name: "t" }),
      { jsonrpc: "2.0", id: 1, error: { code: -32602, message: "bad cursor", data: { at: 1 } } });
  });

  const X = { type: "object", properties: { x: { type: "string" } }, required: ["x"] };
  test("SCH-22: structured content that breaks outputSchema, or is missing, is -32603 and goes " +
    "no further; no list has to come first (spec server/tools#output-schema)", async () => {
    const answering = (result: object) => callTool(offer([{ name: "t", outputSchema: X,
      handler: () => result }]), { name: "t" });
    assert.deepEqual(await answering(structured({ x: "a" })), complete(structured({ x: "a" })));
    assert.deepEqual(await answering(structured({ x: 1 })),
      refused(-32603, "The tool t broke its outputSchema: /x: expected string, got number"));
    const missing = await answering(text("plain")) as { error: { code: number; message: string } };
    assert.equal(missing.error.code, -32603);
    assert.match(missing.error.message, /outputSchema/);
  });

  test("a tool with an outputSchema gives structured content, however much the schema admits " +
    "(spec server/tools#output-schema)", async () => {
    const response = await callTool(offer([{ name: "t", outputSchema: {}, handler: () =>
      text("plain") }]), { name: "t" });
    assert.equal(refusalIn(response), -32603);
    const nothing = offer([{ name: "t", outputSchema: {}, handler: () => structured(null) }]);
    assert.deepEqual(await callTool(nothing, { name: "t" }), complete(structured(null)));
  });

  test("outputSchema may be of any type: structured content is any JSON value " +
    "(spec server/tools#structured-content)", async () => {
    const server = (value: unknown) => offer([{ name: "t", outputSchema: { type: "array" },
      handler: () => structured(value) }]);
    assert.deepEqual(await callTool(server([1]), { name: "t" }), complete(structured([1])));
    assert.deepEqual(await callTool(server("a"), { name: "t" }),
      refused(-32603, "The tool t broke its outputSchema: expected array, got string"));
  });

  test("a failure needs no structured content (spec server/tools#error-handling)", async () => {
    const server = offer([{ name: "t", outputSchema: X, handler: () => toolError("no") }]);
    assert.deepEqual(await callTool(server, { name: "t" }), failed("no"));
  });

  for (const [what, result] of [["nothing", undefined], ["a string", "hi"], ["a list", []],
    ["no content", { x: 1 }],
    ["content that is no list", { content: "hi" }], ["resultType and no content",
      { resultType: "complete" }]] as const) {
    test(`a handler that gives ${what} is at fault itself: -32603 (spec server/tools#tool-result)`,
      async () => {
      const response = await callTool(offer([{ name: "t", handler: () => result }]), { name: "t" });
      assert.equal(refusalIn(response), -32603);
    });
  }

  test("a schema that cannot be used fails the calls of its tool alone, with its name " +
    "(spec basic#schema-validation)", async () => {
    const server = offer([{ name: "bad", inputSchema: { type: "object", $schema: "unusable" } },
      { name: "good" }]);
    assert.deepEqual(await callTool(server, { name: "good" }), OK);
    for (let n = 0; n < 2; n++) {
      assert.deepEqual(await callTool(server, { name: "bad" }),
        refused(-32603, "The schema of bad is unusable: no such dialect"));
    }
  });

  test("SEC-14: a tool that the caller may not see is an unknown tool to it, word for word " +
    "(spec server/tools#security-considerations)", async () => {
    const visible: ToolsOptions["visible"] = ({ name }, { request }) =>
      name !== "admin" || (request.params?._meta as Record<string, unknown>)[
        "com.example/user"] === "root";
    const server = offer([ADD, { name: "admin" }], { visible });
    const as = (user: string, method: string, params: object) =>
      server({ jsonrpc: "2.0", id: 1, method,
      params: { ...params, _meta: { ...META, "com.example/user": user } } }, lane());
    const result = resultIn<{ tools: { name: string }[]; cacheScope: string }>(
      await as("b", "tools/list", {}));
    assert.deepEqual([result.tools.map(({ name }) => name), result.cacheScope],
      [["add"], "private"]);
    assert.deepEqual(await as("b", "tools/call", { name: "admin" }),
      refused(-32602, "Unknown tool: admin"));
    assert.deepEqual(await as("b", "tools/call", { name: "admin", arguments: { x: 1 } }),
      refused(-32602, "Unknown tool: admin"));
    assert.deepEqual(await as("root", "tools/call", { name: "admin" }), OK);
  });

  test("SEC-17: a tool that calls another server passes on nothing of its own caller's headers " +
    "(spec basic/authorization/security-considerations#access-token-privilege-restriction)",
    async () => {
    const fetched = fakeFetch((_, { id }) => jsonResponse(resultOf(id, { content: [] })));
    const upstream = connectHttp("http://up.example/mcp", { fetch: fetched });
    const inbound = new Headers({ authorization: "Bearer u", cookie: "c=1",
      "mcp-session-id": "s" });
    const server = offer([{ name: "t", handler: async (_, context) => {
      await upstream(request("tools/call", { name: "up" }), context.lane);
      return text("ok");
    } }]);
    assert.deepEqual(await callTool(server, { name: "t" },
      { ...lane(), header: (name: string) => inbound.get(name) } as never), OK);
    const sent = fetched.asked[0]?.request.headers ?? assert.fail("nothing was sent");
    for (const name of ["authorization", "cookie", "mcp-session-id"]) assert.equal(
      sent.get(name), null);
  });
});

describe("Tools: arguments mirrored in headers", () => {
  const SQL = { name: "sql", inputSchema: { type: "object" as const, properties: {
    region: { type: "string", "x-mcp-header": "Region" }, limit: { type: "number" },
    count: { type: "integer", "x-mcp-header": "Count" },
      dry: { type: "boolean", "x-mcp-header": "Dry" },
    at: { type: "object", properties: { zone: { type: "string", "x-mcp-header": "Zone" } } } } } };
  const loose: CompileSchema = () => () => undefined;
  const outcome = async (args: object | undefined, headers: Record<string, string>) => {
    const given = new Headers(headers);
    const on = Object.assign(lane(), { header: (name: string) => given.get(name) });
    const response = await callTool(offer([SQL], { compile: loose }),
      { name: "sql", ...(args && { arguments: args }) }, on);
    return "error" in response ? response.error.code : "ok";
  };

  const rows: [string, object | undefined, Record<string, string>, "ok" | -32020][] = [
    ["a value and its header", { region: "eu" }, { "Mcp-Param-Region": "eu" }, "ok"],
    ["the name of the header in any case", { region: "eu" }, { "MCP-PARAM-REGION": "eu" }, "ok"],
    ["a value without its header", { region: "eu" }, {}, -32020],
    ["a header that differs", { region: "eu" }, { "Mcp-Param-Region": "us" }, -32020],
    ["a header that differs in case", { region: "eu" }, { "Mcp-Param-Region": "EU" }, -32020],
    ["a header without a value", {}, { "Mcp-Param-Region": "eu" }, -32020],
    ["a header without any arguments", undefined, { "Mcp-Param-Region": "eu" }, -32020],
    ["null and no header", { region: null }, {}, "ok"],
    ["no value and no header", {}, {}, "ok"],
    ["a header that no schema names", { region: "eu" }, {
      "Mcp-Param-Region": "eu", "Mcp-Param-Other": "x" }, "ok"],
    ["an encoded value", { region: "é" }, { "Mcp-Param-Region": "=?base64?w6k=?=" }, "ok"],
    ["an encoded value that could have been plain", { region: "eu" },
      { "Mcp-Param-Region": "=?base64?ZXU=?=" }, "ok"],
    ["a malformed encoding", { region: "eu" }, { "Mcp-Param-Region": "=?base64?Z*?=" }, -32020],
    ["raw characters beyond ASCII", { region: "é" }, { "Mcp-Param-Region": "é" }, -32020],
    ["an integer", { count: 42 }, { "Mcp-Param-Count": "42" }, "ok"],
    ["an integer written with a fraction of zero", { count: 42 }, { "Mcp-Param-Count": "42.0" },
      "ok"],
    ["a negative integer", { count: -7 }, { "Mcp-Param-Count": "-7" }, "ok"],
    ["another integer", { count: 42 }, { "Mcp-Param-Count": "43" }, -32020],
    ["no integer at all", { count: 0 }, { "Mcp-Param-Count": "" }, -32020],
    ["a boolean", { dry: false }, { "Mcp-Param-Dry": "false" }, "ok"],
    ["a boolean in capitals", { dry: true }, { "Mcp-Param-Dry": "True" }, -32020],
    ["a nested value", { at: { zone: "a" } }, { "Mcp-Param-Zone": "a" }, "ok"],
    ["a value elsewhere than its path", { zone: "a" }, { "Mcp-Param-Zone": "a" }, -32020],
    ["an empty string", { region: "" }, { "Mcp-Param-Region": "" }, "ok"],
  ];
  for (const [what, args, headers, expected] of rows) {
    test(`${what}: ${expected === "ok" ? "served" : "-32020"} ` +
      `(spec basic/transports/streamable-http#server-behavior-for-custom-headers)`, async () => {
      assert.equal(await outcome(args, headers), expected);
    });
  }

  test("where there is no header layer, annotations ask for nothing " +
    "(spec basic/transports/stdio#request-metadata)", async () => {
    assert.deepEqual(await callTool(offer([SQL], { compile: loose }),
      { name: "sql", arguments: { region: "eu" } }), OK);
  });
});

describe("Assemble", () => {
  const ask = (exchange: Exchange, method: string, params: object = {}) =>
    exchange(request(method, params), lane());

  test("server/discover joins what all features can do, and says how to use the server " +
    "(spec server/discover#discoverresult)", async () => {
    const features: Feature[] = [tools([], { compile }), { methods: {},
      capabilities: { extensions: { "com.example/a": {} } } },
      { methods: {}, capabilities: { extensions: { "com.example/b": { x: 1 } } } },
        { methods: {} }];
    const { exchange, info } = assemble(INFO, features, { instructions: "Ask for the weather." });
    assert.equal(info, INFO);
    assert.deepEqual(await ask(exchange, "server/discover"),
      complete({ supportedVersions: ["2026-07-28"],
      capabilities: { tools: {}, extensions: { "com.example/a": {}, "com.example/b": { x: 1 } } },
      instructions: "Ask for the weather.", ttlMs: 3_600_000, cacheScope: "public" }));
  });

  test("LIF-15: a server that sends no list changes does not advertise them " +
    "(spec server/tools#capabilities)", async () => {
    const result = resultIn<{ capabilities: { tools?: { listChanged?: boolean } };
      instructions?: string }>(await ask(assemble(INFO, [tools([], { compile })]).exchange,
      "server/discover"));
    assert.deepEqual(result.capabilities, { tools: {} });
    assert.equal("instructions" in result, false);
  });

  test("LIF-08: a server without a handshake refuses initialize with an error that names its " +
    "versions (spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
    async () => {
    const { exchange } = assemble(INFO, [tools([], { compile })]);
    const params = { protocolVersion: "2025-11-25", capabilities: {},
      clientInfo: { name: "old", version: "1" } };
    const response = await exchange({ jsonrpc: "2.0", id: 1, method: "initialize", params },
      lane());
    assert.deepEqual(response, { jsonrpc: "2.0", id: 1,
      error: { code: -32601, message: "Method not found: initialize",
        data: { supported: ["2026-07-28"] } } });
  });

  test("a feature's method that is not there for tools is not found, one that is there is " +
    "answered (spec basic#error-codes)", async () => {
    const { exchange } = assemble(INFO, [{ methods: { "x/y": (params) =>
      ({ got: params["a"] }) } }]);
    assert.deepEqual(await ask(exchange, "x/y", { a: 1 }), complete({ got: 1 }));
    for (const method of ["tools/list", "toString", "__proto__", "constructor"]) {
      assert.equal(refusalIn(await ask(exchange, method)), -32601);
    }
  });

  test("wrappers go around every request, the last one outermost (engineering)", async () => {
    const log: string[] = [];
    const named = (name: string) => (next: Exchange): Exchange => async (request, lane) => {
      log.push(`${name}>${request.method}`);
      const response = await next(request, lane);
      log.push(`<${name}`);
      return response;
    };
    const { exchange } = assemble(INFO, [], { wrappers: [named("inner"), named("outer")] });
    await ask(exchange, "made/up");
    assert.deepEqual(log, ["outer>made/up", "inner>made/up", "<inner", "<outer"]);
  });

  test("notifications and mirrors of all features come together (engineering)", () => {
    const [one, two] = [() => {}, () => {}];
    const { notifications, mirrors } = assemble(INFO, [{ methods: {},
      notifications: { "notifications/a": one } },
      { methods: {}, notifications: { "notifications/b": two },
        mirrors: { "tasks/get": "taskId" } }]);
    assert.deepEqual(notifications, { "notifications/a": one, "notifications/b": two });
    assert.deepEqual(mirrors, { "tasks/get": "taskId" });
  });

  test("an unexpected exception is -32603 and says nothing; report gets the original and the " +
    "method (spec basic#error-codes)", async () => {
    const reported: unknown[] = [];
    const fault = new Error("/etc/secret");
    const { exchange } = assemble(INFO, [{ methods: { "x/y": () => { throw fault; } } }],
      { report: (...all) => void reported.push(all) });
    assert.deepEqual(await ask(exchange, "x/y"), refused(-32603, "Internal error"));
    assert.deepEqual(reported, [[fault, "x/y"]]);
  });

  test("every result says who answered, beside what the handler puts into _meta " +
    "(spec basic#meta)", async () => {
    const { exchange } = assemble(INFO, [{ methods: { "x/y": () =>
      ({ _meta: { "com.example/z": 1 } }) } }]);
    assert.deepEqual(await ask(exchange, "x/y"), { jsonrpc: "2.0", id: 1,
      result: { resultType: "complete", _meta: { ...SERVER, "com.example/z": 1 } } });
  });

  test("tool() keeps a definition as it is (engineering)", async () => {
    const definition = { ...ADD, handler: ({ a, b }: { a: number; b: number }) =>
      text(`${a + b}`) };
    assert.equal(tool(definition as never), definition);
  });
});

// Cases of kind security, schema and lifecycle that are not tests here, and why:
// SCH-22, SCH-23 for clients: part4-checked; SCH-26 for resources: part3-resources
// SEC-02, SEC-03, SEC-18: part2-http; SEC-10, SEC-11, LIF-24, LIF-30: part3-rounds
// SEC-07, SEC-16, SEC-19, and SEC-08 for metadata: authorization, which is not here
