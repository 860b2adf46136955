// Part V can be taken out as a whole. What the front door wants of it is a few names, which the
// chapters of this era can fill: then the file type-checks, and the tests of this era pass, also
// those over real HTTP and real pipes.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SOURCE, testsOf, typeFaults, variantOf } from "./variant.ts";

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
const [from, to] = [SOURCE.indexOf("// ---- Part V:"), SOURCE.indexOf("// ---- Part VI:")];
const cut = SOURCE.indexOf("// ---- cut here");
const text = SOURCE.slice(0, from) + STANDINS + SOURCE.slice(to, cut);
const folder = variantOf(text);

const MODERN = /^(?:part[1-4]\S*|part7|hard-peers|patterns)\.test\.ts$/;

describe("mcp-raw.ts without Part V", () => {
  test("is a good deal shorter, and has no word of a handshake", () => {
    assert.ok(from > 0 && to > from && cut > to);
    assert.ok(text.split("\n").length < SOURCE.split("\n").length - 1_000);
    assert.doesNotMatch(text, /notifications\/initialized|Last-Event-ID: \d/);
  });

  test("type-checks", async () => assert.deepEqual(await typeFaults(folder), [0, ""]));

  test("passes the tests of this era, over pipes and over real HTTP", async () => {
    const { files, code, passed, failed } = await testsOf(folder, MODERN);
    assert.ok(files > 20, `${files} files`);
    assert.deepEqual([code, failed], [0, []]);
    assert.ok(passed > 1_000, `${passed} passed`);
  });
});
