"""A search for one of several texts answers what the relation does."""

from __future__ import annotations

import pytest

from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.searches import LONG, TEXTS, WORTH, search_for

FEW = ["ab", "\\C", ""]
MANY = [*(f"<{number}\u00e9" for number in range(TEXTS)), "A.b", "x\0y", "\u017f+", "\\Q"]
VALUES = [
    "",
    "ab",
    "AB",
    "xab\\c",
    "<3\u00e9",
    "<3\u00c9",
    "a.b",
    "aXb",
    "A.B",
    "X\0Y",
    "s+",
    "\u017f+",
    "ss",
    "\\q",
    "<3",
    "\u00e9",
]


@pytest.mark.parametrize("name", ["contains", "contains-ci"])
@pytest.mark.parametrize("texts", [[], FEW, FEW[:1], MANY, ["\u00e9", "\u00c9y"], ["\u212a", "\u00c9"], ["y" * 200] * TEXTS])
def test_a_search_answers_what_the_relation_does(name: str, texts: list[str]) -> None:
    relations = Relations()
    search, holds = search_for(name, texts, relations), relations.make(name, texts)

    for value in [*VALUES, *(" " * LONG + value for value in VALUES * (WORTH // 4))]:
        assert search(value) == holds(value), value
