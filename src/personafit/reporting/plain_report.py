"""The report of a kind that has none of its own: its table of metrics, its lifts in sentences, and how it was made."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.kinds.lines import Line, Metric, RunLines
from personafit.reporting.claims import lift_claims
from personafit.reporting.line_results import line_shares, results_of, worst_coverage
from personafit.reporting.lines import run_lines
from personafit.reporting.result import Result
from personafit.reporting.sections import Cell
from personafit.store import RunRecord, Store


class PlainReport:
    """A run of any kind, by its lines and metrics alone."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.lines: RunLines = run_lines(store, run)
        self.benchmark: str = self.lines.info["name"]
        self.coverage_bar: float = self.lines.info["coverage_bar"]
        self.results: list[Result] = results_of(self.lines)

    def print(self, console: Console) -> None:
        """Show the table of metrics and what it means."""
        table = Table(title=Text(f"{self.title}; 95 % interval in brackets"), title_justify="left")
        table.add_column("rater", overflow="fold")
        table.add_column("told", overflow="fold")
        for heading in self.headings:
            table.add_column(heading, justify="right")
        for line in self.lines.lines:
            cells = [
                f"{cell.text} {f'[{cell.interval}]' if cell.interval else ''}" for cell in self.cells(line)
            ]
            name = f"{line.rater}\ncontrol: {line.control}" if line.control else str(line.rater)
            table.add_row(Text(name), Text(line.view or ""), *(Text(cell.strip()) for cell in cells))
        console.print(table)
        for sentence in self.sentences():
            print(sentence)

    def sentences(self) -> list[str]:
        """What each rater's lift shows, where the kind has a lift."""
        return lift_claims(self.results)

    def write_html(self, path: Path) -> None:
        """Write the report as one page: the chapter that a collected report would have of it."""
        from personafit.reporting.whole.collected import Collected
        from personafit.reporting.whole.others import others
        from personafit.reporting.whole.page import write_whole

        given = Collected(self._store, others={self.lines.run.name: self})
        write_whole(given, [replace(others(given), name="headline")], path)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and context with the least coverage."""
        return worst_coverage(line_shares(self.lines.lines))

    @property
    def title(self) -> str:
        """What was run."""
        return str(self.lines.info["title"] or self.benchmark)

    @property
    def headings(self) -> list[str]:
        """The metrics, as a table calls them."""
        return [metric.name.replace("_", " ") for metric in self.lines.metrics]

    def cells(self, line: Line) -> list[Cell]:
        """A line's metrics over everything, as a table shows them."""
        return [_cell(metric, self._result(line, metric)) for metric in self.lines.metrics]

    def _result(self, line: Line, metric: Metric) -> Result | None:
        wanted = (line.fingerprint, line.view, metric.name)
        found: Sequence[Result] = [
            one for one in self.results if (one.fingerprint, one.view, one.metric) == wanted and not one.slice
        ]
        return found[0] if found else None


def _cell(metric: Metric, result: Result | None) -> Cell:
    """A share in percent, anything else as it is."""
    if result is None or result.value is None:
        return Cell()
    scale, digits = (100, 1) if metric.bounds == (0.0, 1.0) else (1, 2)
    text = f"{scale * result.value:.{digits}f}"
    if result.low is None or result.high is None:
        return Cell(text, sort=result.value)
    return Cell(text, f"{scale * result.low:.{digits}f}–{scale * result.high:.{digits}f}", result.value)
