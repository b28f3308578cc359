"""``gsg channel``: events of property sets, published to and heard from the channel of a peer (docs/channels.md)."""

from __future__ import annotations

from typing import ClassVar

import click

from ..groups import LazyGroup


class _Channel(LazyGroup):
    modules: ClassVar = {
        "publish": ("channel.publish", "Publish events, from arguments or a stream of lines."),
        "subscribe": ("channel.subscribe", "Print events that a subscription describes, as they happen."),
        "stats": ("channel.stats", "Show what the channel of a peer has done, and its subscriptions."),
    }


@click.command(cls=_Channel, short_help="Publish and hear events of property sets.")
def command() -> None:
    """Publish and hear events: sets of names and values, such as `userid: Fred; type: error`.

    The channel of each peer is at the overlay, so what is published at one peer is heard at all.
    """
