"""Every sentence of a report that claims something: how claims are worded, lift, and the subjects of several reports.

Claims of one report are tested together (`decide_together`): with Holm's adjustment the chance that any of them is
false is at most 5 %. `claim` makes the sentence from the tested estimate and the words for each verdict; `LEGEND` explains
where the sentences stand.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp, log

from personafit.reports.result import Result
from personafit.reports.written import plain, signed, with_interval
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
    "“could have detected” is the smallest true effect it would have shown in four runs of five; “equivalent” is shown by two "
    "one-sided tests against the margin (--margin)."
)


def legend_for(findings: Iterable[HypothesisTest | None]) -> list[str]:
    """The legend, where anything was tested."""
    return [LEGEND] if any(one is not None and one.p is not None for one in findings) else []


@dataclass(frozen=True)
class FigureUnit:
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

    def within(self, margin: float) -> str:
        """The range about no difference, such as `±5.0 points`."""
        return f"±{self.plain(margin)}"


@dataclass(frozen=True)
class OddsRatio(FigureUnit):
    """How a difference in log-odds is written: as an odds ratio."""

    def plain(self, value: float) -> str:
        """An amount, such as `an odds ratio of 1.30`."""
        return "an odds ratio of 100" if value > log(100) else f"an odds ratio of {exp(value):.2f}"

    def within(self, margin: float) -> str:
        """The range about a ratio of 1."""
        return f"odds ratios of {exp(-margin):.2f} to {exp(margin):.2f}"


POINTS = FigureUnit()
LOG_ODDS = FigureUnit(1.0, "in log-odds", 2)
MARKS = FigureUnit(1.0, "points", 2)
"""Of a scale of marks."""
ODDS = OddsRatio(1.0)


@dataclass(frozen=True)
class ClaimWords:
    """The sentence about a subject for each conclusion of its test."""

    above: str
    below: str
    unclear: str
    equivalent: str
    """What is said where the effect is shown to be smaller than the margin."""
    constant: str
    """What is said where nothing varies and the effect is exactly nothing."""


def claim(
    subject: str,
    tested: HypothesisTest,
    words: ClaimWords,
    figure: str,
    unit: FigureUnit = POINTS,
    signed_figure: bool = True,
) -> str:
    """One sentence: the claim that the verdict allows, and in brackets the figure it rests on.

    `figure` names the figure, such as `lift`; its value and interval are added.
    """
    estimate, verdict = tested.estimate, tested.verdict
    if estimate.value is None:
        return f"{subject}: nothing can be said of its {figure}."
    number = f"{figure} {_number(estimate.value, unit, signed_figure)}"
    if verdict is Conclusion.CONSTANT:
        return f"{subject}: {words.constant} ({number} on {_items(estimate)})."
    if verdict is Conclusion.TOO_FEW:
        return f"{subject}: {number} on {_items(estimate)}, {TOO_FEW}."
    said = {
        Conclusion.ABOVE: words.above,
        Conclusion.BELOW: words.below,
        Conclusion.EQUIVALENT: words.equivalent,
    }.get(verdict, words.unclear)
    brackets = number + interval_words(estimate, unit, signed_figure)
    if not tested.decided:
        brackets += f"; {null_words(tested, unit)}"
    return f"{subject}: {said} ({brackets})."


def null_words(tested: HypothesisTest, unit: FigureUnit = POINTS) -> str:
    """What a result that shows nothing could have shown, and whether it shows equivalence."""
    if tested.detectable is None:
        return "without an interval nothing can be told"
    could = f"this run could have detected {unit.plain(tested.detectable)} or more"
    within = unit.within(tested.margin)
    if tested.verdict is Conclusion.EQUIVALENT:
        return f"{could}; equivalent within {within}, p {shown_p(tested.p_equivalent)}"
    return f"{could}; not shown to be equivalent within {within}"


def interval_words(estimate: Measured, unit: FigureUnit = POINTS, signed_figure: bool = True) -> str:
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
    hits = count_words((found.value or 0.0) * found.n)
    return f"{hits} of {found.n:,}, {people_words(found.people)}"


def shown_p(value: float | None) -> str:
    """A p-value as sentences say it."""
    if value is None:
        return "undefined"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def count_words(hits: float) -> str:
    """A number of hits, such as `4` or `3.5`."""
    return f"{hits:.2f}".rstrip("0").rstrip(".")  # ties count ½, or 1/k of k


def _number(value: float, unit: FigureUnit, signed_figure: bool) -> str:
    return f"{unit.signed(value)} {unit.name}" if signed_figure else unit.plain(value)


def _items(estimate: Measured) -> str:
    items = "1 item" if estimate.n == 1 else f"{estimate.n:,} items"
    return f"{items} of {people_words(estimate.people)}"


def people_words(count: int, such: str = "") -> str:
    """A number of people, such as `1 person`."""
    return f"1 {such}person" if count == 1 else f"{count:,} {such}people"


LARGER_OF = 2  # lift is over the larger of two controls


def decided_lifts(
    results: Iterable[Result], margin: float = MARGIN
) -> list[tuple[Result, HypothesisTest | None]]:
    """Every total lift of a rater that is no control, tested together; None for raters that met these people."""
    rows = [
        row
        for row in results
        if row.metric == "lift" and not row.slice and row.value is not None and row.control is None
    ]
    # The larger control was picked by the data: a lift below 0 may be due to that alone.
    questions = [Hypothesis(row, margin=margin, picked_from=LARGER_OF) for row in rows if not row.met_people]
    tested = iter(decide_together(questions))
    return [(row, None if row.met_people else next(tested)) for row in rows]


def lift_claims(results: Iterable[Result], margin: float = MARGIN) -> list[str]:
    """What a run shows of each rater: whether it uses what it is told of the person."""
    found = decided_lifts(results, margin)
    return [*(lift_claim(row, tested) for row, tested in found), *legend_for(tested for _, tested in found)]


def lift_claim(row: Result, tested: HypothesisTest | None) -> str:
    """The sentence on one lift; without a test, the rater met these people before."""
    name = line_name(row.rater, row.system, row.given)
    if tested is None:
        return f"{name}: no claim, as it was fitted on people of this run (lift {POINTS.signed(row.value or 0.0)} points)."
    return claim(name, tested, lift_words(row, tested), "lift")


def lift_words(row: Result, tested: HypothesisTest) -> ClaimWords:
    """What a lift means, by the control it is over."""
    told = told_name(row.given if row.rater is None else row.view)
    wrong = "over wrong:" in (row.note or "")
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
    """A context as sentences name it."""
    return f"the {context}" if context in ("profile", "history") else f"“{context}”"


def line_name(rater: str | None, system: str | None, given: str | None) -> str:
    """The rater, and whose answers it judged."""
    if not system:
        return str(rater)
    if rater is None:
        return system
    return f"{rater} on {system}" + (f" ({given})" if given else "")


# -- subjects ------------------------------------------------------------------------------------------------------------


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
    subject: str = ""
    """What both are of, such as `openai:gpt-4.1: `; it stands first."""
    unit: FigureUnit = POINTS
    above: str = "is better than"
    """What the one with the good figure does to the other."""
    lower: bool = False
    """Whether the good figure is the lower one."""


def difference_claim(pair: Pair, tested: HypothesisTest) -> str:
    """Which of two is better, first minus second; else what the run could have shown."""
    gap, one, two, of = tested.estimate, pair.first, pair.second, pair.subject
    if gap.value is None:
        return f"{of}{one} and {two} cannot be compared{pair.place}: no item has an answer from both."
    shared = f"{gap.n:,} shared items, {people_words(gap.people)}"
    if tested.verdict is Conclusion.CONSTANT:
        return f"{of}{one} and {two} score the same on every item{pair.place} ({shared})."
    points = f"{pair.unit.plain(abs(gap.value))} of {pair.metric}"
    if tested.verdict is Conclusion.TOO_FEW:
        if pair.scores is None:
            return f"{of}{one} and {two} differ by {points}{pair.place} ({shared}): {TOO_FEW}."
        counts = [count_words(score) for score in pair.scores]
        return (
            f"{of}{one} {counts[0]} of {gap.n:,}, {two} {counts[1]} of {gap.n:,}{pair.place}, {people_words(gap.people)}: "
            f"{TOO_FEW}."
        )
    p = f", p {shown_p(tested.p)}" if tested.p is not None else ""
    if tested.tests > 1:
        p += f", Holm p {shown_p(tested.p_adjusted)} over {tested.tests} comparisons"
    if tested.decided:
        turned = tested.verdict is Conclusion.BELOW
        better, worse = (two, one) if turned is not pair.lower else (one, two)
        return (
            f"{of}{better} {pair.above} {worse} by {points}{pair.place} "
            f"({_difference_interval(gap, pair.unit, turned)}{p}; {shared})."
        )
    if tested.p is None:
        return f"{of}{one} and {two} differ by {points}{pair.place} ({shared}): without an interval nothing can be told."
    once = f" once all {tested.tests} comparisons are counted" if _excludes_zero(gap) else ""
    equal = " and equivalent" if tested.verdict is Conclusion.EQUIVALENT else ""
    return (
        f"{of}{one} and {two} are not distinguishable{equal}{pair.place}{once}: they differ by {points} "
        f"({_difference_interval(gap, pair.unit)}, first minus second{p}; {shared}; {null_words(tested, pair.unit)})."
    )


def no_claim(pair: Pair, tested: HypothesisTest | None, met: Sequence[str]) -> str:
    """What is said of two of whom one was fitted on people of the run."""
    value = None if tested is None else tested.estimate.value
    gap = "" if value is None else f" (they differ by {pair.unit.plain(abs(value))} of {pair.metric})"
    were = "was" if len(met) == 1 else "were"
    return f"{pair.subject}{pair.first} and {pair.second}: no claim, as {' and '.join(met)} {were} fitted on people of these runs{gap}."


def _excludes_zero(gap: Measured) -> bool:
    return gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)


def _difference_interval(gap: Measured, unit: FigureUnit, turned: bool = False) -> str:
    """The interval, turned where it would be one below 0."""
    if gap.low is None or gap.high is None:
        return "no interval"
    low, high = (-gap.high, -gap.low) if turned else (gap.low, gap.high)
    return f"95 % interval {unit.signed(low)} to {unit.signed(high)}"


def rank_claim(pair: Pair, tested: HypothesisTest) -> str:
    """Whether the first of two neighbours in a ranking is stronger; `tested` is their gap in log-odds."""
    one, two = pair.first, pair.second
    if tested.verdict is Conclusion.CONSTANT:
        return f"{one} and {two} do equally well against everyone{pair.place}: they rank alike."
    if tested.p is None:
        return f"{one} and {two} are not distinguishable in rank{pair.place}: without an interval nothing can be told."
    p = f"Holm p {shown_p(tested.p_adjusted)} over all pairs"
    if tested.decided:
        turned = tested.verdict is Conclusion.BELOW
        return f"{two if turned else one} ranks above {one if turned else two}{pair.place} ({p})."
    equal = " and equivalent" if tested.verdict is Conclusion.EQUIVALENT else ""
    return f"{one} and {two} are not distinguishable in rank{pair.place}{equal} ({p}; {null_words(tested, LOG_ODDS)})."


@dataclass(frozen=True)
class Machine:
    """A machine beside people."""

    name: str
    reached: Measured
    """How often it meets the majority of people."""
    gap: HypothesisTest
    """That minus what one person reaches on the same items, tested beside the other machines."""
    win_rate: float | None = None
    """Share of the people it wins against in the alternative annotator test."""


def people_agree(kappa: Measured) -> str:
    """How far people agree with each other."""
    return f"People agree with each other at a mean kappa of {_figure(kappa)}."


def kind_agrees(kind: str, with_people: Measured, inside: Measured | None) -> str:
    """How far raters of one kind agree with people, and with each other."""
    among = ""
    if inside is not None and inside.value is not None:
        among = f", with each other at {_figure(inside)}"
    return f"Raters of kind {kind} agree with people at {_figure(with_people)}{among}."


def ceiling_claims(ceiling: Measured, machines: Sequence[Machine]) -> list[str]:
    """What may be said of machines beside people; the best machine and the ceiling come last."""
    start = f"The human ceiling (each person against the majority of the others) is {_figure(ceiling)}"
    if not machines:
        return [f"{start}."]
    best = max(machines, key=lambda one: one.reached.value or 0.0)
    said = []
    if best.win_rate is not None:
        said.append(stands_in(best.name, best.win_rate))
    for verdict in (Conclusion.BELOW, Conclusion.ABOVE):
        others = [one.name for one in machines if one is not best and one.gap.verdict is verdict]
        if others:
            said.append(f"Also {verdict.value} the human ceiling: {', '.join(others)}.")
    many = f"the best of {len(machines)} machines" if len(machines) > 1 else "the machine"
    return [
        *said,
        f"{start}; {many}, {best.name}, reaches {_figure(best.reached)}{_beside_one_person(best.gap)}.",
    ]


def stands_in(name: str, win_rate: float) -> str:
    """The outcome of the alternative annotator test."""
    from personafit.statistics.raters import EPSILON, PASSES

    verdict = "may" if win_rate >= PASSES else "may not"
    return (
        f"By the alternative annotator test (ε = {EPSILON:g}) {name} is at least as good as {100 * win_rate:.0f} % of the "
        f"people, so it {verdict} stand in for one of them."
    )


def _beside_one_person(gap: HypothesisTest) -> str:
    """The paired test of a machine against the ceiling, as the end of a sentence."""
    estimate = gap.estimate
    if gap.verdict is Conclusion.CONSTANT:
        return ": it meets the majority wherever one person does, and nowhere else"
    if gap.p is None or estimate.value is None:
        return f". The two cannot be compared: {estimate.note or 'no test is possible'}"
    points = f"{POINTS.signed(estimate.value)} points on the same items{interval_words(estimate)}"
    p = f"p {shown_p(gap.p_adjusted)}"
    if gap.tests > 1:
        p += f" by Holm for {gap.tests} machines"
    if gap.decided:
        return f": {gap.verdict.value} what one person reaches ({points}; {p})"
    equal = " and equivalent" if gap.verdict is Conclusion.EQUIVALENT else ""
    return f": not distinguishable from one person{equal} ({points}; {p}; {null_words(gap)})"


def _figure(estimate: Measured) -> str:
    value = f"{estimate.value or 0.0:.2f}"
    if estimate.low is None or estimate.high is None:
        return f"{value} (no interval)"
    return f"{value} (95 % interval {estimate.low:.2f} to {estimate.high:.2f})"


FEATURES = {
    "position": ("the answer shown first", "the answer shown last"),
    "length": ("the longer answer", "the shorter answer"),
    "mention": ("the answer that mentions more of the person", "the answer that mentions less of the person"),
    "naming": ("the answer that names the person", "the answer that does not name the person"),
    "family": ("the answer of its own family", "the answer of another family"),
}
"""Feature to what a rater prefers that goes by it, and what it prefers with the reverse effect."""
UNBOUNDED = "undefined: these features tell every choice apart, so the odds have no upper bound"
DECIDED = "the features together decide every choice, which leaves nothing to measure"


@dataclass(frozen=True)
class Pull:
    """The tested effects of one feature, in log-odds: on a judge, on people, and the difference of the two."""

    judge: HypothesisTest
    people: HypothesisTest
    difference: HypothesisTest


def fitted_words(feature: str) -> str:
    """That nothing is claimed of a rater that was fitted on people of the run."""
    return f"was fitted on people of this run: what it goes by here ({feature}) is no evidence"


def pull_words(feature: str, pull: Pull) -> str:
    """What a feature does to a judge beside people, as the part of a sentence that follows the judge's name."""
    judge = pull.judge
    if judge.verdict is Conclusion.UNDEFINED:
        why = DECIDED if judge.estimate.note == UNBOUNDED else judge.estimate.note
        return f"{feature} cannot be said: {why}"
    if judge.p is None:
        return f"{feature} has {judge.estimate.note}"
    return f"{_preference(feature, judge)}{_beside_people(feature, pull)}"


