// You will learn: MCP on one path of a node:http server that has other routes already.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeListener, open, server, text } from "../mcp-raw.ts";

const stock = new Map([["tea", 3]]);
const app = server({ name: "shop", version: "1.0.0", tools: [{
  name: "stock", description: "How many there are of an article",
  inputSchema: {
    type: "object", properties: { article: { type: "string" } }, required: ["article"],
  },
  handler: ({ article }) => text(`${stock.get(article) ?? 0} left`),
}], http: { loopbackOnly: true } }); // a web page that rebinds its name to this address stays out
const mcp = nodeListener(app.handle);

const shop = createServer((request, response) => {
  const [path] = (request.url ?? "").split("?");
  if (path === "/mcp") mcp(request, response); // do not read the body before
  else if (path === "/health") response.end("fine");
  else response.writeHead(404).end("Nothing here\n");
}).listen(0, "127.0.0.1");
await new Promise((resolve) => shop.once("listening", resolve));
const base = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;

console.log(await (await fetch(`${base}/health`)).text());
// prints: fine
const { client, connection } = await open(`${base}/mcp`);
const tea = await client.call("tools/call", { name: "stock", arguments: { article: "tea" } });
console.log(tea.content);
// prints: [ { type: 'text', text: '3 left' } ]
await connection.close();
shop.close();
