"""The exchanges of docs/protocol/frames.jsonl, which other languages replay too, with a real peer."""

from __future__ import annotations

import json

import pytest
from frames import by_id, exchanges, fits, replay

from gsg.http.door import HttpDoor
from gsg.http.json.messages import ANSWERS, REPLIES, REQUESTS, object_name


async def test_a_peer_answers_as_the_frames_say(door: HttpDoor) -> None:
    replayed = await replay(door, "frames.jsonl")

    wrong = [(exchange["about"], found) for exchange, found in replayed if not fits(by_id(exchange["receive"]), by_id(found))]
    assert not wrong, json.dumps(wrong)


def test_the_frames_have_every_request_and_what_answers_it() -> None:
    sent = {exchange["send"]["type"] for exchange in exchanges("frames.jsonl") if "send" in exchange}
    answered = {
        (exchange["send"]["type"], message["type"])
        for exchange in exchanges("frames.jsonl")
        for message in exchange["receive"]
        if "send" in exchange and message["id"] == exchange["send"]["id"] and message["type"] != "failed"
    }
    possible = {(object_name(kind), object_name(answer)) for kind, answers in ANSWERS.items() for answer in answers}

    assert {object_name(kind) for kind in REQUESTS} <= sent
    assert answered <= possible
    assert {kind for kind, _ in answered} == {object_name(kind) for kind in REQUESTS}


def test_every_reply_answers_some_request() -> None:
    assert {answer for answers in ANSWERS.values() for answer in answers} == REPLIES.keys() - {
        kind for kind in REPLIES if object_name(kind) == "failed"
    }


@pytest.mark.parametrize(
    ("expected", "found"),
    [({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "...": True}, {"b": 1}), ([1], [1, 1]), ("<number>", "x"), (1, 1.0), ("<peer>", "x")],
)
def test_what_is_not_as_expected_is_noticed(expected: object, found: object) -> None:
    assert not fits(expected, found)
