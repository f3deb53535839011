import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { go, href } from './route.js';
import { clock, duration, size, span, visible } from './text.js';
import { Text } from './ui.js';

// A thread's checkpoints as a tree of its forks. Only what is on the screen is in the document; pages are fetched when
// they come near.
const row_height = 30;
const lane_width = 14;
const idle_ms = 30_000;
const spare_rows = 12;

export function Timeline({ log, place }) {
  const box = useRef(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const rows = log.checkpoints;
  const selected = place.id ? rows.findIndex((row) => row.checkpoint_id === place.id) : 0;
  const first = Math.max(0, Math.floor(view.top / row_height) - spare_rows);
  const end = Math.min(rows.length, Math.ceil((view.top + view.height) / row_height) + spare_rows);
  const drawn = log.lanes.upTo(rows, end);
  useEffect(() => {
    if (log.more && end > rows.length - 100) log.loadOlder();
  });
  useLayoutEffect(() => {
    const measure = () => setView({ top: box.current.scrollTop, height: box.current.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  useLayoutEffect(() => {
    if (selected < 0) return;
    const top = selected * row_height;
    if (top < box.current.scrollTop) box.current.scrollTop = top;
    else if (top + row_height > box.current.scrollTop + box.current.clientHeight) box.current.scrollTop = top + row_height - box.current.clientHeight;
  }, [selected]);
  return html`<div class="timeline" ref=${box} onScroll=${(event) => setView({ top: event.target.scrollTop, height: event.target.clientHeight })}
      role="listbox" aria-label="checkpoints, the newest first" tabindex="0" aria-activedescendant=${selected >= 0 ? `c-${rows[selected]?.checkpoint_id}` : undefined}>
    <div class="rows" role="presentation" ref=${(element) => element && (element.style.height = `${rows.length * row_height}px`)}>
      ${rows.slice(first, end).map((row, i) => html`<${Row} key=${row.checkpoint_id} row=${row} at=${first + i} lanes=${drawn[first + i]} older=${rows[first + i + 1]} place=${place} isSelected=${first + i === selected} />`)}
    </div>
    ${log.more && html`<p class="dim" role="presentation">older ones follow</p>`}
  </div>`;
}

function Row({ row, at, lanes, older, place, isSelected }) {
  const width = Math.max(1, Math.min(8, lanes.before.length, 8), Math.min(8, lanes.lane + 1), Math.min(8, lanes.after.length)) * lane_width;
  const idle = older ? Date.parse(row.created_at) - Date.parse(older.created_at) : 0;
  const to = { page: 'thread', thread: place.thread, ns: place.ns, id: row.checkpoint_id, query: place.query };
  const what = row.damaged ? 'damaged' : row.is_sealed ? 'encrypted' : row.next.join(', ') || 'nothing is due';
  return html`<a id="c-${row.checkpoint_id}" class="row ${isSelected ? 'selected' : ''} ${row.error || row.damaged ? 'failed' : row.open_questions ? 'asks' : ''}"
      role="option" aria-selected=${isSelected} tabindex="-1" href=${href(to)} data-step=${row.step} data-source=${row.source}
      ref=${(element) => element && (element.style.top = `${at * row_height}px`)}
      title=${`${row.checkpoint_id}\n${clock(row.created_at)}\n${row.source}, ${size(row.bytes)}${row.error ? `\n${visible(row.error)}` : ''}`}
      onClick=${(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(to);
      }}>
    <${Lane} lanes=${lanes} width=${width} source=${row.source} />
    <span class="step">${row.is_sealed || row.damaged ? '?' : row.step}</span>
    <span class="what">${row.open_questions > 0 && '? '}${row.error && '! '}<${Text}>${what}<//></span>
    <span class="dim">${row.source !== 'loop' && row.source}</span>
    <span class="took">${duration(row.took_us)}</span>
    ${idle > idle_ms && html`<span class="idle">${span(idle)} idle before</span>`}
  </a>`;
}

function Lane({ lanes, width, source }) {
  const x = (lane) => Math.min(lane, 7) * lane_width + lane_width / 2;
  const middle = row_height / 2;
  const lines = [];
  lanes.before.forEach((is, i) => {
    if (is && !lanes.joins.includes(i)) lines.push(`M${x(i)} 0V${i === lanes.lane || !lanes.after[i] ? middle : row_height}`);
  });
  if (lanes.after[lanes.lane]) lines.push(`M${x(lanes.lane)} ${middle}V${row_height}`);
  for (const i of lanes.joins) lines.push(`M${x(i)} 0C${x(i)} ${middle} ${x(lanes.lane)} 0 ${x(lanes.lane)} ${middle}`);
  const cx = x(lanes.lane);
  const shape = source === 'input' ? html`<rect x=${cx - 4} y=${middle - 4} width="8" height="8" />`
    : source === 'update' ? html`<path d=${`M${cx} ${middle - 6}L${cx + 6} ${middle}L${cx} ${middle + 6}L${cx - 6} ${middle}Z`} />`
    : source === 'fork' ? html`<path d=${`M${cx} ${middle - 5}L${cx + 6} ${middle + 5}L${cx - 6} ${middle + 5}Z`} />`
    : html`<circle cx=${cx} cy=${middle} r="4" />`;
  return html`<svg class="lane" width=${width} height=${row_height} aria-hidden="true"><path class="line" d=${lines.join('')} />${shape}</svg>`;
}
