/** Light or dark, as the system says or as was chosen here; who draws on a canvas draws again when it changes. */

import { signal } from "@preact/signals";

const SCHEMES = ["auto", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    return localStorage.getItem("scheme");
  } catch {
    return null;
  }
}

/** What was chosen: "auto", "light" or "dark". */
export const scheme = signal(SCHEMES.includes(stored()) ? stored() : "auto");
/** Whether it is dark now. */
export const isDark = signal(dark.matches);

const settle = () => {
  document.documentElement.dataset.scheme = scheme.value;
  isDark.value = scheme.value === "auto" ? dark.matches : scheme.value === "dark";
};

scheme.subscribe(settle);
dark.addEventListener("change", settle);

export function changeScheme() {
  scheme.value = SCHEMES[(SCHEMES.indexOf(scheme.value) + 1) % SCHEMES.length];
  try {
    localStorage.setItem("scheme", scheme.value);
  } catch {
    // Not kept, where the browser keeps nothing.
  }
}
