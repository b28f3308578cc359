"""Who belongs to a network."""

from __future__ import annotations

import pytest

from dht import BadMembership, Identity, Membership
from dht.identity.membership import allowed_from

ME = Identity(b"m" * 32)


def test_members_of_one_network_know_each_others_checks_and_strangers_do_not() -> None:
    inside = Membership(ME, secret=b"sixteen bytes or more")
    also = Membership(Identity(b"n" * 32), secret=b"sixteen bytes or more")
    others = [Membership(ME, secret=b"sixteen bytes or less"), Membership(ME)]

    assert also.is_checked(inside.check(b"x"), b"x")
    assert not also.is_checked(inside.check(b"x"), b"y")
    assert [other.is_checked(inside.check(b"x"), b"x") for other in others] == [False, False]


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes..", bytes(1025)], ids=["empty", "short", "long"])
def test_a_secret_that_is_none_is_refused(secret: bytes) -> None:
    with pytest.raises(BadMembership, match=f"a network secret of {len(secret)} bytes; expected 16 to 1024, such as"):
        Membership(ME, secret=secret)


def test_a_list_of_peers_lets_in_those_it_names() -> None:
    named, other = Identity(b"a" * 32).id, Identity(b"b" * 32).id
    text = f"# ours\n\n{named.hex().upper()}  # the laptop\n"

    member = Membership(ME, allowed=allowed_from(text))

    assert (member.admits(named), member.admits(other)) == (True, False)
    assert Membership(ME).admits(other)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# nobody\n", "no peer id in the list; expected one a line"),
        ("00" * 20 + "\nabc\n", "line 2: 'abc' is no peer id; expected 40 hexadecimal digits, as `gsg peer` prints them"),
        ("00" * 19, "line 1: .* is no peer id"),
        ("zz" * 20, "line 1: .* is no peer id"),
    ],
    ids=["empty", "odd", "short", "no digits"],
)
def test_a_list_with_a_mistake_names_its_line(text: str, problem: str) -> None:
    with pytest.raises(BadMembership, match=problem):
        allowed_from(text)
