import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { get, path } from './api.js';
import { canStop, stopKeys, Stops } from './breakpoints.js';
import { layOut } from './layout.js';
import { go, route } from './route.js';
import { useRoving } from './roving.js';
import { visible } from './text.js';
import { AsJson, useAnswer } from './ui.js';

// The graph that made a checkpoint, as it was then, with what is due, asked, failed and done there. Graphs inside it open
// in place. If no description is stored, the nodes that are due.
const look_every_ms = 1000;
const least_scale = 0.6; // a wider graph scrolls
const signs = { failed: '!', asks: '?', due: '▶', done: '✓', ran: '·' };

function markOf(name, tasks) {
  const mine = tasks.filter((task) => task.name === name);
  if (mine.some((task) => task.error && !task.finished)) return 'failed';
  if (mine.some((task) => task.questions.length)) return 'asks';
  if (mine.some((task) => !task.finished)) return 'due';
  return mine.length ? 'done' : '';
}

const openOf = (query) => new Set((query.open ?? '').split(',').filter(Boolean));

function toggle(at) {
  const open = openOf(route.value.query);
  if (open.has(at)) for (const each of open) each === at || each.startsWith(`${at}/`) ? open.delete(each) : undefined;
  else open.add(at);
  go({ ...route.value, query: { ...route.value.query, open: [...open].join(',') } }, true);
}

/** Opens all graphs inside the graph, or closes them. */
export function toggleAll(graph) {
  const names = Object.keys(graph?.subgraphs ?? {}).map(encodeURIComponent);
  const isOpen = openOf(route.value.query).size > 0;
  if (names.length) go({ ...route.value, query: { ...route.value.query, open: isOpen ? '' : names.join(',') } }, true);
}

