"""benchmarks/fan_out.py runs at small sizes, and a delivery that is wrong does not go unnoticed."""

from __future__ import annotations

import json
import sys

import pytest

from benchmarks import fan_out

pytestmark = pytest.mark.waits


def test_it_runs_at_small_sizes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(fan_out, "QUICK", fan_out.Sizes(at_rate=30, fast=30))
    monkeypatch.setattr(fan_out, "has_program", lambda name: False)
    monkeypatch.setattr(sys, "argv", ["fan_out", "--quick", "--json", "--peers", "2", "--subscribers", "20"])

    assert fan_out.main() == 0

    said = capsys.readouterr()
    [figure] = json.loads(said.out)["figures"]
    assert figure["name"] == "peers"
    assert figure["per_s"] > 0
    assert "nats     left out" in said.err
    assert "the fan-out over subscriber peers begins beyond 64: with --peers 2 it does not" in said.err


def test_its_help_says_the_numbers_that_hold() -> None:
    said = fan_out.__doc__ or ""

    assert f"at {fan_out.WANTED_PER_S:,} a second" in said
    assert f"every {fan_out.SAMPLED}th subscriber" in said
    assert f"more than {fan_out.MOST_DIRECT} of them" in said


def test_a_tuple_is_of_the_length_that_is_said() -> None:
    assert len(fan_out.tuple_text(123)) == fan_out.TUPLE_BYTES


@pytest.mark.parametrize(
    ("service", "came"),
    [
        (fan_out.PedroDoors([1]), b"0 t(1)\n0 t(2)\n0 t"),
        (fan_out.Nats(1), b"MSG t 1 4\r\nt(1)\r\nMSG t 1 4\r\nt(2)\r\nMSG t"),
    ],
    ids=["peers", "nats"],
)
def test_what_came_in_part_is_no_tuple(service: fan_out.Service, came: bytes) -> None:
    assert service.lines(came) == [b"t(1)", b"t(2)"]
