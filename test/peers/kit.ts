// What the peer tests share: where the runtimes and compilers are, running a
// command to its end, keeping a server up for the length of a test.

import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, connect, type AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url)).replace(/[/\\]$/, "");
export const PEERS = `${ROOT}/test/peers`;
export const FILE = `${ROOT}/mcp-raw.ts`;
const MODULES = `${PEERS}/node_modules`;

/** The compilers, run under this Node. */
export const TYPESCRIPT = {
  "7.0": `${MODULES}/typescript/bin/tsc`,
  "5.9": `${MODULES}/typescript59/bin/tsc`,
} as const;

// A package manager that runs install scripts moves the binary into the package itself;
// one that does not leaves it in the package of the platform.
const placed = (...places: string[]): string | undefined =>
  places.map((place) => `${MODULES}/${place}`).find((path) => existsSync(path));
export const BUN = placed(
  "@oven/bun-linux-x64/bin/bun",
  "@oven/bun-darwin-aarch64/bin/bun",
  "bun/bin/bun.exe",
);
export const DENO = placed("@deno/linux-x64-glibc/deno", "@deno/darwin-arm64/deno", "deno/deno");

export interface Runtime {
  readonly name: string;
  /** The binary; undefined when it is not installed here. */
  readonly command: string | undefined;
  args(use: Use): string[];
}
/** What the program is about to do, for runtimes that ask for permissions. */
export type Use = "stdio" | "http" | "demo" | "demo --http --era modern";

const node = (major: number): Runtime => ({
  name: `Node ${major}`,
  command: placed(`node${major}/bin/node`),
  args: () => [],
});

const DENO_MAY: Record<Use, (deno: string) => string[]> = {
  stdio: () => [],
  http: () => ["--allow-net=127.0.0.1"],
  demo: (deno) => [`--allow-run=${deno}`, "--allow-env=NODE_V8_COVERAGE"],
  "demo --http --era modern": () => ["--allow-net=127.0.0.1"],
};

export const RUNTIMES: readonly Runtime[] = [
  {
    name: `Node ${process.versions.node.split(".")[0]} with tsx`,
    command: process.execPath,
    args: () => ["--import", import.meta.resolve("tsx")],
  },
  node(22),
  node(24),
  node(26),
  { name: "Bun", command: BUN, args: () => ["run"] },
  {
    name: "Deno",
    command: DENO,
    args: (use) => ["run", "--no-config", "--no-prompt", ...DENO_MAY[use](DENO ?? "deno")],
  },
];

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Written to the child's standard input, which is then closed; undefined leaves it empty. */
  readonly stdin?: string;
  /** Milliseconds until the whole process group is ended. */
  readonly timeout?: number;
}
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
}

/** Runs a command to its end. Whatever it leaves behind in its process group is ended too. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Outcome> {
  const child = start(command, args, options);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    endGroup(child);
  }, options.timeout ?? 30_000);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  child.stdin?.on("error", () => {}); // it may end before it has read everything
  child.stdin?.end(options.stdin ?? "");
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (...end) => resolve(end));
  });
  clearTimeout(timer);
  endGroup(child);
  return { stdout: stdout(), stderr: stderr(), code, signal, timedOut };
}

function start(
  command: string,
  args: readonly string[],
  { cwd = ROOT, env = {} }: RunOptions,
): ChildProcess {
  return spawn(command, args, {
    cwd,
    env: { ...cleanEnv(), ...env },
    stdio: "pipe",
    detached: true,
  });
}

// A child must not see the test runner around it, nor colours asked for elsewhere.
export function cleanEnv(): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    ([name, value]) =>
      value !== undefined && !/^(?:NODE_TEST|NODE_OPTIONS|NODE_V8|FORCE_COLOR|npm_)/.test(name),
  );
  return { ...(Object.fromEntries(kept) as Record<string, string>), NO_COLOR: "1" };
}

function collect(stream: NodeJS.ReadableStream | null): () => string {
  let text = "";
  stream?.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  return () => text;
}

/** Ends a child and everything that it started. */
export function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // the group is already gone
  }
}

export interface Running {
  readonly url: string;
  readonly port: number;
  /** What the server has written so far. */
  stderr(): string;
  stdout(): string;
  signal(name: NodeJS.Signals): void;
  stop(): void;
}

const running = new Set<ChildProcess>();
process.once("exit", () => running.forEach(endGroup));

/** Starts a server on a free port, given to it by `args`, and waits until the port answers. */
export async function serving(
  command: string,
  args: (port: number) => readonly string[],
  options: RunOptions = {},
): Promise<Running> {
  const port = await freePort();
  const child = start(command, args(port), options);
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  let ended = false;
  child
    .once("error", () => {
      ended = true;
    })
    .once("exit", () => {
      ended = true;
    });
  running.add(child);
  const give = Date.now() + (options.timeout ?? 20_000);
  while (!(await answers(port))) {
    if (!ended && Date.now() < give) continue;
    endGroup(child);
    throw new Error(
      `no server at port ${port}: ${command} ${args(port).join(" ")}\n${stderr()}${stdout()}`,
    );
  }
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    port,
    stderr,
    stdout,
    signal: (name) => void child.kill(name),
    stop: () => endGroup(child),
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => setTimeout(resolve, 40, false));
  });
}

export interface Launched {
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** Its exit code, when it has ended. */
  readonly ended: Promise<number | null>;
}
/** Starts a command that is watched while it runs. */
export function launch(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Launched {
  const child = start(command, args, options);
  running.add(child);
  child.stdin?.end();
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject).once("close", resolve);
  });
  ended.then(
    () => running.delete(child),
    () => {},
  );
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)];
  return { stdout, stderr, signal: (name) => void child.kill(name), ended };
}

/** Waits until a condition holds; throws with what it saw when it does not in time. */
export async function until(
  holds: () => boolean,
  seen: () => string,
  timeout = 5000,
): Promise<void> {
  for (
    const give = Date.now() + timeout;
    !holds();
    await new Promise((resolve) => setTimeout(resolve, 20))
  ) {
    if (Date.now() > give)
      throw new Error(`not seen within ${timeout} ms; seen so far:\n${seen()}`);
  }
}

/** This Node with tsx, ready to run mcp-raw.ts. */
export const TSX = [process.execPath, "--import", import.meta.resolve("tsx")] as const;

/** Runs the command line of mcp-raw.ts. */
export const mcpRaw = (args: readonly string[], options: RunOptions = {}): Promise<Outcome> =>
  run(TSX[0], [...TSX.slice(1), FILE, ...args], options);
