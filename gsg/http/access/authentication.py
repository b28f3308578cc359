"""Who has sent a request: whose token it shows, or who has logged in. Pure: the clock and the dice are handed in.

A door without tokens asks for none, and serves anybody. At one that asks, whoever shows nothing is nobody, who may ask what takes
no role, and whoever shows what is not right is told so.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from ...errors import AccessDenied
from .credentials import Shown, shown_by
from .principals import ANYBODY, NOBODY, SHOW_ONE, Principal
from .tokens import Tokens, digest_of

LOGIN_S: Final = 12 * 3600
"""How long a page stays logged in."""
MAX_LOGINS: Final = 10_000
"""Logins at once; beyond, the oldest ends, and its page asks for the token again."""
MAX_LOGINS_OF_ONE: Final = 20
"""The same, of one token: whoever has it is to log nobody else out."""
TAKEN_BACK: Final = "the token of this client was taken back, or says something else now; connect again with one that holds"


class HasTokens(Protocol):
    """Where tokens are, now."""

    tokens: Tokens


class Authentication:
    """That of one door; without ``source`` it asks for nothing. ``draw`` draws the name of a login."""

    def __init__(
        self, source: HasTokens | None, now: Callable[[], float], draw: Callable[[], str] = lambda: secrets.token_urlsafe(24)
    ) -> None:
        self.cookie = "gsg"
        """The name of its cookie: ports of a host share theirs, so the door has its own in it."""
        self.refused = 0
        """Requests that showed what is no token of this door."""
        self._source = source
        self._now = now
        self._draw = draw
        self._logins: dict[str, tuple[bytes, float]] = {}
        """By their names: digests of tokens, and until when. Limit: MAX_LOGINS."""

    @property
    def asks(self) -> bool:
        """Whether it asks for a token."""
        return self._source is not None

    def is_still_valid(self, principal: Principal) -> bool:
        """Whether somebody still is who they were: their token says the same, and they have not logged out."""
        if self._source is None or principal == NOBODY:
            return True
        if principal.login and self._digest_of(principal.login) != principal.digest:
            return False
        found = self._source.tokens.by_digest(principal.digest)
        return found is not None and found == principal._replace(login="")

    def check_still_valid(self, principal: Principal) -> None:
        """Raises AccessDenied for whoever is not who they were any more."""
        if not self.is_still_valid(principal):
            raise AccessDenied(TAKEN_BACK, needs_token=True)

    def _digest_of(self, login: str) -> bytes:
        """That of the token with which a page has logged in; empty where that is over."""
        digest, until_s = self._logins.get(login, (b"", 0.0))
        return digest if self._now() < until_s else b""

    def principal(self, headers: Sequence[tuple[bytes, bytes]], subprotocols: Sequence[str] = ()) -> Principal:
        """Who sends these headers. Raises AccessDenied for what shows something, and is nobody's."""
        if self._source is None:
            return ANYBODY
        try:
            shown = shown_by(headers, subprotocols, self.cookie)
            return self._known(shown)
        except AccessDenied:
            self.refused += 1
            raise

    def _known(self, shown: Shown) -> Principal:
        assert self._source is not None, "asked for before"
        if shown.token:
            found = self._source.tokens.by_digest(digest_of(shown.token))
            if found is None:
                raise AccessDenied(f"that is no token of this peer, or not any more; {SHOW_ONE}", needs_token=True)
            return found
        found = self._source.tokens.by_digest(self._digest_of(shown.login))
        if found is None:
            # A page whose login has ended is to be able to log in again.
            self._logins.pop(shown.login, None)
            return NOBODY
        return found._replace(login=shown.login)

    def log_in(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """The name of a login for whoever shows a token. Raises AccessDenied where none is shown."""
        shown = shown_by(headers, (), self.cookie)
        if not shown.token:
            raise AccessDenied("to log in takes a token in the header `Authorization: Bearer TOKEN`", needs_token=True)
        name, digest = self._draw(), digest_of(shown.token)
        own = [login for login, (of, _) in self._logins.items() if of == digest]
        if len(own) >= MAX_LOGINS_OF_ONE:
            del self._logins[own[0]]
        elif len(self._logins) >= MAX_LOGINS:
            del self._logins[next(iter(self._logins))]
        self._logins[name] = digest, self._now() + LOGIN_S
        return name

    def log_out(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """End the login that headers show, if any."""
        self._logins.pop(shown_by(headers, (), self.cookie).login, None)
