"""Where a rater is furthest from people, or a text from what the person wrote: the share that is off, and the units themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from personafit._errors import UserError
from personafit.kinds.lines import UNIT_SCALE, Line, Metric, Reference, RunLines, sliced
from personafit.reporting.result import Result, marked_met
from personafit.statistics import mean_by_item

SHOWN = 20
TOLD = ("item", "target", "person", "prompt", "system", "given", "attribute", "text")
FAR_MARKS = 2.0  # marks from people's that are no matter of taste


@dataclass(frozen=True)
class Failures:
    """How often a rater (or system) is off, and the units on which it is furthest off."""

    name: str
    measure: str
    """What is counted, in words."""
    results: list[Result]
    units: pl.DataFrame
    """The worst first: what the unit is, `said`, `people` and `far`."""


def line_failures(opened: RunLines, rater: str | None = None, most: int = SHOWN) -> list[Failures]:
    """The failures of a rater, by default the first that was asked for, question by question; of each writer where systems write."""
    if not opened.references:
        return [_written(opened, line, most) for line in _writers(opened, rater)]
    found = []
    for reference in opened.references:
        lines = [line for line in opened.lines if reference.answer in line.frame.columns]
        headline = opened.headline_view(lines)
        lines = [line for line in lines if line.view == headline and line.fingerprint in opened.rater_kinds]
        own = _of_rater(opened, lines, rater)
        if any(reference.known(line) for line in own):
            found.append(_judged(opened, reference, own, most))
    if not found:
        raise UserError(
            f"{opened.run.name}: people have said nothing of what its raters judged, so nobody is shown to be wrong; "
            "`personafit label` asks them."
        )
    return found


def _of_rater(opened: RunLines, lines: Sequence[Line], rater: str | None) -> list[Line]:
    """The lines of one rater, of however many systems."""
    names = list(dict.fromkeys(str(line.rater) for line in lines))
    wanted = rater if rater is not None else next(iter(names), None)
    own = [line for line in lines if wanted in (line.rater, line.fingerprint)]
    if not own:
        raise UserError(f"{opened.run.name} has no rater '{rater}'; it has {', '.join(names)}.")
    return own


def _writers(opened: RunLines, system: str | None) -> list[Line]:
    """The lines of the systems that write, without controls; or of the one that is named."""
    lines = [line for line in opened.lines if line.control is None]
    own = [line for line in lines if system in (None, line.system)]
    if not own:
        names = dict.fromkeys(str(line.system) for line in lines)
        raise UserError(f"{opened.run.name} has no system '{system}'; it has {', '.join(names)}.")
    return own


def _judged(opened: RunLines, reference: Reference, lines: Sequence[Line], most: int) -> Failures:
    frames = []
    for line in lines:
        made = {"system": line.system, "given": line.given}
        absent = {name: value for name, value in made.items() if name not in line.frame.columns}
        frames.append(
            line.frame.with_columns(
                reference.distances(line.frame).alias("far"),
                pl.col(reference.answer).cast(pl.Float64).alias("said"),
                pl.col(reference.people).cast(pl.Float64).alias("people"),
                *(pl.lit(value, pl.String).alias(name) for name, value in absent.items()),
            )
        )
    whole = pl.concat(frames).filter(pl.col("far").is_not_null())
    binary = reference.bounds == UNIT_SCALE
    wrong = pl.col("far") > 0.5 if binary else pl.col("far") >= FAR_MARKS
    whole = whole.with_columns(wrong.cast(pl.Float64).alias("wrong"))
    measure = "answers against people's" if binary else f"marks {FAR_MARKS:g} or more from people's"
    rater = lines[0]
    results = []
    for where, part in sliced(whole, opened.slices):
        scale = (0.0, reference.bounds[1] - reference.bounds[0])
        figures = [("wrong_share", "wrong", UNIT_SCALE), *([] if binary else [("distance", "far", scale)])]
        for metric, column, bounds in figures:
            results.append(
                Result.of(
                    mean_by_item(part, column, bounds),
                    metric=metric,
                    rater=rater.rater,
                    view=rater.view,
                    slice={"question": reference.question, **where},
                    control=rater.control,
                    fingerprint=rater.fingerprint,
                )
            )
    worst = whole.filter(pl.col("far") > 0).sort("far", descending=True, maintain_order=True).head(most)
    columns = [name for name in TOLD if name in worst.columns and worst[name].null_count() < len(worst)]
    units = worst.select(*columns, "said", "people", "far")
    return Failures(str(rater.rater), measure, marked_met(opened.run, results), units)


def _written(opened: RunLines, line: Line, most: int) -> Failures:
    """The texts of one writer that are least like what the person wrote."""
    metric: Metric = opened.headline
    known = line.frame.with_columns(metric.per_row(line.frame).alias("said")).filter(
        pl.col("said").is_not_null()
    )
    results = [
        Result.of(
            metric.of(part),
            metric=metric.name,
            rater=line.rater,
            system=line.system,
            given=line.given,
            view=line.view,
            slice=where,
            fingerprint=line.fingerprint,
        )
        for where, part in sliced(known, opened.slices)
    ]
    worst = known.sort("said", maintain_order=True).head(most)
    units = worst.select(*(name for name in TOLD if name in worst.columns), "said")
    told = f" given {line.given}" if line.given else ""
    return Failures(
        f"{line.system or line.rater}{told}", f"texts with the lowest {metric.name}", results, units
    )
