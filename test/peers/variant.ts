// Variants of mcp-raw.ts without some of its chapters, in a folder of their own with the tests of
// the repository: whether they type-check, and which tests pass on them.

import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { FILE, PEERS, ROOT, TYPESCRIPT, run } from "./kit.ts";

export const SOURCE: string = readFileSync(FILE, "utf8");

/** A folder with that text as mcp-raw.ts, and the tests. */
export function variantOf(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-variant-"));
  after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "mcp-raw.ts"), text);
  for (const name of ["test", "examples"]) {
    cpSync(`${ROOT}/${name}`, join(folder, name), {
      recursive: true,
      filter: (path) => !path.startsWith(PEERS),
    });
  }
  cpSync(`${ROOT}/package.json`, join(folder, "package.json"));
  symlinkSync(`${ROOT}/node_modules`, join(folder, "node_modules"));
  return folder;
}
/** Runs the type checker over files of a folder. */
export function typeCheck(folder: string, include: string) {
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      extends: `${ROOT}/tsconfig.json`,
      compilerOptions: { typeRoots: [`${PEERS}/node_modules/@types`] },
      include: [include],
      exclude: [],
    }),
  );
  const args = [TYPESCRIPT["7.0"], "--pretty", "false", "-p", "."];
  return run(process.execPath, args, { cwd: folder, timeout: 300_000 });
}
/** What it says of mcp-raw.ts there. */
export async function typeFaults(folder: string): Promise<[code: number | null, text: string]> {
  const { stdout, code } = await typeCheck(folder, "mcp-raw.ts");
  return [code, stdout];
}
/** Runs the test files of that name there. */
export async function testsOf(folder: string, names: RegExp) {
  const files = readdirSync(join(folder, "test")).filter((name) => names.test(name));
  const args = ["--import", "tsx", "--test", "--test-reporter=tap",
    ...files.map((name) => `test/${name}`)];
  const { stdout, code } = await run(process.execPath, args, { cwd: folder, timeout: 240_000 });
  const [, passed = "0"] = /^# pass (\d+)$/m.exec(stdout) ?? [];
  return { files: files.length, code, passed: Number(passed),
    failed: stdout.match(/^ *not ok .*$/gm) ?? [] };
}
