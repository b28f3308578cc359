"""Queries that take long to enter are entered while others have their turn, and mean what they mean elsewhere."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import Any

import pytest

import gsg
import rete
from gsg import LiveSubscription, Peer, Symbol, TooManyTokens
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.feeds.facts import LEAVING_FACTS
from gsg.languages import parse_query
from gsg.languages.parse_cache.shapes import DECIDE_AT
from gsg.languages.query import alphas, enter
from gsg.subscriptions import long_queries, subscriber
from gsg.subscriptions.entrance import SHARE_FROM
from gsg.subscriptions.long_queries import LongQueries
from gsg.tuples.terms import Tuple

K, P, Q = Symbol("k"), Symbol("p"), Symbol("q")
PRODUCT = "(?x, p, ?a), (?y, q, ?b)"
QUERIES = [
    "(?x, p, ?y)",
    "(?x, p, ?y), (?y, p, ?z)",
    "(?x, p, ?y), (?y, q, ?z), (?z, k, ?w)",
    PRODUCT,
    "(?x, p, ?y), NOT { (?y, q, ?z) }",
    "(?x, p, ?y), OPTIONAL { (?y, k, ?z) }",
    "(?x, p, ?y) FILTER ?y > 3",
    "SUBSCRIBE ?x, COUNT(?y) AS ?n { (?x, p, ?y) }",
    "SUBSCRIBE DISTINCT ?x { (?x, p, ?y), (?z, q, ?w) }",
]


class ByHand(Executor):
    """Does what is to be done when a test says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[Future[Any], Callable[..., Any]]] = []  # Any: whatever is to be done

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:  # Any: as above
        assert not args
        assert not options
        future: Future[Any] = Future()  # Any: as above
        self.asked.append((future, work))
        return future

    def work(self) -> None:
        """What was asked for first, if it was not taken back."""
        future, work = self.asked.pop(0)
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(work())
            except Exception as error:
                future.set_exception(error)


class World:
    """Facts, and long queries over them; beside it the matcher that enters each at a stretch."""

    def __init__(self) -> None:
        self.facts: dict[Tuple, None] = {}
        self.thread = ByHand()
        self.long = LongQueries(self.facts_of, lambda _, why: self.ended.append(why), self.thread)
        self.ended: list[rete.TooManyTokens] = []
        self.rows: Counter[Tuple] = Counter()
        """Of the beginning and what changed, added up."""

    def facts_of(self, alpha: rete.AlphaSpec) -> list[Tuple]:
        return [fact for fact in self.facts if alpha.template.matches(fact)]

    def change(self, *changes: tuple[Tuple, int]) -> None:
        """Facts come and go."""
        for fact, sign in changes:
            if (fact in self.facts) == (sign > 0):
                continue
            if sign > 0:
                self.facts[fact] = None
            else:
                del self.facts[fact]
            for alpha in list(self.long.alphas):
                if alpha.admits(fact) and alpha.template.matches(fact):
                    self.long.change(alpha, [(fact, sign)])

    def asked(self, text: str, max_tokens: int = 1_000_000) -> asyncio.Task[rete.Production]:
        """A query, under way or behind others."""

        def listen(changes: list[tuple[Tuple, int]]) -> None:
            for row, weight in changes:
                self.rows[row] += weight

        async def ask() -> rete.Production:
            query = parse_query(text)
            production, rows = await self.long.enter(query, alphas(query), listen, max_tokens)
            listen(rows)
            return production

        return asyncio.ensure_future(ask())

    def expected(self, text: str) -> Counter[Tuple]:
        """The rows of a query that enters at a stretch."""
        return enter(rete.Network(self.facts_of), parse_query(text).bound(), lambda _: None).rows()

    @property
    def is_empty(self) -> bool:
        return self.long.network.is_empty and not self.long.alphas


async def turns(number: int = 8) -> None:
    """Let the loop turn."""
    for _ in range(number):
        await asyncio.sleep(0)


def live(work: Callable[[], Coroutine[Any, Any, None]]) -> None:  # Any: as coroutines have it
    asyncio.run(work())


