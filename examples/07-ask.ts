// You will learn: a tool that asks the user, twice, and does a thing once. The client answers.
import { answering, connect, server, text } from "../mcp-raw.ts";

const hour = { type: "integer", minimum: 17, maximum: 22, default: 19 } as const;
const seen = { rounds: 0, lookups: 0 };
const { exchange, stdio } = server({ name: "ask", version: "1.0.0", tools: [{
  name: "book", description: "Books a table",
  inputSchema: {
    type: "object", properties: { people: { type: "integer" } }, required: ["people"],
  },
  // It runs from the top in each round, with the answers of the rounds before.
  async handler({ people }, { ask, once }) {
    seen.rounds++;
    const when = await ask("when", { method: "elicitation/create", params: {
      message: "At what time?",
      requestedSchema: { type: "object", properties: { hour }, required: ["hour"] } } });
    if (when.action !== "accept") return text("No table then");
    const table = await once("table", () => { // what is looked up is kept for the later rounds
      seen.lookups++;
      return Math.ceil(people / 4);
    });
    const sure = await ask("sure", { method: "elicitation/create", params: {
      message: `Table ${table} at ${when.content.hour}:00?`,
      requestedSchema: { type: "object", properties: {} } } });
    return text(sure.action === "accept" ? `Booked table ${table}` : "Nothing is booked");
  },
}] });
if (process.argv[2] === "--stdio") await stdio(); // for an assistant; else, a client right here:

const { call } = connect(exchange, answering({ form({ message, requestedSchema }) {
  console.log(message, Object.keys(requestedSchema.properties));
  return { action: "accept", content: {} }; // what is left out gets its default
} }));
console.log((await call("tools/call", { name: "book", arguments: { people: 7 } })).content);
// prints: At what time? [ 'hour' ]
// prints: Table 2 at 19:00? []
// prints: [ { type: 'text', text: 'Booked table 2' } ]
console.log(seen);
// prints: { rounds: 3, lookups: 1 }
