"""`embedding[:NAME]`: cosine similarity of an attribute to the prompt, or of an answer to what is known of the person."""

import asyncio
from collections.abc import Sequence

from personafit._errors import UserError
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import Spec
from personafit.models.embeddings import Vectors, make_embedder
from personafit.raters.rater import rater_record
from personafit.raters.scored import ScoredRater, Scorer


class EmbeddingScorer(Scorer):
    """Cosine similarity of text embeddings; each text is embedded once."""

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
