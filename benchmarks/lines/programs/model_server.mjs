// A server with OpenAI's chat completions whose models follow scripts: a request's model names the script, and its messages say where in it they are.
// It streams word by word if it is asked to, and notes of each request when it came and when the first piece of its answer left.
//
//   const server = await modelServer();    server.url, server.requests, server.close()
import { createServer } from "node:http";

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(" "));
const call = (name, args) => ({ calls: [{ name, args }] });
const words = (count) => Array.from({ length: count }, (_, i) => ((i + 1) % 10 === 0 ? "end." : `word${i + 1}`)).join(" ");

/** Returns what has happened since the last message of the user that is a text: the results of calls. */
function turn(messages) {
  const last = messages.findLastIndex((message) => message.role === "user" && textOf(message.content) !== "" && !hasPicture(message));
  return { said: textOf(messages[last]?.content), results: messages.slice(last + 1).filter((message) => message.role === "tool") };
}
const hasPicture = (message) => Array.isArray(message.content) && message.content.some((part) => part.type === "image_url");

const scripts = {
  support: ({ said, results }) =>
    said.includes("money") && results.length === 0
      ? call("refund", { order: "17" })
      : { text: results.length > 0 ? "It is on its way, help@example.org knows." : `You said: ${said}` },
  small: () => ({ text: "They talk about order 17." }),
  chief: ({ results }, { tools }) =>
    results.length > 0
      ? { text: "Bed 7 is ready." }
      : { calls: tools.map((tool) => ({ name: tool.function.name, args: { [Object.keys(tool.function.parameters.properties)[0]]: "Bed 7, please" } })) },
  weeder: ({ results }) => (results.length > 0 ? { text: "I have weeded." } : call("weed", { bed: "7" })),
  planter: ({ results }) => (results.length > 0 ? { text: "I have planted." } : call("plant", { bed: "7" })),
  coder: ({ said, results }) => {
    const steps = [call("read", { path: "page.html" }), call("write", { path: "page.html", text: "blue" }), call("look", { path: "page.html" })];
    if (said.includes("forever")) return steps[0];
    return steps[results.length] ?? { text: "The page is blue." };
  },
  editor: ({ results }, { tools }) =>
    results.length > 0
      ? { text: words(40) }
      : { calls: tools.map((tool) => ({ name: tool.function.name, args: { [Object.keys(tool.function.parameters.properties)[0]]: "boats" } })) },
  historian: ({ results }) => (results.length > 0 ? { text: "Boats are old." } : call("search", { query: "old boats" })),
  economist: ({ results }) => (results.length > 0 ? { text: "Boats are dear." } : call("search", { query: "prices of boats" })),
  voice: ({ said }) => ({ text: words(said.includes("story") ? 1000 : 30) }),
};

function completion(model, { text = "", calls = [] }, id) {
  const tool_calls = calls.map(({ name, args }, i) => ({ id: `call-${id}-${i}`, type: "function", function: { name, arguments: JSON.stringify(args) } }));
  const message = { role: "assistant", content: text || null, ...(calls.length > 0 && { tool_calls }) };
  return { message, finish_reason: calls.length > 0 ? "tool_calls" : "stop", usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 } };
}

/** Listens on the loopback. `pause_ms` pass before each word. `onRequest(request)` is awaited before an answer. */
export async function modelServer({ pause_ms = 2 } = {}) {
  const requests = [];
  const state = { requests, onRequest: undefined };
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const piece of request) text += piece;
    const came = performance.now();
    const body = JSON.parse(text);
    const noted = { model: body.model, came, text, messages: body.messages, pictures: body.messages.filter(hasPicture).length };
    requests.push(noted);
    await state.onRequest?.(noted);
    const id = requests.length;
    const { message, finish_reason, usage } = completion(body.model, scripts[body.model](turn(body.messages), body), id);
    const head = { id: `answer-${id}`, created: 1, model: body.model };
    if (!body.stream) {
      noted.first = performance.now();
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage }));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choices, more = {}) => response.write(`data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices, ...more })}\n\n`);
    for (const word of (message.content ?? "").match(/\S+\s*/g) ?? []) {
      await new Promise((resolve) => setTimeout(resolve, pause_ms));
      if (response.destroyed) return;
      noted.first ??= performance.now();
      send([{ index: 0, delta: { role: "assistant", content: word }, finish_reason: null }]);
    }
    for (const [index, each] of (message.tool_calls ?? []).entries())
      send([{ index: 0, delta: { role: "assistant", tool_calls: [{ index, ...each }] }, finish_reason: null }]);
    send([{ index: 0, delta: {}, finish_reason }]);
    send([], { usage });
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.closeAllConnections() ?? server.close() });
}
