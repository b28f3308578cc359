"""The workload of the standing query benchmark: the same bytes for a seed, and related queries in two languages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from benchmarks.suite import changes, files, users
from benchmarks.suite.campus import SIZES, TINY, Campus, Predicate, Size, iri
from benchmarks.suite.queries import NUMBERED, TEMPLATES, Shape
from benchmarks.suite.relations import FOREVER, History
from gsg.languages import parse_query
from simulations.errors import BadParameter
from simulations.replay.answering import Request, answer, in_this_process

DIGESTS = {
    "changes.jsonl": "827be09ced9157058990b73440757ba7fedb184739267470a6bdc71b2e0dc100",
    "subscriptions.jsonl": "766a83ca5973e1f968050a744cfd3ad864dd323a3e362659acb180a64ab3b780",
    "answers.jsonl": "e53cabc316013e9cc6ef4be4fdeef1ec5186c0301fa4def6bacbc3cc2a60fabf",
}
"""Of size tiny and seed 1. Whoever changes them makes another version of the benchmark (files.VERSION)."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files.generate(tmp_path, TINY, 1)
    return tmp_path


@cache
def subscriptions(size: Size = TINY, seed: int = 1) -> list[users.Line]:
    campus = Campus(size, seed)
    return list(users.lines(campus, users.generate(campus)))


def test_a_seed_makes_these_bytes_on_every_machine(folder: Path) -> None:
    assert files.Workload(folder).described.sha256 == DIGESTS


def test_another_seed_makes_others(tmp_path: Path) -> None:
    made = files.generate(tmp_path, TINY, 2).sha256

    assert [name for name in made if made[name] == DIGESTS[name]] == []


def test_a_file_that_was_changed_is_told(folder: Path) -> None:
    with (folder / files.CHANGES).open("a") as file:
        file.write("\n")

    with pytest.raises(files.BadFolder, match=r"changes\.jsonl has SHA-256 .*; expected .*; generate the workload again"):
        files.Workload(folder).check()


def test_a_folder_without_a_workload_is_told(tmp_path: Path) -> None:
    with pytest.raises(files.BadFolder, match=r"holds no workload: .*; make one with python -m benchmarks\.suite generate"):
        files.Workload(tmp_path)


def test_another_version_is_refused(folder: Path) -> None:
    text = (folder / files.WORKLOAD).read_text()
    (folder / files.WORKLOAD).write_text(text.replace('"version": 1', '"version": 0'))

    with pytest.raises(files.BadFolder, match="holds version 0 of standing-query-benchmark; expected 1"):
        files.Workload(folder)


