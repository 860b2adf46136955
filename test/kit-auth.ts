// A small internet for tests of authorization: origins that answer by script, a fetch that reaches
// them and nothing else, and a record of what was said, as literal text. On it stand a protected
// server at https://mcp.example.com/mcp and an authorization server at https://auth.example.com,
// both made of literal JSON; a test changes any answer: protectedWorld({ "POST /token": .. }).
//   strictWorld({ method, needs, .. })   the two check all they are told: how the client proves
//                                        itself, code, resource, rotation of refresh, scopes
//   ATTACKS                              each: what is answered instead, and what a client that
//                                        falls for it asks for (`never`)
//   hosted(handle), inTurn(a, b, ..)     answers by a function of the web; one after the other
import { AuthorizationError, authorizedFetch, loginWith, type AuthorizeOptions, type Visitor }
  from "../mcp-raw.ts";

export interface Seen { method: string; url: string; path: string; headers: Headers; body: string }
export type Answer = (seen: Seen) => Response | Promise<Response>;
export interface World { fetch: typeof fetch; seen: Seen[]; asked: () => string[] }

export const json = (value: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(typeof value === "string" ? value : JSON.stringify(value),
    { status, headers: { "Content-Type": "application/json", ...headers } });
export const status = (code: number, headers: Record<string, string> = {}): Response =>
  new Response(null, { status: code, headers });

/** Origins and their answers; who is not there cannot be reached. */
export function world(origins: Record<string, Answer>): World {
  const seen: Seen[] = [];
  const reach = async (input: string | URL | Request, init: RequestInit = {}) => {
    const url = new URL(String(input));
    const one = { method: init.method ?? "GET", url: url.href, path: url.pathname + url.search,
      headers: new Headers(init.headers), body: init.body instanceof ArrayBuffer
        ? new TextDecoder().decode(init.body) : String(init.body ?? "") };
    seen.push(one);
    init.signal?.throwIfAborted();
    const answer = origins[url.origin];
    if (answer === undefined) throw new TypeError("fetch failed", { cause:
      Object.assign(new Error(`getaddrinfo ENOTFOUND ${url.hostname}`), { code: "ENOTFOUND" }) });
    const response = await answer(one);
    const { redirect } = init;
    if (redirect !== "manual" && response.status >= 300 && response.status < 400) {
      throw new Error(`${one.url} was fetched with redirect: ${redirect}`); // it would be followed
    }
    return response;
  };
  return { fetch: reach as typeof fetch, seen,
    asked: () => seen.map(({ method, url }) => `${method} ${url.replace(/\?.*/, "")}`) };
}

export const SERVER = "https://mcp.example.com/mcp";
export const ISSUER = "https://auth.example.com";
export const CALLBACK = "http://127.0.0.1:33418/callback";
export const METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp";
export const resourceMetadata = { resource: SERVER, authorization_servers: [ISSUER] };
export const issuerMetadata = { issuer: ISSUER,
  authorization_endpoint: `${ISSUER}/authorize`, token_endpoint: `${ISSUER}/token`,
  registration_endpoint: `${ISSUER}/register`, code_challenge_methods_supported: ["S256"],
  token_endpoint_auth_methods_supported: ["none"],
  authorization_response_iss_parameter_supported: true };
export const queryOf = ({ url }: Seen) => new URL(url).searchParams;
export const formOf = ({ body }: Seen) => new URLSearchParams(body);

/** Sends the browser back as the authorization server should. */
export const agree = (seen: Seen, more: Record<string, string> = {}): Response => {
  const query = queryOf(seen);
  const back = new URL(query.get("redirect_uri") ?? "");
  const said: Record<string, string> = { code: "the-code", state: query.get("state") ?? "",
    iss: ISSUER, ...more };
  for (const [name, value] of Object.entries(said)) {
    if (value !== "") back.searchParams.set(name, value);
  }
  return status(302, { Location: back.href });
};
export const challenged = (parameters = `resource_metadata="${METADATA}"`, code = 401): Response =>
  json({ jsonrpc: "2.0", error: { code: -32600, message: "no" } }, code,
    { "WWW-Authenticate": `Bearer ${parameters}`.trim() });

/** The usual two servers. `answers` replaces what one says to "METHOD path", without the query. */
export function protectedWorld(answers: Record<string, Answer> = {},
  more: Record<string, Answer> = {}): World & { tokens: string[] } {
  const tokens: string[] = []; // those that are good, the newest last
  const usual: Record<string, Answer> = {
    "POST /mcp": ({ headers }) => tokens.includes(headers.get("authorization")?.slice(7) ?? "")
      ? json({ jsonrpc: "2.0", id: 1, result: {} }) : challenged(),
    "GET /.well-known/oauth-protected-resource/mcp": () => json(resourceMetadata),
    "GET /.well-known/oauth-authorization-server": () => json(issuerMetadata),
    "POST /register": () => json({ client_id: "registered" }, 201),
    "GET /authorize": (seen) => agree(seen),
    "POST /token": () => {
      tokens.push(`token-${tokens.length + 1}`);
      return json({ access_token: tokens.at(-1), token_type: "Bearer" });
    },
  };
  const all = { ...usual, ...answers };
  const route: Answer = (seen) =>
    all[`${seen.method} ${seen.path.replace(/\?.*/, "")}`]?.(seen) ?? status(404);
  return { ...world({ "https://mcp.example.com": route, [ISSUER]: route, ...more }), tokens };
}

/** A user who agrees at once. */
export const visitorOf = ({ fetch }: World): Visitor => ({ redirectUri: CALLBACK,
  async visit(url) {
    const response = await fetch(url, { redirect: "manual" });
    return response.headers.get("location") ?? "";
  } });
/** A client that has been through nothing yet. */
export const clientOf = (where: World, options: Partial<AuthorizeOptions> = {}) =>
  authorizedFetch(where.fetch, { url: SERVER, grant: loginWith(visitorOf(where)), ...options });
export const CALL = { method: "POST", body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' };
/** What came of it: the status, or the code of the error. */
export const outcome = (work: Promise<Response>): Promise<number | string> =>
  work.then(({ status }) => status, (error: Error & { code?: string }) =>
    error instanceof AuthorizationError ? error.code : `${error.code ?? error.name}`);

/** Answers by a server that is a function of the web: world({ [ISSUER]: hosted(handle) }). */
export const hosted = (handle: (request: Request) => Response | Promise<Response>): Answer =>
  ({ method, url, headers, body }) =>
    handle(new Request(url, { method, headers, ...(body !== "" && { body }) }));
/** Answers in turn; the last one stays. */
export const inTurn = (...answers: Answer[]): Answer => (seen) =>
  ((answers.length > 1 ? answers.shift() : answers[0]) ?? (() => status(404)))(seen);

export interface Strictness {
  /** How the client has to prove itself at the token endpoint; none. */
  method?: "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";
  /** The scope that a method of MCP takes. */
  needs?: Record<string, string>;
  answers?: Record<string, Answer>;
}
export const SECRET = "s +ü"; // as a form it is s+%2B%C3%BC
const PROOFS: Record<string, (seen: Seen) => boolean> = {
  none: (seen) => formOf(seen).get("client_id") === "registered" &&
    !formOf(seen).has("client_secret"),
  client_secret_basic: ({ headers }) =>
    headers.get("authorization") === `Basic ${btoa("registered:s+%2B%C3%BC")}`,
  client_secret_post: ({ body }) => body.includes("client_id=registered") &&
    body.includes("client_secret=s+%2B%C3%BC"),
  private_key_jwt: (seen) => (formOf(seen).get("client_assertion") ?? "").split(".").length === 3 &&
    formOf(seen).get("client_assertion_type") ===
      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
};
interface Granted { scope: string; resource: string; challenge: string; over?: boolean }
/** The usual two servers, which check what they are told; expire() ends all access tokens. */
export function strictWorld({ method = "none", needs = {}, answers = {} }: Strictness = {}):
  World & { expire(): void; reused: string[] } {
  const codes = new Map<string, Granted>();
  const access = new Map<string, Granted>();
  const refresh = new Map<string, { granted: Granted; used: boolean }>();
  const reused: string[] = []; // refresh tokens that came twice: nothing of theirs is good any more
  const refused = (error: string, code = 400) => json({ error }, code);
  const grant = (granted: Granted | undefined): Response => {
    if (granted === undefined || granted.over) return refused("invalid_grant");
    const [token, next] = [`token-${access.size + 1}`, `refresh-${refresh.size + 1}`];
    access.set(token, granted);
    refresh.set(next, { granted, used: false });
    return json({ access_token: token, token_type: "Bearer", expires_in: 3600, scope: granted.scope,
      refresh_token: next });
  };
  const renew = (token: string): Response => {
    const held = refresh.get(token);
    if (held === undefined) return refused("invalid_grant");
    if (held.used) {
      reused.push(token);
      held.granted.over = true;
    }
    held.used = true;
    return grant(held.granted);
  };
  const redeem = async (form: URLSearchParams): Promise<Response> => {
    const granted = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const hash = await crypto.subtle.digest("SHA-256",
      new TextEncoder().encode(form.get("code_verifier") ?? ""));
    const proven = granted?.challenge === Buffer.from(hash).toString("base64url");
    if (form.get("resource") !== granted?.resource) return refused("invalid_target");
    return grant(proven ? granted : undefined);
  };
  const secret = method.startsWith("client_secret") ? { client_secret: SECRET } : {};
  const where = protectedWorld({
    "GET /.well-known/oauth-authorization-server": () => json({ ...issuerMetadata,
      token_endpoint_auth_methods_supported: [method] }),
    "POST /register": () => json({ client_id: "registered", token_endpoint_auth_method: method,
      ...secret }, 201),
    "GET /authorize": (seen) => {
      const query = queryOf(seen);
      const [code, text] = [`code-${where.seen.length}`, (name: string) => query.get(name) ?? ""];
      codes.set(code, { scope: text("scope"), resource: text("resource"),
        challenge: text("code_challenge_method") === "S256" ? text("code_challenge") : "" });
      return agree(seen, { code });
    },
    "POST /token": (seen) => {
      const form = formOf(seen);
      if (!PROOFS[method]?.(seen)) return refused("invalid_client", 401);
      return form.get("grant_type") === "refresh_token" ? renew(form.get("refresh_token") ?? "")
        : redeem(form);
    },
    "POST /mcp": ({ headers, body }) => {
      const token = access.get(headers.get("authorization")?.replace(/^Bearer /, "") ?? "");
      if (token?.resource !== SERVER) return challenged(); // unknown, over, or for somebody else
      const scope = needs[(JSON.parse(body) as { method: string }).method] ?? "";
      return scope === "" || token.scope.split(" ").includes(scope)
        ? json({ jsonrpc: "2.0", id: 1, result: {} })
        : challenged(`error="insufficient_scope", scope="${scope}"`, 403);
    },
    ...answers,
  });
  return { ...where, reused, expire: () => access.forEach((_, token) => access.set(token,
    { scope: "", resource: "", challenge: "" })) };
}

export const EVIL = "https://evil.example.com";
/** What a server says to be believed, and the beginnings of what only its victim asks for. */
export interface Attack { answers: Record<string, Answer>; never: string[] }
const metadata = (changes: object): Record<string, Answer> => ({
  "GET /.well-known/oauth-authorization-server": () => json({ ...issuerMetadata, ...changes }) });
const described = (changes: object): Record<string, Answer> => ({
  "GET /.well-known/oauth-protected-resource/mcp": () =>
    json({ ...resourceMetadata, ...changes }) });
const back = (changes: Record<string, string>): Record<string, Answer> => ({
  "GET /authorize": (seen) => agree(seen, changes) });
const TOKEN = `POST ${ISSUER}/token`;
const LOGIN = [`POST ${ISSUER}/register`, `GET ${ISSUER}/authorize`, TOKEN];
export const ATTACKS: Readonly<Record<string, Attack>> = {
  "metadata of another issuer (RFC 8414 §3.3)": {
    answers: metadata({ issuer: EVIL }), never: LOGIN },
  "another iss on the way back (RFC 9207 §2.4)": { answers: back({ iss: EVIL }), never: [TOKEN] },
  "an iss that is right but for a slash (RFC 9207 §2.4)": { answers: back({ iss: `${ISSUER}/` }),
    never: [TOKEN] },
  "no iss where it was promised (RFC 9207 §2.4)": { answers: back({ iss: "" }), never: [TOKEN] },
  "another state (RFC 6749 §10.12)": { answers: back({ state: "guessed" }), never: [TOKEN] },
  "no state (RFC 6749 §10.12)": { answers: back({ state: "" }), never: [TOKEN] },
  "metadata of another resource (RFC 9728 §3.3)": {
    answers: described({ resource: `${EVIL}/mcp` }), never: LOGIN },
  "an issuer that is a file": { answers: described({ authorization_servers: ["file:///etc/x"] }),
    never: ["GET file:"] },
  "a login that is a script": {
    answers: metadata({ authorization_endpoint: "javascript:alert(1)" }),
    never: ["GET javascript:"] },
  "a token endpoint without TLS": {
    answers: metadata({ token_endpoint: "http://auth.example.com/token" }), never: ["POST http:"] },
  "metadata on this machine, named from afar": { answers: { "POST /mcp": () =>
    challenged('resource_metadata="http://127.0.0.1:9/mcp"') }, never: ["GET http://127."] },
  "a token endpoint in this network, named from afar": {
    answers: metadata({ token_endpoint: "https://169.254.169.254/token" }),
    never: ["POST https://169."] },
  "no word of S256 (spec basic/authorization/security-considerations)": {
    answers: metadata({ code_challenge_methods_supported: undefined }), never: LOGIN.slice(1) },
  "plain instead of S256 (spec basic/authorization/security-considerations)": {
    answers: metadata({ code_challenge_methods_supported: ["plain"] }), never: LOGIN.slice(1) },
  "a call that is sent on to another origin": { answers: { "POST /mcp": () =>
    status(307, { Location: `${EVIL}/mcp` }) }, never: [`POST ${EVIL}`] },
  "a code that is sent on to another origin": { answers: { "POST /token": () =>
    status(307, { Location: `${EVIL}/token` }) }, never: [`POST ${EVIL}`] },
};
