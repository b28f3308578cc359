/** With a real peer, whose address is in GSG_PEER. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectTcp, createServer } from "node:net";
import { after, before, describe, test } from "node:test";

import { connect, double, GsgError, iri, symbol, text } from "../gsg.js";

const peer = process.env.GSG_PEER;

describe("a client of a peer", { skip: peer ? false : "GSG_PEER names no peer" }, () => {
  let client;
  before(async () => {
    client = await connect(peer);
  });
  after(() => client.close());

  test("tells rows that hold, their changes, and events", async () => {
    await client.insert([["a", symbol("is"), 21.5]]);
    const subscription = await client.subscribe("(?x, is, ?y)");
    const changes = subscription[Symbol.asyncIterator]();
    const next = async () => {
      const { sign, row, at } = (await changes.next()).value;
      assert.match(at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      return [sign, row];
    };

    assert.deepEqual(await next(), ["+", { x: "a", y: 21.5 }]);
    assert.equal(await client.retract([["a", symbol("is"), 21.5]]), 1);
    assert.deepEqual(await next(), ["-", { x: "a", y: 21.5 }]);
    await client.notify([["b", symbol("is"), true]]);
    assert.deepEqual(await next(), ["!", { x: "b", y: true }]);
    assert.deepEqual(subscription.rows(), []);
    await subscription.close();
    assert.deepEqual(await changes.next(), { value: undefined, done: true });
  });

  test("tells events with a key once", async () => {
    const subscription = await client.subscribe("(?x, keyed)");
    const event = (name) => [[name, symbol("keyed")]];
    const key = crypto.randomUUID();

    await client.notify(event("a"), { key });
    await client.notify(event("a"), { key });
    await client.notify(event("b"), { key: `${key}, another` });

    const heard = [];
    for await (const { row } of subscription) {
      heard.push(row.x);
      if (row.x === "b") break;
    }
    assert.deepEqual(heard, ["a", "b"]);
    await assert.rejects(client.notify(event("c"), { key }), (error) => error.kind === "LocalError" && error.message.includes("was used for others"));
  });

  test("has terms back as it said them", async () => {
    const values = ["s", 1, 2n ** 53n, -(2n ** 80n), 0.1, 1e-9, false, symbol("k"), iri("http://e.org/a"), text("Haus", "de"), double(21), { list: [1, { compound: [symbol("f"), 2] }] }];
    const subscription = await client.subscribe("(echo, ?n, ?value)");

    await client.insert(values.map((value, number) => [symbol("echo"), number, value]));

    const heard = [];
    for await (const { row } of subscription) {
      heard[row.n] = row.value;
      if (heard.length === values.length && !heard.includes(undefined)) break;
    }
    assert.deepEqual(heard, values);
    assert.equal(await client.retract(heard.map((value, number) => [symbol("echo"), number, value])), values.length);
  });

  test("calls back", async () => {
    const told = [];
    let done;
    const enough = new Promise((resolve) => (done = resolve));
    const subscription = await client.subscribe("(?x, calls)", {
      onChange: ({ sign, row }) => told.push(sign + row.x) === 2 && done(),
      onNotice: ({ type }) => told.push(type),
    });
    await client.insert([["a", symbol("calls")]]);
    await enough;
    await subscription.close();

    assert.deepEqual(told, ["up_to_date", "+a"]);
  });

  test("says where a mistake in a query is", async () => {
    await assert.rejects(client.subscribe("(?x, on"), (error) => {
      assert.ok(error instanceof GsgError);
      assert.deepEqual([error.kind, error.line, error.column], ["BadText", 1, 8]);
      return true;
    });
  });

  test("says why a row holds, and why another does not", async () => {
    await client.insert([["w", symbol("why")]]);
    const subscription = await client.subscribe("(?x, why)");

    assert.equal((await subscription.why({ x: "w" })).total, 1);
    assert.equal((await subscription.whyNot({ x: "v" })).holds, false);
    assert.deepEqual((await client.explain("(?x, why)")).variables, ["x"]);
    assert.ok((await client.subscriptions()).some(({ number }) => number === subscription.number));
    await subscription.close();
  });

  test("publishes to topics, and to the channel", async () => {
    const topics = await client.topic("js/+").subscribe();
    const events = await client.channel.subscribe("(= type 'js)");

    await client.topic("js/one").publish(["rang", 2n ** 60n]);
    await client.channel.publish([{ type: "js", n: 1 }, "type: other"]);

    for await (const { topic, values } of topics) {
      assert.deepEqual([topic, values], ["js/one", ["rang", 2n ** 60n]]);
      break;
    }
    for await (const { fields } of events) {
      assert.deepEqual(fields, { type: "js", n: 1 });
      break;
    }
    assert.ok((await client.topics()) instanceof Map);
    assert.equal(typeof (await client.topic("js/one").size()), "number");
  });

  test("says which constants facts have", async () => {
    await client.insert([["v", symbol("vocabulary"), 2n ** 60n], ["w", symbol("vocabulary"), "long ".repeat(100)]]);
    const { constants, totals, silent } = await client.vocabulary(1_000);

    const at = (position, wanted) => constants.find((one) => one.arity === 3 && one.position === position && wanted(one));
    const { facts, templates } = at(1, ({ constant }) => constant?.symbol === "vocabulary");
    assert.deepEqual([facts, templates], [2, 0]);
    assert.equal(at(2, ({ constant }) => constant === 2n ** 60n).facts, 1);
    assert.match(at(2, ({ constant }) => constant === null).long, /^a constant of 503 bytes with the hash [0-9a-f]{12}$/);
    assert.ok(totals.find(({ arity }) => arity === 3).facts >= 2);
    assert.deepEqual(silent, []);
  });

  test("rejects what is asked of a closed client", async () => {
    const other = await connect(peer);
    await other.close();
    await assert.rejects(other.insert([["a"]]), { kind: "DoorClosed" });
  });

  test("says that no peer answers", async () => {
    await assert.rejects(connect("http://127.0.0.1:1"), { kind: "PeerUnreachable" });
  });
});

/** What stands between a client and its peer, and can be cut. */
async function proxy() {
  const sockets = new Set();
  const { hostname, port } = new URL(peer);
  const server = createServer((near) => {
    const far = connectTcp(Number(port), hostname);
    for (const [one, other] of [[near, far], [far, near]]) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => (sockets.delete(one), other.destroy()));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut: () => sockets.forEach((socket) => socket.destroy()),
    close: () => (sockets.forEach((socket) => socket.destroy()), server.close()),
  };
}

