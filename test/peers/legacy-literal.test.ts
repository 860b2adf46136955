// Each of the five revisions in literal messages: what the server says to a client of it and
// what the client says to a server of it, against the official schema, with every object
// closed, and against the rules that no schema can say. And that the judge sees.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  open,
  subscribe,
  type Answers,
  type CallOptions,
  type Client,
  type Connection,
  type ProtocolError,
} from "../../mcp-raw.ts";
import type { Fields } from "./clients.ts";
import { FILE, PEERS, TSX, serving, until } from "./kit.ts";
import { FIRST_HASH, OLDER, REVISIONS, SCHEMAS, against, first } from "./revisions.ts";
import { wireHttp, wireStdio, type Replies, type Wire } from "./wires.ts";
import { sessionFaults } from "./witness-older.ts";
import {
  faultsOf,
  witnessCommand,
  witnessUrl,
  type Message,
  type Seen,
  type Side,
} from "./witness.ts";

const FIXTURES = `${PEERS}/fixtures`;
const SERVE = [...TSX, FILE, "serve", "--module", `${FIXTURES}/raw-everything.ts`];
const json = (value: unknown): string => JSON.stringify(value);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

// ---- the judge -------------------------------------------------------------

const from =
  (side: Side) =>
  (message: object): Seen => ({
    from: side,
    text: json({ jsonrpc: "2.0", ...message }),
    channel: 0,
  });
const [toServer, toClient] = [from("client"), from("server")];
const opening = (protocolVersion: string, capabilities: object = {}): Seen =>
  toServer({
    id: 0,
    method: "initialize",
    params: { protocolVersion, capabilities, clientInfo: { name: "c", version: "1" } },
  });
const opened = (protocolVersion: string, capabilities: object = {}): Seen =>
  toClient({
    id: 0,
    result: { protocolVersion, capabilities, serverInfo: { name: "s", version: "1" } },
  });
const ready = toServer({ method: "notifications/initialized" });
const session = (revision: string, client: object = {}, server: object = {}): Seen[] => [
  opening(revision, client),
  opened(revision, server),
  ready,
];
const calling = (id: number, more: object = {}): Seen =>
  toServer({ id, method: "tools/call", params: { name: "x", arguments: {}, ...more } });
const gives = (id: number, result: object): Seen => toClient({ id, result });
const content = (...blocks: object[]) => ({ content: blocks });
const said = { type: "text", text: "x" };
const tells = (method: string, params: object = {}): Seen =>
  toClient({ method: `notifications/${method}`, params });
const asks = (method: string, params?: object): Seen =>
  toClient({ id: "s1", method, ...(params && { params }) });
const form = { message: "x", requestedSchema: { type: "object", properties: {} } };
const page = { mode: "url", message: "x", url: "https://example.com/", elicitationId: "e" };
const token = { _meta: { progressToken: "p" } };
const level = (id: number): Seen[] => [
  toServer({ id, method: "logging/setLevel", params: { level: "error" } }),
  gives(id, {}),
];

