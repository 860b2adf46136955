// You will learn: the protocol without bytes. A server is a function, a client calls it.
import { caller, CLIENT_CAPABILITIES, discover, dispatch, PROTOCOL_VERSION } from "../mcp-raw.ts";
import type { Feature, RequestParams, Result } from "../mcp-raw.ts";

// A method of your own, and its row in the table of typed calls.
declare module "../mcp-raw.ts" {
  interface Methods {
    "demo/greet": { params: RequestParams & { name: string }; result: Result & { text: string } };
  }
}
const greeting: Feature = {
  methods: { "demo/greet": ({ name }) => ({ text: `Hello, ${name}` }) },
};

const server = dispatch({ name: "essence", version: "1.0.0" }, [discover({}), greeting]);
const call = caller(server, { [PROTOCOL_VERSION]: "2026-07-28", [CLIENT_CAPABILITIES]: {} });

const { supportedVersions } = await call("server/discover", {});
console.log(supportedVersions.join());
// prints: 2026-07-28
console.log((await call("demo/greet", { name: "Ada" })).text);
// prints: Hello, Ada

const old = caller(server, { [PROTOCOL_VERSION]: "1900-01-01", [CLIENT_CAPABILITIES]: {} });
await old("server/discover", {}).catch(({ code, message }) => console.log(code, message));
// prints: -32022 Unsupported protocol version
