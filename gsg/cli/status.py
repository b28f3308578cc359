"""``gsg status``: the peers, what each holds and how the load is spread."""

from __future__ import annotations

import json

import click

from ..tuples.escaping import one_line
from .connecting import peer_option, run
from .messages import say


@click.command(short_help="Show the peers, what each holds and how the load is spread.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@peer_option
def command(as_json: bool, url: str) -> None:
    """Show the peers that a peer knows, what each holds and which share of all keys it is responsible for."""
    run(_status(as_json, url))


async def _status(as_json: bool, url: str) -> None:
    from ..http.client import connect

    async with connect(url, reconnect=False) as client:
        report = await client.report()
    if as_json:
        say(json.dumps(report.as_dict(), indent=2))
        return
    from .tables import PEERS_LEGEND, console, counts_table, peers_table, print_table

    output = console()
    asked = report.peers[0]
    known = f"{len(report.peers)} peer{'' if len(report.peers) == 1 else 's'} known to {asked.address}"
    output.print(one_line(f"{known}, whose id is {asked.peer.hex()}"), markup=False, soft_wrap=True)
    print_table(output, peers_table(report))
    output.print(PEERS_LEGEND, style="dim", soft_wrap=False)
    if any(one.count for peer in report.peers for one in peer.counts):
        print_table(output, counts_table(report))
