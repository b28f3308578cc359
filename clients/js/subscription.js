/** What a client is told of one subscription: changes in order, bounded, by an async iterator or a callback. */

import { decodeRow } from "./terms.js";

/** What waits to be read. At `limit` changes of the same row are added up, which loses none; then the oldest events go. */
export class Backlog {
  constructor(limit) {
    this.limit = limit;
    this.items = [];
    /** Events that were dropped, of which the reader was not told. */
    this.lost = 0;
    this.waiting = [];
    this.ended = null;
  }

  push(item) {
    if (this.ended) return;
    const reader = this.waiting.shift();
    if (reader) {
      reader.resolve({ value: item, done: false });
      return;
    }
    this.items.push(item);
    if (this.items.length > this.limit) this.#makeRoom();
  }

  #makeRoom() {
    const sums = new Map();
    const events = [];
    for (const item of this.items) {
      if (item.key === undefined || item.sign === "!") {
        events.push(item);
        continue;
      }
      const sum = sums.get(item.key) ?? { item, total: 0 };
      sum.total += item.sign === "+" ? 1 : -1;
      sums.set(item.key, { item, total: sum.total });
    }
    const rows = [];
    for (const sign of ["-", "+"]) {
      for (const { item, total } of sums.values()) {
        if ((sign === "+") !== total > 0) continue;
        for (let left = Math.abs(total); left > 0; left--) rows.push({ ...item, sign });
      }
    }
    // More goes than has to, so that this is not done again at the next event.
    const room = Math.max(0, Math.floor((this.limit * 3) / 4) - rows.length);
    this.lost += Math.max(0, events.length - room);
    this.items = [...rows, ...(room ? events.slice(-room) : [])];
    // An answer larger than the limit is kept whole; adding up again waits until as much has come once more.
    this.limit = Math.max(this.limit, 2 * rows.length);
  }

  /** The next item; waits for one. */
  next() {
    if (this.items.length) return Promise.resolve({ value: this.items.shift(), done: false });
    if (this.ended) return this.ended.error ? Promise.reject(this.ended.error) : Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Nothing more comes, because of an error or because it was asked for. */
  end(error = null) {
    if (this.ended) return;
    this.ended = { error };
    for (const reader of this.waiting.splice(0)) {
      if (error) reader.reject(error);
      else reader.resolve({ value: undefined, done: true });
    }
  }
}

/** One subscription of any kind; it outlives its connection. `begin` is the request that makes it, without its number. */
export class Told {
  constructor(client, begin, { limit = 100_000, onItem = null, onNotice = null } = {}) {
    this.client = client;
    this.begin = begin;
    this.id = 0;
    this.backlog = new Backlog(limit);
    this.onItem = onItem;
    this.onNotice = onNotice;
    this.closed = false;
  }

  /** Made, or made again after the connection was lost. */
  subscribed(message, again) {
    this.number = message.number;
    this.warnings = message.warnings;
    if (again) this.notice({ type: "reconnected", missedEvents: null });
  }

  receive(message) {
    switch (message.type) {
      case "overrun":
      case "stale":
        this.notice({ type: message.type, ...message.why });
        break;
      case "ended":
        this.end(this.client.errorOf(message.why));
        break;
      default:
        this.tell(message);
    }
  }

  give(item) {
    if (this.closed) return;
    if (this.onItem) this.client.call(this.onItem, item);
    else this.backlog.push(item);
  }

  notice(item) {
    if (this.onNotice) this.client.call(this.onNotice, item);
  }

  end(error = null) {
    this.closed = true;
    this.client.forget(this);
    this.backlog.end(error);
    if (error && this.onItem) this.notice({ type: "ended", error });
  }

  /** End it; what was not read is not read any more. Closing twice is allowed. */
  async close() {
    if (this.closed) return;
    const id = this.id;
    this.backlog.items.length = 0;
    this.end();
    await this.client.unsubscribe(id);
  }

  [Symbol.asyncIterator]() {
    return {
      next: async () => {
        const { backlog } = this;
        if (backlog.lost) {
          this.notice({ type: "overrun", kind: "Overrun", lost: backlog.lost, problem: `${backlog.lost} events were not read in time` });
          backlog.lost = 0;
        }
        return backlog.next();
      },
      return: async () => {
        await this.close();
        return { value: undefined, done: true };
      },
    };
  }
}

/** A standing query: its rows, and their changes. */
export class Subscription extends Told {
  variables = [];
  /** Rows that hold, by a text that is the same for the same row. */
  #held = new Map();
  /** The answer that comes again after the connection was lost; null while there is none. */
  #again = null;

  subscribed(message, again) {
    this.variables = message.variables;
    if (again) this.#again = new Map();
    super.subscribed(message, again);
  }

  /** The rows that hold now, each as often as it does. */
  rows() {
    return [...this.#held.values()].flatMap(({ row, count }) => Array(count).fill(row));
  }

  /** Why a row holds; some of its names will do. */
  why(row) {
    return this.client.why(this.number, row);
  }

  /** Why a row does not hold. */
  whyNot(row) {
    return this.client.whyNot(this.number, row);
  }

  tell(message) {
    if (message.type === "up_to_date") {
      if (this.#again) this.#difference();
      this.notice({ type: "up_to_date" });
      return;
    }
    for (const { sign, row, at } of message.rows) {
      const key = JSON.stringify(this.variables.map((name) => row[name] ?? null));
      if (sign !== "!" && this.#again) {
        count(this.#again, key, sign, row, at);
        continue;
      }
      const decoded = decodeRow(row);
      if (sign !== "!") count(this.#held, key, sign, decoded, at);
      this.give({ sign, row: decoded, at, key });
    }
  }

  /** The answer is complete again: what of it is not held, and what is held and not in it. */
  #difference() {
    const now = this.#again;
    this.#again = null;
    const at = new Date().toISOString();
    for (const [key, entry] of [...this.#held]) {
      const less = entry.count - (now.get(key)?.count ?? 0);
      for (let left = less; left > 0; left--) {
        count(this.#held, key, "-", entry.row, at);
        this.give({ sign: "-", row: entry.row, at, key });
      }
    }
    for (const [key, entry] of now) {
      const row = decodeRow(entry.row);
      const more = entry.count - (this.#held.get(key)?.count ?? 0);
      for (let left = more; left > 0; left--) {
        count(this.#held, key, "+", row, entry.at);
        this.give({ sign: "+", row, at: entry.at, key });
      }
    }
  }
}

function count(rows, key, sign, row, at) {
  const entry = rows.get(key) ?? { row, count: 0, at };
  entry.count += sign === "+" ? 1 : -1;
  if (entry.count) rows.set(key, entry);
  else rows.delete(key);
}
