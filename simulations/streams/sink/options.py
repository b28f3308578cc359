"""The options of ``writeStream`` and ``write``: what each may be, and what an option that is none is told.

Spark hands options over as texts and does not look at case.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ...errors import BadParameter
from ..peer_access import OPTIONS, PeerAccess, peer_access

FACTS: Final = "facts"
EVENTS: Final = "events"
SYMBOLS: Final = "symbols"
"""A text is a symbol, or the term of N-Triples that it is, as of files."""
STRINGS: Final = "strings"
"""A text is a string."""
MAX_PRODUCER: Final = 80
"""Characters of a producer's name, which is in the key of each request."""
MAX_WAIT_S, SAME_PEER_S = 60.0, 10.0

KNOWN: Final = (*OPTIONS, "mode", "terms", "producer", "maxWaitSeconds", "samePeerSeconds")
_OF_SPARK: Final = {"checkpointlocation", "path"}
"""What Spark adds by itself."""


@dataclass(frozen=True)
class SinkOptions:
    """What somebody wants to write. Made by :func:`sink_options`."""

    access: PeerAccess
    mode: str = FACTS
    terms: str = SYMBOLS
    producer: str = ""
    """Whose events these are; empty where the query, or the job, is to be its own."""
    max_wait_s: float = MAX_WAIT_S
    """How long a request waits for peers that refuse or do not answer, before its task fails."""
    same_peer_s: float = SAME_PEER_S
    """How long events wait for the peer that was asked first, before another one is."""


def sink_options(given: Mapping[str, str]) -> SinkOptions:
    """What options mean. Raises BadParameter."""
    options = {name.lower(): text for name, text in given.items() if name.lower() not in _OF_SPARK}
    if "path" in map(str.lower, given):
        raise BadParameter("save() or start() was given a path, and tuples go to peers; expected it alone, with the option peers")
    known = {name.lower(): name for name in KNOWN}
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {known[close[0]]}?" if close else ""
            raise BadParameter(f"unknown option {name}; expected some of {', '.join(KNOWN)}{hint}")
    producer = options.get("producer", "")
    if len(producer) > MAX_PRODUCER or not producer.isprintable():
        raise BadParameter(f"the option producer is {producer!r:.120}; expected at most {MAX_PRODUCER} printable characters")
    return SinkOptions(
        peer_access(options),
        _choice(options, "mode", (FACTS, EVENTS)),
        _choice(options, "terms", (SYMBOLS, STRINGS)),
        producer,
        _seconds(options, "maxWaitSeconds", MAX_WAIT_S),
        _seconds(options, "samePeerSeconds", SAME_PEER_S),
    )


def _choice(options: Mapping[str, str], name: str, known: tuple[str, str]) -> str:
    said = options.get(name.lower(), known[0]).lower()
    if said not in known:
        raise BadParameter(f"the option {name} is {said!r:.80}; expected {' or '.join(known)}")
    return said


def _seconds(options: Mapping[str, str], name: str, usual: float) -> float:
    said = options.get(name.lower())
    if said is None:
        return usual
    try:
        seconds = float(said)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise BadParameter(f"the option {name} is {said!r:.80}; expected a number of seconds from 0 to 86400")
    return seconds
