"""View exchange: every agent knows a few others, and trades some of them with one of them in each round.

In a round each agent sends some of its neighbours, and itself, to a neighbour; the other answers with some of its own, and each
puts what it was sent in the place of what it sent away or, where there is room, beside it. A dead agent does not answer, so it is
forgotten by whoever tries it; and it is passed on by those who have not tried it yet. Two forms differ in who is tried:

* the oldest neighbour: each reference has an age, 0 where an agent sends itself and one more in every round, and the oldest is
  tried, and given up whether it answers or not (Voulgaris, Gavidia and van Steen, "CYCLON", 2005, section 2.2);
* a random neighbour, which comes back if it answers and there is room (Paraschiv, Stefănescu and Almasi, "Agent-Based
  Implementation of a P2P Publish/Subscribe System", section 4.2).

A round is a number of waves: in one, no agent takes part in two exchanges, so a wave is arithmetic on arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, check_range

NOBODY = -1
MAX_AGENTS = 1 << 22


def check_views(agents: int, *, view: int, exchanged: int) -> None:
    """Raises BadParameter for views that nobody can have."""
    check_range(agents, 2, MAX_AGENTS, "agents")
    if not 0 < view < min(agents, 256):
        raise BadParameter(f"views of {view} among {agents} agents; expected 1 to {min(agents, 256) - 1}")
    check_range(exchanged, 1, view, f"neighbours exchanged of a view of {view}")


class Views:
    """The views of ``agents`` agents, of ``view`` others each at most; ``exchanged`` of them are traded at a time.

    With ``oldest`` an agent trades with the neighbour that it has known for the longest time, else with a random one.

    Agents are numbers from 0. In the beginning each knows ``view`` others at random. Randomness is handed in.
    """

    def __init__(self, agents: int, *, view: int, exchanged: int, rng: np.random.Generator, oldest: bool = False) -> None:
        check_views(agents, view=view, exchanged=exchanged)
        self._rng = rng
        self._exchanged = exchanged
        self._oldest = oldest
        self.alive = np.ones(agents, dtype=bool)
        self.known = self._random_views(agents, view)
        """Whom each agent knows, NOBODY in empty places; shape (agents, view)."""
        self._age = np.zeros(self.known.shape, dtype=np.int32)
        """Rounds since each of those sent itself out; kept where the oldest is asked for."""

    def _random_views(self, agents: int, view: int) -> NDArray[np.int64]:
        # One starting point and distinct steps round the ring of agents: distinct, and never oneself.
        steps = np.sort(self._rng.integers(0, agents - view, size=(agents, view)), axis=1) + np.arange(1, view + 1)
        return (np.arange(agents)[:, None] + steps) % agents

    def remove(self, count: int) -> NDArray[np.int64]:
        """Agents chosen at random die; returns who."""
        living = np.flatnonzero(self.alive)
        check_range(count, 0, len(living) - 1, f"agents removed of {len(living)}")
        gone = self._rng.choice(living, count, replace=False)
        self.alive[gone] = False
        return gone

    def exchange_all(self) -> None:
        """One round: each living agent begins one exchange."""
        self._age += 1
        waiting = self._rng.permutation(np.flatnonzero(self.alive))
        while len(waiting):
            place = self._oldest_place(waiting) if self._oldest else self._random_place(waiting)
            has = place >= 0
            waiting, place = waiting[has], place[has]
            partner = self.known[waiting, place]
            free = _first_of_each(waiting, partner, len(self.alive))
            self._exchange(waiting[free], partner[free], place[free])
            waiting = waiting[~free]

    def _random_place(self, agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """A place of each agent's view that is not empty, NOBODY where all are."""
        filled = self.known[agents] != NOBODY
        count = filled.sum(axis=1)
        wanted = (self._rng.random(len(agents)) * count).astype(np.int64)
        place = (filled.cumsum(axis=1) > wanted[:, None]).argmax(axis=1)
        chosen: NDArray[np.int64] = np.where(count > 0, place, NOBODY)
        return chosen

    def _oldest_place(self, agents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each agent's view that has been there for the longest time, NOBODY where all are empty."""
        filled = self.known[agents] != NOBODY
        place = np.where(filled, self._age[agents], -1).argmax(axis=1)
        chosen: NDArray[np.int64] = np.where(filled.any(axis=1), place, NOBODY)
        return chosen

    def _exchange(self, one: NDArray[np.int64], other: NDArray[np.int64], place: NDArray[np.int64]) -> None:
        # Whoever is written to is forgotten first: an answer brings it back.
        self.known[one, place] = NOBODY
        answers = self.alive[other]
        one, other = one[answers], other[answers]
        if not len(one):
            return
        sent_places = self._sample(one, self._exchanged - 1)
        back_places = self._sample(other, self._exchanged)
        sent, sent_age = self._at(one, sent_places)
        back, back_age = self._at(other, back_places)
        newest = np.zeros((len(one), 1), dtype=np.int32)
        self._take(other, np.hstack((one[:, None], sent)), np.hstack((newest, sent_age)), back_places)
        if not self._oldest:
            # The place that was emptied holds the other again, if what it sent does not fill it.
            back, back_age = np.hstack((back, other[:, None])), np.hstack((back_age, newest))
        self._take(one, back, back_age, sent_places)

    def _sample(self, agents: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Places of each agent's view at random, empty ones only where there are no others."""
        drawn = self._rng.random((len(agents), self.known.shape[1]), dtype=np.float32)
        drawn[self.known[agents] == NOBODY] = 2
        return drawn.argsort(axis=1)[:, :count]

    def _at(self, agents: NDArray[np.int64], places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Who stands in these places of the agents' views, and for how long."""
        return self.known[agents[:, None], places], self._age[agents[:, None], places]

    def _take(
        self, agents: NDArray[np.int64], offered: NDArray[np.int64], age: NDArray[np.int32], sent_places: NDArray[np.int64]
    ) -> None:
        """Each agent takes in who is new to it: into empty places first, then in the place of those that it sent."""
        views = self.known[agents]
        held = np.zeros(offered.shape, dtype=bool)
        for column in range(views.shape[1]):
            held |= offered == views[:, column : column + 1]
        new = (offered != NOBODY) & (offered != agents[:, None]) & ~held
        preference = np.full(views.shape, 2, dtype=np.int8)
        np.put_along_axis(preference, sent_places, 1, axis=1)
        preference[views == NOBODY] = 0
        room = (preference < 2).sum(axis=1)
        order = preference.argsort(axis=1, kind="stable")
        turn = new.cumsum(axis=1) - 1
        rows, columns = np.nonzero(new & (turn < room[:, None]))
        there = agents[rows], order[rows, turn[rows, columns]]
        self.known[there] = offered[rows, columns]
        self._age[there] = age[rows, columns]

    def in_degrees(self) -> NDArray[np.int64]:
        """By how many living agents each living agent is known."""
        known = self.known[self.alive]
        return np.bincount(known[known != NOBODY], minlength=len(self.alive))[self.alive]

    def dead_references(self) -> NDArray[np.int64]:
        """How many dead agents each living agent still knows."""
        known = self.known[self.alive]
        dead: NDArray[np.int64] = np.sum((known != NOBODY) & ~self.alive[known], axis=1)
        return dead

    def known_dead(self) -> int:
        """How many dead agents somebody still knows."""
        known = np.unique(self.known[self.alive])
        known = known[known != NOBODY]
        return int((~self.alive[known]).sum())


def _first_of_each(one: NDArray[np.int64], other: NDArray[np.int64], agents: int) -> NDArray[np.bool_]:
    """The exchanges that can be made together: those that come first for both who take part."""
    order = np.arange(len(one))
    first = np.full(agents, len(one), dtype=np.int64)
    np.minimum.at(first, one, order)
    np.minimum.at(first, other, order)
    both: NDArray[np.bool_] = (first[one] == order) & (first[other] == order)
    return both
