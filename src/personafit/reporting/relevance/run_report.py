"""A relevance run, read back: its numbers, its tables, its page, its coverage."""

from pathlib import Path

from rich.console import Console

from personafit.reporting.line_results import line_shares, worst_coverage
from personafit.reporting.relevance.results import relevance_results
from personafit.reporting.relevance.scores import load_relevance
from personafit.reporting.relevance.tables import print_relevance
from personafit.reporting.relevance.words import explain_relevance
from personafit.store import RunRecord, Store


class RelevanceReport:
    """A run in which raters said which attributes matter."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.scores = load_relevance(store, run)
        self.benchmark: str = self.scores.info["name"]
        self.coverage_bar: float = self.scores.info["coverage_bar"]
        self.results = relevance_results(self.scores)

    def print(self, console: Console) -> None:
        """Show the table and what it means."""
        print_relevance(console, self.scores, self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return list(explain_relevance(self.scores, self.results))

    def write_html(self, path: Path) -> None:
        """Write the report page."""
        from personafit.reporting.relevance.page import write_page

        write_page(self._store, self.scores, self.results, path)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and view with the least coverage."""
        return worst_coverage(line_shares(self.scores.lines))
