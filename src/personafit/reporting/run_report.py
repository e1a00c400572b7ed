"""What every kind of run can be asked for once it has run: its numbers, its tables, its page, its coverage.

Choices are the usual kind. Another kind (relevance, dialogues) is a class like `ChoiceReport` and a line in `REPORTS`;
the run's record says which kind it is.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol

from rich.console import Console

from personafit._errors import UserError
from personafit.reporting.claims import lift_claims
from personafit.reporting.html import write_report
from personafit.reporting.results import Result, load_totals, run_results, worst_coverage
from personafit.reporting.tables import print_run
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store


class RunReport(Protocol):
    """A finished or half-finished run, read back."""

    benchmark: str
    """The benchmark's name, as in results."""
    coverage_bar: float
    """A run whose worst coverage is below this fails."""
    results: list[Result]
    """Every number of the run."""

    def print(self, console: Console) -> None:
        """Show the tables and say in sentences what they mean."""

    def write_html(self, path: Path) -> None:
        """Write the report as one self-contained page."""

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""

    def worst_coverage(self) -> tuple[str, float] | None:
        """Who was asked for and answered least, and the share answered."""


class ChoiceReport:
    """A run in which raters chose between answers."""

    def __init__(self, store: Store, run: RunRecord, margin: float = MARGIN) -> None:
        self._store = store
        self._margin = margin
        self._totals = load_totals(store, run)
        self.benchmark: str = self._totals.info["name"]
        self.coverage_bar: float = self._totals.info["coverage_bar"]
        self.results = run_results(self._totals)

    def print(self, console: Console) -> None:
        """Show the score table and what it means."""
        print_run(console, self._totals, self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What each rater's lift shows."""
        return lift_claims(self.results, self._margin)

    def write_html(self, path: Path) -> None:
        """Write the report page."""
        write_report(self._store, self._totals, self.results, path, self._margin)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and view with the least coverage."""
        return worst_coverage(self._totals)


REPORTS = {
    "relevance": "personafit.reporting.relevance.run_report:RelevanceReport",
    "preference": "personafit.reporting.preference.run_report:PreferenceReport",
    "dialogue": "personafit.reporting.dialogues.run_report:DialogueReport",
    "injection": "personafit.reporting.injection.run_report:InjectionReport",
    "writing": "personafit.reporting.writing.run_report:WritingReport",
}


def open_report(store: Store, run: RunRecord, margin: float | None = None) -> RunReport:
    """The report of a run, by the kind its record names; a margin for equivalence can be set for runs of choices."""
    kind = run.config.get("kind", "choice")
    if kind == "choice":
        return ChoiceReport(store, run, MARGIN if margin is None else margin)
    if kind not in REPORTS:
        raise UserError(f"{run.name} is a run of kind '{kind!s:.40}', which has no report here.")
    if margin is not None:
        raise UserError(f"--margin is for runs of choices, and {run.name} is a {kind} run: leave it out.")
    module, _, name = REPORTS[kind].partition(":")
    report: RunReport = getattr(import_module(module), name)(store, run)
    return report
