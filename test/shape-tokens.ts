// A tokenizer for the subset of TypeScript that mcp-raw.ts is written in, small
// enough to need no compiler: `npm test` has none. It knows comments, strings,
// nested templates and regular expressions, and pairs the brackets.

export interface Token {
  readonly kind: "name" | "number" | "string" | "template" | "regex" | "punct" | "comment";
  readonly text: string;
  readonly line: number;
  /** How many brackets enclose the token; a bracket itself counts as outside. */
  readonly depth: number;
  /** For a bracket: the index of its partner. */
  match: number;
}

const PUNCTUATORS = [
  "...",
  "===",
  "!==",
  "**=",
  "&&=",
  "||=",
  "??=",
  "=>",
  "==",
  "!=",
  "<=",
  ">=",
  "&&",
  "||",
  "??",
  "?.",
  "++",
  "--",
  "+=",
  "-=",
  "*=",
  "/=",
  "%=",
  "|=",
  "&=",
  "^=",
  "**",
];
const BEFORE_REGEX = new Set([
  "return",
  "typeof",
  "case",
  "in",
  "of",
  "do",
  "else",
  "void",
  "delete",
  "await",
  "yield",
  "throw",
  "new",
]);

/** The tokens of a source text, comments included, brackets paired. */
export function tokenize(source: string): Token[] {
  const found: Token[] = [];
  const open: number[] = [];
  let line = 1;
  let at = 0;
  let last: Token | undefined;

  const push = (kind: Token["kind"], text: string): void => {
    const closes = kind === "punct" && /^[)\]}]$/.test(text);
    const partner = closes ? (open.pop() ?? -1) : -1;
    const token: Token = { kind, text, line, depth: open.length, match: partner };
    if (partner >= 0) found[partner]!.match = found.length;
    if (kind === "punct" && /^(?:[([{]|\$\{)$/.test(text)) open.push(found.length);
    found.push(token);
    if (kind !== "comment") last = token;
    line += text.split("\n").length - 1;
    at += text.length;
  };
  const inTemplate = (): boolean => open.length > 0 && found[open.at(-1)!]!.text === "${";

  while (at < source.length) {
    const rest = source.slice(at, at + 400);
    const space = /^\s+/.exec(rest)?.[0];
    if (space !== undefined) {
      line += space.split("\n").length - 1;
      at += space.length;
    } else if (rest.startsWith("//") || rest.startsWith("#!")) push("comment", lineAt(source, at));
    else if (rest.startsWith("/*"))
      push("comment", source.slice(at, source.indexOf("*/", at + 2) + 2));
    else if (rest[0] === "`") push("template", templateAt(source, at));
    else if (rest[0] === '"' || rest[0] === "'") push("string", quotedAt(source, at));
    else if (rest[0] === "}" && inTemplate()) {
      push("punct", "}");
      push("template", templateAt(source, at - 1).slice(1));
    } else if (source[at] === "$" && source[at + 1] === "{") push("punct", "${");
    else if (rest[0] === "/" && regexMayStart(last)) push("regex", regexAt(source, at));
    else pushWord(rest, push);
  }
  return found;
}

function pushWord(rest: string, push: (kind: Token["kind"], text: string) => void): void {
  const name = /^#?[\p{L}_$][\p{L}\p{N}_$]*/u.exec(rest)?.[0];
  if (name !== undefined) return push("name", name);
  const number = /^(?:\d|\.\d)(?:[eE][+-]?\d|[\w.])*/.exec(rest)?.[0];
  if (number !== undefined) return push("number", number);
  push("punct", PUNCTUATORS.find((one) => rest.startsWith(one)) ?? rest[0]!);
}

function regexMayStart(last: Token | undefined): boolean {
  if (last === undefined) return true;
  if (last.kind === "name") return BEFORE_REGEX.has(last.text);
  return last.kind === "punct" && last.text !== ")" && last.text !== "]" && last.text !== "}";
}

function lineAt(source: string, at: number): string {
  const end = source.indexOf("\n", at);
  return source.slice(at, end < 0 ? source.length : end);
}

function quotedAt(source: string, at: number): string {
  let end = at + 1;
  while (end < source.length && source[end] !== source[at]) end += source[end] === "\\" ? 2 : 1;
  return source.slice(at, end + 1);
}

/** A template's text up to its end or its next `${`, which is not part of it. */
function templateAt(source: string, at: number): string {
  let end = at + 1;
  for (; end < source.length && source[end] !== "`"; end += source[end] === "\\" ? 2 : 1) {
    if (source[end] === "$" && source[end + 1] === "{") return source.slice(at, end);
  }
  return source.slice(at, end + 1);
}

function regexAt(source: string, at: number): string {
  let end = at + 1;
  for (let inClass = false; source[end] !== "/" || inClass; end += 1) {
    if (source[end] === "\n" || end >= source.length) return "/";
    if (source[end] === "\\") end += 1;
    else if (source[end] === "[") inClass = true;
    else if (source[end] === "]") inClass = false;
  }
  return source.slice(at, end + 1) + /^[a-z]*/.exec(source.slice(end + 1, end + 9))![0];
}

/** The tokens without comments, with brackets paired by their new places. */
export function codeOf(tokens: readonly Token[]): Token[] {
  const place = new Map<number, number>();
  const code = tokens.filter((token, index) => {
    if (token.kind === "comment") return false;
    place.set(index, place.size);
    return true;
  });
  return code.map((token) => ({ ...token, match: place.get(token.match) ?? -1 }));
}

const DECLARES = new Set([
  "function",
  "class",
  "interface",
  "type",
  "const",
  "let",
  "var",
  "enum",
  "namespace",
]);
const PREFIXES = new Set(["export", "default", "async", "declare", "abstract"]);

export interface Item {
  readonly kind: string;
  readonly names: readonly string[];
  readonly exported: boolean;
  readonly line: number;
  /** First token, and the one after the last. */
  readonly from: number;
  readonly to: number;
}

/** The statements and declarations at the top level of a module, in order. */
export function topLevel(code: readonly Token[]): Item[] {
  const items: Item[] = [];
  for (let from = 0; from < code.length;) {
    let keyword = from;
    while (PREFIXES.has(code[keyword]?.text ?? "")) keyword += 1;
    const kind = DECLARES.has(code[keyword]?.text ?? "") ? code[keyword]!.text : "statement";
    const to = statementEnd(code, keyword, kind);
    const names = kind === "statement" ? [] : declaredNames(code, keyword, to);
    items.push({
      kind,
      names,
      exported: code[from]!.text === "export",
      line: code[from]!.line,
      from,
      to,
    });
    from = to;
  }
  return items;
}

function statementEnd(code: readonly Token[], at: number, kind: string): number {
  const blocky = kind === "function" || kind === "class" || kind === "interface";
  for (let i = at; i < code.length; i += 1) {
    const token = code[i]!;
    if (token.depth > code[at]!.depth) continue;
    if (token.text === ";" && token.kind === "punct") return i + 1;
    if (token.text !== "}" || token.match < 0) continue;
    const next = code[i + 1];
    if (
      blocky ? next?.text !== "{" && !/^[|&[>,]$/.test(next?.text ?? "") : startsAnew(token, next)
    )
      return i + 1;
  }
  return code.length;
}

// A block statement ends at its brace; an initializer ends at its semicolon.
function startsAnew(brace: Token, next: Token | undefined): boolean {
  return (
    next !== undefined &&
    next.line > brace.line &&
    (PREFIXES.has(next.text) || DECLARES.has(next.text))
  );
}

function declaredNames(code: readonly Token[], keyword: number, end: number): string[] {
  const first = code[keyword + 1]?.text === "*" ? keyword + 2 : keyword + 1;
  const names = boundAt(code, first);
  if (!/^(?:const|let|var)$/.test(code[keyword]!.text)) return names;
  for (let i = first; i < end; i += 1) {
    const separates = code[i]!.text === "," && code[i]!.depth === code[keyword]!.depth;
    if (separates && !inAngles(code, first, i)) names.push(...boundAt(code, i + 1));
  }
  return names;
}

function boundAt(code: readonly Token[], place: number): string[] {
  const token = code[place];
  if (token?.kind === "name") return [token.text];
  return token !== undefined && token.match > place ? patternNames(code, place) : [];
}

/** The names that a destructuring pattern binds, given its opening bracket. */
export function patternNames(code: readonly Token[], open: number): string[] {
  const names: string[] = [];
  for (let i = open + 1; i < code[open]!.match; i += 1) {
    const binds = code[i]!.kind === "name" && /^[,}\]=]$/.test(code[i + 1]!.text);
    if (binds && code[i - 1]!.text !== "=" && code[i - 1]!.text !== ".") names.push(code[i]!.text);
  }
  return names;
}

export interface FunctionSpan {
  readonly name: string | undefined;
  readonly line: number;
  readonly endLine: number;
  readonly parameters: number;
  /** The opening token of the body, or the first token of an arrow's expression. */
  readonly body: number;
  readonly bodyEnd: number;
  readonly braced: boolean;
}

const CONTROL = new Set([
  "if",
  "for",
  "while",
  "switch",
  "catch",
  "with",
  "return",
  "await",
  "typeof",
  "new",
  "super",
]);

/** Every function of the text: declarations, methods, arrows. */
export function functionsOf(code: readonly Token[]): FunctionSpan[] {
  const spans: FunctionSpan[] = [];
  code.forEach((token, i) => {
    if (token.text === "=>" && token.kind === "punct") spans.push(arrowAt(code, i));
    else if (token.text === "(" && token.match > 0) {
      const name = functionName(code, i);
      const body = name === undefined ? -1 : bodyAfter(code, token.match);
      if (name !== undefined && body > 0) spans.push(span(code, { name, head: i, open: i, body }));
    }
  });
  return spans;
}

interface Found {
  readonly name: string | undefined;
  readonly head: number;
  readonly open: number | undefined;
  readonly body: number;
}

function span(code: readonly Token[], found: Found): FunctionSpan {
  const braced = code[found.body]?.text === "{";
  const bodyEnd = braced ? code[found.body]!.match : expressionEnd(code, found.body);
  const { open } = found;
  return {
    name: found.name,
    line: code[found.head]!.line,
    endLine: code[bodyEnd]?.line ?? code.at(-1)!.line,
    parameters: open === undefined ? 1 : countParameters(code, open),
    body: found.body,
    bodyEnd,
    braced,
  };
}

function functionName(code: readonly Token[], open: number): string | undefined {
  let at = open - 1;
  if (code[at]?.text === ">") at = beforeAngles(code, at);
  if (code[at]?.text === "function") return "anonymous";
  const name = code[at];
  if (name?.kind !== "name" || CONTROL.has(name.text)) return undefined;
  const before = code[at - 1]?.text ?? "";
  const declared = before === "function" || (before === "*" && code[at - 2]?.text === "function");
  const method = /^(?:[{};,*]|async|get|set|static|private|protected|public|override)$/.test(
    before,
  );
  return declared || method ? name.text : undefined;
}

function beforeAngles(code: readonly Token[], close: number): number {
  let angle = 0;
  for (let i = close; i >= 0 && close - i < 80; i -= 1) {
    if (code[i]!.text === ">") angle += 1;
    if (code[i]!.text === "<" && (angle -= 1) === 0) return i - 1;
  }
  return -1;
}

function bodyAfter(code: readonly Token[], close: number): number {
  const depth = code[close]!.depth;
  if (code[close + 1]?.text === "{") return close + 1;
  if (code[close + 1]?.text !== ":") return -1;
  for (let i = close + 2; i < code.length && code[i]!.depth >= depth; i += 1) {
    if (code[i]!.depth > depth) continue;
    if (/^[;,]$/.test(code[i]!.text) && !inAngles(code, close + 2, i)) return -1;
    if (code[i]!.text === "{" && !/^(?:[:|&<,(]|=>|is|extends)$/.test(code[i - 1]!.text)) return i;
  }
  return -1;
}

function inAngles(code: readonly Token[], from: number, to: number): boolean {
  let angle = 0;
  for (let i = from; i < to; i += 1)
    angle += code[i]!.text === "<" ? 1 : code[i]!.text === ">" ? -1 : 0;
  return angle > 0;
}

function arrowAt(code: readonly Token[], arrow: number): FunctionSpan {
  const open = parametersBefore(code, arrow);
  let head = open ?? arrow - 1;
  if (code[head - 1]?.text === ">") head = beforeAngles(code, head - 1) + 1;
  if (code[head - 1]?.text === "async") head -= 1;
  const before = code[head - 1]?.text;
  const owner = code[head - 2];
  // `function f(): (a: A) => B {` has an arrow that is a type and has no body.
  const returned = before === ":" && owner?.text === ")";
  const name =
    before === "="
      ? assignedName(code, head - 1)
      : before === ":" && owner?.kind === "name"
        ? owner.text
        : undefined;
  const found = span(code, { name, head, open, body: arrow + 1 });
  return returned ? { ...found, bodyEnd: arrow + 1, endLine: found.line, braced: false } : found;
}

function parametersBefore(code: readonly Token[], arrow: number): number | undefined {
  const { depth } = code[arrow]!;
  if (code[arrow - 1]?.text === ")") return code[arrow - 1]!.match;
  for (let i = arrow - 1; i > 0 && arrow - i < 80 && code[i]!.depth >= depth; i -= 1) {
    if (code[i]!.depth > depth) continue;
    if (code[i]!.text === ")" && code[i + 1]!.text === ":") return code[i]!.match;
    if (/^(?:[;{(]|=>)$/.test(code[i]!.text) && code[i]!.match < i) break;
  }
  return undefined;
}

function assignedName(code: readonly Token[], equals: number): string | undefined {
  if (code[equals - 2]?.text === ",") return code[equals - 1]!.text;
  for (let i = equals - 1; i >= 0 && equals - i < 80 && code[i]!.text !== ";"; i -= 1) {
    if (/^(?:const|let|var)$/.test(code[i]!.text)) return code[i + 1]!.text;
  }
  return code[equals - 1]?.kind === "name" ? code[equals - 1]!.text : undefined;
}

function expressionEnd(code: readonly Token[], from: number): number {
  const depth = code[from]?.depth ?? 0;
  for (let i = from; i < code.length; i += 1) {
    if (code[i]!.depth < depth) return i;
    if (code[i]!.depth === depth && /^[,;)\]}]$/.test(code[i]!.text) && code[i]!.match < from)
      return i;
  }
  return code.length - 1;
}

function countParameters(code: readonly Token[], open: number): number {
  const close = code[open]!.match;
  if (close <= open + 1) return 0;
  let count = 1;
  for (let i = open + 1; i < close; i += 1) {
    const separates = code[i]!.text === "," && code[i]!.depth === code[open]!.depth + 1;
    if (separates && i + 1 < close && !inAngles(code, open + 1, i)) count += 1;
  }
  return count;
}
