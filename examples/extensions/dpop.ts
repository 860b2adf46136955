// You will learn: tokens that are worth nothing to a thief (DPoP, RFC 9449). The program makes a
// key, and proves with each request that it holds it. That is a fetch around a fetch:
//   open(url, { fetch: dpopFetch(fetch), authorize: { grant, tokenTypes: ["dpop", "bearer"] } })
//
//   → POST /mcp HTTP/1.1
//     Authorization: DPoP mF_9
//     DPoP: eyJ0eXAiOiJkcG9wK2p3dCIs… (method, URL, time, the token's hash)
import type { webcrypto } from "node:crypto"; // types alone; what runs is the web's crypto
import { challengeOf, parseChallenges } from "../../mcp-raw.ts";
import { signJwt } from "./jwt.ts";

export interface ProofOptions { key: webcrypto.CryptoKeyPair; method: string; url: string;
  now: number; nonce?: string | undefined; token?: string | undefined }
/** One proof, for one request. */
export async function dpopProof({ key, method, url, now, nonce, token }: ProofOptions):
  Promise<string> {
  const { kty, crv, x, y } = await crypto.subtle.exportKey("jwk", key.publicKey);
  const { origin, pathname } = new URL(url); // without query and fragment (RFC 9449 §4.2)
  return signJwt({ jti: crypto.randomUUID(), htm: method, htu: origin + pathname,
    iat: Math.floor(now / 1000), ...(nonce !== undefined && { nonce }),
    ...(token !== undefined && { ath: await challengeOf(token) }) }, key.privateKey, "ES256",
  { typ: "dpop+jwt", jwk: { kty, crv, x, y } });
}
/** A new key, which cannot be taken out of the program. */
export const dpopKey = (): Promise<webcrypto.CryptoKeyPair> =>
  crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);

/** Proves the key to token endpoints and to servers that a DPoP token is sent to. */
export function dpopFetch(inner: typeof fetch, { key = dpopKey(), now = Date.now } = {}):
  typeof fetch {
  const nonces = new Map<string, string>(); // origin -> what it wants in the next proof
  return async (input, init = {}) => {
    const url = input instanceof Request ? input.url : String(input);
    const { origin } = new URL(url);
    const headers = new Headers(init.headers);
    const [, token] = /^DPoP (.+)$/i.exec(headers.get("authorization") ?? "") ?? [];
    const asks = String(init.body).includes("grant_type=") &&
      headers.get("content-type") === "application/x-www-form-urlencoded";
    if (token === undefined && !asks) return inner(input, init);
    const send = async (): Promise<Response> => {
      headers.set("DPoP", await dpopProof({ key: await key, method: init.method ?? "GET", url,
        now: now(), nonce: nonces.get(origin), token }));
      const response = await inner(input, { ...init, headers });
      const nonce = response.headers.get("dpop-nonce");
      if (nonce !== null) nonces.set(origin, nonce);
      return response;
    };
    const before = nonces.get(origin);
    const response = await send();
    const wanted = response.status === 400 ? await response.clone().text()
      : JSON.stringify(parseChallenges(response.headers.get("www-authenticate") ?? ""));
    const again = wanted.includes('"use_dpop_nonce"') && nonces.get(origin) !== before;
    return again ? send() : response;
  };
}
