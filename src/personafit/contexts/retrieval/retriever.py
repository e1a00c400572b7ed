"""Memories found for a question: one index per person, made when it is needed, kept on disk where making it took long.

What is kept lies beside the store, in a folder of each person's own that goes when the person is forgotten. It is named by a
fingerprint of the memories and of how they are indexed, so a changed memory means a new index and the old one is removed.
"""

import shutil
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.contexts.memories import WAYS, memories_hash
from personafit.contexts.retrieval.index import EMBEDDED, Bm25Index, DenseIndex, HybridIndex, Index
from personafit.contexts.retrieval.tokens import TERMS
from personafit.models.embeddings import Embedder, make_embedder
from personafit.people import Memory
from personafit.store.stored_people import person_folder

KEPT_FROM = 200  # memories; fewer are indexed again faster than read
HELD = 8  # indexes in memory: work goes person by person
MOST_EMBEDDED = 300_000  # memories of one person; more would take minutes and a gigabyte without a word


class Retriever:
    """Finds a person's memories by BM25, by vectors, or by both."""

    def __init__(self, by: str = "bm25", embedder: str = "", folder: Path | None = None) -> None:
        if by not in WAYS:
            raise UserError(f"by={by}: memories are found by {', '.join(WAYS)}.")
        self.by = by
        self._folder = folder
        self._embedder: Embedder | None = None if by == "bm25" else make_embedder(embedder)
        self._held: dict[str, Index] = {}

    @cached_property
    def fingerprint(self) -> str:
        """Hash of how memories are indexed and found."""
        return content_hash(
            [self.by, TERMS, EMBEDDED, self._embedder.fingerprint if self._embedder else None]
        )

    def find(self, person: str, memories: Sequence[Memory], query: str, count: int) -> list[Memory]:
        """The best memories for a query, best first; never more than asked for."""
        if not memories or count < 1:
            return []
        return [memories[place] for place in self._index(person, memories).search(query, count)]

    def _index(self, person: str, memories: Sequence[Memory]) -> Index:
        key = hash_text(person, memories_hash(memories))
        if key not in self._held:
            if len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[key] = self._load_or_make(person, memories)
        return self._held[key]

    def _load_or_make(self, person: str, memories: Sequence[Memory]) -> Index:
        place = self._place(person, memories)
        if place is not None and place.is_dir():
            try:
                return self._load(place)
            except (OSError, ValueError, KeyError):  # half written or damaged: it can be made again
                shutil.rmtree(place, ignore_errors=True)
        index = self._make(person, [memory.text for memory in memories])
        if place is not None:
            _keep(index, place)
        return index

    def _place(self, person: str, memories: Sequence[Memory]) -> Path | None:
        if self._folder is None or len(memories) < KEPT_FROM:
            return None
        name = hash_text(memories_hash(memories), self.fingerprint)[:16]
        return person_folder(self._folder, person) / f"{self.by}-{name}"

    def _make(self, person: str, texts: list[str]) -> Index:
        if self._embedder is None:
            return Bm25Index.of(texts)
        if len(texts) > MOST_EMBEDDED:
            raise UserError(
                f"Person '{person}' has {len(texts):,} memories, more than the {MOST_EMBEDDED:,} that are embedded; "
                "retrieve with by=bm25."
            )
        dense = DenseIndex.of(texts, self._embedder)
        return dense if self.by == "dense" else HybridIndex([Bm25Index.of(texts), dense])

    def _load(self, place: Path) -> Index:
        if self._embedder is None:
            return Bm25Index.load(place)
        dense = DenseIndex.load(place, self._embedder)
        return dense if self.by == "dense" else HybridIndex([Bm25Index.load(place), dense])


def _keep(index: Index, place: Path) -> None:
    """Write an index whole or not at all; other indexes of the same person and kind are out of date."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(dir=place.parent))
        index.save(draft)
        for old in place.parent.glob(f"{place.name.partition('-')[0]}-*"):
            shutil.rmtree(old, ignore_errors=True)
        draft.rename(place)
    except OSError:  # a full or read-only disk costs time at the next start and nothing else
        shutil.rmtree(place, ignore_errors=True)
