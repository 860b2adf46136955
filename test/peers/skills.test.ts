// The extension io.modelcontextprotocol/skills, from its specification: literal messages of a
// server, folders that must not be served, and a client that is lied to. Places are headings of
// its page (ext-skills skills) or of agentskills.io.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync }
  from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, test } from "node:test";
import { connect, ProtocolError, server, type JSONRPCRequest, type ListOptions }
  from "../../mcp-raw.ts";
import { approvalOf, getSkill, listSkills, openSkill, readSkillFile, readSkills, skillResources,
  skills, skillsOf, type Skill, type SkillFile, type SkillFiles, type SkillSet }
  from "../../examples/extensions/skills.ts";
import { lane, request, scripted } from "../kit-http.ts";

const NOTES = "---\nname: notes\ndescription: Takes notes – and keeps them\n---\n\n" +
  "See `templates/day.md`.\n";
const NOTES_DIGEST = "sha256:63f10c1afd1bec258e3afef2e3297c15f88fa079d3d0c255316cd60ebd8ba509";
const DAY_DIGEST = "sha256:74dd315839c256d230d9bf6493e7afa556c8f45f3b05af6cbee223a0ee12166d";
const PNG = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff);
const PNG_DIGEST = "sha256:88d68653bc6eba8184e26ce031ad2c828ea72973d7fd3863823a2704e6b41940";
const ENTRY: Skill & { resources: SkillFile[] } = {
  uri: "skill://notes/SKILL.md",
  frontmatter: { name: "notes", description: "Takes notes – and keeps them" },
  resources: [{ uri: "skill://notes/SKILL.md", digest: NOTES_DIGEST, size: 89 },
    { uri: "skill://notes/templates/day.md", digest: DAY_DIGEST, size: 8 },
    { uri: "skill://notes/templates/pen.png", digest: PNG_DIGEST, size: 5 }],
};
const FILES: SkillFiles = { "notes/SKILL.md": NOTES, "notes/templates/day.md": "# {day}\n",
  "notes/templates/pen.png": PNG };
const minimal = (name: string, more = "") => `---\nname: ${name}\ndescription: d\n${more}---\n`;

type Told = Record<string, any>; // any: what came off the wire is compared whole
/** A server of skills that is asked by literal messages: its results, or its errors. */
function serving(set: SkillSet, options: ListOptions = {}) {
  const { exchange } = server({ name: "t", version: "1", resources: skillResources(set),
    features: [skills(set, options)] });
  return async (method: string, params: object = {}): Promise<Told> => {
    const response: Told = await exchange(request(method, params), lane());
    const { _meta, ...told } = response.result ?? response.error;
    return JSON.parse(JSON.stringify(told)) as Told;
  };
}
const serve = async (files: SkillFiles, options?: ListOptions) =>
  serving(await skillsOf(files), options);
const uris = (list: { uri: string }[]) => list.map(({ uri }) => uri);

