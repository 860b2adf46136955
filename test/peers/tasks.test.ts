// The extension io.modelcontextprotocol/tasks, from its specification: literal messages over HTTP,
// restarts on files, and a client that waits. Places are headings of its page, or of SEP-2663.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { answering, assemble, boundedPattern, changeSource, compileSchema, connect, connectHttp,
  ProtocolError, roundTrips, server, subscriptions, text, toolError, tools, TransportError,
  type Answers, type CompileSchema, type Context, type Exchange, type JSONRPCRequest,
  type ToolDefinition } from "../../mcp-raw.ts";
import { fileTasks, memoryTasks, TASK_MIRRORS, tasks, type TaskStore, type TasksOptions }
  from "../../examples/extensions/tasks.ts";
import { followTasks, type FollowOptions } from "../../examples/extensions/tasks-client.ts";
import { conversation, INFO, settled } from "../kit.ts";
import { lane, ms, until } from "../kit-http.ts";

const TASKS = "io.modelcontextprotocol/tasks";
const KEY = "0123456789abcdef0123456789abcdef";
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const START = Date.parse("2026-07-28T12:00:00.000Z");
const compile: CompileSchema = (schema) => compileSchema(schema, { patterns: boundedPattern });

const meta = (extensions: object = { [TASKS]: {} }) => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { elicitation: {}, extensions },
});
const PLAIN = meta({});
const REQUIRED = { code: -32021, message: "..",
  data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } } };
const GONE = { code: -32602, message: ".." };
const form = (message: string, field = "name") => ({ method: "elicitation/create" as const,
  params: { message, requestedSchema: { type: "object" as const, required: [field],
    properties: { [field]: { type: "string" as const } } } } });
const NAME = form("Who?");
const accept = (name: string) => ({ action: "accept", content: { name } });

// any: what came off the wire is compared whole
type Json = any;
type Handler = (context: Context, args: Json) => Promise<Record<string, unknown>>;
interface Made extends TasksOptions { key?: string; known?: boolean; handlers?: object }
/** A server of tools without arguments, and a client that speaks to it over HTTP. */
function toy(handlers: Record<string, Handler>, options: Made = {}) {
  const clock = { ms: START };
  const faults: unknown[] = [];
  const { key = KEY, known = false, ...own } = options;
  const definitions: ToolDefinition[] = Object.entries(handlers).map(([name, handler]) =>
    ({ name, inputSchema: { type: "object" },
      handler: (args, context) => handler(context, args) }));
  const app = server({ name: "toy", version: "1", stateKey: key, tools: definitions,
    report: () => {}, features: [tasks({ now: () => clock.ms, pollIntervalMs: 50, ttlMs: 60_000,
      report: (error) => faults.push(error), ...own })],
    ...(known && { http: { guard: { admit: async (http) =>
      ({ id: http.header("authorization") ?? "", scopes: [http.header("x-scope")] }) } } }) });
  let ids = 0;
  /** What comes of a request: the JSON of the body, without what every result has. */
  async function ask(method: string, params: Record<string, unknown> = {},
    headers: Record<string, string> = {}): Promise<Json> {
    const id = ++ids;
    const name = params.taskId ?? params.name;
    const response = await app.fetch(new Request("http://x/mcp", { method: "POST", headers: {
      "content-type": "application/json", accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28", "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }), ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params: { _meta: meta(), ...params } }) }));
    const body = await response.text();
    const message: Json = JSON.parse(body.startsWith("{") ? body
      : body.slice(body.lastIndexOf("data: {") + 6));
    assert.equal(message.id, id);
    if ("error" in message) return { ...message.error, message: ".." };
    const { _meta, ...result } = message.result;
    assert.deepEqual(_meta, INFO);
    return result;
  }
  const call = (name: string, params: object = {}, headers = {}) =>
    ask("tools/call", { name, arguments: {}, ...params }, headers);
  const get = (taskId: string, headers = {}) => ask("tasks/get", { taskId }, headers);
  const update = (taskId: string, inputResponses: object, headers = {}) =>
    ask("tasks/update", { taskId, inputResponses }, headers);
  const cancel = (taskId: string, headers = {}) => ask("tasks/cancel", { taskId }, headers);
  /** The state of a task once it is no longer working. */
  async function reached(taskId: string, status: string, headers = {}): Promise<Json> {
    for (let turn = 0; turn < 1_000; turn++) {
      const task = await get(taskId, headers);
      if (task.status === status) return task;
      assert.ok(["working", "input_required"].includes(task.status), JSON.stringify(task));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    throw new Error(`${status} was not reached`);
  }
  return { app, ask, call, get, update, cancel, reached, clock, faults };
}
/** A handler's way to wait for the test. */
function latch() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
const greets: Handler = async ({ task, ask }) => {
  await task();
  const { content } = await ask("name", NAME);
  return text(`Hello, ${content?.name}`);
};
const folders: string[] = [];
const folder = () => {
  const made = mkdtempSync(join(tmpdir(), "mcp-raw-tasks-"));
  folders.push(made);
  return made;
};
after(() => folders.forEach((made) => rmSync(made, { recursive: true, force: true })));

