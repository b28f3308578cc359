"""Events on their way through a rendezvous: matched in order, in slices of time, so that none keeps others waiting.

One event may meet very many templates whose tests take long. What is not matched when a slice is over goes on in the next one,
after others had their turn. An event is told when all of it is matched, and the next one is not begun before, so whoever hears of
them hears of them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..tuples.audiences import Audience, readers_among
from ..tuples.terms import Tuple
from ..wire.messages import After, Event
from ..wire.waiting import later
from .postings import Posted, Subscriber

if TYPE_CHECKING:
    from .rendezvous import Rendezvous


Reached: TypeAlias = "dict[Subscriber, list[int]]"
"""Whom an event reaches, with the numbers of their feeds."""


class Reaching:
    """One event on its way through what it meets, in one slice or several.

    Whom it reaches is found when all was: a subscriber whose link broke between two slices may have other feeds by then.
    """

    __slots__ = ("audience", "event", "passed", "positions", "publisher", "reached", "rest")

    def __init__(
        self,
        publisher: bytes,
        event: Event,
        positions: Iterable[int] | None,
        audience: Audience | None,
        rest: list[Posted],
    ) -> None:
        self.publisher = publisher
        self.event = event
        self.positions = positions
        self.audience = audience
        self.passed: list[Posted] = []
        """What it met and passed so far."""
        self.rest = rest
        """What it has yet to meet. What is not asked for any more when that is looked at has no feeds then."""
        self.reached: Reached = {}
        """Set when there is no rest."""

    def meet(self, passes: Callable[[Posted, Tuple, str | None], bool], clock: Callable[[], float], ends_s: float) -> bool:
        """Try one after the other of what it has yet to meet until the time is over; whether that was all."""
        items, text, passed, rest = self.event.items, self.event.text, self.passed, self.rest
        for tried, posted in enumerate(rest, 1):
            if posted.test is None or passes(posted, items, text):
                passed.append(posted)
            if tried < len(rest) and clock() >= ends_s:
                del rest[:tried]
                return False
        reached = fed_by(passed)
        self.reached = reached if self.audience is None else readers_among(reached, self.audience)
        return True


def fed_by(passed: Iterable[Posted]) -> Reached:
    """Whom what an event has passed feeds now."""
    reached: Reached = {}
    for posted in passed:
        for feed in posted.feeds:
            numbers = reached.get(feed.subscriber)
            if numbers is None:
                reached[feed.subscriber] = [feed.number]
            else:
                numbers.append(feed.number)
    return reached


class Passage:
    """Some events of one publisher, which have come now; ``after`` is what is to be told before them (passed.py),
    ``audience`` who may read them."""

    __slots__ = ("_at", "_audience", "_came_s", "_places", "_reaching", "_rendezvous", "after", "done", "events", "publisher")

    def __init__(
        self,
        rendezvous: Rendezvous,
        publisher: bytes,
        events: Sequence[Event],
        places: Sequence[Sequence[int] | None],
        after: After | None = None,
        audience: Audience | None = None,
    ) -> None:
        self._rendezvous = rendezvous
        self._audience = audience
        self.events = events
        self._places = places
        self._at = 0
        self._came_s = rendezvous.clock()
        self._reaching: Reaching | None = None
        self.publisher = publisher
        self.after: After = after or []
        self.done = not events
        """Whether all of them have passed."""

    def slice(self, for_s: float) -> list[tuple[Event, Reached]]:
        """The events that are matched until the time is over: at least one test is made, or one event matched.

        They say how long that took since they came, so that who has subscribed since does not hear of them.
        """
        rendezvous, events, places = self._rendezvous, self.events, self._places
        clock, publisher = rendezvous.clock, self.publisher
        begun_s = clock()
        ends_s = begun_s + for_s
        matched: list[tuple[Event, Reached]] = []
        at = self._at
        reaching = self._reaching
        if reaching is not None:
            if not rendezvous.go_on(reaching, ends_s):
                return matched
            self._reaching = None
            matched.append((events[at], reaching.reached))
            at += 1
        while at < len(events) and (not matched or clock() < ends_s):
            event = events[at]
            found = rendezvous.reach(publisher, event, places[at], ends_s, self._audience)
            if type(found) is Reaching:
                self._reaching = found
                break
            matched.append((event, found))  # type: ignore[arg-type]  # no Reaching: it has reached all
            at += 1
        self._at = at
        self.done = at == len(events)
        waited_s = begun_s - self._came_s
        return matched if waited_s < 1.0 else [(later((event,), waited_s)[0], reached) for event, reached in matched]