describe("a client whose connection is lost", { skip: peer ? false : "GSG_PEER names no peer" }, () => {
  let between;
  let client;
  before(async () => {
    between = await proxy();
    client = await connect(peer);
  });
  after(async () => {
    await client.close();
    between.close();
  });

  test("comes back and tells the difference", async () => {
    await client.insert([["stays", symbol("lost")], ["goes", symbol("lost")]]);
    const states = [];
    const other = await connect([between.url], { random: () => 0, onState: (state) => states.push(state) });
    const notices = [];
    const subscription = await other.subscribe("(?x, lost)", { onNotice: ({ type }) => notices.push(type) });
    const changes = subscription[Symbol.asyncIterator]();
    const next = async () => {
      const { sign, row } = (await changes.next()).value;
      return sign + row.x;
    };
    assert.deepEqual([await next(), await next()].sort(), ["+goes", "+stays"]);

    between.cut();
    while (!states.includes("connecting")) await new Promise(setImmediate);
    await client.retract([["goes", symbol("lost")]]);
    await client.insert([["comes", symbol("lost")]]);

    assert.deepEqual([await next(), await next()].sort(), ["+comes", "-goes"]);
    await client.insert([["last", symbol("lost")]]);
    assert.equal(await next(), "+last");
    assert.deepEqual(subscription.rows().map(({ x }) => x).sort(), ["comes", "last", "stays"]);
    assert.deepEqual(notices.filter((type) => type !== "up_to_date"), ["reconnected"]);
    await other.close();
  });

  test("rejects what was not answered, and carries out what is asked meanwhile", async () => {
    const other = await connect([between.url], { random: () => 0 });
    const pending = other.ask({ type: "ask_report" });
    between.cut();
    await assert.rejects(pending, { kind: "PeerUnreachable" });

    assert.equal(await other.insert([["meanwhile", symbol("lost")]]), 1);
    await other.close();
  });

  test("ends where it is not to come back", async () => {
    const other = await connect([between.url], { reconnect: false });
    const subscription = await other.subscribe("(?x, lost)");
    between.cut();

    await assert.rejects(
      async () => {
        for await (const change of subscription) assert.ok(change.sign);
      },
      { kind: "PeerUnreachable" },
    );
    assert.equal(other.state, "closed");
  });
});
