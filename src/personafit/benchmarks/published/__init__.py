"""Published benchmarks as data: a JSON file each, with what it is, its files and sizes, and the scores that others have reported."""

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError
from personafit.benchmarks.benchmark import BenchmarkInfo, Published


@cache
def published_file(name: str) -> dict[str, Any]:
    """Return the contents of a benchmark's file; empty if nothing is published on it."""
    path = Path(__file__).parent / f"{name}.json"
    return orjson.loads(path.read_bytes()) if path.is_file() else {}


def published_info(name: str) -> BenchmarkInfo:
    """Return the description of a benchmark."""
    return BenchmarkInfo.model_validate(published_file(name)["info"])


def not_found(name: str, place: Path) -> UserError:
    """Return the error for a place that has none of a benchmark's data."""
    return UserError(f"{place} holds no data of {name}: expected {published_file(name)['expected']}.")


def published_scores(name: str) -> list[Published]:
    """Return the scores that others have reported on a benchmark."""
    return [Published.model_validate(row) for row in published_file(name).get("scores", ())]
