"""Content hashes: the same value gives the same short key on every machine and in every process.

Fingerprints, product ids, job keys and seeded draws all come from here, so nothing depends on Python's
salted `hash()` or on a shared random stream in which one dropped item moves all later ones.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

KEY_LENGTH = 32  # hex digits: 128 bits, so collisions are negligible


def content_hash(value: Any) -> str:
    """Return a 32-digit hex key of any JSON-like value; mappings hash the same whatever their key order."""
    return hash_text(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def hash_text(*parts: str | bytes) -> str:
    """Return a 32-digit hex key of texts in sequence; each part's length counts, so parts cannot run together."""
    pieces: list[bytes] = []
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        pieces += (b"%d:" % len(data), data)
    return hashlib.sha256(b"".join(pieces)).hexdigest()[:KEY_LENGTH]


def hash_stream(parts: Iterable[str | bytes]) -> str:
    """Return the hash that `hash_text` gives, of a stream of parts that are not kept in memory."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()[:KEY_LENGTH]


def draw(*parts: str | int, among: int) -> int:
    """Return a seeded draw from `range(among)` that depends on nothing but its arguments."""
    return int(hash_text(*(str(part) for part in parts)), 16) % among
