"""What is published and subscribed to: columns of constants, made by a law or read from files (reading/).

A constant is a code, its number among the constants of its position; :class:`Constants` has the keys. Whatever made them, tuples
come in chunks by their numbers, so that any part can be made by itself and a run is the same however it is cut into partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engine.kernels import Flags, Whole, scattered
from ..engine.randomness import Stream, Words, fraction_of
from ..errors import BadParameter, check_range
from .unsteady import Adversary, Drift
from .zipf import Zipf

Number = TypeVar("Number", int, float)

ARITY = 3
POSITIONS = ("subject", "predicate", "object")
OBJECT = 2
"""The position whose constants may be numbers."""
DAY_S = 86_400.0

CHUNK = 1 << 20
"""Tuples that are made and counted at once: three columns of them are 24 MB."""
KEPT_LAWS = ARITY
"""Laws that a process keeps, the last ones used: a worker of Spark's that counts strategy after strategy makes them once."""
MAX_TUPLES = 1 << 40
MAX_SUBSCRIPTIONS = 1 << 26
"""Subscriptions are kept as columns in memory, 24 bytes each."""

WIDTH = 0.01
"""Between two bounds, as a share of the range of all values, where nobody says."""
BETWEEN, ABOVE = "b", "a"
"""What stands in the object's place of a pattern where a subscription has two bounds, or a lower one alone."""

Times: TypeAlias = NDArray[np.float64]
Values: TypeAlias = NDArray[np.float64]
"""Numbers from 0 up to and not 1."""


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants of one position, by code: the first 64 bits of their keys, and how many tuples have each.

    ``values`` are the numbers that they are; None where they are not looked at as numbers.
    """

    keys: Words
    facts: Whole
    values: Values | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tuples: a column of codes for each position, and when each is published, in seconds from the beginning."""

    codes: tuple[NDArray[np.integer], ...]
    times: Callable[[], Times]

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.codes[0])

    @property
    def at_s(self) -> Times:
        """When each is published; made when asked for, since few strategies want to know."""
        return self.times()


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Templates: codes of shape (positions, subscriptions), -1 where anything may stand.

    Of a trace, ``kinds`` tells apart what asks for the same constants and differs in what else it asks, and ``rarest`` is the
    anchor that was the rarest when each was posted. They are None where constants are all, and all is known before any is posted.
    ``bounds`` are the least and the greatest value that the object may have, shape (2, subscriptions), infinite for no bound; None
    where nothing has bounds.
    """

    codes: Whole
    kinds: Whole | None = None
    rarest: Whole | None = None
    bounds: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        """How many subscriptions."""
        return int(self.codes.shape[1])

    @property
    def given(self) -> Flags:
        """Where the constants are, shape as the codes'."""
        return self.codes >= 0

    @property
    def bounded(self) -> Flags:
        """Which have bounds."""
        if self.bounds is None:
            return np.zeros(len(self), dtype=bool)
        low, high = np.isfinite(self.bounds)
        found: Flags = low | high
        return found

    def only(self, numbers: Whole) -> Subscriptions:
        """Those of these numbers."""
        kinds, rarest = (None if column is None else column[numbers] for column in (self.kinds, self.rarest))
        return Subscriptions(self.codes[:, numbers], kinds, rarest, None if self.bounds is None else self.bounds[:, numbers])

    def firsts(self, draws: Words, anchors: Whole) -> Whole:
        """One of each that peers keep and match once: equal ones under one key, given their 64 bits and their anchors."""
        if self.kinds is not None:
            draws = scattered(scattered(draws, self.kinds.astype(np.uint64)), anchors.astype(np.uint64))
        return np.unique(draws, return_index=True)[1]


