// Clients under one interface: those of the official SDKs, v1 and v2 in both eras, and ours.
// Each is connected through a witness, and answers what it is asked.

import { connect as dial, createServer, type AddressInfo, type Socket } from "node:net";
import {
  Client as Client2,
  StreamableHTTPClientTransport as Http2,
} from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import * as streamable from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { connectSse } from "../../examples/http-sse.ts";
import { answering, connect, open, subscribe, type Answers, type Era } from "../../mcp-raw.ts";
import { cleanEnv } from "./kit.ts";
import type { Revision } from "./revisions.ts";
import { sessionFaults } from "./witness-older.ts";
import {
  faultsOf,
  witnessCommand,
  witnessUrl,
  type Seen,
  type Side,
  type Witness,
} from "./witness.ts";

const Http1 = streamable.StreamableHTTPClientTransport;
type Http1 = streamable.StreamableHTTPClientTransport;

export type Fields = Record<string, unknown>;
export interface Told {
  method: string;
  params?: Fields;
}
export interface Answer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string | number | boolean | string[]>;
}
export interface ToolResult {
  content: { type: string; text?: string }[];
  isError?: boolean;
  structuredContent?: unknown;
}
export interface How {
  signal?: AbortSignal;
  onprogress?: (progress: Fields) => void;
  /** From which level on there are log messages. */
  level?: "debug" | "info" | "warning";
}
/** What a client of any kind does. */
export interface Doing {
  version(): string | undefined;
  server(): { name: string } | undefined;
  tools(): Promise<Fields[]>;
  call(name: string, args: Fields, how: How): Promise<ToolResult>;
  /** Hears of changes of lists and of this resource. */
  subscribe(uri: string): Promise<unknown>;
  prompts(): Promise<Fields[]>;
  prompt(name: string, args: Record<string, string>): Promise<unknown>;
  resources(): Promise<Fields[]>;
  templates(): Promise<Fields[]>;
  read(uri: string): Promise<unknown>;
  complete(prompt: string, argument: string, value: string): Promise<string[]>;
  ping(): Promise<unknown>;
  close(): Promise<void>;
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, roots: {}, sampling: {} };
const ROOTS = { roots: [{ uri: "file:///work" }] };
const SAMPLE = {
  role: "assistant" as const,
  model: "parrot",
  content: { type: "text" as const, text: "what you said" },
};

interface Ends {
  asks(params: Fields): Promise<Answer>;
  hears(told: Told): void;
}

/** Makes a transport of SDK v1 propose an older revision. */
function proposing<T extends Stdio1 | Http1 | SSEClientTransport>(
  transport: T,
  revision: Revision,
): T {
  const send = transport.send.bind(transport) as (message: Fields, how?: object) => Promise<void>;
  const older = (message: Fields) =>
    message.method === "initialize"
      ? { ...message, params: { ...(message.params as Fields), protocolVersion: revision } }
      : message;
  transport.send = (message: object, how?: object) => send(older(message as Fields), how);
  return transport;
}

async function sdk1(transport: Stdio1 | Http1 | SSEClientTransport, ends: Ends): Promise<Doing> {
  const client = new Client1({ name: "sdk1", version: "1.0.0" }, { capabilities: CAPABILITIES });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => ({
    ...(await ends.asks(params as Fields)),
  }));
  client.setRequestHandler(ListRootsRequestSchema, () => ROOTS);
  client.setRequestHandler(CreateMessageRequestSchema, () => SAMPLE);
  client.fallbackNotificationHandler = async (told) => ends.hears(told as Told);
  let version: string | undefined; // it tells its transport alone
  const spoken = transport as { setProtocolVersion?(version: string): void };
  const tell = spoken.setProtocolVersion?.bind(transport);
  spoken.setProtocolVersion = (agreed) => {
    version = agreed;
    tell?.(agreed);
  };
  await client.connect(transport as Parameters<Client1["connect"]>[0]);
  let level: string | undefined;
  return {
    version: () => version,
    server: () => client.getServerVersion(),
    tools: async () => (await client.listTools()).tools,
    async call(name, args, { level: wanted, ...how }) {
      if (wanted !== undefined && wanted !== level) await client.setLoggingLevel(wanted);
      level = wanted ?? level;
      const asked = { name, arguments: args };
      return (await client.callTool(asked, CallToolResultSchema, how)) as ToolResult;
    },
    subscribe: (uri) => client.subscribeResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: (uri) => client.readResource({ uri }),
    async complete(name, argument, value) {
      const ref = { type: "ref/prompt" as const, name };
      return (await client.complete({ ref, argument: { name: argument, value } })).completion
        .values;
    },
    ping: () => client.ping(),
    async close() {
      if (transport instanceof Http1) await transport.terminateSession();
      await client.close();
    },
  };
}

