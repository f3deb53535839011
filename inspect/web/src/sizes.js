import { html } from 'htm/preact';
import { useMemo } from 'preact/hooks';
import { path } from './api.js';
import { href } from './route.js';
import { duration, shownName, size, visible } from './text.js';
import { mapsOf, Treemap } from './treemap.js';
import { AsJson, Problem, Text, useAnswer, Wait } from './ui.js';

const largest_shown = 20;

// Bytes by channel, by kind and by thread, and how they and the durations grew over the steps.
// Names of channels and nodes are a program's own, and shown as they are.
function Bars({ title, numbers, text = size, most_rows = Infinity }) {
  const rows = Object.entries(numbers).sort((a, b) => b[1] - a[1]).slice(0, most_rows);
  const most = Math.max(1, ...rows.map((row) => row[1]));
  return html`<table class="bars"><caption>${title}</caption><tbody>${rows.map(([name, bytes]) => html`<tr><th scope="row">${visible(name)}</th><td class="number">${text(bytes)}</td>
    <td><svg width="200" height="10" aria-hidden="true"><rect width=${(200 * bytes) / most} height="10" /></svg></td></tr>`)}</tbody></table>`;
}

// The threads with the most bytes.
function Largest({ threads }) {
  if (!threads?.length) return null;
  const most = Math.max(1, threads[0].bytes);
  return html`<table class="bars largest"><caption>largest threads</caption><thead><tr><th scope="col">thread</th><th scope="col" class="number">checkpoints</th><th scope="col" class="number">bytes</th><td></td></tr></thead>
    <tbody>${threads.map((thread) => html`<tr key=${thread.thread_id} data-thread=${thread.thread_id}><th scope="row"><a class="name" href=${href({ page: 'thread', thread: thread.thread_id, query: { view: 'sizes' } })}><${Text}>${thread.thread_id}<//></a></th>
      <td class="number">${thread.checkpoints}</td><td class="number">${size(thread.bytes)}</td><td><svg width="200" height="10" aria-hidden="true"><rect width=${(200 * thread.bytes) / most} height="10" /></svg></td></tr>`)}</tbody></table>`;
}

function Curve({ title, rows, of, text }) {
  const points = rows.map(of).map((value) => value ?? 0).reverse();
  if (points.length < 2) return null;
  const most = Math.max(1, ...points);
  const width = 560;
  const line = points.map((value, i) => `${i ? 'L' : 'M'}${((i * width) / (points.length - 1)).toFixed(1)} ${(60 - (58 * value) / most).toFixed(1)}`).join('');
  return html`<figure class="curve"><figcaption>${title}, ${points.length} checkpoints, at most ${text(most)}</figcaption><svg viewBox=${`0 0 ${width} 62`} width=${width} height="62" role="img" aria-label=${`${title}, at most ${text(most)}`}><path d=${line} /></svg></figure>`;
}

function timeByNode(rows) {
  const times = {};
  for (const row of rows) {
    for (const task of row.ran) if (task.took_us != null) times[shownName(task.node)] = (times[shownName(task.node)] ?? 0) + task.took_us;
  }
  return times;
}

/** Of a thread with its log and what is read of that, or of the store. */
export function Sizes({ thread, log, checkpoints = [] }) {
  const address = thread === undefined ? path.stats(largest_shown) : path.thread(thread, 'stats');
  const { data, error } = useAnswer(address);
  const maps = useMemo(() => data && mapsOf(data, thread), [data]);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Wait} />`;
  const rows = checkpoints.slice(0, 2000);
  return html`<section aria-label="sizes">
    <p>${thread === undefined && `${data.threads} threads, `}${data.checkpoints} checkpoints${data.stored_bytes != null ? `; ${size(data.stored_bytes)} in the store, as it holds them: RocksDB compresses. The bytes below are of records, not compressed.` : ''}</p>
    <${Treemap} maps=${maps} />
    <${Bars} title="bytes by channel" numbers=${data.channels} />
    <${Bars} title="bytes by kind" numbers=${Object.fromEntries(Object.entries(data.bytes).map(([kind, bytes]) => [kind.replaceAll('_', ' '), bytes]))} />
    <${Largest} threads=${data.largest} />
    ${log && html`<${Bars} title=${`time of tasks by node, of ${rows.length} checkpoints`} numbers=${timeByNode(rows)} text=${duration} most_rows=${20} />
      <${Curve} title="bytes of each checkpoint" rows=${rows} of=${(row) => row.bytes} text=${size} />
      <${Curve} title="duration of each superstep" rows=${rows} of=${(row) => row.took_us} text=${duration} />`}
    ${data.damaged.length > 0 && html`<h2>Damaged</h2><ul>${data.damaged.map((each) => html`<li>${visible(each.thread_id)}: ${visible(each.why)}</li>`)}</ul>`}
    <${AsJson} path=${address} />
  </section>`;
}

export const Store = () => html`<main class="list" id="main"><h1>Store</h1><${Sizes} /></main>`;
