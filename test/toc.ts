// Writes the contents: the block on the cover of mcp-raw.ts, and in each README the
// links between <!-- toc --> and <!-- /toc --> and the sets of chapters to take.
// `npm run toc` runs it; test/shape.test.ts and test/peers/readme.test.ts fail when what
// stands there is stale.

import { readFileSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { closureOf, contentsBlock, readBook, type Book, type Chapter } from "./shape-model.ts";

const WIDTH = 80;

/**
 * The lines of the contents, in two columns: number, title, line, numbers of the chapters used,
 * without those of Part I, which nearly all use.
 */
export function contentsOf(book: Book): string[] {
  const cells = book.chapters.map((chapter) => {
    const { number, title, startLine } = chapter;
    return `${String(number).padStart(2)} ${title.padEnd(18)} ${String(startLine).padStart(4)} ` +
      numbersOf(book, chapter);
  });
  const rows = Math.ceil(cells.length / 2);
  const widest = (part: string[]) => Math.max(0, ...part.map((cell) => cell.length));
  const left = Math.max(widest(cells.slice(0, rows)), Math.min(38, 76 - widest(cells.slice(rows))));
  return cells.slice(0, rows).map((cell, row) => {
    const line = `// ${cell.padEnd(left)} ${cells[row + rows] ?? ""}`.trimEnd();
    if (line.length > WIDTH) throw new Error(`contents: a row of ${line.length} columns: ${line}`);
    return line;
  });
}

// 1, 2, 3, 7 -> "1-3 7"; without those that the others use themselves
function numbersOf(book: Book, { uses, part }: Chapter): string {
  if (uses === "everything") return "all above";
  const used = book.chapters.filter((one) => uses.includes(one.slug));
  const essence = used.filter((one) => one.part === "I" && part !== "I");
  const theirs = new Set(used.flatMap((one) => one.uses === "everything" ? [] : reach(book, one)));
  const runs: [number, number][] = [];
  for (const { number, slug } of used.filter((one) => !essence.includes(one))) {
    const run = runs.at(-1);
    if (part !== "I" && theirs.has(slug)) continue;
    if (run && run[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  const rest = runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  return rest.join(" ") || (essence.length > 0 ? "I" : "-");
}
/** The chapters that a chapter uses, and those that they use. */
function reach(book: Book, { uses }: Chapter): string[] {
  if (uses === "everything") return [];
  const used = book.chapters.filter((one) => uses.includes(one.slug));
  return used.flatMap((one) => [one.slug, ...reach(book, one)]);
}

/** The source with its contents up to date. */
export function withContents(source: string): string {
  for (let text = source; ;) {
    const lines = text.split("\n");
    const block = contentsBlock(lines);
    if (block === undefined) throw new Error('no line "// Contents" on the cover');
    lines.splice(block.start + 1, block.end - block.start - 1, ...contentsOf(readBook(text)));
    const next = lines.join("\n");
    if (next === text) return text;
    text = next;
  }
}

/** What the Parts are called in a README of another language, by the end of its name. */
const PARTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "zh-Hans": { I: "协议就是一个函数", II: "字节", III: "服务器提供什么", IV: "客户端做什么",
    V: "早期修订版", VI: "授权", VII: "通用基础", cut: "剪切线以下" },
};

/** One line a Part, with a link to the line of each chapter. */
export function readmeTocOf(book: Book, language = "en"): string[] {
  const names = [...new Set(book.chapters.map((chapter) => chapter.part))];
  return names.map((name) => {
    const english = book.parts.find((part) => part.numeral === name)?.title ?? "";
    const title = PARTS[language]?.[name] ?? (name === "cut" ? "Below the cut"
      : `${english.charAt(0).toUpperCase()}${english.slice(1)}`);
    const links = book.chapters
      .filter((chapter) => chapter.part === name)
      .map((chapter) => `[${chapter.title}](mcp-raw.ts#L${chapter.startLine})`);
    const colon = language.startsWith("zh") ? "：" : ": ";
    return `- **${name === "cut" ? "" : `${name}. `}${title}**${colon}${links.join(" · ")}`;
  });
}

/** The chapters of these names and all that they use, in order. */
function setOf(book: Book, slugs: string): Chapter[] {
  const wanted = new Set(slugs.split(" ").flatMap((slug) => {
    const chapter = book.chapters.find((one) => one.slug === slug);
    if (chapter === undefined) throw new Error(`README: no chapter is called ${slug}`);
    return [chapter, ...closureOf(book, chapter)];
  }));
  return book.chapters.filter((chapter) => wanted.has(chapter));
}

/** The numbers and the lines of a set: "1–6, 9 | 1,020". */
function cellsOf(chapters: Chapter[]): string {
  const runs: [number, number][] = [];
  for (const { number } of chapters) {
    const run = runs.at(-1);
    if (run && run[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  const numbers = runs.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ");
  const lines = chapters.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  return `${numbers} | ${lines.toLocaleString("en")}`;
}

/**
 * A README with its links up to date, and its sets of chapters: a row of a table names in a
 * comment the chapters that somebody wants, and gets the numbers and lines of all they use.
 */
export function withReadmeToc(readme: string, book: Book, language = "en"): string {
  const markers = /(<!-- toc -->\n)[\s\S]*?(<!-- \/toc -->)/g;
  const rows = /(<!-- take ([a-z0-9 -]+) --> \| )[^|\n]*\|[^|\n]*( \|)/g;
  return readme.replace(rows, (_, before: string, slugs: string, after: string) =>
    `${before}${cellsOf(setOf(book, slugs))}${after}`).replace(
    markers,
    (_, open: string, close: string) =>
      `${open}${readmeTocOf(book, language).join("\n")}\n${close}`,
  );
}

/** The READMEs beside the file, and their languages: README.md, README.zh-Hans.md. */
export function readmes(): { file: string; language: string }[] {
  const root = fileURLToPath(new URL("../", import.meta.url));
  return readdirSync(root).sort().flatMap((name) => {
    const [found, language = "en"] = /^README(?:\.([\w-]+))?\.md$/.exec(name) ?? [];
    return found === undefined ? [] : [{ file: root + name, language }];
  });
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(here)) {
  const file = fileURLToPath(new URL("../mcp-raw.ts", import.meta.url));
  const source = withContents(readFileSync(file, "utf8"));
  writeFileSync(file, source);
  for (const { file, language } of readmes()) {
    const readme = readFileSync(file, "utf8");
    writeFileSync(file, withReadmeToc(readme, readBook(source), language));
  }
}
