"""Every sentence of a report that claims something, and the tests behind them.

Claims of one report are tested together (`decide_together`): with Holm's adjustment the chance that any of them is
false is at most 5 %. A claim is made by `claim`, from the tested estimate and the words for each verdict; a result that
shows nothing says what the run could have shown. `LEGEND` explains both where the sentences stand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from personafit.reporting.result import Result
from personafit.reporting.written import plain, signed
from personafit.statistics.clusters import CONSTANT, FEWEST_PEOPLE
from personafit.statistics.decisions import (
    MARGIN,
    Decision,
    Effect,
    Finding,
    Measured,
    Outcome,
    Verdict,
    decide,
    decide_together,
    is_constant,
)

LEGEND = (
    "Claims are tested together, with Holm's adjustment: the chance that any of them is false is at most 5 %. What a run "
    "“could have detected” is the smallest true effect it would have shown in four runs of five; “equivalent” is shown by two "
    "one-sided tests against the margin (--margin)."
)
LARGER_OF = 2  # lift is over the larger of two controls


def legend_for(findings: Iterable[Finding | None]) -> list[str]:
    """The legend, where anything was tested."""
    return [LEGEND] if any(one is not None and one.p is not None for one in findings) else []


@dataclass(frozen=True)
class Unit:
    """How a figure is written: its scale, its name and its decimals."""

    scale: float = 100.0
    name: str = "points"
    digits: int = 1

    def plain(self, value: float) -> str:
        """An amount, such as `5.0 points`."""
        return f"{plain(self.scale * value, self.digits)} {self.name}"

    def signed(self, value: float) -> str:
        """A difference without the unit, such as `+5.0`."""
        return signed(self.scale * value, self.digits)


POINTS = Unit()


@dataclass(frozen=True)
class Words:
    """What is said of a subject under each verdict."""

    above: str
    below: str
    unclear: str
    equivalent: str
    """What is said where the effect is shown to be smaller than the margin."""
    constant: str
    """What is said where nothing varies and the effect is exactly nothing."""


def claim(
    subject: str,
    tested: Finding,
    words: Words,
    figure: str,
    unit: Unit = POINTS,
    signed_figure: bool = True,
) -> str:
    """One sentence: the claim that the verdict allows, and in brackets the figure it rests on.

    `figure` names the figure, such as `lift`; its value and interval are added.
    """
    estimate, verdict = tested.estimate, tested.verdict
    if estimate.value is None:
        return f"{subject}: nothing can be said of its {figure}."
    number = f"{figure} {_number(estimate.value, unit, signed_figure)}"
    if verdict is Verdict.CONSTANT:
        return f"{subject}: {words.constant} ({number} on {_items(estimate)})."
    if verdict is Verdict.TOO_FEW:
        return f"{subject}: {number} on {_items(estimate)}, {TOO_FEW}."
    said = {
        Verdict.ABOVE: words.above,
        Verdict.BELOW: words.below,
        Verdict.EQUIVALENT: words.equivalent,
    }.get(verdict, words.unclear)
    brackets = number + interval_words(estimate, unit, signed_figure)
    if not tested.decided:
        brackets += f"; {null_words(tested, unit)}"
    return f"{subject}: {said} ({brackets})."


def null_words(tested: Finding, unit: Unit = POINTS) -> str:
    """What a result that shows nothing could have shown, and whether it shows equivalence."""
    if tested.detectable is None:
        return "without an interval nothing can be told"
    could = f"this run could have detected {unit.plain(tested.detectable)} or more"
    within = f"±{unit.plain(tested.margin)}"
    if tested.verdict is Verdict.EQUIVALENT:
        return f"{could}; equivalent within {within}, p {shown_p(tested.p_equivalent)}"
    return f"{could}; not shown to be equivalent within {within}"


def interval_words(estimate: Measured, unit: Unit = POINTS, signed_figure: bool = True) -> str:
    """The interval after a figure, such as `, 1.1 to 7.3`; empty where there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    ends = (estimate.low, estimate.high)
    written = [unit.signed(end) if signed_figure else plain(unit.scale * end, unit.digits) for end in ends]
    return f", {' to '.join(written)}"


TOO_FEW = f"too few people to claim anything ({FEWEST_PEOPLE} are needed)"


def is_few(found: Measured) -> bool:
    """Whether a number is over too few people for an interval: it is shown as a count."""
    return found.value is not None and 0 < found.people < FEWEST_PEOPLE


