"""Texts that say the same: found by the cosine of their embeddings, quickly among very many, in memory that does not grow with them.

Up to a few thousand texts are compared pair by pair. Above that, faiss sorts the vectors into cells by likeness, and each
text is compared only with those of the nearest cells; what is found is what was compared exactly, so nothing is ever called
a near-duplicate that is none. Vectors of what was kept lie in a temporary file at half precision, which moves a cosine by less
than a thousandth.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence

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
    from threadpoolctl import threadpool_limits

    directions = main_directions(vectors[:: max(1, len(vectors) // DIRECTIONS_FROM)])
    cells = Cells(directions, along(vectors, directions), int(CELLS_PER_ROOT * len(vectors) ** 0.5))
    nearest = cells.nearest(vectors, PROBES)
    members = np.argsort(nearest[:, 0], kind="stable")
    starts = np.searchsorted(nearest[members, 0], np.arange(nearest.max() + 2))
    found = [np.zeros((0, 2), dtype=np.int64)]
    with threadpool_limits(1, "blas"):  # threads that share out such small products mostly wait
        for cell, rows in by_cell(nearest):
            here = members[starts[cell] : starts[cell + 1]]
            for start in range(0, len(rows) if len(here) else 0, BLOCK):
                asked = rows[start : start + BLOCK]
                one, other = np.nonzero(vectors[asked] @ vectors[here].T >= threshold)
                pair = np.stack([asked[one], here[other]], axis=1)
                found.append(pair[pair[:, 0] != pair[:, 1]])
    pairs: Pairs = np.unique(np.sort(np.concatenate(found), axis=1), axis=0)
    return pairs


class Cells:
    """Cells that rows fall into by likeness, along the directions in which they differ most: a faiss index of their middles."""

    def __init__(self, directions: Vectors, sample: Vectors, cells: int) -> None:
        """`sample` are rows along the directions, which the middles are found from."""
        try:
            import faiss
        except ImportError:
            raise UserError(
                f"Near-duplicates among {len(sample):,} texts need faiss; get it with {INSTALL}."
            ) from None
        self._directions = directions
        clusters = faiss.Kmeans(
            sample.shape[1],
            cells,
            niter=2,
            seed=1,
            spherical=True,
            max_points_per_centroid=TRAINING_PER_CELL,
            min_points_per_centroid=1,
        )
        clusters.train(sample)
        self._index = clusters.index

    def nearest(self, vectors: Vectors, count: int) -> NDArray[np.int64]:
        """The nearest cells of each row, the very nearest first."""
        found: NDArray[np.int64] = self._index.search(along(vectors, self._directions), count)[1]
        return found


def by_cell(nearest: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Each cell that rows look into, with these rows."""
    order = np.argsort(nearest, axis=None, kind="stable")
    cells, starts = np.unique(nearest.ravel()[order], return_index=True)
    yield from zip(cells.tolist(), np.split(order // nearest.shape[1], starts[1:]), strict=True)


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


# Nearest cells looked into; more than among equals, where each of a pair looks for the other.
PROBES_KEPT = 24
MOST_CELLS = 3_000
GROWN = 4  # times as many as when they were last sorted into cells
PAGE = 4_096


class NearDuplicates:
    """Takes texts in, batch by batch, and says of each whether one like it is there already.

    A batch is compared with itself by `near_pairs`, and with what was kept before cell by cell, as there. Memory holds the
    batch, the middles of cells and one cell. At a threshold of 1 only the same words are the same.
    """

    def __init__(self, threshold: float, embedder: Embedder | None = None) -> None:
        self._threshold = threshold
        self._words = BlockDuplicates(threshold) if threshold >= 1 else None
        if self._words is not None:
            return
        self._embedder = embedder or make_embedder()
        self._database = _temporary(
            "CREATE TABLE kept (place INTEGER PRIMARY KEY, cell INTEGER, name TEXT, vector BLOB)",
            "CREATE INDEX by_cell ON kept (cell)",
        )
        self._count, self._sorted = 0, EXACT // GROWN
        self._size = 0
        self._cells: Cells | None = None

    def add(self, texts: Sequence[tuple[str, str]]) -> list[str | None]:
        """For each (name, text) the name of an earlier one that says the same, or None, and then it is taken in."""
        if self._words is not None:
            self._words.offer([("", text) for _, text in texts])
            return [self._words.twin(place, name) for place, (name, _) in enumerate(texts)]
        if not texts:
            return []
        fresh = self._embedder.embed([text for _, text in texts])
        self._size = fresh.shape[1]
        earlier = self._earlier(fresh)
        pairs = near_pairs(fresh, self._threshold)
        new = earlier < 0  # what repeats an earlier one is out, and makes nobody else out
        twins = first_of_its_kind(len(fresh), pairs[new[pairs].all(axis=1)])
        kept = [place for place, twin in enumerate(twins) if new[place] and twin is None]
        self._take_in([texts[place][0] for place in kept], fresh[kept])
        return [
            (None if twin is None else texts[twin][0]) if before < 0 else self._name(before)
            for twin, before in zip(twins, earlier.tolist(), strict=True)
        ]

    def _earlier(self, fresh: Vectors) -> NDArray[np.int64]:
        """For each row the place of the first that was kept and is like it, or -1."""
        from threadpoolctl import threadpool_limits

        never = np.iinfo(np.int64).max
        found = np.full(len(fresh), never)
        with threadpool_limits(1, "blas"):  # as among equals: the products are small
            for cell, rows in self._looked_into(fresh):
                stored = self._database.execute(
                    "SELECT place, vector FROM kept WHERE cell = ?", (cell,)
                ).fetchall()
                if not stored:
                    continue
                places = np.array([place for place, _ in stored])
                vectors = _unpacked((vector for _, vector in stored), self._size)
                for start in range(0, len(rows), BLOCK):
                    asked = rows[start : start + BLOCK]
                    like = fresh[asked] @ vectors.T >= self._threshold
                    first = np.where(like, places, never).min(axis=1)
                    found[asked] = np.minimum(found[asked], first)
        found[found == never] = -1
        return found

    def _looked_into(self, fresh: Vectors) -> Iterable[tuple[int, NDArray[np.int64]]]:
        """Each cell that rows look into, with these rows; one that holds everything as long as there are few."""
        if self._cells is None:
            return [(0, np.arange(len(fresh)))]
        return by_cell(self._cells.nearest(fresh, PROBES_KEPT))

    def _take_in(self, names: Sequence[str], vectors: Vectors) -> None:
        cells = self._own_cells(vectors)
        rows = zip(
            range(self._count, self._count + len(names)), cells, names, map(_packed, vectors), strict=True
        )
        self._database.executemany("INSERT INTO kept VALUES (?, ?, ?, ?)", rows)
        self._count += len(names)
        if self._count >= GROWN * self._sorted:
            self._sort()

    def _own_cells(self, vectors: Vectors) -> list[int]:
        if self._cells is None or not len(vectors):
            return [0] * len(vectors)
        return [int(cell) for (cell,) in self._cells.nearest(vectors, 1)]

    def _sort(self) -> None:
        """Sort what was kept into cells, more of them than before."""
        cells = min(MOST_CELLS, int(CELLS_PER_ROOT * self._count**0.5))
        directions = main_directions(np.concatenate([*self._every(self._count // DIRECTIONS_FROM)]))
        sample = [along(page, directions) for page in self._every(self._count // (cells * TRAINING_PER_CELL))]
        self._cells = Cells(directions, np.concatenate(sample), cells)
        self._sorted, start = self._count, 0
        for page in self._every(1):
            own = zip(self._own_cells(page), range(start, start + len(page)), strict=True)
            self._database.executemany("UPDATE kept SET cell = ? WHERE place = ?", own)
            start += len(page)

    def _every(self, step: int) -> Iterator[Vectors]:
        """Vectors of what was kept, each or every so many, a page at a time."""
        query, step = (
            "SELECT vector FROM kept WHERE place >= ? AND place < ? AND place % ? = 0 ORDER BY place",
            max(1, step),
        )
        for start in range(0, self._count, PAGE * step):
            rows = self._database.execute(query, (start, start + PAGE * step, step)).fetchall()
            yield _unpacked((vector for (vector,) in rows), self._size)

    def _name(self, place: int) -> str:
        return str(self._database.execute("SELECT name FROM kept WHERE place = ?", (place,)).fetchone()[0])


class BlockDuplicates:
    """The same for any number of texts that fall into blocks, such as people of one job and age: only likes are compared.

    What was kept is in a temporary file; memory holds one batch and one block.
    """

    def __init__(self, threshold: float, embedder: Embedder | None = None) -> None:
        self._threshold = threshold
        self._embedder = embedder if embedder or threshold >= 1 else make_embedder()
        self._database = _temporary(
            "CREATE TABLE kept (block TEXT, name TEXT, text TEXT, vector BLOB)",
            "CREATE INDEX by_block ON kept (block, text)",
        )
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
        self._database.execute("INSERT INTO kept VALUES (?, ?, '', ?)", (block, name, _packed(vector)))
        return None

    def _read(self, block: str) -> tuple[list[str], Vectors]:
        query = "SELECT name, vector FROM kept WHERE block = ?"
        rows = self._database.execute(query, (block,)).fetchall()
        return [name for name, _ in rows], _unpacked((vector for _, vector in rows), self._vectors.shape[1])


def _temporary(*statements: str) -> sqlite3.Connection:
    """A database in a temporary file that goes with it."""
    database = sqlite3.connect("", isolation_level=None)
    for statement in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", *statements, "BEGIN"):
        database.execute(statement)
    return database


def _packed(vector: Vectors) -> bytes:
    return vector.astype(np.float16).tobytes()


def _unpacked(vectors: Iterable[bytes], size: int) -> Vectors:
    flat = np.frombuffer(b"".join(vectors), dtype=np.float16)
    return flat.astype(np.float32).reshape(-1, size)
