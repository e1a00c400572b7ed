"""What an analysis of a run gives: the object that `--json` prints, and a part for the terminal and the page."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from rich.console import Console

from personafit.kinds.choice_scores import RunScores
from personafit.kinds.lines import Line, Reference, RunLines
from personafit.reports.pieces import Cell, Sentences, result_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.reports.terminal import print_pieces
from personafit.reports.written import plain
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
    print_pieces([Sentences(part.sentences), *part.pieces()], console)


def choice_hints(scores: RunScores | None) -> list[str]:
    """That of attacked choices only those before the attack are analysed."""
    return [AS_THEY_WERE] if scores is not None and "base" in scores.items.columns else []


def answers_of(scores: RunScores, rater: Mapping[str, Any]) -> pl.DataFrame:
    """The answers that a rater of choices gave to the run's question under the view that counts."""
    return scores.answers.filter(
        rater=rater["fingerprint"],
        view=scores.headline_view,
        question=scores.run.config["question"],
        target="",
        status="ok",
    )


def judged_lines(opened: RunLines, reference: Reference) -> list[Line]:
    """The lines of a run's raters that answer a question, under the context that counts."""
    lines = [line for line in opened.lines if reference.answer in line.frame.columns]
    headline = opened.headline_view(lines)
    return [line for line in lines if line.view == headline and line.fingerprint in opened.rater_kinds]


def benchmark_of(store: Store, run: RunRecord) -> str:
    """The name of the benchmark that a run is of."""
    return str(store.dataset_info(run.dataset)["name"])


def figure_cell(found: Estimate | Result | None, scale: float = 1.0, digits: int | None = None) -> Cell:
    """A figure with its interval: in percent with one decimal where the scale is 100, else with two; empty where there is none."""
    places = (1 if scale == 100 else 2) if digits is None else digits
    negative = found is not None and found.low is not None and found.low < 0
    return result_cell(found, lambda value: plain(scale * value, places), to=" to " if negative else "–")


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
