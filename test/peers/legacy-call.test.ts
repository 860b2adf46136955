// The command `call` against servers of every kind: the official everything-server, servers
// of both SDKs, and servers that do something odd when they are asked for their revisions.

import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { PEERS, mcpRaw, serving, type Outcome } from "./kit.ts";

const FIXTURES = `${PEERS}/fixtures`;
const EVERYTHING = `${PEERS}/node_modules/@modelcontextprotocol/server-everything/dist/index.js`;
const node = (file: string, ...args: string[]): string[] => [process.execPath, file, ...args];

type Target = (t: TestContext) => Promise<string[]>;
const command =
  (...words: string[]): Target =>
  async () => ["--", ...words];
const listening =
  (words: string[], args: (port: number) => string[] = (port) => [String(port)]): Target =>
  async (t) => {
    const [program = "", ...rest] = words;
    const server = await serving(program, (port) => [...rest, ...args(port)]);
    t.after(() => server.stop());
    return [server.url];
  };
const call = (words: string[], target: string[]): Promise<Outcome> =>
  mcpRaw(["call", ...words, ...target], { timeout: 30_000 });
/** That a call goes well; gives what it printed. */
async function prints(words: string[], target: string[]): Promise<string> {
  const { stdout, stderr, code } = await call(words, target);
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /^\s+at .+:\d+:\d+/m, "no stack");
  return stdout;
}

// It takes its port from the environment, so a shell in between sets it.
const everythingHttp = listening([
  "sh",
  "-c",
  `PORT="$3" exec "$1" "$2" streamableHttp`,
  "sh",
  process.execPath,
  EVERYTHING,
]);
const SERVERS: Record<string, Target> = {
  "the everything-server on stdio": command(...node(EVERYTHING, "stdio")),
  "the everything-server over HTTP": everythingHttp,
};
for (const [who, target] of Object.entries(SERVERS)) {
  describe(`call uses ${who}`, () => {
    test("looks around: who it is, its revision, its tools, resources and prompts", async (t) => {
      const said = await prints([], await target(t));
      assert.match(said, /everything/i);
      assert.match(said, /2025-11-25/);
      for (const name of ["echo", "get-sum", "trigger-long-running-operation"])
        assert.ok(said.includes(name), name);
    });
    test("calls a tool, hears of its progress, and gets structure and pictures", async (t) => {
      const at = await target(t);
      assert.equal(await prints(["echo", "message=hi"], at), "Echo: hi\n");
      assert.match(await prints(["get-sum", "a=2", "b=40"], at), /42/);
      const long = await call(["trigger-long-running-operation", "duration=1", "steps=3"], at);
      assert.match(long.stdout, /completed/);
      for (const step of ["1 of 3", "2 of 3", "3 of 3"])
        assert.ok(long.stderr.includes(step), step);
      assert.match(await prints(["get-tiny-image"], at), /image\/png/);
      const weather = await prints(["get-structured-content", "location=Chicago", "--json"], at);
      assert.ok(JSON.parse(weather).structuredContent);
    });
    test("is asked by the server, and answers: a form, and folders", async (t) => {
      const at = await target(t);
      const asked = await call(["trigger-elicitation-request", "--answer", "name=Ada"], at);
      assert.equal(asked.code, 0, asked.stderr);
      assert.match(asked.stdout, /Ada/);
      const refused = await call(["trigger-elicitation-request", "--decline"], at);
      assert.match(refused.stdout, /declin/i);
      assert.match(await prints(["get-roots-list", "--root", FIXTURES], at), /fixtures/);
    });
    test("reads a resource, and gets a prompt", async (t) => {
      const at = await target(t);
      const { resources } = JSON.parse(await prints(["--method", "resources/list"], at));
      const params = JSON.stringify({ uri: resources[0].uri });
      const read = await prints(["--method", "resources/read", "--params", params], at);
      assert.ok(JSON.parse(read).contents.length > 0);
      const prompt = JSON.stringify({ name: "simple-prompt" });
      assert.match(await prints(["--method", "prompts/get", "--params", prompt], at), /messages/);
    });
    test("says what is wrong: a tool that is not there, arguments that do not fit", async (t) => {
      const at = await target(t);
      assert.equal((await call(["nobody"], at)).code, 5);
      assert.equal((await call(["get-sum", "a=two", "b=3"], at)).code, 5);
    });
  });
}

const SDKS: Record<string, [revision: string, target: Target]> = {
  "SDK v1 on stdio": ["2025-11-25", command(...node(`${FIXTURES}/sdk1-stdio.mjs`))],
  "SDK v1 over HTTP": ["2025-11-25", listening(node(`${FIXTURES}/sdk1-http.mjs`))],
  "SDK v2 on stdio": ["2026-07-28", command(...node(`${FIXTURES}/sdk2-stdio.mjs`))],
  "SDK v2 over HTTP": ["2026-07-28", listening(node(`${FIXTURES}/sdk2-http.mjs`))],
};
for (const [who, [revision, target]] of Object.entries(SDKS)) {
  describe(`call uses a server of ${who}`, () => {
    test("prints the text of the result alone", async (t) => {
      assert.equal(await prints(["add", "a=2", "b=40"], await target(t)), "42\n");
    });
    test("a tool that fails, and one that is not there, exit 5", async (t) => {
      const at = await target(t);
      const failed = await call(["fail"], at);
      assert.equal(failed.code, 5);
      assert.match(failed.stdout + failed.stderr, /this tool always fails/);
      assert.equal((await call(["nobody"], at)).code, 5);
    });
    test("looks around, and names the revision that was agreed on", async (t) => {
      const said = await prints([], await target(t));
      for (const part of [revision, "-fixture", "add", "fail", "slow"])
        assert.ok(said.includes(part), `${part} in ${said}`);
    });
    test("with an era given, it is spoken", async (t) => {
      const at = await target(t);
      assert.equal(await prints(["add", "a=2", "b=40", "--era", "legacy"], at), "42\n");
      const modern = await call(["add", "a=2", "b=40", "--era", "modern"], at);
      if (revision === "2026-07-28") assert.equal(modern.stdout, "42\n");
    });
  });
}

