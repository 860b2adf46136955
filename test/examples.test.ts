// Runs every example and compares what it prints with its "// prints:" lines.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../examples/", import.meta.url));
/** Lines of a lesson; those named are one idea that takes more. */
const MAX_LINES = 40;
const LONGER: Readonly<Record<string, number>> = { "05-files.ts": 55, "09-agent.ts": 55 };
/** Lines of what is no lesson but a part to use, or a program to run. */
const MAX_PART = 400;

/** Standard output of a program that ends by itself, with nothing on its input. */
function outputOf(program: string, examples: readonly string[] = []): Promise<string> {
  const child = spawn(process.execPath, [...process.execArgv, program], {
    stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, EXAMPLES: JSON.stringify(examples) },
  });
  let [text, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk) => (errors += chunk));
  return new Promise((resolve, reject) => {
    child.on("close", (code) => code === 0 && errors === "" ? resolve(text)
      : reject(new Error(`${program} ended with exit code ${code}: ${errors}`)));
  });
}
/** What each of several programs prints, which run in one process. */
async function outputsOf(files: readonly string[]): Promise<Map<string, string>> {
  const runner = fileURLToPath(new URL("run-examples.ts", import.meta.url));
  const all = await outputOf(runner, files.map((file) => folder + file));
  return new Map(all.split("\0").slice(1).map((part) => {
    const [file = "", ...lines] = part.split("\n");
    return [file.slice(folder.length), lines.join("\n")];
  }));
}

const files = [...readdirSync(folder),
  ...readdirSync(`${folder}extensions`).map((file) => `extensions/${file}`)]
  .filter((file) => file.endsWith(".ts"));
const isLesson = (file: string) => /^\d/.test(file);
assert.ok(files.length >= 18, "there are examples");

// What serves stdio ends its process; what is no lesson is a program only where it is started.
const together = files.filter((file) => isLesson(file) && file !== "03-hello.ts");
const outputs = outputsOf(together);
outputs.catch(() => {}); // each test hears of it

describe("Examples", { concurrency: 2 }, () => {
  for (const file of files) {
    const source = readFileSync(folder + file, "utf8");
    test(`examples/${file} says what you will learn and prints what it says it prints`, async () => {
      assert.match(source, /^\/\/ You will learn: /);
      const lines = source.trimEnd().split("\n");
      const most = LONGER[file] ?? (isLesson(file) ? MAX_LINES : MAX_PART);
      assert.ok(lines.length <= most, `${lines.length} lines`);
      assert.deepEqual(lines.filter((line) => line.length > 100), [], "100 columns");
      const foreign = source.match(/(?<=from ")(?!node:|(?:\.\.\/)+mcp-raw\.ts"|\.\/)[^"]*/g);
      assert.deepEqual(foreign, null, "nothing but Node, mcp-raw.ts and neighbours is imported");
      const promised = [...source.matchAll(/^ *\/\/ prints: (.*)$/gm)].map(([, line]) => `${line}\n`);
      if (promised.length === 0 && !isLesson(file)) await import(folder + file); // only a part
      else {
        const printed = together.includes(file) ? (await outputs).get(file)
          : await outputOf(folder + file);
        assert.equal(printed, promised.join(""));
      }
    });
  }

  test("the examples are numbered, each number once", () => {
    const numbered = files.filter(isLesson);
    assert.deepEqual(numbered.map((file) => Number(/^(\d\d)-[a-z-]+\.ts$/.exec(file)?.[1])),
      numbered.map((_, index) => index + 1));
  });
});
