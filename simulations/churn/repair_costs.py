"""What hand-over and repair take, by the constants of peers and in bytes of real frames.

* A crash is noticed when a probe is due, is not answered by the peer nor by way of helpers (each wait the shortest that there is),
  and the suspicion has run out: after between two and four seconds for each power of ten of peers (dht/liveness).
* A look at what changes hands begins a fifth of a second later (gsg/churn/handover.py).
* Facts go in messages (Replicate) of a thousand, each of which is confirmed (Done). Who comes is told at once; where one died or
  left, the new owner is asked first what it has of each key (AskKeys, answered by Differ), as it mostly was an owner before.
* Every ten seconds a peer compares what it has with each peer that holds a key with it (AskRanges, answered by Differ), which costs
  the same whether anybody dies or not.

Sizes are those of facts of three IRIs of some thirty letters, with the header of each frame.
"""

from __future__ import annotations

from dht.datagrams.round_trip import FLOOR_S, FOR_HELPER, FOR_PROBE
from dht.links.frames import HEADER_BYTES
from dht.liveness.local_health import CONFIRMATIONS, suspicion_s
from gsg.churn.handover import GATHERING_S
from gsg.replication.anti_entropy import COMPARE_S
from gsg.replication.copying import ASKED_KEYS, CHUNK_FACTS
from gsg.replication.digests import RANGES
from gsg.tuples.terms import IRI, Term
from gsg.wire.holder_messages import AskKeys, AskRanges, Differ, Replicate
from gsg.wire.messages import Done, Message, encode

from .traffic import Costs

PROBE_S = 1.0
"""Between two probes of a peer; that of gsg peer."""

_STAMP = 1_700_000_000_000_000
_DIGEST = (1 << 63) + 1


def costs_among(peers: int) -> Costs:
    """Those of an overlay of so many peers."""
    silent_s = FLOOR_S * (sum(FOR_PROBE) + sum(FOR_HELPER))
    film, director = "http://example.org/entity/Q{}", IRI("http://example.org/property/P57")
    facts: list[tuple[Term, ...]] = [
        (IRI(film.format(number)), director, IRI(film.format(number + 7))) for number in range(10_000, 10_000 + CHUNK_FACTS)
    ]
    none = _frame(Replicate(1, [], [], [], []))
    many = _frame(Replicate(1, [1] * CHUNK_FACTS, facts, [b"\0"] * CHUNK_FACTS, [_STAMP] * CHUNK_FACTS))
    asked = _frame(AskKeys(1, [], []))
    keys = _frame(AskKeys(1, [(3, 0, IRI(film.format(10_000)))] * ASKED_KEYS, [_DIGEST] * ASKED_KEYS))
    same, differing = _frame(Differ(1, [])), _frame(Differ(1, list(range(ASKED_KEYS))))
    return Costs(
        noticed_s=(silent_s + suspicion_s(peers, CONFIRMATIONS), PROBE_S + silent_s + suspicion_s(peers, 0)),
        settle_s=GATHERING_S,
        facts_together=CHUNK_FACTS,
        keys_together=ASKED_KEYS,
        compare_s=COMPARE_S,
        fact_bytes=(many - none) / CHUNK_FACTS,
        told_bytes=none + _frame(Done(1, 0, _STAMP)),
        asked_key_bytes=(keys - asked + differing - same) / ASKED_KEYS,
        asked_bytes=asked + same,
        compared_bytes=_frame(AskRanges(1, [_DIGEST] * RANGES)) + same,
    )


def _frame(message: Message) -> int:
    return HEADER_BYTES + len(encode(message))
