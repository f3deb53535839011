// The checkpoints of a log, newest first, as lanes: each branch has one, and ends at its parent. Rows are computed as
// far as they are looked at, and rows that look the same are one object.
const no_lanes = Object.freeze([]);

export class Lanes {
  #waiting = []; // by lane: the id that the lane leads to, or null
  #rows = [];
  #kinds = new Map();

  /** How many rows are known. */
  get length() {
    return this.#rows.length;
  }

  /**
   * Of the first `count` checkpoints: {lane, before, after, joins, isTip, isFork}; `before` and `after` are the lanes
   * that pass. At most `most` rows are computed in one call, so that no call takes long: then there are fewer.
   */
  upTo(checkpoints, count, most = Infinity) {
    const end = Math.min(count, this.#rows.length + most);
    while (this.#rows.length < end) this.#rows.push(this.#next(checkpoints[this.#rows.length]));
    return this.#rows;
  }

  /** With newer checkpoints before the first. Where they only continue its branch, all that is known stays. */
  preceded(fresh, first) {
    const chain = [...fresh, first];
    const continues = fresh.every((each, i) => each.parent === chain[i + 1].checkpoint_id);
    if (!continues || this.#rows.length === 0) return new Lanes();
    const through = this.#rows[0].after.slice();
    const added = fresh.map((each, i) => this.#kind(0, i > 0 ? [true] : no_lanes, [true], no_lanes, i === 0, each.source === 'fork'));
    const old = this.#rows[0];
    this.#rows[0] = this.#kind(0, [true], through, old.joins, false, old.isFork);
    this.#rows = added.concat(this.#rows);
    return this;
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
    return this.#kind(lane, before, after, joins, isTip, joins.length > 0 || checkpoint.source === 'fork');
  }

  #kind(lane, before, after, joins, isTip, isFork) {
    const name = `${lane} ${before} ${after} ${joins} ${isTip} ${isFork}`;
    let kind = this.#kinds.get(name);
    if (!kind) this.#kinds.set(name, (kind = { lane, before, after, joins, isTip, isFork }));
    return kind;
  }
}
