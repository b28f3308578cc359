"""What is said of a query: its plan, why a row holds, why another does not, what it holds. Data, with a text for people.

Everything in words is in the notation of GSG script (:mod:`gsg.languages.notation`). :mod:`gsg.explain.explain` makes these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

import dht

from ..languages import notebook


class HeldKey(msgspec.Struct, frozen=True):
    """A key as one peer sees it."""

    facts: int
    """That lie under it at this peer, whether it is one of its holders or not."""
    holders: tuple[dht.Contact, ...] = ()
    """Who holds it, as the peer has just found by asking, the primary first; none where that was not asked."""


class Candidate(msgspec.Struct, frozen=True):
    """A place where a condition could be posted: a position with a constant, and what lies at its rendezvous."""

    position: int
    constant: str
    peer: str
    """The rendezvous; empty where nobody was asked."""
    facts: int | None = None
    """Under the key of that constant; None where the rendezvous did not say."""
    templates: int | None = None
    posted: bool = False
    """Whether the template stands there already."""
    chosen: bool = False


class PlanStep(msgspec.Struct, frozen=True):
    """A condition, an operator or a filter, in the order in which they are joined."""

    kind: str
    """``condition``, ``operator`` or ``filter``."""
    text: str
    facts: int | None = None
    """Of a condition: how many match it; None where that is not known."""
    on: tuple[str, ...] = ()
    """Names that it shares with what is joined before it."""
    binds: tuple[str, ...] = ()
    product: bool = False
    """Whether it shares none, so that everything is joined with everything."""
    tests: tuple[str, ...] = ()
    """Filters that each fact passes or not by itself, at the rendezvous where there is one."""
    tried: tuple[str, ...] = ()
    """Those among them that no index can look up: of many queries that have such a one, each is tried on a fact."""
    candidates: tuple[Candidate, ...] = ()
    everywhere: bool = False
    """Whether it has no constant, nor bounds of an ordered position, so that it is posted at every peer."""
    intervals: int = 0
    """Where it has bounds of an ordered position and no constant: how many intervals it is posted under, that of long constants
    not counted."""
    steps: tuple[PlanStep, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """How a query is, or would be, answered."""

    language: str
    variables: tuple[str, ...]
    steps: tuple[PlanStep, ...]
    warnings: tuple[str, ...] = ()
    counted: str = ""
    """Where facts were counted; empty for nowhere."""
    sharing: int = 0
    """With how many subscriptions it would share a network: they differ in constants alone, however they are written."""

    def __str__(self) -> str:
        names = " ".join(f"?{name}" for name in self.variables) or "nothing: the answer is whether there is one"
        counted = f"facts are those of {self.counted}" if self.counted else "nobody was asked for counts, so the order may change"
        lines = [f"{self.language} query, rows of {names}", f"joined in this order ({counted}):"]
        lines += _indented(_plan_lines(self.steps))
        if self.sharing:
            lines.append(f"in one network with {number_text(self.sharing, 'subscription')} that differ in constants alone")
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.text(self)


def _plan_lines(steps: Iterable[PlanStep]) -> Iterator[str]:
    number = 0
    for step in steps:
        if step.kind != "condition":
            yield step.text
            yield from _indented(_plan_lines(step.steps))
            continue
        number += 1
        words = [f"{number}. {step.text}"]
        words += [] if step.facts is None else [number_text(step.facts, "fact")]
        words += [f"on {' '.join(name if name == '_' else '?' + name for name in step.on)}"] if step.on else []
        words += ["on nothing: a cross product"] if step.product else []
        yield "  ".join(words)
        for test in step.tests:
            tried = "; of many like it, each is tried" if test in step.tried else ""
            yield f"   with {test}, decided on each fact where it lies{tried}"
        if step.everywhere:
            yield "   no constant to post it under: it is posted at every peer"
        if step.intervals:
            between = number_text(step.intervals, "interval")
            yield f"   no constant to post it under: {between} between its bounds and that of long constants are its keys"
        for candidate in step.candidates:
            yield "   " + _candidate_line(candidate)


def _candidate_line(candidate: Candidate) -> str:
    words = f"{'anchor' if candidate.chosen else 'or    '} {candidate.constant} at position {candidate.position}"
    if not candidate.peer:
        return words
    if candidate.facts is None or candidate.templates is None:
        return f"{words}, {candidate.peer}: no answer"
    load = f"{number_text(candidate.facts, 'fact')}, {number_text(candidate.templates, 'template')}"
    return f"{words}, {candidate.peer}: {load}{', posted already' if candidate.posted else ''}"


class Reason(msgspec.Struct, frozen=True):
    """One reason for a row: a tuple that met a condition, or what an operator did."""

    what: str
    fact: str | None = None
    said: str = ""
    total: int = 0
    """Of a group: how many solutions it has."""
    inner: tuple[tuple[Reason, ...], ...] = ()
    """Of what it did: of a group the first of its solutions."""


class Why(msgspec.Struct, frozen=True):
    """Which tuples make a row."""

    row: str
    derivations: tuple[tuple[Reason, ...], ...]
    total: int
    """How many ways there are to make it; more than are shown, perhaps."""
    complete: bool = True
    """Whether all was looked at that had to be."""

    def __str__(self) -> str:
        if not self.total:
            given_up = "" if self.complete else ", as far as was looked: it is too much to look at all of it"
            return f"{self.row} does not hold{given_up}; gsg explain --why-not says why"
        ways = f"{self.total:,} ways" if self.total > 1 else "one way"
        lines = [f"{self.row} holds, in {ways}{'' if self.complete else ' or more'}:"]
        for number, reasons in enumerate(self.derivations, 1):
            lines += [f"{number}."] if self.total > 1 else []
            lines += _indented(_reason_lines(reasons))
        if self.total > len(self.derivations):
            lines.append(f"and {self.total - len(self.derivations):,} more")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.text(self)


def _reason_lines(reasons: Iterable[Reason]) -> Iterator[str]:
    for reason in reasons:
        if reason.fact is not None:
            yield f"{reason.fact}  meets {reason.what}"
            continue
        total = f": {number_text(reason.total, 'solution')}" if reason.total or reason.what.startswith("group") else ""
        yield f"{reason.what}{total}{': ' + reason.said if reason.said else ''}"
        for number, inner in enumerate(reason.inner, 1):
            lines = list(_reason_lines(inner))
            yield from _indented([f"{number}. {lines[0]}", *("   " + line for line in lines[1:])] if lines else [f"{number}."])
        if reason.total > len(reason.inner):
            yield f"    and {reason.total - len(reason.inner):,} more"


class Check(msgspec.Struct, frozen=True):
    """What becomes of a row at one part of the query."""

    kind: str
    """``condition`` or ``operator``."""
    text: str
    left: int
    """Solutions with the values of the row after it, in the order of joins; 1,000 for so many or more."""
    alone: int | None = None
    """Of a condition: tuples that match it, whatever the row; 1,000 for so many or more."""
    bound: int | None = None
    """Of a condition: tuples that match it with the values of the row."""
    unsure: bool = False
    """Whether it was too much to look at."""
    fails: bool = False
    steps: tuple[Check, ...] = ()


class WhyNot(msgspec.Struct, frozen=True):
    """Why a row does not hold."""

    row: str
    holds: bool
    because: tuple[str, ...]
    """The parts of the query that leave nothing of it, in words."""
    checks: Check
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.holds:
            return f"{self.row} holds; gsg explain --why says which tuples make it"
        lines = [
            f"{self.row} does not hold:",
            *_indented(self.because),
            "",
            "tuples for each condition (alone / with the row / joined):",
        ]
        lines += _indented(_check_lines([self.checks]))
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.text(self)


def _check_lines(checks: Iterable[Check]) -> Iterator[str]:
    for check in checks:
        left = "?" if check.unsure else _at_most(check.left)
        mark = "  <- here" if check.fails else ""
        if check.kind == "condition":
            yield f"{check.text}  {_at_most(check.alone or 0)} / {_at_most(check.bound or 0)} / {left}{mark}"
        elif check.text == "conditions":
            yield from _check_lines(check.steps)
        elif len(check.steps) == 1:
            yield from _check_lines(check.steps)
            yield f"{check.text}  {left} left{mark}"
        else:
            yield f"{check.text}  {left} left{mark}"
            yield from _indented(_check_lines(check.steps))


class Holding(msgspec.Struct, frozen=True):
    """A subscription of a peer or space, and what it holds there."""

    number: int
    text: str
    language: str
    client: str
    """Whoever subscribed: an address, or empty for the program that the peer runs in."""
    rows: int
    tokens: int
    """Of all nodes that it uses, those shared with others included."""
    own_tokens: int
    """Of nodes that no other subscription uses; of a network that many of one template share, an equal part."""
    bytes: int
    """An estimate of what the tokens and indexes take; tuples not included."""
    own_bytes: int
    max_tokens: int
    sharing: int = 1
    """Subscriptions that share one network as one template, this one included."""
    warnings: tuple[str, ...] = ()


def _indented(lines: Iterable[str]) -> list[str]:
    return ["  " + line for line in lines]


def number_text(count: int, noun: str) -> str:
    """``1 fact``, ``2,000 facts``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _at_most(count: int) -> str:
    return "1,000+" if count >= 1_000 else f"{count:,}"
