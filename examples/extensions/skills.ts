// You will learn: skills (the extension io.modelcontextprotocol/skills): folders with instructions
// for a model, served as resources with their digests. The server lists what there is; a client
// reads a file when it is needed, and takes none that is not what the list promised.
//
//   → skills/list   ← {"skills":[{"uri":"skill://git-workflow/SKILL.md","frontmatter":{"name":..},
//                      "resources":[{"uri":"skill://..","digest":"sha256:9f86..","size":154}]}]}
import { canonicalJSON, INVALID_PARAMS, isObject, pagesOf, ProtocolError, type CacheableResult,
  type Client, type Feature, type ListOptions, type PaginatedResult, type RequestParams,
  type Resource, type ResourceDefinition } from "../../mcp-raw.ts";
import { readFrontmatter } from "./frontmatter.ts";

export const SKILLS = "io.modelcontextprotocol/skills";
export interface SkillFile { uri: string; digest: string; size: number }
/** An entry of skills/list: the frontmatter as JSON, and each file of the folder. */
export interface Skill {
  uri: string; // of its SKILL.md
  frontmatter: Record<string, unknown>;
  resources: SkillFile[] | "dynamic"; // dynamic: made when read, so nothing is promised
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

/** What every client takes; more is for nobody to rely on. */
const [MAX_FILES, MAX_BYTES] = [512, 16 * 1024 * 1024];
const bytesOf = (body: string | Uint8Array) =>
  typeof body === "string" ? new TextEncoder().encode(body) : body;
/** The text of bytes that are UTF-8; a mark at its head is part of it. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
async function digestOf(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(bytes)));
  return `sha256:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
const folderOf = (uri: string) => uri.slice(0, uri.lastIndexOf("/"));
const lastOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);
function excessOf(sizes: readonly number[]): string | undefined {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return sizes.length <= MAX_FILES && total <= MAX_BYTES ? undefined
    : `it has ${sizes.length} files of ${total} bytes: ${MAX_FILES} of ${MAX_BYTES} are the most`;
}

// ---- The server's end -------------------------------------------------------

/** Paths -> contents, as in { "git-workflow/SKILL.md": "---\nname: git-workflow\n.." }. */
export type SkillFiles = Readonly<Record<string, string | Uint8Array>>;
/** Skills as they were when they were read: what is listed and what is served cannot differ. */
export interface SkillSet { skills: Skill[]; bodies: Map<string, string | Uint8Array> }

/** What breaks the rules of agentskills.io; fields that those do not know may be anything. */
function faultOf({ name, description, license = "", compatibility = "-", metadata = {},
  "allowed-tools": tools = "" }: Record<string, unknown>, folder: string): string | undefined {
  const isText = (value: unknown, most: number) => typeof value === "string" &&
    value.trim() !== "" && [...value].length <= most;
  if (typeof name !== "string" || !/^(?!.*--)(?!-)[a-z0-9-]{1,64}(?<!-)$/.test(name)) {
    return "name must be 1 to 64 of a-z, 0-9 and single hyphens between them";
  }
  if (name !== folder) return `its folder must be called ${name}, as it says in SKILL.md`;
  if (!isText(description, 1024)) return "description must be a text of 1 to 1,024 characters";
  if (!isText(compatibility, 500)) return "compatibility must be a text of 1 to 500 characters";
  if (typeof license !== "string") return "license must be a text";
  if (typeof tools !== "string") return "allowed-tools must be one text, with spaces between tools";
  if (!isObject(metadata)) return "metadata must be keys with texts";
  const [key] = Object.entries(metadata).find(([, value]) => typeof value !== "string") ?? [];
  if (key !== undefined) return `metadata.${key} must be a text: put it in quotes`;
  const taken = Object.keys(metadata).find((one) => one.startsWith("io.modelcontextprotocol/"));
  return taken && `metadata.${taken}: names under io.modelcontextprotocol/ are reserved`;
}
/** The first segment stands where a URI has its host, so less may be in it. */
const uriOf = (path: string) => `skill://${path.split("/").map((segment, at) => at === 0
  ? encodeURIComponent(segment) : encodeURI(segment).replace(/[?#]/g, encodeURIComponent))
  .join("/")}`;
const isPath = (path: string) => path.split("/").every((segment) =>
  /^(?!\.\.?$)[^\\\0-\x1f\x7f]+$/.test(segment));
/** Folders with a SKILL.md. One may lie in another, and its files belong to both. */
function rootsOf(paths: readonly string[]): string[] {
  if (paths.includes("SKILL.md")) throw new Error("SKILL.md must be in a folder of its own");
  const roots = paths.filter((path) => path.endsWith("/SKILL.md")).map(folderOf).sort();
  if (roots.length === 0) throw new Error("no skill is here: none of the folders has a SKILL.md");
  return roots;
}

/** Makes skills of files. Throws an Error that says what has to be mended. */
export async function skillsOf(files: SkillFiles): Promise<SkillSet> {
  const paths = Object.keys(files).sort();
  const folders = new Set(paths.flatMap((path) =>
    [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index))));
  const wrong = paths.find((path) => !isPath(path) || folders.has(path));
  if (wrong !== undefined) {
    throw new Error(`${JSON.stringify(wrong)} is no path of a file: write name/SKILL.md`);
  }
  const all = new Map(await Promise.all(Object.entries(files).map(async ([path, body]) => {
    const bytes = bytesOf(body);
    const file = { uri: uriOf(path), digest: await digestOf(bytes), size: bytes.length };
    return [path, file] as const;
  })));
  const set: SkillSet = { skills: [], bodies: new Map() };
  for (const root of rootsOf(paths)) {
    const fail = (why: unknown) => new Error(`${uriOf(root)}: ${why}`);
    const own = paths.filter((path) => path.startsWith(`${root}/`));
    const resources = own.flatMap((path) => all.get(path) ?? []);
    const source = textOf(bytesOf(files[`${root}/SKILL.md`] ?? ""));
    if (source === undefined) throw fail("SKILL.md must be UTF-8");
    let frontmatter: Skill["frontmatter"];
    try {
      frontmatter = readFrontmatter(source);
    } catch (error) {
      throw fail((error as Error).message);
    }
    const fault = faultOf(frontmatter, lastOf(root)) ?? excessOf(resources.map(({ size }) => size));
    if (fault !== undefined) throw fail(fault);
    set.skills.push({ uri: uriOf(`${root}/SKILL.md`), frontmatter, resources });
    for (const path of own) set.bodies.set(uriOf(path), files[path] ?? "");
  }
  return set;
}

