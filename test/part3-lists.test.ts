// Part III, Lists: pages, cursors, and the hints for caches that come with them.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assemble, prompts, resources, tools, type Context, type Exchange, type Feature,
  type ListOptions, type ResourceDefinition, type ToolDefinition,
} from "../mcp-raw.ts";
import { META, lane, request } from "./kit-http.ts";

const compile = () => () => undefined;
type Page = Record<string, unknown> & { nextCursor?: string; code?: number };

/** What a server of these features says to a request, as it crosses the wire. */
const asking = (...features: Feature[]) => {
  const { exchange } = assemble({ name: "t", version: "1" }, features);
  return async (method: string, params: object = {}, who?: string): Promise<Page> => {
    const { params: given, ...rest } = request(method, params);
    const _meta = { ...META, "com.example/who": who };
    const response = await exchange({ ...rest, params: { ...given, _meta } }, lane());
    const { _meta: __, ...told } = "error" in response ? response.error as Page : response.result;
    return JSON.parse(JSON.stringify(told)) as Page;
  };
};
type Ask = ReturnType<typeof asking>;

/** The four lists, each of some names. */
const LISTS: [string, string, (names: () => readonly string[], list?: ListOptions) => Feature][] = [
  ["tools/list", "tools", (names, list) => tools(() => names().map((name): ToolDefinition =>
    ({ name, handler: () => ({ content: [] }) })), { compile, ...(list && { list }) })],
  ["prompts/list", "prompts", (names, list) => prompts(() => names().map((name) =>
    ({ name, get: () => "p" })), list && { list })],
  ["resources/list", "resources", (names, list) => resources(() => names().map(
    (name): ResourceDefinition => ({ uri: `x:${name}`, name, read: () => "r" })),
    list && { list })],
  ["resources/templates/list", "resourceTemplates", (names, list) => resources([], {
    templates: names().map((name, at) =>
      ({ uriTemplate: `x${at}:{a}`, name, read: () => "r" })), ...(list && { list }) })],
];
const namesIn = (page: Page, field: string): string[] =>
  (page[field] as { name: string }[]).map(({ name }) => name);
/** All pages of a list, by following its cursors. */
async function walk(ask: Ask, method: string, who?: string): Promise<Page[]> {
  const pages = [await ask(method, {}, who)];
  for (let last = pages[0]; last?.nextCursor !== undefined && pages.length < 50; pages.push(last)) {
    last = await ask(method, { cursor: last.nextCursor }, who);
  }
  return pages;
}

