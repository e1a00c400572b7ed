"""Retrieval of the memories relevant to a query, by BM25, cosine similarity of embeddings, or both; and metrics of retrieval.

An index returns positions of texts, best first; BM25 skips texts that share no term with the query, embeddings always return something.
Each person has their own index, built on demand. The vectors of many memories are cached beside the store, in a folder per person that
is deleted when the person is forgotten; file names are fingerprints of the memories and of how they are embedded.
"""

import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
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

TERMS = "words-and-bigrams-1"  # version of the tokenisation
_RUN = re.compile(r"([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)|([^\W_\u3040-\u9fff]+)")
_SAYS_NOTHING = frozenset(
    "a about again all also am an and any are as at be been but by can could did do does for from get go good had has have he "
    "her here him his how i if in into is it its just like make me more most my no not of off on one or our out over own please "
    "she should so some such than that the their them then there these they thing things this those to too up us use very want "
    "was way we were what when where which who why will with would you your".split()
)


def terms(text: str) -> list[str]:
    """Split a text into terms, in order and with repetitions: words, or character bigrams in Chinese and Japanese.

    English stop words are dropped and common endings are stemmed; Chinese and Japanese runs become overlapping bigrams, so
    that no segmenter and no dictionary is needed.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    for wide, word in _RUN.findall(text.lower()):
        if wide:
            found += (wide[place : place + 2] for place in range(max(1, len(wide) - 1)))
        elif word not in _SAYS_NOTHING:
            found.append(_stem(word))
    return found


@lru_cache(1 << 16)
def _stem(word: str) -> str:
    """Strip a plural, past or progressive ending; crude, but the same for queries and memories."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


RANK_OFFSET = 60  # constant of reciprocal rank fusion; a larger one favours the top ranks less


def best(scores: NDArray[Any], count: int) -> list[int]:
    """Return the positions of the highest scores, best first; ties keep their order."""
    if count >= len(scores):
        return [int(place) for place in np.lexsort((np.arange(len(scores)), -scores))]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= least)
    return [int(place) for place in places[np.lexsort((places, -scores[places]))][:count]]


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Merge several rankings by reciprocal rank fusion; ties are ordered by position."""
    sums: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            sums[place] = sums.get(place, 0.0) + 1.0 / (RANK_OFFSET + rank)
    return sorted(sums, key=lambda place: (-sums[place], place))


FUSED_DEPTH = 100  # entries of each ranking that are fused
EMBEDDED = 4_000  # characters of a text that are embedded; encoders are made for sentences


class Bm25Index:
    """A BM25 index with the default settings of bm25s."""

    def __init__(self, texts: Sequence[str]) -> None:
        import bm25s  # type: ignore[import-untyped]

        split = [terms(text) for text in texts]
        self._model: Any = bm25s.BM25() if any(split) else None
        if self._model is not None:
            self._model.index(split, show_progress=False)

    def search(self, query: str, count: int) -> list[int]:
        """Return the positions of the best texts that share a term with the query, best first."""
        if self._model is None:
            return []
        known = self._model.vocab_dict
        asked = [term for term in dict.fromkeys(terms(query)) if term in known]
        if not asked:  # bm25s rejects an empty query
            return []
        scores = self._model.get_scores(asked)
        return [place for place in best(scores, count) if scores[place] > 0]


class DenseIndex:
    """An exact index by cosine similarity of unit vectors; a matrix product is fast enough for any person's memories."""

    def __init__(self, vectors: Vectors, embedder: Embedder) -> None:
        self._vectors = vectors
        self._embedded = lru_cache(4096)(lambda text: embed(embedder, [text])[0])

    def search(self, query: str, count: int) -> list[int]:
        return best(self._vectors @ self._embedded(query), count)


def embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """Embed the first `EMBEDDED` characters of each text."""
    return embedder.embed([text[:EMBEDDED] for text in texts])


def memories_hash(memories: Sequence[Memory]) -> str:
    """Return a hash of ids, texts and times, by which outdated indexes are recognised."""
    return hash_text(*(part for one in memories for part in (one.id, one.text, one.time or "")))


