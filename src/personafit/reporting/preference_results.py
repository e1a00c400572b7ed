"""The figures of a preference run beyond its lines: naming by writers, people's own marks, differences, and what was published."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import polars as pl

from personafit.benchmarks.recentering.responses import INFO
from personafit.items.preference import MIDDLE
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.kinds.preference_scores import (
    RULE,
    PreferenceScores,
    by_system,
    detectors,
    human_ceiling,
    once_an_item,
    opened_preferences,
    rated_units,
)
from personafit.reporting.line_results import differences_of, line_coverage, record, results_of
from personafit.reporting.plots import PanelMark, dot_panels, scatter_figure
from personafit.reporting.result import Result, marked_met
from personafit.reporting.written import plain, signed
from personafit.statistics import Estimate
from personafit.statistics.agreement import spearman

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = "published"
FEWEST_GENERATORS = 3
FEWEST_POINTS = 2
PEOPLE = {"human": "people", "simulated": "simulated people"}
"""Whose marks they are that judges are held against."""
SIGNED = frozenset({"position_effect", "mention_effect", "rating_difference", "length_difference"})


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
    return results_of(RunLines(scores.run, scores.info, "preference", [line], metrics, by_system(made)))


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


def rater_rows(results: Sequence[Result]) -> list[tuple[str, str | None, dict[str, Result]]]:
    """Whose figures, why they are no rater's who was asked, and the figures by metric."""
    rows: dict[tuple[str, str | None], dict[str, Result]] = {}
    for result in results:
        if result.rater and result.system is None and result.slice in ({}, {"detector": RULE}):
            key = (result.fingerprint or result.rater, result.control)
            rows.setdefault(key, {}).setdefault(result.metric, result)
    return [(str(f["rating"].rater), key[1], f) for key, f in rows.items() if "rating" in f]


def number_text(value: float, metric: str, percent: bool) -> str:
    """A number as tables show it."""
    write = signed if metric in SIGNED else plain
    if metric == "length_difference":
        return write(value, 0)
    return write(100 * value) if percent else write(value, 2)


def preference_figure(scores: PreferenceScores, results: Sequence[Result]) -> "Figure | None":
    """Mean marks and mention effects side by side; None if nobody gave a mark."""
    rows = rater_rows(results)
    panels = [
        ("Mean mark, 1 generic to 5 personalized", float(MIDDLE), [_mark(*row, "rating") for row in rows]),
        ("Mention Δ, points", 0.0, [_mark(*row, "mention_effect") for row in rows]),
    ]
    if not any(mark.value is not None and mark.control != PUBLISHED for mark in panels[0][2]):
        return None
    return dot_panels(panels)


def _mark(name: str, control: str | None, found: dict[str, Result], metric: str) -> PanelMark:
    result = found.get(metric)
    if result is None:
        return PanelMark(name, control, None)
    return PanelMark(name, control, result.value, result.low, result.high)


def mention_figure(results: Sequence[Result]) -> "Figure | None":
    """Judges that wrote answers too, measured here and published; None for fewer than two."""
    points = []
    for published in (False, True):
        own = [
            r
            for r in results
            if (r.control == PUBLISHED) == published and r.slice.get("detector", RULE) == RULE
        ]
        rates = {r.system: r.value for r in own if r.metric == "mention_rate_items" and r.system}
        points += [
            (r.rater, PUBLISHED if published else None, 100 * rate, r.value)
            for r in own
            if r.metric == "mention_effect" and r.rater is not None and r.value is not None
            for generator, rate in rates.items()
            if rate is not None and same_model(r.rater, str(generator))
        ]
    if len(points) < FEWEST_POINTS:
        return None
    return scatter_figure(points, "", "answers that name an attribute, %", "mention Δ, points")
