// The form of mcp-raw.ts: what a reader is promised about the book as a book.
// Each rule is first held against the file, then shown to bite on a fault
// planted in a small book of the same form.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadAlone } from "./shape-load.ts";
import {
  RULES,
  closureOf,
  contentsBlock,
  cuts,
  drops,
  lifts,
  readBook,
  slugOf,
} from "./shape-model.ts";
import { codeOf, functionsOf, tokenize, topLevel } from "./shape-tokens.ts";
import { withContents, withReadmeToc } from "./toc.ts";

const FILE = fileURLToPath(new URL("../mcp-raw.ts", import.meta.url));
const README = fileURLToPath(new URL("../README.md", import.meta.url));

describe("mcp-raw.ts keeps the form of the book", () => {
  const source = readFileSync(FILE, "utf8");
  const titles: Record<string, string> = {
    chapterHeads:
      "chapters are numbered in order and say on their second line which earlier chapters they use",
    strayCode: "all code stands in chapters, every chapter in a Part or below the cut",
    declaredOnce: "a name is declared once, an interface opened again only to add to it",
    direction: "a chapter names nothing that is declared further down",
    honestUses: "a chapter says which chapters it names, no more and no fewer",
    sizes: "cover, Part I, protocol, command line, chapters and their openings keep their ceilings",
    functions: "functions keep their ceilings of length, nesting and parameters",
    widths: "code keeps to 100 columns, comments to 80",
    purity: "nothing is imported statically, awaited, reassigned or collected at the top level",
    honestTypes: "no type is any and no value is asserted to be there, unless a comment says why",
    eras: "no condition asks for the era outside the Part on earlier versions",
    unfinished: "nothing unfinished or silenced is left",
  };
  for (const [name, rule] of Object.entries(RULES)) {
    test(titles[name] ?? name, () => assert.deepEqual(rule(readBook(source)), []));
  }

  test("the contents on the cover agree with the chapters (npm run toc)", () => {
    const contents = (text: string): string[] => {
      const { start, end } = contentsBlock(text.split("\n"))!;
      return text.split("\n").slice(start, end);
    };
    assert.deepEqual(contents(source), contents(withContents(source)));
  });

  test("the links in the README lead to the chapters (npm run toc)", () => {
    const readme = readFileSync(README, "utf8");
    assert.match(readme, /<!-- toc -->/);
    assert.equal(withReadmeToc(readme, readBook(source)), readme);
  });

  test("each set of chapters that the README offers holds all that its chapters use", () => {
    const book = readBook(source);
    const sets = [...readFileSync(README, "utf8").matchAll(/\| ([\d–, ]+) \| [\d,]+ \|/g)];
    assert.ok(sets.length > 3);
    for (const [row, chapters = ""] of sets) {
      const numbers = chapters.split(", ").flatMap((range) => {
        const [from = 0, to = from] = range.split("–").map(Number);
        return Array.from({ length: to - from + 1 }, (_, step) => from + step);
      });
      const needed = book.chapters
        .filter(({ number }) => numbers.includes(number))
        .flatMap((chapter) => closureOf(book, chapter).map(({ number }) => number));
      assert.deepEqual(needed.filter((number) => !numbers.includes(number)), [], row);
    }
  });

  test("loading the file prints nothing, starts nothing and reaches for nothing", () => {
    const report = loadAlone(FILE);
    assert.deepEqual(report.touched, []);
    assert.deepEqual(report.added, []);
    assert.equal(report.stdout, "");
    assert.equal(report.status, 0);
    assert.ok(report.exported > 20, `${report.exported} exports`);
  });
});

const SMALL = `// small.ts: a book of the same form.
//
// Contents
//

// ---- Part I: the idea ----

// #region 1. Words
// uses nothing · spec basic
//
// A word is a string.

export interface Word { text: string; any?: string }
export const isWord = (value: unknown): value is Word => typeof value === "object";
// #endregion

// #region 2. Counting, and more
// uses words

export function count(words: Word[], limit = 10): number {
  const pattern = /[/"]+\\/\`/g, text = \`\${words.map(({ text }) => \`<\${text}>\`)} later\`;
  return Math.min(limit, text.replace(pattern, "").length);
}
// #endregion

// ---- Part V: earlier versions ----

// #region 3. Older words
// uses words counting-and-more

export async function older(legacy: boolean): Promise<number> {
  const words = [{ text: "a" }].filter(isWord);
  if (legacy) return await Promise.any([count(words)]);
  return 0;
}
// #endregion

// ---- cut here when you copy the file

// #region 4. Command line
// uses everything

export const main = (argv: string[]): number => argv.length === 0 ? 2 : count([]);
// #endregion
`;

