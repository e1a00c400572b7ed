"""Compute results from lines, for every kind of run: value, interval, units, people, coverage and control of each metric by slice.

This is the only place that averages, subtracts and computes coverage. A kind declares its metrics (see `lines.Metric`), its slices, and
which lines are compared.

Means are computed from sums, so that memory does not grow with the run. Pages are frames with a row per unit and line. They are read in
the order of persons, and again in the order of prompts (a run of moderate size is kept in memory instead), so that a cluster is complete
when the next one begins; it is then added to the sums by cluster size (see `statistics.clusters`) and dropped. All columns of a page are
summed in one `group_by`. For metrics that cannot be computed from sums, the rows are kept.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from personafit.kinds.lines import Line, Metric, RunLines, paired_rows
from personafit.reports.result import Result, marked_met
from personafit.statistics import Estimate
from personafit.statistics.clusters import ClusteredSums, Clusters

LINE = ("line_rater", "line_context", "line_system", "line_system_context")
"""The columns that identify a line in a page: rater fingerprint and context, system and system context."""
PLACE = "line_place"
"""Column: a row's position in the source."""

Where = tuple[tuple[str, str], ...]
Layout = tuple[str, ...]
Key = tuple[tuple[Any, ...], Where]
Pages = Callable[[str], Iterable[pl.DataFrame]]
"""Pages by `person` or by `prompt`: the columns of LINE, PLACE, person, prompt, asked, answered, slices, figures."""
SIZED = ("counts", "sums", "squares")
IN_DATA = ("published votes", "votes in the data")
"""Controls whose judgments came with the data: no asks were made for them, so they are left out of coverage."""


# -- sums --------------------------------------------------------------------------------------------------------------


class AddedUp:
    """The sums of every line by slice, and the rows kept for metrics that are not means."""

    def __init__(self) -> None:
        self._sums: dict[Key, dict[str, ClusteredSums]] = {}
        self._places: dict[Key, int] = {}
        self._held: list[pl.DataFrame] = []
        self._rows = cache(self._rows_of)

    def of(self, line: Line, column: str, where: Where = ()) -> ClusteredSums:
        """Return the sums of one column of a line."""
        return self._sums.get((line.key, where), {}).get(column, ClusteredSums())

    def lines(self) -> list[tuple[Any, ...]]:
        """Return the keys of the lines that occur, in the order of the source."""
        found = {key: place for (key, where), place in self._places.items() if not where}
        return sorted(found, key=lambda key: found[key])

    def wheres(self, layout: Layout, line: Line | None = None) -> list[Where]:
        """Return the combinations of values of these slices that occur, in the order of the source, for one line or all."""
        key = None if line is None else line.key
        places: dict[Where, int] = {}
        for (one, where), place in self._places.items():
            if key in (None, one) and _names(where) == layout:
                places[where] = min(place, places.get(where, place))
        return sorted(places, key=lambda where: places[where])

    def held(self, line: Line, where: Where, columns: Sequence[str]) -> pl.DataFrame:
        """Return the kept rows of a line in a slice that have all of these columns."""
        key = *line.key, *(value for _, value in where)
        return self._rows(_names(where), tuple(columns)).get(key, pl.DataFrame())

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
        """Set the sums from both orders of reading; without recurring prompts, each person and prompt is a prompt cluster."""
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


