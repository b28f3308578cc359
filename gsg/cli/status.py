"""``gsg status``: the peers, what each holds and how the load is spread."""

from __future__ import annotations

import json

import click

from ..tuples.escaping import one_line
from .connecting import connect, peer_option, run
from .messages import say

CHANGES = 5
"""What the peer has noticed of others of which so much is shown; --json has more."""


@click.command(short_help="Show the peers, what each holds and how the load is spread.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@peer_option
def command(as_json: bool, url: str) -> None:
    """Show the peers that a peer knows, what each holds and which share of all keys it is responsible for."""
    run(_status(as_json, url))


async def _status(as_json: bool, url: str) -> None:
    async with connect(url, reconnect=False) as client:
        report = await client.report()
    if as_json:
        say(json.dumps(report.as_dict(), indent=2))
        return
    from .tables import (
        PEERS_LEGEND,
        change_text,
        console,
        counts_table,
        peers_table,
        print_table,
        processes_table,
        silent_text,
    )

    output = console()
    asked = report.peers[0]
    count, silent = len(report.peers) + len(report.silent), len(report.silent)
    known = f"{count} peer{'' if count == 1 else 's'} known to {asked.address}, whose id is {asked.peer.hex()}"
    if silent:
        known += f"; {silent} of them {'does' if silent == 1 else 'do'} not answer"
    output.print(one_line(known), markup=False, soft_wrap=True)
    print_table(output, peers_table(report))
    output.print(PEERS_LEGEND, style="dim", soft_wrap=False)
    print_table(output, processes_table(report))
    for peer in report.silent:
        output.print(one_line(silent_text(peer)), markup=False, soft_wrap=True)
    for suspect in report.suspected:
        output.print(f"peer {suspect.hex()[:12]} may be dead: that is found out in some seconds", markup=False, soft_wrap=True)
    for one in report.membership[-CHANGES:]:
        output.print(one_line(change_text(one)), markup=False, soft_wrap=True)
    if any(one.count for peer in report.peers for one in peer.counts):
        print_table(output, counts_table(report))
