"""Outcomes on their way into the store: in order, none lost, and no more than can be stored."""

import asyncio
from typing import cast

from personafit.engine.jobs import MOST_HELD, WRITE_ROWS, FinishedJob, Outbox


def made(number: int) -> FinishedJob:
    """Something to hand in."""
    return cast(FinishedJob, number)


def test_what_is_handed_in_comes_out_in_order_and_once() -> None:
    async def work() -> list[list[FinishedJob]]:
        box = Outbox()
        for number in range(WRITE_ROWS + 3):
            box.put(made(number))
        batches = [await box.take()]
        box.put(made(-1))
        box.close()
        batches += [await box.take(), await box.take()]
        return batches

    first, second, last = asyncio.run(work())
    assert first == [made(number) for number in range(WRITE_ROWS + 3)]
    assert second == [made(-1)]
    assert last == []


def test_a_lone_outcome_does_not_wait_for_others() -> None:
    async def work() -> list[FinishedJob]:
        box = Outbox()
        box.put(made(0))
        return await box.take()

    assert asyncio.run(work()) == [made(0)]


def test_whoever_is_too_fast_waits_for_room() -> None:
    async def work() -> tuple[bool, bool]:
        box = Outbox()
        for number in range(MOST_HELD):
            box.put(made(number))
        waiting = asyncio.create_task(box.room())
        await asyncio.sleep(0)
        held_up = box.crowded and not waiting.done()
        await box.take()
        await waiting
        return held_up, box.crowded

    assert asyncio.run(work()) == (True, False)
