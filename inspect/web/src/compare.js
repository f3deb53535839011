import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { get, path } from './api.js';
import { besideEachOther } from './conversation.js';
import { go, href, route } from './route.js';
import { clock, dueOf, duration, ranOf, stateOf, visible } from './text.js';
import { Problem, Text, useDraft, Wait } from './ui.js';

// Two threads beside each other: their newest branches, aligned by what was due, and the first difference.
const most = 2000;
const values_max = 200;
const messages_max = 200;
const message_bytes_max = 100_000;

/** The branch that ends at the newest checkpoint, oldest first. */
function branchOf(checkpoints) {
  const branch = [];
  let wanted = checkpoints[0]?.checkpoint_id;
  for (const each of checkpoints) {
    if (each.checkpoint_id !== wanted) continue;
    branch.push(each);
    wanted = each.parent;
  }
  return branch.reverse();
}

const nameOf = (checkpoint) => `${checkpoint.source === 'fork' ? 'loop' : checkpoint.source} ${checkpoint.next.join(',')}`;

/** Pairs [left, right], one of which may be missing: the longest common sequence of what was due. */
export function align(left, right) {
  const a = left.map(nameOf);
  const b = right.map(nameOf);
  let begin = 0;
  while (begin < a.length && begin < b.length && a[begin] === b[begin]) begin += 1;
  const pairs = left.slice(0, begin).map((each, i) => [each, right[i]]);
  // The rest is aligned in a table; what is too long for one is paired as it stands.
  const rows = a.length - begin;
  const columns = b.length - begin;
  if (rows * columns > 1_000_000) {
    for (let i = 0; i < Math.max(rows, columns); i += 1) pairs.push([left[begin + i], right[begin + i]]);
    return pairs;
  }
  const length = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i -= 1) {
    for (let j = columns - 1; j >= 0; j -= 1) {
      length[i][j] = a[begin + i] === b[begin + j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < rows || j < columns) {
    if (i < rows && j < columns && a[begin + i] === b[begin + j]) pairs.push([left[begin + i++], right[begin + j++]]);
    else if (j >= columns || (i < rows && length[i + 1][j] >= length[i][j + 1])) pairs.push([left[begin + i++], undefined]);
    else pairs.push([undefined, right[begin + j++]]);
  }
  return pairs;
}

const isSame = ([left, right]) => left && right && nameOf(left) === nameOf(right) && left.error === right.error && left.open_questions === right.open_questions;

export function Compare() {
  const { thread, other } = route.value;
  const [left, typeLeft] = useDraft(thread);
  const [right, typeRight] = useDraft(other);
  const [state, setState] = useState({});
  useEffect(() => {
    setState({});
    const read = (name) => get(path.thread(name, 'timeline', { limit: most })).then((answer) => branchOf(answer.checkpoints));
    Promise.all([read(thread), read(other)]).then(([left, right]) => setState({ pairs: align(left, right), newest: [left.at(-1), right.at(-1)] }), (error) => setState({ error }));
  }, [thread, other]);
  const { pairs, newest, error, values } = state;
  const first = pairs?.findIndex((pair) => !isSame(pair)) ?? -1;
  const findValues = async () => {
    try {
      for (const [i, [left, right]] of pairs.entries()) {
        if (i >= values_max || !left || !right) break;
        const found = await get(path.checkpoint({ thread, id: left.checkpoint_id }, 'difference', { to_thread: other, to_checkpoint: right.checkpoint_id }));
        if (found.channels.length) {
          setState({ pairs, newest, values: { at: i, channels: found.channels.map((channel) => channel.channel) } });
          document.getElementById(`pair-${i}`)?.scrollIntoView({ block: 'center' });
          return;
        }
      }
      setState({ pairs, newest, values: { at: -1, channels: [] } });
    } catch (failed) {
      setState({ pairs, newest, error: failed });
    }
  };
  return html`<main class="list" id="main"><h1>Two threads</h1>
    <form class="filters" onSubmit=${(event) => {
      event.preventDefault();
      go({ page: 'compare', thread: left, other: right });
    }}><label>Thread <input value=${left} onInput=${typeLeft} required /></label><label>and <input value=${right} onInput=${typeRight} required /></label><button type="submit">Compare</button></form>
    <${Problem} error=${error} />
    ${!pairs && !error && html`<${Wait} />`}
    ${pairs && html`<p>${first < 0 ? 'Both took the same way.' : html`Their ways part at step ${(pairs[first][0] ?? pairs[first][1]).step}. <button onClick=${() => document.getElementById(`pair-${first}`)?.scrollIntoView({ block: 'center' })}>First difference</button>`}
      <button onClick=${findValues}>First different values</button></p>
      ${values && html`<p role="status">${values.at < 0 ? 'The values of all pairs are the same.' : `Values differ first at step ${pairs[values.at][0].step}: ${values.channels.map(visible).join(', ')}`}</p>`}
      <table class="pairs"><thead><tr><th scope="col">step</th><th scope="col"><${Text}>${thread}<//> ran</th><th scope="col">due next</th><th scope="col">step</th><th scope="col"><${Text}>${other}<//> ran</th><th scope="col">due next</th><th scope="col">values</th></tr></thead>
      <tbody>${pairs.map((pair, i) => html`<tr id=${`pair-${i}`} class=${`${isSame(pair) ? '' : 'differs'} ${i === first || i === values?.at ? 'first' : ''}`}>
        <${Side} thread=${thread} checkpoint=${pair[0]} /><${Side} thread=${other} checkpoint=${pair[1]} />
        <td>${pair[0] && pair[1] && html`<a href=${href({ page: 'thread', thread: other, id: pair[1].checkpoint_id, query: { view: 'diff', with: `${thread}@${pair[0].checkpoint_id}` } })}>diff</a>`}</td></tr>`)}</tbody></table>
      <${Conversations} places=${[{ thread, id: newest[0]?.checkpoint_id }, { thread: other, id: newest[1]?.checkpoint_id }]} />`}
  </main>`;
}

/** The messages of a checkpoint; null if its state has none. */
async function messagesAt(place) {
  if (!place.id) return null;
  try {
    const { items } = await get(path.checkpoint(place, 'values', { path: '/messages', count: messages_max, bytes_max: message_bytes_max }));
    return items.map((item) => (item.is_whole ? JSON.parse(item.json) : { content: `${item.json}…` }));
  } catch {
    return null; // there is no such channel, or it holds something else
  }
}

function Conversations({ places }) {
  const [both, setBoth] = useState(null);
  const names = places.map((place) => `${place.thread}@${place.id}`).join();
  useEffect(() => {
    setBoth(null);
    Promise.all(places.map(messagesAt)).then(([left, right]) => left?.length && right?.length && setBoth(besideEachOther(left, right)));
  }, [names]);
  if (!both) return null;
  const { rows, first } = both;
  return html`<h2>Conversations</h2>
    <p>${first < 0 ? 'Both say the same.' : html`They differ first in message ${first + 1}. <button onClick=${() => document.getElementById(`message-${first}`)?.scrollIntoView({ block: 'center' })}>First other message</button>`}</p>
    <table class="pairs conversations"><tbody>${rows.map((row, i) => html`<tr id=${`message-${i}`} class=${`${row[0] && row[1] && row[0].text === row[1].text && row[0].who === row[1].who ? '' : 'differs'} ${i === first ? 'first' : ''}`}>
      ${row.map((said) => html`<td class="number dim">${said?.who ?? ''}</td><td>${said ? html`<pre class="text">${visible(said.text)}</pre>` : '–'}</td>`)}</tr>`)}</tbody></table>`;
}

function Side({ thread, checkpoint }) {
  if (!checkpoint) return html`<td></td><td class="dim">–</td><td></td>`;
  return html`<td class="number">${checkpoint.step}</td><td title=${clock(checkpoint.created_at)}><a href=${href({ page: 'thread', thread, id: checkpoint.checkpoint_id })}><${Text}>${ranOf(checkpoint) || checkpoint.source}<//></a> <span class="dim">${duration(checkpoint.took_us)}</span></td>
    <td><${Text}>${dueOf(checkpoint)}<//>${stateOf(checkpoint) === 'failed' && html` <span class="failed">! <${Text}>${checkpoint.error || checkpoint.damaged}<//></span>`}</td>`;
}
