"""Every example of the paper and of the manual's section 5; where their print dropped a bracket it is put back."""

from __future__ import annotations

import pytest
from pedro_replay import Door, covered

from pedro_compat import PAPER

COVERS = [
    # section, head and body, notification, covered
    ("paper-1", "T,T = n(1)", "n(1)", True),
    ("paper-2.1", "temp(kitchen,Temp,_),(Temp>20)", "temp(kitchen, 25, 10:30)", True),
    ("paper-2.1-cold", "temp(kitchen,Temp,_),(Temp>20)", "temp(kitchen, 19, 10:30)", False),
    (
        "paper-2.1-frequency",
        "change_notification_frequency(temp(kitchen,_,_),F),(F >= 1, F =< 30)",
        "change_notification_frequency(temp(kitchen,_,_),5)",
        True,
    ),
    (
        "paper-2.1-frequency-back",
        "change_notification_frequency(temp(kitchen,_,_),F),(F >= 1, F =< 30)",
        "change_notification_frequency(temp(kitchen,_,_),15)",
        True,
    ),
    ("paper-2.1-cool", "cool(kitchen),true", "cool(kitchen)", True),
    ("paper-2.1-failure", "possible_failure(_,R),true", "possible_failure(radiator_temp_control,kitchen)", True),
    ("paper-2.1-unrequest", "unrequest(cool(R)),true", "unrequest(cool(kitchen))", True),
    (
        "paper-2.2",
        "bid_call(lot(123), price(P),_),(P=<400)",
        "bid_call(lot(123), price(350), auctioneer(fred@pictor))",
        True,
    ),
    (
        "paper-2.2-dear",
        "bid_call(lot(123), price(P),_),(P=<400)",
        "bid_call(lot(123), price(450), auctioneer(fred@pictor))",
        False,
    ),
    ("paper-2.3-kitchen", "ask(area(kitchen,_),_),true", "ask(area(R,A),heatingAg@russet)", True),
    ("paper-2.3-bedroom", "ask(area(bedroom,_),_),true", "ask(area(R,A),heatingAg@russet)", True),
    ("paper-2.3-other", "ask(area(bedroom,_),_),true", "ask(area(kitchen,A),heatingAg@russet)", False),
    (
        "paper-2.3-rule",
        "tell(rule(area(_,_),_)),true",
        "tell(rule( area(R,A), (rect(R),length(R,L),width(R,W),A is L*W)) )",
        True,
    ),
    ("paper-3.1-atom", "_,true", "alarm", True),
    ("paper-3.3-any", "_,true", "f(1)", True),
    ("paper-3.3-foo-low", "foo(X, X),(number(X), (X < 10; X > 20))", "foo(5,5)", True),
    ("paper-3.3-foo-high", "foo(X, X),(number(X), (X < 10; X > 20))", "foo(25,25)", True),
    ("paper-3.3-foo-between", "foo(X, X),(number(X), (X < 10; X > 20))", "foo(15,15)", False),
    ("paper-3.3-foo-atom", "foo(X, X),(number(X), (X < 10; X > 20))", "foo(a,a)", False),
    ("paper-3.3-foo-two", "foo(X, X),(number(X), (X < 10; X > 20))", "foo(5,6)", False),
    (
        "paper-3.3-bar",
        "bar(L),(list(L), member(X, [apples, pears, oranges]), member(X, L))",
        "bar([plums, pears])",
        True,
    ),
    (
        "paper-3.3-bar-none",
        "bar(L),(list(L), member(X, [apples, pears, oranges]), member(X, L))",
        "bar([plums])",
        False,
    ),
    ("paper-3.3-str", 'str(S),(splitstring(S, _, S2), splitstring(S2, "hello", _))', 'str("say hello")', True),
    ("paper-3.3-str-none", 'str(S),(splitstring(S, _, S2), splitstring(S2, "hello", _))', 'str("say hell")', False),
    ("paper-3.3-type-error", "foo(X, Y),(X < 0 -> Y > 10 ; Y < 10)", "foo(bar, 0)", False),
    ("paper-3.3-type-test", "foo(X, Y),(number(X), X < 0 -> Y > 10 ; Y < 10)", "foo(bar, 0)", True),
    (
        "paper-5.1-term",
        "bid_call(lot(123), price(P), auctioneer(fred@_)),(P=<400)",
        "bid_call(lot(123), price(350), auctioneer(fred@pictor))",
        True,
    ),
    (
        "paper-5.1-list",
        "L,(member(msg_name/bid_call, L), member(lot/123, L), member(price/P, L), member(auctioneer/fred@_, L), P =< 400)",
        "[msg_name/bid_call, lot/123, price/350, auctioneer/fred@pictor]",
        True,
    ),
    (
        "paper-5.1-list-any-order-and-more",
        "L,(member(msg_name/bid_call, L), member(lot/123, L), member(price/P, L), member(auctioneer/fred@_, L), P =< 400)",
        "[price/350, bid_by/10:30, auctioneer/fred@pictor, lot/123, msg_name/bid_call]",
        True,
    ),
    (
        "paper-5.1-party",
        "party_announcement(Invitees, FriendsOfHost),"
        "(member(fred, Invitees), not((member(M, Invitees),not(member(M, FriendsOfHost)))))",
        "party_announcement([ann, fred], [fred, bob, ann])",
        True,
    ),
    (
        "paper-5.1-party-with-a-stranger",
        "party_announcement(Invitees, FriendsOfHost),"
        "(member(fred, Invitees), not((member(M, Invitees),not(member(M, FriendsOfHost)))))",
        "party_announcement([ann, fred], [fred, bob])",
        False,
    ),
    ("paper-5.4-member-of-a-variable", "lst(L),(member(X,L),nonvar(X))", "lst(L1)", False),
    ("paper-5.4-member-of-a-list", "lst(L),(member(X,L),nonvar(X))", "lst([V,a])", True),
    ("paper-5.4-occurs-check", "f(Y),(X = [a|X], member(b,X))", "f(1)", False),
    ("manual-5-info", "info(fred, X),true", "info(fred, 1)", True),
    ("manual-5-info-other", "info(fred, X),true", "info(bob, 1)", False),
    ("manual-5-data", "data(L),(member(height = H, L), H > 1000)", "data([width = 3, height = 1200])", True),
    ("manual-5-data-low", "data(L),(member(height = H, L), H > 1000)", "data([width = 3, height = 900])", False),
    ("manual-5-foo", "foo(X, X),(X < 10; X > 20)", "foo(25,25)", True),
    ("manual-5-foo-between", "foo(X, X),(X < 10; X > 20)", "foo(15,15)", False),
    ("manual-5-str", 'str(S),(splitstring(S, _, S2), splitstring(S2, "hello", _))', 'str("hello")', True),
    ("manual-5-atom-then", "foo(X, Y),(atom(X) -> number(Y), Y > 0 ; atom(Y))", "foo(a, 1)", True),
    ("manual-5-atom-then-not", "foo(X, Y),(atom(X) -> number(Y), Y > 0 ; atom(Y))", "foo(a, b)", False),
    ("manual-5-atom-else", "foo(X, Y),(atom(X) -> number(Y), Y > 0 ; atom(Y))", "foo(1, b)", True),
    ("manual-5-type-error", "foo(X, Y),(X < 0 -> Y > 10 ; Y < 10)", "foo(bar, 0)", False),
    ("manual-5-type-test", "foo(X, Y),(number(X), X < 0 -> Y > 10 ; Y < 10)", "foo(bar, 0)", True),
]


