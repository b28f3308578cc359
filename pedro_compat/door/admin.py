"""The admin of a door: the client of one host that registers ``admin`` hears everything, with rock 0.

Notifications it hears as a subscription to all of them does, of every peer. Messages between registered clients go by the one
rendezvous of their address, so a door that was told of an admin host says each of its clients' messages twice: to whom it is
addressed, and as *overheard* at that host. Whether its clients may be overheard is thus decided by whoever runs a door, and a door
without an admin pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

from gsg.feeds.alpha_memory import AlphaMemory
from gsg.peer import Peer
from gsg.placement.rules import NOWHERE
from gsg.tuples.features import Template
from gsg.tuples.terms import IRI, Compound, Symbol, Tuple
from gsg.wire.messages import Event, Test

from ..dialect import Dialect
from ..goals.covers import TEST_NAME, compile_subscription
from ..terms.terms import Var
from .addresses import MESSAGE_PLACE, message_event
from .session import ADMIN


class Condition(NamedTuple):
    """What a client is to hear of."""

    template: Template
    anchor: int
    test: Test | None
    hear: Callable[[Event, int], None]

    async def post(self, peer: Peer, *, exclusive: bool = False, note: int = 0) -> AlphaMemory:
        """Hear of it from now on."""
        return await peer.listen(self.template, self.hear, anchor=self.anchor, test=self.test, exclusive=exclusive, note=note)


_OVERHEARD = IRI("urn:gsg:pedro:overheard")


def with_overheard(said: Sequence[tuple[Tuple, str | None]], admin_host: str) -> list[tuple[Tuple, str | None]]:
    """Messages, each followed by itself as overheard; they go by the same place."""
    return [one for items, line in said for one in ((items, line), ((_OVERHEARD, Symbol(admin_host), Compound(items)), line))]


def all_notifications(dialect: Dialect, hear: Callable[[Event, int], None]) -> Condition:
    """The condition that all notifications meet."""
    return Condition(Template(()), NOWHERE, Test(TEST_NAME, compile_subscription(Var("_"), "true", dialect).source()), hear)


def _unless_addressed(name: str, host: str, hear: Callable[[Event, int], None]) -> Callable[[Event, int], None]:
    """Hears what is overheard, but not what is addressed to the admin itself, which comes to it as to anybody."""
    own = {Compound(message_event(*address)) for address in product((name, None), (host, None))}

    def overhear(event: Event, rock: int) -> None:
        if event.items[2] not in own:
            hear(event, rock)

    return overhear


def admin_conditions(host: str, dialect: Dialect, hear: Callable[[Event, int], None]) -> list[Condition]:
    """What the admin at a host hears of beyond what is addressed to it."""
    overheard = Template((_OVERHEARD, Symbol(host), None))
    return [
        all_notifications(dialect, hear),
        Condition(overheard, MESSAGE_PLACE, None, _unless_addressed(ADMIN, host, hear)),
    ]
