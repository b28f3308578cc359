"""All matchers answer what the definition says, through insertions and removals."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.auto import Auto
from gsg.channels.matchers.bitmap import Bitmap
from gsg.channels.matchers.compile import Compile
from gsg.channels.matchers.lattice import Lattice
from gsg.channels.matchers.memo import Memo
from gsg.channels.matchers.rete import Rete
from gsg.channels.matchers.scan import Scan
from gsg.channels.matchers.sig import Sig

MATCHERS = [Sig, Memo, Lattice, Compile, Bitmap, Rete, Auto]
STEPS = 400
"""Changes and events of one history; with the seeds below some 20,000 conditions and events in all."""


@pytest.mark.parametrize("seed", range(25))
def test_all_matchers_equal_the_definition(seed: int) -> None:
    rng, relations = Random(seed), Relations()
    scan, matchers = Scan(relations), [make(relations) for make in MATCHERS]
    live: list[int] = []
    for number in range(STEPS):
        if len(live) < 20 or rng.random() < 0.7:
            inserted = condition(rng)
            live.append(number)
            for matcher in (scan, *matchers):
                matcher.insert(number, inserted)
        if len(live) > 20 and rng.random() < 0.5:
            gone = live.pop(rng.randrange(len(live)))
            for matcher in (scan, *matchers):
                matcher.remove(gone)
        fields, environment = event(rng)
        expected = sorted(scan.match(fields, environment))

        found = {type(matcher).__name__: sorted(matcher.match(fields, environment)) for matcher in matchers}

        assert found == dict.fromkeys(found, expected), (fields, environment)
    assert {len(matcher) for matcher in (scan, *matchers)} == {len(live)}


@pytest.mark.parametrize("make", MATCHERS)
def test_what_was_removed_leaves_nothing_that_matches(make) -> None:
    rng, relations = Random(7), Relations()
    matcher = make(relations)
    for number in range(200):
        matcher.insert(number, condition(rng))
    for _ in range(50):
        matcher.match(*event(rng))

    for number in range(200):
        matcher.remove(number)

    assert [matcher.match(*event(rng)) for _ in range(50)] == [[]] * 50


@pytest.mark.parametrize("make", MATCHERS)
def test_a_condition_that_is_not_there_cannot_be_removed(make) -> None:
    with pytest.raises(KeyError):
        make(Relations()).remove(1)