describe("A call becomes a task", () => {
  test("the server declares the extension with an empty object, and nothing else of tasks " +
    "(ext-tasks #capability-negotiation)", async () => {
    const { capabilities } = await toy({}).ask("server/discover");
    assert.deepEqual(capabilities.extensions, { "io.modelcontextprotocol/tasks": {} });
    assert.equal("tasks" in capabilities, false);
  });

  test("the call is answered with a handle of resultType task, flat, before the work is done " +
    "(ext-tasks #task-creation)", async () => {
    const { opened, open } = latch();
    const { call, get, reached, clock } = toy({ async bake({ task }) {
      await task();
      await opened;
      return text("cake");
    } });
    const { taskId, ...made } = await call("bake");
    assert.match(taskId, UUID);
    const plain = { status: "working", createdAt: "2026-07-28T12:00:00.000Z",
      lastUpdatedAt: "2026-07-28T12:00:00.000Z", ttlMs: 60_000, pollIntervalMs: 50 };
    assert.deepEqual(made, { resultType: "task", ...plain });
    assert.deepEqual(await get(taskId), { resultType: "complete", taskId, ...plain });
    clock.ms += 1_500;
    open();
    assert.deepEqual(await reached(taskId, "completed"), { resultType: "complete", taskId, ...plain,
      status: "completed", lastUpdatedAt: "2026-07-28T12:00:01.500Z",
      result: { resultType: "complete", content: [{ type: "text", text: "cake" }] } });
  });

  test("a client that has not declared the extension in this request waits for the result, also " +
    "after one in which it had (ext-tasks #capability-negotiation)", async () => {
    const { call } = toy({ async bake({ task }) { await task(); return text("cake"); } });
    const cake = { resultType: "complete", content: [{ type: "text", text: "cake" }] };
    assert.equal((await call("bake")).resultType, "task");
    assert.deepEqual(await call("bake", { _meta: PLAIN }), cake);
    const older = { ...PLAIN, "io.modelcontextprotocol/clientCapabilities": { tasks: {
      requests: { tools: { call: {} } } } } };
    assert.deepEqual(await call("bake", { _meta: older, task: { ttl: 1000 } }), cake,
      "nor is the capability of 2025-11-25 a declaration (SEP-2663 #backward-compatibility)");
  });

  test("a tool that can only be a task refuses other clients with -32021, which names the " +
    "extension, before it has done anything (ext-tasks #capability-negotiation)", async () => {
    let ran = 0;
    const { call } = toy({ async bake({ task }) {
      await task({ required: true });
      ran++;
      return text("cake");
    } });
    assert.deepEqual(await call("bake", { _meta: PLAIN }), REQUIRED);
    assert.equal(ran, 0);
    assert.equal((await call("bake")).resultType, "task");
  });

  test("under 2025-11-25 the extension means nothing, whatever the client declares " +
    "(SEP-2663 #backward-compatibility)", async () => {
    const { app } = toy({ async bake({ task }) { await task(); return text("cake"); } });
    const post = async (body: object, session?: string | null) => app.fetch(new Request("http://x/",
      { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json",
        accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25",
        ...(session && { "mcp-session-id": session }) } }));
    const opened = await post({ jsonrpc: "2.0", id: 1, method: "initialize", params: {
      protocolVersion: "2025-11-25", clientInfo: { name: "old", version: "1" },
      capabilities: { extensions: { [TASKS]: {} }, tasks: {} } } });
    const session = opened.headers.get("mcp-session-id");
    await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
    const called = await post({ jsonrpc: "2.0", id: 2, method: "tools/call",
      params: { name: "bake", arguments: {} } }, session);
    assert.deepEqual(await called.json(), { jsonrpc: "2.0", id: 2,
      result: { content: [{ type: "text", text: "cake" }] } });
  });

  test("what was asked before it became a task is asked by the call itself, and the handle that " +
    "follows has none of it (ext-tasks #task-creation)", async () => {
    const { call, reached, update } = toy({ async bake({ task, ask }) {
      const who = await ask("name", NAME);
      await task();
      const where = await ask("place", form("Where?"));
      return text(`${who.content?.name} in ${where.content?.name}`);
    } });
    const asked = await call("bake");
    assert.deepEqual(Object.keys(asked).sort(), ["inputRequests", "requestState", "resultType"]);
    assert.equal(asked.resultType, "input_required");
    const made = await call("bake", { inputResponses: { name: accept("Ann") },
      requestState: asked.requestState });
    assert.deepEqual(Object.keys(made).sort(), ["createdAt", "lastUpdatedAt", "pollIntervalMs",
      "resultType", "status", "taskId", "ttlMs"]);
    const waiting = await reached(made.taskId, "input_required");
    assert.deepEqual(waiting.inputRequests, { place: form("Where?") });
    await update(made.taskId, { place: accept("Oslo") });
    const { result } = await reached(made.taskId, "completed");
    assert.equal(result.content[0].text, "Ann in Oslo");
  });

  test("task() said twice, or not waited for, makes one task that ends like any other " +
    "(engineering)", async () => {
    const { call, reached } = toy({
      async twice({ task }) {
        await Promise.all([task(), task()]);
        await task();
        return text("2");
      },
      async hasty({ task }) { void task(); return text("1"); } });
    for (const [name, words] of [["twice", "2"], ["hasty", "1"]] as const) {
      const { taskId } = await call(name);
      assert.equal((await reached(taskId, "completed")).result.content[0].text, words);
    }
  });

  test("a prompt cannot become a task (ext-tasks #supported-methods)", async () => {
    const { exchange } = server({ name: "toy", version: "1", report: () => {},
      prompts: [{ name: "p", async get({}, { task }) { await task(); return "x"; } }],
      features: [tasks()] });
    const answer = await exchange({ jsonrpc: "2.0", id: 1, method: "prompts/get",
      params: { name: "p", _meta: meta() } }, lane());
    assert.equal("error" in answer && answer.error.code, -32603);
  });
});

describe("A task is asked for", () => {
  test("clients that do not declare the extension get -32021 from each method, whatever the task " +
    "(ext-tasks #protocol-errors)", async () => {
    const { ask, call } = toy({ greets });
    const { taskId } = await call("greets");
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      for (const id of [taskId, "unknown"]) {
        const params = { taskId: id, inputResponses: {}, _meta: PLAIN };
        assert.deepEqual(await ask(method, params), REQUIRED);
      }
    }
  });

  test("a taskId that names nothing is -32602 for each method, and so is one that is no string " +
    "(ext-tasks #protocol-errors)", async () => {
    const { ask, call } = toy({ greets });
    const { taskId } = await call("greets");
    const unknown = ["", "nope", "00000000-0000-4000-8000-000000000000", "__proto__", [taskId], 1,
      null, undefined, { taskId }];
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      for (const id of unknown) {
        const params = { taskId: id, inputResponses: {} };
        assert.deepEqual(await ask(method, params), GONE, `${method} ${id}`);
      }
    }
    assert.deepEqual(await ask("tasks/update", { taskId }), GONE, "without inputResponses");
    assert.deepEqual(await ask("tasks/update", { taskId, inputResponses: [] }), GONE);
  });

  test("tasks/result and tasks/list are gone: -32601 (SEP-2663 #backward-compatibility)",
    async () => {
      const { ask } = toy({});
      for (const method of ["tasks/result", "tasks/list"]) {
        assert.equal((await ask(method, { taskId: "x" }, {})).code, -32601);
      }
    });

  test("Mcp-Name repeats the taskId, or the request is refused with -32020 " +
    "(ext-tasks #streamable-http-routing-headers)", async () => {
    const { ask, call } = toy({ greets });
    const { taskId } = await call("greets");
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const params = { taskId, inputResponses: {} };
      assert.equal((await ask(method, params, { "mcp-name": "other" })).code, -32020);
      assert.equal((await ask(method, params)).resultType, "complete");
    }
  });

  test("a result with isError completes the task (ext-tasks #task-execution-errors)", async () => {
    const { call, reached } = toy({
      async told({ task }) { await task(); return toolError("burnt"); },
      async thrown({ task }) { await task(); throw new Error("burnt"); } });
    for (const name of ["told", "thrown"]) {
      const { status, result, error } = await reached((await call(name)).taskId, "completed");
      assert.deepEqual([status, result, error], ["completed", { resultType: "complete",
        content: [{ type: "text", text: "burnt" }], isError: true }, undefined]);
    }
  });

  test("an error of the protocol fails the task, which says what it was " +
    "(ext-tasks #task-execution-errors)", async () => {
    const { call, reached } = toy({ async break({ task }) {
      await task();
      throw new ProtocolError(-32000, "API rate limit exceeded", { perMinute: 3 });
    } });
    const task = await reached((await call("break")).taskId, "failed");
    assert.equal(task.statusMessage, "API rate limit exceeded");
    assert.deepEqual(task.error, { code: -32000, message: "API rate limit exceeded",
      data: { perMinute: 3 } });
    assert.equal("result" in task, false);
  });

  test("what cannot be said fails the task with -32603 and is reported here " +
    "(ext-tasks #protocol-errors)", async () => {
    const { call, reached, faults } = toy({ async big({ task }) {
      await task();
      return { ...text("x"), big: 1n };
    } });
    const { error } = await reached((await call("big")).taskId, "failed");
    assert.deepEqual(error, { code: -32603, message: "Internal error" });
    assert.match(String(faults), /BigInt/);
  });

  test("progress and log stop with the answer to the call, though the handler goes on " +
    "(ext-tasks #task-status-notifications)", async () => {
    const { opened, open } = latch();
    const { app, reached } = toy({ async bake({ task, progress, log }) {
      await progress(1);
      await task();
      await opened;
      await progress(2);
      await log("info", "still here");
      return text("cake");
    } });
    const said = conversation(app.exchange);
    await said.say(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {
      name: "bake", _meta: { ...meta(), progressToken: "p",
        "io.modelcontextprotocol/logLevel": "debug" } } }));
    await until(() => said.heard().length === 2);
    open();
    const [progress, { result }] = said.heard();
    assert.equal(progress.method, "notifications/progress");
    await reached(result.taskId, "completed");
    assert.equal((await said.end()).length, 2);
  });
});

