// Every feature of 2026-07-28 between mcp-raw and the official SDK v2, over both
// transports: its client uses the demo server, `call` uses a server made with it,
// and a witness between them holds each message against the specification.

import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { ClientCapabilities, ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  FILE,
  PEERS,
  TSX,
  cleanEnv,
  launch,
  mcpRaw,
  serving,
  until,
  type Launched,
  type Running,
} from "./kit.ts";
import { faultsOf, witnessCommand, witnessUrl, type Side, type Witness } from "./witness.ts";

const FIXTURE = [process.execPath, `${PEERS}/fixtures/sdk2-features.mjs`];
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";

type Fields = Record<string, unknown>;
interface Heard {
  method: string;
  params?: Fields;
}
/** An SDK v2 client that is connected to a server, with a witness between the two. */
class Peer {
  readonly client: Client;
  /** What the user says next, first things first. */
  readonly answers: ElicitResult[] = [];
  /** Says it instead, where it is there. */
  think: ((params: ElicitRequest["params"]) => ElicitResult) | undefined;
  readonly asked: ElicitRequest["params"][] = [];
  readonly heard: Heard[] = [];
  stderr: () => string = () => "";
  witness: Witness = { heard: () => [], close() {} };
  /** Sends the server a signal. */
  signal: (name: NodeJS.Signals) => void = () => {};
  private end: () => void = () => {};

  constructor(
    capabilities: ClientCapabilities = {
      elicitation: { form: {}, url: {} },
      roots: {},
      sampling: {},
    },
  ) {
    const options = { versionNegotiation: { mode: { pin: "2026-07-28" } }, capabilities };
    const client = new Client({ name: "sdk2", version: "1.0.0" }, options);
    this.client = client;
    client.fallbackNotificationHandler = async (notification) => {
      this.heard.push(notification as Heard);
    };
    if (Object.keys(capabilities).length === 0) return;
    client.setRequestHandler("elicitation/create", ({ params }) => {
      this.asked.push(params);
      return this.think?.(params) ?? this.answers.shift() ?? { action: "decline" };
    });
    client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work" }] }));
    client.setRequestHandler("sampling/createMessage", () => ({
      role: "assistant",
      model: "parrot",
      content: { type: "text", text: "what you said" },
    }));
  }

  async overStdio(command: readonly string[]): Promise<void> {
    const witness = witnessCommand(command);
    const [program = "", ...args] = witness.command;
    const options = { command: program, args, env: cleanEnv(), stderr: "pipe" as const };
    const transport = new StdioClientTransport(options);
    let stderr = "";
    transport.stderr?.on("data", (chunk) => {
      stderr += chunk;
    });
    this.stderr = () => stderr;
    this.signal = (name) => process.kill(transport.pid ?? assert.fail("no process"), name);
    this.witness = witness;
    await this.client.connect(transport);
  }

  async overHttp([program = "", ...args]: readonly string[]): Promise<void> {
    const server = await serving(program, (port) => [...args, String(port)]);
    const witness = await witnessUrl(server.url);
    this.end = server.stop;
    this.stderr = server.stderr;
    this.signal = server.signal;
    this.witness = witness;
    await this.client.connect(new StreamableHTTPClientTransport(new URL(witness.url)));
  }

  call(name: string, args: Fields = {}): ReturnType<Client["callTool"]> {
    return this.client.callTool({ name, arguments: args });
  }
  /** What a tool says, as one text, when the user answers so. */
  async says(name: string, args: Fields = {}, ...answers: ElicitResult[]): Promise<string> {
    this.asked.length = 0;
    this.answers.splice(0, Infinity, ...answers);
    const { content } = await this.call(name, args);
    assert.equal(this.answers.length, 0, "every answer is used");
    return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  }

  /** Everything that one side did wrong so far. */
  faults(side: Side): string[] {
    const all = this.witness.heard().flatMap(faultsOf);
    return all.filter(({ by }) => by === side).map(({ what }) => what);
  }

  async close(): Promise<void> {
    await this.client.close();
    this.witness.close();
    this.end();
  }
}

const accept = (content: Record<string, string | number | boolean | string[]>): ElicitResult => ({
  action: "accept",
  content,
});
/** That a call fails as a protocol error with this code; gives the error. */
async function refused(call: Promise<unknown>, code: number): Promise<ProtocolError> {
  const error: unknown = await call.then(
    (result) => assert.fail(`not refused: ${JSON.stringify(result)}`),
    (fault: unknown) => fault,
  );
  assert.ok(error instanceof ProtocolError, String(error));
  assert.equal(error.code, code, error.message);
  return error;
}

