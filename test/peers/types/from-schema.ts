// Argument types follow from the schema literal, and a wrong use of them does not compile.
import { server, text, tool, type FromSchema } from "../../../mcp-raw.ts";

/** Shows the type that a schema gives; the function is never called. */
declare function reads<const S>(schema: S, use: (value: FromSchema<S>) => void): void;

// required and optional, nested, enum, const, nullable, unions, tuples, whatever has no type
reads({
  type: "object",
  properties: {
    count: { type: "integer" },
    unit: { enum: ["mm", "cm"] },
    note: { type: ["string", "null"] },
    rows: { type: "array", items: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] } },
    five: { const: 5 },
    either: { anyOf: [{ type: "string" }, { type: "number" }] },
    pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }] },
    free: {},
  },
  required: ["count", "rows", "either", "pair"],
}, (value) => {
  const count: number = value.count;
  const unit: "mm" | "cm" | undefined = value.unit;
  const note: string | null | undefined = value.note;
  const on: (boolean | undefined)[] = value.rows.map((row) => row.on);
  const five: 5 | undefined = value.five;
  const either: string | number = value.either;
  const [name, size]: [string, number] = value.pair;
  const free: unknown = value.free;
  void [count, unit, note, on, five, either, name, size, free];
  // @ts-expect-error a number has no characters
  value.count.charAt(0);
  // @ts-expect-error it may be missing
  value.unit.length;
  // @ts-expect-error no schema speaks of it
  value.absent;
  // @ts-expect-error inches are not in the enum
  value.unit === "in";
});

// closed and open objects, maps, intersections, true and false
reads({ type: "object", properties: {}, additionalProperties: false }, (value) => {
  // @ts-expect-error nothing may be there
  value.anything;
});
reads({ type: "object" }, (value) => void (value.anything satisfies unknown));
reads({ type: "object", additionalProperties: { type: "number" } }, (value) => {
  const one: number | undefined = value.one;
  void one;
});
reads({
  allOf: [
    { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
    { type: "object", properties: { b: { type: "number" } }, required: ["b"] },
  ],
}, ({ a, b }) => void [a.length, b.toFixed()]);
reads(true, (value) => void (value satisfies unknown));
reads(false, (value) => void (value satisfies never));

// in a server, beside a tool without arguments, and alone
server({ name: "types", version: "1.0.0", tools: [
  { name: "now", handler: () => text("noon") },
  {
    name: "add",
    inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
    handler: ({ a }) => text(a.toFixed()),
  },
] });
server({ name: "types", version: "1.0.0", tools: [{
  name: "add",
  inputSchema: { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
  // @ts-expect-error a number has no characters
  handler: ({ a }) => text(a.charAt(0)),
}] });
// where the schema is no literal, or not there, each argument is unknown, never any
const loose = { type: "object", properties: { a: { type: "number" } } };
server({ name: "types", version: "1.0.0", tools: [{
  name: "loose",
  inputSchema: loose,
  // @ts-expect-error an unknown has no members
  handler: ({ a }) => text(a.nonsense),
}, {
  name: "none",
  // @ts-expect-error an unknown has no members
  handler: ({ b }) => text(b.nonsense),
}] });
tool({
  name: "alone",
  inputSchema: { type: "object", properties: { s: { type: "string" } }, required: ["s"] },
  handler: ({ s }) => text(s.toUpperCase()),
});
tool({
  name: "alone",
  inputSchema: { type: "object", properties: { s: { type: "string" } } },
  // @ts-expect-error it may be missing
  handler: ({ s }) => text(s.toUpperCase()),
});
