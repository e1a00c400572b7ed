"""Claims about one subject each: two compared, agreement, bias, an audit, and runs of relevance, preferences, dialogues, attacks, stages."""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.claims.wording import (
    LOG_ODDS,
    ODDS,
    POINTS,
    TOO_FEW,
    ClaimWords,
    FigureUnit,
    claim,
    count_words,
    counted,
    interval_words,
    is_few,
    null_words,
    people_words,
    shown_p,
)
from personafit.statistics.alternative_annotator import EPSILON, PASSES
from personafit.statistics.bias import NO_SCALE, SEPARATED
from personafit.statistics.decisions import Conclusion, HypothesisTest, Measured, is_constant


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
            f"({_difference_interval(gap, pair.unit, turned)}{p}{pair.tests}; {shared})."
        )
    if tested.p is None:
        return f"{of}{one} and {two} differ by {points}{pair.place} ({shared}): without an interval nothing can be told."
    once = f" once all {tested.tests} comparisons are counted" if _excludes_zero(gap) else ""
    equal = " and equivalent" if tested.verdict is Conclusion.EQUIVALENT else ""
    return (
        f"{of}{one} and {two} are not distinguishable{equal}{pair.place}{once}: they differ by {points} "
        f"({_difference_interval(gap, pair.unit)}, first minus second{p}{pair.tests}; {shared}; {null_words(tested, pair.unit)})."
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
UNBOUNDED = SEPARATED.replace("no interval", "undefined")
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


def always_words(feature: str, sign: int) -> str:
    """What a rater does whose every choice goes with a feature (1) or against it (-1)."""
    more, less = FEATURES[feature]
    return f"always chooses {more if sign > 0 else less}"


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
    said = f"{100 * estimate.value:.1f} %{_percent_ends(estimate)} {does}"
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


def _percent_ends(estimate: Measured) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" ({100 * estimate.low:.1f}–{100 * estimate.high:.1f})"


TIMES = FigureUnit(1.0, "times", 2)


def met_sentence(rater: str, what: str = "people") -> str:
    """That nothing is claimed of a rater, as it knows the people or prompts it is judged on."""
    return f"{rater}: no claim, as it was fitted on {what} of this run."


def picks(rater: str, times: float, finding: HypothesisTest | None, shown: str) -> str:
    """How many attributes a rater picks beside people, and whether that is too many or too few."""
    much = f"{rater} picks {times:.1f} times as many attributes as people do"
    if finding is not None and finding.verdict is Conclusion.ABOVE and times > 1:
        return f"{much}: it over-selects ({shown})."
    if finding is not None and finding.verdict is Conclusion.BELOW and times < 1:
        return f"{much}: it leaves out what people would use ({shown})."
    return f"{much} ({shown})."


def against_control(rater: str, control: str, finding: HypothesisTest) -> str:
    """Whether a rater beats the control that is hardest to beat."""
    words = ClaimWords(
        above=f"beats the best control, {control}",
        below=f"does worse than the control {control}",
        unclear=f"not distinguishable from the control {control}",
        equivalent=f"no better or worse than the control {control} by {POINTS.plain(finding.margin)}",
        constant=f"the same F1 as the control {control}",
    )
    return claim(rater, finding, words, "F1")


def without_prompt(rater: str, finding: HypothesisTest) -> list[str]:
    """Whether a rater reads the prompt; nothing is said where it is shown to."""
    if finding.verdict in (Conclusion.ABOVE, Conclusion.UNDEFINED):
        return []
    words = ClaimWords(
        above="uses the prompt",
        below="does worse with the prompt than without",
        unclear="no evidence that it uses the prompt: it may judge attributes, not relevance",
        equivalent=f"the prompt changes its F1 by less than {POINTS.plain(finding.margin)}: it judges attributes, not relevance",
        constant="the same F1 with and without the prompt: it judges attributes, not relevance",
    )
    return [claim(rater, finding, words, "F1")]


def list_against_pairs(model: str, listed: float, paired: float, finding: HypothesisTest) -> str:
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
    if finding.verdict is Conclusion.CONSTANT:
        return f"Asked for a list, {model} picks as many: {middle})."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"Asked for a list, {model}: {middle}), {TOO_FEW}."
    if not finding.decided:
        return f"No evidence that a list changes how many {model} picks: {middle}; {null_words(finding, TIMES)})."
    if gap > 0:
        return f"Asked for a list, {model} picks more: {middle})."
    return f"Asked for a list, {model} {'over-selects less' if paired > 1 else 'picks fewer'}: {middle})."


MARKS = FigureUnit(1.0, "points", 2)


def context_effect(system: str, given: str, against: str, finding: HypothesisTest, judge: str) -> str:
    """What a context does to personalization, over no context, a wrong person's or the full history."""
    control = against == "none" or against.startswith("wrong:")
    words = ClaimWords(
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


def mean_mark(name: str, value: float, finding: HypothesisTest | None, tail: str) -> str:
    """The mean mark of personalized answers beside generic ones; `finding` tests it against the middle of the scale."""
    said = f"{name} marks the personalized answers {value:.2f} on average"
    if finding is None or finding.decided or finding.verdict is Conclusion.CONSTANT:
        return f"{said}{tail}."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{said} over {people_words(finding.estimate.people)}, {TOO_FEW}{tail}."
    ends = interval_words(finding.estimate, MARKS, signed_figure=False).removeprefix(", ")
    could = null_words(finding, MARKS)
    return f"{said}, which cannot be told from no preference ({ends + '; ' if ends else ''}{could}){tail}."


def beyond_placebo(told: str, finding: HypothesisTest, worst: str) -> str:
    """Whether hostile text moves choices more often than a neutral text does."""
    estimate = finding.estimate
    points = f"{POINTS.signed(estimate.value or 0.0)} points{interval_words(estimate)}, beyond the placebo"
    if finding.verdict is Conclusion.ABOVE:
        return f"{told}: it can be steered ({points}){worst}."
    if finding.verdict is Conclusion.BELOW:
        return f"{told}: it moves away from what presses it ({points})."
    if finding.verdict is Conclusion.CONSTANT:
        return f"{told}: the same choices with either."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{told} ({points}): {TOO_FEW}."
    return f"{told}: not told apart from the placebo ({points}; {null_words(finding)})."


def stage_loss(stage: str, lost: float, finding: HypothesisTest) -> str:
    """What a stage by a model loses of the end result, with everything else right."""
    said = f"With everything else right, {stage} by a model loses {100 * lost:.0f} points"
    if finding.decided:
        return f"{said}."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{said} on {people_words(finding.estimate.people)}, {TOO_FEW}."
    return f"{said}, which cannot be told from nothing ({null_words(finding)})."


def position_pull(name: str, finding: HypothesisTest) -> list[str]:
    """Which place pulls at a rater of preferences; nothing is said where none is shown to."""
    if not finding.decided:
        return []
    side = "first" if finding.verdict is Conclusion.ABOVE else "last"
    points = MARKS.plain(abs(finding.estimate.value or 0.0))
    return [f"{name} leans to the answer shown {side} by {points}; both orders are averaged."]


def mention_pull(name: str, finding: HypothesisTest) -> list[str]:
    """Whether a rater marks answers that name the attribute higher or lower; nothing is said where neither is shown."""
    if not finding.decided:
        return []
    side = "higher" if finding.verdict is Conclusion.ABOVE else "lower"
    points = MARKS.plain(abs(finding.estimate.value or 0.0))
    return [f"{name} marks answers that name the attribute {side}, by {points}."]


def level_words(metric: str) -> ClaimWords:
    """What the level of a rater's answers beside people's comes to."""
    return ClaimWords(
        f"is above people in {metric}",
        f"is below people in {metric}",
        f"is not told apart from people in {metric}",
        f"is like people in {metric}",
        f"has the very {metric} of people",
    )


def unit_pull_words(units: str) -> ClaimWords:
    """What a feature of units does to a rater beside people."""
    return ClaimWords(
        f"favours {units} more than people do",
        f"favours {units} less than people do",
        f"is not shown to favour {units} more or less than people do",
        f"favours {units} as much as people do",
        f"treats {units} exactly as people do",
    )


def own_pull_words(units: str) -> ClaimWords:
    """What a feature of units does to a rater where people's effect is not known."""
    return ClaimWords(
        f"favours {units}",
        f"disfavours {units}",
        f"is not shown to favour or disfavour {units}",
        f"treats {units} like others",
        f"treats {units} exactly like others",
    )


def order_words() -> ClaimWords:
    """What the order shown does to a rater that gives marks."""
    return ClaimWords(
        "favours the answer shown first",
        "favours the answer shown last",
        "is not shown to favour either place",
        "favours neither place",
        "gives the same marks in both orders",
    )
