// A test reporter for run.ts: a JSON line for each test that failed or was skipped, then the counts.

export default async function* report(events) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    const { type: what, error } = data.details ?? {};
    if (what === "suite" && (type === "test:pass" || error?.failureType === "subtestsFailed"))
      continue;
    const skipped = data.skip !== undefined || data.todo !== undefined;
    const kind = skipped ? "skipped" : type === "test:pass" ? "passed" : "failed";
    counts[kind] += 1;
    if (kind !== "passed")
      yield `${JSON.stringify({ kind, name: data.name, why: data.skip ?? data.todo ?? "" })}\n`;
  }
  yield `${JSON.stringify({ kind: "counts", ...counts })}\n`;
}