interface Way {
  connect(peer: Peer, command: readonly string[]): Promise<void>;
  /** The option of `serve`. */
  flag: string;
  /** What a header for the argument "eu-west" arrives as. */
  header: string;
}
const WAYS: Record<string, Way> = {
  stdio: {
    connect: (peer, command) => peer.overStdio(command),
    flag: "--stdio",
    header: "nothing",
  },
  HTTP: { connect: (peer, command) => peer.overHttp(command), flag: "--http", header: "eu-west" },
};
const SERVE = [...TSX, FILE, "serve"];
const MODULE = ["--module", `${PEERS}/fixtures/raw-features.ts`];

for (const [transport, { connect, header }] of Object.entries(WAYS)) {
  describe(`the fixture does over ${transport} what SDK v2 itself understands`, () => {
    const peer = new Peer();
    const { client } = peer;
    before(() => connect(peer, FIXTURE));
    after(() => peer.close());

    test("every tool answers", async () => {
      const { tools } = await client.listTools();
      assert.equal(tools.length, 15);
      assert.equal(await peer.says("add", { a: 2, b: 3 }), "5");
      assert.equal((await peer.call("fail")).isError, true);
      const sky = { city: "Oslo", celsius: 21.5, sky: ["blue", "clear"] };
      assert.deepEqual((await peer.call("forecast", { city: "Oslo" })).structuredContent, sky);
      const kinds = (await peer.call("album")).content.map(({ type }) => type);
      assert.deepEqual(kinds, ["text", "image", "audio", "resource_link", "resource"]);
      const told = await peer.says("locate", { region: "eu-west" });
      assert.equal(told, `eu-west in the body, ${header} in the header`);
    });

    test("every question is asked and answered", async () => {
      const cases: [tool: string, answers: ElicitResult[], says: string][] = [
        ["register", [accept({ name: "Ada", age: 36 })], "registered Ada, 36, without a plan"],
        ["register", [{ action: "decline" }], "not registered: decline"],
        ["trip", [accept({ from: "Lima" }), accept({ to: "Oslo" })], "from Lima to Oslo"],
        ["pair", [accept({ first: "salt" }), accept({ second: "pepper" })], "salt and pepper"],
        ["wait", [], "back in round 2"],
        ["link", [{ action: "accept" }], "linked"],
        ["folders", [], "file:///work"],
        ["muse", [], "parrot says what you said"],
      ];
      for (const [tool, answers, says] of cases)
        assert.equal(await peer.says(tool, {}, ...answers), says);
      peer.answers.push(accept({ topic: "owls" }), accept({ word: "owl" }));
      assert.match(JSON.stringify(await client.getPrompt({ name: "curious" })), /about owls/);
      assert.match(
        JSON.stringify(await client.readResource({ uri: "note://secret" })),
        /word is owl/,
      );
    });

    test("progress, log messages and changes are heard", async () => {
      const progress: unknown[] = [];
      peer.heard.length = 0;
      const params = { name: "count", arguments: { to: 3 }, _meta: { [LOG_LEVEL]: "info" } };
      await client.callTool(params, { onprogress: (one) => progress.push(one) });
      assert.deepEqual(progress.at(-1), { progress: 3, total: 3, message: "number 3" });
      assert.equal(progress.length, 3);
      const warning = { level: "warning", logger: "counter", data: "the end is near" };
      assert.deepEqual(
        peer.heard.map(({ params: { _meta, ...told } = {} }) => told),
        [warning],
      );

      peer.heard.length = 0;
      const filter = { toolsListChanged: true, resourceSubscriptions: ["note://hello"] };
      const subscription = await client.listen(filter);
      assert.deepEqual(subscription.honoredFilter, filter);
      await peer.call("change");
      await until(
        () => peer.heard.length === 2,
        () => JSON.stringify(peer.heard),
      );
      await subscription.close();
      assert.deepEqual(
        peer.heard.map(({ method }) => method),
        ["notifications/tools/list_changed", "notifications/resources/updated"],
      );
    });

    test("prompts, resources, templates and completion are there", async () => {
      assert.equal((await client.listPrompts()).prompts.length, 3);
      assert.equal((await client.listResources()).resources.length, 3);
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.deepEqual(
        resourceTemplates.map(({ uriTemplate }) => uriTemplate),
        ["city://{country}/{name}"],
      );
      const { contents } = await client.readResource({ uri: "city://norway/Oslo" });
      assert.match(JSON.stringify(contents), /Oslo is in norway/);
      const ref = { type: "ref/prompt", name: "praise" } as const;
      const complete = async (name: string, value: string) =>
        (await client.complete({ ref, argument: { name, value } })).completion;
      assert.deepEqual(await complete("city", "lj"), {
        values: ["Ljubljana"],
        total: 1,
        hasMore: false,
      });
      assert.equal((await complete("tone", "")).hasMore, true);
    });

    test("a call is cancelled, and the tool stops", async () => {
      const controller = new AbortController();
      const params = { name: "slow", arguments: {} };
      const rejected = assert.rejects(client.callTool(params, { signal: controller.signal }));
      await until(() => peer.stderr().includes("slow begins"), peer.stderr);
      controller.abort("enough");
      await rejected;
      await until(() => peer.stderr().includes("slow aborted"), peer.stderr);
    });

    test("the witness has heard all of it, and nothing is wrong with what the server said", () => {
      const heard = peer.witness.heard().flat();
      assert.ok(heard.length > 80, `${heard.length} messages`);
      assert.deepEqual(peer.faults("server"), []);
    });
  });
}

