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

/** What each screen was shown with last: its link in the frame leads there again. */
export const latest = new Map();
route.subscribe(({ screen, parameters }) => latest.set(screen, parameters));

/** Change what the screen is shown with; one step back leads to what it was shown with before. */
export function remember(parameters) {
  const before = route.value.parameters;
  const names = new Set([...Object.keys(before), ...Object.keys(parameters)]);
  const isSame = [...names].every((name) => before[name] === parameters[name]);
  const isFirst = Object.keys(before).length === 0;
  history[isSame || isFirst ? "replaceState" : "pushState"](null, "", address(route.value.screen, parameters));
  route.value = read();
}

addEventListener("popstate", () => {
  route.value = read();
});
