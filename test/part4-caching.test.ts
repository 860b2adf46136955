// Part IV, Caching: what may be answered from memory, to whom, and for how long.
// The server counts what it is asked, so an answer from memory shows in its number.

import assert from "node:assert/strict";
import { describe, mock, test } from "node:test";
import {
  cacheStore, cached, connect, type Exchange, type JSONRPCNotification, type JSONRPCRequest,
  type Lane,
} from "../mcp-raw.ts";
import { META, lane, ms, resultOf, scripted } from "./kit-http.ts";

type Json = Record<string, unknown>;
type Options = Parameters<typeof cached>[1];
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const PUBLIC = { ttlMs: 1000, cacheScope: "public" };
const PRIVATE = { ttlMs: 1000, cacheScope: "private" };
const LISTS = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
const refusal = (code: number) => ({ error: { code, message: "no" } });
const told = (method: string, params?: Json): JSONRPCNotification =>
  ({ jsonrpc: "2.0", method, ...(params && { params }) });
const CHANGED = told("notifications/tools/list_changed");

/** A cache before a server that answers {n: how many it was asked} and what the test adds. */
function cacheOf(answer: (params: Json, n: number, request: JSONRPCRequest) =>
  object | Promise<object> = () => PUBLIC, options: Options = {}) {
  const time = { now: 1_000_000 };
  let n = 0;
  const { exchange, asked } = scripted(async (request) => {
    const nth = ++n;
    const body = await answer(request.params ?? {}, nth, request);
    return "error" in body ? { jsonrpc: "2.0", id: request.id, ...body }
      : resultOf(request.id, { n: nth, ...body });
  });
  const all = { now: () => time.now, ...options };
  return { exchange, asked, time, options: all, ...callsOf(cached(exchange, all)) };
}
/** Ways to ask an exchange: the whole response, and just its number or the code of its error. */
function callsOf(exchange: Exchange) {
  let id = 0;
  const ask = async (method: string, params: Json = {}, _meta: Json = {}, on: Lane = lane()) => {
    const request = { jsonrpc: "2.0" as const, id: ++id, method,
      params: { ...params, _meta: { ...META, ..._meta } } };
    return await exchange(request, on) as unknown as { id: unknown; result: Json;
      error?: { code: number } };
  };
  const get = async (...what: Parameters<typeof ask>) => {
    const { result, error } = await ask(...what);
    return error === undefined ? result["n"] : error.code;
  };
  return { ask, get };
}
/** A second client of the same server and the same store. */
const beside = ({ exchange, options }: ReturnType<typeof cacheOf>, more: Options) =>
  callsOf(cached(exchange, { ...options, ...more }));

describe("Caching: what is kept", () => {
  test("an answer from memory is whole, under the id of the new request " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    const { ask, asked } = cacheOf(() => ({ tools: [{ name: "t" }], ...PUBLIC }));
    const answer = (id: number) =>
      resultOf(id, { n: 1, tools: [{ name: "t" }], ttlMs: 1000, cacheScope: "public" });
    assert.deepEqual([await ask("tools/list"), await ask("tools/list")], [answer(1), answer(2)]);
    assert.equal(asked.length, 1);
  });

  test("lists, reads and server/discover are kept " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    for (const method of [...LISTS, "server/discover", "resources/read"]) {
      const { get } = cacheOf();
      assert.deepEqual([await get(method), await get(method)], [1, 1], method);
    }
  });

  test("calls, prompts, completions and subscriptions are not, whatever their results say " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    for (const method of ["tools/call", "prompts/get", "completion/complete",
      "subscriptions/listen", "toString", "__proto__"]) {
      const { get } = cacheOf();
      assert.deepEqual([await get(method), await get(method)], [1, 2], method);
    }
  });

  test("errors and results that are not complete are not kept " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    for (const body of [{ ...refusal(-32603), ...PUBLIC }, { ...PUBLIC, resultType:
      "input_required", requestState: "s" }, { ...PUBLIC, resultType: "banana" }]) {
      const { ask, asked } = cacheOf(() => body);
      await ask("resources/read", { uri: "x:/a" });
      await ask("resources/read", { uri: "x:/a" });
      assert.equal(asked.length, 2, JSON.stringify(body));
    }
  });

  test("a call that fails on the way fails, and the next is made " +
    "(engineering)", async () => {
    const { ask, get } = cacheOf((_, n) => n === 1 ? Promise.reject(new Error("gone")) : PUBLIC);
    await assert.rejects(ask("tools/list"), { message: "gone" });
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [2, 2]);
  });
});

