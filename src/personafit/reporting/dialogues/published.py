"""What others have published about the same people and tasks: quoted beside our numbers, never mixed with them."""

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import orjson

BENCHMARK = "personalens"


@dataclass(frozen=True)
class PublishedRow:
    """One published row."""

    model: str
    given: str
    source: str
    scores: dict[str, float]
    """Metric and kind of task, such as `completion/SD`, to value: completion in percent, personalization from 1 to 4."""


def published_body() -> dict[str, Any]:
    """The whole file: about, protocol, scores, agreement."""
    text = (files("personafit.benchmarks") / "published" / "personalens.json").read_bytes()
    body: dict[str, Any] = orjson.loads(text)
    return body


def published_rows(benchmark: str) -> list[PublishedRow]:
    """The published tables; nothing for other data, with which they could not be compared."""
    if benchmark != BENCHMARK:
        return []
    return [PublishedRow(**row) for row in published_body()["scores"]]
