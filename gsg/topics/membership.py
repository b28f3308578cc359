"""A topic that this peer is a member of, or is about to be, on behalf of those who subscribed here.

joining ──succeed──> joined ──unused──> left
   └──fail, unused──> left
"""

from __future__ import annotations

import asyncio

from .backlog import Backlog


class Membership:
    """Used while somebody hears the topic or waits to hear it; :class:`PeerTopics` leaves one that is not."""

    def __init__(self) -> None:
        self.backlogs: list[Backlog] = []
        """Of those who hear the topic. Limit: the subscriptions of clients, and what the program that is the peer asks for."""
        self._waiting = 0
        self._joined: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def is_used(self) -> bool:
        """Whether somebody hears the topic, or waits to hear it."""
        return bool(self.backlogs) or self._waiting > 0

    async def add_backlog(self, backlog: Backlog) -> None:
        """Fill a backlog from when this peer has joined. Raises what :meth:`fail` was told."""
        self._waiting += 1
        try:
            await asyncio.shield(self._joined)  # others wait for the same
            self.backlogs.append(backlog)
        finally:
            self._waiting -= 1

    def succeed(self) -> None:
        """What is published from now on comes."""
        if not self._joined.done():
            self._joined.set_result(None)

    def fail(self, error: Exception) -> None:
        """This peer will be no member: told to those who wait."""
        if not self._joined.done():
            self._joined.set_exception(error)
            self._joined.exception()  # all who waited may have given up

    def close(self, error: Exception) -> None:
        """The peer stops: whoever waits is told so, and whoever hears the topic reads what has come, and the end."""
        self.fail(error)
        for backlog in self.backlogs:
            backlog.close()
