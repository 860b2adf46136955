// A client that logs in, in a small internet of literal answers (kit-auth.ts): what it asks, in
// which order, what it believes, and what it refuses.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { AuthorizationError, beginLogin, connectHttpEither, identify, loginWith, memoryStore,
  parseChallenges, readCallback, requestTokens, type AuthorizeOptions, type Store, type Tokens } from "../mcp-raw.ts";
import { agree, CALL, CALLBACK, challenged, clientOf, formOf, ISSUER, issuerMetadata, json, METADATA,
  outcome, protectedWorld, queryOf, resourceMetadata, SERVER, status, visitorOf, world, type Answer,
  type World } from "./kit-auth.ts";

const call = (where: World, options?: Partial<AuthorizeOptions>) =>
  outcome(clientOf(where, options)(SERVER, CALL));
const said = (where: World, path: string) =>
  where.seen.filter((one) => new URL(one.url).pathname === path);
/** A store that holds tokens already. */
function storeWith(tokens: Partial<Tokens>, asked: string[] = []): Store & { now(): Tokens } {
  const entries = new Map<string, unknown>([
    [`server ${SERVER}`, { issuer: ISSUER, resource: SERVER }],
    [`client ${ISSUER}`, { client_id: "registered" }],
    [`tokens ${ISSUER} ${SERVER}`, { asked, tokens: { access_token: "old", token_type: "Bearer",
      ...tokens } }]]);
  return { ...memoryStore(entries), now: () =>
    (entries.get(`tokens ${ISSUER} ${SERVER}`) as { tokens: Tokens }).tokens };
}

describe("A login", () => {
  test("asks in the order of the specification, and the call is made again with the token " +
    "(spec basic/authorization#authorization-flow-steps)", async () => {
    const where = protectedWorld();
    assert.equal(await call(where), 200);
    assert.deepEqual(where.asked(), [`POST ${SERVER}`, `GET ${METADATA}`,
      `GET ${ISSUER}/.well-known/oauth-authorization-server`, `POST ${ISSUER}/register`,
      `GET ${ISSUER}/authorize`, `POST ${ISSUER}/token`, `POST ${SERVER}`]);
    assert.equal(where.seen.at(-1)?.headers.get("authorization"), "Bearer token-1");
    assert.equal(where.seen.at(-1)?.body, CALL.body);
  });

  test("sends PKCE with S256, state and resource, and proves the verifier " +
    "(spec basic/authorization#resource-parameter-implementation)", async () => {
    const where = protectedWorld();
    await call(where);
    const query = queryOf(said(where, "/authorize")[0]!);
    const form = formOf(said(where, "/token")[0]!);
    const hash = await crypto.subtle.digest("SHA-256",
      new TextEncoder().encode(form.get("code_verifier")!));
    assert.deepEqual([query.get("response_type"), query.get("code_challenge_method"),
      query.get("code_challenge"), query.get("resource"), query.get("client_id"),
      query.get("redirect_uri"), query.has("scope")],
    ["code", "S256", Buffer.from(hash).toString("base64url"), SERVER, "registered", CALLBACK, false]);
    assert.ok((query.get("state") ?? "").length >= 32 && form.get("code_verifier")!.length >= 43);
    assert.deepEqual([form.get("grant_type"), form.get("code"), form.get("redirect_uri"),
      form.get("resource"), form.get("client_id")],
    ["authorization_code", "the-code", CALLBACK, SERVER, "registered"]);
  });

  test("registers as a native program that wants to refresh " +
    "(spec basic/authorization/client-registration#application-type-and-redirect-uri-constraints)",
  async () => {
    const where = protectedWorld();
    await call(where);
    const { application_type, grant_types, redirect_uris, token_endpoint_auth_method } =
      JSON.parse(said(where, "/register")[0]!.body);
    assert.deepEqual([application_type, grant_types, redirect_uris, token_endpoint_auth_method],
      ["native", ["authorization_code", "refresh_token"], [CALLBACK], "none"]);
  });

  test("sends the resource letter for letter as its metadata has it (RFC 8707 §2)", async () => {
    const resource = "https://mcp.example.com"; // a parser would add a slash
    const where = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, resource }) });
    assert.equal(await call(where), 200);
    assert.equal(queryOf(said(where, "/authorize")[0]!).get("resource"), resource);
    assert.equal(formOf(said(where, "/token")[0]!).get("resource"), resource);
  });

  test("looks at the path, then at the root (spec " +
    "basic/authorization/authorization-server-discovery)", async () => {
    const where = protectedWorld({ "POST /mcp": () => challenged(""),
      "GET /.well-known/oauth-protected-resource/mcp": () => status(404) });
    await call(where);
    assert.deepEqual(where.asked().slice(1, 3), [METADATA,
      "https://mcp.example.com/.well-known/oauth-protected-resource"].map((url) => `GET ${url}`));
  });

  test("looks for an issuer with a path in three places, in their order (spec " +
    "basic/authorization/authorization-server-discovery)", async () => {
    const issuer = `${ISSUER}/tenant1`;
    const where = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, authorization_servers: [issuer] }),
    "GET /tenant1/.well-known/openid-configuration": () => json({ ...issuerMetadata, issuer }),
    "GET /authorize": (seen) => agree(seen, { iss: issuer }) });
    assert.equal(await call(where), 200);
    assert.deepEqual(where.asked().slice(2, 5), [
      `GET ${ISSUER}/.well-known/oauth-authorization-server/tenant1`,
      `GET ${ISSUER}/.well-known/openid-configuration/tenant1`,
      `GET ${ISSUER}/tenant1/.well-known/openid-configuration`]);
  });

  test("takes a client id agreed on, then a metadata document, then a registration " +
    "(spec basic/authorization/client-registration)", async () => {
    const supports = { "GET /.well-known/oauth-authorization-server": () =>
      json({ ...issuerMetadata, client_id_metadata_document_supported: true }) };
    const clientMetadataUrl = "https://app.example.com/client.json";
    const ids = await Promise.all([
      [protectedWorld(supports), { clientMetadataUrl, client: { client_id: "agreed" } }],
      [protectedWorld(supports), { clientMetadataUrl }],
      [protectedWorld(), { clientMetadataUrl }],
    ].map(async ([where, options]) => {
      await call(where as World, options as object);
      return queryOf(said(where as World, "/authorize")[0]!).get("client_id");
    }));
    assert.deepEqual(ids, ["agreed", clientMetadataUrl, "registered"]);
  });

  test("a client id agreed on is not shown to another issuer " +
    "(spec basic/authorization/client-registration#authorization-server-binding)", async () => {
    const where = protectedWorld();
    const client = { client_id: "mine", client_secret: "s", issuer: "https://other.example.com" };
    assert.equal(await call(where, { client }), "registration");
    assert.ok(!where.seen.some(({ url, body }) => `${url}${body}`.includes("mine")));
    const store = memoryStore();
    assert.equal(await call(where, { client: { client_id: "mine" }, store }), 200);
    const moved = "https://auth2.example.com";
    const after = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, authorization_servers: [moved] }) }, { [moved]: () =>
      json({ ...issuerMetadata, issuer: moved }) });
    assert.equal(await call(after, { client: { client_id: "mine" }, store }), "registration");
  });

  test("a server that hands out its own tokens is asked at its root, with the revision in a header, " +
    "then at set paths (spec@2025-03-26 basic/authorization)", async () => {
    const origin = "https://mcp.example.com";
    const nothing = { "GET /.well-known/oauth-protected-resource/mcp": () => status(404),
      "POST /mcp": (seen: Parameters<Answer>[0]) =>
        seen.headers.has("authorization") ? json({}) : status(401),
      "GET /authorize": (seen: Parameters<Answer>[0]) => agree(seen, { iss: origin }) };
    const fallback = protectedWorld({ ...nothing,
      "GET /.well-known/oauth-authorization-server": () => status(404) });
    const request = { ...CALL, headers: { "MCP-Protocol-Version": "2025-03-26" } };
    assert.equal(await outcome(clientOf(fallback)(SERVER, request)), 200);
    assert.deepEqual(fallback.asked().slice(-4), [`POST ${origin}/register`,
      `GET ${origin}/authorize`, `POST ${origin}/token`, `POST ${SERVER}`]);
    const [discovery] = said(fallback, "/.well-known/oauth-authorization-server");
    assert.equal(discovery?.headers.get("mcp-protocol-version"), "2025-03-26");
    assert.equal(queryOf(said(fallback, "/authorize")[0]!).get("resource"), SERVER);
  });

  test("AUT-23: the code goes to the token endpoint that was found, whoever heard the challenge " +
    "(spec basic/authorization#authorization-flow-steps)", async () => {
    const where = protectedWorld();
    const server = { ...issuerMetadata };
    const { url, login } = await beginLogin({ server, resource: SERVER }, { client_id: "c" },
      CALLBACK);
    const back = await visitorOf(where).visit(url);
    const kept = JSON.parse(JSON.stringify(login)); // the page was left, and loaded again
    await requestTokens(server, { client_id: "c" }, { grant_type: "authorization_code",
      code: readCallback(back, kept), code_verifier: kept.verifier }, { fetch: where.fetch });
    assert.deepEqual(where.asked().at(-1), `POST ${ISSUER}/token`);
  });
});

