// examples/authorization-server.ts, asked with literal HTTP as the RFCs have it; and the kit that
// the tests of authorization share: what it calls an attack is one.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { protect, server, text } from "../../mcp-raw.ts";
import { authorizationServer, listenLocally, type AuthorizationServerOptions }
  from "../../examples/authorization-server.ts";
import { jwtVerifier, readJwt, remoteKeys, signJwt, verifySignature, type KeyedJwk }
  from "../../examples/extensions/jwt.ts";
import { ATTACKS, CALL, CALLBACK, clientOf, EVIL, formOf, hosted, inTurn, ISSUER, json, outcome,
  SERVER, status, strictWorld, protectedWorld, world, type World } from "../kit-auth.ts";
import { tcp } from "../kit-http.ts";

// RFC 7636, appendix B.
const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const RESOURCE = "https://mcp.example.com/mcp";
const ASK = { response_type: "code", client_id: "app", redirect_uri: "http://127.0.0.1:4711/cb",
  code_challenge: CHALLENGE, code_challenge_method: "S256", state: "af0i", resource: RESOURCE,
  scope: "files:read" };
const APPS = [
  { client_id: "app", client_name: "An <App>", redirect_uris: ["http://127.0.0.1/cb",
    "https://app.example.com/cb?a=b"], grant_types: ["authorization_code", "refresh_token"] },
  { client_id: "twin", grant_types: ["refresh_token", "client_credentials"] },
  { client_id: "old", redirect_uris: ["https://old.example.com/cb"] },
  { client_id: "b:t", client_secret: "p+w %ü", redirect_uris: ["https://bt.example.com/cb"],
    grant_types: ["client_credentials", "refresh_token"],
    token_endpoint_auth_method: "client_secret_basic" },
  { client_id: "post", client_secret: "secret", grant_types: ["client_credentials"],
    token_endpoint_auth_method: "client_secret_post" },
];

const JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

type Fields = Record<string, string | undefined>;
/** A query or a form out of fields; undefined leaves one out. */
const formed = (fields: Fields) => new URLSearchParams(Object.entries(fields)
  .filter((field): field is [string, string] => field[1] !== undefined)).toString();
/** A server, and how to ask it. */
function auth(options: Partial<AuthorizationServerOptions> = {}) {
  let clock = 1_000_000_000_000;
  const handle = authorizationServer({ issuer: ISSUER, clients: APPS, autoConsent: true,
    scopes: ["files:read", "files:write"], now: () => clock, ...options });
  const get = (path: string) => handle(new Request(ISSUER + path));
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    handle(new Request(ISSUER + path, { method: "POST", body, headers: {
      "Content-Type": "application/x-www-form-urlencoded", ...headers } }));
  const authorize = (changes: Fields = {}) => get(`/authorize?${formed({ ...ASK, ...changes })}`);
  const token = async (fields: Fields, headers: Record<string, string> = {}) => {
    const response = await post("/token", formed(fields), headers);
    return { status: response.status, headers: response.headers,
      body: await response.json() as Record<string, any> }; // any: it is compared whole
  };
  /** A code, as the browser brings it back. */
  const code = async (changes: Fields = {}) =>
    backOf(await authorize(changes)).get("code") ?? assert.fail("no code");
  const redeem = async (changes: Fields = {}) => token({ grant_type: "authorization_code",
    client_id: "app", code: changes.code ?? await code(), code_verifier: VERIFIER,
    redirect_uri: ASK.redirect_uri, resource: RESOURCE, ...changes });
  const refresh = (refresh_token: string, changes: Fields = {}) => token({ client_id: "app",
    grant_type: "refresh_token", refresh_token, ...changes });
  return { handle, get, post, authorize, token, code, redeem, refresh,
    wait: (ms: number) => void (clock += ms) };
}
/** Where the browser is sent, taken apart. */
function backOf(response: Response): URLSearchParams {
  assert.equal(response.status, 303);
  return new URL(response.headers.get("location") ?? "").searchParams;
}
const errorOf = (answer: { status: number; body: Record<string, unknown> }) =>
  [answer.status, answer.body.error];

