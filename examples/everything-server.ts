// You will learn: a server that does a bit of everything a server can do, feature by feature, for
// clients of every revision. The conformance suite of the protocol calls it, so most names are the
// suite's. everything-server.ts PORT serves http://127.0.0.1:PORT/mcp
import { blocks, changeSource, server, structured, text, tool, toolError,
  type CallToolRequestParams, type CreateMessageRequest, type PromptDefinition,
  type ResourceDefinition, type TemplateDefinition, type ToolDefinition } from "../mcp-raw.ts";
import { taskTools } from "./extensions/task-tools.ts";
import { readSkills, skillResources, skills } from "./extensions/skills.ts";
import { tasks } from "./extensions/tasks.ts";

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJ" +
  "RU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const picture = { type: "image", data: PNG, mimeType: "image/png" } as const;
const sound = { type: "audio", data: WAV, mimeType: "audio/wav" } as const;
/** What is at a URI, put into a result; a link (resource_link) would only name it. */
const embedded = (uri: string) => ({ type: "resource",
  resource: { uri, mimeType: "text/plain", text: `What is at ${uri}` } }) as const;

// ---- Tools: what a result may hold ------------------------------------------

const results: readonly ToolDefinition[] = [
  tool({ name: "test_simple_text", description: "Gives text",
    handler: () => text("A simple text") }),
  tool({ name: "test_image_content", description: "Gives an image",
    handler: () => blocks(picture) }),
  tool({ name: "test_audio_content", description: "Gives a sound", handler: () => blocks(sound) }),
  tool({ name: "test_embedded_resource", description: "Gives a resource",
    handler: () => blocks(embedded("test://embedded")) }),
  tool({ name: "test_multiple_content_types", description: "Gives several things",
    handler: () => blocks({ type: "text", text: "Several" }, picture, embedded("test://mixed")) }),
  tool({ name: "test_error_handling", description: "Fails, in a way that a model can read",
    handler: () => toolError("This tool always fails") }),
  tool({ name: "divide", title: "Division", description: "Gives a value, for programs",
    annotations: { readOnlyHint: true, openWorldHint: false },
    icons: [{ src: `data:image/png;base64,${PNG}`, mimeType: "image/png" }],
    inputSchema: { type: "object", required: ["a", "b"], properties: {
      a: { type: "integer" }, b: { type: "integer", minimum: 1 } } },
    outputSchema: { type: "object", required: ["quotient", "rest"], properties: {
      quotient: { type: "integer" }, rest: { type: "integer" } } },
    handler: ({ a, b }) => structured({ quotient: Math.trunc(a / b), rest: a % b }) }),
];

// ---- Tools: what happens meanwhile ------------------------------------------

const meanwhile: readonly ToolDefinition[] = [
  tool({ name: "test_tool_with_logging", description: "Logs three times",
    async handler(_, { log }) {
      for (const step of ["begins", "goes on", "ends"]) {
        await log("info", `The tool ${step}`);
        await pause(50);
      }
      return text("Logged");
    } }),
  tool({ name: "test_logging_tool", description: "Logs, for clients that asked for it",
    async handler(_, { log }) {
      await log("info", "Only for those who want to know");
      return text("Logged");
    } }),
  tool({ name: "test_tool_with_progress", description: "Tells how far it is",
    async handler(_, { progress }) {
      for (const done of [0, 50, 100]) {
        await progress(done, 100);
        await pause(50);
      }
      return text("Done");
    } }),
  tool({ name: "test_reconnection", description: "Lets the client go, and go on when it is back",
    async handler(_, { lane }) {
      lane.detach?.(500); // only sessions over HTTP can
      await pause(100);
      return text("Welcome back");
    } }),
];

// ---- Tools: asking the client -----------------------------------------------
// ask() asks once: when the answer is there, the handler runs again from the top and gets it.

const form = <const P extends object>(message: string, properties: P,
  required = Object.keys(properties)) =>
  ({ method: "elicitation/create", params: { message,
    requestedSchema: { type: "object", properties, required } } }) as const;
const NAME = { name: { type: "string" } } as const;
const sample = (text: string): CreateMessageRequest => ({ method: "sampling/createMessage",
  params: { maxTokens: 100, messages: [{ role: "user", content: { type: "text", text } }] } });
const ROOTS = { method: "roots/list" } as const;
const options = ["option1", "option2", "option3"];
const titled = ["value1", "value2", "value3"].map((value, at) =>
  ({ const: value, title: `Option ${at + 1}` }));

