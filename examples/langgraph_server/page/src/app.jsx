// A chat with LangGraph's own hook for React. It knows nothing of the server but LangGraph's protocol.
import { useStream } from "@langchain/langgraph-sdk/react";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const textOf = ({ content }) =>
  typeof content === "string" ? content : content.map((block) => (block.type === "text" ? block.text : "")).join("");

function Chat() {
  const [threadId, setThreadId] = useState(location.hash.slice(1) || null);
  // [begin stream]
  const thread = useStream({
    apiUrl: location.origin,
    assistantId: "agent",
    threadId,
    onThreadId: (id) => { location.hash = id; setThreadId(id); },
    fetchStateHistory: { limit: 100 },
    reconnectOnMount: true,
  });
  const say = (content, options) => thread.submit({ messages: [{ type: "human", content }] }, options);
  const decide = (question, approved) =>
    thread.submit(undefined, { command: { resume: { [question.id]: { approved } } } });
  // [end stream]
  const busy = thread.isLoading;
  // A run that was stopped is reported as a breakpoint, which has no value.
  const questions = busy ? [] : thread.interrupts.filter(({ value }) => value?.type === "tool-approval");
  return (
    <main data-busy={busy}>
      <ol>
        {thread.messages.map((message) => (
          <Message key={message.id} message={message} thread={thread} say={say} />
        ))}
      </ol>
      {questions.map((question) => (
        <p class="question" key={question.id}>
          May the agent {question.value.tool} <code>{question.value.arguments.path}</code>?
          <button onClick={() => decide(question, true)}>approve</button>
          <button onClick={() => decide(question, false)}>decline</button>
        </p>
      ))}
      {thread.error && <p role="alert">{String(thread.error.message ?? thread.error)}</p>}
      <Line label="message" action="send" disabled={busy} onText={say} />
      {busy && <button onClick={() => thread.stop()}>stop</button>}
    </main>
  );
}

// A message; one of the user can be written anew, which forks the conversation before it.
function Message({ message, thread, say }) {
  const [isEdited, setEdited] = useState(false);
  const seen = thread.getMessagesMetadata(message);
  const branches = seen?.branchOptions ?? [];
  const fork = (text) => {
    setEdited(false);
    return say(text, { checkpoint: seen.firstSeenState.parent_checkpoint });
  };
  return (
    <li data-type={message.type}>
      <span>{textOf(message)}</span>
      {(message.tool_calls ?? []).map((call) => <code key={call.id}>{call.name} {JSON.stringify(call.args)}</code>)}
      {message.type === "human" && seen?.firstSeenState && !thread.isLoading && (
        <button onClick={() => setEdited(!isEdited)}>edit</button>
      )}
      {branches.length > 1 && branches.map((branch, i) => (
        <button key={branch} aria-pressed={branch === seen.branch} onClick={() => thread.setBranch(branch)}>{i + 1}</button>
      ))}
      {isEdited && <Line label="another message" action="send instead" text={textOf(message)} onText={fork} />}
    </li>
  );
}

function Line({ label, action, text = "", disabled = false, onText }) {
  const submit = (event) => {
    event.preventDefault();
    const { value } = event.target.elements.text;
    event.target.reset();
    if (value) void onText(value);
  };
  return (
    <form onSubmit={submit}>
      <input name="text" aria-label={label} defaultValue={text} autocomplete="off" />
      <button disabled={disabled}>{action}</button>
    </form>
  );
}

createRoot(document.getElementById("root")).render(<Chat />);
