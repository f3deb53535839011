// Runs five programs that people write, each with this library and with two peers, against one scripted server of models, and prints tables of what
// they do: node programs.mjs FOLDER BINARIES [PROGRAM…]. FOLDER has the peers' packages, BINARIES this library's programs.
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { modelServer } from "./model_server.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const [folder, binaries, ...chosen] = process.argv.slice(2);
const rounds = Number(process.env.ROUNDS ?? 20);
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const peers = { support_chat: ["langchain", "ai"], supervisor: ["langchain", "openai"], coder: ["langchain", "ai"], research: ["langchain", "ai"], voice: ["langchain", "ai"] };
const names = { stategraph: "stategraph", langchain: "LangChain", ai: "AI SDK", openai: "OpenAI Agents" };

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const sourceOf = (program, maker) => (maker === "stategraph" ? `${program}.cpp` : `${program}_${maker}.ts`);
/** Lines without blank ones and comments, as count.sh counts them. */
const linesOf = (program, maker) => readFileSync(here + sourceOf(program, maker), "utf8").split("\n").filter((line) => !/^\s*(\/\/.*)?$/.test(line)).length;

/** One maker's program in a folder of its own, which is emptied first. */
class Subject {
  constructor(program, maker, server) {
    Object.assign(this, { program, maker, server, cwd: `${folder}/runs/${program}_${maker}` });
    rmSync(this.cwd, { recursive: true, force: true });
    mkdirSync(this.cwd, { recursive: true });
  }
  spawn(args, env = {}) {
    const command = this.maker === "stategraph" ? [`${binaries}/lines_${this.program}`] : [process.execPath, `${folder}/${sourceOf(this.program, this.maker)}`];
    const child = spawn(command[0], [...command.slice(1), ...args], {
      cwd: this.cwd,
      env: { ...process.env, NODE_NO_WARNINGS: "1", LANGSMITH_TRACING: "false", MODEL_URL: this.server.url, PICTURE: picture, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.errors = "";
    child.on("error", (error) => (child.errors += error));
    child.stderr.on("data", (data) => (child.errors += data));
    child.ended = new Promise((resolve) => child.on("close", (code, signal) => resolve(signal ?? code)));
    return child;
  }
  /** Runs it to its end. */
  async run(args, env = {}) {
    const before = this.server.requests.length;
    const begun = performance.now();
    const child = this.spawn(args, env);
    let out = "";
    child.stdout.on("data", (data) => (out += data));
    const ended = await child.ended;
    const requests = this.server.requests.slice(before);
    if (ended !== 0 && ended !== "SIGKILL") out += `FAILED ${child.errors.trim().split("\n").slice(0, 6).join(" | ")}`;
    return { out: out.trim(), ended, requests, start: requests.length > 0 ? requests[0].came - begun : 0, took: performance.now() - begun };
  }
  effects() {
    return existsSync(`${this.cwd}/effects.log`) ? readFileSync(`${this.cwd}/effects.log`, "utf8").split("\n").filter(Boolean) : [];
  }
}
const has = (requests, text) => requests.some((request) => request.text.includes(text));
const roles = (request) => request.messages.map(({ role, content }) => `${role}: ${typeof content === "string" ? content : JSON.stringify(content)}`);

const programs = {
  async support_chat(make) {
    const chat = make();
    const first = await chat.run(["Hello, I am ada@example.org, card 4111 1111 1111 1111"]);
    const starts = [first.start];
    for (const text of ["It is about order 17", "It came broken", "It was blue", "Are you there?"]) starts.push((await chat.run([text])).start);
    const told = await chat.run(["I want my money"]);
    const summaries = chat.server.requests.filter(({ model }) => model === "small").length;
    const killed = make();
    await killed.run(["Hello"]);
    await killed.run(["I want my money"], { DIE: "1" });
    const after = await killed.run([]);
    return {
      answer: told.out,
      redacted: `${has(chat.server.requests, "ada@example.org") || has(chat.server.requests, "4111") ? "no" : "yes"}, ${told.out.includes("[") || told.out.includes("REDACTED") ? "yes" : "no"}`,
      "summaries made, messages of the last request": `${summaries}, ${told.requests.at(-1)?.messages.length}`,
      "start to first request": ms(median(starts)),
      "killed in `refund`, started again": `refunds: ${killed.effects().length}; ${after.out === told.out ? "the turn is finished" : `prints "${after.out}"`}`,
    };
  },
  async supervisor(make) {
    const team = make();
    const asked = await team.run(["ask"]);
    const approved = await team.run(["approve"]);
    const calls = team.server.requests.length;
    const effects = team.effects().length;
    const killed = make();
    await killed.run(["ask"]);
    await killed.run(["approve"], { DIE: "1" });
    const again = await killed.run(["approve"]);
    const count = (verb) => killed.effects().filter((each) => each === verb).length;
    return {
      "open at once": asked.out.split("\n").length,
      answer: approved.out,
      "calls of models (6 are needed)": calls,
      "effects (2 are wanted)": effects,
      "start to first request": ms(asked.start),
      "killed in an effect, approved again": `weed ${count("weed")}, plant ${count("plant")}; ${again.out}`,
    };
  },
  async coder(make) {
    const coder = make();
    const { out, requests, start } = await coder.run(["Make page.html blue"], await page(coder));
    const endless = await coder.run(["Read it forever"]);
    const killed = make();
    await killed.run(["Make page.html blue"], { ...(await page(killed)), DIE: "1" });
    const after = await killed.run([]);
    return {
      answer: out,
      "picture in a request": requests.at(-1)?.pictures > 0 ? "yes" : has(requests, picture) ? "as text or in the result" : "no",
      "calls of the model with 10,000 tokens": requests.length + endless.requests.length,
      "at the end of the budget": endless.out,
      "start to first request": ms(start),
      "killed in `write`, started again": `writes: ${killed.effects().length}; prints "${after.out}"`,
    };
  },
  async research(make) {
    const team = make();
    const server = await listening(team);
    const figures = [];
    let messages = [];
    for (let i = 0; i < rounds + 3; ++i) {
      const { first, request } = await chat(server, team, `chat${i}`);
      if (i >= 3) figures.push(first - request.first);
    }
    const began = [];
    for (let i = 0; i < rounds; ++i) began.push((await chat(server, team, `begin${i}`)).begin);
    server.child.kill("SIGKILL");
    await server.child.ended;
    const killed = make();
    const dying = await listening(killed, { DIE: "1" });
    await chat(dying, killed, "ada").catch(() => undefined);
    await dying.child.ended;
    const done = killed.effects().length;
    const again = await listening(killed);
    await new Promise((resolve) => setTimeout(resolve, 1500)); // what it does by itself
    messages = await conversation(again, "ada");
    const text = JSON.stringify(messages);
    const result = {
      "page's request to the model's": ms(median(began)),
      "first piece, model to page": ms(median(figures)),
      "killed in `search`, started again": `searches: ${done} before, ${killed.effects().length} after; messages: ${messages.length}; ${text.includes("word39") ? "the report is written" : text.includes("boats") ? "the question is kept" : "nothing is kept"}`,
    };
    again.child.kill("SIGKILL");
    return result;
  },
  async voice(make) {
    const loop = make();
    const begin = [], piece = [];
    let child = speaking(loop);
    for (let i = 0; i < rounds + 3; ++i) {
      const said = performance.now();
      const { first, request } = await child.say(`line ${i}`);
      await child.line();
      if (i < 3) continue;
      begin.push(request.came - said);
      piece.push(first - request.first);
    }
    await child.end();
    const broken = make();
    child = speaking(broken);
    await child.say("tell me a story");
    const interrupted = performance.now();
    const next = await child.say("stop, what time is it?");
    await child.end();
    const kept = roles(next.request);
    const killed = make();
    child = speaking(killed);
    await child.say("my name is Ada, tell me a story");
    child.process.kill("SIGKILL");
    await child.process.ended;
    child = speaking(killed);
    const after = await child.say("who am I?");
    await child.end();
    return {
      "line to request": ms(median(begin)),
      "first piece, model to output": ms(median(piece)),
      "interruption to the next request": ms(next.request.came - interrupted),
      "the model hears what was said until then": kept.some((each) => each.startsWith("assistant: word1")) ? "yes" : "no",
      "killed while it speaks, started again": `${has([after.request], "Ada") ? "knows the line" : "has forgotten the line"}, ${roles(after.request).some((each) => each.startsWith("assistant")) ? "knows what it said" : "not what it said"}`,
    };
  },
};

async function page(subject) {
  copyFileSync(here + "model_server.mjs", `${subject.cwd}/page.html`); // any text
  return {};
}
async function listening(subject, env) {
  const child = subject.spawn([], env);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (!value) throw new Error(child.errors);
  return { child, url: value };
}
async function chat(server, subject, id) {
  const before = subject.server.requests.length;
  const asked = performance.now();
  const message = { id: `${id}-1`, role: "user", parts: [{ type: "text", text: "Report about boats" }] };
  const response = await fetch(`${server.url}/chat`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ id, messages: [message], trigger: "submit-message" }),
  });
  let text = "";
  let first;
  for await (const piece of response.body) {
    text += Buffer.from(piece).toString();
    if (first === undefined && text.includes("word1 ")) first = performance.now();
  }
  const requests = subject.server.requests.slice(before);
  const request = requests.findLast(({ model }) => model === "editor");
  if (first === undefined) throw new Error(`no report: ${response.status} ${text.slice(0, 500)} ${server.child.errors}`);
  return { first, request, begin: requests[0].came - asked };
}
async function conversation(server, id) {
  const response = await fetch(`${server.url}/${id}/messages`);
  const body = response.ok ? await response.json() : {};
  return Array.isArray(body) ? body : (body.messages ?? []);
}
/** The voice's loop: `say` writes a line, and returns when the first piece of its answer has come. */
function speaking(subject) {
  const child = subject.spawn([]);
  let waiting = [];
  let out = "";
  child.stdout.on("data", (data) => {
    out += data;
    for (const each of waiting) each(performance.now());
  });
  const until = async (is) => {
    while (!is()) {
      const ended = await Promise.race([new Promise((resolve) => (waiting = [resolve])), child.ended.then((how) => ({ how }))]);
      if (ended?.how !== undefined && !is()) throw new Error(`it ended (${ended.how}): ${child.errors}`);
    }
    return performance.now();
  };
  let from = 0;
  return {
    process: child,
    async say(line) {
      const before = subject.server.requests.length;
      child.stdin.write(line + "\n");
      from = out.length;
      const first = await until(() => out.slice(from).includes("word1 ") && subject.server.requests.length > before);
      return { first, request: subject.server.requests[before] };
    },
    line: () => until(() => out.slice(from).includes("\n")),
    async end() {
      child.stdin.end();
      await child.ended;
    },
  };
}