describe("Skills: the server (ext-skills skills)", () => {
  test("the extension is declared with what it does, beside resources " +
    "(ext-skills skills#capability-negotiation)", async () => {
    const { capabilities } = await (await serve(FILES))("server/discover");
    assert.deepEqual(capabilities.extensions,
      { "io.modelcontextprotocol/skills": { directoryRead: true } });
    assert.ok(capabilities.resources);
  });

  test("skills/list gives the frontmatter and each file, with the digest and size of its bytes " +
    "(ext-skills skills#listing-skills)", async () => {
    assert.deepEqual(await (await serve(FILES))("skills/list"),
      { resultType: "complete", ttlMs: 300_000, cacheScope: "public", skills: [ENTRY] });
  });

  test("it comes in pages, an entry whole and on one of them, for as long as the server says " +
    "(ext-skills skills#response)", async () => {
    const ask = await serve({ ...FILES, "b/b-two/SKILL.md": minimal("b-two"),
      "a/SKILL.md": minimal("a") }, { pageSize: 1, ttlMs: 0, cacheScope: "private" });
    const pages: Told[] = [await ask("skills/list")];
    while (pages.at(-1)?.nextCursor !== undefined) {
      pages.push(await ask("skills/list", { cursor: pages.at(-1)?.nextCursor }));
    }
    assert.deepEqual(pages.map(({ skills }) => uris(skills)), [["skill://a/SKILL.md"],
      ["skill://b/b-two/SKILL.md"], ["skill://notes/SKILL.md"]]);
    for (const page of pages) assert.deepEqual([page.ttlMs, page.cacheScope], [0, "private"]);
    assert.deepEqual(pages[2]?.skills, [ENTRY]);
    assert.equal((await ask("skills/list", { cursor: "never given" })).code, -32602);
  });

  test("skills/get gives the same entry and no cursor; -32602 for what is no SKILL.md of a skill " +
    "(ext-skills skills#getting-a-skill)", async () => {
    const ask = await serve(FILES);
    assert.deepEqual(await ask("skills/get", { uri: "skill://notes/SKILL.md" }),
      { resultType: "complete", ttlMs: 300_000, cacheScope: "public", skill: ENTRY });
    for (const uri of ["skill://other/SKILL.md", "skill://notes", "skill://notes/templates/day.md",
      "skill://notes/templates/../SKILL.md", "SKILL://notes/SKILL.md", "", 1, undefined]) {
      const { code, data } = await ask("skills/get", { uri });
      assert.deepEqual({ code, data }, { code: -32602, data: uri === undefined ? {} : { uri } });
    }
  });

  test("each file is a resource; that of SKILL.md bears the skill's name and description " +
    "(ext-skills skills#resource-metadata)", async () => {
    const ask = await serve(FILES);
    assert.deepEqual((await ask("resources/list")).resources, [
      { uri: "skill://notes/SKILL.md", name: "notes",
        description: "Takes notes – and keeps them", mimeType: "text/markdown", size: 89 },
      { uri: "skill://notes/templates/day.md", name: "day.md", mimeType: "text/markdown", size: 8 },
      { uri: "skill://notes/templates/pen.png", name: "pen.png", mimeType: "image/png", size: 5 }]);
    assert.deepEqual((await ask("resources/read", { uri: "skill://notes/SKILL.md" })).contents,
      [{ uri: "skill://notes/SKILL.md", mimeType: "text/markdown", text: NOTES }]);
    assert.deepEqual((await ask("resources/read", { uri: "skill://notes/templates/pen.png" }))
      .contents, [{ uri: "skill://notes/templates/pen.png", mimeType: "image/png",
      blob: "iVBOR/8=" }]);
    for (const uri of ["skill://notes", "skill://notes/templates/no.md", "skill://notes//SKILL.md",
      "skill://notes/templates/../SKILL.md", "skill://notes/../../etc/passwd"]) {
      assert.equal((await ask("resources/read", { uri })).code, -32602, uri);
    }
  });

  test("resources/directory/read gives the direct children of a directory, in pages " +
    "(ext-skills skills#reading-directories)", async () => {
    const files = { ...FILES, "acme/billing/refunds/SKILL.md": minimal("refunds"),
      "acme/billing/refunds/a/b/c.txt": "c" };
    const ask = await serve(files);
    const children = async (uri: string) => (await ask("resources/directory/read", { uri }))
      .resources.map(({ uri, mimeType }: Told) => `${uri} ${mimeType}`);
    assert.deepEqual(await ask("resources/directory/read", { uri: "skill://notes" }),
      { resultType: "complete", resources: [
        { uri: "skill://notes/SKILL.md", name: "notes",
          description: "Takes notes – and keeps them", mimeType: "text/markdown", size: 89 },
        { uri: "skill://notes/templates", name: "templates", mimeType: "inode/directory" }] });
    assert.deepEqual(await children("skill://acme"), ["skill://acme/billing inode/directory"]);
    assert.deepEqual(await children("skill://acme/billing/refunds"), [
      "skill://acme/billing/refunds/SKILL.md text/markdown",
      "skill://acme/billing/refunds/a inode/directory"]);
    assert.deepEqual(await children("skill://acme/billing/refunds/a/b"),
      ["skill://acme/billing/refunds/a/b/c.txt text/plain"]);

    const one = await serve(files, { pageSize: 1 });
    const first = await one("resources/directory/read", { uri: "skill://notes" });
    const { nextCursor: cursor, ...last } = await one("resources/directory/read",
      { uri: "skill://notes", cursor: first.nextCursor });
    assert.deepEqual([uris(first.resources), uris(last.resources), cursor],
      [["skill://notes/SKILL.md"], ["skill://notes/templates"], undefined]);
  });

  test("it answers -32602 for a file and for what is not there " +
    "(ext-skills skills#error-handling)", async () => {
    const ask = await serve(FILES);
    for (const uri of ["skill://notes/SKILL.md", "skill://notes/", "skill://note", "skill://other",
      "skill://notes/templates/..", "skill://", "skill:/", "skill:", "", "notes", null, 1,
      undefined]) {
      assert.equal((await ask("resources/directory/read", { uri })).code, -32602, String(uri));
    }
  });

  test("a skill within a skill is listed by itself, and its files belong to both " +
    "(ext-skills skills#nested-skills)", async () => {
    const ask = await serve({ "out/SKILL.md": minimal("out"), "out/in/SKILL.md": minimal("in"),
      "out/in/x.md": "x", "outer/SKILL.md": minimal("outer") });
    const { skills: listed } = await ask("skills/list");
    assert.deepEqual(listed.map(({ resources }: Skill) => uris(resources as [])), [
      ["skill://out/SKILL.md", "skill://out/in/SKILL.md", "skill://out/in/x.md"],
      ["skill://out/in/SKILL.md", "skill://out/in/x.md"], ["skill://outer/SKILL.md"]]);
    assert.deepEqual((await ask("resources/list")).resources.map(({ name }: Told) => name),
      ["out", "in", "x.md", "outer"]);
  });

  test("a URI is a path that a relative reference finds, whatever the names " +
    "(ext-skills skills#relative-references)", async () => {
    const names = ["a b.md", "C#.md", "what?.md", "100%.md", "%2e%2e", "é(1).md", "a:b@c.md",
      "constructor", "__proto__", "...", "x.__proto__"];
    const { skills: [skill], bodies } = await skillsOf(Object.fromEntries([
      ["Über uns:1/s/SKILL.md", minimal("s")],
      ...names.map((name) => [`Über uns:1/s/d/${name}`, name])]));
    assert.equal(skill?.uri, "skill://%C3%9Cber%20uns%3A1/s/SKILL.md");
    for (const name of names) {
      const written = `d/${encodeURI(name).replace(/[#?]/g, encodeURIComponent)}`;
      assert.equal(bodies.get(new URL(written, skill?.uri).href), name);
    }
    const set = await skillsOf({ "s/SKILL.md": minimal("s"), "s/x.constructor": "text",
      "s/LICENSE": "text", "s/y.PNG": PNG, "s/data": PNG });
    assert.deepEqual(skillResources(set).map(({ name, mimeType }) => `${name} ${mimeType}`),
      ["LICENSE text/plain", "s text/markdown", "data application/octet-stream",
        "x.constructor text/plain", "y.PNG image/png"]);
  });
});

