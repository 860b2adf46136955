// Literal messages to a server, over either transport, and all that comes back. What is
// sent is written out in the test; nothing of mcp-raw.ts is used.

import { spawn } from "node:child_process";
import { cleanEnv, endGroup, serving, until } from "./kit.ts";
import type { Message, Seen } from "./witness.ts";

type Fields = Record<string, unknown>;
/** Answers what a server asks: its result, or the error. */
export type Replies = Record<string, Fields | ((params: Fields) => Fields)>;

export class Wire {
  readonly seen: Seen[] = [];
  readonly heard: Message[] = [];
  stderr: () => string = () => "";
  /** Sends a text as it is. */
  write: (text: string) => unknown = () => {};
  close: () => void = () => {};
  private last = 0;
  private readonly replies: Replies;
  constructor(replies: Replies = {}) {
    this.replies = replies;
  }

  say(message: Fields): void {
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    this.seen.push({ from: "client", text, channel: 0 });
    this.write(text);
  }
  /** Sends a request; gives its whole response. */
  async ask(method: string, params?: Fields): Promise<Message> {
    const id = (this.last += 1);
    this.say({ id, method, ...(params && { params }) });
    return this.answer(id);
  }
  async answer(id: number): Promise<Message> {
    const find = () => this.heard.find((one) => one.method === undefined && one.id === id);
    await until(
      () => find() !== undefined,
      () => `no answer to ${id}\n${this.transcript()}`,
    );
    return find() ?? {};
  }
  /** The notifications of a method that came so far. */
  told(method: string): Fields[] {
    return this.heard.filter((one) => one.method === method).map(({ params = {} }) => params);
  }
  transcript(): string {
    return this.seen.map(({ from, text }) => `${from} ${text}`).join("\n");
  }

  /** Takes a text of the server. */
  take(text: string): void {
    this.seen.push({ from: "server", text, channel: 0 });
    for (const message of [JSON.parse(text)].flat() as Message[]) {
      this.heard.push(message);
      const { id, method, params = {} } = message;
      if (method === undefined || id === undefined) continue;
      const reply = this.replies[method] ?? { error: { code: -32601, message: "no such method" } };
      const given = typeof reply === "function" ? reply(params) : reply;
      this.say({ id, ...("error" in given ? given : { result: given }) });
    }
  }
}

/** Starts a server that speaks on its standard streams. */
export async function wireStdio(command: readonly string[], replies?: Replies): Promise<Wire> {
  const wire = new Wire(replies);
  const [program = "", ...args] = command;
  const child = spawn(program, args, { env: cleanEnv(), stdio: "pipe", detached: true });
  let [rest, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) wire.take(line);
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  wire.stderr = () => stderr;
  wire.write = (text) => child.stdin.write(`${text}\n`);
  wire.close = () => endGroup(child);
  return wire;
}

/** Starts a server that listens on the port it is given, and posts to it. */
export async function wireHttp(
  command: readonly string[],
  replies?: Replies,
  version?: string,
): Promise<Wire> {
  const wire = new Wire(replies);
  const [program = "", ...args] = command;
  const server = await serving(program, (port) => [...args, String(port)]);
  const end = new AbortController();
  const headers: Record<string, string> = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
  };
  const read = async (response: Response): Promise<void> => {
    const stream = /event-stream/.test(response.headers.get("content-type") ?? "");
    let rest = "";
    for await (const chunk of response.body ?? []) {
      rest += Buffer.from(chunk).toString("utf8");
      if (!stream) continue;
      const events = rest.split("\n\n");
      rest = events.pop() ?? "";
      for (const event of events) {
        const lines = event.split("\n").filter((line) => line.startsWith("data: "));
        const data = lines.map((line) => line.slice(6)).join("\n");
        if (data !== "") wire.take(data);
      }
    }
    if (!stream && rest !== "") wire.take(rest);
  };
  // In order: the session comes with the answer to the first message.
  let before: Promise<unknown> = Promise.resolve();
  const post = async (text: string): Promise<void> => {
    const { signal } = end;
    const mirrored = version === undefined ? {} : modernHeaders(version, JSON.parse(text));
    const init = { method: "POST", headers: { ...headers, ...mirrored }, body: text, signal };
    const response = await fetch(server.url, init);
    const session = response.headers.get("mcp-session-id");
    if (session !== null) headers["mcp-session-id"] = session;
    const reading = read(response).catch(() => {});
    if (session !== null) await reading;
    if (text.includes('"notifications/initialized"')) {
      const stream = await fetch(server.url, { headers, signal });
      void read(stream).catch(() => {});
    }
  };
  wire.write = (text) => {
    before = before.then(() => post(text)).catch(() => {});
  };
  wire.stderr = server.stderr;
  wire.close = () => {
    end.abort();
    server.stop();
  };
  return wire;
}
function modernHeaders(version: string, { method, params = {} }: Message): Record<string, string> {
  const name = params.name ?? params.uri;
  return {
    "mcp-protocol-version": version,
    ...(method !== undefined && { "mcp-method": method }),
    ...(typeof name === "string" && { "mcp-name": name }),
  };
}