describe("Lists: pages", () => {
  for (const [method, field, make] of LISTS) {
    test(`${method} gives its entries in pages, in their order, none twice; the last has no ` +
      `nextCursor (spec server/utilities/pagination#response-format)`, async () => {
      const names = ["e", "b", "d", "a", "c"];
      const pages = await walk(asking(make(() => names, { pageSize: 2 })), method);
      assert.deepEqual(pages.map((page) => namesIn(page, field)), [["e", "b"], ["d", "a"], ["c"]]);
      assert.deepEqual(pages.map((page) => typeof page.nextCursor),
        ["string", "string", "undefined"]);
      assert.equal("nextCursor" in (pages[2] ?? {}), false);
    });

    test(`${method} ends with a full page where the pages come out even, and an empty list is ` +
      `one empty page (spec server/utilities/pagination#response-format)`, async () => {
      const even = await walk(asking(make(() => ["a", "b", "c", "d"], { pageSize: 2 })), method);
      assert.deepEqual(even.map((page) => namesIn(page, field)), [["a", "b"], ["c", "d"]]);
      assert.deepEqual(await walk(asking(make(() => [])), method),
        [{ resultType: "complete", [field]: [], ttlMs: 300_000, cacheScope: "public" }]);
    });

    test(`${method} gives a thousand entries a page unless told otherwise (engineering)`,
      async () => {
        const names = Array.from({ length: 1001 }, (_, at) => `n${at}`);
        const pages = await walk(asking(make(() => names)), method);
        assert.deepEqual(pages.map((page) => namesIn(page, field).length), [1000, 1]);
      });

    test(`${method}: a cursor is stable, its page is the same each time ` +
      `(spec server/utilities/pagination#implementation-guidelines)`, async () => {
      const ask = asking(make(() => ["a", "b", "c", "d"], { pageSize: 1 }));
      const [{ nextCursor: cursor }] = await walk(ask, method) as [Page];
      const second = await ask(method, { cursor });
      assert.deepEqual(namesIn(second, field), ["b"]);
      await walk(ask, method);
      assert.deepEqual(await ask(method, { cursor }), second);
    });

    const strange: unknown[] = ["", "made up", "MQ==", "e30=", "-1", "0", "1e9", "toString",
      "__proto__", "\u0000", "é", "x".repeat(100_000), 0, 1, true, {}, [], ["a"]];
    test(`${method}: a cursor that was never given, or is no string, is -32602; null is none ` +
      `(spec server/utilities/pagination#error-handling)`, async () => {
      const ask = asking(make(() => ["a", "b"], { pageSize: 1 }));
      for (const cursor of strange) {
        assert.deepEqual(await ask(method, { cursor }),
          { code: -32602, message: "Invalid cursor" }, JSON.stringify(cursor)?.slice(0, 40));
      }
      assert.deepEqual(await ask(method, { cursor: null }), await ask(method));
    });

    test(`${method}: names of any characters can end a page ` +
      `(spec server/utilities/pagination#pagination-model)`, async () => {
      const names = ["é", "😀", "a b", "a/b?c", "%41", "__proto__", "ok\n", "\ud800", "\"",
        "日本"];
      const pages = await walk(asking(make(() => names, { pageSize: 1 })), method);
      assert.deepEqual(pages.map((page) => namesIn(page, field)[0]), names);
    });

    test(`${method}: every page carries ttlMs and one cacheScope ` +
      `(spec server/utilities/caching#interaction-with-pagination)`, async () => {
      for (const list of [{ ttlMs: 0, cacheScope: "private" as const },
        { ttlMs: 60_000, cacheScope: "public" as const }]) {
        const ask = asking(make(() => ["a", "b", "c"], { pageSize: 1, ...list }));
        const pages = await walk(ask, method);
        assert.deepEqual(pages.map(({ ttlMs, cacheScope }) => ({ ttlMs, cacheScope })),
          [list, list, list]);
      }
    });

    test(`${method}: a server made with a ttlMs that is no whole number of 0 or more never ` +
      `sends it (spec server/utilities/caching#time-to-live-ttl-field)`, async () => {
      for (const ttlMs of [-1, NaN, Infinity, 1.5]) {
        let feature: Feature;
        try {
          feature = make(() => ["a"], { ttlMs });
        } catch (error) {
          assert.ok(error instanceof TypeError || error instanceof RangeError);
          continue;
        }
        const page = await asking(feature)(method);
        assert.ok(Number.isSafeInteger(page.ttlMs) && Number(page.ttlMs) >= 0, String(ttlMs));
      }
    });

    test(`${method}: a server made with a page size that is none does not send a client round ` +
      `in circles (engineering)`, async () => {
      for (const pageSize of [0, -1, NaN, 0.5]) {
        let feature: Feature;
        try {
          feature = make(() => ["a", "b", "c"], { pageSize });
        } catch (error) {
          assert.ok(error instanceof TypeError || error instanceof RangeError);
          continue;
        }
        const pages = await walk(asking(feature), method);
        assert.deepEqual(pages.flatMap((page) => namesIn(page, field)), ["a", "b", "c"]);
      }
    });
  }
});

