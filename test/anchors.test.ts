// Every place of the specification that the file or a test title names is a real heading of it.
// spec-anchors.json lists the headings of each revision, page by page, as its links have them; a
// place that names no revision is of 2026-07-28.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import anchors from "./spec-anchors.json" with { type: "json" };

const here = new URL("./", import.meta.url);
const pages = new Map(Object.entries(anchors).flatMap(([revision, all]) =>
  Object.entries<string[]>(all).map(([page, headings]) => [`${revision} ${page}`, headings])));

const PLACE = /\bspec(?:@([^\s,;)]*))? ([a-z][a-z/-]*)(?:\\?#([a-z0-9-]+))?/g;
/** The places that a text names and the specification does not have. */
function strangers(text: string): string[] {
  return [...text.matchAll(PLACE)]
    .filter(([, revision = "2026-07-28", page = "", anchor]) => {
      const headings = pages.get(`${revision} ${page}`);
      return headings === undefined || (anchor !== undefined && !headings.includes(anchor));
    })
    .map(([place]) => place);
}

test("every place of the specification that mcp-raw.ts names is there", () => {
  const source = readFileSync(new URL("../mcp-raw.ts", here), "utf8");
  assert.ok(source.match(/\bspec [a-z]/g)!.length > 50);
  assert.deepEqual(strangers(source), []);
});

test("every place of the specification that a test title names is there", () => {
  for (const file of readdirSync(here).filter((name) => /^part.*\.test\.ts$/.test(name))) {
    assert.deepEqual(strangers(readFileSync(new URL(file, here), "utf8")), [], file);
  }
});

test("every rule of mcp-raw.ts names its place on its line", () => {
  const source = readFileSync(new URL("../mcp-raw.ts", here), "utf8");
  const rules = source.split("\n").filter((line) => /\b(MUST|SHOULD): /.test(line));
  assert.ok(rules.length > 30);
  assert.deepEqual(rules.filter((line) => !/\((spec|spec@[\d-]+|RFC) [^)]+\)/.test(line)), []);
});

test("a page, a heading or a revision that is not there is seen", () => {
  const text = "(spec basic#messages) (spec basic#mesages) (spec basic/transports/carrier-pigeon)" +
    "(spec@2025-11-25 basic/transports#session-management)(spec@2025-11-25 basic/transports#sse)" +
    "(spec@2025-06-18 basic/utilities/tasks) (spec@2025-11-24 basic) (spec@2024-11-05 basic)" +
    "(spec basic/lifecycle) (spec@2024-11-05 changelog)";
  assert.deepEqual(strangers(text), ["spec basic#mesages", "spec basic/transports/carrier-pigeon",
    "spec@2025-11-25 basic/transports#sse", "spec@2025-06-18 basic/utilities/tasks",
    "spec@2025-11-24 basic", "spec basic/lifecycle", "spec@2024-11-05 changelog"]);
});