def same_words(found: Measured, difference: bool = False) -> str | None:
    """What stands in the place of an interval where nothing varies: a tie on every item, or no difference on any."""
    if difference:
        return "same answers" if is_constant(found, 0.0) else None
    return "ties throughout" if is_constant(found, 0.5) else None


COUNTED = frozenset(
    {"accuracy", "accuracy_debiased", "win_rate", "win_rate_debiased", "consistency", "restraint"}
)
"""Metrics that are shares of items, so that a few of them can be counted."""


def count_of(result: Result) -> tuple[str, str] | None:
    """A share over few people as what stands in a cell, `4 of 4` and `2 people`; None for other numbers."""
    if not is_few(result) or result.metric not in COUNTED:
        return None
    count, _, people = counted(result).partition(", ")
    return count, people


def counted(found: Measured) -> str:
    """A share over few people as a count, such as `4 of 4, 2 people`."""
    hits = _count((found.value or 0.0) * found.n)
    return f"{hits} of {found.n:,}, {_people(found.people)}"


def shown_p(value: float | None) -> str:
    """A p-value as sentences say it."""
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _count(hits: float) -> str:
    return f"{hits:.2f}".rstrip("0").rstrip(".")  # ties count ½, or 1/k of k


def _number(value: float, unit: Unit, signed_figure: bool) -> str:
    return f"{unit.signed(value)} {unit.name}" if signed_figure else unit.plain(value)


def _items(estimate: Measured) -> str:
    items = "1 item" if estimate.n == 1 else f"{estimate.n:,} items"
    return f"{items} of {_people(estimate.people)}"


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count:,} people"


# -- lift ------------------------------------------------------------------------------------------------------------


def decided_lifts(results: Iterable[Result], margin: float = MARGIN) -> list[tuple[Result, Finding | None]]:
    """Every total lift of a rater that is no control, tested together; None for raters that met these people."""
    rows = [
        row
        for row in results
        if row.metric == "lift" and not row.slice and row.value is not None and row.control is None
    ]
    # The larger control was picked by the data: a lift below 0 may be due to that alone.
    questions = [Effect(row, margin=margin, picked_from=LARGER_OF) for row in rows if not row.met_people]
    tested = iter(decide_together(questions))
    return [(row, None if row.met_people else next(tested)) for row in rows]


def lift_claims(results: Iterable[Result], margin: float = MARGIN) -> list[str]:
    """What a run shows of each rater: whether it uses what it is told of the person."""
    found = decided_lifts(results, margin)
    return [*(lift_claim(row, tested) for row, tested in found), *legend_for(tested for _, tested in found)]


def lift_claim(row: Result, tested: Finding | None) -> str:
    """The sentence on one lift; without a test, the rater met these people before."""
    name = line_name(row.rater, row.system, row.given)
    if tested is None:
        return f"{name}: no claim, as it was fitted on people of this run (lift {POINTS.signed(row.value or 0.0)} points)."
    return claim(name, tested, lift_words(row, tested), "lift")


def lift_words(row: Result, tested: Finding) -> Words:
    """What a lift means, by the control it is over."""
    told = told_name(row.given if row.rater is None else row.view)
    wrong = "over wrong:" in (row.note or "")
    return Words(
        above=f"uses {told}",
        below=f"does worse with {told} than with a wrong person's"
        if wrong
        else f"does worse with {told} than without",
        unclear=f"no evidence that it uses {told}",
        equivalent=f"{told} changes its score by less than {POINTS.plain(tested.margin)}",
        constant=f"the same answers with {told} and {'with a wrong person’s' if wrong else 'without'}",
    )


def told_name(context: str | None) -> str:
    """A context as sentences name it."""
    return f"the {context}" if context in ("profile", "history") else f"“{context}”"


def line_name(rater: str | None, system: str | None, given: str | None) -> str:
    """The rater, and whose answers it judged."""
    if not system:
        return str(rater)
    if rater is None:
        return system
    return f"{rater} on {system}" + (f" ({given})" if given else "")


# -- differences between two -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two whose scores on shared items are compared."""

    first: str
    second: str
    metric: str = "accuracy"
    place: str = ""
    """Where, such as ` on hard`; empty for all items."""
    scores: tuple[float, float] | None = None
    """What each scored in all, for counts."""
    tests: str = ""
    """Further tests to name in the brackets."""
    subject: str = ""
    """What both are of, such as `openai:gpt-4.1: `; it stands first."""


