"""Lines added up: what every mean of a run is computed from, whatever the number of units.

Pages are frames with a row per unit and line. They come in the order of persons, and once more in the order of prompts (a run of
moderate size is kept for that instead of being read again), so that a cluster is complete when the next one begins; then it goes into the
sums by cluster size (see `statistics.clusters`) and is let go. All columns of a page are added up in one `group_by`. Figures that no
sums can give have their columns held.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from personafit.kinds.lines import Line, Metric
from personafit.statistics.clusters import ClusteredSums, Clusters

LINE = ("line_rater", "line_view", "line_system", "line_given")
"""What tells the lines of a page apart: fingerprint and context of the rater, name and context of the system."""
PLACE = "line_place"
"""A row's place in the source."""

Where = tuple[tuple[str, str], ...]
Layout = tuple[str, ...]
Key = tuple[tuple[Any, ...], Where]
Pages = Callable[[str], Iterable[pl.DataFrame]]
"""Pages by `person` or by `prompt`: the columns of LINE, PLACE, person, prompt, asked, answered, slices, figures."""
SIZED = ("counts", "sums", "squares")


class AddedUp:
    """The sums of every line by slice, and the rows that are held."""

    def __init__(self) -> None:
        self._sums: dict[Key, dict[str, ClusteredSums]] = {}
        self._places: dict[Key, int] = {}
        self._held: list[pl.DataFrame] = []
        self._rows = cache(self._rows_of)

    def of(self, line: Line, column: str, where: Where = ()) -> ClusteredSums:
        """One column of a line, added up."""
        return self.sums(line.key, column, where)

    def sums(self, key: tuple[Any, ...], column: str, where: Where = ()) -> ClusteredSums:
        """One column, added up under a key of its own."""
        return self._sums.get((key, where), {}).get(column, ClusteredSums())

    def lines(self) -> list[tuple[Any, ...]]:
        """The lines that occur, in the order of the source."""
        found = {key: place for (key, where), place in self._places.items() if not where}
        return sorted((key for key in found if len(key) == len(LINE)), key=lambda key: found[key])

    def wheres(self, layout: Layout, line: Line | None = None) -> list[Where]:
        """The values that occur together under these names, in the order of the source: of a line, or of any."""
        key = None if line is None else line.key
        places: dict[Where, int] = {}
        for (one, where), place in self._places.items():
            if key in (None, one) and tuple(name for name, _ in where) == layout:
                places[where] = min(place, places.get(where, place))
        return sorted(places, key=lambda where: places[where])

    def held(self, line: Line, where: Where, columns: Sequence[str]) -> pl.DataFrame:
        """The rows of a line in a slice that have all of these columns."""
        key = *line.key, *(value for _, value in where)
        return self._rows(tuple(name for name, _ in where), tuple(columns)).get(key, pl.DataFrame())

    def hold(self, rows: pl.DataFrame) -> None:
        """Keep rows of a page."""
        self._held.append(rows)

    def _rows_of(self, layout: Layout, columns: tuple[str, ...]) -> dict[tuple[Any, ...], pl.DataFrame]:
        if not self._held:
            return {}
        rows = pl.concat(self._held, how="diagonal_relaxed").drop_nulls([*layout, *columns])
        keys = [*LINE, *layout]
        return rows.select(*keys, "person", "prompt", *columns).partition_by(
            keys, as_dict=True, include_key=False
        )

    def add(self, by_person: "list[ClusterSums]", by_prompt: "list[ClusterSums] | None") -> None:
        """Both orders side by side; where no prompt recurs, a prompt is a person and prompt."""
        for place, part in enumerate(by_person):
            people, pairs = part.rows("person"), part.rows("person+prompt")
            prompts = pairs if by_prompt is None else by_prompt[place].rows("prompt")
            for key, (first, ranges) in part.ranges().items():
                self._places[key] = first
                self._sums[key] = {
                    column: ClusteredSums(found, prompts[key][column], pairs[key][column], squares, low, high)
                    for column, found in people.get(key, {}).items()
                    for low, high, squares in [ranges[column]]
                }


