"""From the lines of a preference run to flat records: one number each, with interval, coverage and its control.

`rating` is the mean mark (1 generic, 5 personalized); `no_better` the share of units marked 3 or lower, `no_better_items` the
share of answers whose mean mark over their attributes is. `mention_effect` is the mean mark of answers that name the attribute
minus that of the others; `position_effect` is how far a rater is pulled to the answer shown first, in points of the scale.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from personafit.benchmarks.recentering.responses import INFO
from personafit.items.preference import HIGHEST, LOWEST
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.reporting.line_results import (
    differences_of,
    line_coverage,
    record,
    results_of,
    worst_coverage,
)
from personafit.reporting.preference.against_people import (
    PeopleFigure,
    human_ceiling,
    mention_gap,
    over_people,
    with_people,
)
from personafit.reporting.preference.published import published_results
from personafit.reporting.preference.scores import (
    VOTES,
    PreferenceScores,
    load_preferences,
    once_an_item,
    rated_units,
)
from personafit.reporting.result import Result, marked_met
from personafit.statistics import Estimate, length_controlled_rate
from personafit.statistics.agreement import spearman
from personafit.statistics.preferences import group_difference
from personafit.store import RunRecord, Store

SCALE = (float(LOWEST), float(HIGHEST))
UNIT = (0.0, 1.0)
RULE = "rule"
FEWEST_GENERATORS = 3

# Whose marks they are that judges are held against.
PEOPLE = {"human": "people", "simulated": "simulated people"}
WHOLE: tuple[tuple[str, ...], ...] = ((),)
WITH_PEOPLE: dict[str, PeopleFigure] = {"spearman": "spearman", "kappa_weighted": "quadratic"}
NO_PEOPLE = "undefined: nobody's ratings come with these answers"


def preference_lines(store: Store, run: RunRecord) -> RunLines:
    """A line per rater over the answers of every system, whose names are in the columns `system` and `given`."""
    return opened_preferences(load_preferences(store, run))


def opened_preferences(scores: PreferenceScores) -> RunLines:
    """The lines of a preference run with their metrics."""
    return RunLines(
        scores.run, scores.info, "preference", scores.lines, _metrics(scores), _systems(scores.units)
    )


def _systems(units: pl.DataFrame) -> list[tuple[str, ...]]:
    """By system and what it was given, where there are several."""
    return [("system", "given")] if units.select("generator", "given").n_unique() > 1 else []


def _metrics(scores: PreferenceScores) -> list[Metric]:
    lengths, people = ("win", "length_difference"), ("rating", "human", "names")
    return [
        Metric("rating", bounds=SCALE, compared=True),
        Metric("no_better"),
        Metric("no_better_items"),
        Metric("win_rate", "win"),
        Metric("win_rate_length_controlled", "win", estimate=_at_equal_length, holds=lengths),
        Metric("position_effect", "pull", None),
        Metric("consistency", "same"),
        *(_mention_effect(detector, column) for detector, column in detectors(scores).items()),
        *(
            Metric(
                name, "human", estimate=with_people(figure), holds=people, by=WHOLE, empty=NO_PEOPLE, how=""
            )
            for name, figure in WITH_PEOPLE.items()
        ),
        *(
            Metric(name, "human", estimate=gap, holds=people, by=WHOLE, only=_meets_people)
            for name, gap in (
                ("rating_over_people", over_people),
                ("mention_effect_over_people", mention_gap),
            )
        ),
    ]


def _at_equal_length(rows: pl.DataFrame) -> Estimate:
    return length_controlled_rate(rows["win"], rows["length_difference"], rows["person"], rows["prompt"])


def _mention_effect(detector: str, column: str) -> Metric:
    """How much higher answers are marked that name the attribute, as the detector says."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        return group_difference(rows["rating"], rows[column], rows["person"], rows["prompt"])

    holds = tuple(dict.fromkeys(("rating", "names", column)))
    return Metric(
        "mention_effect", "rating", estimate=estimate, holds=holds, by=WHOLE, under=(("detector", detector),)
    )


def _meets_people(line: Line) -> bool:
    return len(line.frame.drop_nulls(["rating", "human", "names"])) > 0


def preference_results(scores: PreferenceScores) -> list[Result]:
    """Every number of a run."""
    opened = opened_preferences(scores)
    results = [
        *_mention_rates(scores),
        *results_of(opened),
        *differences_of(opened, _between_givens(scores.lines), covered=_coverage_of_rated),
        *_people(scores),
    ]
    results.append(mention_rate_against_effect(scores, results))
    if scores.info["version"] == INFO.version:
        results += list(published_results())
    return marked_met(scores.run, results)


