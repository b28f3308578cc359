/** Figures and terms as people read them. */

const NUMBER = new Intl.NumberFormat("en");
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export const number = (value) => NUMBER.format(value);

/** `1 fact`, `2,000 facts`. */
export const count = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;

export function size(bytes) {
  const step = bytes > 0 ? Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10)) : 0;
  const value = bytes / 1024 ** step;
  return `${step && value < 100 ? value.toFixed(1) : NUMBER.format(Math.round(value))} ${UNITS[step]}`;
}

export function seconds(value) {
  if (value < 60) return `${Math.round(value)} s`;
  if (value < 3_600) return `${Math.floor(value / 60)} min`;
  if (value < 86_400) return `${Math.floor(value / 3_600)} h ${Math.floor((value % 3_600) / 60)} min`;
  return `${Math.floor(value / 86_400)} d ${Math.floor((value % 86_400) / 3_600)} h`;
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 1 });
export const time = (at) => TIME.format(at);

/** The last part of an IRI, with its beginning for who points at it. */
const short = (iri) => iri.replace(/^.*[/#](?=[^/#]+$)/, "");

/** A term, as clients/js gives it: how it is written short, in full, and what kind it is. */
export function term(value) {
  if (value === null || value === undefined) return { text: "", full: "not bound", kind: "none" };
  if (typeof value === "string") return { text: value, full: JSON.stringify(value), kind: "text" };
  if (typeof value === "boolean") return { text: String(value), full: String(value), kind: "symbol" };
  if (typeof value === "number" || typeof value === "bigint") return { text: String(value), full: String(value), kind: "number" };
  if ("iri" in value) return { text: short(value.iri), full: `<${value.iri}>`, kind: "iri" };
  if ("symbol" in value) return { text: value.symbol, full: `^${value.symbol}`, kind: "symbol" };
  if ("blank" in value) return { text: `_:${value.blank}`, full: `_:${value.blank}`, kind: "blank" };
  if ("value" in value) {
    const what = value.lang ? `@${value.lang}` : `^^<${value.datatype}>`;
    return { text: value.value, full: `${JSON.stringify(value.value)}${what}`, kind: isNaN(value.value) ? "text" : "number" };
  }
  if ("double" in value || typeof value.valueOf() === "number") return { text: String(value.valueOf()), full: String(value), kind: "number" };
  return { text: JSON.stringify(value), full: JSON.stringify(value), kind: "other" };
}

/** A number where a term is one, else NaN. */
export function numeric(value) {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  if (value && typeof value === "object") {
    if (typeof value.valueOf() === "number") return value.valueOf();
    if ("value" in value && value.value !== "") return Number(value.value);
  }
  return NaN;
}
