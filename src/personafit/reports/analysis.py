"""What an analysis gives: sentences, figures as a frame, a part of a report, and the object that `--json` prints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

from personafit.kinds.choice import RunScores
from personafit.kinds.lines import Line, Reference, RunLines
from personafit.reports.pieces import Cell, Sentences, result_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.reports.terminal import print_pieces
from personafit.reports.written import plain
from personafit.statistics import Estimate
from personafit.store import RunRecord, Store

AS_THEY_WERE = "Over the choices as they were, before anything hostile was put into them."


_RESULTS: dict[str, Any] = {
    "rater": pl.String,
    "system": pl.String,
    "system_context": pl.String,
    "context": pl.String,
    "metric": pl.String,
    "slice": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "people": pl.Int64,
    "coverage": pl.Float64,
    "control": pl.String,
    "note": pl.String,
    "se": pl.Float64,
    "df": pl.Float64,
    "met_people": pl.Boolean,
    "fingerprint": pl.String,
}
"""Columns of a frame of results."""


def results_frame(results: Iterable[Result]) -> pl.DataFrame:
    """Results as a frame, in the words of the Python surface."""
    rows = []
    for result in results:
        row = asdict(result)
        row["context"], row["system_context"] = row.pop("view"), row.pop("given")
        row["slice"] = ", ".join(f"{name}={value}" for name, value in result.slice.items())
        rows.append(tuple(row[name] for name in _RESULTS))
    return pl.DataFrame(rows, schema=_RESULTS, orient="row")


@dataclass(frozen=True)
class Analysis:
    """What `compare`, `agree`, `audit` and `analyze` return: it prints itself, and a notebook shows it."""

    benchmark: str
    figures: Sequence[Result]
    made: ReportPart | Callable[[bool], ReportPart]
    """The part of a report, or what makes it with or without pictures."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """What `--json` prints beside the figures; all of it, where there are no figures and no benchmark."""
    hints: Sequence[str] = ()
    """What was left out, for standard error."""
    rows: Sequence[Mapping[str, Any]] = ()
    """Figures that are no `Result`, such as differences."""
    brief: bool = False
    """Whether a terminal shows only the first tables."""

    @property
    def results(self) -> pl.DataFrame:
        """Every figure, a row each."""
        return pl.DataFrame(self.rows, infer_schema_length=None) if self.rows else results_frame(self.figures)

    @property
    def sentences(self) -> list[str]:
        """What can be said, a sentence each."""
        return list(self.part(pictures=False).sentences)

    def as_dict(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        results = [one.as_dict() for one in self.figures]
        return (
            {"benchmark": self.benchmark, "results": results, **self.more}
            if self.benchmark
            else {**self.more}
        )

    def part(self, pictures: bool = True) -> ReportPart:
        """The analysis as a part of a report; a terminal needs no pictures drawn."""
        return self.made(pictures) if callable(self.made) else self.made

    def print(self, console: Console | None = None) -> None:
        """Print the sentences, then the tables; of long ones the first, and where the others are."""
        part, console = self.part(pictures=False), console or Console()
        if self.brief and part.sections:
            rest = ", ".join(f"“{section.title}”" for section in part.sections)
            more = Sentences([f"Also in --json and on the page of `personafit report`: {rest}."], small=True)
            part = replace(part, lead=[*part.lead, more], sections=(), instrument=None)
        print_part(part, console)

    def report(self, path: str | Path) -> Path:
        """Write the analysis as one self-contained page, and return where it is."""
        from personafit.reports.report_page import write_page

        write_page([self.part()], Path(path))
        return Path(path)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return said + self.results._repr_html_()


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
