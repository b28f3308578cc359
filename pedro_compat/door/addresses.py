"""How names and messages between named connections travel over the overlay (paper 3.4, facts section 10).

A registration is a condition, as the paper has it: ``register(P)`` at host H asks for events addressed to P@H. It is posted
under four templates, one for each way of addressing; the one of name and host is exclusive, so the rendezvous of the name decides
who has it. A message is one event that goes by one rendezvous: that of the name if there is one, else of the host, else of all.

The functors are IRIs, which no Pedro client can write: no name is reserved.
"""

from __future__ import annotations

from gsg.tuples.features import Template
from gsg.tuples.terms import IRI, Symbol, Tuple

_TO_ONE = IRI("urn:gsg:pedro:to-name-at-host")
_TO_NAME = IRI("urn:gsg:pedro:to-name")
_TO_HOST = IRI("urn:gsg:pedro:to-host")
_TO_ALL = IRI("urn:gsg:pedro:to-all")

MESSAGE_PLACE = 1
"""The position in every message by whose rendezvous it goes."""


def name_templates(name: str, host: str) -> list[Template]:
    """The templates of a registered connection, each with its anchor at MESSAGE_PLACE; the first is to be posted exclusively."""
    return [Template(message_event(*address)) for address in ((name, host), (name, None), (None, host), (None, None))]


def message_event(name: str | None, host: str | None) -> Tuple:
    """The event that reaches those addressed; None addresses every name or host."""
    if name is not None and host is not None:
        return _TO_ONE, Symbol(name), Symbol(host)
    if name is not None:
        return _TO_NAME, Symbol(name)
    if host is not None:
        return _TO_HOST, Symbol(host)
    return _TO_ALL, _TO_ALL
