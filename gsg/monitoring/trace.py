"""What a peer that is told to trace writes: the columns of its Parquet files, and how terms stand in them.

One row for each tuple and each template that a peer had to do with, in one of these roles:

    publisher     a client of this peer published it, or asked for it: all that an overlay was given is the rows of this role
    rendezvous    it came to this peer as holder of the keys of ``positions``; a template as holder of its anchor, and again where
                  its key moved
    copy          another holder of its keys sent it; nobody published it anew
    former        carried out for feeds that have not followed their key to its new holder yet

A fact for named readers, or an event, stands as its tuple, under the keys of that; who they are is not traced.

An event that nobody wants goes nowhere, so it has a row at its publisher alone. A run of a peer begins with a row ``start`` and, if
it was not killed, ends with ``stop``. Rows of a run are numbered without gaps: a number that is missing was lost, to a disk that
failed or was too slow (trace_recorder.py). Of several peers, rows are in order by ``(at_us, peer, run_us, row)``, as far as clocks
agree.

A folder has the parts of any number of peers, each closed and whole. What a killed peer was at ends with :data:`OPEN`, and is no
Parquet. simulations/workload/traces.py reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from ..tuples.features import Template
from ..tuples.terms import Term, Tuple
from ..wire.messages import Test

if TYPE_CHECKING:
    import pyarrow

PART = ".parquet"
"""The end of the name of a part."""
OPEN = ".open"
"""What follows it while the part is being written."""


class Role(StrEnum):
    """In which role a peer had to do with something."""

    PUBLISHER = "publisher"
    RENDEZVOUS = "rendezvous"
    COPY = "copy"
    FORMER = "former"


class What(StrEnum):
    """What came."""

    START = "start"
    STOP = "stop"
    INSERT = "insert"
    RETRACT = "retract"
    EVENT = "event"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"


Items: TypeAlias = tuple[Term | None, ...]
"""A tuple, or the pattern of a template."""


class Record(NamedTuple):
    """One row, but for the columns that all rows of a run share."""

    at_us: int
    what: What
    role: Role | None = None
    items: Items | None = None
    condition: tuple[Template, Test | None] | None = None
    positions: Sequence[int] | None = None
    source: str | None = None
    number: int | None = None
    stamp_us: int | None = None
    changed: bool | None = None
    matched: int | None = None
    forwarded: int | None = None
    events_only: bool | None = None


COLUMNS = {
    "peer": "string",  # the peer's id, in hexadecimal
    "run_us": "int64",  # when this run of it began: a peer may be stopped and started again
    "row": "int64",  # counts the rows of a run, from 1
    "at_us": "int64",  # when, by the peer's clock, in microseconds
    "what": "string",  # start, stop, insert, retract, event, subscribe, unsubscribe
    "role": "string",  # publisher, rendezvous, copy, former; null of start and stop
    "terms": "string",  # the tuple as JSON (text_of); of a template null stands where anything may
    "condition": "string",  # of a template, JSON of what else it asks (condition_text); null of most
    "positions": "positions",  # under which it came, or where a template is posted, none for everywhere; null of published tuples
    "source": "string",  # of an event its publisher's id, of a template its subscriber's; null of facts
    "number": "int64",  # of an event its publisher's number, of a template its subscriber's
    "stamp_us": "int64",  # of a fact when it changed, as its holders have it (gsg/storage/clock.py)
    "changed": "bool",  # whether a fact, at the holder of its position 0, or a template was not there (or was) before
    "matched": "int32",  # templates that a tuple met here and matched, their tests passed
    "forwarded": "int32",  # copies handed on to subscribers: of a fact one for each feed, of an event one for each peer
    "events_only": "bool",  # of a template that a peer asked for, whether it is told of events alone, as for a window; else null
}
"""The columns in order, and their types in Arrow; ``positions`` is a list of int32."""

_encode = msgspec.json.Encoder().encode
_tuple = msgspec.json.Decoder(tuple[Term | None, ...])
_condition = msgspec.json.Decoder(tuple[tuple[tuple[int, int], ...], Test | None])


def schema() -> pyarrow.Schema:
    """The columns for Arrow, which is imported here."""
    import pyarrow

    def of(name: str) -> pyarrow.DataType:
        return pyarrow.list_(pyarrow.int32()) if name == "positions" else pyarrow.type_for_alias(name)

    return pyarrow.schema([(column, of(name)) for column, name in COLUMNS.items()])


def text_of(items: Sequence[Term | None]) -> str:
    """A tuple or a pattern as JSON: strings and integers as they are, other terms as arrays that begin with the number of their
    kind, as on the wire (model.py), such as ``[[2,"http://example.org/film"],[1,"year"],2014]``.

    Raises UnicodeEncodeError for a text that is none.
    """
    return _encode(items).decode()


def terms_of(text: str) -> tuple[Term | None, ...]:
    """The inverse of :func:`text_of`. Raises msgspec.MsgspecError for another text."""
    return _tuple.decode(text)


def tuple_of(text: str) -> Tuple:
    """Like :func:`terms_of`, of a tuple. Raises msgspec.ValidationError for the pattern of a template."""
    items = terms_of(text)
    if None in items:
        raise msgspec.ValidationError(f"{text[:100]} is the pattern of a template; expected a tuple")
    return items  # type: ignore[return-value]  # as just seen


def condition_text(template: Template, test: Test | None) -> str | None:
    """What a template asks beyond its constants, as JSON: ``[[[0,2]],null]`` has one term at positions 0 and 2."""
    return None if not template.same and test is None else _encode((template.same, test)).decode()


def template_of(text: str, condition: str | None) -> tuple[Template, Test | None]:
    """A template and its test, from both columns. Raises msgspec.MsgspecError."""
    same, test = ((), None) if condition is None else _condition.decode(condition)
    return Template(terms_of(text), same), test


def part_name(peer: bytes, run_us: int, number: int) -> str:
    """The name of a part of one run of a peer."""
    return f"{peer.hex()}-{run_us}-{number:06}{PART}"
