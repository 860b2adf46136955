// What a hostile server, a hostile authorization server or a web page could try against a client,
// and what comes of it: written from the specification and its security considerations.
import assert from "node:assert/strict";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileStore, identify, loginWith, loopbackVisitor, memoryStore, parseChallenges, readCallback,
  trustedUrl, type AuthorizeOptions, type Login, type Store } from "../mcp-raw.ts";
import { agree, CALL, CALLBACK, challenged, clientOf, formOf, ISSUER, issuerMetadata, json, outcome,
  protectedWorld, queryOf, resourceMetadata, SERVER, status, visitorOf, type Answer, type World }
  from "./kit-auth.ts";

const ISSUER_AT = "GET /.well-known/oauth-authorization-server";
const RESOURCE_AT = "GET /.well-known/oauth-protected-resource/mcp";
const call = (where: World, options?: Partial<AuthorizeOptions>) =>
  outcome(clientOf(where, options)(SERVER, CALL));
const said = (where: World, path: string) =>
  where.seen.filter((one) => new URL(one.url).pathname === path);
/** A store after a login, whose token is not good any more unless it is said to be. */
function storeWith(tokens: object, client: object = {}): Store {
  return memoryStore(new Map<string, unknown>([
    [`server ${SERVER}`, { issuer: ISSUER, resource: SERVER }],
    [`client ${ISSUER}`, { client_id: "registered", redirect_uris: [CALLBACK], ...client }],
    [`tokens ${ISSUER} ${SERVER}`, { asked: [], tokens: { access_token: "old",
      token_type: "Bearer", refresh_token: "refresh-0", ...tokens } }]]));
}
/** An issuer that takes each refresh token once. */
function rotating(answers: Record<string, Answer> = {}): World {
  let turn = 0;
  return protectedWorld({ "POST /mcp": ({ headers }) =>
    turn > 0 && headers.get("authorization") === `Bearer new-${turn}` ? json({}) : challenged(),
  "POST /token": (seen) => formOf(seen).get("refresh_token") !== `refresh-${turn}`
    ? json({ error: "invalid_grant" }, 400)
    : json({ access_token: `new-${++turn}`, token_type: "Bearer", expires_in: 3600,
      refresh_token: `refresh-${turn}` }), ...answers });
}
const gate = () => {
  let open = () => {};
  return { wait: new Promise<void>((resolve) => (open = resolve)), open: () => open() };
};

describe("A hostile header", () => {
  test("with a credential of another scheme in it does not hide the challenge behind it " +
    "(RFC 9110 §11.2)", () => {
    for (const other of ["Negotiate oYG2MIGzoAM=", "Negotiate a/b+c==", "NTLM TlRM/abc", "Basic ,"]) {
      const last = parseChallenges(`${other}, Bearer scope="x"`).at(-1);
      assert.deepEqual([last?.scheme, { ...last?.parameters }], ["bearer", { scope: "x" }], other);
    }
  });

  test("of any form and length is read to its end, in time that grows with it (RFC 9110 §11.6.1)",
    { timeout: 10_000 }, () => {
    for (const piece of ["a", " ", "a ", "\\", "=", "a=", ",", "a,", "a=b,", "\t", '"', '""', 'a="',
      "\\a", 'a ="', "a=\t", "/", "a/"]) {
      for (const start of ["", "Bearer ", 'Bearer a="', "Bearer a="]) {
        parseChallenges(start + piece.repeat(10_000));
      }
    }
  });
});

