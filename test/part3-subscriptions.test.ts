// Part III, Subscriptions: a call that stays open, and what comes over it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  assemble, changeSource, prompts, resources, serveChannel, serveHttp, server, subscriptions, text,
  tools, type ChangeSource, type Exchange, type HttpReply, type JSONRPCRequest,
  type ChangeKind,
} from "../mcp-raw.ts";
import { conversation, settled } from "./kit.ts";
import { META, headersFor, lane, posted, read, until } from "./kit-http.ts";

const KINDS = ["toolsListChanged", "promptsListChanged", "resourcesListChanged",
  "resourceSubscriptions"] as const;
const ID = "io.modelcontextprotocol/subscriptionId";

/** A server whose source tells how many are listening to it. */
function toy(honoured: readonly (ChangeKind)[] = KINDS) {
  const inner = changeSource();
  const count = { listening: 0 };
  const source: ChangeSource = { ...inner, listen(hear) {
    let over = false;
    const leave = () => {
      if (!over) count.listening--;
      over = true;
    };
    count.listening++;
    const stop = inner.listen((change) => {
      if (change === undefined) leave(); // it has ended: there is nothing to hear any more
      hear(change);
    });
    return () => {
      leave();
      stop();
    };
  } };
  const { exchange } = assemble({ name: "toy", version: "1" }, [
    tools([{ name: "t", handler: () => text("ok") }], { compile: () => () => undefined }),
    prompts([]), resources([]), subscriptions(source, honoured),
  ]);
  return { source, count, exchange };
}
const listening = (notifications: unknown, id: string | number = 1, meta: object = {}):
  JSONRPCRequest => ({ jsonrpc: "2.0", id, method: "subscriptions/listen",
  params: { notifications, _meta: { ...META, ...meta } } });
const line = (...given: Parameters<typeof listening>) => JSON.stringify(listening(...given));

const acknowledged = (id: string | number, notifications: object) => ({ jsonrpc: "2.0",
  method: "notifications/subscriptions/acknowledged",
  params: { _meta: { [ID]: id }, notifications } });
const changed = (id: string | number, what: string) => ({ jsonrpc: "2.0",
  method: `notifications/${what}/list_changed`, params: { _meta: { [ID]: id } } });
const updated = (id: string | number, uri: string) => ({ jsonrpc: "2.0",
  method: "notifications/resources/updated", params: { _meta: { [ID]: id }, uri } });
const ended = (id: string | number) => ({ jsonrpc: "2.0", id, result: { resultType: "complete",
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "toy", version: "1" }, [ID]: id } } });
const cancelled = (requestId: string | number) =>
  ({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } });
const cancelling = (requestId: string | number) => JSON.stringify(cancelled(requestId));

const messagesIn = (text: string): unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) => JSON.parse(json) as unknown);

/** All that is said to somebody who listens, as JSON. */
function listener(exchange: Exchange, notifications: unknown, id: string | number = 1) {
  const on = lane();
  const answer = exchange(listening(notifications, id), on);
  return { answer, heard: (): unknown[] => JSON.parse(JSON.stringify(on.said)) as unknown[] };
}
/** Tells of a change of every kind. */
function change({ tools, prompts, resources, updated }: ChangeSource, uri = "x:/a"): void {
  tools();
  prompts();
  resources();
  updated(uri);
}

