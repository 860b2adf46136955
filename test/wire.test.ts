// Every transcript in mcp-raw.ts is what really crosses the wire: the comments are
// read, what they send is sent, and what comes back is held against what they show.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import * as mcp from "../mcp-raw.ts";
import { bytes, settled, sink, source } from "./kit.ts";

interface Item {
  line: number;
  arrow: "→" | "←";
  text: string;
  remark: string; // what stands behind the message
  kind: "json" | "cut" | "http" | "headers" | "prose";
}
interface Chapter { slug: string; items: Item[]; events: { line: number; text: string }[] }

/** Where the JSON at the start of a text ends; -1 when it does not. */
function jsonEnd(text: string): number {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/g)) {
    depth += token === "{" ? 1 : token === "}" ? -1 : 0;
    if (depth === 0) return index + 1;
  }
  return -1;
}

function readItem(line: number, arrow: Item["arrow"], rows: string[]): Item {
  const [first = ""] = rows;
  if (first.startsWith("{")) {
    const text = rows.join("");
    const end = jsonEnd(text);
    return end === -1 ? { line, arrow, text, remark: "", kind: "cut" }
      : { line, arrow, text: text.slice(0, end), remark: text.slice(end).trim(), kind: "json" };
  }
  const kind = /^POST |^HTTP\//.test(first) ? "http" : /^[\w-]+: /.test(first) ? "headers"
    : "prose";
  return { line, arrow, text: rows.join("\n"), remark: "", kind };
}

