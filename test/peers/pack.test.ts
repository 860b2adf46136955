// The npm package: packed from a clean copy, installed without a network into an empty folder,
// and there run, imported, type-checked and bundled.

import { build, transform } from "esbuild";
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { after, before, describe, test } from "node:test";
import { PEERS, ROOT, RUNTIMES, TYPESCRIPT, run, type Outcome, type Runtime } from "./kit.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-pack-"));
after(() => rmSync(folder, { recursive: true }));
const copy = join(folder, "copy");
const user = join(folder, "user");
const installed = join(user, "node_modules/mcp-raw");
const link = join(user, "node_modules/.bin/mcp-raw");

// An npm that knows nothing of this machine: no settings, and a cache with nothing in it.
const NPM = {
  npm_config_cache: join(folder, "cache"),
  npm_config_userconfig: join(folder, "npmrc"),
  npm_config_update_notifier: "false",
};
const NODES: readonly Runtime[] = [
  { name: `Node ${parseInt(process.versions.node)}`, command: process.execPath, args: () => [] },
  ...RUNTIMES.filter(({ name }) => /^Node \d+$/.test(name)),
];
const OTHERS = RUNTIMES.filter(({ name }) => name === "Bun" || name === "Deno");

const HELLO = `import { server, text } from "mcp-raw";
const app = server({ name: "hello", version: "1.0.0", tools: [{
  name: "add",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  handler: ({ a, b }) => text(\`\${a + b}\`),
}] });
await app.stdio();
`;
// What a client with that server must see, and nothing beside it.
const SUM = { code: 0, stdout: "42\n", stderr: "" };
const NPX = ["npx", "--no-install", "mcp-raw"] as const;
const ADD = ["call", "add", "a=2", "b=40", "--"];

function seen({ code, stdout, stderr }: Outcome): typeof SUM {
  return { code: code ?? -1, stdout, stderr };
}
function write(name: string, content: string): string {
  writeFileSync(join(user, name), content);
  return name;
}
/** Every file under a folder, by its path from there. */
function files(under: string): string[] {
  return readdirSync(under, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(under, join(entry.parentPath, entry.name)))
    .sort();
}
/** Copies what git would give; the packages that are installed here appear beside it. */
function cleanCopy(to: string, packages = ["node_modules", "test/peers/node_modules"]): void {
  const made = /^(?:\.git|node_modules|\.generated|json-schema-suite|mcp-raw(?:\.js|\.d\.ts|-.*))$/;
  const filter = (path: string): boolean => path === ROOT || !made.test(basename(path));
  cpSync(ROOT, to, { recursive: true, filter });
  for (const one of packages) symlinkSync(join(ROOT, one), join(to, one));
}
const pack = (project: string): Promise<Outcome> =>
  run("npm", ["pack", "--pack-destination", folder], { cwd: project, env: NPM, timeout: 120_000 });
const tarballs = (): string[] => readdirSync(folder).filter((name) => name.endsWith(".tgz"));

/** Runs a command in the user's folder, where `node` is the one named. */
function shell(node: string, command: string, ...args: string[]): Promise<Outcome> {
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  return run(command, args, { cwd: user, env: { ...NPM, PATH }, timeout: 60_000 });
}

before(async () => {
  cleanCopy(copy);
  writeFileSync(join(copy, "README.fr.md"), "# mcp-raw\n");
  writeFileSync(join(copy, "notes.md"), "not for the package\n");
  writeFileSync(join(copy, "mcp-raw.js"), "of an earlier run\n");
  mkdirSync(user);
  writeFileSync(NPM.npm_config_userconfig, "");
  const packed = await pack(copy);
  assert.equal(packed.code, 0, packed.stderr + packed.stdout);
  // With --prefix npm installs here, and not in a folder above that happens to be a project.
  const install = ["install", "--offline", "--prefix", ".", join(folder, tarballs()[0] ?? "none")];
  const { code, stderr } = await run("npm", install, { cwd: user, env: NPM, timeout: 60_000 });
  assert.equal(code, 0, stderr);
});

