// You will learn: a client. It starts the server of 03-hello.ts, lists its tools and calls one.
import { fileURLToPath } from "node:url";
import { open, ProtocolError } from "../mcp-raw.ts";

// A URL would do as well: await open("http://127.0.0.1:3100/mcp")
const hello = fileURLToPath(new URL("03-hello.ts", import.meta.url));
const { client, connection } = await open([process.execPath, ...process.execArgv, hello]);

for (const { name, description } of await client.list("tools/list", "tools")) {
  console.log(`${name}: ${description}`);
}
// prints: add: Add two numbers

const sum = await client.call("tools/call", { name: "add", arguments: { a: 2, b: 40 } });
console.log(sum.content);
// prints: [ { type: 'text', text: '42' } ]

// What the model got wrong comes back as a result that it can read …
const wrong = await client.call("tools/call", { name: "add", arguments: { a: 2, b: "x" } });
console.log(wrong.isError, wrong.content);
// prints: true [
// prints:   {
// prints:     type: 'text',
// prints:     text: 'Invalid arguments for add: /b: expected number, got string "x"'
// prints:   }
// prints: ]

// … and what the program got wrong as an error.
const missing = client.call("tools/call", { name: "subtract" });
await missing.catch((error: ProtocolError) => console.log(error.code, error.message));
// prints: -32602 Unknown tool: subtract

await connection.close();
