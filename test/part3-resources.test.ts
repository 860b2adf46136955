// Part III, Resources: names looked up as they were written. Those that fit a
// template are in part3-templates.test.ts.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  ProtocolError, assemble, resources, server, type Body, type ResourceDefinition,
  type ResourcesOptions,
} from "../mcp-raw.ts";
import { lane, request } from "./kit-http.ts";

const NOTE: ResourceDefinition = { uri: "note:1", name: "one", mimeType: "text/plain",
  read: () => "hé" };
const ODD = "HTTP://example.com:80/a/../b c";
const named = (uri: string, read: ResourceDefinition["read"]): ResourceDefinition =>
  ({ uri, name: uri, read });

type Told = Record<string, unknown> & { code?: number };
function offering(list: Parameters<typeof resources>[0], options: ResourcesOptions = {}) {
  const { exchange } = assemble({ name: "t", version: "1" }, [resources(list, options)]);
  return async (method: string, params: object = {}): Promise<Told> => {
    const response = await exchange(request(method, params), lane());
    const { _meta, ...told } = "error" in response ? response.error as Told : response.result;
    return JSON.parse(JSON.stringify(told)) as Told;
  };
}
const offer = (...list: ResourceDefinition[]) => offering(list, { ttlMs: 5 });
const reading = (read: () => unknown) =>
  offer(named("x:1", read as ResourceDefinition["read"]))("resources/read", { uri: "x:1" });
const notFound = (uri: unknown) => ({ code: -32602, message: "Resource not found", data: { uri } });

describe("Resources: listing (spec server/resources)", () => {
  test("the capability is declared and the list shows what may be read, and how long it holds " +
    "(spec server/resources#capabilities)", async () => {
    const ask = offer(NOTE);
    assert.deepEqual((await ask("server/discover")).capabilities, { resources: {} });
    assert.deepEqual(await ask("resources/list"), {
      resultType: "complete", ttlMs: 300_000, cacheScope: "public",
      resources: [{ uri: "note:1", name: "one", mimeType: "text/plain" }],
    });
    assert.deepEqual(await ask("resources/templates/list"),
      { resultType: "complete", ttlMs: 300_000, cacheScope: "public", resourceTemplates: [] });
  });

  test("a resource is listed with all that it says of itself, in its order " +
    "(spec server/resources#resource)", async () => {
    const wire = { uri: "file:///project/README.md", name: "README.md", title: "Documentation",
      description: "d", mimeType: "text/markdown", size: 12,
      icons: [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }],
      annotations: { audience: ["user" as const], priority: 0.8,
        lastModified: "2025-01-12T15:00:58Z" }, _meta: { "com.example/x": 1 } };
    const ask = offer({ ...wire, read: () => "" }, NOTE);
    const { read, ...note } = NOTE;
    assert.deepEqual((await ask("resources/list")).resources, [wire, note]);
  });

  test("a server with no resource yet has the capability, and lists none " +
    "(spec server/resources#capabilities)", async () => {
    const { exchange } = server({ name: "t", version: "1", resources: [] });
    const response = await exchange(request("resources/list"), lane());
    assert.deepEqual("result" in response && response.result.resources, []);
  });

  test("a cursor that the server never gave is -32602 " +
    "(spec server/utilities/pagination#error-handling)", async () => {
    for (const method of ["resources/list", "resources/templates/list"]) {
      assert.equal((await offer(NOTE)(method, { cursor: "x" })).code, -32602);
    }
  });

  test("a URI is unique: two resources of one URI are refused when the server is made " +
    "(spec server/resources#resource)", () => {
    assert.throws(() => resources([NOTE, NOTE]), TypeError);
  });
});

