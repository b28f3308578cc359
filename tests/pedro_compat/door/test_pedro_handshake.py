"""Connecting: ids from handed-in randomness, one second by a handed-in clock."""

from __future__ import annotations

from random import Random

import pytest

from pedro_compat import FirstLine, Handshakes, information
from pedro_compat.door.handshake import MAX_PENDING


class Dice:
    """Gives these numbers in turn."""

    def __init__(self, *numbers):
        self.numbers = iter(numbers)

    def getrandbits(self, k):
        return next(self.numbers)


def test_info_line_has_host_and_both_ports():
    assert information("10.0.0.1", 4551, 4552) == b"10.0.0.1 4551 4552\n"


def test_id_completes_a_handshake_once():
    handshakes = Handshakes(Dice(77))
    client = handshakes.begin(now=0.0)

    assert [handshakes.finish(b"77", now=0.5), handshakes.finish(b"77", now=0.5)] == [client, None]


@pytest.mark.parametrize(("now", "finished"), [(0.999, 77), (1.0, None), (5.0, None)])
def test_id_is_known_for_one_second(now, finished):
    handshakes = Handshakes(Dice(77))
    handshakes.begin(now=0.0)

    assert handshakes.finish(b"77", now) == finished


@pytest.mark.parametrize("line", [b"", b"78", b"-77", b"77.0", b"x", b"77 78", b"\xff", b"7" * 40, "٧٧".encode(), b"+77"])
def test_garbage_is_no_id(line):
    handshakes = Handshakes(Dice(77))
    handshakes.begin(now=0.0)

    assert handshakes.finish(line, now=0.1) is None


def test_ids_are_distinct_and_never_zero():
    handshakes = Handshakes(Dice(5, 0, 5, 6))

    assert [handshakes.begin(now=0.0), handshakes.begin(now=0.0)] == [5, 6]


def test_expired_ids_are_told_once_and_in_order():
    handshakes = Handshakes(Dice(5, 6, 7))
    handshakes.begin(now=0.0)
    handshakes.begin(now=0.1)
    handshakes.begin(now=0.9)

    assert (handshakes.next_expiry(), handshakes.expired(now=1.1), handshakes.expired(now=1.1)) == (1.0, [5, 6], [])
    assert (handshakes.next_expiry(), handshakes.expired(now=1.9), handshakes.next_expiry()) == (1.9, [7], None)


def test_finished_client_does_not_expire():
    handshakes = Handshakes(Dice(5))
    handshakes.begin(now=0.0)
    handshakes.finish(b"5", now=0.1)

    assert handshakes.expired(now=9.0) == []


def test_too_many_half_open_clients_push_out_the_oldest():
    handshakes = Handshakes(Random(1))
    oldest, *_ = [handshakes.begin(now=0.0) for _ in range(MAX_PENDING + 1)]

    assert handshakes.expired(now=0.0) == [oldest]


@pytest.mark.parametrize(
    ("chunks", "outcome"),
    [
        ([b"77\n"], (b"77", b"")),
        ([b"7", b"7", b"\nf(1)\n"], (b"77", b"f(1)\n")),
        ([b"77"], None),
        ([b"7" * 29], None),
        ([b"7" * 30], (b"7" * 30, b"")),
    ],
)
def test_first_line_is_the_id_and_the_rest_is_kept(chunks, outcome):
    first = FirstLine()

    assert [first.feed(chunk) for chunk in chunks][-1] == outcome
