"""The languages that a subscription can be written in, and the blocks of a script.

A language is a module with ``parse_query(text) -> Query`` and ``prepare()``, imported when it is first used. Open next:
query.py, what every text becomes, then script/__init__.py or sparql/__init__.py.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from ..errors import LocalError, Unsupported
from ..interleaving import in_thread
from .blocks import Block, Delete, Insert, Notify, Subscribe
from .files.encoding import MARK
from .first_words import language_of
from .parse_cache.skeletons import Skeletons
from .query import Query

LANGUAGES = {"gsg": "gsg.languages.script", "sparql": "gsg.languages.sparql"}
"""Name of each language, and the module that reads it."""

_PREPARED: set[str] = set()
"""Languages of LANGUAGES that need no preparing any more."""
_PREPARING = threading.Lock()
"""Held by the thread that prepares a language; others wait for it. Several at once would each build a parser, and CPython 3.11 may
fail where several threads build syntax trees (python/cpython#106905)."""
READ_AT_ONCE = 2_000
"""Characters of a query that are read while others wait: some 110 ms at worst, where all are expressions of SPARQL."""
_READING: list[str] = []
"""The language of each text that is being read in a thread. Bounded by who asks: a door takes so many requests at a time."""
GRAPHS_AT_ONCE = 8
"""Graphs named beside a query that is read while others wait: each may be asked its whole pattern."""
_Result = TypeVar("_Result")
_SKELETONS = Skeletons()
_ASKED_ONCE = Skeletons()
"""One a process: what a text means does not depend on who asks. Bounded; see skeletons.py."""


def prepare(language: str) -> None:
    """Import and build what reads a language, half a second of work: in a thread, so that a peer can do other things meanwhile.

    An unknown language is for :func:`parse_query` to refuse.
    """
    module = LANGUAGES.get(language)
    if module is None or language in _PREPARED:
        return
    with _PREPARING:
        if language not in _PREPARED:
            importlib.import_module(module).prepare()
            _PREPARED.add(language)


def is_prepared(language: str) -> bool:
    """Whether the language can be read at once."""
    return language in _PREPARED or language not in LANGUAGES


def parse_query(
    text: str, language: str = "gsg", *, default_graphs: Sequence[str] = (), named_graphs: Sequence[str] = (), once: bool = False
) -> Query:
    """A standing query from its text; of texts that are equal up to constants, one template with arguments.

    Of SPARQL alone: where graphs are given, these are the dataset; ``once`` is for who asks once, whose ``Query.result`` says what
    is made of the rows (:func:`gsg.languages.sparql.parse_query`). Raises Unsupported for a language that is not known, BadText and
    BadQuery for a text that is no query of it.
    """
    _check_text(text)
    module = LANGUAGES.get(language)
    if module is None:
        raise Unsupported(f"unknown language {language!r}; known are: {', '.join(sorted(LANGUAGES))}")
    read: Callable[..., Query] = importlib.import_module(module).parse_query
    if default_graphs or named_graphs or once:
        if language != "sparql":
            raise Unsupported(f"a query in {language!r} has no graphs; expected one in SPARQL, or the graph as the fourth term")
        read = partial(read, once=once)
    if default_graphs or named_graphs:
        # Rare: the text does not say it, and what is known of texts is by their words alone.
        return read(text.removeprefix(MARK), default_graphs=default_graphs, named_graphs=named_graphs)
    return (_ASKED_ONCE if once else _SKELETONS).query(text.removeprefix(MARK), language, read)


async def read_query(
    text: str, language: str = "gsg", *, default_graphs: Sequence[str] = (), named_graphs: Sequence[str] = (), once: bool = False
) -> Query:
    """As :func:`parse_query`, while others have their turn: the longest text takes a second."""
    read = partial(parse_query, text, language, default_graphs=default_graphs, named_graphs=named_graphs, once=once)
    return await read_text(text, language, read, is_long=len(default_graphs) + len(named_graphs) > GRAPHS_AT_ONCE)


async def read_script(text: str) -> tuple[Block, ...]:
    """As :func:`parse_script`, while others have their turn."""
    return await read_text(text, "gsg", partial(parse_script, text))


async def read_text(text: str, language: str, read: Callable[[], _Result], *, is_long: bool = False) -> _Result:
    """Read a text of a language while others have their turn: in a thread where it is long, or takes long for another reason, and
    where it is the first, for which the language's parser is built."""
    if not is_prepared(language):
        # What a peer does at a stretch keeps it from answering probes: on a busy machine it would be taken for dead.
        await in_thread(prepare, language)
    # Where one parser is for all threads, a short text would wait for the long one, and everybody else with it.
    if not (is_long or _is_long(text) or language in _READING):
        return read()
    _READING.append(language)
    try:
        return await in_thread(read)
    finally:
        _READING.remove(language)


async def as_long_as(text: str, work: Callable[[], _Result]) -> _Result:
    """Do some work that takes long where a text is: in a thread then."""
    return await in_thread(work) if _is_long(text) else work()


def _is_long(text: object) -> bool:
    return isinstance(text, str) and len(text) > READ_AT_ONCE


def parse_script(text: str) -> tuple[Block, ...]:
    """The blocks of a GSG script, in order. Raises BadText or BadQuery: a script is right as a whole or not at all."""
    from .script import parse

    _check_text(text)
    return parse(text)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise LocalError(f"{text!r:.100} of type {type(text).__name__} is no text; expected a str")


__all__ = [
    "GRAPHS_AT_ONCE",
    "LANGUAGES",
    "Block",
    "Delete",
    "Insert",
    "Notify",
    "Subscribe",
    "as_long_as",
    "is_prepared",
    "language_of",
    "parse_query",
    "parse_script",
    "prepare",
    "read_query",
    "read_script",
    "read_text",
]
