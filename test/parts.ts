// The tests of the Parts, and others as quick, in one process: to start a process for each file
// would take longer than they do.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import "./anchors.test.ts";
import "./part1.test.ts";
import "./part2-events.test.ts";
import "./part2-http.test.ts";
import "./part2-stdio.test.ts";
import "./part3-completion.test.ts";
import "./part3-lists.test.ts";
import "./part3-prompts.test.ts";
import "./part3-rate.test.ts";
import "./part3-reports.test.ts";
import "./part3-resources.test.ts";
import "./part3-rounds.test.ts";
import "./part3-subscriptions.test.ts";
import "./part3-templates.test.ts";
import "./part3.test.ts";
import "./part4-answering.test.ts";
import "./part4-caching.test.ts";
import "./part4-checked.test.ts";
import "./part4-icons.test.ts";
import "./part4-subscribing.test.ts";
import "./part4.test.ts";
import "./part5-client-http.test.ts";
import "./part5-client.test.ts";
import "./part5-http.test.ts";
import "./part5-sessions.test.ts";
import "./part6-attacks.test.ts";
import "./part6-client.test.ts";
import "./part6-server.test.ts";
import "./part6-strangers.test.ts";
import "./part6-wire.test.ts";
import "./patterns.test.ts";
import "./signing.test.ts";
import "./wire.test.ts";

test("no test of a Part is left out here, and none runs twice", () => {
  const here = readFileSync(new URL(import.meta.url), "utf8");
  const { scripts } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  for (const file of readdirSync(new URL(".", import.meta.url))) {
    if (!file.endsWith(".test.ts")) continue;
    const alone = scripts.test.includes(` test/${file}`);
    assert.notEqual(here.includes(`import "./${file}";`), alone, file);
  }
});
