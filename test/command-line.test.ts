// The command line: what it understands, what it prints where, how it ends. main
// runs in this process in a world made of strings; real children only at the end.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import {
  breakText, columnsOf, demoServer, failureOf, foldMeta, headerOf, parseArguments, printable,
  ProtocolError, readWord, server, text, TransportError, wantsColor, watchFetch, watchHandler,
  watchPipe, wireLog, wireTap, type WireEntry,
} from "../mcp-raw.ts";
import { program, run as runAny, serving, shownBytes, type Outcome, type World,
} from "./kit-cli.ts";

// The servers of these tests speak the words of today; those of test/peers/era.test.ts do not.
const run: typeof runAny = (argv, world) => runAny(argv[0] === "call" && !argv.includes("--era")
  ? ["call", "--era", "modern", ...argv.slice(1)] : argv, world);

const HELP_FIRST = "mcp-raw.ts demo ";
const usage = (why: string): Outcome => ({ code: 1, stdout: "",
  stderr: `mcp-raw: ${why} --help shows how.\n` });

describe("with real processes and sockets", { concurrency: true }, () => {
  test("serve --stdio writes nothing but messages to stdout, whatever comes in, and lives on",
    async () => {
    const ping = '{"jsonrpc":"2.0","id":"last","method":"no/such","params":{"_meta":' +
      '{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}';
    const rubbish = ["{oops", "[]", "null", "\"\"", "42", "[".repeat(5000),
      '{"jsonrpc":"2.0","id":null,"method":"x"}', '{"jsonrpc":"1.0","id":1}',
      "Content-Length: 10\r", "\x00\x01", "\ufeff{}", '{"jsonrpc":"2.0","id":1,"result":{}}',
        '{"jsonrpc":"2.0","method":"notifications/x"}'];
    const parts = [`${rubbish.join("\n")}\n`, Uint8Array.of(0xff, 0xfe, 0x0a), `${ping}\n`];
    const input = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
    const { code, stdout } = await program(["serve", "--stdio"], { input });
    const messages = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assert.equal(code, 0);
    for (const { jsonrpc, error } of messages) {
      assert.deepEqual([jsonrpc, typeof error.code], ["2.0", "number"]);
    }
    assert.deepEqual(messages.at(-1), { jsonrpc: "2.0", id: "last", error: { code: -32601,
      message: "Method not found: no/such", data: { supported: ["2026-07-28"] } } });
  });

  // A server in a line: answers whatever comes, in the way that its last argument says.
  const answering = (how: string): string[] => ["--", process.execPath, "-e", `
    process.stdin.on("data", (data) => {
      for (const line of String(data).trim().split("\\n")) {
        const { id } = JSON.parse(line), content = [{ type: "text", text: "42" }];
        const result = { resultType: "complete", tools: [], content };
        const reply = { jsonrpc: "2.0", id, result };
        ${how}
      }
    })`];
  const GOOD = "console.log(JSON.stringify(reply));";
  const cases: [what: string, how: string, argv: string[], outcome: Outcome][] = [
    ["answers", GOOD, ["add"], { code: 0, stdout: "42\n", stderr: "" }],
    ["writes a log line to stdout is warned about once a line, and the call goes on",
      `console.log("ready"); ${GOOD}`, ["--method", "x", "--json"],
      { code: 0, stdout: '{"resultType":"complete","tools":[],"content":[{"type":"text",' +
        '"text":"42"}]}\n',
        stderr: 'mcp-raw: The server wrote a line to stdout that is no message: "ready". Logs ' +
          'belong on stderr (console.error).\n' }],
    ["frames with Content-Length is told to write lines, exit 6",
      'console.log("Content-Length: 2\\r\\n\\r\\n{}");', ["add"], { code: 6, stdout: "",
      stderr: "mcp-raw: The server frames its messages with Content-Length headers. MCP on " +
        "stdio has one JSON text a line: write JSON and a newline, no headers.\n" }],
    ["spreads JSON over several lines is told to use one, exit 6",
      "console.log(JSON.stringify(reply, null, 2));", ["add"], { code: 6, stdout: "",
      stderr: 'mcp-raw: The server spreads a message over several lines, or cuts it short: "{". ' +
        'Write each message on one line (JSON.stringify without indent).\n' }],
    ["dies is named with its exit code and its last words, exit 4",
      'console.error("no key"); process.exit(3);', ["add", "-q"], { code: 4, stdout: "",
      stderr: "mcp-raw: The server ended with exit code 3. Its last words: no key. Run the " +
        "server by itself to see why.\n" }],
    ["is silent after a log line is reminded of it, exit 4", 'console.log("ready");', ["add", "-q",
      "--timeout", "600"], { code: 4, stdout: "",
      stderr: "mcp-raw: No answer within 600 ms, and the call was cancelled. Lines on stdout " +
        "that are no messages may be why: " +
        "logs belong on stderr. --timeout MS waits longer.\n" }],
    ["gets a line as it was typed; its reply is printed raw",
      'process.stdout.write(" {\\"x\\" : 1}\\n");', ["--line", '{ "id" : 1 }'],
      { code: 0, stdout: ' {"x" : 1}\n', stderr: "" }],
  ];
  for (const [what, how, argv, outcome] of cases) {
    test(`call to a server that ${what}`, async () => {
      assert.deepEqual(await run(["call", ...argv, ...answering(how)]), outcome);
    });
  }

  test("call to a command that is not there is named with what to look at, exit 4", async () => {
    const { code, stdout, stderr } = await run(["call", "--", "no-such-command"]);
    assert.deepEqual([code, stdout], [4, ""]);
    assert.match(stderr, /^mcp-raw: Cannot run "no-such-command": [^\n]*\. Check the spelling/);
    assert.match(stderr, /^[^\n]* and PATH, or install it\.\n$/);
  });

  test("-e and --cwd reach the command, and its stderr is passed on", async () => {
    const show = 'console.error(process.env.COLOUR_OF_TEA, process.cwd());' + GOOD;
    const { code, stderr } = await run(["call", "--method", "x", "-e", "COLOUR_OF_TEA=green",
      "--cwd", "/", ...answering(show)]);
    assert.deepEqual([code, stderr], [0, "green /\n"]);
  });

  test("Ctrl-C ends the server and then the call, with 130", async () => {
    const how = 'process.stdin.on("end", () => console.error("goodbye")); ' +
      'console.error("waiting");';
    const argv = ["call", "add", ...answering(how)];
    const outcome = await run(argv, { signal: ["SIGINT", "waiting"] });
    assert.deepEqual(outcome, { code: 130, stdout: "", stderr: "waiting\ngoodbye\n" });
  });
});

