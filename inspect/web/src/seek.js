import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { go } from './route.js';

// Goes to a step of a long timeline without scrolling.
export const focusSeek = () => document.getElementById('seek')?.focus();

export function Seek({ log, place }) {
  const [said, say] = useState('');
  const seek = async (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get('step').trim();
    if (!/^-?\d+$/.test(text)) return say('a step is a whole number');
    say('reading…');
    const found = await log.seek(Number(text));
    if (!found) return say(log.error ? '' : `${log.more ? 'the checkpoints that were read have' : 'there is'} no step ${text}`);
    say('');
    go({ ...place, id: found.checkpoint_id });
    return document.querySelector('.timeline')?.focus();
  };
  return html`<form class="seek" onSubmit=${seek}><label>Go to step <input id="seek" name="step" size="7" inputmode="numeric" autocomplete="off" /></label> <button type="submit">Go</button> <span class="dim" role="status">${said}</span></form>`;
}