describe("The metadata of an authorization server", () => {
  const PLACES = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];
  test("stands where RFC 8414 and OpenID Connect look for it, without a path and with one " +
    "(spec basic/authorization/authorization-server-discovery)", async () => {
    for (const place of PLACES) assert.equal((await auth().get(place)).status, 200);
    const tenant = auth({ issuer: `${ISSUER}/t1` });
    const places = [...PLACES.map((place) => `${place}/t1`),
      "/t1/.well-known/openid-configuration"];
    for (const place of places) {
      const document = await (await tenant.get(place)).json() as Record<string, unknown>;
      assert.deepEqual([document.issuer, document.token_endpoint, document.jwks_uri],
        [`${ISSUER}/t1`, `${ISSUER}/t1/token`, `${ISSUER}/t1/jwks`]);
    }
    for (const place of PLACES) assert.equal((await tenant.get(place)).status, 404);
  });

  test("says what it supports, of MCP above all S256, iss and documents under the client_id " +
    "(RFC 8414 §2)", async () => {
    const response = await auth().get(PLACES[0]!);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), { issuer: ISSUER, jwks_uri: `${ISSUER}/jwks`,
      authorization_endpoint: `${ISSUER}/authorize`, token_endpoint: `${ISSUER}/token`,
      registration_endpoint: `${ISSUER}/register`, revocation_endpoint: `${ISSUER}/revoke`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"], scopes_supported: ["files:read", "files:write"],
      token_endpoint_auth_methods_supported: METHODS,
      token_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
      revocation_endpoint_auth_methods_supported: METHODS,
      revocation_endpoint_auth_signing_alg_values_supported: ["ES256", "RS256", "EdDSA"],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true });
  });
  const METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];

  test("is there for programs in web pages, too, and the page for the user is not (RFC 9700 §2.6)",
  async () => {
    const { get, handle, authorize } = auth({ autoConsent: false });
    assert.equal((await get(PLACES[0]!)).headers.get("access-control-allow-origin"), "*");
    const asked = await handle(new Request(`${ISSUER}/token`, { method: "OPTIONS" }));
    assert.equal(asked.ok, true);
    assert.match(asked.headers.get("access-control-allow-headers") ?? "", /Authorization/);
    assert.equal((await authorize()).headers.get("access-control-allow-origin"), null);
  });
});

