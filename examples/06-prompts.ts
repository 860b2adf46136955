// You will learn: prompts, which a person picks from a menu, and completion of their arguments.
import { connect, server, type ProtocolError } from "../mcp-raw.ts";

const { exchange, stdio } = server({ name: "prompts", version: "1.0.0", prompts: [{
  name: "review", title: "Review code", description: "Asks for a review of a piece of code",
  arguments: [{ name: "code", required: true }, { name: "language", description: "What it is in" }],
  complete: { language: ["C", "Go", "JavaScript", "Java", "Python", "Rust", "TypeScript"] },
  get: ({ code, language = "some" }) => `Review this ${language} code, bugs first:\n\n${code}`,
}, {
  name: "haiku", description: "Shows the model an answer, and asks for the next",
  arguments: [{ name: "about", required: true }],
  get: ({ about }) => [
    { role: "user", content: { type: "text", text: "A haiku about rain, please." } },
    { role: "assistant", content: { type: "text", text: "Rain on the tin roof / …" } },
    { role: "user", content: { type: "text", text: `And now one about ${about}.` } },
  ],
}] });
if (process.argv[2] === "--stdio") await stdio(); // for an assistant; else, a client right here:

const client = connect(exchange);
for (const { name, arguments: wanted = [] } of await client.list("prompts/list", "prompts")) {
  console.log(name, wanted.map((one) => one.required ? one.name : `[${one.name}]`).join(" "));
}
// prints: review code [language]
// prints: haiku about
const { completion } = await client.call("completion/complete",
  { ref: { type: "ref/prompt", name: "review" }, argument: { name: "language", value: "ja" } });
console.log(completion.values);
// prints: [ 'JavaScript', 'Java' ]
const { messages } = await client.call("prompts/get",
  { name: "review", arguments: { code: "1 = x", language: completion.values[1] ?? "" } });
console.log(messages[0]?.content);
// prints: { type: 'text', text: 'Review this Java code, bugs first:\n\n1 = x' }
await client.call("prompts/get", { name: "haiku" })
  .catch(({ code, message }: ProtocolError) => console.log(code, message));
// prints: -32602 haiku needs the argument about
