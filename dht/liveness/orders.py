"""What :mod:`dht.liveness.swim` orders to be done, and what it says has happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from ..identity.contacts import Contact


@dataclass(frozen=True, slots=True)
class Probe:
    """An order: ask this peer whether it lives, and call :meth:`Swim.report_answer` or :meth:`Swim.report_silent`.

    ``look_around`` asks for contacts as well, since nothing presses.
    """

    contact: Contact
    look_around: bool = False


@dataclass(frozen=True, slots=True)
class ProbeVia:
    """An order: let these helpers ask a silent peer, and call :meth:`Swim.report_vouched` or :meth:`Swim.report_not_vouched`."""

    contact: Contact
    helpers: tuple[Contact, ...]


@dataclass(frozen=True, slots=True)
class PeerDied:
    """A peer that was known is dead: it is in no cache any more."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class PeerReturned:
    """A peer that had died answers again, or one answers in another life before anybody missed it.

    ``was_apart``: as far as known it is in the life in which we had lost it, so it was somewhere that we did not reach.
    """

    contact: Contact
    was_apart: bool = field(default=False, compare=False)


Order: TypeAlias = Probe | ProbeVia | PeerDied
