"""What an analysis of a run gives: the object that `--json` prints, and a part for the terminal and the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from rich.console import Console

from personafit.kinds.choice_scores import RunScores
from personafit.reporting.pieces import Cell, Sentences
from personafit.reporting.plots import Dot
from personafit.reporting.report import ReportPart
from personafit.reporting.result import Result
from personafit.reporting.terminal import print_pieces
from personafit.reporting.written import plain
from personafit.statistics import Estimate
from personafit.store import RunRecord, Store

AS_THEY_WERE = "Over the choices as they were, before anything hostile was put into them."


@dataclass(frozen=True)
class Analysis:
    """The numbers of an analysis, and what they mean."""

    benchmark: str
    results: list[Result]
    part: ReportPart
    more: Mapping[str, Any] = field(default_factory=dict)
    """What `--json` prints beside the results."""
    hints: Sequence[str] = ()
    """What was left out, for standard error."""

    def as_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {"benchmark": self.benchmark, "results": [one.as_dict() for one in self.results], **self.more}

    def print(self, console: Console) -> None:
        """Print the sentences, then the tables."""
        print_part(self.part, console)


def print_part(part: ReportPart, console: Console) -> None:
    """Print a part of a report: its sentences, then its tables and notes."""
    sections = (piece for section in part.sections for piece in section.pieces)
    print_pieces([Sentences(part.sentences), *part.lead, *sections], console)


def choice_hints(scores: RunScores | None) -> list[str]:
    """That of attacked choices only those before the attack are analysed."""
    return [AS_THEY_WERE] if scores is not None and "base" in scores.items.columns else []


def answers_of(scores: RunScores, rater: Mapping[str, Any]) -> pl.DataFrame:
    """The answers that a rater of choices gave to the run's question under the view that counts: item, order, label, value."""
    columns = {"item": pl.String, "order": pl.String, "label": pl.String, "value": pl.Float64}
    if scores.answers.is_empty():
        return pl.DataFrame(schema=columns)
    return scores.answers.filter(
        rater=rater["fingerprint"],
        view=scores.headline_view,
        question=scores.run.config["question"],
        status="ok",
    ).select(*columns)


def benchmark_of(store: Store, run: RunRecord) -> str:
    """The name of the benchmark that a run is of."""
    return str(store.dataset_info(run.dataset)["name"])


def figure_cell(found: Estimate | Result | None, scale: float = 1.0, digits: int | None = None) -> Cell:
    """A figure with its interval: in percent with one decimal where the scale is 100, else with two; empty where there is none."""
    if found is None or found.value is None:
        return Cell()
    places = (1 if scale == 100 else 2) if digits is None else digits

    def write(value: float) -> str:
        return plain(scale * value, places)

    if found.low is None or found.high is None:
        return Cell(write(found.value), sort=found.value)
    dash = " to " if found.low < 0 else "–"
    return Cell(write(found.value), f"{write(found.low)}{dash}{write(found.high)}", found.value)


def small_notes(notes: Iterable[str]) -> list[Sentences]:
    """Notes below a table, each once; nothing where there are none."""
    said = list(dict.fromkeys(notes))
    return [Sentences(said, small=True)] if said else []


def undefined(note: str | None) -> Estimate:
    """The estimate of what has no value, with the reason."""
    return Estimate(None, None, None, 0, 0, note)


def count_cell(count: int | None) -> Cell:
    """A count; empty where there is none."""
    return Cell() if count is None else Cell(f"{count:,}", sort=float(count))


def percent_dot(found: Estimate | Result | None) -> Dot:
    """A share as a mark of a figure, in percent; nothing where there is none."""
    if found is None:
        return Dot()
    return Dot(*(None if end is None else 100 * end for end in (found.value, found.low, found.high)))
