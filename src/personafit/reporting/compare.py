"""Comparing runs: paired by item, clustered by person, said in words.

Two scores are comparable when the instrument that made them is the same but for who is compared: same data, same
question, same view. Anything else is refused unless asked for, and then only shared items count. Where several
comparisons are made at once, a difference must stand after Holm's adjustment to be called one; where none is found, the
smallest one that would have been is named, and whether the two are shown to be equivalent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from personafit._errors import UserError
from personafit.reporting.claims import Pair, difference_claim, no_claim, shown_p
from personafit.reporting.results import SYSTEM_COLUMNS, RunScores
from personafit.statistics import Estimate, paired_difference
from personafit.statistics.decisions import (
    ALPHA,
    MARGIN,
    Effect,
    Finding,
    Verdict,
    decide_together,
    holm,
)
from personafit.statistics.ranking import PermutationTest, paired_permutation
from personafit.store import MET

__all__ = [
    "ALPHA",
    "Comparison",
    "Contestant",
    "compare_runs",
    "compare_with_base",
    "contestants",
    "fitted_notes",
    "paired_items",
    "shown_p",
]


@dataclass(frozen=True)
class Contestant:
    """A rater (or a system as a rater judged it) under one view of one run."""

    run: str
    rater: str
    system: str | None
    given: str | None
    view: str
    scores: pl.DataFrame
    met_people: bool = False
    """Whether the rater was fitted on people of the run."""

    @property
    def name(self) -> str:
        """How the contestant is called in sentences."""
        if self.system:
            told = f" given {self.given}" if self.given else ""
            return f"{self.system}{told} (judged by {self.rater})"
        return f"{self.rater} ({self.view})"


@dataclass(frozen=True)
class Comparison:
    """The difference between two contestants, first minus second, tested beside the others of the command."""

    first: Contestant
    second: Contestant
    metric: str
    difference: Estimate
    tested: Finding
    permutation: PermutationTest
    """The same question asked without any distribution, swapping the two for a whole person at a time."""
    scores: tuple[float, float]
    """What each scored on the shared items, added up."""
    p_permutation_holm: float | None = None

    @property
    def p_value(self) -> float | None:
        """By the same clustered variance as the interval."""
        return self.tested.p

    @property
    def p_holm(self) -> float | None:
        """`p_value` adjusted for the number of comparisons made together."""
        return self.tested.p_adjusted

    @property
    def met_people(self) -> list[str]:
        """Contestants that were fitted on people of their run: nothing is claimed of them."""
        return [one.name for one in (self.first, self.second) if one.met_people]

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference can be claimed, after the adjustment; None where nothing can be said."""
        if self.met_people or self.tested.verdict in (Verdict.UNDEFINED, Verdict.TOO_FEW):
            return None
        return self.tested.decided

    def sentence(self) -> str:
        """The outcome in words."""
        first, second = self.first.name, self.second.name
        if first == second:
            first, second = f"{first} in {self.first.run}", f"{second} in {self.second.run}"
        tests = ""
        if self.tested.tests > 1 and self.permutation.p is not None:
            tests = f", permutation p {shown_p(self.permutation.p)}"
        pair = Pair(first, second, self.metric, scores=self.scores, tests=tests)
        if self.met_people:
            return no_claim(pair, self.tested, self.met_people)
        return difference_claim(pair, self.tested)


def compare_runs(
    first: RunScores, second: RunScores, anyway: bool = False, margin: float = MARGIN
) -> list[Comparison]:
    """Every comparison between the raters (or systems) asked for in one run and in the other, tested together."""
    return _tested(_compared(first, second, anyway), margin)


def fitted_notes(runs: Sequence[RunScores]) -> list[str]:
    """What the runs say of raters that met the people they were fitted on: such scores are no evidence."""
    notes = (note for scores in runs for note in scores.run.config.get("notes", []))
    return list(dict.fromkeys(note for note in notes if MET in note))


def compare_with_base(
    runs: Sequence[RunScores], anyway: bool = False, margin: float = MARGIN
) -> list[Comparison]:
    """Every other run against the first, with p-values adjusted for all comparisons together."""
    made = [one for other in runs[1:] for one in _compared(runs[0], other, anyway)]
    return _tested(made, margin)


Compared = tuple[Contestant, Contestant, str, Estimate, pl.DataFrame]
"""Two contestants, the metric, their difference, and the items both answered."""


