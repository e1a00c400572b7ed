"""From the stored judgments of a run of choices to flat records: one number each, with interval, coverage and control."""

from personafit.kinds.choice_scores import RunScores, headline_view, load_scores
from personafit.kinds.lines import CONTROL_RATERS
from personafit.reporting.line_results import results_of
from personafit.reporting.result import Result, marked_met
from personafit.reporting.totals import RunTotals, load_totals


def run_results(totals: RunTotals) -> list[Result]:
    """Every number of a run."""
    return results_of(totals.opened, totals.added)


__all__ = [
    "CONTROL_RATERS",
    "Result",
    "RunScores",
    "headline_view",
    "load_scores",
    "load_totals",
    "marked_met",
    "run_results",
]
