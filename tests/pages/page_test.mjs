// The advisor's page in a browser: page_test.mjs PROGRAM CHROMIUM
import assert from "node:assert/strict";

import { chromium } from "playwright-core";

import { eventually, run, serve } from "./served.mjs";

const [program, executablePath] = process.argv.slice(2);
const pause = 40;  // ms; a machine that is busy shows several pieces at once
const server = await serve(program, ["--port", "0", "--pause", String(pause)]);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 300_000 });

// A page, with everything that its list of items showed: [{name, length, fields, status}…], one entry for each change.
async function open() {
  const page = await browser.newPage();
  page.setDefaultTimeout(300_000);
  const faults = [];
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.url) && !request.url().startsWith("data:")) faults.push(`asks for ${request.url()}`);
  });
  await page.goto(server.url);
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const item = document.querySelector("#items > li:last-child");
      if (item === null) return;
      const fields = item.querySelectorAll(":scope > dl > dt").length;
      const status = document.querySelector("#status").textContent;
      window.seen.push({ name: item.dataset.name, length: item.textContent.length, fields, status });
    }).observe(document.querySelector("#items"), { childList: true, subtree: true, characterData: true });
  });
  const status = () => page.textContent("#status");
  return {
    page,
    seen: () => page.evaluate(() => window.seen),
    names: () => page.$$eval("#items > li", (items) => items.map((item) => item.dataset.name)),
    ask: async (text) => {
      await page.fill("#request", text);
      await page.click("#start");
    },
    until: (text) => eventually(`the page says "${text}"`, async () => (await status()) === text),
    last: () => page.textContent("#items > li:last-child"),
    close: async () => {
      assert.deepEqual(faults, []);
      await page.close();
    },
  };
}

const waits = "The advisor waits for your decision.";
const lengthsOf = (seen, name) => new Set(seen.filter((each) => each.name === name).map((each) => each.length));

await run({
  "texts grow, calls appear, and an approved call leads to the end": async () => {
    const advisor = await open();
    await advisor.ask("servers");
    await advisor.until(waits);
    const search = "research: search";
    assert.deepEqual(await advisor.names(), ["profile", search, search, search, "research", "synthesis asks: bookCourse?"]);
    const before = await advisor.seen();
    for (const name of ["profile", "research"]) {
      assert.ok(lengthsOf(before, name).size >= 4, `${name} grows`);
    }
    const fields = before.filter((each) => each.name === "profile").map((each) => each.fields);
    assert.deepEqual(fields, fields.toSorted(), "no field disappears");
    assert.ok(fields[0] < 4 && fields.at(-1) === 4, "fields appear one after the other");
    const call = before.find((each) => each.name === search);
    assert.equal(call.status, "The advisor works …", "a call is shown while the run is under way");
    assert.match(await advisor.last(), /price120courseConcurrency in practice/);
    await advisor.page.click(".approve");
    await advisor.until("The run is done.");
    assert.match(await advisor.last(), /is bookedtrue.*The course is booked/);
    assert.equal((await advisor.names()).length, 7);
    assert.ok(lengthsOf(await advisor.seen(), "synthesis").size >= 4, "synthesis grows");
    await advisor.close();
  },
  "a declined call leads to another end": async () => {
    const advisor = await open();
    await advisor.ask("servers");
    await advisor.until(waits);
    await advisor.page.click(".decline");
    await advisor.until("The run is done.");
    assert.match(await advisor.last(), /is bookedfalse.*ask a friend/);
    await advisor.close();
  },
  "what a user types is shown as text, in all its characters": async () => {
    const advisor = await open();
    const text = "<b>élan</b> \"quoted\" \\ 日本語 😀 <img src=x onerror=fail()>";
    await advisor.ask(text);
    await advisor.until(waits);
    assert.ok((await advisor.page.textContent('[data-name="profile"]')).includes(text));
    assert.equal(await advisor.page.$("#items b, #items img"), null);
    await advisor.close();
  },
  "a run that is aborted stops, and another one can follow": async () => {
    const advisor = await open();
    await advisor.ask("servers");
    await eventually("a text grows", async () => lengthsOf(await advisor.seen(), "profile").size >= 2);
    await advisor.page.click("#abort");
    await advisor.until("The run is cancelled.");
    await eventually("the server runs nothing", async () => (await server.health()).runs === 0);
    assert.deepEqual(await advisor.names(), ["profile"]);
    await advisor.ask("servers again");
    await advisor.until(waits);
    await advisor.close();
  },
  "a run that waits can be aborted, and is not answered then": async () => {
    const advisor = await open();
    await advisor.ask("servers");
    await advisor.until(waits);
    await advisor.page.click("#abort");
    await advisor.until("The run is cancelled.");
    assert.ok(await advisor.page.isDisabled(".approve"));
    await advisor.close();
  },
  "a server that breaks off is an error": async () => {
    const advisor = await open();
    await advisor.ask("servers");
    await eventually("a text grows", async () => lengthsOf(await advisor.seen(), "profile").size >= 2);
    await server.kill();
    await advisor.until("The run is failed.");
    assert.equal((await advisor.names()).at(-1), "error");
    await advisor.close();
  },
});
await browser.close();

const ended = await serve(program, ["--port", "0", "--pause", String(pause)]);
await ended.stop();