describe("A task asks", () => {
  test("its questions are in tasks/get until they are answered, and the answers are acknowledged " +
    "with an empty result (ext-tasks #task-update-requests)", async () => {
    const { call, get, update, reached } = toy({ greets });
    const { taskId } = await call("greets");
    const waiting = await reached(taskId, "input_required");
    assert.deepEqual(waiting.inputRequests, { name: NAME });
    assert.deepEqual(await get(taskId), waiting);
    assert.equal("requestState" in waiting, false);
    assert.deepEqual(await update(taskId, { name: accept("Luca") }), { resultType: "complete" });
    const { inputRequests, result } = await reached(taskId, "completed");
    assert.deepEqual([inputRequests, result.content[0].text], [undefined, "Hello, Luca"]);
  });

  test("several are asked at once and may be answered one by one; keys that are unknown or " +
    "answered are ignored (ext-tasks #task-update-requests)", async () => {
    const { call, get, update, reached } = toy({ async both({ task, ask }) {
      await task();
      const [a, b] = await Promise.all([ask("a", NAME), ask("b", form("Where?"))]);
      return text(`${a.content?.name} ${b.content?.name}`);
    } });
    const { taskId } = await call("both");
    await reached(taskId, "input_required");
    assert.deepEqual(await update(taskId, { c: accept("x"), toString: accept("x") }),
      { resultType: "complete" });
    assert.deepEqual(Object.keys((await get(taskId)).inputRequests), ["a", "b"]);
    await update(taskId, { a: accept("Ann"), c: accept("x") });
    const { status, inputRequests } = await get(taskId);
    assert.deepEqual([status, inputRequests], ["input_required", { b: form("Where?") }]);
    await update(taskId, { a: accept("Eve") });
    await update(taskId, { a: accept("Eve"), b: accept("Oslo") });
    assert.equal((await reached(taskId, "completed")).result.content[0].text, "Ann Oslo");
    assert.deepEqual(await update(taskId, { b: accept("Rome") }), { resultType: "complete" });
    assert.equal((await get(taskId)).result.content[0].text, "Ann Oslo");
  });

  test("the last answer given several times at once runs the handler once " +
    "(ext-tasks #task-update-requests)", async () => {
    let ran = 0;
    const { call, update, reached } = toy({ async once({ task, ask }) {
      ran++;
      await task();
      return text(String((await ask("name", NAME)).content?.name));
    } });
    const { taskId } = await call("once");
    await reached(taskId, "input_required");
    await Promise.all(["a", "b", "c"].map((name) => update(taskId, { name: accept(name) })));
    await reached(taskId, "completed");
    assert.equal(ran, 2);
  });

  test("a key is never given to a second request, be it another question or the same once more " +
    "(ext-tasks #task-update-requests)", async () => {
    const { call, update, reached } = toy({ async many({ task, ask, once }) {
      await task();
      const rounds = await once("list", () => ["x", "y"]);
      await ask("name", NAME);
      for (const round of rounds) await ask(`name (${round})`, form(round));
      await ask("name (2)", form("another"));
      return text("done");
    } });
    const { taskId } = await call("many");
    const seen: string[] = [];
    const answers = [{ action: "accept", content: { name: 5 } }, accept("Ann"), accept("x"),
      accept("y"), accept("z")];
    for (const answer of answers) { // the first of them does not fit the form
      const { inputRequests } = await reached(taskId, "input_required");
      const [key = ""] = Object.keys(inputRequests);
      assert.equal(seen.includes(key), false, key);
      seen.push(key);
      await update(taskId, { [key]: answer });
    }
    await reached(taskId, "completed");
    assert.equal(seen.length, 5);
  });

  test("a question waits as long as its task, though a client would have ten minutes " +
    "(ext-tasks #task-polling)", async () => {
    let ms = START;
    const now = () => ms;
    const { exchange } = assemble({ name: "toy", version: "1" }, [
      tools([{ name: "greets", handler: (_, context) => greets(context, {}) }], { compile }),
      roundTrips({ compile, now }), tasks({ now, ttlMs: 86_400_000 })]);
    const ask = async (method: string, params: object): Promise<Json> => {
      const answer: Json = await exchange({ jsonrpc: "2.0", id: 1, method,
        params: { ...params, _meta: meta() } }, lane());
      return answer.result;
    };
    const { taskId } = await ask("tools/call", { name: "greets" });
    let task: Json;
    const reached = async (fine: () => boolean) => {
      do [task] = await Promise.all([ask("tasks/get", { taskId }), settled()]); while (!fine());
    };
    for (const key of ["name", "name (2)"]) {
      await reached(() => key in Object(task.inputRequests));
      ms += 40_000_000; // eleven hours, twice; what comes back first does not fit
      const fits = key !== "name";
      await ask("tasks/update", { taskId, inputResponses: { [key]: fits ? accept("Ann") : {} } });
    }
    await reached(() => task.status === "completed");
    assert.equal(task.result.content[0].text, "Hello, Ann");
  });

  test("a handler that only wants to be called again is called at the pace of its task, which " +
    "works meanwhile (ext-tasks #task-status)", async () => {
    let ran = 0;
    const { call, reached, get } = toy({ async slow({ task, requestState }) {
      ran++;
      await task();
      if (requestState === "b") return text("done");
      return { resultType: "input_required", requestState: requestState === "a" ? "b" : "a" };
    } }, { pollIntervalMs: 5 });
    const { taskId } = await call("slow");
    assert.equal((await get(taskId)).status, "working");
    await reached(taskId, "completed");
    assert.equal(ran, 3);
  });
});

