// The HTTP floor: a node:http server that reads a body, parses it and answers with JSON.
import { createServer } from "node:http";

const tools = { add: ({ a, b }) => `${a + b}`, echo: ({ text }) => text };

createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const { id, params } = JSON.parse(body);
    const content = [{ type: "text", text: tools[params.name](params.arguments) }];
    const result = { resultType: "complete", content };
    const answer = JSON.stringify({ jsonrpc: "2.0", id, result });
    const length = Buffer.byteLength(answer);
    response.writeHead(200, { "Content-Type": "application/json", "Content-Length": length });
    response.end(answer);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
