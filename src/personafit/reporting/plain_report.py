"""The report of a kind that has none of its own: its table of metrics, its lifts in sentences, and how it was made."""

from personafit.kinds import run_lines
from personafit.reporting.analysis import figure_cell
from personafit.reporting.claims import lift_claims
from personafit.reporting.kind_report import KindReport
from personafit.reporting.line_results import results_of
from personafit.reporting.pieces import Grid, Row
from personafit.reporting.result import Figures
from personafit.store import RunRecord, Store


class PlainReport(KindReport):
    """A run of any kind, by its lines and metrics alone."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.opened = run_lines(store, run)
        self.lines = self.opened.lines
        super().__init__(store, run, dict(self.opened.info), results_of(self.opened))

    def sentences(self) -> list[str]:
        """What each rater's lift shows, where the kind has a lift."""
        return lift_claims(self.results)

    def table(self) -> Grid:
        """Every metric of every line; shares in percent, anything else as it is."""
        figures, metrics = Figures(self.results), self.opened.metrics
        scales = [100.0 if metric.bounds == (0.0, 1.0) else 1.0 for metric in metrics]
        rows = []
        for line in self.lines:
            found = [
                figures.find(one.name, line.rater, line.view, line.system, line.given) for one in metrics
            ]
            cells = [figure_cell(one, scale) for one, scale in zip(found, scales, strict=True)]
            rows.append(Row([str(line.rater), line.view or ""], cells, line.control))
        labels = [f"{metric.name}: {metric.label}." for metric in metrics if metric.label]
        clustered = "95 % intervals are clustered by person and, where prompts recur, by prompt."
        headings = [metric.name.replace("_", " ") for metric in metrics]
        return Grid("Metrics", " ".join([*labels, clustered]), ["rater", "context"], headings, rows)
