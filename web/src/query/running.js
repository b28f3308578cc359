/**
 * A query that runs: the rows that hold, what has changed lately, and how much of it.
 *
 * Rows may come ten thousand a second: they are counted as they come, and shown a few times a second. The feed keeps the latest of
 * them; what it leaves out is said, and counts stay exact.
 */

import { batch, signal } from "@preact/signals";

import { numeric } from "../format.js";

/** How often what has come is shown. */
const SHOW_MS = 250;
/** Changes that the feed keeps. */
export const FEED = 500;
/** Points of a chart, of all its lines together; the oldest go. */
const POINTS = 20_000;
/** How long a rate is taken over. */
const RATE_MS = 5_000;

export class Running {
  variables = signal([]);
  /** Rows that hold, in the order in which they came: [key, row, count]. */
  rows = signal([]);
  /** The latest changes, the newest first. */
  feed = signal([]);
  counts = signal({ plus: 0, minus: 0, events: 0, rows: 0, rate: 0, unseen: 0 });
  /** "making", "up to date" once the first answer is there, "ended". */
  state = signal("making");
  notices = signal([]);
  warnings = signal([]);
  error = signal(null);
  /** Numbers over time: name -> [[seconds, value, row], ...]. */
  series = signal(new Map());

  #held = new Map();
  #latest = [];
  #plus = 0;
  #minus = 0;
  #events = 0;
  #unseen = 0;
  #recent = [];
  #points = new Map();
  #changed = false;
  #timer = null;
  #live = null;
  #closed = false;

  /** Whether it was to be asked once, and that is done. */
  isAnswered = false;

  constructor(text, language) {
    this.text = text;
    this.language = language;
  }

  async start(client) {
    this.#timer = setInterval(() => this.#show(), SHOW_MS);
    try {
      this.#live = await client.subscribe(this.text, {
        language: this.language,
        onChange: (change) => this.#take(change),
        onNotice: (notice) => this.#notice(notice),
      });
    } catch (error) {
      this.#end(error);
      return;
    }
    if (this.#closed) {
      await this.#live.close();
      return;
    }
    batch(() => {
      this.variables.value = this.#live.variables;
      this.warnings.value = this.#live.warnings ?? [];
    });
  }

  /** The number of the subscription at the peer, for who asks why. */
  get number() {
    return this.#live?.number;
  }

  async stop() {
    this.#closed = true;
    this.#end(null);
    await this.#live?.close();
  }

  #end(error) {
    clearInterval(this.#timer);
    this.#show();
    batch(() => {
      this.error.value = error;
      this.state.value = "ended";
    });
  }

  #notice(notice) {
    if (notice.type === "up_to_date") {
      this.#show();
      // What held already is no news.
      this.#recent = [];
      this.state.value = "up to date";
    } else if (notice.type === "ended") {
      this.#end(notice.error);
    } else {
      this.notices.value = [...this.notices.value.slice(-9), { ...notice, at: Date.now() }];
    }
  }

  #take({ sign, row, at, key }) {
    if (sign === "+") {
      this.#plus += 1;
      const held = this.#held.get(key);
      if (held) held.count += 1;
      else this.#held.set(key, { key, row, count: 1, at });
    } else if (sign === "-") {
      this.#minus += 1;
      const held = this.#held.get(key);
      if (held && (held.count -= 1) === 0) this.#held.delete(key);
    } else {
      this.#events += 1;
    }
    this.#latest.push({ sign, row, at });
    // Cut now and then, so that a flood costs no more than it has to.
    if (this.#latest.length > 4 * FEED) {
      this.#unseen += this.#latest.length - FEED;
      this.#latest = this.#latest.slice(-FEED);
    }
    if (sign !== "-") this.#plot(row, at);
    this.#changed = true;
  }

  #plot(row, at) {
    const when = Date.parse(at) / 1_000;
    for (const [name, value] of Object.entries(row)) {
      const number = numeric(value);
      if (Number.isNaN(number)) continue;
      const points = this.#points.get(name) ?? [];
      points.push([when, number, row]);
      if (points.length > POINTS) points.splice(0, POINTS / 2);
      this.#points.set(name, points);
    }
  }

  #show() {
    const now = Date.now();
    const total = this.#plus + this.#minus + this.#events;
    this.#recent.push([now, total]);
    while (this.#recent.length > 2 && now - this.#recent[0][0] > RATE_MS) this.#recent.shift();
    const [since, before] = this.#recent[0];
    const rate = now > since ? ((total - before) * 1_000) / (now - since) : 0;
    if (!this.#changed && rate === this.counts.value.rate) return;
    batch(() => {
      if (this.#changed) {
        this.rows.value = [...this.#held.values()];
        const fresh = this.#latest.reverse();
        this.#latest = [];
        const feed = [...fresh, ...this.feed.value];
        this.#unseen += Math.max(0, feed.length - FEED);
        this.feed.value = feed.slice(0, FEED);
        this.series.value = new Map(this.#points);
      }
      this.counts.value = {
        plus: this.#plus,
        minus: this.#minus,
        events: this.#events,
        rows: this.#held.size,
        rate,
        unseen: this.#unseen,
      };
    });
    this.#changed = false;
  }
}

/** The language that a text is written in: SPARQL has a verb that no script begins with. */
export const languageOf = (text) => (/^\s*(#[^\n]*\n\s*)*(PREFIX|BASE|SELECT|ASK|CONSTRUCT|DESCRIBE)\b/i.test(text) ? "sparql" : "gsg");
