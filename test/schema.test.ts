// JSON Schema and formats, by literal schemas and values.
// The official suite is run among the peers.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compileSchema, formats, type SchemaIssue, type SchemaOptions } from "../mcp-raw.ts";

/** What the check of a schema says of values: "valid", or the paths and sentences. */
const verdicts = (schema: unknown, values: unknown[], options?: SchemaOptions): unknown[] =>
  values.map((value) => compileSchema(schema, options)(value) ?? "valid");
/** Schemas and values as they come from the wire, where __proto__ is a name like others. */
const fits = (schema: string, value: string): boolean =>
  compileSchema(JSON.parse(schema))(JSON.parse(value)) === undefined;
const issue = (path: string, message: string): SchemaIssue => ({ path, message });
const limit = (reason: string): SchemaIssue[] =>
  [issue("", `expected a value that can be checked, but ${reason}`)];
const nested = (levels: number, wrap: (inner: unknown) => unknown, start: unknown = {}): unknown =>
  Array.from({ length: levels }).reduce(wrap, start);

describe("JSON Schema: the cases", () => {
  test("SCH-02: an inherited name is not a property, a sent one is " +
    "(JSON Schema 2020-12 validation 6.5.3)", () => {
    const schema = '{"type":"object","required":["toString","__proto__"]}';
    assert.equal(fits(schema, "{}"), false);
    assert.equal(fits(schema, '{"toString":1,"__proto__":1}'), true);
  });

  test("SCH-03: a schema for __proto__ or constructor applies to the property of that name " +
    "(JSON Schema 2020-12 core 10.3.2)", () => {
    const schema = '{"properties":{"__proto__":{"type":"number"},' +
      '"constructor":{"type":"number"}},"additionalProperties":false}';
    assert.equal(fits(schema, '{"__proto__":"x"}'), false);
    assert.equal(fits(schema, '{"__proto__":1}'), true);
    assert.equal(fits(schema, '{"constructor":5}'), true);
    assert.equal(fits(schema, '{"toString":1}'), false);
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  test("SCH-04: a schema that declares draft-07 is judged by draft-07, in each spelling of its " +
    "URI (spec basic#implementation-requirements)", () => {
    for (const scheme of ["http", "https"]) for (const end of ["", "#"]) {
      const schema = {
        $schema: `${scheme}://json-schema.org/draft-07/schema${end}`, type: "object",
        properties: { p: { $ref: "#/definitions/P" } },
        definitions: { P: { type: "array", items: [{ type: "string" }, { type: "number" }],
          additionalItems: false } },
      };
      assert.deepEqual(verdicts(schema, [{ p: ["a", 1] }, { p: ["a", "b"] }, { p: ["a", 1, 2] }]), [
        "valid",
        [issue("/p/1", 'expected number, got string "b"')],
        [issue("/p/2", "expected no more than 2 items, got number 2")],
      ]);
    }
  });

  test("SCH-04: a draft-07 schema ignores what 2020-12 brought, and what stands beside $ref " +
    "(spec basic#implementation-requirements)", () => {
    const $schema = "http://json-schema.org/draft-07/schema#";
    assert.deepEqual(verdicts({ $schema, prefixItems: [{ type: "string" }],
      unevaluatedProperties: false, dependentRequired: { a: ["b"] } }, [[1], { a: 1 }]),
    ["valid", "valid"]);
    assert.deepEqual(verdicts({ $schema, $ref: "#/definitions/a", type: "string",
      definitions: { a: { type: "number" } } }, [1]), ["valid"]);
  });

  test("SCH-05: a schema in another dialect is refused by name, and others are as good as before " +
    "(spec basic#implementation-requirements)", () => {
    for (const $schema of ["https://example.com/my-dialect", "",
      "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/schema#"]) {
      assert.throws(() => compileSchema({ $schema, type: "object" }), {
        name: "Error",
        message: "schema refused: $schema must be draft 2020-12 or 07 of " +
          `https://json-schema.org, got string "${$schema}"`,
      });
    }
    assert.deepEqual(verdicts({ type: "object" }, [{}]), ["valid"]);
  });

  test("SCH-09: pointers keep their meaning in a schema that is passed on untouched, and one " +
    "that wrapping left without target is refused (JSON Schema 2020-12 core 8.2.3)", () => {
    const schema = { $defs: { N: { type: "number" } }, type: "array",
      items: { $ref: "#/$defs/N" } };
    assert.deepEqual(verdicts(schema, [[1], ["a"]]),
      ["valid", [issue("/0", 'expected number, got string "a"')]]);
    assert.throws(() => compileSchema({ properties: { result: schema } }), { name: "Error",
      message: "schema refused: #/properties/result/items/$ref must be a reference to a schema " +
        'that exists, got string "#/$defs/N"' });
  });

  test("SCH-11: unevaluatedProperties sees what allOf, $ref and if have evaluated " +
    "(JSON Schema 2020-12 core 11.3)", () => {
    const said = [issue("/b", "expected nothing but what is described, got number 1")];
    const values = [{ a: "x" }, { a: "x", b: 1 }];
    const part = { properties: { a: { type: "string" } } };
    for (const schema of [
      { allOf: [part], unevaluatedProperties: false },
      { $ref: "#/$defs/part", $defs: { part }, unevaluatedProperties: false },
      { if: part, unevaluatedProperties: false },
    ]) assert.deepEqual(verdicts(schema, values), ["valid", said]);
  });

  test("SCH-12: a tuple is prefixItems in 2020-12, and items as a list is refused " +
    "(JSON Schema 2020-12 core 10.3.1)", () => {
    const prefixItems = [{ type: "string" }, { type: "number" }];
    assert.deepEqual(verdicts({ prefixItems, items: false }, [["a", 1], ["a"], ["a", 1, 2]]),
      ["valid", "valid", [issue("/2", "expected no more than 2 items, got number 2")]]);
    assert.throws(() => compileSchema({ items: prefixItems }), { name: "Error", message:
      "schema refused: #/items must be a schema (an object, true or false), " +
        "got array of 2 items" });
  });

  test("SCH-14: a pattern that can explode stops nobody " +
    "(spec basic#composition-keyword-resource-use)", () => {
    const began = performance.now();
    assert.throws(() => compileSchema(
      { type: "object", properties: { s: { type: "string", pattern: "^(a+)+$" } } }),
    { name: "Error", message:
      'schema refused: a pattern must be without a repeated group, got string "^(a+)+$"' });
    for (const [pattern, text] of [
      ["a*a*a*a*b", "a".repeat(5000)], [`${"a?".repeat(30)}${"a".repeat(30)}b`, "a".repeat(30)],
      [`${"(a|a)".repeat(30)}$`, `${"a".repeat(30)}b`], ["\\s+$", `${" ".repeat(200_000)}x`],
    ] as const) {
      assert.deepEqual(compileSchema({ pattern })(text),
        limit(`a text of ${text.length} is too long for ${pattern}`));
    }
    assert.ok(performance.now() - began < 1000);
  });

  test("SCH-14: patterns of everyday are decided, on texts as long as they come " +
    "(JSON Schema 2020-12 validation 6.3.3)", () => {
    for (const [pattern, good, bad] of [
      ["^[a-z]+$", "a".repeat(500_000), "A"], ["^\\d{4}-\\d{2}-\\d{2}$", "2024-01-01", "24-1-1"],
      ["^[^@]+@[^@]+\\.[^@]+$", "someone@mail.example.com", "someone"],
      ["^(red|green|blue)$", "green", "grey"], ["^(\\+\\d{1,3})?\\d{6,12}$", "+49123456789", "+"],
      ["\\p{Lu}", "é É", "é"], ["x", "axb", "ab"],
    ] as const) {
      const check = compileSchema({ pattern });
      assert.equal(check(good), undefined, pattern);
      assert.deepEqual(check(bad),
        [issue("", `expected a string that matches ${pattern}, got string "${bad}"`)]);
    }
  });

  test("SCH-16: numbers are compared as the decimals that they are " +
    "(JSON Schema 2020-12 validation 6.2.1)", () => {
    for (const [schema, value, expected] of [
      [{ multipleOf: 0.1 }, "0.3", true], [{ multipleOf: 0.1 }, "0.35", false],
      [{ multipleOf: 0.01 }, "19.99", true], [{ multipleOf: 1e-8 }, "12391239123", true],
      [{ multipleOf: 1e-8 }, "1.5e-9", false], [{ multipleOf: 0.5 }, "1e308", true],
      [{ multipleOf: 3 }, "9007199254740993", false], [{ multipleOf: 2.5 }, "-7.5", true],
      [{ type: "integer" }, "1.0", true], [{ type: "integer" }, "1e2", true],
      [{ type: "integer" }, "1.5", false], [{ const: 1 }, "1.0", true], [{ const: 0 }, "-0", true],
      [{ enum: [0] }, "false", false], [{ enum: [[1]] }, "[true]", false],
      [{ enum: [{ a: 1, b: [2] }] }, '{"b":[2.0],"a":1}', true],
      [{ uniqueItems: true }, "[1,1.0]", false], [{ uniqueItems: true }, "[1,true,\"1\"]", true],
      [{ uniqueItems: true }, '[{"a":1,"b":2},{"b":2,"a":1}]', false],
    ] as const) {
      assert.equal(compileSchema(schema)(JSON.parse(value)) === undefined, expected,
        `${JSON.stringify(schema)} with ${value}`);
    }
  });

  test("SCH-31: true, false, patterns and the closing of an object hold together " +
    "(JSON Schema 2020-12 core 4.3.2)", () => {
    const schema = { properties: { a: true, b: false },
      patternProperties: { "^x": { type: "number" } }, additionalProperties: false };
    assert.deepEqual(verdicts(schema, [{ a: 1 }, { b: 1 }, { x1: 1 }, { y: 1 }, { x1: "s" }]), [
      "valid", [issue("/b", "expected nothing here, got number 1")], "valid",
      [issue("/y", 'expected no property but "a", "b", got number 1')],
      [issue("/x1", 'expected number, got string "s"')],
    ]);
  });
});

describe("JSON Schema: what is said", () => {
  const said = (schema: unknown, value: unknown): SchemaIssue[] | undefined =>
    compileSchema(schema)(value);

  test("each issue names the place, what was expected and what came " +
    "(spec server/tools#error-handling)", () => {
      for (const [schema, value, path, message] of [
        [{ properties: { a: { type: "number" } } }, { a: "2" }, "/a",
          'expected number, got string "2"'],
        [{ type: ["string", "null"] }, 5, "", "expected string or null, got number 5"],
        [{ type: "integer" }, 1.5, "", "expected integer, got number 1.5"],
        [{ type: "object" }, null, "", "expected object, got null"],
        [{ type: "object" }, [1], "", "expected object, got array of 1 item"],
        [{ type: "array" }, {}, "", "expected array, got object with no properties"],
        [{ required: ["a"] }, { b: 1 }, "",
          'expected property "a", which is required, got object with "b"'],
        [{ additionalProperties: false }, { b: 1 }, "/b",
          "expected no property but none, got number 1"],
        [{ enum: ["x", 1, null] }, "y", "", 'expected one of "x", 1, null, got string "y"'],
        [{ const: { a: 1 } }, 2, "", 'expected {"a":1}, got number 2'],
        [{ minimum: 3 }, 1, "", "expected at least 3, got number 1"],
        [{ exclusiveMaximum: 3 }, 3, "", "expected less than 3, got number 3"],
        [{ multipleOf: 0.5 }, 0.7, "", "expected a multiple of 0.5, got number 0.7"],
        [{ minLength: 2 }, "a", "", 'expected at least 2 characters, got string "a"'],
        [{ maxLength: 1 }, "😀😀", "", 'expected at most 1 character, got string "😀😀"'],
        [{ minItems: 1 }, [], "", "expected at least 1 item, got array of 0 items"],
        [{ minProperties: 2 }, { a: 1 }, "", 'expected at least 2 properties, got object with "a"'],
        [{ uniqueItems: true }, [1, 1], "", "expected items that all differ, got array of 2 items"],
        [{ contains: { type: "string" } }, [1], "",
          "expected at least 1 items that fit, got array of 1 item"],
        [{ contains: true, minContains: 2, maxContains: 3 }, [1], "",
          "expected 2 to 3 items that fit, got array of 1 item"],
        [{ propertyNames: { maxLength: 2 } }, { abc: 1 }, "/abc",
          'expected at most 2 characters, got string "abc"'],
        [{ dependentRequired: { a: ["b"] } }, { a: 1 }, "",
          'expected property "b", which "a" needs, got object with "a"'],
        [{ not: { type: "string" } }, "s", "", 'expected a value outside `not`, got string "s"'],
        [{ anyOf: [{ type: "string" }, { properties: { k: { type: "number" } }, type: "object" }] },
          { k: "v" }, "", 'expected one of 2 alternatives ' +
            '(1: expected string, got object with "k"; 2: /k expected number, got string "v"), ' +
            'got object with "k"'],
        [{ oneOf: [{ type: "number" }, { type: "integer" }] }, 3, "",
          "expected just one of 2 alternatives (1: fits; 2: fits), got number 3"],
        [{ items: { items: { type: "string" } } }, [["a"], ["b", 2]], "/1/1",
          "expected string, got number 2"],
        [{ additionalProperties: { type: "string" } }, { "a/b~c": 2 }, "/a~1b~0c",
          "expected string, got number 2"],
      ] as const) assert.deepEqual(said(schema, value), [issue(path, message)]);
    });

  test("all misfits are reported, up to ten or the number asked for " +
    "(spec server/tools#error-handling)", () => {
    const schema = { properties: { a: { type: "integer", minimum: 3 }, b: { enum: ["x"] } },
      required: ["a", "b", "c"], additionalProperties: false };
    assert.deepEqual(said(schema, { a: 1.5, b: "z", d: 0 }), [
      issue("/a", "expected integer, got number 1.5"), issue("/a",
        "expected at least 3, got number 1.5"),
      issue("/b", 'expected "x", got string "z"'),
      issue("/d", 'expected no property but "a", "b", got number 0'),
      issue("", 'expected property "c", which is required, got object with "a", "b", "d"'),
    ]);
    const list = { items: { type: "string" } };
    assert.equal(said(list, Array(1000).fill(1))?.length, 10);
    assert.equal(compileSchema(list, { maxIssues: 3 })(Array(1000).fill(1))?.length, 3);
  });

  test("a sentence stays short, whatever came or was asked", () => {
    const long = "y".repeat(10_000);
    const record = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`${long}${at}`, at]));
    for (const [schema, value] of [
      [{ type: "number" }, long], [{ type: "number" }, record], [{ enum: [long, long] }, 1],
      [{ anyOf: Array(100).fill({ enum: [long] }) }, long],
    ] as const) {
      for (const { message } of said(schema, value) ?? []) assert.ok(message.length < 1000,
        message);
    }
    assert.equal(said({ type: "number" }, long)?.length, 1);
  });
});