describe("Caching: the key", () => {
  test("another method or another parameter is another request " +
    "(spec server/utilities/caching#cache-key)", async () => {
    const { get, asked } = cacheOf();
    const different: [string, Json][] = [["resources/read", { uri: "x:/a" }],
      ["resources/read", { uri: "x:/b" }], ["resources/read", { uri: "X:/a" }],
      ["resources/read", { uri: "x:/a", "com.example/depth": 1 }], ["resources/read", {}],
      ["tools/list", {}], ["tools/list", { cursor: "1" }], ["tools/list", { cursor: "" }],
      ["tools/list", { cursor: 1 }], ["prompts/list", {}], ["prompts/list", { cursor: "1" }],
      ["prompts/list", { cursor: "1\u0000" }], ["prompts/list", { cursor: "\"1\"" }]];
    for (let round = 0; round < 2; round++) {
      for (const [n, [method, params]] of different.entries()) {
        assert.equal(await get(method, params), n + 1, JSON.stringify([method, params]));
      }
    }
    assert.equal(asked.length, different.length);
  });

  test("a progress token or a trace context does not make another request of it " +
    "(spec server/utilities/caching#cache-key)", async () => {
    const { get } = cacheOf();
    for (const meta of [{}, { progressToken: "p1" }, { progressToken: 2 },
      { traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" },
      { tracestate: "a=b", baggage: "c=d" }]) {
      assert.equal(await get("tools/list", {}, meta), 1, JSON.stringify(meta));
    }
  });

  test("another revision, other capabilities or a key of an extension make another request " +
    "(spec server/utilities/caching#cache-key)", async () => {
    const { get } = cacheOf();
    for (const [n, meta] of [{}, { "io.modelcontextprotocol/protocolVersion": "2027-01-01" },
      { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } },
      { "com.example/tenant": "a" }, { "com.example/tenant": "b" }].entries()) {
      assert.equal(await get("tools/list", {}, meta), n + 1, JSON.stringify(meta));
    }
  });

  test("a request with answers or a state is never answered from memory, and its result is not " +
    "kept (spec server/utilities/caching#cache-key)", async () => {
    for (const retry of [{ inputResponses: { k: { action: "accept" } } }, { requestState: "s" },
      { inputResponses: {} }, { requestState: "" }]) {
      const { get } = cacheOf();
      const [plain, again] = [{ uri: "x:/a" }, { uri: "x:/a", ...retry }];
      assert.deepEqual([await get("resources/read", again), await get("resources/read", again),
        await get("resources/read", plain), await get("resources/read", again),
        await get("resources/read", plain)], [1, 2, 3, 4, 3], JSON.stringify(retry));
    }
  });
});

