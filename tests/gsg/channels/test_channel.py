"""A channel from its publisher's and its subscribers' side."""

from __future__ import annotations

from typing import Any

import pytest

from gsg.channels import environment
from gsg.channels.channel import MAX_PENDING, Channel
from gsg.channels.events import Event
from gsg.channels.languages.predicate import parse
from gsg.channels.ticket import State
from gsg.errors import BadTerm, BadText, LocalError, Refused


def heard(channel: Channel, text: str, **options: object) -> list[dict[str, object]]:
    """The fields of what a subscription is sent from now on."""
    found: list[dict[str, object]] = []
    channel.subscribe(lambda event: found.append(event.fields), text, **options)  # type: ignore[arg-type]  # whatever a test gives
    return found


def test_events_reach_those_whom_they_interest_in_the_order_published() -> None:
    channel = Channel()
    errors, everything = heard(channel, "(= type 'error)"), heard(channel, "true")

    channel.publish({"type": "error", "n": 1})
    channel.publish("type: warning; n: #2")

    assert errors == [{"type": "error", "n": 1}]
    assert everything == [{"type": "error", "n": 1}, {"type": "warning", "n": 2}]


def test_equal_events_are_two_events() -> None:
    channel = Channel()
    found = heard(channel, "true")

    first, second = channel.publish({"a": 1}), channel.publish({"a": 1})

    assert (found, first.number == second.number) == ([{"a": 1}] * 2, False)


def test_what_an_event_is_made_of_stays_as_published() -> None:
    channel, given = Channel(), {"list": [1]}
    published = channel.publish(given)

    given["list"].append(2)

    assert published.fields == {"list": [1]}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"a": object()}, "a value of type object"),
        ({1: 2}, "a field called 1"),
        ({"": 2}, "a field called ''"),
        ({"a": 1 << 2_000}, "2,001 bits"),
        (["a"], "an event of type list"),
        ({"a": ["\ud800"]}, "half a surrogate pair"),
        ({"a": [0] * 50_000}, "more than 50,000 values"),
    ],
    ids=["kind", "name", "no name", "number", "list", "half a character", "many"],
)
def test_what_is_no_event_is_refused_and_nobody_is_told(bad: object, said: str) -> None:
    channel = Channel()
    found = heard(channel, "true")

    with pytest.raises(BadTerm, match=said):
        channel.publish(bad)  # type: ignore[arg-type]  # what is refused

    assert found == []


def test_a_ticket_suspends_resumes_modifies_and_cancels() -> None:
    channel = Channel()
    found: list[object] = []
    ticket = channel.subscribe(lambda event: found.append(event.fields["n"]), "(exists a)")
    for number, act in enumerate([None, ticket.suspend, ticket.resume, lambda: ticket.modify("(exists b)"), ticket.cancel]):
        if act is not None:
            act()
        channel.publish({"a": 1, "n": number})
        channel.publish({"b": 1, "n": -number})

    assert found == [0, 2, -3]
    assert (ticket.state, ticket.matched, channel.tickets()) == (State.CANCELLED, 3, [])
    for act in (ticket.resume, lambda: ticket.modify("true")):
        with pytest.raises(LocalError, match="was cancelled; subscribe again"):
            act()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"signature": [""]}, "expected names of fields"),
        ({"deliver": "often"}, "expected each, first, last or once"),
        ({"language": "prolog"}, "expected propositional, predicate, temporal or agent"),
        ({"report": "((|| a))"}, "no \\(name value\\)"),
    ],
    ids=["signature", "deliver", "language", "report"],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(LocalError, match=said):
        Channel().subscribe(print, "true", **options)


def test_readers_and_environment_of_an_event_of_another_channel_are_its_own() -> None:
    event = Channel().publish({"a": 1})

    for options in ({"readers": ["Fred"]}, {"environment": {}}):
        with pytest.raises(LocalError, match="which has its own; leave them out"):
            Channel().publish(event, **options)  # type: ignore[arg-type]  # one or the other
    with pytest.raises(LocalError, match="expected a collection of names"):
        Channel().publish({"a": 1}, readers="Fred")


def test_a_subscription_that_is_modified_wrongly_stays_as_it_was() -> None:
    channel = Channel()
    found: list[object] = []
    ticket = channel.subscribe(lambda event: found.append(event.fields), "(exists a)")

    with pytest.raises(BadText):
        ticket.modify("(exist b)")
    channel.publish({"a": 1})

    assert found == [{"a": 1}]


def test_a_report_projects_renames_and_computes() -> None:
    channel = Channel()
    found = heard(channel, "true", report="(userid (total (* price count)) (env request) (missing nothing))")

    channel.publish({"userid": "Fred", "price": 2.5, "count": 4}, environment={"request": "r-17"})

    assert found == [{"userid": "Fred", "total": 10.0, "request": "r-17"}]


def test_a_subscription_for_once_hears_one_event() -> None:
    channel = Channel()
    found = heard(channel, "true", deliver="once")

    channel.publish({"a": 1})
    channel.publish({"a": 2})

    assert (found, channel.tickets()) == ([{"a": 1}], [])


