// You will learn: tokens that are worth nothing to a thief (DPoP, RFC 9449). The program makes a
// key, and proves with each request that it holds it. That is a fetch around a fetch:
//   open(url, { fetch: dpopFetch(fetch), authorize: { grant, tokenTypes: ["dpop", "bearer"] } })
// and on the other side a guard around a guard:
//   server({ .., http: { guard: dpopGuard(protect({ verify: jwtVerifier(..), .. }), { url }) } })
//
//   → POST /mcp HTTP/1.1
//     Authorization: DPoP mF_9
//     DPoP: eyJ0eXAiOiJkcG9wK2p3dCIs… (method, URL, time, the token's hash)
import type { webcrypto } from "node:crypto"; // types alone; what runs is the web's crypto
import { AuthorizationError, base64url, challengeOf, formatChallenge, isObject, parseChallenges,
  type Guard, type HttpReply, type HttpRequest } from "../../mcp-raw.ts";
import { readJwt, signJwt, verifySignature, type JwtAccess, type KeyedJwk } from "./jwt.ts";

// What makes a key the key that it is, in this order (RFC 7638 §3.2, RFC 8037 §2).
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["EC", ["crv", "kty", "x", "y"]], ["OKP", ["crv", "kty", "x"]], ["RSA", ["e", "kty", "n"]]]);
/** A public key without all else that was said of it. Throws AuthorizationError. */
function bareKey(jwk: unknown): KeyedJwk {
  const given: Record<string, unknown> = isObject(jwk) ? jwk : {};
  const names = MEMBERS.get(given.kty) ?? [];
  const whole = names.length > 0 && names.every((name) => typeof given[name] === "string");
  // MUST: no private key, which only a program that is lost would show (RFC 9449 §4.3)
  if (whole && given.d === undefined && given.k === undefined) {
    return Object.fromEntries(names.map((name) => [name, given[name]]));
  }
  throw new AuthorizationError("invalid_dpop_proof", "jwk must be a public key");
}
/** The name of a key that follows from the key itself (RFC 7638). */
export const thumbprint = async (jwk: object): Promise<string> =>
  challengeOf(JSON.stringify(bareKey(jwk)));

// ---- The program ------------------------------------------------------------

export interface ProofOptions { key: webcrypto.CryptoKeyPair; method: string; url: string;
  now: number; nonce?: string | undefined; token?: string | undefined }
/** A URL without query and fragment (RFC 9449 §4.2). */
const placeOf = (url: string) => new URL(url).origin + new URL(url).pathname;
/** One proof, for one request. */
export async function dpopProof({ key, method, url, now, nonce, token }: ProofOptions):
  Promise<string> {
  const jwk = bareKey(await crypto.subtle.exportKey("jwk", key.publicKey));
  return signJwt({ jti: crypto.randomUUID(), htm: method, htu: placeOf(url),
    iat: Math.floor(now / 1000), ...(nonce !== undefined && { nonce }),
    ...(token !== undefined && { ath: await challengeOf(token) }) }, key.privateKey, "ES256",
  { typ: "dpop+jwt", jwk });
}
/** A new key, which cannot be taken out of the program; its tokens end with it. */
export const dpopKey = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);

