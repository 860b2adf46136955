// You will learn: what happens on the other side of a login. This is an authorization server (OAuth
// 2.1) that is small enough to read: it knows programs, asks the user, and hands out tokens.
//
//   program → GET  /.well-known/oauth-authorization-server   where is what?      ← its endpoints
//   program → POST /register                                 this is who I am    ← a client_id
//   browser → GET  /authorize?client_id=..                   may it act for me?  ← a code
//   program → POST /token                                    here is the code    ← tokens
//
// Who gets a token verifies it with the keys from GET /jwks, and asks nobody. For real use it lacks
// a login (there is one user, who needs no password), a disk, and a limit to how often one may ask.
// On this machine: tsx examples/authorization-server.ts 9000
import type { AddressInfo } from "node:net";
import { AuthorizationError, base64url, challengeOf, isObject, nodeListener, readText, trustedUrl,
  type Params } from "../mcp-raw.ts";
import { readJwt, signJwt, verifySignature, type KeyedJwk } from "./extensions/jwt.ts";

/** A program, as it describes itself (RFC 7591 §2). */
export interface Client { client_id: string; client_secret?: string; client_name?: string;
  redirect_uris?: string[]; grant_types?: string[]; token_endpoint_auth_method?: string;
  jwks?: { keys: KeyedJwk[] } }
export interface AuthorizationServerOptions {
  /** Its own URL, as programs know it; it may have a path. */
  issuer: string;
  /** What is known beforehand: programs; scopes and servers to ask for (else any will do). */
  clients?: readonly Client[]; scopes?: readonly string[]; resources?: readonly string[];
  user?: string; tokenSeconds?: number; now?: () => number;
  /** Shows no page: the user says yes to everything. */
  autoConsent?: boolean;
  /** For the documents of programs that describe themselves under their client_id. */
  fetch?: typeof fetch;
}
/** What a user said yes to; when it is over, so is all that was handed out for it. */
interface Grant { client_id: string; user: string; resource: string; scope: string; over?: true }
interface Once { grant: Grant; used?: true }
/** A program that waits: for the user first, then to come back with a code. */
interface Asked extends Once { redirect_uri: string; state: string | undefined; challenge: string }
const newState = (options: AuthorizationServerOptions) => ({ user: "alice", autoConsent: false,
  tokenSeconds: 3600, fetch, now: Date.now, ...options,
  base: options.issuer.replace(/\/$/, ""), // the endpoints are below it
  keys: newKeys(), registered: new Map<string, Client>(), tickets: new Map<string, Asked>(),
  codes: new Map<string, Asked & { until: number }>(), refreshTokens: new Map<string, Once>(),
  assertions: new Map<string, true>() });
type State = ReturnType<typeof newState>;
type Answer = (state: State, request: Request) => Response | Promise<Response>;

const METHODS = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"];
const ALGORITHMS = ["ES256", "RS256", "EdDSA"];
const MOST = 1_000; // of each thing that is remembered
const MAX_BODY = 16 * 1024; // bytes

function must(fine: boolean, error: string, why: string): asserts fine {
  if (!fine) throw new AuthorizationError(error, why);
}
const randomText = () => base64url(crypto.getRandomValues(new Uint8Array(32)));
/** Remembers something under a name; the oldest is forgotten when there is too much. */
function remember<T>(map: Map<string, T>, value: T, name = randomText()): string {
  if (map.size >= MOST) map.delete(map.keys().next().value ?? "");
  map.set(name, value);
  return name;
}
const json = (value: object, status = 200) => new Response(JSON.stringify(value), { status,
  headers: { "Content-Type": "application/json", "Cache-Control": "no-store",
    ...(status === 401 && { "WWW-Authenticate": "Basic" }),
    "Access-Control-Allow-Origin": "*", // programs in web pages may ask, too
    "Access-Control-Allow-Headers": "Authorization, Content-Type, MCP-Protocol-Version" } });
