// You will learn: skills (the extension io.modelcontextprotocol/skills): folders with instructions
// for a model, served as resources with their digests. The server lists what there is; a client
// reads a file when it is needed, and takes none that is not what the list promised.
//
//   → skills/list   ← {"skills":[{"uri":"skill://git-workflow/SKILL.md","frontmatter":{"name":..},
//                      "resources":[{"uri":"skill://..","digest":"sha256:9f86..","size":154}]}]}
import { INVALID_PARAMS, isObject, pagesOf, ProtocolError, type CacheableResult,
  type Client, type Feature, type ListOptions, type PaginatedResult, type RequestParams,
  type Resource, type ResourceDefinition, type ReadResourceResult } from "../../mcp-raw.ts";

export const SKILLS = "io.modelcontextprotocol/skills";
export interface SkillFile { uri: string; digest: string; size: number }
/** An entry of skills/list: the frontmatter as JSON, and each file of the folder. */
export interface Skill {
  uri: string; // of its SKILL.md
  frontmatter: Record<string, unknown>;
  resources: SkillFile[] | "dynamic";
}
declare module "../../mcp-raw.ts" {
  interface Methods {
    "skills/list": { params: RequestParams & { cursor?: string };
      result: PaginatedResult & CacheableResult & { skills: Skill[] } };
    "skills/get": { params: RequestParams & { uri: string };
      result: CacheableResult & { skill: Skill } };
    "resources/directory/read": { params: RequestParams & { uri: string; cursor?: string };
      result: PaginatedResult & { resources: Resource[] } };
  }
}

// ---- Frontmatter: the YAML that skills need ---------------------------------

