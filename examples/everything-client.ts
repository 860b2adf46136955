// You will learn: a client that uses all that a server offers, whatever it is: it logs in, lists
// tools, resources and prompts, calls, reads and gets each, and answers what it is asked.
// The conformance suite of the protocol runs it, and says in the environment what it looks at:
//   node examples/everything-client.ts URL
// A server may be anybody's, so nothing is known of it beforehand but its URL.
import { loginWith, open, ProtocolError, type Answers, type AuthorizeOptions, type Client,
  type ElicitResult, type Era, type Grant, type OpenOptions, type Tool, type Visitor }
  from "../mcp-raw.ts";
import { dpopFetch } from "./extensions/dpop.ts";
import { listSkills, openSkill, readSkillFile, SKILLS } from "./extensions/skills.ts";
import { clientKey, clientSecret, enterpriseManaged, workloadIdentity }
  from "./extensions/grants.ts";

/** What is known of a run: the scenario, the revision, and what the scenario needs. */
export interface Run { scenario: string; revision: string; context: Record<string, unknown> }
const ERAS: Readonly<Record<string, Era>> = { "2026-07-28": "modern", "2025-11-25": "legacy" };

// ---- Answers: what a user and a model would say -----------------------------

/** A value that a schema allows, as far as a guess goes. */
function sampleOf(schema: Record<string, unknown>): unknown {
  const { type, properties = {}, required = [], default: preset, enum: [first] = [] } = schema as {
    type?: string; properties?: Record<string, Record<string, unknown>>; required?: string[];
    default?: unknown; enum?: unknown[] };
  const samples: Record<string, () => unknown> = {
    string: () => "text", number: () => 2, integer: () => 2, boolean: () => true, array: () => [],
    object: () => Object.fromEntries(Object.entries(properties)
      .filter(([name]) => required.includes(name)).map(([name, one]) => [name, sampleOf(one)])) };
  return preset ?? first ?? samples[type ?? ""]?.();
}
const answers: Required<Pick<Answers, "form" | "url" | "sample" | "roots">> = {
  // Only what must be filled in; the other fields get what the form presets for them.
  form: ({ requestedSchema }): ElicitResult => ({ action: "accept",
    content: sampleOf({ ...requestedSchema }) as NonNullable<ElicitResult["content"]> }),
  url: (): ElicitResult => ({ action: "decline" }),
  sample: () => ({ role: "assistant", model: "none", content: { type: "text", text: "Hello" } }),
  roots: [{ uri: "file:///project", name: "project" }],
};

// ---- Tools, resources, prompts, skills --------------------------------------

type Call = { name: string; arguments?: object };
/** What a scenario wants to be called, where that is not each tool once. */
const CALLS: Record<string, (tools: readonly Tool[], context: Run["context"]) => Call[]> = {
  "http-custom-headers": (_, { toolCalls }) => toolCalls as Call[],
  "json-schema-2020-12-preservation"(tools) { // a schema arrives as it was sent
    const schema = tools.find(({ name }) => name === "json_schema_2020_12_tool")?.inputSchema;
    return [{ name: "json_schema_echo", arguments: { schema } }];
  },
};
const callEach = (tools: readonly Tool[]): Call[] => tools.map(({ name, inputSchema }) =>
  ({ name, arguments: Object(sampleOf(inputSchema)) }));