def difference_claim(pair: Pair, tested: Finding) -> str:
    """Which of two is better, first minus second; else what the run could have shown."""
    gap, one, two, of = tested.estimate, pair.first, pair.second, pair.subject
    if gap.value is None:
        return f"{of}{one} and {two} cannot be compared{pair.place}: no item has an answer from both."
    shared = f"{gap.n:,} shared items, {_people(gap.people)}"
    if tested.verdict is Verdict.CONSTANT:
        return f"{of}{one} and {two} score the same on every item{pair.place} ({shared})."
    points = f"{POINTS.plain(abs(gap.value))} of {pair.metric}"
    if tested.verdict is Verdict.TOO_FEW:
        if pair.scores is None:
            return f"{of}{one} and {two} differ by {points}{pair.place} ({shared}): {TOO_FEW}."
        counts = [_count(score) for score in pair.scores]
        return (
            f"{of}{one} {counts[0]} of {gap.n:,}, {two} {counts[1]} of {gap.n:,}{pair.place}, {_people(gap.people)}: "
            f"{TOO_FEW}."
        )
    p = f", p {shown_p(tested.p)}" if tested.p is not None else ""
    if tested.tests > 1:
        p += f", Holm p {shown_p(tested.p_adjusted)} over {tested.tests} comparisons"
    if tested.decided:
        turned = tested.verdict is Verdict.BELOW
        better, worse = (two, one) if turned else (one, two)
        return (
            f"{of}{better} is better than {worse} by {points}{pair.place} "
            f"({_difference_interval(gap, turned)}{p}{pair.tests}; {shared})."
        )
    if tested.p is None:
        return f"{of}{one} and {two} differ by {points}{pair.place} ({shared}): without an interval nothing can be told."
    once = f" once all {tested.tests} comparisons are counted" if _excludes_zero(gap) else ""
    equal = " and equivalent" if tested.verdict is Verdict.EQUIVALENT else ""
    return (
        f"{of}{one} and {two} are not distinguishable{equal}{pair.place}{once}: they differ by {points} "
        f"({_difference_interval(gap)}, first minus second{p}{pair.tests}; {shared}; {null_words(tested)})."
    )


def no_claim(pair: Pair, tested: Finding, met: Sequence[str]) -> str:
    """What is said of two of whom one was fitted on people of the run."""
    value = tested.estimate.value
    gap = "" if value is None else f" (they differ by {POINTS.plain(abs(value))} of {pair.metric})"
    were = "was" if len(met) == 1 else "were"
    return f"{pair.subject}{pair.first} and {pair.second}: no claim, as {' and '.join(met)} {were} fitted on people of these runs{gap}."


def _excludes_zero(gap: Measured) -> bool:
    return gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)


def _difference_interval(gap: Measured, turned: bool = False) -> str:
    """The interval in points, turned where the words go from the second to the first."""
    if gap.low is None or gap.high is None:
        return "no interval"
    low, high = (-gap.high, -gap.low) if turned else (gap.low, gap.high)
    return f"95 % interval {POINTS.signed(low)} to {POINTS.signed(high)}"


# -- relevance -------------------------------------------------------------------------------------------------------


TIMES = Unit(1.0, "times", 2)


def met_sentence(rater: str, what: str = "people") -> str:
    """That nothing is claimed of a rater, as it knows the people or prompts it is judged on."""
    return f"{rater}: no claim, as it was fitted on {what} of this run."


def picks(rater: str, times: float, finding: Finding | None, shown: str) -> str:
    """How many attributes a rater picks beside people, and whether that is too many or too few."""
    much = f"{rater} picks {times:.1f} times as many attributes as people do"
    if finding is not None and finding.verdict is Verdict.ABOVE and times > 1:
        return f"{much}: it over-selects ({shown})."
    if finding is not None and finding.verdict is Verdict.BELOW and times < 1:
        return f"{much}: it leaves out what people would use ({shown})."
    return f"{much} ({shown})."


def against_control(rater: str, control: str, finding: Finding) -> str:
    """Whether a rater beats the control that is hardest to beat."""
    words = Words(
        above=f"beats the best control, {control}",
        below=f"does worse than the control {control}",
        unclear=f"not distinguishable from the control {control}",
        equivalent=f"no better or worse than the control {control} by {POINTS.plain(finding.margin)}",
        constant=f"the same F1 as the control {control}",
    )
    return claim(rater, finding, words, "F1")


