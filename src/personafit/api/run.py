"""The result object of a run: its figures, judgments and items as frames, its report, and its verdict."""

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from rich.console import Console

from personafit._errors import UserError, writing
from personafit.api.places import (
    check_margin,
    find_run,
    make_folder,
    require_judged,
    say_if_long,
    store_url,
)
from personafit.engine import Summary
from personafit.kinds.kind import items_of
from personafit.reports.kind_report import KindReport, lost_asks
from personafit.reports.pieces import Prose, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, results_frame
from personafit.reports.run_report import made_results, open_report, run_bars, verdict_of, with_verdict
from personafit.reports.terminal import print_pieces
from personafit.reports.verdict import RunVerdict
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store, gold_answers, run_answers

_JUDGMENTS: dict[str, Any] = {
    "item": pl.String,
    "target": pl.String,
    "question": pl.String,
    "rater": pl.String,
    "context": pl.String,
    "order": pl.String,
    "sample": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
    "detail": pl.String,
    "tokens_in": pl.Int64,
    "tokens_out": pl.Int64,
    "cost": pl.Float64,
    "seconds": pl.Float64,
    "fingerprint": pl.String,
}


class Run:
    """A run that was carried out, or loaded from a store.

    Frames are loaded when they are first used. An interrupted run has what is judged so far; calling `evaluate`
    again with the same arguments resumes it.
    """

    errors: Sequence[tuple[str, UserError]] = ()
    """Runs of several that could not be made, by name, with their errors."""

    def __init__(
        self,
        store: Store,
        record: RunRecord,
        summary: Summary | None = None,
        notes: Sequence[str] = (),
        margin: float = MARGIN,
    ) -> None:
        """`summary` tells how the work went, if this process did it.

        Differences below `margin` count as none in equivalence tests.
        """
        self._margin = margin
        self.bars = run_bars(record)
        """The bars of the run's gate: metrics and their limits; the verdict tells whether they are met."""
        self._store = store
        self._notes = list(notes)
        self.record = record
        """The run as stored: name, data set, configuration, when it began and ended."""
        self.summary = summary
        """What this call did and spent; None for a run that was loaded."""
        self.group: Run | None = None
        """The group of runs it belongs to, if one call carried out several."""
        self._close: Callable[[], object] | None = None

    def owns_store(self) -> None:
        """Let the run close the store when it is closed."""
        self._close = weakref.finalize(self, self._store.close)

    @property
    def runs(self) -> Sequence["Run"]:
        """The single runs, if one call carried out several: one for every kind of item, or those of a suite."""
        return [self]

    @property
    def name(self) -> str:
        """The run's name, by which `load`, `compare` and the commands find it."""
        return self.record.name

    @property
    def benchmark(self) -> str:
        """The name of the benchmark."""
        return str(self.record.config.get("benchmark", ""))

    @property
    def kind(self) -> str:
        """The kind of the items: choice, relevance, preference, dialogue, writing, injection, episode, or a plugin's."""
        return str(self.record.config.get("kind", "choice"))

    @property
    def finished(self) -> bool:
        """Whether everything that was planned has been tried."""
        return self.record.finished is not None

    @property
    def interrupted(self) -> bool:
        """Whether this call was interrupted, so that only a part is judged."""
        return self.summary is not None and self.summary.interrupted

    @property
    def judged(self) -> bool:
        """Whether judging has begun; a run can stop while its systems are still answering."""
        return "raters" in self.record.config

    @property
    def asked(self) -> int:
        """How many asks this call made."""
        return sum(lane.finished + lane.failed for lane in self._lanes)

    @property
    def reused(self) -> int:
        """How many asks were answered before and not repeated."""
        return sum(lane.reused for lane in self._lanes)

    @property
    def failed(self) -> int:
        """How many asks of this call failed for good; the same call tries them again."""
        return sum(lane.failed for lane in self._lanes)

    @property
    def stopped(self) -> list[str]:
        """Why parts of the work ended early or failed, a sentence each."""
        failed = None if self.summary is None or self.interrupted else self.summary.why_failed
        stopped = [f"{lane.name} stopped: {lane.stopped}" for lane in self._lanes if lane.stopped]
        return stopped if failed is None else [failed]

    @property
    def cost(self) -> float:
        """What this call spent, in USD."""
        return self.summary.cost if self.summary is not None else 0.0

    @property
    def notes(self) -> list[str]:
        """Notes on the data and the raters, a sentence each."""
        return [*self._notes, *(str(note) for note in self.record.config.get("notes", []))]

    @property
    def answers(self) -> dict[str, int]:
        """How many answers the systems made in this run and how many were `reused`; 0 if there are no systems.

        Of those made, `resumed` were made before an interruption; of those reused, `stale` are of systems that may have changed
        since, such as endpoints and functions.
        """
        counts = self.record.config.get("answers") or {}
        return {name: int(counts.get(name, 0)) for name in ("made", "reused", "resumed", "stale")}

    @cached_property
    def figures(self) -> list[Result]:
        """Every figure of the run as a record; `results` has the same as a frame."""
        if not self.judged:
            return []
        found = self._report.results
        return [*found, *made_results(self._store, self.record, found)]

    def figures_by(self, metric: str) -> list[Result]:
        """Return every figure of the run, including those of the slice that `METRIC[NAME=VALUE]` names."""
        asked = [*self.record.config.get("gate", []), f"{metric}=0"]
        record = self.record._replace(config=self.record.config | {"gate": asked})
        return self.figures if "[" not in metric else Run(self._store, record).figures

    @cached_property
    def results(self) -> pl.DataFrame:
        """Every figure of the run, a row each, with its 95 % interval.

        `slice` is empty for totals and otherwise names the slice, such as `half=general, tier=hard`; `control`
        names the type of control and is null for what was asked for.
        """
        return results_frame(self.figures)

    @cached_property
    def judgments(self) -> pl.DataFrame:
        """Every judgment of the run: item, rater, context, order, status, label, value, cost."""
        if not self.judged:
            return pl.DataFrame(schema=_JUDGMENTS)
        names = {rater["fingerprint"]: rater["name"] for rater in self.record.config["raters"]}
        answers = run_answers(self._store, self.record.id)
        if answers.is_empty():
            return pl.DataFrame(schema=_JUDGMENTS)
        answers = answers.rename({"rater": "fingerprint"})
        if names:  # other asks made contexts, answers or turns
            answers = answers.filter(pl.col("fingerprint").is_in(list(names)))
        called = pl.col("fingerprint").replace_strict(names, default=None, return_dtype=pl.String)
        return answers.with_columns(called.alias("rater")).select(
            pl.col(name).cast(dtype) for name, dtype in _JUDGMENTS.items()
        )

    @cached_property
    def items(self) -> pl.DataFrame:
        """Every item of the run: person, question, answers, the gold label and tier where known, and its slices."""
        dataset, items = self.record.dataset, list(items_of(self._store, self.record))
        texts = self._store.texts({product for item in items for product in item.products})
        slices = sorted({name for item in items for name in item.slices})
        rows = [
            (item.id, item.person, item.prompt, [texts.get(product) for product in item.products])
            for item in items
        ]
        schema: dict[str, Any] = dict.fromkeys(("item", "person", "question"), pl.String)
        frame = pl.DataFrame(rows, schema | {"answers": pl.List(pl.String)}, orient="row")
        gold = gold_answers(self._store, dataset, self._store.dataset_info(dataset).get("gold"))
        told = gold.select("item", "gold", *([] if "tier" in slices else ["tier"])).unique(
            "item", keep="first"
        )
        frame = frame.join(told, on="item", how="left", maintain_order="left")
        return frame.with_columns(
            pl.Series(name, [item.slices.get(name) for item in items], dtype=pl.String)
            for name in slices
            if name not in frame.columns
        ).rename({"given": "system_context"}, strict=False)

    @property
    def verdict(self) -> RunVerdict:
        """The verdict at the top of the report: a sentence for everything that was tested, and the gate's outcome."""
        if not self.judged:
            why = [f"Nothing has been judged in {self.name} yet.", *self.stopped]
            return RunVerdict((), note=" ".join(why))
        return verdict_of(self._report, self._store, self.record, self.bars, self._margin)

    @cached_property
    def coverage_gap(self) -> str | None:
        """A sentence saying that coverage is too low for the figures to be trusted; None if it is not."""
        if not self.judged:
            return None
        worst = self._report.worst_coverage()
        bar = self._report.coverage_bar
        if worst is None or worst[1] >= bar:
            return None
        said = f"coverage of {worst[0]} is {100 * worst[1]:.1f} %, below the bar of {100 * bar:.0f} %"
        return f"{said} ({lost})." if (lost := lost_asks(self._store, self.record)) else f"{said}."

    def report(self, path: str | Path) -> Path:
        """Write the report with all analyses as one self-contained HTML page and return its path."""
        from personafit.reports.report_page import write_page

        page, self._report.complete = Path(path), True
        make_folder(page.parent)
        with writing(page):
            write_page([self.part()], page)
        return page

    def write(self, folder: str | Path) -> Path:
        """Write report.html, results.json and run.json into a folder, and return the path of the page."""
        from personafit.reports.report_page import write_page

        place = Path(folder)
        make_folder(place)
        with writing(place):
            body = orjson.dumps(self.as_dict(), option=orjson.OPT_INDENT_2)
            (place / "results.json").write_bytes(body)
            (place / "run.json").write_bytes(orjson.dumps({"run": self.name}) + b"\n")
            write_page([self.part()], place / "report.html")
        return place / "report.html"

    def part(self, brief: bool = False) -> ReportPart:
        """Return the run as a part of a report; `brief` for its verdict and first table alone."""
        part = self._report.brief(pictured=False) if brief else self._report.part()
        return with_verdict(part, self.verdict)

    def print(self, console: Console | None = None) -> None:
        """Print the verdict and the first table."""
        if not self.judged:
            print_pieces([Sentences([self.verdict.sentence])], console or Console())
            return
        part = self.part(brief=True)
        of = Prose(" · ".join([part.title, *part.facts]), "small")
        said = [note for note in dict.fromkeys(self.notes) if note.strip() != part.about]
        notes = Sentences(said, small=True)
        print_pieces([Sentences(part.sentences), *part.lead, notes, of], console or Console())

    def as_dict(self) -> dict[str, Any]:
        """Return the run as the one object that `--json` prints."""
        benchmark = self._report.benchmark if self.judged else self.benchmark
        return {
            "benchmark": benchmark,
            "run": self.name,
            "verdict": self.verdict.as_dict(),
            "gate": [asdict(one) for one in self.verdict.gate],
            **self.answers,
            "systems": self.record.config.get("spent", []),
            "results": [result.as_dict() for result in self.figures],
        }

    def close(self) -> None:
        """Close the store if the run owns it; what was loaded stays available."""
        if self._close is not None:
            self._close()

    def __repr__(self) -> str:
        state = "" if self.finished else ", not finished"
        return f"<Run {self.name}: {self._said.rstrip('.')}{state}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the verdict, the first table and the first figure."""
        parts = [f"<p><b>{escape(self.name)}</b>{'' if self.finished else ' (not finished)'}</p>"]
        parts.append(f"<p>{escape(self._said)}</p>")
        if self.judged and "_report" in self.__dict__:
            from personafit.reports.report_page import notebook_html

            parts.append(notebook_html(self._report.brief().lead))
        said = [*(self.stopped if self.judged else ()), *self.notes]  # else the verdict says why it stopped
        parts += [f"<p>{escape(sentence)}</p>" for sentence in said]
        return "\n".join(parts)

    @property
    def _said(self) -> str:
        """Return the verdict's sentence or, for a run that cannot be read, the reason."""
        try:
            return self.verdict.sentence
        except UserError as error:
            return str(error)

    @property
    def _lanes(self) -> Sequence[Any]:
        return self.summary.lanes if self.summary is not None else ()

    @cached_property
    def _report(self) -> KindReport:
        say_if_long(require_judged(self.record))
        return open_report(self._store, self.record, self._margin)