describe("Caching: time to live", () => {
  test("a result is fresh until the time it came plus ttlMs, and not at it " +
    "(spec server/utilities/caching#freshness-calculation)", async () => {
    const { get, time } = cacheOf();
    assert.equal(await get("tools/list"), 1);
    time.now += 999;
    assert.equal(await get("tools/list"), 1);
    time.now += 1;
    assert.equal(await get("tools/list"), 2);
    time.now += 999;
    assert.equal(await get("tools/list"), 2);
  });

  test("the time counts from when the response came, not from the request " +
    "(spec server/utilities/caching#freshness-calculation)", async () => {
    const { get, time } = cacheOf(() => (time.now += 600, PUBLIC));
    assert.equal(await get("tools/list"), 1);
    time.now += 999;
    assert.equal(await get("tools/list"), 1);
  });

  test("an answer from memory does not live longer for it " +
    "(spec server/utilities/caching#freshness-calculation)", async () => {
    const { get, time } = cacheOf();
    await get("tools/list");
    time.now += 900;
    await get("tools/list");
    time.now += 100;
    assert.equal(await get("tools/list"), 2);
  });

  test("a ttlMs of zero, below zero, absent or no number is stale at once " +
    "(spec server/utilities/caching#time-to-live-ttl-field)", async () => {
    for (const ttlMs of [0, -1, -1e9, undefined, null, "1000", true, [1000], {}]) {
      const hints = { cacheScope: "public", ...(ttlMs !== undefined && { ttlMs }) };
      const { get } = cacheOf(() => hints);
      assert.deepEqual([await get("tools/list"), await get("tools/list")], [1, 2], `${ttlMs}`);
    }
  });

  test("a stale result that is fetched again and says zero is gone " +
    "(spec server/utilities/caching#time-to-live-ttl-field)", async () => {
    const { get, time } = cacheOf((_, n) => ({ ...PUBLIC, ttlMs: n === 1 ? 1000 : 0 }));
    await get("tools/list");
    time.now += 1000;
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [2, 3]);
  });

  test("nothing is fetched unasked, and no timer runs " +
    "(spec server/utilities/caching#freshness-calculation)", async () => {
    mock.timers.enable({ apis: ["setTimeout", "setInterval"] });
    const { get, time, asked } = cacheOf();
    await get("tools/list");
    time.now += 3_600_000;
    mock.timers.tick(3_600_000);
    await turn();
    mock.timers.reset();
    assert.equal(asked.length, 1);
  });

  test("without a clock of the caller's, the time is real (engineering)", async () => {
    let n = 0;
    const { exchange } = scripted(({ id }) =>
      resultOf(id, { n: ++n, ttlMs: 40, cacheScope: "public" }));
    const { get } = callsOf(cached(exchange));
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [1, 1]);
    await ms(60);
    assert.equal(await get("tools/list"), 2);
  });
});

describe("Caching: for whom", () => {
  const signedIn = (hints: object, names: [string, string] = ["ann", "bob"]) => {
    const store = cacheStore({});
    const first = cacheOf(() => hints, { store, principal: () => names[0] });
    return { first, second: beside(first, { principal: () => names[1] }) };
  };

  test("a private result is served to the one it was for, and to nobody else " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    const { first, second } = signedIn(PRIVATE);
    assert.deepEqual([await first.get("tools/list"), await second.get("tools/list"),
      await first.get("tools/list"), await second.get("tools/list")], [1, 2, 1, 2]);
  });

  test("a public result is served to everybody who shares the store " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    const { first, second } = signedIn(PUBLIC);
    assert.deepEqual([await first.get("tools/list"), await second.get("tools/list")], [1, 1]);
  });

  test("a result without a scope, or with an unknown one, is private " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    for (const cacheScope of [undefined, "Public", "shared", null, true]) {
      const { first, second } = signedIn({ ttlMs: 1000, ...(cacheScope !== undefined &&
        { cacheScope }) });
      await first.get("tools/list");
      assert.equal(await second.get("tools/list"), 2, `${cacheScope}`);
    }
  });

  test("a name made to look like a key finds nothing of another's " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    for (const names of [["ann", "ann "], ["", "undefined"], ["public", "private"],
      ["ann\u0000tools/list", "ann"], ["[\"ann\"]", "ann"], ["__proto__", "constructor"],
      ["ann", ""]] as [string, string][]) {
      const { first, second } = signedIn(PRIVATE, names);
      assert.deepEqual([await first.get("tools/list"), await second.get("tools/list")], [1, 2],
        JSON.stringify(names));
    }
  });

  test("a client that signs in as somebody else does not see what was kept before, nor does " +
    "one that has signed out (spec server/utilities/caching#cache-scope-field)", async () => {
    let who: string | undefined = "ann";
    const { get } = cacheOf(() => PRIVATE, { principal: () => who });
    assert.equal(await get("tools/list"), 1);
    who = "bob";
    assert.equal(await get("tools/list"), 2);
    who = undefined;
    assert.equal(await get("tools/list"), 3);
    who = "ann";
    assert.equal(await get("tools/list"), 1);
  });

  test("a result that comes after somebody else has signed in is not theirs " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    let who = "ann";
    const { get } = cacheOf(() => (who = "bob", PRIVATE), { principal: () => who });
    assert.equal(await get("tools/list"), 1);
    assert.equal(await get("tools/list"), 2);
  });

  test("one client that does not say who it is has a cache of its own, and keeps private results " +
    "there (spec server/utilities/caching#cache-scope-field)", async () => {
    const { get } = cacheOf(() => PRIVATE);
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [1, 1]);
  });

  test("two clients of one store that do not say who they are share nothing private " +
    "(spec server/utilities/caching#cache-scope-field)", async () => {
    for (const who of [{}, { principal: () => undefined }]) {
      const first = cacheOf(() => PRIVATE, { store: cacheStore({}), ...who });
      const second = beside(first, who);
      assert.deepEqual([await first.get("tools/list"), await second.get("tools/list")], [1, 2]);
    }
  });
});