export interface DpopOptions { key?: Promise<webcrypto.CryptoKeyPair>; now?: () => number }
/** Proves the key to token endpoints and to servers that a DPoP token is sent to. */
export function dpopFetch(inner: typeof fetch, { key, now = Date.now }: DpopOptions = {}):
  typeof fetch {
  let own = key;
  const nonces = new Map<string, string>(); // origin -> what it wants in the next proof
  return async (input, init = {}) => {
    const request = input instanceof Request ? input : undefined;
    const url = request?.url ?? String(input);
    const { origin } = new URL(url);
    const headers = new Headers(init.headers ?? request?.headers);
    const [, token] = /^DPoP (.+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    const asks = String(init.body).includes("grant_type=") &&
      headers.get("content-type") === "application/x-www-form-urlencoded";
    if (token === undefined && !asks) return inner(input, init);
    let used: string | undefined;
    const send = async (): Promise<Response> => {
      used = nonces.get(origin);
      headers.set("DPoP", await dpopProof({ key: await (own ??= dpopKey()), url, now: now(),
        method: init.method ?? request?.method ?? "GET", nonce: used, token }));
      const response = await inner(request?.clone() ?? input, { ...init, headers });
      const nonce = response.headers.get("dpop-nonce");
      if (nonce !== null) nonces.set(origin, nonce);
      return response;
    };
    const response = await send();
    const wanted = response.status === 400 ? await response.clone().text()
      : JSON.stringify(parseChallenges(response.headers.get("www-authenticate") ?? ""));
    // A nonce that was refused once is not sent again.
    const again = wanted.includes('"use_dpop_nonce"') && nonces.get(origin) !== used;
    if (again) await response.body?.cancel();
    return again ? send() : response;
  };
}

// ---- The server -------------------------------------------------------------

/** Whether something is seen for the first time; it forgets after so long, or beyond so many. */
export function firstTime({ now = Date.now, forMs = 300_000, most = 100_000 } = {}):
  (name: string) => boolean {
  const seen = new Map<string, number>(); // the oldest first
  return (name) => {
    if ((seen.get(name) ?? -Infinity) + forMs > now()) return false;
    seen.delete(name); // it is the youngest again
    for (const [one, at] of seen) {
      if (at + forMs > now() && seen.size < most) break;
      seen.delete(one);
    }
    seen.set(name, now());
    return true;
  };
}
export interface Nonces { current(): string; has(nonce: unknown): boolean }
/** Nonces that change: the newest two are good, so that a request on its way is not lost. */
export function changingNonces({ now = Date.now, everyMs = 300_000 } = {}): Nonces {
  let [newest, older, made] = ["", "", -Infinity];
  const current = () => {
    const age = now() - made;
    if (age < everyMs) return newest;
    older = age < 2 * everyMs ? newest : "";
    [newest, made] = [base64url(crypto.getRandomValues(new Uint8Array(16))), now()];
    return newest;
  };
  return { current, has: (nonce) => nonce === current() || nonce === older && nonce !== "" };
}

export interface ProofCheck {
  method: string;
  /** As programs know it; a query and a fragment do not count. */
  url: string;
  /** The access token that it came with; at a token endpoint there is none yet. */
  token?: string;
  /** The thumbprint of the key that the token is for. */
  key?: string;
  now?: () => number;
  /** Milliseconds that a proof may be old, or too new; 120,000. */
  windowMs?: number;
  /** Whether a proof is new: firstTime(), with twice that window. */
  first(name: string): boolean;
  /** Wanted in each proof, when given. */
  nonces?: Nonces;
}
function readProof(proof: string | null): ReturnType<typeof readJwt> {
  try {
    return readJwt(proof ?? ""); // two headers come as one, with a comma, and are none
  } catch {
    throw new AuthorizationError("invalid_dpop_proof", "the header DPoP must hold one proof");
  }
}
/** Verifies a proof; gives the thumbprint of its key. Throws AuthorizationError (RFC 9449 §4.3). */
export async function verifyProof(proof: string | null, check: ProofCheck): Promise<string> {
  const { method, url, token, key, now = Date.now, windowMs = 120_000, nonces } = check;
  const must = (fine: boolean, why: string, code = "invalid_dpop_proof") => {
    if (!fine) throw new AuthorizationError(code, why);
  };
  const { header, claims } = readProof(proof);
  must(header.typ === "dpop+jwt", "typ must be dpop+jwt");
  must(header.crit === undefined, "crit names what is not understood here");
  const { htm, htu, iat, jti, nonce, ath } = claims;
  must(htm === method, `htm must be ${method}`);
  must(typeof htu === "string" && URL.canParse(htu) && placeOf(htu) === placeOf(url),
    `htu must be ${placeOf(url)}`);
  must(token === undefined || ath === await challengeOf(token), "ath must be the token's hash");
  const jwk = bareKey(header.jwk);
  must(await verifySignature(proof ?? "", jwk, header.alg).catch(() => false),
    "it must be signed with the key that it shows");
  const name = await thumbprint(jwk);
  must(key === undefined || key === name, "the token is not for this key", "invalid_token");
  must(nonces?.has(nonce) !== false, "the proof must hold the nonce that is given",
    "use_dpop_nonce");
  must(typeof iat === "number" && Math.abs(now() - iat * 1000) <= windowMs,
    "iat must be about now");
  must(typeof jti === "string" && jti !== "" && jti.length <= 256 && check.first(`${name} ${jti}`),
    "jti must be there, and be new"); // last: what is refused is not remembered
  return name;
}

export interface DpopGuardOptions extends
  Pick<ProofCheck, "url" | "now" | "windowMs" | "nonces">, Partial<Pick<ProofCheck, "first">> {}
/** A guard that takes the tokens of the one inside only with a proof of the key they are for. */
export function dpopGuard(guard: Guard, options: DpopGuardOptions): Guard {
  const { now = Date.now, windowMs = 120_000, nonces } = options;
  const { first = firstTime({ now, forMs: 2 * windowMs }) } = options;
  /** What the guard inside says, in the words of DPoP. */
  const challenge = (reply: HttpReply, error?: AuthorizationError): HttpReply => {
    const { "WWW-Authenticate": said = "", ...headers } = reply.headers;
    const [{ parameters } = { parameters: {} }] = parseChallenges(said);
    const why = error && { error: error.code, error_description: error.message };
    return { ...reply, headers: { ...headers,
      ...(error?.code === "use_dpop_nonce" && nonces && { "DPoP-Nonce": nonces.current() }),
      "WWW-Authenticate": formatChallenge("DPoP",
        { ...parameters, ...why, algs: "ES256 EdDSA RS256" }) } };
  };
  /** The same request with a token of the kind that the guard inside knows. */
  const withToken = (http: HttpRequest, token: string | undefined): HttpRequest =>
    Object.create(http, { header: { value: (name: string) => name !== "authorization"
      ? http.header(name) : token === undefined ? null : `Bearer ${token}` } });
  const { permit } = guard;
  return { ...guard,
    async admit(http) {
      // MUST: such a token is not taken as Bearer, or proofs could be left out (RFC 9449 §7.2)
      const [, token = ""] = /^DPoP +(\S+)$/i.exec(http.header("authorization") ?? "") ?? [];
      const access = await guard.admit(withToken(http, token === "" ? undefined : token));
      if ("status" in access) return challenge(access);
      try {
        const { cnf } = (access as JwtAccess).claims; // as jwtVerifier() gives them
        const key = isObject(cnf) ? String(cnf.jkt) : "none";
        await verifyProof(http.header("dpop"),
          { ...options, now, windowMs, first, method: http.method, token, key });
        return access;
      } catch (error) {
        const nobody = await guard.admit(withToken(http, undefined)); // says where to ask
        if (!(error instanceof AuthorizationError && "status" in nobody)) throw error;
        return challenge(nobody, error);
      }
    },
    ...(permit && { permit: (value: unknown, http: HttpRequest) => {
      const reply = permit(value, http);
      return reply && challenge(reply);
    } }) };
}
