// Part IV, Subscribing: hearing of changes for as long as the caller likes.
// The server is a list of listening calls that the test answers, ends or loses by hand.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { afterEach, describe, mock, test } from "node:test";
import {
  TransportError, connect, connectChannel, connectHttp, subscribe,
  type Exchange, type JSONRPCNotification, type JSONRPCRequest, type SubscriptionFilter,
} from "../mcp-raw.ts";
import { fakeFetch, ms, resultOf, until, within } from "./kit-http.ts";

const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const ACK = "notifications/subscriptions/acknowledged";
const TOOLS = { toolsListChanged: true };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const turns = async () => { for (let n = 0; n < 5; n++) await turn(); };
const told = (id: unknown, method: string, params: object = {}) =>
  ({ jsonrpc: "2.0" as const, method, params: { ...params, _meta: { [SUBSCRIPTION]: id } } });
const changed = (id: unknown) => told(id, "notifications/tools/list_changed");
const gone = () => new TransportError("disconnected", "the connection was lost");

/** One listening call as the server has it. */
interface Opened {
  request: JSONRPCRequest; signal: AbortSignal;
  say(method: string, params?: object): void;
  ack(notifications?: object): void;
  end(): void;
  fail(error: Error): void;
  refuse(code: number): void;
}
/** An exchange whose listening calls the test holds in its hands. */
function listening() {
  const opened: Opened[] = [];
  const exchange: Exchange = (request, { signal, notify }) => new Promise((resolve, reject) => {
    const { id } = request;
    const say = (method: string, params?: object) => void notify(told(id, method, params));
    signal.addEventListener("abort", () => reject(signal.reason));
    opened.push({ request, signal, say, fail: reject,
      ack: (notifications = request.params?.["notifications"] as object) =>
        say(ACK, { notifications }),
      end: () => resolve({ jsonrpc: "2.0", id,
        result: { resultType: "complete", _meta: { [SUBSCRIPTION]: id } } }),
      refuse: (code) => resolve({ jsonrpc: "2.0", id, error: { code, message: "no" } }) });
  });
  return { exchange, opened, at: (n: number) => opened[n] ?? assert.fail(`no listen ${n}`) };
}
type More = Partial<Parameters<typeof subscribe>[2]>;
/** A subscription to such a server, and what came of it. */
function subscribed(filter: SubscriptionFilter = TOOLS, more: More = {}) {
  const server = listening();
  const [heard, lost, warnings]: [JSONRPCNotification[], unknown[], string[]] = [[], [], []];
  const controller = new AbortController();
  const subscription = subscribe(connect(server.exchange), filter, {
    onChange: (one) => void heard.push(one), onLost: (error) => void lost.push(error),
    warn: (text) => void warnings.push(text), signal: controller.signal, ...more });
  const stop = async () => {
    controller.abort();
    assert.notEqual(await now(subscription.closed.catch(() => {})), "pending");
  };
  return { ...server, ...subscription, heard, lost, warnings, controller, stop };
}
/** What a promise has come to when all that needs no timer has happened. */
async function stateOf(promise: Promise<unknown>): Promise<string> {
  const outcome = promise.then(() => "resolved", () => "rejected");
  return Promise.race([outcome, turns().then(() => "pending")]);
}
/** What a promise has come to, or that it has not; needs no timer either. */
const now = async <T>(promise: Promise<T>): Promise<T | "pending"> =>
  Promise.race([promise, turns().then((): "pending" => "pending")]);

