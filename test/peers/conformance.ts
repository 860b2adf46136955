// Runs the official conformance suite: against examples/everything-server.ts on three runtimes,
// and against examples/everything-client.ts.
//
//   npx tsx test/peers/conformance.ts [server | client | all]
//
// It counts checks, not ticks: the suite ticks a scenario that checked nothing, skipped all, or
// only warned, and takes no notice of how a client ends.

import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { PEERS, ROOT, RUNTIMES, run, serving, type Runtime } from "./kit.ts";

/** A part of the suite, and what must at least be seen of it. */
export interface Leg {
  readonly role: "server" | "client";
  readonly args: readonly string[];
  /** How many it has; fewer means that some broke off. */
  readonly scenarios: number;
  /** Distinct pairs of scenario and check that succeed. */
  readonly pairs: number;
}
const OLDER = ["--requirements", "2025-11-25"];
const NEWEST = ["--requirements", "2026-07-28"];
const ALL = ["--suite", "all"];
/** As in 0.2.0-alpha.12 of the suite, the version that package.json names. */
export const LEGS: readonly Leg[] = [
  { role: "server", args: OLDER, scenarios: 33, pairs: 84 },
  { role: "server", args: NEWEST, scenarios: 50, pairs: 181 },
  { role: "server", args: ALL, scenarios: 65, pairs: 260 },
  { role: "client", args: OLDER, scenarios: 25, pairs: 250 },
  { role: "client", args: NEWEST, scenarios: 39, pairs: 378 },
  { role: "client", args: ALL, scenarios: 48, pairs: 389 },
];
/** What is no fault, and how often a leg may have it. */
const ALLOWED: Readonly<Record<string, number>> = {
  // The suite looks for these notifications where they no longer are, so it skips them always.
  "SKIPPED tasks-status-notifications tasks-status-notifications": 1,
  "NOTHING tasks-status-notifications": 1,
  // The newest revision has neither of the two methods: initialize, notifications/initialized.
  "SKIPPED http-standard-headers sep-2243-client-includes-standard-headers": 2,
};
/** Scenarios that a client ends with an error, for that is what they are about. */
const REFUSALS = new Set(["auth/iss-normalized", "auth/iss-supported-missing",
  "auth/iss-unexpected", "auth/iss-wrong-issuer", "auth/metadata-issuer-mismatch",
  "auth/resource-mismatch", "auth/scope-retry-limit", "http-invalid-tool-headers",
  "json-schema-ref-no-deref", // lists a tool and then knows no tools/call
  "sep-2640-client-verify-digest", "sep-2640-client-verify-frontmatter",
  "sep-2640-client-verify-size"]);

// ---- What the suite has written ---------------------------------------------

interface Check { readonly id: string; readonly status: string; readonly message: string }
export interface Scenario { readonly name: string; readonly checks: readonly Check[] }

const STATUSES = ["SUCCESS", "FAILURE", "WARNING", "SKIPPED", "INFO"];
const TIME = /-\d{4}-\d\d-\d\dT[\d-]+Z$/;
const oneLine = (message: unknown): string =>
  String(message).replace(/\x1b\[\d*m/g, "").replace(/\s+/g, " ").trim();

function readChecks(file: string): Check[] {
  try {
    const checks = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>[];
    return checks.map(({ id, status, errorMessage, details, description }) => {
      const message = oneLine(errorMessage ?? JSON.stringify(details) ?? description);
      return STATUSES.includes(String(status))
        ? { id: String(id), status: String(status), message }
        : { id: String(id), status: "FAILURE", message: `status ${status}: ${message}` };
    });
  } catch (error) {
    return [{ id: "checks.json", status: "FAILURE", message: oneLine(error) }];
  }
}
/** What a client has written on its way out: ours writes nothing else. */
function readLastWords(folder: string, scenario: string): Check[] {
  if (REFUSALS.has(scenario) || !readdirSync(folder).includes("stderr.txt")) return [];
  const message = oneLine(readFileSync(join(folder, "stderr.txt"), "utf8"));
  return message === "" ? [] : [{ id: "stderr", status: "FAILURE", message }];
}
/** The scenarios under a folder of results: [server-]NAME-TIME/checks.json */
export function readScenarios(folder: string): Scenario[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => TIME.test(basename(path))).sort()
    .map((path) => {
      const name = path.replace(TIME, "").replace(/^server-/, "");
      const here = join(folder, path);
      return { name, checks: [...readChecks(join(here, "checks.json")),
        ...readLastWords(here, name)] };
    });
}

