"""Random numbers by counter."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simulations.engine.randomness import Stream


@given(st.integers(0, 2**40), st.integers(1, 50), st.integers(0, 50))
def test_a_part_of_a_stream_is_the_same_by_itself(begin: int, count: int, cut: int) -> None:
    stream, cut = Stream(3, "name"), min(cut, count)

    whole = stream.words(begin, count)

    assert np.concatenate((stream.words(begin, cut), stream.words(begin + cut, count - cut))).tolist() == whole.tolist()
    assert stream.at(np.arange(begin, begin + count, dtype=np.uint64)).tolist() == whole.tolist()


def test_streams_of_other_names_and_seeds_are_others() -> None:
    firsts = {int(stream.words(0, 1)[0]) for stream in (Stream(1, "a"), Stream(1, "b"), Stream(2, "a"), Stream(1, "a", 0))}

    assert len(firsts) == 4


def test_no_number_repeats_and_all_bits_are_used() -> None:
    words = Stream(5, "bits").words(0, 100_000)

    assert len(np.unique(words)) == 100_000
    assert all(abs(float(((words >> np.uint64(bit)) & np.uint64(1)).mean()) - 0.5) < 0.01 for bit in range(64))


def test_fractions_and_whole_numbers_fill_their_ranges_evenly() -> None:
    stream = Stream(6, "ranges")

    assert np.bincount(stream.below(10, 0, 100_000), minlength=10).min() > 9_500
    assert abs(stream.uniform(0, 100_000).mean() - 0.5) < 0.01
    assert stream.uniform(0, 100_000).max() < 1