describe("A task is given up", () => {
  const holds = () => {
    const state = { reasons: [] as string[], ...latch() };
    const hold: Handler = async ({ task, lane: { signal } }) => {
      await task();
      signal.addEventListener("abort", () => state.reasons.push(signal.reason.code));
      await state.opened;
      return text("late");
    };
    return { state, hold };
  };

  test("tasks/cancel is acknowledged with an empty result, stops the handler, and what comes " +
    "later counts for nothing (ext-tasks #task-cancellation)", async () => {
    const { state, hold } = holds();
    const { call, get, cancel } = toy({ hold });
    const { taskId } = await call("hold");
    assert.deepEqual(await cancel(taskId), { resultType: "complete" });
    assert.deepEqual(state.reasons, ["cancelled"]);
    state.open();
    await new Promise((resolve) => setTimeout(resolve, 2));
    const { status, result } = await get(taskId);
    assert.deepEqual([status, result], ["cancelled", undefined]);
    assert.deepEqual(await cancel(taskId), { resultType: "complete" });
  });

  test("a task that waits for input is cancelled too, and asks nothing any more " +
    "(ext-tasks #task-cancellation)", async () => {
    let ran = 0;
    const { call, get, cancel, update, reached } = toy({ async asks(context) {
      ran++;
      return greets(context, {});
    } });
    const { taskId } = await call("asks");
    await reached(taskId, "input_required");
    await Promise.all([update(taskId, { other: accept("x") }), cancel(taskId)]);
    assert.deepEqual(await update(taskId, { name: accept("Ann") }), { resultType: "complete" });
    const { status, inputRequests } = await get(taskId);
    assert.deepEqual([status, inputRequests, ran], ["cancelled", undefined, 1]);
  });

  test("cancelling a finished task is acknowledged and changes nothing " +
    "(ext-tasks #task-cancellation)", async () => {
    const { call, get, cancel, reached } = toy({
      async bake({ task }) { await task(); return text("cake"); } });
    const { taskId } = await call("bake");
    const done = await reached(taskId, "completed");
    assert.deepEqual(await cancel(taskId), { resultType: "complete" });
    assert.deepEqual(await get(taskId), done);
  });

  test("notifications/cancelled and the end of the connection do not touch a task, but stop a " +
    "call that is none yet (ext-tasks #task-cancellation)", async () => {
    const { state, hold } = holds();
    const early = latch();
    const { app, get } = toy({ hold, async early({ lane: { signal } }) {
      await early.opened;
      state.reasons.push(signal.reason.code);
      return text("late");
    }, async later({ lane }) {
      await early.opened;
      state.reasons.push(lane.signal.reason.code); // looked at for the first time
      return text("late");
    } });
    const { say, heard, end } = conversation(app.exchange);
    const line = (id: number, name: string) => JSON.stringify({ jsonrpc: "2.0", id,
      method: "tools/call", params: { name, _meta: meta() } });
    await say(line(1, "hold"), line(2, "early"), line(3, "later"));
    await until(() => heard().length === 1);
    const [{ result: { taskId } }] = heard();
    await say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}',
      '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}');
    early.open();
    await end();
    await until(() => state.reasons.length === 2);
    assert.deepEqual(state.reasons, ["cancelled", "cancelled"], "of the calls that were no tasks");
    assert.equal((await get(taskId)).status, "working");
    const controller = new AbortController();
    await app.exchange(JSON.parse(line(4, "hold")), lane(controller.signal));
    controller.abort();
    assert.equal(state.reasons.length, 2, "nor does a lane that ends after the answer");
  });

  test("after ttlMs a task is gone: its handler stops, and its name is unknown " +
    "(ext-tasks #task-polling)", async () => {
    const { state, hold } = holds();
    const { call, get, clock } = toy({ hold, greets });
    const [one, two] = [await call("hold"), await call("greets")];
    clock.ms += 59_999;
    assert.equal((await get(one.taskId)).status, "working");
    clock.ms += 1;
    assert.deepEqual(await get(two.taskId), GONE);
    const { taskId } = await call("greets"); // sees to it that those before it end
    assert.deepEqual(state.reasons, ["timeout"]);
    state.open();
    assert.deepEqual(await get(one.taskId), GONE);
    assert.equal((await get(taskId)).resultType, "complete");
  });

  test("a task that is given up while it is written down stays given up, and an expired one " +
    "is not written again (ext-tasks #task-cancellation)", async () => {
    const inner = memoryTasks();
    let slow: ReturnType<typeof latch> | undefined;
    const store: TaskStore = { ...inner, async save(record) {
      const json = JSON.stringify(record);
      await slow?.opened;
      return inner.save(JSON.parse(json));
    } };
    let ran = 0;
    const { call, get, update, cancel, reached, clock } = toy({ async asks(context) {
      ran++;
      return greets(context, {});
    }, hold: holds().hold }, { store });
    const { taskId } = await call("asks");
    await reached(taskId, "input_required");
    slow = latch();
    const given = [update(taskId, { name: accept("Ann") }), cancel(taskId)];
    await settled();
    assert.equal((await get(taskId)).status, "input_required", "what is not written is not shown");
    slow.open();
    await Promise.all(given);
    await ms(5); // a second run would begin with unsealing
    assert.deepEqual([(await get(taskId)).status, ran], ["cancelled", 1]);

    slow = undefined;
    const last = await call("asks");
    await reached(last.taskId, "input_required");
    slow = latch();
    const late = update(last.taskId, { name: accept("Ann") });
    await settled();
    clock.ms += 60_000;
    const gone = get(last.taskId);
    await settled();
    slow.open();
    await late;
    assert.deepEqual(await gone, GONE);
    await settled();
    assert.deepEqual(await inner.ids(), [taskId]);
  });

  test("a handler that ends after its task was given up adds nothing, be the store slow or the " +
    "task expired (engineering)", async () => {
    const inner = memoryTasks();
    const { state, hold } = holds();
    let slow: ReturnType<typeof latch> | undefined;
    const store: TaskStore = { ...inner, async save(record) {
      await slow?.opened;
      return inner.save(record);
    } };
    const { call, get, cancel, clock } = toy({ hold }, { store });
    const { taskId } = await call("hold");
    slow = latch();
    const over = cancel(taskId);
    state.open();
    await settled();
    slow.open();
    await over;
    assert.equal((await get(taskId)).status, "cancelled");

    const again = holds();
    const second = toy({ hold: again.hold }, { store: inner });
    const last = await second.call("hold");
    second.clock.ms += 60_000;
    clock.ms += 60_000;
    assert.deepEqual([await second.get(last.taskId), await get(taskId)], [GONE, GONE]);
    again.state.open();
    await settled();
    assert.deepEqual(await inner.ids(), []);
  });

  test("a task without an end has ttlMs null and stays (ext-tasks #tasks)", async () => {
    const { call, get, clock, reached, update } = toy({ greets }, { ttlMs: null });
    const { taskId, ttlMs } = await call("greets");
    assert.equal(ttlMs, null);
    await reached(taskId, "input_required");
    clock.ms += 1e12;
    assert.equal((await get(taskId)).ttlMs, null);
    await update(taskId, { name: accept("Ann") });
    await reached(taskId, "completed");
  });

  test("there are no more tasks than maxTasks, also of calls at once; expired ones make room " +
    "(engineering)", async () => {
    const { call, clock } = toy({ greets }, { maxTasks: 2 });
    const all = await Promise.all(Array.from({ length: 6 }, () => call("greets")));
    const codes = all.map((one) => one.code ?? one.resultType);
    assert.deepEqual(codes.sort(), [-32603, -32603, -32603, -32603, "task", "task"]);
    clock.ms += 60_000;
    assert.equal((await call("greets")).resultType, "task");
  });

  test("finished tasks count until they expire, those of earlier processes too (engineering)",
    async () => {
      const store = memoryTasks();
      const bake: Handler = async ({ task }) => { await task(); return text("cake"); };
      const one = toy({ bake }, { store, maxTasks: 1 });
      await one.reached((await one.call("bake")).taskId, "completed");
      const two = toy({ bake }, { store, maxTasks: 1 });
      assert.deepEqual([(await one.call("bake")).code, (await two.call("bake")).code],
        [-32603, -32603]);
      two.clock.ms += 60_000;
      const { taskId } = await two.call("bake");
      assert.deepEqual(await store.ids(), [taskId]);
    });

  test("the results of finished tasks are in the store, and not in memory as well (engineering)",
    async () => {
      const store = memoryTasks();
      const { call, get, reached } = toy(
        { async bake({ task }) { await task(); return text("cake"); } }, { store });
      const { taskId } = await call("bake");
      await reached(taskId, "completed");
      await store.remove(taskId);
      assert.deepEqual(await get(taskId), GONE);
    });
});

