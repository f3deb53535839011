import { html } from 'htm/preact';
import { path, post } from './api.js';
import { valueOf } from './text.js';

// Sets a channel without the program: the server compares the value's kind with what is stored, and nothing else.
export function RawEditForm({ isBusy, onSubmit }) {
  return html`<form onSubmit=${onSubmit}><label>Channel <input name="channel" required autocomplete="off" /></label>
    <label>Value, as JSON <textarea name="value" rows="2" required placeholder='"a text", 7, ["a", "b"]'></textarea></label>
    <label>Note <input name="note" placeholder="why" /></label>
    <label><input type="checkbox" name="any" /> a value of another kind too</label>
    <button type="submit" disabled=${isBusy}>Set the channel</button></form>`;
}

/** Stores what such a form says, as a fork of the checkpoint. */
export async function storeRawEdit(place, form) {
  const given = new FormData(form);
  return post(path.checkpoint(place, 'raw_edit'), {
    values: { [given.get('channel')]: valueOf(given.get('value')) },
    note: given.get('note'),
    any_kind: given.get('any') === 'on',
  });
}