def add_up(
    pages: Pages,
    columns: Sequence[str],
    layouts: Sequence[Layout],
    *,
    held: Sequence[str] = (),
    also: Sequence[tuple[str, ...]] = (),
    recurs: bool = True,
    again: bool = False,
) -> AddedUp:
    """Read the pages and add their columns up by line and slice; `held` columns are kept, `also` names other keys to add up by.

    Where prompts recur, the pages are read once more in the order of prompts if `again`, or else kept until then.
    """
    added = AddedUp()
    names = {name for layout in layouts for name in layout}
    parts: list[tuple[tuple[str, ...], Layout]] = [(LINE, layout) for layout in dict.fromkeys([(), *layouts])]
    parts += [(keys, ()) for keys in also]

    def empty(by: str, clusters: tuple[str, ...]) -> list[ClusterSums]:
        return [ClusterSums(keys, layout, columns, by, clusters) for keys, layout in parts]

    def read(by: str) -> Iterator[pl.DataFrame]:
        told_apart = list(dict.fromkeys([*LINE, *(key for keys in also for key in keys), *sorted(names)]))
        for page in pages(by):
            if page.is_empty():
                continue
            # Grouping by numbers and categories is faster than by texts.
            coded = page.select(
                PLACE,
                pl.col("person", "prompt").hash(),
                *(_present(page, name, pl.Categorical) for name in told_apart),
                *(_present(page, name, pl.Float64) for name in columns),
            )
            if by == "person" and held:
                kept = [pl.col(name) for name in dict.fromkeys(held) if name in page.columns]
                known = pl.any_horizontal(one.is_not_null() for one in kept)
                rows = coded.select("person", "prompt", *told_apart).with_columns(page.select(kept))
                added.hold(rows.filter(known))
            yield coded

    by_person, by_prompt = empty("person", ("person", "prompt")), None
    kept: list[pl.DataFrame] = []
    for page in read("person"):
        for part in by_person:
            part.add(page)
        if recurs and not again:
            kept.append(page)
    if recurs:
        by_prompt = empty("prompt", ("prompt",))
        for page in read("prompt") if again else [pl.concat(kept)] if kept else []:
            for part in by_prompt:
                part.add(page)
    added.add(by_person, by_prompt)
    return added


def _present(page: pl.DataFrame, name: str, kind: type[pl.DataType]) -> pl.Expr:
    """A column of a page, or nothing where it lacks it."""
    return (pl.col(name) if name in page.columns else pl.lit(None)).cast(kind).alias(name)


def lines_page(lines: Sequence[Line], columns: Iterable[str]) -> pl.DataFrame:
    """The frames of lines as one page, with the columns of theirs that are wanted."""
    wanted = list(dict.fromkeys(["unit", "person", "prompt", *columns]))
    frames = [
        line.frame.select(name for name in wanted if name in line.frame.columns).with_columns(
            pl.lit(value, pl.String).alias(name) for name, value in zip(LINE, line.key, strict=True)
        )
        for line in lines
    ]
    return pl.concat(frames, how="diagonal_relaxed").with_row_index(PLACE) if frames else pl.DataFrame()


def over_columns(metric: Metric) -> tuple[str, str]:
    """The columns with what a unit has over the same unit without the person, and over the same with somebody else."""
    return f"{metric.source}|over none", f"{metric.source}|over wrong"


