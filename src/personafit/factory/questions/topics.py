"""Which scenario a question is about, by its likeness to questions of ours."""

from collections.abc import Sequence
from functools import cache

import numpy as np

from personafit.factory.questions.scenarios import Scenario, categories
from personafit.models.embeddings import Embedder, Vectors


class Topics:
    """Knows our questions for every scenario."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, tuple[Vectors, list[int]]] = {}

    def nearest(self, texts: Sequence[str], language: str) -> list[list[Scenario]]:
        """For each text all scenarios, the nearest first."""
        if not texts:
            return []
        vectors, owners = self._ours(language)
        found = []
        for likeness in self._embedder.embed(list(texts)) @ vectors.T:
            order = dict.fromkeys(owners[place] for place in np.argsort(-likeness, kind="stable").tolist())
            found.append([_scenarios()[owner] for owner in order])
        return found

    def _ours(self, language: str) -> tuple[Vectors, list[int]]:
        if language not in self._known:
            said = [
                (text, owner)
                for owner, one in enumerate(_scenarios())
                for text in (one.title(language), *dict(one.templates)[language])
            ]
            vectors = self._embedder.embed([text for text, _ in said])
            self._known[language] = (vectors, [owner for _, owner in said])
        return self._known[language]


@cache
def _scenarios() -> tuple[Scenario, ...]:
    return tuple(one for category in categories().values() for one in category.scenarios)
