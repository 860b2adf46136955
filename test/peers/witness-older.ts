// The witness for the revisions with a handshake: it holds each message of a session
// against the official JSON Schema of the revision that the session agreed on, with
// every object closed, and all of them against the rules that no schema can say.

import { against, definitionOf, type Revision } from "./revisions.ts";
import type { Fault, Message, Seen, Side } from "./witness.ts";

type Fields = { [key: string]: unknown };
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
/** Requests that are answered with nothing. */
const EMPTY = ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];
const RESULTS: Record<string, string> = {
  initialize: "InitializeResult",
  "tools/list": "ListToolsResult",
  "tools/call": "CallToolResult",
  "resources/list": "ListResourcesResult",
  "resources/templates/list": "ListResourceTemplatesResult",
  "resources/read": "ReadResourceResult",
  "prompts/list": "ListPromptsResult",
  "prompts/get": "GetPromptResult",
  "completion/complete": "CompleteResult",
  "sampling/createMessage": "CreateMessageResult",
  "roots/list": "ListRootsResult",
  "elicitation/create": "ElicitResult",
};

interface Call {
  message: Message;
  progress: number;
}
interface Session {
  /** What is agreed on; before that, what the client proposes. */
  revision: Revision;
  state: "new" | "opening" | "agreed" | "open";
  client: Fields;
  server: Fields;
  /** Calls under way, by who made them and their id. */
  calls: Record<Side, Map<string, Call>>;
  probe?: Message["id"] | undefined;
  ids: Record<Side, Set<string>>;
  level: number;
  uris: Set<unknown>;
  pages: Set<unknown>;
}

/** All that both sides did wrong in one session. */
export function sessionFaults(seen: readonly Seen[]): Fault[] {
  const faults: Fault[] = [];
  const session: Session = {
    revision: "2025-11-25",
    state: "new",
    client: {},
    server: {},
    calls: { client: new Map(), server: new Map() },
    ids: { client: new Set(), server: new Set() },
    level: -1, // until one is set, the server chooses
    uris: new Set(),
    pages: new Set(),
  };
  for (const { from, text } of seen) {
    let value: unknown;
    const blame = (what: string): void =>
      void faults.push({ by: from, what: `${what} (${session.revision}) in ${text}` });
    try {
      value = JSON.parse(text);
    } catch {
      blame("no JSON");
      continue;
    }
    if (Array.isArray(value) && session.revision !== "2025-03-26") blame("a batch");
    for (const message of [value].flat() as Message[]) {
      for (const what of faultsIn(session, from, message)) blame(what);
    }
  }
  return faults;
}

function faultsIn(session: Session, from: Side, message: Message): string[] {
  if (typeof message !== "object" || message === null) return ["no message"];
  if (session.state === "new") {
    // A client of this era may ask for the revisions first; whatever comes back opens nothing.
    const asks = from === "client" && message.method === "server/discover";
    if (asks) session.probe = message.id;
    if (asks) return against("2026-07-28", "DiscoverRequest", message);
    const refuses = from === "server" && (message.id ?? session.probe) === session.probe;
    if (session.probe !== undefined && refuses) return [];
  }
  if (message.method === undefined) return answerFaults(session, from, message);
  if (message.id === undefined) return notificationFaults(session, from, message);
  return requestFaults(session, from, message);
}

function requestFaults(session: Session, from: Side, message: Message): string[] {
  const { method = "", id, params = {} } = message;
  const { ids, calls } = session;
  const key = JSON.stringify(id);
  const again = ids[from].has(key) ? ["an id is used again"] : [];
  ids[from].add(key);
  calls[from].set(key, { message, progress: -Infinity });
  if (method === "initialize" && from === "client") {
    if (session.state !== "new") return ["a second initialize"];
    session.state = "opening";
    session.client = fieldsOf(params.capabilities);
    session.revision = params.protocolVersion as Revision;
  }
  const name = definitionOf(session.revision, from, "Request", method);
  if (name === undefined) return [`a ${from} cannot ask for ${method}`];
  return [
    ...again,
    ...against(session.revision, "JSONRPCRequest", message, "open"),
    ...against(session.revision, name, message),
    ...orderFaults(session, from, method),
    ...(from === "server" ? needFaults(session, method, params) : []),
  ];
}
function orderFaults({ state }: Session, from: Side, method: string): string[] {
  if (method === "ping" || method === "initialize" || state === "open") return [];
  if (from === "server") return [`${method} before notifications/initialized`];
  return state === "agreed"
    ? [`${method} before it says that it is initialized`]
    : [`${method} before the handshake`];
}
function needFaults(session: Session, method: string, params: Fields): string[] {
  const { elicitation, sampling, roots } = session.client;
  const lacks = (what: string): string[] => [`the client did not declare ${what}`];
  if (method === "roots/list") return isFields(roots) ? [] : lacks("roots");
  if (method === "sampling/createMessage") {
    if (!isFields(sampling)) return lacks("sampling");
    return "tools" in params && !("tools" in sampling) ? lacks("sampling.tools") : [];
  }
  if (method !== "elicitation/create") return [];
  if (!isFields(elicitation)) return lacks("elicitation");
  if (params.mode !== "url") {
    return Object.keys(elicitation).length === 0 || "form" in elicitation ? [] : lacks("forms");
  }
  session.pages.add(params.elicitationId);
  return "url" in elicitation ? [] : lacks("URLs");
}

