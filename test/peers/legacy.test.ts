// Programs of both eras and ours: the clients of the official SDKs, v1 and v2 in both eras, use
// one server of ours at the same time, ours uses servers of theirs, and a cut wire loses nothing.
// A witness holds every message against the official schema of its revision.

import assert from "node:assert/strict";
import { after, before, describe, test, type TestContext } from "node:test";
import { KINDS, Peer, relay, type Fields, type Place, type Relay } from "./clients.ts";
import { FILE, PEERS, TSX, serving, until, type Running } from "./kit.ts";

const FIXTURES = `${PEERS}/fixtures`;
const EVERYTHING = `${FIXTURES}/raw-everything.ts`;
const SERVE = [...TSX, FILE, "serve", "--module", EVERYTHING];
const SDK1 = [process.execPath, `${FIXTURES}/sdk1-everything.mjs`];

const accept = (content: Record<string, string | number>) =>
  ({ action: "accept", content }) as const;
const json = (value: unknown): string => JSON.stringify(value);

/** What every client can do with the server of raw-everything.ts and sdk1-everything.mjs. */
const FEATURES: Record<string, (peer: Peer, stderr: () => string) => Promise<void>> = {
  async "lists the tools, and learns who serves (spec@2025-11-25 server/tools#listing-tools)"(
    peer,
  ) {
    const names = (await peer.does.tools()).map(({ name }) => name);
    for (const name of ["add", "count", "register", "muse", "folders"])
      assert.ok(names.includes(name), `${name} in ${names}`);
    assert.match(`${peer.does.server()?.name}`, /-everything$/);
  },
  async "calls tools: text, every kind of content, structure, failure"(peer) {
    assert.equal(await peer.says("add", { a: 2, b: 3 }), "5");
    const { isError, content } = await peer.call("fail");
    assert.equal(isError, true);
    assert.match(json(content), /this tool always fails/);
    const kinds = (await peer.call("album")).content.map(({ type }) => type);
    assert.deepEqual(kinds, ["text", "image", "audio", "resource_link", "resource"]);
    const { structuredContent } = await peer.call("forecast");
    assert.deepEqual(structuredContent, { sky: "clear" });
    assert.equal((await peer.call("add", { a: "two", b: 3 })).isError, true);
  },
  async "hears of progress, in order and each once"(peer) {
    const heard: Fields[] = [];
    const result = await peer.call("count", { to: 3 }, { onprogress: (one) => heard.push(one) });
    assert.equal(result.content[0]?.text, "counted to 3");
    const expected = [1, 2, 3].map((at) => ({ progress: at, total: 3, message: `number ${at}` }));
    assert.deepEqual(heard, expected);
  },
  async "cancels a call, and the handler stops"(peer, stderr) {
    const controller = new AbortController();
    const label = `${peer.kind} ${Math.random()}`;
    const call = peer.call("slow", { label }, { signal: controller.signal });
    const rejected = assert.rejects(call);
    await until(() => stderr().includes(`${label} begins`), stderr);
    controller.abort("enough");
    await rejected;
    await until(() => stderr().includes(`${label} stops`), stderr);
  },
  async "is asked in a form, twice in one call, and may decline"(peer) {
    const ada = accept({ name: "Ada", age: 36 });
    assert.equal(await peer.says("register", {}, ada), "registered Ada, 36");
    assert.equal(peer.asked.length, 1);
    assert.equal(peer.asked[0]?.message, "Who are you?");
    const no = { action: "decline" } as const;
    assert.equal(await peer.says("register", {}, no), "not registered: decline");
    const stations = [accept({ city: "Lima" }), accept({ city: "Oslo" })];
    assert.equal(await peer.says("trip", {}, ...stations), "a ticket from Lima to Oslo");
    assert.equal(peer.asked[1]?.message, "Where to, from Lima?");
    assert.equal(await peer.says("choose", {}, accept({ size: "l" })), "l");
  },
  async "is asked to open a page"(peer) {
    assert.equal(await peer.says("link", {}, { action: "accept" }), "linked");
    assert.equal(peer.asked[0]?.url, "https://example.com/sign-in");
    assert.equal(await peer.says("link", {}, { action: "cancel" }), "not linked: cancel");
  },
  async "is asked for its model, and for its roots"(peer) {
    assert.equal(await peer.says("muse"), "parrot says what you said");
    assert.equal(await peer.says("folders"), "file:///work");
  },
  async "has prompts, resources, templates and completion"(peer) {
    assert.deepEqual((await peer.does.prompts()).map(({ name }) => name).sort(), [
      "praise",
      "sounds",
    ]);
    assert.match(json(await peer.does.prompt("praise", { city: "Oslo" })), /Praise Oslo\./);
    assert.equal((await peer.does.resources())[0]?.uri, "note:hello");
    const [template] = await peer.does.templates();
    assert.equal(template?.uriTemplate, "city:{name}");
    assert.match(json(await peer.does.read("note:hello")), /"text":"hello"/);
    assert.match(json(await peer.does.read("city:Lima")), /Lima is a city/);
    assert.deepEqual(await peer.does.complete("praise", "city", "li"), ["Lima", "Lisbon"]);
  },
  async "is refused what is not there, under the code of its revision"(peer) {
    const code = (expected: number) => (error: unknown) =>
      (error as { code?: number }).code === expected;
    await assert.rejects(peer.does.read("city:Atlantis"));
    const missing = peer.messages().findLast(({ from }) => from === "server")?.text ?? "";
    // The client of SDK v2 makes one code of both.
    assert.match(missing, peer.modern ? /"code":-32602/ : /"code":-32002/);
    await assert.rejects(peer.does.prompt("praise", {}), code(-32602));
    await peer.does.ping();
  },
  async "hears of changes that it subscribed to, each once, and of no other"(peer) {
    await peer.does.subscribe("note:hello");
    peer.heard.length = 0;
    await peer.call("change");
    const told = (): string[] =>
      peer.heard.map(({ method, params }) => `${method} ${params?.uri ?? ""}`.trim());
    const expected = [
      "notifications/tools/list_changed",
      "notifications/prompts/list_changed",
      "notifications/resources/list_changed",
      "notifications/resources/updated note:hello",
    ];
    await until(
      () => expected.every((one) => told().includes(one)),
      () => json(told()),
    );
    assert.ok(!told().some((one) => one.includes("note:other")));
  },
  async "hears log messages when it asks for them, from its level on"(peer) {
    const logs = () => peer.heard.filter(({ method }) => method === "notifications/message");
    await peer.call("count", { to: 2 }, { level: "warning" });
    await until(
      () => logs().length > 0,
      () => json(peer.heard),
    );
    const told = logs().map(({ params: { _meta, ...params } = {} }) => params);
    assert.deepEqual(told, [{ level: "warning", logger: "counter", data: "the end is near" }]);
  },
};

