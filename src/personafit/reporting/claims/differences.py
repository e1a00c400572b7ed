"""Claims about two: which of them is better, or ranks above the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.claims.wording import (
    LOG_ODDS,
    POINTS,
    TOO_FEW,
    FigureUnit,
    count_words,
    null_words,
    people_words,
    shown_p,
)
from personafit.statistics.decisions import Conclusion, HypothesisTest, Measured


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
