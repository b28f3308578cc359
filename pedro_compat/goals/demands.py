"""What a subscription demands of a notification, so that a look-up finds it, without trying (:mod:`gsg.rendezvous.demands`).

A constant of the head must stand where it stands there, also inside compounds and lists: ``bid(lot(123),P)`` demands ``lot`` and
123, and an argument without variables, however large, as one constant. So must one that the goal asks for in every solution:
``X = kitchen``, ``member(X, [a,b])`` and ``member(type = T, L)`` demand something at the places that the head gives X and L. Of two
alternatives, what both demand at the same place.

Demanding too little costs time, demanding too much would lose notifications: whatever is not understood here demands nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gsg.rendezvous.demands import MAX_CONSTANTS, MAX_STEPS, MEMBER, WHOLE, Demand, Path
from gsg.tuples.terms import MAX_ARITY, Symbol
from gsg.tuples.terms import Term as GsgTerm

from ..terms.terms import COMMA, CONS, NIL, Term, Var, is_cons, text_of
from ..terms.tuples import to_tuple

MAX_DEMANDS = 16
"""So many are looked at, the first ones."""
MAX_GOALS = 64
"""So many goals of a conjunction are looked at."""
MAX_NESTING = 60
"""Deepest argument that is demanded as one constant: what a tuple nests deeper than 64 levels stands there in another form."""
MAX_ALTERNATIVES = 8
"""Deepest nesting of alternatives that is looked into."""

Places: TypeAlias = "dict[Var, list[Path]]"
"""Where variables stand."""
_Found: TypeAlias = "dict[Path, frozenset[GsgTerm]]"
_ROOT: Path = ()


def demands_of(head: Term, body: Term, places: Places | None = None) -> tuple[Demand, ...]:
    """The demands of a subscription. ``places``, where it is given, is told where the head has its variables, but for those inside
    lists, which stand at no one place."""
    places = {} if places is None else places
    found: _Found = {}
    for path, constant in _constants(head, _ROOT, places):
        found.setdefault(path, frozenset((constant,)))
    for path, constants in _of_goal(body, places, 0).items():
        found[path] = _both(found[path], constants) if path in found else constants
    made = [Demand(path, tuple(constants)) for path, constants in found.items() if len(constants) <= MAX_CONSTANTS]
    return tuple(made[:MAX_DEMANDS])


def _both(some: frozenset[GsgTerm], others: frozenset[GsgTerm]) -> frozenset[GsgTerm]:
    # Along a path through a list each may be another item's: either of them will do.
    return min(some, others, key=len)


def _constants(term: Term, base: Path, places: Places | None) -> Iterator[tuple[Path, GsgTerm]]:
    """The constants inside a term that stands at ``base``; where its variables stand is added to ``places``."""
    pending: list[tuple[Term, Path]] = [(term, base)]
    while pending:
        item, path = pending.pop()
        if type(item) is tuple and len(path) == 1:
            whole = _whole(item)
            if whole is not None:
                yield (*path, WHOLE), whole
        if type(item) is Var:
            if places is not None:
                places.setdefault(item, []).append(path)
        elif type(item) is tuple:
            if is_cons(item):
                inside = _members(path)
                # A list is read as far as a demand may be made of it; one item of it suffices.
                for _ in range(MAX_DEMANDS):
                    if not (type(item) is tuple and is_cons(item)) or len(inside) > MAX_STEPS:
                        break
                    # Variables of an item stand at no one place.
                    if type(item[1]) is not Var:
                        yield from _constants(item[1], inside, None)
                    item = item[2]
            elif len(path) < MAX_STEPS and _is_plain(item, path):
                functor = item[0]
                assert type(functor) is str
                yield (*path, 0), Symbol(text_of(functor))
                pending.extend((argument, (*path, place)) for place, argument in reversed(list(enumerate(item[1:], 1))))
        else:
            constant = _constant(item)
            if constant is not None:
                # An atom that is the whole notification is the tuple of itself.
                yield path or (0,), constant


def _members(path: Path) -> Path:
    """Where the items of a list are that stands at ``path``: a whole notification that is a list is the tuple of itself."""
    return (*path, MEMBER) if path else (0, MEMBER)


def _is_plain(compound: tuple[Term, ...], path: Path) -> bool:
    """Whether the compound is a tuple of its functor and arguments in the space, and stands for nothing else (tuples.py)."""
    functor = compound[0]
    assert type(functor) is str
    return not functor.startswith("'$") and (bool(path) or len(compound) <= MAX_ARITY)


def _constant(term: Term) -> GsgTerm | None:
    """The constant of the space that a constant is; None for zero: 0.0 and -0.0 unify, and are two terms there."""
    if type(term) is float and term == 0:
        return None
    if type(term) is str or type(term) is bytes or type(term) is int or type(term) is float:
        return to_tuple(("f", term))[1]
    return None


def _whole(term: Term) -> GsgTerm | None:
    """The constant of the space that an argument is as a whole; None where it equals something that is written otherwise there."""
    pending: list[tuple[Term, int]] = [(term, 0)]
    while pending:
        item, depth = pending.pop()
        if type(item) is tuple:
            if depth > MAX_NESTING:
                return None
            # A list nests in its tails, and stands in a tuple as one level.
            if is_cons(item):
                while type(item) is tuple and is_cons(item):
                    pending.append((item[1], depth + 1))
                    item = item[2]
                if item != NIL:
                    return None
            elif not _is_plain(item, (0,)):
                return None
            else:
                pending.extend((argument, depth + 1) for argument in item[1:])
        elif _constant(item) is None:
            return None
    return to_tuple(("f", term))[1]


def _of_goal(goal: Term, places: Places, depth: int) -> _Found:
    """What every solution of a goal demands."""
    found: _Found = {}
    for item in conjuncts(goal):
        for path, constants in _of_simple(item, places, depth):
            found[path] = _both(found[path], constants) if path in found else constants
    return found


def conjuncts(goal: Term) -> Iterator[tuple[Term, ...]]:
    """The goals that hold in every solution of one: of those that have arguments, the first ones of MAX_GOALS in all."""
    pending = [goal]
    for _ in range(MAX_GOALS):
        if not pending:
            break
        item = pending.pop()
        if type(item) is not tuple:
            continue
        if len(item) == 2 and item[0] == "once":
            pending.append(item[1])
        elif len(item) == 3 and item[0] == COMMA:
            pending += (item[2], item[1])
        else:
            yield item


def _of_simple(goal: tuple[Term, ...], places: Places, depth: int) -> Iterator[tuple[Path, frozenset[GsgTerm]]]:
    if len(goal) != 3:
        return
    name, left, right = goal
    if name == "=":
        for variable, value in ((left, right), (right, left)):
            for path in _places_of(variable, places):
                yield from _single(value, path)
    elif name == "member":
        for path in _places_of(right, places):
            if len(path) < MAX_STEPS:
                yield from _single(left, _members(path))
        wanted = _choice(right)
        if wanted is not None:
            for path in _places_of(left, places):
                yield path or (0,), wanted
    elif name == ";" and depth < MAX_ALTERNATIVES:
        if type(left) is tuple and len(left) == 3 and left[0] == "->":
            left = (COMMA, left[1], left[2])
        first, second = _of_goal(left, places, depth + 1), _of_goal(right, places, depth + 1)
        for path, constants in first.items():
            if path in second:
                yield path, constants | second[path]


def _places_of(term: Term, places: Places) -> list[Path]:
    return places.get(term, []) if type(term) is Var else []


def _single(term: Term, path: Path) -> Iterator[tuple[Path, frozenset[GsgTerm]]]:
    for place, constant in _constants(term, path, None):
        yield place, frozenset((constant,))


def _choice(members: Term) -> frozenset[GsgTerm] | None:
    """The constants that a list offers; None where it may offer something else."""
    chosen: set[GsgTerm] = set()
    for _ in range(MAX_CONSTANTS):
        if not (type(members) is tuple and len(members) == 3 and members[0] == CONS):
            break
        constant = _constant(members[1])
        if constant is None:
            return None
        chosen.add(constant)
        members = members[2]
    # A variable for a tail just ends the list; one that the head binds may go on.
    return frozenset(chosen) if type(members) is str and chosen else None
