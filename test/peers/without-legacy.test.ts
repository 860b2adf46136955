// Part V can be taken out as a whole. What the front door wants of it is a few names, which the
// chapters of this era can fill: then the file type-checks, and the tests of this era pass, also
// those over real HTTP and real pipes.

import assert from "node:assert/strict";
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { FILE, PEERS, ROOT, TYPESCRIPT, run } from "./kit.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-modern-"));
after(() => rmSync(folder, { recursive: true }));

const STANDINS = `
export type Era = "auto" | "modern" | "legacy";
export type BothOptions = HttpOptions;
export const serveEither: typeof serveChannel = serveChannel;
export const serveBoth: typeof serveHttp = serveHttp;
export const connectEither = (send: SendText, options: ConnectOptions & { era?: Era } = {}):
  ConnectedEnd => connectChannel(send, options);
export const startEither = <C>(start: (era: Era) => Promise<C>, era: Era = "modern"): Promise<C> =>
  start(era);
export const connectHttpEither = (url: string, options: HttpClientOptions = {}) =>
  ({ exchange: connectHttp(url, options), close: async () => {} });

`;
const source = readFileSync(FILE, "utf8");
const [from, to] = [source.indexOf("// ---- Part V:"), source.indexOf("// ---- Part VII:")];
const cut = source.indexOf("// ---- cut here");
writeFileSync(
  join(folder, "mcp-raw.ts"),
  source.slice(0, from) + STANDINS + source.slice(to, cut),
);
cpSync(`${ROOT}/test`, join(folder, "test"), {
  recursive: true,
  filter: (path) => !path.startsWith(PEERS),
});
cpSync(`${ROOT}/package.json`, join(folder, "package.json"));
symlinkSync(`${ROOT}/node_modules`, join(folder, "node_modules"));

const MODERN = /^(?:part[1-4]\S*|part7|hard-peers|patterns)\.test\.ts$/;

describe("mcp-raw.ts without Part V", () => {
  test("is a good deal shorter, and has no word of a handshake", () => {
    assert.ok(from > 0 && to > from && cut > to);
    const text = readFileSync(join(folder, "mcp-raw.ts"), "utf8");
    assert.ok(text.split("\n").length < source.split("\n").length - 1_000);
    assert.doesNotMatch(text, /notifications\/initialized|Last-Event-ID: \d/);
  });

  test("type-checks", async () => {
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({
        extends: `${ROOT}/tsconfig.json`,
        compilerOptions: { typeRoots: [`${ROOT}/node_modules/@types`] },
        include: ["mcp-raw.ts"],
        exclude: [],
      }),
    );
    const args = [TYPESCRIPT["7.0"], "--pretty", "false", "-p", "."];
    const { stdout, code } = await run(process.execPath, args, { cwd: folder, timeout: 120_000 });
    assert.deepEqual([code, stdout], [0, ""]);
  });

  test("passes the tests of this era, over pipes and over real HTTP", async () => {
    const files = readdirSync(join(folder, "test"))
      .filter((name) => MODERN.test(name))
      .map((name) => `test/${name}`);
    assert.ok(files.length > 20, `${files.length} files`);
    const args = ["--import", "tsx", "--test", "--test-reporter=tap", ...files];
    const { stdout, code } = await run(process.execPath, args, { cwd: folder, timeout: 240_000 });
    const [, passed = "0"] = /^# pass (\d+)$/m.exec(stdout) ?? [];
    const failed = stdout.match(/^ *not ok .*$/gm) ?? [];
    assert.deepEqual([code, failed], [0, []]);
    assert.ok(Number(passed) > 1_000, `${passed} passed`);
  });
});
