// The READMEs: every command, program and transcript in them is tried here, as
// far as that goes without a network, and all of them say the same.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync,
  writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { demoServer, parseArguments } from "../../mcp-raw.ts";
import { run, type Outcome, type World } from "../kit-cli.ts";
import { readBook } from "../shape-model.ts";
import { readmes, withReadmeToc } from "../toc.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILE = join(ROOT, "mcp-raw.ts");
const TSX = ["--import", import.meta.resolve("tsx")];
const MOST_LINES = 150, MOST_LINES_OF_SERVER = 12, MOST_WORDS_BEFORE = 60;

interface Block { language: string; text: string }
interface Section { spans: string[]; numbers: string[]; tables: number[] }
/** What two READMEs in two languages have in common. */
interface Outline { headings: number[]; blocks: Block[]; links: string[]; sections: Section[] }

const FENCES = /^```(\w*)\n([\s\S]*?)^```$/gm;
const all = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([whole, part = whole]) => part);

/** A block without the remarks at the ends of its lines, which are in the reader's language. */
function withoutRemarks({ language, text }: Block): string {
  const remark = { ts: /(?:^|[ ]+)\/\/ .*$/gm, sh: /[ ]+# .*$/gm }[language];
  return remark === undefined ? text : text.replace(remark, "");
}
/** The remark at the end of a line of a shell: "ls   # two files" -> "two files". */
const remarkOf = (line: string): string => / # (.*)$/.exec(line)?.[1] ?? "";

function outlineOf(markdown: string): Outline {
  const blocks = [...markdown.matchAll(FENCES)].map(([, language = "", text = ""]) =>
    ({ language, text }));
  const prose = markdown.replace(FENCES, "").replace(/<!--[\s\S]*?-->/g, "");
  const links = all(prose, /\]\(([^)]+)\)/g).filter((link) => !link.startsWith("README"));
  const sections = prose.split(/^#+ .*$/m).map((section) => {
    const plain = section.replace(/`[^`]+`/g, "").replace(/\]\([^)]+\)/g, "");
    return { spans: all(section, /`([^`]+)`/g).sort(),
      numbers: all(plain, /\d(?:[\d,.]*\d)?/g).sort(),
      tables: all(section, /^\|.*\|$/gm).map((row) => row.split(" | ").length) };
  });
  const headings = all(prose, /^#+(?= )/gm).map((marks) => marks.length);
  return { headings, blocks, links, sections };
}

/** Where a translation says something else; more words may be in code font there. */
function differences(original: string, translation: string): string[] {
  const [ours, theirs] = [outlineOf(original), outlineOf(translation)];
  const faults: string[] = [];
  const same = (what: string, one: unknown, other: unknown) => {
    const [left, right] = [JSON.stringify(one), JSON.stringify(other)];
    if (left !== right) faults.push(`${what}: ${left} here, ${right} there`);
  };
  same("headings", ours.headings, theirs.headings);
  same("links", ours.links, theirs.links);
  same("code", ours.blocks.map(withoutRemarks), theirs.blocks.map(withoutRemarks));
  ours.sections.forEach(({ spans, numbers, tables }, at) => {
    const section = theirs.sections[at];
    same(`numbers in section ${at}`, numbers, section?.numbers);
    same(`tables in section ${at}`, tables, section?.tables);
    const left = [...section?.spans ?? []];
    const lost = spans.filter((span) => {
      const place = left.indexOf(span);
      if (place !== -1) left.splice(place, 1);
      return place === -1;
    });
    same(`lost from section ${at}`, lost, []);
  });
  return faults;
}

/** The commands in the blocks of a shell. */
const commandsOf = (markdown: string): string[] => outlineOf(markdown).blocks
  .filter(({ language }) => language === "sh").flatMap(({ text }) => text.trimEnd().split("\n"));
