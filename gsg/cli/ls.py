"""``gsg ls``: which constants the facts of the space have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ..tuples.escaping import one_line
from .connecting import connect, peer_option, run
from .messages import say

if TYPE_CHECKING:
    from ..http.protocol import Vocabulary


@click.command(short_help="List the constants that facts have, those with the most facts first.")
@click.option("--most", type=click.IntRange(min=1), default=100, show_default=True, help="So many constants; 1000 at most.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document, as GET /vocabulary has it.")
@peer_option
def command(most: int, as_json: bool, url: str) -> None:
    """List which constants stand at which position of facts, under how many facts, and how many conditions of subscriptions are
    posted there.

    The peer asks all that it knows, each for what it is the first holder of, so each fact counts once. Facts for named readers do
    not count. A condition is posted under one of its constants, so others that it names may have none.
    """
    run(_ls(most, as_json, url))


async def _ls(most: int, as_json: bool, url: str) -> None:
    async with connect(url, reconnect=False) as client:
        found = await client.vocabulary(most)
    if as_json:
        import msgspec

        from ..http.json.messages import vocabulary_document

        say(msgspec.json.format(msgspec.json.encode(vocabulary_document(found)), indent=2).decode())
        return
    _print(found)


def _print(found: Vocabulary) -> None:
    from .tables import CONSTANTS_LEGEND, arities_table, console, constants_table, print_table, silent_text

    output = console()
    if found.constants:
        print_table(output, constants_table(found))
        keys, shown = sum(one.keys for one in found.totals), len(found.constants)
        if keys > shown:
            output.print(f"these are {shown:,} of {keys:,}; --most shows more, 1,000 at most", style="dim", soft_wrap=True)
        print_table(output, arities_table(found))
        output.print(CONSTANTS_LEGEND, style="dim", soft_wrap=False)
    else:
        say("gsg: there are no facts that everybody may read, and no subscriptions with constants", err=True)
    for one in found.silent:
        output.print(one_line(silent_text(one)), markup=False, soft_wrap=True)
