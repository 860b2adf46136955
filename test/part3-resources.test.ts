// Part III, Resources: names looked up as they were written.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assemble, resources, type Feature, type JSONRPCRequest, type Lane, type ResourceDefinition,
} from "../mcp-raw.ts";

const lane: Lane = { signal: new AbortController().signal, notify() {} };
const _meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const NOTE: ResourceDefinition = { uri: "note:1", name: "one", mimeType: "text/plain", read: () => "hé" };
const ODD = "HTTP://example.com:80/a/../b c";

function offer(...list: ResourceDefinition[]) {
  const { exchange } = assemble({ name: "t", version: "1" }, [resources(list, { ttlMs: 5 }) as Feature]);
  return async (method: string, params: object = {}) => {
    const request = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } } as JSONRPCRequest;
    const response = await exchange(request, lane);
    if ("error" in response) return response.error as object;
    const { _meta: __, ...result } = response.result;
    return result as object;
  };
}

describe("Resources (spec server/resources)", () => {
  test("the capability is declared and the list shows what may be read, and how long it holds " +
    "(spec server/resources#capabilities)", async () => {
    const ask = offer(NOTE);
    assert.deepEqual((await ask("server/discover") as { capabilities: object }).capabilities, { resources: {} });
    assert.deepEqual(await ask("resources/list"), {
      resultType: "complete", ttlMs: 300_000, cacheScope: "public",
      resources: [{ uri: "note:1", name: "one", mimeType: "text/plain" }],
    });
    assert.deepEqual(await ask("resources/templates/list"),
      { resultType: "complete", ttlMs: 300_000, cacheScope: "public", resourceTemplates: [] });
  });

  test("text is read as text and bytes as Base64, each with its hints for caches " +
    "(spec server/resources#reading-resources)", async () => {
    const ask = offer(NOTE, { uri: "b:1", name: "b", read: async () => new Uint8Array([255, 0, 1]) });
    assert.deepEqual(await ask("resources/read", { uri: "note:1" }), {
      resultType: "complete", ttlMs: 5, cacheScope: "private",
      contents: [{ uri: "note:1", mimeType: "text/plain", text: "hé" }],
    });
    assert.deepEqual((await ask("resources/read", { uri: "b:1" }) as { contents: unknown }).contents,
      [{ uri: "b:1", blob: "/wAB" }]);
  });

  test("SCH-26: a resource that is not there is -32602 with its URI, not an empty result " +
    "(spec server/resources#error-handling)", async () => {
    assert.deepEqual(await offer(NOTE)("resources/read", { uri: "x:nope" }),
      { code: -32602, message: "Resource not found", data: { uri: "x:nope" } });
  });

  test("SCH-27: a URI is neither parsed nor normalised, found as written and told as written " +
    "(spec server/resources#error-handling)", async () => {
    const ask = offer({ uri: ODD, name: "odd", read: () => "found" });
    assert.deepEqual((await ask("resources/read", { uri: ODD }) as { contents: unknown }).contents,
      [{ uri: ODD, text: "found" }]);
    for (const uri of ["not a uri", "http://example.com/b%20c", "HTTP://example.com:80/a/../b%20c"]) {
      assert.deepEqual(await ask("resources/read", { uri }),
        { code: -32602, message: "Resource not found", data: { uri } });
    }
  });

  test("SCH-01: inherited names are no resources, and a URI that is no string is refused " +
    "(spec server/resources#error-handling)", async () => {
    const ask = offer(NOTE);
    for (const uri of ["toString", "__proto__", "constructor", 5, null, ["note:1"], undefined]) {
      assert.equal((await ask("resources/read", { uri }) as { code: number }).code, -32602, String(uri));
    }
  });

  test("a cursor that the server never gave is -32602 (spec server/utilities/pagination#error-handling)",
    async () => {
      for (const method of ["resources/list", "resources/templates/list"]) {
        assert.equal((await offer(NOTE)(method, { cursor: "x" }) as { code: number }).code, -32602);
      }
    });

  test("two resources with one URI are a mistake of the program (engineering)", () => {
    assert.throws(() => resources([NOTE, NOTE]), TypeError);
  });
});
