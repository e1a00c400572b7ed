"""From lines to flat records, for every kind of run: value, interval, units, people, coverage and control of each metric by slice.

This is the one place that averages, subtracts and counts coverage. A kind declares its metrics (see `lines.Metric`), its slices, and
which lines are held against which.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import polars as pl

from personafit.kinds.lines import Line, Metric, RunLines, paired_rows
from personafit.reports.line_sums import (
    AddedUp,
    Layout,
    Pages,
    Where,
    add_up,
    lines_page,
    over_columns,
    with_over,
)
from personafit.reports.result import Result, marked_met
from personafit.statistics import Estimate, mean_by_item

IN_DATA = ("published votes", "votes in the data")
"""Controls whose judgments came with the data: nobody was asked for them, so that nobody can have failed to answer."""


def results_of(opened: RunLines, added: AddedUp | None = None) -> list[Result]:
    """Every metric of every line, over everything and by slice.

    `added` are the sums of a run that was read page by page (see `add_lines_up`); without them the lines' own frames are added up.
    """
    if added is None:
        page = lines_page(opened.lines, _wanted(opened))
        added = add_lines_up(opened, lambda by: [page])
    return marked_met(opened.run, [one for line in opened.lines for one in _of_line(opened, line, added)])


def add_lines_up(
    opened: RunLines,
    pages: Pages,
    also: Sequence[tuple[str, ...]] = (),
    recurs: bool = True,
    again: bool = False,
) -> AddedUp:
    """The sums that the metrics of a run need, from pages of its lines; for the others see `add_up`."""
    lifts = [metric for metric in opened.metrics if metric.over is not None]

    def lifted(by: str) -> Iterator[pl.DataFrame]:
        for page in pages(by):
            for metric in lifts:
                page = with_over(page, metric) if len(page) else page
            yield page

    columns = [metric.source for metric in opened.metrics if metric.estimate is None and metric.over is None]
    columns += [name for metric in lifts for name in over_columns(metric)]
    columns += ["asked", *(metric.answered for metric in opened.metrics if metric.answered)]
    held = [name for metric in opened.metrics for name in metric.holds]
    return add_up(
        lifted,
        list(dict.fromkeys(columns)),
        _layouts(opened),
        held=held,
        also=also,
        recurs=recurs,
        again=again,
    )


def _wanted(opened: RunLines) -> list[str]:
    """The columns of the lines' frames that results are made of."""
    wanted = ["asked", *(name for layout in _layouts(opened) for name in layout)]
    for metric in opened.metrics:
        wanted += [metric.source, metric.answered, *metric.holds]
    return wanted


def _layouts(opened: RunLines) -> list[Layout]:
    special = [layout for metric in opened.metrics for layout in metric.by or ()]
    special += [_names(metric.where) for metric in opened.metrics]
    return list(dict.fromkeys([(), *opened.layouts, *special]))


def _names(where: Where) -> Layout:
    return tuple(name for name, _ in where)


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
    """A metric in a slice: from the sums of its columns, or, where it is no mean, from the rows that are held."""
    if metric.over is not None:
        return _lift(opened, line, metric, added, where)
    if metric.estimate is None:
        return metric.of_sums(added.of(line, metric.source, where))
    rows = added.held(line, where, metric.holds)
    return metric.estimate(rows) if len(rows) else NOTHING


def _lift(opened: RunLines, line: Line, metric: Metric, added: AddedUp, where: Where) -> Estimate:
    """What is left over the larger of two controls, paired by unit."""
    context = str(metric.over)
    controls = ("none", f"wrong:{getattr(line, context)}")
    present = {getattr(one, context) for one in opened.lines if _same_but(context, one, line)}
    if missing := [name for name in controls if name not in present]:
        option = {"view": "context", "given": "system-context"}[context]
        return replace(NOTHING, note=f"lift needs {' and '.join(f'--{option} {name}' for name in missing)}")
    sums = [added.of(line, name, where) for name in over_columns(metric)]
    over = dict(zip(controls, sums, strict=True))
    if not all(one.people.count for one in over.values()):
        return replace(NOTHING, note="lift needs answers under both control contexts")
    larger = min(over, key=lambda name: over[name].people.mean)  # less is left over the larger control
    found = over[larger].estimate(metric.difference_bounds)
    return replace(found, note=_joined(found.note, f"over {larger}, the larger of the two controls"))


