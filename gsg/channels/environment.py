"""The environment of a publisher: values that its context carries on, into what it calls, and that events are published with.

    with environment.attached(request="r-17", user="Fred"):
        await serve()            # events published in there, in its tasks and in processes that it calls have both values

It is a context variable: asyncio's tasks and ``asyncio.to_thread`` carry it on by themselves, a thread of one's own by
:func:`carried`, and a process by the variable :data:`VARIABLE` of its system environment, which :func:`for_process` writes. So a
call that is tagged is recognised in all that it causes (Filman and Lee, section "Architecture").
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache, partial
from typing import Final, ParamSpec, TypeVar

from ..errors import BadTerm
from .events import environment_of
from .notation import from_json, to_json
from .values import Value

VARIABLE: Final = "GSG_ENVIRONMENT"
"""In which a called process finds what its caller carried, as JSON."""
MAX_CHARACTERS: Final = 16_384
"""Of an environment as JSON, as it goes with each event; a longer one is refused, and one from a caller is left out."""
CHAIN: Final = "agents"
"""The name in the environment of events that agents publish: which agents were woken one by the other, the first one first. Nobody
else may give it, as an agent at the end of a long chain is stopped."""

Given = ParamSpec("Given")
Result = TypeVar("Result")
_carried: ContextVar[Mapping[str, Value] | None] = ContextVar("gsg_environment", default=None)


def current() -> Mapping[str, Value]:
    """What is carried here: by the context, or else by the process."""
    carried = _carried.get()
    return _of_process() if carried is None else carried


def of_user(given: Mapping[str, object]) -> dict[str, Value]:
    """A copy of an environment that somebody gives. Raises BadTerm for what is none, or too large a one, and for the name CHAIN."""
    if CHAIN in given:
        raise BadTerm(f"an environment with {CHAIN!r}, under which agents note who was woken by whom; expected another name")
    return environment_of(given)


@contextmanager
def attached(**values: object) -> Iterator[None]:
    """Carry these values as well, until the block is left. Raises BadTerm for what is no value, and for too much."""
    both = {**current(), **of_user(values)}
    length = len(to_json(both))
    if length > MAX_CHARACTERS:
        raise BadTerm(
            f"an environment of {length:,} characters; expected at most {MAX_CHARACTERS:,}: carry a reference to the rest"
        )
    token = _carried.set(both)
    try:
        yield
    finally:
        _carried.reset(token)


def carried(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function that runs with what is carried now, wherever it is called: for threads. It may be called once at a time."""
    return partial(copy_context().run, function)


def for_process(system: Mapping[str, str] | None = None) -> dict[str, str]:
    """The system environment for a process that is to carry on what is carried here."""
    given = dict(os.environ if system is None else system)
    carried_here = current()
    if carried_here:
        given[VARIABLE] = to_json(carried_here)
    return given


def _of_process() -> Mapping[str, Value]:
    return _read(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=1)
def _read(text: str) -> Mapping[str, Value]:
    if not text or len(text) > MAX_CHARACTERS:
        return {}
    try:
        return of_user(from_json(text))
    except (BadTerm, json.JSONDecodeError):
        return {}
