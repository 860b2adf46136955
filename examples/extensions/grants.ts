// You will learn: other ways to a token than asking a user. Each is a Grant: a function that gets
// the place where tokens are handed out and what they are for, and gives tokens. Each goes into
//   open(url, { authorize: { grant: clientSecret({ client_id, client_secret }) } })
//
//   → POST /token  grant_type=client_credentials&resource=https://example.com/mcp&..
//   ← {"access_token":"mF_9","token_type":"Bearer","expires_in":3600}
import { AuthorizationError, requestTokens, trustedUrl, type ClientInformation, type Grant }
  from "../../mcp-raw.ts";
import { importPem, signJwt } from "./jwt.ts";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/** A grant that nobody has to be asked for: it is made anew, and needs no refresh token. */
const anew = (grant: Grant): Grant => async (context) => {
  const { refresh_token, ...tokens } = await grant(context);
  return tokens;
};

/** A program on its own behalf, with a secret (the extension oauth-client-credentials). */
export const clientSecret = (client: ClientInformation): Grant =>
  anew(({ request, resource, scope }) =>
    request(client, { grant_type: "client_credentials", resource, scope }));

export interface ClientKey {
  client_id: string;
  /** The private key (PKCS #8), what it signs with, and its name where the server has several. */
  pem: string;
  alg: string;
  kid?: string;
}
/** The same with a key: the program signs who it is, and no secret travels (RFC 7523 §2.2). */
export const clientKey = ({ client_id, pem, alg, kid }: ClientKey): Grant =>
  anew(async ({ request, server, resource, scope }) => {
    const seconds = Math.floor(Date.now() / 1000);
    // For this server alone, once, and not for long: whoever else sees it has no use for it.
    const assertion = await signJwt({ iss: client_id, sub: client_id, aud: server.issuer,
      iat: seconds, exp: seconds + 60, jti: crypto.randomUUID() }, await importPem(pem, alg), alg,
    kid === undefined ? {} : { kid });
    return request({ client_id, token_endpoint_auth_method: "private_key_jwt" }, {
      grant_type: "client_credentials", resource, scope, client_assertion: assertion,
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" });
  });

/** A workload that its platform has already given a JWT (SEP-1933): that is traded for a token. */
export const workloadIdentity = (client_id: string, jwt: () => string | Promise<string>): Grant =>
  anew(async ({ request, resource, scope }) =>
    request({ client_id, token_endpoint_auth_method: "none" },
      { grant_type: JWT_BEARER, assertion: await jwt(), resource, scope }));

export interface Enterprise {
  /** The program's identity at the authorization server of the MCP server. */
  client: ClientInformation;
  /** The identity provider of the company, and the program's identity there. */
  tokenEndpoint: string;
  idpClient: ClientInformation;
  /** What the user's login at the company gave. */
  idToken: () => string | Promise<string>;
}
/** A user of a company, whose identity provider decides (enterprise-managed-authorization). */
export function enterpriseManaged(options: Enterprise): Grant {
  const { client, tokenEndpoint, idpClient, idToken } = options;
  const type = "urn:ietf:params:oauth:token-type:";
  const provider = { issuer: new URL(tokenEndpoint).origin,
    token_endpoint: trustedUrl(tokenEndpoint, "tokenEndpoint") };
  return anew(async ({ request, server, resource, scope, fetch }) => {
    // First a permission for that server (an ID-JAG), which is no access token yet …
    const { access_token: assertion, issued_token_type: issued } = await requestTokens(provider,
      idpClient, {
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange", scope, resource,
        audience: server.issuer, requested_token_type: `${type}id-jag`,
        subject_token: await idToken(), subject_token_type: `${type}id_token` },
      { fetch, tokenTypes: ["n_a"] });
    // An access token of the company's would be for other eyes than the next server's.
    if (issued !== `${type}id-jag`) throw new AuthorizationError("token",
      `${provider.issuer} gave ${issued}, where an ID-JAG was asked for`);
    // … then, for that, a token of the server's own authorization server.
    return request(client, { grant_type: JWT_BEARER, assertion, resource, scope });
  });
}
