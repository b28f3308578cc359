"""The names of a program: which are taken, and where the variable of a name is."""

from __future__ import annotations

from typing import Final

from ...languages.bad_text import Mistake
from ..languages.predicate import word
from ..languages.syntax import Atom, Form, Kind, Node
from .operations import OPERATORS, WITH_LITERALS

EACH: Final = {"map": 2, "filter": 2, "find": 2, "any?": 2, "all?": 2, "fold": 3}
"""Forms that call a function for each item of a list: a function, fold's initial value, a list. (sort list [f]) is the other."""
CONTROL: Final = ("let", "let*", "lambda", "set!", "if", "cond", "and", "or", "while", "do", "define", "sort")
RESERVED: Final = frozenset((*OPERATORS, *EACH, *WITH_LITERALS, *CONTROL, "else", "state", "on", "agent"))
"""No names of variables."""
CONSTANTS: Final = {"true": True, "false": False, "null": None}


class Names:
    """The variables of a scope, and those around it. The outermost is the agent's own."""

    def __init__(self, around: Names | None = None) -> None:
        self.around = around
        self._index: dict[str, int] = {}

    def declare(self, atom: Atom) -> int:
        """A variable's index. Raises Mistake for a name that is taken in this scope, or an operator's."""
        name = str(atom.value)
        if name in RESERVED:
            raise Mistake(atom.start, f"{name!r} is an operator; expected another name for a variable")
        if name in self._index:
            raise Mistake(atom.start, f"{name!r} is declared twice; expected another name")
        index = len(self._index) + (0 if self.around is None else 1)
        self._index[name] = index
        return index

    def find(self, name: str) -> tuple[int, int] | None:
        """How many scopes further out a variable is, and its index there; -1 for one of the agent's own."""
        hops, names = 0, self
        while True:
            index = names._index.get(name)
            if names.around is None:
                return None if index is None else (-1, index)
            if index is not None:
                return hops, index
            hops, names = hops + 1, names.around

    def all(self) -> list[str]:
        """All that can be named here."""
        return [*self._index, *(self.around.all() if self.around else ())]

    def __len__(self) -> int:
        return len(self._index)


def name_of(node: Node) -> Atom:
    """A node that is a name. Raises Mistake."""
    if isinstance(node, Atom) and node.kind is Kind.SYMBOL and not (node.bare and node.value in CONSTANTS):
        return node
    what = "a list" if isinstance(node, Form) else str(node.value) if node.kind is Kind.SYMBOL else word(node.value)
    raise Mistake(node.start, f"{what} is no name of a variable; expected one, such as count")