describe("arguments", () => {
  test("CLI-01: a header is cut at its first colon, each -H counts, and one without a value is " +
    "an error of usage (exit 1 here, not 2)", async () => {
    const flags =
      ["--header", "Authorization: Bearer x:y", "--header", "X-A:b", "-H", "X-B: \t c "];
    const { all } = parseArguments(["call", ...flags, "http://127.0.0.1/"]);
    assert.deepEqual(all("--header").map(headerOf),
      [["Authorization", "Bearer x:y"], ["X-A", "b"], ["X-B", "c"]]);
    assert.deepEqual(await run(["call", ...flags, "--header"]), usage("--header wants a value."));
    assert.deepEqual(await run(["call", "http://127.0.0.1/", "-H", "--json"]),
      usage("-H wants a value."));
  });

  test("CLI-02: --version and --help print and end with 0, no arguments print the help and end " +
    "with 1 (not 2), and no URL is opened", async () => {
    for (const argv of [["--version"], ["-V"], ["call", "http://127.0.0.1:1/", "--version"]]) {
      assert.deepEqual(await run(argv), { code: 0, stdout: "0.1.0\n", stderr: "" });
    }
    const { stdout: help } = await run(["--help"]);
    assert.ok(help.startsWith(HELP_FIRST));
    for (const argv of [["-h"], ["call", "-h"], ["call", "http://127.0.0.1:1/", "--help"]]) {
      assert.deepEqual(await run(argv), { code: 0, stdout: help, stderr: "" });
    }
    assert.deepEqual(await run([]), { code: 1, stdout: "", stderr: help });
  });

  test("the help fits a screen of 28 lines and 100 columns, examples first", async () => {
    const lines = (await run(["-h"])).stdout.split("\n");
    assert.ok(lines.length > 24 && lines.length <= 29, `${lines.length - 1} lines`);
    assert.ok(Math.max(...lines.map(columnsOf)) <= 100);
    assert.deepEqual(lines.slice(0, 4).map((line) => line.split(" ").slice(0, 2).join(" ")),
      ["mcp-raw.ts demo", "mcp-raw.ts serve", "mcp-raw.ts call", "mcp-raw.ts call"]);
  });

  test("flags take values joined or apart, and nothing after -- is read", () => {
    const read = parseArguments(["call", "add", "--timeout=5", "a=-1", "--cwd", "/tmp",
      "-e", "A=1", "-e", "B==", "-q", "--line=--x=y", "--", "node", "--json", "-h"]);
    assert.deepEqual(read.words, ["add", "a=-1"]);
    assert.deepEqual(read.target, ["node", "--json", "-h"]);
    const flags = ["--timeout", "--cwd", "--env", "--quiet", "--line", "--json", "--header"];
    assert.deepEqual(flags.map(read.flag), ["5", "/tmp", "A=1", "", "--x=y", undefined, undefined]);
    assert.deepEqual(read.all("--env"), ["A=1", "B=="]);
  });

  const NAME_ONE = "Name one server: an http URL, or -- and the command that starts it.";
  const wrong: [argv: string[], why: string][] = [
    [["tap"], '"tap" is no command.'],
    [["call", "--colour", "http://a/"], "call has no flag --colour."],
    [["demo", "-H", "a: b"], "demo has no flag -H."],
    [["call", "--json=1", "http://a/"], "--json takes no value."],
    [["call", "--timeout", "1", "--timeout", "2", "http://a/"], "--timeout is given twice."],
    [["call", "--timeout", "soon", "http://a/"],
      '--timeout wants a whole number up to 2147483647, not "soon".'],
    [["call", "-H", "no colon", "http://a/"], "-H wants 'Name: value', not \"no colon\"."],
    [["call", "-H", "a\r\nb: c", "http://a/"], "-H wants 'Name: value', not \"a\\r\\nb: c\"."],
    [["call", "-e", "NOVALUE", "--", "x"], '-e is KEY=VALUE, not "NOVALUE".'],
    [["call", "-e", "A=1", "http://a/"], "--env is for commands, a URL takes -H."],
    [["call", "-H", "a: b", "--", "x"], "-H is for URLs, a command takes -e."],
    [["call"], NAME_ONE], [["call", "add", "--"], NAME_ONE],
    [["call", "http://a/", "http://b/"], NAME_ONE], [["call", "http://a/", "--", "b"], NAME_ONE],
    [["call", "add", "--listen", "http://a/"], "Choose one: a tool, --method, --line or --listen."],
    [["call", "--method", "x", "--params", "[1]", "http://a/"],
      '--params wants a JSON object, not "[1]".'],
    [["serve"], "serve takes --stdio or --http PORT."],
    [["serve", "--stdio", "--http", "1"], "serve takes --stdio or --http PORT."],
    [["serve", "--http", "70000"], '--http wants a whole number up to 65535, not "70000".'],
    [["serve", "--stdio", "hello"], 'serve does not take "hello".'],
    [["serve", "--stdio", "--module", "x.ts"], "Cannot load x.ts: no such module."],
    [["demo", "--era", "old"], '--era is auto, modern or legacy, not "old".'],
    [["serve", "--stdio", "--module", "x.ts", "--page", "2"], "--page is for the demo server."],
    [["call", "echo", "--answer", "name", "http://a/"], '--answer is KEY=VALUE, not "name".'],
    [["call", "echo", "--decline", "--answer", "a=b", "http://a/"],
      "Choose one: --answer or --decline."],
    [["call", "--decline", "--answer", "a=b", "--", "no-such-command"], // which is not started
      "Choose one: --answer or --decline."],
    [["call", "echo", "--answer", "a=b", "--answer", "a=c", "http://a/"],
      "--answer is given twice: a."],
  ];
  for (const [argv, why] of wrong) {
    test(`"${printable(argv.join(" "))}" ends with 1 and a sentence about it`, async () => {
      assert.deepEqual(await run(argv), usage(why));
    });
  }

  test("a typed word becomes what the schema asks for, else stays undefined", () => {
    const cases: [word: string, schema: unknown, value: unknown][] = [
      ["2", { type: "number" }, 2], ["x", { type: "number" }, undefined],
      ["2", { type: "string" }, "2"], ["", { type: "string" }, ""],
      ["2.0", { type: "integer" }, 2], ["2.5", { type: "integer" }, undefined],
      ["true", { type: "boolean" }, true], ["yes", { type: "boolean" }, undefined],
      ["[1]", { type: "array" }, [1]], ["1,2", { type: "array" }, undefined],
      ['{"a":1}', { type: "object" }, { a: 1 }], ["[]", { type: "object" }, undefined],
      ["null", { type: ["string", "null"] }, null], ["7", { type: ["string", "number"] }, 7],
      ["7a", { type: ["string", "number"] }, "7a"], ["7", { oneOf: [{ type: "string" }] }, "7"],
      ["7", { anyOf: [{ type: "integer" }, { type: "null" }] }, 7],
      ["7", {}, 7], ["seven", {}, "seven"],
    ];
    for (const [word, schema, value] of cases) {
      assert.deepEqual(readWord(word, schema), value, `${word} as ${JSON.stringify(schema)}`);
    }
  });
});