describe("Scopes", () => {
  const scopesOf = async (answers: Record<string, Answer>) => {
    const where = protectedWorld(answers);
    await call(where);
    return queryOf(said(where, "/authorize")[0]!).get("scope");
  };
  const listing = (scopes_supported: unknown) => ({
    "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, scopes_supported }) });
  const asking = (parameters: string, good = "token-1") => ({ "POST /mcp": (seen: { headers: Headers }) =>
    seen.headers.get("authorization") === `Bearer ${good}` ? json({}) : challenged(parameters) });

  test("AUT-09: come from the challenge, else from the metadata, else there are none " +
    "(spec basic/authorization#scope-selection-strategy)", async () => {
    const hint = `resource_metadata="${METADATA}"`;
    assert.equal(await scopesOf({ ...listing(["a", "b"]),
      ...asking(`${hint}, scope="files:read"`) }), "files:read");
    assert.equal(await scopesOf(listing(["a", "b"])), "a b");
    assert.equal(await scopesOf({}), null);
    assert.equal(await scopesOf(listing("a")), null);
  });

  test("offline_access is asked for only where the issuer offers it " +
    "(spec basic/authorization#refresh-tokens)", async () => {
    const offers = { "GET /.well-known/oauth-authorization-server": () =>
      json({ ...issuerMetadata, scopes_supported: ["a", "offline_access"] }) };
    assert.equal(await scopesOf({ ...listing(["a"]), ...offers }), "a offline_access");
    assert.equal(await scopesOf(listing(["a"])), "a");
    assert.equal(await scopesOf(offers), null); // alone it would ask for less than nothing said
  });

  test("what a 403 asks for is asked for together with what there was, once " +
    "(spec basic/authorization#step-up-authorization-flow)", async () => {
    const more = 'error="insufficient_scope", scope="write"';
    const where = protectedWorld({ ...listing(["read"]), "POST /mcp": ({ headers }) =>
      ({ "Bearer token-1": challenged(more, 403), "Bearer token-2": json({}) })[
        headers.get("authorization") ?? ""] ?? challenged() });
    assert.equal(await call(where), 200);
    assert.deepEqual(said(where, "/authorize").map((one) => queryOf(one).get("scope")),
      ["read", "read write"]);
    const never = protectedWorld({ ...listing(["read"]), "POST /mcp": ({ headers }) =>
      headers.has("authorization") ? challenged(more, 403) : challenged() });
    assert.equal(await call(never), "insufficient_scope");
    assert.ok(said(never, "/authorize").length <= 3);
  });

  test("a 403 that asks for no scope is the answer " +
    "(spec basic/authorization#runtime-insufficient-scope-errors)", async () => {
    for (const refusal of [() => status(403), () => challenged('error="invalid_token"', 403)]) {
      const where = protectedWorld({ "POST /mcp": refusal });
      assert.equal(await call(where), 403);
      assert.equal(where.seen.length, 1);
    }
  });
});

describe("Challenges", () => {
  test("AUT-07: every form of the grammar is read, and what has no parameters gives none " +
    "(RFC 9110 §11.6.1)", () => {
    const x = "https://h/x";
    const rows: [header: string, ...unknown[]][] = [
      [`bearer resource_metadata = "${x}"`, ["bearer", { resource_metadata: x }]],
      [`Bearer resource_metadata=${x}`, ["bearer", { resource_metadata: x }]],
      [`Basic realm="a, b", Bearer scope="r w", resource_metadata="${x}"`,
        ["basic", { realm: "a, b" }], ["bearer", { scope: "r w", resource_metadata: x }]],
      [`Negotiate, Bearer RESOURCE_METADATA="${x}"`, ["negotiate", {}],
        ["bearer", { resource_metadata: x }]],
      ['Bearer realm="say \\"hi\\"", error="invalid_token"',
        ["bearer", { realm: 'say "hi"', error: "invalid_token" }]],
      ["Bearer", ["bearer", {}]], ["Negotiate", ["negotiate", {}]], ["", ...[]],
      ['"', ...[]], ["Bearer =", ["bearer", {}]],
      ['Bearer __proto__="x", toString=y', ["bearer", Object.assign(Object.create(null),
        { ["__proto__"]: "x", tostring: "y" })]],
    ];
    for (const [header, ...expected] of rows) {
      assert.deepEqual(parseChallenges(header).map(({ scheme, parameters }) =>
        [scheme, Object.entries(parameters)]),
      expected.map((one) => [(one as [string])[0], Object.entries((one as [string, object])[1])]),
      header);
    }
  });

  test("AUT-07: two header lines are two challenges (RFC 9110 §11.6.1)", async () => {
    const headers = new Headers([["WWW-Authenticate", "Basic realm=\"x\""],
      ["WWW-Authenticate", `Bearer resource_metadata="${METADATA}"`]]);
    const where = protectedWorld({ "POST /mcp": ({ headers: given }) => given.has("authorization")
      ? json({}) : new Response(null, { status: 401, headers }) });
    assert.equal(await call(where), 200);
  });

  test("AUT-08: a first URL that is not there does no harm " +
    "(spec basic/authorization/authorization-server-discovery)", async () => {
    const where = protectedWorld({ "POST /mcp": ({ headers }) => headers.has("authorization")
      ? json({}) : challenged(`resource_metadata="https://mcp.example.com/nowhere", ` +
        `error="invalid_token", resource_metadata="${METADATA}"`) });
    assert.equal(await call(where), 200);
  });

  test("AUT-10: a challenge without metadata leaves what an earlier one said " +
    "(spec basic/authorization/authorization-server-discovery)", async () => {
    const place = "https://mcp.example.com/custom";
    let times = 0;
    const where = protectedWorld({ "GET /custom": () => json(resourceMetadata),
      "GET /.well-known/oauth-protected-resource/mcp": () => status(404),
      "POST /mcp": ({ headers }) => headers.get("authorization") === "Bearer token-2" ? json({})
        : times++ === 0 ? challenged(`resource_metadata="${place}"`)
        : new Response(null, { status: 401, headers: { "WWW-Authenticate": "Negotiate" } }) });
    let clock = 0;
    const reach = clientOf(where, { now: () => clock });
    await outcome(reach(SERVER, CALL)); // its token is refused
    clock = 60_000;
    assert.equal(await outcome(reach(SERVER, CALL)), 200);
    assert.equal(said(where, "/custom").length, 2);
  });
});

describe("Tokens that end", () => {
  const rotating = (answers: Record<string, Answer> = {}) => {
    let turn = 0;
    return protectedWorld({ "POST /mcp": ({ headers }) =>
      headers.get("authorization") === "Bearer new-1" ? json({}) : challenged(),
    "POST /token": (seen) => formOf(seen).get("refresh_token") === `refresh-${turn}`
      ? json({ access_token: `new-${++turn}`, token_type: "bearer", expires_in: "3600",
        refresh_token: `refresh-${turn}` })
      : json({ error: "invalid_grant" }, 400), ...answers });
  };

  for (const many of [5, 10]) {
    test(`AUT-11: ${many} calls that find their token expired make one refresh, and all succeed ` +
      "(spec basic/authorization#refresh-tokens)", async () => {
      const where = rotating();
      const reach = clientOf(where, { store: storeWith({ refresh_token: "refresh-0" }) });
      const outcomes = await Promise.all(Array.from({ length: many }, () =>
        outcome(reach(SERVER, CALL))));
      assert.deepEqual(outcomes, Array(many).fill(200));
      assert.equal(said(where, "/token").length, 1);
      const form = formOf(said(where, "/token")[0]!);
      assert.deepEqual([form.get("grant_type"), form.get("resource")], ["refresh_token", SERVER]);
    });
  }

  test("a token known to have expired is refreshed before it is sent, once " +
    "(RFC 6749 §6)", async () => {
    const where = rotating();
    const store = storeWith({ refresh_token: "refresh-0", expires_at: 1_000 });
    const reach = clientOf(where, { store, now: () => 2_000 });
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => outcome(reach(SERVER, CALL)))),
      [200, 200, 200]);
    assert.deepEqual([said(where, "/token").length, said(where, "/mcp").length], [1, 3]);
    assert.equal(store.now().expires_at, 2_000 + 3_600_000);
  });

  test("AUT-12: who loses a race for the refresh takes the tokens of who won " +
    "(spec basic/authorization#refresh-tokens)", async () => {
    const store = storeWith({ refresh_token: "refresh-0" });
    const where = rotating({ "POST /token": async () => {
      await store.save(`tokens ${ISSUER} ${SERVER}`, { asked: [], tokens: { access_token: "new-1",
        token_type: "Bearer", refresh_token: "refresh-1" } }); // by the other
      return json({ error: "invalid_grant" }, 400);
    } });
    assert.equal(await outcome(clientOf(where, { store })(SERVER, CALL)), 200);
    assert.equal(store.now().refresh_token, "refresh-1");
    assert.equal(said(where, "/authorize").length, 0);
  });

  test("AUT-13: a refresh that brings no refresh token leaves the old one (RFC 6749 §6)",
    async () => {
    const where = rotating({ "POST /token": () =>
      json('{"access_token":"new-1","token_type":"bearer","expires_in":60}') });
    const store = storeWith({ refresh_token: "refresh-0" });
    assert.equal(await outcome(clientOf(where, { store })(SERVER, CALL)), 200);
    assert.equal(store.now().refresh_token, "refresh-0");
  });

  test("AUT-14: a token that is refused at once ends the call, after one login; without a refusal " +
    "there is one request (spec basic/authorization#access-token-usage)", async () => {
    const never = protectedWorld({ "POST /mcp": () => challenged() });
    assert.equal(await call(never), "invalid_token");
    assert.equal(said(never, "/authorize").length, 1);
    const calls = protectedWorld({ "POST /mcp": () => challenged() });
    const reach = clientOf(calls);
    for (let turn = 0; turn < 3; turn++) await outcome(reach(SERVER, CALL));
    assert.equal(said(calls, "/authorize").length, 1); // no browser for each call
    const open = protectedWorld({ "POST /mcp": () => json({}) });
    assert.equal(await call(open), 200);
    assert.equal(open.seen.length, 1);
  });

  test("AUT-22: the stream that a client only reads is refused and recovers, too " +
    "(spec basic/authorization#token-requirements)", async () => {
    const event = "data: {}\n\n";
    const where = rotating({ "GET /mcp": ({ headers }) =>
      headers.get("authorization") === "Bearer new-1" ? new Response(event) : challenged() });
    const reach = clientOf(where, { store: storeWith({ refresh_token: "refresh-0" }) });
    const response = await reach(SERVER, { headers: { Accept: "text/event-stream" } });
    assert.equal(await response.text(), event);
    assert.equal(said(where, "/token").length, 1);
  });

  test("AUT-25: a token endpoint that is down, or cannot be reached, costs no tokens; one that " +
    "refuses does; a store that fails is heard (RFC 6749 §5.2)", async () => {
    for (const [answer, code] of [[() => status(503), "http_503"],
      [() => json({ error: "temporarily_unavailable" }, 503), "temporarily_unavailable"],
      [() => { throw new TypeError("fetch failed"); }, "unreachable"]] as [Answer, string][]) {
      const store = storeWith({ refresh_token: "refresh-0" });
      const where = rotating({ "POST /token": answer });
      assert.equal(await outcome(clientOf(where, { store })(SERVER, CALL)), code);
      assert.equal(store.now().refresh_token, "refresh-0");
    }
    let turn = 0;
    const refusing = rotating({ "POST /token": () => turn++ === 0
      ? json({ error: "invalid_grant" }, 400)
      : json({ access_token: "new-1", token_type: "Bearer" }) });
    assert.equal(await outcome(clientOf(refusing,
      { store: storeWith({ refresh_token: "refresh-0" }) })(SERVER, CALL)), 200);
    assert.equal(said(refusing, "/authorize").length, 1);
    const full = { ...storeWith({ refresh_token: "refresh-0" }), save() {
      throw new Error("the disk is full");
    } };
    await assert.rejects(clientOf(rotating(), { store: full })(SERVER, CALL), /the disk is full/);
  });

  test("a refusal of one server's refresh leaves the tokens of another alone " +
    "(spec basic/authorization/client-registration#authorization-server-binding)", async () => {
    const entries = new Map<string, unknown>([
      ["server https://b.example.com/mcp", { issuer: ISSUER, resource: "https://b.example.com/mcp" }],
      [`tokens ${ISSUER} https://b.example.com/mcp`, { asked: [],
        tokens: { access_token: "b", token_type: "Bearer", refresh_token: "b-refresh" } }]]);
    const before = structuredClone(entries);
    const store = memoryStore(entries);
    await store.save(`server ${SERVER}`, { issuer: ISSUER, resource: SERVER });
    await store.save(`tokens ${ISSUER} ${SERVER}`, { asked: [],
      tokens: { access_token: "old", token_type: "Bearer", refresh_token: "spent" } });
    await outcome(clientOf(rotating(), { store })(SERVER, CALL));
    for (const [key, value] of before) assert.deepEqual(entries.get(key), value);
  });

  test("a refresh token that another program was given by another issuer is not shown to the first " +
    "(spec basic/authorization/client-registration#authorization-server-binding)", async () => {
    const where = protectedWorld();
    const store = memoryStore();
    const reach = clientOf(where, { store });
    assert.equal(await outcome(reach(SERVER, CALL)), 200);
    const other = "https://other.example.com";
    await store.save(`server ${SERVER}`, { issuer: other, resource: SERVER });
    await store.save(`tokens ${other} ${SERVER}`, { asked: [], tokens: { access_token: "x",
      token_type: "Bearer", refresh_token: "secret-of-other", expires_at: 1 } });
    await outcome(reach(SERVER, CALL));
    assert.ok(!where.seen.some(({ body }) => body.includes("secret-of-other")));
  });

  test("an identity that the issuer has forgotten is registered anew, once (RFC 6749 §5.2)",
    async () => {
    let turn = 0;
    const where = rotating({ "POST /token": () => turn++ === 0
      ? json({ error: "invalid_client" }, 401)
      : json({ access_token: "new-1", token_type: "Bearer" }) });
    const store = memoryStore(new Map([[`client ${ISSUER}`, { client_id: "forgotten" }]]));
    assert.equal(await outcome(clientOf(where, { store })(SERVER, CALL)), 200);
    assert.deepEqual(said(where, "/authorize").map((one) => queryOf(one).get("client_id")),
      ["forgotten", "registered"]);
  });

  test("an identity with which nobody came back from the browser is registered anew next time " +
    "(RFC 7591 §3.2.1)", async () => {
    const where = protectedWorld();
    const store = memoryStore(new Map([[`client ${ISSUER}`, { client_id: "forgotten" }]]));
    const absent = loginWith({ redirectUri: CALLBACK, visit: async () => {
      throw new AuthorizationError("timeout", "nobody came");
    } });
    assert.equal(await outcome(clientOf(where, { store, grant: absent })(SERVER, CALL)), "timeout");
    assert.equal(await outcome(clientOf(where, { store })(SERVER, CALL)), 200);
    assert.equal(queryOf(said(where, "/authorize")[0]!).get("client_id"), "registered");
  });

  test("an issuer that changes gets a registration of its own, and sees nothing of the old one " +
    "(spec basic/authorization/client-registration#authorization-server-binding)", async () => {
    const moved = "https://auth2.example.com";
    let issuer = ISSUER;
    const second = (seen: Parameters<Answer>[0]): Response => {
      const path = seen.path.replace(/\?.*/, "");
      if (path.startsWith("/.well-known/oauth")) {
        return json(JSON.parse(JSON.stringify(issuerMetadata).replaceAll(ISSUER, moved)));
      }
      return path === "/register" ? json({ client_id: "second" }, 201)
        : path === "/authorize" ? agree(seen, { iss: moved })
        : json({ access_token: "of-second", token_type: "Bearer" });
    };
    const where = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, authorization_servers: [issuer] }),
    "POST /token": () => json({ access_token: "of-first", token_type: "Bearer",
      refresh_token: "refresh-of-first" }),
    "POST /mcp": ({ headers }) => headers.get("authorization") ===
      (issuer === ISSUER ? "Bearer of-first" : "Bearer of-second") ? json({}) : challenged() },
    { [moved]: second });
    const reach = clientOf(where);
    assert.equal(await outcome(reach(SERVER, CALL)), 200);
    issuer = moved;
    assert.equal(await outcome(reach(SERVER, CALL)), 200);
    const shown = where.seen.filter(({ url }) => url.startsWith(moved)).map(({ url, body }) =>
      `${url} ${body}`).join("\n");
    assert.doesNotMatch(shown, /registered|refresh-of-first|of-first/);
  });
});

