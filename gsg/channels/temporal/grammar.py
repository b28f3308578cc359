"""The temporal language: from a text to a query.

    subscription := item...
    item         := (event part...)
                  | (absent DURATION (event part...) (test condition...)...)    no such event so soon after the event before it
                  | (test condition...)                                         conditions of the predicate language, on ?variables
                  | (last NUMBER) | (within DURATION)                           the window; else all that the channel remembers
    part         := (field ?variable) | (field constant) | (where condition...) | (arrival ?variable)
    DURATION     := 300ms | 5s | 2.5m | 1h | 1d

(Filman and Lee, section "Subscription languages", whose ``eq`` is another word for ``=`` here.) Fields, constants and conditions
are those of the predicate language (languages/predicate.py). "Before" is in the text, "soon" by the clock. A variable that stands
in several patterns has equal values there. ``arrival`` counts the events of a channel: it tells the order of events of equal
times. What is unknown is refused with its place.
"""

from __future__ import annotations

import re
from typing import Final

from ...languages.bad_text import Mistake, bad_text
from ..languages.expressions import And, Comparison, Condition, Constant, Exists, Expression, Field
from ..languages.predicate import MIRRORED, PredicateReader, all_of, did_you_mean, expect_operands, is_constant, word
from ..languages.relations import Relations
from ..languages.syntax import Atom, Form, Kind, Node, read_all
from .query import Absence, Column, Pattern, TemporalQuery, Window

MAX_PATTERNS: Final = 8
"""Of one subscription, absent ones counted; beyond, it is refused."""
MAX_TESTS: Final = 256
"""Of one subscription, those joined by ``and`` counted apart; beyond, it is refused."""
MAX_EVENTS: Final = 10_000
"""Of a window; a larger one is refused."""
MAX_DURATION_S: Final = 366 * 86_400.0
"""Of a window or an absence; a longer one is refused."""

_ITEMS: Final = ("event", "absent", "test", "last", "within")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|d)", re.ASCII)
_CONDITIONS: Final = (*MIRRORED, "and", "or", "not", "exists", "in", "any", "all", "exactly", "test", "eq")
_STANDARD: Final = Relations()


def parse(text: str, relations: Relations = _STANDARD, *, max_events: int = MAX_EVENTS) -> TemporalQuery:
    """The query of a text, for a channel that remembers so many events. Raises BadText."""
    try:
        return _Reader(relations, max_events).query(read_all(text))
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what="temporal subscription") from None


