// npm run bench -- [SECTION …] [--rounds 5] [--seconds 1.5] [--as ts,js] [--json] [--profile]
// This file against bare servers that know nothing of the protocol, side by side. Every round
// starts each side afresh, in turn; ratios are taken within a round; the table shows medians.
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { check } from "./check.ts";
import { coldStart, load, type Load, type Work } from "./load.ts";
import { profile, ranked, strip } from "./profile.ts";
import { start, stop, type Side } from "./server.ts";

const local = (name: string): string => fileURLToPath(import.meta.resolve(name));
const { values: options, positionals: names } = parseArgs({ allowPositionals: true, options: {
  rounds: { type: "string", default: "5" },
  seconds: { type: "string", default: "1.5" },
  as: { type: "string", default: "ts,js" }, // as it is (Node 20: through tsx) · with types stripped
  file: { type: "string", default: local("../../mcp-raw.ts") },
  json: { type: "boolean", default: false },
  profile: { type: "boolean", default: false },
} });
const rounds = Number(options.rounds);
const stripped = strip(options.file);
const tsx = process.features.typescript ? [] : ["--import", import.meta.resolve("tsx")];

function sides(how: string[], floors: Record<string, string[]>): Side[] {
  const node = process.execPath;
  return [
    { name: "mcp-raw.ts", protocol: true, command: [node, ...tsx, options.file, "serve", ...how] },
    { name: "mcp-raw.js", protocol: true, command: [node, stripped.copy, "serve", ...how] },
    ...Object.entries(floors).map(([name, command]) =>
      ({ name, command, protocol: false, echo: name === "cat" || name === "echo" })),
  ].filter(({ name, protocol }) => !protocol || options.as.includes(name.slice(-2)));
}
const floor = (name: string, ...args: string[]) =>
  [process.execPath, local(`./floors/${name}.mjs`), ...args];
const stdio = sides(["--stdio"],
  { readline: floor("readline"), bytes: floor("bytes"), cat: ["cat"] });
const http = sides(["--http", "PORT"],
  { http: floor("http", "PORT"), echo: floor("echo", "PORT") });

const mebibyte = 'All work and no play makes "Jack" a dull boy.\n'.repeat(22_796).slice(0, 2 ** 20);
const seconds = Number(options.seconds);
const add = { seconds, tool: "add", args: '{"a":1,"b":2}', text: "3" };
const echo = { seconds, tool: "echo", args: JSON.stringify({ text: mebibyte }), text: mebibyte };

interface Section {
  title: string;
  sides: Side[];  // ratios are to the first that does not do the protocol
  speed: number;  // goals, as ratios
  cpu?: number;
  work?: Work;    // without it: a cold start, in milliseconds
}
const SECTIONS: Record<string, Section> = {
  stdio: { title: "stdio, 64 in flight", sides: stdio, speed: 1.2, cpu: 0.7,
    work: { ...add, inFlight: 64 } },
  http: { title: "HTTP, 32 connections", sides: http, speed: 0.7, work: { ...add, inFlight: 32 } },
  stdio1: { title: "stdio, 1 in flight", sides: stdio, speed: 0.95, work: { ...add, inFlight: 1 } },
  "stdio-1mib": { title: "stdio, 1 MiB", sides: stdio, speed: 1, work: { ...echo, inFlight: 1 } },
  cold: { title: "spawn to first answer", sides: stdio.slice(0, -1), speed: 1.05 },
};

async function once(side: Side, work?: Work): Promise<Load> {
  if (!work) return coldStart(side);
  const server = await start(side);
  await check(side, server);
  const result = await load(side, server, work);
  await stop(server, "SIGTERM");
  return result;
}

