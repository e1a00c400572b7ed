"""`embedding[:NAME]`: the cosine between the prompt and each attribute; how many of a list to pick is learnt on other prompts."""

import asyncio

from personafit.items.relevance import Listing
from personafit.models import Spec
from personafit.models.embeddings import Vectors, make_embedder
from personafit.raters.rater import rater_record
from personafit.raters.relevance.scored import ScoredRelevance


class EmbeddingRelevance(ScoredRelevance):
    """Cosine similarity of text embeddings."""

    def __init__(self, spec: Spec) -> None:
        spec.allow(())
        self._embedder = make_embedder(spec.name)
        self.endpoint = spec.text
        self.record = rater_record(spec.text, "rule", {"cosine": self._embedder.fingerprint})
        self._known: dict[str, Vectors] = {}

    async def scores(self, listing: Listing) -> list[float]:
        """The cosines; each text is embedded once."""
        return await asyncio.to_thread(self._cosines, listing.prompt, listing.attributes)

    def _cosines(self, prompt: str, attributes: list[str]) -> list[float]:
        new = [text for text in dict.fromkeys([prompt, *attributes]) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [float(self._known[prompt] @ self._known[text]) for text in attributes]