describe("a book of the right form", () => {
  for (const [name, rule] of Object.entries(RULES)) {
    test(`gives ${name} nothing to complain about`, () =>
      assert.deepEqual(rule(readBook(SMALL)), []));
  }

  test("is read as chapters with numbers, slugs, Parts and uses", () => {
    const read = readBook(SMALL).chapters.map(({ number, slug, part, uses }) => ({
      number,
      slug,
      part,
      uses,
    }));
    assert.deepEqual(read, [
      { number: 1, slug: "words", part: "I", uses: [] },
      { number: 2, slug: "counting-and-more", part: "I", uses: ["words"] },
      { number: 3, slug: "older-words", part: "V", uses: ["words", "counting-and-more"] },
      { number: 4, slug: "command-line", part: "cut", uses: "everything" },
    ]);
    assert.equal(slugOf("Versions, _meta, discover"), "versions-meta-discover");
  });

  test("is cut after each chapter, loses one with its users, and lends one with its uses", () => {
    const book = readBook(SMALL);
    const chaptersIn = (text: string): string[] =>
      [...text.matchAll(/#region (\d)/g)].map((found) => found[1]!);
    const table = [...cuts(book), ...drops(book), ...lifts(book)].map(({ name, text }) => [
      name,
      chaptersIn(text).join(""),
    ]);
    assert.deepEqual(table, [
      ["cut-words", "1"],
      ["cut-counting-and-more", "12"],
      ["cut-older-words", "123"],
      ["cut-command-line", "1234"],
      ["drop-words", ""],
      ["drop-counting-and-more", "1"],
      ["drop-older-words", "12"],
      ["lift-words", "1"],
      ["lift-counting-and-more", "12"],
      ["lift-older-words", "123"],
      ["lift-command-line", "1234"],
    ]);
    assert.deepEqual(
      closureOf(book, book.chapters[2]!).map((one) => one.number),
      [1, 2],
    );
  });

  test("gets its contents written, and they stay as they are when written again", () => {
    const once = withContents(SMALL);
    assert.equal(withContents(once), once);
    assert.deepEqual(once.split("\n").slice(2, 6), [
      "// Contents",
      "//  1 Words                10 -            3 Older words          30 I",
      "//  2 Counting, and more   19 1            4 Command line         42 all above",
      "//",
    ]);
    assert.equal(once.split("\n")[18], "// #region 2. Counting, and more");
  });

  test("gets links from a README between the markers, and nothing is touched outside them", () => {
    const readme = withReadmeToc("a\n<!-- toc -->\nstale\n<!-- /toc -->\nb\n", readBook(SMALL));
    assert.deepEqual(readme.split("\n"), [
      "a",
      "<!-- toc -->",
      "- **I. The idea**: [Words](mcp-raw.ts#L8) · [Counting, and more](mcp-raw.ts#L17)",
      "- **V. Earlier versions**: [Older words](mcp-raw.ts#L28)",
      "- **Below the cut**: [Command line](mcp-raw.ts#L40)",
      "<!-- /toc -->",
      "b",
      "",
    ]);
  });
});

// A fault: the rule that must see it, what is replaced by what, and the complaint.
type Fault = [rule: string, what: string, from: string, to: string, complaint: RegExp];
const inCount = (line: string): [string, string] => [
  "  const pattern",
  `  ${line}\n  const pattern`,
];
const inWords = (line: string): [string, string] => [
  "export interface Word",
  `${line}\nexport interface Word`,
];
const blank = (lines: number): string => "\n".repeat(lines);

const FAULTS: Fault[] = [
  [
    "chapterHeads",
    "a chapter out of order",
    "#region 3. Older",
    "#region 4. Older",
    /^line 28: chapter 4 stands in place 3$/,
  ],
  [
    "chapterHeads",
    "a title used twice",
    "2. Counting, and more",
    "2. Words",
    /^line 17: a second chapter "words"$/,
  ],
  [
    "chapterHeads",
    "no uses line",
    "// uses nothing",
    "// about nothing",
    /^line 9: no "\/\/ uses …" line$/,
  ],
  [
    "chapterHeads",
    "a use of a later chapter",
    "// uses nothing",
    "// uses older-words",
    /^line 9: uses "older-words", which is no/,
  ],
  [
    "strayCode",
    "code between chapters",
    "// ---- Part V",
    "const stray = 1;\n// ---- Part V",
    /^line 26: code outside every chapter: const$/,
  ],
  [
    "strayCode",
    "a chapter before the first Part",
    "// ---- Part I: the idea ----",
    "",
    /^line 8: "Words" is in no Part$/,
  ],
  [
    "strayCode",
    "no cut",
    "// ---- cut here",
    "// ---- end",
    /^no line that starts with \/\/ ---- cut here$/,
  ],
  [
    "declaredOnce",
    "a name used twice",
    ...inCount("return 0; } const isWord = 1; function more() {"),
    /^line 21: isWord is declared at line 14 already$/,
  ],
  [
    "direction",
    "a call of a later function",
    ...inCount("older(true);"),
    /^line 21: "Counting, and more" names older, which "Older words"/,
  ],
  [
    "direction",
    "a type declared further down",
    ...inWords("export type Later = ReturnType<typeof count>;"),
    /^line 13: "Words" names count, which/,
  ],
  [
    "direction",
    "a name in a template's hole",
    ...inCount("const t = `${older}`;"),
    /^line 21: "Counting, and more" names older/,
  ],
  [
    "honestUses",
    "a chapter named and not said",
    "// uses words counting-and-more",
    "// uses counting-and-more",
    /^line 32: "Older words" names isWord without saying/,
  ],
  [
    "honestUses",
    "a chapter said and not named",
    "filter(isWord)",
    "slice()",
    /^line 29: "Older words" says it uses words and names nothing/,
  ],
  [
    "honestUses",
    "an interface of another chapter opened again",
    "// uses words\n",
    "// uses nothing\nexport interface Word { more?: 1 }\n",
    /^line 19: "Counting, and more" names Word without saying/,
  ],
  [
    "sizes",
    "a long cover",
    "// Contents\n",
    `// Contents\n//\n${"// more\n".repeat(70)}`,
    /^line 1: the cover: \d+ lines, at most 66$/,
  ],
  [
    "sizes",
    "a long Part I",
    "// uses words\n",
    `// uses words\n${blank(280)}`,
    /^line 1: Part I: \d+ lines, at most 300$/,
  ],
  [
    "sizes",
    "a long chapter",
    "// uses words\n",
    `// uses words\n${blank(275)}`,
    /^line 17: chapter "Counting, and more": \d+ lines, at most 280$/,
  ],
  [
    "sizes",
    "a long opening",
    "// A word is a string.",
    "// A word.\n".repeat(18).trimEnd(),
    /^line 8: the opening of "Words": 21 lines, at most 20$/,
  ],
  [
    "sizes",
    "a long protocol",
    "// ---- cut",
    `${blank(8360)}// ---- cut`,
    /^line 1: the protocol: \d+ lines, at most 8360$/,
  ],
  [
    "sizes",
    "a long command line",
    "// uses everything",
    `// uses everything${blank(1840)}`,
    /^line 38: the command line: \d+ lines, at most 1840$/,
  ],
  [
    "functions",
    "a long function",
    ...inCount(blank(60)),
    /^line 20: count has \d+ lines, at most 60$/,
  ],
  [
    "functions",
    "a long method",
    ...inWords(
      `export const table = { read(a: string): { x: 1 } {${blank(60)}return { x: 1 }; } };`,
    ),
    /^line 13: read has 61 lines/,
  ],
  [
    "functions",
    "a long arrow function",
    ...inWords(`export const long = async (a: string): Promise<void> => {${blank(60)}};`),
    /^line 13: long has 61 lines/,
  ],
  [
    "functions",
    "five parameters",
    "words: Word[], limit = 10",
    "words: Map<Word, 1>, b = 1, c = 2, d = 3, limit = 10",
    /^line 20: count takes 5 parameters, at most 4$/,
  ],
  [
    "functions",
    "five parameters of a callback",
    ...inCount("const five = (a: 1, b: 2, c: 3, d: 4, e: 5) => 1;"),
    /^line 21: five takes 5 parameters/,
  ],
  [
    "functions",
    "five blocks deep",
    ...inCount("if (a) { for (;;) { while (b) { try { if (c) { d(); } } finally {} } } }"),
    /^line 20: count nests 5 deep, at most 4$/,
  ],
  [
    "widths",
    "a wide line of code",
    ...inCount(`const wide = "${"x".repeat(90)}";`),
    /^line 21: 10\d columns, at most 100$/,
  ],
  [
    "widths",
    "a wide comment",
    "// A word is a string.",
    `// ${"x".repeat(78)}`,
    /^line 11: 81 columns, at most 80$/,
  ],
  [
    "purity",
    "a static import",
    ...inWords('import { readFileSync } from "node:fs";'),
    /^line 13: a static import$/,
  ],
  [
    "purity",
    "an import for its effect",
    ...inWords('import "node:fs";'),
    /^line 13: a static import$/,
  ],
  [
    "purity",
    "an import of a literal name",
    ...inCount('const fs = import("node:fs");'),
    /^line 21: an import of a literal name/,
  ],
  [
    "purity",
    "an export from elsewhere",
    ...inWords('export { x } from "./x.ts";'),
    /^line 13: an export from another module$/,
  ],
  [
    "purity",
    "await at the top level",
    ...inWords("const waited = await fetch;"),
    /^line 13: await at the top level$/,
  ],
  [
    "purity",
    "a top-level variable",
    ...inWords("export let counter = 0;"),
    /^line 13: let at the top level$/,
  ],
  [
    "purity",
    "a collection to be filled",
    ...inWords("const cache = new Map<string, Word>();"),
    /^line 13: cache is empty at the top level/,
  ],
  [
    "purity",
    "an array to be filled",
    ...inWords("const seen: string[] = [];"),
    /^line 13: seen is empty at the top level/,
  ],
  ["honestTypes", "the type any", "value: unknown", "value: any", /^line 14: the type any$/],
  [
    "honestTypes",
    "any as an argument of a type",
    ...inCount("const list: Array<any> = words;"),
    /^line 21: the type any$/,
  ],
  [
    "honestTypes",
    "a non-null assertion",
    ...inCount("words[0]!.text;"),
    /^line 21: a non-null assertion$/,
  ],
  [
    "eras",
    "a condition on the era",
    ...inCount("if (limit > 3 && isLegacy(limit)) return 0;"),
    /^line 21: a condition on the era \(isLegacy\) outside Part V$/,
  ],
  [
    "eras",
    "a comparison with an era's name",
    ...inCount('if (kind === "modern") return 0;'),
    /^line 21: a condition on the era \("modern"\)/,
  ],
  ["unfinished", "a note to self", "// A word is a string.", "// TODO say more", /^line 11: TODO$/],
  ["unfinished", "a silenced checker", ...inCount("// @ts-ignore"), /^line 21: @ts-ignore$/],
];

describe("each rule bites", () => {
  for (const [rule, what, from, to, complaint] of FAULTS) {
    test(`${rule}: ${what}`, () => {
      assert.equal(SMALL.split(from).length, 2, `"${from}" stands once in the small book`);
      const complaints = RULES[rule]!(readBook(SMALL.replace(from, () => to)));
      assert.ok(
        complaints.some((one) => complaint.test(one)),
        JSON.stringify(complaints),
      );
    });
  }

  test("every rule has at least one planted fault", () => {
    assert.deepEqual(
      Object.keys(RULES).filter((rule) => !FAULTS.some(([one]) => one === rule)),
      [],
    );
  });

  test("stale contents differ from what toc writes", () => {
    const written = withContents(SMALL);
    assert.notEqual(
      withContents(written.replace("more   19 1", "more   20 1")),
      written.replace("more   19 1", "more   20 1"),
    );
  });

  test("regions that do not pair are refused", () => {
    assert.throws(
      () => readBook(SMALL.replace("// #endregion\n", "")),
      /line 16: a region opens inside "Words"/,
    );
    assert.throws(
      () => readBook(SMALL.trimEnd().replace(/\/\/ #endregion$/, "")),
      /"Command line" has no #endregion/,
    );
  });
});

describe("what is not a fault", () => {
  const fine: [string, string, string, string][] = [
    [
      "direction",
      "a parameter with the name of a later function",
      ...inCount("words.map((older) => older.text);"),
    ],
    [
      "direction",
      "a property, a key and a method with that name",
      ...inCount("({ older: words.older, main() { return 1; } });"),
    ],
    [
      "direction",
      "that name in a string, a template and a comment",
      ...inCount('"older"; `older`; // older'),
    ],
    [
      "functions",
      "a nested function, which starts its own count",
      ...inCount(
        "if (a) { for (;;) { while (b) { f(() => { if (c) { try {} finally {} } }); } } }",
      ),
    ],
    [
      "purity",
      "a computed import",
      ...inWords('export const node = (name: string): Promise<unknown> => import("node:" + name);'),
    ],
    [
      "purity",
      "await in an async arrow expression",
      ...inWords("export const wait = async (one: Promise<1>) => await one;"),
    ],
    [
      "honestTypes",
      "any with a comment that says why",
      ...inCount("const x: any = 1; // any: the platform's own type"),
    ],
    [
      "honestTypes",
      "negation, inequality and a method named any",
      ...inCount("if (!words || limit !== 1) AbortSignal.any([]);"),
    ],
  ];
  for (const [rule, what, from, to] of fine) {
    test(`${rule}: ${what}`, () =>
      assert.deepEqual(RULES[rule]!(readBook(SMALL.replace(from, () => to))), []));
  }
});

test("the tokenizer keeps strings, templates, expressions and comments apart", () => {
  const source =
    'const a = b / c / "d"; /* e */ f(`g${h({ i: `j${k}` })}l`, /m"[/]n/u); // o\n' +
    "x = y++ ?? 1_0.5e-3;";
  const texts = tokenize(source).map(({ kind, text }) => `${kind[0]}:${text}`);
  assert.deepEqual(texts, [
    "n:const",
    "n:a",
    "p:=",
    "n:b",
    "p:/",
    "n:c",
    "p:/",
    's:"d"',
    "p:;",
    "c:/* e */",
    "n:f",
    "p:(",
    "t:`g",
    "p:${",
    "n:h",
    "p:(",
    "p:{",
    "n:i",
    "p::",
    "t:`j",
    "p:${",
    "n:k",
    "p:}",
    "t:`",
    "p:}",
    "p:)",
    "p:}",
    "t:l`",
    "p:,",
    'r:/m"[/]n/u',
    "p:)",
    "p:;",
    "c:// o",
    "n:x",
    "p:=",
    "n:y",
    "p:++",
    "p:??",
    "n:1_0.5e-3",
    "p:;",
  ]);
});

test("declarations and functions are found with their names, spans and parameters", () => {
  const source = `export const A = 1, { b, c: [d] } = e,
  F = <T>(x: Map<T, 1>, { y }: Z = {}): x is T => { return 1; };
export default class G<T> extends H {
  constructor(readonly i: 1) { super(); } async *j<K>(k: K): Promise<{ l: 1 }> {} }
type M = { n: 1 } | (() => void);
async function* o<P extends { q: 1 }>(...r: P[]): AsyncGenerator<P, void> { yield* s; }
if (t) { u(); }
interface V { w(x: 1): void }`;
  const code = codeOf(tokenize(source));
  assert.deepEqual(
    topLevel(code).map(({ kind, names }) => `${kind} ${names.join(" ")}`),
    ["const A b d F", "class G", "type M", "function o", "statement ", "interface V"],
  );
  const found = functionsOf(code)
    .filter((one) => one.braced)
    .map(({ name, parameters }) => `${name} ${parameters}`);
  assert.deepEqual(found, ["F 2", "constructor 1", "j 1", "o 1"]);
});

describe("loading is watched", () => {
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-shape-"));
  after(() => rmSync(folder, { recursive: true }));
  const load = (name: string, text: string, timeoutMs?: number) => {
    writeFileSync(join(folder, name), text);
    return loadAlone(join(folder, name), timeoutMs);
  };

  test("each thing that a module reaches for, prints or adds while it loads is reported", () => {
    const report = load(
      "busy.mts",
      `export const a = new Response(""), b = crypto.randomUUID(), c = typeof fetch;
      clearTimeout(setTimeout(() => {}, 1)); AbortSignal.timeout(1).aborted; Date.now();
      process.env["X"]; (globalThis as { added?: number }).added = 1;
      process.stdout.write("hello"); export const late = () => console;`,
    );
    const expected = [
      "AbortSignal.timeout",
      "Date.now",
      "Response",
      "crypto",
      "fetch",
      "process.env",
      "process.stdout",
      "setTimeout",
    ];
    assert.deepEqual(report, {
      touched: expected,
      added: ["added"],
      exported: 4,
      stdout: "hello",
      status: 0,
      signal: null,
    });
  });

  test("a module that keeps the process alive does not end by itself", () => {
    assert.equal(
      load("alive.mts", "export const held = setInterval(() => {}, 1000);", 1500).signal,
      "SIGKILL",
    );
  });

  test("a quiet module gives an empty report", () => {
    assert.deepEqual(load("quiet.mts", "export const a = () => fetch, b = new TextEncoder();"), {
      touched: [],
      added: [],
      exported: 2,
      stdout: "",
      status: 0,
      signal: null,
    });
  });
});

test("the book stands beside its tests", () => assert.ok(existsSync(FILE)));