const makers = (program) => ["stategraph", ...peers[program]];
console.log("| program | stategraph | shortest peer | ratio | lines of the peers |\n|---|---|---|---|---|");
for (const program of Object.keys(programs)) {
  const ours = linesOf(program, "stategraph");
  const theirs = peers[program].map((peer) => linesOf(program, peer));
  const listed = peers[program].map((peer, i) => `${names[peer]} ${theirs[i]}`).join(", ");
  console.log(`| ${program} | ${ours} | ${Math.min(...theirs)} | ${(ours / Math.min(...theirs)).toFixed(2)} | ${listed} |`);
}
if (binaries) {
  for (const program of chosen.length > 0 ? chosen : Object.keys(programs)) {
    const columns = {};
    for (const maker of makers(program)) {
      if (maker !== "stategraph") copyFileSync(here + sourceOf(program, maker), `${folder}/${sourceOf(program, maker)}`);
      const servers = [];
      try {
        // Each subject has a server of its own, which knows only its requests.
        const server = [await modelServer(), await modelServer()];
        servers.push(...server);
        let next = 0;
        columns[maker] = await programs[program](() => new Subject(program, maker, server[next++ % 2]));
      } catch (error) {
        columns[maker] = { failed: String(error.stack).replaceAll("\n", " ").slice(0, 600) };
      }
      for (const server of servers) server.close();
    }
    const rows = [...new Set(Object.values(columns).flatMap(Object.keys))];
    console.log(`\n| ${program} | ${makers(program).map((maker) => names[maker]).join(" | ")} |\n|---|${"---|".repeat(makers(program).length)}`);
    for (const row of rows) console.log(`| ${row} | ${makers(program).map((maker) => columns[maker][row] ?? "").join(" | ")} |`);
  }
}
process.exit(0);