describe("Skills: what is no skill (agentskills.io specification)", () => {
  const refuses = (pattern: RegExp, files: SkillFiles) =>
    assert.rejects(skillsOf(files), { name: "Error", message: pattern });

  test("a name is that of its folder: 1 to 64 of a-z, 0-9 and single hyphens " +
    "(agentskills.io specification#name-field)", async () => {
    for (const name of ["a", "0", "a-b-c", "a".repeat(64)]) {
      const { skills: [skill] } = await skillsOf({ [`p/${name}/SKILL.md`]: minimal(`"${name}"`) });
      assert.equal(skill?.uri, `skill://p/${name}/SKILL.md`);
    }
    for (const name of ["A", "a_b", "-a", "a-", "a--b", "é", "a b", "a".repeat(65), ""]) {
      await refuses(/^skill:\/\/\S*: name must be 1 to 64 of a-z/,
        { [`${name || "x"}/SKILL.md`]: minimal(`"${name}"`) });
    }
    await refuses(/^skill:\/\/b: its folder must be called a, as it says in SKILL\.md$/,
      { "b/SKILL.md": minimal("a") });
    await refuses(/^skill:\/\/a: name must be/, { "a/SKILL.md": "---\ndescription: d\n---\n" });
    await refuses(/^skill:\/\/1: name must be/, { "1/SKILL.md": minimal("1") });
  });

  test("the other fields keep to their kinds and lengths, and what is unknown passes " +
    "(agentskills.io specification#frontmatter)", async () => {
    const name = "name: s\n";
    const faults: [RegExp, string][] = [
      [/description must be a text of 1 to 1,024/, name],
      [/description must be/, `${name}description: ""\n`],
      [/description must be/, `${name}description: 12\n`],
      [/description must be/, `${name}description: ${"x".repeat(1025)}\n`],
      [/compatibility must be a text of 1 to 500/, `compatibility: ${"x".repeat(501)}\n`],
      [/compatibility must be/, "compatibility:\n"],
      [/license must be a text/, "license: [MIT]\n"],
      [/allowed-tools must be one text, with spaces/, "allowed-tools:\n  - Read\n"],
      [/metadata must be keys with texts/, "metadata: x\n"],
      [/metadata\.version must be a text: put it in quotes/, "metadata:\n  version: 1.0\n"],
      [/metadata\.io\.modelcontextprotocol\/x: .* are reserved/,
        "metadata:\n  io.modelcontextprotocol/x: y\n"],
      [/SKILL\.md, line 4: .*in double quotes: Use when: now/, "more: Use when: now\n"],
    ];
    for (const [pattern, yaml] of faults) {
      await refuses(new RegExp(`^skill://s: ${pattern.source}`), { "s/SKILL.md":
        yaml.startsWith(name) ? `---\n${yaml}---\n` : minimal("s", yaml) });
    }
    const { skills: [skill] } = await skillsOf({ "s/SKILL.md": "---\nname: s\ndescription: " +
      `"${"\u{1f600}".repeat(1024)}"\nhooks:\n  - when: [1, 2]\n---\n` });
    assert.deepEqual(skill?.frontmatter.hooks, [{ when: [1, 2] }]);
  });

  test("a skill has a SKILL.md at its root, of UTF-8 (agentskills.io specification" +
    "#directory-structure)", async () => {
    await refuses(/none of the folders has a SKILL\.md/, {});
    await refuses(/none of the folders has a SKILL\.md/, { "a/skill.md": minimal("a") });
    await refuses(/SKILL\.md must be in a folder of its own/, { "SKILL.md": minimal("a") });
    await refuses(/^skill:\/\/a: SKILL\.md must be UTF-8$/, { "a/SKILL.md": PNG });
    await refuses(/^skill:\/\/a: SKILL\.md must begin with a block/, { "a/SKILL.md": "# A\n" });
    for (const path of ["a/../b", "../b", "a/./b", "/b", "a//b", "a/", "a\\b", "a/b\n", "a/\0",
      "a/SKILL.md/b"]) {
      await refuses(/ is no path of a file: write name\/SKILL\.md$/,
        { "a/SKILL.md": minimal("a"), [path]: "b" });
    }
  });

  test("512 files and 16 MiB are served, and no more (ext-skills skills#limits)", async () => {
    const many = (count: number) => Object.fromEntries([["s/SKILL.md", minimal("s")],
      ...Array.from({ length: count - 1 }, (_, at) => [`s/${at}`, ""])]);
    const heavy = (size: number) => ({ "s/SKILL.md": minimal("s"),
      "s/x": new Uint8Array(size - minimal("s").length) });
    assert.equal((await skillsOf(many(512))).bodies.size, 512);
    assert.equal((await skillsOf(heavy(16_777_216))).bodies.size, 2);
    await refuses(/^skill:\/\/s: it has 513 files of 31 bytes: 512 of 16777216 are/, many(513));
    await refuses(/^skill:\/\/s: it has 2 files of 16777217 bytes/, heavy(16_777_217));
  });
});

