// You will learn: tools that become tasks: at once, after a question, or only if the client knows
// tasks. They are what the conformance suite calls for the extension of that name.
import { INTERNAL_ERROR, pause, ProtocolError, text, tool, toolError, type ToolDefinition }
  from "../../mcp-raw.ts";
import type {} from "./tasks.ts"; // gives Context its task()

const yesNo = (message: string) => ({ method: "elicitation/create", params: { message,
  requestedSchema: { type: "object", required: ["confirm"],
    properties: { confirm: { type: "boolean" } } } } }) as const;
const askName = { method: "elicitation/create", params: { message: "What is your name?",
  requestedSchema: { type: "object", required: ["name"],
    properties: { name: { type: "string" } } } } } as const;

export const taskTools: readonly ToolDefinition[] = [
  tool({ name: "greet", description: "Greets, at once",
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    handler: ({ name }) => text(`Hello, ${name}!`) }),
  tool({ name: "slow_compute", description: "Takes as long as it is told",
    inputSchema: { type: "object", required: ["seconds"], properties: {
      seconds: { type: "number", minimum: 0, maximum: 600 }, label: { type: "string" } } },
    async handler({ seconds, label = "work" }, { lane, task }) {
      await task();
      await pause(seconds * 1000, lane.signal);
      return text(`${label} took ${seconds} s`);
    } }),
  tool({ name: "failing_job", description: "Fails after a second; only as a task",
    async handler(_, { lane, task }) {
      await task({ required: true });
      await pause(1000, lane.signal);
      return toolError("The job has failed");
    } }),
  tool({ name: "protocol_error_job", description: "Ends with an error of the protocol",
    async handler(_, { task }) {
      await task();
      throw new ProtocolError(INTERNAL_ERROR, "The job broke");
    } }),
  tool({ name: "confirm_delete", description: "Asks before it deletes nothing",
    inputSchema: { type: "object", properties: { filename: { type: "string" } },
      required: ["filename"] },
    async handler({ filename }, { ask, task }) {
      await task();
      const { content } = await ask("confirm", yesNo(`Delete ${filename}?`));
      return text(content?.confirm ? `Deleted ${filename}` : `Kept ${filename}`);
    } }),
  tool({ name: "multi_input", description: "Asks two things at once",
    async handler(_, { ask, task }) {
      await task();
      const [who, sure] = await Promise.all([ask("name", askName),
        ask("confirm", yesNo("Are you sure?"))]);
      return text(`${who.content?.name}: ${sure.content?.confirm}`);
    } }),
  tool({ name: "test_tool_with_task", description: "Asks first, then becomes a task",
    async handler(_, { ask, task }) {
      const { content } = await ask("name", askName);
      await task();
      return text(`Hello, ${content?.name}!`);
    } }),
];