def test_a_signature_is_required_besides() -> None:
    channel = Channel()
    found = heard(channel, "(not (= a 1))", signature=["b"])

    channel.publish({"a": 2})
    channel.publish({"b": 2})

    assert found == [{"b": 2}]


def test_a_signature_stays_when_the_text_is_modified() -> None:
    channel = Channel()
    found: list[object] = []
    ticket = channel.subscribe(lambda event: found.append(event.fields), "(not (= a 1))", signature=["b"])

    ticket.modify("(not (= a 2))")
    channel.publish({"a": 1})
    channel.publish({"b": 1})

    assert found == [{"b": 1}]


def test_a_signature_of_several_events_is_refused() -> None:
    with pytest.raises(LocalError, match="expected propositional or predicate"):
        Channel().subscribe(print, "(event (a ?a))", "temporal", signature=["a"])


def test_a_relation_of_the_application_that_fails_does_not_hold_and_others_are_told(caplog) -> None:
    channel = Channel()
    channel.register_relation("near", lambda constants: lambda value: value < 3)
    near, everything = heard(channel, "(near place 1)"), heard(channel, "true")

    channel.publish({"place": "text"})
    channel.publish({"place": 2})

    assert (near, len(everything)) == ([{"place": 2}], 2)
    assert "the relation near failed" in caplog.text


def test_a_consumer_that_fails_is_counted_and_others_are_told(caplog) -> None:
    channel = Channel()

    def fail(event: Event) -> None:
        raise ValueError(event.number)

    failing = channel.subscribe(fail, "true")
    found = heard(channel, "true")

    channel.publish({"a": 1})

    assert (failing.failed, failing.delivered, found) == (1, 0, [{"a": 1}])
    assert "the consumer of subscription 1 failed" in caplog.text


def test_what_a_consumer_publishes_comes_after_what_it_was_told_of() -> None:
    channel = Channel()
    channel.subscribe(lambda event: channel.publish({"second": 1}), "(exists first)")
    found = heard(channel, "true")

    channel.publish({"first": 1})

    assert found == [{"first": 1}, {"second": 1}]


def test_a_consumer_that_publishes_without_end_is_refused() -> None:
    channel = Channel()
    refused: list[str] = []

    def flood(event: Event) -> None:
        try:
            for _ in range(MAX_PENDING + 1):
                channel.publish({"b": 1})
        except Refused as error:
            refused.append(str(error))

    channel.subscribe(flood, "(exists a)")
    channel.publish({"a": 1})

    assert len(refused) == 1
    assert "while told of others" in refused[0]


def test_channels_behind_each_other_in_a_circle_tell_of_an_event_once() -> None:
    first, second, third = Channel("first"), Channel("second"), Channel("third")
    for one, other in ((first, second), (second, third), (third, first)):
        one.subscribe(other, "true")
    found = heard(third, "true")

    first.publish({"a": 1})

    assert found == [{"a": 1}]
    assert [(each.published, each.received) for each in (first, second)] == [(1, 0), (0, 1)]


def test_an_event_for_named_readers_is_told_to_them_alone() -> None:
    channel = Channel()
    fred, joe, nobody = heard(channel, "true", asker="Fred"), heard(channel, "true", asker="Joe"), heard(channel, "true")

    channel.publish({"a": 1}, readers=["Fred"])

    assert (fred, joe, nobody, channel.withheld) == ([{"a": 1}], [], [], 2)


def test_the_environment_is_what_the_context_carries() -> None:
    channel = Channel()
    found: list[object] = []
    channel.subscribe(lambda event: found.append(event.fields), "(= (env request) 'r-17)")

    with environment.attached(request="r-17"):
        channel.publish({"a": 1})
    channel.publish({"a": 2})

    assert found == [{"a": 1}]


def test_a_closure_holds_of_all_that_somebody_wants_and_leaves_out_what_is_more_special() -> None:
    channel = Channel()
    for text in ("(> x 3)", "(> x 7)", "(and (> x 9) (= y 1))", "(= kind 'a)"):
        heard(channel, text)

    assert parse(channel.closure()) == parse("(or (> x 3) (= kind 'a))")


def test_a_closure_tells_no_constant_of_a_private_subscription() -> None:
    channel = Channel()
    heard(channel, "(and (= owner 'Fred) (= secret 'swordfish))", private=True)

    assert channel.closure() == "(exists owner)"


def test_a_channel_without_subscriptions_wants_nothing() -> None:
    assert Channel().closure() == "false"


def test_why_not_names_the_comparison_that_fails() -> None:
    channel = Channel()
    ticket = channel.subscribe(print, "(and (= type 'error) (> size 3))")

    assert channel.why_not(ticket, {"type": "error", "size": 2}) == ["(> size 3) fails: size is 2"]
    assert channel.why_not(ticket, {"type": "warning"}) == [
        '(= type "error") fails: type is "warning"',
        "(> size 3) fails: size is missing",
    ]