// ---- What it amounts to -----------------------------------------------------

/** A success that says something: every message that is well formed earns the other. */
const tells = ({ id, status }: Check): boolean =>
  status === "SUCCESS" && id !== "wire-schema-valid";

export interface Totals {
  /** Scenarios in which a check of their own has succeeded. */
  readonly scenarios: number;
  readonly passed: number;
  readonly failures: number;
  readonly warnings: number;
  readonly skipped: number;
  readonly pairs: number;
}
export function totals(scenarios: readonly Scenario[]): Totals {
  const all = scenarios.flatMap(({ name, checks }) =>
    checks.map(({ id, status }) => ({ pair: `${name} ${id}`, status })));
  const of = (wanted: string) => all.filter(({ status }) => status === wanted);
  return {
    scenarios: scenarios.filter(({ checks }) => checks.some(tells)).length,
    passed: of("SUCCESS").length,
    failures: of("FAILURE").length,
    warnings: of("WARNING").length,
    skipped: of("SKIPPED").length,
    pairs: new Set(of("SUCCESS").map(({ pair }) => pair)).size,
  };
}

/** What was seen of a leg. */
export interface Result {
  readonly name: string;
  readonly leg: Leg;
  readonly scenarios: readonly Scenario[];
  /** The exit code of the suite, and what it wrote last. */
  readonly code: number | null;
  readonly words: string;
  /** What the server wrote to stderr meanwhile: of errors that it did not expect. */
  readonly complaint: string;
  readonly seconds: number;
}
interface Finding { readonly key: string; readonly message: string }
const lineOf = ({ key, message }: Finding): string => `${key}: ${message}`;
/** All that is neither a success nor a note. */
function findings(scenarios: readonly Scenario[]): Finding[] {
  return scenarios.flatMap(({ name, checks }) => {
    const found = checks.filter(({ status }) => status !== "SUCCESS" && status !== "INFO")
      .map(({ id, status, message }) => ({ key: `${status} ${name} ${id}`, message }));
    return checks.some(tells) ? found
      : [...found, { key: `NOTHING ${name}`, message: "no check of its own has succeeded" }];
  });
}
/** Why a leg is no pass: empty when it is one. */
export function faults({ leg, scenarios, code, words, complaint }: Result): string[] {
  const allowed = new Map(Object.entries(ALLOWED));
  const found = findings(scenarios).filter(({ key }) => {
    const left = allowed.get(key) ?? 0;
    allowed.set(key, left - 1);
    return left <= 0;
  }).map(lineOf);
  const { pairs } = totals(scenarios);
  if (scenarios.length !== leg.scenarios)
    found.push(`${scenarios.length} scenarios have run, of ${leg.scenarios}`);
  if (pairs < leg.pairs) found.push(`${pairs} pairs have succeeded, of ${leg.pairs}`);
  if (code !== 0) found.push(`the suite ended with ${code}: ${words}`);
  if (complaint !== "") found.push(`the server complained: ${complaint}`);
  return found;
}

