"""Claims of relevance, dialogue, preference, hostile text and stage runs."""

from personafit.reporting.claims.wording import (
    POINTS,
    TOO_FEW,
    ClaimWords,
    FigureUnit,
    claim,
    interval_words,
    null_words,
    people_words,
)
from personafit.statistics.decisions import Conclusion, HypothesisTest

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