const error = (code: number, id = "%ID%"): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":"what?"}}`;
const ON_STDIO: Record<string, string> = {
  "with silence": "silent",
  "by ending": "dies",
  "with -32601": error(-32601),
  "with -32602": error(-32602),
  "with -32600": error(-32600),
  "with -32603": error(-32603),
  "with -32000": error(-32000),
  "with -32002": error(-32002),
  "with the code 0": error(0),
  "with an error for nobody": error(-32600, "null"),
  "with an error that has no code": '{"jsonrpc":"2.0","id":%ID%,"error":"unknown"}',
  "with an empty result": '{"jsonrpc":"2.0","id":%ID%,"result":{}}',
  "with a result of something else": '{"jsonrpc":"2.0","id":%ID%,"result":{"tools":[]}}',
  "with a result that is a text": '{"jsonrpc":"2.0","id":%ID%,"result":"pong"}',
  "with a result that is null": '{"jsonrpc":"2.0","id":%ID%,"result":null}',
  "with what is no JSON": "Unknown command: server/discover",
  "with JSON that is no message": '{"ok":false}',
  "with a message of its own": '{"jsonrpc":"2.0","id":7,"method":"ping"}',
};
const JSON_TYPE = "application/json";
const OVER_HTTP: Record<string, string> = {
  "with 400 and a sentence": "400 text/plain Bad Request: no valid session ID",
  "with 400 and nothing": "400 -",
  "with 400 and an error for nobody": `400 ${JSON_TYPE} ${error(-32000, "null")}`,
  "with 400 and -32600": `400 ${JSON_TYPE} ${error(-32600)}`,
  "with 400 and other JSON": `400 ${JSON_TYPE} {"detail":"Missing session ID"}`,
  "with 404 and a page": "404 text/html <h1>Not Found</h1>",
  "with 404 and -32601": `404 ${JSON_TYPE} ${error(-32601)}`,
  "with 405": "405 -",
  "with 406": "406 text/plain Not Acceptable",
  "with 422": `422 ${JSON_TYPE} {"detail":[]}`,
  "with 200 and -32601": `200 ${JSON_TYPE} ${error(-32601)}`,
  "with 200 and -32602": `200 ${JSON_TYPE} ${error(-32602)}`,
  "with 200, a stream and an error": `200 text/event-stream data: ${error(-32601)}\n\n`,
  "with 200 and an empty result": `200 ${JSON_TYPE} {"jsonrpc":"2.0","id":%ID%,"result":{}}`,
};
describe(
  "a server that is odd when it is asked for its revisions is an older one, whatever the " +
    "oddity (spec basic/transports/stdio#backward-compatibility)",
  { concurrency: 2 }, // most of them wait for an answer that never comes
  () => {
    const odd = `${FIXTURES}/odd.mjs`;
    for (const [how, word] of Object.entries(ON_STDIO)) {
      test(`on stdio it answers ${how}`, async (t) => {
        const target = await command(...node(odd, word))(t);
        assert.equal(await prints(["add", "a=2", "b=40"], target), "42\n");
      });
    }
    for (const [how, word] of Object.entries(OVER_HTTP)) {
      test(`over HTTP it answers ${how}`, async (t) => {
        const target = await listening(node(odd, word))(t);
        assert.equal(await prints(["add", "a=2", "b=40"], target), "42\n");
      });
    }
    const REFUSED: Record<string, string> = {
      "with 401": "401 -",
      "with 500": "500 text/plain Oops",
      "with a page": "200 text/html <h1>Hello</h1>",
      "by hanging up": "hangs-up",
    };
    for (const [how, word] of Object.entries(REFUSED)) {
      test(`but who answers ${how} over HTTP says nothing of its era: one sentence`, async (t) => {
        const target = await listening(node(odd, word))(t);
        const { code, stdout, stderr } = await call(["add", "a=2", "b=40"], target);
        assert.equal(stdout, "");
        assert.ok(code === 4 || code === 3, `${code}: ${stderr}`);
        assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
      });
    }
    test("and one that says nothing at all over HTTP is not waited for without end", async (t) => {
      const target = await listening(node(odd, "silent"))(t);
      const { code, stdout, stderr } = await call(
        ["add", "a=2", "b=40", "--timeout", "1500"],
        target,
      );
      assert.ok(stdout === "42\n" ? code === 0 : code === 4, `${code}: ${stdout} ${stderr}`);
    });
    test(
      "one that answers with -32022 is of this era, and no handshake is tried " +
        "(spec basic/versioning#backward-compatibility-with-initialization-based-versions)",
      async (t) => {
        const refusal =
          '{"jsonrpc":"2.0","id":%ID%,"error":{"code":-32022,"message":"Unsupported ' +
          'protocol version","data":{"supported":["2099-01-01"],"requested":"2026-07-28"}}}';
        for (const make of [
          command(...node(odd, refusal)),
          listening(node(odd, `400 ${JSON_TYPE} ${refusal}`)),
        ]) {
          const { code, stdout, stderr } = await call(["add", "a=2", "b=40"], await make(t));
          assert.equal(stdout, "");
          assert.equal(code, 5, stderr);
          assert.match(stderr, /Unsupported protocol version|2099-01-01/);
          assert.doesNotMatch(stderr, /handshake/);
        }
      },
    );
  },
);
