"""Comparing runs: paired by item, clustered by person, said in words.

Two scores are comparable when the instrument that made them is the same but for who is compared: same data, same
question, same view. Anything else is refused unless asked for, and then only shared items count. Where several
comparisons are made at once, a difference must stand after Holm's adjustment to be called one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import polars as pl

from personafit._errors import UserError
from personafit.reporting.results import SYSTEM_COLUMNS, RunScores
from personafit.statistics import Estimate, clustered_p_value, paired_difference, prompts_recur
from personafit.statistics.ranking import PermutationTest, holm, paired_permutation

ALPHA = 0.05


@dataclass(frozen=True)
class Contestant:
    """A rater (or a system as a rater judged it) under one view of one run."""

    run: str
    rater: str
    system: str | None
    given: str | None
    view: str
    scores: pl.DataFrame

    @property
    def name(self) -> str:
        """How the contestant is called in sentences."""
        if self.system:
            told = f" given {self.given}" if self.given else ""
            return f"{self.system}{told} (judged by {self.rater})"
        return f"{self.rater} ({self.view})"


@dataclass(frozen=True)
class Comparison:
    """The difference between two contestants, first minus second."""

    first: Contestant
    second: Contestant
    metric: str
    difference: Estimate
    p_value: float | None
    """By the same clustered variance as the interval."""
    permutation: PermutationTest
    """The same question asked without any distribution, swapping the two for a whole person at a time."""
    p_holm: float | None = None
    """`p_value` adjusted for the number of comparisons made together."""
    p_permutation_holm: float | None = None
    made_together: int = 1

    @property
    def distinguishable(self) -> bool | None:
        """Whether a difference can be claimed, after the adjustment; None where nothing can be said."""
        gap = self.difference
        if gap.low is None or gap.high is None:
            return None
        apart = gap.low > 0 or gap.high < 0
        return apart and (self.made_together == 1 or self.p_holm is None or self.p_holm <= ALPHA)

    def sentence(self) -> str:
        """The outcome in words."""
        gap = self.difference
        first, second = self.first.name, self.second.name
        if first == second:
            first, second = f"{first} in {self.first.run}", f"{second} in {self.second.run}"
        if gap.value is None:
            return f"{first} and {second} cannot be compared: they share no item with an answer from both."
        shared = f"{gap.n:,} shared items, {gap.people} people"
        points = f"{100 * abs(gap.value):.1f} points"
        if gap.low is None or gap.high is None:
            return f"{first} and {second} differ by {points}, but {gap.note} ({shared})."
        said = f", p {shown_p(self.p_value)}; {shared}"
        if self.made_together > 1:
            tests = f"Holm p {shown_p(self.p_holm)} over {self.made_together} comparisons"
            said += f"; {tests}, permutation p {shown_p(self.permutation.p)}"
        if self.distinguishable:
            turned = gap.high < 0
            better, worse = (second, first) if turned else (first, second)
            said = shown_interval(gap.low, gap.high, turned) + said
            return f"{better} is better than {worse} by {points} of {self.metric} ({said})."
        said = f"{shown_interval(gap.low, gap.high)}, first minus second{said}"
        once = ""
        if gap.low > 0 or gap.high < 0:
            once = f" once all {self.made_together} comparisons are counted"
        return (
            f"{first} and {second} are not distinguishable{once}: "
            f"they differ by {points} of {self.metric} ({said})."
        )


def compare_runs(first: RunScores, second: RunScores, anyway: bool = False) -> list[Comparison]:
    """Every comparison between the raters (or systems) asked for in one run and in the other."""
    if not anyway:
        _check_comparable(first, second)
    metric = first.info["metric"]
    comparisons = []
    for one, two in _pairs(list(contestants(first)), list(contestants(second))):
        both = paired_items(one, two)
        p_value = None
        if len(both):
            recur = prompts_recur(both["person"], both["prompt"])
            p_value = clustered_p_value(both["gap"], both["person"], both["prompt"] if recur else None)
        gap = paired_difference(one.scores, two.scores, "accuracy")
        permutation = paired_permutation(both["gap"].to_numpy(), both["person"].to_numpy())
        comparisons.append(Comparison(one, two, metric, gap, p_value, permutation))
    return comparisons


def fitted_notes(runs: Sequence[RunScores]) -> list[str]:
    """What the runs say of raters that met the people they were fitted on: such scores are no evidence."""
    notes = (note for scores in runs for note in scores.run.config.get("notes", []))
    return list(dict.fromkeys(note for note in notes if "was fitted on" in note))


def compare_with_base(runs: Sequence[RunScores], anyway: bool = False) -> list[Comparison]:
    """Every other run against the first, with p-values adjusted for all comparisons together."""
    made = [comparison for other in runs[1:] for comparison in compare_runs(runs[0], other, anyway)]
    adjusted = holm([comparison.p_value for comparison in made])
    permuted = holm([comparison.permutation.p for comparison in made])
    return [
        replace(comparison, p_holm=p, p_permutation_holm=q, made_together=len(made))
        for comparison, p, q in zip(made, adjusted, permuted, strict=True)
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
            yield Contestant(scores.run.name, rater["name"], row.get("system"), row.get("given"), view, part)


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


def shown_interval(low: float, high: float, turned: bool = False) -> str:
    """An interval in points as sentences say it; turned where the words go from the second to the first."""
    if turned:
        low, high = -high, -low
    return f"95 % interval {100 * low:+.1f} to {100 * high:+.1f}"


def shown_p(value: float | None) -> str:
    """A p-value as sentences say it."""
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"
