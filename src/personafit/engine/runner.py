"""The runner of lanes of keyed jobs: it skips jobs that are done, retries those that fail, and stores outcomes.

A job counts as done only when its outcome is committed. After an interruption at any moment, even by kill -9, running the
same lanes again does exactly the missing jobs. A chain resumes after its last stored link: links are stored in order.
"""

import asyncio
import contextlib
import gc
from collections.abc import Iterator, Sequence
from itertools import islice

from personafit.engine.jobs import (
    FinishedJob,
    Job,
    Lane,
    LaneReport,
    LaneRun,
    Outbox,
    PendingJobs,
    Summary,
    Together,
    finish,
    first_failure_of,
)
from personafit.engine.limits import AdaptiveLimit, RetryPolicy, WorkClock
from personafit.engine.progress import ProgressView
from personafit.engine.signals import stop_on_signals
from personafit.models import ModelError, Transient, Unusable
from personafit.models.purse import OverBudget, Purse, note_calls, paying_from
from personafit.store import Ask, Outcome, Status, Store

ALLOCATIONS = 200_000  # between two collections of the young generation; Python's default is 700


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Run the cyclic garbage collector less often within the block."""
    young, middle, old = gc.get_threshold()
    if young:  # 0 means that collection is disabled
        gc.set_threshold(max(young, ALLOCATIONS), middle, old)
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)


PLAN_CHUNK = 1000  # jobs looked up at once, which bounds memory for any number of items
YIELD_EVERY = 64  # jobs started before yielding to the event loop


class Runner:
    """A runner of the lanes of one run against one store."""

    def __init__(
        self,
        store: Store,
        run: int,
        progress: ProgressView,
        retry: frozenset[Status] = frozenset(),
        budget: float | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self._store = store
        self._run = run
        self._progress = progress
        self._retry = retry
        self._policy = policy or RetryPolicy()
        self._summary = Summary()
        self._purse = Purse(budget)
        self._limits: dict[str, AdaptiveLimit] = {}
        self._clock = WorkClock()
        self._outbox = Outbox()

    async def run(self, lanes: Sequence[Lane]) -> Summary:
        """Run all lanes until they end, stop early or are interrupted; everything finished is stored."""
        for lane in lanes:
            for endpoint, most in [(lane.endpoint, lane.max_concurrency), *lane.endpoints.items()]:
                limit = self._limits.setdefault(endpoint, AdaptiveLimit(most))
                limit.maximum = max(limit.maximum, most)
            self._progress.begin(lane.name, lane.total)
        self._outbox = Outbox()
        writer = asyncio.create_task(self._write_outcomes())
        with paying_from(self._purse):
            feeders = [asyncio.create_task(self._feed(lane)) for lane in lanes]
        everything = asyncio.gather(*feeders)
        with rare_collections(), self._clock, stop_on_signals(everything) as signals:
            try:
                await first_failure_of(everything, writer)
            except asyncio.CancelledError:
                if not signals:
                    raise
                self._summary.interrupted = True
            finally:
                for feeder in feeders:
                    feeder.cancel()
                await asyncio.gather(*feeders, everything, return_exceptions=True)
                self._outbox.close()
                await writer
        return self._summary

    async def _feed(self, lane: Lane) -> None:
        report = LaneReport(lane.name, lane.total)
        self._summary.lanes.append(report)
        run = LaneRun(lane, report, set())
        try:
            iterator = iter(lane.jobs)
            upcoming = asyncio.create_task(asyncio.to_thread(self._plan, iterator))
            try:
                while (planned := await upcoming) is not None:
                    # The next chunk is looked up while this one runs, so that no endpoint is idle.
                    upcoming = asyncio.create_task(asyncio.to_thread(self._plan, iterator))
                    if not await self._start_all(run, planned):
                        if run.over_budget:  # calls in flight are paid for: wait for them
                            await finish(run)
                        return
            finally:
                await asyncio.gather(upcoming, return_exceptions=True)
            await finish(run)
        finally:
            for task in run.tasks:
                task.cancel()
            await asyncio.gather(*run.tasks, return_exceptions=True)

    def _plan(self, jobs: Iterator[Job]) -> PendingJobs | None:
        """Return the next chunk of jobs without those that are done; started chains are followed to their first missing link."""
        links = list(islice(jobs, PLAN_CHUNK))
        planned = PendingJobs([], 0) if links else None
        while links and planned is not None:
            states = self._store.plan_jobs(self._run, [job.key for job in links])
            done = {key for key, state in states.items() if state.status not in self._retry}
            asks = self._store.final_asks([job.key for job in links if job.then and job.key in done])
            following = []
            for job in links:
                if job.key not in done:
                    state = states.get(job.key)
                    planned.missing.append((job, 0 if state is None else state.generation + 1))
                    continue
                link = job.then(Outcome(asks[job.key])) if job.then else None
                if link is not None:
                    following.append(link)
                else:
                    planned.reused += 1
            links = following
        return planned

    async def _start_all(self, run: LaneRun, planned: PendingJobs) -> bool:
        """Start the missing jobs of a chunk; return False if the lane has stopped."""
        run.report.reused += planned.reused
        self._progress.advance(run.lane.name, planned.reused)
        missing = planned.missing
        if run.lane.together is not None and missing:
            missing = await self._do_together(run, run.lane.together, missing)
        for number, (job, generation) in enumerate(missing):
            if run.crash is not None:
                raise run.crash
            if run.open is not None:
                await run.open.acquire()
            if run.report.stopped:
                break
            await self._start(run, job, generation)
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
        return run.report.stopped is None

    async def _start(self, run: LaneRun, job: Job, generation: int) -> None:
        await self._take_slot(run, job)
        if run.lane.chains == 1 or (run.open is None and run.lane.max_concurrency == 1):
            await self._follow(run, job, generation)
            return
        task = asyncio.create_task(self._follow(run, job, generation))
        run.tasks.add(task)
        task.add_done_callback(run.done)

    async def _take_slot(self, run: LaneRun, job: Job) -> None:
        limit = self._limit(run, job)
        if not limit.taken_at_once():
            await limit.acquire()

    async def _follow(self, run: LaneRun, job: Job, generation: int) -> None:
        """Run a job and, if it begins or continues a chain, all links after it."""
        try:
            link = await self._do(run, job, generation)
            while link is not None and not run.report.stopped:
                await self._take_slot(run, link)
                link = await self._do(run, link, 0)
        finally:
            if run.open is not None:
                run.open.release()

    def _limit(self, run: LaneRun, job: Job) -> AdaptiveLimit:
        return self._limits[job.endpoint or run.lane.endpoint]

    async def _do(self, run: LaneRun, job: Job, generation: int) -> Job | None:
        """Run one job, retrying as needed; return the next link of its chain, if any."""
        started, attempt, limit = self._clock.now(), 0, self._limit(run, job)
        paid, lost = note_calls(), 0.0
        try:
            while True:
                attempt += 1
                try:
                    outcome = await job.work(generation)
                except Transient as error:
                    lost += self._lose(paid)
                    pause = self._policy.pause(attempt, self._clock.now() - started, error.retry_after)
                    if error.overloaded:
                        # A pause that is too long for one job is too long for all jobs.
                        limit.overloaded(error.retry_after if pause is not None else None)
                    if pause is None:
                        self._give_up(run, job, error, attempt, lost)
                        return None
                    await asyncio.sleep(pause)
                except OverBudget as error:
                    self._lose(paid)
                    run.report.stopped = run.report.stopped or str(error)
                    run.over_budget = True
                    return None
                except Unusable as error:
                    self._lose(paid)
                    run.report.stopped = run.report.stopped or str(error)
                    run.report.unusable = True
                    return None
                except ModelError as error:
                    self._give_up(run, job, error, attempt, lost + self._lose(paid))
                    return None
                else:
                    limit.succeeded()
                    if attempt > 1:
                        outcome.ask.attempts += attempt - 1
                        outcome.ask.cost += lost
                        self._summary.cost -= lost  # it is now part of the ask's cost
                    return await self._take_in(run, job, outcome)
        finally:
            limit.release()

    async def _do_together(
        self, run: LaneRun, together: Together, missing: list[tuple[Job, int]]
    ) -> list[tuple[Job, int]]:
        """Run jobs or whole chains as a batch elsewhere; return the links that are left to run one by one."""
        left = dict(enumerate(missing))
        async for number, outcome in together(missing):
            if number not in left or isinstance(outcome, Transient):
                continue  # already received, or worth a retry
            job, _ = left.pop(number)
            if isinstance(outcome, Outcome):
                link = await self._take_in(run, job, outcome)
                if link is not None:
                    left[number] = link, 0
            elif isinstance(outcome, Unusable):
                run.report.stopped, run.report.unusable = str(outcome), True
            else:
                self._give_up(run, job, outcome, 1, 0.0)
            if run.report.stopped:
                return []
        return list(left.values())

    async def _take_in(self, run: LaneRun, job: Job, outcome: Outcome) -> Job | None:
        """Queue an outcome for storing; return the next link of its chain, if any."""
        if run.failures_in_a_row:
            run.failures_in_a_row.pop(job.endpoint, None)
        run.answered.add(job.endpoint)
        self._count(outcome.ask)
        link = job.then(outcome) if job.then else None
        self._outbox.put(FinishedJob(run, job, outcome, link is None))
        if self._outbox.crowded:
            await self._outbox.room()
        return link

    def _give_up(self, run: LaneRun, job: Job, error: ModelError, attempts: int, lost: float) -> None:
        message = str(error)
        run.report.failed += 1
        in_a_row = run.failures_in_a_row[job.endpoint] = run.failures_in_a_row.get(job.endpoint, 0) + 1
        self._summary.last_failure = message
        # One person's texts may all be too long for a model that works for everybody else: stopping there would stop every
        # later try of the same command at the same place.
        is_down = isinstance(error, Transient) or not (run.report.reused or job.endpoint in run.answered)
        if in_a_row >= self._policy.stop_after and is_down and not run.report.stopped:
            run.report.stopped = (
                f"{in_a_row} asks in a row failed, the last because {message.rstrip('.')}; "
                "what is judged is kept and the same command goes on from there."
            )
        failed = job.failure(message, attempts)
        failed.ask.cost += lost
        self._outbox.put(FinishedJob(run, job, failed, True))

    def _lose(self, paid: list[float]) -> float:
        """Add the cost of a failed attempt's calls to the summary and return it."""
        lost = sum(paid)
        paid.clear()
        self._summary.cost += lost
        return lost

    def _count(self, ask: Ask) -> None:
        """Add up tokens and cost as soon as they are known, since the budget depends on them."""
        self._summary.tokens_in += ask.tokens_in
        self._summary.tokens_out += ask.tokens_out
        self._summary.cost += ask.cost

    async def _write_outcomes(self) -> None:
        """Commit outcomes in batches; they count as progress only once committed."""
        while batch := await self._outbox.take():
            links = [made.job.key for made in batch if made.run.lane.chains]
            outcomes = [made.outcome for made in batch]
            await asyncio.to_thread(self._store.write, outcomes, *((self._run, links) if links else ()))
            self._note(batch)

    def _note(self, batch: list[FinishedJob]) -> None:
        counts: dict[str, int] = {}
        for made in batch:
            if made.last:  # a chain counts once, at its end
                report = made.run.report
                report.finished += made.outcome.ask.status != Status.FAILED
                counts[report.name] = counts.get(report.name, 0) + 1
        spent = f"{self._summary.cost:.2f} USD" if self._summary.cost else ""
        for name, count in counts.items():
            self._progress.advance(name, count, spent)
