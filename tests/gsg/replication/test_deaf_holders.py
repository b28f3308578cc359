"""Who owes answers, and since when it has given none; test_holders_in_trouble.py tells what comes of it."""

from __future__ import annotations

import asyncio
from math import inf

from dht.simnet import SimNet, run
from gsg.replication.deaf_holders import DEAF_S, DeafHolders
from gsg.wire.exchange import Answer
from gsg.wire.messages import Done

PEER, OTHER = b"a" * 20, b"b" * 20


def test_silence_begins_with_the_first_question_and_each_answer_begins_it_anew() -> None:
    async def main(net: SimNet) -> None:
        deaf = DeafHolders(None, None, lambda peer: None, lambda work: None)  # type: ignore[arg-type]  # nobody is set aside
        answers: list[asyncio.Future[Answer]] = [asyncio.get_running_loop().create_future() for _ in range(3)]
        begun_s = deaf.clock.now()

        async def until_deaf_s(peer: bytes) -> float:
            await asyncio.sleep(1.0)
            return deaf.deaf_at_s(peer) - begun_s

        nothing = deaf.deaf_at_s(PEER)
        deaf.expect_answer(PEER, answers[0])
        found = [await until_deaf_s(PEER)]
        deaf.expect_answer(PEER, answers[1])
        found.append(await until_deaf_s(PEER))
        deaf.expect_answer(OTHER, answers[2])
        answers[0].set_result(Done(1))
        found += [await until_deaf_s(PEER), await until_deaf_s(OTHER)]
        answers[1].cancel()

        assert (nothing, await until_deaf_s(PEER)) == (inf, inf)
        assert found == [DEAF_S, DEAF_S, DEAF_S + 2, DEAF_S + 2]

    run(main, seed=1)
