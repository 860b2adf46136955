// What the tests of the command line share: main in a world made of strings, and
// the file as a program of its own.

import { spawn } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before } from "node:test";
import { main, memoryStore, type IO } from "../mcp-raw.ts";

const FILE = fileURLToPath(new URL("../mcp-raw.ts", import.meta.url));
const TSX = ["--import", import.meta.resolve("tsx"), FILE];

export interface World extends Partial<IO> {
  /** Lines on stdin, for serve --stdio. */
  input?: string;
  /** The signal that comes as soon as stderr says this. */
  signal?: ["SIGINT" | "SIGTERM", string];
  /** What is typed at the terminal, answer by answer; then the input ends. */
  typed?: string[];
}
export interface Outcome { code: number; stdout: string; stderr: string }

/** Runs main in a world made of strings. */
export async function run(argv: readonly string[], world: World = {}): Promise<Outcome> {
  const out = { stdout: "", stderr: "" };
  let interrupt = (_: "SIGINT" | "SIGTERM") => {};
  const [signal, said] = world.signal ?? [];
  const stderr = (part: string) => {
    out.stderr += part;
    if (signal !== undefined && out.stderr.includes(said ?? "")) interrupt(signal);
  };
  const { typed } = world;
  const code = await main(argv, {
    stdout: (part) => { out.stdout += part; },
    stderr,
    columns: { stdout: undefined, stderr: undefined },
    env: {},
    pipe: () => ({
      readable: (async function* () { yield Buffer.from(world.input ?? ""); })(),
      write: (part) => { out.stdout += part; },
    }),
    onSignal: (listener) => { interrupt = listener; },
    self: async () => [process.execPath, ...TSX],
    locate: async (path) => pathToFileURL(`/home/reader/${path}`).href,
    load: () => Promise.reject(new Error("no such module")),
    logins: () => memoryStore(),
    browse: async () => false,
    ...(typed && { ask: async (question) => {
      const line = typed.shift();
      stderr(`${question}${line ?? ""}\n`);
      return line;
    } }),
    ...world,
  });
  return { code, ...out };
}

export interface Reader {
  input?: string | Buffer;
  /** Stops reading after that many bytes. */
  head?: number;
  /** The signal that comes as soon as stdout says this; stdin stays open until then. */
  signal?: [NodeJS.Signals, string];
}
/** Runs the file in a process of its own. */
export function program(argv: readonly string[],
  { input = "", head = Infinity, signal }: Reader = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [...TSX, ...argv], { stdio: "pipe", timeout: 20_000 });
  const out = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    out.stdout += part;
    if (out.stdout.length > head) child.stdout.destroy();
    if (signal !== undefined && out.stdout.includes(signal[1])) child.kill(signal[0]);
  });
  child.stderr.setEncoding("utf8").on("data", (part: string) => { out.stderr += part; });
  child.stdin.on("error", () => {}).write(input);
  if (signal === undefined) child.stdin.end();
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ code: code ?? -1, ...out })));
}

/** Serves HTTP for the length of the tests around it. */
export function serving(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const http = createServer(answer);
  const at = { url: "" };
  before(async () => {
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    at.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  });
  after(() => { http.closeAllConnections(); http.close(); });
  return at;
}

/** The bytes that a written entry shows, with its newlines put back. */
export const shownBytes = (written: string): string =>
  written.split("\n").filter((line) => line.startsWith("  | "))
    .map((line) => line.slice(4)).join("").replaceAll("\\n", "\n");
