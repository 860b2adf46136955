// Part IV, Checked results: a tool is held to the outputSchema that its list gave.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  answering, checkResults, compileSchema, connect, type Exchange, type JSONRPCRequest, type Result,
} from "../mcp-raw.ts";

const X = { type: "object", properties: { x: { type: "string" } }, required: ["x"], additionalProperties: false };
const tool = (name: string, outputSchema?: object) =>
  ({ name, inputSchema: { type: "object" }, ...(outputSchema && { outputSchema }) });

/** A client of a server with these tools, which answers every call with the same result. */
function clientOf(tools: unknown[], result: object) {
  const asked: string[] = [];
  const warnings: string[] = [];
  const exchange: Exchange = async ({ id, method }: JSONRPCRequest) => {
    asked.push(method);
    const answer = method === "tools/list" ? { tools, ttlMs: 0, cacheScope: "public" } : result;
    return { jsonrpc: "2.0", id, result: { resultType: "complete", ...answer } as Result };
  };
  const client = checkResults(connect(exchange), compileSchema, (text) => warnings.push(text));
  return { asked, warnings, client, call: (name: string) => client.call("tools/call", { name }) };
}

describe("Checked results (spec server/tools#output-schema)", () => {
  for (const [what, result] of [["violates", { structuredContent: { x: 1 } }], ["omits", {}]] as const) {
    test(`SCH-22: structured content that ${what} its schema is refused, listed before or not ` +
      "(spec server/tools#output-schema)", async () => {
      for (const first of [true, false]) {
        const { client, call, asked } = clientOf([tool("t", X)], { content: [], ...result });
        if (first) await client.list("tools/list", "tools");
        await assert.rejects(call("t"), { code: "result", message: /The tool t broke its outputSchema: / });
        assert.deepEqual([...asked].sort(), ["tools/call", "tools/list"]);
      }
    });
  }

  test("SCH-23: the schema is for the structured content, not for the envelope around it " +
    "(spec server/tools#output-schema)", async () => {
    const { call } = clientOf([tool("t", X)],
      { content: [], structuredContent: { x: "a" }, isError: false });
    assert.deepEqual((await call("t")).structuredContent, { x: "a" });
  });

  test("a failure, a tool without a schema and a tool that is not listed are let through " +
    "(spec server/tools#output-schema)", async () => {
    assert.equal((await clientOf([tool("t", X)], { content: [], isError: true }).call("t")).isError, true);
    for (const tools of [[tool("t")], [], [null, 5, tool("other", X)]]) {
      assert.deepEqual((await clientOf(tools, { content: [] }).call("t")).content, []);
    }
  });

  test("SCH-05: an outputSchema of an unknown dialect is warned of, and its tool and the others work " +
    "(spec basic#implementation-requirements)", async () => {
    const alien = { $schema: "https://example.com/my-dialect" };
    const { call, warnings } = clientOf([tool("t", alien), tool("u", X)], { content: [] });
    assert.deepEqual((await call("t")).content, []);
    assert.match(warnings.join(), /The outputSchema of t is unusable: .*my-dialect/);
    await assert.rejects(call("u"), { code: "result" });
  });

  test("a request for input is no result: only what the call comes to is held to the schema " +
    "(spec basic/patterns/mrtr#inputrequiredresult)", async () => {
    for (const [x, fine] of [["a", true], [1, false]] as const) {
      const exchange: Exchange = async ({ id, method, params = {} }) => ({ jsonrpc: "2.0", id,
        result: (method === "tools/list" ? { tools: [tool("t", X)] }
          : params["requestState"] === "s" ? { content: [], structuredContent: { x } }
          : { resultType: "input_required", requestState: "s" }) as Result });
      const call = checkResults(connect(exchange, answering({})), compileSchema)
        .call("tools/call", { name: "t" });
      if (fine) assert.deepEqual((await call).structuredContent, { x });
      else await assert.rejects(call, { code: "result", message: /broke its outputSchema/ });
    }
  });

  test("the list is asked for once, not with every call (engineering)", async () => {
    const { call, asked } = clientOf([tool("t", X)], { content: [], structuredContent: { x: "a" } });
    await call("t");
    await call("t");
    assert.deepEqual(asked, ["tools/call", "tools/list", "tools/call"]);
  });
});
