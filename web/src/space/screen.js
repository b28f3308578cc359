/** The space: what is in it, what to tell it, and which topics and channel there are. */

import { html } from "../html.js";
import { address, route } from "../route.js";
import { Publish } from "./publish.js";
import { Topics } from "./topics.js";
import { Vocabulary } from "./vocabulary.js";

const PARTS = { vocabulary: ["What is there", Vocabulary], publish: ["Publish", Publish], topics: ["Topics and channel", Topics] };

export function Space() {
  const asked = route.value.parameters.part;
  const here = PARTS[asked] ? asked : "vocabulary";
  const [, Part] = PARTS[here];
  return html`<div class="space">
    <h1>The space</h1>
    <nav class="tabs" aria-label="Parts of the space">${Object.entries(PARTS).map(
      ([name, [title]]) => html`<a href=${address("space", { part: name })} aria-current=${name === here ? "true" : null}>${title}</a>`,
    )}</nav>
    <${Part} />
  </div>`;
}
