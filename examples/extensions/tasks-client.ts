// You will learn: to wait for a task as for any other call. An Exchange around an Exchange: when a
// tool call comes back as a task, it asks for its state at the server's pace, has the questions
// answered, and gives back what the call would have given.
//
//   const { connection } = await open(url, { mirrors: TASK_MIRRORS }); // a header names the task
//   const { call } = connect(followTasks(connection.exchange, { answers }), answering(answers));
//   await call("tools/call", { name: "bake" }, { timeoutMs: Infinity });
import { abortReason, answerAll, answering, CLIENT_CAPABILITIES, connect, errorResponse,
  INTERNAL_ERROR, isObject, pause, ProtocolError, server, text, TransportError,
  unlessAborted, type AnsweringOptions, type Answers, type Exchange, type InputResponses,
  type JSONRPCRequest, type JSONRPCResponse, type Lane, type Params, type Result }
  from "../../mcp-raw.ts";
import { isOver, tasks, TASKS_CAPABILITY, type DetailedTask } from "./tasks.ts";

export interface FollowOptions extends AnsweringOptions {
  /** Who answers what a task asks; say the same to connect(). */
  answers?: Answers;
  /**
   * Gets each state of a task. Whoever writes the id down can go on after a crash of its own:
   * call("tools/call", { name, _meta: { taskId } }) makes no call, and waits for that task.
   */
  onTask?(task: DetailedTask, request: JSONRPCRequest): void;
}
const STATUSES = ["working", "input_required", "completed", "failed", "cancelled"];
const MAX_TRIES = 5; // of a request that gets no answer
const MAX_REST = 3_600_000; // milliseconds between two requests

/** The state in a result. Throws TransportError when there is none. */
function readTask(result: Result): DetailedTask {
  const { taskId, status } = result;
  if (typeof taskId === "string" && STATUSES.includes(String(status))) {
    return result as unknown as DetailedTask; // the rest is looked at where it is used
  }
  throw new TransportError("result", `This is no task: ${JSON.stringify(result).slice(0, 200)}`);
}
/** What the call would have given. */
function outcomeOf(task: DetailedTask, id: JSONRPCRequest["id"]): JSONRPCResponse {
  const { status, result, error, statusMessage } = task;
  if (status === "cancelled") {
    throw new TransportError("cancelled", statusMessage ?? "The server has cancelled the task");
  }
  if (status === "completed" && isObject(result)) {
    return { jsonrpc: "2.0", id, result: { resultType: "complete", ...result } };
  }
  const { code = INTERNAL_ERROR, message = "The task has failed", data } = Object(error);
  return errorResponse(id, new ProtocolError(Number(code), String(message), data));
}

