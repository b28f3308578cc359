"""``gsg channel stats``: what the channel of a peer has done, and its subscriptions."""

from __future__ import annotations

import json

import click

from ...tuples.escaping import one_line
from ..connecting import connect, peer_option, run
from ..messages import say


@click.command(short_help="Show what the channel of a peer has done, and its subscriptions.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@peer_option
def command(as_json: bool, url: str) -> None:
    """Show how many events were published at the channel of a peer, and how many it delivered, sent to others and received from
    them, which matcher it uses and why, and how often each subscription matched."""
    run(_stats(as_json, url))


async def _stats(as_json: bool, url: str) -> None:
    import msgspec

    async with connect(url, reconnect=False) as client:
        report = await client.channel.report()
    if as_json:
        subscriptions = [{name: getattr(each, name) for name in each.__struct_fields__} for each in report.subscriptions]
        said = {"name": report.name, "matcher": report.matcher, **dict(report.counts), "subscriptions": subscriptions}
        say(json.dumps(msgspec.to_builtins(said), indent=2))
        return
    from ..tables import channel_table, console, print_table

    output = console()
    counts = ", ".join(f"{count:,} {name}" for name, count in report.counts)
    output.print(one_line(f"{report.name}: {counts}"), markup=False, soft_wrap=True)
    output.print(one_line(f"matcher {report.matcher}"), markup=False, soft_wrap=True)
    if report.subscriptions:
        print_table(output, channel_table(report.subscriptions))