describe("The authorization endpoint", () => {
  test("sends the browser back with code, state and iss (RFC 6749 §4.1.2, RFC 9207 §2)",
  async () => {
    const { authorize } = auth();
    const response = await authorize();
    assert.match(response.headers.get("location") ?? "", /^http:\/\/127\.0\.0\.1:4711\/cb\?/);
    const { code = "", ...rest } = Object.fromEntries(backOf(response));
    assert.ok(code.length >= 22);
    assert.deepEqual(rest, { state: "af0i", iss: ISSUER });
    assert.equal(backOf(await authorize({ state: undefined })).has("state"), false);
    const kept = backOf(await authorize({ redirect_uri: "https://app.example.com/cb?a=b" }));
    assert.deepEqual([kept.get("a"), kept.get("state")], ["b", "af0i"]); // RFC 6749 §3.1.2
  });

  test("sends nobody to an address that is not registered, nor for a client that is not known: " +
    "the user is told (RFC 6749 §4.1.2.1)", async () => {
    const { authorize, get } = auth();
    for (const changes of [{ client_id: "nobody" }, { client_id: undefined },
      { redirect_uri: undefined }, { redirect_uri: "https://evil.example.com/cb" },
      { redirect_uri: "http://127.0.0.1:4711/cb/" }, { redirect_uri: "http://127.0.0.1:4711/cb?x" },
      { redirect_uri: "http://localhost:4711/cb" },
      { redirect_uri: "http://127.0.0.1:4711@evil.example.com/cb" },
      { redirect_uri: "http://127.0.0.1:99999/cb" }, { redirect_uri: "https://127.0.0.1/cb" },
      { redirect_uri: "https://app.example.com:444/cb?a=b" }, { redirect_uri: "/cb" }]) {
      const response = await authorize(changes);
      assert.deepEqual([response.status, response.headers.get("location")], [400, null],
        JSON.stringify(changes));
      assert.match(response.headers.get("content-type") ?? "", /^text\/html/);
    }
    const twice = await get(`/authorize?${formed(ASK)}&redirect_uri=https%3A%2F%2Fevil.com`);
    assert.deepEqual([twice.status, twice.headers.get("location")], [400, null]);
  });

  test("lets a program on this machine take any port (RFC 8252 §7.3)", async () => {
    const { authorize } = auth();
    for (const port of ["", ":1", ":65535"]) {
      const redirect_uri = `http://127.0.0.1${port}/cb`;
      assert.ok(backOf(await authorize({ redirect_uri })).has("code"));
    }
  });

  test("tells the program what is wrong, with state and iss (RFC 6749 §4.1.2.1, RFC 9207 §2)",
  async () => {
    const { authorize, get } = auth({ resources: [RESOURCE] });
    const rows: [Fields, string][] = [
      [{ response_type: "token" }, "unsupported_response_type"],
      [{ response_type: undefined }, "invalid_request"],
      [{ code_challenge: undefined }, "invalid_request"], // OAuth 2.1 §4.1.1
      [{ code_challenge_method: undefined }, "invalid_request"], // it would be plain
      [{ code_challenge_method: "plain" }, "invalid_request"],
      [{ code_challenge: "short" }, "invalid_request"],
      [{ scope: "files:read all" }, "invalid_scope"],
      [{ resource: undefined }, "invalid_target"], // RFC 8707 §2
      [{ resource: "mcp.example.com" }, "invalid_target"],
      [{ resource: `${RESOURCE}#part` }, "invalid_target"],
      [{ resource: "https://other.example.com/mcp" }, "invalid_target"],
    ];
    for (const [changes, error] of rows) {
      const { error_description, ...rest } = Object.fromEntries(backOf(await authorize(changes)));
      assert.deepEqual(rest, { error, state: "af0i", iss: ISSUER }, JSON.stringify(changes));
      assert.match(error_description ?? "", /^[ !#-[\]-~]+$/);
    }
    const part = backOf(await auth().authorize({ resource: `${RESOURCE}#part` }));
    assert.equal(part.get("error"), "invalid_target"); // also where any server will do
    const twice = backOf(await get(`/authorize?${formed(ASK)}&scope=files:read`));
    assert.equal(twice.get("error"), "invalid_request"); // RFC 6749 §3.1
    const bt = await authorize({ client_id: "b:t", redirect_uri: "https://bt.example.com/cb" });
    assert.equal(backOf(bt).get("error"), "unauthorized_client");
  });

  test("asks the user on a page that names program, server, scopes and the host that gets the " +
    "code, and takes one answer " +
    "(spec basic/authorization/security-considerations#localhost-redirect-uri-risks)", async () => {
    const { authorize, post, redeem } = auth({ autoConsent: false, user: "bob" });
    const shown = await authorize();
    const { headers, status: code } = shown;
    assert.equal(code, 200);
    assert.match(headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    const html = await shown.text();
    for (const part of ["An &#60;App&#62;", RESOURCE, "files:read", "127.0.0.1:4711", "bob",
      "Any program on this machine", `action="${ISSUER}/consent"`]) {
      assert.ok(html.includes(part), part);
    }
    assert.ok(!html.includes("<App>"));
    const ticket = /name="ticket" value="([\w-]+)"/.exec(html)?.[1] ?? assert.fail("no ticket");
    const back = backOf(await post("/consent", formed({ ticket, answer: "allow" })));
    assert.deepEqual([back.get("state"), back.get("iss")], ["af0i", ISSUER]);
    const { body } = await redeem({ code: back.get("code") ?? "" });
    assert.equal(readJwt(body.access_token).claims.sub, "bob");
    assert.equal((await post("/consent", formed({ ticket, answer: "allow" }))).status, 400);

    const far = await (await authorize({ redirect_uri: "https://app.example.com/cb?a=b" })).text();
    assert.ok(far.includes("app.example.com") && !far.includes("Any program on this machine"));
    const other = /value="([\w-]+)"/.exec(far)?.[1] ?? "";
    const { a, ...no } = Object.fromEntries(
      backOf(await post("/consent", formed({ ticket: other, answer: "no" }))));
    assert.deepEqual(no, { error: "access_denied", state: "af0i", iss: ISSUER });
    assert.equal((await post("/consent", "answer=allow")).status, 400);
  });
});

describe("The token endpoint", () => {
  test("gives for a code a token that says for whom, by whom and for how long, signed with a key " +
    "that it publishes (RFC 6749 §5.1, RFC 9068 §2)", async () => {
    const { redeem, get } = auth();
    const { status: code, headers, body } = await redeem();
    assert.deepEqual([code, headers.get("cache-control")], [200, "no-store"]);
    const { access_token, refresh_token, ...rest } = body;
    assert.deepEqual(rest, { token_type: "Bearer", expires_in: 3600, scope: "files:read" });
    assert.ok(refresh_token.length >= 22);
    const { header, claims } = readJwt(access_token);
    const { jti, ...said } = claims;
    assert.deepEqual(said, { iss: ISSUER, sub: "alice", aud: RESOURCE, scope: "files:read",
      client_id: "app", iat: 1_000_000_000, exp: 1_000_003_600 });
    assert.equal(typeof jti, "string");
    const { keys: [key, ...more] } = await (await get("/jwks")).json() as { keys: KeyedJwk[] };
    assert.ok(key !== undefined && more.length === 0);
    assert.deepEqual(header, { alg: "ES256", typ: "at+jwt", kid: key.kid });
    assert.deepEqual(Object.keys(key).sort(), // no d
      ["alg", "crv", "kid", "kty", "use", "x", "y"]);
    assert.equal(await verifySignature(access_token, key, "ES256"), true);
  });

  test("does not give a token for a code without its verifier, address, resource or client " +
    "(RFC 6749 §4.1.3, RFC 7636 §4.6, RFC 8707 §2.2)", async () => {
    const { redeem, code } = auth();
    const rows: [Fields, unknown[]][] = [
      [{ code_verifier: "x".repeat(43) }, [400, "invalid_grant"]],
      [{ code_verifier: CHALLENGE }, [400, "invalid_grant"]],
      [{ code_verifier: undefined }, [400, "invalid_request"]],
      [{ redirect_uri: "http://127.0.0.1:4712/cb" }, [400, "invalid_grant"]],
      [{ resource: "https://other.example.com/mcp" }, [400, "invalid_target"]],
      [{ client_id: "old" }, [400, "invalid_grant"]],
      [{ client_id: "nobody" }, [401, "invalid_client"]],
      [{ code: "guessed" }, [400, "invalid_grant"]],
      [{ grant_type: "password" }, [400, "unsupported_grant_type"]],
      [{ grant_type: "client_credentials" }, [400, "unauthorized_client"]],
      [{ grant_type: undefined }, [400, "invalid_request"]],
    ];
    const good = await code();
    for (const [changes, error] of rows) {
      assert.deepEqual(errorOf(await redeem({ code: good, ...changes })), error,
        JSON.stringify(changes));
    }
    assert.equal((await redeem({ code: good })).status, 200); // nothing of that has used it up
  });

  test("takes a code once, and when it comes again, ends what it gave (RFC 6749 §4.1.2)",
  async () => {
    const { redeem, refresh, code } = auth();
    const one = await code();
    const [first, second] = await Promise.all([redeem({ code: one }), redeem({ code: one })]);
    assert.deepEqual([first.status, second.status], [200, 400]);
    assert.deepEqual(errorOf(second), [400, "invalid_grant"]);
    assert.deepEqual(errorOf(await refresh(first.body.refresh_token)), [400, "invalid_grant"]);
  });

  test("takes no code that is older than a minute (RFC 6749 §4.1.2)", async () => {
    const { redeem, code, wait } = auth();
    const one = await code();
    wait(60_000);
    assert.deepEqual(errorOf(await redeem({ code: one })), [400, "invalid_grant"]);
  });

  test("gives a new refresh token each time, and one that comes twice ends all of them " +
    "(spec basic/authorization/security-considerations#token-theft)", async () => {
    const { redeem, refresh } = auth();
    const first = (await redeem()).body.refresh_token;
    const { body, status: code } = await refresh(first);
    assert.equal(code, 200);
    assert.notEqual(body.refresh_token, first);
    assert.deepEqual(errorOf(await refresh(body.refresh_token, { client_id: "old" })),
      [400, "unauthorized_client"]);
    assert.deepEqual(errorOf(await refresh(body.refresh_token, { client_id: "twin" })),
      [400, "invalid_grant"]);
    const third = (await refresh(body.refresh_token)).body.refresh_token;
    assert.deepEqual(errorOf(await refresh(first)), [400, "invalid_grant"]);
    assert.deepEqual(errorOf(await refresh(third)), [400, "invalid_grant"]);
    const other = (await redeem()).body.refresh_token; // another login goes on
    assert.equal((await refresh(other)).status, 200);
  });

  test("refreshes for less, and never for more (RFC 6749 §6)", async () => {
    const { redeem, refresh, code } = auth();
    const { body } = await redeem({ code: await code({ scope: "files:read files:write" }) });
    const less = await refresh(body.refresh_token, { scope: "files:write", resource: RESOURCE });
    assert.deepEqual([less.body.scope, readJwt(less.body.access_token).claims.scope],
      ["files:write", "files:write"]);
    const all = await refresh(less.body.refresh_token); // the refresh token has kept it all
    assert.equal(all.body.scope, "files:read files:write");
    const next = all.body.refresh_token;
    assert.deepEqual(errorOf(await refresh(next, { scope: "files:read admin" })),
      [400, "invalid_scope"]);
    assert.deepEqual(errorOf(await refresh(next, { resource: "https://other.example.com/mcp" })),
      [400, "invalid_target"]);
  });

  test("gives no refresh token to who is not registered for it, nor a scope to who asked for " +
    "none (RFC 7591 §2)", async () => {
    const { redeem, code } = auth();
    const redirect_uri = "https://old.example.com/cb";
    const one = await code({ client_id: "old", redirect_uri, scope: undefined });
    const { body } = await redeem({ code: one, client_id: "old", redirect_uri });
    assert.deepEqual(Object.keys(body), ["access_token", "token_type", "expires_in"]);
  });

  test("gives a program a token of its own for its secret, in the header or in the body as it " +
    "was registered (RFC 6749 §2.3.1, §4.4)", async () => {
    const { token } = auth();
    const grant = { grant_type: "client_credentials", resource: RESOURCE, scope: "files:write" };
    const basic = (text: string) => ({ Authorization: `Basic ${btoa(text)}` });
    const good = basic("b%3At:p%2Bw+%25%C3%BC");
    const { status: code, body } = await token(grant, good);
    assert.deepEqual([code, "refresh_token" in body], [200, false]);
    const { sub, aud, scope, client_id } = readJwt(body.access_token).claims;
    assert.deepEqual([sub, aud, scope, client_id], ["b:t", RESOURCE, "files:write", "b:t"]);
    const posted = { ...grant, client_id: "post", client_secret: "secret" };
    assert.equal((await token(posted)).status, 200);

    const wrong: [Fields, Record<string, string>][] = [[grant, {}], [grant, basic("b%3At:guess")],
      [grant, basic("b%3At")], [grant, basic("b%3At:")], [grant, { Authorization: "Basic A" }],
      [grant, { Authorization: "Basic ____" }], [{ ...posted, client_secret: "secret2" }, {}],
      [{ ...posted, client_secret: undefined }, {}], [grant, basic("post:secret")],
      [{ ...grant, client_id: "b:t", client_secret: "p+w %ü" }, {}]];
    for (const [fields, headers] of wrong) {
      const answer = await token(fields, headers);
      assert.deepEqual(errorOf(answer), [401, "invalid_client"], JSON.stringify([fields, headers]));
      assert.equal(answer.headers.get("www-authenticate"), "Basic");
    }
    assert.deepEqual(errorOf(await token(posted, good)), [400, "invalid_request"]); // two at once
    assert.deepEqual(errorOf(await token({ ...grant, resource: undefined }, good)),
      [400, "invalid_target"]);
    assert.deepEqual(errorOf(await token({ ...grant, client_id: "twin" })),
      [400, "unauthorized_client"]); // who has no secret can be anybody
  });

  test("takes a program's signature once, made for this server and for a short time (RFC 7523 §3)",
  async () => {
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true,
      ["sign", "verify"]);
    const jwk = await crypto.subtle.exportKey("jwk", pair.publicKey) as KeyedJwk;
    const { token } = auth({ clients: [{ client_id: "robot", grant_types: ["client_credentials"],
      token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ ...jwk, kid: "k" }] } }] });
    const CLAIMS = { iss: "robot", sub: "robot", aud: ISSUER, exp: 1_000_000_060, jti: "1" };
    const ask = async (changes: object, key = pair.privateKey, header: object = {}) => token({
      grant_type: "client_credentials", resource: RESOURCE,
      client_assertion_type: JWT_BEARER,
      client_assertion: await signJwt({ ...CLAIMS, ...changes }, key, "ES256", header) });
    assert.equal((await ask({})).status, 200);
    assert.equal((await ask({ jti: "2" }, pair.privateKey, { kid: "k" })).status, 200);
    const { privateKey: other } = await crypto.subtle.generateKey(
      { name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
    const wrong = [ask({}), ask({ jti: "3", aud: "https://other.example.com" }),
      ask({ jti: "3", exp: 999_999_999 }), ask({ jti: "3", exp: 1_000_100_000 }),
      ask({ jti: undefined }), ask({ jti: "3", iss: "app" }), ask({ jti: "3", sub: "nobody" }),
      ask({ jti: "3", exp: undefined }), ask({ jti: "3" }, other),
      ask({ jti: "3" }, pair.privateKey, { kid: "z" }),
      token({ grant_type: "client_credentials", resource: RESOURCE, client_assertion: "x.y.z",
        client_assertion_type: JWT_BEARER })];
    for (const answer of wrong) {
      assert.deepEqual(errorOf(await answer), [401, "invalid_client"]);
    }
    assert.equal((await ask({ jti: "3" })).status, 200);
  });

  test("keeps no more than a thousand of anything, and reads no long body (RFC 6819 §4.4.1.11)",
  async () => {
    const { code, redeem } = auth();
    const first = await code();
    const second = await code();
    for (let at = 0; at < 999; at++) await code();
    assert.deepEqual(errorOf(await redeem({ code: first })), [400, "invalid_grant"]);
    assert.equal((await redeem({ code: second })).status, 200);
    const answer = await auth().post("/token", `client_id=app&x=${"y".repeat(20_000)}`);
    assert.equal(answer.ok, false);
  });
});

describe("Revocation", () => {
  test("ends a refresh token and what came of the same login, for its own client alone " +
    "(RFC 7009 §2)", async () => {
    const { post, redeem, refresh } = auth();
    const revoke = (fields: Fields) => post("/revoke", formed(fields));
    const { body } = await redeem();
    const given = body.refresh_token;
    assert.equal((await revoke({ client_id: "old", token: given })).status, 200);
    const next = (await refresh(given)).body.refresh_token; // it was not ended by a stranger
    assert.equal((await revoke({ client_id: "app", token: next })).status, 200);
    assert.deepEqual(errorOf(await refresh(next)), [400, "invalid_grant"]);
    assert.equal((await revoke({ client_id: "app", token: "never-issued" })).status, 200);
    const jwt = await revoke({ client_id: "app", token: body.access_token });
    assert.deepEqual([jwt.status, (await jwt.json() as { error: string }).error],
      [400, "unsupported_token_type"]);
    assert.equal((await revoke({ client_id: "app" })).status, 400);
    assert.equal((await revoke({ token: given })).status, 401);
  });
});

describe("Registration", () => {
  const register = async (metadata: unknown, where = auth()) => {
    const response = await where.post("/register", typeof metadata === "string" ? metadata
      : JSON.stringify(metadata), { "Content-Type": "application/json" });
    return { status: response.status, body: await response.json() as Record<string, any> };
  };
  test("gives a program an id, and a secret where it uses one (RFC 7591 §3.2.1)", async () => {
    const told = { client_name: "App", redirect_uris: ["http://127.0.0.1/cb"],
      grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none",
      application_type: "native", extra: 1 };
    const { status: code, body } = await register(told);
    const { client_id, ...rest } = body;
    assert.equal(code, 201);
    assert.ok(client_id.length >= 22);
    const { application_type, extra, ...kept } = told;
    assert.deepEqual(rest, { ...kept, client_id_issued_at: 1_000_000_000 });
    const usual = await register({ redirect_uris: ["https://app.example.com/cb"] });
    const { client_secret, ...said } = usual.body;
    assert.ok(client_secret.length >= 22);
    assert.deepEqual([said.token_endpoint_auth_method, said.grant_types,
      said.client_secret_expires_at], ["client_secret_basic", ["authorization_code"], 0]); // §2
  });

  test("is good for a login at once (RFC 7591 §3.2.1)", async () => {
    const where = auth();
    const { body: { client_id } } = await register({ redirect_uris: ["http://localhost/cb"],
      token_endpoint_auth_method: "none" }, where);
    const redirect_uri = "http://localhost:9/cb";
    const code = await where.code({ client_id, redirect_uri });
    assert.equal((await where.redeem({ client_id, code, redirect_uri })).status, 200);
  });

  test("is refused with addresses that are neither https nor on this machine (RFC 7591 §3.2.2)",
  async () => {
    for (const uri of ["http://app.example.com/cb", "javascript:alert(1)", "file:///cb", "app:/cb",
      "https://app.example.com/cb#x", "/cb", "http://127.0.0.1.example.com/cb", 7]) {
      assert.deepEqual(errorOf(await register({ redirect_uris: [uri] })),
        [400, "invalid_redirect_uri"], String(uri));
    }
    assert.deepEqual(errorOf(await register({ redirect_uris: "https://app.example.com/cb" })),
      [400, "invalid_redirect_uri"]);
  });

  test("is refused with what this server does not do (RFC 7591 §3.2.2)", async () => {
    const good = { redirect_uris: ["https://app.example.com/cb"] };
    for (const wrong of [{}, { ...good, grant_types: ["password"] }, { ...good, grant_types: "x" },
      { ...good, token_endpoint_auth_method: "tls_client_auth" }, "no JSON", "[]", "null",
      { ...good, token_endpoint_auth_method: "private_key_jwt" },
      { ...good, token_endpoint_auth_method: ["none"], jwks: {} }]) {
      assert.deepEqual(errorOf(await register(wrong)), [400, "invalid_client_metadata"],
        JSON.stringify(wrong));
    }
  });
});

describe("A client_id that is the URL of a document", () => {
  const ID = "https://app.example.com/client.json";
  const DOCUMENT = { client_id: ID, client_name: "App", redirect_uris: ["http://127.0.0.1/cb"] };
  const login = async (document: unknown, client_id = ID, more: Partial<AuthorizationServerOptions>
    = {}) => {
    const net = world({ "https://app.example.com": () => json(document) });
    const answer = await auth({ fetch: net.fetch, ...more }).authorize({ client_id });
    return { asked: net.asked(), code: answer.status === 303 && backOf(answer).has("code") };
  };
  test("is looked up, and counts as a registration (spec basic/authorization/client-registration#" +
    "client-id-metadata-documents)", async () => {
    assert.deepEqual(await login(DOCUMENT), { asked: [`GET ${ID}`], code: true });
    const net = world({ "https://app.example.com": () => json(DOCUMENT) });
    const where = auth({ fetch: net.fetch });
    const code = await where.code({ client_id: ID });
    const { body } = await where.redeem({ code, client_id: ID });
    assert.equal(readJwt(body.access_token).claims.client_id, ID);
  });

  test("is worth nothing when the document is about another, lacks what it needs, or shares a " +
    "secret with all (spec basic/authorization/client-registration#implementation-requirements)",
  async () => {
    for (const wrong of [{ ...DOCUMENT, client_id: `${ID}?` },
      { ...DOCUMENT, client_id: undefined },
      { ...DOCUMENT, client_name: undefined }, { ...DOCUMENT, redirect_uris: undefined },
      { ...DOCUMENT, redirect_uris: ["https://evil.example.com/cb"] },
      { ...DOCUMENT, token_endpoint_auth_method: "client_secret_post" }, "no JSON", [DOCUMENT],
      { ...DOCUMENT, more: "x".repeat(20_000) }]) {
      assert.equal((await login(wrong)).code, false, JSON.stringify(wrong)?.slice(0, 100));
    }
  });

  test("is not looked up where a stranger has no business to send this server (spec basic/" +
    "authorization/security-considerations#authorization-server-abuse-protection)", async () => {
    for (const id of ["http://app.example.com/client.json", "https://app.example.com/",
      "https://app.example.com", "https://app.example.com/a/../client.json", `${ID}#x`,
      "https://user:pw@app.example.com/client.json", "https://127.0.0.1/client.json",
      "https://localhost/client.json", "https://10.0.0.1/client.json", "https://[::1]/client.json",
      "https://169.254.169.254/latest", "file:///etc/passwd", "https:app.example.com/a.json"]) {
      assert.deepEqual(await login({ ...DOCUMENT, client_id: id }, id),
        { asked: [], code: false }, id);
    }
  });

  test("leads no further than the URL itself, and a refusal is no document (draft-ietf-oauth-" +
    "client-id-metadata-document-00 §4)", async () => {
    for (const answer of [status(302, { Location: "https://app.example.com/other" }),
      json(DOCUMENT, 404), json(DOCUMENT, 201)]) {
      const net = world({ "https://app.example.com": ({ path }) =>
        path === "/client.json" ? answer : json(DOCUMENT) });
      const how: unknown[] = [];
      const refused = await auth({ fetch: (url, init) => {
        how.push(init?.redirect);
        return net.fetch(url, init);
      } }).authorize({ client_id: ID });
      assert.deepEqual([refused.status, net.asked(), how], [400, [`GET ${ID}`], ["error"]]);
    }
  });
});

describe("A whole login", () => {
  /** A protected server and its authorization server. */
  function place(options: Partial<AuthorizationServerOptions> = {}) {
    const handle = authorizationServer({ issuer: ISSUER, autoConsent: true, ...options });
    const app = server({ name: "files", version: "1",
      tools: [{ name: "read", handler: () => text("") }],
      http: { guard: protect({ resource: SERVER, authorizationServers: [ISSUER],
        scopes: ["files:read"], verify: jwtVerifier({ issuer: ISSUER, keys: remoteKeys(
          `${ISSUER}/jwks`, { fetch: (url, init) => net.fetch(url, init) }) }) }) } });
    const net: World = world({ [ISSUER]: hosted(handle),
      "https://mcp.example.com": hosted(app.fetch) });
    return { net, app, handle };
  }
  const ping = { method: "POST", headers: { "Content-Type": "application/json",
    Accept: "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list",
    params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {} } } }) };

  test("of this project's client at this project's server: discovery, registration, code, token, " +
    "call (spec basic/authorization#authorization-flow-steps)", async () => {
    const { net } = place();
    const response = await clientOf(net)(SERVER, ping);
    assert.equal(response.status, 200);
    assert.match(await response.text(), /"name":"read"/);
    const [token] = net.seen.filter(({ url }) => url === `${ISSUER}/token`);
    assert.equal(formOf(token ?? assert.fail("no token")).get("resource"), SERVER);
  });

  test("gives a token that another server refuses (spec basic/authorization/" +
    "security-considerations#access-token-privilege-restriction)", async () => {
    const { net, app, handle } = place({ clients: APPS });
    const tokenFor = async (resource: string) => {
      const back = backOf(await handle(new Request(
        `${ISSUER}/authorize?${formed({ ...ASK, resource })}`)));
      const body = formed({ grant_type: "authorization_code", client_id: "app", resource,
        code: back.get("code") ?? "", code_verifier: VERIFIER });
      const answer = await handle(new Request(`${ISSUER}/token`, { method: "POST", body }));
      return (await answer.json() as { access_token: string }).access_token;
    };
    const call = async (token: string) => app.fetch(new Request(SERVER, { ...ping,
      headers: { ...ping.headers, Authorization: `Bearer ${token}` } }));
    assert.equal((await call(await tokenFor(SERVER))).status, 200);
    const refused = await call(await tokenFor("https://other.example.com/mcp"));
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
    assert.deepEqual(net.asked(), [`GET ${ISSUER}/jwks`]); // once, and nobody is asked about tokens
  });

  test("runs on this machine, and under the name of this machine alone " +
    "(spec basic/authorization/security-considerations#communication-security)", async () => {
    const { issuer, close } = await listenLocally(0, { clients: APPS, autoConsent: true });
    try {
      const place = `${issuer}/.well-known/oauth-authorization-server`;
      assert.equal((await (await fetch(place)).json() as { issuer: string }).issuer, issuer);
      const asked = await fetch(`${issuer}/authorize?${formed(ASK)}`, { redirect: "manual" });
      const answer = await fetch(`${issuer}/token`, { method: "POST", body: new URLSearchParams({
        grant_type: "authorization_code", client_id: "app", code: backOf(asked).get("code") ?? "",
        code_verifier: VERIFIER }) });
      assert.equal(answer.status, 200);
      const { socket, text, closed } = await tcp(issuer);
      socket.write("GET /jwks HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n");
      await closed;
      assert.match(text(), /^HTTP\/1\.1 421 /);
    } finally {
      close();
    }
  });
});