for (const [transport, { connect, flag }] of Object.entries(WAYS)) {
  describe(`the SDK v2 client uses the demo server over ${transport}`, () => {
    const peer = new Peer();
    const { client } = peer;
    before(() => connect(peer, [...SERVE, flag]));
    after(() => peer.close());

    test("discovers what it is and what it offers (spec server/discover)", () => {
      assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
      assert.equal(client.getServerVersion()?.name, "mcp-raw");
      assert.match(client.getInstructions() ?? "", /MCP/);
      const offers = client.getServerCapabilities();
      for (const name of ["tools", "resources", "prompts", "completions", "logging"] as const)
        assert.ok(offers?.[name], name);
      assert.deepEqual(offers?.resources, { subscribe: true, listChanged: true });
    });

    test("calls tools: text, structure, a picture, and what went wrong " +
      "(spec server/tools)", async () => {
      assert.equal(await peer.says("calculator", { operation: "add", a: 1, b: 2 }), "1 + 2 = 3");
      const divided = await peer.call("divide", { a: 7, b: 2 });
      assert.deepEqual(divided.structuredContent, { quotient: 3, remainder: 1 });
      const [block] = (await peer.call("picture")).content;
      assert.ok(block?.type === "image" && block.mimeType === "image/png");
      assert.equal(Buffer.from(block.data, "base64").toString("latin1", 1, 4), "PNG");
      assert.equal(
        (await peer.call("calculator", { operation: "divide", a: 1, b: 0 })).isError,
        true,
      );
      assert.equal((await peer.call("add", { a: "two", b: 3 })).isError, true);
      await refused(peer.call("no_such_tool"), -32602);
    });

    test("is asked in a form, and what the user does counts " +
      "(spec client/elicitation#response-actions)", async () => {
      const given = accept({ name: "Ada", guests: 4 });
      assert.equal(await peer.says("book_table", {}, given), "A table for 4 is booked for Ada");
      const [form] = peer.asked;
      assert.ok(form !== undefined && form.mode !== "url");
      assert.deepEqual(Object.keys(form.requestedSchema.properties), ["name", "guests"]);
      for (const action of ["decline", "cancel"] as const)
        assert.match(await peer.says("book_table", {}, { action }), /^No table/);
    });

    test("is asked again when the answer does not fit the form " +
      "(spec basic/patterns/mrtr#error-handling)", async () => {
      const fine = accept({ name: "Ada", guests: 2 });
      const bad = [accept({ name: "", guests: 2 }), accept({ name: "Ada", guests: 2.5 })];
      assert.match(await peer.says("book_table", {}, ...bad, fine), /booked for Ada/);
      assert.equal(peer.asked.length, 3);
    });

    test("is asked in turn, and what the tool thought of stays " +
      "(spec basic/patterns/mrtr#basic-workflow)", async () => {
      let [low, high] = [1, 10];
      peer.think = ({ message }) => {
        const [, way, before] = /(more|less) than (\d+)/.exec(message) ?? [];
        if (way === "more") low = Number(before) + 1;
        if (way === "less") high = Number(before) - 1;
        return accept({ guess: (low + high) >> 1 });
      };
      const told = await peer.says("guess_number");
      peer.think = undefined;
      assert.match(told, /found in turn [1-4]$/); // halving finds one of ten in four turns
      const secret = Number(told.split(" ")[0]);
      assert.ok(low <= secret && secret <= high, told);
    });

    test("is asked to visit a page, for its roots, for words of its model " +
      "(spec client/elicitation)", async () => {
      assert.equal(
        await peer.says("open_page", {}, { action: "accept" }),
        "The user chose: accept",
      );
      const [page] = peer.asked;
      assert.ok(page?.mode === "url");
      assert.equal(new URL(page.url).host, "modelcontextprotocol.io");
      assert.match(await peer.says("list_roots"), /file:\/\/\/work/);
      assert.equal(await peer.says("ask_model", { text: "hello" }), "what you said");
    });

    test("may not change requestState, nor show it with another call " +
      "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
      const manual = { allowInputRequired: true };
      const call = (params: Fields) =>
        client.request(
          { method: "tools/call", params: { name: "book_table", arguments: {}, ...params } },
          manual,
        );
      const { requestState } = (await call({})) as { requestState?: string };
      assert.ok(requestState !== undefined);
      const inputResponses = { party: accept({ name: "Ada", guests: 2 }) };
      const at = requestState.length >> 1;
      const other = requestState[at] === "A" ? "B" : "A";
      const changed = requestState.slice(0, at) + other + requestState.slice(at + 1);
      await refused(call({ inputResponses, requestState: changed }), -32602);
      await refused(call({ inputResponses, requestState, name: "guess_number" }), -32602);
      assert.match(JSON.stringify(await call({ inputResponses, requestState })), /booked for Ada/);
    });

    test("hears of progress (spec basic/patterns/progress#progress-flow)", async () => {
      const heard: object[] = [];
      const params = { name: "count", arguments: { to: 4, ms: 30 } };
      await client.callTool(params, { onprogress: (one) => heard.push(one) });
      // on stdio this client forgets progress that arrives together with the result
      const told = (at: number) => ({ progress: at, total: 4, message: `Said ${at}` });
      assert.deepEqual(heard.slice(0, 3), [told(1), told(2), told(3)]);
    });

    test("gets log messages of the level that it asks for " +
      "(spec server/utilities/logging#per-request-log-level)", async () => {
      const told = async (level?: string) => {
        peer.heard.length = 0;
        const _meta = level === undefined ? {} : { [LOG_LEVEL]: level };
        await client.callTool({ name: "count", arguments: { to: 1, ms: 20 }, _meta });
        return peer.heard.map(({ method, params }) => [method, params?.level, params?.data]);
      };
      assert.deepEqual(await told("info"), [["notifications/message", "info", "Counting to 1"]]);
      assert.deepEqual(await told("warning"), []);
      assert.deepEqual(await told(), []);
      await refused(told("loud"), -32602);
    });

    test("listens until it has heard enough " +
      "(spec basic/patterns/subscriptions#receiving-notifications)", async () => {
      peer.heard.length = 0;
      const wanted = { resourcesListChanged: true, resourceSubscriptions: ["note:latest"] };
      const subscription = await client.listen(wanted);
      assert.deepEqual(subscription.honoredFilter, wanted);
      const [link] = (await peer.call("add_note", { text: "milk" })).content;
      assert.ok(link?.type === "resource_link");
      await until(
        () => peer.heard.length >= 2,
        () => JSON.stringify(peer.heard),
      );
      const methods = peer.heard.map(({ method }) => method).sort();
      assert.deepEqual(methods, [
        "notifications/resources/list_changed",
        "notifications/resources/updated",
      ]);
      const latest = await client.readResource({ uri: "note:latest" });
      assert.match(JSON.stringify(latest.contents), /milk/);
      const { resources } = await client.listResources(undefined, { cacheMode: "refresh" });
      assert.ok(
        resources.some(({ uri }) => uri === link.uri),
        link.uri,
      );
      await subscription.close();
      assert.equal(await subscription.closed, "local");
      await peer.call("add_note", { text: "bread" });
      await peer.call("echo", { text: "after that" });
      assert.equal(peer.heard.length, 2, "nothing more is heard");
    });

    test("keeps two subscriptions apart " +
      "(spec basic/patterns/subscriptions#multiple-concurrent-subscriptions)", async () => {
      peer.heard.length = 0;
      const lists = await client.listen({ resourcesListChanged: true });
      const updates = await client.listen({ resourceSubscriptions: ["note:latest"] });
      await lists.close();
      await peer.call("add_note", { text: "eggs" });
      await until(
        () => peer.heard.length > 0,
        () => JSON.stringify(peer.heard),
      );
      await updates.close();
      assert.deepEqual(
        peer.heard.map(({ method }) => method),
        ["notifications/resources/updated"],
      );
    });

    test("completes arguments and variables (spec server/utilities/completion)", async () => {
      const prompt = { type: "ref/prompt", name: "explain_chapter" } as const;
      const template = { type: "ref/resource", uri: "mcp-raw://chapter/{name}" } as const;
      type Ref = { type: "ref/prompt"; name: string } | typeof template;
      const complete = async (ref: Ref, name: string, value: string) =>
        (await client.complete({ ref, argument: { name, value } })).completion.values;
      assert.deepEqual(await complete(prompt, "level", "New"), ["newcomer"]);
      assert.ok((await complete(prompt, "chapter", "mess")).includes("messages"));
      assert.ok((await complete(template, "name", "")).length > 20);
      await refused(complete({ type: "ref/prompt", name: "none" }, "level", ""), -32602);
    });

    test("reads this book: resources, a template, what is not there " +
      "(spec server/resources)", async () => {
      const { resources } = await client.listResources();
      assert.ok(resources.some(({ uri }) => uri === "mcp-raw://chapter/messages"));
      const [template] = (await client.listResourceTemplates()).resourceTemplates;
      assert.equal(template?.uriTemplate, "mcp-raw://chapter/{name}");
      const [content] = (await client.readResource({ uri: "mcp-raw://chapter/messages" })).contents;
      assert.match(JSON.stringify(content), /#region 1\. Messages/);
      const { data } = await refused(
        client.readResource({ uri: "mcp-raw://chapter/none" }),
        -32602,
      );
      assert.deepEqual(data, { uri: "mcp-raw://chapter/none" });
    });

    test("gets prompts with their arguments filled in " +
      "(spec server/prompts#getting-a-prompt)", async () => {
      const { prompts } = await client.listPrompts();
      assert.deepEqual(prompts.map(({ name }) => name).sort(), ["explain_chapter", "explain_word"]);
      const get = (name: string, args?: Record<string, string>) =>
        client.getPrompt({ name, ...(args && { arguments: args }) });
      const { messages } = await get("explain_chapter", {
        chapter: "messages",
        level: "programmer",
      });
      assert.match(JSON.stringify(messages[0]), /programmer/);
      const { content } = messages[1] ?? {};
      assert.ok(
        content?.type === "resource" && content.resource.uri === "mcp-raw://chapter/messages",
      );
      assert.match(JSON.stringify(await get("explain_word", { word: "cursor" })), /\\"cursor\\"/);
      await refused(get("explain_word"), -32602);
      await refused(get("none"), -32602);
    });

    test("cancels a call, and the tool stops " +
      "(spec basic/patterns/cancellation#transport-specific-cancellation)", async () => {
      const controller = new AbortController();
      const params = { name: "sleep", arguments: { ms: 60_000, label: "first" } };
      const rejected = assert.rejects(client.callTool(params, { signal: controller.signal }));
      await new Promise((resolve) => setTimeout(resolve, 300));
      assert.doesNotMatch(peer.stderr(), /first/);
      controller.abort("enough");
      await rejected;
      await until(() => /sleep first aborted: \S/.test(peer.stderr()), peer.stderr);
    });

    test("every message of the server is one that the specification allows " +
      "(spec basic#messages)", () => {
      const heard = peer.witness.heard().flat();
      assert.ok(heard.length > 100, `${heard.length} messages`);
      assert.deepEqual(peer.faults("server"), []);
    });
  });

  describe(`a demo server that is told to stop, over ${transport}`, () => {
    const peer = new Peer();
    before(() => connect(peer, [...SERVE, flag]));
    after(() => peer.close());

    test("ends subscriptions in good order " +
      "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
      const subscription = await peer.client.listen({ resourcesListChanged: true });
      peer.signal("SIGTERM");
      assert.equal(await subscription.closed, "graceful");
      assert.deepEqual(peer.faults("server"), []);
    });
  });

  describe(`an SDK v2 client that declares nothing, over ${transport}`, () => {
    const peer = new Peer({});
    before(() => connect(peer, [...SERVE, flag]));
    after(() => peer.close());

    test("is not asked, and told what it would have to declare " +
      "(spec basic#error-codes)", async () => {
      const needs: [tool: string, args: Fields, needed: Fields][] = [
        ["book_table", {}, { elicitation: { form: {} } }],
        ["open_page", {}, { elicitation: { url: {} } }],
        ["ask_model", { text: "hello" }, { sampling: {} }],
        ["list_roots", {}, { roots: {} }],
      ];
      for (const [tool, args, requiredCapabilities] of needs) {
        const { data } = await refused(peer.call(tool, args), -32021);
        assert.deepEqual(data, { requiredCapabilities });
      }
      assert.deepEqual(peer.faults("server"), []);
    });
  });
}

