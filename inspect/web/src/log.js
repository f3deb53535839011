import { get, path } from './api.js';
import { Lanes } from './lanes.js';

// A log as it is read: its checkpoints newest first, in pages, and what has come since. Views are told of changes.
const first_page = 200;
const page = 500;

export class Log {
  checkpoints = [];
  more = false;
  lanes = new Lanes();
  head = null;
  error = null;
  isReady = false;
  #isLoading = false;

  constructor(thread, ns, tell) {
    this.thread = thread;
    this.ns = ns;
    this.tell = tell;
  }

  async load() {
    await this.#read(async () => {
      const answer = await get(path.thread(this.thread, 'timeline', { ns: this.ns, limit: first_page }));
      this.checkpoints = answer.checkpoints;
      this.more = answer.more;
      this.lanes = new Lanes();
    });
  }

  async loadOlder() {
    await this.#read(async () => {
      const before = this.checkpoints.at(-1)?.checkpoint_id;
      const answer = await get(path.thread(this.thread, 'timeline', { ns: this.ns, limit: page, before }));
      for (const checkpoint of answer.checkpoints) this.checkpoints.push(checkpoint);
      this.more = answer.more;
    });
  }

  /** Looks whether something is new; true if so. */
  async look() {
    const newest = this.checkpoints[0]?.checkpoint_id ?? '';
    const head = await get(path.thread(this.thread, 'head', { ns: this.ns, after: newest }));
    const before = this.head;
    this.head = head;
    if (before && before.mark === head.mark && before.running === head.running && before.run_error === head.run_error && head.newer === 0) return false;
    if (head.mark !== before?.mark || head.newer > 0) await this.#readNewer(head.newer);
    this.tell();
    return true;
  }

  async #readNewer(count) {
    if (count >= 100) {
      await this.load();
      return;
    }
    await this.#read(async () => {
      const answer = await get(path.thread(this.thread, 'timeline', { ns: this.ns, limit: count + 1 }));
      const known = answer.checkpoints.findIndex((each) => each.checkpoint_id === this.checkpoints[0]?.checkpoint_id);
      const fresh = known < 0 ? answer.checkpoints : answer.checkpoints.slice(0, known);
      const newest = known < 0 ? [] : [answer.checkpoints[known]]; // its pending writes may have changed
      this.checkpoints = [...fresh, ...newest, ...this.checkpoints.slice(newest.length)];
      this.lanes = new Lanes();
    });
  }

  async #read(work) {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      await work();
      this.error = null;
    } catch (error) {
      this.error = error;
    } finally {
      this.#isLoading = false;
      this.isReady = true;
      this.tell();
    }
  }
}
