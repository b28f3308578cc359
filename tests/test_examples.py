"""What newcomers meet first works: the film data, the demo in real processes, the auction's end."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gsg

pytestmark = pytest.mark.waits

ROOT = Path(__file__).resolve().parents[1]
FILMS = ROOT / "examples" / "films.nt"
FIGURE_3 = (ROOT / "examples" / "README.md").read_text("utf-8").rpartition("```gsg\n")[2].partition("```")[0]

LIMIT_S = 180
"""After this a demo that hangs is a failure; it takes about five seconds."""


@pytest.fixture
def films() -> gsg.Space:
    space = gsg.Space()
    space.insert(gsg.load(FILMS))
    return space


def titles(subscription: gsg.Subscription) -> set[str]:
    return {str(row["film"]).rpartition("/")[2] for row in subscription.rows()}


def test_the_film_data_has_at_least_300_distinct_triples() -> None:
    triples = list(gsg.load(FILMS))

    assert len(set(triples)) == len(triples) >= 300
    assert {len(triple) for triple in triples} == {3}


def test_figure_3_finds_the_films_by_one_director_and_those_with_one_actor(films: gsg.Space) -> None:
    by_spielberg, with_hanks = films.run(FIGURE_3)

    assert len(titles(by_spielberg)) == 34
    assert titles(with_hanks) == {"Saving_Private_Ryan", "Catch_Me_If_You_Can", "The_Terminal", "Bridge_of_Spies", "The_Post"}


def test_figure_3_follows_a_retraction(films: gsg.Space) -> None:
    by_spielberg, with_hanks = films.run(FIGURE_3)
    terminal = gsg.IRI("http://example.org/films/The_Terminal")
    played = (terminal, gsg.IRI("http://example.org/film/starring"), gsg.IRI("http://example.org/people/Tom_Hanks"))

    films.retract([played])

    assert "The_Terminal" in titles(by_spielberg)
    assert "The_Terminal" not in titles(with_hanks)


def test_every_film_has_a_title_a_year_and_a_director(films: gsg.Space) -> None:
    iri = "http://example.org/film/"
    label, kind = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    asked = f"(?film, <{kind}>, <{iri}Film>)"

    every = films.subscribe(asked)
    complete = films.subscribe(f"{asked}, (?film, <{label}>, *), (?film, <{iri}year>, *), (?film, <{iri}directedBy>, *)")

    assert titles(complete) == titles(every)


# One demo for all: of a module, each worker and each return to the module would run another.
@pytest.fixture(scope="session")
def demo() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "examples/demo.py"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def test_the_demo_ends_by_itself_and_complains_of_nothing(demo: subprocess.CompletedProcess[str]) -> None:
    assert (demo.returncode, demo.stderr) == (0, "")
    assert demo.stdout.endswith("Done; all peers have stopped.\n")


def test_the_demo_shows_its_scenes_in_order(demo: subprocess.CompletedProcess[str]) -> None:
    assert re.findall(r"^\((\w)\) ", demo.stdout, re.MULTILINE) == ["a", "b", "c", "d"]


def scene(demo: subprocess.CompletedProcess[str], letter: str) -> str:
    """What the demo prints in one of its scenes."""
    assert f"\n({letter}) " in demo.stdout, demo.stderr
    return re.split(r"\n\(\w\) ", demo.stdout.partition(f"\n({letter}) ")[2])[0]


def test_the_demo_flips_a_row_as_the_negated_group_becomes_complete_and_incomplete(demo: subprocess.CompletedProcess[str]) -> None:
    signs = re.findall(r"peer 5: ([-+!]) \?x=B1 \?y=B2 \?z=B3", scene(demo, "a"))

    assert signs == ["+", "-", "+"]


@pytest.mark.parametrize(
    "line",
    [
        "peer 6 has 34 films by Steven Spielberg",
        "1 for the first query, 1 more for the second, which has two conditions",
        "<http://example.org/films/Bridge_of_Spies>",
        "both answers have four rows now",
        "the overlay stores 0 templates more for it",
    ],
)
def test_the_demo_shows_the_films(demo: subprocess.CompletedProcess[str], line: str) -> None:
    assert line in " ".join(scene(demo, "b").split())


def test_the_demo_reports_a_row_of_an_event_and_keeps_none(demo: subprocess.CompletedProcess[str]) -> None:
    auction = " ".join(scene(demo, "c").split())

    assert re.search(r"peer 8: ! \?lot=lot\(123\) \?price=price\(250\) .*\?thing='a lamp'", auction)
    assert "rows now: 0" in auction


def test_the_demo_sells_to_the_bidder_with_the_highest_limit(demo: subprocess.CompletedProcess[str]) -> None:
    assert re.search(r"^Sold to ann@'127\.0\.0\.1' for \d+\.", scene(demo, "c"), re.MULTILINE)


def test_the_demo_ends_with_a_line_for_each_of_eight_peers(demo: subprocess.CompletedProcess[str]) -> None:
    table = scene(demo, "d")

    assert len(re.findall(r"^ *127\.0\.0\.1:\d+ +[\d.]+% ", table, re.MULTILINE)) == 8
    assert re.search(r"\d+ tuples published with \d+ messages between peers", table)


def test_the_demo_refuses_fewer_peers_than_its_scenes_need() -> None:
    refused = subprocess.run(
        [sys.executable, "examples/demo.py", "--peers", "3"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert refused.returncode == 2
    assert "--peers 3: the scenes need 8 peers or more" in refused.stderr


def printed(example: str) -> str:
    """What an example prints, which ends by itself and complains of nothing."""
    command = [sys.executable, f"examples/{example}.py"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


def test_four_processes_are_managed_by_their_events() -> None:
    lines = printed("managed").splitlines()
    [slow] = [line for line in lines if "took long" in line]
    lines.remove(slow)

    # Books take long; whatever else does on a busy machine is counted as well.
    assert int(slow.split()[-2]) >= 15
    assert lines == [
        "fault diagnosis:",
        "  15 times find: KeyError: 'unicorn'",
        "  15 times sell: KeyError: 'unicorn'",
        "intrusion detection:",
        "  mallory was refused 15 times",
        "performance analysis:",
        "accounting:",
        "  fred owes 140.00",
        "  joe owes 70.00",
        "who called whom:",
        "  nobody called serve 60 times",
        "  sell called find 45 times",
        "  serve called login 60 times",
        "  serve called sell 45 times",
    ]


def test_the_house_is_cooled_when_it_is_hot_and_let_alone_when_it_is_not() -> None:
    lines = [line[7:] for line in printed("house").splitlines()]

    assert lines.index("sensor: a reading every 5 minutes from now on") < lines.index("window: open")
    assert lines.index("window: open") < lines.index("sensor: a reading every 15 minutes from now on")
    assert "fault monitor: perhaps the radiator_temp_control in the kitchen" in lines
    assert lines.index("window: open") < lines.index("window: closed")


def test_auctions_run_side_by_side_and_end_with_whoever_may_pay_most() -> None:
    said = printed("auction")

    assert re.search(r"^Lot 123 goes to ann@'127\.0\.0\.1' for (450|500)\.$", said, re.MULTILINE)
    assert re.search(r"^Lot 200 goes to (carl|bill)@'127\.0\.0\.1' for \d+\.$", said, re.MULTILINE)


def test_agents_tell_what_they_are_asked_and_learn_a_rule() -> None:
    said = printed("querying")

    assert "kitchen_agent tells: kitchen has 1200 square feet" in said
    assert "bedroom_agent tells: bedroom has 900 square feet" in said
    assert "and concludes: study has 1500 square feet" in said


def test_tasks_are_let_to_the_lowest_bid() -> None:
    assert printed("contract_net").splitlines() == [
        "weld: 2 bids, done by jones@'127.0.0.1' for 30",
        "paint: 2 bids, done by brown@'127.0.0.1' for 20",
        "carry: 1 bids, done by brown@'127.0.0.1' for 10",
        "cook: nobody bids",
    ]


def test_gatekeeper_lets_in_what_its_rules_cover_and_lets_out_no_secret() -> None:
    lines = printed("gatekeeper").splitlines()

    assert "not take this secret" in lines[0]
    assert [line for line in lines if line.startswith("inward")] == ["inward:  open(lobby, ann)"]
    assert [line for line in lines if line.startswith("outward")] == ["outward: opened(lobby)"]
    assert [line for line in lines if "opens for" in line] == ["         the lobby opens for ann"]


def test_example_whose_reader_goes_away_ends_without_a_complaint() -> None:
    house = subprocess.Popen(
        [sys.executable, "-u", ROOT / "examples" / "house.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert house.stdout is not None
    house.stdout.readline()
    house.stdout.close()

    assert house.stderr is not None
    assert (house.stderr.read(), house.wait(LIMIT_S)) == (b"", 0)
    house.stderr.close()
