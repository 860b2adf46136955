// Loads a module in a process of its own and reports what it did by being loaded.

import { spawnSync } from "node:child_process";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const PROBE = `
const [url, name] = process.argv.slice(-2);
const touched = new Set();
const mark = (what) => { if (new Error().stack.includes(name)) touched.add(what); };
const watch = (object, key, label) => {
  const held = Object.getOwnPropertyDescriptor(object, key);
  if (held === undefined) return;
  const value = object[key];
  const get = () => (mark(label), value);
  Object.defineProperty(object, key, { configurable: true, get, set: () => mark(label) });
};
const traps = ["fetch", "Request", "Response", "Headers", "WebSocket", "crypto", "console",
  "performance", "setTimeout", "setInterval", "setImmediate", "queueMicrotask"];
for (const key of traps) watch(globalThis, key, key);
for (const key of ["timeout", "any"]) watch(AbortSignal, key, "AbortSignal." + key);
watch(Date, "now", "Date.now");
watch(Math, "random", "Math.random");
for (const key of ["on", "once", "stdin", "stdout", "stderr", "env"]) {
  watch(process, key, "process." + key);
}
const globalsBefore = new Set(Object.getOwnPropertyNames(globalThis));
const exported = await import(url);
const added = Object.getOwnPropertyNames(globalThis).filter((key) => !globalsBefore.has(key));
const report = { touched: [...touched].sort(), added, exported: Object.keys(exported).length };
process.on("exit", () => process.stderr.write("REPORT" + JSON.stringify(report)));
`;

export interface LoadReport {
  /** Platform features that the module reached for while it was loaded. */
  readonly touched: readonly string[];
  /** Names that it added to the global object. */
  readonly added: readonly string[];
  readonly exported: number;
  readonly stdout: string;
  readonly status: number | null;
  /** Set when the process had to be ended because something kept it alive. */
  readonly signal: string | null;
}

/** Imports a file under Node with tsx; the process must end by itself within the time given. */
export function loadAlone(file: string, timeoutMs = 15_000): LoadReport {
  const argv = ["--import", import.meta.resolve("tsx"), "--input-type=module", "-e", PROBE, "--"];
  const child = spawnSync(process.execPath, [...argv, pathToFileURL(file).href, basename(file)], {
    encoding: "utf8",
    timeout: timeoutMs,
    killSignal: "SIGKILL",
  });
  const at = child.stderr.lastIndexOf("REPORT");
  const report =
    at < 0 ? { touched: [], added: [], exported: -1 } : JSON.parse(child.stderr.slice(at + 6));
  return { ...report, stdout: child.stdout, status: child.status, signal: child.signal };
}
