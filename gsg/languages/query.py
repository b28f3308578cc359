"""A standing query, whatever language it was written in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import rete
from rete import algebra
from rete.compile.cross_products import cross_products
from rete.production import ChainEnd, Listener

from ..errors import BadQuery, LocalError, TooManyTokens
from ..tuples.terms import Term
from .result_form import ResultForm

MAX_TOKENS = 1_000_000
"""Tokens that a subscription may hold, the rows of its answer included, where it does not say; beyond, it ends alone."""


LARGE = 2 * rete.MAX_CONDITIONS
"""Conditions of a query, those of all its groups, whose network is built while others wait: some 25 ms."""


@dataclass(frozen=True, slots=True)
class Query:
    """What the languages translate to: a group of conditions or a tree of operators, and the variables whose values make a row.

    A query that was made from a template, which it shares with others, has the constants that were taken out as its ``arguments``;
    ``body`` then holds a :class:`rete.Parameter` where each was.
    """

    body: rete.Group | algebra.Algebra
    select: tuple[str, ...]
    arguments: tuple[Term, ...] = ()
    result: ResultForm | None = None
    """What is made of its rows, of one that is asked once."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever wrote it should know."""
        unbound = _unbound(self.body)
        if not cross_products_of(self.body):
            return unbound
        from .notation import part_text

        return unbound + tuple(
            f"cross product: {part_text(one)} and {part_text(other)} share no variable, so each solution of one is joined with "
            "each of the other"
            for one, other in cross_products_of(self.bound().body)
        )

    def bound(self) -> Query:
        """The same query with its constants put back."""
        return replace(self, body=rete.bound(self.body, self.arguments), arguments=()) if self.arguments else self

    def bound_at(self, numbers: frozenset[int]) -> Query:
        """The same query with these of its constants put back."""
        kept = [number for number in range(len(self.arguments)) if number not in numbers]
        place = {number: rete.Parameter(at) for at, number in enumerate(kept)}
        fillers = tuple([place.get(number, argument) for number, argument in enumerate(self.arguments)])
        return replace(self, body=rete.bound(self.body, fillers), arguments=tuple([self.arguments[number] for number in kept]))

    @classmethod
    def selecting_all(cls, group: rete.Group) -> Query:
        """A query whose rows bind every variable of the conditions outside NOT, in order of appearance.

        Raises BadQuery when the group cannot be built into a network, so that a mistake shows before anything is applied.
        """
        with refusing_bad_queries():
            rete.chain_of(group, lambda _: 0)
        return cls(group, group.variables())

    @classmethod
    def of_tree(cls, tree: algebra.Algebra, select: tuple[str, ...], result: ResultForm | None = None) -> Query:
        """A query that is a tree of operators; names of ``select`` that it leaves unbound are missing in a row.

        Raises BadQuery like :meth:`selecting_all`.
        """
        made = cls(tree, select, result=result)
        alphas(made)
        return made


@lru_cache(maxsize=1024)
def cross_products_of(body: rete.Group | algebra.Algebra) -> tuple[tuple[rete.Condition | algebra.Algebra, ...], ...]:
    """Parts of a query that share no variable with the others (:func:`rete.compile.cross_products.cross_products`)."""
    return tuple(cross_products(body))


@lru_cache(maxsize=1024)
def _unbound(body: rete.Group | algebra.Algebra) -> tuple[str, ...]:
    if isinstance(body, rete.Group):
        return ()  # it has no expressions
    from .unbound_names import unbound_names

    return unbound_names(body)


class refusing_bad_queries:  # noqa: N801  # reads as a phrase in a with statement
    """Turns the matcher's refusal into ours: callers see one family of exceptions."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, rete.BadQuery):
            raise BadQuery(str(error)) from None
        if isinstance(error, rete.TooManyTokens) and not isinstance(error, rete.TakesLong):
            raise too_many_tokens(error) from None


def too_many_tokens(error: rete.TooManyTokens) -> TooManyTokens:
    """The matcher's error as ours, in words."""
    from .notation import node_text

    where = "" if error.at is None else f" at {node_text(error.at)}"
    if isinstance(error, rete.TooManySteps):
        problem = (
            f"the subscription would make {error.tokens:,} steps at once{where}, most of them for nothing; at most {error.limit:,} "
            "are allowed: add conditions that share variables (gsg explain shows the order of its joins), or subscribe with a "
            "larger max_tokens (--max-tokens), half of which are steps that may be for nothing"
        )
        return TooManyTokens(problem, tokens=error.tokens, limit=error.limit)
    return TooManyTokens(
        f"the subscription would hold {error.tokens:,} tokens{where}; at most {error.limit:,} are allowed: add conditions that "
        "share variables (gsg explain shows the order of its joins), or subscribe with a larger max_tokens (--max-tokens)",
        tokens=error.tokens,
        limit=error.limit,
    )


def enter(
    network: rete.Network,
    query: Query,
    listener: Listener,
    *,
    max_tokens: int = rete.UNLIMITED,
    at_once: int = rete.UNLIMITED,
) -> ChainEnd:
    """Add a query without arguments to a network. Raises BadQuery and TooManyTokens, and rete.TakesLong."""
    with refusing_bad_queries():
        return network.subscribe(query.body, query.select, listener, max_tokens=max_tokens, at_once=at_once)


def check_max_tokens(max_tokens: int) -> int:
    """The cap, if it is one. Raises LocalError."""
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or max_tokens < 1:
        raise LocalError(f"max_tokens={max_tokens!r}; expected at least 1, as a whole number")
    return max_tokens


def is_large(query: Query) -> bool:
    """Whether it takes long to find out what a query consists of, and to build that. Of a group that is bounded."""
    return not isinstance(query.body, rete.Group) and sum(1 for _ in rete.conditions_of(query.body)) > LARGE


def alphas(query: Query) -> list[rete.AlphaSpec]:
    """The definitions of the query's alpha memories, each once. Raises BadQuery."""
    query = query.bound()
    plain = rete.memories_of(query.body, query.select)
    if plain is not None:
        return plain
    # Operators decide what they look up (a path its edges, or all facts): a network without facts tells.
    empty = rete.Network(lambda _: (), is_hollow=True)
    enter(empty, query, lambda _: None)
    return empty.alphas()
