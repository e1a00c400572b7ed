"""Comparing runs of any kind: paired by unit, clustered by person and prompt, said in words.

Two scores are comparable when the instrument that made them is the same but for who is compared: same data, same
question, same view; systems need the same judge. Anything else is refused unless asked for, and then only shared units count.
Where several comparisons are made at once, a difference must stand after Holm's adjustment to be called one; where none is found, the
smallest one that would have been is named, and whether the two are shown to be equivalent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import polars as pl

from personafit._errors import UserError
from personafit.kinds.lines import DISTANCE, UNIT_SCALE, Line, Metric, RunLines, paired_rows
from personafit.reporting.claims import POINTS, FigureUnit, Pair, difference_claim, no_claim, shown_p
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.decisions import (
    ALPHA,
    MARGIN,
    Conclusion,
    Hypothesis,
    HypothesisTest,
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
    "shown_p",
    "wanted_metrics",
]

MARKS = FigureUnit(1.0, "marks", 2)


@dataclass(frozen=True)
class Contestant:
    """A rater (or a system as a rater judged it) under one view of one run."""

    run: str
    line: Line
    met_people: bool = False
    """Whether the rater was fitted on people of the run."""

    @property
    def rater(self) -> str | None:
        """The rater's name."""
        return self.line.rater

    @property
    def made(self) -> tuple[str | None, str | None]:
        """The system whose products were judged, and what it was told."""
        return self.line.system, self.line.given

    @property
    def name(self) -> str:
        """How the contestant is called in sentences."""
        line = self.line
        if line.system:
            told = f" given {line.given}" if line.given else ""
            return f"{line.system}{told} (judged by {line.rater})" if line.rater else f"{line.system}{told}"
        return f"{line.rater} ({line.view})"


@dataclass(frozen=True)
class Comparison:
    """The difference between two contestants, first minus second, tested beside the others of the command."""

    first: Contestant
    second: Contestant
    measured: Metric
    difference: Estimate
    tested: HypothesisTest
    permutation: PermutationTest
    """The same question asked without any distribution, swapping the two for a whole person at a time."""
    scores: tuple[float, float] | None
    """What each scored on the shared units, added up; None where that says nothing."""
    p_permutation_holm: float | None = None

    @property
    def metric(self) -> str:
        """The name of the metric."""
        return self.measured.name

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
        if self.met_people or self.tested.verdict in (Conclusion.UNDEFINED, Conclusion.TOO_FEW):
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
        judged = _judges_differ(self.first, self.second, self.measured)
        pair = Pair(
            first,
            second,
            scaled_name(self.measured),
            scores=self.scores,
            tests=tests,
            unit=unit_of(self.measured),
            above=self._above,
            lower=self.measured.better == "lower" and not judged,
        )
        if self.met_people:
            return no_claim(pair, self.tested, self.met_people)
        return difference_claim(pair, self.tested)

    @property
    def _above(self) -> str:
        """What is said of the one with the good figure; a judge that gives higher marks is not the better one for it."""
        if self.measured.name == DISTANCE:
            return "is closer to people than"
        if _judges_differ(self.first, self.second, self.measured):
            return "gives higher marks than" if unit_of(self.measured) == MARKS else "is above"
        return "is better than" if self.measured.better else "is above"


def unit_of(metric: Metric) -> FigureUnit:
    """How differences of a metric are written: in points where it is a share, else in its own units."""
    return POINTS if metric.bounds in (UNIT_SCALE, (-1.0, 1.0)) else MARKS


def scaled_name(metric: Metric) -> str:
    """A metric's name, with its scale where it is not that of a share."""
    if metric.bounds is None or metric.name == DISTANCE or unit_of(metric) == POINTS:
        return metric.name
    return f"{metric.name} ({metric.bounds[0]:g} to {metric.bounds[1]:g})"


def scale_width(metric: Metric) -> float:
    """How wide a metric's scale is: what margins and planned differences are shares of; 1 where it has no ends."""
    return 1.0 if metric.bounds is None else metric.bounds[1] - metric.bounds[0]


def compare_runs(
    first: RunLines, second: RunLines, anyway: bool = False, margin: float = MARGIN, metric: str | None = None
) -> list[Comparison]:
    """Every comparison between the raters (or systems) asked for in one run and in the other, tested together."""
    return compare_with_base([first, second], anyway, margin, metric)


def fitted_notes(runs: Sequence[RunLines]) -> list[str]:
    """What the runs say of raters that met the people they were fitted on: such scores are no evidence."""
    notes = (note for opened in runs for note in opened.run.config.get("notes", []))
    return list(dict.fromkeys(note for note in notes if MET in note))


def compare_with_base(
    runs: Sequence[RunLines], anyway: bool = False, margin: float = MARGIN, metric: str | None = None
) -> list[Comparison]:
    """Every other run against the first, with p-values adjusted for all comparisons together.

    `margin` is a share of the metric's scale; `metric` names another than those a run of this kind is summed up by.
    """
    made = [one for other in runs[1:] for one in _compared(runs[0], other, anyway, metric)]
    return _tested(made, margin)


Compared = tuple[Contestant, Contestant, Metric, Estimate, pl.DataFrame]
"""Two contestants, the metric, their difference, and the units both have a number for."""


