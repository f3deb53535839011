import { parsePartial } from "./partial_json.js";

// What the page lists. A step's text replaces the last item if that is this step's text; everything else is appended,
// and a text that continues after it is a new item.
export class Display {
  #list;
  #texts = new Map();  // of each step, all that has arrived
  #last = null;

  constructor(list) {
    this.#list = list;
  }

  clear() {
    this.#list.replaceChildren();
    this.#texts.clear();
    this.#last = null;
  }

  // More of a step's text.
  addText(step, text) {
    const all = (this.#texts.get(step) ?? "") + text;
    this.#texts.set(step, all);
    const value = parsePartial(all);
    if (value === undefined) return;
    if (this.#last === null || this.#last.dataset.text !== step) {
      this.settle();
      this.#append(step, "text growing").dataset.text = step;
    }
    this.#last.lastElementChild.replaceWith(elementOf(value));
  }

  addItem(title, kind, value) {
    this.settle();
    const item = this.#append(title, kind);
    item.lastElementChild.replaceWith(elementOf(value));
    return item;
  }

  // Nothing grows any more.
  settle() {
    this.#last?.classList.remove("growing");
  }

  #append(title, kind) {
    const item = document.createElement("li");
    item.className = `item ${kind}`;
    item.dataset.name = title;
    const heading = document.createElement("h2");
    heading.textContent = title;
    item.append(heading, document.createElement("div"));
    this.#list.append(item);
    this.#last = item;
    return item;
  }
}

function elementOf(value) {
  if (Array.isArray(value)) {
    const list = document.createElement("ul");
    for (const each of value) {
      const entry = document.createElement("li");
      entry.append(elementOf(each));
      list.append(entry);
    }
    return list;
  }
  if (value !== null && typeof value === "object") {
    const list = document.createElement("dl");
    for (const [name, each] of Object.entries(value)) {
      const term = document.createElement("dt");
      term.textContent = name.replaceAll("_", " ");
      const description = document.createElement("dd");
      description.append(elementOf(each));
      list.append(term, description);
    }
    return list;
  }
  const text = document.createElement("span");
  text.textContent = String(value);
  return text;
}
