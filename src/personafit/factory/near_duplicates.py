"""Texts that say the same: found by the cosine of their embeddings, quickly among very many.

Up to a few thousand texts are compared pair by pair. Above that, faiss sorts the vectors into cells by likeness, and each
text is compared only with those of the nearest cells; what is found is what was compared exactly, so nothing is ever called
a near-duplicate that is none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit.models.embeddings import INSTALL, Vectors

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
    few = along(vectors, main_directions(vectors[:: max(1, len(vectors) // DIRECTIONS_FROM)]))
    found: NDArray[np.int64] = cells_of(few, int(CELLS_PER_ROOT * len(few) ** 0.5)).search(few, PROBES)[1]
    return found


def cells_of(vectors: Vectors, cells: int) -> Any:
    """Cells that rows fall into by likeness: a faiss index of their middles."""
    try:
        import faiss
    except ImportError:
        raise UserError(
            f"Near-duplicates among {len(vectors):,} texts need faiss; get it with {INSTALL}."
        ) from None
    clusters = faiss.Kmeans(
        vectors.shape[1],
        cells,
        niter=2,
        seed=1,
        spherical=True,
        max_points_per_centroid=TRAINING_PER_CELL,
        min_points_per_centroid=1,
    )
    clusters.train(vectors)
    return clusters.index


def main_directions(vectors: Vectors) -> Vectors:
    """The directions in which rows differ most: enough to sort them into cells, at a quarter of the work."""
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    found: Vectors = directions[:, -DIRECTIONS:]
    return found


def along(vectors: Vectors, directions: Vectors) -> Vectors:
    """The rows along some directions."""
    return np.ascontiguousarray(vectors @ directions, dtype=np.float32)


def first_of_its_kind(count: int, pairs: Pairs) -> list[int | None]:
    """For each row the earlier row that makes it a near-duplicate, or None; one that is out makes nobody else so."""
    twins: list[int | None] = [None] * count
    for earlier, later in pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].tolist():
        if twins[later] is None and twins[earlier] is None:
            twins[later] = earlier
    return twins