def some_change(rng: random.Random) -> tuple[Tuple, int]:
    return (rng.randrange(8), rng.choice((P, Q, K)), rng.randrange(8)), rng.choice((1, 1, -1))


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_of_a_query_that_enters_at_a_stretch_whatever_changes_meanwhile(text: str, seed: int) -> None:
    async def work() -> None:
        rng, world = random.Random(seed), World()
        world.change(*(some_change(rng) for _ in range(60)))
        asked = world.asked(text)
        await turns()
        world.change(*(some_change(rng) for _ in range(60)))

        world.thread.work()
        world.change(*(some_change(rng) for _ in range(20)))
        await asked
        world.change(*(some_change(rng) for _ in range(20)))

        while world.long.is_busy:
            await turns(1)
        assert +world.rows == world.expected(text)
        assert not any(count < 0 for count in world.rows.values())

    live(work)


def test_what_changes_meanwhile_comes_in_order_behind_the_beginning() -> None:
    async def work() -> None:
        world = World()
        world.change(((1, P, 1), 1))
        heard: list[list[tuple[Tuple, int]]] = []
        query = parse_query("(?x, p, ?y)")
        asked = asyncio.ensure_future(world.long.enter(query, alphas(query), heard.append, 100))
        await turns()

        world.change(((2, P, 2), 1), ((2, P, 2), -1), ((1, P, 1), -1))
        assert not heard
        world.thread.work()
        _, rows = await asked

        assert rows == [((1, 1), 1)]
        assert heard == [[((2, 2), 1)], [((2, 2), -1)], [((1, 1), -1)]]

    live(work)


def test_whoever_goes_while_the_query_is_under_way_leaves_nothing() -> None:
    async def work() -> None:
        world = World()
        world.change(*(((n, P, n), 1) for n in range(9)), *(((n, Q, n), 1) for n in range(9)))
        gone, waits, last = world.asked(PRODUCT), world.asked(PRODUCT), world.asked("(?x, p, ?y)")
        await turns()

        waits.cancel()
        gone.cancel()
        await turns()
        world.thread.work()
        await turns()
        world.thread.work()
        production = await last

        assert gone.cancelled()
        assert waits.cancelled()
        assert len(production.rows()) == 9
        world.long.leave(production, alphas(parse_query("(?x, p, ?y)")))
        await turns()
        assert world.is_empty

    live(work)


def test_whoever_goes_when_it_was_just_entered_leaves_nothing() -> None:
    async def work() -> None:
        world = World()
        world.change(((1, P, 1), 1))
        gone = world.asked("(?x, p, ?y)")
        await turns()

        world.thread.work()
        world.long.settle()
        gone.cancel()
        await turns()

        assert gone.cancelled()
        assert world.is_empty

    live(work)


def test_one_that_holds_too_much_is_refused_and_the_next_one_entered() -> None:
    async def work() -> None:
        world = World()
        world.change(*(((n, P, n), 1) for n in range(30)), *(((n, Q, n), 1) for n in range(30)))
        too_large, after = world.asked(PRODUCT, 500), world.asked("(?x, p, ?y)", 500)
        await turns()

        world.thread.work()
        with pytest.raises(TooManyTokens, match="at most 500 are allowed: add conditions that share variables"):
            await too_large
        await turns()
        world.thread.work()

        assert len((await after).rows()) == 30

    live(work)


def test_one_that_holds_too_much_by_what_came_meanwhile_ends() -> None:
    async def work() -> None:
        world = World()
        asked = world.asked(PRODUCT, 50)
        await turns()
        world.thread.work()
        world.change(*(((n, P, n), 1) for n in range(30)), *(((n, Q, n), 1) for n in range(30)))

        with pytest.raises(TooManyTokens, match="at most 50 are allowed"):
            await asked
        await turns()
        assert world.is_empty
        assert not world.ended

    live(work)


def test_more_than_may_wait_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        monkeypatch.setattr(long_queries, "WAITING", 3)
        world = World()
        asked = world.asked("(?x, p, ?y)")
        await turns()
        world.change(*(((n, P, n), 1) for n in range(3)))
        world.thread.work()

        world.change(((3, P, 3), 1))

        assert not world.long.is_busy
        assert len((await asked).rows()) == 4

    live(work)


