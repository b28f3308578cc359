"""Cross products are warned of, and a subscription that would hold too much ends alone."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from peers import quiet, simulate

import gsg
from dht.simnet import SimNet
from gsg import LiveSubscription, LocalError, Peer, Space, Symbol, TooManyTokens
from gsg.http.door import HttpDoor

P, Q = Symbol("p"), Symbol("q")
PRODUCT = "(?x, ^p, ?a), (?y, ^q, ?b)"
WARNING = "cross product: (?x, p, ?a) and (?y, q, ?b) share no variable, so each solution of one is joined with each of the other"


def some(predicate: Symbol, number: int) -> list[tuple[object, ...]]:
    return [(f"{predicate.name}{at}", predicate, at) for at in range(number)]


async def everything(subscription: LiveSubscription) -> None:
    while await subscription.batch(10_000):
        pass


@pytest.mark.parametrize(
    ("language", "text", "warnings"),
    [
        ("gsg", PRODUCT, (WARNING,)),
        ("gsg", "(?x, ^p, ?a), (?a, ^q, ?b)", ()),
        ("gsg", "(?x, ^p, ?a), NOT { (?y, ^q, ?b) }", ()),
        (
            "sparql",
            "SELECT * { ?x <x:p> ?a . ?y <x:q> ?b }",
            (WARNING.replace(" p,", " <x:p>,").replace(" q,", " <x:q>,"),),
        ),
        ("sparql", "SELECT * { ?x <x:p> ?a OPTIONAL { ?x <x:q> ?b } }", ()),
    ],
)
def test_a_cross_product_is_accepted_with_a_warning(language: str, text: str, warnings: tuple[str, ...]) -> None:
    with Space() as space:
        assert space.subscribe(text, language).warnings == warnings


def test_in_a_space_a_product_ends_alone_and_in_time() -> None:
    with Space() as space:
        product = space.subscribe(PRODUCT, max_tokens=100_000)
        neighbour = space.subscribe("(?x, ^p, ?a)")

        space.insert([*some(P, 2_000), *some(Q, 2_000)])

        assert len(neighbour.rows()) == 2_000
        with pytest.raises(TooManyTokens, match="at most 100,000 are allowed: add conditions that share variables") as caught:
            product.rows()
        assert caught.value.limit == 100_000 < caught.value.tokens
        with pytest.raises(TooManyTokens):
            list(product)
        product.close()
        assert product.rows() == Counter()


def test_one_that_would_hold_too_much_at_once_is_refused_with_its_join() -> None:
    with Space() as space:
        space.insert([*some(P, 100), *some(Q, 100)])

        with pytest.raises(TooManyTokens, match=r"would hold [\d,]+ tokens at the join with \(\*, q, \*\)"):
            space.subscribe("(?x, ^p, ?a), (?y, ^q, ?b), (?z, ^q, ?c)", max_tokens=50)
        with pytest.raises(LocalError, match="max_tokens=0; expected at least 1"):
            space.subscribe(PRODUCT, max_tokens=0)
        with pytest.raises(LocalError, match="limit=-1 unread differences; expected a whole number, at least 1"):
            space.subscribe(PRODUCT, limit=-1)
        assert len(space.subscribe(PRODUCT).rows()) == 10_000


def test_over_peers_a_product_ends_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(LocalError, match="limit='a' unread differences; expected a whole number, at least 1"):
            await peers[1].subscribe(PRODUCT, limit="a")  # type: ignore[arg-type]  # that is the mistake
        product = await peers[1].subscribe(PRODUCT, max_tokens=2_000)
        neighbour = await peers[1].subscribe("(?x, ^p, ?a)")

        await peers[0].insert([*some(P, 100), *some(Q, 100)])
        await quiet()

        assert len(neighbour.rows()) == 100
        with pytest.raises(TooManyTokens):
            await everything(product)
        again = await peers[1].subscribe(PRODUCT)
        assert len(again.rows()) == 10_000
        assert again.warnings == (WARNING,)
        with pytest.raises(TooManyTokens):
            await peers[1].subscribe(PRODUCT, max_tokens=2_000)

    simulate(work, seed=11)


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    async with Peer() as peer, HttpDoor(peer, port=0) as made:
        yield made


async def test_a_client_hears_of_warnings_and_of_the_end(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client, asyncio.timeout(20):
        product = await client.subscribe(PRODUCT, max_tokens=2_000)

        await client.insert([*some(P, 100), *some(Q, 100)])

        assert product.warnings == (WARNING,)
        with pytest.raises(TooManyTokens) as caught:
            await everything(product)
        assert caught.value.limit == 2_000 < caught.value.tokens
        with pytest.raises(LocalError, match="max_tokens=0; expected 1 to"):
            await client.subscribe(PRODUCT, max_tokens=0)