KEPT_FROM = 200  # memories; re-embedding fewer is faster than reading a file
HELD = 8  # indexes in memory; items are ordered by person
MOST_EMBEDDED = 300_000  # memories of one person; more would silently take minutes and a gigabyte


class Retriever:
    """A retriever of a person's memories by BM25, by embeddings, or by both."""

    def __init__(self, by: str = "bm25", embedder: str = "", folder: Path | None = None) -> None:
        if by not in WAYS:
            raise UserError(f"by={by}: memories are found by {', '.join(WAYS)}.")
        self.by = by
        self._folder = folder
        self._embedder: Embedder | None = None if by == "bm25" else make_embedder(embedder)
        self._held: dict[str, list[Bm25Index | DenseIndex]] = {}
        self._one_at_a_time = Lock()  # raters are planned in threads of their own

    @cached_property
    def fingerprint(self) -> str:
        return content_hash(
            [self.by, TERMS, EMBEDDED, self._embedder.fingerprint if self._embedder else None]
        )

    def find(self, person: str, memories: Sequence[Memory], query: str, count: int) -> list[Memory]:
        """Return the best memories for a query, best first, at most `count`."""
        if not memories or count < 1:
            return []
        key = hash_text(person, memories_hash(memories))
        with self._one_at_a_time:
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
        """Return the vectors of all memories from the cache, or embed them and cache them if there are many."""
        if len(memories) > MOST_EMBEDDED:
            raise UserError(
                f"Person '{person}' has {len(memories):,} memories, more than the {MOST_EMBEDDED:,} that are embedded; "
                "retrieve with by=bm25."
            )
        place = None
        if self._folder is not None and len(memories) >= KEPT_FROM:
            name = hash_text(memories_hash(memories), self.fingerprint)[:16]
            place = person_folder(self._folder, person) / f"{self.by}-{name}.npy"
            with suppress(OSError, ValueError):  # missing, incomplete or damaged: embed again
                kept: Vectors = np.load(place)
                return kept
        vectors = embed(embedder, [memory.text for memory in memories])
        if place is not None:
            _keep(vectors, place)
        return vectors


def _keep(vectors: Vectors, place: Path) -> None:
    """Write vectors atomically, and delete the outdated ones of the same person and kind."""
    with suppress(OSError):  # on a full or read-only disk the vectors are merely embedded again next time
        place.parent.mkdir(parents=True, exist_ok=True)
        for old in place.parent.glob(f"{place.name.partition('-')[0]}-*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()  # earlier versions kept folders
        draft = place.with_name(f".{place.name}")
        with draft.open("wb") as file:
            np.save(file, vectors)
        draft.replace(place)


@dataclass(frozen=True)
class Retrieval:
    """The memories retrieved for one prompt, best first, and those that are relevant to it."""

    person: str
    prompt: str
    found: Sequence[str]
    relevant: frozenset[str]


def recall_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Return mean recall at k; prompts without relevant memories are left out."""
    kept = [row for row in rows if row.relevant]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.relevant) for row in kept])


def precision_at(rows: Sequence[Retrieval], k: int) -> Estimate:
    """Return mean precision at k; prompts for which nothing was found are left out."""
    kept = [row for row in rows if row.found[:k]]
    return _mean(kept, [len(row.relevant & set(row.found[:k])) / len(row.found[:k]) for row in kept])


def chance_recall(rows: Sequence[Retrieval], k: int, memories: Mapping[str, int]) -> float | None:
    """Return the expected recall at k of random selection, given the number of memories of each person."""
    kept = [min(1.0, k / memories[row.person]) for row in rows if row.relevant]
    return sum(kept) / len(kept) if kept else None


def _mean(rows: Sequence[Retrieval], shares: list[float]) -> Estimate:
    people, prompts = [row.person for row in rows], [row.prompt for row in rows]
    recur = bool(rows) and prompts_recur(people, prompts)
    return cluster_mean(shares, people, prompts if recur else None, bounds=(0.0, 1.0))