# The manual's tables of arithmetic, row by row: what is evaluated, and its value.
MANUAL_ARITHMETIC = [
    ("pi", "3.141592653589793"),
    ("e", "2.718281828459045"),
    ("- X", "-7"),
    ("X + 2", "9"),
    ("X - 2", "5"),
    ("X * 2", "14"),
    ("X / 2", "3.5"),
    ("X // 2", "3"),
    ("X ** 2", "49"),
    ("X rem 4", "3"),
    ("(- X) rem 4", "-3"),
    ("X mod 4", "3"),
    ("(- X) mod 4", "1"),
    ("X /\\ 3", "3"),
    ("X \\/ 8", "15"),
    ("\\X", "-8"),
    ("X << 2", "28"),
    ("X >> 1", "3"),
    ("abs(- X)", "7"),
    ("round(2.5)", "3"),
    ("floor(2.5)", "2"),
    ("ceiling(2.5)", "3"),
    ("sqrt(X + 2)", "3.0"),
    ("sin(0)", "0.0"),
    ("cos(0)", "1.0"),
    ("tan(0)", "0.0"),
    ("asin(0)", "0.0"),
    ("acos(1)", "0.0"),
    ("atan(0)", "0.0"),
    ("log(e)", "1.0"),
]


@pytest.mark.parametrize(("expression", "value"), MANUAL_ARITHMETIC, ids=[row[0] for row in MANUAL_ARITHMETIC])
def test_row_of_the_manual_s_table_of_arithmetic(expression, value):
    assert covered(f"f(X),(V is {expression}, V = {value})", "f(7)", PAPER)


