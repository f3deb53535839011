import { html } from 'htm/preact';
import { signal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { about, follow, get, isOffline, restAfter } from './api.js';
import { visible } from './text.js';

// Parts that all views use.

/** How many parts of the page wait for what they draw. */
export const waiting = signal(0);

/** Counts a part in `waiting` while `isWaiting`, from the moment that it is in the document. */
export function useWaiting(isWaiting) {
  useLayoutEffect(() => {
    if (!isWaiting) return undefined;
    waiting.value += 1;
    return () => {
      waiting.value -= 1;
    };
  }, [isWaiting]);
}

/** What the server answers to a path; asked again when it changes. */
export function useAnswer(path, again = 0) {
  const [answer, setAnswer] = useState({ path: null });
  useEffect(() => {
    if (!path) return undefined;
    const control = new AbortController();
    const began = performance.now();
    const facts = () => ({ path, again, took_ms: performance.now() - began });
    get(path, control.signal).then(
      (data) => setAnswer({ ...facts(), data }),
      (error) => error.name !== 'AbortError' && setAnswer((before) => ({ ...facts(), error, data: before.path === path ? before.data : undefined })),
    );
    return () => control.abort();
  }, [path, again, isOffline.value]);
  const isThis = answer.path === path;
  useWaiting(Boolean(path) && !isThis);
  return isThis ? answer : {};
}

/** The same of a path whose answer is heavy: for another `mark` it is asked after a rest, however fast marks come. */
export function useRestedAnswer(path, mark) {
  const [again, setAgain] = useState(mark);
  const newest = useRef(mark);
  newest.current = mark;
  const answer = useAnswer(path, again);
  const isOld = answer.again === again && mark !== again;
  useEffect(() => {
    if (!isOld) return undefined;
    const timer = setTimeout(() => setAgain(newest.current), restAfter(answer.took_ms));
    return () => clearTimeout(timer);
  }, [isOld, answer.took_ms]);
  return answer;
}

/** The same of a path that can be followed: what the server answers now. */
export function useFollowed(path) {
  const [answer, setAnswer] = useState({ path: null });
  useEffect(() => {
    const control = new AbortController();
    follow(path, control.signal, (data) => setAnswer({ path, data }), (error) => setAnswer((before) => ({ path, error, data: before.path === path ? before.data : undefined })));
    return () => control.abort();
  }, [path]);
  const isThis = answer.path === path;
  useWaiting(!isThis);
  return { data: isThis ? answer.data : undefined, error: isThis ? answer.error : undefined };
}

export const Text = ({ children }) => html`<bdi>${visible(children ?? '')}</bdi>`;

export function Problem({ error }) {
  return error ? html`<p class="problem" role="alert">${visible(error.message)}</p>` : null;
}

/** An error that takes no room until somebody asks for it, by mouse, key or touch. */
export const Cause = ({ title, text }) => html`<details class="cause"><summary class="failed">${title}</summary><p class="problem"><${Text}>${text}<//></p></details>`;

export const Wait = () => html`<p class="dim" role="status">reading…</p>`;

const shapes = { interrupted: '?', failed: '!', damaged: '!', done: '✓', sleeping: 'z', in_flight: '…' };
export const Status = ({ status }) =>
  html`<span class="status ${status}"><span aria-hidden="true">${shapes[status] ?? '·'}</span> ${status.replace('_', ' ')}</span>`;

/** The answer behind a view, as JSON. */
export function AsJson({ path }) {
  const [shown, setShown] = useState(false);
  const answer = useAnswer(shown ? path : null);
  return html`<div class="as-json">
    <button class="quiet" aria-expanded=${shown} onClick=${() => setShown(!shown)}>JSON</button>
    ${shown && html`<section aria-label="as JSON"><code class="address">GET /api/${visible(path)}</code>
      <${Problem} error=${answer.error} />
      ${answer.data && html`<pre tabindex="0">${visible(JSON.stringify(answer.data, null, 2)).slice(0, 200000)}</pre>`}</section>`}
  </div>`;
}

export function Json({ value }) {
  const text = JSON.stringify(value, null, 1);
  return html`<code class="json">${visible(text === undefined ? '' : text.length < 200 ? JSON.stringify(value) : text)}</code>`;
}

/** One or the other, as one item of a list was cut. */
export function Shown({ value, cut }) {
  if (cut) return html`<span class="dim">${cut.kind}, ${cut.size} ${cut.kind === 'list' || cut.kind === 'map' ? 'elements' : 'bytes'}, ${cut.stored_bytes} bytes: see State</span>`;
  return html`<${Json} value=${value} />`;
}

/** Whose thread it is, where the program serves several graphs; the server asks for it if none is chosen. */
export function GraphChoice({ graph, onGraph }) {
  const names = about.value?.graphs ?? [];
  if (names.length < 2) return null;
  return html`<label>Graph <select value=${graph} onChange=${(event) => onGraph(event.target.value)}><option value="">choose one</option>${names.map((name) => html`<option value=${name}>${visible(name)}</option>`)}</select></label>`;
}

/** What is typed into an input that begins with `value`. It stays while the page is drawn anew, until `value` is another. */
export function useDraft(value) {
  const [draft, setDraft] = useState({ from: value, text: value });
  return [draft.from === value ? draft.text : value, (event) => setDraft({ from: value, text: event.target.value })];
}