const slugOf = (title: string) => `chapter ${title.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;

const OF_PART_VI = ["challenges", "protected-server", "discovery", "registration", "tokens",
  "authorized-fetch"].map((slug) => `chapter ${slug}`);

/** The transcripts of a source text, by chapter. */
function chaptersOf(source: string): Chapter[] {
  const chapters: Chapter[] = [{ slug: "cover", items: [], events: [] }];
  const lines = source.split("\n");
  const comment = (at: number) => /^ *\/\/ ?(.*)$/.exec(lines[at] ?? "")?.[1];
  for (let at = 0; at < lines.length; at++) {
    const title = /^\/\/ #region \d+\. (.*)$/.exec(lines[at] ?? "")?.[1];
    if (title !== undefined) chapters.push({ slug: slugOf(title), items: [], events: [] });
    const chapter = chapters.at(-1);
    const row = comment(at);
    const start = at;
    const arrow = /^ {2}([→←]) (.*)$/.exec(row ?? "");
    if (arrow !== null) {
      const rows = [arrow[2] ?? ""];
      const blankWithin = () => comment(at + 1) === "" && !rows[0]?.startsWith("{") &&
        comment(at + 2)?.startsWith("    ");
      while (comment(at + 1)?.startsWith("    ") ||
        blankWithin()) rows.push(comment(++at)?.slice(4) ?? "");
      chapter?.items.push(readItem(start + 1, arrow[1] as Item["arrow"],
        rows)); // the pattern has no other
    } else if (/^ {2}(event|data|id|retry): /.test(row ?? "")) {
      const rows = [row?.slice(2)];
      while (/^ {2}\w+: /.test(comment(at + 1) ?? "")) rows.push(comment(++at)?.slice(2));
      chapter?.events.push({ line: start + 1, text: `${rows.join("\n")}\n\n` });
    }
  }
  return chapters.filter(({ slug, items, events }) => items.length + events.length > 0 &&
    !OF_PART_VI.includes(slug)); // they have a test of their own
}

const INFO = { "io.modelcontextprotocol/serverInfo": { name: "mcp-raw", version: "0.1.0" } };
const CAPABLE = ["chapter round-trips", "chapter answering"]; // whose clients can be asked
const OLDER = ["chapter sessions", "chapter both-eras-one-channel"]; // with their handshake
let lastState = ""; // what ".." stands for in a request that is made again
const META = { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "reader", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {} };

/** {..} as the marker that it is, wherever it stands. */
const parse = (text: string): any => JSON.parse(text.replaceAll("{..}", '{"{..}":1}'));
const isAny = (value: unknown) => mcp.isObject(value) && "{..}" in value;
const map = (value: any, each: (inner: any, key: string) => unknown): unknown =>
  Array.isArray(value)
  ? value.map((inner, at) => each(inner, String(at)))
  : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, each(inner, key)]));

/** A message to send: {..} stands for the usual _meta, or for the params of some call. */
function spoken(shown: any, key = "", method = shown?.method): any {
  if (key === "requestState" && shown === "..") return lastState;
  if (typeof shown !== "object" || shown === null) return shown;
  if (!isAny(shown)) return map(shown, (inner, name) => spoken(inner, name, method));
  const call = method === "tools/call" ? { name: "add", arguments: { a: 2, b: 3 } } : {};
  return key === "_meta" ? META : key === "params" ? { ...call, _meta: META } : {};
}
/** What is shown, with its blanks filled from what came, where that is of their kind. */
function filled(shown: any, came: any, key = ""): any {
  if (shown === "..") return typeof came === "string" ? came : shown;
  if (typeof shown !== "object" || shown === null) return shown;
  if (isAny(shown)) return key === "_meta" ? INFO : mcp.isObject(came) ? came : shown;
  return map(shown, (inner, name) => filled(inner, came?.[name], name));
}
const same = (came: unknown, shown: string) => assert.deepEqual(came, filled(parse(shown), came));

const numbers = { type: "object", required: ["a", "b"],
  properties: { a: { type: "number" }, b: { type: "number" } } } as const;
const { demoServer }: { demoServer?: any } = mcp as object; // not there in every cut of the file
/** The demo server; or, while there is none, the few tools that transcripts call. */
const app: mcp.Server = typeof demoServer === "function" ? demoServer() : demoServer ?? mcp.server({
  name: "mcp-raw", version: "0.1.0", report: () => {}, tools: [
    { name: "add", inputSchema: numbers, handler: ({ a, b }) => mcp.text(String(a + b)) },
    { name: "calculator", inputSchema: numbers, handler({ a, b }) {
      if (b === 0) throw new Error("Division by zero");
      return mcp.text(String(a / b));
    } },
  ] });
/** Chapters that show a server with something else to it than that. */
const bare = (feature: mcp.Feature) => mcp.dispatch({ name: "mcp-raw", version: "0.1.0" }, [feature]);
const SMALLER: Record<string, mcp.Exchange> = {
  "chapter a-first-call": bare(mcp.discover({})),
  "chapter resources": bare(mcp.resources([])),
  ...moderns(),
};
/** The servers of the chapters that come after Resources, where the file has them. */
function moderns(): Record<string, mcp.Exchange> {
  if (mcp.server === undefined || mcp.subscribe === undefined) return {};
  const shows = (options: object) =>
    mcp.server({ name: "mcp-raw", version: "0.1.0", report: () => {}, ...options });
  const changes = mcp.changeSource();
  const handler = () => mcp.text("done");
  const asking = (key: string, request: mcp.ListRootsRequest | mcp.ElicitRequest) =>
    async (_: unknown, { ask }: mcp.Context) => {
      await ask(key, request as mcp.ListRootsRequest);
      return mcp.text("done");
    };
  const form = { method: "elicitation/create", params: { message: "Who are you?",
    requestedSchema: { type: "object", properties: { name: { type: "string" } } } } } as const;
  const asks = shows({ tools: [
    { name: "greet", handler: asking("who", form as unknown as mcp.ElicitRequest) },
    { name: "find", handler: asking("where", { method: "roots/list" }) }] }).exchange;
  const prompts = shows({ prompts: [{ name: "review", arguments: [{ name: "language" }],
    complete: { language: ["go", "rust"] },
    get: ({ language }: { language: string }) => `Review this ${language} code` }] }).exchange;
  const heard = shows({ resources: [{ uri: "note:1", name: "note", read: () => "" }], changes });
  return {
    "chapter lists": shows({ tools: [{ name: "add", handler }, { name: "sum", handler }] }).exchange,
    "chapter completion": prompts,
    "chapter prompts": prompts,
    "chapter progress-logging": shows({ tools: [{ name: "count",
      inputSchema: { type: "object" }, handler(_: unknown, { progress, log }: mcp.Context) {
        void progress(1, 1);
        void log("info", "counted");
        return mcp.text("done");
      } }] }).exchange,
    "chapter sessions": shows({ tools: [] }).exchange,
    "chapter round-trips": asks,
    "chapter answering": asks,
    "chapter caching": shows({ tools: [] }).exchange,
    "chapter subscribing": (request, lane) => {
      setTimeout(() => changes.updated("note:1"));
      return heard.exchange(request, lane);
    },
  };
}
/** A server that has something to say before it answers. */
const talker = mcp.server({ name: "mcp-raw", version: "0.1.0", tools: [{
  name: "steps", async handler(_, { lane }) {
    const params = { progressToken: 1, progress: 1 };
    await lane.notify({ jsonrpc: "2.0", method: "notifications/progress", params });
    return mcp.text("done");
  } }] });

/** Questions that a chapter leaves out because the answer is its point. */
const UNSAID: Record<string, string> = {
  "chapter results": '{"jsonrpc":"2.0","id":1,"method":"tools/call",' +
    '"params":{"name":"calculator","arguments":{"operation":"divide","a":1,"b":0},"_meta":{..}}}',
  "chapter client": '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":' +
    '{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}',
  "chapter http-server": '{"jsonrpc":"2.0","id":1,"method":"tools/call",' +
    '"params":{"name":"steps","_meta":{..}}}',
  "chapter answering": '{"jsonrpc":"2.0","id":1,"method":"tools/call",' +
    '"params":{"name":"find","_meta":{..}}}',
  "chapter http-client": '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{..}}}',
};

const LOST = "a ← answers a →: show that, or name it in UNSAID of this test";

/** Sends lines to a server; gives what comes back, waiting until `count` messages did. */
async function exchangeLines(lines: string[], count: number, slug: string): Promise<any[]> {
  const [input, out] = [source(), sink()];
  const serve = OLDER.includes(slug) ? { serve: mcp.serveEither } : {};
  const done = mcp.serveLines(SMALLER[slug] ?? app.exchange,
    { readable: input, write: out.write }, { graceMs: 20, ...serve });
  input.push(`${lines.join("\n")}\n`);
  for (let wait = 0; wait < 200 && out.lines().length < count; wait++) await settled();
  for (let wait = 0; wait < 3; wait++) await settled();
  input.end();
  await done;
  return out.lines().map((line) => JSON.parse(line));
}

/** Messages that go out together, and what comes back on them. */
async function replayLines(sent: Item[], shown: Item[], slug: string): Promise<void> {
  if (sent.length === 0) {
    const text = UNSAID[slug];
    assert.ok(text, LOST);
    sent = [readItem(0, "→", [text])];
  }
  const messages = sent.map(({ kind, text }) => kind === "cut" ? undefined : spoken(parse(text)));
  for (const message of CAPABLE.includes(slug) ? messages : []) {
    const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities":
      { elicitation: {}, roots: {} } };
    message.params = { ...message.params, _meta };
  }
  const lines = sent.map(({ text }, at) => messages[at] === undefined ? text
    : JSON.stringify(messages[at]));
  const came = await exchangeLines(lines, shown.length, slug);
  lastState = came.at(-1)?.result?.requestState ?? "";
  if (shown.length > 0) {
    assert.equal(came.length, shown.length,
      `${came.length} messages came back: ${JSON.stringify(came)}`);
    return shown.forEach(({ text }, at) => same(came[at], text));
  }
  const cancelled = messages.filter((message) => message?.method === "notifications/cancelled");
  if (cancelled.length > 0) return assert.deepEqual(came, [],
    "silence, since the call is cancelled");
  for (const message of came) assert.ok(!("error" in message), JSON.stringify(message));
  assert.equal(came.length, messages.filter((message) => message !== undefined &&
    "id" in message).length);
}

/** A line that shows a shape, and the word for it behind the line. */
function checkShape({ text, remark }: Item): void {
  const message = mcp.readMessage(spoken(parse(text)));
  const shape = "method" in message ? "id" in message ? "request" : "notification"
    : "error" in message ? "error" : "result";
  assert.equal(shape, remark);
}

function readHead(text: string): { first: string; headers: [string, string][]; body: string } {
  const [head = "", ...rest] = text.split("\n\n");
  const rows = head.split("\n");
  const first = /^[\w-]+: /.test(rows[0] ?? "") ? "" : rows.shift() ?? "";
  const headers = rows.map((row): [string, string] => {
    const [, name = "",
      value = ""] = /^([\w-]+): (.*?)(?: {2,}.*)?$/.exec(row) ?? assert.fail(`no header: ${row}`);
    return [name, value];
  });
  return { first, headers, body: rest.join("\n\n") };
}
/** The request that headers repeat. */
function behind(headers: Headers): any {
  const [method, name] = [headers.get("mcp-method") ?? "",
    mcp.decodeHeader(headers.get("mcp-name") ?? "")];
  const args = [...headers].filter(([key]) => key.startsWith("mcp-param-")).map(([key, value]) =>
    [key.slice(10), mcp.decodeHeader(value)]);
  const field = Object.hasOwn(mcp.MIRRORS, method) ? { [mcp.MIRRORS[method] ?? ""]: name } : {};
  return { jsonrpc: "2.0", id: 1, method, params: { ...field,
    ...(args.length > 0 ? { arguments: Object.fromEntries(args) } : {}), _meta: META } };
}

/** Headers on their own are those that the request behind them gets. */
function checkHeaders({ text }: Item): void {
  const { headers } = readHead(text);
  const request = behind(new Headers(headers));
  const annotated = headers.filter(([name]) => name.startsWith("Mcp-Param-"))
    .map(([name]) => ({ name: name.slice(10), path: [name.slice(10).toLowerCase()],
      type: "string" }));
  assert.deepEqual(Object.entries(mcp.mirroredHeaders(request, mcp.MIRRORS, annotated)), headers);
}

async function replayHttp(sent: Item | undefined, shown: Item | undefined,
  slug: string): Promise<void> {
  const head = readHead(sent?.text ?? "POST /mcp HTTP/1.1");
  const [, path = ""] = head.first.split(" ");
  const headers = new Headers(head.headers);
  const unsaid = UNSAID[slug];
  const body = head.body !== "" ? spoken(parse(head.body.replaceAll("\n", "")))
    : sent !== undefined ? behind(headers)
      : spoken(parse(unsaid ?? assert.fail(LOST)));
  if (sent === undefined) {
    const usual = { "Content-Type": "application/json",
      Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
      ...mcp.mirroredHeaders(body, mcp.MIRRORS) };
    for (const [name, value] of Object.entries(usual)) headers.set(name, value);
  }
  const from = body.params?.name === "steps" ? talker : app;
  const response = await from.fetch(new Request(`http://localhost${path}`,
    { method: "POST", headers, body: JSON.stringify(body) }));
  const text = await response.text();
  if (shown === undefined) return assert.deepEqual([response.status, "result" in JSON.parse(text)],
    [200, true], text);
  const reply = readHead(shown.text);
  assert.equal(`HTTP/1.1 ${response.status}`, reply.first.split(" ").slice(0, 2).join(" "), text);
  for (const [name, value] of reply.headers) assert.equal(response.headers.get(name), value, name);
  if (reply.body === "") return;
  const dataOf = (stream: string) => {
    const seen: string[] = [];
    mcp.eventParser(({ data }) => seen.push(data))(`${stream}\n\n`);
    return seen;
  };
  if (!reply.body.startsWith("{")) {
    const [came, want] = [dataOf(text), dataOf(reply.body)];
    assert.equal(came.length, want.length, text);
    return want.forEach((data, at) => same(JSON.parse(came[at] ?? ""), data));
  }
  same(JSON.parse(text), reply.body.replaceAll("\n", ""));
}