const FINE: Record<string, Seen[]> = {
  "a call": [...session("2024-11-05"), calling(1), gives(1, content(said))],
  "a batch of 2025-03-26": [
    ...session("2025-03-26"),
    { from: "client", text: `[${calling(1).text},${calling(2).text}]`, channel: 0 },
    {
      from: "server",
      text: `[${gives(1, content(said)).text},${gives(2, content(said)).text}]`,
      channel: 0,
    },
  ],
  "a form": [
    ...session("2025-06-18", { elicitation: {} }),
    calling(1),
    asks("elicitation/create", form),
    toServer({ id: "s1", result: { action: "decline" } }),
    gives(1, content(said)),
  ],
  "a page, and its end": [
    ...session("2025-11-25", { elicitation: { url: {} } }),
    asks("elicitation/create", page),
    toServer({ id: "s1", result: { action: "accept" } }),
    tells("elicitation/complete", { elicitationId: "e" }),
  ],
  "the question for the revisions first": [
    toServer({
      id: "probe",
      method: "server/discover",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    }),
    toClient({ id: "probe", error: { code: -32601, message: "no" } }),
    ...session("2025-11-25"),
  ],
};
const WRONG: Record<string, [by: Side, says: RegExp, seen: Seen[]]> = {
  "a result with its type": [
    "server",
    /resultType/,
    [...session("2025-11-25"), calling(1), gives(1, { resultType: "complete", ...content(said) })],
  ],
  "a list that says how long it keeps": [
    "server",
    /ttlMs/,
    [
      ...session("2025-11-25"),
      toServer({ id: 1, method: "tools/list" }),
      gives(1, { tools: [], ttlMs: 1 }),
    ],
  ],
  "a title in 2025-03-26": [
    "server",
    /title/,
    [
      ...session("2025-03-26"),
      toServer({ id: 1, method: "prompts/list" }),
      gives(1, { prompts: [{ name: "p", title: "P" }] }),
    ],
  ],
  "icons in 2025-06-18": [
    "server",
    /icons/,
    [
      ...session("2025-06-18"),
      toServer({ id: 1, method: "resources/list" }),
      gives(1, { resources: [{ uri: "a:b", name: "r", icons: [] }] }),
    ],
  ],
  "audio in 2024-11-05": [
    "server",
    /CallToolResult/,
    [
      ...session("2024-11-05"),
      calling(1),
      gives(1, content({ type: "audio", data: "", mimeType: "a/b" })),
    ],
  ],
  "a link in 2025-03-26": [
    "server",
    /CallToolResult/,
    [
      ...session("2025-03-26"),
      calling(1),
      gives(1, content({ type: "resource_link", uri: "a:b", name: "n" })),
    ],
  ],
  "structure in 2025-03-26": [
    "server",
    /structuredContent/,
    [...session("2025-03-26"), calling(1), gives(1, { ...content(said), structuredContent: {} })],
  ],
  "structure that is a list": [
    "server",
    /structuredContent/,
    [...session("2025-11-25"), calling(1), gives(1, { ...content(said), structuredContent: [] })],
  ],
  "a message of progress in 2024-11-05": [
    "server",
    /message/,
    [
      ...session("2024-11-05"),
      calling(1, token),
      tells("progress", { progressToken: "p", progress: 1, message: "m" }),
    ],
  ],
  "completions in 2024-11-05": [
    "server",
    /completions/,
    [opening("2024-11-05"), opened("2024-11-05", { completions: {} })],
  ],
  "a form in 2025-03-26": [
    "server",
    /cannot ask for elicitation/,
    [...session("2025-03-26", { elicitation: {} }), asks("elicitation/create", form)],
  ],
  "a page in 2025-06-18": [
    "server",
    /elicitation|mode|url/i,
    [...session("2025-06-18", { elicitation: {} }), asks("elicitation/create", page)],
  ],
  "a preset in a form of 2025-06-18": [
    "server",
    /default/,
    [
      ...session("2025-06-18", { elicitation: {} }),
      asks("elicitation/create", {
        message: "x",
        requestedSchema: { type: "object", properties: { a: { type: "string", default: "b" } } },
      }),
    ],
  ],
  "a page without its id": [
    "server",
    /elicitationId/,
    [
      ...session("2025-11-25", { elicitation: { url: {} } }),
      asks("elicitation/create", { ...page, elicitationId: undefined }),
    ],
  ],
  "a question beyond what was declared": [
    "server",
    /did not declare roots/,
    [...session("2025-11-25"), asks("roots/list")],
  ],
  "a question before the client is ready": [
    "server",
    /before notifications\/initialized/,
    [opening("2025-11-25", { roots: {} }), opened("2025-11-25"), asks("roots/list")],
  ],
  "a change before the client is ready": [
    "server",
    /before notifications\/initialized/,
    [
      opening("2025-11-25"),
      opened("2025-11-25", { tools: { listChanged: true } }),
      tells("tools/list_changed"),
    ],
  ],
  "a change that was not promised": [
    "server",
    /did not declare tools/,
    [...session("2025-11-25"), tells("tools/list_changed")],
  ],
  "an update that nobody wants": [
    "server",
    /not subscribed/,
    [...session("2025-11-25"), tells("resources/updated", { uri: "a:b" })],
  ],
  "a log message below the level": [
    "server",
    /nobody asked/,
    [...session("2025-11-25"), ...level(1), tells("message", { level: "info", data: 1 })],
  ],
  "progress under no token": [
    "server",
    /no call under way/,
    [...session("2025-11-25"), calling(1), tells("progress", { progressToken: "p", progress: 1 })],
  ],
  "progress after the result": [
    "server",
    /no call under way/,
    [
      ...session("2025-11-25"),
      calling(1, token),
      gives(1, content(said)),
      tells("progress", { progressToken: "p", progress: 1 }),
    ],
  ],
  "a second answer": [
    "server",
    /answers nothing/,
    [...session("2025-11-25"), calling(1), gives(1, content(said)), gives(1, content(said))],
  ],
  "an answer to what was cancelled": [
    "server",
    /answers nothing/,
    [
      ...session("2025-11-25"),
      calling(1),
      toServer({ method: "notifications/cancelled", params: { requestId: 1 } }),
      gives(1, content(said)),
    ],
  ],
  "the end of a page that was not asked for": [
    "server",
    /no such page/,
    [...session("2025-11-25"), tells("elicitation/complete", { elicitationId: "e" })],
  ],
  "an id that was used before": [
    "client",
    /used again/,
    [...session("2025-11-25"), calling(1), gives(1, content(said)), calling(1)],
  ],
  "an error of this era": [
    "server",
    /of no session/,
    [
      ...session("2025-11-25"),
      calling(1),
      toClient({ id: 1, error: { code: -32022, message: "no" } }),
    ],
  ],
  "more than nothing in answer to a ping": [
    "server",
    /answered with/,
    [...session("2025-11-25"), toServer({ id: 1, method: "ping" }), gives(1, { pong: true })],
  ],
  "a method of this era": [
    "client",
    /cannot ask for subscriptions/,
    [...session("2025-11-25"), toServer({ id: 1, method: "subscriptions/listen", params: {} })],
  ],
  "a call before the handshake": ["client", /before the handshake/, [calling(1)]],
  "a call too early": [
    "client",
    /before it says/,
    [opening("2025-11-25"), opened("2025-11-25"), calling(1)],
  ],
  "a second handshake": [
    "client",
    /second initialize/,
    [...session("2025-11-25"), opening("2025-11-25")],
  ],
  "a handshake that is cancelled": [
    "client",
    /cannot be cancelled/,
    [
      opening("2025-11-25"),
      toServer({ method: "notifications/cancelled", params: { requestId: 0 } }),
    ],
  ],
  "a batch in 2025-06-18": [
    "client",
    /a batch/,
    [...session("2025-06-18"), { from: "client", text: `[${calling(1).text}]`, channel: 0 }],
  ],
  "capabilities of 2026-07-28": [
    "client",
    /extensions/,
    [opening("2025-11-25", { extensions: {} })],
  ],
  "an answer that is none": [
    "client",
    /ElicitResult/,
    [
      ...session("2025-06-18", { elicitation: {} }),
      asks("elicitation/create", form),
      toServer({ id: "s1", result: { action: "agree" } }),
    ],
  ],
};
describe("the judge of sessions", () => {
  for (const [what, seen] of Object.entries(FINE)) {
    test(`lets pass: ${what}`, () => assert.deepEqual(sessionFaults(seen), []));
  }
  for (const [what, [by, says, seen]] of Object.entries(WRONG)) {
    test(`sees: ${what}`, () => {
      const faults = sessionFaults(seen);
      const found = faults.some((fault) => fault.by === by && says.test(fault.what));
      assert.ok(found, json(faults));
    });
  }
  test(
    "has the official schema of each revision: four from the conformance suite, and the first, " +
      "which is the second without what came with it, by its hash",
    () => {
      assert.equal(first(SCHEMAS["2025-03-26"]).hash, FIRST_HASH);
      for (const revision of REVISIONS) {
        assert.ok(Object.keys(SCHEMAS[revision]).length > 75, revision);
        assert.deepEqual(against(revision, "Root", { uri: "file:///a" }), []);
        assert.match(against(revision, "Root", {}).join(), /uri/);
        assert.match(against(revision, "Root", { uri: "file:///a", icons: [] }).join(), /icons/);
      }
    },
  );
});

