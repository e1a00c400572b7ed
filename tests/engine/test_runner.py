"""The runner: what is done is skipped, what fails is tried again, what is finished is stored, bugs are not swallowed."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from personafit import Status, Store
from personafit.engine import Job, Lane, LaneReport, RetryPolicy, Runner, Silence, Summary
from personafit.models import Transient, Unanswerable, Unusable
from personafit.models.purse import Payment
from personafit.store import Ask, Judgment, Outcome, run_answers

FAST = RetryPolicy(attempts=4, first_pause=0.0005)
Work = Callable[[int], Awaitable[None]]


def outcome(
    key: str, ask: str, status: Status = Status.OK, generation: int = 0, cost: float = 0.0
) -> Outcome:
    made = Ask(
        id=ask, job=key, generation=generation, item=key, question="q", rater="r", status=status, cost=cost
    )
    judged = [Judgment(ask=ask, item=key, rater="r", status=status, label="0", value=float(generation))]
    return Outcome(ask=made, judgments=judged if status != Status.FAILED else [])


def job(key: str, work: Work | None = None, status: Status = Status.OK, cost: float = 0.0) -> Job:
    """A job that may first do (or raise) something of the test's own."""

    async def run(generation: int) -> Outcome:
        if work is not None:
            async with Payment(cost) as payment:
                await work(generation)
                payment.pay(cost)
        return outcome(key, f"{key}/{generation}", status, generation, cost)

    failures = iter(range(1000))

    def failure(message: str, attempts: int) -> Outcome:
        failed = outcome(key, f"{key}/failed/{next(failures)}", Status.FAILED)
        failed.ask.detail, failed.ask.attempts = message, attempts
        return failed

    return Job(key, run, failure)


def raising(error: Exception, times: int = 10**9) -> Work:
    """Raises so often, then lets the work succeed."""
    left = iter(range(times))

    async def work(_generation: int) -> None:
        if next(left, None) is not None:
            raise error

    return work


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.db") as opened:
        yield opened


def run(
    store: Store,
    jobs: list[Job],
    concurrency: int = 4,
    policy: RetryPolicy = FAST,
    retry: frozenset[Status] = frozenset(),
    budget: float | None = None,
) -> tuple[LaneReport, Summary]:
    """Run one lane to its end, within a minute at most."""
    record = store.begin_run("run", "data", {}, len(jobs))
    runner = Runner(store, record.id, Silence(), retry, budget, policy)
    lane = Lane("lane", "endpoint", jobs, len(jobs), concurrency)
    summary = asyncio.run(asyncio.wait_for(runner.run([lane]), 60))
    return summary.lanes[0], summary


def stored(store: Store) -> dict[str, tuple[str, float | None]]:
    """Each job's answer as it counts."""
    frame = run_answers(store, store.run("run").id)
    return {row["job"]: (row["status"], row["value"]) for row in frame.iter_rows(named=True)}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_finished_jobs_are_stored_and_not_done_again(store: Store, concurrency: int) -> None:
    calls: list[str] = []

    def counted(key: str) -> Job:
        async def work(_generation: int) -> None:
            calls.append(key)

        return job(key, work)

    keys = [f"j{n}" for n in range(2500)]
    report, _ = run(store, [counted(key) for key in keys], concurrency)
    assert (report.finished, report.reused, report.failed) == (2500, 0, 0)
    report, _ = run(store, [counted(key) for key in [*keys, "new"]], concurrency)
    assert (report.finished, report.reused) == (1, 2500)
    assert sorted(calls) == sorted([*keys, "new"])
    assert len(stored(store)) == 2501


def test_a_transient_fault_is_tried_again_and_counted(store: Store) -> None:
    report, _ = run(store, [job("a", raising(Transient("busy"), times=3))])
    assert (report.finished, report.failed) == (1, 0)
    assert stored(store) == {"a": ("ok", 0.0)}


