"""What a GSG script's author reads where the parser met something else than it could take.

Pure text in, one sentence out: what was found, what was expected in the language's own words, and the likely remedy. The parser's
terminal names are input here and never shown.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

from ..bad_text import printable
from ..first_words import SPARQL_QUERIES, UPDATES_TAKEN, sparql_update

BLOCKS = ("INSERT", "DELETE", "NOTIFY", "SUBSCRIBE")

_MODIFIERS = ("GROUP BY", "HAVING", "ORDER BY", "LIMIT", "OFFSET")
_CLAUSES = ("NOT", "OPTIONAL", "FILTER", "LET")
_OTHERS = ("UNION", "WINDOW", "DISTINCT", "ASC", "DESC")
_KEYWORDS = {name.replace(" ", "_"): name for name in (*BLOCKS, *_MODIFIERS, *_CLAUSES, *_OTHERS)}

_SHOWN = (
    *((name, name) for name in BLOCKS),
    *((name.replace(" ", "_"), name) for name in _MODIFIERS),
    ("UNION", "UNION"),
    ("WINDOW", "WINDOW"),
    ("DISTINCT", "DISTINCT"),
    ("CALL", "an expression"),
    ("OR", "an operator"),
    ("AS", "AS and a variable"),
    ("EQUAL", '"="'),
    ("OPEN", 'a tuple "("'),
    *((name, name) for name in _CLAUSES),
    ("LBRACE", '"{"'),
    ("VARIABLE", "a variable such as ?x"),
    ("SYMBOL", 'a constant (a name, "string", number or <iri>)'),
    ("IRI", "a datatype such as <http://www.w3.org/2001/XMLSchema#date>"),
    ("FLOAT", "a number"),
    ("INTEGER", "a whole number"),
    ("UNIT", "a unit (ms, s, min, h or EVENTS)"),
    ("COMMA", '","'),
    ("RPAR", '")"'),
    ("RBRACE", '"}"'),
    ("$END", "the end of the text"),
)
_TERM = 'a term (?x, *, a name, "string", number or <iri>)'

_FOUND = re.compile(r""""(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|<[^\s<>,()]*>?|[^\s,(){}"'<>#]+|.""", re.DOTALL)
_CLOSED = re.compile(r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
_IRI_LIKE = re.compile(r"<([^<>\n]*)>")
_IRI_FORBIDDEN = re.compile(r'[\x00-\x20"{}|^`]')
_WORD_BEFORE = re.compile(r"[\w-]+\Z")
_LONGEST_FOUND = 40


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parser stopped: ``accepted`` are the terminals it could take, ``keyword`` the block that is open, if any."""

    text: str
    position: int
    accepted: frozenset[str]
    keyword: str
    keyword_position: int

    @property
    def found(self) -> str:
        """The word, literal or character at the place; empty at the end of the text."""
        match = _FOUND.match(self.text, self.position)
        if match is None or (match[0].isspace() and not self.text[self.position :].strip()):
            return ""
        return match[0]

    @property
    def takes_terms(self) -> bool:
        return "SYMBOL" in self.accepted


def describe(place: Place) -> str:
    """The mistake in one sentence."""
    if not place.found:
        return f"the text ends too early; expected {_expected(place)}{_unclosed(place)}"
    for explain in _EXPLANATIONS:
        sentence = explain(place)
        if sentence:
            return sentence
    return f"unexpected {quote(place.found)}; expected {_expected(place)}{_remedy(place)}"


def quote(found: str) -> str:
    """A piece of the user's text, short and printable."""
    if len(found) == 1 and not found.isprintable():
        return f"character U+{ord(found):04X}"
    shown = printable(found if len(found) <= _LONGEST_FOUND else found[:_LONGEST_FOUND] + "...")
    return shown if shown.startswith('"') and len(shown) > 1 else f'"{shown}"' if '"' not in shown else f"'{shown}'"


def _expected(place: Place) -> str:
    accepted = set(place.accepted)
    if "RBRACE" in accepted and "OR" not in accepted:
        # The parser may have ended the list of tuples before it noticed the mistake; where a list may end it may also go on.
        accepted |= {"OPEN"} if place.keyword in ("INSERT", "DELETE", "NOTIFY") else {"OPEN", "LBRACE", *_CLAUSES}
    if "CALL" in accepted:
        accepted -= {"VARIABLE", "SYMBOL", "OPEN", "NOT", "ASC"}
    if "SYMBOL" in accepted or "CALL" in accepted:
        accepted -= {"IRI", "INTEGER", "FLOAT"}
    if "FLOAT" in accepted:
        accepted.remove("INTEGER")
    words = [words for name, words in _SHOWN if name in accepted]
    if {"VARIABLE", "SYMBOL"} <= accepted:
        words = [_TERM, *(word for word in words if not word.startswith(("a variable", "a constant")))]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _remedy(place: Place) -> str:
    word = place.found.upper()
    accepted = place.accepted | (set(_CLAUSES) if "NOT" in place.accepted else set())
    candidates = [name for terminal, name in _KEYWORDS.items() if terminal in accepted]
    near = difflib.get_close_matches(word, candidates, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {near[0]}?"
    before = _WORD_BEFORE.search(place.text, max(0, place.position - _LONGEST_FOUND), place.position)
    if place.found[0] == "/" and before is not None and {"COMMA", "RPAR"} <= place.accepted:
        return f'; a text such as the name of a topic is written in double quotes: "{before[0]}{printable(place.found)}"'
    return _unclosed(place) if word in BLOCKS else ""


def _unclosed(place: Place) -> str:
    if not place.keyword:
        return ""
    return f"; {place.keyword} on line {place.text.count(chr(10), 0, place.keyword_position) + 1} is not closed"


def _variable(place: Place) -> str:
    found = place.found
    if not place.takes_terms or found[0] not in "?*" or (found == "*" and "CALL" in place.accepted):
        return ""
    if "VARIABLE" in place.accepted:
        return f"{quote(found)} is no variable; a variable is ? and a name, such as ?x"
    return f"{quote(found)} in {place.keyword}, which takes constants only; variables and wildcards belong in SUBSCRIBE"


def _not_closed(place: Place) -> str:
    found = place.found
    if found[0] not in "\"'" or _CLOSED.match(place.text, place.position):
        return ""
    kind = "string" if found[0] == '"' else "quoted name"
    return f"this {kind} is not closed on its line; expected a closing {found[0]} (a line break inside is written \\n)"


def _typographic(place: Place) -> str:
    if place.found[0] not in "“”„«»‘’‚":
        return ""
    return f"{quote(place.found[0])} is a typographic quote; expected a plain \" around a string or a plain ' around a name"


def _iri(place: Place) -> str:
    if place.found[0] != "<" or not place.accepted & {"IRI"}:
        return ""
    inside = _IRI_LIKE.match(place.text, place.position)
    if not inside:
        return 'this IRI is not closed; expected ">" on the same line'
    forbidden = _IRI_FORBIDDEN.search(inside[1])
    if not forbidden:
        return ""
    return f"an IRI may not contain {quote(forbidden[0])}; write it as %{ord(forbidden[0]):02X}"


def _attribute(place: Place) -> str:
    if place.found[0] != "^" or not place.takes_terms:
        return ""
    return f"{quote(place.found)} is no attribute; expected ^ and a name, such as ^on or ^'odd name'"


def _number(place: Place) -> str:
    found = place.found
    if not place.takes_terms or not re.match(r"[+-]?\.?[0-9]", found):
        return ""
    return f"{quote(found)} is neither a number nor a name; a name that begins with a digit is written in single quotes: '{found}'"


def _language(place: Place) -> str:
    if place.found[0] != "@" or "LANGUAGE" not in place.accepted:
        return ""
    return f"{quote(place.found)} is no language tag; expected one such as @fr or @en-gb"


def _prefixed(place: Place) -> str:
    before = place.text[max(place.position - 1, 0) : place.position]
    if place.found[0] != ":" or not (before.isalnum() or before in ("_", "-")) or not place.accepted & {"COMMA"}:
        return ""
    return "a name holds no colon; write a prefixed name in full as <iri>, or the name in single quotes"


def _sparql(place: Place) -> str:
    if place.keyword or place.takes_terms:
        return ""
    if sparql_update(place.text, place.position):
        return f"{quote(place.found)} begins a SPARQL update, and this text is read as GSG script; {UPDATES_TAKEN}"
    if place.found.upper() not in SPARQL_QUERIES:
        return ""
    expected = _expected(place)
    return f"{quote(place.found)} begins a SPARQL query, and this text is read as GSG script; expected {expected}"


def _publishes(place: Place) -> str:
    word = place.found.upper()
    if (
        word not in ("INSERT", "DELETE", "NOTIFY")
        or place.keyword
        or "INSERT" in place.accepted
        or "SUBSCRIBE" not in place.accepted
    ):
        return ""
    return (
        f"{word} publishes, and this text is read as a query; expected {_expected(place)}, "
        f"or `gsg publish -e` for a block such as {word} {{ (lamp, on) }}"
    )


def _outside(place: Place) -> str:
    if place.found != "(" or "INSERT" not in place.accepted:
        return ""
    return (
        "this tuple stands outside a block; expected INSERT { ... }, DELETE { ... }, NOTIFY { ... } or SUBSCRIBE { ... } around it"
    )


def _clause_outside(place: Place) -> str:
    word = place.found.upper()
    if word not in (*_CLAUSES, "UNION", "WINDOW"):
        return ""
    if "INSERT" in place.accepted and not place.keyword:
        return f"this {word} stands outside a block; expected SUBSCRIBE {{ ... }} around it and the tuples that it restricts"
    if place.keyword not in ("INSERT", "DELETE", "NOTIFY") or "RBRACE" not in place.accepted:
        return ""
    shown = "NOT { ... }" if word == "NOT" else word
    return f"{word} in {place.keyword}, which takes tuples only; {shown} belongs in SUBSCRIBE"


def _modifier(place: Place) -> str:
    word = place.found.upper()
    if word in ("ASC", "DESC") and {"OR", "LIMIT"} <= place.accepted:
        return f"{word} stands before what it sorts by, as in ORDER BY {word} ?x"
    whole = next((name for name in _MODIFIERS if name.split()[0] == word), "")
    if not whole or not _words(place).startswith(whole):
        return ""
    where = f"{whole} stands after the braces of SUBSCRIBE"
    if not place.keyword and {"NOT", "$END"} <= place.accepted:
        return f"{where}; expected SUBSCRIBE {{ ... }} around what stands before it"
    if not place.accepted & {"INSERT", "RBRACE"}:
        return ""
    if "RBRACE" in place.accepted:
        return f"{where}, not in them"
    return f"{where}; expected there, in this order, {', '.join(_MODIFIERS)}"


def _words(place: Place) -> str:
    """What begins at the place, in upper case and with single blanks."""
    return " ".join(place.text[place.position : place.position + _LONGEST_FOUND].upper().split())


def _window(place: Place) -> str:
    if place.found.upper() == "WINDOW" and "NOT" in place.accepted:
        return "WINDOW stands right after the tuple of the events that it keeps, as in (?x, ^temp, ?t) WINDOW 10 s"
    glued = _NUMBER_AND_UNIT.fullmatch(place.found)
    if glued and "FLOAT" in place.accepted and not place.takes_terms:
        return f'"{place.found}" is no number; expected a blank before the unit: {glued[1]} {glued[2]}'
    return ""


_NUMBER_AND_UNIT = re.compile(r"([0-9.]+)([A-Za-z]+)")


def _of_sparql(place: Place) -> str:
    """Clauses and operators that have another name, or another form, in a script."""
    word = place.found.upper()
    if word == "=" and place.text[: place.position].endswith("="):
        return '"==" is no operator; equality is written ='
    if "OR" in place.accepted and word in ("AND", "OR", "|", "&"):
        return f"{quote(place.found)} is no operator; it is written {'&&' if word in ('AND', '&') else '||'}"
    if word == ";" and "RPAR" in place.accepted:
        return 'unexpected ";"; the separator of GROUP_CONCAT is its second argument, as in GROUP_CONCAT(?x, ", ")'
    form = _FORMS.get(word)
    return f"{word} is not of this language; expected {form}" if form and "NOT" in place.accepted else ""


_FORMS = {
    "BIND": "LET ?name = expression",
    "MINUS": "NOT { ... }, which sees the variables of its surroundings",
    "VALUES": "FILTER ?x IN (...)",
    "SELECT": "groups and selections in a subscription of their own",
    "GRAPH": "the graph as the fourth term, as in (?s, ^p, ?o, <http://example.org/g>)",
    "SERVICE": "the tuples alone: a standing query cannot follow what another endpoint holds",
}


def _tuple_after_expression(place: Place) -> str:
    if place.found != "(" or "OR" not in place.accepted or "RBRACE" not in place.accepted:
        return ""
    return 'a tuple follows an expression; expected "," between them, or the name of a function right before "("'


def _no_braces(place: Place) -> str:
    between = place.text[place.keyword_position : place.position]
    if place.keyword != "SUBSCRIBE" or place.found[0] not in ",*" or not _TUPLE_AT_ONCE.fullmatch(between):
        return ""
    return "this tuple stands outside the braces of SUBSCRIBE; expected SUBSCRIBE { ... } around it"


_TUPLE_AT_ONCE = re.compile(r"(?is)subscribe\s*\([^(){}]*")

_EXPLANATIONS: tuple[Callable[[Place], str], ...] = (
    _variable,
    _not_closed,
    _typographic,
    _iri,
    _attribute,
    _number,
    _language,
    _prefixed,
    _sparql,
    _publishes,
    _outside,
    _clause_outside,
    _modifier,
    _window,
    _of_sparql,
    _tuple_after_expression,
    _no_braces,
)
"""Each returns a sentence where it knows better than "unexpected ...; expected ...", else an empty string."""
