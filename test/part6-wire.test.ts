// Every transcript of Part VI is what really crosses the wire: what a login says, and what a
// protected server answers, is recorded, and each line that the file shows is found there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { authorizedFetch, loginWith, protect, server, text } from "../mcp-raw.ts";
import { agree, json, status, world, type Seen } from "./kit-auth.ts";

interface Shown { line: number; who: "→" | "←" | "browser →" | "browser ←"; text: string[] }
/** What the chapters of Part VI show. */
function shownIn(source: string): Shown[] {
  const lines = source.split("\n");
  const from = lines.findIndex((line) => line.startsWith("// ---- Part VI"));
  const to = lines.findIndex((line) => line.startsWith("// ---- Part VII"));
  const shown: Shown[] = [];
  for (let at = from; at < to; at++) {
    const [, who, first] = /^\/\/ {3}((?:browser )?[→←]) (.*)$/.exec(lines[at] ?? "") ?? [];
    if (first === undefined) continue;
    const more: string[] = [];
    while (/^\/\/ {5}/.test(lines[at + 1] ?? "")) more.push((lines[++at] ?? "").slice(5).trim());
    for (const part of `${who} ${first}`.split(/ {2,}(?=←)/)) { // "→ this  ← that" on one line
      const [, arrow, said = ""] = /^((?:browser )?[→←]) (.*)$/.exec(part) ?? [];
      shown.push({ line: at + 1, who: arrow as Shown["who"], text: [said, ...more] });
    }
  }
  return shown;
}

const recorded: { who: Shown["who"]; text: string }[] = [];
const headersOf = (headers: Headers) =>
  [...headers].map(([name, value]) => `${name}: ${value}`).join("\n");
async function record(seen: Seen, response: Response, browser: boolean): Promise<Response> {
  const said = await response.clone().text();
  const { method, url, path, headers, body } = seen;
  const reason = { 200: "OK", 201: "Created", 401: "Unauthorized", 404: "Not Found" }[
    response.status] ?? "";
  recorded.push(
    { who: browser ? "browser →" : "→", text: `${method} ${url} ${method} ${path} HTTP/1.1\n` +
      `${headersOf(headers)}\n${decodeURIComponent(body)}` },
    { who: browser ? "browser ←" : "←", text: `HTTP/1.1 ${response.status} ${reason}\n` +
      `${response.status}\n${headersOf(response.headers)}\n${said}` });
  return response;
}

const ISSUER = "https://auth.example.com/t1";
/** One login and one refresh, with a real protected server. */
async function dialogue(): Promise<void> {
  let clock = 0;
  let issued = 0;
  const app = server({ name: "files", version: "1", tools: [{ name: "read",
    handler: () => text("") }], http: { guard: protect({ resource: "https://example.com/mcp",
    authorizationServers: ["https://auth.example.com/t1"], scopes: ["files:read"],
    verify: async (token) => token === `mF_${issued}` ? { id: "me", scopes: ["files:read"],
      audience: "https://example.com/mcp" } : undefined }) } });
  const pages: Record<string, (seen: Seen) => Response> = {
    "/.well-known/openid-configuration/t1": () => json({ issuer: ISSUER,
      token_endpoint: "https://auth.example.com/token", code_challenge_methods_supported: ["S256"],
      authorization_endpoint: "https://auth.example.com/authorize",
      registration_endpoint: "https://auth.example.com/register" }),
    "/register": () => json({ client_id: "s6BhdRkqt3" }, 201),
    "/authorize": (seen) => agree(seen, { iss: ISSUER, code: "Splx" }),
    "/token": () => json({ access_token: `mF_${++issued}`, token_type: "Bearer", expires_in: 3600,
      refresh_token: "tGzv" }),
  };
  const net = world({
    "https://example.com": async (seen) => record(seen, await app.fetch(new Request(seen.url,
      { method: seen.method, headers: seen.headers, ...(seen.body && { body: seen.body }) })),
    false),
    "https://auth.example.com": async (seen) => {
      const [path = ""] = seen.path.split("?");
      const response = pages[path]?.(seen) ?? status(404);
      return record(seen, response, path === "/authorize");
    },
  });
  const reach = authorizedFetch(net.fetch, { url: "https://example.com/mcp", now: () => clock,
    grant: loginWith({ redirectUri: "http://127.0.0.1:4711/cb", visit: async (url) =>
      (await net.fetch(url, { redirect: "manual" })).headers.get("location") ?? "" }) });
  const call = () => reach("https://example.com/mcp", { method: "POST", headers: {
    "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
  body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: {} }) });
  assert.notEqual((await call()).status, 401);
  const [said] = recorded.filter(({ text }) => text.includes("Bearer mF_1"));
  assert.ok(said !== undefined);
  issued += 100; // the token is worth nothing now, and a refresh is made
  clock = 1;
  assert.notEqual((await call()).status, 401);
}

const strip = (text: string) => text.replace(/\s/g, "").toLowerCase();
test("what Part VI shows is what crosses the wire", async () => {
  await dialogue();
  const shown = shownIn(readFileSync(new URL("../mcp-raw.ts", import.meta.url), "utf8"));
  assert.ok(shown.length >= 15, `${shown.length} transcripts`);
  for (const { line, who, text } of shown) {
    const pieces = text.flatMap((row) => strip(row).split("..")).filter((piece) => piece !== "");
    const found = recorded.some((one) => {
      if (one.who !== who) return false;
      const all = strip(one.who.startsWith("browser") ? decodeURIComponent(one.text) : one.text);
      return pieces.every((piece) => all.includes(piece));
    });
    assert.ok(found, `line ${line}: nothing like this was said: ${who} ${text.join(" ")}`);
  }
});
test("what is not said is seen", () => {
  const [one] = shownIn("// ---- Part VI: a\n//   → GET /x HTTP/1.1\n//     A: b\n// ---- Part VII");
  assert.deepEqual(one, { line: 3, who: "→", text: ["GET /x HTTP/1.1", "A: b"] });
  assert.equal(recorded.some(({ text }) => strip(text).includes("get/xhttp/1.1")), false);
});
