"""Peers that trace: what their files say of publications, templates and keys that change hands; and anchors by rule."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from peers import guest_of, overlay, quiet, rendezvous, simulate
from pyarrow import parquet

import gsg
import rete
from dht.simnet import SimNet, run
from gsg import LocalError, Peer
from gsg.monitoring.trace import template_of, tuple_of
from gsg.placement.holders import UNSURE_S
from gsg.tuples.terms import Symbol, Variable
from gsg.wire.messages import Event

Line = dict[str, Any]  # Any: a value of any column
P = Symbol("p")
FACTS = [(Symbol(f"s{number}"), P, number) for number in range(40)]


def lines(folder: Path) -> list[Line]:
    """All rows, in order."""
    found = [line for part in folder.glob("*.parquet") for line in parquet.read_table(part).to_pylist()]
    return sorted(found, key=lambda line: (line["at_us"], line["peer"], line["run_us"], line["row"]))


def of(found: list[Line], role: str, what: str) -> list[Line]:
    return [line for line in found if (line["role"], line["what"]) == (role, what)]


def test_each_fact_has_a_row_at_its_publisher_and_one_at_each_of_its_holders(tmp_path: Path) -> None:
    held: Counter[str] = Counter()
    copied: Counter[str] = Counter()

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].insert(FACTS)
        await peers[1].insert(FACTS[:1])
        copied.update({peer.contact.id.hex(): len(peer._parts.rendezvous.held) for peer in peers})
        for feature in {(len(fact), position, fact[position]) for fact in FACTS for position in range(len(fact))}:
            count = sum(fact[feature[1]] == feature[2] for fact in FACTS if len(fact) == feature[0])
            held[rendezvous(peers, *feature).contact.id.hex()] += count

    simulate(work, seed=31, trace=tmp_path)

    found = lines(tmp_path)
    published, received = of(found, "publisher", "insert"), of(found, "rendezvous", "insert")
    assert [tuple_of(line["terms"]) for line in published] == [*FACTS, FACTS[0]]
    repeated = published[-1]["at_us"]
    received = [line for line in received if line["at_us"] < repeated]
    there: Counter[str] = Counter()
    for line in received:
        there[line["peer"]] += len(line["positions"])
    assert there == held
    for line in of(found, "copy", "insert"):
        if line["at_us"] < repeated:
            there[line["peer"]] += len(line["positions"])
    assert there == copied
    homes = [line for line in received if 0 in line["positions"]]
    assert (len(homes), {line["changed"] for line in homes}) == (len(FACTS), {True})
    assert {line["changed"] for line in received if 0 not in line["positions"]} == {None}
    (again,) = (line for line in of(found, "rendezvous", "insert") if line not in received and 0 in line["positions"])
    assert again["changed"] is False


def test_templates_matches_and_what_was_forwarded_are_traced(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscriptions = [await peer.subscribe("(?s, p, ?o), FILTER(?o < 3)") for peer in peers[:2]]
        await peers[2].subscribe("(?s, p, ?s)")
        await peers[0].insert(FACTS)
        await peers[0].retract(FACTS[:1])
        await quiet()
        await subscriptions[0].close()
        await subscriptions[1].close()

    simulate(work, seed=32, trace=tmp_path)

    found = lines(tmp_path)
    # What comes later is of peers that leave one after the other.
    subscribed, ended = of(found, "rendezvous", "subscribe")[:3], of(found, "rendezvous", "unsubscribe")[:2]
    templates = [template_of(line["terms"], line["condition"]) for line in subscribed]
    assert [template for template, _ in templates] == [
        rete.Template((None, P, None)),
        rete.Template((None, P, None)),
        rete.Template((None, P, None), ((0, 2),)),
    ]
    assert [test is None for _, test in templates] == [False, False, True]
    assert [line["changed"] for line in subscribed] == [True, False, True]
    assert [line["positions"] for line in subscribed] == [[1]] * 3
    asked = of(found, "publisher", "subscribe")
    for name in ("terms", "condition", "positions", "source", "number"):
        assert [line[name] for line in asked] == [line[name] for line in subscribed]
    assert [line["peer"] for line in asked] == [line["source"] for line in subscribed]
    assert [line["events_only"] for line in asked] == [False] * 3
    assert [line["terms"] for line in of(found, "publisher", "unsubscribe")[:2]] == ['[null,[1,"p"],null]'] * 2
    assert len({line["source"] for line in subscribed}) == 3
    assert [line["changed"] for line in ended] == [False, True]
    matched = [line for line in found if line["role"] == "rendezvous" and line["matched"]]
    assert [(line["what"], line["matched"], line["forwarded"]) for line in matched] == [("insert", 1, 2)] * 3 + [("retract", 1, 2)]


def test_what_is_for_named_readers_is_traced_as_the_tuple_under_its_keys(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer in peers[:2]:
            await peer.subscribe("(?s, p, ?o)")
        named = [peers[0].contact.id]
        # As below.
        await asyncio.sleep(UNSURE_S + 5)
        await peers[2].insert(FACTS[:1], audience=named)
        await peers[2].notify(FACTS[1:2], audience=named)
        await quiet()

    simulate(work, seed=34, trace=tmp_path)

    found = lines(tmp_path)
    for what, fact, forwarded in (("insert", FACTS[0], 1), ("event", FACTS[1], 1)):
        [published] = of(found, "publisher", what)
        assert tuple_of(published["terms"]) == fact
        received = of(found, "rendezvous", what)
        assert {line["terms"] for line in received} == {published["terms"]}
        assert sum(line["forwarded"] for line in received) == forwarded
    assert sorted(place for line in of(found, "rendezvous", "insert") for place in line["positions"]) == [0, 1, 2]


def test_events_are_known_by_publisher_and_number_wherever_they_arrive(tmp_path: Path) -> None:
    heard: list[Event] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[2].listen(rete.Template((None, P)), lambda event, _: heard.append(event), anchor=1)
        # Until an event goes by the primary of its key alone.
        await asyncio.sleep(UNSURE_S + 5)
        await peers[0].notify([("nobody", "wants", "this"), ("e", P)])
        await quiet()
        peers[1].flash_here([((Variable("X"), P), "x(p)\n")]) or await peers[1].flash([((Variable("X"), P), "x(p)\n")])
        await quiet()

    simulate(work, seed=34, trace=tmp_path)

    found = lines(tmp_path)
    published = of(found, "publisher", "event")
    assert [tuple_of(line["terms"]) for line in published] == [("nobody", "wants", "this"), ("e", P), (Variable("X"), P)]
    names = [(line["source"], line["number"]) for line in published]
    matched = [line for line in of(found, "rendezvous", "event") if line["matched"]]
    assert [(line["source"], line["number"]) for line in matched] == names[1:]
    assert [event.number for event in heard] == [number for _, number in names[1:]]
    assert {(line["matched"], line["forwarded"]) for line in matched} == {(1, 1)}
    assert all(1 in line["positions"] for line in matched)


def test_a_template_without_constants_is_posted_everywhere(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].subscribe("(?x, ?y)")

    simulate(work, seed=34, size=4, trace=tmp_path)

    subscribed = of(lines(tmp_path), "rendezvous", "subscribe")
    assert len({line["peer"] for line in subscribed}) == 4
    assert [(line["terms"], line["positions"]) for line in subscribed] == [("[null,null]", [])] * 4


def test_what_was_handed_over_is_no_publication(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 2, trace=tmp_path) as peers:
            await peers[0].insert(FACTS)
            async with guest_of(net, peers, trace=tmp_path) as guest:
                await quiet()
                assert len(guest._parts.rendezvous.held) > 0

    run(main, seed=35)

    found = lines(tmp_path)
    assert len(of(found, "publisher", "insert")) == len(FACTS)
    homes = [line["terms"] for line in of(found, "rendezvous", "insert") if 0 in line["positions"]]
    assert sorted(homes) == sorted(line["terms"] for line in of(found, "publisher", "insert"))
    assert of(found, "copy", "insert")
    assert [line["what"] for line in found].count("start") == [line["what"] for line in found].count("stop") == 3


def test_a_tuple_that_is_refused_was_not_published(tmp_path: Path) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(gsg.BadTerm, match="expected at most"):
            await peers[0].insert([("fine",), ("x" * 20_000_000,)])

    simulate(work, seed=36, size=1, trace=tmp_path)

    assert [line["what"] for line in lines(tmp_path)] == ["start", "stop"]


@pytest.mark.parametrize(("rule", "position"), [("predicate", 1), ("rarest", 0), ("random", None)])
def test_anchors_are_chosen_by_rule(tmp_path: Path, rule: str, position: int | None) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert(FACTS)
        for number in range(20):
            subscription = await peers[1].subscribe(f"(s{number}, p, ?o)")
            explained = await peers[1].inside.explain(f"(s{number}, p, ?o)")
            (taken,) = (candidate.position for candidate in explained.steps[0].candidates if candidate.chosen)
            chosen.append(taken)
            assert await subscription.batch(1) == [(1, gsg.Row({"o": number}))]

    chosen: list[int] = []
    simulate(work, seed=37, size=4, trace=tmp_path, anchor=rule)

    posted = [line["positions"][0] for line in of(lines(tmp_path), "publisher", "subscribe")]
    assert posted == chosen
    assert set(posted) == ({0, 1} if position is None else {position})


def test_an_unknown_rule_is_one_clear_line() -> None:
    with pytest.raises(LocalError, match="unknown rule 'busiest' for anchors; expected predicate, random, rarest"):
        Peer(anchor="busiest")


def test_a_trace_that_cannot_be_written_closes_the_peer_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def main(net: SimNet) -> None:
        peer = guest_of(net, [], trace=tmp_path / "file")
        with pytest.raises(LocalError, match="cannot trace to"):
            await peer.__aenter__()
        with pytest.raises(gsg.DoorClosed):
            await peer.insert([("x",)])

    run(main, seed=38)