/** An event as it stands is one that is read and written alike, and it holds a message. */
function checkEvent(text: string): void {
  const events: mcp.ServerSentEvent[] = [];
  mcp.eventParser((event) => events.push(event))(text);
  assert.deepEqual(events.map(mcp.formatEvent), [text]);
  for (const { data } of events) mcp.readMessage(spoken(parse(data)));
}

/** Replays a chapter; gives a line for each fault. */
async function faultsOf({ slug, items, events }: Chapter): Promise<string[]> {
  const faults: string[] = [];
  const attempt = async (line: number, act: () => void | Promise<void>) => {
    try {
      await act();
    } catch (error) {
      faults.push(`line ${line} (${slug}): ${(error as Error).message}`);
    }
  };
  for (const { line, text } of events) await attempt(line, () => checkEvent(text));
  const queue = items.filter(({ kind, remark }) => kind !== "prose" && kind !== "headers" &&
    remark === "");
  for (const item of items) {
    if (item.kind === "prose") await attempt(item.line, () =>
      assert.fail(`an arrow opens a message or headers, not ${item.text}`));
    if (item.kind === "headers") await attempt(item.line, () => checkHeaders(item));
    if (item.remark !== "") await attempt(item.line, () => checkShape(item));
  }
  while (queue.length > 0) {
    const take = (arrow: string, http: boolean): Item[] => {
      const end = queue.findIndex((item) => item.arrow !== arrow ||
        (item.kind === "http") !== http);
      return queue.splice(0, end === -1 ? queue.length : end);
    };
    const { line = 0, kind } = queue[0] ?? {};
    if (kind !== "http") {
      const [sent, shown] = [take("→", false), take("←", false)];
      await attempt(line, () => replayLines(sent, shown, slug));
    } else {
      const sent = queue[0]?.arrow === "→" ? queue.shift() : undefined;
      const answered = queue[0]?.kind === "http" && queue[0].arrow === "←";
      const shown = answered ? queue.shift() : undefined;
      await attempt(line, () => replayHttp(sent, shown, slug));
    }
  }
  return faults;
}