def add_lines_up(opened: RunLines, pages: Pages, recurs: bool = True, again: bool = False) -> AddedUp:
    """Sum up the columns that a run's metrics need, by line and slice, and keep the rows of columns that metrics hold.

    Where prompts recur, the pages are read once more in the order of prompts if `again`, or else kept until then.
    """
    layouts, lifts = _layouts(opened), [metric for metric in opened.metrics if metric.over is not None]
    names = [*LINE, *sorted({name for layout in layouts for name in layout})]
    means = [metric.source for metric in opened.metrics if metric.estimate is None and metric.over is None]
    means += [name for metric in lifts for name in over_columns(metric)]
    means += ["asked", *(metric.answered for metric in opened.metrics if metric.answered)]
    columns = list(dict.fromkeys(means))
    held = dict.fromkeys(name for metric in opened.metrics for name in metric.holds)
    added = AddedUp()

    def read(by: str) -> Iterator[pl.DataFrame]:
        for page in pages(by):
            if page.is_empty():
                continue
            for metric in lifts:
                page = with_over(page, metric)
            # Grouping by numbers and categories is faster than by strings.
            coded = page.select(
                PLACE,
                pl.col("person", "prompt").hash(),
                *(_present(page, name, pl.Categorical) for name in names),
                *(_present(page, name, pl.Float64) for name in columns),
            )
            if by == "person" and held:
                kept = [pl.col(name) for name in held if name in page.columns]
                known = pl.any_horizontal(one.is_not_null() for one in kept)
                rows = coded.select("person", "prompt", *names).with_columns(page.select(kept))
                added.hold(rows.filter(known))
            yield coded

    by_person = [ClusterSums(layout, columns, ("person", "prompt")) for layout in layouts]
    by_prompt = [ClusterSums(layout, columns, ("prompt",)) for layout in layouts] if recurs else None
    waiting: list[pl.DataFrame] = []
    for page in read("person"):
        for part in by_person:
            part.add(page)
        if recurs and not again:
            waiting.append(page)
    if by_prompt is not None:
        for page in read("prompt") if again else [pl.concat(waiting)] if waiting else []:
            for part in by_prompt:
                part.add(page)
    added.add(by_person, by_prompt)
    return added


def _layouts(opened: RunLines) -> list[Layout]:
    special = [layout for metric in opened.metrics for layout in metric.by or ()]
    special += [_names(metric.where) for metric in opened.metrics]
    return list(dict.fromkeys([(), *opened.layouts, *special]))


def _names(where: Where) -> Layout:
    return tuple(name for name, _ in where)


def _present(page: pl.DataFrame, name: str, kind: type[pl.DataType]) -> pl.Expr:
    """Return a column of a page, or null if the page lacks it."""
    return (pl.col(name) if name in page.columns else pl.lit(None)).cast(kind).alias(name)


def lines_page(lines: Sequence[Line], columns: Iterable[str]) -> pl.DataFrame:
    """Concatenate the frames of lines into one page, with the wanted columns they have."""
    wanted = list(dict.fromkeys(["unit", "person", "prompt", *columns]))
    frames = [
        line.frame.select(name for name in wanted if name in line.frame.columns).with_columns(
            pl.lit(value, pl.String).alias(name) for name, value in zip(LINE, line.key, strict=True)
        )
        for line in lines
    ]
    return pl.concat(frames, how="diagonal_relaxed").with_row_index(PLACE) if frames else pl.DataFrame()


def over_columns(metric: Metric) -> tuple[str, str]:
    """Return the names of the columns with a unit's gain over the same unit without a person, and over the one with a wrong person."""
    return f"{metric.source}|over none", f"{metric.source}|over wrong"


def with_over(page: pl.DataFrame, metric: Metric) -> pl.DataFrame:
    """Add the columns whose mean is a lift."""
    context = LINE[1] if metric.over == "context" else LINE[3]
    keys = [*(name for name in LINE if name != context), "unit"]
    bare = page.select(*keys, context, pl.col(metric.source).alias("other"))
    if bare.select(*keys, context).n_unique() < len(bare):  # a unit with several rows is paired by its mean
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
    """Sums of columns by line and slice, read in the order of the first cluster column: a cluster is closed when the next begins."""

    def __init__(self, names: Layout, columns: Sequence[str], clusters: tuple[str, ...]) -> None:
        self._names = names
        self._keys = [*LINE, *names]
        self._columns = columns
        self._by = clusters[0]
        self._clusters = clusters
        self._open: pl.DataFrame | None = None
        self._ranges: pl.DataFrame | None = None
        self._closed: dict[str, pl.DataFrame] = {}

    def add(self, page: pl.DataFrame) -> None:
        """Add a page; its last cluster may continue in the next page."""
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
        """Return the clusters of one kind by key and column, after all pages were added."""
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
        """Return, by key, the first position and, by column, the minimum, maximum and sum of squares."""
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
        return tuple(row[name] for name in LINE), tuple((name, row[name]) for name in self._names)

    def _close(self, finest: pl.DataFrame) -> None:
        for kind in dict.fromkeys(["+".join(self._clusters), self._by]):
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


# -- results -----------------------------------------------------------------------------------------------------------