const asking: readonly ToolDefinition[] = [
  tool({ name: "test_sampling", description: "Has a model write",
    inputSchema: { type: "object", properties: { prompt: { type: "string" } },
      required: ["prompt"] },
    async handler({ prompt }, { ask }) {
      const { content } = await ask("answer", sample(prompt));
      return text(`The model says: ${JSON.stringify(content)}`);
    } }),
  tool({ name: "test_elicitation", description: "Asks the user",
    inputSchema: { type: "object", properties: { message: { type: "string" } },
      required: ["message"] },
    async handler({ message }, { ask }) {
      const { action, content } = await ask("who", form(message,
        { username: { type: "string" }, email: { type: "string" } }, []));
      return text(`${action}: ${JSON.stringify(content)}`);
    } }),
  tool({ name: "test_elicitation_sep1034_defaults", description: "Asks, with defaults",
    async handler(_, { ask }) {
      const { action, content } = await ask("who", form("Is this you?", {
        name: { type: "string", default: "John Doe" }, age: { type: "integer", default: 30 },
        score: { type: "number", default: 95.5 },
        status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
        verified: { type: "boolean", default: true } }, []));
      return text(`${action}: ${JSON.stringify(content)}`);
    } }),
  tool({ name: "test_elicitation_sep1330_enums", description: "Asks to choose",
    async handler(_, { ask }) {
      const { action, content } = await ask("choice", form("Choose", {
        untitledSingle: { type: "string", enum: options },
        titledSingle: { type: "string", oneOf: titled },
        legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"],
          enumNames: ["Option 1", "Option 2", "Option 3"] },
        untitledMulti: { type: "array", items: { type: "string", enum: options } },
        titledMulti: { type: "array", items: { anyOf: titled } } }, []));
      return text(`${action}: ${JSON.stringify(content)}`);
    } }),
  tool({ name: "test_missing_capability", description: "Works with a model or not at all",
    handler(_, { requires }) {
      requires({ sampling: {} }); // throws, and the client is told what it lacks
      return text("The client has a model");
    } }),
  tool({ name: "test_streaming_elicitation", description: "Tells its progress, then asks",
    async handler(_, { progress, ask }) {
      await progress(1, 2);
      const { action } = await ask("name", form("Who are you?", NAME));
      return text(action);
    } }),
  tool({ name: "open_page", description: "Sends the user to a page, which no client opens unasked",
    async handler(_, { ask, once }) {
      const visit = await once("visit", () => crypto.randomUUID()); // the same in both rounds
      const { action } = await ask("page", { method: "elicitation/create", params: { mode: "url",
        message: "Please sign here", url: `https://example.com/sign?visit=${visit}` } });
      return text(action);
    } }),
];

// ---- Tools: several rounds --------------------------------------------------
// Answers of earlier rounds travel, sealed, with the client: between two rounds nothing is kept.

const rounds: readonly ToolDefinition[] = [
  // This one by hand, to show what ask() does: a result says what is needed, and the next call
  // brings it. Unlike ask(), it believes an answer to a question that it has not asked.
  tool({ name: "test_input_required_result_elicitation", description: "Asks for a name",
    handler(_, { request }) {
      const { inputResponses } = request.params as Partial<CallToolRequestParams>;
      const { user_name: given } = Object(inputResponses) as Record<string, unknown>;
      const { name } = Object(Object(given).content) as Record<string, unknown>;
      if (typeof name === "string") return text(`Hello, ${name}!`);
      return { resultType: "input_required", inputRequests: {
        user_name: form("What is your name?", NAME) } };
    } }),
  tool({ name: "test_input_required_result_sampling", description: "Asks a model",
    async handler(_, { ask }) {
      const { model } = await ask("capital", sample("What is the capital of France?"));
      return text(`${model} has answered`);
    } }),
  tool({ name: "test_input_required_result_list_roots", description: "Asks for folders",
    handler: async (_, { ask }) => text(`${(await ask("roots", ROOTS)).roots.length} folders`) }),
  tool({ name: "test_input_required_result_request_state", description: "Asks, and keeps nothing",
    async handler(_, { ask }) {
      const { action } = await ask("confirm",
        form("Is that right?", { ok: { type: "boolean" } }));
      return text(`state-ok: ${action}`);
    } }),
  tool({ name: "test_input_required_result_multiple_inputs", description: "Asks all at once",
    async handler(_, { ask }) {
      const [{ content }, { model }, { roots }] = await Promise.all([
        ask("user_name", form("What is your name?", NAME)),
        ask("greeting", sample("Write a greeting")), ask("folders", ROOTS)]);
      return text(`${content?.name}, ${model}, ${roots.length} folders`);
    } }),
  tool({ name: "test_input_required_result_multi_round", description: "Asks one after the other",
    async handler(_, { ask }) {
      const name = await ask("step1", form("What is your name?", NAME));
      const color = await ask("step2",
        form("Which colour do you like?", { color: { type: "string" } }));
      return text(`${name.content?.name} likes ${color.content?.color}`);
    } }),
  tool({ name: "test_input_required_result_tampered_state", description: "Notices a broken seal",
    async handler(_, { ask }) {
      const { action } = await ask("confirm",
        form("Go on?", { confirm: { type: "boolean" } }));
      return text(action);
    } }),
  tool({ name: "test_input_required_result_capabilities", description: "Asks what it may",
    async handler(_, { ask, can }) {
      if (can({ elicitation: {} })) await ask("user_name", form("What is your name?", NAME));
      if (can({ sampling: {} })) await ask("greeting", sample("Write a greeting"));
      return text("All that could be asked is answered");
    } }),
];

