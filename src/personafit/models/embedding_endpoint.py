"""`openai:MODEL[@URL]` as an embedder: any server with an OpenAI-compatible /embeddings address.

Calls are plain and blocking, a batch at a time, because whoever embeds waits for all of it anyway; what is busy or broken is tried
again a few times.
"""

import http.client
import os
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson

from personafit._errors import UserError
from personafit._hashing import content_hash
from personafit._secrets import key_for, masked, refuse_secrets, without
from personafit.models.chat import one_line
from personafit.models.openai import DEFAULT_URL
from personafit.models.spec import parse_spec
from personafit.models.vectors import Vectors, unit_rows

BATCH = 128
TRIES = 4
PAUSE = 1.0  # seconds before the second try, doubled each time
TIMEOUT = 120.0
BUSY = (408, 409, 429, 500, 502, 503, 504)


class EndpointEmbedder:
    """Embeds by asking a server."""

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
        """Address and model: the server says nothing more."""
        return content_hash({"embedder": "openai", "url": self._url, "model": self._model})

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row of length 1 for each text."""
        rows: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            rows += self._batch(
                [text.encode("utf-8", "replace").decode() for text in texts[start : start + BATCH]]
            )
        if len({len(row) for row in rows}) > 1:
            raise UserError(f"{self._url} gave vectors of different lengths for {self._model}.")
        return unit_rows(np.asarray(rows, dtype=np.float64)) if rows else np.zeros((0, 0), dtype=np.float32)

    def _batch(self, texts: list[str]) -> list[list[float]]:
        body = orjson.dumps({"model": self._model, "input": texts})
        for attempt in range(TRIES):
            try:
                return self._read(self._post(body), len(texts))
            except urllib.error.HTTPError as error:
                said = without(self._key, error.read(2000)).decode("utf-8", "replace")
                problem = (
                    f"{self._url}/embeddings answers {error.code}: {masked(' '.join(said.split())[:200])}"
                )
                if error.code not in BUSY:
                    raise UserError(f"{problem}; check the model's name and the key.") from None
            except (OSError, http.client.HTTPException) as error:
                problem = f"{self._url}/embeddings does not answer ({masked(one_line(error))})"
            time.sleep(PAUSE * 2**attempt if attempt < TRIES - 1 else 0)
        raise UserError(f"{problem}; tried {TRIES} times.")

    def _post(self, body: bytes) -> bytes:
        request = urllib.request.Request(
            f"{self._url}/embeddings", body, {"Content-Type": "application/json"}
        )
        if self._key:
            # Should the server point elsewhere, the key does not go along.
            request.add_unredirected_header("Authorization", f"Bearer {self._key}")
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:  # nosec B310 # the user's endpoint
            data: bytes = response.read()
            return data

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
