/**
 * Terms in JavaScript, and as the JSON of a peer (docs/protocol.md).
 *
 * A string is a string, true and false themselves, an integer a number or, beyond 2^53 - 1, a BigInt; a number with a fraction is a
 * double. All else is an object with one name that says its kind, such as `{ symbol: "kitchen" }` or `{ iri: "http://..." }`.
 */

const XSD = "http://www.w3.org/2001/XMLSchema#";

/** A double: a number that stays one where it has no fraction, as in `new Double(21)`, which is not the integer 21. */
export class Double extends Number {
  /** @param {number} value @param {string} [lexical] as it is written in RDF */
  constructor(value, lexical = lexicalOf(value)) {
    super(value);
    this.lexical = lexical;
  }

  toJSON() {
    return { value: this.lexical, datatype: XSD + "double" };
  }
}

function lexicalOf(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "INF" : "-INF";
  if (Object.is(value, -0)) return "-0.0";
  // As peers write it: an exponent from 1e16 on, of two digits at least.
  const [digits, exponent] = (Math.abs(value) >= 1e16 ? value.toExponential() : String(value)).split("e");
  if (exponent === undefined) return digits.includes(".") ? digits : `${digits}.0`;
  const size = exponent.replace(/^[+-]/, "").padStart(2, "0");
  return `${digits}e${exponent.startsWith("-") ? "-" : "+"}${size}`;
}

/** @param {string} name */
export const symbol = (name) => ({ symbol: name });
/** @param {string} value */
export const iri = (value) => ({ iri: value });
/** @param {string} label */
export const blank = (label) => ({ blank: label });
/** @param {number} value */
export const double = (value) => new Double(value);
/** A literal of a datatype (an IRI). @param {string} value @param {string} datatype */
export const literal = (value, datatype) => ({ value, datatype });
/** A text in a language, such as "de". @param {string} value @param {string} lang */
export const text = (value, lang) => ({ value, lang });

/** The JSON of a term. Throws TypeError for what is none. */
export function encodeTerm(value) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "bigint":
      return { value: String(value), datatype: XSD + "integer" };
    case "number":
      if (Number.isSafeInteger(value)) return value;
      if (!Number.isInteger(value)) return Number.isFinite(value) ? value : new Double(value).toJSON();
      throw new TypeError(`${value} is an integer that a number does not hold exactly; expected a BigInt, or double(${value})`);
    default:
      if (value instanceof Double) return value.toJSON();
      if (value === null || typeof value !== "object" || Array.isArray(value)) {
        throw new TypeError(`${String(value)} is no term; expected a string, number, boolean, BigInt, or an object such as symbol("a")`);
      }
      if (value.compound) return { compound: value.compound.map(encodeTerm) };
      if (value.list) {
        const list = { list: value.list.map(encodeTerm) };
        return value.tail === undefined ? list : { ...list, tail: encodeTerm(value.tail) };
      }
      return value;
  }
}

/** The term of a peer's JSON. */
export function decodeTerm(value) {
  if (value === null || typeof value !== "object") return value;
  if (value.compound) return { compound: value.compound.map(decodeTerm) };
  if (value.list) {
    const list = { list: value.list.map(decodeTerm) };
    return value.tail === undefined ? list : { ...list, tail: decodeTerm(value.tail) };
  }
  if (value.datatype === XSD + "integer" && /^(0|-?[1-9][0-9]*)$/.test(value.value)) return BigInt(value.value);
  if (value.datatype === XSD + "double") {
    const number = { NaN: NaN, INF: Infinity, "-INF": -Infinity }[value.value] ?? Number(value.value);
    if (lexicalOf(number) === value.value) return new Double(number, value.value);
  }
  return value;
}

/** A row by name, with its terms decoded. */
export function decodeRow(row) {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, decodeTerm(value)]));
}