/**
 * Reads the skills in a folder, each a folder with a SKILL.md. What is hidden (.git, .env) is no
 * part of them, and a link is refused: it may lead to what nobody meant to serve.
 */
export async function readSkills(folder: string | URL): Promise<SkillSet> {
  const { readdir, readFile, stat } = await import("node:fs/promises");
  const { fileURLToPath } = await import("node:url");
  const top = folder instanceof URL ? fileURLToPath(folder) : folder;
  const paths: string[] = [];
  const walk = async (below: string): Promise<void> => {
    for (const entry of await readdir(`${top}/${below}`, { withFileTypes: true })) {
      const path = below + entry.name;
      if (entry.name.startsWith(".")) continue;
      if (entry.isDirectory()) await walk(`${path}/`);
      else if (entry.isFile()) paths.push(path);
      else throw new Error(`${path} is a link, or no file at all: put a copy there instead`);
    }
  };
  await walk("");
  const found = new Map<string, string | Uint8Array>();
  for (const root of rootsOf(paths)) {
    const own = paths.filter((path) => path.startsWith(`${root}/`));
    const sizes = await Promise.all(own.map(async (path) => (await stat(`${top}/${path}`)).size));
    const excess = excessOf(sizes); // before it is all in memory
    if (excess !== undefined) throw new Error(`${root}: ${excess}`);
    for (const path of own.filter((one) => !found.has(one))) {
      const bytes = new Uint8Array(await readFile(`${top}/${path}`));
      found.set(path, textOf(bytes) ?? bytes);
    }
  }
  return skillsOf(Object.fromEntries(found));
}

const TYPES = new Map(Object.entries({ md: "text/markdown", txt: "text/plain", csv: "text/csv",
  html: "text/html", py: "text/x-python", sh: "application/x-sh", js: "text/javascript",
  ts: "text/x-typescript", json: "application/json", yaml: "application/yaml",
  png: "image/png", jpg: "image/jpeg", svg: "image/svg+xml", pdf: "application/pdf" }));
