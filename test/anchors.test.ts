// Every place of the specification that the file or a test title names is a real heading of it.
// spec-anchors.json lists the headings of revision 2026-07-28, page by page, as its links have them.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import anchors from "./spec-anchors.json" with { type: "json" };

const here = new URL("./", import.meta.url);
const pages = new Map<string, string[]>(Object.entries(anchors));

/** The places that a text names and the specification does not have. */
function strangers(text: string): string[] {
  return [...text.matchAll(/\bspec ([a-z][a-z/-]*)(?:\\?#([a-z0-9-]+))?/g)]
    .filter(([, page = "", anchor]) => {
      const headings = pages.get(page);
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
  assert.deepEqual(rules.filter((line) => !/\((spec|RFC) [^)]+\)/.test(line)), []);
});

test("a page or a heading that is not there is seen", () => {
  const text = "(spec basic#messages) (spec basic#mesages) (spec basic/transports/carrier-pigeon)";
  assert.deepEqual(strangers(text), ["spec basic#mesages", "spec basic/transports/carrier-pigeon"]);
});
