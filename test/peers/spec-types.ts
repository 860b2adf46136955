// The official wire types, made from the JSON Schema of each revision that the
// official conformance suite carries in its package. They go into .generated/,
// where types/wire.ts compares them with those that mcp-raw.ts declares.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";

interface Schema {
  $ref?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  type?: string | string[];
  items?: Schema;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
}
type Definitions = Record<string, Schema>;

const BUNDLE = fileURLToPath(
  new URL("node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const TARGET = new URL(".generated/", import.meta.url);

/** Definitions by revision; a revision is known by a definition that only it has. */
export function officialSchemas(): Record<"2025-11-25" | "2026-07-28", Definitions> {
  const found = literalsWith(readFileSync(BUNDLE, "utf8"), "$defs:{");
  const one = (has: string, hasNot: string): Definitions => {
    const schemas = found.filter((defs) => has in defs && !(hasNot in defs) && "Tool" in defs);
    if (schemas.length !== 1)
      throw new Error(`the conformance suite carries ${schemas.length} schemas with ${has}`);
    return schemas[0]!;
  };
  return {
    "2025-11-25": one("InitializeRequest", "DiscoverResult"),
    "2026-07-28": one("DiscoverResult", "InitializeRequest"),
  };
}

// The schemas stand in the bundle as object literals: find each, pair its braces, evaluate it.
function literalsWith(text: string, marker: string): Definitions[] {
  const found: Definitions[] = [];
  for (let at = text.indexOf(marker); at >= 0; at = text.indexOf(marker, at + 1)) {
    const start = at + marker.length - 1;
    const literal = text.slice(start, closing(text, start) + 1);
    if (!literal.includes("JSONRPC")) continue;
    found.push(runInNewContext(`(${literal})`) as Definitions);
  }
  return found;
}

function closing(text: string, open: number): number {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    const char = text[at]!;
    if (char === "`" || char === '"' || char === "'") {
      for (at += 1; text[at] !== char; at += 1) if (text[at] === "\\") at += 1;
    } else if (char === "{" || char === "[") depth += 1;
    else if ((char === "}" || char === "]") && (depth -= 1) === 0) return at;
  }
  throw new Error("an object literal without an end");
}

// Where the JSON Schema says less than the schema.ts that it is made from.
const KNOWN_GAPS: Record<string, string> = {
  JSONValue: "string | number | boolean | null | JSONObject | JSONArray",
  JSONArray: "JSONValue[]",
};

/** A module that declares each definition under its own name. */
export function typesOf(definitions: Definitions): string {
  const all: Record<string, Schema> = { JSONArray: {}, ...definitions };
  const lines = Object.entries(all).map(
    ([name, schema]) => `export type ${name} = ${KNOWN_GAPS[name] ?? typeOf(schema)};`,
  );
  return `${lines.join("\n")}\n`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace("#/$defs/", "");
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => `(${typeOf(one)})`).join(" & ");
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type })).join(" | ");
  if (schema.type === "array") return `(${typeOf(schema.items ?? {})})[]`;
  if (schema.type === "object") return objectType(schema);
  if (schema.type === "integer") return "number";
  return schema.type ?? "unknown";
}

// An object of which nothing is said may hold anything, as MetaObject does.
function objectType({ properties, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties ?? {}).map(
    ([name, schema]) =>
      `${JSON.stringify(name)}${required.includes(name) ? "" : "?"}: ${typeOf(schema)}`,
  );
  const open = additionalProperties ?? properties === undefined;
  const rest = open === false ? undefined : open === true ? "unknown" : typeOf(open);
  if (rest !== undefined) fields.push(`[key: string]: ${fields.length > 0 ? "unknown" : rest}`);
  return `{ ${fields.join("; ")} }`;
}

/** Writes .generated/spec-<revision>.ts; gives the names of each revision. */
export function generate(): Record<string, string[]> {
  mkdirSync(TARGET, { recursive: true });
  const schemas = officialSchemas();
  for (const [revision, definitions] of Object.entries(schemas)) {
    writeFileSync(new URL(`spec-${revision}.ts`, TARGET), typesOf(definitions));
  }
  return Object.fromEntries(
    Object.entries(schemas).map(([revision, defs]) => [revision, Object.keys(defs)]),
  );
}