describe("Resources: reading (spec server/resources)", () => {
  test("text is read as text and bytes as Base64, each with its hints for caches " +
    "(spec server/resources#reading-resources)", async () => {
    const ask = offer(NOTE, named("b:1", async () => new Uint8Array([255, 0, 1])),
      named("b:0", () => new Uint8Array()), named("t:0", () => ""));
    assert.deepEqual(await ask("resources/read", { uri: "note:1" }), {
      resultType: "complete", ttlMs: 5, cacheScope: "private",
      contents: [{ uri: "note:1", mimeType: "text/plain", text: "hé" }],
    });
    for (const [uri, content] of [["b:1", { blob: "/wAB" }], ["b:0", { blob: "" }],
      ["t:0", { text: "" }]] as const) {
      assert.deepEqual((await ask("resources/read", { uri })).contents, [{ uri, ...content }]);
    }
  });

  test("what is read is not kept and nobody else's, unless the server says so " +
    "(spec server/utilities/caching#choosing-a-cache-scope)", async () => {
    const hints = async (options: ResourcesOptions) => {
      const { ttlMs, cacheScope } = await offering([NOTE], options)("resources/read",
        { uri: "note:1" });
      return [ttlMs, cacheScope];
    };
    assert.deepEqual(await hints({}), [0, "private"]);
    assert.deepEqual(await hints({ ttlMs: 60_000, cacheScope: "public" }), [60_000, "public"]);
    assert.deepEqual(await hints({ list: { ttlMs: 7, cacheScope: "public" } }), [0, "private"]);
  });

  test("a server made with a ttlMs that is no whole number of 0 or more never sends it " +
    "(spec server/utilities/caching#time-to-live-ttl-field)", async () => {
    for (const ttlMs of [-1, NaN, Infinity, 1.5]) {
      let ask: ReturnType<typeof offering>;
      try {
        ask = offering([NOTE], { ttlMs });
      } catch (error) {
        assert.ok(error instanceof TypeError || error instanceof RangeError);
        continue;
      }
      const told = await ask("resources/read", { uri: "note:1" });
      assert.ok(Number.isSafeInteger(told.ttlMs) && Number(told.ttlMs) >= 0, String(ttlMs));
    }
  });

  test("one read may give several contents, or none of a resource that is there " +
    "(spec server/resources#reading-resources)", async () => {
    for (const contents of [[{ uri: "d:/a", text: "1" }, { uri: "d:/b", blob: "AQ==" }], []]) {
      assert.deepEqual(await reading(() => ({ contents })),
        { resultType: "complete", ttlMs: 5, cacheScope: "private", contents });
    }
  });

  test("a read may say itself how long it holds and for whom " +
    "(spec server/utilities/caching#cacheable-model)", async () => {
    const own: Body = { contents: [], ttlMs: 9, cacheScope: "public" };
    assert.deepEqual(await reading(() => own), { resultType: "complete", ...own });
  });

  test("a read is given its context and the URI as it came (engineering)", async () => {
    const seen: unknown[] = [];
    const ask = offer(named(ODD, ({ request }, uri) => (seen.push(request.method, uri), "")));
    await ask("resources/read", { uri: ODD });
    assert.deepEqual(seen, ["resources/read", ODD]);
  });

  test("SCH-26: a resource that is not there is -32602 with its URI, not an empty result " +
    "(spec server/resources#error-handling)", async () => {
    assert.deepEqual(await offer(NOTE)("resources/read", { uri: "x:nope" }), notFound("x:nope"));
    assert.deepEqual(await reading(() => undefined), notFound("x:1"));
  });

  test("SCH-27: a URI is neither parsed nor normalised, found as written and told as written " +
    "(spec server/resources#error-handling)", async () => {
    const ask = offer(named(ODD, () => "found"));
    assert.deepEqual((await ask("resources/read", { uri: ODD })).contents,
      [{ uri: ODD, text: "found" }]);
    for (const uri of ["not a uri", "http://example.com/b%20c",
      "HTTP://example.com:80/a/../b%20c", "", "\u0000"]) {
      assert.deepEqual(await ask("resources/read", { uri }), notFound(uri));
    }
  });

  test("SCH-01: inherited names are no resources, and a URI that is no string is refused " +
    "(spec server/resources#error-handling)", async () => {
    const ask = offer(NOTE);
    for (const uri of ["toString", "__proto__", "constructor", 5, null, ["note:1"], undefined]) {
      assert.equal((await ask("resources/read", { uri })).code, -32602, String(uri));
    }
    for (const uri of ["toString", "__proto__", "constructor"]) {
      const own = await offer(named(uri, () => uri))("resources/read", { uri });
      assert.deepEqual(own.contents, [{ uri, text: uri }]);
    }
  });

  test("a read that fails is -32603 and says nothing of why; one that refuses says what it wants " +
    "(spec server/resources#error-handling)", async () => {
    assert.deepEqual(await reading(() => { throw new Error("/etc/secret"); }),
      { code: -32603, message: "Internal error" });
    assert.deepEqual(await reading(async () => { throw new ProtocolError(-32602, "Locked"); }),
      { code: -32602, message: "Locked" });
  });

  test("what a read gives back by mistake is -32603, not a result without contents " +
    "(spec server/resources#reading-resources)", async () => {
    for (const given of [null, 5, true, {}, { contents: "x" }, [], { text: "x" }]) {
      assert.equal((await reading(() => given)).code, -32603, JSON.stringify(given));
    }
  });
});
