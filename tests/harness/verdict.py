"""Whether a run kept what DESIGN section 5 promises: histories in, violations out, as text. Pure.

The yardstick is one plain :class:`gsg.Space` that holds what must be true in the end: of each fact what its client did last, where
that was acknowledged; where nobody knows whether it happened, what the world shows afterwards counts, for everybody alike.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import inf

from history import Answer, History, Published, Session, text_of
from schedule import BOUNDED, ON, TEXTS

from gsg import Space
from gsg.placement.holders import REPLICAS
from gsg.tuples.terms import Tuple, show

DELIVERED_S = 1.0
"""So long after its acknowledgement an event has arrived."""
TROUBLED_S = 20.0
"""The same where something has gone wrong meanwhile."""
APART = ("partition", "blackout")
UNTOLD = (*APART, "stall")
"""Where events may be lost, and told in another order: who reads nothing is told how many it has missed."""
BROKEN = ("snap", "cut")
UNAWARE = (*UNTOLD, "wall")
"""What lies on a stream meanwhile does not say how long it did, and may be told to who has asked since."""
BEFORE_S = 3.0
"""So long before somebody asks for them events were said that it is not to be told, however late they are."""
SHOWN = 6
"""Rows that a violation names."""


def violations(history: History, *, strict: bool = False) -> list[str]:
    """Everything that is not as promised; empty for a good run. ``strict``: also what faults excuse (see :func:`excused`)."""
    if strict:
        history = replace(history, troubles=[])
    found = [f"a peer failed: {failure}" for failure in history.failures]
    found += [f"of topics: {violation}" for violation in history.of_topics]
    with Space() as space:
        found += in_the_end(history, space)
        for session in history.sessions:
            found += of_session(session, history)
    return found


def in_the_end(history: History, space: Space) -> list[str]:
    """What is not as it should be when all is quiet; fills the yardstick."""
    true, unknown = final_facts(history.published)
    found = [] if history.lying is None else list(misplaced(history.lying, true, unknown))
    shown = history.asked_after["all"]
    for fact in unknown:
        if row_of(fact) in shown:
            true[fact] = None
    space.insert(true)
    answers = {query: answer_in(space, query) for query in dict.fromkeys((*TEXTS, *history.asked_after))}
    for query, answer in history.asked_after.items():
        found += differences(f"{query}, asked at the end", answer, answers[query])
    for session in history.sessions:
        if session.rows is not None:
            right = answers[session.query]
            told = Counter[str]()
            for _, sign, row in session.changes:
                told[row] += sign
            found += differences(f"{name_of(session)}, as it says", session.rows, right)
            found += differences(f"{name_of(session)}, as it told", +told, right)
    return found


def misplaced(lying: Mapping[Tuple, tuple[int, ...]], true: Collection[Tuple], unknown: Collection[Tuple]) -> Iterator[str]:
    """Facts that do not lie at all holders of all their keys, or lie there although they have gone. Where nobody knows whether it
    happened, it may have happened under some keys, but there at all holders."""
    for fact in {**dict.fromkeys(true), **lying}:
        at = lying.get(fact, (0,) * len(fact))
        right = {0, REPLICAS} if fact in unknown else {REPLICAS} if fact in true else {0}
        for position, count in enumerate(at):
            if count not in right:
                yield f"not as its holders should have it: {show(fact)} lies under position {position} at {count} of {REPLICAS}"


def settled(history: History) -> bool:
    """Whether all is as it should be by now."""
    with Space() as space:
        return not in_the_end(history, space)


def name_of(session: Session) -> str:
    """Which subscription it is."""
    return f"{session.query} of {session.client} at peer {session.peer} from {session.begun_s:.2f}"


def final_facts(published: Iterable[Published]) -> tuple[dict[Tuple, None], dict[Tuple, None]]:
    """The facts that are true in the end, and those of which nobody knows."""
    true: dict[Tuple, None] = {}
    unknown: dict[Tuple, None] = {}
    for one in published:
        for fact in one.tuples if one.sign else ():
            true.pop(fact, None)
            unknown.pop(fact, None)
            if one.ended_s is None:
                unknown[fact] = None
            elif one.sign > 0:
                true[fact] = None
    return true, unknown


def row_of(fact: Tuple) -> str:
    """A fact as a row of the query for all of them."""
    return f"{fact[0]} {fact[1]} {fact[2]}"


ROW_OF_FACT: Mapping[str, Callable[[Tuple], str | None]] = {
    "all": row_of,
    "pairs": lambda fact: f"{fact[0]} {fact[2]}" if fact[1] == ON else None,
    "few": lambda fact: row_of(fact) if isinstance(fact[2], int) and fact[2] < 3 else None,
    "many": lambda fact: row_of(fact) if isinstance(fact[2], int) and fact[2] >= 9 else None,
    "of Aa": lambda fact: f"{fact[1]} {fact[2]}" if fact[0] == "Aa" else None,
}
"""By query of one condition, a fact as a row of it; None where it is none."""
SEVERAL_FEED = ("all", "few", "many")
"""Those among them that no single rendezvous answers."""


def answer_in(space: Space, query: str) -> Answer:
    """What the yardstick answers."""
    with space.subscribe((TEXTS | BOUNDED)[query]) as subscription:
        return Counter({text_of(row): times for row, times in subscription.rows().items()})


def differences(what: str, answer: Answer, right: Answer) -> Iterator[str]:
    """Rows that are lost or invented."""
    for kind, rows in (("lost", right - answer), ("invented", answer - right)):
        if rows:
            yield f"{what}: {kind} {', '.join(sorted(rows)[:SHOWN])}"


def of_session(session: Session, history: History) -> Iterator[str]:
    """What one subscriber was told, change by change."""
    name = name_of(session)
    held: Counter[str] = Counter()
    for at_s, sign, row in session.changes:
        if not sign:
            continue
        held[row] += sign
        if held[row] not in (0, 1):
            yield f"{name}: at {at_s:.2f} {row} is there {held[row]} times"
    if session.query in ROW_OF_FACT:
        yield from changes_explained(name, session, history)
    if session.query in ("rings", "all"):
        yield from events_in_order(name, session, history)


def changes_explained(name: str, session: Session, history: History) -> Iterator[str]:
    """Each change of a fact has its cause, in the order in which the fact's client published. Those of one moment come together,
    as a subscriber that is brought up to date is told of several at once."""
    causes: dict[tuple[str, int], list[int]] = defaultdict(list)
    doings = [one for one in history.published if one.sign]
    for number, one in enumerate(doings):
        for fact in one.tuples:
            row = ROW_OF_FACT[session.query](fact)
            if row is not None:
                causes[row, one.sign].append(number)
                if interrupted(one):
                    causes[row, -one.sign].append(number)
    come: dict[tuple[str, str], int] = defaultdict(lambda: -1)
    of_row: dict[str, int] = {}
    changes = [change for change in session.changes if change[1]]
    latest = latest_causes(changes, causes, doings, history)
    for at_s, group in groupby(zip(changes, latest, strict=True), key=lambda one: one[0][0]):
        reached: dict[tuple[str, str], int] = {}
        for (_, sign, row), last in group:
            known = [number for number in causes[row, sign] if doings[number].begun_s <= at_s and number <= last]
            before = of_row.get(row, -1)
            later = [number for number in known if number > before or (number == before and interrupted(doings[number]))]
            if not later:
                if not excused(history, at_s, at_s, *APART):
                    yield f"{name}: at {at_s:.2f} {'-+'[sign > 0]} {row} was not published"
                continue
            in_order = [number for number in later if doings[number].by_several or number >= come[sayer(doings[number])]]
            kinds = () if session.query in SEVERAL_FEED else APART
            if not in_order and not excused(history, doings[later[-1]].begun_s, at_s, *kinds):
                yield (
                    f"{name}: at {at_s:.2f} {'-+'[sign > 0]} {row} of {doings[later[-1]].begun_s:.2f} comes after what was "
                    f"published at {doings[come[sayer(doings[later[-1]])]].begun_s:.2f}"
                )
            of_row[row] = (in_order or later)[0]
            via = sayer(doings[of_row[row]])
            reached[via] = max(of_row[row], reached.get(via, -1))
        for via, number in reached.items():
            come[via] = max(come[via], number)


def latest_causes(
    changes: Sequence[tuple[float, int, str]],
    causes: Mapping[tuple[str, int], Sequence[int]],
    doings: Sequence[Published],
    history: History,
) -> list[float]:
    """For each change the latest of its causes that leaves one for each later change of its row that needs one; infinite where
    there is none."""
    latest: list[float] = []
    of_row: dict[str, float] = defaultdict(lambda: inf)
    for at_s, sign, row in reversed(changes):
        if excused(history, at_s, at_s, *APART):
            latest.append(inf)
            continue
        bound = of_row[row]
        fit = [
            number
            for number in causes.get((row, sign), ())
            if doings[number].begun_s <= at_s and (number < bound or (number == bound and interrupted(doings[number])))
        ]
        latest.append(max(fit, default=inf))
        of_row[row] = max(fit, default=bound)
    return latest[::-1]


def excused(history: History, begun_s: float, seen_s: float, *kinds: str) -> bool:
    """Whether a fault, of one of these kinds where some are named, was at work between a publish and what was seen of it.

    What is held to then all the same: nothing is lost for good, nothing invented, nothing repeated, and rows of a template that
    lies at one rendezvous keep the order. Only the parts of a network that was cut, or of one whose peers were all stopped at once,
    may know less than all of them together until they have told each other, which they do in no order. Events are lost only by
    these, and where somebody reads nothing; else they come, later. Not yet: the order of rows that several peers feed.
    """
    return any(one.begins_s <= seen_s and begun_s <= one.ends_s for one in history.troubles if not kinds or one.kind in kinds)


def sayer(one: Published) -> tuple[str, str]:
    """Whose order counts: what one client says by one peer."""
    return one.client, one.via


def interrupted(one: Published) -> bool:
    """Whether it may have been sent again, to others: what was seen of it may go until it is there for good."""
    return one.ended_s is None or one.attempts > 1 or one.met_death


def events_in_order(name: str, session: Session, history: History) -> Iterator[str]:
    """No event twice, none before another of the same client that was published earlier, none that was never published."""
    row_of_event = row_of if session.query == "all" else lambda event: f"{event[1]} {event[2]}"
    published: dict[str, Published] = {}
    number_of: dict[str, int] = {}
    for one in history.published:
        for event in one.tuples if not one.sign else ():
            row = row_of_event(event)
            published[row] = one
            number_of[row] = int(event[2])  # type: ignore[call-overload]
    seen: dict[str, float] = {}
    last: dict[tuple[str, str], int] = {}
    for at_s, sign, row in session.changes:
        if sign:
            continue
        if row in seen:
            yield f"{name}: at {at_s:.2f} ! {row} came again, after {seen[row]:.2f}"
            continue
        seen[row] = at_s
        if row not in published or published[row].begun_s > at_s:
            yield f"{name}: at {at_s:.2f} ! {row} was not published"
            continue
        if published[row].begun_s < (session.whole_s or inf):
            # It was said before, and is told all the same, as where it is sent again: give or take a second.
            said_s = published[row].ended_s or inf
            if said_s < session.begun_s - BEFORE_S and not excused(history, published[row].begun_s, at_s, *UNAWARE):
                yield f"{name}: at {at_s:.2f} ! {row} was said at {said_s:.2f}, before anybody asked for it"
            continue
        via, number = sayer(published[row]), number_of[row]
        # Of several conditions of one peer that ask for an event, each has it again by itself where a link broke.
        kinds = (*UNTOLD, *BROKEN) if BOUNDED.keys() & history.asked_after.keys() else UNTOLD
        if number < last.get(via, -1) and not excused(history, published[row].begun_s, at_s, *kinds):
            yield f"{name}: at {at_s:.2f} ! {row} comes after number {last[via]}"
        last[via] = max(number, last.get(via, -1))
    ends_s = session.ended_s or inf
    for row, one in published.items():
        if row not in seen and one.ended_s is not None and session.whole_s is not None:
            delivered_s = one.ended_s + DELIVERED_S
            if excused(history, one.begun_s, delivered_s):
                delivered_s = one.ended_s + TROUBLED_S
            # Of one moment, it was said before anybody asked for it.
            if session.whole_s < one.begun_s and delivered_s < ends_s and not excused(history, one.begun_s, delivered_s, *UNTOLD):
                yield f"{name}: ! {row}, published at {one.begun_s:.2f} and acknowledged at {one.ended_s:.2f}, did not come"