def with_over(page: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """The page with the columns that a lift is the mean of."""
    context = LINE[1] if metric.over == "view" else LINE[3]
    keys = [*(name for name in LINE if name != context), "unit"]
    bare = page.select(*keys, context, pl.col(metric.source).alias("other"))
    if bare.select(*keys, context).n_unique() < len(bare):  # a unit in several rows is paired by its mean
        bare = bare.group_by(*keys, context).agg(pl.col("other").mean())
    none = bare.filter(pl.col(context) == "none").drop(context)
    wrong = bare.filter(pl.col(context).str.starts_with("wrong:")).with_columns(
        pl.col(context).str.strip_prefix("wrong:")
    )
    for name, found, on in zip(over_columns(metric), (none, wrong), (keys, [*keys, context]), strict=True):
        page = page.join(found, on=on, how="left", nulls_equal=True, maintain_order="left")
        page = page.with_columns((pl.col(metric.source) - pl.col("other")).alias(name)).drop("other")
    return page


class ClusterSums:
    """Sums of columns by some keys and slices; a cluster is closed when the next begins."""

    def __init__(
        self,
        keys: tuple[str, ...],
        names: Layout,
        columns: Sequence[str],
        by: str,
        clusters: tuple[str, ...],
    ) -> None:
        self._line = keys
        self._names = names
        self._keys = [*keys, *names]
        self._columns = columns
        self._by = by
        self._clusters = clusters
        self._open: pl.DataFrame | None = None
        self._ranges: pl.DataFrame | None = None
        self._closed: dict[str, pl.DataFrame] = {}

    def add(self, page: pl.DataFrame) -> None:
        """Add a page whose last cluster may go on in the next."""
        rows = page.drop_nulls(self._names) if self._names else page
        ranges = rows.group_by(self._keys).agg(pl.col(PLACE).min(), *self._first_ranges())
        if self._ranges is not None:
            ranges = pl.concat([self._ranges, ranges]).group_by(self._keys).agg(*self._more_ranges())
        self._ranges = ranges
        finest = rows.group_by(*self._keys, *self._clusters).agg(*self._first_sums())
        if self._open is not None:
            finest = (
                pl.concat([self._open, finest]).group_by(*self._keys, *self._clusters).agg(self._more_sums())
            )
        going_on = pl.col(self._by) == page[self._by][-1]
        self._open = finest.filter(going_on)
        self._close(finest.filter(~going_on))

    def rows(self, kind: str) -> dict[Key, dict[str, Clusters]]:
        """The clusters of one kind by key and column, once every page was added."""
        if self._open is not None:
            self._close(self._open)
            self._open = None
        found: dict[Key, dict[str, Clusters]] = {}
        if kind not in self._closed:
            return found
        grouped = self._closed[kind].group_by(*self._keys, "column").agg("sizes", *SIZED)
        for row in grouped.iter_rows(named=True):
            parts = (np.array(row[name], dtype=np.float64) for name in ("sizes", *SIZED))
            found.setdefault(self._key(row), {})[row["column"]] = Clusters(*parts)
        return found

    def ranges(self) -> dict[Key, tuple[int, dict[str, tuple[float | None, float | None, float]]]]:
        """By key the first place, and by column the least value, the greatest and the sum of squares."""
        if self._ranges is None:
            return {}
        return {
            self._key(row): (
                row[PLACE],
                {
                    name: (row[f"{name}|low"], row[f"{name}|high"], row[f"{name}|squares"])
                    for name in self._columns
                },
            )
            for row in self._ranges.iter_rows(named=True)
        }

    def _key(self, row: dict[str, Any]) -> Key:
        return tuple(row[name] for name in self._line), tuple((name, row[name]) for name in self._names)

    def _close(self, finest: pl.DataFrame) -> None:
        for kind in dict.fromkeys(["+".join(self._clusters), self._clusters[0]]):
            frame = finest
            if kind == self._by and len(self._clusters) > 1:
                frame = finest.group_by(*self._keys, kind).agg(self._more_sums())
            sized = self._by_size(frame)
            if kind in self._closed:
                sized = pl.concat([self._closed[kind], sized])
                sized = sized.group_by(*self._keys, "column", "sizes").agg(pl.col(*SIZED).sum())
            self._closed[kind] = sized

    def _by_size(self, frame: pl.DataFrame) -> pl.DataFrame:
        long = pl.concat(
            frame.lazy().select(
                *self._keys,
                pl.lit(name).alias("column"),
                pl.col(f"{name}|n").alias("sizes"),
                pl.col(f"{name}|s").alias("sums"),
            )
            for name in self._columns
        )
        sums = pl.col("sums")
        grouped = long.filter(pl.col("sizes") > 0).group_by(*self._keys, "column", "sizes")
        return grouped.agg(
            counts=pl.len().cast(pl.Float64), sums=sums.sum(), squares=(sums * sums).sum()
        ).collect()

    def _first_sums(self) -> Iterator[pl.Expr]:
        yield pl.col(self._columns).sum().name.suffix("|s")
        yield pl.col(self._columns).count().cast(pl.Float64).name.suffix("|n")

    def _more_sums(self) -> pl.Expr:
        return pl.col([f"{name}|{what}" for what in "sn" for name in self._columns]).sum()

    def _first_ranges(self) -> Iterator[pl.Expr]:
        yield pl.col(self._columns).min().name.suffix("|low")
        yield pl.col(self._columns).max().name.suffix("|high")
        yield pl.col(self._columns).pow(2).sum().name.suffix("|squares")

    def _more_ranges(self) -> Iterator[pl.Expr]:
        yield pl.col(PLACE).min()
        yield pl.col([f"{name}|low" for name in self._columns]).min()
        yield pl.col([f"{name}|high" for name in self._columns]).max()
        yield pl.col([f"{name}|squares" for name in self._columns]).sum()
