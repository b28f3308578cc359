"""Covering: whether a subscription wants a notification (paper 3.3): ``T = N, Q`` succeeds.

A head is taken apart once, by argument: constants are compared, the first occurrence of a variable is bound without the occurs
check (nothing can contain it yet), the rest is unified. A body is compiled by :mod:`.goals`. After each test all bindings are
undone, so subscriptions and notifications are used again and again, by one thread.

:func:`compile_test` is how a rendezvous peer gets here: from a text that says everything, to a function.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import ClassVar

from gsg.errors import BadTerm
from gsg.tuples.features import Template
from gsg.tuples.terms import MAX_ARITY, Symbol, Tuple
from gsg.wire.status_messages import Count

from ..dialect import DIALECTS, PAPER, Dialect
from ..errors import SHOWN_CHARACTERS, BadLine, BadSubscription
from ..terms.syntax import MAX_TOKENS, has_too_many_tokens, parse
from ..terms.terms import Compound, Term, Var, is_cons, text_of
from ..terms.tuples import from_tuple
from ..terms.unification import MAX_STEPS, Exhausted, TypeFault, Work, unify
from ..terms.writing import NumberedNames, write
from .bounds import bounds_of
from .demands import Places, demands_of
from .failures import Failures
from .goals import TEST, Instruction, Test, compile_goal, solve

COMMANDS = frozenset(("subscribe", "unsubscribe", "register", "deregister", "p2pmsg"))
"""Functors of commands in any arity: never notifications, also where another door made the tuple."""


TEST_NAME = "pedro"
"""The name under which rendezvous peers find :func:`compile_test`."""
SOURCE_TOKENS = 3 * MAX_TOKENS
"""Canonical form has at most 5 tokens where a line has 2: one operator more, ``:a``, is ``:(``, ``,a)`` there."""


class Subscription:
    """A head and a body, ready to be tested.

    ``failures`` counts, for all subscriptions of the process, the tests that failed because a goal met a term of the wrong kind or
    needed too many steps.
    """

    failures: ClassVar[Failures] = Failures(time.monotonic)

    def __init__(self, head: Term, body: Term, dialect: Dialect) -> None:
        self.head = head
        self.body = body
        self.dialect = dialect
        self.work = Work()
        """Of the last test: what it left of its steps."""
        code = compile_goal(body, dialect, self.work)
        self._code: list[Instruction] = code
        self._tests: list[Test] | None = [test for _, test in code] if all(what == TEST for what, _ in code) else None
        self._shape: tuple[Term, int] | None = (head[0], len(head)) if type(head) is tuple else None
        self._arguments: list[tuple[int, Term]] = []
        self._firsts: list[tuple[int, Var]] = []
        self._constants: list[tuple[int, type, Term]] = []
        if type(head) is tuple:
            self._take_apart(head)

    def _take_apart(self, head: tuple[Term, ...]) -> None:
        uses = _uses(("covers", head, self.body))
        seen: set[Var] = set()
        for position, argument in enumerate(head[1:], start=1):
            if type(argument) is Var:
                if uses[argument] == 1:
                    continue
                if argument not in seen:
                    seen.add(argument)
                    self._firsts.append((position, argument))
                    continue
            elif type(argument) is not tuple:
                self._constants.append((position, type(argument), argument))
                continue
            self._arguments.append((position, argument))

    def covers(self, term: Term) -> bool:
        """Whether the notification unifies with the head and the body then holds, in at most MAX_STEPS."""
        shape = self._shape
        if shape is not None and (type(term) is not tuple or term[0] != shape[0] or len(term) != shape[1]):
            return False
        work = self.work
        work.steps = MAX_STEPS
        try:
            if shape is None:
                if not self._whole_unifies(term, work):
                    return False
            elif not self._arguments_unify(term, work):  # type: ignore[arg-type]  # the shape says that it is a compound
                return False
            if self._tests is None:
                return solve(self._code, work)
            for test in self._tests:  # noqa: SIM110  # all() and its generator take as long as a test
                if not test():
                    return False
            return True
        except TypeFault:
            self.failures.type_faults += 1
            return False
        except Exhausted:
            self.failures.count_exhausted(self.source)
            return False
        finally:
            if work.trail:
                work.undo(0)
            for _, variable in self._firsts:
                variable.ref = None

    def _whole_unifies(self, term: Term, work: Work) -> bool:
        if type(self.head) is Var:
            work.bind(self.head, term)
            return True
        return unify(self.head, term, work)

    def _arguments_unify(self, term: Compound, work: Work) -> bool:
        for position, kind, value in self._constants:
            found = term[position]
            if type(found) is not kind:
                if type(found) is not Var or not unify(found, value, work):
                    return False
            elif found != value:
                return False
        for position, variable in self._firsts:
            variable.ref = term[position]
        for position, argument in self._arguments:  # noqa: SIM110  # as in covers()
            if not unify(argument, term[position], work):
                return False
        return True

    def source(self) -> str:
        """The text from which :func:`compile_test` makes this test: the same one whatever the variables are called."""
        return f"{self.dialect.name} {write(('covers', self.head, self.body), NumberedNames())}"


def _uses(term: Term) -> dict[Var, int]:
    counts: dict[Var, int] = {}
    pending = [term]
    while pending:
        item = pending.pop()
        if type(item) is Var:
            counts[item] = counts.get(item, 0) + 1
        elif type(item) is tuple:
            pending.extend(item[1:])
    return counts


def compile_subscription(head: Term, body: Term, dialect: Dialect = PAPER) -> Subscription:
    """A subscription from its head and body.

    Raises BadSubscription for a goal that the dialect does not have and for a head that no notification is: a number, a string,
    and a list where lists are none.
    """
    if type(head) is not str and type(head) is not Var and type(head) is not tuple:
        raise BadSubscription(
            f"the head {write(head)[:SHOWN_CHARACTERS]} is no notification; expected an atom, a compound or a variable"
        )
    if is_cons(head) and not dialect.lists_are_notifications:
        raise BadSubscription(f"the head is a list, which is no notification in Pedro {dialect.name}; put it inside a compound")
    return Subscription(head, body, dialect)


def template(subscription: Subscription) -> Template | None:
    """What every tuple has that the subscription covers: its functor and arity.

    ``None`` where no constant of the tuple is known: a head that is a variable, a list, or a stand-in such as ``'$iri'(X)``.
    """
    head = subscription.head
    if type(head) is str:
        return _template(head, 1)
    if type(head) is not tuple or is_cons(head) or len(head) > MAX_ARITY:
        return None
    functor = head[0]
    assert type(functor) is str
    # '$iri'(X) and its like: their tuples do not begin with that symbol (tuples.py).
    if functor.startswith("'$"):
        return None
    return _template(functor, len(head)) if len(functor) <= SHORT_CHARACTERS else _template.__wrapped__(functor, len(head))


SHORT_CHARACTERS = 256
"""Templates of longer functors are not kept for others, so that the texts of clients do not fill the memory."""


@lru_cache(maxsize=4_096)
def _template(functor: str, arity: int) -> Template:
    # One object for all subscriptions to one functor.
    return Template((Symbol(text_of(functor)), *[None] * (arity - 1)))


class CoverTest:
    """The test of one subscription, for tuples; what :func:`compile_test` makes."""

    __slots__ = ("_covers", "_read", "_shuts_out_commands", "demands", "requires", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        head = subscription.head
        self.subscription = subscription
        places: Places = {}
        self.demands = demands_of(head, subscription.body, places)
        """The constants that a rendezvous may look for before it asks."""
        self.requires = tuple(bounds_of(subscription.body, places))
        """What it requires of numbers, to be looked up in the same way."""
        self._covers = subscription.covers
        self._read = _read_lines[subscription.dialect.name]
        self._shuts_out_commands = type(head) is tuple and head[0] not in COMMANDS

    def __call__(self, items: Tuple, line: str | None = None) -> bool:
        """Whether the tuple is covered; ``line`` is the notification as it was sent, where it came through Pedro's door."""
        term = None if line is None else self._read.get(line)
        if term is None:
            term = _notification(items, line, self.subscription.dialect)
            if term is None:
                return False
        return self._covers(term) if self._shuts_out_commands else self.covers_term(term)

    def covers_term(self, term: Term) -> bool:
        """Whether a notification is covered that was read already."""
        if type(term) is tuple and term[0] in COMMANDS:
            return False
        return self._covers(term)


