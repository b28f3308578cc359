"""Counts of matches are those of comparing each tuple with each template."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from simulations.subscribers.counting import Question, blocks_of, in_one_thread, matches_of, on_spark
from simulations.subscribers.matching import CLASSES, MatchCounter, Matches, chunks_of_batches, class_of, least_of
from simulations.subscribers.templates import Feeds, feeds_of, peers_of_subscribers
from simulations.workload.workload import COMMON_MIX, Mix, Subscriptions, Synthetic, parse_mix

PEERS = 7
PLAIN = parse_mix("?po=2,sp?=2,?p?=1,s??=1,??o=1,s?o=1,spo=1,???=1")
BOUNDED = parse_mix("?po=1,?pb=2,??b=2,??a=1,s?b=1,?p?=1,spa=1", width=0.2)


def asked(mix: Mix, *, subscriptions: int = 60, tuples: int = 500) -> tuple[Synthetic, Feeds]:
    """Few constants, so that much matches."""
    workload = Synthetic(tuples, (12, 4, 12), seed=3)
    wanted = workload.subscriptions(subscriptions, mix, 5)
    return workload, feeds_of(wanted, workload.constants, peers_of_subscribers(subscriptions, PEERS, 5))


def matches(workload: Synthetic, templates: Subscriptions) -> np.ndarray:
    """Whether each tuple matches each template, one by one."""
    codes = workload.chunk(0, workload.tuples).codes
    values = workload.constants[2].values
    assert values is not None
    found = np.zeros((workload.tuples, len(templates)), dtype=bool)
    for number, tuple_codes in enumerate(zip(*(column.tolist() for column in codes), strict=True)):
        for template in range(len(templates)):
            pattern = templates.codes[:, template].tolist()
            fits = all(wanted in (-1, code) for wanted, code in zip(pattern, tuple_codes, strict=True))
            if templates.bounds is not None:
                low, high = templates.bounds[:, template]
                fits = fits and low <= values[tuple_codes[2]] <= high
            found[number, template] = fits
    return found


@pytest.mark.parametrize("mix", [PLAIN, BOUNDED, COMMON_MIX], ids=["plain", "bounded", "common"])
@pytest.mark.parametrize("batch", [1, 8])
def test_counts_are_those_of_comparing_each_pair(mix: Mix, batch: int) -> None:
    workload, feeds = asked(mix)
    found = matches(workload, feeds.templates)

    counted = in_one_thread()(Question(workload, feeds.templates, feeds.audience, batch))

    in_batches = np.array([found[begin : begin + batch].any(axis=0) for begin in range(0, workload.tuples, batch)])
    assert counted.met.tolist() == found.sum(axis=0).tolist()
    assert counted.messages.tolist() == in_batches.sum(axis=0).tolist()
    assert counted.spread.tolist() == np.bincount(class_of(found @ feeds.audience), minlength=CLASSES).tolist()
    assert counted.met.sum() > 0


@pytest.mark.parametrize("mix", [PLAIN, BOUNDED], ids=["plain", "bounded"])
def test_chunks_add_up(mix: Mix) -> None:
    workload, feeds = asked(mix)
    counter = MatchCounter(feeds.templates, feeds.audience, workload.constants, batch=8)

    for begin, size in [(0, 200), (200, 48), (248, 252)]:
        counter.count_chunk(workload.chunk(begin, size).codes, begin)

    whole = in_one_thread()(Question(workload, feeds.templates, feeds.audience, 8))
    assert [part.tolist() for part in counter.matches] == [part.tolist() for part in whole]


def test_on_spark_as_in_one_thread(spark: object) -> None:
    workload, feeds = asked(BOUNDED, subscriptions=2_000, tuples=5_000)
    question = Question(workload, feeds.templates, feeds.audience, 4)

    counted = on_spark(spark, partitions=3)(question)  # type: ignore[arg-type]  # the fixture is a session

    assert [part.tolist() for part in counted] == [part.tolist() for part in in_one_thread()(question)]


def test_a_feed_is_a_template_of_a_peer_however_many_clients_have_it() -> None:
    workload, _ = asked(PLAIN)
    wanted = workload.subscriptions(300, PLAIN, 5)
    peers = peers_of_subscribers(300, PEERS, 5)

    feeds = feeds_of(wanted, workload.constants, peers)

    by_hand = {(tuple(codes), peer) for codes, peer in zip(wanted.codes.T.tolist(), peers.tolist(), strict=True)}
    made = [
        (tuple(feeds.templates.codes[:, template].tolist()), peer)
        for template, peer in zip(feeds.template.tolist(), feeds.peer.tolist(), strict=True)
    ]
    assert sorted(made) == sorted(by_hand)
    assert dict(Counter(template for template, _ in made)) == dict(Counter(codes for codes, _ in by_hand))
    assert (feeds.templates.codes[:, feeds.template_of] == wanted.codes).all()


def test_templates_that_differ_in_bounds_are_different() -> None:
    workload = Synthetic(500, (12, 4, 1_000), seed=3)
    wanted = workload.subscriptions(200, parse_mix("??b=1"), 5)

    assert wanted.bounds is not None
    feeds = feeds_of(wanted, workload.constants, peers_of_subscribers(200, PEERS, 5))

    assert len(feeds.templates) == len(np.unique(wanted.bounds, axis=1).T) > 1


def test_no_message_is_in_two_chunks() -> None:
    for tuples, batch, parts in [(10, 3, 2), (1, 5, 4), (1_000, 1, 7), ((1 << 21) + 5, 1_000, 1)]:
        chunks = chunks_of_batches(tuples, batch, parts=parts)

        assert [begin for begin, _ in chunks] == [0, *np.cumsum([size for _, size in chunks])[:-1].tolist()]
        assert sum(size for _, size in chunks) == tuples
        assert all(begin % batch == 0 for begin, _ in chunks)
        assert all(0 < size <= 1 << 20 for _, size in chunks)


def test_a_class_is_told_by_the_least_that_lies_in_it() -> None:
    copies = np.array([0, 1, 63, 64, 75, 76, 77, 128, 1_000, 10**9, 2**62])

    least = least_of(class_of(copies))

    assert least[:3].tolist() == [0, 1, 63]
    assert (least <= copies).all()
    assert (least[1:] * 1.2 >= copies[1:]).all()
    assert class_of(copies).max() < CLASSES


def test_blocks_hold_all_that_was_counted() -> None:
    workload, feeds = asked(PLAIN)
    counted = in_one_thread()(Question(workload, feeds.templates, feeds.audience))

    again = matches_of(blocks_of(counted), Matches.zero(len(feeds.templates)))

    assert [part.tolist() for part in again] == [part.tolist() for part in counted]
