// The demo and the demo server: a conversation that is told byte by byte, each kind
// of message explained once, and a server that is this book.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { answering, columnsOf, connect, demoServer, ProtocolError, type Answers,
  type CallOptions, type Client, type JSONRPCNotification,
} from "../../mcp-raw.ts";
import { program, run, shownBytes } from "../kit-cli.ts";

const TITLES = ["The client asks who is there", "It asks for the tools, and gets the first of them",
  "A call that works", "A result for programs", "A picture", "A call that fails in the tool",
  "A call of a tool that is not there", "A call that tells how far it is",
  "A long call that the client gives up", "A tool that has to ask the user", "Things to read",
  "Texts to pick from a menu", "A header that lies about the body",
  "The client wants to hear of changes, and makes one", "The end"];

/** The first lines of entries, without what differs from run to run. */
const headsOf = (stdout: string): string[] => (stdout.match(/^#.*/gm) ?? []).map((line) =>
  line.replace(/^#\d+ +\+ *\d+ms +/, "").replace(/ +\d+ B$/, "").replace(/ +/g, " "));
/** The entries whole, each up to the next or to a title. */
const entriesOf = (stdout: string): string[] =>
  stdout.split(/^(?=#\d|== )/m).filter((part) => part.startsWith("#"));
/** The bytes of all entries, with what is folded put back. */
function unfolded(entries: string[]): string[] {
  const whole: string[] = [];
  for (const entry of entries) {
    whole.push(shownBytes(entry).replace(/\.\.same (\d+) keys? as #(\d+)\.\./g, (_, count, seq) => {
      const first = JSON.parse((whole[Number(seq) - 1] ?? "").replace(/^[^{]*/, ""));
      const members = Object.entries((first.params ?? first.result)._meta).slice(0, Number(count));
      return members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",");
    }));
  }
  return whole;
}

const CALLS = ["server/discover", "tools/list", "tools/call add", "tools/call divide",
  "tools/call picture", "tools/call calculator"];
const both = (id: number, what: string): [string, string] => [`C->S request id=${id} ${what}`,
  `S->C result id=${id} ${what}`];
const UP_TO_COUNT = [...CALLS.flatMap((what, at) => both(at + 1, what)),
  "C->S request id=7 tools/call subtract", "S->C error id=7 -32602 Unknown tool: subtract",
  "C->S request id=8 tools/call count"];
const COUNTED = ["S->C notification notifications/message",
  "S->C notification notifications/progress", "S->C notification notifications/progress",
  "S->C result id=8 tools/call count"];
const AFTER_SLEEP = [...both(10, "tools/call book_table"), ...both(11, "tools/call book_table"),
  ...both(12, "resources/list"), ...both(13, "resources/templates/list"),
  ...both(14, "resources/read note:latest"), ...both(15, "prompts/list"),
  ...both(16, "completion/complete explain_word"), ...both(17, "prompts/get explain_word")];
const CHANGES = ["S->C notification id=18 notifications/resources/list_changed",
  "S->C notification id=18 notifications/resources/updated note:latest"];
const [ADDED, NOTED] = both(19, "tools/call add_note");

describe("the demo", { concurrency: true }, () => {
  test("over stdio it shows every kind of message, on stdout alone, and a reader that leaves " +
    "does no harm", async () => {
    const [{ code, stdout, stderr }, left] =
      await Promise.all([program(["demo", "--era", "modern"]), program(["demo", "--era", "modern"], { head: 10 })]);
    assert.deepEqual([code, stderr, left.code, left.stderr], [0, "", 0, ""]);
    assert.deepEqual(stdout.match(/^== .*/gm)?.map((line) => line.slice(3)),
      TITLES.filter((title) => !title.includes("header")));
    assert.deepEqual(headsOf(stdout), [...UP_TO_COUNT, ...COUNTED,
      "C->S request id=9 tools/call sleep", "C->S notification id=9 notifications/cancelled",
      ...AFTER_SLEEP, "C->S request id=18 subscriptions/listen",
      "S->C notification id=18 notifications/subscriptions/acknowledged", ADDED, ...CHANGES, NOTED,
      "S->C result id=18 subscriptions/listen", "S->C notification id=18 notifications/cancelled"]);
    const note = "  The server notes: sleep nap aborted: cancelled by the client: no longer needed";
    assert.ok(stdout.includes(`\n${note}\n`), stdout);
    // Each message, its folds undone, is JSON of the size that its first line says.
    const entries = entriesOf(stdout);
    for (const [at, bytes] of unfolded(entries).entries()) {
      const [, size] = / (\d+) B$/m.exec(entries[at] ?? "") ?? [];
      assert.equal(Buffer.byteLength(bytes), Number(size), bytes);
      assert.equal(JSON.parse(bytes).jsonrpc, "2.0");
    }
    // It is meant to be read.
    const lines = stdout.split("\n");
    assert.ok(lines.length <= 270, `${lines.length} lines`);
    const wide = lines.filter((line) => columnsOf(line) > 100 && !/"(?:data|requestState)":/.test(line));
    assert.deepEqual(wide, []);
  });

  test("over HTTP it tells the same, and that a header which lies about the body is refused with " +
    "-32020", async () => {
    const { code, stdout, stderr } = await run(["demo", "--http", "--era", "modern"]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(stdout.match(/^== .*/gm)?.map((line) => line.slice(3)), TITLES);
    // Of two streams that answer at the same time, neither has to be first.
    const heads = headsOf(stdout).filter((head) => !/(?:opens|comment)$/.test(head));
    const changes = heads.splice(heads.indexOf(ADDED) + 1, 3);
    assert.deepEqual(changes.sort(), [...CHANGES, NOTED].sort());
    assert.deepEqual(heads, [...UP_TO_COUNT, ...COUNTED,
      "C->S request id=9 tools/call sleep", "C->S closes", ...AFTER_SLEEP,
      "C->S request id=1 server/discover",
      'S->C error id=1 -32020 Header mismatch: Mcp-Method is "tools/list", the …',
      "C->S request id=18 subscriptions/listen",
      "S->C notification id=18 notifications/subscriptions/acknowledged", ADDED,
      "S->C result id=18 subscriptions/listen"]);
    const lines = [
      "  > POST http://127.0.0.1:PORT/mcp\n  > accept: application/json, text/event-stream",
      "  < 400  ..same 1 header as #1..\n" + '  | {"jsonrpc":"2.0","id":1,"error":{"code":-32020,',
      "  > POST http://127.0.0.1:PORT/mcp  ..same 3 headers as #1..\n  > mcp-method: tools/list\n" +
        '  | {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{..same 3 keys as #1..}}}',
      "  The server notes: sleep nap aborted: the client closed the connection",
    ];
    const somePort = stdout.replace(/:\d+\/mcp/g, ":PORT/mcp");
    for (const line of lines) assert.ok(somePort.includes(`\n${line}\n`), `${line}\n${stdout}`);
  });

  for (const [flags, least] of [["--http --era modern", 50], ["--http --era legacy", 20],
    ["--era legacy", 15], ["--http", 60]] as const) {
    test("each kind of message is explained where it is seen first, and nothing is said twice, " +
      `with ${flags}`, async () => explains((await run(["demo", ...flags.split(" ")])).stdout, least));
  }
  function explains(stdout: string, least: number): void {
    const said: string[] = stdout.match(/^ {2}(?:is|why|must|should) .*/gm) ?? [];
    assert.ok(said.length >= least, `${said.length} explanations`);
    assert.deepEqual(said.filter((line, at) => said.indexOf(line) !== at), []);
    // In words for whoever knows JSON, and not MCP.
    const jargon = new RegExp("\\b(?:capability|handshake|MRTR|primitive|revision|round trips?|" +
      "stateless|subscriptions?|templates?)\\b", "i");
    assert.deepEqual(said.filter((line) => jargon.test(line.replace(/\(spec [^)]+\)/, ""))), []);
    const silent: string[] = [];
    const seen = new Set<string>();
    for (const entry of entriesOf(stdout)) {
      const [head = ""] = headsOf(entry);
      const kind = /^C->S request \S+ (\S+)|(result \S+ \S+)|(notification).* (notifications\S+)/
        .exec(head)?.slice(1).filter(Boolean).join(" ").replace(/id=\S+ /, "") ?? head;
      if (!seen.has(kind) && !/^ {2}is /m.test(entry)) silent.push(head);
      seen.add(kind);
    }
    assert.deepEqual(silent, []);
  }
});

/** The demo server under a client with these answers, and what it says besides results. */
function meet(answers: Answers = {}) {
  const heard: JSONRPCNotification[] = [];
  const asked: { key: string; message?: string }[] = [];
  const watch = <P, R>(answer: ((params: P) => R) | undefined) => answer &&
    ((params: P, { key }: { key: string }) => {
      asked.push({ key, message: (params as { message: string }).message });
      return answer(params);
    });
  const { form, url, sample, roots } = answers;
  const client = connect(demoServer().exchange, answering({ ...(roots && { roots }),
    ...(form && { form: watch(form as never) as never }),
    ...(url && { url: watch(url as never) as never }),
    ...(sample && { sample: watch(sample as never) as never }) }));
  const call = async (name: string, given: object = {}, how: CallOptions = {}, _meta = {}) => {
    const onNotification = (one: JSONRPCNotification): void => void heard.push(one);
    const result = await client.call("tools/call",
      { name, arguments: { ...given }, _meta }, { onNotification, ...how });
    return result.content.map((block) => block.type === "text" ? block.text : block);
  };
  return { client, call, heard, asked };
}
const refused = (code: number) => (error: unknown) =>
  error instanceof ProtocolError && error.code === code;

describe("the tools of the demo server", () => {
  test("each has a title, a description and annotations, and only those that change something are " +
    "not marked as reading (spec server/tools#tool)", async () => {
    const tools = await meet().client.list("tools/list", "tools");
    assert.deepEqual(tools.map(({ name }) => name), ["add", "get_current_time", "echo", "calculator",
      "divide", "picture", "count", "sleep", "book_table", "guess_number", "open_page", "ask_model",
      "list_roots", "add_note"]);
    for (const { name, title, description, annotations } of tools) {
      assert.ok(title && description && annotations, name);
    }
    const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true);
    assert.deepEqual(writing.map(({ name }) => name), ["book_table", "add_note"]);
  });

  test("count tells its progress under the token and logs at the level that were asked for, else " +
    "nothing (spec basic/patterns/progress#progress-flow)", async () => {
    const { call, heard } = meet();
    assert.deepEqual(await call("count", { to: 2, ms: 0 }), ["Counted to 2"]);
    assert.deepEqual(heard, []);
    await call("count", { to: 2, ms: 0 }, { onProgress() {} },
      { "io.modelcontextprotocol/logLevel": "info" });
    const progress = (at: number) => ({ jsonrpc: "2.0", method: "notifications/progress",
      params: { progressToken: "p1", progress: at, total: 2, message: `Said ${at}` } });
    assert.deepEqual(heard, [{ jsonrpc: "2.0", method: "notifications/message",
      params: { level: "info", data: "Counting to 2" } }, progress(1), progress(2)]);
  });

  test("book_table books for who is named in the form, and for nobody who declines or cancels " +
    "(spec client/elicitation#response-actions)", async () => {
    const { call, asked } = meet({ form: () => ({ action: "accept", content: { name: "Ada" } }) });
    assert.deepEqual(await call("book_table"), ["A table for 2 is booked for Ada"]);
    assert.deepEqual(asked, [{ key: "party", message: "A table for whom?" }]);
    for (const action of ["decline", "cancel"] as const) {
      assert.deepEqual(await meet({ form: () => ({ action }) }).call("book_table"),
        ["No table is booked"]);
    }
    await assert.rejects(meet().call("book_table"), refused(-32021));
  });

  test("guess_number keeps to one number over its rounds, on whichever server they land " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const guesses: number[] = [];
    let [low, high] = [1, 10];
    const { call, asked } = meet({ form({ message }) {
      const [, more] = /^It is (more|less) than/.exec(message) ?? [];
      const last = guesses.at(-1) ?? 0;
      if (more === "more") low = last + 1;
      if (more === "less") high = last - 1;
      guesses.push(Math.floor((low + high) / 2));
      return { action: "accept", content: { guess: guesses.at(-1) ?? 0 } };
    } });
    const [text] = await call("guess_number");
    assert.equal(text, `${guesses.at(-1)} it is, found in turn ${guesses.length}`);
    assert.deepEqual(asked.map(({ key }) => key), guesses.map((_, at) => `turn ${at + 1}`));
    assert.deepEqual(await meet({ form: () => ({ action: "cancel" }) }).call("guess_number"),
      ["Another time, then"]);
  });

  test("open_page asks for a page to be opened, ask_model for a message, list_roots for folders, " +
    "each only where the client can (spec basic/patterns/mrtr#server-requirements-basic-workflow)",
    async () => {
    const urls: string[] = [];
    const { call } = meet({
      url({ url }) {
        urls.push(url);
        return { action: "accept" };
      },
      sample: ({ messages }) => ({ role: "assistant", model: "m", content:
        { type: "text", text: JSON.stringify(messages) } }),
      roots: [{ uri: "file:///home/ada" }],
    });
    assert.deepEqual(await call("open_page"), ["The user chose: accept"]);
    assert.match(urls.join(), /^https:\/\/modelcontextprotocol\.io\/\S+$/);
    assert.deepEqual(await call("ask_model", { text: "Hello?" }),
      ['[{"role":"user","content":{"type":"text","text":"Hello?"}}]']);
    assert.deepEqual(await call("list_roots"), ['{"roots":[{"uri":"file:///home/ada"}]}']);
    const { call: bare } = meet();
    for (const name of ["open_page", "list_roots"]) await assert.rejects(bare(name), refused(-32021));
    await assert.rejects(bare("ask_model", { text: "Hello?" }), refused(-32021));
  });

  test("add_note adds a resource, keeps the last hundred, and those who listen hear of it " +
    "(spec basic/patterns/subscriptions#receiving-notifications)", async () => {
    const { client, call } = meet();
    const read = async (uri: string) => (await client.call("resources/read", { uri })).contents;
    assert.deepEqual(await read("note:latest"), [{ uri: "note:latest", mimeType: "text/plain",
      text: "Nothing yet. The tool add_note writes here." }]);
    const heard: unknown[] = [];
    const controller = new AbortController();
    const filter = { resourcesListChanged: true, resourceSubscriptions: ["note:latest"] };
    const listening = client.call("subscriptions/listen", { notifications: filter },
      { signal: controller.signal, onNotification: ({ method, params }) =>
        void heard.push([method, params?.uri]) });
    assert.deepEqual(await call("add_note", { text: "one" }),
      [{ type: "resource_link", uri: "note:1", name: "note:1", mimeType: "text/plain" }]);
    assert.deepEqual(heard, [["notifications/subscriptions/acknowledged", undefined],
      ["notifications/resources/list_changed", undefined],
      ["notifications/resources/updated", "note:latest"]]);
    for (let at = 2; at <= 101; at++) await call("add_note", { text: `${at}` });
    const notes = (await client.list("resources/list", "resources"))
      .filter(({ uri }) => uri.startsWith("note:"));
    assert.deepEqual([notes.length, notes[0]?.uri, notes[1]?.uri], [101, "note:latest", "note:2"]);
    assert.deepEqual((await read("note:101"))[0], { uri: "note:101", mimeType: "text/plain",
      text: "101" });
    controller.abort();
    await assert.rejects(listening);
  });
});

const CHAPTERS = [...readFileSync(new URL("../../mcp-raw.ts", import.meta.url), "utf8")
  .matchAll(/^\/\/ #region (\d+\. (.*))\n[^]*?^\/\/ #endregion$/gm)];

describe("the demo server is the book", () => {
  const { client } = meet();
  const read = async (uri: string) => (await client.call("resources/read", { uri })).contents;
  const complete = async (ref: object, name: string, value: string) => (await client.call(
    "completion/complete", { ref: ref as never, argument: { name, value } })).completion;
  const REF = { type: "ref/resource", uri: "mcp-raw://chapter/{name}" };

  test("each chapter of the file is a resource with its number, its title and what it is about " +
    "(spec server/resources#listing-resources)", async () => {
    const resources = (await client.list("resources/list", "resources"))
      .filter(({ uri }) => uri.startsWith("mcp-raw:"));
    assert.deepEqual(resources.map(({ title }) => title), CHAPTERS.map(([, title]) => title));
    assert.deepEqual(resources[0], { uri: "mcp-raw://chapter/messages", name: "messages",
      title: "1. Messages", mimeType: "text/x-typescript",
      description: "Two programs send each other JSON objects: JSON-RPC 2.0." });
    for (const { description = "", title } of resources) {
      assert.match(description, /^[A-Z].*\.$/, String(title));
    }
    for (const [at, { uri }] of resources.entries()) {
      assert.deepEqual(await read(uri), [{ uri, mimeType: "text/x-typescript",
        text: CHAPTERS[at]?.[0] }]);
    }
  });

  test("a chapter is read through the template too, its name is completed, and there is no other " +
    "(spec server/resources#resource-templates)", async () => {
    const [template] = await client.list("resources/templates/list", "resourceTemplates");
    assert.equal(template?.uriTemplate, REF.uri);
    const [{ text } = { text: "" }] = await read("mcp-raw://chapter/%6dessages") as { text: string }[];
    assert.match(text, /^\/\/ #region 1\. Messages\n/);
    assert.deepEqual((await complete(REF, "name", "Mess")).values.includes("messages"), true);
    assert.deepEqual(await complete(REF, "name", "no such"), { values: [], total: 0, hasMore: false });
    await assert.rejects(read("mcp-raw://chapter/no-such"), refused(-32602));
  });

  test("a prompt puts a chapter before a model, for a reader of some level " +
    "(spec server/prompts#embedded-resources)", async () => {
    const get = (given: { chapter: string; level?: string }) =>
      client.call("prompts/get", { name: "explain_chapter", arguments: given });
    const { messages } = await get({ chapter: "messages", level: "implementer" });
    assert.deepEqual(messages, [
      { role: "user", content: { type: "text", text:
        "Explain what this chapter of mcp-raw.ts does for MCP. My level: implementer." } },
      { role: "user", content: { type: "resource", resource: { text: CHAPTERS[0]?.[0],
        uri: "mcp-raw://chapter/messages", mimeType: "text/x-typescript" } } }]);
    const prompt = { type: "ref/prompt", name: "explain_chapter" };
    assert.deepEqual((await complete(prompt, "level", "p")).values[0], "programmer");
    assert.ok((await complete(prompt, "chapter", "json")).values.includes("json-schema"));
    await assert.rejects(get({ chapter: "no-such" }), refused(-32602));
  });

  test("where the file cannot be read there are no chapters, and all else works", async () => {
    const { transformSync } = await import("esbuild");
    const source = readFileSync(new URL("../../mcp-raw.ts", import.meta.url), "utf8");
    const { code } = transformSync(source, { loader: "ts", format: "esm" });
    const elsewhere = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const there: Client = connect(elsewhere.demoServer().exchange);
    const resources = await there.list("resources/list", "resources");
    assert.deepEqual(resources.map(({ uri }) => uri), ["note:latest"]);
    await assert.rejects(there.call("resources/read", { uri: "mcp-raw://chapter/messages" }),
      refused(-32602));
  });
});
