"""Tells the service manager that started the process, such as systemd, how the peer is: sd_notify(3), one datagram a word.

    starting ──all doors stand──> READY=1 ──each half of WATCHDOG_USEC: WATCHDOG=1 if it lives, and STATUS──> STOPPING=1

What lives is decided as for ``/livez`` (:mod:`gsg.monitoring.health`): a loop that does not turn says nothing, and is ended by the
manager when WatchdogSec is over. Nobody waits for the manager, and where none asks to be told nothing is done.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from ...monitoring.health import State, failing, live_checks, ready_checks
from ...tuples.escaping import one_line

log = logging.getLogger(__name__)

STATUS_S = 10.0
"""How often the manager is told how the peer is, where it does not watch the peer more closely."""


def address_from(environ: Mapping[str, str]) -> str | None:
    """Where the manager listens: a path, or a name in the abstract namespace, which begins with @ there; None without one."""
    named = environ.get("NOTIFY_SOCKET", "")
    if named.startswith("@"):
        return f"\0{named[1:]}"
    if named.startswith("/"):
        return named
    if named:
        log.warning("NOTIFY_SOCKET is %r; expected a path or a name that begins with @: the service manager is told nothing", named)
    return None


def watchdog_s(environ: Mapping[str, str], process: int) -> float | None:
    """How often this process is to say that it lives, in seconds; None where nobody asks (sd_watchdog_enabled(3))."""
    microseconds, of = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not (microseconds.isascii() and microseconds.isdigit() and int(microseconds)):
        return None
    return int(microseconds) / 1_000_000 if of in ("", str(process)) else None


def told_of(state: State) -> dict[str, str]:
    """What the manager is told of a peer that runs."""
    failed = failing(ready_checks(state))
    known = f"{state.peers} peer{'' if state.peers == 1 else 's'} known"
    said = f"ready, {known}" if not failed else "; ".join(f"{check.name}: {check.detail}" for check in failed)
    told = {"STATUS": one_line(said)}
    return told if failing(live_checks(state)) else {"WATCHDOG": "1", **told}


class ServiceManager:
    """Whoever started this process; a context manager, which outlasts the peer, as stopping is watched too."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = address_from(environ)
        watched_s = watchdog_s(environ, os.getpid())
        self._every_s = STATUS_S if watched_s is None else min(STATUS_S, watched_s / 2)
        self._socket: socket.socket | None = None
        self._next: asyncio.TimerHandle | None = None
        self._failed = False

    def __enter__(self) -> Self:
        if self._address is not None:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._next is not None:
            self._next.cancel()
        if self._socket is not None:
            self._socket.close()

    def started(self, state: Callable[[], State]) -> None:
        """All doors stand; from now on ``state()`` is asked how the peer is."""
        if self._socket is not None:
            self.tell(READY="1")
            self._watch(state)

    def _watch(self, state: Callable[[], State]) -> None:
        self.tell(**told_of(state()))
        self._next = asyncio.get_running_loop().call_later(self._every_s, self._watch, state)

    def stopping(self) -> None:
        """The peer hands over what it holds."""
        self.tell(STOPPING="1", STATUS="handing over what this peer holds")

    def tell(self, **said: str) -> None:
        """One datagram. A manager that cannot be told is no reason to stop."""
        if self._socket is None or self._address is None:
            return
        try:
            self._socket.sendto("\n".join(f"{name}={value}" for name, value in said.items()).encode(), self._address)
        except OSError as error:
            log.log(
                logging.INFO if self._failed else logging.WARNING, "the service manager cannot be told how this peer is: %s", error
            )
            self._failed = True
