// Ways to a token that ask no user (examples/extensions/grants.ts), in the small internet of
// kit-auth.ts: what each sends to whom, letter for letter, and what it does with a refusal.
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { describe, test } from "node:test";
import { AuthorizationError, type Grant } from "../../mcp-raw.ts";
import { dpopFetch } from "../../examples/extensions/dpop.ts";
import { clientKey, clientSecret, enterpriseManaged, workloadIdentity }
  from "../../examples/extensions/grants.ts";
import { CALL, ISSUER, SERVER, clientOf, formOf, issuerMetadata, json, outcome, protectedWorld,
  resourceMetadata, type Answer, type Seen, type World } from "../kit-auth.ts";

const TOKEN = `POST ${ISSUER}/token`;
const IDP = "https://idp.example";
const JAG = "urn:ietf:params:oauth:token-type:id-jag";
const secret = clientSecret({ client_id: "robot", client_secret: "s3cret" });
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const pem = String(privateKey.export({ format: "pem", type: "pkcs8" }));
/** Another description of the authorization server. */
const describedAs = (more: object): Record<string, Answer> => ({
  "GET /.well-known/oauth-authorization-server": () => json({ ...issuerMetadata, ...more }) });
const withSecrets = (...methods: string[]) =>
  describedAs({ token_endpoint_auth_methods_supported: methods });
const tokenRequests = ({ seen }: World): Seen[] => seen.filter(({ path }) => path === "/token");
const sentTo = (where: World): [string, Record<string, string>] => {
  const [one = assert.fail("no token was asked for")] = tokenRequests(where);
  return [one.headers.get("authorization") ?? "", Object.fromEntries(formOf(one))];
};

