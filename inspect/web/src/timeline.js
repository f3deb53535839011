import { html } from 'htm/preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { go } from './route.js';
import { Rows } from './rows.js';

// A thread's supersteps as a tree of its forks. Pages are fetched when they come near.
export function Timeline({ log, place }) {
  const box = useRef(null);
  const rows = useRef(null);
  const shown = useRef(place);
  shown.current = place;
  useLayoutEffect(() => {
    rows.current = new Rows(box.current, log, () => log.want());
    let newest = log.checkpoints[0]?.checkpoint_id;
    const stop = log.watch(() => {
      const moved = log.indexOf(newest);
      if (moved > 0) rows.current.moveBy(moved);
      newest = log.checkpoints[0]?.checkpoint_id;
      rows.current.select(shown.current);
    });
    return () => {
      stop();
      rows.current.end();
    };
  }, [log]);
  useLayoutEffect(() => {
    rows.current.select(place);
  }, [log, place.id, place.query]);
  return html`<div class="log"><div class="heads" aria-hidden="true"><span class="step">step</span><span class="ran">ran</span><span class="took">took</span><span class="due">due next</span><span class="wrote">wrote</span></div>
    <div class="timeline" ref=${box} role="listbox" aria-label="supersteps, the newest first" tabindex="0" onClick=${(event) => {
    const row = event.target.closest('.row');
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go({ page: 'thread', thread: place.thread, ns: place.ns, id: row.dataset.id, query: place.query });
  }}></div></div>`;
}
