/** The page: its frame, and the screen that its address names. */

import { render } from "preact";

import { begin, client, denied, logIn, others, state } from "./connection.js";
import { html } from "./html.js";
import { Log } from "./log/screen.js";
import { Peers } from "./peers/screen.js";
import { Query } from "./query/screen.js";
import { address, latest, route } from "./route.js";
import { changeScheme, scheme } from "./scheme.js";
import { Space } from "./space/screen.js";
import { Subscriptions } from "./subscriptions/screen.js";

const SCREENS = { query: ["Query", Query], space: ["Space", Space], subscriptions: ["Subscriptions", Subscriptions], peers: ["Peers", Peers], log: ["Log", Log] };
function Locked() {
  const enter = (event) => {
    event.preventDefault();
    void logIn(new FormData(event.currentTarget).get("token").trim());
  };
  return html`<form class="locked" onSubmit=${enter}>
    <h1>This peer asks for a token</h1>
    <p>It is one of the lines of the file that <code>gsg peer --http-token-file</code> names; with the role <code>read</code> you can look, with <code>publish</code> tell it something.</p>
    <label class="stacked">Token <input name="token" type="password" autocomplete="current-password" required autofocus /></label>
    ${denied.value && html`<p class="problem" role="alert">${denied.value}</p>`}
    <button class="main">Sign in</button>
  </form>`;
}

function Banner() {
  if (state.value !== "lost") return null;
  return html`<p class="banner" role="alert">The peer does not answer. This page goes on by itself when it is back; what changes meanwhile is shown then.
    ${others.value.length > 0 && html` Or go on at ${others.value.slice(0, 5).map((url, at) => html`${at ? ", " : ""}<a href=${`${url}/${location.hash}`}>${url}</a>`)}.`}</p>`;
}

function Frame() {
  const here = SCREENS[route.value.screen] ? route.value.screen : "query";
  const [, Screen] = SCREENS[here];
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Go to the content</a>
    <header>
      <span class="name"><svg viewBox="0 0 32 32" aria-hidden="true"><circle cx="16" cy="16" r="11" /><circle cx="16" cy="5" r="4" /><circle cx="25.5" cy="21.5" r="4" /><circle cx="6.5" cy="21.5" r="4" /></svg> Global Semantic Graph</span>
      <nav aria-label="Screens">${Object.entries(SCREENS).map(
        ([name, [title]]) => html`<a href=${address(name, latest.get(name))} aria-current=${name === here ? "page" : null}>${title}</a>`,
      )}</nav>
      <span class="push"></span>
      <span class=${`state ${state.value === "open" ? "good" : ""}`} role="status">${{ open: "connected", lost: "lost", locked: "locked", connecting: "connecting" }[state.value]}</span>
      <button class="link" onClick=${changeScheme} title="As the system, light or dark">Colours: ${scheme.value}</button>
    </header>
    <${Banner} />
    <main id="main" tabindex="-1">
      ${state.value === "locked" ? html`<${Locked} />` : client.value ? html`<${Screen} />` : html`<p class="empty">Connecting to the peer…</p>`}
    </main>`;
}

render(html`<${Frame} />`, document.body);
void begin();
