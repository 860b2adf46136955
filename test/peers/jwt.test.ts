// JSON Web Tokens and DPoP (examples/extensions/jwt.ts, dpop.ts). Published vectors first. Tokens
// for attacks are made by node:crypto, so that no encoder of ours is its own witness.
import assert from "node:assert/strict";
import { createHmac, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify,
  type KeyObject } from "node:crypto";
import { describe, test } from "node:test";
import { AuthorizationError, protect, server, text } from "../../mcp-raw.ts";
import { changingNonces, dpopFetch, dpopGuard, dpopKey, dpopProof, firstTime, thumbprint,
  verifyProof, type ProofCheck } from "../../examples/extensions/dpop.ts";
import { importPem, jwtVerifier, readJwt, remoteKeys, signJwt, verifyJwt, verifySignature,
  type JwtOptions, type KeyedJwk } from "../../examples/extensions/jwt.ts";
import { headersFor, request } from "../kit-http.ts";

type Json = Record<string, unknown>;
const b64 = (value: string | Uint8Array | object) => Buffer.from(typeof value === "string" ||
  value instanceof Uint8Array ? value : JSON.stringify(value)).toString("base64url");
const publicOf = (key: KeyObject) => createPublicKey(key).export({ format: "jwk" }) as KeyedJwk;
const signed = (head: string, body: string, key: KeyObject) =>
  `${head}.${body}.${b64(sign(key.asymmetricKeyType === "ed25519" ? null : "sha256",
    Buffer.from(`${head}.${body}`), { key, dsaEncoding: "ieee-p1363" }))}`;

// RFC 7515 A.2 and A.3, RFC 8037 A.1 and A.4.
const A2 = { kty: "RSA", e: "AQAB", n: "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPdd" +
  "xHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wG" +
  "zjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxv" +
  "b3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRW" +
  "yuXpoQ" };