describe("Subscriptions: opening", () => {
  test("what is honoured is advertised, and nothing else is " +
    "(spec server/resources#capabilities)", async () => {
    const declared = async (...honoured: (ChangeKind)[]) => {
      const response = await toy(honoured).exchange({ ...listening({}),
        method: "server/discover" }, lane());
      return "result" in response && response.result.capabilities;
    };
    assert.deepEqual(await declared(...KINDS), { tools: { listChanged: true },
      prompts: { listChanged: true }, resources: { listChanged: true, subscribe: true } });
    assert.deepEqual(await declared("resourceSubscriptions"),
      { tools: {}, prompts: {}, resources: { subscribe: true } });
    assert.deepEqual(await declared("resourcesListChanged", "toolsListChanged"),
      { tools: { listChanged: true }, prompts: {}, resources: { listChanged: true } });
    assert.deepEqual(await declared(), { tools: {}, prompts: {}, resources: {} });
  });

  test("LIF-15: what is not advertised is not sent, though the source tells of it " +
    "(spec server/tools#list-changed-notification)", async () => {
    const { exchange, source } = toy(["promptsListChanged"]);
    const { heard } = listener(exchange, { toolsListChanged: true, promptsListChanged: true,
      resourcesListChanged: true, resourceSubscriptions: ["x:/a"] });
    change(source);
    assert.deepEqual(heard(), [acknowledged(1, { promptsListChanged: true }),
      changed(1, "prompts")]);
  });

  test("the first message acknowledges what is honoured of what was asked for " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const filters: [unknown, object][] = [
      [{}, {}], [{ toolsListChanged: true }, { toolsListChanged: true }],
      [{ toolsListChanged: false, promptsListChanged: true }, { promptsListChanged: true }],
      [{ resourceSubscriptions: ["x:/a", "y:b"] }, { resourceSubscriptions: ["x:/a", "y:b"] }],
      [{ somethingElse: true, toolsListChanged: true }, { toolsListChanged: true }],
    ];
    for (const [asked, honoured] of filters) {
      const { heard } = listener(toy().exchange, asked);
      assert.deepEqual(heard(), [acknowledged(1, honoured)], JSON.stringify(asked));
    }
  });

  test("a change that is told while the call is being opened comes after the acknowledgment " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const inner = changeSource();
    const eager: ChangeSource = { ...inner, listen(hear) {
      const stop = inner.listen(hear);
      inner.tools();
      return stop;
    } };
    const { exchange } = assemble({ name: "t", version: "1" },
      [subscriptions(eager, ["toolsListChanged"])]);
    const { heard } = listener(exchange, { toolsListChanged: true });
    assert.deepEqual(heard(), [acknowledged(1, { toolsListChanged: true }), changed(1, "tools")]);
  });

  const wrong: unknown[] = [undefined, null, "tools", ["toolsListChanged"], 5,
    { toolsListChanged: "yes" }, { toolsListChanged: 1 }, { promptsListChanged: null },
    { resourcesListChanged: {} }, { resourceSubscriptions: "x:/a" },
    { resourceSubscriptions: [5] }, { resourceSubscriptions: { 0: "x:/a" } },
    { resourceSubscriptions: true }];
  test("a filter that is none is -32602: nothing is acknowledged and nobody listens " +
    "(spec basic/patterns/subscriptions#notification-filter)", async () => {
    for (const notifications of wrong) {
      const { exchange, count } = toy();
      const { answer, heard } = listener(exchange, notifications);
      const response = await answer;
      assert.equal("error" in response && response.error.code, -32602,
        JSON.stringify(notifications));
      assert.deepEqual([heard(), count.listening], [[], 0]);
    }
  });

  test("a server without subscriptions does not know the method (spec basic#error-codes)",
    async () => {
      const { exchange } = assemble({ name: "t", version: "1" }, []);
      const response = await exchange(listening({}), lane());
      assert.equal("error" in response && response.error.code, -32601);
    });
});

