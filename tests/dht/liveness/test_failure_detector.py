"""FailureDetector for others: bounded, however many ask."""

from __future__ import annotations

import asyncio

from overlays import network

from dht.liveness.failure_detector import MAX_ASKERS
from dht.simnet import SimNet, run


def test_who_asks_for_one_peer_again_and_again_is_answered_once_and_others_are_too() -> None:
    async def main(net: SimNet) -> None:
        async with network(net, 3) as (helper, _, silent):
            await asyncio.sleep(5)
            net.partition([[helper.contact.host], [silent.contact.host]])
            detector = helper._detector
            answers: list[str] = []
            for _ in range(1_000):
                detector.vouch_for(b"mad" + bytes(17), silent.contact, lambda lives: answers.append(f"mad {lives}"))
            for number in range(1_000):
                detector.vouch_for(number.to_bytes(20), silent.contact, lambda lives: answers.append(f"other {lives}"))
            await asyncio.sleep(20)

            assert sorted(set(answers)) == ["mad None", "other None"]
            assert answers.count("mad None") == 1
            assert len(answers) == MAX_ASKERS
            assert detector.datagrams.counts["peers not vouched for"] == 1_000 + 1 - MAX_ASKERS
            assert not detector._vouching

    run(main, seed=3)
