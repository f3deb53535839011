import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { go, href, route } from './route.js';
import { useRoving } from './roving.js';
import { squarify } from './squarify.js';
import { size, visible } from './text.js';

// Bytes as areas: of threads, of channels, or of kinds of records. The tables below it have the same numbers.
const width = 640;
const height = 260;
const cells_max = 40;

// The largest items, with the others as one.
function shownOf(items) {
  const sorted = items.filter((item) => item.bytes > 0).sort((a, b) => b.bytes - a.bytes);
  const rest = sorted.slice(cells_max);
  if (rest.length === 0) return sorted;
  return [...sorted.slice(0, cells_max), { key: 'rest', name: `${rest.length} more`, bytes: rest.reduce((sum, item) => sum + item.bytes, 0), isRest: true }];
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);

function Cell({ cell, share, tab }) {
  const { item } = cell;
  const name = visible(item.name);
  const said = `${name}: ${size(item.bytes)}, ${share < 0.01 ? 'less than 1' : Math.round(100 * share)} %`;
  const letters = Math.floor((cell.width - 8) / 7);
  const inside = html`<rect x=${cell.x + 0.5} y=${cell.y + 0.5} width=${Math.max(0.5, cell.width - 1)} height=${Math.max(0.5, cell.height - 1)} fill-opacity=${(0.1 + 0.3 * share).toFixed(3)} />
    ${letters >= 4 && cell.height >= 20 && html`<text x=${cell.x + 5} y=${cell.y + 15}>${cut(name, letters)}</text>`}
    ${letters >= 6 && cell.height >= 38 && html`<text class="bytes" x=${cell.x + 5} y=${cell.y + 31}>${size(item.bytes)}</text>`}`;
  const common = { class: `cell ${item.isRest ? 'rest' : ''}`, 'data-key': item.key, 'data-name': item.name, 'aria-label': said, tabindex: tab };
  if (item.to) return html`<a ...${common} href=${href(item.to)}>${inside}</a>`;
  return html`<g ...${common} role="img">${inside}</g>`;
}

/** `maps` are {name, title, items}, where items are {key, name, bytes, to, isRest}; the address says which is drawn. */
export function Treemap({ maps }) {
  const chosen = maps.find((map) => map.name === route.value.query.map) ?? maps[0];
  const cells = useMemo(() => squarify(shownOf(chosen.items), width, height), [chosen]);
  const [shownKey, show] = useState(null);
  const { tabOf, on } = useRoving('.cell', cells.map((cell) => cell.item.key));
  const total = cells.reduce((sum, cell) => sum + cell.item.bytes, 0);
  const shown = cells.find((cell) => cell.item.key === shownKey)?.item;
  if (total === 0) return null;
  const point = (event) => {
    const cell = event.target.closest?.('.cell');
    if (cell) show(cell.dataset.key);
  };
  return html`<figure class="treemap"><figcaption><span id="treemap-title">${size(total)} ${chosen.title}</span>
    <span role="group" aria-label="what is drawn">${maps.map((map) => html`<button key=${map.name} aria-pressed=${map === chosen} onClick=${() => go({ ...route.value, query: { ...route.value.query, map: map.name } }, true)}>${map.name}</button>`)}</span></figcaption>
    <svg role="group" aria-labelledby="treemap-title" viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height} onPointerOver=${point} onFocusIn=${(event) => (on.onFocusIn(event), point(event))} onKeyDown=${on.onKeyDown}>
      ${cells.map((cell) => html`<${Cell} key=${`${chosen.name} ${cell.item.key}`} cell=${cell} share=${cell.item.bytes / total} tab=${tabOf(cell.item.key)} />`)}</svg>
    <p class="dim" aria-hidden="true">${shown ? `${visible(shown.name)}: ${shown.bytes.toLocaleString('en')} bytes` : 'The tables below have the same numbers.'}</p></figure>`;
}

const sumOf = (numbers) => Object.values(numbers).reduce((sum, bytes) => sum + bytes, 0);
const named = (numbers, to) => Object.entries(numbers).map(([name, bytes]) => ({ key: `of ${name}`, name, bytes, to: to?.(name) }));
const other = (name, bytes) => (bytes > 0 ? [{ key: 'other', name, bytes, isRest: true }] : []);

/** What can be drawn of the statistics of a thread, or, without one, of the store. */
export function mapsOf(data, thread) {
  const total = sumOf(data.bytes);
  const blame = thread === undefined ? undefined : (channel) => ({ page: 'thread', thread, query: { view: 'blame', channel } });
  const channels = { name: 'channels', title: 'by channel', items: [...named(data.channels, blame), ...other('in no channel', total - sumOf(data.channels))] };
  const kinds = { name: 'kinds', title: 'by kind', items: named(data.bytes).map((item) => ({ ...item, name: item.name.replaceAll('_', ' ') })) };
  if (thread !== undefined) return [channels, kinds];
  const largest = data.largest.map((each) => ({ key: `of ${each.thread_id}`, name: each.thread_id, bytes: each.bytes, to: { page: 'thread', thread: each.thread_id, query: { view: 'sizes' } } }));
  const rest = data.threads - largest.length;
  const threads = { name: 'threads', title: 'by thread', items: [...largest, ...other(`${rest} other threads`, total - largest.reduce((sum, item) => sum + item.bytes, 0))] };
  return [threads, channels, kinds];
}
