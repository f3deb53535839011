import { html } from 'htm/preact';
import { path } from './api.js';
import { href } from './route.js';
import { clock, duration, shownName } from './text.js';
import { AsJson, Cause, Problem, Text, useRestedAnswer, Wait } from './ui.js';

// When the tasks of the run that led to a checkpoint ran, one below the other (a Gantt chart), with those of its
// subgraphs and the times in which it waited.
const least_percent = 0.4; // so that a short bar is seen

function Bar({ bar, length }) {
  const percent = (us) => (100 * us) / Math.max(1, length);
  const isOpen = bar.took_us == null;
  const x = Math.min(100 - least_percent, percent(bar.begin_us));
  const width = Math.max(least_percent, isOpen ? 100 - x : Math.min(100 - x, percent(bar.took_us)));
  return html`<svg class="bar" width="100%" height="16" aria-hidden="true"><rect x=${`${x}%`} width=${`${width}%`} y="2" height="12" rx="2" /></svg>`;
}

const mark_words = { done: '', over: '', failed: '! failed', asks: '? asks', due: 'not finished' };
function Name({ bar, thread, query }) {
  const name = html`<${Text}>${shownName(bar.name)}<//>`;
  if (bar.kind === 'wait') return html`<span class="dim">${bar.name}</span>`;
  return html`<a class="name" href=${href({ page: 'thread', thread, ns: bar.checkpoint_ns, id: bar.checkpoint_id, query })}>${name}</a>
    ${bar.attempts > 1 && html` <span class="asks">${bar.attempts} attempts</span>`}${bar.error && html` <${Cause} title=${mark_words[bar.state] || '! failed before'} text=${bar.error} />`}${bar.state !== 'done' && !bar.error && html` <span class=${bar.state === 'failed' ? 'failed' : 'asks'}>${mark_words[bar.state]}</span>`}`;
}

/** With a place without an id, the newest run. */
export function Chart({ place, mark }) {
  const address = path.checkpoint(place, 'chart');
  const { data, error } = useRestedAnswer(address, mark);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Wait} />`;
  const { bars, length_us: length } = data;
  return html`<section aria-label="chart">
    <p class="dim">${data.supersteps} supersteps from ${clock(data.begins_at)}, ${duration(length)}${data.is_cut && '; a part of this run is not in the chart'}</p>
    <table class="chart"><thead><tr><th scope="col">task</th><th scope="col" class="number">began</th><th scope="col" class="number">took</th><th scope="col" class="lane-of-time"><span class="visually-hidden">when</span><div class="scale" aria-hidden="true"><span>0</span><span>${duration(Math.round(length / 2))}</span><span>${duration(length)}</span></div></th></tr></thead>
      <tbody>${bars.map((bar) => html`<tr class=${`${bar.kind} ${bar.state}`}><th scope="row" style=${{ paddingLeft: `${bar.depth * 1.1}rem` }}><${Name} bar=${bar} thread=${place.thread} query=${{ view: 'chart' }} /></th>
        <td class="number">${duration(bar.begin_us)}</td><td class="number">${bar.took_us == null ? '–' : duration(bar.took_us)}</td><td class="lane-of-time"><${Bar} bar=${bar} length=${length} /></td></tr>`)}</tbody></table>
    <${AsJson} path=${address} />
  </section>`;
}
