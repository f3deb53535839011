import { html } from 'htm/preact';
import { useEffect, useMemo, useReducer, useRef, useState } from 'preact/hooks';
import { about, follow, isOffline, path } from './api.js';
import { Actions } from './actions.js';
import { Chart } from './chart.js';
import { Changes, Difference } from './diff.js';
import { filterOf, Find, focusFind } from './find.js';
import { Graph, toggleAll } from './graph.js';
import { useKeys } from './keys.js';
import { LiveNote, useLive } from './live.js';
import { Log } from './log.js';
import { Ran } from './ran.js';
import { go, href, route } from './route.js';
import { focusSeek, Seek } from './seek.js';
import { Sizes } from './sizes.js';
import { Blame, Tasks, Why } from './tasks.js';
import { clock, duration, visible } from './text.js';
import { Timeline } from './timeline.js';
import { AsJson, Problem, Text, useAnswer, useDraft, useWaiting, Wait } from './ui.js';
import { Values } from './values.js';
import { WholeThread } from './whole.js';

// One thread: its timeline, the graph, and a checkpoint in several views.
const views = [['state', 'State'], ['diff', 'Diff'], ['why', 'Why'], ['blame', 'Blame'], ['chart', 'Chart'], ['sizes', 'Sizes']];

function useLog(thread, ns) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const log = useMemo(() => new Log(thread, ns), [thread, ns]);
  const [mark, setMark] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    const stop = log.watch((isOlder) => isOlder || redraw());
    const take = async (head) => (await log.take(head)) && setMark((count) => count + 1);
    log.load().then(() => follow(path.thread(thread, 'head', { ns }), control.signal, take));
    return () => {
      stop();
      control.abort();
    };
  }, [log]);
  useWaiting(!log.isReady);
  return { log, mark, readAgain: () => setMark((count) => count + 1) };
}

// What the timeline shows of a log: all of it, or what the filter selects, which is read again when the log grows.
function useList(log, filter, mark) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  const name = filter && JSON.stringify(filter);
  const list = useMemo(() => (filter ? new Log(log.thread, log.ns, filter) : log), [log, name]);
  useEffect(() => (list === log ? undefined : list.watch(redraw)), [list]);
  const loaded = useRef(null);
  useEffect(() => {
    if (list !== log && loaded.current === list) list.renew(() => route.value.id);
    else if (list !== log) list.load();
    loaded.current = list;
  }, [list, mark]);
  useWaiting(list !== log && !list.isReady);
  return list;
}

// What is shown is found in the whole log, whatever a filter selects: its row says what ran.
function useReached(log, id) {
  const [, redraw] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    if (id) log.reach(id).then(redraw);
    else if (log.isCut) log.load();
  }, [log, id, log.isReady]);
}

// Whether what is drawn is what the address names and, after a command of this page, not older than what that stored:
// before, nothing may be done with it. Ids of one log grow.
function useDrawn(log, id, checkpoint, isRead, readAgain) {
  const stored = useRef({});
  const least = !id && stored.current.log === log ? stored.current.id : '';
  const isRecent = (row) => !least || row?.checkpoint_id >= least;
  const isDrawn = isRead && checkpoint != null && isRecent(checkpoint) && isRecent(log.checkpoints[0]);
  const onStored = (made) => {
    stored.current = { log, id: made };
    readAgain();
  };
  return { isDrawn, onStored };
}