describe("Discovery", () => {
  const first = "GET /.well-known/oauth-authorization-server";
  test("AUT-04: a place that has nothing leads to the next; an issuer that is broken or away ends " +
    "the search (spec basic/authorization/authorization-server-discovery)", async () => {
    const openid = { "GET /.well-known/openid-configuration": () => json(issuerMetadata) };
    const outcomes: Record<string, unknown> = {};
    const answers: Record<string, Answer> = {
      "403": () => status(403), "502": () => status(502),
      "200 text/html": () => new Response("<html>", { headers: { "Content-Type": "text/html" } }),
      "500": () => status(500), "refused": () => { throw new TypeError("fetch failed"); } };
    for (const [name, answer] of Object.entries(answers)) {
      outcomes[name] = await call(protectedWorld({ ...openid, [first]: answer }));
    }
    assert.deepEqual(outcomes, { "403": 200, "502": 200, "200 text/html": 200, "500": "unavailable",
      refused: "unreachable" });
  });

  test("AUT-26: an issuer whose name does not resolve is an error of the network, and nothing is " +
    "guessed (spec basic/authorization/authorization-server-discovery)", async () => {
    const where = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, authorization_servers: ["https://gone.example.com"] }) });
    await assert.rejects(clientOf(where)(SERVER, CALL),
      { name: "TransportError", code: "unreachable", message: /gone\.example\.com.*ENOTFOUND/ });
    assert.ok(!where.asked().some((one) => one.includes("register")));
  });

  test("metadata of another issuer is not used, nor any of its addresses (RFC 8414 §3.3)",
    async () => {
    for (const issuer of ["https://attacker.example.com", `${ISSUER}/`, "HTTPS://auth.example.com",
      undefined]) {
      const where = protectedWorld({ [first]: () => json({ ...issuerMetadata, issuer }) });
      assert.equal(await call(where), "mismatch", `${issuer}`);
      assert.ok(!where.asked().some((one) => /register|authorize|token/.test(one)), `${issuer}`);
    }
  });

  test("metadata of another resource is not used (RFC 9728 §3.3)", async () => {
    for (const resource of ["https://evil.example.com/mcp", "https://mcp.example.com/mcp/other",
      "https://mcp.example.com/mc", "https://mcp.example.com:8443/mcp", "", undefined, 7]) {
      const where = protectedWorld({ "GET /.well-known/oauth-protected-resource/mcp": () =>
        json({ ...resourceMetadata, resource }) });
      assert.equal(await call(where), "mismatch", String(resource));
      assert.ok(!where.asked().some((one) => one.includes(ISSUER)));
    }
  });

  test("a server without S256 is not logged in to, nor is the plain method offered " +
    "(spec basic/authorization/security-considerations#authorization-code-protection)", async () => {
    for (const methods of [undefined, [], ["plain"], ["s256"]]) {
      const where = protectedWorld({ [first]: () =>
        json({ ...issuerMetadata, code_challenge_methods_supported: methods }) });
      assert.equal(await call(where), "pkce");
      assert.ok(!where.asked().some((one) => one.includes("authorize")));
    }
  });

  test("addresses that are no https, or lead from afar into this machine or its network, are not " +
    "gone to (spec basic/authorization/security-considerations#communication-security)", async () => {
    const bad = ["file:///etc/passwd", "javascript:alert(1)", "http://auth.example.com/x",
      "http://127.0.0.1:8080/x", "https://localhost/x", "https://[::1]/x", "https://0.0.0.0/x",
      "https://[::ffff:127.0.0.1]/x", "https://10.0.0.1/x", "https://169.254.169.254/x",
      "https://192.168.1.1/x", "https://[fd00::1]/x", "https://2130706433/x", "https://0x7f.1/x",
      "https://a:b@auth.example.com/x", "https://localhost./x", "data:text/html,x", "", 7, {}];
    for (const url of bad) {
      const places: Record<string, Answer>[] = [
        { "POST /mcp": () => challenged(`resource_metadata="${url}"`) },
        { "GET /.well-known/oauth-protected-resource/mcp": () =>
          json({ ...resourceMetadata, authorization_servers: [url] }) },
        { [first]: () => json({ ...issuerMetadata, authorization_endpoint: url }) },
        { [first]: () => json({ ...issuerMetadata, token_endpoint: url }) },
        { [first]: () => json({ ...issuerMetadata, registration_endpoint: url }) }];
      for (const [at, answers] of places.entries()) {
        const where = protectedWorld(answers);
        const what = await call(where);
        const hintOfNothing = at === 0 && (url === "" || typeof url !== "string");
        if (!hintOfNothing) assert.equal(what, "insecure", `${url} in place ${at}`);
        assert.deepEqual(where.seen.filter((one) => !one.url.startsWith("https://mcp.example.com/") &&
          !one.url.startsWith(`${ISSUER}/`)), []);
      }
    }
  });

  test("on this machine http will do (spec basic/authorization/security-considerations)", async () => {
    const answers = JSON.parse(JSON.stringify(issuerMetadata)
      .replaceAll(ISSUER, "http://localhost:9000"));
    const where = world({ "http://127.0.0.1:3100": ({ method, headers }) => method === "GET"
      ? json({ resource: "http://127.0.0.1:3100/mcp", authorization_servers:
        ["http://localhost:9000"] })
      : headers.has("authorization") ? json({}) : status(401),
    "http://localhost:9000": (seen) => seen.path.startsWith("/.well") ? json(answers)
      : seen.path === "/register" ? json({ client_id: "x" }, 201)
      : seen.method === "GET" ? agree(seen, { iss: "http://localhost:9000" })
      : json({ access_token: "t", token_type: "Bearer" }) });
    assert.equal(await outcome(clientOf(where, { url: "http://127.0.0.1:3100/mcp" })(
      "http://127.0.0.1:3100/mcp", CALL)), 200);
  });
});

