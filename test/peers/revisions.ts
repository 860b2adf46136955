// The official JSON Schema of every revision. The official conformance suite carries
// four of them in its package. The first one, of 2024-11-05, is the second without
// what came with it, and its hash says that it is the official one.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";

export const REVISIONS = [
  "2024-11-05",
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28",
] as const;
export type Revision = (typeof REVISIONS)[number];
/** Those with a handshake. */
export const OLDER = REVISIONS.slice(0, 4);

interface Schema {
  $ref?: string;
  const?: unknown;
  type?: string | string[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
}
type Definitions = Record<string, Schema>;

// ---- where they come from --------------------------------------------------

const BUNDLE = new URL(
  "node_modules/@modelcontextprotocol/conformance/dist/index.js",
  import.meta.url,
);
/** The object literals of the bundle that hold the definitions of a revision. */
function literals(text: string): Definitions[] {
  const found: Definitions[] = [];
  for (const { index, 0: marker } of text.matchAll(/(?:definitions|\$defs):\{/g)) {
    const from = index + marker.length - 1;
    const literal = text.slice(from, closing(text, from) + 1);
    if (literal.includes("CallToolResult:")) found.push(runInNewContext(`(${literal})`));
  }
  return found;
}
function closing(text: string, open: number): number {
  let depth = 0;
  for (const token of text.slice(open).matchAll(/[{}]|(["'`])(?:\\.|(?!\1)[^\\])*\1/g)) {
    depth += { "{": 1, "}": -1 }[token[0]] ?? 0;
    if (depth === 0) return open + token.index;
  }
  throw new Error("an object literal without an end");
}

/** What is in a schema, less what is meant for people; the order of keys says nothing. */
function bare(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(bare);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, inner]) => key !== "description" || typeof inner !== "string")
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, bare(inner)]),
  );
}

/** The definitions of 2024-11-05, from those of 2025-03-26. */
export function first(second: Definitions): { definitions: Definitions; hash: string } {
  const all = bare(second) as Definitions;
  const { Annotations = {}, AudioContent, ToolAnnotations, ...kept } = all;
  const older = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((one) => !tooNew(one)).map(older);
    if (typeof value !== "object" || value === null) return value;
    if ((value as Schema).$ref === "#/definitions/Annotations") return Annotations;
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, older(one)]));
  };
  const tooNew = (one: Schema): boolean =>
    one.$ref === "#/definitions/AudioContent" ||
    (one.type === "array" && "anyOf" in (one.items ?? {}));
  const definitions = older(kept) as Definitions;
  delete definitions.JSONRPCBatchRequest;
  delete definitions.JSONRPCBatchResponse;
  delete definitions.ServerCapabilities?.properties?.completions;
  delete definitions.Tool?.properties?.annotations;
  delete definitions.ProgressNotification?.properties?.params?.properties?.message;
  definitions.Annotated = { properties: { annotations: Annotations }, type: "object" };
  const text = JSON.stringify(bare(definitions));
  return { definitions, hash: createHash("sha256").update(text).digest("hex") };
}
/** Of the official schema/2024-11-05/schema.json, its definitions as `bare` gives them. */
export const FIRST_HASH = "748eae4acf9af9a2882b75150b7a1a28d51623ca32b3f7ceb4a29bb40bdd3834";

function load(): Record<Revision, Definitions> {
  const found = literals(readFileSync(BUNDLE, "utf8"));
  const one = (has: string, hasNot: string): Definitions => {
    const fit = found.filter((defs) => has in defs && !(hasNot in defs));
    assert.equal(fit.length, 1, `schemas in the conformance suite with ${has}`);
    return fit[0] ?? {};
  };
  const second = one("JSONRPCBatchRequest", "ElicitRequest");
  return {
    "2024-11-05": first(second).definitions,
    "2025-03-26": second,
    "2025-06-18": one("ElicitRequest", "Icon"),
    "2025-11-25": one("Task", "DiscoverResult"),
    "2026-07-28": one("DiscoverResult", "InitializeRequest"),
  };
}
export const SCHEMAS: Record<Revision, Definitions> = load();

// ---- against them ----------------------------------------------------------

// Schemas that a server gives: what is in them is JSON Schema, not MCP.
const FOREIGN = ["inputSchema", "outputSchema"];
/**
 * The same with every object closed: a field that the revision does not know is a fault. The
 * official schemas leave them open, and leave _meta and the envelope out of most messages.
 */
function closed(name: string, schema: Schema): Schema {
  const inner = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((one) => inner(one, ""));
    if (typeof value !== "object" || value === null || FOREIGN.includes(key)) return value;
    const node = Object.fromEntries(
      Object.entries(value).map(([part, one]) => [part, inner(one, part)]),
    ) as Schema;
    const { properties } = node;
    if (typeof properties !== "object" || node.type !== "object") return node;
    if (key === "params") properties._meta ??= { type: "object" };
    return { additionalProperties: false, ...node };
  };
  const whole = inner(schema, "") as Schema;
  if (typeof whole.properties?.method?.const === "string") {
    whole.properties.jsonrpc ??= { const: "2.0" };
    if (name.endsWith("Request")) whole.properties.id ??= { type: ["string", "integer"] };
  }
  return whole;
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
for (const revision of REVISIONS) {
  const root = revision < "2025-11-25" ? "definitions" : "$defs";
  const all = Object.entries(SCHEMAS[revision]);
  ajv.addSchema({ $id: `mcp-${revision}`, [root]: SCHEMAS[revision] });
  const strict = all.map(([name, schema]) => [name, closed(name, schema)]);
  ajv.addSchema({ $id: `mcp-${revision}-closed`, [root]: Object.fromEntries(strict) });
}
const checks = new Map<string, ValidateFunction>();

/** What a definition of a revision has against a value; `closed` minds unknown fields, too. */
export function against(
  revision: Revision,
  name: string,
  value: unknown,
  how: "open" | "closed" = "closed",
): string[] {
  const root = revision < "2025-11-25" ? "definitions" : "$defs";
  const $ref = `mcp-${revision}${how === "closed" ? "-closed" : ""}#/${root}/${name}`;
  const check = checks.get($ref) ?? ajv.compile({ $ref });
  checks.set($ref, check);
  if (check(value)) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message, params: { additionalProperty: extra } }) =>
      `${name}${instancePath}: ${message}${extra === undefined ? "" : ` (${extra})`}`,
  );
}

/** The definition of a method, if the revision lets that side say it. */
export function definitionOf(
  revision: Revision,
  side: "client" | "server",
  kind: "Request" | "Notification",
  method: string,
): string | undefined {
  const all = SCHEMAS[revision];
  const union = all[`${side === "client" ? "Client" : "Server"}${kind}`];
  const names = (union?.anyOf ?? [union ?? {}]).map(
    ({ $ref = "" }) => $ref.split("/").at(-1) ?? "",
  );
  return names.find((name) => all[name]?.properties?.method?.const === method);
}
