import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { get, path } from './api.js';
import { size, visible } from './text.js';
import { Problem, Text } from './ui.js';

// A state as a tree. What is large is read by pages, as it is opened.
const page_count = 100;

const escaped = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');
const isNested = (item) => (item.kind === 'list' || item.kind === 'map') && item.size > 0;

export function Values({ place, page, onBlame }) {
  if (page.items.length === 0) return html`<p class="dim">No channel is set.</p>`;
  return html`<ul class="tree" role="list">${page.items.map((item) => html`<${Item} key=${item.key} place=${place} item=${item} name=${item.key} pointer=${`/${escaped(item.key)}`} onBlame=${onBlame} />`)}</ul>`;
}

function summary(item) {
  if (item.is_whole && (!isNested(item) || item.json.length < 200)) return item.json;
  if (item.kind === 'list') return `list of ${item.size}`;
  if (item.kind === 'map') return `map of ${item.size}`;
  return item.json ? `${item.json}…` : item.kind;
}

function Item({ place, item, name, pointer, onBlame }) {
  const [items, setItems] = useState(null);
  const [error, setError] = useState(null);
  const [isOpen, setOpen] = useState(false);
  const read = async (from, count = page_count, bytes_max = 2000) => {
    try {
      const answer = await get(path.checkpoint(place, 'values', { path: pointer, from: String(from), count, bytes_max }));
      setItems((before) => (from === 0 ? answer.items : [...before, ...answer.items]));
      setError(null);
    } catch (failed) {
      setError(failed);
    }
  };
  const toggle = () => {
    setOpen(!isOpen);
    if (!items && isNested(item)) read(0);
  };
  const canOpen = isNested(item) || (item.kind === 'text' && (!item.is_whole || item.json.length > 120));
  return html`<li>
    <div class="item">
      ${canOpen ? html`<button class="toggle" aria-expanded=${isOpen} aria-label=${`open ${visible(name)}`} onClick=${toggle}>${isOpen ? '▾' : '▸'}</button>` : html`<span class="toggle" aria-hidden="true"></span>`}
      <span class="key"><${Text}>${name}<//></span>
      <span class=${`value ${item.kind}`}>${isOpen && isNested(item) ? html`<span class="dim">${item.kind} of ${item.size}</span>` : html`<${Text}>${summary(item).slice(0, 300)}<//>`}</span>
      <span class="bytes">${item.stored_bytes > 200 && size(item.stored_bytes)}</span>
      ${onBlame && html`<button class="quiet" onClick=${() => onBlame(name)} aria-label=${`who wrote ${visible(name)}`}>blame</button>`}
    </div>
    <${Problem} error=${error} />
    ${isOpen && item.kind === 'text' && html`<${LongText} place=${place} item=${item} pointer=${pointer} />`}
    ${isOpen && isNested(item) && items && html`<ul role="list">
      ${items.map((each, i) => html`<${Item} key=${i} place=${place} item=${each} name=${item.kind === 'map' ? each.key : String(i)} pointer=${`${pointer}/${item.kind === 'map' ? escaped(each.key) : i}`} />`)}
      ${items.length < item.size && html`<li><button onClick=${() => read(items.length)}>${item.size - items.length} more</button></li>`}
    </ul>`}
  </li>`;
}

function LongText({ place, item, pointer }) {
  const [text, setText] = useState(item.is_whole ? item.json : null);
  const [error, setError] = useState(null);
  if (text === null && !error) {
    get(path.checkpoint(place, 'values', { path: pointer, bytes_max: 100000 })).then((answer) => setText(answer.value.json), setError);
  }
  let shown = text ?? '';
  try {
    shown = JSON.parse(shown);
  } catch {
    // it is cut
  }
  return html`<${Problem} error=${error} /><pre class="text" tabindex="0">${visible(shown)}</pre>${item.size > 100000 && html`<p class="dim">the first 100 kB of ${size(item.size)}</p>`}`;
}
