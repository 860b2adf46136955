// The command line and servers of earlier revisions: finding out what a server speaks, and the
// demo of what came before.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { program, run } from "../kit-cli.ts";

/** A literal server of 2025-11-25 on stdio, which does with the first question what it is told. */
const older = (first: string) => ["--", process.execPath, "-e", `
  const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
  let begun = false;
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "initialize") {
      begun = true;
      return say({ id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} },
        serverInfo: { name: "older", version: "1" } } });
    }
    if (!begun) { ${first} }
    else if (method === "tools/list") say({ id, result: { tools: [{ name: "add",
      inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } } }] } });
    else if (id !== undefined) say({ id, result: { content: [{ type: "text",
      text: String(params.arguments.a + params.arguments.b) }] } });
  });`];
const FIRSTS: Record<string, string> = {
  "an error of its own": 'say({ id, error: { code: -32000, message: "Not initialized" } });',
  "-32601": 'say({ id, error: { code: -32601, message: "Method not found" } });',
  "an empty result": "say({ id, result: {} });",
  "a line that is no message": 'console.log("what?"); say({ id, error: { code: 1, message: "" } });',
  "its end": "process.exit(1);",
};

describe("call finds out what a server speaks", () => {
  for (const [what, first] of Object.entries(FIRSTS)) {
    test(`a server that answers the probe with ${what} is spoken to after a handshake ` +
      "(spec basic/transports/stdio#backward-compatibility)", async () => {
      const { code, stdout } = await run(["call", "add", "a=2", "b=40", "-q", ...older(first)]);
      assert.deepEqual([code, stdout], [0, "42\n"]);
    });
  }

  test("--era legacy sends no probe, --era modern no handshake " +
    "(spec basic/versioning#compatibility-matrix)", async () => {
    const strict = older("process.exit(9);");
    const legacy = await run(["call", "add", "a=2", "b=40", "--era", "legacy", ...strict]);
    assert.deepEqual([legacy.code, legacy.stdout], [0, "42\n"]);
    const modern = await run(["call", "add", "a=2", "b=40", "--era", "modern", ...strict]);
    assert.deepEqual([modern.code, modern.stdout], [4, ""]);
  });
});

describe("the demo of what came before", () => {
  const headsOf = (text: string) => text.match(/^#\d+ .*/gm)?.map((line) =>
    line.replace(/^#\d+ +\+ *\d+ms +/, "").replace(/ +\d+ B$/, "").replace(/ +/g, " ").trim());

  test("over stdio: the handshake, a call, a request of the server, a change, the end", async () => {
    const { code, stdout, stderr } = await program(["demo", "--era", "legacy"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const heads = headsOf(stdout) ?? [];
    assert.deepEqual(heads.slice(0, 9), ['C->S request id="initialize" initialize',
      'S->C result id="initialize" initialize', "C->S notification notifications/initialized",
      "C->S request id=2 tools/call add", "S->C result id=2 tools/call add",
      "C->S request id=3 tools/call book_table", 'S->C request id="s1" elicitation/create',
      'C->S result id="s1" elicitation/create', "S->C result id=3 tools/call book_table"]);
    assert.ok(heads.includes('C->S request id="own-1" resources/subscribe note:latest'));
    assert.ok(heads.includes("S->C notification notifications/resources/updated note:latest"));
  });

  test("over HTTP: a session that is given at the beginning and ended at the end", async () => {
    const { code, stdout, stderr } = await program(["demo", "--era", "legacy", "--http"]);
    assert.deepEqual([code, stderr], [0, ""]);
    const [, id] = /^ +< mcp-session-id: (\S+)$/m.exec(stdout) ?? [];
    assert.ok(id);
    assert.match(stdout, /^ +> DELETE http/m);
    assert.match(stdout, /^ +> GET http/m);
  });

  test("without --era the same call is shown in both eras, one after the other", async () => {
    const { code, stdout } = await program(["demo"]);
    assert.equal(code, 0);
    const calls = stdout.match(/"method":"tools\/call","params":\{"name":"add"/g) ?? [];
    assert.equal(calls.length, 2);
    assert.ok(stdout.indexOf('"method":"initialize"') > stdout.indexOf("== The end"));
  });
});