/** The files, for server({ resources: [..skillResources(set)], features: [skills(set)] }). */
export function skillResources({ skills, bodies }: SkillSet): ResourceDefinition[] {
  const byUri = new Map(skills.map((skill) => [skill.uri, skill.frontmatter]));
  return [...bodies].map(([uri, body]) => {
    const { name = decodeURIComponent(lastOf(uri)), description } = byUri.get(uri) ?? {};
    const kind = typeof body === "string" ? "text/plain" : "application/octet-stream";
    return { uri, name: String(name), ...(typeof description === "string" && { description }),
      mimeType: TYPES.get(uri.slice(uri.lastIndexOf(".") + 1).toLowerCase()) ?? kind,
      size: bytesOf(body).length, read: () => body };
  });
}
/** Folders -> what lies in them, other folders among it. */
function foldersOf(files: readonly Resource[]): Map<string, Resource[]> {
  const folders = new Map<string, Resource[]>();
  const add = (child: Resource): void => {
    const uri = folderOf(child.uri);
    if (uri === "skill:/") return; // above the first segment is nothing
    const children = folders.get(uri);
    if (children !== undefined) return void children.push(child);
    folders.set(uri, [child]);
    add({ uri, name: decodeURIComponent(lastOf(uri)), mimeType: "inode/directory" });
  };
  for (const file of files) add(file);
  return folders;
}

/** Answers what the extension adds; the files themselves are skillResources(). */
export function skills(set: SkillSet, options: ListOptions = {}): Feature {
  const { ttlMs = 300_000, cacheScope = "public" } = options;
  const entries = set.skills.map((skill) => ({ name: skill.uri, skill })); // lists go by name
  const folders = foldersOf(skillResources(set).map(({ read, ...wire }) => wire));
  const [pages, children] = [pagesOf("skills", options), pagesOf("resources", options)];
  return {
    capabilities: { resources: {}, extensions: { [SKILLS]: { directoryRead: true } } },
    methods: {
      "skills/list"(params) {
        const page = pages(entries, params);
        return { ...page, skills: (page.skills as typeof entries).map(({ skill }) => skill) };
      },
      "skills/get"({ uri }) {
        const skill = set.skills.find((one) => one.uri === uri);
        if (skill !== undefined) return { skill, ttlMs, cacheScope };
        throw new ProtocolError(INVALID_PARAMS, "There is no skill at this URI", { uri });
      },
      "resources/directory/read"({ uri, cursor }) {
        const found = typeof uri === "string" ? folders.get(uri) : undefined;
        if (found === undefined) {
          throw new ProtocolError(INVALID_PARAMS, "There is no directory at this URI", { uri });
        }
        const { ttlMs: _, cacheScope: __, ...page } = children(found, { cursor });
        return page;
      },
    },
  };
}

// ---- The client's end -------------------------------------------------------
//
// Digests show that the files are those of the entry, not that they are good:
// both come from one server. What is left to the host: to show and to tell the
// model which server a skill is from, to ask the user before it is used, and to
// heed no allowed-tools of it. Files of 16 MiB are Base64 of 22, and a client
// takes 4 unless it is told: open(.., { limit: 24 * 1024 * 1024 }).

/** Whether a file lies in a skill's folder, also for those who make a path of its URI. */
const isBelow = (skill: string, uri: unknown) => typeof uri === "string" &&
  uri.startsWith(`${folderOf(skill)}/`) &&
  !/\\|%(?:2f|5c)|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i.test(uri);
/** What makes an entry useless, whoever wrote it. */
function entryFault(entry: unknown): string | undefined {
  const { uri, frontmatter, resources } = isObject(entry) ? entry : {};
  if (typeof uri !== "string" || !uri.endsWith("/SKILL.md")) return "it names no SKILL.md";
  if (!isObject(frontmatter) || typeof frontmatter.description !== "string") {
    return "it has no description";
  }
  if (frontmatter.name !== lastOf(folderOf(uri))) return "its name is not that of its folder";
  if (resources === "dynamic") return undefined;
  if (!Array.isArray(resources)) return "it does not list its files";
  const uris = new Set(resources.map((file) => isObject(file) ? file.uri : undefined));
  const isWhole = uris.has(uri) && uris.size === resources.length;
  if (!isWhole) return "SKILL.md is not among its files, or one is there twice";
  const isFile = (file: unknown) => isObject(file) && isBelow(uri, file.uri) &&
    /^sha256:[0-9a-f]{64}$/.test(String(file.digest)) && Number.isSafeInteger(file.size) &&
    Number(file.size) >= 0;
  const bad = resources.find((file) => !isFile(file));
  if (bad !== undefined) return `this is no file of it: ${JSON.stringify(bad).slice(0, 200)}`;
  return excessOf(resources.map(({ size }) => size));
}
const refusal = (uri: unknown, why: string) => new Error(`${uri} is not used: ${why}`);

