/**
 * Client of a peer of the Global Semantic Graph router, for browsers and node >= 22.
 *
 * It speaks gsg.v1+json (docs/protocol.md) over one WebSocket, and comes back by itself when that is lost: here or at another of its
 * peers, after pauses that grow and differ. Subscriptions are made again then, and tell the difference to what they told before.
 */

import { Subscription, Told } from "./subscription.js";
import { decodeTerm, encodeTerm } from "./terms.js";

export { blank, Double, double, iri, literal, symbol, text } from "./terms.js";

const SUBPROTOCOL = "gsg.v1+json";
/** Before a token, which no page can put into a header of a WebSocket. */
const BEARER = "gsg.bearer.";
const DEFAULT_URL = "http://127.0.0.1:8470";
/** Requests that wait while there is no connection; one more is refused. */
const MAX_WAITING = 1_000;
/** Doors of other peers that are kept, of those that the peer tells of. */
const MAX_LEARNT = 64;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
const OPEN_TIMEOUT_MS = 5_000;

/** A peer refused a request, or could not carry it out: `kind` says which error of a peer it is. */
export class GsgError extends Error {
  constructor({ kind, problem, ...more }) {
    super(more.line ? `line ${more.line}, column ${more.column}: ${problem}` : problem);
    this.name = kind;
    this.kind = kind;
    Object.assign(this, more);
  }
}

const lost = (problem) => new GsgError({ kind: "PeerUnreachable", problem });

/**
 * Connect to the first of these peers that answers. Rejects with a GsgError of kind PeerUnreachable when none does.
 * @param {string | string[]} [urls] such as "http://127.0.0.1:8470"
 * @param {import("./gsg.js").ConnectOptions} [options]
 */
export async function connect(urls = DEFAULT_URL, options = {}) {
  const client = new Client([urls].flat(), options);
  await client._open();
  return client;
}

/** A client of one peer at a time. Made by `connect`. */
export class Client {
  #urls;
  #options;
  #socket = null;
  #number = 0;
  /** What was asked and is not answered, by number. */
  #asked = new Map();
  /** Subscriptions by the number of their request. */
  #told = new Map();
  /** What is to be asked when there is a connection again. Limit: MAX_WAITING. */
  #waiting = [];
  /** The doors of other peers, as the peer told. Limit: MAX_LEARNT. */
  #learnt = [];
  #closed = false;
  /** "connecting", "open" or "closed". */
  state = "connecting";
  url = "";

