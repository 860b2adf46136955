// A protected server: who is let in, what the refusals say, and that what belongs to one principal
// is not there for another. It is asked by calling its fetch; sockets only for paths.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { AuthorizationError, protect, server, text, tool, type Access, type Listening,
  type ProtectOptions, type ServerOptions } from "../mcp-raw.ts";
import { serveSse } from "../examples/http-sse.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const RESOURCE = "https://mcp.example.com/mcp";
const METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
const ISSUERS = ["https://auth.example.com"];
const TOKENS: Readonly<Record<string, Access>> = {
  ada: { id: "ada", audience: RESOURCE, scopes: ["read"] },
  ada2: { id: "ada", audience: [RESOURCE, "https://x.example.com"], scopes: ["read"] },
  writer: { id: "ada", audience: RESOURCE, scopes: ["read", "write"] },
  bob: { id: "bob", audience: "https://MCP.example.com:443/mcp", scopes: ["read"] },
  nothing: { id: "ada", audience: RESOURCE, scopes: [] },
  foreign: { id: "ada", audience: "https://other.example.com/mcp", scopes: ["read"] },
  prefix: { id: "ada", audience: "https://mcp.example.com/mcp/x", scopes: ["read"] },
  late: { id: "ada", audience: RESOURCE, scopes: ["read"], expiresAt: 1_000 },
  early: { id: "ada", audience: RESOURCE, scopes: ["read"], expiresAt: 1_001 },
};
const verify: ProtectOptions["verify"] = async (token) => {
  if (token === "broken") throw new Error("the key server is away");
  return Object.hasOwn(TOKENS, token) ? TOKENS[token] : undefined;
};
const faults: unknown[] = [];
function app(more: Partial<ProtectOptions> = {}, options: Partial<ServerOptions> = {}) {
  const guard = protect({ resource: RESOURCE, authorizationServers: ISSUERS, scopes: ["read"],
    verify, now: () => 1_000, scopesFor: ({ params }) => params?.name === "write" ? ["write"] : [],
    ...more });
  const whoami = tool({ name: "whoami", handler: (_, { lane }) => text(`${lane.principal?.id}`) });
  const sure = tool({ name: "sure", async handler(_, { ask }) {
    const { action } = await ask("k", { method: "elicitation/create", params: { message: "?",
      requestedSchema: { type: "object", properties: {} } } });
    return text(action);
  } });
  return server({ name: "files", version: "1", report: (error) => void faults.push(error),
    http: { guard, allowOrigins: ["https://page.example.com"] },
    tools: () => [whoami, sure, tool({ name: "write", handler: () => text("written") })],
    ...options } as ServerOptions);
}
const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}';
const JSON_TYPES = { "Content-Type": "application/json",
  Accept: "application/json, text/event-stream" };