// ---- each revision, in literal messages ------------------------------------

const RESULT_OF = (message: Message): Fields => {
  assert.ok(message.result, json(message));
  return message.result;
};
const textOf = (message: Message): string => {
  const { content } = RESULT_OF(message) as { content: { text?: string }[] };
  return content.map(({ text = "" }) => text).join("\n");
};
const codeOf = (message: Message): unknown => message.error?.code ?? json(message.result);
const kindsOf = (list: unknown): unknown[] => (list as { type: string }[]).map(({ type }) => type);

const META = { "example.com/a": 1 };
const ICON = { src: "https://example.com/a.png", sizes: ["48x48"], theme: "dark" };
/** What a client of each revision declares. */
const DECLARED: Record<string, Fields> = {
  "2024-11-05": { roots: { listChanged: true }, sampling: {} },
  "2025-03-26": { roots: { listChanged: true }, sampling: {} },
  "2025-06-18": { roots: { listChanged: true }, sampling: {}, elicitation: {} },
  "2025-11-25": { roots: {}, sampling: { tools: {} }, elicitation: { form: {}, url: {} } },
};
const REPLIES: Replies = {
  "roots/list": { roots: [{ uri: "file:///work" }] },
  "sampling/createMessage": {
    role: "assistant",
    model: "parrot",
    content: { type: "text", text: "what you said" },
  },
  "elicitation/create": ({ message, mode }) =>
    mode === "url"
      ? { action: "accept" }
      : message === "Which size?"
        ? { action: "accept", content: { size: "l" } }
        : message === "Which days?"
          ? { action: "accept", content: { days: ["Mo"] } }
          : { action: "accept", content: { name: "Ada", city: "Lima" } },
};
const call = (wire: Wire, name: string, args: Fields = {}, more: Fields = {}): Promise<Message> =>
  wire.ask("tools/call", { name, arguments: args, ...more });

