import { html } from 'htm/preact';
import { signal } from '@preact/signals';
import { about } from './api.js';
import { shownName, visible } from './text.js';

// Where runs that the page begins stop: before and after nodes, for each thread, as long as this tab is open.
const storageName = 'stategraph-breakpoints';
const threads_max = 100;
const none = { before: [], after: [] };

function stored() {
  try {
    return new Map(JSON.parse(sessionStorage.getItem(storageName) ?? '[]'));
  } catch {
    return new Map();
  }
}
const all = signal(stored());

function keep(thread, breakpoints) {
  const next = new Map(all.value);
  next.delete(thread);
  if (breakpoints.before.length + breakpoints.after.length > 0) next.set(thread, breakpoints);
  if (next.size > threads_max) next.delete(next.keys().next().value);
  all.value = next;
  try {
    sessionStorage.setItem(storageName, JSON.stringify([...next]));
  } catch {
    // there is no room: they last until the page is left
  }
}

export const breakpointsOf = (thread) => all.value.get(thread) ?? none;

function toggle(thread, kind, node) {
  const before = breakpointsOf(thread);
  const nodes = before[kind];
  keep(thread, { ...before, [kind]: nodes.includes(node) ? nodes.filter((each) => each !== node) : [...nodes, node] });
}

/** What a run to the next breakpoint is begun with; null without breakpoints. */
export function stopsOf(thread) {
  const { before, after } = breakpointsOf(thread);
  return before.length + after.length > 0 ? { interrupt_before: before, interrupt_after: after } : null;
}

/** Whether a node can have breakpoints: those of graphs inside the graph cannot. */
export const canStop = (place, node) => Boolean(about.value?.app) && !place.ns && !node.isEdge && !node.at.includes('/');

export const stopKeys = (node) => ['before', 'after'].map((kind) => `${kind} ${node.at}`);

/** The two places of a drawn node where a run can stop. */
export function Stops({ thread, node, tabOf }) {
  const set = breakpointsOf(thread);
  return ['before', 'after'].map((kind) => {
    const isSet = set[kind].includes(node.name);
    const key = `${kind} ${node.at}`;
    const flip = () => toggle(thread, kind, node.name);
    return html`<g key=${key} class="stop" data-key=${key} role="button" tabindex=${tabOf(key)} aria-pressed=${isSet} aria-label=${`breakpoint ${kind} ${visible(shownName(node.name))}`}
      transform=${`translate(${node.width - 11} ${kind === 'before' ? 0 : node.height})`} onClick=${flip}
      onKeyDown=${(event) => (event.key === 'Enter' || event.key === ' ') && (event.preventDefault(), flip())}>
      <circle class="room" r="9" /><circle class="mark" r=${isSet ? 5 : 3.5} /></g>`;
  });
}

/** Which breakpoints a thread has, as a text, with a button that removes them. */
export function BreakpointList({ thread }) {
  const { before, after } = breakpointsOf(thread);
  const said = [...before.map((node) => `before ${shownName(node)}`), ...after.map((node) => `after ${shownName(node)}`)];
  if (said.length === 0) return null;
  return html`<span class="dim breakpoints">breakpoints: <bdi>${visible(said.join(', '))}</bdi> <button class="quiet" aria-label="clear the breakpoints" onClick=${() => keep(thread, none)}>clear</button></span>`;
}