describe("call", async () => {
  const app = demoServer();
  const odd = server({ name: "odd", version: "2", report: () => {}, tools: [
    { name: "shout", description: "Says it\nloudly", inputSchema: { type: "object" },
      handler: () => text("\x1b[31mred\n\u202etxt") },
    { name: "count", inputSchema: {
        type: "object", properties: { n: { type: "integer" }, to: {} }, required: ["n"] },
      handler: (given) => text(JSON.stringify(given)) },
  ] });
  const [demo, other] = await Promise.all([app.listen(0), odd.listen(0)]);
  after(() => Promise.all([demo.close(), other.close()]));

  test("prints the text of a result on stdout and nothing else", async () => {
    for (const words of [["add", "a=2", "b=40", demo.url], [demo.url, "echo", "text=42"]]) {
      assert.deepEqual(await run(["call", ...words]), { code: 0, stdout: "42\n", stderr: "" });
    }
  });

  test("prints a block that is no text as a line about it", async () => {
    assert.deepEqual(await run(["call", "picture", demo.url]), { code: 0,
      stdout: "[image image/png 71 bytes]\n", stderr: "" });
  });

  test("prints the whole result as JSON with --json, indented on a terminal", async () => {
    const whole = { resultType: "complete",
      content: [{ type: "text", text: '{"quotient":3,"remainder":1}' }],
      structuredContent: { quotient: 3, remainder: 1 },
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "mcp-raw", version: "0.1.0" } } };
    const argv = ["call", "divide", "a=7", "b=2", "--json", demo.url];
    assert.deepEqual(await run(argv), { code: 0, stdout: `${JSON.stringify(whole)}\n`,
      stderr: "" });
    const { stdout } = await run(argv, { columns: { stdout: 80, stderr: undefined } });
    assert.equal(stdout, `${JSON.stringify(whole, null, 2)}\n`);
  });

  test("ends with 5 on a result that is an error, whose text is the result", async () => {
    const argv = ["call", "calculator", "operation=divide", "a=1", "b=0", demo.url];
    assert.deepEqual(await run(argv), { code: 5, stdout: "Division by zero\n",
      stderr: 'mcp-raw: The tool "calculator" failed (isError); ' +
        "what it says about it is the result.\n" });
  });

  test("ends with 5 on a tool that is not there, and names those that are", async () => {
    assert.deepEqual(await run(["call", "count2", other.url]), { code: 5, stdout: "",
      stderr: "mcp-raw: The server refused: Unknown tool: count2. Its tools are shout, count " +
        "(-32602).\n" });
  });

  test("sends what does not fit the schema as it was typed, and says so unless told to be quiet",
    async () => {
    const argv = ["call", "count", "n=1", "to=x", "by=3", other.url];
    const stdout = '{"n":1,"to":"x","by":"3"}\n';
    assert.deepEqual(await run(argv), { code: 0, stdout,
      stderr: "mcp-raw: by=3 is not in the schema; sent as typed.\n" });
    assert.deepEqual(await run([...argv, "-q"]), { code: 0, stdout, stderr: "" });
    const none = await run(["call", "count", "n=1", "to=null", other.url]);
    assert.equal(none.stdout, '{"n":1,"to":null}\n');
    const twice = await run(["call", "count", "n=1", "n=2", other.url]);
    assert.deepEqual(twice, usage("An argument is given twice: n."));
  });

  test("lets no server steer the terminal, and changes no byte where there is none", async () => {
    const raw = await run(["call", "shout", other.url]);
    assert.equal(raw.stdout, "\x1b[31mred\n\u202etxt\n");
    const columns = { stdout: 80, stderr: undefined };
    const shown = await run(["call", "shout", other.url], { columns });
    assert.equal(shown.stdout, "\\u001b[31mred\n\\u202etxt\n");
  });

  test("without a tool walks over all that the server says of itself", async () => {
    assert.deepEqual(await run(["call", other.url]), { code: 0, stderr: "", stdout: [
      "odd 2", "  speaks        2026-07-28", "  offers        logging, tools", "tools (2)",
      "  shout()                            Says it", "  count(n: integer, to?: any value)", "",
    ].join("\n") });
  });

  test("with --method sends any method, and a refusal ends with 5", async () => {
    const argv = ["call", "--method", "tools/call", "--params",
      '{"name":"echo","arguments":{"text":"x"}}', demo.url];
    const { code, stdout } = await run(argv);
    assert.deepEqual([code, JSON.parse(stdout).content], [0, [{ type: "text", text: "x" }]]);
    assert.deepEqual(await run(["call", "--method", "no/such", demo.url]),
      { code: 5, stdout: "", stderr: "mcp-raw: The server refused: Method not found: no/such " +
        "(-32601).\n" });
  });

  test("with --line posts the text as it is and prints the raw reply", async () => {
    const line = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
    assert.deepEqual(await run(["call", "--line", line, demo.url]), { code: 0,
      stdout: '{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"params._meta needs ' +
        '\\"io.modelcontextprotocol/protocolVersion\\"","data":{"supported":["2026-07-28"]}}}\n',
      stderr: "mcp-raw: HTTP 400\n" });
    assert.deepEqual(await run(["call", "-q", "--line", "[]", demo.url]), { code: 0, stderr: "",
      stdout: '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid request: a message is ' +
        'one JSON object"}}\n' });
  });

  test("with --wire writes the log to stderr and leaves stdout alone", async () => {
    const { code, stdout, stderr } = await run(["call", "add", "a=1", "b=2", "--wire", "-H",
      "Authorization: Bearer s3cret", demo.url]);
    assert.deepEqual([code, stdout], [0, "3\n"]);
    assert.match(stderr, /^\n#1 +\+ +0ms +C->S +request +id=1 tools\/list +\d+ B\n {2}> POST http:/);
    assert.match(stderr, /\n {2}> authorization: Bearer \.\.masked\.\.\n/);
    assert.doesNotMatch(stderr, /s3cret|\x1b/);
  });

  test("waits no longer than --timeout, ends with 4, and the handler is told", async () => {
    const noted: string[] = [];
    const slow = await demoServer({ note: (sentence) => noted.push(sentence) }).listen(0);
    const argv = ["call", "sleep", "ms=60000", "label=long", "--timeout", "60", slow.url];
    assert.deepEqual(await run(argv), { code: 4, stdout: "", stderr: "mcp-raw: No answer " +
      "within 60 ms, and the call was cancelled. --timeout MS waits longer.\n" });
    for (let waited = 0; noted.length === 0 && waited < 1000; waited += 5) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.deepEqual(noted, ["sleep long aborted: the client closed the connection"]);
    await slow.close();
  });
});

