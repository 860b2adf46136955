// What the tests of HTTP, tools, clients and processes share. Requests are put
// together here from literal parts, so that no encoder of the file is its own
// witness.

import assert from "node:assert/strict";
import { createConnection, type Socket } from "node:net";
import type {
  Exchange, HttpReply, HttpRequest, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, Lane,
} from "../mcp-raw.ts";

export const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
/** A request of 2026-07-28. */
export const request = (method: string, params: object = {}, id: number | string =
  1): JSONRPCRequest =>
  ({ jsonrpc: "2.0", id, method, params: { ...params, _meta: META } });

/** The headers that 2026-07-28 asks for; null takes one away. */
export function headersFor(method: string, name?: string,
  changes: Record<string, string | null> = {}): Record<string, string> {
  const all: Record<string, string | null> = {
    "accept": "application/json, text/event-stream", "content-type": "application/json",
    "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name ?? null,
      ...changes,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] =>
    entry[1] !== null));
}

/** A request as an adapter hands it over; leave() is the client going away. */
export function posted(body: string, headers: Record<string, string>, method =
  "POST"): HttpRequest & { leave(): void } {
  const listeners: (() => void)[] = [];
  return {
    method,
    header: (name) => headers[name] ?? null,
    text: async (limit) => new TextEncoder().encode(body).length > limit ? undefined : body,
    onClose: (listener) => void listeners.push(listener),
    leave: () => listeners.forEach((listener) => listener()),
  };
}
/** A well-formed POST of a request; changes are to its headers. */
export function post(method: string, params: { name?: string; [key: string]: unknown } = {},
  changes: Record<string, string | null> = {}, id: number | string = 1) {
  return posted(JSON.stringify(request(method, params, id)),
    headersFor(method, params.name, changes));
}
export const jsonOf = (reply: HttpReply): unknown => JSON.parse(reply.body ?? "null");
/** The code of the error in a reply; undefined for a result. */
export const codeOf = (reply: HttpReply): number | undefined =>
  (jsonOf(reply) as { error?: { code: number } }).error?.code;

/** The result in a response, of the type that the test expects of it. */
export const resultIn = <T>(response: JSONRPCResponse): T =>
  "result" in response ? response.result as unknown as T : assert.fail(JSON.stringify(response));
/** The code of the error in a response; undefined for a result. */
export const refusalIn = (response: JSONRPCResponse): number | undefined =>
  "error" in response ? response.error.code : undefined;

/** Reads the stream of a reply into text, as a reader that is never behind. */
export function read(reply: HttpReply) {
  const sink = { text: "", closed: false, write(text: string) { sink.text += text; },
    close() { sink.closed = true; }, queued: () => 0 };
  reply.stream?.(sink);
  return sink;
}

export const ms = (time: number): Promise<void> => new Promise(
  (resolve) => setTimeout(resolve, time));
/** Waits for a condition, two seconds at most. */
export async function until(condition: () => boolean, what = condition.toString(), limit =
  2_000): Promise<void> {
  const end = performance.now() + limit;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`did not come to pass: ${what}`);
    await ms(2);
  }
}
/** What becomes of a promise within the time given; "pending" otherwise. */
export async function within<T>(promise: Promise<T>, time: number): Promise<T | "pending"> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<"pending">((resolve) => (timer = setTimeout(resolve, time, "pending")));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** A lane whose notifications can be looked at. */
export function lane(signal: AbortSignal = new AbortController().signal): Lane & {
  said: JSONRPCNotification[] } {
  const said: JSONRPCNotification[] = [];
  return { signal, said, notify: (notification) => void said.push(notification) };
}

/** A fetch that a function answers; what it was asked is kept. */
export function fakeFetch(answer: (request: Request, body: JSONRPCRequest) =>
  Response | Promise<Response>) {
  const asked: { request: Request; body: JSONRPCRequest; redirect: string | undefined }[] = [];
  const fetched: typeof fetch = async (input, init) => {
    const request = new Request(input as string, init as RequestInit);
    const body = JSON.parse(await request.clone().text()) as JSONRPCRequest;
    asked.push({ request, body, redirect: init?.redirect });
    const gone = new Promise<never>((_, reject) => init?.signal?.addEventListener("abort",
      () => reject(init.signal?.reason), { once: true }));
    return Promise.race([answer(request, body), gone]);
  };
  return Object.assign(fetched, { asked });
}
export const jsonResponse = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });
export const resultOf = (id: unknown, result: object = {}): object =>
  ({ jsonrpc: "2.0", id, result: { resultType: "complete", ...result } });

/** An exchange that answers by a function; what it was asked is kept. */
export function scripted(answer: (request: JSONRPCRequest, lane: Lane) =>
  object | Promise<object>) {
  const asked: JSONRPCRequest[] = [];
  const exchange: Exchange = async (request, lane) => {
    asked.push(request);
    return await answer(request, lane) as Awaited<ReturnType<Exchange>>;
  };
  return { exchange, asked };
}

/** A TCP connection that keeps what it reads as latin-1 text. */
export async function tcp(url: string): Promise<{ socket: Socket; text(): string;
  closed: Promise<void> }> {
  const { port, hostname } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk)).on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  await new Promise<void>((resolve) => socket.on("connect", () => resolve()));
  return { socket, text: () => text, closed };
}
/** The bytes of a POST, its headers given as lines. */
export const postBytes = (body: string, headers: Record<string, string>, target = "/mcp"): string =>
  `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
  Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("") + `\r\n${body}`;
