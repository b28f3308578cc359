"""Unification with the occurs check, the trail that undoes it, and the budget that bounds it.

A variable is bound in place and noted on the trail; :meth:`Work.undo` takes bindings back. Terms are walked with a stack of our
own. Whatever walks a term pays one step for each pair of subterms from the budget of the evaluation, because terms that share
subterms are trees of exponential size to whoever walks them.
"""

from __future__ import annotations

from .terms import Term, Var

MAX_STEPS = 50_000
"""Steps that one evaluation may take: a few dozen milliseconds. Beyond, the match fails and is counted as exhausted."""

BYTES_PER_STEP = 1024
"""Comparing or copying a text costs one step for each of these."""


class Exhausted(Exception):
    """The evaluation would take more steps than are allowed, and its work has less than none left; or larger numbers."""


class TypeFault(Exception):
    """A goal met a term of the wrong kind: the whole match fails (manual 5, on type errors)."""


class Work:
    """The state of one evaluation at a time: its trail and what is left of its budget."""

    __slots__ = ("steps", "trail")

    def __init__(self) -> None:
        self.trail: list[Var] = []
        self.steps = MAX_STEPS

    def spend(self, steps: int) -> None:
        """Take steps from the budget. Raises Exhausted."""
        self.steps -= steps
        if self.steps < 0:
            raise Exhausted

    def undo(self, height: int) -> None:
        """Unbind what was bound since the trail had this height."""
        trail = self.trail
        while len(trail) > height:
            trail.pop().ref = None

    def bind(self, variable: Var, term: Term) -> None:
        """Bind an unbound variable, without the occurs check."""
        variable.ref = term
        self.trail.append(variable)


def dereferenced(term: Term) -> Term:
    """What the term stands for: itself, or what a variable is bound to in the end."""
    while type(term) is Var:
        if term.ref is None:
            return term
        term = term.ref
    return term


def unify(left: Term, right: Term, work: Work) -> bool:
    """Make two terms equal by binding variables; on failure the caller undoes the trail. Raises Exhausted."""
    waiting: list[Term] = []
    steps = work.steps
    while True:
        steps -= 1
        if steps < 0:
            work.steps = steps
            raise Exhausted
        while type(left) is Var and left.ref is not None:
            left = left.ref
        while type(right) is Var and right.ref is not None:
            right = right.ref
        if left is right:
            pass
        elif type(left) is Var or type(right) is Var:
            if type(left) is not Var:
                left, right = right, left
            assert type(left) is Var
            if type(right) is tuple:
                work.steps = steps
                if occurs(left, right, work):
                    return False
                steps = work.steps
            left.ref = right
            work.trail.append(left)
        elif type(left) is not type(right):
            break
        elif type(left) is tuple:
            assert type(right) is tuple
            if len(left) != len(right) or left[0] != right[0]:
                break
            for position in range(len(left) - 1, 1, -1):
                waiting.append(left[position])
                waiting.append(right[position])
            left, right = left[1], right[1]
            continue
        else:
            if type(left) is bytes or type(left) is str:
                steps -= len(left) // BYTES_PER_STEP
            if left != right:
                break
        if not waiting:
            work.steps = steps
            return True
        right = waiting.pop()
        left = waiting.pop()
    # What failed late was walked as well: a goal may fail so again and again.
    work.steps = steps
    return False


def occurs(variable: Var | None, term: Term, work: Work) -> bool:
    """Whether an unbound variable, or any one where None is given, occurs in the term; frozen ones do not count.

    Raises Exhausted.
    """
    waiting = [term]
    steps = work.steps
    while waiting:
        steps -= 1
        if steps < 0:
            work.steps = steps
            raise Exhausted
        item = waiting.pop()
        while type(item) is Var and item.ref is not None:
            item = item.ref
        if type(item) is tuple:
            waiting.extend(item[1:])
        elif type(item) is Var and (item is variable or variable is None):
            work.steps = steps
            return True
    work.steps = steps
    return False