describe("call and servers that ask", () => {
  let rounds = 0;
  const asking = server({ name: "asking", version: "1", report: () => {}, tools: [
    { name: "form", async handler(_, { ask }) {
      rounds++;
      const { action, content } = await ask("f", { method: "elicitation/create", params: {
        message: "Who\x1b[2J?", requestedSchema: { type: "object", required: ["name", "age"],
          properties: { name: { type: "string" }, age: { type: "integer", minimum: 0 },
            tags: { type: "array", items: { type: "string", enum: ["a", "b"] } },
            fine: { type: "boolean", default: true } } } } });
      return text(`${action} ${JSON.stringify(content)}`);
    } },
    { name: "page", inputSchema: { type: "object", properties: { url: { type: "string" } } },
      async handler({ url = "" }, { ask }) {
        const { action } = await ask("p", { method: "elicitation/create",
          params: { mode: "url", message: "Log in", url } });
        return text(action);
      } },
    { name: "both", async handler(_, { ask }) {
      const one = (name: string) => ask(name, { method: "elicitation/create", params: {
        message: `${name}?`, requestedSchema: { type: "object",
          properties: { [name]: { type: "string" } }, required: [name] } } });
      const both = await Promise.all([one("first"), one("second")]);
      return text(JSON.stringify(both.map(({ content }) => content)));
    } },
  ] });
  const at = { asking: "", demo: "" };
  before(async () => {
    const served = await Promise.all([asking.listen(0), demoServer().listen(0)]);
    [at.asking, at.demo] = served.map(({ url }) => url) as [string, string];
    close = async () => void await Promise.all(served.map((one) => one.close()));
  });
  let close = async (): Promise<void> => {};
  after(() => close());

  test("--answer fills in the fields of a form, each of the type that its schema says, and what is " +
    "left out has its default (spec client/elicitation#requested-schema)", async () => {
    const argv = ["call", "form", "--answer", "name=Ada", "--answer", "age=36", "--answer",
      'tags=["a"]', at.asking];
    assert.deepEqual(await run(argv), { code: 0, stderr: "",
      stdout: 'accept {"fine":true,"name":"Ada","age":36,"tags":["a"]}\n' });
    const { stdout } = await run(["call", "form", "--answer", "name=true", "--answer", "age=1",
      "--answer", "tags=a, b", "--answer", "fine=false", at.asking]);
    assert.equal(stdout, 'accept {"fine":false,"name":"true","age":1,"tags":["a","b"]}\n');
    assert.deepEqual(await run(["call", "echo", "text=1", "--answer", "name=Ada", at.demo]),
      { code: 0, stdout: "1\n", stderr: "" }); // nobody asked
  });

  test("an --answer that does not fit the form is one error of usage, and no answer is sent",
    async () => {
    const wrong: [answers: string[], why: string][] = [
      [["name=Ada", "age=x"], '--answer age does not fit: expected integer, got string "x".'],
      [["name=Ada", "age=-1"], "--answer age does not fit: expected at least 0, got number -1."],
      [["age=1.5"], '--answer age does not fit: expected integer, got string "1.5".'],
      [["name=Ada", "age=1", "fine=yes"],
        '--answer fine does not fit: expected boolean, got string "yes".'],
    ];
    for (const [answers, why] of wrong) {
      for (const typed of [undefined, ["Ada", "1", "", ""]]) {
        rounds = 0;
        const argv = ["call", "form", ...answers.flatMap((one) => ["--answer", one]), at.asking];
        assert.deepEqual(await run(argv, typed && { typed }), usage(why));
        assert.equal(rounds, 1);
      }
    }
  });

  test("without a terminal a form is declined, with the server, the question and the fix named; " +
    "and with --decline in any case (spec client/elicitation#user-interaction-model)", async () => {
    const asks = `${at.asking} asks: Who\\u001b[2J?\n`;
    assert.deepEqual(await run(["call", "form", at.asking]), { code: 0,
      stdout: "decline undefined\n", stderr: `${asks}mcp-raw: Declined: there is no terminal ` +
        "to ask at. --answer name=... fills in the form\n" });
    const half = await run(["call", "form", "--answer", "name=Ada", at.asking]);
    assert.match(half.stderr, /--answer age=\.\.\. fills in the form\n$/);
    assert.deepEqual(await run(["call", "form", "--decline", at.asking], { typed: ["y"] }),
      { code: 0, stdout: "decline undefined\n", stderr: `${asks}mcp-raw: Declined\n` });
  });

  test("at a terminal each field is asked for until it fits, and the form is shown before it is " +
    "sent, changed, declined or cancelled (spec client/elicitation#user-interaction-model)",
    async () => {
    const fields = ["Ada", "", "-1", "36", "a, b", ""];
    const sent = await run(["call", "form", at.asking], { typed: [...fields, "y"] });
    assert.deepEqual(sent, { code: 0,
      stdout: 'accept {"fine":true,"name":"Ada","age":36,"tags":["a","b"]}\n', stderr: [
        `${at.asking} asks: Who\\u001b[2J?`, '  name {"type":"string"}: Ada',
        '  age {"type":"integer","minimum":0}: ', "    this is needed",
        '  age {"type":"integer","minimum":0}: -1', "    expected at least 0, got number -1",
        '  age {"type":"integer","minimum":0}: 36',
        '  tags {"type":"array","items":{"type":"string","enum":["a","b"]}}: a, b',
        '  fine {"type":"boolean","default":true}: ',
        '  Send {"name":"Ada","age":36,"tags":["a","b"],"fine":true}? y, n(o), c(hange): y', "",
      ].join("\n") });
    const outcome = async (...typed: string[]) =>
      (await run(["call", "form", at.asking], { typed })).stdout;
    const short = ["Ada", "36", "", ""];
    assert.equal(await outcome(...short, "no"), "decline undefined\n");
    assert.equal(await outcome(...short, "c", "Bob", "1", "", "false", ""),
      'accept {"fine":false,"name":"Bob","age":1}\n');
    assert.equal(await outcome("Ada"), "cancel undefined\n"); // the input ends
    assert.equal(await outcome(...short), "cancel undefined\n");
    const argv = ["call", "form", "--answer", "name=Eve", "--answer", "tags=b", at.asking];
    const rest = await run(argv, { typed: ["7", "", "y"] }); // asks for what has no --answer
    assert.deepEqual(rest.stderr.match(/^ {2}\w+(?= \{)/gm), ["  age", "  fine", "  Send"]);
    assert.equal(rest.stdout, 'accept {"fine":true,"name":"Eve","tags":["b"],"age":7}\n');
  });

  test("questions that come together are asked one after the other", async () => {
    const { stdout, stderr } = await run(["call", "both", at.asking], { typed: ["1", "y", "2", "y"] });
    assert.equal(stdout, '[{"first":"1"},{"second":"2"}]\n');
    assert.deepEqual(stderr.match(/asks: \w+|Send .*\?/g),
      ["asks: first", 'Send {"first":"1"}?', "asks: second", 'Send {"second":"2"}?']);
  });

  test("a URL is shown in full with its host and what is odd about it, is never opened, and only " +
    "a person agrees to it (spec client/elicitation#safe-url-handling)", async () => {
    const page = async (url: string, typed?: string[]) => {
      const { stdout, stderr } =
        await run(["call", "page", `url=${url}`, at.asking], typed && { typed });
      return [stdout, ...stderr.split("\n")].map((line) => line.trimEnd());
    };
    const long = `https://example.com/${"a".repeat(300)}?b=c#d`;
    assert.deepEqual(await page(long, ["y"]), ["accept",
      `${at.asking} asks you to open a page: Log in`, `  ${long}`, "  The host is example.com",
      "  Open it yourself if you trust it, then y; or n to decline: y", ""]);
    assert.deepEqual((await page(long, ["n"]))[0], "decline");
    assert.deepEqual((await page(long, []))[0], "cancel");
    assert.deepEqual(await page("http://bank.com@xn--pple-43d.com:81/"), ["decline",
      `${at.asking} asks you to open a page: Log in`, "  http://bank.com@xn--pple-43d.com:81/",
      "  The host is xn--pple-43d.com:81",
      "  Its name is in Punycode, so it may look like another",
      "  What stands before the @ is not the host",
      "  What is typed there can be read on its way (http)",
      "mcp-raw: Declined: there is no terminal to ask at. Nothing but a person can agree to that",
      ""]);
    assert.match((await page("https://аpple.com/")).join("\n"), /xn--pple-43d\.com\n.*Punycode/);
  });

  test("a person at the terminal can be the model; without one, sampling is not declared " +
    "(spec client/sampling#capabilities)", async () => {
    const argv = ["call", "ask_model", "text=Hello?", at.demo];
    assert.deepEqual(await run(argv, { typed: ["Hi."] }), { code: 0, stdout: "Hi.\n", stderr:
      `${at.demo} asks a model:\n  user: Hello?\n  You are the model: Hi.\n` });
    const { code, stderr } = await run(argv);
    assert.equal(code, 5);
    assert.match(stderr, /\(-32021 \{"sampling":\{\}\}\)\.\n$/);
  });

  test("--root tells the server of folders, which are not declared without it " +
    "(spec client/roots#capabilities)", async () => {
    const { stdout } = await run(["call", "list_roots", "--root", "a", "--root", "b c", at.demo]);
    assert.deepEqual(JSON.parse(stdout), { roots: [{ uri: "file:///home/reader/a", name: "a" },
      { uri: "file:///home/reader/b%20c", name: "b c" }] });
    assert.equal((await run(["call", "list_roots", at.demo])).code, 5);
  });

  test("--method goes through the rounds too", async () => {
    const { code, stdout } = await run(["call", "--method", "tools/call", "--params",
      '{"name":"book_table"}', "--answer", "name=Ada", at.demo]);
    assert.deepEqual([code, JSON.parse(stdout).content],
      [0, [{ type: "text", text: "A table for 2 is booked for Ada" }]]);
  });

  test("progress and log go to stderr, or nowhere with -q, when they are not asked for " +
    "(spec server/utilities/logging#per-request-log-level)", async () => {
    const argv = ["call", "count", "to=2", "ms=0", at.demo];
    assert.deepEqual(await run(argv), { code: 0, stdout: "Counted to 2\n", stderr:
      "mcp-raw: info: Counting to 2\nmcp-raw: 1 of 2  Said 1\nmcp-raw: 2 of 2  Said 2\n" });
    const { stderr } = await run([...argv, "-q", "--wire"]);
    assert.doesNotMatch(stderr, /^mcp-raw|progressToken|logLevel|notifications/m);
  });
});

describe("call and servers that offer more, or less", () => {
  const RESULTS: Record<string, string> = {
    "server/discover": '"supportedVersions":["2026-07-28"],"instructions":"Be\\nkind",' +
      '"capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":false},"prompts":{}}',
    "tools/list": '"tools":[{"name":"bare"}]',
    "resources/list": '"resources":[{"uri":"file:///a","name":"a","title":"The a"}]',
    "resources/templates/list": '"resourceTemplates":[{"uriTemplate":"file:///{x}","name":"x"}]',
    "tools/call": '"content":[{"type":"resource","resource":' +
      '{"uri":"file:///a","mimeType":"text/plain","text":"abc"}},' +
      '{"type":"resource_link","uri":"file:///b","name":"b"},' +
      '{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"new"},7]',
  };
  const at = serving((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (part: string) => { body += part; }).on("end", () => {
      const { id, method, params } = JSON.parse(body);
      response.setHeader("content-type",
        method === "subscriptions/listen" ? "text/event-stream" : "application/json");
      if (method === "subscriptions/listen") {
        const _meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}`;
        const filter = JSON.stringify(params.notifications);
        response.end('data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged",' +
          `"params":{${_meta},"notifications":${filter}}}\n\n` +
          'data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed",' +
          `"params":{${_meta}}}\n\n` +
          `data: {"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${_meta}}}\n\n`);
      } else if (RESULTS[method] === undefined) {
        const error = '{"code":-32603,"message":"Internal error"}';
        response.end(`{"jsonrpc":"2.0","id":${id},"error":${error}}`);
      } else {
        const result = `{"resultType":"complete",${RESULTS[method]}}`;
        response.end(`{"jsonrpc":"2.0","id":${id},"result":${result}}`);
      }
    });
  });

  test("the walk shows every list that is advertised, says what failed or lacks a schema, and " +
    "ends with the worst code", async () => {
    assert.deepEqual(await run(["call", at.url]), { code: 6,
      stdout: ["A server without a name", "  speaks        2026-07-28",
        "  offers        tools, resources, prompts",
        "  instructions  Be\\nkind", "tools (1)", "  bare()", "resources (1)", "  file:///a  The a",
        "resourceTemplates (1)", "  file:///{x}", ""].join("\n"),
      stderr: "mcp-raw: prompts are advertised, but prompts/list failed. The server refused: " +
        "Internal error (-32603).\n" +
        'mcp-raw: The tool "bare" has no inputSchema; each needs one.\n' });
  });

  test("blocks of every type are shown in a line each", async () => {
    assert.deepEqual(await run(["call", "bare", at.url]), { code: 0, stderr: "", stdout: [
      "[resource text/plain 3 characters file:///a]",
      "[resource_link file:///b]", "[audio audio/wav 3 bytes]", "[new]", "7", ""].join("\n") });
  });

  test("--listen asks for the changes that the server announces and for those in --params, and " +
    "prints each as a line of JSON until the server ends the subscription", async () => {
    const heard = (filter: string): Outcome => ({ code: 0,
      stderr: `mcp-raw: Listening until Ctrl-C: ${filter}.\n` +
        "mcp-raw: The server has ended the subscription.\n",
      stdout: '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":' +
        '{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}\n' });
    assert.deepEqual(await run(["call", "--listen", at.url]), heard('{"toolsListChanged":true}'));
    assert.deepEqual(await run(["call", "--listen", "--params",
      '{"notifications":{"resourceSubscriptions":["file:///a"]}}', at.url]),
      heard('{"toolsListChanged":true,"resourceSubscriptions":["file:///a"]}'));
    const quiet = await run(["call", "--listen", "-q", at.url]);
    assert.deepEqual(quiet, { ...heard(""), stderr: "" });
  });
});

