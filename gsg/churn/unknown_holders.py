"""Events that come before this peer knows who holds their keys: they wait until it has asked, and what their link brings with them.

To know no holder of a key is not to know that there is none. A peer that was just started knows of nobody, and one that others have
found first takes itself for alone; had events passed at it alone, their publisher would be told that they have passed wherever
somebody listens.

    an event comes ──its holders are known──> carried out
         └──they are not──> looked up, for FINDING_S at most ──found──> carried out, and then what came behind
                                                         └──not found──> all of it is refused, with the reason
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..background import DEFECT, StartTask
from ..errors import PeerUnreachable
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..tuples.features import Key
from ..wire.exchange import Channel, show
from ..wire.messages import Flash, Message
from ..wire.room import ALL_BYTES, Room
from ..wire.waiting import Behind, OnMessage

log = logging.getLogger(__name__)

FINDING_S = 10.0
"""How long the holders of an event are looked for; shorter than ANSWER_TIMEOUT_S: else this peer were taken for dead."""


class UnknownHolders:
    """Those of one peer, whose way to itself is ``own``.

    ``on_message`` carries out what has waited, ``refuse(channel, message, why)`` answers what cannot be; ``flush`` sends what that
    has caused.
    """

    def __init__(
        self,
        holders: Holders,
        own: Channel,
        responsibility: Responsibility,
        start_task: StartTask,
        *,
        on_message: OnMessage,
        refuse: Callable[[Channel, Message, str], None],
        flush: Callable[[], None],
    ) -> None:
        self._holders = holders
        self._own = own
        self._responsibility = responsibility
        self._start_task = start_task
        self._on_message = on_message
        self._refuse = refuse
        self._flush = flush
        self._room = Room(ALL_BYTES)
        """Of what waits there, by all links."""
        self._links: dict[Channel, Behind] = {}
        """What waits behind an event whose holders are looked up. Bounded by the links; each goes when that ends, in FINDING_S at
        most, or with its link, and all of them with the peer, which owns the tasks."""

    def hold_back(self, channel: Channel, message: Message) -> bool:
        """Keep a message until its holders are found, where they are not known; whether it is kept.

        Raises Refused where too much waits for them.
        """
        behind = self._links.get(channel)
        if behind is not None:
            behind.add(message)
            return True
        if not isinstance(message, Flash) or not self._unknown(channel, message):
            return False
        what = "events before them, whose holders are looked up"
        behind = self._links[channel] = Behind(channel, what, asyncio.get_running_loop().time, self._room)
        behind.add(message)
        self._start_task(self._find(channel, message, behind))
        return True

    def lost(self, channel: Channel) -> None:
        """A link is gone: whoever sent by it sends again what was not answered."""
        if (behind := self._links.pop(channel, None)) is not None:
            behind.forget()

    def is_strange(self, channel: Channel) -> bool:
        """Whether somebody speaks to us who is not there, as far as we know: we take ourselves for alone, and are not."""
        return channel is not self._own and self._holders.alone

    def _unknown(self, channel: Channel, message: Flash) -> list[Key]:
        """The keys of events whose holders are to be looked up before these are carried out."""
        # What was passed on by another holder is taken as it is.
        if message.forwarded or self._responsibility.leaving:
            return []
        is_strange = self.is_strange(channel)
        if not (is_strange or message.unsure or self._responsibility.settling):
            return []
        keys = {
            (len(event.items), position, event.items[position]): None
            for event, there in zip(message.events, message.places, strict=True)
            for position in there
        }
        if is_strange:
            return list(keys)
        return [key for key, holders in zip(keys, self._holders.holders_of_each(keys), strict=True) if not holders]

    async def _find(self, channel: Channel, message: Flash, behind: Behind) -> None:
        problem = ""
        try:
            async with asyncio.timeout(FINDING_S):
                while keys := self._unknown(channel, message):
                    if self.is_strange(channel):
                        await self._holders.wait_to_meet(channel.contact)
                        # What was known for sure is wrong: these are asked for anew, whatever is remembered.
                        for key in keys:
                            await self._holders.find_anew(key)
                    else:
                        await self._holders.look_up(keys)
        except TimeoutError:
            problem = f"not found within {FINDING_S:g} s"
        except PeerUnreachable as error:
            problem = str(error)
        except Exception:
            # A defect of ours must not keep what the link brings waiting for ever.
            log.exception("the holders of events were not looked up")
            problem = DEFECT
        if self._links.get(channel) is not behind:
            return  # the link is gone
        del self._links[channel]
        if problem:
            log.info("what %s has sent is refused: the holders of its keys are not known: %s", show(channel.contact), problem)
            # What came later too: to look each of them up in turn would keep its publisher waiting for too long.
            while (waiting := behind.next()) is not None:
                self._refuse(channel, waiting, f"the holders of its keys are not known: {problem}; publish it again")
        behind.go_on(self._on_message)
        self._flush()
