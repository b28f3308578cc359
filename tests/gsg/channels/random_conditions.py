"""Random conditions, as texts, and random events over the same few fields: missing ones, mixed kinds, nesting, lists."""

from __future__ import annotations

from random import Random
from typing import Any

from gsg.channels.languages.expressions import Condition
from gsg.channels.languages.predicate import parse
from gsg.errors import BadText

NAMES = "abcde"
VALUES: list[Any] = [
    *(
        0,
        1,
        1.0,
        2,
        7,
        -3,
        2.5,
        True,
        False,
        None,
        "",
        "1",
        "10",
        "ab",
        "abc",
        "ABC",
        "x",
        "abcab",
        "ABCAB",
        "xbcaxy",
        float("nan"),
    ),
    *([], [1, 2, "ab"], [{"a": 1}, {"a": "x"}], {"a": 1, "b": [1]}, {"a": {"b": "abc"}}),
]
CONSTANTS = ["0", "1", "1.0", "2", "7", "-3", "2.5", "true", "false", "null", '""', '"1"', '"10"', '"ab"', '"abc"', '"x"']
PARTS = ['"a"', '"ab"', '"b"', '"1"', '"A"', '"c"', '"abc"', '"bCa"', '"cab"', '"ab*ca"', '"a?c"']
PLAIN = ["contains", "prefix", "suffix", "wildcard", "regex"]
RELATIONS = [*PLAIN, *(f"{name}-ci" for name in PLAIN), "=-ci"]


def event(rng: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of an event, and its environment."""
    fields = {name: rng.choice(VALUES) for name in NAMES if rng.random() < 0.6}
    return fields, {name: rng.choice(VALUES) for name in NAMES if rng.random() < 0.3}


def condition(rng: Random, depth: int = 3) -> Condition:
    """A condition that the language takes."""
    while True:
        try:
            return parse(text(rng, depth))
        except BadText as refused:
            if "in no order" not in str(refused):  # the one thing that the texts below may say and the language refuses
                raise


def text(rng: Random, depth: int, *, element: bool = False) -> str:
    """The text of a condition; ``element``: within any, all or exactly."""
    kind = rng.random()
    if not depth or kind < 0.35:
        return _test(rng, element)
    if kind < 0.9:
        word = "and" if kind < 0.6 else "or" if kind < 0.8 else "not"
        parts = [text(rng, depth - 1, element=element) for _ in range(1 if word == "not" else rng.randint(1, 3))]
        return f"({word} {' '.join(parts)})"
    quantity = rng.choice(["any", "all", "exactly 1", "exactly 0"])
    over = rng.choice(["it", "it.a"] if element else [_field(rng, element), "*"])
    return f"({quantity} {over} {text(rng, depth - 1, element=True)})"


def _test(rng: Random, element: bool) -> str:
    field, kind = _field(rng, element), rng.random()
    if kind < 0.5:
        return f"({rng.choice(['=', '=', '=', '!=', '<', '>', '<=', '>='])} {field} {_value(rng, element)})"
    if kind < 0.6:
        return f"(exists {field})"
    if kind < 0.9:
        return f"({rng.choice(RELATIONS)} {field} {' '.join(rng.choices(PARTS, k=rng.randint(1, 2)))})"
    return f"(in {field} {' '.join(rng.choices(CONSTANTS, k=rng.randint(1, 3)))})"


def _field(rng: Random, element: bool) -> str:
    kind = rng.random()
    if element and kind < 0.4:
        return rng.choice(["it", "it.a"])
    if kind < 0.7:
        return rng.choice(NAMES)
    return f"{rng.choice(NAMES)}.{rng.choice(NAMES)}" if kind < 0.85 else f"(env {rng.choice(NAMES)})"


def _value(rng: Random, element: bool) -> str:
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(CONSTANTS)
    if kind < 0.9:
        return _field(rng, element)
    return f"({rng.choice(['+', '-', '*', '/', 'mod', 'min', 'max'])} {_field(rng, element)} {rng.choice(['1', '2', '0', 'a'])})"
