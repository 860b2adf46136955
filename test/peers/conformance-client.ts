// What the conformance suite starts as the client under test. The suite starts all its scenarios
// together, on few cores; so that none starves, at most three run at once: conformance-client.ts URL
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const AT_ONCE = 3;
const folder = process.env.MCP_RAW_SLOTS ?? join(tmpdir(), `mcp-raw-slots-${process.ppid}`);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
// Each draws a ticket, a file that nobody else touches: its name is its place in the line, and
// whose it is. The tickets of those that were killed stay, and do not count.
const ticket = `${String(Date.now()).padStart(15, "0")}-${process.pid}`;
const ahead = () => readdirSync(folder)
  .filter((other) => other < ticket && isAlive(Number(other.split("-")[1]))).length;
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, ticket), "");
try {
  while (ahead() >= AT_ONCE) await pause(50 + Math.random() * 100);
  // Only now: to load the client is most of the work, and is not to be done by all together.
  const { everything, runOf } = await import("../../examples/everything-client.ts");
  await everything(process.argv[2] ?? "", runOf(process.env));
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  rmSync(join(folder, ticket), { force: true });
}
