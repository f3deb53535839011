import { html } from 'htm/preact';
import { path } from './api.js';
import { go, href, route } from './route.js';
import { ago, clock, namesOf } from './text.js';
import { Question } from './tasks.js';
import { AsJson, Problem, Text, useFollowed, Wait } from './ui.js';

// The inbox: what waits for an answer, in all threads.
export function Questions() {
  const address = path.questions(route.value.query.after);
  const { data, error } = useFollowed(address);
  return html`<main class="list" id="main"><h1>Open questions</h1>
    <${Problem} error=${error} />
    ${!data && !error && html`<${Wait} />`}
    ${data?.questions.length === 0 && html`<p class="dim">${data.next ? 'None of the newest threads asks anything; the older ones were not searched.' : 'Nobody asks anything.'}</p>`}
    <ul class="inbox" role="list">${data?.questions.map((question) => html`<li key=${question.thread_id + question.id + question.key}>
      <div class="line"><a class="name" href=${href({ page: 'thread', thread: question.thread_id, id: question.checkpoint_id })}><${Text}>${question.thread_id}<//></a>
        <span class="dim"> <${Text}>${namesOf(question.next)}<//> </span><span class="dim" title=${clock(question.asked_at)}>${ago(question.asked_at)}</span></div>
      <${Question} thread=${question.thread_id} question=${question} canAnswer=${true} />
    </li>`)}</ul>
    ${data?.next && html`<button onClick=${() => go({ page: 'questions', query: { after: data.next } })}>older</button>`}
    <${AsJson} path=${address} /></main>`;
}
