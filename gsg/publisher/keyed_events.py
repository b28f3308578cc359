"""Events with a key: a request that comes again under its key is acknowledged, and its events are not told again by this peer.

    asked ──the key is known──────────────────────────────────────────> acknowledged as before
      ├──the same key is under way──> waits for that, and looks again
      └──nobody knows the key──> told ──> remembered, on disk where there is one ──> acknowledged

What is remembered was told, so nothing is lost: where the peer ends, or the request is given up, between the two, whoever asks
again has it told a second time.
Each peer remembers what it has taken itself; one that takes the same request from a client that went on there tells it once more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from ..background import in_turns
from ..errors import Refused, reason
from ..storage.disk.event_keys_file import NAME, EventKeysFile
from ..storage.event_keys import EventKeys, KeyRecord

log = logging.getLogger(__name__)


class KeyedEvents:
    """The keys of one peer. ``folder`` is its data directory; None for a peer without one."""

    def __init__(self, folder: Path | None = None) -> None:
        self._keys = EventKeys()
        self._file = None if folder is None else EventKeysFile(folder / NAME)
        self._is_read = self._file is None
        self._reading = asyncio.Lock()
        self._writing = asyncio.Lock()
        """Held while records are written: all that come meanwhile go together, with one fsync."""
        self._unwritten: dict[bytes, None] = {}
        """Records that wait for the disk. Limit: the requests that clients may have under way."""
        self._under_way: dict[tuple[bytes, bytes], asyncio.Event] = {}
        """By owner and key, what tells that a request is done with. Limit: as above."""

    async def publish(self, asked: KeyRecord, send: Callable[[], Awaitable[int]]) -> int:
        """Tell the events of a request by ``send()``, unless its key is known; how many they are.

        Raises LocalError where the key names other events, and Refused where the disk fails: if the key could not be kept, the
        events were told, and if the keys that are there cannot be read, they were not.
        """
        if not self._is_read:
            await self._read_or_refuse()
        name = asked.owner, asked.key
        while (other := self._under_way.get(name)) is not None:
            await other.wait()
        if (found := self._keys.find(asked)) is not None:
            return found.number
        done = self._under_way[name] = asyncio.Event()
        try:
            count = await send()
            await self._keep(asked)
        finally:
            del self._under_way[name]
            done.set()
        return count

    async def read(self) -> None:
        """Read what is on disk, as the peer starts: nobody who comes with a key is to wait for it. What cannot be read is logged,
        and tried again with each key that comes."""
        try:
            await self._read_or_refuse()
        except Refused as refused:
            log.error("%s, until it can be read", refused)

    async def _read_or_refuse(self) -> None:
        async with self._reading:
            if self._is_read or self._file is None:
                return
            try:
                records = await asyncio.to_thread(self._file.read)
            except OSError as error:
                raise Refused(f"its disk failed ({reason(error)} at {self._file.path}): no events with keys are taken") from None
            # As many as the file has, which take a second: others have their turn meanwhile.
            async for record in in_turns(records):
                self._keys.remember(record)
            self._is_read = True

    async def _keep(self, record: KeyRecord) -> None:
        if self._file is None:
            self._keys.remember(record)
            return
        packed = record.pack()
        self._unwritten[packed] = None
        try:
            async with self._writing:
                if packed not in self._unwritten:
                    return  # with those of another request
                some = list(self._unwritten)
                is_long = await asyncio.to_thread(self._file.append, some)
                for each in some:
                    # Whoever asked may have gone meanwhile: the events were told all the same.
                    self._unwritten.pop(each, None)
                    if (written := KeyRecord.unpack(each)) is not None:
                        self._keys.remember(written)
                if is_long:
                    await self._write_anew(self._file)
        except OSError as error:
            raise Refused(
                f"its disk failed ({reason(error)} at {self._file.path}): the events were told, and their key is not kept; whoever "
                "publishes them again has them told again"
            ) from None
        finally:
            self._unwritten.pop(packed, None)

    async def _write_anew(self, file: EventKeysFile) -> None:
        try:
            await asyncio.to_thread(file.write_anew, self._keys.records())
        except OSError as error:
            # What is there is as good, and longer; the next request tries it again.
            log.error("%s could not be written anew: %s", file.path, reason(error))
