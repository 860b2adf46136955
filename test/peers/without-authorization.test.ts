// Part VI can be taken out as a whole, and its client can be taken away alone. What the front door
// wants of it is a few names: with these the file type-checks, and the tests of all else pass.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { ROOT, run } from "./kit.ts";
import { readBook } from "../shape-model.ts";
import { SOURCE, testsOf, typeFaults, variantOf } from "./variant.ts";

const STANDINS = `
type AuthorizeOptions = { url: string };
const fetchHere = (inner: typeof fetch, url: string, init?: RequestInit) => inner(url, init);
const authorizedFetch = (inner: typeof fetch, _: AuthorizeOptions) =>
  Object.assign((url: unknown, init?: RequestInit) => inner(String(url), init),
    { login: () => "", busy: () => false });

`;
const part = (text: string) => `// ---- Part ${text}:`;
const [from, to] = [SOURCE.indexOf(part("VI")), SOURCE.indexOf(part("VII"))];
const signing = /^\/\/ #region \d+\. Signing in\n[^]*?^\/\/ #endregion\n/m;
const cut = SOURCE.indexOf("// ---- cut here");
const without = SOURCE.slice(0, from) + STANDINS + SOURCE.slice(to, cut).replace(signing, "");

describe("mcp-raw.ts without Part VI", () => {
  const folder = variantOf(without);
  test("is shorter, and asks for no token", () => {
    assert.ok(without.split("\n").length < SOURCE.slice(0, cut).split("\n").length - 800);
    assert.doesNotMatch(without, /code_verifier|access_token"?:/);
  });

  test("type-checks", async () => assert.deepEqual(await typeFaults(folder), [0, ""]));

  test("passes the tests of all other Parts", async () => {
    const { files, code, passed, failed } = await testsOf(folder,
      /^(?:part[1-57]\S*|hard-peers|patterns)\.test\.ts$/);
    assert.ok(files > 25, `${files} files`);
    assert.deepEqual([code, failed], [0, []]);
    assert.ok(passed > 1_200, `${passed} passed`);
  });
});

describe("The client of Part VI, alone", () => {
  const book = readBook(SOURCE);
  const wanted = new Set<string>();
  const take = (slug: string): void => {
    const chapter = book.chapters.find((one) => one.slug === slug);
    if (chapter === undefined || wanted.has(slug)) return;
    wanted.add(slug);
    if (chapter.uses !== "everything") chapter.uses.forEach(take);
  };
  take("authorized-fetch");
  const lifted = book.chapters.filter(({ slug }) => wanted.has(slug))
    .map(({ text }) => text).join("\n");
  const folder = variantOf(lifted);

  test("is an OAuth client of under 1,400 lines that knows no server, no session, no tool", () => {
    assert.ok(lifted.split("\n").length < 1_400, `${lifted.split("\n").length} lines`);
    for (const slug of ["protected-server", "http-server", "tools", "sessions", "http-client"]) {
      assert.ok(!wanted.has(slug), slug);
    }
  });

  test("type-checks", async () => assert.deepEqual(await typeFaults(folder), [0, ""]));

  test("logs in to an API that has nothing to do with MCP", async () => {
    writeFileSync(join(folder, "api.ts"), `
      import { authorizedFetch, loginWith } from "./mcp-raw.ts";
      const json = (value: unknown, status = 200) => new Response(JSON.stringify(value), { status });
      const api = "https://api.example.com/v1/notes", issuer = "https://login.example.com";
      const pages: Record<string, (url: URL, init: RequestInit) => Response> = {
        "/v1/notes": (_, { headers }) => new Headers(headers).get("authorization") === "Bearer t"
          ? json(["milk"]) : new Response(null, { status: 401 }),
        "/.well-known/oauth-protected-resource/v1/notes": () =>
          json({ resource: api, authorization_servers: [issuer] }),
        "/.well-known/oauth-authorization-server": () => json({ issuer,
          authorization_endpoint: issuer + "/a", token_endpoint: issuer + "/t",
          registration_endpoint: issuer + "/r", code_challenge_methods_supported: ["S256"] }),
        "/r": () => json({ client_id: "c" }, 201),
        "/a": ({ searchParams }) => new Response(null, { status: 302, headers: { Location:
          searchParams.get("redirect_uri") + "?code=x&state=" + searchParams.get("state") } }),
        "/t": () => json({ access_token: "t", token_type: "Bearer" }),
      };
      const net = (async (input: string, init: RequestInit = {}) => {
        const url = new URL(input);
        return pages[url.pathname]?.(url, init) ?? new Response(null, { status: 404 });
      }) as typeof fetch;
      const reach = authorizedFetch(net, { url: api, grant: loginWith({
        redirectUri: "http://127.0.0.1:1/cb",
        visit: async (url) => (await net(url)).headers.get("location") ?? "" }) });
      console.log(await (await reach(api)).json());
    `);
    const args = ["--import", "tsx", join(folder, "api.ts")];
    const { stdout, code } = await run(process.execPath, args, { cwd: ROOT, timeout: 60_000 });
    assert.deepEqual([code, stdout], [0, "[ 'milk' ]\n"]);
  });
});
