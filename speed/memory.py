"""How fast memories are indexed and found: 100,000 of them, against scoring every memory for every question.

The brute force for BM25 goes over all memories and counts the question's terms in each, as a plain implementation does, with the
statistics and the split texts made beforehand; for vectors it takes the dot product with each memory in turn. Vectors are
drawn at random, because finding them costs the same whatever they mean; embedding is timed apart on a few texts. Ours and the brute force
answer the same questions and must find the same memories. All times are of the processor and not of the clock, so that what else
runs on the machine does not count.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from personafit.contexts.retrieval import Bm25Index, DenseIndex, best, terms
from personafit.models.embeddings import Vectors, make_embedder, unit_rows
from speed.table import Measurement, paired

MEMORIES, QUERIES, ROUNDS, K = 100_000, 5, 3, 5
WORDS, LENGTH, SIZE = 20_000, 12, 512
EMBEDDED = 512  # texts, to time the encoder
BAR = 20.0
DENSE_BAR = 2.0  # every vector is looked at either way: all that is saved is going over them one by one


def measure() -> list[Measurement]:
    """Finding as a ratio to brute force; how long indexing takes is printed."""
    texts, queries = _memories(MEMORIES), _memories(QUERIES, seed=1)
    start = time.process_time()
    index = Bm25Index(texts)
    took = time.process_time() - start
    print(f"BM25: {MEMORIES:,} memories indexed in {took:.1f} s")
    brute = _Brute(texts)
    for query in queries:
        if _scores(brute, query, index.search(query, K)) != _scores(brute, query, brute.search(query)):
            raise AssertionError(f"the index and the brute force disagree on {query!r}")
    measured = [
        _race("BM25 query", queries, lambda query: index.search(query, K), brute.search, BAR),
    ]
    vectors = unit_rows(np.random.default_rng(0).standard_normal((MEMORIES, SIZE)))
    dense = DenseIndex(vectors, _Drawn())
    drawn = _Drawn()

    def loop(query: str) -> list[int]:
        wanted = drawn.embed([query])[0]
        return best(np.array([float(row @ wanted) for row in vectors]), K)

    measured.append(_race("dense query", queries, lambda query: dense.search(query, K), loop, DENSE_BAR))
    _time_embedding(texts[:EMBEDDED])
    return measured


def _race(
    name: str,
    queries: Sequence[str],
    ours: Callable[[str], object],
    peer: Callable[[str], object],
    bar: float,
) -> Measurement:
    mine, theirs = [], []
    for _ in range(ROUNDS):
        mine.append(_rate(ours, queries))
        theirs.append(_rate(peer, queries))
    print(f"{name}: {1000 / sorted(mine)[len(mine) // 2]:.2f} ms each")
    return paired(name, "brute force", "1/s", mine, theirs, bar)


def _rate(search: Callable[[str], object], queries: Sequence[str]) -> float:
    start = time.process_time()
    for query in queries:
        search(query)
    return len(queries) / (time.process_time() - start)


def _time_embedding(texts: Sequence[str]) -> None:
    embedder = make_embedder()
    embedder.embed(texts[:8])  # the first call loads the weights
    start = time.process_time()
    embedder.embed(texts)
    rate = len(texts) / (time.process_time() - start)
    print(f"embedding: {rate:,.0f} memories a second, {MEMORIES / rate:.0f} s for {MEMORIES:,}")


class _Brute:
    """BM25 as the library scores it (Lucene's form), over every memory for every question."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._split = [Counter(terms(text)) for text in texts]
        self._lengths = [sum(counts.values()) for counts in self._split]
        self._mean = sum(self._lengths) / len(self._lengths)
        self._holding = Counter(term for counts in self._split for term in counts)

    def search(self, query: str) -> list[int]:
        return best(np.array(self.scores(query)), K)

    def scores(self, query: str) -> list[float]:
        asked = {term: self._rarity(term) for term in dict.fromkeys(terms(query)) if term in self._holding}
        return [
            sum(rarity * self._share(counts[term], length) for term, rarity in asked.items())
            for counts, length in zip(self._split, self._lengths, strict=True)
        ]

    def _rarity(self, term: str) -> float:
        held = self._holding[term]
        return math.log(1 + (len(self._split) - held + 0.5) / (held + 0.5))

    def _share(self, count: int, length: int) -> float:
        return count / (count + 1.5 * (1 - 0.75 + 0.75 * length / self._mean)) if count else 0.0


def _scores(brute: _Brute, query: str, places: Sequence[int]) -> list[float]:
    """What the found memories score: equal scores may stand in any order."""
    scores = brute.scores(query)
    return [round(scores[place], 3) for place in places]


class _Drawn:
    """Vectors of questions, drawn by their text."""

    fingerprint = "drawn"

    def embed(self, texts: Sequence[str]) -> Vectors:
        return unit_rows(np.stack([np.random.default_rng(len(text)).standard_normal(SIZE) for text in texts]))


def _memories(count: int, seed: int = 0) -> list[str]:
    """Made-up memories whose words are as unevenly used as real ones."""
    draw = random.Random(seed)
    words = [f"w{number:x}q" for number in range(WORDS)]
    weights = [1 / (rank + 10) for rank in range(WORDS)]
    drawn = draw.choices(words, weights, k=count * LENGTH)
    return [" ".join(drawn[place : place + LENGTH]) for place in range(0, len(drawn), LENGTH)]
