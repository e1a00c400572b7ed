"""Near-duplicates: cells find what comparing all with all finds; the first of a kind stays; the real encoder tells likes apart."""

from collections.abc import Sequence

import numpy as np
from speed.factory import THRESHOLD, synthetic

from personafit.factory.duplicates import (
    EXACT,
    BlockDuplicates,
    NearDuplicates,
    exact_pairs,
    first_of_its_kind,
    near_pairs,
)
from personafit.models.embeddings import Vectors, unit_rows


def test_cells_find_what_is_planted_and_nothing_else() -> None:
    vectors, planted = synthetic(EXACT + 4_000)
    found = {(int(a), int(b)) for a, b in near_pairs(vectors, THRESHOLD)}
    true = {(int(a), int(b)) for a, b in exact_pairs(vectors, THRESHOLD)}
    assert found <= true
    assert set(planted) <= true
    assert len(found) >= 0.99 * len(true)


def test_one_that_is_out_makes_nobody_else_out() -> None:
    pairs = np.array([[0, 1], [1, 2], [3, 4]])
    assert first_of_its_kind(5, pairs) == [None, 0, None, None, 3]
    assert first_of_its_kind(2, np.zeros((0, 2), dtype=np.int64)) == [None, None]


class ByLetters:
    """Texts are alike as far as their letters are."""

    fingerprint = "letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.count(letter) for letter in "abcdefgh"] for text in texts]
        return unit_rows(np.array(counts, dtype=np.float32).reshape(-1, 8))


def test_batches_and_blocks() -> None:
    index = NearDuplicates(0.99, ByLetters())
    assert index.add([("1", "aab"), ("2", "cd"), ("3", "aba")]) == [None, None, "1"]
    assert index.add([("4", "dc"), ("5", "gh")]) == ["2", None]
    assert index.add([]) == []
    for embedder, threshold in ((ByLetters(), 0.99), (None, 1.0)):
        blocks = BlockDuplicates(threshold, embedder)
        blocks.offer([("x", "aab"), ("y", "aab"), ("x", "aab")])
        assert [blocks.twin(place, name) for place, name in enumerate("123")] == [None, None, "1"]
        blocks.offer([("y", "aab"), ("x", "gh")])
        assert [blocks.twin(place, name) for place, name in enumerate("45")] == ["2", None]


class Given:
    """Texts are places among given vectors."""

    fingerprint = "given"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[int(text) for text in texts]]


def test_what_was_kept_long_ago_is_found_again_in_cells_on_disk() -> None:
    vectors, planted = synthetic(2 * EXACT)
    index, said = NearDuplicates(THRESHOLD, Given(vectors)), list[str | None]()
    for start in range(0, len(vectors), 1_000):
        said += index.add([(f"n{place}", str(place)) for place in range(start, start + 1_000)])
    out = {place for place, twin in enumerate(said) if twin is not None}
    for place in out:
        twin = int((said[place] or "")[1:])
        assert twin < place
        assert twin not in out
        assert float(vectors[twin] @ vectors[place]) >= THRESHOLD - 1e-3
    apart = [(a, b) for a, b in planted if a not in out and b - a > 1_000]
    assert len(apart) > 500
    assert sum(b in out for _, b in apart) >= 0.99 * len(apart)


def test_the_real_encoder_tells_the_same_from_the_other() -> None:
    texts = [
        ("a", "What should I cook for dinner tonight?"),
        ("b", "What should I cook for dinner this evening?"),
        ("c", "How do I word an email to my landlord about the heating?"),
        ("d", "今晚我该做什么菜？"),
        ("e", "怎么给房东写邮件说暖气的事？"),
    ]
    assert NearDuplicates(0.85).add(texts)[1] == "a"
    assert NearDuplicates(0.85).add(texts)[2] is None
