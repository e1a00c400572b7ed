"""Indexes over texts: BM25 over terms, cosines over vectors, both together.

An index answers with places of texts, best first. BM25 leaves out what shares no term with the query; vectors always find
something.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from personafit.contexts.retrieval.ranking import best, fused
from personafit.contexts.retrieval.tokens import terms
from personafit.models.embeddings import Embedder, Vectors

FUSED_DEPTH = 100  # places of each ranking that count when two are made into one
EMBEDDED = 4_000  # characters of a text that its vector stands for; encoders were made for sentences
VECTORS = "vectors.npy"
BM25 = "bm25"


class Index(Protocol):
    """Finds texts."""

    def search(self, query: str, count: int) -> list[int]:
        """Places of the best texts, best first; never more than asked for."""

    def save(self, folder: Path) -> None:
        """Write what took time to make."""


class Bm25Index:
    """BM25 with the library's usual settings."""

    def __init__(self, model: Any) -> None:
        self._model = model

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Bm25Index":
        """Index some texts."""
        import bm25s  # type: ignore[import-untyped]

        model = bm25s.BM25()
        split = [terms(text) for text in texts]
        if not any(split):
            return cls(None)
        model.index(split, show_progress=False)
        return cls(model)

    @classmethod
    def load(cls, folder: Path) -> "Bm25Index":
        """Read an index that was saved; its arrays stay on disk until they are needed."""
        import bm25s

        if not (folder / BM25).is_dir():
            return cls(None)
        return cls(bm25s.BM25.load(folder / BM25, mmap=True))

    def save(self, folder: Path) -> None:
        """Write the index."""
        if self._model is not None:
            self._model.save(folder / BM25, show_progress=False)

    def search(self, query: str, count: int) -> list[int]:
        """The best texts that share a term with the query."""
        if self._model is None:
            return []
        known = self._model.vocab_dict
        asked = [term for term in dict.fromkeys(terms(query)) if term in known]
        if not asked:  # the library takes no empty query
            return []
        scores = self._model.get_scores(asked)
        return [place for place in best(scores, count) if scores[place] > 0]


class DenseIndex:
    """Cosines of unit vectors, all of them: exact, and a matrix product is fast enough for any person's memories."""

    def __init__(self, vectors: Vectors, embedder: Embedder) -> None:
        self._vectors = vectors
        self._embedded = lru_cache(4096)(lambda text: embedder.embed([text[:EMBEDDED]])[0])

    @classmethod
    def of(cls, texts: Sequence[str], embedder: Embedder) -> "DenseIndex":
        """Embed some texts."""
        return cls(embedder.embed([text[:EMBEDDED] for text in texts]), embedder)

    @classmethod
    def load(cls, folder: Path, embedder: Embedder) -> "DenseIndex":
        """Read vectors that were saved."""
        return cls(np.load(folder / VECTORS), embedder)

    def save(self, folder: Path) -> None:
        """Write the vectors."""
        np.save(folder / VECTORS, self._vectors)

    def search(self, query: str, count: int) -> list[int]:
        """The texts whose vectors lie closest."""
        return best(self._vectors @ self._embedded(query), count)


class HybridIndex:
    """Two indexes, their rankings made into one."""

    def __init__(self, parts: Sequence[Index]) -> None:
        self._parts = parts

    def save(self, folder: Path) -> None:
        """Write both."""
        for part in self._parts:
            part.save(folder)

    def search(self, query: str, count: int) -> list[int]:
        """The best of both."""
        depth = max(FUSED_DEPTH, count)
        return fused([part.search(query, depth) for part in self._parts])[:count]