test("call --listen listens again when the server has been away, and says that changes may have " +
  "been missed (spec basic/patterns/subscriptions#cancellation)", async () => {
  let rounds = 0;
  const serve = (port: number): Promise<Server> => new Promise((resolve) => {
    const http = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (part: string) => { body += part; }).on("end", () => {
        const { id, method } = JSON.parse(body);
        const _meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":${id}}`;
        const said = (name: string, more: string) =>
          `data: {"jsonrpc":"2.0","method":"notifications/${name}","params":{${_meta}${more}}}\n\n`;
        if (method === "server/discover") {
          response.setHeader("content-type", "application/json");
          response.end(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",` +
            '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}}');
          return;
        }
        response.setHeader("content-type", "text/event-stream");
        response.write(said("subscriptions/acknowledged",
          ',"notifications":{"toolsListChanged":true}') + said("tools/list_changed", ""), () => {
          if (rounds++ > 0) {
            response.end(`data: {"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",` +
              `${_meta}}}\n\n`);
            return;
          }
          setTimeout(() => { // it crashes, and is there again on the same port
            http.closeAllConnections();
            http.close(() => void serve(port).then((again) => (last = again)));
          }, 50);
        });
      });
    }).listen(port, "127.0.0.1", () => {
      ({ port } = http.address() as AddressInfo);
      resolve(http);
    });
  });
  let last = await serve(0);
  const { port } = last.address() as AddressInfo;
  const { code, stdout, stderr } = await run(["call", "--listen", `http://127.0.0.1:${port}/mcp`]);
  last.close();
  assert.deepEqual([code, rounds], [0, 2]);
  const ids = stdout.trimEnd().split("\n").map((line) => {
    const { method, params } = JSON.parse(line);
    return [method, params._meta["io.modelcontextprotocol/subscriptionId"]];
  });
  assert.deepEqual(ids, [["notifications/tools/list_changed", 2],
    ["notifications/tools/list_changed", 3]]);
  const lines = stderr.trimEnd().split("\n");
  assert.equal(lines[0], 'mcp-raw: Listening until Ctrl-C: {"toolsListChanged":true}.');
  assert.match(lines[1] ?? "", /^mcp-raw: .+ Changes may have been missed; listening again\.$/);
  assert.deepEqual(lines.slice(2), ["mcp-raw: The server has ended the subscription."]);
});

describe("call and HTTP statuses", () => {
  const DENIED = '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Origin x is not allowed"}}';
  type Reply = [status: number, body: string, headers?: Record<string, string>];
  const replies: Record<string, Reply> = {
    "/404": [404, "nothing here"], "/405": [405, ""], "/400": [400, "Bad Request: no session"],
    "/401": [401, '{"error":"invalid_token"}', { "content-type": "application/json" }],
    "/403": [403, DENIED, { "content-type": "application/json" }], "/500": [500, "404"],
    "/307": [307, "", { location: "https://b.example/mcp" }],
    "/400-modern": [400, '{"jsonrpc":"2.0","id":1,"error":{"code":-32022,' +
      '"message":"Unsupported protocol version","data":' +
      '{"supported":["2030-01-01"],"requested":"2026-07-28"}}}',
      { "content-type": "application/json" }],
    "/200": [200, '{"jsonrpc":"1.0"}', { "content-type": "application/json" }],
  };
  const at = serving((request, response) => {
    const [status, body, headers] = replies[request.url ?? ""] ?? [404, ""];
    response.writeHead(status, headers).end(body);
  });
  const to = async (path: string): Promise<Outcome> => run(["call", at.url.replace("/mcp", path)]);

  test("CLI-04: what follows from a reply is decided by its status, never by its text, and the " +
    "sentence names it (falling back to an earlier transport needs the earlier revisions)",
    async () => {
    const seen: Record<string, unknown> = {};
    for (const path of ["/404", "/405", "/400", "/401", "/500"]) {
      const { code, stdout, stderr } = await to(path);
      assert.equal(stdout, "");
      assert.equal(stderr.split("\n").length, 2);
      seen[path] = [code, /HTTP (\d+)/.exec(stderr)?.[1]];
    }
    assert.deepEqual(seen, { "/404": [4, "404"], "/405": [4, "405"], "/400": [4, "400"],
      "/401": [3, "401"], "/500": [4, "500"] });
  });

  test("a 400 with an error of the protocol is that error, exit 5", async () => {
    assert.deepEqual(await to("/400-modern"), { code: 5, stdout: "",
      stderr: "mcp-raw: The server refused: Unsupported protocol version. " +
        "It speaks 2030-01-01 (-32022).\n" });
  });

  test("a 403 is authorization, exit 3, whatever its body", async () => {
    assert.deepEqual(await to("/403"), { code: 3, stdout: "",
      stderr: `mcp-raw: HTTP 403 from ${at.url.replace("/mcp", "/403")}: ` +
      `not allowed (${DENIED}). Check token and Origin.\n` });
  });

  test("a redirect is named and not followed, exit 4", async () => {
    assert.deepEqual(await to("/307"), { code: 4, stdout: "",
      stderr: `mcp-raw: HTTP 307 from ${at.url.replace("/mcp", "/307")}: ` +
      "it is at https://b.example/mcp now. Redirects are not followed; give that URL if you " +
        "trust it.\n" });
  });

  test("a reply that is no message breaks a rule, exit 6", async () => {
    assert.deepEqual(await to("/200"), { code: 6, stdout: "",
      stderr: 'mcp-raw: The reply is no message: Invalid request: "jsonrpc" must be "2.0".\n' });
  });

  test("a URL where nobody listens is named with what to look at, exit 4", async () => {
    const { code, stderr } = await run(["call", "http://127.0.0.1:2/mcp"]);
    assert.equal(code, 4);
    assert.match(stderr, /^mcp-raw: Cannot reach http:\/\/127\.0\.0\.1:2\/mcp: /);
    assert.match(stderr, /^[^\n]*\. Is the server running there\?\n$/);
  });
});

