// Part IV: what clients do, and how a call ends before its answer on a channel.
// The server is a function that the test writes, or texts handed in by hand.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { afterEach, describe, mock, test } from "node:test";
import {
  ProtocolError, TransportError, connect, connectChannel, dispatch, serveChannel, tools,
  type ClientOptions, type Context, type Exchange, type JSONRPCRequest, type Lane, type Methods,
} from "../mcp-raw.ts";
import { lane, ms, request, resultOf, scripted, until, within } from "./kit-http.ts";

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CALL = { name: "x" };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const never = () => new Promise<object>(() => {});
/** Never answers, and rejects when the caller gives up, as every transport does. */
const silent = (_: JSONRPCRequest, { signal }: Lane) => new Promise<object>((_, reject) =>
  signal.addEventListener("abort", () => reject(signal.reason)));
const refusal = (id: unknown, code: number, data?: unknown) =>
  ({ jsonrpc: "2.0", id, error: { code, message: "refused", ...(
    data !== undefined && { data }) } });
const metaOf = ({ params }: JSONRPCRequest) => params?._meta as Record<string, unknown>;
const progress = (token: unknown, n: number) =>
  ({ jsonrpc: "2.0" as const, method: "notifications/progress",
    params: { progressToken: token, progress: n } });
/** A client of a scripted server, and what that server was asked. */
function clientOf(answer: (request: JSONRPCRequest, lane: Lane) => object | Promise<object>,
  options: ClientOptions = {}) {
  const { exchange, asked } = scripted(answer);
  return { client: connect(exchange, options), asked };
}

describe("Client: requests", () => {
  test("every request carries the version, who asks, and what it can do " +
    "(spec basic#meta)", async () => {
    const { client, asked } = clientOf(({ id }) => resultOf(id, { content: [] }),
      { info: { name: "me", version: "3" }, capabilities: {
        extensions: { "com.example/x": {} } } });
    await client.call("tools/call", { name: "x", arguments: { a: 1 },
      _meta: { "com.example/trace": "t" } });
    assert.deepEqual(asked, [{ jsonrpc: "2.0", id: asked[0]?.id, method: "tools/call", params: {
      name: "x", arguments: { a: 1 },
        _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "me", version: "3" },
        "io.modelcontextprotocol/clientCapabilities": { extensions: { "com.example/x": {} } },
        "com.example/trace": "t" } } }]);
  });

  test("ids are strings or integers and never used twice (spec basic#requests)", async () => {
    const { client, asked } = clientOf(({ id }) => resultOf(id));
    await Promise.all([client.call("server/discover", {}), client.call("server/discover", {})]);
    await client.call("server/discover", {});
    const ids = asked.map(({ id }) => id);
    assert.equal(new Set(ids).size, 3);
    for (const id of ids) assert.ok(typeof id === "string" || Number.isInteger(id));
  });

  test("a refusal is a ProtocolError with the code, the message and the data that came " +
    "(spec basic#error-responses)", async () => {
    const { client } = clientOf(({ id }) => refusal(id, -32602, { at: 1 }));
    await assert.rejects(client.call("tools/call", CALL), (error: unknown) => {
      assert.ok(error instanceof ProtocolError);
      assert.deepEqual([error.code, error.message, error.data], [-32602, "refused", { at: 1 }]);
      return true;
    });
  });

  test("a tool's failure is a result, for the caller to look at " +
    "(spec server/tools#error-handling)", async () => {
    const failure = { content: [{ type: "text", text: "no" }], isError: true };
    const { client } = clientOf(({ id }) => resultOf(id, failure));
    assert.deepEqual(await client.call("tools/call", CALL), { resultType: "complete", ...failure });
  });

  test("LIF-23: an absent resultType is complete, an unknown one is invalid " +
    "(spec basic#resulttype)", async () => {
    const answering = (result: object) => clientOf(({ id }) =>
      ({ jsonrpc: "2.0", id, result })).client.call("tools/call", CALL);
    assert.deepEqual(await answering({}), {});
    assert.deepEqual(await answering({ resultType: "complete" }), { resultType: "complete" });
    for (const resultType of ["banana", "Complete", "", 1, {}]) {
      await assert.rejects(answering({ resultType }), { name: "TransportError", code: "result" });
    }
  });
});

