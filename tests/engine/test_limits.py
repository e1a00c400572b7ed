"""The adaptive limit: how it grows, shrinks, pauses, and never loses a slot; and how long retries last."""

import asyncio
from types import SimpleNamespace

import pytest

from personafit.engine import RetryPolicy
from personafit.engine.limits import AdaptiveLimit


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("personafit.engine.limits.time", SimpleNamespace(monotonic=clock.monotonic))
    monkeypatch.setattr("personafit.engine.limits.asyncio.sleep", clock.sleep)
    return clock


def test_it_doubles_each_round_until_the_maximum() -> None:
    limit = AdaptiveLimit(100)
    assert limit.limit == 16
    for _ in range(16):
        limit.succeeded()
    assert limit.limit == 32
    for _ in range(1000):
        limit.succeeded()
    assert limit.limit == 100


def test_an_overload_takes_a_third_once_a_second_and_ends_the_fast_growth(clock: Clock) -> None:
    limit = AdaptiveLimit(100)
    for _ in range(14):
        limit.succeeded()
    limit.overloaded(None)
    assert limit.limit == pytest.approx(20.1)
    limit.overloaded(None)
    assert limit.limit == pytest.approx(20.1), "the rest of the same wave counts once"
    clock.now += 1.0
    limit.overloaded(None)
    assert limit.limit == pytest.approx(13.467)
    for _ in range(13):
        limit.succeeded()
    assert 14 < limit.limit < 14.6, "a round of successes adds one"
    for _ in range(100):
        clock.now += 1.0
        limit.overloaded(None)
    assert limit.limit == 1.0


def test_the_pause_the_endpoint_asks_for_holds_for_everyone(clock: Clock) -> None:
    async def scenario() -> None:
        limit = AdaptiveLimit(8)
        limit.overloaded(3.0)
        limit.overloaded(1.0)
        await limit.acquire()
        assert sum(clock.slept) == pytest.approx(3.0)
        await limit.acquire()
        assert sum(clock.slept) == pytest.approx(3.0)

    asyncio.run(scenario())


def test_no_more_than_the_limit_run_at_once_and_all_get_their_turn() -> None:
    async def scenario() -> int:
        limit, active, most, done = AdaptiveLimit(3), 0, 0, 0

        async def worker() -> None:
            nonlocal active, most, done
            await limit.acquire()
            active += 1
            most = max(most, active)
            await asyncio.sleep(0)
            active -= 1
            done += 1
            limit.release()

        await asyncio.wait_for(asyncio.gather(*(worker() for _ in range(50))), 10)
        assert done == 50
        return most

    assert asyncio.run(scenario()) == 3


def test_a_waiter_that_is_cancelled_with_its_turn_passes_it_on() -> None:
    async def scenario() -> None:
        limit = AdaptiveLimit(1)
        await limit.acquire()
        first, second = (asyncio.create_task(limit.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        limit.release()  # the turn goes to the first waiter, who is cancelled before it runs
        first.cancel()
        await asyncio.wait_for(second, 5)

    asyncio.run(scenario())


def test_a_slot_that_is_cancelled_in_a_pause_is_given_back() -> None:
    async def scenario() -> None:
        limit = AdaptiveLimit(1)
        limit.overloaded(3600.0)
        waiting = asyncio.create_task(limit.acquire())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        limit._paused_until = 0.0
        await asyncio.wait_for(limit.acquire(), 5)

    asyncio.run(scenario())


def test_retries_end_by_number_and_by_time() -> None:
    policy = RetryPolicy(attempts=6, seconds=180.0)
    assert policy.pause(6, 0.0, None) is None
    assert policy.pause(1, 180.0, None) is None
    assert policy.pause(1, 0.0, 181.0) is None, "nobody waits longer than the policy lasts"
    assert policy.pause(1, 100.0, 81.0) is None
    assert policy.pause(1, 0.0, 7.0) == 7.0


def test_pauses_grow_with_jitter_up_to_a_longest() -> None:
    policy = RetryPolicy(attempts=50, seconds=1e9, first_pause=0.5, longest_pause=30.0)
    for attempt, ceiling in ((1, 0.5), (2, 1.0), (5, 8.0), (20, 30.0)):
        pauses = {policy.pause(attempt, 0.0, None) for _ in range(20)}
        assert len(pauses) > 1
        assert all(pause is not None and ceiling / 2 <= pause <= ceiling for pause in pauses)
