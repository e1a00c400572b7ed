"""One worker for many callers."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from personafit.models.weights import Batcher


def test_what_comes_in_meanwhile_is_the_next_batch() -> None:
    batches: list[list[int]] = []
    first_begun, go_on = threading.Event(), threading.Event()

    def doubled(batch: Sequence[int]) -> list[int]:
        batches.append(list(batch))
        first_begun.set()
        assert go_on.wait(30)
        return [2 * one for one in batch]

    async def calls() -> list[int]:
        batcher = Batcher(doubled, most=4)
        alone = asyncio.create_task(batcher.submit(0))
        await asyncio.to_thread(first_begun.wait)
        others = [asyncio.create_task(batcher.submit(number)) for number in range(1, 7)]
        await asyncio.sleep(0)
        go_on.set()
        results = await asyncio.gather(alone, *others)
        await batcher.close()
        return results

    assert asyncio.run(calls()) == [0, 2, 4, 6, 8, 10, 12]
    assert batches == [[0], [1, 2, 3, 4], [5, 6]]


def test_an_error_is_that_of_its_batch_alone() -> None:
    def picky(batch: Sequence[int]) -> list[int]:
        if 1 in batch:
            raise ValueError("no ones")
        return list(batch)

    async def calls() -> list[object]:
        batcher = Batcher(picky, most=2)
        results: list[object] = await asyncio.gather(
            *(batcher.submit(number) for number in range(4)), return_exceptions=True
        )
        await batcher.close()
        return results

    first, second, third, fourth = asyncio.run(calls())
    assert isinstance(first, ValueError)
    assert isinstance(second, ValueError)
    assert (third, fourth) == (2, 3)


def test_whoever_has_left_is_not_worked_for() -> None:
    batches: list[list[int]] = []
    begun, go_on = threading.Event(), threading.Event()

    def noted(batch: Sequence[int]) -> list[int]:
        batches.append(list(batch))
        begun.set()
        assert go_on.wait(30)
        return list(batch)

    async def calls() -> None:
        batcher = Batcher(noted, most=1)
        staying = asyncio.create_task(batcher.submit(0))
        await asyncio.to_thread(begun.wait)
        leaving = asyncio.create_task(batcher.submit(1))
        await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        go_on.set()
        assert await staying == 0
        await batcher.close()

    asyncio.run(calls())
    assert batches == [[0]]