def _preference(feature: str, judge: HypothesisTest) -> str:
    more, less = FEATURES[feature]
    if judge.decided:
        return f"prefers {more if judge.verdict is Conclusion.ABOVE else less}"
    return f"shows no clear preference by {feature} ({null_words(judge, ODDS)})"


def _beside_people(feature: str, pull: Pull) -> str:
    """How a judge's preference compares with people's, as the end of the sentence."""
    from personafit.statistics.bias import NO_SCALE

    more, less = FEATURES[feature]
    judge, people, gap = pull.judge.verdict, pull.people.verdict, pull.difference
    if (judge, people) == (Conclusion.ABOVE, Conclusion.BELOW):
        return f", unlike people, who prefer {less}"
    if (judge, people) == (Conclusion.BELOW, Conclusion.ABOVE):
        return f", unlike people, who prefer {more}"
    if gap.estimate.note == NO_SCALE:
        return "; whether more or less than people do cannot be told from how steadily it chooses"
    if gap.p is None:
        return ""
    if not gap.decided:
        equal = " and equivalent" if gap.verdict is Conclusion.EQUIVALENT else ""
        return f"; not distinguishable from people{equal} ({null_words(gap, ODDS)})"
    if not pull.judge.decided:
        return f"; people lean to {less if gap.verdict is Conclusion.ABOVE else more} more than it does"
    return f" {'more' if judge is gap.verdict else 'less'} than people do"


