/** What every part of the page is written with. */

import htm from "htm";
import { h } from "preact";

export const html = htm.bind(h);