describe("Subscribing: listening", () => {
  test("a subscription is a call of subscriptions/listen with the filter, and nothing unasked " +
    "(spec basic/patterns/subscriptions#opening-a-stream)", async () => {
    const filter = { toolsListChanged: true, resourceSubscriptions: ["file:///a"] };
    const { at, stop } = subscribed(filter);
    await turns();
    const { id, params, ...rest } = at(0).request;
    assert.deepEqual(rest, { jsonrpc: "2.0", method: "subscriptions/listen" });
    assert.deepEqual(params?.["notifications"], filter);
    assert.deepEqual(Object.keys(params ?? {}).sort(), ["_meta", "notifications"]);
    assert.ok(typeof id === "string" || Number.isInteger(id));
    await stop();
  });

  test("SSE-23: it is acknowledged when the server says so, and not before " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const { at, acknowledged, closed, warnings, heard, stop } = subscribed();
    assert.equal(await stateOf(acknowledged), "pending");
    at(0).ack();
    assert.deepEqual(await now(acknowledged), TOOLS);
    assert.equal(await stateOf(closed), "pending");
    assert.deepEqual([warnings, heard], [[], []]);
    await stop();
  });

  test("a server that honours less than was asked is told of in a warning, and what it honours " +
    "is given (spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const asked = { toolsListChanged: true, promptsListChanged: true,
      resourceSubscriptions: ["x:/a", "x:/b"] };
    for (const [honoured, missing] of [
      [{ toolsListChanged: true, resourceSubscriptions: ["x:/a", "x:/b"] }, /prompts/],
      [{ ...asked, resourceSubscriptions: ["x:/a"] }, /x:\/b/],
      [{ ...asked, promptsListChanged: false }, /prompts/], [{}, /tools/],
    ] as [SubscriptionFilter, RegExp][]) {
      const { at, acknowledged, warnings, closed, stop } = subscribed(asked);
      await turns();
      at(0).ack(honoured);
      assert.deepEqual(await now(acknowledged), honoured);
      assert.match(warnings.join("\n"), missing);
      assert.equal(await stateOf(closed), "pending");
      await stop();
    }
  });

  test("what was not asked for is not missed, in whatever order it is listed " +
    "(spec basic/patterns/subscriptions#notification-filter)", async () => {
    const { at, acknowledged, warnings, stop } = subscribed({ toolsListChanged: true,
      promptsListChanged: false, resourceSubscriptions: ["x:/b", "x:/a"] });
    await turns();
    at(0).ack({ resourceSubscriptions: ["x:/a", "x:/b"], toolsListChanged: true });
    await acknowledged;
    assert.deepEqual(warnings, []);
    await stop();
  });

  test("an acknowledgment that is no filter gives what can be read of it, or ends the matter " +
    "(engineering)", async () => {
    for (const notifications of [null, 5, [], { toolsListChanged: "yes" },
      { resourceSubscriptions: "x:/a" }]) {
      const { at, acknowledged, stop } = subscribed({ ...TOOLS, resourceSubscriptions: ["x:/a"] });
      await turns();
      at(0).say(ACK, { notifications });
      const honoured = await now(acknowledged.catch(() => ({})));
      assert.notEqual(honoured, "pending");
      assert.notEqual((honoured as SubscriptionFilter).toolsListChanged, true);
      await stop();
    }
  });

  test("each change is handed on as it came, in order " +
    "(spec basic/patterns/subscriptions#receiving-notifications)", async () => {
    const { at, heard, stop } = subscribed({ ...TOOLS, resourceSubscriptions: ["x:/a"] });
    await turns();
    const { id } = at(0).request;
    at(0).ack();
    at(0).say("notifications/resources/updated", { uri: "x:/a" });
    at(0).say("notifications/tools/list_changed");
    await turns();
    assert.deepEqual(heard, [told(id, "notifications/resources/updated", { uri: "x:/a" }),
      told(id, "notifications/tools/list_changed")]);
    await stop();
  });

  test("listening has no time limit, neither before nor after its acknowledgment " +
    "(spec basic/patterns/subscriptions#opening-a-stream)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { at, opened, closed, lost, heard, stop } = subscribed();
    await turns();
    at(0).ack();
    for (let day = 0; day < 40; day++) {
      mock.timers.tick(86_400_000);
      await turn();
    }
    assert.deepEqual([opened.length, lost, at(0).signal.aborted], [1, [], false]);
    at(0).say("notifications/tools/list_changed");
    assert.equal(heard.length, 1);
    await stop();
    mock.timers.reset();
    assert.notEqual(await now(closed.catch(() => {})), "pending");
  });

  test("a result ends the subscription for good: nothing is lost, and nothing is asked again " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const { at, opened, closed, lost, controller } = subscribed();
    await turns();
    at(0).ack();
    at(0).end();
    assert.notEqual(await now(closed), "pending");
    mock.timers.tick(3_600_000);
    await turns();
    mock.timers.reset();
    assert.deepEqual([opened.length, lost], [1, []]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("an end before the acknowledgment leaves nobody waiting for one " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const { at, closed, acknowledged } = subscribed();
    await turns();
    at(0).end();
    assert.notEqual(await stateOf(closed), "pending");
    assert.equal(await stateOf(acknowledged), "rejected");
  });

  test("a refusal is final: the server is not asked for ever " +
    "(spec basic/patterns/subscriptions#opening-a-stream)", async () => {
    for (const code of [-32601, -32602]) {
      mock.timers.enable({ apis: ["setTimeout"] });
      const { at, opened, closed, acknowledged } = subscribed();
      const ended = closed.then(() => "resolved", () => "rejected");
      const refused = acknowledged.catch((error: { code: unknown }) => error.code);
      await turns();
      at(0).refuse(code);
      await turns();
      mock.timers.tick(3_600_000);
      await turns();
      mock.timers.reset();
      assert.equal(opened.length, 1);
      assert.notEqual(await stateOf(ended), "pending");
      assert.equal(await now(refused), code);
    }
  });
});

