"""Claims: sentences on tested estimates, and how their numbers are written.

Claims of one report are tested together (`decide_together`): with Holm's adjustment the chance that any of them is false is at most
5 %. `claim` writes the sentence from a tested estimate and the words for each verdict; `LEGEND` explains the tests to the reader.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp, log

from personafit.reports.result import Result, plain, signed
from personafit.statistics.clusters import FEWEST_PEOPLE
from personafit.statistics.decisions import (
    MARGIN,
    Conclusion,
    Hypothesis,
    HypothesisTest,
    Measured,
    decide_together,
    is_constant,
)

LEGEND = (
    "Claims are tested together, with Holm's adjustment: the chance that any of them is false is at most 5 %. What a run "
    "“could have detected” is the smallest true effect that it detects with 80 % power (a lift over two equal controls: about "
    "70 %); “equivalent” is shown by two one-sided tests against the margin (--margin)."
)


def legend_for(findings: Iterable[HypothesisTest | None]) -> list[str]:
    """Return the legend if anything was tested."""
    return [LEGEND] if any(one is not None and one.p is not None for one in findings) else []


@dataclass(frozen=True)
class FigureUnit:
    """How a figure is written: its scale, unit name and decimals."""

    scale: float = 100.0
    name: str = "points"
    digits: int = 1

    def plain(self, value: float) -> str:
        """Format an amount, such as `5.0 points`."""
        return f"{plain(self.scale * value, self.digits)} {self.name}"

    def signed(self, value: float) -> str:
        """Format a difference without its unit, such as `+5.0`."""
        return signed(self.scale * value, self.digits)

    def within(self, margin: float) -> str:
        """Format the equivalence range around 0, such as `±5.0 points`."""
        return f"±{self.plain(margin)}"


@dataclass(frozen=True)
class OddsRatio(FigureUnit):
    """Formats differences in log-odds as odds ratios."""

    def plain(self, value: float) -> str:
        """Format an amount, such as `an odds ratio of 1.30`."""
        return "an odds ratio of 100" if value > log(100) else f"an odds ratio of {exp(value):.2f}"

    def within(self, margin: float) -> str:
        """Format the equivalence range around a ratio of 1."""
        return f"odds ratios of {exp(-margin):.2f} to {exp(margin):.2f}"


POINTS = FigureUnit()
LOG_ODDS = FigureUnit(1.0, "in log-odds", 2)
MARKS = FigureUnit(1.0, "marks", 2)
"""Marks on a rating scale, such as 1 to 5."""
ODDS = OddsRatio(1.0)


@dataclass(frozen=True)
class ClaimWords:
    """The sentence about a subject for each conclusion of a test."""

    above: str
    below: str
    unclear: str
    equivalent: str
    """Used if the effect is shown to be smaller than the margin."""
    constant: str
    """Used if nothing varies and the effect is exactly 0."""

    def about(self, subject: str) -> "ClaimWords":
        """Return the same words with `{}` replaced by the subject."""
        words = (self.above, self.below, self.unclear, self.equivalent, self.constant)
        return ClaimWords(*(text.format(subject) for text in words))


def claim(
    subject: str,
    tested: HypothesisTest,
    words: ClaimWords,
    figure: str,
    unit: FigureUnit = POINTS,
    signed_figure: bool = True,
) -> str:
    """Return one sentence: the claim that the verdict supports, with its figure in brackets.

    `figure` names the figure, such as `lift`; its value and interval are added. It is empty if the verdict already gives them.
    """
    estimate, verdict = tested.estimate, tested.verdict
    if estimate.value is None:
        return f"{subject}: nothing can be said about its {figure}."
    number = f"{figure} {_number(estimate.value, unit, signed_figure)}" if figure else ""
    if verdict is Conclusion.CONSTANT:
        return f"{subject}: {words.constant}" + (
            f" ({number} on {items_words(estimate)})." if figure else "."
        )
    if verdict is Conclusion.TOO_FEW:
        return f"{subject}: " + (f"{number} on {items_words(estimate)}, " if figure else "") + f"{TOO_FEW}."
    said = {
        Conclusion.ABOVE: words.above,
        Conclusion.BELOW: words.below,
        Conclusion.EQUIVALENT: words.equivalent,
    }.get(verdict, words.unclear)
    brackets = [number + interval_words(estimate, unit, signed_figure)] if figure else []
    if not tested.decided:
        brackets.append(null_words(tested, unit))
    return f"{subject}: {said} ({'; '.join(brackets)})." if brackets else f"{subject}: {said}."


def null_words(tested: HypothesisTest, unit: FigureUnit = POINTS) -> str:
    """Describe what a result without a finding could have detected, and whether it shows equivalence."""
    if tested.detectable is None:
        return "without an interval nothing can be told"
    could = f"this run could have detected {unit.plain(tested.detectable)} or more"
    if unit is POINTS and tested.detectable > 1:  # no share and no difference of shares is that large
        could = "this run was too small to detect any effect"
    within = unit.within(tested.margin)
    if tested.verdict is Conclusion.EQUIVALENT:
        return f"{could}; equivalent within {within}, p {shown_p(tested.p_equivalent)}"
    return f"{could}; not shown to be equivalent within {within}"


def interval_words(estimate: Measured, unit: FigureUnit = POINTS, signed_figure: bool = True) -> str:
    """Format the interval after a figure, such as `, 1.1 to 7.3`; empty without one."""
    if estimate.low is None or estimate.high is None:
        return ""
    ends = (estimate.low, estimate.high)
    written = [unit.signed(end) if signed_figure else plain(unit.scale * end, unit.digits) for end in ends]
    return f", {' to '.join(written)}"


TOO_FEW = f"too few people to claim anything ({FEWEST_PEOPLE} are needed)"


def is_few(found: Measured) -> bool:
    """Return whether a figure is over too few people for an interval, so that it is shown as a count."""
    return found.value is not None and 0 < found.people < FEWEST_PEOPLE


def same_words(found: Measured, difference: bool = False) -> str | None:
    """Return the words that replace an interval where nothing varies: a tie, or no difference, on every item."""
    if difference:
        return "same answers" if is_constant(found, 0.0) else None
    return "ties throughout" if is_constant(found, 0.5) else None


COUNTED = frozenset(
    {"accuracy", "accuracy_debiased", "win_rate", "win_rate_debiased", "consistency", "restraint"}
)
"""Metrics that are shares of items, so they can be shown as counts."""


def count_of(result: Result) -> tuple[str, str] | None:
    """Return a share over few people as the two texts of a cell, `4 of 4` and `2 people`; None for other results."""
    if not is_few(result) or result.metric not in COUNTED:
        return None
    count, _, people = counted(result).partition(", ")
    return count, people


def counted(found: Measured) -> str:
    """Format a share over few people as a count, such as `4 of 4, 2 people`."""
    hits = count_words((found.value or 0.0) * found.n)
    return f"{hits} of {found.n:,}, {people_words(found.people)}"


def shown_p(value: float | None) -> str:
    """Format a p-value for sentences."""
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def count_words(hits: float) -> str:
    """Format a number of hits, such as `4` or `3.5`."""
    return f"{hits:.2f}".rstrip("0").rstrip(".")  # ties count ½, or 1/k of k


def _number(value: float, unit: FigureUnit, signed_figure: bool) -> str:
    return f"{unit.signed(value)} {unit.name}" if signed_figure else unit.plain(value)


def items_words(estimate: Measured) -> str:
    """Format what a figure is over, such as `49 items of 12 people`."""
    items = "1 item" if estimate.n == 1 else f"{estimate.n:,} items"
    return f"{items} of {people_words(estimate.people)}"


def people_words(count: int, such: str = "") -> str:
    """Format a number of people, such as `1 person`."""
    return f"1 {such}person" if count == 1 else f"{count:,} {such}people"


LARGER_OF = 2  # lift is over the larger of two controls


def decided_lifts(
    results: Iterable[Result], margin: float = MARGIN
) -> list[tuple[Result, HypothesisTest | None]]:
    """Test every total lift of raters that are not controls, together; the test is None for raters fitted on these people."""
    rows = [
        row
        for row in results
        if row.metric == "lift" and not row.slice and row.value is not None and row.control is None
    ]
    # The larger control is selected by the data: a lift below 0 may be due to that alone.
    questions = [Hypothesis(row, margin=margin, picked_from=LARGER_OF) for row in rows if not row.met_people]
    tested = iter(decide_together(questions))
    return [(row, None if row.met_people else next(tested)) for row in rows]


def lift_claims(results: Iterable[Result], margin: float = MARGIN) -> list[str]:
    """Return the sentences on whether each rater uses the person's context."""
    found = decided_lifts(results, margin)
    return [*(lift_claim(row, tested) for row, tested in found), *legend_for(tested for _, tested in found)]