describe("The way back from the browser", () => {
  const login = { issuer: ISSUER, state: "s1", verifier: "v", redirectUri: CALLBACK,
    resource: SERVER, sendsIss: true };
  const back = (query: string) => `${CALLBACK}?${query}`;
  const good = `code=c&state=s1&iss=${encodeURIComponent(ISSUER)}`;

  test("gives the code when state and iss are right " +
    "(spec basic/authorization#authorization-response-validation)", () => {
    assert.equal(readCallback(back(good), login), "c");
    assert.equal(readCallback(back("code=c&state=s1"), { ...login, sendsIss: false }), "c");
  });

  test("is refused without iss where it is promised, and with another one in any case, without " +
    "any normalization (spec basic/authorization#authorization-response-validation)", () => {
    const rows: [query: string, sendsIss: boolean][] = [["code=c&state=s1", true],
      ...[`${ISSUER}/`, "https://evil.example.com", "HTTPS://auth.example.com",
        "https://auth.example.com:443", "https://auth%2eexample.com", ""].flatMap((iss) =>
        [true, false].map((sendsIss): [string, boolean] =>
          [`code=c&state=s1&iss=${encodeURIComponent(iss)}`, sendsIss]))];
    for (const [query, sendsIss] of rows) {
      assert.throws(() => readCallback(back(query), { ...login, sendsIss }), { code: "issuer" }, query);
    }
  });

  test("an error from another issuer is not shown " +
    "(spec basic/authorization#authorization-response-validation)", () => {
    const error = "error=access_denied&error_description=Call+0900-SCAM&state=s1";
    assert.throws(() => readCallback(back(`${error}&iss=https://evil.example.com`), login),
      (thrown: Error) => !/SCAM|access_denied/.test(thrown.message));
    assert.throws(() => readCallback(back(`${error}&iss=${ISSUER}`), login),
      { code: "access_denied" });
  });

  test("another state, none, or a parameter that is there twice throw the answer away " +
    "(spec basic/authorization/security-considerations#open-redirection)", () => {
    for (const query of [`code=c&state=s2&iss=${ISSUER}`, `code=c&iss=${ISSUER}`,
      `${good}&state=s1`, `${good}&code=d`, `${good}&iss=${ISSUER}`, `state=s1&iss=${ISSUER}`]) {
      assert.throws(() => readCallback(back(query), login), { name: "AuthorizationError" }, query);
    }
  });

  test("a wrong answer reaches no token endpoint (RFC 9207 §2.4)", async () => {
    for (const wrong of [{ iss: "https://evil.example.com" }, { iss: "" }, { state: "guess" }]) {
      const where = protectedWorld({ "GET /authorize": (seen) => agree(seen,
        wrong as Record<string, string>) });
      assert.equal(await call(where), "state" in wrong ? "state" : "issuer");
      assert.ok(!where.asked().some((one) => one.endsWith("/token")));
    }
  });
});

