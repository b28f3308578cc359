"""All that a peer says of itself in figures, once: ``gsg status``, ``/metrics`` and the tables of docs/operating.md agree on it.

A figure has one name everywhere; ``/metrics`` puts ``gsg_`` before it, and its unit and ``_total`` behind it as Prometheus asks
(https://prometheus.io/docs/practices/naming/). Those who count say a name and a number (``Count``), and nothing of what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How a figure moves."""

    COUNTER = "counter"
    """Counts since the peer's start, and only grows."""
    GAUGE = "gauge"
    """How it is now."""
    HISTOGRAM = "histogram"
    """How often it took how long, since the start."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One of them; ``unit`` is seconds or bytes, and empty for what is counted."""

    name: str
    kind: Kind
    help: str
    unit: str = ""

    @property
    def family(self) -> str:
        """Its name for Prometheus, without what marks a counter."""
        of_unit = self.name.removesuffix(f"_{self.unit}") if self.unit else self.name
        return f"gsg_{of_unit}_{self.unit}" if self.unit else f"gsg_{of_unit}"

    @property
    def sample(self) -> str:
        """The name of its series, by which alert rules and pages ask for it."""
        return {Kind.COUNTER: f"{self.family}_total", Kind.GAUGE: self.family, Kind.HISTOGRAM: f"{self.family}_bucket"}[self.kind]


def _all(kind: Kind, helps: dict[str, str], *, unit: str = "") -> Iterator[Metric]:
    return (Metric(name, kind, said, unit) for name, said in helps.items())


STATUS = (
    *_all(
        Kind.GAUGE,
        {
            "facts": "distinct facts held",
            "entries": "facts under keys: a fact held under two keys counts twice",
            "keys": "keys that something is held under",
            "templates": "templates of all subscribers that are posted here",
            "feeds": "subscribers of those templates",
            "standby": "templates that stand by for when the peer dies that feeds their subscribers",
            "links": "links to other peers",
        },
    ),
    *_all(
        Kind.COUNTER,
        {
            "published": "tuples that came in by this peer's doors",
            "matched": "tuples that were forwarded to subscribers",
            "sent_messages": "messages to other peers",
        },
    ),
    Metric("sent_bytes", Kind.COUNTER, "bytes of messages to other peers", "bytes"),
    *_all(
        Kind.GAUGE,
        {
            "memory_bytes": "memory of the process",
            "disk_bytes": "length of what the data directory has",
            "disk_free_bytes": "what is free where the data directory is",
        },
        unit="bytes",
    ),
)
"""Those that have a field of their own in PeerStatus."""

LOCAL = (
    *_all(
        Kind.GAUGE,
        {
            "ready": "1 where /readyz says yes, 0 else",
            "peers": "peers that this one knows, itself included",
        },
    ),
    Metric("loop_late", Kind.GAUGE, "by how much the event loop's last look at the clock came too late", "seconds"),
    Metric(
        "publish_acknowledge",
        Kind.HISTOGRAM,
        "from a call that publishes at this peer until all holders have acknowledged; without the events of the Pedro door that "
        "are passed on within this peer",
        "seconds",
    ),
    Metric(
        "event_row",
        Kind.HISTOGRAM,
        "from an event that was published at this peer until its rows are with subscriptions here; of some of the events",
        "seconds",
    ),
)
"""Those that the peer alone knows that is asked, and are in ``/metrics`` alone."""

