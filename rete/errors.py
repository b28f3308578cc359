"""The errors of the matcher.

ReteError
├── BadQuery        a query that can have no meaning here: it says which part, and what is expected
└── TooManyTokens   a query holds more than it may
    └── TooManySteps    a query looks at more combinations at once than it may
        └── TakesLong       a query that was to be entered at once takes longer, and may be entered where nobody waits
"""

from __future__ import annotations


class ReteError(Exception):
    """Anything that this package raises on purpose."""


class BadQuery(ReteError):
    """A query that cannot be built into a network."""


class TooManyTokens(ReteError):
    """A query would hold more tokens, rows of its answer included, than it may.

    Attributes: ``tokens`` (when it was noticed), ``limit``, and the node ``at`` which it happened (None: the rows themselves,
    or the whole of a network that many queries share).
    """

    def __init__(self, tokens: int, limit: int, at: object) -> None:
        self.tokens = tokens
        self.limit = limit
        self.at = at
        super().__init__(f"{tokens:,} {self.unit}; at most {limit:,} are allowed")

    @property
    def unit(self) -> str:
        """What there would be too many of."""
        return "tokens"


class TooManySteps(TooManyTokens):
    """A query would look at more combinations of tokens and facts at once than it may (:mod:`rete.effort`): ``tokens`` says at how
    many."""

    @property
    def unit(self) -> str:
        return "steps"


class TakesLong(TooManySteps):
    """A query would take more steps to enter than whoever entered it wanted to wait for: nothing of it is left, and it may well be
    entered with more patience (:meth:`rete.Network.subscribe`)."""