def without_prompt(rater: str, finding: Finding) -> list[str]:
    """Whether a rater reads the prompt; nothing is said where it is shown to."""
    if finding.verdict in (Verdict.ABOVE, Verdict.UNDEFINED):
        return []
    words = Words(
        above="uses the prompt",
        below="does worse with the prompt than without",
        unclear="no evidence that it uses the prompt: it may judge attributes, not relevance",
        equivalent=f"the prompt changes its F1 by less than {POINTS.plain(finding.margin)}: it judges attributes, not relevance",
        constant="the same F1 with and without the prompt: it judges attributes, not relevance",
    )
    return [claim(rater, finding, words, "F1")]


def list_against_pairs(model: str, listed: float, paired: float, finding: Finding) -> str:
    """Whether a model asked for a list picks fewer attributes than asked pair by pair."""
    estimate = finding.estimate
    gap = listed - paired
    turned = estimate.value is not None and estimate.value * gap < 0
    ends = ""
    if estimate.low is not None and estimate.high is not None:
        low, high = (-estimate.high, -estimate.low) if turned else (estimate.low, estimate.high)
        ends = f", {TIMES.signed(low)} to {TIMES.signed(high)}"
    middle = (
        f"it picks {listed:.2f} times as many as people, pair by pair {paired:.2f} times "
        f"(difference {TIMES.signed(gap)}{ends}"
    )
    if finding.verdict is Verdict.CONSTANT:
        return f"Asked for a list, {model} picks as many: {middle})."
    if finding.verdict is Verdict.TOO_FEW:
        return f"Asked for a list, {model}: {middle}), {TOO_FEW}."
    if not finding.decided:
        return f"No evidence that a list changes how many {model} picks: {middle}; {null_words(finding, TIMES)})."
    if gap > 0:
        return f"Asked for a list, {model} picks more: {middle})."
    return f"Asked for a list, {model} {'over-selects less' if paired > 1 else 'picks fewer'}: {middle})."


# -- dialogues -------------------------------------------------------------------------------------------------------


MARKS = Unit(1.0, "points", 2)


def context_effect(system: str, given: str, against: str, finding: Finding, judge: str) -> str:
    """What a context does to personalization, over no context, a wrong person's or the full history."""
    control = against == "none" or against.startswith("wrong:")
    words = Words(
        above=f"being given {given} helps" if control else f"{given} does better than {against}",
        below=f"being given {given} harms"
        if control
        else f"{given} does worse than {against}, so the history is used",
        unclear=f"no evidence that being given {given} changes anything"
        if control
        else f"{given} and {against} are not distinguishable",
        equivalent=f"{given} and {against} differ by less than {MARKS.plain(finding.margin)}",
        constant=f"the same marks given {given} and {against}",
    )
    figure = f"personalization over {against}{judge},"
    return claim(system, finding, words, figure, MARKS)


# -- preferences and hostile text ------------------------------------------------------------------------------------


def mean_mark(name: str, value: float, finding: Finding | None, tail: str) -> str:
    """The mean mark of personalized answers beside generic ones; `finding` tests it against the middle of the scale."""
    said = f"{name} marks the personalized answers {value:.2f} on average"
    if finding is None or finding.decided or finding.verdict is Verdict.CONSTANT:
        return f"{said}{tail}."
    if finding.verdict is Verdict.TOO_FEW:
        return f"{said} over {_people(finding.estimate.people)}, {TOO_FEW}{tail}."
    ends = interval_words(finding.estimate, MARKS, signed_figure=False).removeprefix(", ")
    could = null_words(finding, MARKS)
    return f"{said}, which cannot be told from no preference ({ends + '; ' if ends else ''}{could}){tail}."


def beyond_placebo(told: str, finding: Finding, worst: str) -> str:
    """Whether hostile text moves choices more often than a neutral text does."""
    estimate = finding.estimate
    points = f"{POINTS.signed(estimate.value or 0.0)} points{interval_words(estimate)}, beyond the placebo"
    if finding.verdict is Verdict.ABOVE:
        return f"{told}: it can be steered ({points}){worst}."
    if finding.verdict is Verdict.BELOW:
        return f"{told}: it moves away from what presses it ({points})."
    if finding.verdict is Verdict.CONSTANT:
        return f"{told}: the same choices with either."
    if finding.verdict is Verdict.TOO_FEW:
        return f"{told} ({points}): {TOO_FEW}."
    return f"{told}: not told apart from the placebo ({points}; {null_words(finding)})."


