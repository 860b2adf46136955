// The official JSON-Schema-Test-Suite, for this validator and two well-known
// ones beside it.
//
// The suite is not kept here. test/peers/json-schema-suite/ holds a copy of it:
// tests/, remotes/ and, in COMMIT, the commit that the counts below are of.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import { compileSchema, formats } from "../../mcp-raw.ts";

const COMMIT = "44401e0c046704b476ec9d2e2fccdaee618f259d";
const suite = new URL("json-schema-suite/", import.meta.url);
const skip = existsSync(new URL("tests/draft2020-12/", suite))
  ? false
  : "git clone https://github.com/json-schema-org/JSON-Schema-Test-Suite " +
    `test/peers/json-schema-suite && git -C test/peers/json-schema-suite checkout ${COMMIT}`;
const require = createRequire(import.meta.url);

interface Group {
  description: string;
  schema: unknown;
  tests: { description: string; data: unknown; valid: boolean }[];
}
type Documents = Record<string, unknown>;
type Check = (value: unknown) => boolean;
type Compile = (schema: unknown, documents: Documents, asserts: boolean) => Check;

const readJson = (url: URL): unknown => JSON.parse(readFileSync(url, "utf8"));
// The files of the suite are trusted to have the shape that its README tells.
const groupsOf = (url: URL): Group[] => readJson(url) as Group[];
const filesIn = (folder: URL): URL[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory()
      ? filesIn(new URL(`${entry.name}/`, folder))
      : [new URL(entry.name, folder)],
  );