const WIRES: Record<string, (replies: Replies) => Promise<Wire>> = {
  "on stdio": (replies) => wireStdio([...SERVE, "--stdio"], replies),
  "over HTTP": (replies) => wireHttp([...SERVE, "--http"], replies),
};
for (const revision of OLDER) {
  const elicits = revision >= "2025-06-18";
  for (const [where, connect] of Object.entries(WIRES)) {
    describe(`the server to a client of ${revision}, ${where}, in literal messages`, () => {
      let wire: Wire;
      before(async () => {
        wire = await connect(REPLIES);
      });
      after(() => wire.close());

      test("shakes hands " + `(spec@${revision} basic/lifecycle#initialization)`, async () => {
        if (where === "on stdio") {
          assert.deepEqual((await wire.ask("ping")).result, {});
          assert.equal(codeOf(await wire.ask("tools/list")), -32002);
          wire.seen.splice(0); // what comes before the handshake is no session
        }
        const opened = await wire.ask("initialize", {
          protocolVersion: revision,
          capabilities: DECLARED[revision],
          clientInfo: { name: "literal", version: "1" },
        });
        const { protocolVersion, serverInfo, capabilities, instructions } = RESULT_OF(opened);
        assert.equal(protocolVersion, revision);
        assert.equal(instructions, "Try everything.");
        const info = { name: "raw-everything", version: "1.0.0" };
        assert.deepEqual(serverInfo, {
          ...info,
          ...(revision >= "2025-06-18" && { title: "Everything" }),
          ...(revision >= "2025-11-25" && {
            description: "Has every field",
            websiteUrl: "https://example.com",
            icons: [ICON],
          }),
        });
        assert.deepEqual(capabilities, {
          logging: {},
          tools: { listChanged: true },
          prompts: { listChanged: true },
          resources: { listChanged: true, subscribe: true },
          ...(revision >= "2025-03-26" && { completions: {} }),
        });
        wire.say({ method: "notifications/initialized" });
        assert.deepEqual((await wire.ask("ping")).result, {});
        const again = { protocolVersion: revision, capabilities: {}, clientInfo: info };
        const count = wire.seen.length;
        if (where === "on stdio") {
          assert.equal(codeOf(await wire.ask("initialize", again)), -32600);
          wire.seen.splice(count); // it is the client that broke a rule there
        }
      });

      test("lists tools with the fields of the revision", async () => {
        const { tools } = RESULT_OF(await wire.ask("tools/list")) as { tools: Fields[] };
        const fields = (name: string) => {
          const { inputSchema, ...rest } = tools.find((one) => one.name === name) ?? {};
          return rest;
        };
        assert.deepEqual(fields("add"), {
          name: "add",
          description: "Adds two numbers",
          ...(revision >= "2025-03-26" && { annotations: { readOnlyHint: true } }),
          ...(revision >= "2025-06-18" && { title: "Add", _meta: META }),
          ...(revision >= "2025-11-25" && { icons: [{ src: "https://example.com/add.png" }] }),
        });
        assert.equal("outputSchema" in fields("forecast"), revision >= "2025-06-18");
        assert.equal("outputSchema" in fields("numbers"), false);
        for (const { inputSchema } of tools) assert.equal((inputSchema as Fields).type, "object");
      });

      test("gives content that the revision knows", async () => {
        const { content } = RESULT_OF(await call(wire, "album"));
        assert.deepEqual(kindsOf(content), [
          "text",
          "image",
          revision >= "2025-03-26" ? "audio" : "text",
          revision >= "2025-06-18" ? "resource_link" : "text",
          "resource",
        ]);
        assert.match(json(content), /note:hello/);
        const { content: blocks, _meta } = RESULT_OF(await call(wire, "rich"));
        assert.deepEqual(_meta, META); // that of a result was always there
        assert.equal(json(blocks).includes("lastModified"), revision >= "2025-06-18");
        assert.equal(json(blocks).includes('example.com/a"'), revision >= "2025-06-18");
        assert.equal(json(blocks).includes("icons"), revision >= "2025-11-25");
        const sky = RESULT_OF(await call(wire, "forecast"));
        assert.equal("structuredContent" in sky, revision >= "2025-06-18");
        const numbers = RESULT_OF(await call(wire, "numbers"));
        assert.deepEqual(numbers, { content: [{ type: "text", text: "[1,2]" }] });
        const { messages } = RESULT_OF(await wire.ask("prompts/get", { name: "sounds" }));
        assert.deepEqual(kindsOf((messages as { content: Fields }[]).map((one) => one.content)), [
          revision >= "2025-03-26" ? "audio" : "text",
          revision >= "2025-06-18" ? "resource_link" : "text",
        ]);
      });

      test("refuses in the way of the revision", async () => {
        assert.equal(RESULT_OF(await call(wire, "fail")).isError, true);
        const wrong = await call(wire, "add", { a: "two", b: 3 });
        if (revision >= "2025-11-25") assert.equal(RESULT_OF(wrong).isError, true);
        else assert.equal(codeOf(wrong), -32602);
        assert.equal(codeOf(await call(wire, "nobody")), -32602);
        const missing = await wire.ask("resources/read", { uri: "city:Atlantis" });
        assert.equal(codeOf(missing), -32002);
        assert.equal(codeOf(await wire.ask("prompts/get", { name: "praise" })), -32602);
        const level = await wire.ask("logging/setLevel", { level: "loud" });
        assert.equal(codeOf(level), -32602);
        wire.seen.splice(-2); // no client of any revision says these
        for (const method of ["server/discover", "subscriptions/listen", "tools/run"]) {
          assert.equal(codeOf(await wire.ask(method, {})), -32601, method);
          wire.seen.splice(-2);
        }
      });

      test("offers prompts, resources and completion", async () => {
        const of = async (method: string, params?: Fields) =>
          RESULT_OF(await wire.ask(method, params));
        const { prompts } = (await of("prompts/list")) as { prompts: Fields[] };
        const rich = {
          ...(revision >= "2025-06-18" && { title: "Rich", _meta: META }),
          ...(revision >= "2025-11-25" && { icons: [ICON] }),
        };
        const city = { name: "city", ...(revision >= "2025-06-18" && { title: "City" }) };
        const praise = { name: "praise", arguments: [{ ...city, required: true }] };
        assert.deepEqual(prompts[0], { ...praise, ...rich });
        const { resources } = (await of("resources/list")) as { resources: Fields[] };
        const note = { uri: "note:hello", name: "hello", mimeType: "text/plain" };
        const changed = revision >= "2025-06-18" && { lastModified: "2025-01-12T15:00:58Z" };
        const annotations = { audience: ["user"], ...changed };
        const many = {
          uri: "note:rich",
          name: "rich",
          mimeType: "text/plain",
          annotations,
          ...rich,
        };
        const described = { ...many, description: "Has every field", size: 4 };
        assert.deepEqual(resources, [note, described]);
        const { resourceTemplates } = await of("resources/templates/list");
        const cities = { uriTemplate: "city:{name}", name: "city", annotations, ...rich };
        assert.deepEqual(resourceTemplates, [cities]);
        const read = await of("resources/read", { uri: "note:rich" });
        const own = revision >= "2025-06-18" && { _meta: META };
        assert.deepEqual(read.contents, [{ uri: "note:rich", text: "rich", ...own }]);
        const { contents } = await of("resources/read", { uri: "note:hello" });
        assert.deepEqual(contents, [{ uri: "note:hello", mimeType: "text/plain", text: "hello" }]);
        const { completion } = await of("completion/complete", {
          ref: { type: "ref/prompt", name: "praise" },
          argument: { name: "city", value: "li" },
        });
        assert.deepEqual(completion, { values: ["Lima", "Lisbon"], total: 2, hasMore: false });
      });

      test("tells of progress, and logs from the level on that was set", async () => {
        await call(wire, "count", { to: 2 });
        assert.deepEqual(wire.told("notifications/message"), []);
        assert.deepEqual(wire.told("notifications/progress"), []);
        assert.deepEqual((await wire.ask("logging/setLevel", { level: "debug" })).result, {});
        await call(wire, "count", { to: 2 }, { _meta: { progressToken: "p" } });
        const message = (at: number) => revision >= "2025-03-26" && { message: `number ${at}` };
        assert.deepEqual(wire.told("notifications/progress"), [
          { progressToken: "p", progress: 1, total: 2, ...message(1) },
          { progressToken: "p", progress: 2, total: 2, ...message(2) },
        ]);
        assert.deepEqual(wire.told("notifications/message"), [
          { level: "debug", logger: "counter", data: { at: 1 } },
          { level: "debug", logger: "counter", data: { at: 2 } },
          { level: "warning", logger: "counter", data: "the end is near" },
        ]);
      });

      test("asks what the revision lets it ask, and fails the call where it may not", async () => {
        assert.equal(textOf(await call(wire, "muse")), "parrot says what you said");
        assert.equal(textOf(await call(wire, "folders")), "file:///work");
        const asks = () => wire.heard.filter(({ method }) => method === "elicitation/create");
        const [who, trip, size] = [
          await call(wire, "register"),
          await call(wire, "trip"),
          await call(wire, "choose"),
        ];
        if (elicits) {
          assert.equal(textOf(who), "registered Ada, ageless");
          assert.equal(textOf(trip), "a ticket from Lima to Lima");
          assert.equal(textOf(size), "l");
        } else for (const one of [who, trip, size]) assert.equal(codeOf(one), -32021);
        assert.equal(asks().length, elicits ? 4 : 0);
        assert.equal(textOf(await call(wire, "duet")), "parrot sings");
        const [days, tools] = [await call(wire, "days"), await call(wire, "tools")];
        if (revision >= "2025-11-25") {
          assert.equal(textOf(days), "Mo");
          assert.equal(textOf(tools), "parrot has tools");
        } else {
          // These revisions have no words for it. The call fails; nothing wrong is sent.
          assert.ok(days.error !== undefined || days.result?.isError === true, json(days));
          assert.equal(codeOf(tools), -32021);
        }
        const linked = await call(wire, "link");
        if (revision < "2025-11-25") assert.equal(codeOf(linked), -32021);
        else {
          assert.equal(textOf(linked), "linked");
          const { elicitationId } = asks().at(-1)?.params ?? {};
          const complete = () => wire.told("notifications/elicitation/complete");
          await until(
            () => complete().length > 0,
            () => wire.transcript(),
          );
          assert.deepEqual(complete(), [{ elicitationId }]);
        }
      });

      test("tells of changes of what was subscribed to, until it is unsubscribed", async () => {
        const updated = () => wire.told("notifications/resources/updated");
        const lists = () =>
          wire.heard.flatMap(({ method = "" }) => /(\w+)\/list_changed/.exec(method)?.[1] ?? []);
        const uri = "note:hello";
        assert.deepEqual((await wire.ask("resources/subscribe", { uri })).result, {});
        await call(wire, "change");
        await until(
          () => updated().length > 0 && lists().length === 3,
          () => wire.transcript(),
        );
        assert.deepEqual(updated(), [{ uri }]);
        assert.deepEqual(lists().sort(), ["prompts", "resources", "tools"]);
        assert.deepEqual((await wire.ask("resources/unsubscribe", { uri })).result, {});
        await call(wire, "change");
        await until(
          () => lists().length === 6,
          () => wire.transcript(),
        );
        await pause(100);
        assert.deepEqual(updated(), [{ uri }]);
      });

      test("stops a call that is cancelled, and says no more of it", async () => {
        wire.say({
          id: "slow",
          method: "tools/call",
          params: { name: "slow", arguments: { label: "it" } },
        });
        await until(() => wire.stderr().includes("it begins"), wire.stderr);
        wire.say({
          method: "notifications/cancelled",
          params: { requestId: "slow", reason: "enough" },
        });
        await until(() => wire.stderr().includes("it stops"), wire.stderr);
        await wire.ask("ping");
        assert.ok(!wire.heard.some(({ id }) => id === "slow"));
      });

      test("takes several messages at once in 2025-03-26 alone", async () => {
        const two = [
          { jsonrpc: "2.0", id: "one", method: "ping" },
          { jsonrpc: "2.0", method: "notifications/roots/list_changed" },
          {
            jsonrpc: "2.0",
            id: "two",
            method: "tools/call",
            params: { name: "add", arguments: { a: 2, b: 3 } },
          },
        ];
        const from = wire.seen.length;
        wire.seen.push({ from: "client", text: json(two), channel: 0 });
        wire.write(json(two));
        await until(
          () => wire.seen.length > from + 1,
          () => wire.transcript(),
        );
        const answer = JSON.parse(wire.seen[from + 1]?.text ?? "") as Message | Message[];
        if (revision !== "2025-03-26") {
          wire.seen.splice(from);
          assert.equal((answer as Message).error?.code, -32600);
        } else {
          const ids = (answer as Message[]).map(({ id }) => id);
          assert.deepEqual(ids.sort(), ["one", "two"]);
        }
      });

      test(`says nothing that the schema of ${revision} does not know`, () => {
        const faults = sessionFaults(wire.seen);
        assert.deepEqual(
          faults.map(({ by, what }) => `${by}: ${what}`),
          [],
        );
        assert.ok(wire.seen.length > 60, `${wire.seen.length} messages`);
      });
    });
  }
}

