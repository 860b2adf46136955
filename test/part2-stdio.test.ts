// Part II, channels and lines: what becomes of bytes, and of calls that share a pipe.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import {
  MAX_DEPTH, ProtocolError, TransportError, abortReason, connectChannel, connectLines, dispatch,
    framingFault,
  lineSplitter, lineWriter, openLane, parseJSON, readLines, readMessage, serveChannel, serveLines,
  type ChannelEnd, type ConnectLinesOptions, type Exchange, type JSONRPCMessage,
    type JSONRPCNotification,
  type JSONRPCRequest, type JSONRPCResponse, type Lane,
} from "../mcp-raw.ts";
import {
  INFO, META, bytes, callText, chunks, coded, conversation, cuts, echoed, pong, refused, served,
    servedAnyhow, settled,
  singles, sink, source, toy,
} from "./kit.ts";

const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const ping = (id: number | string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"ping"}`;
const cancel = (id: string, more = "") =>
  `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}${more}}}`;
const progress = (token: unknown, count: number): JSONRPCNotification =>
  ({ jsonrpc: "2.0", method: "notifications/progress",
    params: { progressToken: token, progress: count } });

/** What a client takes from a stream: messages, and what it could not take. */
function client(options: ConnectLinesOptions = {}) {
  const [input, out] = [source(), sink()];
  const others: JSONRPCMessage[] = [];
  const warnings: string[] = [];
  const { exchange, closed } = connectLines({ readable: input, write: out.write },
    { other: (message) => others.push(message), warn: ({ code }) => warnings.push(code),
      ...options });
  const notes: JSONRPCNotification[] = [];
  const lane = (signal = new AbortController().signal): Lane =>
    ({ signal, notify: (note) => { notes.push(note); } });
  const call = (id: string | number, signal?: AbortSignal, meta: object = {}) =>
    exchange({ jsonrpc: "2.0", id, method: "m", params: { _meta: meta } }, lane(signal));
  const hear = async (...lines: string[]) => {
    input.push(`${lines.join("\n")}\n`);
    await settled();
  };
  return { exchange, closed, call, hear, input, sent: out.messages, lines: out.lines, others,
    warnings, notes };
}
const settledAs = async (call: Promise<JSONRPCResponse>) =>
  coded(await call.catch((error) => error.code ?? error));
const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete"}}`;
const answered = (id: string | number) => ({ jsonrpc: "2.0", id,
  result: { resultType: "complete" } });

/** The code, and the id to answer under, of what parseJSON throws. */
function parseFault(text: string): { code: number; id: unknown } {
  try {
    parseJSON(text);
  } catch (error) {
    assert.ok(error instanceof ProtocolError && error.message !== "", String(error));
    return { code: error.code, id: error.id };
  }
  assert.fail("nothing was thrown");
}

describe("Texts and lanes", () => {
  test("a text that is not JSON is -32700 without an id (spec basic#error-codes)", () => {
    for (const text of ["", "{", "{'a':1}", '{"a":01}', "NaN", '{"a":1}{"b":2}', '{"a":"\u0001"}',
      "\ufeff{}"]) {
      assert.deepEqual(parseFault(text), { code: -32700, id: undefined }, text);
    }
  });

  test(`JSON nests ${MAX_DEPTH} levels and no more: past that -32602, with the id where it can ` +
    `be read (spec basic#composition-keyword-resource-use)`, () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    assert.deepEqual(parseJSON(nested(MAX_DEPTH)), JSON.parse(nested(MAX_DEPTH)));
    assert.deepEqual(parseFault(nested(MAX_DEPTH + 1)), { code: -32602, id: undefined });
    assert.deepEqual(parseFault(nested(200_000)), { code: -32602, id: undefined });
    const text = `{"jsonrpc":"2.0","id":"deep","method":"x","params":{"a":${nested(MAX_DEPTH)}}}`;
    assert.deepEqual(parseFault(text), { code: -32602, id: "deep" });
  });

  const lane = () => {
    const sent: unknown[] = [];
    return { sent, lane: openLane((note) => { sent.push(note); }) };
  };

  test("a lane carries notifications until it ends, and none afterwards " +
    "(spec basic/patterns/progress#implementation-notes)", () => {
    const { sent, lane: open } = lane();
    open.notify(progress("t", 1));
    assert.equal(open.end(), true);
    open.notify(progress("t", 2));
    assert.deepEqual(sent, [progress("t", 1)]);
  });

  test("a lane ends once, and only a reason aborts its signal " +
    "(spec basic/patterns/cancellation#timing-considerations)", () => {
    const why = new TransportError("cancelled", "enough");
    for (const early of [true, false]) {
      const { lane: open } = lane();
      if (early) assert.equal(open.signal.aborted, false);
      assert.deepEqual([open.end(why), open.end(), open.end(why)], [true, false, false]);
      assert.equal(open.signal.aborted, true);
      assert.equal(open.signal.reason, why);
    }
    const { lane: done } = lane();
    const { signal } = done;
    assert.deepEqual([done.end(), done.end(why)], [true, false]);
    assert.deepEqual([signal.aborted, done.signal.aborted], [false, false]);
  });

  test("a lane has one signal, however often it is asked for (engineering)", () => {
    const { lane: open } = lane();
    assert.equal(open.signal, open.signal);
    open.end(new TransportError("cancelled", "x"));
    assert.equal(open.signal, open.signal);
  });

  test("a lane shows the headers of its HTTP request, and has none without one " +
    "(spec basic/transports/stdio#request-metadata)", () => {
    assert.equal(openLane(() => {}).header, undefined);
    assert.equal(openLane(() => {}, undefined, (name) => `<${name}>`).header?.("a"), "<a>");
  });

  test("whoever opens a lane may hear why it ended; that it was answered is no news " +
    "(engineering)", () => {
    const heard: string[] = [];
    const [answeredLane, cutLane] = [1, 2].map(() =>
      openLane(() => {}, ({ code }) => heard.push(code)));
    answeredLane?.end();
    cutLane?.end(new TransportError("disconnected", "x"));
    cutLane?.end(new TransportError("shutdown", "x"));
    assert.deepEqual(heard, ["disconnected"]);
  });

  test("the reason of an aborted signal has a word for programs: timeout, cancelled or its own " +
    "(engineering)", () => {
    const own = new TransportError("shutdown", "x");
    assert.equal(abortReason(AbortSignal.abort(own)), own);
    assert.equal(abortReason(AbortSignal.abort()).code, "cancelled");
    assert.equal(abortReason(AbortSignal.abort("by hand")).message, "by hand");
    assert.equal(abortReason(AbortSignal.abort(new DOMException("late", "TimeoutError"))).code,
      "timeout");
  });

  test("a response that is no JSON is answered with -32603 and reported " +
    "(spec basic#error-codes)", async () => {
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const value of [{ n: 1n }, cycle]) {
      const reports: unknown[] = [];
      const exchange: Exchange = async ({ id }) =>
        ({ jsonrpc: "2.0", id, result: { resultType: "complete", value } });
      assert.deepEqual(await served([bytes(PING)], exchange,
        { report: (error) => reports.push(error) }), [refused(-32603, 1)]);
      assert.ok(reports.length === 1 && reports[0] instanceof TypeError);
    }
  });

  test("an exchange that throws or rejects is answered with -32603, without its words, and " +
    "reported (spec basic#error-codes)", async () => {
    for (const exchange of [() => Promise.reject(new Error("secret")),
      () => { throw new Error("secret"); }]) {
      const reports: unknown[] = [];
      const out = sink();
      await serveLines(exchange, { readable: chunks(bytes(PING)), write: out.write },
        { graceMs: 20, report: (error) => reports.push(String(error)) });
      assert.deepEqual(JSON.parse(out.lines()[0] ?? ""),
        { jsonrpc: "2.0", id: 1, error: { code: -32603, message: "Internal error" } });
      assert.deepEqual(reports, ["Error: secret"]);
    }
  });
});