/** A call, the task that came of it, and the way back to the caller. */
interface Handed { request: JSONRPCRequest; first: DetailedTask; lane: Lane }
/** Waits for a task. A request of ours may be made twice, so one that is lost is made again. */
async function follow(exchange: Exchange, { request, first, lane }: Handed,
  { answers = {}, onTask = () => {}, maxRounds = 10, ...options }: FollowOptions) {
  const { id, method, params } = request;
  const { progressToken, ..._meta } = Object(params?._meta); // a task tells of no progress
  const { taskId } = first;
  const { signal } = lane;
  let [task, sent, gone] = [first, 0, false];
  const rest = () => {
    const { pollIntervalMs: ms = 0 } = task;
    return pause(Number.isInteger(ms) && ms > 0 ? Math.min(ms, MAX_REST) : 1_000, signal);
  };
  const ask = async (method: string, more: Params = {}, on = lane): Promise<Result> => {
    for (let tries = 1; ; tries++) {
      try {
        const response = await exchange({ jsonrpc: "2.0", id: `${id}-task-${++sent}`, method,
          params: { taskId, ...more, _meta } }, on);
        if ("result" in response) return response.result;
        const { code, message, data } = response.error;
        throw new ProtocolError(code, message, data);
      } catch (error) {
        if (tries < MAX_TRIES && error instanceof TransportError && !on.signal.aborted) {
          await rest();
          continue;
        }
        gone = true; // or out of reach
        throw error;
      }
    }
  };
  const answered = new Set<string>();
  async function answer(): Promise<void> {
    const open = Object.entries(Object(task.inputRequests) as Params);
    // SHOULD: nobody is asked twice, when the server has not caught up yet
    const fresh = open.filter(([key]) => !answered.has(key));
    if (fresh.length === 0) return;
    if (--maxRounds < 0) throw new TransportError("result", "The task asks again and again");
    const inputResponses: InputResponses = await unlessAborted(answerAll(
      Object.fromEntries(fresh), { method, signal }, answers, options), signal);
    await ask("tasks/update", { inputResponses });
    for (const [key] of fresh) answered.add(key);
  }
  try {
    for (;;) {
      onTask(task, request);
      if (isOver(task) && task !== first) return outcomeOf(task, id); // at first it has no result
      if (task.status === "input_required") await answer();
      if (!isOver(task)) await rest();
      if (signal.aborted) throw abortReason(signal);
      task = readTask(await ask("tasks/get"));
    }
  } catch (error) {
    const over = isOver(task) || gone && !signal.aborted;
    const last: Lane = { signal: AbortSignal.timeout(10_000), notify() {} };
    if (!over) void ask("tasks/cancel", {}, last).catch(() => {}); // nobody waits for it
    if (error instanceof ProtocolError) return errorResponse(id, error);
    throw error;
  }
}
/** An Exchange that knows tasks: it says so in each request, and none gets through. */
export function followTasks(exchange: Exchange, options: FollowOptions = {}): Exchange {
  return async (given, lane) => {
    const { taskId, ...meta } = Object(given.params?._meta);
    const declared = Object(meta[CLIENT_CAPABILITIES]);
    const capabilities = { ...declared,
      extensions: { ...Object(declared.extensions), ...TASKS_CAPABILITY.extensions } };
    const request = { ...given, params: { ...given.params,
      _meta: { ...meta, [CLIENT_CAPABILITIES]: capabilities } } };
    if (given.method !== "tools/call") return exchange(request, lane); // nothing else becomes one
    if (taskId !== undefined) {
      const known = { resultType: "task", taskId, status: "working", pollIntervalMs: 1 };
      return follow(exchange, { request, first: readTask(known), lane }, options);
    }
    const response = await exchange(request, lane);
    if ("error" in response || response.result.resultType !== "task") return response;
    return follow(exchange, { request, first: readTask(response.result), lane }, options);
  };
}

// ---- Both sides at work -----------------------------------------------------

if (globalThis.process?.argv[1]?.endsWith("tasks-client.ts")) { // run as a program
  const { exchange } = server({ name: "bakery", version: "1.0.0", tools: [{ name: "bake",
    async handler(_, { ask, task, lane }) {
      await task(); // from here on nobody holds the line
      const { content } = await ask("sugar", { method: "elicitation/create", params: {
        message: "How much sugar?", requestedSchema: { type: "object", required: ["grams"],
          properties: { grams: { type: "integer" } } } } });
      await pause(30, lane.signal); // an oven
      return text(`A cake with ${content?.grams ?? 0} g of sugar`);
    } }], features: [tasks({ pollIntervalMs: 10 })] });

  const answers: Answers = { form({ message }) {
    console.log(message);
    return { action: "accept", content: { grams: 80 } };
  } };
  const onTask = ({ status }: DetailedTask) => status === "working" || console.log(status);
  const { call } = connect(followTasks(exchange, { answers, onTask }), answering(answers));
  console.log((await call("tools/call", { name: "bake" }, { timeoutMs: Infinity })).content);
  // prints: input_required
  // prints: How much sugar?
  // prints: completed
  // prints: [ { type: 'text', text: 'A cake with 80 g of sugar' } ]
}