class Workload(Protocol):
    """Tuples by number, and subscriptions that go with them."""

    @property
    def tuples(self) -> int:
        """How many tuples there are."""

    @property
    def seconds(self) -> float:
        """For how long they are published."""

    @property
    def constants(self) -> tuple[Constants, ...]:
        """The constants of each position."""

    def chunk(self, begin: int, count: int) -> Chunk:
        """Tuples ``begin`` to ``begin + count``."""

    def at(self, numbers: Whole) -> Chunk:
        """The tuples of these numbers."""

    def subscriptions(self, count: int, mix: Mix, seed: int) -> Subscriptions:
        """So many subscriptions to such tuples."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Which constants and bounds subscriptions give, and how often each pattern comes; shares add up to 1.

    ``width`` lies between two bounds, as a share of the range of all values.
    """

    shares: tuple[tuple[str, float], ...]
    width: float = WIDTH

    def __str__(self) -> str:
        """As it is written."""
        return ",".join(f"{pattern}={share * 100:g}" for pattern, share in self.shares)

    def given(self, count: int, seed: int) -> Flags:
        """Where so many subscriptions have constants, shape (positions, count)."""
        patterns = np.array([[sign in "spo" for sign in pattern] for pattern, _ in self.shares])
        return np.ascontiguousarray(patterns[self._which(count, seed)].T)

    @property
    def bounded(self) -> bool:
        """Whether any pattern has bounds."""
        return any(pattern[OBJECT] in (BETWEEN, ABOVE) for pattern, _ in self.shares)

    def bounds(self, around: Values, seed: int) -> NDArray[np.float64]:
        """The bounds of subscriptions, shape (2, count), given a value for each that they are to hold; infinite for no bound."""
        signs = np.array([pattern[OBJECT] for pattern, _ in self.shares])[self._which(len(around), seed)]
        low = np.clip(around - self.width / 2, 0, 1 - self.width)
        return np.stack(
            [
                np.where(signs == BETWEEN, low, np.where(signs == ABOVE, around, -np.inf)),
                np.where(signs == BETWEEN, low + self.width, np.inf),
            ]
        )

    def _which(self, count: int, seed: int) -> Whole:
        limits = np.cumsum([share for _, share in self.shares])
        limits[-1] = 1.0
        return np.searchsorted(limits, Stream(seed, "pattern").uniform(0, count), side="right")


_SIGNS = ("s", "p", f"o{BETWEEN}{ABOVE}")


def parse_mix(text: str, *, width: float = WIDTH) -> Mix:
    """The mix that a text says, such as ``?po=50,sp?=30,??b=20``; the numbers are weights. Raises BadParameter.

    In the object's place ``b`` stands for two bounds so far apart, and ``a`` for all values above a bound.
    """
    if not 0 < width < 1:
        raise BadParameter(f"a width of {width:g} between bounds; expected a share of the range of values, such as {WIDTH:g}")
    weights: dict[str, float] = {}
    for part in text.split(","):
        pattern, _, weight = part.strip().partition("=")
        if len(pattern) != ARITY or any(sign not in f"?{known}" for sign, known in zip(pattern, _SIGNS, strict=True)):
            raise BadParameter(f"pattern {pattern!r} of the mix {text!r}: expected three signs such as ?po, s??, spo or ??b")
        if pattern in weights:
            raise BadParameter(f"pattern {pattern!r} is twice in the mix {text!r}; expected each once")
        try:
            weights[pattern] = float(weight)
        except ValueError:
            weights[pattern] = -1.0
        if not 0 < weights[pattern] < 1e9:
            raise BadParameter(f"weight {weight!r} of {pattern!r} in the mix {text!r}: expected a number above 0, as in ?po=50")
    total = sum(weights.values())
    return Mix(tuple((pattern, weight / total) for pattern, weight in weights.items()), width)


COMMON_MIX = parse_mix("?po=40,sp?=25,?p?=15,s??=10,??o=5,s?o=5")
"""Look-ups by attribute and value, of an entity's attribute, of all of an attribute, and of whatever is known of an entity."""


@lru_cache(maxsize=KEPT_LAWS)
def _law(ranks: int, exponent: float) -> Zipf:
    return Zipf(ranks, exponent)


