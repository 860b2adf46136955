// Patterns: decided in bounded time, as the platform would decide them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedPattern, compileSchema } from "../mcp-raw.ts";

test("SCH-14: a pattern that can explode is decided, not refused " +
  "(spec basic#composition-keyword-resource-use)", () => {
  const began = performance.now();
  for (const [pattern, text, expected] of [
    ["^(a+)+$", `${"a".repeat(5000)}!`, false], ["^(a|a)*$", `${"a".repeat(3000)}!`, false],
    ["(x+x+)+y", "x".repeat(3000), false], ["a*a*a*a*b", "a".repeat(5000), false],
    ["^[a-z0-9]+(-[a-z0-9]+)*$", `${"ab-".repeat(2000)}c`, true], ["\\s+$", `${" ".repeat(5000)}x`,
      false],
    ["^(?=.*[A-Z])(?=.*\\d).{8,}$", `${"a".repeat(3000)}A1`, true],
    ["((a{0,50}){0,50}){0,50}b", "a".repeat(300), false],
  ] as const) {
    assert.equal(boundedPattern(pattern)(text), expected, pattern);
    assert.equal(compileSchema({ pattern }, { patterns: boundedPattern })(text) === undefined,
      expected);
  }
  assert.ok(performance.now() - began < 2000);
});

test("the walk over positions agrees with the platform", () => {
  for (const part of ["a", "ab|b", "[^a]", "\\w", "\\bb", "b\\B", "^a", "b$", "(?=a).", "(?!a)b",
    "(?:a|)",
    "a{2}", "a{2,}", "b{1,2}", "a*?b", "(?<n>a)", ".", "\\u{1F600}", "\\uD83D\\uDE00", "\\p{Lu}",
      "[\\]a]"]) {
    const pattern = `^(?:(?:${part})+,?)+$`;
    for (const text of ["", "a", "b", "ab", "ba,b", "aa", "aab,a", "😀", "A,a", "]", "bb,",
      "a\nb"]) {
      assert.equal(boundedPattern(pattern)(text), new RegExp(pattern, "u").test(text),
        `${part} ${text}`);
    }
  }
});

test("look-behind and backreferences go while their ways are few", () => {
  assert.equal(boundedPattern("(?<=a)b\\b")("ab"), true);
  assert.equal(boundedPattern("^(a|b)\\1$")("aa"), true);
  assert.equal(boundedPattern("^\\d{3}\\-\\d{4}$")("123-4567"), true);
  assert.throws(() => boundedPattern("^(a+)\\1+(b|c)*$"), { name: "Error",
    message: "the pattern ^(a+)\\1+(b|c)*$ can take hours" });
  assert.throws(() => boundedPattern("^(.*)\\1$")("a".repeat(1_000_000)), RangeError);
  assert.throws(() => boundedPattern("("), SyntaxError);
});

test("the budget of a validation covers its patterns", () => {
  const check = compileSchema({ items: { pattern: "^(a+)+$" } }, { patterns: boundedPattern,
    maxSteps: 100_000 });
  assert.equal(check(["aaa", "a"]), undefined);
  assert.deepEqual(check(Array(1000).fill("a".repeat(1000))),
    [{ path: "", message: "expected a value that can be checked, but it takes over 100000 steps" }]);
});