def _mention_rates(scores: PreferenceScores) -> list[Result]:
    """How often answers name an attribute, by the rule and by every model that was asked, and how much longer they are."""
    made = rated_units(scores.made.with_columns(rating=pl.lit(None, pl.Float64))).with_columns(
        asked=pl.lit(1), longer=once_an_item(pl.col("longer"))
    )
    metrics: list[Metric] = []
    for detector, column in detectors(scores).items():
        named, under = pl.col(column).cast(pl.Float64), (("detector", detector),)
        items, known = f"{column} in items", f"{column} known"
        made = made.with_columns(
            named,
            once_an_item(named.max().over("item")).alias(items),
            named.is_not_null().alias(known),
        )
        metrics.append(Metric("mention_rate", column, under=under, answered=known))
        metrics.append(Metric("mention_rate_items", items, under=under, answered=known))
    metrics.append(Metric("length_difference", "longer", None, answered=""))
    line = Line(None, None, None, None, None, made)
    return results_of(RunLines(scores.run, scores.info, "preference", [line], metrics, _systems(made)))


def detectors(scores: PreferenceScores) -> dict[str, str]:
    """Who says whether an attribute is named: detector to column of the units."""
    return {RULE: "names", **{name: column for column, name in scores.detectors.items()}}


def _people(scores: PreferenceScores) -> list[Result]:
    """People's own figures: their mean mark, how often they prefer neither, what mention does to them, and how far they agree."""
    if scores.people_are is None:
        return []
    frame = rated_units(scores.units.with_columns(rating=pl.col("human"))).with_columns(
        asked=pl.lit(1), answered=pl.col("human").is_not_null().cast(pl.Int64)
    )
    control = PEOPLE.get(scores.people_are, "labels in the data")
    notes = ("simulated raters, not people",) if scores.people_are == "simulated" else ()
    line = Line(scores.people_are, None, None, None, None, frame.drop("human"), control, False, notes)
    opened = replace(opened_preferences(scores), lines=[line])
    ceiling = (
        record(line, Metric(name), (), found, line_coverage(frame), False)
        for name, found in human_ceiling(scores)
    )
    return [*results_of(opened), *ceiling]


def _between_givens(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """What a system was told against what else it was told, paired by prompt and attribute."""
    for line in lines:
        rated = line.frame.filter(pl.col("rating").is_not_null() & (pl.col("given") != "")).with_columns(
            unit=pl.concat_str("group", "target", separator="|")
        )
        for system in rated["system"].unique(maintain_order=True):
            own = rated.filter(system=system)
            own = own.with_columns(covered=pl.lit(line_coverage(own), pl.Float64))
            told = [
                replace(line, system=system or None, given=given, frame=own.filter(given=given))
                for given in own["given"].unique(maintain_order=True)
            ]
            for first, second in combinations(told, 2):
                yield first, second, str(second.given)


def _coverage_of_rated(line: Line) -> float | None:
    """The share of asks that brought a mark, over whatever the system was told."""
    return float(line.frame["covered"][0]) if len(line.frame) else None


def mention_rate_against_effect(scores: PreferenceScores, results: Sequence[Result]) -> Result:
    """Whether models that name attributes as writers like it as judges: Spearman over the models that are both."""
    rates = {
        r.system: r.value
        for r in results
        if r.metric == "mention_rate_items"
        and r.system
        and r.slice == {"detector": RULE}
        and r.value is not None
    }
    pairs = []
    for line in scores.lines:
        if line.control not in (None, "votes in the data"):
            continue
        effect = next(
            r
            for r in results
            if r.metric == "mention_effect"
            and r.fingerprint == line.fingerprint
            and r.slice == {"detector": RULE}
        )
        own = [rate for generator, rate in rates.items() if same_model(str(line.rater), str(generator))]
        if effect.value is not None and own:
            pairs.append((float(np.mean(own)), effect.value))
    if len(pairs) < FEWEST_GENERATORS:
        note = f"undefined: {len(pairs)} of the judges wrote answers here too, and it takes {FEWEST_GENERATORS} such models"
        return Result.of(
            Estimate(None, None, None, len(pairs), 0), metric="mention_rate_against_effect", note=note
        )
    found = spearman(*map(np.array, zip(*pairs, strict=True)))
    note = found.note or "over models; no interval, as models are no sample"
    return Result.of(
        Estimate(found.value, None, None, len(pairs), 0), metric="mention_rate_against_effect", note=note
    )


def same_model(judge: str, generator: str) -> bool:
    """Whether a judge and a generator are one model, by name: 'openai:gpt-5.4@URL' and 'gpt-5.4' are."""
    one, other = (_model(name) for name in (judge, generator))
    return bool(one) and one == other


def _model(name: str) -> str:
    plain = name.split("@")[0].split(",")[0]
    for kind in ("openai:", "replay:", "embedded:", "python:"):
        plain = plain.removeprefix(kind)
    return plain.rsplit("/", 1)[-1].lower().replace("_", "-")


def preference_coverage(scores: PreferenceScores) -> tuple[str, float] | None:
    """The rater asked for with the least coverage, models that said what is named included."""
    shares = [
        (str(line.rater), line_coverage(line.frame), line.asked_for)
        for line in scores.lines
        if line.control != VOTES
    ]
    count = len(scores.units)
    for column, name in scores.detectors.items() if count else ():
        shares.append((name, 1 - scores.units[column].null_count() / count, True))
    return worst_coverage(shares)
