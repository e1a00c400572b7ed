"""A preference run, read back: its numbers, its tables, its page, its coverage."""

from pathlib import Path

from rich.console import Console

from personafit.reporting.preference.results import preference_coverage, preference_results
from personafit.reporting.preference.scores import load_preferences
from personafit.reporting.preference.tables import print_preferences
from personafit.reporting.preference.words import explain_preferences
from personafit.store import RunRecord, Store


class PreferenceReport:
    """A run in which raters marked a personalized answer against a generic one."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.scores = load_preferences(store, run)
        self.benchmark: str = self.scores.info["name"]
        self.coverage_bar: float = self.scores.info["coverage_bar"]
        self.results = preference_results(self.scores)

    def print(self, console: Console) -> None:
        """Show the tables and what they mean."""
        print_preferences(console, self.scores, self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return list(explain_preferences(self.scores, self.results))

    def write_html(self, path: Path) -> None:
        """Write the report page."""
        from personafit.reporting.preference.page import write_page

        write_page(self._store, self.scores, self.results, path)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater with the least coverage."""
        return preference_coverage(self.scores)
