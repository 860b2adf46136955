// Logging in from a terminal: the address that a browser comes back to, the browser itself, the
// folder of logins, and the command `call` through a whole login, on real sockets.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server as HttpServer } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { demoIssuer, demoServer, fileStore, listen, loopbackVisitor, memoryStore, openBrowser,
  protect, serveBoth, server, type Listening, type Store } from "../mcp-raw.ts";
import { run } from "./kit-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "mcp-raw-signing-"));
after(() => rmSync(folder, { recursive: true, force: true }));

describe("The way back from a browser", () => {
  const page = (state: string) => `https://auth.example.com/authorize?state=${state}`;

  test("AUT-28: is on this machine alone, and takes another port when its own is busy " +
    "(RFC 8252 §7.3)", async () => {
    const busy: HttpServer = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => busy.once("listening", resolve));
    const { port } = busy.address() as { port: number };
    const visitor = await loopbackVisitor(() => {}, { port });
    const { hostname, port: chosen } = new URL(visitor.redirectUri);
    assert.equal(hostname, "127.0.0.1");
    assert.notEqual(chosen, String(port));
    const elsewhere = Object.values(networkInterfaces()).flat()
      .find((one) => one?.family === "IPv4" && !one.internal)?.address;
    if (elsewhere !== undefined) { // nobody can come from outside
      await assert.rejects(fetch(`http://${elsewhere}:${chosen}/callback`));
    }
    visitor.close?.();
    busy.close();
  });

  test("gives the answer to the login that waits for it, and to nobody else's " +
    "(spec basic/authorization/security-considerations#open-redirection)", async () => {
    const visitor = await loopbackVisitor(() => {}, { port: 0 });
    const coming = visitor.visit(page("right"));
    const at = visitor.redirectUri;
    const knocks = [`${at}?code=x&state=wrong`, at, at.replace("/callback", "/?state=right")];
    for (const url of knocks) assert.equal((await fetch(url)).status, 404);
    const response = await fetch(`${at}?code=x&state=right`);
    assert.deepEqual([response.status, await coming], [200, `${at}?code=x&state=right`]);
    assert.doesNotMatch(await response.text(), /right|code=x/); // the page says nothing of it
    assert.equal((await fetch(`${at}?code=x&state=right`)).status, 404); // once
    visitor.close?.();
  });

  test("is waited for only so long (RFC 8252 §8.10)", async () => {
    const visitor = await loopbackVisitor(() => {}, { port: 0, waitMs: 20 });
    await assert.rejects(visitor.visit(page("x")), { name: "AuthorizationError", code: "timeout" });
    visitor.close?.();
  });
});

