import { clock, dueOf, duration, ranOf, size, span, stateOf, visible, wroteOf } from './text.js';
import { href } from './route.js';

// The rows of a timeline that are on the screen. There are as many elements as fit there, made once: scrolling gives them
// other checkpoints and makes no element, and a row that shows the same is not touched.
export const row_height = 44;
const lane_width = 14;
const lanes_shown = 8;
const idle_ms = 30_000;
const spare_rows = 6;
const lanes_a_frame = 4000;
const svg = 'http://www.w3.org/2000/svg';

export class Rows {
  #pool = [];
  #height = 600;
  #selected = -1;
  #frame = 0;
  #lanes = 0;

  /** Draws into `box`, a scrolling element, what a log has. `wants` is called where older checkpoints come near. */
  constructor(box, log, wants) {
    this.box = box;
    this.log = log;
    this.wants = wants;
    this.rows = box.appendChild(element('div', 'rows', { role: 'presentation' }));
    this.observer = new ResizeObserver(() => {
      this.#height = box.clientHeight;
      this.draw();
    });
    this.observer.observe(box);
    this.onScroll = () => this.draw();
    box.addEventListener('scroll', this.onScroll, { passive: true });
  }

  end() {
    this.observer.disconnect();
    this.box.removeEventListener('scroll', this.onScroll);
    cancelAnimationFrame(this.#frame);
    this.rows.remove();
  }

  /** Shows another selection, and has it on the screen. */
  select(place) {
    const rows = this.log.checkpoints;
    const at = place.id ? this.log.indexOf(place.id) : this.log.isCut || this.log.filter ? -1 : 0;
    const isOther = place.id !== this.place?.id || this.#selected < 0;
    this.place = place;
    this.#selected = at;
    if (isOther && at >= 0 && at < rows.length) this.#reveal(at);
    this.draw();
  }

  /** A log's rows have moved: what is on the screen stays there, unless that is the newest. */
  moveBy(count) {
    if (this.box.scrollTop > row_height) this.box.scrollTop += count * row_height;
  }

  draw() {
    if (!this.place) return;
    const { checkpoints, lanes } = this.log;
    const top = this.box.scrollTop;
    const first = Math.max(0, Math.floor(top / row_height) - spare_rows);
    const end = Math.min(checkpoints.length, Math.ceil((top + this.#height) / row_height) + spare_rows);
    const height = `${checkpoints.length * row_height}px`;
    if (this.rows.style.height !== height) this.rows.style.height = height;
    const wanted = Math.ceil(this.#height / row_height) + 2 + 2 * spare_rows;
    while (this.#pool.length < wanted) this.#pool.push(this.rows.appendChild(new Row().element).row);
    // What a filter has selected has no lanes: the checkpoints between are missing.
    const known = this.log.filter ? { length: end } : lanes.upTo(checkpoints, end, lanes_a_frame);
    this.#widen(known, first, end);
    for (let i = 0; i < this.#pool.length; i += 1) {
      // Each row has its element by its number, so that a row that stays on the screen keeps it.
      const at = first + ((i - first) % this.#pool.length + this.#pool.length) % this.#pool.length;
      if (at < end) this.#pool[i].show(at, checkpoints[at], known[at], this.log.filter ? null : checkpoints[at + 1], this.place, at === this.#selected);
      else this.#pool[i].hide();
    }
    const shown = checkpoints[this.#selected];
    if (shown && this.#selected >= first && this.#selected < end) this.box.setAttribute('aria-activedescendant', `c-${shown.checkpoint_id}`);
    else this.box.removeAttribute('aria-activedescendant');
    if (known.length < end) {
      cancelAnimationFrame(this.#frame);
      this.#frame = requestAnimationFrame(() => this.draw());
    }
    if (this.log.more && end > checkpoints.length - 60) this.wants();
  }

  // Columns stand below each other: the lanes of all rows are as wide as the widest that was shown.
  #widen(known, first, end) {
    let most = 1;
    for (let i = first; i < Math.min(end, known.length); i += 1) most = Math.max(most, countOf(known[i]));
    if (most <= this.#lanes) return;
    this.#lanes = most;
    this.box.parentElement.style.setProperty('--lanes', `${most * lane_width}px`);
  }

  #reveal(at) {
    const top = at * row_height;
    this.rows.style.height = `${this.log.checkpoints.length * row_height}px`;
    this.#height = this.box.clientHeight;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + row_height > this.box.scrollTop + this.#height) this.box.scrollTop = top + row_height - this.#height;
  }
}

function element(name, className, attributes = {}, namespace = 'http://www.w3.org/1999/xhtml') {
  const made = document.createElementNS(namespace, name);
  if (className) made.setAttribute('class', className);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

class Row {
  constructor() {
    this.element = element('a', 'row', { role: 'option', tabindex: '-1' });
    this.element.row = this;
    this.lane = this.element.appendChild(element('svg', 'lane', { height: row_height, 'aria-hidden': 'true' }, svg));
    this.line = this.lane.appendChild(element('path', 'line', {}, svg));
    this.shape = this.lane.appendChild(element('path', '', {}, svg));
    const text = (name, tag = 'span') => this.element.appendChild(element(tag, name)).appendChild(document.createTextNode(''));
    this.step = text('step');
    this.ran = text('ran', 'bdi');
    this.took = text('took');
    this.due = text('due', 'bdi');
    this.wrote = text('wrote', 'bdi');
    this.idle = text('idle');
    this.shown = {};
  }

  hide() {
    if (this.shown.isHidden) return;
    this.element.hidden = true;
    for (const name of ['id', 'data-step', 'data-source', 'data-id', 'aria-selected']) this.element.removeAttribute(name);
    this.element.setAttribute('class', 'row');
    this.shown = { isHidden: true };
  }

  show(at, checkpoint, lanes, older, place, isSelected) {
    const was = this.shown;
    const isSame = was.checkpoint === checkpoint && was.older === older && was.query === place.query && was.at === at;
    if (isSame && was.lanes === lanes && was.isSelected === isSelected) return;
    if (was.isHidden) this.element.hidden = false;
    if (was.at !== at) this.element.style.transform = `translateY(${at * row_height}px)`;
    if (!isSame) this.#write(checkpoint, older, place);
    if (was.isSelected !== isSelected || !isSame) {
      this.element.setAttribute('aria-selected', String(isSelected));
      const state = stateOf(checkpoint);
      this.element.setAttribute('class', `row ${isSelected ? 'selected' : ''} ${state}`);
    }
    const drawn = lanes ?? alone;
    if (was.lanes !== lanes || was.checkpoint?.source !== checkpoint.source) this.#draw(drawn, checkpoint.source);
    this.shown = { at, checkpoint, lanes, older, query: place.query, isSelected };
  }

  #write(checkpoint, older, place) {
    const it = checkpoint;
    const { dataset } = this.element;
    this.element.id = `c-${it.checkpoint_id}`;
    this.element.href = href({ page: 'thread', thread: place.thread, ns: place.ns, id: it.checkpoint_id, query: place.query });
    this.element.title = `${it.checkpoint_id}\n${clock(it.created_at)}\n${it.source}, ${size(it.bytes)}${it.error ? `\n${visible(it.error)}` : ''}`;
    dataset.step = it.step;
    dataset.source = it.source;
    dataset.id = it.checkpoint_id;
    const isKnown = !it.is_sealed && !it.damaged;
    const idle = older ? Date.parse(it.created_at) - Date.parse(older.created_at) - (it.took_us ?? 0) / 1000 : 0;
    const words = {
      step: isKnown ? String(it.step) : '?',
      ran: ranOf(it) || (it.source === 'update' ? 'edit' : it.source === 'loop' ? '' : it.source),
      took: duration(it.took_us),
      due: dueOf(it),
      wrote: wroteOf(it),
      idle: idle > idle_ms ? `${span(idle)} idle` : '',
    };
    for (const [name, word] of Object.entries(words)) this[name].data = visible(word);
    const say = (before, word) => word && `${before} ${word}`;
    const said = [`step ${words.step}`, ran_words[it.source] ?? say('ran', words.ran), say('took', words.took), say('wrote', words.wrote), say('due next:', dueOf(it, true)), words.idle];
    this.element.setAttribute('aria-label', visible(said.filter(Boolean).join('; ')));
  }

  #draw(lanes, source) {
    const middle = row_height / 2;
    const x = (lane) => Math.min(lane, lanes_shown - 1) * lane_width + lane_width / 2;
    let line = '';
    lanes.before.forEach((is, i) => {
      if (is && !lanes.joins.includes(i)) line += `M${x(i)} 0V${i === lanes.lane || !lanes.after[i] ? middle : row_height}`;
    });
    if (lanes.after[lanes.lane]) line += `M${x(lanes.lane)} ${middle}V${row_height}`;
    for (const i of lanes.joins) line += `M${x(i)} 0C${x(i)} ${middle} ${x(lanes.lane)} 0 ${x(lanes.lane)} ${middle}`;
    this.lane.setAttribute('width', countOf(lanes) * lane_width);
    this.line.setAttribute('d', line);
    this.shape.setAttribute('d', shapeOf(source, x(lanes.lane), middle));
  }
}

const alone = { lane: 0, before: [], after: [], joins: [] };
const ran_words = { input: 'input', update: 'edit', fork: 'fork' };
const countOf = (lanes) => (lanes ? Math.min(lanes_shown, Math.max(1, lanes.before.length, lanes.lane + 1, lanes.after.length)) : 1);

// An input is a square, an edit a diamond, a fork a triangle, a superstep a circle.
function shapeOf(source, x, y) {
  if (source === 'input') return `M${x - 4} ${y - 4}h8v8h-8Z`;
  if (source === 'update') return `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`;
  if (source === 'fork') return `M${x} ${y - 5}L${x + 6} ${y + 5}L${x - 6} ${y + 5}Z`;
  return `M${x - 4} ${y}a4 4 0 1 1 8 0a4 4 0 1 1 -8 0Z`;
}
