"""A preference run opened up: for every rater one row per unit, with the mark it gave and what people gave.

A unit is an item and one of its attributes. Marks of both orders and all samples are averaged, so that the pull of a place
cancels. Differences of scores are put on the scale by rank, over all units of the run at once.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from personafit.benchmarks.recentering.responses import HUMAN, SIMULATED
from personafit.items.preference import MENTION, MIDDLE, PREFERENCE
from personafit.kinds.lines import Line, control_of
from personafit.reporting.preference.reading import preference_answers, said_before, unit_rows
from personafit.statistics.preferences import scale_by_rank
from personafit.store import RunRecord, Status, Store

VOTES = "votes in the data"
SHOWN = "attributes"
"""What raters are shown of the person."""
CONTROLS = {"rule:length": "longer answer", "rule:mention": "mention"}
BY_RANK = "its differences of scores are put on the scale by rank: none is 3, the largest either way 1 or 5"


@dataclass(frozen=True)
class PreferenceScores:
    """A run with all of its lines."""

    run: RunRecord
    info: dict[str, Any]
    units: pl.DataFrame
    """Every unit: item, target, person, prompt, group, generator, given, attribute, longer, names, human; `longer` and `names` are
    null where an answer was not made."""
    lines: list[Line]
    """One per rater, over the answers of all systems; frames have every unit with rating and what follows from it."""
    answers: pl.DataFrame
    panel: pl.DataFrame
    """Single votes of people, or of simulated ones where there are no others."""
    people_are: str | None = None
    """Whose marks `human` holds: human, simulated, or the name of the gold, such as author; None without any."""
    detectors: dict[str, str] = field(default_factory=dict)
    """Models that said which attributes are named: column of the units to the rater's name."""

    @property
    def made(self) -> pl.DataFrame:
        """The units whose answer was made."""
        return self.units.filter(pl.col("names").is_not_null())


def load_preferences(store: Store, run: RunRecord) -> PreferenceScores:
    """Read a preference run back."""
    info = store.dataset_info(run.dataset)
    units, answers = unit_rows(store, run), preference_answers(store, run)
    gold, votes = said_before(store, run.dataset)
    people_are, panel, human = _people(gold, votes, info["gold"])
    units = units.join(human, on=["item", "target"], how="left", maintain_order="left")
    detectors: dict[str, str] = {}
    for rater in run.config["raters"]:
        if rater["question"] == MENTION:
            column = f"names_{len(detectors)}"
            detectors[column] = rater["name"]
            units = units.join(
                _named(answers, rater, column), on=["item", "target"], how="left", maintain_order="left"
            )
    samples = int(run.config["samples"])
    lines = [
        _line(units, answers, rater, samples)
        for rater in run.config["raters"]
        if rater["question"] == PREFERENCE
    ]
    lines += _voting_models(units, votes)
    return PreferenceScores(run, info, units, lines, answers, panel, people_are, detectors)


def _people(
    gold: pl.DataFrame, votes: pl.DataFrame, gold_name: str
) -> tuple[str | None, pl.DataFrame, pl.DataFrame]:
    """Whose marks count as people's, their single votes, and the mean of each unit."""
    mean = pl.col("value").mean().alias("human")
    for voter in (HUMAN, SIMULATED):
        panel = votes.filter(pl.col("voter") == voter)
        if not panel.is_empty():
            return voter, panel, panel.group_by("item", "target", maintain_order=True).agg(mean)
    own = gold.filter(pl.col("rater") == gold_name)
    own = gold if own.is_empty() else own
    name = None if own.is_empty() else str(own["rater"][0])
    return name, votes.clear(), own.group_by("item", "target", maintain_order=True).agg(mean)


def people_of(gold: pl.DataFrame, votes: pl.DataFrame, gold_name: str) -> str | None:
    """Whose marks count as people's: human, simulated, or the name of the gold; None without any."""
    return _people(gold, votes, gold_name)[0]


def _named(answers: pl.DataFrame, rater: dict[str, Any], column: str) -> pl.DataFrame:
    mine = answers.filter(
        (pl.col("rater") == rater["fingerprint"])
        & (pl.col("status") == Status.OK.value)
        & (pl.col("target") != "")
    )
    return mine.group_by("item", "target", maintain_order=True).agg(
        (pl.col("value").mean() >= 0.5).alias(column)
    )