/** Opens each skill and reads its files; nothing is read before it is wanted. */
async function useSkills(client: Client, { scenario }: Run): Promise<void> {
  const skills = await listSkills(client);
  for (const skill of scenario.endsWith("no-prefetch") ? [] : skills) {
    await openSkill(client, skill); // throws when it is not what was listed: then no file is read
    const files = skill.resources === "dynamic" ? [] : skill.resources;
    for (const { uri } of files) await readSkillFile(client, skill, uri);
  }
}
/** What the server proposes for an argument of a prompt, else any text. */
async function valueFor({ call }: Client, prompt: string, name: string): Promise<string> {
  const { completion: { values: [first = "text"] } } = await call("completion/complete",
    { ref: { type: "ref/prompt", name: prompt }, argument: { name, value: "" } });
  return first;
}
/** A server may refuse a call, and the next one is made all the same. */
const orRefused = (what: string, work: Promise<unknown>) => work.catch((error: unknown) => {
  if (!(error instanceof ProtocolError)) throw error;
  console.error(`${what} is refused: ${error.message} (${error.code})`);
});
/** Uses all that a server offers, one thing after the other. */
async function useAll(client: Client, run: Run): Promise<void> {
  const { call, list } = client;
  const { capabilities } = await call("server/discover", {});
  if (capabilities.extensions?.[SKILLS] !== undefined) await useSkills(client, run);
  if (capabilities.tools !== undefined) {
    const tools = await list("tools/list", "tools");
    for (const one of (CALLS[run.scenario] ?? callEach)(tools, run.context)) {
      await orRefused(one.name, call("tools/call",
        one as Parameters<typeof call<"tools/call">>[1])); // arguments of any shape
    }
  }
  if (capabilities.resources !== undefined) {
    for (const { uri } of await list("resources/list", "resources")) {
      await orRefused(uri, call("resources/read", { uri }));
    }
  }
  if (capabilities.prompts !== undefined) {
    for (const { name, arguments: wanted = [] } of await list("prompts/list", "prompts")) {
      const given: Record<string, string> = {};
      for (const one of wanted) given[one.name] =
        capabilities.completions === undefined ? "text" : await valueFor(client, name, one.name);
      await orRefused(name, call("prompts/get", { name, arguments: given }));
    }
  }
}

// ---- Authorization ----------------------------------------------------------

/** A user who says yes: where a browser would show a page, this follows at once. */
const obliging: Visitor = { redirectUri: "http://localhost:3000/callback", async visit(url) {
  const response = await fetch(url, { redirect: "manual" });
  await response.body?.cancel();
  return new URL(response.headers.get("location") ?? "", url).href;
} };
/** The grant that a scenario is about; a user's login when it names none. */
function grantOf({ scenario, context }: Run): Grant {
  const { client_id = "", client_secret = "", private_key_pem = "", signing_algorithm = "",
    valid_jwt = "", idp_client_id = "", idp_id_token = "", idp_token_endpoint = "" } =
    context as Record<string, string>;
  const grants: Record<string, () => Grant> = {
    "auth/client-credentials-basic": () => clientSecret({ client_id, client_secret }),
    "auth/client-credentials-jwt": () => clientKey({ client_id, pem: private_key_pem,
      alg: signing_algorithm }),
    "auth/wif-jwt-bearer": () => workloadIdentity(client_id, () => valid_jwt),
    "auth/enterprise-managed-authorization": () => enterpriseManaged({
      client: { client_id, client_secret }, idpClient: { client_id: idp_client_id },
      idToken: () => idp_id_token, tokenEndpoint: idp_token_endpoint }),
  };
  return grants[scenario]?.() ?? loginWith(obliging);
}
/** How to get tokens, should the server want any; who the program is, where that was agreed on. */
function authorizeOf(run: Run): Omit<AuthorizeOptions, "url"> {
  const { client_id, client_secret, issuer } = run.context as Record<string, string | undefined>;
  return { grant: grantOf(run), clientMetadata: { client_name: "everything-client" },
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    ...(run.scenario.startsWith("auth/dpop") && { tokenTypes: ["dpop"] }),
    ...(client_id !== undefined && { client: { client_id,
      ...(client_secret !== undefined && { client_secret }),
      ...(issuer !== undefined && { issuer }) } }) };
}

/** Runs one scenario against the server at a URL. */
export async function everything(url: string, run: Run): Promise<void> {
  const options: OpenOptions = { info: { name: "everything-client", version: "1.0.0" }, answers,
    era: ERAS[run.revision] ?? "auto", authorize: authorizeOf(run),
    ...(run.scenario.startsWith("auth/dpop") && { fetch: dpopFetch(fetch) }) };
  const { client, connection } = await open(url, options);
  try {
    await useAll(client, run);
  } finally {
    await connection.close();
  }
}

/** What the suite says in the environment; without it, all is found out. */
export const runOf = (env: Record<string, string | undefined>): Run => ({
  scenario: env.MCP_CONFORMANCE_SCENARIO ?? "",
  revision: env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? "",
  context: JSON.parse(env.MCP_CONFORMANCE_CONTEXT ?? "{}") });

const [, script, url] = process.argv;
if (url !== undefined && script?.endsWith("everything-client.ts")) {
  await everything(url, runOf(process.env)).catch((error: unknown) => {
    console.error(String(error)); // one sentence, with the kind of the error before it
    process.exitCode = 1;
  });
}
