"""How long other peers have owed us answers: one that answers in turn is slow, one that gives none is deaf. Pure."""

from __future__ import annotations

from math import inf


class Patience:
    """Who owes an answer, and since when it has given none. The time is handed in, in seconds."""

    def __init__(self) -> None:
        self._owing: dict[bytes, tuple[int, float]] = {}
        """By peer how many answers, and since when. Bounded by the questions under way: who has answered all is not in it."""

    def asked(self, peer: bytes, now: float) -> None:
        """A question has left, whose end :meth:`answered` will be told of, whatever it is."""
        count, since = self._owing.get(peer, (0, now))
        self._owing[peer] = count + 1, since

    def answered(self, peer: bytes, now: float) -> None:
        """One question has its answer, or will have none: the others are waited for from now on."""
        count, _ = self._owing.pop(peer)
        if count > 1:
            self._owing[peer] = count - 1, now

    def since(self, peer: bytes) -> float:
        """Since when a peer has owed answers and given none; infinity where it owes none."""
        return self._owing[peer][1] if peer in self._owing else inf
