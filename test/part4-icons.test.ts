// Part IV, Client: icons come from strangers, and only those with a safe address are handed on.
import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import { connect, type Methods } from "../mcp-raw.ts";
import { resultOf, scripted } from "./kit-http.ts";

const DATA = "data:image/png;base64,iVBORw0KGgo=";
const SAFE = ["https://example.com/icon.png", "HTTPS://EXAMPLE.COM/i", DATA, "DATA:image/png,x"];
const UNSAFE: unknown[] = ["http://example.com/i.png", "http://localhost:3000/i.png",
  "javascript:alert(1)", "JavaScript:alert(1)", "java\nscript:alert(1)", "file:///etc/passwd",
  "ftp://example.com/i", "ws://example.com/i", "wss://example.com/i", "vscode://open",
  "blob:https://example.com/1", "about:blank", "icon.png", "/icon.png", "//example.com/i.png", "",
  "https:", "https://", "https://[::1", 5, null, undefined, {}, { toString: 1 },
  ["https://example.com/i"]];
const KINDS = [["tools/list", "tools"], ["prompts/list", "prompts"],
  ["resources/list", "resources"], ["resources/templates/list", "resourceTemplates"]] as const;

/** A client of a server whose lists have one entry with these icons, and its warnings. */
function clientOf(icons: unknown, more: object = {}) {
  const warnings: string[] = [];
  const entry = { name: "painter", inputSchema: { type: "object" }, uri: "x:/a",
    uriTemplate: "x:/{a}", icons, ...more };
  const { exchange } = scripted(({ id }) => resultOf(id, { ttlMs: 0, cacheScope: "public",
    ...Object.fromEntries(KINDS.map(([, key]) => [key, [entry]])) }));
  const client = connect(exchange, { warn: (text) => void warnings.push(text) });
  const list = async (method: typeof KINDS[number][0] = "tools/list", key: string = "tools") =>
    (await client.list(method, key as never) as unknown as { icons?: unknown }[])[0];
  return { client, warnings, entry, list };
}

describe("Icons of entries of a list", () => {
  test("https: and data: icons are handed on as they came (spec basic#icons)", async () => {
    const icons = SAFE.map((src) => ({ src, mimeType: "image/png", sizes: ["48x48"],
      theme: "dark" }));
    const { list, entry, warnings } = clientOf(icons);
    assert.deepEqual([await list(), warnings], [entry, []]);
  });

  for (const src of UNSAFE) {
    test(`an icon at ${JSON.stringify(src)} is left out, with a warning that names its owner ` +
      "(spec basic#icons)", async () => {
      const { list, entry, warnings } = clientOf([{ src: DATA }, { src }, { src: SAFE[0] }]);
      assert.deepEqual(await list(), { ...entry, icons: [{ src: DATA }, { src: SAFE[0] }] });
      assert.equal(warnings.length, 1);
      assert.match(warnings[0] ?? "", /painter/);
    });
  }

  test("an entry keeps all else that it has when no icon is left " +
    "(spec basic#icons)", async () => {
    const { list, entry } = clientOf([{ src: "javascript:alert(1)" }], { title: "Painter" });
    const { icons = [], ...rest } = await list() ?? {};
    const { icons: _, ...expected } = entry as { icons: unknown };
    assert.deepEqual([rest, icons], [expected, []]);
  });

  test("icons that are no list of icons are left out, and the entry stays " +
    "(spec basic#icons)", async () => {
    for (const icons of [null, 5, "https://example.com/i", { src: 5 }, [null], ["x"], [[]],
      [{}]]) {
      const { list, warnings } = clientOf(icons);
      assert.deepEqual((await list())?.icons ?? [], [], JSON.stringify(icons));
      assert.match(warnings.join(), /painter/);
    }
  });

  test("the rule is the same for prompts, resources and templates " +
    "(spec basic#icons)", async () => {
    for (const [method, key] of KINDS) {
      const { list, warnings } = clientOf([{ src: "file:///a" }, { src: DATA }]);
      assert.deepEqual((await list(method, key))?.icons, [{ src: DATA }], method);
      assert.match(warnings.join(), /painter/);
    }
  });

  test("a warning shows no control character of the address " +
    "(engineering)", async () => {
    const { list, warnings } = clientOf([{ src: "x:\u001b[31m\r\nINFO fine" }]);
    await list();
    assert.doesNotMatch(warnings.join(), /[\u0000-\u001f]/);
  });

  test("the server's own objects are not changed, and nothing is fetched " +
    "(spec basic#icons)", async () => {
    const fetched = mock.method(globalThis, "fetch", () => assert.fail("was fetched"));
    const { list, entry } = clientOf([{ src: "file:///a" }, { src: SAFE[0] }]);
    const before = structuredClone(entry);
    await list();
    assert.deepEqual([entry, fetched.mock.callCount()], [before, 0]);
    fetched.mock.restore();
  });

  test("a tool without icons is handed on as it came (spec basic#icons)", async () => {
    const tool = { name: "t", inputSchema: { type: "object" }, description: "d" };
    const { exchange } = scripted(({ id }) => resultOf(id, { tools: [tool] }));
    const tools: Methods["tools/list"]["result"]["tools"] =
      await connect(exchange).list("tools/list", "tools");
    assert.deepEqual(tools, [tool]);
  });
});