describe("Client: versions", () => {
  const refusing = (supported: string[], good?: string) => (asked: JSONRPCRequest) => {
    const requested = metaOf(asked)[VERSION];
    return requested === good ? resultOf(asked.id) : refusal(
      asked.id, -32022, { supported, requested });
  };
  const versionsOf = (asked: JSONRPCRequest[]) => asked.map((one) => metaOf(one)[VERSION]);

  test("LIF-25: with no version in common the refusal is the error, after one attempt " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const { client, asked } = clientOf(refusing(["2030-01-01"]));
    await assert.rejects(client.call("tools/call", CALL), { name: "ProtocolError", code: -32022 });
    assert.equal(asked.length, 1);
  });

  test("LIF-25: a version in common is used for one retry, under another id, and from then on " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const { client, asked } = clientOf(refusing(["2027-01-01", "2026-07-28"], "2026-07-28"),
      { versions: ["2030-01-01", "2026-07-28"] });
    assert.equal(client.version(), "2030-01-01");
    await client.call("tools/call", CALL);
    await client.call("tools/call", CALL);
    assert.deepEqual(versionsOf(asked), ["2030-01-01", "2026-07-28", "2026-07-28"]);
    assert.equal(new Set(asked.map(({ id }) => id)).size, 3);
    assert.equal(client.version(), "2026-07-28");
  });

  test("LIF-25: a server that refuses what it offers is asked twice, not for ever " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const { client, asked } = clientOf(refusing(["2030-01-01", "2026-07-28"]),
      { versions: ["2030-01-01", "2026-07-28"] });
    await assert.rejects(client.call("tools/call", CALL), { code: -32022 });
    assert.deepEqual(versionsOf(asked), ["2030-01-01", "2026-07-28"]);
  });

  test("calls made at once are all asked again in the version that both speak " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const { client } = clientOf(async (asked) => (await turn(),
      refusing(["2026-07-28"], "2026-07-28")(asked)),
      { versions: ["2030-01-01", "2026-07-28"] });
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => client.call("tools/call", CALL)));
    assert.deepEqual(outcomes.map(({ status }) => status), ["fulfilled", "fulfilled", "fulfilled"]);
  });

  test("-32022 without a list of versions is an error like any other " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    for (const data of [undefined, null, {}, { supported: "2026-07-28" }, { supported: [1] }]) {
      const { client, asked } = clientOf(({ id }) => refusal(id, -32022, data),
        { versions: ["2030-01-01", "2026-07-28"] });
      await assert.rejects(client.call("tools/call", CALL), { code: -32022 });
      assert.equal(asked.length, 1);
    }
  });
});