/** All sides once a round, each round beginning with another one; the loader's own limit, once. */
async function measure({ sides, work }: Section): Promise<[Side, Load[]][]> {
  const loads = sides.map((side): [Side, Load[]] => [side, []]);
  if (!work) for (const side of sides) await once(side);
  for (let round = 0; round < rounds; round++) {
    const turn = round % sides.length;
    for (const [side, own] of [...loads.slice(turn), ...loads.slice(0, turn)]) {
      if (!side.echo || round === 0) own.push(await once(side, work));
    }
  }
  return loads;
}

function spread(values: number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (index: number): number => sorted.at(index) ?? NaN;
  const middle = (sorted.length - 1) / 2;
  return { median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2, min: at(0), max: at(-1) };
}

function summary(section: Section, loads: [Side, Load[]][]) {
  const bare = loads.find(([side]) => !side.protocol)?.[1] ?? [];
  return loads.map(([side, own]) => {
    const of = (key: "speed" | "cpu" | "server" | "loader" | "others", goal?: number) => {
      const ratio = spread(own.map((each, i) => each[key] / (bare[i]?.[key] ?? NaN)));
      const most = key === "cpu" || !section.work;
      const met = goal && (most ? ratio.median <= goal : ratio.median >= goal);
      const verdict = `${most ? "≤" : "≥"} ${goal} ${met ? "met" : "MISSED"}`;
      return { ...spread(own.map((each) => each[key])), ratio,
        goal: side.protocol && goal && (section.work || side.name.endsWith("js")) ? verdict : "" };
    };
    return { side: side.name, speed: of("speed", section.speed), cpu: of("cpu", section.cpu),
      server: of("server"), loader: of("loader"), others: of("others") };
  });
}

function table({ title, work }: Section, rows: ReturnType<typeof summary>): string {
  type Cell = ReturnType<typeof summary>[number]["cpu"];
  const number = (n: number) => (n < 1000 ? n.toPrecision(3) : Math.round(n).toLocaleString("en"));
  const cells = ({ median, min, max, ratio, goal }: Cell) =>
    [number(median), `${number(min)}–${number(max)}`, ratio.median.toFixed(2), goal];
  const share = ({ median }: Cell) => (median >= 0 ? `${Math.round(median * 100)} %` : "");
  const head = [title, work ? "calls/s" : "ms", "range", "ratio", "goal",
    "CPU µs/call", "range", "ratio", "goal", "server", "loader", "others"];
  const lines = [head, ...rows.map(({ side, speed, cpu, server, loader, others }) =>
    [side, ...cells(speed), ...cells(cpu), ...[server, loader, others].map(share)])];
  const width = (i: number): number => Math.max(...lines.map((line) => line[i]?.length ?? 0));
  return lines.map((line) => line.map((cell, i) =>
    (i ? cell.padStart(width(i)) : cell.padEnd(width(i)))).join("  ") + "\n").join("");
}

const sections: Record<string, unknown> = {};
for (const name of names.length ? names : ["stdio", "http"]) {
  const section = SECTIONS[name];
  if (!section) throw new Error(`no section ${name}: ${Object.keys(SECTIONS)}`);
  const js = section.sides.find((side) => side.command.includes(stripped.copy));
  if (options.profile && section.work && js) {
    const costs = await profile(js, { ...section.work, seconds: 4 }, stripped);
    sections[name] = costs;
    if (!options.json) console.log(`${section.title}, ${js.name}: where the time of a call goes\n` +
      `${ranked(costs, "group", 20)}\n${ranked(costs, "name", 30)}`);
  } else {
    const rows = summary(section, await measure(section));
    sections[name] = rows;
    if (!options.json) console.log(table(section, rows));
  }
}
const machine = { node: process.version, cores: availableParallelism(), rounds };
if (options.json) console.log(JSON.stringify({ ...machine, sections }, null, 2));
else if (!options.profile) {
  console.log(`Node ${machine.node}, ${machine.cores} cores, ${rounds} rounds. server, loader, others
(and the host): shares of one core. The loader is not the limit where its share is below the
server's; cat and echo show how far it can go; what the server lacks to 100 % is being woken.
What others take makes calls/s uncertain, CPU a call less so.`);
}
