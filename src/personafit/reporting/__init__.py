"""Numbers, tables, plots and the report."""

from personafit.reporting.results import (
    Result,
    RunScores,
    load_scores,
    load_totals,
    overall_coverage,
    run_results,
)
from personafit.reporting.tables import print_run

__all__ = [
    "Result",
    "RunScores",
    "load_scores",
    "load_totals",
    "overall_coverage",
    "print_run",
    "run_results",
]
