// The official conformance suite, every leg, counted by checks (conformance.ts); and the counting
// itself, on results that are planted.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { faults, readScenarios, report, runClientLegs, runLeg, runServerLegs, SERVERS,
  totals, type Leg, type Result } from "./conformance.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-planted-"));
after(() => rmSync(folder, { recursive: true }));

// ---- The counting -----------------------------------------------------------

let planted = 0;
/** Results as the suite leaves them: for each scenario the text of its files. */
function plant(files: Record<string, Record<string, string>>): string {
  const results = join(folder, String(++planted));
  mkdirSync(results);
  for (const [scenario, texts] of Object.entries(files)) {
    const here = join(results, `${scenario}-2026-12-01T02-34-30-139Z`);
    mkdirSync(here, { recursive: true });
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(here, name), text);
  }
  return results;
}
const checks = (...texts: string[]) => ({ "checks.json": `[${texts.join(",")}]` });
const check = (id: string, status: string, message = "why") =>
  `{"id":"${id}","name":"X","description":"Y","status":"${status}","errorMessage":"${message}"}`;
const GOOD = check("good", "SUCCESS");

/** What is seen of planted results, by a leg that expects as many scenarios and no pairs. */
function seen(files: Record<string, Record<string, string>>, expected: Partial<Leg> = {},
  code: number | null = 0): Result {
  const scenarios = readScenarios(plant(files));
  const leg: Leg = { role: "server", args: ["--suite", "all"], scenarios: scenarios.length,
    pairs: 0, ...expected };
  return { name: "planted", leg, scenarios, code, words: "last words", complaint: "", seconds: 1 };
}

describe("Counting the checks of the conformance suite", () => {
  test("checks are counted by status, and pairs of scenario and check once; a note is none of " +
    "them (engineering)", () => {
    const { scenarios } = seen({
      "server-tools-list": checks(GOOD, GOOD, check("other", "SUCCESS"), check("note", "INFO")),
      "auth/dpop": checks(GOOD, check("f", "FAILURE"), check("w", "WARNING"), check("x", "WARNING"),
        check("s", "SKIPPED"), check("t", "SKIPPED"), check("u", "SKIPPED")),
      "server-server-stateless": checks(check("s", "SKIPPED")),
    });
    assert.deepEqual(scenarios.map(({ name }) => name),
      ["auth/dpop", "server-stateless", "tools-list"]);
    assert.deepEqual(totals(scenarios),
      { scenarios: 2, passed: 4, failures: 1, warnings: 2, skipped: 4, pairs: 3 });
  });

  test("what succeeds, with notes beside it, has no fault (engineering)", () => {
    assert.deepEqual(faults(seen({ "server-ping": checks(GOOD, check("note", "INFO")) })), []);
  });

  for (const status of ["FAILURE", "WARNING", "SKIPPED"]) {
    test(`one ${status} among successes is a fault that says why (engineering)`, () => {
      assert.deepEqual(faults(seen({ ping: checks(GOOD, check("bad", status, "it said no")) })),
        [`${status} ping bad: it said no`]);
    });
  }

  test("a status that is not known is a failure (engineering)", () => {
    const result = seen({ ping: checks(GOOD, check("new", "success")) });
    assert.deepEqual(faults(result), ["FAILURE ping new: status success: why"]);
    assert.equal(totals(result.scenarios).failures, 1);
  });

  test("a scenario in which nothing has succeeded is no pass, though the suite ticks it: no " +
    "checks, notes alone, skips alone, nothing but well-formed messages (engineering)", () => {
    const result = seen({ a: checks(), b: checks(check("note", "INFO")),
      c: checks(check("s", "SKIPPED", "no such thing")),
      d: checks(check("wire-schema-valid", "SUCCESS")) });
    const nothing = (name: string) => `NOTHING ${name}: no check of its own has succeeded`;
    assert.deepEqual(faults(result),
      [nothing("a"), nothing("b"), "SKIPPED c s: no such thing", nothing("c"), nothing("d")]);
    assert.equal(totals(result.scenarios).scenarios, 0);
  });

  test("checks that are not there, or cannot be read, are a failure (engineering)", () => {
    const broken = ["[{", "{}", "null", "[null]"];
    for (const files of [{}, ...broken.map((text) => ({ "checks.json": text }))]) {
      const [first = ""] = faults(seen({ ping: files }));
      assert.match(first, /^FAILURE ping checks\.json: \w*Error/);
    }
  });

  test("too few scenarios, too few pairs, a suite that does not end well and a server that " +
    "complains are faults (engineering)", () => {
    assert.deepEqual(faults(seen({ ping: checks(GOOD) }, { scenarios: 2, pairs: 2 }, 1)),
      ["1 scenarios have run, of 2", "1 pairs have succeeded, of 2",
        "the suite ended with 1: last words"]);
    assert.deepEqual(faults(seen({ ping: checks(GOOD) }, {}, null)),
      ["the suite ended with null: last words"]);
    assert.deepEqual(faults({ ...seen({ ping: checks(GOOD) }), complaint: "TypeError: oops" }),
      ["the server complained: TypeError: oops"]);
  });

  test("the skips that are known are no fault; one more of them is, and so is their failure " +
    "(engineering)", () => {
    const TASKS = "tasks-status-notifications";
    const HEADERS = "sep-2243-client-includes-standard-headers";
    const skip = (id: string) => check(id, "SKIPPED");
    const known = { [`server-${TASKS}`]: checks(skip(TASKS)),
      "http-standard-headers": checks(GOOD, skip(HEADERS), skip(HEADERS)) };
    assert.deepEqual(faults(seen(known)), []);
    assert.deepEqual(faults(seen({ ...known, [TASKS]: checks(GOOD, skip(TASKS)),
      "http-standard-headers": checks(GOOD, skip(HEADERS), skip(HEADERS), skip(HEADERS)) })), [
      `SKIPPED http-standard-headers ${HEADERS}: why`, `SKIPPED ${TASKS} ${TASKS}: why`]);
    assert.deepEqual(faults(seen({ [TASKS]: checks(check(TASKS, "FAILURE")) })),
      [`FAILURE ${TASKS} ${TASKS}: why`]);
  });

  test("a client that ends with an error is a fault, except where it has to refuse (engineering)",
    () => {
      const files = { ...checks(GOOD), "stdout.txt": "fine", "stderr.txt": "Error: lost\n" };
      assert.deepEqual(faults(seen({ "auth/dpop": files, "auth/iss-wrong-issuer": files })),
        ["FAILURE auth/dpop stderr: Error: lost"]);
    });

  test("the report has a row for each leg and, once each, all that did not succeed, with the " +
    "legs it was seen in (engineering)", () => {
    const bad = seen({ ping: checks(GOOD, check("bad", "WARNING", "odd")) }, { scenarios: 2 });
    const known = seen({ "http-standard-headers": checks(GOOD,
      check("sep-2243-client-includes-standard-headers", "SKIPPED", "not sent")) });
    assert.deepEqual(report([bad, { ...bad, name: "again" }, known]).split("\n"), [
      "                                    scenarios  checks passed  failures  warnings  skipped" +
        "  distinct pairs  seconds",
      "planted                                   1/2              1         0         1        0" +
        "               1      1.0",
      "again                                     1/2              1         0         1        0" +
        "               1      1.0",
      "planted                                   1/1              1         0         0        1" +
        "               1      1.0",
      "",
      "FAULT WARNING ping bad: odd",
      "      in planted, again",
      "FAULT 1 scenarios have run, of 2",
      "      in planted, again",
      "known SKIPPED http-standard-headers sep-2243-client-includes-standard-headers: not sent",
      "      in planted",
    ]);
  });
});

