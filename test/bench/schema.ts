// What one check of tool arguments costs, beside two well-known validators and
// JSON.parse.
//
//   node test/bench/schema.ts                       Node 22.18 and later
//   node --import tsx test/bench/schema.ts          Node 20
//
// All four take turns in rounds of a few milliseconds, so that whatever else the
// machine does falls on each; a figure is the median of its ratios, round by
// round. Exit code 1: a floor is not held.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { compileSchema } from "../../mcp-raw.ts";

const FLOORS = { "@cfworker/json-schema": 25, ajv: 0.2, "JSON.parse": 1 };
const ROUNDS = 101;

// Five properties, an enum, bounds, and a nested array of closed objects.
const schema = {
  type: "object",
  properties: {
    query: { type: "string", minLength: 1, maxLength: 200 },
    mode: { enum: ["fast", "exact", "fuzzy"] },
    limit: { type: "integer", minimum: 1, maximum: 100 },
    verbose: { type: "boolean" },
    filters: {
      type: "array",
      maxItems: 20,
      items: {
        type: "object",
        properties: {
          field: { type: "string" },
          op: { enum: ["eq", "lt", "gt"] },
          value: { type: ["string", "number"] },
        },
        required: ["field", "op", "value"],
        additionalProperties: false,
      },
    },
  },
  required: ["query", "mode"],
  additionalProperties: false,
};
const text = JSON.stringify({
  query: "error rate",
  mode: "exact",
  limit: 20,
  verbose: false,
  filters: [
    { field: "service", op: "eq", value: "api" },
    { field: "status", op: "gt", value: 499 },
    { field: "region", op: "eq", value: "eu-west-1" },
  ],
});

interface Leg {
  name: string;
  turns: number;
  isValid(value: unknown): boolean;
}

/** The other two are looked for in test/peers, at run time, by the members that are used. */
function peers(): Leg[] {
  const folder = new URL("../peers/", import.meta.url);
  if (!existsSync(new URL("node_modules/ajv", folder))) {
    throw new Error("the other validators are not installed: npm ci --prefix test/peers");
  }
  const require = createRequire(new URL("package.json", folder));
  const Ajv: new (options: object) => { compile(schema: unknown): (value: unknown) => boolean } =
    require("ajv/dist/2020.js").default;
  const {
    Validator,
  }: {
    Validator: new (
      schema: unknown,
      draft: string,
    ) => { validate(value: unknown): { valid: boolean } };
  } = require("@cfworker/json-schema");
  const validator = new Validator(schema, "2020-12");
  return [
    { name: "ajv", turns: 100_000, isValid: new Ajv({ strict: false }).compile(schema) },
    {
      name: "@cfworker/json-schema",
      turns: 800,
      isValid: (value) => validator.validate(value).valid,
    },
  ];
}

function checksAMillisecond({ name, turns, isValid }: Leg, values: unknown[]): number {
  const began = performance.now();
  for (let turn = 0; turn < turns; turn++) {
    if (!isValid(values[turn % values.length])) throw new Error(`${name} refuses the arguments`);
  }
  return turns / (performance.now() - began);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] ?? NaN;
}

const check = compileSchema(schema);
const values = Array.from({ length: 64 }, (): unknown => JSON.parse(text));
const own: Leg = { name: "mcp-raw", turns: 20_000, isValid: (value) => check(value) === undefined };
const parse: Leg = { name: "JSON.parse", turns: 10_000, isValid: () => JSON.parse(text) !== null };
const legs = [own, ...peers(), parse];
const rounds = Array.from(
  { length: ROUNDS },
  () => new Map(legs.map((leg) => [leg.name, checksAMillisecond(leg, values)])),
).slice(ROUNDS >> 3);
const rate = (round: Map<string, number>, name: string): number => round.get(name) ?? NaN;

console.log(`Node ${process.versions.node}, one thread, ${rounds.length} rounds`);
for (const { name } of legs) {
  console.log(
    `  ${name.padEnd(24)}${Math.round(median(rounds.map((round) => rate(round, name))))
      .toLocaleString("en")
      .padStart(8)} thousand a second`,
  );
}
for (const [name, floor] of Object.entries(FLOORS)) {
  const ratio = median(rounds.map((round) => rate(round, own.name) / rate(round, name)));
  console.log(`  ${ratio.toFixed(2).padStart(6)} x ${name}, at least ${floor} is asked for`);
  if (ratio < floor) process.exitCode = 1;
}
