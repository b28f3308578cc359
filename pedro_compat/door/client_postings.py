"""What one client has posted with the peer: its subscriptions, and the addresses of its name.

A client may leave while a posting is under way; then it is withdrawn as soon as it stands.
"""

from __future__ import annotations

from collections.abc import Callable

from gsg.errors import LocalError
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.peer import Peer
from gsg.placement.rules import NOWHERE
from gsg.tuples.features import Template
from gsg.wire.messages import Event, Test

from ..goals.covers import TEST_NAME, just_compiled, template
from .addresses import MESSAGE_PLACE, name_templates
from .admin import Condition, admin_conditions
from .arrival_stamps import Arrivals
from .commands import Register, Subscribe, Unsubscribe
from .option_listeners import ClientArrivals, OptionListener
from .session import Session

MAX_SUBSCRIPTIONS = 100_000
"""Subscriptions of one client; one more is refused."""


class ClientPostings:
    """The postings of one client. ``deliver`` is one object for all of them; ``arrivals``: those of a door with extensions."""

    def __init__(self, session: Session, peer: Peer, arrivals: Arrivals | None, deliver: Callable[[Event, int], None]) -> None:
        self._session = session
        self._peer = peer
        self._deliver = deliver
        self._arrivals = None if arrivals is None else ClientArrivals(arrivals, deliver)
        self._of_name: list[AlphaMemory] = []
        self._is_open = True

    @property
    def has_room(self) -> bool:
        """Whether another subscription would not be refused as one too many."""
        return len(self._session.subscriptions) < MAX_SUBSCRIPTIONS

    async def post_subscription(self, command: Subscribe) -> None:
        """Post a subscription, and deliver what it asks of the past. Raises GsgError where it does not stand."""
        subscription, posted = command.subscription, self._session.subscriptions
        condition = template(subscription)
        listener: OptionListener | None = None
        try:
            if len(posted) > MAX_SUBSCRIPTIONS:
                raise LocalError(f"this client has {MAX_SUBSCRIPTIONS} subscriptions, the most that one may have")
            if command.options is not None and self._arrivals is not None:
                listener = OptionListener(self._arrivals, command.options)
            place = (Template(()), NOWHERE) if condition is None else (condition, 0)
            source = subscription.source()
            just_compiled.remember(source, subscription)
            asked = Condition(*place, Test(TEST_NAME, source), listener or self._deliver)
            posted[command.id] = await self._post(asked, note=command.rock)
        except BaseException:
            posted.pop(command.id, None)
            raise
        if listener is not None:
            await listener.look_back(subscription, command.rock, lambda: self._is_open)

    async def post_name(self, command: Register) -> None:
        """Post the addresses of a name, and what the admin hears besides. Raises GsgError where another client has the name."""
        session = self._session
        conditions = [Condition(each, MESSAGE_PLACE, None, self._deliver) for each in name_templates(command.name, session.host)]
        if session.makes_admin(command.name):
            conditions += admin_conditions(session.host, session.dialect, self._deliver)
        try:
            for condition in conditions:
                self._of_name.append(await self._post(condition, exclusive=not self._of_name))
        except BaseException:
            self.withdraw_name()
            raise
        session.registered(command)

    def withdraw_subscription(self, command: Unsubscribe) -> None:
        """End a subscription, which the session has let go."""
        assert isinstance(command.kept, AlphaMemory)
        self._peer.end_listening(command.kept)

    def withdraw_name(self) -> None:
        """Give the name back."""
        for posted in self._of_name:
            self._peer.end_listening(posted)
        self._of_name.clear()

    def withdraw_all(self) -> None:
        """The client has left."""
        self._is_open = False
        subscriptions, self._session.subscriptions = self._session.subscriptions, {}
        for posted in subscriptions.values():
            if isinstance(posted, AlphaMemory):  # else it is under way
                self._peer.end_listening(posted)
        self.withdraw_name()

    async def _post(self, condition: Condition, *, exclusive: bool = False, note: int = 0) -> AlphaMemory:
        posted = await condition.post(self._peer, exclusive=exclusive, note=note)
        if not self._is_open:
            self._peer.end_listening(posted)
            raise LocalError("the client has left")
        return posted