describe("A program on its own behalf", () => {
  test("asks with its secret, in the way that the server names, and is registered by nobody " +
    "(RFC 6749 §4.4.2, §2.3.1)", async () => {
    for (const [methods, authorization, body] of [
      [["client_secret_basic"], `Basic ${btoa("robot:s3cret")}`, {}],
      [["client_secret_post"], "", { client_id: "robot", client_secret: "s3cret" }],
      [["private_key_jwt", "client_secret_basic"], `Basic ${btoa("robot:s3cret")}`, {}],
    ] as const) {
      const where = protectedWorld(withSecrets(...methods));
      assert.equal(await outcome(clientOf(where, { grant: secret })(SERVER, CALL)), 200);
      assert.deepEqual(sentTo(where),
        [authorization, { grant_type: "client_credentials", resource: SERVER, ...body }]);
      assert.deepEqual(where.asked().filter((one) => /authorize|register/.test(one)), []);
    }
  });
  test("a secret with signs of its own is written so that it can be told apart (RFC 6749 §2.3.1)",
    async () => {
    const where = protectedWorld(withSecrets("client_secret_basic"));
    const grant = clientSecret({ client_id: "a:b", client_secret: "c%d e+ä" });
    assert.equal(await outcome(clientOf(where, { grant })(SERVER, CALL)), 200);
    assert.equal(sentTo(where)[0], `Basic ${btoa("a%3Ab:c%25d+e%2B%C3%A4")}`);
  });
  test("asks with a key: who it is, for this authorization server alone, once and not for long, " +
    "and no secret travels (RFC 7523 §3)", async () => {
    const where = protectedWorld(withSecrets("private_key_jwt"));
    const grant = clientKey({ client_id: "robot", pem, alg: "ES256", kid: "k1" });
    const client = clientOf(where, { grant });
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    where.tokens.pop(); // it is worth nothing any more
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    const ids = tokenRequests(where).map((one) => {
      assert.equal(one.headers.get("authorization"), null);
      const { client_assertion: assertion = "", ...body } = Object.fromEntries(formOf(one));
      assert.deepEqual(body, { grant_type: "client_credentials", resource: SERVER,
        client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" });
      const [head = "", claims = "", signature = ""] = assertion.split(".");
      assert.ok(verify("sha256", Buffer.from(`${head}.${claims}`), { key: createPublicKey(publicKey
        .export({ format: "pem", type: "spki" })), dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url")));
      const read = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString());
      assert.deepEqual(read(head), { kid: "k1", alg: "ES256" });
      const { jti, iat, exp, ...rest } = read(claims);
      assert.deepEqual(rest, { iss: "robot", sub: "robot", aud: ISSUER });
      assert.equal(exp - iat, 60);
      assert.ok(Math.abs(iat - Date.now() / 1000) < 60);
      return jti;
    });
    assert.equal(new Set(ids).size, 2, "each assertion is new");
  });
  test("scopes are those of the challenge, else of the metadata (spec " +
    "basic/authorization#scope-selection-strategy)", async () => {
    const where = protectedWorld({ ...withSecrets("client_secret_basic"),
      "GET /.well-known/oauth-protected-resource/mcp": () =>
        json({ ...resourceMetadata, scopes_supported: ["a", "b"] }) });
    assert.equal(await outcome(clientOf(where, { grant: secret })(SERVER, CALL)), 200);
    assert.equal(sentTo(where)[1].scope, "a b");
  });
});

describe("A grant that can be made anew", () => {
  const grants: [string, Grant][] = [["a secret", secret],
    ["a key", clientKey({ client_id: "robot", pem, alg: "ES256" })],
    ["a workload", workloadIdentity("robot", () => "a.b.c")]];
  for (const [name, grant] of grants) {
    test(`a refresh token is not kept: it would want a client that ${name} does not register ` +
      "(RFC 6749 §4.4.3)", async () => {
      let issued = 0;
      const where = protectedWorld({ ...describedAs({ registration_endpoint: undefined,
        token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt"] }),
      "POST /token": () => {
        where.tokens[0] = `token-${++issued}`;
        return json({ access_token: where.tokens[0], token_type: "Bearer", refresh_token: "r",
          expires_in: 3600 });
      } });
      let now = 0;
      const client = clientOf(where, { grant, now: () => now });
      assert.equal(await outcome(client(SERVER, CALL)), 200);
      now = 3_600_000; // it has ended, and
      where.tokens.pop(); // the server says so
      assert.equal(await outcome(client(SERVER, CALL)), 200);
      const types = tokenRequests(where).map((one) => formOf(one).get("grant_type"));
      assert.equal(types.length, 2);
      assert.equal(types[0], types[1]);
    });
    test(`what ${name} is refused is not asked for twice (RFC 6749 §5.2)`, async () => {
      for (const error of ["invalid_client", "invalid_grant", "invalid_scope"]) {
        const where = protectedWorld({ ...withSecrets("client_secret_basic", "private_key_jwt"),
          "POST /token": () => json({ error }, 400) });
        assert.equal(await outcome(clientOf(where, { grant })(SERVER, CALL)), error);
        assert.equal(tokenRequests(where).length, 1);
        assert.ok(!where.asked().some((one) => one.includes("/register")));
      }
    });
  }
  test("ten calls at once make one (spec basic/authorization#access-token-usage)", async () => {
    const where = protectedWorld(withSecrets("client_secret_basic"));
    const client = clientOf(where, { grant: secret });
    const all = await Promise.all(Array.from({ length: 10 }, () => outcome(client(SERVER, CALL))));
    assert.deepEqual(all, Array(10).fill(200));
    assert.equal(tokenRequests(where).length, 1);
  });
  test("its token can be bound to a key, and is then no Bearer token (RFC 9449 §5)", async () => {
    const where = protectedWorld({ ...withSecrets("client_secret_basic"),
      "POST /token": ({ headers }) => headers.has("dpop")
        ? json({ access_token: "bound", token_type: "DPoP" }) : json({ error: "invalid_request" }),
      "POST /mcp": ({ headers }) => headers.get("authorization") === "DPoP bound" &&
        headers.has("dpop") ? json({ jsonrpc: "2.0", id: 1, result: {} })
        : new Response("", { status: 401, headers: { "WWW-Authenticate": "DPoP" } }) });
    const proving = { ...where, fetch: dpopFetch(where.fetch) };
    const bound = clientOf(proving, { grant: secret, tokenTypes: ["dpop"] });
    assert.equal(await outcome(bound(SERVER, CALL)), 200);
    const plain = clientOf(proving, { grant: secret, tokenTypes: ["bearer"] });
    assert.equal(await outcome(plain(SERVER, CALL)), "token", "DPoP was not said to be understood");
  });
});

describe("A workload", () => {
  test("trades the JWT of its platform, a fresh one each time, and nothing else " +
    "(RFC 7523 §2.1)", async () => {
    const where = protectedWorld();
    let n = 0;
    const client = clientOf(where, { grant: workloadIdentity("job", async () => `jwt.${++n}.x`) });
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    where.tokens.pop();
    assert.equal(await outcome(client(SERVER, CALL)), 200);
    assert.deepEqual(tokenRequests(where).map((one) => Object.fromEntries(formOf(one))),
      ["jwt.1.x", "jwt.2.x"].map((assertion) => ({ assertion, client_id: "job", resource: SERVER,
        grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer" })));
    assert.deepEqual(tokenRequests(where).map(({ headers }) => headers.get("authorization")),
      [null, null]);
  });
});

describe("A user of a company", () => {
  const jag = (more: object = {}) => json({ access_token: "the.id.jag", token_type: "N_A",
    issued_token_type: JAG, expires_in: 300, ...more });
  /** The usual world, and an identity provider that answers so. */
  const company = (answer: Answer = () => jag()) => protectedWorld({
    ...withSecrets("client_secret_basic"),
    "GET /.well-known/oauth-protected-resource/mcp": () =>
      json({ ...resourceMetadata, scopes_supported: ["chat.read"] }) }, { [IDP]: answer });
  const grant = enterpriseManaged({ client: { client_id: "app", client_secret: "app-secret" },
    tokenEndpoint: `${IDP}/oauth2/token`, idToken: () => "the.id.token",
    idpClient: { client_id: "app-at-idp", client_secret: "idp-secret" } });
  test("the identity provider gives a permission for that server, which is traded for its token; " +
    "neither sees what is for the other (RFC 8693 §2.1, RFC 7523 §2.1)", async () => {
    const where = company();
    assert.equal(await outcome(clientOf(where, { grant })(SERVER, CALL)), 200);
    const [exchange = assert.fail(), trade = assert.fail(), ...more] =
      where.seen.filter(({ method, path }) => method === "POST" && path !== "/mcp");
    assert.deepEqual(more, []);
    assert.equal(exchange.url, `${IDP}/oauth2/token`);
    assert.equal(exchange.headers.get("authorization"), `Basic ${btoa("app-at-idp:idp-secret")}`);
    assert.deepEqual(Object.fromEntries(formOf(exchange)), {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", requested_token_type: JAG,
      audience: ISSUER, resource: SERVER, scope: "chat.read", subject_token: "the.id.token",
      subject_token_type: "urn:ietf:params:oauth:token-type:id_token" });
    assert.equal(`POST ${trade.url}`, TOKEN);
    assert.equal(trade.headers.get("authorization"), `Basic ${btoa("app:app-secret")}`);
    assert.deepEqual(Object.fromEntries(formOf(trade)), { assertion: "the.id.jag",
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", resource: SERVER,
      scope: "chat.read" });
  });
  test("what the identity provider refuses, or gives instead, goes to nobody (RFC 8693 §2.2)",
    async () => {
    const answers: [Answer, string][] = [
      [() => json({ error: "invalid_grant" }, 400), "invalid_grant"],
      [() => jag({ issued_token_type: JAG.replace("id-jag", "access_token") }), "token"],
      [() => jag({ issued_token_type: undefined }), "token"],
      [() => jag({ token_type: "Bearer" }), "token"],
      [() => jag({ access_token: undefined }), "token"],
      [() => new Response(null, { status: 307, headers: { Location: `${ISSUER}/token` } }),
        "redirect"],
    ];
    for (const [answer, code] of answers) {
      const where = company(answer);
      assert.equal(await outcome(clientOf(where, { grant })(SERVER, CALL)), code);
      assert.ok(!where.asked().includes(TOKEN));
    }
  });
  test("a login is not sent over a line that others read (spec " +
    "basic/authorization/security-considerations#communication-security)", () => {
    for (const tokenEndpoint of ["http://idp.example/token", "file:///token"]) {
      assert.throws(() => enterpriseManaged({ client: { client_id: "a" }, tokenEndpoint,
        idpClient: { client_id: "b" }, idToken: () => "" }), AuthorizationError);
    }
  });
});
