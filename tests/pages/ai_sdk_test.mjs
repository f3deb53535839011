// The AI SDK as a client of the tutor: ai_sdk_test.mjs PROGRAM
import assert from "node:assert/strict";

import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  parseJsonEventStream,
  readUIMessageStream,
  safeValidateUIMessages,
  uiMessageChunkSchema,
} from "ai";

import { eventually, run, serve } from "./served.mjs";

const [program] = process.argv.slice(2);
const server = await serve(program, ["--port", "0", "--pause", "5"]);
const api = new URL("/tutor/chat", server.url).href;
const userMessage = (text) => ({ id: "m1", role: "user", parts: [{ type: "text", text }] });
let chats = 0;

// Sends messages; returns the assistant's message and all chunks, each of which is valid.
async function post(id, messages) {
  const body = JSON.stringify({ id, messages, trigger: "submit-message" });
  const response = await fetch(api, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  assert.equal(response.status, 200);
  const chunks = [];
  const valid = parseJsonEventStream({ stream: response.body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream({
      transform(chunk, controller) {
        assert.ok(chunk.success, `${JSON.stringify(chunk.rawValue)} is no chunk: ${chunk.error}`);
        chunks.push(chunk.value);
        controller.enqueue(chunk.value);
      },
    }),
  );
  const last = messages.at(-1);
  let message;
  const seen = [];  // all that a page would show
  for await (message of readUIMessageStream({
    message: last.role === "assistant" ? structuredClone(last) : undefined,
    stream: valid,
    terminateOnError: true,
  })) seen.push(structuredClone(message));
  return { message, chunks, seen };
}

async function assertValid(messages) {
  const result = await safeValidateUIMessages({ messages });
  assert.ok(result.success, result.error?.message);
}

// What useChat is made of, without React. `shown` has each state of the last message.
class Chat extends AbstractChat {
  constructor(options = {}) {
    const shown = [];
    const state = {
      status: "ready",
      error: undefined,
      messages: [],
      pushMessage: (message) => { state.messages = [...state.messages, message]; },
      popMessage: () => { state.messages = state.messages.slice(0, -1); },
      replaceMessage: (index, message) => {
        state.messages = state.messages.with(index, structuredClone(message));
        shown.push(state.messages[index]);
      },
      snapshot: structuredClone,
    };
    super({
      id: `chat-${(chats += 1)}`,
      state,
      transport: new DefaultChatTransport({ api }),
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      ...options,
    });
    this.shown = shown;
  }
  part(state) {
    return this.lastMessage?.parts.find((part) => part.type === "dynamic-tool" && part.state === state);
  }
  async untilText(text) {
    await eventually(`"${text}" is said`, () => this.status === "ready" && textsOf(this.lastMessage).at(-1) === text);
  }
}

// The texts of the user in the server's conversation.
async function usersOf(id) {
  const { values } = await (await fetch(new URL(`/tutor/${id}/state`, server.url))).json();
  return values.messages.filter((each) => each.role === "user").map((each) => each.content.map((part) => part.text ?? part.type).join());
}

// What a page gets that is loaded.
async function load(id, query = "") {
  const response = await fetch(new URL(`/tutor/${id}/messages${query}`, server.url));
  assert.equal(response.status, 200);
  return response.json();
}
const plain = (messages) => JSON.parse(JSON.stringify(messages.map(({ metadata, ...rest }) => rest)));

const textsOf = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text);
const toolsOf = (message) => message.parts.filter((part) => part.type === "dynamic-tool");
const bookingOf = (message) => toolsOf(message).find((part) => part.toolName === "bookCourse");

await run({
  "every chunk is valid, and the message has the texts, the tools and the approval": async () => {
    const { message, chunks, seen } = await post("plain", [userMessage("Help me")]);
    assert.equal(chunks[0].type, "start");
    assert.equal(chunks.at(-1).type, "finish");
    assert.equal(chunks.at(-1).finishReason, "tool-calls");
    assert.deepEqual(textsOf(message), ["I look for a course.", "There is one with reviews."]);
    assert.equal(message.parts.find((part) => part.type === "reasoning").text, "A course would help.");
    assert.ok(message.parts.every((part) => part.state !== "streaming"), "every part has ended");
    const [search, booking] = toolsOf(message);
    assert.deepEqual([search.toolName, search.state, search.input], ["webSearch", "output-available", { query: "concurrency courses" }]);
    assert.equal(search.output.length, 2);
    assert.deepEqual([booking.toolName, booking.state], ["bookCourse", "approval-requested"]);
    assert.deepEqual(booking.input, { course: "Concurrency in practice", price: 120 });
    assert.ok(seen.length > 10, "the message grows");
    await assertValid([userMessage("Help me"), message]);

    const answered = structuredClone(message);
    Object.assign(bookingOf(answered), { state: "approval-responded", approval: { ...booking.approval, approved: true } });
    const next = await post("plain", [userMessage("Help me"), answered]);
    assert.equal(textsOf(next.message).at(-1), "The course is booked.");
    assert.equal(bookingOf(next.message).state, "output-available");
    assert.match(bookingOf(next.message).output, /^booked: Concurrency/);
    assert.ok(next.seen.every((each) => bookingOf(each).state !== "approval-requested"), "it is not asked again");
    assert.ok(toolsOf(next.message).length === 2, "no tool part is doubled");
    await assertValid([userMessage("Help me"), next.message]);
  },
  "a chat approves": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    const { approval } = chat.part("approval-requested");
    chat.shown.length = 0;
    await chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await chat.untilText("The course is booked.");
    assert.equal(bookingOf(chat.lastMessage).state, "output-available");
    assert.ok(chat.shown.every((each) => bookingOf(each).state !== "approval-requested"), "it is not asked again");
    assert.equal(chat.messages.length, 2);
    await assertValid(chat.messages);
  },
  "a chat declines, and a new turn follows": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    const { approval } = chat.part("approval-requested");
    await chat.addToolApprovalResponse({ id: approval.id, approved: false, reason: "too dear" });
    await chat.untilText("Then let us go on without a course.");
    assert.equal(bookingOf(chat.lastMessage).state, "output-denied");
    await assertValid(chat.messages);
    await chat.sendMessage({ text: "Help me again" });
    assert.equal(chat.messages.length, 4);
    assert.equal(bookingOf(chat.lastMessage).state, "approval-requested");
    assert.equal(chat.error, undefined);
    await assertValid(chat.messages);
  },
  "a chat regenerates an answer and edits a message, and the server's conversation is the page's": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    await chat.addToolApprovalResponse({ id: chat.part("approval-requested").approval.id, approved: false });
    await chat.untilText("Then let us go on without a course.");
    await chat.regenerate();
    assert.equal(bookingOf(chat.lastMessage).state, "approval-requested");
    assert.deepEqual(await usersOf(chat.id), ["Help me"]);
    await chat.sendMessage({ text: "Help her", messageId: chat.messages[0].id });
    assert.equal(bookingOf(chat.lastMessage).state, "approval-requested");
    assert.equal(chat.messages.length, 2);
    assert.deepEqual(await usersOf(chat.id), ["Help her"]);
    await assertValid(chat.messages);
  },
  "a chat sends files with its text": async () => {
    const chat = new Chat();
    const file = { type: "file", mediaType: "text/plain", url: "data:text/plain;base64,aGk=" };
    await chat.sendMessage({ text: "Help me", files: [file] });
    assert.equal(bookingOf(chat.lastMessage).state, "approval-requested");
    assert.deepEqual(await usersOf(chat.id), ["file,Help me"]);
  },
  "a chat that sends its last message alone approves, regenerates and edits": async () => {
    const transport = new DefaultChatTransport({
      api,
      prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) =>
        ({ body: { id, messages: messages.slice(-1), trigger, messageId } }),
    });
    const chat = new Chat({ transport });
    await chat.sendMessage({ text: "Help me" });
    await chat.addToolApprovalResponse({ id: chat.part("approval-requested").approval.id, approved: true });
    await chat.untilText("The course is booked.");
    await chat.regenerate();
    assert.equal(bookingOf(chat.lastMessage).state, "approval-requested");
    await chat.sendMessage({ text: "Help her", messageId: chat.messages[0].id });
    assert.deepEqual(await usersOf(chat.id), ["Help her"]);
    await assertValid(chat.messages);
  },
  "a chat comes back to a run that is under way": async () => {
    let other;
    // A busy machine may come back only when the run has ended: then there is no message, and another chat is begun.
    await eventually("a chat that came back in time", async () => {
      const chat = new Chat();
      const sent = chat.sendMessage({ text: "Help me" });
      await eventually("a text", () => chat.lastMessage?.role === "assistant" && textsOf(chat.lastMessage).length > 0);
      other = new Chat({ id: chat.id, messages: undefined });
      await other.resumeStream();
      await sent;
      assert.equal(other.error, undefined);
      return other.lastMessage !== undefined;
    });
    assert.equal(bookingOf(other.lastMessage).state, "approval-requested");
  },
  "a page that is loaded anew comes back to the response to its decision": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    const known = structuredClone(chat.messages);
    const booking = bookingOf(known[1]);
    Object.assign(booking, { state: "approval-responded", approval: { ...booking.approval, approved: true } });
    const answered = chat.addToolApprovalResponse({ id: booking.approval.id, approved: true });
    const isBooked = () => textsOf(chat.lastMessage).at(-1) === "The course is booked.";
    await eventually("a run", async () => chat.status !== "ready" || isBooked());
    const other = new Chat({ id: chat.id });
    other.messages = known;
    await other.resumeStream();
    await answered;
    await chat.untilText("The course is booked.");
    assert.equal(other.error, undefined);
    if (bookingOf(other.lastMessage).state === "approval-responded") return; // the run had ended
    assert.equal(other.messages.length, 2);
    const partsOf = (message) => JSON.parse(JSON.stringify(message.parts.map((part) => ({ ...part, id: undefined }))));
    assert.deepEqual(partsOf(other.lastMessage), partsOf(chat.lastMessage));
    await assertValid(other.messages);
  },
  "a page that is loaded has the messages that another was streamed, and decides": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    const loaded = new Chat({ id: chat.id });
    loaded.messages = await load(chat.id);
    await assertValid(loaded.messages);
    assert.deepEqual(plain(loaded.messages), plain(chat.messages));
    await loaded.addToolApprovalResponse({ id: loaded.part("approval-requested").approval.id, approved: true });
    await loaded.untilText("The course is booked.");
    const known = await load(chat.id);
    await assertValid(known);
    const withoutApprovals = (messages) =>
      plain(messages).map((message) => ({ ...message, parts: message.parts.map(({ approval, ...part }) => part) }));
    assert.deepEqual(known, withoutApprovals(loaded.messages));
    await loaded.sendMessage({ text: "Help me again" });
    assert.deepEqual((await load(chat.id)).map((each) => each.id), loaded.messages.map((each) => each.id));
    assert.deepEqual((await load(chat.id, "?limit=1"))[0], plain([loaded.lastMessage])[0]);
  },
  "a page that is loaded after a refusal has it": async () => {
    const chat = new Chat();
    await chat.sendMessage({ text: "Help me" });
    await chat.addToolApprovalResponse({ id: chat.part("approval-requested").approval.id, approved: false });
    await chat.untilText("Then let us go on without a course.");
    const known = await load(chat.id);
    await assertValid(known);
    assert.equal(bookingOf(known[1]).state, "output-denied");
  },
  "a page that is loaded while a turn is under way comes back to it, and shows each part once": async () => {
    let other;
    await eventually("a chat that came back in time", async () => {
      const chat = new Chat();
      const sent = chat.sendMessage({ text: "Help me" });
      await eventually("a text", () => chat.lastMessage?.role === "assistant" && textsOf(chat.lastMessage).length > 0);
      other = new Chat({ id: chat.id });
      other.messages = await load(chat.id);
      const before = other.messages.length;
      await other.resumeStream();
      await sent;
      assert.equal(other.error, undefined);
      assert.equal(other.messages.length, 2);
      assert.deepEqual(plain(other.messages), plain(chat.messages));
      return before > 0;
    });
  },
  "a chat without a run under way has nothing to come back to": async () => {
    const chat = new Chat();
    await chat.resumeStream();
    assert.deepEqual([chat.status, chat.error], ["ready", undefined]);
  },
  "a chat that is refused has an error": async () => {
    const chat = new Chat({ transport: new DefaultChatTransport({ api: new URL("/nobody/chat", server.url).href }) });
    await chat.sendMessage({ text: "Help me" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /there is no endpoint/);
  },
});
await server.stop();
