"""Claims about agreement: how far raters and people agree, and whether a machine reaches what one person does."""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.claims.wording import POINTS, interval_words, null_words, shown_p
from personafit.statistics.alternative_annotator import EPSILON, PASSES
from personafit.statistics.decisions import Conclusion, HypothesisTest, Measured


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
