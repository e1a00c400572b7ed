"""What the paper reports about response judgement, as flat records marked published; nothing of it was measured here."""

from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

import orjson

from personafit.reporting.results import Result
from personafit.statistics import Estimate

PUBLISHED = "published"


@lru_cache(1)
def published_figures() -> dict[str, Any]:
    """The published figures with their sources."""
    path = files("personafit.benchmarks.recentering") / "published_responses.json"
    body: dict[str, Any] = orjson.loads(path.read_bytes())
    return body


def published_results() -> Iterator[Result]:
    """Every published figure as a record."""
    body = published_figures()
    for row in body["judges"]:
        for metric in ("rating", "spearman", "mention_effect"):
            if metric in row:
                yield _quoted(metric, row[metric], row["source"], rater=row["model"])
    for row in body["generators"]:
        yield _quoted("rating", row["rating"], row["source"], system=row["model"])
        yield _quoted("mention_rate_items", row["mention_rate"], row["source"], system=row["model"])
    for metric in ("spearman", "kappa_weighted"):
        ceiling = body["ceiling"]
        yield _quoted(f"human_{metric}", ceiling[metric], ceiling["source"], rater="people")
    share = body["no_better_items"]
    yield _quoted("no_better_items", share["value"], share["source"], rater="people")
    against = body["mention_rate_against_effect"]
    yield _quoted("mention_rate_against_effect", against["value"], against["source"], n=against["n"])


def _quoted(
    metric: str, value: float, source: str, n: int = 0, rater: str | None = None, system: str | None = None
) -> Result:
    note = f"published, not measured here: {published_figures()['source']}, {source}"
    return Result.of(
        Estimate(value, None, None, n, 0),
        metric=metric,
        control=PUBLISHED,
        note=note,
        rater=rater,
        system=system,
    )
