"""The clauses of GSG script over peers and clients; gsg/languages/script/test_script_queries.py claims what they mean."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import pytest
from peers import quiet, simulate

import gsg
from dht.simnet import SimNet
from gsg import AsyncClient, Peer, Row, Space, Symbol
from gsg.http.door import HttpDoor

HEAVY = "SUBSCRIBE ?y, COUNT(?x) AS ?n, MAX(?w) AS ?top { (?x, ^on, ?y), (?x, ^weight, ?w), FILTER ?w > 10 } HAVING ?n > 1"
PAINTED = """SUBSCRIBE {
    (?x, ^on, ?y) OPTIONAL { (?y, ^color, ?c) FILTER ?c != red }
    { (?x, ^owner, ann) } UNION { (?x, ^owner, bob) }
    LET ?who = STR(?x)
    NOT { (?z, ^on, ?x) FILTER ?z != lid }
}"""
LIGHTEST = "SUBSCRIBE DISTINCT ?x, ?w { (?x, ^weight, ?w) } ORDER BY ?w, ?x LIMIT 2"
QUERIES = (HEAVY, PAINTED, LIGHTEST)

FACTS = """INSERT {
    (B1, ^on, table), (B2, ^on, table), (B3, ^on, B1), (lid, ^on, B2),
    (B1, ^weight, 12), (B2, ^weight, 20), (B3, ^weight, 5),
    (B1, ^owner, ann), (B2, ^owner, bob), (B3, ^owner, eve),
    (table, ^color, blue)
}"""
CHANGES = ("DELETE { (B3, ^on, B1) (table, ^color, blue) }", "INSERT { (B3, ^owner, ann) (table, ^color, red) (B4, ^weight, 1) }")


@pytest.mark.parametrize("seed", range(3))
def test_peers_answer_what_one_space_answers(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        space = Space()
        early = [(await peers[1].subscribe(text), space.subscribe(text)) for text in QUERIES]
        await peers[2].run(FACTS)
        space.run(FACTS)
        late = list(zip(await peers[3].run("\n".join(QUERIES)), space.run("\n".join(QUERIES)), strict=True))
        for change in CHANGES:
            await peers[0].run(change)
            space.run(change)
        await quiet()

        assert [live.rows() for live, _ in early + late] == [plain.rows() for _, plain in early + late]
        assert early[0][0].rows() == Counter([Row({"y": Symbol("table"), "n": 2, "top": 20})])

    simulate(work, seed=seed, size=4)


@pytest.fixture
async def client() -> AsyncIterator[AsyncClient]:
    async with Peer() as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url) as made:
        yield made


async def test_a_client_runs_a_script_with_every_clause(client: AsyncClient) -> None:
    space = Space()
    script = "\n".join((FACTS, *QUERIES, *CHANGES, *QUERIES))

    ours, theirs = space.run(script), await client.run(script)
    await client.insert([("any", "thing")])

    assert [live.variables for live in theirs] == [plain.variables for plain in ours]
    assert [live.rows() for live in theirs[3:]] == [plain.rows() for plain in ours[3:]]


def test_a_row_of_an_optional_is_told_without_its_names_until_they_come() -> None:
    space = Space()
    subscription = space.subscribe("(?x, ^on, *) OPTIONAL { (?x, ^color, ?c) }")

    space.run("INSERT { (B1, ^on, B2) } INSERT { (B1, ^color, red) } DELETE { (B1, ^color, red) }")

    assert [f"{sign}{row}" for sign, row in subscription] == ["+?x=B1", "-?x=B1", "+?x=B1 ?c=red", "-?x=B1 ?c=red", "+?x=B1"]


def test_an_event_passes_the_filters_of_its_query_and_joins_what_is_optional() -> None:
    space = Space()
    space.run("INSERT { (kitchen, ^floor, 1) }")
    hot = space.subscribe("(temp, ?room, ?t) FILTER ?t > 30 OPTIONAL { (?room, ^floor, ?f) } LET ?over = ?t - 30")

    space.run("NOTIFY { (temp, kitchen, 25) (temp, kitchen, 31) (temp, attic, 40) }")

    assert [f"{sign}{row}" for sign, row in hot] == ["!?room=kitchen ?t=31 ?f=1 ?over=1", "!?room=attic ?t=40 ?over=10"]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_a_window_of_time_averages_the_events_of_late() -> None:
    clock = Clock()
    space = Space(clock=clock)
    mean = space.subscribe("SUBSCRIBE ?room, AVG(?t) AS ?mean { (temp, ?room, ?t) WINDOW 10 s } HAVING ?mean > 20")

    space.run("NOTIFY { (temp, kitchen, 20) }")
    clock.now_s = 4
    space.run("NOTIFY { (temp, kitchen, 30) (temp, attic, 10) }")
    both = mean.rows()
    clock.now_s = 10
    late = mean.rows()
    clock.now_s = 14
    over = mean.rows()

    assert [[str(row) for row in rows] for rows in (both, late, over)] == [
        ['?room=kitchen ?mean="25"^^<http://www.w3.org/2001/XMLSchema#decimal>'],
        ['?room=kitchen ?mean="30"^^<http://www.w3.org/2001/XMLSchema#decimal>'],
        [],
    ]


def test_a_window_of_events_joins_facts_and_keeps_the_newest() -> None:
    space = Space()
    space.run("INSERT { (kitchen, ^floor, 1) (temp, attic, 99) }")
    hot = space.subscribe("(temp, ?room, ?t) WINDOW 2 EVENTS, (?room, ^floor, ?f) FILTER ?t > 30")

    space.run("NOTIFY { (temp, kitchen, 31) (temp, kitchen, 20) (temp, kitchen, 40) }")

    assert [f"{sign}{row}" for sign, row in hot] == [
        "+?room=kitchen ?t=31 ?f=1",
        "-?room=kitchen ?t=31 ?f=1",
        "+?room=kitchen ?t=40 ?f=1",
    ]


def test_not_with_a_window_waits_for_silence() -> None:
    clock = Clock()
    space = Space(clock=clock)
    silent = space.subscribe("(?room, ^has, sensor), NOT { (temp, ?room, *) WINDOW 1 min }")

    space.run("INSERT { (kitchen, ^has, sensor) } NOTIFY { (temp, kitchen, 20) }")
    clock.now_s = 60

    assert [f"{sign}{row}" for sign, row in silent] == ["+?room=kitchen", "-?room=kitchen", "+?room=kitchen"]


def test_a_window_over_peers_keeps_what_one_space_keeps() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        space = Space()
        text = "SUBSCRIBE ?room, COUNT(*) AS ?n { (temp, ?room, ?t) WINDOW 2 EVENTS FILTER ?t > 10 }"
        live, plain = await peers[1].subscribe(text), space.subscribe(text)
        for told in ("NOTIFY { (temp, attic, 11) }", "NOTIFY { (temp, kitchen, 12) }", "NOTIFY { (temp, kitchen, 13) }"):
            await peers[2].run(told)
            space.run(told)
        await quiet()

        assert live.rows() == plain.rows() == Counter([Row({"room": Symbol("kitchen"), "n": 2})])

    simulate(work, seed=1, size=4)


@pytest.mark.parametrize("at_once", [1, 2, 100], ids=lambda rows: f"{rows} at once")
async def test_what_changes_while_a_long_first_answer_is_told_comes_behind_it(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("gsg.subscriptions.standing_query.ROWS_AT_ONCE", at_once)
    told: list[tuple[int, object]] = []
    begun = asyncio.Event()

    def tell(sign: int, row: Row) -> None:
        told.append((sign, row["n"]))
        begun.set()

    async with Peer() as peer:
        await peer.insert([("a", number) for number in range(7)])

        async with asyncio.TaskGroup() as tasks:
            asking = tasks.create_task(peer.subscribe('("a", ?n)', callback=tell))
            await begun.wait()
            tasks.create_task(peer.retract([("a", 3)]))
            tasks.create_task(peer.notify([("a", 99)]))
        await asyncio.sleep(0)

        assert sorted(told[:7]) == [(1, number) for number in range(7)]
        assert set(told[7:]) == {(-1, 3), (0, 99)}
        await asking.result().close()
