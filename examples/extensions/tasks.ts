// You will learn: calls that outlive their request (the extension io.modelcontextprotocol/tasks).
// A handler says `await task()`; from there on the caller has a handle and asks for the outcome:
//
//   → tools/call {"name":"bake",..}    ← {"resultType":"task","taskId":"7f1c",..}
//   → tasks/get {"taskId":"7f1c"}      ← {"status":"input_required","inputRequests":{"sugar":{..}}}
//   → tasks/update {"taskId":"7f1c","inputResponses":{"sugar":{..}}}   ← {}
//   → tasks/get {"taskId":"7f1c"}      ← {"status":"completed","result":{"content":[..]}}
//
// A Feature and nothing else: it wraps tools/call, and is to the handler what a client would be. It
// runs the handler, and when that asks for input, runs it again with the answers. tasks-client.ts
// is the other side, and shows both at work.
import { errorResponse, INTERNAL_ERROR, INVALID_PARAMS, isObject, ProtocolError, SUBSCRIPTION_ID,
  TransportError, wholeNumber, type Context, type Feature, type Handler, type InputRequest,
  type InputRequests, type InputResponses, type JSONRPCRequest, type Lane, type Params,
  type RequestParams, type Result } from "../../mcp-raw.ts";

export const TASKS = "io.modelcontextprotocol/tasks";
/** What a client declares, and a server offers. */
export const TASKS_CAPABILITY = { extensions: { [TASKS]: {} } };
/** What HTTP repeats in Mcp-Name, so that a proxy finds the machine that holds the task. */
export const TASK_MIRRORS = { "tasks/get": "taskId", "tasks/update": "taskId",
  "tasks/cancel": "taskId" };

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string; // ISO 8601
  lastUpdatedAt: string;
  ttlMs: number | null; // counted from createdAt; null: for ever
  pollIntervalMs?: number;
}
/** A task with what its status brings: the questions, the result, or the error. */
export interface DetailedTask extends Task {
  inputRequests?: InputRequests;
  result?: Params;
  error?: { code: number; message: string; data?: unknown };
}
interface TaskParams extends RequestParams { taskId: string }
declare module "../../mcp-raw.ts" {
  interface Context {
    /** Makes a task of the call, for clients that know tasks; others wait, or get -32021. */
    readonly task: (options?: TaskOptions) => Promise<void>;
  }
  interface SubscriptionFilter { taskIds?: string[] }
  interface Methods {
    "tasks/get": { params: TaskParams; result: Result & DetailedTask };
    "tasks/update": { params: TaskParams & { inputResponses: InputResponses }; result: Result };
    "tasks/cancel": { params: TaskParams; result: Result };
  }
}
export interface TaskOptions {
  /** Refuse clients that know no tasks. */
  required?: boolean;
  /** Run again from the top if the server dies meanwhile: for what may be done twice. */
  again?: boolean;
}
export const isOver = ({ status }: Task): boolean =>
  status !== "working" && status !== "input_required";

// ---- The store --------------------------------------------------------------

/** All there is to a task: JSON, so that it can outlive the process. */
export interface TaskRecord {
  task: DetailedTask;
  /** Who may ask for it. */
  owner: string | null;
  /** The call as the handler gets it next, with the state and the answers of its last round. */
  request: JSONRPCRequest & { params: Params & { inputResponses: Params } };
  again: boolean;
  /** The keys that a client has ever seen, each with the handler's own. */
  keys: [key: string, own: string][];
}
/** Where the tasks of one process are. Each record is saved in order, one write at a time. */
export interface TaskStore {
  load(taskId: string): Promise<TaskRecord | undefined>;
  save(record: TaskRecord): Promise<void>;
  remove(taskId: string): Promise<void>;
  ids(): Promise<string[]>;
}
export function memoryTasks(): TaskStore {
  const records = new Map<string, string>(); // as JSON: what is loaded is nobody else's
  return {
    async load(taskId) {
      const text = records.get(taskId);
      return text === undefined ? undefined : JSON.parse(text) as TaskRecord;
    },
    async save(record) { records.set(record.task.taskId, JSON.stringify(record)); },
    async remove(taskId) { records.delete(taskId); },
    ids: async () => [...records.keys()],
  };
}
/** A file for each task. The server needs a stateKey, or it cannot read what handlers left. */
export function fileTasks(folder: string): TaskStore {
  const files = import("node:fs/promises");
  const fileOf = (taskId: string) => `${folder}/${taskId}.json`;
  return {
    async load(taskId) {
      if (!/^[0-9a-f-]{36}$/.test(taskId)) return undefined; // no path of the client's choosing
      try {
        return JSON.parse(await (await files).readFile(fileOf(taskId), "utf8")) as TaskRecord;
      } catch (error) {
        const none = (error as { code?: string }).code === "ENOENT" || error instanceof SyntaxError;
        if (none) return undefined;
        throw error; // it is there, and may be read another time
      }
    },
    async save(record) {
      const { writeFile, rename } = await files;
      const file = fileOf(record.task.taskId);
      await writeFile(`${file}.part`, JSON.stringify(record), { mode: 0o600, flush: true });
      await rename(`${file}.part`, file); // whoever reads it gets the old one or the new one
    },
    remove: async (taskId) => (await files).rm(fileOf(taskId), { force: true }),
    async ids() {
      await (await files).mkdir(folder, { recursive: true });
      return (await (await files).readdir(folder))
        .flatMap((name) => /^([0-9a-f-]{36})\.json$/.exec(name)?.[1] ?? []);
    },
  };
}