describe("Subscriptions: receiving", () => {
  for (const [at, kind] of KINDS.entries()) {
    test(`who asked for ${kind} hears of that and of nothing else ` +
      `(spec basic/patterns/subscriptions#opening-a-stream)`, async () => {
      const { exchange, source } = toy();
      const filter = { [kind]: at === 3 ? ["x:/a"] : true };
      const { heard } = listener(exchange, filter);
      change(source);
      const told = [changed(1, "tools"), changed(1, "prompts"), changed(1, "resources"),
        updated(1, "x:/a")];
      assert.deepEqual(heard(), [acknowledged(1, filter), told[at]]);
    });
  }

  test("every message carries the id of the request that opened the stream, as it was " +
    "(spec basic/patterns/subscriptions#receiving-notifications)", async () => {
    const { exchange, source } = toy();
    const ids = [1, "1", 0, "", -7, "é"];
    const open = ids.map((id) => listener(exchange, { toolsListChanged: true }, id));
    source.tools();
    source.close();
    for (const [at, id] of ids.entries()) {
      assert.deepEqual(open[at]?.heard(), [acknowledged(id, { toolsListChanged: true }),
        changed(id, "tools")]);
      assert.deepEqual(await open[at]?.answer, ended(id));
    }
  });

  test("several streams are open at once, each with its own filter " +
    "(spec basic/patterns/subscriptions#multiple-concurrent-subscriptions)", async () => {
    const { exchange, source } = toy();
    const one = listener(exchange, { toolsListChanged: true }, "a");
    const two = listener(exchange, { resourceSubscriptions: ["x:/a"] }, "b");
    change(source);
    source.updated("y:/b");
    assert.deepEqual([one.heard().slice(1), two.heard().slice(1)],
      [[changed("a", "tools")], [updated("b", "x:/a")]]);
  });

  // What is subscribed to, what changes, and whether that is heard.
  const HEARD: [string, string, boolean][] = [
    ["x:/a", "x:/a", true], ["x:/a", "x:/a/b", true], ["x:/a/", "x:/a/b/c", true],
    ["x:/a", "x:/ab", false], ["x:/a", "x:/", false], ["x:/a/b", "x:/a", false],
    ["x:/a", "X:/a", false], ["x:/a", "y:/a", false], ["x:/a", "x:/A", false],
    ["", "x:/a", false], ["x:/%61", "x:/a", false], ["x:/a", "x:/a?b", false],
  ];
  test("a change of a resource is heard under its URI as it was written, and that of one within " +
    "it too (spec server/resources#subscriptions)", async () => {
    for (const [subscribed, uri, hears] of HEARD) {
      const { exchange, source } = toy();
      const { heard } = listener(exchange, { resourceSubscriptions: [subscribed] });
      source.updated(uri);
      assert.deepEqual(heard().slice(1), hears ? [updated(1, uri)] : [], `${subscribed} ${uri}`);
    }
  });

  test("a change that several URIs of one stream ask for is told once " +
    "(spec server/resources#subscriptions)", async () => {
    const { exchange, source } = toy();
    const { heard } = listener(exchange, { resourceSubscriptions: ["x:/a", "x:/a", "x:/a/b"] });
    source.updated("x:/a/b");
    assert.deepEqual(heard().slice(1), [updated(1, "x:/a/b")]);
  });

  test("a list of resources that changes is no change of a resource, nor the other way round " +
    "(spec basic/patterns/subscriptions#notification-filter)", async () => {
    const { exchange, source } = toy();
    const lists = listener(exchange, { resourcesListChanged: true });
    const contents = listener(exchange, { resourceSubscriptions: ["x:/a"] }, 2);
    source.updated("x:/a");
    assert.deepEqual(lists.heard().length, 1);
    source.resources();
    assert.deepEqual([lists.heard().length, contents.heard().length], [2, 2]);
  });
});