def test_a_job_that_keeps_failing_is_failed_and_tried_again_by_the_next_run(store: Store) -> None:
    report, summary = run(store, [job("a", raising(Transient("busy."))), job("b")])
    assert (report.finished, report.failed, report.stopped) == (1, 1, None)
    assert (summary.failed, summary.last_failure) == (1, "busy.")
    assert stored(store) == {"a": ("failed", None), "b": ("ok", 0.0)}
    report, _ = run(store, [job("a"), job("b")])
    assert (report.finished, report.reused) == (1, 1)
    assert stored(store) == {"a": ("ok", 0.0), "b": ("ok", 0.0)}


def test_what_cannot_be_answered_is_not_tried_again(store: Store) -> None:
    calls = 0

    async def work(_generation: int) -> None:
        nonlocal calls
        calls += 1
        raise Unanswerable("too long")

    report, _ = run(store, [job("a", work)])
    assert (report.failed, calls) == (1, 1)


def test_an_unusable_model_stops_its_lane_at_once(store: Store) -> None:
    jobs = [job(f"j{n}", raising(Unusable("no such model"))) for n in range(100)]
    report, _ = run(store, jobs, concurrency=1)
    assert (report.stopped, report.finished, report.failed) == ("no such model", 0, 0)
    assert stored(store) == {}


def test_a_lane_ends_after_ten_failures_in_a_row_and_keeps_what_it_has(store: Store) -> None:
    good = [job(f"good{n}") for n in range(5)]
    bad = [job(f"bad{n}", raising(Transient("down."))) for n in range(100)]
    report, _ = run(store, [*bad[:9], *good, *bad[9:]], concurrency=1)
    assert report.stopped is not None
    assert report.stopped.startswith("10 asks in a row failed, the last because down;")
    assert (report.finished, report.failed) == (5, 19)


def test_texts_that_no_request_fits_do_not_bar_the_way_to_the_others(store: Store) -> None:
    too_long = [job(f"long{n}", raising(Unanswerable("too long."))) for n in range(40)]
    jobs = [job("before"), *too_long, job("after")]
    report, _ = run(store, jobs, concurrency=1)
    assert (report.stopped, report.finished, report.failed) == (None, 2, 40)
    report, _ = run(store, [*jobs, job("later")], concurrency=1)
    assert (report.stopped, report.finished, report.failed) == (None, 1, 40), (
        "what was answered before counts"
    )


def test_a_model_that_never_answers_is_not_asked_forever(store: Store) -> None:
    report, _ = run(
        store, [job(f"j{n}", raising(Unanswerable("broken."))) for n in range(100)], concurrency=1
    )
    assert report.stopped is not None
    assert report.failed == 10


def test_other_lanes_go_on(store: Store) -> None:
    record = store.begin_run("run", "data", {}, 6)
    lanes = [
        Lane("bad", "one", [job("bad", raising(Unusable("no")))], 1, 4),
        Lane("good", "two", [job(f"g{n}") for n in range(5)], 5, 4),
    ]
    summary = asyncio.run(Runner(store, record.id, Silence(), policy=FAST).run(lanes))
    assert {lane.name: lane.finished for lane in summary.lanes} == {"bad": 0, "good": 5}


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_bug_in_a_job_is_raised_and_what_was_finished_is_kept(store: Store, concurrency: int) -> None:
    with pytest.raises(ZeroDivisionError):
        run(store, [job("a"), job("b", raising(ZeroDivisionError("bug"))), job("c")], concurrency)
    assert stored(store)["a"] == ("ok", 0.0)
    assert "b" not in stored(store)


def test_a_bug_in_the_planning_is_raised(store: Store) -> None:
    def jobs() -> Iterator[Job]:
        yield job("a")
        raise KeyError("missing")

    record = store.begin_run("run", "data", {}, 2)
    with pytest.raises(KeyError):
        asyncio.run(Runner(store, record.id, Silence()).run([Lane("lane", "e", jobs(), 2, 1)]))


def test_a_store_that_fails_ends_the_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_outcomes: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(store, "write", full)
    with pytest.raises(OSError, match="disk full"):
        run(store, [job(f"j{n}") for n in range(5000)])