describe("Skills: folders (ext-skills skills#resource-mapping)", () => {
  const top = mkdtempSync(join(tmpdir(), "mcp-raw-skills-"));
  after(() => rmSync(top, { recursive: true }));
  let folders = 0;
  const folder = (files: SkillFiles): string => {
    const here = join(top, String(folders++));
    mkdirSync(here);
    for (const [path, body] of Object.entries(files)) {
      mkdirSync(dirname(join(here, path)), { recursive: true });
      writeFileSync(join(here, path), body);
    }
    return here;
  };

  test("the folders of a folder are served, byte for byte (ext-skills skills#skill-format)",
    async () => {
      const files = { ...FILES, "notes/__proto__": "x", "README.md": "of no skill",
        "team/marked/SKILL.md": "\ufeff---\r\nname: marked\r\ndescription: d\r\n---\r\n" };
      const set = await readSkills(folder(files));
      const { "README.md": _, ...own } = files;
      assert.deepEqual(set, await skillsOf(own));
      const ask = serving(set);
      const { skills: [, marked] } = await ask("skills/list");
      assert.deepEqual(marked.resources, [{ uri: "skill://team/marked/SKILL.md", size: 43,
        digest: "sha256:6410b512251df6575711726fb8d48be6c5e1fffafc97d93833ee7e5378536792" }]);
      const { contents } = await ask("resources/read", { uri: marked.uri });
      assert.equal(contents[0].text, files["team/marked/SKILL.md"]);
    });

  test("what is hidden is no part of a skill, and a link is refused, wherever it leads",
    async () => {
      const here = folder({ "s/SKILL.md": minimal("s"), "s/.env": "SECRET=1", ".git/x": "y",
        "s/.git/SKILL.md": "z" });
      assert.deepEqual([...(await readSkills(here)).bodies.keys()], ["skill://s/SKILL.md"]);
      for (const target of ["/etc/passwd", "SKILL.md", "..", "absent"]) {
        symlinkSync(target, join(here, "s/link"));
        await assert.rejects(readSkills(here),
          { message: "s/link is a link, or no file at all: put a copy there instead" });
        rmSync(join(here, "s/link"));
      }
    });

  test("a folder that is a skill, or has none, is refused", async () => {
    await assert.rejects(readSkills(join(folder(FILES), "notes")),
      { message: "SKILL.md must be in a folder of its own" });
    await assert.rejects(readSkills(folder({ "a/README.md": "" })),
      { message: "no skill is here: none of the folders has a SKILL.md" });
    await assert.rejects(readSkills(join(top, "absent")), { code: "ENOENT" });
  });

  test("what is too large is refused before it is read (ext-skills skills#limits)", async () => {
    const here = folder({ "s/SKILL.md": minimal("s"), "s/x": "" });
    truncateSync(join(here, "s/x"), 2 ** 32); // a hole: readFile() takes 2 GiB at most
    await assert.rejects(readSkills(here), /^Error: s: it has 2 files of 4294967327 bytes/);
  });
});

