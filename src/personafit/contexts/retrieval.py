"""Finding the memories that bear on a question: BM25 over terms, cosines over vectors, both together; and how well that works.

An index answers with places of texts, best first; BM25 leaves out what shares no term with the query, vectors always find something.
There is one index per person, made when it is needed, kept where making it took long: beside the store, in a folder of each person's
own that goes when the person is forgotten. It is named by a fingerprint of the memories and of how they are indexed, so a changed
memory means a new index and the old one is removed.
"""

import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.contexts.memories import WAYS, memories_hash
from personafit.models.embeddings import Embedder, Vectors, make_embedder
from personafit.people import Memory
from personafit.statistics import Estimate, cluster_mean, prompts_recur
from personafit.store.store import person_folder

TERMS = "words-and-bigrams-1"  # changes whenever a text would give other terms
_RUN = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)|([^\W_\u3040-\u9fff]+)")
_SAYS_NOTHING = frozenset(
    "a about again all also am an and any are as at be been but by can could did do does for from get go good had has have he "
    "her here him his how i if in into is it its just like make me more most my no not of off on one or our out over own please "
    "she should so some such than that the their them then there these they thing things this those to too up us use very want "
    "was way we were what when where which who why will with would you your".split()
)


def terms(text: str) -> list[str]:
    """The terms of a text, in order, repetitions included: words where words are spaced, pairs of characters where they are not.

    English words lose their commonest endings and the words that say nothing; Chinese and Japanese runs become overlapping pairs, so
    that no segmenter and no dictionary is needed.
    """
    return list(_terms(text))


def _terms(text: str) -> Iterator[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for wide, word in _RUN.findall(text.lower()):
        if wide:
            yield from (wide[place : place + 2] for place in range(max(1, len(wide) - 1)))
        elif word not in _SAYS_NOTHING:
            yield _stem(word)


@lru_cache(1 << 16)
def _stem(word: str) -> str:
    """Without a plural, a past or a progressive ending; crude, and the same for questions and memories."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


RANK_OFFSET = 60  # of reciprocal rank fusion: how little the very first places are preferred


def best(scores: NDArray[Any], count: int) -> list[int]:
    """Places of the highest scores, best first; of equal scores the earlier place comes first."""
    if count >= len(scores):
        return [int(place) for place in np.lexsort((np.arange(len(scores)), -scores))]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= least)
    return [int(place) for place in places[np.lexsort((places, -scores[places]))][:count]]


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """One ranking of several by reciprocal rank; of equal sums the earlier place comes first."""
    sums: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            sums[place] = sums.get(place, 0.0) + 1.0 / (RANK_OFFSET + rank)
    return sorted(sums, key=lambda place: (-sums[place], place))


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


@dataclass(frozen=True)
class Retrieval:
    """The memories found for one question, best first, and those that are relevant to it."""

    person: str
    prompt: str
    found: Sequence[str]
    relevant: frozenset[str]


def recall_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Mean share of the memories that bear on a question that are among the first k; questions without any are left out."""
    kept = [row for row in rows if row.relevant]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.relevant) for row in kept])


def precision_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Mean share of what is found among the first k that bears on the question; where nothing is found there is no share."""
    kept = [row for row in rows if row.found[:k]]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.found[:k]) for row in kept])


def chance_recall(rows: Sequence[Retrieval], k: int, memories: Mapping[str, int]) -> float | None:
    """What picking k memories blindly would find, by how many each person has."""
    kept = [min(1.0, k / memories[row.person]) for row in rows if row.relevant]
    return sum(kept) / len(kept) if kept else None


def _mean(rows: Sequence[Retrieval], shares: list[float]) -> Estimate:
    people, prompts = [row.person for row in rows], [row.prompt for row in rows]
    recur = bool(rows) and prompts_recur(people, prompts)
    return cluster_mean(shares, people, prompts if recur else None, bounds=(0.0, 1.0))
