// Part V, Sessions over HTTP: ids, streams that break and go on, and both eras on one endpoint.

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import {
  changeSource, serveBoth, webHandler, type HttpHandler, type HttpOptions, type SessionOptions,
} from "../mcp-raw.ts";
import { coded, refused, settled } from "./kit.ts";
import {
  headersFor, ms, post as modernPost, request as modernRequest, within,
} from "./kit-http.ts";
import {
  FORM, HEADERS, INITIALIZED, MODERN, ROOTS, SAMPLE, VERSIONS, VISIT, answered, asking, book, call,
  cancel, client, http, initialize, joined, note, noted, request, result, said, soon,
  type Book, type Reply, leaveAll,
} from "./kit-legacy.ts";

after(leaveAll);

type Both = HttpOptions & { sessions?: SessionOptions | false };
/** A server and its endpoint; a reply becomes a stream after a millisecond. */
function endpoint(options: Both = {}, app: Book = book()) {
  const faults: unknown[] = [];
  const handle = serveBoth(app.exchange, { jsonWithinMs: 1, notifications: app.notifications,
    report: (error) => void faults.push(error), ...options });
  return { app, handle, faults, ...client(handle),
    join: (version?: string, capabilities?: string) => joined(handle, version, capabilities) };
}
const YES = { action: "accept", content: { ok: true } };
const hold = (id: string, t: string) => call(id, "hold", { t });
const echo = (id: string, t: string) => call(id, "echo", { t });
const ask = (id: string, one: object) => call(id, "ask", { asks: { k: one } });
const tell = (id: string, values: number[], t = "end") => request(id, "tools/call",
  `{"name":"tell","arguments":${JSON.stringify({ t, progress: values.map((value) => [value]) })},` +
  '"_meta":{"progressToken":"p"}}');
const told = (progress: number) =>
  noted("notifications/progress", { progressToken: "p", progress });
const changed = noted("notifications/tools/list_changed");
/** The one message in a reply, its prose left out. */
const only = (reply: Reply) => {
  const all = reply.messages();
  assert.equal(all.length, 1, JSON.stringify(all));
  return coded(all[0]);
};
/** A source of changes, and how many listen to it. */
function counted() {
  const inner = changeSource();
  const hearers = new Set<unknown>();
  return { listening: () => hearers.size, changes: { ...inner,
    listen(hear: Parameters<typeof inner.listen>[0]) {
      const stop = inner.listen(hear);
      hearers.add(hear);
      return () => {
        hearers.delete(hear);
        stop();
      };
    } } };
}
/** Status and code of a refusal, which is JSON and opens no stream. */
const refusal = (reply: Reply) => {
  assert.deepEqual([reply.streams, reply.header("content-type")], [false, "application/json"]);
  return [reply.status, reply.code()];
};

