import { html } from 'htm/preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { get, path, post } from './api.js';
import { Deletion } from './deletion.js';
import { go, route } from './route.js';
import { Problem, Text } from './ui.js';

// Copies, prunes or deletes a whole thread. A prune is tried first, and a deletion is confirmed: nothing undoes them.
const ages = [['', 'any age'], ['3600', 'an hour'], ['86400', 'a day'], ['604800', 'a week'], ['2592000', '30 days'], ['7776000', '90 days']];
const counted = (count) => (count === 1 ? '1 checkpoint' : `${count} checkpoints`);

export function WholeThread({ thread, log, onClose }) {
  const dialog = useRef(null);
  const [state, setState] = useState({});
  useEffect(() => dialog.current.showModal(), []);
  const does = (work) => async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    setState({ isBusy: true });
    try {
      setState((await work(form)) ?? {});
    } catch (error) {
      setState({ error });
    }
  };
  const copy = does(async (form) => {
    const { thread_id } = await post(path.thread(thread, 'copy'), { to: form.get('to') });
    onClose();
    go({ page: 'thread', thread: thread_id });
  });
  const trial = does(async (form) => {
    const [keep, age] = [form.get('keep'), form.get('age')];
    const request = { ...(keep && { keep_last: Number(keep) }), ...(age && { older_than_s: Number(age) }) };
    return { request, trial: await post(path.thread(thread, 'prune'), { ...request, dry_run: true }) };
  });
  const prune = does(async () => {
    const { dropped, kept } = await post(path.thread(thread, 'prune'), state.request);
    await log.load();
    if (route.value.id && log.indexOf(route.value.id) < 0) go({ ...route.value, id: '' });
    return { said: `dropped ${counted(dropped)}; ${counted(kept)} remain` };
  });
  // Checkpoints that come after this question was asked are not deleted unseen.
  const ask = async () => {
    const newest = log.newestId;
    try {
      setState(state.newest ? {} : { newest, deletion: await get(path.thread(thread, 'deletion')) });
    } catch (error) {
      setState({ error });
    }
  };
  const remove = does(async () => {
    await post(path.thread(thread, 'delete'), { newest: state.newest });
    onClose();
    go({ page: 'threads' });
  });
  return html`<dialog ref=${dialog} class="whole" aria-labelledby="whole-title" onClose=${onClose}><h2 id="whole-title">Thread <${Text}>${thread}<//></h2>
    <form onSubmit=${copy}><label>Copy to <input name="to" required placeholder="name of a new thread" /></label><button type="submit" disabled=${state.isBusy}>Copy</button></form>
    <form onSubmit=${trial} onInput=${() => setState({})}><label>Keep the newest <input name="keep" type="number" min="1" placeholder="all" /></label>
      <label>Drop checkpoints older than <select name="age">${ages.map(([seconds, title]) => html`<option value=${seconds}>${title}</option>`)}</select></label>
      <button type="submit" disabled=${state.isBusy}>Try to prune</button></form>
    ${state.trial && html`<form onSubmit=${prune}><p role="status">A prune drops ${counted(state.trial.dropped)} and keeps ${state.trial.kept}, among them the newest and those with open questions.</p>
      ${state.trial.dropped > 0 && html`<button type="submit" class="danger" disabled=${state.isBusy}>Drop ${counted(state.trial.dropped)}</button>`}</form>`}
    <p><button aria-expanded=${Boolean(state.newest)} disabled=${state.isBusy} onClick=${ask}>Delete…</button></p>
    ${state.newest && html`<form onSubmit=${remove}><${Deletion} view=${state.deletion} />
      <button type="submit" class="danger">Delete <${Text}>${thread}<//></button></form>`}
    <${Problem} error=${state.error} />
    ${state.said && html`<p role="status">${state.said}</p>`}
    <button onClick=${() => dialog.current.close()}>Close</button></dialog>`;
}