@dataclass(frozen=True)
class Synthetic:
    """Tuples whose constants follow Zipf's law in each position, published as a Poisson process.

    The constants of subscriptions follow the same laws: people ask for what is common. Facts under a constant are those expected.
    Objects are numbers too, in an order that does not follow their ranks; with ``by_rank`` it does, so popular ones are neighbours.
    For ``drift`` of them, and of subscriptions, other constants are common in each hour; an ``adversary`` has objects of its own,
    behind all others, that nobody asks for. Raises BadParameter for numbers that no workload can have.
    """

    tuples: int
    distinct: tuple[int, int, int] = (1_000_000, 1_000, 1_000_000)
    exponents: tuple[float, float, float] = (0.5, 1.0, 1.0)
    seed: int = 1
    seconds: float = DAY_S
    by_rank: bool = False
    drift: float = 0.0
    adversary: Adversary | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be, before anything is made."""
        check_range(self.tuples, 1, MAX_TUPLES, "tuples")
        if not 0 < self.seconds < float("inf"):
            raise BadParameter(f"tuples within {self.seconds:g} s; expected more than 0")
        if self.drift:
            Drift(self.drift, self.seconds)

    def __reduce__(self) -> tuple[type[Synthetic], tuple[object, ...]]:
        """Whoever gets a copy makes the tables again, which is quicker than to carry them."""
        return Synthetic, tuple(getattr(self, each.name) for each in fields(self))

    @cached_property
    def laws(self) -> tuple[Zipf, ...]:
        """The law of each position."""
        return tuple(_law(ranks, exponent) for ranks, exponent in zip(self.distinct, self.exponents, strict=True))

    @cached_property
    def constants(self) -> tuple[Constants, ...]:
        """Each rank's key is a hash of its position and rank; so is the number that an object is, unless it is by rank."""
        ranks = [np.arange(law.ranks, dtype=np.uint64) for law in self.laws]
        facts = self.facts_by(1.0)
        keys = [scattered(ranks[position], position) for position in range(ARITY)]
        values = ranks[OBJECT] / len(ranks[OBJECT]) if self.by_rank else fraction_of(scattered(ranks[OBJECT], ARITY + 1))
        if self.adversary is not None:
            keys[OBJECT] = np.concatenate((keys[OBJECT], self.adversary.keys(self.seed)))
            values = np.concatenate((values, self.adversary.values()))
        return tuple(
            Constants(keys[position], facts[position], values if position == OBJECT else None) for position in range(ARITY)
        )

    def facts_by(self, share: float) -> tuple[Whole, ...]:
        """The facts that each constant would have if all time were as this share of it, from the beginning."""
        chances = [law.chance for law in self.laws]
        if self.drift:
            drift = Drift(self.drift, self.seconds)
            chances = [drift.chances(chance, share * self.seconds) for chance in chances]
        if self.adversary is not None:
            each = self.adversary.share / self.adversary.constants
            chances[OBJECT] = np.append(chances[OBJECT] * (1 - self.adversary.share), np.full(self.adversary.constants, each))
        return tuple(np.rint(chance * self.tuples).astype(np.int64) for chance in chances)

    def chunk(self, begin: int, count: int) -> Chunk:
        """Tuples ``begin`` to ``begin + count``, in no order of time: a Poisson process of known count is so many uniform times."""
        count = max(0, min(count, self.tuples - begin))
        codes = tuple(law.draw(Stream(self.seed, name), begin, count) for name, law in zip(POSITIONS, self.laws, strict=True))
        return self._made(codes, lambda name: Stream(self.seed, name).uniform(begin, count))

    def at(self, numbers: Whole) -> Chunk:
        """The tuples of these numbers."""
        counters = numbers.astype(np.uint64)
        codes = tuple(law.at(Stream(self.seed, name), counters) for name, law in zip(POSITIONS, self.laws, strict=True))
        return self._made(codes, lambda name: fraction_of(Stream(self.seed, name).at(counters)))

    def _made(self, ranks: tuple[Whole, ...], uniform: Callable[[str], NDArray[np.float64]]) -> Chunk:
        """Tuples of such ranks, given their draws by name."""
        codes = self._drifted(ranks, uniform)
        if self.adversary is not None:
            chosen = self.laws[OBJECT].ranks + (uniform("target") * self.adversary.constants).astype(np.int64)
            codes = (*codes[:OBJECT], np.where(uniform("adversary") < self.adversary.share, chosen, codes[OBJECT]))
        return Chunk(codes, lambda: uniform("time") * self.seconds)

    def _drifted(self, ranks: tuple[Whole, ...], uniform: Callable[[str], NDArray[np.float64]]) -> tuple[Whole, ...]:
        if not self.drift:
            return ranks
        drifting, at_s = uniform("drift") < self.drift, uniform("time") * self.seconds
        drift = Drift(self.drift, self.seconds)
        return tuple(drift.moved(column, drifting, at_s, law.ranks) for column, law in zip(ranks, self.laws, strict=True))

    def subscriptions(self, count: int, mix: Mix, seed: int) -> Subscriptions:
        """Constants by the laws, where the mix says, and bounds around such numbers: people ask for what is near to common ones."""
        check_subscriptions(count)
        ranks = tuple(law.draw(Stream(seed, "interest", name), 0, count) for name, law in zip(POSITIONS, self.laws, strict=True))
        drawn = self._drifted(ranks, lambda name: Stream(seed, "interest", name).uniform(0, count))
        asked = Subscriptions(np.where(mix.given(count, seed), np.array(drawn).reshape(ARITY, count), -1))
        values = self.constants[OBJECT].values
        if not mix.bounded or values is None:
            return asked
        bounds = mix.bounds(values[drawn[OBJECT]], seed)
        return replace(asked, bounds=bounds, kinds=np.unique(bounds, axis=1, return_inverse=True)[1].reshape(count))