def stage_loss(stage: str, lost: float, finding: Finding) -> str:
    """What a stage by a model loses of the end result, with everything else right."""
    said = f"With everything else right, {stage} by a model loses {100 * lost:.0f} points"
    if finding.decided:
        return f"{said}."
    if finding.verdict is Verdict.TOO_FEW:
        return f"{said} on {_people(finding.estimate.people)}, {TOO_FEW}."
    return f"{said}, which cannot be told from nothing ({null_words(finding)})."


# -- the audit -------------------------------------------------------------------------------------------------------


def shortcut_finding(estimate: Measured, does: str, fair: float, finding: Finding) -> str:
    """What a shortcut scores; where that cannot be told from a coin, what the data could have shown."""
    if estimate.value is None:
        return f"undefined: nothing is {does}"
    if is_few(estimate):
        return f"{counted(estimate)} {does}; {TOO_FEW}"
    if is_constant(estimate, 0.5):
        return f"ties throughout: no pair is {does}"
    said = f"{100 * estimate.value:.1f} %{_percent_ends(estimate)} {does}"
    low, high = estimate.low, estimate.high
    inside = low is not None and high is not None and low >= 0.5 - fair and high <= 0.5 + fair
    if finding.decided or inside or finding.detectable is None:
        return said
    return f"{said}; these data could have shown {POINTS.plain(finding.detectable)} or more off a coin"


def gain_finding(overlap: Measured, gain: Measured) -> str:
    """What overlap with the right profile scores, and its lead over a stranger's."""
    if overlap.value is None or gain.value is None:
        return "undefined: no pair overlaps"
    if is_few(gain):
        return f"{counted(overlap)} right by overlap with the right profile; {TOO_FEW}"
    return (
        f"{100 * overlap.value:.1f} % right by overlap with the right profile, {POINTS.signed(gain.value)} points"
        f"{interval_words(gain)} over a stranger's"
    )


def _percent_ends(estimate: Measured) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"


# -- the gate --------------------------------------------------------------------------------------------------------


SHARES = frozenset({"coverage", "made"})
"""Metrics that are shares of what was planned: nothing was sampled, so the value is compared."""
BY_DEFINITION = "scores each answer by itself"  # how results mark a consistency of 1 that needs no sample


def gate(result: Result, bar: float) -> Decision:
    """Whether a number of a run is shown to reach a bar."""
    if result.met_people:
        return Decision(Outcome.CANNOT_TELL)
    certain = result.metric in SHARES or (
        result.low is None and (result.note or "").startswith(BY_DEFINITION)
    )
    return decide(result, bar, certain)


def gate_sentence(result: Result, bar: float, whose: str) -> str:
    """What the gate says of a number that does not pass."""
    decision = gate(result, bar)
    name = f"{result.metric} of {whose}"
    if result.value is None:
        why = f" ({result.note})" if result.note else ""
        return f"{name} cannot be told to reach {bar:g}: it is undefined{why}."
    if result.met_people:
        return f"{name} cannot be told to reach {bar:g}: the rater was fitted on people of this run."
    if decision.outcome is Outcome.FAILS:
        return f"{name} is {_below(result, bar)}, below {bar:g}."
    if decision.outcome is Outcome.PASSES:
        return f"{name} is {result.value:.3f}{_ends(result)}, at least {bar:g}."
    told = f"{name} cannot be told to reach {bar:g}: it is {result.value:.3f}"
    if result.people < FEWEST_PEOPLE:
        return f"{told} over {_people(result.people)}, and at least {FEWEST_PEOPLE} are needed."
    if CONSTANT in (result.note or ""):
        return f"{told} on every item, so there is no interval."
    if result.low is None:
        return f"{told}, without an interval{f' ({result.note})' if result.note else ''}."
    told += _ends(result)
    if decision.people is None:
        return f"{told}, as close to the bar as to need more people than can be planned for."
    enough = f"about {decision.people:,} people with as many items each"
    items = "" if decision.items is None else f" ({decision.items:,} items)"
    return f"{told}; if that is its true value, {enough}{items} would tell."


def _below(result: Result, bar: float) -> str:
    """The value with as many digits as it takes to show that it is below, and its interval."""
    value = result.value or 0.0
    texts = (f"{value:.{digits}f}" for digits in (3, 6))
    return next((text for text in texts if float(text) < bar), repr(value)) + _ends(result)


def _ends(result: Result) -> str:
    if result.low is None or result.high is None:
        return ""
    return f" ({result.low:.3f} to {result.high:.3f})"
