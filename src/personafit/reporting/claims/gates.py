"""What the gate says of a number and its bar."""

from personafit.reporting.claims.wording import people_words
from personafit.reporting.result import Result
from personafit.statistics.clusters import CONSTANT, FEWEST_PEOPLE
from personafit.statistics.decisions import GateDecision, GateOutcome, decide

SHARES = frozenset({"coverage", "made"})
"""Metrics that are shares of what was planned: nothing was sampled, so the value is compared."""
BY_DEFINITION = "scores each answer by itself"  # how results mark a consistency of 1 that needs no sample


def gate(result: Result, bar: float) -> GateDecision:
    """Whether a number of a run is shown to reach a bar."""
    if result.met_people:
        return GateDecision(GateOutcome.CANNOT_TELL)
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
    if decision.outcome is GateOutcome.FAILS:
        return f"{name} is {_below(result, bar)}, below {bar:g}."
    if decision.outcome is GateOutcome.PASSES:
        return f"{name} is {result.value:.3f}{_ends(result)}, at least {bar:g}."
    told = f"{name} cannot be told to reach {bar:g}: it is {result.value:.3f}"
    if result.people < FEWEST_PEOPLE:
        return f"{told} over {people_words(result.people)}, and at least {FEWEST_PEOPLE} are needed."
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
