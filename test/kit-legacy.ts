// What the tests of earlier versions share: a server with something of each kind, and clients of
// 2024-11-05 to 2025-11-25 that speak to it in literal texts.

import {
  serveEither, serveLines, server, text, tool, type Context, type Exchange,
  type HttpHandler, type InputRequest, type PromptDefinition, type ResourceDefinition,
  type ServeOptions, type Server, type ServerOptions, type ToolDefinition,
} from "../mcp-raw.ts";
import { settled, sink, source } from "./kit.ts";
import { posted, read } from "./kit-http.ts";

export const VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
/** The _meta of a message of 2026-07-28. */
export const MODERN = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientCapabilities":{}}';

const put = (params?: string) => params === undefined ? "" : `,"params":${params}`;
/** A request as text; id and params are JSON. */
export const request = (id: string, method: string, params?: string): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}"${put(params)}}`;
export const note = (method: string, params?: string): string =>
  `{"jsonrpc":"2.0","method":"${method}"${put(params)}}`;
export const initialize = (version: string = VERSIONS[0], capabilities = "{}", id = "1"): string =>
  request(id, "initialize", `{"protocolVersion":"${version}","capabilities":${capabilities},` +
    '"clientInfo":{"name":"old","version":"1"}}');
export const INITIALIZED = note("notifications/initialized");
export const cancel = (id: string): string =>
  note("notifications/cancelled", `{"requestId":${id}}`);
export const call = (id: string, name: string, args: string | object = "{}"): string =>
  request(id, "tools/call", `{"name":"${name}","arguments":${typeof args === "string" ? args
    : JSON.stringify(args)}}`);
