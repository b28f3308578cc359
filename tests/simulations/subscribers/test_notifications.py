"""What peers receive is what going through tuples and feeds one by one comes to."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from gsg.placement.rules import NOWHERE, REPLICAS, Anchor
from simulations.engine.ownership import Ownership
from simulations.errors import BadParameter
from simulations.subscribers.counting import in_one_thread, on_spark
from simulations.subscribers.frames import frames_of
from simulations.subscribers.notifications import (
    Kind,
    Notified,
    notified,
    sent_directly,
)
from simulations.subscribers.templates import anchors_by_rule, ids_of, peers_of_subscribers, rendezvous_of
from simulations.workload.workload import Subscriptions, Synthetic, parse_mix

PEERS = 5
SEED = 5
MIX = parse_mix("?po=2,sp?=2,?p?=1,s??=1,??o=1,s?o=1,spo=1,???=1")
FRAMES = frames_of()


def workload_of(tuples: int = 300) -> tuple[Synthetic, Subscriptions]:
    """Few constants, so that much matches."""
    workload = Synthetic(tuples, (12, 4, 12), seed=3)
    return workload, workload.subscriptions(80, MIX, SEED)


def run(rule: Anchor, kind: Kind, batch: int = 1, *, spark: object = None) -> Notified:
    """One run over five peers."""
    workload, wanted = workload_of()
    count = in_one_thread() if spark is None else on_spark(spark, partitions=3)  # type: ignore[arg-type]  # the fixture's
    return notified(
        workload, wanted, ids=ids_of(PEERS, SEED), rule=rule, count=count, frames=FRAMES, seed=SEED, kind=kind, batch=batch
    )


def one_by_one(rule: Anchor, kind: Kind) -> tuple[Counter[int], Counter[int], Counter[int]]:
    """Notifications by peer; those by others' links; and tuples by how many copies they make."""
    workload, wanted = workload_of()
    anchors = anchors_by_rule(rule, wanted, workload)
    ownership = Ownership(ids_of(PEERS, SEED))
    rendezvous = rendezvous_of(wanted, anchors, workload, ownership).tolist()
    homes = ownership.owners(workload.constants[0].keys).tolist()
    peers = peers_of_subscribers(len(wanted), PEERS, SEED).tolist()
    told: Counter[int] = Counter()
    by_links: Counter[int] = Counter()
    spread: Counter[int] = Counter()
    for codes in zip(*(column.tolist() for column in workload.chunk(0, workload.tuples).codes), strict=True):
        copies: dict[tuple[object, ...], int] = {}
        for number, peer in enumerate(peers):
            pattern = tuple(wanted.codes[:, number].tolist())
            if not all(wanted_code in (-1, code) for wanted_code, code in zip(pattern, codes, strict=True)):
                continue
            at = rendezvous[number]
            if kind is Kind.FACTS:
                copies[peer, pattern, at] = min(REPLICAS, PEERS) if at == NOWHERE else 1
            else:
                copies[peer, homes[codes[0]] if at == NOWHERE else at] = 1
        for key, times in copies.items():
            told[int(str(key[0]))] += times
            by_links[int(str(key[0]))] += times * (key[-1] != key[0])
        spread[sum(copies.values())] += 1
    return told, by_links, spread


@pytest.mark.parametrize("rule", list(Anchor))
@pytest.mark.parametrize("kind", list(Kind))
def test_peers_receive_what_going_one_by_one_comes_to(rule: Anchor, kind: Kind) -> None:
    told, _, spread = one_by_one(rule, kind)

    found = run(rule, kind)

    assert found.notifications.tolist() == [told[peer] for peer in range(PEERS)]
    assert found.messages.tolist() == found.notifications.tolist()
    # Fewer than are counted in classes of several.
    assert dict(enumerate(found.matches.spread[:60].tolist())) == {copies: spread[copies] for copies in range(60)}
    assert found.copies == sum(told.values()) / 300
    assert found.busiest == max(told.values()) / sum(told.values())


def test_events_come_once_for_all_templates_at_a_rendezvous() -> None:
    facts, events = run(Anchor.PREDICATE, Kind.FACTS), run(Anchor.PREDICATE, Kind.EVENTS)

    assert events.matches.repeated.sum() > 0
    assert (events.notifications < facts.notifications).all()


def test_bytes_are_those_of_links_alone() -> None:
    workload, _ = workload_of()
    wanted = workload.subscriptions(80, parse_mix("?po=1,sp?=1,s?o=1"), SEED)
    given = {"ids": ids_of(PEERS, SEED), "count": in_one_thread(), "frames": FRAMES, "seed": SEED}

    found = notified(workload, wanted, rule=Anchor.RAREST, **given)  # type: ignore[arg-type]  # by their names

    feeds = found.feeds
    at = rendezvous_of(
        feeds.templates, anchors_by_rule(Anchor.RAREST, feeds.templates, workload), workload, Ownership(ids_of(PEERS, SEED))
    )
    by_links = [
        int(found.matches.met[feeds.template[(feeds.peer == peer) & (at[feeds.template] != peer)]].sum()) for peer in range(5)
    ]
    assert found.bytes.tolist() == pytest.approx([count * (FRAMES.deltas + FRAMES.fact) for count in by_links])
    assert sum(by_links) < found.notifications.sum()
    assert found.sent.sum() == found.notifications.sum()


def test_many_facts_of_one_call_come_in_fewer_messages() -> None:
    alone, together = run(Anchor.RAREST, Kind.FACTS), run(Anchor.RAREST, Kind.FACTS, 50)

    assert together.notifications.tolist() == alone.notifications.tolist()
    assert (together.messages < alone.messages).all()
    assert (together.bytes < alone.bytes).all()


def test_on_spark_events_are_those_of_one_thread(spark: object) -> None:
    found, again = run(Anchor.RAREST, Kind.EVENTS, spark=spark), run(Anchor.RAREST, Kind.EVENTS)

    assert found.notifications.tolist() == again.notifications.tolist()
    assert found.bytes.tolist() == again.bytes.tolist()


def test_events_under_bounds_are_refused_by_name() -> None:
    workload = Synthetic(300, (12, 4, 12), seed=3)
    wanted = workload.subscriptions(10, parse_mix("??b=1"), SEED)
    given = {"ids": ids_of(PEERS, SEED), "count": in_one_thread(), "frames": FRAMES, "seed": SEED, "rule": Anchor.RAREST}

    with pytest.raises(BadParameter, match="events with conditions with bounds"):
        notified(workload, wanted, kind=Kind.EVENTS, **given)  # type: ignore[arg-type]  # by their names
    with pytest.raises(BadParameter, match="events with messages of 7"):
        notified(workload, workload_of()[1], kind=Kind.EVENTS, batch=7, **given)  # type: ignore[arg-type]  # as above


def test_beyond_a_number_of_subscribers_a_rendezvous_sends_to_heads() -> None:
    assert sent_directly(np.array([0, 1, 64, 65, 100, 10_000])).tolist() == [0, 1, 64, 9, 10, 64]


def test_frames_are_measured_by_encoding() -> None:
    short, long = frames_of(10), frames_of(100)

    assert 3 * 90 <= long.fact - short.fact <= 3 * 91
    assert long.deltas - short.deltas <= 3
    assert 30 < short.deltas < 60
    assert short.event > short.fact
    assert 0 < short.number <= 5
