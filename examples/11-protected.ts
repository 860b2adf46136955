// You will learn: a server that knows who calls, and a client that logs in. Three programs in one:
// who hands out tokens, who takes them, and who gets them (run `demo --auth` to see the bytes).
import { loginWith, open, protect, server, text, type Visitor } from "../mcp-raw.ts";
import { listenLocally } from "./authorization-server.ts";
import { jwtVerifier, remoteKeys, type JwtAccess } from "./extensions/jwt.ts";

const authority = await listenLocally(0, { autoConsent: true, user: "ada" }); // it asks nobody
const { issuer } = authority;

// The server says who hands out tokens, and verifies each with the keys of that issuer.
const resource = "http://127.0.0.1:33117/mcp";
const guard = protect({ resource, authorizationServers: [issuer], scopes: ["notes:read"],
  scopesFor: ({ method, params }) =>
    method === "tools/call" && params?.name === "write" ? ["notes:write"] : [],
  verify: jwtVerifier({ issuer, keys: remoteKeys(`${issuer}/jwks`) }) });
const app = server({ name: "notes", version: "1.0.0", http: { guard }, tools: [
  { name: "whoami", handler: (_, { lane: { principal } }) =>
    text(String((principal as JwtAccess).claims.sub)) }, // what the verifier gave
  { name: "write", handler: () => text("written") },
] });
const { url, close } = await app.listen(33_117);

// The client needs a browser. This one goes where it is sent, as there is no page to agree on;
// loopbackVisitor(openBrowser) is one for people.
const visitor: Visitor = { redirectUri: "http://127.0.0.1:33418/callback", async visit(page) {
  console.log("agreeing to", new URL(page).searchParams.get("scope"));
  return (await fetch(page, { redirect: "manual" })).headers.get("location") ?? "";
} };
const { client, connection } = await open(url, { authorize: { grant: loginWith(visitor) } });
for (const name of ["whoami", "write", "whoami"]) {
  console.log((await client.call("tools/call", { name })).content[0]);
}
// prints: agreeing to notes:read
// prints: { type: 'text', text: 'ada' }
// prints: agreeing to notes:read notes:write
// prints: { type: 'text', text: 'written' }
// prints: { type: 'text', text: 'ada' }
await connection.close();
await close();
authority.close();
