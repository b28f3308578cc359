/** Where a client goes when its peer is lost: without a peer, by a WebSocket that is a script. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { connect } from "../gsg.js";

/** What is tried, in order; a WebSocket that answers ask_doors with these, and lets its test close it. */
function scripted(urls, isThere) {
  const opened = [];
  class Scripted {
    constructor(url, protocols) {
      this.url = String(url);
      this.shown = protocols.filter((each) => each.startsWith("gsg.bearer.")).map((each) => atob(each.slice("gsg.bearer.".length)));
      opened.push(this);
      queueMicrotask(() => (isThere(this.url) ? this.onopen() : this.onclose()));
    }
    send(text) {
      const { type, id } = JSON.parse(text);
      if (type === "ask_doors") this.onmessage({ data: JSON.stringify({ type: "doors", id, urls }) });
    }
    close() {}
  }
  return { opened, Scripted };
}

test("a client that lost its peer goes to another one that this has told of, and by the same protocol", async () => {
  let lost = false;
  const { opened, Scripted } = scripted(["https://other:1", "http://other:2"], (url) => !lost || !url.includes("given"));
  const states = [];
  await new Promise((resolve) => {
    connect("http://given:1", {
      WebSocket: Scripted,
      token: "for those that were given",
      random: () => 0,
      onState: (state) => {
        states.push(state);
        if (state === "open" && lost) resolve();
      },
    }).then(() => {
      lost = true;
      opened[0].onclose();
    });
  });

  assert.deepEqual(opened.map(({ url }) => url), ["ws://given:1/v1", "ws://given:1/v1", "ws://other:2/v1"]);
  const token = ["for those that were given"];
  assert.deepEqual(opened.map(({ shown }) => shown), [token, token, []]);
  assert.deepEqual(states, ["open", "connecting", "open"]);
});