test("each fault has its exit code and one sentence without a line break", () => {
  const of = (code: string, message = "It broke"): [number, string] => {
    const { code: exit, sentence } = failureOf(new TransportError(code, message));
    return [exit, sentence];
  };
  assert.deepEqual(of("timeout"), [4, "It broke. --timeout MS waits longer."]);
  assert.deepEqual(of("closed"), [4, "It broke. Run the server by itself to see why."]);
  assert.deepEqual(of("framing", "One\ntwo\x1b[2J!"), [6, "One\\ntwo\\u001b[2J!"]);
  assert.deepEqual(of("authorization"), [3, "It broke."]);
  assert.deepEqual(of("in-use"), [1, "It broke."]);
  assert.deepEqual(failureOf(new ProtocolError(-32603, "Internal error")),
    { code: 5, sentence: "The server refused: Internal error (-32603)." });
  assert.deepEqual(failureOf(new RangeError("oops")), { code: 1, sentence: "Unexpected: oops." });
});

describe("serve", () => {
  const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{' +
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
    '"io.modelcontextprotocol/clientCapabilities":{}}}}';

  test("--stdio serves stdin to its end, and then ends with 0", async () => {
    const { code, stdout, stderr } = await run(["serve", "--stdio"], { input: `${LIST}\n` });
    assert.deepEqual([code, stderr], [0, ""]);
    const names = JSON.parse(stdout).result.tools.map((tool: { name: string }) => tool.name);
    assert.deepEqual(names.slice(0, 3), ["add", "get_current_time", "echo"]);
    const paged = await run(["serve", "--stdio", "--page", "2"], { input: `${LIST}\n` });
    const { tools, nextCursor } = JSON.parse(paged.stdout).result;
    assert.deepEqual([tools.length, typeof nextCursor], [2, "string"]);
  });

  test("--stdio --wire logs to stderr and changes no byte on stdout", async () => {
    const plain = await run(["serve", "--stdio"], { input: `${LIST}\n` });
    const watched = await run(["serve", "--stdio", "--wire"], { input: `${LIST}\n` });
    assert.equal(watched.stdout, plain.stdout);
    const lines = watched.stderr.match(/^#.*/gm)?.map((line) =>
      line.replace(/\+ +\d+/, "+").replace(/ +/g, " "));
    assert.deepEqual(lines, ["#1 +ms C->S request id=1 tools/list 171 B",
      `#2 +ms S->C result id=1 tools/list ${Buffer.byteLength(plain.stdout)} B`]);
  });

  test("--module serves the server that a module exports as default, app or server", async () => {
    const only = { name: "only", handler: () => text("") };
    const mine = server({ name: "mine", version: "1", tools: [only] });
    const argv = ["serve", "--stdio", "--module", "m.ts"];
    const modules = [{ default: mine }, { app: mine }, { server: mine }, { default: 1, app: mine }];
    for (const exported of modules) {
      const { stdout } = await run(argv, { input: LIST, load: async () => exported });
      assert.equal(JSON.parse(stdout).result.tools[0].name, "only");
    }
    const none = await run(argv, { load: async () => ({ default: {} }) });
    assert.deepEqual(none, usage("m.ts exports no server; write: export default server({ ... })."));
  });

  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    test(`--http answers until ${signal}, lets the port go, and ends with ${code}`, async () => {
      const world: World = { signal: [signal, "until Ctrl-C"] };
      const { stderr, ...rest } = await run(["serve", "--http", "0"], world);
      assert.deepEqual(rest, { code, stdout: "" });
      const url = /^mcp-raw: serving (http:\S+) until Ctrl-C\n$/.exec(stderr)?.[1] ?? stderr;
      await assert.rejects(fetch(url));
    });
  }

  const LISTEN = '{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{' +
    '"notifications":{"resourcesListChanged":true},"_meta":{' +
    '"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
    '"io.modelcontextprotocol/clientCapabilities":{}}}}';
  const ACKNOWLEDGED = { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged",
    params: { _meta: { "io.modelcontextprotocol/subscriptionId": "l" },
      notifications: { resourcesListChanged: true } } };
  const ENDED = { jsonrpc: "2.0", id: "l", result: { resultType: "complete", _meta: {
    "io.modelcontextprotocol/serverInfo": { name: "mcp-raw", version: "0.1.0" },
    "io.modelcontextprotocol/subscriptionId": "l" } } };

  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    test(`--http ends an open subscription with its result on ${signal} ` +
      "(spec basic/patterns/subscriptions#graceful-closure)", async () => {
      let [stop, heard] = [(_: typeof signal) => {}, ""];
      const listen = async (url: string): Promise<void> => {
        const headers = { "Content-Type": "application/json", Accept: "text/event-stream, " +
          "application/json", "MCP-Protocol-Version": "2026-07-28",
          "Mcp-Method": "subscriptions/listen" };
        const { body } = await fetch(url, { method: "POST", body: LISTEN, headers });
        for await (const part of body?.pipeThrough(new TextDecoderStream()) ?? []) {
          heard += part;
          if (/acknowledged.*\n\n/.test(heard)) stop(signal);
        }
      };
      let listening: Promise<void> | undefined;
      const outcome = await run(["serve", "--http", "0"], {
        stderr: (line) => { listening ??= listen(/http:\S+/.exec(line)?.[0] ?? line); },
        onSignal: (listener) => { stop = listener; } });
      await listening; // the stream ends, and is not cut
      assert.equal(outcome.code, code);
      const messages = [...heard.matchAll(/^data: (.+)$/gm)].map(([, data = ""]) => JSON.parse(data));
      assert.deepEqual(messages, [ACKNOWLEDGED, ENDED]);
    });
  }

  test("--stdio on SIGTERM ends an open subscription with its result and a cancellation, and then " +
    "with 143 (spec basic/patterns/subscriptions#graceful-closure)", async () => {
    const began = Date.now();
    const { code, stdout, stderr } = await program(["serve", "--stdio"],
      { input: `${LISTEN}\n`, signal: ["SIGTERM", "acknowledged"] });
    assert.deepEqual([code, stderr], [143, ""]);
    assert.deepEqual(stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), [ACKNOWLEDGED,
      ENDED, { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "l" } }]);
    assert.ok(Date.now() - began < 5_000); // of which most is the start
  });

  test("--http on a port that is taken is a clear error, exit 1", async () => {
    const taken = await demoServer().listen(0);
    const { port } = new URL(taken.url);
    const { code, stdout, stderr } = await run(["serve", "--http", port]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, new RegExp(`^mcp-raw: Port ${port} on 127\\.0\\.0\\.1 is ` +
      `taken\\.[^\\n]*\\n$`));
    await taken.close();
  });

  test("--allow-origin lets that Origin in and no other", async () => {
    const statuses: number[] = [];
    let stop = (_: "SIGINT") => {};
    const visit = async (line: string): Promise<void> => {
      const url = /serving (\S+)/.exec(line)?.[1];
      if (url === undefined) return;
      for (const Origin of ["https://a.example", "https://b.example"]) {
        const headers = { Origin, "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
          "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list" };
        statuses.push((await fetch(url, { method: "POST", body: LIST, headers })).status);
      }
      stop("SIGINT");
    };
    await run(["serve", "--http", "0", "--allow-origin", "https://a.example"],
      { stderr: (line) => void visit(line), onSignal: (listener) => { stop = listener; } });
    assert.deepEqual(statuses, [200, 403]);
  });
});

const META = '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
  '"io.modelcontextprotocol/clientInfo":' +
  '{"name":"a,b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}';
const entry = (seq: number, bytes: string, more: Partial<WireEntry> = {}): WireEntry =>
  ({ seq, ms: seq * 3, direction: "C->S", frame: "line", text: bytes, ...more });
/** A first line, its size at the right edge. */
const headed = (start: string, size: string): string => start.padEnd(100 - size.length) + size;