describe("The kit", () => {
  /** A client that believes all it hears: the attacks are attacks on it. */
  async function gullible({ fetch }: World): Promise<void> {
    const follow = async (url: string, init: RequestInit = {}): Promise<Response> => {
      const response = await fetch(url, { ...init, redirect: "manual" });
      const next = response.headers.get("location");
      return next !== null && response.status > 303 ? follow(next, init) : response;
    };
    const documentAt = async (url: string) =>
      await (await follow(url)).json() as Record<string, any>;
    const challenge = (await follow(SERVER, CALL)).headers.get("www-authenticate") ?? "";
    const [, hint = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const { resource, authorization_servers: [issuer] } = await documentAt(hint);
    const server = await documentAt(`${issuer}/.well-known/oauth-authorization-server`);
    const { client_id } = await (await follow(server.registration_endpoint,
      { method: "POST", body: "{}" })).json() as { client_id: string };
    const visited = await fetch(`${server.authorization_endpoint}?${formed({ ...ASK, client_id,
      resource, redirect_uri: CALLBACK })}`, { redirect: "manual" });
    const back = new URL(visited.headers.get("location") ?? "").searchParams;
    await follow(server.token_endpoint, { method: "POST", body: formed({ client_id, resource,
      grant_type: "authorization_code", code: back.get("code") ?? "", code_verifier: VERIFIER }) });
  }
  const falls = (where: World, never: string[]) =>
    where.asked().some((asked) => never.some((one) => asked.startsWith(one)));

  for (const [name, { answers, never }] of Object.entries(ATTACKS)) {
    const title = name.includes("(") ? name
      : `${name} (spec basic/authorization/security-considerations#open-redirection)`;
    test(`an attack that works on who believes it, and not on this project's client: ${title}`,
    async () => {
      const victim = protectedWorld(answers);
      await gullible(victim).catch(() => {});
      assert.ok(falls(victim, never), victim.asked().join("\n"));
      const where = protectedWorld(answers);
      assert.equal(typeof await outcome(clientOf(where)(SERVER, CALL)), "string");
      assert.ok(!falls(where, never), where.asked().join("\n"));
    });
  }

  test("checks how a client proves itself, in each way there is (RFC 6749 §2.3)", async () => {
    for (const method of ["none", "client_secret_basic", "client_secret_post"] as const) {
      assert.equal(await outcome(clientOf(strictWorld({ method }))(SERVER, CALL)), 200, method);
    }
    for (const method of ["client_secret_basic", "private_key_jwt"] as const) {
      const where = strictWorld({ method, answers: { "POST /register": () =>
        json({ client_id: "registered" }, 201) } });
      assert.equal(await outcome(clientOf(where)(SERVER, CALL)), "invalid_client", method);
    }
    const signed = strictWorld({ method: "private_key_jwt" });
    const assertion = { grant_type: "refresh_token", client_assertion: "a.b.c",
      client_assertion_type: JWT_BEARER };
    const ask = async (fields: Fields) => await (await signed.fetch(`${ISSUER}/token`,
      { method: "POST", body: formed(fields) })).json() as { error: string };
    assert.equal((await ask(assertion)).error, "invalid_grant"); // it was let in
    assert.equal((await ask({ ...assertion, client_assertion: undefined })).error,
      "invalid_client");
  });

  test("replaces refresh tokens, and ends all when one comes twice " +
    "(spec basic/authorization/security-considerations#token-theft)", async () => {
    const where = strictWorld();
    const client = clientOf(where);
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    where.expire();
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    const logins = where.asked().filter((one) => one.endsWith("/authorize"));
    assert.deepEqual([where.reused, logins.length], [[], 1]);
    const again = async (token: string) => (await where.fetch(`${ISSUER}/token`, { method: "POST",
      body: `grant_type=refresh_token&client_id=registered&refresh_token=${token}` })).status;
    assert.deepEqual([await again("refresh-1"), await again("refresh-2"), where.reused],
      [400, 400, ["refresh-1"]]);
  });

  test("wants more scope for one method than for another " +
    "(spec basic/authorization#step-up-authorization-flow)", async () => {
    const where = strictWorld({ needs: { "tools/call": "files:write" } });
    const client = clientOf(where);
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    assert.equal(await outcome(client(SERVER, { ...CALL, body: '{"method":"tools/call"}' })), 200);
    const scopes = where.seen.filter(({ path }) => path.startsWith("/authorize"))
      .map(({ url }) => new URL(url).searchParams.get("scope"));
    assert.deepEqual(scopes, [null, "files:write"]);
  });

  test("takes no token that was asked for on behalf of another server (RFC 8707 §2)", async () => {
    const where = strictWorld({ answers: { "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ resource: "https://mcp.example.com", authorization_servers: [ISSUER] }) } });
    assert.equal(await outcome(clientOf(where)(SERVER, CALL)), "invalid_token");
  });

  test("answers in turn, and reaches no origin that is not there (RFC 9110 §3.1)", async () => {
    const { fetch, asked } = world({ [ISSUER]: inTurn(() => status(500), () => status(404)) });
    const told: number[] = [];
    for (let at = 0; at < 3; at++) told.push((await fetch(ISSUER)).status);
    assert.deepEqual(told, [500, 404, 404]);
    await assert.rejects(fetch(EVIL), TypeError);
    assert.equal(asked().at(-1), `GET ${EVIL}/`);
    await assert.rejects(world({ [ISSUER]: () => status(302, { Location: EVIL }) }).fetch(ISSUER));
  });
});
