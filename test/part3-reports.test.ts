// Part III, Progress and logging: what a handler says while it runs.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  assemble, changeSource, logging, progress, serveHttp, subscriptions, text, tools, type Context,
  type JSONRPCNotification,
} from "../mcp-raw.ts";
import { conversation } from "./kit.ts";
import { META, headersFor, lane, posted, read, until } from "./kit-http.ts";

type Work = (context: Context) => unknown;
/** A server of one tool that does this, and of a list that is not a tool's. */
const working = (work: Work) => assemble({ name: "t", version: "1" }, [
  tools([{ name: "t", async handler(_, context) {
    await work(context);
    return text("done");
  } }], { compile: () => () => undefined }),
  progress(), logging(),
]).exchange;
const asked = (meta: object, id: number | string = 1, method = "tools/call") => ({
  jsonrpc: "2.0" as const, id, method,
  params: { name: "t", arguments: {}, _meta: { ...META, ...meta } } });
const LOG = "io.modelcontextprotocol/logLevel";

/** What is said under way when a tool that does this is called with this _meta. */
async function said(work: Work, meta: object): Promise<JSONRPCNotification[]> {
  const on = lane();
  await working(work)(asked(meta), on);
  return JSON.parse(JSON.stringify(on.said)) as JSONRPCNotification[];
}
const progressed = (params: object) =>
  ({ jsonrpc: "2.0", method: "notifications/progress", params });
const logged = (params: object) => ({ jsonrpc: "2.0", method: "notifications/message", params });