for (const [transport, { connect, flag, header }] of Object.entries(WAYS)) {
  describe(`the SDK v2 client uses what the demo server does not show, over ${transport}`, () => {
    const peer = new Peer();
    const { client } = peer;
    before(() => connect(peer, [...SERVE, ...MODULE, flag]));
    after(() => peer.close());

    test("lists go on from page to page, and hold each entry once " +
      "(spec server/utilities/pagination)", async () => {
      const names = (await client.listTools()).tools.map(({ name }) => name);
      assert.deepEqual(names, ["pair", "trip", "wait", "choose", "locate", "waver", "grow", "finish"]);
      const page = await client.request({ method: "tools/list", params: {} });
      assert.equal(page.tools.length, 2);
      assert.equal(typeof page.nextCursor, "string");
      await refused(client.listTools({ cursor: "of nobody" }), -32602);
      assert.equal((await client.listPrompts()).prompts.length, 3);
      assert.equal((await client.listResources()).resources.length, 2);
    });

    test("questions come together or in turn, and work is done once " +
      "(spec basic/patterns/mrtr#basic-workflow)", async () => {
      const together = [accept({ first: "salt" }), accept({ second: "pepper" })];
      assert.equal(await peer.says("pair", {}, ...together), "salt and pepper");
      const inTurn = [accept({ from: "Lima" }), accept({ to: "Oslo" })];
      assert.equal(await peer.says("trip", {}, ...inTurn), "from Lima to Oslo, ticket 1 of 1");
    });

    test("a form may have every kind of field " +
      "(spec client/elicitation#requested-schema)", async () => {
      const content = { email: "a@b.example", share: 0.5, size: "M", color: "#f00", days: ["Mo"] };
      const told = await peer.says("choose", {}, accept(content));
      assert.deepEqual(
        { ...JSON.parse(told.slice("accept ".length)), agree: "?" },
        { ...content, agree: "?" },
      );
    });

    test("a client goes round once more without a question " +
      "(spec basic/patterns/mrtr#inputrequiredresult)", async () => {
      assert.equal(await peer.says("wait"), "back with round 1");
    });

    test("prompts and resources ask too " +
      "(spec basic/patterns/mrtr#supported-requests)", async () => {
      peer.answers.push(accept({ topic: "owls" }), accept({ word: "owl" }));
      assert.match(JSON.stringify(await client.getPrompt({ name: "curious" })), /about owls/);
      assert.match(
        JSON.stringify(await client.readResource({ uri: "note:secret" })),
        /word is owl/,
      );
    });

    test("completion depends on what was chosen before " +
      "(spec server/utilities/completion)", async () => {
      const ref = { type: "ref/resource", uri: "city:{country}/{name}" } as const;
      const argument = { name: "name", value: "o" };
      const context = { arguments: { country: "norway" } };
      assert.deepEqual((await client.complete({ ref, argument, context })).completion.values, [
        "Oslo",
      ]);
      const [city] = (await client.readResource({ uri: "city:norway/Oslo" })).contents;
      assert.match(JSON.stringify(city), /Oslo is in norway/);
      await refused(client.readResource({ uri: "city:greece/Atlantis" }), -32602);
    });

    test("bytes arrive as they are (spec server/resources#binary-content)", async () => {
      const [content] = (await client.readResource({ uri: "note:bytes" })).contents;
      assert.ok(content !== undefined && "blob" in content);
      assert.deepEqual([...Buffer.from(content.blob, "base64")], [137, 80, 78, 71]);
    });

    test("an argument travels in its header " +
      "(spec basic/transports/streamable-http#custom-headers-from-tool-parameters)", async () => {
      const told = await peer.says("locate", { region: "eu-west" });
      assert.equal(told, `eu-west in the body, ${header} in the header`);
    });

    test("progress grows, whatever the tool says " +
      "(spec basic/patterns/progress#progress-flow)", async () => {
      const heard: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => heard.push(progress);
      await client.callTool({ name: "waver", arguments: {} }, { onprogress });
      assert.deepEqual(heard, [1, 5, 6]);
    });

    test("lists that grow are heard of, and what lies under a resource " +
      "(spec basic/patterns/subscriptions#notification-filter)", async () => {
      peer.heard.length = 0;
      const kinds = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
      };
      const subscription = await client.listen({
        ...kinds,
        resourceSubscriptions: ["note:/shelf"],
      });
      assert.equal(await peer.says("grow"), "grown");
      await until(
        () => peer.heard.length >= 4,
        () => JSON.stringify(peer.heard),
      );
      assert.deepEqual(peer.heard.map(({ method }) => method).sort(), [
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/tools/list_changed",
      ]);
      assert.equal(await peer.says("grown_1"), "grown_1");
      assert.equal((await client.listTools()).tools.length, 9);
      await subscription.close();
    });

    test("a subscription that the server ends, ends in good order " +
      "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
      const subscription = await client.listen({ toolsListChanged: true });
      await peer.call("finish");
      assert.equal(await subscription.closed, "graceful");
    });

    test("every message of the server is one that the specification allows " +
      "(spec basic#messages)", () => {
      const heard = peer.witness.heard().flat();
      assert.ok(heard.length > 50, `${heard.length} messages`);
      assert.deepEqual(peer.faults("server"), []);
    });
  });
}

