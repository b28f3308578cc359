"""One connection: its lines, its ids, its name, its addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pedro_replay import Door

from pedro_compat import (
    P2P,
    PAPER,
    V1_14,
    Bad,
    Deregister,
    LineReader,
    Notify,
    Register,
    Session,
    Unsubscribe,
    acknowledgement,
    decode,
    delivery,
)
from pedro_compat.terms.terms import Frozen, Var

DIALECTS = pytest.mark.parametrize("dialect", [PAPER, V1_14], ids=["paper", "1.14"])


def acks(session, text):
    session.receive(text.encode() if isinstance(text, str) else text)
    return [command.ack for command in iter(session.next_command, None)]


@pytest.mark.parametrize(
    ("size", "chunks", "lines"),
    [
        (1024, [b"a\nb\n"], ["a", "b"]),
        (1024, [b"a", b"b\nc", b"\n"], ["ab", "c"]),
        (1024, [b""], []),
        (1024, ["é\n".encode()[:1], "é\n".encode()[1:]], ["é"]),
        (1024, [b"x" * 1022 + b"\n"], ["x" * 1022]),
        (1024, [b"x" * 1023 + b"\n", b"ok\n"], [None, "ok"]),
        (2048, [b"x" * 2046 + b"\n"], ["x" * 2046]),
        (2048, [b"x" * 2047 + b"\n"], [None]),
        (8, [b"1234567", b"89", b"more\nok\n"], [None, "ok"]),
        (8, [b"1234", b"567", b"\nok\n"], [None, "ok"]),
        (8, [b"1234567890\nok\n"], [None, "ok"]),
        (1024, [b"f(1)\r\n", b"f(\0)\n", b"\xff\n", b"\n", b" \t\n", b"ok\n"], [None, None, None, None, None, "ok"]),
    ],
)
def test_bytes_become_lines(size, chunks, lines):
    reader = LineReader(size)

    assert [line for chunk in chunks for line in reader.feed(chunk)] == lines


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"\n", b"f(1)\n", b"\xc3\xa9"])), st.integers(3, 40))
def test_lines_do_not_depend_on_how_bytes_arrive(chunks, size):
    pieces, whole = LineReader(size), LineReader(size)

    assert [line for chunk in chunks for line in pieces.feed(chunk)] == whole.feed(b"".join(chunks))


@given(st.binary())
def test_every_complete_line_of_any_bytes_is_answered_once(data):
    assert len(acks(Session("h", size=10**6), data)) == data.count(b"\n")


@DIALECTS
def test_ids_count_per_client_and_are_never_reused(dialect):
    session = Session("h", dialect=dialect)

    given = acks(session, "subscribe(a,true,0)\nunsubscribe(1)\nsubscribe(a,true,0)\nunsubscribe(1)\nsubscribe(b,true,0)\n")

    assert given == [1, 1, 2, 0, 3]
    assert list(session.subscriptions) == [2, 3]


@DIALECTS
@pytest.mark.parametrize(
    ("refused", "uses_id"),
    [
        ("subscribe(f(X),bogus,0)", True),
        ("subscribe(1,true,0)", True),
        ("subscribe(f(X),true,rock)", True),
        ("subscribe(f(X),true,1.0)", True),
        ("subscribe(f(X),true,R)", True),
        ("subscribe(f(X)", False),
        ("subscribe(f(X),true)", False),
        ("subscribe(f(X),true,0,0)", False),
    ],
)
def test_refused_subscription_takes_an_id_if_it_parses(dialect, refused, uses_id):
    session = Session("h", dialect=dialect)

    assert acks(session, f"{refused}\nsubscribe(f(X),true,0)\n") == [0, 2 if uses_id else 1]


@pytest.mark.parametrize(("dialect", "ack"), [(PAPER, 1), (V1_14, 3)], ids=["paper", "1.14"])
def test_unsubscribe_is_answered_by_one_or_by_the_id(dialect, ack):
    session = Session("h", dialect=dialect)
    acks(session, "subscribe(a,true,0)\n" * 3)

    assert acks(session, "unsubscribe(3)\n") == [ack]


@DIALECTS
@pytest.mark.parametrize(
    "line", ["unsubscribe(0)", "unsubscribe(-1)", "unsubscribe(1.0)", "unsubscribe(a)", "unsubscribe(4294967297)"]
)
def test_unknown_id_is_refused(dialect, line):
    session = Session("h", dialect=dialect)

    assert acks(session, f"subscribe(a,true,0)\n{line}\n") == [1, 0]


@DIALECTS
@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("register(abc)", Register("abc")),
        ("register('abc')", Register("abc")),
        ("register('a b')", Register("a b")),
        ("register(',')", Register(",")),
        ("register([])", Register("[]")),
        ("deregister(abc)", Deregister("abc")),
        ("unsubscribe(7)", Unsubscribe(7)),
        ("unsubscribe(007)", Unsubscribe(7)),
        ("(unsubscribe(7))", Unsubscribe(7)),
        ("'unsubscribe'(7)", Unsubscribe(7)),
        ("p2pmsg(b@h,a@'10.0.0.1',m)", P2P("b", "h", "a", "10.0.0.1", "p2pmsg(b@h,a@'10.0.0.1',m)")),
        ("p2pmsg(t:b@h,u:a@h,m)", P2P("b", "h", "a", "h", "p2pmsg(t:b@h,u:a@h,m)")),
        ("p2pmsg(x:f(T):b@h,T:a@h,m)", P2P("b", "h", "a", "h", "p2pmsg(x:f(T):b@h,T:a@h,m)")),
        ("p2pmsg(N@h,a@h,m)", P2P(None, "h", "a", "h", "p2pmsg(N@h,a@h,m)")),
        ("p2pmsg(b@_,a@h,m)", P2P("b", None, "a", "h", "p2pmsg(b@_,a@h,m)")),
        ("p2pmsg(t:N@H,a@h,m)", P2P(None, None, "a", "h", "p2pmsg(t:N@H,a@h,m)")),
        ("p2pmsg(_,a@h,m)", P2P(None, None, "a", "h", "p2pmsg(_,a@h,m)")),
    ],
)
def test_line_is_a_command(dialect, line, command):
    assert decode(line, dialect) == command


@DIALECTS
@pytest.mark.parametrize(
    "line",
    [
        "register(X)",
        "register(1)",
        'register("a")',
        "register(f(a))",
        "register(a,b)",
        "deregister(X)",
        "deregister(a,b)",
        "unsubscribe(1,2)",
        "unsubscribe(X)",
        "p2pmsg(a)",
        "p2pmsg(a@h,b@h)",
        "p2pmsg(a,b@h,m)",
        "p2pmsg(1@h,b@h,m)",
        'p2pmsg(a@"h",b@h,m)',
        "p2pmsg([a],b@h,m)",
        "p2pmsg(f(a)@h,b@h,m)",
        "p2pmsg(a@h,b,m)",
        "p2pmsg(a@h,X,m)",
        "p2pmsg(a@h,N@h,m)",
        "p2pmsg(a@h,b@H,m)",
        "p2pmsg(a@h,[b],m)",
        "5",
        "-5",
        "1.5",
        '"s"',
        "X",
        "f(",
    ],
)
def test_line_is_neither_command_nor_notification(dialect, line):
    assert decode(line, dialect).ack == 0


@pytest.mark.parametrize(
    "line", ["subscribe", "unsubscribe", "register", "deregister", "p2pmsg", "notify(x)", "[]", "a,b", "a->b", "-a"]
)
@DIALECTS
def test_line_is_a_notification(dialect, line):
    assert isinstance(decode(line, dialect), Notify)


@DIALECTS
@pytest.mark.parametrize("line", ["subscribe(f(X),X > 1,7)", "subscribe ( f(X) , X > 1 , 7 )", "(subscribe(f(X),X > 1,7))"])
def test_variables_of_a_subscription_are_bound_however_it_is_written(dialect, line):
    command = decode(line, dialect)

    assert [command.subscription.covers(term) for term in (("f", 1), ("f", 2))] == [False, True]


@DIALECTS
def test_line_that_begins_as_a_subscription_may_be_a_notification_with_variables_of_one(dialect):
    functor, (_, _, variable, _), _ = decode("subscribe(a,X,1) + b", dialect).term

    assert (functor, type(variable)) == ("+", Var if dialect.notification_variables_bind else Frozen)


def test_list_is_a_notification_in_the_paper_only():
    assert (decode("[1,2]", PAPER).ack, decode("[1,2]", V1_14).ack) == (1, 0)


def test_address_has_its_functor_in_the_paper_only():
    lines = ["p2pmsg(b:c,a@h,m)", "p2pmsg(f(b,c),a@h,m)", "p2pmsg(b@c,f(a,h),m)"]

    assert [decode(line, PAPER).ack for line in lines] == [0, 0, 0]
    assert [decode(line, V1_14).ack for line in lines] == [1, 1, 1]


def test_connection_has_one_name_until_it_gives_it_back():
    door = Door()
    door.connect("a")

    given, _ = door.send("a", "register(x)\nregister(y)\nderegister(y)\nderegister('x')\nderegister(x)\nregister(y)\n")

    assert given == [1, 0, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("registered_as", "sender", "resolved", "expected"),
    [
        ("a", "a@'10.0.0.1'", None, True),
        ("a", "a@myhost", "10.0.0.1", True),
        ("a", "a@myhost", "10.0.0.2", False),
        ("a", "a@myhost", None, False),
        ("a", "t:a@'10.0.0.1'", None, True),
    ],
)
def test_sender_is_checked_by_name_and_resolved_host(registered_as, sender, resolved, expected):
    session = Session("10.0.0.1")
    session.registered(Register(registered_as))
    session.receive(f"p2pmsg(x@y,{sender},m)\n".encode())

    assert session.is_sender(session.next_command(), resolved) is expected


def test_message_under_another_name_is_refused_before_any_host_is_resolved():
    session = Session("10.0.0.1")
    session.registered(Register("a"))
    session.receive(b"p2pmsg(x@y,b@h,m)\n")

    assert isinstance(session.next_command(), Bad)


def test_unregistered_sender_is_refused():
    assert acks(Session("h"), "p2pmsg(x@y,a@h,m)\n") == [0]


def test_admin_keeps_its_role():
    door = Door(admin_host="127.0.0.1")
    door.connect("a")

    given, _ = door.send("a", "register(admin)\nderegister(admin)\n")

    assert given == [1, 0]
    assert door.clients["a"].is_admin


def test_admin_from_elsewhere_is_a_name_like_any_other():
    door = Door(admin_host="127.0.0.1")
    door.connect("a", "127.0.0.2")

    given, _ = door.send("a", "register(admin)\nderegister(admin)\n")

    assert given == [1, 1]
    assert not door.clients["a"].is_admin


def test_commands_after_a_refused_line_go_on():
    assert acks(Session("h"), "subscribe(f(X),true,0)\nf(\nf(1)\nregister(X)\nf(2)\n") == [1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("text", "most", "together", "next_ack"),
    [
        ("", 5, [], None),
        ("f(1)\nf(2)\nf(3)\n", 2, ["f(1)", "f(2)"], 1),
        ("f(1)\nf(2)\n", 2, ["f(1)", "f(2)"], None),
        ("f(1)\nf(X)\nf(3)\n", 5, ["f(1)"], 1),
        ("f(1)\nregister(a,b)\nf(3)\n", 5, ["f(1)"], 0),
        ("f(1)\n\nf(3)\n", 5, ["f(1)"], 0),
        ("f(X)\nf(2)\n", 5, [], 1),
        ("unsubscribe(1)\nf(2)\n", 5, [], 0),
    ],
    ids=["nothing", "so-many", "all", "not-plain", "command", "blank", "first-not-plain", "first-a-command"],
)
def test_plain_notifications_are_read_together_up_to_what_is_none(text, most, together, next_ack):
    session = Session("h")
    session.receive(text.encode())

    read = session.notifications(most)
    following = session.next_command()

    assert [line for _, line in read] == together
    assert getattr(following, "ack", None) == next_ack


@pytest.mark.parametrize(("left", "together"), [(1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_plain_notifications_are_read_together_up_to_so_many_characters_and_the_line_that_passes_them(monkeypatch, left, together):
    monkeypatch.setattr("pedro_compat.door.session.TOGETHER_CHARACTERS", left)
    session = Session("h")
    session.receive(b"f(1)\n" * 5)

    assert len(session.notifications(5)) == together
    assert len(list(iter(session.next_command, None))) == 5 - together


def test_plain_notification_that_is_read_together_is_what_is_read_alone():
    together, alone = Session("h"), Session("h")
    for session in (together, alone):
        session.receive(b"temp(kitchen, 25)\n")

    command = alone.next_command()

    assert together.notifications(1) == [(command.items, command.line)]


def test_line_is_forwarded_byte_for_byte():
    command = decode("  f( 'é' ,\t_X )  ", PAPER)

    assert delivery(7, command.line) == "7   f( 'é' ,\t_X )  \n".encode()


def test_acknowledgement_is_a_number_and_a_newline():
    assert acknowledgement(12) == b"12\n"
