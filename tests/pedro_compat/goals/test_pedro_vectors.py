"""Every recording of the server 1.14 in valid use, and the manual's word where the recording is an accident."""

from __future__ import annotations

import pytest
from pedro_replay import Door, recorded

from pedro_compat import V1_14, Notify, compile_test, decode, to_tuple

VECTORS = recorded("vectors.jsonl")


@pytest.mark.parametrize("case", VECTORS, ids=[case["id"] for case in VECTORS])
def test_vector_is_answered_and_delivered_as_recorded(case):
    door = Door()
    door.connect("subscriber")
    door.connect("publisher")

    [sub_ack], _ = door.send("subscriber", case["subscribe"] + "\n")
    [notify_ack], inbox = door.send("publisher", case["notify"] + "\n")

    assert ("nonzero" if sub_ack else 0) == case["sub_ack"]
    assert notify_ack == case["notify_ack"]
    assert inbox.get("subscriber") == ([case["delivered_line"]] if case["delivered"] else None)


VALID = [case for case in VECTORS if case["sub_ack"] and isinstance(decode(case["notify"], V1_14), Notify)]


@pytest.mark.parametrize("case", VALID, ids=[case["id"] for case in VALID])
def test_rendezvous_peer_decides_as_the_door_does(case):
    test = compile_test(decode(case["subscribe"], V1_14).subscription.source())
    notify = decode(case["notify"], V1_14)

    by_line = test(notify.items, notify.line)
    by_tuple = test(to_tuple(notify.term), None)

    assert (by_line, by_tuple) == (case["delivered"], case["delivered"])


SESSIONS = recorded("sessions.jsonl")


def size_of(options):
    return int(options[options.index("-S") + 1]) if "-S" in options else 1024


@pytest.mark.parametrize("case", SESSIONS, ids=[case["session"] for case in SESSIONS])
def test_session_goes_as_recorded(case):
    options = case["server_options"]
    door = Door(size=size_of(options), admin_host=options[options.index("-A") + 1] if "-A" in options else None)

    happened = [replayed(door, step) for step in case["steps"]]

    assert happened == [expected(step) for step in case["steps"]]


def replayed(door, step):
    match step["do"]:
        case "connect":
            return door.connect(step["client"], step["from"])
        case "close":
            return door.close(step["client"])
        case "send":
            return door.send(step["client"], step["line"] + "\n")
        case "send_raw":
            return door.send(step["client"], step["text"])
    return None


def expected(step):
    match step["do"]:
        case "send":
            return [step["ack"]], step["delivered"]
        case "send_raw":
            return step["acks"], step["delivered"]
    return None


# What the manual says, or Prolog with exact integers, where the recording is an accident: answers to subscribe and
# notify, and the line delivered.
QUIRKS = {
    "unify-065": (1, 1, "0 dot([a,b])"),
    "unify-066": (1, 1, "0 dot(.(a,[b]))"),
    "unify-067": (1, 1, None),
    "head-012": (1, 1, None),
    "head-013": (0, 1, None),
    "head-016": (0, 1, None),
    "head-017": (0, 1, None),
    "head-018": (1, 1, "0 go"),
    "head-019": (1, 1, None),
    "typetest-012": (1, 1, "0 t(1)"),
    "typetest-013": (1, 1, None),
    "typetest-025": (1, 1, None),
    "typetest-026": (1, 1, "0 t(a)"),
    "typetest-038": (1, 1, None),
    "typetest-039": (1, 1, None),
    "typetest-051": (1, 1, None),
    "typetest-052": (1, 1, None),
    "typetest-069": (0, 1, None),
    "typetest-070": (0, 1, None),
    "typetest-071": (0, 1, None),
    "typetest-072": (0, 1, None),
    "typetest-073": (0, 1, None),
    "arith-053": (1, 1, "0 e(4052555153018976267)"),
    "arith-054": (1, 1, None),
    "arith-055": (1, 1, None),
    "arith-056": (1, 1, None),
    "arith-080": (1, 1, "0 e(5000000000)"),
    "arith-081": (1, 1, None),
    "arith-082": (1, 1, "0 e(3000000000)"),
    "arith-083": (1, 1, None),
    "arith-130": (1, 1, None),
    "arith-131": (1, 1, None),
    "arith-132": (1, 1, None),
    "arith-133": (1, 1, "0 e(-9223372036854775808)"),
    "arith-134": (1, 1, "0 e(9223372036854775808)"),
    "arith-135": (1, 1, None),
    "arith-138": (1, 1, None),
    "arith-139": (1, 1, None),
    "arith-165": (1, 1, None),
    "arith-166": (1, 1, None),
    "arith-195": (1, 1, "0 e(9007199254740992,9007199254740993)"),
    "arith-200": (1, 1, None),
    "arith-201": (1, 1, None),
    "arith-202": (1, 1, None),
    "arith-203": (1, 1, "0 e(0.25)"),
    "arith-204": (1, 1, None),
    "arith-205": (1, 1, "0 e(4)"),
    "ite-048": (1, 1, "0 c(0)"),
    "not-012": (1, 1, None),
    "not-013": (1, 1, "0 c(6)"),
    "not-031": (1, 1, "0 c(3)"),
    "once-013": (1, 1, "0 c(1)"),
    "once-014": (1, 1, None),
    "optree-002": (1, 1, "0 k(1-2-3)"),
    "optree-003": (1, 1, None),
    "optree-019": (1, 1, "0 k(1 - 1)"),
    "optree-020": (1, 1, "0 k(1 -1)"),
    "optree-033": (1, 1, "0 k([a,b])"),
    "optree-034": (1, 1, "0 k([a|b])"),
    "optree-035": (1, 1, "0 k([a,b|c])"),
    "optree-040": (1, 1, "0 k(a- -b)"),
    "subscribe-form-015": (1, 1, "4294967296 f(1)"),
    "subscribe-form-016": (1, 1, "4294967301 f(1)"),
    "subscribe-form-017": (1, 1, "-1 f(1)"),
    "subscribe-form-018": (1, 1, "-7 f(1)"),
}
RECORDED_QUIRKS = recorded("quirks.jsonl")


@pytest.mark.parametrize("case", RECORDED_QUIRKS, ids=[case["id"] for case in RECORDED_QUIRKS])
def test_quirk_goes_as_the_manual_says(case):
    door = Door()
    door.connect("subscriber")
    door.connect("publisher")

    [sub_ack], _ = door.send("subscriber", case["subscribe"] + "\n")
    [notify_ack], inbox = door.send("publisher", case["notify"] + "\n")

    [line] = inbox.get("subscriber", [None])
    assert (sub_ack, notify_ack, line) == QUIRKS[case["id"]]
