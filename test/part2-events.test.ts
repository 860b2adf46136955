// Part II, the pure halves of HTTP: events as text, and values as headers.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  MIRRORS, TransportError, decodeHeader, encodeHeader, eventParser, formatEvent, mirrorFault,
    mirroredHeaders,
  paramFault, paramHeaders, readEvents, readText,
  type JSONRPCRequest, type ParamHeader, type ServerSentEvent,
} from "../mcp-raw.ts";
import { bytes, cuts, settled, singles } from "./kit.ts";

const body = (...parts: Uint8Array[]): ReadableStream<Uint8Array> => new ReadableStream({
  start(controller) {
    for (const part of parts) controller.enqueue(part);
    controller.close();
  },
});
async function eventsOf(parts: Uint8Array[], limit?: number): Promise<ServerSentEvent[]> {
  const events: ServerSentEvent[] = [];
  for await (const event of readEvents(body(...parts), limit)) events.push(event);
  return events;
}
/** The events of a stream, which are the same for every cut and for one byte at a time. */
async function readAnyhow(...text: (string | Uint8Array)[]): Promise<ServerSentEvent[]> {
  const whole = bytes(...text);
  const events = await eventsOf([whole]);
  for (const cut of [...cuts(whole), singles(whole)]) {
    assert.deepEqual(await eventsOf(cut), events, `cut at ${cut[0]?.length} of ${cut.length}`);
  }
  return events;
}
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":{}}';

