import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { about, getText, path, post } from './api.js';
import { BreakpointList, stopsOf } from './breakpoints.js';
import { RawEditForm, storeRawEdit } from './raw_edit.js';
import { go } from './route.js';
import { GraphChoice, Problem } from './ui.js';

// What can be done with a checkpoint. A read-only page has none of it but the export.
export function Actions({ place, checkpoint, log, isDrawn, onStored }) {
  const [form, setForm] = useState('');
  const [state, setState] = useState({});
  const [graph, setGraph] = useState('');
  // What stores can be undone: a fork of what was the newest checkpoint before.
  const does = (work, isUndone = false) => async (event) => {
    event?.preventDefault?.();
    const before = log.newestId;
    setState({ isBusy: true });
    try {
      setState({ said: await work(event), undo: isUndone && before });
      setForm('');
    } catch (error) {
      setState({ error });
    }
  };
  // The page goes to what was stored, and offers nothing until that is drawn.
  const goTo = (made) => {
    onStored(made.checkpoint_id);
    go({ page: 'thread', thread: place.thread });
  };
  const undo = (id) => does(async () => {
    goTo(await post(path.checkpoint({ ...place, id }, 'fork'), { note: 'undo' }));
    return 'undone by a fork from before; what was stored stays as a branch';
  });
  const run = (more, said) => does(async () => {
    await post(path.thread(place.thread, 'run'), { graph, ...more });
    go({ page: 'thread', thread: place.thread });
    return said;
  });
  const isNewest = !place.id || log.newestId === checkpoint.checkpoint_id;
  const at = isNewest ? {} : { checkpoint_id: checkpoint.checkpoint_id };
  const isRoot = !place.ns;
  const stops = stopsOf(place.thread);
  // One after the other: what is stored first is what the next begins from.
  const isBusy = state.isBusy || !isDrawn;
  return html`<section class="actions" aria-label="actions" aria-busy=${Boolean(isBusy)}>
    ${about.value?.app && isRoot && html`
      <${GraphChoice} graph=${graph} onGraph=${setGraph} />
      ${log.head?.running ? html`<button disabled=${state.isBusy} onClick=${does(() => post(path.thread(place.thread, 'stop'), {}).then(() => 'stopping'))}>Stop the run</button>`
        : html`<button disabled=${isBusy} onClick=${run({ ...at }, 'running')}>${isNewest ? 'Resume' : 'Replay from here'}</button>
          <button disabled=${isBusy} onClick=${run({ ...at, until: 'next' }, 'running one superstep')}>One superstep</button>
          ${stops && html`<button disabled=${isBusy} onClick=${run({ ...at, ...stops }, 'running to the next breakpoint')}>To the next breakpoint</button>`}
          <button disabled=${isBusy} aria-expanded=${form === 'edit'} onClick=${() => setForm(form === 'edit' ? '' : 'edit')}>Edit…</button>`}`}
    ${about.value?.write && isRoot && html`<button disabled=${isBusy} aria-expanded=${form === 'fork'} onClick=${() => setForm(form === 'fork' ? '' : 'fork')}>Fork…</button>
      <button disabled=${isBusy} aria-expanded=${form === 'raw'} onClick=${() => setForm(form === 'raw' ? '' : 'raw')}>Set a channel…</button>`}
    ${isRoot && about.value?.redacted.length === 0 && html`<button disabled=${state.isBusy} onClick=${does(() => save(place.thread))}>Export</button>`}
    ${about.value?.app && isRoot && html`<${BreakpointList} thread=${place.thread} />`}
    ${form === 'fork' && html`<form onSubmit=${does(async (event) => {
      const note = new FormData(event.target).get('note');
      const made = await post(path.checkpoint({ ...place, id: checkpoint.checkpoint_id }, 'fork'), { note });
      goTo(made);
      return `forked: ${made.checkpoint_id} is the newest now; the program runs on from it when it resumes the thread`;
    }, true)}><label>Note <input name="note" placeholder="why" /></label><button type="submit" disabled=${isBusy}>Fork here</button></form>`}
    ${form === 'edit' && html`<form onSubmit=${does(async (event) => {
      const given = new FormData(event.target);
      const values = JSON.parse(given.get('values'));
      goTo(await post(path.checkpoint({ ...place, id: isNewest ? '' : checkpoint.checkpoint_id }, 'edit'), { graph, values, ...(given.get('as') && { as_node: given.get('as') }) }));
      return 'edited; channels with a reducer were added to';
    }, true)}><label>Channels, as JSON <textarea name="values" rows="3" placeholder='{"channel": "value"}'></textarea></label>
      <label>as node <input name="as" placeholder="optional" /></label><button type="submit" disabled=${isBusy}>Edit</button></form>`}
    ${form === 'raw' && html`<${RawEditForm} isBusy=${isBusy} onSubmit=${does(async (event) => {
      goTo(await storeRawEdit({ ...place, id: checkpoint.checkpoint_id }, event.target));
      return 'set, in a fork; the program checks the type when it resumes the thread';
    }, true)} />`}
    <${Problem} error=${state.error} />
    ${log.head?.run_error && html`<p class="problem" role="alert">The run failed: ${log.head.run_error}</p>`}
    ${log.head?.running && html`<p role="status">A run is under way.</p>`}
    ${state.said && html`<p role="status">${state.said} ${state.undo && html`<button disabled=${isBusy} onClick=${undo(state.undo)}>Undo</button>`}</p>`}
  </section>`;
}

async function save(thread) {
  const lines = await getText(path.thread(thread, 'export'));
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([lines], { type: 'application/x-ndjson' }));
  link.download = 'thread.ndjson';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return 'exported; stategraph import makes a thread of it';
}
