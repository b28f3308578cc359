"""The HTTP doors of other peers, which their heartbeats tell: a peer tells them to its clients, who go there when it is lost.

A peer says where its own door is with every beat (:mod:`gsg.churn.heartbeats`), so each hears after a while of those that it has
links with, two at least. They are suggestions: a client that finds nobody at one of them tries the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import dht

from .door_urls import door_as_reached, is_loopback, read_door_url

MAX_DOORS: Final = 64
"""Doors of other peers that are kept; of further ones nothing is kept until one of those peers is gone."""


class KnownDoors:
    """Those that one peer knows. ``own_host`` is its address for other peers; ``tell`` is called when its own door has opened."""

    def __init__(self, own_host: str, tell: Callable[[], object]) -> None:
        self.own = ""
        """The URL of this peer's door, as it advertises it; empty where it has none."""
        self._own_host = own_host
        self._tell = tell
        self._by_peer: dict[bytes, str] = {}
        """Limit: MAX_DOORS."""
        self._watching: set[asyncio.Event] = set()
        """Bounded by the clients of this peer's doors."""

    def open(self, url: str) -> None:
        """This peer has a door at this URL. Of several, the last one is told."""
        self.own = url
        self._tell()

    def close(self, url: str) -> None:
        """The door at this URL is closed; the next beats say so."""
        if self.own == url:
            self.own = ""

    def hear(self, contact: dht.Contact, said: str | None) -> bool:
        """Another peer has said where its door is, that it has none (an empty text), or nothing of it (None).

        Returns whether that is news of a door: whoever has just opened one knows few others.
        """
        if said is None:
            return False
        url = door_as_reached(said, contact.host, self._own_host) if said else None
        if url is None:
            self.forget(contact.id)
            return False
        if self._by_peer.get(contact.id) == url or (contact.id not in self._by_peer and len(self._by_peer) >= MAX_DOORS):
            return False
        self._by_peer[contact.id] = url
        self._changed()
        return True

    def forget(self, peer: bytes) -> None:
        """A peer is gone, or has no door any more."""
        if self._by_peer.pop(peer, None) is not None:
            self._changed()

    def told_to(self, client_host: str) -> list[str]:
        """The doors of others that a client from this address may be told: those on loopback only where it comes by loopback."""
        is_local = is_loopback(client_host)
        known = ((url, read_door_url(url)) for url in dict.fromkeys(self._by_peer.values()))
        return [url for url, parts in known if is_local or (parts is not None and not is_loopback(parts.host))]

    @contextmanager
    def watch(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever a door comes or goes; whoever waits for it clears it."""
        changed = asyncio.Event()
        self._watching.add(changed)
        try:
            yield changed
        finally:
            self._watching.remove(changed)

    def _changed(self) -> None:
        for changed in self._watching:
            changed.set()