/** One table, and below it all that did not succeed. */
export function report(results: readonly Result[]): string {
  const heads = ["scenarios", "checks passed", "failures", "warnings", "skipped", "distinct pairs",
    "seconds"];
  const row = (name: string, cells: readonly unknown[]): string => name.padEnd(34) +
    cells.map((cell, at) => String(cell).padStart((heads[at] ?? "").length + 2)).join("");
  const rows = results.map(({ name, leg, scenarios, seconds }) => {
    const { scenarios: some, ...rest } = totals(scenarios);
    return row(name, [`${some}/${leg.scenarios}`, ...Object.values(rest), seconds.toFixed(1)]);
  });
  const below = new Map<string, string[]>();
  for (const result of results) {
    const bad = faults(result).map((line) => `FAULT ${line}`);
    const known = findings(result.scenarios).map((one) => `known ${lineOf(one)}`)
      .filter((line) => !bad.includes(line.replace("known", "FAULT")));
    for (const line of new Set([...bad, ...known])) {
      below.set(line, [...(below.get(line) ?? []), result.name]);
    }
  }
  const lines = [...below].map(([line, names]) => `${line}\n      in ${names.join(", ")}`);
  return [row("", heads), ...rows, "", ...lines].join("\n");
}

// ---- Running it -------------------------------------------------------------

const SUITE = `${PEERS}/node_modules/@modelcontextprotocol/conformance/dist/index.js`;
const runtime = (name: string): Runtime =>
  RUNTIMES.find((one) => one.name === name) ?? { name, command: undefined, args: () => [] };
/** The suite needs Node 22, which is installed on Linux; elsewhere the Node at hand has to do. */
const NODE = runtime("Node 22").command ?? process.execPath;
/** Where the example server runs; the first is what the others are compared with. */
export const SERVERS: readonly Runtime[] = [{ ...runtime("Node 22"), command: NODE },
  runtime("Bun"), runtime("Deno")];

/** Runs a leg of the suite; `target` says what it tests. */
export async function runLeg(leg: Leg, target: readonly string[], on = ""): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-conformance-"));
  const output = join(folder, "results");
  mkdirSync(output);
  const began = Date.now();
  try {
    const { code, stdout, stderr } = await run(NODE,
      [SUITE, leg.role, ...target, ...leg.args, "-o", output],
      { env: { MCP_RAW_SLOTS: join(folder, "slots") }, timeout: 230_000 });
    const name = `${leg.role} ${leg.args.at(-1)}${on}`;
    return { name, leg, scenarios: readScenarios(output), code,
      words: oneLine((stderr + stdout).slice(-300)), complaint: "", seconds: (Date.now() - began) / 1000 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the legs of the server, with the example server on one runtime. */
export async function runServerLegs({ name, command, args }: Runtime): Promise<Result[]> {
  if (command === undefined) throw new Error(`${name} is not installed`);
  const may = name === "Deno" ? ["--allow-read=examples/extensions/skills"] : [];
  const server = await serving(command, (port) =>
    [...args("http"), ...may, "examples/everything-server.ts", String(port)]);
  try {
    const results: Result[] = [];
    for (const leg of LEGS.filter(({ role }) => role === "server")) {
      const before = server.stderr().length;
      const result = await runLeg(leg, ["--url", server.url], ` on ${name}`);
      results.push({ ...result, complaint: oneLine(server.stderr().slice(before)) });
    }
    return results;
  } finally {
    server.stop();
  }
}

/** Runs the legs of the client. `command` is what a shell is given, with a URL after it. */
export async function runClientLegs(command =
  `exec '${NODE}' '${PEERS}/conformance-client.ts'`): Promise<Result[]> {
  const results: Result[] = [];
  for (const leg of LEGS.filter(({ role }) => role === "client")) {
    results.push(await runLeg(leg, ["--command", command, "--timeout", "120000"]));
  }
  return results;
}

async function main(which = "all"): Promise<number> {
  if (!["server", "client", "all"].includes(which)) {
    console.error("conformance.ts [server | client | all]");
    return 1;
  }
  const results = [
    ...(which === "client" ? [] : (await Promise.all(SERVERS.map(runServerLegs))).flat()),
    ...(which === "server" ? [] : await runClientLegs()),
  ];
  console.log(report(results));
  return results.every((result) => faults(result).length === 0) ? 0 : 1;
}
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.exitCode = await main(process.argv[2]);
}