const A3 = { kty: "EC", crv: "P-256", x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
  y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0" };
const A3_PRIVATE = createPrivateKey({ format: "jwk",
  key: { ...A3, d: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI" } });
const ED = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
const BODY = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb29" +
  "0Ijp0cnVlfQ";
const A3_TOKEN = `eyJhbGciOiJFUzI1NiJ9.${BODY}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjD` +
  "xw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const VECTORS: [string, string, KeyedJwk, string][] = [
  ["RS256 (RFC 7515 A.2)", "RS256", A2, `eyJhbGciOiJSUzI1NiJ9.${BODY}.cC4hiUPoj9Eetdgtv3hF80EGrhu` +
    "B__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAc" +
    "QjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcO" +
    "Ln6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5" +
    "AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"],
  ["ES256 (RFC 7515 A.3)", "ES256", A3, A3_TOKEN],
  ["EdDSA (RFC 8037 A.4)", "EdDSA", ED, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc" +
    ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"],
];

const ISSUER = "https://auth.example.com";
const SERVER = "https://mcp.example.com/mcp";
const NOW = 1_800_000_000; // seconds
const CLAIMS = { iss: ISSUER, sub: "ada", aud: SERVER, exp: NOW + 60, scope: "files:read" };
/** A token as the issuer makes it, but for what is said. */
const tokenOf = (claims: Json = {}, header: Json = {}) =>
  signed(b64({ alg: "ES256", kid: "1", ...header }), b64({ ...CLAIMS, ...claims }), A3_PRIVATE);
const optionsOf = (more: Partial<JwtOptions> = {}): JwtOptions => ({ issuer: ISSUER,
  audience: SERVER, now: () => NOW * 1000, keys: async (kid) => kid === "1" ? A3 : undefined,
  ...more });
/** "taken", or why not. */
const verdict = (token: string, more: Partial<JwtOptions> = {}): Promise<string> =>
  verifyJwt(token, optionsOf(more)).then(() => "taken", (error: Error) => {
    assert.ok(error instanceof AuthorizationError && error.code === "invalid_token", `${error}`);
    return error.message;
  });

describe("Tokens are verified", () => {
  for (const [name, alg, key, token] of VECTORS) {
    test(`the published vector verifies, and no other text: ${name}`, async () => {
      assert.equal(await verifySignature(token, key, alg), true);
      const [head = "", body = "", signature = ""] = token.split(".");
      assert.equal(await verifySignature(`${head}.${body}x.${signature}`, key, alg), false);
      assert.equal(await verifySignature(`${head}x.${body}.${signature}`, key, alg), false);
      const other = `${signature[0] === "A" ? "B" : "A"}${signature.slice(1)}`;
      assert.equal(await verifySignature(`${head}.${body}.${other}`, key, alg), false);
    });
  }
  test("claims are read as they were written (RFC 7515 A.3)", async () => {
    const keys = async () => A3;
    const options = { issuer: "joe", keys, now: () => 1_300_819_379_000 };
    const expected = { iss: "joe", exp: 1300819380, "http://example.com/is_root": true };
    assert.deepEqual(await verifyJwt(A3_TOKEN, options), expected);
    assert.deepEqual(readJwt(A3_TOKEN), { header: { alg: "ES256" }, claims: expected });
  });

  test("none, shared secrets and all that is not asymmetric are refused before a key is looked " +
    "for (RFC 8725 §3.1)", async () => {
    const body = b64(CLAIMS);
    const keys = () => assert.fail("a key was asked for");
    const pem = createPublicKey(A3_PRIVATE).export({ format: "pem", type: "spki" });
    for (const alg of ["none", "None", "nOnE", "", "HS256", "HS512", "es256", "ES256K", "ES384",
      ["ES256"], { toString: "ES256" }, null, 0, "__proto__", "constructor"]) {
      const head = b64({ alg, kid: "1" });
      for (const secret of [undefined, pem, JSON.stringify(A3)]) {
        const mac = secret === undefined ? ""
          : b64(createHmac("sha256", secret).update(`${head}.${body}`).digest());
        assert.match(await verdict(`${head}.${body}.${mac}`, { keys }), /^alg is |no JSON Web/);
      }
    }
    assert.match(await verdict(`${b64({ kid: "1" })}.${body}.`, { keys }), /^alg is undefined/);
  });
  test("a key serves the one algorithm that it is for (RFC 8725 §3.1, RFC 7517 §4)", async () => {
    const token = tokenOf();
    const weak = generateKeyPairSync("rsa", { modulusLength: 1024 }).privateKey;
    const p384 = generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey;
    const no = "the signature is not by the key that it names";
    const cases: [KeyedJwk, string][] = [
      [{ ...A3, alg: "ES256", use: "sig", kid: "1", key_ops: ["verify"] }, "taken"],
      [{ ...A3, alg: "RS256" }, no], [{ ...A3, use: "enc" }, no], [A2, no], [ED, no],
      [{ ...A3, key_ops: ["encrypt"] }, no], [{ ...A3, kty: "oct", k: "AAAA" }, no],
      [A3_PRIVATE.export({ format: "jwk" }) as KeyedJwk, no], [{}, no], [{ kty: "EC" }, no],
      [p384.export({ format: "jwk" }) as KeyedJwk, no],
    ];
    for (const [key, expected] of cases) {
      assert.equal(await verdict(token, { keys: async () => key }), expected, JSON.stringify(key));
    }
    const rsa = signed(b64({ alg: "RS256" }), b64(CLAIMS), weak);
    assert.equal(await verdict(rsa, { keys: async () => publicOf(weak) }), no, "1,024 bits");
  });
  test("a key named Ed25519 verifies EdDSA, and the other way about (RFC 9864 §2.2)", async () => {
    const [, , , token] = VECTORS[2] ?? assert.fail();
    assert.equal(await verifySignature(token, { ...ED, alg: "Ed25519" }, "EdDSA"), true);
    assert.equal(await verifySignature(token, { ...ED, alg: "EdDSA" }, "Ed25519"), true);
    assert.equal(await verifySignature(token, { ...ED, alg: "ES256" }, "EdDSA"), false);
  });

  test("a token has three parts in the one spelling of base64url (RFC 7515 §2, §7.1)", async () => {
    const token = tokenOf();
    const [head = "", body = "", signature = ""] = token.split(".");
    assert.equal(await verdict(token), "taken");
    const last = String.fromCharCode(signature.charCodeAt(85) + 1); // 4 bits of it mean nothing
    const respelt = `${head}.${body}.${signature.slice(0, -1)}${last}`;
    assert.deepEqual(Buffer.from(respelt.split(".")[2] ?? "", "base64url"),
      Buffer.from(signature, "base64url"), "the same bytes");
    for (const wrong of ["", ".", "..", "a.b", "a.b.c", `${head}.${body}`, `${token}.`,
      `${token}.${signature}`, `.${token}`, ` ${token}`, `${token}\n`,
      `${head}.${body}.${signature}=`, `${head}=.${body}.${signature}`, respelt,
      `${head}.${body}.${signature}==`, `${head}.${body}.+/+/`, `${head}.${body}. `]) {
      assert.match(await verdict(wrong), /no JSON Web Token|not by the key/, wrong);
    }
  });
  test("header and claims are JSON objects in UTF-8 (RFC 7519 §7.2)", async () => {
    const head = b64({ alg: "ES256", kid: "1" });
    for (const body of ["", "null", "[]", "1", '"x"', "{", "{}{}", "[".repeat(100_000)]) {
      assert.match(await verdict(signed(head, b64(body), A3_PRIVATE)), /no JSON Web Token/, body);
      assert.match(await verdict(signed(b64(body), b64(CLAIMS), A3_PRIVATE)), /no JSON Web/, body);
    }
    const latin = Buffer.from('{"iss":"\xe4"}', "latin1");
    assert.match(await verdict(signed(head, b64(latin), A3_PRIVATE)), /no JSON Web Token/);
  });
  test("what is critical and not understood refuses the token (RFC 7515 §4.1.11)", async () => {
    for (const crit of [["b64"], ["exp"], [], null]) {
      assert.match(await verdict(tokenOf({}, { crit, b64: false })), /^crit/);
    }
  });
  test("a proof, a permission or a logout is no access token (RFC 8725 §3.11)", async () => {
    for (const typ of ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"]) {
      assert.equal(await verdict(tokenOf({}, { typ })), "taken", typ);
    }
    for (const typ of ["dpop+jwt", "oauth-id-jag+jwt", "logout+jwt", "", null, "x/at+jwt"]) {
      assert.match(await verdict(tokenOf({}, { typ })), /^typ must be at\+jwt or jwt/);
    }
    const types = ["oauth-id-jag+jwt"];
    assert.equal(await verdict(tokenOf({}, { typ: "oauth-id-jag+jwt" }), { types }), "taken");
    assert.match(await verdict(tokenOf(), { types }), /^typ/, "no typ is a jwt");
  });
  test("iss, aud, exp and nbf are checked, with half a minute for clocks that differ " +
    "(RFC 7519 §4.1)", async () => {
    const cases: [Json, string | RegExp][] = [
      [{}, "taken"], [{ iss: `${ISSUER}/` }, /^iss must be/], [{ iss: undefined }, /^iss must be/],
      [{ iss: [ISSUER] }, /^iss must be/], [{ iss: "https://auth.example.com.evil" }, /^iss/],
      [{ aud: [SERVER, "x"] }, "taken"], [{ aud: undefined }, /^aud must hold/],
      [{ aud: [] }, /^aud/], [{ aud: "https://mcp.example.com/" }, /^aud/], [{ aud: {} }, /^aud/],
      [{ aud: `${SERVER}/x` }, /^aud/], [{ aud: [[SERVER]] }, /^aud/],
      [{ exp: NOW - 29 }, "taken"], [{ exp: NOW - 30 }, "it has expired"],
      [{ exp: undefined }, /^exp must/], [{ exp: `${NOW + 60}` }, /^exp must/],
      [{ exp: null }, /^exp must/], [{ exp: 0 }, "it has expired"], [{ exp: -1 }, "it has expired"],
      [{ nbf: NOW + 30 }, "taken"], [{ nbf: NOW + 31 }, "it is not good yet"],
      [{ nbf: null }, "it is not good yet"], [{ nbf: "0" }, "it is not good yet"],
    ];
    for (const [claims, expected] of cases) {
      const said = await verdict(tokenOf(claims));
      if (typeof expected === "string") assert.equal(said, expected, JSON.stringify(claims));
      else assert.match(said, expected, JSON.stringify(claims));
    }
    assert.equal(await verdict(tokenOf({ exp: NOW - 1 }), { leeway: 0 }), "it has expired");
  });
  test("a key that is not known refuses the token; one that cannot be found out is no fault of " +
    "the token (RFC 7515 §4.1.4)", async () => {
    assert.equal(await verdict(tokenOf({}, { kid: "2" })), 'there is no key with the kid "2"');
    const keys = async () => { throw new Error("HTTP 503"); };
    await assert.rejects(verifyJwt(tokenOf(), optionsOf({ keys })), /^Error: HTTP 503$/);
  });
});

describe("A protected server takes JSON Web Tokens", () => {
  const appOf = (keys: JwtOptions["keys"], why: string[] = []) => server({ name: "t", version: "1",
    report: () => {}, tools: [{ name: "hi", handler: () => text("hi") }],
    http: { guard: protect({ resource: SERVER, authorizationServers: [ISSUER],
      scopes: ["files:read"], now: () => NOW * 1000, verify: jwtVerifier({ issuer: ISSUER, keys,
        now: () => NOW * 1000, refused: ({ message }) => void why.push(message) }) }) } });
  const call = async (app: ReturnType<typeof appOf>, token: string) => {
    const response = await app.fetch(new Request(SERVER, { method: "POST",
      headers: { ...headersFor("tools/call", "hi"), authorization: `Bearer ${token}` },
      body: JSON.stringify(request("tools/call", { name: "hi", arguments: {} })) }));
    await response.text();
    const challenge = response.headers.get("www-authenticate") ?? "";
    const [, error = ""] = /error="(\w+)"/.exec(challenge) ?? [];
    return `${response.status} ${error}`.trim();
  };
  test("a good token is let in; one of another issuer, server, scope or time is not " +
    "(spec basic/authorization#token-handling)", async () => {
    const why: string[] = [];
    const app = appOf(async () => A3, why);
    assert.equal(await call(app, tokenOf()), "200");
    assert.equal(await call(app, tokenOf({ aud: [SERVER] })), "200");
    assert.equal(await call(app, tokenOf({ iss: "https://evil.example" })), "401 invalid_token");
    assert.equal(await call(app, tokenOf({ aud: "https://b.example/mcp" })), "401 invalid_token");
    assert.equal(await call(app, tokenOf({ aud: undefined })), "401 invalid_token");
    assert.equal(await call(app, tokenOf({ exp: NOW - 60 })), "401 invalid_token");
    assert.equal(await call(app, tokenOf({ sub: undefined })), "401 invalid_token");
    assert.equal(await call(app, tokenOf({ scope: "files:readall" })), "403 insufficient_scope");
    assert.equal(await call(app, tokenOf({ scope: ["files:read"] })), "403 insufficient_scope");
    assert.deepEqual(why, [`iss must be ${ISSUER}, and is "https://evil.example"`,
      "it has expired", "sub must say whose it is"], "protect() has looked at the rest");
  });
  test("that the keys cannot be had is a fault of the server, not of the token: nobody has to log" +
    " in again (RFC 9110 §15.6.1)", async () => {
    assert.equal(await call(appOf(async () => { throw new Error("down"); }), tokenOf()), "500");
  });
  test("one user is one principal, whichever token they come with (RFC 7519 §4.1.2)", async () => {
    const verify = jwtVerifier({ issuer: ISSUER, keys: async () => A3, now: () => NOW * 1000 });
    const one = await verify(tokenOf());
    const two = await verify(tokenOf({ jti: "2", aud: ["x", 1] }));
    assert.equal(one?.id, "https://auth.example.com ada");
    assert.equal(two?.id, one?.id);
    assert.deepEqual(two?.audience, ["x"]);
    assert.equal(one?.expiresAt, (NOW + 90) * 1000);
  });
});

describe("The keys of an issuer", () => {
  const URL_OF = "https://auth.example.com/jwks";
  /** Keys behind a counter; `answer` is what the issuer says now. */
  function issuerOf(options: Parameters<typeof remoteKeys>[1] = {}) {
    const state = { now: 0, asked: 0, keys: [{ ...A3, kid: "1" }] as unknown[],
      answer: undefined as Response | undefined };
    const fetch = async (url: unknown) => {
      assert.equal(String(url), URL_OF);
      state.asked++;
      await undefined;
      return state.answer ?? Response.json({ keys: state.keys });
    };
    return { state, find: remoteKeys(URL_OF,
      { fetch: fetch as typeof globalThis.fetch, now: () => state.now, ...options }) };
  }
  test("they are fetched once for all who wait, and not again (RFC 7517 §5)", async () => {
    const { state, find } = issuerOf();
    const found = await Promise.all(Array.from({ length: 10 }, () => find("1")));
    assert.deepEqual(found.map((key) => key?.kid), Array(10).fill("1"));
    await find("1");
    assert.equal(state.asked, 1);
  });
  test("an unknown name asks again, once in half a minute, so a new key is found and inventing " +
    "names is no way to keep the issuer busy (RFC 7517 §4.5)", async () => {
    const { state, find } = issuerOf();
    await find("1");
    state.keys.push({ ...A3, kid: "2" });
    assert.equal(await find("2"), undefined);
    assert.equal(state.asked, 1, "it has just been asked");
    state.now = 30_001;
    assert.equal((await find("2"))?.kid, "2");
    for (let n = 0; n < 20; n++) assert.equal(await find(`invented ${n}`), undefined);
    assert.equal(state.asked, 2);
  });
  test("a key that was withdrawn is good for ten minutes at most (RFC 7517 §5)", async () => {
    const { state, find } = issuerOf();
    await find("1");
    state.keys = [];
    state.now = 600_000;
    assert.equal((await find("1"))?.kid, "1");
    state.now = 600_001;
    assert.equal(await find("1"), undefined);
  });
  test("an issuer that fails, or answers no keys, is an error each time until it does answer " +
    "(RFC 9110 §15.6.4)", async () => {
    const { state, find } = issuerOf();
    for (const answer of [new Response("", { status: 503 }), Response.json({}), Response.json([]),
      Response.json({ keys: {} }), new Response("<html>"), Response.json({ keys: null }),
      new Response(`{"keys":[],"x":"${"x".repeat(256 * 1024)}"}`)]) {
      state.answer = answer;
      await assert.rejects(find("1"), (error) => !(error instanceof AuthorizationError));
    }
    state.answer = undefined;
    state.keys = [null, 1, "x", { ...A3, kid: "1" }];
    assert.equal((await find("1"))?.kid, "1");
  });
  test("a token without a name is tried with an only key, and no key has no name by chance " +
    "(RFC 7515 §4.1.4)", async () => {
    const { state, find } = issuerOf();
    assert.equal((await find(undefined))?.kid, "1");
    state.keys = [{ ...A3 }, { ...A2 }];
    state.now = 700_000;
    for (const kid of [undefined, null, "", "undefined", "__proto__", {}]) {
      assert.equal(await find(kid), undefined, String(kid));
    }
  });
  test("they come over https from where they are said to be (RFC 8725 §3.10)", async () => {
    for (const url of ["http://auth.example.com/jwks", "file:///jwks", "data:,{}", "jwks"]) {
      assert.throws(() => remoteKeys(url), AuthorizationError, url);
    }
    const { state, find } = issuerOf();
    state.answer = Response.redirect("https://evil.example", 302);
    await assert.rejects(find("1"), { code: "redirect" });
    assert.equal(state.asked, 1);
  });
});

describe("Tokens are signed", () => {
  test("a key in PEM signs what others verify: ES256, RS256, EdDSA (RFC 7518 §3)", async () => {
    const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
    const ed = generateKeyPairSync("ed25519").privateKey;
    for (const [alg, key] of [["ES256", A3_PRIVATE], ["RS256", rsa], ["EdDSA", ed]] as const) {
      const pem = String(key.export({ format: "pem", type: "pkcs8" }));
      const token = await signJwt({ sub: "ä" }, await importPem(`\r\n${pem}\r\n`, alg), alg,
        { kid: "1", alg: "none" });
      const [head = "", body = "", signature = ""] = token.split(".");
      assert.equal(Buffer.from(head, "base64url").toString(), `{"kid":"1","alg":"${alg}"}`);
      assert.equal(Buffer.from(body, "base64url").toString(), '{"sub":"ä"}');
      const witness = { key: createPublicKey(key), dsaEncoding: "ieee-p1363" as const };
      assert.ok(verify(alg === "EdDSA" ? null : "sha256", Buffer.from(`${head}.${body}`),
        witness, Buffer.from(signature, "base64url")), alg);
    }
  });
  test("a PEM of another kind is refused with what to do, and without the key (RFC 7468 §10)",
    async () => {
    const pem = (options: object, key = A3_PRIVATE) =>
      String(key.export({ format: "pem", ...options } as never));
    const cases: [string, RegExp][] = [
      [pem({ type: "sec1" }), /it is EC PRIVATE KEY: openssl pkcs8 -topk8/],
      [pem({ type: "pkcs8", cipher: "aes-256-cbc", passphrase: "x" }), /it is ENCRYPTED PRIVATE/],
      [pem({ type: "spki" }, createPublicKey(A3_PRIVATE)), /it is PUBLIC KEY/],
      ["secret-text", /it is no PEM/], ["", /it is no PEM/]];
    for (const [given, why] of cases) {
      await assert.rejects(importPem(given, "ES256"), ({ name, message }: Error) => {
        assert.equal(name, "TypeError");
        assert.match(message, why);
        assert.ok(!message.includes(given.slice(40, 60) || given || "nothing was given"));
        return true;
      });
    }
    await assert.rejects(importPem(pem({ type: "pkcs8" }), "HS256"), /^AuthorizationError: alg is/);
  });
});

// RFC 9449, figures 2 and 13.
const HEAD = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHg" +
  "tMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10N" +
  "nY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19";
const FIGURE_2 = `${HEAD}.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8` +
  "vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiM" +
  "LvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";
const FIGURE_13 = `${HEAD}.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly` +
  "9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8y" +
  "cjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1pl" +
  "emAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
const FIGURE_TOKEN = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
const FIGURE_KEY = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

const TOKEN = "mF_9.B5f-4.1JqM";
const athOf = async (token: string) =>
  b64(new Uint8Array(await crypto.subtle.digest("SHA-256", Buffer.from(token))));
const checkOf = (more: Partial<ProofCheck> = {}): ProofCheck => ({ method: "POST", url: SERVER,
  now: () => NOW * 1000, first: firstTime({ now: () => NOW * 1000 }), ...more });
/** A proof as a program makes it, but for what is said. */
const proofOf = (claims: Json = {}, header: Json = {}, key = A3_PRIVATE) =>
  signed(b64({ typ: "dpop+jwt", alg: "ES256", jwk: A3, ...header }),
    b64({ jti: "1", htm: "POST", htu: SERVER, iat: NOW, ...claims }), key);
/** "taken", or the code and why not. */
const judged = (proof: string | null, more: Partial<ProofCheck> = {}): Promise<string> =>
  verifyProof(proof, checkOf(more)).then(() => "taken", (error: Error) => {
    assert.ok(error instanceof AuthorizationError, String(error));
    return `${error.code}: ${error.message}`;
  });

describe("Proofs of a key", () => {
  test("the thumbprints of the RFCs are found (RFC 7638 §3.1, RFC 8037 A.3)", async () => {
    const rsa = { kty: "RSA", e: "AQAB", alg: "RS256", kid: "2011-04-29", n: "0vx7agoebGcQSuuPiLJ" +
      "XZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3o" +
      "knjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs" +
      "8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3X" +
      "PksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw" };
    assert.equal(await thumbprint(rsa), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    assert.equal(await thumbprint(ED), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    for (const key of [{}, { kty: "oct", k: "AA" }, { ...A3, y: undefined }, { ...A3, x: 1 },
      { ...A3, d: "AA" }, { kty: "EC" }, { kty: "constructor" }]) {
      await assert.rejects(thumbprint(key), { code: "invalid_dpop_proof" });
    }
  });
  test("the proofs of the RFC verify, for what they are for (RFC 9449 §4.1, §7.1)", async () => {
    const at = (seconds: number) => ({ now: () => seconds * 1000 });
    const first = () => true;
    assert.equal(await verifyProof(FIGURE_2, { method: "POST", first, ...at(1562262616),
      url: "https://server.example.com/token" }), FIGURE_KEY);
    const there = { method: "GET", url: "https://resource.example.org/protectedresource",
      token: FIGURE_TOKEN, key: FIGURE_KEY, first, ...at(1562262618) };
    assert.equal(await verifyProof(FIGURE_13, there), FIGURE_KEY);
    await assert.rejects(verifyProof(FIGURE_13, { ...there, token: TOKEN }), /ath must/);
    await assert.rejects(verifyProof(FIGURE_2, { ...there, method: "POST" }), /htu must/);
    await assert.rejects(verifyProof(FIGURE_13, { ...there, ...at(1562262739) }), /iat must/);
  });
  test("one defect of each kind is enough to refuse a proof (RFC 9449 §4.3)", async () => {
    const bad = "invalid_dpop_proof: ";
    const thief = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const none = `${b64({ typ: "dpop+jwt", alg: "none", jwk: A3 })}.${proofOf().split(".")[1]}.`;
    const head = b64({ typ: "dpop+jwt", alg: "HS256", jwk: A3 });
    const mac = createHmac("sha256", JSON.stringify(A3)).update(`${head}.${b64({})}`).digest();
    const cases: [string | null, string][] = [
      [proofOf(), "taken"], [null, `${bad}the header DPoP must hold one proof`],
      ["", `${bad}the header DPoP must hold one proof`],
      [`${proofOf()}, ${proofOf({ jti: "2" })}`, `${bad}the header DPoP must hold one proof`],
      [proofOf({}, { typ: "JWT" }), `${bad}typ must be dpop+jwt`],
      [proofOf({}, { typ: undefined }), `${bad}typ must be dpop+jwt`],
      [proofOf({}, { crit: ["x"] }), `${bad}crit names what is not understood here`],
      [none, `${bad}it must be signed with the key that it shows`],
      [`${head}.${b64({ jti: "1", htm: "POST", htu: SERVER, iat: NOW })}.${b64(mac)}`,
        `${bad}it must be signed with the key that it shows`],
      [proofOf({}, {}, thief), `${bad}it must be signed with the key that it shows`],
      [proofOf({}, { jwk: publicOf(thief) }), `${bad}it must be signed with the key that it shows`],
      [proofOf({}, { jwk: undefined }), `${bad}jwk must be a public key`],
      ...[A3_PRIVATE.export({ format: "jwk" }), { kty: "oct", k: "AAAA" }, "A3", null].map((jwk) =>
        [proofOf({}, { jwk }), `${bad}jwk must be a public key`] as [string, string]),
      [proofOf({ htm: "GET" }), `${bad}htm must be POST`],
      [proofOf({ htm: "post" }), `${bad}htm must be POST`],
      ...["https://mcp.example.com/other", "https://evil.example/mcp", "http://mcp.example.com/mcp",
        "https://mcp.example.com:8443/mcp", "/mcp", "", undefined, [SERVER]].map((htu) =>
        [proofOf({ htu }), `${bad}htu must be ${SERVER}`] as [string, string]),
      ...[NOW - 121, NOW + 121, `${NOW}`, undefined, null].map((iat) =>
        [proofOf({ iat }), `${bad}iat must be about now`] as [string, string]),
      ...["", undefined, 1, "x".repeat(257)].map((jti) =>
        [proofOf({ jti }), `${bad}jti must be there, and be new`] as [string, string]),
    ];
    for (const [proof, expected] of cases) assert.equal(await judged(proof), expected, proof ?? "");
    const token = TOKEN;
    assert.equal(await judged(proofOf({ ath: await athOf(TOKEN) }), { token }), "taken");
    for (const ath of [undefined, "", await athOf("another")]) {
      assert.equal(await judged(proofOf({ ath }), { token }), `${bad}ath must be the token's hash`);
    }
    assert.equal(await judged(proofOf(), { key: FIGURE_KEY }),
      "invalid_token: the token is not for this key");
  });
  test("a URL is the same with a query, a fragment, a default port or capitals in its host " +
    "(RFC 9449 §4.3)", async () => {
    for (const htu of [`${SERVER}?a=1`, `${SERVER}#x`, "https://MCP.example.com:443/mcp",
      "HTTPS://mcp.example.com/x/../mcp"]) {
      assert.equal(await judged(proofOf({ htu })), "taken", htu);
    }
    assert.equal(await judged(proofOf(), { url: `${SERVER}?session=1` }), "taken");
  });
  test("a proof is good once, for each key; one that is refused uses nothing up " +
    "(RFC 9449 §11.1)", async () => {
    const first = firstTime({ now: () => NOW * 1000 });
    assert.match(await judged(proofOf({ htm: "GET" }), { first }), /^invalid/);
    assert.match(await judged(proofOf(), { first, key: FIGURE_KEY }), /^invalid_token/);
    assert.equal(await judged(proofOf(), { first }), "taken");
    assert.match(await judged(proofOf(), { first }), /jti must be there, and be new$/);
    assert.match(await judged(proofOf({ iat: NOW + 1 }), { first }), /be new$/);
    const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    assert.equal(await judged(proofOf({}, { jwk: publicOf(other) }, other), { first }), "taken");
  });
  test("what was seen is remembered for its time, and never more than so much (RFC 9449 §11.1)",
    () => {
    let now = 0;
    const first = firstTime({ now: () => now, forMs: 100, most: 3 });
    assert.deepEqual(["a", "b", "a", "c", "a"].map(first), [true, true, false, true, false]);
    assert.equal(first("d"), true, "the oldest goes");
    assert.deepEqual(["b", "c", "d"].map(first), [false, false, false], "and only that");
    assert.equal(first("a"), true);
    now = 100;
    assert.equal(first("d"), true);
  });
  test("a nonce is asked for, and is good until the next but one (RFC 9449 §8)", async () => {
    let now = 0;
    const nonces = changingNonces({ now: () => now, everyMs: 100 });
    const one = nonces.current();
    for (const nonce of [undefined, "", "x", one.slice(1), [one], null]) {
      assert.match(await judged(proofOf({ nonce }), { nonces }), /^use_dpop_nonce: /);
    }
    assert.equal(await judged(proofOf({ nonce: one }), { nonces }), "taken");
    now = 100;
    const two = nonces.current();
    assert.notEqual(two, one);
    assert.deepEqual([one, two].map(nonces.has), [true, true]);
    now = 200;
    const three = nonces.current();
    assert.deepEqual([one, two].map(nonces.has), [false, true]);
    now = 400;
    assert.deepEqual([three, ""].map(nonces.has), [false, false], "silence: none is left");
  });
  test("a proof shows the public key and no more, and says what the request is (RFC 9449 §4.2)",
    async () => {
    const key = await dpopKey();
    await assert.rejects(crypto.subtle.exportKey("jwk", key.privateKey), "it cannot be taken out");
    const proof = await dpopProof({ key, method: "POST", url: `${SERVER}?a=1#b`, nonce: "n",
      token: TOKEN, now: NOW * 1000 + 999 });
    const [head = "", body = ""] = proof.split(".");
    const { jwk, ...header } = JSON.parse(Buffer.from(head, "base64url").toString());
    assert.deepEqual(header, { typ: "dpop+jwt", alg: "ES256" });
    assert.deepEqual(Object.keys(jwk).sort(), ["crv", "kty", "x", "y"]);
    const { jti, ...claims } = JSON.parse(Buffer.from(body, "base64url").toString());
    assert.match(jti, /^[\da-f-]{36}$/);
    assert.deepEqual(claims, { htm: "POST", htu: SERVER, iat: NOW, nonce: "n",
      ath: await athOf(TOKEN) });
  });
});

describe("A fetch that proves its key", () => {
  interface Sent { url: string; method: string; proof: Json | undefined; body: string }
  /** What was sent through dpopFetch to a server that answers by script. */
  function scripted(answer: (sent: Sent, n: number) => Response) {
    const sent: Sent[] = [];
    const inner = async (input: string | URL | Request, init: RequestInit = {}) => {
      const whole = new Request(input, init);
      const proof = whole.headers.get("dpop");
      const one = { url: whole.url, method: whole.method, body: await whole.text(),
        proof: proof === null ? undefined : readJwt(proof).claims };
      sent.push(one);
      return answer(one, sent.length);
    };
    return { sent, reach: dpopFetch(inner as typeof fetch, { now: () => NOW * 1000 }) };
  }
  const withToken = { method: "POST", body: "{}", headers: { Authorization: `DPoP ${TOKEN}` } };
  const grant = { method: "POST", body: "grant_type=refresh_token",
    headers: { "Content-Type": "application/x-www-form-urlencoded" } };
  test("it adds a proof where a DPoP token or a grant goes, and nowhere else (RFC 9449 §5, §7)",
    async () => {
    const { sent, reach } = scripted(() => new Response("ok"));
    await reach(`${ISSUER}/.well-known/oauth-authorization-server`);
    await reach(SERVER, { ...withToken, headers: { Authorization: `Bearer ${TOKEN}` } });
    await reach(SERVER, { method: "POST", body: '{"grant_type=":1}' });
    assert.deepEqual(sent.map(({ proof }) => proof), [undefined, undefined, undefined]);
    await reach(`${ISSUER}/token`, grant);
    await reach(new URL(SERVER), withToken);
    await reach(new Request(SERVER, withToken));
    const [token, one, two] = sent.slice(3).map(({ proof }) => proof ?? assert.fail());
    assert.equal(token?.htu, `${ISSUER}/token`);
    assert.equal(token?.ath, undefined);
    const ath = await athOf(TOKEN);
    assert.deepEqual([one?.ath, two?.ath, two?.htm], [ath, ath, "POST"]);
    assert.equal(new Set([token?.jti, one?.jti, two?.jti]).size, 3, "each proof is new");
    assert.equal(sent.at(-1)?.body, "{}");
  });
  test("it sends the request again with the nonce that is asked for, and keeps it for that origin" +
    " (RFC 9449 §8, §9)", async () => {
    const { sent, reach } = scripted(({ url, proof }) => {
      const [wanted, ask] = url === SERVER
        ? ["s", new Response("", { status: 401, headers: { "DPoP-Nonce": "s",
          "WWW-Authenticate": 'DPoP error="use_dpop_nonce"' } })]
        : ["t", Response.json({ error: "use_dpop_nonce" },
          { status: 400, headers: { "DPoP-Nonce": "t" } })];
      return proof?.nonce === wanted ? new Response("ok") : ask;
    });
    assert.equal((await reach(`${ISSUER}/token`, grant)).status, 200);
    assert.equal((await reach(new Request(SERVER, withToken))).status, 200);
    assert.equal((await reach(SERVER, withToken)).status, 200);
    assert.equal((await reach(`${ISSUER}/token`, grant)).status, 200);
    assert.deepEqual(sent.map(({ proof }) => proof?.nonce),
      [undefined, "t", undefined, "s", "s", "t"]);
    assert.deepEqual(sent.slice(2, 5).map(({ body }) => body), ["{}", "{}", "{}"]);
  });
  test("a nonce on any answer is the next one; one that is refused is not sent twice " +
    "(RFC 9449 §8.2)", async () => {
    const { sent, reach } = scripted((_, n) => n < 3
      ? new Response("ok", { headers: { "DPoP-Nonce": `n${n}` } })
      : new Response("", { status: 401, headers: { "DPoP-Nonce": "n2",
        "WWW-Authenticate": 'DPoP error="use_dpop_nonce"' } }));
    await reach(SERVER, withToken);
    await reach(SERVER, withToken);
    assert.equal((await reach(SERVER, withToken)).status, 401);
    assert.deepEqual(sent.map(({ proof }) => proof?.nonce), [undefined, "n1", "n2"]);
    const without = scripted(() => new Response("", { status: 401,
      headers: { "WWW-Authenticate": 'DPoP error="use_dpop_nonce"' } }));
    assert.equal((await without.reach(SERVER, withToken)).status, 401);
    assert.equal(without.sent.length, 1, "none was given");
  });
});

describe("A server that wants proofs", () => {
  /** A protected server, and a token of it for a key. */
  async function protectedApp(nonces?: ReturnType<typeof changingNonces>) {
    const now = () => NOW * 1000;
    const key = await dpopKey();
    const jkt = await thumbprint(await crypto.subtle.exportKey("jwk", key.publicKey));
    const guard = protect({ resource: SERVER, authorizationServers: [ISSUER], now,
      scopes: ["files:read"], scopesFor: ({ params }) => params?.name === "write" ? ["files:write"]
        : [], verify: jwtVerifier({ issuer: ISSUER, keys: async () => A3, now }) });
    const handler = () => text("hi");
    const app = server({ name: "t", version: "1", tools: [{ name: "hi", handler },
      { name: "write", handler }], http: { guard: dpopGuard(guard, { url: SERVER, now,
      ...(nonces && { nonces }) }) } });
    const asked: Headers[] = [];
    const direct = async (input: string | URL | Request, init: RequestInit = {}) => {
      asked.push(new Headers(init.headers));
      return app.fetch(new Request(input, init));
    };
    const post = (token: string, name = "hi") => ({ method: "POST",
      headers: { ...headersFor("tools/call", name), authorization: token },
      body: JSON.stringify(request("tools/call", { name, arguments: {} })) });
    const says = async (response: Promise<Response>) => {
      const { status, headers } = await response;
      const challenge = headers.get("www-authenticate");
      const [, error = ""] = /error="(\w+)"/.exec(challenge ?? "") ?? [];
      const whole = /^DPoP .*resource_metadata="https:.*algs="ES256 /;
      assert.ok(challenge === null || whole.test(challenge), `${challenge}`);
      return `${status} ${error}`.trim();
    };
    return { app, key, asked, direct: direct as typeof fetch, post, says,
      token: tokenOf({ cnf: { jkt } }), now };
  }
  test("it takes a token with a proof of its key (RFC 9449 §7.1)", async () => {
    const { direct, key, post, says, token, now, app } = await protectedApp();
    const reach = dpopFetch(direct, { key: Promise.resolve(key), now });
    assert.equal(await says(reach(SERVER, post(`DPoP ${token}`))), "200");
    assert.equal(await says(reach(SERVER, post(`dpop ${token}`))), "200");
    const more = reach(SERVER, post(`DPoP ${token}`, "write"));
    assert.equal(await says(more), "403 insufficient_scope");
    const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
    assert.equal((await app.fetch(new Request(metadata))).status, 200, "open to anybody");
  });
  test("a stolen token opens nothing: as Bearer, without a proof, with another key, with a proof " +
    "that was seen before (RFC 9449 §7.2, §11.1)", async () => {
    const { direct, key, asked, post, says, token, now } = await protectedApp();
    assert.equal(await says(direct(SERVER, post(`Bearer ${token}`))), "401");
    assert.equal(await says(direct(SERVER, post(`DPoP ${token}`))), "401 invalid_dpop_proof");
    const thief = dpopFetch(direct, { now });
    assert.equal(await says(thief(SERVER, post(`DPoP ${token}`))), "401 invalid_token");
    assert.equal(await says(dpopFetch(direct, { key: Promise.resolve(key), now })(SERVER,
      post(`DPoP ${token}`))), "200");
    const { headers, ...rest } = post(`DPoP ${token}`);
    const replayed = { ...rest, headers: { ...headers, DPoP: asked.at(-1)?.get("dpop") ?? "" } };
    assert.equal(await says(direct(SERVER, replayed)), "401 invalid_dpop_proof");
  });
  test("a token that is for no key, or not genuine, is refused whatever the proof (RFC 9449 §6)",
    async () => {
    const { direct, key, post, says, now } = await protectedApp();
    const reach = dpopFetch(direct, { key: Promise.resolve(key), now });
    for (const cnf of [undefined, null, {}, { jkt: null }, { jkt: ["x"] }]) {
      const said = says(reach(SERVER, post(`DPoP ${tokenOf({ cnf })}`)));
      assert.equal(await said, "401 invalid_token");
    }
    assert.equal(await says(reach(SERVER, post("DPoP a.b.c"))), "401 invalid_token");
    assert.equal(await says(reach(SERVER, post("DPoP"))), "401");
  });
  test("with nonces, a client is told the nonce once and then uses it (RFC 9449 §9)", async () => {
    const nonces = changingNonces({ now: () => NOW * 1000 });
    const { direct, key, asked, post, says, token, now } = await protectedApp(nonces);
    const reach = dpopFetch(direct, { key: Promise.resolve(key), now });
    for (const expected of [2, 3, 4]) {
      assert.equal(await says(reach(SERVER, post(`DPoP ${token}`))), "200");
      assert.equal(asked.length, expected, "requests so far");
    }
  });
});