/** Runs one feature for all at the same time; says whose it is that fails. */
async function together(peers: readonly Peer[], act: (peer: Peer) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(peers.map(act));
  const failed = outcomes.flatMap((outcome, at) =>
    outcome.status === "rejected" ? [{ who: peers[at]?.kind, why: outcome.reason as Error }] : [],
  );
  if (failed.length === 0) return;
  const [{ why: cause } = {}] = failed;
  const list = failed.map(({ who, why }) => `${who}: ${why.stack ?? why}`);
  throw new Error(list.join("\n"), { cause });
}

interface Scene {
  title: string;
  peers: readonly Peer[];
  command: readonly string[];
  http: boolean;
  ours: boolean;
  /** Over HTTP+SSE instead of Streamable HTTP. */
  sse?: true;
}
const raw = (era: "auto" | "legacy"): Peer => new Peer("mcp-raw", "2025-11-25", era);
const all = (): Peer[] => [...KINDS.map((kind) => new Peer(kind)), raw("legacy")];
const older = (era: "auto" | "legacy" = "auto"): Peer[] => [
  new Peer("SDK v1"),
  new Peer("SDK v2, legacy era"),
  raw(era),
];
const SCENES: readonly Scene[] = [
  {
    title: "a server of SDK v1, on stdio",
    peers: older(),
    command: SDK1,
    http: false,
    ours: false,
  },
  {
    title: "a server of SDK v1, over HTTP",
    peers: older(),
    command: SDK1,
    http: true,
    ours: false,
  },
  {
    title: "a server of SDK v1, over HTTP+SSE",
    peers: [new Peer("SDK v1"), raw("auto")],
    command: SDK1,
    http: true,
    ours: false,
    sse: true,
  },
  {
    title: "the server of examples/http-sse.ts",
    peers: [new Peer("SDK v1"), new Peer("SDK v1"), raw("auto")],
    command: [...TSX, `${FIXTURES}/raw-sse.ts`],
    http: true,
    ours: true,
    sse: true,
  },
  {
    title: "serve --stdio",
    peers: all(),
    command: [...SERVE, "--stdio"],
    http: false,
    ours: true,
  },
  {
    title: "one process of serve --http, at the same time",
    peers: [...all(), ...all()],
    command: [...SERVE, "--http"],
    http: true,
    ours: true,
  },
];

