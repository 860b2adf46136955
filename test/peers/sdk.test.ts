// The official SDK on the other side of the wire: its client drives our server,
// our command line drives its servers, and servers that break the transport get
// one sentence that names the fault and the fix.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Client, ProtocolError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { FILE, PEERS, TSX, cleanEnv, freePort, mcpRaw, serving, until } from "./kit.ts";

const FIXTURES = `${PEERS}/fixtures`;
const fixture = (name: string, ...args: string[]): string[] => [
  process.execPath,
  `${FIXTURES}/${name}.mjs`,
  ...args,
];

interface Peer {
  client: Client;
  stderr(): string;
}
type Connect = (t: TestContext) => Promise<Peer>;

async function connected(
  t: TestContext,
  transport: StdioClientTransport | StreamableHTTPClientTransport,
): Promise<Client> {
  const client = new Client(
    { name: "sdk2", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  t.after(() => client.close());
  await client.connect(transport);
  return client;
}

const overStdio =
  (command: readonly string[]): Connect =>
  async (t) => {
    const transport = new StdioClientTransport({
      command: command[0]!,
      args: command.slice(1),
      env: cleanEnv(),
      stderr: "pipe",
    });
    let stderr = "";
    transport.stderr?.on("data", (chunk) => {
      stderr += chunk;
    });
    return { client: await connected(t, transport), stderr: () => stderr };
  };

const overHttp =
  (command: readonly string[]): Connect =>
  async (t) => {
    const server = await serving(command[0]!, (port) => [...command.slice(1), String(port)]);
    t.after(() => server.stop());
    return {
      client: await connected(t, new StreamableHTTPClientTransport(new URL(server.url))),
      stderr: server.stderr,
    };
  };

const serve = [...TSX, FILE, "serve", "--wire"];
const OURS: Record<string, Connect> = {
  stdio: overStdio([...serve, "--stdio"]),
  HTTP: overHttp([...serve, "--http"]),
};

for (const [transport, connect] of Object.entries(OURS)) {
  describe(`the official SDK v2 client, modern era, over ${transport}`, () => {
    test("finds the modern era and lists the tools of the demo server", async (t) => {
      const { client } = await connect(t);
      assert.equal(client.getNegotiatedProtocolVersion(), "2026-07-28");
      const names = (await client.listTools()).tools.map((tool) => tool.name);
      for (const name of ["get_current_time", "echo", "add", "calculator", "sleep"])
        assert.ok(names.includes(name), `${name} in ${names}`);
    });

    test("calls a tool and gets its result", async (t) => {
      const { client } = await connect(t);
      const { content, isError } = await client.callTool({
        name: "calculator",
        arguments: { operation: "add", a: 1, b: 2 },
      });
      assert.deepEqual(
        { content, isError: isError ?? false },
        { content: [{ type: "text", text: "1 + 2 = 3" }], isError: false },
      );
    });

    test("gets what a tool cannot do as a result with isError", async (t) => {
      const { client } = await connect(t);
      const { content, isError } = await client.callTool({
        name: "calculator",
        arguments: { operation: "divide", a: 1, b: 0 },
      });
      assert.equal(isError, true);
      assert.match(JSON.stringify(content), /zero/i);
    });

    test("gets arguments that violate the schema as a result with isError", async (t) => {
      const { client } = await connect(t);
      const { isError } = await client.callTool({ name: "add", arguments: { a: "two", b: 3 } });
      assert.equal(isError, true);
    });

    test("gets an unknown tool as the protocol error -32602", async (t) => {
      const { client } = await connect(t);
      await assert.rejects(client.callTool({ name: "no-such-tool", arguments: {} }), (error) => {
        assert.ok(error instanceof ProtocolError);
        assert.equal(error.code, -32602);
        return true;
      });
    });

    test("cancels a call, and the handler stops", async (t) => {
      const { client, stderr } = await connect(t);
      const controller = new AbortController();
      const call = client.callTool(
        { name: "sleep", arguments: { ms: 60_000, label: "first" } },
        { signal: controller.signal },
      );
      const settled = call.then(
        () => "answered",
        () => "rejected",
      );
      await until(() => stderr().includes("sleep") && stderr().includes("first"), stderr);
      assert.doesNotMatch(stderr(), /sleep first aborted/);
      controller.abort("enough");
      assert.equal(await settled, "rejected");
      await until(() => /sleep first aborted: \S/.test(stderr()), stderr);
      assert.equal(
        (await client.callTool({ name: "echo", arguments: { text: "still here" } })).isError ??
          false,
        false,
      );
    });
  });
}

describe("call drives official SDK v2 servers", () => {
  const targets: Record<string, (t: TestContext) => Promise<string[]>> = {
    "on stdio": async () => ["--", ...fixture("sdk2-stdio")],
    "over HTTP": async (t) => {
      const [command, ...args] = fixture("sdk2-http");
      const server = await serving(command!, (port) => [...args, String(port)]);
      t.after(() => server.stop());
      return [server.url];
    },
  };
  for (const [where, target] of Object.entries(targets)) {
    test(`${where}: the text of the result alone on stdout, exit 0`, async (t) => {
      const { stdout, code } = await mcpRaw(["call", "add", "a=2", "b=40", ...(await target(t))]);
      assert.deepEqual({ stdout, code }, { stdout: "42\n", code: 0 });
    });

    test(`${where}: a tool that fails exits 5`, async (t) => {
      const { code, stdout, stderr } = await mcpRaw(["call", "fail", ...(await target(t))]);
      assert.equal(code, 5);
      assert.match(stdout + stderr, /this tool always fails/);
    });

    test(`${where}: a tool that is not there exits 5`, async (t) => {
      const { code, stdout } = await mcpRaw(["call", "no-such-tool", ...(await target(t))]);
      assert.deepEqual({ code, stdout }, { code: 5, stdout: "" });
    });

    test(`${where}: without a tool, the walk names version and tools`, async (t) => {
      const { code, stdout } = await mcpRaw(["call", ...(await target(t))]);
      assert.equal(code, 0);
      for (const part of ["2026-07-28", "sdk2-fixture", "add", "fail", "slow"])
        assert.match(stdout, new RegExp(part));
    });
  }
});

describe("what keeps a server from answering is named in one sentence with its fix, and has its exit code", () => {
  const faulty = (fault: string): string[] => ["--", ...fixture("faulty", fault)];
  const cases: [
    fault: string,
    args: () => Promise<string[]> | string[],
    says: RegExp,
    fix: RegExp,
    code?: number,
    stdout?: string,
  ][] = [
    [
      "a URL where nobody listens",
      async () => [`http://127.0.0.1:${await freePort()}/mcp`],
      /127\.0\.0\.1:\d+/,
      /start|running|listen|port|URL/i,
    ],
    [
      "a command that does not exist",
      () => ["--", "no-such-command-anywhere"],
      /no-such-command-anywhere/,
      /install|PATH|spell|path/,
    ],
    [
      "a server that never answers",
      () => faulty("silent"),
      /answer|respon|silent|tim(?:e|ed) ?out/i,
      /--timeout|stdin|stdio|server/,
    ],
    ["a server that ends at the first request", () => faulty("dies"), /exit|ended|died/i, /3/],
    // The answer is there all the same, so the call succeeds and the fault is a warning.
    [
      "a log line on stdout",
      () => faulty("log-line"),
      /Server listening/,
      /stderr/,
      0,
      "42\n",
    ],
    ["Content-Length framing", () => faulty("content-length"), /Content-Length/, /line/, 6],
    [
      "JSON over several lines",
      () => faulty("several-lines"),
      /lines/,
      /one line|single line|newline/,
      6,
    ],
  ];
  for (const [fault, args, says, fix, exit = 4, printed = ""] of cases) {
    test(fault, async () => {
      const { code, stdout, stderr, timedOut } = await mcpRaw(
        ["call", "add", "a=2", "b=40", "--timeout", "1500", ...(await args())],
        { timeout: 20_000 },
      );
      const sentence = stderr.trimEnd().split("\n").at(-1) ?? "";
      assert.equal(timedOut, false);
      assert.deepEqual({ code, stdout }, { code: exit, stdout: printed }, stderr);
      assert.match(sentence, says);
      assert.match(sentence, fix);
      assert.doesNotMatch(stderr, /^\s+at .+:\d+:\d+/m, "no stack");
    });
  }
});