describe("Subscribing: a lost connection", () => {
  afterEach(() => mock.timers.reset());
  afterEach(() => mock.restoreAll());
  const clock = (luck?: number) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    if (luck !== undefined) mock.method(Math, "random", () => luck);
  };
  /** Milliseconds until the server is asked once more, in steps of ten. */
  async function wait(opened: Opened[]): Promise<number> {
    const before = opened.length;
    for (let time = 10; time < 600_000; time += 10) {
      mock.timers.tick(10);
      await turn();
      if (opened.length > before) return time;
    }
    return assert.fail("is not asked again");
  }

  test("it is told, and the server is asked again under another id with the same filter " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    clock();
    const filter = { ...TOOLS, resourceSubscriptions: ["x:/a"] };
    const { at, opened, lost, heard, closed, acknowledged, stop } = subscribed(filter);
    await turns();
    at(0).ack();
    await acknowledged;
    const error = gone();
    at(0).fail(error);
    await turns();
    assert.deepEqual(lost, [error]);
    await wait(opened);
    assert.deepEqual(at(1).request.params, at(0).request.params);
    assert.notEqual(at(1).request.id, at(0).request.id);
    at(1).ack();
    at(1).say("notifications/tools/list_changed");
    assert.deepEqual(heard, [changed(at(1).request.id)]);
    assert.equal(await stateOf(closed), "pending");
    await stop();
  });

  test("the wait is never nothing, grows from loss to loss, and stays within minutes " +
    "(engineering)", async () => {
    clock(0.5);
    const { at, opened, lost, stop } = subscribed(TOOLS, { retryMs: 100 });
    const waits: number[] = [];
    for (let n = 0; n < 14; n++) {
      await turns();
      at(n).fail(gone());
      await turns();
      waits.push(await wait(opened));
    }
    assert.ok((waits[0] ?? 0) >= 20 && (waits[0] ?? 0) <= 250, `${waits}`);
    assert.ok((waits[1] ?? 0) > (waits[0] ?? 0) && (waits[3] ?? 0) > (waits[1] ?? 0), `${waits}`);
    assert.deepEqual([...waits].sort((a, b) => a - b), waits);
    assert.ok((waits.at(-1) ?? 0) <= 300_000, `${waits}`);
    assert.equal(waits.at(-1), waits.at(-2));
    assert.equal(lost.length, 14);
    await stop();
  });

  test("clients that lose their server together do not come back together (engineering)",
    async () => {
    const waits = new Set<number>();
    for (const luck of [0.01, 0.3, 0.6, 0.99]) {
      clock(luck);
      const { at, opened, stop } = subscribed(TOOLS, { retryMs: 1000 });
      await turns();
      at(0).fail(gone());
      await turns();
      waits.add(await wait(opened));
      await stop();
      mock.timers.reset();
      mock.restoreAll();
    }
    assert.equal(waits.size, 4, [...waits].join());
  });

  test("what cannot be reached at first is told and tried again (engineering)", async () => {
    clock();
    const { at, opened, acknowledged, lost, stop } = subscribed();
    const state = acknowledged.then(() => "acknowledged", () => "rejected");
    await turns();
    at(0).fail(gone());
    await turns();
    assert.equal(lost.length, 1);
    await wait(opened);
    at(1).ack();
    assert.equal(await state, "acknowledged");
    await stop();
  });

  test("a late word of a lost connection is not taken for one of the new " +
    "(spec basic/patterns/subscriptions#receiving-notifications)", async () => {
    clock();
    const { at, opened, heard, lost, stop } = subscribed();
    await turns();
    at(0).ack();
    at(0).fail(gone());
    await turns();
    await wait(opened);
    at(0).say("notifications/tools/list_changed");
    at(0).fail(gone());
    await turns();
    assert.deepEqual([heard, lost.length, opened.length], [[], 1, 2]);
    await stop();
  });
});

