import { html } from 'htm/preact';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { about, follow, path } from './api.js';
import { shownName, size, visible } from './text.js';

// What running tasks of the server's own program report before a checkpoint has it: the text that a model writes, and
// events of the program. It is nowhere stored: who comes late has not seen the beginning.
const tasks_max = 64;
const texts_max = 8;
const letters_max = 20_000;
const nothing = { isReady: false, hidden: false, dropped: 0, tasks: new Map(), custom: new Map() };

function added(texts, part) {
  const last = texts.at(-1);
  const isNext = last && last.message_id === part.message_id && last.kind === part.kind;
  const text = (isNext ? last.text : '') + part.text;
  const one = { message_id: part.message_id, kind: part.kind, text: text.slice(-letters_max), bytes: (isNext ? last.bytes : 0) + part.bytes };
  return [...(isNext ? texts.slice(0, -1) : texts), one].slice(-texts_max);
}

function bounded(map) {
  while (map.size > tasks_max) map.delete(map.keys().next().value);
  return map;
}

/** What is known after one more event of the server. */
export function withEvent(before, event) {
  const tasks = new Map(event.fresh ? [] : before.tasks);
  const custom = new Map(event.fresh ? [] : before.custom);
  for (const part of event.parts) {
    const known = tasks.get(part.task_id);
    if (known && known.attempt > part.attempt) continue;
    const texts = known?.attempt === part.attempt ? known.texts : [];
    tasks.set(part.task_id, { task_id: part.task_id, node: part.node, ns: part.ns, attempt: part.attempt, texts: added(texts, part) });
  }
  for (const each of event.custom) custom.set([...each.ns, each.node].join('|'), each);
  return { isReady: true, hidden: event.hidden, dropped: event.dropped, tasks: bounded(tasks), custom: bounded(custom) };
}

/** A signal, so that what grows is drawn without the rest of the view. */
export function useLive(thread) {
  const live = useSignal(nothing);
  const isLive = Boolean(about.value?.live);
  useEffect(() => {
    live.value = nothing;
    if (!isLive) return undefined;
    const control = new AbortController();
    follow(path.thread(thread, 'live'), control.signal, (event) => (live.value = withEvent(live.value, event)));
    return () => control.abort();
  }, [thread, isLive]);
  return live;
}

export function LiveNote({ live }) {
  const { isReady, hidden, dropped, tasks } = live.value;
  if (!isReady) return null;
  const said = [hidden && tasks.size > 0 && 'What tasks write is hidden until it is stored, because this page hides values.', dropped > 0 && `${dropped} parts of what tasks wrote are missing, because this page was too slow.`].filter(Boolean);
  return html`<p class="dim live-note" data-live="true" hidden=${said.length === 0}>${said.join(' ')}</p>`;
}

// Of a task itself, or of one in a graph inside it. `ns` is the log that is shown.
function isOf(ns, task, each) {
  const outer = ns ? ns.split('|') : [];
  if (each.ns.length < outer.length || outer.some((part, i) => part !== each.ns[i])) return false;
  return each.ns.length === outer.length ? (each.task_id ? each.task_id === task.id : each.node === task.name) : each.ns[outer.length].includes(task.id);
}

const depthOf = (ns) => (ns ? ns.split('|').length : 0);
const within = (ns, each) => [...each.ns.slice(depthOf(ns)).map((part) => part.split(':')[0]), each.node].map(shownName).join(' › ');

/** What a task that is not finished has written so far. */
export function LiveText({ live, ns, task }) {
  const { hidden, tasks, custom } = live.value;
  const mine = [...tasks.values()].filter((each) => isOf(ns, task, each));
  const events = [...custom.values()].filter((each) => isOf(ns, task, each));
  if (mine.length + events.length === 0) return null;
  const who = (each) => each.ns.length > depthOf(ns) && html`<span class="dim"><bdi>${visible(within(ns, each))}</bdi> </span>`;
  return html`<div class="written" role="group" aria-label=${`what ${visible(shownName(task.name))} writes`}>
    ${events.map((each) => html`<div class="dim">${who(each)}reports <code class="json">${hidden ? `•••(${size(each.bytes)})` : visible(each.json)}</code></div>`)}
    ${mine.flatMap((each) => each.texts.map((text, i) => html`<div key=${`${each.task_id} ${i}`}>${who(each)}<span class="dim">${text.kind === 'text' ? 'writes' : text.kind === 'call' ? 'calls' : 'thinks'}</span>
      <div class="text" tabindex="0"><div>${hidden ? `•••(${size(text.bytes)})` : `${text.bytes > text.text.length && text.text.length >= letters_max ? '…' : ''}${visible(text.text)}`}</div></div></div>`))}
  </div>`;
}
