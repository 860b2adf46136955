// What a hard peer, or a careless handler, must not achieve.
import assert from "node:assert/strict";
import { connect as dial } from "node:net";
import { test } from "node:test";
import {
  connect, connectHttp, listen, open, serveChannel, serveHttp, server, structured, text,
  type Context, type Exchange, type JSONRPCRequest, type Lane,
} from "../mcp-raw.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const line = (id: unknown, name: string, args: object = {}) => JSON.stringify({
  jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args, _meta: META },
});
const silent: Lane = { signal: new AbortController().signal, notify() {} };
const turn = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms));

/** An exchange that never answers and keeps the signals of its calls. */
function deaf(signals: AbortSignal[] = []): Exchange {
  return (_, lane) => {
    signals.push(lane.signal);
    return new Promise(() => {});
  };
}

test("a channel with all its calls in flight still reads cancellations, and starts what waited " +
  "(spec basic/transports/stdio#cancellation)", async () => {
  const signals: AbortSignal[] = [];
  const end = serveChannel(deaf(signals), () => {}, { maxInFlight: 2 });
  for (const id of [1, 2, 3, 4]) assert.equal(end.receive(line(id, "x")), undefined);
  assert.equal(signals.length, 2);
  end.receive('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}');
  end.receive('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}');
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, false, false]);
  end.close(new (await import("../mcp-raw.ts")).TransportError("closed", "x"));
  assert.deepEqual(signals.map(({ aborted }) => aborted), [true, true, true]);
  await end.idle();
});

test("past 4 MiB of requests that wait, a channel asks its reader to pause (engineering)", async () => {
  const end = serveChannel(deaf(), () => {}, { maxInFlight: 1 });
  const mebi = { text: "x".repeat(1024 * 1024) };
  const pauses = [1, 2, 3, 4, 5].map((id) => end.receive(line(id, "x", mebi)));
  assert.deepEqual(pauses.map((pause) => pause instanceof Promise), [false, false, false, false, true]);
  end.receive('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}');
  await pauses[4];
});

test("a handler that floods an unread channel fails alone, and is told why (engineering)", async () => {
  let full = false;
  const sent: string[] = [];
  const flood = server({ name: "t", version: "1", report() {}, tools: [
    { name: "flood", handler(_: unknown, { lane }: Context) {
      full = true;
      void lane.notify({ jsonrpc: "2.0", method: "notifications/progress" });
      return text("unreached");
    } },
    { name: "quiet", handler: () => text("fine") },
  ] });
  const end = serveChannel(flood.exchange, (it) => void sent.push(it), { full: () => full });
  end.receive(line(1, "flood"));
  end.receive(line(2, "quiet"));
  await turn();
  assert.deepEqual(sent.map((it) => JSON.parse(it)).map(({ id, result }) =>
    [id, result.isError ?? false, /4 MiB behind/.test(result.content[0].text)]),
  [[1, true, true], [2, false, false]]);
});

test("lane.notify takes notifications alone: no request, no answer, no rubbish " +
  "(spec basic/transports/stdio#receiving-messages)", async () => {
  const sent: string[] = [];
  const odd = [undefined, null, 5, {}, { id: 7, method: "roots/list" }, { id: 1, result: {} }];
  const exchange: Exchange = async ({ id }, lane) => {
    for (const it of odd) assert.throws(() => lane.notify(it as never), TypeError);
    return { jsonrpc: "2.0", id, result: { resultType: "complete" } };
  };
  serveChannel(exchange, (it) => void sent.push(it)).receive(line(1, "x"));
  await turn();
  assert.deepEqual(sent, ['{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}']);
});

test("an integer id that JSON numbers cannot hold is refused, not answered under another " +
  "(spec basic#result-responses)", () => {
  const sent: string[] = [];
  const end = serveChannel(deaf(), (it) => void sent.push(it));
  end.receive('{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}');
  const { error, ...rest } = JSON.parse(sent[0] ?? "{}");
  assert.deepEqual([error.code, rest], [-32600, { jsonrpc: "2.0" }]);
});

