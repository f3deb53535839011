import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import '@preact/signals';
import { about, get, isOffline, isRefused, takeKey } from './api.js';
import { Compare } from './compare.js';
import { help, useKeys } from './keys.js';
import { Questions } from './questions.js';
import { followAddress, go, href, route } from './route.js';
import { Store } from './sizes.js';
import { visible } from './text.js';
import { Thread } from './thread.js';
import { Threads } from './threads.js';
import { useWaiting, waiting } from './ui.js';

// The page: a header, and one view.
const root = document.getElementById('app');
const pages = { threads: Threads, thread: Thread, questions: Questions, compare: Compare, store: Store, unknown: Unknown };

function Unknown() {
  return html`<main class="list" id="main"><h1>There is no such page</h1><p><code>${visible(route.value.hash)}</code> names none. <a href=${href({ page: 'threads' })}>All threads</a></p></main>`;
}

function Help({ onClose }) {
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} aria-labelledby="help-title" onClose=${onClose}><h2 id="help-title">Keys</h2>
    <dl>${help.map(([keys, what]) => html`<dt><kbd>${keys}</kbd></dt><dd>${what}</dd>`)}</dl>
    <button onClick=${() => dialog.current.close()}>Close</button></dialog>`;
}

function App() {
  const [isHelp, setHelp] = useState(false);
  useKeys({
    '?': () => setHelp(true),
    t: () => go({ page: 'threads' }),
    q: () => go({ page: 'questions' }),
    '/': () => {
      if (route.value.page !== 'threads') go({ page: 'threads' });
      setTimeout(() => document.getElementById('search')?.focus());
    },
  });
  const page = route.value.page;
  const Page = pages[page];
  useEffect(() => {
    document.title = page === 'thread' ? `${visible(route.value.thread)} – stategraph` : `${page} – stategraph`;
  });
  useWaiting(!about.value && !isRefused.value);
  // Which address is drawn whole, for tests and pictures. The parts inside have counted themselves before this effect.
  const { hash } = route.value;
  const count = waiting.value;
  useLayoutEffect(() => {
    root.dataset.drawn = waiting.peek() === 0 ? hash || '#/' : '';
  }, [hash, count]);
  const link = (name, title) => html`<a href=${href({ page: name })} aria-current=${page === name ? 'page' : undefined}>${title}</a>`;
  return html`<a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      const main = document.getElementById('main');
      main?.setAttribute('tabindex', '-1');
      main?.focus();
    }}>to the content</a>
    <header class="top"><strong>stategraph</strong>
      <nav aria-label="main">${link('threads', 'Threads')}${link('questions', 'Questions')}${link('store', 'Store')}</nav>
      <span class="dim store">${about.value && visible(about.value.store)} ${about.value && (about.value.write ? (about.value.app ? 'with its program' : 'writable') : 'read-only')}</span>
      <button class="quiet" aria-label="keys" onClick=${() => setHelp(true)}>?</button></header>
    ${isOffline.value && html`<p class="offline" role="alert">The server is gone. This page asks again each second, and continues where it is.</p>`}
    ${isRefused.value ? html`<main id="main" class="list"><h1>No key</h1><p>Open the address that the program has printed: the key is behind its <code>#</code>.</p></main>` : html`<${Page} />`}
    ${isHelp && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

async function askAbout() {
  try {
    about.value = await get('about');
  } catch {
    setTimeout(askAbout, isRefused.value ? 60_000 : 1000);
  }
}

takeKey();
followAddress();
askAbout();
// Where no view asks anything by itself.
setInterval(() => isOffline.value && get('about').catch(() => {}), 1000);
render(html`<${App} />`, root);