def _line(units: pl.DataFrame, answers: pl.DataFrame, rater: dict[str, Any], samples: int) -> Line:
    mine = answers.filter((pl.col("rater") == rater["fingerprint"]) & (pl.col("target") != ""))
    ok = mine.filter((pl.col("status") == Status.OK.value) & pl.col("value").is_not_null())
    by_order = ok.group_by("item", "target", "order", maintain_order=True).agg(
        pl.col("value").mean(), pl.len().alias("answered"), pl.col("label").is_null().any().alias("scored")
    )
    per_unit = by_order.group_by("item", "target", maintain_order=True).agg(
        pl.col("value").mean().alias("rating"),
        pl.col("value").filter(pl.col("order") == "10").first().alias("first"),
        pl.col("value").filter(pl.col("order") == "01").first().alias("last"),
        pl.col("answered").sum().cast(pl.Int64),
        pl.col("scored").any(),
    )
    frame = units.join(per_unit, on=["item", "target"], how="left", maintain_order="left").with_columns(
        pl.col("answered").fill_null(0), pl.lit(rater["orders"] * samples).alias("asked")
    )
    notes: tuple[str, ...] = ()
    if bool(frame["scored"].any()):
        # A unit with a mark, as that of an answer that was not made, is on the scale already.
        differences = frame.select(pl.when("scored").then("rating").cast(pl.Float64).fill_null(np.nan))
        marks = pl.Series(scale_by_rank(differences.to_series().to_numpy())).fill_nan(None)
        frame = frame.with_columns(pl.when("scored").then(marks).otherwise("rating").alias("rating"))
        notes = (BY_RANK,)
    frame = rated_units(frame.drop("scored"))
    if rater["orders"] == 2:  # the pull to the answer shown first, and whether both orders say the same
        both = pl.all_horizontal(pl.col("first", "last", "longer").is_not_null())
        same = (pl.col("first") - MIDDLE).sign() == (pl.col("last") - MIDDLE).sign()
        frame = frame.with_columns(
            pl.when(both).then((pl.col("first") - pl.col("last")) / 2).alias("pull"),
            pl.when(both).then(same.cast(pl.Float64)).alias("same"),
        )
    control = control_of(rater["name"], None, CONTROLS, {})
    return Line(
        rater["name"], rater["fingerprint"], SHOWN, None, None, frame, control, not rater["control"], notes
    )


def rated_units(frame: pl.DataFrame) -> pl.DataFrame:
    """Units with a rating as a line has them: whose answers they are, and what follows from the rating.

    What is said of an answer and not of its attributes stands in its first row.
    """
    mark, longer = pl.col("rating").cast(pl.Float64), pl.col("longer").cast(pl.Float64)
    win = pl.when(mark > MIDDLE).then(1.0).when(mark < MIDDLE).then(0.0).when(mark == MIDDLE).then(0.5)
    no_better = (mark.mean().over("item") <= MIDDLE).cast(pl.Float64)
    return frame.with_columns(
        rating=mark,
        unit=pl.concat_str("item", "target", separator="|"),
        system=pl.col("generator").fill_null(""),
        given=pl.col("given").fill_null(""),
        no_better=(mark <= MIDDLE).cast(pl.Float64),
        no_better_items=once_an_item(no_better),
        win=win,
        length_difference=longer.fill_null(float("nan")),
    )


def once_an_item(value: pl.Expr) -> pl.Expr:
    """A value in the first row of each item, and null in the others."""
    return pl.when(pl.col("item").is_first_distinct()).then(value)


def _voting_models(units: pl.DataFrame, votes: pl.DataFrame) -> list[Line]:
    """Models whose votes came with the data: nobody was asked here."""
    lines = []
    machines = votes.filter(~pl.col("voter").is_in([HUMAN, SIMULATED]))
    for name in machines["rater"].unique(maintain_order=True).sort():
        mine = machines.filter(pl.col("rater") == name)
        said = mine.select("item", "target", pl.col("value").alias("rating"))
        frame = units.join(said, on=["item", "target"], how="left", maintain_order="left").with_columns(
            pl.col("rating").is_not_null().cast(pl.Int64).alias("answered"),
            pl.lit(1).alias("asked"),
        )
        note = "votes that came with the data; nobody was asked here"
        lines.append(Line(name, name, SHOWN, None, None, rated_units(frame), VOTES, False, (note,)))
    return lines