def _same_but(context: str, one: Line, other: Line) -> bool:
    same = {"fingerprint", "view", "system", "given"} - {context}
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
    """The flat record of a figure; slices called `system` and `given` say whose products they are of."""
    slices = dict((*where, *metric.under))
    system, given = slices.pop("system", line.system), slices.pop("given", line.given)
    note = metric.empty if metric.empty and found.value is None and not found.n else found.note
    said = [note, metric.note if found.value is not None else None]
    said += line.notes if metric.noted else ()
    said += [metric.how] if found.low is not None and recurs else []
    whose = replace(line, system=system or None, given=given or None)
    return line_result(whose, replace(found, note=_joined(*said)), metric.name, slices, coverage)


def line_result(
    line: Line,
    found: Estimate,
    metric: str,
    slices: dict[str, str] | None = None,
    coverage: float | None = None,
    note: str | None = None,
) -> Result:
    """The flat record of a figure of a line; the estimate's own note stands unless another is given."""
    return Result.of(
        found,
        rater=line.rater,
        system=line.system,
        given=line.given,
        view=line.view,
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
    """What one line has over another, paired by unit, for every metric that is compared; each pair comes with the other's name.

    The coverage is that of the first line unless `covered` says otherwise. Smooth figures that are no means are compared by what
    each unit does to them.
    """
    found = []
    for first, second, name in pairs:
        clusters = first.frame.select("person", "prompt")
        recurs = clusters["prompt"].n_unique() < clusters.n_unique()
        for metric in opened.metrics:
            if metric.compared and metric.applies(first) and metric.applies(second):
                gaps = paired_rows(first, second, metric).with_columns(pl.col("person", "prompt").hash())
                coverage = line_coverage(first.frame, metric) if covered is None else covered(first)
                told = f"{first.given} minus {second.given}" if first.given != second.given else ""
                named = replace(metric, name=f"{metric.name}_{suffix}", empty="", note=told)
                for where, part in _parts(gaps, slices):
                    gap = mean_by_item(part, "difference", metric.difference_bounds)
                    found.append(record(first, named, (("against", name), *where), gap, coverage, recurs))
    return marked_met(opened.run, found)


def _parts(rows: pl.DataFrame, slices: Sequence[Layout]) -> Iterator[tuple[Where, pl.DataFrame]]:
    for layout in slices:
        parts = rows.partition_by(layout, as_dict=True, maintain_order=True) if layout else {(): rows}
        for values, part in parts.items():
            yield tuple(zip(layout, map(str, values), strict=True)), part


def line_coverage(frame: pl.DataFrame, metric: Metric | None = None) -> float | None:
    """The share of what was to be asked that brought an answer."""
    column = "answered" if metric is None else metric.answered
    return share_of(int(frame[column].sum()), int(frame["asked"].sum())) if column else None


def share_of(answered: float, asked: float) -> float | None:
    """The share of asks that brought an answer; None where nothing was asked."""
    return answered / asked if asked else None


def worst_coverage(shares: Iterable[tuple[str, float | None, bool]]) -> tuple[str, float] | None:
    """Who was asked for and answered least; free controls must not hide a judge that fails.

    Each share comes with its name, and with whether it was asked for.
    """
    known = [(name, share, asked_for) for name, share, asked_for in shares if share is not None]
    least = [one for one in known if one[2]] or known
    return min(((name, share) for name, share, _ in least), key=lambda one: one[1], default=None)


def line_shares(lines: Iterable[Line]) -> Iterator[tuple[str, float | None, bool]]:
    """The coverage of each line whose rater was asked here, as `worst_coverage` takes it."""
    for line in lines:
        if line.control not in IN_DATA:
            yield line.name, line_coverage(line.frame), line.asked_for
