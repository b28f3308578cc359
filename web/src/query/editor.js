/** The editor of a query: SPARQL and GSG script, with the mistake that the peer has found underlined at its place. */

import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { sparql } from "@codemirror/legacy-modes/mode/sparql";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

import { html } from "../html.js";

const WORDS = "SELECT ASK CONSTRUCT WHERE FILTER OPTIONAL UNION MINUS GRAPH BIND VALUES PREFIX ORDER BY LIMIT GROUP HAVING COUNT".split(" ");
const GSG_WORDS = /^(?:SUBSCRIBE|INSERT|DELETE|NOTIFY|SET|NOT|OPTIONAL|FILTER|WINDOW|SELECT|UNION|BIND|GROUP|HAVING|LIMIT|ORDER|BY)\b/;

/** GSG script, as far as colours need it. */
const gsg = {
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^[?$]\w+/)) return "variableName";
    if (stream.match(/^<[^>\s]*>/)) return "atom";
    if (stream.match(/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return "number";
    if (stream.match(GSG_WORDS)) return "keyword";
    if (stream.match(/^\^?[A-Za-z_]\w*/)) return "propertyName";
    stream.next();
    return null;
  },
};

/** Colours are those of the page, so that they change with it. */
const colours = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--verb)", fontWeight: "600" },
  { tag: [tags.variableName, tags.special(tags.variableName)], color: "var(--variable)" },
  { tag: tags.string, color: "var(--text-term)" },
  { tag: tags.number, color: "var(--number-term)" },
  { tag: [tags.atom, tags.propertyName], color: "var(--iri-term)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--field)", fontSize: "var(--mono-size)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-1px" },
  ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--quiet)", border: "none" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-diagnostic": { fontFamily: "var(--sans)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection) !important" },
});

function complete(context) {
  const word = context.matchBefore(/[?$]?\w+/);
  if (!word || (word.from === word.to && !context.explicit)) return null;
  const names = [...new Set(context.state.doc.toString().match(/[?$]\w+/g) ?? [])].filter((name) => name !== word.text);
  const options = [...names.map((label) => ({ label, type: "variable" })), ...WORDS.map((label) => ({ label, type: "keyword" }))];
  return { from: word.from, options };
}

/** Where in a text a mistake is: from line and column to the end of the word there. */
function place(doc, { line = 1, column = 1 }) {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
  const length = /^(?:\w+|\S)?/.exec(doc.sliceString(from, at.to))[0].length;
  return { from, to: Math.min(from + Math.max(length, 1), doc.length) };
}

/**
 * `text` and `language` are signals; `problem` is what the peer has said of the text, with line and column, or null; `onAsk` is
 * called for Ctrl-Enter.
 */
export function Editor({ text, language, problem, onAsk }) {
  const box = useRef(null);
  const view = useRef(null);
  const mode = useRef(new Compartment());
  useEffect(() => {
    // In a shadow tree its styles are made without any in the page, which the page's policy does not allow.
    const root = box.current.shadowRoot ?? box.current.attachShadow({ mode: "open" });
    view.current = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text.value,
        extensions: [
          lineNumbers(),
          history(),
          bracketMatching(),
          closeBrackets(),
          autocompletion({ override: [complete] }),
          lintGutter(),
          mode.current.of(StreamLanguage.define(language.value === "sparql" ? sparql : gsg)),
          syntaxHighlighting(colours),
          look,
          EditorView.lineWrapping,
          placeholder("A query in SPARQL or GSG script; Ctrl-Enter asks it"),
          EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false" }),
          keymap.of([{ key: "Mod-Enter", run: () => (onAsk(), true) }, ...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) text.value = update.state.doc.toString();
          }),
        ],
      }),
    });
    return () => view.current.destroy();
  }, []);
  useEffect(() => {
    const { state } = view.current;
    if (state.doc.toString() !== text.value) {
      view.current.dispatch({ changes: { from: 0, to: state.doc.length, insert: text.value } });
    }
  }, [text.value]);
  useEffect(() => {
    view.current.dispatch({ effects: mode.current.reconfigure(StreamLanguage.define(language.value === "sparql" ? sparql : gsg)) });
  }, [language.value]);
  useEffect(() => {
    const { state } = view.current;
    const found = problem ? [{ ...place(state.doc, problem), severity: "error", message: problem.problem }] : [];
    view.current.dispatch(setDiagnostics(state, found));
  }, [problem]);
  return html`<div class="editor" ref=${box}></div>`;
}
