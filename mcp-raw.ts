// mcp-raw.ts: the Model Context Protocol in one file. It lets a program with a
// language model (the client) find and call the tools of another (the server).
// Both ends are here, without a dependency and without a build step.
//
// Run it      npx tsx mcp-raw.ts demo      watch a conversation, byte by byte
// Import it   import { server } from "./mcp-raw.ts";
// Copy it     the file, or a chapter with the chapters it uses, and theirs
//
// One exchange as it crosses the wire, broken here only to fit the page:
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",
//     "arguments":{"a":2,"b":3},"_meta":{
//     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//     "io.modelcontextprotocol/clientInfo":{"name":"reader","version":"1"},
//     "io.modelcontextprotocol/clientCapabilities":{}}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
//     "content":[{"type":"text","text":"5"}],"_meta":{..}}}
//
// → is client to server, ← server to client; {..} further down stands for what
// was shown here. Read Part I first: it is the whole idea, and a program.
// A chapter names only what stands above it: the end of each is a safe stop.
// Contents: number, title, line, chapters it uses (and theirs) beyond Part I
//  1 Messages             62 -         35 Sessions           4522 8 23 25-26 34
//  2 Errors and parsing   94 1         36 Both eras, one channel 4801 35
//  3 Versions and _meta  158 1-2       37 Streams that last  4895 13 36
//  4 Handlers            202 1-3       38 Sessions over HTTP 5121 37
//  5 A first call        256 1-4       39 Shaking hands      5316 23 31 34
//  6 Texts and lanes     306 I         40 Older servers      5451 9 26 39
//  7 Channel server      539 6         41 Either era         5635 33 40
//  8 Channel client      716 7         42 Older servers over HTTP 5733 14 33 40
//  9 stdio               881 8         43 Challenges         5977 6
// 10 Server-sent events 1119 6         44 Protected server   6084 12 43
// 11 Mirrored headers   1232 6         45 Discovery          6188 10 43
// 12 HTTP requests      1388 11        46 Registration       6333 45
// 13 HTTP server        1555 10 12     47 Tokens             6448 46
// 14 HTTP client        1817 10-11     48 Authorized fetch   6588 47
// 15 Types from schemas 1973 -         49 JSON Schema        6862 -
// 16 Results            2067 I         50 Patterns           7343 -
// 17 Lists              2148 I         51 Formats            7470 -
// 18 Tools              2221 11 15-17  52 Node, Bun, Deno    7621 9 13
// 19 Completion         2416 17        53 Child processes    7868 52
// 20 URI templates      2498 -         54 Signing in         8078 48 52
// 21 Resources          2651 16 19-20  55 The front door     8174 all above
// 22 Prompts            2768 16 19     56 The demo server    8353 all above
// 23 Progress, logging  2851 I         57 What messages mean 8555 I
// 24 Input requests     2950 18        58 The wire log       8722 10 57
// 25 Round trips        3184 21-22 24  59 Wire taps          8900 9 12 58
// 26 Subscriptions      3465 I         60 Arguments          9039 9 46 58
// 27 Rate limits        3621 6 16-17   61 Answering a server 9205 all above
// 28 Assemble           3667 6         62 Calling a server   9372 all above
// 29 Client             3725 6         63 Looking around     9532 all above
// 30 Checked results    3948 18 29     64 The demo           9707 all above
// 31 Answering          3994 25 29     65 The demo's login   9814 all above
// 32 Caching            4132 16 26     66 The demo's command 9957 all above
// 33 Subscribing        4259 26 29     67 Command line       10002 all above
// 34 Older revisions    4374 24
//
// Coined here: Exchange (request in, response out), Lane (the way back while it
// runs), Feature (capabilities and the methods behind them), Methods (name ->
// params and result), Handler and Context (what answers, and with what).

// ---- Part I: the protocol as a function ------------------------------------
// #region 1. Messages
// uses nothing · spec basic#messages
//
// Two programs send each other JSON objects: JSON-RPC 2.0. A message has one of
// four shapes, told apart by its keys alone: the id 0 is an id like any other.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{..}}    request
//   ← {"jsonrpc":"2.0","id":1,"result":{..}}                          result
//   ← {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":".."}} error
//   → {"jsonrpc":"2.0","method":"notifications/x"}              notification

export type RequestId = string | number;
export type Params = { [key: string]: unknown };
export interface JSONRPCNotification { jsonrpc: "2.0"; method: string; params?: Params }
/** A notification that wants an answer. */
export interface JSONRPCRequest extends JSONRPCNotification { id: RequestId }
export interface JSONRPCResultResponse { jsonrpc: "2.0"; id: RequestId; result: Result }
export interface JSONRPCErrorResponse { // without an id when the request could not be read
  jsonrpc: "2.0"; id?: RequestId; error: { code: number; message: string; data?: unknown } }
export type JSONRPCResponse = JSONRPCResultResponse | JSONRPCErrorResponse;
export type JSONRPCMessage = JSONRPCRequest | JSONRPCNotification | JSONRPCResponse;
export interface Result {
  resultType: string; [key: string]: unknown; // "complete", "input_required" or an extension's
  _meta?: { "io.modelcontextprotocol/serverInfo"?: Implementation; [key: string]: unknown } }
/** Who speaks. It proves nothing. */
export interface Implementation { name: string; version: string }
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const isRequestId = (value: unknown): value is RequestId =>
  typeof value === "string" || Number.isSafeInteger(value); // past 2^53 JSON numbers blur
// #endregion

// #region 2. Errors and parsing
// uses messages · spec basic#error-codes
//
// A peer may send anything. Reading gives a message or throws a ProtocolError:
// the number, and the sentence for the sender, under the id if there is one.
//
//   → {"jsonrpc":"2.0","id":1.5,"method":"tools/list"}
//   ← {"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request:
//      \"id\" must be a string or an integer"}}

export const PARSE_ERROR = -32700, INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602, INTERNAL_ERROR = -32603;

/** The one kind of error that crosses the wire. */
export class ProtocolError extends Error {
  readonly code: number; readonly data: unknown;
  readonly id: RequestId | null | undefined; // what replyId says of the message at fault
  constructor(code: number, message: string, data?: unknown, id?: RequestId | null) {
    super(message);
    [this.name, this.code, this.data, this.id] = ["ProtocolError", code, data, id];
  }
}
/** The id to answer a bad message under; undefined: none could be read; null: no answer is due. */
export function replyId(value: unknown): RequestId | null | undefined {
  if (!isObject(value)) return undefined;
  const silent = "method" in value ? typeof value.method === "string" && !("id" in value)
    : "result" in value || "error" in value;
  return silent ? null : isRequestId(value.id) ? value.id : undefined;
}
/** Finds which of the four shapes a JSON value has; throws ProtocolError. */
export function readMessage(value: unknown): JSONRPCMessage {
  const fault = !isObject(value) ? "a message is one JSON object"
    : value.jsonrpc !== "2.0" ? '"jsonrpc" must be "2.0"'
    : !("method" in value) && ("result" in value || "error" in value) ? answerFault(value)
    : callFault(value);
  if (fault === undefined) return value as JSONRPCMessage; // the two functions below looked
  throw new ProtocolError(INVALID_REQUEST, `Invalid request: ${fault}`, undefined, replyId(value));
}
function callFault(call: Params): string | undefined {
  const { method, params } = call;
  if (typeof method !== "string") return '"method" must be a string';
  // MUST: an id is a string or an integer, never null (spec basic#requests)
  if ("id" in call && !isRequestId(call.id)) return '"id" must be a string or an integer';
  // MUST: a notification has no id (spec basic#notifications)
  if ("id" in call && method.startsWith("notifications/")) return `${method} takes no "id"`;
  if (params === undefined || isObject(params)) return undefined;
  throw new ProtocolError(INVALID_PARAMS, '"params" must be an object', undefined, replyId(call));
}
function answerFault(answer: Params): string | undefined {
  const { id = null, result, error } = answer;
  if ("result" in answer === "error" in answer) return "an answer has a result or an error";
  if ("result" in answer) return isObject(result) && isRequestId(id) ? undefined : "a bad result";
  const told = isObject(error) && Number.isInteger(error.code) && typeof error.message === "string";
  return told && (id === null || isRequestId(id)) ? undefined : "a bad error";
}
/** What the caller is told. Of an unexpected error only that it happened. */
export function errorResponse(id: RequestId | undefined, error: unknown): JSONRPCErrorResponse {
  const { code, message, data } = error instanceof ProtocolError ? error
    : { code: INTERNAL_ERROR, message: "Internal error", data: undefined };
  return { jsonrpc: "2.0", ...(id === undefined ? {} : { id }),
    error: data === undefined ? { code, message } : { code, message, data } };
}
// #endregion

// #region 3. Versions and _meta
// uses messages errors-and-parsing · spec basic/versioning
//
// There is no handshake. Each request names in params._meta its revision and
// what its client can do, so any process can answer it, whatever came before.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//     "io.modelcontextprotocol/protocolVersion":"1900-01-01"}}}
//   ← {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"..","data":
//     {"supported":["2026-07-28"],"requested":"1900-01-01"}}}

export const MODERN_VERSIONS: readonly string[] = ["2026-07-28"]; // with a handshake: legacy
export const UNSUPPORTED_PROTOCOL_VERSION = -32022;
export const PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export type JSONObject = { [key: string]: JSONValue };
export type JSONValue = string | number | boolean | null | JSONObject | JSONValue[];
type Settings = { [name: string]: JSONObject };
/** What each side can do; chapters add members (TypeScript merges interfaces). */
export interface ClientCapabilities { experimental?: Settings; extensions?: Settings }
export interface ServerCapabilities { experimental?: Settings; extensions?: Settings }
export interface RequestMetaObject {
  "io.modelcontextprotocol/protocolVersion": string;
  "io.modelcontextprotocol/clientInfo"?: Implementation;
  "io.modelcontextprotocol/clientCapabilities": ClientCapabilities;
  [key: string]: unknown }
export interface RequestParams { _meta: RequestMetaObject }

/** What is wrong with the _meta of a request, if anything. */
export function metaFault({ params }: JSONRPCRequest): ProtocolError | undefined {
  const meta = isObject(params?._meta) ? params._meta : {};
  const [requested, supported] = [meta[PROTOCOL_VERSION], MODERN_VERSIONS];
  // MUST: -32022 lists what we speak (spec basic/versioning#protocol-version-negotiation)
  if (typeof requested === "string" && !supported.includes(requested)) {
    return new ProtocolError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version",
      { supported, requested });
  }
  // MUST: both keys are there, else -32602 (spec basic#meta)
  const lacks = typeof requested !== "string" ? PROTOCOL_VERSION
    : isObject(meta[CLIENT_CAPABILITIES]) ? undefined : CLIENT_CAPABILITIES;
  return lacks && new ProtocolError(INVALID_PARAMS, `params._meta needs "${lacks}"`, { supported });
}
// #endregion

// #region 4. Handlers
// uses messages errors-and-parsing versions-and-meta · spec basic/patterns
//
// The protocol is one function, Exchange: a request goes in, a response comes
// out; meanwhile the Lane carries notifications to the caller, and word that
// the caller has gone. Servers, clients, transports and wrappers all meet here.

export type Exchange = (request: JSONRPCRequest, lane: Lane) => Promise<JSONRPCResponse>;
export interface Lane {
  readonly signal: AbortSignal; // aborts when nobody waits any more
  /** Sends ahead of the response: lane.notify(..); a promise when the reader is behind. */
  notify(notification: JSONRPCNotification): void | Promise<void> }
/** What a handler may use while it runs; chapters add to it. */
export interface Context { readonly request: JSONRPCRequest; readonly lane: Lane }
/** Answers a method. Throws ProtocolError to refuse; "complete" is implied. */
export type Handler = (params: Params, context: Context) => Params | Promise<Params>;
export interface Feature {
  capabilities?: ServerCapabilities;
  methods: Record<string, Handler>;
  context?: Partial<Context> & ThisType<Context>; // methods for every Context
  wrap?: (next: Handler, method: string) => Handler; // around every handler
}
/** The dispatcher: finds the handler, runs it, words what comes of it. */
export function dispatch(info: Implementation, features: readonly Feature[],
  report: (error: unknown, method: string) => void = () => {}): Exchange {
  const handlers = new Map(features.flatMap(({ methods }) => Object.entries(methods))
    .map(([method, handler]) => [method,
      features.reduce((next, { wrap }) => wrap?.(next, method) ?? next, handler)]));
  const shared: object = Object.defineProperties({}, Object.assign({}, ...features.map(
    ({ context = {} }) => Object.getOwnPropertyDescriptors(context)))); // getters stay getters
  const identity = { "io.modelcontextprotocol/serverInfo": info };
  return async (request, lane) => {
    const { id, method, params = {} } = request;
    try {
      const fault = metaFault(request);
      if (fault?.code === UNSUPPORTED_PROTOCOL_VERSION) throw fault;
      const handler = handlers.get(method);
      if (handler === undefined) throw new ProtocolError(METHOD_NOT_FOUND,
        `Method not found: ${method}`, { supported: MODERN_VERSIONS }); // a legacy client's hint
      if (fault !== undefined) throw fault;
      const context = { __proto__: shared, request, lane } as unknown as Context; // see Feature
      const given = handler(params, context);
      const answer = given instanceof Promise ? await given : given; // no turn lost on waiting
      // SHOULD: every result says who answered (spec basic#meta)
      const _meta = isObject(answer._meta) ? { ...identity, ...answer._meta } : identity;
      return { jsonrpc: "2.0", id, result: { resultType: "complete", ...answer, _meta } };
    } catch (error) {
      if (!(error instanceof ProtocolError)) report(error, method);
      return errorResponse(id, error);
    }
  };
}
// #endregion

// #region 5. A first call
// uses messages errors-and-parsing versions-and-meta handlers · spec server/discover
//
// Every server answers server/discover: the revisions it speaks, what it can
// do. With that, and a caller, the circle is closed, and no byte was involved.
//
//   → {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{
//     "_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
//     "supportedVersions":["2026-07-28"],"capabilities":{..},
//     "ttlMs":3600000,"cacheScope":"public","_meta":{..}}}

export interface DiscoverResult extends Result {
  supportedVersions: string[]; capabilities: ServerCapabilities; instructions?: string;
  ttlMs: number; cacheScope: "public" | "private" } // how long (ms) it may be kept, for whom
/** Method name -> params and result; chapters add members here too. */
export interface Methods { "server/discover": { params: RequestParams; result: DiscoverResult } }
// MUST: servers implement server/discover (spec server/discover)
export const discover = (capabilities: ServerCapabilities, instructions?: string): Feature => ({
  methods: { "server/discover": () => ({ supportedVersions: [...MODERN_VERSIONS], capabilities,
    ...(instructions && { instructions }), ttlMs: 3_600_000, cacheScope: "public" }) },
});
export type Call = <M extends keyof Methods>(method: M, params: Omit<Methods[M]["params"], "_meta">
  & { _meta?: object }, lane?: Lane) => Promise<Methods[M]["result"]>;
/** Calls by name through an Exchange. Throws the ProtocolError that comes back. */
export function caller(exchange: Exchange, meta: RequestMetaObject): Call {
  let last = 0;
  const silent: Lane = { signal: new AbortController().signal, notify() {} };
  return async (method, params, lane = silent) => {
    const _meta = { ...meta, ...params._meta };
    const response = await exchange({ jsonrpc: "2.0", id: ++last, method,
      params: { ...params, _meta } }, lane);
    // Its type is the peer's word for now; the Client chapter looks closer.
    if (!("error" in response)) return response.result as Methods[typeof method]["result"];
    const { code, message, data } = response.error;
    throw new ProtocolError(code, message, data, response.id);
  };
}
/** Part I at work: a client calls a server. */
export function firstCall(): Promise<DiscoverResult> {
  const server = dispatch({ name: "first", version: "1" }, [discover({})]);
  const call = caller(server, { [PROTOCOL_VERSION]: "2026-07-28", [CLIENT_CAPABILITIES]: {} });
  return call("server/discover", {});
}
// #endregion
// Built by now: a client and a server in one process, and any method you like.
// Shown by examples/01-essence.ts.

// ---- Part II: bytes --------------------------------------------------------

// #region 6. Texts and lanes
// uses messages errors-and-parsing handlers · spec basic/transports#messages
//
// Each transport reads texts, keeps track of the calls it runs, and answers in
// texts. A text that is no JSON, or nests too deep to be safe, goes no further.
// For each call it holds the other end of a lane, which ends once: answered, or
// for a reason. After that nothing is sent on it, however long the handler goes
// on.
//
//   → {"jsonrpc":
//   ← {"jsonrpc":"2.0","error":{"code":-32700,"message":".."}}

/** A fault between the peers, with a word for programs; never sent to a peer. */
export class TransportError extends Error {
  readonly code: string;
  /** What came instead of an answer, where HTTP had one. */
  readonly reply: { status: number; text: string } | undefined;
  constructor(code: string, message: string,
    options: { cause?: unknown; reply?: { status: number; text: string } } = {}) {
    super(message, options);
    [this.name, this.code, this.reply] = ["TransportError", code, options.reply];
  }
}

/** A refusal on the way to a token: the error of an RFC, or what this client found wrong. */
export class AuthorizationError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    [this.name, this.code] = ["AuthorizationError", code];
  }
}
const isKnown = (error: unknown): error is TransportError | AuthorizationError =>
  error instanceof TransportError || error instanceof AuthorizationError;

/** The most a message or a body may weigh, in bytes. */
export const MAX_MESSAGE: number = 4 * 1024 * 1024;
/** How deep JSON may nest: handlers and JSON.stringify recurse. */
export const MAX_DEPTH = 128;

/** Decodes whole texts. One for all: in Node a decoder costs more to make than to use. */
export const utf8: TextDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Several chunks in one piece. */
export function joinBytes(chunks: readonly Uint8Array[]): Uint8Array {
  const [only] = chunks;
  if (only !== undefined && chunks.length === 1) return only;
  const whole = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** How often a text opens a bracket; stops counting past the limit. */
function brackets(text: string, limit: number): number {
  let count = 0;
  for (const open of ["{", "["]) {
    let at = text.indexOf(open);
    for (; at !== -1 && count <= limit; at = text.indexOf(open, at + 1)) count++;
  }
  return count;
}
function deeperThan(value: object, left: number): boolean {
  if (left === 0) return true;
  for (const key in value) {
    const inner: unknown = value[key as never];
    if (typeof inner === "object" && inner !== null && deeperThan(inner, left - 1)) return true;
  }
  return false;
}

/** Reads one JSON text. Of a key given twice, the last counts everywhere. */
export function parseJSON(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ProtocolError(PARSE_ERROR, `Parse error: ${(error as Error).message}`);
  }
  // A level takes a bracket, and most texts have too few to be too deep.
  if (brackets(text, MAX_DEPTH) <= MAX_DEPTH || !deeperThan([value], MAX_DEPTH + 1)) return value;
  const why = `JSON nests deeper than ${MAX_DEPTH}`;
  throw new ProtocolError(INVALID_PARAMS, why, undefined, replyId(value));
}

/** Lets any number wait until it opens, again and again. */
export function gate(): { wait(): Promise<void>; open(): void } {
  const waiting: (() => void)[] = [];
  return {
    wait: () => new Promise((resolve) => void waiting.push(resolve)),
    open() {
      if (waiting.length > 0) for (const go of waiting.splice(0)) go();
    },
  };
}

/** Method -> what to do when a client sends that notification; nobody gets an answer. */
export type NotificationHandlers = Record<string, (params: Params) => unknown>;
/** Method -> the field of its params that HTTP repeats in Mcp-Name. */
export type Mirrors = Record<string, string>;
export interface Feature { notifications?: NotificationHandlers; mirrors?: Mirrors }
/** Somebody whom the transport knows; no two have one id. */
export interface Principal { readonly id: string }
export interface Lane {
  readonly principal?: Principal;
  header?(name: string): string | null; // of the HTTP request, where there is one
}

const TOO_SLOW = "the client is 4 MiB behind: wait for what lane.notify(..) gives back";

export interface OpenLane extends Lane {
  /** Ends the lane, for a reason or because it is answered; false: had ended. */
  end(reason?: TransportError): boolean;
}
interface LaneState extends OpenLane {
  send: Lane["notify"];
  onEnd: ((reason: TransportError) => void) | undefined;
  ended: boolean;
  reason: TransportError | undefined;
  controller: AbortController | undefined;
}
// One object a call, with methods in common: closures of its own would cost ten
// times as much. All fields are there at once: one more later is a new shape.
const laneMethods: Omit<OpenLane, "header"> & ThisType<LaneState> = {
  get signal(): AbortSignal {
    const lane = this as LaneState; // a getter does not know ThisType
    lane.controller ??= new AbortController(); // made when asked for: most handlers never do
    if (lane.reason !== undefined) lane.controller.abort(lane.reason);
    return lane.controller.signal;
  },
  notify(notification) {
    // MUST: servers send no requests (spec basic/transports/stdio#receiving-messages)
    if (typeof notification?.method !== "string" || "id" in notification) {
      throw new TypeError("lane.notify takes a notification: a method and no id");
    }
    // MUST: nothing after the end (spec basic/patterns/progress#implementation-notes)
    return this.ended ? undefined : this.send(notification);
  },
  end(reason) {
    if (this.ended) return false;
    this.ended = true;
    if (reason !== undefined) {
      this.reason = reason;
      this.controller?.abort(reason);
      this.onEnd?.(reason);
    }
    return true;
  },
};
/** A lane over `send`; onEnd hears of an end that is no answer. */
export const openLane = (send: Lane["notify"], onEnd?: (reason: TransportError) => void,
  header?: Lane["header"], principal?: Principal): OpenLane =>
  ({ __proto__: laneMethods, send, onEnd, header, principal, ended: false, reason: undefined,
    controller: undefined }) as unknown as OpenLane; // the type does not see what __proto__ gives

/** A lane with more to it; it still ends when the one below does. */
export const extendLane = (lane: Lane, more: Partial<Lane>): Lane =>
  Object.assign(Object.create(lane, { signal: { get: () => lane.signal } }), more);

/** Why a signal was aborted, as a TransportError. */
export function abortReason({ reason }: AbortSignal): TransportError {
  if (reason instanceof TransportError) return reason;
  const code = reason instanceof Error && reason.name === "TimeoutError" ? "timeout" : "cancelled";
  const message = reason instanceof Error ? reason.message : String(reason);
  return new TransportError(code, message, { cause: reason });
}

/** A promise that does not outlive a signal. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const give = () => reject(abortReason(signal));
    if (signal.aborted) give();
    signal.addEventListener("abort", give);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}

/** A URL without what may be secret in it: name, password, query. */
export function bareUrl(url: string): string {
  const { origin = "", pathname = url } = URL.canParse(url) ? new URL(url) : {};
  return origin + pathname;
}
/** Why a fetch failed; Node hides the reason in a cause, which may have a code alone. */
function reasonOf(error: unknown): string {
  const { message, code, cause } = isObject(error) || error instanceof Error
    ? error as { message?: string; code?: string; cause?: unknown } : {};
  return cause instanceof Error ? reasonOf(cause) : message || code || String(error);
}

/** Hands a notification to its handler, whose faults are nobody else's. */
export async function guarded(handle: ((params: Params) => unknown) | undefined, params: Params,
  report: (error: unknown) => void): Promise<void> {
  try {
    await handle?.(params);
  } catch (error) {
    report(error);
  }
}

export interface Answering {
  /** Gets the response, also as text; once, whatever the exchange does. */
  done(text: string, response: JSONRPCResponse): void;
  report(error: unknown): void;
}
/** Runs a request to its response. */
export function answer(exchange: Exchange, request: JSONRPCRequest, lane: Lane,
  { done, report }: Answering): void {
  const fail = (error: unknown) => {
    report(error);
    const response = errorResponse(request.id, error);
    done(JSON.stringify(response), response);
  };
  const write = (response: JSONRPCResponse) => {
    let text: string;
    try {
      text = JSON.stringify(response); // throws on a bigint or a cycle
    } catch (error) {
      return fail(error);
    }
    done(text, response);
  };
  try {
    exchange(request, lane).then(write, fail);
  } catch (error) {
    fail(error);
  }
}
// #endregion

// #region 7. Channel server
// uses messages errors-and-parsing handlers texts-and-lanes
//   · spec basic/transports/stdio#receiving-messages
//
// On stdio, a socket or any other two-way pipe, all messages share one channel.
// So the server keeps a table of what it runs, by id, to find it again when the
// client cancels. What runs is limited, and what waits too; a client that reads
// nothing stops being read.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sleep",
//     "arguments":{"ms":60000},"_meta":{..}}}
//   → {"jsonrpc":"2.0","method":"notifications/cancelled","params":{
//     "requestId":1}}

/** What takes the texts that arrive at one end of a channel. */
export interface ChannelEnd {
  /** Takes one text; a promise asks the reader to wait before the next. */
  receive(text: string): void | Promise<void>;
  /** The same for a message that is read already, from a text so long. */
  take(message: JSONRPCMessage, length?: number): void | Promise<void>;
  /** A text arrived that cannot be taken whole; why says what was wrong. */
  refuse(why: string): void;
  /** The channel is gone; whatever is under way learns the reason. */
  close(reason: TransportError): void;
}
/** Sends one message as text; gives a promise when the reader is behind. */
export type SendText = (text: string) => void | Promise<void>;

export interface ServeOptions {
  notifications?: NotificationHandlers;
  /** Gets answers, which no client of the modern era sends. */
  other?: (answer: JSONRPCResponse) => void;
  /** Gets what no peer is told: exceptions, stray messages. */
  report?: (error: unknown) => void;
  /** Requests that run at once; 256. Others wait, and past 4 MiB of them reading pauses. */
  maxInFlight?: number;
  /** Whether the reader is so far behind that a notification fails. */
  full?: () => boolean;
}
export interface ServedEnd extends ChannelEnd {
  /** Resolves when no request is in flight. */
  idle(): Promise<void>;
  /** Whether a request of that id is in flight. */
  holds(id: RequestId): boolean;
}

/** A call that stays open, and does nothing meanwhile: as many more of them may run. */
export const LISTEN = "subscriptions/listen";
/** The calls of a channel by id; 1 and "1" are two. So many run at once, the others wait. */
function callTable(limit: number, run: (request: JSONRPCRequest) => void) {
  const running = new Map<RequestId, OpenLane>();
  const listening = new Set<RequestId>();
  const waiting = new Map<RequestId, { request: JSONRPCRequest; size: number }>();
  const changed = gate();
  let size = 0; // of the texts that wait
  const until = async (fine: () => boolean) => {
    while (!fine()) await changed.wait();
  };
  const forget = (id: RequestId) => {
    size -= waiting.get(id)?.size ?? 0;
    waiting.delete(id);
  };
  const start = (request: JSONRPCRequest): boolean => {
    const listens = request.method === LISTEN;
    if ((listens ? listening.size : running.size - listening.size) >= limit) return false;
    if (listens) listening.add(request.id);
    run(request);
    return true;
  };
  const remove = (id: RequestId, reason?: TransportError) => {
    forget(id);
    running.get(id)?.end(reason);
    running.delete(id);
    if (listening.size > 0) listening.delete(id);
    for (const { request } of waiting.size > 0 ? waiting.values() : []) {
      if (!start(request)) continue;
      forget(request.id);
      break;
    }
    changed.open();
  };
  return {
    running,
    remove,
    has: (id: RequestId) => running.has(id) || waiting.has(id),
    /** A call that waits leaves the channel readable, or nobody could cancel those that run. */
    add(request: JSONRPCRequest, bytes: number): void | Promise<void> {
      if (start(request)) return;
      waiting.set(request.id, { request, size: bytes });
      size += bytes;
      if (size > MAX_MESSAGE) return until(() => size <= MAX_MESSAGE);
    },
    /** Whether a call would wait for others to end that may never do. */
    endless: ({ method }: JSONRPCRequest) => method === LISTEN && listening.size >= limit,
    idle: () => until(() => running.size + waiting.size === 0),
    close(reason: TransportError) {
      [...waiting.keys()].forEach(forget);
      for (const id of [...running.keys()]) remove(id, reason);
    },
  };
}

/** Takes a notification: it cancels a call, or has a handler. */
function heed({ method, params = {} }: JSONRPCNotification, calls: ReturnType<typeof callTable>,
  handlers: ReadonlyMap<string, (params: Params) => unknown>, report: (error: unknown) => void) {
  if (method !== "notifications/cancelled") {
    return void guarded(handlers.get(method), params, report);
  }
  const { requestId, reason } = params;
  // SHOULD: ignore what names no call in flight (spec basic/patterns/cancellation#error-handling)
  if (!isRequestId(requestId)) return;
  const why = typeof reason === "string" ? reason : "no reason given";
  calls.remove(requestId, new TransportError("cancelled", `cancelled by the client: ${why}`));
}

/** The server's end of a channel. */
export function serveChannel(exchange: Exchange, send: SendText, options: ServeOptions = {}):
  ServedEnd {
  const { notifications = {}, report = () => {}, maxInFlight = 256 } = options;
  // MUST: clients send no responses (spec basic/transports/stdio#sending-messages)
  const { other = ({ id }) => report(new TransportError("stray", `answer to no call: ${id}`)) } =
    options;
  const calls = callTable(maxInFlight, run);
  const handlers = new Map(Object.entries(notifications));
  const refuse = (error: unknown, id?: RequestId) => send(JSON.stringify(errorResponse(id, error)));
  const write = (notification: JSONRPCNotification) => send(JSON.stringify(notification));
  const say = (notification: JSONRPCNotification) => {
    if (options.full?.()) throw new TransportError("overflow", TOO_SLOW);
    return write(notification);
  };
  function run(request: JSONRPCRequest): void {
    const lane = openLane(say);
    calls.running.set(request.id, lane);
    answer(exchange, request, lane, { report, done(text, response) {
      // MUST: nothing more about a cancelled request (spec basic/transports/stdio#cancellation)
      if (!lane.end()) return;
      calls.remove(request.id);
      void send(text);
      const refused = "error" in response && response.error.code !== INTERNAL_ERROR;
      if (request.method !== LISTEN || refused) return; // what never opened needs no end
      // MUST: a server cancels only these (spec basic/patterns/cancellation#behavior-requirements)
      void write({ jsonrpc: "2.0", method: "notifications/cancelled",
        params: { requestId: request.id } });
    } });
  }
  function take(message: JSONRPCMessage, bytes = 0): void | Promise<void> {
    if (!("method" in message)) return void other(message);
    if (!("id" in message)) return heed(message, calls, handlers, report);
    // MUST: an id is not that of a call still in flight (spec basic#requests)
    if (calls.has(message.id)) {
      const why = `Invalid request: id ${JSON.stringify(message.id)} is still in flight`;
      return refuse(new ProtocolError(INVALID_REQUEST, why), message.id);
    }
    if (!calls.endless(message)) return calls.add(message, bytes);
    const why = `There are ${maxInFlight} subscriptions on this connection already`;
    return refuse(new ProtocolError(INTERNAL_ERROR, why), message.id);
  }
  return {
    take,
    receive(text) {
      let message: JSONRPCMessage;
      try {
        message = readMessage(parseJSON(text));
      } catch (error) {
        const id = error instanceof ProtocolError ? error.id : undefined;
        return id === null ? report(error) : refuse(error, id);
      }
      return take(message, text.length);
    },
    refuse: (why) => void refuse(new ProtocolError(INVALID_REQUEST, why)),
    close: calls.close,
    idle: calls.idle,
    holds: calls.has,
  };
}
// #endregion

// #region 8. Channel client
// uses messages errors-and-parsing handlers texts-and-lanes channel-server
//   · spec basic/patterns/cancellation
//
// The client's end is an Exchange: it sends a request and keeps its id until
// the answer comes, in whatever order. A notification belongs to the call whose
// progress token or subscription it names. Giving up a call is announced.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",
//     "arguments":{"a":2,"b":3},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[
//     {"type":"text","text":"5"}],"_meta":{..}}}

export interface ConnectOptions {
  /** Gets the messages that belong to no call. */
  other?: (message: JSONRPCMessage) => void;
  /** Gets texts that are no messages. */
  unreadable?: (text: string, error: unknown) => void;
}
export interface ConnectedEnd extends ChannelEnd { exchange: Exchange }
interface PendingCall {
  request: JSONRPCRequest;
  lane: Lane;
  settle(outcome: JSONRPCResponse | Error): void;
}

/** The call that a notification belongs to: it names a token or a subscription. */
function ownerOf({ method, params = {} }: JSONRPCNotification, calls: Map<RequestId, PendingCall>) {
  const meta = isObject(params._meta) ? params._meta : {};
  const subscription = meta["io.modelcontextprotocol/subscriptionId"];
  if (isRequestId(subscription)) return calls.get(subscription);
  if (method === "notifications/cancelled" && isRequestId(params.requestId)) {
    const call = calls.get(params.requestId); // a server may cancel nothing else
    return call?.request.method === LISTEN ? call : undefined;
  }
  const token = method === "notifications/progress" ? params.progressToken : undefined;
  const logs = method === "notifications/message";
  // A log line names no call, so the oldest that asked for logs gets it.
  return [...calls.values()].find(({ request }) => {
    const asked = isObject(request.params?._meta) ? request.params._meta : {};
    return token !== undefined ? asked.progressToken === token
      : logs && "io.modelcontextprotocol/logLevel" in asked;
  });
}

/** Hands a notification on. A listener that fails ends its own call and no other. */
async function tell({ lane, settle }: PendingCall, message: JSONRPCNotification): Promise<void> {
  try {
    await lane.notify(message);
  } catch (cause) {
    settle(new TransportError("usage", "the listener of the call failed", { cause }));
  }
}

/** Requests that wait for their answers, by id; `send` may be another for each. */
export interface PendingCalls {
  ask(request: JSONRPCRequest, lane: Lane, send: (message: JSONRPCNotification) => void):
    Promise<JSONRPCResponse>;
  /** Hands an answer or a notification to its call; false: it belongs to none. */
  settle(message: JSONRPCResponse | JSONRPCNotification): boolean | Promise<void>;
  /** Ends a call that gets no proper answer; without an id all, for it may be any. */
  fail(reason: Error, id?: unknown): void;
  close(reason: TransportError): void;
}
export function pendingCalls(): PendingCalls {
  const calls = new Map<RequestId, PendingCall>();
  let closed: TransportError | undefined;
  const ask: PendingCalls["ask"] = (request, lane, send) => new Promise((resolve, reject) => {
    const { id } = request;
    if (closed !== undefined) return reject(closed);
    if (lane.signal.aborted) return reject(abortReason(lane.signal));
    if (calls.has(id)) return reject(new TransportError("usage", `id ${id} is still in flight`));
    const cancel = () => {
      const why = abortReason(lane.signal);
      settle(why);
      // MUST: a cancelled call is announced (spec basic/transports/stdio#cancellation)
      send({ jsonrpc: "2.0", method: "notifications/cancelled",
        params: { requestId: id, reason: why.message } });
    };
    const settle = (outcome: JSONRPCResponse | Error) => {
      calls.delete(id);
      lane.signal.removeEventListener("abort", cancel);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    lane.signal.addEventListener("abort", cancel);
    calls.set(id, { request, lane, settle });
    try {
      send(request);
    } catch (cause) { // a bigint or a cycle in the params
      settle(cause instanceof TransportError ? cause
        : new TransportError("usage", "the request is no JSON", { cause }));
    }
  });
  const fail = (reason: Error, ...id: unknown[]) => {
    for (const [key, call] of [...calls]) if (id.length === 0 || key === id[0]) call.settle(reason);
  };
  return {
    ask,
    settle(message) {
      const call = "method" in message ? ownerOf(message, calls)
        : message.id === undefined ? undefined : calls.get(message.id);
      if (call === undefined) return false;
      if ("method" in message && message.method === "notifications/cancelled") {
        call.settle(new TransportError("closed", "the server ended the subscription"));
        return true;
      }
      if ("method" in message) return tell(call, message);
      call.settle(message);
      return true;
    },
    fail,
    close(reason) {
      closed ??= reason;
      fail(closed);
    },
  };
}

/** The id that a malformed answer names, so that its call need not wait. */
function answeredId(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && !("method" in value) ? value.id : undefined;
  } catch {
    return undefined; // no JSON, so it names nothing
  }
}

/** The client's end of a channel: an Exchange over it. */
export function connectChannel(send: SendText,
  { other = () => {}, unreadable = () => {} }: ConnectOptions = {}): ConnectedEnd {
  const calls = pendingCalls();
  const say = (message: JSONRPCNotification) => void send(JSON.stringify(message));
  const take = (message: JSONRPCMessage): void | Promise<void> => {
    // A late answer to a cancelled call is nobody's, like a server's request.
    if ("method" in message && "id" in message) return other(message);
    const owned = calls.settle(message);
    if (owned === false) other(message);
    else if (owned !== true) return owned;
  };
  return {
    exchange: (request, lane) => calls.ask(request, lane, say),
    take,
    receive(text) {
      let message: JSONRPCMessage;
      try {
        message = readMessage(parseJSON(text));
      } catch (cause) {
        const why = new TransportError("unreadable", "a malformed answer", { cause });
        calls.fail(why, answeredId(text));
        return unreadable(text, cause);
      }
      return take(message);
    },
    refuse(why) {
      const fault = new TransportError("overflow", why);
      calls.fail(fault);
      unreadable("", fault);
    },
    close: (reason) => calls.close(reason),
  };
}
// #endregion

// #region 9. stdio
// uses messages errors-and-parsing handlers texts-and-lanes channel-server channel-client
//   · spec basic/transports/stdio
//
// Messages cross a pipe as lines: one JSON text, one newline, nothing else.
// Bytes arrive in chunks that respect neither lines nor characters, so they are
// cut at the byte 0x0A first and decoded as whole lines afterwards: no
// character is ever cut in two, and a limit on bytes is a limit on memory.
//
// Chunks are split by hand: a chain of web streams takes three times as long.
// All that is said during one turn goes out in one write.

/** A pair of byte streams: a child's stdin and stdout, a socket. */
export interface Pipe {
  readable: AsyncIterable<Uint8Array>;
  /** Writes text; gives a promise when the other side is behind. */
  write(text: string): void | Promise<void>;
}

/** Cuts chunks into lines; undefined stands for a line over the limit (in bytes). */
export function lineSplitter(limit: number = MAX_MESSAGE):
  (chunk: Uint8Array) => (string | undefined)[] {
  let held = new Uint8Array(0); // of the line that has not ended yet
  let size = 0; // goes on counting when the line is past the limit
  const hold = (part: Uint8Array) => {
    size += part.length;
    if (size > limit) return;
    if (size > held.length) {
      const grown = new Uint8Array(Math.max(2 * held.length, size));
      grown.set(held);
      held = grown;
    }
    held.set(part, size - part.length);
  };
  return (chunk) => {
    const lines: (string | undefined)[] = [];
    const end = chunk.lastIndexOf(0x0a);
    let start = 0;
    if (size > 0 && end !== -1) {
      start = chunk.indexOf(0x0a) + 1;
      hold(chunk.subarray(0, start - 1));
      lines.push(size > limit ? undefined : utf8.decode(held.subarray(0, size)));
      if (size > 65536) held = new Uint8Array(0);
      size = 0;
    }
    if (end - start > limit) { // only here can a line be too long: they are cut one by one
      for (let at = chunk.indexOf(0x0a, start); at !== -1; at = chunk.indexOf(0x0a, start)) {
        lines.push(at - start > limit ? undefined : utf8.decode(chunk.subarray(start, at)));
        start = at + 1;
      }
    } else if (end >= start) {
      for (const line of utf8.decode(chunk.subarray(start, end)).split("\n")) lines.push(line);
    }
    const rest = chunk.subarray(Math.max(start, end + 1));
    if (rest.length > 0) hold(rest);
    return lines;
  };
}

export interface LineWriter {
  send: SendText;
  /** A promise while the reader is behind. */
  behind(): Promise<void> | undefined;
  /** A promise while anything is unwritten. */
  done(): Promise<void> | undefined;
  /** Whether 4 MiB wait for a reader that is behind. */
  full(): boolean;
}
/** Collects lines and writes them once a turn. */
export function lineWriter(write: Pipe["write"], fail: (error: TransportError) => void):
  LineWriter {
  let waiting = "";
  let flushing: Promise<void> | undefined;
  let slow = false;
  async function flush(): Promise<void> {
    try {
      await undefined; // whatever else this turn says goes along
      while (waiting !== "") {
        const text = waiting;
        waiting = "";
        const written = write(text);
        slow = written !== undefined;
        if (slow) await written;
      }
    } catch (cause) {
      fail(new TransportError("closed", "the other side has stopped reading", { cause }));
    }
    slow = false;
    flushing = undefined;
  }
  const behind = () => slow ? flushing : undefined;
  return {
    behind,
    done: () => flushing,
    full: () => slow && waiting.length > MAX_MESSAGE,
    send(text) {
      waiting += `${text}\n`;
      flushing ??= flush();
      return behind();
    },
  };
}

export interface LineOptions {
  /** Bytes a line may have, 4 MiB. A longer one is skipped and refused. */
  limit?: number;
}
/** Reads lines into one end of a channel. A BOM, a CR and blank lines do no harm. */
export async function readLines(readable: Pipe["readable"], end: ChannelEnd,
  { limit, behind }: LineOptions & Partial<LineWriter> = {}): Promise<void> {
  const split = lineSplitter(limit);
  const take = (line: string | undefined) => {
    if (line === undefined) return end.refuse("a line is longer than the limit");
    const text = line.charCodeAt(0) === 0xfeff ? line.slice(1) : line;
    return text.trim() === "" ? undefined : end.receive(text);
  };
  const takeAll = (lines: readonly (string | undefined)[], from = 0): void | Promise<void> => {
    for (let at = from; at < lines.length; at++) {
      const pause = take(lines[at]) ?? behind?.();
      // Not any value: a callback that promises nothing may still return one.
      if (pause instanceof Promise) return pause.then(() => takeAll(lines, at + 1));
    }
  };
  for await (const chunk of readable) {
    const pause = takeAll(split(chunk));
    if (pause !== undefined) await pause;
  }
  await takeAll(split(new Uint8Array([0x0a]))); // the last line may lack its newline
}

/** Whether something comes to its end within a time; no timer is left behind. */
export function endsWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    const done = (ended: boolean) => {
      clearTimeout(timer);
      resolve(ended);
    };
    promise.then(() => done(true), () => done(true));
  });
}

export interface ServeLinesOptions extends ServeOptions, LineOptions {
  /** Milliseconds that calls get to finish when the input has ended; 500. */
  graceMs?: number;
  /** Ends all at once: the process is asked to end. */
  signal?: AbortSignal;
  /** Is called before the end, to end what waits for nothing: subscriptions. */
  ending?: () => void;
  serve?: typeof serveChannel;
}
/** Serves one client over a pipe until its input ends. */
export async function serveLines(exchange: Exchange, { readable, write }: Pipe,
  options: ServeLinesOptions = {}): Promise<void> {
  const { graceMs = 500 } = options;
  let broken = (_: TransportError) => {};
  const failed = new Promise<TransportError>((resolve) => (broken = resolve));
  const writer = lineWriter(write, (error) => broken(error));
  const end = (options.serve ?? serveChannel)(exchange, writer.send,
    { ...options, full: writer.full });
  const finish = () => {
    options.ending?.();
    return endsWithin(graceMs, end.idle());
  };
  const reading = readLines(readable, end, { ...options, behind: writer.behind })
    .then(finish)
    .then(() => new TransportError("disconnected", "the client closed its end"))
    .catch((cause: unknown) => new TransportError("closed", "the input broke off", { cause }));
  options.signal?.addEventListener("abort", async () => {
    options.ending?.();
    await new Promise((resolve) => setTimeout(resolve)); // what that ends is answered first
    broken(new TransportError("shutdown", "the server is shutting down"));
  });
  end.close(await Promise.race([reading, failed]));
  await endsWithin(graceMs, Promise.resolve(writer.done()));
}

/** What is wrong with a line that is no message, and what to do about it. */
export function framingFault(line: string, error: unknown): TransportError {
  const shown = JSON.stringify(line.length > 80 ? `${line.slice(0, 80)}…` : line);
  if (/^content-length:/i.test(line)) {
    return new TransportError("framing", "The server frames its messages with Content-Length " +
      "headers. MCP on stdio has one JSON text a line: write JSON and a newline, no headers.");
  }
  if (error instanceof ProtocolError && error.code !== PARSE_ERROR) {
    return new TransportError("noise",
      `The server wrote a line that is no message (${error.message}): ${shown}.`);
  }
  if (/^\s*[{[]/.test(line)) {
    return new TransportError("framing", `The server spreads a message over several lines, or ` +
      `cuts it short: ${shown}. Write each message on one line (JSON.stringify without indent).`);
  }
  return new TransportError("noise", `The server wrote a line to stdout that is no message: ` +
    `${shown}. Logs belong on stderr (console.error).`);
}

export interface ConnectLinesOptions extends Pick<ConnectOptions, "other">, LineOptions {
  /** Gets what the server wrote that is no message; a log line does no other harm. */
  warn?: (fault: TransportError) => void;
  /** Finds out why the pipe closed; the calls in flight are told. */
  farewell?: () => Promise<TransportError>;
  connect?: typeof connectChannel;
  /** Sees each line that is sent or read. */
  onLine?: (direction: "C->S" | "S->C", line: string) => void;
}
/** The client's end of a pipe. */
export function connectLines({ readable, write }: Pipe, options: ConnectLinesOptions = {}):
  ConnectedEnd & { closed: Promise<void> } {
  const { warn = () => {}, farewell, onLine } = options;
  const writer = lineWriter(write, (error) => end.close(error));
  const send: SendText = (line) => {
    if (writer.full()) throw new TransportError("overflow", "the server does not read its stdin");
    onLine?.("C->S", line);
    return writer.send(line);
  };
  const other = (message: JSONRPCMessage) => {
    const what = "method" in message ? "id" in message && `a request, ${message.method}`
      : `an answer to no call in flight, id ${JSON.stringify(message.id)}`;
    if (what) warn(new TransportError("stray", `The server sent ${what}.`));
  };
  const unreadable = (line: string, error: unknown) => {
    const fault = error instanceof TransportError ? error : framingFault(line, error);
    warn(fault);
    if (fault.code === "framing") end.close(fault);
  };
  const channel = (options.connect ?? connectChannel)(send, { other, ...options, unreadable });
  const end: ConnectedEnd = onLine === undefined ? channel : { ...channel, receive(line) {
    onLine("S->C", line);
    return channel.receive(line);
  } };
  const why = new TransportError("closed", "the server closed the channel");
  const closed = readLines(readable, end, options)
    .catch((cause: unknown) => new TransportError("closed", "the channel broke", { cause }))
    .then(async (broke) => end.close(await farewell?.() ?? broke ?? why));
  return { ...end, closed };
}
// #endregion

// #region 10. Server-sent events
// uses texts-and-lanes · spec basic/transports/streamable-http#receiving-messages
//
// When a reply needs more than one message, HTTP carries it as
// text/event-stream: lines of `field: value`, an event ended by a blank line.
// The reader must cope with any cut between chunks and with CR, LF and CRLF,
// which is where most readers fail; comments keep a silent stream alive.
//
//   data: {"jsonrpc":"2.0","id":1,"result":{..}}

export interface ServerSentEvent { data: string; id?: string; event?: string; retry?: number }

/** Writes one event; a line break in the data starts another data line. */
export function formatEvent({ data, id, event, retry }: ServerSentEvent): string {
  if (/[\r\n\0]/.test(`${id ?? ""}${event ?? ""}`)) throw new TypeError("an id is one line");
  const lines = /[\r\n]/.test(data) ? data.split(/\r\n|[\r\n]/).join("\ndata: ") : data;
  return (event === undefined ? "" : `event: ${event}\n`) +
    (id === undefined ? "" : `id: ${id}\n`) + (retry === undefined ? "" : `retry: ${retry}\n`) +
    `data: ${lines}\n\n`;
}

/** Takes one line of an event into it; a field without a colon has an empty value. */
function takeField(event: Partial<ServerSentEvent>, line: string): void {
  const colon = line.indexOf(":");
  const field = colon === -1 ? line : line.slice(0, colon);
  const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
  if (field === "data") event.data = event.data === undefined ? value : `${event.data}\n${value}`;
  else if (field === "event") event.event = value;
  else if (field === "id" && !value.includes("\0")) event.id = value;
  else if (field === "retry" && /^\d+$/.test(value)) {
    event.retry = Math.min(Number(value), 2 ** 31 - 1); // past 31 bits setTimeout does not wait
  }
}

/** Reads events from text in chunks; an event that has an id or a retry counts without data. */
export function eventParser(onEvent: (event: ServerSentEvent) => void, limit: number = MAX_MESSAGE):
  (chunk: string) => void {
  let line = "";
  let event: Partial<ServerSentEvent> = {};
  let afterCR = false;
  let first = true;
  const endLine = () => {
    if (line !== "") takeField(event, line);
    else {
      const { data = "", id, retry } = event;
      if (event.data !== undefined || id !== undefined || retry !== undefined) {
        onEvent({ ...event, data });
      }
      event = {};
    }
    line = "";
  };
  const bound = () => {
    if (line.length + (event.data?.length ?? 0) <= limit) return;
    throw new TransportError("overflow", "the server sent an event longer than the limit");
  };
  return (chunk) => {
    if (chunk === "") return;
    let at = first && chunk.startsWith("\ufeff") ? 1 : 0;
    first = false;
    if (afterCR && chunk[at] === "\n") at++;
    afterCR = chunk.endsWith("\r");
    const ends = /\r\n?|\n/g;
    ends.lastIndex = at;
    for (let end = ends.exec(chunk); end !== null; end = ends.exec(chunk)) {
      line += chunk.slice(at, end.index);
      bound();
      at = ends.lastIndex;
      endLine();
    }
    line += chunk.slice(at);
    bound();
  };
}

/** The events of a body, until it ends or the caller stops iterating. */
export async function* readEvents(body: ReadableStream<Uint8Array>, limit?: number):
  AsyncGenerator<ServerSentEvent> {
  const events: ServerSentEvent[] = [];
  const parse = eventParser((event) => events.push(event), limit);
  const decoder = new TextDecoderStream("utf-8", { ignoreBOM: true });
  // Node's types give TextDecoderStream a wider input than pipeThrough accepts.
  const text = body.pipeThrough(decoder as unknown as TransformStream<Uint8Array, string>);
  const reader = text.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      parse(read.value);
      yield* events.splice(0);
    }
  } finally {
    reader.cancel().catch(() => {}); // a body that failed already has nothing to cancel
  }
}

/** The text of a body, or undefined when it is longer than the limit (in bytes). */
export async function readText(body: ReadableStream<Uint8Array> | null, limit: number):
  Promise<string | undefined> {
  if (body === null) return "";
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    size += read.value.length;
    if (size > limit) {
      reader.cancel().catch(() => {}); // nobody reads on, so its failure tells nobody anything
      return undefined;
    }
    chunks.push(read.value);
  }
  return utf8.decode(joinBytes(chunks));
}
// #endregion

// #region 11. Mirrored headers
// uses messages errors-and-parsing texts-and-lanes
//   · spec basic/transports/streamable-http#request-metadata
//
// So that proxies can route without reading bodies, HTTP repeats parts of the
// request in headers. Whoever reads the body must check that both agree, or a
// proxy and a server would act on two different requests. A value that a header
// cannot carry goes in Base64 between markers.
//
//   → Mcp-Method: tools/call
//     Mcp-Name: =?base64?Y2Fmw6k=?=            the tool "café"
//     Mcp-Param-Region: us-west1               x-mcp-header: "Region"

export const HEADER_MISMATCH = -32020;
export const MIRRORS: { readonly [method: string]: string } =
  { "tools/call": "name", "prompts/get": "name", "resources/read": "uri" };

/** A header value for any text: as it is, or in Base64 between markers. */
export function encodeHeader(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text) || text === "";
  // MUST: so is what looks encoded (spec basic/transports/streamable-http#value-encoding)
  if (plain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Without the blanks that HTTP allows around a value; a regular expression would be quadratic. */
function trimBlanks(value: string): string {
  let [start, end] = [0, value.length];
  while (start < end && (value[start] === " " || value[start] === "\t")) start++;
  while (end > start && (value[end - 1] === " " || value[end - 1] === "\t")) end--;
  return value.slice(start, end);
}
/** A header value without the blanks around it; undefined where HTTP forbids a character. */
function plainHeader(value: string): string | undefined {
  const text = trimBlanks(value);
  return /^[\x20-\x7e\t]*$/.test(text) ? text : undefined;
}
/** The text behind a header value; undefined when the value is malformed. */
export function decodeHeader(value: string): string | undefined {
  const text = plainHeader(value);
  if (text === undefined) return undefined;
  if (text.length < 11 || !text.startsWith("=?base64?") || !text.endsWith("?=")) return text;
  const body = text.slice(9, -2);
  if (!BASE64.test(body)) return undefined;
  try {
    const bytes = Uint8Array.from(atob(body), (char) => char.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined; // not UTF-8
  }
}

/** An argument that HTTP repeats in the header Mcp-Param-{name}. */
export interface ParamHeader { name: string; path: string[]; type: string }

/** What is wrong with an annotation, of the schema at a path of properties, if anything. */
function annotationFault({ "x-mcp-header": name, type }: Record<string, unknown>,
  path: string[] | undefined, found: readonly ParamHeader[]): string | undefined {
  const shown = JSON.stringify(name);
  // MUST: a token, used once (spec basic/transports/streamable-http#schema-extension)
  return typeof name !== "string" || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)
    ? `${shown} is no header name`
    : found.some((other) => other.name.toLowerCase() === name.toLowerCase())
    ? `${shown} is used twice`
    // MUST: reached by properties alone (spec basic/transports/streamable-http#schema-extension)
    : path === undefined || path.length === 0 ? `${shown} is not on an argument`
    // MUST: of a primitive type (spec basic/transports/streamable-http#schema-extension)
    : type !== "string" && type !== "integer" && type !== "boolean"
    ? `${shown} is on type ${JSON.stringify(type)}, not string, integer or boolean` : undefined;
}
const DATA_KEYWORDS: readonly string[] = ["const", "default", "enum", "examples"];

/** The annotated arguments of an inputSchema. Throws a TypeError on a wrong annotation. */
export function paramHeaders(schema: unknown): ParamHeader[] {
  const found: ParamHeader[] = [];
  const visit = (node: unknown, path: string[] | undefined, depth: number): void => {
    if (typeof node !== "object" || node === null || depth > MAX_DEPTH) return;
    if (isObject(node) && "x-mcp-header" in node) {
      const fault = annotationFault(node, path, found);
      if (fault !== undefined) throw new TypeError(`x-mcp-header: ${fault}`);
      found.push({ name: String(node["x-mcp-header"]), path: path ?? [], type: String(node.type) });
    }
    for (const [key, inner] of Object.entries(node)) {
      if (DATA_KEYWORDS.includes(key)) continue;
      if (key !== "properties" || !isObject(inner)) visit(inner, undefined, depth + 1);
      else Object.entries(inner).forEach(([name, property]) =>
        visit(property, path && [...path, name], depth + 1));
    }
  };
  visit(schema, [], 0);
  return found;
}

const valueAt = (value: unknown, path: readonly string[]): unknown => path.reduce<unknown>(
  (inner, key) => isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined, value);

/** The headers that repeat a request; mirrors gives the field behind Mcp-Name. */
export function mirroredHeaders({ method, params = {} }: JSONRPCRequest,
  mirrors: Mirrors = {}, annotated: readonly ParamHeader[] = []):
  Record<string, string> {
  const headers: Record<string, string> = { "Mcp-Method": method };
  const name = Object.hasOwn(mirrors, method) ? params[mirrors[method] ?? ""] : undefined;
  if (typeof name === "string") headers["Mcp-Name"] = encodeHeader(name);
  for (const { name: header, path } of annotated) {
    const value = valueAt(params.arguments, path);
    if (["string", "number", "boolean"].includes(typeof value)) {
      headers[`Mcp-Param-${header}`] = encodeHeader(String(value));
    }
  }
  return headers;
}

export const headerMismatch = (name: string, came: string | null, body: unknown): ProtocolError =>
  new ProtocolError(HEADER_MISMATCH, `Header mismatch: ${name} is ` +
    `${came === null ? "missing" : JSON.stringify(came)}, the body says ${JSON.stringify(body)}`);

/** -32020 when Mcp-Method or Mcp-Name differ from the body. */
export function mirrorFault({ method, params = {} }: JSONRPCRequest,
  header: (name: string) => string | null, mirrors: Mirrors = {}):
  ProtocolError | undefined {
  const named = header("mcp-method");
  // MUST: values are compared case by case (spec basic/transports/streamable-http#case-sensitivity)
  if (named === null || plainHeader(named) !== method) {
    return headerMismatch("Mcp-Method", named, method);
  }
  if (!Object.hasOwn(mirrors, method)) return undefined;
  const value = params[mirrors[method] ?? ""];
  const given = header("mcp-name");
  if (typeof value !== "string") return undefined; // whoever reads the params refuses it
  // MUST: decoded before it is compared (spec basic/transports/streamable-http#server-validation)
  return given !== null && decodeHeader(given) === value ? undefined
    : headerMismatch("Mcp-Name", given, value);
}

/** -32020 when a Mcp-Param header differs from the argument that it repeats. */
export function paramFault(args: unknown, annotated: readonly ParamHeader[],
  header: (name: string) => string | null): ProtocolError | undefined {
  for (const { name, path, type } of annotated) {
    const value = valueAt(args, path) ?? null;
    const given = header(`mcp-param-${name.toLowerCase()}`);
    if (given === null && (value === null || typeof value === "object")) continue;
    const text = given === null ? undefined : decodeHeader(given);
    // SHOULD: 42.0 is 42 (spec basic/transports/streamable-http#server-validation)
    const number = type === "integer" && typeof value === "number";
    const same = text !== undefined && value !== null && (number
      ? /^-?\d+(\.0*)?$/.test(text) && Number.isSafeInteger(value) && Number(text) === value
      : text === String(value));
    if (!same) return headerMismatch(`Mcp-Param-${name}`, given, value);
  }
  return undefined;
}
// #endregion

// #region 12. HTTP requests
// uses messages errors-and-parsing versions-and-meta texts-and-lanes mirrored-headers
//   · spec basic/transports/streamable-http#sending-messages
//
// Every message is a POST of its own to one endpoint. Much can be wrong with it
// before its body says a word, and a web page may be behind it that has no
// business here; all of that is refused first, each fault under its own status.
//
//   → POST /mcp HTTP/1.1
//     Content-Type: application/json
//     Accept: application/json, text/event-stream
//     MCP-Protocol-Version: 2026-07-28
//     Mcp-Method: tools/list
//
// A request here is four members and a reply is plain text or a stream, because
// a web Request costs a Node server more than the whole protocol does.

export interface HttpRequest {
  method: string;
  /** A header by its lower-case name. */
  header(name: string): string | null;
  /** The body; undefined when it is longer than the limit in bytes. */
  text(limit: number): Promise<string | undefined>;
  /** Calls when the client has gone, before or during the reply. */
  onClose(listener: () => void): void;
  /** Who asks, once a guard has found out. */
  principal?: Principal;
  /** Path and query, where the runtime tells. */
  target?: string;
}
/** Where a stream of events is written. */
export interface Sink {
  write(text: string): void | Promise<void>;
  close(): void;
  /** Bytes that are not yet taken by the reader. */
  queued(): number;
}
export interface HttpReply {
  status: number;
  headers: Record<string, string>;
  body?: string;
  stream?: (sink: Sink) => void;
}
export interface HttpOptions {
  /** Turns away whoever has no business here. */
  guard?: Guard;
  /** Origins of pages that may call, beside pages of this machine; opens CORS for them. */
  allowOrigins?: readonly string[];
  /** Refuse a Host that is not this machine: for servers bound to loopback. */
  loopbackOnly?: boolean;
  /** Milliseconds a reply may take before its stream opens; 250. */
  jsonWithinMs?: number;
  /** Milliseconds between comments on a stream; 15,000. */
  keepAliveMs?: number;
  /** Bytes a body may have, and those that may wait for a slow reader; 4 MiB. */
  maxBody?: number;
  mirrors?: Mirrors;
  notifications?: NotificationHandlers;
  /** Holds the calls under way, for whoever shuts the server down to end. */
  open?: Set<OpenLane>;
  /** Gets what no peer is told. */
  report?: (error: unknown) => void;
}
export type HttpHandler = (http: HttpRequest) => Promise<HttpReply>;
/** Decides who may call and what; each answers with the reply that refuses. */
export interface Guard {
  admit(http: HttpRequest): Promise<Principal | HttpReply>;
  permit?(value: unknown, http: HttpRequest): HttpReply | undefined;
  /** What it answers itself, by path; to anybody. */
  routes?: Record<string, HttpHandler>;
}

export const JSON_HEADERS: Record<string, string> = { "Content-Type": "application/json" };
/** A reply that refuses: a status, and a JSON-RPC error that says why. */
export function refusal(status: number, error: unknown, id?: RequestId): HttpReply {
  return { status, headers: JSON_HEADERS, body: JSON.stringify(errorResponse(id, error)) };
}
export const refuse = (status: number, why: string): HttpReply =>
  refusal(status, new ProtocolError(INVALID_REQUEST, why));

const LOOPBACK = /^(?:localhost\.?|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i;

/** 403 for a page or a host name that has no business here (DNS rebinding). */
export function originFault({ header }: HttpRequest, options: HttpOptions): HttpReply | undefined {
  if (options.loopbackOnly && !LOOPBACK.test(header("host") ?? "")) {
    return refuse(403, `Host ${header("host")} is not this machine`);
  }
  const origin = header("origin");
  if (origin === null || options.allowOrigins?.includes(origin)) return undefined;
  // MUST: else 403 (spec basic/transports/streamable-http#security-endpoint)
  const host = /^https?:\/\/([^/@]+)$/i.exec(origin)?.[1] ?? "";
  return LOOPBACK.test(host) ? undefined : refuse(403, `Origin ${origin} is not allowed`);
}

/** Whether an Accept header admits a media type; none admits all (RFC 9110 §12.5.1). */
export function accepts(accept: string | null, type: string): boolean {
  return accept === null || accept.toLowerCase().split(",").some((part) => {
    const [range = "", ...parameters] = part.split(";").map((piece) => piece.trim());
    return (range === type || range === "*/*" || range === type.replace(/[^/]*$/, "*")) &&
      !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
  });
}

/** Whether a client would rather read a stream: it names that first. */
export const prefersStream = ({ header }: HttpRequest): boolean =>
  /^\s*text\/event-stream/i.test(header("accept") ?? "");

/** What can be refused of a POST by its headers alone. */
function envelopeFault({ header }: HttpRequest, maxBody: number): HttpReply | undefined {
  const accept = header("accept");
  // MUST: clients accept both (spec basic/transports/streamable-http#sending-messages)
  if (accept !== "application/json, text/event-stream" &&
    !(accepts(accept, "application/json") && accepts(accept, "text/event-stream"))) {
    return refuse(406, "Accept must list application/json and text/event-stream");
  }
  const type = header("content-type");
  if (type !== "application/json" && !/^application\/json[ \t]*(?:;|$)/i.test(type ?? "")) {
    return refuse(415, "Content-Type must be application/json");
  }
  return Number(header("content-length")) > maxBody ? tooLong(maxBody) : undefined;
}
const tooLong = (limit: number) => refuse(413, `the body is longer than ${limit} bytes`);

/** Reads the JSON of a POST, or says why not. Its shape is the caller's to check. */
export async function readPost(http: HttpRequest, { maxBody = MAX_MESSAGE, guard }: HttpOptions):
  Promise<{ value: unknown } | HttpReply> {
  const fault = envelopeFault(http, maxBody);
  if (fault !== undefined) return fault;
  let text: string | undefined;
  try {
    text = await http.text(maxBody);
  } catch {
    return refuse(400, "the body broke off");
  }
  if (text === undefined) return tooLong(maxBody);
  let value: unknown;
  try {
    value = parseJSON(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    return refusal(400, error, (error as ProtocolError).id ?? undefined);
  }
  return guard?.permit?.(value, http) ?? { value };
}

/** -32020 or -32022 when the headers of a modern request do not fit its body. */
export function headerFault(request: JSONRPCRequest, { header }: HttpRequest,
  mirrors: Mirrors): ProtocolError | undefined {
  const version = header("mcp-protocol-version");
  const meta = request.params?._meta;
  const named = isObject(meta) ? meta[PROTOCOL_VERSION] : undefined;
  if (version === null) {
    // MUST: the header is there (spec basic/transports/streamable-http#server-validation)
    return new ProtocolError(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version is missing " +
      `(this server speaks ${MODERN_VERSIONS})`, { supported: MODERN_VERSIONS });
  }
  if (!MODERN_VERSIONS.includes(version)) {
    return metaFault({ ...request, params: { _meta: { [PROTOCOL_VERSION]: version } } });
  }
  // MUST: both are one (spec basic/transports/streamable-http#protocol-version-header)
  if (typeof named === "string" && named !== version) {
    return headerMismatch("MCP-Protocol-Version", version, named);
  }
  return mirrorFault(request, header, mirrors);
}

// #endregion

// #region 13. HTTP server
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes
//   server-sent-events mirrored-headers http-requests
//   · spec basic/transports/streamable-http#receiving-messages
//
// The reply is a JSON object when it is ready soon and nothing had to be said
// before it, else a stream of events that ends with it. A client that closes
// the stream has cancelled: there is no other way to say so over HTTP.
//
//   ← HTTP/1.1 200 OK
//     Content-Type: text/event-stream
//
//     data: {"jsonrpc":"2.0","method":"notifications/progress","params":{..}}
//
//     data: {"jsonrpc":"2.0","id":1,"result":{..}}

export const STREAM_HEADERS: Record<string, string> = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache, no-transform",
  // SHOULD: proxies hold nothing back (spec basic/transports/streamable-http#receiving-messages)
  "X-Accel-Buffering": "no",
};
const CORS_ALLOW = "Accept, Authorization, Content-Type, Last-Event-ID, MCP-Protocol-Version, " +
  "Mcp-Method, Mcp-Name, Mcp-Session-Id";

/** The events of one connection, which wait for its reader. */
export interface Events {
  /** Throws TransportError "overflow" when the reader is too far behind. */
  send(event: ServerSentEvent): void | Promise<void>;
  /** Begins to write, once. */
  attach(sink: Sink): void;
  /** Forgets the reader, who has gone. */
  stop(): void;
  /** Ends the stream, with one more event. */
  end(last?: ServerSentEvent): void;
}
export function eventStream(options: HttpOptions): Events {
  const { keepAliveMs = 15_000, maxBody = MAX_MESSAGE } = options;
  let sink: Sink | undefined;
  let early = ": open\n\n"; // makes the headers travel at once
  let timer: ReturnType<typeof setInterval> | undefined;
  let over = false;
  const stop = () => {
    clearInterval(timer);
    sink = undefined;
    early = "";
  };
  const write = (text: string) => {
    if (sink !== undefined) return sink.write(text);
    early += text;
  };
  const ping = () => {
    if (sink?.queued() === 0) void write(": ping\n\n");
  };
  return {
    stop,
    send(event) {
      const behind = sink?.queued() ?? early.length;
      if (behind > maxBody) throw new TransportError("overflow", TOO_SLOW);
      return write(formatEvent(event));
    },
    end(last) {
      if (last !== undefined) void write(formatEvent(last));
      over = true;
      sink?.close();
      if (sink !== undefined) stop();
    },
    attach(to) {
      sink = to;
      void sink.write(early);
      early = "";
      if (over) return this.end();
      timer = setInterval(ping, keepAliveMs);
    },
  };
}

/** The HTTP status of a response that is not streamed. */
function statusOf(request: JSONRPCRequest, response: JSONRPCResponse): number {
  if (!("error" in response)) return 200;
  const { code } = response.error;
  // MUST: 404 for an unknown method (spec basic/transports/streamable-http#protocol-version-header)
  if (code === METHOD_NOT_FOUND) return 404;
  // MUST: 400 for -32020 to -32022 and for a malformed _meta (spec basic#meta)
  const refused = code <= HEADER_MISMATCH && code >= UNSUPPORTED_PROTOCOL_VERSION;
  return refused || code === INVALID_PARAMS && metaFault(request) !== undefined ? 400 : 200;
}

/** Runs a request and replies in JSON if that is ready soon, else on a stream. */
export function replyTo(request: JSONRPCRequest, exchange: Exchange, http: HttpRequest,
  options: HttpOptions): Promise<HttpReply> {
  const { report = () => {}, jsonWithinMs = 250 } = options;
  return new Promise((resolve) => {
    let state: "waiting" | "streaming" | "done" = "waiting";
    let events: Events | undefined;
    const openStream = () => {
      if (state !== "waiting") return;
      state = "streaming";
      events = eventStream(options);
      resolve({ status: 200, headers: STREAM_HEADERS, stream: (sink) => events?.attach(sink) });
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const finish = () => {
      clearTimeout(timer);
      state = "done";
      options.open?.delete(lane);
    };
    const cut = ({ code, message }: TransportError) => {
      if (state === "streaming") events?.end();
      else if (code === "disconnected") resolve({ status: 499, headers: {} }); // to nobody
      else resolve(refusal(503, new ProtocolError(INTERNAL_ERROR, message), request.id));
      finish();
    };
    const lane = openLane((notification) => {
      openStream();
      return events?.send({ data: JSON.stringify(notification) });
    }, cut, (name) => http.header(name), http.principal);
    options.open?.add(lane);
    // MUST: closing is cancelling (spec basic/transports/streamable-http#cancellation)
    http.onClose(() => {
      events?.stop();
      lane.end(new TransportError("disconnected", "the client closed the connection"));
    });
    const done = (text: string, response: JSONRPCResponse) => {
      if (!lane.end()) return;
      if ("result" in response && prefersStream(http)) openStream(); // an error has its status
      if (state === "streaming") events?.end({ data: text });
      else resolve({ status: statusOf(request, response), headers: JSON_HEADERS, body: text });
      finish();
    };
    answer(exchange, request, lane, { done, report });
    // A timer made and cleared in one turn costs Node more than all the rest.
    void turn(() => state === "waiting").then((late) => {
      if (late) timer = setTimeout(openStream, jsonWithinMs);
    });
  });
}
/** Lets the promises of this turn settle; whether what should end has not. */
async function turn(waiting: () => boolean): Promise<boolean> {
  for (let hop = 0; hop < 16 && waiting(); hop++) await undefined;
  return waiting();
}

/** Answers the HTTP methods of an endpoint, after the checks that all of them need. */
export function endpoint(methods: Record<string, HttpHandler>, options: HttpOptions = {}):
  HttpHandler {
  const allow = Object.keys(methods).join(", ");
  const handlers = new Map(Object.entries(methods));
  const { report = () => {}, allowOrigins = [], guard } = options;
  const handle = async (http: HttpRequest): Promise<HttpReply> => {
    try {
      const fault = originFault(http, options);
      const handler = handlers.get(http.method);
      if (fault !== undefined) return fault;
      if (handler !== undefined) {
        const admitted = guard && await guard.admit(http);
        if (admitted !== undefined && !("id" in admitted)) return admitted;
        if (admitted !== undefined) http.principal = admitted;
        return await handler(http);
      }
      const preflight = http.method === "OPTIONS" && http.header("origin") !== null;
      if (preflight) return { status: 204, headers: {} };
      const { headers, ...reply } = refuse(405, `${http.method} is not for this endpoint; MCP ` +
        `${MODERN_VERSIONS} uses ${allow}`);
      return { ...reply, headers: { ...headers, Allow: allow } };
    } catch (error) {
      report(error);
      return refusal(500, error);
    }
  };
  if (allowOrigins.length === 0) return handle;
  return async (http) => {
    const reply = await handle(http);
    const origin = http.header("origin");
    if (origin === null || !allowOrigins.includes(origin)) return reply;
    const asked = http.header("access-control-request-headers");
    return { ...reply, headers: { ...reply.headers, "Access-Control-Allow-Origin": origin,
      "Access-Control-Allow-Methods": allow, "Access-Control-Allow-Headers": asked ?? CORS_ALLOW,
      "Access-Control-Expose-Headers": "Mcp-Session-Id, WWW-Authenticate", Vary: "Origin" } };
  };
}

/** Answers the JSON of a POST. */
export function modernPost(exchange: Exchange, options: HttpOptions):
  (value: unknown, http: HttpRequest) => HttpReply | Promise<HttpReply> {
  const handlers = new Map(Object.entries(options.notifications ?? {}));
  const mirrors = { ...MIRRORS, ...options.mirrors };
  return (value, http) => {
    let message: JSONRPCMessage;
    try {
      message = readMessage(value);
    } catch (error) {
      return refusal(400, error, (error as ProtocolError).id ?? undefined);
    }
    // MUST: clients post no responses (spec basic/transports/streamable-http#sending-messages)
    if (!("method" in message)) return refuse(400, "a client sends no responses");
    if ("id" in message) {
      const fault = headerFault(message, http, mirrors);
      return fault !== undefined ? refusal(400, fault, message.id)
        : replyTo(message, exchange, http, options);
    }
    void guarded(handlers.get(message.method), message.params ?? {}, options.report ?? (() => {}));
    return { status: 202, headers: {} };
  };
}

/** Serves the modern protocol on one endpoint. */
export function serveHttp(exchange: Exchange, options: HttpOptions = {}): HttpHandler {
  const answer = modernPost(exchange, options);
  return endpoint({ async POST(http) {
    const read = await readPost(http, options);
    return "value" in read ? await answer(read.value, http) : read;
  } }, options);
}

/** The same for the web's own shapes; signals: whether to heed the signal of a Request. */
export function webHandler(handle: HttpHandler, signals = true):
  (request: Request) => Promise<Response> {
  return async (request) => {
    const listeners: (() => void)[] = [];
    const close = () => listeners.splice(0).forEach((listener) => listener());
    const signal = signals ? request.signal : undefined;
    signal?.addEventListener("abort", close);
    const onClose = (listener: () => void) =>
      void (signal?.aborted ? listener() : listeners.push(listener));
    const { pathname, search } = new URL(request.url);
    const { status, headers, body, stream } = await handle({
      method: request.method,
      target: pathname + search,
      header: (name) => request.headers.get(name),
      text: (limit) => readText(request.body, limit),
      onClose,
    });
    const content = stream === undefined ? body ?? null : webStream(stream, close);
    return new Response(content, { status, headers });
  };
}
function webStream(fill: (sink: Sink) => void, cancel: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const highWaterMark = 65536;
  const drained = gate();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const queued = () => highWaterMark - (controller.desiredSize ?? highWaterMark);
      fill({
        queued,
        close: () => controller.close(),
        write(text) {
          controller.enqueue(encoder.encode(text));
          return queued() < highWaterMark ? undefined : drained.wait();
        },
      });
    },
    pull: drained.open,
    cancel() {
      cancel();
      drained.open();
    },
  }, new ByteLengthQueuingStrategy({ highWaterMark }));
}
// #endregion

// #region 14. HTTP client
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes
//   server-sent-events mirrored-headers
//   · spec basic/transports/streamable-http#client-behavior
//
// An Exchange over fetch: one POST a request, and a reply that is JSON or a
// stream of events. The client repeats in headers what the body says, arguments
// included where the tool asks for it, so it remembers the tools of every list
// that passes.
//
//   ← HTTP/1.1 200 OK
//     Content-Type: application/json

export interface HttpClientOptions {
  /** How to reach the server; the platform's fetch unless given. */
  fetch?: typeof fetch;
  /** Headers for every request; they win over our own. */
  headers?: Record<string, string>;
  mirrors?: Mirrors;
  /** Gets what is wrong with a server but stops nothing. */
  warn?: (text: string) => void;
  /** Bytes a reply or an event may have; 4 MiB. */
  limit?: number;
}

/** Tool -> its annotated arguments; takes invalid tools out of a list. */
function toolMemory(warn: (text: string) => void) {
  const known = new Map<string, ParamHeader[]>();
  const keep = (tool: unknown): boolean => {
    if (!isObject(tool) || typeof tool.name !== "string") return true;
    try {
      const annotated = paramHeaders(tool.inputSchema);
      if (annotated.length > 0) known.set(tool.name, annotated);
      else known.delete(tool.name);
      return true;
    } catch (error) {
      // MUST: it is left out (spec basic/transports/streamable-http#schema-extension)
      warn(`The tool ${JSON.stringify(tool.name)} is left out: ${(error as Error).message}`);
      return false;
    }
  };
  const learn = (response: JSONRPCResponse): JSONRPCResponse => {
    if (!("result" in response) || !Array.isArray(response.result.tools)) return response;
    const tools = response.result.tools.filter(keep);
    return { ...response, result: { ...response.result, tools } };
  };
  return { learn, of: (name: unknown) => typeof name === "string" ? known.get(name) : undefined };
}

/** Whether an HTTP response is of the given media type, whatever its parameters. */
const hasType = (response: Response, type: string) =>
  (response.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() === type;

/** Reads the reply to a request. Throws TransportError when it is no answer. */
async function readReply(response: Response, request: JSONRPCRequest, lane: Lane,
  { limit = MAX_MESSAGE, warn = () => {} }: HttpClientOptions): Promise<JSONRPCResponse> {
  const take = async (text: string): Promise<JSONRPCResponse | undefined> => {
    const message = readMessage(parseJSON(text));
    if ("method" in message) {
      const name = JSON.stringify(message.method);
      if ("id" in message) warn(`The server sent a request of its own: ${name}`);
      else await Promise.resolve(message).then((it) => lane.notify(it)).catch((cause) => {
        throw new TransportError("usage", "the listener of the call failed", { cause });
      });
      return undefined;
    }
    const { id = null } = message; // older servers say null where they could not read it
    const ours = id === request.id || "error" in message && id === null;
    if (!ours) warn(`The server answered under another id: ${JSON.stringify(message.id)}`);
    return ours ? message : undefined;
  };
  if (hasType(response, "text/event-stream") && response.body !== null) {
    for await (const { data } of readEvents(response.body, limit)) {
      const answer = data === "" ? undefined : await take(data);
      if (answer !== undefined) return answer;
    }
    throw new TransportError("closed", "The server ended the stream before it answered");
  }
  const text = await readText(response.body, limit);
  if (text === undefined) {
    throw new TransportError("overflow", `The reply is longer than ${limit} bytes`);
  }
  const answer = hasType(response, "application/json") ? await take(text) : undefined;
  if (answer !== undefined) return answer;
  const { status, url } = response;
  throw new TransportError("http", `HTTP ${status} without an MCP answer: ` +
    `${JSON.stringify(text.slice(0, 200))}. Is ${bareUrl(url)} the MCP endpoint?`,
    { reply: { status, text } });
}

/** An Exchange over HTTP. Throws TransportError when no answer comes. */
export function connectHttp(url: string, options: HttpClientOptions = {}): Exchange {
  const { warn = () => {} } = options;
  const mirrors = { ...MIRRORS, ...options.mirrors };
  const tools = toolMemory(warn);

  async function post(request: JSONRPCRequest, lane: Lane): Promise<JSONRPCResponse> {
    const { params = {} } = request;
    const version = isObject(params._meta) ? params._meta[PROTOCOL_VERSION] : undefined;
    const headers = new Headers({
      "Content-Type": "application/json", Accept: "application/json, text/event-stream",
      "MCP-Protocol-Version": String(version),
      ...mirroredHeaders(request, mirrors, tools.of(params.name)),
    });
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    const fail = (code: string, why: string) => (cause: unknown): never => {
      if (lane.signal.aborted) throw abortReason(lane.signal);
      if (isKnown(cause)) throw cause;
      const what = cause instanceof ProtocolError ? "The reply is no message" : why;
      throw new TransportError(code, `${what}: ${reasonOf(cause)}`, { cause });
    };
    // A redirect could carry the call, or a token, to another host.
    const response = await (options.fetch ?? fetch)(url, { method: "POST", headers,
      body: jsonOf(request), signal: lane.signal, redirect: "manual" })
      .catch(fail("unreachable", `Cannot reach ${bareUrl(url)}`));
    const { status } = response;
    return tools.learn(await readReply(response, request, lane, options).catch((cause) => {
      const foreign = cause instanceof ProtocolError && status >= 400; // of something else
      if (!foreign) return fail("unreadable", "The reply broke off")(cause);
      throw new TransportError("unreadable", `HTTP ${status} with a body that is no message`,
        { cause, reply: { status, text: "" } });
    }));
  }
  async function listAgain({ id, params = {} }: JSONRPCRequest, lane: Lane): Promise<void> {
    let at = {};
    for (let page = 1; page <= 100; page++) {
      const response = await post({ jsonrpc: "2.0", id: `${id}-tools-${page}`,
        method: "tools/list", params: { ...at, _meta: params._meta } }, lane);
      const cursor = "result" in response ? response.result.nextCursor : undefined;
      if (typeof cursor !== "string") return;
      at = { cursor };
    }
  }
  return async (request, lane) => {
    const response = await post(request, lane);
    const refused = "error" in response && response.error.code === HEADER_MISMATCH;
    if (!refused || request.method !== "tools/call") return response;
    // SHOULD: list again, then retry (spec basic/transports/streamable-http#client-behavior)
    await listAgain(request, lane);
    return post(request, lane);
  };
}
function jsonOf(request: JSONRPCRequest): string {
  try {
    return JSON.stringify(request);
  } catch (cause) { // a bigint or a cycle in the params
    throw new TransportError("usage", "the request is no JSON", { cause });
  }
}
// #endregion

// Built by now: the same two over any pair of byte streams, and over HTTP.
// Shown by examples/02-tcp.ts.

// ---- Part III: what servers offer ------------------------------------------

// #region 15. Types from schemas
// uses nothing · spec basic#json-schema-usage
//
// A tool states its arguments once, as a JSON Schema literal. The compiler can
// read that literal too, so a handler knows its arguments without a second
// declaration that could drift from the first. What the types cannot say
// (bounds, `not`, `if`) is left to the validator; what they do not understand
// is `unknown`, which a handler has to look at before use.
//
//   FromSchema<{ type: "object"; properties: { a: { type: "number" } } }>
//     -> { a?: number }
//
// A property that no schema describes is not in the type, even where the schema
// lets it pass: a misspelt name in a handler is then an error.

/** The values that a schema accepts. Infer the schema as `const S` to keep its literals. */
export type FromSchema<S> = 0 extends 1 & S ? unknown
  : S extends false ? never : OrUnknown<FromNode<S, S>>;

/** A validator for a schema: issues, or undefined. Throws an Error when it refuses the schema. */
export type CompileSchema = (
  schema: unknown,
) => (value: unknown) => readonly { path: string; message: string }[] | undefined;

type OrUnknown<T> = [T] extends [never] ? unknown : T;

// `R` is the root, where references lead. Keywords side by side all hold, so
// their types intersect; a keyword that is missing adds `unknown`, which is
// nothing.
type FromNode<S, R> =
  S extends false ? never
  : S extends { const: infer C } ? C
  : S extends { enum: readonly (infer E)[] } ? E
  : FromKind<S, R> & FromAny<S, R> & FromAll<S, R> & FromRef<S, R>;

// A schema with `properties` and no `type` is meant for objects.
type FromKind<S, R> =
  S extends { type: readonly (infer T)[] } ? FromType<T, S, R>
  : S extends { type: infer T } ? FromType<T, S, R>
  : S extends { properties: object } ? FromType<"object", S, R>
  : unknown;

type FromType<T, S, R> =
  T extends "string" ? string
  : T extends "number" | "integer" ? number
  : T extends "boolean" ? boolean
  : T extends "null" ? null
  : T extends "array" ? FromItems<S, R>
  : T extends "object" ? FromProperties<S, R> extends infer O
    ? { -readonly [K in keyof O]: O[K] } : never   // one object in the hover, not four
  : unknown;

type FromProperties<S, R> =
  S extends { properties: infer P extends object }
    ? { [K in keyof P as K extends RequiredOf<S> ? K : never]: FromNode<P[K], R> }
      & { [K in keyof P as K extends RequiredOf<S> ? never : K]?: FromNode<P[K], R> }
      & { [K in Exclude<RequiredOf<S>, keyof P>]: unknown }
      & (S extends { additionalProperties: infer A extends object } ? FromOthers<A, R> : unknown)
    : FromOthers<S extends { additionalProperties: infer A } ? A : true, R>
      & { [K in RequiredOf<S>]: unknown };
type RequiredOf<S> = S extends { required: readonly (infer N extends string)[] } ? N : never;
type FromOthers<A, R> = { [key: string]: FromNode<A, R> };

// A tuple may be shorter than its schema, unless `minItems` says otherwise.
type FromItems<S, R> =
  S extends { prefixItems: infer P extends readonly unknown[] }
    ? [...FromTuple<P, S, R>, ...(S extends { items: infer I } ? FromRest<I, R> : unknown[])]
  : S extends { items: infer P extends readonly unknown[] } ? [...FromTuple<P, S, R>, ...unknown[]]
  : S extends { items: infer I } ? FromNode<I, R>[]
  : unknown[];
type FromRest<I, R> = I extends false ? [] : FromNode<I, R>[];
type FromTuple<P extends readonly unknown[], S, R> = S extends { minItems: P["length"] }
  ? { -readonly [K in keyof P]: FromNode<P[K], R> }
  : { -readonly [K in keyof P]?: FromNode<P[K], R> };

type FromAny<S, R> =
  (S extends { anyOf: readonly (infer B)[] } ? FromEach<B, R> : unknown)
  & (S extends { oneOf: readonly (infer B)[] } ? FromEach<B, R> : unknown);
type FromEach<B, R> = [B] extends [never] ? unknown : B extends unknown ? FromNode<B, R> : never;

type FromAll<S, R> = S extends { allOf: infer B } ? FromList<B, R> : unknown;
type FromList<B, R> = B extends readonly [infer First, ...infer Rest]
  ? FromNode<First, R> & FromList<Rest, R> : unknown;

// Only what a pointer into the schema itself can name; the rest is `unknown`.
type FromRef<S, R> =
  S extends { $ref: "#" } ? FromNode<R, R>
  : S extends { $ref: `#/$defs/${infer N}` } ? FromNamed<R, "$defs", N>
  : S extends { $ref: `#/definitions/${infer N}` } ? FromNamed<R, "definitions", N>
  : unknown;
type FromNamed<R, D extends string, N extends string> =
  R extends { [K in D]: { [K in N]: infer T } } ? FromNode<T, R> : unknown;
// #endregion

// #region 16. Results
// uses messages · spec server/tools#tool-result
//
// What a tool gives back is a list of blocks for a model to read: text,
// pictures, sound, links, whole resources. Structured content is for programs.
// A failure that a model could mend is a result too, marked isError; it is no
// protocol error.
//
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[
//     {"type":"text","text":"Division by zero"}],"isError":true,"_meta":{..}}}

export interface Icon { src: string; mimeType?: string; sizes?: string[]; theme?: "light" | "dark" }
export interface Implementation {
  title?: string;
  description?: string;
  websiteUrl?: string;
  icons?: Icon[];
}
export interface Annotations {
  audience?: ("user" | "assistant")[];
  priority?: number; // 0 to 1
  lastModified?: string; // ISO 8601
}
interface Annotated { annotations?: Annotations; _meta?: { [key: string]: unknown } }
export interface TextContent extends Annotated { type: "text"; text: string }
/** `data` is Base64. */
export interface ImageContent extends Annotated { type: "image"; data: string; mimeType: string }
export interface AudioContent extends Annotated { type: "audio"; data: string; mimeType: string }
export interface Resource extends Annotated {
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  size?: number; // bytes
  icons?: Icon[];
}
export interface ResourceLink extends Resource { type: "resource_link" }
export interface ResourceContents {
  uri: string;
  mimeType?: string;
  _meta?: { [key: string]: unknown };
}
export interface TextResourceContents extends ResourceContents { text: string }
/** `blob` is Base64. */
export interface BlobResourceContents extends ResourceContents { blob: string }
export interface EmbeddedResource extends Annotated {
  type: "resource";
  resource: TextResourceContents | BlobResourceContents;
}
export type ContentBlock =
  TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource;

export interface CallToolResult extends Result {
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** A result of any blocks. */
export const blocks = (...content: ContentBlock[]): CallToolResult =>
  ({ resultType: "complete", content });
/** A result of one text. */
export const text = (text: string): CallToolResult => blocks({ type: "text", text });
/** A failure that the model gets to read. */
export const toolError = (message: string): CallToolResult => ({ ...text(message), isError: true });
/** A value for programs. SHOULD: and its JSON as text (spec server/tools#structured-content) */
export const structured = (value: unknown): CallToolResult =>
  ({ ...text(JSON.stringify(value)), structuredContent: value });
/** Bytes as Base64, for `data` and `blob`. */
export function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
/** JSON with the members of each object in order: one text for one value. */
export const canonicalJSON = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => isObject(inner)
    ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1)) : inner);
// #endregion

// #region 17. Lists
// uses messages errors-and-parsing · spec server/utilities/pagination
//
// Tools, prompts and resources come in lists, page by page. A cursor names the
// last entry that was given, so the next page goes on after it even when the
// list has changed meanwhile, and the server remembers nothing. With each page
// goes how long it may be kept, and for whom.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{
//     "cursor":"ImFkZCI=","_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{..}],
//     "ttlMs":300000,"cacheScope":"public","_meta":{..}}}

export type Awaitable<T> = T | Promise<T>;
/** What a server offers: always the same, or made anew for each request. */
export type Listing<T> = readonly T[] | (() => Awaitable<readonly T[]>);
export const entriesOf = <T>(listing: Listing<T>): Awaitable<readonly T[]> =>
  typeof listing === "function" ? listing() : listing;

export interface CacheableResult extends Result {
  ttlMs: number; // how long it may be kept, milliseconds
  cacheScope: "public" | "private"; // public: the same for everybody
}
export interface PaginatedResult extends Result { nextCursor?: string }
export interface ListOptions {
  /** Entries of one page; 1,000. */
  pageSize?: number;
  /** 300,000. */
  ttlMs?: number;
  /** public. */
  cacheScope?: CacheableResult["cacheScope"];
}
interface Listed { name: string; uri?: string; uriTemplate?: string }
const identityOf = ({ name, uri, uriTemplate }: Listed) => uriTemplate ?? uri ?? name;
// btoa() takes Latin-1 alone, and JSON can write all else in it.
const cursorOf = (entry: Listed) => btoa(JSON.stringify(identityOf(entry)).replace(/[^ -~]/g,
  (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`));

/** Where a cursor goes on. Throws ProtocolError for one that was never given. */
function positionOf(cursor: unknown, entries: readonly Listed[]): number {
  if (cursor === undefined || cursor === null) return 0;
  try {
    const identity: unknown = JSON.parse(atob(String(cursor)));
    const at = entries.findIndex((entry) => identityOf(entry) === identity);
    if (typeof cursor === "string" && at !== -1) return at + 1;
  } catch {
    // no text of ours
  }
  // SHOULD: -32602 for a wrong cursor (spec server/utilities/pagination#error-handling)
  throw new ProtocolError(INVALID_PARAMS, "Invalid cursor");
}
/** Throws a RangeError for a number that is not whole, or below the least. */
export function wholeNumber(what: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`${what} must be a whole number from ${least}, not ${value}`);
}
/** Gives pages of a list, under a key: (entries, params) -> result. Throws a RangeError. */
export function pagesOf(key: string, options: ListOptions = {}):
  (entries: readonly Listed[], params: Params) => Params {
  const { cacheScope = "public" } = options;
  const pageSize = wholeNumber("pageSize", options.pageSize ?? 1000, 1);
  // MUST: 0 or more (spec server/utilities/caching#time-to-live-ttl-field)
  const ttlMs = wholeNumber("ttlMs", options.ttlMs ?? 300_000, 0);
  return (entries, { cursor }) => {
    const from = positionOf(cursor, entries);
    const page = entries.slice(from, from + pageSize);
    const last = page.at(-1);
    const more = last !== undefined && from + pageSize < entries.length;
    return { [key]: page, ...(more && { nextCursor: cursorOf(last) }), ttlMs, cacheScope };
  };
}
// #endregion

// #region 18. Tools
// uses messages errors-and-parsing versions-and-meta handlers a-first-call mirrored-headers
//   types-from-schemas results lists · spec server/tools
//
// A tool is a function that a model may call: a name, a description, a schema
// for its arguments, and a handler. The schema is checked before the handler
// runs and gives the handler its types. What the caller got wrong in shape is a
// protocol error; what the model got wrong in its arguments is a result that it
// can read.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",
//     "arguments":{"a":1,"b":"2"},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[
//     {"type":"text","text":"Invalid arguments for add: /b: expected number,
//      got string \"2\""}],"isError":true,"_meta":{..}}}

/** Hints about a tool, as true as the server that gives them. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}
export interface Tool {
  name: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  inputSchema: { $schema?: string; type: "object"; [key: string]: unknown };
  outputSchema?: { $schema?: string; [key: string]: unknown };
  annotations?: ToolAnnotations;
  _meta?: { [key: string]: unknown };
}
export interface ListToolsResult extends PaginatedResult, CacheableResult { tools: Tool[] }
export interface CallToolRequestParams extends RequestParams {
  name: string;
  arguments?: { [key: string]: unknown };
}
export interface ServerCapabilities { tools?: { listChanged?: boolean } }
export interface Methods {
  "tools/list": { params: RequestParams & { cursor?: string }; result: ListToolsResult };
  "tools/call": { params: CallToolRequestParams; result: CallToolResult };
}

/** The arguments of a handler; where the schema tells nothing, each is unknown. */
export type ArgumentsOf<S> = unknown extends FromSchema<S> ? Params : FromSchema<S>;
/** A tool and what it does. Without inputSchema it takes no arguments. */
export interface ToolDefinition<S = Tool["inputSchema"]> extends Omit<Tool, "inputSchema"> {
  inputSchema?: S;
  /** Throws an Error to fail the call, a ProtocolError to refuse it. */
  handler(args: ArgumentsOf<S>, context: Context):
    Awaitable<CallToolResult | Record<string, unknown>>;
}
/** Gives a tool that stands alone the argument types of its schema. */
export const tool = <const S extends Tool["inputSchema"]>(definition: ToolDefinition<S>):
  ToolDefinition => definition as unknown as ToolDefinition; // arguments are checked before use

export interface ToolsOptions {
  compile: CompileSchema;
  /** Tools that this caller may see; a hidden tool is an unknown tool. */
  visible?: (tool: Tool, context: Context) => boolean;
  /** Hide what thrown errors say, and answer "The tool failed". */
  maskErrors?: boolean;
  report?: (error: unknown) => void;
  list?: ListOptions;
}

export interface Lane {
  /** Hears that a result refuses the arguments of a tool. */
  invalid?(why: string): void;
}
/** A tool made ready for calls; its schemas are compiled when they are first needed. */
function prepare({ handler, inputSchema, ...rest }: ToolDefinition, compile: CompileSchema) {
  // MUST: inputSchema is an object, even where there are no arguments (spec server/tools#tool)
  const schema: Tool["inputSchema"] = inputSchema ??
    { type: "object", properties: {}, additionalProperties: false };
  if (!isObject(schema) || schema.type !== "object") {
    throw new TypeError(`the inputSchema of ${rest.name} must be an object of type "object"`);
  }
  const wire: Tool = { ...rest, inputSchema: schema };
  const lazily = (schema: unknown) => {
    let check: ReturnType<CompileSchema> | undefined;
    return (value: unknown) => {
      try {
        check ??= compile(schema);
      } catch (error) {
        const why = `The schema of ${wire.name} is unusable: ${(error as Error).message}`;
        throw new ProtocolError(INTERNAL_ERROR, why);
      }
      const issues = check(value);
      return issues?.map(({ path, message }) => `${path && `${path}: `}${message}`).join("; ");
    };
  };
  return { wire, handler, annotated: paramHeaders(schema), inputFault: lazily(schema),
    outputFault: wire.outputSchema === undefined ? undefined : lazily(wire.outputSchema) };
}
type Prepared = ReturnType<typeof prepare>;

/** What came of a handler, or the reason why it cannot be sent. */
function checkedResult(tool: Prepared, result: Record<string, unknown>): Record<string, unknown> {
  const { name } = tool.wire;
  const complete = isObject(result) && (result.resultType ?? "complete") === "complete";
  if (!isObject(result) || complete && !Array.isArray(result.content)) {
    const why = `The tool ${name} gave back no content: it should return text(..), for one`;
    throw new ProtocolError(INTERNAL_ERROR, why);
  }
  if (!complete || result.isError === true || tool.outputFault === undefined) return result;
  // MUST: structured results conform to outputSchema (spec server/tools#output-schema)
  // Checked as it will be sent: NaN becomes null on the way, a Date a string.
  const sent = JSON.stringify(result.structuredContent);
  const structuredContent: unknown = sent === undefined ? undefined : JSON.parse(sent);
  const fault = sent === undefined ? "structuredContent is missing"
    : tool.outputFault(structuredContent);
  if (fault === undefined) return { ...result, structuredContent };
  throw new ProtocolError(INTERNAL_ERROR, `The tool ${name} broke its outputSchema: ${fault}`);
}

type Definitions = readonly ToolDefinition[] | (() => readonly ToolDefinition[]);
/** The tools by name, made ready once for each definition. */
function toolRegistry(definitions: Definitions, { compile, report = () => {} }: ToolsOptions) {
  const known = new WeakMap<ToolDefinition, Prepared>();
  const ready = (definition: ToolDefinition): Prepared => {
    const before = known.get(definition);
    if (before !== undefined) return before;
    const { name } = definition;
    // SHOULD: 1 to 128 of these characters (spec server/tools#tool-names)
    const why = `tool name ${JSON.stringify(name)}: use 1-128 of A-Z a-z 0-9 _ - .`;
    if (!/^[\w.-]{1,128}$/.test(name)) report(new TypeError(why));
    const prepared = prepare(definition, compile);
    known.set(definition, prepared);
    return prepared;
  };
  const index = (all: readonly ToolDefinition[]): Map<string, Prepared> => {
    const registry = new Map(all.map((definition) => [definition.name, ready(definition)]));
    if (registry.size === all.length) return registry;
    const twice = all.find(({ name }, at) => all.findIndex((one) => one.name === name) !== at);
    throw new TypeError(`two tools are called ${twice?.name}`);
  };
  if (typeof definitions === "function") return () => index(definitions());
  const fixed = index(definitions);
  return () => fixed;
}

/** Offers tools, or those that a function gives. Throws a TypeError when two have one name. */
export function tools(definitions: Definitions, options: ToolsOptions): Feature {
  const { visible = () => true, report = () => {} } = options;
  const registry = toolRegistry(definitions, options);
  // What one caller sees is nobody else's.
  const pages = pagesOf("tools", options.visible === undefined ? options.list
    : { ...options.list, ttlMs: 0, cacheScope: "private" });
  const listed: Handler = (params, context) => {
    const all = [...registry().values()].map(({ wire }) => wire);
    return pages(all.filter((wire) => visible(wire, context)), params);
  };

  const failed = (error: unknown, { lane }: Context): Record<string, unknown> => {
    if (error instanceof ProtocolError) throw error;
    if (!lane.signal.aborted) report(error); // else it is how a handler stops
    const told = error instanceof Error && !options.maskErrors;
    return toolError(told ? error.message : "The tool failed");
  };
  const called: Handler = (params, context) => {
    const { name, arguments: given } = params;
    const args = given ?? {};
    const tool = typeof name === "string" ? registry().get(name) : undefined;
    if (typeof name !== "string" || !isObject(args)) {
      const why = "tools/call takes a name (string) and arguments (object)";
      throw new ProtocolError(INVALID_PARAMS, why);
    }
    if (tool === undefined || !visible(tool.wire, context)) {
      throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
    }
    const { header } = context.lane;
    const mismatch = header && paramFault(args, tool.annotated, header);
    if (mismatch !== undefined) throw mismatch;
    const fault = tool.inputFault(args);
    if (fault !== undefined) {
      const why = `Invalid arguments for ${name}: ${fault}`;
      context.lane.invalid?.(why);
      return toolError(why);
    }
    try {
      const given = tool.handler(args, context);
      return !(given instanceof Promise) ? checkedResult(tool, given)
        : given.catch((error: unknown) => failed(error, context))
          .then((result) => checkedResult(tool, result));
    } catch (error) {
      return failed(error, context);
    }
  };
  return { capabilities: { tools: {} }, methods: { "tools/list": listed, "tools/call": called } };
}
// #endregion

// #region 19. Completion
// uses messages errors-and-parsing versions-and-meta handlers a-first-call lists
//   · spec server/utilities/completion
//
// While somebody types an argument of a prompt, or a variable of a resource
// template, a client may ask what it could become. The answer can depend on
// what was filled in before.
//
//   → {"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{
//     "ref":{"type":"ref/prompt","name":"review"},
//     "argument":{"name":"language","value":"ru"},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","completion":{
//     "values":["rust"],"total":1,"hasMore":false},"_meta":{..}}}

export interface PromptReference { type: "ref/prompt"; name: string; title?: string }
export interface ResourceTemplateReference { type: "ref/resource"; uri: string }
export interface CompleteRequestParams extends RequestParams {
  ref: PromptReference | ResourceTemplateReference;
  argument: { name: string; value: string };
  context?: { arguments?: { [key: string]: string } };
}
export interface CompleteResult extends Result {
  completion: { values: string[]; total?: number; hasMore?: boolean };
}
export interface ServerCapabilities { completions?: JSONObject }
export interface Methods {
  "completion/complete": { params: CompleteRequestParams; result: CompleteResult };
}

/** All that could be meant, of which those are chosen that fit; or a function that chooses. */
export type Completer = readonly string[] |
  ((value: string, given: Record<string, string>, context: Context) =>
    Awaitable<readonly string[]>);
/** Of a prompt or a template: argument or variable -> what it could become. */
export interface Completable { complete?: Record<string, Completer> }
export interface CompletionsOptions {
  prompts?: Listing<Completable & { name: string; arguments?: { name: string }[] }>;
  templates?: readonly (Completable & { uriTemplate: string })[];
}

export const isStrings = (value: unknown): value is Record<string, string> =>
  isObject(value) && Object.values(value).every((one) => typeof one === "string");

/** Those that start with what was typed, then those that hold it. */
function fitting(candidates: readonly string[], typed: string): readonly string[] {
  const wanted = typed.toLowerCase();
  const place = (text: string) => text.toLowerCase().indexOf(wanted);
  const fit = candidates.filter((text) => place(text) !== -1);
  return [...fit.filter((text) => place(text) === 0), ...fit.filter((text) => place(text) > 0)];
}

/** Answers completion/complete from what prompts and templates say of their arguments. */
export function completions({ prompts = [], templates = [] }: CompletionsOptions): Feature {
  const refuse = (why: string) => new ProtocolError(INVALID_PARAMS, why);
  const complete: Handler = async ({ ref, argument, context: before = {} }, context) => {
    const { name, value } = isObject(argument) ? argument : {};
    const given = isObject(before) ? before.arguments ?? {} : before;
    if (!isObject(ref) || typeof name !== "string" || typeof value !== "string" ||
      !isStrings(given)) {
      throw refuse("completion/complete takes ref, argument {name, value}, context of strings");
    }
    const prompt = ref.type !== "ref/prompt" ? undefined
      : (await entriesOf(prompts)).find((one) => one.name === ref.name);
    const found: Completable | undefined = prompt ?? (ref.type !== "ref/resource" ? undefined
      : templates.find(({ uriTemplate }) => uriTemplate === ref.uri));
    // SHOULD: -32602 for an unknown prompt (spec server/utilities/completion#error-handling)
    if (found === undefined) throw refuse(`Nothing to complete: ${JSON.stringify(ref)}`);
    if (prompt !== undefined && !prompt.arguments?.some((one) => one.name === name)) {
      throw refuse(`The prompt ${prompt.name} has no argument ${name}`);
    }
    const all = found.complete ?? {};
    const completer = Object.hasOwn(all, name) ? all[name] ?? [] : [];
    const values = typeof completer === "function" ? await completer(value, given, context)
      : fitting(completer, value);
    const total = values.length;
    // MUST: at most 100 values (spec server/utilities/completion#completion-results)
    return { completion: { values: values.slice(0, 100), total, hasMore: total > 100 } };
  };
  return { capabilities: { completions: {} }, methods: { "completion/complete": complete } };
}
// #endregion

// #region 20. URI templates
// uses nothing · RFC 6570
//
// One template stands for many resources: `note:{id}` for note:1 and note:2. A
// client expands it; a server does the reverse and finds the variables in a URI
// that it was given. Each part of a URI reaches to the next that is certain, so
// matching never tries twice and a hostile URI costs no more than its length.
//
//   uriTemplate("note:{id}{?part}").match("note:a%20b?part=2")
//     -> { id: "a b", part: "2" }

/** What a variable may hold: a text, several, or names with texts. */
export type UriValue = string | number | readonly string[] | Readonly<Record<string, string>>;
export interface UriTemplate {
  readonly variables: readonly string[];
  expand(values: Readonly<Record<string, UriValue | undefined>>): string;
  /** The variables of a URI, decoded; undefined when it does not fit. */
  match(uri: string): Record<string, string | string[]> | undefined;
}
interface Variable { name: string; explode: boolean; prefix: number | undefined }
interface Expression { first: string; sep: string; named: boolean; free: boolean; vars: Variable[] }

// operator -> what it begins with, what it separates with (RFC 6570 appendix A)
const OPERATORS: Readonly<Record<string, readonly [first: string, sep: string]>> = {
  "": ["", ","], "+": ["", ","], "#": ["#", ","], ".": [".", "."], "/": ["/", "/"],
  ";": [";", ";"], "?": ["?", "&"], "&": ["&", "&"],
};
const VARIABLE =
  /^((?:\w|%[\da-f]{2})(?:\.?(?:\w|%[\da-f]{2}))*)(?:(\*)|:([1-9]\d{0,3}))?$/i;
function readExpression(text: string): Expression {
  const [, operator = "", list = ""] = /^([+#./;?&]?)(.+)$/.exec(text) ?? [];
  const vars = list.split(",").map((spec): Variable => {
    const [, name, star, prefix] = VARIABLE.exec(spec) ?? [];
    if (name === undefined) throw new TypeError(`"{${text}}" is no expression of a URI template`);
    return { name, explode: star !== undefined, prefix: prefix ? Number(prefix) : undefined };
  });
  const [first, sep] = OPERATORS[operator] ?? ["", ","];
  return { first, sep, named: /[;?&]/.test(operator), free: /[+#]/.test(operator), vars };
}

/** Percent-encodes what may not stand in a URI, and unless free also what means something in it. */
function percent(text: string, free: boolean): string {
  const unfit = free ? /%(?![\dA-Fa-f]{2})|[^\w.~:/?#[\]@!$&'()*+,;=%-]/gu : /[^\w.~-]/gu;
  return text.replace(unfit, (char) => Array.from(new TextEncoder().encode(char), (byte) =>
    `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""));
}
function expandVariable({ name, explode, prefix }: Variable, value: UriValue,
  { sep, named, free }: Expression): string | undefined {
  const encode = (text: string) => percent(text, free);
  const label = (text: string, name: string) =>
    named ? text === "" && sep === ";" ? name : `${name}=${text}` : text;
  if (typeof value !== "object") {
    return label(encode([...String(value)].slice(0, prefix).join("")), name);
  }
  if (prefix !== undefined) throw new TypeError(`{${name}:${prefix}} takes a text, no list`);
  if (Object.keys(value).length === 0) return undefined;
  if (!Array.isArray(value)) {
    const pairs = Object.entries(value).map((pair) => pair.map(encode));
    return explode ? pairs.map((pair) => pair.join("=")).join(sep) : label(pairs.join(","), name);
  }
  const texts = value.map((text) => encode(String(text)));
  return explode ? texts.map((text) => label(text, name)).join(sep) : label(texts.join(","), name);
}
function expandExpression(expression: Expression,
  values: Readonly<Record<string, UriValue | undefined>>): string {
  const parts = expression.vars.map((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    return value === undefined ? undefined : expandVariable(variable, value, expression);
  }).filter((part) => part !== undefined);
  return parts.length === 0 ? "" : expression.first + parts.join(expression.sep);
}

/** Reads what stands where an expression was, into `found`; false when it does not fit. */
function readBack(text: string, { first, sep, named, free, vars }: Expression,
  found: Map<string, string | string[]>): boolean {
  if (text === "") return first !== "";
  if (!text.startsWith(first) || !free && !named && /[?#]/.test(text)) return false;
  const body = text.slice(first.length);
  const [only] = vars;
  if (!named && only !== undefined && vars.length === 1 && !only.explode) {
    const whole = free || sep === "," || !body.includes(sep);
    if (found.has(only.name)) return found.get(only.name) === body; // one variable, one value
    if (whole && (free || sep === "/" || !body.includes("/"))) found.set(only.name, body);
    return found.has(only.name);
  }
  const pieces = body.split(sep);
  if (!named && !vars.at(-1)?.explode && pieces.length > vars.length) return false;
  return pieces.every((piece, at) => {
    const [key = "", value = ""] = named ? piece.split(/=(.*)/s) : ["", piece];
    const variable = named ? vars.find(({ name }) => name === key) : vars[at] ?? vars.at(-1);
    const solid = free || named || sep === "/" || !piece.includes("/");
    if (variable === undefined || !solid) return false;
    const before = found.get(variable.name);
    if (Array.isArray(before)) before.push(value);
    else found.set(variable.name, variable.explode ? [value] : value);
    return before === undefined || variable.explode;
  });
}

/** Reads a template. Throws a TypeError for one that could not be matched. */
export function uriTemplate(template: string): UriTemplate {
  const parts = template.split(/\{([^{}]*)\}/).map((part, at) =>
    at % 2 === 1 ? readExpression(part) : percent(part, true)).filter((part) => part !== "");
  parts.forEach((part, at) => {
    const next = parts[at + 1];
    const unclear = typeof part !== "string" && typeof next === "object" && next.first === "";
    if (unclear || typeof part === "string" && /%7[BD]/.test(part)) { // a brace alone
      throw new TypeError(`the URI template ${template} cannot be taken apart again`);
    }
  });
  /** Where an expression ends: at the next part that is there, or with the URI. */
  const endOf = (uri: string, from: number, at: number): number => {
    let end = uri.length;
    for (const [further, part] of parts.slice(at + 1).entries()) {
      const last = at + 2 + further === parts.length;
      const sign = typeof part === "string" ? part : part.first;
      const place = typeof part === "string" && last ? uri.length - part.length
        : uri.indexOf(sign, from);
      if (place >= from) end = Math.min(end, place);
      if (typeof part === "string") return place >= from ? end : -1;
    }
    return end;
  };
  const match: UriTemplate["match"] = (uri) => {
    const found = new Map<string, string | string[]>();
    let from = 0;
    for (const [at, part] of parts.entries()) {
      const end = typeof part === "string" ? from + part.length : endOf(uri, from, at);
      const text = uri.slice(from, end);
      if (end < from || !(typeof part === "string" ? text === part : readBack(text, part, found))) {
        return undefined;
      }
      from = end;
    }
    try {
      const decode = (value: string | string[]) =>
        Array.isArray(value) ? value.map(decodeURIComponent) : decodeURIComponent(value);
      return from < uri.length ? undefined
        : Object.fromEntries([...found].map(([name, value]) => [name, decode(value)]));
    } catch {
      return undefined; // a percent sign that encodes nothing
    }
  };
  return {
    match,
    variables: parts.flatMap((part) =>
      typeof part === "string" ? [] : part.vars.map(({ name }) => name)),
    expand: (values) => parts.map((part) =>
      typeof part === "string" ? part : expandExpression(part, values)).join(""),
  };
}
// #endregion

// #region 21. Resources
// uses messages errors-and-parsing versions-and-meta handlers a-first-call results lists
//   completion uri-templates · spec server/resources
//
// A resource is something to read, under a URI that the server makes up: a
// file, a record, a page. The URI is a name and nothing more: it is looked up
// as it was written, never parsed or put in another form, so no two ways lead
// to one thing. What is not listed may still fit a template.
//
//   → {"jsonrpc":"2.0","id":1,"method":"resources/read","params":{
//     "uri":"note:absent","_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"..","data":
//     {"uri":"note:absent"}}}

export interface ResourceTemplate extends Annotated {
  uriTemplate: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
  icons?: Icon[];
}
export interface ListResourcesResult extends PaginatedResult, CacheableResult {
  resources: Resource[];
}
export interface ListResourceTemplatesResult extends PaginatedResult, CacheableResult {
  resourceTemplates: ResourceTemplate[];
}
export interface ReadResourceResult extends CacheableResult {
  contents: (TextResourceContents | BlobResourceContents)[];
}
export interface ReadResourceRequestParams extends RequestParams { uri: string }
export interface ServerCapabilities { resources?: { subscribe?: boolean; listChanged?: boolean } }
export interface Methods {
  "resources/list": { params: RequestParams & { cursor?: string }; result: ListResourcesResult };
  "resources/templates/list":
    { params: RequestParams & { cursor?: string }; result: ListResourceTemplatesResult };
  "resources/read": { params: ReadResourceRequestParams; result: ReadResourceResult };
}

/** What reading gives: text, bytes, or a result with `contents`. */
export type Body = string | Uint8Array | Params;
/** A resource and how to read it. */
export interface ResourceDefinition extends Resource {
  /** Gives undefined when it has gone. */
  read(context: Context, uri: string): Awaitable<Body | undefined>;
}
/** Resources that share a template. Where there is none, read gives undefined. */
export interface TemplateDefinition extends ResourceTemplate, Completable {
  read(variables: Record<string, string | string[]>, context: Context, uri: string):
    Awaitable<Body | undefined>;
}
export interface ResourcesOptions {
  templates?: readonly TemplateDefinition[];
  /** Milliseconds that a client may keep what it read; 0. */
  ttlMs?: number;
  /** For whom it may keep it; private. */
  cacheScope?: CacheableResult["cacheScope"];
  list?: ListOptions;
}

/** Offers resources. Throws a TypeError when two have one URI. */
export function resources(definitions: Listing<ResourceDefinition>,
  options: ResourcesOptions = {}): Feature {
  const { templates = [], ttlMs = 0, cacheScope = "private", list } = options;
  const patterns = templates.map((template) =>
    ({ template, pattern: uriTemplate(template.uriTemplate) }));
  if (new Set(templates.map((template) => template.uriTemplate)).size < templates.length) {
    throw new TypeError("two templates are the same");
  }
  wholeNumber("ttlMs", ttlMs, 0);
  const [pages, templatePages] = [pagesOf("resources", list), pagesOf("resourceTemplates", list)];
  const index = (all: readonly ResourceDefinition[]) => {
    const byURI = new Map(all.map((definition) => [definition.uri, definition]));
    if (byURI.size < all.length) throw new TypeError("two resources have one URI");
    return byURI;
  };
  const fixed = typeof definitions === "function" ? undefined : index(definitions);
  const current = async () => fixed ?? index(await entriesOf(definitions));

  /** What a URI names: what is listed comes first, then the templates in their order. */
  const find = async (uri: string, context: Context) => {
    const listed = (await current()).get(uri);
    if (listed !== undefined) return { source: listed, body: await listed.read(context, uri) };
    for (const { template, pattern } of patterns) {
      const variables = pattern.match(uri);
      const body = variables && await template.read(variables, context, uri);
      if (body !== undefined) return { source: template, body };
    }
    return undefined;
  };
  const read: Handler = async ({ uri }, context) => {
    const found = typeof uri === "string" ? await find(uri, context) : undefined;
    // MUST: -32602 when there is none (spec server/resources#error-handling)
    if (found?.body === undefined) {
      throw new ProtocolError(INVALID_PARAMS, "Resource not found", { uri });
    }
    const { source: { mimeType }, body } = found;
    if (typeof body !== "string" && !(body instanceof Uint8Array)) {
      if (isObject(body) && (body.resultType ?? "complete") !== "complete") return body;
      if (isObject(body) && Array.isArray(body.contents)) return { ttlMs, cacheScope, ...body };
      throw new TypeError(`Reading ${uri} gave no text, no bytes and no contents`);
    }
    const content = typeof body === "string" ? { text: body } : { blob: base64(body) };
    const kind = mimeType === undefined ? {} : { mimeType };
    return { contents: [{ uri, ...kind, ...content }], ttlMs, cacheScope };
  };
  return { capabilities: { resources: {} }, methods: {
    "resources/read": read,
    "resources/list": async (params) =>
      pages([...(await current()).values()].map(({ read, ...wire }) => wire), params),
    "resources/templates/list": (params) =>
      templatePages(templates.map(({ read, complete, ...wire }) => wire), params),
  } };
}
// #endregion

// #region 22. Prompts
// uses messages errors-and-parsing versions-and-meta handlers a-first-call results lists
//   completion · spec server/prompts
//
// A prompt is a text that a person picks from a menu: a template with a few
// arguments, which becomes messages for a model. All arguments are strings.
//
//   → {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"review",
//     "arguments":{"language":"rust"},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","messages":[{
//     "role":"user","content":{"type":"text","text":"Review this rust code"}}],
//     "_meta":{..}}}

export interface PromptArgument {
  name: string;
  title?: string;
  description?: string;
  required?: boolean;
}
export interface Prompt {
  name: string;
  title?: string;
  description?: string;
  icons?: Icon[];
  arguments?: PromptArgument[];
  _meta?: { [key: string]: unknown };
}
export interface PromptMessage { role: "user" | "assistant"; content: ContentBlock }
export interface ListPromptsResult extends PaginatedResult, CacheableResult { prompts: Prompt[] }
export interface GetPromptRequestParams extends RequestParams {
  name: string;
  arguments?: { [key: string]: string };
}
export interface GetPromptResult extends Result {
  description?: string;
  messages: PromptMessage[];
}
export interface ServerCapabilities { prompts?: { listChanged?: boolean } }
export interface Methods {
  "prompts/list": { params: RequestParams & { cursor?: string }; result: ListPromptsResult };
  "prompts/get": { params: GetPromptRequestParams; result: GetPromptResult };
}
/** A prompt and what it becomes: the text of one user message, messages, or a whole result. */
export interface PromptDefinition extends Prompt, Completable {
  get(args: Record<string, string>, context: Context): Awaitable<string | PromptMessage[] | Params>;
}

/** Offers prompts. Throws a TypeError when two have one name. */
export function prompts(definitions: Listing<PromptDefinition>,
  { list }: { list?: ListOptions } = {}): Feature {
  const refuse = (why: string) => new ProtocolError(INVALID_PARAMS, why);
  const unique = (all: readonly PromptDefinition[]) => {
    const twice = all.find(({ name }, at) => all.findIndex((one) => one.name === name) !== at);
    if (twice === undefined) return all;
    throw new TypeError(`two prompts are called ${twice.name}`);
  };
  if (typeof definitions !== "function") unique(definitions);
  const current = async () => unique(await entriesOf(definitions));
  const get: Handler = async ({ name, arguments: args = {} }, context) => {
    const prompt = (await current()).find((one) => one.name === name);
    // SHOULD: -32602 for these three (spec server/prompts#error-handling)
    if (prompt === undefined) throw refuse(`Unknown prompt: ${JSON.stringify(name)}`);
    if (!isStrings(args)) throw refuse(`The arguments of ${prompt.name} must be strings`);
    const missing = prompt.arguments?.find((one) =>
      one.required === true && !Object.hasOwn(args, one.name));
    if (missing !== undefined) throw refuse(`${prompt.name} needs the argument ${missing.name}`);
    const given = await prompt.get(args, context);
    const partial = isObject(given) && (given.resultType ?? "complete") !== "complete";
    if (partial || isObject(given) && Array.isArray(given.messages)) return given;
    if (typeof given !== "string" && !Array.isArray(given)) {
      throw new TypeError(`The prompt ${prompt.name} gave back no text and no messages`);
    }
    return { ...(prompt.description !== undefined && { description: prompt.description }),
      messages: typeof given !== "string" ? given
        : [{ role: "user", content: { type: "text", text: given } }] };
  };
  const pages = pagesOf("prompts", list);
  return { capabilities: { prompts: {} }, methods: { "prompts/get": get,
    "prompts/list": async (params) =>
      pages((await current()).map(({ get, complete, ...wire }) => wire), params) } };
}
// #endregion

// #region 23. Progress, logging
// uses messages errors-and-parsing versions-and-meta handlers · spec basic/patterns/progress
//
// While a call runs, its handler can say how far it is, when the caller gave a
// token to say it under, and what it does, when the caller asked for a level of
// log. Both go ahead of the answer and stop with it. Logging is deprecated: on
// stdio stderr does the same.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count",
//     "arguments":{"to":1},"_meta":{"progressToken":"p1",
//     "io.modelcontextprotocol/logLevel":"info",
//     "io.modelcontextprotocol/protocolVersion":"2026-07-28",
//     "io.modelcontextprotocol/clientCapabilities":{}}}}
//   ← {"jsonrpc":"2.0","method":"notifications/progress","params":{
//     "progressToken":"p1","progress":1,"total":1}}
//   ← {"jsonrpc":"2.0","method":"notifications/message","params":{
//     "level":"info","data":"counted"}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[
//     {"type":"text","text":"done"}],"_meta":{..}}}

export const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
/** The levels of syslog, the least urgent first. @deprecated since 2026-07-28 */
export const LOGGING_LEVELS = ["debug", "info", "notice", "warning", "error", "critical",
  "alert", "emergency"] as const;
/** @deprecated since 2026-07-28 */
export type LoggingLevel = typeof LOGGING_LEVELS[number];
export interface ProgressNotificationParams {
  progressToken: string | number;
  progress: number;
  total?: number;
  message?: string;
  _meta?: { [key: string]: unknown };
}
/** @deprecated since 2026-07-28 */
export interface LoggingMessageNotificationParams {
  level: LoggingLevel;
  logger?: string;
  data: unknown;
  _meta?: { [key: string]: unknown };
}
export interface RequestMetaObject {
  progressToken?: string | number;
  "io.modelcontextprotocol/logLevel"?: LoggingLevel;
}
export interface ServerCapabilities { logging?: JSONObject }
type Telling<A extends unknown[]> = (...told: A) => void | Promise<void>;
export interface Context {
  /** How far the call is, when the caller wants to know; each value above the one before. */
  readonly progress: Telling<[progress: number, total?: number, message?: string]>;
  /** A line of log, when the caller asked for its level. @deprecated since 2026-07-28 */
  readonly log: Telling<[level: LoggingLevel, data: unknown, logger?: string]>;
}
const metaOf = ({ params }: JSONRPCNotification): Params =>
  isObject(params?._meta) ? params._meta : {};
/** A notification without the params that are undefined. */
const notice = (method: string, params: Params): JSONRPCNotification => ({ jsonrpc: "2.0", method,
  params: Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined)) });

/** Gives handlers context.progress. */
export function progress(): Feature {
  const reached = new WeakMap<Context, number>();
  const reporter = (context: Context): Context["progress"] => (progress, total, message) => {
    const { progressToken } = metaOf(context.request);
    // MUST: only under a token that was given (spec basic/patterns/progress#behavior-requirements)
    if (typeof progressToken !== "string" && !Number.isInteger(progressToken)) return undefined;
    // MUST: each value is above the last (spec basic/patterns/progress#progress-flow)
    const grows = Number.isFinite(progress) && progress > (reached.get(context) ?? -Infinity);
    if (!grows) return undefined;
    reached.set(context, progress);
    return context.lane.notify(notice("notifications/progress",
      { progressToken, progress, total: Number.isFinite(total) ? total : undefined, message }));
  };
  return { methods: {}, context: { get progress() {
    return reporter(this as Context); // made when a handler takes it, so it may be taken apart
  } } };
}
/** Gives handlers context.log. @deprecated since 2026-07-28 */
export function logging(): Feature {
  const urgency = (level: unknown) => LOGGING_LEVELS.indexOf(level as LoggingLevel); // -1: none
  const logger = (context: Context): Context["log"] => (level, data, logger) => {
    const least = metaOf(context.request)[LOG_LEVEL];
    // MUST: only when asked for (spec server/utilities/logging#per-request-log-level)
    if (least === undefined || urgency(level) < urgency(least)) return undefined;
    const said = data instanceof Error ? `${data.name}: ${data.message}` : data ?? null;
    return context.lane.notify(notice("notifications/message", { level, logger, data: said }));
  };
  const wrap = (next: Handler): Handler => (params, context) => {
    const level = metaOf(context.request)[LOG_LEVEL];
    // SHOULD: -32602 for an unknown level (spec server/utilities/logging#error-handling)
    if (level === undefined || urgency(level) !== -1) return next(params, context);
    const why = `${LOG_LEVEL} must be one of ${LOGGING_LEVELS.join(", ")}`;
    throw new ProtocolError(INVALID_PARAMS, why);
  };
  return { methods: {}, wrap, capabilities: { logging: {} }, context: { get log() {
    return logger(this as Context);
  } } };
}
// #endregion

// #region 24. Input requests
// uses messages versions-and-meta types-from-schemas results tools · spec client/elicitation
//
// Some answers only the client can give: the user fills in a form or visits a
// page (elicitation), the model writes something (sampling), the project has
// folders (roots). A server may ask for what the client said it can do, and for
// nothing else. Sampling and roots are deprecated and still spoken.
//
//   capabilityFor({ method: "roots/list" }) -> { roots: {} }

interface Field { title?: string; description?: string }
export interface StringSchema extends Field {
  type: "string";
  minLength?: number;
  maxLength?: number;
  format?: "email" | "uri" | "date" | "date-time";
  default?: string;
}
export interface NumberSchema extends Field {
  type: "number" | "integer";
  minimum?: number;
  maximum?: number;
  default?: number;
}
export interface BooleanSchema extends Field { type: "boolean"; default?: boolean }
interface Choice { const: string; title: string }
interface OneOfMany extends Field { type: "string"; default?: string }
interface SomeOfMany extends Field {
  type: "array";
  minItems?: number;
  maxItems?: number;
  default?: string[];
}
export interface UntitledSingleSelectEnumSchema extends OneOfMany { enum: string[] }
export interface TitledSingleSelectEnumSchema extends OneOfMany { oneOf: Choice[] }
/** @deprecated in favour of oneOf */
export interface LegacyTitledEnumSchema extends OneOfMany { enum: string[]; enumNames?: string[] }
export interface UntitledMultiSelectEnumSchema extends SomeOfMany {
  items: { type: "string"; enum: string[] };
}
export interface TitledMultiSelectEnumSchema extends SomeOfMany { items: { anyOf: Choice[] } }
export type EnumSchema = UntitledSingleSelectEnumSchema | TitledSingleSelectEnumSchema |
  UntitledMultiSelectEnumSchema | TitledMultiSelectEnumSchema | LegacyTitledEnumSchema;
export type PrimitiveSchemaDefinition = StringSchema | NumberSchema | BooleanSchema | EnumSchema;
export interface ElicitRequestFormParams {
  mode?: "form";
  message: string;
  requestedSchema: {
    $schema?: string;
    type: "object";
    properties: { [key: string]: PrimitiveSchemaDefinition };
    required?: string[];
  };
}
export interface ElicitRequestURLParams { mode: "url"; message: string; url: string }
export type ElicitRequestParams = ElicitRequestFormParams | ElicitRequestURLParams;
export interface ElicitRequest { method: "elicitation/create"; params: ElicitRequestParams }
export interface ElicitResult {
  action: "accept" | "decline" | "cancel";
  content?: { [key: string]: string | number | boolean | string[] };
}

export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: { [key: string]: unknown };
  _meta?: { [key: string]: unknown };
}
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: { [key: string]: unknown };
}
export type SamplingMessageContentBlock =
  TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;
export interface SamplingMessage {
  role: "user" | "assistant";
  content: SamplingMessageContentBlock | SamplingMessageContentBlock[];
  _meta?: { [key: string]: unknown };
}
export interface ModelHint { name?: string }
/** Priorities from 0 to 1. */
export interface ModelPreferences {
  hints?: ModelHint[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}
export interface ToolChoice { mode?: "auto" | "required" | "none" }
/** @deprecated since 2026-07-28 */
export interface CreateMessageRequestParams {
  messages: SamplingMessage[];
  maxTokens: number;
  modelPreferences?: ModelPreferences;
  systemPrompt?: string;
  includeContext?: "none" | "thisServer" | "allServers"; // all but "none" are deprecated
  temperature?: number;
  stopSequences?: string[];
  metadata?: JSONObject;
  tools?: Tool[];
  toolChoice?: ToolChoice;
}
/** @deprecated since 2026-07-28 */
export interface CreateMessageRequest {
  method: "sampling/createMessage";
  params: CreateMessageRequestParams;
}
export interface CreateMessageResult extends SamplingMessage { model: string; stopReason?: string }
/** `uri` begins with file:// */
export interface Root { uri: string; name?: string; _meta?: { [key: string]: unknown } }
/** @deprecated since 2026-07-28 */
export interface ListRootsRequest {
  method: "roots/list";
  params?: { _meta?: { [key: string]: unknown } };
}
export interface ListRootsResult { roots: Root[] }
export type InputRequest = CreateMessageRequest | ListRootsRequest | ElicitRequest;
export type InputResponse = CreateMessageResult | ListRootsResult | ElicitResult;
export interface ClientCapabilities {
  elicitation?: { form?: JSONObject; url?: JSONObject }; // {} means { form: {} }
  sampling?: { context?: JSONObject; tools?: JSONObject };
  roots?: object;
}

/** What a client must have declared to be asked this. */
export function capabilityFor({ method, params }: InputRequest): ClientCapabilities {
  if (method === "roots/list") return { roots: {} };
  if (method === "elicitation/create") return { elicitation:
    params.mode === "url" ? { url: {} } : { form: {} } };
  // MUST: tools only where they are declared (spec client/sampling#tools-in-sampling)
  const { tools, toolChoice, includeContext = "none" } = params;
  return { sampling: { ...((tools ?? toolChoice) !== undefined && { tools: {} }),
    ...(includeContext !== "none" && { context: {} }) } };
}
/** The part of what is needed that was not declared; undefined when nothing lacks. */
export function lacking(declared: unknown, needed: ClientCapabilities):
  ClientCapabilities | undefined {
  const missing = (have: unknown, need: object): object | undefined => {
    if (!isObject(have)) return need;
    const gaps = Object.entries(need).filter(([key, inner]) =>
      !isObject(inner) || missing(Object.hasOwn(have, key) ? have[key] : undefined, inner));
    return gaps.length === 0 ? undefined : Object.fromEntries(gaps);
  };
  const { elicitation, ...others } = isObject(declared) ? declared : {};
  const plain = isObject(elicitation) && Object.keys(elicitation).length === 0;
  return missing({ ...others, elicitation: plain ? { form: {} } : elicitation }, needed);
}

/** Whether each use of a tool is followed at once by its result, and by nothing else. */
function unbalanced(messages: readonly SamplingMessage[]): boolean {
  let open = new Set<string>(); // uses that wait for their results
  for (const { role, content } of messages) {
    const blocks = [content].flat();
    const results = blocks.filter((block) => block.type === "tool_result");
    // MUST: results stand alone (spec client/sampling#tool-result-messages)
    if (results.length > 0 && (role !== "user" || results.length < blocks.length)) return true;
    // MUST: each use has its result (spec client/sampling#tool-use-and-result-balance)
    const answered = new Set(results.map(({ toolUseId }) => toolUseId));
    if (answered.size !== open.size || [...open].some((id) => !answered.has(id))) return true;
    open = new Set(blocks.flatMap((block) => block.type === "tool_use" ? [block.id] : []));
  }
  return open.size > 0;
}
// block type -> the texts that it must have
const BLOCKS = new Map([["text", ["text"]], ["image", ["data", "mimeType"]],
  ["audio", ["data", "mimeType"]], ["tool_use", ["id", "name"]], ["tool_result", ["toolUseId"]]]);
const isMessage = (value: unknown): value is SamplingMessage => isObject(value) &&
  (value.role === "user" || value.role === "assistant") && value.content !== undefined &&
  [value.content].flat().every((block) => isObject(block) &&
    (BLOCKS.get(String(block.type)) ?? [""]).every((key) => typeof block[key] === "string"));
/** Whether a form can have such a field: a plain value, or some of several texts. */
function isField(field: unknown): boolean {
  if (!isObject(field)) return false;
  const { type, items } = field;
  const choices = !isObject(items) ? undefined
    : items.anyOf ?? (items.type === "string" ? items.enum : undefined);
  return type === "string" || type === "number" || type === "integer" || type === "boolean" ||
    type === "array" && Array.isArray(choices) && choices.length > 0;
}
/** What is wrong with a request for input, if anything. */
export function inputFault(request: unknown): string | undefined {
  if (!isObject(request)) return "it must be an object with a method";
  const params = isObject(request.params) ? request.params : {};
  if (request.method === "roots/list") return undefined;
  if (request.method === "sampling/createMessage") {
    const { messages } = params;
    const fine = Array.isArray(messages) && messages.every(isMessage);
    const whole = Number.isInteger(params.maxTokens);
    if (!fine || !whole) return "sampling needs messages and maxTokens";
    return unbalanced(messages) ? "each tool use needs its result, alone, in the next message"
      : undefined;
  }
  if (request.method !== "elicitation/create") return `${request.method} cannot be asked`;
  if (typeof params.message !== "string") return "elicitation needs a message";
  if (params.mode === "url") {
    // MUST: url is valid (spec client/elicitation#url-mode-elicitation-requests)
    const { url } = params; // what could mislead whoever reads it is no good either
    const fine = typeof url === "string" &&
      /^https?:\/\/[!-~\xa1-\u1fff\u3000-\uffff]+$/i.test(url);
    return fine && URL.canParse(url) ? undefined : "url must be an http or https URL";
  }
  if ((params.mode ?? "form") !== "form") return `mode ${JSON.stringify(params.mode)} is unknown`;
  const { requestedSchema: schema } = params;
  const flat = isObject(schema) && schema.type === "object" && isObject(schema.properties) &&
    Object.values(schema.properties).every(isField);
  return flat ? undefined : "requestedSchema must be an object of plain fields";
}
/** What is wrong with an answer, if anything. */
export function responseFault(request: InputRequest, answer: unknown, compile: CompileSchema):
  string | undefined {
  if (!isObject(answer)) return "it must be an object";
  if (request.method === "roots/list") {
    const fine = Array.isArray(answer.roots) && answer.roots.every((root) =>
      isObject(root) && typeof root.uri === "string" && root.uri.startsWith("file://"));
    return fine ? undefined : "roots must be a list of file:// URIs";
  }
  if (request.method === "sampling/createMessage") {
    const fine = typeof answer.model === "string" && isMessage(answer);
    return fine ? undefined : "role, content and model are needed";
  }
  const { action, content } = answer;
  if (action === "decline" || action === "cancel") return undefined;
  if (action !== "accept") return "action must be accept, decline or cancel";
  if (request.params.mode === "url") return undefined;
  // SHOULD: content matches the schema (spec client/elicitation#form-mode-security)
  const issues = compile(request.params.requestedSchema)(content === undefined ? {} : content);
  return issues?.map(({ path, message }) => `${path}: ${message}`).join("; ");
}
// #endregion

// #region 25. Round trips
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes types-from-schemas
//   results lists tools resources prompts input-requests
//   · spec basic/patterns/mrtr
//
// A handler asks with `await context.ask("who", request)`, as if the answer
// came on the spot. The server sends no request, though: its answer says what
// it needs, and the client calls again with that. The handler runs from the top
// each round, with more questions answered; `context.once` does a thing once.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet",
//     "_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required",
//     "inputRequests":{"who":{..}},"requestState":"..","_meta":{..}}}
//   → {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet",
//     "inputResponses":{"who":{"action":"decline"}},"requestState":"..",
//     "_meta":{..}}}
//
// All that outlives a round travels in requestState, sealed: a client cannot
// read it, change it, or use it for another request.

export const MISSING_REQUIRED_CLIENT_CAPABILITY = -32021;
export interface InputRequests { [key: string]: InputRequest }
export interface InputResponses { [key: string]: InputResponse }
export interface InputRequiredResult extends Result {
  inputRequests?: InputRequests;
  requestState?: string;
}
/** What a request carries when it is made again. */
export interface InputResponseRequestParams extends RequestParams {
  inputResponses?: InputResponses;
  requestState?: string;
}
export interface CallToolRequestParams extends InputResponseRequestParams {}
export interface GetPromptRequestParams extends InputResponseRequestParams {}
export interface ReadResourceRequestParams extends InputResponseRequestParams {}

interface Form { type: "object"; properties: object; required?: readonly string[] }
/** What comes back from a form: its fields, when the user agreed. */
export type Elicited<S> = { action: "accept"; content: FromSchema<S> } |
  { action: "decline" | "cancel"; content?: undefined };
export interface Ask {
  <const S extends Form>(key: string, request: { method: "elicitation/create"; params:
    { mode?: "form"; message: string; requestedSchema: S } }): Promise<Elicited<S>>;
  (key: string, request: ElicitRequest): Promise<ElicitResult>;
  (key: string, request: CreateMessageRequest): Promise<CreateMessageResult>;
  (key: string, request: ListRootsRequest): Promise<ListRootsResult>;
  (key: string, request: InputRequest): Promise<InputResponse>;
}
export interface Context {
  /** Asks the client; a key stands for one question. Throws -32021 for what it did not declare. */
  readonly ask: Ask;
  /** Does something in one round only; later rounds get its value, which must be JSON. */
  readonly once: <T>(key: string, work: () => Awaitable<T>) => Promise<T>;
  /** Whether the client has declared all this. */
  readonly can: (needed: ClientCapabilities) => boolean;
  /** Throws -32021 unless it has. */
  readonly requires: (needed: ClientCapabilities) => void;
  /** What the handler itself gave as requestState in the round before. */
  readonly requestState: string | undefined;
}
export interface Lane { readonly stateMs?: number } // that its requestState is good
export interface RoundTripsOptions {
  compile: CompileSchema;
  /** Secret of 32 characters or more, the same on all machines that share the work; random. */
  key?: string;
  /** Milliseconds that a client has to call again; 600,000. */
  ttlMs?: number;
  now?: () => number;
  /** Characters that requestState may have; 65,536. */
  maxState?: number;
}

/** Seals texts with AES-GCM; a seal is good for what it was bound to. */
function sealer(secret: string) {
  const bytes = (text: string) => new TextEncoder().encode(text);
  let key: Promise<CryptoKey> | undefined;
  const made = () => key ??= crypto.subtle.digest("SHA-256", bytes(secret)).then((raw) =>
    crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]));
  return {
    async seal(text: string, bound: string): Promise<string> {
      const iv = crypto.getRandomValues(new Uint8Array(12));
      const how = { name: "AES-GCM", iv, additionalData: bytes(bound) };
      const sealed = new Uint8Array(await crypto.subtle.encrypt(how, await made(), bytes(text)));
      return base64(joinBytes([iv, sealed]));
    },
    /** Throws when the seal is not ours, or not for this. */
    async open(sealed: string, bound: string): Promise<string> {
      const whole = Uint8Array.from(atob(sealed), (char) => char.charCodeAt(0));
      if (base64(whole) !== sealed) throw new TypeError("another text of the same bytes");
      const how = { name: "AES-GCM", iv: whole.subarray(0, 12), additionalData: bytes(bound) };
      return utf8.decode(await crypto.subtle.decrypt(how, await made(), whole.subarray(12)));
    },
  };
}

/** An answer, with the digest of the very question that it was given to. */
interface Answered { question: number; answer: unknown }
/** A number that is hardly ever the same for two questions: FNV-1a. */
const digestOf = (request: InputRequest): number => [...canonicalJSON(request)].reduce(
  (hash, char) => Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193), 0x811c9dc5 | 0);
/** What a request carries from round to round, and what this round adds. */
interface Round {
  answers: Map<string, Answered>; // to questions of earlier rounds
  offered: Map<string, Answered>; // to what was asked last, not looked at yet
  kept: Map<string, Promise<unknown>>; // of `once`
  asked: Map<string, InputRequest>; // in this round, to no avail yet
  own: string | undefined; // the handler's own state
}
const newRound = (): Round => ({ answers: new Map(), offered: new Map(), kept: new Map(),
  asked: new Map(), own: undefined });
export const ROUND_METHODS: readonly string[] = ["tools/call", "prompts/get", "resources/read"];
/** What requestState is good for: this method with these parameters, from the same caller. */
function bindingOf({ request: { method, params = {} }, lane }: Context): string {
  const { _meta, inputResponses, requestState, ...given } = params;
  return canonicalJSON([method, lane.principal?.id ?? null, given]);
}
const capabilitiesOf = ({ request }: Context): unknown =>
  isObject(request.params?._meta) ? request.params._meta[CLIENT_CAPABILITIES] : undefined;
function demand(context: Context, needed: ClientCapabilities): void {
  const requiredCapabilities = lacking(capabilitiesOf(context), needed);
  if (requiredCapabilities === undefined) return;
  // MUST: -32021 says what lacks (spec basic#meta)
  throw new ProtocolError(MISSING_REQUIRED_CLIENT_CAPABILITY,
    "This needs a capability that the client does not declare", { requiredCapabilities });
}

/** Puts what a round has found out into requestState, and finds it there again. */
function stateBox({ key, ttlMs = 600_000, now = Date.now, maxState = 65_536 }: RoundTripsOptions) {
  if (key !== undefined && key.length < 32) throw new TypeError("key: 32 characters or more");
  const { seal, open } = sealer(key ?? base64(crypto.getRandomValues(new Uint8Array(32))));
  const refuse = (why: string) => new ProtocolError(INVALID_PARAMS, why);
  return {
    /** Finds in a request what earlier rounds have left. */
    async read({ inputResponses = {}, requestState }: Params, context: Context): Promise<Round> {
      if (!isObject(inputResponses)) throw refuse("inputResponses must be an object");
      if (requestState === undefined) return newRound(); // nobody asked, so nothing is answered
      if (typeof requestState !== "string" || requestState.length > maxState) {
        throw refuse(`requestState must be a string of up to ${maxState} characters`);
      }
      // MUST: refuse foreign state (spec basic/patterns/mrtr#server-requirements-basic-workflow)
      const text = await open(requestState, bindingOf(context)).catch(() => {
        throw refuse("requestState was not made here, for this request and this caller");
      });
      const state = JSON.parse(text) as { until: number; asked: [string, number][]; own?: string;
        answers: [string, Answered][]; kept: [string, unknown][] }; // ours: the seal proves it
      // SHOULD: state expires (spec basic/patterns/mrtr#server-requirements-basic-workflow)
      if (state.until < now()) throw refuse("requestState has expired: begin again without it");
      const given = state.asked.filter(([key]) => Object.hasOwn(inputResponses, key));
      return { ...newRound(), answers: new Map(state.answers), own: state.own,
        offered: new Map(given.map(([key, question]) =>
          [key, { question, answer: inputResponses[key] }])),
        kept: new Map(state.kept.map(([key, value]) => [key, Promise.resolve(value)])) };
    },
    async write({ answers, kept, asked, own }: Round, context: Context): Promise<string> {
      const done: [string, unknown][] = [];
      for (const [key, value] of kept) {
        await value.then((value) => done.push([key, value]), () => {}); // failed: done again
      }
      const state = await seal(JSON.stringify({ own, answers: [...answers], kept: done,
        asked: [...asked].map(([key, request]) => [key, digestOf(request)]),
        until: now() + (context.lane.stateMs ?? ttlMs) }), bindingOf(context));
      if (state.length <= maxState) return state;
      throw new RangeError(`requestState would take ${state.length} of ${maxState} characters: ` +
        "keep less in context.once");
    },
  };
}

const UNANSWERED = "The client is asked, and has not answered yet";
export const isUnanswered = (error: unknown): boolean =>
  error instanceof ProtocolError && error.message === UNANSWERED; // nobody need handle it
function askerOf(context: Context, round: Round, compile: CompileSchema): Ask {
  const { answers, offered, asked } = round;
  const asking = async (key: string, request: InputRequest): Promise<unknown> => {
    const question = digestOf(request);
    const before = answers.get(key);
    if (before?.question === question) return before.answer;
    const fault = inputFault(request);
    if (fault !== undefined) throw new TypeError(`ask(${JSON.stringify(key)}): ${fault}`);
    // MUST: only what is declared (spec basic/patterns/mrtr#server-requirements-basic-workflow)
    demand(context, capabilityFor(request));
    const { question: answered, answer: given } = offered.get(key) ?? {};
    if (answered === question && responseFault(request, given, compile) === undefined) {
      const { action, content = {} } = Object(given);
      const form = request.method === "elicitation/create" && request.params.mode !== "url";
      const answer = form && action === "accept" ? { ...Object(given), content } : given;
      answers.set(key, { question, answer });
      return answer;
    }
    asked.set(key, request);
    throw new ProtocolError(INTERNAL_ERROR, UNANSWERED);
  };
  return ((key: string, request: InputRequest) => {
    const answer = asking(key, request);
    answer.catch(() => {}); // an ask that nobody awaits is asked all the same, and is no crash
    return answer;
  }) as Ask;
}
const keeperOf = ({ kept }: Round): Context["once"] => ((key: string, work: () => unknown) => {
  const value = kept.get(key) ?? (async () => await work())();
  value.catch(() => {}); // whoever awaits it hears of it
  kept.set(key, value);
  return value;
}) as Context["once"];

/** The requests of a round: those of ask(), and those that the handler gives itself. */
function requestsOf(context: Context, { asked }: Round, given: Params): InputRequests {
  const requests: InputRequests = { ...Object(given.inputRequests), ...Object.fromEntries(asked) };
  for (const [key, request] of Object.entries(requests)) {
    const fault = inputFault(request);
    if (fault !== undefined) throw new TypeError(`input request ${JSON.stringify(key)}: ${fault}`);
    demand(context, capabilityFor(request));
  }
  // MUST: at least one (spec basic/patterns/mrtr#server-requirements-basic-workflow)
  if (Object.keys(requests).length > 0 || typeof given.requestState === "string") return requests;
  throw new TypeError("input_required needs inputRequests or requestState");
}

/** Gives handlers context.ask and context.once. */
export function roundTrips(options: RoundTripsOptions): Feature {
  const box = stateBox(options);
  const rounds = new WeakMap<Context, Round>();
  const roundOf = (context: Context): Round => {
    const round = rounds.get(context) ?? newRound();
    rounds.set(context, round);
    return round;
  };
  const inputRequired = async (context: Context, given: Params): Promise<Params> => {
    const inputRequests = requestsOf(context, roundOf(context), given);
    const round = roundOf(context);
    if (typeof given.requestState === "string") round.own = given.requestState;
    for (const [key, request] of Object.entries(inputRequests)) round.asked.set(key, request);
    return { resultType: "input_required", ...(round.asked.size > 0 && { inputRequests }),
      requestState: await box.write(round, context) };
  };
  const settle = (method: string, context: Context, given: Params, failed?: { error: unknown }) => {
    const asks = isObject(given) && given.resultType === "input_required";
    const waits = (rounds.get(context)?.asked.size ?? 0) > 0;
    const code = failed?.error instanceof ProtocolError ? failed.error.code : 0;
    if (code === MISSING_REQUIRED_CLIENT_CAPABILITY || !asks && !waits) {
      if (failed !== undefined) throw failed.error;
      return given;
    }
    // MUST: no other method asks (spec basic/patterns/mrtr#supported-requests)
    if (ROUND_METHODS.includes(method)) return inputRequired(context, asks ? given : {});
    throw new TypeError(`${method} may not ask for input: only ${ROUND_METHODS.join(", ")} may`);
  };
  const wrap = (next: Handler, method: string): Handler => {
    const run: Handler = (params, context) => {
      let given: Params | Promise<Params>;
      try {
        given = next(params, context);
      } catch (error) {
        return settle(method, context, {}, { error });
      }
      return !(given instanceof Promise) ? settle(method, context, given)
        : given.then((given) => settle(method, context, given),
          (error: unknown) => settle(method, context, {}, { error }));
    };
    const resume: Handler = async (params, context) => {
      rounds.set(context, await box.read(params, context));
      return run(params, context);
    };
    return !ROUND_METHODS.includes(method) ? run : (params, context) =>
      (params.requestState ?? params.inputResponses) === undefined ? run(params, context)
        : resume(params, context);
  };
  const declares = (context: Context) => (needed: ClientCapabilities) =>
    lacking(capabilitiesOf(context), needed) === undefined;
  // Getters, so that a handler may take its context apart: `({ a }, { ask })`.
  return { methods: {}, wrap, context: {
    get ask() { return askerOf(this as Context, roundOf(this as Context), options.compile); },
    get once() { return keeperOf(roundOf(this as Context)); },
    get can() { return declares(this as Context); },
    get requires() { return (needed: ClientCapabilities) => demand(this as Context, needed); },
    get requestState() { return rounds.get(this as Context)?.own; },
  } };
}
// #endregion

// #region 26. Subscriptions
// uses messages errors-and-parsing versions-and-meta handlers a-first-call
//   · spec basic/patterns/subscriptions
//
// A call that is answered last: subscriptions/listen stays open, and what the
// client asked to hear of comes over it as notifications, under the id of the
// request. A server has one source of changes, and each open call hears it.
//
//   → {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{
//     "notifications":{"toolsListChanged":true},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
//     "params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},
//     "notifications":{"toolsListChanged":true}}}

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";
export interface SubscriptionFilter {
  toolsListChanged?: boolean;
  promptsListChanged?: boolean;
  resourcesListChanged?: boolean;
  resourceSubscriptions?: string[]; // URIs
}
export interface SubscriptionsListenRequestParams extends RequestParams {
  notifications: SubscriptionFilter;
}
export interface SubscriptionsListenResult extends Result {
  _meta: Result["_meta"] & { "io.modelcontextprotocol/subscriptionId": RequestId };
}
export interface SubscriptionsAcknowledgedNotificationParams {
  notifications: SubscriptionFilter;
  _meta?: { [key: string]: unknown };
}
export interface ResourceUpdatedNotificationParams {
  uri: string;
  _meta?: { [key: string]: unknown };
}
export interface Methods {
  "subscriptions/listen":
    { params: SubscriptionsListenRequestParams; result: SubscriptionsListenResult };
}

/** The changes that this chapter tells of; an extension adds fields to the filter for its own. */
export type ChangeKind =
  "toolsListChanged" | "promptsListChanged" | "resourcesListChanged" | "resourceSubscriptions";
/** A change, by the field of the filter that asks for it; undefined: an end to listening. */
export type Change = { kind: ChangeKind; uri?: string } | undefined;
/** Where a server says that something of it has changed. */
export interface ChangeSource {
  tools(): void;
  prompts(): void;
  /** The list has changed. */
  resources(): void;
  /** The content of one has changed. */
  updated(uri: string): void;
  /** Hears of changes until the function that it gives is called. */
  listen(hear: (change: Change) => void): () => void;
  /** Ends every subscription in good order. */
  close(): void;
}
export function changeSource(): ChangeSource {
  const listeners = new Set<(change: Change) => void>();
  const tell = (change: Change) => [...listeners].forEach((hear) => hear(change));
  return {
    tools: () => tell({ kind: "toolsListChanged" }),
    prompts: () => tell({ kind: "promptsListChanged" }),
    resources: () => tell({ kind: "resourcesListChanged" }),
    updated: (uri) => tell({ kind: "resourceSubscriptions", uri }),
    listen(hear) {
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
    close: () => tell(undefined),
  };
}

const NOTIFICATIONS: Readonly<Record<ChangeKind, string>> = {
  toolsListChanged: "notifications/tools/list_changed",
  promptsListChanged: "notifications/prompts/list_changed",
  resourcesListChanged: "notifications/resources/list_changed",
  resourceSubscriptions: "notifications/resources/updated",
};
const ADVERTISED: Readonly<Record<ChangeKind, readonly [string, string]>> = {
  toolsListChanged: ["tools", "listChanged"],
  promptsListChanged: ["prompts", "listChanged"],
  resourcesListChanged: ["resources", "listChanged"],
  resourceSubscriptions: ["resources", "subscribe"],
};
/** The most resources that one call may listen to: each change is held against all of them. */
export const MAX_URIS = 1_000;
/** The part of a filter that is honoured. Throws ProtocolError when it is no filter. */
function agreed(wanted: unknown, honoured: readonly (ChangeKind)[]):
  SubscriptionFilter {
  const filter = isObject(wanted) ? wanted : { toolsListChanged: "absent" };
  for (const kind of Object.keys(NOTIFICATIONS)) {
    const value = filter[kind];
    const fine = kind !== "resourceSubscriptions" ? typeof value === "boolean"
      : Array.isArray(value) && value.length <= MAX_URIS &&
        value.every((uri) => typeof uri === "string");
    if (value !== undefined && !fine) {
      throw new ProtocolError(INVALID_PARAMS, `notifications.${kind} is missing or wrong`);
    }
  }
  const kept = honoured.filter((kind) => filter[kind] !== undefined && filter[kind] !== false);
  return Object.fromEntries(kept.map((kind) => [kind, filter[kind]]));
}
/** Whether a change is one that a filter asks for; of a resource also of what it is part of. */
function concerns(filter: SubscriptionFilter, { kind, uri = "" }: NonNullable<Change>): boolean {
  if (kind !== "resourceSubscriptions") return filter[kind] === true;
  return filter.resourceSubscriptions?.some((one) => isPartOf(uri, one)) ?? false;
}
/** "x:/a/b" is part of "x:/a" and of "x:/a/", and of itself. */
export const isPartOf = (uri: string, whole: string): boolean =>
  uri === whole || uri.startsWith(whole.endsWith("/") ? whole : `${whole}/`);

/** Lets clients listen to a source. What is honoured is advertised, and nothing else is. */
export function subscriptions(source: ChangeSource,
  honoured: readonly (ChangeKind)[]): Feature {
  const listen: Handler = ({ notifications }, { request, lane }) => {
    const filter = agreed(notifications, honoured);
    const _meta = { [SUBSCRIPTION_ID]: request.id };
    return new Promise((resolve, reject) => {
      let stop: (() => void) | undefined;
      let over = false;
      const finish = (settle: () => void) => {
        over = true;
        stop?.();
        settle();
      };
      const end = () => finish(() => resolve({ _meta }));
      const say = async (method: string, params: Params) => {
        try {
          await lane.notify({ jsonrpc: "2.0", method, params: { _meta, ...params } });
        } catch (error) { // this reader is too far behind; the others read on
          finish(() => reject(error));
        }
      };
      // MUST: acknowledged before all else (spec basic/patterns/subscriptions#acknowledgment)
      void say("notifications/subscriptions/acknowledged", { notifications: filter });
      stop = source.listen((change) => {
        // SHOULD: a graceful end is a result (spec basic/patterns/subscriptions#graceful-closure)
        if (change === undefined) return end();
        if (!concerns(filter, change)) return;
        void say(NOTIFICATIONS[change.kind], change.uri === undefined ? {} : { uri: change.uri });
      });
      lane.signal.addEventListener("abort", end);
      if (over) stop();
      else if (lane.signal.aborted) end();
    });
  };
  const capabilities: Record<string, Record<string, boolean>> = {};
  for (const [name, member] of honoured.map((kind) => ADVERTISED[kind])) {
    capabilities[name] = { ...capabilities[name], [member]: true };
  }
  return { capabilities, methods: { "subscriptions/listen": listen } };
}
// #endregion

// #region 27. Rate limits
// uses errors-and-parsing handlers texts-and-lanes results lists
//   · spec server/tools#security-considerations
//
// A wrapper around handlers that stops a caller who calls too often. Each has a
// bucket of calls, filled again as time goes by. A model reads it in a result.
//
//   rateLimit({ calls: 60, perMs: 60_000 })

export interface RateLimitOptions {
  /** Calls that a caller may make at once, and again in each span of perMs milliseconds. */
  calls: number;
  perMs: number;
  now?: () => number;
  /** Methods that count; all. */
  count?: readonly string[];
}
/** Refuses what comes too often: an isError result for tools, else error 429 with retryAfterMs. */
export function rateLimit({ calls, perMs, now = Date.now, count }: RateLimitOptions): Feature {
  wholeNumber("calls", calls, 1);
  wholeNumber("perMs", perMs, 1);
  const buckets = new Map<string, { left: number; at: number }>(); // by caller
  const wait = (caller: string): number => {
    const time = now();
    const { left: before, at } = buckets.get(caller) ?? { left: calls, at: time };
    const passed = Math.max(0, time - at); // a clock may be put back
    const left = Math.min(calls, before + passed * calls / perMs);
    const [oldest] = buckets.size > 10_000 ? buckets.keys() : [];
    if (oldest !== undefined) buckets.delete(oldest);
    buckets.delete(caller); // and last in the order
    buckets.set(caller, { left: left < 1 ? left : left - 1, at: time });
    return left < 1 ? Math.ceil((1 - left) * perMs / calls) : 0;
  };
  const wrap = (next: Handler, method: string): Handler => (params, context) => {
    const counts = count === undefined || count.includes(method);
    const caller: Principal | undefined = context.lane.principal;
    const retryAfterMs = counts ? wait(caller?.id ?? "") : 0;
    if (retryAfterMs === 0) return next(params, context);
    const why = `Too many calls: try again in ${Math.ceil(retryAfterMs / 1000)} s`;
    if (method === "tools/call") return toolError(why);
    throw new ProtocolError(429, why, { retryAfterMs });
  };
  return { methods: {}, wrap };
}
// #endregion

// #region 28. Assemble
// uses messages versions-and-meta handlers a-first-call texts-and-lanes
//   · spec server/discover
//
// Features know nothing of each other. This chapter puts them together: the
// capabilities of all in one answer to server/discover, the handlers of all in
// one dispatcher, and around it whatever wants to see each request.
//
//   exchange = wrappers(dispatch(features))

/** A server without a transport: what stdio and HTTP need to serve it. */
export interface Assembly {
  info: Implementation;
  exchange: Exchange;
  notifications: NotificationHandlers;
  mirrors: Mirrors;
}
export interface AssembleOptions {
  /** How to use the server, for the model to read. */
  instructions?: string;
  /** Functions around every request: rate limits, traces. The last one is outermost. */
  wrappers?: readonly ((next: Exchange) => Exchange)[];
  /** Gets the exceptions that a caller is only told about as Internal error. */
  report?: (error: unknown, method: string) => void;
}

/** The union of what features can do; settings of extensions join. */
function joinCapabilities(features: readonly Feature[]): ServerCapabilities {
  const all: Record<string, object> = {};
  for (const { capabilities = {} } of features) {
    for (const [name, settings] of Object.entries(capabilities)) {
      all[name] = { ...all[name], ...settings };
    }
  }
  return all;
}

/** Puts features together into one server. Throws a TypeError when two answer one method. */
export function assemble(info: Implementation, features: readonly Feature[],
  { instructions, wrappers = [], report }: AssembleOptions = {}): Assembly {
  const every = [discover(joinCapabilities(features), instructions), ...features];
  const methods = every.flatMap(({ methods }) => Object.keys(methods));
  const twice = methods.find((method, at) => methods.indexOf(method) !== at);
  if (twice !== undefined) throw new TypeError(`two features answer ${twice}`);
  return {
    info,
    exchange: wrappers.reduce((next, wrap) => wrap(next), dispatch(info, every, report)),
    notifications: Object.assign({}, ...features.map(({ notifications }) => notifications)),
    mirrors: Object.assign({}, ...features.map(({ mirrors }) => mirrors)),
  };
}
// #endregion

// Built by now: a server of tools for any transport, given a schema validator.
// Shown by examples/02-tcp.ts.

// ---- Part IV: what clients do ----------------------------------------------

// #region 29. Client
// uses messages errors-and-parsing versions-and-meta handlers a-first-call texts-and-lanes
//   · spec basic/patterns/cancellation#timeouts
//
// A client is a caller that does not trust the other side: it waits only so
// long, agrees on a revision when its first choice is refused, reads lists page
// by page without believing that they end, and takes no result it does not
// know.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
//     "io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}
//   ← {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"..",
//     "data":{..}}}
//   → {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{..}}}

/** A call that gave something else than a complete result. */
export interface Incomplete {
  method: string;
  params: Params;
  signal: AbortSignal | undefined;
  /** Makes the call again with other params, under a time limit of its own. */
  again(params: Params): Promise<Result>;
}
/** Gets from one result to the next, until it is complete. */
export type ResultResolver = (result: Result, call: Incomplete) => Promise<Result>;
export interface ClientOptions {
  info?: Implementation;
  capabilities?: ClientCapabilities;
  /** Milliseconds for one request, counted anew at each progress notification; 60,000. */
  timeoutMs?: number;
  /** Milliseconds for one request in any case; 600,000. */
  maxTimeoutMs?: number;
  /** Revisions we speak, the best first. */
  versions?: readonly string[];
  /** What to do about results of a type that is not "complete". */
  resultTypes?: Readonly<Record<string, ResultResolver>>;
  /** Gets what is wrong with a server but stops nothing. */
  warn?: (text: string) => void;
  /** Whether time stands still: it is a person who is waited for, and not the server. */
  waits?: () => boolean;
}
export interface Progress { progress: number; total?: number; message?: string }
export interface CallOptions {
  /** Cancels the call; the message of its reason is told to the server. */
  signal?: AbortSignal;
  timeoutMs?: number;
  onProgress?: (progress: Progress) => void;
  /** Gets every notification that belongs to the call. */
  onNotification?: Lane["notify"];
}
type ListMethod = { [M in keyof Methods]:
  Methods[M]["params"] extends { cursor?: string } ? M : never }[keyof Methods];
type ParamsOf<M extends keyof Methods> = Omit<Methods[M]["params"], "_meta"> & { _meta?: object };
export interface Client {
  /** Calls a method. Throws ProtocolError (refused) or TransportError (no answer). */
  call<M extends keyof Methods>(method: M, params: ParamsOf<M>, options?: CallOptions):
    Promise<Methods[M]["result"]>;
  /** All entries of a list, from all its pages. */
  list<M extends ListMethod, K extends keyof Methods[M]["result"]>(method: M, key: K & string,
    options?: CallOptions): Promise<(Methods[M]["result"][K] & unknown[])[number][]>;
  /** The revision that requests are written in now. */
  version(): string;
}

/** How long one call may take: a clock that progress sets back, up to a limit. */
function callLane({ signal, timeoutMs, onProgress, onNotification }: CallOptions,
  defaults: { timeoutMs: number; maxTimeoutMs: number; waits: () => boolean },
  token: string | undefined) {
  const controller = new AbortController();
  const ms = timeoutMs ?? defaults.timeoutMs;
  const expire = (after: number) => () => {
    if (defaults.waits()) clock = alarm(after);
    else controller.abort(new TransportError("timeout",
      `No answer within ${after} ms, and the call was cancelled`));
  };
  const cancel = () => controller.abort(signal && abortReason(signal));
  let over = false;
  const alarm = (after: number) => // past 2^31 a timer would go off at once
    after < 2 ** 31 ? setTimeout(expire(after), after) : undefined;
  let clock = alarm(ms);
  const last = alarm(Math.max(ms, defaults.maxTimeoutMs));
  signal?.addEventListener("abort", cancel);
  const notify = (notification: JSONRPCNotification) => {
    if (over) return undefined;
    const { method, params } = notification;
    if (method === "notifications/progress") {
      if (token === undefined || params?.progressToken !== token) return undefined; // not ours
      // SHOULD: there is a limit whatever the progress (spec basic/patterns/cancellation#timeouts)
      clearTimeout(clock);
      clock = alarm(ms);
      onProgress?.(params as unknown as Progress); // for display: unchecked
    }
    return onNotification?.(notification);
  };
  const ended = new Promise<never>((_, reject) => controller.signal.addEventListener("abort",
    () => reject(abortReason(controller.signal))));
  ended.catch(() => {}); // whoever races it hears of it
  const done = () => {
    over = true;
    clearTimeout(clock);
    clearTimeout(last);
    signal?.removeEventListener("abort", cancel);
  };
  if (signal?.aborted) cancel();
  const lane: Lane = { signal: controller.signal, notify };
  return { lane, done, ended };
}

/** An entry without the icons that a client must not fetch. */
export function safeIcons(entry: Params, warn: (text: string) => void): Params {
  if (entry.icons === undefined) return entry;
  const icons = [entry.icons].flat().filter((icon) => {
    const src = isObject(icon) ? icon.src : undefined;
    // MUST: https or data, nothing else (spec basic#icons)
    const safe = typeof src === "string" && /^(?:https:\/\/|data:image\/)/i.test(src) &&
      URL.canParse(src);
    const what = JSON.stringify(src)?.slice(0, 80);
    if (!safe) warn(`An icon of ${entry.name} is left out, it is not https or data: ${what}`);
    return safe;
  });
  return { ...entry, icons };
}
/** Reads lists to their end, which it does not take for granted. */
export function pager(call: Client["call"], warn: (text: string) => void): Client["list"] {
  return async (method, key, options) => {
    const entries: unknown[] = [];
    const seen = new Set<string | undefined>();
    let cursor: string | undefined;
    let begun = false; // anew, because a cursor was no longer good
    do {
      if (seen.has(cursor) || seen.size === 1000) {
        throw new TransportError("result", `${method} does not end`);
      }
      seen.add(cursor);
      const at = cursor === undefined ? {} : { cursor };
      const page: Result | undefined = await call(method, at as never, options).catch((error) => {
        const stale = error instanceof ProtocolError && error.code === INVALID_PARAMS;
        if (cursor === undefined || begun || !stale) throw error;
        return undefined;
      });
      if (page === undefined) {
        // SHOULD: from the beginning (spec server/utilities/caching#interaction-with-pagination)
        [begun, cursor] = [true, undefined];
        entries.splice(0);
        seen.clear();
        continue;
      }
      const part = page[key];
      if (!Array.isArray(part)) {
        throw new TransportError("result", `${method} gave no array "${key}"`);
      }
      for (const entry of part) {
        if (isObject(entry) && typeof entry.name === "string") entries.push(safeIcons(entry, warn));
        else warn(`${method} has a malformed entry, left out: ${JSON.stringify(entry)}`);
      }
      // MUST: "" goes on (spec server/utilities/pagination#implementation-guidelines)
      cursor = typeof page.nextCursor === "string" ? page.nextCursor : undefined;
    } while (cursor !== undefined || begun && seen.size === 0);
    return entries as never[]; // of the type that the method's row names
  };
}

/** A client over any Exchange. */
export function connect(exchange: Exchange, options: ClientOptions = {}): Client {
  const { info = { name: "mcp-raw", version: "0.1.0" }, capabilities = {} } = options;
  const { timeoutMs = 60_000, maxTimeoutMs = 600_000, versions = MODERN_VERSIONS } = options;
  const { warn = () => {}, resultTypes = {}, waits = () => false } = options;
  const meta: RequestMetaObject = { [PROTOCOL_VERSION]: versions[0] ?? "",
    "io.modelcontextprotocol/clientInfo": info, [CLIENT_CAPABILITIES]: capabilities };
  const send = caller(exchange, meta);
  let tokens = 0;

  /** Another revision to try, when the server has just refused ours. */
  function alternative(error: unknown, written: string): string | undefined {
    const refused = error instanceof ProtocolError && error.code === UNSUPPORTED_PROTOCOL_VERSION;
    if (!refused || !isObject(error.data) || !Array.isArray(error.data.supported)) return undefined;
    const { supported } = error.data;
    const common = versions.filter((one) => supported.includes(one));
    return common.find((one) => one !== written) ?? common[0]; // ours after all: it may be a hiccup
  }
  /** One request and its result, of whatever type. */
  async function request<M extends keyof Methods>(method: M, params: ParamsOf<M>,
    options: CallOptions): Promise<Methods[M]["result"]> {
    const progressToken = options.onProgress && `p${++tokens}`;
    const { lane, done, ended } =
      callLane(options, { timeoutMs, maxTimeoutMs, waits }, progressToken);
    const _meta = { ...params._meta, ...(progressToken !== undefined && { progressToken }) };
    const written = meta[PROTOCOL_VERSION];
    const ask = () => send(method, { ...params, _meta }, lane);
    const answered = ask().catch((error: unknown) => {
      // SHOULD: ask again in another (spec basic/versioning#protocol-version-negotiation)
      const next = alternative(error, written);
      if (next === undefined) throw error;
      meta[PROTOCOL_VERSION] = next;
      return ask();
    });
    try {
      return await Promise.race([answered, ended]); // even if the exchange is deaf
    } finally {
      done();
    }
  }
  const call: Client["call"] = async (method, params, options = {}) => {
    if (!isObject(params)) throw new TypeError(`the params of ${method} must be an object`);
    let result: Result = await request(method, params, options);
    const again = (given: Params) => request(method, given as typeof params, options);
    // MUST: an absent resultType is "complete", an unknown one invalid (spec basic#resulttype)
    while ((result.resultType ?? "complete") !== "complete") {
      const { resultType } = result;
      const resolve = Object.hasOwn(resultTypes, resultType) ? resultTypes[resultType] : undefined;
      if (resolve === undefined) {
        throw new TransportError("result", `${method} gave a result of the unknown type ` +
          JSON.stringify(resultType));
      }
      result = await resolve(result, { method, params, signal: options.signal, again });
    }
    return result as Methods[typeof method]["result"]; // the peer's word for it
  };
  const list = pager(call, warn);
  return { call, list, version: () => meta[PROTOCOL_VERSION] };
}
// #endregion

// #region 30. Checked results
// uses messages texts-and-lanes types-from-schemas tools client
//   · spec server/tools#output-schema
//
// A tool that declares an outputSchema has promised what its structured content
// looks like. This wraps a client so that a broken promise is an error here and
// not a surprise later. It learns the schemas from lists that pass by, and asks
// for the list when it meets a tool that it does not know.
//
//   checked.call("tools/call", { name: "sum" })
//     -> TransportError: The tool sum broke its outputSchema: /x: expected ..

/** A client that holds tools to their outputSchema. Throws TransportError "result". */
export function checkResults(client: Client, compile: CompileSchema,
  warn: (text: string) => void = () => {}): Client {
  const checks = new Map<string, ReturnType<CompileSchema> | undefined>();
  const learn = (tools: readonly Tool[]) => {
    for (const { name, outputSchema } of tools.filter(isObject) as Tool[]) { // see pager
      checks.set(name, undefined);
      try {
        if (outputSchema !== undefined) checks.set(name, compile(outputSchema));
      } catch (error) {
        warn(`The outputSchema of ${name} is unusable: ${(error as Error).message}`);
      }
    }
  };
  const call: Client["call"] = async (method, params, options) => {
    const result = await client.call(method, params, options);
    if (method === "tools/list" && Array.isArray(result.tools)) learn(result.tools);
    if (method !== "tools/call" || result.isError === true) return result;
    const name = "name" in params ? String(params.name) : "";
    if (!checks.has(name)) learn(await client.list("tools/list", "tools", options));
    // SHOULD: structured results are validated (spec server/tools#output-schema)
    const check = checks.get(name);
    if (check === undefined) return result;
    const issues = "structuredContent" in result ? check(result.structuredContent)
      : [{ path: "", message: "structuredContent is missing" }];
    if (issues === undefined) return result;
    const faults = issues.map(({ path, message }) => `${path && `${path}: `}${message}`);
    const why = `The tool ${name} broke its outputSchema: ${faults.join("; ")}`;
    throw new TransportError("result", why);
  };
  return { ...client, call, list: pager(call, warn) };
}
// #endregion

// #region 31. Answering
// uses messages texts-and-lanes types-from-schemas lists input-requests round-trips client
//   · spec basic/patterns/mrtr#client-requirements-basic-workflow
//
// A server that needs something says so in its result. The client gets it from
// the user, the model or the project, and makes the call again: a new request
// with a new id, which carries the answers and, unread, the server's state.
//
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required",
//     "inputRequests":{"where":{"method":"roots/list"}},"requestState":"..",
//     "_meta":{..}}}
//   → {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find",
//     "inputResponses":{"where":{"roots":[{"uri":"file:///home/project"}]}},
//     "requestState":"..","_meta":{..}}}

/** What is asked, under which key of which call. */
export interface Asked { key: string; method: string; signal: AbortSignal | undefined }
/** Who answers; what is not here is not declared. Say to the user which server asks. */
export interface Answers {
  /** Lets the user see, change and refuse a form. Defaults are filled in for fields left out. */
  form?(params: ElicitRequestFormParams, asked: Asked): Awaitable<ElicitResult>;
  /** Shows the whole URL, and opens it only when the user agrees: accept, decline or cancel. */
  url?(params: ElicitRequestURLParams, asked: Asked): Awaitable<ElicitResult>;
  /** Has a model write a message, if the user lets it. @deprecated since 2026-07-28 */
  sample?(params: CreateMessageRequestParams, asked: Asked): Awaitable<CreateMessageResult>;
  /** Whether `sample` takes tools. */
  sampleTools?: boolean;
  /** The folders of the project. @deprecated since 2026-07-28 */
  roots?: readonly Root[] | (() => Awaitable<readonly Root[]>);
}
export interface AnsweringOptions {
  /** Checks forms before they are sent. */
  compile?: CompileSchema;
  warn?: (text: string) => void;
  /** Times that one call may ask; 10. */
  maxRounds?: number;
}

/** What a form holds where the user gave nothing. */
function withDefaults({ requestedSchema }: ElicitRequestFormParams, result: ElicitResult) {
  if (result.action !== "accept") return { action: result.action };
  const { content = {} } = result;
  if (!isObject(content)) return result; // which fits no form, and is refused
  const given = Object.entries(content).filter(([, value]) => value !== undefined);
  const defaults = Object.entries(requestedSchema.properties).flatMap(([name, field]) =>
    field.default === undefined ? [] : [[name, field.default]]);
  return { ...result, content: Object.fromEntries([...defaults, ...given]) };
}
/** Gets the answer to one request. */
async function answerOne(request: InputRequest, asked: Asked, answers: Answers):
  Promise<InputResponse | undefined> {
  if (request.method === "roots/list") {
    const { roots = [] } = answers;
    const found = await (typeof roots === "function" ? roots() : roots);
    // MUST: no way out by ".." in a path (spec client/roots#security-considerations)
    return { roots: found.map((root) =>
      ({ ...root, uri: URL.canParse(root.uri) ? new URL(root.uri).href : root.uri })) };
  }
  if (request.method === "sampling/createMessage") return answers.sample?.(request.params, asked);
  const { params } = request;
  if (params.mode !== "url") {
    const given = await answers.form?.(params, asked);
    return given && withDefaults(params, given);
  }
  const visited = await answers.url?.(params, asked);
  return visited && { action: visited.action }; // what happened there is not for the server
}
export const capabilitiesFor = ({ form, url, sample, sampleTools, roots }: Answers):
  ClientCapabilities => ({
    ...((form ?? url) && { elicitation: { ...(form && { form: {} }), ...(url && { url: {} }) } }),
    ...(sample && { sampling: sampleTools ? { tools: {} } : {} }),
    ...(roots && { roots: {} }),
  });

/** The most that a server may ask at once. */
export const MAX_REQUESTS = 100;
function schemaFault(request: InputRequest, compile: CompileSchema): string | undefined {
  try {
    if (request.method !== "elicitation/create" || request.params.mode === "url") return undefined;
    compile(request.params.requestedSchema);
    return undefined;
  } catch (error) {
    return `its requestedSchema is unusable: ${(error as Error).message}`;
  }
}
/** Answers the requests of a round, all at once. Throws TransportError "result" when one is bad. */
export async function answerAll(requests: unknown, asked: Omit<Asked, "key">, answers: Answers,
  { compile = () => () => undefined }: AnsweringOptions = {}): Promise<InputResponses> {
  const wrong = (code: string, key: string, why: string) => new TransportError(code,
    `The input request ${JSON.stringify(key)} of ${asked.method}: ${why}`);
  if (!isObject(requests)) throw wrong("result", "", "inputRequests must be an object");
  const { sampling, ...others } = capabilitiesFor(answers);
  // What context a server wants is deprecated, and may be ignored.
  const declared = { ...others, ...(sampling && { sampling: { context: {}, ...sampling } }) };
  const all = Object.entries(requests as unknown as InputRequests);
  if (all.length > MAX_REQUESTS) throw wrong("result", "", `more than ${MAX_REQUESTS} at once`);
  for (const [key, request] of all) { // before anybody is asked anything
    const needs = inputFault(request) ?? (lacking(declared, capabilityFor(request)) &&
      "it asks for what was not declared") ?? schemaFault(request, compile);
    if (needs !== undefined) throw wrong("result", key, needs);
  }
  const answered = all.map(async ([key, request]) => {
    const answer = await answerOne(request, { ...asked, key }, answers);
    const mistake = responseFault(request, answer, compile);
    if (answer !== undefined && mistake === undefined) return [key, answer] as const;
    throw wrong("usage", key, `the answer does not fit: ${mistake}`);
  });
  return Object.fromEntries(await Promise.all(answered));
}
/** Options for connect(): what the client can be asked, and how it answers. */
export function answering(answers: Answers, options: AnsweringOptions = {}):
  Required<Pick<ClientOptions, "capabilities" | "resultTypes">> {
  const { maxRounds = 10 } = options;
  const resolve: ResultResolver = async (first, { method, params, signal, again }) => {
    const { inputResponses, requestState, ...plain } = params; // of the caller: not its to give
    let result = first;
    for (let round = 1; result.resultType === "input_required"; round++) {
      const { inputRequests: asked, requestState: state } = result;
      const bad = state !== undefined && typeof state !== "string";
      // MUST: only these may ask (spec basic/patterns/mrtr#supported-requests)
      const why = !ROUND_METHODS.includes(method) ? "this method may not"
        : round > maxRounds ? `more than ${maxRounds} times`
        : bad || asked === undefined && state === undefined ? "and not for what" : undefined;
      if (why !== undefined) {
        throw new TransportError("result", `${method} asks for input: ${why}`);
      }
      const given = asked === undefined ? {} : { inputResponses: await unlessAborted(
        answerAll(asked, { method, signal }, answers, options), signal) };
      // MUST: state is echoed (spec basic/patterns/mrtr#client-requirements-basic-workflow)
      const echoed = state === undefined ? {} : { requestState: state };
      result = await again({ ...plain, ...given, ...echoed });
    }
    return result;
  };
  return { resultTypes: { input_required: resolve }, capabilities: capabilitiesFor(answers) };
}
// #endregion

// #region 32. Caching
// uses messages handlers results subscriptions · spec server/utilities/caching
//
// Lists and resources say how long they may be kept. This stands in front of an
// Exchange and answers from what it kept, until the time is over or the server
// says, on a subscription that passes by, that something has changed.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],
//     "ttlMs":300000,"cacheScope":"public","_meta":{..}}}

const CACHEABLE = ["server/discover", "tools/list", "prompts/list", "resources/list",
  "resources/templates/list", "resources/read"];
// These say nothing of what is asked.
const PASSING = ["progressToken", "traceparent", "tracestate", "baggage",
  "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel"];
/** The longest that anything is kept, in ms: a day. */
export const MAX_TTL = 86_400_000;
interface Kept { method: string; uri: unknown; from: number; until: number; text: string }
export interface CacheStore {
  get(key: string): Kept | undefined;
  set(key: string, kept: Kept): void;
  /** Forgets what is no longer true. */
  drop(stale: (kept: Kept) => boolean): void;
  /** How often something was forgotten so. */
  drops(): number;
}
/** Keeps up to so many bytes, 16 MiB; what was used longest ago goes first. */
export function cacheStore({ maxBytes = 16 * 1024 * 1024 }: { maxBytes?: number } = {}):
  CacheStore {
  const kept = new Map<string, Kept>();
  let [size, drops] = [0, 0];
  const weigh = (key: string, { text }: Kept) => 2 * (key.length + text.length);
  const remove = (key: string) => {
    const found = kept.get(key);
    if (found !== undefined) size -= weigh(key, found);
    kept.delete(key);
  };
  return {
    get(key) {
      const found = kept.get(key);
      if (found !== undefined) kept.delete(key);
      if (found !== undefined) kept.set(key, found); // the youngest again
      return found;
    },
    set(key, entry) {
      remove(key);
      if (weigh(key, entry) > maxBytes) return;
      kept.set(key, entry);
      size += weigh(key, entry);
      for (const oldest of kept.keys()) {
        if (size <= maxBytes) return;
        remove(oldest);
      }
    },
    drop(stale) {
      drops++;
      for (const [key, entry] of kept) if (stale(entry)) remove(key);
    },
    drops: () => drops,
  };
}
export interface CachingOptions {
  /** Whose results these are: another token, another caller. Without it, this client's alone. */
  principal?: () => string | undefined;
  /** May be shared by clients of one server: private results are kept apart. */
  store?: CacheStore;
  now?: () => number;
}

/** An Exchange that remembers. */
export function cached(exchange: Exchange, options: CachingOptions = {}): Exchange {
  const nobody = `nobody ${Math.random()}`; // who does not say who it is shares nothing private
  const { principal = () => nobody, store = cacheStore(), now = Date.now } = options;
  const forget = (stale: (kept: Kept) => boolean) => store.drop(stale);
  const hear = ({ method, params = {} }: JSONRPCNotification) => {
    const [, kind] = /^notifications\/(\w+)\/list_changed$/.exec(method) ?? [];
    if (kind !== undefined) forget((kept) => kept.method.startsWith(`${kind}/`) &&
      kept.method.endsWith("/list"));
    if (method !== "notifications/resources/updated") return;
    const { uri } = params; // of a part, perhaps, of what was read
    forget((kept) => kept.method === "resources/read" && isPartOf(String(uri), String(kept.uri)));
  };
  /** One key for whoever is logged in, one for everybody. */
  const keysOf = ({ method, params = {} }: JSONRPCRequest) => {
    const { _meta, ...given } = params;
    const meta = Object.entries(Object(_meta)).filter(([key]) => !PASSING.includes(key));
    const asked = canonicalJSON([method, given, Object.fromEntries(meta)]);
    return { public: asked, private: `${JSON.stringify(principal() ?? nobody)} ${asked}` };
  };
  return async (request, lane) => {
    const { id, method, params = {} } = request;
    const listens = method === "subscriptions/listen";
    // MUST: no results of rounds (spec server/utilities/caching#cache-key)
    const plain = params.inputResponses === undefined && params.requestState === undefined;
    if (listens) {
      const hearing: Lane = Object.create(lane, {
        signal: { get: () => lane.signal }, // it may be made when it is asked for
        notify: { value(notification: JSONRPCNotification) {
          hear(notification);
          return lane.notify(notification);
        } } });
      return exchange(request, hearing).finally(() => forget(() => true)); // deaf from now on
    }
    if (!plain || !CACHEABLE.includes(method)) return exchange(request, lane);
    const keys = keysOf(request);
    const found = [keys.private, keys.public].map((key) => store.get(key)).find((kept) =>
      kept !== undefined && now() < kept.until && now() >= kept.from);
    if (found !== undefined) return { jsonrpc: "2.0", id, result: JSON.parse(found.text) };
    const before = store.drops(); // what was asked for before a change is not kept
    const response = await exchange(request, lane);
    // SHOULD: a failed cursor ends all (spec server/utilities/caching#interaction-with-pagination)
    if ("error" in response && params.cursor !== undefined) {
      forget((kept) => kept.method === method);
    }
    const same = before === store.drops() && keysOf(request).private === keys.private;
    if ("error" in response || !same) return response;
    const { resultType = "complete", ttlMs, cacheScope } = response.result;
    if (resultType !== "complete" || typeof ttlMs !== "number" || ttlMs <= 0) return response;
    const until = now() + Math.min(ttlMs, MAX_TTL);
    store.set(cacheScope === "public" ? keys.public : keys.private, { method, uri: params.uri,
      from: now(), until, text: JSON.stringify(response.result) });
    return response;
  };
}
// #endregion

// #region 33. Subscribing
// uses messages errors-and-parsing texts-and-lanes subscriptions client
//   · spec basic/patterns/subscriptions#cancellation
//
// A subscription lives as long as its connection. When that is lost, what
// changed meanwhile went unheard: so this listens again, after a pause that
// grows, and says that there was a gap. A server that ends it does so with a
// result, and that is the end.
//
//   → {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{
//     "notifications":{"resourceSubscriptions":["note:1"]},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",
//     "params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},
//     "notifications":{"resourceSubscriptions":["note:1"]}}}
//   ← {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{
//     "_meta":{"io.modelcontextprotocol/subscriptionId":1},"uri":"note:1"}}

export interface SubscribeOptions {
  /** Gets each change, as it came. */
  onChange(notification: JSONRPCNotification): void;
  /** The connection is lost: changes may have been missed. It is tried again. */
  onLost?: (error: TransportError) => void;
  /** Ends the subscription. */
  signal?: AbortSignal;
  /** Milliseconds before the first new try, doubled with each up to 30 times that; 1,000. */
  retryMs?: number;
  warn?: (text: string) => void;
}
export interface Subscription {
  /** What the server agreed to tell. */
  acknowledged: Promise<SubscriptionFilter>;
  /** Resolves when the server or the signal has ended it; rejects when the server refuses. */
  closed: Promise<void>;
}

/** A pause; its promise resolves early when the signal aborts. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> => new Promise((resolve) => {
  const wake = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", wake);
    resolve();
  };
  const timer = setTimeout(wake, signal?.aborted ? 0 : ms);
  signal?.addEventListener("abort", wake);
});

const FINAL = ["result", "usage", "authorization", "version"]; // trying again would not help
/** The fault of a connection that may come back; a server that began may also fail. */
function lostConnection(error: unknown, begun: boolean): TransportError | undefined {
  if (error instanceof ProtocolError && begun) {
    return new TransportError("closed", `The server ended it: ${error.message}`);
  }
  if (!(error instanceof TransportError) || FINAL.includes(error.code)) return undefined;
  const { status = 0 } = error.reply ?? {};
  return status >= 400 && status < 500 ? undefined : error;
}
/** What was asked for and is not agreed: kinds, and URIs. */
function refusedOf(asked: SubscriptionFilter, honoured: Params): string[] {
  const { resourceSubscriptions: uris = [], ...kinds } = asked;
  const agreed = [honoured.resourceSubscriptions].flat();
  return [...Object.entries(kinds).filter(([kind, wanted]) => wanted && honoured[kind] !== true)
    .map(([kind]) => kind), ...uris.filter((uri) => !agreed.includes(uri))];
}
/** Listens, and goes on listening. */
export function subscribe(client: Client, filter: SubscriptionFilter, options: SubscribeOptions):
  Subscription {
  const { onChange, onLost = () => {}, signal, retryMs = 1000, warn = () => {} } = options;
  let agree = (_: SubscriptionFilter) => {};
  let fail = (_: unknown) => {};
  const acknowledged = new Promise<SubscriptionFilter>((resolve, reject) =>
    ([agree, fail] = [resolve, reject]));
  let tries = 0;
  let begun = false;
  const onNotification = (notification: JSONRPCNotification) => {
    const { method, params } = notification;
    if (method !== "notifications/subscriptions/acknowledged") {
      tries = 0; // it does more than begin
      return onChange(notification);
    }
    begun = true;
    const honoured = isObject(params?.notifications) ? params.notifications : {};
    // SHOULD: look what was agreed (spec basic/patterns/subscriptions#acknowledgment)
    const refused = refusedOf(filter, honoured);
    if (refused.length > 0) warn(`The server will not tell of ${refused.join(", ")}`);
    agree(honoured);
  };
  const run = async () => {
    while (!signal?.aborted) {
      try {
        await client.call("subscriptions/listen", { notifications: filter },
          { timeoutMs: Infinity, onNotification, ...(signal && { signal }) });
        return;
      } catch (error) {
        if (signal?.aborted) return;
        const lost = lostConnection(error, begun);
        if (lost === undefined || lost.code === "closed" && tries >= 5) throw error; // for good
        onLost(lost);
        // Up to a half less, so that not all come back at once.
        const least = retryMs > 0 ? retryMs : 1000;
        await pause(least * Math.min(30, 2 ** tries++) * (1 - Math.random() / 2), signal);
      }
    }
  };
  const closed = run();
  closed.then(() => fail(new TransportError("closed", "it ended before it began")), fail);
  for (const promise of [acknowledged, closed]) promise.catch(() => {}); // for whoever asks
  return { acknowledged, closed };
}
// #endregion

// Built by now: a client for any server on any transport.
// Shown by examples/04-client.ts.

// ---- Part V: earlier versions ----------------------------------------------

// #region 34. Older revisions
// uses messages errors-and-parsing versions-and-meta input-requests
//   · spec basic/versioning#compatibility-matrix
//
// Four revisions came before, and most programs still speak one of them. Their
// messages are nearly the same: a field more or less, a kind of content that
// did not exist. This chapter says what each revision knows, and takes away
// from a message what is too new for its reader. Revisions are dates, so the
// older one is the smaller text.
//
//   downgrade("2025-03-26", "tools/list", { resultType: "complete", tools: [
//     { name: "add", title: "Add", inputSchema: { type: "object" } }] })
//     -> { tools: [{ name: "add", inputSchema: { type: "object" } }] }

/** Revisions with a handshake, the newest first. */
export const LEGACY_VERSIONS: readonly string[] =
  ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/** Before the handshake; and for a resource that is not there. */
export const NOT_INITIALIZED = -32002, LEGACY_NOT_FOUND = -32002;
/** A page must be visited first; data.elicitations names it. Of 2025-11-25 alone. */
export const URL_ELICITATION_REQUIRED = -32042;

// field -> the revision that it came with; others were always there
const FIELDS = new Map([["title", "2025-06-18"], ["_meta", "2025-06-18"],
  ["outputSchema", "2025-06-18"], ["structuredContent", "2025-06-18"], ["icons", "2025-11-25"]]);
const TOOL_FIELDS = new Map([...FIELDS, ["annotations", "2025-03-26"]]);
const INFO_FIELDS = new Map([...FIELDS, ["description", "2025-11-25"],
  ["websiteUrl", "2025-11-25"]]);
const CAPABILITIES = new Map([["extensions", "2026-07-28"], ["completions", "2025-03-26"]]);
const each = (list: unknown, change: (one: unknown) => unknown) =>
  Array.isArray(list) ? list.map(change) : list;
function strip(value: unknown, version: string,
  since: ReadonlyMap<string, string> = FIELDS): unknown {
  if (!isObject(value)) return value;
  const kept: Params = Object.fromEntries(Object.entries(value)
    .filter(([key]) => (since.get(key) ?? "") <= version));
  if (isObject(kept.annotations) && version < "2025-06-18") {
    const { lastModified, ...annotations } = kept.annotations;
    kept.annotations = annotations;
  }
  const own = (one: unknown) => strip(one, version);
  if ("arguments" in kept) kept.arguments = each(kept.arguments, own); // of a prompt
  if (isObject(kept.resource)) kept.resource = strip(kept.resource, version);
  return kept;
}

/** A content block in the words of a revision. */
function olderBlock(version: string, block: unknown): unknown {
  if (!isObject(block)) return block;
  const { type, name, uri, mimeType } = block;
  const words = type === "audio" && version < "2025-03-26" ? `[audio, ${mimeType}]`
    : type === "resource_link" && version < "2025-06-18" ? `${name}: ${uri}` : undefined;
  return words === undefined ? strip(block, version) : { type: "text", text: words };
}
function olderTool(version: string, tool: unknown): unknown {
  const older = strip(tool, version, TOOL_FIELDS);
  if (!isObject(older)) return older;
  const { outputSchema, ...others } = older; // of objects alone, before
  return isObject(outputSchema) && outputSchema.type === "object" ? older : others;
}

/** A complete result as a revision knows it. */
export function downgrade(version: string, method: string, result: Params): Params {
  const { resultType, ttlMs, cacheScope, _meta, ...kept } = result;
  const { "io.modelcontextprotocol/serverInfo": info, ...meta } = Object(_meta);
  const own = Object.keys(meta).length > 0 ? { _meta: meta } : {};
  const { tools, content, structuredContent, messages, ...others } = kept;
  if (method === "tools/list") {
    return { ...kept, ...own, tools: each(tools, (tool) => olderTool(version, tool)) };
  }
  if (method === "tools/call") {
    const structured = version >= "2025-06-18" && isObject(structuredContent);
    return { ...others, ...own, content: each(content, (block) => olderBlock(version, block)),
      ...(structured && { structuredContent }) };
  }
  if (method === "prompts/get") {
    return { ...kept, ...own, messages: each(messages, (message) => !isObject(message) ? message
      : { ...message, content: olderBlock(version, message.content) }) };
  }
  for (const key of ["resources", "resourceTemplates", "prompts", "contents"]) {
    if (key in kept) kept[key] = each(kept[key], (entry) => strip(entry, version));
  }
  return { ...kept, ...own };
}
/** Capabilities of a server as a revision knows them. */
export const olderCapabilities = (version: string, capabilities: unknown): unknown =>
  strip(capabilities, version, CAPABILITIES);
export const olderInfo = (version: string, info: unknown): unknown =>
  strip(info, version, INFO_FIELDS);

/** What a client of a revision can be asked, in the words of today. */
export function newerCapabilities(version: string, declared: unknown): ClientCapabilities {
  const { elicitation, sampling, roots, experimental } = isObject(declared) ? declared : {};
  const whole = version >= "2025-11-25";
  return {
    ...(version >= "2025-06-18" && isObject(elicitation) &&
      { elicitation: whole ? elicitation : { form: {} } }),
    ...(isObject(sampling) && { sampling: whole ? sampling : {} }),
    ...(isObject(roots) && { roots: {} }),
    ...(isObject(experimental) && { experimental: experimental as Record<string, JSONObject> }),
  };
}
/** A field of a form. Choices with titles were two lists before; several at once were not. */
function olderField(field: unknown): unknown {
  if (!isObject(field)) return field;
  if (field.type === "array") throw new TypeError("2025-06-18 has no choice of several");
  const { oneOf, default: preset, ...others } = field;
  const kept = field.type === "boolean" && preset !== undefined ? { ...others, default: preset }
    : others;
  if (!Array.isArray(oneOf)) return kept;
  return { ...kept, enum: oneOf.map((one) => one.const), enumNames: oneOf.map((one) => one.title) };
}
/** The params of an input request that a server of a revision sends. */
export function olderParams(version: string, request: InputRequest, elicitationId: string):
  Params | undefined {
  if (request.method === "roots/list") return request.params;
  if (request.method === "sampling/createMessage") {
    if (version >= "2025-11-25") return { ...request.params };
    const messages = request.params.messages.flatMap(({ role, content }) =>
      [content].flat().map((block) => ({ role, content: olderBlock(version, block) })));
    return { ...request.params, messages }; // a message had one block
  }
  if (request.params.mode === "url") return { ...request.params, elicitationId };
  if (version >= "2025-11-25") return { ...request.params };
  const { message, requestedSchema } = request.params;
  const properties = Object.fromEntries(Object.entries(requestedSchema.properties)
    .map(([name, field]) => [name, olderField(field)]));
  return { message, requestedSchema: { ...requestedSchema, properties } };
}
/** A notification as a revision knows it. */
export function olderNotification(version: string, { method, params }: JSONRPCNotification):
  JSONRPCNotification {
  const { _meta, message, ...kept } = params ?? {};
  const { "io.modelcontextprotocol/subscriptionId": id, ...meta } = Object(_meta);
  const more = { ...(Object.keys(meta).length > 0 && { _meta: meta }), ...(message !== undefined &&
    (method !== "notifications/progress" || version >= "2025-03-26") && { message }) };
  const all = { ...kept, ...more };
  return { jsonrpc: "2.0", method, ...(Object.keys(all).length > 0 && { params: all }) };
}
/** An error as a revision knows it: a resource that is not there had a code of its own. */
export function olderError(method: string, response: JSONRPCErrorResponse): JSONRPCErrorResponse {
  const { code, data } = response.error;
  const missing = method === "resources/read" && code === INVALID_PARAMS &&
    isObject(data) && "uri" in data;
  return missing ? { ...response, error: { ...response.error, code: LEGACY_NOT_FOUND } } : response;
}
// #endregion

// #region 35. Sessions
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes channel-server
//   channel-client input-requests round-trips progress-logging subscriptions
//   older-revisions · spec@2025-11-25 basic/lifecycle
//
// Before 2026-07-28 a client and a server first shook hands, and what they said
// there held for all that followed; and a server could send requests itself.
// This is a translator: towards the old client it keeps that state, towards the
// server of this file it is a client like any other. It writes the state into
// each request, and when a result asks for input, it sends a request and calls
// again with the answer. No handler knows of it.
//
//   → {"jsonrpc":"2.0","id":1,"method":"initialize","params":{
//     "protocolVersion":"2025-11-25","capabilities":{},
//     "clientInfo":{"name":"old","version":"1"}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25",
//     "capabilities":{..},"serverInfo":{..}}}
//   → {"jsonrpc":"2.0","method":"notifications/initialized"}

export interface Lane {
  /** Sends a request of the server on the stream of the call, where there are several. */
  ask?(request: JSONRPCNotification): void;
  /** Closes the connection and keeps the call: the client comes back after so many ms. */
  detach?(retryMs: number): void;
}
export interface SessionPort {
  /** Sends what belongs to no call. */
  send(message: JSONRPCNotification): void | Promise<void>;
  notifications?: NotificationHandlers;
  report?: (error: unknown) => void;
  /** The revision, where there is no handshake and the server can send no request. */
  without?: string;
}
export interface Session {
  /** The server, in the dialect of this client. */
  exchange: Exchange;
  /** Takes an answer of the client. */
  settle(answer: JSONRPCResponse): void;
  notifications: NotificationHandlers;
  /** The revision agreed on; undefined before. */
  version(): string | undefined;
  close(reason: TransportError): void;
}
/** Of a client: its revision, what it can be asked, who it is, the level of its log. */
interface Agreed {
  version: string; capabilities: ClientCapabilities; info: unknown; level: unknown }
const ASK_MS = 600_000; // that a client has to answer
const MODERN_ONLY = ["server/discover", LISTEN];

/** Asks a client for input, in its dialect. */
function askOlder(port: SessionPort, { version }: Agreed, begun: Promise<void>) {
  const calls = pendingCalls();
  let last = 0;
  const visited = new WeakMap<Lane, string[]>(); // pages that the user agreed to visit, by call
  const one = async (request: InputRequest, lane: Lane): Promise<unknown> => {
    // SHOULD: not sooner (spec@2025-11-25 basic/lifecycle#initialization)
    await begun;
    const elicitationId = crypto.randomUUID();
    const params = olderParams(version, request, elicitationId);
    const waiting: Lane = { notify() {},
      signal: AbortSignal.any([lane.signal, AbortSignal.timeout(ASK_MS)]) };
    const answer = await calls.ask({ jsonrpc: "2.0", id: `s${++last}`, method: request.method,
      ...(params && { params }) }, waiting, (message) => lane.ask === undefined
      ? void port.send(message) : lane.ask(message));
    const elicits = request.method === "elicitation/create";
    if ("error" in answer && elicits) return { action: "cancel" };
    if ("error" in answer) throw new ProtocolError(INTERNAL_ERROR, answer.error.message);
    const { result } = answer;
    if (elicits && request.params.mode === "url" && Object(result).action === "accept") {
      visited.set(lane, [...visited.get(lane) ?? [], elicitationId]);
    }
    return result;
  };
  return {
    calls,
    async all(requests: unknown, lane: Lane): Promise<Params> {
      const asked = Object.entries(Object(requests) as InputRequests);
      return Object.fromEntries(await Promise.all(asked.map(async ([key, request]) =>
        [key, await one(request, lane)])));
    },
    /** Tells of pages that were visited, when the call for which they were is done. */
    done(lane: Lane): void {
      for (const elicitationId of visited.get(lane) ?? []) void port.send({ jsonrpc: "2.0",
        method: "notifications/elicitation/complete", params: { elicitationId } });
      visited.delete(lane);
    },
  };
}
/** The error for a client that cannot be sent requests: it may visit pages, and call again. */
function pagesToVisit(requests: unknown): ProtocolError {
  const pages = Object.values(Object(requests) as InputRequests); // else it was -32021 already
  return new ProtocolError(URL_ELICITATION_REQUIRED, "Visit the page, then call again",
    { elicitations: pages.map(({ params }) =>
      ({ ...params, elicitationId: crypto.randomUUID() })) });
}

interface SessionState {
  readonly exchange: Exchange;
  readonly port: SessionPort;
  agreed: Agreed | undefined;
  opening: Promise<unknown> | undefined; // the handshake, for which all else waits
  asker: ReturnType<typeof askOlder> | undefined;
  readonly begun: Promise<void>; // resolves when the client has said that it is ready
  readonly listens: Map<string, AbortController>; // ":uri" or "" for the lists
}
const nobody: Lane = { signal: new AbortController().signal, notify() {} };

function begin(state: SessionState, version: string, declared: unknown, info: unknown): void {
  const capabilities = newerCapabilities(version, declared);
  state.agreed = { version, info, level: undefined, capabilities };
  state.asker = askOlder(state.port, state.agreed, state.begun);
}
/** A request in the words of today: it says itself what the handshake said. */
function newerRequest({ agreed }: SessionState, method: string, params: Params,
  id: RequestId = method): JSONRPCRequest {
  const _meta = { ...Object(params._meta), [PROTOCOL_VERSION]: MODERN_VERSIONS[0],
    [CLIENT_CAPABILITIES]: agreed?.capabilities ?? {},
    ...(agreed?.info !== undefined && { "io.modelcontextprotocol/clientInfo": agreed.info }),
    ...(agreed?.level !== undefined && { [LOG_LEVEL]: agreed.level }) };
  return { jsonrpc: "2.0", id, method, params: { ...params, _meta } };
}
async function discoverFor(state: SessionState): Promise<Params> {
  const response = await state.exchange(newerRequest(state, "server/discover", {}), nobody);
  return "result" in response ? response.result : {};
}
async function initialize(state: SessionState, params: Params): Promise<Params> {
  const { protocolVersion, capabilities, clientInfo } = params;
  const stands = state.port.without !== undefined; // each request for itself
  if (state.agreed !== undefined && !stands) {
    throw new ProtocolError(INVALID_REQUEST, "This session is initialized already");
  }
  if (typeof protocolVersion !== "string") {
    throw new ProtocolError(INVALID_PARAMS, "initialize needs protocolVersion, a string");
  }
  // MUST: another one that we speak (spec@2025-11-25 basic/lifecycle#version-negotiation)
  const version = LEGACY_VERSIONS.find((one) => one === protocolVersion) ?? `${LEGACY_VERSIONS[0]}`;
  if (!stands) begin(state, version, capabilities, clientInfo); // at once: there may be a second
  const { capabilities: offered, instructions, _meta } = await discoverFor(state);
  const info = Object(_meta)["io.modelcontextprotocol/serverInfo"];
  const able = Object.entries(Object(offered)).map(([name, settings]) => {
    const { listChanged, subscribe, ...others } = Object(settings); // both take a session
    return [name, stands ? others : settings];
  });
  return { protocolVersion: version,
    capabilities: olderCapabilities(version, Object.fromEntries(able)),
    serverInfo: olderInfo(version, info), ...(instructions !== undefined && { instructions }) };
}
/** Listens on behalf of a client, which hears of changes without having asked. */
function listenFor(state: SessionState, key: string, notifications: SubscriptionFilter): void {
  const { exchange, port, listens, agreed } = state;
  const controller = new AbortController();
  const version = agreed?.version ?? "";
  const request = newerRequest(state, LISTEN, { notifications }, `listen ${key}`);
  listens.set(key, controller);
  controller.signal.addEventListener("abort", () => listens.delete(key));
  exchange(request, { signal: controller.signal, notify: (notification) =>
    notification.method === "notifications/subscriptions/acknowledged" ? undefined
      : port.send(olderNotification(version, notification)) }).catch(port.report);
}
const ALL_LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
/** What a session answers itself. */
const OWN_METHODS: Readonly<Record<string, (state: SessionState, params: Params) =>
  Params | Promise<Params>>> = {
    "logging/setLevel"({ agreed }, { level }) {
      const known: readonly unknown[] = LOGGING_LEVELS;
      if (!known.includes(level)) throw new ProtocolError(INVALID_PARAMS, "Unknown log level");
      if (agreed !== undefined) agreed.level = level;
      return {};
    },
    async "resources/subscribe"(state, { uri }) {
      const { capabilities } = await discoverFor(state);
      if (typeof uri !== "string") throw new ProtocolError(INVALID_PARAMS, "uri must be a string");
      const able = Object(Object(capabilities).resources).subscribe === true;
      const why = "Method not found: resources/subscribe";
      if (!able || state.port.without !== undefined) throw new ProtocolError(METHOD_NOT_FOUND, why);
      const key = `:${uri}`;
      if (state.listens.has(key)) return {};
      if (state.listens.size >= MAX_URIS) {
        throw new ProtocolError(INVALID_PARAMS, "Too many subscriptions: unsubscribe first");
      }
      listenFor(state, key, { resourceSubscriptions: [uri] });
      return {};
    },
    "resources/unsubscribe"({ listens }, { uri }) {
      if (typeof uri !== "string") throw new ProtocolError(INVALID_PARAMS, "uri must be a string");
      listens.get(`:${uri}`)?.abort(); // which forgets it
      return {};
    },
  };

/** A call and its rounds, as one call. */
async function translate(state: SessionState, { id, method, params = {} }: JSONRPCRequest,
  lane: Lane): Promise<JSONRPCResponse> {
  const { exchange, asker, port, agreed } = state;
  const version = agreed?.version ?? "";
  let invalid: string | undefined;
  let reached = -Infinity; // how far it was said to be: each round begins anew, the call does not
  const inner = extendLane(lane, { invalid: (why) => void (invalid = why), notify(one) {
    const { progress } = one.params ?? {};
    const grows = typeof progress !== "number" || progress > reached;
    if (typeof progress === "number") reached = Math.max(reached, progress);
    return grows ? lane.notify(olderNotification(version, one)) : undefined;
  } });
  let again = {};
  for (let round = 0; round <= 10; round++) {
    const request = newerRequest(state, method, { ...params, ...again }, id);
    const response = await exchange(request, inner);
    if ("error" in response) return olderError(method, response);
    if (invalid !== undefined && version < "2025-11-25") {
      throw new ProtocolError(INVALID_PARAMS, invalid);
    }
    const { result } = response;
    if (result.resultType !== "input_required") {
      asker?.done(lane);
      return { jsonrpc: "2.0", id, result: downgrade(version, method, result) as Result };
    }
    const { inputRequests, requestState } = result;
    if (port.without !== undefined) throw pagesToVisit(inputRequests);
    const inputResponses = await asker?.all(inputRequests, lane);
    again = { ...(inputRequests !== undefined && { inputResponses }),
      ...(requestState !== undefined && { requestState }) };
  }
  throw new ProtocolError(INTERNAL_ERROR, `${method} asks for input without end`);
}
const ownMethods = new Map(Object.entries(OWN_METHODS));
async function answerOlder(state: SessionState, request: JSONRPCRequest, lane: Lane):
  Promise<JSONRPCResponse> {
  const { id, method, params = {} } = request;
  if (method === "ping") return { jsonrpc: "2.0", id, result: {} as Result };
  if (method === "initialize") {
    const opening = initialize(state, params);
    state.opening ??= opening.catch(() => {}); // who waits for it finds out
    return { jsonrpc: "2.0", id, result: await opening as Result };
  }
  if (state.opening !== undefined) await state.opening;
  // SHOULD: the handshake comes first (spec@2025-11-25 basic/lifecycle#initialization)
  if (state.agreed === undefined) {
    throw new ProtocolError(NOT_INITIALIZED, "Server not initialized: send initialize, or name " +
      `${MODERN_VERSIONS} in params._meta`);
  }
  const own = ownMethods.get(method);
  if (own !== undefined) return { jsonrpc: "2.0", id, result: await own(state, params) as Result };
  if (!MODERN_ONLY.includes(method)) return translate(state, request, lane);
  throw new ProtocolError(METHOD_NOT_FOUND, `Method not found: ${method}`);
}

/** A session with one client of an earlier revision. */
export function openSession(exchange: Exchange, port: SessionPort): Session {
  const { report = () => {}, without } = port;
  let start = () => {};
  const state: SessionState = { exchange, port: { ...port, report }, agreed: undefined,
    opening: undefined, asker: undefined, listens: new Map(),
    begun: new Promise((resolve) => (start = resolve)) };
  if (without !== undefined) {
    begin(state, without, without >= "2025-11-25" ? { elicitation: { url: {} } } : {}, undefined);
  }
  return {
    version: () => state.agreed?.version,
    settle(answer) {
      if (state.asker?.calls.settle(answer)) return;
      report(new TransportError("stray", `answer to no request: ${JSON.stringify(answer.id)}`));
    },
    exchange: (request, lane) => answerOlder(state, request, lane).catch((error: unknown) => {
      if (!(error instanceof ProtocolError) && !lane.signal.aborted) report(error);
      return errorResponse(request.id, error);
    }),
    notifications: { ...port.notifications, "notifications/initialized"() {
      start();
      const deaf = state.agreed === undefined || without !== undefined || state.listens.has("");
      if (!deaf) listenFor(state, "", ALL_LISTS);
    } },
    close(reason) {
      state.asker?.calls.close(reason);
      for (const controller of [...state.listens.values()]) controller.abort();
    },
  };
}
// #endregion

// #region 36. Both eras, one channel
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes channel-server
//   sessions · spec basic/versioning#compatibility-matrix
//
// One server speaks to clients of all revisions over one pipe. Each message
// says itself to which era it belongs: it names its revision, or it does not.
// In 2025-03-26 several messages could also come as one array.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/list"}
//   ← {"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":".."}}

/** Whether a message names its revision, as those of this era do. */
export const isModern = (message: unknown): boolean => isObject(message) &&
  isObject(message.params) && isObject(message.params._meta) &&
  typeof message.params._meta[PROTOCOL_VERSION] === "string";

/** Several messages as one; gives their answers as one too, "" when there are none. */
export async function takeBatch(session: Session, messages: readonly unknown[],
  say: (text: string) => void, ends: Set<ServedEnd>): Promise<string> {
  const answers: string[] = [];
  if (messages.length === 0) {
    const why = "an empty array is no message";
    return JSON.stringify(errorResponse(undefined, new ProtocolError(INVALID_REQUEST, why)));
  }
  const batch = serveChannel(session.exchange, (text) => {
    if (text.startsWith('{"jsonrpc":"2.0","method"')) say(text);
    else answers.push(text);
  }, { notifications: session.notifications, other: session.settle });
  ends.add(batch);
  for (const message of messages) void batch.receive(JSON.stringify(message));
  await batch.idle();
  ends.delete(batch);
  return answers.length === 0 ? "" : `[${answers.join(",")}]`;
}

/** The server's end of a channel, for both eras. */
export function serveEither(exchange: Exchange, send: SendText, options: ServeOptions = {}):
  ServedEnd {
  const { notifications = {}, report = () => {} } = options;
  const session = openSession(exchange, { report, notifications, send(message) {
    if (options.full?.()) throw new TransportError("overflow", TOO_SLOW);
    return send(JSON.stringify(message));
  } });
  const older = { ...options, notifications: session.notifications, other: session.settle };
  const modern = serveChannel(exchange, send, options);
  const legacy = serveChannel(session.exchange, send, older);
  const ends = new Set([modern, legacy]); // and those of arrays, while they last
  let opening: RequestId | undefined;

  function take(message: JSONRPCMessage, bytes?: number): void | Promise<void> {
    const { method, id, params } = message as JSONRPCRequest; // of which some may be missing
    if (method === "initialize") opening ??= id;
    else if (method !== undefined && id === opening) opening = undefined; // the id of another now
    if (method !== "notifications/cancelled") {
      const own = isModern(message) ? modern : legacy;
      const taken = method !== undefined && [...ends].find((end) => end !== own && end.holds(id));
      return (taken || own).take(message, bytes);
    }
    // MUST: never initialize (spec@2025-11-25 basic/utilities/cancellation#behavior-requirements)
    if (params?.requestId === opening && opening !== undefined) return;
    for (const end of ends) void end.take(message);
  }
  return {
    take,
    receive(text) {
      let [read, id]: [JSONRPCMessage | unknown[] | undefined, unknown] = [undefined, undefined];
      try {
        const value = parseJSON(text);
        id = isObject(value) && !("method" in value) ? value.id : undefined;
        read = Array.isArray(value) ? value : readMessage(value);
      } catch (error) {
        if (isRequestId(id)) session.settle(errorResponse(id, error)); // nobody waits in vain
        return modern.receive(text); // which says what is wrong
      }
      if (!Array.isArray(read)) return take(read, text.length);
      if (session.version() !== "2025-03-26") {
        return modern.refuse("several messages at once are of 2025-03-26 alone");
      }
      // Not waited for: what the client answers meanwhile has to be read.
      void takeBatch(session, read, send, ends).then((answers) => answers && send(answers));
    },
    refuse: modern.refuse,
    holds: (id) => [...ends].some((end) => end.holds(id)),
    async idle() {
      await Promise.all([...ends].map((end) => end.idle()));
    },
    close(reason) {
      session.close(reason);
      for (const end of ends) end.close(reason);
    },
  };
}
// #endregion

// #region 37. Streams that last
// uses messages handlers texts-and-lanes channel-server server-sent-events
//   http-requests http-server sessions both-eras-one-channel
//   · spec@2025-11-25 basic/transports#resumability-and-redelivery
//
// In a session a call belongs to the session and not to a connection. What it
// says is numbered and kept, within bounds; a connection is a reader that comes
// and goes, and one that comes back says which event it saw last.
//
//   id: 3-7
//   data: {"jsonrpc":"2.0","method":"notifications/progress","params":{..}}

export interface SessionOptions {
  /** Sessions at once; 10,000. More are refused with 503. */
  max?: number;
  /** Milliseconds without a call or a stream after which a session ends; 1,800,000. */
  idleMs?: number;
  /** Streams that a session may have open; 16. More are refused with 429. */
  maxStreams?: number;
  /** Events that a session keeps; 1,000. */
  replayEvents?: number;
  /** Bytes that the events of all sessions may take; 64 MiB. The oldest go first. */
  replayBytes?: number;
  now?: () => number;
}
/** Options of a server for both eras; `false`: no sessions, each request stands alone. */
export interface BothOptions extends HttpOptions { sessions?: SessionOptions | false }

/** What one call says, numbered; it goes on without a connection. */
interface CallStream {
  readonly id: number;
  last: number; // number of its last event
  gone: number; // up to here forgotten
  sent: number; // up to here written to somebody
  ended: boolean;
  events: Events | undefined; // of the connection that reads it
}
interface KeptEvent { stream: CallStream; seq: number; event: ServerSentEvent; size: number }
interface HttpSession {
  id: string; // "" where each request stands alone
  session: Session;
  kept: Set<KeptEvent>;
  streams: Map<number, CallStream>; // 0 carries what belongs to no call
  count: number; // of streams so far
  lanes: Map<RequestId, OpenLane>;
  batches: Set<ServedEnd>;
  used: number;
  owner: string | undefined; // the id of the principal that opened it
}
/** All sessions of an endpoint. */
interface Desk {
  exchange: Exchange;
  options: BothOptions;
  sessions: Map<string, HttpSession>;
  log: EventLog;
  swept: number; // when idle sessions were last looked for
  limits: Required<Pick<SessionOptions, "max" | "idleMs" | "maxStreams" | "now">>;
}
type EventLog = ReturnType<typeof eventLog>;

/** The events of all sessions, within bounds. */
function eventLog({ replayEvents = 1_000, replayBytes = 64 * 1024 * 1024 }: SessionOptions) {
  const all = new Map<KeptEvent, HttpSession>(); // the oldest first
  let bytes = 0;
  const drop = (kept: KeptEvent | undefined) => {
    const http = kept && all.get(kept);
    if (kept === undefined || http === undefined) return;
    const { stream } = kept;
    all.delete(kept);
    http.kept.delete(kept);
    bytes -= kept.size;
    stream.gone = kept.seq;
    if (stream.ended && stream.gone === stream.last) http.streams.delete(stream.id);
  };
  return {
    drop,
    add(http: HttpSession, kept: KeptEvent): void {
      http.kept.add(kept);
      all.set(kept, http);
      bytes += kept.size;
      if (http.kept.size > replayEvents) drop(http.kept.values().next().value);
      while (bytes > replayBytes) drop(all.keys().next().value);
    },
  };
}

function newStream(http: Pick<HttpSession, "count" | "streams">): CallStream {
  const stream = { id: http.count++, last: 0, gone: 0, sent: 0, ended: false, events: undefined };
  http.streams.set(stream.id, stream);
  return stream;
}
/** Says something on a stream: it is kept, and sent when somebody reads. */
function writeTo(desk: Desk, http: HttpSession, stream: CallStream, data: string): void {
  const seq = ++stream.last;
  const event = http.id === "" ? { data } : { id: `${stream.id}-${seq}`, data };
  if (http.id !== "") desk.log.add(http, { stream, seq, event, size: data.length + 100 });
  try {
    if (stream.events === undefined) return;
    void stream.events.send(event);
    stream.sent = seq;
  } catch { // the reader is too far behind: it may come back for the rest
    leave(stream, stream.events);
  }
}
/** A connection has gone; its stream stays. */
function leave(stream: CallStream, events: Events | undefined): void {
  events?.stop();
  if (stream.events === events) stream.events = undefined;
}
/** Gives a connection what it missed of a stream, then the rest as it comes. */
async function follow(http: HttpSession, stream: CallStream, after: number, events: Events):
  Promise<void> {
  stream.events?.end(); // one reader at a time: the new one takes over
  stream.events = undefined;
  try {
    for (let seq = after, more = true; more; ) {
      const missed = [...http.kept].filter((kept) => kept.stream === stream && kept.seq > seq);
      for (const { seq: next, event } of missed) {
        seq = next;
        stream.sent = Math.max(stream.sent, seq);
        const wait = events.send(event);
        if (wait !== undefined) await wait;
      }
      more = missed.length > 0;
    }
    if (stream.ended || stream.events !== undefined) return events.end();
    stream.events = events;
  } catch {
    leave(stream, events);
  }
}

/** Runs several messages as one; what they say and ask meanwhile goes on a stream of their own. */
function replyToBatch(desk: Desk, http: HttpSession, messages: readonly unknown[],
  { onClose, principal }: HttpRequest): Promise<HttpReply> {
  const stream = newStream(http);
  return new Promise((resolve) => {
    let streams = false;
    const say = (text: string) => {
      if (!streams) {
        const events = stream.events = eventStream(desk.options);
        onClose(() => leave(stream, events));
        resolve({ status: 200, headers: STREAM_HEADERS, stream: (sink) => events.attach(sink) });
      }
      streams = true;
      writeTo(desk, http, stream, text);
    };
    const more = { ...(principal && { principal }), ask: (one: JSONRPCNotification) =>
      say(JSON.stringify(one)) };
    const session: Session = { ...http.session, exchange: (request, lane) =>
      http.session.exchange(request, extendLane(lane, more)) };
    void takeBatch(session, messages, say, http.batches).then((body) => {
      const answers: unknown[] = body === "" ? [] : [JSON.parse(body)].flat();
      if (streams) for (const answer of answers) say(JSON.stringify(answer));
      else resolve(body === "" ? { status: 202, headers: {} }
        : { status: 200, headers: JSON_HEADERS, body });
      stream.ended = true;
      stream.events?.end();
      stream.events = undefined;
      if (stream.last === stream.gone) http.streams.delete(stream.id);
    });
  });
}
/** Runs a call of a session; replies with JSON if that is ready soon, else on its stream. */
function replyInSession(desk: Desk, http: HttpSession, request: JSONRPCRequest,
  asking: HttpRequest): Promise<HttpReply> {
  const { options, limits: { now } } = desk;
  const stream = newStream(http);
  return new Promise((resolve) => {
    let state: "waiting" | "streaming" | "done" = "waiting";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const open = () => {
      if (state !== "waiting") return;
      state = "streaming";
      const events = stream.events = eventStream(options);
      asking.onClose(() => leave(stream, events)); // SHOULD NOT cancel, so it does not
      resolve({ status: 200, headers: STREAM_HEADERS, stream: (sink) => events.attach(sink) });
      // SHOULD: primed (spec@2025-11-25 basic/transports#sending-messages-to-the-server)
      const primes = http.id !== "" && http.session.version() === "2025-11-25";
      if (primes) writeTo(desk, http, stream, "");
    };
    const say = (message: JSONRPCNotification) => {
      open();
      writeTo(desk, http, stream, JSON.stringify(message));
    };
    const finish = () => {
      clearTimeout(timer);
      state = "done";
      stream.ended = true;
      stream.events?.end();
      stream.events = undefined;
      if (stream.last === stream.gone) http.streams.delete(stream.id);
      http.lanes.delete(request.id);
      http.used = now();
      options.open?.delete(lane);
    };
    const cut = () => (open(), finish()); // to nothing: who cancels gets no answer
    const lane = openLane(say, cut, asking.header, asking.principal);
    const owned = extendLane(lane, { ask: say, detach(retryMs) {
      // Nobody else would come back.
      if (http.session.version() !== "2025-11-25" || http.id === "") return;
      open();
      void stream.events?.send({ data: "", retry: retryMs });
      stream.events?.end();
      stream.events = undefined;
    } });
    http.lanes.set(request.id, lane);
    options.open?.add(lane);
    answer(http.session.exchange, request, owned, { report: options.report ?? (() => {}),
      done(text, response) {
        if (!lane.end()) return;
        const opens = request.method === "initialize"; // in its reply there are headers to come
        if (!opens && prefersStream(asking)) open();
        const named = http.id !== "" && opens && "result" in response;
        const headers = named ? { ...JSON_HEADERS, "Mcp-Session-Id": http.id } : JSON_HEADERS;
        if (state === "streaming") writeTo(desk, http, stream, text);
        else resolve({ status: 200, body: text, headers });
        finish();
      } });
    void turn(() => state === "waiting").then((late) => late && request.method !== "initialize" &&
      (timer = setTimeout(open, options.jsonWithinMs ?? 250)));
  });
}

// #endregion

// #region 38. Sessions over HTTP
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes http-requests
//   http-server older-revisions sessions both-eras-one-channel
//   streams-that-last · spec@2025-11-25 basic/transports#session-management
//
// Over HTTP a session has an id, which the reply to initialize gives and each
// later request repeats. POST brings messages, GET opens a stream for what the
// server says of itself or for one that broke, DELETE ends it all. Beside it,
// on the same endpoint, requests of this era need none of this.
//
//   GET /mcp, Mcp-Session-Id: 1868a90c, Last-Event-ID: 3-7
//     -> the events 3-8, 3-9 .. of the call whose stream is number 3

/** A new session; without an id where each request stands alone. */
function newSession(desk: Desk, id: string, principal?: Principal, without?: string):
  HttpSession {
  const { exchange, options: { report, notifications }, limits: { now } } = desk;
  const session = openSession(exchange, { ...(report && { report }),
    ...(notifications && { notifications }), ...(without !== undefined && { without }),
    send: (message) => writeTo(desk, http, own, JSON.stringify(message)) });
  const http: HttpSession = { id, session, kept: new Set(), streams: new Map(), count: 0,
    lanes: new Map(), batches: new Set(), used: now(), owner: principal?.id };
  const own = newStream(http);
  if (id !== "") desk.sessions.set(id, http);
  return http;
}
function endSession(desk: Desk, http: HttpSession, why: string): void {
  const reason = new TransportError("closed", why);
  desk.sessions.delete(http.id);
  http.session.close(reason);
  for (const lane of [...http.lanes.values()]) lane.end(reason);
  for (const end of http.batches) end.close(reason);
  for (const stream of http.streams.values()) stream.events?.end();
  for (const kept of [...http.kept]) desk.log.drop(kept);
}
const isOpen = ({ events }: CallStream) => events !== undefined;
/** Ends the sessions that nobody has used for long. */
function sweep(desk: Desk): void {
  const { idleMs, now } = desk.limits;
  const since = now() - idleMs;
  if (now() < desk.swept + Math.min(1_000, idleMs)) return; // it looks at all of them
  desk.swept = now();
  for (const http of [...desk.sessions.values()]) {
    const idle = http.used <= since && http.lanes.size + http.batches.size === 0 &&
      ![...http.streams.values()].some(isOpen);
    if (idle) endSession(desk, http, "the session was idle for too long");
  }
}
/** The session that a request names, or why it is refused. */
function sessionOf(desk: Desk, { header, principal }: HttpRequest): HttpSession | HttpReply {
  const id = header("mcp-session-id");
  const version = header("mcp-protocol-version");
  const http = desk.sessions.get(id ?? "");
  // SHOULD: 400 without an id (spec@2025-11-25 basic/transports#session-management)
  if (id === null) return refuse(400, "Mcp-Session-Id is missing: send initialize first, or use " +
    `MCP-Protocol-Version: ${MODERN_VERSIONS}`);
  const ours = http !== undefined && http.owner === principal?.id; // a stolen id opens nothing
  // MUST: 404 when it has ended (spec@2025-11-25 basic/transports#session-management)
  if (!ours) return refuse(404, "Session not found: send initialize");
  if (version !== null && !LEGACY_VERSIONS.includes(version)) {
    // MUST: 400 (spec@2025-11-25 basic/transports#protocol-version-header)
    return refuse(400, `MCP-Protocol-Version ${version} is not that of the session`);
  }
  http.used = desk.limits.now();
  return http;
}
/** The session for a POST: a new one for initialize, one for the moment where there are none. */
function sessionFor(desk: Desk, value: unknown, http: HttpRequest): HttpSession | HttpReply {
  if (desk.options.sessions === false) {
    const version = http.header("mcp-protocol-version") ?? "2025-03-26";
    if (LEGACY_VERSIONS.includes(version)) return newSession(desk, "", http.principal, version);
    return refuse(400, `MCP-Protocol-Version ${version} is not spoken here`);
  }
  if (!isObject(value) || value.method !== "initialize") return sessionOf(desk, http);
  const named = http.header("mcp-protocol-version");
  const asked = isObject(value.params) ? value.params.protocolVersion : undefined;
  // MUST: both are one (spec@2025-11-25 basic/transports#protocol-version-header)
  if (named !== null && named !== asked) return refuse(400, "MCP-Protocol-Version is another");
  if (value.jsonrpc !== "2.0" || !isRequestId(value.id) || typeof asked !== "string") {
    return newSession({ ...desk, sessions: new Map() }, "none"); // to be refused, and forgotten
  }
  if (desk.sessions.size >= desk.limits.max) return refuse(503, "Too many sessions: try later");
  return newSession(desk, crypto.randomUUID(), http.principal);
}
/** Takes what an older client posts. */
async function postOlder(desk: Desk, value: unknown, http: HttpRequest): Promise<HttpReply> {
  const found = sessionFor(desk, value, http);
  if ("status" in found) return found;
  const { session, lanes } = found;
  if (Array.isArray(value)) {
    if (session.version() !== "2025-03-26") {
      return refuse(400, "several messages at once are of 2025-03-26 alone");
    }
    return replyToBatch(desk, found, value, http);
  }
  let message: JSONRPCMessage;
  try {
    message = readMessage(value);
  } catch (error) {
    const answered = isObject(value) && !("method" in value) ? value.id : undefined;
    if (isRequestId(answered)) session.settle(errorResponse(answered, error)); // nobody waits on
    return refusal(400, error, (error as ProtocolError).id ?? undefined);
  }
  if ("method" in message && "id" in message) {
    if (lanes.has(message.id)) return refuse(400, `id ${message.id} is still in flight`);
    if (lanes.size >= 256) return refuse(429, "Too many calls at once: wait for some to end");
    return replyInSession(desk, found, message, http);
  }
  if (!("method" in message)) session.settle(message);
  else if (message.method !== "notifications/cancelled") {
    void guarded(new Map(Object.entries(session.notifications)).get(message.method),
      message.params ?? {}, desk.options.report ?? (() => {}));
  } else {
    const { requestId, reason = "no reason given" } = message.params ?? {};
    lanes.get(requestId as RequestId)?.end(
      new TransportError("cancelled", `cancelled by the client: ${reason}`));
    for (const end of found.batches) void end.take(message);
  }
  return { status: 202, headers: {} };
}
/** Opens a stream for reading: that of the session, or the one whose event is named. */
function getStream(desk: Desk, request: HttpRequest): HttpReply {
  const { header, onClose } = request;
  if (!accepts(header("accept"), "text/event-stream")) {
    return refuse(406, "Accept must list text/event-stream");
  }
  const found = sessionOf(desk, request);
  if ("status" in found) return found;
  const last = header("last-event-id");
  const [, id, seq] = /^(\d+)-(\d+)$/.exec(last ?? "0-0") ?? [];
  const stream = found.streams.get(Number(id));
  const after = last === null ? Math.max(stream?.sent ?? 0, stream?.gone ?? 0) : Number(seq);
  if (stream === undefined || after < stream.gone || after > stream.last) {
    return refuse(400, `Last-Event-ID ${last}: what came after it is not kept`);
  }
  const open = [...found.streams.values()].filter((one) => one !== stream && isOpen(one));
  if (open.length >= desk.limits.maxStreams) return refuse(429, "Too many streams are open");
  const events = eventStream(desk.options);
  const { open: all } = desk.options;
  const lane = openLane(() => {}, () => events.end()); // for whoever shuts the server down
  all?.add(lane);
  onClose(() => {
    leave(stream, events);
    all?.delete(lane);
    found.used = desk.limits.now();
  });
  return { status: 200, headers: STREAM_HEADERS, stream(sink) {
    events.attach(sink);
    const primes = last === null && found.session.version() === "2025-11-25";
    void follow(found, stream, after, events)
      .then(() => primes && writeTo(desk, found, stream, ""));
  } };
}

/** Serves all revisions on one endpoint. */
export function serveBoth(exchange: Exchange, options: BothOptions = {}): HttpHandler {
  const { sessions = {} } = options;
  const { max = 10_000, idleMs = 1_800_000, maxStreams = 16, now = Date.now } = sessions || {};
  const desk: Desk = { exchange, options, sessions: new Map(), swept: 0,
    log: eventLog(sessions || {}), limits: { max, idleMs, maxStreams, now } };
  const modern = modernPost(exchange, options);
  const isOlder = ({ header }: HttpRequest) => {
    const version = header("mcp-protocol-version");
    return version === null || LEGACY_VERSIONS.includes(version) ||
      header("mcp-session-id") !== null;
  };
  const both: Record<string, HttpHandler> = {
    async POST(http) {
      const read = await readPost(http, options);
      if (!("value" in read)) return read;
      if (isModern(read.value) || !isOlder(http)) return modern(read.value, http);
      sweep(desk);
      return postOlder(desk, read.value, http);
    },
    async GET(http) {
      sweep(desk);
      return getStream(desk, http);
    },
    async DELETE(http) {
      sweep(desk);
      const found = sessionOf(desk, http);
      if ("status" in found) return found;
      endSession(desk, found, "the client ended the session");
      return { status: 204, headers: {} };
    },
  };
  const whole = endpoint(both, options);
  const { POST } = both;
  const postOnly = endpoint(POST === undefined ? {} : { POST }, options);
  // MUST: 405 for what this era lacks (spec basic/transports/streamable-http#message-flow)
  return (http) => sessions === false || http.method !== "POST" && !isOlder(http) ? postOnly(http)
    : whole(http);
}
// #endregion

// #region 39. Shaking hands
// uses messages errors-and-parsing versions-and-meta handlers texts-and-lanes
//   input-requests progress-logging answering older-revisions
//   · spec@2025-11-25 basic/lifecycle
//
// The client's half of a session: to begin it, to put requests into the older
// words and results into those of today, and to answer what the server asks.
//
//   initialize -> protocolVersion, capabilities; then notifications/initialized

/** Which dialect to speak: the one found out, or one of the two. */
export type Era = "auto" | "modern" | "legacy";
export interface HandshakeOptions extends AnsweringOptions {
  era?: Era;
  /** Who answers what the server asks. */
  answers?: Answers;
  /** Milliseconds to wait for an answer to the question whether it is of this era; 3,000. */
  probeMs?: number;
  /** Gets what nobody waits for. */
  other?: (message: JSONRPCMessage) => void;
}
/** The way to an older server: requests in its dialect, and whatever else there is to send. */
export interface OlderPort {
  exchange: Exchange;
  send(message: JSONRPCNotification | JSONRPCResponse): void | Promise<void>;
  /** Hears of the revision, when the handshake is done. */
  ready?(version: string): void;
}
export interface OlderServer {
  exchange: Exchange;
  /** Takes what the server says of itself. */
  take(message: JSONRPCMessage): void;
  /** The session is lost: the next call shakes hands again, if there can be one. */
  forget(reason?: TransportError): void;
}
interface Handshake {
  version: string;
  capabilities: Params;
  serverInfo: unknown;
  instructions: unknown;
}

/** Whether an answer to server/discover is one of a server of this era. */
export const knowsDiscover = (answer: JSONRPCResponse): boolean => "error" in answer
  ? answer.error.code <= -32020 && answer.error.code >= UNSUPPORTED_PROTOCOL_VERSION
  : Array.isArray(answer.result.supportedVersions);
export const probeOf = ({ params }: JSONRPCRequest): JSONRPCRequest => ({ jsonrpc: "2.0",
  id: "probe", method: "server/discover", params: { _meta: params?._meta } });

const unheard: Lane = { signal: new AbortController().signal, notify() {} };
async function shake(port: OlderPort, request: JSONRPCRequest): Promise<Handshake> {
  const { [CLIENT_CAPABILITIES]: declared, "io.modelcontextprotocol/clientInfo": clientInfo =
    { name: "mcp-raw", version: "0.1.0" } } = metaOf(request);
  const { extensions, ...capabilities } = Object(declared);
  const response = await port.exchange({ jsonrpc: "2.0", id: "initialize", method: "initialize",
    params: { protocolVersion: LEGACY_VERSIONS[0], capabilities, clientInfo } }, unheard);
  if ("error" in response) {
    const { code, message, data } = response.error;
    throw new ProtocolError(code, message, data);
  }
  const { protocolVersion: version, serverInfo, instructions, capabilities: offered } =
    response.result;
  // SHOULD: else no more (spec@2025-11-25 basic/lifecycle#version-negotiation)
  if (typeof version !== "string" || !LEGACY_VERSIONS.includes(version)) {
    throw new TransportError("version", `The server speaks ${JSON.stringify(version)}, and this ` +
      `client ${[...MODERN_VERSIONS, ...LEGACY_VERSIONS].join(", ")}`);
  }
  port.ready?.(version);
  // MUST: said before all else (spec@2025-11-25 basic/lifecycle#initialization)
  await port.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  return { version, serverInfo, instructions, capabilities: Object(offered) };
}
const TO_KEEP = ["server/discover", "tools/list", "prompts/list", "resources/list",
  "resources/templates/list", "resources/read"]; // results that say for how long

/** A result in the words of today. */
function newerResult(method: string, { serverInfo }: Handshake, result: Result): Result {
  const hints = TO_KEEP.includes(method) ? { ttlMs: 0, cacheScope: "private" } : {};
  const info = isObject(serverInfo) && { "io.modelcontextprotocol/serverInfo": serverInfo };
  const { nextCursor, ...kept } = result; // "" was the end of a list, to many
  return { ...hints, ...kept, ...(nextCursor !== "" && nextCursor !== undefined && { nextCursor }),
    resultType: "complete", _meta: { ...Object(result._meta), ...info } };
}
/** A request without what only servers of this era know. */
function olderRequest({ params = {}, ...request }: JSONRPCRequest): JSONRPCRequest {
  const meta = Object.entries(Object(params._meta))
    .filter(([key]) => !key.startsWith("io.modelcontextprotocol/"));
  const { _meta, ...given } = params;
  const kept = meta.length === 0 ? given : { ...given, _meta: Object.fromEntries(meta) };
  return { ...request, ...(Object.keys(kept).length > 0 && { params: kept }) };
}

/** Answers what an older server asks. */
function answerServer(send: OlderPort["send"], options: HandshakeOptions) {
  const { answers = {} } = options;
  const asked = new Map<RequestId, AbortController>();
  const outcome = async ({ id, method, params }: JSONRPCRequest): Promise<JSONRPCResponse> => {
    if (method === "ping") return { jsonrpc: "2.0", id, result: {} as Result };
    const declared = capabilitiesFor(answers);
    const known = ["elicitation/create", "sampling/createMessage", "roots/list"].includes(method);
    if (!known || !Object.hasOwn(declared, method.split("/")[0] ?? "")) {
      throw new ProtocolError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    }
    const request = { method, ...(params && { params }) } as InputRequest; // looked at here
    const wrong = inputFault(request) ?? (lacking(declared, capabilityFor(request)) &&
      "this client did not declare that");
    if (wrong !== undefined) throw new ProtocolError(INVALID_PARAMS, wrong);
    const controller = new AbortController();
    asked.set(id, controller);
    const { signal } = controller;
    const all = await answerAll({ [method]: request }, { method, signal }, answers, options);
    return { jsonrpc: "2.0", id, result: all[method] as unknown as Result };
  };
  return {
    take(request: JSONRPCRequest): void {
      void outcome(request).catch((error: unknown) => {
        if (error instanceof TransportError) options.warn?.(error.message);
        return errorResponse(request.id, error);
      })
        .then((answer) => {
          const cancelled = asked.get(request.id)?.signal.aborted;
          asked.delete(request.id);
          return cancelled ? undefined : send(answer);
        })
        .catch((error: Error) => options.warn?.(`An answer was not sent: ${error.message}`));
    },
    cancel: (id: unknown) => asked.get(id as RequestId)?.abort(),
    close() {
      for (const controller of asked.values()) controller.abort(); // nobody waits any more
    },
  };
}

// #endregion

// #region 40. Older servers
// uses messages handlers texts-and-lanes channel-server stdio progress-logging
//   subscriptions answering older-revisions shaking-hands
//   · spec@2025-11-25 basic/lifecycle#operation
//
// A client of this era, in front of a server that wants a handshake. The client
// sees an Exchange like any other. Behind it the first call shakes hands, what
// the server asks of itself is answered by those who answer anyway, and what it
// says of itself goes to those who listen.
//
//   client.call("tools/list", {})
//     -> initialize, notifications/initialized, tools/list

interface Hearing {
  filter: SubscriptionFilter;
  lane: Lane;
  id: RequestId;
  lose(reason: TransportError): void;
}
interface OlderState {
  readonly port: OlderPort;
  readonly options: HandshakeOptions;
  readonly hearings: Set<Hearing>;
  readonly logging: Map<Lane, (cause: unknown) => void>; // of calls that asked for a log
  readonly visited: Set<unknown>; // ids of pages that are done with
  readonly told: ReturnType<typeof gate>; // opens when there is one more
  ready: Promise<Handshake> | undefined;
  level: unknown;
  count: number;
}
/** A request of our own. */
const ownCall = (state: OlderState, method: string, params: Params) => state.port.exchange(
  { jsonrpc: "2.0", id: `own-${++state.count}`, method, params }, unheard);

/** Listens: the server tells of changes anyway, or is asked to for a resource. */
async function listenOlder(state: OlderState, { id, params = {} }: JSONRPCRequest, lane: Lane,
  { capabilities }: Handshake): Promise<never> {
  const { hearings } = state;
  const wanted = Object(params.notifications);
  const able = Object.entries(ADVERTISED).filter(([kind, [name, member]]) => wanted[kind] &&
    Object(capabilities[name])[member] === true);
  const filter: SubscriptionFilter = Object.fromEntries(able.map(([kind]) => [kind, wanted[kind]]));
  const uris: string[] = [];
  for (const uri of filter.resourceSubscriptions ?? []) {
    const answer = await ownCall(state, "resources/subscribe", { uri });
    if (!("error" in answer)) uris.push(uri);
  }
  if (filter.resourceSubscriptions !== undefined) filter.resourceSubscriptions = uris;
  return new Promise((_, lose) => {
    const hearing = { filter, lane, id, lose };
    const stop = () => {
      hearings.delete(hearing);
      const heard = [...hearings].flatMap((one) => one.filter.resourceSubscriptions ?? []);
      for (const uri of uris.filter((uri) => !heard.includes(uri))) {
        ownCall(state, "resources/unsubscribe", { uri }).catch(() => {}); // it is gone anyway
      }
      lose(abortReason(lane.signal));
    };
    if (lane.signal.aborted) return stop();
    hearings.add(hearing);
    lane.signal.addEventListener("abort", stop);
    void lane.notify({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged",
      params: { _meta: { [SUBSCRIPTION_ID]: id }, notifications: filter } });
  });
}
/** The pages of an error -32042, visited; false when the user did not want to. */
async function visitPages({ options, visited, told }: OlderState, error: Params,
  method: string): Promise<boolean> {
  const pages = [Object(error.data).elicitations].flat().filter(isObject);
  const visits = pages.length > 0 && pages.every(({ mode }) => mode === "url");
  if (options.answers?.url === undefined || !visits) return false;
  const requests = Object.fromEntries(pages.map((params, at) =>
    [`${at}`, { method: "elicitation/create", params }]));
  const all = await answerAll(requests, { method, signal: undefined }, options.answers ?? {},
    options);
  const agreed = Object.values(all).every((one) => "action" in one && one.action === "accept");
  const done = async () => {
    while (!pages.every((page) => visited.has(page.elicitationId))) await told.wait();
  };
  if (agreed) await endsWithin(10_000, done()); // word of it may come, or not
  return agreed;
}
async function callOlder(state: OlderState, request: JSONRPCRequest, lane: Lane,
  handshake: Handshake): Promise<JSONRPCResponse> {
  const { method } = request;
  const wanted = metaOf(request)[LOG_LEVEL];
  if (wanted !== undefined && wanted !== state.level && "logging" in handshake.capabilities) {
    state.level = wanted;
    await ownCall(state, "logging/setLevel", { level: wanted });
  }
  const failed = new Promise<never>((_, reject) => {
    const fail = (cause: unknown) =>
      reject(new TransportError("usage", "the listener of the call failed", { cause }));
    if (wanted !== undefined) state.logging.set(lane, fail);
  });
  try {
    const ask = (id: RequestId) => Promise.race([failed,
      state.port.exchange({ ...olderRequest(request), id }, lane)]);
    let response = await ask(request.id);
    const visits = "error" in response && response.error.code === URL_ELICITATION_REQUIRED;
    if (visits && await visitPages(state, Object(response).error, method)) {
      response = await ask(`own-${++state.count}`);
    }
    return "error" in response ? { ...response, id: request.id }
      : { jsonrpc: "2.0", id: request.id, result: newerResult(method, handshake, response.result) };
  } finally {
    state.logging.delete(lane);
  }
}
/** Hands what the server says of itself to those who asked for it; false: nobody did. */
function handOn({ hearings, logging }: OlderState, message: JSONRPCNotification): boolean {
  const { method, params = {} } = message;
  if (method === "notifications/message") {
    const [[lane, fail] = []] = logging; // a log line names no call: the oldest gets it
    if (lane && fail) void guarded(() => lane.notify(message), {}, fail);
    return lane !== undefined;
  }
  const kinds = Object.keys(NOTIFICATIONS) as (ChangeKind)[];
  const kind = kinds.find((kind) => NOTIFICATIONS[kind] === method);
  if (kind === undefined) return false;
  const change = { kind, uri: String(params.uri) };
  for (const { lane, id, lose } of [...hearings].filter(({ filter }) => concerns(filter, change))) {
    const _meta = { ...Object(params._meta), [SUBSCRIPTION_ID]: id };
    void guarded(() => lane.notify({ ...message, params: { ...params, _meta } }), {}, (cause) =>
      lose(new TransportError("usage", "the listener of the call failed", { cause })));
  }
  return true;
}

/** Speaks to an older server, in the words of today. */
export function speakOlder(port: OlderPort, options: HandshakeOptions = {}): OlderServer {
  const { other = () => {} } = options;
  const server = answerServer(port.send, options);
  const state: OlderState = { port, options, hearings: new Set(), logging: new Map(),
    visited: new Set(), told: gate(), ready: undefined, level: undefined, count: 0 };
  const forget = (reason = new TransportError("closed", "The session has ended")) => {
    [state.ready, state.level] = [undefined, undefined];
    for (const hearing of state.hearings) hearing.lose(reason); // to be heard again, perhaps
    state.hearings.clear();
    state.visited.clear();
    server.close();
  };
  const agree = (request: JSONRPCRequest) => state.ready ??= shake(port, request).catch((error) => {
    forget();
    throw error;
  });
  return {
    forget,
    async exchange(request, lane) {
      const { id, method } = request;
      const handshake = await unlessAborted(agree(request), lane.signal);
      if (method === LISTEN) {
        return unlessAborted(listenOlder(state, request, lane, handshake), lane.signal);
      }
      if (method === "server/discover") {
        const { version, capabilities, instructions } = handshake;
        const result = { resultType: "complete", supportedVersions: [version], capabilities,
          ...(instructions !== undefined && { instructions }) };
        return { jsonrpc: "2.0", id, result: newerResult(method, handshake, result) };
      }
      return callOlder(state, request, lane, handshake).catch(async (error: unknown) => {
        if (!(error instanceof TransportError) || error.code !== "session") throw error;
        // It was refused unread, so it may be made again; once.
        return callOlder(state, request, lane, await agree(request)).catch((error: unknown) => {
          if (!(error instanceof TransportError) || error.code !== "session") throw error;
          throw new TransportError("http", "HTTP 404 in a new session, too",
            { reply: { status: 404, text: "" } });
        });
      });
    },
    take(message) {
      if (state.ready === undefined || !("method" in message)) return other(message);
      const { method, params = {} } = message;
      if ("id" in message) server.take(message);
      else if (method === "notifications/cancelled") server.cancel(params.requestId);
      else if (method === "notifications/elicitation/complete") {
        if (state.visited.size < 1_000) state.visited.add(params.elicitationId);
        state.told.open();
      } else if (!handOn(state, message)) other(message);
    },
  };
}
// #endregion

// #region 41. Either era
// uses messages handlers texts-and-lanes channel-server channel-client
//   subscribing shaking-hands older-servers
//   · spec basic/transports/stdio#backward-compatibility
//
// Which of the two does a server speak? The first thing it hears is the
// question that only one of this era can answer. Any other answer, or none,
// means that it wants a handshake; and one that dies of it is started again.
//
//   → {"jsonrpc":"2.0","id":"probe","method":"server/discover","params":{..}}
//   ← {"jsonrpc":"2.0","id":"probe","result":{..}}

/** Why a channel closed: the server did not bear the question. */
const PROBED = "it ended when it was asked for its revisions";
/** The client's end of a channel, for servers of both eras. */
export function connectEither(send: SendText,
  options: ConnectOptions & HandshakeOptions = {}): ConnectedEnd {
  const { era = "auto", probeMs = 3_000 } = options;
  let refuse = () => {};
  const channel = connectChannel(send, { ...options, other(message) {
    const unnamed = "error" in message && (message.id ?? null) === null;
    if (unnamed) refuse(); // an error for who knows what: for the question, if there is one
    older.take(message);
  } });
  const older = speakOlder({ exchange: channel.exchange,
    send: (message) => send(JSON.stringify(message)) }, options);
  let found: Promise<boolean> | undefined;
  let discovered: JSONRPCResponse | undefined;
  const isOlder = async (request: JSONRPCRequest): Promise<boolean> => {
    if (era !== "auto") return era === "legacy";
    const patience = new AbortController();
    try {
      const silence = Promise.race([pause(probeMs, patience.signal),
        new Promise<void>((resolve) => (refuse = resolve))]).then(() => undefined);
      discovered = await Promise.race([channel.exchange(probeOf(request), unheard), silence]);
      // MUST: no one code decides (spec basic/transports/stdio#backward-compatibility)
      return discovered === undefined || !knowsDiscover(discovered);
    } catch (error) {
      if (error instanceof TransportError && error.code === "closed") {
        throw new TransportError("closed", error.message, { cause: PROBED });
      }
      return true; // rubbish
    } finally {
      patience.abort();
    }
  };
  return { ...channel, receive(text) {
    if (!text.startsWith("[")) return channel.receive(text);
    try { // several messages as one, of 2025-03-26
      const all: unknown = parseJSON(text);
      for (const one of [all].flat()) void channel.receive(JSON.stringify(one));
    } catch {
      return channel.receive(text);
    }
  }, close(reason) {
    channel.close(reason);
    older.forget(reason);
  }, async exchange(request, lane) {
    const isOld = await unlessAborted(found ??= isOlder(request), lane.signal);
    if (isOld) return older.exchange(request, lane);
    const first = request.method === "server/discover" ? discovered : undefined;
    discovered = undefined; // it answers the first question, and no later one
    return first === undefined ? channel.exchange(request, lane) : { ...first, id: request.id };
  } };
}
interface Startable { exchange: Exchange; close(): Promise<void>; closed: Promise<void> }
/** Starts a server once more, for an older client, when the question for its revisions ended it. */
export async function startEither<C extends Startable>(start: (era: Era) => Promise<C>,
  era: Era = "auto"): Promise<Startable> {
  let current: Startable = await start(era);
  let restarted: Promise<Startable> | undefined;
  let closing = false;
  let finish = () => {};
  const closed = new Promise<void>((resolve) => (finish = resolve));
  const watch = (connection: Startable) => {
    void connection.closed.then(() => connection === current && finish());
    return connection;
  };
  watch(current);
  return {
    closed,
    async close() {
      closing = true;
      await current.close();
      finish();
    },
    exchange: (request, lane) => current.exchange(request, lane).catch(async (error: unknown) => {
      // SHOULD: no more of it (spec@2025-11-25 basic/lifecycle#version-negotiation)
      if (error instanceof TransportError && error.code === "version") await current.close();
      const bears = !(error instanceof TransportError) || error.cause !== PROBED;
      if (bears || closing) throw error;
      restarted ??= start("legacy").then((next) => watch(current = next));
      return (await restarted).exchange(request, lane);
    }),
  };
}
// #endregion

// #region 42. Older servers over HTTP
// uses messages errors-and-parsing handlers texts-and-lanes channel-client stdio
//   server-sent-events http-client subscribing shaking-hands
//   older-servers
//   · spec basic/transports/streamable-http#backward-compatibility
//
// The same over HTTP, where the server may have given a session id, may say
// what it likes on a stream of its own, and may break off a stream that the
// client then takes up again where it was.
//
//   POST initialize                -> 200, Mcp-Session-Id: 1868a90c
//   GET, Mcp-Session-Id: 1868a90c  -> what the server says of itself

export interface EitherHttpOptions extends HttpClientOptions, HandshakeOptions {
  /** Milliseconds before a broken stream is taken up again, unless the server says; 1,000. */
  retryMs?: number;
  /** Times in a row to try that without hearing anything new; 5. */
  maxRetries?: number;
  warn?: (text: string) => void;
}
interface OlderHttp extends OlderPort {
  /** Opens the stream of the session, for what the server says of itself. */
  listen(): void;
  close(): Promise<void>;
}

interface OlderHttpState {
  readonly url: string;
  readonly options: EitherHttpOptions;
  readonly calls: PendingCalls;
  readonly closing: AbortController;
  take(message: JSONRPCMessage): void;
  lost(): void;
  session: string | undefined;
  version: string | undefined;
  flying: Map<RequestId, string | undefined>; // calls under way, and their session
}
const EVENTS = { Accept: "text/event-stream" };

async function requestOlder({ url, options, session, version }: OlderHttpState,
  more: Record<string, string>, init: RequestInit): Promise<Response> {
  const headers = new Headers({ ...more,
    ...(session !== undefined && { "Mcp-Session-Id": session }),
    ...(version !== undefined && { "MCP-Protocol-Version": version }) });
  for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
  try {
    return await (options.fetch ?? fetch)(url, { ...init, headers, redirect: "manual" });
  } catch (cause) {
    if (isKnown(cause)) throw cause;
    throw new TransportError("unreachable", `Cannot reach ${bareUrl(url)}: ${reasonOf(cause)}`,
      { cause });
  }
}
/** Takes a message; false: it is none. */
function receiveOlder({ calls, take, options }: OlderHttpState, text: string,
  asked?: JSONRPCMessage): boolean {
  try {
    const read = readMessage(parseJSON(text));
    // An error without an id is about what was posted.
    const own = "error" in read && (read.id ?? null) === null && asked && "id" in asked;
    const message: JSONRPCMessage = own ? { ...read, id: asked.id } as JSONRPCErrorResponse : read;
    if (calls.settle(message) === false) take(message);
    return true;
  } catch (error) {
    options.warn?.(`The server sent what is no message: ${reasonOf(error)}`);
    return false;
  }
}
/** Reads a stream, and takes it up again when it breaks; says what was heard, and how to wait. */
async function followOlder(state: OlderHttpState, first: Response, signal: AbortSignal):
  Promise<{ heard: boolean; wait: number }> {
  const { limit = MAX_MESSAGE, retryMs = 1_000, maxRetries = 5 } = state.options;
  let [last, wait, failures]: [string | undefined, number, number] = [undefined, retryMs, 0];
  let heard = false; // an event with a new id, or with something in it
  const read = async (body: ReadableStream<Uint8Array>) => {
    for await (const { id, data, retry } of readEvents(body, limit)) {
      if (id !== undefined && id !== last) [last, failures] = [id, 0];
      if (retry !== undefined) wait = retry;
      heard ||= data !== "" || id !== undefined;
      if (data !== "") receiveOlder(state, data);
      await undefined; // whoever got it ends the signal
      if (signal.aborted) return;
    }
  };
  for (let response: Response | undefined = first; response?.body; ) {
    await read(response.body).catch(() => {}); // it broke off
    if (signal.aborted || last === undefined || failures++ >= maxRetries) return { heard, wait };
    // MUST: not sooner (spec@2025-11-25 basic/transports#sending-messages-to-the-server)
    await pause(wait, signal);
    if (signal.aborted) return { heard, wait };
    response = await requestOlder(state, { ...EVENTS, "Last-Event-ID": last }, { signal })
      .catch(() => undefined);
    if (response !== undefined && response.status !== 200) return { heard, wait }; // it is gone
    if (response === undefined && failures < maxRetries) response = first; // not there: once more
  }
  return { heard, wait };
}
async function postOlderServer(state: OlderHttpState, message: JSONRPCMessage,
  signal: AbortSignal): Promise<void> {
  const opens = "method" in message && message.method === "initialize";
  if (opens) state.session = state.version = undefined;
  const sent = state.session;
  const response = await requestOlder(state, { "Content-Type": "application/json",
    Accept: "application/json, text/event-stream" },
  { method: "POST", body: JSON.stringify(message), signal });
  const { status, headers } = response;
  // MUST: a new session after 404 (spec@2025-11-25 basic/transports#session-management)
  if (status === 404 && sent !== undefined) {
    const ended = new TransportError("closed", "The session has ended");
    if (state.session === sent) {
      state.session = undefined;
      state.lost();
      // Those under way may be refused alike, and made again; else nobody
      // answers them.
      const dead = [...state.flying].filter(([, session]) => session === sent);
      void pause(500, state.closing.signal).then(() => dead.forEach(([id]) =>
        state.flying.get(id) === sent && state.calls.fail(ended, id)));
    }
    throw new TransportError("session", "The session has ended");
  }
  if (opens && status === 200) state.session = headers.get("mcp-session-id") ?? undefined;
  const streams = hasType(response, "text/event-stream");
  if (streams) return void await followOlder(state, response, signal);
  const text = await readText(response.body, state.options.limit ?? MAX_MESSAGE) ?? "";
  const json = hasType(response, "application/json") && text !== "";
  if (json && receiveOlder(state, text, message)) return;
  if (status >= 300 || status === 200 && "id" in message) throw new TransportError("http",
    `HTTP ${status} from ${bareUrl(state.url)}: ${JSON.stringify(text.slice(0, 200))}`,
    { reply: { status, text } });
}
/** Reads the stream of the session, for what the server says of itself. */
async function hearSession(state: OlderHttpState): Promise<void> {
  const { session, closing: { signal }, options: { retryMs = 1_000, maxRetries = 5 } } = state;
  let known = false; // that there is such a stream
  for (let failures = 0; failures <= maxRetries && state.session === session; failures++) {
    const response = await requestOlder(state, EVENTS, { signal }).catch((error: unknown) => {
      if (!known) throw error;
    });
    const streams = response?.status === 200 && hasType(response, "text/event-stream");
    if (response && !streams) return response.body?.cancel(); // there need not be one
    known = true;
    const { heard = false, wait = retryMs } =
      response ? await followOlder(state, response, signal) : {};
    if (heard) failures = -1; // only those in a row count
    await pause(wait, signal);
    if (signal.aborted) return;
  }
}

function olderHttp(state: OlderHttpState): OlderHttp {
  const { calls, closing, options: { warn = () => {} } } = state;
  const failure = (cause: unknown) => isKnown(cause) ? cause
    : new TransportError("unreadable", `The reply broke off: ${reasonOf(cause)}`, { cause });
  const send: OlderPort["send"] = (message) => postOlderServer(state, message, closing.signal)
    .catch((cause) => closing.signal.aborted || warn(failure(cause).message)) as Promise<void>;
  return {
    send,
    ready: (version) => void (state.version = version >= "2025-06-18" ? version : undefined),
    exchange(request, lane) {
      const ended = new AbortController();
      const signal = AbortSignal.any([ended.signal, closing.signal]);
      const asking = calls.ask(request, lane, (message) => {
        if (message !== request) return void send(message); // that it is cancelled
        state.flying.set(request.id, state.session);
        postOlderServer(state, request, signal).then(
          () => calls.fail(new TransportError("closed", "The server did not answer"), request.id),
          (cause: unknown) => calls.fail(failure(cause), request.id));
      });
      return asking.finally(() => {
        state.flying.delete(request.id);
        ended.abort();
      });
    },
    listen: () => void hearSession(state).catch((error: unknown) =>
      closing.signal.aborted || warn(failure(error).message)),
    async close() {
      const ends = !closing.signal.aborted && state.session !== undefined;
      calls.close(new TransportError("closed", "The connection is closed"));
      closing.abort();
      if (!ends) return;
      // SHOULD: the session is ended (spec@2025-11-25 basic/transports#session-management)
      const patience = new AbortController();
      const deleting = requestOlder(state, {}, { method: "DELETE", signal: patience.signal });
      await endsWithin(2_000, deleting.then((response) => response.body?.cancel()));
      patience.abort();
    },
  };
}

/** An Exchange over HTTP, for servers of both eras. */
export function connectHttpEither(url: string, options: EitherHttpOptions = {}):
  { exchange: Exchange; close(): Promise<void> } {
  const { era = "auto" } = options;
  const closing = new AbortController();
  const inner = options.fetch ?? fetch;
  const modern = connectHttp(url, { ...options, fetch: (input, init = {}) =>
    inner(input, { ...init, signal: init.signal ? AbortSignal.any([init.signal, closing.signal])
      : closing.signal }) });
  const http = olderHttp({ url, options, calls: pendingCalls(), closing: new AbortController(),
    session: undefined, version: undefined, flying: new Map(),
    take: (message) => older.take(message),
    lost: () => void older.forget() });
  const older = speakOlder({ ...http, send(message) {
    const initialized = "method" in message && message.method === "notifications/initialized";
    const sent = http.send(message);
    return initialized ? Promise.resolve(sent).then(http.listen) : sent;
  } }, options);
  let found: Promise<boolean> | undefined;
  let discovered: JSONRPCResponse | undefined;
  const isOlder = async (request: JSONRPCRequest): Promise<boolean> => {
    if (era !== "auto") return era === "legacy";
    try {
      const answer = await modern(probeOf(request), unheard);
      discovered = knowsDiscover(answer) ? answer : undefined;
      const known = "result" in answer && "resultType" in answer.result; // older ones lack it
      return discovered === undefined && !known;
    } catch (error) {
      const { status = 0 } = (error instanceof TransportError && error.reply) || {};
      if (status >= 400 && status < 500 && status !== 401 && status !== 403) return true;
      found = undefined; // nothing is known yet
      throw error;
    }
  };
  const close = () => {
    closing.abort(new TransportError("closed", "The connection is closed"));
    older.forget(abortReason(closing.signal));
    return http.close();
  };
  return { close, async exchange(request, lane) {
    if (closing.signal.aborted) throw abortReason(closing.signal);
    const isOld = await unlessAborted(found ??= isOlder(request), lane.signal);
    if (isOld) return older.exchange(request, lane);
    const first = request.method === "server/discover" ? discovered : undefined;
    discovered = undefined;
    return first === undefined ? modern(request, lane) : { ...first, id: request.id };
  } };
}
// #endregion

// Built by now: both ends, for every revision there is.
// Shown by examples/http-sse.ts.

// ---- Part VI: authorization -------------------------------------------------

// #region 43. Challenges
// uses texts-and-lanes · spec basic/authorization#error-handling
//
// A server that wants to know who calls answers 401 with a challenge: a scheme,
// and parameters that say where to ask for a token and what it must allow. From
// here on a client goes to URLs that strangers chose: it looks at each before,
// and follows no redirect to another origin.
//
//   ← HTTP/1.1 401 Unauthorized
//     WWW-Authenticate: Bearer scope="files:read", resource_metadata=
//       "https://example.com/.well-known/oauth-protected-resource/mcp"

/** A scheme in lower case, and its parameters by their lower-case names. */
export interface Challenge { scheme: string; parameters: Record<string, string> }

const PARAMETER = /([!#$%&'*+.^`|~\w-]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/;
const SCHEME = /([!#$%&'*+.^`|~\w-]+)(?=[\s,]|$)/; // a name without a value
const TOKEN68 = /[\w.~+/-]+=*(?=[\s,]|$)/; // what Negotiate says instead of parameters
const PART = new RegExp(`[\\s,]*(?:${PARAMETER.source}|${SCHEME.source}|${TOKEN68.source})`, "gy");
/** Reads WWW-Authenticate: Basic realm="a, b", Bearer scope="r w" -> two challenges. */
export function parseChallenges(header: string): Challenge[] {
  const challenges: Challenge[] = [];
  // Ends (y) at the first part that this grammar does not know.
  for (const [, name = "", quoted, bare = "", scheme] of header.matchAll(PART)) {
    const { parameters = {} } = challenges.at(-1) ?? {};
    if (scheme !== undefined) {
      challenges.push({ scheme: scheme.toLowerCase(), parameters: { __proto__: null } as never });
    } else if (name !== "") { // each name once (RFC 9110 §11.2): the first counts
      parameters[name.toLowerCase()] ??= quoted?.replace(/\\(.)/g, "$1") ?? bare;
    }
  }
  return challenges;
}
/** The same backwards; parameters that are undefined are left out. */
export function formatChallenge(scheme: string, parameters: Record<string, string | undefined>):
  string {
  const quoted = (text = "") => `"${text.replace(/[^ -~]/g, "?").replace(/["\\]/g, "\\$&")}"`;
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${quoted(value)}`);
  return `${scheme} ${pairs.join(", ")}`.trim();
}

const THIS_MACHINE = /^(?:localhost|.*\.localhost|127(?:\.\d+){3}|\[::1\])$/;
/** How far away a host is: 0 this machine, 1 a private network, 2 the rest. */
function distanceOf(hostname: string): 0 | 1 | 2 {
  const host = hostname.replace(/\.+$/, "");
  const here = /^(?:0(?:\.\d+){3}|\[(?:::|64:ff9b:|2002:).*)$/; // these IPv6 may hide any IPv4
  if (THIS_MACHINE.test(host) || here.test(host)) return 0;
  const near = /^(?:10|192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01])|198\.1[89])\.[\d.]+$|^\[f[cde]/;
  const shared = /^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.[\d.]+$/; // RFC 6598
  return near.test(host) || shared.test(host) ? 1 : 2;
}
/**
 * A URL that somebody gave, as given. Throws AuthorizationError "insecure" unless it is https, or
 * http on this machine, and no nearer to us than `from`, the URL of who gave it.
 */
export function trustedUrl(given: unknown, what: string, from?: string): string {
  const no = (why: string) => new AuthorizationError("insecure",
    `${what} is ${JSON.stringify(given)?.slice(0, 200)}: ${why}`);
  if (typeof given !== "string" || !URL.canParse(given)) throw no("it must be a URL");
  const { protocol, hostname, username, password } = new URL(given);
  const local = protocol === "http:" && THIS_MACHINE.test(hostname);
  // MUST: https, but for this machine (spec basic/authorization/security-considerations)
  if (protocol !== "https:" && !local) throw no("it must be https, or http on this machine");
  if (username !== "" || password !== "") throw no("it must not hold a name or a password");
  if (from !== undefined && distanceOf(hostname) < distanceOf(new URL(from).hostname)) {
    throw no(`${new URL(from).host} may not send us into a network of our own`);
  }
  return given;
}

/** Where a protected server says who hands out tokens for it (RFC 9728 §2). */
export interface ProtectedResourceMetadata {
  resource: string;
  authorization_servers?: string[];
  scopes_supported?: string[];
  bearer_methods_supported?: string[];
  [more: string]: unknown;
}
const WELL_KNOWN = "/.well-known/oauth-protected-resource";
/** The place of a well-known document: its name stands between host and path. */
const wellKnown = (url: URL, name: string) =>
  `${url.origin}${name}${url.pathname.replace(/\/$/, "")}${url.search}`;

/** A fetch that follows redirects on one origin alone: what it carries is not for others. */
export async function fetchHere(inner: typeof fetch, url: string, init: RequestInit = {}):
  Promise<Response> {
  let here = url;
  for (let hop = 0; ; hop++) {
    const response = await inner(here, { ...init, redirect: "manual" });
    const { status, headers, type } = response;
    const location = headers.get("location") ?? "";
    const moved = [301, 302, 303, 307, 308].includes(status) && location !== "";
    if (!moved && type !== "opaqueredirect") return response; // the latter is all a browser tells
    await response.body?.cancel();
    const next = URL.canParse(location, here) ? new URL(location, here) : undefined;
    const repeats = status > 303 || (init.method ?? "GET") === "GET"; // others would become GET
    if (next?.origin !== new URL(here).origin || !repeats || hop === 5) {
      throw new TransportError("redirect", `HTTP ${status} from ${bareUrl(here)}: it is at ` +
        `${bareUrl(next?.href ?? location)} now. Redirects are not followed; give that URL if ` +
        "you trust it");
    }
    here = next.href;
  }
}
// #endregion

// #region 44. Protected server
// uses messages texts-and-lanes http-requests challenges
//   · spec basic/authorization#access-token-usage
//
// A server that is protected hands out no tokens: it names the authorization
// servers that do, and looks at each token that comes back. How a token is
// verified is the business of a function that you pass; whom it is for, when it
// ends and what it allows is checked here.
//
//   → GET /.well-known/oauth-protected-resource/mcp HTTP/1.1
//   ← HTTP/1.1 200 OK
//     {"resource":"https://example.com/mcp","authorization_servers":
//      ["https://auth.example.com/t1"],..,"scopes_supported":["files:read"]}

/** What a token says; its id names its user, and is the same in every token of that user. */
export interface Access extends Principal {
  /** The servers that it is for. */
  audience: string | readonly string[];
  scopes: readonly string[];
  /** Milliseconds since 1970. */
  expiresAt?: number;
}
export interface ProtectOptions {
  /** The URL of this server, as clients know it: what tokens must be for. */
  resource: string;
  /** The issuers of tokens for it. */
  authorizationServers: readonly string[];
  /** What a token says when it is genuine, else undefined. A fault of its own it throws. */
  verify(token: string, http: HttpRequest): Promise<Access | undefined>;
  /** What every request needs. */
  scopes?: readonly string[];
  /** What a message needs beyond that; name all of it, so that the user is asked once. */
  scopesFor?(message: { method: string; params?: Params }): readonly string[];
  /** Whether what was granted covers a scope, where some imply others. */
  covers?(granted: readonly string[], scope: string): boolean;
  /** More fields of the metadata. */
  metadata?: Params;
  now?: () => number;
}
const sameUrl = (a: string, b: string) => a === b ||
  URL.canParse(a) && URL.canParse(b) && new URL(a).href === new URL(b).href;

/** A document for anybody, the pages of any origin included. */
function openDocument(document: ProtectedResourceMetadata): HttpHandler {
  const body = JSON.stringify(document);
  const headers = { ...JSON_HEADERS, "Access-Control-Allow-Origin": "*" };
  return async ({ method }): Promise<HttpReply> => /^(?:GET|HEAD)$/.test(method)
    ? { status: 200, headers, body }
    : method !== "OPTIONS" ? { status: 405, headers: { Allow: "GET, HEAD, OPTIONS" } }
    : { status: 204, headers: { ...headers, "Access-Control-Allow-Headers": "*" } };
}

/** A guard that asks for tokens; its routes are the metadata, at the path form and the root. */
export function protect(options: ProtectOptions): Guard {
  const { resource, authorizationServers, verify, scopes = [], now = Date.now } = options;
  const { covers = (granted, scope) => granted.includes(scope) } = options;
  const here = new URL(trustedUrl(resource, "resource"));
  const document = openDocument({ resource, authorization_servers: [...authorizationServers],
    bearer_methods_supported: ["header"],
    ...(scopes.length > 0 && { scopes_supported: [...scopes] }), ...options.metadata });
  const lacking = (access: Access, needed: readonly string[]) =>
    needed.some((scope) => !covers(access.scopes, scope));
  const challenge = (status: number, needed: readonly string[], error?: string, why?: string) => {
    const { headers, ...reply } = refuse(status, why ?? "Authorization is needed: send a token");
    // MUST: resource_metadata, the URL of the document above (RFC 9728 §5.1)
    return { ...reply, headers: { ...headers, "WWW-Authenticate": formatChallenge("Bearer", {
      error, error_description: why, scope: needed.join(" ") || undefined,
      resource_metadata: wellKnown(here, WELL_KNOWN) }) } };
  };
  const forbid = (needed: readonly string[]) =>
    challenge(403, needed, "insufficient_scope", "the token does not allow this");
  return {
    routes: { [WELL_KNOWN]: document,
      [`${WELL_KNOWN}${here.pathname.replace(/\/$/, "")}`]: document },
    async admit(http) {
      const said = http.header("authorization") ?? "";
      // MUST: from this header alone (spec basic/authorization#token-requirements)
      const [, token] = /^Bearer +([\w.~+/-]+=*)$/i.exec(said) ?? [];
      if (!/^Bearer\b/i.test(said)) return challenge(401, scopes);
      if (token === undefined) return challenge(400, [], "invalid_request", "this is no token");
      const refused = (why: string) => challenge(401, scopes, "invalid_token", why);
      const access = await verify(token, http);
      if (!access?.id) return refused("the token is not valid");
      // MUST: issued for this server (spec basic/authorization#token-handling)
      const ours = [access.audience].flat().some((one) => sameUrl(one, resource));
      if (!ours) return refused(`the token is not for ${resource}`);
      // MUST: 401 when it has expired (spec basic/authorization#token-handling)
      const { expiresAt = Infinity } = access;
      if (!(expiresAt > now())) return refused("the token has expired"); // NaN has, too
      return lacking(access, scopes) ? forbid(scopes) : access;
    },
    permit(value, { principal }) {
      if (options.scopesFor === undefined) return undefined; // admit() has seen to the rest
      const calls = [value].flat().filter((one): one is JSONRPCNotification =>
        isObject(one) && typeof one.method === "string"); // others are refused further on
      const more = calls.flatMap((one) => options.scopesFor?.(one) ?? []);
      const needed = [...new Set([...scopes, ...more])];
      // SHOULD: all that is needed at once (spec basic/authorization#scope-challenge-handling)
      return lacking(principal as Access, needed) ? forbid(needed) : undefined; // see admit()
    },
  };
}
// #endregion

// #region 45. Discovery
// uses messages texts-and-lanes server-sent-events challenges
//   · spec basic/authorization/authorization-server-discovery
//
// From the URL of a server to the endpoints that hand out tokens for it, in two
// steps: the server names its authorization servers, and one of these describes
// itself. Each document is believed about itself alone. One that says it is
// about somebody else may be an attack, and is not used.
//
//   → GET https://auth.example.com/.well-known/oauth-authorization-server/t1
//   ← HTTP/1.1 404 Not Found
//   → GET https://auth.example.com/.well-known/openid-configuration/t1
//   ← HTTP/1.1 200 OK
//     {"issuer":"https://auth.example.com/t1",
//     "token_endpoint":"https://auth.example.com/token",..

/** How an authorization server describes itself (RFC 8414 §2). */
export interface AuthorizationServerMetadata {
  issuer: string;
  authorization_endpoint?: string;
  token_endpoint: string;
  registration_endpoint?: string;
  scopes_supported?: string[];
  code_challenge_methods_supported?: string[];
  token_endpoint_auth_methods_supported?: string[];
  authorization_response_iss_parameter_supported?: boolean;
  client_id_metadata_document_supported?: boolean;
  [more: string]: unknown;
}
const MAX_DOCUMENT = 256 * 1024; // bytes, of metadata and of answers to a grant
const ACCEPT_JSON = { headers: { Accept: "application/json" } };

/** A JSON object out of a response, without what is null; undefined: no object, or too long. */
async function readDocument(response: Response): Promise<Params | undefined> {
  try {
    const value: unknown = JSON.parse(await readText(response.body, MAX_DOCUMENT) ?? "");
    return isObject(value) // what some leave out, others write as null
      ? Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null)) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
/** A fetch that ends in time, and whose failure says where: a browser tells nothing of CORS. */
async function askFor(inner: typeof fetch, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetchHere(inner, url, { ...init, signal: AbortSignal.timeout(30_000) });
  } catch (cause) {
    if (isKnown(cause)) throw cause;
    throw new TransportError("unreachable", `Cannot reach ${bareUrl(url)}: ${reasonOf(cause)}`,
      { cause });
  }
}
/** The first document without a fault. A network that fails is no answer, and ends the search. */
async function firstDocument(places: readonly string[], inner: typeof fetch, init: RequestInit,
  fault: (document: Params) => string | undefined): Promise<Params | undefined> {
  let wrong: string | undefined;
  for (const place of new Set(places)) {
    const response = await askFor(inner, place, init).catch((error: unknown) => {
      if (error instanceof TransportError && error.code === "redirect") return undefined;
      throw error;
    });
    const document = response?.status === 200 ? await readDocument(response) : undefined;
    await response?.body?.cancel().catch(() => {}); // it fails when it was read
    const { status = 404 } = response ?? {};
    if (status >= 500 && status !== 502) { // 502: a proxy with nothing behind that path
      throw new AuthorizationError("unavailable", `HTTP ${status} from ${bareUrl(place)}`);
    }
    if (document === undefined) continue;
    const why = fault(document);
    if (why === undefined) return document;
    wrong ??= `${bareUrl(place)}: ${why}`;
  }
  if (wrong !== undefined) throw new AuthorizationError("mismatch", wrong);
  return undefined;
}

const folderOf = (url: URL) => `${url.pathname.replace(/\/$/, "")}/`;
/** What a server says of itself (RFC 9728), at a challenge's `hint` first; undefined: nothing. */
export async function discoverResource(url: string, hint: string | undefined, inner: typeof fetch):
  Promise<ProtectedResourceMetadata | undefined> {
  const here = new URL(url);
  // MUST: where the challenge says, else with this path, else without (RFC 9728 §3.1, §5.1)
  const places = [wellKnown(here, WELL_KNOWN), `${here.origin}${WELL_KNOWN}`];
  if (hint !== undefined) places.unshift(trustedUrl(hint, "resource_metadata", url));
  const document = await firstDocument(places, inner, ACCEPT_JSON, ({ resource }) => {
    const about = URL.canParse(String(resource)) ? new URL(String(resource)) : undefined;
    // MUST: it is about this server, or a folder that this one is in (RFC 9728 §3.3)
    const ours = about?.origin === here.origin && folderOf(here).startsWith(folderOf(about));
    return ours ? undefined : `it describes ${JSON.stringify(resource)} and not ${bareUrl(url)}`;
  });
  return document as ProtectedResourceMetadata | undefined;
}

/** What an authorization server says of itself; undefined when it says nothing. */
export async function discoverIssuer(issuer: string, inner: typeof fetch,
  headers: Record<string, string> = {}): Promise<AuthorizationServerMetadata | undefined> {
  const url = new URL(issuer);
  // MUST: in this order (spec basic/authorization/authorization-server-discovery)
  const [oauth, openid] = ["/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration"] as const;
  const places = [wellKnown(url, oauth), wellKnown(url, openid),
    `${issuer.replace(/\/$/, "")}${openid}`];
  const document = await firstDocument(places, inner,
    { headers: { ...ACCEPT_JSON.headers, ...headers } }, (found) => found.issuer === issuer
      // MUST: identical, letter for letter (RFC 8414 §3.3)
      ? undefined : `its issuer is ${JSON.stringify(found.issuer)} and not ${issuer}`);
  if (document === undefined) return undefined;
  trustedUrl(document.token_endpoint, "token_endpoint", issuer);
  for (const name of ["authorization_endpoint", "registration_endpoint"]) {
    if (document[name] !== undefined) trustedUrl(document[name], name, issuer);
  }
  const lists = ["code_challenge_methods_supported", "token_endpoint_auth_methods_supported"];
  for (const name of lists) if (!Array.isArray(document[name])) delete document[name]; // no list
  return document as unknown as AuthorizationServerMetadata;
}

/** Whose tokens a server takes, what it is called there, and what its tokens may allow. */
export interface Place { resource: string; server: AuthorizationServerMetadata; scopes?: string[] }
/** Finds who hands out tokens for a server, from its 401 on. */
export async function locate(url: string, hint: string | undefined, inner: typeof fetch,
  { prefer, version }: { prefer?: string; version?: string | null } = {}): Promise<Place> {
  const described = await discoverResource(url, hint, inner);
  if (described !== undefined) {
    const { resource, authorization_servers: named, scopes_supported: scopes } = described;
    const issuers = [named ?? []].flat();
    if (issuers.length === 0) {
      throw new AuthorizationError("discovery", "it names nobody who hands out tokens for it");
    }
    const issuer = trustedUrl(issuers.find((one) => one === prefer) ?? issuers[0],
      "authorization_servers[0]", url);
    const server = await discoverIssuer(issuer, inner);
    if (server !== undefined) return { resource, server, ...(Array.isArray(scopes) && { scopes }) };
    throw new AuthorizationError("discovery", `${issuer} does not say how to get tokens from it`);
  }
  // MUST: else its own, and at set paths unless it says where (spec@2025-03-26 basic/authorization)
  const { origin } = new URL(trustedUrl(url, "The server"));
  const headers = version ? { "MCP-Protocol-Version": version } : undefined;
  const own = await discoverIssuer(origin, inner, headers);
  return { resource: url, server: own ?? { issuer: origin,
    authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`, code_challenge_methods_supported: ["S256"] } };
}
// #endregion

// #region 46. Registration
// uses messages texts-and-lanes challenges discovery
//   · spec basic/authorization/client-registration
//
// An authorization server wants to know the program before it asks the user. In
// order: a client id agreed on beforehand; a URL under which the program
// describes itself; and, for older servers, a registration on the spot. An id
// is worth nothing at another server, and is never shown to one.
//
//   → POST https://auth.example.com/register
//     {"client_name":"mcp-raw",..,"application_type":"native",
//     "token_endpoint_auth_method":"none",
//     "redirect_uris":["http://127.0.0.1:4711/cb"]}
//   ← HTTP/1.1 201 Created
//     {"client_id":"s6BhdRkqt3"}

/** Who the program is, at one authorization server (RFC 7591 §3.2.1). */
export interface ClientInformation {
  client_id: string;
  client_secret?: string;
  /** Seconds since 1970; 0: never. */
  client_secret_expires_at?: number;
  token_endpoint_auth_method?: string;
  redirect_uris?: string[];
  [more: string]: unknown;
}
const AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]; // preferred first

/** The error that an authorization server answered with. */
function oauthError(answer: Params | undefined, status: number, what: string): AuthorizationError {
  const { error, error_description: why = "" } = answer ?? {};
  return new AuthorizationError(String(error ?? `http_${status}`).slice(0, 200),
    `${what} was refused: ${error ?? `HTTP ${status}`} ${why}`.trim().slice(0, 1_000)
      .replace(/\p{C}/gu, "?"));
}
/** Registers the program (RFC 7591). Throws AuthorizationError. */
export async function registerClient(server: AuthorizationServerMetadata, metadata: Params,
  inner: typeof fetch): Promise<ClientInformation> {
  const { registration_endpoint: endpoint, token_endpoint_auth_methods_supported: known } = server;
  if (endpoint === undefined) {
    throw new AuthorizationError("registration", `${server.issuer} registers no programs itself: ` +
      "register this one there, and give its client id");
  }
  const body = JSON.stringify({ client_name: "mcp-raw",
    response_types: ["code"],
    // SHOULD: to be given refresh tokens (spec basic/authorization#refresh-tokens)
    grant_types: ["authorization_code", "refresh_token"],
    // MUST: which kind of program (spec basic/authorization/client-registration)
    application_type: "native",
    token_endpoint_auth_method: AUTH_METHODS.find((one) => known?.includes(one) ?? true) ?? "none",
    ...metadata });
  const response = await askFor(inner, endpoint, { method: "POST", body,
    headers: { ...ACCEPT_JSON.headers, "Content-Type": "application/json" } });
  const answer = await readDocument(response);
  if (typeof answer?.client_id !== "string" || !response.ok) {
    throw oauthError(answer, response.status, `The registration at ${server.issuer}`);
  }
  return answer as ClientInformation;
}

/**
 * Where logins are kept from one run to the next: JSON values by key. The keys are "client ISSUER",
 * "issuer of CLIENT", "server URL" (whose tokens it takes) and "tokens ISSUER RESOURCE".
 */
export interface Store {
  load(key: string): unknown;
  /** undefined: forget it. */
  save(key: string, value: unknown): unknown;
}
export function memoryStore(entries: Map<string, unknown> = new Map()): Store {
  return { load: (key) => entries.get(key), save: (key, value) =>
    void (value === undefined ? entries.delete(key) : entries.set(key, value)) };
}
export interface IdentifyOptions {
  /** Agreed on beforehand; with the issuer it is for, else the first one that is met. */
  client?: ClientInformation & { issuer?: string };
  /** The https URL where the program describes itself. */
  clientMetadataUrl?: string;
  /** What to register with, beyond what every program says. */
  clientMetadata?: Params;
  store?: Store;
  now?: () => number;
}
const clientKey = (issuer: string) => `client ${issuer}`;
/** The program's identity at a server; registers it when there is none. */
export async function identify(server: AuthorizationServerMetadata, redirectUri: string | undefined,
  inner: typeof fetch, options: IdentifyOptions): Promise<ClientInformation> {
  const { client, clientMetadataUrl, store = memoryStore(), now = Date.now } = options;
  const { issuer } = server;
  if (client !== undefined) {
    const bound = client.issuer ?? await store.load(`issuer of ${client.client_id}`) ?? issuer;
    // MUST: shown to nobody else (spec basic/authorization/client-registration)
    if (bound !== issuer) {
      throw new AuthorizationError("registration", `The client id is for ${bound}, but the ` +
        `server names ${issuer} now: register there if you trust it`);
    }
    if (client.issuer === undefined) await store.save(`issuer of ${client.client_id}`, issuer);
    return client;
  }
  if (clientMetadataUrl !== undefined && server.client_id_metadata_document_supported === true) {
    return { client_id: trustedUrl(clientMetadataUrl, "clientMetadataUrl") };
  }
  const stored = await store.load(clientKey(issuer)) as ClientInformation | undefined;
  const { client_secret_expires_at: ends = 0, redirect_uris: uris } = stored ?? {};
  const fits = redirectUri === undefined || uris === undefined || uris.includes(redirectUri);
  if (stored !== undefined && fits && (ends === 0 || ends * 1000 > now())) return stored;
  const wanted = redirectUri === undefined ? uris : [redirectUri];
  const asked = { ...(wanted && { redirect_uris: wanted }), ...options.clientMetadata };
  const given = await registerClient(server, asked, inner);
  const registered = { ...(wanted && { redirect_uris: wanted }), ...given };
  await store.save(clientKey(issuer), registered);
  return registered;
}
// #endregion

// #region 47. Tokens
// uses texts-and-lanes challenges discovery registration
//   · spec basic/authorization#authorization-flow-steps
//
// The user says yes in a browser, which comes back with a code; the program
// trades the code for a token. Others may see the code on its way, so it is
// worth nothing without a secret that never left the program (PKCE), and it is
// given to nobody before it is clear whose it is.
//
//   browser → GET https://auth.example.com/authorize?response_type=code&..
//   browser ← Location: http://127.0.0.1:4711/cb?code=Splx&state=..&iss=..
//   → POST https://auth.example.com/token
//     grant_type=authorization_code&code=Splx&..&code_verifier=..
//   ← {"access_token":"mF_1","token_type":"Bearer","expires_in":3600,..}

export interface Tokens {
  access_token: string;
  token_type: string;
  refresh_token?: string;
  /** What was granted, when that is said. */
  scope?: string;
  /** Milliseconds since 1970. */
  expires_at?: number;
  [more: string]: unknown;
}
/** What has to be remembered while the browser is away; JSON. */
export interface Login {
  issuer: string;
  state: string;
  verifier: string;
  redirectUri: string;
  resource: string;
  /** Whether this server always says, as iss, who it is. */
  sendsIss: boolean;
}
export const base64url = (bytes: Uint8Array): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
/** A secret's fingerprint, which may be seen (RFC 7636 §4.2). */
export async function challengeOf(verifier: string): Promise<string> {
  const bytes = new TextEncoder().encode(verifier);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

/** Begins a login: where the browser has to go, and what to remember. */
export async function beginLogin({ server, resource }: Place, client: ClientInformation,
  redirectUri: string, scope?: string): Promise<{ url: string; login: Login }> {
  const { issuer, authorization_endpoint: endpoint } = server;
  // MUST: PKCE with S256, or nothing (spec basic/authorization/security-considerations)
  if (server.code_challenge_methods_supported?.includes("S256") !== true) {
    throw new AuthorizationError("pkce", `${issuer} does not say that it supports PKCE with S256`);
  }
  // MUST: https, or this machine (spec basic/authorization/security-considerations)
  trustedUrl(redirectUri, "The redirect URI");
  const [state, verifier] = [randomText(), randomText()];
  const url = new URL(trustedUrl(endpoint, "authorization_endpoint", issuer));
  const query = { response_type: "code", client_id: client.client_id, redirect_uri: redirectUri,
    code_challenge: await challengeOf(verifier), code_challenge_method: "S256", state, resource,
    ...(scope !== undefined && { scope }) };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return { url: url.href, login: { issuer, state, verifier, redirectUri, resource,
    sendsIss: server.authorization_response_iss_parameter_supported === true } };
}
/** The code that the browser came back with. Throws AuthorizationError. */
export function readCallback(callback: string, { state, issuer, sendsIss }: Login): string {
  const query = new URLSearchParams(/\?([^#]*)/.exec(callback)?.[1]);
  const only = (name: string) => {
    const [value, more] = query.getAll(name);
    if (more !== undefined) throw new AuthorizationError("callback", `${name} is there twice`);
    return value;
  };
  // SHOULD: no other answer counts (spec basic/authorization/security-considerations)
  if (only("state") !== state) {
    throw new AuthorizationError("state", "The browser came back with another login");
  }
  const iss = only("iss");
  // MUST: before all else is believed (spec basic/authorization#authorization-response-validation)
  if (iss === undefined ? sendsIss : iss !== issuer) {
    throw new AuthorizationError("issuer", `The answer should come from ${issuer}, and ` +
      (iss === undefined ? "does not say that it does" : "comes from another"));
  }
  const error = only("error");
  if (error !== undefined) {
    throw oauthError({ error, error_description: only("error_description") }, 0, "The login");
  }
  const code = only("code");
  if (code === undefined) throw new AuthorizationError("callback", "The browser brought no code");
  return code;
}

/** Adds who the program is to a token request, in the way the server wants (RFC 6749 §2.3.1). */
function signRequest(server: AuthorizationServerMetadata, client: ClientInformation,
  body: URLSearchParams, headers: Record<string, string>): void {
  const { client_id: id, client_secret: secret } = client;
  const { token_endpoint_auth_methods_supported: known = ["client_secret_basic"] } = server;
  const method = client.token_endpoint_auth_method ?? (secret === undefined ? "none"
    : AUTH_METHODS.slice(1).find((one) => known.includes(one)));
  if (secret !== undefined && method === "client_secret_basic") {
    const coded = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
    headers.Authorization = `Basic ${btoa(`${coded(id)}:${coded(secret)}`)}`;
    return;
  }
  if (!body.has("client_assertion")) body.set("client_id", id); // an assertion names it already
  if (secret !== undefined && method === "client_secret_post") body.set("client_secret", secret);
}
export interface TokenOptions {
  fetch: typeof fetch;
  now?: () => number;
  /** What is understood, in lower case; ["bearer"]. */
  tokenTypes?: readonly string[];
}
/** Asks for tokens: one request to the token endpoint, for any grant. Throws AuthorizationError. */
export async function requestTokens(server: AuthorizationServerMetadata, client: ClientInformation,
  grant: Record<string, string | undefined>, options: TokenOptions): Promise<Tokens> {
  const { fetch: inner, now = Date.now, tokenTypes = ["bearer"] } = options;
  const headers: Record<string, string> = { ...ACCEPT_JSON.headers,
    "Content-Type": "application/x-www-form-urlencoded" };
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(grant)) if (value !== undefined) body.set(name, value);
  signRequest(server, client, body, headers);
  const response = await askFor(inner, server.token_endpoint,
    { method: "POST", headers, body: body.toString() });
  const { status, ok } = response;
  const answer = await readDocument(response);
  const what = `The grant ${grant.grant_type?.replace(/^.*:/, "")} at ${server.issuer}`;
  if (answer === undefined || !ok || answer.error !== undefined) {
    throw oauthError(answer, status, what); // some say it with status 200
  }
  const { access_token: token, token_type: type = "Bearer", expires_in: lasts, ...rest } = answer;
  const known = tokenTypes.includes(String(type).toLowerCase());
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token) || !known) {
    throw new AuthorizationError("token", `${what} gave no token that we can use`);
  }
  const seconds = Number(lasts); // NaN: it does not say
  return { ...rest, access_token: token, token_type: String(type),
    ...(seconds >= 0 && { expires_at: now() + seconds * 1000 }) };
}
// #endregion

// #region 48. Authorized fetch
// uses texts-and-lanes server-sent-events challenges discovery registration tokens
//   · spec basic/authorization#scope-challenge-handling
//
// All of it as one function from fetch to fetch. A request goes out with the
// token that is there; if it is refused, one login or one refresh is made,
// however many requests wait for it, and they go out again. What does not help
// is not tried twice.
//
//   → POST https://example.com/mcp
//     Authorization: Bearer mF_1
//   ← HTTP/1.1 401 Unauthorized
//   → POST https://auth.example.com/token
//     grant_type=refresh_token&refresh_token=tGzv&..
//   ← {"access_token":"mF_102","token_type":"Bearer",..}

/** Sends a browser somewhere and tells where it came back to. */
export interface Visitor {
  redirectUri: string;
  /** Resolves with the URL, under redirectUri, that the browser was sent to in the end. */
  visit(url: string): Promise<string>;
  close?(): void;
}
/** What a way to get tokens has to work with. */
export interface GrantContext extends Place {
  scope: string | undefined;
  fetch: typeof fetch;
  /** The program's identity at this server. */
  identify(redirectUri?: string): Promise<ClientInformation>;
  /** requestTokens() at this server. */
  request(client: ClientInformation, grant: Record<string, string | undefined>): Promise<Tokens>;
}
export type Grant = (context: GrantContext) => Promise<Tokens>;
export interface AuthorizeOptions extends IdentifyOptions, Omit<TokenOptions, "fetch"> {
  /** The server: nothing else is ever sent its tokens. */
  url: string;
  /** How to get tokens: a user's by loginWith(visitor), or another grant. */
  grant: Grant;
}
/** The grant of people: a browser, a code, a token. */
export const loginWith = (visitor: Visitor | (() => Promise<Visitor>)): Grant =>
  async (context) => {
    const { redirectUri, visit, close } = typeof visitor === "function" ? await visitor() : visitor;
    try {
      const client = await context.identify(redirectUri);
      const { url, login } = await beginLogin(context, client, redirectUri, context.scope);
      const code = readCallback(await visit(url), login);
      return await context.request(client, { grant_type: "authorization_code", code,
        redirect_uri: redirectUri, code_verifier: login.verifier, resource: context.resource });
    } finally {
      close?.();
    }
  };

/** Tokens, what was asked for with them, and whose they are. */
interface Granted { tokens: Tokens; asked: string[] }
interface Whose { issuer: string; resource: string }
type Held = Granted & Whose;
/** How a token came: what did not help is not done again. */
type Renewal = { held: Held; by: "store" | "refresh" | "grant" };
interface AuthorizedState {
  readonly options: AuthorizeOptions & { store: Store; fetch: typeof fetch };
  place: Place | undefined;
  hint: string | undefined;
  renewing: Promise<Renewal> | undefined;
  logins: number;
  readonly tried: Set<string>; // scopes that were asked for once more
  shutUntil: number; // that no login is begun: a new token was refused
}
const tokensKey = ({ issuer, resource }: Whose) => `tokens ${issuer} ${resource}`;
const words = (scope: string | undefined) => scope?.split(" ").filter((word) => word !== "") ?? [];

async function heldOf({ options: { store, url } }: AuthorizedState): Promise<Held | undefined> {
  const whose = await store.load(`server ${url}`) as Whose | undefined;
  const kept = whose && await store.load(tokensKey(whose)) as Granted | undefined;
  return kept && { ...kept, ...whose };
}
async function keep({ options: { store, url } }: AuthorizedState, held: Held): Promise<Held> {
  const { issuer, resource, ...kept } = held;
  await store.save(tokensKey(held), kept);
  await store.save(`server ${url}`, { issuer, resource });
  return held;
}
const contextOf = ({ options }: AuthorizedState, place: Place, scope?: string): GrantContext => ({
  ...place, scope, fetch: options.fetch,
  identify: (redirectUri) => identify(place.server, redirectUri, options.fetch, options),
  request: (client, grant) => requestTokens(place.server, client, grant, options) });

/** New tokens for a refresh token; undefined when it is worth nothing any more. */
async function refresh(state: AuthorizedState, place: Place, held: Held):
  Promise<Renewal | undefined> {
  const { tokens, tokens: { refresh_token }, issuer, asked } = held;
  const { store } = state.options;
  const faster = async (): Promise<Renewal | undefined> => { // another call, or another program
    const now = await heldOf(state);
    return now && now.tokens.access_token !== tokens.access_token
      ? { held: now, by: "store" } : undefined;
  };
  const done = await faster(); // it can be spent once, and who does so again loses all tokens
  if (done !== undefined || refresh_token === undefined) return done;
  const { identify, request } = contextOf(state, place);
  try {
    const fresh = await request(await identify(),
      { grant_type: "refresh_token", refresh_token, resource: place.resource });
    // One that was not replaced goes on (RFC 6749 §6).
    const kept = await keep(state, { ...held, tokens: { refresh_token, ...fresh } });
    return { held: kept, by: "refresh" };
  } catch (error) {
    // A server that is down has refused nothing.
    const final = error instanceof AuthorizationError && /^invalid_|^unauth/.test(error.code);
    if (!final) throw error;
    const won = await faster();
    if (won !== undefined) return won;
    const { refresh_token: spent, ...rest } = tokens;
    await store.save(tokensKey(held), { asked, tokens: rest });
    if (error.code === "invalid_client") await store.save(clientKey(issuer), undefined);
    return undefined;
  }
}
/** Asks for tokens anew; an identity that the server has forgotten is made anew too. */
async function login(state: AuthorizedState, place: Place, asked: string[]): Promise<Renewal> {
  const { resource, server: { issuer, scopes_supported: offered } } = place;
  const lasting = asked.length > 0 && Array.isArray(offered) && offered.includes("offline_access");
  const scope = [...new Set([...asked, ...(lasting ? ["offline_access"] : [])])].join(" ");
  const context = contextOf(state, place, scope === "" ? undefined : scope);
  const { grant, store } = state.options;
  const tokens = await grant(context).catch(async (error: unknown) => {
    const code = error instanceof AuthorizationError ? error.code : "";
    // With an id that is not known the browser stays on a page of errors.
    const stale = code === "invalid_client" || code === "timeout";
    if (!stale || await store.load(clientKey(issuer)) === undefined) throw error;
    await store.save(clientKey(issuer), undefined);
    if (code === "timeout") throw error;
    return grant(context);
  });
  state.logins++;
  return { held: await keep(state, { issuer, resource, tokens, asked }), by: "grant" };
}
/** What a server answered to which tokens, and how these had come. */
interface Refusal {
  status: number; challenge: Challenge["parameters"];
  used: Held | undefined; by: Renewal["by"] | undefined; version: string | null }
/** Other tokens than those that were refused. */
async function renew(state: AuthorizedState, { used, version }: Refusal, wanted: string[],
  mayRefresh: boolean): Promise<Renewal> {
  const { options, hint } = state;
  const held = await heldOf(state);
  const newer = held !== undefined && held.tokens.access_token !== used?.tokens.access_token;
  if (newer && wanted.every((one) => held.asked.includes(one))) return { held, by: "store" };
  const prefer = options.client?.issuer ?? held?.issuer;
  const place = state.place = await locate(options.url, hint, options.fetch,
    { version, ...(prefer !== undefined && { prefer }) });
  const same = held?.issuer === place.server.issuer && held.resource === place.resource;
  const refreshed = same && mayRefresh ? await refresh(state, place, held) : undefined;
  if (refreshed !== undefined) return refreshed;
  // SHOULD: with what was asked before (spec basic/authorization#step-up-authorization-flow)
  const before = same ? held.asked : [];
  const more = wanted.length > 0 || before.length > 0 ? wanted : place.scopes ?? [];
  return login(state, place, [...new Set([...before, ...more])]);
}
/** One at a time: those that come meanwhile wait for it. */
function oneAtATime(state: AuthorizedState, work: () => Promise<Renewal>): Promise<Renewal> {
  return state.renewing ??= work().finally(() => (state.renewing = undefined));
}
/** Tokens to go out with; refreshed first when they are known to have ended. */
async function tokensFor(state: AuthorizedState): Promise<Held | undefined> {
  const { now = Date.now, fetch: inner } = state.options;
  const held = await heldOf(state);
  const { expires_at: ends = Infinity, refresh_token } = held?.tokens ?? {};
  if (held === undefined || ends > now() + 5_000 || refresh_token === undefined) return held;
  const { issuer, resource } = held;
  const server = state.place?.server.issuer === issuer ? state.place.server
    : await discoverIssuer(issuer, inner).catch(() => undefined);
  if (server === undefined) return held; // when they are refused, the way is looked for anew
  return (await oneAtATime(state, async () =>
    await refresh(state, { server, resource }, held) ?? { held, by: "store" })).held;
}
/** What a response asks for; undefined when it is an answer. */
function challengeIn({ status, headers }: Response, types: readonly string[]):
  Challenge["parameters"] | undefined {
  if (status !== 401 && status !== 403) return undefined;
  const found = parseChallenges(headers.get("www-authenticate") ?? "")
    .find(({ scheme }) => types.includes(scheme));
  if (status === 401) return found?.parameters ?? {};
  return found?.parameters.error === "insufficient_scope" ? found.parameters : undefined;
}

/** Other tokens for a request that was refused; throws when it is not worth another try. */
async function answerRefusal(state: AuthorizedState, refusal: Refusal): Promise<Renewal> {
  const { status, challenge, used, by } = refusal;
  const { now = Date.now } = state.options;
  state.hint = challenge.resource_metadata ?? state.hint;
  const wanted = words(challenge.scope);
  if (status === 401) {
    if (by === "grant") state.shutUntil = now() + 60_000; // else each call would open a browser
    if (now() >= state.shutUntil) {
      return oneAtATime(state, () => renew(state, refusal, wanted, by !== "refresh"));
    }
    throw new AuthorizationError(challenge.error ?? "invalid_token",
      "it refuses a token just issued for it");
  }
  const key = [...wanted].sort().join(" ");
  const fresh = wanted.some((one) => !used?.asked.includes(one)) || !state.tried.has(key);
  // SHOULD: tries are counted (spec basic/authorization#step-up-authorization-flow)
  if (wanted.length === 0 || !fresh) throw new AuthorizationError("insufficient_scope",
    `it wants more than was granted: ${key}`);
  state.tried.add(key);
  return oneAtATime(state, () => renew(state, refusal, wanted, false));
}

export interface AuthorizedFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Changes with each login: what was private to one is not for the next. */
  login(): string;
  /** Whether tokens are being got, which may take a person. */
  busy(): boolean;
}
/** A fetch that gets itself tokens when the server wants them. Throws AuthorizationError. */
export function authorizedFetch(inner: typeof fetch, options: AuthorizeOptions): AuthorizedFetch {
  const { store: given = memoryStore(), url, tokenTypes = ["bearer"] } = options;
  const here = new URL(url);
  const store: Store = { load: (key) => given.load(key), async save(key, value) {
    try {
      await given.save(key, value);
    } catch (cause) {
      const why = `The login cannot be kept: ${reasonOf(cause)}`;
      throw new AuthorizationError("store", why, { cause });
    }
  } };
  const state: AuthorizedState = { options: { ...options, store, fetch: inner }, place: undefined,
    hint: undefined, renewing: undefined, logins: 0, tried: new Set(), shutUntil: 0 };
  const authorized: typeof fetch = async (input, init = {}) => {
    if (input instanceof Request) { // so that it can be sent twice
      const { url, method, headers, signal, body } = input;
      const whole = body === null ? {} : { body: await input.arrayBuffer() };
      return authorized(url, { method, headers, signal, ...whole, ...init });
    }
    const target = new URL(input, url);
    // MUST: tokens go to this server alone (spec basic/authorization#token-handling)
    const ours = target.origin === here.origin && target.pathname === here.pathname;
    const headers = new Headers(init.headers);
    if (!ours || headers.has("authorization")) return fetchHere(inner, target.href, init);
    const signal = init.signal ?? undefined;
    let held = await unlessAborted(tokensFor(state), signal);
    let by: Renewal["by"] | undefined;
    for (let round = 0; ; round++) {
      const { token_type: type = "", access_token: token = "" } = held?.tokens ?? {};
      const scheme = /^bearer$/i.test(type) ? "Bearer" : type;
      if (token !== "") headers.set("Authorization", `${scheme} ${token}`);
      const response = await fetchHere(inner, target.href, { ...init, headers });
      const { status, body } = response;
      const challenge = challengeIn(response, tokenTypes);
      const lost = init.body instanceof ReadableStream; // and cannot be sent again
      if (challenge === undefined || round === 4 || lost) return response;
      await unlessAborted(readText(body, MAX_DOCUMENT).catch(() => {}), signal); // frees the line
      const renewal = answerRefusal(state, { status, challenge, used: held, by,
        version: headers.get("mcp-protocol-version") });
      ({ held, by } = await unlessAborted(renewal, signal).catch((error: unknown) => {
        if (!(error instanceof AuthorizationError)) throw error;
        const why = `HTTP ${status} from ${bareUrl(url)}: ${error.message}`;
        throw new AuthorizationError(error.code, why, { cause: error });
      }));
    }
  };
  return Object.assign(authorized, { login: () => `${state.logins}`,
    busy: () => state.renewing !== undefined });
}
// #endregion

// Built by now: servers that know who calls, and clients that log in.
// Shown by examples/11-protected.ts.

// ---- Part VII: borrowed ground --------------------------------------------

// #region 49. JSON Schema
// uses nothing
//
// Tool arguments come from a language model and schemas from strangers, so a
// validator has to be right, to end, and to say what is wrong in words that a
// model can act on. Each schema is compiled once into closures that answer yes
// or no; after a no they run again and collect sentences. (Generated code would
// be four times as fast, but workers forbid it.)
//
//   compileSchema({ properties: { a: { type: "number" } } })({ a: "2" })
//     -> [{ path: "/a", message: 'expected number, got string "2"' }]
/** One misfit: a JSON Pointer into the value ("" is all of it) and a sentence. */
export interface SchemaIssue { path: string; message: string }
/** Limits: 128 levels, 10,000 subschemas, 10 issues, 10,000,000 steps (about a second). */
export interface SchemaOptions {
  maxDepth?: number; maxSubschemas?: number; maxIssues?: number; maxSteps?: number;
  documents?: Record<string, unknown>;   // other schemas, by URI: nothing is fetched
  formats?: Record<string, (value: string) => boolean>;   // makes `format` an assertion
  /** Replaces `plainPattern`: matches in bounded time, and says at what cost. */
  patterns?: (source: string) => (text: string, spend: (steps: number) => void) => boolean;
}

type SchemaCheck = (value: unknown, run: SchemaRun, depth: number) => boolean;
type SchemaKeyword = (value: unknown, place: SchemaPlace) => SchemaCheck | undefined;
// One validation: `issues`, unless only yes or no matters; the keys `seen`, if
// some `unevaluated…` asks for them; the resources entered, for $dynamicRef.
interface SchemaRun {
  options: Required<SchemaOptions>; budget: { steps: number }; references: number;
  issues: SchemaIssue[] | undefined; seen: Set<string> | undefined; scope: SchemaResource[];
}
// A schema with a URI of its own. Places are shared, by raw schema or by name.
interface SchemaResource {
  uri: string; draft: 7 | 2020; lacks: string[]; options: Required<SchemaOptions>;
  anchors: Map<string, SchemaPlace>; places: Map<unknown, SchemaPlace>;
}
// Any schema, where it stands, and later its check: that is how cycles close.
interface SchemaPlace { raw: unknown; at: string; resource: SchemaResource; check?: SchemaCheck }
const isJsonMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
// Own properties only: `toString` is not there unless somebody sent it.
const ownMember = (from: unknown, name: string): unknown =>
  Object.hasOwn(Object(from), name) ? Object(from)[name] : undefined;
const clipText = (text: string, most = 60): string =>
  text.length > most ? `${text.slice(0, most)}…` : text;
const quoteNames = (value: object): string =>
  clipText(Object.keys(value).map((name) => JSON.stringify(clipText(name))).join(", "), 200);
const amount = (n: number, noun: string): string =>
  `${n} ${noun}${n === 1 ? "" : "s"}`.replace("ys", "ies");
// "2" -> string "2"   [1, 2] -> array of 2 items   { a: 1 } -> object with "a"
function describeValue(value: unknown): string {
  if (typeof value === "string") return `string ${JSON.stringify(clipText(value))}`;
  if (Array.isArray(value)) return `array of ${amount(value.length, "item")}`;
  if (isJsonMap(value)) return `object with ${quoteNames(value) || "no properties"}`;
  return value === null || value === undefined ? `${value}` : `${typeof value} ${String(value)}`;
}
function refuseSchema(at: string, wanted: string, value: unknown): never {
  throw new Error(`schema refused: ${at} must be ${wanted}, got ${describeValue(value)}`);
}
function failCheck(run: SchemaRun, expected: string, value: unknown): false {
  run.issues?.push({ path: "", message: `expected ${expected}, got ${describeValue(value)}` });
  return false;
}
// SHOULD: apply bounds (spec basic#composition-keyword-resource-use)
function spendSteps({ budget, options }: SchemaRun, steps: number, depth = 0): number {
  budget.steps -= steps;
  if (budget.steps < 0) throw new RangeError(`it takes over ${options.maxSteps} steps`);
  if (depth > options.maxDepth) throw new RangeError(`it nests over ${options.maxDepth} levels`);
  return steps;
}
// Equal values have equal text: members sorted, 1.0 as 1, -0 as 0.
function canonicalJson(value: unknown, run?: SchemaRun): string {
  const text = String(JSON.stringify(value, (_, item: unknown) => !isJsonMap(item) ? item
    : Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)))));
  if (run !== undefined) spendSteps(run, text.length / 8);
  return text;
}
// 1.25 -> 125n × 10^-2: 0.3 is three times 0.1 here, as it is on the wire.
function decimalParts(value: number): [digits: bigint, exponent: number] {
  const [, whole, fraction = "", exponent] = /^([-\d]+)\.?(\d*)(?:e(.+))?$/.exec(`${value}`) ?? [];
  return [BigInt(`${whole ?? 0}${fraction}`), Number(exponent ?? 0) - fraction.length];
}
function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const [[a, x], [b, y]] = [decimalParts(value), decimalParts(divisor)];
  return x >= y ? (a * 10n ** BigInt(x - y)) % b === 0n : a % (b * 10n ** BigInt(y - x)) === 0n;
}
// A backtracking engine takes hours over `^(a+)+$` and forty letters. The rule:
// no group is repeated, and a text is matched only while the ways through it
// are at most a million: length^repetitions × 2^options × (bars + 1)^groups.
function plainPattern(source: string): ReturnType<Required<SchemaOptions>["patterns"]> {
  const native = new RegExp(source, "u");
  const plain = source.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, "x").replace(/\(\?<?[:=!]?/g, "(");
  const count = (part: RegExp): number => plain.match(part)?.length ?? 0;
  if (count(/\)[*+{]/) > 0) refuseSchema("a pattern", "without a repeated group", source);
  const fixed = 2 ** count(/[^*+?}]\?/g) * (count(/\|/g) + 1) ** (count(/\(/g) + 1);
  const repetitions = count(/[*+]|\{\d+,/g) + (/^\^[^|]*$/.test(source) ? 0 : 1);
  return (text, spend) => {
    const ways = fixed * text.length ** repetitions;
    if (ways > 2 ** 20) throw new RangeError(`a text of ${text.length} is too long for ${source}`);
    spend(1 + ways / 64);
    return native.test(text);
  };
}
// MUST: name an unknown dialect (spec basic#implementation-requirements)
// A meta-schema that was handed in is known by the vocabularies that it lists.
const vocabularyUri = RegExp("^https://json-schema.org/draft/2020-12/vocab/(?:core|applicator|" +
  "unevaluated|validation|meta-data|content|format-annotation|format-assertion)$");
function openResource(uri: string, root: unknown, outer: SchemaResource): SchemaResource {
  const opened = { ...outer, uri, anchors: new Map<string, SchemaPlace>() };
  const dialect = ownMember(root, "$schema");
  if (dialect === undefined) return opened;
  const known = /^https?:\/\/json-schema\.org\/draft(-07|\/2020-12)\/schema#?$/.exec(`${dialect}`);
  if (known !== null) return { ...opened, draft: known[1] === "-07" ? 7 : 2020, lacks: [] };
  const meta = ownMember(outer.options.documents, `${dialect}`.replace(/#$/, ""));
  const listed = Object.entries(ownMember(meta, "$vocabulary") ?? {});
  const asserts = Object.keys(outer.options.formats).length > 0;
  if (listed.length === 0 || listed.some(([word, needed]) => needed &&
    !(vocabularyUri.test(word) && (asserts || !word.endsWith("/format-assertion"))))) {
    refuseSchema("$schema", "draft 2020-12 or 07 of https://json-schema.org", dialect);
  }
  return { ...opened, draft: 2020, lacks: ["validation", "applicator", "unevaluated"]
    .filter((name) => !listed.some(([word]) => word.endsWith(`/${name}`))) };
}
function readReference(ref: unknown, base: string, at: string): [uri: string, fragment: string] {
  const [address = "", fragment = ""] = String(ref).split("#");
  if (!URL.canParse(address || base, base)) refuseSchema(at, "a URI reference", ref);
  return [address === "" ? base : new URL(address, base).href, decodeURIComponent(fragment)];
}
// Gives every schema its place. Below `enum` or an unknown word, there is none.
function placeSchema(raw: unknown, outer: SchemaResource, at: string, depth = 0): SchemaPlace {
  const { places, options } = outer;
  const known = places.get(raw);
  if (known !== undefined || !isJsonMap(raw)) return known ?? { raw, at, resource: outer };
  const id = outer.draft === 7 && Object.hasOwn(raw, "$ref") ? "" : ownMember(raw, "$id") ?? "";
  const [uri, fragment] = readReference(id, outer.uri, `${at}/$id`);
  const resource = uri === outer.uri ? outer : openResource(uri, raw, outer);
  const place = { raw, at, resource };
  const isOver = places.set(raw, place).size > options.maxSubschemas || depth > options.maxDepth;
  if (isOver) refuseSchema(at, "within the limits of depth and number of subschemas", raw);
  if (resource !== outer || at === "#") places.set(`${uri}#`, place);
  if (resource.draft === 7 && fragment !== "") places.set(`${uri}#${fragment}`, place);
  for (const [keyword, value] of Object.entries(raw)) {
    const [, shape] = findKeyword(keyword, resource);
    if (!hasShape(value, shape)) refuseSchema(`${at}/${keyword}`, shape, value);
    if (shape === "a name") places.set(`${uri}#${value}`, place);
    if (shape && keyword === "$dynamicAnchor") resource.anchors.set(`${value}`, place);
    if (!shape.includes("schema")) continue;
    const isOne = shape === "a schema" && !Array.isArray(value);
    for (const [key, item] of isOne ? [["", value]] : Object.entries(value ?? {})) {
      placeSchema(item, resource, `${at}/${keyword}${key && `/${key}`}`, depth + 1);
    }
  }
  return place;
}
// MUST NOT: fetch. What is not handed in is refused (spec basic#ref-resolution)
function resolveReference(ref: unknown, place: SchemaPlace): SchemaPlace {
  const { places, options: { documents } } = place.resource;
  const [uri, fragment] = readReference(ref, place.resource.uri, place.at);
  if (!places.has(`${uri}#`)) {
    const root = ownMember(documents, uri) ?? ownMember(documents, `${uri}#`);
    if (root === undefined) refuseSchema(place.at, "one of the documents (none is fetched)", uri);
    places.set(`${uri}#`, placeSchema(root, openResource(uri, root, place.resource), `${uri}#`));
  }
  let { raw, resource } = places.get(`${uri}#`) ?? place;
  if (/^[^/]/.test(fragment)) raw = places.get(`${resource.uri}#${fragment}`)?.raw;
  else for (const token of fragment.split("/").slice(1)) {
    raw = ownMember(raw, token.replaceAll("~1", "/").replaceAll("~0", "~"));
    resource = places.get(raw)?.resource ?? resource;
  }
  if (raw === undefined) refuseSchema(place.at, "a reference to a schema that exists", ref);
  return placeSchema(raw, resource, String(ref));
}

const acceptIt: SchemaCheck = () => true;
function checkAll(checks: SchemaCheck[], isCharged = false): SchemaCheck {
  const half = checks.length >> 1;
  if (half === 0) return checks[0] ?? acceptIt;
  const [first, second] = [checkAll(checks.slice(0, half)), checkAll(checks.slice(half))];
  return (value, run, depth) => {
    if (isCharged) spendSteps(run, checks.length);
    if (first(value, run, depth)) return second(value, run, depth);
    return run.issues !== undefined && second(value, run, depth) && false;
  };
}
// Yes or no; what was evaluated on the way counts only after a yes.
function doesFit(check: SchemaCheck, value: unknown, run: SchemaRun, depth: number): boolean {
  spendSteps(run, 1, depth);
  const seen = run.seen && new Set<string>();
  const fits = check(value, { ...run, issues: undefined, seen }, depth);
  if (fits) for (const key of seen ?? []) run.seen?.add(key);
  return fits;
}
// What is evaluated inside a child stays there; its issues get its key.
function checkChildren(
  value: object, run: SchemaRun, depth: number, checkFor: (key: string) => SchemaCheck | undefined,
): boolean {
  let fits = true;
  for (const [key, item] of Object.entries(value)) {
    spendSteps(run, 1, depth);
    const check = item === undefined ? undefined : checkFor(key);
    const issues: SchemaIssue[] | undefined = run.issues && [];
    if (check !== undefined) run.seen?.add(key);
    if (check?.(item, { ...run, issues, seen: undefined }, depth + 1) ?? true) continue;
    fits = false;
    const step = `/${key}`.replace(/~/g, "~0").replace(/(?!^)\//g, "~1");
    for (const { path, message } of issues ?? []) run.issues?.push({ path: step + path, message });
    if ((run.issues?.length ?? Infinity) >= run.options.maxIssues) break;
  }
  return fits;
}
// A dynamic name means the outermost schema in scope that bears it.
function followReference(target: SchemaPlace, name = ""): SchemaCheck {
  const isDynamic = target.resource.anchors.get(name) === target;
  return (value, run, depth) => {
    const outer = isDynamic ? run.scope.find(({ anchors }) => anchors.has(name)) : undefined;
    const place = outer?.anchors.get(name) ?? target;
    const scope = place.resource.anchors.size === 0 ? run.scope : [...run.scope, place.resource];
    spendSteps(run, 1, run.references / 4);
    return compilePlace(place)(value, { ...run, scope, references: run.references + 1 }, depth);
  };
}
function compilePlace(place: SchemaPlace, none = "nothing here"): SchemaCheck {
  const { raw, at, resource } = place;
  if (place.check !== undefined) return place.check;
  if (typeof raw === "boolean") return raw ? acceptIt : (value, run) => failCheck(run, none, value);
  if (!isJsonMap(raw)) return refuseSchema(at, "a schema (an object, true or false)", raw);
  const isLone = resource.draft === 7 && Object.hasOwn(raw, "$ref");
  const [early, late, used]: [SchemaCheck[], SchemaCheck[], unknown[]] = [[], [], []];
  for (const keyword of Object.keys(schemaKeywords)) {
    const [vocabulary, , compile] = findKeyword(keyword, resource);
    if (!Object.hasOwn(raw, keyword) || (isLone && keyword !== "$ref")) continue;
    if (compile === undefined || used.includes(compile)) continue;   // fused with another
    used.push(compile);
    const check = compile(raw[keyword], { raw, resource, at: `${at}/${keyword}` });
    if (check !== undefined) (vocabulary === "unevaluated" ? late : early).push(check);
  }
  const [first, last] = [checkAll(early), checkAll(late)];
  return place.check = late.length === 0 ? first : (value, run, depth) => {
    const inner = { ...run, seen: new Set<string>() };
    const fits = first(value, inner, depth) && last(value, inner, depth);
    for (const key of inner.seen) run.seen?.add(key);
    return fits;
  };
}
function childCheck(raw: unknown, place: SchemaPlace, key = "", none?: string): SchemaCheck {
  const child = placeSchema(raw, place.resource, place.at + key);
  return child.resource === place.resource ? compilePlace(child, none) : followReference(child);
}
const childChecks = (raw: unknown, place: SchemaPlace): [name: string, check: SchemaCheck][] =>
  Object.entries(raw ?? {}).map(([key, item]) => [key, childCheck(item, place, `/${key}`)]);
const listChecks = (raw: unknown, place: SchemaPlace): SchemaCheck[] =>
  childChecks(raw, place).map(([, check]) => check);
const withChild = (use: (check: SchemaCheck) => SchemaCheck): SchemaKeyword =>
  (raw, place) => use(childCheck(raw, place, "", "nothing but what is described"));
const requireNames = (names: unknown[], why: string): SchemaCheck =>
  checkAll(names.map((name) => (value, run) => !isJsonMap(value) || ownMember(value, `${name}`)
    !== undefined || failCheck(run, `property "${name}", ${why}`, value)));
const typeNames = ["null", "boolean", "string", "number", "integer", "array", "object"];
function typeCheck(raw: unknown, { at }: SchemaPlace): SchemaCheck {
  const names = [raw].flat();
  const [[only], expected, whole] = [names, names.join(" or "), names.includes("integer")];
  if (!names.every((name) => typeNames.includes(`${name}`))) refuseSchema(at, `${typeNames}`, raw);
  return (value, run) => {
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    return type === only || names.includes(type) || (whole && Number.isInteger(value)) ||
      failCheck(run, expected, value);
  };
}
function valuesCheck(raw: unknown): SchemaCheck {
  const values: unknown[] = Object.values(raw ?? []);
  const known = new Set(values);
  const texts = new Set(values.map((value) => canonicalJson(value)));
  const expected = (values.length === 1 ? "" : "one of ") +
    clipText(values.map((value) => JSON.stringify(value)).join(", "), 300);
  return (value, run) => known.has(value) || (typeof value === "object" && value !== null &&
    texts.has(canonicalJson(value, run))) || failCheck(run, expected, value);
}
// One loop for properties, patternProperties, additionalProperties, required.
function membersCheck(_: unknown, place: SchemaPlace): SchemaCheck {
  const { options, lacks } = place.resource;
  const part = (keyword: string): unknown => ownMember(place.raw, keyword);
  const needed = new Set(lacks.includes("validation") ? [] : Object.values(part("required") ?? []));
  const missing = requireNames([...needed], "which is required");
  const named = new Map<unknown, SchemaCheck>(childChecks(part("properties"), place));
  const patterns = childChecks(part("patternProperties"), place)
    .map(([source, check]) => ({ matches: options.patterns(source), check }));
  const rest = part("additionalProperties");
  const others = rest === undefined ? undefined : childCheck(rest, place, "",
    `no property but ${quoteNames(part("properties") ?? {}) || "none"}`);
  const stranger = { check: others, isNeeded: false };
  const members = new Map([...named.keys(), ...needed].map((name) =>
    [name, { check: named.get(name) ?? others, isNeeded: needed.has(name) }]));
  return (value, run, depth) => {
    if (!isJsonMap(value)) return true;
    if (run.issues !== undefined || run.seen !== undefined || patterns.length > 0) {
      const fits = checkChildren(value, run, depth, (name) => {
        const checks = patterns.filter(({ matches }) => matches(name, (n) => spendSteps(run, n)))
          .map(({ check }) => check).concat(named.get(name) ?? []);
        return checks.length === 0 ? others : checkAll(checks);
      });
      return missing(value, run, depth) && fits;
    }
    spendSteps(run, 1, depth);
    let found = 0;
    for (const name in value) {   // fast in V8, with hasOwnProperty
      const item = value[name];
      if (item === undefined || !Object.prototype.hasOwnProperty.call(value, name)) continue;
      run.budget.steps--;
      const { check, isNeeded } = members.get(name) ?? stranger;
      if (isNeeded) found++;
      if (check !== undefined && !check(item, run, depth + 1)) return false;
    }
    return found === needed.size;
  };
}
// What 2020-12 calls prefixItems and items, 07 calls items and additionalItems.
function itemsCheck(_: unknown, place: SchemaPlace): SchemaCheck {
  const part = (keyword: string): unknown => ownMember(place.raw, keyword);
  const [first, rest] = place.resource.draft === 2020 ? [part("prefixItems"), part("items")]
    : Array.isArray(part("items")) ? [part("items"), part("additionalItems")] : [[], part("items")];
  const checks = listChecks(first, place);
  const others = rest === undefined ? acceptIt
    : childCheck(rest, place, "", `no more than ${amount(checks.length, "item")}`);
  return (value, run, depth) => {
    if (!Array.isArray(value)) return true;
    if (run.issues !== undefined || run.seen !== undefined) return checkChildren(value, run, depth,
      (index) => checks[Number(index)] ?? (rest === undefined ? undefined : others));
    spendSteps(run, value.length, depth);
    return value.every((item, index) => (checks[index] ?? others)(item, run, depth + 1));
  };
}
function containsCheck(raw: unknown, place: SchemaPlace): SchemaCheck {
  const check = childCheck(raw, place);
  const limits = place.resource.draft === 2020 ? place.raw : {};
  const least = Number(ownMember(limits, "minContains") ?? 1);
  const most = Number(ownMember(limits, "maxContains") ?? Infinity);
  return (value, run, depth) => {
    if (!Array.isArray(value)) return true;
    const found = Object.keys(value).filter((key) =>
      doesFit(check, ownMember(value, key), { ...run, seen: undefined }, depth + 1));
    for (const key of found) run.seen?.add(key);
    return (found.length >= least && found.length <= most) || failCheck(run,
      `${most < Infinity ? `${least} to ${most}` : `at least ${least}`} items that fit`, value);
  };
}
const unevaluatedCheck = (isKind: (value: unknown) => value is object): SchemaKeyword =>
  withChild((check) => (value, run, depth) => !isKind(value) ||
    checkChildren(value, run, depth, (key) => run.seen?.has(key) ? undefined : check));
const choiceCheck = (most: number): SchemaKeyword => (raw, place) => {
  const branches = listChecks(raw, place);
  const words = `${most === 1 ? "just " : ""}one of ${amount(branches.length, "alternative")}`;
  return (value, run, depth) => {
    const fits = (branch: SchemaCheck): boolean => doesFit(branch, value, run, depth);
    const found = most > 1 && run.seen === undefined ? Number(branches.some(fits))
      : branches.filter(fits).length;
    if (found > 0 && found <= most) return true;
    const reasons = run.issues && branches.map((branch, index) => {
      const issues: SchemaIssue[] = [];
      const [first] = branch(value, { ...run, issues }, depth) ? [] : issues;
      return `${index + 1}: ${first ? `${first.path} ${first.message}`.trim() : "fits"}`;
    });
    return failCheck(run, `${words} (${clipText(`${reasons?.join("; ")}`, 500)})`, value);
  };
};
const dependentsCheck = (): SchemaKeyword => (raw, place) => checkAll(
  Object.entries(raw ?? {}).map(([name, needs]) => {
    const check = Array.isArray(needs) ? requireNames(needs, `which "${name}" needs`)
      : childCheck(needs, place, `/${name}`);
    return (value, run, depth) => !isJsonMap(value) || ownMember(value, name) === undefined ||
      check(value, run, depth);
  }), true);
function conditionCheck(raw: unknown, place: SchemaPlace): SchemaCheck {
  const part = (name: string): SchemaCheck => childCheck(ownMember(place.raw, name) ?? true, place);
  const [test, yes, no] = [childCheck(raw, place), part("then"), part("else")];
  return (value, run, depth) => (doesFit(test, value, run, depth) ? yes : no)(value, run, depth);
}
// What a keyword holds: the words tell the kind, and where to look for schemas.
const hasShape = (value: unknown, words: string): boolean => words.startsWith("a map")
  ? isJsonMap(value) : words.startsWith("a list") ? Array.isArray(value)
  : /number|count/.test(words) ? typeof value === "number"
  : /string|name/.test(words) ? typeof value === "string" : true;
type KeywordRow = readonly [shape: string, compile?: SchemaKeyword | undefined];
const within = (
  words: string, noun: string, fits: (it: unknown, limit: number, run: SchemaRun) => boolean,
): KeywordRow => [noun === "" ? "a number" : "a count", (raw) => {
  const limit = Number(raw);
  const expected = `${words} ${noun === "" ? limit : amount(limit, noun)}`;
  return (value, run) => fits(value, limit, run) || failCheck(run, expected, value);
}];
const schemaKeywords: Record<string, KeywordRow> = {
  $id: ["a string"], $anchor: ["a name"], $dynamicAnchor: ["a name"], contentSchema: ["a schema"],
  $defs: ["a map of schemas"], definitions: ["a map of schemas"], additionalItems: ["a schema"],
  then: ["a schema"], else: ["a schema"], minContains: ["a count"], maxContains: ["a count"],
  $ref: ["a string", (ref, place) => followReference(resolveReference(ref, place))],
  $dynamicRef: ["a string", (ref, place) =>
    followReference(resolveReference(ref, place), `${ref}`.replace(/^.*#/s, ""))],
  type: ["a type", typeCheck], const: ["a value", (raw) => valuesCheck([raw])],
  enum: ["a list of values", valuesCheck],
  maximum: within("at most", "", (it, n) => typeof it !== "number" || it <= n),
  exclusiveMaximum: within("less than", "", (it, n) => typeof it !== "number" || it < n),
  minimum: within("at least", "", (it, n) => typeof it !== "number" || it >= n),
  exclusiveMinimum: within("more than", "", (it, n) => typeof it !== "number" || it > n),
  multipleOf: within("a multiple of", "", (it, n) => typeof it !== "number" || isMultipleOf(it, n)),
  maxLength: within("at most", "character", (it, n, run) =>
    typeof it !== "string" || it.length <= n || spendSteps(run, [...it].length) <= n),
  minLength: within("at least", "character", (it, n, run) =>
    typeof it !== "string" || it.length >= 2 * n || spendSteps(run, [...it].length) >= n),
  maxItems: within("at most", "item", (it, n) => !Array.isArray(it) || it.length <= n),
  minItems: within("at least", "item", (it, n) => !Array.isArray(it) || it.length >= n),
  maxProperties: within("at most", "property", (it, n, run) =>
    !isJsonMap(it) || spendSteps(run, Object.keys(it).length) <= n),
  minProperties: within("at least", "property", (it, n, run) =>
    !isJsonMap(it) || spendSteps(run, Object.keys(it).length) >= n),
  pattern: ["a string", (raw, { resource }) => {
    const matches = resource.options.patterns(`${raw}`);
    return (value, run) => typeof value !== "string" || matches(value, (n) => spendSteps(run, n)) ||
      failCheck(run, `a string that matches ${raw}`, value);
  }],
  format: ["a string", (raw, { resource: { options: { formats } } }) => {
    const fits = Object.hasOwn(formats, `${raw}`) ? formats[`${raw}`] : undefined;
    return fits && ((value, run) => typeof value !== "string" || fits(value) ||
      failCheck(run, `a string in the format ${raw}`, value));
  }],
  uniqueItems: ["true or false", (raw) => (value, run) => raw !== true || !Array.isArray(value) ||
    new Set(value.map((item) => canonicalJson(item, run))).size === value.length ||
    failCheck(run, "items that all differ", value)],
  required: ["a list of strings", membersCheck], properties: ["a map of schemas", membersCheck],
  patternProperties: ["a map of schemas", membersCheck],
  additionalProperties: ["a schema", membersCheck],
  propertyNames: ["a schema", withChild((check) => (value, run, depth) => !isJsonMap(value) ||
    checkChildren(value, { ...run, seen: undefined }, depth, (name) => (_, inner, deeper) =>
      check(name, inner, deeper)))],
  dependentRequired: ["a map of lists", dependentsCheck()],
  dependentSchemas: ["a map of schemas", dependentsCheck()],
  dependencies: ["a map of schemas", dependentsCheck()],
  prefixItems: ["a list of schemas", itemsCheck], items: ["a schema", itemsCheck],
  contains: ["a schema", containsCheck], if: ["a schema", conditionCheck],
  allOf: ["a list of schemas", (raw, place) => checkAll(listChecks(raw, place), true)],
  anyOf: ["a list of schemas", choiceCheck(Infinity)], oneOf: ["a list of schemas", choiceCheck(1)],
  not: ["a schema", withChild((check) => (value, run, depth) =>
    !doesFit(check, value, run, depth) || failCheck(run, "a value outside `not`", value))],
  unevaluatedItems: ["a schema", unevaluatedCheck(Array.isArray)],
  unevaluatedProperties: ["a schema", unevaluatedCheck(isJsonMap)],
};
const newIn2020 = /^(?:\$defs|\$anchor|\$dyna|prefixI|contentS|dependent|unevaluated|m..Contains)/;
function findKeyword(name: string, { draft, lacks }: SchemaResource): [string, ...KeywordRow] {
  const [shape, compile] = (Object.hasOwn(schemaKeywords, name) && schemaKeywords[name]) || [""];
  const vocabulary = /^unevaluated/.exec(name)?.[0] ?? (/^\$|^format$/.test(name) ? "core"
    : shape.includes("schema") ? "applicator" : "validation");
  const isKnown = !lacks.includes(vocabulary) && !(draft === 7 && newIn2020.test(name));
  return isKnown ? [vocabulary, shape, compile] : ["", ""];
}

/** Prepares a schema, or throws an Error that says why not. The check never throws. */
export function compileSchema(
  schema: unknown, options: SchemaOptions = {},
): (value: unknown) => SchemaIssue[] | undefined {
  const settled: Required<SchemaOptions> = { documents: {}, formats: {}, patterns: plainPattern,
    maxDepth: 128, maxSubschemas: 10_000, maxIssues: 10, maxSteps: 10_000_000, ...options };
  const base: SchemaResource = { uri: "schema:/", draft: 2020, lacks: [], options: settled,
    anchors: new Map(), places: new Map() };
  const root = placeSchema(schema, openResource(base.uri, schema, base), "#");
  const check = compilePlace(root);
  for (const place of base.places.values()) compilePlace(place);
  const quiet: SchemaRun = { options: settled, budget: { steps: 0 }, references: 0,
    issues: undefined, seen: undefined, scope: [root.resource] };
  return (value) => {
    quiet.budget.steps = settled.maxSteps;
    try {
      if (check(value, quiet, 0)) return undefined;
      const issues: SchemaIssue[] = [];
      check(value, { ...quiet, issues }, 0);
      return issues.slice(0, settled.maxIssues);
    } catch (error) {   // a bound was passed, or a getter threw
      const reason = error instanceof Error ? error.message : "it throws";
      return [{ path: "", message: `expected a value that can be checked, but ${reason}` }];
    }
  };
}
// #endregion

// #region 50. Patterns
// uses nothing
//
// A backtracking engine tries every way through a text: `^(a+)+$` and forty
// letters take it hours. Here the ways are counted first. Few enough, and the
// platform's engine decides; else the pattern runs on sets of positions, where
// ways that meet become one: each part of a pattern maps the positions it may
// start at to those it may end at. Look-behind and backreferences cannot be
// read like that; with too many ways they are refused.
//
//   boundedPattern("^(a+)+$")("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!") -> false

type PatternSpend = (steps: number) => void;
type PatternWalk = (from: Set<number>, text: string, spend: PatternSpend) => Set<number>;
interface PatternReader {
  readonly tokens: string[]; readonly flags: string;
  choices: number; repetitions: number; nativeOnly: boolean;
}

// One character or class, a quantifier, the head of a group, `|` or `)`.
const patternToken = new RegExp([
  /\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]\w\w\\u[dD][c-fC-F]\w\w|u\w{4}|x\w\w|c[A-Za-z])/,
  /\\(?:k<[^>]*>|[1-9]\d*|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[-\w]*:))?/,
  /[*+?]\??|\{\d+(?:,\d*)?\}\??|./,
].map((part) => part.source).join("|"), "gsu");

// Reads up to the end of the group, or of the pattern.
function readPattern(reader: PatternReader): PatternWalk {
  const parts: PatternWalk[] = [];
  let others: PatternWalk = () => new Set();
  for (let token = reader.tokens.shift(); token && token !== ")"; token = reader.tokens.shift()) {
    if (token === "|") {
      reader.choices++;
      others = readPattern(reader);
      break;
    }
    parts.push(readRepeated(token, reader));
  }
  return (from, text, spend) => {
    spend(8);
    const ends = parts.reduce((at, part) => part(at, text, spend), from);
    return new Set([...ends, ...others(from, text, spend)]);
  };
}

// Counts as it reads: a repetition that holds a choice has no bound.
function readRepeated(token: string, reader: PatternReader): PatternWalk {
  const before = reader.choices + reader.repetitions;
  const part = readAtom(token, reader);
  const [next = ""] = reader.tokens;
  const bounds = { "*": "{0,}", "+": "{1,}", "?": "{0,1}" }[next.charAt(0)] ?? next;
  const [, low, comma, high] = /^\{(\d+)(,?)(\d*)\}/.exec(bounds) ?? [];
  if (low === undefined) return part;
  reader.tokens.shift();
  const least = Number(low);
  const most = comma ? Number(high || Infinity) : least;
  if (most > 1 && reader.choices + reader.repetitions > before) reader.choices = Infinity;
  if (most > 1 && most > least) reader.repetitions++;
  if (most === 1 && least === 0) reader.choices++;
  return (from, text, spend) => {
    let at = from;
    for (let count = 0; count < least && at.size > 0; count++) at = part(at, text, spend);
    const reached = new Set(at);
    for (let count = least; count < most && at.size > 0; count++) {
      at = new Set([...part(at, text, spend)].filter((position) => !reached.has(position)));
      for (const position of at) reached.add(position);
    }
    return reached;
  };
}

// The platform decides on one character, or on none at `^`, `$` and `\b`.
function readAtom(token: string, reader: PatternReader): PatternWalk {
  if (/^\\(?:[1-9]|k<)|^\(\?(?:<[=!]|[-\w])/.test(token)) reader.nativeOnly = true;
  if (token.startsWith("(")) {
    const inner = readPattern(reader);
    if (token !== "(?=" && token !== "(?!") return inner;
    return (from, text, spend) => new Set([...from].filter((position) =>
      (inner(new Set([position]), text, spend).size > 0) === (token === "(?=")));
  }
  const one = new RegExp(reader.nativeOnly ? "" : token, `${reader.flags}y`);
  return (from, text, spend) => {
    spend(8 * from.size);
    const to = new Set<number>();
    for (const position of from) {
      one.lastIndex = position;
      if (one.test(text)) to.add(one.lastIndex);
    }
    return to;
  };
}

/** A matcher for `compileSchema({ patterns })`; `spend` is told the cost, and may throw. */
export function boundedPattern(
  source: string,
): (text: string, spend?: (steps: number) => void) => boolean {
  let native: RegExp;
  try {
    native = new RegExp(source, "u");
  } catch {
    native = new RegExp(source);   // `\-` and its like exist only here
  }
  const reader: PatternReader = {
    tokens: source.match(patternToken) ?? [], flags: native.flags,
    choices: 0, repetitions: 0, nativeOnly: false,
  };
  const walk = readPattern(reader);
  const repetitions = reader.repetitions + (/^\^[^|]*$/.test(source) ? 0 : 1);   // any start
  if (reader.nativeOnly && reader.choices > 16) {
    throw new Error(`the pattern ${source} can take hours`);
  }
  return (text, spend = () => undefined) => {
    const ways = 2 ** reader.choices * text.length ** repetitions;
    spend(1 + Math.min(ways, 65_536) / 64);
    if (ways <= 65_536) return native.test(text);
    if (reader.nativeOnly) throw new RangeError(`${text.length} characters are many for ${source}`);
    const starts = new Set([text.length]);
    let start = 0;
    for (const character of native.unicode ? text : text.split("")) {
      starts.add(start);
      start += character.length;
    }
    return walk(starts, text, spend).size > 0;
  };
}
// #endregion

// #region 51. Formats
// uses nothing
//
// In JSON Schema `format: "email"` is a remark until somebody makes it a check,
// as a form does that a person fills in. Each format is a function of a text,
// after the grammar of its RFC, and takes time in proportion to the length.
//
//   formats["date"]("2024-02-30") -> false
//
// Not here: `idn-hostname`, which needs Unicode's tables of directions.

const isIpv4Text = (text: string): boolean => text.split(".").length === 4 &&
  text.split(".").every((octet) => /^(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/.test(octet));

// RFC 4291 §2.2: eight groups, `::` for one or more, an IPv4 address for two.
function isIpv6Text(text: string): boolean {
  const [head = "", tail, more] = text.split("::");
  const groups = [head, tail].flatMap((part) => part ? part.split(":") : []);
  const isDotted = isIpv4Text(groups.at(-1) ?? "") && !text.endsWith(":");
  const isFull = groups.every((group, index) => /^[\da-f]{1,4}$/i.test(group) ||
    (isDotted && index === groups.length - 1));
  const size = groups.length + (isDotted ? 1 : 0);
  return isFull && more === undefined && (tail === undefined ? size === 8 : size < 8);
}
function isDateText(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  return days !== undefined && day >= 1 && day <= days;
}

// RFC 3339 §5.6. A 61st second exists in the last minute of a UTC day only.
function isTimeText(text: string): boolean {
  const parts = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-]\d\d):(\d\d))$/i.exec(text);
  const [hour = 0, minute = 0, second = 0, ahead = 0, past = 0] =
    parts?.slice(1).map((part) => Number(part ?? 0)) ?? [];
  const offset = ahead * 60 + (parts?.[4]?.startsWith("-") ? -past : past);
  const isLast = (hour * 60 + minute - offset + 2880) % 1440 === 1439;
  return parts !== null && hour < 24 && minute < 60 && Math.abs(ahead) < 24 && past < 60 &&
    (second < 60 || (second === 60 && isLast));
}
// RFC 3986 §3, and RFC 3987 when `beyond` adds what lies outside of ASCII.
function isUriText(text: string, beyond: string, needsScheme: boolean): boolean {
  const [, scheme, authority, path = "", rest = "#"] =
    /^(?:([A-Za-z][A-Za-z\d+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(text) ?? [];
  const isMade = (part: string, of: string): boolean =>
    new RegExp(`^(?:[\\w.~!$&'()*+,;=${of}${beyond}-]|%[\\dA-Fa-f]{2})*$`, "u").test(part);
  const [, user = "", host] = /^(?:([^@]*)@)?(\[.*\]|[^:@]*)(?::\d*)?$/.exec(authority ?? "") ?? [];
  if (host === undefined || (needsScheme && scheme === undefined)) return false;
  const isHost = host.startsWith("[")
    ? isIpv6Text(host.slice(1, -1)) || /^\[v[\da-f]+\.[\w.~!$&'()*+,;=:-]+\]$/i.test(host)
    : isMade(host, "");
  const isNamed = scheme !== undefined || authority !== undefined || !/^[^/]*:/.test(path);
  return isHost && isNamed && isMade(user, ":") && isMade(path, ":@/") &&
    isMade(rest.replace("#", ""), ":@/?");
}
// RFC 3492 §6.2, without the checks for overflow that doubles do not need.
function decodePunycode(text: string): string | undefined {
  const cut = text.lastIndexOf("-");
  const output = [...text.slice(0, Math.max(cut, 0))].map((letter) => letter.codePointAt(0) ?? 0);
  let [code, at, bias, next] = [128, 0, 72, cut + 1];
  while (next < text.length) {
    const before = at;
    for (let weight = 1, k = 36; ; k += 36) {
      const digit = "abcdefghijklmnopqrstuvwxyz0123456789".indexOf(text.charAt(next++) || "?");
      const threshold = Math.min(Math.max(k - bias, 1), 26);
      if (digit < 0) return undefined;
      at += digit * weight;
      if (digit < threshold) break;
      weight *= 36 - threshold;
    }
    const size = output.length + 1;
    let delta = Math.floor((at - before) / (before === 0 ? 700 : 2));
    delta += Math.floor(delta / size);
    for (bias = 0; delta > 455; bias += 36) delta = Math.floor(delta / 35);
    bias += Math.floor((36 * delta) / (delta + 38));
    code += Math.floor(at / size);
    at %= size;
    if (code > 0x10ffff) return undefined;
    output.splice(at++, 0, code);
  }
  return String.fromCodePoint(...output);
}

// RFC 5892: what a label may hold, by Unicode's classes, and beside what.
const virama = "[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d]";
const labelRules = [
  /^(?!-|..--|\p{M}|.*[\p{Lu}\p{Lt}]|.*-$)/u, /^[^\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]*$/,
  /^[-\p{L}\p{M}\p{Nd}\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u200c\u200d\u3007\u30fb]+$/u,
  /^(?:[^\u00b7]|(?<=l)\u00b7(?=l))*$/, /^(?:[^\u0375]|\u0375(?=\p{Script=Greek}))*$/u,
  /^(?:[^\u05f3\u05f4]|(?<=\p{Script=Hebrew})[\u05f3\u05f4])*$/u,
  /^[^\u30fb]*$|[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u,
  /^(?:[^\u0660-\u0669]*|[^\u06f0-\u06f9]*)$/, new RegExp(`^(?:[^\u200d]|(?<=${virama})\u200d)*$`),
  new RegExp(`^(?:[^\u200c]|(?<=${virama}|\\p{Script=Arabic})\u200c)*$`, "u"),
];
function isHostText(text: string): boolean {
  return text.length <= 253 && text.split(".").every((label) => {
    if (!/^(?!-)[a-z\d-]{1,63}(?<!-)$/i.test(label)) return false;
    if (!/^xn--/i.test(label)) return true;
    const decoded = decodePunycode(label.slice(4).toLowerCase());
    return decoded !== undefined && labelRules.every((rule) => rule.test(decoded));
  });
}

// RFC 5321 §4.1.2; `beyond` adds what RFC 6531 allows outside of ASCII.
function isEmailText(text: string, beyond: string): boolean {
  const [, local = "", domain = ""] = /^(.*)@(.*)$/s.exec(text) ?? [];
  const atom = `[\\w!#$%&'*+/=?^\`{|}~${beyond}-]+`;
  const isLocal = new RegExp(`^(?:${atom}(?:\\.${atom})*|"(?:[^"\\\\\r\n]|\\\\.)*")$`).test(local);
  const [, version, address = ""] = /^\[(IPv6:)?(.*)\]$/i.exec(domain) ?? [];
  const isAddress = version === undefined ? isIpv4Text(address) : isIpv6Text(address);
  const ascii = beyond === "" ? domain : domain.replace(/[^\0-\x7f]/g, "a");
  return isLocal && local.length <= 64 && (isAddress || isHostText(ascii));
}
function isRegExpText(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}
const beyondAscii = "\\u00a0-\\u{10ffff}";
const dayParts = "(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)";
const timeParts = "T(?:\\d+S|\\d+M(?:\\d+S)?|\\d+H(?:\\d+M(?:\\d+S)?)?)";
const durationText = new RegExp(`^P(?:\\d+W|${dayParts}(?:${timeParts})?|${timeParts})$`);
const templateName = "(?:\\w|%[\\da-f]{2})(?:\\.?(?:\\w|%[\\da-f]{2}))*(?::[1-9]\\d{0,3}|\\*)?";
const templateText = new RegExp(`^(?:[^\\0- "%<>\\\\^\`{|}\\x7f]|%[\\da-f]{2}|` +
  `\\{[+#./;?&=,!@|]?${templateName}(?:,${templateName})*\\})*$`, "i");

/** Every format of 2020-12 but `idn-hostname`, for `compileSchema(schema, { formats })`. */
export const formats: Readonly<Record<string, (value: string) => boolean>> = Object.freeze({
  date: isDateText, time: isTimeText, ipv4: isIpv4Text, ipv6: isIpv6Text, hostname: isHostText,
  "date-time": (text: string) =>
    isDateText(text.slice(0, 10)) && /^t/i.test(text.slice(10)) && isTimeText(text.slice(11)),
  duration: (text: string) => durationText.test(text),
  email: (text: string) => isEmailText(text, ""),
  "idn-email": (text: string) => isEmailText(text, "\\x80-\\uffff"),
  uri: (text: string) => isUriText(text, "", true),
  "uri-reference": (text: string) => isUriText(text, "", false),
  iri: (text: string) => isUriText(text, beyondAscii, true),
  "iri-reference": (text: string) => isUriText(text, beyondAscii, false),
  "uri-template": (text: string) => templateText.test(text),
  uuid: (text: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text),
  "json-pointer": (text: string) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text),
  "relative-json-pointer": (text: string) =>
    /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/.test(text),
  regex: isRegExpText,
});
// #endregion

// #region 52. Node, Bun, Deno
// uses handlers texts-and-lanes stdio http-requests http-server
//   · spec basic/transports/stdio
//
// The web's own shapes stop short of sockets and processes; here are the few
// lines that reach them. Built-ins are fetched when they are called for, under
// a name put together at run time, so that browsers, workers and bundlers that
// know no node: module can still load this file.
//
//   await listen(handler, 3100)  ->  { url: "http://127.0.0.1:3100/mcp", .. }

// Node's modules differ by runtime and version, so they are typed where used.
export const node = <T>(name: string): Promise<T> => import(`node:${name}`) as Promise<T>;

interface Emitter { on(event: string, listener: (...args: unknown[]) => void): unknown }
interface Output extends Emitter { write(text: string): boolean }
interface Process { stdin: AsyncIterable<Uint8Array>; stdout: Output; exit(code?: number): never }
interface DenoNamespace {
  stdout: { writable: WritableStream<Uint8Array> };
  serve(options: object, handler: (request: Request) => Promise<Response>): {
    addr: { port: number }; shutdown(): Promise<void> };
}
interface BunNamespace {
  serve(options: object): { port: number; stop(force?: boolean): Promise<void> };
}
/** The global of that name, where the runtime has it. */
const runtime = <T>(name: string): T | undefined =>
  (globalThis as unknown as Record<string, T | undefined>)[name];

/** Writes to a Node stream; the promise is there while its buffer is full. */
export function nodeWriter(output: Output): Pipe["write"] {
  let broken: unknown;
  const drained = gate();
  output.on("drain", drained.open);
  output.on("error", (error) => { // EPIPE: the reader has left
    broken = error;
    drained.open();
  });
  output.on("close", () => {
    broken ??= new Error("the stream is closed");
    drained.open();
  });
  return (text) => {
    if (broken !== undefined) throw broken;
    return output.write(text) ? undefined : drained.wait();
  };
}

/** This process's own stdin and stdout. */
export function stdioPipe(): Pipe {
  const { stdin, stdout } = runtime<Process>("process") ?? { stdin: undefined, stdout: undefined };
  if (stdin === undefined) throw new TransportError("usage", "this runtime has no stdin");
  const deno = runtime<DenoNamespace>("Deno");
  if (deno === undefined) return { readable: stdin, write: nodeWriter(stdout) };
  // Deno's process.stdout blocks when the reader is behind; this one waits.
  const writer = deno.stdout.writable.getWriter();
  const encoder = new TextEncoder();
  return { readable: stdin, write: (text) => writer.write(encoder.encode(text)) };
}

interface NodeRequest extends Emitter {
  method?: string | undefined;
  url?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
  destroy(): unknown;
}
interface NodeResponse extends Output {
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  flushHeaders(): void;
  end(last?: string | (() => void)): unknown;
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  readonly writableLength: number;
}
interface NodeServer extends Emitter {
  listen(port: number, host: string): unknown;
  address(): { port: number };
  close(done: () => void): unknown;
  closeIdleConnections(): void;
  closeAllConnections(): void;
  keepAliveTimeout: number;
}

/** The body of a Node request; undefined past the limit, after which nothing is kept. */
function nodeBody(request: NodeRequest, limit: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let chunks: Uint8Array[] = [];
    let size = 0;
    request.on("data", (data) => {
      const chunk = data as Uint8Array; // no encoding was set
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
      else {
        chunks = [];
        resolve(undefined);
      }
    });
    request.on("end", () => resolve(utf8.decode(joinBytes(chunks))));
    request.on("error", reject); // the client is gone before the body was whole
  });
}

const notFound = (path: string): HttpReply => ({ status: 404,
  headers: { "Content-Type": "text/plain" },
  body: `Nothing is served here. The MCP endpoint is ${path}\n` });

const byteLength = (text: string): number =>
  runtime<{ byteLength(text: string): number }>("Buffer")?.byteLength(text) ??
  new TextEncoder().encode(text).length;

/** The path of a request target, which may be a URL whose host counts for nothing (RFC 9112). */
const pathOf = ({ url = "" }: NodeRequest) =>
  url.replace(/^https?:\/\/[^/]*/i, "").split("?", 1)[0];

/** What answers at a path: the endpoint, or another route; without `path` the endpoint is all. */
const routing = (handle: HttpHandler, path?: string, routes: Guard["routes"] = {}) =>
  (at: string | undefined): HttpHandler =>
    at !== undefined && Object.hasOwn(routes, at) && routes[at] ||
    (path === undefined || at === path ? handle : () => Promise.resolve(notFound(path)));

/** A listener for node:http, also inside a server of your own. Without path it answers at any. */
export function nodeListener(handle: HttpHandler, path?: string, routes?: Guard["routes"]):
  (request: NodeRequest, response: NodeResponse) => void {
  const route = routing(handle, path, routes);
  const answer = (request: NodeRequest, response: NodeResponse) => route(pathOf(request))({
    method: request.method ?? "",
    target: request.url ?? "",
    header(name) {
      const value = request.headers[name];
      return value === undefined ? null : Array.isArray(value) ? value.join(", ") : value;
    },
    text: (limit) => nodeBody(request, limit),
    // Not the request's "close": that one fires as soon as the body is read.
    onClose: (listener) => response.destroyed ? listener()
      : void response.on("close", () => response.writableFinished || listener()),
  });
  const ignore = () => {};
  return (request, response) => {
    const send = ({ status, headers, body, stream }: HttpReply) => {
      if (response.destroyed) return; // the reader has left, and its "close" told the lane
      if (stream !== undefined) {
        response.writeHead(status, headers);
        response.flushHeaders();
        const write = nodeWriter(response);
        stream({ write, close: () => response.end(), queued: () => response.writableLength });
      } else if (status === 413) {
        // A cut amid the body would take the reply with it: let it run dry.
        const done = () => response.end(() => request.destroy());
        response.writeHead(status, { ...headers, "Content-Length": byteLength(body ?? ""),
          Connection: "close" });
        response.write(body ?? "");
        request.on("end", done);
        request.on("data", ignore);
        setTimeout(done, 300);
      } else {
        const length = byteLength(body ?? "");
        // A spread with one more key makes an object that Node writes slowly.
        const sized = Object.assign({}, headers, { "Content-Length": length });
        response.writeHead(status, status === 204 ? headers : sized);
        response.end(body); // its length given, it leaves in one piece
      }
    };
    answer(request, response).then(send, (error: unknown) => send(refusal(500, error)));
  };
}

export interface ListenOptions {
  /** The address to bind; 127.0.0.1, which only this machine reaches. */
  host?: string;
  path?: string;
  /** The calls under way (HttpOptions), which close() ends. */
  open?: Set<OpenLane>;
  /** What answers at other paths. */
  routes?: Record<string, HttpHandler>;
}
export interface Listening { url: string; close(): Promise<void> }

// Deno aborts a request's signal at its normal end too, and warns of it.
const webRoutes = (route: ReturnType<typeof routing>) => (request: Request): Promise<Response> =>
  webHandler(route(new URL(request.url).pathname), runtime("Deno") === undefined)(request);

/** Serves HTTP on a port; 0 finds a free one. Throws TransportError "in-use". */
export async function listen(handle: HttpHandler, port: number,
  { host = "127.0.0.1", path = "/mcp", open = new Set(), routes = {} }: ListenOptions = {}):
  Promise<Listening> {
  const shut = () => {
    const reason = new TransportError("shutdown", "the server is shutting down");
    for (const lane of [...open]) lane.end(reason);
  };
  const closing = ({ url, close }: Listening): Listening => ({ url, close() {
    shut();
    return close();
  } });
  const routed = webRoutes(routing(handle, path, routes));
  const at = (bound: number) => `http://${host.includes(":") ? `[${host}]` : host}:${bound}${path}`;
  try {
    const bun = runtime<BunNamespace>("Bun")?.serve({ port, hostname: host, fetch: routed,
      idleTimeout: 0 }); // else Bun cuts a stream that is silent for ten seconds
    if (bun !== undefined) return closing({ url: at(bun.port), close: () => bun.stop(true) });
    const hurry = new AbortController();
    const deno = runtime<DenoNamespace>("Deno")?.serve(
      { port, hostname: host, onListen() {}, signal: hurry.signal }, routed);
    if (deno !== undefined) {
      const close = () => endsWithin(500, deno.shutdown()).then((ended) => {
        if (!ended) hurry.abort();
      });
      return closing({ url: at(deno.addr.port), close });
    }
    return closing(await listenOnNode(nodeListener(handle, path, routes), port, host, at));
  } catch (cause) {
    const { code = "", message } = cause as Error & { code?: string }; // as all three throw it
    if (code === "EADDRINUSE") {
      const why = `Port ${port} on ${host} is taken. Choose another, or 0 for a free one.`;
      throw new TransportError("in-use", why, { cause });
    }
    const why = `Cannot listen on ${host}:${port}: ${message}`;
    throw new TransportError("unreachable", why, { cause });
  }
}
async function listenOnNode(listener: ReturnType<typeof nodeListener>, port: number, host: string,
  at: (port: number) => string): Promise<Listening> {
  const { createServer } = await node<{ createServer(listener: unknown): NodeServer }>("http");
  const server = createServer(listener);
  server.keepAliveTimeout = 65_000; // longer than clients keep a connection, so they close first
  await new Promise<void>((resolve, reject) => {
    server.on("listening", () => resolve());
    server.on("error", reject);
    server.listen(port, host);
  });
  return { url: at(server.address().port), close: () => new Promise((resolve) => {
    const hurry = setTimeout(() => server.closeAllConnections(), 500);
    server.close(() => {
      clearTimeout(hurry);
      resolve();
    });
    server.closeIdleConnections();
  }) };
}

/** Serves stdio until stdin ends, then ends the process: a timer of a tool must not keep it. */
export async function serveProcess(exchange: Exchange, options: ServeLinesOptions = {}):
  Promise<void> {
  await serveLines(exchange, stdioPipe(), options);
  runtime<Process>("process")?.exit(0);
}
// #endregion

// #region 53. Child processes
// uses handlers texts-and-lanes stdio node-bun-deno · spec basic/transports/stdio#shutdown
//
// A client on stdio owns its server: it starts the process, keeps its stderr
// flowing, and ends it. Ending is polite first (end of input), then firm
// (SIGTERM), then final (SIGKILL), and meant for the whole process group: a
// launcher such as npx dies easily and leaves the server behind.
//
//   close stdin, wait -> SIGTERM, wait -> SIGKILL

export interface SpawnOptions {
  cwd?: string;
  /** Variables to add to this process's own. */
  env?: Record<string, string>;
  /** Gets what the server writes to stderr, which says nothing about success. */
  onStderr?: (text: string) => void;
  /** Milliseconds between the steps of ending the process; 2,000. */
  graceMs?: number;
}
export interface Connection {
  exchange: Exchange;
  /** Ends the server; resolves when its processes are gone. */
  close(): Promise<void>;
  /** Resolves when no further call can be answered. */
  closed: Promise<void>;
}
interface Child extends Emitter {
  pid?: number;
  exitCode: number | null;
  signalCode: string | null;
  stdin: Output & { end(): void };
  stdout: AsyncIterable<Uint8Array> & { destroy(): void };
  stderr: Emitter & { setEncoding(encoding: string): void };
  unref(): void;
}

/**
 * A command line for cmd.exe, which alone runs .cmd files like npx on Windows. Each word is in
 * quotes, so that nothing in it is an operator however often it is read; "" is a quote to the
 * program and leaves cmd.exe inside; %cd:~,% is the empty string, and keeps a % from a name.
 */
export function windowsCommandLine(command: readonly string[]): string {
  if (command.some((word) => /[\r\n\0]/.test(word))) throw new Error("a word with a line end");
  return command.map((word) => `"${word.replace(/(\\*)("|$)/g, '$1$1$2$2')
    .replace(/%/g, "%%cd:~,%")}"`).join(" ");
}

interface ChildProcesses {
  spawn(file: string, args: readonly string[], options?: object): Child;
}
interface ProcessModule {
  env: Record<string, string>;
  platform: string;
  kill(pid: number, signal: string | 0): true;
}

async function startChild(command: readonly string[], { cwd, env }: SpawnOptions): Promise<Child> {
  const { spawn } = await node<ChildProcesses>("child_process");
  const { env: ours, platform } = await node<ProcessModule>("process");
  let own = {};
  try {
    own = { ...ours };
  } catch {
    // Deno without --allow-env: the child gets what is given here, no more.
  }
  const [file = "", ...args] = command;
  const windows = platform === "win32";
  const options = { cwd, stdio: "pipe", windowsHide: true, detached: !windows,
    env: { ...own, ...env } };
  const run = () => windows && !/\.exe$/i.test(file)
    ? spawn("cmd.exe", ["/d", "/e:ON", "/v:OFF", "/s", "/c", `"${windowsCommandLine(command)}"`],
      { ...options, windowsVerbatimArguments: true })
    : spawn(file, args, options);
  const started = new Promise<Child>((resolve, reject) => {
    const child = run(); // throws where a word has a zero byte
    child.on("spawn", () => resolve(child));
    child.on("error", reject);
  });
  return started.catch((cause: Error & { code?: string }) => {
    const missing = `no such command${cwd === undefined ? "" : `, or no folder ${cwd}`} (ENOENT)`;
    const why = cause.code === "ENOENT" ? missing : cause.code ?? cause.message;
    const message = `Cannot run ${JSON.stringify(file)}: ${why}`;
    throw new TransportError("unreachable", message, { cause });
  });
}

/** Signals to a whole process group; says whether anybody was left to get it. */
async function groupOf(child: Child): Promise<(signal: string | 0) => boolean> {
  const { kill, platform } = await node<ProcessModule>("process");
  const { pid = 0 } = child;
  if (platform === "win32") {
    const { spawn } = await node<ChildProcesses>("child_process");
    return (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return false;
      if (signal !== 0) spawn("taskkill", ["/pid", String(pid), "/t", "/f"]).on("error", () => {});
      return true;
    };
  }
  return (signal) => {
    try {
      return kill(-pid, signal);
    } catch {
      return false; // ESRCH: all of them are gone
    }
  };
}

/** Starts a server and connects to it. Throws TransportError "unreachable". */
export async function spawnServer(command: readonly string[],
  options: SpawnOptions & ConnectLinesOptions = {}): Promise<Connection> {
  const { onStderr = () => {}, graceMs = 2_000 } = options;
  const child = await startChild(command, options);
  const signalGroup = await groupOf(child);
  const exited = new Promise<void>((resolve) => child.on("exit", () => resolve()));
  let lastWords = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text) => { // always read: a full pipe would stop the server
    lastWords = (lastWords + text).slice(-2_000);
    onStderr(String(text));
  });
  // A grandchild may hold stdout open: what is on its way gets a moment.
  void exited.then(() => endsWithin(200, reading.closed)).then(() => child.stdout.destroy());
  const farewell = async () => {
    await endsWithin(500, exited);
    const how = child.signalCode !== null ? `was ended by ${child.signalCode}`
      : child.exitCode !== null ? `ended with exit code ${child.exitCode}` : "closed its stdout";
    // Of a stack trace the line that names the error says most.
    const lines = lastWords.replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, "").trim().split("\n");
    const words = lines.find((line) => /^\S*error\b/i.test(line)) ?? lines.at(-1);
    const said = words ? ` Its last words: ${words.slice(0, 300)}` : "";
    return new TransportError("closed", `The server ${how}.${said}`);
  };
  const reading = connectLines(
    { readable: child.stdout, write: nodeWriter(child.stdin) }, { ...options, farewell });

  async function end(): Promise<void> {
    child.stdin.end();
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      if (await endsWithin(graceMs, exited)) break;
      signalGroup(signal);
    }
    await exited;
    // What the server itself left running gets a moment too.
    let left = signalGroup("SIGTERM");
    for (let waited = 0; left && waited < 250; waited += 25) {
      await delay(25);
      left = signalGroup(0);
    }
    if (left) signalGroup("SIGKILL");
    await closed;
  }
  const { exchange, closed } = reading;
  let ending: Promise<void> | undefined;
  return { exchange, closed, close: () => (ending ??= end()) };
}

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

export interface RestartOptions {
  /** Crashes in a row after which it is left alone; 5. */
  tries?: number;
  /** Milliseconds before the first restart, doubled at each crash; 250. */
  delayMs?: number;
}
/** Restarts a server that ended unasked. Calls in flight are lost, later ones wait for it. */
export async function keepRunning(start: () => Promise<Connection>,
  { tries = 5, delayMs = 250 }: RestartOptions = {}): Promise<Connection> {
  let crashes = 0;
  let stopped = false;
  let finish = () => {};
  const closed = new Promise<void>((resolve) => (finish = resolve));
  let last = await start();
  async function again(): Promise<Connection> {
    if (++crashes > tries) {
      finish();
      const why = `The server ended ${crashes} times in a row and is left alone.`;
      throw new TransportError("closed", why);
    }
    await last.close(); // it can answer no more, but may still run
    await endsWithin(delayMs * 2 ** (crashes - 1), closed);
    if (stopped) throw new TransportError("closed", "The connection is closed.");
    return start().then(watch, again);
  }
  function watch(connection: Connection): Connection {
    last = connection;
    void connection.closed.then(() => {
      if (stopped) return;
      current = again();
      current.catch(() => {}); // whoever calls next gets to know
    });
    return connection;
  }
  // SHOULD: it is started again (spec basic/transports/stdio#unexpected-termination)
  let current: Promise<Connection> = Promise.resolve(watch(last));
  return {
    closed,
    async exchange(request, lane) {
      const response = await (await current).exchange(request, lane);
      crashes = 0;
      return response;
    },
    async close() {
      stopped = true;
      finish();
      await current.then((connection) => connection.close(), () => {});
    },
  };
}
// #endregion

// #region 54. Signing in
// uses stdio texts-and-lanes registration tokens authorized-fetch node-bun-deno
//   · spec basic/authorization/security-considerations#open-redirection
//
// What a login needs of the machine that the program runs on: a browser to show
// a page, an address on this machine for it to come back to, and a folder that
// nobody else can read.
//
//   browser → GET http://127.0.0.1:33418/callback?code=..&state=..&iss=..

/** Waits on this machine for a browser to come back; show() gets the page that it has to visit. */
export async function loopbackVisitor(show: (url: string) => unknown,
  { port = 33_418, waitMs = 300_000 }: { port?: number; waitMs?: number } = {}): Promise<Visitor> {
  const waiting = new Map<string, (url: string) => void>(); // by state: others may knock too
  const at = (bound: number) => `http://127.0.0.1:${bound}/callback`;
  const listener = (request: NodeRequest, response: NodeResponse) => {
    const query = request.url?.split(/\?(.*)/)[1]; // new URL() would throw on the target "//"
    const found = waiting.get(new URLSearchParams(query).get("state") ?? "");
    const known = found !== undefined && pathOf(request) === "/callback";
    response.writeHead(known ? 200 : 404, { "Content-Type": "text/html", Connection: "close" });
    response.end(`<!doctype html><title>mcp-raw</title><p>${known
      ? "You can close this page and go back to the program." : "No login is waiting for this."}`);
    if (known) found(`${redirectUri}?${query}`);
  };
  const bind = (to: number) => listenOnNode(listener, to, "127.0.0.1", at);
  const { url: redirectUri, close } = await bind(port).catch((error: { code?: string }) => {
    if (error.code === "EADDRINUSE") return bind(0);
    throw error;
  });
  return { redirectUri, close: () => void close(), async visit(url) {
    const state = new URL(url).searchParams.get("state") ?? "";
    const back = new Promise<string>((resolve) => waiting.set(state, resolve));
    await show(url);
    const came = await endsWithin(waitMs, back);
    waiting.delete(state);
    if (came) return back;
    throw new AuthorizationError("timeout", `Nobody logged in within ${waitMs / 1000} seconds`);
  } };
}

interface Opener extends Emitter { unref(): void }
/** Opens a page in the user's browser; false: there is none. `command` opens it instead. */
export async function openBrowser(url: string, command?: readonly string[]): Promise<boolean> {
  const { protocol, href } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") {
    throw new AuthorizationError("insecure", `A browser is not given ${protocol} URLs`);
  }
  const { platform } = runtime<{ platform: string }>("process") ?? { platform: "" };
  const [name = "", ...words] = command ?? (platform === "darwin" ? ["open"]
    : platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"]);
  const { spawn } = await node<{ spawn(name: string, words: string[], options: object): Opener }>(
    "child_process");
  // No shell: what the server put into its URL would be a command there.
  const child = spawn(name, [...words, href], { stdio: "ignore", detached: true });
  return new Promise((resolve) => {
    child.on("error", () => resolve(false));
    child.on("spawn", () => {
      child.unref();
      resolve(true);
    });
  });
}

interface Files {
  mkdir(path: string, options: object): Promise<unknown>;
  chmod(path: string, mode: number): Promise<void>;
  readFile(path: string, encoding: "utf8"): Promise<string>;
  writeFile(path: string, text: string, options: object): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: object): Promise<void>;
}
/** Keeps logins in a folder that its owner alone can read; one file each, so that none is lost. */
export function fileStore(folder: string): Store {
  const fileOf = async (key: string) => `${folder}/${await challengeOf(key)}.json`; // a hash
  return {
    async load(key) {
      const { readFile } = await node<Files>("fs/promises");
      return readFile(await fileOf(key), "utf8").then(JSON.parse).catch((error: Error) => {
        const missing = "code" in error && error.code === "ENOENT";
        if (!missing && !(error instanceof SyntaxError)) throw error; // a damaged file is none
      });
    },
    async save(key, value) {
      const { mkdir, chmod, writeFile, rename, rm } = await node<Files>("fs/promises");
      const file = await fileOf(key);
      if (value === undefined) return rm(file, { force: true });
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await chmod(folder, 0o700);
      const draft = `${file}.${crypto.randomUUID()}`; // a reader sees the old one or the new one
      await writeFile(draft, JSON.stringify(value), { mode: 0o600 });
      await rename(draft, file);
    },
  };
}
// #endregion

// #region 55. The front door
// uses everything
//
// All of the above, put together for people who just want a server or a client.
//
//   const app = server({ name: "hello", version: "1.0.0", tools: [add] });
//   app.stdio();   app.listen(3100);   export default { fetch: app.fetch };
//
//   const { client } = await open(["node", "server.mjs"]); // or a URL
//   await client.call("tools/call", { name: "echo", arguments: {} });

export interface ServerOptions<S extends readonly unknown[] = []>
  extends Implementation, AssembleOptions, Omit<ToolsOptions, "compile" | "report"> {
  /** Tools, or what gives them; the argument types of a handler follow from its schema. */
  tools?: { [I in keyof S]: ToolDefinition<S[I]> } | (() => readonly ToolDefinition[]);
  resources?: Listing<ResourceDefinition>;
  templates?: readonly TemplateDefinition[];
  prompts?: Listing<PromptDefinition>;
  /** Where changes are told; one is made when none is given. */
  changes?: ChangeSource;
  /** The secret that seals requestState: the same for all that share the work. */
  stateKey?: string;
  /** Whatever else the server offers. */
  features?: readonly Feature[];
  http?: Omit<BothOptions, "mirrors" | "notifications" | "report">;
}
export interface Server extends Assembly {
  /** Tell of changes here, and those who listen hear of them. */
  changes: ChangeSource;
  /** What was said of HTTP in the options. */
  http: BothOptions;
  /** For workers and frameworks: answers a web Request to the endpoint. */
  fetch: (request: Request) => Promise<Response>;
  /** The same for nodeListener(handle, "/mcp", guard?.routes). */
  handle: HttpHandler;
  /** Serves stdin and stdout, then ends the process. Write nothing else to stdout. */
  stdio(): Promise<void>;
  listen(port: number, options?: ListenOptions): Promise<Listening>;
}

const compile: CompileSchema = (schema) => compileSchema(schema, { patterns: boundedPattern });

/** What nobody handles ends a process, and should; but not that a handler waits for an answer. */
const forgive = (error: unknown): void => {
  if (!isUnanswered(error)) throw error;
};
/** Lets a promise that waits for an answer of the client go unhandled, in this process. */
export function forgiveUnanswered(): void {
  const process = runtime<Emitter & { listeners(event: string): unknown[] }>("process");
  if (process?.listeners === undefined) return; // a worker's
  const known = process.listeners("unhandledRejection").includes(forgive);
  if (!known) process.on("unhandledRejection", forgive);
}

/** The features that the options of server() ask for. */
function offered<S extends readonly unknown[]>(options: ServerOptions<S>, changes: ChangeSource,
  report: (error: unknown) => void): Feature[] {
  const { resources: files, templates = [], prompts: texts, list, visible, maskErrors } = options;
  // Arguments are checked against the schema, whatever the types say.
  const definitions = options.tools as Parameters<typeof tools>[0] | undefined;
  // MUST: not shared with all who ask (spec server/utilities/caching#security-considerations)
  const scope = options.http?.guard && { cacheScope: "private" as const };
  const lists = (list ?? scope) && { list: { ...scope, ...list } };
  const features = [progress(), logging(), roundTrips({ compile,
    ...(options.stateKey !== undefined && { key: options.stateKey }) })];
  const kinds: (ChangeKind)[] = [];
  if (definitions !== undefined) {
    kinds.push("toolsListChanged");
    features.push(tools(definitions, { compile, report, ...lists,
      ...(visible && { visible }), ...(maskErrors && { maskErrors }) }));
  }
  if (files !== undefined || templates.length > 0) {
    kinds.push("resourcesListChanged", "resourceSubscriptions");
    features.push(resources(files ?? [], { templates, ...lists }));
  }
  if (texts !== undefined) {
    kinds.push("promptsListChanged");
    features.push(prompts(texts, { ...lists }));
  }
  if (texts !== undefined || templates.length > 0) {
    features.push(completions({ prompts: texts ?? [], templates }));
  }
  if (kinds.length > 0) features.push(subscriptions(changes, kinds));
  return features;
}

/** A server of tools, resources, prompts and other features, on every transport. */
export function server<const S extends readonly unknown[] = []>(
  options: ServerOptions<S>): Server {
  const { tools, resources, templates, prompts, list, visible, maskErrors, stateKey, features = [],
    changes = changeSource(), instructions, wrappers, http = {},
    report = (error: unknown) => console.error(error), ...info } = options;
  const own = offered(options, changes, (error) => report(error, "tools/call"));
  const assembly = assemble(info, [...own, ...features],
    { report, ...(wrappers && { wrappers }), ...(instructions !== undefined && { instructions }) });
  const { exchange, mirrors, notifications } = assembly;
  const settings = { notifications, report: (error: unknown) => report(error, "") };
  const { guard: { routes = {} } = {} } = http;
  const serving = new Set<() => unknown>();
  const handler = (more: HttpOptions = {}) =>
    serveBoth(exchange, { ...more, ...http, ...settings, mirrors });
  return {
    ...assembly,
    changes,
    http,
    handle: handler(),
    fetch: webRoutes(routing(handler(), undefined, routes)),
    stdio() {
      forgiveUnanswered();
      return serveProcess(exchange, { ...settings, ending: changes.close, serve: serveEither });
    },
    async listen(port, listening = {}) {
      forgiveUnanswered();
      const { host = "127.0.0.1" } = listening;
      const loopbackOnly = /^(127\.|localhost$|::1$)/.test(host);
      const open = new Set<OpenLane>();
      const { url, close } =
        await listen(handler({ loopbackOnly, open }), port,
          { ...listening, routes: { ...listening.routes, ...routes }, open });
      serving.add(close);
      return { url, async close() {
        const last = serving.delete(close) && serving.size === 0;
        if (last) changes.close();
        if (last) await pause(0); // subscriptions end with a result
        await close();
      } };
    },
  };
}

export interface OpenOptions extends ClientOptions, SpawnOptions, HttpClientOptions,
  Pick<ConnectLinesOptions, "onLine"> {
  restart?: RestartOptions;
  /** Who answers when the server needs something. */
  answers?: Answers;
  /** Which dialect to speak; it is found out unless given. */
  era?: Era;
  /** Keep lists and resources as long as the server says. */
  cache?: boolean;
  /** Hold tools to their outputSchema, which may cost a tools/list. */
  check?: boolean;
  /** Get tokens when the server at a URL wants them; loginWith(..) asks the user. */
  authorize?: Omit<AuthorizeOptions, "url">;
}
/** Connects to a server of any revision: an http(s) URL, or the command that starts one. */
export async function open(target: string | readonly string[], options: OpenOptions = {}):
  Promise<{ client: Client; connection: Connection }> {
  if (typeof target === "string" && !/^https?:\/\//.test(target)) {
    throw new TypeError(`${JSON.stringify(target)} is no http URL; a command is an array of words`);
  }
  const warn = options.warn ?? (() => {});
  const both = { ...options, compile, warn };
  const spawning = (era: Era) => spawnServer(target as readonly string[], { ...options,
    warn: (fault: TransportError) => warn(fault.message),
    connect: (send, more = {}) => connectEither(send, { ...both, ...more, era }) });
  const start = () => startEither(spawning, options.era);
  const { authorize, fetch: web = fetch } = options;
  const here = Object.assign((url: unknown, init?: RequestInit) =>
    fetchHere(web, String(url), init), { login: () => "", busy: () => false });
  const reached = authorize === undefined || typeof target !== "string" ? here
    : authorizedFetch(web, { ...authorize, url: target });
  const connection: Connection = typeof target === "string"
    ? { closed: new Promise(() => {}), ...connectHttpEither(target, { ...both, fetch: reached }) }
    : options.restart === undefined ? await start() : await keepRunning(start, options.restart);
  const exchange = options.cache ? cached(connection.exchange, { principal: reached.login })
    : connection.exchange;
  const answers = answering(options.answers ?? {}, { compile, warn });
  const client = connect(exchange, { waits: reached.busy, ...options,
    capabilities: { ...options.capabilities, ...answers.capabilities },
    resultTypes: { ...options.resultTypes, ...answers.resultTypes } });
  return { client: options.check ? checkResults(client, compile, warn) : client, connection };
}
// #endregion

// Built by now: whole programs, on any runtime.
// Shown by examples/03-hello.ts and examples/04-client.ts.

// ---- cut here when you copy the file ---------------------------------------

// #region 56. The demo server
// uses everything
//
// Something to talk to: tools that work, that fail, that take their time, that
// ask. And this file: each chapter is a resource, so that a model can read here
// about MCP what you read here. It knows nothing of bytes, and is what a server
// of your own looks like.
//
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":
//     "calculator","arguments":{"operation":"divide","a":1,"b":0},
//     "_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[
//     {"type":"text","text":"Division by zero"}],"isError":true,"_meta":{..}}}

/** `note` gets a sentence when a caller gives up. */
export interface DemoOptions extends Pick<ServerOptions, "report" | "list"> {
  note?: (text: string) => void;
}
/** Who speaks below the cut, as server and as client. */
export const SELF: Implementation = { name: "mcp-raw", version: "0.1.0" };
const SPEC = "https://modelcontextprotocol.io/specification";

/** What is said of a tool that changes nothing. */
const reads = (name: string, title: string, description: string) =>
  ({ name, title, description, annotations: { readOnlyHint: true, openWorldHint: false } });
const NUMBER = { type: "number" } as const;
const NUMBERS =
  { type: "object", properties: { a: NUMBER, b: NUMBER }, required: ["a", "b"] } as const;
const TEXT = { type: "object", required: ["text"],
  properties: { text: { type: "string", maxLength: 10_000 } } } as const;
// A chessboard of 8 by 8 pixels.
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIAQAAAADsdIMmAAAADklEQVR42mMIZVjFgIQBHpwD/" +
  "XAVyZAAAAAASUVORK5CYII=";

/** Tools that answer at once. */
const QUICK: readonly ToolDefinition[] = [
  tool({ ...reads("add", "Sum", "Adds two numbers"), inputSchema: NUMBERS,
    handler: ({ a, b }) => text(`${a + b}`) }),
  tool({ ...reads("get_current_time", "Clock", "The time now, in UTC"),
    handler: () => text(new Date().toISOString()) }),
  tool({ ...reads("echo", "Echo", "Gives the text back as it came"), inputSchema: TEXT,
    handler: (given) => text(given.text) }),
  tool({ ...reads("calculator", "Calculator", "Calculates; a division by zero fails"),
    inputSchema: { type: "object", required: ["operation", "a", "b"], properties: { a: NUMBER,
      b: NUMBER, operation: { type: "string", enum: ["add", "subtract", "multiply", "divide"] } } },
    handler({ operation, a, b }) {
      if (operation === "divide" && b === 0) return toolError("Division by zero");
      const [sign, value] = { add: ["+", a + b], subtract: ["-", a - b],
        multiply: ["*", a * b], divide: ["/", a / b] }[operation];
      return text(`${a} ${sign} ${b} = ${value}`);
    } }),
  tool({ ...reads("divide", "Division", "Divides with a remainder, for programs too"),
    inputSchema: NUMBERS, outputSchema: { type: "object", required: ["quotient", "remainder"],
      properties: { quotient: NUMBER, remainder: NUMBER } },
    handler: ({ a, b }) => b === 0 ? toolError("Division by zero")
      : structured({ quotient: Math.trunc(a / b), remainder: a % b }) }),
  tool({ ...reads("picture", "Picture", "A chessboard, as a very small image"),
    handler: () => blocks({ type: "image", data: PNG, mimeType: "image/png" }) }),
];
/** Tools that take their time. */
const slowTools = (note: (text: string) => void): ToolDefinition[] => [
  tool({ ...reads("count", "Count", "Counts slowly, tells its progress, logs that it starts"),
    inputSchema: { type: "object", required: ["to"], properties: {
      to: { type: "integer", minimum: 1, maximum: 1000 },
      ms: { type: "integer", minimum: 0, maximum: 10_000, description: "between two numbers" } } },
    async handler({ to, ms = 200 }, { lane, progress, log }) {
      await log("info", `Counting to ${to}`);
      for (let at = 1; at <= to && !lane.signal.aborted; at++) {
        await pause(ms, lane.signal);
        await progress(at, to, `Said ${at}`);
      }
      return text(`Counted to ${to}`);
    } }),
  tool({ ...reads("sleep", "Sleep", "Waits, unless the call is cancelled"),
    inputSchema: { type: "object", required: ["ms"], properties: { label: { type: "string" },
      ms: { type: "integer", minimum: 0, maximum: 600_000 } } },
    async handler({ ms, label = "" }, { lane }) {
      await pause(ms, lane.signal);
      if (!lane.signal.aborted) return text(`Slept ${ms} ms`);
      note(`sleep ${label}${label && " "}aborted: ${abortReason(lane.signal).message}`);
      return toolError("aborted");
    } }),
];
/** Tools that ask the client while they run; the last two in ways that are deprecated. */
const ASKING: readonly ToolDefinition[] = [
  tool({ name: "book_table", title: "Book a table", annotations: { openWorldHint: false },
    description: "Asks in a form who comes to a restaurant that does not exist",
    async handler(_, { ask }) {
      const { content } = await ask("party", { method: "elicitation/create", params: {
        message: "A table for whom?", requestedSchema: { type: "object",
          required: ["name", "guests"], properties: { name: { type: "string", minLength: 1 },
            guests: { type: "integer", minimum: 1, maximum: 12, default: 2 } } } } });
      return text(content === undefined ? "No table is booked" // the user would not say
        : `A table for ${content.guests} is booked for ${content.name}`);
    } }),
  tool({ ...reads("guess_number", "Guess a number",
    "Asks up to four times; the number travels sealed in requestState, and is not kept here"),
    async handler(_, { ask, once }) {
      const secret = await once("secret", () => 1 + Math.floor(Math.random() * 10));
      let message = "I think of a number from 1 to 10";
      for (let turn = 1; turn <= 4; turn++) {
        const { content } = await ask(`turn ${turn}`, { method: "elicitation/create", params: {
          message, requestedSchema: { type: "object", required: ["guess"],
            properties: { guess: { type: "integer", minimum: 1, maximum: 10 } } } } });
        if (content === undefined) return text("Another time, then");
        if (content.guess === secret) return text(`${secret} it is, found in turn ${turn}`);
        message = `It is ${content.guess < secret ? "more" : "less"} than ${content.guess}`;
      }
      return text(`It was ${secret}`);
    } }),
  tool({ ...reads("open_page", "Open a page", "Asks the user to open a page in a browser"),
    async handler(_, { ask }) {
      const { action } = await ask("page", { method: "elicitation/create", params: { mode: "url",
        message: "Read how servers ask users to open pages",
        url: `${SPEC}/2026-07-28/client/elicitation` } });
      return text(`The user chose: ${action}`);
    } }),
  tool({ ...reads("ask_model", "Ask a model", "Has the client's model answer (deprecated)"),
    inputSchema: TEXT, async handler(given, { ask }) {
      const content = { type: "text", text: given.text } as const;
      const answer = await ask("answer", { method: "sampling/createMessage",
        params: { messages: [{ role: "user", content }], maxTokens: 200 } });
      return blocks(...[answer.content].flat().filter((part) => part.type === "text"));
    } }),
  tool({ ...reads("list_roots", "List roots", "Asks where the user works (deprecated)"),
    handler: async (_, { ask }) => structured(await ask("roots", { method: "roots/list" })) }),
];

/** Notes: resources that a tool adds while the server runs, in a list that so changes. */
function notebook({ resources, updated }: ChangeSource) {
  const notes = new Map([["note:latest", "Nothing yet. The tool add_note writes here."]]);
  let written = 0;
  const add = tool({ name: "add_note", title: "Add a note", inputSchema: TEXT,
    description: "Adds a resource that all can read, and tells those who listen for changes",
    annotations: { destructiveHint: false, openWorldHint: false }, handler(given) {
      const uri = `note:${++written}`;
      notes.set("note:latest", given.text).set(uri, given.text);
      notes.delete(`note:${written - 100}`); // nothing is kept for ever
      resources();
      updated("note:latest");
      return blocks({ type: "resource_link", uri, name: uri, mimeType: "text/plain" });
    } });
  return { add, list: (): ResourceDefinition[] => [...notes].map(([uri, text]) =>
    ({ uri, name: uri, mimeType: "text/plain", read: () => text })) };
}

/** The chapters of this file; none where it cannot be read, as in a worker. */
async function readChapters() {
  const source = await node<{ readFile(file: URL, as: string): Promise<string> }>("fs/promises")
    .then(({ readFile }) => readFile(new URL(import.meta.url), "utf8")).catch(() => "");
  const found = source.matchAll(/^\/\/ #region (\d+\. (.+))\n[^]*?\n\/\/ #endregion$/gm);
  return [...found].map(([text, title = "", words = ""]) => {
    const opening = text.split("\n//\n")[1]?.replace(/\s*\/\/ /g, " ").trim() ?? "";
    return { text, title, name: words.toLowerCase().replace(/[^a-z0-9]+/g, "-"),
      description: opening.replace(/(?<=\.)\s[^]*/, "") }; // its first sentence
  });
}
/** This file as resources, beside others, and as prompts. */
function bookOf(others: () => ResourceDefinition[]) {
  const [prefix, mimeType] = ["mcp-raw://chapter/", "text/x-typescript"];
  let chapters: ReturnType<typeof readChapters> | undefined;
  const all = () => (chapters ??= readChapters());
  const find = async (wanted: unknown) => (await all()).find(({ name }) => name === wanted);
  const names = async (typed: string) => (await all()).map(({ name }) => name)
    .filter((name) => name.includes(typed.toLowerCase()));
  const templates: TemplateDefinition[] = [{ uriTemplate: `${prefix}{name}`, mimeType,
    name: "chapter", title: "A chapter of mcp-raw.ts", complete: { name: names },
    read: async ({ name }) => (await find(name))?.text }];
  const resources = async (): Promise<ResourceDefinition[]> => [...others(), ...(await all()).map(
    ({ text, ...about }) => ({ ...about, uri: prefix + about.name, mimeType, read: () => text }))];
  const prompts: PromptDefinition[] = [
    { name: "explain_word", title: "Explain a word of MCP",
      arguments: [{ name: "word", required: true }],
      complete: { word: ["client", "cursor", "elicitation", "prompt", "resource", "root",
        "sampling", "server", "subscription", "tool", "transport"] },
      get: ({ word }) => `What is "${word}" in the Model Context Protocol? Be brief.` },
    { name: "explain_chapter", title: "Explain a chapter of mcp-raw.ts",
      arguments: [{ name: "chapter", required: true }, { name: "level" }],
      complete: { chapter: names, level: ["newcomer", "programmer", "implementer"] },
      async get({ chapter, level = "newcomer" }) {
        const found = await find(chapter);
        if (found === undefined) throw new ProtocolError(INVALID_PARAMS, `No chapter ${chapter}`);
        const text = `Explain what this chapter of mcp-raw.ts does for MCP. My level: ${level}.`;
        const resource = { uri: prefix + found.name, mimeType, text: found.text };
        return [{ role: "user", content: { type: "text", text } },
          { role: "user", content: { type: "resource", resource } }];
      } }];
  return { resources, templates, prompts };
}

/** The server of `serve` and `demo`. */
export function demoServer({ note = () => {}, report = () => {}, list = {} }: DemoOptions = {}):
  Server {
  const changes = changeSource();
  const { add, list: notes } = notebook(changes);
  return server({ ...SELF, report, changes, list, ...bookOf(notes),
    tools: [...QUICK, ...slowTools(note), ...ASKING, add],
    instructions: "To try MCP on. Its resources are the chapters of mcp-raw.ts, both ends of MCP " +
      "in one file: read them to answer questions about the protocol." });
}
// #endregion

// #region 57. What messages mean
// uses messages · spec basic#messages
//
// The words of the wire log: what a message is, the first time that something
// of its kind is seen. The first word of a line is its label: what it `is`,
// `why`, what one `must` or `should` do, and what would `fix` a fault.
//
//   "isError":true  ->  is The call was in order and the tool failed: ..

// > stands for a request, < for its result, ! for a notification, _ for MCP's
// members of _meta, the others for members, types, events. {name} is what a
// message names.
const EXPLANATIONS: Readonly<Record<string, string>> = {
  line: "is One line is one message: a JSON object and a newline (spec basic/transports/stdio).",
  "mcp-method": `is Each message is a POST of its own. Headers repeat what proxies need to know.
must Headers and body agree (spec basic/transports/streamable-http#server-validation).`,
  request: "is A request: method and params say what is wanted, id comes back with the answer.",
  complete: 'is The answer to the request with this id. resultType "complete": that is all of it.',
  error: "is An error comes in place of a result: what was asked for is not done.",
  notification: "is No id: a notification, which nobody answers (spec basic#notifications).",
  _protocolVersion: `is _meta says in every request which version of MCP this is, and who asks.
why Then any process can answer any request: nothing is agreed on before (spec basic#meta).`,
  elicitation: "is elicitation: the server may ask the user, in a form or (url) on a web page.",
  _serverInfo: "should serverInfo is for people to read: nothing proves it (spec basic#meta).",
  ttlMs: `is ttlMs: for how many ms a copy may be used. cacheScope: by all, or by who asked.
should Ask again after that (spec server/utilities/caching#time-to-live-ttl-field).`,
  nextCursor: "is There is more: ask with nextCursor as cursor (spec server/utilities/pagination).",
  ">server/discover": `is Asks which versions of MCP the server speaks, and what it offers.
must Every server answers this (spec server/discover).`,
  "<server/discover": `is capabilities: tools are functions to call, resources data to read, \
prompts texts to start from, completions help with typing, logging notes on a call. listChanged \
and subscribe: the client can be told of changes.`,
  ">tools/list": "is Asks for functions that models can call (spec server/tools#listing-tools).",
  "<tools/list": `is description tells a model what a tool does, inputSchema what to send with it: \
a JSON Schema. annotations are hints: does it change anything? (spec server/tools#tool)`,
  ">tools/call": 'is Calls the tool "{name}" (spec server/tools#calling-tools).',
  "<tools/call": "is content is for the model to read (spec server/tools#tool-result).",
  structuredContent: "is structuredContent: the answer as JSON, for programs (spec server/tools).",
  image: "is data is the picture, its bytes as Base64 (spec server/tools#image-content).",
  resource_link: "is A link to what resources/read gives (spec server/tools#resource-links).",
  isError: `is The call was in order and the tool failed: a result, marked isError.
why A model reads results, and may try again (spec server/tools#error-handling).`,
  _logLevel: "is logLevel asks for notes on this call, of this weight and above.",
  "!message": "is A note on a call. Deprecated: stderr will do (spec server/utilities/logging).",
  progressToken: "is progressToken asks to be told, under this name, how far the call is.",
  "!progress": "is How far the call is (spec basic/patterns/progress#progress-flow).",
  "!cancelled": `is The request with this requestId is given up.
should It gets no answer any more (spec basic/patterns/cancellation#behavior-requirements).`,
  "S->C!cancelled": "is From a server: no more will come. Over HTTP, its stream would close.",
  closes: `is The client closes the connection: over HTTP, that gives the request up \
(spec basic/transports/streamable-http#cancellation).`,
  opens: `is A stream opens, for what takes its time: each event on it is a message.
should Proxies let it flow (spec basic/transports/streamable-http#receiving-messages).`,
  comment: "is After : stands no message; it shows that the connection is alive.",
  ">resources/list": "is Asks what there is to read (spec server/resources#listing-resources).",
  "<resources/list": "is Each is read by its uri, which need not be a web address.",
  ">resources/templates/list": "is Asks for patterns of uris, of what is too much to list.",
  "<resources/templates/list": "is With values in place of the {braces} it is a uri to read.",
  ">resources/read": "is Reads {name} (spec server/resources#reading-resources).",
  "<resources/read": "is contents: text, or blob, which is bytes as Base64.",
  ">prompts/list": "is Asks for texts that a user can start a model with (spec server/prompts).",
  "<prompts/list": "is arguments are what the user fills in.",
  ">completion/complete": `is Asks, while the user types an argument, what it could become \
(spec server/utilities/completion).`,
  "<completion/complete": "is values: the likeliest first. total: how many there are in all.",
  ">prompts/get": 'is Fills in the prompt "{name}" (spec server/prompts#getting-a-prompt).',
  "<prompts/get": "is messages are for the model, as if the user (role) had written them.",
  input_required: `is Not done: the server has questions first, and this request is over.
why It waits for nobody, and keeps nothing (spec basic/patterns/mrtr#basic-workflow).`,
  "elicitation/create": `is A question, under a name of its own: a form for the user to fill in.
must Say who asks, and let the user decline (spec client/elicitation#user-interaction-model).`,
  "elicitation/create url": `is The user is to open a page. What happens there stays there.
must Show the whole URL, open it on consent (spec client/elicitation#safe-url-handling).`,
  "sampling/createMessage": "is A text for the client's model. Deprecated (spec client/sampling).",
  "roots/list": "is Asks in which folders the user works. Deprecated (spec client/roots).",
  requestState: `is requestState: what the server has to remember. The client keeps it for it.
must It goes back as it came (spec basic/patterns/mrtr#client-requirements-basic-workflow).`,
  inputResponses: `is The same call once more, with the answers, by the names of the questions.
must Its id is new (spec basic/patterns/mrtr#client-requirements-basic-workflow).`,
  ">subscriptions/listen": `is Asks to be told when such things change. The answer comes at the end.
should The server ends it with a result (spec basic/patterns/subscriptions#graceful-closure).`,
  "<subscriptions/listen": "is The late answer: no more news, as one side is about to leave.",
  "!subscriptions/acknowledged": `is What the server will tell of.
must It comes before all else (spec basic/patterns/subscriptions#acknowledgment).`,
  _subscriptionId: "is subscriptionId: the id of the request that wants to hear this.",
  "!list_changed": "is This list has changed: ask for it again.",
  "!resources/updated": "is {name} has changed: read it again.",
  ">initialize": `is Before 2026-07-28 both sides first said who they are, and what they speak.
why Later messages need not say it: the two are in a session, which has to be kept.`,
  "<initialize": "is The version that both speak, and what the server offers.",
  "mcp-session-id": "is mcp-session-id names the session: all that follows says it.",
  GET: "is Asks for a stream of what the server says unasked.",
  DELETE: "is Ends the session.",
  202: "is Taken: there is nothing to answer.",
  leaves: "is The client closes a stream. Before 2026-07-28 that gave nothing up.",
  "!initialized": "is The client is ready: now the server may ask, too.",
  ">elicitation/create": `is Here the server asks: a request to the client, with an id of its own.
why Then a call could wait for an answer; now its result asks, and nobody waits.`,
  "<elicitation/create": "is The user's answer. The server goes on with the call that asked.",
  ">resources/subscribe": "is Asks to be told when {name} changes.",
  "<resources/subscribe": "is Agreed. That a list has changed is told unasked.",
  "-32601": "is -32601: the server offers no such method (spec basic#error-codes).",
  "-32602": "is -32602: wrong params, or no such tool (spec server/tools#error-handling).",
  "-32020": `is -32020: a header and the body differ, so the request is refused with status 400.
why Proxies act on headers (spec basic/transports/streamable-http#server-validation).`,
  "-32021": "is -32021: the client cannot be asked what this needs (spec basic#error-codes).",
  "-32022": `is -32022: the server does not speak this version; data.supported lists its own.
should Choose one, ask again (spec basic/versioning#protocol-version-negotiation).`,
  401: `is Who calls? The server takes no request without a token.
why www-authenticate says where to ask who hands out tokens (spec basic/authorization).`,
  403: `is The token does not allow this: scope says what it would take.
should Ask for that and what was allowed before (spec basic/authorization).`,
  ">who hands out tokens": "is Asks the server whose tokens it takes (RFC 9728).",
  "<who hands out tokens": `is resource: what a token has to be for. authorization_servers: whose.
must It is about this server, or it is not used (RFC 9728 §3.3).`,
  ">where to log in": "is Asks the authorization server for its addresses (RFC 8414).",
  "<where to log in": `is authorization_endpoint is for the browser, token_endpoint for the client.
must issuer is who was asked, and S256 is supported: else a thief could be in between (RFC 8414).`,
  ">a client id": "is The client says who it is, and where browsers come back to (RFC 7591).",
  "<a client id": "is client_id: its name at this authorization server, and at no other.",
  ">the user's consent": `is The browser goes to the authorization server, where the user agrees.
why code_challenge is the fingerprint of a secret that the client keeps (RFC 7636).`,
  "<the user's consent": `is The browser is sent back, with a code.
must state is the client's own, iss the issuer, before the code is used (RFC 9207).`,
  ">a token": `is The code and the secret behind its fingerprint, for a token (RFC 7636).
must resource says which server it is for, and no other takes it (RFC 8707).`,
  "<a token": "is access_token goes with every request from now on; refresh_token gets the next.",
  fault: "fix Send one JSON object as JSON-RPC 2.0 (spec basic#messages); logs go to stderr.",
};

/** What an entry is, what it is about, and which explanations may fit. */
interface Reading {
  kind: string; about: string; topics: string[]; name?: string; meta?: unknown; fault?: string;
}
const OURS = "io.modelcontextprotocol/";
const membersOf = (value: unknown): string[] =>
  Object.keys(isObject(value) ? value : {}).map((key) => key.replace(OURS, "_"));
function readRequest(message: JSONRPCNotification & { id?: RequestId }): Reading {
  const { method, params = {} } = message;
  const { name, uri, ref, requestId, _meta } = params;
  const subject = String(name ?? uri ?? Object(ref).name ?? Object(ref).uri ?? "");
  const id = message.id ?? requestId ?? Object(_meta)[`${OURS}subscriptionId`];
  const about = `${id === undefined ? "" : `id=${JSON.stringify(id)} `}${method} ${subject}`;
  const [kind, topic] = "id" in message ? ["request", `>${method}`]
    : ["notification", method.replace(/^notifications\/(?:\w+\/(?=list_))?/, "!")];
  return { kind, name: subject, about, meta: _meta, topics: [topic, ...membersOf(params),
    ...membersOf(_meta), ...membersOf(Object(_meta)[`${OURS}clientCapabilities`])] };
}
function readResponse(message: JSONRPCResponse, asked: Map<string, Reading>): Reading {
  const id = JSON.stringify(message.id);
  if ("error" in message) {
    const { code, message: why } = message.error;
    const about = `${id === undefined ? "" : `id=${id} `}${code} ${why}`;
    return { kind: "error", about, topics: [String(code)] };
  }
  const { isError, resultType, content, inputRequests, _meta: meta, ...members } = message.result;
  const { about, topics: [topic = ""] } = asked.get(id) ?? { about: `id=${id}`, topics: [] };
  const first = isError === true ? "isError"
    : resultType === "input_required" ? resultType : topic.replace(">", "<");
  const questions = Object.values(Object(inputRequests)).filter(isObject).map((question) =>
    `${question.method}${Object(question.params).mode === "url" ? " url" : ""}`);
  const types = [content].flat().map((block) => String(Object(block).type));
  return { kind: "result", about, meta, topics: [String(resultType), first, ...questions,
    ...types, ...membersOf(members), ...membersOf(meta)] };
}
// #endregion

// #region 58. The wire log
// uses errors-and-parsing texts-and-lanes server-sent-events what-messages-mean
//   · spec basic#messages
//
// What crosses the wire, for people: each message under a line that says what
// it is, in lines that joined are its exact bytes, with a word of explanation
// the first time that something is seen.
//
//   #5  +   6ms  C->S  request      id=3 tools/call add               284 B
//     | {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add",
//     | "arguments":{"a":2,"b":3},"_meta":{..same 3 keys as #1..}}}\n
//
// A line breaks only after `,` `{` `[`. What _meta repeats is folded, under a
// mark that no JSON contains, and so are headers; what steers terminals is
// escaped.

/** One thing that crossed the wire. */
export interface WireEntry {
  seq: number;
  ms: number; // since the first
  direction: "C->S" | "S->C";
  text: string; // the bytes
  frame: "line" | "body" | "event"; // a line with its newline; of a stream, one event
  head?: readonly string[]; // of HTTP: the first line, then the headers
  what?: string; // happened, when nothing was said
  step?: string; // of a login, whose messages are not MCP's
}
export interface WireLogOptions {
  columns?: number;
  color?: boolean;
  /** Shows secrets, too. */
  open?: boolean;
}
export interface ColorWish { NO_COLOR?: string; FORCE_COLOR?: string }

const WIDE = new RegExp("[\\u1100-\\u115f\\u2e80-\\u303e\\u3041-\\ua4cf\\ua960-\\ua97f\\uac00-" +
  "\\ud7a3\\uf900-\\ufaff\\ufe30-\\ufe6f\\uff00-\\uff60\\uffe0-\\uffe6\\u{1f300}-\\u{1f64f}" +
  "\\u{1f680}-\\u{1f6ff}\\u{1f900}-\\u{1f9ff}\\u{20000}-\\u{3fffd}]", "gu");
/** The columns that a text takes on a terminal: "an" -> 2, "漢字" -> 4 */
export const columnsOf = (text: string): number =>
  [...text.replace(/[\p{Mn}\p{Me}\u200b-\u200f]/gu, "").replace(WIDE, "..")].length;
/** Without the characters that steer a terminal or turn its reading direction. */
export const printable = (text: string): string =>
  text.replace(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (char) =>
    ({ "\n": "\\n", "\r": "\\r", "\t": "\\t" })[char] ??
    `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
/** Joins pieces to lines of a width, where they are not wider themselves. */
function wrap(pieces: readonly string[], width: number): string[] {
  const lines = [""];
  for (const piece of pieces) {
    const longer = `${lines.at(-1)}${piece}`;
    if (lines.at(-1) === "" || columnsOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines;
}
const FORM_TOO = /(?<=[,{[&])/;
/** Lines of a width that joined give the text, broken after `,` `{` `[` alone. */
export const breakText = (text: string, width: number, after: RegExp = /(?<=[,{[])/): string[] =>
  wrap(text.split(after), width);

const sameAs = (count: number, what: string, first: number | undefined) =>
  `..same ${count} ${what}${count === 1 ? "" : "s"} as #${first}..`;
/** Folds what `meta` repeats in a text; `known` remembers which entry said it first. */
export function foldMeta(text: string, meta: unknown, seq: number, known: Map<string, number>):
  string {
  const runs: { first: number | undefined; members: string[] }[] = [];
  for (const [key, value] of Object.entries(Object(meta))) {
    const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
    const first = known.get(member);
    if (first === undefined) known.set(member, seq);
    if (runs.length > 0 && runs.at(-1)?.first === first) runs.at(-1)?.members.push(member);
    else runs.push({ first, members: [member] });
  }
  const whole = runs.map(({ members }) => members.join(","));
  const folded = runs.map(({ first, members }, at) => {
    const [said = "", mark] = [whole[at], sameAs(members.length, "key", first)];
    return first === undefined || said.length <= mark.length ? said : mark;
  });
  // What is written in another way than JSON.stringify does stays as it is.
  return text.replace(`"_meta":{${whole.join(",")}}`, () => `"_meta":{${folded.join(",")}}`);
}
/** The head of an entry, without the lines that an earlier one had. */
function foldHead([first, ...rest]: readonly string[], seq: number, known: Map<string, number>) {
  // What is said of the message itself stays in sight.
  const old = rest.filter((line) => known.has(line) && !/^mcp-(?:method|name|param)/.test(line));
  const mark = old[0] === undefined ? "" : `  ${sameAs(old.length, "header", known.get(old[0]))}`;
  const fresh = rest.filter((line) => !old.includes(line));
  for (const line of fresh) known.set(line, seq);
  return first === undefined ? [] : [first + mark, ...fresh];
}
const SECRET = new RegExp("^((?:(?:proxy-)?authorization|(?:set-)?cookie|dpop|[\\w-]*(?:token|" +
  "secret|api-?key)[\\w-]*):\\s*(?:(?:Bearer|Basic|DPoP) )?).+", "i");
const SECRETS = "(?:access_token|refresh_token|id_token|registration_access_token|client_secret|" +
  "code|code_verifier|client_assertion|assertion|subject_token|token)";
const IN_JSON = new RegExp(`("${SECRETS.replace("code|", "")}"\\s*:\\s*")[^"]+`, "g");
const IN_FORM = new RegExp(`((?:^|[?&])${SECRETS}=)[^&\\s"]+`, "g");
/** A header line without its secret; a text or a URL without its tokens and codes. */
export const masked = (text: string): string =>
  [SECRET, IN_JSON, IN_FORM].reduce((rest, one) => rest.replace(one, "$1..masked.."), text);

function readEntry(entry: WireEntry, asked: Map<string, Reading>): Reading {
  const { frame, direction, text, what = "no body", head = [], step } = entry;
  let payload = frame === "event" ? "" : text.trim();
  if (frame === "event") eventParser(({ data }) => (payload = data))(text);
  const silent = text === "" ? what : "comment";
  if (step !== undefined) {
    const [kind, mark] = direction === "C->S" ? ["asks for", ">"] : ["gets", "<"];
    return { kind, about: step, topics: [`${mark}${step}`] };
  }
  const seen = [frame, ...head.map((line) => line.split(/[: ]/)[0] ?? "")];
  if (payload === "") return { kind: silent, about: "", topics: [silent, ...seen] };
  try {
    const message = readMessage(parseJSON(payload));
    const reading = "method" in message ? readRequest(message) : readResponse(message, asked);
    if (reading.kind === "request") asked.set(JSON.stringify(Object(message).id), reading);
    const { kind, topics } = reading;
    return { ...reading, topics: [...seen, kind, ...topics, `${direction}${topics[0]}`] };
  } catch (error) {
    return { kind: "not MCP", about: "", topics: ["fault"], fault: (error as Error).message };
  }
}

/** Lines of "label words" with the label in a column of its own. */
const explain = (text: string, width: number): string[] => text.split("\n").flatMap((line) => {
  const [label = "", words = ""] = line.split(/ (.*)/);
  return wrap(words.split(/(?<!\(spec)(?= )/), width - 9)
    .map((part, at) => `  ${(at === 0 ? label : "").padEnd(6)} ${part.trimStart()}`);
});
const COLORS: Readonly<Record<string, number>> = { "C->S": 36, "S->C": 32, bad: 31, dim: 2 };
/** Colour is for terminals, unless the environment says otherwise. */
export const wantsColor = ({ NO_COLOR, FORCE_COLOR }: ColorWish, terminal: boolean): boolean =>
  FORCE_COLOR ? FORCE_COLOR !== "0" : terminal && !NO_COLOR;

/** Writes the entries of one conversation, in their order, as lines for people. */
export function wireLog({ columns = 100, color = false, open = false }: WireLogOptions = {}):
  (entry: WireEntry) => string {
  const said = new Set<string>();
  const known = new Map<string, number>();
  const asked = new Map<string, Reading>();
  const width = Math.max(40, columns);
  const shut = (text: string) => printable(open ? text : masked(text));
  const paint = (hue: string) => (line: string) =>
    color ? `\x1b[${COLORS[hue]}m${line}\x1b[0m` : line;
  const title = ({ seq, ms, direction, text }: WireEntry, { kind, about }: Reading): string => {
    const [number, clock] = [String(seq).padEnd(2), String(ms).padStart(4)];
    const start = `#${number} +${clock}ms  ${direction}  ${kind.padEnd(12)} `;
    const size = text === "" ? "" : ` ${new TextEncoder().encode(text).length} B`;
    const room = width - start.length - size.length;
    let subject = printable(about.slice(0, width)).trimEnd();
    while (columnsOf(subject) > room) subject = `${subject.slice(0, -2)}…`;
    const gap = " ".repeat(Math.max(0, room - columnsOf(subject)));
    return `${start}${subject}${gap}${size}`.trimEnd();
  };
  return (entry) => {
    const { seq, direction, head = [] } = entry;
    const reading = readEntry(entry, asked);
    const { topics, fault, name = "" } = reading;
    const shown = foldMeta(entry.text, reading.meta, seq, known);
    const fresh = [...new Set(topics)].filter((topic) =>
      Object.hasOwn(EXPLANATIONS, topic) && !said.has(topic));
    for (const topic of fresh) said.add(topic);
    const notes = fresh.map((topic) =>
      String(EXPLANATIONS[topic]).replace("{name}", () => printable(name)));
    return [
      ...(reading.kind === "request" ? [""] : []), paint(direction)(title(entry, reading)),
      ...foldHead(head, seq, known)
        .map((line) => `  ${direction === "C->S" ? ">" : "<"} ${shut(line)}`),
      ...shown.split(/(?<=\n)/).filter((line) => line !== "")
        .flatMap((line) => breakText(shut(line), width - 4, entry.step ? FORM_TOO : undefined))
        .map((line) => `  | ${line}`),
      ...(fault === undefined ? [] : explain(`BAD ${printable(fault)}`, width).map(paint("bad"))),
      ...notes.flatMap((note) => explain(note, width)).map(paint("dim")), "",
    ].join("\n");
  };
}
// #endregion

// #region 59. Wire taps
// uses stdio http-requests texts-and-lanes the-wire-log · spec basic/transports
//
// Where the log gets its entries from: functions that stand in the way of a
// fetch, an HTTP handler or a pipe, pass all on unchanged and as it comes, and
// tell a tap. Events of a stream are told one by one, when they arrive.
//
//   connectHttp(url, { fetch: watchFetch(wireTap(console.error), fetch) })

export type WireTap = (entry: Omit<WireEntry, "seq" | "ms">) => void;
/** A tap that prints what passes. */
export function wireTap(print: (text: string) => void, options?: WireLogOptions): WireTap {
  const format = wireLog(options);
  let [began, seq] = [0, 0];
  return (entry) => {
    const now = performance.now();
    if (seq === 0) began = now;
    print(format({ ...entry, seq: ++seq, ms: Math.round(now - began) }));
  };
}

// These tell of the connection, and nothing of MCP.
const PLUMBING = new RegExp("^(?:accept-encoding|connection|content-(?:encoding|length)|date|" +
  "host|keep-alive|server|transfer-encoding|user-agent|vary)$", "i");
function headOf(first: string, headers: Pick<Headers | Map<string, string>, "forEach">): string[] {
  const head = [first];
  headers.forEach((value: string, name: string) =>
    PLUMBING.test(name) || head.push(`${name}: ${value}`));
  return head;
}
/** Tells a tap the events in a stream of text, each with the blank line that ends it. */
function watchEvents(tap: WireTap): (chunk: string) => void {
  let held = "";
  return (chunk) => {
    held = (held + chunk).replace(/[^]*?(?:\n\n|\r\n\r\n|\r\r)/g, (text) => {
      tap({ direction: "S->C", frame: "event", text });
      return "";
    });
  };
}

/** Which step of a login a request is; undefined when it is none. */
function stepOf(url: string, body: string): string | undefined {
  const [, name] = /\/\.well-known\/(oauth-protected-resource|oauth-auth|openid)/.exec(url) ?? [];
  if (name !== undefined) return name === "oauth-protected-resource" ? "who hands out tokens"
    : "where to log in";
  return body.includes("grant_type=") ? "a token" : body.includes('"redirect_uris"') ? "a client id"
    : undefined;
}
/** A fetch that tells a tap of its requests and of what comes back. */
export const watchFetch = (tap: WireTap, inner: typeof fetch): typeof fetch =>
  async (input, init = {}) => {
    const sent = typeof init.body === "string" ? init.body : "";
    const found = stepOf(`${input}`, sent);
    const step = found === undefined ? {} : { step: found };
    const asked = { direction: "C->S", frame: "body", ...step } as const;
    const given = new Headers(init.headers);
    tap({ ...asked, text: sent,
      head: headOf(`${init.method ?? "GET"} ${bareUrl(`${input}`)}`, given) });
    let over = false;
    init.signal?.addEventListener("abort", () => over ||
      tap({ ...asked, text: "", what: given.has("mcp-session-id") ? "leaves" : "closes" }));
    const response = await inner(input, init);
    const { status, statusText, headers, url } = response;
    const reply = { direction: "S->C", frame: "body", ...step,
      head: headOf(`${status}`, headers) } as const;
    const streams = /^text\/event-stream/i.test(headers.get("content-type") ?? "");
    if (streams) tap({ ...reply, text: "", what: "opens" });
    let whole = "";
    const events = watchEvents((entry) => {
      over ||= /^data: *\{(?!.*"method":)/m.test(entry.text); // the answer: no more is awaited
      tap(entry);
    });
    const see = streams ? events : (chunk: string) => void (whole += chunk);
    const decoder = new TextDecoder();
    const flush = () => {
      over = true;
      if (!streams) tap({ ...reply, text: whole });
    };
    const body = response.body?.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        see(decoder.decode(chunk, { stream: true }));
        controller.enqueue(chunk);
      },
      flush }));
    if (body === undefined) flush();
    const watched = new Response(body ?? null, { status, statusText, headers });
    return Object.defineProperty(watched, "url", { value: url }); // the constructor takes none
  };

// A handler finds headers by name; these have to do with MCP.
const TOLD = ["origin", "authorization", "content-type", "accept", "mcp-protocol-version",
  "mcp-method", "mcp-name", "mcp-session-id", "last-event-id"];
/** An HTTP handler that tells a tap what it is asked and what it replies. */
export function watchHandler(tap: WireTap, handle: HttpHandler): HttpHandler {
  return async (http) => {
    const told = TOLD.map((name): [string, string] => [name, http.header(name) ?? ""]);
    const head = headOf(http.method, new Map(told.filter(([, value]) => value !== "")));
    let asked = () => tap({ direction: "C->S", frame: "body", head, text: "" });
    const reply = await handle({ ...http, async text(limit) {
      const text = await http.text(limit);
      tap({ direction: "C->S", frame: "body", head, text: text ?? "" });
      asked = () => {};
      return text;
    } });
    asked(); // when it was refused unread
    const { status, headers, body = "", stream } = reply;
    tap({ direction: "S->C", frame: "body", text: body, ...(stream && { what: "opens" }),
      head: headOf(`${status}`, new Map(Object.entries(headers))) });
    const events = watchEvents(tap);
    return stream === undefined ? reply : { ...reply, stream: (sink) => stream({ ...sink,
      write(text) {
        events(text);
        return sink.write(text);
      } }) };
  };
}

/** The `onLine` of a pipe's client. */
export const watchLine = (tap: WireTap) =>
  (direction: WireEntry["direction"], line: string): void =>
    tap({ direction, frame: "line", text: `${line}\n` });
/** The pipe of a server, watched. */
export function watchPipe(tap: WireTap, { readable, write }: Pipe): Pipe {
  const see = watchLine(tap);
  async function* chunks() {
    const split = lineSplitter();
    for await (const chunk of readable) {
      for (const line of split(chunk)) see("C->S", line ?? "(a line over the limit)");
      yield chunk;
    }
  }
  return { readable: chunks(), write(text) {
    for (const line of text.split("\n").slice(0, -1)) see("S->C", line);
    return write(text);
  } };
}
// #endregion

// #region 60. Arguments
// uses errors-and-parsing texts-and-lanes stdio registration the-wire-log
//
// What was typed, taken apart; and what went wrong, in one sentence that names
// the fault and what to do about it.
//
//   call add a=2 -H "X: y" http://host/mcp  ->  words add, a=2, URL; --header

/** The world of the command line. */
export interface IO {
  stdout(text: string): void;
  stderr(text: string): void;
  columns: { stdout: number | undefined; stderr: number | undefined }; // where it is a terminal
  env: ColorWish;
  pipe(): Pipe; // stdin and stdout
  onSignal(listener: (name: "SIGINT" | "SIGTERM" | "SIGHUP") => void): void;
  self(): Promise<readonly string[]>; // the command that runs this file again
  locate(path: string): Promise<string>; // gives the file: URL of a path
  load(url: string): Promise<Record<string, unknown>>; // gives a module
  /** Asks whoever sits at the terminal, if there is one; undefined at the end of input. */
  ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** Where logins are kept. */
  logins(): Store;
  /** Opens a page in a browser; false: there is none. */
  browse(url: string): Promise<boolean>;
}

const HELP = `mcp-raw.ts demo                                  watch a conversation, byte by byte
mcp-raw.ts serve --http 3100                     a server to try things on
mcp-raw.ts call http://127.0.0.1:3100/mcp        what does that server offer?
mcp-raw.ts call add a=2 b=40 -- node server.mjs  call a tool of a server on stdio

demo   [--http | --auth] [--era modern|legacy]   without --era a taste of both; --auth: a login
serve  --stdio | --http [PORT] [--host H] [--allow-origin URL ...] [--module FILE | --page N]
call   [TOOL [key=value ...] | --method M [--params JSON] | --line TEXT | --listen]
       URL | -- COMMAND ...

  -H 'Name: value'  a header, repeatable      -e KEY=VALUE  a variable of the command
  --timeout MS      how long to wait          --cwd DIR     where the command runs
  --era ERA         speak modern or legacy MCP; auto finds out what the server speaks
  --json            the whole result          --wire        every byte, on stderr (serve too)
  -q, --quiet       only results and errors   -h, -V        this text, the version
  --no-redact       secrets too, with --wire  --client-id ID, --client-secret S  for the login
  --answer KEY=VALUE  fill in a field of a form when the server asks, repeatable
  --decline         say no to whatever it asks; without a terminal that is done in any case
  --root DIR        a folder to tell the server of, repeatable
  --line TEXT       send TEXT as it is, right or wrong, and print what comes back
  --listen          print changes until Ctrl-C; --params '{"notifications":{..}}' says of what
  --module FILE     serve the default export of FILE, or its app or server; else the demo
  --page N          serve the demo's lists in pages of N entries

Logins are kept in ~/.config/mcp-raw (XDG_CONFIG_HOME); without that folder nobody is logged in.
Results go to stdout, all else to stderr. Exit codes: 0 fine, 1 usage, 3 authorization,
4 unreachable, timed out or died, 5 tool error or not found, 6 a rule broken, 130 Ctrl-C.
`;

// Per command: = takes a value, * may be repeated, ? takes a number or nothing.
const FLAGS: Readonly<Record<string, string>> = {
  demo: "http auth era= no-redact",
  serve: "stdio http? host= allow-origin=* module= page= wire no-redact",
  call: "method= params= line= listen header=* env=* cwd= timeout= json quiet wire era= " +
    "answer=* decline root=* no-redact client-id= client-secret=",
};
const SHORT: Readonly<Record<string, string>> =
  { "-H": "--header", "-e": "--env", "-q": "--quiet" };
const usage = (why: string): TransportError => new TransportError("usage", why);

/** A command line, taken apart. */
export interface Arguments {
  command: string;
  has(flag: string): boolean;
  /** The value of a flag, "" where it takes none. */
  flag(name: string): string | undefined;
  all(name: string): readonly string[];
  words: readonly string[];
  target: readonly string[]; // what stands after "--"
}

/** Reads a command line. Throws TransportError "usage". */
export function parseArguments([command = "", ...rest]: readonly string[]): Arguments {
  if (!Object.hasOwn(FLAGS, command)) throw usage(`${JSON.stringify(command)} is no command`);
  const kinds = new Map((FLAGS[command] ?? "").split(" ").map((flag) =>
    [`--${flag.replace(/\W+$/, "")}`, flag.replace(/^[\w-]+/, "")]));
  const dashes = rest.indexOf("--");
  const queue = dashes === -1 ? rest : rest.slice(0, dashes);
  const found = new Map<string, string[]>();
  const words: string[] = [];
  for (let word = queue.shift(); word !== undefined; word = queue.shift()) {
    const [typed = "", joined] = word.startsWith("--") ? word.split(/=(.*)/s) : [word];
    const name = SHORT[typed] ?? typed;
    const kind = kinds.get(name);
    if (!/^-./.test(word)) {
      words.push(word);
      continue;
    }
    if (kind === undefined) throw usage(`${command} has no flag ${typed}`);
    if (found.has(name) && kind !== "=*") throw usage(`${typed} is given twice`);
    if (kind === "" && joined !== undefined) throw usage(`${typed} takes no value`);
    const next = kind === "" ? /^\b$/ : kind === "?" ? /^\d+$/ : /^(?!--\w)/;
    const value = joined ?? (next.test(queue[0] ?? "--none") ? queue.shift() : undefined);
    if (value === undefined && kind.startsWith("=")) throw usage(`${typed} wants a value`);
    found.set(name, [...found.get(name) ?? [], value ?? ""]);
  }
  const target = dashes === -1 ? [] : rest.slice(dashes + 1);
  const stray = command === "call" ? undefined : [...words, ...target][0];
  if (stray !== undefined) throw usage(`${command} does not take ${JSON.stringify(stray)}`);
  return { command, words, target, has: (name) => found.has(name),
    flag: (name) => found.get(name)?.[0], all: (name) => found.get(name) ?? [] };
}
const LONGEST = 2 ** 31 - 1; // milliseconds that setTimeout can wait
/** A whole number of a flag, in its bounds. */
export function numberOf({ flag }: Arguments, name: string, most: number = LONGEST):
  number | undefined {
  const value = flag(name);
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value) && Number(value) <= most) return Number(value);
  throw usage(`${name} wants a whole number up to ${most}, not ${JSON.stringify(value)}`);
}
/** "Name: value" -> ["Name", "value"], cut at the first colon. */
export function headerOf(given: string): [name: string, value: string] {
  const pattern = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):([\t\x20-\x7e\x80-\xff]*)$/;
  const [, name, value] = pattern.exec(given) ?? [];
  if (name !== undefined && value !== undefined) return [name, value.trim()];
  throw usage(`-H wants 'Name: value', not ${JSON.stringify(masked(given))}`);
}
/** ["a=1", "b=="] -> a: "1", b: "=", each cut at its first equals sign. */
function pairsOf(what: string, given: readonly string[]): Map<string, string> {
  const pairs = new Map<string, string>();
  for (const pair of given) {
    const [key = "", value] = pair.split(/=(.*)/s);
    if (value === undefined || key === "") throw usage(`${what} is KEY=VALUE, not "${pair}"`);
    if (pairs.has(key)) throw usage(`${what} is given twice: ${key}`);
    pairs.set(key, value);
  }
  return pairs;
}
/** The JSON value of a text that was typed; undefined when it is none. */
function typedJSON(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
const EXITS: Readonly<Record<string, number>> =
  { usage: 1, "in-use": 1, authorization: 3, framing: 6, unreadable: 6, result: 6, overflow: 6 };
const ADVICE: Readonly<Record<string, string>> = {
  usage: "--help shows how.", timeout: "--timeout MS waits longer.",
  command: "Check the spelling and PATH, or install it.",
  unreachable: "Is the server running there?", closed: "Run the server by itself to see why." };
/** The exit code and the sentence for what went wrong. */
export function failureOf(error: unknown): { code: number; sentence: string } {
  const lacks: unknown = Object(Object(error).data).requiredCapabilities;
  const kind = /^Cannot run /.test(String(Object(error).message)) ? "command" : Object(error).code;
  const [code, message, advice = ""] = error instanceof TransportError
    ? [EXITS[error.code] ?? 4, error.message, ADVICE[kind]]
    : error instanceof ProtocolError ? [5, `The server refused: ${error.message} (${error.code}${
      lacks === undefined ? "" : ` ${JSON.stringify(lacks)}`})`]
    : error instanceof AuthorizationError ? [3, error.message,
      "-H 'Authorization: Bearer ...' sends a token of yours."]
    : [1, `Unexpected: ${error instanceof Error ? error.message : error}`];
  const more = message.includes("--allow-") ? "" : advice; // Deno says itself what it wants
  return { code, sentence: printable(`${message.replace(/[^.!?]$/, "$&.")} ${more}`).trimEnd() };
}
// #endregion

// #region 61. Answering a server
// uses everything
//
// What is typed are words, so a schema says whether "2" is a number. That goes
// for the arguments of a tool, and for the forms that it may ask to be filled
// in: from flags, or at the terminal, else the answer is no. The user sees who
// asks, a form before it is sent, and a URL in full, which is opened by hand.
//
//   call book_table --answer name=Ada -- node server.mjs

/** What a command runs in. */
export interface Stage {
  args: Arguments; io: IO; tap: WireTap | undefined;
  signal: AbortSignal; // aborts at Ctrl-C
  onEnd(end: () => unknown): void; // takes what has to be done in any case
  warn(sentence: string): void; // unless it has to be quiet
}
const say = ({ stderr }: IO, sentence: string) => stderr(`mcp-raw: ${printable(sentence)}\n`);
const URL_WORD = /^https?:\/\//i;
function targetOf({ words, target }: Arguments): string | readonly string[] {
  const urls = words.filter((word) => URL_WORD.test(word));
  if (urls.length + Math.min(1, target.length) === 1) return urls[0] ?? target;
  throw usage("Name one server: an http URL, or -- and the command that starts it");
}

/** The types that a schema names, also inside anyOf and oneOf. */
function typesOf(schema: unknown): unknown[] {
  if (!isObject(schema)) return [];
  if (schema.type !== undefined) return [schema.type].flat();
  return [schema.anyOf, schema.oneOf].flat().flatMap(typesOf);
}
/** A typed word as the value that a schema asks for; undefined when it does not fit. */
export function readWord(word: string, schema: unknown): unknown {
  const types = typesOf(schema);
  const value = types.length === 1 && types[0] === "string" ? undefined : typedJSON(word);
  const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  const fits = types.length === 0 || types.includes(type) ||
    types.includes("integer") && Number.isInteger(value);
  if (value !== undefined && fits) return value;
  return types.length === 0 || types.includes("string") ? word : undefined;
}
/** The key=value words as the arguments of a tool. */
function readWords(words: readonly string[], schema: unknown, warn: (sentence: string) => void) {
  const fields = new Map(Object.entries(Object(Object(schema).properties)));
  const given = [...pairsOf("An argument", words)].map(([key, word]) => {
    const field = fields.get(key);
    const value = field === undefined ? undefined : readWord(word, field);
    const why = field === undefined ? "not in the schema" : `no ${typesOf(field).join("|")}`;
    if (schema !== undefined && value === undefined) {
      warn(`${key}=${word} is ${why}; sent as typed.`);
    }
    return [key, value === undefined ? word : value];
  });
  return Object.fromEntries(given);
}
/** What was typed into a field of a form, and what is wrong with it. */
function readField(typed: string, field: PrimitiveSchemaDefinition) {
  const value = field.type === "array" && !typed.startsWith("[") ? typed.split(/\s*,\s*/)
    : readWord(typed, field) ?? typed;
  return [value, compile(field)(value)?.[0]?.message] as const;
}

type Put = NonNullable<IO["ask"]>;
type Given = ReadonlyMap<string, unknown>;
const contentOf = (given: Given) => // of values that were checked one by one
  Object.fromEntries(given) as NonNullable<ElicitResult["content"]>;
/** Asks for the fields of a form that are not given; undefined when the user turns away. */
async function fillForm({ requestedSchema }: ElicitRequestFormParams, given: Given,
  { stderr }: IO, ask: Put) {
  const { properties, required = [] } = requestedSchema;
  const filled = new Map(given);
  for (const [key, field] of Object.entries(properties).filter(([key]) => !given.has(key))) {
    let [value, fault]: readonly [unknown?, string?] = [];
    do {
      const typed = await ask(printable(`  ${key} ${JSON.stringify(field)}: `));
      if (typed === undefined) return undefined;
      [value, fault] = typed === "" ? [field.default] : readField(typed, field);
      if (value === undefined && required.includes(key)) fault = "this is needed";
      if (fault !== undefined) stderr(`    ${printable(fault)}\n`);
    } while (fault !== undefined);
    if (value !== undefined) filled.set(key, value);
  }
  return contentOf(filled);
}
async function putForm(params: ElicitRequestFormParams, given: Given, io: IO, ask: Put):
  Promise<ElicitResult> {
  for (let known = given; ; known = new Map()) { // a change starts anew
    const content = await fillForm(params, known, io, ask);
    const sure = content &&
      await ask(printable(`  Send ${JSON.stringify(content)}? y, n(o), c(hange): `));
    if (content === undefined || sure === undefined) return { action: "cancel" };
    if (/^n/i.test(sure)) return { action: "decline" };
    if (!/^c/i.test(sure)) return { action: "accept", content };
  }
}
/** A URL as it has to be shown before anybody opens it. */
function urlLines(url: string): string[] {
  const { host, protocol, username, password } = new URL(url);
  return [url, `The host is ${host}`,
    /(?:^|\.)xn--/.test(host) ? "Its name is in Punycode, so it may look like another" : "",
    username + password === "" ? "" : "What stands before the @ is not the host",
    protocol === "https:" || LOOPBACK.test(host) ? ""
      : "What is typed there can be read on its way (http)",
  ].filter((line) => line !== "");
}
/** What a person at the terminal says in place of a model. */
async function putSample({ messages, systemPrompt }: CreateMessageRequestParams, ask: Put) {
  const said = messages.flatMap(({ role, content }) => [content].flat().map((part) =>
    `${role}: ${part.type === "text" ? part.text : part.type}`));
  if (systemPrompt !== undefined) said.unshift(`system: ${systemPrompt}`);
  const lines = said.map((line) => `  ${printable(line)}\n`);
  const text = await ask(`${lines.join("")}  You are the model: `);
  if (text === undefined) throw new TransportError("cancelled", "The model said nothing");
  return { role: "assistant", content: { type: "text", text }, model: "a person" } as const;
}
/** How `call` answers what its server asks on the way: from flags, or at the terminal. */
export function answersOf(stage: Stage): Answers {
  const { args, io } = stage;
  const roots = args.all("--root");
  const typed = pairsOf("--answer", args.all("--answer"));
  const declines = args.has("--decline");
  const ask = declines ? undefined : io.ask;
  if (declines && typed.size > 0) throw usage("Choose one: --answer or --decline");
  let last: Promise<unknown> = Promise.resolve();
  /** Asks one thing after the other, saying who asks. */
  const inTurn = <T>(lines: string[], work: () => Awaitable<T>): Promise<T> => {
    const next = last.then(() => {
      io.stderr(`${[targetOf(args)].flat().join(" ")} ${lines.map(printable).join("\n  ")}\n`);
      return work();
    });
    last = next.catch(() => {});
    return next;
  };
  const decline = (fix: string): ElicitResult => {
    say(io, declines ? "Declined" : `Declined: there is no terminal to ask at. ${fix}`);
    return { action: "decline" };
  };
  return {
    form(params) {
      const { message, requestedSchema: { properties, required = [] } } = params;
      const own = Object.entries(properties).filter(([key]) => typed.has(key));
      const given = new Map(own.map(([key, field]) => {
        const [value, fault] = readField(typed.get(key) ?? "", field);
        if (fault !== undefined) throw usage(`--answer ${key} does not fit: ${fault}`);
        return [key, value];
      }));
      const lacking = required.find((key) =>
        !given.has(key) && properties[key]?.default === undefined);
      if (own.length > 0 && lacking === undefined) {
        return { action: "accept", content: contentOf(given) };
      }
      return inTurn([`asks: ${message}`], () => ask !== undefined ? putForm(params, given, io, ask)
        : decline(`--answer ${lacking ?? "KEY"}=... fills in the form`));
    },
    url: ({ message, url }) =>
      inTurn([`asks you to open a page: ${message}`, ...urlLines(url)], async () => {
        if (ask === undefined) return decline("Nothing but a person can agree to that");
        const done = await ask("  Open it yourself if you trust it, then y; or n to decline: ");
        return { action: done === undefined ? "cancel" : /^y/i.test(done) ? "accept" : "decline" };
      }),
    ...(ask && { sample: (params) => inTurn(["asks a model:"], () => putSample(params, ask)) }),
    ...(roots.length > 0 && { roots: () => Promise.all(
      roots.map(async (name) => ({ uri: await io.locate(name), name }))) }),
  };
}
// #endregion

// #region 62. Calling a server
// uses everything
//
// The command `call`, its first half: reach a server and call one of its tools.
// What the server tells meanwhile goes to stderr.
//
//   call add a=2 b=40 -- node server.mjs  ->  42

type Entry = Record<string, unknown>; // of a list, from a stranger
/** A client for any method by its name; what comes back is looked at first. */
interface AnyClient extends Client {
  call: Client["call"] & ((method: string, params: object, how?: CallOptions) => Promise<Result>);
  list: Client["list"] & ((method: string, key: string) => Promise<Entry[]>);
}
function looksOf({ env, columns }: IO, stream: "stdout" | "stderr", args: Arguments):
  WireLogOptions {
  const width = columns[stream];
  return { color: wantsColor(env, width !== undefined), columns: width ?? 100,
    open: args.has("--no-redact") };
}

/** A fetch that names what a status means, before anybody looks for an answer. */
const checkedFetch = (inner: typeof fetch): typeof fetch => async (input, init) => {
  const response = await inner(input, init);
  const { status, headers } = response;
  const { error_description: said, scope = "what it does not say" } =
    parseChallenges(headers.get("www-authenticate") ?? "").at(-1)?.parameters ?? {};
  const why = status === 401 ? said ?? "who calls? Give a token: -H 'Authorization: Bearer ...'"
    : status !== 403 ? undefined : said === undefined
      ? `not allowed (${await readText(response.body, 500)}). Check token and Origin`
    : `${said}; it takes ${scope}`;
  if (why === undefined) return response;
  throw new TransportError("authorization", `HTTP ${status} from ${input}: ${why}`);
};
const fetchOf = ({ tap }: Stage) => tap === undefined ? fetch : watchFetch(tap, fetch);
function headersOf({ args }: Stage): Record<string, string> {
  const wrong = ["--env", "--cwd"].find(args.has);
  if (wrong !== undefined) throw usage(`${wrong} is for commands, a URL takes -H`);
  return Object.fromEntries(args.all("--header").map(headerOf));
}

/** Starts the command of `call`. */
async function startCommand(command: readonly string[], stage: Stage,
  options: ConnectLinesOptions): Promise<Connection> {
  const { args, io, onEnd, tap } = stage;
  const cwd = args.flag("--cwd");
  if (args.has("--header")) throw usage("-H is for URLs, a command takes -e");
  const see = tap && watchLine(tap);
  const connection = await spawnServer(command, { ...options, ...(cwd !== undefined && { cwd }),
    env: Object.fromEntries(pairsOf("-e", args.all("--env"))),
    onStderr: (said) => args.has("--quiet") || io.stderr(said),
    onLine(direction, line) {
      see?.(direction, line);
      options.onLine?.(direction, line);
    },
  });
  onEnd(connection.close);
  return connection;
}
const eraOf = ({ flag }: Arguments): Era | undefined => {
  const era = flag("--era");
  if (era === undefined || era === "modern" || era === "legacy" || era === "auto") return era;
  throw usage(`--era is auto, modern or legacy, not ${JSON.stringify(era)}`);
};
/** A fetch that logs the user in when the server asks for it. */
function loginFetch(url: string, { args, io, tap }: Stage): AuthorizedFetch {
  const [client_id, client_secret] = ["--client-id", "--client-secret"].map(args.flag);
  if (client_secret !== undefined && client_id === undefined) {
    throw usage("--client-secret goes with --client-id");
  }
  const show = async (page: string) => {
    io.stderr([`${url} asks you to log in. Open this page:`, ...urlLines(page)]
      .map((line) => `${printable(line)}\n`).join("  "));
    const agreed = await io.ask?.("  Open it in a browser now? y, or n to do it yourself: ");
    if (/^y/i.test(agreed ?? "") && !await io.browse(page)) say(io, "There is no browser here");
  };
  return authorizedFetch(tap === undefined ? fetch : watchFetch(tap, fetch), { url,
    store: io.logins(), grant: loginWith(() => loopbackVisitor(show)),
    clientMetadata: { client_name: "mcp-raw" }, ...(client_id !== undefined && { client:
      { client_id, ...(client_secret !== undefined && { client_secret }) } }) });
}
/** Connects to the server that the arguments name; `blame` adds to an error what was seen. */
async function reach(stage: Stage) {
  const { args, warn } = stage;
  const target = targetOf(args);
  const timeoutMs = numberOf(args, "--timeout");
  const answers = answersOf(stage);
  const reached = typeof target === "string" ? loginFetch(target, stage) : undefined;
  const options = { info: SELF, warn, ...(timeoutMs !== undefined && { timeoutMs }),
    ...(reached && { waits: reached.busy }), ...answering(answers, { compile, warn }) };
  const both = { answers, compile, warn, era: eraOf(args) ?? "auto" };
  let noise = "";
  let broken = false; // what follows a framing fault is not worth a word
  const start = (era: Era) => startCommand(target as readonly string[], stage, {
    connect: (send, more = {}) => connectEither(send, { ...both, ...more, era }),
    warn(fault) {
      broken ||= fault.code === "framing";
      if (broken || fault.code !== "noise") return; // the call fails, and says why
      noise = " Lines on stdout that are no messages may be why: logs belong on stderr";
      warn(fault.message);
    } });
  const { exchange, close } = reached === undefined ? await startEither(start, both.era)
    : connectHttpEither(`${target}`, { ...both, fetch: checkedFetch(reached),
      headers: headersOf(stage) });
  stage.onEnd(close);
  const blame = (error: unknown) => {
    if (!(error instanceof TransportError) || error.code === "framing" || noise === "") throw error;
    throw new TransportError(error.code, error.message.replace(/\.?$/, ".") + noise);
  };
  return { client: connect(exchange, options) as AnyClient, blame };
}

/** A content block for people: text as it is, all else as a line about it. */
function blockText(block: unknown, { columns }: IO): string {
  if (!isObject(block)) return JSON.stringify(block);
  if (block.type === "text" && typeof block.text === "string") {
    const steers = columns.stdout !== undefined; // a terminal must not be steered by a stranger
    return steers ? block.text.split("\n").map(printable).join("\n") : block.text;
  }
  const inner = isObject(block.resource) ? block.resource : block;
  const base64 = String(inner.data ?? inner.blob ?? "").replace(/=+$/, "");
  const size = typeof inner.text === "string" ? `${inner.text.length} characters`
    : base64 === "" ? "" : `${Math.floor(base64.length * 3 / 4)} bytes`;
  return printable(`[${[block.type, inner.mimeType, size, inner.uri].filter(Boolean).join(" ")}]`);
}
const jsonText = (value: unknown, { columns }: IO): string =>
  `${JSON.stringify(value, null, columns.stdout === undefined ? undefined : 2)}\n`;
/** How a call is made that somebody watches: its progress and its log are told. */
function watched(params: Params, { args, io, signal }: Stage): [params: Params, how: CallOptions] {
  if (args.has("--quiet")) return [params, { signal }];
  const onProgress: CallOptions["onProgress"] = ({ progress, total, message = "" }) =>
    say(io, `${progress}${total === undefined ? "" : ` of ${total}`}  ${message}`.trimEnd());
  const onNotification: CallOptions["onNotification"] = ({ method, params = {} }) => {
    const { level, data } = params;
    const text = typeof data === "string" ? data : JSON.stringify(data);
    if (method === "notifications/message") say(io, `${level}: ${text}`);
  };
  const _meta = { [LOG_LEVEL]: "info", ...Object(params._meta) };
  return [{ ...params, _meta }, { signal, onProgress, onNotification }];
}
async function callTool([name = "", ...words]: string[], client: AnyClient, stage: Stage) {
  const { io, args } = stage;
  const listed = await client.list("tools/list", "tools");
  const found = listed.find((tool) => tool.name === name);
  const schema = found && (found.inputSchema ?? {});
  const [given, how] = watched({ name, arguments: readWords(words, schema, stage.warn) }, stage);
  const result = await client.call("tools/call", given, how).catch((error: unknown) => {
    if (!(error instanceof ProtocolError) || found !== undefined) throw error;
    const names = listed.map((tool) => tool.name).join(", ");
    throw new ProtocolError(error.code, `${error.message}. Its tools are ${names || "none"}`);
  });
  const content: readonly unknown[] = Array.isArray(result.content) ? result.content : [];
  const lines = content.map((block) => blockText(block, io).replace(/\n?$/, "\n"));
  io.stdout(args.has("--json") ? jsonText(result, io) : lines.join(""));
  if (result.isError !== true) return 0;
  say(io, `The tool "${name}" failed (isError); what it says about it is the result.`);
  return 5;
}
// #endregion

// #region 63. Looking around
// uses everything
//
// The command `call`, its second half: a walk over all that a server says of
// itself, any method, any line of text, and the notifications that it sends.
//
//   call http://127.0.0.1:3100/mcp  ->  mcp-raw 0.1.0 .. add(a: number, b: ..)

/** "add(a: number, b?: number)" for a tool; an address for a resource. */
function signatureOf({ name, uri, uriTemplate = uri, inputSchema, arguments: given }: Entry) {
  if (uriTemplate !== undefined) return String(uriTemplate);
  const { properties, required } = Object(inputSchema);
  const typed = Object.entries(Object(properties)).map(([key, property]) =>
    `${key}${[required].flat().includes(key) ? "" : "?"}: ` +
    `${typesOf(property).join(" | ") || "any value"}`);
  const named = [given].flat().filter(isObject) // of a prompt
    .map((argument) => `${argument.name}${argument.required === true ? "" : "?"}`);
  return `${name}(${[...typed, ...named].join(", ")})`;
}
function listing(key: string, entries: Entry[]): string {
  const names = entries.map(signatureOf);
  const column = Math.min(46, Math.max(0, ...names.map((name) => name.length)));
  const lines = entries.map(({ description, title }, at) =>
    `  ${names[at]?.padEnd(column)}  ${String(description ?? title ?? "").split("\n")[0]}`);
  return [`${key} (${entries.length})`, ...lines].map(lineOf).join("");
}
const lineOf = (text: string) => `${printable(text).trimEnd()}\n`;
const LISTS: readonly [name: string, method: string, key: string][] = [
  ["tools", "tools/list", "tools"], ["resources", "resources/list", "resources"],
  ["resources", "resources/templates/list", "resourceTemplates"],
  ["prompts", "prompts/list", "prompts"]];
/** All that a server says of itself. */
async function walk(client: AnyClient, { io, args }: Stage): Promise<number> {
  const about = await client.call("server/discover", {}).catch((error: unknown) => {
    if (!(error instanceof ProtocolError)) throw error;
    const { supported } = Object(error.data);
    throw new ProtocolError(error.code, `${error.message}. It speaks ${supported ??
      `earlier revisions of MCP, it seems, and this client ${MODERN_VERSIONS}`}`);
  });
  const { supportedVersions, capabilities, instructions, _meta = {} } = about;
  const found: Record<string, Entry[]> = {};
  let exit = 0;
  const blame = (code: number, sentence: string) => {
    exit = Math.max(exit, code);
    say(io, sentence);
  };
  for (const [capability, method, key] of LISTS.filter(([name]) => name in Object(capabilities))) {
    try {
      found[key] = await client.list(method, key);
    } catch (error) {
      const { code, sentence } = failureOf(error);
      blame(code, `${capability} are advertised, but ${method} failed. ${sentence}`);
    }
  }
  for (const { name, inputSchema } of found.tools ?? []) {
    if (!isObject(inputSchema)) blame(6, `The tool "${name}" has no inputSchema; each needs one.`);
  }
  const info = _meta["io.modelcontextprotocol/serverInfo"];
  const lines = [`${info?.name ?? "A server without a name"} ${info?.version ?? ""}`,
    `  speaks        ${[supportedVersions].flat().join(", ")}`,
    `  offers        ${Object.keys(Object(capabilities)).join(", ") || "nothing"}`,
    ...(instructions === undefined ? [] : [`  instructions  ${instructions}`])];
  const lists = Object.entries(found).map(([key, entries]) => listing(key, entries));
  io.stdout(args.has("--json") ? jsonText({ version: client.version(), ...about, ...found }, io)
    : [...lines.map(lineOf), ...lists].join(""));
  return exit;
}
function paramsOf({ flag }: Arguments): Params {
  const value = typedJSON(flag("--params") ?? "{}");
  if (isObject(value)) return value;
  throw usage(`--params wants a JSON object, not ${JSON.stringify(flag("--params"))}`);
}
async function listenTo(client: AnyClient, stage: Stage): Promise<number> {
  const { io, args, signal, warn } = stage;
  const { capabilities } = await client.call("server/discover", {});
  const lists = ["tools", "prompts", "resources"].filter((name) =>
    Object(Object(capabilities)[name]).listChanged === true);
  const { notifications } = paramsOf(args);
  const changing = lists.map((name) => [`${name}ListChanged`, true]);
  const filter: SubscriptionFilter = { ...Object.fromEntries(changing), ...Object(notifications) };
  if (Object.keys(filter).length === 0) {
    say(io, "The server announces no changes. --params '{\"notifications\":{..}}' asks for more");
    return 5;
  }
  const { acknowledged, closed } = subscribe(client, filter, { signal, warn,
    onChange: (notification) => io.stdout(`${JSON.stringify(notification)}\n`),
    onLost: (error) =>
      warn(`${failureOf(error).sentence} Changes may have been missed; listening again.`) });
  const agreed = await Promise.race([acknowledged, closed]);
  if (agreed) warn(`Listening until Ctrl-C: ${JSON.stringify(agreed)}.`);
  await closed;
  warn("The server has ended the subscription.");
  return 0;
}
const late = (ms: number) => new TransportError("timeout", `Nothing came back within ${ms} ms`);
/** A line that was typed, as a message, when it is one. */
function typedMessage(line: string): JSONRPCMessage | undefined {
  try {
    return readMessage(typedJSON(line));
  } catch {
    return undefined;
  }
}
/** Sends a line to a command as it is; prints what comes back up to the first answer. */
async function lineToCommand(line: string, command: readonly string[], stage: Stage) {
  const ms = numberOf(stage.args, "--timeout") ?? 10_000;
  const message = typedMessage(line);
  const silent = message !== undefined && !("id" in message); // a notification gets no answer
  let send: SendText = () => {};
  let answered = false;
  const done = gate();
  const connection = await startCommand(command, stage, {
    connect(raw, options) {
      send = raw;
      return connectChannel(raw, options);
    },
    onLine(direction, text) {
      if (direction === "C->S") return;
      stage.io.stdout(`${text}\n`);
      const answer = typedMessage(text);
      answered ||= answer === undefined || !("method" in answer);
      if (answered) done.open();
    },
  });
  await send(line);
  const ended = await endsWithin(silent ? Math.min(ms, 300) : ms,
    Promise.race([done.wait(), connection.closed]));
  if (answered || !ended && silent) return 0;
  throw ended ? new TransportError("closed", "The server did not answer") : late(ms);
}
/** Posts a text as it is; prints the body that comes back. */
async function lineToUrl(line: string, url: string, stage: Stage): Promise<number> {
  const ms = numberOf(stage.args, "--timeout") ?? 10_000;
  const message = typedMessage(line);
  const isRequest = message !== undefined && "method" in message && "id" in message;
  const headers = new Headers({ "Content-Type": "application/json",
    Accept: "application/json, text/event-stream", "MCP-Protocol-Version": `${MODERN_VERSIONS[0]}`,
    ...(isRequest && mirroredHeaders(message, MIRRORS)) });
  for (const [name, value] of Object.entries(headersOf(stage))) headers.set(name, value);
  const signal = AbortSignal.timeout(ms);
  try {
    const init = { method: "POST", body: line, headers, signal, redirect: "manual" } as const;
    const { status, body } = await fetchOf(stage)(url, init);
    stage.warn(`HTTP ${status}`);
    const reply = await readText(body, MAX_MESSAGE) ?? "";
    stage.io.stdout(reply === "" ? "" : reply.replace(/\n?$/, "\n"));
    return status === 401 || status === 403 ? 3 : 0;
  } catch (error) {
    if (signal.aborted) throw late(ms);
    throw new TransportError("unreachable", `Cannot reach ${bareUrl(url)}: ${reasonOf(error)}`);
  }
}
/** The command `call`. */
async function callCommand(stage: Stage): Promise<number> {
  const { args, io } = stage;
  const [method, line, listens] = ["--method", "--line", "--listen"].map(args.flag);
  const target = targetOf(args);
  const words = args.words.filter((word) => !URL_WORD.test(word));
  const ways = [words[0], method, line, listens].filter((way) => way !== undefined);
  if (ways.length > 1) throw usage("Choose one: a tool, --method, --line or --listen");
  if (line !== undefined && typeof target === "string") return lineToUrl(line, target, stage);
  if (line !== undefined && typeof target !== "string") return lineToCommand(line, target, stage);
  const [params, how] = watched(paramsOf(args), stage);
  const { client, blame } = await reach(stage);
  const work = words.length > 0 ? callTool(words, client, stage)
    : listens !== undefined ? listenTo(client, stage)
    : method === undefined ? walk(client, stage)
    : client.call(method, params, how).then((result) => {
      io.stdout(jsonText(result, io));
      return 0;
    });
  return work.catch(blame);
}
// #endregion

// #region 64. The demo
// uses everything
//
// A conversation in acts, each under a title, told by the wire log. On stdio
// the server is this file in a process of its own, over HTTP it is in this one.
// Its pages are short, so that the lists are too.
//
//   node mcp-raw.ts demo --http

/** What the demo plays on; lie sends a request whose headers and body differ. */
interface Scene {
  client: AnyClient;
  /** Whether the server has noted something since the act began. */
  noted(): boolean;
  lie?: () => Promise<unknown>;
  /** Ends all tokens. */
  expire?: () => void;
  /** The call that hears of changes until the end. */
  listening?: Promise<unknown>;
  end(): Promise<string>;
}
type Play = (scene: Scene) => unknown;
const asks = (method: string, params: object = {}, how?: CallOptions): Play =>
  ({ client }) => client.call(method, params, how).catch((error: unknown) => {
    if (!(error instanceof ProtocolError)) throw error; // that one is part of the play
  });
const calls = (name: string, given: object = {}, how?: CallOptions, _meta = {}): Play =>
  asks("tools/call", { name, arguments: given, _meta }, how);
async function until(fine: () => boolean): Promise<void> {
  for (let waited = 0; !fine() && waited < 1_000; waited += 10) await pause(10);
}
async function givesUp({ client, noted }: Scene): Promise<void> {
  const controller = new AbortController();
  setTimeout(() => controller.abort("no longer needed"), 400);
  const nap = { name: "sleep", arguments: { ms: 60_000, label: "nap" } };
  await client.call("tools/call", nap, controller).catch(() => {});
  await until(noted);
}
async function listens(scene: Scene): Promise<void> {
  let told = 0;
  const notifications = { resourcesListChanged: true, resourceSubscriptions: ["note:latest"] };
  scene.listening = scene.client.call("subscriptions/listen", { notifications },
    { timeoutMs: Infinity, onNotification: () => void told++ }).catch(() => {});
  await until(() => told === 1);
  await calls("add_note", { text: "Buy milk" })(scene);
  await until(() => told === 3);
}
const ACTS: readonly (readonly [title: string, ...plays: Play[]])[] = [
  ["The client asks who is there", asks("server/discover")],
  ["It asks for the tools, and gets the first of them", asks("tools/list")],
  ["A call that works", calls("add", { a: 2, b: 3 })],
  ["A result for programs", calls("divide", { a: 7, b: 2 })],
  ["A picture", calls("picture")],
  ["A call that fails in the tool", calls("calculator", { operation: "divide", a: 1, b: 0 })],
  ["A call of a tool that is not there", calls("subtract", { a: 2, b: 3 })],
  ["A call that tells how far it is",
    calls("count", { to: 2 }, { onProgress() {} }, { [LOG_LEVEL]: "info" })],
  ["A long call that the client gives up", givesUp],
  ["A tool that has to ask the user", calls("book_table")],
  ["Things to read", asks("resources/list"), asks("resources/templates/list"),
    asks("resources/read", { uri: "note:latest" })],
  ["Texts to pick from a menu", asks("prompts/list"), asks("completion/complete",
    { ref: { type: "ref/prompt", name: "explain_word" }, argument: { name: "word", value: "el" } }),
    asks("prompts/get", { name: "explain_word", arguments: { word: "elicitation" } })],
  ["A header that lies about the body", ({ lie }) => lie?.().catch(() => {})],
  ["The client wants to hear of changes, and makes one", listens],
];
const OLDER_ACTS: typeof ACTS = [
  ["The client shakes hands", asks("server/discover")], // which it cannot send before
  ["A call that works", calls("add", { a: 2, b: 3 })],
  ["A tool that has to ask the user", calls("book_table")],
  ["The client wants to hear of changes, and makes one", listens],
];

/** Meets a server for a user who fills in what has no default. */
const meet = async (target: string | readonly string[], how: OpenOptions) => {
  const form = () => ({ action: "accept", content: { name: "Ada" } }) as const;
  const { client, connection } = await open(target, { info: SELF, answers: { form }, ...how });
  return { client: client as AnyClient, close: connection.close };
};
type MakeScene = (tap: WireTap, hear: (said: string) => void, stage: Stage, era: Era) =>
  Promise<Omit<Scene, "noted">>;
const pipeScene: MakeScene = async (tap, hear, { io, onEnd }, era) => {
  const command = [...await io.self(), "serve", "--stdio", "--page", "1"];
  const { client, close } = await meet(command, { era, onStderr: hear, onLine: watchLine(tap) });
  onEnd(close);
  return { client, end: () => close().then(() =>
    "The client has closed the server's stdin, and the server has ended.") };
};
const httpScene: MakeScene = async (tap, note, { onEnd }, era) => {
  const app = demoServer({ note, list: { pageSize: 1 } });
  // Not the port of a demo just before, to which fetch may hold a connection.
  const { url, close } = await app.listen(era === "modern" ? 3100 : 0).catch(() => app.listen(0));
  onEnd(close);
  const how = { era, fetch: watchFetch(tap, fetch) };
  const mine = await meet(url, how);
  const liar = await meet(url, { ...how, headers: { "Mcp-Method": "tools/list" } });
  return { client: mine.client, lie: () => liar.client.call("server/discover", {}), async end() {
    if (era === "legacy") await mine.close();
    await close();
    return era === "legacy" ? "The client has ended the session, and the server has stopped."
      : "The server has stopped. Over HTTP nothing else has to end.";
  } };
};

// #endregion

// #region 65. The demo's login
// uses everything
//
// Somebody to log in to, for `demo --auth`: an authorization server that agrees
// to everything, and a demo server that takes its tokens alone. A token is a
// random word; what it is for stands in a table.
//
//   node mcp-raw.ts demo --auth

interface Issued { client: string; scopes: string[]; resource: string; until: number }
/** A page for a browser, or JSON. */
const page = (status: number, document: object, headers: Record<string, string> = {}): HttpReply =>
  ({ status, headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(document) });
export interface DemoIssuer {
  routes: Record<string, HttpHandler>;
  verify(token: string): Promise<Access | undefined>;
  /** Ends all tokens; those for new ones stay good. */
  expire(): void;
}
const describeIssuer = (issuer: string) => ({ issuer,
  authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`, code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none"],
  authorization_response_iss_parameter_supported: true });
/** An authorization server that asks nobody; `issuer` gives its URL once it is known. */
export function demoIssuer(issuer: () => string, now: () => number = Date.now): DemoIssuer {
  const codes = new Map<string, Issued & { challenge: string; redirectUri: string }>();
  const tokens = new Map<string, Issued>(); // and refresh tokens
  const refuse = (error: string) => page(400, { error });
  const issue = (issued: Issued): HttpReply => {
    const [access, refresh] = [randomText(), randomText()];
    tokens.set(access, { ...issued, until: now() + 3_600_000 }).set(refresh, issued);
    return page(200, { access_token: access, token_type: "Bearer", expires_in: 3600,
      refresh_token: refresh, scope: issued.scopes.join(" ") }, { "Cache-Control": "no-store" });
  };
  const routes: Record<string, HttpHandler> = {
    "/.well-known/oauth-authorization-server": async () => page(200, describeIssuer(issuer())),
    async "/register"(http) {
      const { redirect_uris } = Object(typedJSON(await http.text(MAX_DOCUMENT) ?? ""));
      return page(201, { client_id: randomText().slice(0, 8), redirect_uris });
    },
    async "/authorize"({ target = "" }) {
      const { searchParams: asked } = new URL(target, issuer());
      const [client, redirectUri, challenge, resource] = ["client_id", "redirect_uri",
        "code_challenge", "resource"].map((name) => asked.get(name) ?? "") as [string, string,
        string, string];
      if (!URL.canParse(redirectUri)) return refuse("invalid_request");
      const code = randomText();
      codes.set(code, { client, redirectUri, challenge, resource, until: now() + 60_000,
        scopes: words(asked.get("scope") ?? "") });
      const back = new URL(redirectUri);
      const said = { code, state: asked.get("state") ?? "", iss: issuer() };
      for (const [name, value] of Object.entries(said)) back.searchParams.set(name, value);
      return { status: 302, headers: { Location: back.href } };
    },
    async "/token"(http) {
      const form = new URLSearchParams(await http.text(MAX_DOCUMENT));
      const given = form.get("refresh_token") ?? form.get("code") ?? "";
      const found = codes.get(given);
      codes.delete(given); // each is good once
      const refreshed = tokens.get(given);
      tokens.delete(given);
      if (refreshed !== undefined && form.get("grant_type") === "refresh_token") {
        return issue(refreshed);
      }
      const proven = found !== undefined && found.until > now() &&
        found.redirectUri === form.get("redirect_uri") && found.client === form.get("client_id") &&
        found.challenge === await challengeOf(form.get("code_verifier") ?? "");
      return proven ? issue(found) : refuse("invalid_grant");
    },
  };
  return {
    routes,
    async verify(token) {
      const found = tokens.get(token);
      return found && { id: "Ada", audience: found.resource, scopes: found.scopes,
        expiresAt: found.until };
    },
    expire() {
      for (const [token, issued] of tokens) {
        if (issued.until > now() + 60_000) tokens.delete(token);
      }
    },
  };
}
const STEP_TITLES: Readonly<Record<string, string>> = {
  "who hands out tokens": "The client finds out who hands out tokens",
  "a client id": "It makes itself known there",
  "the user's consent": "The user agrees, in a browser",
  "a token": "The client gets a token, and calls once more" };
const loginScene: MakeScene = async (tap, note, { io, onEnd }) => {
  let at = "";
  const issuer = demoIssuer(() => at);
  const nothing: HttpHandler = async () => page(404, {});
  const authority = await listen(nothing, 0, { path: "/", routes: issuer.routes });
  onEnd(authority.close);
  at = new URL(authority.url).origin;
  const app = demoServer({ note, list: { pageSize: 1 } });
  let handle = nothing; // until it is known where that is
  let metadata = nothing;
  const open = (port: number) => listen((http) => handle(http), port,
    { routes: { [`${WELL_KNOWN}/mcp`]: (http) => metadata(http) } });
  const { url, close } = await open(3100).catch(() => open(0));
  onEnd(close);
  const guard = protect({ resource: url, authorizationServers: [at], verify: issuer.verify,
    scopes: ["read"], scopesFor: ({ params }) => params?.name === "add_note" ? ["write"] : [] });
  const { exchange, notifications, mirrors } = app;
  handle = serveBoth(exchange, { guard, notifications, mirrors });
  metadata = guard.routes?.[`${WELL_KNOWN}/mcp`] ?? nothing;
  const said = new Set<string>();
  const told: WireTap = (entry) => {
    const title = entry.direction === "C->S" ? STEP_TITLES[entry.step ?? ""] : undefined;
    if (title !== undefined && !said.has(title)) io.stdout(`\n== ${title}\n`);
    said.add(title ?? "");
    tap(entry);
  };
  const watched = watchFetch(told, fetch);
  const visit = async (page: string) => {
    const { origin, pathname, search } = new URL(page);
    const step = { frame: "body", text: "", step: "the user's consent" } as const;
    told({ ...step, direction: "C->S", head: [`GET ${origin}${pathname}`,
      ...search.split(/(?=[?&])/).map(decodeURIComponent)] });
    const response = await fetch(page, { redirect: "manual" });
    const back = response.headers.get("location") ?? "";
    told({ ...step, direction: "S->C", head: [`${response.status}`,
      ...`location: ${back}`.split(/(?=[?&])/).map(decodeURIComponent)] });
    return back;
  };
  const { client, close: leave } = await meet(url, { era: "modern", fetch: watched, authorize:
    { grant: loginWith({ redirectUri: "http://127.0.0.1:33418/callback", visit }) } });
  return { client, expire: issuer.expire, async end() {
    await leave();
    await Promise.all([close(), authority.close()]);
    return "Both servers have stopped.";
  } };
};
const LOGIN_ACTS: typeof ACTS = [
  ["A call without a token", asks("tools/list")],
  ["A call that takes more than was allowed", calls("add_note", { text: "Buy milk" })],
  ["The token has expired", ({ expire }) => expire?.(), calls("add", { a: 2, b: 3 })],
];
// #endregion

// #region 66. The demo's command
// uses everything
//
// The command `demo`: an introduction, the acts, an end.
//
//   node mcp-raw.ts demo --http

/** The command `demo`. */
async function demoCommand(stage: Stage): Promise<number> {
  const { args, io } = stage;
  const auth = args.has("--auth");
  if (auth && (args.has("--http") || args.has("--era"))) throw usage("--auth goes alone");
  const http = auth || args.has("--http");
  const era = auth ? "modern" : eraOf(args);
  const tap = wireTap(io.stdout, looksOf(io, "stdout", args));
  let said = "";
  const hear = (sentence: string) => void (said += sentence);
  const over = http ? "HTTP" : "stdio: the server's standard input and output";
  io.stdout(`A client (C), which has a user and a language model, uses a server (S) by MCP, the
Model Context Protocol, over ${over}.
Lines after | joined are the exact bytes, counted before B, but for {..same..}: what an earlier
message had. (spec ...) is a page of ${SPEC}/${MODERN_VERSIONS}\n`);
  const perform = async (acts: typeof ACTS, era: Era) => {
    const scene: Scene = { noted: () => said !== "",
      ...await (auth ? loginScene : http ? httpScene : pipeScene)(tap, hear, stage, era) };
    for (const [title, ...plays] of acts.filter(([title]) => scene.lie || !/header/.test(title))) {
      io.stdout(`\n== ${title}`); // a request begins on a new line
      for (const play of plays) await play(scene);
      if (said !== "") io.stdout(`\n  The server notes: ${printable(said.trim())}\n`);
      said = "";
    }
    io.stdout("\n== The end\n");
    const farewell = await scene.end();
    await endsWithin(1_000, Promise.resolve(scene.listening)); // what is on its way is told
    io.stdout(`\n  ${farewell}\n`);
  };
  if (era !== "legacy") await perform(auth ? LOGIN_ACTS : ACTS, "modern");
  if (era === undefined) io.stdout(`\nThe same server, and a client that speaks ${
    LEGACY_VERSIONS[0]}: what came before.\n`);
  if (era === undefined) await perform(OLDER_ACTS.slice(0, 3), "legacy");
  if (era === "legacy") await perform(OLDER_ACTS, era);
  return 0;
}
// #endregion

// #region 67. Command line
// uses everything
//
// What stands around the protocol when this file is run as a program: the
// commands serve and demo, signals, the exit code. An import runs nothing.
//
//   node mcp-raw.ts demo

/** The server in a module: its default export, or the export app or server. */
async function loadServer(file: string, io: IO): Promise<Server> {
  const exported = await io.locate(file).then(io.load).catch((error: unknown) => {
    throw usage(`Cannot load ${file}: ${error instanceof Error ? error.message : error}`);
  });
  const isServer = (value: unknown): value is Server =>
    isObject(value) && typeof value.exchange === "function" && typeof value.fetch === "function";
  const app = [exported.default, exported.app, exported.server].find(isServer);
  if (app !== undefined) return app;
  throw usage(`${file} exports no server; write: export default server({ ... })`);
}
async function serveCommand(stage: Stage): Promise<number> {
  const { args, io, signal, onEnd, tap } = stage;
  const [file, http, host = "127.0.0.1"] = ["--module", "--http", "--host"].map(args.flag);
  const pageSize = numberOf(args, "--page");
  if (file !== undefined && pageSize !== undefined) throw usage("--page is for the demo server");
  const ways = [http, args.flag("--stdio")].filter((way) => way !== undefined);
  if (ways.length !== 1) throw usage("serve takes --stdio or --http PORT");
  const report = (error: unknown) => say(io, failureOf(error).sentence);
  const note = (sentence: string) => io.stderr(`${printable(sentence)}\n`);
  const list = pageSize ? { pageSize } : {};
  const app = file === undefined ? demoServer({ report, note, list }) : await loadServer(file, io);
  forgiveUnanswered();
  const options = { report, notifications: app.notifications, mirrors: app.mirrors };
  if (http === undefined) {
    const pipe = io.pipe();
    const served = serveLines(app.exchange, tap === undefined ? pipe : watchPipe(tap, pipe),
      { ...options, signal, ending: app.changes.close, serve: serveEither });
    onEnd(() => endsWithin(1_000, served)); // on a signal too, all that was said is sent
    return served.then(() => 0);
  }
  const loopbackOnly = /^(?:127\.|localhost$|::1$)/.test(host);
  const allowOrigins = args.all("--allow-origin");
  const bad = allowOrigins.find((one) => !URL.canParse(one) || new URL(one).origin !== one);
  if (bad !== undefined) throw usage(`--allow-origin takes https://example.com, not ${bad}`);
  const open = new Set<OpenLane>();
  const { guard, allowOrigins: own = [] } = app.http;
  const plain = serveBoth(app.exchange, { loopbackOnly, ...app.http, ...options, open,
    allowOrigins: [...own, ...allowOrigins] });
  const handle = tap === undefined ? plain : watchHandler(tap, plain);
  const port = http === "" ? 3100 : numberOf(args, "--http", 65_535);
  const { url, close } = await listen(handle, port ?? 3100,
    { host, open, routes: guard?.routes ?? {} });
  onEnd(close);
  onEnd(() => pause(0)); // what this ends is answered first:
  onEnd(app.changes.close);
  say(io, `serving ${url} until Ctrl-C`);
  const unguarded = !loopbackOnly && guard === undefined;
  if (unguarded) say(io, `Whoever reaches ${host} may call: there is no authorization here.`);
  return new Promise(() => {});
}

/** Runs a command line in the world given; resolves to the exit code. */
export async function main(argv: readonly string[], io: IO): Promise<number> {
  const ends: (() => unknown)[] = [];
  if (argv.length === 0) {
    io.stderr(HELP);
    return 1;
  }
  try {
    const own = argv.slice(0, argv.includes("--") ? argv.indexOf("--") : argv.length);
    const asked = own.find((word) => /^(?:-h|-V|--help|--version)$/.test(word));
    if (asked !== undefined) {
      io.stdout(/h/.test(asked) ? HELP : `${SELF.version}\n`);
      return 0;
    }
    const args = parseArguments(argv);
    const stopping = new AbortController();
    const interrupted = new Promise<number>((resolve) => io.onSignal((name) => {
      stopping.abort(new TransportError("cancelled", `interrupted by ${name}`));
      resolve({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[name]);
    }));
    const stage: Stage = { args, io, signal: stopping.signal, onEnd: (end) => ends.push(end),
      warn: (sentence) => args.has("--quiet") || say(io, sentence),
      tap: args.has("--wire") ? wireTap(io.stderr, looksOf(io, "stderr", args)) : undefined };
    const run = { demo: demoCommand, serve: serveCommand }[args.command] ?? callCommand;
    const work = run(stage);
    work.catch(() => {}); // after a signal nobody waits for it
    return await Promise.race([work, interrupted]);
  } catch (error) {
    const { code, sentence } = failureOf(error);
    say(io, sentence);
    return code;
  } finally {
    for (const end of ends.reverse()) await Promise.allSettled([end()]);
  }
}

interface Stream extends Output {
  isTTY?: boolean; columns?: number; write(text: string, done?: () => void): boolean;
}
interface Input extends Emitter {
  isTTY?: boolean; once: Emitter["on"]; pause(): unknown; resume(): unknown;
}
interface Self extends Emitter {
  argv: string[]; execPath: string; execArgv: string[];
  env: ColorWish & { [name in "XDG_CONFIG_HOME" | "APPDATA" | "HOME" | "BROWSER"]?: string };
  stdin: Input; stdout: Stream; stderr: Stream; exit(code: number): never;
}
interface NodeUrl { fileURLToPath(url: string): string; pathToFileURL(path: string): URL }
/** Puts questions to a terminal, which gives its input line by line. */
function asker(stdin: Input, stderr: Stream): Put {
  const ended = new Promise<undefined>((resolve) => stdin.once("end", () => resolve(undefined)));
  return async (question) => {
    stderr.write(question);
    const line = await Promise.race([ended, new Promise((resolve) => {
      stdin.once("data", (line) => {
        stdin.pause(); // at once, or a line typed ahead is lost
        resolve(line);
      });
      stdin.resume();
    })]);
    return line === undefined ? undefined : String(line).replace(/\r?\n$/, "");
  };
}
/** The real world of the command line. */
function processIO(self: Self): IO {
  const { stdin, stdout, stderr } = self;
  // Deno asks before it shows the environment, but tells this much.
  const deno = runtime<{ noColor: boolean }>("Deno");
  const width = ({ isTTY, columns = 100 }: Stream) => isTTY ? columns : undefined;
  return {
    stdout: (text) => void stdout.write(text),
    stderr: (text) => void stderr.write(text),
    columns: { stdout: width(stdout), stderr: width(stderr) },
    env: deno === undefined ? self.env : deno.noColor ? { NO_COLOR: "1" } : {},
    pipe: stdioPipe,
    onSignal: (listener) => (["SIGINT", "SIGTERM", "SIGHUP"] as const).forEach((name) =>
      self.on(name, () => listener(name))),
    async self() {
      const file = (await node<NodeUrl>("url")).fileURLToPath(import.meta.url);
      return [self.execPath, ...deno === undefined ? self.execArgv
        : ["run", "--no-prompt", "--no-config", `--allow-read=${file}`], file];
    },
    locate: async (path) => (await node<NodeUrl>("url")).pathToFileURL(path).href,
    load: (url) => import(url),
    ask: stdin.isTTY && stderr.isTTY ? asker(stdin, stderr) : undefined,
    logins() {
      const { XDG_CONFIG_HOME, APPDATA, HOME = "." } = self.env;
      return fileStore(`${XDG_CONFIG_HOME ?? APPDATA ?? `${HOME}/.config`}/mcp-raw`);
    },
    browse: (url) => openBrowser(url, self.env.BROWSER === undefined ? undefined
      : [self.env.BROWSER]),
  };
}

/** Whether this file is the program, and not a part of one. */
async function isProgram({ argv: [, started = ""] }: Self): Promise<boolean> {
  // Which of the two there is, and its type, differs from runtime to runtime.
  const { main: isMain, url = "" } = import.meta as { main?: unknown; url?: string };
  // A bundle that holds this file is a program of its own, of another name; so
  // a copy under another name has no command line.
  if (!/^file:.*\/mcp-raw\.[jt]s$/.test(url)) return false;
  if (typeof isMain === "boolean") return isMain;
  const { realpath } = await node<{ realpath(path: string): Promise<string> }>("fs/promises");
  const { fileURLToPath } = await node<NodeUrl>("url");
  return await realpath(started).catch(() => "") === await realpath(fileURLToPath(url));
}
async function start(): Promise<void> {
  const self = runtime<Self>("process");
  if (self?.argv === undefined || !await isProgram(self)) return;
  self.stdout.on("error", () => self.exit(0)); // EPIPE: the reader has left, as `head` does
  self.stderr.on("error", () => {});
  const code = await main(self.argv.slice(2), processIO(self));
  self.stdout.write("", () => self.exit(code)); // after all else is written
}
void start();
// #endregion
