"""What whoever asked a query that has no row may have meant: a constant that facts have as another kind of term.

A symbol, a string and a number are three terms, however alike they look, so ``(kitchen, ...)`` finds nothing where facts have
``"kitchen"``. The peer is asked how many facts there are of either, which it tells without posting anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import rete

from ..errors import GsgError
from ..languages import parse_query
from ..languages.notation import condition_text
from ..tuples.terms import Literal, Symbol, Term, n3, python_value, term

if TYPE_CHECKING:
    from ..explain.explanations import Plan, PlanStep
    from ..http.client import AsyncClient

MAX_HINTS, MAX_ASKED = 3, 12
"""Hints for a query, and questions to the peer for them; what would be asked beyond is left out."""

_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


async def hints(client: AsyncClient, query: str, language: str) -> list[str]:
    """For each constant of a condition without a fact, where facts have it as another kind of term. Does not raise GsgError."""
    try:
        plan = await client.explain(query, language)
    except GsgError:
        return []
    return await hints_of(client, plan)


async def hints_of(client: AsyncClient, plan: Plan) -> list[str]:
    """The same of a query that was explained."""
    found: list[str] = []
    asked = 0
    for condition in _without_facts(plan.steps):
        for constant, other, text in _variants(condition):
            if len(found) == MAX_HINTS or asked == MAX_ASKED:
                return found
            asked += 1
            try:
                facts = [step.facts for step in (await client.explain(text)).steps if step.kind == "condition"]
            except GsgError:
                return found
            if facts and facts[0]:
                have = "1 fact has" if facts[0] == 1 else f"up to {facts[0]:,} facts have"
                found.append(f"no fact has {_named(constant)} in {condition}; {have} {_named(other)} there: write {text}")
    return found


def _without_facts(steps: Iterable[PlanStep]) -> Iterator[str]:
    for step in steps:
        if step.kind == "condition" and step.facts == 0:
            yield step.text


def _variants(condition: str) -> Iterator[tuple[Term, Term, str]]:
    """A constant, another kind of it, and the condition with that one; for every constant."""
    try:
        body = parse_query(condition).bound().body
    except GsgError:
        return  # a name that a language made up stands in it
    if not isinstance(body, rete.Group) or len(body.conditions) != 1:
        return
    (read,) = body.conditions
    for at, constant in enumerate(read.pattern):
        if isinstance(constant, str | int | Symbol | Literal):
            for other in _other_kinds(constant):
                pattern = (*read.pattern[:at], other, *read.pattern[at + 1 :])
                yield constant, other, condition_text(rete.Condition(pattern, read.window))


def _other_kinds(constant: str | int | Symbol | Literal) -> Iterator[Term]:
    value = python_value(constant)
    if isinstance(value, Symbol):
        yield value.name
    elif isinstance(value, str):
        yield Symbol(value)
        if _NUMBER.fullmatch(value):
            yield term(float(value) if "." in value else int(value))
    elif isinstance(value, int):
        yield term(float(value))
        yield str(value)
    elif isinstance(value, float):
        if value.is_integer():
            yield term(int(value))
        yield repr(value)


def _named(constant: Term) -> str:
    kind = "symbol" if isinstance(constant, Symbol) else "string" if isinstance(constant, str) else "number"
    return f"the {kind} {n3(constant)}"
