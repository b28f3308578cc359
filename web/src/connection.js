/** The page's connection to the peer that served it, and what of it the page shows. */

import { signal } from "@preact/signals";

import { connect } from "../../clients/js/gsg.js";

/** "connecting", "open", "lost", or "locked" where the peer asks for a token. */
export const state = signal("connecting");
/** The client, while there is one. */
export const client = signal(null);
/** Doors of other peers, to go on at when this one is lost. */
export const others = signal([]);
/** Why a token was not taken. */
export const denied = signal("");

/** Connect to the peer, which asks for a token perhaps: then the page asks for it. */
export async function open() {
  try {
    const told = await (await fetch("/readyz", { headers: { accept: "application/json" } })).json();
    // Whoever may read is told how many peers there are.
    if (!("peers" in told)) {
      state.value = "locked";
      return;
    }
    client.value = await connect(location.origin, {
      onState: (now) => {
        if (client.value) others.value = client.value.doors;
        state.value = now === "open" ? "open" : "lost";
      },
    });
    state.value = "open";
  } catch {
    state.value = "lost";
    setTimeout(open, 2_000);
  }
}

/** Show a token once; the peer knows the page by a cookie from then on. */
export async function logIn(token) {
  const answer = await fetch("/login", { method: "POST", headers: { authorization: `Bearer ${token}` } });
  if (answer.ok) {
    denied.value = "";
    await open();
    if (state.value === "locked") denied.value = "This token may publish, and the page needs one that may read as well.";
  } else {
    // What follows says how programs show one.
    denied.value = (await answer.json()).detail.split(";")[0];
  }
}

/** A token in the fragment of the URL, which no server sees, is shown at once and taken out of the history. */
export async function begin() {
  const found = /^#token=(.+)$/.exec(location.hash);
  if (found) {
    history.replaceState(null, "", `${location.pathname}#/query`);
    await logIn(decodeURIComponent(found[1]));
  } else {
    await open();
  }
}
