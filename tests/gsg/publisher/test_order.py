"""What a publisher says of what it sent by other rendezvous, without a network."""

from __future__ import annotations

from gsg.publisher.order import NAMED_S, SentNumbers
from gsg.wire.admission import NAMED


def test_a_publisher_that_uses_one_rendezvous_names_none() -> None:
    sent = SentNumbers()
    sent.note_sending(b"r1", 5, 0.0)

    assert sent.others(b"r1", 0.0) == []


def test_a_message_names_the_last_number_that_went_to_each_other_rendezvous() -> None:
    sent = SentNumbers()
    for rendezvous, number in [(b"r1", 1), (b"r2", 2), (b"r1", 3), (b"r3", 4), (b"r1", 2)]:
        sent.note_sending(rendezvous, number, 0.0)

    assert sent.others(b"r2", 0.0) == [(b"r1", 3, 0), (b"r3", 4, 0)]


def test_a_rendezvous_is_named_until_a_while_after_it_has_acknowledged_everything() -> None:
    sent = SentNumbers()
    sent.note_sending(b"r1", 1, 0.0)
    sent.note_sending(b"r2", 2, 0.0)
    sent.acknowledge(b"r1", 1, 1.0)

    assert sent.others(b"r2", 1.0 + NAMED_S) == [(b"r1", 1, 0)]
    assert sent.others(b"r2", 1.1 + NAMED_S) == []
    assert sent.others(b"r1", 1000.0) == [(b"r2", 2, 0)]


def test_a_rendezvous_that_cannot_be_reached_is_not_named() -> None:
    sent = SentNumbers()
    sent.note_sending(b"r1", 1, 0.0)
    sent.note_sending(b"r2", 2, 0.0)

    sent.forget_rendezvous(b"r1")

    assert sent.others(b"r2", 0.0) == []


def test_beyond_the_limit_the_rendezvous_that_has_acknowledged_the_longest_ago_is_forgotten() -> None:
    sent = SentNumbers()
    for number in range(NAMED):
        sent.note_sending(b"r%d" % number, number + 1, 0.0)
    sent.acknowledge(b"r7", 8, 2.0)
    sent.acknowledge(b"r5", 6, 1.0)

    sent.note_sending(b"more", NAMED + 1, 3.0)

    named = [rendezvous for rendezvous, _, _ in sent.others(b"more", 3.0)]
    assert len(named) == NAMED - 1
    assert b"r5" not in named


def test_the_last_event_is_named_beside_the_last_of_all() -> None:
    sent = SentNumbers()
    sent.note_sending(b"r1", 3, 0.0, is_event=True)
    sent.note_sending(b"r1", 5, 0.0)
    sent.note_sending(b"r1", 2, 0.0, is_event=True)

    assert sent.others(b"r2", 0.0) == [(b"r1", 5, 3)]
    assert sent.note_passed(b"r2", 6, 0.0) == [(b"r1", 5, 3)]
    assert sent.others(b"r1", 0.0) == [(b"r2", 6, 6)]
