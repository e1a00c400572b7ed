"""Claims about bias: what pulls at a judge's choices, and whether more than at people's."""

from dataclasses import dataclass

from personafit.reporting.claims.wording import ODDS, null_words
from personafit.statistics.bias import NO_SCALE, SEPARATED
from personafit.statistics.decisions import Conclusion, HypothesisTest

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
