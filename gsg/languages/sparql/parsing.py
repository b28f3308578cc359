"""From a text, a query or an update, to rdflib's parse tree, or to an error in our own words.

pyparsing tells where it gave up, which is often far from the mistake; so the tokens are looked over first for what can be said
better: a bracket without its partner, a keyword that is misspelled, an update or another thing that a standing query cannot be.
"""

from __future__ import annotations

import difflib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ...errors import BadText
from ..bad_text import Mistake, Refusal, bad_text, error_at, printable
from ..first_words import UPDATES_TAKEN
from .grammar import query_grammar, update_grammar
from .placeholders import Source, Token, read

MAX_TEXT = 200_000
"""Characters of a query; a longer one is refused."""
MAX_DEPTH = 40
"""Brackets inside brackets: parser and translation are recursive, and nobody reads a deeper query."""

if TYPE_CHECKING:
    from pyparsing import ParserElement

_PARTNER = {"(": ")", "{": "}", "[": "]"}
_UPDATE = f"an update, and a subscription only asks; {UPDATES_TAKEN}"
_UNSUPPORTED = {
    **dict.fromkeys(("INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH"), _UPDATE),
    "SERVICE": "not supported: a standing query cannot follow what another endpoint holds",
}
"""Words that mean one thing wherever they stand, with what is to be said of it."""
_NO_UPDATE = {
    "LOAD": "not supported: nothing is fetched from anywhere; publish what is to be loaded (gsg publish FILE)",
    "SERVICE": "not supported: an update cannot ask another endpoint",
}
_WORDS = """BASE PREFIX SELECT ASK CONSTRUCT DESCRIBE WHERE DISTINCT REDUCED FROM NAMED GROUP BY HAVING ORDER ASC DESC LIMIT OFFSET
VALUES UNDEF OPTIONAL MINUS UNION FILTER BIND AS EXISTS NOT IN GRAPH SERVICE SILENT"""
_KEYWORDS = frozenset(_WORDS.split())
_UPDATE_WORDS = """INSERT DELETE DATA WITH USING CLEAR DROP CREATE ADD MOVE COPY TO DEFAULT ALL INTO LOAD"""


@dataclass(frozen=True)
class Form:
    """What a text is to be: the words that it may begin with, those that it may have, and those that are refused by name."""

    beginnings: tuple[str, ...]
    keywords: frozenset[str]
    refused: Mapping[str, str]
    grammar: Callable[[], ParserElement]
    may_be_empty: bool = False


