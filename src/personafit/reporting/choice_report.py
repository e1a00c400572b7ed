"""A run of choices, read back: its numbers, its tables, its page, its coverage."""

from pathlib import Path

from rich.console import Console

from personafit.reporting.claims import lift_claims
from personafit.reporting.html import write_report
from personafit.reporting.line_results import share_of, worst_coverage
from personafit.reporting.results import load_totals, run_results
from personafit.reporting.tables import print_run
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store


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
        totals = self._totals
        return worst_coverage(
            (
                f"{rater['name']} ({view})",
                share_of(totals.answered(rater["fingerprint"], view), totals.asked(rater, view)),
                not rater["control"],
            )
            for rater in totals.raters
            for view in totals.views
        )
