"""From the lines of a preference run to flat records: one number each, with interval, coverage and its control.

`rating` is the mean mark (1 generic, 5 personalized); `no_better` the share of units marked 3 or lower, `no_better_items` the
share of answers whose mean mark over their attributes is. `mention_effect` is the mean mark of answers that name the attribute
minus that of the others; `position_effect` is how far a rater is pulled to the answer shown first, in points of the scale.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from personafit.benchmarks.recentering.responses import INFO
from personafit.items.preference import HIGHEST, LOWEST, MIDDLE
from personafit.reporting.preference.against_people import against_people, human_ceiling
from personafit.reporting.preference.published import published_results
from personafit.reporting.preference.scores import Line, PreferenceScores
from personafit.reporting.results import Result, marked_met
from personafit.statistics import Estimate, length_controlled_rate, prompts_recur
from personafit.statistics.agreement import spearman
from personafit.statistics.preferences import clustered, group_difference

SCALE = (float(LOWEST), float(HIGHEST))
UNIT = (0.0, 1.0)
RULE = "rule"
HOW = "interval clustered by person and prompt"
FEWEST_GENERATORS = 3

# Whose marks they are that judges are held against.
PEOPLE = {"human": "people", "simulated": "simulated people"}

System = tuple[str | None, str | None]


def preference_results(scores: PreferenceScores) -> list[Result]:
    """Every number of a run."""
    results = list(mention_rates(scores))
    for line in scores.lines:
        for system, part in parts(line.frame):
            results += [_of(line, metric, system, part, found) for metric, found in line_figures(line, part)]
        results += list(_mention_effects(scores, line))
        results += [
            _of(line, metric, (None, None), line.frame, found)
            for metric, found in against_people(scores, line)
        ]
        results += list(_between_givens(line))
    results += list(_people(scores))
    results.append(mention_rate_against_effect(scores, results))
    if scores.info["version"] == INFO.version:
        results += list(published_results())
    return marked_met(scores.run, results)


def parts(frame: pl.DataFrame) -> list[tuple[System, pl.DataFrame]]:
    """All units, then those of each system and what it was given, where there are several."""
    found: list[tuple[System, pl.DataFrame]] = [((None, None), frame)]
    who = frame.select("generator", "given").unique(maintain_order=True)
    if len(who) > 1:
        for generator, given in who.iter_rows():
            same = pl.col("generator").eq_missing(pl.lit(generator)) & pl.col("given").eq_missing(
                pl.lit(given)
            )
            found.append(((generator, given), frame.filter(same)))
    return found


def line_figures(line: Line, part: pl.DataFrame) -> Iterator[tuple[str, Estimate]]:
    """The figures of one rater on some units."""
    rated = part.filter(pl.col("rating").is_not_null())
    mark = rated["rating"].cast(pl.Float64).to_numpy()
    people, prompts = rated["person"].to_numpy(), rated["prompt"].to_numpy()
    yield "rating", clustered(mark, people, prompts, SCALE)
    yield "no_better", clustered((mark <= MIDDLE).astype(float), people, prompts, UNIT)
    items = _by_item(rated)
    yield (
        "no_better_items",
        clustered(
            (items["rating"] <= MIDDLE).cast(pl.Float64).to_numpy(), items["person"], items["prompt"], UNIT
        ),
    )
    wins = np.where(mark > MIDDLE, 1.0, np.where(mark < MIDDLE, 0.0, 0.5))
    yield "win_rate", clustered(wins, people, prompts, UNIT)
    at_equal = length_controlled_rate(wins, rated["longer"].cast(pl.Float64).to_numpy(), people, prompts)
    yield "win_rate_length_controlled", at_equal
    if line.orders == 2:
        both = part.filter(pl.all_horizontal(pl.col("first", "last", "longer").is_not_null()))
        pull = ((both["first"] - both["last"]) / 2).cast(pl.Float64).to_numpy()
        yield "position_effect", clustered(pull, both["person"], both["prompt"])
        same = (both["first"] - MIDDLE).sign() == (both["last"] - MIDDLE).sign()
        yield "consistency", clustered(same.cast(pl.Float64).to_numpy(), both["person"], both["prompt"], UNIT)


def mention_rates(scores: PreferenceScores) -> Iterator[Result]:
    """How often answers name an attribute, by the rule and by every model that was asked, over all and by who wrote them."""
    for detector, column in detectors(scores).items():
        for (generator, given), part in parts(scores.made):
            known = part.filter(pl.col(column).is_not_null())
            share = clustered(
                known[column].cast(pl.Float64).to_numpy(), known["person"], known["prompt"], UNIT
            )
            items = known.group_by("item", maintain_order=True).agg(
                pl.col(column).any(), pl.col("person", "prompt").first()
            )
            any_of = clustered(
                items[column].cast(pl.Float64).to_numpy(), items["person"], items["prompt"], UNIT
            )
            coverage = len(known) / len(part) if len(part) else None
            for metric, estimate in (("mention_rate", share), ("mention_rate_items", any_of)):
                yield Result.of(
                    estimate,
                    system=generator,
                    given=given,
                    metric=metric,
                    slice={"detector": detector},
                    coverage=coverage,
                    note=_how(estimate, known),
                )
    items = scores.made.unique("item", maintain_order=True)
    for (generator, given), part in parts(items):
        longer = clustered(part["longer"].cast(pl.Float64).to_numpy(), part["person"], part["prompt"])
        yield Result.of(
            longer, system=generator, given=given, metric="length_difference", note=_how(longer, part)
        )


def detectors(scores: PreferenceScores) -> dict[str, str]:
    """Who says whether an attribute is named: detector to column of the units."""
    return {RULE: "names", **{name: column for column, name in scores.detectors.items()}}


def _mention_effects(scores: PreferenceScores, line: Line) -> Iterator[Result]:
    for detector, column in detectors(scores).items():
        rated = line.frame.filter(pl.all_horizontal(pl.col("rating", "names", column).is_not_null()))
        found = group_difference(
            rated["rating"].cast(pl.Float64), rated[column], rated["person"], rated["prompt"]
        )
        yield _of(line, "mention_effect", (None, None), line.frame, found, {"detector": detector})


def _people(scores: PreferenceScores) -> Iterator[Result]:
    """People's own figures: their mean mark, how often they prefer neither, what mention does to them, and how far they agree."""
    if scores.people_are is None:
        return
    own = scores.units.filter(pl.col("human").is_not_null()).with_columns(pl.col("human").alias("rating"))
    line = Line(scores.people_are, scores.people_are, "human", own)
    note = "simulated raters, not people" if scores.people_are == "simulated" else None
    planned = {system: len(part) for system, part in parts(scores.units)}
    marked = {system: len(part) for system, part in parts(own)}

    def result(metric: str, found: Estimate, system: System = (None, None), **where: str) -> Result:
        return Result.of(
            found,
            rater=scores.people_are,
            system=system[0],
            given=system[1],
            metric=metric,
            slice=dict(where),
            coverage=marked[system] / planned[system] if planned[system] else None,
            control=PEOPLE.get(scores.people_are or "", "labels in the data"),
            note="; ".join(filter(None, [found.note, note])) or None,
        )

    for system, part in parts(own):
        for metric, found in line_figures(line, part):
            yield result(metric, found, system)
    for detector, column in detectors(scores).items():
        known = own.filter(pl.all_horizontal(pl.col("names", column).is_not_null()))
        found = group_difference(known["rating"], known[column], known["person"], known["prompt"])
        yield result("mention_effect", found, detector=detector)
    for metric, found in human_ceiling(scores):
        yield result(metric, found)


