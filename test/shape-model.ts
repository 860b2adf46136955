// The form of mcp-raw.ts, read from its text: chapters, what they say they use,
// what they really name, and the house rules. Every rule is a function from the
// text to a list of complaints, so that each can be shown to bite on a small
// planted fault.

import {
  codeOf,
  functionsOf,
  patternNames,
  tokenize,
  topLevel,
  type Item,
  type Token,
} from "./shape-tokens.ts";

export interface Chapter {
  readonly number: number;
  readonly title: string;
  readonly slug: string;
  /** Slugs as written, or "everything", which stands for all earlier chapters. */
  readonly uses: readonly string[] | "everything";
  /** The Part's numeral, or "cut" below the line where copiers cut. */
  readonly part: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

export interface Part {
  readonly numeral: string;
  readonly title: string;
  readonly line: number;
}

export interface Book {
  readonly source: string;
  readonly lines: readonly string[];
  readonly chapters: readonly Chapter[];
  readonly parts: readonly Part[];
  /** The line that says "cut here", or one past the end. */
  readonly cutLine: number;
  readonly tokens: readonly Token[];
  readonly code: readonly Token[];
  readonly items: readonly Item[];
}

const REGION = /^\/\/ #region (\d+)\. (.+)$/;
const ENDREGION = /^\/\/ #endregion\b/;
const PART = /^\/\/ -+ Part ([IVX]+): (.*?)[ -]*$/;
const CUT = /^\/\/ ---- cut here/;

/** "Resources, URI templates" -> "resources-uri-templates" */
export function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/** Reads the chapters of a source text. Throws when regions are not paired. */
export function readBook(source: string): Book {
  const lines = source.replace(/\n$/, "").split("\n");
  const chapters: Chapter[] = [];
  const parts: Part[] = [];
  let cutLine = lines.length + 1;
  let open: { start: number; number: number; title: string } | undefined;
  lines.forEach((text, index) => {
    const line = index + 1;
    const region = REGION.exec(text);
    const part = open === undefined ? PART.exec(text) : null;
    if (region) {
      if (open) throw new Error(`line ${line}: a region opens inside "${open.title}"`);
      open = { start: line, number: Number(region[1]), title: region[2]!.trim() };
    } else if (ENDREGION.test(text)) {
      if (!open) throw new Error(`line ${line}: #endregion without a region`);
      const where = line > cutLine ? "cut" : (parts.at(-1)?.numeral ?? "");
      chapters.push(chapterOf(lines, { ...open, end: line, part: where }));
      open = undefined;
    } else if (CUT.test(text)) cutLine = Math.min(cutLine, line);
    else if (part) parts.push({ numeral: part[1]!, title: part[2]!, line });
  });
  if (open !== undefined)
    throw new Error(`chapter "${(open as { title: string }).title}" has no #endregion`);
  const tokens = tokenize(source);
  const code = codeOf(tokens);
  return { source, lines, chapters, parts, cutLine, tokens, code, items: topLevel(code) };
}

interface Span {
  start: number;
  end: number;
  number: number;
  title: string;
  part: string;
}

function chapterOf(lines: readonly string[], { start, end, number, title, part }: Span): Chapter {
  const text = lines.slice(start - 1, end).join("\n");
  return {
    number,
    title,
    slug: slugOf(title),
    uses: usesOf(lines, start),
    part,
    startLine: start,
    endLine: end,
    text,
  };
}

// Line 2 of a chapter; a long list goes on in lines indented by three spaces.
function usesOf(lines: readonly string[], start: number): readonly string[] | "everything" {
  const first = /^\/\/ uses (.+)$/.exec(lines[start] ?? "");
  if (!first) return [];
  let text = first[1]!;
  for (let i = start + 1; /^\/\/ {3}\S/.test(lines[i] ?? ""); i += 1)
    text += ` ${lines[i]!.slice(5)}`;
  const words = text.split(" · ")[0]!.trim().split(/\s+/);
  if (words[0] === "everything") return "everything";
  return words[0] === "nothing" ? [] : words;
}

/** The chapters that a chapter uses, those that they use, and so on, in order. */
export function closureOf(book: Book, chapter: Chapter): Chapter[] {
  const wanted = new Set<Chapter>();
  const visit = (one: Chapter): void => {
    for (const used of directUses(book, one)) {
      if (wanted.has(used)) continue;
      wanted.add(used);
      visit(used);
    }
  };
  visit(chapter);
  return book.chapters.filter((one) => wanted.has(one));
}

function directUses(book: Book, chapter: Chapter): Chapter[] {
  const { uses } = chapter;
  if (uses === "everything")
    return book.chapters.filter((one) => one.startLine < chapter.startLine);
  return book.chapters.filter((one) => uses.includes(one.slug) && one !== chapter);
}

// ---- the three properties: Cut, Drop, Lift

export interface Variant {
  readonly name: string;
  readonly text: string;
}

const FRONT_DOOR = "the-front-door";

/** Lines 1 to the end of each chapter. */
export function cuts(book: Book): Variant[] {
  return book.chapters.map((chapter) =>
    variant(`cut-${chapter.slug}`, book.lines.slice(0, chapter.endLine)),
  );
}

/** The file without one chapter and all that use it, the front door and the command line. */
export function drops(book: Book): Variant[] {
  const kept = book.chapters.filter(
    (one) => one.part !== "cut" && one.slug !== FRONT_DOOR && one.uses !== "everything",
  );
  return kept.map((chapter) => {
    const rest = kept.filter((one) => one !== chapter && !closureOf(book, one).includes(chapter));
    return variant(
      `drop-${chapter.slug}`,
      rest.map((one) => one.text),
    );
  });
}

/** One chapter with what it says it uses. */
export function lifts(book: Book): Variant[] {
  return book.chapters.map((chapter) => {
    const texts = [...closureOf(book, chapter), chapter].map((one) => one.text);
    return variant(`lift-${chapter.slug}`, texts);
  });
}

function variant(name: string, texts: readonly string[]): Variant {
  const text = texts.join("\n");
  return { name, text: /^export /m.test(text) ? `${text}\n` : `${text}\nexport {};\n` };
}

// ---- who names what

export interface Mention {
  readonly name: string;
  readonly line: number;
  readonly chapter: Chapter;
  readonly owner: Chapter;
}

/** Each place where a chapter names, as code, what another chapter declares at its top level. */
export function mentions(book: Book): Mention[] {
  const owners = new Map<string, Chapter>();
  const found: Mention[] = [];
  for (const item of book.items) {
    const chapter = chapterAt(book, item.line);
    if (chapter) for (const name of item.names) if (!owners.has(name)) owners.set(name, chapter);
  }
  for (const item of book.items) {
    const chapter = chapterAt(book, item.line);
    if (!chapter) continue;
    const local = boundNames(book.code, item);
    for (let i = item.from; i < item.to; i += 1) {
      const { kind, text: name, line } = book.code[i]!;
      const owner = kind === "name" ? owners.get(name) : undefined;
      if (!owner || owner === chapter || !namesValue(book.code, i) || local.has(name)) continue;
      found.push({ name, line, chapter, owner });
    }
  }
  return found;
}

function chapterAt(book: Book, line: number): Chapter | undefined {
  return book.chapters.find((one) => one.startLine < line && line < one.endLine);
}

// A property after a dot, a key before a colon and a method's own name are not mentions.
function namesValue(code: readonly Token[], i: number): boolean {
  const before = code[i - 1]?.text ?? "";
  const after = code[i + 1]?.text ?? "";
  if (before === "." || before === "?.") return false;
  const opens = /^(?:[{},;([]|readonly|async|get|set|static|\*)$/.test(before);
  if (opens && (after === ":" || (after === "?" && code[i + 2]?.text === ":"))) return false;
  const close = after === "(" && opens ? code[i + 1]!.match : -1;
  return !(close > 0 && /^[{:]$/.test(code[close + 1]?.text ?? ""));
}

// Names bound inside one declaration: parameters, locals, catch variables, inferred types.
// Taken together for the whole declaration, which is coarse; the type checker's cut is exact.
function boundNames(code: readonly Token[], item: Item): Set<string> {
  const bound = new Set<string>();
  const bind = (at: number): void => {
    const token = code[at];
    if (token?.kind === "name") bound.add(token.text);
    else if (token?.text === "{" || token?.text === "[")
      for (const name of patternNames(code, at)) bound.add(name);
  };
  for (let i = item.from; i < item.to; i += 1) {
    const token = code[i]!;
    const inner = token.depth > code[item.from]!.depth;
    if (
      token.kind === "name" &&
      inner &&
      /^(?:const|let|var|function|class|infer)$/.test(token.text)
    )
      bind(i + 1);
    if (token.text === "=>" && code[i - 1]!.kind === "name") bind(i - 1);
    if (token.text === "(" && token.match > 0) for (const at of parameterPlaces(code, i)) bind(at);
    if (token.text === "<" && /^(?:name|punct)$/.test(code[i - 1]!.kind))
      for (const at of typeParameters(code, i)) bind(at);
  }
  return bound;
}

function parameterPlaces(code: readonly Token[], open: number): number[] {
  const close = code[open]!.match;
  const next = code[close + 1]?.text;
  const before = code[open - 1];
  const called = before !== undefined && (before.kind === "name" || /^[)\]>]$/.test(before.text));
  const declared =
    before?.text === "function" || code[open - 2]?.text === "function" || before?.text === "catch";
  const controls = /^(?:if|for|while|switch|with|return|await)$/.test(before?.text ?? "");
  const whole =
    declared || next === "=>" || (next === "{" && !controls) || (next === ":" && !called);
  const places: number[] = [];
  for (let i = open + 1; i < close; i += 1) {
    const atStart =
      code[i]!.depth === code[open]!.depth + 1 && /^(?:[(,]|\.\.\.)$/.test(code[i - 1]!.text);
    const end = code[i]!.match > i ? code[i]!.match : i;
    const after = code[end + 1]?.text;
    const typed = after === ":" || (after === "?" && code[end + 2]?.text === ":");
    if (atStart && (whole || typed)) places.push(i);
  }
  return places;
}

function typeParameters(code: readonly Token[], open: number): number[] {
  const places: number[] = [];
  for (let i = open + 1; i < code.length && code[i]!.text !== ">" && i - open < 60; i += 1) {
    const starts = /^(?:[<,]|const|in|out)$/.test(code[i - 1]!.text);
    if (starts && code[i]!.kind === "name" && /^(?:extends|=)$/.test(code[i + 1]!.text))
      places.push(i);
  }
  return places;
}

// ---- the rules

type Rule = (book: Book) => string[];

const at = (line: number, complaint: string): string => `line ${line}: ${complaint}`;

/** Regions are numbered 1, 2, 3 …, named once, and each says on its second line what it uses. */
export const chapterHeads: Rule = (book) =>
  book.chapters.flatMap((chapter, index) => {
    const { startLine, number, slug } = chapter;
    const complaints: string[] = [];
    if (number !== index + 1)
      complaints.push(at(startLine, `chapter ${number} stands in place ${index + 1}`));
    if (book.chapters.findIndex((one) => one.slug === slug) !== index)
      complaints.push(at(startLine, `a second chapter "${slug}"`));
    if (!/^\/\/ uses \S/.test(book.lines[startLine] ?? ""))
      complaints.push(at(startLine + 1, `no "// uses …" line`));
    for (const used of chapter.uses === "everything" ? [] : chapter.uses) {
      const earlier = book.chapters.slice(0, index).some((one) => one.slug === used);
      if (!earlier)
        complaints.push(at(startLine + 1, `uses "${used}", which is no earlier chapter`));
    }
    return complaints;
  });

/** All code stands in chapters, and every chapter in a Part or below the cut. */
export const strayCode: Rule = (book) => [
  ...book.code
    .filter((token) => !chapterAt(book, token.line))
    .slice(0, 5)
    .map((token) => at(token.line, `code outside every chapter: ${token.text}`)),
  ...book.chapters
    .filter((one) => one.part === "")
    .map((one) => at(one.startLine, `"${one.title}" is in no Part`)),
  ...(book.cutLine > book.lines.length ? ["no line that starts with // ---- cut here"] : []),
];

/** A name is declared once; only an interface may be opened again. */
export const declaredOnce: Rule = (book) => {
  const first = new Map<string, Item>();
  return book.items.flatMap((item) =>
    item.names.flatMap((name) => {
      const before = first.get(name);
      if (!before) first.set(name, item);
      const merges =
        !before ||
        (before.kind === item.kind && (item.kind === "interface" || item.kind === "function"));
      return merges ? [] : [at(item.line, `${name} is declared at line ${before.line} already`)];
    }),
  );
};

/** A chapter names only what is declared above it. */
export const direction: Rule = (book) =>
  mentions(book)
    .filter(({ chapter, owner }) => owner.startLine > chapter.startLine)
    .map(({ name, line, chapter, owner }) =>
      at(line, `"${chapter.title}" names ${name}, which "${owner.title}" declares further down`),
    );

/** A chapter says which chapters it names, and names those that it says. */
export const honestUses: Rule = (book) => {
  const all = mentions(book);
  const unsaid = all
    .filter(
      ({ chapter, owner }) =>
        owner.startLine < chapter.startLine && !directUses(book, chapter).includes(owner),
    )
    .map(({ name, line, chapter, owner }) =>
      at(line, `"${chapter.title}" names ${name} without saying that it uses ${owner.slug}`),
    );
  const idle = book.chapters.flatMap((chapter) =>
    chapter.uses === "everything"
      ? []
      : directUses(book, chapter)
          .filter((used) => !all.some((one) => one.chapter === chapter && one.owner === used))
          .map((used) =>
            at(
              chapter.startLine + 1,
              `"${chapter.title}" says it uses ${used.slug} and names nothing of it`,
            ),
          ),
  );
  return [...unsaid, ...idle];
};

export const LIMITS = {
  cover: 66,
  partOne: 300,
  protocol: 8360,
  commandLine: 1840,
  chapter: 280,
  opening: 20,
  named: 60,
  nesting: 4,
  parameters: 4,
  code: 100,
  comment: 80,
} as const;
const LONGER: Record<string, number> = { "json-schema": 480 };

/** The ceilings of the file, its parts and its chapters. */
export const sizes: Rule = (book) => {
  const complaints: string[] = [];
  const limit = (what: string, size: number, most: number, line: number): void => {
    if (size > most) complaints.push(at(line, `${what}: ${size} lines, at most ${most}`));
  };
  const firstPart = Math.min(
    book.parts[0]?.line ?? Infinity,
    book.chapters[0]?.startLine ?? Infinity,
  );
  limit("the cover", Math.min(firstPart, book.lines.length) - 1, LIMITS.cover, 1);
  limit(
    "Part I",
    book.chapters.filter((one) => one.part === "I").at(-1)?.endLine ?? 0,
    LIMITS.partOne,
    1,
  );
  limit("the protocol", book.cutLine - 1, LIMITS.protocol, 1);
  limit("the command line", book.lines.length - book.cutLine, LIMITS.commandLine, book.cutLine);
  for (const { title, slug, startLine, endLine } of book.chapters) {
    limit(`chapter "${title}"`, endLine - startLine + 1, LONGER[slug] ?? LIMITS.chapter, startLine);
    const opening = book.lines
      .slice(startLine - 1, endLine)
      .findIndex((line) => !line.startsWith("//"));
    limit(`the opening of "${title}"`, opening, LIMITS.opening, startLine);
  }
  return complaints;
};

/** The ceilings of a function: length when it has a name, nesting, parameters. */
export const functions: Rule = (book) =>
  functionsOf(book.code).flatMap((one) => {
    const complaints: string[] = [];
    const length = one.endLine - one.line + 1;
    const called = one.name ?? "a function";
    if (one.name !== undefined && length > LIMITS.named)
      complaints.push(at(one.line, `${called} has ${length} lines, at most ${LIMITS.named}`));
    if (one.parameters > LIMITS.parameters)
      complaints.push(
        at(one.line, `${called} takes ${one.parameters} parameters, at most ${LIMITS.parameters}`),
      );
    const nesting = one.braced ? nestingOf(book.code, one.body) : 0;
    if (nesting > LIMITS.nesting)
      complaints.push(at(one.line, `${called} nests ${nesting} deep, at most ${LIMITS.nesting}`));
    return complaints;
  });

// Blocks of if, for, while, switch and try inside one another; an inner function starts again.
function nestingOf(code: readonly Token[], body: number): number {
  const inner = new Set(
    functionsOf(code.slice(body + 1, code[body]!.match).map(shifted(body + 1))).map(
      (one) => one.body + body + 1,
    ),
  );
  const open: boolean[] = [];
  let deepest = 0;
  for (let i = body + 1; i < code[body]!.match; i += 1) {
    const token = code[i]!;
    if (inner.has(i) && token.text === "{") i = token.match;
    else if (token.text === "{")
      deepest = Math.max(deepest, open.push(isControl(code, i)) && open.filter(Boolean).length);
    else if (token.text === "}" && token.match >= 0 && code[token.match]!.text === "{") open.pop();
  }
  return deepest;
}

const shifted =
  (by: number) =>
  (token: Token): Token => ({ ...token, match: token.match - by });

function isControl(code: readonly Token[], brace: number): boolean {
  const before = code[brace - 1]!;
  if (/^(?:else|try|finally|do)$/.test(before.text)) return true;
  const head = before.text === ")" ? (code[before.match - 1]?.text ?? "") : "";
  return /^(?:if|for|while|switch|catch|await)$/.test(head);
}

/** Code fits 100 columns; so do uses, and rules with their anchor; other comments fit 80. */
export const widths: Rule = (book) =>
  book.lines.flatMap((text, index) => {
    const comment = /^\s*\/\/(?! uses | MUST: | SHOULD: )/.test(text);
    const most = comment ? LIMITS.comment : LIMITS.code;
    const wide = [...text].length;
    return wide > most ? [at(index + 1, `${wide} columns, at most ${most}`)] : [];
  });

/** Nothing static is imported, nothing waits, changes or is kept at the top level. */
export const purity: Rule = (book) => {
  const { code } = book;
  const functionsHere = functionsOf(code);
  const complaints: string[] = [];
  code.forEach((token, i) => {
    if (token.kind !== "name") return;
    const next = code[i + 1];
    const reached = code[i - 1]?.text === ".";
    if (token.text === "import" && token.depth === 0 && next?.text !== "(" && next?.text !== ".")
      complaints.push(at(token.line, "a static import"));
    if (token.text === "import" && next?.text === "(" && isLiteral(code, i + 2))
      complaints.push(
        at(token.line, "an import of a literal name, which bundlers and deno check follow"),
      );
    if (token.text === "from" && token.depth === 0 && next?.kind === "string")
      complaints.push(at(token.line, "an export from another module"));
    if (
      token.text === "await" &&
      !reached &&
      !functionsHere.some((one) => one.body <= i && i <= one.bodyEnd)
    )
      complaints.push(at(token.line, "await at the top level"));
    if (/^(?:let|var)$/.test(token.text) && token.depth === 0)
      complaints.push(at(token.line, `${token.text} at the top level`));
  });
  return [...complaints, ...keptState(book)];
};

function isLiteral(code: readonly Token[], argument: number): boolean {
  const token = code[argument];
  return (
    code[argument + 1]?.text === ")" && (token?.kind === "string" || token?.kind === "template")
  );
}

// An empty collection at the top level can only be there to be filled.
function keptState(book: Book): string[] {
  return book.items
    .filter((item) => item.kind === "const")
    .flatMap((item) => {
      const texts = book.code
        .slice(item.from, item.to)
        .map((token) => token.text)
        .join(" ");
      return /= (?:new (?:Weak)?(?:Map|Set)\b[^()]*\( \)|\[ \]|\{ \}) (?:as .*)?;?$/.test(texts)
        ? [at(item.line, `${item.names[0]} is empty at the top level, so it is state`)]
        : [];
    });
}

/** No `any` and no `!` that takes the checker's word away, unless a comment there says why. */
export const honestTypes: Rule = (book) =>
  book.code.flatMap((token, i) => {
    const before = book.code[i - 1];
    const dotted = before?.text === "." || before?.text === "?.";
    const key = /^[:?]$/.test(book.code[i + 1]?.text ?? "") && /^[{,;]$/.test(before?.text ?? "");
    if (token.kind === "name" && token.text === "any" && !dotted && !key) {
      return excused(book, token.line, "any") ? [] : [at(token.line, "the type any")];
    }
    const asserts =
      token.text === "!" && before !== undefined && before.line === token.line && endsValue(before);
    return asserts && !excused(book, token.line, "!")
      ? [at(token.line, "a non-null assertion")]
      : [];
  });

const KEYWORDS_BEFORE_A_VALUE = new Set(
  "return typeof case in of await void delete throw yield else do new as extends".split(" "),
);

function endsValue({ kind, text }: Token): boolean {
  if (kind === "name")
    return !KEYWORDS_BEFORE_A_VALUE.has(text);
  return kind === "string" || text === ")" || text === "]";
}

function excused(book: Book, line: number, word: string): boolean {
  return [book.lines[line - 1]!, book.lines[line - 2] ?? ""].some(
    (text) => text.includes("//") && text.slice(text.indexOf("//")).includes(word),
  );
}

/** No handler asks which era it serves: conditions name an era only in Part V and below the cut. */
// A constant such as a list of versions is no era: every server checks what version it is asked for.
export const eras: Rule = (book) =>
  book.code.flatMap((token, i) => {
    const part = chapterAt(book, token.line)?.part;
    if (
      token.text !== "(" ||
      !/^(?:if|while|switch)$/.test(book.code[i - 1]?.text ?? "") ||
      part === "V" ||
      part === "cut"
    )
      return [];
    const named = book.code
      .slice(i + 1, Math.max(token.match, i + 1))
      .find(
        (one) =>
          (one.kind === "name" &&
            /legacy|modern|^era$|Era$/i.test(one.text) &&
            !/^[A-Z_]+$/.test(one.text)) ||
          (one.kind === "string" && /^.(?:legacy|modern).$/.test(one.text)),
      );
    return named ? [at(token.line, `a condition on the era (${named.text}) outside Part V`)] : [];
  });

/** Nothing unfinished or silenced is left in the file. */
export const unfinished: Rule = (book) =>
  book.lines.flatMap((text, index) => {
    const word = /\b(?:TODO|FIXME|XXX)\b|@ts-\w+/.exec(text);
    return word ? [at(index + 1, word[0])] : [];
  });

export const RULES: Readonly<Record<string, Rule>> = {
  chapterHeads,
  strayCode,
  declaredOnce,
  direction,
  honestUses,
  sizes,
  functions,
  widths,
  purity,
  honestTypes,
  eras,
  unfinished,
};

// ---- the contents block, which test/toc.ts writes

/** Where the contents stand: after "// Contents", up to a bare "//" or the first region. */
export function contentsBlock(
  lines: readonly string[],
): { start: number; end: number } | undefined {
  const start = lines.findIndex((line) => /^\/\/ Contents\b/.test(line));
  if (start < 0) return undefined;
  const length = lines
    .slice(start + 1)
    .findIndex((line) => line === "//" || line === "" || REGION.test(line));
  return { start, end: length < 0 ? lines.length : start + 1 + length };
}
