"""The propositional language: which fields an event has, at its top level, whatever their values.

    proposition := name | (and proposition...) | (or proposition...)

``userid`` is met by each event with such a field (Filman and Lee, section "Subscription languages"). The result is a condition of
the predicate language, of ``exists`` alone.
"""

from __future__ import annotations

from ...languages.bad_text import Mistake, bad_text
from .expressions import Condition, Exists, Field
from .predicate import all_of, any_of, did_you_mean
from .syntax import Atom, Kind, Node, read


def parse(text: str) -> Condition:
    """The condition of a text. Raises BadText."""
    try:
        return _proposition(read(text))
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what="proposition") from None


def _proposition(node: Node) -> Condition:
    if isinstance(node, Atom):
        if node.kind is not Kind.SYMBOL:
            raise Mistake(node.start, f"{node.value!r} is {node.kind.value}; expected the name of a field, without quotes")
        if not node.value:
            raise Mistake(node.start, "a name without characters; expected the name of a field")
        return Exists(Field((str(node.value),)))
    if node.operator not in ("and", "or"):
        hint = did_you_mean(str(node.operator), ["and", "or"])
        raise Mistake(
            node.start,
            f"{node.operator or 'a list'!r} is not of this language{hint}; "
            "expected (and ...) or (or ...): the predicate language has more",
        )
    parts = [_proposition(item) for item in node.items[1:]]
    if not parts:
        raise Mistake(node.start, f"({node.operator}) of nothing; expected names of fields")
    return all_of(parts) if node.operator == "and" else any_of(parts)