describe("sessions over HTTP", () => {
  test("initialize gives a session id that nobody can guess, of visible ASCII characters " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post } = endpoint();
    const ids = new Set<string>();
    for (let at = 0; at < 100; at++) {
      const reply = await post(initialize());
      assert.deepEqual([reply.status, reply.header("content-type")], [200, "application/json"]);
      assert.equal(only(reply).result.protocolVersion, "2025-11-25");
      const id = reply.header("mcp-session-id") ?? "";
      assert.match(id, /^[\x21-\x7e]{22,}$/);
      ids.add(id);
    }
    assert.equal(ids.size, 100);
  });

  test("HTTP-08: what wants no answer gets 202, no body and no type " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { join } = endpoint();
    const talk = await join();
    for (const body of [INITIALIZED, note("notifications/x"), cancel("99"), answered("s9", {}),
      '{"jsonrpc":"2.0","id":"s9","error":{"code":1,"message":"no"}}']) {
      const reply = await talk.post(body);
      assert.deepEqual([reply.status, reply.body ?? "", reply.header("content-type")],
        [202, "", undefined], body);
    }
  });

  test("a session is served request by request, each reply in JSON if it is ready soon " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { join } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      for (const [body, expected] of [[echo("1", "hi"), said(1, "hi")],
        [request('"ping"', "ping"), result("ping", {})],
        [request("2", "made/up"), refused(-32601, 2)], [call("3", "none"), refused(-32602, 3)],
        [request("4", "server/discover"), refused(-32601, 4)]] as const) {
        const reply = await talk.post(body);
        const { error, ...message } = only(reply);
        assert.deepEqual([reply.status, reply.header("content-type")], [200, "application/json"]);
        assert.deepEqual({ ...message, ...(error && { error: { ...error, data: undefined } }) },
          "error" in expected ? { ...expected, error: { ...expected.error, data: undefined } }
            : expected, version);
      }
    }
  });

  test("SES-01: without an id it is 400, with one that is unknown 404 " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post, get, drop } = endpoint();
    for (const body of [request("1", "tools/list"), INITIALIZED, hold("1", "a"), "[]",
      answered("s1", {})]) {
      assert.equal((await post(body)).status, 400, body);
      assert.equal((await post(body, { "mcp-session-id": "nope" })).status, 404, body);
    }
    assert.deepEqual([(await get()).status, (await drop()).status], [400, 400]);
    const named = { "mcp-session-id": "nope" };
    assert.deepEqual([(await get(named)).status, (await drop(named)).status], [404, 404]);
  });

  test("HTTP-37: an unknown session is refused in JSON, before any stream opens " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post, get } = endpoint({ jsonWithinMs: 0 });
    const named = { "mcp-session-id": "nope", "last-event-id": "0-1" };
    assert.deepEqual(refusal(await post(hold("1", "a"), named)), [404, -32600]);
    assert.deepEqual(refusal(await get(named)), [404, -32600]);
  });

  test("SES-04: initialize that names a session begins a fresh one, and leaves that one alone " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post, join } = endpoint();
    const talk = await join("2025-06-18");
    for (const id of ["stale", talk.id]) {
      const reply = await post(initialize("2024-11-05"), { "mcp-session-id": id });
      assert.equal(reply.status, 200);
      assert.ok(![undefined, "stale", talk.id].includes(reply.header("mcp-session-id")));
    }
    assert.equal((await post(echo("1", "a"), { "mcp-session-id": "stale" })).status, 404);
    assert.deepEqual(only(await talk.post(echo("1", "a"))), said(1, "a"));
  });

  test("SES-06: DELETE ends a session with its streams, once " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { join, app, drop } = endpoint();
    const talk = await join();
    const [own, running] = [await talk.get(), await talk.post(hold("1", "a"))];
    assert.deepEqual([own.closed(), running.closed()], [false, false]);
    const ended = await talk.drop();
    assert.ok([200, 204].includes(ended.status));
    assert.deepEqual([ended.body ?? "", own.closed(), running.closed()], ["", true, true]);
    assert.equal(app.aborted.length, 1, "nobody waits for the call any more");
    assert.deepEqual([(await talk.drop()).status, (await talk.post(echo("2", "b"))).status,
      (await talk.post(INITIALIZED)).status, (await talk.get()).status,
      (await talk.resume(running.last())).status, (await drop()).status],
    [404, 404, 404, 404, 404, 400]);
    app.changes.tools();
    assert.deepEqual(own.messages(), []);
  });

  test("HTTP-02: GET needs to accept a stream, POST both kinds, DELETE nothing " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    for (const accept of ["application/json", "text/html, application/json",
      "text/event-stream;q=0"]) {
      assert.deepEqual(refusal(await talk.get({ accept })), [406, -32600]);
      assert.deepEqual(refusal(await talk.post(hold("1", "a"), { accept })), [406, -32600]);
    }
    assert.deepEqual(refusal(await talk.post(hold("1", "a"), { accept: "text/event-stream" })),
      [406, -32600]);
    assert.deepEqual(app.ran, []);
    for (const accept of ["text/event-stream", "*/*", "text/*;q=0.5, x/y", "Text/Event-Stream"]) {
      assert.equal((await talk.get({ accept })).status, 200, accept);
    }
    assert.ok((await talk.drop({ accept: "application/json" })).status < 300);
  });

  test("what is wrong with a POST is refused in a session as outside of one " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { join, app } = endpoint({ maxBody: 1000 });
    const talk = await join();
    for (const [status, code, body, headers] of [
      [400, -32700, '{"jsonrpc":', {}], [400, -32600, "5", {}], [400, -32600, "{}", {}],
      [400, -32602, '{"jsonrpc":"2.0","id":1,"method":"ping","params":5}', {}],
      [400, -32600, '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', {}],
      [400, -32600, request("3", "notifications/initialized"), {}],
      [415, -32600, hold("1", "a"), { "content-type": "text/plain" }],
      [403, -32600, hold("1", "a"), { origin: "http://evil.example" }],
      [413, -32600, hold("1", "a".repeat(1000)), {}],
    ] as const) {
      assert.deepEqual(refusal(await talk.post(body, headers)), [status, code], body.slice(0, 80));
    }
    for (const reply of [await talk.get({ origin: "http://evil.example" }),
      await talk.drop({ origin: "null" })]) assert.deepEqual(refusal(reply), [403, -32600]);
    assert.deepEqual(app.ran, []);
    assert.deepEqual(only(await talk.post(echo("1", "a"))), said(1, "a"));
  });

  test("SES-08: each session gets its own answers, whatever ids they use " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { join, app } = endpoint();
    const [a, b] = await Promise.all([join(), join()]);
    assert.notEqual(a.id, b.id);
    const [onA, onB] = [await a.post(hold("1", "for a")), await b.post(hold("1", "for b"))];
    app.release("for b");
    app.release("for a");
    await Promise.all([onA.ended(), onB.ended()]);
    assert.deepEqual([only(onA), only(onB)], [said(1, "for a"), said(1, "for b")]);
  });

  test("SES-09: what cancels or answers in one session is nothing to another " +
    "(spec@2025-11-25 basic#requests)", async () => {
    const { join, app } = endpoint();
    const able = '{"roots":{}}';
    const [a, b] = [await join("2025-11-25", able), await join("2025-11-25", able)];
    const [onA, onB] = [await a.post(hold("1", "for a")), await b.post(hold("1", "for b"))];
    await a.post(cancel("1"));
    await onA.ended();
    assert.deepEqual([app.aborted, onA.messages(), onB.closed()],
      [["for a: cancelled"], [], false]);
    app.release("for b");
    await onB.ended();
    assert.deepEqual(only(onB), said(1, "for b"));

    const [askA, askB] = [await a.post(ask("2", ROOTS)), await b.post(ask("2", ROOTS))];
    await Promise.all([askA.heard(1), askB.heard(1)]);
    const asked = asking("s1", "roots/list");
    assert.deepEqual([only(askA), only(askB)], [asked, asked]);
    await b.post(answered("s1", { roots: [] }));
    await askB.ended();
    await settled();
    assert.deepEqual([askA.closed(), askA.messages().length], [false, 1]);
    await a.post(answered("s1", { roots: [{ uri: "file:///a" }] }));
    await askA.ended();
    assert.deepEqual([askA.messages()[1], askB.messages()[1]],
      [said(2, '{"k":{"roots":[{"uri":"file:///a"}]}}'), said(2, '{"k":{"roots":[]}}')]);
  });

  test("SES-11: no reply but that to initialize names the session " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { join, post } = endpoint();
    const talk = await join();
    for (const reply of [await talk.post(echo("1", "a")), await talk.post(INITIALIZED),
      await talk.get(), await talk.post(tell("2", [1])), await talk.post("{}"), await talk.drop(),
      await talk.post(echo("1", "a")),
      await post(request("1", "initialize", '{"capabilities":{}}'))]) {
      assert.equal(reply.header("mcp-session-id"), undefined);
    }
  });

  test("SES-14: what is refused makes no session, however often it comes " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post, get, drop } = endpoint({ sessions: { max: 1 } });
    const bodies = [request("1", "tools/list"), INITIALIZED, "[]", "{", `[${initialize()}]`,
      request("1", "initialize", '{"protocolVersion":5,"capabilities":{}}'),
      request("null", "initialize", '{"protocolVersion":"2025-11-25","capabilities":{}}'),
      note("initialize", '{"protocolVersion":"2025-11-25","capabilities":{}}'),
      request("1", "initialize", '"x"'), '{"method":"initialize","id":1}'];
    for (const body of bodies) for (let at = 0; at < 20; at++) await post(body);
    await post(initialize(), { accept: "application/json" });
    await post(initialize(), { origin: "http://evil.example" });
    await post(initialize(), { "mcp-protocol-version": "bad-version" });
    await get();
    await drop();
    assert.equal((await post(initialize())).status, 200, "the one that there may be");
    assert.equal((await post(initialize())).status, 503);
  });

  test("LIF-21: modern requests make no session either " +
    "(spec basic/transports/streamable-http#earlier-streamable-http-revisions)", async () => {
    const { handle, post } = endpoint({ sessions: { max: 1 } });
    for (let at = 0; at < 100; at++) {
      assert.equal((await handle(modernPost("server/discover"))).status, 200);
    }
    assert.deepEqual([(await post(initialize())).status, (await post(initialize())).status],
      [200, 503]);
  });

  test("SES-15: a session ends when nobody has used it for long; a call and a stream are use " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    let time = 0;
    const { join, app } = endpoint({ sessions: { idleMs: 100, now: () => time } });
    const [left, used, calling, listening] =
      [await join(), await join(), await join(), await join()];
    const running = await calling.post(hold("1", "a"));
    const stream = await listening.get();
    const alive = async (talk: typeof left) => (await talk.post(echo("9", "x"))).status;
    for (time = 40; time <= 400; time += 40) assert.equal(await alive(used), 200);
    assert.deepEqual([await alive(left), running.closed(), stream.closed()], [404, false, false]);
    app.release("a");
    await running.ended();
    assert.deepEqual(only(running), said(1, "a"));
    stream.leave();
    time += 90;
    assert.deepEqual([await alive(calling), await alive(listening)], [200, 200]);
    time += 110;
    assert.deepEqual([await alive(calling), await alive(listening), await alive(used)],
      [404, 404, 404]);
    const quiet = await join();
    for (const end = time + 400; time < end; time += 40) {
      assert.equal((await quiet.post(note("notifications/x"))).status, 202);
    }
  });

  test("SES-06: what ends with a session is all that it had: arrays, questions, subscriptions " +
    "(spec@2025-03-26 basic/transports#session-management)", async () => {
    const { changes, listening } = counted();
    const { join, app } = endpoint({}, book({ changes }));
    const talk = await join("2025-03-26", '{"roots":{}}');
    await talk.post(request("1", "resources/subscribe", '{"uri":"x:/a"}'));
    assert.equal(listening(), 2, "its resource, and the lists");
    const batch = talk.post(`[${hold("1", "a")}]`);
    const asks = await talk.post(ask("2", ROOTS));
    await soon(() => app.ran.length === 1);
    await talk.drop();
    await asks.ended();
    assert.ok(await within(batch, 500) !== "pending");
    assert.deepEqual([app.aborted, listening()], [["a: closed"], 0]);
  });

  test("initialize is answered in JSON however long it takes: a header names the session " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const app = book();
    const { post } = client(serveBoth(async (one, on) => {
      if (one.method === "server/discover") await ms(10);
      return app.exchange(one, on);
    }, { jsonWithinMs: 1 }));
    const reply = await post(initialize());
    assert.deepEqual([reply.streams, only(reply).result.protocolVersion], [false, "2025-11-25"]);
    assert.match(reply.header("mcp-session-id") ?? "", /^[!-~]{22,}$/);
  });

  test("RPC-05: an id that is still in flight is refused, and its call goes on " +
    "(spec@2025-11-25 basic#requests)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const first = await talk.post(hold("7", "a"));
    assert.deepEqual(refusal(await talk.post(hold("7", "b"))), [400, -32600]);
    assert.deepEqual(only(await talk.post(echo('"7"', "c"))), said("7", "c"));
    app.release("a");
    await first.ended();
    assert.deepEqual([only(first), app.ran], [said(7, "a"), ["a"]]);
  });
});

