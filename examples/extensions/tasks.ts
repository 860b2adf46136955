// You will learn: calls that outlive their request (the extension io.modelcontextprotocol/tasks).
// A handler says `await task()`; from there on the caller has a handle and asks for the outcome:
//
//   → tools/call {"name":"bake",..}    ← {"resultType":"task","taskId":"7f1c",..}
//   → tasks/get {"taskId":"7f1c"}      ← {"status":"input_required","inputRequests":{"sugar":{..}}}
//   → tasks/update {"taskId":"7f1c","inputResponses":{"sugar":{..}}}   ← {}
//   → tasks/get {"taskId":"7f1c"}      ← {"status":"completed","result":{"content":[..]}}
//
// A Feature and nothing else: it wraps tools/call, and is to the handler what a client would be. It
// runs the handler, and when that asks for input, runs it again with the answers.
import { INVALID_PARAMS, isObject, ProtocolError, INTERNAL_ERROR, SUBSCRIPTION_ID, TransportError,
  type Context, type Feature, type Handler, type InputRequests, type JSONRPCRequest, type Lane,
  type Params, type Principal, type RequestParams, type Result } from "../../mcp-raw.ts";

export const TASKS = "io.modelcontextprotocol/tasks";
export const TASK_MIRRORS = { "tasks/get": "taskId", "tasks/update": "taskId",
  "tasks/cancel": "taskId" };
const NEEDED = { extensions: { [TASKS]: {} } };

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";
/** What a client is told of a task. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  statusMessage?: string;
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: number | null;
  pollIntervalMs?: number;
}
export interface DetailedTask extends Task {
  inputRequests?: InputRequests;
  result?: Params;
  error?: { code: number; message: string; data?: unknown };
}
declare module "../../mcp-raw.ts" {
  interface Context {
    /** Makes a task of the call, for clients that know tasks; others wait, or get -32021. */
    readonly task: (options?: TaskOptions) => Promise<void>;
  }
  interface Methods {
    "tasks/get": { params: RequestParams & { taskId: string }; result: Result & DetailedTask };
    "tasks/update": { params: RequestParams & { taskId: string; inputResponses: object };
      result: Result };
    "tasks/cancel": { params: RequestParams & { taskId: string }; result: Result };
  }
}
export interface TaskOptions {
  /** Refuse clients that know no tasks. */
  required?: boolean;
  /** Run again from the top when the server was restarted meanwhile, instead of failing. */
  again?: boolean;
}

// ---- The store --------------------------------------------------------------

/** All there is to a task: JSON, so that it can outlive the process. */
export interface TaskRecord {
  task: DetailedTask;
  owner: string | null;
  request: JSONRPCRequest;
  again: boolean;
  /** Of the handler: what it needs to be run with once more. */
  requestState?: string;
  /** The key that the client sees -> the handler's own; a key is never given twice. */
  keys: Record<string, string>;
  /** By the handler's keys: what has been answered of this round. */
  answers: Params;
}
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
/** A file for each task, in a folder that exists; tasks survive a restart. */
export function fileTasks(folder: string): TaskStore {
  const files = import("node:fs/promises");
  const fileOf = (taskId: string) => `${folder}/${taskId}.json`;
  return {
    async load(taskId) {
      if (!/^[0-9a-f-]{36}$/.test(taskId)) return undefined; // no path of the client's choosing
      const text = await (await files).readFile(fileOf(taskId), "utf8").catch(() => undefined);
      return text === undefined ? undefined : JSON.parse(text) as TaskRecord;
    },
    async save(record) {
      const file = fileOf(record.task.taskId);
      const draft = `${file}.${crypto.randomUUID()}`; // a reader sees the old one or the new one
      await (await files).writeFile(draft, JSON.stringify(record), { mode: 0o600 });
      await (await files).rename(draft, file);
    },
    remove: async (taskId) => (await files).rm(fileOf(taskId), { force: true }),
    ids: async () => (await (await files).readdir(folder))
      .flatMap((name) => /^([0-9a-f-]{36})\.json$/.exec(name)?.[1] ?? []),
  };
}

// ---- The feature ------------------------------------------------------------

export interface TasksOptions {
  store?: TaskStore;
  /** Milliseconds that a task is kept, counted from its beginning; 3,600,000. */
  ttlMs?: number;
  /** Milliseconds after which to ask again; 1,000. */
  pollIntervalMs?: number;
  /** Tasks that may be there at once; 1,000. */
  maxTasks?: number;
  now?: () => number;
}
/** A task of this process: its record, and how to end its handler. */
interface LiveTask { record: TaskRecord; controller: AbortController; saving: Promise<void> }
const isOver = ({ status }: Task) => !["working", "input_required"].includes(status);
const unknownTask = () =>
  new ProtocolError(INVALID_PARAMS, "There is no such task, or not any more");