def _compared(first: RunLines, second: RunLines, anyway: bool, metric: str | None) -> list[Compared]:
    if (
        first.run.dataset != second.run.dataset
    ):  # systems that answered the same questions in runs of their own
        first, second = first.by_system(), second.by_system()
    measured = wanted_metrics(first, metric)
    if not anyway:
        _check_comparable(first, second, measured)
    found = []
    for one_metric in measured:
        if not one_metric.paired:
            raise UserError(
                f"{one_metric.name} is no figure of single items, so runs cannot be compared by it."
            )
        ours, theirs = (list(contestants(opened, one_metric)) for opened in (first, second))
        for one, two in _pairs(ours, theirs, one_metric):
            for tested in (one_metric, *_distances(first, one, two, one_metric)):
                both = paired_rows(one.line, two.line, tested)
                found.append((one, two, tested, _difference(both, tested), both))
    return found


def wanted_metrics(opened: RunLines, metric: str | None) -> Sequence[Metric]:
    """The metric of that name, or all that sum such a run up."""
    return opened.headlines if metric is None else [opened.metric(metric)]


def _difference(both: pl.DataFrame, metric: Metric) -> Estimate:
    return mean_by_item(both, "difference", metric.difference_bounds)


def _distances(opened: RunLines, one: Contestant, two: Contestant, metric: Metric) -> Iterator[Metric]:
    """Where two judges marked the same things and people did too: which of them is closer to people."""
    if _judges_differ(one, two, metric):
        for reference in opened.references:
            if reference.metric == metric.name and all(reference.known(c.line) for c in (one, two)):
                yield reference.distance


def _judges_differ(one: Contestant, two: Contestant, metric: Metric) -> bool:
    """Whether two judges say different things of the same products."""
    return metric.about == "product" and one.made == two.made and one.rater != two.rater


def _tested(made: Sequence[Compared], margin: float) -> list[Comparison]:
    tested = decide_together(
        [Hypothesis(gap, margin=margin * scale_width(metric)) for _, _, metric, gap, _ in made]
    )
    permuted = [
        paired_permutation(
            both["difference"].to_numpy(), both["person"].to_numpy(), both["prompt"].to_numpy()
        )
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
            _sums(both) if metric.values is None and metric.bounds == UNIT_SCALE else None,
            q,
        )
        for (one, two, metric, gap, both), found, permutation, q in zip(
            made, tested, permuted, adjusted, strict=True
        )
    ]


def _sums(both: pl.DataFrame) -> tuple[float, float]:
    return float(both["value"].sum()), float(both["other"].sum())


def _check_comparable(first: RunLines, second: RunLines, metrics: Sequence[Metric]) -> None:
    one, two = first.run, second.run
    if first.kind != second.kind:
        raise UserError(
            f"{one.name} is a {first.kind} run and {two.name} a {second.kind} run: nothing is measured in both."
        )
    if first.headline.name != second.headline.name:
        raise UserError(f"{one.name} reports {first.headline.name} and {two.name} {second.headline.name}.")
    if one.config.get("user") != two.config.get("user"):
        raise UserError(
            f"{one.name} and {two.name} were held with different user agents: differences would be the users'. "
            "Run both with the same --user, or say --anyway."
        )
    same_data = one.dataset == two.dataset
    if any(metric.about == "product" for metric in metrics):
        judges = [{rater["fingerprint"] for rater in run.config["raters"]} for run in (one, two)]
        same_products = same_data and _products(first) == _products(second)
        if any(judges) and not judges[0] & judges[1] and not same_products:
            raise UserError(
                f"{one.name} and {two.name} have no judge in common: differences would be the judges'. "
                "Run both with the same judge, or say --anyway."
            )
    elif not same_data:
        raise UserError(
            f"{one.name} and {two.name} were run on different data ({one.dataset}, {two.dataset}); "
            "say --anyway to compare them on the items they share."
        )
    if one.config.get("instrument") != two.config.get("instrument"):
        raise UserError(
            f"{one.name} and {two.name} asked the question differently; say --anyway to compare them."
        )


def _products(opened: RunLines) -> set[tuple[str | None, str | None]]:
    """The systems whose products a run judged, and what they were told."""
    return {(line.system, line.given) for line in opened.lines}


def contestants(opened: RunLines, metric: Metric | None = None) -> Iterator[Contestant]:
    """Whoever was asked for in a run, under its headline view: raters, or systems as each rater judged them.

    Systems that are controls, and those told nothing or of somebody else beside others, are no contestants.
    """
    measured = opened.headline if metric is None else metric
    lines = [line for line in opened.lines if measured.applies(line)]
    lines = [line for line in lines if line.asked_for] or lines
    headline = opened.headline_view(lines)
    lines = [line for line in lines if line.view == headline]
    proper = {line.rater for line in lines if line.control is None}
    for line in lines:
        if line.control is None or line.rater not in proper:
            yield Contestant(opened.run.name, line, line.fingerprint in opened.run.met_people)


def _pairs(
    first: Sequence[Contestant], second: Sequence[Contestant], metric: Metric
) -> Iterator[tuple[Contestant, Contestant]]:
    """Everyone of one run with everyone of the other; where judges recur, like with like, else judges of one product."""
    shared = {one.rater for one in first} & {two.rater for two in second}
    products = {one.made for one in first} & {two.made for two in second}
    for one, two in product(first, second):
        if shared:
            if one.rater == two.rater:
                yield one, two
        elif metric.about == "rater" or not products or one.made == two.made:
            yield one, two