describe("the server to a client of 2026-07-28, in literal messages", () => {
  const WAYS: Record<string, () => Promise<Wire>> = {
    "on stdio": () => wireStdio([...SERVE, "--stdio"]),
    "over HTTP": () => wireHttp([...SERVE, "--http"], {}, "2026-07-28"),
  };
  const NS = "io.modelcontextprotocol/";
  const _meta = {
    [`${NS}protocolVersion`]: "2026-07-28",
    [`${NS}clientInfo`]: { name: "literal", version: "1" },
    [`${NS}clientCapabilities`]: {
      elicitation: { form: {}, url: {} },
      sampling: { tools: {} },
      roots: {},
    },
    [`${NS}logLevel`]: "debug",
    progressToken: "p",
  };
  for (const [where, connect] of Object.entries(WAYS)) {
    test(`${where}, says nothing that its schema does not know (spec basic#meta)`, async (t) => {
      const wire = await connect();
      t.after(() => wire.close());
      const ask = async (method: string, params: Fields = {}): Promise<Message> =>
        wire.ask(method, { ...params, _meta: { ..._meta, progressToken: `p${(count += 1)}` } });
      let count = 0;
      const { supportedVersions } = RESULT_OF(await ask("server/discover"));
      assert.deepEqual(supportedVersions, ["2026-07-28"]);
      for (const method of [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
      ])
        assert.equal(RESULT_OF(await ask(method)).resultType, "complete");
      for (const name of ["album", "rich", "forecast", "numbers", "fail", "change"])
        assert.equal(RESULT_OF(await ask("tools/call", { name })).resultType, "complete");
      await ask("tools/call", { name: "count", arguments: { to: 2 } });
      assert.equal(codeOf(await ask("resources/read", { uri: "city:Atlantis" })), -32602);
      await ask("resources/read", { uri: "note:rich" });
      await ask("prompts/get", { name: "sounds" });
      const asking = [
        "register",
        "trip",
        "choose",
        "days",
        "link",
        "folders",
        "muse",
        "duet",
        "tools",
      ];
      for (const name of asking) {
        let result = RESULT_OF(await ask("tools/call", { name, arguments: {} }));
        for (let round = 0; result.resultType === "input_required"; round += 1) {
          assert.ok(round < 5, json(result));
          const { inputRequests, requestState } = result as {
            inputRequests: Record<string, { method: string; params: Fields }>;
            requestState: string;
          };
          const answers = Object.entries(inputRequests).map(([key, { method, params }]) => {
            const reply = REPLIES[method] ?? {};
            return [key, typeof reply === "function" ? reply(params) : reply];
          });
          const inputResponses = Object.fromEntries(answers);
          const more = { name, arguments: {}, inputResponses, requestState };
          result = RESULT_OF(await ask("tools/call", more));
        }
        assert.ok(result.isError !== true, json(result));
      }
      assert.deepEqual(
        faultsOf(wire.seen).map(({ by, what }) => `${by}: ${what}`),
        [],
      );
      assert.ok(wire.seen.length > 50, `${wire.seen.length} messages`);
    });
  }

  test(
    "and to one of an earlier revision on the same pipe at the same time: each message says " +
      "itself which it is (spec basic/versioning#compatibility-matrix)",
    async (t) => {
      const wire = await wireStdio([...SERVE, "--stdio"], REPLIES);
      t.after(() => wire.close());
      const modern = (name: string, args: Fields) =>
        wire.ask("tools/call", { name, arguments: args, _meta });
      assert.equal(textOf(await modern("add", { a: 1, b: 2 })), "3");
      const clientInfo = { name: "literal", version: "1" };
      const opening = {
        protocolVersion: "2025-06-18",
        capabilities: { elicitation: {} },
        clientInfo,
      };
      const [opened, early] = await Promise.all([
        wire.ask("initialize", opening),
        modern("add", { a: 2, b: 2 }),
      ]);
      assert.equal(RESULT_OF(opened).protocolVersion, "2025-06-18");
      assert.equal(RESULT_OF(early).resultType, "complete");
      wire.say({ method: "notifications/initialized" });
      const [asked, registered] = await Promise.all([
        modern("register", {}),
        call(wire, "register"),
      ]);
      assert.equal(RESULT_OF(asked).resultType, "input_required");
      assert.equal(textOf(registered), "registered Ada, ageless");
      assert.equal("resultType" in RESULT_OF(registered), false);
    },
  );
});

