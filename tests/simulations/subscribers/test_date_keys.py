"""Cells of tuples and of subscriptions are those that going through them one by one comes to."""

from __future__ import annotations

from collections import Counter
from math import ceil, floor

import numpy as np
import pytest

from gsg.placement import rules
from gsg.placement.rules import Anchor
from simulations.engine.grids import cell_key
from simulations.engine.ownership import Ownership
from simulations.engine.sweep import in_one_thread
from simulations.errors import BadParameter
from simulations.subscribers.date_keys import Ranges, cells_of_tuples, drawn_ranges, loads_of, posted_at
from simulations.subscribers.dates import Dates, over_runs, parse_ranges, shown, sweep_of
from simulations.subscribers.templates import anchors_by_rule, ids_of, words_of
from simulations.workload.workload import COMMON_MIX, Synthetic, parse_mix

PEERS, SEED, EPOCHS, LIMIT = 5, 5, 12, 6
WORKLOAD = Synthetic(400, (9, 3, 9), seed=SEED, seconds=EPOCHS * 100.0)
LENGTHS = ((1.0, 0.5), (3.0, 0.3), (8.0, 0.2))
WANTED = WORKLOAD.subscriptions(50, COMMON_MIX, SEED)


def ranges(whole: float) -> Ranges:
    """Of fifty subscriptions, in epochs."""
    begin, end = drawn_ranges(50, LENGTHS, whole, SEED)
    return Ranges(begin, end, ceil(whole))


def owner(key: int, epoch: int) -> int:
    """The peer that is closest to a cell's key."""
    point = rules.point_of(cell_key(key.to_bytes(8, "big") + bytes(12), epoch, 0))
    return min(range(PEERS), key=lambda peer: int(ids_of(PEERS, SEED)[peer]) ^ point)


def test_ranges_have_the_lengths_that_are_asked_for_and_lie_within_the_time() -> None:
    begin, end = drawn_ranges(10_000, LENGTHS, float(EPOCHS), SEED)

    lengths = Counter((end - begin).round(6).tolist())
    assert [round(lengths[one] / 10_000, 1) for one, _ in LENGTHS] == [share for _, share in LENGTHS]
    assert begin.min() >= 0
    assert end.max() <= EPOCHS
    assert drawn_ranges(3, ((20.0, 1.0),), 12.0, SEED)[1].tolist() == [12.0] * 3


def test_a_range_touches_the_epochs_that_it_overlaps() -> None:
    touched = Ranges(np.array([0.0, 0.5, 1.0, 1.5, 11.5]), np.array([1.0, 1.0, 3.0, 3.5, 12.0]), EPOCHS)

    assert touched.first.tolist() == [0, 0, 1, 1, 11]
    assert touched.last.tolist() == [0, 0, 2, 3, 11]


@pytest.mark.parametrize("whole", [float(EPOCHS), EPOCHS - 0.7], ids=["whole", "cut-short"])
def test_loads_are_those_of_going_through_tuples_and_subscriptions(whole: float) -> None:
    asked = ranges(whole)
    anchors = anchors_by_rule(Anchor.RAREST, WANTED, WORKLOAD)
    keys = [of.keys.tolist() for of in WORKLOAD.constants]
    posted: dict[tuple[int, int, int], list[object]] = {}
    lost = 0
    for number, (codes, begin, end) in enumerate(zip(WANTED.codes.T.tolist(), asked.begin, asked.end, strict=True)):
        epochs = range(floor(begin), ceil(end))
        if len(epochs) > LIMIT:
            lost += 1
            continue
        for epoch in epochs:
            is_covered = begin <= epoch and end >= epoch + 1
            template = (tuple(codes), None if is_covered else number)
            posted.setdefault((int(anchors[number]), codes[anchors[number]], epoch), []).append(template)
    chunk = WORKLOAD.chunk(0, WORKLOAD.tuples)
    met: Counter[tuple[int, int, int]] = Counter()
    for *codes, at_s in zip(*(column.tolist() for column in chunk.codes), chunk.at_s.tolist(), strict=True):
        for position, code in enumerate(codes):
            met[position, code, int(at_s / WORKLOAD.seconds * whole)] += 1
    tuples, copies, work = ([0] * PEERS for _ in range(3))
    at_once: Counter[tuple[int, int]] = Counter()
    for (position, code, epoch), number in met.items():
        peer = owner(keys[position][code], epoch)
        tuples[peer] += number
        at_once[peer, epoch] += number
    for (position, code, epoch), templates in posted.items():
        peer = owner(keys[position][code], epoch)
        copies[peer] += len(templates)
        work[peer] += met[position, code, epoch] * len(set(templates))

    words = words_of(WANTED, WORKLOAD.constants)
    cells = cells_of_tuples(WORKLOAD, whole)
    at = posted_at(anchors, WANTED, words, asked, LIMIT)
    found = loads_of(cells, at, WORKLOAD.constants, Ownership(ids_of(PEERS, SEED)), EPOCHS)

    assert (found.tuples.tolist(), found.copies.tolist(), found.work.tolist()) == (tuples, copies, work)
    assert found.templates == sum(len(set(templates)) for templates in posted.values())
    assert found.most_in_epoch == max(at_once.values())
    assert lost == int((asked.touched > LIMIT).sum()) > 0


def test_without_epochs_all_is_as_it_was_and_nothing_is_lost() -> None:
    dates = Dates(parse_ranges("hour=1,day=1,week=1"), (1.0, 24.0), days=20.0)

    rows = in_one_thread()(sweep_of(WORKLOAD, COMMON_MIX, PEERS, 50, Anchor.RAREST, dates, [1, 2]))

    none, hourly, daily = over_runs(rows)
    assert (none.copies.value, none.lost.value, none.epochs) == (1.0, 0.0, 1)
    assert (hourly.epochs, daily.epochs) == (480, 20)
    assert hourly.lost.value > daily.lost.value == 0
    assert daily.copies.value > none.copies.value
    assert "Epochs of 24 h" in shown(rows, dates).findings[0].text


def test_an_epoch_that_the_end_cuts_short_has_fewer_tuples() -> None:
    one_key = Synthetic(10_000, (1, 1, 1), seed=SEED)
    dates = Dates(parse_ranges("hour=1"), (100.0,), days=10.0)

    rows = in_one_thread()(sweep_of(one_key, parse_mix("?p?=1"), 1, 2_000, Anchor.RAREST, dates, [1]))

    (cut,) = [row for row in rows if row.epoch_h]
    # Two epochs have 100 of 240 hours each, and the last one has 40: so many tuples meet whoever asks for an hour of it.
    assert cut.work / cut.copies / 10_000 == pytest.approx(2 * (100 / 240) ** 2 + (40 / 240) ** 2, rel=0.03)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("year=1", "range 'year' of 'year=1'; expected hour, day, week, month"),
        ("day=1,day=2", "range 'day' is twice"),
        ("day=0", "weight '0' of 'day'"),
        ("day", "weight '' of 'day'"),
    ],
)
def test_ranges_that_are_none_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadParameter) as refused:
        parse_ranges(text)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("epochs", "days", "said"), [((0.0,), 30.0, "epochs of 0 h"), ((800.0,), 30.0, "epochs of 800 h"), ((1.0,), 0.0, "0 days")]
)
def test_epochs_that_cannot_be_are_refused(epochs: tuple[float, ...], days: float, said: str) -> None:
    with pytest.raises(BadParameter, match=said):
        Dates(parse_ranges("day=1"), epochs, days)
