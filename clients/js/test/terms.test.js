import assert from "node:assert/strict";
import { test } from "node:test";

import { Double, decodeTerm, double, encodeTerm, literal, symbol, text } from "../terms.js";
import { Backlog } from "../subscription.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";

test("terms are the same after they were said and heard", () => {
  const terms = ["a", "", 1, -5, 2 ** 53 - 1, 2n ** 53n, -(2n ** 70n), 21.5, 1e-7, true, false, symbol("on"), text("Haus", "de"), { list: [1, 2n ** 60n] }];
  for (const term of terms) {
    assert.deepEqual(decodeTerm(JSON.parse(JSON.stringify(encodeTerm(term)))), term);
  }
});

test("a double without a fraction is not an integer", () => {
  assert.deepEqual(encodeTerm(double(21)), { value: "21.0", datatype: `${XSD}double` });
  const heard = decodeTerm(encodeTerm(double(21)));
  assert.ok(heard instanceof Double);
  assert.equal(heard + 1, 22);
  assert.deepEqual(encodeTerm(heard), encodeTerm(double(21)));
});

test("doubles are written as peers write them", () => {
  const lexical = [21, 1e16, 1e22, -0, NaN, Infinity, -Infinity, 123456789012345680].map((value) => double(value).lexical);
  assert.deepEqual(lexical, ["21.0", "1e+16", "1e+22", "-0.0", "NaN", "INF", "-INF", "1.2345678901234568e+17"]);
});

test("a double that is written in another way is kept as it is written", () => {
  const term = literal("1.50", `${XSD}double`);
  assert.deepEqual(decodeTerm(term), term);
});

test("an integer that a number does not hold is refused, and so is what is no term", () => {
  assert.throws(() => encodeTerm(2 ** 53), /expected a BigInt, or double/);
  for (const value of [undefined, null, [1], () => 1]) assert.throws(() => encodeTerm(value), /is no term; expected a string/);
});

const change = (sign, name) => ({ sign, row: { x: name }, key: name });

test("unread changes of the same row are added up, and the oldest events go", async () => {
  const backlog = new Backlog(4);
  for (const [sign, name] of [["+", "a"], ["!", "e1"], ["-", "a"], ["!", "e2"], ["!", "e3"], ["+", "b"], ["!", "e4"]]) {
    backlog.push(change(sign, name));
  }
  backlog.end();

  const read = [];
  for (let next = await backlog.next(); !next.done; next = await backlog.next()) read.push(next.value.sign + next.value.key);

  assert.deepEqual(read.filter((item) => item[0] !== "!"), ["+b"]);
  assert.equal(read.filter((item) => item[0] === "!").at(-1), "!e4");
  assert.equal(read.filter((item) => item[0] === "!").length + backlog.lost, 4);
});