const LITERAL = [process.execPath, `${FIXTURES}/literal.mjs`];
const ANSWERS: Answers = {
  roots: [{ uri: "file:///work" }],
  form: () => ({ action: "accept", content: { name: "Ada" } }),
  url: () => ({ action: "accept" }),
  sample: () => ({ role: "assistant", model: "parrot", content: { type: "text", text: "Sing" } }),
};
interface Started {
  place: string | string[];
  stderr(): string;
  /** What one side did wrong. */
  faults(side: Side): string[];
  seen(): Seen[];
  stop(): void;
}
/** Starts a server behind a witness. */
async function started(command: readonly string[], http: boolean): Promise<Started> {
  let stderr = "";
  const [program = "", ...args] = command;
  const server = http ? await serving(program, (port) => [...args, String(port)]) : undefined;
  const witness = server === undefined ? witnessCommand(command) : await witnessUrl(server.url);
  const faults = (side: Side) =>
    witness
      .heard()
      .flatMap(sessionFaults)
      .filter(({ by }) => by === side)
      .map(({ what }) => what);
  return {
    place: "command" in witness ? witness.command : witness.url,
    stderr: () => stderr + (server?.stderr() ?? ""),
    faults,
    seen: () => witness.heard().flat(),
    stop() {
      witness.close();
      server?.stop();
    },
  };
}
for (const revision of OLDER) {
  for (const http of [false, true]) {
    for (const era of ["auto", "legacy"] as const) {
      const where = `${http ? "over HTTP" : "on stdio"}, era ${era}`;
      describe(`the client to a server of ${revision}, ${where}, in literal messages`, () => {
        let server: Started;
        let client: Client;
        let connection: Connection;
        let stderr = "";
        before(async () => {
          server = await started([...LITERAL, revision], http);
          const onStderr = (text: string) => void (stderr += text);
          const onUrl = typeof server.place === "string" ? {} : { onStderr };
          const warn = (text: string) => assert.fail(text);
          const options = { era, answers: ANSWERS, warn, check: false, ...onUrl };
          ({ client, connection } = await open(server.place, options));
        });
        after(async () => {
          await connection.close();
          server.stop();
        });
        const said = async (name: string, args: Fields = {}, how: CallOptions = {}) => {
          const { content } = await client.call("tools/call", { name, arguments: args }, how);
          return content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
        };

        test(
          "is the same client as ever: what the server is comes from the handshake " +
            "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
          async () => {
            const found = await client.call("server/discover", {});
            assert.deepEqual(found._meta?.["io.modelcontextprotocol/serverInfo"], {
              name: "literal",
              version: "1.0.0",
            });
            assert.equal(found.instructions, `I speak ${revision}.`);
            assert.ok(found.capabilities.tools);
            assert.equal(found.resultType, "complete");
          },
        );

        test("lists, reads, gets, completes and calls", async () => {
          const tools = await client.list("tools/list", "tools");
          assert.deepEqual(
            tools.map(({ name }) => name),
            ["add", "count", "ask", "slow", "change", "refuse"],
          );
          assert.equal(await said("add", { a: 2, b: 40 }), "42");
          const { contents } = await client.call("resources/read", { uri: "note:hello" });
          assert.deepEqual(contents, [{ uri: "note:hello", text: "hello" }]);
          const { messages } = await client.call("prompts/get", {
            name: "praise",
            arguments: { city: "Oslo" },
          });
          assert.deepEqual(messages[0]?.content, { type: "text", text: "Praise Oslo." });
          const { completion } = await client.call("completion/complete", {
            ref: { type: "ref/prompt", name: "praise" },
            argument: { name: "city", value: "Li" },
          });
          assert.deepEqual(completion.values, ["Lima", "Lisbon"]);
        });

        test("gets errors as the server gave them", async () => {
          const code = (expected: number) => (error: unknown) =>
            (error as ProtocolError).code === expected;
          await assert.rejects(client.call("resources/read", { uri: "note:no" }), code(-32002));
          await assert.rejects(said("refuse"), code(-32602));
        });

        test("hears of progress, and of log messages when it asks for them", async () => {
          const [progress, logs]: [unknown[], unknown[]] = [[], []];
          const onNotification: CallOptions["onNotification"] = ({ method, params }) => {
            if (method === "notifications/message") logs.push(params?.level);
          };
          const _meta = { "io.modelcontextprotocol/logLevel": "info" } as const;
          const { content } = await client.call(
            "tools/call",
            { name: "count", arguments: {}, _meta },
            {
              onProgress: (one) => progress.push(one.progress),
              onNotification,
            },
          );
          assert.deepEqual(content, [{ type: "text", text: "counted" }]);
          assert.deepEqual(progress, [1, 2, 3]);
          assert.deepEqual(logs, ["info", "info", "info"]);
        });

        test("answers what the server asks", async () => {
          const answers = JSON.parse(await said("ask")) as { result?: unknown; error?: unknown }[];
          assert.deepEqual(
            answers.map(({ result, error }) => result ?? error),
            [
              {},
              { roots: [{ uri: "file:///work" }] },
              { role: "assistant", model: "parrot", content: { type: "text", text: "Sing" } },
              { action: "accept", content: { name: "Ada" } },
              { action: "accept" },
            ].slice(0, 3 + Number(revision >= "2025-06-18") + Number(revision >= "2025-11-25")),
          );
        });

        test("listens: subscriptions and what the server tells of itself", async () => {
          const heard: string[] = [];
          const stop = new AbortController();
          const { acknowledged, closed } = subscribe(
            client,
            { toolsListChanged: true, resourceSubscriptions: ["note:hello"] },
            {
              signal: stop.signal,
              onChange: ({ method, params }) => heard.push(`${method} ${params?.uri ?? ""}`.trim()),
            },
          );
          const filter = await acknowledged;
          assert.deepEqual(filter, {
            toolsListChanged: true,
            resourceSubscriptions: ["note:hello"],
          });
          assert.equal(await said("change"), "changed");
          await until(
            () => heard.length === 2,
            () => json(heard),
          );
          assert.deepEqual(heard.sort(), [
            "notifications/resources/updated note:hello",
            "notifications/tools/list_changed",
          ]);
          stop.abort();
          await closed;
        });

        test("says that it gives a call up", async () => {
          const all = () => stderr + server.stderr();
          const user = new AbortController();
          const rejected = assert.rejects(said("slow", {}, { signal: user.signal }), /enough/);
          await until(() => all().includes("slow begins"), all);
          user.abort(new Error("enough"));
          await rejected;
          await until(() => all().includes("cancelled slow"), all);
        });

        test(`says nothing that the schema of ${revision} does not know, nor does it`, async () => {
          await connection.close();
          assert.deepEqual(server.faults("client"), []);
          assert.deepEqual(server.faults("server"), []);
          assert.ok(server.seen().length > 35, `${server.seen().length} messages`);
          const probes = server.seen().filter(({ text }) => text.includes('"server/discover"'));
          assert.equal(probes.length, era === "auto" ? 1 : 0);
          if (!http) return;
          const posts = server
            .stderr()
            .split("\n")
            .filter((line) => /^(POST|GET|DELETE)/.test(line));
          const later = posts.slice(posts.findIndex((line) => line.includes("initialize ")) + 1);
          assert.ok(
            later.some((line) => line.startsWith("GET")),
            "it opens the stream of the session",
          );
          assert.match(posts.at(-1) ?? "", /^DELETE/);
          for (const line of later) {
            assert.match(line, / session /);
            // MUST: from 2025-06-18 on
            if (revision >= "2025-06-18") assert.ok(line.endsWith(` ${revision}`), line);
          }
        });
      });
    }
  }
}
