// You will learn: a server with one tool, in twelve lines. Run it, or let a client run it.
import { server, text } from "../mcp-raw.ts";
const app = server({ name: "hello", version: "1.0.0", tools: [{
  name: "add", description: "Add two numbers",
  inputSchema: {
    type: "object", properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
  handler: ({ a, b }) => text(`${a + b}`),
}] });
if (process.argv[2] === "--http") console.error((await app.listen(3100)).url);
else await app.stdio();
