"""A run on hostile text, read back: its numbers, its tables, its page, its coverage."""

from functools import cached_property
from pathlib import Path

from rich.console import Console

from personafit.reporting.injection.results import injection_results, right_lines
from personafit.reporting.injection.scores import load_effects
from personafit.reporting.injection.words import explain_injection, print_injection
from personafit.reporting.line_results import line_shares, worst_coverage
from personafit.reporting.totals import RunTotals, load_totals
from personafit.store import RunRecord, Store


class InjectionReport:
    """A run in which texts tried to steer the raters."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.effects = load_effects(store, run)
        self.benchmark: str = self.effects.scores.info["name"]
        self.coverage_bar: float = self.effects.scores.info["coverage_bar"]
        self.results = injection_results(self.effects)

    def print(self, console: Console) -> None:
        """Show the tables and what they mean."""
        print_injection(console, self.effects.scores.info["title"], self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return list(explain_injection(self.results))

    def write_html(self, path: Path) -> None:
        """Write the report page."""
        from personafit.reporting.injection.page import write_page

        write_page(self._store, self.totals, self.results, path)

    @cached_property
    def totals(self) -> RunTotals:
        """The run added up like one of choices, which it is: what its failures, items and instrument are shown from."""
        return load_totals(self._store, self.effects.scores.run)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and view with the least coverage."""
        return worst_coverage(line_shares(right_lines(self.effects)))