const launchRaw = (...args: string[]): Launched => {
  const [node, ...rest] = TSX;
  return launch(node, [...rest, FILE, ...args]);
};
/** The methods of the notifications that `call --listen` has printed. */
const heardIn = (stdout: string): string[] =>
  stdout
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as Heard).method);

/** Where `call` finds the fixture, with a witness on the way. */
interface Target {
  words: string[];
  witness: Witness;
}
const RAW_CASES: {
  does: string;
  args: string[];
  stdout: string | RegExp;
  stderr?: RegExp;
  code?: number;
}[] = [
  { does: "prints the text of a result", args: ["add", "a=2", "b=40"], stdout: "42\n" },
  {
    does: "exits 5 when a tool fails",
    args: ["fail"],
    stdout: /this tool always fails/,
    stderr: /"fail" failed/,
    code: 5,
  },
  {
    does: "exits 5 when there is no such tool, and names those that there are",
    args: ["nothing"],
    stdout: "",
    stderr: /add, fail, forecast/,
    code: 5,
  },
  {
    does: "gives a structured result to programs",
    args: ["forecast", "city=Oslo", "--json"],
    stdout: /"structuredContent":\{"city":"Oslo","celsius":21\.5,"sky":\["blue","clear"\]\}/,
  },
  {
    does: "says of each block what it is",
    args: ["album"],
    stdout:
      "one of each\n[image image/png 71 bytes]\n[audio audio/wav 44 bytes]\n" +
      "[resource_link note://hello]\n[resource text/plain 6 characters note://inner]\n",
  },
  {
    does: "shows progress and log on stderr",
    args: ["count", "to=3"],
    stdout: "counted to 3\n",
    stderr: /1 of 3 +number 1\n[^]*2 of 3 +number 2\n[^]*3 of 3 +number 3\n[^]*warning: the end/,
  },
  {
    does: "is quiet when told so",
    args: ["count", "to=3", "-q"],
    stdout: "counted to 3\n",
    stderr: /^$/,
  },
  {
    does: "fills in a form, and what the form presumes",
    args: ["register", "--answer", "name=Ada", "--answer", "age=36"],
    stdout: "registered Ada, 36, free\n",
  },
  {
    does: "sends no answer that does not fit the form",
    args: ["register", "--answer", "name=A"],
    stdout: "",
    stderr: /name does not fit: expected at least 2 characters/,
    code: 1,
  },
  {
    does: "declines a form",
    args: ["register", "--decline"],
    stdout: "not registered: decline\n",
    stderr: /asks: "?Who are you\?/,
  },
  {
    does: "declines a form when nobody is there to fill it in, and says what would",
    args: ["register"],
    stdout: "not registered: decline\n",
    stderr: /--answer name=/,
  },
  {
    does: "answers question after question, and gives requestState back",
    args: ["trip", "--answer", "from=Lima", "--answer", "to=Oslo"],
    stdout: "from Lima to Oslo\n",
  },
  {
    does: "answers two questions at once",
    args: ["pair", "--answer", "first=salt", "--answer", "second=pepper"],
    stdout: "salt and pepper\n",
  },
  { does: "goes round once more without a question", args: ["wait"], stdout: "back in round 2\n" },
  {
    does: "shows a URL in full, and opens nothing",
    args: ["link"],
    stdout: "not linked: decline\n",
    stderr: /https:\/\/example\.com\/sign-in\n[^]*example\.com/,
  },
  {
    does: "tells its roots",
    args: ["folders", "--root", PEERS],
    stdout: /^file:\/\/\/.*test\/peers\/?\n$/,
  },
  {
    does: "declares no roots when it has none, and the server refuses",
    args: ["folders"],
    stdout: "",
    stderr: /-32021/,
    code: 5,
  },
  {
    does: "declares no model when it has none, and the server refuses",
    args: ["muse"],
    stdout: "",
    stderr: /-32021/,
    code: 5,
  },
  {
    does: "completes an argument of a prompt",
    args: [
      ...["--method", "completion/complete", "--params"],
      '{"ref":{"type":"ref/prompt","name":"praise"},"argument":{"name":"city","value":"lj"}}',
    ],
    stdout: /"values":\["Ljubljana"\]/,
  },
  {
    does: "completes a variable of a template, given another",
    args: [
      ...["--method", "completion/complete", "--params"],
      '{"ref":{"type":"ref/resource","uri":"city://{country}/{name}"},' +
        '"argument":{"name":"name","value":""},"context":{"arguments":{"country":"norway"}}}',
    ],
    stdout: /"values":\["Oslo"\]/,
  },
  {
    does: "gets a prompt",
    args: ["--method", "prompts/get", "--params", '{"name":"praise","arguments":{"city":"Oslo"}}'],
    stdout: /Praise Oslo in a calm voice/,
  },
  {
    does: "answers what a prompt asks",
    args: ["--method", "prompts/get", "--params", '{"name":"curious"}', "--answer", "topic=owls"],
    stdout: /Tell me about owls/,
  },
  {
    does: "reads a resource",
    args: ["--method", "resources/read", "--params", '{"uri":"note://hello"}'],
    stdout: /"text":"hello there"/,
  },
  {
    does: "reads a resource of a template",
    args: ["--method", "resources/read", "--params", '{"uri":"city://norway/Oslo"}'],
    stdout: /Oslo is in norway/,
  },
  {
    does: "answers what a resource asks",
    args: [
      "--method",
      "resources/read",
      "--params",
      '{"uri":"note://secret"}',
      "--answer",
      "word=owl",
    ],
    stdout: /the word is owl/,
  },
  {
    does: "exits 5 when there is no such resource",
    args: ["--method", "resources/read", "--params", '{"uri":"note://none"}'],
    stdout: "",
    stderr: /refused/,
    code: 5,
  },
  {
    does: "lists templates",
    args: ["--method", "resources/templates/list"],
    stdout: /"uriTemplate":"city:\/\/\{country\}\/\{name\}"/,
  },
];

