import { useState } from 'preact/hooks';

// One tab stop for many elements of a drawing. An arrow moves the focus to the nearest element in its direction.
const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

function nearest(from, others, [across, down]) {
  const middle = (box) => [box.x + box.width / 2, box.y + box.height / 2];
  const [x, y] = middle(from.getBoundingClientRect());
  let best = null;
  let least = Infinity;
  for (const other of others) {
    const [toX, toY] = middle(other.getBoundingClientRect());
    const along = (toX - x) * across + (toY - y) * down;
    const aside = Math.abs((toX - x) * down) + Math.abs((toY - y) * across);
    const distance = along + 2 * aside;
    if (other !== from && along > 0.5 && distance < least) {
      best = other;
      least = distance;
    }
  }
  return best;
}

/** For elements with `selector` and a `data-key` each; `keys` are those that are drawn. */
export function useRoving(selector, keys) {
  const [at, setAt] = useState(null);
  const stop = keys.includes(at) ? at : keys[0];
  return {
    tabOf: (key) => (key === stop ? 0 : -1),
    on: {
      onFocusIn: (event) => {
        const element = event.target.closest(selector);
        if (element) setAt(element.dataset.key);
      },
      onKeyDown: (event) => {
        const from = event.target.closest(selector);
        const way = ways[event.key];
        if (!from || !way) return;
        event.preventDefault();
        event.stopPropagation();
        nearest(from, event.currentTarget.querySelectorAll(selector), way)?.focus();
      },
    },
  };
}