describe("Subscriptions: ending", () => {
  test("who has gone is told nothing more, and leaves nobody listening " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    const { exchange, source, count } = toy();
    const gone = new AbortController();
    const on = lane(gone.signal);
    void exchange(listening({ toolsListChanged: true }), on);
    assert.equal(count.listening, 1);
    gone.abort();
    source.tools();
    await settled();
    assert.deepEqual([on.said.length, count.listening], [1, 0]);
  });

  test("who had gone before is not listened for " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    const { exchange, count } = toy();
    void exchange(listening({}), lane(AbortSignal.abort()));
    await settled();
    assert.equal(count.listening, 0);
  });

  test("a graceful end is a result with the id in its _meta, and nothing after it " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const { exchange, source, count } = toy();
    const { answer, heard } = listener(exchange, { toolsListChanged: true }, "s");
    source.close();
    assert.deepEqual(await answer, ended("s"));
    change(source);
    assert.deepEqual([heard().length, count.listening], [1, 0]);
  });

  test("after the streams of a source were ended it may be listened to again " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const { exchange, source, count } = toy();
    source.close();
    const { answer, heard } = listener(exchange, {});
    assert.deepEqual([heard(), count.listening], [[acknowledged(1, {})], 1]);
    source.close();
    assert.deepEqual(await answer, ended(1));
    assert.equal(count.listening, 0);
  });

  test("a reader that takes nothing ends its own stream and no other (engineering)", async () => {
    const { exchange, source, count } = toy();
    const fine = listener(exchange, { toolsListChanged: true }, "fine");
    let taken = 0;
    const slow = exchange(listening({ toolsListChanged: true }, "slow"), { ...lane(),
      notify() { if (taken++ > 0) throw new Error("behind"); } });
    source.tools();
    source.tools();
    assert.equal("error" in await slow, true);
    assert.deepEqual([fine.heard().length, taken, count.listening], [3, 2, 1]);
  });

  test("who takes not even the acknowledgment is not listened for (engineering)", async () => {
    const { exchange, count } = toy();
    const response = await exchange(listening({ toolsListChanged: true }),
      { ...lane(), notify() { throw new Error("behind"); } });
    assert.deepEqual(["error" in response, count.listening], [true, 0]);
  });

  test("a reader that stalls, and later breaks, ends its own stream (engineering)", async () => {
    const { exchange, source, count } = toy();
    let breaks = (_: Error) => {};
    const stalled = new Promise<void>((_, reject) => (breaks = reject));
    const response = exchange(listening({ toolsListChanged: true }),
      { ...lane(), notify: () => stalled });
    source.tools();
    assert.equal(count.listening, 1);
    breaks(new Error("gone"));
    assert.equal("error" in await response, true);
    assert.equal(count.listening, 0);
  });

  test("a listener may stop, or another start, while a change is told (engineering)", () => {
    const source = changeSource();
    const heard: string[] = [];
    const stop = source.listen(() => {
      heard.push("a");
      stop();
      source.listen(() => heard.push("c"));
    });
    source.listen(() => heard.push("b"));
    source.tools();
    heard.splice(0);
    source.tools();
    assert.deepEqual(heard.sort(), ["b", "c"]);
  });
});