// ---- Tools: schemas and headers ---------------------------------------------

const phone = { required: ["phone"] };
const schemas: readonly ToolDefinition[] = [
  // Not made with tool(): no type of TypeScript says what this schema says.
  { name: "json_schema_2020_12_tool", description: "Has a schema with a bit of everything",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
      $defs: { address: { $anchor: "addressDef", type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } } } },
      properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" }, email: { type: "string" } },
      allOf: [{ anyOf: [phone, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: phone, else: { required: ["email"] }, additionalProperties: false,
    }, handler: (given) => text(JSON.stringify(given)) },
  tool({ name: "test_x_mcp_header", description: "Has an argument that HTTP shows in a header",
    inputSchema: { type: "object", properties: {
      region: { type: "string", "x-mcp-header": "Region" } } },
    handler: ({ region = "nowhere" }) => text(region) }),
];

// ---- Tools: what changes, for those who listen ------------------------------

let watched = "Subscribe to hear when this changes";
const changes = changeSource();
const changing: readonly ToolDefinition[] = [
  tool({ name: "test_trigger_tool_change", description: "Says that the list of tools has changed",
    handler: () => (changes.tools(), text("Told")) }),
  tool({ name: "test_trigger_prompt_change", description: "Says so of the list of prompts",
    handler: () => (changes.prompts(), text("Told")) }),
  tool({ name: "write_watched_resource", description: "Changes a resource, and gives a link to it",
    inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    handler(given) {
      watched = given.text;
      changes.updated("test://watched-resource");
      return blocks({ type: "resource_link", uri: "test://watched-resource", name: "Watched" });
    } }),
];

// ---- Resources --------------------------------------------------------------

const resources: ResourceDefinition[] = [
  { uri: "test://static-text", name: "Text", mimeType: "text/plain",
    read: () => "What this resource says" },
  { uri: "test://static-binary", name: "Bytes", mimeType: "image/png",
    read: () => Uint8Array.from(atob(PNG), (char) => char.charCodeAt(0)) },
  { uri: "test://watched-resource", name: "Watched", mimeType: "text/plain",
    read: () => watched },
];
const templates: TemplateDefinition[] = [{ uriTemplate: "test://template/{id}/data",
  name: "Template", mimeType: "application/json", complete: { id: ["123", "124"] },
  read: ({ id }) => JSON.stringify({ id, data: `What belongs to ${id}` }) }];

// ---- Prompts ----------------------------------------------------------------

const argument = (name: string) => ({ name, description: `Any ${name}`, required: true });
const prompts: PromptDefinition[] = [
  { name: "test_simple_prompt", description: "A sentence", get: () => "This is a simple prompt." },
  { name: "test_prompt_with_arguments", description: "A sentence with gaps",
    arguments: [argument("arg1"), argument("arg2")], complete: { arg1: ["test", "testing"] },
    get: ({ arg1, arg2 }) => `arg1 is ${arg1}, arg2 is ${arg2}` },
  { name: "test_prompt_with_embedded_resource", description: "A resource to talk about",
    arguments: [argument("resourceUri")], get: ({ resourceUri = "" }) =>
      [{ role: "user", content: embedded(resourceUri) }] },
  { name: "test_prompt_with_image", description: "An image to talk about",
    get: () => [{ role: "user", content: picture }] },
  { name: "test_input_required_result_prompt", description: "Asks before it speaks",
    async get(_, { ask }) {
      const { content } = await ask("user_context",
        form("What is it about?", { context: { type: "string" } }));
      return `Talk about ${content?.context ?? "anything"}`;
    } },
];

// ---- All together, with two extensions --------------------------------------

const guides = await readSkills(new URL("extensions/skills", import.meta.url));
export const everything = server({ name: "everything-server", version: "1.0.0", changes,
  instructions: "To try a client on: each tool, resource and prompt says what it shows.",
  tools: () => [...results, ...meanwhile, ...asking, ...rounds, ...schemas, ...changing,
    ...taskTools],
  resources: [...resources, ...skillResources(guides)], templates, prompts,
  features: [tasks({ pollIntervalMs: 200 }), skills(guides, { pageSize: 1 })] });

const [, script, port] = process.argv;
if (script?.endsWith("everything-server.ts")) {
  console.log(port === undefined ? "everything-server.ts PORT"
    : (await everything.listen(Number(port))).url);
  // prints: everything-server.ts PORT
}
