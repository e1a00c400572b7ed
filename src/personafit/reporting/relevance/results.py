"""From the lines of a relevance run to flat records: one number each, with interval, coverage and its control.

`over_selection` is the share of pairs a rater calls relevant over the share people do, on the pairs it answered: 1 picks as
many, 2 twice as many. `average_precision` and `r_precision` (the hits among the top k of a list with k relevant ones) are those of each list's
ranking, averaged over the lists with anything relevant.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import polars as pl

from personafit.items.relevance import ALONE, GRADES
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.reporting.line_results import differences_of, results_of
from personafit.reporting.relevance.scores import RelevanceScores, load_relevance
from personafit.reporting.result import Result
from personafit.statistics import Estimate
from personafit.statistics import detection as detecting
from personafit.store import RunRecord, Store

SLICED: tuple[detecting.Metric, ...] = ("precision", "recall", "f1", "yes_rate", "over_selection")
COMPARED: tuple[detecting.Metric, ...] = ("f1", "precision", "recall", "over_selection")
SLICES = ("hedged", "list", "language", "prompt_name")
WHOLE: tuple[tuple[str, ...], ...] = ((),)
Ranking = Literal["average_precision", "r_precision"]
RANKED: tuple[Ranking, ...] = ("average_precision", "r_precision")
FEW_VALUES = 2  # scores with no more values than this rank nothing
HOW = "interval linearised and clustered by person and prompt"
QUOTED = "published, not measured here"


def relevance_lines(store: Store, run: RunRecord) -> RunLines:
    """A line per rater and view, and one per rater whose votes came with the data."""
    return opened_relevance(load_relevance(store, run))


def opened_relevance(scores: RelevanceScores) -> RunLines:
    """The lines of a relevance run with their metrics, and the slices that tell pairs apart."""
    items = scores.items
    slices = [(name,) for name in SLICES if name in items.columns and items[name].n_unique() > 1]
    return RunLines(scores.run, scores.info, "relevance", scores.lines, RELEVANCE_METRICS, slices)


def relevance_results(scores: RelevanceScores) -> list[Result]:
    """Every number of a run."""
    opened = opened_relevance(scores)
    results = [*results_of(opened), *differences_of(opened, _pairs(scores.lines)), *_quoted(scores)]
    return [
        replace(one, slice={"prompt": one.slice["prompt_name"]}) if "prompt_name" in one.slice else one
        for one in results
    ]


def _detected(name: detecting.Metric) -> Metric:
    """A figure of yes-or-no answers: no mean, but compared by what each pair does to it."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        return detecting.detection(rows["yes"], rows["relevant"], name, rows["person"], rows["prompt"])

    def values(rows: pl.DataFrame) -> pl.Series:
        return pl.Series(detecting.pseudo_values(rows["yes"], rows["relevant"], name)).fill_nan(None)

    return Metric(
        name,
        "yes",
        (-1.0, 1.0) if name == "kappa" else None if name == "over_selection" else (0.0, 1.0),
        estimate=estimate,
        values=values,
        holds=("yes", "relevant"),
        by=None if name in SLICED else WHOLE,
        compared=name in COMPARED,
        how=HOW,
    )


def _ranking(figure: Ranking) -> Callable[[pl.DataFrame], Estimate]:
    def estimate(rows: pl.DataFrame) -> Estimate:
        if rows["score"].n_unique() <= FEW_VALUES:
            return Estimate(None, None, None, 0, 0, "it gives no scores to rank by")
        return detecting.mean_ranking(
            rows["score"], rows["relevant"], rows["list_name"], rows["person"], rows["prompt"], figure
        )

    return estimate


RELEVANCE_METRICS = [
    *map(_detected, detecting.METRICS),
    *(
        Metric(
            name,
            "score",
            estimate=_ranking(name),
            holds=("score", "relevant", "list_name"),
            by=WHOLE,
            noted=False,
        )
        for name in RANKED
    ),
    *(
        Metric(f"{name}_share", f"{column} {grade}", by=WHOLE, under=(("grade", grade),), noted=False)
        for grade in GRADES
        for name, column in (("grade", "given"), ("relevant", "relevant"))
    ),
]


def headline_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that are compared: everybody who saw the prompt, by the first such view of each rater."""
    chosen: dict[str, Line] = {}
    for line in lines:
        if line.view != ALONE:
            chosen.setdefault(str(line.fingerprint), line)
    return list(chosen.values())


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Each rater asked for against every other, and against itself without the prompt."""
    headline = headline_lines(lines)
    for place, first in enumerate(headline):
        if not first.asked_for:
            continue
        others = [line for line in headline[place + 1 :] if line.fingerprint != first.fingerprint]
        others += [line for line in lines if line.fingerprint == first.fingerprint and line.view == ALONE]
        for second in others:
            alone = second.view == ALONE
            yield first, second, f"{second.rater} ({ALONE})" if alone else str(second.rater)


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