describe("Subscriptions: on stdio", () => {
  const CALL = (id: string | number) => JSON.stringify({ jsonrpc: "2.0", id,
    method: "tools/call", params: { name: "t", _meta: META } });

  test("literal bytes: the acknowledgment, the change, and after the result a cancellation of " +
    "the listen request (spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const { exchange, source } = toy();
    const talk = conversation(exchange);
    await talk.say('{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen","params":{"_meta":{' +
      '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
      '"io.modelcontextprotocol/clientCapabilities":{}},' +
      '"notifications":{"toolsListChanged":true}}}');
    source.tools();
    source.close();
    assert.deepEqual(await talk.end(), [acknowledged("s", { toolsListChanged: true }),
      changed("s", "tools"), ended("s"), cancelled("s")]);
  });

  test("no other request is ever cancelled by the server, nor a listen request that was refused " +
    "(spec basic/patterns/cancellation#behavior-requirements)", async () => {
    const talk = conversation(toy().exchange);
    await talk.say(CALL(1), line("wrong", 2), CALL(3));
    const all = await talk.end();
    assert.deepEqual(all.map(({ method }) => method), [undefined, undefined, undefined]);
  });

  test("a cancellation ends the stream without an answer, and frees its id " +
    "(spec basic/transports/stdio#cancellation)", async () => {
    const { exchange, source, count } = toy();
    const talk = conversation(exchange);
    await talk.say(line({ toolsListChanged: true }, 1), line({ toolsListChanged: true }, 2));
    await talk.say(cancelling(1));
    assert.equal(count.listening, 1);
    source.tools();
    await talk.say(line({ promptsListChanged: true }, 1));
    source.tools();
    source.prompts();
    const messages = await talk.end();
    assert.deepEqual(messages.slice(2), [changed(2, "tools"),
      acknowledged(1, { promptsListChanged: true }), changed(2, "tools"), changed(1, "prompts")]);
  });

  test("an id that is listening is not free for another request (spec basic#requests)",
    async () => {
      const talk = conversation(toy().exchange);
      await talk.say(line({}, 1), line({}, 1));
      const [, refusal] = await talk.end();
      assert.deepEqual([refusal.id, refusal.error.code], [1, -32600]);
    });

  test("when the channel closes nobody is left listening " +
    "(spec basic/patterns/subscriptions#cancellation)", async () => {
    const { exchange, count } = toy();
    const talk = conversation(exchange);
    await talk.say(...Array.from({ length: 20 }, (_, id) => line({ toolsListChanged: true }, id)));
    assert.equal(count.listening, 20);
    await talk.end();
    await settled();
    assert.equal(count.listening, 0);
  });

  test("256 streams on one channel stop no other call; more are refused, none waits unheard " +
    "(spec basic/patterns/subscriptions#multiple-concurrent-subscriptions)", async () => {
    const { exchange, source, count } = toy();
    const talk = conversation(exchange);
    const many = Array.from({ length: 300 }, (_, id) => id);
    await talk.say(...many.map((id) => line({ toolsListChanged: true }, id)));
    await talk.say(CALL("call"));
    await until(() => talk.heard().some(({ id }) => id === "call"));
    assert.equal(talk.heard().filter(({ error }) => error !== undefined).length, 44);
    source.close();
    await until(() => talk.heard().filter(({ result }) => result !== undefined).length === 257);
    const messages = await talk.end();
    assert.equal(messages.filter(({ method }) => method === "notifications/cancelled").length, 256);
    assert.equal(count.listening, 0);
  });

  test("a channel that nobody reads ends the stream that would fill it, and says that it did " +
    "(spec basic/patterns/cancellation#cancellation-flow)", async () => {
    const { exchange, source, count } = toy();
    const [said, state] = [[] as Record<string, unknown>[], { full: false }];
    const end = serveChannel(exchange, (text) => void said.push(JSON.parse(text)),
      { full: () => state.full });
    void end.receive(line({ toolsListChanged: true }));
    state.full = true;
    source.tools();
    await settled();
    state.full = false;
    source.tools();
    await settled();
    assert.deepEqual([said.length, said[1]?.id, said[2], count.listening],
      [3, 1, cancelled(1), 0]);
  });
});

describe("Subscriptions: over HTTP", () => {
  const POST = (notifications: unknown, id: string | number = 1) =>
    posted(line(notifications, id), headersFor("subscriptions/listen"));

  test("the reply is an event stream that opens with the acknowledgment and stays open " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const { exchange, source } = toy();
    const reply = await serveHttp(exchange)(POST({ toolsListChanged: true }));
    const stream = read(reply);
    assert.deepEqual([reply.status, reply.headers["Content-Type"],
      reply.headers["X-Accel-Buffering"]], [200, "text/event-stream", "no"]);
    source.tools();
    await settled();
    assert.deepEqual([messagesIn(stream.text), stream.closed],
      [[acknowledged(1, { toolsListChanged: true }), changed(1, "tools")], false]);
    source.close(); // or its timer keeps the process
  });

  test("SSE-22: a graceful end is the result and then the end of the stream, without a " +
    "cancellation (spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const { exchange, source, count } = toy();
    const handle = serveHttp(exchange);
    const streams = [read(await handle(POST({}, 1))), read(await handle(POST({}, "b")))];
    source.close();
    await until(() => streams.every(({ closed }) => closed));
    assert.deepEqual(streams.map(({ text }) => messagesIn(text)),
      [[acknowledged(1, {}), ended(1)], [acknowledged("b", {}), ended("b")]]);
    assert.equal(count.listening, 0);
  });

  test("a client that closes the stream has cancelled: nobody is left listening " +
    "(spec basic/patterns/cancellation#transport-specific-cancellation)", async () => {
    const { exchange, source, count } = toy();
    const handle = serveHttp(exchange);
    const [first, second] = [POST({ toolsListChanged: true }), POST({ toolsListChanged: true }, 2)];
    const streams = [read(await handle(first)), read(await handle(second))];
    first.leave();
    source.tools();
    await settled();
    assert.deepEqual([streams.map(({ text }) => messagesIn(text).length), count.listening],
      [[1, 2], 1]);
    source.close();
  });

  test("a filter that is none is refused with a plain reply " +
    "(spec basic/patterns/subscriptions#notification-filter)", async () => {
    const reply = await serveHttp(toy().exchange)(POST("wrong"));
    const { error } = JSON.parse(reply.body ?? "") as { error: { code: number } };
    assert.deepEqual([reply.status, reply.stream, error.code], [200, undefined, -32602]);
  });

  test("a reader that is too far behind loses its own stream and no other (engineering)",
    async () => {
      const { exchange, source, count } = toy();
      const handle = serveHttp(exchange, { maxBody: 1000 });
      const slow = { queued: () => 1001, closed: false, write() {},
        close() { slow.closed = true; } };
      const stalled: HttpReply = await handle(POST({ toolsListChanged: true }, "slow"));
      stalled.stream?.(slow);
      const fine = read(await handle(POST({ toolsListChanged: true }, "fine")));
      source.tools();
      await until(() => slow.closed);
      source.tools();
      assert.deepEqual([messagesIn(fine.text).length, fine.closed, count.listening],
        [3, false, 1]);
      source.close();
    });
});

