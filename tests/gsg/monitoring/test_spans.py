"""Spans of a publish, its rendezvous and its subscribers, over the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import count
from types import SimpleNamespace

import pytest
from made_spans import DELIVER, MATCH, PUBLISH, Made, id_of, parent_of, said, trace_of
from opentelemetry import trace
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, StatusCode
from peers import guest_of, quiet, rendezvous, simulate

from dht.simnet import SimNet
from gsg import BadTerm, Peer
from gsg.dispatch import Dispatch
from gsg.monitoring.spans import OpenTelemetrySpans, spans_of
from gsg.tuples.terms import Symbol
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Deltas, Flash, Happened, Message, Publish
from gsg.wire.trace_context import NO_SPAN

P = Symbol("p")
FACT = (Symbol("a"), P, 1)
PARENT = bytes(range(1, 25)) + b"\x01"
PARENT_TRACE, PARENT_SPAN = int.from_bytes(PARENT[:16], "big"), int.from_bytes(PARENT[16:24], "big")


@pytest.fixture
def made() -> Iterator[Made]:
    made = Made()
    yield made
    made.provider.shutdown()


def holders(peers: Sequence[Peer]) -> set[str]:
    """The peers that are rendezvous of FACT."""
    return {rendezvous(peers, 3, position, FACT[position]).contact.id.hex() for position in range(3)}


def test_one_fact_is_one_trace_from_its_publisher_by_its_holders_to_its_subscriber(made: Made) -> None:
    at = SimpleNamespace()

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[3].subscribe("(?s, p, ?o)")
        await peers[1].insert([FACT])
        await quiet()
        at.publisher, at.holders, at.subscriber = peers[1].contact.id.hex(), holders(peers), peers[3].contact.id.hex()

    simulate(work, seed=11, tracer_provider=made.provider)

    (publish,), (deliver,) = made.of(PUBLISH), made.of(DELIVER)
    matches = {id_of(span): said(span) for span in made.of(MATCH)}
    feeding = matches[parent_of(deliver) or 0]
    assert len(made.traces()) == 1
    assert publish.parent is None
    assert {parent_of(span) for span in made.of(MATCH)} == {id_of(publish)}
    assert sorted(str(match["gsg.peer"]) for match in matches.values()) == sorted(at.holders)
    assert said(publish) == {
        "messaging.system": "gsg",
        "messaging.operation.name": "publish",
        "messaging.operation.type": "send",
        "messaging.batch.message_count": 1,
        "gsg.kind": "fact",
        "gsg.peer": at.publisher,
    }
    assert feeding == {
        "messaging.system": "gsg",
        "messaging.operation.name": "match",
        "messaging.batch.message_count": 1,
        "gsg.kind": "fact",
        "gsg.peer": feeding["gsg.peer"],
        "gsg.templates_matched": 1,
        "gsg.forwarded": 1,
    }
    assert said(deliver) == {
        "messaging.system": "gsg",
        "messaging.operation.name": "deliver",
        "messaging.operation.type": "process",
        "messaging.batch.message_count": 1,
        "gsg.kind": "fact",
        "gsg.peer": at.subscriber,
        "gsg.rows": 1,
    }


def test_retractions_and_events_have_theirs(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[3].subscribe("(?s, p, ?o)")
        await peers[1].insert([FACT])
        await quiet()
        made.clear()
        await peers[2].retract([FACT])
        await quiet()
        await peers[1].notify([FACT, (Symbol("b"), P, 2)])
        await quiet()

    simulate(work, seed=12, tracer_provider=made.provider)

    retraction, events = made.of(PUBLISH)
    spans = {id_of(span): span for span in made.all()}
    assert [said(span)["gsg.kind"] for span in (retraction, events)] == ["retract", "event"]
    assert said(events)["messaging.batch.message_count"] == 2
    for publish, rows in ((retraction, 1), (events, 2)):
        of_it = [span for span in made.of(DELIVER) if trace_of(span) == trace_of(publish)]
        assert sum(int(str(said(span)["gsg.rows"])) for span in of_it) == rows
        for deliver in of_it:
            match = spans[parent_of(deliver) or 0]
            assert (match.name, parent_of(match)) == (MATCH, id_of(publish))
            assert said(match)["gsg.kind"] == said(deliver)["gsg.kind"] == said(publish)["gsg.kind"]
            assert said(match)["gsg.forwarded"] == said(deliver)["messaging.batch.message_count"]


def test_rows_of_a_join_are_those_that_were_told(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[3].subscribe("(?s, q, ?o), (?o, p, ?z)")
        await peers[1].insert([(f"s{number}", Symbol("q"), Symbol("a")) for number in range(3)])
        await quiet()
        made.clear()
        await peers[1].insert([FACT])
        await peers[1].insert([(Symbol("nobody's"), P, 1)])
        await quiet()

    simulate(work, seed=13, tracer_provider=made.provider)

    assert [said(span)["gsg.rows"] for span in made.of(DELIVER)] == [3, 0]


def carried(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """What comes to any peer from now on."""
    came: list[Message] = []
    take = Dispatch.message

    def message(self: Dispatch, link: PeerLink, message: Message) -> None:
        came.append(message)
        take(self, link, message)

    monkeypatch.setattr(Dispatch, "message", message)
    return came


def contexts_of(message: Message) -> list[bytes | None]:
    match message:
        case Publish(origin=origin, parts=parts):
            return [None if origin is None else origin.trace, *(part.trace for part in parts)]
        case Deltas(origin=origin):
            return [None if origin is None else origin.trace]
        case Flash(trace=context) | Happened(trace=context):
            return [context]
    return []


async def say_all(peers: Sequence[Peer]) -> None:
    """A fact, its retraction and an event, which one of them hears."""
    await peers[3].subscribe("(?s, p, ?o)")
    await peers[1].insert([FACT])
    await peers[1].retract([FACT])
    await peers[1].notify([FACT])
    await quiet()


def test_without_a_tracer_nothing_is_made_and_nothing_travels(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    came = carried(monkeypatch)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        # One that has a tracer hears of nothing from those that have none.
        async with guest_of(net, peers, tracer_provider=made.provider) as traced:
            await quiet()
            await say_all([*peers[:3], traced])

    simulate(work, seed=14)

    travelled = [context for message in came for context in contexts_of(message)]
    assert {type(message) for message in came if contexts_of(message)} == {Publish, Deltas, Flash, Happened}
    assert set(travelled) == {None}
    assert made.all() == []


def test_what_is_not_sampled_at_its_publisher_is_made_nowhere(made: Made) -> None:
    off = Made(ALWAYS_OFF)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers, tracer_provider=off.provider) as publisher:
            await quiet()
            await say_all([peers[0], publisher, *peers[2:]])

    simulate(work, seed=15, tracer_provider=made.provider)
    off.provider.shutdown()

    assert (made.all(), off.all()) == ([], [])


def test_a_rendezvous_without_spans_hands_the_context_on(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        options = {"tracer_provider": made.provider}
        async with guest_of(net, peers, **options) as publisher, guest_of(net, peers, **options) as subscriber:
            await quiet()
            names = (Symbol(f"p{number}") for number in count())
            name = next(name for name in names if rendezvous([*peers, publisher, subscriber], 3, 1, name) in peers)
            await subscriber.subscribe(f"(?s, {name}, ?o)")
            await publisher.insert([("a", name, 1)])
            await quiet()
            await publisher.notify([("a", name, 1)])
            await quiet()

    simulate(work, seed=16)

    fact, event = made.of(PUBLISH)
    # An event may come by several holders so soon after peers have come.
    assert {parent_of(span) for span in made.of(DELIVER)} == {id_of(fact), id_of(event)}


def test_calls_that_go_in_one_message_keep_their_own_traces(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    came = carried(monkeypatch)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[3].subscribe("(?s, p, ?o)")
        await asyncio.gather(*(peers[1].insert([(f"s{number}", P, number)]) for number in range(30)))
        await quiet()

    simulate(work, seed=17, tracer_provider=made.provider)

    assert any(len(message.parts) > 5 for message in came if isinstance(message, Publish))
    publishes = {trace_of(span): id_of(span) for span in made.of(PUBLISH)}
    assert len(publishes) == 30
    assert made.traces() == set(publishes)
    assert {(trace_of(span), parent_of(span)) for span in made.of(MATCH)} == set(publishes.items())
    assert sorted(trace_of(span) for span in made.of(DELIVER)) == sorted(publishes)
    assert {said(span)["gsg.rows"] for span in made.of(DELIVER)} == {1}


def test_a_call_of_many_parts_is_one_span(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(f"s{number}", P, number) for number in range(2_500)])
        await peers[0].notify([(f"s{number}", P, number) for number in range(2_500)])

    simulate(work, seed=18, size=2, tracer_provider=made.provider)

    facts, events = made.of(PUBLISH)
    counts = [said(span)["messaging.batch.message_count"] for span in (facts, events)]
    assert counts == [2_500, 2_500]
    assert {parent_of(span) for span in made.of(MATCH)} <= {id_of(facts), id_of(events)}


def test_a_call_that_fails_says_of_which_kind_its_error_is_and_nothing_of_what_tuples_say(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with pytest.raises(BadTerm, match="secret"):
            await peers[0].insert([("secret" * 4_000_000,)])

    simulate(work, seed=19, size=1, tracer_provider=made.provider)

    (publish,) = made.of(PUBLISH)
    assert publish.status.status_code is StatusCode.ERROR
    assert said(publish)["error.type"] == "BadTerm"
    assert publish.status.description is None
    assert publish.events == ()
    assert "secret" not in publish.to_json()


def test_what_a_program_publishes_inside_a_span_of_its_own_belongs_to_that(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        with made.provider.get_tracer("program").start_as_current_span("order"):
            await peers[0].insert([FACT])

    simulate(work, seed=20, size=1, tracer_provider=made.provider)

    (order,), (publish,) = made.of("order"), made.of(PUBLISH)
    assert parent_of(publish) == id_of(order)


def test_events_of_a_door_that_would_go_the_short_way_have_spans_too(made: Made) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        assert peers[0].flash_here([((Symbol("rang"), 1), "rang(1)\n")]) is None

    simulate(work, seed=21, size=1, tracer_provider=made.provider)


@pytest.mark.parametrize(
    "context",
    [b"", b"short", bytes(25), bytes(16) + PARENT[16:], PARENT[:16] + bytes(8) + b"\x01"],
    ids=["empty", "short", "zeros", "no trace", "no span"],
)
def test_a_context_that_is_none_is_ignored(made: Made, context: bytes) -> None:
    spans = OpenTelemetrySpans(b"peer", made.provider)

    assert (spans.match(context, "fact"), spans.deliver(context, "fact", 1)) == (NO_SPAN, NO_SPAN)


def test_a_context_may_have_more_behind_it(made: Made) -> None:
    with OpenTelemetrySpans(b"peer", made.provider).match(PARENT + b"of a later version", "fact"):
        pass

    (match,) = made.all()
    assert (trace_of(match), parent_of(match)) == (PARENT_TRACE, PARENT_SPAN)


def test_the_tracers_of_the_program_are_used_once_it_has_set_them_up(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spans_of(b"peer", None) is None
    monkeypatch.setattr(trace, "get_tracer_provider", NoOpTracerProvider)
    assert spans_of(b"peer", None) is None

    monkeypatch.setattr(trace, "get_tracer_provider", lambda: made.provider)

    assert isinstance(spans_of(b"peer", None), OpenTelemetrySpans)
