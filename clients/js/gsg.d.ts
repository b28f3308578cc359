/** Client of a peer of the Global Semantic Graph router, for browsers and node >= 22. See README.md. */

/** A double: a number that stays one where it has no fraction. */
export declare class Double extends Number {
  constructor(value: number, lexical?: string);
  readonly lexical: string;
  toJSON(): { value: string; datatype: string };
}

export type SymbolTerm = { symbol: string };
export type IriTerm = { iri: string };
export type BlankTerm = { blank: string };
export type LiteralTerm = { value: string; datatype: string };
export type TextTerm = { value: string; lang: string };
export type CompoundTerm = { compound: Term[] };
export type ListTerm = { list: Term[]; tail?: Term | VariableTerm };
export type VariableTerm = { variable: string };

/** An integer is a number, or beyond 2^53 - 1 a BigInt; a number with a fraction is a double. */
export type Term =
  | string
  | number
  | bigint
  | boolean
  | Double
  | SymbolTerm
  | IriTerm
  | BlankTerm
  | LiteralTerm
  | TextTerm
  | CompoundTerm
  | ListTerm;

export declare const symbol: (name: string) => SymbolTerm;
export declare const iri: (value: string) => IriTerm;
export declare const blank: (label: string) => BlankTerm;
export declare const double: (value: number) => Double;
export declare const literal: (value: string, datatype: string) => LiteralTerm;
export declare const text: (value: string, lang: string) => TextTerm;

export type Tuple = Term[];
/** Terms by name, without those that are unbound. */
export type Row = Record<string, Term>;

/** `+` for a row that has become true, `-` for one that has stopped being true, `!` for one of an event's moment. */
export interface Change {
  sign: "+" | "-" | "!";
  row: Row;
  /** When the peer told it (RFC 3339, UTC). */
  at: string;
}

/** What a subscription has to say besides its changes. */
export type Notice =
  | { type: "up_to_date" }
  | { type: "reconnected"; missedEvents: null }
  | { type: "overrun"; kind: string; problem: string; lost?: number }
  | { type: "stale"; kind: string; problem: string }
  | { type: "ended"; error: GsgError };

export interface ConnectOptions {
  /** Whether to come back after the connection was lost; true unless you say otherwise. */
  reconnect?: boolean;
  /** A token of the peers' token files (docs/security.md), for the peers that are given and none that these tell of. */
  token?: string;
  onState?: (state: State) => void;
  /** Told of what a callback throws; console.error unless you say otherwise. */
  onError?: (error: unknown) => void;
  /** Where pauses come from, from 0 to 1. */
  random?: () => number;
  /** A WebSocket for runtimes that have none. */
  WebSocket?: typeof globalThis.WebSocket;
}

export type State = "connecting" | "open" | "closed";

export interface PublishOptions {
  /** Ids of the only peers that may read, in hexadecimal. */
  audience?: string[];
}

export interface NotifyOptions extends PublishOptions {
  /** Names these events, 1,000 at most: a peer that has told them does not when they come again under it, such as a UUID. */
  key?: string;
}

export interface SubscribeOptions {
  language?: string;
  /** Changes that are kept unread, here and at the peer. */
  limit?: number;
  maxTokens?: number;
  overflow?: "resync" | "drop_oldest" | "error";
  onChange?: (change: Change) => void;
  onNotice?: (notice: Notice) => void;
}

export interface ListenOptions<Event> {
  limit?: number;
  onEvent?: (event: Event) => void;
  onNotice?: (notice: Notice) => void;
}

export interface TopicEvent {
  topic: string;
  publisher: string;
  number: number;
  values: Term[];
}

export interface ChannelEvent {
  source: string;
  number: number;
  fields: Record<string, unknown>;
}

/** A peer refused a request, or could not carry it out. */
export declare class GsgError extends Error {
  /** The class of gsg.errors, such as "BadText" or "PeerUnreachable". */
  readonly kind: string;
  readonly line?: number;
  readonly column?: number;
  readonly source_line?: string;
  readonly what?: string;
  readonly lost?: number;
  readonly again_s?: number;
}

/** What comes of a subscription; leaving the loop ends it. */
export interface Told<Item> extends AsyncIterable<Item> {
  [Symbol.asyncIterator](): AsyncIterator<Item, undefined>;
  close(): Promise<void>;
  /** By which the peer can be asked about it. */
  readonly number: number;
}

