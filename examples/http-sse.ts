// You will learn: a transport of another shape, both ends: HTTP+SSE, which MCP had in 2024-11-05.
// A GET opens a stream of events. The first says where to POST messages; all that the server has
// to say, answers too, comes on the stream. Old programs still speak it; do not begin with it.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { connect, connectEither, endpoint, eventStream, extendLane, nodeListener, readEvents,
  readPost, refuse, server, serveEither, STREAM_HEADERS, text, TransportError, type
  ChannelEnd, type Exchange, type HandshakeOptions, type HttpHandler, type HttpOptions }
  from "../mcp-raw.ts";

/** The server's end, for one path of a node:http server. */
export function serveSse(exchange: Exchange, path: string, options: HttpOptions = {}):
  (request: IncomingMessage, response: ServerResponse) => void {
  const sessions = new Map<string, { end: ChannelEnd; owner: string | undefined }>();
  const GET: HttpHandler = async ({ onClose, principal }) => {
    const id = crypto.randomUUID();
    const events = eventStream(options);
    const close = () => {
      events.end();
      sessions.delete(id);
      end.close(new TransportError("disconnected", "the client has gone"));
    };
    const asked: Exchange = principal === undefined ? exchange
      : (request, lane) => exchange(request, extendLane(lane, { principal })); // as a guard found
    const end = serveEither(asked, (text) => {
      try {
        return events.send({ event: "message", data: text });
      } catch {
        close(); // it reads too slowly
      }
    });
    sessions.set(id, { end, owner: principal?.id });
    onClose(close);
    void events.send({ event: "endpoint", data: `${path}?session=${id}` });
    return { status: 200, headers: STREAM_HEADERS, stream: (sink) => events.attach(sink) };
  };
  const post = (id: string): HttpHandler => async (http) => {
    const { end, owner } = sessions.get(id) ?? {};
    const ours = end !== undefined && owner === http.principal?.id;
    if (!ours) return refuse(404, "no such session: GET opens one");
    const read = await readPost(http, options);
    if (!("value" in read)) return read;
    void end.receive(JSON.stringify(read.value));
    return { status: 202, headers: {} };
  };
  return (request, response) => {
    const id = new URL(request.url ?? "", "http://here").searchParams.get("session") ?? "";
    const POST = post(id);
    nodeListener(endpoint({ GET, POST }, options))(request, response); // it looks at Origin first
  };
}

/** The client's end. */
export async function connectSse(url: string, options: HandshakeOptions = {}):
  Promise<{ exchange: Exchange; close(): void }> {
  const closing = new AbortController();
  const { signal } = closing;
  const { body, status } = await fetch(url, { headers: { Accept: "text/event-stream" }, signal });
  if (status !== 200 || body === null) throw new TransportError("http", `HTTP ${status}`);
  let arrive = (_: URL) => {};
  const target = new Promise<URL>((resolve) => (arrive = resolve));
  const fail = (cause: unknown) =>
    end.close(new TransportError("closed", `The stream is over: ${cause}`, { cause }));
  const end = connectEither(async (message) => {
    const init = { method: "POST", headers: { "Content-Type": "application/json" } };
    await fetch(await target, { ...init, body: message, signal, redirect: "error" })
      .then((reply) => reply.ok ? reply.body?.cancel() : fail(`HTTP ${reply.status}`), fail);
  }, { era: "legacy", ...options });
  const read = async () => {
    for await (const { event = "message", data } of readEvents(body)) {
      if (event === "message") await end.receive(data);
      if (event !== "endpoint") continue;
      const there = new URL(data, url);
      if (there.origin !== new URL(url).origin) throw new Error(`${there.origin} is elsewhere`);
      arrive(there); // a stranger is not told what this server is told
    }
  };
  void read().then(() => fail("the server ended it"), fail);
  return { exchange: end.exchange, close: () => closing.abort() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { exchange } = server({ name: "old", version: "1.0.0", tools: [{ name: "greet",
    async handler(_, { ask }) {
      const { roots } = await ask("roots", { method: "roots/list" }); // goes down the stream, too
      return text(`Hello, you who work in ${roots[0]?.uri}`);
    } }] });
  const http = createServer(serveSse(exchange, "/sse", { loopbackOnly: true }));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const sse = await connectSse(`http://127.0.0.1:${port}/sse`,
    { answers: { roots: [{ uri: "file:///home" }] } });
  const { call } = connect(sse.exchange, { capabilities: { roots: {} } });
  console.log((await call("tools/call", { name: "greet" })).content);
  // prints: [ { type: 'text', text: 'Hello, you who work in file:///home' } ]
  sse.close();
  http.close();
}
