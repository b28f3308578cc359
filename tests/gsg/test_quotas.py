"""What one peer, and one client, may ask for."""

from __future__ import annotations

import pytest
from members import member_of
from peers import others, quiet, rendezvous, simulate, unread

import dht
import gsg.quotas
import rete
from dht.links.links import MAX_LINKS_PER_PEER
from dht.simnet import SimNet
from gsg import Peer, Refused, Symbol
from gsg.quotas import BURST_S, TEMPLATES_BYTES, Allowance, Quota, Quotas
from gsg.tuples.terms import Term
from gsg.wire.holder_messages import Replicate
from gsg.wire.messages import Done, Failed, InsertCondition

ON = Symbol("on")


def allowance(*, templates: int = 2, tuples: int = 100, size: int = 1_000) -> Allowance:
    return Quotas(Quota(templates, tuples, size)).of_peer(b"p")


def test_a_rate_is_kept_over_time_however_large_the_batches_are() -> None:
    some = allowance()
    taken, now = 0, 0.0

    while now < 100:
        try:
            some.publish(500, 0, now)
            taken += 500
        except Refused:
            pass
        now += 0.1

    assert taken == pytest.approx(100 * 100, abs=500 + BURST_S * 100)


def test_who_is_too_far_ahead_is_told_the_limit_and_when_to_try_again() -> None:
    some = allowance()
    some.publish(500, 0, 10.0)

    with pytest.raises(Refused) as refused:
        some.publish(1, 0, 11.0)

    assert str(refused.value) == (
        "over quota: one peer may publish 100 tuples a second here, and this one is 4.0 s ahead; "
        "try again in 2.0 s, or ask the operator of this peer for more (--peer-rate)"
    )
    some.publish(1, 0, 13.0)


def test_who_waits_as_long_as_told_is_not_refused_again() -> None:
    some = allowance()
    some.publish(500, 0, 10.0)

    with pytest.raises(Refused, match=r"try again in 0\.1 s"):
        some.publish(1, 0, 12.97)
    some.publish(1, 0, 12.97 + 0.1)


def test_bytes_are_counted_by_themselves() -> None:
    some = allowance()
    some.publish(1, 10_000, 0.0)

    with pytest.raises(Refused, match=r"one peer may publish 1,000 bytes of tuples a second here.*\(--peer-bytes\)"):
        some.publish(1, 1, 1.0)


def test_one_template_too_many_is_refused_with_what_there_is() -> None:
    some = allowance()
    some.post(1)

    with pytest.raises(Refused, match=r"one peer may have 2 templates here, and this one has 2; end some.*\(--peer-templates\)"):
        some.post(2)


def test_templates_count_by_their_bytes_as_well() -> None:
    some = allowance()
    some.post(0, TEMPLATES_BYTES)

    with pytest.raises(
        Refused, match=r"the templates of one peer may take 268,435,456 bytes here, and with this one .* 268,435,457"
    ):
        some.post(0, TEMPLATES_BYTES + 1)


def test_long_templates_of_a_peer_are_counted_until_it_ends_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.quotas, "TEMPLATES_BYTES", 10_000)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, second = peers
        texts = [f"{number:04d}" for number in range(200)]
        mine = next(text for text in texts if rendezvous(peers, 2, 0, text * 1_000) is second)
        live = await first.subscribe(f'("{mine * 1_000}", ?y)')
        more = [text for text in texts if text != mine and rendezvous(peers, 2, 0, text * 1_000) is second]
        again = await first.subscribe(f'("{more[0] * 1_000}", ?y)')
        with pytest.raises(Refused, match="the templates of one peer may take 10,000 bytes"):
            await first.subscribe(f'("{more[1] * 1_000}", ?y)')

        await live.close()
        await again.close()
        await quiet()

        assert (
            sum(
                second._parts.rendezvous.conditions.templates_bytes(link)
                for link in second._parts.exchange.links_of(first.contact.id)
            )
            == 0
        )

    simulate(work, seed=3, size=2)


