"""Which door a client tries next: at first, and after it has lost its peer. Pure: the clock and the dice are handed in.

    first, one after the other           doors that were given, in random order
    lost -> Pause, Try, Try, ..., Pause, Try, Try, ...   -> connected
                                         -> GiveUp, where ``reconnect_s`` has passed

Each round tries all doors that are known once, those that were given and those that peers have told of, the one that was lost last.
Pauses before rounds grow and are drawn (Brooker 2015, "Exponential Backoff And Jitter"): clients that have lost the same peer at
the same time do not come to the next one all at once, and order is random for the same reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import Final

from ...errors import LocalError
from ...wire.door_urls import read_door_url

MAX_GIVEN: Final = 64
"""Doors that a client may be given; more is refused."""
MAX_LEARNT: Final = 64
"""Doors that are kept of those that the peer tells of, and of those that peers before it have told of: the latest of them."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 30.0
"""Pauses: the first is this or up to half less, each further one twice as long, up to the longest."""
STEADY_S: Final = 5.0
"""Pauses begin with the shortest again after a connection that stood for so long: a peer may take a client and lose it at once."""


@dataclass(frozen=True, slots=True)
class Try:
    """Try this door now."""

    url: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for so long."""

    pause_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Try no more, after so many seconds."""

    tried_s: float


def urls_of(given: str | Sequence[str]) -> list[str]:
    """The doors that a caller has given: a URL, several with commas between them, or a list. Raises LocalError for their number."""
    texts = given.split(",") if isinstance(given, str) else list(given)
    urls = list(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not urls:
        raise LocalError(
            f"{given!r} is no address of a peer; expected one like http://127.0.0.1:8470, or several with commas between"
        )
    if len(urls) > MAX_GIVEN:
        raise LocalError(f"{len(urls)} addresses of peers; expected at most {MAX_GIVEN}: name some, and they tell of others")
    return urls


def pause_s(attempt: int, rng: Random) -> float:
    """How long to wait before an attempt, by how many there were before it."""
    return rng.uniform(0.5, 1.0) * min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** min(attempt, 16))


class DoorChoice:
    """What one client knows of doors. ``reconnect_s``: how long after a loss it looks for one."""

    def __init__(self, given: Sequence[str], rng: Random, *, reconnect_s: float = inf) -> None:
        self._given = list(given)
        self._learnt: list[str] = []
        """What the peer has told of."""
        self._earlier: list[str] = []
        """What peers before it have told of: it may have just been started, and know of none. Limit: MAX_LEARNT."""
        self._rng = rng
        self._reconnect_s = reconnect_s
        self._at: str | None = None
        """The door of the connection that stands, or was lost at last."""
        self._round: list[str] = []
        """Doors that are still to be tried in this round."""
        self._pauses = 0
        """How many there were since a connection was steady."""
        self._connected_s = -inf
        self._lost_s = 0.0

    def doors(self) -> list[str]:
        """All that are known."""
        return list(dict.fromkeys([*self._given, *self._learnt, *self._earlier]))

    def was_given(self, url: str) -> bool:
        """Whether its caller named this door, and no peer: a token is for such doors alone, as any peer may tell of any door."""
        return url in self._given

    def first(self) -> list[str]:
        """The doors to try at first, in order."""
        return self._rng.sample(self._given, len(self._given))

    def learn(self, urls: Iterable[str]) -> None:
        """The peer tells of these doors, in place of those that it has told before.

        What is no URL is left out, and where only https was given, so is what is not: nobody is to be led from TLS to plain text.
        """
        schemes = {"https"} if all(url.startswith("https:") for url in self._given) else {"http", "https"}
        known = [str(url) for url in map(read_door_url, urls) if url is not None and url.scheme in schemes]
        self._learnt = [url for url in dict.fromkeys(known) if url not in self._given][:MAX_LEARNT]

    def connected(self, url: str, now_s: float) -> None:
        """A connection stands."""
        self._at, self._connected_s = url, now_s
        self._earlier, self._learnt = list(dict.fromkeys([*self._learnt, *self._earlier]))[:MAX_LEARNT], []

    def lost(self, now_s: float) -> None:
        """It does not any more: ask for the :meth:`next` thing to do until there is another one."""
        self._lost_s = now_s
        self._round = []
        if now_s - self._connected_s >= STEADY_S:
            self._pauses = 0

    def next(self, now_s: float) -> Try | Pause | GiveUp:
        """What to do to find another one."""
        if self._round:
            return Try(self._round.pop())
        left_s = self._lost_s + self._reconnect_s - now_s
        if left_s <= 0:
            return GiveUp(now_s - self._lost_s)
        doors = self.doors()
        self._rng.shuffle(doors)
        self._round = sorted(doors, key=lambda url: url != self._at)
        self._pauses += 1
        return Pause(min(left_s, pause_s(self._pauses - 1, self._rng)))
