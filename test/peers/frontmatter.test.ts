// The frontmatter of a SKILL.md: what YAML 1.2 says of each text, or a refusal that says where.
// The values are those of the specification; the library yaml gives the same.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readFrontmatter } from "../../examples/extensions/frontmatter.ts";

const fenced = (...lines: string[]) => `---\n${lines.join("\n")}\n---\n\n# Body\n`;
const read = (...lines: string[]): unknown =>
  JSON.parse(JSON.stringify(readFrontmatter(fenced(...lines))));
const refuses = (pattern: RegExp, ...lines: string[]): void =>
  assert.throws(() => readFrontmatter(fenced(...lines)), { name: "Error", message: pattern },
    lines.join("\n"));

describe("Frontmatter (agentskills.io specification#frontmatter)", () => {
  test("the fields of a skill are read as JSON (agentskills.io specification#frontmatter)", () => {
    assert.deepEqual(read("name: pdf-processing",
      "description: Extract PDF text, fill forms, merge files. Use when handling PDFs.",
      "license: Proprietary. LICENSE.txt has complete terms",
      "compatibility: Requires Python 3.14+ and uv",
      "metadata:", "  author: example-org", '  version: "1.0"',
      "allowed-tools: Bash(git:*) Bash(jq:*) Read"), {
      name: "pdf-processing",
      description: "Extract PDF text, fill forms, merge files. Use when handling PDFs.",
      license: "Proprietary. LICENSE.txt has complete terms",
      compatibility: "Requires Python 3.14+ and uv",
      metadata: { author: "example-org", version: "1.0" },
      "allowed-tools": "Bash(git:*) Bash(jq:*) Read",
    });
  });

  test("it is what stands between two lines of three hyphens at the head of the file " +
    "(agentskills.io specification#skill-md-format)", () => {
    assert.deepEqual({ ...readFrontmatter("---\na: 1\n---") }, { a: 1 });
    assert.deepEqual({ ...readFrontmatter("---\na: 1\n---  \nb: 2\n---\n") }, { a: 1 });
    assert.deepEqual({ ...readFrontmatter("\ufeff---\r\na: 1\r\nb: >-\r\n  x\r\n  y\r\n---\r\n") },
      { a: 1, b: "x y" });
    assert.deepEqual({ ...readFrontmatter("---\na: x\n ---\n---\n") }, { a: "x ---" });
    for (const source of ["", "a: 1\n", "\n---\na: 1\n---\n", "---\na: 1\n", "----\na: 1\n---\n",
      "---\na: 1\n----\n", "---\n---\n", " ---\na: 1\n---\n"]) {
      assert.throws(() => readFrontmatter(source), /must begin with a block between --- lines/);
    }
  });

  test("a value without quotes is null, a truth value, a number or a text " +
    "(YAML 1.2.2 §10.3.2)", () => {
    const values: [string, unknown][] = [["~", null], ["null", null], ["NULL", null], ["", null],
      ["nULL", "nULL"], ["true", true], ["False", false], ["tRUE", "tRUE"], ["yes", "yes"],
      ["off", "off"], ["12", 12], ["-0", 0], ["+7", 7], ["010", 10], ["0o17", 15], ["0xfF", 255],
      ["0XFF", "0XFF"], ["0b11", "0b11"], ["1.10", 1.1], ["1.", 1], [".5", 0.5], ["-1.5E3", -1500],
      ["1e", "1e"], ["1_000", "1_000"], ["1.2.3", "1.2.3"], ["12:30:45", "12:30:45"],
      ["2026-07-28", "2026-07-28"], ["x:y", "x:y"],
      ["https://example.com/#a", "https://example.com/#a"],
      ["C# and F#", "C# and F#"], ["-x", "-x"], ["?x", "?x"], [":x", ":x"], ["a - b", "a - b"],
      ["it's \"so\"", "it's \"so\""], ["\\n", "\\n"], ["a, [b] {c}", "a, [b] {c}"],
      ["\u3000\u00a0é\u{1f600}\u3000", "\u3000\u00a0é\u{1f600}\u3000"]];
    for (const [text, value] of values) {
      assert.deepEqual(read(`a: ${text}`), { a: value }, text);
      assert.deepEqual(read(`a:   ${text}   # why`), { a: value }, text);
      assert.deepEqual(read("a:", `- ${text}`), { a: [value] }, text);
    }
  });

  test("what JSON cannot hold is refused (ext-skills skills#frontmatter)", () => {
    for (const text of [".inf", "-.INF", ".NaN", "9007199254740993", "1e999",
      "0xfffffffffffffff"]) {
      refuses(/line 2: JSON cannot hold .* put it in quotes/, `a: ${text}`);
      assert.deepEqual(read(`a: "${text}"`), { a: text });
    }
  });

  test("in quotes everything is text (YAML 1.2.2 §7.3)", () => {
    const values: [string, string][] = [['"12"', "12"], ["'true'", "true"], ["''", ""], ['""', ""],
      ["'it''s'", "it's"], [`'a "b" # c: \\n'`, `a "b" # c: \\n`],
      ['"Use when: always # yes"', "Use when: always # yes"], ['"a\\tb\\n\\"c\\" \\u00e9\\/"',
        'a\tb\n"c" é/'], ["'x'  # why", "x"], ['"x" #', "x"],
      ["'one\n  two'", "one two"], ["'one\n\n  two'", "one\ntwo"],
      ['"one: \n  two" # why', "one: two"]];
    for (const [text, value] of values) {
      assert.deepEqual(read(...`a: ${text}`.split("\n")), { a: value }, text);
    }
    for (const text of ['"one\n  two\n', "'a", '"a', '"a" b', "'a' 'b'", "'a'b",
      '"a"#b', '"a\n"', "'a\nb'"]) {
      refuses(/quotes must close, and nothing may follow them/, ...`a: ${text}`.split("\n"));
    }
    for (const text of ['"\\x41"', '"\\e"', '"\\ "', '"a \\\n  b"', '"a\n\n  b"']) {
      refuses(/of the escapes, only those of JSON/, ...`a: ${text}`.split("\n"));
    }
  });

  test("a text that YAML would read otherwise is sent back for quotes, with its line " +
    "(YAML 1.2.2 §7.3.3)", () => {
    for (const text of ["Use when: always", "always:", "a: b", "- a", "-", "? a", ": a", "{a: 1}",
      "{}", "&a b", "*a", "!a b", "%a", "@a", "`a`", "]", "}", ", a"]) {
      refuses(/^SKILL\.md, line 3: .*in double quotes/, "name: x", `a: ${text}`);
    }
    refuses(/line 4: a key and a colon are expected/, "a: x", "b:", "c");
    refuses(/line 3: .*in double quotes: x\ny:$/s, "a: 1", "b: x", "", "  y:");
  });

  test("a text goes on in lines that are further in (YAML 1.2.2 §7.3.3)", () => {
    assert.deepEqual(read("a: one", "  two", "    three", "", "", " four # why", "b: 1",
      "c:", "  - x", "    y", "d:", "  z", "  # why", "e: 1", " 2"),
      { a: "one two three\n\nfour", b: 1, c: ["x y"], d: "z", e: "1 2" });
    assert.deepEqual(read("a: says", '  "so" and', "  - not", "  [1]"),
      { a: 'says "so" and - not [1]' });
    refuses(/line 3: a key and a colon are expected/, "a: one # why", "  two");
    refuses(/line 4: a key and a colon are expected/, "a: one", "  # why", "  two");
  });

  test("| keeps line breaks, > makes spaces of those between lines of text " +
    "(YAML 1.2.2 §8.1)", () => {
    assert.deepEqual(read("a: |", "  one", "   two # no comment", "", "  three: -", "", "b: x"),
      { a: "one\n two # no comment\n\nthree: -\n", b: "x" });
    assert.deepEqual(read("a: |-  # why", "", "  one", "", "b: >-", " one", " two", "", " three",
      "c: |", "d: |-", "  x"), { a: "\none", b: "one two\nthree", c: "", d: "x" });
    assert.deepEqual(read("a: >", "  one", "  two", "    - list", "    - list", "  three", "", "",
      "    code", "", "  four"),
      { a: "one two\n  - list\n  - list\nthree\n\n\n  code\n\nfour\n" });
    assert.deepEqual(read("a:", "- >-", "  one", "  two", "- |", " x", "b: |", "  last"),
      { a: ["one two", "x\n"], b: "last\n" });
    for (const header of ["|2", ">+", "|-2", "| x", "||", ">-#"]) {
      refuses(/line 2: only \|, \|-, > and >- are known/, `a: ${header}`, "  x");
    }
    refuses(/line 4: a text must be as far in as its first line/, "a: |", "    x", "  y");
    refuses(/line 3: a text must be as far in/, "a: |", "     ", "  y");
  });

  test("lists stand in lines of their own, or in brackets (YAML 1.2.2 §8.2.1, §7.4.1)", () => {
    const lists: [string[], unknown][] = [[["- a", "- 1", "- 'c'"], ["a", 1, "c"]],
      [["  - a", "", "  # why", "  -", "    b: 1", "    c: 2", "  - - d", "    - e"],
        ["a", { b: 1, c: 2 }, ["d", "e"]]],
      [["  - matcher: Bash", "    hooks:", "      - type: command", "        once: true"],
        [{ matcher: "Bash", hooks: [{ type: "command", once: true }] }]],
      [["-", "-"], [null, null]]];
    for (const [lines, value] of lists) {
      assert.deepEqual(read("a:", ...lines, "z: 1"), { a: value, z: 1 });
    }
    const brackets: [string, unknown][] = [["[]", []], ["[ ]", []],
      ["[a, b c , 1]", ["a", "b c", 1]],
      ['["a, b", \'c]\', x:y,] # why', ["a, b", "c]", "x:y"]], ["[\n  a,\n  b\n  ]", ["a", "b"]],
      ["[~, true]", [null, true]]];
    for (const [text, value] of brackets) {
      assert.deepEqual(read(...`a: ${text}`.split("\n")), { a: value }, text);
    }
    for (const text of ["[", "[a", "[a]]", "[a] b", "[a]#b", "[,]", "[a,,b]", "[[a]]", "[{}]",
      "[a: b]", '["a" b]', '["a": b]', "[&a b]", "[- a]", "[a,\n\n  b]", "[a # why\n  ]",
      "[a\n]"]) {
      refuses(/^SKILL\.md, line \d: /, ...`a: ${text}`.split("\n"));
    }
  });

  test("keys are texts, each there once and as far in as the others (YAML 1.2.2 §3.2.1.3)", () => {
    assert.deepEqual(read('"a: b": 1', "'c''d' : 2", "e f: 3", "g:h: 4", "constructor: 5"),
      { "a: b": 1, "c'd": 2, "e f": 3, "g:h": 4, constructor: 5 });
    const odd = readFrontmatter(fenced("__proto__: 1", "a:", "  __proto__: x"));
    assert.equal(JSON.stringify(odd), '{"__proto__":1,"a":{"__proto__":"x"}}');
    refuses(/line 4: a is there twice/, "a: 1", "b: 2", '"a": 3');
    refuses(/line 3: put the key in double quotes: 1/, "a:", "  1: x");
    for (const key of ["true", "~", "<<", "a #b"]) {
      refuses(/put the key in double quotes/, `${key}: 1`);
    }
    for (const lines of [["a: 1", "  b: 2"], ["a:", "    b: 1", "  c: 2"], ["a: 1", "- b"],
      ["a:", "  - b", "  c: 1"], ["a:", "  - b", "   - c: d"], ["a: 'x'", "  y"]]) {
      refuses(/^SKILL\.md, line \d: /, ...lines);
    }
    for (const lines of [["- a"], ["a"], ["# why"], ["'a'"], [""]]) {
      refuses(/must be keys with values/, ...lines);
    }
    assert.deepEqual(read("", "# why", "  a: 1", "  b: 2", ""), { a: 1, b: 2 });
  });

  test("what readers of YAML differ about is refused: tabs, control characters, more documents " +
    "(YAML 1.2.2 §5.1, §9.1.2)", () => {
    for (const line of ["\tb: 1", "b:\t1", "b: 'x\ty'", "b: x\u0000", "b: x\u0085y", "b: x\u2028y",
      "b: x\ry: 1", "b: \ufeffx", "--- x", "...", "... # why"]) {
      refuses(/^SKILL\.md, line 3: a tab, a control character or a second document$/, "a: 1", line);
    }
    for (const line of ["%YAML 1.1", "&a b: 1", "!!str a: 1", "? a", "? a: 1", "[a]: 1",
      "{a: 1}"]) {
      refuses(/^SKILL\.md, line 3: /, "z: 1", line);
    }
  });

  test("what is long or deep is refused, and in little time (ext-skills " +
    "skills#security-considerations)", () => {
    refuses(/longer than 16384 characters/, `a: ${"x".repeat(16_384)}`);
    refuses(/line 2: this is more than 64 columns in/, "- ".repeat(8_000));
    refuses(/quotes must close/, 'a: "', ..." x,".repeat(5_000).split(","));
    refuses(/must be keys with values/, `a${" ".repeat(16_000)}b`);
    const depth = 60;
    const nested = Array.from({ length: depth }, (_, at) => `${" ".repeat(at)}a:`);
    assert.equal(JSON.stringify(read(...nested)),
      `${'{"a":'.repeat(depth)}null${"}".repeat(depth)}`);
  });
});