describe("JSON Schema: refusals", () => {
  const refusal = (schema: unknown, message: string, options?: SchemaOptions): void =>
    assert.throws(() => compileSchema(schema, options), { name: "Error", message });

  test("a $ref to the network is refused, and nothing is fetched (spec basic#ref-resolution)",
    (t) => {
      const fetched = t.mock.method(globalThis, "fetch", () => assert.fail("fetched"));
      refusal({ properties: { a: { $ref: "https://example.com/x.json#/a" } } },
        "schema refused: #/properties/a/$ref must be one of the documents (none is fetched), " +
          'got string "https://example.com/x.json"');
      assert.equal(fetched.mock.callCount(), 0);
    });

  test("a document is used when the caller hands it in, under its own dialect " +
    "(spec basic#ref-resolution)", () => {
    const documents = { "https://example.com/x.json": {
      $schema: "http://json-schema.org/draft-07/schema#",
        definitions: { a: { items: [{ type: "string" }] } },
    } };
    assert.deepEqual(verdicts({ $ref: "https://example.com/x.json#/definitions/a" }, [["a", 1],
      [1]],
      { documents }), ["valid", [issue("/0", "expected string, got number 1")]]);
  });

  test("a schema that is none says where and why (spec basic#schema-validation)", () => {
    refusal(null, "schema refused: # must be a schema (an object, true or false), got null");
    refusal({ properties: { a: 5 } }, "schema refused: #/properties/a must be a schema " +
      "(an object, true or false), got number 5");
    refusal({ properties: { a: { type: "strin" } } },
      "schema refused: #/properties/a/type must be " +
      'null,boolean,string,number,integer,array,object, got string "strin"');
    refusal({ required: true },
      "schema refused: #/required must be a list of strings, got boolean true");
    refusal({ minimum: "1" }, 'schema refused: #/minimum must be a number, got string "1"');
    refusal({ anyOf: {} },
      "schema refused: #/anyOf must be a list of schemas, got object with no properties");
    refusal({ $defs: { unused: { properties: [] } } },
      "schema refused: #/$defs/unused/properties must be a map of schemas, got array of 0 items");
    refusal({ $ref: "#nowhere" }, "schema refused: #/$ref must be a reference to a schema " +
      'that exists, got string "#nowhere"');
    refusal({ $id: "http://[" },
      'schema refused: #/$id must be a URI reference, got string "http://["');
    assert.throws(() => compileSchema({ pattern: "(" }), SyntaxError);
  });

  test("a vocabulary that is required and unknown is refused " +
    "(JSON Schema 2020-12 core 8.1.2)", () => {
    const meta = (vocabulary: string, needed: boolean) =>
      ({ documents: { "https://example.com/meta": {
      $schema: "https://json-schema.org/draft/2020-12/schema", $vocabulary: {
        "https://json-schema.org/draft/2020-12/vocab/core": true, [vocabulary]: needed },
    } } });
    const schema = { $schema: "https://example.com/meta", type: "number", format: "date" };
    const assertion = "https://json-schema.org/draft/2020-12/vocab/format-assertion";
    const message = "schema refused: $schema must be draft 2020-12 or 07 of " +
      'https://json-schema.org, got string "https://example.com/meta"';
    refusal(schema, message, meta("https://example.com/vocabulary", true));
    refusal(schema, message, meta(assertion, true));
    assert.deepEqual(verdicts(schema, ["x"], meta("https://example.com/vocabulary", false)),
      ["valid"]);
    assert.equal(compileSchema(schema, { ...meta(assertion, true), formats })("x")?.length, 1);
  });

  test("the number and the depth of subschemas are bounded " +
    "(spec basic#composition-keyword-resource-use)", () => {
    const over = { name: "Error",
      message: /^schema refused: #.* must be within the limits of depth and number of / };
    assert.throws(() => compileSchema({ anyOf: Array.from({ length: 10_000 }, () => ({})) }), over);
    assert.throws(() => compileSchema({ anyOf: [{}, {}] }, { maxSubschemas: 2 }), over);
    assert.throws(() => compileSchema(nested(5000, (not) => ({ not }))), over);
    assert.throws(() => compileSchema({ not: { not: { not: {} } } }, { maxDepth: 2 }), over);
    assert.deepEqual(verdicts({ not: { not: { type: "string" } } }, ["s"], { maxDepth: 2 }),
      ["valid"]);
  });
});

describe("JSON Schema: bounds", () => {
  test("recursion without progress ends, in each kind of loop " +
    "(spec basic#composition-keyword-resource-use)", () => {
    for (const schema of [
      { $ref: "#" }, { allOf: [{ $ref: "#" }, { $ref: "#" }] }, { not: { $ref: "#" } },
      { anyOf: [{ $ref: "#" }, { $ref: "#" }] }, { if: { $ref: "#" } }, { $dynamicRef: "#" },
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    ]) assert.deepEqual(compileSchema(schema)(1), limit("it nests over 128 levels"));
  });

  test("a few schemas that double the work sixty times end too " +
    "(spec basic#composition-keyword-resource-use)", () => {
    for (const keyword of ["allOf", "anyOf"]) {
      const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, at) =>
        [at, { [keyword]: [{ $ref: `#/$defs/${at + 1}` }, { $ref: `#/$defs/${at + 1}` }] }]));
      const schema = { $ref: "#/$defs/0", $defs: { ...$defs, 60: keyword === "allOf" } };
      assert.deepEqual(compileSchema(schema, { maxSteps: 1_000_000 })(1),
        limit("it takes over 1000000 steps"));
    }
  });

  test("a value nests as deep as messages may, and no deeper " +
    "(spec basic#composition-keyword-resource-use)", () => {
    const wrap = (next: unknown): unknown => ({ next });
    const list = { properties: { next: { $ref: "#" } }, type: "object" };
    const indirect = { $defs: { a: { $ref: "#/$defs/b" }, b: { allOf: [{ $ref: "#" }] } },
      properties: { next: { anyOf: [{ $ref: "#/$defs/a" }] } } };
    for (const schema of [list, indirect]) {
      assert.deepEqual(verdicts(schema, [nested(127, wrap)]), ["valid"]);
      assert.deepEqual(verdicts(schema, [nested(100_000, wrap)]),
        [limit("it nests over 128 levels")]);
    }
    assert.deepEqual(verdicts(list, [nested(3, wrap)], { maxDepth: 2 }),
      [limit("it nests over 2 levels")]);
  });

  test("no value makes the check throw", () => {
    const cycle: { next?: unknown } = {};
    cycle.next = cycle;
    const throwing = { get a(): never { throw null; } };
    const hostile = new Proxy({}, { ownKeys() { throw new Error("no keys for you"); } });
    const schema = { type: "object", properties: { a: { type: "number" }, next: { $ref: "#" } },
      enum: [{}], uniqueItems: true, minProperties: 1, propertyNames: { pattern: "^[a-z]+$" } };
    for (const value of [undefined, NaN, -0, 1n, Symbol("s"), () => 1, new Date(), new Map(), cycle,
      throwing, hostile, Object.create(null), nested(100_000, (inner) => [inner], [])]) {
      const issues = compileSchema(schema)(value);
      assert.ok(issues === undefined || issues.length > 0);
    }
    assert.deepEqual(compileSchema(schema)(hostile), limit("no keys for you"));
  });

  test("a property that is undefined is absent, as it will be on the wire", () => {
    const schema = { properties: { a: { type: "number" } }, required: ["b"],
      additionalProperties: false };
    assert.deepEqual(verdicts(schema, [{ a: undefined, b: undefined, c: undefined }]), [[
      issue("", 'expected property "b", which is required, got object with "a", "b", "c"')]]);
  });

  test("a property that something put on Object.prototype is nobody's", (t) => {
    t.after(() => delete (Object.prototype as { planted?: unknown }).planted);
    (Object.prototype as { planted?: unknown }).planted = 1;
    const schema = { required: ["planted"], properties: { planted: { type: "string" } },
      additionalProperties: false };
    assert.deepEqual(verdicts(schema, [{}]), [[
      issue("", 'expected property "planted", which is required, got object with no properties')]]);
  });

  test("large values of many small parts are within the budget", () => {
    const rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ["a",
      "b"] }));
    const schema = { type: "array", items: { type: "object", properties: { id: { type: "integer",
      minimum: 0 }, name: { type: "string", maxLength: 20 }, tags: { type: "array", items: {
      enum: ["a", "b"] } } }, required: ["id", "name"], additionalProperties: false } };
    assert.deepEqual(verdicts(schema, [rows]), ["valid"]);
  });
});

