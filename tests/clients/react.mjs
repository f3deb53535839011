// React in jsdom, for clients that are hooks.
import { JSDOM } from "jsdom";

const dom = new JSDOM('<div id="root"></div>', { url: "http://127.0.0.1/" });
const names = ["document", "navigator", "HTMLElement", "Node", "sessionStorage"];
Object.defineProperty(globalThis, "window", { value: dom.window, configurable: true });
for (const name of names) Object.defineProperty(globalThis, name, { value: dom.window[name], configurable: true });
globalThis.IS_REACT_ACT_ENVIRONMENT = true;

const { default: React } = await import("react");
const { createRoot } = await import("react-dom/client");
const root = createRoot(document.getElementById("root"));
let mounted = 0;

export const { act } = React;

// Mounts a component of its own that uses a hook. `hook.now` is what the hook returned last, and `hook.shown` all texts
// of messages that a page would have shown.
export async function mount(use) {
  const hook = { now: undefined, shown: [] };
  function Page() {
    hook.now = use();
    hook.shown.push((hook.now.messages ?? []).map((message) => `${message.type ?? message.getType?.()}:${message.text ?? message.content}`));
    return null;
  }
  await act(async () => root.render(React.createElement(Page, { key: (mounted += 1) })));
  hook.until = async (what, holds, timeout = 300_000) => {
    const end = Date.now() + timeout;
    while (!holds(hook.now)) {
      if (Date.now() > end) throw new Error(`within ${timeout} ms: ${what}`);
      await act(async () => new Promise((resolve) => setTimeout(resolve, 20)));
    }
  };
  return hook;
}
export const unmount = () => act(async () => root.render(null));
