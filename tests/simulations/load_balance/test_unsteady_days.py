"""Runs with drift, an adversary and capacities: what is asked for is written, and what strategies make of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulations.errors import BadParameter
from simulations.load_balance.balance import InOneThread, run
from simulations.load_balance.experiments import BalanceRequest, balance
from simulations.load_balance.peers import Peers
from simulations.load_balance.report import terminal_table
from simulations.load_balance.strategies import parse
from simulations.workload.unsteady import Adversary
from simulations.workload.workload import COMMON_MIX, Synthetic

USUAL = BalanceRequest(peers=40, tuples=3_000, subscriptions=50, strategies=("rarest", "choices-2"))
DAY = Synthetic(60_000, (4_000, 300, 4_000), (0.0, 0.0, 0.0), seed=4)
PEERS = Peers(100)


def busiest(strategy: str, workload: Synthetic) -> float:
    return run(parse(strategy), workload, workload.subscriptions(50, COMMON_MIX, 1), PEERS, InOneThread()).busiest_tuples


def test_what_was_asked_for_is_run_and_written(tmp_path: Path) -> None:
    request = replace(USUAL, drift=0.5, adversary="peer:0.1", capacity="1=9,10=1")

    found = balance(request, InOneThread, tmp_path)

    written = (tmp_path / "configuration.json").read_text()
    assert '"drift": 0.5' in written
    assert '"adversary": "peer:0.1"' in written
    assert '"capacity": "1=9,10=1"' in written
    page = (tmp_path / "report.html").read_text()
    assert "utilisation, max/mean" in page
    assert "most pointers" in page
    assert "utilised" in terminal_table(found.outcomes).columns
    assert all(one["utilisation_max_over_mean"] for one in found.summary())


def test_nothing_is_said_of_capacities_and_pointers_that_are_not_there(tmp_path: Path) -> None:
    found = balance(replace(USUAL, strategies=("rarest",)), InOneThread, tmp_path)

    page = (tmp_path / "report.html").read_text()
    assert "utilisation, max/mean" not in page
    assert "most pointers" not in page
    assert not {"utilisation_max_over_mean", "pointers"} & set(found.summary()[0])


def test_splits_do_not_see_what_is_spread_over_keys_of_one_peer() -> None:
    one_key, one_peer = (replace(DAY, adversary=Adversary(0.3, at)) for at in ("key", "peer"))

    assert busiest("hot-split-2", one_key) < 0.2 < 0.3 < busiest("hot-split-2", one_peer)
    assert busiest("bounded-1.25", one_peer) < 0.06
    assert busiest("demand", one_peer) < 0.2


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        ({"drift": 2.0}, "a drift of 2; expected a share of all tuples"),
        ({"drift": 0.0}, "a drift of 0; expected a share of all tuples"),
        ({"adversary": "all:1"}, "adversary 'all:1'; expected key:SHARE or peer:SHARE"),
        ({"capacity": "huge"}, "capacities 'huge': 'huge' is no class"),
        ({"drift": 0.5, "events": "x.nt", "tuples": None}, "--drift 0.5 is for synthetic tuples; those of x.nt are as they are"),
        ({"adversary": "key:0.1", "trace": "t", "tuples": None}, "--adversary key:0.1 is for synthetic tuples; those of t are"),
    ],
    ids=["too much drift", "no drift", "no such adversary", "no capacities", "drift of a file", "adversary of a trace"],
)
def test_what_cannot_be_is_refused(request_: dict[str, Any], complaint: str, tmp_path: Path) -> None:  # Any: fields of a request
    with pytest.raises(BadParameter, match=complaint):
        balance(replace(USUAL, **request_), InOneThread, tmp_path / "out")

    assert not (tmp_path / "out").exists()
