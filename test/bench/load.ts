// The loader. Requests are bytes before they are needed, and answers stay bytes: the first is
// parsed and its text compared, every other must be the same but for its id, and that must be the
// id of a request that waits.
import { connect } from "node:net";
import { cpus } from "node:os";
import { ask, check, HEADERS, toolCall } from "./check.ts";
import { cpuSeconds, start, stop, type Server, type Side } from "./server.ts";

export interface Work {
  inFlight: number; // requests on stdio, connections over HTTP
  seconds: number;  // after one of warm-up
  tool: string;
  args: string;
  text: string;     // what the answer must say
}

export interface Load {
  speed: number;    // calls a second; cold start: milliseconds
  cpu: number;      // µs of server CPU a call
  server: number;   // CPU of the server, as a share of one core
  loader: number;   // the same of this process
  others: number;   // and of all others, with what the host took
  calls: number;
  from: number;     // the timed window, µs of the monotonic clock
  to: number;
}

const FIRST = 1_000_000; // ids have seven digits, so that all requests have one length
const DIGITS = 7;

/** A block of requests, made afresh when it is used up: a burst is a slice of it. */
function requests(format: (id: string) => string) {
  const template = Buffer.from(format(`${FIRST}`));
  const size = template.length;
  const idAt = template.indexOf(`${FIRST}`);
  const count = Math.floor(2 ** 23 / size);
  let block = Buffer.alloc(0);
  let used = count;
  let next = FIRST;
  return {
    sent: () => next - FIRST,
    take(n: number): Buffer {
      if (used + n > count) {
        block = Buffer.alloc(count * size, template);
        for (let i = 0; i < count; i++) block.write(`${next + i}`, i * size + idAt, "latin1");
        used = 0;
      }
      used += n;
      next += n;
      return block.subarray((used - n) * size, used * size);
    },
  };
}

/** Accounts for answers one by one; throws at the first that is not as it must be. */
function ledger(work: Work, echo: boolean, sent: () => number) {
  const seen = new Uint8Array(9_000_000);
  let first: Buffer | undefined;
  let idAt = 0;
  return (bytes: Buffer, start: number, end: number): void => {
    if (!first) {
      first = Buffer.from(bytes.subarray(start, end)); // a copy
      const text = first.toString();
      idAt = text.indexOf('"id":') + 5;
      const json = text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1);
      const right = JSON.parse(json).result?.content?.[0]?.text === work.text;
      if (!right && !echo) throw new Error(`a wrong answer: ${json.slice(0, 300)}`);
    }
    let id = 0;
    for (let i = idAt; i < idAt + DIGITS; i++) {
      const byte = bytes[start + i] ?? 0;
      first[i] = byte;
      id = id * 10 + byte - 48;
    }
    id -= FIRST;
    if (first.compare(bytes, start, end) !== 0 || !(id >= 0 && id < sent()) || seen[id]) {
      throw new Error(`an unexpected answer: ${bytes.toString("utf8", start, start + 300)}`);
    }
    seen[id] = 1;
  };
}

/** Reads the clock and the CPU of both processes when warm-up ends and when time is up. */
function meter(pid: number, seconds: number) {
  const mark = () => {
    const { user, system } = process.cpuUsage();
    const at = Number(process.hrtime.bigint() / 1000n);
    const idle = cpus().reduce((sum, { times }) => sum + times.idle * 1000, 0);
    return { at, calls, idle, server: cpuSeconds(pid) * 1e6, loader: user + system };
  };
  const marks: ReturnType<typeof mark>[] = [];
  const started = performance.now();
  let calls = 0;
  return {
    calls: () => calls,
    /** Whether to go on. */
    answered(n: number): boolean {
      calls += n;
      const elapsed = (performance.now() - started) / 1000;
      if (marks.length < 2 && elapsed > 1 + seconds * marks.length) marks.push(mark());
      return marks.length < 2;
    },
    result(): Load {
      const [begin, end] = marks;
      if (!begin || !end) throw new Error("the clock did not run");
      const wall = end.at - begin.at;
      const n = end.calls - begin.calls;
      const server = (end.server - begin.server) / wall;
      const loader = (end.loader - begin.loader) / wall;
      const others = cpus().length - (end.idle - begin.idle) / wall - server - loader;
      return { speed: (n / wall) * 1e6, cpu: (server * wall) / n, server, loader, others,
        calls: n, from: begin.at, to: end.at };
    },
  };
}

/**
 * As many requests go out as answers came in, before these are looked at (all have one length, so
 * their bytes tell how many they are), a quarter of those in flight at a time. Otherwise a server
 * that writes once a burst and the loader would wait for each other by turns.
 */
