"""Pages of scored items, added up by cluster: what a page leaves behind.

A page is in the order of one kind of cluster, so that a cluster is complete when the next one begins; then it goes into
the moments (see `statistics.moments`) and is let go.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from personafit.statistics.moments import PARTS

SYSTEM = ("system", "given")
METRICS = (
    "accuracy",
    "debiased",
    "consistent",
    "first",
    "kept",
    "over_none",
    "over_wrong",
    "answered",
    "all",
)

Where = tuple[tuple[str, str], ...]
System = tuple[str | None, str | None]
EVERY_SYSTEM: System = ("", "")
"""For sums over the answers of all systems together: a person is one cluster whoever answered."""


Key = tuple[str, str, System, Where]
Sums = dict[str, dict[Key, dict[str, Any]]]


class ClusterSums:
    """The moments of every metric by rater, view, system and some slices; a cluster is closed when the next begins."""

    def __init__(
        self, names: tuple[str, ...], systems: tuple[str, ...], by: str, clusters: tuple[str, ...]
    ) -> None:
        self._names = names
        self._keys = ["rater", "view", *systems, *names]
        self._by = by
        self._clusters = clusters
        self._open: pl.DataFrame | None = None
        self._ranges: pl.DataFrame | None = None
        """The least and the greatest value of each metric."""
        self._closed: dict[str, pl.DataFrame] = {}

    def add(self, scored: pl.DataFrame, last: str) -> None:
        """Take in a page whose last cluster may go on in the next."""
        rows = scored.drop_nulls(self._names) if self._names else scored
        ranges = rows.group_by(self._keys).agg(*_first_ranges())
        if self._ranges is not None:
            ranges = pl.concat([self._ranges, ranges]).group_by(self._keys).agg(*_more_ranges())
        self._ranges = ranges
        finest = rows.group_by(*self._keys, *self._clusters).agg(*_first_sums())
        if self._open is not None:
            finest = pl.concat([self._open, finest]).group_by(*self._keys, *self._clusters).agg(*_more_sums())
        going_on = pl.col(self._by) == last
        self._open = finest.filter(going_on)
        self._close(finest.filter(~going_on))

    def rows(self, kind: str) -> Iterator[tuple[Key, dict[str, Any]]]:
        """The moments over one kind of cluster, once everything was taken in."""
        if self._open is not None:
            self._close(self._open)
            self._open = None
        if self._ranges is None or kind not in self._closed:
            return
        whole = self._closed[kind].join(self._ranges, on=self._keys, nulls_equal=True)
        for row in whole.iter_rows(named=True):
            system = (row["system"], row["given"]) if "system" in row else EVERY_SYSTEM
            where = tuple((name, row[name]) for name in self._names)
            yield (row["rater"], row["view"], system, where), row

    def _close(self, finest: pl.DataFrame) -> None:
        for kind in kinds(self._clusters):
            frame = finest
            if kind == self._by and len(self._clusters) > 1:
                frame = finest.group_by(*self._keys, kind).agg(*_more_sums())
            moments = frame.group_by(self._keys).agg(*_moments())
            if kind in self._closed:
                moments = pl.concat([self._closed[kind], moments]).group_by(self._keys).agg(*_more_moments())
            self._closed[kind] = moments


def _first_sums() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(metric).sum().alias(f"{metric}|s")
        yield pl.col(metric).count().cast(pl.Float64).alias(f"{metric}|n")


def _more_sums() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(f"{metric}|s", f"{metric}|n").sum()


def _first_ranges() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(metric).min().alias(f"{metric}|low")
        yield pl.col(metric).max().alias(f"{metric}|high")


def _more_ranges() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(f"{metric}|low").min()
        yield pl.col(f"{metric}|high").max()


def _moments() -> Iterator[pl.Expr]:
    for metric in METRICS:
        s, n = pl.col(f"{metric}|s"), pl.col(f"{metric}|n")
        parts = ((n > 0).sum().cast(pl.Int64), n.sum(), s.sum(), (s * s).sum(), (s * n).sum(), (n * n).sum())
        for part, value in zip(PARTS, parts, strict=True):
            yield value.alias(f"{metric}|{part}")


def _more_moments() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(*(f"{metric}|{part}" for part in PARTS)).sum()


def kinds(clusters: tuple[str, ...]) -> list[str]:
    """What can be closed: the clusters taken together, and the outer one by itself."""
    return list(dict.fromkeys(["+".join(clusters), clusters[0]]))
