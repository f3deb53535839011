// Texts for people. What a store holds may be hostile: it is always shown as text, and what would change how a text
// looks (control characters, marks of direction) as something visible.

// Control characters, and those that turn or hide text.
const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

export function visible(text) {
  return String(text).replace(odd, (c) => `⟨${c.charCodeAt(0).toString(16).padStart(4, '0')}⟩`);
}

/** Names of nodes, as the page calls them. */
export const shownName = (name) => (name === '__start__' ? 'start' : name === '__end__' ? 'end' : name);
export function namesOf(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node, (counts.get(node) ?? 0) + 1);
  return [...counts].map(([node, count]) => shownName(node) + (count > 1 ? ` ×${count}` : '')).join(', ');
}

/** What ran, of a row of the timeline: each task, with its time if there are several, and its attempts. */
const ran_shown = 6;
export function ranOf(row) {
  if (row.supersteps > 1) return `${row.supersteps} supersteps`;
  const times = row.ran.length > 1;
  const named = row.ran.slice(0, ran_shown).map((task) => {
    const more = [times && task.took_us != null && duration(task.took_us), task.attempts > 1 && `${task.attempts} attempts`].filter(Boolean).join(', ');
    return shownName(task.name) + (more && (times && task.attempts <= 1 ? ` ${more}` : ` (${more})`));
  });
  if (row.ran_count > named.length) named.push(`${row.ran_count - named.length} more`);
  return named.join(', ');
}

/** The channels that a row's superstep wrote. */
export const wroteOf = (row) => row.wrote.map((each) => each.channel).join(', ');

const state_marks = { asks: '? ', failed: '! ', done: '✓ ', due: '' };
/** What is due at a row. Where no superstep continues it, each task has its mark, or if it is `spoken` its state. */
export function dueOf(row, spoken = false) {
  if (row.damaged) return 'damaged';
  if (row.is_sealed) return 'encrypted';
  if (row.due.some((task) => task.state !== 'due')) {
    const named = row.due.slice(0, ran_shown).map((task) => (spoken ? `${shownName(task.name)} ${task.state}` : state_marks[task.state] + shownName(task.name)));
    const count = row.due_count ?? row.due.length; // the row has the first of them, beginning with those that failed
    if (count > named.length) named.push(`${count - named.length} more`);
    return named.join(', ');
  }
  return namesOf(row.next) || 'nothing';
}

/** failed and asks are where the log ends there; what was overcome is marked in what ran. */
export function stateOf(row) {
  if (row.damaged || row.due.some((task) => task.state === 'failed')) return 'failed';
  return row.due.some((task) => task.state === 'asks') ? 'asks' : '';
}

export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = -1;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value.toFixed(value < 10 ? 1 : 0)} ${units[unit]}`;
}

export function duration(us) {
  if (us == null) return '';
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1e3).toFixed(us < 1e4 ? 1 : 0)} ms`;
  return span(us / 1e3);
}

/** Of milliseconds, as "3 s", "5 min", "2 h", "4 d". */
export function span(ms) {
  const s = ms / 1000;
  if (s < 1) return `${Math.max(0, Math.round(ms))} ms`;
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

export const ago = (iso, now = Date.now()) => span(now - Date.parse(iso));

export const clock = (iso) => (iso ? iso.replace('T', ' ').replace('Z', '') : '');

/** JSON if it is some, else the text itself: `yes` is a text, `true` is not. */
export function valueOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