COUNTED = (
    *_all(
        Kind.COUNTER,
        {
            "disk_writes": "groups of changes written to disk",
            "disk_facts_written": "facts in them",
            "disk_failures": "times that writing to disk failed",
            "disk_refused": "changes that were refused because the disk failed or did not keep up",
            "disk_records_damaged": "records of the disk that were lost, or written anew from memory",
            "disk_records_corrected": "records of the disk that had one wrong bit, which was put right",
            "feed_changes_received": "changes of facts that came to subscriptions of this peer, once for each condition",
            "feed_facts_received": "facts that came to them because they were there already, or again after a gap",
            "feed_events_received": "events that came to them, once for each rendezvous that sent them",
            "links_held": "times that a link took no more and was held",
            "gaps_of_slow_links": "feeds whose changes were not kept and that started from a snapshot",
            "templates_fanned_out": "templates with so many subscribers that some of these pass them on",
            "heads_dismissed": "subscribers that passed on and were too slow for it",
            "events_missed_by_slow_links": "events that were not kept for links that were held",
            "events_missed_by_broken_links": "events that went by links that broke, and that no other link told",
            "events_missed_here": "events that did not come to subscriptions of this peer",
            "events_not_sent_again": "events of a rendezvous that is gone, that were not sent to the next one",
            "told_out_of_order": "events and messages of facts that were told without what was to come before them",
            "retractions_forgotten": "retractions that were forgotten before their hour",
            "subscriptions_differences_dropped": "differences that readers did not read in time",
            "subscriptions_ended_unread": 'subscriptions that ended because of overflow="error"',
            "http_clients_lost": "clients of the HTTP door that died, lost their connection or were cut off",
            "http_connections_refused": "connections to the HTTP door that found no place or no file handle, or gave theirs up",
            "http_handshakes_failed": "connections to the HTTP door whose TLS handshake did not come to its end",
            "http_tokens_refused": "requests to the HTTP door that showed what is no token of it",
            "http_requests_refused": "requests to the HTTP door for another host, from another page, or without a place",
            "quota_refused_peers": "times that a peer was refused because of its quota",
            "quota_refused_clients": "times that a client was refused because of its quota",
            "log_lines_dropped": "lines of the log that could not be written",
            "tests_failed": "tests of conditions that failed for a defect, or are not known to the peer",
            "topic_events_delivered": "events of topics that were delivered to members here",
            "topic_events_missed": "events of topics that members had let go of before they came here",
            "topic_events_unreadable": "events of topics that were none",
            "topic_filter_events_unreadable": "events for filters of topics that were none",
            "topic_members_found_by_walks": "members of topics that were found by walking the overlay",
            "refused_other_network": "peers of another network that were refused",
            "refused_not_allowed": "peers that were refused because they are not on a list",
            "refused_tls_only": "peers that were refused because their links are plain",
            "refused_plain_only": "peers that were refused because their links are TLS",
            "refused_id_not_proved": "messages and links that did not prove their id",
            "refused_not_signed": "messages that were not signed",
            "refused_same_id": "processes that run with this peer's key",
            "refused_unlisted": "peers that this one asked for and does not allow",
            "pedro_lines_refused": "lines at the Pedro door that were answered 0",
            "pedro_connections_refused": "connections to the Pedro door that were closed at once",
            "pedro_handshakes_given_up": "clients of the Pedro door that did not say their id in time, or not the right one",
            "pedro_tls_handshakes_failed": "connections to the Pedro door whose TLS handshake did not come to its end",
            "pedro_clients_cut_off": "clients of the Pedro door that did not read their deliveries",
            "pedro_hosts_unknown": "host names at the Pedro door that have no address",
            "pedro_notifications_forgotten": "notifications that the Pedro door forgot before their time",
            "pedro_goals_mistyped": "matches of Pedro goals that failed by a type error",
            "pedro_goals_exhausted": "matches of Pedro goals that needed more steps, or longer numbers, than one may have",
        },
    ),
    *_all(
        Kind.GAUGE,
        {
            "disk_waiting": "changed facts that wait for the disk",
            "http_token_file_stale": "1 where the token file of the HTTP door cannot be read, and what it said before holds",
            "feeds_stale": "feeds that subscriptions of this peer lack",
        },
    ),
)
"""Those that parts and doors count (:class:`gsg.monitoring.status.Counters`)."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*STATUS, *LOCAL, *COUNTED)}
"""All of them, by name."""


def is_gauge(name: str) -> bool:
    """Whether a figure says how it is now; one that the registry does not know, as of a door of somebody else's, counts."""
    return name in METRICS and METRICS[name].kind is Kind.GAUGE
