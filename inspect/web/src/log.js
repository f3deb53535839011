import { get, path, pause, restAfter } from './api.js';
import { Lanes } from './lanes.js';

// A log as it is read: its checkpoints newest first, in pages, and what has come since. Who watches it is told of each
// change; `isOlder` says that only older checkpoints were added.
const first_page = 100;
const page = 500;
const newer_pages = 20;
const reached_page = 2000;
const reached_pages = 10;
const empty_pages = 5; // of a filter in a row, before somebody has to say that it continues

export class Log {
  checkpoints = [];
  next = null; // where older ones begin; null at the end
  lanes = new Lanes();
  head = null;
  error = null;
  isReady = false;
  isCut = false; // it begins with an old checkpoint, and newer ones are not in it
  #watchers = new Set();
  #empty = 0; // how many pages in a row, the last one among them, had no checkpoint
  #reading = 0; // how many reads are under way or wait
  #last = Promise.resolve();
  #load = null; // that is under way
  #took = 0; // ms, the last one
  #renewal = null;
  #isOld = false; // what a filter selects may have changed
  #places = new Map(); // by id, counted from `#first`
  #first = 0;

  /** With a `filter` (node, status, text), only such checkpoints. */
  constructor(thread, ns, filter = null) {
    this.thread = thread;
    this.ns = ns;
    this.filter = filter;
  }

  get more() {
    return this.next !== null;
  }

  /** Whether older pages are not read by themselves: those that were read last had nothing that the filter selects, or could not be read. */
  get isPaused() {
    return this.more && (this.#empty >= empty_pages || this.error !== null);
  }

  /** Reads older pages that are wanted near the end of what is known. */
  want() {
    if (!this.isPaused) this.loadOlder();
  }

  continue() {
    this.#empty = 0;
    return this.loadOlder();
  }

  /** Calls `tell(isOlder)` after each change, until what it returns is called. */
  watch(tell) {
    this.#watchers.add(tell);
    return () => this.#watchers.delete(tell);
  }

  /** Where a checkpoint is among those that are read; -1 if it is not. */
  indexOf(id) {
    const place = this.#places.get(id);
    return place === undefined ? -1 : place - this.#first;
  }

  find(id) {
    return this.checkpoints[this.indexOf(id)];
  }

  /** Of the log's newest checkpoint; undefined while it is not known. */
  get newestId() {
    return this.isCut ? this.head?.checkpoint_id : this.checkpoints[0]?.checkpoint_id;
  }

  /** Reads it anew, with as many checkpoints as one page may have of those that were known. */
  load() {
    this.#load ??= this.#loadAnew().finally(() => (this.#load = null));
    return this.#load;
  }

  /**
   * Reads what a filter selects anew, because the log has grown: after a rest, once for all calls in it, and as long as it is watched.
   * What `idOf()` names then is in it again if it was before.
   */
  renew(idOf) {
    this.#isOld = true;
    this.#renewal ??= this.#renewLater(idOf).finally(() => (this.#renewal = null));
  }

  async #renewLater(idOf) {
    while (this.#isOld) {
      await this.#load;
      await pause(restAfter(this.#took));
      if (this.#watchers.size === 0) return;
      this.#isOld = false;
      const id = idOf();
      const isIn = this.indexOf(id) >= 0;
      await this.load();
      if (isIn) await this.reach(id);
    }
  }

  async #loadAnew() {
    await this.#read(false, async () => {
      const began = performance.now();
      try {
        const count = this.isCut ? 0 : Math.min(reached_page, this.checkpoints.length);
        this.#begin(await this.#page(this.filter ? Math.max(first_page, count) : first_page));
        this.#took = performance.now() - began;
      } catch (error) {
        if (error.status === 404) this.#begin({ checkpoints: [], next: null }); // it is not stored, or was deleted
        throw error;
      }
    });
  }

