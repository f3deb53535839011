import * as dagre from '@dagrejs/dagre';
import { shownName, visible } from './text.js';

// Where the nodes and lines of a graph are drawn, with the graphs inside it that are open.
export const START = '__start__';
export const END = '__end__';
const kept_max = 40;
const label_height = 28;
const inner_margin = 8;
const kept = new Map(); // by fingerprint and open nodes: who moves from checkpoint to checkpoint sees one graph

function linesOf(graph) {
  const lines = graph.edges.map((edge) => ({ from: edge.from, to: edge.to, kind: 'edge' }));
  for (const join of graph.joins) for (const from of join.from) lines.push({ from, to: join.to, kind: 'join' });
  for (const branch of graph.branches) {
    for (const end of branch.ends ?? []) lines.push({ from: branch.from, to: end.to, kind: 'router', label: end.label === end.to ? '' : end.label });
  }
  for (const each of graph.gotos) for (const to of each.to) lines.push({ from: each.from, to, kind: each.on_error ? 'error' : 'goto' });
  return lines;
}


/** The name of a node inside others: "ship/pack", each part encoded. */
export const within = (prefix, name) => (prefix ? `${prefix}/` : '') + encodeURIComponent(name);

function layOutAnew(graph, open, prefix) {
  const drawing = new dagre.graphlib.Graph({ multigraph: true });
  drawing.setGraph({ rankdir: 'TB', nodesep: 24, ranksep: 34, marginx: 12, marginy: 12 });
  drawing.setDefaultEdgeLabel(() => ({}));
  const lines = linesOf(graph);
  const names = new Set(graph.nodes.map((node) => node.name));
  for (const line of lines) for (const name of [line.from, line.to]) names.add(name);
  for (const name of names) {
    const inner = graph.subgraphs?.[name];
    const at = within(prefix, name);
    const label = visible(shownName(name));
    const width = Math.max(56, Math.min(210, label.length * 7.6 + 34 + (inner ? 20 : 0)));
    const drawn = inner && open.has(at) ? layOut(inner, open, at) : null;
    drawing.setNode(name, {
      name,
      at,
      label: label.length > 26 ? `${label.slice(0, 25)}…` : label,
      inner,
      drawn,
      isEdge: name === START || name === END,
      width: drawn ? Math.max(width, drawn.width + 2 * inner_margin) : width,
      height: drawn ? drawn.height + label_height + inner_margin : label_height,
    });
  }
  lines.forEach((line, i) => drawing.setEdge(line.from, line.to, { line, ...(line.label && { width: line.label.length * 6, height: 14, labelpos: 'c' }) }, String(i)));
  dagre.layout(drawing);
  const box = drawing.graph();
  return {
    width: Math.max(80, Math.ceil(box.width)),
    height: Math.max(40, Math.ceil(box.height)),
    nodes: drawing.nodes().map((name) => {
      const node = drawing.node(name);
      return { ...node, x: node.x - node.width / 2, y: node.y - node.height / 2 };
    }),
    lines: drawing.edges().map((edge) => {
      const { line, points, x, y } = drawing.edge(edge);
      return { ...line, path: curve(points), x, y };
    }),
  };
}

// Through the middles between the points, so that a line bends and does not break.
function curve(points) {
  const [first, ...rest] = points;
  let path = `M${first.x} ${first.y}`;
  for (let i = 0; i < rest.length - 1; i += 1) {
    const [at, next] = [rest[i], rest[i + 1]];
    const end = i === rest.length - 2 ? next : { x: (at.x + next.x) / 2, y: (at.y + next.y) / 2 };
    path += `Q${at.x} ${at.y} ${end.x} ${end.y}`;
  }
  return rest.length === 1 ? `${path}L${rest[0].x} ${rest[0].y}` : path;
}

/** {width, height, nodes, lines}; `open` are the nodes whose graphs are drawn inside them. */
export function layOut(graph, open = new Set(), prefix = '') {
  const name = `${graph.fingerprint} ${prefix} ${[...open].filter((each) => each.startsWith(prefix)).sort().join()}`;
  const known = graph.fingerprint && kept.get(name);
  if (known) return known;
  const made = layOutAnew(graph, open, prefix);
  if (graph.fingerprint) {
    if (kept.size >= kept_max) kept.delete(kept.keys().next().value);
    kept.set(name, made);
  }
  return made;
}
