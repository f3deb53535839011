import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { about, path, post } from './api.js';
import { stopsOf } from './breakpoints.js';
import { LiveText } from './live.js';
import { href } from './route.js';
import { clock, duration, shownName, valueOf, visible } from './text.js';
import { AsJson, GraphChoice, Json, Problem, Shown, Text, useAnswer, Wait } from './ui.js';

// The tasks of a checkpoint, why they are due, and what they ask.
const markOf = (task) => (task.questions.length ? 'asks' : task.error && !task.finished ? 'failed' : task.finished ? 'done' : 'due');

// How the thread goes on from its newest checkpoint.
function hintOf(tasks) {
  const open = tasks.filter((task) => !task.finished);
  if (open.length === 0) return 'All tasks have finished. A program is about to end the superstep, or does when it resumes the thread (recover() or RESUME).';
  if (open.some((task) => task.questions.length)) return '';
  if (open.some((task) => task.error)) return 'When a program resumes the thread (RESUME), what failed runs again, and what is done does not.';
  return 'These tasks are running in a program, or run when one resumes the thread (recover() or RESUME).';
}

export function Tasks({ place, checkpoint, isNewest, live }) {
  if (checkpoint.cancelled) return html`<p class="failed">The thread was cancelled here.</p>`;
  if (checkpoint.tasks.length === 0) return html`<p class="dim">Nothing is due.</p>`;
  const hint = isNewest && hintOf(checkpoint.tasks);
  return html`${hint && html`<p class="dim">${hint}</p>`}<ul class="tasks" role="list">${checkpoint.tasks.map((task) => html`<li key=${task.id} class=${markOf(task)} data-task=${task.name}>
    <div class="line"><span class="mark">${markOf(task)}</span> <strong><${Text}>${shownName(task.name)}<//></strong>
      ${task.path.startsWith('push:') && html`<span class="dim"> Send ${Number(task.path.slice(5))}</span>`}
      <span class="dim" title=${clock(task.began_at)}> ${duration(task.took_us)}${task.attempts > 1 ? `, ${task.attempts} attempts` : ''}</span>
      ${task.subgraph_ns && html` <a href=${href({ page: 'thread', thread: place.thread, ns: task.subgraph_ns })}>subgraph</a>`}</div>
    ${task.error && html`<p class="problem"><${Text}>${task.error}<//></p>`}
    ${(task.input != null || task.input_cut) && html`<div class="dim">input <${Shown} value=${task.input} cut=${task.input_cut} /></div>`}
    ${(task.result != null || task.result_cut) && html`<div>wrote <${Shown} value=${task.result} cut=${task.result_cut} /></div>`}
    ${live && !task.finished && html`<${LiveText} live=${live} ns=${place.ns} task=${task} />`}
    ${task.answered.map((question) => html`<div class="dim">? <${Json} value=${question.value} /> (answered)</div>`)}
    ${task.questions.map((question) => html`<${Question} key=${question.id + question.key} thread=${place.thread} question=${question} canAnswer=${isNewest} />`)}
  </li>`)}</ul>`;
}

/** A question with a form for its answer, where one can be stored. */
export function Question({ thread, question, canAnswer }) {
  const [text, setText] = useState('');
  const [state, setState] = useState({});
  const [graph, setGraph] = useState('');
  const answer = async (runs) => {
    const given = question.key ? { key: question.key, value: valueOf(text) } : { id: question.id, value: valueOf(text) };
    try {
      if (runs) await post(path.thread(thread, 'run'), { graph, answers: [given], ...stopsOf(thread) });
      else await post(path.thread(thread, 'answer'), given);
      setState({ done: runs ? 'answered; the run continues' : 'stored; the program takes it when it resumes the thread' });
    } catch (error) {
      setState({ error });
    }
  };
  return html`<div class="question">
    <p>? <${Text}>${typeof question.value === 'string' ? question.value : JSON.stringify(question.value)}<//>${question.key && html` <span class="dim">key <${Text}>${question.key}<//></span>`}</p>
    ${state.done ? html`<p role="status">${state.done}</p>` : canAnswer && about.value?.write && html`<form onSubmit=${(event) => {
      event.preventDefault();
      answer(about.value.app);
    }}>
      <label>Answer <input value=${text} onInput=${(event) => setText(event.target.value)} placeholder="JSON, or a text" /></label>
      ${about.value.app && html`<${GraphChoice} graph=${graph} onGraph=${setGraph} /><button type="submit">${stopsOf(thread) ? 'Answer and run to a breakpoint' : 'Answer and run'}</button>`}
      <button type=${about.value.app ? 'button' : 'submit'} onClick=${about.value.app ? () => answer(false) : undefined}>Store the answer</button>
    </form>`}
    <${Problem} error=${state.error} />
  </div>`;
}

export function Why({ place }) {
  const address = path.checkpoint(place, 'causes');
  const { data, error } = useAnswer(address);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Wait} />`;
  return html`<section aria-label="why">
    ${data.tasks.length === 0 && html`<p class="dim">Nothing is due here.</p>`}
    <dl class="causes">${data.tasks.map((task) => html`<dt><${Text}>${shownName(task.name)}<//>${task.path.startsWith('push:') && html` <span class="dim">Send ${Number(task.path.slice(5))}</span>`}</dt>
      ${task.causes.map((cause) => html`<dd>${visible(cause.text)}</dd>`)}`)}</dl>
    <${AsJson} path=${address} />
  </section>`;
}

export function Blame({ place, channel, channels, onChannel }) {
  const address = channel && path.checkpoint(place, 'writers', { channel, limit: 200 });
  const { data, error } = useAnswer(address || null);
  return html`<section aria-label="blame">
    <label>Channel <select value=${channel} onChange=${(event) => onChannel(event.target.value)}>
      <option value="">choose one</option>${channels.map((name) => html`<option value=${name}>${visible(name)}</option>`)}</select></label>
    <${Problem} error=${error} />
    ${channel && !data && !error && html`<${Wait} />`}
    ${data && html`<table><thead><tr><th scope="col">step</th><th scope="col">by</th><th scope="col">change</th><th scope="col">value</th></tr></thead><tbody>
      ${data.entries.map((entry) => html`<tr><td class="number"><a href=${href({ ...place, id: entry.checkpoint_id, query: { view: 'diff' } })}>${entry.step}</a></td>
        <td>${visible(entry.writers.join(', ') || entry.source)}</td><td>${entry.change}</td><td><${Shown} value=${entry.value} cut=${entry.cut} /></td></tr>`)}</tbody></table>
      ${data.more && html`<p class="dim">Older ones: <a href=${href({ ...place, id: data.more, query: { view: 'blame', channel } })}>from ${data.more}</a></p>`}`}
    ${address && html`<${AsJson} path=${address} />`}
  </section>`;
}
