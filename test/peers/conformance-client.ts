// What the conformance suite starts as the client under test. The suite starts all its scenarios
// together, on few cores; so that none starves, at most three run at once: conformance-client.ts URL
import { mkdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { everything, runOf } from "../../examples/everything-client.ts";

const SLOTS = 3;
const folder = process.env.MCP_RAW_SLOTS ?? join(tmpdir(), `mcp-raw-slots-${process.ppid}`);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
/** Takes a free slot, or one whose owner has died; gives the file that holds it. */
function takeSlot(): string | undefined {
  for (let slot = 0; slot < SLOTS; slot++) {
    const file = join(folder, String(slot));
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      return file;
    } catch {
      try {
        if (!isAlive(Number(readFileSync(file, "utf8")))) unlinkSync(file); // free at the next look
      } catch {
        // it was freed meanwhile
      }
    }
  }
  return undefined;
}

mkdirSync(folder, { recursive: true });
let slot = takeSlot();
for (; slot === undefined; slot = takeSlot()) await pause(50 + Math.random() * 100);
try {
  await everything(process.argv[2] ?? "", runOf(process.env));
} catch (error) {
  console.error(String(error));
  process.exitCode = 1;
} finally {
  unlinkSync(slot);
}