export function Thread() {
  const { thread, ns, id, query } = route.value;
  const place = { page: 'thread', thread, ns, id, query };
  const { log, mark, readAgain } = useLog(thread, ns);
  const list = useList(log, filterOf(query), mark);
  useReached(log, id);
  const isNewest = !id || id === log.newestId;
  const address = path.checkpoint(place);
  const { data, error } = useAnswer(address, isNewest ? mark : 0);
  // While another checkpoint is read, the one before stays.
  const last = useRef({});
  if (data) last.current = { log, data };
  const checkpoint = data ?? (!error && last.current.log === log ? last.current.data : undefined);
  const { isDrawn, onStored } = useDrawn(log, id, checkpoint, data !== undefined, readAgain);
  useWaiting(checkpoint != null && !isDrawn);
  const shown = { ...place, id: checkpoint?.checkpoint_id ?? id };
  const live = useLive(thread);
  const view = views.some(([name]) => name === query.view) ? query.view : 'state';
  const show = (name, more = {}) => go({ ...route.value, query: { ...route.value.query, view: name, ...more } });
  const graph = useRef(null);
  const [isWhole, setWhole] = useState(false);
  const openWhole = () => about.value?.write && !ns && setWhole(true);
  useThreadKeys(list, show, () => toggleAll(graph.current), openWhole);
  const row = log.find(shown.id) ?? list.find(shown.id);
  const ran = useMemo(() => new Set(row?.ran.map((task) => task.node)), [row]);
  return html`<main class="thread" id="main">
    <section class="left" aria-label="timeline">
      <h1 title=${visible(thread)}><${Text}>${thread}<//></h1>
      ${ns && html`<p class="dim">namespace <${Text}>${ns}<//>, <a href=${href({ page: 'thread', thread })}>the root</a></p>`}
      ${about.value?.write && !ns && log.checkpoints.length > 0 && html`<p><button aria-haspopup="dialog" onClick=${openWhole}>Copy, prune, delete…</button></p>`}
      <p class="live" role="status">${isOffline.value ? '' : id ? html`<a href=${href({ ...place, id: '' })}>follow the newest</a>` : 'following'}${log.isCut ? '; newer checkpoints are not in this list' : ''}</p>
      ${log.checkpoints.length > 0 && html`<${Seek} log=${log} place=${place} /><${Find} log=${log} list=${list} place=${place} />`}
      <${Problem} error=${log.error ?? list.error} />
      ${log.error?.status === 404 && html`<p><a href=${href({ page: 'threads' })}>All threads</a></p>`}
      ${log.checkpoints.length > 0 && (list.checkpoints.length > 0 || list.more || !list.isReady ? html`<${Timeline} log=${list} place=${place} />` : !list.error && html`<p class="dim">No superstep is like this.</p>`)}
      ${list.isPaused && html`<p role="status">${list.error ? 'Older checkpoints could not be read.' : 'The checkpoints that were read last have nothing like this; older ones may.'} <button onClick=${() => list.continue()}>Continue</button></p>`}
      ${!log.isReady && html`<${Wait} />`}
      <${AsJson} path=${path.thread(thread, 'timeline', { ns, limit: 200 })} />
    </section>
    <section class="right" aria-label="checkpoint" aria-busy=${!isDrawn && !error} data-checkpoint=${checkpoint?.checkpoint_id}>
      <${Problem} error=${log.error ? null : error} />
      ${row?.damaged && html`<p class="problem" role="alert"><${Text}>${row.damaged}<//></p>`}
      ${checkpoint && html`
        <header class="checkpoint"><h2>Step ${checkpoint.step} <span class="dim">${checkpoint.source}</span></h2>
          <p class="facts dim"><code>${checkpoint.checkpoint_id}</code><span>${clock(checkpoint.created_at)}</span>${checkpoint.took_us != null && html`<span>took ${duration(checkpoint.took_us)}</span>`}
          ${Object.entries(checkpoint.metadata).map(([key, value]) => html`<span class="tag"><${Text}>${`${key} = ${typeof value === 'string' ? value : JSON.stringify(value)}`}<//></span>`)}</p></header>
        <${Actions} key=${`${thread} ${ns}`} place=${place} checkpoint=${checkpoint} log=${log} isDrawn=${isDrawn} onStored=${onStored} />
        <div class="now"><${Graph} place=${shown} tasks=${checkpoint.tasks} ran=${ran} onGraph=${(found) => (graph.current = found)} />
        <div class="due"><section aria-label="ran"><${Ran} row=${row} /></section><section aria-label="tasks"><h3>${isNewest ? 'Due' : 'Due next'}</h3><${LiveNote} live=${live} /><${Tasks} place=${place} checkpoint=${checkpoint} isNewest=${isNewest && isDrawn && !ns} live=${isNewest ? live : null} /></section>
        <div class="tabs" role="tablist" aria-label="views" onKeyDown=${(event) => turnTab(event, view, show)}>${views.map(([name, title]) => html`<button role="tab" id=${`tab-${name}`} aria-selected=${view === name} aria-controls="view" tabindex=${view === name ? 0 : -1} onClick=${() => show(name)}>${title}</button>`)}</div>
        <div role="tabpanel" id="view" aria-labelledby=${`tab-${view}`} tabindex="0">
          ${view === 'state' && html`<${Values} key=${checkpoint.checkpoint_id} place=${shown} page=${checkpoint.values} onBlame=${(channel) => show('blame', { channel })} /><${AsJson} path=${address} />`}
          ${view === 'diff' && html`<${CompareWith} place=${place} thread=${thread} log=${log} />${query.with ? html`<${Difference} place=${shown} other=${query.with} />` : html`<${Changes} place=${shown} />`}`}
          ${view === 'why' && html`<${Why} place=${id ? shown : place} />`}
          ${view === 'blame' && html`<${Blame} place=${shown} channel=${query.channel ?? ''} channels=${checkpoint.values.items.map((item) => item.key)} onChannel=${(channel) => show('blame', { channel })} />`}
          ${view === 'chart' && html`<${Chart} place=${place} mark=${isNewest ? mark : 0} />`}
          ${view === 'sizes' && html`<${Sizes} thread=${thread} log=${log} checkpoints=${log.checkpoints} />`}
        </div></div></div>`}
      ${!checkpoint && !error && log.checkpoints.length > 0 && html`<${Wait} />`}
    </section>
    ${isWhole && html`<${WholeThread} key=${thread} thread=${thread} log=${log} onClose=${() => setWhole(false)} />`}
  </main>`;
}

function turnTab(event, view, show) {
  const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (!by) return;
  const at = views.findIndex(([name]) => name === view);
  const next = views[(at + by + views.length) % views.length][0];
  show(next);
  document.getElementById(`tab-${next}`)?.focus();
}

function CompareWith({ place, thread, log }) {
  const [typed, type] = useDraft(place.query.with ?? '');
  return html`<form class="filters" onSubmit=${(event) => {
    event.preventDefault();
    const given = typed.trim();
    const step = /^\d+$/.test(given) && log.checkpoints.find((row) => row.step === Number(given));
    if (given) go({ ...place, query: { ...place.query, with: step ? step.checkpoint_id : given } });
  }}><label>Compare with <input placeholder="step, id or THREAD@id" value=${typed} onInput=${type} /></label><button type="submit">Compare</button>
    <label>or with thread <input name="other" placeholder="name" onChange=${(event) => event.target.value && go({ page: 'compare', thread, other: event.target.value })} /></label></form>`;
}

// Keys come faster than views are drawn: what is selected is what the address says now.
function useThreadKeys(log, show, openAll, openWhole) {
  // The newest need not be among those that a filter selects.
  const at = () => (route.value.id || !log.filter ? log.indexOf(route.value.id || log.newestId) : -1);
  const to = (index) => log.checkpoints[index] && go({ ...route.value, id: log.checkpoints[index].checkpoint_id });
  const down = () => (at() + 1 < log.checkpoints.length ? to(at() + 1) : log.loadOlder().then(() => to(at() + 1)));
  const isFork = (i) => log.checkpoints[i].source === 'fork' || (log.checkpoints[i + 1] && log.checkpoints[i].parent !== log.checkpoints[i + 1].checkpoint_id);
  const fork = (by) => {
    for (let i = at() + by; i >= 0 && i < log.checkpoints.length; i += by) if (isFork(i)) return to(i);
    return undefined;
  };
  useKeys({
    j: down,
    k: () => to(at() - 1),
    ArrowDown: (event) => event.target.closest?.('.timeline') && down(),
    ArrowUp: (event) => event.target.closest?.('.timeline') && to(at() - 1),
    '[': () => fork(1),
    ']': () => fork(-1),
    d: () => show('diff', { with: '' }),
    s: () => show('state'),
    w: () => show('why'),
    b: () => show('blame'),
    c: () => show('chart'),
    z: () => show('sizes'),
    f: focusFind,
    o: openAll,
    m: openWhole,
    g: focusSeek,
    n: () => go({ ...route.value, id: '' }),
  });
}
