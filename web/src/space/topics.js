/** Topics that this peer knows of, and its channel; what is told in one of them is listed as it comes. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { client } from "../connection.js";
import { number, time } from "../format.js";
import { html } from "../html.js";
import { Term } from "../query/table.js";

const ASK_MS = 3_000;
/** Events that are listed; older ones go. */
const MOST = 100;

const sizes = signal(new Map());
const channel = signal(null);
const problem = signal("");
/** `{ name, events, count }` of the topic that is watched. */
const watched = signal(null);
let live = null;
/** Of the latest watch: one that is still being made when another is wanted, or none, is closed when it is there. */
let turn = 0;

async function ask() {
  try {
    [sizes.value, channel.value] = await Promise.all([client.value.topics(), client.value.channel.report()]);
  } catch (error) {
    problem.value = error.message;
  }
}

async function stop() {
  turn += 1;
  const ended = live;
  live = null;
  watched.value = null;
  await ended?.close();
}

async function watch(name) {
  await stop();
  const mine = turn;
  problem.value = "";
  watched.value = { name, events: [], count: 0 };
  try {
    const made = await client.value.topic(name).subscribe({
      onEvent: (event) => {
        if (mine !== turn) return;
        const { events, count } = watched.value;
        watched.value = { name, events: [{ ...event, at: Date.now() }, ...events.slice(0, MOST - 1)], count: count + 1 };
      },
    });
    if (mine === turn) live = made;
    else await made.close();
  } catch (error) {
    if (mine !== turn) return;
    watched.value = null;
    problem.value = error.message;
  }
}

async function publish(event) {
  event.preventDefault();
  const said = new FormData(event.currentTarget);
  try {
    await client.value.topic(said.get("topic")).publish([said.get("text")]);
    problem.value = "";
  } catch (error) {
    problem.value = error.message;
  }
}

export function Topics() {
  useEffect(() => {
    void ask();
    const timer = setInterval(ask, ASK_MS);
    return () => {
      clearInterval(timer);
      void stop();
    };
  }, []);
  const names = [...sizes.value].sort();
  const { counts = {}, subscriptions = [] } = channel.value ?? {};
  return html`<section aria-label="Topics and channel">
    ${problem.value && html`<p class="problem" role="alert">${problem.value}</p>`}
    <h2>Topics</h2>
    <p class="quiet">Events by name: what is told to a topic goes to those who watch it, or a filter with <code>+</code> for one part and <code>#</code> for all that follow.</p>
    <form class="bar" onSubmit=${(event) => { event.preventDefault(); void watch(new FormData(event.currentTarget).get("topic").trim()); }}>
      <label>Topic or filter <input name="topic" list="topics" required placeholder="house/+/temperature" autocomplete="off" /></label>
      <datalist id="topics">${names.map(([name]) => html`<option value=${name} />`)}</datalist>
      <button>Watch</button>
      ${watched.value && html`<button type="button" onClick=${stop}>Stop</button>`}
    </form>
    ${names.length > 0 && html`<div class="wide"><table>
      <thead><tr><th scope="col">Topic</th><th scope="col" class="figure">Members, about</th><th scope="col"><span class="unseen">Watch</span></th></tr></thead>
      <tbody>${names.map(([name, members]) => html`<tr key=${name}><th scope="row"><code>${name}</code></th><td class="figure">${members ? number(Math.round(members)) : "unknown"}</td><td><button class="link" onClick=${() => watch(name)}>watch</button></td></tr>`)}</tbody>
    </table></div>`}
    ${watched.value && html`<section aria-label="Events of the topic">
      <h3><code>${watched.value.name}</code>: ${number(watched.value.count)} events</h3>
      <div class="feed" tabindex="0" role="log" aria-label="Events"><ol>${watched.value.events.map(
        ({ topic, values, at }) => html`<li class="event"><time>${time(at)}</time> <span><code>${topic}</code> ${values.map((value) => html`<${Term} value=${value} /> `)}</span></li>`,
      )}</ol></div>
    </section>`}
    <form class="bar" onSubmit=${publish}>
      <label>Tell a topic <input name="topic" required placeholder="house/door" autocomplete="off" /></label>
      <label>Text <input name="text" required autocomplete="off" /></label>
      <button>Publish</button>
    </form>
    <h2>The channel of this peer</h2>
    ${subscriptions.length === 0
      ? html`<p class="quiet">Nobody subscribes to it here.</p>`
      : html`<div class="wide"><table>
          <thead><tr><th scope="col">Expression</th><th scope="col">Client</th><th scope="col" class="figure">Matched</th><th scope="col" class="figure">Delivered</th></tr></thead>
          <tbody>${subscriptions.map((each) => html`<tr><th scope="row"><code>${each.text}</code></th><td>${each.client}</td><td class="figure">${number(each.matched)}</td><td class="figure">${number(each.delivered)}</td></tr>`)}</tbody>
        </table></div>`}
    ${Object.entries(counts).some(([, count]) => count > 0) && html`<p class="counts">${Object.entries(counts).filter(([, count]) => count > 0).map(([name, count]) => html`<span><b>${number(count)}</b> ${name.replaceAll("_", " ")}</span>`)}</p>`}
  </section>`;
}