def results_of(opened: RunLines, added: AddedUp | None = None) -> list[Result]:
    """Compute every metric of every line, overall and by slice.

    `added` are the sums of a run that was read page by page (see `add_lines_up`); without them the lines' own frames are added up.
    """
    if added is None:
        page = lines_page(opened.lines, _wanted(opened))
        added = add_lines_up(opened, lambda by: [page])
    return marked_met(opened.run, [one for line in opened.lines for one in _of_line(opened, line, added)])


def _wanted(opened: RunLines) -> list[str]:
    """Return the columns of the lines' frames that results need."""
    wanted = ["asked", *(name for layout in _layouts(opened) for name in layout)]
    for metric in opened.metrics:
        wanted += [metric.source, metric.answered, *metric.holds]
    return wanted


def _of_line(opened: RunLines, line: Line, added: AddedUp) -> Iterator[Result]:
    metrics = [metric for metric in opened.metrics if metric.applies(line)]
    usual = [(), *opened.layouts]
    for layout in _layouts(opened):
        here = [one for one in metrics if not one.where and layout in (usual if one.by is None else one.by)]
        for where in (added.wheres(layout, line) if layout else [()]) if here else []:
            for metric in here:
                found = _estimate(opened, line, metric, added, where)
                if found.value is not None or not metric.optional:
                    yield _result(line, metric, where, found, added)
    for metric in metrics:
        if metric.where:
            where = metric.where if added.wheres(_names(metric.where)) else ()
            found = _estimate(opened, line, metric, added, where) if where else NOTHING
            yield _result(line, replace(metric, empty="" if where else metric.empty), where, found, added)


NOTHING = Estimate(None, None, None, 0, 0, "no item has an answer")


def _estimate(opened: RunLines, line: Line, metric: Metric, added: AddedUp, where: Where) -> Estimate:
    """Estimate a metric in a slice: from the sums of its columns or, if it is not a mean, from the kept rows."""
    if metric.over is not None:
        return _lift(opened, line, metric, added, where)
    if metric.estimate is None:
        return metric.of_sums(added.of(line, metric.source, where))
    rows = added.held(line, where, metric.holds)
    return metric.estimate(rows) if len(rows) else NOTHING


def _lift(opened: RunLines, line: Line, metric: Metric, added: AddedUp, where: Where) -> Estimate:
    """Estimate the difference from the larger of two controls, paired by unit."""
    context = str(metric.over)
    controls = ("none", f"wrong:{getattr(line, context)}")
    present = {getattr(one, context) for one in opened.lines if _same_but(context, one, line)}
    if missing := [name for name in controls if name not in present]:
        option = context.replace("_", "-")
        return replace(NOTHING, note=f"lift needs {' and '.join(f'--{option} {name}' for name in missing)}")
    sums = [added.of(line, name, where) for name in over_columns(metric)]
    over = dict(zip(controls, sums, strict=True))
    if not all(one.people.count for one in over.values()):
        return replace(NOTHING, note="lift needs answers under both control contexts")
    larger = min(
        over, key=lambda name: over[name].people.mean
    )  # the larger control leaves the smaller difference
    found = over[larger].estimate(metric.difference_bounds)
    return replace(found, note=_joined(found.note, f"over {larger}, the larger of the two controls"))


def _same_but(context: str, one: Line, other: Line) -> bool:
    same = {"fingerprint", "context", "system", "system_context"} - {context}
    return all(getattr(one, name) == getattr(other, name) for name in same)


def _result(line: Line, metric: Metric, where: Where, found: Estimate, added: AddedUp) -> Result:
    asked = added.of(line, "asked", where)
    coverage = None
    if metric.answered:
        coverage = share_of(added.of(line, metric.answered, where).people.total, asked.people.total)
    return record(line, metric, where, found, coverage, asked.prompts_recur)


def record(
    line: Line, metric: Metric, where: Where, found: Estimate, coverage: float | None, recurs: bool
) -> Result:
    """Return the result for an estimate; slices called `system` and `system_context` replace the line's system and system context."""
    slices = dict((*where, *metric.under))
    system, system_context = (
        slices.pop("system", line.system),
        slices.pop("system_context", line.system_context),
    )
    note = metric.empty if metric.empty and found.value is None and not found.n else found.note
    said = [note, metric.note if found.value is not None else None]
    said += line.notes if metric.noted else ()
    said += [metric.how] if found.low is not None and recurs else []
    whose = replace(line, system=system or None, system_context=system_context or None)
    made = line_result(whose, replace(found, note=_joined(*said)), metric.name, slices, coverage)
    return replace(made, better=metric.better)