describe("Server-sent events, read (WHATWG HTML §9.2.6)", () => {
  test("SSE-01: the data lines of one event are joined by line feeds " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow('data: {"jsonrpc":"2.0",\ndata: "id":1,"result":{}}\n\n'),
      [{ data: '{"jsonrpc":"2.0",\n"id":1,"result":{}}' }]);
    assert.deepEqual(await readAnyhow("data\ndata\n\ndata:\ndata: x\ndata:\n\n"),
      [{ data: "\n" }, { data: "\nx\n" }]);
  });

  test("SSE-02: CR LF is one line end, also when a chunk ends between them " +
    "(WHATWG HTML §9.2.6)", async () => {
    const parts = ["data: A\r\n", "data: B\r", "\ndata: C\r\n", "\r\n"].map((part) => bytes(part));
    assert.deepEqual(await eventsOf(parts), [{ data: "A\nB\nC" }]);
    assert.deepEqual(await readAnyhow(...parts), [{ data: "A\nB\nC" }]);
  });

  test("SSE-03: CR alone ends a line, and LF, CR and CR LF may be mixed " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow("data: x\r\rdata: y\r\r"), [{ data: "x" }, { data: "y" }]);
    assert.deepEqual(await readAnyhow("data: a\n\rdata: b\r\ndata: c\r\r\n"),
      [{ data: "a" }, { data: "b\nc" }]);
    assert.deepEqual(await readAnyhow("data: a\r\n\n\r\rdata: b\n\r\n"),
      [{ data: "a" }, { data: "b" }]);
  });

  test("SSE-03: lines that CR ends are read in linear time (engineering)", () => {
    const started = performance.now();
    eventParser(() => {})("\r".repeat(512 * 1024));
    assert.ok(performance.now() - started < 400, `${performance.now() - started} ms`);
  });

  test("SSE-03: an event is delivered with the blank line that ends it, not with the byte after " +
    "that (WHATWG HTML §9.2.6)", () => {
    for (const end of ["\n\n", "\r\n\r\n", "\r\r"]) {
      const seen: ServerSentEvent[] = [];
      const parse = eventParser((event) => seen.push(event));
      parse(`data: x${end}`);
      assert.deepEqual(seen, [{ data: "x" }], JSON.stringify(end));
    }
  });

  test("SSE-05: one byte order mark at the start is dropped, a second one and later ones are " +
    "text (WHATWG HTML §9.2.5)", async () => {
    assert.deepEqual(await readAnyhow("\ufeff", 'data: {"a":1}\n\n'), [{ data: '{"a":1}' }]);
    assert.deepEqual(await eventsOf([bytes(""), bytes("\ufeff"), bytes("data: x\n\n")]),
      [{ data: "x" }]);
    assert.deepEqual(await readAnyhow("data: \ufeffx\ufeff\n\ndata: y\n\n\ufeffdata: z\n\n"),
      [{ data: "\ufeffx\ufeff" }, { data: "y" }]);
    assert.deepEqual(await readAnyhow("\ufeff\ufeffdata: x\n\ndata: y\n\n"), [{ data: "y" }]);
  });

  test("SSE-06: comment lines say nothing and are no fault " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    assert.deepEqual(await readAnyhow(": keep-alive\n\n:\r\n\r\n",
      `data: ${ANSWER}\n: between\n\n:data: x\n\n`), [{ data: ANSWER }]);
  });

  test("SSE-08: retry is digits only, and no longer than a timer can wait " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow("retry: 500\n\nretry: 50x\n\nretry: -1\n\n",
      "retry: 1e3\n\nretry:\n\nretry: 99999999999\n\n"),
      [{ data: "", retry: 500 }, { data: "", retry: 2 ** 31 - 1 }]);
  });

  test("SSE-09: an event without an event field is delivered (WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow(`data: ${ANSWER}\n\nevent: message\ndata: ${ANSWER}\n\n`),
      [{ data: ANSWER }, { event: "message", data: ANSWER }]);
  });

  test("SSE-11: one space after the colon is dropped, a field may lack its colon, names are " +
    "exact (WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow('data:{"a":1}\n\ndata:  two\n\ndata\n\ndata: a: b\n\n',
      "DATA: x\n\nfoo: bar\n\n data: x\n\n"),
      [{ data: '{"a":1}' }, { data: " two" }, { data: "" }, { data: "a: b" }]);
  });

  test("SSE-13: an event that only names an id has empty data, and its id counts " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow(`id: p-1\ndata: \n\nid: m-2\ndata: ${ANSWER}\n\n`,
      "id: m-3\n\nid\ndata: x\n\n"),
      [{ id: "p-1", data: "" }, { id: "m-2", data: ANSWER }, { id: "m-3", data: "" },
        { id: "", data: "x" }]);
    assert.deepEqual(await readAnyhow("id: a\0b\ndata: x\n\n"), [{ data: "x" }]);
  });

  test("SSE-14: U+2028, U+2029 and U+0085 end no line, and a character may be cut anywhere " +
    "(WHATWG HTML §9.2.6)", async () => {
    const data = ANSWER.replace("{}", '{"t":"a\u2028b\u2029c\u0085\u000b\u000c\u{1f600}"}');
    assert.deepEqual(await readAnyhow(`data: ${data}\n\n`), [{ data }]);
  });

  test("an event with neither data nor id nor retry is dropped, its type included " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow("event: ping\n\ndata: x\n\n\n\n"), [{ data: "x" }]);
  });

  test("an event that the stream does not finish is dropped (WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow("data: x\n\ndata: y\n"), [{ data: "x" }]);
    assert.deepEqual(await readAnyhow("data: x\n\ndata: y"), [{ data: "x" }]);
    assert.deepEqual(await readAnyhow(""), []);
  });

  test("the last of several ids, types or pauses in one event counts " +
    "(WHATWG HTML §9.2.6)", async () => {
    assert.deepEqual(await readAnyhow("id: 1\nevent: a\nretry: 1\n",
      "data: x\nid: 2\nevent: b\nretry: 2\n\n"),
      [{ id: "2", event: "b", retry: 2, data: "x" }]);
  });

  test("bytes that are no UTF-8 become U+FFFD and harm no other event " +
    "(WHATWG HTML §9.2.5)", async () => {
    assert.deepEqual(await readAnyhow("data: a", Uint8Array.of(0xff), "\n\ndata: b\n\n"),
      [{ data: "a\ufffd" }, { data: "b" }]);
  });

  test("an event over the limit fails the stream, wherever the chunks are cut, and one at the " +
    "limit does not (engineering)", async () => {
    for (const [text, fits] of [["data: 1234567890\n\n", true],
      ["data: 12345\ndata: 678901234567\n\n", false],
      [`data: ${"x".repeat(40)}\n\n`, false], [`: ${"x".repeat(40)}`, false],
        ["data: x\n\n".repeat(20), true]] as const) {
      for (const parts of [[bytes(text)], singles(bytes(text))]) {
        const events = eventsOf(parts, 16);
        if (fits) assert.equal((await events).length, text.split("\n\n").length - 1);
        else await assert.rejects(events, (error) => error instanceof TransportError &&
          error.code === "overflow", `${text} in ${parts.length}`);
      }
    }
  });

  test("events come as they arrive, and a reader that stops gives the body back " +
    "(engineering)", async () => {
    let cancelled = false;
    const slow = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(bytes("data: 1\n\ndata: 2\n\n")),
      cancel() { cancelled = true; },
    });
    for await (const { data } of readEvents(slow)) {
      assert.equal(data, "1");
      break;
    }
    await settled();
    assert.equal(cancelled, true);
  });

  test("a body that breaks fails the reader, after the events that were whole " +
    "(engineering)", async () => {
    let pulls = 0;
    const broken = new ReadableStream<Uint8Array>({ pull(controller) {
      if (pulls++ === 0) controller.enqueue(bytes("data: 1\n\ndata: 2"));
      else controller.error(new Error("reset"));
    } });
    const events = readEvents(broken);
    assert.deepEqual((await events.next()).value, { data: "1" });
    await assert.rejects(events.next(), /reset/);
  });

  test("the cuts of these tests do catch a reader that takes a chunk for a line end " +
    "(the property bites)", () => {
    const naive = (parts: Uint8Array[]) => parts.flatMap((part) =>
      new TextDecoder().decode(part).split(/\r\n|\r|\n/));
    const whole = bytes("data: a\r\n\r\n");
    assert.equal(cuts(whole).every((parts) => naive(parts).join() === naive([whole]).join()),
      false);
  });
});

