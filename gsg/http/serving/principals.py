"""Who asks for something at the door, and what they may do."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from starlette.types import Scope


class Role(Enum):
    """What somebody may do. A principal has any of them."""

    READ = "read"
    """Ask, subscribe, look at how peers are."""
    PUBLISH = "publish"
    """Insert, retract, notify."""
    ADMIN = "admin"
    """End what others have begun; it includes the others."""


class Principal(NamedTuple):
    """Somebody. ``name`` is that of the token, empty where none was shown."""

    name: str
    roles: frozenset[Role]

    def has(self, role: Role) -> bool:
        """Whether it may do what takes this role."""
        return role in self.roles or Role.ADMIN in self.roles


ANYBODY = Principal("", frozenset(Role))
"""Who asks at a door that has no lock."""

_PRINCIPAL = "principal"


def set_principal(scope: Scope, principal: Principal) -> None:
    """Note who has sent a request."""
    scope.setdefault("state", {})[_PRINCIPAL] = principal


def principal_of(scope: Scope) -> Principal:
    """Who has sent it."""
    principal: Principal = scope.get("state", {}).get(_PRINCIPAL, ANYBODY)
    return principal