def test_one_is_entered_after_the_other_in_the_order_in_which_they_came() -> None:
    async def work() -> None:
        world = World()
        world.change(*(((n, P, n), 1) for n in range(3)))
        entered: list[str] = []
        asked = {text: world.asked(text) for text in QUERIES}
        for text, task in asked.items():
            task.add_done_callback(lambda _, text=text: entered.append(text))
        await turns()

        for done in range(len(QUERIES)):
            assert len(world.thread.asked) == 1
            assert entered == QUERIES[:done]
            world.thread.work()
            await turns()

        assert entered == QUERIES
        assert not world.long.is_busy

    live(work)


def test_a_query_for_which_there_is_no_thread_is_refused_and_the_next_one_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        world = World()
        with monkeypatch.context() as patched:
            patched.setattr(world.thread, "submit", _no_thread)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                await world.asked(PRODUCT)
        assert world.is_empty

        asked = world.asked("(?x, p, ?y)")
        await turns()
        world.thread.work()

        assert not (await asked).rows()

    live(work)


def _no_thread(work: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_listener_that_fails_keeps_nobody_waiting(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        world = World()
        query = parse_query("(?x, p, ?y)")
        asked = asyncio.ensure_future(world.long.enter(query, alphas(query), lambda rows: 1 // 0, 100))
        await turns()
        world.change(((1, P, 1), 1))
        world.thread.work()

        production, _ = await asked
        await turns()

        assert "what came while a query was entered was not carried out" in caplog.text
        assert not world.long.is_busy
        assert len(production.rows()) == 1

    live(work)


def test_whoever_waits_when_the_peer_stops_is_told() -> None:
    async def work() -> None:
        world = World()
        under_way, behind = world.asked(PRODUCT), world.asked(PRODUCT)
        await turns()

        world.long.stop()

        for asked in (under_way, behind):
            with pytest.raises(gsg.DoorClosed, match="this peer stops, and enters no query any more"):
                await asked

    live(work)


def test_whoever_wants_to_look_waits_for_the_thread_and_not_for_the_query_behind() -> None:
    async def work() -> None:
        world = World()
        asked = [world.asked("(?x, p, ?y)"), world.asked("(?x, q, ?y)")]
        await turns()
        looks = asyncio.ensure_future(world.long.until_free())
        gone = asyncio.ensure_future(world.long.until_free())
        await turns()
        assert not looks.done()
        gone.cancel()
        looks.add_done_callback(lambda _: busy.append(len(world.thread.asked)))
        busy: list[int] = []

        world.thread.work()
        await looks

        assert busy == [0]
        await turns()
        world.thread.work()
        await asyncio.gather(*asked)
        await world.long.until_free()

    live(work)


async def _rows(subscription: LiveSubscription) -> int:
    return sum(sign is not gsg.Sign.MINUS for sign, _ in await subscription.batch(1_000_000))


def test_at_a_peer_others_hear_while_a_query_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        monkeypatch.setattr(subscriber, "AT_ONCE", 1_000)
        async with Peer(("127.0.0.1", 0)) as peer:
            thread = peer._parts.subscriber._long._threads = ByHand()
            await peer.insert([(n, P, n) for n in range(40)] + [(n, Q, n) for n in range(40)])
            neighbour = await peer.subscribe("(?x, p, ?y)")
            assert await _rows(neighbour) == 40
            asked = asyncio.ensure_future(peer.subscribe(PRODUCT))
            while not thread.asked:
                await turns(1)

            await peer.insert([(40, P, 40)])
            await peer.notify([(41, P, 41)])

            assert await _rows(neighbour) == 2
            assert not asked.done()
            thread.work()
            product = await asked
            await peer.notify([(42, P, 42)])
            assert sum(product.rows().values()) == 41 * 40
            assert await _rows(product) == 41 * 40 + 40
            drawn = peer.inside.drawing()
            assert all(f">subscription {one.number}<" in drawn for one in (neighbour, product))
            assert [holding.number for holding in peer.inside.subscriptions()] == [neighbour.number, product.number]
            await product.close()
            assert peer._parts.subscriber._long.network.is_empty

    asyncio.run(work())


def test_at_a_peer_a_thread_enters_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        monkeypatch.setattr(subscriber, "AT_ONCE", 1_000)
        async with Peer(("127.0.0.1", 0)) as peer:
            await peer.insert([(n, P, n) for n in range(60)] + [(n, Q, n) for n in range(60)])

            products = await asyncio.gather(*(peer.subscribe(PRODUCT) for _ in range(3)))
            with pytest.raises(TooManyTokens, match="at most 100 are allowed"):
                await peer.subscribe(PRODUCT, max_tokens=100)
            await peer.retract([(0, P, 0)])

            assert [sum(product.rows().values()) for product in products] == [59 * 60] * 3

    asyncio.run(work())


def test_at_a_peer_like_queries_share_a_network_only_where_that_is_soon_done(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        monkeypatch.setattr(subscriber, "AT_ONCE", 1_000)
        async with Peer(("127.0.0.1", 0)) as peer:
            entrance = peer._parts.subscriber._entrance
            await peer.insert([(n, P, f"few {n % 40}") for n in range(80)] + [(n, P, "many") for n in range(1_001)])
            await peer.insert([(n, Q, f"some {n % 20}") for n in range(2_000)])

            few = [await peer.subscribe(f'(?x, p, "few {n}")') for n in range(DECIDE_AT + SHARE_FROM + 1)]
            many = await peer.subscribe('(?x, p, "many")')
            some = [await peer.subscribe(f'(?x, q, "some {n}")') for n in range(DECIDE_AT + SHARE_FROM + 1)]

            assert [len(one.rows()) for one in (few[-1], many, some[-1])] == [2, 1_001, 100]
            shared = [entrance.count_sharing(parse_query(text)) for text in ('(?x, p, "few 0")', '(?x, q, "some 0")')]
            assert [count > 0 for count in shared] == [True, False]
            assert [made.text for made in peer._parts.subscriptions if made.long is not None] == ['(?x, p, "many")']
            await many.close()

    asyncio.run(work())


def test_many_facts_come_to_a_shared_network_and_leave_it_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with Peer(("127.0.0.1", 0)) as peer:
            await peer.insert([(n, P, f"few {n % 40}") for n in range(80)] + [(n, P, "many") for n in range(10_001)])
            few = [await peer.subscribe(f'(?x, p, "few {n}")') for n in range(DECIDE_AT + SHARE_FROM + 1)]
            reader = peer._parts.subscriber
            told: list[int] = []
            change = reader._network.change_memory

            def change_memory(alpha: rete.AlphaSpec, changes: list[tuple[Tuple, int]]) -> None:
                if "many" in alpha.template.pattern:
                    told.append(len(changes))
                change(alpha, changes)

            monkeypatch.setattr(reader._network, "change_memory", change_memory)

            many = await peer.subscribe('(?x, p, "many")')
            await many.close()
            assert [leaving.size() for leaving in reader.feeds.memories.leaving.values()] == [10_001]
            again, others = await asyncio.gather(peer.subscribe('(?x, p, "many")'), peer.subscribe('(?y, p, "many"), (?y, ?q, ?z)'))

            assert (len(again.rows()), len(others.rows()), len(few[0].rows())) == (10_001, 10_081, 2)
            assert max(told) <= LEAVING_FACTS
            assert sum(told) == 3 * 10_001
            await peer.retract([(0, P, "many")])
            assert len(again.rows()) == 10_000

    asyncio.run(work())


def test_what_nobody_uses_any_more_goes_without_a_look_at_its_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with Peer(("127.0.0.1", 0)) as peer:
            await peer.insert([(n, P, n) for n in range(40)])
            one, other = await peer.subscribe("(?x, p, ?y)"), await peer.subscribe("(?x, p, ?y)")
            monkeypatch.setattr(AlphaMemory, "remove_feed", _no_thread)

            await one.close()
            await other.close()

            assert not peer._parts.subscriber.feeds._sources

    asyncio.run(work())