describe("what is packed", () => {
  test("the file, its JavaScript and declarations, READMEs, licence, examples; no more", () => {
    const examples = files(join(copy, "examples")).map((name) => join("examples", name));
    const readmes = readdirSync(copy).filter((name) => name.startsWith("README"));
    const own = ["LICENSE", "mcp-raw.d.ts", "mcp-raw.js", "mcp-raw.ts", "package.json"];
    assert.ok(readmes.includes("README.fr.md") && examples.length > 0);
    assert.deepEqual(files(installed), [...own, ...readmes, ...examples].sort());
  });

  test("it needs no other package", () => {
    const modules = readdirSync(join(user, "node_modules")).sort();
    assert.deepEqual(modules, [".bin", ".package-lock.json", "mcp-raw"]);
  });
});

describe("nothing is packed", () => {
  test("without the compiler, and one is told what installs it", async () => {
    const project = join(folder, "no-compiler");
    cleanCopy(project, ["node_modules"]);
    const { code, stderr } = await pack(project);
    assert.notEqual(code, 0);
    assert.match(stderr, /not packed: the compiler in test\/peers .* `npm run check` installs it/);
    assert.equal(tarballs().length, 1);
  });

  for (const [what, source, said] of [
    ["what does not type-check", "//\nexport const one: string = 1;\n", /\(2,14\): error TS2322/],
    ["what has types that are not blank", "//\nexport enum E { A }\n", /enum is not supported/],
    ["what has no comment in line 1", "export const one = 1;\n", /line 1 .* is not a comment/],
  ] as const) {
    test(`of ${what}`, async () => {
      const project = mkdtempSync(join(folder, "faulty-"));
      cleanCopy(project);
      writeFileSync(join(project, "mcp-raw.ts"), source);
      const { code, stderr } = await pack(project);
      assert.notEqual(code, 0);
      assert.match(stderr, said);
      assert.equal(tarballs().length, 1);
    });
  }
});

/** Where JavaScript is not its TypeScript with blanks for types; line 1 apart. */
function moved(typescript: string, javascript: string): string[] {
  const [, ...from] = typescript.split("\n");
  const [, ...to] = javascript.split("\n");
  if (from.length !== to.length) return [`${from.length + 1} lines became ${to.length + 1}`];
  // A parenthesis moves to the line of its arrow; a semicolon keeps two statements apart.
  const same = (line: string, index: number) =>
    line.length === from[index]?.length &&
    [...line].every((char, column) => char === from[index]?.[column] || " ;)".includes(char));
  return to.flatMap((line, index) => (same(line, index) ? [] : [`${index + 2}: ${line}`]));
}
/** The same program whatever its layout, as a stripper that shares no code with Node's reads it. */
async function printed(source: string, loader: "ts" | "js"): Promise<string> {
  const { code } = await transform(source.replace(/^#!.*/, ""), {
    ...{ loader, target: "es2023", minifyWhitespace: true, legalComments: "none" },
  });
  return code;
}