describe("A hostile authorization server", () => {
  test("that sends the browser to an honest one is given no code: iss is the honest one's " +
    "(RFC 9207 §1)", async () => {
    const evil = "https://evil.example.com";
    const metadata = { ...issuerMetadata, issuer: evil, token_endpoint: `${evil}/token`,
      registration_endpoint: `${evil}/register`,
      authorization_response_iss_parameter_supported: false };
    const where = protectedWorld({ [RESOURCE_AT]: () =>
      json({ ...resourceMetadata, authorization_servers: [evil] }) }, { [evil]: ({ path }) =>
      path.startsWith("/.well-known/") ? json(metadata) : json({ client_id: "honest" }, 201) });
    assert.equal(await call(where), "issuer");
    assert.ok(!where.seen.some(({ body, url }) => url.startsWith(evil) && body.includes("the-code")));
  });

  test("may hold addresses in no form that lead into this machine or a private network " +
    "(RFC 9728 §7.7)", () => {
    for (const host of ["100.100.100.200", "100.64.0.1", "198.18.0.1", "[::127.0.0.1]", "[::]",
      "[64:ff9b::169.254.169.254]", "[2002:7f00:1::]", "[fec0::1]", "0177.0.0.1", "127.1", "0",
      "[::ffff:10.0.0.1]", "[::ffff:0:127.0.0.1]", "１２７.0.0.1", "127。0。0。1", "localhost..",
      "ⓛocalhost", "a.LOCALHOST.", "172.31.255.255.", "0xa9fea9fe", "[fe80::1]", "[fdff::]"]) {
      assert.throws(() => trustedUrl(`https://${host}:8443/x`, "it", SERVER), { code: "insecure" },
        host);
    }
    for (const host of ["100.128.0.1", "172.32.0.1", "198.20.0.1", "11.0.0.1", "[2001:db8::1]"]) {
      assert.equal(trustedUrl(`https://${host}/x`, "it", SERVER), `https://${host}/x`);
    }
  });

  test("whose metadata has the wrong types is refused with a reason " +
    "(RFC 8414 §3.2, RFC 9728 §3.2)", async () => {
    const rows: [at: string, metadata: object, code: string | number][] = [
      [RESOURCE_AT, { authorization_servers: null }, "discovery"],
      [RESOURCE_AT, { authorization_servers: {} }, "insecure"],
      [RESOURCE_AT, { authorization_servers: [] }, "discovery"],
      [RESOURCE_AT, { authorization_servers: [[ISSUER]] }, "insecure"],
      [RESOURCE_AT, { scopes_supported: 7 }, 200],
      [ISSUER_AT, { code_challenge_methods_supported: "S256" }, "pkce"],
      [ISSUER_AT, { code_challenge_methods_supported: { S256: true } }, "pkce"],
      [ISSUER_AT, { code_challenge_methods_supported: null }, "pkce"],
      [ISSUER_AT, { token_endpoint_auth_methods_supported: 7 }, 200],
      [ISSUER_AT, { scopes_supported: null, registration_endpoint: null }, "registration"],
    ];
    for (const [at, metadata, code] of rows) {
      const usual = at === ISSUER_AT ? issuerMetadata : resourceMetadata;
      const where = protectedWorld({ [at]: () => json({ ...usual, ...metadata }) });
      assert.equal(await call(where), code, JSON.stringify(metadata));
    }
  });

  test("whose documents are huge, deep or full of odd keys costs nothing but the login " +
    "(RFC 8414 §3.2)", async () => {
    const many = "[".repeat(100_000);
    for (const body of [`{"x":"${"x".repeat(300_000)}"}`, many, `${many}${"]".repeat(100_000)}`]) {
      assert.equal(await call(protectedWorld({ [ISSUER_AT]: () => json(body) })), "discovery");
    }
    const odd = '"__proto__":{"hacked":1},"constructor":{"prototype":{"hacked":1}}';
    const where = protectedWorld({ [ISSUER_AT]: () =>
      json(JSON.stringify(issuerMetadata).replace("{", `{${odd},`)), "POST /register": () =>
      json(`{${odd},"client_id":"x"}`, 201), [RESOURCE_AT]: () =>
      json(JSON.stringify(resourceMetadata).replace("{", `{${odd},`)) });
    assert.equal(await call(where), 200);
    assert.equal(({} as { hacked?: number }).hacked, undefined);
  });

  test("that says null of something has left it out (RFC 6749 §5.1, RFC 7591 §3.2.1)", async () => {
    const store = storeWith({});
    const where = rotating({ "POST /token": () => json({ access_token: "new-1", token_type: null,
      refresh_token: null, scope: null, expires_in: null, error: null }),
    "POST /mcp": ({ headers }) => headers.get("authorization") === "Bearer new-1" ? json({})
      : challenged() });
    assert.equal(await call(where, { store }), 200);
    const { tokens } = await store.load(`tokens ${ISSUER} ${SERVER}`) as { tokens: object };
    assert.deepEqual(tokens,
      { access_token: "new-1", token_type: "Bearer", refresh_token: "refresh-0" });
    const { fetch, seen } = protectedWorld({ "POST /register": () => json({ client_id: "x",
      client_secret: null, client_secret_expires_at: null, token_endpoint_auth_method: null }, 201) });
    const clients = memoryStore();
    for (let turn = 0; turn < 2; turn++) {
      assert.deepEqual(await identify(issuerMetadata, CALLBACK, fetch, { store: clients }),
        { client_id: "x", redirect_uris: [CALLBACK] });
    }
    assert.equal(seen.length, 1); // which has not ended, and is not made again
  });

  test("that never answers is waited for only so long " +
    "(spec basic/authorization/authorization-server-discovery)", async () => {
    const where = protectedWorld();
    const endless: string[] = [];
    const fetch: typeof globalThis.fetch = (url, init) => {
      if (!(init?.signal instanceof AbortSignal)) endless.push(String(url));
      return where.fetch(url, init);
    };
    assert.equal(await call({ ...where, fetch }, { grant: loginWith(visitorOf(where)) }), 200);
    assert.deepEqual(endless, [SERVER, SERVER]); // these two end with their caller's signal
  });

  test("writes no control characters on a reader's terminal (RFC 6749 §5.2)", async () => {
    const where = protectedWorld({ "POST /token": () => json({ error: "invalid_grant\u001b[2J",
      error_description: "\u202e\u009b31m\r\nok: é 好" }, 400) });
    await assert.rejects(clientOf(where)(SERVER, CALL), (error: Error) =>
      !/\p{C}/u.test(error.message) && error.message.includes("ok: é 好"));
  });
});