describe("Framing: each message is one line (spec basic/transports/stdio)", () => {
  test("FRM-01: a character that is cut by a chunk boundary survives byte for byte, in a " +
    "message of one id (spec basic/transports/stdio)", async () => {
    for (const char of ["\u65e5", "\u{1f600}", "\u00e9"]) {
      const text = callText("1", "echo", `{"t":"${char}"}`);
      assert.deepEqual(await servedAnyhow(bytes(text, "\n")), [echoed(1, char)]);
    }
    const line = bytes('{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"',
      Uint8Array.of(0xe6, 0x97));
    assert.deepEqual(await served([line, bytes(Uint8Array.of(0xa5), '"}}}\n')]), [pong(1)]);
  });

  test("FRM-02: only the byte 0x0A ends a line: U+2028, U+2029 and U+0085 do not " +
    "(spec basic/transports/stdio)", async () => {
    const text = "a\u2028b\u2029c\u0085d";
    assert.deepEqual(await servedAnyhow(bytes(callText("1", "echo", `{"t":"${text}"}`), "\n")),
      [echoed(1, text)]);
  });

  test("FRM-03: a line may end in CR LF, also when a chunk ends between them, and the answers " +
    "end in LF (spec basic/transports/stdio)", async () => {
    assert.deepEqual(await servedAnyhow(bytes(`${ping(1)}\r\n${ping(2)}\r\n`)), [pong(1), pong(2)]);
    const out = sink();
    await serveLines(toy().exchange, { readable: chunks(bytes(`${PING}\r\n`)), write: out.write },
      { graceMs: 20 });
    assert.equal(out.lines().join("").includes("\r"), false);
  });

  test("FRM-04: a lone CR between tokens is white space of JSON and ends no line " +
    "(RFC 8259 §2)", async () => {
    const line = '{"jsonrpc":"2.0",\r"id":1,\r\r"method":"ping"}\r\n';
    assert.deepEqual(await servedAnyhow(bytes(line)), [pong(1)]);
  });

  test("FRM-05: a byte order mark before a message is dropped, within a string it stays, and " +
    "none is written (RFC 8259 §8.1)", async () => {
    for (const end of ["\n", "\r\n"]) assert.deepEqual(await servedAnyhow(bytes("\ufeff", PING,
      end)), [pong(1)]);
    assert.deepEqual(await servedAnyhow(bytes("\ufeff",
      callText("1", "echo", '{"t":"\ufeffx\ufeff"}'), "\n\ufeff", ping(2), "\n")),
      [echoed(1, "\ufeffx\ufeff"), pong(2)]);
    assert.deepEqual(await servedAnyhow(bytes("\ufeff\ufeff", PING, "\n")), [refused(-32700)]);
    const out = sink();
    await serveLines(toy().exchange, { readable: chunks(bytes("\ufeff", PING)), write: out.write },
      { graceMs: 20 });
    assert.equal(out.lines()[0]?.[0], "{");
  });

  test("FRM-06: blank lines and lines of white space are passed over in silence " +
    "(spec basic/transports/stdio)", async () => {
    assert.deepEqual(await servedAnyhow(bytes(`\n\n  \t\n\r\n${PING}\n\n \r\n`)), [pong(1)]);
  });

  test("FRM-11: bytes without a newline are counted and not kept; the line is refused, the next " +
    "one is served (engineering)", async () => {
    const lump = new Uint8Array(65536).fill(0x61);
    async function* flood() {
      for (let sent = 0; sent < 256 * 1024 * 1024; sent += lump.length) yield lump;
      yield bytes(`\n${PING}\n`);
    }
    const out = sink();
    const before = process.memoryUsage().arrayBuffers;
    await serveLines(toy().exchange, { readable: flood(), write: out.write }, { graceMs: 20 });
    assert.deepEqual(out.messages(), [refused(-32600), pong(1)]);
    assert.ok(process.memoryUsage().arrayBuffers - before < 32 * 1024 * 1024);
  });

  test("FRM-11: a message of 8 MiB in chunks of 1 KiB is read in linear time (engineering)", () => {
    const split = lineSplitter(16 * 1024 * 1024);
    const lump = new Uint8Array(1024).fill(0x61);
    const started = performance.now();
    for (let sent = 0; sent < 8192; sent++) assert.deepEqual(split(lump), []);
    assert.equal(split(bytes("\n"))[0]?.length, 8 * 1024 * 1024);
    assert.ok(performance.now() - started < 1000, `${performance.now() - started} ms`);
  });

  test("FRM-11: the limit counts bytes, and does so wherever the chunks are cut " +
    "(engineering)", () => {
    for (const [line, fits] of [["123456789012", true], ["1234567890123", false],
      ["\u65e5\u672c\u8a9e\u65e5", true],
      ["\u65e5\u672c\u8a9e\u65e5\u672c", false], ["\u{1f600}\u{1f600}\u{1f600}", true],
        ["\u{1f600}\u{1f600}\u{1f600}.", false]] as const) {
      const whole = bytes(line, "\nnext\n");
      for (const parts of [[whole], ...cuts(whole), singles(whole)]) {
        const split = lineSplitter(12);
        assert.deepEqual(parts.flatMap(split), [fits ? line : undefined, "next"],
          `${line} as ${parts.length}`);
      }
    }
  });

  test("FRM-14: Content-Length framing neither stops nor spins the reader: the header is " +
    "refused, the JSON answered when its line ends (spec basic/transports/stdio)", async () => {
    const { say, heard, end, input } = conversation(toy().exchange);
    input.push(`Content-Length: 40\r\n\r\n${PING}`);
    await settled();
    assert.deepEqual(heard(), [refused(-32700)]);
    await say("");
    assert.deepEqual(await end(), [refused(-32700), pong(1)]);
  });

  test("FRM-16: twenty callers at once write whole lines, one message each " +
    "(spec basic/transports/stdio)", async () => {
    const { exchange, lines, input, closed } = client();
    const fill = "x".repeat(16384);
    const calls = Array.from({ length: 100 }, (_, id) => exchange(
      { jsonrpc: "2.0", id, method: "m", params: { fill: `${fill}\n\u2028${id}` } },
        openLane(() => {})));
    await settled();
    assert.deepEqual(lines().map((line) => JSON.parse(line)), Array.from({ length: 100 }, (_, id) =>
      ({ jsonrpc: "2.0", id, method: "m", params: { fill: `${fill}\n\u2028${id}` } })));
    for (let id = 99; id >= 0; id--) input.push(`${answer(String(id))}\n`);
    assert.deepEqual(await Promise.all(calls),
      Array.from({ length: 100 }, (_, id) => answered(id)));
    input.end();
    await closed;
  });

  test("FRM-18: U+0000 in a string comes back as it went, escaped on the wire " +
    "(RFC 8259 §7)", async () => {
    const out = sink();
    const readable = chunks(bytes(callText("1", "echo", '{"t":"a\\u0000b"}'), "\n"));
    await serveLines(toy().exchange, { readable, write: out.write }, { graceMs: 20 });
    assert.deepEqual(out.messages(), [echoed(1, "a\0b")]);
    assert.ok(out.lines()[0]?.includes('"a\\u0000b"'));
  });

  test("FRM-19: a message holds no newline, whatever its strings hold " +
    "(spec basic/transports/stdio)", async () => {
    const text = "<a&b>\nline2\r\n\ttab";
    assert.deepEqual(await servedAnyhow(bytes(callText("1", "echo", JSON.stringify({ t: text })),
      "\n")), [echoed(1, text)]);
  });

  test("the last line is a message even if the stream ends without a newline " +
    "(spec basic/transports/stdio#shutdown)", async () => {
    assert.deepEqual(await servedAnyhow(bytes(`${ping(1)}\n${ping(2)}`)), [pong(1), pong(2)]);
  });

  test("a message over several lines is refused line by line and leaves the next one whole " +
    "(spec basic/transports/stdio)", async () => {
    assert.deepEqual(await servedAnyhow(bytes(`{\n"jsonrpc":"2.0",\n${PING}\n`)),
      [refused(-32700), refused(-32700), pong(1)]);
  });

  test("bytes that are no UTF-8 harm their own line at most " +
    "(spec basic/transports/stdio)", async () => {
    for (const bad of [[0xff], [0xc3], [0xe6, 0x97], [0xed, 0xa0, 0x80], [0x80]]) {
      assert.deepEqual(await servedAnyhow(bytes(Uint8Array.from(bad), `\n${PING}\n`)),
        [refused(-32700), pong(1)]);
    }
  });

  test("the cuts of these tests do catch a reader that decodes chunk by chunk " +
    "(the property bites)", () => {
    const naive = () => {
      let held = "";
      return (chunk: Uint8Array) => {
        const parts = (held + new TextDecoder().decode(chunk)).split("\n");
        held = parts.pop() ?? "";
        return parts;
      };
    };
    const whole = bytes("a\u65e5b\nc\n");
    const caught = cuts(whole).filter((parts) => parts.flatMap(naive()).join("|") !== "a\u65e5b|c");
    assert.deepEqual(caught.map(([head]) => head?.length), [2, 3]);
    for (const parts of cuts(whole)) assert.deepEqual(parts.flatMap(lineSplitter()),
      ["a\u65e5b", "c"]);
  });

  test("whatever arrives, each line that leaves is a message, and the next request is answered " +
    "(spec basic/transports/stdio)", async () => {
    let seed = 20260728;
    const random = (below: number) => {
      seed = Math.imul(seed, 1664525) + 1013904223 >>> 0;
      return Math.floor(seed / 2 ** 32 * below);
    };
    const pieces = [PING, "{", "}", "[", "]", '"', "\n", "\r", "\ufeff", ":", ",", '"id":', "null",
      '"method":"x"', "\\", "\0",
      '"jsonrpc":"2.0"', "1e999", '{"jsonrpc":"2.0",', "\u2028", '"__proto__":', cancel("1"),
        callText("2", "echo", '{"t":1}')];
    for (let round = 0; round < 300; round++) {
      const noise = Array.from({ length: random(12) }, () =>
        pieces[random(pieces.length)] ?? "").join("");
      const out = sink();
      const readable = chunks(...cuts(bytes(noise, "\n", ping("last"), "\n"))[random(noise.length +
        1)] ?? []);
      await serveLines(toy().exchange, { readable, write: out.write }, { graceMs: 20 });
      for (const line of out.lines()) assert.deepEqual(readMessage(parseJSON(line)),
        JSON.parse(line));
      assert.deepEqual(out.messages().filter(({ id }) => id === "last"), [pong("last")],
        JSON.stringify(noise));
    }
  });
});

