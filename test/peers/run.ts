// Runs the tests that need real peers, leg by leg.
//
//   npm run test:peers             all legs
//   npm run test:peers -- sdk      the legs named
//   npm run check                  types only: the whole project, with TypeScript 7
//
// The packages in test/peers/ are installed when they are missing or older than their lock file.

import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { generate } from "./spec-types.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PEERS = fileURLToPath(new URL(".", import.meta.url));

/** Skips that are no fault: leg, part of the test's title, why. Any other skip fails the run. */
const EXPECTED_SKIPS: readonly { leg: string; title: RegExp; why: string }[] =
  process.platform === "linux"
    ? []
    : [
        ...["runtimes", "pack"].map((leg) => ({
          leg,
          title: /Node 2[246]/,
          why: "the packages with a Node inside are for Linux",
        })),
      ];

interface Leg {
  name: string;
  seconds: number;
  passed: number;
  failed: number;
  skipped: number;
  faults: string[];
}

process.exitCode = main(process.argv.slice(2));

function main(argv: string[]): number {
  if (!installed()) {
    const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
      cwd: PEERS,
      stdio: "inherit",
    });
    if (status !== 0) return 1;
  }
  if (argv[0] === "--check") return check();
  const legs = readdirSync(PEERS)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => name.slice(0, -8))
    .sort();
  const unknown = argv.filter((name) => !legs.includes(name));
  if (unknown.length > 0) {
    console.error(`no leg ${unknown.join(", ")}; there are: ${legs.join(", ")}`);
    return 1;
  }
  const results = (argv.length > 0 ? argv : legs).map(runLeg);
  return summary(results);
}

// npm notes in node_modules what it installed, in a file that is at least as new as the lock.
function installed(): boolean {
  const marker = join(PEERS, "node_modules/.package-lock.json");
  return (
    existsSync(marker) &&
    statSync(marker).mtimeMs >= statSync(join(PEERS, "package-lock.json")).mtimeMs
  );
}

function check(): number {
  const projects = [join(ROOT, "tsconfig.json"), join(PEERS, "tsconfig.json"),
    join(PEERS, "types/tsconfig.json")]; // its own: examples add fields to the types it compares;
  const tsc = join(PEERS, "node_modules/typescript/bin/tsc");
  generate();
  const failed = projects.filter(
    (project) =>
      spawnSync(process.execPath, [tsc, "-p", project], { cwd: ROOT, stdio: "inherit" }).status !==
      0,
  );
  console.log(failed.length === 0 ? "types: no errors" : `types: errors in ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
}

function runLeg(name: string): Leg {
  console.log(`\n== ${name}`);
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-leg-"));
  const report = join(folder, "report");
  const began = Date.now();
  const { status } = spawnSync(
    process.execPath,
    [
      "--import",
      "tsx",
      "--test",
      "--test-concurrency=1",
      "--test-reporter=spec",
      "--test-reporter-destination=stdout",
      `--test-reporter=${pathToFileURL(join(PEERS, "reporter.mjs")).href}`,
      `--test-reporter-destination=${report}`,
      join(PEERS, `${name}.test.ts`),
    ],
    { cwd: ROOT, stdio: ["ignore", "inherit", "inherit"] },
  );
  const leg = readReport(name, existsSync(report) ? readFileSync(report, "utf8") : "");
  rmSync(folder, { recursive: true });
  leg.seconds = (Date.now() - began) / 1000;
  if (status !== 0 && leg.faults.length === 0)
    leg.faults.push(`the test runner ended with ${status}`);
  if (leg.passed + leg.failed === 0) leg.faults.push("no test ran");
  return leg;
}

function readReport(name: string, text: string): Leg {
  const leg: Leg = { name, seconds: 0, passed: 0, failed: 0, skipped: 0, faults: [] };
  for (const line of text.split("\n").filter((one) => one !== "")) {
    const {
      kind,
      name: title = "",
      why = "",
      ...counts
    } = JSON.parse(line) as Record<string, never>;
    if (kind === "counts") Object.assign(leg, counts);
    else if (kind === "failed") leg.faults.push(`failed: ${title}`);
    else if (!EXPECTED_SKIPS.some((one) => one.leg === name && one.title.test(title))) {
      leg.faults.push(
        `skipped unexpectedly: ${title}${why === "" ? ", and does not say why" : ` (${why})`}`,
      );
    }
  }
  return leg;
}

function summary(legs: readonly Leg[]): number {
  console.log(`\n${"leg".padEnd(24)} passed failed skipped seconds`);
  for (const { name, seconds, passed, failed, skipped } of legs) {
    const cells = [passed, failed, skipped].map((count) => String(count).padStart(6)).join(" ");
    console.log(`${name.padEnd(24)} ${cells} ${seconds.toFixed(1).padStart(8)}`);
  }
  const faults = legs.flatMap((leg) => leg.faults.map((fault) => `${leg.name}: ${fault}`));
  for (const fault of faults) console.log(fault);
  const sum = (key: "passed" | "failed" | "skipped"): number =>
    legs.reduce((total, leg) => total + leg[key], 0);
  console.log(`\n${sum("passed")} passed, ${sum("failed")} failed, ${sum("skipped")} skipped`);
  return faults.length === 0 ? 0 : 1;
}