describe("Client: lists", () => {
  const tool = (name: unknown) => ({ name, inputSchema: { type: "object" } });
  const page = (names: unknown[], nextCursor?: unknown) =>
    ({ tools: names.map(tool), ...(nextCursor !== undefined && { nextCursor }) });
  const listing = (answer: (cursor: unknown, n: number) => object, options?: ClientOptions) => {
    let n = 0;
    return clientOf(({ id, params }) => n > 2000 ? assert.fail("there is no end to it")
      : resultOf(id, answer(params?.["cursor"], n++)), options);
  };
  const names = async (client: ReturnType<typeof connect>) =>
    (await client.list("tools/list", "tools")).map(({ name }) => name);

  test("a list is read page by page until no cursor comes, each handed back as it came " +
    "(spec server/utilities/pagination#implementation-guidelines)", async () => {
    const odd = " =?/+é\n{\"a\":1} ";
    const { client, asked } = listing((cursor) => cursor === undefined ? page(["a", "b"], odd)
      : page(["c"]));
    assert.deepEqual(await names(client), ["a", "b", "c"]);
    assert.deepEqual(asked.map(({ params }) => [Object.hasOwn(params ?? {}, "cursor"),
      params?.["cursor"]]),
      [[false, undefined], [true, odd]]);
  });

  test("LIF-12: an empty cursor is a cursor: the list goes on " +
    "(spec server/utilities/pagination#implementation-guidelines)", async () => {
    const { client, asked } = listing((cursor) => cursor === undefined ? page(["a"], "")
      : page(["b"]));
    assert.deepEqual(await names(client), ["a", "b"]);
    assert.equal(asked[1]?.params?.["cursor"], "");
  });

  test("a cursor of null ends the list " +
    "(spec server/utilities/pagination#implementation-guidelines)", async () => {
    assert.deepEqual(await names(listing(() => page(["a"], null)).client), ["a"]);
  });

  test("LIF-12: a cursor that comes again ends in an error, and so do a thousand pages " +
    "(engineering)", async () => {
    for (const cursor of ["a", ""]) {
      const { client, asked } = listing(() => page(["t"], cursor));
      await assert.rejects(client.list("tools/list", "tools"),
        { name: "TransportError", code: "result" });
      assert.equal(asked.length, 2);
    }
    const { client, asked } = listing((_, n) => page([], `c${n}`));
    await assert.rejects(client.list("tools/list", "tools"), { code: "result" });
    assert.equal(asked.length, 1000);
  });

  test("LIF-13: a malformed entry is left out with a warning and hides no other; no list at all " +
    "is an error (engineering)", async () => {
    const warnings: string[] = [];
    const options = { warn: (text: string) => void warnings.push(text) };
    const odd = [null, { name: "p", inputSchema: { type: "object" }, annotations: [] }, "x", [],
      tool(5), {}, tool("ok")];
    assert.deepEqual((await names(listing(() => ({ tools: odd }), options).client)).at(-1), "ok");
    assert.equal(warnings.length, 5);
    for (const wrong of [null, {}, "a", undefined]) {
      await assert.rejects(listing(() => ({ tools: wrong })).client.list("tools/list", "tools"),
        { name: "TransportError", code: "result" });
    }
  });
});

