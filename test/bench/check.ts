// What is sent, and what a server must answer before it is timed.
import type { Server, Side } from "./server.ts";

const VERSION = "2026-07-28";

export function toolCall(id: string, tool: string, args: string, version = VERSION): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call",` +
    `"params":{"name":"${tool}","arguments":${args},"_meta":{` +
    `"io.modelcontextprotocol/protocolVersion":"${version}",` +
    `"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},` +
    `"io.modelcontextprotocol/clientCapabilities":{}}}}`;
}

export const HEADERS = {
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
  "MCP-Protocol-Version": VERSION,
  "Mcp-Method": "tools/call",
  "Mcp-Name": "add",
};

interface Reply {
  status: number; // 0 on stdio
  bytes: number;
  message: {
    result?: { isError?: boolean; content?: { text: string }[] };
    error?: { code: number };
  };
}
type Holds = (reply: Reply) => boolean;
const says = (text: string): Holds => ({ message: { result } }) =>
  !result?.isError && result?.content?.[0]?.text === text;
const isError: Holds = ({ message }) => message.result?.isError === true;
const refuses = (code: number, httpStatus: number): Holds => ({ status, message }) =>
  message.error?.code === code && (status === 0 || status === httpStatus);

type Case = [what: string, body: string, holds: Holds, headers?: Record<string, string>];
const ONE_TWO = '{"a":1,"b":2}';
const RIGHT: Case[] = [
  ["1 + 2", toolCall("1", "add", ONE_TWO), says("3")],
  ["40 + 2.5", toolCall("2", "add", '{"b":2.5,"a":40}'), says("42.5")],
];
const WRONG: Case[] = [
  ["an argument of the wrong type", toolCall("3", "add", '{"a":"1","b":2}'), isError],
  ["a missing argument", toolCall("4", "add", '{"a":1}'), isError],
  ["an unknown tool", toolCall("5", "no", "{}"), refuses(-32602, 200), { "Mcp-Name": "no" }],
  ["an unknown version", toolCall("6", "add", ONE_TWO, "1900-01-01"), refuses(-32022, 400),
    { "MCP-Protocol-Version": "1900-01-01" }],
  ["half a message", '{"jsonrpc":"2.0","id":7', refuses(-32700, 400)],
];
const WRONG_HTTP: Case[] = [
  ["a header that names another tool", toolCall("8", "add", ONE_TWO), refuses(-32020, 400),
    { "Mcp-Name": "echo" }],
  ["a foreign origin", toolCall("9", "add", ONE_TWO), ({ status }) => status === 403,
    { Origin: "http://evil.example" }],
];

/** Throws unless right is answered and, by a side that does the protocol, wrong is refused. */
export async function check(side: Side, server: Server): Promise<void> {
  if (side.echo) return;
  const wrong = server.port ? [...WRONG, ...WRONG_HTTP] : WRONG;
  for (const [what, body, holds, headers] of side.protocol ? [...RIGHT, ...wrong] : RIGHT) {
    const reply = await ask(server, body, headers);
    if (!holds(reply)) throw new Error(`${side.name}, ${what}: ${JSON.stringify(reply)}`);
  }
}

/** One message, one answer. */
export function ask(server: Server, body: string, headers = {}): Promise<Reply> {
  const reply = server.port ? post(server, body, headers) : write(server, body);
  return Promise.race([reply, server.failed]);
}

async function post({ port }: Server, body: string, headers: object): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`,
    { method: "POST", headers: { ...HEADERS, ...headers }, body });
  const text = await response.text();
  return { status: response.status, bytes: text.length, message: JSON.parse(text || "{}") };
}

function write({ child: { stdin, stdout } }: Server, body: string): Promise<Reply> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    stdout?.on("data", function read(chunk: Buffer) {
      chunks.push(chunk);
      if (chunk.at(-1) !== 10) return;
      stdout.off("data", read);
      const line = Buffer.concat(chunks);
      resolve({ status: 0, bytes: line.length, message: JSON.parse(line.toString()) });
    });
    stdin?.write(body + "\n");
  });
}
