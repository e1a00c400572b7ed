"""One embedder for all builds of these tests: reading its weights takes longer than any of them."""

import pytest

from personafit.factory.questions import step
from personafit.models.embeddings import Embedder, make_embedder

SHARED = make_embedder()


@pytest.fixture(autouse=True)
def one_embedder(monkeypatch: pytest.MonkeyPatch) -> Embedder:
    """The same one each time."""
    monkeypatch.setattr(step, "make_embedder", lambda: SHARED)
    return SHARED