describe("The token endpoint", () => {
  const server = { ...issuerMetadata };
  const ask = (answer: Answer, client: object = { client_id: "c" }, metadata: object = {}) => {
    const where = world({ [ISSUER]: answer });
    return { where, tokens: requestTokens({ ...server, ...metadata },
      client as { client_id: string }, { grant_type: "client_credentials" },
      { fetch: where.fetch, now: () => 1_000 }) };
  };

  test("AUT-15: what others get wrong is told apart from tokens (RFC 6749 §5)", async () => {
    const token = { access_token: "t", token_type: "Bearer" };
    await assert.rejects(ask(() => json({ error: "invalid_client" })).tokens,
      { code: "invalid_client" });
    assert.equal((await ask(() => json(token, 201)).tokens).access_token, "t");
    assert.equal((await ask(() => json({ ...token, expires_in: "3600" })).tokens).expires_at,
      3_601_000);
    for (const type of ["Bearer", "bearer", "BEARER"]) {
      assert.equal((await ask(() => json({ ...token, token_type: type })).tokens).access_token, "t");
    }
    await assert.rejects(ask(() => json({ ...token, token_type: "mac" })).tokens, { code: "token" });
    await assert.rejects(ask(() => new Response("access_token=t&token_type=bearer", { headers:
      { "Content-Type": "application/x-www-form-urlencoded" } })).tokens, { code: "http_200" });
    assert.equal((await ask(() => json(token)).tokens).scope, undefined);
    for (const access_token of [7, "", "a b", "a\r\nX: y", "ü", null]) {
      await assert.rejects(ask(() => json({ ...token, access_token })).tokens, { code: "token" });
    }
  });

  test("AUT-21: the program proves itself as its registration says, in the header with its parts " +
    "percent-encoded, in the body, or not at all (RFC 6749 §2.3.1)", async () => {
    const secret = { client_id: "a:b", client_secret: "s +ü" };
    const token = () => json({ access_token: "t", token_type: "Bearer" });
    const rows: [client: object, metadata: object, header: string | null, body: string][] = [
      [{ ...secret, token_endpoint_auth_method: "client_secret_basic" }, {},
        `Basic ${btoa("a%3Ab:s+%2B%C3%BC")}`, ""],
      [{ ...secret, token_endpoint_auth_method: "client_secret_post" }, {}, null,
        "client_id=a%3Ab&client_secret=s+%2B%C3%BC"],
      [secret, { token_endpoint_auth_methods_supported: ["client_secret_post"] }, null,
        "client_id=a%3Ab&client_secret=s+%2B%C3%BC"],
      [secret, { token_endpoint_auth_methods_supported: undefined },
        `Basic ${btoa("a%3Ab:s+%2B%C3%BC")}`, ""],
      [{ client_id: "a" }, {}, null, "client_id=a"],
      [{ client_id: "a", client_secret: "s", token_endpoint_auth_method: "none" }, {}, null,
        "client_id=a"],
    ];
    for (const [client, metadata, header, body] of rows) {
      const { where, tokens } = ask(token, client, metadata);
      await tokens;
      const [{ headers, body: sent } = { headers: new Headers(), body: "" }] = where.seen;
      assert.equal(headers.get("authorization"), header);
      assert.equal(sent, ["grant_type=client_credentials", body].filter(Boolean).join("&"));
    }
  });

  test("AUT-21: a registration that is answered with 200 counts (RFC 7591 §3.2.1)", async () => {
    const where = protectedWorld({ "POST /register": () => json({ client_id: "a",
      client_secret: "s", token_endpoint_auth_method: "client_secret_basic" }) });
    assert.equal(await call(where), 200);
    assert.equal(said(where, "/token")[0]?.headers.get("authorization"), `Basic ${btoa("a:s")}`);
  });

  test("a registration that is refused says why (RFC 7591 §3.2.2)", async () => {
    const where = protectedWorld({ "POST /register": () => json({ error: "invalid_redirect_uri",
      error_description: "no loopback here" }, 400) });
    await assert.rejects(clientOf(where)(SERVER, CALL),
      { code: "invalid_redirect_uri", message: /no loopback here/ });
  });

  test("a registration made for another address, or past its time, is made anew " +
    "(RFC 7591 §3.2.1)", async () => {
    const kept = [{ client_id: "old", redirect_uris: ["http://127.0.0.1:1/callback"] },
      { client_id: "old", client_secret: "s", client_secret_expires_at: 1, redirect_uris: [CALLBACK] }];
    for (const one of kept) {
      const where = protectedWorld();
      const store = memoryStore(new Map([[`client ${ISSUER}`, one]]));
      const { client_id } = await identify(server, CALLBACK, where.fetch, { store });
      assert.equal(client_id, "registered");
    }
  });
});