export function tasks(options: TasksOptions = {}): Feature {
  const { store = memoryTasks(), ttlMs = 3_600_000, pollIntervalMs = 1_000, maxTasks = 1_000,
    now = Date.now } = options;
  const live = new Map<string, LiveTask>();
  const begins = new WeakMap<Context, (options: TaskOptions) => Promise<void>>();
  const watchers = new Set<(task: DetailedTask, owner: string | null) => void>();
  let work: Handler | undefined; // what tools/call does without us
  const ownerOf = ({ lane }: Context) => lane.principal?.id ?? null;
  const hasEnded = ({ task: { createdAt, ttlMs } }: TaskRecord) =>
    ttlMs !== null && Date.parse(createdAt) + ttlMs <= now();

  /** Writes a change down, in order, and tells who listens. */
  function change(task: LiveTask, more: Partial<DetailedTask>): Promise<void> {
    const { record } = task;
    Object.assign(record.task, more, { lastUpdatedAt: new Date(now()).toISOString() });
    const { inputRequests, ...plain } = record.task;
    if (record.task.status !== "input_required") record.task = plain;
    for (const tell of watchers) tell(record.task, record.owner);
    task.saving = task.saving.then(() => store.save(record));
    return task.saving;
  }
  async function drop(taskId: string): Promise<void> {
    live.get(taskId)?.controller.abort(new TransportError("timeout", "the task has expired"));
    live.delete(taskId);
    await store.remove(taskId);
  }
  async function sweep(): Promise<void> {
    for (const taskId of await store.ids()) {
      const record = await store.load(taskId);
      if (record === undefined || hasEnded(record)) await drop(taskId);
    }
  }
  async function create(context: Context, again: boolean, controller: AbortController) {
    let count = (await store.ids()).length;
    if (count >= maxTasks) {
      await sweep();
      count = (await store.ids()).length;
    }
    if (count >= maxTasks) throw new ProtocolError(INTERNAL_ERROR, "Too many tasks: try later");
    const at = new Date(now()).toISOString();
    const task: DetailedTask = { taskId: crypto.randomUUID(), status: "working", createdAt: at,
      lastUpdatedAt: at, ttlMs, pollIntervalMs };
    const record = { task, owner: ownerOf(context), request: context.request, again, keys: {},
      answers: {} };
    const made: LiveTask = { record, controller, saving: Promise.resolve() };
    live.set(task.taskId, made);
    await change(made, {}); // MUST: it is there before anybody hears of it
    return made;
  }

  /** What the handler has come to. */
  async function settle(task: LiveTask, outcome: { result: Params } | { error: unknown }) {
    const { record } = task;
    if (isOver(record.task) || !live.has(record.task.taskId)) return; // it was cancelled
    if ("error" in outcome) {
      const { error } = outcome;
      const { code, message, data } = error instanceof ProtocolError ? error
        : { code: INTERNAL_ERROR, message: "Internal error", data: undefined };
      await change(task, { status: "failed", statusMessage: message,
        error: { code, message, ...(data !== undefined && { data }) } });
    } else if (outcome.result.resultType === "input_required") {
      const { inputRequests: asked = {}, requestState } = outcome.result;
      if (typeof requestState === "string") record.requestState = requestState;
      record.answers = {};
      const questions = Object.entries(asked as InputRequests);
      const inputRequests = Object.fromEntries(questions.map(([own, request]) => {
        let key = own;
        for (let turn = 2; Object.hasOwn(record.keys, key); turn++) key = `${own} (${turn})`;
        record.keys[key] = own;
        return [key, request];
      }));
      await change(task, { status: "input_required", inputRequests });
      if (Object.keys(inputRequests).length === 0) run(task, undefined); // wants to be called again
    } else {
      await change(task, { status: "completed", result: outcome.result });
    }
    if (isOver(record.task)) live.delete(record.task.taskId);
  }
  /** Runs the handler of a task; `base` is any Context of this server. */
  function run(task: LiveTask, base: Context | undefined): void {
    const { record: { request, requestState, answers, owner }, controller } = task;
    const principal = owner === null ? {} : { principal: { id: owner } satisfies Principal };
    const lane: Lane = { signal: controller.signal, notify() {}, ...principal };
    const params = { ...request.params, inputResponses: answers,
      ...(requestState !== undefined && { requestState }) };
    const context: Context = Object.create(base ?? bases.get(task) ?? null, {
      request: { value: { ...request, params } }, lane: { value: lane } });
    bases.set(task, base ?? bases.get(task) ?? context);
    begins.set(context, async () => {}); // it is one already
    void (async () => work?.(params, context))().then((result = {}) => settle(task, { result }),
      (error: unknown) => settle(task, { error }));
  }
  const bases = new WeakMap<LiveTask, Context>();

  /** Around tools/call: the call is answered by its result, or by the task that it became. */
  const around = (next: Handler): Handler => {
    work = next;
    return (params, context) => new Promise((resolve, reject) => {
      const controller = new AbortController();
      let task: LiveTask | undefined;
      const { lane } = context;
      const inner: Context = Object.create(context, { lane: { value: Object.create(lane,
        { signal: { get: () => AbortSignal.any([lane.signal, controller.signal]) } }) } });
      begins.set(inner, async ({ required = false, again = false }) => {
        if (required) context.requires(NEEDED);
        if (!context.can(NEEDED) || task !== undefined) return;
        task = await create(context, again, controller);
        bases.set(task, context);
        resolve({ resultType: "task", ...task.record.task });
      });
      (async () => next(params, inner))().then(
        (result) => task === undefined ? resolve(result) : settle(task, { result }),
        (error) => task === undefined ? reject(error) : settle(task, { error }));
    });
  };
  /** Adds the tasks that a client listens to to its subscription. */
  const listening = (next: Handler): Handler => async (params, context) => {
    const { lane, request: { id } } = context;
    const { taskIds } = Object(params.notifications) as Record<string, unknown>;
    if (taskIds === undefined) return next(params, context);
    context.requires(NEEDED);
    if (!Array.isArray(taskIds)) throw new ProtocolError(INVALID_PARAMS, "taskIds must be a list");
    const owner = ownerOf(context);
    const found = await Promise.all(taskIds.slice(0, 1_000).map((one) => load(String(one), context)
      .catch(() => undefined)));
    const agreed = found.flatMap((one) => one?.record.task.taskId ?? []);
    const tell = (task: DetailedTask, of: string | null) => agreed.includes(task.taskId) &&
      of === owner && lane.notify({ jsonrpc: "2.0", method: "notifications/tasks",
        params: { ...task, _meta: { [SUBSCRIPTION_ID]: id } } });
    const inner: Lane = Object.create(lane, { signal: { get: () => lane.signal },
      notify: { value(one: Parameters<Lane["notify"]>[0]) {
        if (one.method !== "notifications/subscriptions/acknowledged") return lane.notify(one);
        const notifications = { ...Object(one.params?.notifications), taskIds: agreed };
        watchers.add(tell);
        return lane.notify({ ...one, params: { ...one.params, notifications } });
      } } });
    try {
      return await next(params, Object.create(context, { lane: { value: inner } }));
    } finally {
      watchers.delete(tell);
    }
  };

  /** The task that a request names, if it is its caller's; one of an earlier process goes on. */
  async function load(taskId: unknown, context: Context): Promise<LiveTask> {
    const known = live.get(String(taskId));
    const record = known?.record ??
      (typeof taskId === "string" ? await store.load(taskId) : undefined);
    if (record === undefined || record.owner !== ownerOf(context)) throw unknownTask();
    if (hasEnded(record)) {
      await drop(record.task.taskId);
      throw unknownTask();
    }
    if (known !== undefined) return known;
    const task = { record, controller: new AbortController(), saving: Promise.resolve() };
    bases.set(task, context);
    if (isOver(record.task)) return task;
    const raced = live.get(record.task.taskId);
    if (raced !== undefined) return raced;
    live.set(record.task.taskId, task);
    if (record.task.status !== "working") return task; // its answers will set it going
    if (record.again) run(task, context);
    else await settle(task, { error: new ProtocolError(INTERNAL_ERROR,
      "The server was restarted while the task ran: call again") });
    return task;
  }
  const named = (handle: (task: LiveTask, params: Params) => Params | Promise<Params>): Handler =>
    async (params, context) => {
      context.requires(NEEDED);
      return handle(await load(params.taskId, context), params);
    };
  return {
    capabilities: NEEDED,
    mirrors: TASK_MIRRORS,
    context: { get task() {
      const begin = begins.get(this);
      return async (options: TaskOptions = {}) => {
        if (begin === undefined) throw new TypeError("task() is for tools");
        await begin(options);
      };
    } },
    methods: {
      "tasks/get": named(({ record }) => ({ ...record.task })),
      "tasks/update": named(async (task, { inputResponses }) => {
        if (!isObject(inputResponses)) {
          throw new ProtocolError(INVALID_PARAMS, "inputResponses must be an object");
        }
        const { record } = task;
        const { inputRequests: open = {} } = record.task;
        const given = Object.keys(inputResponses).filter((key) => Object.hasOwn(open, key));
        if (given.length === 0) return {};
        for (const key of given) record.answers[`${record.keys[key]}`] = inputResponses[key];
        const left = Object.fromEntries(Object.entries(open).filter(([key]) =>
          !given.includes(key)));
        const waits = Object.keys(left).length > 0;
        await change(task, waits ? { inputRequests: left } : { status: "working" });
        if (!waits) run(task, undefined);
        return {};
      }),
      "tasks/cancel": named(async (task) => {
        if (isOver(task.record.task)) return {};
        await change(task, { status: "cancelled" });
        live.delete(task.record.task.taskId);
        task.controller.abort(new TransportError("cancelled", "the task was cancelled"));
        return {};
      }),
    },
    wrap: (next, method) => method === "tools/call" ? around(next)
      : method === "subscriptions/listen" ? listening(next) : next,
  };
}
