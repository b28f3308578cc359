"""The matcher's benchmark runs, says when rows are wrong, and compares engines of equal rows. No figure is judged here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import rete
from benchmarks.matching import films, memory, ours, reevaluation, rivals, wanted, workload
from benchmarks.matching.figures import in_this_process, times_of
from benchmarks.matching.measured import Measured

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "films.nt"


@pytest.fixture
def few_films(tmp_path: Path) -> films.Films:
    """The films of the examples, in the words of the large data."""
    data = tmp_path / "films.nt"
    data.write_text(EXAMPLE.read_text("utf-8").replace("http://example.org/film/", films.MOVIES), "utf-8")
    return films.Films(queries=50, triples=None, budget_s=5.0, data=data)


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, str]:
    """Exit status and what was printed."""
    monkeypatch.setattr(sys, "argv", ["rete", "--quick", "--one-process", "--triples", "1000", "--n", "1,100,120", *options])
    with pytest.raises(SystemExit) as ended:
        rete.main()
    assert isinstance(ended.value.code, int)
    return ended.value.code, capsys.readouterr().out


def small(n_queries: int = 60, n_triples: int = 4_000) -> tuple[list[workload.Pair], list[workload.Triple]]:
    """A workload of a few rows: its queries are those of the first films."""
    _, triples = workload.workload(0, n_triples)
    director_of = {film: director for film, predicate, director in triples if predicate == "director"}
    city_of = {director: city for director, predicate, city in triples if predicate == "bornIn"}
    pairs = {
        (actor, city_of[director_of[film]]): None
        for film, predicate, actor in triples
        if predicate == "starring" and director_of.get(film) in city_of
    }
    return list(pairs)[:n_queries], triples


@pytest.mark.long
def test_a_trial_of_every_part_ends_well(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, few_films: films.Films
) -> None:
    monkeypatch.setattr(rete, "Films", lambda *_: few_films)

    status, printed = run(capsys, monkeypatch)

    assert status == 0, printed
    assert "an insert, N = 120 beside N = 100" in printed
    assert "WRONG" not in printed


def test_json_holds_what_was_measured_and_what_was_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, printed = run(capsys, monkeypatch, "--json", "--parts", "memory,turnover")

    document: dict[str, Any] = json.loads(printed)
    assert status == 0
    assert document["wrong"] == []
    assert [one["exact"]["queries"] for one in document["measured"]["weighed"]] == [1, 100, 120]
    assert {"what", "wanted", "reached", "met"} == set(document["verdicts"][0])


def test_wrong_rows_end_it_with_status_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rete, "expected_rows", lambda *_: 7_777)

    status, printed = run(capsys, monkeypatch, "--parts", "matching", "--n", "1")

    assert status == 1
    assert "WRONG" in printed
    assert "expected 7,777" in printed


def test_a_part_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, _ = run(capsys, monkeypatch, "--parts", "maching")

    assert status == 2


def test_films_that_are_absent_are_left_out_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, few_films: films.Films
) -> None:
    monkeypatch.setattr(rete, "Films", lambda *_: replace(few_films, data=few_films.data.with_name("absent.nt")))

    status, printed = run(capsys, monkeypatch, "--parts", "films")

    assert status == 0
    assert "left out: films: absent.nt is not there" in printed


@pytest.mark.parametrize("name", [rivals.CLIPS, rivals.CLIPS_AS_WRITTEN, rivals.PY_RETE, rivals.PY_RETE_AS_PUBLISHED])
def test_rivals_give_the_rows_of_the_plain_definition(name: str) -> None:
    pairs, triples = small()

    outcome = rivals.run_rival(name, list(map(workload.patterns_of, pairs)), triples, 60.0)

    if outcome is None:
        pytest.skip(f"{name} is not installed: the extra bench has it")
    checked = rivals.checked(outcome, triples, lambda some: workload.expected_rows(pairs, some))
    assert checked.wrong == ()
    assert checked.insertion.rows == workload.expected_rows(pairs, triples) > 0
    assert (checked.retraction.changes, checked.retraction.rows) == (len(triples), 0)


def test_a_rival_that_is_not_installed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clips", None)

    assert rivals.run_rival(rivals.CLIPS, [], [], 1.0) is None


def test_a_rival_is_stopped_at_its_budget() -> None:
    outcome = rivals.run_rival(rivals.PY_RETE, [workload.patterns_of(("actor1", "city1"))] * 2, small()[1], 0.0)

    if outcome is None:
        pytest.skip("py_rete is not installed: the extra bench has it")
    assert (outcome.added, outcome.insertion.changes) == (0, 0)
    assert outcome.insertion.mean_us is None


def test_evaluating_again_gives_the_rows_of_the_plain_definition() -> None:
    pairs, triples = small()

    outcome = reevaluation.run_reevaluation(pairs, triples, 60.0)

    assert outcome.wrong == ()
    assert outcome.insertion.rows == workload.expected_rows(pairs, triples) > 0
    assert outcome.retraction.rows == 0
    assert outcome.note == "extrapolated: 3 changes"


def test_evaluating_again_within_a_budget_says_how_many_queries_it_came_to() -> None:
    pairs, triples = small()

    outcome = reevaluation.run_reevaluation(pairs, triples, 0.0)

    assert outcome.wrong == ()
    assert outcome.note == "extrapolated: 3 changes, 1 queries"


def test_a_space_holds_nothing_when_all_was_retracted() -> None:
    pairs, triples = workload.workload(120, 2_000)

    one = in_this_process(ours.run_space, ours.AS_PEER, 120, 2_000)

    assert (one.rows, one.rows_left) == (workload.expected_rows(pairs, triples), 0)


def test_the_tuple_of_a_fact_is_weighed_and_its_terms_are_not() -> None:
    terms = [("film" * 100 + str(number), "director", "x" * 500) for number in range(500)]

    weights = in_this_process(memory.weigh_these, True, ['("nobody", "asks", ?x)'], terms)

    assert weights.fact_bytes is not None
    assert 64 <= weights.fact_bytes < 400


def test_film_queries_are_distinct_and_answered_as_pyoxigraph_does(few_films: films.Films) -> None:
    triples = films.film_triples(few_films)
    queries = films.film_queries(triples, few_films.queries)

    figures = in_this_process(films.run_films, few_films, "gsg", 100)

    assert len(set(queries)) == few_films.queries
    assert (figures.registered, figures.different, figures.rows_left) == (few_films.queries, 0, 0)
    assert figures.rows > 0


def test_films_asked_in_sparql_are_stopped_at_their_budget(few_films: films.Films) -> None:
    figures = in_this_process(films.run_films, replace(few_films, budget_s=0.0), "sparql", 1)

    assert figures.registered == 1
    assert figures.insertion is None


@pytest.mark.parametrize(
    ("patterns", "ordered"),
    [
        ([("?f", "director", "?d"), ("?f", "starring", "A"), ("?d", "bornIn", "C")], [1, 0, 2]),
        ([("?x", "p", "A"), ("?y", "q", "B"), ("?x", "r", "?y")], [0, 2, 1]),
    ],
    ids=["constants first", "no product where a join will do"],
)
def test_rivals_get_a_good_order(patterns: Sequence[workload.Pattern], ordered: list[int]) -> None:
    found = workload.selective_first(tuple(patterns))

    assert found == tuple(patterns[number] for number in ordered)


def test_times_are_summed_up() -> None:
    times = times_of([1_000] * 999 + [5_001_000])

    assert (times.changes, times.mean_us, times.median_us, times.p999_us) == (1_000, 6.0, 1.0, 5_001.0)
    assert times.longest_us == 5_001.0


def test_a_wanted_figure_is_met_up_to_its_limit() -> None:
    assert wanted.at_most("an insert", 12.0, 12.0, " µs").met
    assert wanted.at_most("an insert", 12.01, 12.0, " µs") == wanted.Verdict("an insert", "at most 12 µs", "12.01 µs", False)
    assert wanted.verdicts(Measured()) == []
