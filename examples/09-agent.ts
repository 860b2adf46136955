// You will learn: an agent. A model and the tools of a server take turns until there is an answer.
import { fileURLToPath } from "node:url";
import { open, type Client } from "../mcp-raw.ts";

// A model is a function with the shape of the chat-completions APIs; a real one calls fetch.
interface ToolCall { id: string; type: "function"; function: { name: string; arguments: string } }
interface Message { role: "user" | "assistant" | "tool"; content: string | null;
  tool_calls?: ToolCall[]; tool_call_id?: string }
type Complete = (body: { messages: Message[]; tools: object[] }) =>
  Promise<{ choices: { message: Message }[] }>;

/** Lets the model call tools until it has an answer. */
export async function agent(complete: Complete, { list, call }: Client, question: string) {
  const tools = (await list("tools/list", "tools")).map(({ name, description, inputSchema }) =>
    ({ type: "function", function: { name, description, parameters: inputSchema } }));
  const run = async (name: string, json: string): Promise<string> => {
    const { content } = await call("tools/call", { name, arguments: JSON.parse(json) });
    return content.map((one) => one.type === "text" ? one.text : JSON.stringify(one)).join("\n");
  };
  const messages: Message[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < 10; turn++) {
    const message = (await complete({ messages, tools })).choices[0]?.message;
    if (message?.tool_calls === undefined) return message?.content;
    messages.push(message);
    for (const { id, function: { name, arguments: json } } of message.tool_calls) {
      const content = await run(name, json).catch(String); // a model can often mend what failed
      messages.push({ role: "tool", tool_call_id: id, content });
    }
  }
  throw new Error("no answer in ten turns");
}

// A stand-in that follows a script, and at first gets the type of an argument wrong.
const add = (id: string, args: string): Message => ({ role: "assistant", content: null,
  tool_calls: [{ id, type: "function", function: { name: "add", arguments: args } }] });
const script = [add("1", '{"a":"two","b":40}'), add("2", '{"a":2,"b":40}')];
const standIn: Complete = async ({ messages }) => {
  const heard = messages.at(-1)?.content ?? "";
  console.log(heard);
  const last: Message = { role: "assistant", content: `It is ${heard}.` };
  return { choices: [{ message: script.shift() ?? last }] };
};

const hello = fileURLToPath(new URL("03-hello.ts", import.meta.url));
const { client, connection } = await open([process.execPath, ...process.execArgv, hello]);
console.log(await agent(standIn, client, "What is two and forty?"));
// prints: What is two and forty?
// prints: Invalid arguments for add: /a: expected number, got string "two"
// prints: 42
// prints: It is 42.
await connection.close();