describe("Progress", () => {
  test("progress goes out under the token that was given, with what there is to say " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    const work: Work = async ({ progress }) => {
      await progress(50, 100, "Reticulating splines...");
      await progress(51);
      await progress(52, undefined, "more");
    };
    assert.deepEqual(await said(work, { progressToken: "abc123" }), [
      progressed({ progressToken: "abc123", progress: 50, total: 100,
        message: "Reticulating splines..." }),
      progressed({ progressToken: "abc123", progress: 51 }),
      progressed({ progressToken: "abc123", progress: 52, message: "more" })]);
  });

  test("a token is a string or an integer, and comes back as it was " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    for (const progressToken of ["", "p", "7", 7, 0, -1, 9007199254740991]) {
      assert.deepEqual(await said(({ progress }) => progress(1), { progressToken }),
        [progressed({ progressToken, progress: 1 })]);
    }
  });

  test("PRG-02: without a token, and under what is none, there is no progress " +
    "(spec basic/patterns/progress#behavior-requirements)", async () => {
    const metas: object[] = [{}, { progressToken: null }, { progressToken: 1.5 },
      { progressToken: {} }, { progressToken: ["p"] }, { progressToken: true },
      JSON.parse('{"__proto__":{"progressToken":9}}') as object];
    for (const meta of metas) {
      assert.deepEqual(await said(({ progress }) => progress(1), meta), [], JSON.stringify(meta));
    }
  });

  test("PRG-06: values that do not grow are left out, and nothing follows the answer " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    let late: Context | undefined;
    const talk = conversation(working(async (context) => {
      for (const value of [1, 5, 3, 5]) await context.progress(value);
      late = context;
    }));
    await talk.say(JSON.stringify(asked({ progressToken: "p" })));
    await until(() => talk.heard().length === 3);
    await late?.progress(9);
    const [one, five, answer, ...more] = await talk.end();
    assert.deepEqual([one, five], [progressed({ progressToken: "p", progress: 1 }),
      progressed({ progressToken: "p", progress: 5 })]);
    assert.deepEqual([answer.id, answer.result.resultType, more], [1, "complete", []]);
  });

  test("PRG-06: over HTTP too, where the answer ends the stream " +
    "(spec basic/patterns/progress#implementation-notes)", async () => {
    let late: Context | undefined;
    const handle = serveHttp(working(async (context) => {
      for (const value of [1, 5, 3, 5]) await context.progress(value);
      late = context;
    }));
    const reply = await handle(posted(JSON.stringify(asked({ progressToken: "p" })),
      headersFor("tools/call", "t")));
    const stream = read(reply);
    await until(() => stream.closed);
    await late?.progress(9);
    const data = [...stream.text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) =>
      JSON.parse(json));
    assert.deepEqual(data.map(({ params, id }) => params?.progress ?? `answer ${id}`),
      [1, 5, "answer 1"]);
  });

  test("nothing follows a cancellation (spec basic/transports/stdio#cancellation)", async () => {
    let go = () => {};
    const talk = conversation(working(async ({ progress }) => {
      await progress(1);
      await new Promise<void>((resolve) => (go = resolve));
      await progress(2);
    }));
    await talk.say(JSON.stringify(asked({ progressToken: "p" })));
    await talk.say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}');
    go();
    assert.deepEqual(await talk.end(), [progressed({ progressToken: "p", progress: 1 })]);
  });

  test("values and totals may be fractions and start anywhere; what is no number is never sent " +
    "(spec basic/patterns/progress#progress-flow)", async () => {
    const work: Work = async ({ progress }) => {
      for (const value of [-1.5, 0, 0.2, 0.6, NaN, Infinity, "7" as never, 1]) {
        await progress(value, 1.0);
      }
    };
    const all = await said(work, { progressToken: "p" });
    assert.deepEqual(all.map(({ params }) => params?.progress), [-1.5, 0, 0.2, 0.6, 1]);
    for (const { params } of all) assert.equal(params?.total, 1);
  });

  test("a total that is no number is never sent (spec basic/patterns/progress#progress-flow)",
    async () => {
      for (const total of [NaN, Infinity]) {
        for (const { params } of await said(({ progress }) => progress(1, total),
          { progressToken: "p" })) assert.notEqual(params?.total, null);
      }
    });

  test("calls that run at once report under their own tokens, each growing by itself " +
    "(spec basic/patterns/progress#behavior-requirements)", async () => {
    const exchange = working(async ({ progress, request: { id } }) => {
      await progress(Number(id));
      await null;
      await progress(Number(id) + 0.5);
    });
    const lanes = [lane(), lane()];
    await Promise.all([exchange(asked({ progressToken: "nine" }, 9), lanes[0] ?? lane()),
      exchange(asked({ progressToken: "two" }, 2), lanes[1] ?? lane())]);
    assert.deepEqual(lanes.map(({ said }) => said.map(({ params }) => params?.progress)),
      [[9, 9.5], [2, 2.5]]);
    assert.deepEqual(lanes.map(({ said }) => said[0]?.params?.progressToken), ["nine", "two"]);
  });

  test("a handler can wait for a reader that is behind (engineering)", async () => {
    const behind = Promise.resolve();
    const on = { ...lane(), notify: () => behind };
    const given: unknown[] = [];
    await working(({ progress, log }) => given.push(progress(1), log("error", 1)))(
      asked({ progressToken: "p", [LOG]: "debug" }), on);
    assert.deepEqual(given, [behind, behind]);
  });
});

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert",
  "emergency"] as const;

