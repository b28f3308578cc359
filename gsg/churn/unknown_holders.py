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
from ..wire.exchange import PeerLink, show
from ..wire.messages import Flash, Message
from ..wire.waiting import WaitingLines

log = logging.getLogger(__name__)

FINDING_S = 10.0
"""How long the holders of an event are looked for; shorter than ANSWER_TIMEOUT_S: else this peer were taken for dead."""


class UnknownHolders:
    """Those of one peer, whose way to itself is ``own``.

    ``lines`` has what links have brought and waits, ``refuse(link, message, why)`` answers what cannot be carried out; ``flush``
    sends what has been.
    """

    def __init__(
        self,
        holders: Holders,
        own: PeerLink,
        responsibility: Responsibility,
        start_task: StartTask,
        lines: WaitingLines,
        *,
        refuse: Callable[[PeerLink, Message, str], None],
        flush: Callable[[], None],
    ) -> None:
        self._holders = holders
        self._own = own
        self._responsibility = responsibility
        self._start_task = start_task
        self._lines = lines
        self._refuse = refuse
        self._flush = flush

    def hold_back(self, link: PeerLink, message: Message) -> bool:
        """Let a message wait until its holders are found, where they are not known; whether it does. What its link brings waits
        behind it meanwhile, for FINDING_S at most."""
        if not isinstance(message, Flash) or not self._unknown(link, message):
            return False
        self._lines.block(link, "events before them, whose holders are looked up")
        self._start_task(self._find(link, message))  # before what may be refused: it unblocks the link
        return self._lines.hold_back(link, message)

    def is_strange(self, link: PeerLink) -> bool:
        """Whether somebody speaks to us who is not there, as far as we know: we take ourselves for alone, and are not."""
        return link is not self._own and self._holders.alone

    def _unknown(self, link: PeerLink, message: Flash) -> list[Key]:
        """The keys of events whose holders are to be looked up before these are carried out."""
        # What was passed on by another holder is taken as it is.
        if message.forwarded or self._responsibility.leaving:
            return []
        is_strange = self.is_strange(link)
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

    async def _find(self, link: PeerLink, message: Flash) -> None:
        problem = ""
        try:
            async with asyncio.timeout(FINDING_S):
                while keys := self._unknown(link, message):
                    if self.is_strange(link):
                        await self._holders.wait_to_meet(link.contact)
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
        if problem:
            log.info("what %s has sent is refused: the holders of its keys are not known: %s", show(link.contact), problem)
            # What came later too: to look each of them up in turn would keep its publisher waiting for too long.
            while (waiting := self._lines.take_next(link)) is not None:
                self._refuse(link, waiting, f"the holders of its keys are not known: {problem}; publish it again")
        self._lines.unblock(link)
        self._flush()
