"""Texts that say the same: found by the cosine of their embeddings, quickly among very many.

Up to a few thousand texts are compared pair by pair. Above that, faiss sorts the vectors into cells by likeness, and each
text is compared only with those of the nearest cells; what is found is what was compared exactly, so nothing is ever called
a near-duplicate that is none.
"""

import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.models.embeddings import INSTALL, Embedder, Vectors, make_embedder

EXACT = 4_000  # vectors up to which comparing all with all is the quickest way
BLOCK = 1_024
CELLS_PER_ROOT = 6.4
DIRECTIONS, DIRECTIONS_FROM = 128, 5_000
PROBES = 13  # nearest cells that are looked into
TRAINING_PER_CELL = 20

Pairs = NDArray[np.int64]


def near_pairs(vectors: Vectors, threshold: float) -> Pairs:
    """All pairs of rows (earlier, later) whose cosine reaches the threshold; the rows are unit vectors."""
    return exact_pairs(vectors, threshold) if len(vectors) <= EXACT else _cell_pairs(vectors, threshold)


def exact_pairs(vectors: Vectors, threshold: float) -> Pairs:
    """The same by comparing all with all."""
    found = []
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK]
        likeness = block @ vectors[: start + len(block)].T
        later, earlier = np.nonzero(likeness >= threshold)
        later += start
        before = earlier < later
        found.append(np.stack([earlier[before], later[before]], axis=1))
    return np.concatenate(found) if found else np.zeros((0, 2), dtype=np.int64)


def _cell_pairs(vectors: Vectors, threshold: float) -> Pairs:
    """Each row against the rows whose nearest cell is among its own few nearest; cell by cell, as products of matrices."""
    nearest = _nearest_cells(vectors)
    from threadpoolctl import threadpool_limits

    members = np.argsort(nearest[:, 0], kind="stable")
    starts = np.searchsorted(nearest[members, 0], np.arange(nearest.max() + 2))
    looking = np.argsort(nearest, axis=None, kind="stable")
    places = np.searchsorted(nearest.ravel()[looking], np.arange(nearest.max() + 2))
    found = [np.zeros((0, 2), dtype=np.int64)]
    with threadpool_limits(
        1, "blas"
    ):  # threads that share out such small products mostly wait for each other
        for cell in range(len(starts) - 1):
            here = members[starts[cell] : starts[cell + 1]]
            rows = looking[places[cell] : places[cell + 1]] // nearest.shape[1]
            for start in range(0, len(rows) if len(here) else 0, BLOCK):
                asked = rows[start : start + BLOCK]
                one, other = np.nonzero(vectors[asked] @ vectors[here].T >= threshold)
                pair = np.stack([asked[one], here[other]], axis=1)
                found.append(pair[pair[:, 0] != pair[:, 1]])
    pairs: Pairs = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return pairs


def _nearest_cells(vectors: Vectors) -> NDArray[np.int64]:
    """The nearest cells of each row, the very nearest first."""
    try:
        import faiss
    except ImportError:
        raise UserError(
            f"Near-duplicates among {len(vectors):,} texts need faiss; get it with {INSTALL}."
        ) from None
    vectors = _fewer_directions(vectors)
    count, size = vectors.shape
    cells = int(CELLS_PER_ROOT * count**0.5)
    clusters = faiss.Kmeans(
        size,
        cells,
        niter=2,
        seed=1,
        spherical=True,
        max_points_per_centroid=TRAINING_PER_CELL,
        min_points_per_centroid=1,
    )
    clusters.train(vectors)
    _, nearest = clusters.index.search(vectors, PROBES)
    found: NDArray[np.int64] = nearest
    return found


def _fewer_directions(vectors: Vectors) -> Vectors:
    """The rows along the directions in which they differ most: enough to sort them into cells, at a quarter of the work."""
    step = max(1, len(vectors) // DIRECTIONS_FROM)
    few = vectors[::step]
    _, directions = np.linalg.eigh(few.T @ few)
    return np.ascontiguousarray(vectors @ directions[:, -DIRECTIONS:], dtype=np.float32)


def first_of_its_kind(count: int, pairs: Pairs) -> list[int | None]:
    """For each row the earlier row that makes it a near-duplicate, or None; one that is out makes nobody else so."""
    twins: list[int | None] = [None] * count
    for earlier, later in pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].tolist():
        if twins[later] is None and twins[earlier] is None:
            twins[later] = earlier
    return twins