describe("Client: waiting", () => {
  afterEach(() => mock.timers.reset());
  const clock = () => mock.timers.enable({ apis: ["setTimeout"] });
  const outcome = (call: Promise<unknown>) => {
    const seen: { code?: unknown; ended: boolean } = { ended: false };
    call.then(() => (seen.ended = true), (error: { code: unknown }) =>
      Object.assign(seen, { code: error.code, ended: true }));
    return seen;
  };

  test("a call without an answer is given up after a minute, and its request cancelled " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    let reason: unknown;
    const seen = outcome(clientOf((asked, lane) => {
      lane.signal.addEventListener("abort", () => (reason = lane.signal.reason));
      return silent(asked, lane);
    }).client.call("tools/call", CALL));
    mock.timers.tick(59_999);
    await turn();
    assert.equal(seen.ended, false);
    mock.timers.tick(1);
    await turn();
    assert.deepEqual(seen, { code: "timeout", ended: true });
    assert.equal((reason as TransportError).code, "timeout");
  });

  test("the time can be set for all calls and for each " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    const { client } = clientOf(silent, { timeoutMs: 100 });
    const [usual, own] = [outcome(client.call("tools/call", CALL)),
      outcome(client.call("tools/call", CALL, { timeoutMs: 300 }))];
    mock.timers.tick(100);
    await turn();
    assert.deepEqual([usual.ended, own.ended], [true, false]);
    mock.timers.tick(200);
    await turn();
    assert.equal(own.code, "timeout");
  });

  test("progress sets the clock back, yet there is an end whatever the progress " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    let say = (_: number) => {};
    const { client } = clientOf((asked, lane) => {
      say = (n) => void lane.notify(progress(metaOf(asked)["progressToken"], n));
      return silent(asked, lane);
    }, { timeoutMs: 100, maxTimeoutMs: 1000 });
    const heard: number[] = [];
    const seen = outcome(client.call("tools/call", CALL, { onProgress: ({ progress }) =>
      void heard.push(progress) }));
    for (let n = 1; n <= 12; n++) {
      mock.timers.tick(90);
      say(n);
      await turn();
      assert.equal(seen.ended, n * 90 >= 1000, `after ${n * 90} ms`);
    }
    assert.equal(seen.code, "timeout");
    assert.deepEqual(heard.slice(0, 3), [1, 2, 3]);
  });

  test("other notifications do not set the clock back " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    clock();
    const { client } = clientOf((asked, lane) => {
      setTimeout(() => void lane.notify({ jsonrpc: "2.0", method: "notifications/message",
        params: {} }), 90);
      return silent(asked, lane);
    }, { timeoutMs: 100 });
    const seen = outcome(client.call("tools/call", CALL));
    for (const time of [90, 10]) {
      mock.timers.tick(time);
      await turn();
    }
    assert.equal(seen.code, "timeout");
  });

  test("PRG-04: progress sets the clock back up to a limit, at which the call is cancelled " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    for (const [maxTimeoutMs, end] of [[100, 100], [300, 300], [100_000, undefined]] as const) {
      clock();
      const sent: JSONRPCRequest[] = [];
      const channel = connectChannel((text) => void sent.push(JSON.parse(text) as JSONRPCRequest));
      const seen = outcome(connect(channel.exchange, { timeoutMs: 100, maxTimeoutMs }).call(
        "tools/call", CALL, { onProgress() {} }));
      await turn();
      const { id, params } = sent[0] as JSONRPCRequest;
      const token = JSON.stringify((params?._meta as Record<string, unknown>)["progressToken"]);
      for (let time = 50; time <= 1000; time += 50) {
        mock.timers.tick(50);
        await channel.receive('{"jsonrpc":"2.0","method":"notifications/progress",' +
          `"params":{"progressToken":${token},"progress":${time}}}`);
        await turn();
        assert.equal(seen.ended, end !== undefined && time >= end, `${time} of ${maxTimeoutMs}`);
      }
      assert.deepEqual(sent.slice(1).map(({ method, params: told }) =>
        [method, told?.["requestId"]]), end === undefined ? []
        : [["notifications/cancelled", id]]);
      channel.close(new TransportError("closed", "over"));
      await turn();
      mock.timers.reset();
    }
  });

  test("a time limit of Infinity is none (spec basic/patterns/cancellation#timeouts)", async () => {
    const controller = new AbortController();
    const seen = outcome(clientOf(silent, { timeoutMs: 1, maxTimeoutMs: 1 }).client.call(
      "tools/call", CALL, { timeoutMs: Infinity, signal: controller.signal }));
    await ms(30);
    assert.equal(seen.ended, false);
    controller.abort();
    await turn();
    assert.equal(seen.code, "cancelled");
  });

  test("a call ends at its time though the other side of the exchange takes no notice " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    const { client } = clientOf(never, { timeoutMs: 30, maxTimeoutMs: 30 });
    assert.notEqual(await within(client.call("tools/call", CALL, { timeoutMs: 5 }).catch(
      () => "ended"), 200), "pending");
    const controller = new AbortController();
    const call = client.call("tools/call", CALL, { signal: controller.signal }).catch(
      () => "ended");
    controller.abort();
    assert.notEqual(await within(call, 200), "pending");
  });

  test("no timer is left when a call has ended, whatever the other side still says " +
    "(engineering)", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
    const before = timers();
    let say = () => {};
    const { client } = clientOf((asked, lane) => {
      say = () => void lane.notify(progress(metaOf(asked)["progressToken"], 1));
      return asked.method === "tools/call" ? refusal(asked.id, -32602) : resultOf(asked.id);
    }, { timeoutMs: 300 });
    const heard: unknown[] = [];
    const options = { onProgress: (one: object) => void heard.push(one) };
    await client.call("server/discover", {}, options);
    say();
    await client.call("tools/call", CALL, options).catch(() => {});
    say();
    assert.deepEqual([timers(), heard], [before, []]);
  });

  test("an aborted call rejects with the reason, and one aborted before is not sent " +
    "(spec basic/patterns/cancellation#cancellation-flow)", async () => {
    const controller = new AbortController();
    const channel = connectChannel((text) => void lines.push(text));
    const lines: string[] = [];
    const call = connect(channel.exchange).call("tools/call", CALL, { signal: controller.signal });
    controller.abort(new Error("changed my mind"));
    await assert.rejects(call, { name: "TransportError", code: "cancelled",
      message: "changed my mind" });
    await assert.rejects(connect(channel.exchange).call("tools/call", CALL,
      { signal: controller.signal }), { code: "cancelled" });
    assert.deepEqual(lines.map((line) => (JSON.parse(line) as { method: string }).method),
      ["tools/call", "notifications/cancelled"]);
  });

  test("CAN-09: a signal used for a thousand calls keeps no listener (engineering)", async () => {
    const controller = new AbortController();
    const warnings: Error[] = [];
    const heard = (warning: Error) => void warnings.push(warning);
    process.on("warning", heard);
    const channel = connectChannel((text) => {
      const { id } = JSON.parse(text) as { id: number };
      queueMicrotask(() => void channel.receive(JSON.stringify(
        id % 2 ? resultOf(id) : refusal(id, -32602))));
    });
    const client = connect(channel.exchange);
    for (let n = 0; n < 1000; n++) await client.call("tools/call", CALL,
      { signal: controller.signal }).catch(() => {});
    await turn();
    process.off("warning", heard);
    assert.deepEqual([getEventListeners(controller.signal, "abort").length, warnings], [0, []]);
  });
});