describe("Skills: the client (ext-skills skills#integrity-and-verification)", () => {
  /** A server of the entry and its files, but for what a function changes. */
  function lying(change: (result: Told, request: JSONRPCRequest) => unknown = () => {}) {
    const bodies = new Map<unknown, object>([["skill://notes/SKILL.md", { text: NOTES }],
      ["skill://notes/templates/day.md", { text: "# {day}\n" }],
      ["skill://notes/templates/pen.png", { blob: "iVBOR/8=" }]]);
    const { exchange, asked } = scripted((asking) => {
      const { id, method, params: { uri } = {} } = asking;
      const cache = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
      const result: Told = structuredClone(method === "skills/list" ? { ...cache, skills: [ENTRY] }
        : method === "skills/get" ? { ...cache, skill: ENTRY }
        : { ...cache, contents: [{ uri, ...bodies.get(uri) }] });
      change(result, asking);
      return { jsonrpc: "2.0", id, result };
    });
    const reads = () => asked.filter(({ method }) => method === "resources/read").length;
    return { client: connect(exchange), asked, reads };
  }
  const untrusted = (pattern: RegExp) => ({ name: "Error", message: pattern });

  test("nothing is read when skills are listed, and what is read is one file " +
    "(ext-skills skills#lazy-retrieval)", async () => {
    const { client, asked } = lying();
    const found = await listSkills(client);
    assert.deepEqual(found, [ENTRY]);
    assert.deepEqual(await approvalOf(ENTRY), await approvalOf(found[0] as Skill));
    assert.deepEqual(asked.map(({ method }) => method), ["skills/list"]);
    assert.equal(await openSkill(client, ENTRY), NOTES);
    const { href } = new URL("templates/pen.png", ENTRY.uri);
    assert.deepEqual(await readSkillFile(client, ENTRY, href), PNG);
    assert.deepEqual(asked.slice(1).map(({ method, params }) => [method, params?.uri]), [
      ["resources/read", "skill://notes/SKILL.md"],
      ["resources/read", "skill://notes/templates/pen.png"]]);
  });

  test("a file of another size or digest is not used (ext-skills skills#verification-on-read)",
    async () => {
      const lies: [RegExp, unknown][] = [
        [/its digest is not the one that was listed/, [{ text: NOTES.replace("See", "sEE") }]],
        [/89 bytes were listed and 90 came/, [{ text: `${NOTES}\n` }]],
        [/89 bytes were listed and 95 came/, [{ text: NOTES.replaceAll("\n", "\r\n") }]],
        [/89 bytes were listed and 0 came/, [{ blob: "" }]],
        [/what came is not one text or one Base64/, [{ blob: "*" }]],
        [/what came is not one/, []], [/what came is not one/, [{}]], [/what came is not/, null],
        [/what came is not one/, [{ text: NOTES }, { text: NOTES }]], [/what came/, [null]]];
      for (const [pattern, contents] of lies) {
        const { client } = lying((result) => { result.contents = contents; });
        await assert.rejects(openSkill(client, ENTRY), untrusted(new RegExp(
          `^skill://notes/SKILL\\.md is not used: ${pattern.source}`)));
      }
      const { client } = lying((result) => {
        result.contents = [{ blob: Buffer.from(NOTES).toString("base64") }];
      });
      assert.equal(await openSkill(client, ENTRY), NOTES, "the same bytes in another dress");
    });

  test("a file that is not listed is not even asked for (ext-skills " +
    "skills#the-acting-window-and-the-held-entry)", async () => {
    const { client, reads } = lying();
    const dynamic: Skill = { ...ENTRY, resources: "dynamic" };
    for (const uri of ["skill://notes/templates/new.md", "skill://other/SKILL.md",
      "file:///etc/passwd", "skill://notes", "skill://notes/templates/day.md?", ""]) {
      await assert.rejects(readSkillFile(client, ENTRY, uri), untrusted(/it is not a file of/));
    }
    for (const uri of ["skill://other/SKILL.md", "skill://notes/../other/SKILL.md",
      "skill://notes/a/%2E%2e/b", "skill://notes/a%2f..%2fb", "skill://notes/a\\..\\b"]) {
      await assert.rejects(readSkillFile(client, dynamic, uri), untrusted(/it is not a file of/));
    }
    assert.equal(reads(), 0);
  });

  test("a skill is not loaded when its frontmatter is not the one that was listed " +
    "(ext-skills skills#frontmatter-verification)", async () => {
    const { client } = lying();
    const frontmatters = [{ ...ENTRY.frontmatter, description: "Takes notes" },
      { ...ENTRY.frontmatter, license: "MIT" }, { name: "notes" }, {},
      { ...ENTRY.frontmatter, metadata: undefined, "allowed-tools": null }];
    for (const frontmatter of frontmatters) {
      for (const resources of [ENTRY.resources, "dynamic" as const]) {
        await assert.rejects(openSkill(client, { ...ENTRY, frontmatter, resources }),
          untrusted(/is not used: its frontmatter is not the one that was listed$/));
      }
    }
    const { description, name } = ENTRY.frontmatter;
    await openSkill(client, { ...ENTRY, frontmatter: { description, name } }); // in any order
    assert.equal(await openSkill(client, { ...ENTRY, resources: "dynamic" }), NOTES);
    await assert.rejects(openSkill(lying((result) => { result.contents = [{ text: "# None" }]; })
      .client, { ...ENTRY, resources: "dynamic" }), untrusted(/must begin with a block/));
    await assert.rejects(openSkill(lying((result) => { result.contents = [{ blob: "/w==" }]; })
      .client, { ...ENTRY, resources: "dynamic" }), untrusted(/it is not UTF-8/));
    const odd = lying((result) => { result.contents = [{ text: "---\n{a: 1}\n---\n" }]; });
    const entry: Skill = { ...ENTRY, frontmatter: { a: 1 }, resources: "dynamic" };
    await openSkill(odd.client, entry, () => ({ a: 1 })); // with a library's YAML
  });

  test("an entry that is malformed is left out, and the rest is there " +
    "(ext-skills skills#resources)", async () => {
    const [main, day] = ENTRY.resources as [SkillFile, SkillFile];
    const file = (changes: object) => ({ ...ENTRY, resources: [main, { ...day, ...changes }] });
    const many = (count: number, size: number) => ({ ...ENTRY, resources: [main, ...Array.from(
      { length: count - 1 }, (_, at) => ({ ...day, uri: `skill://notes/${at}`, size }))] });
    const bad: [RegExp, unknown][] = [
      [/no SKILL\.md/, null], [/no SKILL\.md/, { ...ENTRY, uri: "skill://notes" }],
      [/no SKILL\.md/, { ...ENTRY, uri: 1 }],
      [/no description/, { ...ENTRY, frontmatter: undefined }],
      [/no description/, { ...ENTRY, frontmatter: { name: "notes" } }],
      [/not that of its folder/, { ...ENTRY, uri: "skill://other/SKILL.md" }],
      [/not list its files/, { ...ENTRY, resources: undefined }],
      [/not list its files/, { ...ENTRY, resources: "static" }],
      [/not list its files/, { ...ENTRY, resources: {} }],
      [/SKILL\.md is not among its files/, { ...ENTRY, resources: [] }],
      [/SKILL\.md is not among its files/, { ...ENTRY, resources: [day] }],
      [/or one is there twice/, { ...ENTRY, resources: [main, day, day] }],
      [/this is no file of it: null/, { ...ENTRY, resources: [main, null] }],
      [/no file of it/, file({ uri: "skill://other/day.md" })],
      [/no file of it/, file({ uri: "skill://notes/../day.md" })],
      [/no file of it/, file({ digest: NOTES_DIGEST.toUpperCase() })],
      [/no file of it/, file({ digest: `${NOTES_DIGEST}0` })], [/no file/, file({ digest: 1 })],
      [/no file of it/, file({ size: -1 })], [/no file of it/, file({ size: 1.5 })],
      [/no file of it/, file({ size: undefined })], [/no file of it/, file({ size: "8" })],
      [/it has 513 files of/, many(513, 1)], [/of 16777305 bytes/, many(2, 16_777_216)],
    ];
    for (const [pattern, entry] of bad) {
      const warnings: string[] = [];
      const { client } = lying((result) => {
        result.skills?.unshift(entry);
        result.skill = entry;
      });
      assert.deepEqual(await listSkills(client, (text) => warnings.push(text)), [ENTRY]);
      assert.match(warnings.join(), pattern);
      await assert.rejects(getSkill(client, ENTRY.uri), untrusted(pattern));
    }
    const { client } = lying((result) => { result.skills = [many(512, 1)]; });
    assert.equal((await listSkills(client)).length, 1);
  });

  test("a list is read to its end, which it must have (ext-skills skills#listing-skills)",
    async () => {
      const endless = lying((result) => { result.nextCursor = "x"; });
      await assert.rejects(listSkills(endless.client), untrusted(/does not end/));
      let pages = 0;
      const counting = lying((result) => { result.nextCursor = String(pages++); });
      await assert.rejects(listSkills(counting.client), untrusted(/does not end/));
      assert.equal(pages, 1000);
      const [empty, none] = [lying((result, { params }) => {
        if (params?.cursor === undefined) Object.assign(result, { skills: [], nextCursor: "" });
      }), lying((result) => { result.skills = undefined; })];
      assert.deepEqual(await listSkills(empty.client), [ENTRY]);
      await assert.rejects(listSkills(none.client), untrusted(/gave no skills/));
    });

  test("an entry is fetched by its URI, and must be of that URI " +
    "(ext-skills skills#getting-a-skill)", async () => {
    const { client, asked } = lying();
    assert.deepEqual(await getSkill(client, ENTRY.uri), ENTRY);
    assert.deepEqual([asked[0]?.method, asked[0]?.params?.uri], ["skills/get", ENTRY.uri]);
    await assert.rejects(getSkill(client, "skill://a/notes/SKILL.md"),
      untrusted(/^skill:\/\/a\/notes\/SKILL\.md is not used: another one came$/));
    const set = await skillsOf(FILES);
    const { exchange } = server({ name: "t", version: "1", features: [skills(set)] });
    await assert.rejects(getSkill(connect(exchange), "skill://absent/SKILL.md"),
      (error) => error instanceof ProtocolError && error.code === -32602);
  });

  test("a user's consent is for all files of a skill as they are, and for none that is dynamic " +
    "(ext-skills skills#security-considerations)", async () => {
    const approved = await approvalOf(ENTRY);
    const [main, day, pen] = ENTRY.resources as [SkillFile, SkillFile, SkillFile];
    const files = (...resources: SkillFile[]) => approvalOf({ ...ENTRY, resources });
    assert.match(String(approved), /^sha256:[0-9a-f]{64}$/);
    assert.equal(await files(pen, main, day), approved, "order means nothing");
    for (const changed of [files(main, day), files(main, day, pen, { ...pen, uri: `${pen.uri}2` }),
      files(main, { ...day, digest: NOTES_DIGEST }, pen)]) assert.notEqual(await changed, approved);
    assert.equal(await approvalOf({ ...ENTRY, resources: "dynamic" }), undefined);
  });
});
