"""Who has sent a request, by what its headers show."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.http.access.authentication
from gsg import AccessDenied
from gsg.http.access.authentication import LOGIN_S, Authentication
from gsg.http.access.principals import ANYBODY, NOBODY, Principal, Role
from gsg.http.access.tokens import Tokens, digest_of, parse_tokens

TOKEN = "0123456789abcdef:e"
ME = Principal("me", frozenset({Role.READ}), None, digest_of(TOKEN))


class Source:
    """Where tokens are."""

    def __init__(self, text: str = f"{TOKEN} read me") -> None:
        self.tokens: Tokens = parse_tokens(text)


class Clock(NamedTuple):
    at: list[float]

    def now(self) -> float:
        return self.at[0]


def authentication(source: Source | None = None, clock: Clock | None = None) -> Authentication:
    names: Iterator[int] = count(1)
    now = (clock or Clock([0.0])).now
    made = Authentication(source or Source(), now, lambda: f"login{next(names)}")
    made.cookie = "gsg-8470"
    return made


def headers(**said: str) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), text.encode("latin-1")) for name, text in said.items()]


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


@pytest.mark.parametrize(
    "shown",
    [f"Bearer {TOKEN}", f"bearer   {TOKEN} ", basic(f"anybody:{TOKEN}"), basic(f":{TOKEN}"), basic(f"x:{TOKEN}").replace("=", "")],
)
def test_a_token_may_be_shown_in_several_ways(shown: str) -> None:
    assert authentication().principal(headers(authorization=shown)) == ME


def test_a_websocket_may_show_it_among_its_subprotocols() -> None:
    offered = "gsg.bearer." + base64.urlsafe_b64encode(TOKEN.encode()).decode().rstrip("=")

    assert authentication().principal([], ["gsg.v1+json", offered]) == ME


@pytest.mark.parametrize(
    "shown",
    [
        "Bearer 0123456789abcdef:f",
        "Bearer",
        "Bearer ",
        "",
        "Digest username=x",
        basic("nothing that parts it"),
        "Basic !!!",
        "Basic /w==",
        f"Bearer {'x' * 10_000}",
    ],
)
def test_what_is_no_token_is_refused_and_counted(shown: str) -> None:
    those = authentication()

    with pytest.raises(AccessDenied) as told:
        those.principal(headers(authorization=shown))

    assert told.value.needs_token
    assert those.refused == 1
    assert "0123456789abcdef" not in str(told.value)


def test_two_tokens_are_none() -> None:
    with pytest.raises(AccessDenied, match="2 Authorization headers; expected one"):
        authentication().principal(headers(authorization=f"Bearer {TOKEN}") * 2)


def test_whoever_shows_nothing_is_nobody_and_anybody_where_nothing_is_asked_for() -> None:
    assert authentication().principal([]) == NOBODY
    assert Authentication(None, lambda: 0.0).principal(headers(authorization="Bearer nonsense")) == ANYBODY


def test_a_login_holds_for_a_while() -> None:
    clock = Clock([0.0])
    those = authentication(clock=clock)
    login = those.log_in(headers(authorization=f"Bearer {TOKEN}"))
    page = headers(cookie=f"other=1; gsg-8470={login}; more")

    me = those.principal(page)
    assert me == ME._replace(login=login)
    assert those.is_still_valid(me)
    assert those.principal(headers(cookie=f"gsg-8471={login}")) == NOBODY
    clock.at[0] = LOGIN_S
    assert not those.is_still_valid(me)
    assert those.principal(page) == NOBODY


def test_a_login_ends_when_its_page_logs_out_and_when_its_token_is_taken_back() -> None:
    source = Source()
    those = authentication(source)
    first, second = (those.log_in(headers(authorization=f"Bearer {TOKEN}")) for _ in range(2))
    mine, also_mine = (those.principal(headers(cookie=f"gsg-8470={login}")) for login in (first, second))

    those.log_out(headers(cookie=f"gsg-8470={first}"))
    assert those.principal(headers(cookie=f"gsg-8470={first}")) == NOBODY
    assert [those.is_still_valid(each) for each in (mine, also_mine, ME)] == [False, True, True]
    source.tokens = parse_tokens(f"{TOKEN}x read me")
    assert those.principal(headers(cookie=f"gsg-8470={second}")) == NOBODY
    assert [those.is_still_valid(each) for each in (also_mine, ME)] == [False, False]
    with pytest.raises(AccessDenied, match="the token of this client was taken back"):
        those.check_still_valid(ME)


@pytest.mark.parametrize(
    "said",
    [
        {"origin": "http://localhost:3000", "host": "localhost:8470"},
        {"origin": "https://app.example.org", "host": "localhost:8470"},
        {"origin": "null", "host": "localhost:8470"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_login_is_of_no_use_to_pages_of_others(said: dict[str, str]) -> None:
    those = authentication()
    cookie = {"cookie": f"gsg-8470={those.log_in(headers(authorization=f'Bearer {TOKEN}'))}"}

    assert those.principal(headers(**said, **cookie)) == NOBODY
    own = {"origin": "http://LOCALHOST:8470", "host": "localhost:8470", "sec-fetch-site": "same-origin"}
    assert those.principal(headers(**own, **cookie)).name == "me"


def test_to_log_in_takes_a_token() -> None:
    with pytest.raises(AccessDenied, match="to log in takes a token in the header"):
        authentication().log_in([])


def test_the_oldest_login_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.http.access.authentication, "MAX_LOGINS", 2)
    those = authentication()
    logins = [those.log_in(headers(authorization=f"Bearer {TOKEN}")) for _ in range(3)]

    assert [those.principal(headers(cookie=f"gsg-8470={login}")).name for login in logins] == ["", "me", "me"]


def test_whoever_logs_in_again_and_again_logs_out_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.http.access.authentication, "MAX_LOGINS_OF_ONE", 2)
    those = authentication(Source(f"{TOKEN} read me\n{TOKEN}1 read you"))
    yours = those.log_in(headers(authorization=f"Bearer {TOKEN}1"))
    mine = [those.log_in(headers(authorization=f"Bearer {TOKEN}")) for _ in range(3)]

    found = [those.principal(headers(cookie=f"gsg-8470={login}")).name for login in (yours, *mine)]
    assert found == ["you", "", "me", "me"]


@given(st.lists(st.tuples(st.sampled_from([b"authorization", b"cookie"]), st.binary(max_size=80)), max_size=3), st.lists(st.text()))
def test_no_headers_raise_anything_else_or_make_somebody(said: list[tuple[bytes, bytes]], offered: list[str]) -> None:
    with suppress(AccessDenied):
        assert authentication().principal(said, offered) == NOBODY


@pytest.mark.parametrize(("named", "told"), [(None, {b"a" * 20, b"b" * 20}), ([b"a" * 20], {b"a" * 20})])
def test_a_token_with_readers_publishes_for_these_or_some_of_them(named: list[bytes] | None, told: set[bytes]) -> None:
    somebody = Principal("me", frozenset({Role.PUBLISH}), frozenset({b"a" * 20, b"b" * 20}))

    assert somebody.audience_for(named) == told
    with pytest.raises(AccessDenied, match=f"{b'c'.hex() * 20} is none of them"):
        somebody.audience_for([b"a" * 20, b"c" * 20])
    with pytest.raises(AccessDenied, match="this would be told to everybody"):
        somebody.check_publishes_to_all()