class _JustCompiled(dict[str, Subscription]):
    """Source -> its subscription, from a door of this process: its rendezvous is about to ask, and takes it. What another peer is
    asked instead stays; where there are more than ``limit``, or longer ones than ``characters`` in all, all are forgotten."""

    limit = 1_024
    characters = 256 * 1024

    def __init__(self) -> None:
        self.left = self.characters
        """Characters that may still be remembered."""

    def remember(self, source: str, subscription: Subscription) -> None:
        if len(self) >= self.limit or len(source) > self.left:
            self.clear()
            self.left = self.characters
        if len(source) <= self.left and source not in self:
            self[source] = subscription
            self.left -= len(source)

    def take(self, source: str) -> Subscription | None:
        found = self.pop(source, None)
        if found is not None:
            self.left += len(source)
        return found


just_compiled = _JustCompiled()


def compile_test(source: str) -> CoverTest:
    """The test that :meth:`Subscription.source` describes: the dialect's name and ``covers(Head, Body)``.

    Raises BadLine or BadSubscription when it does not.
    """
    known = just_compiled.take(source)
    if known is not None:
        return CoverTest(known)
    name, _, text = source.partition(" ")
    dialect = DIALECTS.get(name)
    if dialect is None:
        raise BadSubscription(f"there is no dialect {name!r} of Pedro; expected {' or '.join(DIALECTS)}")
    if has_too_many_tokens(text, SOURCE_TOKENS):
        raise BadSubscription(f"the source of a test has more than {SOURCE_TOKENS} tokens and escaped characters")
    made = parse(text, dialect)
    if type(made) is not tuple or len(made) != 3 or made[0] != "covers":
        raise BadSubscription("the source of a test is no covers(Head, Body); make it with Subscription.source")
    return CoverTest(compile_subscription(made[1], made[2], dialect))


