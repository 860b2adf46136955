// A small internet for tests of authorization: origins that answer by script, a fetch that reaches
// them and nothing else, and a record of what was said, as literal text. On it stand a protected
// server at https://mcp.example.com/mcp and an authorization server at https://auth.example.com,
// both made of literal JSON; a test changes any answer: protectedWorld({ "POST /token": .. }).
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
