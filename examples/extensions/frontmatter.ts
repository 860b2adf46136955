// You will learn: reading frontmatter, the YAML at the head of a SKILL.md, without a library: maps,
// lists and texts in block style. What lies beyond is refused and never guessed at: two readers
// that guess differently are how a file says one thing to a user and another to a model.
//
//   ---
//   name: git-workflow
//   description: >-                       {"name":"git-workflow",
//     How this team                 ->     "description":"How this team branches",
//     branches                             "metadata":{"version":"1.2"}}
//   metadata:
//     version: "1.2"   # a text; without the quotes, the number 1.2
//   ---
import { isObject } from "../../mcp-raw.ts";

/** The lines between the fences, and the one to be read next. */
interface Reader { readonly lines: string[]; at: number }
const MAX_CHARACTERS = 16_384;
const MAX_INDENT = 64; // levels cost a stack frame each
const MAX_LINES = 200; // of what stands in quotes or brackets

const fault = ({ at }: Reader, why: string) => new Error(`SKILL.md, line ${at + 2}: ${why}`);
const indentOf = (line: string) => /^ */.exec(line)?.[0].length ?? 0;
const isDash = (line: string) => /^ *-(?: |$)/.test(line);
const trim = (text: string) => text.replace(/^ +|(?<! ) +$/g, ""); // in linear time
const withoutComment = (text: string) => trim(text.replace(/(?:^| )#.*/, ""));
/** The next line that is neither empty nor a comment. */
function nextLine(reader: Reader): string | undefined {
  while (/^ *(?:#|$)/.test(reader.lines[reader.at] ?? "-")) reader.at++;
  return reader.lines[reader.at];
}

/** A text without quotes, as the core schema of YAML 1.2 reads it: true, 12, ~, or a text. */
function plainOf(reader: Reader, text: string): unknown {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  const decimal = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
  const special = /^[-+]?\.(?:inf|Inf|INF)$|^\.(?:nan|NaN|NAN)$/.test(text);
  if (!special && !decimal.test(text) && !/^0(?:o[0-7]+|x[\da-fA-F]+)$/.test(text)) return text;
  if (Math.abs(Number(text)) <= Number.MAX_SAFE_INTEGER) return Number(text);
  throw fault(reader, `JSON cannot hold ${text}: put it in quotes`);
}
/** The text itself, when it can do without quotes. */
function bare(reader: Reader, text: string): string {
  if (!/^(?:[-?:](?:\s|$)|[,[\]{}#&*!|>'"%@`])|:(?:\s|$)/.test(text)) return text;
  throw fault(reader, `YAML reads more than a text here: put it in double quotes: ${text}`);
}
const QUOTED = /^(?:("(?:[^"\\]|\\.)*")|'((?:[^']|'')*)')(?: +#.*| *)$/;
/** What stands in quotes, with nothing but a comment after it. */
function quotedOf(reader: Reader, text: string): string {
  const [, double, single] = QUOTED.exec(text) ?? [];
  if (single !== undefined) return single.replaceAll("''", "'");
  if (double === undefined) {
    throw fault(reader, `quotes must close, and nothing may follow them: ${text}`);
  }
  try {
    return String(JSON.parse(double));
  } catch {
    throw fault(reader, `of the escapes, only those of JSON are known here: ${text}`);
  }
}
const CLOSED = /\](?: +#.*| *)$/;
/** [a, "b"], without lists or maps in it. */
function flowOf(reader: Reader, text: string): unknown[] {
  const items: unknown[] = [];
  let rest = trim(text.slice(1));
  while (rest[0] !== "]") {
    const [whole, item, end] =
      /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,[\]{}"'#\n]+)( *,? *)/.exec(rest) ?? [];
    rest = rest.slice(whole?.length);
    if (item === undefined || !end?.includes(",") && rest[0] !== "]") {
      throw fault(reader, `brackets hold plain values and commas between them: ${text}`);
    }
    items.push(/^["']/.test(item) ? quotedOf(reader, item)
      : plainOf(reader, bare(reader, trim(item))));
  }
  if (/^\](?: +#.*| *)$/.test(rest)) return items;
  throw fault(reader, `there is more after a list in brackets: ${text}`);
}

/** A line break is a space; beside an empty line or one further in, it is a line break. */
function fold(lines: readonly string[]): string {
  let [text, empty] = ["", 0];
  let last: string | undefined;
  for (const line of lines) {
    if (line === "") {
      empty++;
      continue;
    }
    const kept = [last, line].some((one) => one?.startsWith(" "));
    const breaks = last === undefined || !kept ? empty : empty + 1;
    text += (last !== undefined && breaks === 0 ? " " : "\n".repeat(breaks)) + line;
    [last, empty] = [line, 0];
  }
  return text;
}
/** A text without quotes, which may go on in lines that are further in than its parent. */
function textOf(reader: Reader, first: string, parent: number): unknown {
  const [begin, parts]: [Reader, string[]] = [{ ...reader }, []];
  for (let line: string | undefined = first; line !== undefined; line = reader.lines[reader.at]) {
    const isOver = indentOf(line) <= parent || /^ *#/.test(line);
    if (parts.length > 0 && trim(line) !== "" && isOver) break;
    parts.push(withoutComment(line));
    reader.at++;
    if (/ #/.test(line)) break; // a comment ends the text
  }
  return plainOf(begin, bare(begin, fold(parts)));
}
/** The lines after | or >. */
function blockOf(reader: Reader, header: string, parent: number): string {
  const [, style, chomp] = /^([|>])(-?)$/.exec(withoutComment(header)) ?? [];
  if (style === undefined) throw fault(reader, `only |, |-, > and >- are known here: ${header}`);
  const rest = reader.lines.slice(reader.at + 1);
  const margin = indentOf(rest.find((line) => trim(line) !== "") ?? ""); // of the first line
  const lines: string[] = [];
  for (reader.at++; reader.at < reader.lines.length; reader.at++) {
    const line = reader.lines[reader.at] ?? "";
    const isEmpty = trim(line) === "";
    if (!isEmpty && indentOf(line) <= parent) break;
    if (isEmpty ? line.length > margin && margin > parent : indentOf(line) < margin) {
      throw fault(reader, "a text must be as far in as its first line, and its empty lines empty");
    }
    lines.push(isEmpty ? "" : line.slice(margin));
  }
  while (lines.at(-1) === "") lines.pop();
  const text = style === ">" ? fold(lines) : lines.join("\n");
  return chomp === "-" || text === "" ? text : `${text}\n`;
}

/** A value that begins on this line. */
function valueOf(reader: Reader, text: string, parent: number): unknown {
  if (/^[|>]/.test(text)) return blockOf(reader, text, parent);
  if (!/^["'[]/.test(text)) return textOf(reader, text, parent);
  const [begin, lines, end]: [Reader, string[], RegExp] =
    [{ ...reader }, [text], text[0] === "[" ? CLOSED : QUOTED];
  for (reader.at++; lines.length < MAX_LINES && !end.test(fold(lines)); reader.at++) {
    const line = reader.lines[reader.at];
    if (line === undefined || trim(line) !== "" && indentOf(line) <= parent) break;
    lines.push(trim(line));
  }
  return text[0] === "[" ? flowOf(begin, fold(lines)) : quotedOf(begin, fold(lines));
}
/** Whatever comes next, when it is so far in. */
function nodeOf(reader: Reader, least: number): unknown {
  const line = nextLine(reader);
  const indent = indentOf(line ?? "");
  if (line === undefined || indent < least) return null;
  if (indent > MAX_INDENT) throw fault(reader, `this is more than ${MAX_INDENT} columns in`);
  if (isDash(line)) return listOf(reader, indent);
  return keyOf(reader, line) ? mapOf(reader, indent) : valueOf(reader, trim(line), least - 1);
}
function listOf(reader: Reader, indent: number): unknown[] {
  const items: unknown[] = [];
  for (let line = nextLine(reader); line !== undefined && indentOf(line) === indent && isDash(line);
    line = nextLine(reader)) {
    reader.lines[reader.at] = line.replace("-", " "); // what follows it is one step further in
    items.push(nodeOf(reader, indent + 1));
  }
  return items;
}
/** Cuts a line at the colon after its key. */
function keyOf(reader: Reader, line: string): { key: string; rest: string } | undefined {
  const text = trim(line);
  const [quoted] = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')(?= *:(?: |$))/.exec(text) ?? [];
  if (quoted === undefined && /^["']/.test(text)) return undefined;
  const end = quoted?.length ?? text.search(/:(?: |$)/);
  if (end === -1) return undefined;
  const name = trim(text.slice(0, end));
  const key = quoted === undefined ? plainOf(reader, bare(reader, name)) : quotedOf(reader, quoted);
  if (typeof key !== "string" || / #/.test(name) && quoted === undefined || name === "<<") {
    throw fault(reader, `put the key in double quotes: ${name}`);
  }
  return { key, rest: trim(text.slice(text.indexOf(":", end) + 1)) };
}
function mapOf(reader: Reader, indent: number): Record<string, unknown> {
  const found = new Map<string, unknown>();
  for (let line = nextLine(reader); line !== undefined; line = nextLine(reader)) {
    if (indentOf(line) < indent) break;
    const entry = isDash(line) ? undefined : keyOf(reader, line);
    if (entry === undefined || indentOf(line) > indent) {
      throw fault(reader, `a key and a colon are expected, as far in as before: ${trim(line)}`);
    }
    const { key, rest } = entry;
    if (found.has(key)) throw fault(reader, `${key} is there twice`);
    if (withoutComment(rest) !== "") found.set(key, valueOf(reader, rest, indent));
    else {
      reader.at++;
      const next = nextLine(reader) ?? "";
      const isList = isDash(next) && indentOf(next) === indent; // it need not be further in
      found.set(key, nodeOf(reader, isList ? indent : indent + 1));
    }
  }
  return Object.fromEntries(found);
}

/** The block between two --- lines at the head of a SKILL.md. Throws an Error with the line. */
export function readFrontmatter(source: string): Record<string, unknown> {
  const [, block] = /^\ufeff?---\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(source) ?? [];
  if (block === undefined) throw new Error("SKILL.md must begin with a block between --- lines");
  if (block.length > MAX_CHARACTERS) {
    throw new Error(`SKILL.md: its frontmatter is longer than ${MAX_CHARACTERS} characters`);
  }
  const reader: Reader = { lines: block.split(/\r?\n/), at: 0 };
  const odd = reader.lines.findIndex((line) => // readers differ about these
    /[\0-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|^(?:---|\.\.\.)(?: |$)/.test(line));
  if (odd !== -1) {
    throw fault({ ...reader, at: odd }, "a tab, a control character or a second document");
  }
  const found = nodeOf(reader, 0);
  if (nextLine(reader) !== undefined) throw fault(reader, "this belongs to nothing before it");
  if (isObject(found)) return found;
  throw new Error("SKILL.md: its frontmatter must be keys with values");
}
