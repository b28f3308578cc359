"""Whose turn it is to send: in order, and who is patient waits for what is under way, but not for long."""

from __future__ import annotations

import asyncio

from dht.simnet import SimNet, run
from gsg.publisher.turns import PATIENCE_S, ROUNDS, Turns


def busy() -> Turns:
    """A line with as many rounds under way as make others patient."""
    turns = Turns()
    for _ in range(ROUNDS):
        turns.begin_round()
    return turns


def test_turns_come_in_the_order_of_the_line() -> None:
    turns = Turns()
    first, second, third = (turns.line_up() for _ in range(3))

    assert (first.is_here, second.is_here) == (True, False)
    turns.leave_turn(second)
    turns.leave_turn(first)
    assert third.is_here
    turns.leave_turn(third)
    assert not turns.taken


def test_who_is_patient_goes_at_once_while_little_is_under_way() -> None:
    turns = Turns()
    for _ in range(ROUNDS - 1):
        turns.begin_round()

    assert turns.line_up(is_patient=True).is_here


def test_who_is_patient_waits_for_a_round_to_end() -> None:
    async def main(net: SimNet) -> None:
        turns = busy()
        patient = turns.line_up(is_patient=True)
        assert not patient.is_here
        assert turns.is_last(patient)

        turns.end_round()

        assert patient.is_here
        await turns.wait(patient)

    run(main, seed=1)


def test_who_is_patient_is_not_for_ever() -> None:
    async def main(net: SimNet) -> None:
        turns = busy()
        patient = turns.line_up(is_patient=True)
        began_s = net.loop.time()

        await turns.wait(patient)

        assert net.loop.time() - began_s == PATIENCE_S

    run(main, seed=2)


def test_who_is_patient_is_so_from_its_own_beginning() -> None:
    async def main(net: SimNet) -> None:
        turns = busy()
        gone = turns.line_up(is_patient=True)
        await asyncio.sleep(PATIENCE_S / 2)
        turns.leave_turn(gone)
        patient = turns.line_up(is_patient=True)
        began_s = net.loop.time()

        await turns.wait(patient)

        assert net.loop.time() == began_s + PATIENCE_S

    run(main, seed=5)


def test_who_is_patient_keeps_nobody_behind_it_waiting() -> None:
    async def main(net: SimNet) -> None:
        turns = busy()
        patient = turns.line_up(is_patient=True)
        hasty = turns.line_up()

        assert patient.is_here
        assert not turns.is_last(patient)
        turns.leave_turn(patient)
        assert hasty.is_here

    run(main, seed=3)


def test_a_turn_that_nobody_wants_any_more_is_another_ones() -> None:
    async def main(net: SimNet) -> None:
        turns = Turns()
        first, second = turns.line_up(), turns.line_up()
        waiting = asyncio.ensure_future(turns.wait(second))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)

        turns.leave_turn(first)

        # Whoever waited has gone, and another one may wait for the same turn.
        assert second.is_here
        await turns.wait(second)

    run(main, seed=4)
