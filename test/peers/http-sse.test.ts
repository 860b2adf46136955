// The deprecated transport of 2024-11-05, as examples/http-sse.ts has it: the example itself,
// its client in front of the official servers, and what its two ends refuse. The SSE client of
// SDK v1 uses its server in the leg "legacy".

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { connectSse } from "../../examples/http-sse.ts";
import { answering, connect, readEvents, type Answers } from "../../mcp-raw.ts";
import { PEERS, ROOT, TSX, run, serving, until, type Running } from "./kit.ts";

const FIXTURES = `${PEERS}/fixtures`;
const EVERYTHING = `${PEERS}/node_modules/@modelcontextprotocol/server-everything/dist/index.js`;
const answers: Answers = { roots: [{ uri: "file:///work" }] };

/** The URL of a server that is started for a test. */
async function sseUrl(t: TestContext, [program = "", ...args]: readonly string[]): Promise<string> {
  const server = await serving(program, (port) => [...args, String(port)]);
  t.after(() => server.stop());
  return server.url.replace(/mcp$/, "sse");
}
const OURS = [...TSX, `${FIXTURES}/raw-sse.ts`];

test("the example prints what it says it prints", async () => {
  const { stdout, stderr, code } = await run(TSX[0], [
    ...TSX.slice(1),
    `${ROOT}/examples/http-sse.ts`,
  ]);
  assert.deepEqual({ stderr, code }, { stderr: "", code: 0 });
  assert.match(stdout, /you who work in file:\/\/\/home/);
});

describe("the client of the example", () => {
  const SERVERS: Record<string, [command: string[], sum: string]> = {
    "the everything-server": [
      ["sh", "-c", `PORT="$3" exec "$1" "$2" sse`, "sh", process.execPath, EVERYTHING],
      "get-sum",
    ],
    "a server of SDK v1": [[process.execPath, `${FIXTURES}/sdk1-everything.mjs`], "add"],
    "the server of the example": [OURS, "add"],
  };
  for (const [who, [command, sum]] of Object.entries(SERVERS)) {
    test(`uses ${who} (spec@2024-11-05 basic/transports#http-with-sse)`, async (t) => {
      const { exchange, close } = await connectSse(await sseUrl(t, command), { answers });
      t.after(close);
      const { call, list } = connect(exchange, answering(answers));
      const names = (await list("tools/list", "tools")).map(({ name }) => name);
      assert.ok(names.includes(sum), `${names}`);
      const { content } = await call("tools/call", { name: sum, arguments: { a: 2, b: 40 } });
      assert.match(JSON.stringify(content), /42/);
    });
  }

  test("posts to no other host than it got the stream from", async (t) => {
    const posted: string[] = [];
    const stranger = await listen(
      t,
      createServer(({ method }) => void posted.push(`${method}`)),
    );
    const liar = await listen(
      t,
      createServer((_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`event: endpoint\ndata: ${stranger}/messages\n\n`);
      }),
    );
    const { exchange, close } = await connectSse(liar);
    t.after(close);
    await assert.rejects(connect(exchange).call("tools/list", {}), /elsewhere/);
    assert.deepEqual(posted, []);
  });

  test("fails what is under way when the stream ends", async (t) => {
    const command = [process.execPath, `${FIXTURES}/sdk1-everything.mjs`];
    const [program = "", ...args] = command;
    const server: Running = await serving(program, (port) => [...args, String(port)]);
    t.after(() => server.stop());
    const { exchange, close } = await connectSse(server.url.replace(/mcp$/, "sse"));
    t.after(close);
    const { call } = connect(exchange);
    const long = call("tools/call", { name: "slow", arguments: { label: "it" } });
    const rejected = assert.rejects(long, /stream is over/);
    await until(() => server.stderr().includes("it begins"), server.stderr);
    server.stop();
    await rejected;
  });
});

describe("the server of the example", () => {
  const JSON_TYPE = { "content-type": "application/json" };
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

  test("first says where to post, takes with 202, and answers on the stream", async (t) => {
    const url = await sseUrl(t, OURS);
    const { body, headers } = await fetch(url, { headers: { accept: "text/event-stream" } });
    assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
    const events = readEvents(body ?? assert.fail("no body"));
    t.after(() => events.return(undefined));
    const { event, data } = (await events.next()).value ?? assert.fail("no event");
    assert.equal(event, "endpoint");
    assert.match(data, /^\/sse\?session=[\w-]{36}$/);
    const posted = await fetch(new URL(data, url), {
      method: "POST",
      headers: JSON_TYPE,
      body: ping,
    });
    assert.deepEqual([posted.status, await posted.text()], [202, ""]);
    const answer = (await events.next()).value;
    assert.equal(answer?.event, "message");
    assert.deepEqual(JSON.parse(answer?.data ?? ""), { jsonrpc: "2.0", id: 1, result: {} });
  });

  test(
    "refuses a session that is not there, what is no JSON, and pages from elsewhere " +
      "(spec@2024-11-05 basic/transports#http-with-sse)",
    async (t) => {
      const url = await sseUrl(t, OURS);
      const post = async (to: string, more: RequestInit = {}) => {
        const init = { method: "POST", headers: JSON_TYPE, body: ping, ...more };
        return (await fetch(to, init)).status;
      };
      assert.equal(await post(url), 404);
      assert.equal(await post(`${url}?session=nobody`), 404);
      const headers = { ...JSON_TYPE, origin: "https://evil.example" };
      assert.equal(await post(url, { headers }), 403);
      assert.equal((await fetch(url, { headers: { origin: "https://evil.example" } })).status, 403);
      assert.equal((await fetch(url, { method: "PUT" })).status, 405);
      const { body } = await fetch(url);
      const events = readEvents(body ?? assert.fail("no body"));
      t.after(() => events.return(undefined));
      const { data } = (await events.next()).value ?? assert.fail("no event");
      assert.equal(await post(new URL(data, url).href, { body: "{oops" }), 400);
    },
  );

  test("gives up what is under way when the client has gone", async (t) => {
    const [program = "", ...args] = OURS;
    const server = await serving(program, (port) => [...args, String(port)]);
    t.after(() => server.stop());
    const { exchange, close } = await connectSse(server.url.replace(/mcp$/, "sse"));
    const long = connect(exchange).call("tools/call", { name: "slow", arguments: { label: "it" } });
    const rejected = assert.rejects(long);
    await until(() => server.stderr().includes("it begins"), server.stderr);
    close();
    await rejected;
    await until(() => server.stderr().includes("it stops"), server.stderr);
  });
});

async function listen(t: TestContext, server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
