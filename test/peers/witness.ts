// A witness between two peers: it keeps every message that crosses the wire, and
// holds each against the official JSON Schema of 2026-07-28, and all of them
// against the rules that no schema can say: who may say what, when, about what.

import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { PEERS } from "./kit.ts";
import { officialSchemas } from "./spec-types.ts";

export type Side = "client" | "server";
type Fields = { [key: string]: unknown };
export interface Message {
  jsonrpc?: unknown;
  id?: string | number;
  method?: string;
  params?: Fields;
  result?: Fields;
  error?: { code?: number; data?: unknown };
}
export interface Seen {
  from: Side;
  text: string;
  /** The messages of one HTTP request and of its response share it; on stdio all do. */
  channel: number;
}
export interface Fault {
  by: Side;
  what: string;
}

// ---- what was said ---------------------------------------------------------

export interface Witness {
  /** What to start, or where to go, instead of the server itself. */
  command?: string[];
  url?: string;
  /** One list of messages for each run of the server, or one for all that went over HTTP. */
  heard(): Seen[][];
  close(): void;
}

const folders: string[] = [];
process.once("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** Between a client and the server that it starts. */
export function witnessCommand(command: readonly string[]): Witness & { command: string[] } {
  const folder = mkdtempSync(join(tmpdir(), "mcp-raw-witness-"));
  folders.push(folder);
  return {
    command: [process.execPath, `${PEERS}/fixtures/relay.mjs`, folder, ...command],
    heard: () =>
      readdirSync(folder)
        .sort()
        .map((name) =>
          readFileSync(join(folder, name), "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => {
              const at = line.indexOf(" ");
              return { from: line.slice(0, at) as Side, text: line.slice(at + 1), channel: 0 };
            }),
        ),
    close() {},
  };
}

