// You will learn: a transport of your own. Any pair of byte streams will do; this one is TCP.
import { connect as dial, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { assemble, connect, connectLines, nodeWriter, serveLines } from "../mcp-raw.ts";
import { compileSchema, text, tool, tools, type Pipe } from "../mcp-raw.ts";

const pipe = (socket: Socket): Pipe => ({ readable: socket, write: nodeWriter(socket) });

const shout = tool({
  name: "shout",
  inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: (args) => text(args.text.toUpperCase()),
});
const { exchange } = assemble({ name: "tcp", version: "1.0.0" }, [
  tools([shout], { compile: compileSchema }),
]);

const server = createServer((socket) => {
  serveLines(exchange, pipe(socket)).finally(() => socket.destroy());
}).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));

const socket = dial((server.address() as AddressInfo).port, "127.0.0.1");
const client = connect(connectLines(pipe(socket)).exchange);
const result = await client.call("tools/call", { name: "shout", arguments: { text: "hello" } });
console.log(result.content);
// prints: [ { type: 'text', text: 'HELLO' } ]

socket.end();
server.close();
