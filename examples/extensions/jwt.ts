// You will learn: JSON Web Tokens with the platform's own cryptography: to sign one (as a client's
// assertion, as proof of a key) and to verify one (as the token that a protected server gets).
//
//   eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJtZSJ9.DtEhU3lj…  =  {"alg":"ES256"} . {"sub":"me"} . signature
import type { webcrypto } from "node:crypto"; // types alone; what runs is the web's crypto
import { AuthorizationError, base64url, fetchHere, isObject, readText, trustedUrl, type Access }
  from "../../mcp-raw.ts";

export type Claims = Record<string, unknown>;
export interface KeyedJwk extends webcrypto.JsonWebKey { kid?: string; alg?: string; use?: string }

// ---- Signing ----------------------------------------------------------------

interface Method { import: { name: string; namedCurve?: string; hash?: string };
  sign: { name: string; hash?: string } }
const ED25519: Method = { import: { name: "Ed25519" }, sign: { name: "Ed25519" } };
// What is not here is refused; "none" and shared secrets never are (RFC 8725 §3.1).
const METHODS: ReadonlyMap<unknown, Method> = new Map<unknown, Method>([
  ["ES256", { import: { name: "ECDSA", namedCurve: "P-256" },
    sign: { name: "ECDSA", hash: "SHA-256" } }],
  ["RS256", { import: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    sign: { name: "RSASSA-PKCS1-v1_5" } }],
  ["EdDSA", ED25519], ["Ed25519", ED25519], // the old name and the new one (RFC 9864)
]);
const invalid = (why: string) => new AuthorizationError("invalid_token", why);
function methodOf(alg: unknown): Method {
  const found = METHODS.get(alg);
  if (found !== undefined) return found;
  throw invalid(`alg is ${JSON.stringify(alg)}: only ${[...METHODS.keys()].join(", ")} are taken`);
}
const bytesOf = (text: string) => new TextEncoder().encode(text);
const fromBase64 = (text: string) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
const part = (value: object) => base64url(bytesOf(JSON.stringify(value)));

