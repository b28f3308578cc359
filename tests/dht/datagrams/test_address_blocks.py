"""Many peers of one address block: how few of them count."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from random import Random

import pytest

from dht import Contact, Identity, Membership, Overlay, common_prefix_length, distance
from dht.datagrams.address_blocks import IN_BUCKET, LATELY_S, PER_BLOCK, PassedOver, block_of, limit_per_block
from dht.overlay.address_book import AddressBook
from dht.overlay.lookup import Lookup
from dht.simnet import SimNet, run

PORT = 7400


@pytest.mark.parametrize(
    ("host", "block"),
    [
        ("9.8.7.6", bytes((9, 8, 7))),
        ("9.8.7.255", bytes((9, 8, 7))),
        ("::ffff:9.8.7.6", bytes((9, 8, 7))),
        ("2a00:1:2:3:4:5:6:7", bytes.fromhex("2a00000100020003")),
        ("10.0.0.1", None),
        ("192.168.1.1", None),
        ("127.0.0.1", None),
        ("fe80::1", None),
        ("fd00::1", None),
        ("::1", None),
        ("seed.example.org", None),
    ],
)
def test_blocks_are_those_of_public_addresses(host: str, block: bytes | None) -> None:
    assert block_of(host) == block


def contact(number: int, host: str) -> Contact:
    return Contact(number.to_bytes(20, "big"), host, PORT)


def test_of_one_block_the_first_count_and_of_private_networks_all() -> None:
    many = [contact(number, f"9.8.7.{number}") for number in range(5)]
    private = [contact(number, f"10.0.0.{number}") for number in range(5)]
    other = contact(9, "9.8.6.1")

    assert list(limit_per_block([*many, other, *private], 2)) == [*many[:2], other, *private]
    assert list(limit_per_block(many, 0)) == many


def test_a_lookup_finds_others_behind_a_crowd_of_one_block() -> None:
    target = bytes(20)
    crowd = [contact(number, f"9.8.7.{number}") for number in range(1, 100)]
    honest = [contact(1000 + number, f"9.8.{number}.1") for number in range(20, 30)]
    lookup = Lookup(target, [*crowd, *honest], own=b"\xff" * 20, k=8)
    asked, sends = [], lookup.start()
    while sends:
        asked += [each.contact for each in sends]
        sends = [more for each in sends for more in lookup.received(each.contact.id, [])]

    assert lookup.result is not None
    assert lookup.result.contacts == (*crowd[:2], *honest[:6])
    assert set(asked) <= {*crowd[:2], *honest}


def test_the_next_of_a_block_counts_when_one_fails() -> None:
    crowd = [contact(number, f"9.8.7.{number}") for number in range(1, 5)]
    lookup = Lookup(bytes(20), crowd, own=b"\xff" * 20, k=8)
    asked = [each.contact for each in lookup.start()]

    more = lookup.timed_out(asked[0].id)

    assert asked == crowd[:2]
    assert [each.contact for each in more] == [crowd[2]]


def test_the_address_book_keeps_a_share_of_each_block() -> None:
    book = AddressBook(rng=Random(1))
    for number in range(100):
        book.add_address(("9.8.7.6", 1000 + number), 0.0)
    book.add_address(("9.8.7.6", 7), 0.0, given=True)
    book.add_address(("9.8.6.1", PORT), 0.0)
    for number in range(50):
        book.add_address(("10.0.0.1", 1000 + number), 0.0)

    assert len(book) == IN_BUCKET * PER_BLOCK + 1 + 1 + 50


def test_a_peer_that_was_passed_over_counts_as_one_that_lives_for_a_while() -> None:
    counts: Counter[str] = Counter()
    passed_over = PassedOver(PER_BLOCK)
    assert not passed_over.lately(0.0)

    passed_over.report(contact(1, "9.8.7.6"), counts, 0.0)
    passed_over.report(contact(1, "9.8.7.6"), counts, 10.0)

    assert passed_over.lately(LATELY_S)
    assert not passed_over.lately(LATELY_S + 10.0)
    assert counts.total() == 2


def test_twenty_forged_ids_beside_a_key_do_not_hide_it(caplog: pytest.LogCaptureFixture) -> None:
    """The forger has real keys, drawn until they lie closer to the key than any honest peer's, and many ports of one address."""
    key = b"\x5a" * 20
    honest_ids = [Identity(Random(seed).randbytes(32)) for seed in range(10)]
    closest = max(common_prefix_length(each.id, key) for each in honest_ids)
    draws = (Identity(Random(seed).randbytes(32)) for seed in range(1000, 100_000))
    forged_ids = [
        each for each, _ in zip((each for each in draws if common_prefix_length(each.id, key) > closest), range(20), strict=False)
    ]

    async def main(net: SimNet) -> None:
        async def start(identity: Identity, host: str, port: int, join: list[tuple[str, int]]) -> Overlay:
            overlay = Overlay(identity.id, host, port, rng=net.rng(), membership=Membership(identity), incarnation=1)
            await overlay.__aenter__()
            await overlay.join(join)
            return overlay

        honest: list[Overlay] = []
        for number, identity in enumerate(honest_ids):
            honest.append(await start(identity, f"9.9.{number}.1", PORT, [honest[0].contact.address] if honest else []))
        join = [honest[0].contact.address]
        forgers = [await start(identity, "6.6.6.6", PORT + number, join) for number, identity in enumerate(forged_ids)]

        guest = await start(Identity(b"g" * 32), "9.10.0.1", PORT, join)
        found = [each.host for each in await guest.owners(key, r=3)]
        right = min(honest, key=lambda each: distance(each.contact.id, key)).contact
        assert found[:2] == ["6.6.6.6", "6.6.6.6"]
        assert found[2] == right.host
        for peer in [*honest, guest]:
            ours = [each for each in peer.contacts() if each.host != "6.6.6.6"]
            assert len(ours) >= 9
            assert [each.host for each in await peer.owners(key, r=3)].count("6.6.6.6") <= 2
        assert sum(each.counts["peers beyond their block's share"] for each in honest) > 0
        passing_over = [each for each in honest if each.passes_over]
        assert passing_over
        for forger in forgers:
            await forger.__aexit__(None, None, None)
        await asyncio.sleep(2 * LATELY_S)
        assert not any(each.passes_over for each in passing_over)
        for peer in [guest, *honest]:
            await peer.__aexit__(None, None, None)

    with caplog.at_level(logging.WARNING):
        run(main, seed=1)
    assert "start all peers with --peers-per-block 0" in caplog.text