describe("What is carried where", () => {
  test("AUT-16: nothing goes to another origin, a POST stays a POST, and one origin is followed " +
    "(spec basic/authorization/security-considerations#token-theft)", async () => {
    const headers = { "Mcp-Session-Id": "s", "X-Api-Key": "k" };
    const moved: Record<string, Answer> = { "POST /moved": () => json({}) };
    for (const [code, target, expected] of [[307, "http://other.example.com/", "redirect"],
      [307, "https://mcp.example.com.evil.example/", "redirect"], [302, "/moved", "redirect"],
      [308, "https://mcp.example.com/moved", 200], [307, "/moved", 200]] as const) {
      const where = protectedWorld({ ...moved, "POST /mcp": () => status(code, { Location: target }) });
      const reach = clientOf(where, { store: storeWith({}) });
      assert.equal(await outcome(reach(SERVER, { ...CALL, headers })), expected, `${code} ${target}`);
      assert.ok(where.seen.every(({ url }) => url.startsWith("https://mcp.example.com/")));
      if (expected === 200) {
        const { method, body } = where.seen.at(-1)!;
        assert.deepEqual([method, body], ["POST", CALL.body]);
      }
    }
  });

  test("a token endpoint that redirects to another origin gets the code carried no further " +
    "(spec basic/authorization/security-considerations#authorization-code-protection)", async () => {
    const where = protectedWorld({ "POST /token": () =>
      status(307, { Location: "https://evil.example.com/token" }) });
    assert.equal(await call(where), "redirect");
    assert.ok(!where.seen.some(({ url }) => url.includes("evil")));
  });

  test("tokens go to the server that they are for and nowhere else, never in a query " +
    "(spec basic/authorization#token-handling)", async () => {
    const where = protectedWorld({ "GET /other": () => json({}), "POST /mcp-evil": () => json({}) });
    const reach = clientOf(where);
    await reach(SERVER, CALL);
    await reach("https://mcp.example.com/other");
    await reach("https://mcp.example.com/mcp-evil", CALL);
    await outcome(reach("https://elsewhere.example.com/mcp", CALL));
    assert.ok(where.seen.every(({ url, headers }) => url === SERVER || !headers.has("authorization")));
    assert.ok(where.seen.every(({ url }) => !url.includes("token-1")));
  });

  test("a token of the caller's own is sent as it is, and its refusal is the answer " +
    "(spec basic/authorization#access-token-usage)", async () => {
    const where = protectedWorld();
    const response = await clientOf(where)(SERVER,
      { ...CALL, headers: { Authorization: "Bearer mine" } });
    assert.deepEqual([response.status, where.seen.length], [401, 1]);
  });

  test("a Request does as well as a URL, and is sent whole again " +
    "(spec basic/authorization#authorization-flow-steps)", async () => {
    const where = protectedWorld();
    const response = await clientOf(where)(new Request(SERVER, CALL));
    const bodies = where.seen.filter(({ url }) => url === SERVER).map(({ body }) => body);
    assert.deepEqual([response.status, bodies], [200, [CALL.body, CALL.body]]);
  });

  test("under a client of either era every request carries the token " +
    "(spec basic/authorization#token-requirements)", async () => {
    const replies: Record<string, object> = {
      initialize: { protocolVersion: "2025-11-25", capabilities: {},
        serverInfo: { name: "old", version: "1" } }, "tools/list": { tools: [] } };
    const where = protectedWorld({ "POST /mcp": ({ headers, body }) => {
      if (headers.get("authorization") !== "Bearer token-1") return challenged();
      const { id, method } = JSON.parse(body);
      return id === undefined ? status(202) : replies[method] === undefined ? status(404)
        : json({ jsonrpc: "2.0", id, result: replies[method] });
    }, "GET /mcp": () => status(405) });
    const { exchange, close } = connectHttpEither(SERVER, { fetch: clientOf(where) });
    const answer = await exchange({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {} } } },
    { signal: new AbortController().signal, notify() {} });
    assert.ok("result" in answer);
    await close();
    const [, ...rest] = where.seen.filter(({ url }) => url === SERVER);
    assert.ok(rest.length >= 4);
    assert.ok(rest.every(({ headers }) => headers.get("authorization") === "Bearer token-1"));
  });

  test("who gives up waiting for a login does not end it for others " +
    "(spec basic/patterns/cancellation)", async () => {
    const where = protectedWorld();
    let agreeNow = () => {};
    const asked = new Promise<void>((resolve) => (agreeNow = resolve));
    const reach = clientOf(where, { grant: loginWith({ redirectUri: CALLBACK, async visit(url) {
      await asked;
      return visitorOf(where).visit(url);
    } }) });
    const hurry = new AbortController();
    const impatient = reach(SERVER, { ...CALL, signal: hurry.signal });
    const patient = reach(SERVER, CALL);
    while (!reach.busy()) await new Promise((resolve) => setTimeout(resolve, 1));
    hurry.abort(new Error("enough"));
    await assert.rejects(impatient);
    agreeNow();
    assert.equal((await patient).status, 200);
    assert.deepEqual([reach.busy(), reach.login(), said(where, "/authorize").length], [false, "1", 1]);
  });
});
