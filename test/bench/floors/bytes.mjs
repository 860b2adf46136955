// The stdio floor, lower still: looks for line feeds in the bytes and writes once a chunk.
const tools = { add: ({ a, b }) => `${a + b}`, echo: ({ text }) => text };

function answer(line) {
  const { id, params } = JSON.parse(line);
  const content = [{ type: "text", text: tools[params.name](params.arguments) }];
  return JSON.stringify({ jsonrpc: "2.0", id, result: { resultType: "complete", content } }) + "\n";
}

let head = []; // the pieces of a line that has not ended yet; only new bytes are searched
process.stdin.on("data", (chunk) => {
  let out = "";
  let start = 0;
  for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
    const piece = chunk.subarray(start, end);
    out += answer((head.length ? Buffer.concat([...head, piece]) : piece).toString());
    head = [];
  }
  if (start < chunk.length) head.push(chunk.subarray(start));
  if (out) process.stdout.write(out);
});
