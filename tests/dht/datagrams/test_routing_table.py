"""The routing table: what it says of its contacts is what its buckets hold, whatever came and went."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest

from dht import Contact, distance, random_id
from dht.datagrams.routing_table import RoutingTable


def table_of(own: bytes, k: int) -> RoutingTable:
    """A table whose full buckets keep their oldest contact."""
    return RoutingTable(own, k, 2, on_doubtful=lambda contact: asyncio.sleep(0))


def held(table: RoutingTable) -> dict[bytes, Contact]:
    """What the buckets hold."""
    nodes: list[Any] = [
        node for bucket in table.buckets for part in (bucket.nodes, bucket.replacement_nodes) for node in part.values()
    ]
    return {node.id: Contact(node.id, node.ip, node.port) for node in nodes}


@pytest.mark.parametrize(("k", "hosts"), [(20, "10.0.0.{}"), (2, "10.0.0.{}"), (2, "8.8.{}.8")], ids=["roomy", "narrow", "public"])
async def test_contacts_are_those_in_the_buckets(k: int, hosts: str) -> None:
    rng = Random(k)
    own = random_id(rng)
    table = table_of(own, k)
    ids = [random_id(rng) for _ in range(300)]
    target = random_id(rng)

    for _ in range(2_000):
        peer = rng.choice(ids)
        if rng.random() < 0.3:
            table.remove(peer)
        else:
            table.insert(Contact(peer, hosts.format(rng.randrange(256)), rng.choice([1, 2])))

        assert table.contacts() == held(table)
    assert [each.id for each in table.nearest(target, 8)] == sorted(held(table), key=lambda each: distance(each, target))[:8]


async def test_a_contact_that_waits_for_a_place_and_answers_again_changes_nothing() -> None:
    rng = Random(1)
    table = table_of(bytes(20), 2)
    contacts = [Contact(b"\xff" + random_id(rng)[1:], "10.0.0.1", 7400 + number) for number in range(8)]
    for contact in contacts:
        table.insert(contact)
    before = table.contacts()

    for contact in contacts:
        table.insert(contact)

    assert table.contacts() is before
    assert set(before) == {each.id for each in contacts}
