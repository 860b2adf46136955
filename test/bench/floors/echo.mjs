// Sends every byte back where it came from, on a port. It shows how fast the loader can go: over
// stdio `cat` does the same.
import { createServer } from "node:net";

createServer((socket) => {
  socket.setNoDelay(true);
  socket.on("error", () => {});
  socket.on("data", (chunk) => socket.write(chunk));
}).listen(Number(process.argv[2]), "127.0.0.1");