class _Reader:
    """From lists and atoms to a query. Methods raise Mistake."""

    def __init__(self, relations: Relations, max_events: int) -> None:
        self._relations = relations
        self._max_events = max_events
        self._predicates = PredicateReader(relations)

    def query(self, nodes: list[Node]) -> TemporalQuery:
        forms = [self._item(node) for node in nodes]
        events = [form for form in forms if form.operator == "event"]
        absent = [form for form in forms if form.operator == "absent"]
        if not events:
            start = forms[0].start if forms else 0
            raise Mistake(start, "a subscription to no event; expected one or more such as (event (time ?t) (userid ?u))")
        if len(events) + len(absent) > MAX_PATTERNS:
            raise Mistake((events + absent)[MAX_PATTERNS].start, f"more than {MAX_PATTERNS} patterns of events; expected fewer")
        patterns = tuple(map(self._pattern, events))
        known = {column.variable for pattern in patterns for column in pattern.columns}
        tests = tuple(test for form in forms if form.operator == "test" for test in self._tests(form, known))
        absences = []
        for form in absent:
            after = sum(event.start < form.start for event in events) - 1
            absences.append(self._absence(form, after, known))
        if len(tests) + sum(len(absence.tests) for absence in absences) > MAX_TESTS:
            raise Mistake(forms[-1].start, f"more than {MAX_TESTS} tests; expected fewer")
        return TemporalQuery(patterns, tests, tuple(absences), self._window(forms))

    def _item(self, node: Node) -> Form:
        if isinstance(node, Atom):
            raise Mistake(node.start, f"{_shown(node)} outside of a list; expected {_listed(_ITEMS)}, such as (event (time ?t))")
        if node.operator in _ITEMS:
            return node
        operator = node.operator
        if operator in _CONDITIONS or (operator is not None and operator in self._relations):
            raise Mistake(
                node.start,
                f"({operator} ...) outside of an event; expected (test ({operator} ...)) for variables, or "
                f"(event (where ({operator} ...))) for fields",
            )
        raise Mistake(
            node.start, f"unknown item {operator or '()'!r}{did_you_mean(str(operator), _ITEMS)}; expected {_listed(_ITEMS)}"
        )

    # --- events ---------------------------------------------------------------------------------------------------------------

    def _pattern(self, form: Form) -> Pattern:
        conditions: list[Condition] = []
        columns: list[Column] = []
        for item in form.items[1:]:
            if isinstance(item, Atom):
                raise Mistake(
                    item.start,
                    f"{_shown(item)} in an event; expected (field ?variable), (field constant), (where ...) or (arrival ?n)",
                )
            if item.operator == "where":
                expect_operands(item, 1, None)
                _expect_no_variables(item)
                conditions += map(self._predicates.condition, item.items[1:])
            elif item.operator == "arrival":
                columns.append(Column(_arrival(item), None))
            else:
                self._field(item, conditions, columns)
        return Pattern(all_of(conditions), tuple(columns))

    def _field(self, form: Form, conditions: list[Condition], columns: list[Column]) -> None:
        operator = form.operator
        is_condition = operator is not None and (operator in _CONDITIONS or operator in self._relations)
        if not form.items or (is_condition and len(form.items) != 2):
            shown = f"({operator} ...)" if operator else "()"
            raise Mistake(form.start, f"{shown} in an event; expected a field, or (where {shown})")
        field = self._predicates.field(form.items[0])
        if len(form.items) != 2:
            raise Mistake(
                form.start,
                f"{'.'.join(field.path)} with {len(form.items) - 1} values; expected one, a constant or a ?variable, "
                f"or (where (exists {'.'.join(field.path)}))",
            )
        value = form.items[1]
        if isinstance(value, Form):
            raise Mistake(
                value.start, "a list as the value of a field; expected a constant or a ?variable, or (where ...) around it"
            )
        if value.kind is Kind.VARIABLE:
            columns.append(Column(str(value.value), field))
            conditions.append(Exists(field))
        elif is_constant(value):
            conditions.append(Comparison("=", field, self._predicates.constant(value)))
        else:
            raise Mistake(
                value.start, f'{value.value} as a value; expected ?{value.value} for a variable, or "{value.value}" for a text'
            )

    # --- tests ----------------------------------------------------------------------------------------------------------------

    def _tests(self, form: Form, known: set[str]) -> tuple[Condition, ...]:
        expect_operands(form, 1, None)
        reader = _TestReader(self._relations, known)
        test = all_of([reader.condition(item) for item in form.items[1:]])
        return test.parts if isinstance(test, And) else (test,)

    def _absence(self, form: Form, after: int, known: set[str]) -> Absence:
        expect_operands(form, 2, None)
        if after < 0:
            raise Mistake(form.start, "an absence before any event; expected the event that begins its time first, (event ...)")
        duration_s = _duration_s(form.items[1], "5s")
        event, *tests = form.items[2:]
        if not isinstance(event, Form) or event.operator != "event":
            raise Mistake(event.start, "what is to be absent is no event; expected (absent 5s (event ...))")
        pattern = self._pattern(event)
        bound = known | {column.variable for column in pattern.columns}
        conditions: list[Condition] = []
        for test in tests:
            if not isinstance(test, Form) or test.operator != "test":
                raise Mistake(test.start, "an absence takes one event, and tests; expected (test ...)")
            conditions += self._tests(test, bound)
        return Absence(pattern, duration_s, after, tuple(conditions))

    # --- windows --------------------------------------------------------------------------------------------------------------

    def _window(self, forms: list[Form]) -> Window:
        last: int | None = None
        within_s: float | None = None
        for form in forms:
            if form.operator not in ("last", "within"):
                continue
            expect_operands(form, 1, 1)
            if (last if form.operator == "last" else within_s) is not None:
                raise Mistake(form.start, f"a second ({form.operator} ...); expected one")
            if form.operator == "within":
                within_s = _duration_s(form.items[1], "10s")
            else:
                last = self._last(form.items[1])
        return Window(last, within_s)

    def _last(self, node: Node) -> int:
        if not isinstance(node, Atom) or type(node.value) is not int or node.value < 1:
            hint = "; for a time, (within 10s)" if isinstance(node, Atom) and _DURATION.fullmatch(str(node.value)) else ""
            raise Mistake(node.start, f"{_shown(node)} is no number of events; expected one such as (last 100){hint}")
        if node.value > self._max_events:
            raise Mistake(
                node.start, f"the last {node.value:,} events; expected at most {self._max_events:,}, which are remembered"
            )
        return node.value