@pytest.mark.parametrize("status", [Status.UNPARSED, Status.REFUSED])
def test_final_answers_are_asked_again_on_purpose_only(store: Store, status: Status) -> None:
    run(store, [job("a", status=status)])
    report, _ = run(store, [job("a")])
    assert report.reused == 1
    report, _ = run(store, [job("a")], retry=frozenset({status}))
    assert (report.reused, report.finished) == (0, 1)
    assert stored(store) == {"a": ("ok", 1.0)}, "the later generation counts"
    report, _ = run(store, [job("a", raising(Unanswerable("down")))], retry=frozenset({Status.OK}))
    assert stored(store) == {"a": ("ok", 1.0)}, "a failed retry leaves the answer that was there"


def test_the_budget_ends_the_run_before_it_is_overspent_and_what_is_paid_for_is_kept(store: Store) -> None:
    calls = 0

    async def paid(_generation: int) -> None:
        nonlocal calls
        calls += 1
        await asyncio.sleep(0.001)

    jobs = [job(f"j{n}", paid, cost=0.01) for n in range(500)]
    report, summary = run(store, jobs, concurrency=8, budget=1.0)
    assert report.stopped is not None
    assert "budget of 1 USD is too small" in report.stopped
    assert summary.cost == pytest.approx(report.finished * 0.01)
    assert 0.9 < summary.cost <= 1.0 + 1e-9
    assert len(stored(store)) == report.finished == calls, "no paid answer is thrown away"


def test_paid_calls_of_tries_that_came_to_nothing_count(store: Store) -> None:
    async def paid_in_vain(_generation: int) -> None:
        async with Payment(0.01) as payment:
            payment.pay(0.01)
        raise Transient("the second call broke off")

    report, summary = run(store, [job(f"j{n}", paid_in_vain) for n in range(50)], 1, budget=0.1)
    assert report.stopped is not None
    assert "budget of 0.1 USD is too small" in report.stopped
    assert summary.cost == pytest.approx(0.1), "two jobs of four tries each, and half the tries of a third"
    left = iter(range(2))

    async def paid_at_last(generation: int) -> None:
        if next(left, None) is not None:
            await paid_in_vain(generation)

    _, summary = run(store, [job("last", paid_at_last)], budget=1.0)
    assert summary.cost == pytest.approx(0.02)
    frame = run_answers(store, store.run("run").id)
    assert {row["job"]: round(row["cost"], 6) for row in frame.iter_rows(named=True)} == {
        "j0": 0.04, "j1": 0.04, "last": 0.02,
    }  # fmt: skip


def test_lanes_that_wait_for_one_endpoint_do_not_count_on_the_same_money(store: Store) -> None:
    async def paid(_generation: int) -> None:
        await asyncio.sleep(0.001)

    lanes = [
        Lane(f"l{n}", "shared", [job(f"{n}.{i}", paid, cost=0.01) for i in range(20)], 20, 2)
        for n in range(10)
    ]
    record = store.begin_run("run", "data", {}, 200)
    summary = asyncio.run(Runner(store, record.id, Silence(), budget=1.0).run(lanes))
    assert 0.9 < summary.cost <= 1.0 + 1e-9


def test_one_endpoint_has_one_limit_for_all_its_lanes(store: Store) -> None:
    active = most = 0

    async def work(_generation: int) -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.001)
        active -= 1

    record = store.begin_run("run", "data", {}, 60)
    lanes = [Lane(name, "shared", [job(f"{name}{n}", work) for n in range(30)], 30, 3) for name in ("x", "y")]
    asyncio.run(Runner(store, record.id, Silence()).run(lanes))
    assert most == 3
    assert len(stored(store)) == 60


def test_cancelling_the_caller_is_no_interruption_of_the_user(store: Store) -> None:
    async def scenario() -> None:
        started = asyncio.Event()

        async def work(_generation: int) -> None:
            started.set()
            await asyncio.Event().wait()

        record = store.begin_run("run", "data", {}, 2)
        lane = Lane("lane", "e", [job("a"), job("b", work)], 2, 2)
        task = asyncio.create_task(Runner(store, record.id, Silence()).run([lane]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(scenario(), 60))
    assert stored(store) == {"a": ("ok", 0.0)}
