import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

// Starts a program that serves on a free port, and says where in its first line; in a folder, if one is given.
export async function serve(program, options, folder = undefined) {
  const child = spawn(program, options, { stdio: ["ignore", "pipe", "inherit"], cwd: folder });
  const ended = once(child, "exit");
  process.once("exit", () => child.kill("SIGKILL"));
  const [url] = await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(([code]) => { throw new Error(`the program ended with ${code} before it served`); }),
  ]);
  return {
    url,
    health: async () => (await fetch(new URL("/health", url))).json(),
    // Ends the program as a service manager does.
    async stop() {
      child.kill("SIGTERM");
      const [code, signal] = await ended;
      assert.deepEqual([code, signal], [0, null], "the program ends with 0 on SIGTERM");
    },
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

export async function eventually(what, holds, timeout = 300_000) {
  const end = Date.now() + timeout;
  while (!(await holds())) {
    assert.ok(Date.now() < end, `within ${timeout} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// Runs the cases one after the other.
export async function run(cases) {
  for (const [name, body] of Object.entries(cases)) {
    try {
      await body();
    } catch (error) {
      console.error(`FAILED: ${name}`);
      throw error;
    }
    console.log(`ok: ${name}`);
  }
}
