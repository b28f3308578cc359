"""A peer's own figures as Prometheus reads them: text, or OpenMetrics where that is asked for.

Its own alone: each peer is scraped, and one that told of others would make N times N answers. What each figure is stands in
metrics.py; what prometheus-client knows of the process (memory, processor time, file handles, its start) comes with it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ..wire.status_messages import PeerStatus
from .health import failing, ready_checks
from .metrics import METRICS, STATUS, Kind
from .vitals import Vitals

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


class Scrape(NamedTuple):
    """What is answered."""

    body: bytes
    media_type: str


class Exposition:
    """That of one peer. prometheus-client is imported when it is made."""

    def __init__(self, vitals: Vitals) -> None:
        from prometheus_client import CollectorRegistry, ProcessCollector

        self._vitals = vitals
        self._own = _Collected()
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self._own)
        ProcessCollector(registry=registry)
        self._registry = registry

    async def scrape(self, accept: str) -> Scrape:
        """All figures now, in the form that an Accept header asks for. Raises Refused where too many ask already."""
        from prometheus_client.exposition import choose_encoder

        status = await self._vitals.own_status()
        encode, media_type = choose_encoder(accept)
        self._own.families = list(_families(status, self._vitals))
        return Scrape(encode(self._registry), media_type)


class _Collected:
    """What the registry asks, which cannot wait: it is collected before."""

    def __init__(self) -> None:
        self.families: list[Family] = []

    def collect(self) -> list[Family]:
        """As prometheus-client calls it."""
        return self.families


def _families(status: PeerStatus, vitals: Vitals) -> Iterator[Family]:
    from prometheus_client.metrics_core import HistogramMetricFamily, InfoMetricFamily

    build = {"version": status.version, "python": platform.python_version(), "peer": status.peer.hex()}
    yield InfoMetricFamily("gsg_build", "which version this is, and which peer", value=build)
    state = vitals.state()
    values: dict[str, float] = {metric.name: getattr(status, metric.name) for metric in STATUS}
    for absent in _unknown(status):
        del values[absent]
    values |= {"ready": not failing(ready_checks(state)), "peers": state.peers, "loop_late": state.loop_late_s}
    values |= {one.name: one.count for one in status.counts}
    for name, value in values.items():
        yield _family(name, value)
    for name, histogram in (("publish_acknowledge", vitals.timings.acknowledge), ("event_row", vitals.timings.event_row)):
        metric = METRICS[name]
        # Its unit is in its name already.
        yield HistogramMetricFamily(metric.family, metric.help, histogram.buckets(), histogram.sum_s, unit=metric.unit)


def _unknown(status: PeerStatus) -> list[str]:
    """What the peer does not know: no series is better than one of zeros, which alerts would take for a full disk."""
    no_directory = not status.disk_bytes and not status.disk_free_bytes
    return [*([] if status.memory_bytes else ["memory_bytes"]), *(["disk_bytes", "disk_free_bytes"] if no_directory else [])]


def _family(name: str, value: float) -> Family:
    from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, UnknownMetricFamily

    metric = METRICS.get(name)
    if metric is None:
        # A door of somebody else's counts what it likes.
        return UnknownMetricFamily(f"gsg_{name}", "counted by a part of this peer that its registry does not know", value)
    if metric.kind is Kind.COUNTER:
        return CounterMetricFamily(metric.family, metric.help, value, unit=metric.unit)
    return GaugeMetricFamily(metric.family, metric.help, value, unit=metric.unit)