describe("the version of a session over HTTP", () => {
  test("HDR-15: a header that names no revision spoken is 400, and a missing one is no fault " +
    "(spec@2025-11-25 basic/transports#protocol-version-header)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      for (const bad of ["bad-version", "", "2099-01-01", "2026-07-28", "2025-06-18, 2025-06-18"]) {
        const named = { "mcp-protocol-version": bad };
        assert.equal((await talk.post(hold("1", "a"), named)).status, 400, bad);
        assert.equal((await talk.get(named)).status, 400, bad);
        assert.equal((await talk.drop(named)).status, 400, bad);
      }
      const bare = client(endpoint().handle);
      const named = { "mcp-protocol-version": version };
      assert.equal((await bare.post(hold("1", "a"), named)).status, 400);
      const reply = await http(talk.handle, "POST", { ...HEADERS, "mcp-session-id": talk.id },
        echo("1", "a"));
      assert.deepEqual(only(reply), said(1, "a"));
    }
    assert.deepEqual(app.ran, []);
  });

  test("HDR-15: another revision than that of the session does not change what it gets " +
    "(spec@2025-11-25 basic/transports#protocol-version-header)", async () => {
    const { join } = endpoint();
    const content = [{ type: "resource_link", uri: "x:/a", name: "a" }];
    const talk = await join("2025-03-26");
    const reply = await talk.post(call("1", "give", { result: { content } }),
      { "mcp-protocol-version": "2025-11-25" });
    if (reply.status !== 400) assert.equal(only(reply).result.content[0].type, "text");
    const other = await join("2025-06-18");
    const batch = await other.post(`[${request("1", "ping")}]`,
      { "mcp-protocol-version": "2025-03-26" });
    assert.deepEqual(refusal(batch), [400, -32600]);
  });

  test("HDR-16: initialize whose header and body name two revisions is refused, and makes no " +
    "session (spec@2025-11-25 basic/transports#protocol-version-header)", async () => {
    const { post } = endpoint({ sessions: { max: 1 } });
    for (const [header, body] of [["2025-03-26", "2025-11-25"], ["2025-11-25", "2024-11-05"],
      ["2099-01-01", "2025-11-25"]] as const) {
      const reply = await post(initialize(body), { "mcp-protocol-version": header });
      assert.deepEqual([reply.status, reply.header("mcp-session-id")], [400, undefined], header);
    }
    const agreed = await post(initialize("2025-06-18"), { "mcp-protocol-version": "2025-06-18" });
    assert.equal(agreed.status, 200);
  });

  test("RPC-19: an array is refused with 400 in every revision but 2025-03-26 " +
    "(spec@2025-06-18 changelog#major-changes)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS.filter((one) => one !== "2025-03-26")) {
      const talk = await join(version);
      assert.deepEqual(refusal(await talk.post(`[${hold("1", "a")},${request("2", "ping")}]`)),
        [400, -32600], version);
      assert.deepEqual(only(await talk.post(echo("1", "a"))), said(1, "a"));
    }
    assert.deepEqual(app.ran, []);
  });

  test("RPC-21: in 2025-03-26 its answers come as one array or as events, and 202 if none is due " +
    "(spec@2025-03-26 basic/transports#sending-messages-to-the-server)", async () => {
    const { join, app, post } = endpoint();
    const talk = await join("2025-03-26");
    const none = await talk.post(`[${INITIALIZED},${note("notifications/x")}]`);
    assert.deepEqual([none.status, none.body ?? ""], [202, ""]);
    const all = (reply: Reply) => reply.messages().flat().map(coded)
      .sort((a, b) => `${a.id}` < `${b.id}` ? -1 : 1);
    const mixed = await talk.post(`[1,${request("1", "ping")}]`);
    await mixed.ended();
    assert.deepEqual(all(mixed), [result(1, {}), refused(-32600)]);
    const later = talk.post(`[${hold("1", "slow")},${echo("2", "fast")}]`);
    await soon(() => app.ran.length === 1);
    app.release("slow");
    const reply = await later;
    await reply.ended();
    assert.deepEqual(all(reply), [said(1, "slow"), said(2, "fast")]);
    assert.equal((await post(`[${initialize("2025-03-26")}]`)).status, 400,
      "initialize is no part of an array");
  });

  test("CAN-05: a call of an array can be cancelled, and the others are answered " +
    "(spec@2025-03-26 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { join, app } = endpoint();
    const talk = await join("2025-03-26");
    const both = talk.post(`[${hold("1", "a")},${echo("2", "b")}]`);
    await soon(() => app.ran.length === 1);
    await talk.post(cancel("1"));
    await settled();
    assert.deepEqual(app.aborted, ["a: cancelled"]);
    app.release("a");
    const reply = await both;
    await reply.ended();
    assert.deepEqual(reply.messages().flat(), [said(2, "b")]);
  });

  test("a session with an array under way is in use " +
    "(spec@2025-03-26 basic/transports#session-management)", async () => {
    let time = 0;
    const { join, app } = endpoint({ sessions: { idleMs: 100, now: () => time } });
    const talk = await join("2025-03-26");
    const later = talk.post(`[${hold("1", "a")}]`);
    await soon(() => app.ran.length === 1);
    time = 200;
    await join();
    assert.deepEqual(app.aborted, []);
    app.release("a");
    const reply = await later;
    await reply.ended();
    assert.deepEqual(reply.messages().flat(), [said(1, "a")]);
  });
});