def line_result(
    line: Line,
    found: Estimate,
    metric: str,
    slices: dict[str, str] | None = None,
    coverage: float | None = None,
    note: str | None = None,
) -> Result:
    """Return the result for an estimate of a line; `note` replaces the estimate's own note."""
    return Result.of(
        found,
        rater=line.rater,
        system=line.system,
        system_context=line.system_context,
        context=line.context,
        metric=metric,
        slice=slices,
        coverage=coverage,
        control=line.control,
        fingerprint=line.fingerprint,
        note=note,
    )


def _joined(*notes: str | None) -> str | None:
    return "; ".join(filter(None, notes)) or None


def differences_of(
    opened: RunLines,
    pairs: Iterable[tuple[Line, Line, str]],
    suffix: str = "difference",
    slices: Sequence[Layout] = ((),),
    covered: Callable[[Line], float | None] | None = None,
) -> list[Result]:
    """Return the differences of pairs of lines, paired by unit, for every compared metric; each pair comes with the second line's name.

    The coverage is that of the first line unless `covered` says otherwise. Smooth metrics that are not means are compared by each
    unit's influence on them.
    """
    found = []
    for first, second, name in pairs:
        clusters = first.frame.select("person", "prompt")
        recurs = clusters["prompt"].n_unique() < clusters.n_unique()
        for metric in opened.metrics:
            if metric.compared and metric.applies(first) and metric.applies(second):
                gaps = paired_rows(first, second, metric).with_columns(pl.col("person", "prompt").hash())
                coverage = line_coverage(first.frame, metric) if covered is None else covered(first)
                told = (
                    f"{first.system_context} minus {second.system_context}"
                    if first.system_context != second.system_context
                    else ""
                )
                named = replace(metric, name=f"{metric.name}_{suffix}", empty="", note=told)
                for where, part in _parts(gaps, slices):
                    gap = metric.difference(part)
                    found.append(record(first, named, (("against", name), *where), gap, coverage, recurs))
    return marked_met(opened.run, found)


def context_pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Pair each system context with none, and each right person's with the wrong person's, for `differences_of`."""
    here = {(line.system, line.system_context, line.fingerprint, line.context): line for line in lines}
    for line in lines:
        system_context = str(line.system_context)
        wrong = [] if system_context.startswith("wrong:") else [f"wrong:{system_context}"]
        for base in ("none", *wrong):
            other = here.get((line.system, base, line.fingerprint, line.context))
            if other is not None and base != system_context:
                yield line, other, base


def _parts(rows: pl.DataFrame, slices: Sequence[Layout]) -> Iterator[tuple[Where, pl.DataFrame]]:
    for layout in slices:
        parts = rows.partition_by(layout, as_dict=True, maintain_order=True) if layout else {(): rows}
        for values, part in parts.items():
            yield tuple(zip(layout, map(str, values), strict=True)), part


def line_coverage(frame: pl.DataFrame, metric: Metric | None = None) -> float | None:
    """Return the share of asks that were answered."""
    column = "answered" if metric is None else metric.answered
    return share_of(int(frame[column].sum()), int(frame["asked"].sum())) if column else None


def share_of(answered: float, asked: float) -> float | None:
    """Return the share of asks that were answered; None if nothing was asked."""
    return answered / asked if asked else None


def worst_coverage(shares: Iterable[tuple[str, float | None, bool]]) -> tuple[str, float] | None:
    """Return the lowest coverage and its name, among lines asked for if there are any, so that controls do not hide a failing judge.

    `shares` are name, coverage, and whether the line was asked for.
    """
    known = [(name, share, asked_for) for name, share, asked_for in shares if share is not None]
    least = [one for one in known if one[2]] or known
    return min(((name, share) for name, share, _ in least), key=lambda one: one[1], default=None)


def line_shares(lines: Iterable[Line]) -> Iterator[tuple[str, float | None, bool]]:
    """Yield the coverage of each line whose rater was asked in this run, as input of `worst_coverage`."""
    for line in lines:
        if line.control not in IN_DATA:
            yield line.name, line_coverage(line.frame), line.asked_for