  constructor(urls, options) {
    this.#urls = urls;
    this.#options = { reconnect: true, random: Math.random, WebSocket: globalThis.WebSocket, ...options };
    if (!this.#options.WebSocket) throw new TypeError("there is no WebSocket here; use node >= 22, or pass one as the option WebSocket");
    this.channel = new Channel(this);
  }

  /** The doors of other peers that this one has told of: where to go when it is lost. */
  get doors() {
    return [...this.#learnt];
  }

  /** Make tuples true; how many were not before. */
  async insert(tuples, options = {}) {
    return (await this.ask({ type: "insert", ...publishing(tuples, options) })).count;
  }

  /** Make tuples untrue; how many were true. */
  async retract(tuples, options = {}) {
    return (await this.ask({ type: "retract", ...publishing(tuples, options) })).count;
  }

  /** Publish events, in order; `key` names them, 1,000 at most: under it they are told once. */
  async notify(tuples, { key, ...options } = {}) {
    await this.ask(defined({ type: "notify", ...publishing(tuples, options), key }));
  }

  /** A standing query; resolves when the peer has made it, and its rows follow as changes. */
  async subscribe(query, { language = "gsg", limit, maxTokens, overflow, onChange = null, onNotice = null } = {}) {
    const begin = defined({ type: "subscribe", query, language, limit, max_tokens: maxTokens, overflow });
    return this._begin(new Subscription(this, begin, { limit, onItem: onChange, onNotice }));
  }

  /** Why a row of a subscription holds; `number` is that of the subscription. */
  async why(number, row) {
    return (await this.ask({ type: "ask_why", subscription: number, row: encodeRow(row) })).why;
  }

  async whyNot(number, row) {
    return (await this.ask({ type: "ask_why", subscription: number, row: encodeRow(row), refused: true })).why_not;
  }

  /** How a query would be answered. */
  async explain(query, language = "gsg") {
    return (await this.ask({ type: "explain", query, language })).plan;
  }

  /** The subscriptions of the peer, of all its clients. */
  async subscriptions() {
    return (await this.ask({ type: "ask_holdings" })).subscriptions;
  }

  /** How the peers are, this client's first. */
  async report() {
    return (await this.ask({ type: "ask_report" })).peers;
  }

  /** The constants with the most facts, at all peers, and how much there is by arity. */
  async vocabulary(most = 100) {
    const { constants, totals, silent } = await this.ask({ type: "ask_vocabulary", most });
    return { constants: constants.map((one) => ({ ...one, constant: decodeTerm(one.constant) })), totals, silent };
  }

  /** A picture of the peer's network, or of one subscription's part, as SVG. */
  async drawing(subscription = null) {
    return (await this.ask({ type: "ask_drawing", subscription })).svg;
  }

  /** The same as data: nodes with what they hold now, and edges. */
  async network(subscription = null) {
    return (await this.ask({ type: "ask_network", subscription })).network;
  }

  /** How a tuple would travel that is published at this peer: by its keys, to their rendezvous, to subscribers; null is anything. */
  async route(pattern) {
    return (await this.ask({ type: "ask_route", pattern: pattern.map((item) => (item === null ? null : encodeTerm(item))) })).route;
  }

  /** The topics that the peer knows of, and how many members each has, about. */
  async topics() {
    const { topics } = await this.ask({ type: "ask_topics" });
    return new Map(topics.map(({ topic, members }) => [topic, members]));
  }

  /** A topic, to publish to and to subscribe to, or a filter such as "house/+", to subscribe to. */
  topic(name) {
    return new Topic(this, name);
  }

  /** Leave the peer: subscriptions end, and what is not answered is rejected. */
  async close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#state("closed");
    this.#fail(new GsgError({ kind: "DoorClosed", problem: "this client was closed" }));
    for (const told of [...this.#told.values()]) told.end();
    this.#socket?.close(1000);
  }

  /** Ask something that has no method; resolves with what the peer answers (docs/protocol.md). */
  ask(request) {
    return new Promise((resolve, reject) => this.#send({ request, resolve, reject }));
  }

  // --- for subscriptions ------------------------------------------------------------------------------------------------------

  /** Make a subscription; resolves with it. */
  _begin(told) {
    return new Promise((resolve, reject) => this.#send({ request: told.begin, told, resolve: () => resolve(told), reject }));
  }

  forget(told) {
    this.#told.delete(told.id);
  }

  async unsubscribe(id) {
    // A peer that does not know it any more has nothing to end.
    if (this.state === "open") await this.ask({ type: "unsubscribe", subscription: id }).catch(() => {});
  }

  errorOf(why) {
    return new GsgError(why);
  }

  /** Call back; a mistake there is nobody else's. */
  call(callback, item) {
    try {
      callback(item);
    } catch (error) {
      (this.#options.onError ?? console.error)(error);
    }
  }

  // --- the connection ---------------------------------------------------------------------------------------------------------

  #send(asked) {
    if (this.#closed) {
      asked.reject(new GsgError({ kind: "DoorClosed", problem: "this client was closed; connect again" }));
    } else if (this.state === "open") {
      const id = ++this.#number;
      this.#asked.set(id, asked);
      if (asked.told) {
        asked.told.id = id;
        this.#told.set(id, asked.told);
      }
      this.#socket.send(JSON.stringify({ ...asked.request, id }));
    } else if (this.#waiting.length >= MAX_WAITING) {
      asked.reject(lost(`${MAX_WAITING} requests wait for a peer to answer; try again when one does`));
    } else {
      this.#waiting.push(asked);
    }
  }

  #receive(text) {
    const message = JSON.parse(text);
    // Told again under the same number, whenever they change.
    if (message.type === "doors") this.#learn(message.urls);
    const asked = this.#asked.get(message.id);
    if (asked) {
      this.#asked.delete(message.id);
      if (message.type === "failed") {
        this.#told.delete(message.id);
        asked.reject(new GsgError(message));
        return;
      }
      if (asked.told) asked.told.subscribed(message, asked.again === true);
      asked.resolve(message);
      return;
    }
    this.#told.get(message.id)?.receive(message);
  }

  /** Connect to one peer after the other; rejects with why none is there. */
  async _open() {
    const problems = [];
    for (const url of new Set([...this.#urls, ...this.#learnt])) {
      try {
        this.#socket = await this.#connected(url);
        this.url = url;
        this.#state("open");
        this.#resume();
        return;
      } catch (error) {
        problems.push(`${url}: ${(await this.#denial(url)) ?? error.message}`);
      }
    }
    throw lost(`no peer answers (${problems.join("; ")}); start one with \`gsg peer\``);
  }

  /** Why a peer lets this client not in, where it says so: of a WebSocket that is refused nobody is told a reason. */
  async #denial(url) {
    const token = this.#urls.includes(url) ? this.#options.token : null;
    try {
      const headers = { accept: "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const answer = await fetch(new URL("/readyz", url), { headers, signal: AbortSignal.timeout(OPEN_TIMEOUT_MS) });
      const told = await answer.json();
      if (answer.status === 401) return told.detail;
      return "checks" in told && !("peers" in told) ? "the peer asks for a token with the role read; give it as the option token" : null;
    } catch {
      return null;
    }
  }

  #connected(url) {
    const { WebSocket } = this.#options;
    // Any member of the network may tell of any door: a token is for those that were given.
    const token = this.#urls.includes(url) ? this.#options.token : null;
    const target = new URL("/v1", url);
    target.protocol = target.protocol === "https:" || target.protocol === "wss:" ? "wss:" : "ws:";
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(target, token ? [SUBPROTOCOL, BEARER + base64url(token)] : [SUBPROTOCOL]);
      const timer = setTimeout(() => {
        socket.close();
        reject(new Error(`nobody answers within ${OPEN_TIMEOUT_MS / 1000} s`));
      }, OPEN_TIMEOUT_MS);
      socket.onopen = () => {
        clearTimeout(timer);
        if (this.#closed) {
          socket.close(1000);
          reject(new Error("this client was closed"));
          return;
        }
        resolve(socket);
      };
      socket.onmessage = ({ data }) => this.#receive(data);
      socket.onerror = () => {
        clearTimeout(timer);
        reject(new Error("the connection is refused"));
      };
      socket.onclose = () => {
        clearTimeout(timer);
        reject(new Error("the connection was closed"));
        if (socket === this.#socket) this.#lost();
      };
    });
  }

  /** The connection is lost. */
  #lost() {
    this.#socket = null;
    if (this.#closed) return;
    const problem = `the connection to the peer at ${this.url} was lost; whether it did what it was asked is not known`;
    const again = [...this.#asked.values()].filter((asked) => asked.told);
    const others = [...this.#asked.values()].filter((asked) => !asked.told);
    this.#asked.clear();
    for (const asked of others) asked.reject(lost(problem));
    const standing = [...this.#told.values()].filter((told) => !again.some((asked) => asked.told === told));
    this.#told.clear();
    if (!this.#options.reconnect) {
      this.#closed = true;
      this.#state("closed");
      for (const asked of again) asked.reject(lost(problem));
      for (const told of standing) told.end(lost(problem));
      return;
    }
    // What was told goes on being told; what was not made yet is asked for again.
    this.#waiting.unshift(
      ...standing.map((told) => ({ request: told.begin, told, again: true, resolve: () => {}, reject: (error) => told.end(error) })),
      ...again,
    );
    this.#state("connecting");
    this.#comeBack(0);
  }

  #comeBack(attempt) {
    // All clients of a peer that died come back, and not all at once (full jitter).
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempt, 16));
    setTimeout(async () => {
      if (this.#closed) return;
      // Not always the first: those of one peer are to spread over the others.
      this.#urls = [...this.#urls.slice(1), this.#urls[0]];
      try {
        await this._open();
      } catch {
        this.#comeBack(attempt + 1);
      }
    }, this.#options.random() * longest);
  }

  #learn(urls) {
    // Nobody is to be led from TLS to plain text.
    const given = new Set(this.#urls.map((url) => new URL(url).protocol));
    this.#learnt = urls.filter((url) => given.has(new URL(url).protocol)).slice(0, MAX_LEARNT);
  }

  #resume() {
    // Where else to go when this peer is lost. One that does not know of others says so, and that is no matter.
    if (this.#options.reconnect) this.#send({ request: { type: "ask_doors" }, resolve: () => {}, reject: () => {} });
    for (const asked of this.#waiting.splice(0)) {
      if (!asked.told?.closed) this.#send(asked);
    }
  }

  #fail(error) {
    for (const asked of [...this.#asked.values(), ...this.#waiting.splice(0)]) asked.reject(error);
    this.#asked.clear();
  }

  #state(state) {
    this.state = state;
    if (this.#options.onState) this.call(this.#options.onState, state);
  }
}

/** A topic, or a filter of topics. */
class Topic {
  constructor(client, name) {
    this.client = client;
    this.name = name;
  }

  /** Publish events, in order: the values of each. */
  async publish(...events) {
    await this.client.ask({ type: "publish_topic", topic: this.name, events: events.map((values) => values.map(encodeTerm)) });
  }

  /** Its events, by an async iterator or `onEvent`. */
  subscribe({ limit, onEvent = null, onNotice = null } = {}) {
    const told = new TopicSubscription(this.client, { type: "subscribe_topic", topic: this.name }, { limit, onItem: onEvent, onNotice });
    return this.client._begin(told);
  }

  /** How many members it has, about. */
  async size() {
    return (await this.client.ask({ type: "ask_topics", topic: this.name })).topics[0].members;
  }
}

class TopicSubscription extends Told {
  tell({ events }) {
    for (const { values, topic, ...event } of events) this.give({ ...event, topic: topic ?? this.begin.topic, values: values.map(decodeTerm) });
  }
}

/** The event channel of the peer. */
class Channel {
  constructor(client) {
    this.client = client;
  }

  /** Publish events: objects, or texts of name-value pairs; how many. */
  async publish(events, { environment, readers } = {}) {
    return (await this.client.ask(defined({ type: "publish_events", events, environment, readers }))).count;
  }

  /** Events that a text of one of the four languages describes. */
  subscribe(query, { language = "predicate", report, signature, deliver, asker, limit, onEvent = null, onNotice = null } = {}) {
    const begin = defined({ type: "subscribe_events", query, language, report, signature, deliver, asker, limit });
    return this.client._begin(new ChannelSubscription(this.client, begin, { limit, onItem: onEvent, onNotice }));
  }

  /** How it is. */
  report() {
    return this.client.ask({ type: "ask_channel" });
  }
}

class ChannelSubscription extends Told {
  tell({ events }) {
    for (const event of events) this.give(event);
  }
}

function publishing(tuples, { audience } = {}) {
  return defined({ tuples: tuples.map((terms) => terms.map(encodeTerm)), audience });
}

const encodeRow = (row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, encodeTerm(value)]));

const base64url = (token) =>
  btoa(String.fromCharCode(...new TextEncoder().encode(token)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

/** An object without what is undefined: JSON has no form for that. */
const defined = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
