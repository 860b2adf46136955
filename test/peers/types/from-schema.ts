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
  const [name, size]: [string?, number?, ...unknown[]] = value.pair;
  // @ts-expect-error a tuple may be shorter than its schema
  value.pair[0].length;
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

// const infers literals from a schema written in place, and from one that is frozen
declare function keeps<const S extends { readonly type: "object"; readonly [key: string]: unknown }>(
  schema: S, use: (value: FromSchema<S>) => void): void;
keeps({ type: "object", properties: { a: { enum: ["x", "y"] } }, required: ["a"] }, (value) => {
  const a: "x" | "y" = value.a;
  value.a = "y";
  // @ts-expect-error z is not in the enum
  value.a = "z";
  void a;
});
const wide: { type: "object"; [key: string]: unknown } = { type: "object" };
keeps(wide, (value) => {
  const one: unknown = value.one;
  // @ts-expect-error an unknown has no members
  value.one.length;
  void one;
});

// references into the schema, which may come back to themselves; others are unknown
keeps({
  type: "object",
  properties: {
    name: { type: "string" }, children: { type: "array", items: { $ref: "#" } },
    at: { $ref: "#/$defs/point" }, far: { $ref: "https://example.com/schema.json" },
  },
  required: ["name", "at", "far"],
  $defs: { point: { type: "object", properties: { x: { type: "number" } }, required: ["x"] } },
}, (value) => {
  const deep: string | undefined = value.children?.[0]?.children?.[0]?.name;
  const x: number = value.at.x;
  const far: unknown = value.far;
  void [deep, x, far];
  // @ts-expect-error a point has no y
  value.at.y;
  // @ts-expect-error an unknown has no members
  value.far.x;
});

// tuples: as long as minItems says, closed by items, open otherwise
reads({ type: "array", prefixItems: [{ type: "string" }, { type: "number" }], minItems: 2, items: false },
  (value) => {
    const pair: [string, number] = value;
    // @ts-expect-error there is no third
    value[2];
    void pair;
  });

// what a schema may hold and a type cannot say is unknown; a contradiction too
reads({ not: { type: "string" } }, (value) => void (value satisfies unknown));
reads({ allOf: [{ type: "string" }, { type: "number" }] }, (value) => {
  // @ts-expect-error an unknown has no members
  value.length;
});
reads({ type: "object", properties: { a: { type: "string" } }, required: ["a", "b"],
  additionalProperties: { type: "number" } }, (value) => {
  const a: string = value.a;
  const other: number | undefined = value.other;
  void [a, other];
});

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