describe("Subscriptions: of a server", () => {
  test("LIF-15: a server advertises the changes of what it has, of nothing else " +
    "(spec basic/patterns/subscriptions#acknowledgment)", async () => {
    const app = server({ name: "toy", version: "1", tools: [] });
    const response = await app.exchange({ ...listening({}), method: "server/discover" }, lane());
    assert.deepEqual("result" in response && response.result.capabilities,
      { tools: { listChanged: true }, logging: {} });
    const { heard } = listener(app.exchange, { toolsListChanged: true, promptsListChanged: true,
      resourceSubscriptions: ["x:/a"] });
    change(app.changes);
    assert.deepEqual(heard(), [acknowledged(1, { toolsListChanged: true }), changed(1, "tools")]);
  });

  test("a source can be shared by servers, and each server without one has its own " +
    "(engineering)", async () => {
    const changes = changeSource();
    const made = (more: object = {}) => server({ name: "toy", version: "1", tools: [], ...more });
    const [one, two, other] = [made({ changes }), made({ changes }), made()];
    const all = [one, two, other].map(({ exchange }) =>
      listener(exchange, { toolsListChanged: true }));
    assert.equal(one.changes, changes);
    changes.tools();
    assert.deepEqual(all.map(({ heard }) => heard().length), [2, 2, 1]);
  });

  test("SSE-22: a server that closes its port ends its streams with a result first " +
    "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const app = server({ name: "toy", version: "1", tools: [] });
    const { url, close } = await app.listen(0);
    const reply = await fetch(url, { method: "POST", body: line({ toolsListChanged: true }),
      headers: headersFor("subscriptions/listen") });
    const text = reply.text();
    await close();
    assert.deepEqual(messagesIn(await text),
      [acknowledged(1, { toolsListChanged: true }), ended(1)]);
  });

  const PROGRAM = `
    import { server } from ${JSON.stringify(new URL("../mcp-raw.ts", import.meta.url).href)};
    server({ name: "toy", version: "1", tools: [] }).stdio();`;
  test("SSE-22: a process whose input ends does so on stdio too, with a cancellation after the " +
    "result (spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
    const child = spawn(process.execPath,
      ["--import", tsx, "--input-type=module", "-e", PROGRAM]);
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (part: string) => (out += part));
    child.stdin.write(`${line({ toolsListChanged: true })}\n`);
    await until(() => out.includes("acknowledged"), "acknowledged", 10_000);
    const code = new Promise((resolve) => child.on("close", resolve));
    child.stdin.end();
    assert.equal(await code, 0);
    assert.deepEqual(out.trim().split("\n").map((text) => JSON.parse(text) as unknown),
      [acknowledged(1, { toolsListChanged: true }), ended(1), cancelled(1)]);
  });
});