describe("A task belongs to its caller", () => {
  const Ann = { authorization: "Ann", "x-scope": "bake" };
  const Eve = { authorization: "Eve", "x-scope": "bake" };

  test("for anybody else it does not exist, and is left alone " +
    "(ext-tasks #security-considerations)", async () => {
    const { call, get, update, cancel, reached } = toy({ greets }, { known: true });
    const { taskId } = await call("greets", {}, Ann);
    await reached(taskId, "input_required", Ann);
    for (const who of [Eve, {}]) {
      assert.deepEqual(await get(taskId, who), GONE);
      assert.deepEqual(await update(taskId, { name: accept("Eve") }, who), GONE);
      assert.deepEqual(await cancel(taskId, who), GONE);
    }
    await update(taskId, { name: accept("Ann") }, Ann);
    const { result } = await reached(taskId, "completed", Ann);
    assert.equal(result.content[0].text, "Hello, Ann");
  });

  test("the handler sees the caller who answered, with what that token allows " +
    "(ext-tasks #security-considerations)", async () => {
    const { call, update, reached } = toy({ async bake({ task, ask, lane: { principal } }) {
      await task();
      await ask("name", NAME);
      return text(JSON.stringify(principal));
    } }, { known: true });
    const { taskId } = await call("bake", {}, Ann);
    await reached(taskId, "input_required", Ann);
    await update(taskId, { name: accept("x") }, { ...Ann, "x-scope": "fry" });
    const { result } = await reached(taskId, "completed", Ann);
    assert.equal(result.content[0].text, '{"id":"Ann","scopes":["fry"]}');
  });
});

