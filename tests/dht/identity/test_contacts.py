"""What the network says about peers is believed only in the form of a contact."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dht import BadAnswer, Contact
from dht.identity.contacts import contact_from, contacts_from

ID = bytes(range(20))
BAD = {
    "nothing": (None, "expected an id, a host and a port"),
    "text": ("abc", "expected an id, a host and a port"),
    "too short": ([ID, "10.0.0.1"], "expected an id, a host and a port"),
    "an id of 19 bytes": ([ID[1:], "10.0.0.1", 1], "expected 20 bytes"),
    "an id that is text": (["x" * 20, "10.0.0.1", 1], "expected 20 bytes"),
    "a host name": ([ID, "example.org", 1], "expected an IP literal"),
    "the unspecified host": ([ID, "0.0.0.0", 1], "expected an IP literal"),
    "a multicast host": ([ID, "224.0.0.1", 1], "expected an IP literal"),
    "a host that is bytes": ([ID, b"10.0.0.1", 1], "expected an IP literal"),
    "port 0": ([ID, "10.0.0.1", 0], "expected 1 to 65535"),
    "port 65536": ([ID, "10.0.0.1", 65536], "expected 1 to 65535"),
    "a port that is true": ([ID, "10.0.0.1", True], "expected 1 to 65535"),
    "a port that is text": ([ID, "10.0.0.1", "80"], "expected 1 to 65535"),
}


@pytest.mark.parametrize(("raw", "problem"), BAD.values(), ids=BAD.keys())
def test_what_is_no_contact_is_refused_with_what_was_expected(raw: object, problem: str) -> None:
    with pytest.raises(BadAnswer, match=problem):
        contact_from(raw)


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1", "2001:db8::1"])
def test_a_contact_comes_out_as_it_went_in(host: str) -> None:
    assert contact_from([ID, host, 7400]) == Contact(ID, host, 7400)


def test_one_lie_in_a_list_spoils_it_all() -> None:
    with pytest.raises(BadAnswer):
        contacts_from([[ID, "10.0.0.1", 1], [ID, "10.0.0.1", 0]], limit=20)


def test_a_list_longer_than_asked_for_is_refused() -> None:
    with pytest.raises(BadAnswer, match="expected at most 1"):
        contacts_from([[ID, "10.0.0.1", 1]] * 2, limit=1)


scraps = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.binary(max_size=21), st.lists, max_leaves=6
)


@given(raw=scraps)
def test_scraps_are_a_bad_answer_or_no_contacts(raw: object) -> None:
    found: list[Contact] = []

    with suppress(BadAnswer):
        found = contacts_from(raw, limit=3)

    assert found == []


def test_a_contact_reads_well_in_messages() -> None:
    assert str(Contact(ID, "10.0.0.1", 7400)) == "00010203 at 10.0.0.1:7400"
    assert str(Contact(ID, "2001:db8::1", 7400)) == "00010203 at [2001:db8::1]:7400"
