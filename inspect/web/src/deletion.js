import { html } from 'htm/preact';
import { size } from './text.js';
import { Text } from './ui.js';

const counted = (count, one, several = `${one}s`) => `${count} ${count === 1 ? one : several}`;

// What a deletion removes. Questions that nobody can answer any more are shown as they were asked.
export function Deletion({ view }) {
  return html`<p role="status">All checkpoints of the thread and of its subgraphs are deleted: ${counted(view.checkpoints, 'checkpoint')}, ${counted(view.pending_writes, 'pending write')}, ${size(view.bytes)}${view.subgraph_logs > 0 && `, ${counted(view.subgraph_logs, 'log')} of subgraphs`}.
      ${view.questions.length > 0 && html`<br />${counted(view.questions.length, 'open question is lost', 'open questions are lost')}: <${Text}>${view.questions.map((each) => JSON.stringify(each)).join(', ')}<//>.`}
      <br />Nothing undoes this; export the thread first to keep it.</p>`;
}