describe("Subscribing: the end", () => {
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;

  test("an aborted signal cancels the call and closes the subscription " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    const { at, closed, controller, heard, lost, opened } = subscribed();
    await turns();
    at(0).ack();
    controller.abort();
    assert.equal(at(0).signal.aborted, true);
    assert.equal(await stateOf(closed), "resolved");
    at(0).say("notifications/tools/list_changed");
    assert.deepEqual([heard, lost, opened.length], [[], [], 1]);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("an aborted signal ends the wait for a lost server, and no timer is left (engineering)",
    async () => {
    const before = timers();
    const { at, closed, controller, opened } = subscribed(TOOLS, { retryMs: 20 });
    await turns();
    at(0).ack();
    at(0).fail(gone());
    await turns();
    controller.abort();
    assert.equal(await stateOf(closed), "resolved");
    assert.equal(timers(), before);
    await ms(100);
    assert.equal(opened.length, 1);
    assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  });

  test("no timer runs while a subscription is open, nor after it ended (engineering)",
    async () => {
    const before = timers();
    const { at, closed, acknowledged } = subscribed();
    await turns();
    at(0).ack();
    await acknowledged;
    assert.equal(timers(), before);
    at(0).end();
    assert.notEqual(await now(closed), "pending");
    assert.equal(timers(), before);
  });

  test("a signal that was aborted before sends nothing (engineering)", async () => {
    const { exchange, opened } = listening();
    const { closed, acknowledged } = subscribe(connect(exchange), TOOLS,
      { onChange() {}, signal: AbortSignal.abort() });
    assert.deepEqual([await stateOf(closed), await stateOf(acknowledged)],
      ["resolved", "rejected"]);
    assert.equal(opened.length, 0);
  });

  test("nobody need look at what a subscription promises: it harms no process (engineering)",
    async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    for (const how of ["refuse", "end", "abort"] as const) {
      const [{ exchange, at }, controller] = [listening(), new AbortController()];
      subscribe(connect(exchange), TOOLS, { onChange() {}, signal: controller.signal });
      await turns();
      if (how === "refuse") at(0).refuse(-32601);
      else if (how === "end") at(0).end();
      else controller.abort();
      await turns();
    }
    await ms(10);
    process.off("unhandledRejection", note);
    assert.deepEqual(unhandled, []);
  });
});