def _compared(first: RunScores, second: RunScores, anyway: bool) -> list[Compared]:
    if not anyway:
        _check_comparable(first, second)
    metric = first.info["metric"]
    return [
        (one, two, metric, paired_difference(one.scores, two.scores, "accuracy"), paired_items(one, two))
        for one, two in _pairs(list(contestants(first)), list(contestants(second)))
    ]


def _tested(made: Sequence[Compared], margin: float) -> list[Comparison]:
    tested = decide_together([Effect(gap, margin=margin) for *_, gap, _ in made])
    permuted = [
        paired_permutation(both["gap"].to_numpy(), both["person"].to_numpy(), both["prompt"].to_numpy())
        for *_, both in made
    ]
    adjusted = holm([test.p for test in permuted])
    return [
        Comparison(
            one,
            two,
            metric,
            gap,
            found,
            permutation,
            (float(both["accuracy"].sum()), float(both["other"].sum())),
            q,
        )
        for (one, two, metric, gap, both), found, permutation, q in zip(
            made, tested, permuted, adjusted, strict=True
        )
    ]


def paired_items(first: Contestant, second: Contestant) -> pl.DataFrame:
    """The items both have an answer to, with the gap in score, first minus second."""
    both = first.scores.join(
        second.scores.select("item", pl.col("accuracy").alias("other")), on="item", how="inner"
    )
    gap = (pl.col("accuracy") - pl.col("other")).cast(pl.Float64)
    return both.with_columns(gap.alias("gap")).filter(pl.col("gap").is_not_null())


def _check_comparable(first: RunScores, second: RunScores) -> None:
    one, two = first.run, second.run
    if first.info["metric"] != second.info["metric"]:
        raise UserError(f"{one.name} reports {first.info['metric']} and {two.name} {second.info['metric']}.")
    if first.info["metric"] == "win_rate":
        judges = [{rater["fingerprint"] for rater in run.config["raters"]} for run in (one, two)]
        if not judges[0] & judges[1]:
            raise UserError(
                f"{one.name} and {two.name} have no judge in common: differences would be the judges'. "
                "Run both with the same judge, or say --anyway."
            )
    elif one.dataset != two.dataset:
        raise UserError(
            f"{one.name} and {two.name} were run on different data ({one.dataset}, {two.dataset}); "
            "say --anyway to compare them on the items they share."
        )
    if one.config["instrument"] != two.config["instrument"]:
        raise UserError(
            f"{one.name} and {two.name} asked the question differently; say --anyway to compare them."
        )


def contestants(scores: RunScores) -> Iterator[Contestant]:
    """Whoever was asked for in a run, under its headline view: raters, or systems as each rater judged them."""
    asked = [rater for rater in scores.raters if not rater["control"]] or scores.raters
    views = [view for view in scores.views if view == scores.info["view"]] or scores.views[:1]
    for rater, view in product(asked, views):
        frame = scores.scores[rater["fingerprint"], view]
        present = [name for name in SYSTEM_COLUMNS if name in frame.columns]
        systems = frame.select(present).unique(maintain_order=True).to_dicts() if present else [{}]
        for row in systems:
            own = (pl.col(name).eq_missing(pl.lit(value)) for name, value in row.items())
            part = frame.filter(pl.lit(True), *own)
            if scores.info["metric"] == "win_rate":
                part = _by_question(part)
            met = rater["fingerprint"] in scores.run.met_people
            yield Contestant(
                scores.run.name, rater["name"], row.get("system"), row.get("given"), view, part, met
            )


def _by_question(answers: pl.DataFrame) -> pl.DataFrame:
    """One row per person, question and opponent: what answers share, whatever line they stand on; several are averaged."""
    keys = [name for name in ("person", "prompt", "against") if name in answers.columns]
    means = answers.group_by(keys, maintain_order=True).agg(pl.col("accuracy").mean())
    return means.with_columns(pl.concat_str(keys, separator="|").alias("item"))


def _pairs(first: list[Contestant], second: list[Contestant]) -> Iterator[tuple[Contestant, Contestant]]:
    """Everyone of one run with everyone of the other; where names recur, like with like."""
    shared = {one.rater for one in first} & {two.rater for two in second}
    for one, two in product(first, second):
        if (one.rater == two.rater) if shared else True:
            yield one, two