const jsonIn = (folder: URL): URL[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .map((name) => new URL(name, folder));

const DRAFTS = {
  "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
  draft7: "http://json-schema.org/draft-07/schema#",
};
type Draft = keyof typeof DRAFTS;

/** The remote documents of a draft and the meta-schemas (which ajv happens to ship), by URI. */
function documentsOf(draft: Draft): Documents {
  const remotes = new URL("remotes/", suite);
  const named = filesIn(remotes)
    .map((url): [string, unknown] => [
      `http://localhost:1234/${url.href.slice(remotes.href.length)}`,
      readJson(url),
    ])
    .filter(([uri]) => !/1234\/(?:draft|v1)/.test(uri) || uri.includes(`/${draft}/`));
  const refs = new URL(`file://${require.resolve("ajv/package.json")}/../dist/refs/`);
  const metas = [
    new URL("json-schema-draft-07.json", refs),
    ...filesIn(new URL("json-schema-2020-12/", refs)).filter((url) => url.href.endsWith(".json")),
  ].map(readJson);
  return Object.fromEntries([
    ...named,
    ...metas.map((meta): [string, unknown] => [String(Object(meta).$id).replace(/#$/, ""), meta]),
  ]);
}

const ours =
  (draft: Draft): Compile =>
  (schema, documents, asserts) => {
    // The tests of draft-07 do not say that they are.
    const dated = typeof schema === "object" ? { $schema: DRAFTS[draft], ...schema } : schema;
    const check = compileSchema(dated, asserts ? { documents, formats } : { documents });
    return (value) => check(value) === undefined;
  };

/** The members used of ajv and of @cfworker/json-schema, whose modules are found at run time. */
interface Ajv {
  addSchema(schema: unknown, uri: string): void;
  compile(schema: unknown): Check;
}
interface CfWorker {
  addSchema(schema: unknown, uri: string): void;
  validate(value: unknown): { valid: boolean };
}

function ajvOf(draft: Draft): Compile {
  const Made: new (options: object) => Ajv = require(
    draft === "draft7" ? "ajv" : "ajv/dist/2020.js",
  ).default;
  return (schema, documents) => {
    const ajv = new Made({ strict: false, validateFormats: false, logger: false });
    for (const [uri, document] of Object.entries(documents)) {
      if (!/json-schema\.org/.test(uri)) ajv.addSchema(document, uri);
    }
    return ajv.compile(schema);
  };
}

function cfworkerOf(draft: Draft): Compile {
  const {
    Validator,
  }: {
    Validator: new (schema: unknown, draft: string, short: boolean) => CfWorker;
  } = require("@cfworker/json-schema");
  return (schema, documents) => {
    const validator = new Validator(schema, draft === "draft7" ? "7" : "2020-12", true);
    for (const [uri, document] of Object.entries(documents)) validator.addSchema(document, uri);
    return (value) => validator.validate(value).valid;
  };
}

/** How many tests there are, and which fail: all of a schema that does not compile. */
function run(files: URL[], compile: Compile, documents: Documents, asserts = false) {
  const failed: string[] = [];
  let count = 0;
  for (const file of files)
    for (const { schema, tests, description } of groupsOf(file)) {
      let check: Check | undefined;
      let reason: unknown;
      try {
        check = compile(schema, documents, asserts);
      } catch (error) {
        reason = error;
      }
      for (const one of tests) {
        count++;
        let verdict: unknown = reason;
        try {
          verdict = check?.(one.data) ?? reason;
        } catch (error) {
          verdict = error;
        }
        if (verdict !== one.valid) {
          failed.push(
            `${file.href.slice(suite.href.length)}: ${description}: ${one.description}: ${verdict}`,
          );
        }
      }
    }
  return { count, failed, passed: `${count - failed.length} of ${count}` };
}

const isCounted = !skip && String(readFileSync(new URL("COMMIT", suite))).trim() === COMMIT;
const REQUIRED = { "draft2020-12": 1299, draft7: 927 };

for (const draft of ["draft2020-12", "draft7"] as const) {
  const folder = new URL(`tests/${draft}/`, suite);

  test(`every required test of ${draft} passes, ${REQUIRED[draft]} of them`, { skip }, (t) => {
    const documents = documentsOf(draft);
    const files = jsonIn(folder);
    const result = run(files, ours(draft), documents);
    t.diagnostic(
      `${draft}, required: this file ${result.passed}, ` +
        `ajv ${run(files, ajvOf(draft), documents).passed}, ` +
        `@cfworker/json-schema ${run(files, cfworkerOf(draft), documents).passed}`,
    );
    assert.deepEqual(result.failed, []);
    if (isCounted) assert.equal(result.count, REQUIRED[draft]);
  });

  test(
    `every optional test of ${draft} passes, but content encoding and other drafts`,
    { skip },
    (t) => {
      const files = jsonIn(new URL("optional/", folder)).filter(
        (url) => !/\/(?:content|cross-draft)\.json$/.test(url.href),
      );
      const result = run(files, ours(draft), documentsOf(draft), true);
      t.diagnostic(`${draft}, optional: this file ${result.passed}`);
      assert.deepEqual(result.failed, []);
      assert.ok(result.count > 100);
    },
  );

  test(`every format of ${draft} is asserted, but internationalised host names`, { skip }, (t) => {
    const files = jsonIn(new URL("optional/format/", folder)).filter(
      (url) => !url.href.endsWith("/idn-hostname.json"),
    );
    const result = run(files, ours(draft), documentsOf(draft), true);
    t.diagnostic(`${draft}, format: this file ${result.passed}`);
    assert.deepEqual(result.failed, []);
    assert.ok(result.count > 500);
  });
}

test(
  "a failing test of the suite is seen, and so is a schema that does not compile",
  { skip },
  () => {
    const files = jsonIn(new URL("tests/draft2020-12/", suite)).filter((url) =>
      url.href.endsWith("/type.json"),
    );
    assert.equal(
      run(files, () => () => true, {}).failed.length,
      groupsOf(files[0] ?? suite)
        .flatMap(({ tests }) => tests)
        .filter(({ valid }) => !valid).length,
    );
    const { count, failed } = run(files, () => assert.fail("refused"), {});
    assert.equal(failed.length, count);
  },
);