class NearDuplicates:
    """Takes texts in, batch by batch, and says of each whether one like it is there already.

    Vectors of what was kept stay in memory, 2 KB each; for people by the million there is `BlockDuplicates`.
    """

    def __init__(self, threshold: float, embedder: Embedder | None = None) -> None:
        self._threshold = threshold
        self._embedder = embedder or make_embedder()
        self._vectors: Vectors | None = None
        self._names: list[str] = []

    def add(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        """For each (name, text) the name of an earlier one that says the same, or None, and then it is taken in."""
        if not texts:
            return []
        fresh = self._embedder.embed([text for _, text in texts])
        old = self._vectors if self._vectors is not None else fresh[:0]
        vectors = np.concatenate([old, fresh])
        pairs = near_pairs(vectors, self._threshold)
        twins = first_of_its_kind(len(vectors), pairs[pairs[:, 1] >= len(old)])[len(old) :]
        names = [*self._names, *(name for name, _ in texts)]
        kept = [place for place, twin in enumerate(twins) if twin is None]
        self._vectors = np.concatenate([old, fresh[kept]])
        self._names += [texts[place][0] for place in kept]
        return [None if twin is None else names[twin] for twin in twins]


class BlockDuplicates:
    """The same for any number of texts that fall into blocks, such as people of one job and age: only likes are compared.

    What was kept is in a temporary file; memory holds one batch and one block.
    """

    def __init__(self, threshold: float, embedder: Embedder | None = None) -> None:
        self._threshold = threshold
        self._embedder = embedder if embedder or threshold >= 1 else make_embedder()
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode=OFF")
        self._database.execute("PRAGMA synchronous=OFF")
        self._database.execute("CREATE TABLE kept (block TEXT, name TEXT, text TEXT, vector BLOB)")
        self._database.execute("CREATE INDEX by_block ON kept (block, text)")
        self._database.execute("BEGIN")
        self._batch: list[tuple[str, str]] = []
        self._vectors: Vectors = np.zeros((0, 0), dtype=np.float32)
        self._twins: list[str | None] = []
        """Of each text of the batch, one kept before the batch."""
        self._fresh: dict[str, list[tuple[str, Vectors]]] = {}
        """By block, what was kept of the batch."""

    def offer(self, batch: Sequence[tuple[str, str]]) -> None:
        """The next texts to be asked about, in turn, each with its block."""
        self._batch = list(batch)
        self._fresh = {}
        if self._embedder is None:
            return
        self._vectors = self._embedder.embed([text for _, text in self._batch])
        places: dict[str, list[int]] = {}
        for place, (block, _) in enumerate(self._batch):
            places.setdefault(block, []).append(place)
        self._twins = [None] * len(self._batch)
        for block, here in places.items():
            names, kept = self._read(block)
            if names:
                likeness = self._vectors[here] @ kept.T
                best = likeness.argmax(axis=1)
                for row, place in enumerate(here):
                    if likeness[row, best[row]] >= self._threshold:
                        self._twins[place] = names[best[row]]

    def twin(self, place: int, name: str) -> str | None:
        """The name of one kept before that a text of the batch is like; None takes it in."""
        block, text = self._batch[place]
        if self._embedder is None:
            known = (block, hash_text(text))
            query = "SELECT name FROM kept WHERE block = ? AND text = ?"
            row = self._database.execute(query, known).fetchone()
            if row is None:
                query = "INSERT INTO kept (block, text, name) VALUES (?, ?, ?)"
                self._database.execute(query, (*known, name))
            return None if row is None else str(row[0])
        if (twin := self._twins[place]) is not None:
            return twin
        vector = self._vectors[place]
        fresh = self._fresh.setdefault(block, [])
        for other, taken in fresh:
            if float(taken @ vector) >= self._threshold:
                return other
        fresh.append((name, vector))
        packed = vector.astype(np.float16).tobytes()
        self._database.execute("INSERT INTO kept VALUES (?, ?, '', ?)", (block, name, packed))
        return None

    def _read(self, block: str) -> tuple[list[str], Vectors]:
        query = "SELECT name, vector FROM kept WHERE block = ?"
        rows = self._database.execute(query, (block,)).fetchall()
        flat = np.frombuffer(b"".join(vector for _, vector in rows), dtype=np.float16)
        return [name for name, _ in rows], flat.astype(np.float32).reshape(-1, self._vectors.shape[1])
