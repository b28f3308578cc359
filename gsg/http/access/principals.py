"""Who asks for something at the door, and what they may do."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from starlette.types import Scope

from ...errors import AccessDenied
from ...tuples.audiences import Audience, audience_of


class Role(Enum):
    """What somebody may do. A principal has any of them."""

    READ = "read"
    """Ask, subscribe, look at how peers are."""
    PUBLISH = "publish"
    """Insert, retract, notify."""
    ADMIN = "admin"
    """End what others have begun; it includes the others."""


class Principal(NamedTuple):
    """Somebody. ``name`` is that of the token, empty where none was shown; ``readers``, who alone may read what it publishes;
    ``digest`` is the SHA-256 of the token, and ``login`` the name of the login by which a page showed it."""

    name: str
    roles: frozenset[Role]
    readers: Audience | None = None
    digest: bytes = b""
    login: str = ""

    def __repr__(self) -> str:
        return f"Principal({self.name!r}, {sorted(role.value for role in self.roles)})"  # what is secret is not shown

    def has(self, role: Role) -> bool:
        """Whether it may do what takes this role."""
        return role in self.roles or Role.ADMIN in self.roles

    def check(self, role: Role) -> None:
        """Raises AccessDenied where it may not."""
        if self.has(role):
            return
        if not self.name:
            raise AccessDenied(f"this takes a token with the role {role.value}, and none was shown; {SHOW_ONE}", needs_token=True)
        has = ", ".join(sorted(each.value for each in self.roles))
        raise AccessDenied(
            f"this takes the role {role.value}, and {self.name} has {has}; ask the operator of this peer for a token that has it"
        )

    def audience_for(self, named: Iterable[object] | None) -> Audience | None:
        """The readers of what it publishes for those that it names, None for everybody: where its token has readers, these or some
        of them. Raises AccessDenied for others, and what :func:`audience_of` does."""
        audience = audience_of(named)
        if self.readers is None:
            return audience
        if audience is not None and not audience <= self.readers:
            stranger = min(audience - self.readers).hex()
            raise AccessDenied(f"{self.name} may publish for the readers of its token alone, and {stranger} is none of them")
        return self.readers if audience is None else audience

    def check_publishes_to_all(self) -> None:
        """Raises AccessDenied where its token has readers, as events of channels and topics are for everybody."""
        if self.readers is not None:
            raise AccessDenied(f"{self.name} may publish for the readers of its token alone, and this would be told to everybody")


ANYBODY = Principal("", frozenset(Role))
"""Who asks at a door that asks for no token."""
NOBODY = Principal("", frozenset())
"""Who shows no token at a door that asks for one."""
SHOW_ONE = "show one by the header `Authorization: Bearer TOKEN`; gsg does with --token-file or GSG_TOKEN, gsg.connect with token="

_PRINCIPAL = "principal"


def set_principal(scope: Scope, principal: Principal) -> None:
    """Note who has sent a request."""
    scope.setdefault("state", {})[_PRINCIPAL] = principal


def principal_of(scope: Scope) -> Principal:
    """Who has sent it, as was noted before anything is done with it."""
    principal: Principal = scope["state"][_PRINCIPAL]
    return principal