QUERY = Form(("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"), _KEYWORDS, _UNSUPPORTED, query_grammar)
UPDATE = Form(
    ("INSERT", "DELETE", "WITH", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY"),
    _KEYWORDS.union(_UPDATE_WORDS.split()),
    _NO_UPDATE,
    update_grammar,
    may_be_empty=True,
)
_SIGNS_BEFORE = frozenset(("(", ",", "!", "&&", "||", "=", "!=", "<", ">", "<=", ">=", "+", "-", "*", "/"))
_WORDS_BEFORE = frozenset(("FILTER", "HAVING", "BY", "ASC", "DESC", "DISTINCT"))
"""What stands before a call in an expression."""

# pyparsing's elements keep state while they parse, and all threads share one grammar.
_ONE_AT_A_TIME = threading.Lock()


def build() -> None:
    """Build the parsers, unless they are there."""
    with _ONE_AT_A_TIME:
        QUERY.grammar()
        UPDATE.grammar()


def parse_tree(text: str, what: str, form: Form = QUERY) -> tuple[Any, Source]:  # Any: rdflib's parse tree is untyped
    """The parse tree of a text and its source. Raises BadText, and Unsupported for what is understood and none of its form."""
    if len(text) > MAX_TEXT:
        raise BadText(f"a text of {len(text)} characters; expected at most {MAX_TEXT}", line=1, what=what)
    try:
        source = read(text)
        _check_brackets(source)
        _check_form(source, text, form, what)
    except Mistake as mistake:
        raise error_at(text, mistake, what=what) from None
    from pyparsing import ParseBaseException

    try:
        with _ONE_AT_A_TIME:
            parser = form.grammar()
            with _more_recursion():
                return parser.parse_string(source.text, parse_all=True), source
    except ParseBaseException as error:
        _explain(text, source, error.loc, what, form)
    except RecursionError:
        raise bad_text(text, 0, f"the {what} is nested too deep to be read", what=what) from None
    except (ValueError, TypeError, IndexError, AssertionError) as error:
        # rdflib's parse actions fail in their own ways on some malformed triples.
        problem = f"the {what} cannot be read ({type(error).__name__} in its parser)"
        raise bad_text(text, 0, problem, what=what) from None


@contextmanager
def _more_recursion() -> Iterator[None]:
    """Room for the parser's calls inside each other, some 35 a bracket, wherever it is called from.

    Python's limit is of the whole process, and given back at once; under it MAX_DEPTH alone says what is too deep.
    """
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(usual + 50 * MAX_DEPTH)
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _check_brackets(source: Source) -> None:
    open_: list[Token] = []
    for token in source.tokens:
        if token.kind != "sign":
            continue
        if token.text in _PARTNER:
            open_.append(token)
            if len(open_) > MAX_DEPTH:
                raise Mistake(token.position, f"brackets are nested more than {MAX_DEPTH} deep")
        elif token.text in _PARTNER.values():
            if not open_:
                raise Mistake(token.position, f'this "{token.text}" closes nothing; expected an opening bracket before it')
            last = open_.pop()
            if _PARTNER[last.text] != token.text:
                raise Mistake(
                    token.position, f'unexpected "{token.text}"; expected "{_PARTNER[last.text]}" for the "{last.text}" before it'
                )
    if open_:
        raise Mistake(open_[-1].position, f'this "{open_[-1].text}" is never closed; expected "{_PARTNER[open_[-1].text]}"')


def _check_form(source: Source, text: str, form: Form, what: str) -> None:
    """The first word after the prologue says what the text is."""
    tokens = [token for token in source.tokens if token.kind == "word"]
    first = next((token for token in tokens if token.text.upper() not in ("BASE", "PREFIX")), None)
    expected = f"expected {', '.join(form.beginnings[:-1])} or {form.beginnings[-1]}"
    if first is None:
        if form.may_be_empty:
            return
        raise Mistake(len(text.rstrip()), f"the {what} ends too early; {expected}")
    word = first.text.upper()
    if word in form.beginnings or word in form.refused:
        _refuse_unsupported(source, form.refused)
    if word not in form.beginnings:
        meant = "" if word in _KEYWORDS else _meant(word, form.beginnings)
        raise Mistake(first.position, f'unexpected "{printable(first.text[:40])}"; {expected}{meant}')


def _refuse_unsupported(source: Source, refused: Mapping[str, str]) -> None:
    """What cannot be is told by its name wherever it stands, and before the parser loses its way in it."""
    braces = 0
    for at, token in enumerate(source.tokens):
        word = token.text.upper() if token.kind == "word" else ""
        braces += (token.text == "{") - (token.text == "}") if token.kind == "sign" else 0
        if word in ("FROM", "USING") and braces:
            problem = f"{word} stands within braces; expected it before WHERE, as all of a text is asked of the same graphs"
            raise Mistake(token.position, problem)
        following = source.tokens[at + 1] if at + 1 < len(source.tokens) else None
        if word in refused:
            raise Refusal(token.position, f"{word} is {refused[word]}")
        if token.text == "<" and following is not None and following.text == "<" and following.position == token.position + 1:
            problem = 'a quoted triple ("<<") is no part of SPARQL 1.1; expected subject, predicate and object as they are'
            raise Refusal(token.position, problem)
        if token.text == "{" and following is not None and following.text == "|":
            raise Refusal(token.position, 'an annotation ("{|") is no part of SPARQL 1.1; expected triples of their own')
        if token.text == "{" and at and _counts_steps(source.tokens[at - 1 : at + 3]):
            problem = 'a count of steps ("{...}") is no part of a property path of SPARQL 1.1; expected "+", "*", "?" or "/"'
            raise Refusal(token.position, problem)


def _counts_steps(tokens: list[Token]) -> bool:
    """Whether these begin as in ``:p{2}``, ``:p{1,3}`` and ``(:p){,3}``; the second of them is the brace."""
    if tokens[0].kind not in ("iri", "name") and tokens[0].text not in (")", "a"):
        return False
    return tokens[2].text == "," or (tokens[2].kind == "number" and tokens[-1].text in ("}", ","))


def _explain(text: str, source: Source, location: int, what: str, form: Form) -> NoReturn:
    position = source.original(location)
    token = next((token for token in source.tokens if token.position + len(token.text) > position), None)
    if token is None:
        raise bad_text(text, len(text.rstrip()), f"the {what} ends too early; expected the rest of it", what=what)
    # Optional parts are given up at their beginning, and functions behind their name: a misspelled word is the likelier mistake.
    for at, other in enumerate(source.tokens):
        if other.kind == "word" and not _known(other.text, form):
            raise bad_text(text, other.position, _unknown(source.tokens, at, form), what=what)
    problem = f'cannot read on from "{printable(token.text[:40])}"; {_expected(token)}'
    raise bad_text(text, token.position, problem, what=what)


def _unknown(tokens: list[Token], at: int, form: Form) -> str:
    """What is to be said of a word that no query has: of a function where an expression stands, else of a keyword."""
    from .terms import BUILTINS

    word = tokens[at].text
    before = tokens[at - 1].text.upper() if at else ""
    if tokens[at + 1 : at + 2] and tokens[at + 1].text == "(" and before in _SIGNS_BEFORE | _WORDS_BEFORE:
        meant = (
            _meant(word.upper(), sorted(BUILTINS), likeness=0.7) or "; expected one of SPARQL's, such as STRLEN, CONTAINS or COUNT"
        )
        return f"the function {printable(word[:40])} is not known{meant}"
    meant = _meant(word.upper(), sorted(form.keywords))
    return f'unknown word "{printable(word[:40])}"; expected a keyword, a variable or a term{meant}'


def _expected(token: Token) -> str:
    if token.kind == "sign" and token.text == "{":
        return "something between this brace and its partner is no graph pattern: look for an incomplete triple or clause"
    if token.kind in ("variable", "iri", "name", "blank", "string", "number"):
        return 'expected subject, predicate and object followed by ".", ";", "," or "}"'
    if token.kind == "word":
        return f"something in {token.text.upper()} is not complete, or it may not stand here"
    return "expected a triple, a clause or the end of the pattern"


def _known(word: str, form: Form) -> bool:
    from .terms import BUILTINS

    upper = word.upper()
    return upper in form.keywords or upper in BUILTINS or word in ("a", "true", "false") or upper in ("TRUE", "FALSE", "SEPARATOR")


def _meant(word: str, known: Any, *, likeness: float = 0.6) -> str:  # Any: an iterable of words that difflib takes
    close = difflib.get_close_matches(word, list(known), n=1, cutoff=likeness)
    return f"; did you mean {close[0]}?" if close else ""
