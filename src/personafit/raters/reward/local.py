"""`reward:PATH`: a reward model on this machine as a scorer of answers.

Each answer is scored by itself, so nothing depends on the order. Asks come in person by person; those that wait while the
model is busy are its next batch, and what they share (the person, the question) is computed once.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from personafit.items.reading import Unit, Verdict
from personafit.models import Spec
from personafit.models.placing import Batches, WorkerModel, current_place
from personafit.raters.reward.reading import (
    OPTIONS,
    AnswerGroup,
    Readers,
    answer_groups,
    find_weights,
    keep_scores,
    precision,
)
from personafit.raters.scored import Scorer

T = TypeVar("T")
R = TypeVar("R")


class Batcher(Generic[T, R]):
    """Hands what callers bring to a function of batches, on a thread of its own."""

    def __init__(self, work: Callable[[Sequence[T]], Sequence[R]], most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches")
        self._drain: asyncio.Task[None] | None = None

    async def submit(self, one: T) -> R:
        """The result for one; an error of its batch is an error of each in it."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((one, future))
        if self._drain is None or self._drain.done():
            self._drain = loop.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Let the batch under way end; what still waits is given up."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)
        self._worker.shutdown(wait=True)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            await asyncio.sleep(0)  # whoever is about to come in may come along
            batch = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            batch = [(one, future) for one, future in batch if not future.done()]  # callers may have left
            if not batch:
                continue
            try:
                results = await loop.run_in_executor(self._worker, self._work, [one for one, _ in batch])
            except Exception as error:
                for _, future in batch:
                    if not future.done():
                        future.set_exception(error)
                continue
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)


# Half of them are scored while the other half is stored and replaced. On a CPU a batch must not take minutes.
AT_ONCE_GPU = 1024
AT_ONCE_CPU = 64


class LocalRewardScorer(Scorer):
    """The scores of a reward model."""

    unit = "answer"

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        weights = find_weights(spec)
        self._weights = weights
        self._reading = Readers(weights)
        self.fitted_on = self._reading.fitted_on
        self.endpoint = f"reward:{weights.source}"
        dtype = precision()
        self.max_concurrency = AT_ONCE_CPU if dtype == "float32" else AT_ONCE_GPU
        self.settings = {**self._reading.settings, "precision": dtype}
        self._engine: Any = None
        most, place = self.max_concurrency // 2, current_place()
        if place is None:
            self._batches: Batches = Batcher(self._score, most)
        else:
            self._batches = place.batches(spec, open_scorer, self.settings, most)
            self.max_concurrency *= place.workers

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The score of each answer, read after the person and the question."""
        scored = await asyncio.gather(*(self._of_group(group, verdict) for group in answer_groups(units)))
        found = [score for scores, _ in scored for score in scores]
        return keep_scores(verdict, found, [dropped for _, dropped in scored])

    async def _of_group(self, group: AnswerGroup, verdict: Verdict) -> tuple[list[float], str | None]:
        texts, dropped = await self._reading.do(lambda reader: reader.tokens(group))
        verdict.tokens_in += sum(map(len, texts))
        return await self._batches.submit(texts), dropped

    async def close(self) -> None:
        """Free the model's memory."""
        self._reading.close()
        await self._batches.close()
        self._engine = None

    def _score(self, batch: Sequence[list[list[int]]]) -> list[list[float]]:
        if self._engine is None:
            from personafit.raters.reward.engine import Engine

            self._engine = Engine(self._weights)
        scores = iter(self._engine.scores([tokens for texts in batch for tokens in texts]))
        return [[next(scores) for _ in texts] for texts in batch]

    def held(self) -> WorkerModel:
        """The scoring alone, for a worker."""
        return WorkerModel(self.settings, self._score)


def open_scorer(spec: Spec) -> WorkerModel:
    """A reward model for a worker: token lists in, scores out."""
    return LocalRewardScorer(spec).held()
