"""`embedding`: closeness of texts as a rater."""

import asyncio
from collections.abc import Sequence
from typing import Any

from personafit._errors import UserError
from personafit.items.reading import QuestionSet, Unit, Verdict
from personafit.models import Spec
from personafit.models.embeddings import make_embedder
from personafit.raters.rater import ScoredRater


class EmbeddingRater(ScoredRater):
    """`embedding[:NAME]`: cosine similarity of an attribute to the prompt, or of an answer to the person's context.

    Each text is embedded once.
    """

    def __init__(self, spec: Spec, asks: QuestionSet) -> None:
        spec.allow(())
        question = asks.by_score
        unit = next((unit for unit in question.scored_by if unit in ("attribute", "answer")), None)
        if unit is None:
            raise UserError(
                f"{spec.text} compares texts and cannot say {question.sought}; name another rater."
            )
        self.unit = unit
        self._embedder = make_embedder(spec.name)
        self.endpoint = spec.text
        self.needs_prompt = unit == "attribute"
        self._known: dict[str, Any] = {}
        settings = {"cosine": self._embedder.fingerprint} | ({} if self.needs_prompt else {"unit": unit})
        self.judge_by(question, spec.text, "rule", settings)

    async def scores(self, units: Sequence[Unit], verdict: Verdict) -> list[float]:
        """Return the cosines; 0 if either text is empty."""
        pairs = [
            (unit.prompt if self.unit == "attribute" else unit.context.text, unit.text) for unit in units
        ]
        return await asyncio.to_thread(self._cosines, pairs)

    def _cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        new = list({text: None for pair in pairs for text in pair if text and text not in self._known})
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [
            float(self._known[other] @ self._known[text]) if other and text else 0.0 for other, text in pairs
        ]