async function sdk2(transport: Stdio2 | Http2, modern: boolean, ends: Ends): Promise<Doing> {
  const client = new Client2(
    { name: "sdk2", version: "1.0.0" },
    {
      versionNegotiation: { mode: modern ? { pin: "2026-07-28" } : "legacy" },
      capabilities: CAPABILITIES,
    },
  );
  client.setRequestHandler("elicitation/create", async ({ params }) => ({
    ...(await ends.asks(params as Fields)),
  }));
  client.setRequestHandler("roots/list", () => ROOTS);
  client.setRequestHandler("sampling/createMessage", () => SAMPLE);
  client.fallbackNotificationHandler = async (told) => ends.hears(told as Told);
  await client.connect(transport);
  let level: string | undefined;
  return {
    version: () => client.getNegotiatedProtocolVersion(),
    server: () => client.getServerVersion(),
    tools: async () => (await client.listTools()).tools,
    async call(name, args, { level: wanted, ...how }) {
      if (wanted !== undefined && wanted !== level && !modern) await client.setLoggingLevel(wanted);
      level = wanted ?? level;
      const meta = modern && wanted !== undefined && { "io.modelcontextprotocol/logLevel": wanted };
      const asked = { name, arguments: args, ...(meta && { _meta: meta }) };
      return (await client.callTool(asked, how)) as ToolResult;
    },
    subscribe: (uri) =>
      modern
        ? client.listen({
            toolsListChanged: true,
            promptsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions: [uri],
          })
        : client.subscribeResource({ uri }),
    prompts: async () => (await client.listPrompts()).prompts,
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    resources: async () => (await client.listResources()).resources,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: (uri) => client.readResource({ uri }),
    async complete(name, argument, value) {
      const ref = { type: "ref/prompt" as const, name };
      return (await client.complete({ ref, argument: { name: argument, value } })).completion
        .values;
    },
    ping: () => (modern ? Promise.resolve() : client.ping()),
    async close() {
      if (!modern && transport instanceof Http2) await transport.terminateSession();
      await client.close();
    },
  };
}

interface Raw {
  sse: boolean;
  era: Era;
  onStderr(text: string): void;
}
async function raw(place: Place, ends: Ends, { sse, era, onStderr }: Raw): Promise<Doing> {
  const ask = async (params: object) => (await ends.asks(params as Fields)) as Answer;
  const answers: Answers = { form: ask, url: ask, roots: ROOTS.roots, sample: () => SAMPLE };
  const hears = ({ method, params }: Told) => ends.hears({ method, ...(params && { params }) });
  const at = "url" in place ? place.url : place.command;
  const quick = { answers, retryMs: 100, era };
  const stdio = "command" in place && { onStderr };
  const { client, close } = sse
    ? await connectSse(String(at), { answers }).then(({ exchange, close }) => ({
        client: connect(exchange, answering(answers)),
        close: async () => close(),
      }))
    : await open(at, { ...quick, ...stdio }).then(({ client, connection }) => ({
        client,
        close: () => connection.close(),
      }));
  const { supportedVersions, _meta = {} } = await client.call("server/discover", {});
  const stop = new AbortController();
  return {
    version: () => supportedVersions[0],
    server: () => _meta["io.modelcontextprotocol/serverInfo"],
    tools: async () => (await client.list("tools/list", "tools")) as unknown as Fields[],
    async call(name, args, { signal, onprogress, level }) {
      const log = level && { _meta: { "io.modelcontextprotocol/logLevel": level } };
      const result = await client.call(
        "tools/call",
        { name, arguments: args, ...log },
        {
          ...(signal && { signal }),
          ...(onprogress && { onProgress: (told) => onprogress(without(told, "progressToken")) }),
          onNotification: (told) => {
            if (told.method === "notifications/message") hears(told as Told);
          },
        },
      );
      return result as ToolResult;
    },
    async subscribe(uri) {
      const filter = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: [uri],
      } as const;
      const onChange = (told: object) => hears(told as Told);
      const heard = { ...filter, resourceSubscriptions: [uri] };
      await subscribe(client, heard, { signal: stop.signal, onChange }).acknowledged;
    },
    prompts: async () => (await client.list("prompts/list", "prompts")) as unknown as Fields[],
    prompt: (name, args) => client.call("prompts/get", { name, arguments: args }),
    resources: async () =>
      (await client.list("resources/list", "resources")) as unknown as Fields[],
    templates: async () =>
      (await client.list("resources/templates/list", "resourceTemplates")) as unknown as Fields[],
    read: (uri) => client.call("resources/read", { uri }),
    async complete(name, argument, value) {
      const ref = { type: "ref/prompt" as const, name };
      const asked = { ref, argument: { name: argument, value } };
      return [...(await client.call("completion/complete", asked)).completion.values];
    },
    ping: () => Promise.resolve(),
    async close() {
      stop.abort();
      await close();
    },
  };
}
const without = (from: object, name: string): Fields =>
  Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));

export const KINDS = ["SDK v1", "SDK v2, legacy era", "SDK v2, modern era"] as const;
export type Kind = (typeof KINDS)[number] | "mcp-raw";
/** Where a server is: the command that starts it, or its URL. */
export type Place = { command: readonly string[] } | { url: string };

