// The witness of the peer tests: what it must let pass, and what it must see.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { against, faultsOf, type Seen } from "./witness.ts";

const NS = "io.modelcontextprotocol/";
const META = {
  [`${NS}protocolVersion`]: "2026-07-28",
  [`${NS}clientInfo`]: { name: "reader", version: "1" },
  [`${NS}clientCapabilities`]: { elicitation: {} },
};
const client = (message: object, channel = 0): Seen => ({
  from: "client",
  text: JSON.stringify({ jsonrpc: "2.0", ...message }),
  channel,
});
const server = (message: object, channel = 0): Seen => ({
  ...client(message, channel),
  from: "server",
});
const call = (id: number, params: object = {}, meta: object = {}): Seen =>
  client({
    id,
    method: "tools/call",
    params: { name: "ask", arguments: {}, ...params, _meta: { ...META, ...meta } },
  });
const done = (id: number, result: object = { content: [] }): Seen =>
  server({ id, result: { resultType: "complete", ...result } });
const tell = (method: string, params: object): Seen =>
  server({ method: `notifications/${method}`, params });
const progress = (progress: number, progressToken = "p"): Seen =>
  tell("progress", { progressToken, progress });
const log = (level: string): Seen => tell("message", { level, data: "x" });
const listen = (id: number, notifications: object): Seen =>
  client({ id, method: "subscriptions/listen", params: { notifications, _meta: META } });
const mark = (id: unknown): object => ({ _meta: { [`${NS}subscriptionId`]: id } });
const acknowledge = (id: unknown, notifications: object): Seen =>
  tell("subscriptions/acknowledged", { notifications, ...mark(id) });
const form = {
  method: "elicitation/create",
  params: {
    message: "Who?",
    requestedSchema: {
      type: "object",
      properties: { name: { type: "string" } },
      required: ["name"],
    },
  },
};
const asks = (
  id: number,
  more: object = { inputRequests: { who: form }, requestState: "s" },
): Seen => server({ id, result: { resultType: "input_required", ...more } });
const fine = { who: { action: "accept", content: { name: "Ada" } } };
const retry = (id: number, more: object = {}): Seen =>
  call(id, { inputResponses: fine, requestState: "s", ...more });
const token = { progressToken: "p" };

const wellDone: Record<string, Seen[]> = {
  "a call and its result": [call(1), done(1)],
  "a call and its error": [call(1), server({ id: 1, error: { code: -32602, message: "no" } })],
  "progress that grows": [call(1, {}, token), progress(1), progress(2.5), done(1)],
  "a log message of the level": [
    call(1, {}, { [`${NS}logLevel`]: "info" }),
    log("info"),
    log("alert"),
    done(1),
  ],
  "a question and its answer": [call(1), asks(1), retry(2), done(2)],
  "a question that is declined": [
    call(1),
    asks(1),
    retry(2, { inputResponses: { who: { action: "decline" } } }),
    done(2),
  ],
  "state without a question": [
    call(1),
    asks(1, { requestState: "s" }),
    call(2, { requestState: "s" }),
    done(2),
  ],
  "a question without state": [
    call(1),
    asks(1, { inputRequests: { who: form } }),
    call(2, { inputResponses: fine }),
    done(2),
  ],
  "a subscription": [
    listen("l" as never, { toolsListChanged: true, resourceSubscriptions: ["a:/b"] }),
    acknowledge("l", { toolsListChanged: true, resourceSubscriptions: ["a:/b"] }),
    tell("tools/list_changed", mark("l")),
    tell("resources/updated", { uri: "a:/b/c", ...mark("l") }),
    server({ id: "l", result: { resultType: "complete", ...mark("l") } }),
  ],
  "a cancellation": [
    call(1),
    client({ method: "notifications/cancelled", params: { requestId: 1 } }),
  ],
  "two streams at a time": [
    call(1),
    { ...call(2), channel: 1 },
    { ...done(2), channel: 1 },
    done(1),
  ],
};

