"""Quenching while keys may be changing hands: what is posted at none of all peers does not travel, and what is posted is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

import dht
from gsg.publisher.quenching import LOOK_AGAIN_S, SILENT_S, Interests
from gsg.rendezvous.interest import MAX_PEERS, InterestLeases
from gsg.tuples.features import Key
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import Exchange
from gsg.wire.interest_messages import AskInterest, Interest, Interested
from gsg.wire.messages import Done

NAMES = ("own", "near", "far")
STANDS_BY: Key = (2, 0, "stands by")
POSTED: Key = (2, 0, "posted")
ANOTHERS: Key = (2, 0, "stands by for another")


def contact(name: str) -> dht.Contact:
    return dht.Contact(name.encode().ljust(20), "1.2.3.4", 1)


def ids(*names: str) -> list[bytes]:
    return [contact(name).id for name in names]


class Known:
    """Holders of a peer that knows some others; who holds a key is not to be asked."""

    def __init__(self, *names: str) -> None:
        self.unsure, self.passes_over = True, False
        self.peers = [contact(name) for name in names]
        self.primary = contact(names[1])
        self.gone: list[bytes] = []
        self.suspected: list[bytes] = []

    def others(self) -> list[dht.Contact]:
        return self.peers[1:]

    def everybody(self) -> list[dht.Contact]:
        return self.peers

    def suspects(self, peer: bytes) -> bool:
        return peer in self.suspected

    def is_known(self, peer: bytes) -> bool:
        return peer in self.gone or peer in [each.id for each in self.peers]

    def primary_now(self, feature: Key) -> dht.Contact:
        return self.primary


class Link:
    """The link to a peer: what was sent by it."""

    def __init__(self, name: str) -> None:
        self.contact = contact(name)
        self.sent: list[Any] = []  # Any: whichever messages
        self.send = self.sent.append

    def ask(self, make: Any) -> asyncio.Future[Done]:  # Any: as above
        self.send(make(1))
        return asyncio.get_running_loop().create_future()


class Asking:
    """Interests of a publisher that is not sure whose keys are whose, and the links by which it asks the others."""

    def __init__(self, *, own: Sequence[Key] = (), names: Sequence[str] = NAMES) -> None:
        self.holders = Known(*names)
        self.links = {name: Link(name) for name in names[1:]}
        exchange = Exchange(contact("own"), on_message=lambda *_: None, on_batch=lambda: None, on_broken=lambda *_: None)
        by_id = {link.contact.id: link for link in self.links.values()}

        async def link_to(peer: dht.Contact) -> Link:
            return by_id[peer.id]

        exchange.link = link_to  # type: ignore[method-assign, assignment]  # as far as it is asked
        conditions = SimpleNamespace(
            positions_in_use=lambda arity: [key[1] for key in own if key[0] == arity],
            has_listeners=lambda key: key in own,
            is_in_use=lambda arity: arity in [key[0] for key in own],
        )
        self.interests = Interests(
            self.holders,  # type: ignore[arg-type]  # as far as they are asked
            exchange,
            conditions,  # type: ignore[arg-type]  # as above
            SimpleNamespace(settling=False),  # type: ignore[arg-type]  # as above
            lambda task: tasks.append(asyncio.get_running_loop().create_task(task)),  # type: ignore[arg-type]  # as above
        )
        tasks: list[asyncio.Task[None]] = []

    async def asked(self) -> list[int]:
        """Let it ask whom it has to: how many questions each has got by now."""
        self.interests.places([("x", "y")])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [len(link.sent) for link in self.links.values()]

    def answer(self, name: str, keys: Sequence[Key] = (), *, anything: bool = False, knows: Sequence[str] = NAMES) -> None:
        said = Interest(anything, list(keys), ids(*knows))  # type: ignore[arg-type]  # keys of constants
        self.interests.take_interest(self.links[name], said)  # type: ignore[arg-type]  # as far as it is asked


async def all_asked(**options: Any) -> Asking:  # Any: as Asking has them
    asking = Asking(**options)
    assert await asking.asked() == [1, 1]
    return asking


EVENTS: list[Tuple] = [("posted", "x"), ("y", "z")]
EVERYWHERE = ([b"\x00\x01", b"\x00\x01"], False)
NOWHERE = ([b"", b""], True)


async def test_all_are_asked_for_what_stands_by_and_then_what_nobody_has_is_not_sent() -> None:
    asking = await all_asked()
    assert [link.sent for link in asking.links.values()] == [[AskInterest(standby=True)]] * 2

    asking.answer("near")
    assert asking.interests.places(EVENTS) == EVERYWHERE
    asking.answer("far")

    assert asking.interests.places(EVENTS) == NOWHERE
    assert asking.interests.wanted(EVENTS) == []


async def test_what_any_peer_has_goes_to_the_rendezvous_whoever_that_is_and_is_not_matched_here_alone() -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", [POSTED])

    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)


async def test_what_this_peer_has_goes_to_the_rendezvous_as_well() -> None:
    asking = await all_asked(own=[POSTED])
    for name in NAMES[1:]:
        asking.answer(name)

    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)


@pytest.mark.parametrize(
    "said",
    [{"knows": [*NAMES, "stranger"]}, {"knows": []}, {"anything": True}, {"knows": ["far"] * (MAX_PEERS + 2)}],
    ids=["knows a stranger", "of its primary keys alone", "anything", "knows too many"],
)
async def test_whoever_cannot_tell_all_has_everything_sent_and_is_asked_again(said: dict[str, Any]) -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", **said)

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [1, 1], "not at once"

    asking.interests._of_peer[contact("far").id].until_s -= LOOK_AGAIN_S  # as if it had been asked so much earlier
    assert await asking.asked() == [1, 2]
    asking.answer("far")
    assert asking.interests.places(EVENTS) == NOWHERE


async def test_who_knows_a_peer_that_has_just_gone_knows_no_stranger() -> None:
    asking = await all_asked()
    asking.holders.gone = ids("dead")
    asking.answer("near", knows=[*NAMES, "dead"])
    asking.answer("far")

    assert asking.interests.places(EVENTS) == NOWHERE


async def test_who_takes_back_what_it_has_told_is_asked_at_once_and_meanwhile_everything_is_sent() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)
    assert asking.interests.places(EVENTS) == NOWHERE

    asking.interests.add_interest(asking.links["far"], Interested(1, True, []))  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [1, 3]  # the answer to what it was told is the second
    asking.answer("far")
    assert asking.interests.places(EVENTS) == NOWHERE


async def test_where_one_is_suspected_the_others_have_told_all_when_it_is_dead() -> None:
    asking = Asking()
    asking.holders.unsure = False
    assert await asking.asked() == [1, 1]
    for name in NAMES[1:]:
        asking.answer(name, knows=[])
    asking.holders.suspected = ids("far")

    asking.interests._sure_until_s = 0.0  # as if LOOK_AGAIN_S had passed
    assert await asking.asked() == [2, 2]
    assert asking.links["near"].sent == [AskInterest(standby=False), AskInterest(standby=True)]
    asking.answer("near", [STANDS_BY])
    asking.holders.unsure, asking.holders.peers, asking.holders.gone = True, [contact("own"), contact("near")], ids("far")
    asking.interests.forget_peer(contact("far").id)

    assert asking.interests.places([*EVENTS, ("stands by", 1)]) == ([b"", b"", b"\x00"], False)


async def test_while_one_is_silent_the_others_tell_what_stands_by_for_it() -> None:
    asking = Asking()
    asking.holders.unsure = False
    assert await asking.asked() == [1, 1]
    asking.answer("near", knows=[])
    assert asking.interests.nobody_asks([(("y", "z"), b"\x00")]) is None, "near has told of its primary keys alone"

    asking.interests._asked_s[contact("far").id] -= 2 * SILENT_S  # as if it had been asked so much earlier
    assert await asking.asked() == [2, 1], "far owes an answer"
    assert asking.interests.nobody_asks([(("y", "z"), b"\x00")]) is None, "near has not told of all yet"
    asking.answer("near", [STANDS_BY])

    assert asking.interests.places([("stands by", 1), ("y", "z")]) == ([b"\x00", b""], False)
    assert asking.interests.nobody_asks([(("stands by", 1), b"\x00\x01")]) is False
    assert asking.interests.nobody_asks([(("stands by", 1), b"\x01"), (("y", "z"), b"\x00")])


async def test_all_holders_of_a_key_may_be_among_several_silent_ones() -> None:
    names = [*NAMES, "silent1", "silent2", "silent3"]
    asking = Asking(names=names)
    asking.holders.unsure = False
    await asking.asked()
    for name in NAMES[1:]:
        asking.answer(name, knows=names)
    asking.holders.primary = contact("silent1")
    for name in names[3:]:
        asking.interests._asked_s[contact(name).id] -= 2 * SILENT_S  # as if it had been asked so much earlier
    assert asking.interests.places([("y", "z")]) == ([b"\x00\x01"], False)

    asking.answer("silent3", knows=names)

    await asking.asked()
    for name in NAMES[1:]:
        asking.answer(name, knows=names)
    assert asking.interests.places([("y", "z")]) == ([b""], True)


async def test_where_one_dies_what_was_told_of_primary_keys_alone_does_not_hold() -> None:
    asking = await all_asked()
    asking.answer("near", knows=[])
    asking.holders.peers, asking.holders.gone = [contact("own"), contact("near")], ids("far")

    asking.interests.forget_peer(contact("far").id)

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [2, 1], "at once"


async def test_what_comes_into_use_is_sent_from_then_on() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)

    told = Interested(1, False, [STANDS_BY])  # type: ignore[list-item]  # a key of a constant
    asking.interests.add_interest(asking.links["far"], told)  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places([("stands by", 1)]) == ([b"\x00"], False)


async def test_events_of_an_arity_that_nobody_asks_for_need_not_be_made() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)

    assert asking.interests.wanted_at(("y", "z")) == b""
    assert not asking.interests.is_arity_asked(2)


async def test_once_a_link_is_gone_what_the_others_have_told_does_not_speak_for_its_peer() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)
    assert asking.interests.places(EVENTS) == NOWHERE

    asking.interests.drop_link(asking.links["far"])  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places(EVENTS) == EVERYWHERE


async def test_once_all_is_sure_what_is_asked_for_goes_where_it_is_asked_for() -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", [POSTED])
    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)

    asking.holders.unsure = False
    asking.interests._sure_until_s = 0.0  # as if LOOK_AGAIN_S had passed

    assert asking.interests.places(EVENTS) == ([b"", b""], True), "near is the primary, and has nothing"


# --- the rendezvous ---------------------------------------------------------------------------------------------------------


class Leases:
    """The leases of a rendezvous at which one key is posted, and two stand by, of which one is its own."""

    def __init__(self, *, settling: bool = True, leaving: bool = False) -> None:
        self.new_keys: list[Key] = []
        self.holders = Known(*NAMES)
        self.responsibility = SimpleNamespace(
            settling=settling, leaving=leaving, other_primary=lambda key: contact("near") if key == ANOTHERS else None
        )
        conditions = SimpleNamespace(
            keys_in_use=lambda: [POSTED],
            keys_on_standby=lambda: [STANDS_BY, ANOTHERS],
            has_templates=lambda key: key == POSTED,
            take_new_keys=lambda: self.new_keys,
        )
        self.leases = InterestLeases(conditions, self.holders, self.responsibility, lambda task: task.close())  # type: ignore[arg-type]  # as far as they are asked

    def answer(self, link: Link, *, standby: bool, is_sure: bool = True) -> Interest:
        self.leases.answer(link, standby=standby, is_sure=is_sure)  # type: ignore[arg-type]  # as far as it is asked
        said: Interest = link.sent[-1]
        return said

    def told(self, *links: Link) -> list[list[Any]]:  # Any: whichever messages
        self.leases.call_when_known(lambda: None)
        return [[message for message in link.sent if isinstance(message, Interested)] for link in links]


async def test_while_keys_change_hands_all_that_is_here_is_told_to_who_asks_for_it_and_anything_asked_for_of_others() -> None:
    leases = Leases()

    assert leases.answer(Link("near"), standby=True) == Interest(False, [POSTED, STANDS_BY, ANOTHERS], ids(*NAMES))  # type: ignore[list-item]  # keys of constants
    assert leases.answer(Link("far"), standby=False) == Interest(True, [])


@pytest.mark.parametrize("why", ["leaving", "strange", "passes over", "too many"])
async def test_who_cannot_tell_all_asks_for_anything(why: str) -> None:
    leases = Leases(leaving=why == "leaving")
    leases.holders.passes_over = why == "passes over"
    if why == "too many":
        leases.holders.peers = [contact("many")] * (MAX_PEERS + 2)

    assert leases.answer(Link("near"), standby=True, is_sure=why != "strange") == Interest(True, [])


async def test_what_comes_to_stand_by_for_another_is_told_to_those_who_rely_on_all_that_is_here() -> None:
    leases = Leases(settling=False)
    of_all, of_primaries, none_any_more = Link("near"), Link("far"), Link("late")
    leases.answer(of_all, standby=True)
    leases.answer(of_primaries, standby=False)
    leases.answer(none_any_more, standby=True)
    leases.answer(none_any_more, standby=False)

    leases.new_keys = [ANOTHERS]
    assert leases.told(of_all, of_primaries, none_any_more) == [[Interested(1, False, [ANOTHERS])], [], []]  # type: ignore[list-item]  # a key of a constant

    leases.new_keys = [STANDS_BY]
    assert [len(told) for told in leases.told(of_all, of_primaries)] == [2, 1]