def load(name: str = "last", *, store: str | Path | Store | None = None, margin: float = MARGIN) -> Run:
    """Load a run from the store: by its name, by the folder of its files, or the one used `last`.

    It loads single runs: a store does not record which runs one `evaluate` of several kinds made, so load each of its `runs` by name.
    Nothing is asked, and nothing that the store names is imported. Differences below `margin`, a share of the scale, count as
    none in equivalence tests; 0.05 by default.
    """
    check_margin(margin)
    opened, owns = open_store(store)
    try:
        run = Run(opened, find_run(opened, str(name)), margin=margin)
    except BaseException:
        if owns:
            opened.close()
        raise
    if owns:
        run.owns_store()
    return run


@contextmanager
def opened_store(store: str | Path | Store | None) -> Iterator[Store]:
    """Open the store asked for, and close it at the end if it was opened here."""
    opened, owns = open_store(store)
    try:
        yield opened
    finally:
        if owns:
            opened.close()


def open_store(store: str | Path | Store | None) -> tuple[Store, bool]:
    """Return the store asked for, and whether it was opened here."""
    if isinstance(store, Store):
        return store, False
    if not isinstance(store, str | Path | None):
        raise UserError(
            f"store={store!r:.60}: give the path of a file, a postgresql:// URL or an open Store."
        )
    return Store(store_url(store)), True
