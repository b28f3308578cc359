"""An English auction between Pedro clients (section 2.2 of the paper on Pedro by Robinson and Clark).

The auctioneer calls for bids by notification; bidders subscribe to calls for their lot up to the price that they would pay, and
bid by a message to the auctioneer, whose handle is in the call. The first bid at a price is acknowledged, and the price rises; when
nobody bids, the lot goes to whoever was acknowledged last.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass

from pedro_compat.client import AsyncClient

LOT = 123
STEP = 50
PATIENCE_S = 0.5
"""How long the auctioneer waits for a bid before the lot is sold."""

_CALL = re.compile(r"bid_call\(lot\((\d+)\), price\((\d+)\), auctioneer\((.+)\)\)")
_BID = re.compile(r"p2pmsg\(.+?, (.+?), bid\(lot\((\d+)\), price\((\d+)\)\)\)")
_ACK = re.compile(r"p2pmsg\(.+?, .+?, ack_bid\(lot\((\d+)\), price\((\d+)\)\)\)")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sale:
    """The end of an auction."""

    buyer: str
    price: int


async def sell(client: AsyncClient, price: int, say: Say) -> Sale | None:
    """Call for bids from ``price`` upwards under the client's name; None when nobody ever bids."""
    bids: asyncio.Queue[tuple[str, int]] = asyncio.Queue()

    async def listen() -> None:
        async for delivery in client.deliveries():
            if (bid := _BID.fullmatch(delivery.line)) and int(bid[2]) == LOT:
                bids.put_nowait((bid[1], int(bid[3])))

    async def first_bid() -> str:
        while True:
            bidder, offered = await bids.get()
            if offered == price:
                return bidder

    sale = None
    async with asyncio.TaskGroup() as tasks:
        listening = tasks.create_task(listen())
        while True:
            say(f"{client.name} calls: lot {LOT} at {price}")
            await client.notify(f"bid_call(lot({LOT}), price({price}), auctioneer({client.handle}))")
            try:
                bidder = await asyncio.wait_for(first_bid(), PATIENCE_S)
            except TimeoutError:
                break
            say(f"    the first to bid {price} is {bidder}")
            await client.p2p(bidder, f"ack_bid(lot({LOT}), price({price}))")
            sale = Sale(bidder, price)
            price += STEP
        listening.cancel()
    return sale


async def bid(client: AsyncClient, limit: int) -> None:
    """Bid in every round up to ``limit``, except while holding the last acknowledged bid. Runs until cancelled."""
    await client.subscribe(f"bid_call(lot({LOT}), price(P), _)", f"P =< {limit}")
    held = 0
    async for delivery in client.deliveries():
        if call := _CALL.fullmatch(delivery.line):
            price = int(call[2])
            # Whoever was acknowledged at the last price wins already if nobody outbids it.
            if price != held + STEP:
                await client.p2p(call[3], f"bid(lot({LOT}), price({price}))")
        elif ack := _ACK.fullmatch(delivery.line):
            held = int(ack[2])
