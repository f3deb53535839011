// The checkpoints of a log, newest first, as lanes: each branch has one, and ends at its parent. Rows are computed as
// far as they are looked at.
export class Lanes {
  #waiting = []; // by lane: the id that the lane leads to, or null
  #rows = [];

  /** Of the first `count` checkpoints: {lane, before, after, joins, isFork}; `before` and `after` are the lanes that pass. */
  upTo(checkpoints, count) {
    while (this.#rows.length < count) this.#rows.push(this.#next(checkpoints[this.#rows.length]));
    return this.#rows;
  }

  #next(checkpoint) {
    const before = this.#waiting.map((id) => id !== null);
    let lane = this.#waiting.indexOf(checkpoint.checkpoint_id);
    const isTip = lane < 0;
    if (isTip) {
      lane = this.#waiting.indexOf(null);
      if (lane < 0) lane = this.#waiting.length;
    }
    const joins = [];
    this.#waiting.forEach((id, i) => {
      if (i !== lane && id === checkpoint.checkpoint_id) {
        joins.push(i);
        this.#waiting[i] = null;
      }
    });
    this.#waiting[lane] = checkpoint.parent ?? null;
    while (this.#waiting.length && this.#waiting.at(-1) === null) this.#waiting.pop();
    const after = this.#waiting.map((id) => id !== null);
    return { lane, before, after, joins, isTip, isFork: joins.length > 0 || checkpoint.source === 'fork' };
  }
}
