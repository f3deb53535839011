import { html } from 'htm/preact';
import { create } from 'jsondiffpatch';
import { path } from './api.js';
import { go } from './route.js';
import { visible } from './text.js';
import { AsJson, Json, Problem, Shown, Text, useAnswer, Wait } from './ui.js';

// What a checkpoint changed, and what differs between any two.
const differ = create({ objectHash: (item) => item?.id ?? JSON.stringify(item), arrays: { detectMove: false } });

const words = { set: 'is now', append: 'got', put: 'got', edit: 'was edited', clear: 'was cleared' };

export function Changes({ place }) {
  const address = path.checkpoint(place, 'changes');
  const { data, error } = useAnswer(address);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Wait} />`;
  return html`<section aria-label="changes">
    ${data.supersteps > 1 && html`<p class="dim">This commit stands for ${data.supersteps} supersteps.</p>`}
    ${data.is_whole && html`<p class="dim">This commit holds the whole state: every channel is listed, changed or not.</p>`}
    ${data.changes.length === 0 && html`<p class="dim">No channel changed.</p>`}
    <ul class="changes" role="list">${data.changes.map((change) => html`<li data-channel=${change.channel} class=${change.change}>
      <span class="key"><${Text}>${change.channel}<//></span> <span class="dim">${words[change.change] ?? change.change}</span>
      ${change.change === 'append' && Array.isArray(change.value) ? change.value.map((item) => html`<div class="added">+ <${Json} value=${item} /></div>`)
        : change.change !== 'clear' && html`<div class="added">${change.change === 'edit' ? '~' : '+'} <${Shown} value=${change.value} cut=${change.cut} /></div>`}
    </li>`)}</ul>
    <${AsJson} path=${address} />
  </section>`;
}

/** Two checkpoints, also of two threads: "ID" or "THREAD@ID". */
export function Difference({ place, other }) {
  const at = other.lastIndexOf('@');
  const thread = at > 0 ? other.slice(0, at) : place.thread;
  const id = at >= 0 ? other.slice(at + 1) : other;
  // From the other one to this one.
  const address = path.checkpoint({ thread, id, ns: place.ns }, 'difference', { to_thread: place.thread, to_checkpoint: place.id || 'newest', to_ns: place.ns });
  const { data, error } = useAnswer(address);
  if (error) return html`<${Problem} error=${error} />`;
  if (!data) return html`<${Wait} />`;
  return html`<section aria-label="difference">
    <p class="dim">From <code>${visible(other)}</code> to this checkpoint. <button class="quiet" onClick=${() => go({ ...place, query: { ...place.query, with: '' } })}>with the parent instead</button></p>
    ${data.channels.length === 0 && html`<p>Both have the same values.</p>`}
    <ul class="changes" role="list">${data.channels.map((channel) => html`<li data-channel=${channel.channel}>
      <span class="key"><${Text}>${channel.channel}<//></span>
      <${Delta} delta=${differ.diff(channel.before ?? undefined, channel.after ?? undefined)} left=${channel.before} />
    </li>`)}</ul>
    <${AsJson} path=${address} />
  </section>`;
}

const Removed = ({ value }) => html`<div class="removed">- <${Json} value=${value} /></div>`;
const Added = ({ value }) => html`<div class="added">+ <${Json} value=${value} /></div>`;

// The deltas of jsondiffpatch: [new], [old, new], [old, 0, 0], or the members that differ.
export function Delta({ delta, left }) {
  if (delta === undefined) return null;
  if (Array.isArray(delta)) {
    if (delta.length === 1) return html`<${Added} value=${delta[0]} />`;
    if (delta.length === 2) return html`<${Removed} value=${delta[0]} /><${Added} value=${delta[1]} />`;
    return html`<${Removed} value=${delta[0]} />`;
  }
  const isList = delta._t === 'a';
  const keys = Object.keys(delta).filter((key) => key !== '_t');
  const same = isList && Array.isArray(left) ? left.length - keys.filter((key) => key.startsWith('_')).length : 0;
  return html`<ul class="delta" role="list">${same > 0 && html`<li class="dim">${same} the same, or changed inside</li>`}
    ${keys.map((key) => {
      const name = isList ? key.replace('_', '') : key;
      return html`<li><span class="key"><${Text}>${name}<//></span><${Delta} delta=${delta[key]} left=${left?.[name]} /></li>`;
    })}</ul>`;
}
