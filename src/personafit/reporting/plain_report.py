"""The report of a kind that has none of its own: its table of metrics, its lifts in sentences, and how it was made."""

from collections.abc import Sequence

from personafit.kinds import run_lines
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.reporting.claims import lift_claims
from personafit.reporting.line_results import line_shares, results_of, worst_coverage
from personafit.reporting.pieces import Cell, Grid, Instrument, Row
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.result import Result
from personafit.reporting.written import when
from personafit.store import RunRecord, Store


class PlainReport(KindReport):
    """A run of any kind, by its lines and metrics alone."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.lines: RunLines = run_lines(store, run)
        self.benchmark: str = self.lines.info["name"]
        self.coverage_bar: float = self.lines.info["coverage_bar"]
        self.results: list[Result] = results_of(self.lines)

    def part(self) -> ReportPart:
        """Sentences, the table of metrics, and how the run was made."""
        run, info = self.lines.run, self.lines.info
        labels = [f"{metric.name}: {metric.label}." for metric in self.lines.metrics if metric.label]
        rows = [
            Row([str(line.rater), line.view or ""], self.cells(line), line.control)
            for line in self.lines.lines
        ]
        caption = " ".join(
            [*labels, "95 % intervals are clustered by person and, where prompts recur, by prompt."]
        )
        facts = {
            "run": run.name,
            "started": when(run.started),
            "data": run.dataset,
            "licence": info["licence"],
        }
        return ReportPart(
            run.name,
            self.title,
            self.sentences(),
            [Grid("Metrics", caption, ["rater", "context"], self.headings, rows)],
            instrument=Instrument(run.config.get("command"), facts, notes=run.config.get("notes", [])),
            facts=[f"run {run.name}", when(run.started)],
        )

    def sentences(self) -> list[str]:
        """What each rater's lift shows, where the kind has a lift."""
        return lift_claims(self.results)

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