def shortcut_finding(estimate: Measured, does: str, fair: float, finding: HypothesisTest) -> str:
    """What a shortcut scores; where that cannot be told from a coin, what the data could have shown."""
    if estimate.value is None:
        return f"undefined: nothing is {does}"
    if is_few(estimate):
        return f"{counted(estimate)} {does}; {TOO_FEW}"
    if is_constant(estimate, 0.5):
        return f"ties throughout: no pair is {does}"
    said = f"{with_interval(estimate, unit=' %')} {does}"
    low, high = estimate.low, estimate.high
    inside = low is not None and high is not None and low >= 0.5 - fair and high <= 0.5 + fair
    if finding.decided or inside or finding.detectable is None:
        return said
    return f"{said}; these data could have shown {POINTS.plain(finding.detectable)} or more off a coin"


def gain_finding(overlap: Measured, gain: Measured) -> str:
    """What overlap with the right profile scores, and its lead over a stranger's."""
    if overlap.value is None:
        return "undefined: no pair overlaps"
    if gain.value is None:
        return "undefined: nobody shares anybody's language, so there is no stranger to compare with"
    if is_few(gain):
        return f"{counted(overlap)} right by overlap with the right profile; {TOO_FEW}"
    return (
        f"{100 * overlap.value:.1f} % right by overlap with the right profile, {POINTS.signed(gain.value)} points"
        f"{interval_words(gain)} over a stranger's"
    )