describe("the stream of a call in a session", () => {
  test("what is said before the answer makes the reply a stream, which ends with the answer " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { join } = endpoint({ jsonWithinMs: 60_000 });
    for (const version of VERSIONS) {
      const talk = await join(version);
      const reply = await talk.post(tell("1", [1, 2]));
      await reply.ended();
      assert.deepEqual([reply.status, reply.header("content-type")], [200, "text/event-stream"]);
      assert.equal(reply.header("cache-control"), "no-cache, no-transform");
      assert.equal(reply.header("x-accel-buffering"), "no");
      assert.deepEqual(reply.messages(), [told(1), told(2), said(1, "end")], version);
    }
  });

  test("RES-11: a stream is primed by an empty event with an id in 2025-11-25, and in no " +
    "revision before (spec@2025-11-25 basic/transports#sending-messages-to-the-server)",
  async () => {
    const { join, post, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      const reply = await talk.post(hold("1", version));
      const [first, ...more] = reply.events();
      if (version === "2025-11-25") {
        assert.deepEqual([first, more], [{ id: first?.id, data: "" }, []]);
        assert.match(first?.id ?? "", /^[!-~]+$/);
      } else assert.equal(first, undefined, version);
      app.release(version);
      await reply.ended();
      assert.deepEqual(only(reply), said(1, version));
      assert.ok(reply.events().every(({ id, data }) => id !== undefined || data === ""));
    }
    const opened = await post(initialize("2099-01-01"));
    assert.deepEqual([opened.streams, only(opened).result.protocolVersion], [false, "2025-11-25"]);
  });

  test("no two events of a session have one id, and each says of which stream it is " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const replies = [await talk.get(), await talk.post(tell("1", [1, 2])),
      await talk.post(tell("2", [1, 2])), await talk.post(tell("1", [1]))];
    app.changes.tools();
    app.changes.tools();
    await Promise.all(replies.slice(1).map(({ ended }) => ended()));
    const ids = replies.flatMap((reply) => reply.events().map(({ id }) => id));
    assert.equal(ids.length, 3 + 4 + 4 + 3);
    assert.equal(new Set(ids).size, ids.length);
    assert.ok(ids.every((id) => id !== undefined && id !== ""));
  });

  test("SSE-25: what a handler asks comes on the stream of its call, the answer by a POST of its " +
    "own, and the result after it " +
    "(spec@2025-11-25 basic/transports#sending-messages-to-the-server)",
  async () => {
    const { join } = endpoint();
    for (const [version, one, answer] of [["2025-11-25", FORM, YES], ["2025-06-18", FORM, YES],
      ["2024-11-05", ROOTS, { roots: [] }]] as const) {
      const talk = await join(version, '{"elicitation":{},"roots":{}}');
      for (const own of [undefined, await talk.get()]) {
        const reply = await talk.post(ask("1", one));
        await reply.heard(1);
        const id = own === undefined ? "s1" : "s2";
        const params = "params" in one ? one.params : undefined;
        assert.deepEqual(reply.messages(), [asking(id, one.method, params)]);
        assert.equal((await talk.post(answered(id, answer))).status, 202);
        await reply.ended();
        assert.deepEqual(reply.messages()[1], said(1, JSON.stringify({ k: answer })));
        assert.deepEqual(own?.messages() ?? [], [], "and not on any other");
      }
    }
  });

  test("a call that is cancelled while it asks takes its question back, on the same stream " +
    "(spec@2025-11-25 basic/utilities/cancellation#cancellation-flow)", async () => {
    const { join } = endpoint();
    const talk = await join("2025-11-25", '{"roots":{}}');
    const [own, reply] = [await talk.get(), await talk.post(ask("1", ROOTS))];
    await reply.heard(1);
    await talk.post(cancel("1"));
    await reply.ended();
    const [asked, back, ...more] = reply.messages();
    assert.deepEqual([asked.id, back.method, back.params.requestId, more, own.messages()],
      ["s1", "notifications/cancelled", "s1", [], []]);
    assert.equal((await talk.post(answered("s1", { roots: [] }))).status, 202, "late, no harm");
  });

  test("an answer that is malformed is refused, and leaves nobody waiting " +
    "(spec@2025-11-25 basic#responses)", async () => {
    const { join } = endpoint();
    const talk = await join("2025-11-25", '{"sampling":{}}');
    const reply = await talk.post(ask("1", SAMPLE));
    await reply.heard(1);
    assert.deepEqual(refusal(await talk.post('{"jsonrpc":"2.0","id":"s1","result":5}')),
      [400, -32600]);
    await within(reply.ended(), 500);
    assert.deepEqual(reply.messages().slice(1).map(coded), [refused(-32603, 1)]);
  });

  test("a page that was visited is told of to this client alone, once " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const { join } = endpoint();
    const [talk, other] = [await join("2025-11-25", '{"elicitation":{"url":{}}}'), await join()];
    const [own, others] = [await talk.get(), await other.get()];
    const reply = await talk.post(ask("1", VISIT));
    await reply.heard(1);
    const { params: { elicitationId } } = only(reply);
    await talk.post(answered("s1", { action: "accept" }));
    await reply.ended();
    await settled();
    const complete = noted("notifications/elicitation/complete", { elicitationId });
    assert.deepEqual(reply.messages().slice(1).concat(own.messages())
      .sort((a) => a.method === undefined ? 1 : -1),
    [complete, said(1, '{"k":{"action":"accept"}}')]);
    assert.deepEqual(others.messages(), []);
  });

  test("CAN-05: a POST cancels a call: 202, and it is told so " +
    "(spec@2025-11-25 basic/utilities/cancellation#cancellation-flow)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      const running = await talk.post(hold("1", version));
      const told = await talk.post(note("notifications/cancelled",
        '{"requestId":1,"reason":"why"}'));
      assert.deepEqual([told.status, told.body ?? ""], [202, ""]);
      assert.equal(app.aborted.at(-1), `${version}: cancelled`);
      await running.ended();
    }
  });

  test("CAN-03: the stream of a cancelled call ends without an answer " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const running = await talk.post(hold("4", "a"));
    await talk.post(cancel("4"));
    app.release("a");
    await running.ended();
    await settled();
    assert.deepEqual(running.messages(), []);
    assert.deepEqual(only(await talk.post(echo("4", "again"))), said(4, "again"));
  });

  test("HTTP-32: a call that is cancelled before anything was sent leaves its POST not hanging " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const { join, app } = endpoint({ jsonWithinMs: 60_000 });
    const talk = await join();
    const running = talk.post(hold("1", "a"));
    await soon(() => app.ran.length === 1);
    await talk.post(cancel("1"));
    const reply = await within(running, 1000);
    assert.ok(reply !== "pending");
    await reply.ended();
    assert.ok(!JSON.stringify(reply.messages()).includes('"result"'));
  });

  test("CAN-02: what cancels nothing is ignored " +
    "(spec@2025-11-25 basic/utilities/cancellation#error-handling)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const running = await talk.post(hold("2", "b"));
    for (const body of [cancel("999"), cancel('"2"'), cancel("{}"), cancel("null"),
      note("notifications/cancelled"), note("notifications/cancelled", '{"reason":"x"}')]) {
      assert.equal((await talk.post(body)).status, 202, body);
    }
    app.release("b");
    await running.ended();
    assert.deepEqual([only(running), app.aborted], [said(2, "b"), []]);
  });

  test("CAN-07: a client that goes away has not cancelled, with events kept or without; one of " +
    "2026-07-28 has (spec@2025-11-25 basic/transports#sending-messages-to-the-server)",
  async () => {
    for (const [replayEvents, version] of [[1000, "2025-11-25"], [0, "2025-11-25"],
      [1000, "2025-06-18"], [0, "2024-11-05"]] as const) {
      const { join, app } = endpoint({ sessions: { replayEvents } });
      const talk = await join(version);
      const running = await talk.post(hold("1", "a"));
      running.leave();
      await settled();
      assert.deepEqual(app.aborted, []);
      app.release("a");
      await settled();
      assert.deepEqual(only(await talk.post(echo("1", "next"))), said(1, "next"), "its id is free");
    }
    const { handle, app } = endpoint();
    const modern = modernPost("tools/call", { name: "hold", arguments: { t: "m" } });
    await handle(modern);
    modern.leave();
    assert.deepEqual(app.aborted, ["m: disconnected"]);
  });

  test("HTTP-24: idle streams are kept alive by comments, that of the session too " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async (t) => {
    t.mock.timers.enable({ apis: ["setInterval"] });
    const { join } = endpoint({ keepAliveMs: 50 });
    const talk = await join("2025-06-18");
    const streams = [await talk.get(), await talk.post(hold("1", "a"))];
    const before = streams.map(({ text }) => text());
    t.mock.timers.tick(150);
    for (const [at, { text }] of streams.entries()) {
      assert.match(text().slice(before[at]?.length), /^(:[^\n]*\n\n){3}$/);
    }
    for (const { leave } of streams) leave();
    const after = streams.map(({ text }) => text());
    t.mock.timers.tick(150);
    assert.deepEqual(streams.map(({ text }) => text()), after);
  });
});

