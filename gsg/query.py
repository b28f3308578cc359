"""A standing query, whatever language it was written in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import rete

from .errors import BadQuery


@dataclass(frozen=True, slots=True)
class Query:
    """What the languages translate to: a group of conditions, and the variables whose values make a row."""

    group: rete.Group
    select: tuple[str, ...]

    @classmethod
    def selecting_all(cls, group: rete.Group) -> Query:
        """A query whose rows bind every variable of the conditions outside NOT, in order of appearance.

        Raises BadQuery when the group cannot be built into a network, so that a mistake shows before anything is applied.
        """
        with refusing_bad_queries():
            rete.chain_of(group, lambda _: 0)
        return cls(group, group.variables())


class refusing_bad_queries:  # noqa: N801  # reads as a phrase in a with statement
    """Turns the matcher's refusal into ours: callers see one family of exceptions."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, rete.BadQuery):
            raise BadQuery(str(error)) from None


def templates(query: Query) -> Iterator[rete.AnyTemplate]:
    """The distinct templates of the query's conditions: its alpha memories."""
    return iter(dict.fromkeys(condition.template for condition in query.group.every_condition()))
