import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { about, get, path } from './api.js';
import { go, href, route } from './route.js';
import { shownName, visible } from './text.js';
import { Problem, useDraft } from './ui.js';

// Finds supersteps: those that a filter selects, and the first one at which a condition over the state holds.
const statuses = [['', 'all'], ['failed', 'failed'], ['retried', 'retried'], ['asked', 'asked a question'], ['unfinished', 'unfinished'], ['input', 'inputs'], ['update', 'edits'], ['fork', 'forks']];
const requests_max = 20; // of one search, before it asks whether to continue

/** The filter that an address has; null if it has none. */
export function filterOf({ node, status, text }) {
  return node || status || text ? { node, status, text } : null;
}

export function Find({ log, list, place }) {
  const filter = filterOf(place.query);
  const box = useRef(null);
  useEffect(() => {
    if (filter) box.current.open = true;
  }, [Boolean(filter)]);
  return html`<details class="find" ref=${box}><summary>Filter, find the first step where…</summary>
    <${Filter} log=${log} list=${list} place=${place} filter=${filter} />
    ${about.value && !about.value.redacted.length && html`<${FirstStep} key=${`${place.thread} ${place.ns}`} log=${log} place=${place} />`}</details>`;
}

export function focusFind() {
  const box = document.querySelector('.find');
  if (!box) return;
  box.open = true;
  (document.getElementById('condition') ?? box.querySelector('input'))?.focus();
}

const names_max = 200;
function namesIn(log) {
  const names = new Set();
  for (const row of log.checkpoints) {
    for (const name of [...row.next, ...row.ran.map((task) => task.node)]) if (name) names.add(name);
    if (names.size >= names_max) break;
  }
  return [...names].sort();
}

function Filter({ log, list, place, filter }) {
  const [node, typeNode] = useDraft(filter?.node ?? '');
  const [text, typeText] = useDraft(filter?.text ?? '');
  const show = (more) => go({ ...place, query: { ...place.query, node, text, ...more } });
  const found = list.checkpoints.length;
  return html`<form class="filters" onSubmit=${(event) => {
    event.preventDefault();
    show({});
  }}><label>Node <input name="node" size="12" list="nodes" value=${node} onInput=${typeNode} autocomplete="off" /></label>
    <datalist id="nodes">${namesIn(log).map((name) => html`<option value=${name}>${visible(shownName(name))}</option>`)}</datalist>
    <label>Status <select value=${filter?.status ?? ''} onChange=${(event) => show({ status: event.target.value })}>${statuses.map(([word, title]) => html`<option value=${word}>${title}</option>`)}</select></label>
    <label>Text <input name="text" size="12" value=${text} onInput=${typeText} placeholder="node, channel, error" autocomplete="off" /></label>
    <button type="submit">Filter</button>
    ${filter && html`<button type="button" onClick=${() => go({ ...place, query: { ...place.query, node: '', status: '', text: '' } })}>Show all</button>
      <span class="dim" role="status">${list.isReady ? `${found}${list.more ? ' or more' : ''} found` : 'reading…'}</span>`}</form>`;
}

function FirstStep({ log, place }) {
  const [state, setState] = useState({});
  const turn = useRef(0);
  useEffect(() => () => (turn.current = -1), []);
  // A search stays on the branch that was the newest when it began, however many requests it takes.
  const search = async ({ condition, id = log.newestId, more: from = '', looked = 0 }) => {
    turn.current += 1;
    const mine = turn.current;
    const say = (next) => turn.current === mine && setState({ condition, id, looked, ...next });
    try {
      for (let i = 0; i < requests_max; i += 1) {
        say({ isBusy: true });
        const answer = await get(path.checkpoint({ thread: place.thread, ns: place.ns, id }, 'first', { condition, from }));
        if (turn.current !== mine) return;
        looked += answer.looked_at;
        from = answer.more;
        if (answer.found || !answer.more) {
          say({ found: answer.found, isDone: true, isCut: answer.is_cut });
          if (answer.found) go({ ...route.value, id: answer.found.checkpoint_id });
          return;
        }
      }
      say({ more: from });
    } catch (error) {
      say({ error });
    }
  };
  return html`<form class="filters first" onSubmit=${(event) => {
    event.preventDefault();
    const condition = new FormData(event.target).get('condition').trim();
    if (condition) search({ condition });
  }}><label>First step where <input id="condition" name="condition" size="22" maxlength="4096" placeholder=${'total < 0'} autocomplete="off" spellcheck=${false} aria-describedby="condition-help" /></label>
    <button type="submit">Find</button> <${Found} state=${state} place=${place} onMore=${() => search(state)} />
    <p class="dim" id="condition-help">Channels and their members, compared by <code>${'== != < <= > >= contains'}</code>, <code>size(list)</code>, <code>and or not</code>.</p></form>`;
}

function Found({ state, place, onMore }) {
  const { found, isBusy, isDone, isCut, looked, more, error } = state;
  const older = isCut ? '; older ones were not looked at' : '';
  if (error) return html`<pre class="problem" role="alert">${visible(error.message)}</pre>`;
  return html`<span role="status">${isBusy && `looked at ${looked}…`}
    ${found && html`step ${found.step}${found.ran.length > 0 && `, ${visible(found.ran.map(shownName).join(', '))} ran`}: <a href=${href({ ...place, id: found.checkpoint_id, query: { ...place.query, view: 'diff' } })}>what it changed</a>${older}`}
    ${isDone && !found && `at none of ${looked} checkpoints${older}`}
    ${more && html`at none of the oldest ${looked} <button type="button" onClick=${onMore}>Continue</button>`}</span>`;
}