// ---- The feature ------------------------------------------------------------

export interface TasksOptions {
  store?: TaskStore;
  /** Milliseconds that a task is kept, counted from its beginning; 3,600,000; null: for ever. */
  ttlMs?: number | null;
  /** Milliseconds after which to ask again; 1,000. */
  pollIntervalMs?: number;
  /** Tasks that may be there at once, finished ones too; 1,000. */
  maxTasks?: number;
  now?: () => number;
  /** Gets the exceptions that a client is told of as Internal error. */
  report?: (error: unknown) => void;
}
/** A task in the hands of this process; what is shown of it is written down already. */
interface LiveTask { record: TaskRecord; shown: DetailedTask; saving: Promise<void>;
  controller: AbortController }
const inHand = (record: TaskRecord, controller = new AbortController()): LiveTask =>
  ({ record, shown: record.task, saving: Promise.resolve(), controller });
const taskUnknown = () =>
  new ProtocolError(INVALID_PARAMS, "There is no such task, or not any more");
const MAX_LISTENED = 1_000; // tasks of one subscription

/** Gives tools context.task. It goes last among the features: around tools() and roundTrips(). */
export function tasks(options: TasksOptions = {}): Feature {
  const { store = memoryTasks(), now = Date.now, report = console.error } = options;
  const ttlMs = options.ttlMs === null ? null : wholeNumber("ttlMs", options.ttlMs ?? 3_600_000, 1);
  const pollIntervalMs = wholeNumber("pollIntervalMs", options.pollIntervalMs ?? 1_000, 1);
  const maxTasks = wholeNumber("maxTasks", options.maxTasks ?? 1_000, 1);
  const stateMs = ttlMs ?? 2 ** 52; // a question waits as long as its task
  const live = new Map<string, LiveTask>(); // those that go on; else the store has them
  const ours = new Set<string>(); // those that went on here, ever
  const watchers = new Set<(task: DetailedTask) => void>();
  let stored: Promise<Set<string>> | undefined; // the ids of all, once they were needed
  let work: Handler | undefined; // what tools/call does without us
  const ownerOf = ({ lane }: Context) => lane.principal?.id ?? null;
  const at = () => new Date(now()).toISOString();
  const hasExpired = ({ task: { createdAt, ttlMs } }: TaskRecord) =>
    ttlMs !== null && Date.parse(createdAt) + ttlMs <= now();

  /** Changes a task, writes it down, and shows it then: what a client has seen survives us. */
  function change(task: LiveTask, more: Partial<DetailedTask>): Promise<void> {
    const { record } = task;
    const { inputRequests = {}, ...plain } = { ...record.task, ...more, lastUpdatedAt: at() };
    const state = plain.status === "input_required" ? { ...plain, inputRequests } : plain;
    record.task = state;
    return task.saving = task.saving.then(() => store.save(record)).then(() => {
      if (isOver(state)) live.delete(state.taskId); // the store has it
    }).catch(report).then(() => { // else it goes on from memory
      task.shown = state;
      for (const tell of watchers) tell(state);
    });
  }
  const fail = (task: LiveTask, thrown: unknown) => {
    if (!(thrown instanceof ProtocolError)) report(thrown);
    const { error } = errorResponse(undefined, thrown);
    return change(task, { status: "failed", statusMessage: error.message, error });
  };
  async function drop(taskId: string): Promise<void> {
    const task = live.get(taskId);
    live.delete(taskId);
    task?.controller.abort(new TransportError("timeout", "the task has expired"));
    await task?.saving; // or it would be written down once more
    await store.remove(taskId);
    ours.delete(taskId);
    (await stored)?.delete(taskId);
  }
  async function create(context: Context, again: boolean, controller: AbortController) {
    for (const [taskId, { record }] of live) if (hasExpired(record)) await drop(taskId);
    const ids = await (stored ??= store.ids().then((ids) => new Set(ids)));
    for (const taskId of ids.size < maxTasks ? [] : [...ids]) {
      const record = live.get(taskId)?.record ?? await store.load(taskId);
      if (record === undefined || hasExpired(record)) await drop(taskId);
    }
    if (ids.size >= maxTasks) {
      throw new ProtocolError(INTERNAL_ERROR, `There are ${maxTasks} tasks already: try later`);
    }
    const taskId = crypto.randomUUID(); // MUST: it cannot be guessed
    const createdAt = at();
    const task: DetailedTask = { taskId, status: "working", createdAt, lastUpdatedAt: createdAt,
      ttlMs, pollIntervalMs };
    const { params = {} } = context.request;
    const inputResponses = { ...Object(params.inputResponses) }; // of the rounds before it
    const request = { ...context.request, params: { ...params, inputResponses } };
    const made = inHand({ task, owner: ownerOf(context), request, again, keys: [] }, controller);
    ids.add(taskId);
    // MUST: it is there, and would be after a crash, before anybody hears of it
    await store.save(made.record);
    ours.add(taskId);
    live.set(taskId, made);
    return made;
  }

  /** Takes what a run of the handler has come to: questions, or an end. */
  async function settle(task: LiveTask, context: Context, given: Promise<Params>): Promise<void> {
    const { record } = task;
    const fault = await given.then((result) => void JSON.stringify(result)) // may it be sent?
      .catch((error: unknown) => ({ error }));
    if (isOver(record.task) || !live.has(record.task.taskId)) return; // cancelled, or expired
    if (fault !== undefined) return fail(task, fault.error);
    const result = await given;
    if (result.resultType !== "input_required") {
      return change(task, { status: "completed", result });
    }
    const { params } = record.request;
    params.inputResponses = {};
    params.requestState = result.requestState;
    const asked = Object.entries<InputRequest>(Object(result.inputRequests));
    if (asked.length === 0) { // it only wants to be called again
      await change(task, {});
      setTimeout(() => task.controller.signal.aborted || run(task, context), pollIntervalMs);
      return;
    }
    const keys = new Map(record.keys);
    const inputRequests = Object.fromEntries(asked.map(([own, question]) => {
      let key = own; // MUST: a key is used once, though the handler may ask the same again
      for (let turn = 2; keys.has(key); turn++) key = `${own} (${turn})`;
      keys.set(key, own);
      return [key, question];
    }));
    record.keys = [...keys];
    return change(task, { status: "input_required", inputRequests });
  }
  /** Runs the handler for whoever set it going, on a lane that leads nowhere. */
  function run(task: LiveTask, by: Context): void {
    const { record: { request }, controller: { signal } } = task;
    const { principal } = by.lane;
    const lane: Lane = { signal, stateMs, notify() {}, ...(principal && { principal }) };
    const context: Context = Object.create(by, { request: { value: request },
      lane: { value: lane }, task: { value: async () => {} } }); // it is one already
    const given = (async () => await work?.(request.params, context) ?? {})();
    void settle(task, context, given).catch(report);
  }

  /** Around tools/call: the call is answered by its result, or by the task that it became. */
  const around = (next: Handler): Handler => (params, context) => new Promise((resolve) => {
    const { lane } = context;
    const controller = new AbortController();
    let made: Promise<LiveTask> | undefined;
    let answered = false; // from then on nobody waits on the lane, and a task goes on
    const leave = () => answered || controller.abort(lane.signal.reason);
    const task = async ({ required = false, again = false }: TaskOptions = {}) => {
      if (required) context.requires(TASKS_CAPABILITY);
      // MUST: for no client that has not declared it in this very request
      if (!context.can(TASKS_CAPABILITY)) return;
      made ??= create(context, again, controller);
      const { shown } = await made.catch((error: unknown) => {
        if (error instanceof ProtocolError) throw error;
        stored = undefined; // read anew
        report(error); // it may name a file
        throw new ProtocolError(INTERNAL_ERROR, "The task could not be kept");
      });
      answered = true;
      resolve({ resultType: "task", ...shown });
    };
    const inner: Context = Object.create(context, { task: { value: task }, lane: { value:
      Object.create(lane, { stateMs: { get: () => made && stateMs }, signal: { get() {
        lane.signal.addEventListener("abort", leave);
        if (lane.signal.aborted) leave();
        return controller.signal;
      } } }) } });
    const given = (async () => next(params, inner))();
    const finish = async () => {
      const task = await made?.catch(() => undefined); // also when the handler did not wait for it
      if (task === undefined) resolve(given);
      else await settle(task, inner, given).catch(report);
    };
    given.then(finish, finish);
  });
  /** Adds the tasks that a client listens to to its subscription. */
  const listening = (next: Handler): Handler => async (params, context) => {
    const { lane, request } = context;
    const { taskIds } = Object(params.notifications) as Params;
    if (taskIds === undefined) return next(params, context);
    context.requires(TASKS_CAPABILITY);
    const list: unknown[] = Array.isArray(taskIds) ? taskIds : [undefined];
    if (list.length > MAX_LISTENED || list.some((one) => typeof one !== "string")) {
      throw new ProtocolError(INVALID_PARAMS, `taskIds must be up to ${MAX_LISTENED} strings`);
    }
    const found = await Promise.all(list.map((one) => load(one, context).catch(() => [])));
    const agreed = new Map(found.flat().map((task) => [task.shown.taskId, task]));
    const behind = new AbortController();
    const tell = async (task: DetailedTask) => {
      if (!agreed.has(task.taskId)) return;
      try {
        await lane.notify({ jsonrpc: "2.0", method: "notifications/tasks",
          params: { ...task, _meta: { [SUBSCRIPTION_ID]: request.id } } });
      } catch (error) { // this reader is too slow; nobody else need hear of it
        behind.abort(error);
      }
    };
    const inner: Lane = Object.create(lane, {
      signal: { value: AbortSignal.any([lane.signal, behind.signal]) },
      notify: { value(one: Parameters<Lane["notify"]>[0]) {
        if (one.method !== "notifications/subscriptions/acknowledged") return lane.notify(one);
        const notifications = { ...Object(one.params?.notifications), taskIds: [...agreed.keys()] };
        const sent = lane.notify({ ...one, params: { ...one.params, notifications } });
        watchers.add(tell);
        for (const { shown } of agreed.values()) void tell(shown); // it may have missed that
        return sent;
      } } });
    try {
      const result = await next(params, Object.create(context, { lane: { value: inner } }));
      behind.signal.throwIfAborted();
      return result;
    } finally {
      watchers.delete(tell);
    }
  };

  /** The task that a request names, if it is its caller's; one of an earlier process goes on. */
  async function load(taskId: unknown, context: Context): Promise<LiveTask> {
    if (typeof taskId !== "string") throw taskUnknown();
    const record = live.get(taskId)?.record ?? await store.load(taskId);
    if (record === undefined || record.owner !== ownerOf(context)) throw taskUnknown();
    if (hasExpired(record)) {
      await drop(taskId);
      throw taskUnknown();
    }
    const known = live.get(taskId);
    if (known !== undefined) return known;
    const task = inHand(record);
    if (isOver(record.task)) return task;
    if (ours.has(taskId)) return load(taskId, context); // it ended while it was read
    ours.add(taskId);
    live.set(taskId, task);
    if (record.task.status === "input_required") return task; // its answers will set it going
    // What was under way may be half done, and only its handler knows whether twice is fine.
    if (record.again) run(task, context);
    else await fail(task, new ProtocolError(INTERNAL_ERROR,
      "The server was restarted while the task ran: call again"));
    return task;
  }
  async function update(task: LiveTask, { inputResponses }: Params, context: Context) {
    if (!isObject(inputResponses)) {
      throw new ProtocolError(INVALID_PARAMS, "inputResponses must be an object");
    }
    const { task: { inputRequests = {} }, keys, request: { params: next } } = task.record;
    const open = Object.entries(inputRequests);
    // SHOULD: ignore what is not asked, or not any more
    const left = open.filter(([key]) => !Object.hasOwn(inputResponses, key));
    if (left.length === open.length) return;
    const given = keys.filter(([key]) => Object.hasOwn(inputRequests, key) &&
      Object.hasOwn(inputResponses, key)).map(([key, own]) => [own, inputResponses[key]]);
    next.inputResponses = { ...next.inputResponses, ...Object.fromEntries(given) };
    await change(task, left.length === 0 ? { status: "working" }
      : { inputRequests: Object.fromEntries(left) });
    if (left.length === 0 && !isOver(task.record.task)) run(task, context);
  }
  async function cancel(task: LiveTask): Promise<void> {
    if (isOver(task.record.task)) return;
    const saved = change(task, { status: "cancelled" });
    task.controller.abort(new TransportError("cancelled", "the task was cancelled"));
    await saved;
  }
  const named = (handle: (task: LiveTask, params: Params, context: Context) =>
    Promise<Params | void>): Handler => async (params, context) => {
    context.requires(TASKS_CAPABILITY);
    return await handle(await load(params.taskId, context), params, context) ?? {};
  };
  return {
    capabilities: TASKS_CAPABILITY,
    mirrors: TASK_MIRRORS,
    context: { async task() { throw new TypeError("task() is for tools"); } },
    methods: {
      "tasks/get": named(async ({ shown }) => ({ ...shown })),
      "tasks/update": named(update),
      "tasks/cancel": named(cancel),
    },
    wrap: (next, method) => method === "tools/call" ? around(work = next)
      : method === "subscriptions/listen" ? listening(next) : next,
  };
}
