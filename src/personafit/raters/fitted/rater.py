"""`fitted:PATH` and `fitted:NAME`: a fitted model as a rater. What it was fitted to answer decides what it can be asked."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import Spec
from personafit.raters.fitted.file import open_fitted
from personafit.raters.rater import rater_record
from personafit.raters.scored import ScoredRater, Scorer


class FittedScorer(Scorer):
    """The scores of a fitted model."""

    settings: dict[str, Any]
    """What it is known by."""


class PairwiseScorer(FittedScorer):
    """The log-odds that people of the training data would have chosen the first of two answers."""

    unit = "choice"
    endpoint = "fitted"

    def __init__(self, spec: Spec) -> None:
        self._model = open_fitted(spec, "choice")
        self.fitted_on = self._model.fitted_on
        self.settings = {"model": self._model.fingerprint}

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The margins."""
        return [self._model.margin(unit.context.facets, unit.prompt, *unit.answers) for unit in units]


class MatcherScorer(FittedScorer):
    """The probability that people call an attribute relevant."""

    unit = "attribute"

    def __init__(self, spec: Spec) -> None:
        self._matcher = open_fitted(spec, "relevance")
        self.threshold = self._matcher.threshold
        self.endpoint = spec.text
        self.fitted_on = self._matcher.fitted_on
        self.settings = {"matcher": self._matcher.fingerprint}

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The probabilities; reasons are for those who are shown them."""
        reasons = [unit.note for unit in units] if any(unit.note for unit in units) else None
        texts = [unit.text for unit in units]
        scores = await asyncio.to_thread(self._matcher.score, units[0].prompt, texts, reasons)
        return [float(score) for score in scores]


class HeadScorer(FittedScorer):
    """The mark that people would give a personalized answer against a generic one, for somebody with an attribute."""

    unit = "pair"
    on_scale = True

    def __init__(self, spec: Spec) -> None:
        from personafit.models.embeddings import make_embedder

        self._head = open_fitted(spec, "preference")
        self._embedder = make_embedder()
        self.endpoint = spec.text
        self.fitted_on = self._head.fitted_on
        self.settings = {"head": self._head.fingerprint}

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """One mark per attribute."""
        from personafit.raters.fitted.head import pair_features

        features = await asyncio.to_thread(pair_features, units, self._embedder)
        marks: list[float] = self._head.marks(features).tolist()
        return marks


SCORERS: dict[str, Callable[[Spec], FittedScorer]] = {
    "choice": PairwiseScorer,
    "relevance": MatcherScorer,
    "preference": HeadScorer,
}
"""What is judged to the fitted model for it."""


def fitted_rater(spec: Spec, asks: QuestionSet) -> ScoredRater:
    """The rater behind `fitted:`."""
    spec.allow(())
    if asks.kind not in SCORERS:
        raise UserError(
            f"{spec.text}: fitted raters judge {', '.join(SCORERS)} items, and cannot say {asks.by_score.sought}."
        )
    scorer = SCORERS[asks.kind](spec)
    return ScoredRater(scorer, asks.by_score, rater_record(spec.text, "fitted", scorer.settings))


def fitted_mark(person: str) -> str:
    """How a person is noted in a model's card: enough to recognise, not to read."""
    return hash_text("fitted", person)[:8]