describe("Subscribing: on a channel", () => {
  /** A client whose connection can be replaced, and the lines that each connection got. */
  function restartable() {
    const ends: { lines: string[]; end: ReturnType<typeof connectChannel> }[] = [];
    const start = () => {
      const lines: string[] = [];
      ends.push({ lines, end: connectChannel((text) => void lines.push(text)) });
    };
    start();
    const last = () => ends.at(-1) ?? assert.fail("no connection");
    const client = connect((request, lane) => last().end.exchange(request, lane));
    const sent = (n: number) => (ends[n] ?? assert.fail(`no connection ${n}`)).lines.map((line) =>
      JSON.parse(line) as JSONRPCRequest);
    return { client, ends, start, last, sent };
  }
  const say = ({ last }: ReturnType<typeof restartable>, message: object | string) =>
    last().end.receive(typeof message === "string" ? message : JSON.stringify(message));

  test("two subscriptions on one channel each hear their own, told apart by their ids " +
    "(spec basic/patterns/subscriptions#multiple-concurrent-subscriptions)", async () => {
    const server = restartable();
    const controller = new AbortController();
    const heard: string[] = [];
    const open = (name: string, filter: SubscriptionFilter) => subscribe(server.client, filter, {
      onChange: ({ method }) => void heard.push(`${name} ${method.split("/")[1]}`),
      signal: controller.signal });
    const one = open("one", TOOLS);
    const two = open("two", { resourceSubscriptions: ["x:/a"] });
    await turns();
    const [a, b] = server.sent(0).map(({ id }) => id);
    assert.notEqual(a, b);
    await say(server, told(b, ACK, { notifications: { resourceSubscriptions: ["x:/a"] } }));
    await say(server, told(b, "notifications/resources/updated", { uri: "x:/a" }));
    await say(server, told(a, ACK, { notifications: TOOLS }));
    assert.deepEqual([await one.acknowledged, await two.acknowledged],
      [TOOLS, { resourceSubscriptions: ["x:/a"] }]);
    await say(server, changed(a));
    await say(server, changed(String(a) === a ? Number(a) : String(a)));
    await say(server, changed(999));
    await say(server, told(b, "notifications/resources/updated", { uri: "x:/a" }));
    await say(server, '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}');
    assert.deepEqual(heard, ["two resources", "one tools", "two resources"]);
    await say(server, resultOf(a));
    assert.deepEqual([await stateOf(one.closed), await stateOf(two.closed)],
      ["resolved", "pending"]);
    controller.abort();
    assert.notEqual(await now(two.closed), "pending");
  });

  test("SSE-24: after a restart the subscription is made again, with a new id " +
    "(spec basic/transports/stdio#unexpected-termination)", async () => {
    const server = restartable();
    const controller = new AbortController();
    const [heard, lost]: [unknown[], unknown[]] = [[], []];
    const { closed, acknowledged } = subscribe(server.client, TOOLS, { retryMs: 1,
      onChange: (one) => void heard.push(one), onLost: (error) => void lost.push(error),
      signal: controller.signal });
    await turns();
    await say(server, told(server.sent(0)[0]?.id, ACK, { notifications: TOOLS }));
    await acknowledged;
    const before = server.last().end;
    server.start();
    before.close(new TransportError("closed", "the server died"));
    await until(() => server.sent(1).length > 0);
    const [old, again] = [server.sent(0)[0], server.sent(1)[0]] as JSONRPCRequest[];
    assert.deepEqual({ ...again, id: old?.id }, old);
    assert.notEqual(again?.id, old?.id);
    assert.equal(lost.length, 1);
    await say(server, told(again?.id, ACK, { notifications: TOOLS }));
    await say(server, changed(again?.id));
    assert.deepEqual(heard, [changed(again?.id)]);
    controller.abort();
    assert.notEqual(await now(closed), "pending");
  });

  test("the end of a subscription is announced with its id, once " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    const server = restartable();
    const controller = new AbortController();
    const { closed } = subscribe(server.client, TOOLS,
      { onChange() {}, signal: controller.signal });
    await turns();
    const id = server.sent(0)[0]?.id;
    controller.abort();
    assert.notEqual(await now(closed), "pending");
    await turns();
    const rest = server.sent(0).slice(1).map(({ method, params }) =>
      [method, params?.["requestId"]]);
    assert.deepEqual(rest, [["notifications/cancelled", id]]);
  });

  test("a listener that throws ends its own subscription, which is not tried again " +
    "(engineering)", async () => {
    const [server, lost]: [ReturnType<typeof restartable>, unknown[]] = [restartable(), []];
    const { closed } = subscribe(server.client, TOOLS, { retryMs: 1,
      onChange() { throw new Error("mine"); }, onLost: (error) => void lost.push(error) });
    await turns();
    const id = server.sent(0)[0]?.id;
    await say(server, told(id, ACK, { notifications: TOOLS }));
    await say(server, changed(id));
    await assert.rejects(closed, { name: "TransportError", code: "usage" });
    await ms(20);
    const listens = server.sent(0).filter(({ method }) => method === "subscriptions/listen");
    assert.deepEqual([listens.length, lost], [1, []]);
  });

  test("a result and then notifications/cancelled is one end " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const [server, lost]: [ReturnType<typeof restartable>, unknown[]] = [restartable(), []];
    const { closed } = subscribe(server.client, TOOLS,
      { onChange() {}, onLost: (error) => void lost.push(error), retryMs: 1 });
    await turns();
    const id = server.sent(0)[0]?.id;
    await say(server, told(id, ACK, { notifications: TOOLS }));
    await say(server, resultOf(id));
    await say(server, { jsonrpc: "2.0", method: "notifications/cancelled",
      params: { requestId: id } });
    assert.equal(await stateOf(closed), "resolved");
    await ms(20);
    assert.deepEqual([server.sent(0).length, lost], [1, []]);
  });

  test("a server that tears a subscription down with notifications/cancelled alone is heard: it " +
    "ends, or is made again (spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const server = restartable();
    const controller = new AbortController();
    const { closed } = subscribe(server.client, TOOLS,
      { onChange() {}, retryMs: 1, signal: controller.signal });
    await turns();
    const id = server.sent(0)[0]?.id;
    await say(server, told(id, ACK, { notifications: TOOLS }));
    await say(server, { jsonrpc: "2.0", method: "notifications/cancelled",
      params: { requestId: id, reason: "shutting down" } });
    await ms(60);
    const again = server.sent(0).filter(({ method }) => method === "subscriptions/listen").length;
    assert.ok(again > 1 || await stateOf(closed) !== "pending", "nothing happened");
    controller.abort();
    assert.notEqual(await now(closed), "pending");
  });
});