/** A plain value, as YAML reads it: true, 12, ~, "a: b", 'it''s'. */
function scalarOf(text: string): unknown {
  if (text.startsWith('"')) return JSON.parse(text);
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  if (/^[[{&*!|>%@`]/.test(text)) throw new Error(`this YAML is beyond us: ${text}`);
  if (/^(?:~|null)?$/i.test(text)) return null;
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === "true";
  return /^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}
const withoutComment = (text: string) => /^["']/.test(text)
  ? text.replace(/^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*')\s*(?:#.*)?$/, "$1")
  : text.replace(/(?:^|\s)#.*$/, "").trim();
/** The block at the head of a SKILL.md. Throws an Error for YAML that it does not know. */
export function readFrontmatter(source: string): Record<string, unknown> {
  const [, block] = /^\ufeff?---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(source) ?? [];
  if (block === undefined) throw new Error("SKILL.md must begin with a block between --- lines");
  const lines = block.split(/\r?\n/);
  const indentOf = (line: string) => line.length - line.trimStart().length;
  const isEmpty = (line = "") => /^\s*(?:#|$)/.test(line);
  let at = 0;
  /** Lines that are further in than their key. */
  const inner = (indent: number): string[] => {
    const from = at;
    while (at < lines.length && (lines[at]?.trim() === "" || indentOf(lines[at] ?? "") > indent)) {
      at++;
    }
    return lines.slice(from, at);
  };
  const blockText = (mark: string, indent: number): string => {
    const taken = inner(indent);
    const margin = Math.min(...taken.filter((line) => line.trim() !== "").map(indentOf));
    const text = taken.map((line) => line.slice(margin)).join("\n").replace(/\n+$/, "");
    const folded = mark[0] === ">" ? text.replace(/([^\n])\n(?!\n)/g, "$1 ") : text;
    return mark.endsWith("-") ? folded : `${folded}\n`;
  };
  const listOf = (indent: number): unknown[] => {
    const items: unknown[] = [];
    for (; at < lines.length; at++) {
      const [, depth = "", item] = /^(\s*)-\s+(.+)$/.exec(lines[at] ?? "") ?? [];
      if (item === undefined || depth.length < indent) break;
      items.push(scalarOf(withoutComment(item)));
    }
    return items;
  };
  const mapOf = (indent: number): Record<string, unknown> => {
    const map: Record<string, unknown> = Object.create(null);
    for (; at < lines.length; ) {
      const line = lines[at] ?? "";
      if (isEmpty(line)) {
        at++;
        continue;
      }
      if (indentOf(line) < indent) break;
      const [, key = "", rest = ""] = /^\s*([^\s:#"'][^:]*|"[^"]*"|'[^']*'):(?:\s+(.*))?$/
        .exec(line) ?? [];
      if (key === "" || indentOf(line) > indent) throw new Error(`this YAML is beyond us: ${line}`);
      const value = withoutComment(rest.trim());
      const name = String(scalarOf(key.trim()));
      if (Object.hasOwn(map, name)) throw new Error(`${name} is there twice`);
      at++;
      if (/^[|>][-+]?$/.test(value)) map[name] = blockText(value, indent);
      else if (value !== "") {
        map[name] = /^\[.*\]$/.test(value) ? value.slice(1, -1).split(",").map((one) =>
          scalarOf(one.trim())).filter((one) => one !== null) : scalarOf(value);
      } else {
        while (at < lines.length && isEmpty(lines[at])) at++;
        const next = lines[at] ?? "";
        map[name] = /^\s*-\s/.test(next) && indentOf(next) >= indent ? listOf(indentOf(next))
          : indentOf(next) > indent ? mapOf(indentOf(next)) : null;
      }
    }
    return { ...map };
  };
  const found = mapOf(0);
  if (at < lines.length) throw new Error(`this YAML is beyond us: ${lines[at]}`);
  return found;
}

// ---- The server's end -------------------------------------------------------

/** A path below the skill's folder -> what is there. */
export type SkillFiles = Record<string, string | Uint8Array>;
const bytesOf = (body: string | Uint8Array) =>
  typeof body === "string" ? new TextEncoder().encode(body) : body;
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
  return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
const TYPES: Readonly<Record<string, string>> = { md: "text/markdown", txt: "text/plain",
  py: "text/x-python", sh: "application/x-sh", js: "text/javascript", ts: "text/x-typescript",
  json: "application/json", yaml: "application/yaml", csv: "text/csv", html: "text/html",
  png: "image/png", svg: "image/svg+xml", pdf: "application/pdf" };
const typeOf = (path: string) => TYPES[path.split(".").at(-1) ?? ""] ?? "application/octet-stream";
const NAME = /^(?!.*--)[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/;

interface Served { skill: Skill; resources: ResourceDefinition[] }
/** Makes a skill of its files. Throws an Error that says what has to be mended. */
export async function skillOf(path: string, files: SkillFiles): Promise<Served> {
  const root = `skill://${path}`;
  const fail = (why: string) => new Error(`${root}: ${why}`);
  const main = files["SKILL.md"];
  if (main === undefined) throw fail("there is no SKILL.md");
  const frontmatter = readFrontmatter(new TextDecoder().decode(bytesOf(main)));
  const { name, description } = frontmatter;
  if (typeof name !== "string" || !NAME.test(name)) {
    throw fail("name must be 1 to 64 of a-z, 0-9 and single hyphens between them");
  }
  if (name !== path.split("/").at(-1)) throw fail(`its folder must be called ${name}`);
  if (typeof description !== "string" || description.trim() === "") {
    throw fail("description must say what it is for");
  }
  const entries = Object.entries(files).sort(([a], [b]) => a < b ? -1 : 1);
  const resources = await Promise.all(entries.map(async ([file, body]): Promise<SkillFile> => {
    const bytes = bytesOf(body);
    return { uri: `${root}/${encodeURI(file)}`, digest: await digestOf(bytes), size: bytes.length };
  }));
  const total = resources.reduce((sum, { size }) => sum + size, 0);
  if (resources.length > 512 || total > 16 * 1024 * 1024) {
    throw fail(`${resources.length} files of ${total} bytes: at most 512 of 16 MiB together`);
  }
  const skill: Skill = { uri: `${root}/SKILL.md`, frontmatter, resources };
  return { skill, resources: entries.map(([file, body]): ResourceDefinition => {
    const about = file === "SKILL.md" ? { name, description } : { name: file };
    return { uri: `${root}/${encodeURI(file)}`, ...about, mimeType: typeOf(file),
      read: () => body };
  }) };
}
/** Reads all skills in a folder: each folder in it that has a SKILL.md; links are not followed. */
export async function readSkills(folder: string | URL): Promise<Served[]> {
  const { readdir, readFile } = await import("node:fs/promises");
  const { relative, sep } = await import("node:path");
  const { fileURLToPath } = await import("node:url");
  const top = folder instanceof URL ? fileURLToPath(folder) : folder;
  const all = (await readdir(top, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile()).map(({ parentPath, name }) =>
      relative(top, `${parentPath}${sep}${name}`).split(sep).join("/"));
  const roots = all.filter((path) => path.endsWith("/SKILL.md")).sort()
    .map((path) => path.slice(0, -"/SKILL.md".length));
  return Promise.all(roots.map(async (root) => {
    const files: SkillFiles = {};
    for (const path of all.filter((one) => one.startsWith(`${root}/`))) {
      const bytes = await readFile(`${top}/${path}`);
      const text = new TextDecoder().decode(bytes); // what is no text stays bytes
      files[path.slice(root.length + 1)] = bytes.equals(new TextEncoder().encode(text)) ? text
        : new Uint8Array(bytes);
    }
    return skillOf(root, files);
  }));
}

/** Each file once, though a skill within a skill has it too. */
export function skillResources(served: readonly Served[]): ResourceDefinition[] {
  const byUri = new Map(served.flatMap(({ resources }) => resources)
    .map((resource) => [resource.uri, resource]));
  for (const { skill: { uri }, resources } of served) { // a SKILL.md as its own skill has it
    const own = resources.find((one) => one.uri === uri);
    if (own !== undefined) byUri.set(uri, own);
  }
  return [...byUri.values()];
}
/** Serves skills; their files are resources: server({ resources: skillResources(..), .. }). */
export function skills(served: readonly Served[], options: ListOptions = {}): Feature {
  const { ttlMs = 300_000, cacheScope = "public" } = options;
  const entries = served.map(({ skill }) => ({ ...skill, name: skill.uri }));
  const pages = pagesOf("skills", options);
  const children = pagesOf("resources", options);
  const files = skillResources(served);
  const refuse = (why: string, uri: unknown) => new ProtocolError(INVALID_PARAMS, why, { uri });
  /** The direct children of a folder. */
  const folder = (uri: string): Resource[] => {
    const below = files.filter((file) => file.uri.startsWith(`${uri}/`));
    const names = new Set(below.map((file) => file.uri.slice(uri.length + 1).split("/")[0]));
    return [...names].map((name): Resource => {
      const file = below.find((one) => one.uri === `${uri}/${name}`);
      if (file === undefined) return { uri: `${uri}/${name}`, name: decodeURI(`${name}`),
        mimeType: "inode/directory" };
      const { read, ...wire } = file;
      return wire;
    });
  };
  return {
    capabilities: { resources: {}, extensions: { [SKILLS]: { directoryRead: true } } },
    methods: {
      "skills/list": (params) => {
        const { skills: page, ...rest } = pages(entries, params);
        return { ...rest, skills: (page as typeof entries).map(({ name, ...skill }) => skill) };
      },
      "skills/get"({ uri }) {
        const found = served.find(({ skill }) => skill.uri === uri);
        if (found === undefined) throw refuse("There is no such skill", uri);
        return { skill: found.skill, ttlMs, cacheScope };
      },
      "resources/directory/read"({ uri, cursor }) {
        const found = typeof uri === "string" && uri !== "skill:/" ? folder(uri) : [];
        if (found.length === 0) throw refuse("There is no such directory", uri);
        const { ttlMs: _, cacheScope: __, ...page } = children(found, { cursor });
        return page;
      },
    },
  };
}

// ---- The client's end -------------------------------------------------------

/** All that a server lists. Nothing is read yet. */
export async function listSkills({ call }: Client): Promise<Skill[]> {
  const found: Skill[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < 1_000; page++) {
    const result: { skills: Skill[]; nextCursor?: string } =
      await call("skills/list", cursor === undefined ? {} : { cursor });
    found.push(...result.skills);
    ({ nextCursor: cursor } = result);
    if (cursor === undefined) return found;
  }
  throw new Error("skills/list does not end");
}
const sorted = (value: unknown): unknown => Array.isArray(value) ? value.map(sorted)
  : !isObject(value) ? value : Object.fromEntries(Object.entries(value)
    .sort(([a], [b]) => a < b ? -1 : 1).map(([key, one]) => [key, sorted(one)]));
/** One file, held against what the entry promised. Throws an Error when it is something else. */
export async function readSkillFile({ call }: Client, { resources }: Skill, uri: string):
  Promise<Uint8Array> {
  const { contents: [content] }: ReadResourceResult = await call("resources/read", { uri });
  const bytes = content === undefined ? new Uint8Array() : "text" in content
    ? bytesOf(content.text) : Uint8Array.from(atob(content.blob), (char) => char.charCodeAt(0));
  if (resources === "dynamic") return bytes; // nothing was promised: ask the user
  const promised = resources.find((one) => one.uri === uri);
  const fault = promised === undefined ? "it is not in the list of the skill's files"
    : promised.size !== bytes.length ? `it has ${bytes.length} bytes and not ${promised.size}`
    : promised.digest !== await digestOf(bytes) ? "its digest is not the one that was listed"
    : undefined;
  if (fault === undefined) return bytes;
  throw new Error(`${uri} is not used: ${fault}. List the skills anew; if it stays, distrust it`);
}
/** The instructions of a skill. Throws an Error when they are not what was listed. */
export async function openSkill(client: Client, skill: Skill): Promise<string> {
  const text = new TextDecoder().decode(await readSkillFile(client, skill, skill.uri));
  const [listed, own] = [skill.frontmatter, readFrontmatter(text)].map((one) =>
    JSON.stringify(sorted(one)));
  if (listed === own) return text;
  throw new Error(`${skill.uri} is not used: its frontmatter is not the one that was listed`);
}
