"""The address book on disk: one file, replaced as a whole, so that a crash leaves the old one or the new one."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ..background import BackgroundTasks
from ..errors import Address, BadBook, BookUnreadable
from .address_book import MAX_ADDRESSES, decode, encode

log = logging.getLogger(__name__)


class AddressBookFile:
    """Keeps the ``addresses`` worth calling at, the likeliest first, in the file at ``path``; None keeps nothing."""

    def __init__(self, path: Path | None, addresses: Callable[[], Iterable[Address]], tasks: BackgroundTasks) -> None:
        self._path = path
        self._addresses = addresses
        self._tasks = tasks
        self._written: list[Address] = []
        self._changed = False
        """Whether peers came or went since the book was written: a peer that is killed is to find its way back by it."""
        # Held while the book is written. Nobody waits for it but :meth:`save`'s callers, one each: the overlay as it has joined, as
        # it has refreshed and as it is left. What is saved every period is saved later where a disk takes longer than that.
        # Whoever is cancelled lets go of it.
        self._saving = asyncio.Lock()

    def read(self) -> list[Address]:
        """The addresses in the file; a book that is damaged is as good as none. Raises BookUnreadable."""
        if self._path is not None:
            try:
                self._written = read_book(self._path)
            except BadBook as error:
                # A wrong bit makes another address of one, where anybody may listen.
                log.error("%s: %s; it is not used, and written anew: others find this peer, or name one to join", self._path, error)
        return self._written

    def mark_changed(self) -> None:
        """Peers came or went. Until the first one is in the book, nobody could be found again: it is written at once."""
        was_changed, self._changed = self._changed, True
        if not was_changed and not self._written:
            self.start_saving()

    def start_saving(self) -> None:
        """Save the book in the background, if that is due and not under way."""
        if self._path is not None and self._changed and not self._saving.locked():
            self._tasks.start(self.save())

    async def save(self) -> None:
        """Write the book. What goes wrong is logged, since the peer itself is well."""
        self._changed = False
        if self._path is None:
            return
        # One after the other: two that replace the file at once take it away from each other.
        async with self._saving:
            addresses = list(dict.fromkeys(self._addresses()))[:MAX_ADDRESSES]
            if addresses == self._written:
                return
            try:
                await asyncio.to_thread(write_book, self._path, addresses)
                self._written = addresses
            except (OSError, RuntimeError) as error:
                # The latter where the machine gives no thread.
                log.warning(
                    "the address book %s cannot be written: %s; after a restart old peers are not found by it", self._path, error
                )


def read_book(path: Path) -> list[Address]:
    """The addresses in the file; none when there is no file yet. Raises BookUnreadable, and BadBook for one that is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BookUnreadable(str(path), (error.strerror or str(error)).lower()) from None
    return decode(data)


def write_book(path: Path, addresses: list[Address]) -> None:
    """Replace the file. Raises OSError."""
    part = path.with_name(path.name + ".part")
    # For its owner alone: who is where is nobody else's business.
    with open(part, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(encode(addresses))
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
