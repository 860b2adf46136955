// Part V, Sessions: clients of 2024-11-05 to 2025-11-25 on a pipe, and what is translated for them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  LEGACY_VERSIONS, TransportError, openSession, text, tool, type Exchange, type JSONRPCMessage,
} from "../mcp-raw.ts";
import { bytes, coded, cuts, refused, settled } from "./kit.ts";
import { lane, until } from "./kit-http.ts";
import {
  FORM, INITIALIZED, MODERN, ROOTS, SAMPLE, VERSIONS, VISIT, YES, answered, asking, book, call,
  cancel, greeted, initialize, note, noted, request, result, said, soon, stdio,
} from "./kit-legacy.ts";

const PING = request('"ping"', "ping");
const PONG = result("ping", {});
const BOTH = '{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}';
/** The code and the id of an error, whatever else it says. */
const failed = ({ id, error }: { id?: unknown; error?: { code: number } }) => [id, error?.code];
const changed = (what: string) => noted(`notifications/${what}/list_changed`);

describe("the handshake", () => {
  const capabilities = { logging: {}, tools: { listChanged: true }, prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true }, completions: {} };

  test("a client is answered in the revision that it asks for, with what the server can do and " +
    "who it is (spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    assert.deepEqual(LEGACY_VERSIONS, VERSIONS);
    for (const protocolVersion of VERSIONS) {
      const { completions, ...older } = capabilities; // which are of 2025-03-26
      const talk = stdio();
      assert.deepEqual(await talk.ask(initialize(protocolVersion)), result(1, { protocolVersion,
        capabilities: protocolVersion === "2024-11-05" ? older : capabilities,
        serverInfo: { name: "book", version: "1" }, instructions: "read me" }));
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("LIF-06: a revision that is not spoken is answered with the newest one, and what names " +
    "none is refused (spec@2025-11-25 basic/lifecycle#version-negotiation)", async () => {
    for (const version of ["2099-01-01", "", "2026-07-28", "2025-06-17"]) {
      const talk = stdio();
      const { result } = await talk.ask(initialize(version));
      assert.equal(result.protocolVersion, "2025-11-25", version);
      await talk.end();
    }
    for (const params of ['{"protocolVersion":5,"capabilities":{}}', '{"capabilities":{}}', "{}",
      undefined, '{"protocolVersion":null}', '{"protocolVersion":["2025-11-25"]}']) {
      const talk = stdio();
      assert.deepEqual(await talk.ask(request("1", "initialize", params)), refused(-32602, 1));
      assert.equal((await talk.ask(initialize("2025-06-18", "{}", "2"))).result.protocolVersion,
        "2025-06-18", "the next try is a first one");
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("LIF-03: a second initialize is refused under its own id, and the first one holds " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const talk = stdio();
    await talk.ask(initialize("2025-06-18", '{"elicitation":{}}'));
    assert.deepEqual(await talk.ask(initialize("2024-11-05", "{}", "2")), refused(-32600, 2));
    await talk.say(INITIALIZED, call("3", "ask", { asks: { a: FORM } }));
    assert.deepEqual(await talk.hear(), [asking("s1", "elicitation/create", FORM.params)]);
    assert.deepEqual(await talk.end(), []);
  });

  test("LIF-03: the second of two that arrive at once is refused too " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const talk = stdio();
    await talk.say(initialize("2025-06-18"), initialize("2024-11-05", "{}", "2"));
    const [one, two] = (await talk.hear(2)).sort((a, b) => a.id - b.id);
    assert.equal(one.result.protocolVersion, "2025-06-18");
    assert.deepEqual(two, refused(-32600, 2));
    assert.deepEqual(await talk.end(), []);
  });

  test("before initialize only initialize and ping are served, everything else gets -32002 " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const talk = stdio();
    const methods = ["tools/list", "tools/call", "resources/read", "prompts/get", "made/up",
      "logging/setLevel", "resources/subscribe", "completion/complete", "server/discover"];
    for (const [at, method] of methods.entries()) {
      assert.deepEqual(failed(await talk.ask(request(`${at}`, method, "{}"))), [at, -32002]);
    }
    assert.deepEqual(await talk.ask(PING), PONG);
    assert.equal((await talk.ask(initialize("2025-06-18", "{}", "20"))).id, 20);
    assert.deepEqual(await talk.ask(call("21", "echo", '{"t":"hi"}')), said(21, "hi"));
    assert.deepEqual(await talk.end(), []);
  });

  test("requests are served once initialize is answered, also those that came along with it " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const talk = stdio();
    await talk.say(initialize(), INITIALIZED, call("2", "echo", '{"t":"hi"}'), PING);
    const heard = await talk.hear(3);
    const place = (id: unknown) => heard.findIndex((one) => one.id === id);
    assert.deepEqual(heard[place(2)], said(2, "hi"));
    assert.deepEqual(heard[place("ping")], PONG);
    assert.ok(place(1) < place(2), "initialize is answered first");
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-11: initialize without an id is no request: no answer, no session " +
    "(spec@2025-11-25 basic#notifications)", async () => {
    const talk = stdio();
    await talk.say('{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":' +
      '"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}');
    assert.deepEqual(failed(await talk.ask(request("1", "tools/list"))), [1, -32002]);
    await talk.say('{"jsonrpc":"2.0","method":"ping"}');
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-10: notifications/initialized with an id is refused, and nothing begins with it " +
    "(spec@2025-11-25 basic#notifications)", async () => {
    const talk = stdio();
    await talk.ask(initialize());
    assert.deepEqual(await talk.ask(request("3", "notifications/initialized")), refused(-32600, 3));
    talk.app.changes.tools();
    assert.deepEqual(await talk.rest(), []);
    await talk.say(INITIALIZED);
    talk.app.changes.tools();
    assert.deepEqual(await talk.hear(), [changed("tools")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("what the server says of itself waits for notifications/initialized " +
    "(spec@2025-11-25 basic/lifecycle#initialization)", async () => {
    const talk = stdio();
    await talk.ask(initialize("2025-11-25", '{"elicitation":{}}'));
    talk.app.changes.tools();
    assert.deepEqual(await talk.rest(), []);
    await talk.say(call("2", "ask", { asks: { a: FORM } }));
    await until(() => talk.app.counts.once === 1);
    assert.deepEqual(await talk.rest(), [], "no request of the server before it");
    await talk.say(INITIALIZED);
    assert.deepEqual((await talk.hear()).map(({ method }) => method), ["elicitation/create"]);
    await talk.say(answered("s1", YES));
    assert.deepEqual((await talk.hear()).map(({ id }) => id), [2]);
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-30: capabilities, fields and _meta that nobody knows here do no harm " +
    "(spec@2025-11-25 basic/lifecycle#capability-negotiation)", async () => {
    const talk = stdio();
    const { result } = await talk.ask(request("1", "initialize", '{"protocolVersion":' +
      '"2025-11-25","capabilities":{"extensions":{"x.y/z":{}},"future":{},"tasks":{"list":{}},' +
      '"experimental":{"a":{}}},"clientInfo":{"name":"n","version":"1","x":1},"more":[1],' +
      '"_meta":{"com.example/a":1}}'));
    assert.equal(result.protocolVersion, "2025-11-25");
    assert.deepEqual(await talk.ask(call("2", "echo", '{"t":"hi"}')), said(2, "hi"));
    assert.deepEqual(await talk.end(), []);
  });

  test("ping is answered with an empty result, before and after, under an id of either kind " +
    "(spec@2025-11-25 basic/utilities/ping#behavior-requirements)", async () => {
    const talk = stdio();
    assert.deepEqual(await talk.ask(request("0", "ping")), result(0, {}));
    await talk.ask(initialize("2024-11-05"));
    assert.deepEqual(await talk.ask(request('"123"', "ping", '{"_meta":{}}')), result("123", {}));
    assert.deepEqual(await talk.ask(request('""', "ping", '{"a":1}')), result("", {}));
    assert.deepEqual(await talk.end(), []);
  });
});

describe("two eras on one pipe", () => {
  test("each message says itself to which era it belongs, in any order " +
    "(spec basic/versioning#compatibility-matrix)", async () => {
    const talk = stdio();
    const newer = (id: string) => request(id, "tools/call",
      `{"name":"echo","arguments":{"t":"new"},${MODERN}}`);
    const serverInfo = { name: "book", version: "1" };
    const inNew = (id: number) => result(id, { resultType: "complete",
      content: [{ type: "text", text: "new" }],
      _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } });
    assert.deepEqual(await talk.ask(newer("1")), inNew(1));
    assert.deepEqual(failed(await talk.ask(call("2", "echo"))), [2, -32002]);
    await talk.ask(initialize("2025-06-18", "{}", "3"));
    assert.deepEqual(await talk.ask(newer("4")), inNew(4));
    assert.deepEqual(await talk.ask(call("5", "echo", '{"t":"old"}')), said(5, "old"));
    assert.deepEqual(failed(await talk.ask(request("6", "ping", `{${MODERN}}`))), [6, -32601]);
    assert.deepEqual(failed(await talk.ask(request("7", "initialize",
      `{"protocolVersion":"2025-06-18",${MODERN}}`))), [7, -32601]);
    assert.deepEqual(await talk.ask(newer("8")), inNew(8));
    assert.deepEqual(await talk.end(), []);
  });

  test("capabilities of the handshake count for its own messages alone " +
    "(spec basic#statelessness)", async () => {
    const talk = await greeted("2025-11-25", '{"elicitation":{}}');
    const { error } = await talk.ask(request("1", "tools/call",
      `{"name":"ask","arguments":${JSON.stringify({ asks: { a: FORM } })},${MODERN}}`));
    assert.deepEqual([error.code, error.data],
      [-32021, { requiredCapabilities: { elicitation: { form: {} } } }]);
    assert.deepEqual(await talk.end(), []);
  });

  test("an unknown modern revision gets -32022 also after a handshake " +
    "(spec basic/versioning#protocol-version-negotiation)", async () => {
    const talk = await greeted();
    const { error } = await talk.ask(request("1", "tools/list",
      '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}'));
    assert.equal(error.code, -32022);
    assert.equal(error.data.requested, "2099-01-01");
    assert.deepEqual(await talk.end(), []);
  });

  test("what only the modern era has is not there after a handshake " +
    "(spec@2025-11-25 basic/lifecycle#operation)", async () => {
    const talk = await greeted();
    for (const method of ["server/discover", "subscriptions/listen", "made/up", "tasks/list"]) {
      assert.deepEqual(failed(await talk.ask(request("1", method, '{"notifications":{}}'))),
        [1, -32601], method);
    }
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-05: an id that is still in flight is refused, whichever era it comes from " +
    "(spec@2025-11-25 basic#requests)", async () => {
    const talk = await greeted();
    await talk.say(call("7", "hold", '{"t":"a"}'));
    assert.deepEqual(await talk.ask(call("7", "echo", '{"t":"b"}')), refused(-32600, 7));
    assert.deepEqual(await talk.ask(request("7", "tools/list", `{${MODERN}}`)), refused(-32600, 7));
    talk.app.release("a");
    assert.deepEqual(await talk.hear(), [said(7, "a")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("a message may be cut anywhere, also amid a character " +
    "(spec@2025-11-25 basic/transports#stdio)", async () => {
    const talk = await greeted("2025-03-26");
    const line = bytes(`﻿${call("1", "echo", '{"t":"日😀"}')}\r\n`);
    for (const [first = line, second = line] of cuts(line)) {
      talk.input.push(first);
      await settled();
      talk.input.push(second);
      assert.deepEqual(await talk.hear(), [said(1, "日😀")]);
    }
    assert.deepEqual(await talk.end(), []);
  });

  test("what is no message is refused as in every era, and the session goes on " +
    "(spec@2025-11-25 basic#messages)", async () => {
    const talk = await greeted();
    await talk.say('{"jsonrpc":', '"x"', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
      '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":5}');
    assert.deepEqual(await talk.hear(4), [refused(-32700), refused(-32600), refused(-32600),
      refused(-32602, 2)]);
    assert.deepEqual(await talk.ask(PING), PONG);
    assert.deepEqual(await talk.end(), []);
  });

  test("LIF-09: when the pipe closes, the handlers of the session are told at once " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(call("1", "hold", '{"t":"a"}'), call("2", "ask", { asks: { a: FORM } }));
    await talk.hear();
    assert.deepEqual(await talk.end(), []);
    assert.deepEqual(talk.app.aborted, ["a: disconnected"]);
    talk.app.changes.tools();
    assert.deepEqual(await talk.rest(), []);
  });
});

describe("calls of a session", () => {
  test("progress is told under the token of the call, ahead of the result; its message came with " +
    "2025-03-26 (spec@2025-03-26 changelog#other-schema-changes)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      const args = { t: "end", progress: [[1, 2, "half"], [1, 2, "again"], [2, 2]] };
      await talk.say(request("1", "tools/call", `{"name":"tell","arguments":` +
        `${JSON.stringify(args)},"_meta":{"progressToken":"p"}}`));
      assert.deepEqual(await talk.hear(3), [
        noted("notifications/progress", { progressToken: "p", progress: 1, total: 2,
          ...(version !== "2024-11-05" && { message: "half" }) }),
        noted("notifications/progress", { progressToken: "p", progress: 2, total: 2 }),
        said(1, "end")]);
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("PRG-02: without a token nothing is told " +
    "(spec@2025-11-25 basic/utilities/progress#behavior-requirements)", async () => {
    const talk = await greeted();
    assert.deepEqual(await talk.ask(call("1", "tell", { t: "end", progress: [[1]] })),
      said(1, "end"));
    assert.deepEqual(await talk.end(), []);
  });

  test("log messages come at the level that was set last and above, and none before one is set " +
    "(spec@2025-11-25 server/utilities/logging#setting-log-level)", async () => {
    const talk = await greeted("2024-11-05");
    const logs = [["debug", "a"], ["warning", { b: 1 }, "toy"], ["emergency", "c"]];
    const tell = (id: string) => call(id, "tell", { t: "end", logs });
    const [a, b, c] = [["debug", "a"], ["warning", { b: 1 }], ["emergency", "c"]].map(
      ([level, data], at) => noted("notifications/message",
        { level, ...(at === 1 && { logger: "toy" }), data }));
    assert.deepEqual(await talk.ask(tell("1")), said(1, "end"));
    const set = (level: string) => request('"set"', "logging/setLevel", `{"level":${level}}`);
    assert.deepEqual(await talk.ask(set('"warning"')), result("set", {}));
    void talk.say(tell("2"));
    assert.deepEqual(await talk.hear(3), [b, c, said(2, "end")]);
    assert.deepEqual(await talk.ask(set('"debug"')), result("set", {}));
    void talk.say(tell("3"));
    assert.deepEqual(await talk.hear(4), [a, b, c, said(3, "end")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("a level that is none is refused, and the one before holds " +
    "(spec@2025-11-25 server/utilities/logging#error-handling)", async () => {
    const talk = await greeted();
    await talk.ask(request("1", "logging/setLevel", '{"level":"error"}'));
    for (const params of ['{"level":"verbose"}', '{"level":3}', "{}", undefined,
      '{"level":"ERROR"}', '{"level":"toString"}']) {
      assert.deepEqual(await talk.ask(request("2", "logging/setLevel", params)),
        refused(-32602, 2));
    }
    void talk.say(call("3", "tell", { t: "end", logs: [["warning", 1], ["error", 2]] }));
    assert.deepEqual(await talk.hear(2),
      [noted("notifications/message", { level: "error", data: 2 }), said(3, "end")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("a resource that is subscribed to is heard of, until it no longer is " +
    "(spec@2025-11-25 server/resources#subscriptions)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      const { changes } = talk.app;
      const subscribe = (what: string, uri: string) =>
        talk.ask(request("1", `resources/${what}`, `{"uri":"${uri}"}`));
      changes.updated("x:/a");
      assert.deepEqual(await subscribe("subscribe", "x:/a"), result(1, {}));
      assert.deepEqual(await subscribe("subscribe", "x:/a"), result(1, {}), "once more is once");
      changes.updated("x:/a");
      changes.updated("x:/b");
      assert.deepEqual(await talk.hear(),
        [noted("notifications/resources/updated", { uri: "x:/a" })]);
      assert.deepEqual(await talk.rest(), []);
      assert.deepEqual(await subscribe("unsubscribe", "x:/a"), result(1, {}));
      assert.deepEqual(await subscribe("unsubscribe", "x:/never"), result(1, {}));
      changes.updated("x:/a");
      assert.deepEqual(await subscribe("subscribe", "x:/a"), result(1, {}));
      changes.updated("x:/a");
      assert.deepEqual((await talk.hear())[0].params, { uri: "x:/a" }, "and anew");
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("a session has at most 1,000 subscriptions, and has one again when one is given up",
    async () => {
      const talk = await greeted("2025-11-25");
      const subscribe = (what: string, uri: string) =>
        talk.ask(request("1", `resources/${what}`, `{"uri":"${uri}"}`));
      let taken = 0;
      let answer = await subscribe("subscribe", "x:/0");
      while (!("error" in answer) && taken < 2_000) {
        answer = await subscribe("subscribe", `x:/${++taken}`);
      }
      assert.equal(answer.error?.code, -32602);
      assert.ok(taken === 1_000 || taken === 999, `${taken}: the lists may count as one`);
      assert.deepEqual(await subscribe("subscribe", "x:/0"), result(1, {}), "it has that already");
      await subscribe("unsubscribe", "x:/0");
      assert.deepEqual(await subscribe("subscribe", "x:/new"), result(1, {}));
      assert.deepEqual(await talk.end(), []);
    });

  test("a subscription without a URI is refused (spec@2025-11-25 server/resources#subscriptions)",
    async () => {
      const talk = await greeted();
      for (const method of ["resources/subscribe", "resources/unsubscribe"]) {
        for (const params of ["{}", undefined, '{"uri":5}']) {
          assert.deepEqual(await talk.ask(request("1", method, params)), refused(-32602, 1),
            method);
        }
      }
      assert.deepEqual(await talk.end(), []);
    });

  test("lists that change are told of, of each kind, without having been asked for " +
    "(spec@2025-11-25 server/tools#list-changed-notification)", async () => {
    const talk = await greeted("2024-11-05");
    const { changes } = talk.app;
    changes.tools();
    changes.prompts();
    changes.resources();
    assert.deepEqual(await talk.hear(3), [changed("tools"), changed("prompts"),
      changed("resources")]);
    await talk.say(INITIALIZED);
    changes.tools();
    assert.deepEqual(await talk.hear(), [changed("tools")], "said again, it is still one client");
    assert.deepEqual(await talk.end(), []);
  });

  test("a resource that is not there is -32002, with its URI " +
    "(spec@2025-11-25 server/resources#error-handling)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      const { id, error } = await talk.ask(request("1", "resources/read", '{"uri":"x:/none"}'));
      assert.deepEqual([id, error.code, error.data], [1, -32002, { uri: "x:/none" }]);
      assert.deepEqual(await talk.ask(request("2", "resources/read", '{"uri":"x:/a"}')),
        result(2, { contents: [{ uri: "x:/a", text: "A" }] }));
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("arguments that break the schema are a result from 2025-11-25 on, and -32602 before " +
    "(spec@2025-11-25 changelog#minor-changes)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      const answer = await talk.ask(call("1", "add", '{"a":1,"b":"2"}'));
      if (version === "2025-11-25") {
        const [{ text }] = answer.result.content;
        assert.deepEqual(answer, result(1, { content: [{ type: "text", text }], isError: true }));
      } else assert.deepEqual(answer, refused(-32602, 1), version);
      assert.deepEqual(await talk.ask(call("2", "add", '{"a":1,"b":2}')), said(2, "3"));
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("an unknown tool is -32602, and a tool that fails a result, in every revision " +
    "(spec@2025-11-25 server/tools#error-handling)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      assert.deepEqual(await talk.ask(call("1", "none")), refused(-32602, 1));
      assert.deepEqual(await talk.ask(call("2", "fail", '{"t":"oh"}')), result(2,
        { content: [{ type: "text", text: "oh" }], isError: true }));
      assert.deepEqual(await talk.ask(request("3", "tools/call", '{"name":5}')),
        refused(-32602, 3));
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("lists come page by page, and completions as ever, in every revision " +
    "(spec@2025-11-25 server/utilities/pagination#response-format)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version, "{}", book({ list: { pageSize: 1 } }));
      const one = await talk.ask(request("1", "prompts/list"));
      const cursor: string = one.result.nextCursor;
      assert.deepEqual(one, result(1, { prompts: [{ name: "who" }], nextCursor: cursor }));
      assert.deepEqual(await talk.ask(request("2", "prompts/list", `{"cursor":"${cursor}"}`)),
        result(2, { prompts: [{ name: "p", arguments: [{ name: "v" }] }] }));
      assert.deepEqual(await talk.ask(request("3", "prompts/list", '{"cursor":"x"}')),
        refused(-32602, 3));
      assert.deepEqual(await talk.ask(request("4", "completion/complete",
        '{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"v","value":"tw"}}')),
      result(4, { completion: { values: ["two"], total: 1, hasMore: false } }));
      assert.deepEqual(await talk.end(), []);
    }
  });
});

describe("cancelling in a session", () => {
  const slow = (app: ReturnType<typeof book>): { exchange: Exchange; open(): void } => {
    let open = () => {};
    const gate = new Promise<void>((resolve) => (open = resolve));
    return { open, exchange: async (one, on) => {
      if (one.method === "server/discover") await gate;
      return app.exchange(one, on);
    } };
  };

  test("initialize is never cancelled " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    const app = book();
    const { exchange, open } = slow(app);
    const talk = stdio(app, { exchange });
    await talk.say(initialize("2025-06-18", "{}", "0"), cancel("0"), PING);
    assert.deepEqual(await talk.hear(), [PONG]);
    open();
    assert.equal((await talk.hear())[0].result.protocolVersion, "2025-06-18");
    assert.deepEqual(await talk.end(), []);
  });

  test("another call can be, also under the id that initialize had " +
    "(spec basic/patterns/cancellation#cancellation-flow)", async () => {
    const talk = stdio();
    await talk.ask(initialize("2025-11-25", "{}", "1"));
    await talk.say(INITIALIZED, request("1", "tools/call",
      `{"name":"hold","arguments":{"t":"a"},${MODERN}}`));
    await until(() => talk.app.ran.length === 1);
    await talk.say(cancel("1"));
    assert.deepEqual(talk.app.aborted, ["a: cancelled"]);
    assert.deepEqual(await talk.end(), []);
  });

  test("CAN-03: a call that is cancelled is told so, and nothing more is said about it " +
    "(spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)", async () => {
    for (const id of ["4", '"4"', '""', "0"]) {
      const talk = await greeted("2025-06-18");
      await talk.say(call(id, "hold", '{"t":"a"}'), call("9", "hold", '{"t":"b"}'));
      await talk.say(cancel(id));
      assert.deepEqual(talk.app.aborted, ["a: cancelled"], id);
      talk.app.release("a");
      talk.app.release("b");
      assert.deepEqual(await talk.hear(), [said(9, "b")]);
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("CAN-02: what cancels nothing is ignored, and the next request works " +
    "(spec@2025-11-25 basic/utilities/cancellation#error-handling)", async () => {
    const talk = await greeted();
    await talk.ask(call("1", "echo", '{"t":"a"}'));
    await talk.say(call("2", "hold", '{"t":"b"}'));
    await talk.say(cancel("999"), cancel("1"), cancel("{}"), cancel("null"), cancel('"2"'),
      note("notifications/cancelled"), note("notifications/cancelled", "{}"));
    assert.deepEqual(await talk.ask(PING), PONG);
    talk.app.release("b");
    assert.deepEqual(await talk.hear(), [said(2, "b")]);
    assert.deepEqual(talk.app.aborted, []);
    assert.deepEqual(await talk.end(), []);
  });

  test("what the server was asking for a cancelled call is cancelled with it " +
    "(spec@2025-11-25 basic/utilities/cancellation#cancellation-flow)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(call("1", "ask", { asks: { a: FORM } }));
    await talk.hear();
    await talk.say(cancel("1"));
    const [{ params: { reason, ...params }, ...word }] = await talk.hear();
    assert.deepEqual({ ...word, params }, noted("notifications/cancelled", { requestId: "s1" }));
    await talk.say(answered("s1", YES));
    assert.deepEqual(await talk.ask(PING), PONG, "a late answer does no harm");
    assert.deepEqual(await talk.end(), []);
  });
});

describe("what a server asks a client of a session", () => {
  const ask = (asks: object, id = "1") => call(id, "ask", { asks });

  test("a form, a sample and the roots are asked for by requests of the server, and the handler " +
    "goes on with what is answered (spec@2025-11-25 client/elicitation#protocol-messages)",
  async () => {
    for (const [version, one, answer] of [
      ["2025-11-25", FORM, YES], ["2025-06-18", FORM, { action: "decline" }],
      ["2025-06-18", FORM, { action: "cancel" }],
      ...VERSIONS.flatMap((version) => [
        [version, SAMPLE, { role: "assistant", content: { type: "text", text: "yo" }, model: "m" }],
        [version, ROOTS, { roots: [{ uri: "file:///a", name: "A" }] }]] as const),
    ] as const) {
      const talk = await greeted(version, BOTH);
      await talk.say(ask({ k: one }));
      assert.deepEqual(await talk.hear(),
        [asking("s1", one.method, "params" in one ? one.params : undefined)], version);
      await talk.say(answered("s1", answer));
      assert.deepEqual(await talk.hear(), [said(1, JSON.stringify({ k: answer }))], version);
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("what is asked together goes together, what is asked later later, each under its own id; " +
    "answers come in any order (spec@2025-11-25 basic#requests)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(ask({ a: FORM, b: ROOTS }));
    assert.deepEqual(await talk.hear(2),
      [asking("s1", FORM.method, FORM.params), asking("s2", "roots/list")]);
    await talk.say(answered("s2", { roots: [] }));
    assert.deepEqual(await talk.rest(), []);
    await talk.say(answered("s1", YES));
    assert.deepEqual(await talk.hear(), [said(1, JSON.stringify({ a: YES, b: { roots: [] } }))]);
    await talk.say(call("2", "chain", { asks: [FORM, ROOTS] }));
    assert.deepEqual(await talk.hear(), [asking("s3", FORM.method, FORM.params)]);
    await talk.say(answered("s3", { action: "decline" }));
    assert.deepEqual(await talk.hear(), [asking("s4", "roots/list")]);
    await talk.say(answered("s4", { roots: [] }));
    assert.deepEqual(await talk.hear(),
      [said(2, JSON.stringify([{ action: "decline" }, { roots: [] }]))]);
    assert.equal(talk.app.counts.once, 3, "what is done once was done once");
    assert.deepEqual(await talk.end(), []);
  });

  test("prompts and resources may ask too " +
    "(spec@2025-11-25 client/elicitation#user-interaction-model)",
    async () => {
      const talk = await greeted("2025-06-18", BOTH);
      await talk.say(request("1", "prompts/get", '{"name":"who"}'));
      assert.deepEqual((await talk.hear())[0].id, "s1");
      assert.deepEqual(await talk.ask(answered("s1", YES)), result(1, { messages: [
        { role: "user", content: { type: "text", text: JSON.stringify(YES) } }] }));
      await talk.say(request("2", "resources/read", '{"uri":"x:/who"}'));
      assert.deepEqual((await talk.hear())[0].id, "s2");
      assert.deepEqual(await talk.ask(answered("s2", YES)),
        result(2, { contents: [{ uri: "x:/who", text: JSON.stringify(YES) }] }));
      assert.deepEqual(await talk.end(), []);
    });

  test("the rounds of a call are one call to the client: its progress goes on and never back " +
    "(spec@2025-11-25 basic/utilities/progress#progress-flow)", async () => {
    const steps = tool({ name: "steps", inputSchema: { type: "object" },
      async handler(_, { progress, ask }) {
        await progress(1);
        await ask("a", ROOTS);
        await progress(2);
        await ask("b", ROOTS);
        await progress(3);
        return text("end");
      } });
    const talk = await greeted("2025-06-18", BOTH, book({ tools: [steps] }));
    await talk.say(request("1", "tools/call", '{"name":"steps","_meta":{"progressToken":"p"}}'));
    const step = (progress: number) =>
      noted("notifications/progress", { progressToken: "p", progress });
    assert.deepEqual(await talk.hear(2), [step(1), asking("s1", "roots/list")]);
    await talk.say(answered("s1", { roots: [] }));
    assert.deepEqual(await talk.hear(2), [step(2), asking("s2", "roots/list")]);
    await talk.say(answered("s2", { roots: [] }));
    assert.deepEqual(await talk.hear(2), [step(3), said(1, "end")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("an answer that the server cannot use is asked for again " +
    "(spec@2025-11-25 client/elicitation#requested-schema)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(ask({ a: FORM }));
    await talk.hear();
    for (const [id, next, bad] of [["s1", "s2", { action: "perhaps" }],
      ["s2", "s3", { action: "accept", content: { ok: "yes" } }]] as const) {
      assert.deepEqual(await talk.ask(answered(id, bad)), asking(next, FORM.method, FORM.params));
    }
    assert.deepEqual(await talk.ask(answered("s3", YES)), said(1, JSON.stringify({ a: YES })));
    assert.deepEqual(await talk.end(), []);
  });

  test("a client that never gives a usable answer is not asked without end " +
    "(spec@2025-11-25 basic/lifecycle#timeouts)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    let next = await talk.ask(ask({ a: FORM }));
    let asked = 0;
    for (; next.method === "elicitation/create" && asked < 50; asked++) {
      next = await talk.ask(answered(next.id, { action: "perhaps" }));
    }
    assert.deepEqual(failed(next), [1, -32603]);
    assert.ok(asked < 50);
    assert.deepEqual(await talk.end(), []);
  });

  test("an error in place of a form is as good as cancel, in place of anything else it fails the " +
    "call (spec@2025-11-25 client/elicitation#response-actions)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    const refusal = (id: string) => `{"jsonrpc":"2.0","id":"${id}",` +
      '"error":{"code":-32601,"message":"no"}}';
    await talk.say(ask({ k: FORM }));
    await talk.hear();
    assert.deepEqual(await talk.ask(refusal("s1")), said(1, '{"k":{"action":"cancel"}}'));
    for (const [id, next, one] of [["s2", "2", SAMPLE], ["s3", "3", ROOTS]] as const) {
      await talk.say(ask({ k: one }, next));
      await talk.hear();
      assert.deepEqual(await talk.ask(refusal(id)), refused(-32603, Number(next)));
    }
    assert.deepEqual(await talk.end(), []);
  });

  test("what the client did not declare is not asked: -32021 says what lacks " +
    "(spec@2025-11-25 basic/lifecycle#operation)", async () => {
    for (const [version, capabilities, one, requiredCapabilities] of [
      ["2025-11-25", "{}", FORM, { elicitation: { form: {} } }],
      ["2025-11-25", '{"elicitation":{"url":{}}}', FORM, { elicitation: { form: {} } }],
      ["2025-11-25", '{"elicitation":{}}', VISIT, { elicitation: { url: {} } }],
      ["2025-11-25", '{"elicitation":{"form":{}}}', SAMPLE, { sampling: {} }],
      ["2025-11-25", '{"sampling":{}}', ROOTS, { roots: {} }],
      ["2025-11-25", '{"sampling":{}}', { ...SAMPLE, params: { ...SAMPLE.params, tools: [] } },
        { sampling: { tools: {} } }],
    ] as const) {
      const talk = await greeted(version, capabilities);
      const { id, error } = await talk.ask(ask({ k: one }));
      assert.deepEqual([id, error.code, error.data], [1, -32021, { requiredCapabilities }]);
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("what a revision does not have is not asked, whatever its client declared: elicitation " +
    "came with 2025-06-18, pages to visit and tools for samples with 2025-11-25 " +
    "(spec@2025-11-25 changelog#major-changes)", async () => {
    const all = '{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}}}';
    const tools = { ...SAMPLE, params: { ...SAMPLE.params, tools: [] } };
    for (const [version, one] of [["2024-11-05", FORM], ["2025-03-26", FORM],
      ["2025-06-18", VISIT], ["2025-03-26", VISIT], ["2025-06-18", tools],
      ["2024-11-05", tools]] as const) {
      const talk = await greeted(version, all);
      assert.deepEqual(failed(await talk.ask(ask({ k: one }))), [1, -32021], version);
      assert.deepEqual(await talk.end(), []);
    }
    const talk = await greeted("2025-06-18", all);
    assert.equal((await talk.ask(ask({ k: FORM }))).method, "elicitation/create");
    await talk.end();
  });

  test("a page to visit has an id of its own, and the client hears when what it was for is done " +
    "(spec@2025-11-25 client/elicitation#url-mode-elicitation-requests)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    const ids = new Set<string>();
    for (const id of ["s1", "s2"]) {
      await talk.say(ask({ k: VISIT }));
      const [asked] = await talk.hear();
      const { elicitationId } = asked.params;
      assert.deepEqual(asked, asking(id, VISIT.method, { ...VISIT.params, elicitationId }));
      assert.match(elicitationId, /^[!-~]{20,}$/);
      ids.add(elicitationId);
      await talk.say(answered(id, { action: "accept" }));
      const heard = await talk.hear(2);
      assert.deepEqual(heard.find(({ method }) => method !== undefined),
        noted("notifications/elicitation/complete", { elicitationId }));
      assert.deepEqual(heard.find((one) => one.id === 1), said(1, '{"k":{"action":"accept"}}'));
    }
    assert.equal(ids.size, 2);
    assert.deepEqual(await talk.end(), []);
  });

  test("a page that was not agreed to is not told to be done " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const talk = await greeted("2025-11-25", BOTH);
    for (const [id, action] of [["s1", "decline"], ["s2", "cancel"]] as const) {
      await talk.say(ask({ k: VISIT }));
      await talk.hear();
      assert.deepEqual(await talk.ask(answered(id, { action })),
        said(1, `{"k":{"action":"${action}"}}`));
    }
    assert.deepEqual(await talk.end(), []);
  });

  test("a page may be one of several rounds: done is done when the call is " +
    "(spec@2025-11-25 client/elicitation#completion-notifications-for-url-mode-elicitation)",
  async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(call("1", "chain", { asks: [VISIT, FORM] }));
    const [{ params: { elicitationId } }] = await talk.hear();
    assert.equal((await talk.ask(answered("s1", { action: "accept" }))).id, "s2");
    assert.deepEqual(await talk.rest(), []);
    await talk.say(answered("s2", YES));
    const heard = await talk.hear(2);
    assert.deepEqual(heard.filter(({ method }) => method !== undefined),
      [noted("notifications/elicitation/complete", { elicitationId })]);
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-08: an answer to nothing is reported, and nothing else comes of it " +
    "(spec@2025-11-25 basic#responses)", async () => {
    const talk = await greeted("2025-11-25", BOTH);
    await talk.say(ask({ k: FORM }));
    await talk.hear();
    await talk.say(answered("s9", YES), '{"jsonrpc":"2.0","id":1,"result":{}}',
      '{"jsonrpc":"2.0","result":{}}',
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}');
    assert.deepEqual(await talk.ask(PING), PONG);
    assert.equal(talk.strays.length, 4);
    assert.deepEqual(await talk.ask(answered("s1", YES)), said(1, JSON.stringify({ k: YES })));
    assert.deepEqual(await talk.end(), []);
  });

  test("an answer that is malformed leaves nobody waiting (spec@2025-11-25 basic#responses)",
    async () => {
      const talk = await greeted("2025-11-25", BOTH);
      await talk.say(ask({ k: SAMPLE }));
      await talk.hear();
      await talk.say('{"jsonrpc":"2.0","id":"s1","result":5}');
      assert.deepEqual(failed((await talk.rest())[0] ?? {}), [1, -32603]);
      await talk.end();
    });

  test("a form is put in the words of 2025-06-18: no mode, no defaults but of boolean fields, " +
    "titles of choices as a second list (spec@2025-11-25 changelog#major-changes)", async () => {
    const talk = await greeted("2025-06-18", BOTH);
    const properties = {
      s: { type: "string", title: "S", minLength: 1, format: "email", default: "a@b.c" },
      n: { type: "integer", minimum: 1, maximum: 2, default: 1 },
      b: { type: "boolean", default: true },
      e: { type: "string", enum: ["x", "y"], default: "x" },
      l: { type: "string", enum: ["x"], enumNames: ["X"] },
      t: { type: "string", description: "d", default: "r",
        oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
    };
    await talk.say(ask({ k: { method: "elicitation/create", params: { mode: "form", message: "?",
      requestedSchema: { type: "object", properties, required: ["s"] } } } }));
    assert.deepEqual(await talk.hear(), [asking("s1", "elicitation/create", { message: "?",
      requestedSchema: { type: "object", required: ["s"], properties: {
        s: { type: "string", title: "S", minLength: 1, format: "email" },
        n: { type: "integer", minimum: 1, maximum: 2 },
        b: { type: "boolean", default: true },
        e: { type: "string", enum: ["x", "y"] },
        l: { type: "string", enum: ["x"], enumNames: ["X"] },
        t: { type: "string", description: "d", enum: ["r", "g"], enumNames: ["Red", "Green"] },
      } } })]);
    const content = { s: "a@b.c", t: "g" };
    assert.deepEqual(await talk.ask(answered("s1", { action: "accept", content })),
      said(1, JSON.stringify({ k: { action: "accept", content } })));
    assert.deepEqual(await talk.end(), []);
  });

  test("several choices at once cannot be asked for before 2025-11-25 " +
    "(spec@2025-11-25 changelog#major-changes)", async () => {
    const many = { type: "array", items: { type: "string", enum: ["a", "b"] } };
    const one = { method: "elicitation/create", params: { message: "?",
      requestedSchema: { type: "object", properties: { many } } } };
    for (const [version, method, id] of [["2025-11-25", one.method, "s1"],
      ["2025-06-18", undefined, 1]] as const) {
      const talk = await greeted(version, BOTH);
      const heard = await talk.ask(ask({ k: one }));
      assert.deepEqual([heard.method, heard.id], [method, id]);
      assert.equal("error" in heard, version === "2025-06-18");
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("a sample is asked for in the words of the revision: one block a message before " +
    "2025-11-25, no sound before 2025-03-26 (spec@2025-11-25 changelog#major-changes)",
  async () => {
    const hi = { type: "text", text: "hi" };
    const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
    const sampling = (...messages: object[]) => ({ method: "sampling/createMessage",
      params: { maxTokens: 5, messages } });
    const given = sampling({ role: "user", content: [hi], _meta: { "x.y/z": 1 } },
      { role: "user", content: sound });
    for (const version of VERSIONS) {
      const talk = await greeted(version, BOTH);
      await talk.say(ask({ k: given }));
      const [{ params: { messages: [first, second] } }] = await talk.hear();
      assert.deepEqual(first, version === "2025-11-25" ? given.params.messages[0]
        : { role: "user", content: hi }, version);
      if (version === "2024-11-05") assert.equal(second.content.type, "text");
      else assert.deepEqual(second, { role: "user", content: sound }, version);
      await talk.end();
    }
  });
});

describe("batches of 2025-03-26", () => {
  const batch = (...members: string[]) => `[${members.join(",")}]`;
  const sorted = (answers: any[]) => answers.map(coded).sort((a, b) =>
    `${a.id}` < `${b.id}` ? -1 : 1);

  test("RPC-21: several messages at once are answered in one array, without those that want no " +
    "answer (spec@2025-03-26 basic#batching)", async () => {
    const talk = await greeted("2025-03-26");
    await talk.say(batch(call("1", "hold", '{"t":"slow"}'), note("notifications/x"),
      call("2", "echo", '{"t":"fast"}')));
    assert.deepEqual(await talk.ask(PING), PONG, "others are served meanwhile");
    assert.deepEqual(await talk.rest(), []);
    talk.app.release("slow");
    const [answers] = await talk.hear();
    assert.deepEqual(sorted(answers), [said(1, "slow"), said(2, "fast")]);
    await talk.say(batch(INITIALIZED, note("notifications/x")));
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-21: what is no message among them is one -32600, and the others are served " +
    "(spec@2025-03-26 basic#batching)", async () => {
    const talk = await greeted("2025-03-26");
    const answers = await talk.ask(batch("1", request("1", "ping"), "[]", request("2", "made/up"),
      initialize("2025-03-26", "{}", "3")));
    const [one, two, three, ...others] = sorted(answers);
    assert.deepEqual([one, failed(two), three],
      [result(1, {}), [2, -32601], refused(-32600, 3)]);
    assert.deepEqual(others, [refused(-32600), refused(-32600)]);
    assert.deepEqual(await talk.end(), []);
  });

  test("an empty array is one bad request, not an empty answer (JSON-RPC 2.0 §6)", async () => {
    const talk = await greeted("2025-03-26");
    assert.deepEqual(await talk.ask("[]"), refused(-32600));
    assert.deepEqual(await talk.end(), []);
  });

  test("RPC-19: before the handshake, and in every other revision, an array is refused and " +
    "nothing in it is done (spec@2025-06-18 changelog#major-changes)", async () => {
    const fresh = stdio();
    assert.deepEqual(await fresh.ask(batch(initialize("2025-03-26"))), refused(-32600));
    assert.deepEqual(failed(await fresh.ask(request("1", "tools/list"))), [1, -32002]);
    assert.deepEqual(await fresh.end(), []);
    for (const version of VERSIONS.filter((one) => one !== "2025-03-26")) {
      const talk = await greeted(version);
      assert.deepEqual(await talk.ask(batch(call("1", "hold", '{"t":"a"}'), PING)),
        refused(-32600), version);
      assert.deepEqual(talk.app.ran, []);
      assert.deepEqual(await talk.ask(PING), PONG);
      assert.deepEqual(await talk.end(), []);
    }
  });

  test("calls of a batch tell of their progress, ask, and can be cancelled, like all others " +
    "(spec@2025-03-26 basic/utilities/cancellation#behavior-requirements)", async () => {
    const talk = await greeted("2025-03-26", BOTH);
    await talk.say(batch(call("1", "hold", '{"t":"a"}'), call("2", "ask", { asks: { k: ROOTS } }),
      request("3", "tools/call", '{"name":"tell","arguments":{"t":"x","progress":[[1]]},' +
        '"_meta":{"progressToken":"p"}}')));
    const heard = await talk.hear(2);
    assert.deepEqual(heard.filter(({ id }) => id === undefined),
      [noted("notifications/progress", { progressToken: "p", progress: 1 })]);
    assert.deepEqual(heard.filter(({ id }) => id !== undefined), [asking("s1", "roots/list")]);
    await talk.say(cancel("1"), answered("s1", { roots: [] }));
    assert.deepEqual(talk.app.aborted, ["a: cancelled"]);
    assert.deepEqual(sorted((await talk.hear())[0]), [said(2, '{"k":{"roots":[]}}'), said(3, "x")]);
    assert.deepEqual(await talk.end(), []);
  });

  test("LIF-09: the end of the input leaves the calls of a batch their time, and then tells them " +
    "(spec@2025-03-26 basic/lifecycle#shutdown)", async () => {
    const talk = await greeted("2025-03-26");
    await talk.say(batch(call("1", "hold", '{"t":"a"}'), call("2", "hold", '{"t":"b"}')));
    assert.deepEqual(await talk.end(), []);
    assert.deepEqual(talk.app.aborted.sort(), ["a: disconnected", "b: disconnected"]);

    const other = await greeted("2025-03-26", "{}", undefined, { exchange: async (one, on) => {
      if (one.method === "tools/call") await new Promise((resolve) => setTimeout(resolve, 5));
      return book().exchange(one, on);
    } });
    await other.say(batch(call("1", "echo", '{"t":"a"}')));
    assert.deepEqual(await other.end(), [[said(1, "a")]]);
  });
});

describe("what a revision does not know is left out", () => {
  const icons = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }];
  const _meta = { "com.example/a": 1 };
  const dated = { audience: ["user" as const], priority: 0.5 };
  const annotations = { ...dated, lastModified: "2025-01-12T15:00:58Z" };
  const since = (version: string, first: string, fields: object) => version >= first ? fields : {};
  /** The fields of an entry of a list that came later. */
  const late = (version: string) => ({ ...since(version, "2025-06-18", { title: "Rich", _meta }),
    ...since(version, "2025-11-25", { icons }) });
  const rich = { name: "rich", title: "Rich", description: "d", icons, _meta };
  const kept = (version: string) => version >= "2025-06-18" ? annotations : dated;

  test("of tools: icons before 2025-11-25, titles, _meta and output schemas before 2025-06-18, " +
    "annotations before 2025-03-26 (spec@2025-06-18 changelog#other-schema-changes)", async () => {
    const handler = () => text("");
    const inputSchema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
      properties: { title: { type: "string", title: "T" } } } as const;
    const outputSchema = { type: "object", properties: { a: { type: "number" } } } as const;
    const hints = { annotations: { title: "H", readOnlyHint: true } };
    const app = book({ list: { pageSize: 100 }, tools: [
      tool({ ...rich, ...hints, inputSchema, outputSchema, handler }),
      tool({ name: "list", inputSchema, outputSchema: { type: "array" }, handler })] });
    for (const version of VERSIONS) {
      const talk = await greeted(version, "{}", app);
      const { result, ...others } = await talk.ask(request("1", "tools/list"));
      assert.deepEqual(others, { jsonrpc: "2.0", id: 1 });
      const { tools, ...nothing } = result;
      assert.deepEqual(nothing, {}, "no resultType, ttlMs, cacheScope, _meta");
      assert.deepEqual(tools.at(-2), { name: "rich", description: "d", inputSchema,
        ...late(version), ...since(version, "2025-06-18", { outputSchema }),
        ...since(version, "2025-03-26", hints) }, version);
      assert.deepEqual(tools.at(-1), { name: "list", inputSchema }, "outputs are objects");
      await talk.end();
    }
  });

  test("of resources, templates and prompts, and of what is in them " +
    "(spec@2025-06-18 changelog#other-schema-changes)", async () => {
    const file = { ...rich, mimeType: "text/plain", annotations };
    const app = book({
      resources: [{ ...file, uri: "x:/r", size: 3, read: () => "" }],
      templates: [{ ...file, uriTemplate: "y:/{v}", read: () => "" }],
      prompts: [{ ...rich, name: "rich", get: () => "",
        arguments: [{ name: "v", title: "V", description: "d", required: true }] }],
    });
    for (const version of VERSIONS) {
      const talk = await greeted(version, "{}", app);
      const listed = async (method: string) => (await talk.ask(request("1", method))).result;
      const [resources, templates, prompts] = [await listed("resources/list"),
        await listed("resources/templates/list"), await listed("prompts/list")];
      const common = { name: "rich", description: "d", ...late(version) };
      const plain = { ...common, mimeType: "text/plain", annotations: kept(version) };
      assert.deepEqual(resources.resources.at(-1), { ...plain, uri: "x:/r", size: 3 }, version);
      assert.deepEqual(templates, { resourceTemplates: [{ ...plain, uriTemplate: "y:/{v}" }] });
      assert.deepEqual(prompts.prompts.at(-1), { ...common, arguments: [{ name: "v",
        ...since(version, "2025-06-18", { title: "V" }), description: "d", required: true }] });
      assert.deepEqual([Object.keys(resources), Object.keys(prompts)],
        [["resources"], ["prompts"]]);
      await talk.end();
    }
  });

  const picture = { type: "image", data: "AAAA", mimeType: "image/png" };
  const sound = { type: "audio", data: "AAAA", mimeType: "audio/wav" };
  const link = { type: "resource_link", uri: "x:/a", name: "a" };
  const words = { type: "text", text: "hi" };
  const embedded = (more: object, inner: object) => ({ type: "resource", ...more,
    resource: { uri: "x:/a", text: "A", ...inner } });
  /** Content of every kind, with all that it can have. */
  const content = [{ ...words, annotations, _meta }, { ...picture, annotations, _meta },
    embedded({ annotations, _meta }, { _meta }), { ...sound, annotations, _meta },
    { ...link, title: "A", description: "d", size: 1, icons, annotations, _meta }];
  /** What a revision has of it. */
  const checkContent = (version: string, [a, b, c, d, e, ...more]: any[]) => {
    const about = { annotations: kept(version), ...since(version, "2025-06-18", { _meta }) };
    assert.deepEqual([a, b, more], [{ ...words, ...about }, { ...picture, ...about }, []], version);
    assert.deepEqual(c, embedded(about, since(version, "2025-06-18", { _meta })), version);
    if (version === "2024-11-05") assert.equal(d.type, "text");
    else assert.deepEqual(d, { ...sound, ...about }, version);
    if (version >= "2025-06-18") {
      assert.deepEqual(e, { ...link, title: "A", description: "d", size: 1, ...about,
        ...since(version, "2025-11-25", { icons }) }, version);
    } else {
      assert.deepEqual(Object.keys(e).filter((key) => key !== "annotations"), ["type", "text"]);
      assert.match(e.text, /x:\/a/);
    }
  };
  const give = (id: string, result: object) => call(id, "give", { result });

  test("of content: sound becomes text before 2025-03-26, links do before 2025-06-18, and _meta " +
    "and dates are of 2025-06-18 (spec@2025-03-26 changelog#other-schema-changes)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      const { result, ...others } = await talk.ask(give("1", { content, isError: false, _meta }));
      assert.deepEqual(others, { jsonrpc: "2.0", id: 1 });
      checkContent(version, result.content);
      assert.deepEqual({ ...result, content: 0 }, { content: 0, isError: false, _meta });
      await talk.end();
    }
  });

  test("of the messages of a prompt the same (spec@2025-06-18 server/prompts#promptmessage)",
    async () => {
      const app = book({ prompts: [{ name: "all", get: () => ({ description: "d", _meta,
        messages: content.map((content) => ({ role: "user", content })) }) }] });
      for (const version of VERSIONS) {
        const talk = await greeted(version, "{}", app);
        const { result } = await talk.ask(request("1", "prompts/get", '{"name":"all"}'));
        checkContent(version, result.messages.map((one: any) => one.content));
        assert.deepEqual({ ...result, messages: 0 }, { description: "d", messages: 0, _meta });
        await talk.end();
      }
    });

  test("of what is read: _meta of the contents before 2025-06-18 " +
    "(spec@2025-06-18 changelog#other-schema-changes)", async () => {
    const contents = [{ uri: "x:/m", mimeType: "text/plain", text: "A", _meta },
      { uri: "x:/m#b", blob: "AAAA", _meta }];
    const app = book({ resources: [{ uri: "x:/m", name: "m",
      read: () => ({ contents, ttlMs: 5, cacheScope: "public" }) }] });
    for (const version of VERSIONS) {
      const talk = await greeted(version, "{}", app);
      assert.deepEqual(await talk.ask(request("1", "resources/read", '{"uri":"x:/m"}')), result(1,
        { contents: version >= "2025-06-18" ? contents
          : contents.map(({ _meta, ...others }) => others) }), version);
      await talk.end();
    }
  });

  test("structured content is an object or is not there, and is not there before 2025-06-18 " +
    "(spec@2025-06-18 server/tools#structured-content)", async () => {
    for (const version of VERSIONS) {
      const talk = await greeted(version);
      for (const structuredContent of [{ a: [1] }, [1], "s", 5, null, true]) {
        const fits = version >= "2025-06-18" && JSON.stringify(structuredContent).startsWith("{");
        assert.deepEqual(await talk.ask(give("1", { content: [words], structuredContent })),
          result(1, { content: [words], ...(fits && { structuredContent }) }), version);
      }
      await talk.end();
    }
  });

  test("of who the server is, and of what it can do " +
    "(spec@2025-11-25 changelog#minor-changes)", async () => {
    const app = book({ title: "Book", description: "d", icons, websiteUrl: "https://example.com",
      features: [{ capabilities: { extensions: { "x.y/z": {} }, experimental: { e: {} } },
        methods: {} }] });
    for (const version of VERSIONS) {
      const talk = stdio(app);
      const { result: { serverInfo, capabilities } } = await talk.ask(initialize(version));
      assert.deepEqual(serverInfo, { name: "book", version: "1",
        ...since(version, "2025-06-18", { title: "Book" }),
        ...since(version, "2025-11-25", { description: "d", icons,
          websiteUrl: "https://example.com" }) }, version);
      assert.deepEqual([capabilities.experimental, "extensions" in capabilities],
        [{ e: {} }, false], version);
      await talk.end();
    }
  });
});

describe("a session without a transport", () => {
  const one = (method: string, params?: object) =>
    ({ jsonrpc: "2.0" as const, id: 1, method, ...(params && { params: { ...params } }) });
  const begin = async (capabilities = {}) => {
    const [app, sent] = [book(), [] as JSONRPCMessage[]];
    const session = openSession(app.exchange, { send: (message) => void sent.push(message),
      notifications: { "notifications/mine": ({ n }) =>
        void sent.push(noted(`mine ${n}`) as never) } });
    const exchange = (method: string, params?: object, on = lane()) =>
      session.exchange(one(method, params), on);
    assert.equal(session.version(), undefined);
    await exchange("initialize", { protocolVersion: "2025-06-18", capabilities,
      clientInfo: { name: "old", version: "1" } });
    assert.equal(session.version(), "2025-06-18");
    return { app, sent, session, exchange };
  };

  test("each session has its own client, its own level and its own subscriptions " +
    "(spec@2025-11-25 basic/lifecycle#capability-negotiation)", async () => {
    const [a, b] = [await begin(), await begin()];
    await a.exchange("logging/setLevel", { level: "debug" });
    const args = { name: "tell", arguments: { t: "x", logs: [["info", 1]] } };
    const [onA, onB] = [lane(), lane()];
    await a.exchange("tools/call", args, onA);
    await b.exchange("tools/call", args, onB);
    assert.deepEqual([onA.said.length, onB.said.length], [1, 0]);
  });

  test("notifications of the application are handed on " +
    "(spec@2025-11-25 basic#notifications)", async () => {
    const { session, sent } = await begin();
    session.notifications["notifications/mine"]?.({ n: 5 });
    assert.deepEqual(sent, [noted("mine 5")]);
  });

  test("closing it ends what waits for the client and what listens for it " +
    "(spec@2025-11-25 basic/lifecycle#shutdown)", async () => {
    const { app, sent, session, exchange } = await begin({ roots: {} });
    session.notifications["notifications/initialized"]?.({});
    await exchange("resources/subscribe", { uri: "x:/a" });
    const waiting = exchange("tools/call", { name: "ask", arguments: { asks: { k: ROOTS } } });
    await soon(() => sent.length === 1);
    session.close(new TransportError("closed", "it is over"));
    app.changes.tools();
    app.changes.updated("x:/a");
    assert.equal("error" in await waiting, true);
    assert.deepEqual(sent, [asking("s1", "roots/list")]);
  });
});

// Cases of kind session, lifecycle and cancellation that are not tests here, and why:
// CAN-01, LIF-04, LIF-05, LIF-18, LIF-19, SES-03 are of the client: part5-client.test.ts
// LIF-14 this server sends no ping of its own, so no answer to one can end a session
