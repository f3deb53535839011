import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { path } from './api.js';
import { go, href, route } from './route.js';
import { ago, clock, namesOf, valueOf } from './text.js';
import { AsJson, Problem, Status, Text, useFollowed, Wait } from './ui.js';

// The list of threads: the newest first, by status, text, metadata and age, in pages of 50.
const ages = [['', 'any'], ['3600', 'an hour'], ['86400', 'a day'], ['604800', 'a week']];

export function Threads() {
  const query = route.value.query;
  const [typed, setTyped] = useState({ text: query.text ?? '', metadata: query.metadata ?? '' });
  const address = path.threads({ status: query.status, text: query.text, metadata: query.metadata, since_s: query.since_s, after: query.after, limit: 50 });
  const { data, error } = useFollowed(address);
  const search = (more) => go({ page: 'threads', query: { ...query, after: '', ...more } });
  return html`<main class="list" id="main">
    <h1>Threads</h1>
    <form role="search" class="filters" onSubmit=${(event) => {
      event.preventDefault();
      search(typed);
    }}>
      <label>Search <input id="search" type="search" value=${typed.text} placeholder="name or question" onInput=${(event) => setTyped({ ...typed, text: event.target.value })} /></label>
      <label>Metadata <input id="metadata" type="search" value=${typed.metadata} placeholder="name=value" onInput=${(event) => setTyped({ ...typed, metadata: event.target.value })} /></label>
      <label>Age <select value=${query.since_s ?? ''} onChange=${(event) => search({ since_s: event.target.value })}>${ages.map(([seconds, title]) => html`<option value=${seconds}>${title}</option>`)}</select></label>
      <button type="submit">Search</button>
      <div role="group" aria-label="status" class="statuses">
        <button type="button" aria-pressed=${!query.status} onClick=${() => search({ status: '' })}>all</button>
        ${Object.entries(data?.counts ?? {}).map(([status, count]) => html`<button type="button" aria-pressed=${query.status === status} onClick=${() => search({ status })}><${Status} status=${status} /> ${count}</button>`)}
      </div>
    </form>
    <${Problem} error=${error} />
    ${data ? html`<${Rows} threads=${data.threads} isCut=${Boolean(data.next)} search=${search} />` : !error && html`<${Wait} />`}
    ${data && html`<nav class="pages" aria-label="pages">
      ${query.after && html`<button onClick=${() => history.back()}>newer</button>`}
      ${data.next && html`<button onClick=${() => go({ page: 'threads', query: { ...query, after: data.next } })}>older</button>`}
    </nav>`}
    <${AsJson} path=${address} />
  </main>`;
}

// The metadata of a thread's newest checkpoint; each entry finds the threads that have it too.
function Tags({ metadata, onEntry }) {
  return Object.entries(metadata).map(([name, value]) => {
    const entry = `${name}=${typeof value === 'string' && typeof valueOf(value) === 'string' ? value : JSON.stringify(value)}`;
    return html` <button type="button" class="tag" title="threads with this metadata" onClick=${() => onEntry(entry)}><${Text}>${entry.slice(0, 60)}<//></button>`;
  });
}

// `isCut`: a search ends after so many threads, also where it has found none.
function Rows({ threads, isCut, search }) {
  if (threads.length === 0) return html`<p class="dim">${isCut ? 'No such thread is among the newest that were searched; the older ones were not.' : 'There are no such threads.'}</p>`;
  return html`<table class="threads"><thead><tr><th scope="col">status</th><th scope="col">thread</th><th scope="col">age</th><th scope="col">step</th><th scope="col">waits for</th></tr></thead>
    <tbody>${threads.map((thread) => html`<tr key=${thread.thread_id} data-thread=${thread.thread_id}>
      <td><${Status} status=${thread.status} /></td>
      <td><a class="name" href=${href({ page: 'thread', thread: thread.thread_id })}><${Text}>${thread.thread_id}<//></a><${Tags} metadata=${thread.metadata} onEntry=${(entry) => search({ metadata: entry })} /></td>
      <td class="number" title=${clock(thread.updated_at)}>${ago(thread.updated_at)}</td>
      <td class="number">${thread.step}</td>
      <td class="what">${thread.error ? html`<span class="failed">! <${Text}>${thread.error}<//></span>`
        : thread.questions.length ? thread.questions.map((question) => html`<span class="asks">? <${Text}>${typeof question === 'string' ? question : JSON.stringify(question)}<//></span>`)
        : html`<${Text}>${namesOf(thread.next)}<//>`}${thread.wake_at && html` <span class="dim">until ${clock(thread.wake_at)}</span>`}</td>
    </tr>`)}</tbody></table>`;
}
