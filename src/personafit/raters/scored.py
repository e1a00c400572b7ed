"""Raters that score: rules, embeddings, reward models, fitted models, objects of the user's own.

A scorer scores units of one sort: an answer for a person, an attribute for a prompt, two answers as somebody with an attribute sees
them (a pair), or as one person sees them (a choice). The question says which units it needs and turns their scores into answers, so one scorer serves every kind it has units for.
"""

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from personafit._errors import UserError
from personafit.items.reading import PartAnswer, Question, QuestionSet, Shown, Unit, Verdict
from personafit.models import ChatRequest, Spec, Unanswerable
from personafit.models.embeddings import Vectors, make_embedder
from personafit.raters.rater import Rater, rater_record
from personafit.store import RaterRecord, Status

UNIT_WORDS = {
    "answer": "scores answers",
    "attribute": "scores attributes",
    "pair": "compares two answers by an attribute",
    "choice": "compares two answers",
}


class Scorer(ABC):
    """Gives numbers, of which higher is better; any scale."""

    unit: str
    """What it scores: `answer`, `attribute`, `pair` or `choice`."""
    threshold: float | None = None
    """Where yes begins; None where nothing says so."""
    on_scale: bool = False
    """Whether its scores are marks on the question's own scale."""
    endpoint: str = "here"
    max_concurrency: int = 1
    price: tuple[float, float] | None = (0.0, 0.0)
    needs_prompt: bool = False
    fitted_on: frozenset[str] = frozenset()

    @abstractmethod
    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """One number per unit; what it took is added to the verdict."""

    def request(self, units: Sequence[Unit]) -> ChatRequest | None:
        """The call that would be made, for estimates; None when no model is paid."""
        return None

    async def close(self) -> None:  # noqa: B027  # most have nothing to release
        """Release what it holds."""


class ScoredRater(Rater):
    """Answers by the scores of a scorer, which looks at each unit by itself: no order can matter."""

    def __init__(self, scorer: Scorer, question: Question, record: RaterRecord) -> None:
        if scorer.unit not in question.scored_by:
            raise UserError(
                f"{record.name} {UNIT_WORDS[scorer.unit]} and cannot say {question.sought}; name another rater."
            )
        self._scorer = scorer
        self.record = record
        self.questions = (question,)
        self.endpoint, self.max_concurrency, self.price = (
            scorer.endpoint,
            scorer.max_concurrency,
            scorer.price,
        )
        self.needs_prompt, self.fitted_on = scorer.needs_prompt, scorer.fitted_on

    async def rate(self, shown: Shown) -> Verdict:
        """Score, and decide by the scores; a part without a finite score has no answer."""
        verdict = Verdict()
        units = self._units(shown)
        scores = await self._scorer.scores(units, verdict)
        if all(map(math.isfinite, scores)):
            verdict.answers = self._decide(shown, scores)
            return verdict
        size = len(units) // len(shown.parts)
        each = [scores[start : start + size] for start in range(0, len(scores), size)]
        known = [all(map(math.isfinite, own)) for own in each]
        parts = tuple(part for part, there in zip(shown.parts, known, strict=True) if there)
        kept = [score for own, there in zip(each, known, strict=True) if there for score in own]
        decided = iter(self._decide(replace(shown, parts=parts), kept) if parts else ())
        verdict.answers = [
            next(decided) if there else PartAnswer(part, status=Status.UNPARSED)
            for part, there in zip(shown.parts, known, strict=True)
        ]
        said = f"the model gave no finite score: {', '.join(f'{score:g}' for score in scores)}"
        verdict.detail = "; ".join(filter(None, (said, verdict.detail)))
        verdict.reply = None
        if not parts:
            verdict.status = Status.UNPARSED
        return verdict

    def request(self, shown: Shown) -> ChatRequest | None:
        """The call that would be made, for estimates."""
        return self._scorer.request(self._units(shown))

    async def close(self) -> None:
        """Close the scorer."""
        await self._scorer.close()

    def _units(self, shown: Shown) -> list[Unit]:
        if self._scorer.unit == "choice" and len(shown.texts) != 2:
            raise Unanswerable(f"{self.record.name} compares two answers, not {len(shown.texts)}.")
        return shown.question.units(shown, self._scorer.unit)

    def _decide(self, shown: Shown, scores: Sequence[float]) -> list[PartAnswer]:
        scorer = self._scorer
        return shown.question.decide(shown, scores, scorer.unit, scorer.threshold, scorer.on_scale)


class EmbeddingScorer(Scorer):
    """`embedding[:NAME]`: cosine similarity of an attribute to the prompt, or of an answer to what is known of the person.

    Each text is embedded once.
    """

    def __init__(self, spec: Spec, unit: str) -> None:
        self.unit = unit
        self.embedder = make_embedder(spec.name)
        self.endpoint = spec.text
        self.needs_prompt = unit == "attribute"
        self._known: dict[str, Vectors] = {}

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """The cosines; without anything to compare with, no text is nearer than another."""
        return await asyncio.to_thread(self._cosines, [(self._other(unit), unit.text) for unit in units])

    def _other(self, unit: Unit) -> str:
        return unit.prompt if self.unit == "attribute" else unit.context.text

    def _cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        texts = dict.fromkeys(text for pair in pairs for text in pair if text)
        new = [text for text in texts if text not in self._known]
        if new:
            self._known.update(zip(new, self.embedder.embed(new), strict=True))
        return [
            float(self._known[other] @ self._known[text]) if other and text else 0.0 for other, text in pairs
        ]


def embedding_rater(spec: Spec, asks: QuestionSet) -> ScoredRater:
    """The rater behind `embedding`."""
    spec.allow(())
    question = asks.by_score
    unit = next((unit for unit in question.scored_by if unit in ("attribute", "answer")), None)
    if unit is None:
        raise UserError(f"{spec.text} compares texts and cannot say {question.sought}; name another rater.")
    scorer = EmbeddingScorer(spec, unit)
    settings = {"cosine": scorer.embedder.fingerprint} | ({} if unit == "attribute" else {"unit": unit})
    return ScoredRater(scorer, question, rater_record(spec.text, "rule", settings))
