"""The admin of a door: who it is, what it hears at one peer and at several, and that it goes with its connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pedro_doors import doors, until_served
from pedro_wire import WireClient, close_all

import gsg
from pedro_compat import PAPER, V1_14

HERE = "127.0.0.1"


@pytest.fixture(autouse=True)
def _sockets_closed() -> Iterator[None]:
    yield
    close_all()


@pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])
async def test_admin_hears_every_notification_and_message_with_rock_0_and_nothing_else(dialect: object) -> None:
    async with doors(1, admin_host=HERE, dialect=dialect) as [(_, door)]:
        admin, fred, bill = [await WireClient.connect(door.port) for _ in range(3)]
        answers = [await admin.send("register(admin)"), await fred.send("register(fred)"), await bill.send("register(bill)")]

        said = ["temp(kitchen,  25)", "subscribe(f(_), true, 3)", "p2pmsg(bill@localhost, fred@localhost, hello)", "bad(", "alarm"]
        answers += [await fred.send(line) for line in said]

        assert answers == [1, 1, 1, 1, 1, 1, 0, 1]
        assert admin.delivered() == ["0 temp(kitchen,  25)", "0 p2pmsg(bill@localhost, fred@localhost, hello)", "0 alarm"]
        assert bill.delivered() == ["0 p2pmsg(bill@localhost, fred@localhost, hello)"]


async def test_message_of_a_false_sender_is_not_overheard() -> None:
    async with doors(1, admin_host=HERE) as [(_, door)]:
        admin, fred = await WireClient.connect(door.port), await WireClient.connect(door.port)
        await admin.send("register(admin)")
        await fred.send("register(fred)")

        refused = await fred.send("p2pmsg(admin@localhost, bill@localhost, hello)")

        assert (refused, admin.delivered()) == (0, [])


@pytest.mark.parametrize("address", ["admin@localhost", "admin@_", "_@localhost", "_"])
async def test_message_to_the_admin_itself_comes_once(address: str) -> None:
    async with doors(1, admin_host=HERE) as [(_, door)]:
        admin = await WireClient.connect(door.port)
        await admin.send("register(admin)")
        line = f"p2pmsg({address}, admin@localhost, to_myself)"

        await admin.send(line)

        assert admin.delivered() == [f"0 {line}"]


async def test_admin_hears_what_its_subscriptions_cover_by_them_too() -> None:
    async with doors(1, admin_host=HERE) as [(_, door)]:
        admin = await WireClient.connect(door.port)
        await admin.send("register(admin)")
        await admin.send("subscribe(f(_), true, 7)")

        await admin.send("f(1)")

        assert admin.delivered() == ["7 f(1)", "0 f(1)"]


async def test_admin_keeps_its_role_until_it_leaves_and_then_another_may_have_it() -> None:
    async with doors(1, admin_host=HERE) as [(_, door)]:
        first, second = await WireClient.connect(door.port), await WireClient.connect(door.port)

        answers = [await first.send("register(admin)"), await first.send("deregister(admin)"), await second.send("register(admin)")]
        first.close()
        await until_served(door, 1)
        answers += [await second.send("f(1)"), await second.send("register(admin)"), await second.send("f(2)")]

        assert answers == [1, 0, 0, 1, 1, 1]
        assert second.delivered() == ["0 f(2)"]


@pytest.mark.parametrize("admin_host", [None, "127.0.0.99"])
async def test_admin_from_elsewhere_is_a_name_like_others(admin_host: str | None) -> None:
    async with doors(1, admin_host=admin_host) as [(_, door)]:
        client = await WireClient.connect(door.port)

        answers = [await client.send(line) for line in ("register(admin)", "f(1)", "deregister(admin)", "register(fred)")]

        assert (answers, client.delivered()) == ([1, 1, 1, 1], [])


async def test_admin_hears_what_happens_at_every_peer_whose_door_names_its_host() -> None:
    async with doors(3, admin_host=HERE) as three:
        admin, fred, bill = [await WireClient.connect(door.port) for _, door in three]
        await admin.send("register(admin)")
        await fred.send("register(fred)")
        await bill.send("register(bill)")

        await fred.send("temp(kitchen, 25)")
        notified = await admin.next_delivery()
        await bill.send("p2pmsg(fred@localhost, bill@localhost, hello)")

        assert notified == "0 temp(kitchen, 25)"
        assert await admin.next_delivery() == "0 p2pmsg(fred@localhost, bill@localhost, hello)"
        assert await fred.send("register(admin)") == 0


async def test_messages_of_a_door_that_names_no_admin_host_are_not_overheard() -> None:
    async with doors(2, admin_host=[HERE, None]) as [(_, watched), (_, private)]:
        admin, fred, bill = [await WireClient.connect(door.port) for door in (watched, private, private)]
        await admin.send("register(admin)")
        await fred.send("register(fred)")
        await bill.send("register(bill)")

        await bill.send("p2pmsg(fred@localhost, bill@localhost, hello)")
        await bill.send("temp(kitchen, 25)")

        assert await fred.next_delivery() == "0 p2pmsg(fred@localhost, bill@localhost, hello)"
        assert await admin.next_delivery() == "0 temp(kitchen, 25)"


async def test_host_that_nobody_knows_is_an_error_that_names_it() -> None:
    with pytest.raises(gsg.DoorClosed, match=r"the admin's host 'no host' has no address; expected a name"):
        async with doors(1, admin_host="no host"):
            pass
