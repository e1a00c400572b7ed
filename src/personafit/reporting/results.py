"""From the stored judgments of a run of choices to flat records: one number each, with interval, coverage and control."""

from personafit.kinds.choice_scores import RunScores, headline_view, load_scores
from personafit.kinds.lines import CONTROL_RATERS
from personafit.reporting.line_results import results_of
from personafit.reporting.result import Result, marked_met
from personafit.reporting.totals import RunTotals, load_totals


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return results_of(totals.opened, totals.added)


def overall_coverage(totals: RunTotals) -> float | None:
    """The share of all planned asks of the run that brought an answer."""
    asked = sum(totals.asked(rater, view) for rater in totals.raters for view in totals.views)
    return answered(totals) / asked if asked else None


def answered(totals: RunTotals) -> int:
    """How many asks of the run brought an answer."""
    return sum(totals.answered(r["fingerprint"], view) for r in totals.raters for view in totals.views)


__all__ = [
    "CONTROL_RATERS",
    "Result",
    "RunScores",
    "answered",
    "headline_view",
    "load_scores",
    "load_totals",
    "marked_met",
    "overall_coverage",
    "run_results",
]