describe("Client: progress", () => {
  test("a token is sent when progress is wanted, its own for each call " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    const { client, asked } = clientOf(({ id }) => resultOf(id));
    const onProgress = () => {};
    await Promise.all([client.call("tools/call", CALL, { onProgress }),
      client.call("tools/call", CALL, { onProgress })]);
    await client.call("tools/call", CALL);
    const tokens = asked.map((one) => metaOf(one)["progressToken"]);
    assert.ok(tokens.slice(0, 2).every((token) => typeof token === "string" ||
      Number.isInteger(token)));
    assert.notEqual(tokens[0], tokens[1]);
    assert.equal(Object.hasOwn(metaOf(asked[2] as JSONRPCRequest), "progressToken"), false);
  });

  test("progress reaches the call whose token it names, and no other " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    const sent: JSONRPCRequest[] = [];
    const channel = connectChannel((text) => void sent.push(JSON.parse(text) as JSONRPCRequest));
    const [client, heard]: [ReturnType<typeof connect>, string[]] = [connect(channel.exchange), []];
    const calls = ["a", "b"].map((name) => client.call("tools/call", CALL,
      { onProgress: ({ progress }) => void heard.push(`${name}${progress}`) }));
    await turn();
    const [first, second] = sent as [JSONRPCRequest, JSONRPCRequest];
    for (const [one, n] of [[second, 1], [first, 2], [second, 3]] as const) {
      await channel.receive(JSON.stringify(progress(metaOf(one)["progressToken"], n)));
    }
    await channel.receive(JSON.stringify(progress("made up", 4)));
    for (const { id } of sent) await channel.receive(JSON.stringify(resultOf(id)));
    await Promise.all(calls);
    assert.deepEqual(heard, ["b1", "a2", "b3"]);
  });

  test("PRG-01: progress that comes after the answer is nobody's, and the channel goes on " +
    "(spec basic/patterns/progress#behavior-requirements)", async () => {
    const stray: unknown[] = [];
    const channel = connectChannel(() => {}, { other: (message) => void stray.push(message) });
    const on = lane();
    const call = channel.exchange(request("tools/call", CALL, 0), on);
    const late = '{"jsonrpc":"2.0","method":"notifications/progress",' +
      '"params":{"progressToken":0,"progress":1}}';
    await channel.receive('{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete"}}');
    await channel.receive(late);
    assert.deepEqual([await call, on.said, stray], [resultOf(0), [], [JSON.parse(late)]]);
    const next = channel.exchange(request("tools/call", CALL, 1), on);
    await channel.receive('{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}');
    assert.deepEqual(await next, resultOf(1));
  });

  test("a listener that throws fails its own call, and harms neither the channel nor another " +
    "call (engineering)", async () => {
    const sent: JSONRPCRequest[] = [];
    const channel = connectChannel((text) => void sent.push(JSON.parse(text) as JSONRPCRequest));
    const client = connect(channel.exchange);
    const failing = assert.rejects(client.call("tools/call", CALL,
      { onProgress: () => { throw new Error("mine"); } }),
      { name: "TransportError", code: "usage" });
    const other = client.call("tools/call", CALL);
    await turn();
    const [first, second] = sent as [JSONRPCRequest, JSONRPCRequest];
    await channel.receive(JSON.stringify(progress(metaOf(first)["progressToken"], 1)));
    await channel.receive(JSON.stringify(resultOf(second.id)));
    await failing;
    assert.deepEqual(await other, { resultType: "complete" });
  });
});

