"""What a snapshot says: the stored facts that match, in parts, looked through a slice at a time.

Where the facts come from is said in rendezvous.py (:meth:`~gsg.rendezvous.rendezvous.Rendezvous.snapshot`): what this holder keeps
under the anchor of the feed (gsg/storage/facts_by_key.py). At which pace the parts leave is decided in snapshot_queue.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from ..background import SLICE_S
from ..tuples.long_constants import Remains
from ..tuples.sizes import parts
from ..tuples.terms import Tuple
from ..wire.messages import Snapshot
from .feed import Feed

SNAPSHOT_FACTS = 2_000
"""Facts in one part of a snapshot."""
SIGN_S = 5.0
"""A part with what was found so far is due so long after the last one: its subscriber is to see that the search goes on."""


def snapshot_parts(
    feed: Feed,
    facts: Iterable[Tuple],
    admits: Callable[[Tuple], bool] | None,
    stamps: Callable[[Sequence[Tuple]], list[int]] | None,
    clock: Callable[[], float],
    went: Sequence[tuple[Remains, int]] = (),
) -> Iterator[Snapshot | None]:
    """The parts of a snapshot of those facts that ``admits`` lets through, without it all of them; None where a slice is over.

    ``stamps`` says those of some facts, where they are to be told. One that has changed since may have the stamp of that change,
    which follows. ``went``: what is to be told of facts that are not there any more.
    """
    found: list[Tuple] = []
    begun = False

    def part(some: Sequence[Tuple], *, last: bool) -> Snapshot:
        nonlocal begun
        first, begun = not begun, True
        told = Snapshot(feed.number, list(some), first, last, feed.sequence, [] if stamps is None else stamps(some))
        if last and went:
            remains = [each for each, _ in went]
            # As many as one message takes.
            some_of = next(iter(parts(remains, SNAPSHOT_FACTS)))
            told = structs.replace(told, went=remains[some_of], went_stamps=[stamp for _, stamp in went[some_of]])
        return told

    said_s = clock()
    ends_s = said_s + SLICE_S
    for fact in facts:
        if admits is None or admits(fact):
            found.append(fact)
        if len(found) > SNAPSHOT_FACTS:
            cut = [found[some] for some in parts(found, SNAPSHOT_FACTS)]
            for full in cut[:-1]:
                yield part(full, last=False)
            found = cut[-1]
            said_s = clock()
            ends_s = said_s + SLICE_S
        elif (now := clock()) >= ends_s:
            if now - said_s >= SIGN_S:
                yield part(found, last=False)
                found = []
                said_s = clock()
            else:
                yield None
            ends_s = clock() + SLICE_S
    cut = [found[some] for some in parts(found, SNAPSHOT_FACTS)] or [[]]
    for number, some in enumerate(cut, 1):
        yield part(some, last=number == len(cut))