/** All that a server lists; what is malformed is left out. No file is read yet. */
export async function listSkills({ call }: Client, warn: (text: string) => void = () => {}):
  Promise<Skill[]> {
  const found: Skill[] = [];
  const seen = new Set<string | undefined>();
  let cursor: string | undefined;
  do {
    if (seen.has(cursor) || seen.size === 1_000) throw new Error("skills/list does not end");
    seen.add(cursor);
    const result: { skills: Skill[]; nextCursor?: string } =
      await call("skills/list", cursor === undefined ? {} : { cursor });
    if (!Array.isArray(result.skills)) throw new Error("skills/list gave no skills");
    for (const entry of result.skills) {
      const fault = entryFault(entry);
      if (fault === undefined) found.push(entry);
      else warn(refusal(isObject(entry) ? entry.uri : entry, fault).message);
    }
    cursor = result.nextCursor;
  } while (typeof cursor === "string");
  return found;
}
/** The entry of one skill, listed or not; also how an entry is made fresh. */
export async function getSkill({ call }: Client, uri: string): Promise<Skill> {
  const { skill } = await call("skills/get", { uri });
  const fault = entryFault(skill) ?? (skill.uri === uri ? undefined : "another one came");
  if (fault !== undefined) throw refusal(uri, fault);
  return skill;
}
/** What a user's consent is for: it ends when this changes. A dynamic skill has none. */
export const approvalOf = async ({ resources }: Skill): Promise<string | undefined> =>
  resources === "dynamic" ? undefined : digestOf(bytesOf(canonicalJSON(
    Object.fromEntries(resources.map(({ uri, digest }) => [uri, digest])))));

function receivedOf(contents: unknown): Uint8Array | undefined {
  const [content] = Array.isArray(contents) && contents.length === 1 ? contents : [];
  const { text, blob } = isObject(content) ? content : {};
  if (typeof text === "string") return bytesOf(text);
  try {
    return typeof blob !== "string" ? undefined
      : Uint8Array.from(atob(blob), (char) => char.charCodeAt(0));
  } catch {
    return undefined; // no Base64
  }
}
/** One file, held against what the entry promised. Throws an Error when it is something else. */
export async function readSkillFile({ call }: Client, skill: Skill, uri: string):
  Promise<Uint8Array> {
  const { resources } = skill;
  const promised = resources === "dynamic" ? undefined : resources.find((one) => one.uri === uri);
  if (!isBelow(skill.uri, uri) || resources !== "dynamic" && promised === undefined) {
    throw refusal(uri, `it is not a file of ${skill.uri}`); // nor is it read
  }
  const bytes = receivedOf((await call("resources/read", { uri })).contents);
  if (bytes === undefined) throw refusal(uri, "what came is not one text or one Base64");
  if (promised === undefined) return bytes;
  const fault = promised.size !== bytes.length
    ? `${promised.size} bytes were listed and ${bytes.length} came`
    : promised.digest !== await digestOf(bytes) ? "its digest is not the one that was listed"
    : undefined;
  if (fault === undefined) return bytes;
  throw refusal(uri, `${fault}. If the skill has changed, getSkill() gives its new entry, and ` +
    "the user has to approve it anew");
}
/** The instructions of a skill. Throws an Error when they are not what was listed. */
export async function openSkill(client: Client, skill: Skill,
  parse: (source: string) => unknown = readFrontmatter): Promise<string> {
  const text = textOf(await readSkillFile(client, skill, skill.uri));
  if (text === undefined) throw refusal(skill.uri, "it is not UTF-8");
  if (canonicalJSON(parse(text)) === canonicalJSON(skill.frontmatter)) return text;
  throw refusal(skill.uri, "its frontmatter is not the one that was listed");
}
