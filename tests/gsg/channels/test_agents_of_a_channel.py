"""Agents at a channel: what they do for it, and what becomes of those that do too much."""

from __future__ import annotations

import asyncio

import pytest

from gsg.channels import environment
from gsg.channels.agent.limits import MAX_CHAIN
from gsg.channels.agent_tickets import KEPT_CANCELLED
from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.environment import CHAIN
from gsg.channels.events import Event
from gsg.channels.languages.predicate import parse
from gsg.channels.ticket import State
from gsg.errors import BadTerm, BadText


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


def test_what_an_agent_tells_its_owner_has_readers_and_environment_of_what_woke_it() -> None:
    channel, told = Channel(), list[Event]()
    channel.subscribe(told.append, "(agent (on (= type 'secret) (print (field event x)) (first 1)))", "agent", asker="Fred")

    channel.publish({"type": "secret", "x": 42}, readers=["Fred"], environment={"call": 1})

    assert ["printed" in event.fields for event in told] == [True, False]
    assert [event.readers for event in told] == [frozenset(["Fred"])] * 2
    assert [event.environment["call"] for event in told] == [1, 1]
    assert [event.environment[CHAIN] for event in told] == [[f"{channel.source}/1"]] * 2


def test_agents_of_two_channels_that_print_for_each_other_come_to_an_end() -> None:
    one, other = Channel("one"), Channel("other")
    ticket = one.subscribe(other, "(agent (on (or (exists printed) (= type 'go)) (print 1)))", "agent")
    one_more = other.subscribe(one, "(agent (on true (print 1)))", "agent")

    one.publish({"type": "go"})

    assert ticket.matched + one_more.matched <= 2 * MAX_CHAIN
    assert (ticket.state, one_more.state) == (State.ACTIVE, State.ACTIVE)
    assert one._agents.dropped + other._agents.dropped > 0


def test_an_agent_that_much_follows_from_one_event_is_stopped_and_the_rest_goes_on() -> None:
    channel = Channel()
    texts = [
        "(agent (state (n 0)) (on (= type 'a) (while (< n 100) (set! n (+ n 1)) (publish (event (type 'b))))))",
        "(agent (on (= type 'b) (let ((n 0)) (while (< n 20) (set! n (+ n 1)) (publish (event (type 'c)))))))",
        "(agent (on (= type 'c) (let ((n 0)) (while (< n 900) (set! n (+ n 1))))))",
    ]
    told = list[object]()
    tickets = [channel.subscribe(lambda event: told.append(event.fields["stopped"]), text, "agent") for text in texts]

    channel.publish({"type": "a"})

    assert [ticket.state for ticket in tickets] == [State.ACTIVE, State.ACTIVE, State.CANCELLED]
    assert tickets[2].matched <= 10
    assert told == ["cascade"]


def test_steps_are_counted_anew_for_each_event() -> None:
    channel, _, _ = channel_with("(agent (on (= type 'c) (let ((n 0)) (while (< n 900) (set! n (+ n 1))))))")

    for _ in range(50):
        channel.publish({"type": "c"})

    assert channel.tickets()[0].state is State.ACTIVE
    assert not channel._agents._spent_steps


def test_timers_that_are_due_at_once_are_one_cascade() -> None:
    now_s = [0.0]
    channel, owner = Channel(clock=lambda: now_s[0]), list[dict[str, object]]()
    loop = "(let ((n 0)) (while (< n 900) (set! n (+ n 1))) (publish (event (type 'c))))"
    channel.subscribe(
        lambda event: owner.append(event.fields),
        f"(agent (on (= type 'go) (map (lambda (i) (after i {loop})) (range 50))))",
        "agent",
    )
    channel.publish({"type": "go"})

    now_s[0] = 100.0
    channel.advance()

    assert owner[-1]["stopped"] == "cascade"


def test_nobody_but_agents_says_which_agents_were_woken() -> None:
    channel = Channel()

    with pytest.raises(BadTerm, match="agents note who was woken"):
        channel.publish({"a": 1}, environment={CHAIN: []})
    with pytest.raises(BadTerm, match="another name"):
        channel.publish(Event({"a": 1}, environment={CHAIN: []}))
    with pytest.raises(BadTerm, match="another name"), environment.attached(**{CHAIN: []}):
        pass
    assert environment._read('{"agents": []}') == {}


def test_an_event_from_elsewhere_that_tells_of_many_agents_stops_none() -> None:
    channel, owner, everything = channel_with("(agent (on (= type 'q) (print 'x) (publish (event (type 'a)))))")
    spoofed = {CHAIN: [f"x{number}" for number in range(MAX_CHAIN)]}

    for number in (1, 2):
        channel.publish(Event({"type": "q"}, "elsewhere", number, environment=spoofed))
    channel.publish({"type": "q"})

    assert channel.tickets()[0].state is State.ACTIVE
    assert [list(fields) for fields in owner] == [["dropped", "problem"], ["printed"]]
    assert everything[-1] == {"type": "a"}
    assert channel._agents.dropped == 4


@pytest.mark.parametrize("deliver", ["each", "once"])
def test_after_its_end_an_owner_is_told_no_more(deliver: str) -> None:
    channel, owner = Channel(), list[object]()

    def hear(event: Event) -> None:
        owner.append(event.fields["printed"])
        ticket.cancel()

    ticket = channel.subscribe(hear, "(agent (on true (print 1) (print 2)))", "agent", deliver=deliver)
    channel.publish({"a": 1})

    assert owner == ["1"]


def test_the_timers_of_other_agents_are_not_visited_when_one_ends() -> None:
    channel = Channel(clock=lambda: 0.0)
    text = "(agent (state (i 0)) (on (= type 'go) (while (< i 50) (set! i (+ i 1)) (after 1000 1))))"
    tickets = [channel.subscribe(print, text, "agent") for _ in range(20)]
    channel.publish({"type": "go"})
    due = channel._agents._due

    tickets[-1].cancel()

    assert channel._agents._due is due
    for ticket in tickets:
        ticket.cancel()
    assert len(channel._agents._due) <= KEPT_CANCELLED
    assert channel._agents.next_s is None


def test_a_timer_that_was_suspended_twice_is_due_once() -> None:
    now_s = [0.0]
    channel, told = Channel(clock=lambda: now_s[0]), list[object]()
    ticket = channel.subscribe(
        lambda event: told.append(event.fields["printed"]), "(agent (on (= type 'go) (after 5 (print 'due))))", "agent"
    )
    channel.publish({"type": "go"})
    for _ in range(2):
        ticket.suspend()
        ticket.resume()

    now_s[0] = 6.0
    channel.advance()

    assert told == ["due"]
    assert channel._agents._active_timers == 0
