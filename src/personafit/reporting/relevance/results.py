"""From the lines of a relevance run to flat records: one number each, with interval, coverage and its control.

`over_selection` is the share of pairs a rater calls relevant over the share people do, on the pairs it answered: 1 picks as
many, 2 twice as many. `average_precision` and `r_precision` (the hits among the top k of a list with k relevant ones) are those of each list's
ranking, averaged over the lists with anything relevant.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import polars as pl

from personafit.items.relevance import ALONE, GRADES
from personafit.reporting.relevance.scores import PUBLISHED, Line, RelevanceScores
from personafit.reporting.results import Result, marked_met
from personafit.statistics import Estimate, mean_by_item, prompts_recur
from personafit.statistics.detection import (
    METRICS,
    Metric,
    detection,
    detection_difference,
    mean_ranking,
)

SLICED: tuple[Metric, ...] = ("precision", "recall", "f1", "yes_rate", "over_selection")
COMPARED: tuple[Metric, ...] = ("f1", "precision", "recall", "over_selection")
SLICES = {"hedged": "hedged", "list": "list", "language": "language", "prompt": "prompt_name"}
RANKED: tuple[Literal["average_precision", "r_precision"], ...] = ("average_precision", "r_precision")
FEW_VALUES = 2  # scores with no more values than this rank nothing
HOW = "interval linearised and clustered by person and prompt"
QUOTED = "published, not measured here"


def relevance_results(scores: RelevanceScores) -> list[Result]:
    """Every number of a run."""
    results = []
    for line in scores.lines:
        results += [*_totals(line), *_slices(line), *_grades(line)]
    results += list(_differences(scores.lines))
    results += list(_quoted(scores))
    return marked_met(scores.run, results)


def scored(frame: pl.DataFrame) -> pl.DataFrame:
    """The pairs that have an answer and a label."""
    return frame.filter(pl.col("yes").is_not_null() & pl.col("relevant").is_not_null())


def line_coverage(frame: pl.DataFrame) -> float | None:
    """The share of what was to be asked that brought an answer."""
    asked = int(frame["asked"].sum())
    return int(frame["answered"].sum()) / asked if asked else None


def worst_coverage(scores: RelevanceScores) -> tuple[str, float] | None:
    """The rater asked for, and the view, with the least coverage; free controls must not hide a judge that fails."""
    own = [line for line in scores.lines if line.control != PUBLISHED]
    found = [
        (f"{line.name} ({line.view})", share)
        for line in [line for line in own if line.asked_for] or own
        if (share := line_coverage(line.frame)) is not None
    ]
    return min(found, key=lambda one: one[1], default=None)


def headline_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that are compared: everybody who saw the prompt, by the first such view of each rater."""
    chosen: dict[str, Line] = {}
    for line in lines:
        if line.view != ALONE:
            chosen.setdefault(line.fingerprint, line)
    return list(chosen.values())


def _totals(line: Line) -> Iterator[Result]:
    rows = scored(line.frame)
    for metric in METRICS:
        yield _result(line, metric, {}, line.frame, _detect(rows, metric))
    for figure in RANKED:
        yield _result(line, figure, {}, line.frame, _ranking(line.frame, figure))


def _slices(line: Line) -> Iterator[Result]:
    for name, column in SLICES.items():
        if column not in line.frame.columns or line.frame[column].n_unique() < 2:
            continue
        values = line.frame[column].drop_nulls().unique(maintain_order=True).to_list()
        for value in values:
            part = line.frame.filter(pl.col(column) == value)
            rows = scored(part)
            for metric in SLICED:
                yield _result(line, metric, {name: value}, part, _detect(rows, metric))


def _grades(line: Line) -> Iterator[Result]:
    """Where grades were given: how often each, and how often people call such a pair relevant."""
    rows = line.frame.filter(pl.col("label").is_in(list(GRADES)))
    if rows.is_empty():
        return
    for grade in GRADES:
        given = rows.with_columns((pl.col("label") == grade).cast(pl.Float64).alias("given"))
        yield _result(line, "grade_share", {"grade": grade}, line.frame, mean_by_item(given, "given"))
        labelled = given.filter((pl.col("given") == 1) & pl.col("relevant").is_not_null())
        share = mean_by_item(labelled.with_columns(pl.col("relevant").cast(pl.Float64).alias("hit")), "hit")
        yield _result(line, "relevant_share", {"grade": grade}, line.frame, share)


def _detect(rows: pl.DataFrame, metric: Metric) -> Estimate:
    return detection(rows["yes"], rows["relevant"], metric, rows["person_code"], rows["prompt_code"])


def _ranking(frame: pl.DataFrame, figure: Literal["average_precision", "r_precision"]) -> Estimate:
    rows = frame.filter(pl.col("score").is_not_null() & pl.col("relevant").is_not_null())
    if rows["score"].n_unique() <= FEW_VALUES:
        return Estimate(None, None, None, 0, 0, "it gives no scores to rank by")
    return mean_ranking(
        rows["score"], rows["relevant"], rows["list_name"], rows["person_code"], rows["prompt_code"], figure
    )


def _differences(lines: Sequence[Line]) -> Iterator[Result]:
    """Each rater asked for against every other, and against itself without the prompt; paired by what both answered."""
    headline = headline_lines(lines)
    for place, first in enumerate(headline):
        if not first.asked_for:
            continue
        others = [line for line in headline[place + 1 :] if line.fingerprint != first.fingerprint]
        others += [line for line in lines if line.fingerprint == first.fingerprint and line.view == ALONE]
        for second in others:
            rows = scored(first.frame).join(
                scored(second.frame).select("item", pl.col("yes").alias("other")), on="item", how="inner"
            )
            name = f"{second.name} ({ALONE})" if second.view == ALONE else second.name
            for metric in COMPARED:
                estimate = detection_difference(
                    rows["yes"],
                    rows["other"],
                    rows["relevant"],
                    metric,
                    rows["person_code"],
                    rows["prompt_code"],
                )
                yield _result(first, f"{metric}_difference", {"against": name}, first.frame, estimate)


def _quoted(scores: RelevanceScores) -> Iterator[Result]:
    """The published figures, each with its source."""
    for row in scores.info.get("published", []):
        for metric, percent in row["scores"].items():
            yield Result.of(
                Estimate(percent / 100, None, None, 0, 0),
                rater=row["model"],
                view=row["view"],
                metric=metric,
                control="published",
                note=f"{QUOTED}: {row['source']}",
            )


def _result(line: Line, metric: str, where: dict[str, str], part: pl.DataFrame, estimate: Estimate) -> Result:
    how = (
        HOW if estimate.low is not None and prompts_recur(part["person_code"], part["prompt_code"]) else None
    )
    ranked = metric in (*RANKED, "grade_share", "relevant_share")
    how = how and how.replace("linearised and ", "") if ranked else how
    notes = [estimate.note, *(line.notes if not ranked else ()), how]
    return Result.of(
        estimate,
        rater=line.name,
        view=line.view,
        metric=metric,
        slice=where,
        coverage=line_coverage(part),
        control=line.control,
        fingerprint=line.fingerprint,
        note="; ".join(filter(None, notes)) or None,
    )
