"""A run of writing, read back: its numbers, its table, its page, its coverage."""

from dataclasses import replace
from pathlib import Path

from rich.console import Console

from personafit.reporting.writing.scores import load_writing, writing_coverage, writing_results
from personafit.reporting.writing.words import explain_writing, print_writing
from personafit.store import RunRecord, Store


class WritingReport:
    """A run in which systems wrote what people wrote."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.scores = load_writing(store, run)
        self.benchmark: str = self.scores.info["name"]
        self.coverage_bar: float = self.scores.info["coverage_bar"]
        self.results = writing_results(self.scores)

    def print(self, console: Console) -> None:
        """Show the table and what it means."""
        print_writing(console, self.scores, self.results)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return list(explain_writing(self.results))

    def write_html(self, path: Path) -> None:
        """Write the report page: the chapters that a collected report would have of it."""
        from personafit.reporting.whole import ending
        from personafit.reporting.whole.collected import Collected
        from personafit.reporting.whole.page import write_whole
        from personafit.reporting.writing.chapter import writing

        given = Collected(self._store, writings={self.scores.run.name: self})
        first = replace(writing(given), name="headline")  # where the page's skip link leads
        write_whole(given, [first, ending.items(given)], path)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The system and context with the least coverage."""
        return writing_coverage(self.scores)