class _TestReader(PredicateReader):
    """Reads conditions in which variables stand for values, and names for nothing."""

    def __init__(self, relations: Relations, known: set[str]) -> None:
        super().__init__(relations)
        self._known = known

    def condition(self, node: Node) -> Condition:
        if isinstance(node, Atom) and node.kind is Kind.VARIABLE:
            raise Mistake(node.start, f"?{node.value} is no condition; expected a list such as (= ?{node.value} 1)")
        if isinstance(node, Form) and node.operator == "eq":
            node = Form((Atom(Kind.SYMBOL, "=", node.items[0].start), *node.items[1:]), node.start)
        return super().condition(node)

    def _compared(self, form: Form, operator: str, left: Expression, right: Expression) -> Condition:
        if isinstance(left, Constant) and isinstance(right, Constant):
            raise Mistake(form.start, f"({form.operator} ...) of two constants; expected a ?variable on one side")
        return super()._compared(form, operator, left, right)

    def _not_constant(self, node: Node) -> Expression:
        value = self.value(node)
        if isinstance(value, Constant):
            raise Mistake(node.start, f"{word(value.value)}: a constant where a ?variable is expected")
        return value

    def field(self, node: Node) -> Field:
        if isinstance(node, Atom) and node.kind is Kind.VARIABLE:
            name = str(node.value)
            if name not in self._known:
                known = ", ".join(f"?{each}" for each in sorted(self._known)) or "none is"
                raise Mistake(
                    node.start,
                    f"the variable ?{name} is bound by no event{did_you_mean(name, sorted(self._known))}; "
                    f"expected one that is ({known}), or (event (field ?{name}))",
                )
            return Field((name,))
        if isinstance(node, Atom) and node.kind is Kind.SYMBOL and (not node.bare or str(node.value).split(".")[0] != "it"):
            raise Mistake(
                node.start,
                f"the field {node.value} in a test; expected a ?variable, bound by (event ({node.value} ?{node.value}))",
            )
        if isinstance(node, Form):
            raise Mistake(
                node.start, f"({node.operator or ''} ...) in a test; expected a ?variable, a constant or what is computed of them"
            )
        return super().field(node)


def _expect_no_variables(form: Form) -> None:
    waiting: list[Node] = [form]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Form):
            waiting += reversed(node.items)
        elif node.kind is Kind.VARIABLE:
            raise Mistake(
                node.start,
                f"the variable ?{node.value} in (where ...), which is about one event; expected (test ...) after the events",
            )


def _arrival(form: Form) -> str:
    expect_operands(form, 1, 1)
    variable = form.items[1]
    if not isinstance(variable, Atom) or variable.kind is not Kind.VARIABLE:
        raise Mistake(
            variable.start, f"{_shown(variable)} as an arrival; expected (arrival ?n), or (|arrival| ...) for such a field"
        )
    return str(variable.value)


def _duration_s(node: Node, example: str) -> float:
    written = str(node.value) if isinstance(node, Atom) and node.kind in (Kind.SYMBOL, Kind.NUMBER) else ""
    duration = _DURATION.fullmatch(written)
    if duration is None:
        hint = f"{written}s" if written.isascii() and written.isdigit() else example
        raise Mistake(
            node.start, f"{_shown(node)} is no duration; expected a number and one of {', '.join(_UNITS)}, such as {hint}"
        )
    seconds = float(duration[1]) * _UNITS[duration[2]]
    if not 0 < seconds <= MAX_DURATION_S:
        raise Mistake(node.start, f"a duration of {written}; expected more than 0s, and at most {MAX_DURATION_S / 86_400:.0f}d")
    return seconds


def _shown(node: Node) -> str:
    if isinstance(node, Form):
        return f"({node.operator or ''} ...)"
    if node.kind is Kind.VARIABLE:
        return f"?{node.value}"
    return word(node.value) if node.kind is not Kind.SYMBOL else str(node.value)


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"({each} ...)" for each in words)