/** Between a client and a server over HTTP. */
export async function witnessUrl(url: string): Promise<Witness & { url: string }> {
  const seen: Seen[] = [];
  let channels = 0;
  const server = createServer((incoming, outgoing) => {
    const channel = (channels += 1);
    forward(url, incoming, outgoing, (from, text) => seen.push({ from, text, channel }));
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    heard: () => [[...seen]],
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function forward(
  url: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  note: (from: Side, text: string) => void,
): void {
  const { method = "GET", headers, url: path = "/mcp" } = incoming;
  const to = path === "/mcp" ? new URL(url) : new URL(path, url); // HTTP+SSE names a second path
  const onward = send(to, { method, headers: { ...headers, host: to.host } });
  let body = "";
  incoming.setEncoding("utf8").on("data", (chunk: string) => {
    body += chunk;
    onward.write(chunk);
  });
  incoming.on("end", () => {
    if (body !== "") note("client", body);
    onward.end();
  });
  outgoing.on("close", () => onward.destroy());
  onward.on("error", () => outgoing.destroy());
  onward.on("response", (response) => {
    outgoing.writeHead(response.statusCode ?? 502, response.headers);
    outgoing.flushHeaders();
    let rest = "";
    const stream = /event-stream/.test(response.headers["content-type"] ?? "");
    response.setEncoding("utf8").on("data", (chunk: string) => {
      rest += chunk;
      if (stream) {
        const events = rest.replaceAll("\r\n", "\n").split("\n\n");
        rest = events.pop() ?? "";
        for (const data of events.map(dataOf).filter((text) => text !== "")) note("server", data);
      }
      outgoing.write(chunk);
    });
    response.on("end", () => {
      const receipt = response.statusCode === 202 && path !== "/mcp"; // of HTTP+SSE, too
      if (!stream && rest !== "" && !receipt) note("server", rest);
      outgoing.end();
    });
    response.on("error", () => outgoing.destroy());
  });
}
const dataOf = (event: string): string =>
  (/^event: ?endpoint$/m.test(event) ? "" : event) // of HTTP+SSE, and no message
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).replace(/^ /, ""))
    .join("\n");

// ---- against the schema ----------------------------------------------------

const definitions = officialSchemas()["2026-07-28"];
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
ajv.addSchema({ $id: "mcp", $defs: definitions });
const checks = new Map<string, ValidateFunction>();

/** What a definition of the schema has against a value. */
export function against(name: string, value: unknown): string[] {
  const check = checks.get(name) ?? ajv.compile({ $ref: `mcp#/$defs/${name}` });
  checks.set(name, check);
  if (check(value)) return [];
  return (check.errors ?? []).map(
    ({ instancePath, message }) => `${name}${instancePath}: ${message}`,
  );
}
/** The definition whose `method` is that; there is one of each. */
const definitionOf = new Map(
  Object.entries(definitions).flatMap(([name, { properties }]) => {
    const method = properties?.method?.const;
    return typeof method === "string" && name !== "ClientNotification" ? [[method, name]] : [];
  }),
);
const ERRORS: Record<number, string> = {
  [-32020]: "HeaderMismatchError",
  [-32021]: "MissingRequiredClientCapabilityError",
  [-32022]: "UnsupportedProtocolVersionError",
};
const INPUT = ["tools/call", "prompts/get", "resources/read"];
const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

function shapeFaults(message: Message, asked: Message | undefined): string[] {
  const { method, error, result } = message;
  if (method !== undefined) {
    const name = definitionOf.get(method);
    return name === undefined ? [`the method ${method} is not there`] : against(name, message);
  }
  if (error !== undefined) {
    const special = ERRORS[error.code ?? 0];
    return [
      ...against("JSONRPCErrorResponse", message),
      ...(special === undefined ? [] : against(special, message)),
    ];
  }
  const name = definitionOf.get(asked?.method ?? "")?.replace("Request", "Result") ?? "Result";
  if (result?.resultType === "input_required") return against("InputRequiredResult", result);
  return [...against("JSONRPCResultResponse", message), ...against(name, result)];
}

// ---- against the rules between messages ------------------------------------

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const metaOf = ({ params }: Message): Fields => fieldsOf(params?._meta);
const NS = "io.modelcontextprotocol/";

interface Call {
  channel: number;
  message: Message;
  progress: number;
  honoured?: Fields;
}
interface Round {
  message: Message;
  result: Fields;
}
/** All that both sides did wrong. */
export function faultsOf(seen: readonly Seen[]): Fault[] {
  const faults: Fault[] = [];
  const open: Call[] = [];
  const rounds: Round[] = [];
  const ids = new Set<string>();
  for (const { from, text, channel } of seen) {
    const blame = (...what: (string | undefined)[]): void => {
      for (const one of what.filter((fault) => fault !== undefined))
        faults.push({ by: from, what: `${one} in ${text}` });
    };
    let message: Message;
    try {
      message = JSON.parse(text) as Message;
    } catch {
      blame("no JSON");
      continue;
    }
    const own = open.filter((call) => call.channel === channel);
    const at = open.findIndex((call) => call.channel === channel && call.message.id === message.id);
    const call = message.method === undefined ? open[at] : undefined;
    blame(...shapeFaults(message, call?.message));
    if (from === "client") {
      if (message.id === undefined) blame(clientNotification(message, open));
      else {
        const id = JSON.stringify(message.id);
        if (ids.has(id)) blame("an id is used again");
        ids.add(id);
        blame(...retryFaults(message, rounds));
        open.push({ channel, message, progress: -Infinity });
      }
    } else if (message.method !== undefined) blame(...serverNotification(message, own));
    else if (call === undefined) blame("it answers nothing that was asked");
    else {
      open.splice(at, 1);
      blame(...answerFaults(message, call));
      if (message.result?.resultType === "input_required")
        rounds.push({ message: call.message, result: message.result });
    }
  }
  return faults;
}

// On HTTP a client may close a stream and say so too; what it names must be its own.
function clientNotification(
  { method, params }: Message,
  open: readonly Call[],
): string | undefined {
  if (method !== "notifications/cancelled") return `a client does not send ${method}`;
  const known = open.some(({ message }) => message.id === params?.requestId);
  return known ? undefined : "it cancels what is not under way";
}

function retryFaults(message: Message, rounds: Round[]): (string | undefined)[] {
  const { requestState, inputResponses } = message.params ?? {};
  if (requestState === undefined && inputResponses === undefined) return [];
  const key = ({ method, params }: Message) =>
    JSON.stringify([method, params?.name, params?.uri, params?.arguments]);
  const at = rounds.findLastIndex((round) => key(round.message) === key(message));
  const [round] = at < 0 ? [] : rounds.splice(at, 1);
  if (round === undefined) return ["it answers questions that nobody asked"];
  const asked = fieldsOf(round.result.inputRequests);
  const given = fieldsOf(inputResponses);
  return [
    requestState === round.result.requestState
      ? undefined
      : "requestState is not given back as it was",
    ...Object.keys(given).map((one) => (one in asked ? undefined : `nobody asked ${one}`)),
    ...Object.keys(asked).map((one) => (one in given ? undefined : `${one} has no answer`)),
    ...Object.entries(given).map(([one, answer]) =>
      answerFault(fieldsOf(asked[one]), fieldsOf(answer)),
    ),
  ];
}
function answerFault({ method, params }: Fields, answer: Fields): string | undefined {
  const shapes: Record<string, string> = {
    "elicitation/create": "ElicitResult",
    "sampling/createMessage": "CreateMessageResult",
    "roots/list": "ListRootsResult",
  };
  const [wrong] = against(shapes[String(method)] ?? "Result", answer);
  const schema = fieldsOf(params).requestedSchema;
  if (wrong !== undefined || !isFields(schema) || answer.action !== "accept") return wrong;
  const check = ajv.compile(schema);
  return check(answer.content) ? undefined : `the form wants ${ajv.errorsText(check.errors)}`;
}

function serverNotification(message: Message, own: Call[]): (string | undefined)[] {
  const { method = "", params = {} } = message;
  if (message.id !== undefined) return ["a server does not send requests"];
  const subscription = metaOf(message)[`${NS}subscriptionId`];
  if (method === "notifications/progress") return [progressFault(params, own), notOn(subscription)];
  if (method === "notifications/message") return [levelFault(params, own), notOn(subscription)];
  if (method === "notifications/cancelled") return [];
  const call = own.find((one) => one.message.id === subscription);
  if (call?.message.method !== "subscriptions/listen") return ["it belongs to no subscription"];
  if (method === "notifications/subscriptions/acknowledged") return [honourFault(call, params)];
  if (call.honoured === undefined) return ["it comes before the acknowledgment"];
  const kind = /^notifications\/(tools|prompts|resources)\/list_changed$/.exec(method)?.[1];
  if (kind !== undefined)
    return [call.honoured[`${kind}ListChanged`] === true ? undefined : "it was not subscribed to"];
  const uris = [call.honoured.resourceSubscriptions ?? []].flat().map(String);
  const under = (uri: string) => String(params.uri).startsWith(uri.endsWith("/") ? uri : `${uri}/`);
  const heard = uris.some((uri) => uri === params.uri || under(uri));
  return [heard ? undefined : "that resource was not subscribed to"];
}
const notOn = (subscription: unknown): string | undefined =>
  subscription === undefined ? undefined : "it is not for a subscription";
function progressFault(params: Fields, own: Call[]): string | undefined {
  const call = own.find(({ message }) => metaOf(message).progressToken === params.progressToken);
  if (call === undefined) return "the token is of no call under way";
  if (Number(params.progress) <= call.progress)
    return `progress does not grow from ${call.progress}`;
  call.progress = Number(params.progress);
  return undefined;
}
function levelFault({ level }: Fields, own: Call[]): string | undefined {
  const wanted = own.map(({ message }) => LEVELS.indexOf(String(metaOf(message)[`${NS}logLevel`])));
  const heard = wanted.some((least) => least >= 0 && LEVELS.indexOf(String(level)) >= least);
  return heard ? undefined : "nobody asked for log messages of that level";
}
function honourFault(call: Call, params: Fields): string | undefined {
  if (call.honoured !== undefined) return "it is acknowledged twice";
  call.honoured = fieldsOf(params.notifications);
  const wanted = fieldsOf(call.message.params?.notifications);
  for (const [kind, given] of Object.entries(call.honoured)) {
    if (
      Array.isArray(given)
        ? !given.every((uri) => [wanted[kind]].flat().includes(uri))
        : given === true && wanted[kind] !== true
    )
      return `${kind} was not asked for`;
  }
  return undefined;
}

function answerFaults(
  { result, error }: Message,
  { message, honoured }: Call,
): (string | undefined)[] {
  const meta = fieldsOf(result?._meta);
  const listens = message.method === "subscriptions/listen";
  if (result === undefined) return [error === undefined ? "no result and no error" : undefined];
  if (listens && honoured === undefined) return ["it ends before the acknowledgment"];
  if (listens && meta[`${NS}subscriptionId`] !== message.id)
    return ["the result does not name its subscription"];
  if (result.resultType === "complete") return [];
  if (result.resultType !== "input_required") return [`resultType ${result.resultType}`];
  if (!INPUT.includes(message.method ?? "")) return [`${message.method} cannot ask for input`];
  if (result.inputRequests === undefined && result.requestState === undefined)
    return ["it asks nothing and keeps nothing"];
  if ("ttlMs" in result) return ["a question is not kept"];
  const can = fieldsOf(metaOf(message)[`${NS}clientCapabilities`]);
  return Object.values(fieldsOf(result.inputRequests)).map((asked) =>
    needFault(fieldsOf(asked), can),
  );
}
function needFault({ method, params }: Fields, can: Fields): string | undefined {
  const { elicitation, sampling, roots } = can;
  const modes = fieldsOf(elicitation);
  const mode = fieldsOf(params).mode ?? "form";
  const form = "form" in modes || Object.keys(modes).length === 0;
  const has =
    method === "roots/list"
      ? isFields(roots)
      : method === "sampling/createMessage"
        ? isFields(sampling)
        : isFields(elicitation) && (mode === "url" ? "url" in modes : form);
  return has ? undefined : `the client did not declare what ${method} needs`;
}