describe("the stream of a session", () => {
  test("what the server says of itself comes on it, and no answer does " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      const own = await talk.get();
      assert.deepEqual([own.status, own.header("content-type"), own.closed()],
        [200, "text/event-stream", false]);
      assert.match(own.text(), /^:/, "something travels at once");
      await talk.post(request("1", "resources/subscribe", '{"uri":"x:/a"}'));
      const running = await talk.post(hold("2", version));
      app.changes.updated("x:/a");
      app.changes.tools();
      app.release(version);
      await running.ended();
      assert.deepEqual(own.messages(),
        [noted("notifications/resources/updated", { uri: "x:/a" }), changed], version);
      assert.deepEqual(only(running), said(2, version));
      await talk.drop();
    }
  });

  test("each message goes to one stream of one client " +
    "(spec@2025-11-25 basic/transports#multiple-connections)", async () => {
    const { join, app } = endpoint();
    const [a, b] = [await join(), await join()];
    const streams = [await a.get(), await b.get(), await a.post(hold("1", "x")),
      await a.post(hold("2", "y"))];
    app.changes.tools();
    assert.deepEqual(streams.map((reply) => reply.messages()), [[changed], [changed], [], []]);
  });

  test("SES-12: a second GET takes over and ends the first, also one whose socket is dead " +
    "(spec@2025-11-25 basic/transports#multiple-connections)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const one = await talk.get();
    app.changes.tools();
    const two = await talk.get();
    app.changes.tools();
    await one.ended();
    assert.deepEqual([one.messages(), two.messages(), two.closed()], [[changed], [changed], false]);
    one.leave(); // its end is seen late
    app.changes.tools();
    assert.deepEqual([one.messages().length, two.messages().length], [1, 2]);
    two.leave();
    const three = await talk.get();
    app.changes.tools();
    assert.deepEqual(three.messages(), [changed]);
  });

  test("what was said while nobody listened comes with the next GET, once " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      app.changes.tools();
      app.changes.prompts();
      const one = await talk.get();
      assert.deepEqual(one.messages(), [changed, noted("notifications/prompts/list_changed")]);
      one.leave();
      assert.deepEqual((await talk.get()).messages(), [], version);
      await talk.drop();
    }
  });

  test("when more was said meanwhile than is kept, the stream opens with the rest of it " +
    "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)", async () => {
    const { join, app } = endpoint({ sessions: { replayEvents: 2 } });
    const talk = await join();
    for (let at = 0; at < 5; at++) app.changes.tools();
    const own = await talk.get();
    assert.deepEqual([own.status, own.messages()], [200, [changed, changed]]);
    app.changes.prompts();
    assert.equal(own.messages().length, 3);
  });
});