for (const [transport, { header }] of Object.entries(WAYS)) {
  const title = `call uses every feature of an SDK v2 server over ${transport}`;
  describe(title, { concurrency: 2 }, () => {
    const [node = "", ...fixture] = FIXTURE;
    let server: Running | undefined;
    before(async () => {
      if (transport === "HTTP") server = await serving(node, (port) => [...fixture, String(port)]);
    });
    after(() => server?.stop());

    const target = async (t: TestContext, ...more: string[]): Promise<Target> => {
      if (server === undefined) {
        const witness = witnessCommand([...FIXTURE, ...more]);
        return { words: ["--", ...witness.command], witness };
      }
      const witness = await witnessUrl(server.url);
      t.after(() => witness.close());
      return { words: [witness.url], witness };
    };
    const faultless = (witness: Witness) => {
      const heard = witness.heard();
      const faults = heard.flatMap(faultsOf).filter(({ by }) => by === "client");
      assert.ok(heard.flat().length > 0, "the witness has heard something");
      assert.deepEqual(
        faults.map(({ what }) => what),
        [],
      );
    };
    const matches = (text: string, wanted: string | RegExp) =>
      typeof wanted === "string" ? assert.equal(text, wanted) : assert.match(text, wanted);

    for (const { does, args, stdout, stderr = /^/, code = 0 } of RAW_CASES) {
      test(does, async (t) => {
        const { words, witness } = await target(t);
        const outcome = await mcpRaw(["call", ...args, ...words]);
        matches(outcome.stdout, stdout);
        matches(outcome.stderr, stderr);
        assert.equal(outcome.code, code, outcome.stderr);
        faultless(witness);
      });
    }

    test("sends an argument in its header", async (t) => {
      const { words, witness } = await target(t);
      const { stdout } = await mcpRaw(["call", "locate", "region=eu-west", ...words]);
      assert.equal(stdout, `eu-west in the body, ${header} in the header\n`);
      faultless(witness);
    });

    test("walks through all that there is, page by page", async (t) => {
      const { words, witness } = await target(t);
      const { stdout, code } = await mcpRaw(["call", ...words]);
      assert.equal(code, 0);
      const parts = [
        "sdk2-features 1.0.0",
        "2026-07-28",
        "Try everything.",
        "tools (15)",
        "resources (3)",
      ];
      for (const part of [...parts, "resourceTemplates (1)", "prompts (3)", "praise(city, tone?)"])
        assert.ok(stdout.includes(part), `${part} in ${stdout}`);
      faultless(witness);
    });

    test("prints the changes that it hears of, until Ctrl-C", async (t) => {
      const { words, witness } = await target(t, "tick");
      const params = ["--params", '{"notifications":{"resourceSubscriptions":["note://hello"]}}'];
      const listening = launchRaw("call", "--listen", ...params, ...words);
      await until(() => listening.stderr().includes("Listening"), listening.stderr);
      if (server !== undefined) await mcpRaw(["call", "change", server.url]);
      const printed = () => heardIn(listening.stdout());
      const lists = ["tools", "prompts", "resources"].map(
        (one) => `notifications/${one}/list_changed`,
      );
      const wanted = [...lists, "notifications/resources/updated"];
      await until(() => wanted.every((one) => printed().includes(one)), listening.stdout);
      listening.signal("SIGINT");
      assert.equal(await listening.ended, 130);
      faultless(witness);
    });

    test("cancels a call at Ctrl-C, and the tool stops", async (t) => {
      const { words, witness } = await target(t);
      const calling = launchRaw("call", "slow", ...words);
      const told = () => calling.stderr() + (server?.stderr() ?? "");
      await until(() => told().includes("slow begins"), told);
      calling.signal("SIGINT");
      assert.equal(await calling.ended, 130);
      await until(() => told().includes("slow aborted"), told);
      faultless(witness);
    });
  });
}