function answerFaults(session: Session, from: Side, message: Message): string[] {
  const { id, result, error } = message;
  const { revision, calls } = session;
  const key = JSON.stringify(id);
  const asked = calls[from === "client" ? "server" : "client"];
  const call = asked.get(key);
  if (error !== undefined) {
    const name = revision < "2025-11-25" ? "JSONRPCError" : "JSONRPCErrorResponse";
    const unread = id === undefined || call !== undefined;
    asked.delete(key);
    const { code = 0 } = error;
    const modern = code === -32020 || code === -32022 ? [`the code ${code} is of no session`] : [];
    const shape = against(revision, name, message);
    return [...(unread ? [] : ["it answers nothing that was asked"]), ...shape, ...modern];
  }
  if (call === undefined) return ["it answers nothing that was asked"];
  asked.delete(key);
  const { method = "", params = {} } = call.message;
  if (method === "initialize") {
    session.revision = (result?.protocolVersion ?? "") as Revision;
    session.state = "agreed";
    session.server = fieldsOf(result?.capabilities);
  }
  if (method === "logging/setLevel") session.level = LEVELS.indexOf(String(params.level));
  if (method === "resources/subscribe") session.uris.add(params.uri);
  const envelope = session.revision < "2025-11-25" ? "JSONRPCResponse" : "JSONRPCResultResponse";
  const shape = against(session.revision, envelope, message);
  if (EMPTY.includes(method)) {
    const more = Object.keys(fieldsOf(result)).filter((one) => one !== "_meta");
    return [...shape, ...more.map((one) => `${method} is answered with ${one}`)];
  }
  const name = RESULTS[method];
  return name === undefined ? shape : [...shape, ...against(session.revision, name, result)];
}

function notificationFaults(session: Session, from: Side, message: Message): string[] {
  const { method = "", params = {} } = message;
  const { revision, calls } = session;
  const name = definitionOf(revision, from, "Notification", method);
  if (name === undefined) return [`a ${from} does not send ${method}`];
  const shape = against(revision, name, message);
  if (method === "notifications/initialized") {
    const early = session.state !== "agreed";
    session.state = "open";
    return early ? ["it is initialized at the wrong time"] : shape;
  }
  if (method === "notifications/cancelled") {
    const key = JSON.stringify(params.requestId);
    const call = calls[from].get(key);
    calls[from].delete(key);
    if (call?.message.method === "initialize") return ["initialize cannot be cancelled"];
    return session.ids[from].has(key) ? shape : ["it cancels what was never asked"];
  }
  if (method === "notifications/progress")
    return [...shape, ...progressFaults(session, from, params)];
  if (from === "client") return shape;
  return [...shape, ...tellFaults(session, method, params)];
}
function progressFaults({ calls }: Session, from: Side, params: Fields): string[] {
  const asked = [...calls[from === "client" ? "server" : "client"].values()];
  const call = asked.find(
    ({ message }) => fieldsOf(message.params?._meta).progressToken === params.progressToken,
  );
  if (call === undefined) return ["the token is of no call under way"];
  const fault = Number(params.progress) <= call.progress ? ["progress does not grow"] : [];
  call.progress = Number(params.progress);
  return fault;
}
function tellFaults(session: Session, method: string, params: Fields): string[] {
  if (method === "notifications/message") {
    const heard = LEVELS.indexOf(String(params.level)) >= session.level;
    return heard ? [] : ["nobody asked for log messages of that level"];
  }
  if (session.state !== "open") return [`${method} before notifications/initialized`];
  if (method === "notifications/elicitation/complete") {
    return session.pages.has(params.elicitationId) ? [] : ["no such page was asked for"];
  }
  if (method === "notifications/resources/updated") {
    const uri = String(params.uri);
    const heard = [...session.uris].some((one) => uri === one || uri.startsWith(`${one}`));
    return heard ? [] : ["that resource was not subscribed to"];
  }
  const kind = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1] ?? "";
  const told = fieldsOf(session.server[kind]).listChanged === true;
  return told ? [] : [`the server did not declare ${kind}.listChanged`];
}
