"""A small fitted model of each kind, and the little embedder they were made with."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from personafit.models.embeddings import DEFAULT, EMBEDDERS, Vectors, unit_rows

MODELS = Path(__file__).parent / "models"
NAMES = ("pairwise", "matcher", "preference", "verifier")
WIDTH = 8


class EightLetters:
    """Counts letters in eight classes: texts with the same letters get the same vector."""

    fingerprint = "eight-letters"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text."""
        counts = np.zeros((len(texts), WIDTH))
        for row, text in enumerate(texts):
            for letter in text.lower():
                counts[row, ord(letter) % WIDTH] += 1
        return unit_rows(counts)


def use_eight_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the default embedder be the one the models here were fitted with."""
    monkeypatch.setitem(EMBEDDERS, DEFAULT, EightLetters)