@dataclass(frozen=True)
class Recorded:
    """Tuples that were read from somewhere, published evenly in their order."""

    codes: tuple[NDArray[np.int32], ...]
    constants: tuple[Constants, ...]
    seconds: float = DAY_S

    @property
    def tuples(self) -> int:
        """How many tuples there are."""
        return len(self.codes[0])

    def chunk(self, begin: int, count: int) -> Chunk:
        """Tuples ``begin`` to ``begin + count``."""
        end = min(self.tuples, begin + count)
        return Chunk(tuple(column[begin:end] for column in self.codes), lambda: self.published_s(np.arange(begin, end)))

    def at(self, numbers: Whole) -> Chunk:
        """The tuples of these numbers."""
        return Chunk(tuple(column[numbers] for column in self.codes), lambda: self.published_s(numbers))

    def facts_by(self, share: float) -> tuple[Whole, ...]:
        """The facts that each constant would have if all tuples were as this share of them, from the beginning; one at least is."""
        first = max(1, int(self.tuples * share))
        beginning = self.only(np.arange(first)).constants
        return tuple(known.facts * self.tuples // first for known in beginning)

    def thinned(self, tuples: int) -> Self:
        """So many of its tuples, evenly from all of it: what comes first in a file is often of one kind. Codes stay."""
        return self.only(np.arange(tuples) * self.tuples // tuples)

    def only(self, numbers: Whole) -> Self:
        """The tuples of these numbers, under the same codes."""
        codes = tuple(column[numbers] for column in self.codes)
        facts = (np.bincount(column, minlength=len(of.keys)) for column, of in zip(codes, self.constants, strict=True))
        constants = tuple(Constants(of.keys, count) for of, count in zip(self.constants, facts, strict=True))
        return replace(self, codes=codes, constants=constants)

    def published_s(self, numbers: Whole) -> Times:
        """When the tuples of these numbers are published."""
        return numbers * np.float64(self.seconds / self.tuples)

    def subscriptions(self, count: int, mix: Mix, seed: int) -> Subscriptions:
        """Constants of tuples chosen at random, where the mix says, so that each is answered by one at the least.

        Raises BadParameter for a mix with bounds.
        """
        return subscriptions_to(self, count, mix, seed)


def subscriptions_to(workload: Workload, count: int, mix: Mix, seed: int) -> Subscriptions:
    """Constants of tuples chosen at random, where the mix says, so that each is answered by one at the least.

    Raises BadParameter for a mix with bounds.
    """
    check_subscriptions(count)
    if mix.bounded:
        raise BadParameter(
            f"the mix {mix} has bounds, and the objects of files and traces are not read as numbers; expected synthetic tuples"
        )
    codes = np.array(workload.at(Stream(seed, "interest").below(workload.tuples, 0, count)).codes, dtype=np.int64)
    return Subscriptions(np.where(mix.given(count, seed), codes, -1))


def three_of(text: str, option: str, number: type[Number]) -> tuple[Number, Number, Number]:
    """The numbers of an option that has one for each position. Raises BadParameter."""
    try:
        one, two, three = map(number, text.split(","))
    except ValueError:
        raise BadParameter(f"{option} {text!r}; expected three numbers between commas, for {', '.join(POSITIONS)}") from None
    return one, two, three


def check_subscriptions(count: int) -> None:
    """Refuse a number of subscriptions that no run can have."""
    check_range(count, 1, MAX_SUBSCRIPTIONS, "subscriptions")


def chunks_of(tuples: int, *, parts: int = 1) -> Iterator[tuple[int, int]]:
    """Where each chunk begins, and how many tuples it has: CHUNK at most, and as many chunks as ``parts`` at least.

    A multiple of ``parts``, all of a size, so that each part has the same work. Fewer tuples than parts are a chunk each.
    """
    number = parts * -(-tuples // (parts * CHUNK))
    for place in range(min(number, tuples)):
        begin, end = (tuples * edge // min(number, tuples) for edge in (place, place + 1))
        yield begin, end - begin
