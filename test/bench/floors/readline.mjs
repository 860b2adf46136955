// The stdio floor: what anybody writes first. Lines from node:readline, one write an answer, and
// nothing of the protocol but the shape of a result.
import { createInterface } from "node:readline";

const tools = { add: ({ a, b }) => `${a + b}`, echo: ({ text }) => text };

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, params } = JSON.parse(line);
  const content = [{ type: "text", text: tools[params.name](params.arguments) }];
  const answer = { jsonrpc: "2.0", id, result: { resultType: "complete", content } };
  process.stdout.write(JSON.stringify(answer) + "\n");
});
