"""``gsg simulate`` for experiments that are sweeps over parameters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gsg import __version__
from gsg.cli import main

SMALL = {
    "churn": (
        *("--peers", "60", "--tuples", "2000", "--subscriptions", "50", "--replicas", "1,3", "--dying", "0.2,0.3"),
        *("--epochs", "2", "--runs", "2", "--strategy", "rarest", "--strategy", "grid-1"),
    ),
    "churn --lifetimes": (
        *("--peers", "60", "--tuples", "400", "--subscriptions", "50", "--replicas", "1,3", "--lifetimes", "weibull,yao"),
        *("--days", "1", "--runs", "2"),
    ),
    "dissemination": (
        *("--peers", "40,60", "--views", "5,10", "--exchanged", "4", "--removed", "0.2,0.5", "--runs", "2"),
        *("--subscribers", "0.5,1", "--settle", "3", "--rounds", "4", "--events", "3"),
    ),
    "routing": ("--peers", "200", "--lookups", "100", "--k", "2,8", "--dead", "0,0.5"),
}


LISTED = ",".join(map(str, range(1, 101)))
MANY = ",".join(f"0.{number:03}" for number in range(100))
SHARES = ",".join(f"0.{number}" for number in range(10, 21))


def simulate(experiment: str, *arguments: str, out: Path) -> Result:
    """Run a small one in this process."""
    return CliRunner().invoke(main, ["simulate", experiment.split()[0], *SMALL[experiment], *arguments, "--out", str(out)])


@pytest.mark.parametrize("experiment", SMALL)
def test_a_table_is_printed_and_everything_left_in_a_folder(experiment: str, tmp_path: Path) -> None:
    ran = simulate(experiment, "--engine", "numpy", out=tmp_path)

    assert ran.exit_code == 0, ran.output
    assert "…" not in ran.output
    assert f"results, configuration and report.html are in {tmp_path}" in " ".join(ran.stdout.split())
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "summary.json", "configuration.json"}


def one_engine_and_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs say of themselves is the same for all."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr("gsg.cli.simulate.running.numpy_told", lambda: "some engine")
    monkeypatch.setattr("gsg.cli.simulate.running.spark_told", lambda _: "some engine")


@pytest.mark.parametrize("experiment", SMALL)
def test_a_report_says_what_ran_and_what_made_it(experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    monkeypatch.setattr("simulations.engine.provenance.commit", lambda: "0123456789ab")

    simulate(experiment, "--engine", "numpy", out=tmp_path)

    text = (tmp_path / "report.html").read_text()
    said = json.loads((tmp_path / "configuration.json").read_text())
    told = {"version": __version__, "commit": "0123456789ab", "date": "2023-11-14 22:13 UTC"}
    assert {name: said[name] for name in told} == told
    assert re.fullmatch(r"numpy [\d.]+, one thread", said["engine"])
    for name in (*told, "engine"):
        assert f"<tr><th>{name}</th><td>{said[name]}</td></tr>" in text
    assert "all standard" not in text


def test_the_report_of_churn_names_the_strategies_that_ran(tmp_path: Path) -> None:
    few = ("--peers", "60", "--tuples", "2000", "--replicas", "2", "--runs", "1", "--engine", "numpy")

    CliRunner().invoke(main, ["simulate", "churn", *few, "--out", str(tmp_path / "usual")])
    CliRunner().invoke(
        main, ["simulate", "churn", *few, "--strategy", "grid", "--strategy", "random", "--out", str(tmp_path / "two")]
    )

    assert "<tr><th>strategies</th><td>rarest</td></tr>" in (tmp_path / "usual" / "report.html").read_text()
    assert "<tr><th>strategies</th><td>grid-10, random</td></tr>" in (tmp_path / "two" / "report.html").read_text()


@pytest.mark.parametrize("option", [("--partitions", "3"), ("--master", "local[2]")])
def test_what_one_thread_would_not_look_at_is_refused(option: tuple[str, str], tmp_path: Path) -> None:
    ran = simulate("routing", "--engine", "numpy", *option, out=tmp_path / "out")

    assert (ran.exit_code, ran.stderr) == (
        2,
        f"gsg: {' '.join(option)} is for Spark; --engine numpy counts in one thread: leave one of them out\n",
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("experiment", SMALL)
def test_spark_and_one_thread_say_the_same(experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one_engine_and_date(monkeypatch)
    of_spark = simulate(experiment, "--json", "--master", "local[2]", "--partitions", "3", out=tmp_path / "a")
    alone = simulate(experiment, "--json", "--engine", "numpy", out=tmp_path / "b")

    assert of_spark.exit_code == alone.exit_code == 0, of_spark.output
    assert json.loads(of_spark.stdout) == json.loads(alone.stdout)
    for made in (tmp_path / "a").iterdir():
        assert made.read_bytes() == (tmp_path / "b" / made.name).read_bytes()


@pytest.mark.parametrize(
    ("experiment", "arguments", "complaint"),
    [
        ("churn", ("--peers", "1"), "1 peers; expected 2 to"),
        ("churn", ("--tuples", "0"), "0 tuples; expected 1 to"),
        ("churn", ("--subscriptions", "0"), "0 subscriptions; expected 1 to"),
        ("churn", ("--strategy", "fastest"), "unknown strategy 'fastest'; expected predicate"),
        ("churn", ("--mix", "abc"), "pattern 'abc' of the mix 'abc'"),
        ("churn", ("--replicas", "61"), "61 holders of a key among 60 peers; expected 1 to 60"),
        ("churn", ("--dying", "1"), "a share of 1 peers that die; expected 0 or more, and less than 1"),
        ("churn", ("--dying", "a"), "--dying 'a'; expected numbers between commas"),
        ("churn", ("--epochs", "0"), "0 epochs; expected 1 to"),
        ("churn", ("--runs", "0"), "0 runs; expected 1 to"),
        ("churn", ("--peers", "60,x"), "--peers '60,x'; expected whole numbers between commas"),
        ("churn", ("--zipf", "1"), "--zipf '1'; expected three numbers between commas, for subject, predicate, object"),
        (
            "churn --lifetimes",
            ("--lifetimes", "weibull,uniform"),
            "lifetimes 'uniform'; expected exponential, weibull, pareto or yao",
        ),
        ("churn --lifetimes", ("--graceful", "2"), "a share of 2 peers that leave in order; expected 0 to 1"),
        ("churn --lifetimes", ("--mean-hours", "0"), "lives of 0 hours in the mean; expected 0.1 or more"),
        ("churn --lifetimes", ("--days", "0"), "0 days; expected 1 to 366"),
        ("churn --lifetimes", ("--kbit-per-s", "0"), "0 kbit/s between two peers; expected more than 0"),
        ("churn", ("--runs", "1000", "--dying", "0.1,0.2,0.3"), "12000 runs; expected 10000 at most: ask for fewer values"),
        ("churn", ("--strategy", "replicas-61"), "61 holders of a key among 60 peers; expected no more than there are peers"),
        (
            "churn",
            ("--peers", "67109", "--strategy", "virtual-1000"),
            "67109 peers under 1000 ids each; expected 67108 peers at most",
        ),
        (
            "dissemination",
            ("--runs", "1000", "--removed", "0.1,0.2,0.3,0.4,0.5,0.6"),
            "12001 runs; expected 10000 at most: ask for fewer values",
        ),
        ("dissemination", ("--runs", "1000", "--removed", "0.1", "--subscribers", SHARES), "11011 runs; expected 10000 at most"),
        ("routing", ("--k", LISTED, "--dead", MANY), "10200 runs; expected 10000 at most: ask for fewer values of some option"),
        ("dissemination", ("--peers", "1"), "1 agents; expected 2 to"),
        ("dissemination", ("--peers", "many"), "--peers 'many'; expected whole numbers between commas"),
        ("dissemination", ("--views", "40"), "views of 40 among 40 agents; expected 1 to 39"),
        ("dissemination", ("--exchanged", "0"), "0 neighbours exchanged of a view of 5; expected 1 to 5"),
        ("dissemination", ("--removed", "1"), "a share of 1 of 40 agents removed; expected 0 or more, and that some stay"),
        ("dissemination", ("--subscribers", "0.01"), "a share of 0.01 of 40 agents subscribe; expected two of them at least"),
        ("dissemination", ("--hop-ms", "-1,5"), "hops of -1 to 5 ms; expected the shorter one first, and none below 0"),
        ("dissemination", ("--hop-ms", "500,100"), "hops of 500 to 100 ms; expected the shorter one first, and none below 0"),
        ("dissemination", ("--hop-ms", "100,200,500"), "--hop-ms '100,200,500'; expected two numbers between commas"),
        ("dissemination", ("--hop-ms", "100"), "--hop-ms '100'; expected two numbers between commas"),
        ("dissemination", ("--rounds", "0"), "0 rounds; expected 1 to"),
        ("dissemination", ("--settle", "-1"), "-1 rounds to settle; expected 0 to"),
        ("dissemination", ("--round-s", "0"), "rounds of 0 s; expected more than 0"),
        ("dissemination", ("--events", "0"), "0 events; expected 1 to"),
        ("dissemination", ("--runs", "0"), "0 runs; expected 1 to"),
        ("routing", ("--peers", "0"), "0 peers; expected 2 to"),
        ("routing", ("--lookups", "-1"), "-1 lookups; expected 1 to"),
        ("routing", ("--k", "8,x"), "--k '8,x'; expected whole numbers between commas"),
        ("routing", ("--dead", "1.5"), "a share of 1.5 dead peers; expected 0 or more, and less than 1"),
        ("routing", ("--seed", "-1"), "seed -1; expected 0 to"),
    ],
)
def test_what_is_impossible_is_one_clear_line(experiment: str, arguments: tuple[str, ...], complaint: str, tmp_path: Path) -> None:
    ran = simulate(experiment, "--engine", "numpy", *arguments, out=tmp_path / "out")

    assert ran.exit_code == 2
    assert ran.stderr.startswith(f"gsg: {complaint}")
    assert ran.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("experiment", "arguments", "complaint"),
    [
        ("churn", ("--graceful", "0"), "--graceful is for peers that live by --lifetimes; leave it out, or give --lifetimes"),
        ("churn", ("--days", "3"), "--days is for peers that live by --lifetimes; leave it out, or give --lifetimes"),
        ("churn --lifetimes", ("--dying", "0.1"), "--dying is for churn in epochs; leave it out, or leave --lifetimes out"),
        ("churn --lifetimes", ("--epochs", "3"), "--epochs is for churn in epochs; leave it out, or leave --lifetimes out"),
    ],
)
def test_what_the_other_kind_of_churn_looks_at_is_refused(
    experiment: str, arguments: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    ran = simulate(experiment, "--engine", "numpy", *arguments, out=tmp_path / "out")

    assert (ran.exit_code, ran.stderr.splitlines()[-1]) == (2, f"Error: {complaint}")
    assert not (tmp_path / "out").exists()


def test_lists_of_peers_exponents_and_mixes_are_one_job(tmp_path: Path) -> None:
    lists = ("--peers", "60,90", "--zipf", "0.5,1,1", "--zipf", "0,0,0", "--mix", "?po=1", "--mix", "?p?=1")

    of_churn = simulate("churn", "--engine", "numpy", *lists, "--json", out=tmp_path / "churn")
    of_routing = simulate("routing", "--engine", "numpy", "--peers", "100,200", "--json", out=tmp_path / "routing")

    assert len(json.loads(of_churn.stdout)) == 2 * 2 * 2 * 2 * 2 * 2
    assert {(one["peers"], one["dead"]) for one in json.loads(of_routing.stdout)} == {
        (100, 0.0),
        (100, 0.5),
        (200, 0.0),
        (200, 0.5),
    }


@pytest.mark.parametrize("experiment", SMALL)
def test_no_java_is_one_clear_line(experiment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from simulations.errors import NoSpark

    def none(*_: object, **__: object) -> None:
        raise NoSpark("Spark needs Java 17 or newer (none is installed); install one")

    monkeypatch.setattr("simulations.engine.spark.session", none)

    ran = simulate(experiment, out=tmp_path)

    assert (ran.exit_code, ran.stderr) == (2, "gsg: Spark needs Java 17 or newer (none is installed); install one\n")


@pytest.mark.parametrize("experiment", SMALL)
def test_a_folder_that_is_a_file_is_one_clear_line(experiment: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    ran = simulate(experiment, "--engine", "numpy", out=tmp_path / "file")

    assert (ran.exit_code, ran.stderr.count("\n")) == (2, 1)
    assert ran.stderr.startswith("gsg: cannot write to ")