describe("Caching: changes", () => {
  /** A cache whose server says these things on each subscriptions/listen before it ends. */
  const changing = (said: JSONRPCNotification[], hints: object = PUBLIC, options: Options = {}) => {
    const time = { now: 0 };
    let n = 0;
    const { exchange, asked } = scripted(async ({ id, method }, on) => {
      if (method !== "subscriptions/listen") return resultOf(id, { n: ++n, ...hints });
      for (const one of said) await on.notify(one);
      return new Promise(() => {});
    });
    const all = { now: () => time.now, ...options };
    const whole = cached(exchange, all);
    const { ask, get } = callsOf(whole);
    return { exchange, asked, time, options: all, ask, get, async listen(on: Lane = lane()) {
      void ask("subscriptions/listen", { notifications: {} }, {}, on);
      await turn();
    } };
  };
  const READS: [string, Json][] = [...LISTS.map((one): [string, Json] => [one, {}]),
    ["tools/list", { cursor: "2" }], ["server/discover", {}], ["resources/read", { uri: "x:/a" }],
    ["resources/read", { uri: "x:/b" }]];

  for (const [notification, ...stale] of [
    [CHANGED, "tools/list", "tools/list 2"],
    [told("notifications/prompts/list_changed"), "prompts/list"],
    [told("notifications/resources/list_changed", { _meta: {} }), "resources/list"],
    [told("notifications/resources/updated", { uri: "x:/a" }), "resources/read x:/a"],
  ] as [JSONRPCNotification, ...string[]][]) {
    test(`${notification.method} makes stale what it tells of, all its pages, and nothing else ` +
      "(spec server/utilities/caching#interaction-with-notifications)", async () => {
      const { get, listen } = changing([notification]);
      for (const [n, read] of READS.entries()) assert.equal(await get(...read), n + 1);
      await listen();
      const fetched: string[] = [];
      for (const [method, { cursor = "", uri = "" }] of READS) {
        const params = { ...(cursor !== "" && { cursor }), ...(uri !== "" && { uri }) };
        if (await get(method, params) as number > READS.length) {
          fetched.push(`${method} ${cursor as string}${uri as string}`.trim());
        }
      }
      // That a list of templates goes with the list of resources is allowed.
      assert.deepEqual(fetched.filter((one) => one !== "resources/templates/list"), stale);
    });
  }

  test("what is fetched after the change is kept again " +
    "(spec server/utilities/caching#interaction-with-notifications)", async () => {
    const { get, listen } = changing([CHANGED]);
    await get("tools/list");
    await listen();
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [2, 2]);
  });

  test("a change makes stale what is kept for everybody, whoever hears of it " +
    "(spec server/utilities/caching#interaction-with-notifications)", async () => {
    const first = changing([CHANGED], PUBLIC, { store: cacheStore({}), principal: () => "ann" });
    const second = callsOf(cached(first.exchange, { ...first.options, principal: () => "bob" }));
    assert.deepEqual([await second.get("tools/list"), await first.get("tools/list")], [1, 1]);
    await first.listen();
    assert.deepEqual([await second.get("tools/list"), await first.get("tools/list")], [2, 2]);
  });

  test("a change makes stale what is kept for the one who hears of it " +
    "(spec server/utilities/caching#interaction-with-notifications)", async () => {
    const { get, listen } = changing([CHANGED], PRIVATE, { principal: () => "ann" });
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [1, 1]);
    await listen();
    assert.deepEqual([await get("tools/list"), await get("tools/list")], [2, 2]);
  });

  test("whoever hears of a change and fetches at once gets the new list " +
    "(spec server/utilities/caching#interaction-with-notifications)", async () => {
    const { get, listen } = changing([CHANGED]);
    await get("tools/list");
    let fetched: Promise<unknown> | undefined;
    await listen({ ...lane(), notify: () => void (fetched = get("tools/list")) });
    assert.equal(await fetched, 2);
  });

  test("notifications pass through as they are, and the wait for a slow reader with them " +
    "(engineering)", async () => {
    const ack = told("notifications/subscriptions/acknowledged", { notifications: {} });
    for (const method of ["subscriptions/listen", "tools/call", "tools/list"]) {
      const [on, waits]: [ReturnType<typeof lane>, unknown[]] = [lane(), []];
      const { exchange } = scripted(({ id }, { notify }) => (waits.push(notify(ack)),
        resultOf(id)));
      await callsOf(cached(exchange)).ask(method, {}, {}, { signal: on.signal,
        notify: (one) => (on.notify(one), Promise.resolve()) });
      assert.deepEqual(on.said, [ack]);
      assert.ok(waits[0] instanceof Promise, method);
    }
  });

  for (const [what, change, method, params] of [
    ["a list that was asked for before a change", CHANGED, "tools/list", {}],
    ["a page that was asked for before a change", CHANGED, "tools/list", { cursor: "2" }],
    ["a resource that was asked for before its update",
      told("notifications/resources/updated", { uri: "x:/a" }), "resources/read", { uri: "x:/a" }],
  ] as const) {
    test(`${what} and comes after it is not kept ` +
      "(spec server/utilities/caching#interaction-with-notifications)", async () => {
      let n = 0;
      let answer = () => {};
      const { exchange } = scripted(async ({ id, method: asked }, on) => {
        if (asked === "subscriptions/listen") await on.notify(change);
        else if (++n === 1) await new Promise<void>((resolve) => (answer = resolve));
        return resultOf(id, { n, ...PUBLIC });
      });
      const { get } = callsOf(cached(exchange, { now: () => 0 }));
      const slow = get(method, params);
      await turn();
      await get("subscriptions/listen");
      answer();
      assert.deepEqual([await slow, await get(method, params)], [1, 2]);
    });
  }

  test("SSE-24: when a subscription is lost, what it watched is stale: nobody would have told " +
    "of a change (spec basic/transports/stdio#unexpected-termination)", async () => {
    let lose = (_: Error) => {};
    let n = 0;
    const { exchange } = scripted(({ id, method }) => method === "subscriptions/listen"
      ? new Promise<object>((_, reject) => (lose = reject))
      : resultOf(id, { n: ++n, ...PUBLIC }));
    const { ask, get } = callsOf(cached(exchange, { now: () => 0 }));
    const listening = assert.rejects(ask("subscriptions/listen", { notifications: {
      toolsListChanged: true, resourceSubscriptions: ["x:/a"] } }));
    for (const [method, params] of [["tools/list", {}], ["resources/read", { uri: "x:/a" }]] as
      const) await get(method, params);
    lose(new Error("gone"));
    await listening;
    assert.deepEqual([await get("tools/list"), await get("resources/read", { uri: "x:/a" })],
      [3, 4]);
  });

  test("a malformed notification is passed on and changes nothing (engineering)", async () => {
    const { get, listen } = changing([told("notifications/resources/updated"),
      told("notifications/resources/updated", { uri: 5 }), told("toString"),
      told("notifications/__proto__/list_changed")]);
    await get("resources/read", { uri: "x:/a" });
    const on = lane();
    await listen(on);
    assert.equal(on.said.length, 4);
    assert.equal(await get("resources/read", { uri: "x:/a" }), 1);
  });
});