test("progress under a token that the call did not send sets no clock back " +
  "(spec basic/patterns/progress#behavior-requirements)", async () => {
  const chatty: Exchange = (_, lane) => new Promise(() => {
    const timer = setInterval(() => void lane.notify({ jsonrpc: "2.0",
      method: "notifications/progress", params: { progressToken: "zz", progress: 1 } }), 10);
    lane.signal.addEventListener("abort", () => clearInterval(timer));
  });
  const heard: unknown[] = [];
  const client = connect(chatty);
  await assert.rejects(client.call("tools/list", {}, { timeoutMs: 60 }), { code: "timeout" });
  await assert.rejects(client.call("tools/list", {},
    { timeoutMs: 60, onProgress: (it) => heard.push(it) }), { code: "timeout" });
  assert.deepEqual(heard, []);
});

test("a call without params is refused at once and leaves no clock behind (engineering)", async () => {
  const client = connect(deaf());
  await assert.rejects(client.call("tools/list", undefined as never), TypeError);
});

test("structured content is held to its schema as it will be sent: NaN is null by then " +
  "(spec server/tools#output-schema)", async () => {
  const number = { type: "object", properties: { x: { type: "number" } } } as const;
  const when = { type: "object", properties: { x: { type: "string" } } } as const;
  const app = server({ name: "t", version: "1", report() {}, tools: [
    { name: "nan", outputSchema: number, handler: () => structured({ x: NaN }) },
    { name: "date", outputSchema: when, handler: () => structured({ x: new Date(0) }) },
  ] });
  const call = async (name: string) =>
    await app.exchange(JSON.parse(line(1, name)) as JSONRPCRequest, silent) as object;
  assert.equal((await call("nan") as { error: { code: number } }).error.code, -32603);
  const { result } = await call("date") as { result: Record<string, unknown> };
  assert.deepEqual(result.structuredContent, { x: "1970-01-01T00:00:00.000Z" });
});

test("a body past the limit gets its 413 even when the client is still sending " +
  "(RFC 9110 §15.5.14)", async () => {
  const { url, close } = await listen(serveHttp(deaf(), { maxBody: 1000 }), 0);
  for (let n = 0; n < 5; n++) {
    const response = await fetch(url, { method: "POST", body: "x".repeat(8 * 1024 * 1024), headers: {
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
    } });
    assert.equal(response.status, 413);
    await response.text();
  }
  await close();
});

test("close ends what is under way with the reason shutdown, and whoever waits gets a 503 " +
  "(engineering)", async () => {
  const signals: AbortSignal[] = [];
  const app = server({ name: "t", version: "1", tools: [{ name: "wait", handler: (_: unknown, { lane }: Context) => {
    signals.push(lane.signal);
    return new Promise(() => {});
  } }] });
  const { url, close } = await app.listen(0);
  const { client } = await open(url);
  const call = client.call("tools/call", { name: "wait" }).catch((error: Error) => error);
  while (signals.length === 0) await turn(5);
  await close();
  assert.equal(signals[0]?.reason.code, "shutdown");
  assert.match(String(await call), /shutting down/);
});

test("an error of the client shows no password and no query of its URL (engineering)", async () => {
  const exchange = connectHttp("http://user:hush@127.0.0.1:9/mcp?token=hush",
    { fetch: async () => { throw new Error("no"); } });
  await assert.rejects(exchange(JSON.parse(line(1, "x")) as JSONRPCRequest, silent), (error: Error) => {
    assert.match(error.message, /127\.0\.0\.1:9\/mcp/);
    assert.doesNotMatch(error.message, /hush/);
    return true;
  });
});

test("a half-closed connection with a body that never ends is let go (engineering)", async () => {
  const { url, close } = await listen(serveHttp(deaf()), 0);
  const socket = dial(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.write("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" +
    "Content-Length: 5000000\r\n\r\n{");
  const closed = new Promise((resolve) => socket.on("close", resolve));
  socket.resume();
  await closed;
  await close();
});