describe("streams that break", () => {
  test("RES-01: a client that comes back gets what it missed of that stream and of no other, and " +
    "the stream goes on (spec@2025-11-25 basic/transports#resumability-and-redelivery)",
  async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version, '{"roots":{}}');
      const own = await talk.get();
      const a = await talk.post(call("1", "chain", { asks: [ROOTS, ROOTS] }));
      await a.heard(1);
      a.leave();
      const b = await talk.post(ask("2", ROOTS));
      await b.heard(1);
      app.changes.tools();
      await talk.post(answered("s1", { roots: [] }));
      await settled();
      const back = await talk.resume(a.last());
      await back.heard(1);
      assert.deepEqual([back.messages(), back.closed()], [[asking("s3", "roots/list")], false]);
      await talk.post(answered("s3", { roots: [] }));
      await back.ended();
      assert.deepEqual(back.messages()[1], said(1, '[{"roots":[]},{"roots":[]}]'), version);
      assert.deepEqual([a.messages().length, only(b), only(own)],
        [1, asking("s2", "roots/list"), changed]);
    }
  });

  test("RES-01: from each event on, the rest of the stream comes, once and in order " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS) {
      const talk = await join(version);
      const own = await talk.get();
      const other = await talk.post(tell("8", [5, 6], "other"));
      const reply = await talk.post(tell("1", [1, 2, 3]));
      app.changes.tools();
      await Promise.all([other.ended(), reply.ended()]);
      const events = reply.events();
      for (const [at, { id = "" }] of events.entries()) {
        const back = await talk.resume(id);
        await back.ended();
        assert.deepEqual([back.status, back.events()], [200, events.slice(at + 1)], version);
      }
      assert.deepEqual([own.closed(), own.messages()], [false, [changed]]);
      const again = await talk.resume(own.last());
      assert.deepEqual([again.closed(), again.messages(), own.closed()], [false, [], true]);
      app.changes.tools();
      assert.deepEqual([again.messages(), own.messages().length], [[changed], 1]);
    }
  });

  test("RES-02: the event ids of another session bring nothing of it " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    const [a, b] = [await join(), await join()];
    const [own, reply] = [await a.get(), await a.post(tell("1", [1, 2], "secret"))];
    await reply.ended();
    app.changes.tools();
    const before = await b.get();
    for (const id of [...own.events(), ...reply.events()].map(({ id = "" }) => id)) {
      const got = await b.resume(id);
      assert.ok([200, 400, 404].includes(got.status));
      assert.doesNotMatch(got.text(), /secret|progress/);
    }
    assert.equal(before.status, 200);
  });

  test("a Last-Event-ID that was never given opens no stream " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join } = endpoint();
    const talk = await join();
    const { last, ended } = await talk.post(tell("1", [1]));
    await ended();
    const beyond = last().replace(/\d+$/, (digits) => `${Number(digits) + 1}`);
    for (const id of ["nonsense", "999-1", "-1", "1-", "1-1-1", "0-1e3", beyond,
      "1-99999999999999999999"]) {
      assert.equal((await talk.resume(id)).status, 400, id);
    }
  });

  test("RES-04: a result that came after the client had gone is kept for it, and the stream then " +
    "ends (spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const reply = await talk.post(hold("1", "a"));
    reply.leave();
    app.release("a");
    await settled();
    for (let once = 0; once < 2; once++) {
      const back = await talk.resume(reply.last());
      await back.ended();
      assert.deepEqual(only(back), said(1, "a"), "it may be lost on the way, and asked for again");
    }
    assert.deepEqual(reply.messages(), []);
  });

  test("RES-10: of two that come back at once the later one reads on, and each event is given " +
    "whole (spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const reply = await talk.post(hold("1", "a"));
    const [one, two] = await Promise.all([talk.resume(reply.last()), talk.resume(reply.last())]);
    await settled();
    assert.deepEqual([one.status, two.status, one.closed(), two.closed()], [200, 200, true, false]);
    app.release("a");
    await two.ended();
    assert.deepEqual([one.messages(), two.messages()], [[], [said(1, "a")]]);
  });

  test("RES-10: DELETE amid a replay leaves no stream open, and the headers are there before it " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, handle } = endpoint();
    const talk = await join();
    const first = await talk.post(tell("1", [1, 2, 3]));
    await first.ended();
    const id = first.events()[0]?.id ?? "";
    const listeners: (() => void)[] = [];
    const reply = await handle({ method: "GET", text: async () => "",
      header: (name) => ({ accept: "text/event-stream", ...talk.named, "last-event-id": id } as
        Record<string, string>)[name] ?? null,
      onClose: (listener) => void listeners.push(listener) });
    assert.equal(reply.status, 200);
    let [text, closed, go] = ["", false, () => {}];
    reply.stream?.({ queued: () => 0, close: () => (closed = true), write(part) {
      text += part;
      return new Promise<void>((resolve) => (go = resolve)); // a slow reader
    } });
    await talk.drop();
    for (let turn = 0; turn < 10; turn++) {
      go();
      await settled();
    }
    assert.ok(closed, text);
  });

  test("RES-12: past the limits the oldest events go, and a client that would miss any is told " +
    "so (spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    for (const sessions of [{ replayEvents: 3 }, { replayBytes: 800 }]) {
      const { join } = endpoint({ sessions });
      const talk = await join();
      const reply = await talk.post(tell("1", [1, 2, 3, 4, 5, 6, 7, 8]));
      await reply.ended();
      const events = reply.events();
      const statuses: number[] = [];
      for (const [at, { id = "" }] of events.entries()) {
        const back = await talk.resume(id);
        statuses.push(back.status);
        if (back.status === 200) assert.deepEqual(back.events(), events.slice(at + 1));
      }
      assert.match(statuses.join(), /^(400,){2,}200(,200)+$/, JSON.stringify(sessions));
      assert.equal((await talk.post(echo("2", "x"))).status, 200);
    }
  });

  test("RES-12: what one session keeps counts against all, so none can fill the memory " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join } = endpoint({ sessions: { replayBytes: 5_000 } });
    const [a, b] = [await join(), await join()];
    const first = await a.post(tell("1", [1, 2]));
    await first.ended();
    assert.equal((await a.resume(first.events()[0]?.id ?? "")).status, 200);
    for (let at = 0; at < 20; at++) {
      await (await b.post(tell("1", [1], "x".repeat(1000)))).ended();
    }
    assert.equal((await a.resume(first.events()[0]?.id ?? "")).status, 400);
    const last = await b.post(tell("1", [1], "last"));
    await last.ended();
    assert.equal((await b.resume(last.events()[0]?.id ?? "")).status, 200);
  });
});

describe("polling", () => {
  const detach = (id: string, t: string, time = 500) => call(id, "detach", { t, ms: time });

  test("a handler may close the connection: the client is told when to come back, and gets the " +
    "result then (spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { join, app } = endpoint({ jsonWithinMs: 60_000 });
    const talk = await join();
    const reply = await talk.post(detach("1", "a"));
    await reply.ended();
    const [first, second, ...more] = reply.events();
    assert.deepEqual([first, second?.retry, second?.data, more],
      [{ id: first?.id, data: "" }, "500", "", []]);
    assert.ok(first?.id !== undefined, "with an id it can name");
    assert.deepEqual(app.aborted, []);
    const early = await talk.resume(reply.last());
    assert.deepEqual([early.status, early.messages(), early.closed()], [200, [], false]);
    app.release("a");
    await early.ended();
    assert.deepEqual(only(early), said(1, "a"));
  });

  test("it comes back late to a result that is there " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, app } = endpoint();
    const talk = await join();
    const reply = await talk.post(detach("1", "a"));
    await reply.ended();
    app.release("a");
    await settled();
    const late = await talk.resume(reply.last());
    await late.ended();
    assert.deepEqual(only(late), said(1, "a"));
  });

  test("where a client would not come back, the connection stays: before 2025-11-25, and without " +
    "a session (spec@2025-06-18 basic/transports#sending-messages-to-the-server)", async () => {
    const { join, app } = endpoint();
    for (const version of VERSIONS.slice(1)) {
      const reply = await (await join(version)).post(detach("1", version));
      await settled();
      assert.equal(reply.closed(), false, version);
      app.release(version);
      await reply.ended();
      assert.deepEqual(only(reply), said(1, version));
    }
    const alone = endpoint({ sessions: false });
    const reply = await alone.post(detach("1", "a"), { "mcp-protocol-version": "2025-11-25" });
    await settled();
    assert.equal(reply.closed(), false);
    alone.app.release("a");
    await reply.ended();
    assert.deepEqual(only(reply), said(1, "a"));
  });

  test("a modern call has no such way (spec basic/transports/streamable-http#cancellation)",
    async () => {
      const { handle, app } = endpoint();
      const reply = await handle(modernPost("tools/call", { name: "detach",
        arguments: { t: "a", ms: 5 } }));
      assert.deepEqual([reply.status, app.aborted], [200, []]);
      app.release("a");
    });
});

describe("limits of sessions", () => {
  test("more sessions than there may be are 503, until one has ended or was idle " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    let time = 0;
    const { post, join } = endpoint({ sessions: { max: 2, idleMs: 100, now: () => time } });
    const [a] = [await join(), await join()];
    assert.deepEqual(refusal(await post(initialize())), [503, -32600]);
    await a.drop();
    assert.equal((await post(initialize())).status, 200);
    assert.equal((await post(initialize())).status, 503);
    time = 101;
    assert.equal((await post(initialize())).status, 200);
  });

  test("more open streams than a session may have are 429; other sessions have their own " +
    "(spec@2025-11-25 basic/transports#multiple-connections)", async () => {
    const { join } = endpoint({ sessions: { maxStreams: 2 } });
    const [talk, other] = [await join(), await join()];
    const open = [await talk.post(hold("1", "a")), await talk.post(hold("2", "b"))];
    assert.deepEqual(open.map(({ status }) => status), [200, 200]);
    assert.deepEqual(refusal(await talk.get()), [429, -32600]);
    assert.equal((await other.get()).status, 200);
    open[0]?.leave();
    const own = await talk.get();
    assert.equal(own.status, 200);
    assert.equal((await talk.get()).status, 200, "the one that it takes over is not one more");
    assert.equal((await talk.resume(open[0]?.last() ?? "")).status, 429);
  });

  test("a reader that is too far behind is let go, and comes back for the rest " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { join, handle, app } = endpoint({ maxBody: 2_000 });
    const talk = await join();
    const header = (name: string) => ({ accept: "text/event-stream", ...talk.named } as
      Record<string, string>)[name] ?? null;
    const reply = await handle({ method: "GET", header, text: async () => "", onClose() {} });
    let [taken, waiting] = ["", ""];
    reply.stream?.({ queued: () => waiting.length, close() {}, write(part) {
      if (taken.length < 300) taken += part; // and then reads no more
      else waiting += part;
    } });
    for (let at = 0; at < 100; at++) app.changes.tools();
    assert.ok(waiting.length < 4_000, `${waiting.length}`);
    const seen = [...taken.matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id);
    const back = await talk.resume(seen.at(-1) ?? "");
    assert.equal(back.messages().length + seen.length, 100);
  });
});

