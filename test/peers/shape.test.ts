// Cut, drop and lift, proved by the type checker: every chapter is a safe place
// to stop, can be left out with those that use it, and can be taken along with
// those that it uses.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { cuts, drops, lifts, readBook, type Variant } from "../shape-model.ts";
import { FILE } from "./kit.ts";
import { typeCheck } from "./variant.ts";

const folders: string[] = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** Type-checks all variants in one run; gives the complaints by variant. */
async function checked(variants: readonly Variant[]): Promise<Map<string, string[]>> {
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-variants-"));
  folders.push(folder);
  for (const { name, text } of variants) writeFileSync(join(folder, `${name}.ts`), text);
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const { stdout, stderr, code } = await typeCheck(folder, "*.ts");
  const found = new Map(variants.map(({ name }) => [name, [] as string[]]));
  for (const line of stdout.split("\n")) {
    const [, name = "", rest = ""] = /^([\w-]+)\.ts\((.*)$/.exec(line) ?? [];
    found.get(name)?.push(`(${rest}`);
  }
  const told = [...found.values()].some((lines) => lines.length > 0);
  if ((code === 0) === told) throw new Error(`the compiler ended with ${code}: ${stdout}${stderr}`);
  return found;
}

describe("mcp-raw.ts can be cut, thinned and taken apart at every chapter", async () => {
  const book = readBook(readFileSync(FILE, "utf8"));
  const variants = [...cuts(book), ...drops(book), ...lifts(book)];
  const found = checked(variants);
  for (const { name } of variants) {
    test(name, async () => assert.deepEqual((await found).get(name)?.slice(0, 5), []));
  }
});

const SMALL = (chapters: Record<string, [uses: string, code: string]>): string =>
  [
    "// ---- Part I: the idea ----",
    ...Object.entries(chapters).flatMap(([title, [uses, code]], index) => [
      `// #region ${index + 1}. ${title}`,
      `// uses ${uses}`,
      code,
      "// #endregion",
    ]),
  ].join("\n");

describe("each of the three sees its fault", () => {
  const failing = async (chapters: Record<string, [string, string]>): Promise<string[]> => {
    const book = readBook(SMALL(chapters));
    const found = await checked([...cuts(book), ...drops(book), ...lifts(book)]);
    return [...found].filter(([, lines]) => lines.length > 0).map(([name]) => name);
  };

  test("a book in order has none", async () => {
    assert.deepEqual(
      await failing({
        A: ["nothing", "export interface A { a: 1 }"],
        B: ["a", "export const b: A = { a: 1 };"],
        C: ["b", "export const c = b;"],
      }),
      [],
    );
  });

  test("cut sees a name that is declared further down, which hoisting would allow", async () => {
    assert.deepEqual(
      await failing({
        A: ["nothing", "export const a = (): number => later();"],
        B: ["a", "export function later(): number { return Number(a); }"],
      }),
      ["cut-a", "drop-b", "lift-a"],
    );
  });

  test("drop and lift see a use that is not said", async () => {
    assert.deepEqual(
      await failing({
        A: ["nothing", "export const a = 1;"],
        B: ["nothing", "export const b = a;"],
      }),
      ["drop-a", "lift-b"],
    );
  });
});
