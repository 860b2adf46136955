// The demo on every runtime: from the repository, and from an empty folder that
// holds nothing but the file. Each must end well and say the same.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { FILE, ROOT, RUNTIMES, run, type Runtime, type Use } from "./kit.ts";

const alone = mkdtempSync(join(tmpdir(), "mcp-raw-alone-"));
cpSync(FILE, join(alone, "mcp-raw.ts"));
after(() => rmSync(alone, { recursive: true }));

/** What may differ between two runs: times, process ids, ports, what is drawn at random. */
export function normalized(output: string): string {
  return output
    .replace(/\+ *\d+ ?ms/g, "+ # ms")
    .replace(/\b\d+(?:\.\d+)? ?(?:ms|s)\b/g, "# ms")
    .replace(/\bpid[ =]\d+/gi, "pid #")
    .replace(/(127\.0\.0\.1|localhost|\[::1\]):\d+/g, "$1:#")
    .replace(/\bport \d+/g, "port #")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, "#time")
    .replace(/^(date: ).*$/gim, "$1#")
    .replace(/"requestState":"[^"]+"/g, '"requestState":"#"')
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, "#uuid");
}

// Over HTTP these are followed by entries of which neither has to be first, for they come on
// different streams: the change that add_note makes, told twice, and the result of the call; the
// 202 for the user's answer, and the result of the call that asked.
const RACES: readonly (readonly [after: RegExp, entries: number])[] = [
  [/^#.* C->S .* tools\/call add_note\b/, 3],
  [/^#.* C->S +result .* elicitation\/create\b/, 2],
];
/** The output, with such entries in one order. */
export function ordered(output: string): string {
  const parts = output.split(/^(?=#\d|== )/m);
  for (const [after, entries] of RACES) {
    const at = parts.findIndex((part) => after.test(part)) + 1;
    const told = parts.slice(at, at + entries).map((part) => part.replace(/^#\d+/, "#").trim());
    if (at > 0) parts.splice(at, entries, ...told.sort().map((part) => `${part}\n`));
  }
  return parts.join("");
}

async function demo(
  runtime: Runtime,
  use: Use & `demo${string}`,
  cwd: string,
): Promise<{ code: number | null; lines: string[]; stderr: string }> {
  const may = runtime.name === "Deno" ? ["--allow-read=mcp-raw.ts"] : []; // the demo serves itself
  const args = [...runtime.args(use), ...may, "mcp-raw.ts", ...use.split(" ")];
  const { code, stdout, stderr } = await run(runtime.command!, args, { cwd, timeout: 60_000 });
  return { code, lines: ordered(normalized(stdout)).split("\n"), stderr };
}

// What came before goes over several streams at once, in no certain order: on stdio alone.
for (const use of ["demo", "demo --http --era modern"] as const) {
  describe(`${use} ends well and says the same on every runtime`, () => {
    let reference: string[] | undefined;
    for (const runtime of RUNTIMES) {
      for (const [where, cwd] of [
        ["in the repository", ROOT],
        ["alone in an empty folder", alone],
      ] as const) {
        test(`${runtime.name}, ${where}`, async (t) => {
          if (runtime.command === undefined)
            return t.skip(`${runtime.name} is not installed on this platform`);
          const { code, lines, stderr } = await demo(runtime, use, cwd);
          assert.equal(code, 0, stderr);
          reference ??= lines;
          assert.ok(lines.length > 20, `${lines.length} lines`);
          assert.match(lines.join("\n"), /tools\/call/);
          assert.deepEqual(lines, reference);
        });
      }
    }
  });
}

describe("the comparison of two outputs", () => {
  test("does not see times, process ids, ports and random ids", () => {
    const one =
      "#1 +  6ms pid 12 http://127.0.0.1:3100/mcp 2026-07-28T10:00:00.123Z " +
      "0b9c1f9e-1111-4222-8333-123456789abc took 1.5 s";
    const two =
      "#1 + 712ms pid 4711 http://127.0.0.1:45678/mcp 2027-01-01T00:00:00.000Z " +
      "ffffffff-1111-4222-8333-123456789abc took 20 ms";
    assert.equal(normalized(one), normalized(two));
  });

  test("does not see what is sealed, nor which of the messages on two streams came first", () => {
    const state = (sealed: string): string => normalized(`{"requestState":"${sealed}","a":1}`);
    assert.equal(state("3obwKW9cD5/+="), state("U6g2utZs/zt1="));
    assert.notEqual(state("x"), normalized('{"requestState":1,"a":1}'));
    const [asked, rest] = ["#40 +1ms C->S request id=19 tools/call add_note 321 B\n", "== End\n"];
    const told = ["S->C list\n  is a\n", "S->C result\n", "S->C updated\n  is b\n"];
    const story = (...order: number[]): string =>
      ordered(asked + order.map((one, at) => `#${41 + at} ${told[one]}`).join("") + rest);
    assert.equal(story(0, 1, 2), story(2, 0, 1));
    assert.notEqual(story(0, 1, 2), story(0, 1, 1));
    assert.notEqual(story(0, 1, 2), story(0, 1));
    const answer = "#1 +1ms C->S result       id=\"s1\" elicitation/create 9 B\n";
    const [taken, result] = ["+1ms S->C no body\n  < 202\n", "+1ms S->C result id=3\n  | {}\n"];
    assert.equal(ordered(`${answer}#2 ${taken}#3 ${result}`),
      ordered(`${answer}#2 ${result}#3 ${taken}`));
  });

  test("sees a message, a number and an order that differ", () => {
    assert.notEqual(normalized('{"id":1}'), normalized('{"id":2}'));
    assert.notEqual(normalized("330 B"), normalized("331 B"));
    assert.notEqual(normalized("a\nb"), normalized("b\na"));
  });
});