describe("Logging", () => {
  test("the capability is declared (spec server/utilities/logging#capabilities)", async () => {
    const response = await working(() => {})(asked({}, 1, "server/discover"), lane());
    assert.ok("result" in response);
    assert.deepEqual(response.result.capabilities, { tools: {}, logging: {} });
  });

  test("a line has its level, its data, which is any JSON, and its logger if it has one " +
    "(spec server/utilities/logging#log-message-notifications)", async () => {
    const work: Work = async ({ log }) => {
      await log("error", { error: "Connection failed", details: { port: 5432 } }, "database");
      for (const data of ["text", 0, false, null, []]) await log("info", data);
    };
    assert.deepEqual(await said(work, { [LOG]: "debug" }), [
      logged({ level: "error", logger: "database",
        data: { error: "Connection failed", details: { port: 5432 } } }),
      ...["text", 0, false, null, []].map((data) => logged({ level: "info", data }))]);
  });

  test("without a level in the request there is no line " +
    "(spec server/utilities/logging#per-request-log-level)", async () => {
    assert.deepEqual(await said(({ log }) => log("emergency", "x"), { progressToken: "p" }), []);
  });

  for (const [at, least] of LEVELS.entries()) {
    test(`asked for ${least}, lines at ${least} and above go out and no others ` +
      `(spec server/utilities/logging#per-request-log-level)`, async () => {
      const lines = await said(async ({ log }) => {
        for (const level of LEVELS) await log(level, level);
      }, { [LOG]: least });
      assert.deepEqual(lines.map(({ params }) => params?.level), LEVELS.slice(at));
    });
  }

  test("a line of a level that is none is not sent (spec server/utilities/logging#log-levels)",
    async () => {
      assert.deepEqual(await said(async ({ log }) => {
        for (const level of ["trace", "INFO", "", undefined]) await log(level as never, "x");
      }, { [LOG]: "debug" }), []);
    });

  test("a request that asks for a level that is none is -32602 whatever its method, and its " +
    "handler does not run (spec server/utilities/logging#error-handling)", async () => {
    const exchange = working(() => assert.fail("ran"));
    for (const level of ["trace", "INFO", "", "error ", 3, null, ["info"], {}, "__proto__"]) {
      for (const method of ["tools/call", "tools/list", "server/discover"]) {
        const response = await exchange(asked({ [LOG]: level }, 1, method), lane());
        assert.equal("error" in response && response.error.code, -32602,
          `${method} ${JSON.stringify(level)}`);
      }
    }
  });

  test("the level of one request is nothing to another " +
    "(spec server/utilities/logging#per-request-log-level)", async () => {
    const exchange = working(async ({ log }) => {
      await null;
      await log("info", "x");
    });
    const lanes = [lane(), lane(), lane()] as const;
    await Promise.all([exchange(asked({ [LOG]: "debug" }, 1), lanes[0]),
      exchange(asked({}, 2), lanes[1]), exchange(asked({ [LOG]: "error" }, 3), lanes[2])]);
    assert.deepEqual(lanes.map(({ said }) => said.length), [1, 0, 0]);
  });

  test("a line goes out before the answer, on the stream of its request, and nothing after it " +
    "(spec server/utilities/logging#per-request-log-level)", async () => {
    let late: Context | undefined;
    const handle = serveHttp(working(async (context) => {
      await context.log("info", "early");
      late = context;
    }));
    const stream = read(await handle(posted(JSON.stringify(asked({ [LOG]: "info" })),
      headersFor("tools/call", "t"))));
    await until(() => stream.closed);
    await late?.log("emergency", "late");
    const data = [...stream.text.matchAll(/^data: (.*)$/gm)].map(([, json = ""]) =>
      JSON.parse(json));
    assert.deepEqual(data[0], logged({ level: "info", data: "early" }));
    assert.deepEqual([data.length, data[1].id], [2, 1]);
  });

  test("neither lines nor progress go over a subscription " +
    "(spec server/utilities/logging#per-request-log-level)", async () => {
    const source = changeSource();
    const { exchange } = assemble({ name: "t", version: "1" }, [
      tools([{ name: "t", async handler(_, { log, progress }) {
        await log("emergency", "x");
        await progress(1);
        return text("done");
      } }], { compile: () => () => undefined }),
      progress(), logging(), subscriptions(source, ["toolsListChanged"])]);
    const [listening, calling] = [lane(), lane()];
    void exchange({ jsonrpc: "2.0", id: "s", method: "subscriptions/listen", params: {
      notifications: { toolsListChanged: true },
      _meta: { ...META, [LOG]: "debug", progressToken: "p" } } }, listening);
    await exchange(asked({ [LOG]: "debug", progressToken: "q" }), calling);
    source.close();
    assert.deepEqual(listening.said.map(({ method }) => method),
      ["notifications/subscriptions/acknowledged"]);
    assert.deepEqual(calling.said.map(({ method }) => method),
      ["notifications/message", "notifications/progress"]);
  });
});
