// The folder that examples/05-files.ts serves, and the ways out of it that must not be there.
// Each URI is literal: what a client would send, right or wrong.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, ProtocolError, subscribe, type Client, type Connection } from "../../mcp-raw.ts";
import { until } from "../kit-http.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/05-files.ts", import.meta.url));
const base = realpathSync(mkdtempSync(join(tmpdir(), "example-files-")));
after(() => rmSync(base, { recursive: true }));
const at = (...names: string[]) => join(base, ...names);
const SECRET = "nobody may read this";

// base/shared is served. Beside it: a secret, and a folder whose name begins in the same way.
for (const folder of ["shared/sub", "shared-too"]) mkdirSync(at(folder), { recursive: true });
for (const secret of ["secret.txt", "shared-too/secret.txt"]) writeFileSync(at(secret), SECRET);
writeFileSync(at("shared/a.txt"), "a");
writeFileSync(at("shared/sub/b.txt"), "b");
writeFileSync(at("shared/100%25 #?é.txt"), "odd");
writeFileSync(at("shared/bytes"), new Uint8Array([0, 255, 1]));
symlinkSync("../secret.txt", at("shared/link-out"));
symlinkSync(at("secret.txt"), at("shared/link-absolute"));
symlinkSync("..", at("shared/folder-out"));
symlinkSync(".", at("shared/loop"));
symlinkSync("a.txt", at("shared/link-in"));
symlinkSync("shared", at("alias"));
execFileSync("mkfifo", [at("shared/pipe")]);

const absolute = at("secret.txt");
const WAYS_OUT = [
  "folder:///../secret.txt",
  "folder:///%2e%2e/secret.txt",
  "folder:///%2E%2E%2Fsecret.txt",
  "folder:///..%2Fsecret.txt",
  "folder:///.%2e/secret.txt",
  "folder:///sub/../../secret.txt",
  "folder:///sub/%2e%2e/%2e%2e/secret.txt",
  "folder:///./.././secret.txt",
  "folder:///nowhere/../../secret.txt",
  "folder:///../../../../../../../../../../etc/passwd",
  "folder:///%252e%252e/secret.txt",
  "folder:///%252e%252e%252fsecret.txt",
  "folder:///..%5Csecret.txt",
  "folder:///..\\secret.txt",
  "folder:///%c0%ae%c0%ae/secret.txt",
  "folder:///..%c0%afsecret.txt",
  "folder:///．．/secret.txt",
  `folder:///${absolute}`,
  `folder://${absolute}`,
  `folder:///${encodeURIComponent(absolute)}`,
  `folder:///%2F${absolute.slice(1)}`,
  `file://${absolute}`,
  absolute,
  "../secret.txt",
  "folder:///../shared-too/secret.txt",
  "folder:///..%2Fshared-too%2Fsecret.txt",
  "folder:///-too/secret.txt",
  `folder:///${at("shared-too/secret.txt")}`,
  "folder:///link-out",
  "folder:///link-absolute",
  "folder:///sub/../link-out",
  "folder:///folder-out/secret.txt",
  "folder:///folder-out/shared-too/secret.txt",
  "folder:///loop/loop/link-out",
  "folder:///../secret.txt%00",
  "folder:///../secret.txt%00.png",
];
const NO_FILES = ["folder:///", "folder:///.", "folder:///..", "folder:///sub", "folder:///sub/",
  "folder:///loop", "folder:///folder-out", "folder:///pipe", "folder:///a.txt/",
  "folder:///a.txt%00", "folder:///a.txt%00.png", "folder:///nope", "folder:///%", "folder:///%zz",
  "folder:///toString", "folder:a.txt", "nope:///a.txt", ""];


/** The example, started as a client would start it; `file` may be a copy of it. */
const start = (folder: string, file = EXAMPLE) =>
  open([process.execPath, ...process.execArgv, file, folder]);
/** What comes of reading a URI: the text, the bytes as Base64, or the error. */
async function read(client: Client, uri: string): Promise<unknown> {
  try {
    const { contents: [one] } = await client.call("resources/read", { uri });
    return one && ("text" in one ? one.text : one.blob);
  } catch (error) {
    assert.ok(error instanceof ProtocolError, String(error));
    return { code: error.code, data: error.data };
  }
}
/** The URIs of some that give something. */
async function readable(client: Client, uris: string[]): Promise<string[]> {
  const got = await Promise.all(uris.map((uri) => read(client, uri)));
  return uris.filter((_, index) => typeof got[index] === "string");
}

