/** Which screen is shown, and with what: `#/query?q=...`, so that an address can be sent to somebody. */

import { signal } from "@preact/signals";

const read = () => {
  const [path, parameters = ""] = location.hash.replace(/^#\/?/, "").split("?");
  return { screen: path || "query", parameters: Object.fromEntries(new URLSearchParams(parameters)) };
};

export const route = signal(read());

addEventListener("hashchange", () => {
  route.value = read();
});

/** The address of a screen. */
export const address = (screen, parameters = {}) => {
  const said = new URLSearchParams(parameters).toString();
  return `#/${screen}${said ? `?${said}` : ""}`;
};

/** Change what the screen is shown with, without a step in the history. */
export function remember(parameters) {
  history.replaceState(null, "", address(route.value.screen, parameters));
  route.value = read();
}