describe("without sessions", () => {
  const alone = (more: Both = {}, app?: Book) => endpoint({ sessions: false, ...more }, app);
  const in11 = { "mcp-protocol-version": "2025-11-25" };

  test("each request stands alone, with or without a handshake before it " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { post } = alone();
    assert.deepEqual(only(await post(echo("1", "a"), in11)), said(1, "a"));
    for (const version of VERSIONS) {
      const reply = await post(initialize(version));
      assert.deepEqual([reply.status, reply.header("mcp-session-id"),
        only(reply).result.protocolVersion], [200, undefined, version]);
      assert.equal((await post(INITIALIZED, { "mcp-protocol-version": version })).status, 202);
      assert.deepEqual(only(await post(echo("2", "b"), { "mcp-session-id": "x",
        "mcp-protocol-version": version })), said(2, "b"));
    }
    assert.deepEqual(only(await post(request("3", "ping"))), result(3, {}));
  });

  test("a batch whose call asks the client has its question, its progress and its answers on a " +
    "stream of its own (spec@2025-03-26 basic/transports#sending-messages-to-the-server)",
  async () => {
    const { join } = endpoint();
    const talk = await join("2025-03-26", '{"sampling":{}}');
    const batch = await talk.post(`[${call("1", "ask", { asks: { k: SAMPLE } })},` +
      `${tell("2", [1])},${request("3", "ping")}]`);
    await batch.heard(2);
    const asked = batch.messages().find(({ method }) => method === "sampling/createMessage");
    assert.ok(batch.streams && asked !== undefined && !batch.closed());
    assert.ok(batch.messages().some((one) => one.method === "notifications/progress"));
    await talk.post(answered(asked.id,
      { role: "assistant", model: "m", content: { type: "text", text: "hi" } }));
    await batch.ended();
    assert.deepEqual(batch.messages().filter(({ result }) => result).map(({ id }) => id).sort(),
      [1, 2, 3]);
  });

  test("the header names the revision, which without it is 2025-03-26 " +
    "(spec@2025-11-25 basic/transports#protocol-version-header)", async () => {
    const { post } = alone();
    const structuredContent = { a: 1 };
    const give = call("1", "give", { result: { content: [], structuredContent } });
    assert.deepEqual(only(await post(give, in11)), result(1, { content: [], structuredContent }));
    assert.deepEqual(only(await post(give)), result(1, { content: [] }));
    const batch = `[${request("1", "ping")}]`;
    const reply = await post(batch);
    await reply.ended();
    assert.deepEqual(reply.messages().flat(), [result(1, {})]);
    assert.deepEqual(refusal(await post(batch, in11)), [400, -32600]);
    assert.deepEqual(refusal(await post(give, { "mcp-protocol-version": "bad-version" }))[0], 400);
  });

  test("GET and DELETE are 405 (spec@2025-11-25 basic/transports#session-management)", async () => {
    const { get, drop } = alone();
    for (const named of [{}, in11, { "mcp-session-id": "x" }, { "last-event-id": "0-1" }]) {
      for (const reply of [await get(named), await drop(named)]) {
        assert.deepEqual([reply.status, reply.header("allow")?.includes("GET")], [405, false]);
      }
    }
  });

  test("a page to visit is an error that names it, with an id; anything else cannot be asked " +
    "(spec@2025-11-25 client/elicitation#url-elicitation-required-error)", async () => {
    const { post } = alone({ jsonWithinMs: 60_000 });
    const { error } = only(await post(ask("1", VISIT), in11));
    const [{ elicitationId }] = error.data.elicitations;
    assert.equal(error.code, -32042);
    assert.deepEqual(error.data, { elicitations: [{ ...VISIT.params, elicitationId }] });
    assert.match(elicitationId, /^[!-~]{20,}$/);
    for (const [one, version] of [[FORM, "2025-11-25"], [SAMPLE, "2025-11-25"],
      [ROOTS, "2025-11-25"], [VISIT, "2025-06-18"], [VISIT, "2025-03-26"], [FORM, "2025-06-18"]] as
      const) {
      const reply = await post(ask("1", one), { "mcp-protocol-version": version });
      assert.equal(reply.code(), -32021, `${one.method} ${version}`);
    }
  });

  test("LIF-15: it does not say that it tells of changes, which it cannot " +
    "(spec@2025-11-25 basic/lifecycle#capability-negotiation)", async () => {
    const { post } = alone();
    const { capabilities } = only(await post(initialize())).result;
    const { tools, prompts, resources } = capabilities;
    assert.deepEqual([tools, prompts, resources], [{}, {}, {}]);
    const reply = await post(request("1", "resources/subscribe", '{"uri":"x:/a"}'), in11);
    assert.equal(reply.code(), -32601);
  });

  test("a stream has no ids, no priming and no end but the answer " +
    "(spec@2025-11-25 basic/transports#resumability-and-redelivery)", async () => {
    const { post } = alone();
    const reply = await post(tell("1", [1, 2]), in11);
    await reply.ended();
    assert.deepEqual(reply.messages(), [told(1), told(2), said(1, "end")]);
    assert.ok(reply.events().every(({ id, data }) => id === undefined && data !== ""));
  });

  test("SES-16: thousands of requests leave nothing behind " +
    "(spec@2025-11-25 basic/transports#session-management)", async () => {
    const { changes, listening } = counted();
    const { post } = alone({}, book({ changes }));
    const some = async (count: number) => {
      for (let at = 0; at < count; at++) {
        await post(INITIALIZED, in11);
        await post(echo("1", "x"), in11);
        await post(request("1", "logging/setLevel", '{"level":"debug"}'), in11);
      }
    };
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const heap = () => {
      collect();
      return process.memoryUsage().heapUsed;
    };
    await some(300);
    // What leaks does so each time; what else this process keeps comes and goes.
    const grown: number[] = [];
    for (let round = 0; round < 3; round++) {
      const before = heap();
      await some(1_000);
      grown.push(heap() - before);
    }
    assert.equal(listening(), 0);
    assert.ok(Math.min(...grown) < 300_000, `${grown} bytes`);
  });
});