describe("Server-sent events, written (WHATWG HTML §9.2.6)", () => {
  test("an event is its fields, a line each, and a blank line (WHATWG HTML §9.2.5)", () => {
    assert.equal(formatEvent({ data: ANSWER }), `data: ${ANSWER}\n\n`);
    assert.equal(formatEvent({ event: "message", id: "1", retry: 0, data: "" }),
      "event: message\nid: 1\nretry: 0\ndata: \n\n");
  });

  test("SSE-17: each line of the data has a data field of its own, and an id with a line end or " +
    "NUL is refused (WHATWG HTML §9.2.6)", async () => {
    assert.equal(formatEvent({ data: '{\n  "a": 1\r\n}\r' }),
      'data: {\ndata:   "a": 1\ndata: }\ndata: \n\n');
    for (const id of ["a\nb", "a\rb", "\0"]) assert.throws(() => formatEvent({ id, data: "x" }),
      TypeError);
  });

  test("SSE-17: an event type with a line end is refused too, lest it start another field " +
    "(WHATWG HTML §9.2.6)", () => {
    for (const event of ["a\nb", "a\rdata: forged"]) assert.throws(() =>
      formatEvent({ event, data: "x" }), TypeError);
  });

  test("what is written is read back, with every line end a line feed " +
    "(WHATWG HTML §9.2.6)", async () => {
    for (const data of ["", " x", ":x", "\n", "a\n\nb", "a\r\nb\rc\n", "\u2028\ufeff\0",
      "data: x\n\nid: 1"]) {
      const event = { id: "7", event: "message", data };
      assert.deepEqual(await readAnyhow(formatEvent(event)),
        [{ ...event, data: data.replace(/\r\n?/g, "\n") }]);
    }
  });
});

describe("Bodies", () => {
  test("FRM-01: a character that is cut by a chunk boundary of a body survives " +
    "(spec basic/transports/streamable-http#sending-messages)", async () => {
    const text = '{"x":"\u65e5\u{1f600}\u00e9"}';
    for (const cut of [...cuts(bytes(text)),
      singles(bytes(text))]) assert.equal(await readText(body(...cut), 1000), text);
    assert.equal(await readText(null, 1000), "");
    assert.equal(await readText(body(), 1000), "");
  });

  test("a body is read up to the limit in bytes, and no further (engineering)", async () => {
    const whole = bytes("\u65e5\u672c"); // six bytes
    assert.equal(await readText(body(whole), 6), "\u65e5\u672c");
    for (const cut of [...cuts(whole), singles(whole)]) assert.equal(await readText(body(...cut),
      5), undefined);
    let pulled = 0;
    const endless = new ReadableStream<Uint8Array>({ pull(controller) {
      pulled++;
      controller.enqueue(whole);
    } });
    assert.equal(await readText(endless, 60), undefined);
    assert.ok(pulled < 20, `${pulled} chunks`);
  });
});

