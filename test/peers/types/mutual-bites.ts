// The comparison itself: what it must accept, and what it must refuse.

import type { Same, True } from "./mutual.ts";

interface Tool {
  name: string;
  title?: string;
  inputSchema: { type: "object"; [key: string]: unknown };
}
type Official = {
  name: string;
  title?: string;
  inputSchema: { type: "object"; [key: string]: unknown };
};

export type Interface = True<Same<Tool, Official>>;
export type Index = True<Same<{ a: 1; [key: string]: unknown }, { a: 1 }>>;
export type Union = True<Same<{ a: 1 } | { b?: 2 }, { b?: 2 } | { a: 1 }>>;

// @ts-expect-error a field that must be there is optional
export type Loose = True<Same<{ name?: string }, { name: string }>>;
// @ts-expect-error an optional field is missing
export type Missing = True<Same<{ name: string }, { name: string; title?: string }>>;
// @ts-expect-error a field that the official type does not have
export type Added = True<Same<Tool & { extra?: 1 }, Official>>;
// @ts-expect-error a field of another type
export type Other = True<Same<{ id: string }, { id: string | number }>>;
// @ts-expect-error a field that may also be undefined
export type Undefined = True<Same<{ title?: string | undefined }, { title?: string }>>;
// @ts-expect-error a member of the union is missing
export type Fewer = True<Same<{ type: "a" }, { type: "a" } | { type: "b" }>>;
