// The workload `agent_http` on the openai client: node client.mjs OUT.json. QUICK=yes: fewer samples. A turn of 20 rounds, each of them a streamed
// answer of a server in the same process that answers immediately, over TLS on the loopback and without it. The loop that calls the tool is the
// program's own, as with that client in use; the cases have the names and the sizes of stategraph's (benchmarks/workloads/agent_http).
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { measure } from "./measure.mjs";

const rounds = 20;

// Node reads the authorities that it trusts when it starts.
if (!process.env.PEER_KEY) {
  const folder = mkdtempSync(join(tmpdir(), "openai-peer-"));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "ca.pem")];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", key, "-out", certificate, ...names], {
    stdio: "ignore",
  });
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: certificate, PEER_KEY: key };
  const { status } = spawnSync(process.execPath, process.argv.slice(1), { env, stdio: "inherit" });
  rmSync(folder, { recursive: true });
  process.exit(status ?? 1);
}

const event = (delta, finish_reason) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\ndata: [DONE]\n\n`;
const call = event({ tool_calls: [{ index: 0, id: "c", function: { name: "look", arguments: "{}" } }] }, "tool_calls");
const done = event({ content: "done" }, "stop");

let connections = 0;
async function serve(isTls) {
  const answer = (request, response) => {
    let body = "";
    request.on("data", (part) => (body += part));
    request.on("end", () => {
      const asked = JSON.parse(body).messages.filter((message) => message.role === "tool").length;
      response.end(asked < rounds - 1 ? call : done);
    });
  };
  const options = { key: readFileSync(process.env.PEER_KEY), cert: readFileSync(process.env.NODE_EXTRA_CA_CERTS) };
  const server = isTls ? createTlsServer(options, answer) : createServer(answer);
  server.on(isTls ? "secureConnection" : "connection", () => ++connections);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function turn(client) {
  const tools = [{ type: "function", function: { name: "look", description: "looks", parameters: { type: "object" } } }];
  return async () => {
    const messages = [{ role: "user", content: "go" }];
    for (let round = 1; ; ++round) {
      const message = { role: "assistant", content: "", tool_calls: [] };
      for await (const chunk of await client.chat.completions.create({ model: "m", messages, tools, stream: true })) {
        const { content, tool_calls } = chunk.choices[0].delta;
        message.content += content ?? "";
        for (const each of tool_calls ?? []) message.tool_calls.push({ id: each.id, type: "function", function: each.function });
      }
      if (message.tool_calls.length === 0) {
        if (round !== rounds || message.content !== "done") throw new Error("wrong result");
        return;
      }
      messages.push(message);
      for (const each of message.tool_calls) messages.push({ role: "tool", tool_call_id: each.id, content: String(round) });
    }
  };
}

const figures = [];
for (const [name, isTls] of [
  ["agent_http/rounds_20", false],
  ["agent_http/rounds_20_tls", true],
]) {
  const server = await serve(isTls);
  const client = new OpenAI({ baseURL: `${isTls ? "https" : "http"}://127.0.0.1:${server.address().port}`, apiKey: "k", maxRetries: 0 });
  connections = 0;
  figures.push({ name, unit: "us", samples: await measure(() => turn(client)) });
  console.log(`${name}: ${connections} connections`);
  server.closeAllConnections();
  server.close();
}
const { version } = JSON.parse(readFileSync("node_modules/openai/package.json"));
writeFileSync(process.argv[2], JSON.stringify({ peer: `openai ${version}`, figures }));
process.exit(0);
