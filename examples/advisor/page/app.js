import { Display } from "./display.js";
import { readLines } from "./lines.js";

const byId = (id) => document.getElementById(id);
const display = new Display(byId("items"));
let thread = "";
let aborting = null;  // an AbortController while a response is read
let approvals = [];  // interrupt ids and decisions, while some are open
let openApprovals = 0;
const asked = new Set();  // interrupt ids

const threadPath = () => `/advisor/${encodeURIComponent(thread)}`;

function showStatus(text, isRunning) {
  byId("status").textContent = text;
  byId("start").disabled = isRunning;
  byId("abort").disabled = !isRunning && openApprovals === 0;
}

function askForApproval(line) {
  // A response that begins with an answer may report the question once more.
  if (asked.has(line.interruptId)) return;
  asked.add(line.interruptId);
  openApprovals += 1;
  const item = display.addItem(`${line.stepName} asks: ${line.toolName}?`, "question", line.args);
  const addButton = (label, approved) => {
    const button = document.createElement("button");
    button.textContent = label;
    button.className = approved ? "approve" : "decline";
    button.onclick = () => {
      item.querySelectorAll("button").forEach((each) => { each.disabled = true; });
      decide(line.interruptId, approved);
    };
    item.append(button);
  };
  addButton("Approve", true);
  addButton("Decline", false);
}

function takeLine(line) {
  switch (line.event) {
    case "text-chunk": display.addText(line.stepName, line.text); break;
    case "tool-call": display.addItem(`${line.stepName}: ${line.toolName}`, "call", JSON.parse(line.text)); break;
    case "tool-call-approval": askForApproval(line); break;
    case "error": display.addItem("error", "error", line.message); break;
    case "finish": takeEnd(line.status); break;
  }
}

function takeEnd(status) {
  display.settle();
  aborting = null;
  showStatus(status === "interrupted" ? "The advisor waits for your decision." : `The run is ${status}.`, false);
}

// Runs the thread and shows what the response reports until its end.
async function run(operation, body) {
  const controller = new AbortController();
  aborting = controller;
  showStatus("The advisor works …", true);
  try {
    const response = await fetch(`${threadPath()}/${operation}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    if (!response.ok) throw new Error((await response.json()).error);
    await readLines(response.body, takeLine);
    if (aborting === controller) throw new Error("the connection broke before the end");
  } catch (error) {
    if (controller.signal.aborted) return;
    display.addItem("error", "error", error.message);
    takeEnd("failed");
  }
}

// The run resumes when all its questions are answered.
function decide(id, approved) {
  approvals.push({ id, value: { approved } });
  openApprovals -= 1;
  if (openApprovals > 0) return;
  const answers = approvals;
  approvals = [];
  run("resume", { answers });
}

// Stops the run, or ends the thread if it waits for a decision.
async function abort() {
  aborting?.abort();
  aborting = null;
  openApprovals = 0;
  approvals = [];
  document.querySelectorAll(".question button").forEach((each) => { each.disabled = true; });
  display.settle();
  showStatus("Stopping …", false);
  try {
    const response = await fetch(`${threadPath()}/cancel`, { method: "POST" });
    showStatus(response.ok ? "The run is cancelled." : (await response.json()).error, false);
  } catch (error) {
    showStatus(error.message, false);
  }
}

byId("ask").onsubmit = (event) => {
  event.preventDefault();
  display.clear();
  openApprovals = 0;
  approvals = [];
  thread = crypto.randomUUID?.() ?? String(Date.now());
  run("start", { input: { request: byId("request").value } });
};
byId("abort").onclick = abort;