describe("Caching: pages", () => {
  test("each page has its own clock, and a stale one is fetched by its cursor " +
    "(spec server/utilities/caching#interaction-with-pagination)", async () => {
    const { get, time, asked } = cacheOf(({ cursor }) => cursor === undefined
      ? { ...PUBLIC, nextCursor: "2" } : { ...PUBLIC, ttlMs: 100 });
    await get("tools/list");
    time.now += 950;
    assert.equal(await get("tools/list", { cursor: "2" }), 2);
    time.now += 49;
    assert.deepEqual([await get("tools/list"), await get("tools/list", { cursor: "2" })], [1, 2]);
    time.now += 1;
    assert.deepEqual([await get("tools/list"), await get("tools/list", { cursor: "2" })], [3, 2]);
    time.now += 50;
    assert.deepEqual([await get("tools/list"), await get("tools/list", { cursor: "2" })], [3, 4]);
    assert.equal(asked[3]?.params?.["cursor"], "2");
  });

  test("a cursor that has become invalid drops all pages of its list, and of no other " +
    "(spec server/utilities/caching#interaction-with-pagination)", async () => {
    const { get, time } = cacheOf(({ cursor }, n) =>
      cursor === "3" && n > 4 ? refusal(-32602) : { ...PUBLIC, ttlMs: cursor === "3" ? 10 : 1000 });
    for (const cursor of ["2", "3"]) await get("tools/list", { cursor });
    assert.deepEqual([await get("tools/list"), await get("prompts/list")], [3, 4]);
    time.now += 10;
    assert.equal(await get("tools/list", { cursor: "3" }), -32602);
    assert.deepEqual([await get("tools/list"), await get("tools/list", { cursor: "2" }),
      await get("prompts/list")], [6, 7, 4]);
  });

  test("a page on its way when the cursor was refused is not kept " +
    "(spec server/utilities/caching#interaction-with-pagination)", async () => {
    let answer = () => {};
    const { get } = cacheOf(async ({ cursor }, n) => {
      if (n === 1) await new Promise<void>((resolve) => (answer = resolve));
      return cursor === "bad" ? refusal(-32602) : PUBLIC;
    });
    const slow = get("tools/list");
    assert.equal(await get("tools/list", { cursor: "bad" }), -32602);
    answer();
    assert.deepEqual([await slow, await get("tools/list")], [1, 3]);
  });

  test("a client that reads a list twice asks for its pages once " +
    "(spec server/utilities/caching#interaction-with-pagination)", async () => {
    const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
    const { exchange, options, asked } = cacheOf(({ cursor }) => cursor === undefined
      ? { ...PUBLIC, tools: [tool("a")], nextCursor: "2" } : { ...PUBLIC, tools: [tool("b")] });
    const client = connect(cached(exchange, options));
    for (let n = 0; n < 2; n++) {
      const names = (await client.list("tools/list", "tools", { onProgress() {} }))
        .map(({ name }) => name);
      assert.deepEqual(names, ["a", "b"]);
    }
    assert.equal(asked.length, 2);
  });
});