# The manual's tables of goals, row by row: one that succeeds and one that fails for f(7, [1,2], "hello", a).
MANUAL_GOALS = [
    ("true", "fail"),
    ("A = a", "A = b"),
    ("8 is X + 1", "X is X + 1"),
    ("X < 8", "X < 7"),
    ("X =< 7", "X =< 6"),
    ("X > 6", "X > 7"),
    ("X >= 7", "X >= 8"),
    ("member(2, L)", "member(3, L)"),
    ("split(L, [1], [2])", "split(L, [2], _)"),
    ('splitstring(S, "hel", "lo")', 'splitstring(S, "lo", _)'),
    ("number(X)", "number(A)"),
    ("atom(A)", "atom(X)"),
    ("string(S)", "string(A)"),
    ("list(L)", "list(A)"),
    ("X = 7, A = a", "X = 7, A = b"),
    ("X = 8 ; A = a", "X = 8 ; A = b"),
    ("X = 7 -> A = a ; fail", "X = 7 -> fail ; true"),
    ("not(X = 8)", "not(X = 7)"),
    ("once(member(M, L)), M = 1", "once(member(M, L)), M = 2"),
]


@pytest.mark.parametrize(("succeeds", "fails"), MANUAL_GOALS, ids=[row[0] for row in MANUAL_GOALS])
def test_row_of_the_manual_s_tables_of_goals(succeeds, fails):
    decided = [covered(f"f(X,L,S,A),({goal})", 'f(7, [1,2], "hello", a)', PAPER) for goal in (succeeds, fails)]

    assert decided == [True, False]


@pytest.mark.parametrize(("section", "subscription", "notification", "expected"), COVERS, ids=[case[0] for case in COVERS])
def test_example(section, subscription, notification, expected):
    assert covered(subscription, notification, PAPER) is expected


def connected(*clients):
    door = Door(dialect=PAPER)
    for client, host in clients:
        door.connect(client, host)
        door.send(client, f"register({client})\n")
    return door


AUCTION = [("fred", "pictor"), ("bill", "zeus")]


@pytest.mark.parametrize(
    ("sender", "line", "receivers"),
    [
        ("bill", "p2pmsg(fred@pictor, bill@zeus, bid(lot(123), price(350)))", ["fred"]),
        ("fred", "p2pmsg(bill@zeus, fred@pictor, ack_bid(lot(123), price(350)))", ["bill"]),
        ("bill", "p2pmsg(_@pictor, bill@zeus, m)", ["fred"]),
        ("bill", "p2pmsg(fred@_, bill@zeus, m)", ["fred"]),
        ("bill", "p2pmsg(_, bill@zeus, m)", ["bill", "fred"]),
        ("bill", "p2pmsg(inbox:fred@pictor, main:bill@zeus, m)", ["fred"]),
    ],
    ids=["2.2-bid", "2.2-answer", "1-all-on-a-host", "1-a-name-on-all-hosts", "1-everybody", "3.4-thread"],
)
def test_peer_to_peer_example_reaches(sender, line, receivers):
    door = connected(*AUCTION)

    acks, inbox = door.send(sender, line + "\n")

    assert acks == [1]
    assert inbox == {receiver: [f"0 {line}"] for receiver in receivers}


def test_false_sender_is_refused_as_in_3_4():
    door = connected(*AUCTION)

    assert door.send("bill", "p2pmsg(bill@zeus, fred@pictor, m)\n") == ([0], {})


def test_p2p_message_is_never_covered_as_in_3_3():
    door = connected(*AUCTION)
    door.send("fred", "subscribe(_, true, 5)\n")

    _, inbox = door.send("bill", "p2pmsg(bill@zeus, bill@zeus, m)\n")

    assert inbox == {"bill": ["0 p2pmsg(bill@zeus, bill@zeus, m)"]}


def test_name_is_unique_on_a_host_only_as_in_1():
    door = Door(dialect=PAPER)
    door.connect("first", "texel")
    door.connect("second", "texel")
    door.connect("third", "corsair")

    acks = [door.send(client, "register(worker)\n")[0] for client in ("first", "second", "third")]

    assert acks == [[1], [0], [1]]


def test_unsubscribe_is_acknowledged_by_one_as_in_3_2():
    door = connected(("a", "h"))

    acks, _ = door.send("a", "f(1)\nsubscribe(f(_),true,0)\nsubscribe(g(_),true,0)\nunsubscribe(2)\nunsubscribe(2)\n")

    assert acks == [1, 1, 2, 1, 0]


def test_two_subscriptions_of_a_client_bring_a_notification_twice_as_in_3_3():
    door = connected(("a", "h"))
    door.send("a", "subscribe(f(_),true,1)\nsubscribe(_,true,2)\n")

    assert door.send("a", "f(1)\n") == ([1], {"a": ["1 f(1)", "2 f(1)"]})


@pytest.mark.parametrize("line", ["[1,2]", "+", "-", "rem", "a rem b", "f(-)", r"\ 5 = X"])
def test_any_atom_or_compound_is_a_notification_as_in_3_1(line):
    assert connected(("a", "h")).send("a", line + "\n")[0] == [1]