const SOURCE = readFileSync(new URL("../mcp-raw.ts", import.meta.url), "utf8");

describe("Every transcript in the file is replayed (spec basic#messages)", () => {
  const chapters = chaptersOf(SOURCE);
  for (const chapter of chapters) {
    test(`what the ${chapter.slug} shows is what crosses the wire`, async () =>
      assert.deepEqual(await faultsOf(chapter), []));
  }

  test("no arrow at the start of a comment escapes the replay", () => {
    const other = /^\/\/ ---- Part VI: [^]*?(?=^\/\/ ---- Part VII)/m; // see part6-wire.test.ts
    const arrows = SOURCE.replace(other, "").split("\n").filter((line) => /^ *\/\/ *[→←] /.test(line) &&
      !/^\/\/ → is client to server/.test(line));
    assert.equal(chapters.flatMap(({ items }) => items).length, arrows.length);
    assert.ok(arrows.length > 10, `${arrows.length} arrows`);
  });

  test("each question that this test adds belongs to a chapter of the file", () => {
    const slugs = [...SOURCE.matchAll(/^\/\/ #region \d+\. (.*)$/gm)].map(([, title = ""]) =>
      slugOf(title));
    assert.deepEqual(Object.keys(UNSAID).filter((slug) => !slugs.includes(slug)), []);
  });
});

describe("The replay bites", () => {
  const book = `// #region 1. Sums
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add",
//     "arguments":{"a":2,"b":3},"_meta":{..}}}
//   ← {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",
//     "content":[{"type":"text","text":"5"}],"_meta":{..}}}
// #region 2. Cut
//   → {"jsonrpc":
//   ← {"jsonrpc":"2.0","error":{"code":-32700,"message":".."}}
// #region 3. Shapes
//   → {"jsonrpc":"2.0","method":"notifications/x","params":{..}}    notification
// #region 4. Silence
//   → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{..}}
//   → {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
// #region 5. Headers
//   → Mcp-Method: tools/call
//     Mcp-Name: =?base64?Y2Fmw6k=?=            the tool "café"
// #region 6. Posts
//   → POST /mcp HTTP/1.1
//     Content-Type: application/json
//     Accept: application/json, text/event-stream
//     MCP-Protocol-Version: 2026-07-28
//     Mcp-Method: tools/list
//   ← HTTP/1.1 200 OK
//     Content-Type: application/json
// #region 7. HTTP server
//   ← HTTP/1.1 200 OK
//     Content-Type: text/event-stream
//
//     data: {"jsonrpc":"2.0","method":"notifications/progress","params":{..}}
//
//     data: {"jsonrpc":"2.0","id":1,"result":{..}}
// #region 8. Events
//   event: message
//   data: {"jsonrpc":"2.0","id":1,"result":{..}}
`;
  const faults = async (text: string) => (await Promise.all(chaptersOf(text).map(faultsOf))).flat();

  test("a sound text has no faults", async () => assert.deepEqual(await faults(book), []));

  for (const [fault, from, to] of [
    ["a wrong result", '"text":"5"', '"text":"6"'],
      ["a result too many", '"_meta":{..}}}\n// #region 2',
      '"_meta":{..},"more":1}}\n// #region 2'],
    ["a wrong id", '← {"jsonrpc":"2.0","id":1,"result":{"resultType"',
      '← {"jsonrpc":"2.0","id":2,"result":{"resultType"'],
    ["a wrong code", "-32700", "-32600"], ["a number for a text", '"message":".."', '"message":1'],
    ["a wrong word for a shape", "}    notification", "}    request"],
      ["an answer that is not shown", '{"requestId":1}', '{"requestId":2}'],
    ["an answer that does not come", '{"requestId":1}}',
      '{"requestId":1}}\n//   ← {"jsonrpc":"2.0","id":1,"result":{..}}'],
    ["a broken line", '"name":"add",\n', '"name":"add"\n'],
      ["a wrong encoding", "Y2Fmw6k=", "Y2Fm6Q=="],
      ["a header too many", "//     Mcp-Name:", "//     Mcp-Sort: x\n//     Mcp-Name:"],
    ["a wrong status", "200 OK\n//     Content-Type: application/json",
      "202 Accepted\n//     Content-Type: application/json"],
    ["a wrong header", "OK\n//     Content-Type: application/json",
      "OK\n//     Content-Type: text/plain"],
      ["a missing header", "//     MCP-Protocol-Version: 2026-07-28\n", ""],
    ["an event too many", '// #region 8',
      '//\n//     data: {"jsonrpc":"2.0","method":"notifications/x"}\n// #region 8'],
    ["a wrong event", "notifications/progress", "notifications/message"],
      ["no message in an event", 'data: {"jsonrpc":"2.0","id":1,"result":{..}}\n`', 'data: {}\n`'],
    ["prose behind an arrow", "// #region 3", "//   → and so on\n// #region 3"],
      ["an answer without a question", "// #region 3",
      '// #region 9. Lost\n//   ← {"jsonrpc":"2.0","id":1,"result":{..}}\n// #region 3'],
  ] as const) {
    const planted = from.endsWith("`")
      ? book.replace(new RegExp(`${from.slice(0, -2).replace(/[{}.[\]"]/g, "\\$&")}\\n$`),
      to.slice(0, -1)) : book.replace(from, to);
    test(`${fault} is caught`, async () => {
      assert.notEqual(planted, book);
      assert.equal((await faults(planted)).length, 1);
    });
  }
});