describe("Formats", () => {
  test("format is an annotation, until formats are handed in " +
    "(JSON Schema 2020-12 validation 7.2)", () => {
    const schema = { format: "email" };
    assert.deepEqual(verdicts(schema, ["nobody"]), ["valid"]);
    assert.deepEqual(verdicts(schema, ["nobody", "a@b.example", 5], { formats }), [
      [issue("", 'expected a string in the format email, got string "nobody"')], "valid", "valid"]);
    assert.deepEqual(verdicts({ format: "colour" }, ["x"], { formats }), ["valid"]);
    assert.deepEqual(verdicts({ format: "toString" }, ["x"], { formats }), ["valid"]);
  });

  test("the formats of a form, and the rest, tell right from wrong " +
    "(JSON Schema 2020-12 validation 7.3)", () => {
      for (const [name, good, bad] of [
        ["email", ["a.b@c.example", '"a b"@c.example', "a@[127.0.0.1]"], ["a@", "a@@b", ".a@b",
          "a b@c"]],
        ["uri", ["https://a.example/?q#f", "urn:isbn:1"], ["/a", "http://a b", "http://[::1", "%"]],
        ["date", ["2024-02-29"], ["2023-02-29", "2024-13-01", "2024-2-1", "2024-02-30"]],
        ["date-time", ["2024-02-29T23:59:60Z", "2024-02-29t01:02:03.4+05:30"],
          ["2024-02-29 01:02:03Z", "2024-02-29T01:02:03", "2024-02-29T22:59:60Z"]],
        ["time", ["00:59:60+01:00"], ["24:00:00Z", "01:02Z"]],
        ["duration", ["P1DT12H", "P2W", "PT1M"], ["P", "PT", "P1", "P1Y2D", "P1WT1H"]],
        ["ipv4", ["127.0.0.1"], ["127.0.0.01", "256.0.0.1", "1.2.3"]],
        ["ipv6", ["::", "1::8", "::ffff:1.2.3.4"], ["1::2::3", "12345::", "1:2:3:4:5:6:7",
          "::1.2.3"]],
        ["hostname", ["a-b.example", "xn--ll-0ea"], ["-a", "a_b", "xn--X", "a..b", "a."]],
        ["uuid", ["2eb8aa08-aa98-11ea-b4aa-73b441d16380"], ["2eb8aa08aa9811eab4aa73b441d16380"]],
        ["uri-reference", ["", "a/b?c", "//x"], ["\\\\a", "1:b"]], ["iri", ["http://é.example"],
          ["é"]],
        ["idn-email", ["é@é.example"], ["é"]], ["iri-reference", ["/é"], ["\\é"]],
        ["uri-template", ["/a{/b,c*}{?d:3}"], ["{", "{}", "a b"]],
        ["json-pointer", ["", "/a~1b"], ["a", "/~2"]], ["relative-json-pointer", ["0#", "1/a"],
          ["01", "-1"]],
        ["regex", ["[a-z]+"], ["(", "\\a"]],
      ] as const) {
        for (const text of good) assert.equal(formats[name]?.(text), true, `${name} ${text}`);
        for (const text of bad) assert.equal(formats[name]?.(text), false, `${name} ${text}`);
      }
      assert.equal(Object.isFrozen(formats), true);
    });

  test("no format takes long over a long text", () => {
    const began = performance.now();
    for (const [name, fits] of Object.entries(formats)) {
      for (const part of ["a", "1", ".", ":", "/", "%41", "{a}", "::", "a.", "~0", "(", "["]) {
        assert.equal(typeof fits(`${part.repeat(20_000)}!`), "boolean", name);
      }
    }
    assert.ok(performance.now() - began < 5000);
  });
});
