// What the tests share: literal bytes in, whole messages out.

import assert from "node:assert/strict";
import { dispatch, discover, serveLines, type Exchange, type LineOptions, type Pipe,
  type ServeOptions,
} from "../mcp-raw.ts";

/** The two keys that every request needs, as they stand in a literal message. */
export const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientCapabilities":{}}';
export const INFO = { "io.modelcontextprotocol/serverInfo": { name: "toy", version: "1" } };

/** A literal tools/call; args and id are JSON. */
export const callText = (id: string, name: string, args = "{}"): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call",` +
  `"params":{"name":"${name}","arguments":${args},${META}}}`;
/** What the toy answers to echo. */
export const echoed = (id: string | number, text: string) => ({ jsonrpc: "2.0", id,
  result: { resultType: "complete", content: [{ type: "text", text }], _meta: INFO } });
/** What a bare ping gets: the proof that one message was read, and no other. */
export const pong = (id: string | number) => ({ jsonrpc: "2.0", id,
  error: { code: -32601, message: "..", data: { supported: ["2026-07-28"] } } });
export const refused = (code: number, id?: string | number) =>
  ({ jsonrpc: "2.0", ...(id === undefined ? {} : { id }), error: { code, message: ".." } });

/** A message whose error prose is "..": codes are promised, words are not. */
export function coded(message: any): any { // any: what came off the wire is compared whole
  if (typeof message?.error?.message !== "string" || message.error.message === "") return message;
  return { ...message, error: { ...message.error, message: ".." } };
}

export const bytes = (...parts: (string | Uint8Array)[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part as string)));
/** Every way to cut bytes in two; the first leaves them whole behind an empty chunk. */
export const cuts = (whole: Uint8Array): Uint8Array[][] =>
  Array.from(whole, (_, at) => [whole.subarray(0, at), whole.subarray(at)]);
export const singles = (whole: Uint8Array): Uint8Array[] =>
  Array.from(whole, (byte) => Uint8Array.of(byte));
export async function* chunks(...parts: Uint8Array[]): AsyncGenerator<Uint8Array> { yield* parts; }

/** Resolves when everything that needs no timer has happened. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A server with the tools echo {t}, which answers, and hold, which waits to be released. */
export function toy() {
  const ran: unknown[] = []; // the ids of the calls that began
  const aborted: { id: unknown; code: string; message: string }[] = [];
  const held = new Map<unknown, () => void>();
  const release = (id: unknown) => held.get(id)?.();
  const faults: unknown[] = [];
  const exchange = dispatch({ name: "toy", version: "1" }, [discover({ tools: {} }), { methods: {
    async "tools/call"({ name, arguments: args }, { request: { id }, lane }) {
      ran.push(id);
      if (name === "hold") {
        const { signal } = lane;
        signal.addEventListener("abort", () =>
          aborted.push({ id, code: signal.reason.code, message: signal.reason.message }));
        await new Promise<void>((resolve) => held.set(id, resolve));
      }
      const text = String((args as { t?: unknown }).t);
      return { content: [{ type: "text", text }] };
    },
  } }], (error) => faults.push(error));
  return { exchange, ran, aborted, release, faults };
}

/** A stream of bytes that the test feeds. */
export function source() {
  const waiting: (Uint8Array | Error | undefined)[] = [];
  let wake = () => {};
  const push = (part: Uint8Array | Error | undefined) => { waiting.push(part); wake(); };
  return {
    push: (...parts: (string | Uint8Array)[]) => push(bytes(...parts)),
    fail: (error: Error) => push(error),
    end: () => push(undefined),
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
      for (;;) {
        while (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
        const part = waiting.shift();
        if (part instanceof Error) throw part;
        if (part === undefined) return;
        yield part;
      }
    },
  };
}

/** The far end of a pipe: what was written, checked to be whole lines. */
export function sink() {
  let text = "";
  const write: Pipe["write"] = (part) => { text += part; };
  const lines = (): string[] => {
    assert.ok(text === "" || text.endsWith("\n"), "the last line is ended");
    return text.split("\n").slice(0, -1);
  };
  return { write, lines, messages: (): any[] => lines().map((line) => coded(JSON.parse(line))) };
}

export type Serving = ServeOptions & LineOptions & { graceMs?: number };
const byId = ({ id: a = "" }, { id: b = "" }): number => String(a) < String(b) ? -1 : 1;
/** All that a server answers to some chunks, by id: answers have no order of their own. */
export async function served(parts: Uint8Array[], exchange: Exchange = toy().exchange,
  options: Serving = {}): Promise<any[]> {
  const out = sink();
  await serveLines(exchange, { readable: chunks(...parts), write: out.write },
    { graceMs: 20, ...options });
  return out.messages().sort(byId);
}
/** The same, and the same again for every cut of the bytes in two and for one byte at a time. */
export async function servedAnyhow(whole: Uint8Array, exchange?: Exchange,
  options?: Serving): Promise<any[]> {
  const answers = await served([whole], exchange, options);
  for (const cut of [...cuts(whole), singles(whole)]) assert.deepEqual(await served(cut, exchange,
    options), answers);
  return answers;
}

/** A server under way, to be spoken to step by step. */
export function conversation(exchange: Exchange, options: Serving = {}) {
  const [input, out] = [source(), sink()];
  const done = serveLines(exchange, { readable: input, write: out.write },
    { graceMs: 20, ...options });
  const say = async (...lines: string[]) => {
    input.push(`${lines.join("\n")}\n`);
    await settled();
  };
  return { say, heard: out.messages, input, done,
    async end() { input.end(); await done; return out.messages(); } };
}
