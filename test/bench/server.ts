// Starts a server in a process of its own, reads the CPU it has used, ends it.
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { connect } from "node:net";

export interface Side {
  name: string;
  command: string[];  // "PORT" in it stands for a port
  protocol?: boolean; // it does the whole protocol, so it must refuse what is wrong
  echo?: boolean;     // it sends back what it gets: the loader against nothing
}

export interface Server {
  child: ChildProcess;
  pid: number;
  port: number;           // 0 on stdio
  failed: Promise<never>; // rejects when the process ends
}

const running = new Set<ChildProcess>();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

export async function start(side: Side, flags: string[] = []): Promise<Server> {
  const http = side.command.includes("PORT");
  const port = http ? 20_000 + Math.floor(Math.random() * 10_000) : 0;
  const [file = "", ...args] = side.command.map((word) => (word === "PORT" ? `${port}` : word));
  const stdin = port ? "ignore" : "pipe";
  const child = spawn(file, [...flags, ...args], { stdio: [stdin, "pipe", "pipe"] });
  running.add(child);
  let complaint = "";
  child.stderr?.on("data", (chunk) => (complaint = (complaint + chunk).slice(-2000)));
  child.stdin?.on("error", () => {});
  if (port) child.stdout?.resume();
  const failed = new Promise<never>((_, reject) => {
    child.on("error", reject).on("exit", (code, signal) => {
      running.delete(child);
      reject(new Error(`${side.name} ended early (${code ?? signal})\n${complaint}`));
    });
  });
  failed.catch(() => {});
  const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
  if (port) await Promise.race([listening(port), failed]);
  clearTimeout(late);
  return { child, pid: child.pid ?? 0, port, failed };
}

export async function stop({ child, failed }: Server, signal: NodeJS.Signals): Promise<void> {
  const late = setTimeout(() => child.kill("SIGKILL"), 3000);
  child.kill(signal);
  await failed.catch(() => {});
  clearTimeout(late);
}

/** User and system time of all threads of a process, in seconds. Linux only, in steps of 10 ms. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function listening(port: number): Promise<void> {
  for (let open = false; !open; await new Promise((resolve) => setTimeout(resolve, 20))) {
    open = await new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1", () => resolve(!!socket.end()));
      socket.on("error", () => resolve(false));
    });
  }
}