/** The words of a command, without its remark; a word may be quoted as a whole. */
const wordsOf = (command: string): string[] =>
  [...command.replace(/[ ]+# .*$/, "").matchAll(/'([^']*)'|(\S+)/g)]
    .map(([, quoted, bare = ""]) => quoted ?? bare);

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-readme-"));
after(() => rmSync(folder, { recursive: true }));
const english = readFileSync(join(ROOT, "README.md"), "utf8");
const { blocks } = outlineOf(english);
const isProgram = ({ language }: Block): boolean => language === "ts";
const blockOf = (language: string, at = 0): string =>
  blocks.filter((block) => block.language === language)[at]?.text ?? "";

/** What a reader would have in a folder after following the README. */
function follow(): void {
  const [hello, shop] = [blockOf("ts", 0), blockOf("ts", 1)];
  copyFileSync(FILE, join(folder, "mcp-raw.ts"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "hello.ts"), hello);
  writeFileSync(join(folder, "mine.ts"), hello.replace("app.stdio();", "export default app;"));
  writeFileSync(join(folder, "shop.ts"), shop.replace("listen(3100)", "listen(0)"));
}

/** The words after mcp-raw.ts, for this machine: no fixed port, and programs by their paths. */
function argvOf(command: string, url: string): string[] {
  const words = wordsOf(command.replaceAll("http://127.0.0.1:3100/mcp", url));
  const own = words.slice(words.indexOf("mcp-raw.ts") + 1);
  const dashes = own.indexOf("--");
  const typed = dashes === -1 ? own : own.slice(0, dashes);
  const target = dashes === -1 ? [] : own.slice(dashes);
  const script = target.findIndex((word) => word.endsWith(".ts"));
  return [...typed.map((word) => word === "3100" ? "0" : word), ...target.length === 0 ? []
    : ["--", process.execPath, ...TSX, join(folder, target[script] ?? ""),
      ...target.slice(script + 1)]];
}

type Expected = (outcome: Outcome, remark: string) => void;
const ends = (code: number, stdout: RegExp, stderr = /^/): Expected => (outcome) => {
  assert.match(outcome.stdout, stdout);
  assert.match(outcome.stderr, stderr);
  assert.equal(outcome.code, code, outcome.stderr);
};
const serves = ends(130, /^$/, /serving http:\/\/127\.0\.0\.1:\d+\/mcp until Ctrl-C/);
const untilServing: World = { signal: ["SIGINT", "serving"] };
/** How each command of the README is tried: in which world, and what it does there. */
const TRIALS: readonly [command: RegExp, expected: Expected, world?: World][] = [
  [/^npx tsx mcp-raw\.ts call add a=2 b=40 -- npx tsx hello\.ts/, ({ code, stdout }, remark) =>
    assert.deepEqual([code, stdout], [0, `${remark}\n`])],
  [/^node mcp-raw\.ts serve --http 3100 +#/, serves, untilServing],
  [/^node mcp-raw\.ts serve .* --module mine\.ts/, serves, { ...untilServing,
    locate: async (path) => pathToFileURL(join(folder, path)).href, load: (url) => import(url) }],
  [/^node mcp-raw\.ts call http:/,
    ends(0, /^mcp-raw [^]*\ntools \(\d+\)\n  add\([^]*\nprompts \(/)],
  [/^node mcp-raw\.ts call count to=3 http:/, ends(0, /^Counted to 3\n$/, /3 of 3/)],
  [/^node mcp-raw\.ts call book_table .* http:/, ends(0, /^A table .* for Ada\n$/)],
  [/^node mcp-raw\.ts call --line /, ends(0, /^\{"jsonrpc":"2\.0","id":1,"error":.*\}\n$/)],
];
/** What is tried elsewhere: the demo and runtimes in test/peers; but read here. */
const READ = /^(?:node mcp-raw\.ts demo|deno run .*mcp-raw\.ts serve) /;
/** Programs that are not here; what they are to connect to is. */
const FOREIGN = /^claude mcp add /;

function trialsOf(command: string) {
  return [...TRIALS.filter(([pattern]) => pattern.test(command)),
    ...[READ, FOREIGN].filter((pattern) => pattern.test(command))];
}

/** Runs a program of the folder. */
function program(name: string): Promise<Outcome> {
  const child = spawn(process.execPath, [...TSX, name], { cwd: folder, timeout: 20_000 });
  const outcome = { code: -1, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (part: string) => { outcome.stdout += part; });
  child.stderr.setEncoding("utf8").on("data", (part: string) => { outcome.stderr += part; });
  return new Promise((resolve) => child.on("close", (code) =>
    resolve({ ...outcome, code: code ?? -1 })));
}

const timeless = (log: string): string => log.replace(/^(#\d+ +\+)[ \d]{4,}(?=ms)/gm, "$1    ");

describe("what the README tells to do does what it says", { concurrency: 2 }, () => {
  let [url, close] = ["", async () => {}];
  before(async () => {
    follow();
    ({ url, close } = await demoServer().listen(0));
  });
  after(() => close());

  const commands = commandsOf(english);
  for (const command of commands.filter((command) => !FOREIGN.test(command))) {
    test(wordsOf(command).join(" "), async () => {
      const [, expected, world] = TRIALS.find(([pattern]) => pattern.test(command)) ?? [];
      if (READ.test(command)) parseArguments(argvOf(command, url));
      else expected?.(await run(argvOf(command, url), world), remarkOf(command));
    });
  }
  test("each command is tried in one way, and no other is", () => {
    assert.deepEqual(commands.filter((command) => trialsOf(command).length !== 1), []);
    const unused = TRIALS.filter(([pattern]) => !commands.some((command) => pattern.test(command)));
    assert.deepEqual(unused, []);
  });

  test("the transcript is what is printed, but for times and empty lines", async () => {
    const [command = "", ...printed] = blockOf("console").split("\n");
    assert.match(command, /^\$ npx tsx mcp-raw\.ts call .*--wire/);
    const { code, stdout, stderr } = await run(argvOf(command, url));
    assert.equal(timeless(stderr + stdout).replace(/^\n/gm, ""), timeless(printed.join("\n")));
    assert.equal(code, 0);
  });

  test("the program prints what it says that it prints", async () => {
    const [promised, ...more] = all(blockOf("ts", 1), /^\/\/ prints: (.*)$/gm);
    assert.deepEqual(more, []);
    assert.match(blockOf("ts", 1), /listen\(3100\)/);
    assert.deepEqual(await program("shop.ts"), { code: 0, stdout: `${promised}\n`, stderr: "" });
    for (const { file } of readmes()) {
      const [, shop] = outlineOf(readFileSync(file, "utf8")).blocks.filter(isProgram);
      assert.equal(all(shop?.text ?? "", /^\/\/ [^:：]*[:：] ?(.*)$/gm)[0], promised, file);
    }
  });

  test("the entry for an assistant starts a server that answers", async () => {
    const { mcpServers } = JSON.parse(blockOf("json")) as { mcpServers: Record<string,
      { type: string; command: string; args: string[] }> };
    const { "mcp-raw": { type, command, args: [path, ...args] = [] } = {} } = mcpServers;
    assert.deepEqual([type, command, path], ["stdio", "node", "/path/to/mcp-raw.ts"]);
    const added = commandsOf(english).filter((line) => FOREIGN.test(line)).map(wordsOf);
    assert.deepEqual(added.map((words) => words.slice(3)), [
      ["mcp-raw", "--", "node", "/path/to/mcp-raw.ts", ...args],
      ["--transport", "http", "mcp-raw", "http://127.0.0.1:3100/mcp"]]);
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {} };
    const request = { jsonrpc: "2.0", id: 1, method: "server/discover", params: { _meta } };
    const { stdout } = await run(args, { input: `${JSON.stringify(request)}\n` });
    assert.match(stdout, /^\{"jsonrpc":"2\.0","id":1,"result":\{.*"supportedVersions":\[/);
  });
});

describe("a README", () => {
  const scripts = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).scripts as object;
  const bench = readFileSync(join(ROOT, "test/bench/run.ts"), "utf8");

  test("has a server in few lines, and the command that runs it, before much is said", () => {
    const [server, command] = blocks;
    assert.deepEqual([server?.language, command?.language], ["ts", "sh"]);
    assert.ok((server?.text.trimEnd().split("\n").length ?? Infinity) <= MOST_LINES_OF_SERVER);
    const said = english.slice(0, english.indexOf(command?.text ?? "nowhere")).replace(FENCES, "");
    assert.ok((said.match(/\S+/g) ?? []).length < MOST_WORDS_BEFORE);
  });

  for (const { file, language } of readmes()) {
    const name = basename(file), markdown = readFileSync(file, "utf8");
    const outline = outlineOf(markdown);
    test(`${name} is short, and its chapters are where it says (npm run toc)`, () => {
      const book = readBook(readFileSync(FILE, "utf8"));
      assert.ok(markdown.trimEnd().split("\n").length <= MOST_LINES);
      assert.match(markdown, /<!-- toc -->/);
      assert.ok(all(markdown, /<!-- take /g).length > 3);
      assert.equal(withReadmeToc(markdown, book, language), markdown);
    });

    test(`${name} leads to files that are there, and to all examples and other READMEs`, () => {
      const links = all(markdown, /\]\(([^)]+)\)/g).map((link) => link.replace(/#L\d+$/, ""));
      assert.deepEqual(links.filter((link) => !existsSync(join(ROOT, link))), []);
      const expected = [...readdirSync(join(ROOT, "examples")).map((one) => `examples/${one}`),
        ...readmes().map((one) => basename(one.file)).filter((one) => one !== name)];
      assert.deepEqual(expected.filter((one) => !links.includes(one)), []);
    });

    test(`${name} names scripts, sections and files that are there`, () => {
      const spans = outline.sections.flatMap((section) => section.spans).join("\n");
      const named = all(spans, /npm run ([\w:-]+)/g);
      assert.ok(named.length > 4);
      assert.deepEqual(named.filter((script) => !(script in scripts)), []);
      const sections = all(spans, /npm run bench -- (\S+)/g);
      assert.deepEqual(sections.filter((one) => !bench.includes(`\n  ${one}: { title`)), []);
      const files = [...all(spans, /\btest\/\S+/g),
        ...all(spans, /test:peers ([\w -]+)/g).flatMap((legs) => legs.split(" "))
          .map((leg) => `test/peers/${leg}.test.ts`)];
      assert.deepEqual(files.filter((one) => !existsSync(join(ROOT, one))), []);
    });

    if (markdown === english) continue;
    test(`${name} says what README.md says, and that of the first command to the letter`, () => {
      assert.deepEqual(differences(english, markdown), []);
      assert.equal(commandsOf(markdown)[0], commandsOf(english)[0]);
    });
  }

  test("there is one in Simplified Chinese", () =>
    assert.deepEqual(readmes().map(({ language }) => language), ["en", "zh-Hans"]));
});

describe("these checks bite", () => {
  const small = "# A\n\nSee [b](c.md), 10 times, `d`.\n\n```sh\nls   # files\n```\n\n```ts\n" +
    'f("http://x"); // calls\n```\n\n## E\n\n| a | b |\n| --- | --- |\n| 1,000 | `g` |\n';
  const edits: readonly [what: string, from: string, to: string, fault: RegExp | undefined][] = [
    ["a remark in another language", "# files", "# 文件", undefined],
    ["a comment in another language", "// calls", "// 调用", undefined],
    ["one more word in code font", "See", "`See`", undefined],
    ["a heading of another level", "## E", "### E", /^headings: \[1,2\] here, \[1,3\] there$/],
    ["a heading that is missing", "## E\n", "", /^headings: /],
    ["a link elsewhere", "(c.md)", "(x.md)", /^links: \["c.md"\] here, \["x.md"\] there$/],
    ["another command", "ls ", "la ", /^code: /],
    ["another program", "http://x", "http://y", /^code: /],
    ["another figure", "10 times", "11 times", /^numbers in section 1: \["10"\] here, \["11"\]/],
    ["another figure in a table", "1,000", "1,001", /^numbers in section 2: /],
    ["another word in code font", "`d`", "`x`", /^lost from section 1: \["d"\] here/],
    ["a row that is missing", "| 1,000 | `g` |\n", "", /^tables in section 2: \[2,2,2\] here/],
  ];
  for (const [what, from, to, fault] of edits) {
    test(`the comparison ${fault === undefined ? "lets pass" : "sees"} ${what}`, () => {
      assert.equal(small.split(from).length, 2);
      const faults = differences(small, small.replace(from, to));
      if (fault === undefined) assert.deepEqual(faults, []);
      else assert.ok(faults.some((one) => fault.test(one)), JSON.stringify(faults));
    });
  }

  test("a command that nobody tries has no trial", () => {
    assert.equal(trialsOf("node mcp-raw.ts fly").length, 0);
    assert.equal(trialsOf("node mcp-raw.ts serve --http 3100   # x").length, 1);
  });
  test("words are those of a shell, without a remark", () =>
    assert.deepEqual(wordsOf(`call --line '{"a": 1}' -- node x.ts   # it's fine`),
      ["call", "--line", '{"a": 1}', "--", "node", "x.ts"]));
  test("times are let go, and nothing else", () => {
    assert.equal(timeless("#1  +   0ms  C->S  +  9ms"), timeless("#1  +1234ms  C->S  +  9ms"));
    assert.notEqual(timeless("#1  +   0ms  C->S  +  9ms"), timeless("#1  +   0ms  C->S  +  8ms"));
    assert.notEqual(timeless("#1  +   0ms  C->S"), timeless("#2  +   0ms  C->S"));
  });

  const table = (row: string): string => `| ${row} <!-- take tools --> | 0 | 0 |\n`;
  const book = readBook("// #region 1. Words\n// uses nothing\n// #endregion\n" +
    "// #region 2. Others\n// uses nothing\n// #endregion\n" +
    "// #region 3. Tools\n// uses words\n\n// #endregion\n");
  test("a set of chapters gets the numbers and lines of all that they use", () => {
    assert.equal(withReadmeToc(table("a"), book), "| a <!-- take tools --> | 1, 3 | 7 |\n");
    assert.throws(() => withReadmeToc("<!-- take tolls --> | 0 | 0 |", book), /called tolls/);
  });
  test("Parts have names in the language of the README", () => {
    const parted = readBook("// ---- Part I: the idea ----\n// #region 1. Words\n" +
      "// uses nothing\n// #endregion\n");
    assert.equal(withReadmeToc("<!-- toc -->\n<!-- /toc -->", parted, "zh-Hans"),
      "<!-- toc -->\n- **I. 协议就是一个函数**：[Words](mcp-raw.ts#L2)\n<!-- /toc -->");
  });
});
