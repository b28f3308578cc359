"""The whole system on one machine: eight peers in eight processes, four scenes. Run it with `make demo`.

python examples/demo.py [--peers N] [--keep]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from auction import LOT, bid, sell

import gsg
from gsg.cli.processes import PeerProcess, peers
from gsg.cli.tables import PEERS_LEGEND, console, peers_table, print_table
from gsg.http.protocol import Report
from pedro_compat.client import AsyncClient

FILMS = Path(__file__).parent / "films.nt"
PATIENCE_S = 10.0
"""How long a row may take to come or go; on one machine it takes milliseconds."""

BLOCKS = """INSERT {
    (B1, ^on,B2),
    (B3, ^color,green),
    (B1, ^on,B3),
    (B1, ^color,red),
    (B7, ^color,red),
    (B2, ^on,table),
    (B2, ^left-of,B3)
}"""

BLOCKS_QUERY = """SUBSCRIBE {
    (?x, ^on, ?y),
    (?y, ^left-of, ?z),
    NOT {
        (?z, ^color, red),
        (?z, ^color, green),
        (?z, ^color, blue)
    }
}"""

FILM = "http://example.org/film/"
PEOPLE = "http://example.org/people/"
BY_SPIELBERG = f"(?film, <{FILM}directedBy>, <{PEOPLE}Steven_Spielberg>)"
WITH_HANKS = f"{BY_SPIELBERG},\n(?film, <{FILM}starring>, <{PEOPLE}Tom_Hanks>)"

output = console()


def scene(title: str) -> None:
    """A heading."""
    output.print()
    output.rule(f"[bold]{title}", align="left")


def say(text: str) -> None:
    """One line of explanation."""
    output.print(text, markup=False)


def listing(text: str) -> None:
    """A script, as it is sent."""
    output.print("\n".join(f"    {line}" for line in text.splitlines()), style="cyan", markup=False)


async def until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that other processes are about to cause."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110  # rows come by the callbacks of several subscriptions
            await asyncio.sleep(0.005)
    say(f"  {what}")


def printing(label: str) -> Callable[[gsg.Sign, gsg.Row], None]:
    """A callback that prints each difference as it arrives."""

    def show(sign: gsg.Sign, row: gsg.Row) -> None:
        say(f"  {label}: {sign} {row}")

    return show


async def stored(door: gsg.AsyncClient) -> Report:
    """What all peers hold, once two reports say the same: of those that have just met, one may be handing a template over."""
    last = await door.report()
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await asyncio.sleep(0.1)
            report = await door.report()
            if [peer.templates for peer in report.peers] == [peer.templates for peer in last.peers]:
                return report
            last = report


async def blocks(doors: list[gsg.AsyncClient]) -> None:
    """Figure 2 of the paper."""
    scene("(a) Blocks: a standing query with NOT")
    say("Peer 1 publishes facts; each travels to the peers that hold the hashes of its three constants:")
    listing(BLOCKS)
    await doors[0].run(BLOCKS)
    say("Peer 5 subscribes: what stands on something left of a block that is not red and green and blue at once?")
    listing(BLOCKS_QUERY)
    async with await doors[4].subscribe(BLOCKS_QUERY, callback=printing("peer 5")) as subscription:
        say("Now peer 2 makes B3 red: the NOT group is not complete, nothing changes. Then blue: now it is.")
        await doors[1].run("INSERT { (B3, ^color, red) }")
        await doors[1].run("INSERT { (B3, ^color, blue) }")
        await until(lambda: not subscription.rows(), "the row has gone: all three conditions of the group hold")
        say("Peer 3 takes the red away:")
        await doors[2].run("DELETE { (B3, ^color, red) }")
        await until(lambda: bool(subscription.rows()), "and it is back")


async def films(doors: list[gsg.AsyncClient]) -> None:
    """Figure 3 of the paper."""
    scene("(b) Films: subscriptions that share, one that comes late, a retraction")
    tuples = list(gsg.load(FILMS))
    before = await stored(doors[0])
    say("Peer 6 subscribes to all films by Steven Spielberg, then to those with Tom Hanks (Figure 3 of the paper):")
    listing(WITH_HANKS)
    first = await doors[5].subscribe(BY_SPIELBERG, callback=lambda sign, row: None)
    one = await stored(doors[0])
    second = await doors[5].subscribe(WITH_HANKS, callback=lambda sign, row: None)
    two = await stored(doors[0])
    say(
        f"  templates in the overlay: {_templates(one) - _templates(before)} for the first query, "
        f"{_templates(two) - _templates(one)} more for the second, which has two conditions:"
    )
    say("  the alpha memory of (*, directedBy, Spielberg) is shared.")
    changed = await doors[3].insert(tuples)
    say(f"Peer 4 publishes {changed} facts about films.")
    await until(
        lambda: len(first.rows()) == _films_by_spielberg(tuples),
        f"peer 6 has {_films_by_spielberg(tuples)} films by Steven Spielberg",
    )
    await until(lambda: len(second.rows()) == 5, "and of these, five with Tom Hanks:")
    for row in sorted(map(str, second.rows())):
        say(f"    {row.removeprefix('?film=')}")
    late = await doors[7].subscribe(WITH_HANKS, callback=lambda sign, row: None)
    three = await stored(doors[0])
    say(
        f"Peer 8 comes late with the same query: its answer is there at once ({len(late.rows())} rows), "
        f"and the overlay stores {_templates(three) - _templates(two)} templates more for it: equal ones are stored once."
    )
    gone = [items for items in tuples if str(items[0]).endswith("/The_Terminal") and str(items[2]).endswith("Tom_Hanks")]
    say("Peer 2 retracts that Tom Hanks plays in The Terminal:")
    await doors[1].retract(gone)
    await until(lambda: len(second.rows()) == len(late.rows()) == 4, "both answers have four rows now")
    after = await doors[0].report()
    published = sum(peer.published for peer in after.peers) - sum(peer.published for peer in before.peers)
    messages = sum(peer.sent_messages for peer in after.peers) - sum(peer.sent_messages for peer in before.peers)
    say(f"All of this took {messages} messages between peers for {published} published facts: {messages / published:.2f} a fact.")
    for subscription in (first, second, late):
        await subscription.close()


def _templates(report: Report) -> int:
    return sum(peer.templates for peer in report.peers)


def _films_by_spielberg(tuples: list[gsg.tuples.terms.Tuple]) -> int:
    return sum(str(items[1]) == FILM + "directedBy" and str(items[2]) == PEOPLE + "Steven_Spielberg" for items in tuples)


async def auction(processes: list[PeerProcess], doors: list[gsg.AsyncClient]) -> None:
    """An English auction between Pedro clients at different peers."""
    scene("(c) An auction: Pedro clients at different peers")
    say("The auctioneer fred is a Pedro client at peer 1, the bidders are Pedro clients at peers 2, 3 and 4:")
    listing(f"subscribe(bid_call(lot({LOT}), price(P), _), (P =< 450), 0)")
    limits = {"bill": 450, "ann": 600, "carl": 300}
    async with contextlib.AsyncExitStack() as clients:

        async def client(number: int, name: str) -> AsyncClient:
            host, _, port = processes[number].pedro.rpartition(":")
            made = await clients.enter_async_context(AsyncClient(host, int(port)))
            await made.register(name)
            return made

        fred = await client(0, "fred")
        say("Peer 8 watches with a GSG script: the calls are events, and join with facts of their moment (printed with !).")
        await doors[2].run(f"INSERT {{ (lot-{LOT}, ^is, 'a lamp'), (catalogue, ^describes, lot-{LOT}) }}")
        seen: Counter[gsg.Sign] = Counter()

        def watched(sign: gsg.Sign, row: gsg.Row) -> None:
            seen[sign] += 1
            if seen[sign] == 1:
                say(f"  peer 8: {sign} {row}")

        watching = await doors[7].subscribe(
            "(bid_call, ?lot, ?price, ?who), (catalogue, ^describes, ?entry), (?entry, ^is, ?thing)", callback=watched
        )
        async with asyncio.TaskGroup() as tasks:
            bidding = []
            for number, (name, limit) in enumerate(limits.items(), start=1):
                bidder = await client(number, name)
                bidding.append(tasks.create_task(bid(bidder, {LOT: limit}, limit)))
            # The bidders' subscriptions are requests in their own tasks: the auctioneer waits until all of them stand.
            while sum(peer.feeds for peer in (await doors[0].report()).peers) < 3 + 4 * 4 + len(limits):  # noqa: ASYNC110  # in other processes
                await asyncio.sleep(0.01)
            sale = await sell(fred, LOT, 250, lambda line: say(f"  {line}"))
            for task in bidding:
                task.cancel()
        assert sale is not None, "ann bids up to 600"
        say(f"Sold to {sale.buyer} for {sale.price}. Peer 8 has seen {seen[gsg.Sign.EVENT]} calls, and keeps no row of them:")
        say(f"  rows now: {sum(watching.rows().values())}")
        await watching.close()


async def holdings(door: gsg.AsyncClient) -> None:
    """Which peer holds what."""
    scene("(d) Which peer holds what")
    report = await door.report()
    print_table(output, peers_table(report))
    say(PEERS_LEGEND)
    published = sum(peer.published for peer in report.peers)
    messages = sum(peer.sent_messages for peer in report.peers)
    entries = sum(peer.entries for peer in report.peers)
    facts = len(list(gsg.load(FILMS)))
    say(f"In all: {published} tuples published with {messages} messages between peers, {messages / published:.2f} a publish;")
    say(f"{entries} entries, three for each fact of three terms (the film data has {facts}).")


async def run(count: int, keep: bool) -> None:
    """The four scenes."""
    say(f"Starting {count} peers, each in a process of its own, on free ports of this machine ...")
    async with peers(count, pedro=True) as processes, contextlib.AsyncExitStack() as stack:
        doors = [await stack.enter_async_context(gsg.connect(process.url)) for process in processes]
        say("They have found each other by Kademlia; there is no server among them.")
        await blocks(doors)
        await films(doors)
        await auction(processes, doors)
        await holdings(doors[0])
        if keep:
            scene("Yours to play with; Ctrl-C stops the peers")
            for number, process in enumerate(processes, start=1):
                say(f"  peer {number}: listens on {process.listen}, http door {process.url}, pedro door {process.pedro}")
            say(f"See them in a browser: {processes[0].url}/")
            say(f"Try: export GSG_PEER={processes[0].url}")
            say(f"     .venv/bin/gsg subscribe '(?film, <{FILM}starring>, ?who)' --snapshot")
            say("     .venv/bin/gsg status")
            await asyncio.Event().wait()
    say("")
    say("Done; all peers have stopped.")


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=int, default=8, help="how many, at least 8 (default: 8)")
    parser.add_argument("--keep", action="store_true", help="leave the peers running for play")
    arguments = parser.parse_args()
    if arguments.peers < 8:
        parser.error(f"--peers {arguments.peers}: the scenes need 8 peers or more")
    try:
        asyncio.run(run(arguments.peers, arguments.keep))
    except KeyboardInterrupt:
        say("\nStopped; all peers have stopped too.")
        raise SystemExit(0 if arguments.keep else 130) from None


if __name__ == "__main__":
    main()