describe("both eras on one endpoint", () => {
  const serverInfo = { name: "book", version: "1" };
  const inNew = (id: number, text: string) => result(id, { resultType: "complete",
    content: [{ type: "text", text }],
    _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } });
  const newer = (handle: HttpHandler, t: string, more: Record<string, string> = {}) =>
    http(handle, "POST", headersFor("tools/call", "echo", more), JSON.stringify(
      modernRequest("tools/call", { name: "echo", arguments: { t } })));

  test("modern requests are served beside sessions, one after another and at once " +
    "(spec basic/versioning#compatibility-matrix)", async () => {
    const { join, handle } = endpoint();
    const talk = await join("2025-06-18");
    const replies = await Promise.all([newer(handle, "a"), talk.post(echo("1", "b")),
      newer(handle, "c"), talk.post(echo("2", "d"))]);
    assert.deepEqual(replies.map(only), [inNew(1, "a"), said(1, "b"), inNew(1, "c"), said(2, "d")]);
    assert.ok(replies.every((reply) => reply.header("mcp-session-id") === undefined));
  });

  test("HDR-18: a modern request is served whatever session or event it names, and gets no id " +
    "(spec basic/transports/streamable-http#earlier-streamable-http-revisions)", async () => {
    const { join, handle, get, drop } = endpoint();
    const { id } = await join();
    for (const named of ["x", id]) {
      const reply = await newer(handle, "a", { "mcp-session-id": named, "last-event-id": "3" });
      assert.deepEqual([reply.status, reply.header("mcp-session-id"), only(reply)],
        [200, undefined, inNew(1, "a")]);
    }
    const modern = { "mcp-protocol-version": "2026-07-28" };
    assert.deepEqual([(await get(modern)).status, (await drop(modern)).status], [405, 405]);
  });

  test("a revision that is not spoken gets -32022 and what is spoken, as in the modern era " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const { post } = endpoint();
    const reply = await post(request("1", "tools/list",
      '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01",' +
      '"io.modelcontextprotocol/clientCapabilities":{}}}'),
    { "mcp-protocol-version": "2099-01-01", "mcp-method": "tools/list" });
    const { error } = only(reply);
    assert.deepEqual([reply.status, error.code, error.data],
      [400, -32022, { supported: ["2026-07-28"], requested: "2099-01-01" }]);
    assert.equal((await post(request("1", "tools/list"),
      { "mcp-protocol-version": "2099-01-01", "mcp-method": "tools/list" })).code(), -32022);
  });

  test("a modern message without its headers, or with those of another revision, is refused and " +
    "not served as an older one (spec basic/transports/streamable-http#server-validation)",
  async () => {
    const { post, join, app } = endpoint();
    const talk = await join();
    const body = request("1", "tools/call", `{"name":"hold","arguments":{"t":"a"},${MODERN}}`);
    assert.deepEqual(refusal(await post(body)), [400, -32020]);
    for (const [version, code] of [["2026-07-28", -32020], ["2025-11-25", -32022]] as const) {
      assert.deepEqual(refusal(await post(body, { "mcp-protocol-version": version })), [400, code]);
    }
    assert.deepEqual(refusal(await talk.post(body)), [400, -32022]);
    assert.deepEqual(app.ran, []);
  });

  test("a message that has modern headers and no modern _meta is held to them " +
    "(spec basic#meta)", async () => {
    const { post, app } = endpoint();
    const named = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call",
      "mcp-name": "hold" };
    assert.deepEqual(refusal(await post(hold("1", "a"), named)), [400, -32602]);
    assert.deepEqual(refusal(await post(initialize(), { ...named, "mcp-method": "initialize" })),
      [404, -32601]);
    assert.deepEqual(app.ran, []);
  });

  test("a page that is allowed may use all of it, and read the session id " +
    "(spec@2025-11-25 basic/transports#security-warning)", async () => {
    const origin = "https://app.example";
    const { handle, post } = endpoint({ allowOrigins: [origin] });
    const asked = await http(handle, "OPTIONS", { origin, "access-control-request-method": "DELETE",
      "access-control-request-headers": "mcp-session-id, last-event-id, mcp-protocol-version" });
    const listed = (name: string) => (asked.header(`access-control-allow-${name}`) ?? "")
      .toLowerCase().split(/, */).sort();
    assert.deepEqual([asked.status, listed("origin"), listed("methods"), listed("headers")],
      [204, [origin], ["delete", "get", "post"],
        ["last-event-id", "mcp-protocol-version", "mcp-session-id"]]);
    const opened = await post(initialize(), { origin });
    assert.equal(opened.header("access-control-allow-origin"), origin);
    assert.match(opened.header("access-control-expose-headers") ?? "", /mcp-session-id/i);
  });

  test("the same endpoint answers web requests; a body that is let go does not cancel in a " +
    "session (spec@2025-11-25 basic/transports#sending-messages-to-the-server)", async () => {
    const { handle, app } = endpoint();
    const fetched = webHandler(handle);
    const to = (body: string, headers: Record<string, string>) => fetched(new Request(
      "http://127.0.0.1/mcp", { method: "POST", body, headers: { ...HEADERS, ...headers } }));
    const opened = await to(initialize(), {});
    const id = opened.headers.get("mcp-session-id") ?? "";
    await opened.text();
    const running = await to(hold("1", "old"), { "mcp-session-id": id });
    const reader = running.body?.getReader();
    const { value = new Uint8Array() } = await reader?.read() ?? {};
    const [, last = ""] = /^id: (.*)$/m.exec(new TextDecoder().decode(value)) ?? [];
    await reader?.cancel();
    const modern = await to(JSON.stringify(modernRequest("tools/call",
      { name: "hold", arguments: { t: "new" } })), headersFor("tools/call", "hold"));
    await modern.body?.cancel();
    assert.deepEqual(app.aborted, ["new: disconnected"]);
    app.release("old");
    const back = await fetched(new Request("http://127.0.0.1/mcp", { headers: {
      "accept": "text/event-stream", "mcp-session-id": id, "last-event-id": last } }));
    assert.match(await back.text(), /^data: \{"jsonrpc":"2.0","id":1,"result":/m);
  });

  test("over sockets: a session with its stream, ended by DELETE, and a port that closes with " +
    "one open (spec@2025-11-25 basic/transports#session-management)", async () => {
    const app = book();
    const { url, close } = await app.listen(0);
    const join = async () => {
      const opened = await fetch(url, { method: "POST", headers: HEADERS, body: initialize() });
      await opened.text();
      const named = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
      const ready = await fetch(url, { method: "POST", body: INITIALIZED,
        headers: { ...HEADERS, ...named } });
      assert.deepEqual([ready.status, await ready.text()], [202, ""]);
      const stream = await fetch(url, { headers: { accept: "text/event-stream", ...named } });
      assert.equal(stream.status, 200);
      return { named, stream };
    };
    const { named, stream } = await join();
    app.changes.tools();
    const dropped = await fetch(url, { method: "DELETE", headers: named });
    assert.equal(dropped.status, 204);
    assert.match(await stream.text(), /^data: .*list_changed/m);
    const other = await join();
    const began = performance.now();
    await close();
    assert.ok(performance.now() - began < 2_000);
    await other.stream.text().catch(() => {});
    await ms(0);
  });
});

// Cases of kind session, resumption, lifecycle, sse, http and cancellation that are not tests here,
// and why:
// HTTP-13, RES-06, RES-08, SES-03 are of the client: part5-client.test.ts
// SES-04 a), b), c): the same; what the server does is above
