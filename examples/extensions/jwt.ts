// You will learn: JSON Web Tokens with the platform's own cryptography: to sign one (as a client's
// assertion, as proof of a key) and to verify one (as the token that a protected server gets).
import type { webcrypto } from "node:crypto"; // types alone; what runs is the web's crypto
import { AuthorizationError, base64url, isObject, type Access, type ProtectOptions }
  from "../../mcp-raw.ts";

export type Claims = Record<string, unknown>;
type Algorithm = "ES256" | "RS256" | "EdDSA";
type JsonWebKey = webcrypto.JsonWebKey;
interface Method { import: { name: string; namedCurve?: string; hash?: string };
  sign: { name: string; hash?: string } }
// What is not here is refused; "none" and shared secrets never are (RFC 8725 §3.1).
const METHODS: Readonly<Record<Algorithm, Method>> = {
  ES256: { import: { name: "ECDSA", namedCurve: "P-256" },
    sign: { name: "ECDSA", hash: "SHA-256" } },
  RS256: { import: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" },
    sign: { name: "RSASSA-PKCS1-v1_5" } },
  EdDSA: { import: { name: "Ed25519" }, sign: { name: "Ed25519" } },
};
function methodOf(alg: unknown): Method {
  const found = new Map(Object.entries(METHODS)).get(String(alg));
  if (found === undefined) throw new AuthorizationError("invalid_token", `alg ${alg} is not taken`);
  return found;
}
const bytesOf = (text: string) => new TextEncoder().encode(text);
const fromBase64 = (text: string) => Uint8Array.from(
  atob(text.replace(/[-_]/g, (char) => char === "-" ? "+" : "/")), (char) => char.charCodeAt(0));
const part = (value: object) => base64url(bytesOf(JSON.stringify(value)));

/** A private key in PEM (PKCS #8). */
export function importPem(pem: string, alg: string): Promise<CryptoKey> {
  const der = fromBase64(pem.replace(/-----[^-]+-----|\s/g, ""));
  return crypto.subtle.importKey("pkcs8", der, methodOf(alg).import, false, ["sign"]);
}
/** {"sub":"me"} -> "eyJhbGci…": three parts in base64url, the last a signature over the others. */
export async function signJwt(claims: Claims, key: CryptoKey, alg: string, header: object = {}):
  Promise<string> {
  const signed = `${part({ alg, ...header })}.${part(claims)}`;
  const signature = await crypto.subtle.sign(methodOf(alg).sign, key, bytesOf(signed));
  return `${signed}.${base64url(new Uint8Array(signature))}`;
}

/** What a token holds; whether it is true is yet to be seen. */
export function readJwt(token: string): { header: Claims; claims: Claims } {
  try {
    const [header, claims] = token.split(".").slice(0, 2)
      .map((text): unknown => JSON.parse(new TextDecoder().decode(fromBase64(text))));
    if (isObject(header) && isObject(claims)) return { header, claims };
  } catch {
    // said below
  }
  throw new AuthorizationError("invalid_token", "this is no JSON Web Token");
}
/** Verifies the signature alone, with a key that is fit for the named algorithm. */
export async function verifySignature(token: string, jwk: JsonWebKey, alg: unknown):
  Promise<boolean> {
  const method = methodOf(alg);
  const key = await crypto.subtle.importKey("jwk", { ...jwk, key_ops: ["verify"] }, method.import,
    false, ["verify"]);
  const [head = "", body = "", signature = ""] = token.split(".");
  return crypto.subtle.verify(method.sign, key, fromBase64(signature), bytesOf(`${head}.${body}`));
}

export interface KeyedJwk extends webcrypto.JsonWebKey { kid?: string; alg?: string; use?: string }
/** The keys of an issuer, fetched when they are needed; an unknown one at most once a minute. */
export function remoteKeys(url: string, { fetch: inner = fetch, now = Date.now } = {}):
  (kid: unknown) => Promise<KeyedJwk | undefined> {
  let keys: KeyedJwk[] = [];
  let fetched = -Infinity;
  const find = (kid: unknown) => kid === undefined && keys.length === 1 ? keys[0]
    : keys.find((one) => one.kid === kid);
  return async (kid) => {
    if (find(kid) === undefined && now() - fetched > 60_000) {
      fetched = now();
      const response = await inner(url, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(`HTTP ${response.status} from ${url}`);
      ({ keys } = await response.json() as { keys: KeyedJwk[] });
    }
    return find(kid);
  };
}

export interface VerifierOptions {
  issuer: string;
  keys: (kid: unknown) => Promise<KeyedJwk | undefined>;
  now?: () => number;
  /** Seconds that clocks may differ by. */
  leeway?: number;
}
/** For protect({ verify }): takes the tokens of one issuer. Whom they are for, it checks itself. */
export const jwtVerifier = ({ issuer, keys, now = Date.now, leeway = 30 }: VerifierOptions):
  ProtectOptions["verify"] => async (token): Promise<Access | undefined> => {
  let read: ReturnType<typeof readJwt>;
  try {
    read = readJwt(token);
    methodOf(read.header.alg);
  } catch {
    return undefined; // the caller's fault; what the key server does wrong is ours
  }
  const { header, claims } = read;
  const key = await keys(header.kid);
  const fits = key !== undefined && (key.alg ?? header.alg) === header.alg && key.use !== "enc" &&
    header.crit === undefined;
  if (!fits || !await verifySignature(token, key, header.alg).catch(() => false)) return undefined;
  const { iss, sub, aud, scope, exp, nbf } = claims;
  const seconds = now() / 1000;
  const ripe = typeof exp === "number" && exp + leeway > seconds &&
    (nbf === undefined || Number(nbf) - leeway <= seconds);
  if (iss !== issuer || typeof sub !== "string" || !ripe) return undefined;
  return { id: `${iss} ${sub}`, audience: [aud].flat().map(String),
    scopes: typeof scope === "string" ? scope.split(" ") : [] };
};