describe("Files (examples/05-files.ts)", () => {
  let client: Client;
  let connection: Connection;
  before(async () => ({ client, connection } = await start(at("alias")))); // itself a link
  after(() => connection.close());

  test("what is listed are the files of the folder, and each is read under the URI that is " +
    "listed (spec server/resources#listing-resources)", async () => {
    const list = await client.list("resources/list", "resources");
    const all = await Promise.all(list.map(async ({ uri, name }) =>
      [uri, name, await read(client, uri)]));
    assert.deepEqual(all.sort(), [
      ["folder:///100%2525%20%23%3F%C3%A9.txt", "100%25 #?é.txt", "odd"],
      ["folder:///a.txt", "a.txt", "a"],
      ["folder:///bytes", "bytes", "AP8B"],
      ["folder:///sub/b.txt", "sub/b.txt", "b"],
    ]);
  });

  test("a link that stays in the folder may be followed (engineering)", async () => {
    assert.deepEqual(await readable(client, ["folder:///link-in", "folder:///loop/sub/b.txt"]),
      ["folder:///link-in", "folder:///loop/sub/b.txt"]);
  });

  test("no path leads out of the folder: neither dots, however they are written, nor an absolute " +
    "path, a link, or a sibling of the same prefix; each is -32602 with the URI as it was sent " +
    "(spec server/resources#security-considerations)", async () => {
    for (const uri of WAYS_OUT) {
      assert.deepEqual(await read(client, uri), { code: -32602, data: { uri } }, uri);
    }
  });

  test("what is no file is not found, and the answer comes: a folder, a pipe, a name with a zero " +
    "byte (spec server/resources#error-handling)", async () => {
    for (const uri of NO_FILES) {
      assert.deepEqual(await read(client, uri), { code: -32602, data: { uri } }, uri);
    }
  });

  test("completion offers no more than the list does " +
    "(spec server/utilities/completion#security)", async () => {
    const complete = async (value: string) => (await client.call("completion/complete", {
      ref: { type: "ref/resource", uri: "folder:///{+path}" }, argument: { name: "path", value },
    })).completion.values;
    assert.deepEqual(await complete("sub/"), ["sub/b.txt"]);
    assert.deepEqual((await complete("")).sort(),
      ["100%25 #?é.txt", "a.txt", "bytes", "sub/b.txt"]);
    for (const value of ["../", "..", "/", at(""), "link-out", "folder-out/"]) {
      assert.deepEqual(await complete(value), [], value);
    }
  });

  test("a change in the folder is told, and one outside is not " +
    "(spec server/resources#subscriptions)", async () => {
    const told: string[] = [];
    const stop = new AbortController();
    const { acknowledged, closed } = subscribe(client,
      { resourcesListChanged: true, resourceSubscriptions: ["folder:///"] },
      { signal: stop.signal, onChange: ({ method, params }) =>
        void told.push(`${method.split("/").at(-1)} ${params?.uri ?? ""}`) });
    assert.deepEqual(await acknowledged,
      { resourcesListChanged: true, resourceSubscriptions: ["folder:///"] });
    writeFileSync(at("secret.txt"), SECRET);
    writeFileSync(at("shared-too/another.txt"), SECRET);
    writeFileSync(at("shared/sub/new.txt"), "new");
    await until(() => told.includes("updated folder:///sub/new.txt"));
    assert.ok(told.includes("list_changed "));
    assert.deepEqual(told.filter((one) => /secret|another/.test(one)), []);
    assert.equal(await read(client, "folder:///sub/new.txt"), "new");
    stop.abort();
    await closed;
  });
});

describe("The tests above see a hole", () => {
  const source = readFileSync(EXAMPLE, "utf8");
  const holes: [what: string, from: string, to: string][] = [
    ["without a look at the folder", "!file.startsWith(root + sep)", 'file === ""'],
    ["by prefix alone", "root + sep", "root"],
    ["without following links", 'await realpath(join(root, path)).catch(() => "")',
      "join(root, path)"],
  ];
  for (const [what, from, to] of holes) {
    test(`a check ${what} lets something out (engineering)`, async () => {
      assert.ok(source.includes(from), from);
      const copy = at(`${what.replaceAll(" ", "-")}.mts`);
      writeFileSync(copy, source.replace(from, to)
        .replace("../mcp-raw.ts", new URL("../../mcp-raw.ts", import.meta.url).href));
      const { client, connection } = await start(at("shared"), copy);
      try {
        assert.notDeepEqual(await readable(client, WAYS_OUT), []);
      } finally {
        await connection.close();
      }
    });
  }
});
