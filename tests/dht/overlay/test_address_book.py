"""The address book: who is called at when, what is forgotten, and the file."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from dht import BadBook, BookUnreadable
from dht.overlay.address_book import FIRST_S, LONGEST_S, MAX_ADDRESSES, AddressBook, decode, encode
from dht.overlay.address_book_file import read_book, write_book

HERE = ("10.0.0.1", 7400)
THERE = ("10.0.0.2", 7400)


def book(*addresses: tuple[str, int]) -> AddressBook:
    made = AddressBook(rng=Random(1))
    for address in addresses:
        made.add_address(address, 0.0)
    return made


def test_an_address_is_called_at_ever_more_seldom() -> None:
    old = book(HERE)

    calls = [now for now in range(1000) if old.take_due(now, 1)]
    waits = [after - before for before, after in pairwise(calls)]

    assert calls[0] == FIRST_S
    assert waits[0] <= 3
    assert all(0.75 * LONGEST_S <= wait <= 1.25 * LONGEST_S + 1 for wait in waits[6:])


def test_no_more_are_called_at_once_than_asked_for_and_the_longest_overdue_first() -> None:
    old = book(HERE)
    old.add_address(THERE, 1.0)

    assert old.take_due(10.0, 1) == [HERE]
    assert old.take_due(10.0, 9) == [THERE]


def test_when_one_is_back_all_are_called_at() -> None:
    old = book(HERE, THERE)
    for now in range(300):
        old.take_due(now, 2)

    old.make_all_due(300.0)

    assert sorted(old.take_due(300.0, 9)) == [HERE, THERE]


def test_who_lives_is_not_in_the_book_and_who_died_again_is_called_at_soon() -> None:
    old = book(HERE)
    old.remove_address(HERE)
    assert HERE not in old

    old.add_address(HERE, 50.0)

    assert old.take_due(50.0 + FIRST_S, 1) == [HERE]


def test_what_the_user_gave_stays() -> None:
    old = book()
    old.add_address(HERE, 0.0, given=True)
    old.remove_address(HERE)
    for number in range(2 * MAX_ADDRESSES):
        old.add_address((f"10.1.{number >> 8}.{number & 255}", 1), 1.0)

    assert HERE in old
    assert len(old) == MAX_ADDRESSES


def test_a_book_full_of_what_the_user_gave_takes_no_more() -> None:
    old = book()
    for number in range(MAX_ADDRESSES):
        old.add_address(("seed.example", number + 1), 0.0, given=True)

    old.add_address(HERE, 1.0)

    assert HERE not in old


def test_the_one_called_in_vain_most_often_makes_room() -> None:
    old = book(HERE)
    for now in range(100):
        old.take_due(now, 1)
    for number in range(MAX_ADDRESSES):
        old.add_address(("10.2.0.1", number + 1), 100.0)

    assert HERE not in old
    assert len(old) == MAX_ADDRESSES


def test_those_called_in_vain_least_often_are_the_first_to_try() -> None:
    old = book(HERE)
    old.take_due(10.0, 1)
    old.add_address(THERE, 10.0)

    assert old.addresses() == [THERE, HERE]


def test_a_book_comes_back_from_its_file(tmp_path: Path) -> None:
    addresses = [HERE, ("seed.example.org", 1), ("2001:db8::1", 65535)]

    write_book(tmp_path / "book", addresses)

    assert read_book(tmp_path / "book") == addresses
    assert [each.name for each in tmp_path.iterdir()] == ["book"]


def test_a_book_that_is_not_there_yet_is_empty(tmp_path: Path) -> None:
    assert read_book(tmp_path / "book") == []


def test_a_book_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(BookUnreadable, match=r"cannot be read: is a directory; expected a readable file, or none"):
        read_book(tmp_path)


@pytest.mark.parametrize("line", [b"\xff", b"[]", b'["10.0.0.1",0]', b'["",1]', b'["10.0.0.1","1"]', b'["a",65536]', b"[" * 2000])
def test_a_damaged_line_is_named(line: bytes) -> None:
    with pytest.raises(BadBook, match="damaged in line 2") as failed:
        decode(b'["10.0.0.1",7400]\n' + line)

    assert failed.value.line == 2


def test_a_file_that_never_ends_is_read_as_far_as_the_book_goes() -> None:
    assert len(decode(b'["10.0.0.1",7400]\n' * (MAX_ADDRESSES + 5))) == MAX_ADDRESSES


def test_no_wrong_bit_makes_another_address_of_one() -> None:
    written = encode(addresses := [HERE, THERE, ("peer.example.org", 7401)])

    for bit in range(8 * len(written)):
        flipped = bytearray(written)
        flipped[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(BadBook):
            assert decode(bytes(flipped)) == addresses, bit


def test_an_empty_file_is_damage_and_an_empty_book_is_not() -> None:
    with pytest.raises(BadBook, match="line 1: the file is empty"):
        decode(b"")

    assert decode(encode([])) == []
