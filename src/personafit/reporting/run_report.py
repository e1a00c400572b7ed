"""What every kind of run can be asked for once it has run: its numbers, its tables, its page, its coverage.

Each kind is a class such as `ChoiceReport` and a line in `REPORTS`; the run's record says which kind it is.
"""

from importlib import import_module
from pathlib import Path
from typing import Protocol

from rich.console import Console

from personafit._errors import UserError
from personafit.reporting.result import Result
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


REPORTS = {
    "choice": "personafit.reporting.choice_report:ChoiceReport",
    "relevance": "personafit.reporting.relevance.run_report:RelevanceReport",
    "preference": "personafit.reporting.preference.run_report:PreferenceReport",
    "dialogue": "personafit.reporting.dialogues.run_report:DialogueReport",
    "injection": "personafit.reporting.injection.run_report:InjectionReport",
    "writing": "personafit.reporting.writing.run_report:WritingReport",
}


PLAIN = "personafit.reporting.plain_report:PlainReport"
"""Of kinds that have none of their own."""


def open_report(store: Store, run: RunRecord, margin: float | None = None) -> RunReport:
    """The report of a run, by the kind its record names; a margin for equivalence can be set for runs of choices."""
    kind = run.config.get("kind", "choice")
    if margin is not None and kind != "choice":
        raise UserError(f"--margin is for runs of choices, and {run.name} is a {kind} run: leave it out.")
    module, _, name = REPORTS.get(kind, PLAIN).partition(":")
    margins = {} if margin is None else {"margin": margin}
    report: RunReport = getattr(import_module(module), name)(store, run, **margins)
    return report
