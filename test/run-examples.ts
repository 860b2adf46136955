// Runs the programs that EXAMPLES names (JSON), one after the other in one process, a line before
// each: to start a process for each takes longer than they do. They read argv, so it is left alone.
for (const file of JSON.parse(process.env.EXAMPLES ?? "[]") as string[]) {
  console.log(`\0${file}`);
  await import(file);
}