describe("A task outlives its process", () => {
  test("a finished task answers as before (ext-tasks #tasks)", async () => {
    const place = join(folder(), "made/on/demand");
    const handlers: Record<string, Handler> = {
      async bake({ task }) { await task(); return text("cake"); },
      async burn({ task }) { await task(); throw new ProtocolError(-32000, "burnt"); } };
    const one = toy(handlers, { store: fileTasks(place) });
    const [baked, burnt, left] = [await one.call("bake"), await one.call("burn"),
      await one.call("bake")];
    const done = await one.reached(baked.taskId, "completed");
    const failed = await one.reached(burnt.taskId, "failed");
    await one.reached(left.taskId, "completed");
    const two = toy({}, { store: fileTasks(place) });
    assert.deepEqual(await two.get(baked.taskId), done);
    assert.deepEqual(await two.get(burnt.taskId), failed);
    assert.deepEqual(await two.cancel(left.taskId), { resultType: "complete" });
    assert.equal((await two.get(left.taskId)).status, "completed");
    two.clock.ms += 60_000;
    assert.deepEqual(await two.get(baked.taskId), GONE);
    assert.equal(readdirSync(place).length, 2, "what has expired is no longer on the disk");
  });

  test("one that waits for input goes on from where it was, with what was answered and what was " +
    "done once, and its keys stay used (ext-tasks #tasks)", async () => {
    const place = folder();
    let looked = 0;
    const handlers: Record<string, Handler> = { async bake({ task, ask, once }) {
      const { content: { name: who = "" } = {} } = await ask("who", NAME);
      await task();
      const oven = await once("oven", () => ++looked);
      const [a, b] = await Promise.all([ask("a", NAME), ask("b", NAME)]);
      const c = await ask("a", form("Really?"));
      return text([who, oven, a.content?.name, b.content?.name, c.content?.name].join());
    } };
    const open = () => toy(handlers, { store: fileTasks(place) });
    const one = open();
    const { requestState } = await one.call("bake");
    const { taskId } = await one.call("bake", { requestState,
      inputResponses: { who: accept("Ann") } });
    const waiting = await one.reached(taskId, "input_required");
    const two = open();
    assert.deepEqual(await two.get(taskId), waiting);
    await two.update(taskId, { a: accept("A") });
    const three = open();
    assert.deepEqual(Object.keys((await three.get(taskId)).inputRequests), ["b"]);
    await three.update(taskId, { b: accept("B") });
    const { inputRequests } = await three.reached(taskId, "input_required");
    assert.deepEqual(inputRequests, { "a (2)": form("Really?") });
    const four = open();
    await four.update(taskId, { a: accept("no"), "a (2)": accept("C") });
    const { result } = await four.reached(taskId, "completed");
    assert.equal(result.content[0].text, "Ann,1,A,B,C");
    assert.equal(looked, 1);
  });

  test("a server with another key cannot go on, and says that by failing the task (engineering)",
    async () => {
      const place = folder();
      const one = toy({ greets }, { store: fileTasks(place) });
      const { taskId } = await one.call("greets");
      await one.reached(taskId, "input_required");
      const two = toy({ greets }, { store: fileTasks(place), key: KEY.toUpperCase() });
      await two.update(taskId, { name: accept("Ann") });
      assert.equal((await two.reached(taskId, "failed")).error.code, -32602);
    });

  const working: Record<string, Handler> = {
    async careful({ task }) { await task(); return new Promise(() => {}); },
    async careless({ task, ask }) {
      const who = await ask("name", NAME);
      await task({ again: true });
      return process.env.SECOND_LIFE === undefined ? new Promise(() => {})
        : text(`Hello, ${who.content?.name}`);
    } };

  test("one that was under way has failed, for half of it may be done; it says so with -32603 " +
    "(ext-tasks #task-execution-errors)", async () => {
    const place = folder();
    const one = toy(working, { store: fileTasks(place) });
    const { taskId } = await one.call("careful");
    const two = toy(working, { store: fileTasks(place) });
    const answers = await Promise.all([two.get(taskId), two.get(taskId), two.cancel(taskId)]);
    const { status, error, statusMessage } = await two.get(taskId);
    assert.deepEqual([status, error], ["failed", { code: -32603, message: statusMessage }]);
    assert.match(statusMessage, /restarted/);
    assert.deepEqual(answers.map(({ resultType }) => resultType), Array(3).fill("complete"));
  });

  test("one that may be done twice is done again, once, when its owner asks for it, with what " +
    "was answered before it was a task (engineering)", async () => {
    const place = folder();
    const Ann = { authorization: "Ann" };
    const one = toy(working, { store: fileTasks(place), known: true });
    const { requestState } = await one.call("careless", {}, Ann);
    const { taskId } = await one.call("careless", { requestState,
      inputResponses: { name: accept("Ann") } }, Ann);
    process.env.SECOND_LIFE = "yes";
    let ran = 0;
    const two = toy({ careless(...given) { ran++; return working.careless!(...given); } },
      { store: fileTasks(place), known: true });
    assert.deepEqual(await two.get(taskId, { authorization: "Eve" }), GONE);
    assert.equal(ran, 0, "a stranger sets nothing going");
    await Promise.all([two.get(taskId, Ann), two.get(taskId, Ann), two.get(taskId, Ann)]);
    const { result } = await two.reached(taskId, "completed", Ann);
    assert.deepEqual([result.content[0].text, ran], ["Hello, Ann", 1]);
    delete process.env.SECOND_LIFE;
  });

  test("a task that ends while it is read from the disk is not begun again (engineering)",
    async () => {
      const inner = memoryTasks();
      const first = toy({ async bake({ task }) { await task({ again: true });
        return new Promise(() => {}); } }, { store: inner });
      const { taskId } = await first.call("bake");
      const slow = latch();
      let reads = 0;
      const store: TaskStore = { ...inner, async load(id) {
        const record = await inner.load(id);
        if (++reads === 2) await slow.opened; // it has read what is no longer so
        return record;
      } };
      let ran = 0;
      const { get, reached } = toy({ async bake() { ran++; return text("cake"); } }, { store });
      const [, late] = [get(taskId), get(taskId)];
      await reached(taskId, "completed");
      slow.open();
      assert.deepEqual([(await late).status, ran], ["completed", 1]);
    });

  test("files are the owner's alone, and no id leads to another file; one that is broken is no " +
    "task (ext-tasks #security-considerations)", async () => {
    const place = folder();
    const { call, get, clock, reached } = toy({ greets }, { store: fileTasks(place), maxTasks: 1 });
    const { taskId } = await call("greets");
    await reached(taskId, "input_required");
    const file = `${taskId}.json`;
    assert.deepEqual(readdirSync(place), [file]);
    if (process.platform !== "win32") assert.equal(statSync(join(place, file)).mode & 0o077, 0);
    writeFileSync(join(place, "secret.json"), '{"task":{}}');
    const other = toy({ greets }, { store: fileTasks(place), maxTasks: 1 });
    for (const id of ["secret", "../secret", `${taskId}.json`, `./${taskId}`, `${taskId}\0`]) {
      assert.deepEqual(await other.ask("tasks/get", { taskId: id }, { "mcp-name":
        `=?base64?${btoa(id)}?=` }), GONE);
    }
    writeFileSync(join(place, file), '{"task":{"taskId"');
    assert.deepEqual(await other.get(taskId), GONE);
    const next = await other.call("greets");
    assert.equal(next.resultType, "task", "nor does it take a place");
    await other.reached(next.taskId, "input_required");
    const third = toy({ greets }, { store: fileTasks(place) });
    assert.deepEqual(await third.ask("tasks/get", { taskId: [next.taskId] }), GONE);
    clock.ms += 60_000;
    assert.deepEqual(await get(taskId), GONE);
  });

  test("no task is made that could not be written down, and nobody hears why " +
    "(ext-tasks #task-creation)", async () => {
    const inner = memoryTasks();
    const broken = { ids: true, save: true };
    const check = async (what: keyof typeof broken) => {
      if (broken[what]) throw new Error(`ENOSPC: /var/tasks (${what})`);
    };
    const { app, call, get, faults } = toy({ greets }, { maxTasks: 1, store: { ...inner,
      ids: () => check("ids").then(inner.ids),
      save: (record) => check("save").then(() => inner.save(record)) } });
    for (const what of ["ids", "save"] as const) {
      const answer = await app.exchange({ jsonrpc: "2.0", id: 1, method: "tools/call",
        params: { name: "greets", _meta: meta() } }, lane());
      assert.deepEqual(answer, { jsonrpc: "2.0", id: 1,
        error: { code: -32603, message: "The task could not be kept" } });
      assert.ok(String(faults.at(-1)).includes(what));
      broken[what] = false;
    }
    const { taskId } = await call("greets");
    assert.equal((await get(taskId)).resultType, "complete");
  });

  test("a task that cannot be written down later goes on in memory to its end (engineering)",
    async () => {
      const inner = memoryTasks();
      let saves = 0;
      const { call, update, reached, get, faults } = toy({ greets }, { store: { ...inner,
        async save(record) {
          if (++saves > 1) throw new Error("ENOSPC");
          return inner.save(record);
        } } });
      const { taskId } = await call("greets");
      await reached(taskId, "input_required");
      await update(taskId, { name: accept("Ann") });
      const done = await reached(taskId, "completed");
      assert.deepEqual(await get(taskId), done);
      assert.equal(faults.length, 3);
    });
});