  #begin({ checkpoints, next }, isCut = false) {
    this.checkpoints = checkpoints;
    this.next = next;
    this.isCut = isCut;
    this.#empty = checkpoints.length === 0 ? 1 : 0;
    this.lanes = new Lanes();
    this.#first = 0;
    this.#places = new Map(checkpoints.map((each, i) => [each.checkpoint_id, i]));
  }

  async loadOlder(limit = page) {
    if (!this.more) return;
    await this.#read(true, async () => {
      const answer = await this.#page(limit, this.next);
      for (const each of answer.checkpoints) {
        this.#places.set(each.checkpoint_id, this.#first + this.checkpoints.length);
        this.checkpoints.push(each);
      }
      this.next = answer.next;
      this.#empty = answer.checkpoints.length === 0 ? this.#empty + 1 : 0;
    });
  }

  /**
   * Reads older pages until a checkpoint is among them, so that a link to it is shown where it is; so many at most. Beyond them the
   * log begins with that checkpoint. Ids of one log grow.
   */
  async reach(id) {
    if (this.isCut && id > this.checkpoints[0]?.checkpoint_id) await this.load();
    const isFarther = () => this.more && !this.error && this.indexOf(id) < 0 && this.checkpoints.at(-1)?.checkpoint_id > id;
    for (let i = 0; i < reached_pages && isFarther(); i += 1) await this.loadOlder(reached_page);
    if (!isFarther()) return;
    await this.#read(false, async () => {
      const answer = await this.#page(page, undefined, id);
      if (answer.checkpoints[0]?.checkpoint_id === id) this.#begin(answer, true);
    });
  }

  /** The newest checkpoint of a step, for which older pages are read, so many at most; undefined if these have none. */
  async seek(step) {
    const find = () => this.checkpoints.find((row) => row.step === step);
    for (let i = 0; i < reached_pages && !find() && this.more && !this.error; i += 1) await this.loadOlder(reached_page);
    return find();
  }

  /** The server says how the log's end looks now; true if that is new. */
  async take(head) {
    const before = this.head;
    this.head = head;
    const isNew = before?.mark !== head.mark && head.checkpoint_id != null;
    const isDeleted = head.checkpoint_id == null && this.checkpoints.length > 0;
    if (this.error || isDeleted) await this.load();
    else if (isNew && !this.isCut) await this.#readNewer();
    else this.#tell(false);
    return isNew;
  }

  async #readNewer() {
    const fresh = [];
    let before;
    let newest; // as it is now: its pending writes may have changed
    await this.#read(false, async () => {
      for (let i = 0; i < newer_pages && !newest; i += 1) {
        const answer = await this.#page(i === 0 ? 20 : page, before);
        for (const each of answer.checkpoints) {
          if (this.indexOf(each.checkpoint_id) >= 0) {
            newest = each;
            break;
          }
          fresh.push(each);
        }
        if (!answer.next) break;
        before = answer.next;
      }
      if (newest && this.indexOf(newest.checkpoint_id) === 0) this.#precede(fresh, newest);
    });
    // So much is new, or what was the newest was deleted, that it is read like another log.
    if (!this.error && fresh.length > 0 && this.indexOf(fresh[0].checkpoint_id) < 0) await this.load();
  }

  #precede(fresh, newest) {
    if (fresh.length > 0) this.lanes = this.lanes.preceded(fresh, newest);
    this.#first -= fresh.length;
    fresh.forEach((each, i) => this.#places.set(each.checkpoint_id, this.#first + i));
    this.checkpoints = fresh.concat([newest], this.checkpoints.slice(1));
  }

  #page(limit, before, from) {
    return get(path.thread(this.thread, 'timeline', { ns: this.ns, limit, before, from, ...this.filter }));
  }

  #tell(isOlder) {
    for (const tell of this.#watchers) tell(isOlder);
  }

  // One after the other, as each begins where the last one ended.
  #read(isOlder, work) {
    if (isOlder && this.#reading > 0) return this.#last;
    this.#reading += 1;
    this.#last = this.#last.then(async () => {
      try {
        await work();
        this.error = null;
      } catch (error) {
        this.error = error;
      }
      this.#reading -= 1;
      this.isReady = true;
      this.#tell(isOlder);
    });
    return this.#last;
  }
}
