"""Numbers, tables, plots and the report."""

from personafit.kinds.choice_scores import RunScores, load_scores
from personafit.reports.result import Result
from personafit.reports.totals import load_totals, run_results

__all__ = ["Result", "RunScores", "load_scores", "load_totals", "run_results"]