describe("Status notifications", () => {
  const ID = "io.modelcontextprotocol/subscriptionId";
  const listen = (exchange: Exchange, notifications: object, more: object = {},
    capable = meta()) => {
    const ear = { ...lane(), ...more };
    const over = exchange({ jsonrpc: "2.0", id: 9, method: "subscriptions/listen",
      params: { notifications, _meta: capable } }, ear);
    return { over, said: ear.said as Json[] };
  };

  test("taskIds are acknowledged as far as they are the caller's; then comes each state, whole, " +
    "under the id of the subscription (ext-tasks #task-status-notifications)", async () => {
    const { app, call, get, update, reached } = toy({ greets });
    const [{ taskId }, other] = [await call("greets"), await call("greets")];
    await reached(taskId, "input_required");
    await reached(other.taskId, "input_required");
    const controller = new AbortController();
    const { over, said } = listen(app.exchange, { taskIds: [taskId, "unknown"] },
      { signal: controller.signal });
    await until(() => said.length === 2);
    const { resultType, ...waiting } = await get(taskId);
    assert.deepEqual(said, [
      { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged",
        params: { _meta: { [ID]: 9 }, notifications: { taskIds: [taskId] } } },
      { jsonrpc: "2.0", method: "notifications/tasks", params: { ...waiting, _meta: { [ID]: 9 } } },
    ]);
    const third = await call("greets");
    await reached(third.taskId, "input_required");
    await update(taskId, { name: accept("Ann") });
    await until(() => said.length === 4);
    const { resultType: _, ...done } = await get(taskId);
    const { inputRequests, ...working } = waiting;
    assert.deepEqual(said.slice(2).map(({ params }) => params), [
      { ...working, status: "working", _meta: { [ID]: 9 } }, { ...done, _meta: { [ID]: 9 } }]);
    controller.abort();
    const { result }: Json = await over;
    assert.equal(result._meta[ID], 9);
    const { over: longer, said: heard } = listen(app.exchange, { taskIds: [other.taskId] });
    await until(() => heard.length === 2);
    app.changes.close();
    await longer;
    await update(other.taskId, { name: accept("Eve") });
    await reached(other.taskId, "completed");
    assert.equal(heard.length, 2, "and nothing when that is over");
  });

  test("a task that was over before anybody listened is told of at once " +
    "(ext-tasks #task-status-notifications)", async () => {
    const { app, call, reached } = toy({
      async bake({ task }) { await task(); return text("cake"); } });
    const { taskId } = await call("bake");
    await reached(taskId, "completed");
    const { said } = listen(app.exchange, { taskIds: [taskId], toolsListChanged: true });
    await until(() => said.length === 2);
    assert.deepEqual(said[0].params.notifications, { toolsListChanged: true, taskIds: [taskId] });
    assert.deepEqual([said[1].params.status, said[1].params.result.content[0].text],
      ["completed", "cake"]);
    app.changes.tools();
    assert.equal(said[2].method, "notifications/tools/list_changed");
    app.changes.close();
  });

  test("clients that do not declare the extension get -32021, and malformed taskIds -32602 " +
    "(ext-tasks #task-status-notifications)", async () => {
    const { app } = toy({ greets });
    const refused: Json = await listen(app.exchange, { taskIds: [] }, {}, PLAIN).over;
    assert.deepEqual({ ...refused.error, message: ".." }, REQUIRED);
    for (const taskIds of ["x", [1], {}, null, Array(1_001).fill("x")]) {
      const answer: Json = await listen(app.exchange, { taskIds }).over;
      assert.equal(answer.error.code, -32602);
    }
  });

  test("nobody listens to the task of another (ext-tasks #security-considerations)", async () => {
    const { app, call } = toy({ greets }, { known: true });
    const { taskId } = await call("greets", {}, { authorization: "Ann" });
    const { said } = listen(app.exchange, { taskIds: [taskId] }, { principal: { id: "Eve" } });
    await until(() => said.length === 1);
    assert.deepEqual(said[0].params.notifications, { taskIds: [] });
    app.changes.close();
  });

  test("a listener that is too slow loses its subscription, and nobody else loses anything " +
    "(engineering)", async () => {
    const { app, call, reached, update, faults } = toy({ greets });
    const { taskId } = await call("greets");
    await reached(taskId, "input_required");
    let count = 0;
    const slow = listen(app.exchange, { taskIds: [taskId] }, { notify() {
      if (++count > 2) throw new TransportError("overflow", "too slow");
    } });
    const quick = listen(app.exchange, { taskIds: [taskId] });
    await until(() => quick.said.length === 2);
    await update(taskId, { name: accept("Ann") });
    await reached(taskId, "completed");
    const ended: Json = await slow.over;
    assert.equal(ended.error.code, -32603);
    assert.equal(quick.said.length, 4);
    assert.deepEqual(faults, []);
    app.changes.close();
  });

  test("it needs a server that has subscriptions, and adds nothing to those without taskIds " +
    "(engineering)", async () => {
    const source = changeSource();
    const { exchange } = assemble({ name: "toy", version: "1" }, [tools([], { compile }),
      roundTrips({ compile }), subscriptions(source, ["toolsListChanged"]), tasks()]);
    const { said, over } = listen(exchange, { toolsListChanged: true }, {}, PLAIN);
    await until(() => said.length === 1);
    assert.deepEqual(said[0].params.notifications, { toolsListChanged: true });
    source.close();
    await over;
  });
});

