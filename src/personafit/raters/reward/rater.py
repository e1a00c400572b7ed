"""`reward:PATH`: a reward model on this machine as a rater.

Each answer is scored by itself, so nothing depends on the order. Asks come in person by person; those that wait while the
model is busy are scored together, and what they share (the person, the question) is computed once.
"""

from collections.abc import Sequence
from typing import Any

from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Spec
from personafit.models.placing import Batches, Held, current_place
from personafit.raters.rater import Verdict, rater_record
from personafit.raters.reward.batching import Batcher
from personafit.raters.reward.reading import OPTIONS, Readers
from personafit.raters.reward.verdicts import verdict_of
from personafit.raters.reward.weights import find_weights, precision

# Half of them are scored while the other half is stored and replaced. On a CPU a batch must not take minutes.
AT_ONCE_GPU = 1024
AT_ONCE_CPU = 64


class RewardRater:
    """Prefers the answer to which the model gives the higher score."""

    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        weights = find_weights(spec)
        self._weights = weights
        self._reading = Readers(weights)
        self.fitted_on = self._reading.fitted_on
        self.endpoint = f"reward:{weights.source}"
        dtype = precision()
        self.max_concurrency = AT_ONCE_CPU if dtype == "float32" else AT_ONCE_GPU
        self.record = rater_record(
            spec.text,
            "reward",
            {**self._reading.settings, "precision": dtype},
        )
        self._engine: Any = None
        most, place = self.max_concurrency // 2, current_place()
        if place is None:
            self._batches: Batches = Batcher(self._score, most)
        else:
            self._batches = place.batches(spec, open_scorer, self.record.settings, most)
            self.max_concurrency *= place.workers

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """The choice by the scores of the answers, each read after the person and the question."""
        texts, dropped = await self._reading.do(lambda reader: reader.tokens(shown))
        scores = await self._batches.submit(texts)
        verdict = verdict_of(scores, dropped)
        verdict.tokens_in = sum(map(len, texts))
        return verdict

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """No chat model is called."""
        return None

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

    def held(self) -> Held:
        """The scoring alone, for a worker."""
        return Held(self.record.settings, self._score)


def open_scorer(spec: Spec) -> Held:
    """A reward model for a worker: token lists in, scores out."""
    return RewardRater(spec).held()