def lift_claim(row: Result, tested: HypothesisTest | None) -> str:
    """Return the sentence on one lift; no test means that the rater was fitted on these people."""
    name = line_name(row.rater, row.system, row.system_context)
    if tested is None:
        return f"{name}: no claim, as it was fitted on people of this run (lift {POINTS.signed(row.value or 0.0)} points)."
    return claim(name, tested, lift_words(row, tested), "lift")


def lift_words(row: Result, tested: HypothesisTest) -> ClaimWords:
    """Return the claims on a lift, by the control that it is over."""
    told = told_name(row.system_context if row.rater is None else row.context)
    wrong = "over wrong:" in (row.note or "")
    if row.system and row.rater:  # a rater judged the system's answers, knowing the person or not
        other = "somebody else" if wrong else "nobody"
        return ClaimWords(
            above="its answers fit the person they are for",
            below=f"its answers win less often with a judge told about the person than with one told about {other}",
            unclear="no evidence that its answers fit the person they are for",
            equivalent=f"telling the judge about the person changes how often its answers win by less than {POINTS.plain(tested.margin)}",
            constant=f"the judge chooses the same whether it is told about the person or about {other}",
        )
    return ClaimWords(
        above=f"uses {told}",
        below=f"does worse with {told} than with a wrong person's"
        if wrong
        else f"does worse with {told} than without",
        unclear=f"no evidence that it uses {told}",
        equivalent=f"{told} changes its score by less than {POINTS.plain(tested.margin)}",
        constant=f"the same answers with {told} and {'with a wrong person’s' if wrong else 'without'}",
    )


def told_name(context: str | None) -> str:
    """Return a context's name in sentences."""
    return f"the {context}" if context in ("profile", "history") else f"“{context}”"


def line_name(rater: str | None, system: str | None, system_context: str | None) -> str:
    """Return the name of the rater and the system it judged."""
    if not system:
        return str(rater)
    if rater is None:
        return system
    return f"{rater} on {system}" + (f" ({system_context})" if system_context else "")


def told_system(found: Result) -> str:
    """Return the name of a system and what it was told, for sentences about it."""
    return f"{found.system} told “{found.system_context}”" if found.system_context else str(found.system)


def stage_loss(stage: str, lost: float, finding: HypothesisTest) -> str:
    """Return a sentence on what a model at one stage loses, with people at every other stage."""
    said = f"With every other stage done by people, a model at the stage “{stage}” loses {100 * lost:.0f} points of F1"
    if finding.decided:
        return f"{said}."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{said} on {people_words(finding.estimate.people)}, {TOO_FEW}."
    return f"{said}, which cannot be distinguished from 0 ({null_words(finding)})."