async function loadStdio(side: Side, server: Server, work: Work): Promise<Load> {
  const { stdin, stdout } = server.child;
  if (!stdin || !stdout) throw new Error("no pipes");
  const { bytes } = await ask(server, toolCall("9999999", work.tool, work.args));
  const source = requests((id) => toolCall(id, work.tool, work.args) + "\n");
  const account = ledger(work, !!side.echo, source.sent);
  const clock = meter(server.pid, work.seconds);
  return new Promise((resolve, reject) => {
    let owed = 0;
    const send = (): void => {
      const n = Math.min(owed, Math.ceil(work.inFlight / 4));
      stdin.write(source.take(n));
      owed -= n;
      if (owed) setImmediate(send);
    };
    let received = 0;
    let head: Buffer[] = []; // the pieces of an answer that has not ended yet
    const read = (chunk: Buffer): void => {
      received += chunk.length;
      const n = Math.floor(received / bytes) - clock.calls();
      const idle = owed === 0;
      if (n && clock.answered(n)) owed += n;
      if (idle && owed) send();
      let start = 0;
      for (let end; (end = chunk.indexOf(10, start)) >= 0; start = end + 1) {
        const whole = head.length && Buffer.concat([...head, chunk.subarray(0, end)]);
        if (whole) account(whole, 0, whole.length);
        else account(chunk, start, end);
        head = [];
      }
      if (start < chunk.length) head.push(chunk.subarray(start));
      if (!owed && clock.calls() === source.sent()) resolve(clock.result());
    };
    stdout.on("data", (chunk: Buffer) => {
      try { read(chunk); } catch (error) { reject(error); }
    });
    stdin.write(source.take(work.inFlight));
  });
}

/** Every connection has one request in flight and sends the next when the answer is whole. */
function loadHttp(side: Side, server: Server, work: Work): Promise<Load> {
  const headers = { Host: `127.0.0.1:${server.port}`, ...HEADERS };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const source = requests((id) => {
    const body = toolCall(id, work.tool, work.args);
    return `POST /mcp HTTP/1.1\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
  });
  const account = ledger(work, !!side.echo, source.sent);
  const clock = meter(server.pid, work.seconds);
  return new Promise((resolve, reject) => {
    for (let i = 0; i < work.inFlight; i++) {
      const socket = connect({ port: server.port, host: "127.0.0.1", noDelay: true });
      let bytes: Buffer | undefined;
      const read = (chunk: Buffer): void => {
        bytes = bytes ? Buffer.concat([bytes, chunk]) : chunk;
        const body = wholeBody(bytes, !!side.echo);
        if (body < 0) return;
        const answer = bytes;
        bytes = undefined;
        if (clock.answered(1)) socket.write(source.take(1));
        else socket.removeAllListeners("end").end();
        account(answer, body, answer.length);
        if (clock.calls() === source.sent()) resolve(clock.result());
      };
      socket.on("data", (chunk: Buffer) => {
        try { read(chunk); } catch (error) { reject(error); }
      });
      socket.on("error", reject);
      socket.on("end", () => reject(new Error("the server closed a connection")));
      socket.write(source.take(1));
    }
  });
}

/** Where the body of a whole answer starts, or -1 while some of it is missing. */
function wholeBody(bytes: Buffer, echo: boolean): number {
  const start = bytes.indexOf("\r\n\r\n") + 4;
  if (start < 4) return -1;
  const head = bytes.toString("latin1", 0, start);
  if (!echo && head.slice(9, 12) !== "200") throw new Error(`not a success: ${bytes}`);
  const length = /content-length: (\d+)/i.exec(head)?.[1];
  const end = length ? start + Number(length) : bytes.lastIndexOf("0\r\n\r\n") + 5;
  return end === bytes.length ? start : -1;
}

/** Loads a server that is running, and fails rather than hang. */
export async function load(side: Side, server: Server, work: Work): Promise<Load> {
  const run = server.port ? loadHttp(side, server, work) : loadStdio(side, server, work);
  const hung = new Promise<never>((_, reject) => {
    const late = () => reject(new Error(`${side.name} left requests unanswered`));
    setTimeout(late, 10_000 + work.seconds * 3000).unref();
  });
  return Promise.race([run, server.failed, hung]);
}

/** From spawn to the first answer: the request waits in the pipe. */
export async function coldStart(side: Side): Promise<Load> {
  const from = performance.now();
  const server = await start(side);
  await ask(server, toolCall("1", "add", '{"a":1,"b":2}'));
  const to = performance.now();
  const cpu = cpuSeconds(server.pid) * 1e6;
  await check(side, server);
  await stop(server, "SIGTERM");
  const share = cpu / (to - from) / 1000;
  return { speed: to - from, cpu, server: share, loader: NaN, others: NaN, calls: 1, from, to };
}