describe("A browser", () => {
  const write = join(folder, "argv.json");
  const script = `require("node:fs").writeFileSync(${JSON.stringify(write)}, ` +
    "JSON.stringify(process.argv.slice(1)))";

  test("SEC-07: gets the URL as one word, whatever is in it, and no shell sees it " +
    "(RFC 8252 §8.10)", async () => {
    const pwned = join(folder, "pwned");
    const url = `https://a.example/$(touch ${pwned})?x="&touch ${pwned}&"&y=\`touch ${pwned}\`;|`;
    assert.equal(await openBrowser(url, [process.execPath, "-e", script]), true);
    for (let waits = 0; !existsSync(write) && waits < 200; waits++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert.deepEqual(JSON.parse(readFileSync(write, "utf8")), [new URL(url).href]);
    assert.equal(existsSync(pwned), false);
  });

  test("SEC-07: gets no URL but of the web (RFC 8252 §8.10)", async () => {
    for (const url of ["file:///bin/sh", "javascript:alert(1)", "data:text/html,x", "ms-calc:"]) {
      await assert.rejects(openBrowser(url, [process.execPath, "-e", "process.exit(1)"]),
        { name: "AuthorizationError", code: "insecure" });
    }
  });

  test("that is not there is no fault", async () => {
    assert.equal(await openBrowser("https://a.example/", ["no-such-browser"]), false);
  });
});

test("logins lie in files that their owner alone can read, under names that tell nothing, and one " +
  "that is written is never half there (spec basic/authorization/security-considerations#token-theft)",
async () => {
  const store = fileStore(join(folder, "logins"));
  assert.equal(await store.load("tokens a b"), undefined);
  await Promise.all(["a", "b", "c"].map((key) => store.save(`tokens ${key}`, { secret: key })));
  await store.save("tokens b", undefined);
  assert.deepEqual([await store.load("tokens a"), await store.load("tokens b")],
    [{ secret: "a" }, undefined]);
  const files = readdirSync(join(folder, "logins"));
  assert.equal(files.length, 2);
  assert.ok(files.every((name) => /^[\w-]{43}\.json$/.test(name)));
  if (process.platform !== "win32") {
    const modes = ["", ...files].map((name) =>
      (statSync(join(folder, "logins", name)).mode & 0o777).toString(8));
    assert.deepEqual(modes, ["700", "600", "600"]);
  }
});

describe("call", () => {
  let [authority, protectedAt]: Listening[] = [];
  let issuer = demoIssuer(() => "");
  let at = "";
  before(async () => {
    issuer = demoIssuer(() => new URL(authority?.url ?? "").origin);
    authority = await listen(async () => ({ status: 404, headers: {} }), 0,
      { path: "/", routes: issuer.routes });
    const port = await new Promise<number>((resolve) => {
      const probe = createServer().listen(0, "127.0.0.1", () => {
        const { port } = probe.address() as { port: number };
        probe.close(() => resolve(port));
      });
    });
    at = `http://127.0.0.1:${port}/mcp`;
    const guard = protect({ resource: at, verify: issuer.verify, scopes: ["read"],
      authorizationServers: [new URL(authority.url).origin] });
    const { exchange, mirrors, notifications } = demoServer();
    protectedAt = await listen(serveBoth(exchange, { guard, mirrors, notifications }), port,
      { routes: guard.routes ?? {} });
  });
  after(() => Promise.all([authority?.close(), protectedAt?.close()]));
  /** A browser that follows. */
  const browse = async (url: string) => (await fetch(url)).ok;
  const ADD = ["call", "add", "a=2", "b=40"];

  test("logs in when the server asks for it, in the browser if the user agrees, and once " +
    "(spec basic/authorization#authorization-flow-steps)", async () => {
    const store = memoryStore();
    const first = await run([...ADD, at], { typed: ["y"], browse, logins: () => store });
    assert.deepEqual([first.code, first.stdout], [0, "42\n"]);
    assert.match(first.stderr, new RegExp(`^${at} asks you to log in\\. Open this page:\n` +
      `  http://127\\.0\\.0\\.1:\\d+/authorize\\?response_type=code&[^\n]*\n  The host is 127`));
    const second = await run([...ADD, at], { logins: () => store });
    assert.deepEqual(second, { code: 0, stdout: "42\n", stderr: "" });
    issuer.expire();
    const third = await run([...ADD, at], { logins: () => store });
    assert.deepEqual(third, { code: 0, stdout: "42\n", stderr: "" }); // refreshed
  });

  test("opens nothing unasked: without a terminal it shows the page and waits " +
    "(spec client/elicitation#safe-url-handling)", async () => {
    let opened = 0;
    let shown = "";
    const visited = run([...ADD, at], { browse: async () => (opened++, true), stderr(part) {
      shown += part;
      const page = /^ {2}(http\S+authorize\S+)$/m.exec(shown)?.[1];
      if (page === undefined) return;
      shown = "";
      void browse(page);
    } });
    assert.deepEqual([(await visited).stdout, opened], ["42\n", 0]);
  });

  test("waits longer for a person than for a server " +
    "(spec basic/patterns/cancellation#timeouts)", async () => {
    const slow = async (url: string) => {
      await new Promise((resolve) => setTimeout(resolve, 150));
      return browse(url);
    };
    const { code, stdout } = await run([...ADD, "--timeout", "100", at],
      { typed: ["y"], browse: slow });
    assert.deepEqual([code, stdout], [0, "42\n"]);
  });

  test("shows no secret on the wire, unless it is told to " +
    "(spec basic/authorization/security-considerations#token-theft)", async () => {
    const kept = new Map<string, unknown>();
    const store: Store = memoryStore(kept);
    const world = { typed: ["y"], browse, logins: () => store };
    const { stderr } = await run([...ADD, "--wire", at], world);
    const [{ tokens }] = [...kept.values()].filter((one) => Object(one).tokens) as [
      { tokens: { access_token: string; refresh_token: string } }];
    assert.ok(stderr.includes("..masked..") && stderr.includes("grant_type=authorization_code"));
    for (const secret of [tokens.access_token, tokens.refresh_token]) {
      assert.ok(!stderr.includes(secret));
    }
    assert.doesNotMatch(stderr, /code_verifier=[^.]|[&?]code=[^.]/);
    const open = await run([...ADD, "--wire", "--no-redact", at], world);
    assert.ok(open.stderr.includes(tokens.access_token));
  });

  test("says what is wrong when nobody can log in, exit 3 " +
    "(spec basic/authorization#error-handling)", async () => {
    const { code, stderr } = await run([...ADD, "--client-id", "x", at],
      { typed: ["n"], browse, logins: () => ({ load: () => undefined, save() {
        throw new Error("the disk is full");
      } }) });
    assert.equal(code, 3);
    assert.match(stderr, /: The login cannot be kept: the disk is full\./);
    const usage = await run([...ADD, "--client-secret", "x", at]);
    assert.deepEqual([usage.code, usage.stderr],
      [1, "mcp-raw: --client-secret goes with --client-id. --help shows how.\n"]);
  });
});

test("serve --module serves what the guard of a module says, keeps its origins, and does not say " +
  "that anybody may call (RFC 9728 §3.1)", async () => {
  const guard = protect({ resource: "http://127.0.0.1:1/mcp", verify: async () => undefined,
    authorizationServers: ["http://127.0.0.1:2"] });
  const app = server({ name: "guarded", version: "1", http: { guard,
    allowOrigins: ["https://page.example"] } });
  let interrupt = (_: "SIGINT") => {};
  let statuses: unknown[] = [];
  const { stderr } = await run(["serve", "--http", "0", "--host", "0.0.0.0", "--module", "m.ts"], {
    load: async () => ({ default: app }), onSignal: (listener) => { interrupt = listener; },
    stderr(part) {
      const url = /serving (\S+) until/.exec(part)?.[1]?.replace("0.0.0.0", "127.0.0.1");
      if (url === undefined) return void assert.doesNotMatch(part, /no authorization/);
      const metadata = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp");
      const page = { method: "OPTIONS", headers: { Origin: "https://page.example" } };
      void Promise.all([fetch(url), fetch(metadata), fetch(url, page)]).then((all) => {
        statuses = all.map(({ status }) => status);
        interrupt("SIGINT");
      });
    } });
  assert.deepEqual([statuses, stderr], [[401, 200, 204], ""]);
});

test("demo --auth tells a login, a step-up and a refresh, and shows no token " +
  "(spec basic/authorization#authorization-flow-steps)", async () => {
  const { code, stdout, stderr } = await run(["demo", "--auth"]);
  assert.deepEqual([code, stderr], [0, ""]);
  assert.deepEqual(stdout.match(/^== .*$/gm), ["A call without a token",
    "The client finds out who hands out tokens", "It makes itself known there",
    "The user agrees, in a browser", "The client gets a token, and calls once more",
    "A call that takes more than was allowed", "The token has expired", "The end"]
    .map((title) => `== ${title}`));
  for (const part of [/< 401\b/, /< 403\b/, /grant_type=refresh_token/, /&scope=read.write/,
    /< www-authenticate: Bearer error="insufficient_scope"/, /code_challenge_method=S256/]) {
    assert.match(stdout, part);
  }
  assert.doesNotMatch(stdout, /Bearer (?!\.\.masked|scope|error)|BAD/);
});