describe("Mirrored headers (spec basic/transports/streamable-http#request-metadata)", () => {
  const request = (method: string, params: object): JSONRPCRequest =>
    ({ jsonrpc: "2.0", id: 1, method, params: { ...params } });
  const call = (name: unknown, args?: object) =>
    request("tools/call", args === undefined ? { name } : { name, arguments: args });
  const getter = (headers: Record<string, string>) => {
    const lower = new Map(Object.entries(headers).map(([name, value]) =>
      [name.toLowerCase(), value]));
    return (name: string) => lower.get(name) ?? null;
  };
  /** What is wrong with the headers of a tools/call, as a code. */
  const nameFault = (name: unknown, header: string | undefined) => mirrorFault(call(name),
    getter({ "Mcp-Method": "tools/call", ...(header === undefined ? {} : { "Mcp-Name": header }) }),
      MIRRORS)?.code;
  const regions: ParamHeader[] = [{ name: "Region", path: ["region"], type: "string" }];
  const regionFault = (value: unknown, header: string | undefined) =>
    paramFault({ region: value }, regions, getter(header === undefined ? {}
      : { "Mcp-Param-Region": header }))?.code;

  test("HDR-05: a value in which the markers overlap is no encoded value " +
    "(spec basic/transports/streamable-http#value-encoding)", () => {
    assert.equal(decodeHeader("=?base64?="), "=?base64?=");
    assert.deepEqual([nameFault("=?base64?=", "=?base64?="), nameFault("", "=?base64?=")],
      [undefined, -32020]);
    assert.equal(decodeHeader("=?base64??="), "");
  });

  test("HDR-06: what is between the markers is Base64 of UTF-8 to the letter, else -32020 " +
    "(spec basic/transports/streamable-http#server-validation)", () => {
    for (const header of ["=?base64?SGVs bG8h*?=", "=?base64?____?=", "=?base64?/w==?=",
      "=?base64?Zm9v?x?=", "=?base64?Zm9?=",
      "=?base64?Zm9vYg=?=", "=?base64?Zm9vYg===?=", "=?base64?====?=", "=?base64?7aCA?=",
        "=?base64? Zm9v?="]) {
      assert.equal(decodeHeader(header), undefined, header);
      for (const name of ["Hello!", "foo", "", header, "\ufffd"]) {
        assert.deepEqual([nameFault(name, header), regionFault(name, header)], [-32020, -32020],
          `${name} ${header}`);
      }
    }
  });

  test("HDR-07: what a header cannot carry, and what looks encoded, goes in Base64 and comes " +
    "back (spec basic/transports/streamable-http#value-encoding)", () => {
    for (const [text, header] of [["us-west1", "us-west1"],
      ["Hello, \u4e16\u754c", "=?base64?SGVsbG8sIOS4lueVjA==?="],
      [" padded ", "=?base64?IHBhZGRlZCA=?="], ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
        ["", ""],
      ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
        ["\ttab", "=?base64?CXRhYg==?="], ["a\tb c", "a\tb c"],
      ["x\0", "=?base64?eAA=?="], ["\x7f", "=?base64?fw==?="], ["=?base64?x", "=?base64?x"],
        ["x?=", "x?="]] as const) {
      assert.equal(encodeHeader(text), header);
      assert.equal(decodeHeader(header), text);
      assert.deepEqual([nameFault(text, header), regionFault(text, header)], [undefined, undefined],
        text);
    }
    for (let code = 0; code < 0x300; code++) {
      const text = `${String.fromCharCode(code)}x`;
      assert.match(encodeHeader(text), /^[\x21-\x7e]+$/);
      assert.equal(decodeHeader(encodeHeader(text)), text);
    }
  });

  test("HDR-08: the markers are lower case: anything else is a value like any other " +
    "(spec basic/transports/streamable-http#value-encoding)", () => {
    assert.deepEqual([nameFault("foo", "=?BASE64?Zm9v?="),
      nameFault("=?BASE64?Zm9v?=", "=?BASE64?Zm9v?=")], [-32020, undefined]);
    assert.deepEqual([nameFault("foo", "=?base64?Zm9v?="), nameFault("foo", "=?q?foo?=")],
      [undefined, -32020]);
  });

  test("HDR-09: spaces and tabs around a value do not count, any other blank does, in linear " +
    "time (RFC 9110 §5.5)", () => {
    const methodFault = (header: string) => mirrorFault(request("tools/list", {}),
      getter({ "Mcp-Method": header }), MIRRORS)?.code;
    assert.equal(methodFault("\t tools/list  "), undefined);
    for (const header of ["\u00a0tools/list", "\u00c2\u00a0tools/list", "tools /list",
      "tools/list\n", "\u3000tools/list", ""]) {
      assert.equal(methodFault(header), -32020, JSON.stringify(header));
    }
    const started = performance.now();
    const tabs = "\t".repeat(100_000);
    assert.deepEqual([methodFault(`${tabs}tools/list${tabs}`), methodFault(`x${tabs}x`),
      nameFault("foo", `${tabs}foo${tabs}`),
      nameFault("foo", `x${tabs}x`), regionFault("a", `${tabs}a`),
        encodeHeader(`x${tabs}`).length > 100_000,
      encodeHeader(`x${tabs}\u00e9`).length > 100_000],
        [undefined, -32020, undefined, -32020, undefined, true, true]);
    assert.ok(performance.now() - started < 250, `${performance.now() - started} ms`);
  });

  test("HDR-10: a value outside ASCII goes in Base64, and is refused when it does not, whatever " +
    "the body says (spec basic/transports/streamable-http#value-encoding)", () => {
    assert.deepEqual(mirroredHeaders(call("caf\u00e9"), MIRRORS),
      { "Mcp-Method": "tools/call", "Mcp-Name": "=?base64?Y2Fmw6k=?=" });
    // How the bytes of UTF-8 come out of a header.
    const latin1 = Buffer.from("caf\u00e9").toString("latin1");
    for (const raw of ["caf\u00e9", latin1, "a\0b", "a\nb"]) {
      for (const value of ["caf\u00e9", raw]) {
        assert.deepEqual([nameFault(value, raw), regionFault(value, raw)], [-32020, -32020],
          JSON.stringify([value, raw]));
      }
    }
    assert.equal(nameFault("caf\u00e9", "=?base64?Y2Fmw6k=?="), undefined);
  });

  test("Mcp-Method is on every request, Mcp-Name on those that name a tool, a prompt or a " +
    "resource (spec basic/transports/streamable-http#standard-request-headers)", () => {
    assert.deepEqual([mirroredHeaders(request("tools/list", { name: "x" }), MIRRORS),
      mirroredHeaders(call("add"), MIRRORS),
      mirroredHeaders(request("prompts/get", { name: "p", uri: "u" }), MIRRORS),
      mirroredHeaders(request("resources/read", { name: "p", uri: "file:///a b" }), MIRRORS),
      mirroredHeaders(request("constructor", {}), MIRRORS), mirroredHeaders(call(5), MIRRORS)],
    [{ "Mcp-Method": "tools/list" }, { "Mcp-Method": "tools/call", "Mcp-Name": "add" },
      { "Mcp-Method": "prompts/get", "Mcp-Name": "p" },
      { "Mcp-Method": "resources/read", "Mcp-Name": "file:///a b" },
        { "Mcp-Method": "constructor" }, { "Mcp-Method": "tools/call" }]);
  });

  test("a required header that is missing or differs from the body is -32020 " +
    "(spec basic/transports/streamable-http#server-validation)", () => {
    assert.equal(mirrorFault(call("add"), getter({}), MIRRORS)?.code, -32020);
    assert.equal(mirrorFault(call("add"), getter({ "Mcp-Method": "tools/list", "Mcp-Name": "add" }),
      MIRRORS)?.code, -32020);
    assert.deepEqual([nameFault("add", undefined), nameFault("add", ""), nameFault("add", "sub"),
      nameFault("add", "add")],
      [-32020, -32020, -32020, undefined]);
    const read = (uri: string) => mirrorFault(request("resources/read", { uri: "file:///a" }),
      getter({ "Mcp-Method": "resources/read", "Mcp-Name": uri }), MIRRORS)?.code;
    assert.deepEqual([read("file:///a"), read("file:///b")], [undefined, -32020]);
  });

  test("header values are compared case by case " +
    "(spec basic/transports/streamable-http#case-sensitivity)", () => {
    assert.equal(nameFault("add", "Add"), -32020);
    assert.equal(mirrorFault(request("tools/list", {}), getter({ "Mcp-Method": "Tools/List" }),
      MIRRORS)?.code, -32020);
    assert.equal(regionFault("a", "A"), -32020);
  });

  test("a method that names nothing needs no Mcp-Name, and one that is there is ignored " +
    "(spec basic/transports/streamable-http#standard-request-headers)", () => {
    for (const more of [{}, { "Mcp-Name": "x" }]) {
      assert.equal(mirrorFault(request("tools/list", {}),
        getter({ "Mcp-Method": "tools/list", ...more }), MIRRORS), undefined);
    }
    assert.equal(mirrorFault(request("toString", {}), getter({ "Mcp-Method": "toString" }),
      MIRRORS), undefined);
  });

  test("an extension's method is mirrored by the field that its feature names " +
    "(spec basic/transports/streamable-http#standard-request-headers)", () => {
    const mirrors = { "tasks/get": "taskId" };
    const task = request("tasks/get", { taskId: "t1" });
    assert.deepEqual(mirroredHeaders(task, mirrors),
      { "Mcp-Method": "tasks/get", "Mcp-Name": "t1" });
    assert.equal(mirrorFault(task, getter({ "Mcp-Method": "tasks/get", "Mcp-Name": "t2" }),
      mirrors)?.code, -32020);
  });

  test("annotated arguments are found along properties alone, each with its path " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    assert.deepEqual(paramHeaders({ type: "object", required: ["region"], properties: {
      region: { type: "string", "x-mcp-header": "Region" },
        n: { type: "integer", "x-mcp-header": "N" },
      deep: { type: "object", properties: { properties: { type: "object",
        properties: { b: { type: "boolean", "x-mcp-header": "B-2" } } } } },
      "x-mcp-header": { type: "string" }, plain: { type: "number",
        default: { "x-mcp-header": "data" }, enum: [{ "x-mcp-header": "" }] },
    } }), [{ name: "Region", path: ["region"], type: "string" },
      { name: "N", path: ["n"], type: "integer" },
      { name: "B-2", path: ["deep", "properties", "b"], type: "boolean" }]);
    for (const schema of [undefined, null, true, {},
      { type: "object" }]) assert.deepEqual(paramHeaders(schema), []);
  });

  test("an annotation is a token of HTTP: not empty, no blank, no colon, no control character " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    const named = (name: unknown) => () => paramHeaders({ properties: { a: { type: "string",
      "x-mcp-header": name } } });
    for (const name of ["", " ", "a b", "a:b", "a\r\nb", "a\n", "\u00e9", "a/b", "a\0", 5, null,
      true, {}]) assert.throws(named(name), TypeError, String(name));
    for (const name of ["a", "A-1", "!#$%&'*+.^_`|~"]) assert.doesNotThrow(named(name));
  });

  test("annotations are unique whatever their case " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    assert.throws(() => paramHeaders({ properties: { a: { type: "string",
      "x-mcp-header": "Region" },
      b: { properties: { c: { type: "string", "x-mcp-header": "rEGION" } } } } }), TypeError);
  });

  test("an annotation stands on a string, an integer or a boolean and on nothing else " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    for (const type of ["number", "object", "array", "null", undefined]) {
      assert.throws(() => paramHeaders({ properties: { a: { type, "x-mcp-header": "A" } } }),
        TypeError, type);
    }
  });

  test("an annotation that is not reached by properties alone makes the tool invalid " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    const leaf = { type: "string", "x-mcp-header": "A" };
    const inner = { type: "object", properties: { a: leaf } };
    for (const schema of [leaf, { items: leaf }, { prefixItems: [leaf] }, { oneOf: [inner] },
      { anyOf: [inner] }, { allOf: [inner] }, { not: inner },
      { if: inner }, { then: inner }, { else: inner }, { $defs: { x: inner } },
        { properties: { a: { items: inner } } },
      { properties: { a: { anyOf: [leaf] } } }, { patternProperties: { a: leaf } },
        { additionalProperties: leaf },
      { dependentSchemas: { a: inner } }, { definitions: { x: { items: [inner] } } }]) {
      assert.throws(() => paramHeaders(schema), TypeError, JSON.stringify(schema));
    }
  });

  test("an argument is mirrored if it is there and not null: as text, in decimals, or as true " +
    "and false (spec basic/transports/streamable-http#client-behavior)", () => {
    const annotated: ParamHeader[] = [...regions,
      { name: "N", path: ["deep", "n"], type: "integer" },
      { name: "B", path: ["b"], type: "boolean" }];
    const params = (args?: object) => {
      const { "Mcp-Method": _, "Mcp-Name": name, ...rest } = mirroredHeaders(call("t", args),
        MIRRORS, annotated);
      return rest;
    };
    assert.deepEqual(params({ region: "us-west1", deep: { n: -7 }, b: false }),
      { "Mcp-Param-Region": "us-west1", "Mcp-Param-N": "-7", "Mcp-Param-B": "false" });
    assert.deepEqual(params({ region: "", deep: { n: 0 }, b: true }),
      { "Mcp-Param-Region": "", "Mcp-Param-N": "0", "Mcp-Param-B": "true" });
    assert.deepEqual(params({ region: null, deep: null, other: 1 }), {});
    assert.deepEqual([params({}), params(), params({ deep: [7] }),
      params(JSON.parse('{"__proto__":{"region":"x"}}'))], [{}, {}, {}, {}]);
    assert.deepEqual(params({ region: "\u65e5" }), { "Mcp-Param-Region": "=?base64?5pel?=" });
  });

  test("a server refuses an argument whose header is missing or says something else " +
    "(spec basic/transports/streamable-http#server-behavior-for-custom-headers)", () => {
    assert.deepEqual([regionFault("a", "a"), regionFault("a", undefined), regionFault("a", "b"),
      regionFault("a", "=?base64?YQ==?=")],
      [undefined, -32020, -32020, undefined]);
  });

  test("a server expects no header for an argument that is null or absent, and refuses one that " +
    "is there (spec basic/transports/streamable-http#server-behavior-for-custom-headers)", () => {
    const inherited: ParamHeader[] = [{ name: "C", path: ["constructor"], type: "string" }];
    assert.equal(paramFault({}, inherited, () => null), undefined);
    for (const value of [null, undefined]) {
      assert.equal(regionFault(value, undefined), undefined);
      for (const header of ["a", "null", "undefined", ""]) assert.equal(regionFault(value, header),
        -32020, header);
    }
  });

  test("integers are compared as numbers, booleans as true and false " +
    "(spec basic/transports/streamable-http#server-validation)", () => {
    const fault = (type: string, value: unknown, header: string) =>
      paramFault({ v: value }, [{ name: "V", path: ["v"], type }],
        getter({ "Mcp-Param-V": header }))?.code;
    for (const [value, header] of [[42, "42"], [42, "42.0"], [42, " 42 "], [-7, "-7"], [0, "0"],
      [42, "=?base64?NDI=?="]] as const) {
      assert.equal(fault("integer", value, header), undefined, header);
    }
    for (const header of ["43", "0x2a", "", "42.5", "4 2", "forty-two", "42,0",
      "NaN"]) assert.equal(fault("integer", 42, header), -32020, header);
    assert.deepEqual([fault("boolean", true, "true"), fault("boolean", false, "false"),
      fault("boolean", true, "True"), fault("boolean", true, "1"),
      fault("boolean", false, "")], [undefined, undefined, -32020, -32020, -32020]);
    assert.deepEqual([fault("string", "42", "42.0"), fault("string", "042", "42")],
      [-32020, -32020]);
  });

  test("integers beyond the safe range are refused, since two of them would look the same " +
    "(spec basic/transports/streamable-http#schema-extension)", () => {
    const fault = (value: number, header: string) =>
      paramFault({ v: value }, [{ name: "V", path: ["v"], type: "integer" }],
        getter({ "Mcp-Param-V": header }))?.code;
    assert.deepEqual([fault(2 ** 53 - 1, "9007199254740991"),
      fault(1 - 2 ** 53, "-9007199254740991")], [undefined, undefined]);
    assert.deepEqual([fault(2 ** 53, "9007199254740993"), fault(2 ** 53, "9007199254740992")],
      [-32020, -32020]);
  });
});