describe("JSON-RPC: what a server makes of each line (spec basic#messages)", () => {
  const answers = (...lines: string[]) => served([bytes(`${lines.join("\n")}\n`)]);
  const stays = async (lines: string[], expected: unknown[]) =>
    assert.deepEqual(await answers(...lines, ping("alive")),
    [...expected, pong("alive")], lines.join(" "));

  test("RPC-01: the ids 0 and \"\" are ids: their calls are answered under them and can be " +
    "cancelled (spec basic#requests)", async () => {
    for (const id of [0, ""]) {
      const { exchange, aborted, release } = toy();
      assert.deepEqual(await served([bytes(callText(JSON.stringify(id), "echo", '{"t":"x"}'))],
        exchange), [echoed(id, "x")]);
      const { say, end } = conversation(exchange);
      await say(callText(JSON.stringify(id), "hold"), cancel(JSON.stringify(id)));
      release(id);
      assert.deepEqual(await end(), []);
      assert.deepEqual(aborted, [{ id, code: "cancelled",
        message: "cancelled by the client: no reason given" }]);
    }
  });

  test("RPC-03: an id is a string or an integer and comes back as it went; anything else is " +
    "-32600 (spec basic#requests)", async () => {
    for (const [id, back] of [['"1"', "1"], ["-1", -1], ["1e3", 1000], ['""', ""],
      ["0", 0]] as const) {
      await stays([`{"jsonrpc":"2.0","id":${id},"method":"ping"}`], [pong(back)]);
    }
    for (const id of ["1.5", "true", "{}", "[]", "null"]) {
      await stays([`{"jsonrpc":"2.0","id":${id},"method":"ping"}`], [refused(-32600)]);
    }
  });

  test("RPC-05: a request under the id of a call in flight is refused, and that call completes " +
    "(spec basic#requests)", async () => {
    const { exchange, release, ran } = toy();
    const { say, heard, end } = conversation(exchange);
    await say(callText("7", "hold", '{"t":"first"}'), callText("7", "echo", '{"t":"second"}'));
    assert.deepEqual(heard(), [refused(-32600, 7)]);
    assert.deepEqual(ran, [7]);
    release(7);
    await settled();
    await say(callText("7", "echo", '{"t":"third"}')); // answered, so the id is free again
    assert.deepEqual(await end(), [refused(-32600, 7), echoed(7, "first"), echoed(7, "third")]);
  });

  test("RPC-06: 1 and \"1\" are two ids: cancelling one leaves the other " +
    "(spec basic#requests)", async () => {
    const { exchange, release, aborted } = toy();
    const { say, end } = conversation(exchange);
    await say(callText("1", "hold", '{"t":"n"}'), callText('"1"', "hold", '{"t":"s"}'),
      cancel('"1"'));
    assert.deepEqual(aborted.map(({ id }) => id), ["1"]);
    ["1", 1].forEach(release);
    await settled();
    assert.deepEqual(await end(), [echoed(1, "n")]);
    const both = conversation(toy().exchange);
    await both.say(callText("1", "echo", '{"t":"n"}'), callText('"1"', "echo", '{"t":"s"}'));
    assert.deepEqual(await both.end(), [echoed(1, "n"), echoed("1", "s")]);
  });

  test("RPC-08: an answer that comes to a server, well formed or not, is reported and gets no " +
    "answer (spec basic/transports/stdio#sending-messages)", async () => {
    const deep = "[".repeat(MAX_DEPTH + 1) + "]".repeat(MAX_DEPTH + 1);
    for (const line of [answer("99"), '{"jsonrpc":"2.0","result":{}}',
      '{"jsonrpc":"2.0","id":1,"result":null}',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}',
        '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}',
      '{"jsonrpc":"2.0","id":1,"error":{}}', `{"jsonrpc":"2.0","id":1,"result":{"a":${deep}}}`]) {
      const reports: unknown[] = [];
      assert.deepEqual(await served([bytes(`${line}\n${PING}\n`)], toy().exchange,
        { report: (error) => reports.push(error) }),
        [pong(1)], line);
      assert.equal(reports.length, 1, line);
    }
  });

  test("RPC-10: a notification that comes with an id is no request: -32600 under that id " +
    "(spec basic#notifications)", async () => {
    await stays(['{"jsonrpc":"2.0","id":3,"method":"notifications/initialized"}'],
      [refused(-32600, 3)]);
    const { exchange, aborted, release } = toy();
    const { say, end } = conversation(exchange);
    await say(callText("1", "hold", '{"t":"x"}'), cancel("1").replace("{", '{"id":3,'));
    assert.deepEqual(aborted, []);
    release(1);
    await settled();
    assert.deepEqual(await end(), [refused(-32600, 3), echoed(1, "x")]);
  });

  test("RPC-11: a request method without an id is a notification: it runs nothing and gets no " +
    "answer (spec basic#notifications)", async () => {
    const { exchange, ran } = toy();
    const lines = [callText("1", "echo").replace('"id":1,', ""),
      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{},${META}}}`,
      '{"jsonrpc":"2.0","method":"initialize"}', '{"jsonrpc":"2.0","method":"ping"}', PING];
    assert.deepEqual(await served([bytes(`${lines.join("\n")}\n`)], exchange), [pong(1)]);
    assert.deepEqual(ran, []);
  });

  test("RPC-13: params that are missing or null are -32602 where the method is known, and harm " +
    "nothing (spec basic#meta)", async () => {
    const bare = { ...refused(-32602, 1), error: { code: -32602, message: "..",
      data: { supported: ["2026-07-28"] } } };
    await stays(['{"jsonrpc":"2.0","id":1,"method":"tools/call"}'], [bare]);
    await stays(['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}'], [bare]);
    for (const params of ["null", "[]", '"x"']) {
      await stays([`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`],
        [refused(-32602, 1)]);
    }
    await stays(['{"method":"initialize","id":2,"jsonrpc":"2.0"}'], [pong(2)]);
  });

  test("RPC-15: a method is told by its key: \"\" is an unknown method, 123 is none " +
    "(spec basic#requests)", async () => {
    await stays(['{"jsonrpc":"2.0","id":1,"method":""}'], [pong(1)]);
    await stays(['{"jsonrpc":"2.0","id":1,"method":123}'], [refused(-32600, 1)]);
  });

  test("RPC-17: a line that is JSON but no object is -32600, and the process lives on " +
    "(JSON-RPC 2.0 §5.1)", async () => {
    for (const line of ["null", "42", '"x"', "true", "{}", "[]"]) await stays([line],
      [refused(-32600)]);
  });

  test("an array of messages is -32600 and nothing of it is run: this revision has no batches " +
    "(spec basic/transports/stdio)", async () => {
    const { exchange, ran } = toy();
    assert.deepEqual(await served([bytes(`[${callText("1", "echo", '{"t":1}')}]\n${PING}\n`)],
      exchange), [refused(-32600), pong(1)]);
    assert.deepEqual(ran, []);
  });

  test("RPC-24: member names are exact: Method and ID are no method and no id " +
    "(spec basic#requests)", async () => {
    await stays(['{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call","ID":2}'],
      [pong(1)]);
  });

  test("RPC-25: of a key that is given twice the last value counts (RFC 8259 §4)", async () => {
    const twice = callText("1", "echo", '{"t":"x"}').replace('"method":',
      '"method":"ping","method":');
    await stays([twice], [echoed(1, "x")]);
  });

  test("RPC-26: a member called __proto__ is data and changes no prototype " +
    "(spec basic#meta)", async () => {
    const seen: any[] = [];
    const exchange = dispatch({ name: "toy", version: "1" }, [{ methods: { m: (params) => {
      seen.push(params);
      return { ...params, _meta: {} };
    } } }]);
    const args = '"arguments":{"__proto__":{"admin":true},"a":1}';
    const line = `{"jsonrpc":"2.0","id":1,"method":"m","params":{${args},` +
      `${META.replace("{", '{"__proto__":{"progressToken":9},')}}}`;
    const out = sink();
    await serveLines(exchange, { readable: chunks(bytes(line)), write: out.write },
      { graceMs: 20 });
    assert.deepEqual(out.lines(),
      [`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",${args},` +
      `"_meta":${JSON.stringify(INFO)}}}`]);
    assert.equal(({} as { admin?: boolean }).admin, undefined);
    assert.deepEqual([seen[0].arguments.admin, seen[0]._meta.progressToken],
      [undefined, undefined]);
  });

  test("RPC-27: names that every object inherits are unknown methods: -32601 " +
    "(spec basic#error-codes)", async () => {
    for (const method of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      await stays([`{"jsonrpc":"2.0","id":1,"method":"${method}","params":{${META}}}`], [pong(1)]);
      await stays([`{"jsonrpc":"2.0","method":"${method}"}`], []);
    }
  });

  test("RPC-28: JSON that nests 200,000 levels is refused under its id, and the server serves " +
    "on (spec basic#composition-keyword-resource-use)", async () => {
    const nest = "[".repeat(200_000) + "]".repeat(200_000);
    await stays([callText("1", "echo", `{"a":${nest}}`)], [refused(-32602, 1)]);
    await stays([nest], [refused(-32602)]);
    await stays(["[".repeat(200_000)], [refused(-32700)]);
  });

  test("RPC-30: members that nobody knows, in _meta or in capabilities, are no fault " +
    "(spec basic/versioning#extension-negotiation)", async () => {
    const meta = '"_meta":{"com.example/a":1,' +
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
      '"io.modelcontextprotocol/clientCapabilities":{"extensions":{"x.y/z":{}},"future":{}}}';
    await stays(['{"jsonrpc":"2.0","id":1,"method":"server/discover",' +
      `"params":{${meta},"future":[]},"future":1}`],
      [{ jsonrpc: "2.0", id: 1, result: { resultType: "complete", supportedVersions: ["2026-07-28"],
        capabilities: { tools: {} }, ttlMs: 3_600_000, cacheScope: "public", _meta: INFO } }]);
  });

  test("RPC-31: an unknown method is -32601 under its id (spec basic#error-codes)", async () => {
    await stays(['{"jsonrpc":"2.0","id":1,"method":"tools/nope"}'], [pong(1)]);
  });

  test("a notification gets no answer, however malformed its params are " +
    "(spec basic#notifications)", async () => {
    const deep = "[".repeat(MAX_DEPTH + 1) + "]".repeat(MAX_DEPTH + 1);
    for (const params of ["null", "[]", '"x"', "1", `{"a":${deep}}`]) {
      await stays([`{"jsonrpc":"2.0","method":"notifications/x","params":${params}}`], []);
    }
  });

  test("a notification that a feature listens for reaches it, and a listener that throws stops " +
    "nothing (spec basic#notifications)", async () => {
    const heard: unknown[] = [];
    const reports: unknown[] = [];
    const notifications = { "notifications/a": (params: object) => { heard.push(params); },
      "notifications/b": () => { throw new Error("b"); } };
    const lines = ['{"jsonrpc":"2.0","method":"notifications/a","params":{"x":1}}',
      '{"jsonrpc":"2.0","method":"notifications/a"}',
      '{"jsonrpc":"2.0","method":"notifications/b"}', PING];
    assert.deepEqual(await served([bytes(`${lines.join("\n")}\n`)], toy().exchange,
      { notifications, report: (error) => reports.push(String(error)) }), [pong(1)]);
    assert.deepEqual(heard, [{ x: 1 }, {}]);
    assert.deepEqual(reports, ["Error: b"]);
  });
});