describe("Tokens and registrations, used by many", () => {
  test("a refresh token is spent once, however late a call is (RFC 9700 §4.14.2)", async () => {
    const late = gate();
    let asked = 0;
    const where = rotating({ [ISSUER_AT]: async () => {
      if (++asked === 2) await late.wait;
      return json(issuerMetadata);
    } });
    const reach = clientOf(where, { store: storeWith({ expires_at: 1 }), now: () => 10_000 });
    const calls = [1, 2].map(() => outcome(reach(SERVER, CALL)));
    await Promise.race(calls);
    late.open();
    assert.deepEqual(await Promise.all(calls), [200, 200]);
    assert.equal(said(where, "/token").length, 1);
  });

  test("of two clients with one store, the slower one takes what the faster one was given " +
    "(RFC 9700 §4.14.2)", async () => {
    const late = gate();
    let asked = 0;
    const where = rotating({ [RESOURCE_AT]: async () => {
      if (++asked === 2) await late.wait;
      return json(resourceMetadata);
    } });
    const store = storeWith({});
    const calls = [1, 2].map(() => call(where, { store }));
    await Promise.race(calls);
    late.open();
    assert.deepEqual(await Promise.all(calls), [200, 200]);
    assert.deepEqual([said(where, "/token").length, said(where, "/authorize").length], [1, 0]);
  });

  test("an issuer that is gone when its tokens end does not hide the one that is there now " +
    "(spec basic/authorization/client-registration#authorization-server-binding)", async () => {
    const gone = "https://gone.example.com";
    const where = protectedWorld();
    const store = memoryStore(new Map<string, unknown>([
      [`server ${SERVER}`, { issuer: gone, resource: SERVER }],
      [`tokens ${gone} ${SERVER}`, { asked: [], tokens: { access_token: "old",
        token_type: "Bearer", refresh_token: "secret-of-gone", expires_at: 1 } }]]));
    assert.equal(await call(where, { store }), 200);
    assert.ok(!where.seen.some(({ body }) => body.includes("secret-of-gone")));
  });

  test("an identity that a refresh finds forgotten is not shown to the user's browser " +
    "(RFC 6749 §4.1.2.1)", async () => {
    const where = protectedWorld({ "POST /token": (seen) =>
      formOf(seen).get("client_id") === "forgotten" ? json({ error: "invalid_client" }, 401)
        : json({ access_token: "good", token_type: "Bearer" }), "POST /mcp": ({ headers }) =>
      headers.get("authorization") === "Bearer good" ? json({}) : challenged() });
    assert.equal(await call(where, { store: storeWith({}, { client_id: "forgotten" }) }), 200);
    assert.deepEqual(said(where, "/authorize").map((seen) => queryOf(seen).get("client_id")),
      ["registered"]);
  });

  test("a registration past its time is made anew with its addresses, also for a refresh " +
    "(spec basic/authorization/security-considerations#open-redirection)", async () => {
    const where = rotating();
    await call(where, { store: storeWith({}, { client_secret: "s", client_secret_expires_at: 1 }) });
    const bodies = said(where, "/register").map(({ body }) => JSON.parse(body));
    assert.deepEqual(bodies.map((body) => body.redirect_uris), [[CALLBACK]]);
  });

  test("a login that fails fails for all who wait for it, once, and the next call may try again " +
    "(spec basic/authorization#authorization-flow-steps)", async () => {
    const asked = gate();
    let visits = 0;
    const where = protectedWorld();
    const reach = clientOf(where, { grant: loginWith({ redirectUri: CALLBACK, async visit(url) {
      await asked.wait;
      const answer = await visitorOf(where).visit(url);
      return ++visits > 1 ? answer : answer.replace(/code=[^&]*/, "error=access_denied");
    } }) });
    const calls = Array.from({ length: 10 }, () => outcome(reach(SERVER, CALL)));
    while (said(where, "/mcp").length < 10 || !reach.busy()) await new Promise(setImmediate);
    asked.open();
    assert.deepEqual(await Promise.all(calls), Array(10).fill("access_denied"));
    assert.deepEqual([visits, await outcome(reach(SERVER, CALL)), visits], [1, 200, 2]);
  });
});