def _counts() -> list[Count]:
    return Subscription.failures.counts()


compile_test.counts = _counts  # type: ignore[attr-defined]  # what gsg.rendezvous.condition_tests.counts_of_tests looks for


READ_CHARACTERS = 256 * 1024
"""Characters of notifications whose terms are remembered in one dialect, as many as one read of a door brings: it has parsed them
before they are matched. A term takes up to 60 bytes for each. Beyond, all are forgotten."""


class _ReadLines(dict[str, Term]):
    """Line -> its term: each line is parsed once, however many subscriptions test it."""

    def __init__(self) -> None:
        self.left = READ_CHARACTERS
        """Characters that may still be remembered."""


_read_lines = {name: _ReadLines() for name in DIALECTS}
"""By the dialect's name."""
_last: dict[str, tuple[str | Tuple, Term | None]] = {}
"""Dialect's name -> what was read last, and its term, where that is not remembered by its line. One entry for each dialect."""


def remember_line(line: str, term: Term, dialect: Dialect) -> None:
    """The door has parsed this line, with its variables as notifications have them in the dialect."""
    lines = _read_lines[dialect.name]
    lines.left -= len(line)
    if lines.left < 0:
        lines.clear()
        lines.left = READ_CHARACTERS - len(line)
        if lines.left < 0:
            return
    lines[line] = term


def _notification(items: Tuple, line: str | None, dialect: Dialect) -> Term | None:
    if line is not None:
        term = _read_lines[dialect.name].get(line)
        if term is not None:
            return term
    said: str | Tuple = items if line is None else line
    last = _last.get(dialect.name)
    if last is not None and last[0] is said:
        return last[1]
    term = term_of(items, line, dialect)
    if line is not None and term is not None:
        remember_line(line, term, dialect)
    _last[dialect.name] = (said, term)
    return term


def term_of(items: Tuple, line: str | None, dialect: Dialect) -> Term | None:
    """The notification that a tuple, and the line that it came as, are in a dialect; None where they are none."""
    frozen = not dialect.notification_variables_bind
    try:
        # A line that no door takes was said elsewhere, and its tuple says the same.
        if line is not None and not has_too_many_tokens(line):
            return parse(line, dialect, frozen=frozen)
    except BadLine:
        pass  # said in another dialect, whose operators this one does not have: the tuple says the same
    try:
        return from_tuple(items, frozen=frozen)
    except BadTerm:
        return None