describe("Caching: bounds", () => {
  /** How many of the resources 0..count are answered from memory. */
  async function kept({ get, asked }: ReturnType<typeof cacheOf>, count: number) {
    const before = asked.length;
    for (let n = count - 1; n >= 0; n--) {
      const known = asked.length;
      await get("resources/read", { uri: uri(n) });
      if (asked.length > known) return count - 1 - n; // what is fetched anew drives others out
    }
    return count - (asked.length - before);
  }
  let weight = 0;
  const uri = (n: number) => `x:/${n}/${"k".repeat(weight)}`;
  const words = (size: number) => () => ({ ...PUBLIC, contents: [{ text: "w".repeat(size) }] });

  test("what is kept weighs no more than maxBytes: the oldest goes first (engineering)",
    async () => {
    weight = 0;
    const cache = cacheOf(words(1000), { store: cacheStore({ maxBytes: 25_000 }) });
    for (let n = 0; n < 50; n++) await cache.get("resources/read", { uri: uri(n) });
    const count = await kept(cache, 50);
    assert.ok(count >= 2 && count <= 25, `${count} kept`);
  });

  test("the weight of what was asked counts as well (engineering)", async () => {
    weight = 1000;
    const cache = cacheOf(() => PUBLIC, { store: cacheStore({ maxBytes: 25_000 }) });
    for (let n = 0; n < 50; n++) await cache.get("resources/read", { uri: uri(n) });
    const count = await kept(cache, 50);
    assert.ok(count >= 2 && count <= 25, `${count} kept`);
  });

  test("a result larger than all the room is not kept and drives nothing out (engineering)",
    async () => {
    const { get } = cacheOf(({ uri }) => uri === "x:/big" ? words(20_000)() : PUBLIC,
      { store: cacheStore({ maxBytes: 10_000 }) });
    assert.deepEqual([await get("tools/list"), await get("resources/read", { uri: "x:/big" }),
      await get("resources/read", { uri: "x:/big" }), await get("tools/list")], [1, 2, 3, 1]);
  });

  test("a list fetched again and again, dropped and fetched, takes its room once (engineering)",
    async () => {
    const { get, time, ask } = cacheOf(({ uri }) => ({ ...words(1000)(),
      ...(uri === "x:/stays" && { ttlMs: 1e9 }) }), { store: cacheStore({ maxBytes: 10_000 }) });
    await get("resources/read", { uri: "x:/stays" });
    for (let n = 0; n < 100; n++) {
      time.now += 1000;
      await get("tools/list");
      await ask("tools/list", { cursor: "x", requestState: "s" });
    }
    assert.equal(await get("resources/read", { uri: "x:/stays" }), 1);
  });

  test("the room of a store is that of all its clients together (engineering)", async () => {
    const first = cacheOf(words(1_000_000), { store: cacheStore({ maxBytes: 2_500_000 }) });
    const second = beside(first, {});
    for (const uri of ["x:/0", "x:/1"]) await first.get("resources/read", { uri });
    await second.get("resources/read", { uri: "x:/2" });
    assert.equal(await first.get("resources/read", { uri: "x:/2" }), 3);
    assert.equal(await first.get("resources/read", { uri: "x:/0" }), 4);
  });

  test("without a limit of the caller's, some mebibytes are kept and sixty are not (engineering)",
    async () => {
    const { get } = cacheOf(words(1_000_000));
    for (let n = 0; n < 5; n++) await get("resources/read", { uri: `x:/${n}` });
    assert.equal(await get("resources/read", { uri: "x:/0" }), 1);
    for (let n = 0; n < 60; n++) await get("resources/read", { uri: `y:/${n}` });
    assert.equal(await get("resources/read", { uri: "x:/0" }), 66);
  });

  test("whoever changes a result changes nobody else's, be it the first or one from memory " +
    "(engineering)", async () => {
    const tools = [{ name: "t", inputSchema: { type: "object" } }];
    const { ask } = cacheOf(() => ({ tools: structuredClone(tools), ...PUBLIC }));
    for (let n = 0; n < 3; n++) {
      const { result } = await ask("tools/list");
      const given = result as { tools: { name: string; inputSchema: Json }[]; ttlMs: number };
      assert.deepEqual([given.tools, given.ttlMs], [tools, 1000]);
      try {
        (given.tools[0] as { name: string }).name = "changed";
        given.tools.push({ name: "more", inputSchema: {} });
        given.ttlMs = 1e9;
      } catch { /* frozen, which is as good */ }
    }
  });

  test("a result that its server changes later stays what it was (engineering)", async () => {
    const own = { tools: [{ name: "t" }], ...PUBLIC };
    const { ask } = cacheOf(() => own);
    await ask("tools/list");
    own.tools.push({ name: "later" });
    assert.deepEqual((await ask("tools/list")).result["tools"], [{ name: "t" }]);
  });

  test("a call given up is given up, and harms no other call of the same list (engineering)",
    async () => {
    const answers: (() => void)[] = [];
    const { exchange } = scripted(({ id }, { signal }: Lane) => new Promise((resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
      answers.push(() => resolve(resultOf(id, { n: 1, ...PUBLIC })));
    }));
    const [controller, { ask, get }] = [new AbortController(), callsOf(cached(exchange))];
    const gone = assert.rejects(ask("tools/list", {}, {}, lane(controller.signal)));
    const other = get("tools/list");
    await turn();
    controller.abort(new Error("enough"));
    await gone;
    for (const answer of answers) answer();
    assert.deepEqual([await other, await get("tools/list")], [1, 1]);
  });
});
