"""`reward:PATH`: a reward model on this machine as a scorer of answers.

Each answer is scored by itself, so nothing depends on the order. Asks come in person by person; those that wait while the
model is busy are its next batch, and what they share (the person, the question) is computed once, as trees, where that gives the
model's own scores. Trees need a model that takes its attention from the transformers library. Whether this one does is not asked but
tried: two short texts are scored both ways before anything else is.
"""

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit.items.choice import CHOICES
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import ModelError, Spec, Unanswerable, Unusable, one_line
from personafit.models.placing import Batches, WorkerModel, current_place
from personafit.models.weights import Batcher
from personafit.raters.rater import ScoredRater
from personafit.raters.reward.reading import (
    OPTIONS,
    Readers,
    Weights,
    answer_groups,
    find_weights,
    keep_scores,
    precision,
    settings_for,
)

# Half of them are scored while the other half is stored and replaced. On a CPU a batch must not take minutes.
AT_ONCE_GPU = 1024
AT_ONCE_CPU = 64


TRIED = 12  # tokens of the beginning, and of each end, of the two texts that are tried
EXACT, ROUGH = 1e-3, 0.05  # how far scores may be apart in full and in half precision

Tokens = Sequence[int]


class LocalRewardRater(ScoredRater):
    """The scores of a reward model."""

    unit = "answer"

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        spec.allow(OPTIONS)
        weights = find_weights(spec)
        self._weights = weights
        self._reading = Readers(weights)
        self.fitted_on = self._reading.fitted_on
        self.endpoint = f"reward:{weights.source}"
        dtype = precision()
        self.max_concurrency = AT_ONCE_CPU if dtype == "float32" else AT_ONCE_GPU
        self.settings = {**self._reading.settings, "precision": dtype}
        self.judge_by(asks.by_score, spec.text, "reward", settings_for(asks, self.settings))
        self._engine: Any = None
        most, place = self.max_concurrency // 2, current_place()
        if place is None:
            self._batches: Batches = Batcher(self.score, most)
        else:
            self._batches = place.batches(spec, open_scorer, self.settings, most)
            self.max_concurrency *= place.workers

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The score of each answer, read after the person and the question."""
        scored = await asyncio.gather(*(self._of_group(group, verdict) for group in answer_groups(units)))
        found = [score for scores, _ in scored for score in scores]
        return keep_scores(verdict, found, [dropped for _, dropped in scored])

    async def _of_group(self, group: Sequence[Unit], verdict: Verdict) -> tuple[list[float], str | None]:
        texts, dropped = await self._reading.tokens(group)
        verdict.tokens_in += sum(map(len, texts))
        return await self._batches.submit(texts), dropped

    async def close(self) -> None:
        self._reading.close()
        await self._batches.close()
        self._engine = None

    def score(self, batch: Sequence[list[list[int]]]) -> list[list[float]]:
        """The scores of lists of token lists."""
        if self._engine is None:
            self._engine = Engine(self._weights)
        scores = iter(self._engine.scores([tokens for texts in batch for tokens in texts]))
        return [[next(scores) for _ in texts] for texts in batch]


def open_scorer(spec: Spec) -> WorkerModel:
    """A reward model for a worker: token lists in, scores out."""
    rater = LocalRewardRater(spec, CHOICES)
    return WorkerModel(rater.settings, rater.score)


class Engine:
    """A loaded reward model that scores token lists: as trees where that gives the model's own scores, one by one otherwise."""

    def __init__(self, weights: Weights) -> None:
        self._name = weights.spec.text
        self._model = weights.load()
        # Models of others were trained to be read at the last token that is no padding; ours at the last token.
        self._padding = None if weights.trained else getattr(self._model.config, "pad_token_id", None)
        self.scorer = self._trees()
        if self.scorer is not None and self.scorer.capacity < weights.max_tokens:
            self.scorer.resize(weights.max_tokens)

    def scores(self, sequences: Sequence[Tokens]) -> list[float]:
        """A score per sequence; where memory runs out, the scorer goes on with shorter rows and says so."""
        from personafit.models.reward.scoring import out_of_memory

        texts = [self._unpadded(sequence) for sequence in sequences]
        try:
            if self.scorer is None:
                return [self._alone(text) for text in texts]
            return [float(score) for score in self.scorer.scores(texts)]
        except (UserError, RuntimeError, MemoryError, IndexError) as error:
            # What says it to users is that rows cannot be shortened any more.
            if not isinstance(error, UserError) and not out_of_memory(error):
                raise Unanswerable(f"{self._name} cannot score ({one_line(error)}).") from error
        longest = max(map(len, texts))
        raise Unusable(
            f"{self._name}: a text of {longest:,} tokens does not fit the memory of this machine; "
            "allow fewer with ,max_tokens=N."
        )

    def _trees(self) -> Any:
        """A scorer of trees, if it gives the scores that the model itself gives; else None."""
        import torch

        from personafit.models.reward.scoring import RewardScorer, out_of_memory

        own = getattr(self._model.config, "_attn_implementation", None)
        try:
            tried = self._tried()
            expected = [self._alone(text) for text in tried]
            scorer = RewardScorer(self._model, "tree")
            full = next(self._model.parameters()).dtype == torch.float32
            allowed = EXACT if full else ROUGH
            if np.allclose(scorer.scores(tried), expected, atol=allowed, rtol=allowed):
                return scorer
        except ModelError:
            raise
        except Exception as error:  # whatever code of others raises on what it does not expect
            if out_of_memory(error):
                raise Unusable(f"{self._name} does not fit the memory of this machine.") from error
        if own is not None:
            self._model.set_attn_implementation(own)
        print(
            f"{self._name}: this model cannot share beginnings; texts are scored one by one.", file=sys.stderr
        )
        return None

    def _tried(self) -> list[list[int]]:
        """Two texts of drawn tokens with the same beginning, no padding among them: plain transformers would read before it."""
        size = self._model.config.get_text_config().vocab_size
        draws = np.random.default_rng(0).integers(0, size, (3, TRIED))
        padding = getattr(self._model.config, "pad_token_id", None)
        start, first, second = ([int(token) for token in row if token != padding] for row in draws)
        return [start + first, start + second]

    def _alone(self, tokens: Tokens) -> float:
        import torch

        given = torch.tensor([list(tokens)], device=next(self._model.parameters()).device)
        with torch.inference_mode():
            out: Any = self._model(input_ids=given, attention_mask=torch.ones_like(given))
        numbers = (out.logits if hasattr(out, "logits") else out[0]).reshape(-1)
        if len(numbers) != 1:
            raise Unusable(f"{self._name} gives {len(numbers)} numbers per text; a reward model gives one.")
        return float(numbers[0])

    def _unpadded(self, tokens: Tokens) -> Tokens:
        stop = len(tokens)
        while stop > 1 and tokens[stop - 1] == self._padding:
            stop -= 1
        return tokens[:stop]
