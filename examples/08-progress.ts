// You will learn: progress of a long call, and how a call is given up half-way.
import { setTimeout as sleep } from "node:timers/promises";
import { connect, server, text } from "../mcp-raw.ts";

const notes: string[] = [];
const { exchange, stdio } = server({ name: "progress", version: "1.0.0", tools: [{
  name: "copy", description: "Copies files, slowly",
  inputSchema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
  async handler({ n }, { progress, lane }) {
    for (let done = 0; done < n && !lane.signal.aborted; done++) {
      await progress(done, n, `file ${done + 1}`); // goes nowhere unless the caller wants it
      await sleep(10); // whatever takes a signal, such as fetch, gets lane.signal
    }
    if (lane.signal.aborted) notes.push(`given up: ${lane.signal.reason.message}`);
    return text(`Copied ${n} files`); // after "Stop" nobody hears this
  },
}] });
if (process.argv[2] === "--stdio") await stdio(); // for an assistant; else, a client right here:

const { call } = connect(exchange);
const { content } = await call("tools/call", { name: "copy", arguments: { n: 2 } }, {
  onProgress: ({ progress, total, message }) => console.log(`${progress} of ${total}: ${message}`),
});
console.log(content);
// prints: 0 of 2: file 1
// prints: 1 of 2: file 2
// prints: [ { type: 'text', text: 'Copied 2 files' } ]

const user = new AbortController();
const long = call("tools/call", { name: "copy", arguments: { n: 1000 } }, { signal: user.signal,
  onProgress({ progress }) {
    if (progress === 3) user.abort(new Error("Stop was pressed"));
  } });
await long.catch((error: Error) => console.log("client:", error.message));
// prints: client: Stop was pressed
await sleep(50);
console.log("server:", ...notes);
// prints: server: given up: Stop was pressed
