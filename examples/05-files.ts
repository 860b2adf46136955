// You will learn: resources that change. A folder to list, read and watch, and no way out of it.
import { isUtf8 } from "node:buffer";
import { watch } from "node:fs";
import { mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { changeSource, connect, server, subscribe } from "../mcp-raw.ts";

const root = await realpath(process.argv[2] ?? await mkdtemp(join(tmpdir(), "files-")));
const uriOf = (path: string) => `folder:///${path.split(sep).map(encodeURIComponent).join("/")}`;
/** Reads a file, after a look at where ".." and links lead. Who may write here is trusted. */
async function read(path: string): Promise<string | Uint8Array | undefined> {
  const file = await realpath(join(root, path)).catch(() => "");
  if (!file.startsWith(root + sep) || !(await stat(file)).isFile()) return undefined; // not found
  const bytes = await readFile(file);
  return isUtf8(bytes) ? bytes.toString() : bytes;
}
async function list(): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()) // a link is none
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)));
}

const changes = changeSource();
const watcher = watch(root, { recursive: true }, (event, path) => {
  if (event === "rename") changes.resources(); // one came or went
  changes.updated(uriOf(path ?? ""));
});
watcher.on("error", console.error);
const { exchange, stdio } = server({ name: "files", version: "1.0.0", changes,
  resources: async () => (await list()).map((path) =>
    ({ uri: uriOf(path), name: path, read: () => read(path) })),
  templates: [{ uriTemplate: "folder:///{+path}", name: "file",
    complete: { path: async (value) => (await list()).filter((path) => path.startsWith(value)) },
    read: ({ path }) => read(String(path)) }],
});
if (process.argv[2] !== undefined) await stdio(); // 05-files.ts FOLDER: for an assistant to start

const client = connect(exchange); // else a client right here, which sees a file change
const uri = "folder:///a.txt";
await writeFile(join(root, "a.txt"), "one");
console.log(await client.list("resources/list", "resources"));
// prints: [ { uri: 'folder:///a.txt', name: 'a.txt' } ]
const stop = new AbortController();
const { acknowledged, closed } = subscribe(client, { resourceSubscriptions: [uri] },
  { signal: stop.signal, onChange: () => stop.abort() });
await acknowledged;
await writeFile(join(root, "a.txt"), "two");
await closed;
console.log((await client.call("resources/read", { uri })).contents);
// prints: [ { uri: 'folder:///a.txt', text: 'two' } ]
watcher.close();
await rm(root, { recursive: true });