def stage_loss(stage: str, lost: float, finding: HypothesisTest) -> str:
    """What a stage by a model loses of the end result, with everything else right."""
    said = f"With everything else right, {stage} by a model loses {100 * lost:.0f} points"
    if finding.decided:
        return f"{said}."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{said} on {people_words(finding.estimate.people)}, {TOO_FEW}."
    return f"{said}, which cannot be told from nothing ({null_words(finding)})."


EFFECTS = {
    "level": (
        "is above people in {}",
        "is below people in {}",
        "is not told apart from people in {}",
        "is like people in {}",
        "has the very {} of people",
    ),
    "beside people": (
        "favours {} more than people do",
        "favours {} less than people do",
        "is not shown to favour {} more or less than people do",
        "favours {} as much as people do",
        "treats {} exactly as people do",
    ),
    "own": (
        "favours {}",
        "disfavours {}",
        "is not shown to favour or disfavour {}",
        "treats {} like others",
        "treats {} exactly like others",
    ),
    "order": (
        "favours the answer shown first",
        "favours the answer shown last",
        "is not shown to favour either place",
        "favours neither place",
        "gives the same marks in both orders",
    ),
}
"""What moves a rater of marks or of yes and no, for each conclusion in the order of `ClaimWords`: the level of its answers, a feature of
units (beside people, or where people's effect is not known), and the order shown."""


def effect_words(effect: str, of: str = "") -> ClaimWords:
    """What an effect on a rater is said to be; `of` is the metric, or what has the feature."""
    return ClaimWords(*(text.format(of) for text in EFFECTS[effect]))
