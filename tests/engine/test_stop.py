"""`Stop`: the work of a context ends in good order from another thread, as Ctrl-C ends it on the main one."""

import asyncio
import threading

import pytest

from personafit.engine import STOP, Stop
from personafit.engine.signals import stop_on_signals


async def _work(seconds: float) -> list[int]:
    """What was received while something was worked on."""
    everything = asyncio.gather(*[asyncio.sleep(seconds)])
    with stop_on_signals(everything) as received:
        try:
            await everything
        except asyncio.CancelledError:
            if not received:
                raise
    return received


def _run(stop: Stop, seconds: float) -> list[int]:
    token = STOP.set(stop)
    try:
        return asyncio.run(_work(seconds))
    finally:
        STOP.reset(token)


def test_another_thread_ends_the_work_and_it_is_known_why() -> None:
    stop = Stop()
    timer = threading.Timer(0.05, stop.stop)
    timer.start()
    assert len(_run(stop, 60)) == 1
    assert stop.requested


def test_work_that_begins_after_the_stop_ends_at_once() -> None:
    stop = Stop()
    stop.stop()
    assert len(_run(stop, 60)) == 1


def test_a_stop_after_the_work_does_nothing() -> None:
    stop = Stop()
    assert _run(stop, 0) == []
    stop.stop()


def test_a_cancellation_from_elsewhere_is_one() -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(_work(60))
        await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
