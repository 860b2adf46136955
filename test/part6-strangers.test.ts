// What a stranger could try at a protected server, and what a guard that errs lets through: nothing.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { protect, server, text, tool, type Access, type ProtectOptions } from "../mcp-raw.ts";
import { ISSUER, SERVER } from "./kit-auth.ts";

const TOKENS: Readonly<Record<string, Access>> = {
  ada: { id: "ada", audience: SERVER, scopes: [], expiresAt: 2_000 },
  later: { id: "ada", audience: SERVER, scopes: [] },
  bob: { id: "bob", audience: SERVER, scopes: [] },
};
const faults: unknown[] = [];
function app(more: Partial<ProtectOptions> = {}, now = () => 1_000) {
  const ask = tool({ name: "ask", async handler(_, { ask }) {
    const { action } = await ask("k", { method: "elicitation/create", params: { message: "?",
      requestedSchema: { type: "object", properties: {} } } });
    return text(action);
  } });
  return server({ name: "files", version: "1", tools: [ask], report: (error) => faults.push(error),
    http: { guard: protect({ resource: SERVER, authorizationServers: [ISSUER], now,
      verify: async (token) => TOKENS[token], ...more }) } });
}
const post = (token: string, body: string, headers: Record<string, string> = {}) =>
  new Request(SERVER, { method: "POST", body, headers: { "Content-Type": "application/json",
    Accept: "application/json, text/event-stream", Authorization: `Bearer ${token}`, ...headers } });
const INITIALIZE = (version: string) => '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{' +
  `"protocolVersion":"${version}","capabilities":{"elicitation":{}},` +
  '"clientInfo":{"name":"c","version":"1"}}}';
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{' +
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientCapabilities":{}}}}';
const MODERN = { "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" };

describe("A stranger at a protected server", () => {
  for (const version of ["2025-06-18", "2025-11-25"]) {
    test(`answers, cancels, resumes and ends nothing of another's session of ${version}, which ` +
      "outlives a token, though no request does (spec@2025-11-25 basic/transports#session-management)",
    async () => {
      let clock = 1_000;
      const { fetch } = app({}, () => clock);
      const opened = await fetch(post("ada", INITIALIZE(version)));
      const session = { "Mcp-Session-Id": opened.headers.get("mcp-session-id") ?? "" };
      await fetch(post("ada", '{"jsonrpc":"2.0","method":"notifications/initialized"}', session));
      const { body } = await fetch(post("ada",
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}', session));
      let seen = "";
      const decoder = new TextDecoder();
      const until = async (mark: string) => {
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        while (!seen.includes(mark)) {
          const { value, done } = await reader.read();
          assert.ok(!done, seen);
          seen += decoder.decode(value);
        }
        reader.releaseLock();
      };
      await until("requestedSchema");
      const { id } = JSON.parse(/^data: (\{.*elicitation.*)$/m.exec(seen)?.[1] ?? "");
      const answer = (action: string) => JSON.stringify({ jsonrpc: "2.0", id, result: { action } });
      const cancel = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}';
      const last = /^id: (.*)$/m.exec(seen)?.[1] ?? "1-1";
      const statusOf = async (request: Request) => (await fetch(request)).status;
      const bearer = { Authorization: "Bearer bob", ...session };
      assert.deepEqual([await statusOf(post("bob", answer("accept"), session)),
        await statusOf(post("bob", cancel, session)),
        await statusOf(post("bob", `[${cancel}]`, session)),
        await statusOf(new Request(SERVER, { headers: { ...bearer, "Last-Event-ID": last,
          Accept: "text/event-stream" } })),
        await statusOf(new Request(SERVER, { method: "DELETE", headers: bearer }))],
      [404, 404, 404, 404, 404]);
      clock = 2_000; // the stream stays; what comes now needs another token
      assert.equal(await statusOf(post("ada", answer("accept"), session)), 401);
      assert.equal(await statusOf(post("later", answer("decline"), session)), 202);
      await until('"text":"decline"');
    });
  }

  test("is nobody without an id, and no claim of a token becomes a reply of the server " +
    "(spec basic/authorization/security-considerations#access-token-privilege-restriction)",
  async () => {
    const rows: [access: object, status: number][] = [[{}, 200], [{ status: 200, body: "x" }, 200],
      [{ status: { status_list: {} } }, 200], [{ id: undefined }, 401], [{ id: "" }, 401],
      [{ expiresAt: NaN }, 401], [{ audience: undefined }, 401], [{ audience: [] }, 401],
      [{ audience: "mcp.example.com/mcp" }, 401], [{ audience: `${SERVER}/` }, 401]];
    for (const [claims, expected] of rows) {
      const verify = async () => ({ ...TOKENS.bob, ...claims }) as Access;
      const response = await app({ verify }).fetch(post("any", LIST, MODERN));
      assert.deepEqual([response.status, (await response.text()).startsWith('{"jsonrpc":"2.0",')],
        [expected, true], JSON.stringify(claims));
    }
  });

  test("gets no further when the guard itself fails at a message, and the server hears of it " +
    "(spec basic/authorization/security-considerations#access-token-privilege-restriction)",
  async () => {
    faults.length = 0;
    const { fetch } = app({ scopesFor: ({ method }) => {
      if (method.startsWith("tools/")) throw new Error("the database is away");
      return [];
    } });
    const refused = await fetch(post("bob", LIST, MODERN));
    assert.deepEqual([refused.status, faults.map(String)], [500, ["Error: the database is away"]]);
    assert.doesNotMatch(await refused.text(), /database/);
    for (const body of ['{"jsonrpc":"2.0","id":1,"method":5}', "[[7]]", "null"]) {
      assert.equal((await fetch(post("bob", body, MODERN))).status, 400);
    }
    assert.equal(faults.length, 1);
  });

  test("asks for the metadata with HEAD, too, and beside other routes (RFC 9110 §9.1)", async () => {
    const at = "/.well-known/oauth-protected-resource/mcp";
    const { url, close } = await app().listen(0, { routes: { "/health": async () =>
      ({ status: 200, headers: {} }), [at]: async () => ({ status: 500, headers: {} }) } });
    const [head, get, health] = await Promise.all([["HEAD", at], ["GET", at], ["GET", "/health"]].map(
      ([method = "", path = ""]) => fetch(new URL(path, url), { method })));
    assert.deepEqual([head?.status, get?.status, health?.status, await head?.text()],
      [200, 200, 200, ""]);
    assert.equal(head?.headers.get("content-length"), get?.headers.get("content-length"));
    await get?.text();
    await close();
  });
});