describe("call --listen and an SDK v2 server that goes away", () => {
  const [node = "", ...fixture] = FIXTURE;

  test("ends well when the server ends the subscription, over HTTP", async (t) => {
    const server = await serving(node, (port) => [...fixture, String(port), "brief"]);
    t.after(server.stop);
    const { code, stderr } = await mcpRaw(["call", "--listen", server.url]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /The server has ended the subscription/);
  });

  test("ends well when the server ends the subscription, on stdio", async () => {
    const { code, stderr } = await mcpRaw(["call", "--listen", "--", ...FIXTURE, "brief"]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /The server has ended the subscription/);
  });

  test("listens again when the server is back, and says so", async (t) => {
    const first = await serving(node, (port) => [...fixture, String(port)]);
    const listening = launchRaw("call", "--listen", first.url);
    t.after(() => listening.signal("SIGKILL"));
    await until(() => listening.stderr().includes("Listening until"), listening.stderr);
    first.stop();
    await until(() => listening.stderr().includes("listening again"), listening.stderr);
    const second = launch(node, [...fixture, String(first.port), "tick"]);
    t.after(() => second.signal("SIGKILL"));
    await until(() => heardIn(listening.stdout()).length > 0, listening.stderr, 15_000);
    listening.signal("SIGINT");
    assert.equal(await listening.ended, 130);
  });
});