describe("the wire log", () => {
  test("shows a message under a line that names it, folds what _meta repeats, and explains each " +
    "thing once", () => {
    const write = wireLog();
    assert.equal(write(entry(1,
      `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${META}}}}\n`)), [
      "", headed("#1  +   3ms  C->S  request      id=1 tools/list", "237 B"),
      '  | {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{',
      '  | "io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
        '"io.modelcontextprotocol/clientInfo":{',
      '  | "name":"a,b","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}\\n',
      "  is     One line is one message: a JSON object and a newline (spec basic/transports/stdio).",
      "  is     A request: method and params say what is wanted, id comes back with the answer.",
      "  is     Asks for functions that models can call (spec server/tools#listing-tools).",
      "  is     _meta says in every request which version of MCP this is, and who asks.",
      "  why    Then any process can answer any request: nothing is agreed on before (spec " +
        "basic#meta).",
      "",
    ].join("\n"));
    assert.equal(write(entry(2,
      '{"jsonrpc":"2.0","id":"x","method":"tools/list",' +
      `"params":{${META},"progressToken":"p1"}}}\n`)), [
      "", headed('#2  +   6ms  C->S  request      id="x" tools/list', "260 B"),
      '  | {"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{' +
        "..same 3 keys as #1..,",
      '  | "progressToken":"p1"}}}\\n',
      "  is     progressToken asks to be told, under this name, how far the call is.", "",
    ].join("\n"));
    const error = '{"jsonrpc":"2.0","id":"x",' +
      '"error":{"code":-32602,"message":"Unknown tool: y"}}\n';
    assert.equal(write(entry(3, error, { direction: "S->C" })), [
      headed('#3  +   9ms  S->C  error        id="x" -32602 Unknown tool: y', "79 B"),
      '  | {"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"Unknown tool: y"}}\\n',
      "  is     An error comes in place of a result: what was asked for is not done.",
      "  is     -32602: wrong params, or no such tool (spec server/tools#error-handling).", "",
    ].join("\n"));
    const result = '{"jsonrpc":"2.0","id":"x","result":' +
      '{"resultType":"complete","content":[],"isError":true}}\n';
    assert.equal(write(entry(4, result, { direction: "S->C" })).split("\n")[0],
      headed('#4  +  12ms  S->C  result       id="x" tools/list', "90 B"));
  });

  test("joined, the lines after | are the exact bytes at every width, broken only after , { [",
    () => {
    const texts = [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"漢字,かな",' +
      `"arguments":{"a":[1,2,[3]],"b":"x{y[z,"},${META}}}}\n`,
      '{ "jsonrpc" : "2.0", "id" : 0, "result" : { "content" : [ ], "resultType" : "x" } }\n',
      "no JSON, not { at [ all\n", "", "\n", "a\n\nb,c",
    ];
    for (const bytes of texts) {
      for (let columns = 40; columns <= 130; columns++) {
        const written = wireLog({ columns })(entry(1, bytes));
        assert.equal(shownBytes(written), bytes);
        const lines = written.split("\n").filter((line) => line.startsWith("  | "));
        for (const line of lines.slice(0, -1)) assert.match(line, /(?:[,{[]|\\n)$/);
        // What is too wide could not have been broken anywhere.
        for (const line of lines.filter((line) => columnsOf(line) > columns)) {
          assert.equal(breakText(line.slice(4), 1).length, 1, line);
        }
      }
    }
  });

  test("a wide character takes two columns, a combining mark none", () => {
    const texts = ["abc", "漢字", "かな", "한글", "e\u0301", "😀", "ｆｕ", ""];
    assert.deepEqual(texts.map(columnsOf), [3, 4, 4, 4, 1, 2, 4, 0]);
    assert.deepEqual(breakText('"漢字漢字","漢字",1', 16), ['"漢字漢字",', '"漢字",1']);
    assert.deepEqual(breakText('"漢字漢字","漢字",1', 18), ['"漢字漢字","漢字",', "1"]);
  });

  test("a fold stands for keys that an earlier message had, and gives the bytes back when undone",
    () => {
    const known = new Map<string, number>();
    const fold = (seq: number, bytes: string): string =>
      foldMeta(bytes, JSON.parse(bytes).params._meta, seq, known);
    const first = `{"params":{${META}}}}`;
    assert.equal(fold(1, first), first);
    const cases: [text: string, folded: string][] = [
      [first, '{"params":{"_meta":{..same 3 keys as #1..}}}'],
      [first.replace('"2026-07-28"', '"2030-01-01"'),
        '{"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01",' +
        "..same 2 keys as #1..}}}"],
      [first.replace('{"io.', '{"progressToken":1,"io.'),
        '{"params":{"_meta":{"progressToken":1,..same 3 keys as #1..}}}'],
      ['{"params":{"_meta":{"progressToken":1}}}', '{"params":{"_meta":{"progressToken":1}}}'],
      [`{"params":{"arguments":{${META}}}}}`, `{"params":{"arguments":{${META}}}}}`],
      [`{"params":{"name":"_meta","x":{${META.slice(9)}}}}`,
        `{"params":{"name":"_meta","x":{${META.slice(9)}}}}`],
      ['{"params":{"_meta":{}}}', '{"params":{"_meta":{}}}'],
      [first.replace('":{"io', '": {"io'), first.replace('":{"io', '": {"io')], // not our spaces
    ];
    for (const [bytes, folded] of cases) assert.equal(fold(2, bytes), folded);
  });

  test("what is no message is shown as it came, called BAD with the reason, and never folded",
    () => {
    const write = wireLog();
    const lines = write(entry(1, "Server listening\x1b[2J\n", { direction: "S->C" })).split("\n");
    assert.equal(lines[0], headed("#1  +   3ms  S->C  not MCP", "21 B"));
    assert.equal(lines[1], "  | Server listening\\u001b[2J\\n");
    assert.match(lines[2] ?? "", /^ {2}BAD {4}Parse error: /);
    assert.equal(lines[3],
      "  fix    Send one JSON object as JSON-RPC 2.0 (spec basic#messages); logs go to stderr.");
    const again = write(entry(2, `{"jsonrpc":"2.0","params":{${META}}}}\n`)).split("\n");
    assert.equal(again.at(-2), '  BAD    Invalid request: "method" must be a string');
    assert.equal(shownBytes(again.join("\n")), `{"jsonrpc":"2.0","params":{${META}}}}\n`);
  });

  test("characters that would steer a terminal or turn its direction are escaped, also in names",
    () => {
    assert.equal(printable("a\x1b]0;x\x07\u009b1m\u202e\u2066b\tc\r\n é漢"),
      "a\\u001b]0;x\\u0007\\u009b1m\\u202e\\u2066b\\tc\\r\\n é漢");
    const named = wireLog()(entry(1, '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{' +
      '"name":"\\u001b[2J$&"}}\n'));
    assert.doesNotMatch(named, /\x1b/);
    assert.match(named, /Calls the tool "\\u001b\[2J\$&"/);
  });

  test("a long subject is cut so that the line keeps its width", () => {
    const method = "漢".repeat(500);
    const [, line = ""] = wireLog({ columns: 60 })(entry(1,
      `{"jsonrpc":"2.0","id":1,"method":"${method}"}\n`)).split("\n");
    assert.ok(columnsOf(line) >= 59 && columnsOf(line) <= 60, `${columnsOf(line)}`);
    assert.match(line, /漢… +1537 B$/);
  });

  test("over HTTP the first line and the headers stand before the body, secrets masked", () => {
    const head = ["POST http://a/mcp", "authorization: Bearer abc.def", "cookie: sid=1",
      "x-api-key: k", "mcp-method: tools/list"];
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"access_token":"t0ken"}}';
    const lines = wireLog()(entry(1, body, { frame: "body", head })).split("\n");
    assert.deepEqual(lines.slice(2, 8), ["  > POST http://a/mcp",
      "  > authorization: Bearer ..masked..", "  > cookie: ..masked..",
      "  > x-api-key: ..masked..", "  > mcp-method: tools/list",
      '  | {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"access_token":"..masked.."}}']);
    const empty = entry(1, "", { frame: "body", direction: "S->C", head: ["202"] });
    assert.equal(wireLog()(empty), "#1  +   3ms  S->C  no body\n  < 202\n" +
      "  is     Taken: there is nothing to answer.\n");
  });

  test("headers that were there before are folded, but for those that tell of the message", () => {
    const write = wireLog();
    const post = (seq: number, ...more: string[]) => write(entry(seq, "{}", { frame: "body",
      head: ["POST http://a/mcp", "accept: */*", "mcp-protocol-version: 2026-07-28", ...more] }))
      .split("\n").filter((line) => line.startsWith("  >"));
    assert.deepEqual(post(1, "mcp-method: tools/list"), ["  > POST http://a/mcp", "  > accept: */*",
      "  > mcp-protocol-version: 2026-07-28", "  > mcp-method: tools/list"]);
    assert.deepEqual(post(2, "mcp-method: tools/list", "x-new: 1"), ["  > POST http://a/mcp  " +
      "..same 2 headers as #1..", "  > mcp-method: tools/list", "  > x-new: 1"]);
    const reply = write(entry(3, "{}", { frame: "body", head: ["200", "accept: */*"] }));
    assert.match(reply, /\n {2}> 200 {2}\.\.same 1 header as #1\.\.\n/);
  });

  test("an event of a stream is shown with its fields, and read by its data", () => {
    const event = 'event: message\nid: 7\ndata: ' +
      '{"jsonrpc":"2.0","method":"notifications/progress"}\n\n';
    const written = wireLog()(entry(1, event, { frame: "event", direction: "S->C" }));
    assert.match(written, /^#1 .* notification notifications\/progress +\d+ B\n/);
    assert.equal(shownBytes(written), event);
    const ping = wireLog()(entry(1, ": ping\n\n", { frame: "event", direction: "S->C" }));
    assert.match(ping, /^#1 .* comment +8 B\n {2}\| : ping\\n\n {2}\| \\n\n {2}is {5}After : stands/);
  });

  test("colour is for terminals, NO_COLOR and FORCE_COLOR say otherwise, and meaning never " +
    "depends on it", () => {
    assert.deepEqual([wantsColor({}, true), wantsColor({}, false)], [true, false]);
    assert.equal(wantsColor({ NO_COLOR: "1" }, true), false);
    assert.equal(wantsColor({ NO_COLOR: "" }, true), true);
    assert.equal(wantsColor({ FORCE_COLOR: "1" }, false), true);
    assert.equal(wantsColor({ FORCE_COLOR: "0" }, true), false);
    const bytes = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n{\n';
    const painted = wireLog({ color: true })(entry(1, bytes));
    assert.match(painted, /^\x1b\[36m#1/);
    assert.equal(painted.replace(/\x1b\[\d+m/g, ""), wireLog()(entry(1, bytes)));
  });
});

describe("wire taps", () => {
  /** A tap that keeps what it is told. */
  function keeping() {
    const told: Omit<WireEntry, "seq" | "ms">[] = [];
    return { told, tap: (one: Omit<WireEntry, "seq" | "ms">): void => void told.push(one) };
  }
  const streamOf = (chunks: Uint8Array[]) => new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

  test("a watched fetch passes a stream on byte by byte and tells each event once, however it " +
    "is cut", async () => {
    const events = ["data: {\"a\":\"é\"}\n\n", ": ping\n\n", "id: 1\r\ndata: x\r\n\r\n"];
    const all = new TextEncoder().encode(events.join(""));
    const headers = { "content-type": "text/event-stream", date: "now" };
    for (let size = 1; size <= all.length; size++) {
      const chunks = Array.from({ length: Math.ceil(all.length / size) },
        (_, at) => all.slice(at * size, (at + 1) * size));
      const { told, tap } = keeping();
      const reply = new Response(streamOf(chunks), { headers });
      Object.defineProperty(reply, "url", { value: "http://a/" });
      const init = { method: "POST", body: "{}", headers: { "X-A": "1" } };
      const response = await watchFetch(tap, async () => reply)("http://a/", init);
      assert.equal(response.url, "http://a/");
      assert.deepEqual(new Uint8Array(await response.arrayBuffer()), all);
      assert.deepEqual(told, [
        { direction: "C->S", frame: "body", text: "{}", head: ["POST http://a/", "x-a: 1"] },
        { direction: "S->C", frame: "body", text: "", what: "opens",
          head: ["200", "content-type: text/event-stream"] },
        ...events.map((event) => ({ direction: "S->C", frame: "event", text: event })),
      ]);
    }
  });

  test("a watched fetch tells a whole body, an empty one, and that the client closes", async () => {
    const { told, tap } = keeping();
    const plain = { status: 400, headers: { "content-type": "text/plain" } };
    await (await watchFetch(tap, async () => new Response("é", plain))("http://a/")).text();
    await watchFetch(tap, async () => new Response(null, { status: 202 }))("http://a/");
    const controller = new AbortController();
    const never: typeof fetch = (_, init) => new Promise((_, reject) =>
      init?.signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    const call = watchFetch(tap, never)("http://a/", { signal: controller.signal });
    controller.abort();
    await assert.rejects(call, /aborted/);
    const get = { direction: "C->S", frame: "body", text: "", head: ["GET http://a/"] };
    assert.deepEqual(told, [
      get,
      { direction: "S->C", frame: "body", text: "é", head: ["400", "content-type: text/plain"] },
      get, { direction: "S->C", frame: "body", text: "", head: ["202"] },
      get, { direction: "C->S", frame: "body", text: "", what: "closes" },
    ]);
  });

  test("a client that closes a stream is told to give up, in a session to leave, and after the " +
    "answer of neither", async () => {
    const log = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"error":1}}\n\n';
    const answer = 'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n';
    const closing = async (events: string, headers: Record<string, string>) => {
      const { told, tap } = keeping();
      const controller = new AbortController();
      const open = new ReadableStream({ start: (it) => it.enqueue(new TextEncoder().encode(events)) });
      const reply = new Response(open, { headers: { "content-type": "text/event-stream" } });
      const watched = await watchFetch(tap, async () => reply)("http://a/",
        { headers, signal: controller.signal });
      const reader = watched.body?.getReader();
      await reader?.read();
      controller.abort();
      await reader?.cancel();
      return told.at(-1)?.what;
    };
    assert.equal(await closing(log, {}), "closes");
    assert.equal(await closing(log, { "Mcp-Session-Id": "s" }), "leaves");
    assert.equal(await closing(answer, {}), undefined);
    assert.equal(await closing(answer, { "Mcp-Session-Id": "s" }), undefined);
  });

  test("a watched handler gets the same request and gives the same reply, also where the body " +
    "stays unread", async () => {
    const { told, tap } = keeping();
    const http = { method: "POST", header: (name: string) => name === "accept" ? "*/*" : null,
      text: async () => "body", onClose() {} };
    const handle = watchHandler(tap, async (request) => request.method === "GET"
      ? { status: 405, headers: { Allow: "POST" } }
      : { status: 200, headers: {}, body: await request.text(9) ?? "" });
    assert.deepEqual(await handle(http), { status: 200, headers: {}, body: "body" });
    const got = await handle({ ...http, method: "GET" });
    assert.deepEqual(got, { status: 405, headers: { Allow: "POST" } });
    assert.deepEqual(told, [
      { direction: "C->S", frame: "body", head: ["POST", "accept: */*"], text: "body" },
      { direction: "S->C", frame: "body", head: ["200"], text: "body" },
      { direction: "C->S", frame: "body", head: ["GET", "accept: */*"], text: "" },
      { direction: "S->C", frame: "body", head: ["405", "Allow: POST"], text: "" },
    ]);
  });

  test("a watched pipe passes bytes on unchanged, whatever they are", async () => {
    const { told, tap } = keeping();
    const chunks = [Uint8Array.from([0xff, 0x0a, 0x7b]), Uint8Array.from([0x7d, 0x0a, 0x61])];
    const written: string[] = [];
    async function* readable() { yield* chunks; }
    const write = (part: string): void => void written.push(part);
    const pipe = watchPipe(tap, { readable: readable(), write });
    const seen: Uint8Array[] = [];
    for await (const chunk of pipe.readable) seen.push(chunk);
    pipe.write("a\nb\n");
    assert.deepEqual([seen, written], [chunks, ["a\nb\n"]]);
    assert.deepEqual(told.map((one) => [one.direction, one.text]),
      [["C->S", "\ufffd\n"], ["C->S", "{}\n"], ["S->C", "a\n"], ["S->C", "b\n"]]);
  });

  test("a tap numbers what it is told and counts milliseconds from the first", () => {
    let printed = "";
    const tap = wireTap((part) => { printed += part; });
    for (const bytes of ["{}\n", "[]\n"]) tap({ direction: "S->C", frame: "line", text: bytes });
    assert.match(printed, /^#1 +\+ +0ms[^]*\n#2 +\+ +\d+ms/);
  });
});
