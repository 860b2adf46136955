// You will learn: a server that offers skills beside what else it has, and a client that opens one,
// reads the file it points to, and notices what somebody in between has changed.
import { connect, server, type Exchange } from "../../mcp-raw.ts";
import { getSkill, listSkills, openSkill, readSkills, readSkillFile, skillResources, skills }
  from "./skills.ts";

const guides = await readSkills(new URL("skills", import.meta.url));
const { exchange } = server({ name: "team", version: "1.0.0",
  resources: [...skillResources(guides)], // and others
  features: [skills(guides)] });

const client = connect(exchange); // or open("https://..")
for (const { uri, frontmatter } of await listSkills(client)) console.log(uri, frontmatter.license);
// prints: skill://git-workflow/SKILL.md undefined
// prints: skill://release-notes/SKILL.md MIT

const skill = await getSkill(client, "skill://git-workflow/SKILL.md"); // listed or not
console.log((await openSkill(client, skill)).split("\n").at(-2));
// prints: One branch a change. A commit says why: see `references/COMMITS.md`.
const { href } = new URL("references/COMMITS.md", skill.uri); // what the model has asked for
console.log(new TextDecoder().decode(await readSkillFile(client, skill, href)).split("\n")[0]);
// prints: # Commits

const tampering: Exchange = async (request, lane) =>
  JSON.parse(JSON.stringify(await exchange(request, lane)).replace("One branch", "No branch"));
await openSkill(connect(tampering), skill).catch((error: Error) =>
  console.log(error.message.split(".", 2).join(".")));
// prints: skill://git-workflow/SKILL.md is not used: 204 bytes were listed and 203 came
