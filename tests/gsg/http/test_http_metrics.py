"""``/metrics``, as Prometheus reads it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from plain_http import request
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from gsg import AsyncClient, Peer
from gsg.errors import Refused
from gsg.http.door import HttpDoor
from gsg.monitoring.metrics import COUNTED, LOCAL, STATUS, Kind
from gsg.monitoring.vitals import Vitals
from gsg.wire.status_messages import Count

pytestmark = pytest.mark.waits

PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.9,text/plain;version=0.0.4;q=0.8"


async def test_a_prometheus_parser_reads_what_was_counted(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a", 1), ("b", 2)])

    answer = await request(door, "GET", "/metrics")

    families = {family.name: family for family in parser.text_string_to_metric_families(answer.text)}
    samples = {sample.name: sample.value for family in families.values() for sample in family.samples}
    assert (answer.status, answer.media_type) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert (samples["gsg_facts"], samples["gsg_published_total"], samples["gsg_ready"], samples["gsg_peers"]) == (2, 2, 1, 1)
    assert samples["gsg_publish_acknowledge_seconds_count"] == 1
    assert families["gsg_build_info"].samples[0].labels["version"]
    assert samples["process_start_time_seconds"] > 0


async def test_openmetrics_is_spoken_where_it_is_asked_for(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/metrics", headers={"accept": PROMETHEUS})

    families = {family.name: family for family in openmetrics.text_string_to_metric_families(answer.text)}
    assert answer.media_type.startswith("application/openmetrics-text; version=1.0.0")
    assert (families["gsg_sent_bytes"].type, families["gsg_sent_bytes"].unit) == ("counter", "bytes")
    assert (families["gsg_event_row_seconds"].type, families["gsg_build"].type) == ("histogram", "info")


async def test_each_figure_has_the_type_and_the_help_of_the_registry(door: HttpDoor) -> None:
    body = (await request(door, "GET", "/metrics", headers={"accept": PROMETHEUS})).text
    families = {family.name: family for family in openmetrics.text_string_to_metric_families(body)}

    counted = {one.name for one in (await door._peer.vitals.own_status()).counts}
    counted |= {metric.name for metric in (*STATUS, *LOCAL) if not metric.name.startswith("disk_")}
    expected = [metric for metric in (*STATUS, *LOCAL, *COUNTED) if metric.name in counted]
    assert len(expected) > 40
    assert [
        metric.name
        for metric in expected
        if (families[metric.family].type, families[metric.family].documentation) != (metric.kind.value, metric.help)
    ] == []


async def test_what_the_registry_does_not_know_is_told_as_unknown(door: HttpDoor) -> None:
    door._peer.counters.add(lambda: [Count("strange_things", 3)])

    body = (await request(door, "GET", "/metrics", headers={"accept": PROMETHEUS})).text

    [family] = [each for each in openmetrics.text_string_to_metric_families(body) if each.name == "gsg_strange_things"]
    assert (family.type, family.samples[0].value) == ("unknown", 3)


async def test_where_too_many_ask_it_is_said(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(_: Vitals) -> None:
        raise Refused("100 questions wait")

    monkeypatch.setattr(Vitals, "own_status", refuse)

    answer = await request(door, "GET", "/metrics")

    assert (answer.status, answer.text) == (503, "100 questions wait\n")


async def test_the_disk_is_told_of_where_there_is_one(door: HttpDoor, tmp_path: Path) -> None:
    async with Peer(data=tmp_path / "data") as peer, HttpDoor(peer, port=0) as kept:
        while not (await peer.vitals.own_status()).disk_free_bytes:  # noqa: ASYNC110  # a thread looks, when it comes to it
            await asyncio.sleep(0)
        with_disk, without = (await request(kept, "GET", "/metrics")).text, (await request(door, "GET", "/metrics")).text

    assert ("gsg_disk_free_bytes" in with_disk, "gsg_disk_free_bytes" in without) == (True, False)


def test_histograms_are_told_as_such() -> None:
    assert [metric.name for metric in LOCAL if metric.kind is Kind.HISTOGRAM] == ["publish_acknowledge", "event_row"]
