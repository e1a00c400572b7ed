"""`reward:PATH`: a reward model on this machine as a rater.

Each answer is scored by itself, so nothing depends on the order. Asks come in person by person; those that wait while the
model is busy are scored together, and what they share (the person, the question) is computed once.
"""

import asyncio
import copy
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from personafit._errors import UserError
from personafit.items import ChoiceQuestion, Shown
from personafit.models import ChatRequest, Spec, Unanswerable, one_line
from personafit.models.placing import Batches, Held, current_place
from personafit.models.reward.rendering import Renderer, TooLongError
from personafit.raters.rater import Verdict, rater_record
from personafit.raters.reward.batching import Batcher
from personafit.raters.reward.verdicts import known, verdict_of
from personafit.raters.reward.weights import Weights, find_weights, precision

OPTIONS = ("trust", "max_tokens", "rendering")
# Half of them are scored while the other half is stored and replaced. On a CPU a batch must not take minutes.
AT_ONCE_GPU = 1024
AT_ONCE_CPU = 64
TOKENIZERS = 4


class RewardRater:
    """Prefers the answer to which the model gives the higher score."""

    price = (0.0, 0.0)
    order_matters = False

    def __init__(self, spec: Spec) -> None:
        spec.allow(OPTIONS)
        weights = find_weights(spec)
        self._weights = weights
        self._renderer = _renderer(weights)
        self.fitted_on = frozenset((weights.trained or {}).get("fitted_on", ()))
        self.endpoint = f"reward:{weights.source}"
        dtype = precision()
        self.max_concurrency = AT_ONCE_CPU if dtype == "float32" else AT_ONCE_GPU
        self.record = rater_record(
            spec.text,
            "reward",
            {"weights": weights.fingerprint, "rendering": self._renderer.fingerprint, "precision": dtype},
        )
        self._engine: Any = None
        most, place = self.max_concurrency // 2, current_place()
        if place is None:
            self._batches: Batches = Batcher(self._score, most)
        else:
            self._batches = place.batches(spec, open_scorer, self.record.settings, most)
            self.max_concurrency *= place.workers
        self._tokenizing = ThreadPoolExecutor(min(TOKENIZERS, os.cpu_count() or 1), "tokens")
        self._own = threading.local()

    async def rate(self, shown: Shown, question: ChoiceQuestion) -> Verdict:
        """The choice by the scores of the answers, each read after the person and the question."""
        loop = asyncio.get_running_loop()
        texts, dropped = await loop.run_in_executor(self._tokenizing, self._render, shown)
        scores = await self._batches.submit(texts)
        verdict = verdict_of(scores, dropped)
        verdict.tokens_in = sum(map(len, texts))
        return verdict

    def request(self, shown: Shown, question: ChoiceQuestion) -> ChatRequest | None:
        """No chat model is called."""
        return None

    async def close(self) -> None:
        """Free the model's memory."""
        self._tokenizing.shutdown(wait=True, cancel_futures=True)
        await self._batches.close()
        self._engine = None

    def _render(self, shown: Shown) -> tuple[list[list[int]], str | None]:
        """The tokens of every answer, and what was left out; all answers are read with the same of the person."""
        facets = known(shown.context)
        renderer = self._thread_renderer()
        try:
            texts = renderer.render_together(facets, shown.item.prompt, shown.texts)
        except TooLongError as error:
            raise Unanswerable(f"{self.record.name} cannot read {shown.item.id}: {error}.") from error
        dropped = max(text.dropped for text in texts)
        said = f"{dropped} of {len(facets)} facets left out to keep to {renderer.max_tokens:,} tokens"
        return [text.tokens for text in texts], said if dropped else None

    def _thread_renderer(self) -> Renderer:
        """Tokenizers change while they work: each thread has its own."""
        if not hasattr(self._own, "renderer"):
            self._own.renderer = Renderer(copy.deepcopy(self._weights.tokenizer), self._renderer.max_tokens)
        renderer: Renderer = self._own.renderer
        return renderer

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


def _renderer(weights: Weights) -> Renderer:
    """How answers are put before the model; a model trained on another rendering is refused unless told."""
    spec = weights.spec
    renderer = Renderer(weights.tokenizer, weights.max_tokens)
    try:
        renderer.render({}, "Which?", "This one.")
    except TooLongError:
        raise UserError(f"{spec.text}: {weights.max_tokens} tokens are too few for any answer.") from None
    except Exception as error:  # chat templates are programs
        raise UserError(f"{spec.text}: its chat template cannot be used ({one_line(error)}).") from error
    wanted = spec.options.get("rendering", "trained")
    if wanted not in ("trained", "any"):
        raise UserError(f"{spec.text}: rendering is trained or any, not '{wanted}'.")
    trained = (weights.trained or {}).get("rendering", renderer.fingerprint)
    if trained != renderer.fingerprint and wanted == "trained":
        raise UserError(
            f"{spec.text}: it was trained on people rendered otherwise ({str(trained)[:8]}, here {renderer.fingerprint[:8]}), so its "
            "scores may mean little; use the version and max_tokens it was trained with, or add ,rendering=any."
        )
    return renderer