const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { Authorization: token.includes(" ") ? token : `Bearer ${token}` };
const modern = (token: string | undefined, name = "whoami", more = "",
  headers: Record<string, string> = {}) => new Request(RESOURCE, { method: "POST",
  headers: { ...JSON_TYPES, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call",
    "Mcp-Name": name, ...bearer(token), ...headers },
  body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}",${more}${META}}}` });
const legacy = (token: string | undefined, body: string, headers: Record<string, string> = {}) =>
  new Request(RESOURCE, { method: "POST", body,
    headers: { ...JSON_TYPES, ...bearer(token), ...headers } });
const INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":' +
  '"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}';
const WHOAMI = '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami"}}';
const challengeOf = (response: Response) => response.headers.get("www-authenticate");

describe("A protected server", () => {
  test("turns away who has no token, and says where to get one, without a word of error " +
    "(RFC 6750 §3.1)", async () => {
    const response = await app().fetch(modern(undefined));
    assert.deepEqual([response.status, challengeOf(response)],
      [401, `Bearer scope="read", resource_metadata="${METADATA}"`]);
    assert.deepEqual(await response.json(), { jsonrpc: "2.0", error: { code: -32600,
      message: "Authorization is needed: send a token" } });
  });

  test("takes a token that is for it, however its URL is written " +
    "(spec basic/authorization#canonical-server-uri)", async () => {
    for (const [token, id] of [["ada", "ada"], ["ada2", "ada"], ["bob", "bob"], ["early", "ada"],
      ["bearer  ada", "ada"], ["BEARER ada", "ada"]] as const) {
      const response = await app().fetch(modern(token));
      const { result } = await response.json() as { result: { content: { text: string }[] } };
      assert.deepEqual([response.status, result.content[0]?.text], [200, id], token);
    }
  });

  test("answers 401 invalid_token to a token that is unknown, for somebody else, or over " +
    "(spec basic/authorization#token-handling)", async () => {
    for (const token of ["nobody", "foreign", "prefix", "late", "toString", "__proto__"]) {
      const response = await app().fetch(modern(token));
      assert.equal(response.status, 401, token);
      assert.match(challengeOf(response) ?? "", /^Bearer error="invalid_token", error_description="/);
      assert.ok(challengeOf(response)?.endsWith(`scope="read", resource_metadata="${METADATA}"`));
    }
  });

  test("answers 400 to what is no token, and 401 to other schemes (RFC 6750 §3.1)", async () => {
    const seen: Record<string, number> = {};
    for (const given of ["Bearer ", "Bearer a b", "Bearer ä", "Bearer a,b", "Basic YTpi",
      "DPoP ada", "Bearerada"]) {
      seen[given] = (await app().fetch(new Request(RESOURCE, { method: "POST",
        headers: { ...JSON_TYPES, Authorization: given } }))).status;
    }
    assert.deepEqual(seen, { "Bearer ": 400, "Bearer a b": 400, "Bearer ä": 400, "Bearer a,b": 400,
      "Basic YTpi": 401, "DPoP ada": 401, "Bearerada": 401 });
  });

  test("does not look for tokens in the query or the body " +
    "(spec basic/authorization#token-requirements)", async () => {
    const request = modern(undefined);
    const { status } = await app().fetch(new Request(`${RESOURCE}?access_token=ada`, request));
    assert.equal(status, 401);
  });

  test("answers 403 with all that a call takes, at once " +
    "(spec basic/authorization#scope-challenge-handling)", async () => {
    const response = await app().fetch(modern("ada", "write"));
    assert.deepEqual([response.status, challengeOf(response)], [403, 'Bearer error="insufficient_' +
      'scope", error_description="the token does not allow this", scope="read write", ' +
      `resource_metadata="${METADATA}"`]);
    assert.equal((await app().fetch(modern("nothing"))).status, 403);
    assert.equal((await app().fetch(modern("writer", "write"))).status, 200);
  });

  test("lets one scope imply another where it is told how " +
    "(spec basic/authorization#step-up-authorization-flow)", async () => {
    const covers = (granted: readonly string[], scope: string) =>
      granted.includes(scope) || granted.includes("read") && scope === "write";
    assert.equal((await app({ covers }).fetch(modern("ada", "write"))).status, 200);
  });

  test("does not blame the caller when the verification itself fails (RFC 6750 §3.1)", async () => {
    faults.length = 0;
    const response = await app().fetch(modern("broken"));
    assert.equal(response.status, 500);
    assert.deepEqual(faults.map(String), ["Error: the key server is away"]);
    assert.doesNotMatch(await response.text(), /key server/);
  });

  test("asks for the token on every path of both eras (spec basic/authorization#token-requirements)",
    async () => {
    const requests = [legacy(undefined, INITIALIZE), legacy(undefined, WHOAMI),
      new Request(RESOURCE, { headers: { Accept: "text/event-stream", "Mcp-Session-Id": "x" } }),
      new Request(RESOURCE, { method: "DELETE", headers: { "Mcp-Session-Id": "x" } }),
      legacy(undefined, `[${WHOAMI}]`, { "MCP-Protocol-Version": "2025-03-26" })];
    for (const request of requests) assert.equal((await app().fetch(request)).status, 401);
  });

  test("tells a page of an allowed origin what it is refused for, and answers its preflight without " +
    "a token (spec basic/transports/streamable-http#security-endpoint)", async () => {
    const Origin = "https://page.example.com";
    const refused = await app().fetch(modern(undefined, "whoami", "", { Origin }));
    assert.deepEqual([refused.status, refused.headers.get("access-control-allow-origin"),
      refused.headers.get("access-control-expose-headers")?.includes("WWW-Authenticate")],
    [401, Origin, true]);
    const preflight = await app().fetch(new Request(RESOURCE, { method: "OPTIONS", headers: { Origin,
      "Access-Control-Request-Method": "POST" } }));
    assert.equal(preflight.status, 204);
    const other = await app().fetch(modern("ada", "whoami", "", { Origin: "https://evil.example" }));
    assert.equal(other.status, 403);
    assert.equal(challengeOf(other), null);
  });

  test("describes itself at the path form and at the root, to anybody (RFC 9728 §3)", async () => {
    for (const path of ["/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-protected-resource"]) {
      const response = await app().fetch(new Request(`https://mcp.example.com${path}`));
      assert.deepEqual([response.status, response.headers.get("content-type"),
        response.headers.get("access-control-allow-origin"), await response.json()],
      [200, "application/json", "*", { resource: RESOURCE, authorization_servers: ISSUERS,
        bearer_methods_supported: ["header"], scopes_supported: ["read"] }]);
    }
  });

  test("describes itself on a socket, too, and only there (RFC 9728 §3.1)", async () => {
    const listening: Listening = await app().listen(0);
    after(listening.close);
    const { origin } = new URL(listening.url);
    const statuses = await Promise.all(["/.well-known/oauth-protected-resource/mcp",
      "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/other", "/",
      "/mcp"].map(async (path) => (await fetch(origin + path)).status));
    assert.deepEqual(statuses, [200, 200, 404, 404, 401]);
  });

  test("AUT-08: names each parameter of its challenge once (RFC 9110 §11.2)", async () => {
    for (const token of [undefined, "nobody", "ada"]) {
      const response = await app().fetch(modern(token, "write"));
      const names = [...(challengeOf(response) ?? "").matchAll(/(\w+)="/g)].map(([, name]) => name);
      assert.equal(new Set(names).size, names.length);
    }
  });
});

test("what a protected server lists is for its caller alone, unless it says otherwise " +
  "(spec server/utilities/caching#security-considerations)", async () => {
  const listed = async (options: Partial<ServerOptions>) => {
    const request = new Request(RESOURCE, { method: "POST", headers: { ...JSON_TYPES,
      "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list", ...bearer("ada") },
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${META}}}` });
    const { result } = await (await app({}, options).fetch(request)).json() as {
      result: { cacheScope: string } };
    return result.cacheScope;
  };
  assert.deepEqual([await listed({}), await listed({ list: { ttlMs: 0 } }),
    await listed({ list: { cacheScope: "public" } })], ["private", "private", "public"]);
});

describe("What is one principal's", () => {
  test("a session is not there for another, by any method, and goes on under another token of its " +
    "own (spec@2025-11-25 basic/transports#session-management)", async () => {
    const { fetch } = app();
    const opened = await fetch(legacy("ada", INITIALIZE));
    const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
    await fetch(legacy("ada", '{"jsonrpc":"2.0","method":"notifications/initialized"}', session));
    const others = [legacy("bob", WHOAMI, session),
      new Request(RESOURCE, { headers: { Accept: "text/event-stream", ...session, ...bearer("bob") } }),
      new Request(RESOURCE, { method: "DELETE", headers: { ...session, ...bearer("bob") } })];
    for (const request of others) assert.equal((await fetch(request)).status, 404);
    const again = await fetch(legacy("ada2", WHOAMI, session));
    assert.deepEqual(await again.json(), { jsonrpc: "2.0", id: 2,
      result: { content: [{ type: "text", text: "ada" }] } });
  });

  test("a handler knows who asks, in each era and in a batch " +
    "(spec@2025-03-26 basic/transports#sending-messages-to-the-server)", async () => {
    const { fetch } = app();
    const opened = await fetch(legacy("bob", INITIALIZE.replace("2025-11-25", "2025-03-26")));
    const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
    const batch = await fetch(legacy("bob", `[${WHOAMI}]`, session));
    assert.deepEqual(await batch.json(), [{ jsonrpc: "2.0", id: 2,
      result: { content: [{ type: "text", text: "bob" }] } }]);
  });

  test("a batch takes what each call in it takes " +
    "(spec basic/authorization#scope-challenge-handling)", async () => {
    const { fetch } = app();
    const opened = await fetch(legacy("ada", INITIALIZE.replace("2025-11-25", "2025-03-26")));
    const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
    const write = WHOAMI.replace("whoami", "write");
    assert.equal((await fetch(legacy("ada", `[${WHOAMI},${write}]`, session))).status, 403);
  });

  test("the state of a request is refused from another " +
    "(spec basic/patterns/mrtr#server-requirements-basic-workflow)", async () => {
    const { fetch } = app();
    const first = await (await fetch(modern("ada", "sure"))).json() as {
      result: { requestState: string } };
    const more = `"requestState":${JSON.stringify(first.result.requestState)},` +
      '"inputResponses":{"k":{"action":"decline"}},';
    const stolen = await (await fetch(modern("bob", "sure", more))).json() as {
      error: { code: number } };
    assert.equal(stolen.error.code, -32602);
    const own = await (await fetch(modern("ada2", "sure", more))).json() as {
      result: { content: { text: string }[] } };
    assert.equal(own.result.content[0]?.text, "decline");
  });
});

test("SEC-16: the older transport asks for the token, too, on its stream and its messages, and " +
  "keeps each to who opened it " +
  "(spec basic/authorization#token-requirements)", async () => {
  const { exchange } = app();
  const guard = protect({ resource: RESOURCE, authorizationServers: ISSUERS, verify });
  const listener = createServer(serveSse(exchange, "/sse", { guard })).listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.once("listening", resolve));
  const at = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/sse`;
  const statuses = [(await fetch(at)).status,
    (await fetch(`${at}?session=x`, { method: "POST", headers: JSON_TYPES, body: WHOAMI })).status];
  const stream = await fetch(at, { headers: bearer("ada") });
  const chunk = await stream.body?.getReader().read();
  const [, session = ""] = /session=([\w-]+)/.exec(new TextDecoder().decode(chunk?.value)) ?? [];
  for (const token of ["bob", "ada2"]) {
    const { status } = await fetch(`${at}?session=${session}`,
      { method: "POST", headers: { ...JSON_TYPES, ...bearer(token) }, body: WHOAMI });
    statuses.push(status);
  }
  listener.close();
  listener.closeAllConnections();
  assert.deepEqual(statuses, [401, 401, 404, 202]);
});

test("SEC-19: a token of any length is looked up, and none ends in an exception (RFC 6750 §3.1)",
  async () => {
  for (const token of ["a", "a".repeat(10_000), "=", "a=="]) {
    const { status } = await app().fetch(modern(token));
    assert.ok(status === 401 || status === 400, token.slice(0, 10));
  }
});

test("a server that is no https URL, or none at all, is not protected but refused " +
  "(spec basic/authorization/security-considerations#communication-security)", () => {
  for (const resource of ["http://mcp.example.com/mcp", "mcp.example.com", "file:///x"]) {
    assert.throws(() => protect({ resource, authorizationServers: ISSUERS, verify }),
      AuthorizationError);
  }
});
