// The page of examples/langgraph_server in a browser: langgraph_server_test.mjs PROGRAM CHROMIUM
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { eventually, run, serve } from "./served.mjs";

const [program, executablePath] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "langgraph-server-"));
let server = serve(program, ["0"], folder);

// Keeps the server's address while one process dies and the next one begins. Whoever comes meanwhile waits for it.
const door = createServer(async (client) => {
  const { port } = new URL((await server).url);
  const inner = connect({ port, host: "127.0.0.1" });
  for (const [from, to] of [[client, inner], [inner, client]]) {
    from.pipe(to);
    from.on("error", () => to.destroy()).on("close", () => to.destroy());
  }
});
await once(door.listen(0, "127.0.0.1"), "listening");
const address = `http://localhost:${door.address().port}`;
async function killAndBegin() {
  const killed = (await server).kill();
  server = killed.then(() => serve(program, ["0"], folder));
  await server;
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 300_000 });

async function open(hash = "") {
  const page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:")) faults.push(`asks for ${request.url()}`);
  });
  await page.goto(`${address}/${hash}`);
  // All lengths that the last message has had.
  await page.evaluate(() => {
    window.lengths = new Set();
    const look = () => window.lengths.add(document.querySelector("li:last-child[data-type=ai]")?.textContent.length ?? 0);
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  const messages = () => page.$$eval("li", (all) => all.map((each) => {
    const texts = [...each.querySelectorAll(":scope > span, :scope > code")].map((part) => part.textContent);
    return `${each.dataset.type}: ${texts.join("")}`;
  }));
  const idle = () => page.locator("main[data-busy=false]").waitFor();
  return {
    page,
    messages,
    idle,
    until: async (...expected) => {
      let seen;
      await eventually(`the page shows ${expected.join(" | ")}`, async () => {
        seen = await messages();
        return JSON.stringify(seen) === JSON.stringify(expected);
      }).catch((error) => { throw new Error(`${error.message}; it shows ${seen?.join(" | ")}`); });
      await idle();
    },
    say: async (text) => {
      await page.getByLabel("message", { exact: true }).fill(text);
      await page.getByRole("button", { name: "send", exact: true }).click();
    },
    // Until the last message has had so many lengths.
    grows: (count) => eventually("the answer grows", async () => (await page.evaluate(() => window.lengths.size)) >= count),
    press: (name) => page.getByRole("button", { name, exact: true }).click(),
    close: async () => {
      assert.deepEqual(faults, []);
      await page.close();
    },
  };
}

const help = 'Write "remove /tmp/old" for a call. You wrote: ';
const asked = ["human: remove /tmp/old", 'ai: remove {"path":"/tmp/old"}'];
const removed = [...asked, "tool: /tmp/old is gone", "ai: The tool says: /tmp/old is gone"];

await run({
  "a message is answered, and each message is shown once": async () => {
    const chat = await open();
    await chat.say("hello");
    await chat.until("human: hello", `ai: ${help}hello`);
    await chat.close();
  },
  "a call is approved, and the page that is loaded anew shows the conversation": async () => {
    const chat = await open();
    await chat.say("remove /tmp/old");
    await chat.page.locator(".question").waitFor();
    assert.match(await chat.page.textContent(".question"), /May the agent remove \/tmp\/old\?/);
    await chat.page.reload();
    await chat.page.locator(".question").waitFor();
    assert.deepEqual(await chat.messages(), asked);
    await chat.press("approve");
    await chat.until(...removed);
    await chat.page.reload();
    await chat.until(...removed);
    assert.equal(await chat.page.locator(".question").count(), 0);
    await chat.close();
  },
  "a declined call is not executed": async () => {
    const chat = await open();
    await chat.say("remove /tmp/old");
    await chat.press("decline");
    await eventually("an answer", async () => (await chat.messages()).length === 4);
    await chat.idle();
    assert.ok(!(await chat.messages()).join().includes("is gone"));
    await chat.close();
  },
  "an earlier message is written anew, and both conversations are kept": async () => {
    const chat = await open();
    await chat.say("one");
    await chat.until("human: one", `ai: ${help}one`);
    await chat.say("two");
    await chat.until("human: one", `ai: ${help}one`, "human: two", `ai: ${help}two`);
    await chat.page.locator("li", { hasText: /^two/ }).getByRole("button", { name: "edit" }).click();
    await chat.page.getByLabel("another message").fill("three");
    await chat.press("send instead");
    const forked = ["human: one", `ai: ${help}one`, "human: three", `ai: ${help}three`];
    await chat.until(...forked);
    await chat.press("1");
    await chat.until("human: one", `ai: ${help}one`, "human: two", `ai: ${help}two`);
    await chat.page.reload();
    await chat.until(...forked);
    await chat.close();
  },
  "an answer is shown as it is written, its run is stopped, and the next message is answered": async () => {
    const chat = await open();
    await chat.say("word ".repeat(50_000));
    await chat.grows(5);
    await chat.press("stop");
    await chat.idle();
    await eventually("the server runs nothing", async () => (await (await server).health()).runs === 0);
    await chat.say("again");
    await eventually("the next answer", async () => (await chat.messages()).at(-1) === `ai: ${help}again`);
    await chat.close();
  },
  "the server is killed while a question is open, and the next process takes the answer": async () => {
    const chat = await open();
    await chat.say("remove /tmp/old");
    await chat.page.locator(".question").waitFor();
    await chat.idle();
    await killAndBegin();
    await chat.press("approve");
    await chat.until(...removed);
    await chat.close();
  },
  "the server is killed while it answers, and the next process ends the answer": async () => {
    const chat = await open();
    const text = Array.from({ length: 100 }, (_, i) => `word${i}`).join(" ");
    await chat.say(text);
    await chat.grows(2);
    await killAndBegin();
    await chat.until(`human: ${text}`, `ai: ${help}${text}`);
    const again = await open(new URL(chat.page.url()).hash);
    await again.until(`human: ${text}`, `ai: ${help}${text}`);
    await again.close();
    await chat.close();
  },
});
await browser.close();
door.close();
await (await server).stop();
await rm(folder, { recursive: true });
process.exit(0);