for (const { title, peers, command, http, ours, sse } of SCENES) {
  describe(`the clients of the official SDKs use ${title}`, () => {
    let server: Running | undefined;
    before(async () => {
      const [program = "", ...args] = command;
      if (http) server = await serving(program, (port) => [...args, String(port)]);
      const at = server?.url.replace(/mcp$/, sse ? "sse" : "mcp");
      const place: Place = at === undefined ? { command } : { url: at };
      await together(peers, (peer) => peer.connect(place, sse));
    });
    after(async () => {
      await together(peers, (peer) => peer.close());
      server?.stop();
    });

    test("each has the revision that it wants", () => {
      for (const peer of peers)
        assert.equal(peer.does.version(), peer.modern ? "2026-07-28" : "2025-11-25", peer.name);
    });
    for (const [does, act] of Object.entries(FEATURES)) {
      test(`each ${does}`, () =>
        together(peers, (peer) => act(peer, server?.stderr ?? peer.stderr)));
    }
    test("the server logs nothing to who did not ask for it", () => {
      const early = (peer: Peer) => {
        const seen = peer.messages().map(({ text }) => text);
        const asked = seen.findIndex((text) => /"(?:logging\/setLevel|[^"]*logLevel)"/.test(text));
        return seen.slice(0, asked).filter((text) => text.includes('"notifications/message"'));
      };
      for (const peer of ours ? peers : []) assert.deepEqual(early(peer), [], peer.name);
    });
    test("the witness has heard all of it, and nothing is wrong with what the server said", () => {
      for (const peer of peers) {
        assert.ok(peer.messages().length > 60, `${peer.name}: ${peer.messages().length} messages`);
        assert.deepEqual(peer.faults("server"), [], peer.name);
        if (peer.kind === "mcp-raw") assert.deepEqual(peer.faults("client"), []);
      }
    });
  });
}

