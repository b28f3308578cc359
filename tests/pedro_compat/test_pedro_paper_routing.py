"""The paper's examples of routing, by its sections and with its hosts, over real sockets; covering is in test_pedro_paper.py."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from pedro_doors import doors
from pedro_wire import WireClient, close_all

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the paper's hosts are several addresses of 127.0.0.0/8, which only Linux has by default"
)

HOSTS = {
    name: f"127.0.0.{number}"
    for number, name in enumerate(("pictor", "zeus", "corsair", "texel", "russet", "texel03", "h", "h1"), 2)
}


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


@asynccontextmanager
async def agents(*handles: str, peers: int = 1) -> AsyncIterator[list[WireClient]]:
    """A registered client for each ``name@host``, an unregistered one for ``@host``; over so many peers, in turn."""
    async with doors(peers) as made:
        for _, door in made:
            for name, address in HOSTS.items():
                door.hosts._remember(name, address)
        clients = []
        for number, handle in enumerate(handles):
            name, _, host = handle.partition("@")
            clients.append(await WireClient.connect(made[number % peers][1].port, HOSTS[host]))
            if name:
                assert await clients[-1].send(f"register({name})") == 1
        yield clients


async def test_1_subscription_delivers_with_its_rock_and_what_nobody_covers_is_discarded() -> None:
    async with agents("@h", "@h1") as [subscriber, publisher]:
        await subscriber.send("subscribe(T, T = n(1), 99)")

        answers = [await publisher.send("n(1)"), await publisher.send("n(2)")]

        assert (answers, subscriber.delivered(), publisher.delivered()) == ([1, 1], ["99 n(1)"], [])


async def test_1_a_name_is_taken_once_on_a_host_and_may_be_taken_on_another() -> None:
    async with agents("p@h", "@h", "@h1") as [_, same_host, other_host]:
        assert [await same_host.send("register(p)"), await other_host.send("register(p)")] == [0, 1]


@pytest.mark.parametrize(
    ("address", "receivers"),
    [
        ("p@h", {"p@h"}),
        ("_@texel03", {"worker@texel03", "clerk@texel03"}),
        ("worker@_", {"worker@texel03", "worker@h"}),
        ("_", {"p@h", "worker@texel03", "clerk@texel03", "worker@h", "p1@h1"}),
        ("inbox:p@h", {"p@h"}),
    ],
    ids=["1-one", "1-all-of-a-host", "1-a-name-on-all-hosts", "1-contract-net", "3.4-thread"],
)
@pytest.mark.parametrize("peers", [1, 2], ids=["one-peer", "two-peers"])
async def test_1_message_reaches_whom_it_addresses(address: str, receivers: set[str], peers: int) -> None:
    handles = ("p1@h1", "p@h", "worker@texel03", "clerk@texel03", "worker@h", "@h1")
    async with agents(*handles, peers=peers) as clients:
        line = f"p2pmsg({address}, p1@h1, m)"

        assert await clients[0].send(line) == 1
        heard = {handle for handle, client in zip(handles, clients, strict=True) if handle in receivers}
        deliveries = [await client.next_delivery() for handle, client in zip(handles, clients, strict=True) if handle in heard]

        assert deliveries == [f"0 {line}"] * len(receivers)
        assert all(client.delivered() == [] for client in clients)


async def test_2_1_house_adapts_the_frequency_of_its_sensor() -> None:
    async with agents("@h", "@h1", "@zeus", "@corsair") as [sensor, agent, window, monitor]:
        await sensor.send("subscribe(change_notification_frequency(temp(kitchen,_,_),F), (F >= 1, F =< 30), 1)")
        await agent.send("subscribe(temp(kitchen,Temp,_), (Temp>20), 2)")
        await window.send("subscribe(cool(kitchen), true, 3)")
        await window.send("subscribe(unrequest(cool(kitchen)), true, 4)")
        await monitor.send("subscribe(possible_failure(_,_), true, 5)")

        await sensor.send("temp(kitchen, 25, 10:30)")
        for line in (
            "change_notification_frequency(temp(kitchen,_,_),5)",
            "change_notification_frequency(temp(kitchen,_,_),45)",
            "cool(kitchen)",
            "possible_failure(radiator_temp_control,kitchen)",
            "change_notification_frequency(temp(kitchen,_,_),15)",
            "unrequest(cool(kitchen))",
        ):
            assert await agent.send(line) == 1

        assert agent.delivered() == ["2 temp(kitchen, 25, 10:30)"]
        assert sensor.delivered() == [f"1 change_notification_frequency(temp(kitchen,_,_),{minutes})" for minutes in (5, 15)]
        assert window.delivered() == ["3 cool(kitchen)", "4 unrequest(cool(kitchen))"]
        assert monitor.delivered() == ["5 possible_failure(radiator_temp_control,kitchen)"]


async def test_2_2_bidder_hears_calls_up_to_its_limit_bids_and_is_answered() -> None:
    async with agents("fred@pictor", "bill@zeus") as [fred, bill]:
        await bill.send("subscribe(bid_call(lot(123), price(P),_),(P=<400),7)")

        for price in (350, 400, 410):
            await fred.send(f"bid_call(lot(123), price({price}), auctioneer(fred@pictor))")
        await bill.send("p2pmsg(fred@pictor, bill@zeus, bid(lot(123), price(350)))")
        await fred.send("p2pmsg(bill@zeus, fred@pictor, ack_bid(lot(123), price(350)))")

        assert bill.delivered() == [
            "7 bid_call(lot(123), price(350), auctioneer(fred@pictor))",
            "7 bid_call(lot(123), price(400), auctioneer(fred@pictor))",
            "0 p2pmsg(bill@zeus, fred@pictor, ack_bid(lot(123), price(350)))",
        ]
        assert fred.delivered() == ["0 p2pmsg(fred@pictor, bill@zeus, bid(lot(123), price(350)))"]


async def test_2_3_query_reaches_all_who_may_know_and_is_answered_directly() -> None:
    async with agents("kitchenAg@corsair", "bedroomAg@texel", "heatingAg@russet") as [kitchen, bedroom, heating]:
        await kitchen.send("subscribe(ask(area(kitchen,_),_),true,1)")
        await bedroom.send("subscribe(ask(area(bedroom,_),_),true,2)")

        await heating.send("ask(area(R,A),heatingAg@russet)")
        await kitchen.send("p2pmsg(heatingAg@russet,kitchenAg@corsair,tell(area(kitchen,1200)))")

        assert kitchen.delivered() == ["1 ask(area(R,A),heatingAg@russet)"]
        assert bedroom.delivered() == ["2 ask(area(R,A),heatingAg@russet)"]
        assert heating.delivered() == ["0 p2pmsg(heatingAg@russet,kitchenAg@corsair,tell(area(kitchen,1200)))"]


async def test_2_3_rule_with_variables_is_forwarded_as_it_was_sent() -> None:
    async with agents("@h", "@h1") as [interested, acquiring]:
        await interested.send("subscribe(tell(rule(area(_,_),_)),true,3)")
        rule = "tell(rule( area(R,A), (rect(R),length(R,L),width(R,W),A is L*W)) )"

        assert await acquiring.send(rule) == 1
        assert interested.delivered() == [f"3 {rule}"]


async def test_3_1_atoms_and_compounds_are_acknowledged_by_1_and_what_does_not_parse_by_0() -> None:
    async with agents("@h") as [client]:
        lines = ("alarm", "f(1)", "[a,b]", "a + b", "'two\\nlines'", "f(", "1", '"text"', "X")

        assert [await client.send(line) for line in lines] == [1, 1, 1, 1, 1, 0, 0, 0, 0]


async def test_3_2_subscriptions_are_numbered_by_client_and_ended_by_their_owner_only() -> None:
    async with agents("@h", "@h1") as [owner, other]:
        numbers = [await owner.send("subscribe(f(_), true, 0)"), await owner.send("subscribe(f(_), bogus(1), 0)")]

        ended = [await other.send("unsubscribe(1)"), await owner.send("unsubscribe(1)"), await owner.send("unsubscribe(1)")]
        await owner.send("f(1)")

        assert (numbers, ended, owner.delivered()) == ([1, 0], [0, 1, 0], [])


async def test_3_3_subscription_to_everything_covers_all_but_messages() -> None:
    async with agents("p@h", "@h1") as [named, listener]:
        await listener.send("subscribe(_, true, 0)")

        for line in ("f(1)", "alarm", "p2pmsg(p@h, p@h, m)", "[a]"):
            assert await named.send(line) == 1

        assert listener.delivered() == ["0 f(1)", "0 alarm", "0 [a]"]
        assert named.delivered() == ["0 p2pmsg(p@h, p@h, m)"]


async def test_3_3_two_subscriptions_that_cover_a_notification_bring_it_twice() -> None:
    async with agents("@h") as [client]:
        await client.send("subscribe(foo(X, X), (number(X), (X < 10; X > 20)), 1)")
        await client.send("subscribe(foo(_, _), true, 2)")

        await client.send("foo(25, 25)")

        assert client.delivered() == ["2 foo(25, 25)", "1 foo(25, 25)"]


async def test_3_4_sender_is_confirmed_and_a_name_can_be_given_back() -> None:
    async with agents("p@h", "p1@h1") as [p, p1]:
        true, false = await p1.send("p2pmsg(p@h, p1@h1, m)"), await p1.send("p2pmsg(p@h, p@h, m)")
        given_back, again = await p.send("deregister(p)"), await p.send("deregister(p)")
        nobody = await p1.send("p2pmsg(p@h, p1@h1, m)")

        assert (true, false, given_back, again, nobody) == (1, 0, 1, 0, 1)
        assert p.delivered() == ["0 p2pmsg(p@h, p1@h1, m)"]


async def test_3_5_two_notifications_of_a_client_arrive_in_the_order_sent() -> None:
    async with agents("@h", "@h1", peers=2) as [publisher, subscriber]:
        await subscriber.send("subscribe(f(_), true, 0)")

        await publisher.send_raw(b"".join(b"f(%d)\n" % number for number in range(500)), 500)

        assert [await subscriber.next_delivery() for _ in range(500)] == [f"0 f({number})" for number in range(500)]


async def test_4_3_one_of_1001_subscriptions_covers() -> None:
    async with agents("@h", "@h1") as [subscriber, publisher]:
        failing = b"".join(b"subscribe(r(K), member(K,[a%d,b%d,c%d]), 0)\n" % (number, number, number) for number in range(1_000))
        await subscriber.send_raw(failing, 1_000)
        assert await subscriber.send("subscribe(r(K), member(K,[x,y,z]), 7)") == 1_001

        await publisher.send("r(y)")

        assert subscriber.delivered() == ["7 r(y)"]


async def test_5_1_auctioneer_may_be_part_of_the_template_and_attributes_may_be_a_list() -> None:
    async with agents("@h", "@h1") as [subscriber, publisher]:
        await subscriber.send("subscribe(bid_call(lot(123), price(P), auctioneer(fred@_)),(P=<400),1)")
        members = "member(msg_name/bid_call, L), member(lot/123, L), member(price/P, L), member(auctioneer/fred@_, L), P =< 400"
        await subscriber.send(f"subscribe(L, ({members}), 2)")

        said = ["bid_call(lot(123), price(350), auctioneer(fred@pictor))"]
        said += ["[lot/123, msg_name/bid_call, bid_by/10:30, price/350, auctioneer/fred@pictor]"]
        for line in (*said, "bid_call(lot(123), price(350), auctioneer(ann@pictor))", "[msg_name/bid_call, lot/123]"):
            await publisher.send(line)

        assert subscriber.delivered() == [f"1 {said[0]}", f"2 {said[1]}"]


async def test_5_4_goals_that_would_not_end_in_prolog_end() -> None:
    async with agents("@h", "@h1") as [subscriber, publisher]:
        await subscriber.send("subscribe(lst(L),(member(X,L),nonvar(X)),1)")
        await subscriber.send("subscribe(lst(_),(X = [a|X], member(b,X)),2)")

        answers = [await publisher.send(line) for line in ("lst(L1)", "lst([V|T])", "lst([V,a|T])")]

        assert (answers, subscriber.delivered()) == ([1, 1, 1], ["1 lst([V,a|T])"])


async def test_manual_5_examples_of_valid_subscriptions_are_delivered_by_what_they_say() -> None:
    async with agents("@h", "@h1") as [subscriber, publisher]:
        for number, line in enumerate(
            (
                "info(fred, X), true",
                "data(L), (member(height = H, L), H > 1000)",
                "foo(X, X), (X < 10; X > 20)",
                'str(S), (splitstring(S, _, S2), splitstring(S2, "hello", _))',
                "foo(X, Y), (atom(X) -> number(Y), Y > 0 ; atom(Y))",
            ),
            1,
        ):
            assert await subscriber.send(f"subscribe({line}, {number})") == number

        for line in (
            "info(fred, 1)",
            "data([height = 1200])",
            "foo(25,25)",
            'str("oh hello!")',
            "foo(a, 1)",
            "foo(a, b)",
            "foo(1, b)",
        ):
            await publisher.send(line)

        assert subscriber.delivered() == [
            "1 info(fred, 1)",
            "2 data([height = 1200])",
            "3 foo(25,25)",
            '4 str("oh hello!")',
            "5 foo(a, 1)",
            "5 foo(1, b)",
        ]
