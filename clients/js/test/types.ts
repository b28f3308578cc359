/** What the types allow, checked by `tsc --noEmit --strict`; it is never run. */

import { type Change, connect, double, type Row, symbol, type Term } from "../gsg.js";

const client = await connect(["http://127.0.0.1:8470"], { token: "secret", onState: (state) => state === "open" });
const changed: number = await client.insert([["kitchen", symbol("temperature"), 21.5, 2n ** 60n, double(21), true]], { audience: [] });
const subscription = await client.subscribe("(?x)", { language: "sparql", limit: changed, overflow: "resync" });
for await (const change of subscription) {
  const { sign, row, at }: Change = change;
  const value: Term | undefined = row["x"];
  console.log(sign === "+", value, at.length);
}
const rows: Row[] = subscription.rows();
const ways: number = (await subscription.why(rows[0]!)).total;
for await (const { topic, values } of await client.topic("a/+").subscribe()) console.log(topic.length, values.length, ways);
for await (const { fields } of await client.channel.subscribe("true", { language: "predicate" })) console.log(fields["type"]);
const { constants, silent } = await client.vocabulary(10);
const constant: Term | null = constants[0]!.constant;
console.log(constant, constants[0]!.facts + 1, silent[0]!.why.length);

await client.notify([["door", symbol("rang")]], { key: crypto.randomUUID(), audience: [] });

// @ts-expect-error: facts have no key
await client.insert([["kitchen", 21.5]], { key: "a" });
// @ts-expect-error: null is no term
await client.insert([[null]]);
// @ts-expect-error: a tuple is a list of terms
await client.notify(["a", "b"]);
// @ts-expect-error: there is no such overflow
await client.subscribe("(?x)", { overflow: "never" });
