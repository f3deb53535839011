import { useEffect } from 'preact/hooks';

// Keys of a view, by name; not while somebody types, nor behind a dialog.
export function useKeys(keys) {
  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.matches?.('input, textarea, select') || document.querySelector('dialog[open]')) return;
      const act = keys[event.key];
      if (!act) return;
      if (act(event) !== false && !event.key.startsWith('Arrow')) event.preventDefault();
      else if (event.key.startsWith('Arrow') && event.target.closest?.('.timeline')) event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  });
}

export const help = [
  ['j, k', 'the checkpoint below, above'],
  ['[, ]', 'the fork below, above'],
  ['g', 'go to a step'],
  ['f', 'filter; the first step where a condition holds'],
  ['n', 'the newest checkpoint, and what comes'],
  ['s, d, w, b, c, z', 'state, diff, why, blame, chart, sizes'],
  ['o', 'the graphs inside the graph: open, close'],
  ['m', 'copy, prune or delete the thread'],
  ['Tab, arrows', 'the breakpoints of the graph, the areas of sizes; Enter sets one, or opens it'],
  ['t, q', 'threads, open questions'],
  ['/', 'search'],
  ['?', 'these keys'],
];