test("clients of both eras use the demo server over HTTP, at the same time", async (t) => {
  const [program = "", ...args] = [...TSX, FILE, "serve", "--http"];
  const server = await serving(program, (port) => [...args, String(port)]);
  const peers = all();
  t.after(async () => {
    await together(peers, (peer) => peer.close());
    server.stop();
  });
  await together(peers, (peer) => peer.connect({ url: server.url }));
  await together(peers, async (peer) => {
    assert.ok((await peer.does.tools()).length > 10);
    const sum = { operation: "add", a: 1, b: 2 };
    assert.equal(await peer.says("calculator", sum), "1 + 2 = 3");
    const zero = await peer.call("calculator", { operation: "divide", a: 1, b: 0 });
    assert.equal(zero.isError, true);
    await assert.rejects(
      peer.call("nobody"),
      (error) => (error as { code: number }).code === -32602,
    );
    const booked = await peer.says("book_table", {}, accept({ name: "Ada", guests: 2 }));
    assert.match(booked, /booked for Ada/);
    if (peer.kind !== "mcp-raw") {
      // What does not fit the form is asked again; ours does not send it in the first place.
      const answers = [accept({ name: "Ada", guests: 2.5 }), accept({ name: "Ada", guests: 2 })];
      assert.match(await peer.says("book_table", {}, ...answers), /booked for Ada/);
      assert.equal(peer.asked.length, 2);
    }
    assert.ok((await peer.does.resources()).length > 30, "the chapters of the file");
    assert.deepEqual(peer.faults("server"), [], peer.name);
  });
});

// ---- the connection is cut -------------------------------------------------

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const CUTS: readonly { title: string; command: readonly string[] }[] = [
  { title: "a server of SDK v1", command: SDK1 },
  { title: "serve --http", command: [...SERVE, "--http"] },
];
for (const { title, command } of CUTS) {
  describe(`when the wire to ${title} is cut, nothing is lost and nothing comes twice`, () => {
    let server: Running;
    let wire: Relay;
    const peers = older("legacy");
    const direct = new Peer("SDK v1");
    before(async () => {
      const [program = "", ...args] = command;
      server = await serving(program, (port) => [...args, String(port)]);
      wire = await relay(server.url);
      await together(peers, (peer) => peer.connect({ url: wire.url }));
      await direct.connect({ url: server.url });
    });
    after(async () => {
      await together([...peers, direct], (peer) => peer.close());
      wire.close();
      server.stop();
    });

    test(
      "of the progress of a call, cut three times " +
        "(spec@2025-11-25 basic/transports#resumability-and-redelivery)",
      async () => {
        const expected = Array.from({ length: 24 }, (_, at) => at + 1);
        await together(peers, async (peer) => {
          const heard: unknown[] = [];
          const call = peer.call(
            "count",
            { to: 24, ms: 50 },
            { onprogress: ({ progress }) => heard.push(progress) },
          );
          if (peer === peers[0]) {
            for (const at of [3, 9, 16]) {
              await until(
                () => heard.length >= at,
                () => json(heard),
                15_000,
              );
              await pause(100);
              assert.ok(wire.cut() >= 8, "a stream of each and one of each call, both their ends");
            }
          }
          assert.equal((await call).content[0]?.text, "counted to 24");
          assert.deepEqual(heard, expected);
        });
      },
    );

    test("of a question that waits for its answer meanwhile", async () => {
      let answer = () => {};
      const decided = new Promise<void>((resolve) => {
        answer = resolve;
      });
      const said = peers.map((peer) => {
        peer.pause = decided;
        return peer.says("register", {}, accept({ name: "Ada" }));
      });
      const asked = () => peers.map((peer) => peer.asked.length);
      await until(
        () => asked().every((count) => count > 0),
        () => json(asked()),
      );
      await pause(100);
      assert.ok(wire.cut() >= 8);
      await pause(500);
      answer();
      for (const words of await Promise.all(said)) assert.equal(words, "registered Ada, ageless");
      assert.deepEqual(asked(), [1, 1, 1]);
    });

    test(
      "of changes that happen while the stream is down " +
        "(spec@2025-11-25 basic/transports#listening-for-messages-from-the-server)",
      async () => {
        const ours = title === "serve --http";
        await together([...peers, direct], (peer) =>
          peer.does.subscribe("note:hello").then(() => {}),
        );
        // SDK v1 needs an event to go on from; ours keeps what it could not send to anybody.
        if (!ours) await together(peers, async (peer) => void (await peer.call("change")));
        await pause(100);
        peers.forEach((peer) => peer.heard.splice(0));
        wire.cut();
        if (ours) await direct.call("change");
        else await together(peers, async (peer) => void (await peer.call("change")));
        await pause(1500);
        for (const peer of peers) {
          const told = peer.heard.map(({ method, params }) =>
            `${method} ${params?.uri ?? ""}`.trim(),
          );
          assert.deepEqual(
            told.sort(),
            [
              "notifications/prompts/list_changed",
              "notifications/resources/list_changed",
              "notifications/resources/updated note:hello",
              "notifications/tools/list_changed",
            ],
            peer.kind,
          );
        }
      },
    );

    if (title === "serve --http")
      test(
        "of a modern call, which is over then: the client learns it, the handler stops, and " +
          "the next call works (spec basic/transports/streamable-http#cancellation)",
        async () => {
          const peer = new Peer("SDK v2, modern era");
          await peer.connect({ url: wire.url });
          const rejected = assert.rejects(peer.call("slow", { label: "a modern call" }));
          await until(() => server.stderr().includes("a modern call begins"), server.stderr);
          wire.cut();
          await rejected;
          await until(() => server.stderr().includes("a modern call stops"), server.stderr);
          assert.equal(await peer.says("add", { a: 2, b: 3 }), "5");
          await peer.close();
        },
      );
    test("and what was said is right, too", () => {
      for (const peer of peers) assert.deepEqual(peer.faults("server"), [], peer.name);
    });
  });
}