/** A private key in PEM. Throws TypeError unless it is PKCS #8, and not encrypted. */
export async function importPem(pem: string, alg: string): Promise<CryptoKey> {
  const [, label = "no PEM", body = ""] =
    /-----BEGIN ([A-Z ]+)-----([\w+/=\s]*)-----END \1-----/.exec(pem) ?? [];
  if (label !== "PRIVATE KEY") throw new TypeError(`The key must begin with BEGIN PRIVATE KEY, ` +
    `and it is ${label}: openssl pkcs8 -topk8 -nocrypt -in key.pem makes one of it`);
  return crypto.subtle.importKey("pkcs8", fromBase64(body), methodOf(alg).import, false, ["sign"]);
}
/** {"sub":"me"} -> "eyJhbGci…": three parts in base64url, the last a signature over the others. */
export async function signJwt(claims: Claims, key: CryptoKey, alg: string, header: object = {}):
  Promise<string> {
  const signed = `${part({ ...header, alg })}.${part(claims)}`;
  const signature = await crypto.subtle.sign(methodOf(alg).sign, key, bytesOf(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

// ---- Verifying --------------------------------------------------------------

/** base64url, in the one spelling that a value has: else two tokens would be the same one. */
function fromBase64url(text: string): Uint8Array<ArrayBuffer> {
  const bytes = fromBase64(text.replace(/[-_]/g, (char) => char === "-" ? "+" : "/"));
  if (base64url(bytes) !== text) throw new SyntaxError("not the usual spelling");
  return bytes;
}
/** What a token holds; whether it is true is yet to be seen. Throws AuthorizationError. */
export function readJwt(token: string): { header: Claims; claims: Claims } {
  try {
    const parts = token.split(".").map(fromBase64url);
    const utf8 = new TextDecoder("utf-8", { fatal: true });
    const [header, claims] = parts.slice(0, 2).map((one): unknown => JSON.parse(utf8.decode(one)));
    if (parts.length === 3 && isObject(header) && isObject(claims)) return { header, claims };
  } catch {
    // said below
  }
  throw invalid("this is no JSON Web Token");
}
/** Verifies the signature alone, with a key that is fit for the named algorithm. */
export async function verifySignature(token: string, jwk: KeyedJwk, alg: unknown):
  Promise<boolean> {
  const { alg: meant = alg, use = "sig", ...material } = jwk;
  const method = methodOf(alg);
  if (METHODS.get(meant) !== method || use !== "sig") return false;
  const key = await crypto.subtle.importKey("jwk", material, method.import, false, ["verify"]);
  const { modulusLength = 2048 } = key.algorithm as { modulusLength?: number }; // RSA has one
  const [head = "", body = "", signature = ""] = token.split(".");
  return modulusLength >= 2048 && // MUST: or it can be broken (RFC 7518 §3.3)
    crypto.subtle.verify(method.sign, key, fromBase64url(signature), bytesOf(`${head}.${body}`));
}

/** Gives the key of that name; rejects when it cannot find out. */
export type KeySource = (kid: unknown) => Promise<KeyedJwk | undefined>;
export interface RemoteKeysOptions {
  fetch?: typeof fetch;
  now?: () => number;
  /** Milliseconds that keys are believed in; one that was withdrawn is good that long. 600,000. */
  maxAgeMs?: number;
  /** Milliseconds until an unknown name is a reason to ask again: anybody invents one. 30,000. */
  pauseMs?: number;
}
/** The keys of an issuer, from its jwks_uri: fetched when needed, once for all who wait. */
export function remoteKeys(url: string, options: RemoteKeysOptions = {}): KeySource {
  const { fetch: inner = fetch, now = Date.now, maxAgeMs = 600_000, pauseMs = 30_000 } = options;
  trustedUrl(url, "jwks_uri"); // who changes the keys on their way is every user
  let keys: KeyedJwk[] = [];
  let fetched = -Infinity;
  let fetching: Promise<void> | undefined;
  const find = (kid: unknown) => kid === undefined && keys.length === 1 ? keys[0]
    : keys.find((one) => kid !== undefined && one.kid === kid);
  const load = async () => {
    const response = await fetchHere(inner, url, { headers: { Accept: "application/json" },
      signal: AbortSignal.timeout(10_000) });
    const text = await readText(response.body, 256 * 1024);
    const document: unknown = response.ok ? JSON.parse(text ?? "null") : undefined;
    if (!isObject(document) || !Array.isArray(document.keys)) {
      throw new Error(`HTTP ${response.status} without keys from ${url}`);
    }
    [keys, fetched] = [document.keys.filter(isObject), now()];
  };
  return async (kid) => {
    const age = now() - fetched;
    if (age > maxAgeMs || find(kid) === undefined && age > pauseMs) {
      await (fetching ??= load().finally(() => (fetching = undefined)));
    }
    return find(kid);
  };
}

export interface JwtOptions {
  issuer: string;
  keys: KeySource;
  /** Whom it must be for; when left out, look at aud yourself. */
  audience?: string;
  /** What kinds are taken, by typ in lower case; without one it is a "jwt". */
  types?: readonly string[];
  now?: () => number;
  /** Seconds that clocks may differ by; 30. */
  leeway?: number;
}
/** What is wrong with the claims. */
function claimsFault({ iss, aud, exp, nbf }: Claims, options: JwtOptions): string | undefined {
  const { issuer, audience, now = Date.now, leeway = 30 } = options;
  const seconds = now() / 1000;
  if (iss !== issuer) return `iss must be ${issuer}, and is ${JSON.stringify(iss)}`;
  const ours = audience === undefined || [aud].flat().includes(audience);
  if (!ours) return `aud must hold ${audience}, and is ${JSON.stringify(aud)}`;
  if (typeof exp !== "number") return "exp must say when it ends";
  if (exp + leeway <= seconds) return "it has expired";
  if (nbf === undefined) return undefined;
  return typeof nbf === "number" && nbf - leeway <= seconds ? undefined : "it is not good yet";
}
/** The claims of a genuine token. Throws AuthorizationError, or what `keys` throws. */
export async function verifyJwt(token: string, options: JwtOptions): Promise<Claims> {
  const { keys, types = ["at+jwt", "jwt"] } = options;
  const { header: { alg, kid, typ = "JWT", crit }, claims } = readJwt(token);
  methodOf(alg); // before anybody is asked for a key
  // MUST: what is critical is understood (RFC 7515 §4.1.11)
  if (crit !== undefined) throw invalid("crit names what is not understood here");
  // A proof or an ID token of the same issuer is no access token (RFC 8725 §3.11).
  const type = String(typ).toLowerCase().replace(/^application\//, "");
  if (!types.includes(type)) throw invalid(`typ must be ${types.join(" or ")}, and is ${type}`);
  const key = await keys(kid);
  if (key === undefined) throw invalid(`there is no key with the kid ${JSON.stringify(kid)}`);
  const genuine = await verifySignature(token, key, alg).catch(() => false); // a key that is none
  if (!genuine) throw invalid("the signature is not by the key that it names");
  const fault = claimsFault(claims, options);
  if (fault !== undefined) throw invalid(fault);
  return claims;
}

/** What a protected server knows of whoever calls. */
export interface JwtAccess extends Access { claims: Claims }
export interface VerifierOptions extends Omit<JwtOptions, "audience"> {
  /** Gets why a token is refused: its sender is told no more than that it is. */
  refused?: (why: AuthorizationError) => void;
}
/** For protect({ verify }): takes the access tokens of one issuer (RFC 9068). */
export function jwtVerifier(options: VerifierOptions):
  (token: string) => Promise<JwtAccess | undefined> {
  return async (token) => {
    try {
      const claims = await verifyJwt(token, options);
      const { iss, sub, aud, scope, exp } = claims;
      if (typeof sub !== "string") throw invalid("sub must say whose it is");
      return { id: `${iss} ${sub}`, claims, // whom it is for, protect() sees itself
        audience: [aud].flat().filter((one) => typeof one === "string"),
        scopes: typeof scope === "string" ? scope.split(" ") : [],
        expiresAt: (Number(exp) + (options.leeway ?? 30)) * 1000 };
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error; // the key server's, so not theirs
      options.refused?.(error);
      return undefined;
    }
  };
}