describe("Cancellation on a channel, the server's end (spec basic/patterns/cancellation)", () => {
  test("CAN-02: a cancellation that names no call in flight, or nothing at all, is ignored " +
    "(spec basic/patterns/cancellation#error-handling)", async () => {
    const start = '{"jsonrpc":"2.0","method":"notifications/cancelled"';
    const { exchange, aborted } = toy();
    const { say, heard, end } = conversation(exchange);
    await say(callText("4", "echo", '{"t":"done"}'));
    for (const line of [cancel("999"), cancel("4"), `${start}}`, `${start},"params":{}}`,
      cancel("{}"), cancel("null"), cancel("[4]"),
      cancel("4.5"), `${start},"params":null}`, `${start},"params":[4]}`]) {
      await say(line);
      assert.deepEqual(heard(), [echoed(4, "done")], line);
    }
    await say(PING);
    assert.deepEqual(await end(), [echoed(4, "done"), pong(1)]);
    assert.deepEqual(aborted, []);
  });

  test("CAN-02: a reason may be any JSON and harms nothing " +
    "(spec basic/patterns/cancellation#error-handling)", async () => {
    for (const reason of ["null", "5", "{}", "[]", '{"toString":1,"valueOf":1}',
      '{"__proto__":null}']) {
      const { exchange, aborted } = toy();
      const { say, end } = conversation(exchange);
      await say(callText("1", "hold"), cancel("1", `,"reason":${reason}`), PING);
      assert.deepEqual(await end(), [pong(1)], reason);
      assert.deepEqual(aborted.map(({ id, code }) => ({ id, code })),
        [{ id: 1, code: "cancelled" }], reason);
    }
  });

  test("CAN-03: a cancelled call is told so with the reason, and nothing more is said about it, " +
    "not even its response (spec basic/transports/stdio#cancellation)", async () => {
    const notes: (() => unknown)[] = [];
    const { exchange, aborted, release } = toy();
    const noting: Exchange = (request, lane) => {
      notes.push(() => lane.notify(progress("t", notes.length)));
      return exchange(request, lane);
    };
    const { say, end } = conversation(noting);
    await say(callText("4", "hold"));
    notes[0]?.();
    await say(cancel("4", ',"reason":"changed my mind"'));
    notes[0]?.();
    release(4);
    await settled();
    await say(PING);
    assert.deepEqual(await end(), [progress("t", 1), pong(1)]);
    assert.deepEqual(aborted, [{ id: 4, code: "cancelled",
      message: "cancelled by the client: changed my mind" }]);
  });

  test("the id of a cancelled call may be used again, and its late answer is not mistaken for " +
    "the new one (spec basic/patterns/cancellation#timing-considerations)", async () => {
    const releases: (() => void)[] = [];
    const exchange: Exchange = async ({ id, params }) => {
      await new Promise<void>((resolve) => releases.push(resolve));
      return { jsonrpc: "2.0", id, result: { resultType: "complete", ...params } };
    };
    const { say, heard, end } = conversation(exchange);
    const request = (n: number) => `{"jsonrpc":"2.0","id":1,"method":"m","params":{"n":${n}}}`;
    await say(request(1), cancel("1"), request(2));
    releases[0]?.();
    await settled();
    assert.deepEqual(heard(), []);
    releases[1]?.();
    await settled();
    assert.deepEqual(await end(), [{ jsonrpc: "2.0", id: 1,
      result: { resultType: "complete", n: 2 } }]);
  });

  test("CAN-03: a call that is answered is over: a cancellation that crosses its answer changes " +
    "nothing (spec basic/patterns/cancellation#timing-considerations)", async () => {
    const { exchange, aborted, release } = toy();
    const { say, input, end } = conversation(exchange);
    await say(callText("1", "hold", '{"t":"x"}'));
    release(1);
    await settled();
    input.push(`${cancel("1")}\n`);
    assert.deepEqual(await end(), [echoed(1, "x")]);
    assert.deepEqual(aborted, []);
  });
});

