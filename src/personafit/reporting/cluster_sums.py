"""Pages of scored items, added up by cluster: what a page leaves behind.

A page is in the order of one kind of cluster, so that a cluster is complete when the next one begins; then it goes into
the sums by cluster size (see `statistics.clusters`) and is let go.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from personafit.statistics.clusters import Clusters

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
Spread = tuple[float | None, float | None, float]
"""The least value, the greatest value and the sum of squares of one metric."""
SIZED = ("counts", "sums", "squares")


class ClusterSums:
    """Sums of every metric by rater, view, system and some slices; a cluster is closed when the next begins."""

    def __init__(
        self, names: tuple[str, ...], systems: tuple[str, ...], by: str, clusters: tuple[str, ...]
    ) -> None:
        self._names = names
        self._keys = ["rater", "view", *systems, *names]
        self._by = by
        self._clusters = clusters
        self._open: pl.DataFrame | None = None
        self._ranges: pl.DataFrame | None = None
        self._closed: dict[str, pl.DataFrame] = {}

    def add(self, scored: pl.DataFrame, last: str) -> None:
        """Add a page whose last cluster may go on in the next."""
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

    def rows(self, kind: str) -> dict[Key, dict[str, Clusters]]:
        """The clusters of one kind by key and metric, once every page was added."""
        if self._open is not None:
            self._close(self._open)
            self._open = None
        found: dict[Key, dict[str, Clusters]] = {}
        if kind not in self._closed:
            return found
        grouped = self._closed[kind].group_by(*self._keys, "metric").agg("sizes", *SIZED)
        for row in grouped.iter_rows(named=True):
            parts = (np.array(row[name], dtype=np.float64) for name in ("sizes", *SIZED))
            found.setdefault(self._key(row), {})[row["metric"]] = Clusters(*parts)
        return found

    def ranges(self) -> dict[Key, dict[str, Spread]]:
        """Least and greatest value and sum of squares, by key and metric."""
        if self._ranges is None:
            return {}
        return {
            self._key(row): {m: (row[f"{m}|low"], row[f"{m}|high"], row[f"{m}|squares"]) for m in METRICS}
            for row in self._ranges.iter_rows(named=True)
        }

    def _key(self, row: dict[str, str]) -> Key:
        system = (row["system"], row["given"]) if "system" in row else EVERY_SYSTEM
        return row["rater"], row["view"], system, tuple((name, row[name]) for name in self._names)

    def _close(self, finest: pl.DataFrame) -> None:
        for kind in kinds(self._clusters):
            frame = finest
            if kind == self._by and len(self._clusters) > 1:
                frame = finest.group_by(*self._keys, kind).agg(*_more_sums())
            sized = pl.concat([self._by_size(frame, metric) for metric in METRICS])
            if kind in self._closed:
                sized = pl.concat([self._closed[kind], sized])
                sized = sized.group_by(*self._keys, "metric", "sizes").agg(pl.col(*SIZED).sum())
            self._closed[kind] = sized

    def _by_size(self, frame: pl.DataFrame, metric: str) -> pl.DataFrame:
        s, n = pl.col(f"{metric}|s"), pl.col(f"{metric}|n")
        return (
            frame.filter(n > 0)
            .group_by(*self._keys, pl.lit(metric).alias("metric"), n.alias("sizes"))
            .agg(counts=pl.len().cast(pl.Float64), sums=s.sum(), squares=(s * s).sum())
        )


def _first_sums() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(metric).sum().cast(pl.Float64).alias(f"{metric}|s")
        yield pl.col(metric).count().cast(pl.Float64).alias(f"{metric}|n")


def _more_sums() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(f"{metric}|s", f"{metric}|n").sum()


def _first_ranges() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(metric).min().cast(pl.Float64).alias(f"{metric}|low")
        yield pl.col(metric).max().cast(pl.Float64).alias(f"{metric}|high")
        yield pl.col(metric).cast(pl.Float64).pow(2).sum().alias(f"{metric}|squares")


def _more_ranges() -> Iterator[pl.Expr]:
    for metric in METRICS:
        yield pl.col(f"{metric}|low").min()
        yield pl.col(f"{metric}|high").max()
        yield pl.col(f"{metric}|squares").sum()


def kinds(clusters: tuple[str, ...]) -> list[str]:
    """What can be closed: the clusters taken together, and the outer one by itself."""
    return list(dict.fromkeys(["+".join(clusters), clusters[0]]))
