"""English auctions between Pedro clients (section 2.2 of the paper on Pedro by Robinson and Clark).

    .venv/bin/python examples/auction.py

Each auctioneer calls for bids by notification; bidders subscribe to calls for the lots that they want, up to the price that they
would pay, and bid by a message to the auctioneer, whose handle is in the call. The first bid at a price is acknowledged, and the
price rises; when nobody bids, the lot goes to whoever was acknowledged last. A bidder takes part in several auctions at a time, and
skips a round when it could not pay for everything that it might win.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from doors import agents, run

from pedro_compat import AsyncClient

LOT = 123
STEP = 50
PATIENCE_S = 2.0
"""How long an auctioneer waits for a bid before the lot is sold."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sale:
    """The end of an auction."""

    lot: int
    buyer: str
    price: int


async def sell(client: AsyncClient, lot: int, price: int, say: Say) -> Sale | None:
    """Call for bids from ``price`` upwards under the client's name; None when nobody ever bids."""
    sale = None
    while True:
        say(f"{client.name} calls: lot {lot} at {price}")
        await client.notify(f"bid_call(lot({lot}), price({price}), auctioneer({client.handle}))")
        bidder = await first_bid(client, lot, price)
        if bidder is None:
            return sale
        say(f"    the first to bid {price} for lot {lot} is {bidder}")
        await client.p2p(bidder, f"ack_bid(lot({lot}), price({price}))")
        sale = Sale(lot, bidder, price)
        price += STEP


async def first_bid(client: AsyncClient, lot: int, price: int) -> str | None:
    """Who bids first; all other bids are ignored, those that come late for an earlier price too. None when nobody does."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            async for delivery in client.deliveries():
                _, _, (_, name, host), message = delivery.term()
                if message == ("bid", ("lot", lot), ("price", price)):
                    return f"{name}@{host}"
    except TimeoutError:
        pass
    return None


async def bid(client: AsyncClient, wanted: Mapping[int, int], funds: int) -> None:
    """Bid for lots up to a limit for each, and for no more in all than there are funds. Runs until cancelled."""
    for lot, limit in wanted.items():
        await client.subscribe(f"bid_call(lot({lot}), price(P), _)", f"P =< {limit}")
    held: dict[int, int] = {}
    """Lot -> the price at which this bidder was acknowledged last, until somebody goes higher."""
    async for delivery in client.deliveries():
        match delivery.term():
            case ("bid_call", (_, lot), (_, price), (_, auctioneer)):
                # Whoever was acknowledged at the last price wins already if nobody outbids it.
                if held.get(lot) == price - STEP:
                    continue
                held.pop(lot, None)
                if sum(held.values()) + price <= funds:
                    await client.p2p(auctioneer, f"bid(lot({lot}), price({price}))")
            case (_, _, _, ("ack_bid", (_, lot), (_, price))):
                held[lot] = price


async def main(say: Say = print) -> list[Sale | None]:
    """Two auctioneers and three bidders, each a client at another peer."""
    bidders = {
        "bill": ({123: 450, 200: 300}, 750),
        "ann": ({123: 600}, 1000),
        "carl": ({200: 400, 123: 300}, 350),
    }
    async with agents("fred", "jane", *bidders) as (fred, jane, *clients), asyncio.TaskGroup() as tasks:
        bidding = [
            tasks.create_task(bid(client, wanted, funds)) for client, (wanted, funds) in zip(clients, bidders.values(), strict=True)
        ]
        # Subscriptions are made by their owners' tasks: the auctions begin once they stand.
        await asyncio.sleep(PATIENCE_S)
        sales = await asyncio.gather(sell(fred, 123, 250, say), sell(jane, 200, 100, say))
        for task in bidding:
            task.cancel()
    for sale in sales:
        if sale is not None:
            say(f"Lot {sale.lot} goes to {sale.buyer} for {sale.price}.")
    return list(sales)


if __name__ == "__main__":
    run(main())
