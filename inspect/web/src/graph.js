import * as dagre from '@dagrejs/dagre';
import { html } from 'htm/preact';
import { useMemo } from 'preact/hooks';
import { path } from './api.js';
import { visible } from './text.js';
import { AsJson, useAnswer } from './ui.js';

// The graph that made a checkpoint, as it was then, with what is due, asked, failed and done there. If no description
// is stored, the nodes that are due.
const START = '__start__';
const END = '__end__';

function linesOf(graph) {
  const lines = graph.edges.map((edge) => ({ from: edge.from, to: edge.to, kind: 'edge' }));
  for (const join of graph.joins) for (const from of join.from) lines.push({ from, to: join.to, kind: 'join' });
  for (const branch of graph.branches) {
    for (const end of branch.ends ?? []) lines.push({ from: branch.from, to: end.to, kind: 'router', label: end.label === end.to ? '' : end.label });
  }
  for (const each of graph.gotos) for (const to of each.to) lines.push({ from: each.from, to, kind: each.on_error ? 'error' : 'goto' });
  return lines;
}

function layOut(graph) {
  const drawing = new dagre.graphlib.Graph({ multigraph: true });
  drawing.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 34, marginx: 12, marginy: 12 });
  drawing.setDefaultEdgeLabel(() => ({}));
  const names = new Set(graph.nodes.map((node) => node.name));
  const lines = linesOf(graph);
  for (const line of lines) for (const name of [line.from, line.to]) names.add(name);
  for (const name of names) drawing.setNode(name, { width: Math.max(56, Math.min(200, visible(name).length * 7.4 + 24)), height: 28 });
  lines.forEach((line, i) => drawing.setEdge(line.from, line.to, { line }, String(i)));
  dagre.layout(drawing);
  return drawing;
}

function markOf(name, tasks) {
  const mine = tasks.filter((task) => task.name === name);
  if (mine.some((task) => task.error && !task.finished)) return 'failed';
  if (mine.some((task) => task.questions.length)) return 'asks';
  if (mine.some((task) => !task.finished)) return 'due';
  return mine.length ? 'done' : '';
}

const titles = { failed: 'failed', asks: 'asks', due: 'due', done: 'done' };

export function Graph({ place, tasks, ran }) {
  const address = path.checkpoint(place, 'graph');
  const { data, error } = useAnswer(address);
  const drawing = useMemo(() => {
    const graph = data ?? (error && { nodes: tasks.map((task) => ({ name: task.name })), edges: [], joins: [], branches: [], gotos: [] });
    return graph && layOut(graph);
  }, [data, error, error && tasks]);
  if (!drawing) return null;
  const box = drawing.graph();
  const nodes = drawing.nodes();
  const said = nodes.map((name) => [name, markOf(name, tasks)]).filter(([, mark]) => mark).map(([name, mark]) => `${visible(name)} ${titles[mark]}`).join(', ');
  return html`<figure class="graph">
    ${error && html`<p class="dim">${visible(error.message)}; these nodes are due</p>`}
    <svg role="img" aria-label=${`graph: ${said || 'nothing is due'}`} viewBox=${`0 0 ${Math.max(80, box.width)} ${Math.max(40, box.height)}`} width=${Math.max(80, box.width)} height=${Math.max(40, box.height)}>
      <defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8Z" /></marker></defs>
      ${drawing.edges().map((edge) => {
        const { points, line } = drawing.edge(edge);
        const middle = points[Math.floor(points.length / 2)];
        const isLit = ran.has(line.from) && tasks.some((task) => task.name === line.to);
        return html`<g class=${`line ${line.kind} ${isLit ? 'lit' : ''}`}><path marker-end="url(#arrow)" d=${points.map((point, i) => `${i ? 'L' : 'M'}${point.x} ${point.y}`).join('')} />
          ${line.label && html`<text x=${middle.x + 4} y=${middle.y}>${visible(line.label)}</text>`}</g>`;
      })}
      ${nodes.map((name) => {
        const node = drawing.node(name);
        const mark = markOf(name, tasks);
        const shown = name === START ? 'start' : name === END ? 'end' : visible(name);
        return html`<g class=${`node ${mark} ${name === START || name === END ? 'edge-of-graph' : ''}`} data-node=${name} transform=${`translate(${node.x - node.width / 2} ${node.y - node.height / 2})`}>
          <rect width=${node.width} height=${node.height} rx=${name === START || name === END ? 14 : 5} />
          <text x=${node.width / 2} y="18" text-anchor="middle">${shown.length > 26 ? `${shown.slice(0, 25)}…` : shown}</text></g>`;
      })}
    </svg>
    <${AsJson} path=${address} />
  </figure>`;
}