describe("Subscribing: over HTTP", () => {
  /** The body of a stream: these messages, each an event, and then its end. */
  const events = (...messages: object[]) => new Response(messages.map((message) =>
    `data: ${JSON.stringify(message)}\n\n`).join(""),
  { headers: { "content-type": "text/event-stream" } });

  test("a stream that ends without a result was lost and is opened again; one that ends with it " +
    "is over (spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const [heard, lost]: [JSONRPCNotification[], unknown[]] = [[], []];
    const fetched = fakeFetch((_, { id }) => fetched.asked.length === 1
      ? events(told(id, ACK, { notifications: TOOLS }), changed(id))
      : events(told(id, ACK, { notifications: TOOLS }), changed(id), { jsonrpc: "2.0", id,
        result: { resultType: "complete", _meta: { [SUBSCRIPTION]: id } } }));
    const client = connect(connectHttp("http://localhost/mcp", { fetch: fetched }));
    const { acknowledged, closed } = subscribe(client, TOOLS, { retryMs: 1,
      onChange: (one) => void heard.push(one), onLost: (error) => void lost.push(error) });
    assert.deepEqual(await acknowledged, TOOLS);
    assert.notEqual(await within(closed.then(() => "closed"), 2000), "pending");
    const ids = fetched.asked.map(({ body }) => body.id);
    assert.deepEqual([ids.length, new Set(ids).size, lost.length], [2, 2, 1]);
    assert.deepEqual(heard, ids.map(changed));
  });
});

test("an acknowledgment that comes at once, from a server in the same process, is given " +
  "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
  const exchange: Exchange = (request, { notify }) => {
    void notify(told(request.id, ACK, { notifications: TOOLS }));
    return new Promise(() => {});
  };
  const stop = new AbortController();
  const { acknowledged } = subscribe(connect(exchange), TOOLS,
    { onChange() {}, signal: stop.signal });
  assert.deepEqual(await acknowledged, TOOLS);
  stop.abort();
});