describe("one file of handlers asks the user of a client of any revision", () => {
  const clients = (): Peer[] => [
    new Peer("SDK v1", "2025-06-18"),
    new Peer("SDK v1", "2025-11-25"),
    new Peer("SDK v2, legacy era"),
    new Peer("SDK v2, modern era"),
  ];
  const EXPECTED = ["2025-06-18", "2025-11-25", "2025-11-25", "2026-07-28"];
  const ask = async (peers: readonly Peer[]): Promise<void> => {
    assert.deepEqual(
      peers.map((peer) => peer.does.version()),
      EXPECTED,
    );
    await together(peers, async (peer) => {
      assert.equal(
        await peer.says("register", {}, accept({ name: "Ada" })),
        "registered Ada, ageless",
      );
      const cities = [accept({ city: "Lima" }), accept({ city: "Oslo" })];
      assert.equal(await peer.says("trip", {}, ...cities), "a ticket from Lima to Oslo");
      assert.equal(await peer.says("choose", {}, accept({ size: "l" })), "l");
      assert.equal(
        await peer.says("register", {}, { action: "decline" }),
        "not registered: decline",
      );
      assert.deepEqual(peer.faults("server"), []);
    });
  };
  const withAll = async (t: TestContext, place: Place): Promise<void> => {
    const peers = clients();
    t.after(() => together(peers, (peer) => peer.close()));
    await together(peers, (peer) => peer.connect(place));
    await ask(peers);
  };
  const PLACE = "(spec@2025-06-18 client/elicitation#creating-elicitation-requests)";
  test(`on stdio ${PLACE}`, (t) => withAll(t, { command: [...SERVE, "--stdio"] }));
  test(`over HTTP ${PLACE}`, async (t) => {
    const [program = "", ...args] = [...SERVE, "--http"];
    const server = await serving(program, (port) => [...args, String(port)]);
    t.after(() => server.stop());
    await withAll(t, { url: server.url });
  });
  test("and a client that cannot be asked gets an error, and no question", async (t) => {
    for (const revision of ["2024-11-05", "2025-03-26"] as const) {
      const peer = new Peer("SDK v1", revision);
      t.after(() => peer.close());
      await peer.connect({ command: [...SERVE, "--stdio"] });
      assert.equal(peer.does.version(), revision);
      await assert.rejects(peer.call("register"), /-32021/);
      assert.deepEqual(peer.asked, []);
      assert.equal(await peer.says("add", { a: 2, b: 3 }), "5");
      assert.deepEqual(peer.faults("server"), []);
    }
  });
});
