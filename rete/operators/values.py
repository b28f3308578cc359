"""VALUES: inline rows, joined with the tokens above them (at the top: with the one empty token). Nothing is kept but the rows.

Rows are found by those of their names that tokens bind, where every row has them all as constants; else all rows are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from ..conditions import Parameter
from ..index import Token
from .join import Node
from .operator import Operator

_Rows = list[tuple[tuple[Any, ...], Token]]  # Any: constants are opaque


class InlineRows(Operator):
    """Append the ``new`` columns of each row whose ``shared`` columns agree with the token's; None agrees with anything."""

    __slots__ = ("_arguments", "_by_key", "_places", "_rows")

    remembers: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = True

    def __init__(
        self,
        parent: Node,
        rows: tuple[tuple[Any, ...], ...],
        shared: tuple[tuple[int, int], ...],
        new: tuple[int, ...],
        arguments: tuple[tuple[Parameter, int], ...] = (),
    ) -> None:
        """``shared`` are pairs of a place in the token (surely bound) and one in the row; ``new`` places of the row; ``arguments``
        the parameters that stand in rows, each with its place in the token."""
        super().__init__(parent)
        self._places = tuple(place for place, _ in shared)
        self._rows: _Rows = [(tuple(row[place] for _, place in shared), tuple(row[place] for place in new)) for row in rows]
        self._arguments = arguments
        self._by_key: dict[tuple[Any, ...], _Rows] | None = None
        if not arguments and all(value is not None for row_key, _ in self._rows for value in row_key):
            self._by_key = {}
            for entry in self._rows:
                self._by_key.setdefault(entry[0], []).append(entry)
        self.connect((parent, self))

    def _extensions(self, token: Token, look: Callable[[int], None]) -> Iterator[Token]:
        mine = tuple(token[place] for place in self._places)
        if self._by_key is not None:
            found = self._by_key.get(mine, ())
            look(len(found))
            for _, extension in found:
                yield extension
            return
        look(len(self._rows))
        for key, extension in self._with_arguments(token) if self._arguments else self._rows:
            if all(value is None or value == wanted for value, wanted in zip(key, mine, strict=True)):
                yield extension

    def _with_arguments(self, token: Token) -> _Rows:
        given = {parameter: token[place] for parameter, place in self._arguments}
        return [tuple(tuple([given.get(value, value) for value in part]) for part in row) for row in self._rows]  # type: ignore[misc]

    def left(self, token: Token, weight: int) -> None:
        for extension in self._extensions(token, self.count_steps):
            self.emit(token + extension, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, weight in self.owner.replay():
            for extension in self._extensions(token, partial(self.caps.effort.count_looks, self)):
                yield token + extension, weight
