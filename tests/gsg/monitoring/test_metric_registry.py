"""Every figure is in the registry, with the name that Prometheus asks for."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import dht
from gsg.http.door import HttpDoor
from gsg.monitoring.metrics import COUNTED, LOCAL, METRICS, STATUS, Kind, Metric, is_gauge
from gsg.peer import Peer
from gsg.wire.status_messages import PeerStatus
from pedro_compat import PedroDoor

ROOT = Path(__file__).resolve().parents[3]


def counts_in(path: Path) -> set[str]:
    """The names of ``Count("...")`` in a file."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") == "Count"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    }


def test_every_count_in_the_code_is_in_the_registry() -> None:
    written = {name for folder in ("gsg", "pedro_compat") for path in (ROOT / folder).rglob("*.py") for name in counts_in(path)}

    assert len(written) > 20
    assert written - set(METRICS) == set()


def test_every_reason_to_refuse_a_peer_is_in_the_registry() -> None:
    assert {f"refused_{refusal.name.lower()}" for refusal in dht.Refusal} == {
        name for name in METRICS if name.startswith("refused_")
    }


async def test_what_a_peer_with_all_doors_counts_is_in_the_registry_and_the_other_way_round(tmp_path: Path) -> None:
    async with Peer(data=tmp_path / "data") as peer, HttpDoor(peer, port=0), PedroDoor(peer, port=0), peer_with_a_goal(peer):
        counted = {one.name for one in (await peer.vitals.own_status()).counts}

    apart = {f"refused_{refusal.name.lower()}" for refusal in dht.Refusal} | {"log_lines_dropped"}
    assert counted - set(METRICS) == set()
    assert {metric.name for metric in COUNTED} - counted - apart == set()


class peer_with_a_goal:  # noqa: N801  # a context manager
    """A subscription with a Pedro goal: its kind of test counts from then on."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def __aenter__(self) -> None:
        from gsg.rendezvous import condition_tests

        condition_tests._registered("pedro")

    async def __aexit__(self, *_: object) -> None:
        pass


def test_fields_of_a_status_are_in_the_registry() -> None:
    fields = set(PeerStatus.__struct_fields__) - {"request", "peer", "address", "counts", "version", "started_s"}

    assert {metric.name for metric in STATUS} == fields


def test_names_are_unique_and_those_that_prometheus_takes() -> None:
    everything = (*STATUS, *LOCAL, *COUNTED)

    assert [name for name, count in Counter(metric.sample for metric in everything).items() if count > 1] == []
    assert [metric.name for metric in everything if not re.fullmatch(r"gsg_[a-z_]+", metric.sample)] == []
    assert [metric.name for metric in everything if metric.help.endswith(".") or not metric.help] == []


@pytest.mark.parametrize(
    ("name", "sample"),
    [
        ("published", "gsg_published_total"),
        ("sent_bytes", "gsg_sent_bytes_total"),
        ("memory_bytes", "gsg_memory_bytes"),
        ("loop_late", "gsg_loop_late_seconds"),
        ("event_row", "gsg_event_row_seconds_bucket"),
        ("feeds_stale", "gsg_feeds_stale"),
    ],
)
def test_a_series_has_its_unit_and_what_marks_a_counter_in_its_name(name: str, sample: str) -> None:
    assert METRICS[name].sample == sample


def test_what_is_so_now_is_told_from_what_counts() -> None:
    assert [is_gauge(name) for name in ("disk_waiting", "disk_writes", "of_somebody_else")] == [True, False, False]
    assert Metric("x", Kind.GAUGE, "x").family == "gsg_x"
