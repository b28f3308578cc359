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

const XSD = "http://www.w3.org/2001/XMLSchema#";
/** A text between marks; JSON escapes what GSG script does, and in the same way, but for single quotes. */
function quoted(text, mark) {
  const inner = JSON.stringify(text).slice(1, -1);
  return mark === "'" ? `'${inner.replaceAll('\\"', '"').replaceAll("'", "\\'")}'` : `"${inner}"`;
}

/** A term as GSG script writes it; null for what it has no notation for. */
export function written(value) {
  switch (typeof value) {
    case "string":
      return quoted(value, '"');
    case "bigint":
    case "number":
      return String(value);
    case "boolean":
      return `"${value}"^^<${XSD}boolean>`;
  }
  if (value === null || value === undefined) return null;
  if ("lexical" in value) return /^[-+]?[\d.]+(e[-+]?\d+)?$/i.test(value.lexical) ? value.lexical : `"${value.lexical}"^^<${XSD}double>`;
  if ("iri" in value) return `<${value.iri}>`;
  if ("symbol" in value) return /^[A-Za-z_][\w-]*$/.test(value.symbol) ? `^${value.symbol}` : `^${quoted(value.symbol, "'")}`;
  if ("blank" in value) return `_:${value.blank}`;
  if ("value" in value) return `${quoted(value.value, '"')}${value.lang ? `@${value.lang}` : `^^<${value.datatype}>`}`;
  return null;
}

/** A term, as clients/js gives it: how it is shown, how it is written in full, and what kind it is. */
export function term(value) {
  const full = written(value) ?? (value === null || value === undefined ? "not bound" : JSON.stringify(value));
  if (value === null || value === undefined) return { text: "", full, kind: "none" };
  if (typeof value === "string") return { text: value, full, kind: "text" };
  if (typeof value === "boolean") return { text: String(value), full, kind: "symbol" };
  if (typeof value === "number" || typeof value === "bigint") return { text: String(value), full, kind: "number" };
  if ("iri" in value) return { text: short(value.iri), full, kind: "iri" };
  if ("symbol" in value) return { text: value.symbol, full, kind: "symbol" };
  if ("blank" in value) return { text: full, full, kind: "blank" };
  if ("value" in value) return { text: value.value, full, kind: isNaN(value.value) ? "text" : "number" };
  if (typeof value.valueOf() === "number") return { text: String(value.valueOf()), full, kind: "number" };
  return { text: full, full, kind: "other" };
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
