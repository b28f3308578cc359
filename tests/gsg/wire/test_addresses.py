"""Addresses that callers give: which are understood, and what is said of those that are none."""

from __future__ import annotations

import re
from typing import Any

import pytest

import gsg
from gsg.wire.addresses import address_of, addresses_of


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (("127.0.0.1", 9201), ("127.0.0.1", 9201)),
        (["::1", 9201], ("::1", 9201)),
        ("127.0.0.1:9201", ("127.0.0.1", 9201)),
        ("[::1]:9201", ("::1", 9201)),
        (":0", ("127.0.0.1", 0)),
    ],
)
def test_a_pair_and_a_text_mean_the_same_address(given: object, meant: tuple[str, int]) -> None:
    assert address_of(given, "listen") == meant


@pytest.mark.parametrize(
    "given", ["127.0.0.1", "a:b", "a:65536", ("a", "9201"), ("a", True), ("a", -1), ("a", 1, 2), 9201, None, b"a:1"]
)
def test_what_is_no_address_is_refused_with_what_one_looks_like(given: object) -> None:
    expected = rf"^join has {re.escape(repr(given))}, which is no address; expected a pair .* or '127.0.0.1:8471'"
    with pytest.raises(gsg.LocalError, match=expected):
        address_of(given, "join")


@pytest.mark.parametrize("given", ["127.0.0.1:9201", 9201, None])
def test_one_address_where_a_list_must_stand_is_refused(given: Any) -> None:  # Any: what a caller may get wrong
    with pytest.raises(gsg.LocalError, match=r"^join is .*; expected a list of addresses, such as \[\('127.0.0.1', 8471\)\]$"):
        addresses_of(given, "join")


def test_a_peer_refuses_what_is_no_address_before_it_is_started() -> None:
    gsg.Peer("127.0.0.1:0", join=["127.0.0.1:9201", ("127.0.0.1", 9202)])
    with pytest.raises(gsg.LocalError, match=r"^join has '127\.0\.0\.1', which is no address"):
        gsg.Peer(join=["127.0.0.1"])
    with pytest.raises(gsg.LocalError, match=r"^listen has 8471, which is no address"):
        gsg.Peer(listen=8471)  # type: ignore[arg-type]  # the mistake in question
