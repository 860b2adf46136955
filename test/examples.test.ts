// Runs every example and compares what it prints with its "// prints:" lines.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../examples/", import.meta.url));

/** Standard output of an example that ends by itself, with nothing on its input. */
function outputOf(file: string): Promise<string> {
  const child = spawn(process.execPath, [...process.execArgv, folder + file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  return new Promise((resolve, reject) => {
    child.on("close", (code) =>
      code === 0 ? resolve(text) : reject(new Error(`${file} ended with exit code ${code}`)),
    );
  });
}

const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
assert.ok(files.length > 0, "there are examples");

for (const file of files) {
  const source = readFileSync(folder + file, "utf8");
  test(`examples/${file} says what you will learn and prints what it says it prints`, async () => {
    assert.match(source, /^\/\/ You will learn: /);
    assert.ok(source.trimEnd().split("\n").length <= 40, "an example fits 40 lines");
    const promised = [...source.matchAll(/^ *\/\/ prints: (.*)$/gm)].map(([, line]) => `${line}\n`);
    assert.equal(await outputOf(file), promised.join(""));
  });
}
