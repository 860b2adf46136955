// Part III, Rate limits: a caller that calls too often is told when to come back.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assemble, completions, prompts, rateLimit, serveHttp, tools,
  type RateLimitOptions } from "../mcp-raw.ts";
import { jsonOf, lane, post, request } from "./kit-http.ts";

/** A server with a clock of its own; `ran` counts the calls that were let through. */
function limited(options: Partial<RateLimitOptions>) {
  const clock = { time: 1_000_000, ran: 0 };
  const { exchange } = assemble({ name: "t", version: "1" }, [
    tools([{ name: "t", handler: () => (clock.ran++, { content: [] }) }],
      { compile: () => () => undefined }),
    prompts([{ name: "p", get: () => (clock.ran++, "p") }]),
    completions({ prompts: [{ name: "p", arguments: [{ name: "a" }] }] }),
    rateLimit({ calls: 2, perMs: 1000, now: () => clock.time, ...options }),
  ]);
  /** "ok", or how the refusal was put. */
  const ask = async (method = "prompts/get", id?: string, params: object = { name: "p" }) => {
    const response = await exchange(request(method, params),
      { ...lane(), ...(id !== undefined && { principal: { id } }) });
    if ("error" in response) return response.error;
    return response.result.isError === true ? response.result.content : "ok";
  };
  return { clock, ask, exchange };
}
const codeOf = (told: unknown): unknown => (told as { code?: number }).code ?? told;
const waitOf = (told: unknown): number =>
  (told as { data: { retryAfterMs: number } }).data.retryAfterMs;

describe("Rate limits (spec server/tools#security-considerations)", () => {
  test("so many calls pass, the next is refused with error 429 and how long to wait, and does " +
    "not run (engineering)", async () => {
    const { clock, ask } = limited({});
    assert.deepEqual([await ask(), await ask()], ["ok", "ok"]);
    const told = await ask();
    assert.equal(codeOf(told), 429);
    assert.ok(Number.isSafeInteger(waitOf(told)) && waitOf(told) > 0 && waitOf(told) <= 1000);
    assert.equal(clock.ran, 2);
  });

  test("a tool that is called too often says so in a result that the model can read " +
    "(spec server/tools#error-handling)", async () => {
    const { clock, ask } = limited({ calls: 1 });
    const call = () => ask("tools/call", undefined, { name: "t" });
    assert.equal(await call(), "ok");
    const [content] = await call() as { type: string; text: string }[];
    assert.equal(content?.type, "text");
    assert.match(content?.text ?? "", /\d/);
    assert.equal(clock.ran, 1);
  });

  test("the time that is told is enough, and less is not (engineering)", async () => {
    for (const [calls, perMs] of [[1, 1000], [2, 1000], [3, 1000], [7, 100], [60, 60_000]] as
      const) {
      const { clock, ask } = limited({ calls, perMs });
      for (let n = 0; n < calls; n++) assert.equal(await ask(), "ok");
      for (let n = 0; n < 20; n++) {
        const wait = waitOf(await ask());
        clock.time += wait - 1;
        assert.equal(codeOf(await ask()), 429, `${wait - 1} of ${wait} ms at ${calls}/${perMs}`);
        clock.time += 1;
        assert.equal(await ask(), "ok", `${wait} ms at ${calls}/${perMs}`);
      }
    }
  });

  test("over a long time no more pass than the rate allows, however often it is tried " +
    "(engineering)", async () => {
    const { clock, ask } = limited({ calls: 5, perMs: 1000 });
    for (let n = 0; n < 1000; n++, clock.time += 10) await ask();
    assert.ok(clock.ran >= 50 && clock.ran <= 56, String(clock.ran));
  });

  test("each principal has a limit of its own, and those without one share one (engineering)",
    async () => {
      const { ask } = limited({ calls: 1 });
      const as = async (id?: string) => codeOf(await ask("prompts/get", id));
      assert.deepEqual([await as("a"), await as("b"), await as(), await as("__proto__")],
        ["ok", "ok", "ok", "ok"]);
      assert.deepEqual([await as("a"), await as("b"), await as(), await as("__proto__")],
        [429, 429, 429, 429]);
    });

  test("methods that are named count, others do not; completion can be limited " +
    "(spec server/utilities/completion#security)", async () => {
    const { ask } = limited({ calls: 1, count: ["completion/complete"] });
    const complete = async () => codeOf(await ask("completion/complete", undefined,
      { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }));
    assert.deepEqual([await complete(), await complete()], ["ok", 429]);
    for (let n = 0; n < 5; n++) assert.equal(await ask(), "ok");
  });

  test("a clock that is put back locks nobody out for longer than the span (engineering)",
    async () => {
      const { clock, ask } = limited({ calls: 1 });
      assert.equal(await ask(), "ok");
      clock.time -= 500_000;
      const wait = waitOf(await ask());
      assert.ok(wait <= 1000, `${wait} ms`);
      clock.time += wait;
      assert.equal(await ask(), "ok");
    });

  test("over HTTP the refusal is an error like any other, with status 200 " +
    "(spec basic/transports/streamable-http#receiving-messages)", async () => {
    const handle = serveHttp(limited({ calls: 1 }).exchange);
    await handle(post("prompts/get", { name: "p" }));
    const reply = await handle(post("prompts/get", { name: "p" }, {}, 2));
    const { id, error } = jsonOf(reply) as { id: number; error: { code: number; data: object } };
    assert.deepEqual([reply.status, id, error.code, Object.keys(error.data)],
      [200, 2, 429, ["retryAfterMs"]]);
  });
});