@pytest.mark.parametrize(
    ("numbers", "problem"),
    [
        ({"changes": 10}, "10 changes; expected 1,000 to 100,000,000"),
        ({"subscriptions": 0}, "0 subscriptions; expected 1 to 10,000,000"),
        ({"overlap": 0.9}, "an overlap of 0.9 and 0.2 narrowed; expected shares of 1 together at most"),
        ({"rounds": 1}, "1 rounds; expected 2 to 1,000"),
    ],
    ids=["changes", "subscriptions", "shares", "rounds"],
)
def test_a_size_that_cannot_be_is_refused(numbers: dict[str, float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        replace(TINY, **numbers)


def test_a_seed_that_is_none_is_refused() -> None:
    with pytest.raises(BadParameter):
        Campus(TINY, -1)


def test_more_lines_than_are_written_at_once_are_all_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_AT_ONCE", 7)

    made = files.generate(tmp_path, TINY, 1)

    assert made.sha256 == DIGESTS


def test_what_is_retracted_was_there_and_what_has_one_value_has_one() -> None:
    campus = Campus(SIZES["small"], 3)
    happened = changes.generate(campus)
    held: set[tuple[int, int, int]] = set()
    per_subject: Counter[tuple[int, int]] = Counter()
    single = {Predicate.LOCATED_IN, Predicate.READS, Predicate.MEMBER_OF, Predicate.WORKS_ON}
    columns = (happened.sign, happened.subject, happened.predicate, happened.object)
    missing, most = 0, 0

    for sign, *fact in zip(*(column.tolist() for column in columns), strict=True):
        key = (fact[0], fact[1], fact[2])
        if sign:
            changed = (key not in held) == (sign > 0)
            missing += sign < 0 and not changed
            per_subject[key[:2]] += sign * changed
            most = max(most, per_subject[key[:2]] if key[1] in single else 0)
            (held.add if sign > 0 else held.discard)(key)

    assert most == 1
    # Two pairs of a pool may be the same, and one of them goes first.
    assert missing < 0.01 * len(happened)


def test_a_fact_that_is_said_twice_holds_once() -> None:
    campus = Campus(TINY, 1)
    said = np.array([1, 1, -1, -1, 1], dtype=np.int8)
    one = np.full(5, 3, dtype=np.int64)
    happened = changes.Changes(said, one, np.full(5, Predicate.KNOWS, dtype=np.int64), one, one, np.array([5]))

    facts = History(campus, happened)._facts["knows"]

    assert list(zip(facts.came.tolist(), facts.went.tolist(), strict=True)) == [(1, 3), (5, FOREVER)]


def test_every_template_is_asked_by_somebody() -> None:
    assert {line.template for line in subscriptions()} == set(NUMBERED)


def test_all_shapes_are_there_and_shares_are_of_a_hundred() -> None:
    assert {template.shape for template in TEMPLATES} == set(Shape)
    assert sum(template.share for template in TEMPLATES) == 100


def test_texts_are_queries_in_both_languages_with_one_selection() -> None:
    for line in {line.template: line for line in subscriptions()}.values():
        queries = parse_query(line.gsg), parse_query(line.sparql, "sparql")

        assert {query.select for query in queries} == {line.query.select}
        assert [warning for query in queries for warning in query.warnings] == []


def test_an_event_is_asked_for_with_facts_that_never_change_alone() -> None:
    still = {"onFloor", "placedIn"}
    of_events = [template.asked for template in TEMPLATES if template.asked.events]

    assert of_events
    assert all({predicate for _, predicate, _ in asked.where[1:]} <= still for asked in of_events)
    assert not any(asked.negated or asked.optional or asked.or_else for asked in of_events)


@pytest.mark.parametrize("narrow", [template for template in TEMPLATES if template.narrower], ids=lambda template: template.name)
def test_what_narrows_adds_a_condition_or_closes_a_bound(narrow: users.Template) -> None:
    other = TEMPLATES[NUMBERED[narrow.narrower]]

    assert set(narrow.parameters) <= set(other.parameters)
    assert len(other.asked.where) >= len(narrow.asked.where)


def test_what_narrows_keeps_the_constants_of_its_group() -> None:
    lines = [line for line in subscriptions(Size(10_000, 2_000)) if line.origin == "narrowed" and line.template == "team-skill"]

    assert lines
    assert all(line.query.where[0][2] == iri(line.group) for line in lines)


def test_overlap_makes_equal_queries() -> None:
    size = Size(10_000, 2_000)

    shared, alone = (
        len({line.gsg for line in subscriptions(replace(size, overlap=overlap, narrowed=0.0))}) for overlap in (0.9, 0.0)
    )

    assert shared < alone / 2


def test_users_come_and_go_in_order_of_their_numbers() -> None:
    size = Size(10_000, 2_000)
    lines = subscriptions(size)

    assert [line.begins for line in lines] == sorted(line.begins for line in lines)
    assert all(line.begins <= line.ends < size.rounds for line in lines)
    assert {line.begins for line in lines} == set(range(size.rounds))
    assert 0.7 < sum(line.ends == size.rounds - 1 for line in lines) / len(lines) < 0.9
    assert {line.origin for line in lines} == set(users.ORIGINS)


def test_replay_of_the_simulation_reads_changes_and_finds_the_same_rows(folder: Path) -> None:
    workload = files.Workload(folder)
    right = {answer.subscription: answer for answer in workload.answers()}
    answered = {Shape.OPTIONAL, Shape.UNION, Shape.COUNT}
    lines = [line for line in workload.subscriptions() if line.ends == TINY.rounds - 1 and not line.query.events]
    asked = {line.template: line for line in lines if TEMPLATES[NUMBERED[line.template]].shape not in answered}

    found = {}
    for line in asked.values():
        request = Request(line.gsg, str(folder / files.CHANGES))
        with answer(request, in_this_process) as replayed:
            found[line.subscription] = replayed.rows.count()[1]

    assert len(found) > 10
    assert found == {number: right[number].rows for number in found}
