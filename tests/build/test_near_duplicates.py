"""Near-duplicates: the first of a kind stays, in each block by itself; an index finds what comparing all with all finds."""

from collections.abc import Sequence

import numpy as np
import pytest
from speed.factory import THRESHOLD, synthetic

from personafit.build.duplicates import EXACT, NearDuplicates
from personafit.models.embeddings import Vectors, unit_rows


class ByLetters:
    """Texts are alike as far as their letters are."""

    fingerprint = "letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.count(letter) for letter in "abcdefgh"] for text in texts]
        return unit_rows(np.array(counts, dtype=np.float32).reshape(-1, 8))


def test_batches() -> None:
    index = NearDuplicates(0.99, ByLetters())
    assert index.add([("1", "aab"), ("2", "cd"), ("3", "aba")]) == [None, None, "1"]
    assert index.add([("4", "dc"), ("5", "gh")]) == ["2", None]
    assert index.add([]) == []


def test_one_that_is_out_makes_nobody_else_out() -> None:
    index = NearDuplicates(0.94, ByLetters())
    texts = [("1", "aaaaa"), ("2", "aaaab"), ("3", "aaabb"), ("4", "aaabbb")]
    assert index.add(texts) == [None, "1", None, "3"], "the third is like the second, and the second is out"


@pytest.mark.parametrize("threshold", [0.99, 1.0])
def test_blocks_are_apart(threshold: float) -> None:
    index = NearDuplicates(threshold, ByLetters())
    assert index.add([("1", "aab"), ("2", "gh"), ("3", "aab")], "x") == [None, None, "1"]
    assert index.add([("4", "aab")], "y") == [None]
    assert index.add([("5", "aab")], "y") == ["4"]


class Given:
    """Texts are places among given vectors."""

    fingerprint = "given"

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors[[int(text) for text in texts]]


def test_what_was_kept_long_ago_is_found_again_in_cells() -> None:
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
    assert NearDuplicates(0.85).add(texts)[1:3] == ["a", None]
