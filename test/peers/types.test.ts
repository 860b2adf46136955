// mcp-raw.ts in other people's projects, its types from the outside, and its
// wire types beside the official ones.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { DENO, FILE, PEERS, ROOT, TYPESCRIPT, run } from "./kit.ts";
import { generate } from "./spec-types.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-types-"));
after(() => rmSync(folder, { recursive: true }));

const STRICT = {
  target: "es2023",
  module: "nodenext",
  moduleDetection: "force",
  noEmit: true,
  declaration: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  erasableSyntaxOnly: true,
  isolatedDeclarations: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  typeRoots: [`${PEERS}/node_modules/@types`],
};
const PROJECTS = {
  "with the DOM library and no Node types": { lib: ["es2023", "dom"], types: [] },
  "with Node's types and no DOM library": { lib: ["es2023"], types: ["node"] },
  "with both": { lib: ["es2023", "dom"], types: ["node"] },
} as const;

/** Writes a project and gives the compiler's complaints, which begin with the file's name. */
async function complaints(
  compiler: string,
  files: Record<string, string>,
  options: object,
): Promise<string[]> {
  const project = mkdtempSync(join(folder, "project-"));
  writeFileSync(join(project, "package.json"), '{ "type": "module" }');
  for (const [name, source] of Object.entries(files)) writeFileSync(join(project, name), source);
  const config = { compilerOptions: { ...STRICT, ...options }, include: ["*.ts"] };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
  const args = [compiler, "--pretty", "false", "-p", "."];
  const { stdout, code } = await run(process.execPath, args, { cwd: project, timeout: 120_000 });
  return code === 0 ? [] : stdout.trim().split("\n");
}

describe("mcp-raw.ts type-checks alone in a stranger's strict project", () => {
  const source = readFileSync(FILE, "utf8");
  for (const [version, compiler] of Object.entries(TYPESCRIPT)) {
    for (const [where, options] of Object.entries(PROJECTS)) {
      test(`${where}, TypeScript ${version}`, async () => {
        assert.deepEqual(await complaints(compiler, { "mcp-raw.ts": source }, options), []);
      });
    }
  }

  test("with the flags of the README, and those alone", async () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const [, flags = ""] = /npx -p typescript tsc (--noEmit --strict .*?) mine\.ts/.exec(readme) ?? [];
    const project = mkdtempSync(join(folder, "readme-"));
    writeFileSync(join(project, "package.json"), '{ "type": "module" }');
    cpSync(FILE, join(project, "mcp-raw.ts"));
    for (const compiler of Object.values(TYPESCRIPT)) {
      const args = [compiler, ...flags.split(" "), "mcp-raw.ts"];
      const { stdout, code } = await run(process.execPath, args, { cwd: project, timeout: 120_000 });
      assert.deepEqual([flags.length > 40, code, stdout], [true, 0, ""]);
    }
  });

  test("with Deno's own checker", async (t) => {
    if (DENO === undefined) return t.skip("Deno is not installed on this platform");
    const project = join(folder, "deno");
    mkdirSync(project);
    cpSync(FILE, join(project, "mcp-raw.ts"));
    const env = { DENO_DIR: join(folder, "deno-cache"), DENO_NO_UPDATE_CHECK: "1" };
    const { stderr, code } = await run(DENO, ["check", "--no-config", "--quiet", "mcp-raw.ts"], {
      cwd: project,
      env,
      timeout: 120_000,
    });
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });
});

describe("the strict project is strict: each option sees its fault", () => {
  const faults: Record<string, [option: string, source: string, code: RegExp]> = {
    "a.ts": ["strict", "export const f = (x): void => { x; };", /TS7006/],
    "b.ts": [
      "noUncheckedIndexedAccess",
      "export const f = (x: string[]): number => x[0].length;",
      /TS2532/,
    ],
    "c.ts": [
      "exactOptionalPropertyTypes",
      "export const f: { a?: string } = { a: undefined };",
      /TS2375|TS2412/,
    ],
    "d.ts": ["erasableSyntaxOnly", "export enum E { A }", /TS1294/],
    "e.ts": ["isolatedDeclarations", "export const f = () => Date.now();", /TS9007|TS9013/],
    "f.ts": [
      "verbatimModuleSyntax",
      'import { NetConnectOpts } from "node:net"; export type N = NetConnectOpts;',
      /TS1484/,
    ],
    "g.ts": [
      "lib es2023",
      "export const f: unknown = Promise.withResolvers<void>();",
      /TS2550|TS2339/,
    ],
  };
  for (const [version, compiler] of Object.entries(TYPESCRIPT)) {
    test(`TypeScript ${version}`, async () => {
      const sources = Object.entries(faults).map(([name, [, source]]) => [name, source] as const);
      const { "e.ts": declarations, ...rest } = Object.fromEntries(sources);
      const found = [
        ...(await complaints(compiler, rest, PROJECTS["with both"])),
        // 5.9 looks at declarations only where all else is well
        ...(await complaints(compiler, { "e.ts": declarations! }, PROJECTS["with both"])),
      ];
      for (const [name, [option, , code]] of Object.entries(faults)) {
        assert.match(found.filter((line) => line.startsWith(name)).join("\n"), code, option);
      }
    });
  }
});

describe("the types from the outside", () => {
  let official: Record<string, string[]> = {};
  before(() => {
    official = generate();
  });

  for (const [version, compiler] of Object.entries(TYPESCRIPT)) {
    test(`what must compile does, what must not does not, TypeScript ${version}`, async () => {
      const { stdout } = await run(
        process.execPath,
        [compiler, "--pretty", "false", "-p", `${PEERS}/types`],
        { timeout: 120_000 },
      );
      // What is wrong inside the file itself is told above.
      assert.deepEqual(
        stdout
          .trim()
          .split("\n")
          .filter((line) => line !== "" && !line.startsWith("mcp-raw.ts(")),
        [],
      );
    });
  }

  test("each exported type that bears a name of the specification is compared with it", () => {
    const source = readFileSync(FILE, "utf8");
    const table = readFileSync(`${PEERS}/types/wire.ts`, "utf8");
    const exported = [...source.matchAll(/^export (?:interface|type) (\w+)/gm)].map(
      (found) => found[1]!,
    );
    const rows = [
      ...table.matchAll(
        /^(?:export type (\w+) = True<(?:Same|Mutual)<|\/\/ (\w+): differs, because \S)/gm,
      ),
    ].map((found) => found[1] ?? found[2]!);
    const missing = exported.filter(
      (name) => official["2026-07-28"]!.includes(name) && !rows.includes(name),
    );
    assert.deepEqual([...new Set(missing)], []);
    assert.ok(rows.length >= 5);
  });
});
