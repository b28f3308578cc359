"""From a term to a line: canonical form, every operator as ``+(1,2)``, so that it reads back the same in both dialects.

One term has no line in 1.14: an argument that is the atom ``-``, which that server does not read.
"""

from __future__ import annotations

import math
import re

from .terms import CONS, NIL, Frozen, Term, Var, is_cons

_VARIABLE = re.compile(r"_?[A-Z][A-Za-z0-9_]*|_[A-Za-z0-9_]+")


class Names:
    """Names for the variables of one term: their own where those are names and distinct, else fresh ones."""

    def __init__(self) -> None:
        self._given: dict[Var | Frozen, str] = {}
        self._taken: set[str] = set()

    def name_of(self, variable: Var | Frozen) -> str:
        """The name of a variable, always the same and no other's."""
        name = self._given.get(variable)
        if name is None:
            name = self._wanted(variable)
            number = len(self._taken)
            while name in self._taken:
                name = f"_{number}"
                number += 1
            self._given[variable] = name
            self._taken.add(name)
        return name

    def _wanted(self, variable: Var | Frozen) -> str:
        return variable.name if _VARIABLE.fullmatch(variable.name) else f"_{len(self._given)}"


class NumberedNames(Names):
    """``V0``, ``V1``, ... in order of appearance: terms that differ by names only are written alike."""

    def _wanted(self, variable: Var | Frozen) -> str:
        return f"V{len(self._given)}"


class _Text:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


_COMMA, _BAR, _CLOSE, _CLOSE_LIST = _Text(","), _Text("|"), _Text(")"), _Text("]")


def write(term: Term, names: Names | None = None) -> str:
    """The line for a term, without a newline; bound variables are written as what they are bound to."""
    names = names or Names()
    pieces: list[str] = []
    pending: list[Term | _Text] = [term]
    while pending:
        item = pending.pop()
        while type(item) is Var and item.ref is not None:
            item = item.ref
        if type(item) is _Text:
            pieces.append(item.text)
        elif type(item) is str:
            pieces.append(item)
        elif type(item) is bytes:
            pieces.append('"' + item.decode(errors="replace") + '"')
        elif type(item) is int:
            pieces.append(str(item))
        elif type(item) is float:
            # No literal stands for infinity, but one that is too large reads as it.
            pieces.append(repr(item) if math.isfinite(item) else "1e999" if item > 0 else "-1e999")
        elif type(item) is Var or type(item) is Frozen:
            pieces.append(names.name_of(item))
        elif type(item) is tuple:
            if is_cons(item):
                pieces.append("[")
                pending.extend(reversed(_list_parts(item)))
            else:
                functor = item[0]
                assert type(functor) is str
                pieces.append(functor + "(")
                parts: list[Term | _Text] = []
                for argument in item[1:]:
                    parts += (argument, _COMMA)
                parts[-1] = _CLOSE
                pending.extend(reversed(parts))
    return "".join(pieces)


def _list_parts(cell: Term) -> list[Term | _Text]:
    parts: list[Term | _Text] = []
    while type(cell) is tuple and len(cell) == 3 and cell[0] == CONS:
        parts += (cell[1], _COMMA)
        cell = cell[2]
        while type(cell) is Var and cell.ref is not None:
            cell = cell.ref
    if cell == NIL and type(cell) is str:
        parts.pop()
    else:
        parts[-1] = _BAR
        parts.append(cell)
    parts.append(_CLOSE_LIST)
    return parts