const escape = (text: string) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
const page = (status: number, body: string) => new Response(`<!doctype html>${body}`, { status,
  headers: { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'" } }); // no clickjacking

/** A parameter: never there twice, and an empty one is none (RFC 6749 §3.1). */
function one(parameters: URLSearchParams, name: string): string | undefined {
  const [value, more] = parameters.getAll(name);
  must(more === undefined, "invalid_request", `${name} is there twice`);
  return value === "" ? undefined : value;
}
function needed(parameters: URLSearchParams, name: string): string {
  const value = one(parameters, name);
  must(value !== undefined, "invalid_request", `${name} is missing`);
  return value;
}
const formOf = async ({ body }: Request) => new URLSearchParams(await readText(body, MAX_BODY));
async function jsonOf({ body }: Request | Response): Promise<Params> {
  const text = await readText(body, MAX_BODY) ?? "";
  const value: unknown = await new Response(text).json().catch(() => undefined);
  return isObject(value) ? value : {}; // which will lack something
}

// ---- Where is what? ---------------------------------------------------------
//   → GET /.well-known/oauth-authorization-server HTTP/1.1
//   ← HTTP/1.1 200 OK
//     {"issuer":"https://auth.example.com","token_endpoint":"https://auth.example.com/token",..}
const describe: Answer = ({ issuer, base, scopes }) => json({ issuer, jwks_uri: `${base}/jwks`,
  authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token`,
  registration_endpoint: `${base}/register`, revocation_endpoint: `${base}/revoke`,
  response_types_supported: ["code"], grant_types_supported: [...GRANTS.keys()],
  code_challenge_methods_supported: ["S256"], ...(scopes && { scopes_supported: scopes }),
  token_endpoint_auth_methods_supported: METHODS,
  token_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  revocation_endpoint_auth_methods_supported: METHODS,
  revocation_endpoint_auth_signing_alg_values_supported: ALGORITHMS,
  client_id_metadata_document_supported: true,
  authorization_response_iss_parameter_supported: true }); // RFC 9207 §3

//   → GET /jwks HTTP/1.1
//   ← {"keys":[{"kty":"EC","crv":"P-256","x":"f83O..","y":"x_FE..","kid":"NzbL..",..}]}
const publicKeys: Answer = async ({ keys }) => json({ keys: [(await keys).jwk] });
async function newKeys() {
  const { privateKey, publicKey } = await crypto.subtle.generateKey(
    { name: "ECDSA", namedCurve: "P-256" }, false, ["sign", "verify"]);
  const { crv, kty, x, y } = await crypto.subtle.exportKey("jwk", publicKey);
  const kid = await challengeOf(JSON.stringify({ crv, kty, x, y })); // RFC 7638
  return { privateKey, jwk: { kty, crv, x, y, kid, alg: "ES256", use: "sig" } };
}

// ---- This is who I am -------------------------------------------------------
//   → POST /register HTTP/1.1
//     {"redirect_uris":["http://127.0.0.1/cb"],"token_endpoint_auth_method":"none",..}
//   ← HTTP/1.1 201 Created
//     {"client_id_issued_at":2893256800,"client_id":"s6Bh..","redirect_uris":[..],..}
const register: Answer = async ({ registered, now }, request) => {
  const told = readMetadata(await jsonOf(request));
  const client = { client_id: randomText(), ...told,
    ...(hasSecret(told) && { client_secret: randomText(), client_secret_expires_at: 0 }) };
  remember(registered, client, client.client_id);
  return json({ client_id_issued_at: Math.floor(now() / 1000), ...client }, 201);
};
const methodOf = ({ token_endpoint_auth_method: method, client_secret: secret }: Partial<Client>) =>
  method ?? (secret === undefined ? "none" : "client_secret_basic");
const hasSecret = (client: Partial<Client>) => methodOf(client).startsWith("client_secret_");
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((text) => typeof text === "string");
/** Codes go to https, or to a program on this machine, on whatever port (RFC 8252 §7.3). */
const isSafe = (uri: string) => URL.canParse(uri) && !uri.includes("#") &&
  (uri.startsWith("https://") || HERE.test(uri));
const HERE = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::\d+)?(?=[/?]|$)/;
const portless = (uri: string) => uri.replace(HERE, "$1");
/** What a program may say of itself; the rest is left out (RFC 7591 §2). */
function readMetadata(told: Params, usual = METHODS[1]): Omit<Client, "client_id"> {
  const { redirect_uris: uris = [], grant_types: grants = ["authorization_code"], jwks,
    token_endpoint_auth_method: wanted = usual, client_name: name } = told;
  const method = METHODS.find((one) => one === wanted);
  must(isTexts(uris) && uris.every(isSafe), "invalid_redirect_uri",
    "it has to be https, or http on this machine");
  const keys = isObject(jwks) && Array.isArray(jwks.keys) && jwks.keys.every(isObject)
    ? jwks.keys as KeyedJwk[] : undefined; // using one will show whether it is one
  must(isTexts(grants) && grants.every((grant) => GRANTS.has(grant)) &&
    (uris.length > 0 || !grants.includes("authorization_code")) && method !== undefined &&
    (method !== "private_key_jwt" || keys !== undefined), "invalid_client_metadata",
  "no such grant_types or method, or no redirect_uris or jwks for it");
  return { redirect_uris: uris, grant_types: grants, token_endpoint_auth_method: method,
    ...(keys && { jwks: { keys } }), ...(typeof name === "string" && { client_name: name }) };
}

// Or the client_id is the URL of a document in which the program describes itself:
//   → GET https://app.example.com/client.json
//   ← {"client_id":"https://app.example.com/client.json","client_name":"App","redirect_uris":[..]}
async function fetchClient({ issuer, fetch }: State, id: string): Promise<Client> {
  // A stranger says where to go: not to a network of ours, not on from there, not for long.
  must(/^https:\/\/[^/?#]+\/[^#]+$/.test(id) && new URL(trustedUrl(id, "client_id", issuer)).href
    === id, "invalid_client", "no document of a client can be there");
  const response = await fetch(id, { redirect: "error", signal: AbortSignal.timeout(5_000) });
  const told = response.status === 200 ? await jsonOf(response) : {};
  const client = { client_id: id, ...readMetadata(told, "none") };
  // MUST: about itself (spec basic/authorization/client-registration); what is public is no secret
  must(told.client_id === id && client.client_name !== undefined && !hasSecret(client),
    "invalid_client", "its document is of no use");
  return client; // asked for anew each time: what its cache headers say is for busier servers
}
async function clientOf(state: State, id: string): Promise<Client> {
  const client = state.clients?.find((known) => known.client_id === id) ??
    state.registered.get(id) ?? await fetchClient(state, id).catch(() => undefined);
  must(client !== undefined, "invalid_client", "nobody is known by this client_id");
  return client;
}
const mayUse = ({ grant_types: types = ["authorization_code"] }: Client, type: string) =>
  must(types.includes(type), "unauthorized_client", `it is not registered for ${type}`);

// ---- May it act for me? -----------------------------------------------------
//   browser → GET /authorize?response_type=code&client_id=s6Bh..&state=af0i&code_challenge=E9Me..
//               &code_challenge_method=S256&redirect_uri=http://127.0.0.1:4711/cb
//               &resource=https://example.com/mcp&scope=files:read HTTP/1.1
//   browser ← HTTP/1.1 200 OK and a page that asks; or HTTP/1.1 303 See Other and
//             Location: http://127.0.0.1:4711/cb?error=invalid_scope&..&state=af0i&iss=https://..
const authorize: Answer = async (state, request) => {
  const query = new URL(request.url).searchParams;
  const client = await clientOf(state, needed(query, "client_id"));
  const redirect_uri = needed(query, "redirect_uri");
  // MUST: registered (spec basic/authorization/security-considerations#open-redirection)
  must(isSafe(redirect_uri) && client.redirect_uris?.map(portless).includes(portless(redirect_uri))
    === true, "invalid_request", "redirect_uri is not one of this program");
  try { // what is wrong from here on, the program is told (RFC 6749 §4.1.2.1)
    must(needed(query, "response_type") === "code", "unsupported_response_type", "only code is");
    const challenge = needed(query, "code_challenge");
    must(one(query, "code_challenge_method") === "S256" && /^[\w-]{43}$/.test(challenge),
      "invalid_request", "code_challenge_method has to be S256");
    mayUse(client, "authorization_code");
    const grant = { client_id: client.client_id, user: state.user, ...readTarget(state, query) };
    const asked = { grant, redirect_uri, state: one(query, "state"), challenge };
    return state.autoConsent ? sendCode(state, asked) : ask(state, client, asked);
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
    const answer = { error: error.code, error_description: error.message };
    return sendBack(state, redirect_uri, query.get("state"), answer);
  }
};
const wordsOf = (scope: string) => scope.split(" ").filter((word) => word !== "");
/** What is asked for: one server (RFC 8707 §2), and what to do there. */
function readTarget({ resources, scopes }: State, parameters: URLSearchParams) {
  const [resource = "", scope = ""] = [one(parameters, "resource"), one(parameters, "scope")];
  must(URL.canParse(resource) && !resource.includes("#") && resources?.includes(resource) !== false,
    "invalid_target", "resource has to be a server that is known here");
  must(wordsOf(scope).every((word) => scopes?.includes(word) !== false),
    "invalid_scope", "there is no such scope");
  return { resource, scope };
}
/** 303: what was posted is not posted again. iss: who answers (RFC 9207). */
function sendBack({ issuer: iss }: State, redirect_uri: string, state: string | null | undefined,
  answer: Record<string, string>): Response {
  const url = new URL(redirect_uri);
  const all = Object.entries({ ...answer, ...(state && { state }), iss });
  for (const [name, value] of all) url.searchParams.append(name, value);
  return new Response(null, { status: 303, headers: { Location: url.href } });
}
const sendCode = (state: State, asked: Asked) => sendBack(state, asked.redirect_uri, asked.state,
  { code: remember(state.codes, { ...asked, until: state.now() + 60_000 }) });
function ask({ base, tickets }: State, client: Client, asked: Asked): Response {
  const { grant: { client_id, user, resource, scope }, redirect_uri } = asked;
  return page(200, `<h1>May ${escape(client.client_name ?? client_id)} act for ${escape(user)}?</h1>
<p>At ${escape(resource)}, with: ${escape(scope || "nothing")}.
<p>You go back to <b>${escape(new URL(redirect_uri).host)}</b>.${HERE.test(redirect_uri)
  ? " Any program on this machine could ask so: did you just start one?" : ""}
<form method="post" action="${escape(base)}/consent">
<input type="hidden" name="ticket" value="${remember(tickets, asked)}">
<button name="answer" value="allow">Yes</button> <button name="answer" value="no">No</button>`);
}
//   browser → POST /consent, ticket=2Yot..&answer=allow
//   browser ← HTTP/1.1 303 See Other, Location: http://127.0.0.1:4711/cb?code=Splx..&iss=..
const consent: Answer = async (state, request) => {
  const form = await formOf(request);
  const asked = state.tickets.get(needed(form, "ticket"));
  must(asked !== undefined, "invalid_request", "this page is too old");
  state.tickets.delete(needed(form, "ticket"));
  return one(form, "answer") === "allow" ? sendCode(state, asked)
    : sendBack(state, asked.redirect_uri, asked.state, { error: "access_denied" });
};

// ---- Here is the code -------------------------------------------------------
//   → POST /token HTTP/1.1
//     Authorization: Basic czZCaDpnWDFm
//     grant_type=authorization_code&code=Splx..&code_verifier=dBjf..&redirect_uri=..&resource=..
//   ← HTTP/1.1 200 OK
//     {"access_token":"eyJh..","token_type":"Bearer","expires_in":3600,"refresh_token":"tGzv..",..}
const token: Answer = async (state, request) => {
  const form = await formOf(request);
  const client = await authenticate(state, request, form);
  const type = needed(form, "grant_type");
  const redeem = GRANTS.get(type);
  must(redeem !== undefined, "unsupported_grant_type", "there is no such grant_type here");
  mayUse(client, type);
  const grant = await redeem(state, client, form);
  const { issuer: iss, keys, now, tokenSeconds: expires_in, refreshTokens } = state;
  const { user: sub, resource: aud, client_id } = grant;
  const [scope = grant.scope, iat] = [one(form, "scope"), Math.floor(now() / 1000)];
  const { privateKey, jwk: { kid } } = await keys;
  const access_token = await signJwt({ iss, sub, aud, scope, client_id, iat, exp: iat + expires_in,
    jti: randomText() }, privateKey, "ES256", { typ: "at+jwt", kid }); // RFC 9068
  const lasts = type !== "client_credentials" && client.grant_types?.includes("refresh_token");
  return json({ access_token, token_type: "Bearer", expires_in, ...(scope !== "" && { scope }),
    ...(lasts && { refresh_token: remember(refreshTokens, { grant }) }) });
};
type Redeem = (state: State, client: Client, form: URLSearchParams) => Promise<Grant>;
const GRANTS = new Map<string, Redeem>([
  ["authorization_code", async ({ codes, now }, { client_id }, form) => {
    const hash = await challengeOf(needed(form, "code_verifier"));
    const code = codes.get(needed(form, "code"));
    must(code?.grant.client_id === client_id, "invalid_grant", "there is no such code");
    const back = one(form, "redirect_uri") ?? code.redirect_uri;
    must(hash === code.challenge && back === code.redirect_uri && (code.used || code.until > now()),
      "invalid_grant", "too late, or not what the code was asked for with");
    return useOnce(code, form);
  }],
  ["refresh_token", async ({ refreshTokens }, { client_id }, form) => {
    const held = refreshTokens.get(needed(form, "refresh_token"));
    must(held?.grant.client_id === client_id, "invalid_grant", "there is no such token");
    return useOnce(held, form); // MUST: rotation (spec basic/authorization/security-considerations)
  }],
  ["client_credentials", async (state, client, form) => {
    must(methodOf(client) !== "none", "unauthorized_client", "anybody could be this program");
    return { client_id: client.client_id, user: client.client_id, ...readTarget(state, form) };
  }],
]);
/** What comes twice was stolen once: then nothing that came of it is good any more. */
function useOnce(held: Once, form: URLSearchParams): Grant {
  const { grant, used } = held;
  if (used) grant.over = true;
  must(grant.over === undefined, "invalid_grant", "it was used before, or revoked");
  const [scope = "", resource = grant.resource] = [one(form, "scope"), one(form, "resource")];
  must(resource === grant.resource, "invalid_target", "this was granted for another resource");
  const granted = wordsOf(grant.scope);
  must(wordsOf(scope).every((word) => granted.includes(word)), "invalid_scope", "this is more");
  held.used = true;
  return grant;
}
const BASIC = /^Basic +((?:[a-z\d+/]{4})*(?:[a-z\d+/]{2}(?:=|[a-z\d+/])=)?)$/i;
/** Who asks, proven in the way that was agreed on, and in no other (RFC 6749 §2.3). */
async function authenticate(state: State, { headers }: Request, form: URLSearchParams) {
  const [, basic] = BASIC.exec(headers.get("authorization") ?? "") ?? [];
  const [user, password] = basic === undefined ? [] : atob(basic).split(/:(.*)/s)
    .map((text) => new URLSearchParams(`text=${text}`).get("text") ?? "");
  const [posted, jwt] = [one(form, "client_secret"), one(form, "client_assertion")];
  const given = [password, posted, jwt].map((proof) => proof !== undefined);
  must(given.indexOf(true) === given.lastIndexOf(true), "invalid_request", "one proof is enough");
  const method = METHODS[given.indexOf(true) + 1];
  const id = user ?? one(form, "client_id") ?? (jwt && String(readJwt(jwt).claims.sub)) ?? "";
  const client = await clientOf(state, id);
  const { client_secret: secret } = client;
  const proven = jwt !== undefined ? await isSigned(state, client, jwt)
    : secret === undefined ? method === "none" // hashes, as their comparison betrays no secret:
    : await challengeOf(password ?? posted ?? "") === await challengeOf(secret);
  must(proven && method === methodOf(client), "invalid_client", "this proves nothing");
  return client;
}
/** An assertion is for this server, for a short time, and for once (RFC 7523 §3). */
async function isSigned({ issuer, now, assertions }: State, { client_id, jwks }: Client,
  jwt: string): Promise<boolean> {
  const { header, claims: { iss, sub, aud, exp, jti } } = readJwt(jwt);
  const key = jwks?.keys.find(({ kid }) => header.kid === undefined || header.kid === kid);
  const [left, name] = [Number(exp) - now() / 1000, `${client_id} ${jti}`];
  const fits = iss === client_id && sub === client_id && [aud].flat().includes(issuer) &&
    left > 0 && left < 600 && typeof jti === "string" && key !== undefined &&
    await verifySignature(jwt, key, header.alg).catch(() => false);
  if (!fits || assertions.has(name)) return false;
  remember(assertions, true, name);
  return true;
}

// ---- No longer --------------------------------------------------------------
//   → POST /revoke, token=tGzv..&client_id=s6Bh..   ← HTTP/1.1 200 OK
const revoke: Answer = async (state, request) => {
  const form = await formOf(request);
  const { client_id } = await authenticate(state, request, form);
  const given = needed(form, "token");
  // Nobody is asked about an access token, so it is good until it ends (RFC 7009 §2.2.1).
  must(!given.includes("."), "unsupported_token_type", "only refresh tokens can be revoked");
  const held = state.refreshTokens.get(given);
  if (held?.grant.client_id === client_id) held.grant.over = true;
  return json({}); // also for what was never issued
};

// ---- All of it --------------------------------------------------------------
export function authorizationServer(options: AuthorizationServerOptions):
  (request: Request) => Promise<Response> {
  const state = newState(options);
  const path = new URL(state.base).pathname.replace(/\/$/, "");
  const routes = new Map<string, Answer>([
    [`GET /.well-known/oauth-authorization-server${path}`, describe], // RFC 8414 §3.1
    [`GET /.well-known/openid-configuration${path}`, describe],
    [`GET ${path}/.well-known/openid-configuration`, describe],
    [`GET ${path}/jwks`, publicKeys], [`POST ${path}/register`, register],
    [`GET ${path}/authorize`, authorize], [`POST ${path}/consent`, consent],
    [`POST ${path}/token`, token], [`POST ${path}/revoke`, revoke]]);
  return async (request) => {
    const answer = routes.get(`${request.method} ${new URL(request.url).pathname}`);
    if (answer === undefined) return json({}, request.method === "OPTIONS" ? 200 : 404);
    try {
      return await answer(state, request);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      const why = error.message.replace(/[^ !#-[\]-~]/g, "?"); // RFC 6749 §5.2
      if (answer === authorize || answer === consent) return page(400, `<h1>No</h1>${escape(why)}`);
      const code = error.code === "invalid_token" ? "invalid_client" : error.code; // its assertion
      return json({ error: code, error_description: why }, code === "invalid_client" ? 401 : 400);
    }
  };
}

/** Serves it on this machine; its name is known once it has a port (0: any that is free). */
export async function listenLocally(port: number, options?: Partial<AuthorizationServerOptions>):
  Promise<{ issuer: string; close(): void }> {
  const { createServer } = await import("node:http");
  const server = createServer((asked, reply) => nodeListener(async ({ method, header, text }) => {
    // Another name for this machine is the trick of a web page (DNS rebinding).
    if (`http://${header("host")}` !== issuer) return { status: 421, headers: {} };
    const body = method === "POST" ? await text(MAX_BODY) ?? "" : null;
    const init = { method, body, headers: { authorization: header("authorization") ?? "" } };
    const said = await answer(new Request(issuer + asked.url, init));
    const headers = Object.fromEntries(said.headers);
    return { status: said.status, headers, body: await said.text() };
  })(asked, reply));
  await new Promise<void>((resolve, reject) =>
    server.on("error", reject).listen(port, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const answer = authorizationServer({ ...options, issuer });
  return { issuer, close: () => void server.close() };
}
const [, script, port] = process.argv;
if (port !== undefined && script?.endsWith("authorization-server.ts")) {
  console.log((await listenLocally(Number(port))).issuer);
}
