"""Random programs: they are refused, end or are stopped, whatever they say, and never run beyond their steps."""

from __future__ import annotations

from contextlib import suppress
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from gsg.channels.agent.agent import Agent
from gsg.channels.agent.limits import Limits
from gsg.channels.agent.operations import OPERATORS
from gsg.channels.agent.program import parse
from gsg.channels.events import Event
from gsg.channels.values import Reference
from gsg.errors import BadText

STEPS = 300
AFTERWARDS = 12
"""Steps that one operator may charge after its work: for 99 numbers."""
CONDITIONS = [
    "true",
    "(exists a)",
    "(= a 1)",
    "(> b ?x)",
    "(or (= c ?y) (prefix c 'd))",
    "(any l (= it ?x))",
    "(= a.b ?z)",
    "(in a ?x 2)",
]
CONSTANTS = ["0", "1", "-7", "2.5", "1e300", "99999999999999999999", "'a", '""', '"12"', "'ab,c", "true", "false", "null"]
EVENTS = [
    Event({"a": 1, "b": "12", "c": "dd", "l": [1, "a", [2]]}, environment={"e": [1]}),
    Event({"a": {"b": [1.5, None]}, "b": 1e308, "l": []}),
    Event({"a": Reference("gsg://x"), "c": "", "b": float("nan")}),
    Event({}),
]


class Programs:
    """Writes random programs, most of which are none that parse refuses."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def program(self) -> str:
        handlers = " ".join(f"(on true {self._forms(4, ['s', 't', 'g'])})" for _ in range(self._random.randint(1, 2)))
        function = f"(define (g x y) {self._forms(3, ['s', 't', 'x', 'y', 'g'])})"
        return f"(agent (state (s {self.form(2, [])}) (t (list 3 1 2))) {function} {handlers})"

    def _forms(self, depth: int, names: list[str]) -> str:
        return " ".join(self.form(depth, names) for _ in range(self._random.randint(1, 3)))

    def form(self, depth: int, names: list[str]) -> str:
        draw, below = self._random, depth - 1
        if depth == 0 or draw.random() < 0.1:
            return draw.choice([*CONSTANTS, *names, *names, "event", "upper"])
        match draw.randint(0, 19):
            case 0:
                new = draw.choice(["x", "y", "z"])
                return f"(let (({new} {self.form(below, names)})) {self._forms(below, [*names, new])})"
            case 1:
                return f"(if {self.form(below, names)} {self.form(below, names)} {self.form(below, names)})"
            case 2:
                return f"(cond ({self.form(below, names)} {self._forms(below, names)}) (else {self._forms(below, names)}))"
            case 3:
                return f"(while {self.form(below, names)} {self._forms(below, names)})"
            case 4 if names:
                return f"(set! {draw.choice(names)} {self.form(below, names)})"
            case 5:
                return f"({draw.choice(['and', 'or', 'do'])} {self._forms(below, names)})"
            case 6:
                kind = draw.choice(["map", "filter", "find", "any?", "all?"])
                return f"({kind} (lambda (x) {self._forms(below, [*names, 'x'])}) {self._list(below, names)})"
            case 7:
                add = self.form(below, [*names, "x", "y"])
                return f"(fold (lambda (x y) {add}) {self.form(below, names)} {self._list(below, names)})"
            case 8:
                return f"(sort {self._list(below, names)} (lambda (x) {self.form(below, [*names, 'x'])}))"
            case 9:
                return f"({draw.choice(['g', *names])} {self.form(below, names)} {self.form(below, names)})"
            case 10:
                condition = draw.choice(CONDITIONS)
                known = all(f"?{name}" not in condition or name in names for name in "xyz")
                condition = condition if known else "(exists a)"
                return draw.choice(
                    [
                        f"(recent {condition} {self.form(below, names)})",
                        f"(matches event {condition})",
                        f"(subscribe {condition} (lambda (x) {self.form(below, [*names, 'x'])}))",
                        f"(after {self.form(below, names)} {self._forms(below, names)})",
                    ]
                )
            case 11:
                return draw.choice(["(field event a)", "(field event a.b 1)", "(env e)", "(has event l)", "(field event l)"])
            case 12:
                return f"(publish (event (a {self.form(below, names)}) (b {self.form(below, names)})))"
        name = draw.choice(sorted(OPERATORS))
        operator = OPERATORS[name]
        count = draw.randint(operator.least, min(operator.most, operator.least + 2))
        return f"({name} {' '.join(self.form(below, names) for _ in range(count))})"

    def _list(self, depth: int, names: list[str]) -> str:
        return self._random.choice(
            [f"(list {self._forms(depth, names)})", "(range 4)", "(field event l)", "t"] if names else ["(list 1 2)"]
        )


@settings(max_examples=300, deadline=None)
@given(st.integers(min_value=0))
def test_random_programs_are_refused_end_or_are_stopped(seed: int) -> None:
    text = Programs(seed).program()
    try:
        program = parse(text)
    except BadText:
        return
    one = Agent(
        program, Limits(steps=STEPS, memory_bytes=20_000, text_characters=2_000, items=200, calls=30), random=Random(seed).random
    )

    for number, event in enumerate(EVENTS):
        outcomes = [one.wake(event, EVENTS, float(number))]
        outcomes.extend(one.timer_due(ticket, EVENTS, float(number)) for ticket, _ in outcomes[0].timers)
        for outcome in outcomes:
            assert outcome.steps <= STEPS + AFTERWARDS
            assert outcome.stopped is None or outcome.stopped.line is not None
            assert outcome.stopped is None or "interpreter failed" not in outcome.stopped.problem, outcome.stopped.message


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="()ab \"'|;?+-*.0123456789\n", max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, f"(agent (state (a 1)) (on true {text}))", f"(agent {text})"):
        with suppress(BadText):
            parse(whole)
