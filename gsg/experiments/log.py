"""The columns of an experiment's log: one row for each thing that a participant told, or that the facilitator saw or decided.

Times are the facilitator's, in microseconds since 1970. A participant tells times of its own clock, and how far that is behind,
which it measures by round trips: ``error_us`` says by how much such a time may be wrong, so how long something took from one
participant to another is known to the sum of both.
Rows have a number without gaps (``row``); one that is missing was lost to a disk that failed or was too slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow

EXPERIMENT: Final = "experiment"
JOINED: Final = "joined"
GONE: Final = "gone"
REMOVED: Final = "removed"
TOPIC: Final = "topic"
OVER: Final = "over"
"""What the facilitator says itself; all others are names of :class:`gsg.wire.experiment_messages.RowKind`, in lower case."""

COLUMNS: Final = {
    "facilitator": "string",  # its id, in hexadecimal
    "run_us": "int64",  # when it began
    "row": "int64",  # counts its rows, from 1
    "at_us": "int64",  # when, by the facilitator's clock
    "error_us": "int64",  # by how much that may be wrong
    "what": "string",  # experiment, joined, gone, removed, topic, over; and what participants tell (experiment_messages.RowKind)
    "peer": "string",  # the participant; null of experiment, topic and over
    "topic": "string",  # the topic; null of those that are of none
    "publisher": "string",  # of told: who published
    "number": "int64",  # of published and told the event, of counted the count (plan.py), of missed how many, of topic how many are
    # to subscribe, of experiment the events of one part of a topic
    "payloads": "int64",  # of counted: payloads that came by links since the peer was started, those of all topics
    "small": "int64",  # of counted: messages of any other kind about topics
    "view": "view",  # of view: whom the participant knows in the overlay of all, by their ids
}
"""The columns in order, and their types in Arrow; ``view`` is a list of strings."""

Columns: TypeAlias = tuple[Any, ...]  # Any: as Arrow has them


class Entry(NamedTuple):
    """One row, but for the columns that all rows of a run share."""

    at_us: int
    error_us: int
    what: str
    peer: str | None = None
    topic: str | None = None
    publisher: str | None = None
    number: int | None = None
    payloads: int | None = None
    small: int | None = None
    view: list[str] | None = None

    def size_bytes(self) -> int:
        """About as many as it takes on a disk, at most."""
        # A character takes four bytes at most; the publisher's id is in the hundred.
        return 100 + 40 * len(self.view or ()) + 4 * len(self.topic or "")


def schema() -> pyarrow.Schema:
    """The columns for Arrow, which is imported here."""
    import pyarrow

    def of(name: str) -> pyarrow.DataType:
        return pyarrow.list_(pyarrow.string()) if name == "view" else pyarrow.type_for_alias(name)

    return pyarrow.schema([(column, of(name)) for column, name in COLUMNS.items()])
