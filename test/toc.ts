// Writes the contents: the block on the cover of mcp-raw.ts, and the links in
// README.md between <!-- toc --> and <!-- /toc -->. `npm run toc` runs it;
// test/shape.test.ts fails when what stands there is stale.

import { existsSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { contentsBlock, readBook, type Book, type Chapter } from "./shape-model.ts";

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

/** One line a Part, with a link to the line of each chapter. */
export function readmeTocOf(book: Book): string[] {
  const names = [...new Set(book.chapters.map((chapter) => chapter.part))];
  return names.map((name) => {
    const title = book.parts.find((part) => part.numeral === name)?.title ?? "";
    const heading =
      name === "cut"
        ? "Below the cut"
        : `${name}. ${title.charAt(0).toUpperCase()}${title.slice(1)}`;
    const links = book.chapters
      .filter((chapter) => chapter.part === name)
      .map((chapter) => `[${chapter.title}](mcp-raw.ts#L${chapter.startLine})`);
    return `- **${heading}**: ${links.join(" · ")}`;
  });
}

/** The lines of chapters given like "1–6, 9". */
function linesOf(book: Book, chapters: string): number {
  const wanted = chapters.split(", ").flatMap((range) => {
    const [from = 0, to = from] = range.split("–").map(Number);
    return book.chapters.filter(({ number }) => number >= from && number <= to);
  });
  return wanted.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
}

/** The README with its links and line counts up to date. */
export function withReadmeToc(readme: string, book: Book): string {
  const markers = /(<!-- toc -->\n)[\s\S]*?(<!-- \/toc -->)/g;
  const rows = /(\| (\d+(?:–\d+)?(?:, \d+(?:–\d+)?)*) \| )[\d,]+( \|)/g;
  return readme.replace(rows, (_, before: string, chapters: string, after: string) =>
    `${before}${linesOf(book, chapters).toLocaleString("en")}${after}`).replace(
    markers,
    (_, open: string, close: string) => `${open}${readmeTocOf(book).join("\n")}\n${close}`,
  );
}

const here = fileURLToPath(import.meta.url);
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === realpathSync(here)) {
  const file = fileURLToPath(new URL("../mcp-raw.ts", import.meta.url));
  const readme = fileURLToPath(new URL("../README.md", import.meta.url));
  const source = withContents(readFileSync(file, "utf8"));
  writeFileSync(file, source);
  if (existsSync(readme))
    writeFileSync(readme, withReadmeToc(readFileSync(readme, "utf8"), readBook(source)));
}