describe("The machine of the user", () => {
  test("a page that knocks while a login waits learns nothing and ends nothing " +
    "(spec basic/authorization/security-considerations#open-redirection)", async () => {
    const taken = await loopbackVisitor(() => {}, { port: 0 });
    const knocked: string[] = [];
    const visitor = await loopbackVisitor(async () => {
      const { port } = new URL(visitor.redirectUri);
      const knock = (target: string) => new Promise<void>((resolve) => {
        const socket = connect(Number(port), "127.0.0.1", () =>
          socket.write(`GET ${target} HTTP/1.1\r\nHost: evil.example\r\n\r\n`));
        socket.on("data", (data) => knocked.push(`${target} ${String(data).slice(9, 12)}`));
        socket.on("close", () => resolve());
      });
      for (const target of ["//", "http://[", "/callback", "/callback?state=guess&code=evil", "*",
        "/other?state=s", "http://evil.example/callback?code=a?b&state=s"]) await knock(target);
    }, { port: Number(new URL(taken.redirectUri).port) }); // which is another then
    const came = await visitor.visit("https://auth.example.com/authorize?state=s");
    assert.equal(came, `${visitor.redirectUri}?code=a?b&state=s`);
    assert.deepEqual(knocked.map((one) => one.slice(-3)),
      ["404", "404", "404", "404", "404", "404", "200"]);
    taken.close?.();
    visitor.close?.();
  });

  test("a callback that is nothing is refused as such, and is not quoted " +
    "(spec basic/authorization#authorization-response-validation)", () => {
    const login: Login = { issuer: ISSUER, state: "s", verifier: "v", redirectUri: CALLBACK,
      resource: SERVER, sendsIss: false };
    for (const came of ["", "?", "nonsense", `${CALLBACK}#code=secret&state=s`]) {
      assert.throws(() => readCallback(came, login), (error: Error) =>
        error.name === "AuthorizationError" && !error.message.includes("secret"), came);
    }
  });

  test("logins are kept where nobody else reads, under names that say nothing, and a file that " +
    "broke off is none (spec basic/authorization/security-considerations#token-theft)", async () => {
    const folder = join(await mkdtemp(join(tmpdir(), "mcp-raw-")), "logins");
    const store = fileStore(folder);
    await store.save("tokens ../../etc https://mcp.example.com", { secret: 1 });
    const [name = "", ...more] = readdirSync(folder);
    assert.deepEqual([more.length, /^[\w-]{43}\.json$/.test(name)], [0, true]);
    if (process.platform !== "win32") {
      assert.deepEqual([folder, join(folder, name)].map((path) => statSync(path).mode & 0o777),
        [0o700, 0o600]);
    }
    for (const broken of ["", '{"sec']) {
      writeFileSync(join(folder, name), broken);
      assert.equal(await store.load("tokens ../../etc https://mcp.example.com"), undefined);
    }
  });
});