describe("mcp-raw.js is mcp-raw.ts without its types", () => {
  let [typescript, javascript] = ["", ""];
  before(() => {
    typescript = readFileSync(join(installed, "mcp-raw.ts"), "utf8");
    javascript = readFileSync(join(installed, "mcp-raw.js"), "utf8");
    assert.equal(typescript, readFileSync(join(copy, "mcp-raw.ts"), "utf8"));
  });

  test("line for line and column for column", () => {
    assert.deepEqual(moved(typescript, javascript), []);
    const exported = (source: string): string[] =>
      source.split("\n").flatMap((line, index) => {
        const [, name] = /^export (?:async )?(?:function\*?|class|const) (\w+)/.exec(line) ?? [];
        return name === undefined ? [] : [`${index + 1} ${name}`];
      });
    assert.ok(exported(typescript).length > 50);
    assert.deepEqual(exported(javascript), exported(typescript));
  });

  test("it is the same program", async () => {
    assert.equal(await printed(javascript, "js"), await printed(typescript, "ts"));
  });

  test("line 1 is for the shell, in place of a comment", () => {
    assert.equal(javascript.split("\n")[0], "#!/usr/bin/env node");
    assert.match(typescript.split("\n")[0] ?? "", /^\/\/ /);
  });

  test("the comparisons see a missing line, a changed name, a blank statement", async () => {
    const lines = javascript.split("\n");
    assert.deepEqual(moved(typescript, lines.toSpliced(1, 1).join("\n")), [
      `${lines.length} lines became ${lines.length - 1}`,
    ]);
    const renamed = javascript.replace("function readMessage", "function readMassage");
    assert.equal(moved(typescript, renamed).length, 1);
    const blank = javascript.replace("void start();", "             ");
    assert.deepEqual(moved(typescript, blank), []);
    assert.notEqual(await printed(blank, "js"), await printed(typescript, "ts"));
  });

  test("a stack trace names the line and the column of mcp-raw.ts", async () => {
    const file = write("stack.mjs", `import { readMessage } from "mcp-raw";
      try { readMessage(1); } catch (error) { console.log(error.stack); }`);
    const { stdout } = await shell(process.execPath, process.execPath, file);
    const [, line, column] = /mcp-raw\.js:(\d+):(\d+)/.exec(stdout) ?? [];
    const named = typescript.split("\n")[Number(line) - 1]?.slice(Number(column) - 1);
    assert.match(named ?? stdout, /^new ProtocolError\(INVALID_REQUEST/);
  });
});

describe("the command", () => {
  test("npx mcp-raw demo", async () => {
    const { code, stdout, stderr } = await shell(process.execPath, ...NPX, "demo");
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
    assert.match(stdout, /"method":"tools\/call"/);
  });

  for (const { name, command } of NODES) {
    test(`the link in node_modules/.bin runs, and starts itself, on ${name}`, async (t) => {
      if (command === undefined) return t.skip(`${name} is not installed on this platform`);
      for (const use of [["demo"], ["demo", "--http"]]) {
        const { code, stdout, stderr } = await shell(command, link, ...use);
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
        assert.match(stdout, /"method":"tools\/call"/);
      }
      const version = await shell(command, link, "--version");
      assert.match(version.stdout, /\d+\.\d+\.\d+/);
    });
  }

  test("one calls a tool of another", async () => {
    const outcome = await shell(process.execPath, ...NPX, ...ADD, ...NPX, "serve", "--stdio");
    assert.deepEqual(seen(outcome), SUM);
  });
});

describe("an import", () => {
  before(() => void write("hello.mjs", HELLO));

  for (const runtime of [...NODES, ...OTHERS]) {
    test(`gives a server and does not start the command line, on ${runtime.name}`, async (t) => {
      const { name, command } = runtime;
      if (command === undefined) return t.skip(`${name} is not installed on this platform`);
      // Deno finds what is installed through package.json, which is a configuration too.
      const args = runtime.args("stdio").map((one) => (one === "--no-config" ? "--no-lock" : one));
      const hello = [command, ...args, "hello.mjs"];
      assert.deepEqual(seen(await shell(process.execPath, link, ...ADD, ...hello)), SUM);
    });
  }

  test("mcp-raw/mcp-raw.ts is the source, for what runs TypeScript", async (t) => {
    const bun = OTHERS.find(({ name }) => name === "Bun")?.command;
    if (bun === undefined) return t.skip("Bun is not installed on this platform");
    write("source.mjs", HELLO.replace('"mcp-raw"', '"mcp-raw/mcp-raw.ts"'));
    const outcome = await shell(process.execPath, link, ...ADD, bun, "run", "source.mjs");
    assert.deepEqual(seen(outcome), SUM);
  });

  test("a bundle that holds the package does not start the command line", async () => {
    const outfile = join(user, "bundle/server.mjs");
    await build({
      ...{ entryPoints: [join(user, "hello.mjs")], outfile, logLevel: "silent" },
      ...{ bundle: true, platform: "node", format: "esm", target: "node20" },
    });
    for (const { command } of NODES) {
      if (command === undefined) continue;
      assert.deepEqual(seen(await shell(process.execPath, link, ...ADD, command, outfile)), SUM);
    }
  });
});

// Compiles when the types arrive and are exact; each line that must not compile would otherwise
// be an error itself.
const CONSUMER = `import {
  server, text, tool, ProtocolError, type CallToolResult, type Methods,
} from "mcp-raw";

type Same<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

export const app = server({ name: "types", version: "1.0.0", tools: [{
  name: "add",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" }, unit: { enum: ["mm", "cm"] } },
    required: ["a", "b"],
  },
  handler: ({ a, b, unit }) => {
    const number: Same<typeof a, number> = true;
    const optional: Same<typeof unit, "mm" | "cm" | undefined> = true;
    void [number, optional];
    // @ts-expect-error a number has no characters
    a.charAt(0);
    return text(String(a + b));
  },
}] });

tool({
  name: "greet",
  inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
  // @ts-expect-error the schema has no such property
  handler: ({ nmae }) => text(String(nmae)),
});
// @ts-expect-error a text is no number
text(42);

export const result: CallToolResult = text("x");
export const code: number = new ProtocolError(-32600, "no").code;

declare module "mcp-raw" {
  interface Methods { "example/double": { params: { n: number }; result: Row } }
}
interface Row { n: number; resultType: string; [key: string]: unknown }
export const row: Methods["example/double"]["params"] = { n: 1 };
export const known: Methods["tools/call"]["params"]["name"] = "add";
`;

describe("a strict consumer type-checks with the declarations of the package", () => {
  const resolutions = {
    nodenext: { module: "nodenext", moduleResolution: "nodenext" },
    bundler: { module: "esnext", moduleResolution: "bundler" },
  };
  const worlds = {
    "the DOM library": { lib: ["es2023", "dom"], types: [] },
    "Node's types": { lib: ["es2023"], types: ["node"] },
  };
  /** The compiler's complaints about one file, and about the declarations that it reads. */
  async function complaints(compiler: string, file: string, options: object): Promise<string[]> {
    const compilerOptions = {
      ...{ target: "es2023", strict: true, noUncheckedIndexedAccess: true, noEmit: true },
      ...{ exactOptionalPropertyTypes: true, verbatimModuleSyntax: true, skipLibCheck: false },
      ...{ typeRoots: [`${PEERS}/node_modules/@types`], ...options },
    };
    const project = write("tsconfig.json", JSON.stringify({ compilerOptions, files: [file] }));
    const args = [compiler, "--pretty", "false", "-p", project];
    const { code, stdout } = await run(process.execPath, args, { cwd: user, timeout: 120_000 });
    return code === 0 ? [] : stdout.trim().split("\n");
  }

  for (const [version, compiler] of Object.entries(TYPESCRIPT)) {
    for (const [resolution, how] of Object.entries(resolutions)) {
      for (const [world, where] of Object.entries(worlds)) {
        test(`TypeScript ${version}, ${resolution}, with ${world}`, async () => {
          write("consumer.mts", CONSUMER);
          assert.deepEqual(await complaints(compiler, "consumer.mts", { ...how, ...where }), []);
        });
      }
      test(`a wrong use is seen: TypeScript ${version}, ${resolution}`, async () => {
        write("wrong.mts", HELLO.replace("a + b", "a.length"));
        const options = { ...how, ...worlds["Node's types"] };
        const found = await complaints(compiler, "wrong.mts", options);
        assert.match(found.join("\n"), /^wrong\.mts\(9,\d+\): error TS2339: .*'length'.*'number'/);
        assert.equal(found.length, 1);
      });
    }
  }
});