describe("A client waits for a task", () => {
  const seed = { resultType: "task", taskId: "t", status: "working", createdAt: "", ttlMs: null,
    lastUpdatedAt: "", pollIntervalMs: 1 };
  const state = (more: object) => ({ ...seed, resultType: "complete", ...more });
  /** A server that says one thing after the other; an Error is thrown, a number is a code. */
  function script(...told: (object | number)[]) {
    const asked: JSONRPCRequest[] = [];
    const exchange: Exchange = async (request) => {
      asked.push(request);
      const next = told.shift() ?? {};
      if (next instanceof Error) throw next;
      return typeof next === "number"
        ? { jsonrpc: "2.0", id: request.id, error: { code: next, message: "no" } }
        : { jsonrpc: "2.0", id: request.id, result: { resultType: "complete", ...next } };
    };
    const said = () => asked.map(({ method, params: { _meta, ...params } = {} }) =>
      [method, params]);
    return { exchange, asked, said };
  }
  const bake = { name: "bake", arguments: {} };
  const call = (exchange: Exchange, options: FollowOptions = {}, more: object = {}, given: object =
    bake) => connect(followTasks(exchange, options), answering(options.answers ?? {}))
    .call("tools/call", given as typeof bake, more);
  const CAKE = { content: [{ type: "text", text: "cake" }] };
  const DONE = state({ status: "completed", result: CAKE });

  test("it declares the extension in each request, asks until the task is over, under ids of its " +
    "own, and gives what the call would have given (ext-tasks #task-polling)", async () => {
    const { exchange, asked } = script(seed, state({}), DONE);
    const result = await call(exchange, {}, { onProgress() {} });
    assert.deepEqual(result, { resultType: "complete", ...CAKE });
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "mcp-raw", version: "0.1.0" },
      "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } };
    assert.deepEqual(asked, [
      { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...bake,
        _meta: { ..._meta, progressToken: "p1" } } },
      { jsonrpc: "2.0", id: "1-task-1", method: "tasks/get", params: { taskId: "t", _meta } },
      { jsonrpc: "2.0", id: "1-task-2", method: "tasks/get", params: { taskId: "t", _meta } },
    ]);
  });

  test("an answer that is no task passes through (ext-tasks #capability-negotiation)", async () => {
    const { exchange } = script(CAKE);
    assert.deepEqual(await call(exchange), { resultType: "complete", ...CAKE });
  });

  test("questions are answered once, though a later state may still have them, and keys that are " +
    "new are new questions (ext-tasks #task-update-requests)", async () => {
    const one = { a: NAME };
    const { exchange, said } = script(seed, state({ status: "input_required", inputRequests: one }),
      {}, state({ status: "input_required", inputRequests: one }),
      state({ status: "input_required", inputRequests: { ...one, b: form("Where?") } }), {},
      DONE);
    const asked: string[] = [];
    const answers: Answers = { form({ message }) {
      asked.push(message);
      return { action: "accept", content: { name: "Ann" } };
    } };
    await call(exchange, { answers });
    assert.deepEqual(asked, ["Who?", "Where?"]);
    assert.deepEqual(said().filter(([method]) => method === "tasks/update"), [
      ["tasks/update", { taskId: "t", inputResponses: { a: accept("Ann") } }],
      ["tasks/update", { taskId: "t", inputResponses: { b: accept("Ann") } }]]);
  });

  test("a failed task throws its error, a cancelled one that it was (ext-tasks #task-status)",
    async () => {
      const failed = script(seed, state({ status: "failed", error: { code: -32000, message: "burnt",
        data: 1 } }));
      await assert.rejects(call(failed.exchange), { name: "ProtocolError", code: -32000,
        message: "burnt", data: 1 });
      const over = script(seed, state({ status: "cancelled", statusMessage: "closed today" }));
      await assert.rejects(call(over.exchange), { name: "TransportError", code: "cancelled",
        message: "closed today" });
      assert.equal(over.said().length, 2, "there is nothing to cancel");
    });

  test("a task that is gone is -32602 to the caller (ext-tasks #protocol-errors)", async () => {
    const { exchange, said } = script(seed, -32602);
    const request = { jsonrpc: "2.0" as const, id: "7", method: "tools/call", params: bake };
    assert.deepEqual(await followTasks(exchange)(request, lane()),
      { jsonrpc: "2.0", id: "7", error: { code: -32602, message: "no" } });
    assert.equal(said().length, 2, "there is nothing to cancel");
  });

  test("giving up the call cancels the task (ext-tasks #task-cancellation)", async () => {
    for (const when of ["poll", "question", "flight"]) {
      const { exchange: answered, said } = script(seed, when === "poll" ? state({})
        : state({ status: "input_required", inputRequests: { a: NAME } }));
      const controller = new AbortController();
      const exchange: Exchange = async (request, lane) => {
        const answer = await answered(request, lane);
        if (when !== "flight" || request.method !== "tasks/get") return answer;
        controller.abort(new Error("enough")); // as a transport finds it, which waits no longer
        throw new TransportError("cancelled", "enough");
      };
      const answers: Answers = { form: () => {
        controller.abort(new Error("enough"));
        return new Promise(() => {});
      } };
      const onTask = () => when === "poll" && said().length === 2 &&
        controller.abort(new Error("enough"));
      await assert.rejects(call(exchange, { answers, onTask }, { signal: controller.signal }),
        { name: "TransportError", code: "cancelled", message: "enough" });
      await until(() => said().length === 3);
      assert.deepEqual(said()[2], ["tasks/cancel", { taskId: "t" }]);
    }
  });

  test("a question that cannot be answered gives the task up (ext-tasks #task-cancellation)",
    async () => {
      const { exchange, said } = script(seed,
        state({ status: "input_required", inputRequests: { a: { method: "roots/list" } } }));
      await assert.rejects(call(exchange, { answers: { form: () => ({ action: "decline" }) } }),
        { name: "TransportError", code: "result" });
      await until(() => said().length === 3);
      assert.deepEqual(said()[2], ["tasks/cancel", { taskId: "t" }]);
    });

  test("a server that asks without end is given up (engineering)", async () => {
    let turn = 0;
    const exchange: Exchange = async ({ id, method }) => ({ jsonrpc: "2.0", id, result:
      method === "tools/call" ? seed : state({ status: "input_required",
        inputRequests: { [`k${turn++}`]: NAME } }) });
    await assert.rejects(call(exchange, { answers: { form: () => ({ action: "decline" }) } }),
      { code: "result" });
    assert.ok(turn < 40);
  });

  test("a request about the task that gets no answer is made again; the call is not " +
    "(ext-tasks #task-polling)", async () => {
    const lost = new TransportError("unreachable", "gone");
    const { exchange, said } = script(seed, lost, lost, DONE);
    assert.deepEqual((await call(exchange)).content, CAKE.content);
    assert.equal(said().length, 4);
    const dead = script(seed, lost, lost, lost, lost, lost, lost);
    await assert.rejects(call(dead.exchange), { code: "unreachable" });
    assert.equal(dead.said().length, 6, "and left alone: it may be there when the server is");
    const first = script(lost, seed);
    await assert.rejects(call(first.exchange), { code: "unreachable" });
    assert.equal(first.said().length, 1);
  });

  test("a client that has written the id down goes on after a crash of its own " +
    "(ext-tasks #task-polling)", async () => {
    const one = script(seed, DONE);
    const ids: string[] = [];
    await call(one.exchange, { onTask: ({ taskId }) => ids.push(taskId) });
    assert.deepEqual(ids, ["t", "t"]);
    const { exchange, said, asked } = script(DONE);
    const result = await call(exchange, {}, {}, { ...bake, _meta: { taskId: "t" } });
    assert.deepEqual(result.content, CAKE.content);
    assert.deepEqual(said(), [["tasks/get", { taskId: "t" }]]);
    assert.equal("taskId" in Object(asked[0]?.params?._meta), false);
  });

  test("a task in answer to another method is an invalid answer " +
    "(ext-tasks #capability-negotiation)", async () => {
    const { exchange, said } = script(seed);
    const client = connect(followTasks(exchange));
    await assert.rejects(client.call("prompts/get", { name: "p" }), { code: "result" });
    assert.equal(said().length, 1);
  });

  test("a state that is no task is an error, not a wait without end (engineering)", async () => {
    for (const bad of [{}, { taskId: 1, status: "working" }, { taskId: "t", status: "paused" }]) {
      await assert.rejects(call(script(seed, bad).exchange), { code: "result" });
    }
    await assert.rejects(call(script(seed, state({ status: "completed" })).exchange),
      { name: "ProtocolError", code: -32603 });
  });

  test("a handle that is over already is asked for its result (ext-tasks #task-creation)",
    async () => {
      const { exchange } = script({ ...seed, status: "completed", pollIntervalMs: 60_000 },
        DONE);
      assert.deepEqual((await call(exchange)).content, CAKE.content);
    });

  test("over HTTP the two sides agree, headers included, before and after it became a task " +
    "(ext-tasks #streamable-http-routing-headers)", async () => {
    const { app } = toy({ async bake({ task, ask }) {
      const first = await ask("name", NAME);
      await task({ required: true });
      const then = await ask("name", form("And?"));
      return text(`${first.content?.name} and ${then.content?.name}`);
    } }, { pollIntervalMs: 1 });
    const names: (string | null)[] = [];
    const exchange = connectHttp("http://x/mcp", { mirrors: TASK_MIRRORS, fetch: (url, init) => {
      const request = new Request(url as string, init as RequestInit);
      names.push(request.headers.get("mcp-name"));
      return app.fetch(request);
    } });
    const answers: Answers = { form: ({ message }) => ({ action: "accept",
      content: { name: message === "Who?" ? "Ann" : "Bob" } }) };
    const { content } = await call(exchange, { answers });
    assert.deepEqual(content, [{ type: "text", text: "Ann and Bob" }]);
    assert.deepEqual(names.slice(0, 2), ["bake", "bake"]);
    assert.match(names[2] ?? "", UUID);
  });
});