const wrong: Record<string, [by: "client" | "server", says: RegExp, seen: Seen[]]> = {
  "what is no JSON": [
    "server",
    /no JSON/,
    [call(1), { from: "server", text: "ready", channel: 0 }],
  ],
  "a method that is not there": [
    "client",
    /tools\/run is not there/,
    [client({ id: 1, method: "tools/run", params: { _meta: META } })],
  ],
  "a request without its version": [
    "client",
    /protocolVersion/,
    [client({ id: 1, method: "tools/list", params: { _meta: {} } })],
  ],
  "a result without its type": [
    "server",
    /resultType/,
    [call(1), server({ id: 1, result: { content: [] } })],
  ],
  "a result without what it is for": ["server", /content/, [call(1), done(1, {})]],
  "a block of no type": [
    "server",
    /CallToolResult/,
    [call(1), done(1, { content: [{ type: "texts", text: "" }] })],
  ],
  "a list that says not how long it keeps": [
    "server",
    /ttlMs/,
    [client({ id: 1, method: "tools/list", params: { _meta: META } }), done(1, { tools: [] })],
  ],
  "an error without a code": [
    "server",
    /code/,
    [call(1), server({ id: 1, error: { message: "no" } })],
  ],
  "an error that owes its data": [
    "server",
    /data/,
    [call(1), server({ id: 1, error: { code: -32021, message: "no" } })],
  ],
  "an id that was used before": ["client", /used again/, [call(1), done(1), call(1)]],
  "an answer to nothing": ["server", /answers nothing/, [call(1), done(2)]],
  "a second answer": ["server", /answers nothing/, [call(1), done(1), done(1)]],
  "an answer on another stream": [
    "server",
    /answers nothing/,
    [call(1), { ...done(1), channel: 1 }],
  ],
  "a request of the server": [
    "server",
    /does not send requests/,
    [call(1), server({ id: 1, method: "elicitation/create", params: form.params })],
  ],
  "progress under no token": ["server", /no call under way/, [call(1), progress(1)]],
  "progress after the result": [
    "server",
    /no call under way/,
    [call(1, {}, token), done(1), progress(1)],
  ],
  "progress that stands still": [
    "server",
    /does not grow/,
    [call(1, {}, token), progress(1), progress(1)],
  ],
  "a log message that nobody wants": ["server", /nobody asked/, [call(1), log("alert")]],
  "a log message below the level": [
    "server",
    /nobody asked/,
    [call(1, {}, { [`${NS}logLevel`]: "error" }), log("info")],
  ],
  "a log message of no level": [
    "server",
    /level/,
    [call(1, {}, { [`${NS}logLevel`]: "debug" }), log("loud")],
  ],
  "a question where none may be": [
    "server",
    /cannot ask/,
    [client({ id: 1, method: "tools/list", params: { _meta: META } }), asks(1)],
  ],
  "a question that asks nothing": ["server", /asks nothing/, [call(1), asks(1, {})]],
  "a question that may be kept": [
    "server",
    /is not kept/,
    [call(1), asks(1, { requestState: "s", ttlMs: 0 })],
  ],
  "a question beyond what was declared": [
    "server",
    /did not declare/,
    [call(1), asks(1, { inputRequests: { r: { method: "roots/list" } } })],
  ],
  "a page to visit, undeclared": [
    "server",
    /did not declare/,
    [
      call(1),
      asks(1, {
        inputRequests: {
          u: {
            method: "elicitation/create",
            params: { mode: "url", message: "x", url: "https://a.example" },
          },
        },
      }),
    ],
  ],
  "a result of no known type": [
    "server",
    /resultType later/,
    [call(1), server({ id: 1, result: { resultType: "later", content: [] } })],
  ],
  "an answer that nobody asked for": ["client", /nobody asked/, [retry(1)]],
  "an answer too many": [
    "client",
    /nobody asked why/,
    [call(1), asks(1), retry(2, { inputResponses: { ...fine, why: fine.who } })],
  ],
  "an answer too few": [
    "client",
    /who has no answer/,
    [call(1), asks(1), retry(2, { inputResponses: {} })],
  ],
  "an answer that does not fit its form": [
    "client",
    /the form wants/,
    [
      call(1),
      asks(1),
      retry(2, { inputResponses: { who: { action: "accept", content: { name: 5 } } } }),
    ],
  ],
  "an answer that is none": [
    "client",
    /ElicitResult/,
    [call(1), asks(1), retry(2, { inputResponses: { who: { action: "agree" } } })],
  ],
  "state that was changed": [
    "client",
    /not given back/,
    [call(1), asks(1), retry(2, { requestState: "t" })],
  ],
  "state that was left out": [
    "client",
    /not given back/,
    [call(1), asks(1), call(2, { inputResponses: fine })],
  ],
  "state for another call": [
    "client",
    /nobody asked/,
    [call(1), asks(1), retry(2, { name: "other" })],
  ],
  "a notification that no client sends": [
    "client",
    /does not send/,
    [client({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } })],
  ],
  "a cancellation of nothing": [
    "client",
    /not under way/,
    [client({ method: "notifications/cancelled", params: { requestId: 1 } })],
  ],
  "a change before the acknowledgment": [
    "server",
    /before the acknowledgment/,
    [listen(1, { toolsListChanged: true }), tell("tools/list_changed", mark(1))],
  ],
  "a change of no subscription": [
    "server",
    /no subscription/,
    [call(1), tell("tools/list_changed", {})],
  ],
  "a change that was not asked for": [
    "server",
    /not subscribed/,
    [
      listen(1, { toolsListChanged: true }),
      acknowledge(1, { toolsListChanged: true }),
      tell("prompts/list_changed", mark(1)),
    ],
  ],
  "an update of another resource": [
    "server",
    /not subscribed/,
    [
      listen(1, { resourceSubscriptions: ["a:b"] }),
      acknowledge(1, { resourceSubscriptions: ["a:b"] }),
      tell("resources/updated", { uri: "a:bc", ...mark(1) }),
    ],
  ],
  "more honoured than asked": [
    "server",
    /not asked for/,
    [listen(1, {}), acknowledge(1, { toolsListChanged: true })],
  ],
  "a second acknowledgment": [
    "server",
    /twice/,
    [listen(1, {}), acknowledge(1, {}), acknowledge(1, {})],
  ],
  "an end that does not name its subscription": [
    "server",
    /does not name/,
    [listen(1, {}), acknowledge(1, {}), done(1)],
  ],
  "an end before the acknowledgment": [
    "server",
    /before the acknowledgment/,
    [listen(1, {}), server({ id: 1, result: { resultType: "complete", ...mark(1) } })],
  ],
};

describe("the witness", () => {
  for (const [what, seen] of Object.entries(wellDone)) {
    test(`lets pass: ${what}`, () => assert.deepEqual(faultsOf(seen), []));
  }
  for (const [what, [by, says, seen]] of Object.entries(wrong)) {
    test(`sees: ${what}`, () => {
      const faults = faultsOf(seen);
      assert.ok(
        faults.some((fault) => fault.by === by && says.test(fault.what)),
        JSON.stringify(faults),
      );
    });
  }
  test("compares with the definitions of the schema by their names", () => {
    assert.deepEqual(against("Root", { uri: "file:///a" }), []);
    assert.match(against("Root", {}).join(), /uri/);
    assert.throws(() => against("Nobody", {}));
  });
});
