"""The functions of SPARQL on strings (SPARQL 1.1, section 17.4.3).

A string is a text with or without a language. Where two are compared, the second must have no language or that of the first
("argument compatibility", section 17.4.3.1.2); what is cut from a string keeps its language.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from urllib.parse import quote

from ...tuples.terms import Literal, Term, literal
from .comparing import boolean
from .errors import ExpressionError
from .numbers import numeric
from .patterns.patterns import compiled, replacement
from .patterns.syntax import BadPattern

MAX_TEXT = 1_000_000
"""Characters of a text that CONCAT, REPLACE, ENCODE_FOR_URI, UCASE, LCASE or GROUP_CONCAT makes longer; more is an error of the
expression, so that no row grows without bound."""


def string(term: Term) -> tuple[str, str]:
    """A string's text and language; raises ExpressionError for what is no string."""
    if type(term) is str:
        return term, ""
    if type(term) is Literal and term.language:
        return term.lexical, term.language
    raise ExpressionError


def _simple(term: Term) -> str:
    if type(term) is not str:
        raise ExpressionError
    return term


def _compatible(first: Term, second: Term) -> tuple[str, str, str]:
    text, language = string(first)
    other, other_language = string(second)
    if other_language not in ("", language):
        raise ExpressionError
    return text, other, language


def _bounded(text: str, language: str) -> Term:
    if len(text) > MAX_TEXT:
        raise ExpressionError
    return literal(text, "", language)


def _concat(*terms: Term) -> Term:
    parts = [string(term) for term in terms]
    languages = {language for _, language in parts}
    return _bounded("".join(text for text, _ in parts), languages.pop() if len(languages) == 1 else "")


def _substr(term: Term, start: Term, length: Term | None = None) -> Term:
    text, language = string(term)
    # XPath counts from 1 and rounds, so that SUBSTR("12345", 1.5, 2.6) is "234".
    first = _round(start)
    end = math.inf if length is None else first + _round(length)
    if math.isnan(first) or math.isnan(end):
        return literal("", "", language)
    low = max(first, 1) - 1
    high = min(end - 1, len(text))
    return literal(text[int(low) : int(high)] if low < high else "", "", language)


def _round(term: Term) -> float:
    value = numeric(term)[1]
    number = float(value) if abs(value) < 10**300 else math.copysign(math.inf, value)
    return float(math.floor(number + 0.5)) if math.isfinite(number) else number


def _before(first: Term, second: Term) -> Term:
    text, other, language = _compatible(first, second)
    position = text.find(other)
    return "" if position < 0 else literal(text[:position], "", language)


def _after(first: Term, second: Term) -> Term:
    text, other, language = _compatible(first, second)
    position = text.find(other)
    return "" if position < 0 else literal(text[position + len(other) :], "", language)


def _tested(test: Callable[[str, str], bool]) -> Callable[[Term, Term], Term]:
    def tested(first: Term, second: Term) -> Term:
        text, other, _ = _compatible(first, second)
        return boolean(test(text, other))

    return tested


def _mapped(change: Callable[[str], str]) -> Callable[[Term], Term]:
    def mapped(term: Term) -> Term:
        text, language = string(term)
        made = change(text)
        # Some letters are several in the other case: a text that grows is bounded, another is as long as it was.
        return literal(made, "", language) if len(made) <= len(text) else _bounded(made, language)

    return mapped


def _encoded(term: Term) -> Term:
    text, _ = string(term)
    if len(text) > MAX_TEXT:
        raise ExpressionError
    return _bounded(quote(text, safe="-_.~"), "")


def _lang_matches(tag: Term, wanted: Term) -> Term:
    language, pattern = _simple(tag).lower(), _simple(wanted).lower()
    if pattern == "*":
        return boolean(language != "")
    return boolean(language == pattern or language.startswith(pattern + "-"))


def _regex(term: Term, pattern: Term, flags: Term = "") -> Term:
    text, _ = string(term)
    return boolean(compiled(_simple(pattern), _simple(flags)).matches(text))


def _replace(term: Term, pattern: Term, by: Term, flags: Term = "") -> Term:
    text, language = string(term)
    found = compiled(_simple(pattern), _simple(flags))
    if found.matches_nothing:
        raise ExpressionError  # XPath F&O 5.6.5: a pattern that matches nothing would match everywhere
    parts: tuple[str | int, ...] = (_simple(by),) if "q" in _simple(flags) else replacement(_simple(by), found.groups)
    return literal(found.replaced(text, parts, MAX_TEXT), "", language)


def wrong_constants(function: str, arguments: Sequence[Term | None]) -> str:
    """What makes a call of REGEX or REPLACE with these constants (None: not constant) an error whatever the rest is, else nothing.

    A language refuses such a call by its place, since an expression that is always an error says nothing to whoever wrote it.
    """
    at = {"REGEX": 2, "REPLACE": 3}.get(function)
    if at is None or len(arguments) < 2:
        return ""
    pattern, flags = arguments[1], arguments[at] if len(arguments) > at else ""
    if type(pattern) is not str or type(flags) is not str:
        return ""
    try:
        found = compiled(pattern, flags)
    except BadPattern as error:
        return f"the pattern {_shown(pattern)}, character {error.position + 1}: {error.problem}"
    if function == "REGEX":
        return ""
    if found.matches_nothing:
        return f"the pattern {_shown(pattern)} matches the empty text, which REPLACE cannot replace; expected one that does not"
    by = arguments[2]
    try:
        if type(by) is str and "q" not in flags:
            replacement(by, found.groups)
    except BadPattern as error:
        return f"the replacement {_shown(str(by))}, character {error.position + 1}: {error.problem}"
    return ""


def _shown(text: str) -> str:
    return f'"{text if len(text) <= 60 else text[:57] + "..."}"'


FUNCTIONS: dict[str, Callable[..., Term]] = {
    "STRLEN": lambda term: len(string(term)[0]),
    "SUBSTR": _substr,
    "UCASE": _mapped(str.upper),
    "LCASE": _mapped(str.lower),
    "STRSTARTS": _tested(str.startswith),
    "STRENDS": _tested(str.endswith),
    "CONTAINS": _tested(str.__contains__),
    "STRBEFORE": _before,
    "STRAFTER": _after,
    "ENCODE_FOR_URI": _encoded,
    "CONCAT": _concat,
    "LANGMATCHES": _lang_matches,
    "REGEX": _regex,
    "REPLACE": _replace,
}
