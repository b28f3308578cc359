"""Which role a message of the WebSocket takes; of operations over HTTP their table says it (application.py)."""

from __future__ import annotations

from typing import Final

from ..protocol import AskDoors, PublishEvents, Publishing, PublishTopic, Request, Unsubscribe
from .principals import Principal, Role

_TO_ALL: Final = (PublishEvents, PublishTopic)
_FREE: Final = (AskDoors, Unsubscribe)
"""What takes none: where other doors are, which whoever is let in at one may know, and to end what is one's own."""


def role_of(request: Request) -> Role | None:
    """The role that it takes."""
    if isinstance(request, (Publishing, *_TO_ALL)):
        return Role.PUBLISH
    return None if isinstance(request, _FREE) else Role.READ


def check_may_ask(principal: Principal, request: Request) -> None:
    """Raises AccessDenied where somebody may not ask for it."""
    role = role_of(request)
    if role is not None:
        principal.check(role)
    if isinstance(request, _TO_ALL):
        principal.check_publishes_to_all()