def test_a_client_hears_of_its_own_options_and_refusals_are_counted() -> None:
    quotas = Quotas(client=Quota(1, 1, 1))
    with pytest.raises(Refused, match=r"one client may have 1 subscriptions here.*\(--client-subscriptions\)"):
        quotas.of_client("a").post(1)

    assert {one.name: one.count for one in quotas.counts()} == {"quota_refused_clients": 1, "quota_refused_peers": 0}


def test_the_debt_of_the_peer_unheard_of_for_the_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.quotas, "PEERS", 2)
    quotas = Quotas(Quota(1, 1, 1))
    first = quotas.of_peer(b"a")
    second = quotas.of_peer(b"b")

    assert quotas.of_peer(b"a") is first
    quotas.of_peer(b"c")
    assert quotas.of_peer(b"a") is first
    assert quotas.of_peer(b"b") is not second


def test_a_peer_that_publishes_too_much_is_refused_and_others_are_served() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, ON)
        host.quotas = host._parts.quotas = Quotas(Quota(1_000, 100, 1 << 30))
        greedy, modest, reader, *_ = others(peers, host)
        subscription = await reader.subscribe("(?x, ^on, ?y)")

        await greedy.notify([("greedy", ON, number) for number in range(900)])
        with pytest.raises(Refused, match="over quota: one peer may publish 100 tuples a second here"):
            await greedy.notify([("greedy", ON, "more")])
        await modest.notify([("modest", ON, 1)])
        await quiet()

        assert len(await unread(subscription)) == 901
        await quiet()
        await greedy.notify([("greedy", ON, "later")])
        await quiet()
        assert await unread(subscription) == ['!?x="greedy" ?y="later"']

    simulate(work, seed=31)


def test_a_peer_that_posts_too_many_templates_is_refused_the_next_one() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscriber, host = peers
        for peer in peers:
            peer.quotas = peer._parts.quotas = Quotas(Quota(3, 1_000_000, 1 << 30))

        async def subscribe_to(count: int) -> None:
            for number in range(count):
                await subscriber.subscribe(f"(?x, ^p{number}, ?y)")

        with pytest.raises(Refused, match="one peer may have 3 templates here, and this one has 3"):
            await subscribe_to(100)

        assert host._parts.rendezvous.conditions.feeds() == 3

    simulate(work, seed=32, size=2)


def test_templates_of_all_links_of_a_peer_are_counted() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        host.quotas = host._parts.quotas = Quotas(Quota(2, 1_000_000, 1 << 30))
        async with member_of(net) as member:
            answers = []
            for number in range(MAX_LINKS_PER_PEER):
                link = await member.links._dial(host.contact)
                assert isinstance(link, dht.Link)
                template: rete.Template[Term] = rete.Template((None, Symbol(f"p{number}"), None))
                posting = InsertCondition(1, 1, template, 1)
                answers.append(await member.exchange._link_of(link).ask(lambda _, p=posting: p))  # type: ignore[misc]  # bound now

            assert [type(answer) for answer in answers] == [Done, Done, Failed, Failed]
            assert host._parts.rendezvous.conditions.feeds() == 2

    simulate(work, seed=33, size=1)


def test_what_a_peer_says_as_the_holder_it_is_not_is_counted_as_published() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer in peers:
            peer.quotas = peer._parts.quotas = Quotas(Quota(1_000, 100, 1 << 30))
        host = rendezvous(peers, 3, 1, ON)
        async with member_of(net) as member:

            def tell(request: int) -> Replicate:
                facts = [(f"s{request}", ON, number) for number in range(500)]
                return Replicate(request, [1] * 500, facts, [b"\x01"] * 500, [request] * 500)

            assert isinstance(await member.ask(host, tell), Done)
            answer = await member.ask(host, tell)
            assert isinstance(answer, Failed)
            assert "over quota: one peer may publish 100 tuples a second here" in answer.reason

            await host.insert([("a", ON, number) for number in range(500)])

            # Holders tell each other of what was counted where it was published.
            counted = {known for peer in peers for known in peer.quotas._peers}
            assert counted <= {host.contact.id, member.contact.id}

    simulate(work, seed=34, size=3)
