"""What the reports of all kinds of run share: their outline, warnings, asks, and how the run was made."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from personafit.kinds.lines import Line, RunLines
from personafit.reporting.asked import asks_section, endings, shown_settings
from personafit.reporting.line_results import IN_DATA, line_shares, worst_coverage
from personafit.reporting.pieces import (
    Browser,
    Grid,
    Instrument,
    Participant,
    Picture,
    Piece,
    Prose,
    Section,
)
from personafit.reporting.report import ReportPart
from personafit.reporting.result import Result
from personafit.reporting.written import when
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from personafit.reporting.agree_ratings import Source

ORDERS = {1: "one (each answer is scored by itself)", 2: "both"}


class KindReport(ABC):
    """A run of one kind, read back. A kind says what is its own; the outline is the same for all."""

    margin: float = MARGIN
    """Differences within this count as none in tests of equivalence."""
    complete: bool = False
    """Whether analyses that take long on a large run are included."""
    searched: ClassVar[Mapping[str, str]] = {}
    """What the browser's search looks into, what raters are called and what is to be explained, where it differs from choices."""
    lines: Sequence[Line] = ()
    """What was judged, where coverage is to be taken from it."""
    sources: "Sequence[Source]" = ()
    """Studies and folders with people's votes, where a report has them beside the run."""

    def __init__(self, store: Store, run: RunRecord, info: dict[str, Any], results: list[Result]) -> None:
        self.store = store
        self.record = run
        self.info = info
        """What the benchmark says of itself."""
        self.benchmark: str = self.info["name"]
        self.coverage_bar: float = self.info["coverage_bar"]
        """A run whose worst coverage is below this fails."""
        self.results = results

    # -- what a kind says ----------------------------------------------------------------------------------------------

    def sentences(self) -> list[str]:
        """What the run shows besides its verdict, a sentence each."""
        return []

    def worst_coverage(self) -> tuple[str, float] | None:
        """Who was asked for and answered least, and the share answered."""
        return worst_coverage(line_shares(self.lines))

    def counts(self) -> Sequence[str]:
        """How much the run is over, a few words each: items, people."""
        return ()

    def answered(self) -> tuple[int, int]:
        """How many answers were planned, and how many there are."""
        frames = [line.frame for line in self.lines if line.control not in IN_DATA]
        asked, answered = (sum(int(one[name].sum()) for one in frames) for name in ("asked", "answered"))
        return asked, answered

    def warnings(self) -> Iterable[str]:
        """What is to be known before any number of the run is believed."""
        asked, answered = self.answered()
        if self.record.finished is None:
            so_far = f" {answered:,} of {asked:,} planned answers are there." if asked else ""
            yield f"This run is not finished:{so_far} The same command continues it, and all numbers may still change."
        elif asked and answered / asked < self.coverage_bar:
            yield (
                f"Coverage is {100 * answered / asked:.1f} %, below the bar of {100 * self.coverage_bar:.0f} %: what is missing may not "
                "be like what is there. The section Asks says how asks ended."
            )

    def picture(self) -> Picture | None:
        """The one picture that is never folded."""
        return None

    @abstractmethod
    def table(self) -> Grid:
        """The one small table that is never folded."""

    def sections(self) -> Iterable[Section]:
        """Everything else; sections without pieces are left out."""
        return ()

    def items(self) -> dict[str, Any] | None:
        """What the browser of items reads; None where there is nothing to look into."""
        return None

    def browser(self) -> Browser | None:
        """What can be searched and looked into."""
        from personafit.reporting.report_page import browser_piece

        data = self.items()
        return None if data is None else browser_piece(self.record.name, "choice", data, **self.searched)

    def facts(self) -> Mapping[str, str]:
        """What shaped the numbers besides what is said of every run."""
        return {}

    def members(self) -> Iterable[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        """Everyone who took part: role, entry in the run's record, and what is to be said besides its settings."""
        for rater in self.record.config["raters"]:
            orders = (
                {"orders": ORDERS.get(rater["orders"], str(rater["orders"]))} if "orders" in rater else {}
            )
            yield f"{rater['kind']}, {'control' if rater['control'] else 'asked for'}", rater, orders

    def questions(self) -> Mapping[str, str] | None:
        """What raters were asked, by the name of the question, where no setting of theirs says it."""
        return None

    def notes(self) -> Iterable[str]:
        """What is odd in the data, and what is to be said of a line's figures, such as how its scores became answers."""
        yield from self.record.config.get("notes", [])
        yield from (f"{line.rater}: {note}." for line in self.lines for note in line.notes)

    # -- the same for all ----------------------------------------------------------------------------------------------

    def part(self) -> ReportPart:
        """The run as a part of a report."""
        return self._part

    @cached_property
    def _part(self) -> ReportPart:
        return replace(
            self.brief(),
            sections=[section for section in self.sections() if section.pieces],
            browser=[browser] if (browser := self.browser()) else [],
            instrument=self._instrument(),
        )

    def brief(self, pictured: bool = True) -> ReportPart:
        """The part without what is folded, the items and the instrument; a terminal needs no picture either."""
        lead: list[Piece] = [Prose(text, "warning") for text in self.warnings()]
        if pictured and (picture := self._picture) is not None:
            lead.append(picture)
        asked, answered = self.answered()
        covered = [f"coverage {100 * answered / asked:.1f} %"] if asked else []
        return ReportPart(
            self.record.name,
            str(self.info["title"] or self.benchmark),
            self.sentences(),
            [*lead, self.table()],
            facts=[f"run {self.record.name}", when(self.record.started), *self.counts(), *covered],
            about=str(self.info["description"]).strip(),
        )

    @cached_property
    def _picture(self) -> Picture | None:
        return self.picture()

    def asks(
        self, answers: pl.DataFrame, counted: str, planned: Callable[[Mapping[str, Any]], int] | None = None
    ) -> Section:
        """How the asks of each rater ended, given all answers; `planned` says how many asks of a rater there were to be."""
        ended = (
            (
                [rater["name"]],
                endings(answers, rater=rater["fingerprint"]),
                None if planned is None else planned(rater),
            )
            for rater in self.record.config["raters"]
        )
        return asks_section(ended, counted)

    def agreement(self, opened: RunLines) -> Section:
        """How far the raters agree with people."""
        from personafit.reporting.agree_part import agreement_section
        from personafit.reporting.agree_ratings import lines_source

        return agreement_section(lines_source(self.store, opened), opened, self.margin)

    def _instrument(self) -> Instrument:
        run, config = self.record, self.record.config
        settings = shown_settings(self.store)
        members = [
            Participant(
                one["name"], role, one["fingerprint"], {**own, **settings.get(one["fingerprint"], {})}
            )
            for role, one, own in self.members()
        ]
        facts = {
            "run": run.name,
            "started": when(run.started),
            "finished": "not finished" if run.finished is None else when(run.finished),
            "data set": run.dataset,
            "benchmark version": self.info["version"],
            "licence of the data": self.info["licence"],
            "seed, samples per ask": f"{config['seed']}, {config['samples']}" if "samples" in config else "",
            **self.facts(),
        }
        said = {"", self.info["description"].strip()}
        notes = [note for note in dict.fromkeys(map(str.strip, self.notes())) if note not in said]
        kept = {name: value for name, value in facts.items() if value}
        return Instrument(
            config.get("command") or "(started from Python)", kept, members, self.questions(), notes
        )