export function Graph({ place, tasks, ran, onGraph }) {
  const address = path.checkpoint(place, 'graph');
  const { data, error } = useAnswer(address);
  // While another checkpoint's is read, that of the one before stays.
  const last = useRef({});
  const log = `${place.thread} ${place.ns}`;
  if (data) last.current = { log, graph: data };
  const kept = last.current.log === log ? last.current.graph : null;
  const graph = data ?? (error ? { nodes: tasks.map((task) => ({ name: task.name })), edges: [], joins: [], branches: [], gotos: [] } : kept);
  useEffect(() => onGraph?.(graph), [graph]);
  const drawing = graph && layOut(graph, openOf(place.query));
  const figure = useRef(null);
  const isDrawn = Boolean(drawing);
  const due = tasks.filter((task) => !task.finished).map((task) => task.name).join();
  useLayoutEffect(() => showNode(figure.current), [isDrawn, due, place.query.open]);
  const { tabOf, on } = useRoving('.stop', drawing ? drawing.nodes.filter((node) => canStop(place, node)).flatMap(stopKeys) : []);
  if (!graph) return html`<figure class="graph"></figure>`;
  const said = drawing.nodes.map((node) => [node.name, markOf(node.name, tasks)]).filter(([, mark]) => mark).map(([name, mark]) => `${visible(name)} ${mark}`).join(', ');
  return html`<figure class="graph" ref=${figure}>
    ${error && html`<p class="dim">${visible(error.message)}; these nodes are due</p>`}
    <svg role="group" aria-label=${`graph: ${said || 'nothing is due'}`} viewBox=${`0 0 ${drawing.width} ${drawing.height}`} width=${drawing.width} style=${{ maxWidth: `max(100%, ${Math.round(least_scale * drawing.width)}px)` }} ...${on}>
      <defs>${['', 'lit'].map((kind) => html`<marker id=${`arrow${kind}`} class=${kind} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8Z" /></marker>`)}</defs>
      <${Drawn} drawing=${drawing} tasks=${tasks} ran=${ran} place=${place} tabOf=${tabOf} />
    </svg>
    <${AsJson} path=${address} />
  </figure>`;
}

// Has the node where the run is in the middle of what is seen of a large graph.
function showNode(figure) {
  const node = figure?.querySelector('.node.failed, .node.asks, .node.due');
  if (!node) return;
  const [box, at] = [figure.getBoundingClientRect(), node.getBoundingClientRect()];
  figure.scrollTop += at.y + at.height / 2 - box.y - box.height / 2;
  figure.scrollLeft += at.x + at.width / 2 - box.x - box.width / 2;
}

function Drawn({ drawing, tasks, ran, place, tabOf }) {
  return html`${drawing.lines.map((line) => {
      const isLit = ran.has(line.from) && tasks.some((task) => task.name === line.to);
      return html`<g class=${`line ${line.kind} ${isLit ? 'lit' : ''}`}><path marker-end=${`url(#arrow${isLit ? 'lit' : ''})`} d=${line.path} />
        ${line.label && html`<text x=${line.x} y=${line.y + 4} text-anchor="middle">${visible(line.label)}</text>`}</g>`;
    })}
    ${drawing.nodes.map((node) => html`<${Node} key=${node.at} node=${node} tasks=${tasks} ran=${ran} place=${place} tabOf=${tabOf} />`)}`;
}

function Node({ node, tasks, ran, place, tabOf }) {
  const mark = markOf(node.name, tasks) || (ran.has(node.name) ? 'ran' : '');
  const isOpen = Boolean(node.drawn);
  return html`<g class=${`node ${mark} ${node.isEdge ? 'edge-of-graph' : ''} ${isOpen ? 'open' : ''}`} data-node=${node.name} data-at=${node.at} transform=${`translate(${node.x} ${node.y})`}>
    <rect width=${node.width} height=${node.height} rx=${node.isEdge ? 14 : 5} />
    <text x=${(node.width + (node.inner ? 14 : 0)) / 2} y="18" text-anchor="middle">${mark && html`<tspan class="sign" aria-hidden="true">${signs[mark]} </tspan>`}${node.label}</text>
    ${node.inner && html`<g class="opens" role="button" tabindex="0" aria-expanded=${isOpen} aria-label=${`the graph inside ${visible(node.name)}`} onClick=${() => toggle(node.at)}
      onKeyDown=${(event) => (event.key === 'Enter' || event.key === ' ') && (event.preventDefault(), toggle(node.at))}>
      <rect x="5" y="6" width="16" height="16" rx="3" /><path d=${isOpen ? 'M9 14h8' : 'M9 14h8M13 10v8'} /></g>`}
    ${isOpen && html`<g transform=${`translate(${(node.width - node.drawn.width) / 2} 28)`}><${Inside} drawing=${node.drawn} place=${place} task=${ofNode(node.name, tasks)} /></g>`}
    ${tabOf && canStop(place, node) && html`<${Stops} thread=${place.thread} node=${node} tabOf=${tabOf} />`}
  </g>`;
}

// Of several tasks of one node, such as those of Sends, one that is not finished.
const ofNode = (name, tasks) => {
  const mine = tasks.filter((task) => task.name === name && task.subgraph_ns);
  return mine.find((task) => !task.finished) ?? mine[0];
};

// What a task's own graph does, as its log says: read again each second until the task is finished.
function Inside({ drawing, place, task }) {
  const [checkpoint, setCheckpoint] = useState(null);
  const ns = task?.subgraph_ns;
  useEffect(() => {
    setCheckpoint(null);
    if (!ns) return undefined;
    const control = new AbortController();
    const read = () => document.hidden || get(path.checkpoint({ thread: place.thread, ns }), control.signal).then(setCheckpoint, () => {});
    read();
    const timer = task.finished ? 0 : setInterval(read, look_every_ms);
    return () => {
      control.abort();
      clearInterval(timer);
    };
  }, [place.thread, ns, task?.finished]);
  return html`<${Drawn} drawing=${drawing} tasks=${checkpoint?.tasks ?? []} ran=${new Set()} place=${{ ...place, ns }} />`;
}
