"""Claims about lift: whether a rater uses what it is told of the person."""

from collections.abc import Iterable

from personafit.reporting.claims.wording import POINTS, ClaimWords, claim, legend_for
from personafit.reporting.result import Result
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together

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