// ---- The suite itself -------------------------------------------------------

describe("The suite against nothing", () => {
  /** Runs all scenarios of a role; each must have a fault to its name, whatever the suite ticks. */
  async function passesNone(role: Leg["role"], target: string[], scenarios: number): Promise<void> {
    const leg: Leg = { role, args: ["--suite", "all"], scenarios, pairs: 1 };
    const result = await runLeg(leg, target);
    const bad = faults(result).map((line) => line.split(/[ :]/)[1]);
    const spared = result.scenarios.map(({ name }) => name).filter((name) => !bad.includes(name));
    assert.equal(result.scenarios.length, scenarios);
    assert.deepEqual(spared.filter((name) => name !== "tasks-status-notifications"), []);
  }
  test("a client that does nothing passes no scenario (engineering)",
    () => passesNone("client", ["--command", "true"], 48));
  test("where no server is, no scenario passes (engineering)",
    () => passesNone("server", ["--url", "http://127.0.0.1:9/mcp"], 65));
});

describe("The official conformance suite", () => {
  const results = new Map<string, Result[]>();
  const [reference] = SERVERS;
  const passes = (of: readonly Result[] = []) => {
    assert.equal(of.length, 3);
    assert.deepEqual(of.flatMap((result) => faults(result)), []);
  };
  before(async () => {
    const there = SERVERS.filter(({ command }) => command !== undefined);
    const legs = await Promise.all(there.map(runServerLegs)); // they mostly wait
    there.forEach(({ name }, at) => results.set(name, legs[at] ?? []));
    results.set("client", await runClientLegs());
  });
  after(() => console.log(`\n${report([...results.values()].flat())}\n`));

  for (const { name, command } of SERVERS) {
    test(`examples/everything-server.ts on ${name} passes all that is required of a server in ` +
      "2025-11-25 and in 2026-07-28, and all that there is (engineering)", (t) => {
      if (command === undefined) return t.skip(`${name} is not installed on this platform`);
      passes(results.get(name));
      assert.deepEqual(results.get(name)?.map(({ scenarios }) => totals(scenarios)),
        results.get(reference?.name ?? "")?.map(({ scenarios }) => totals(scenarios)));
    });
  }

  test("examples/everything-client.ts passes all that is required of a client in 2025-11-25 and " +
    "in 2026-07-28, and all that there is (engineering)", () => passes(results.get("client")));
});
