"""Near-duplicate detection by cosine similarity of embeddings with a faiss index.

There are no false positives: candidates come from an index, but their cosines are computed from whole vectors at
half precision, which changes them by less than a thousandth. Each kept text takes about 1.3 KB of memory.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.embeddings import INSTALL, Embedder, Vectors, make_embedder

BATCH = 1_024
EXACT = 4_000  # vectors up to which exhaustive comparison is fastest
GROWN = 4  # growth factor after which the index is trained again
CELLS_PER_ROOT, PROBES, TRAINING_PER_CELL = 6.4, 40, 20
DIRECTIONS = 128  # PCA dimensions, enough to find the right cells


class NearDuplicates:
    """Collects texts and detects near-duplicates among them; texts of different blocks are never compared.

    At a threshold of 1 only identical texts are duplicates, and nothing is embedded.
    """

    def __init__(self, threshold: float, embedder: Embedder | None = None) -> None:
        self._threshold = threshold
        self._embedder = None if threshold >= 1 else embedder or make_embedder()
        self._blocks: dict[str, _Block] = {}
        self._words: dict[str, str] = {}

    def add(self, texts: Sequence[tuple[str, str]], block: str = "") -> list[str | None]:
        """For each (name, text), return the name of an earlier duplicate, or None and keep the text."""
        found: list[str | None] = []
        if self._embedder is None:
            for name, text in texts:
                key = hash_text(block, text)
                found.append(self._words.get(key))
                self._words.setdefault(key, name)
            return found
        known = self._blocks.setdefault(block, _Block(self._threshold))
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            found += known.add([name for name, _ in part], self._embedder.embed([text for _, text in part]))
        return found


class _Block:
    """The index of one block of texts."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._names: list[str] = []
        self._index: Any = None
        self._sorted = EXACT // GROWN

    def add(self, names: Sequence[str], vectors: Vectors) -> list[str | None]:
        """For each row, return the name of a kept duplicate, or None and keep the row."""
        if self._index is None:
            self._index = _index(vectors.shape[1], "SQfp16")
        likeness, nearest = self._index.search(vectors, 1)
        before = np.where(likeness[:, 0] >= self._threshold, nearest[:, 0], -1)
        alike = np.tril(vectors @ vectors.T >= self._threshold, -1)
        alike[:, before >= 0] = False  # a rejected row is no reason to reject another
        found = [None if place < 0 else self._names[place] for place in before.tolist()]
        for place in np.flatnonzero(alike.any(axis=1) & (before < 0)).tolist():
            if alike[place].any():
                found[place] = names[int(alike[place].argmax())]
                alike[:, place] = False
        kept = [place for place, twin in enumerate(found) if twin is None]
        self._index.add(vectors[kept])
        self._names += [names[place] for place in kept]
        if len(self._names) >= GROWN * self._sorted:
            self._sort(vectors.shape[1])
        return found

    def _sort(self, size: int) -> None:
        """Rebuild the index with cells, so that a text is compared only with the texts of the nearest cells."""
        stored = getattr(self._index, "refine_index", self._index).reconstruct_n(0, len(self._names))
        cells = int(CELLS_PER_ROOT * len(stored) ** 0.5)
        way = f"PCA{min(DIRECTIONS, size)},IVF{cells},SQfp16,Refine(SQfp16)"
        self._index, self._sorted = _index(size, way), len(stored)
        self._index.train(stored)
        self._index.add(stored)


def _index(size: int, way: str) -> Any:
    try:
        import faiss
    except ImportError:
        raise UserError(f"Near-duplicates need faiss; get it with {INSTALL}.") from None
    index: Any = faiss.index_factory(size, way, faiss.METRIC_INNER_PRODUCT)
    if "IVF" in way:
        cells = faiss.extract_index_ivf(faiss.downcast_index(index.base_index))
        cells.nprobe, cells.cp.niter, cells.cp.min_points_per_centroid = PROBES, 3, 1
        cells.cp.max_points_per_centroid, cells.cp.seed, index.k_factor = TRAINING_PER_CELL, 1, 4
    return index
