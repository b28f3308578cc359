"""A table of texts is what a dict of them is."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.workload.reading.dictionary import NO_PLACE, Dictionary
from simulations.workload.reading.text_table import LONG_BYTES, MISSING, TextTable, hashes_of

TEXTS = st.lists(st.one_of(st.text("ab\x00é", max_size=20), st.integers(0, 3).map(lambda n: "x" * (LONG_BYTES + n))), max_size=30)


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string()])
@given(before=TEXTS, texts=TEXTS)
def test_a_hash_is_of_the_text_alone_wherever_it_stands(kind: pyarrow.DataType, before: list[str], texts: list[str]) -> None:
    alone = [int(hashes_of(pyarrow.array([text], kind))[0]) for text in texts]

    together = hashes_of(pyarrow.array([*before, *texts], kind).slice(len(before)))

    assert together.tolist() == alone
    assert len(set(alone)) == len(set(texts))


def test_texts_that_differ_in_little_have_other_hashes() -> None:
    texts = [f"{prefix}{number}" for prefix in ("", "a", "entity/Q", "http://x.example/a/path/") for number in range(50_000)]
    texts += ["\x00" * count for count in range(1, 40)]

    assert len(np.unique(hashes_of(pyarrow.array(texts)))) == len(texts)


@given(st.lists(st.lists(st.integers(1, 60), unique=True), max_size=6))
def test_a_table_finds_what_was_added(batches: list[list[int]]) -> None:
    table, known = TextTable(), dict[int, int]()
    for batch in batches:
        # Few slots are meant, so that many meet.
        fresh = [number << 40 | 7 for number in batch if number << 40 | 7 not in known]
        places = list(range(len(known), len(known) + len(fresh)))
        table.add(np.array(fresh, dtype=np.uint64), np.array(places, dtype=np.int32))
        known |= dict(zip(fresh, places, strict=True))

    asked = [number << 40 | 7 for number in range(1, 70)]

    assert table.find(np.array(asked, dtype=np.uint64)).tolist() == [known.get(one, MISSING) for one in asked]
    assert len(table) == len(known)


def test_a_table_grows_and_forgets() -> None:
    table, hashes = TextTable(), hashes_of(pyarrow.array([f"t{number}" for number in range(10_000)]))

    table.add(hashes, np.arange(10_000, dtype=np.int32))
    found = table.find(hashes)
    table.clear()

    assert found.tolist() == list(range(10_000))
    assert set(table.find(hashes).tolist()) == {MISSING}


def test_places_are_given_once_and_in_order() -> None:
    known = Dictionary(0, keeps_terms=True)

    first = known.encode(["b", "a", "b", "<open"]).places.tolist()
    again = known.encode(["c", "<open", "a", 7, True, 1, None, "\ud800", [1]]).places.tolist()

    assert first == [0, 1, 0, NO_PLACE]
    assert again == [2, NO_PLACE, 1, 3, 4, 5, NO_PLACE, NO_PLACE, NO_PLACE]
    assert (len(known), len(known.terms()), len(known.keys)) == (6, 6, 6)
