"""The options of ``gsg peer`` that say how much one peer, and one client, may ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ..arguments import AnyCommand, with_options

if TYPE_CHECKING:
    from ...quotas import Quotas

_SAYS = {
    "peer-templates": ("1000000", "Templates that one other peer may have posted here."),
    "peer-rate": ("1000000", "Tuples a second that one other peer may publish here."),
    "peer-bytes": ("1073741824", "Bytes a second of the tuples that one other peer may publish here."),
    "client-subscriptions": ("10000", "Subscriptions that one client of the HTTP door may have."),
    "client-rate": ("100000", "Tuples a second that one client of the HTTP door may publish."),
    "client-bytes": ("268435456", "Bytes a second of the tuples that one client of the HTTP door may publish."),
}


with_quotas: Callable[[AnyCommand], AnyCommand] = with_options(
    click.option(f"--{name}", type=click.IntRange(1), metavar="N", help=f"{says} Beyond, it is refused.  [default: {default}]")
    for name, (default, says) in _SAYS.items()
)
"""Gives a command these options: it gets what was given, None for the others."""


def quotas_of(options: dict[str, Any]) -> Quotas:  # Any: click checked them
    """The quotas that the options say, taken out of them."""
    from ...quotas import CLIENT, PEER, Quota, Quotas

    given = {name: options.pop(name.replace("-", "_")) for name in _SAYS}
    return Quotas(
        Quota(
            given["peer-templates"] or PEER.templates,
            given["peer-rate"] or PEER.tuples_per_s,
            given["peer-bytes"] or PEER.bytes_per_s,
        ),
        Quota(
            given["client-subscriptions"] or CLIENT.templates,
            given["client-rate"] or CLIENT.tuples_per_s,
            given["client-bytes"] or CLIENT.bytes_per_s,
        ),
    )
