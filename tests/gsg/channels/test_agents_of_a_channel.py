"""Agents at a channel: what they do for it, and what becomes of those that do too much."""

from __future__ import annotations

import asyncio

import pytest

from gsg.channels.agent_tickets import KEPT_CANCELLED
from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.languages.predicate import parse
from gsg.channels.ticket import State
from gsg.errors import BadText


def channel_with(text: str, **options: object) -> tuple[Channel, list[dict[str, object]], list[dict[str, object]]]:
    """A channel with an agent, what its owner is told, and all events of the channel."""
    channel, owner, everything = Channel(clock=lambda: 0.0), list[dict[str, object]](), list[dict[str, object]]()
    channel.subscribe(lambda event: owner.append(event.fields), text, "agent", **options)  # type: ignore[arg-type]  # of a test
    channel.subscribe(lambda event: everything.append(event.fields), "true")
    return channel, owner, everything


def test_an_agent_keeps_state_prints_and_publishes() -> None:
    channel, owner, everything = channel_with(
        """(agent (state (errors 0))
             (on (= type 'error)
               (set! errors (+ errors 1))
               (print "error" errors)
               (if (= errors 2) (publish (event (type "alarm") (count errors))))))"""
    )

    for kind in ("error", "warning", "error"):
        channel.publish({"type": kind})

    assert [str(each["printed"]).split() for each in owner] == [["error", "1"], ["error", "2"]]
    assert everything == [{"type": "error"}, {"type": "warning"}, {"type": "error"}, {"type": "alarm", "count": 2}]


def test_an_agent_searches_recent_events_and_subscribes_to_more() -> None:
    channel, owner, _ = channel_with(
        """(agent (on (= type 'ask)
               (print (length (recent (= type 'reading))))
               (subscribe (= type 'answer) (lambda (answer) (print (field answer n))))))"""
    )
    for number in range(3):
        channel.publish({"type": "reading", "n": number})

    channel.publish({"type": "ask"})
    assert parse(channel.closure()) == parse("true")
    channel.publish({"type": "answer", "n": 7})

    assert [str(each["printed"]).strip() for each in owner] == ["3", "7"]


HOSTILE = {
    "loops": "(while true 1)",
    "hoards": "(set! all (list)) (while true (set! all (cons 1234567 all)))",
    "prints": '(while true (print "more"))',
    "counts": "(expt 9 9999999)",
    "grows": '(set! all "x") (while true (set! all (concat all all)))',
    "wakes": "(publish (event (type 'go)))",
    "recurses": "(define (f x) (+ 1 (f x))) (f 1)",
}


@pytest.mark.parametrize("act", HOSTILE.values(), ids=HOSTILE)
def test_an_agent_that_does_too_much_is_stopped_and_its_owner_told_while_the_channel_goes_on(act: str) -> None:
    channel, owner, everything = channel_with(f"(agent (state (all 0)) (on (= type 'go) {act}))")
    ticket = channel.tickets()[0]

    channel.publish({"type": "go"})
    channel.publish({"type": "other"})

    assert ticket.state is State.CANCELLED
    assert (owner[-1]["problem"] != "", "limit" in owner[-1], ticket.stopped != "") == (True, True, True)
    assert everything[-1] == {"type": "other"}
    assert channel._agents.stopped == 1


async def test_a_timer_wakes_an_agent() -> None:
    channel, stream = Channel(), Stream()
    channel.subscribe(stream, '(agent (on (= type \'go) (after 0.01 (print "later"))))', "agent")

    channel.publish({"type": "go"})

    async with asyncio.timeout(30):
        assert (await anext(stream)).fields["printed"] == "later"


def test_an_agent_is_not_woken_by_events_for_others() -> None:
    channel, owner, _ = channel_with('(agent (on true (print "seen")))', asker="Joe")

    channel.publish({"a": 1}, readers=["Fred"])

    assert owner == []


def test_an_agent_that_is_suspended_keeps_its_state_subscriptions_and_timers() -> None:
    now_s = [0.0]
    channel, found = Channel(clock=lambda: now_s[0]), list[object]()
    ticket = channel.subscribe(
        lambda event: found.append(event.fields["printed"]),
        """(agent (state (count 0))
             (on (exists a)
               (set! count (+ count 1))
               (if (= count 1) (do
                 (after 5 (print "timer" count))
                 (subscribe (exists b) (lambda (e) (print "b" count)))))))""",
        "agent",
    )
    channel.publish({"a": 1})
    ticket.suspend()
    for fields in ({"a": 2}, {"b": 1}):
        channel.publish(fields)
    now_s[0] = 6.0
    channel.advance()
    unheard = list(found)

    ticket.resume()
    channel.advance()
    channel.publish({"a": 3})
    channel.publish({"b": 2})

    assert (unheard, found) == ([], ["timer 1", "b 2"])


def test_an_agent_can_be_modified_and_cancelled() -> None:
    channel, owner, _ = channel_with('(agent (on (= a 1) (print "one")))')
    ticket = channel.tickets()[0]
    ticket.modify('(agent (on (= a 2) (print "two")))')
    channel.publish({"a": 1})
    channel.publish({"a": 2})

    ticket.cancel()
    channel.publish({"a": 2})

    assert [str(each["printed"]).strip() for each in owner] == ["two"]


def test_a_mistake_in_a_program_has_its_place() -> None:
    with pytest.raises(BadText) as refused:
        Channel().subscribe(print, "(agent\n (on true (prnt 1)))", "agent")

    assert refused.value.line == 2
    assert "prnt" in str(refused.value)


def test_timers_that_are_set_and_cancelled_again_are_not_kept() -> None:
    channel, _, _ = channel_with("(agent (on (= type 'x) (cancel (after 1000 (print 'late)))))")

    for _ in range(1_000):
        channel.publish({"type": "x"})

    assert len(channel._agents._due) <= KEPT_CANCELLED


def test_agents_of_two_channels_have_different_names() -> None:
    publishes = "(agent (on (= type 'x) (publish (event (type 'y)))))"
    heard = []
    for channel, _, _ in (channel_with(publishes), channel_with(publishes)):
        channel.subscribe(lambda event: heard.append(event.environment["agents"]), "(= type 'y)")
        channel.publish({"type": "x"})

    assert len(heard) == 2
    assert heard[0] != heard[1]
