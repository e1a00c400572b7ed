"""Numbers, tables, plots and the report."""

from personafit.reporting.results import (
    Result,
    RunScores,
    load_scores,
    load_totals,
    run_results,
)

__all__ = [
    "Result",
    "RunScores",
    "load_scores",
    "load_totals",
    "run_results",
]