describe("Cancelling and closing on a channel", () => {
  /** The server's end of a channel: what it sends, and how to speak to it. */
  function served(run: (context: Context, name: unknown) => object | Promise<object>) {
    const sent: string[] = [];
    const reported: unknown[] = [];
    const end = serveChannel(dispatch({ name: "probe", version: "1" }, [{ methods: {
      "tools/call": async (params, context) => ({ ...await run(context, params["name"]) }) } }]),
    (text) => void sent.push(text), { report: (error) => void reported.push(error) });
    return { end, sent, reported, call: (id: number | string, name = "x") =>
      void end.receive(JSON.stringify(request("tools/call", { name }, id))) };
  }
  const cancel = (params: string) =>
    `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`;
  const idsOf = (sent: string[]) => sent.map((text) => (JSON.parse(text) as { id: unknown }).id);

  test("CAN-02: a cancellation of no call, of an ended one or without a proper id is ignored, " +
    "and the next request works (spec basic/patterns/cancellation#error-handling)", async () => {
    const { end, sent, call } = served(() => ({ content: [] }));
    call(1);
    await turn();
    for (const text of [cancel('{"requestId":999}'), cancel('{"requestId":1}'),
      cancel('{"requestId":{}}'),
      cancel('{"requestId":null}'), cancel('{"requestId":true}'), cancel("{}"),
      '{"jsonrpc":"2.0","method":"notifications/cancelled"}']) await end.receive(text);
    await turn();
    assert.deepEqual(idsOf(sent), [1]);
    call(2);
    await turn();
    assert.deepEqual(idsOf(sent), [1, 2]);
  });

  test("CAN-03: nothing is sent about a cancelled request, though its handler goes on " +
    "(spec basic/transports/stdio#cancellation)", async () => {
    let ended = false;
    const { end, sent, call } = served(async ({ lane }, name) => {
      if (name === "deaf") {
        await ms(20);
        await lane.notify(progress("p", 1));
        ended = true;
      }
      return { content: [] };
    });
    call(4, "deaf");
    await ms(5);
    await end.receive(cancel('{"requestId":4,"reason":"too slow"}'));
    call(5);
    await until(() => ended);
    await turn();
    assert.deepEqual(idsOf(sent), [5]);
  });

  test("a cancellation reaches the handler's signal with its reason, and 4 is not \"4\" " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const signals = new Map<unknown, AbortSignal>();
    const { end, call } = served(({ lane, request }) => (signals.set(request.id, lane.signal),
      never()));
    call(4);
    call("4");
    await turn();
    await end.receive(cancel('{"requestId":"4","reason":"too slow"}'));
    assert.deepEqual([signals.get(4)?.aborted, signals.get("4")?.aborted], [false, true]);
    const reason = signals.get("4")?.reason as TransportError;
    assert.equal(reason.code, "cancelled");
    assert.match(reason.message, /too slow/);
  });

  test("the id of a cancelled call may be used again, and the old answer is not taken for the " +
    "new one (spec basic#requests)", async () => {
    const finish: (() => void)[] = [];
    const { end, sent, call } = served((_, name) => new Promise((resolve) =>
      finish.push(() => resolve({ content: [], from: name }))));
    call(1, "old");
    await turn();
    await end.receive(cancel('{"requestId":1}'));
    call(1, "new");
    await turn();
    for (const settle of finish) settle();
    await turn();
    assert.deepEqual(sent.map((text) => (JSON.parse(text) as {
      result: { from: string } }).result.from), ["new"]);
  });

  test("the client announces a cancelled call, with its id and the reason, once " +
    "(spec basic/transports/stdio#cancellation)", async () => {
    const sent: unknown[] = [];
    const [channel, controller] = [connectChannel((text) => void sent.push(JSON.parse(text))),
      new AbortController()];
    const call = channel.exchange(request("tools/call", CALL, 7), lane(controller.signal));
    controller.abort(new TransportError("cancelled", "enough"));
    await assert.rejects(call, { code: "cancelled" });
    assert.deepEqual(sent, [request("tools/call", CALL, 7),
      { jsonrpc: "2.0", method: "notifications/cancelled",
        params: { requestId: 7, reason: "enough" } }]);
    await channel.receive(JSON.stringify(resultOf(7)));
    channel.close(new TransportError("closed", "over"));
    assert.equal(sent.length, 2);
  });

  test("an answered call is not cancelled any more " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const sent: string[] = [];
    const [channel, controller] = [connectChannel((text) => void sent.push(text)),
      new AbortController()];
    const call = channel.exchange(request("tools/call", CALL, 7), lane(controller.signal));
    await channel.receive(JSON.stringify(resultOf(7)));
    assert.deepEqual(await call, resultOf(7));
    controller.abort();
    assert.equal(sent.length, 1);
  });

  test("a late answer to a cancelled call is nobody's " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const stray: unknown[] = [];
    const [channel, controller] = [connectChannel(() => {}, {
      other: (message) => void stray.push(message) }), new AbortController()];
    const call = channel.exchange(request("tools/call", CALL, 7), lane(controller.signal)).catch(
      () => "cancelled");
    controller.abort();
    await channel.receive(JSON.stringify(resultOf(7)));
    assert.deepEqual([await call, stray], ["cancelled", [resultOf(7)]]);
  });

  test("LIF-09: when the channel closes, handlers are told at once, their late answers go " +
    "nowhere, and calls reject (spec basic/patterns/cancellation#behavior-requirements)",
    async () => {
    let signal: AbortSignal | undefined;
    let finish = () => {};
    const { end, sent, reported, call } = served(async ({ lane }) => {
      signal = lane.signal;
      await new Promise<void>((resolve) => (finish = resolve));
      return { content: [] };
    });
    call(1);
    await turn();
    end.close(new TransportError("disconnected", "gone"));
    assert.equal(signal?.aborted, true);
    finish();
    await turn();
    assert.deepEqual([sent, reported], [[], []]);
    const channel = connectChannel(() => {});
    const pending = channel.exchange(request("tools/call", CALL), lane());
    channel.close(new TransportError("closed", "gone"));
    await assert.rejects(pending, { code: "closed", message: "gone" });
    await assert.rejects(channel.exchange(request("tools/call", CALL), lane()), { code: "closed" });
  });

  test("LIF-11: closing again, also from within what closing sets off, is harmless " +
    "(engineering)", async () => {
    let aborts = 0;
    const { end, call } = served(({ lane }) => {
      lane.signal.addEventListener("abort", () => {
        aborts++;
        end.close(new TransportError("disconnected", "again"));
      });
      return never();
    });
    call(1);
    call(2);
    await turn();
    end.close(new TransportError("disconnected", "gone"));
    end.close(new TransportError("disconnected", "gone"));
    assert.equal(aborts, 2);
    const channel = connectChannel(() => {});
    const pending = channel.exchange(request("tools/call", CALL), lane()).catch((error: Error) => {
      channel.close(new TransportError("closed", "again"));
      return error.message;
    });
    channel.close(new TransportError("closed", "first"));
    channel.close(new TransportError("closed", "second"));
    assert.equal(await pending, "first");
  });
});

describe("Client and server together", () => {
  test("a client calls tools in-process: results, refusals and failures " +
    "(spec server/tools#calling-tools)", async () => {
    const exchange: Exchange = dispatch({ name: "probe", version: "1" }, [tools([
      { name: "hi", handler: () => ({ content: [{ type: "text", text: "hi" }] }) }],
        { compile: () => () => undefined })]);
    const client = connect(exchange);
    const { content } = await client.call("tools/call", { name: "hi" }) as Methods["tools/call"][
      "result"];
    assert.deepEqual(content, [{ type: "text", text: "hi" }]);
    assert.deepEqual((await client.list("tools/list", "tools")).map(({ name }) => name), ["hi"]);
    await assert.rejects(client.call("tools/call", { name: "no" }), { code: -32602 });
  });
});

// Cases of kind lifecycle and cancellation that are elsewhere: LIF-08, LIF-15, LIF-21, LIF-24 in
// part2-http and part3, LIF-28, LIF-30, LIF-31 in part4-answering, the handshake's in part5-*.