def _between_givens(line: Line) -> Iterator[Result]:
    """What a system was told against what else it was told, paired by prompt and attribute."""
    rated = line.frame.filter(pl.col("rating").is_not_null() & pl.col("given").is_not_null())
    for generator in rated["generator"].unique(maintain_order=True):
        own = rated.filter(pl.col("generator").eq_missing(pl.lit(generator)))
        givens = own["given"].unique(maintain_order=True).to_list()
        for place, first in enumerate(givens):
            for second in givens[place + 1 :]:
                other = own.filter(pl.col("given") == second).select(
                    "group", "target", pl.col("rating").alias("other")
                )
                both = own.filter(pl.col("given") == first).join(other, on=["group", "target"], how="inner")
                gap = (both["rating"] - both["other"]).cast(pl.Float64).to_numpy()
                found = clustered(gap, both["person"], both["prompt"])
                yield _of(line, "rating_difference", (generator, first), own, found, {"against": second})


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
        own = [rate for generator, rate in rates.items() if same_model(line.name, str(generator))]
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


def line_coverage(frame: pl.DataFrame) -> float | None:
    """The share of what was to be asked that brought an answer."""
    asked = int(frame["asked"].sum())
    return int(frame["answered"].sum()) / asked if asked else None


def worst_coverage(scores: PreferenceScores) -> tuple[str, float] | None:
    """The rater asked for with the least coverage; free controls must not hide a judge that fails."""
    own = [line for line in scores.lines if line.control != "votes in the data"]
    found = [
        (line.name, share)
        for line in [line for line in own if line.asked_for] or own
        if (share := line_coverage(line.frame)) is not None
    ]
    for column, name in scores.detectors.items():
        if len(scores.units):
            found.append((name, 1 - scores.units[column].null_count() / len(scores.units)))
    return min(found, key=lambda one: one[1], default=None)


def _by_item(rated: pl.DataFrame) -> pl.DataFrame:
    return rated.group_by("item", maintain_order=True).agg(
        pl.col("rating").mean(), pl.col("person", "prompt").first()
    )


def _how(estimate: Estimate, part: pl.DataFrame) -> str | None:
    clustered_both = estimate.low is not None and prompts_recur(part["person"], part["prompt"])
    return "; ".join(filter(None, [estimate.note, HOW if clustered_both else None])) or None


def _of(
    line: Line,
    metric: str,
    system: System,
    part: pl.DataFrame,
    estimate: Estimate,
    where: dict[str, str] | None = None,
) -> Result:
    two_way = metric not in ("spearman", "kappa_weighted")
    note = _how(estimate, part) if two_way else estimate.note
    whole = replace(estimate, note="; ".join(filter(None, [note, *line.notes])) or None)
    return Result.of(
        whole,
        rater=line.name,
        system=system[0],
        given=system[1],
        view="attributes",
        metric=metric,
        slice=where,
        coverage=line_coverage(part),
        control=line.control,
        fingerprint=line.fingerprint,
    )
