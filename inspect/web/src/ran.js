import { html } from 'htm/preact';
import { clock, duration, shownName, size, visible } from './text.js';
import { Cause, Text } from './ui.js';

// What led to a checkpoint: the tasks of its superstep, with their times and what each wrote.
const sources = { input: 'An input', update: 'An edit', fork: 'A fork' };
const Wrote = ({ list }) => list.map((each, i) => html`${i > 0 && ', '}<bdi>${visible(each.channel)}</bdi> <span class="dim">${size(each.bytes)}</span>`);

export function Ran({ row }) {
  if (!row || row.damaged || row.is_sealed) return null;
  if (row.ran.length === 0) {
    const who = sources[row.source] ?? (row.supersteps > 1 ? `${row.supersteps} supersteps in one commit` : null);
    return html`<p class="ran-note">${who ? html`${who}${row.wrote.length > 0 && html` wrote <${Wrote} list=${row.wrote} />`}.` : html`<span class="dim">The log does not say what ran: the checkpoint before is not there, or cannot be read.</span>`}</p>`;
  }
  const isRetried = row.ran.some((task) => task.attempts > 1);
  return html`<table class="ran-tasks"><caption>Ran</caption><thead><tr><th scope="col">task</th><th scope="col" class="number">took</th>${isRetried && html`<th scope="col" class="number">attempts</th>`}<th scope="col">wrote</th></tr></thead>
    <tbody>${row.ran.map((task) => html`<tr key=${task.id} data-ran=${task.name}><th scope="row"><${Text}>${shownName(task.name)}<//>${task.error && html` <${Cause} title="! failed before" text=${task.error} />`}${task.questions > 0 && html` <span class="asks">? asked</span>`}</th>
      <td class="number" title=${clock(task.began_at)}>${duration(task.took_us)}</td>${isRetried && html`<td class="number">${task.attempts}</td>`}<td>${task.wrote.length ? html`<${Wrote} list=${task.wrote} />` : html`<span class="dim">nothing</span>`}</td></tr>`)}</tbody></table>
    ${row.ran_count > row.ran.length && html`<p class="dim">${row.ran_count - row.ran.length} more tasks ran.</p>`}`;
}
