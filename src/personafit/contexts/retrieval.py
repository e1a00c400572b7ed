"""Finding the memories that bear on a question: BM25 over terms, cosines over vectors, both together; and how well that works.

An index answers with places of texts, best first; BM25 leaves out what shares no term with the query, vectors always find something.
There is one index per person, made when it is needed. Vectors of many memories are kept beside the store, in a folder of each person's
own that goes when the person is forgotten, named by a fingerprint of the memories and of how they are embedded.
"""

import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.contexts.context import WAYS
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


class Bm25Index:
    """BM25 with the library's usual settings."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s  # type: ignore[import-untyped]

        split = [terms(text) for text in texts]
        self._model: Any = bm25s.BM25() if any(split) else None
        if self._model is not None:
            self._model.index(split, show_progress=False)

    def search(self, query: str, count: int) -> list[int]:
        """Places of the best texts that share a term with the query, best first."""
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
        self._embedded = lru_cache(4096)(lambda text: embed(embedder, [text])[0])

    def search(self, query: str, count: int) -> list[int]:
        """Places of the texts whose vectors lie closest, best first."""
        return best(self._vectors @ self._embedded(query), count)


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of the beginnings of some texts."""
    return embedder.embed([text[:EMBEDDED] for text in texts])


def memories_hash(memories: Sequence[Memory]) -> str:
    """Hash of ids, texts and times: an index made from others is out of date."""
    return hash_text(*(part for one in memories for part in (one.id, one.text, one.time or "")))


KEPT_FROM = 200  # memories; fewer are embedded again faster than read
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
        self._held: dict[str, list[Bm25Index | DenseIndex]] = {}

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
        key = hash_text(person, memories_hash(memories))
        if key not in self._held:
            if len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[key] = self._indexes(person, memories)
        indexes = self._held[key]
        depth = count if len(indexes) == 1 else max(FUSED_DEPTH, count)
        rankings = [index.search(query, depth) for index in indexes]
        return [memories[place] for place in (rankings[0] if len(rankings) == 1 else fused(rankings))[:count]]

    def _indexes(self, person: str, memories: Sequence[Memory]) -> list[Bm25Index | DenseIndex]:
        found: list[Bm25Index | DenseIndex] = []
        if self.by != "dense":
            found.append(Bm25Index([memory.text for memory in memories]))
        if self._embedder is not None:
            found.append(DenseIndex(self._vectors(person, memories, self._embedder), self._embedder))
        return found

    def _vectors(self, person: str, memories: Sequence[Memory], embedder: Embedder) -> Vectors:
        """The vectors of all memories: read where they were kept, else made, and kept where that took long."""
        if len(memories) > MOST_EMBEDDED:
            raise UserError(
                f"Person '{person}' has {len(memories):,} memories, more than the {MOST_EMBEDDED:,} that are embedded; "
                "retrieve with by=bm25."
            )
        place = None
        if self._folder is not None and len(memories) >= KEPT_FROM:
            name = hash_text(memories_hash(memories), self.fingerprint)[:16]
            place = person_folder(self._folder, person) / f"{self.by}-{name}.npy"
            with suppress(OSError, ValueError):  # not there, half written or damaged: they can be made again
                kept: Vectors = np.load(place)
                return kept
        vectors = embed(embedder, [memory.text for memory in memories])
        if place is not None:
            _keep(vectors, place)
        return vectors


def _keep(vectors: Vectors, place: Path) -> None:
    """Write vectors whole or not at all; others of the same person and kind are out of date."""
    with suppress(OSError):  # a full or read-only disk costs time at the next start and nothing else
        place.parent.mkdir(parents=True, exist_ok=True)
        for old in place.parent.glob(f"{place.name.partition('-')[0]}-*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()  # earlier versions kept folders
        draft = place.with_name(f".{place.name}")
        with draft.open("wb") as file:
            np.save(file, vectors)
        draft.replace(place)


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
