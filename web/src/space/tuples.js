/** Tuples as somebody types them: `(kitchen, ^temperature, 21.5)`, with the terms of GSG script that need no other tuple. */

import { double, iri, symbol } from "../../../clients/js/gsg.js";

const TERM = /\s*(?:"((?:[^"\\]|\\.)*)"|<([^<>\s]+)>|\^([A-Za-z_][\w-]*)|(-?\d+\.\d+(?:[eE][+-]?\d+)?)|(-?\d+)|([A-Za-z_][\w-]*)|(\*|\?\w+))\s*/y;
const EXAMPLE = "(kitchen, ^temperature, 21.5)";

/** The tuples of a text, each with null where a pattern leaves open what stands there. Throws an Error that says where it is none. */
function read(text, { patterns }) {
  const tuples = [];
  let at = 0;
  const skip = () => {
    while (/[\s;]/.test(text[at] ?? "")) at += 1;
  };
  const fail = (expected) => {
    const line = text.slice(0, at).split("\n");
    throw new Error(`line ${line.length}, column ${line.at(-1).length + 1}: expected ${expected}, such as ${patterns ? "(*, ^temperature, *)" : EXAMPLE}`);
  };
  for (skip(); at < text.length; skip()) {
    if (text[at] !== "(") fail("a tuple that begins with (");
    at += 1;
    const tuple = [];
    for (;;) {
      TERM.lastIndex = at;
      const found = TERM.exec(text);
      if (!found || (found[7] && !patterns)) fail("a term");
      const [, quoted, name, sign, fraction, whole, word] = found;
      if (quoted !== undefined) tuple.push(JSON.parse(`"${quoted}"`));
      else if (name !== undefined) tuple.push(iri(name));
      else if (sign !== undefined) tuple.push(symbol(sign));
      else if (fraction !== undefined) tuple.push(double(Number(fraction)));
      else if (whole !== undefined) tuple.push(Number.isSafeInteger(Number(whole)) ? Number(whole) : BigInt(whole));
      else if (word !== undefined) tuple.push(symbol(word));
      else tuple.push(null);
      at = TERM.lastIndex;
      if (text[at] === ")") break;
      if (text[at] !== ",") fail(", or )");
      at += 1;
    }
    at += 1;
    tuples.push(tuple);
  }
  if (!tuples.length) fail("a tuple");
  return tuples;
}

export const readTuples = (text) => read(text, { patterns: false });

/** One tuple, in which `*` or `?x` stands for anything: null. */
export const readPattern = (text) => read(text, { patterns: true })[0];
