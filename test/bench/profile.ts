// The stripped copy of the file, and where its microseconds go: a CPU profile, cut to the time of
// the load, by chapter of the file or module of Node, then by function.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { createRequire, SourceMap } from "node:module";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { check } from "./check.ts";
import { load, type Work } from "./load.ts";
import { start, stop, type Side } from "./server.ts";

const scratch = mkdtempSync(join(tmpdir(), "bench-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

interface Stripped {
  file: string;
  copy: string;
  line(line: number, column: number): number; // from the copy to the file, both from 0
}

/** Types are stripped by the esbuild that tsx brings, so that it is done alike on every Node. */
export function strip(file: string): Stripped {
  const tsx = createRequire(import.meta.url).resolve("tsx");
  const { code, map } = createRequire(tsx)("esbuild")
    .transformSync(readFileSync(file, "utf8"), { loader: "ts", sourcemap: "external" });
  const copy = join(scratch, basename(file, ".ts") + ".js"); // by this name it is a program
  writeFileSync(join(scratch, "package.json"), '{ "type": "module" }');
  writeFileSync(copy, code);
  const lines = new SourceMap(JSON.parse(map));
  const line = (line: number, column: number): number => {
    const entry = lines.findEntry(line, column);
    return "originalLine" in entry ? entry.originalLine : line;
  };
  return { file, copy, line };
}

export interface Cost { group: string; name: string; micros: number } // its own time, a call

export async function profile(side: Side, work: Work, stripped: Stripped): Promise<Cost[]> {
  const dir = mkdtempSync(join(scratch, "profile-"));
  // Node writes the profile when the process ends by itself, not when a signal ends it.
  const leave = "data:text/javascript,process.once('SIGUSR2',()=>process.exit())";
  const server = await start(side,
    ["--cpu-prof", `--cpu-prof-dir=${dir}`, "--cpu-prof-interval=200", "--import", leave]);
  await check(side, server);
  const { from, to, calls } = await load(side, server, work);
  await stop(server, "SIGUSR2");
  const json = readFileSync(join(dir, readdirSync(dir)[0] ?? ""), "utf8");
  const { nodes, samples = [], timeDeltas = [], startTime }: Profiler.Profile = JSON.parse(json);

  let chapter = "(outside a chapter)";
  const chapters = readFileSync(stripped.file, "utf8").split("\n")
    .map((line) => (chapter = /^\/\/ #region (.*)/.exec(line)?.[1] ?? chapter));
  const own = pathToFileURL(stripped.copy).href;
  const costs = new Map<number, Cost>();
  for (const { id, callFrame: { functionName, url, lineNumber, columnNumber } } of nodes) {
    const line = stripped.line(lineNumber, columnNumber);
    const native = functionName.startsWith("(") ? functionName : "(native)";
    const group = url === own ? chapters[line] ?? chapter : url || native;
    const place = url === own ? `line ${line + 1}` : url;
    costs.set(id, { group, name: `${functionName || "(anonymous)"} ${place}`.trim(), micros: 0 });
  }
  let at = startTime;
  samples.forEach((id, i) => {
    at += timeDeltas[i] ?? 0;
    const cost = costs.get(id);
    if (cost && at >= from && at <= to) cost.micros += (timeDeltas[i + 1] ?? 0) / calls;
  });
  return [...costs.values()].filter(({ micros }) => micros > 0);
}

/** The dearest first, costs of one name together. */
export function ranked(costs: Cost[], by: "group" | "name", top: number): string {
  const sums = new Map<string, number>();
  for (const cost of costs) sums.set(cost[by], (sums.get(cost[by]) ?? 0) + cost.micros);
  const dear = [...sums].filter(([, micros]) => micros > 0.005).sort((a, b) => b[1] - a[1]);
  const lines = dear.slice(0, top).map(([name, n]) => `${n.toFixed(2).padStart(7)} µs  ${name}\n`);
  return lines.join("");
}
