"""Several runs of one call as one `Run`: those of a folder with several kinds of item, or of a suite."""

from collections.abc import Sequence
from functools import cached_property
from html import escape
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from rich.console import Console

from personafit._errors import UserError, writing
from personafit.api.places import make_folder
from personafit.api.report import collect_parts
from personafit.api.run import Run
from personafit.reports.pieces import Grid, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.report_page import notebook_html, summary_grid, write_page
from personafit.reports.result import Result
from personafit.reports.terminal import print_pieces
from personafit.reports.verdict import RunVerdict
from personafit.store import Store


class RunGroup(Run):
    """Several runs as one: frames hold the rows of all, with the columns `run` and `kind`; `runs` has the single runs."""

    def __init__(
        self,
        name: str,
        title: str,
        store: Store,
        runs: Sequence[Run],
        errors: Sequence[tuple[str, UserError]] = (),
    ) -> None:
        self._name = name
        self.title = title
        """Title for display."""
        self._store = store
        self._runs = list(runs)
        self.errors = list(errors)
        """Runs that could not be made, by name, with their errors."""
        self.group = self._close = None
        for run in runs:
            run.group = self  # keeps the group alive, which may own the store

    @property
    def name(self) -> str:
        return self._name

    @property
    def runs(self) -> Sequence[Run]:
        return self._runs

    @property
    def benchmark(self) -> str:
        return ", ".join(dict.fromkeys(run.benchmark for run in self.runs))

    @property
    def kind(self) -> str:
        return ", ".join(dict.fromkeys(run.kind for run in self.runs))

    @property
    def finished(self) -> bool:
        return not self.errors and all(run.finished for run in self.runs)

    @property
    def interrupted(self) -> bool:
        return any(run.interrupted for run in self.runs)

    @property
    def judged(self) -> bool:
        return bool(self._judged)

    @property
    def stopped(self) -> list[str]:
        stopped = [sentence for run in self.runs for sentence in run.stopped]
        return [*(f"{name}: {error}" for name, error in self.errors), *stopped]

    @property
    def cost(self) -> float:
        return sum(run.cost for run in self.runs)

    @property
    def notes(self) -> list[str]:
        return [f"{run.name}: {note}" for run in self.runs for note in run.notes]

    @property
    def answers(self) -> dict[str, int]:
        counts = [run.answers for run in self.runs]
        return {name: sum(one[name] for one in counts) for name in counts[0]} if counts else {}

    @cached_property
    def figures(self) -> list[Result]:
        return [result for run in self.runs for result in run.figures]

    def figures_by(self, metric: str) -> list[Result]:
        return [result for run in self.runs for result in run.figures_by(metric)]

    @cached_property
    def results(self) -> pl.DataFrame:
        return self._frames("results")

    @cached_property
    def judgments(self) -> pl.DataFrame:
        return self._frames("judgments")

    @cached_property
    def items(self) -> pl.DataFrame:
        """Every item of all runs, in the columns of `Run.items`; slices that a run does not have are null."""
        return self._frames("items")

    @property
    def verdict(self) -> RunVerdict:
        """The verdict over all runs: the first subject of every run, then the others, and the outcomes of the gates."""
        found = [run.verdict for run in self.runs]
        turns = zip_longest(*(one.subjects for one in found))
        return RunVerdict(
            tuple(subject for turn in turns for subject in turn if subject is not None),
            tuple(bar for one in found for bar in one.gate),
            " ".join(one.note for one in found if one.note) or f"Nothing has been judged in {self.name} yet.",
            " ".join(one.answers for one in found if one.answers),
            len(found),
        )

    @property
    def coverage_gap(self) -> str | None:
        return " ".join(gap for run in self.runs if (gap := run.coverage_gap)) or None

    def report(self, path: str | Path) -> Path:
        page = Path(path)
        make_folder(page.parent)
        with writing(page):
            write_page(self._parts, page, self.title)
        return page

    def write(self, folder: str | Path) -> Path:
        """Write report.html and results.json of all runs into a folder, and return the path of the page."""
        page = self.report(Path(folder) / "report.html")
        with writing(folder):
            body = orjson.dumps(self.as_dict(), option=orjson.OPT_INDENT_2)
            page.with_name("results.json").write_bytes(body)
        return page

    def print(self, console: Console | None = None) -> None:
        """Print one table with the headline metrics of every run, and the notes."""
        notes = [f"{run.name}: {note}" for run in self._judged for note in run.record.config.get("notes", [])]
        print_pieces([self._grid, Sentences(notes, small=True)], console or Console())

    def as_dict(self) -> dict[str, Any]:
        return {"suite": self.title, "runs": [run.as_dict() for run in self._judged]}

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict, and one table over all runs."""
        said = [self._said, *self.stopped]
        text = "\n".join(f"<p>{escape(sentence)}</p>" for sentence in said)
        table = notebook_html([self._grid]) if self.judged else ""
        return f"<p><b>{escape(self.title)}</b></p>\n{text}\n{table}"

    @property
    def _judged(self) -> list[Run]:
        return [run for run in self.runs if run.judged]

    @property
    def _lanes(self) -> Sequence[Any]:
        return [lane for run in self.runs for lane in run._lanes]

    @property
    def _grid(self) -> Grid:
        return summary_grid(self._parts, self.title)

    @cached_property
    def _parts(self) -> list[ReportPart]:
        return collect_parts([run.name for run in self._judged], self._store)

    def _frames(self, name: str) -> pl.DataFrame:
        frames = [
            getattr(run, name).select(pl.lit(run.name).alias("run"), pl.lit(run.kind).alias("kind"), pl.all())
            for run in self._judged
        ]
        return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()
