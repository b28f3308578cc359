"""Who owes answers, and since when it has given none."""

from __future__ import annotations

from math import inf

from gsg.replication.patience import Patience

PEER, OTHER = b"a" * 20, b"b" * 20


def test_who_owes_nothing_is_silent_since_never() -> None:
    assert Patience().since(PEER) == inf


def test_silence_begins_with_the_first_question_that_is_not_answered() -> None:
    patience = Patience()

    patience.asked(PEER, 1.0)
    patience.asked(PEER, 2.0)
    patience.asked(OTHER, 3.0)

    assert (patience.since(PEER), patience.since(OTHER)) == (1.0, 3.0)


def test_each_answer_begins_the_silence_anew_and_the_last_one_ends_it() -> None:
    patience = Patience()
    patience.asked(PEER, 1.0)
    patience.asked(PEER, 2.0)

    patience.answered(PEER, 5.0)
    between = patience.since(PEER)
    patience.answered(PEER, 6.0)

    assert (between, patience.since(PEER)) == (5.0, inf)
