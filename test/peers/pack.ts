// Makes what the npm package holds beside mcp-raw.ts: mcp-raw.js and mcp-raw.d.ts. npm runs it
// before it packs (`prepack`). It lives here because all that it runs is installed here.
//
// Node strips no types under node_modules, hence the JavaScript. Node's own stripper makes it: it
// puts blanks in place of types, so lines and columns stay those of mcp-raw.ts, in stack traces
// and in links alike. (esbuild and tsc print the program anew, with other lines.) Line 1, a
// comment, becomes the line by which a shell finds Node.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { FILE, ROOT, RUNTIMES, TYPESCRIPT } from "./kit.ts";

const SHEBANG = "#!/usr/bin/env node";

process.exitCode = main();

function main(): number {
  const compiler = TYPESCRIPT["7.0"];
  if (!existsSync(compiler)) {
    return fail("the compiler in test/peers is not installed; `npm run check` installs it");
  }
  const node = stripper();
  if (node === undefined) {
    return fail("no Node here strips types; run npm with Node 22.13 or newer");
  }
  const script = strip(node, readFileSync(FILE, "utf8"));
  if (script === undefined || !declare(compiler)) return 1; // both have said why
  writeFileSync(join(ROOT, "mcp-raw.js"), script);
  return 0;
}

// The Node that the lock file names comes first: then a package does not depend on who packs it.
function stripper(): string | undefined {
  const locked = RUNTIMES.find(({ name }) => name === "Node 24")?.command;
  return locked ?? ("stripTypeScriptTypes" in module ? process.execPath : undefined);
}

function strip(node: string, source: string): string | undefined {
  if (!source.startsWith("//")) {
    fail("line 1 of mcp-raw.ts is not a comment: there is no room for the line of the shell");
    return undefined;
  }
  const program = `
    const { readFileSync } = process.getBuiltinModule("fs");
    const { stripTypeScriptTypes } = process.getBuiltinModule("module");
    process.stdout.write(stripTypeScriptTypes(readFileSync(0, "utf8")));`;
  const { status, stdout } = spawnSync(
    node,
    ["--disable-warning=ExperimentalWarning", "-e", program],
    { input: source, encoding: "utf8", maxBuffer: 2 ** 26, stdio: ["pipe", "pipe", "inherit"] },
  );
  return status === 0 ? stdout.replace(/^.*/, SHEBANG) : undefined;
}

/** Writes mcp-raw.d.ts; the compiler tells on stderr what it does not like. */
function declare(compiler: string): boolean {
  const { status } = spawnSync(
    process.execPath,
    [
      ...[compiler, "--ignoreConfig", FILE, "--declaration", "--emitDeclarationOnly"],
      ...["--outDir", ROOT, "--noEmitOnError", "--strict", "--exactOptionalPropertyTypes"],
      ...["--target", "es2023", "--lib", "es2023", "--module", "nodenext", "--types", "node"],
    ],
    { cwd: ROOT, stdio: ["ignore", 2, "inherit"] },
  );
  return status === 0;
}

function fail(why: string): 1 {
  console.error(`mcp-raw is not packed: ${why}`);
  return 1;
}