describe("A server's pipe: its flow and its end", () => {
  test("answers go out as they are ready, not in the order of the requests " +
    "(spec basic/transports/stdio#receiving-messages)", async () => {
    const { exchange, release } = toy();
    const { say, heard, end } = conversation(exchange);
    await say(callText("1", "hold", '{"t":"slow"}'), callText("2", "echo", '{"t":"fast"}'));
    assert.deepEqual(heard(), [echoed(2, "fast")]);
    release(1);
    await settled();
    assert.deepEqual(await end(), [echoed(2, "fast"), echoed(1, "slow")]);
  });

  test("past the limit of calls in flight reading pauses, and goes on when one is done " +
    "(engineering)", async () => {
    const { exchange, release, ran } = toy();
    const { say, end } = conversation(exchange, { maxInFlight: 2 });
    await say(callText("1", "hold", '{"t":1}'), callText("2", "hold", '{"t":2}'),
      callText("3", "echo", '{"t":3}'));
    assert.deepEqual(ran, [1, 2]);
    release(2);
    await settled();
    assert.deepEqual(ran, [1, 2, 3]);
    release(1);
    assert.deepEqual(await end(), [echoed(2, "2"), echoed(3, "3"), echoed(1, "1")]);
  });

  test("while the reader of the answers is behind, no further request is read " +
    "(engineering)", async () => {
    const { exchange, ran } = toy();
    const input = source();
    let drain = () => {};
    const written: string[] = [];
    const done = serveLines(exchange, { readable: input, write(text) {
      written.push(text);
      return new Promise((resolve) => (drain = resolve));
    } }, { graceMs: 20 });
    for (const id of [1, 2, 3, 4]) { // one by one, as they would come
      input.push(`${callText(String(id), "echo", '{"t":"x"}')}\n`);
      await settled();
    }
    assert.equal(written.length, 1);
    assert.ok(ran.length < 4, `${ran.length} of 4 calls began`);
    input.end();
    for (let turn = 0; turn < 6; turn++) { drain(); await settled(); }
    await done;
    assert.deepEqual(ran, [1, 2, 3, 4]);
    assert.deepEqual(written.join("").trim().split("\n").map((line) => JSON.parse(line)),
      [1, 2, 3, 4].map((id) => echoed(id, "x")));
  });

  test("what is in flight when the input ends is still answered, if it does not take too long " +
    "(spec basic/transports/stdio#shutdown)", async () => {
    const { exchange, release } = toy();
    const { say, input, heard, done } = conversation(exchange, { graceMs: 1000 });
    await say(callText("1", "hold", '{"t":"x"}'));
    input.end();
    await settled();
    release(1);
    await done;
    assert.deepEqual(heard(), [echoed(1, "x")]);
  });

  test("what takes too long after the end of the input is aborted: disconnected " +
    "(spec basic/transports/stdio#shutdown)", async () => {
    const { exchange, aborted } = toy();
    const { say, end } = conversation(exchange, { graceMs: 5 });
    await say(callText("1", "hold"), callText("2", "hold"));
    assert.deepEqual(await end(), []);
    assert.deepEqual(aborted.map(({ id, code }) => ({ id, code })),
      [{ id: 1, code: "disconnected" }, { id: 2, code: "disconnected" }]);
  });

  test("serving ends when nobody reads the answers any more, and whatever is in flight is " +
    "aborted (engineering)", async () => {
    const { exchange, aborted } = toy();
    for (const write of [() => { throw new Error("EPIPE"); }, () =>
      Promise.reject(new Error("EPIPE"))]) {
      const input = source();
      const done = serveLines(exchange, { readable: input, write }, { graceMs: 20 });
      input.push(`${callText("1", "hold")}\n${PING.replace("1", "2")}\n`);
      await done;
      assert.deepEqual(aborted.splice(0).map(({ id, code }) => ({ id, code })),
        [{ id: 1, code: "closed" }]);
      input.end();
    }
  });

  test("a channel that breaks on its way in aborts whatever is in flight " +
    "(spec basic/transports/stdio#unexpected-termination)", async () => {
    const { exchange, aborted } = toy();
    const { say, input, done } = conversation(exchange);
    await say(callText("1", "hold"));
    input.fail(new Error("ECONNRESET"));
    await done.catch(() => {});
    assert.deepEqual(aborted.map(({ id }) => id), [1]);
  });

  test("everyone who waits for a channel to be idle is told (engineering)", async () => {
    const { exchange, release } = toy();
    const end = serveChannel(exchange, () => {});
    end.receive(callText("1", "hold"));
    let told = 0;
    void end.idle().then(() => told++);
    void end.idle().then(() => told++);
    release(1);
    await settled();
    assert.equal(told, 2);
  });

  test("all that is said in one turn leaves in one write, in order (engineering)", async () => {
    const written: string[] = [];
    const { send, done } = lineWriter((text) => { written.push(text); }, assert.fail);
    void Promise.resolve().then(() => send("c"));
    ["a", "b"].forEach((text) => send(text));
    await done();
    send("d");
    await done();
    assert.deepEqual(written, ["a\nb\nc\n", "d\n"]);
    assert.equal(done(), undefined);
  });

  test("a writer whose reader is behind says so, and is full past 4 MiB (engineering)", async () => {
    const { send, behind, full } = lineWriter(() => new Promise(() => {}), () => assert.fail());
    assert.equal(send("first"), undefined);
    await settled();
    assert.ok(behind() instanceof Promise);
    const mebi = "x".repeat(1024 * 1024);
    for (let sent = 0; sent < 4; sent++) {
      assert.equal(full(), false);
      assert.ok(send(mebi) instanceof Promise);
    }
    assert.equal(full(), true); // four lines and their ends
  });

  test("readLines serves any end of a channel: a text a message, and word of what is too long " +
    "(spec basic/transports/stdio)", async () => {
    const took: string[] = [];
    const end: ChannelEnd = { receive: (text) => { took.push(text); },
      refuse: (why) => { took.push(`! ${why.length > 0}`); },
      take: () => assert.fail(), close() {} };
    await readLines(chunks(bytes("a\n12345\n\nb")), end, { limit: 4 });
    assert.deepEqual(took, ["a", "! true", "b"]);
  });
});