describe("Lists: changing ones", () => {
  for (const [method, field, make] of LISTS.slice(0, 3)) {
    test(`${method}: entries that come before a cursor shift nothing behind it; where its own is ` +
      `gone it is -32602 (spec server/utilities/pagination#error-handling)`, async () => {
      let names = ["b", "d", "f", "h"];
      const ask = asking(make(() => names, { pageSize: 2 }));
      const { nextCursor: cursor } = await ask(method);
      names = ["a", "b", "c", "d", "e", "f", "h"];
      assert.deepEqual(namesIn(await ask(method, { cursor }), field), ["e", "f"]);
      names = ["b", "f", "h"];
      assert.equal((await ask(method, { cursor })).code, -32602);
    });

    test(`${method} shows what there is now, and neither asking nor calling changes it ` +
      `(spec server/prompts#capabilities)`, async () => {
      let names = ["a"];
      const ask = asking(make(() => names));
      assert.deepEqual(namesIn(await ask(method), field), ["a"]);
      names = ["b", "a"];
      const first = await ask(method);
      for (const other of ["server/discover", "made/up", method]) await ask(other);
      assert.deepEqual(namesIn(first, field), ["b", "a"]);
      assert.deepEqual(await ask(method), first);
    });
  }

  test("a tool, prompt or resource that has come is there, one that has gone is unknown " +
    "(spec server/tools#list-changed-notification)", async () => {
    let names = ["old"];
    const ask = asking(...LISTS.slice(0, 3).map(([, , make]) => make(() => names)));
    const codes = async (name: string) => [(await ask("tools/call", { name })).code,
      (await ask("prompts/get", { name })).code,
      (await ask("resources/read", { uri: `x:${name}` })).code];
    assert.deepEqual([await codes("old"), await codes("new")],
      [[undefined, undefined, undefined], [-32602, -32602, -32602]]);
    names = ["new"];
    assert.deepEqual([await codes("new"), await codes("old")],
      [[undefined, undefined, undefined], [-32602, -32602, -32602]]);
  });

  test("a cursor is good for the list that gave it and no other " +
    "(spec server/utilities/pagination#error-handling)", async () => {
    const ask = asking(...LISTS.slice(0, 3).map(([, , make], at) =>
      make(() => [`${at}a`, `${at}b`], { pageSize: 1 })));
    for (const [method] of LISTS.slice(0, 3)) for (const [other] of LISTS.slice(0, 3)) {
      const { nextCursor: cursor } = await ask(method);
      assert.equal((await ask(other, { cursor })).code, method === other ? undefined : -32602);
    }
  });
});

describe("Lists: for whom", () => {
  const TOOLS = ["a", "secret", "b", "c"].map((name): ToolDefinition =>
    ({ name, handler: () => ({ content: [] }) }));
  const whoOf = ({ request }: Context): unknown =>
    (request.params?._meta as Record<string, unknown>)["com.example/who"];
  const filtered = () => asking(tools(TOOLS, { compile, list: { pageSize: 1 },
    visible: ({ name }, context) => name !== "secret" || whoOf(context) === "root" }));

  test("a list that depends on the caller is private and not kept, on every page " +
    "(spec server/utilities/caching#choosing-a-cache-scope)", async () => {
    for (const who of ["root", "b"]) {
      const pages = await walk(filtered(), "tools/list", who);
      assert.deepEqual(pages.map((page) => namesIn(page, "tools")[0]),
        who === "root" ? ["a", "secret", "b", "c"] : ["a", "b", "c"]);
      for (const { ttlMs, cacheScope } of pages) {
        assert.deepEqual([ttlMs, cacheScope], [0, "private"]);
      }
    }
  });

  test("SEC-14: a cursor at a tool that the caller may not see is one that was never given " +
    "(spec server/utilities/caching#security-considerations)", async () => {
    const ask = filtered();
    const [, { nextCursor: cursor }] = await walk(ask, "tools/list", "root") as [Page, Page];
    assert.deepEqual(await ask("tools/list", { cursor }, "b"),
      { code: -32602, message: "Invalid cursor" });
  });

  test("server/discover says how long it holds and for whom " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    const { ttlMs, cacheScope } = await asking(tools([], { compile }))("server/discover");
    assert.ok(Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0);
    assert.match(String(cacheScope), /^(public|private)$/);
  });

  test("results that are not to be kept carry no hint " +
    "(spec server/utilities/caching#cacheable-results)", async () => {
    const ask = asking(...LISTS.slice(0, 2).map(([, , make]) => make(() => ["a"])));
    for (const method of ["tools/call", "prompts/get"]) {
      const result = await ask(method, { name: "a" });
      assert.deepEqual([result.resultType, "ttlMs" in result, "cacheScope" in result],
        ["complete", false, false]);
    }
  });

  test("a list method with features of no such list is not found (spec basic#error-codes)",
    async () => {
      const exchange: Exchange = assemble({ name: "t", version: "1" }, []).exchange;
      for (const [method] of LISTS) {
        const response = await exchange(request(method), lane());
        assert.equal("error" in response && response.error.code, -32601, method);
      }
    });
});
