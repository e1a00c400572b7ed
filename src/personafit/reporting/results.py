"""From the stored judgments of a run of choices to flat records: one number each, with interval, coverage and control."""

from personafit.reporting.judged_run import headline_view
from personafit.reporting.line_results import results_of
from personafit.reporting.result import Result, marked_met
from personafit.reporting.scores import RunScores, load_scores
from personafit.reporting.totals import CONTROL_RATERS, SYSTEM, RunTotals, load_totals

SYSTEM_COLUMNS = SYSTEM


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
    "SYSTEM_COLUMNS",
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