describe("The client's end of a channel (spec basic/transports/stdio#receiving-messages)", () => {
  test("an answer finds its call by id, number or string, whatever the order and the cuts " +
    "(spec basic/transports/stdio#receiving-messages)", async () => {
    const whole = bytes(`${answer('"1"')}\r\n\n${answer("0")}\n${answer('""')}\n${answer("1")}`);
    for (const parts of [...cuts(whole), singles(whole)]) {
      const { call, input, closed } = client();
      const calls = [1, "1", 0, ""].map((id) => call(id));
      for (const part of parts) input.push(part);
      input.end();
      assert.deepEqual(await Promise.all(calls), [1, "1", 0, ""].map(answered));
      await closed;
    }
  });

  test("RPC-08: an answer to nobody is passed on, crashes nothing and ends no call " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const { call, hear, others } = client();
    const waiting = call(1);
    const strays = [answer("99"), '{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', answer('"1"')];
    await hear(...strays);
    assert.deepEqual(others, strays.map((line) => JSON.parse(line)));
    await hear(answer("1"));
    assert.deepEqual(await waiting, answered(1));
  });

  test("RPC-08: a line that is JSON but no message is reported, and the channel stays up " +
    "(spec basic#messages)", async () => {
    for (const line of ['{"jsonrpc":"2.0","result":{}}', "{}", "null", "42", '"x"', "true", "[]",
      '{"jsonrpc":"1.0","id":2,"result":{}}']) {
      const { call, hear, warnings } = client();
      const waiting = call(1);
      await hear(line, answer("1"));
      assert.deepEqual(await settledAs(waiting), answered(1), line);
      assert.equal(warnings.length, 1, line);
    }
  });

  test("a malformed answer fails the call that it names instead of leaving it to wait " +
    "(spec basic#result-responses)", async () => {
    const deep = "[".repeat(MAX_DEPTH + 1) + "]".repeat(MAX_DEPTH + 1);
    for (const rest of ['"result":null', '"result":[]', '"error":{}', '"error":"x"',
      `"result":{"a":${deep}}`]) {
      const { call, hear } = client();
      const [bad, good] = [call(1), call(2)];
      void bad.catch(() => {});
      await hear(`{"jsonrpc":"2.0","id":1,${rest}}`, answer("2"));
      assert.deepEqual(await settledAs(good), answered(2), rest.slice(0, 30));
      const outcome = await Promise.race([settledAs(bad), settled().then(() => "still waiting")]);
      assert.equal(typeof outcome === "string" && outcome !== "still waiting", true,
        `${rest.slice(0, 30)}: ${outcome}`);
    }
  });

  test("a request from the server is not answered: there are none in this revision " +
    "(spec basic/transports/stdio#receiving-messages)", async () => {
    const { call, hear, others, notes, sent } = client();
    void call(1);
    await settled();
    const request = '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":' +
      '{"_meta":{"io.modelcontextprotocol/subscriptionId":1}}}';
    await hear(request);
    assert.deepEqual([others, notes], [[JSON.parse(request)], []]);
    assert.deepEqual(sent(), [{ jsonrpc: "2.0", id: 1, method: "m", params: { _meta: {} } }]);
  });

  test("progress goes to the call whose token it names, 7 and \"7\" apart, and to nobody " +
    "without one (spec basic/patterns/progress#progress-flow)", async () => {
    const channel = connectChannel(() => {}, { other: (message) => { heard.push(["nobody",
      message]); } });
    const heard: [unknown, unknown][] = [];
    for (const [id, _meta] of [["none", {}], ["number", { progressToken: 7 }],
      ["string", { progressToken: "7" }]] as const) {
      void channel.exchange({ jsonrpc: "2.0", id, method: "m", params: { _meta } },
        { signal: new AbortController().signal, notify: (note) => { heard.push([id, note]); } });
    }
    const notes = [progress("7", 1), progress(7, 2), progress("8", 3), progress(undefined, 4),
      progress(null, 5)];
    for (const note of notes) channel.receive(JSON.stringify(note));
    const wire = notes.map((note) => JSON.parse(JSON.stringify(note)));
    assert.deepEqual(heard, ["string", "number", "nobody", "nobody", "nobody"].map((owner, at) =>
      [owner, wire[at]]));
  });

  test("a notification of a subscription goes to the listen request that its subscriptionId " +
    "names (spec basic/transports/stdio#receiving-messages)", () => {
    const heard: unknown[] = [];
    const channel = connectChannel(() => {}, { other: () => { heard.push("nobody"); } });
    for (const id of [1, "1"]) {
      void channel.exchange({ jsonrpc: "2.0", id, method: "subscriptions/listen" },
        { signal: new AbortController().signal, notify: () => { heard.push(id); } });
    }
    for (const id of ['"1"', "1", "2"]) {
      channel.receive('{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":' +
        `{"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}}}`);
    }
    channel.receive('{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    assert.deepEqual(heard, ["1", 1, "nobody", "nobody"]);
  });

  test("log messages go to a call that asked for them and to no other " +
    "(spec basic#meta)", async () => {
    const { call, hear, notes, others } = client();
    const log = '{"jsonrpc":"2.0","method":"notifications/message",' +
      '"params":{"level":"info","data":"x"}}';
    void call(1);
    await hear(log);
    assert.deepEqual([notes.length, others.length], [0, 1]);
    void call(2, undefined, { "io.modelcontextprotocol/logLevel": "info" });
    await hear(log);
    assert.deepEqual([notes, others.length], [[JSON.parse(log)], 1]);
  });

  test("RPC-01: to cancel, a client names the request in notifications/cancelled, 0 and \"\" as " +
    "any (spec basic/transports/stdio#cancellation)", async () => {
    for (const id of [0, "", 5]) {
      const { call, sent, hear, others } = client();
      const controller = new AbortController();
      const waiting = call(id, controller.signal);
      await settled();
      controller.abort(new TransportError("cancelled", "by the user"));
      assert.equal(await settledAs(waiting), "cancelled");
      await settled();
      const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled",
        params: { requestId: id, reason: "by the user" } };
      assert.deepEqual(sent().slice(1), [cancelled]);
      await hear(answer(JSON.stringify(id)));
      assert.deepEqual(others, [answered(id)]); // late, and no harm done
    }
  });

  test("CAN-02: a client cancels nothing but what it asked and still waits for " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const { call, sent, hear } = client();
    const controller = new AbortController();
    const waiting = call(1, controller.signal);
    await hear(answer("1"));
    await waiting;
    controller.abort();
    const never = call(2, controller.signal);
    assert.equal(await settledAs(never), "cancelled");
    await settled();
    assert.deepEqual(sent(), [{ jsonrpc: "2.0", id: 1, method: "m", params: { _meta: {} } }]);
  });

  test("CAN-09: a thousand calls in turn under one signal leave no listener on it " +
    "(engineering)", async () => {
    const { exchange } = toy();
    const channel: ReturnType<typeof connectChannel> = connectChannel((text) => end.receive(text));
    const end = serveChannel(exchange, (text) => channel.receive(text));
    const { signal } = new AbortController();
    for (let id = 0; id < 1000; id++) {
      assert.deepEqual(coded(await channel.exchange({ jsonrpc: "2.0", id, method: "ping" },
        { signal, notify() {} })), pong(id));
    }
    assert.deepEqual(getEventListeners(signal, "abort"), []);
  });

  test("an id is not used for two calls at once (spec basic#requests)", async () => {
    const { call, hear, sent } = client();
    const first = call(1);
    assert.equal(await settledAs(call(1)), "usage");
    await hear(answer("1"));
    assert.deepEqual(await first, answered(1));
    assert.equal(sent().length, 1);
  });

  test("a request that cannot be written fails, and its id is free again " +
    "(engineering)", async () => {
    const { exchange, call, hear } = client();
    const request = { jsonrpc: "2.0", id: 1, method: "m", params: { n: 1n } } as const;
    await assert.rejects(exchange(request, openLane(() => {})));
    const second = call(1);
    await hear(answer("1"));
    assert.deepEqual(await settledAs(second), answered(1));
  });

  test("when the channel closes, every call learns why, and later calls too " +
    "(spec basic/transports/stdio#unexpected-termination)", async () => {
    for (const end of ["end", "fail"] as const) {
      const { call, input, closed } = client();
      const calls = [call(1), call("a")].map(settledAs);
      if (end === "end") input.end();
      else input.fail(new Error("ECONNRESET"));
      await closed;
      assert.deepEqual(await Promise.all([...calls, settledAs(call(2))]),
        ["closed", "closed", "closed"]);
    }
  });

  test("a call whose listener throws is no danger to the others (engineering)", async () => {
    for (const notify of [() => { throw new Error("listener"); }, () =>
      Promise.reject(new Error("listener"))]) {
      const { exchange, call, hear } = client();
      const request = { jsonrpc: "2.0", id: 1, method: "m",
        params: { _meta: { progressToken: 1 } } } as const;
      void exchange(request, { signal: new AbortController().signal, notify }).catch(() => {});
      const other = call(2);
      await hear(JSON.stringify(progress(1, 1)), answer("2"));
      assert.deepEqual(await settledAs(other), answered(2));
    }
  });

  test("a line over the limit fails the calls that it may have answered, and the next one is read " +
    "(engineering)", async () => {
    const { call, hear, warnings } = client({ limit: 100 });
    const early = assert.rejects(call(1), { code: "overflow" });
    await hear("x".repeat(101));
    await early;
    const late = call(2);
    await hear(answer("2"));
    assert.deepEqual(await settledAs(late), answered(2));
    assert.deepEqual(warnings, ["overflow"]);
  });

  test("a log line on stdout is named and does no other harm " +
    "(spec basic/transports/stdio)", async () => {
    const { call, hear, warnings } = client();
    const waiting = call(1);
    await hear("Server listening on stdio", "", answer("1"));
    assert.deepEqual(await settledAs(waiting), answered(1));
    assert.deepEqual(warnings, ["noise"]);
  });

  test("FRM-14: Content-Length framing and JSON over several lines end the calls at once, with " +
    "the fault named (spec basic/transports/stdio)", async () => {
    for (const lines of [["Content-Length: 40\r", "\r", answer("1")],
      ["{", '  "jsonrpc": "2.0",']]) {
      const { call, hear, warnings } = client();
      const waiting = settledAs(call(1));
      await hear(...lines);
      assert.equal(await waiting, "framing");
      assert.equal(warnings[0], "framing");
    }
    const faults = ["content-length: 2", ' {"a":', "[1,", "hello", "", "x{"]
      .map((line) => framingFault(line, new ProtocolError(-32700, "x")).code);
    assert.deepEqual(faults, ["framing", "framing", "framing", "noise", "noise", "noise"]);
    const whole = new ProtocolError(-32600, "no message");
    assert.equal(framingFault('{"level":"info"}', whole).code, "noise");
    assert.ok(framingFault("x".repeat(1e6), undefined).message.length < 400);
  });

  test("a client shows each line that it sends or reads (engineering)", async () => {
    const shown: string[] = [];
    const { call, hear } = client({ onLine: (direction, line) =>
      shown.push(`${direction} ${line}`) });
    const waiting = call(1);
    await hear("noise", answer("1"));
    await waiting;
    assert.deepEqual(shown, ['C->S {"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{}}}',
      "S->C noise", `S->C ${answer("1")}`]);
  });
});

// Cases of these kinds that are elsewhere: those of HTTP in part2-http and part2-events, those of
// earlier revisions in part5-*.
