// Part III, URI templates: the examples of RFC 6570 as facts, the way back from
// a URI to its variables, and the resources that templates stand for.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { assemble, resources, uriTemplate, type TemplateDefinition } from "../mcp-raw.ts";
import { lane, request } from "./kit-http.ts";

// The variables of RFC 6570 §3.2; undef is not there. Of its examples one is not
// among these, up{+path}{var}/here: nobody could tell where path ends.
const VALUES = {
  count: ["one", "two", "three"], dom: ["example", "com"], dub: "me/too", hello: "Hello World!",
  half: "50%", var: "value", who: "fred", base: "http://example.com/home/", path: "/foo/bar",
  list: ["red", "green", "blue"], keys: { semi: ";", dot: ".", comma: "," }, v: "6", x: "1024",
  y: "768", empty: "", empty_keys: {}, undef: undefined,
};
const expanded = (template: string, values: object = VALUES): string =>
  uriTemplate(template).expand(values as typeof VALUES);

/** A table of `template expansion`, one example a line. */
const table = (text: string): string[][] =>
  text.trim().split("\n").map((line) => line.trim().split(/ +/));

// The levels of §1.2.
const LEVELS: Record<string, string> = {
  "level 1, simple strings": `
    {var} value
    {hello} Hello%20World%21`,
  "level 2, reserved strings and fragments": `
    {+var} value
    {+hello} Hello%20World!
    {+path}/here /foo/bar/here
    here?ref={+path} here?ref=/foo/bar
    X{#var} X#value
    X{#hello} X#Hello%20World!`,
  "level 3, several variables and more operators": `
    map?{x,y} map?1024,768
    {x,hello,y} 1024,Hello%20World%21,768
    {+x,hello,y} 1024,Hello%20World!,768
    {+path,x}/here /foo/bar,1024/here
    {#x,hello,y} #1024,Hello%20World!,768
    {#path,x}/here #/foo/bar,1024/here
    X{.var} X.value
    X{.x,y} X.1024.768
    {/var} /value
    {/var,x}/here /value/1024/here
    {;x,y} ;x=1024;y=768
    {;x,y,empty} ;x=1024;y=768;empty
    {?x,y} ?x=1024&y=768
    {?x,y,empty} ?x=1024&y=768&empty=
    ?fixed=yes{&x} ?fixed=yes&x=1024
    {&x,y,empty} &x=1024&y=768&empty=`,
  "level 4, prefixes and explosion": `
    {var:3} val
    {var:30} value
    {list} red,green,blue
    {list*} red,green,blue
    {keys} semi,%3B,dot,.,comma,%2C
    {keys*} semi=%3B,dot=.,comma=%2C
    {+path:6}/here /foo/b/here
    {+list} red,green,blue
    {+keys} semi,;,dot,.,comma,,
    {+keys*} semi=;,dot=.,comma=,
    {#path:6}/here #/foo/b/here
    {#list*} #red,green,blue
    {#keys*} #semi=;,dot=.,comma=,
    X{.var:3} X.val
    X{.list*} X.red.green.blue
    X{.keys*} X.semi=%3B.dot=..comma=%2C
    {/var:1,var} /v/value
    {/list*,path:4} /red/green/blue/%2Ffoo
    {/keys*} /semi=%3B/dot=./comma=%2C
    {;hello:5} ;hello=Hello
    {;keys*} ;semi=%3B;dot=.;comma=%2C
    {?var:3} ?var=val
    {?list*} ?list=red&list=green&list=blue
    {?keys*} ?semi=%3B&dot=.&comma=%2C
    {&var:3} &var=val
    {&keys*} &semi=%3B&dot=.&comma=%2C`,
};
// The examples of §3.2, section by section.
const SECTIONS: Record<string, string> = {
  "§3.2.1": `
    {count} one,two,three
    {count*} one,two,three
    {/count} /one,two,three
    {/count*} /one/two/three
    {;count} ;count=one,two,three
    {;count*} ;count=one;count=two;count=three
    {?count} ?count=one,two,three
    {?count*} ?count=one&count=two&count=three
    {&count*} &count=one&count=two&count=three`,
  "§3.2.2": `
    {half} 50%25
    O{empty}X OX
    O{undef}X OX
    {x,y} 1024,768
    ?{x,empty} ?1024,
    ?{x,undef} ?1024
    ?{undef,y} ?768`,
  "§3.2.3": `
    {+half} 50%25
    {base}index http%3A%2F%2Fexample.com%2Fhome%2Findex
    {+base}index http://example.com/home/index
    O{+empty}X OX
    O{+undef}X OX
    {+list*} red,green,blue`,
  "§3.2.4": `
    {#var} #value
    {#hello} #Hello%20World!
    {#half} #50%25
    foo{#empty} foo#
    foo{#undef} foo
    {#list} #red,green,blue
    {#keys} #semi,;,dot,.,comma,,`,
  "§3.2.5": `
    {.who} .fred
    {.who,who} .fred.fred
    {.half,who} .50%25.fred
    www{.dom*} www.example.com
    X{.empty} X.
    X{.undef} X
    X{.list} X.red,green,blue
    X{.keys} X.semi,%3B,dot,.,comma,%2C
    X{.empty_keys} X
    X{.empty_keys*} X`,
  "§3.2.6": `
    {/who} /fred
    {/who,who} /fred/fred
    {/half,who} /50%25/fred
    {/who,dub} /fred/me%2Ftoo
    {/var,empty} /value/
    {/var,undef} /value
    {/list} /red,green,blue
    {/list*} /red/green/blue
    {/keys} /semi,%3B,dot,.,comma,%2C`,
  "§3.2.7": `
    {;who} ;who=fred
    {;half} ;half=50%25
    {;empty} ;empty
    {;v,empty,who} ;v=6;empty;who=fred
    {;v,bar,who} ;v=6;who=fred
    {;x,y,undef} ;x=1024;y=768
    {;list} ;list=red,green,blue
    {;list*} ;list=red;list=green;list=blue
    {;keys} ;keys=semi,%3B,dot,.,comma,%2C`,
  "§3.2.8": `
    {?who} ?who=fred
    {?half} ?half=50%25
    {?x,y,undef} ?x=1024&y=768
    {?list} ?list=red,green,blue
    {?keys} ?keys=semi,%3B,dot,.,comma,%2C`,
  "§3.2.9": `
    {&who} &who=fred
    {&half} &half=50%25
    {&x,y,undef} &x=1024&y=768
    {&list} &list=red,green,blue
    {&list*} &list=red&list=green&list=blue
    {&keys} &keys=semi,%3B,dot,.,comma,%2C`,
};