/** A client of an SDK that is connected through a witness. */
export class Peer implements Ends {
  readonly modern: boolean;
  /** What the user says next, first things first. */
  readonly answers: Answer[] = [];
  /** What the user has to wait for before an answer. */
  pause: Promise<unknown> = Promise.resolve();
  readonly asked: Fields[] = [];
  readonly heard: Told[] = [];
  stderr: () => string = () => "";
  private witness: Witness = { heard: () => [], close() {} };
  private doing: Doing | undefined;
  readonly kind: Kind;
  /** What SDK v1 proposes; the others propose the newest that they know. */
  readonly revision: Revision;
  /** What mcp-raw speaks. */
  readonly era: Era;
  constructor(kind: Kind, revision: Revision = "2025-11-25", era: Era = "auto") {
    [this.kind, this.revision, this.era] = [kind, revision, era];
    this.modern = kind === "SDK v2, modern era";
  }
  get name(): string {
    return `${this.kind}, ${this.does.version()}`;
  }
  get does(): Doing {
    if (this.doing === undefined) throw new Error("not connected");
    return this.doing;
  }

  async connect(place: Place, sse = false): Promise<void> {
    if (this.kind === "mcp-raw") {
      const witness = "url" in place ? await witnessUrl(place.url) : witnessCommand(place.command);
      this.witness = witness;
      const here = "url" in witness ? { url: witness.url } : { command: witness.command };
      let stderr = "";
      this.stderr = () => stderr;
      const onStderr = (text: string) => void (stderr += text);
      this.doing = await raw(here as Place, this, { sse, era: this.era, onStderr });
      return;
    }
    const transport =
      "url" in place ? await this.overHttp(place.url, sse) : this.overStdio(place.command);
    this.doing =
      transport instanceof Stdio2 || transport instanceof Http2
        ? await sdk2(transport, this.modern, this)
        : await sdk1(proposing(transport, this.revision), this);
  }
  private async overHttp(url: string, sse: boolean) {
    const witness = await witnessUrl(url);
    this.witness = witness;
    const at = new URL(witness.url);
    if (sse) return new SSEClientTransport(at);
    const reconnectionOptions = {
      initialReconnectionDelay: 100,
      maxReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 1.5,
      maxRetries: 5,
    };
    return this.kind === "SDK v1"
      ? new Http1(at, { reconnectionOptions })
      : new Http2(at, { reconnectionOptions });
  }
  private overStdio(command: readonly string[]) {
    const witness = witnessCommand(command);
    this.witness = witness;
    const [program = "", ...args] = witness.command;
    const options = { command: program, args, env: cleanEnv(), stderr: "pipe" as const };
    const transport = this.kind === "SDK v1" ? new Stdio1(options) : new Stdio2(options);
    let stderr = "";
    transport.stderr?.on("data", (chunk) => {
      stderr += chunk;
    });
    this.stderr = () => stderr;
    return transport;
  }

  async asks(params: Fields): Promise<Answer> {
    this.asked.push(params);
    const answer = this.answers.shift() ?? { action: "decline" };
    await this.pause;
    return answer;
  }
  hears(told: Told): void {
    this.heard.push(told);
  }

  call(name: string, args: Fields = {}, how: How = {}): Promise<ToolResult> {
    return this.does.call(name, args, how);
  }
  /** What a tool says, as one text, when the user answers so. */
  async says(name: string, args: Fields = {}, ...answers: Answer[]): Promise<string> {
    this.asked.length = 0;
    this.answers.splice(0, Infinity, ...answers);
    const { content } = await this.call(name, args);
    if (this.answers.length > 0)
      throw new Error(`${this.answers.length} answers were not asked for`);
    return content.map(({ text = "" }) => text).join("\n");
  }

  /** All that crossed the wire. */
  messages(): Seen[] {
    return this.witness.heard().flat();
  }
  /** Everything that one side did wrong so far. */
  faults(side: Side): string[] {
    const faults = this.witness.heard().flatMap(this.modern ? faultsOf : sessionFaults);
    return faults.filter(({ by }) => by === side).map(({ what }) => what);
  }
  async close(): Promise<void> {
    await this.doing?.close().catch(() => {});
    this.witness.close();
  }
}

export interface Relay {
  url: string;
  /** Cuts every connection that is open now; says how many ends there were. */
  cut(): number;
  close(): void;
}
/** Between a client and a server on TCP; it can cut the wire. */
export async function relay(to: string): Promise<Relay> {
  const target = new URL(to);
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = dial(Number(target.port), target.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on("error", () => {});
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
  const cut = (): number => {
    const ends = [...open];
    for (const socket of ends) socket.resetAndDestroy();
    return ends.length;
  };
  return {
    url: `http://127.0.0.1:${port}${target.pathname}`,
    cut,
    close() {
      cut();
      server.close();
    },
  };
}