/** An answer of the client. */
export const answered = (id: string, result: object): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${JSON.stringify(result)}}`;

/** Messages as they are compared. */
export const result = (id: string | number, result: object) => ({ jsonrpc: "2.0", id, result });
export const said = (id: string | number, words: string) =>
  result(id, { content: [{ type: "text", text: words }] });
export const asking = (id: string, method: string, params?: object) =>
  ({ jsonrpc: "2.0", id, method, ...(params && { params }) });
export const noted = (method: string, params?: object) =>
  ({ jsonrpc: "2.0", method, ...(params && { params }) });

const OBJECT = { type: "object" } as const;
type Told = [level: Parameters<Context["log"]>[0], data: unknown];

export interface Book extends Server {
  /** The texts of the holds that began, and those that were told to stop, with the reason. */
  ran: string[];
  aborted: string[];
  release(text: string): void;
  faults: unknown[];
  counts: { once: number };
}
export interface More extends Omit<Partial<ServerOptions>, "tools" | "resources" | "prompts"> {
  tools?: readonly ToolDefinition[];
  resources?: readonly ResourceDefinition[];
  prompts?: readonly PromptDefinition[];
}
/** A server of tools that do what their arguments say, and of more if need be. */
export function book(more: More = {}): Book {
  const [ran, aborted, faults]: [string[], string[], unknown[]] = [[], [], []];
  const held = new Map<string, () => void>();
  const counts = { once: 0 };
  const hold = async (words: string, { lane: { signal } }: Context) => {
    ran.push(words);
    signal.addEventListener("abort", () => aborted.push(`${words}: ${signal.reason.code}`));
    await new Promise<void>((resolve) => held.set(words, resolve));
    return text(words);
  };
  const app = server({ name: "book", version: "1", instructions: "read me",
    report: (error) => void faults.push(error), ...more, tools: [
      tool({ name: "echo", inputSchema: OBJECT, handler: ({ t }) => text(String(t)) }),
      tool({ name: "add", handler: ({ a, b }) => text(String(a + b)), inputSchema: { ...OBJECT,
        properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] } }),
      tool({ name: "hold", inputSchema: OBJECT,
        handler: ({ t }, context) => hold(String(t), context) }),
      tool({ name: "detach", inputSchema: OBJECT, handler({ t, ms }, context) {
        context.lane.detach?.(Number(ms));
        return hold(String(t), context);
      } }),
      tool({ name: "give", inputSchema: OBJECT, handler: ({ result }) => result as object as
        Record<string, unknown> }),
      tool({ name: "fail", inputSchema: OBJECT, handler({ t }) {
        throw new Error(String(t));
      } }),
      tool({ name: "tell", inputSchema: OBJECT, async handler({ progress, logs, t }, context) {
        for (const one of progress as [number][] ?? []) await context.progress(...one);
        for (const one of logs as Told[] ?? []) await context.log(...one);
        return text(String(t));
      } }),
      tool({ name: "ask", inputSchema: OBJECT, async handler({ asks }, { ask, once }) {
        await once("work", () => ++counts.once);
        const all = Object.entries(asks as Record<string, InputRequest>).map(async ([key, one]) =>
          [key, await ask(key, one as never)]); // one of three kinds, as the test says
        return text(JSON.stringify(Object.fromEntries(await Promise.all(all))));
      } }),
      tool({ name: "chain", inputSchema: OBJECT, async handler({ asks }, { ask, once }) {
        const answers: unknown[] = [];
        for (const one of asks as InputRequest[]) {
          answers.push(await ask(`k${answers.length}`, one as never));
          await once(`work${answers.length}`, () => ++counts.once);
        }
        return text(JSON.stringify(answers));
      } }),
      ...more.tools ?? [],
    ],
    resources: [{ uri: "x:/a", name: "a", read: () => "A" },
      { uri: "x:/who", name: "who", read: async ({ ask }) => JSON.stringify(await ask("k", FORM)) },
      ...more.resources ?? []],
    prompts: [{ name: "who", get: async (_, { ask }) => JSON.stringify(await ask("k", FORM)) },
      { name: "p", arguments: [{ name: "v" }], complete: { v: ["one", "two"] }, get: () => "P" },
      ...more.prompts ?? []],
  });
  return { ...app, ran, aborted, faults, counts, release: (words) => held.get(words)?.() };
}

const OK = { ...OBJECT, properties: { ok: { type: "boolean" as const } } };
export const FORM = { method: "elicitation/create" as const,
  params: { message: "Sure?", requestedSchema: OK } };
export const VISIT = { method: "elicitation/create" as const,
  params: { mode: "url" as const, message: "Pay", url: "https://example.com/pay" } };
export const SAMPLE = { method: "sampling/createMessage" as const, params: { maxTokens: 5,
  messages: [{ role: "user" as const, content: { type: "text" as const, text: "hi" } }] } };
export const ROOTS = { method: "roots/list" as const };
export const YES = { action: "accept", content: { ok: true } };

/** Lets everything happen until a condition holds; two seconds at most. */
export async function soon(condition: () => boolean, what = condition.toString()): Promise<void> {
  const end = performance.now() + 2_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`did not come to pass: ${what}`);
    await settled();
  }
}

/** A server on a pipe, to be spoken to step by step. */
export function stdio(app: Book = book(), options: ServeOptions & { exchange?: Exchange } = {}) {
  const [input, out, strays] = [source(), sink(), [] as unknown[]];
  let taken = 0;
  const done = serveLines(options.exchange ?? app.exchange, { readable: input, write: out.write },
    { graceMs: 20, serve: serveEither, notifications: app.notifications,
      report: (error) => void strays.push(error), ...options });
  /** The next messages, as many as asked for. */
  const hear = async (count = 1) => {
    await soon(() => out.lines().length >= taken + count, `${taken + count} messages, not ` +
      JSON.stringify(out.lines()));
    taken += count;
    return out.messages().slice(taken - count, taken);
  };
  const say = (...lines: string[]) => {
    input.push(`${lines.join("\n")}\n`);
    return settled();
  };
  /** Says one thing and gives the next message. */
  const ask = async (line: string) => {
    void say(line);
    return (await hear())[0];
  };
  return { app, strays, input, done, say, hear, ask,
    /** What was not asked for, after a while. */
    async rest() {
      for (let turn = 0; turn < 20; turn++) await settled();
      return out.messages().slice(taken);
    },
    /** The same, when all is over. */
    async end() {
      input.end();
      await done;
      return out.messages().slice(taken);
    } };
}
/** The same with the handshake done. */
export async function greeted(version: string = VERSIONS[0], capabilities = "{}",
  ...given: Parameters<typeof stdio>) {
  const talk = stdio(...given);
  await talk.ask(initialize(version, capabilities, '"init"'));
  await talk.say(INITIALIZED);
  return talk;
}

/** An event, read by hand. */
export interface Event { id?: string; retry?: string; event?: string; data: string }
export const eventsIn = (text: string): Event[] => text.split("\n\n").flatMap((block) => {
  const fields = block.split("\n").flatMap((line) => {
    const [, name = "", value = ""] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
    return name === "" ? [] : [[name, value]];
  });
  return fields.length === 0 ? [] : [{ data: "", ...Object.fromEntries(fields) } as Event];
});

/** Ends what tests have left open: a stream keeps its process alive. */
export const leaveAll = (): void => open.splice(0).forEach((leave) => leave());
const open: (() => void)[] = [];
/** One HTTP request and what came back, a stream being read as it comes. */
export async function http(handle: HttpHandler, method: string, headers: object, body = "") {
  const asked = posted(body, headers as Record<string, string>, method);
  const reply = await handle(asked);
  const stream = reply.stream === undefined ? undefined : read(reply);
  if (stream !== undefined) open.push(() => asked.leave());
  const own = new Map(Object.entries(reply.headers).map(([name, value]) =>
    [name.toLowerCase(), value]));
  const events = () => eventsIn(stream?.text ?? "");
  const messages = (): any[] => stream === undefined ? [JSON.parse(reply.body ?? "null")].flat()
    : events().filter(({ data }) => data !== "").map(({ data }) => JSON.parse(data));
  return { status: reply.status, body: reply.body, text: () => stream?.text ?? "", events, messages,
    streams: stream !== undefined,
    header: (name: string) => own.get(name),
    code: (): number | undefined => stream === undefined ? messages()[0]?.error?.code : undefined,
    closed: () => stream === undefined || stream.closed,
    /** The ids of the events so far; the last one. */
    last: () => events().flatMap(({ id }) => id === undefined ? [] : [id]).at(-1) ?? "",
    /** The client goes away. */
    leave: asked.leave,
    /** Waits for so many messages. */
    heard: (count: number) => soon(() => messages().length >= count,
      `${count} messages, not ${JSON.stringify(stream?.text)}`),
    ended: () => soon(() => stream === undefined || stream.closed, `an end of ${stream?.text}`) };
}
export type Reply = Awaited<ReturnType<typeof http>>;

export const HEADERS = { "content-type": "application/json",
  "accept": "application/json, text/event-stream" };
/** A client of one endpoint, without a session yet. */
export const client = (handle: HttpHandler) => ({
  post: (body: string, headers: object = {}) =>
    http(handle, "POST", { ...HEADERS, ...headers }, body),
  get: (headers: object = {}) => http(handle, "GET", { accept: "text/event-stream", ...headers }),
  drop: (headers: object = {}) => http(handle, "DELETE", headers),
});
/** A client with a session; each request names it and its version. */
export async function joined(handle: HttpHandler, version: string = VERSIONS[0],
  capabilities = "{}") {
  const bare = client(handle);
  const opened = await bare.post(initialize(version, capabilities, '"init"'));
  const id = opened.header("mcp-session-id") ?? "";
  const named = { "mcp-session-id": id,
    ...(version >= "2025-06-18" && { "mcp-protocol-version": version }) };
  const talk = { id, opened, named, handle,
    post: (body: string, headers: object = {}) => bare.post(body, { ...named, ...headers }),
    get: (headers: object = {}) => bare.get({ ...named, ...headers }),
    resume: (event: string) => bare.get({ ...named, "last-event-id": event }),
    drop: (headers: object = {}) => bare.drop({ ...named, ...headers }),
  };
  await talk.post(INITIALIZED);
  return talk;
}