export interface Subscription extends Told<Change> {
  readonly variables: string[];
  readonly warnings: string[];
  /** The rows that hold now, each as often as it does. */
  rows(): Row[];
  why(row: Row): Promise<Why>;
  whyNot(row: Row): Promise<WhyNot>;
}

export interface Why {
  row: string;
  derivations: { what: string; fact: string | null; said: string; total: number; inner: unknown[][] }[][];
  total: number;
  complete: boolean;
}

export interface WhyNot {
  row: string;
  holds: boolean;
  because: string[];
  checks: Record<string, unknown>;
  notes: string[];
}

export interface Vocabulary {
  /** The one with the most facts first. */
  constants: {
    arity: number;
    position: number;
    /** null for one that is too long to be told; `long` says its size, and a hash. */
    constant: Term | null;
    long?: string;
    /** That everybody may read, at all peers. */
    facts: number;
    /** Conditions of subscriptions that are posted under it. */
    templates: number;
  }[];
  totals: { arity: number; facts: number; keys: number }[];
  /** Peers that did not say. */
  silent: { peer: string; address: string; why: string }[];
}

export interface Topic {
  readonly name: string;
  publish(...events: Tuple[]): Promise<void>;
  subscribe(options?: ListenOptions<TopicEvent>): Promise<Told<TopicEvent>>;
  size(): Promise<number>;
}

export interface Channel {
  publish(
    events: (Record<string, unknown> | string)[],
    options?: { environment?: Record<string, unknown>; readers?: string[] },
  ): Promise<number>;
  subscribe(
    query: string,
    options?: ListenOptions<ChannelEvent> & {
      language?: string;
      report?: string;
      signature?: string[];
      deliver?: string;
      asker?: string;
    },
  ): Promise<Told<ChannelEvent>>;
  report(): Promise<Record<string, unknown>>;
}

/** A Rete network as it is now. A node has the same id in the next answer while the same queries use it. */
export interface Network {
  nodes: {
    id: number;
    /** The class of the node, "AlphaMemory" or "Query". */
    kind: string;
    title: string;
    text: string;
    level: number;
    /** How many of `unit` it holds; null where it keeps nothing. */
    count: number | null;
    unit: "tuple" | "token" | "row";
    bytes: number;
    subscriptions: number[];
    /** Of an alpha memory: what matches its pattern, in GSG script. */
    query: string;
  }[];
  edges: { source: number; target: number; kind: "tokens" | "facts" | "asks" | "rows" }[];
}

/** By which keys a tuple goes, to whom. */
export interface Route {
  keys: {
    position: number;
    constant: string;
    /** 160 bits in hexadecimal. */
    key: string;
    /** The primary first. */
    holders: { id: string; host: string; port: number }[];
    facts: number | null;
    templates: number | null;
    /** null where it is not known: of a pattern, and where the rendezvous did not say. */
    subscribers: { id: string; address: string; templates: number }[] | null;
    is_partial: boolean;
    problem: string;
  }[];
}

/** A client of one peer at a time. Made by `connect`. */
export interface Client {
  readonly state: State;
  /** Of the peer that it is at. */
  readonly url: string;
  /** The doors of other peers that this one has told of. */
  readonly doors: string[];
  readonly channel: Channel;
  insert(tuples: Tuple[], options?: PublishOptions): Promise<number>;
  retract(tuples: Tuple[], options?: PublishOptions): Promise<number>;
  notify(tuples: Tuple[], options?: NotifyOptions): Promise<void>;
  subscribe(query: string, options?: SubscribeOptions): Promise<Subscription>;
  why(number: number, row: Row): Promise<Why>;
  whyNot(number: number, row: Row): Promise<WhyNot>;
  explain(query: string, language?: string): Promise<Record<string, unknown>>;
  subscriptions(): Promise<Record<string, unknown>[]>;
  report(): Promise<Record<string, unknown>[]>;
  vocabulary(most?: number): Promise<Vocabulary>;
  drawing(subscription?: number | null): Promise<string>;
  network(subscription?: number | null): Promise<Network>;
  route(pattern: (Term | null)[]): Promise<Route>;
  topics(): Promise<Map<string, number>>;
  topic(name: string): Topic;
  /** Ask something that has no method; what the peer answers (docs/protocol.md). */
  ask(request: { type: string } & Record<string, unknown>): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

/** Connect to the first of these peers that answers. Rejects with a GsgError of kind PeerUnreachable when none does. */
export declare function connect(urls?: string | string[], options?: ConnectOptions): Promise<Client>;