describe("URI templates: expansion", () => {
  for (const [level, examples] of Object.entries(LEVELS)) {
    test(`the examples of ${level} expand as they are printed (RFC 6570 §1.2)`, () => {
      for (const [template = "", uri] of table(examples)) {
        assert.equal(expanded(template), uri, template);
      }
    });
  }
  for (const [section, examples] of Object.entries(SECTIONS)) {
    test(`the examples of its section expand as they are printed (RFC 6570 ${section})`, () => {
      for (const [template = "", uri] of table(examples)) {
        assert.equal(expanded(template), uri, template);
      }
    });
  }

  test("a template without expressions is itself, and text is copied with all but reserved and " +
    "unreserved characters encoded (RFC 6570 §3.1)", () => {
    assert.equal(expanded("file:///a/b?c=d&e#f"), "file:///a/b?c=d&e#f");
    assert.equal(expanded("x:a/é/100%25"), "x:a/%C3%A9/100%25");
    assert.equal(expanded(""), "");
  });

  test("what is not ASCII is encoded as the octets of UTF-8, with capital digits " +
    "(RFC 6570 §1.6, §3.2.1)", () => {
    assert.equal(expanded("{a}", { a: "é€😀" }), "%C3%A9%E2%82%AC%F0%9F%98%80");
    assert.equal(expanded("{+a}", { a: "é ü" }), "%C3%A9%20%C3%BC");
  });

  test("unreserved characters are copied, all others encoded, in a simple string " +
    "(RFC 6570 §3.2.2)", () => {
    const kept = "azAZ09-._~";
    assert.equal(expanded("{a}", { a: kept }), kept);
    assert.equal(expanded("{a}", { a: ":/?#[]@!$&'()*+,;=" }),
      "%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D");
  });

  test("reserved characters and triplets are copied in a reserved string, a lone % is encoded " +
    "(RFC 6570 §3.2.3)", () => {
    assert.equal(expanded("{+a}", { a: ":/?#[]@!$&'()*+,;=" }), ":/?#[]@!$&'()*+,;=");
    assert.equal(expanded("{+a}", { a: "a%20b%zz%" }), "a%20b%25zz%25");
    assert.equal(expanded("{a}", { a: "a%20b" }), "a%2520b");
  });

  test("a prefix counts characters, not octets, and never cuts one in two (RFC 6570 §2.4.1)",
    () => {
      assert.equal(expanded("{a:3}", { a: "éü€😀" }), "%C3%A9%C3%BC%E2%82%AC");
      assert.equal(expanded("{a:1}", { a: "😀b" }), "%F0%9F%98%80");
      assert.equal(expanded("{a:2}", { a: "😀bc" }), "%F0%9F%98%80b");
    });

  test("an array or object without members is undefined, and so is a variable that is not " +
    "given (RFC 6570 §2.3)", () => {
    const none = { list: [], keys: {} };
    for (const operator of ["", "+", "#", ".", "/", ";", "?", "&"]) {
      assert.equal(expanded(`X{${operator}list}`, none), "X", operator);
      assert.equal(expanded(`X{${operator}keys*}`, none), "X", operator);
      assert.equal(expanded(`X{${operator}absent}`, none), "X", operator);
    }
  });

  test("numbers are written in decimal digits (engineering)", () => {
    assert.equal(expanded("{?n,m}", { n: 0, m: 12.5 }), "?n=0&m=12.5");
  });

  test("names that every object inherits are undefined variables until they are given " +
    "(RFC 6570 §2.3)", () => {
    assert.equal(expanded("X{constructor}{/toString}", {}), "X");
    assert.equal(expanded("X{constructor}", { constructor: "c" }), "Xc");
  });

  test("names may have dots and triplets in them, and variables are told in their order " +
    "(RFC 6570 §2.3)", () => {
    const template = uriTemplate("x:{/id*}{?fields,first_name,last.name,a%20b}");
    assert.deepEqual(template.variables, ["id", "fields", "first_name", "last.name", "a%20b"]);
    assert.equal(template.expand({ id: ["p", "1"], first_name: "J", "last.name": "D" }),
      "x:/p/1?first_name=J&last.name=D");
  });

  // The grammar of §2 says no to each of them.
  const WRONG = ["{", "}", "a}b", "{a", "{/id*", "/id*}", "{}", "{{a}}", "{/?id}", "{var:prefix}",
    "{hello:2*}", "{hello*:2}", "{var:0}", "{var:10000}", "{var:-1}", "{var:}", "{??hello}",
    "{!hello}", "{=path}", "{,a}", "{a,}", "{a,,b}", "{$var}", "{|var*}", "{@a}", "{with space}",
    "{ leading}", "{trailing }", "{?x, y}", "{*keys?}", "{?empty=default,var}", "{a.}", "{.a..b}",
    "{-prefix|/-/|var}", "{example:color?}", "{#hello+}", "{~thing}", "{default-graph-uri}",
    "{a%2}", "{é}", "{?query){&default*}"];
  test("a template that the grammar does not know is a TypeError that shows it (RFC 6570 §2)",
    () => {
      for (const template of WRONG) {
        assert.throws(() => uriTemplate(template), TypeError, template);
      }
      assert.throws(() => uriTemplate("x:{a"), /x:\{a/);
    });

  test("a prefix of an array or an object is a mistake (RFC 6570 §2.4.1)", () => {
    for (const template of ["{keys:1}", "{+keys:1}", "{list:1}"]) {
      assert.throws(() => expanded(template), TypeError, template);
    }
  });
});

describe("URI templates: matching", () => {
  // template, URI, and the variables that the one finds in the other.
  const FOUND: [string, string, object][] = [
    ["file:///{path}", "file:///a.txt", { path: "a.txt" }],
    ["note:{id}", "note:7", { id: "7" }],
    ["x://{host}/{id}.json", "x://h/7.json", { host: "h", id: "7" }],
    ["x:{a},{b}", "x:1,2", { a: "1", b: "2" }],
    ["x:{a,b}", "x:1,2", { a: "1", b: "2" }],
    ["file:///{+path}", "file:///a/b/c.txt", { path: "a/b/c.txt" }],
    ["x:{+path}/end", "x:/a/b/end", { path: "/a/b" }],
    ["x:doc{#part}", "x:doc#intro", { part: "intro" }],
    ["x:a{.ext}", "x:a.png", { ext: "png" }],
    ["x:{/a,b}", "x:/1/2", { a: "1", b: "2" }],
    ["x:{/rest*}", "x:/1/2/3", { rest: ["1", "2", "3"] }],
    ["x:find{?q,n}", "x:find?q=cat&n=3", { q: "cat", n: "3" }],
    ["x:find?fixed=yes{&q}", "x:find?fixed=yes&q=cat", { q: "cat" }],
    ["x:p{;a,b}", "x:p;a=1;b=2", { a: "1", b: "2" }],
    ["x:find{?tag*}", "x:find?tag=a&tag=b", { tag: ["a", "b"] }],
    ["x:plain", "x:plain", {}],
  ];
  test("a URI gives back the values that make it (RFC 6570 §1.4)", () => {
    for (const [template, uri, values] of FOUND) {
      const found = uriTemplate(template).match(uri);
      assert.deepEqual({ ...found }, values, `${template} ${uri}`);
      assert.equal(uriTemplate(template).expand(found ?? {}), uri, template);
    }
  });

  const MISSED: [string, string][] = [
    ["file:///{path}", "file:///a/b"], ["file:///{path}", "File:///a"], ["note:{id}", "note7"],
    ["note:{id}", "xnote:7"], ["note:{id}/x", "note:7/x/"], ["x:plain", "x:plain2"],
    ["x:plain", "x:plai"], ["x:a.b{c}", "x:aXb1"], ["x:{a}", "x:%"], ["x:{a}", "x:%zz"],
    ["x:{a}", "x:%ff"],
  ];
  test("a URI that the template cannot make is none of its (RFC 6570 §1.4)", () => {
    for (const [template, uri] of MISSED) {
      assert.equal(uriTemplate(template).match(uri), undefined, `${template} ${uri}`);
    }
  });

  test("values are decoded once: an encoded slash is data, an encoded percent sign stays one " +
    "(RFC 3986 §2.4)", () => {
    const match = (uri: string) => ({ ...uriTemplate("file:///{path}").match(uri) });
    assert.deepEqual(match("file:///a%2Fb"), { path: "a/b" });
    assert.deepEqual(match("file:///..%2F..%2Fetc"), { path: "../../etc" });
    assert.deepEqual(match("file:///%252e%252e"), { path: "%2e%2e" });
    assert.deepEqual(match("file:///%C3%A9%20%e2%82%ac"), { path: "é €" });
  });

  test("what a template expands to, it matches, whatever the values (RFC 6570 §1.4)", () => {
    const values = ["a", "a b", "é€😀", "50%", "%41", "a/b", "?&=#;,.", "{a}", "<>\"'"];
    for (const template of ["x:{a}", "x:{a}/y", "x:{/a}", "x:{?a}", "x:{;a}", "x:q?z=1{&a}"]) {
      for (const a of values) {
        const uri = uriTemplate(template).expand({ a });
        assert.deepEqual({ ...uriTemplate(template).match(uri) }, { a }, uri);
      }
    }
  });

  test("parameters of a query may come in any order and be left out, others do no harm " +
    "(engineering)", () => {
    const { match } = uriTemplate("x:find{?q,n}");
    assert.deepEqual({ ...match("x:find?n=3&q=cat") }, { q: "cat", n: "3" });
    assert.deepEqual({ ...match("x:find?n=3") }, { n: "3" });
    assert.deepEqual({ ...match("x:find") }, {});
  });

  test("a variable called __proto__ or constructor is data (engineering)", () => {
    const found = uriTemplate("x:{__proto__}/{constructor}").match("x:1/2");
    assert.deepEqual(Object.entries(found ?? {}), [["__proto__", "1"], ["constructor", "2"]]);
    assert.equal(({} as { 1?: unknown })[1], undefined);
  });

  test("parts that could not be told apart are a TypeError, not a guess (engineering)", () => {
    for (const template of ["x:{a}{b}", "x:{a}{+b}", "up{+path}{var}/here"]) {
      assert.throws(() => uriTemplate(template).match("up/foo/here"), TypeError, template);
    }
  });

  test("no URI takes more than linear time, whatever the template (engineering)", () => {
    const templates = ["x:{+a}/{+b}/{+c}/end", "x:{a}-{b}-{c}-{d}-end", "x:{/a*}/end", "x:{/a*}",
      "x:{a,b,c,d}!", "x:{a*}", "x:q{?a,b,c}", "x:q{?a*}", "x:{.a*}.end", "x:{;a*}"];
    const uris = ["/", "-", ",", ".", ";a=1", "%41", "%"].map((part) => `x:${part.repeat(40_000)}`);
    for (const uri of [...uris, `x:q?${"a=&".repeat(40_000)}`]) for (const template of templates) {
      const start = performance.now();
      try {
        uriTemplate(template).match(uri);
      } catch (error) {
        assert.ok(error instanceof TypeError); // such a template is refused: fine here
      }
      const took = performance.now() - start;
      assert.ok(took < 250, `${template} on ${uri.slice(0, 9)}..: ${took} ms`);
    }
  });
});

const FILES: TemplateDefinition = {
  uriTemplate: "file:///{path}", name: "files", title: "Files", mimeType: "text/plain",
  annotations: { audience: ["user"], priority: 0.5 },
  read: ({ path }) => path === "gone" ? undefined : `I am ${String(path)}`,
};
function offer(templates: readonly TemplateDefinition[], list: Parameters<typeof resources>[0] = [],
  options: Parameters<typeof resources>[1] = {}) {
  const { exchange } = assemble({ name: "t", version: "1" },
    [resources(list, { templates, ...options })]);
  return async (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    const response = await exchange(request(method, params), lane());
    if ("error" in response) return { ...response.error };
    const { _meta, ...result } = response.result;
    return JSON.parse(JSON.stringify(result)) as Record<string, unknown>;
  };
}
const notFound = (uri: string) => ({ code: -32602, message: "Resource not found", data: { uri } });

describe("Resource templates", () => {
  test("templates are listed without what is the server's own, with the hints of a list " +
    "(spec server/resources#resource-templates)", async () => {
    const ask = offer([{ ...FILES, complete: { path: ["a", "b"] } }]);
    assert.deepEqual(await ask("resources/templates/list"), {
      resultType: "complete", ttlMs: 300_000, cacheScope: "public",
      resourceTemplates: [{ uriTemplate: "file:///{path}", name: "files", title: "Files",
        mimeType: "text/plain", annotations: { audience: ["user"], priority: 0.5 } }] });
    assert.deepEqual((await ask("resources/list")).resources, []);
  });

  test("a URI that a template makes is read with the values in it, and told as it came " +
    "(spec server/resources#reading-resources)", async () => {
    assert.deepEqual(await offer([FILES])("resources/read", { uri: "file:///a%20b" }), {
      resultType: "complete", ttlMs: 0, cacheScope: "private",
      contents: [{ uri: "file:///a%20b", mimeType: "text/plain", text: "I am a b" }] });
  });

  test("a template whose read finds nothing, and a URI of no template, are -32602 with the URI, " +
    "not empty contents (spec server/resources#error-handling)", async () => {
    for (const uri of ["file:///gone", "file:///a/b", "x:1", "file:///%zz"]) {
      assert.deepEqual(await offer([FILES])("resources/read", { uri }), notFound(uri));
    }
  });

  test("a resource of that very URI goes before a template, and templates go in their order " +
    "(engineering)", async () => {
    const ask = offer([{ ...FILES, uriTemplate: "x:{a}", read: () => "first" },
      { ...FILES, uriTemplate: "x:{+b}", read: () => "second" }],
      [{ uri: "x:one", name: "one", read: () => "itself" }]);
    const read = async (uri: string) => ((await ask("resources/read", { uri })).contents as
      { text: string }[])[0]?.text;
    assert.deepEqual([await read("x:one"), await read("x:1"), await read("x:1/2")],
      ["itself", "first", "second"]);
  });

  test("bytes travel as Base64, several contents as they are, read with their own URIs " +
    "(spec server/resources#binary-content)", async () => {
    const folder = { contents: [{ uri: "d:/x/a", text: "1" }, { uri: "d:/x/b", blob: "AQ==" }] };
    const ask = offer([{ ...FILES, uriTemplate: "b:{n}", read: () => new Uint8Array([251, 255]) },
      { ...FILES, uriTemplate: "d:{+n}", read: () => folder }]);
    assert.deepEqual((await ask("resources/read", { uri: "b:1" })).contents,
      [{ uri: "b:1", mimeType: "text/plain", blob: "+/8=" }]);
    assert.deepEqual((await ask("resources/read", { uri: "d:/x" })).contents, folder.contents);
  });

  test("a read that fails is -32603 and says nothing of why " +
    "(spec server/resources#error-handling)", async () => {
    const ask = offer([{ ...FILES, read: () => { throw new Error("/etc/secret"); } }]);
    assert.deepEqual(await ask("resources/read", { uri: "file:///a" }),
      { code: -32603, message: "Internal error" });
  });

  test("two templates that are one, and one that cannot be read, are mistakes of the program " +
    "(engineering)", () => {
    assert.throws(() => offer([FILES, FILES]), TypeError);
    assert.throws(() => offer([{ ...FILES, uriTemplate: "file:///{path" }]), TypeError);
    assert.throws(() => offer([{ ...FILES, uriTemplate: "file:///{a}{b}" }]), TypeError);
  });
});
