"""The base class of reports by kind of run, and what they share: outline, tables by line, warnings, asks, and how the run was made."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import printable
from personafit.kinds import run_lines
from personafit.kinds.lines import UNIT_SCALE, Line, RunLines
from personafit.reports.claims import lift_claims
from personafit.reports.line_results import IN_DATA, line_shares, results_of, worst_coverage
from personafit.reports.pieces import (
    Browser,
    Errors,
    Grid,
    Instrument,
    Participant,
    Picture,
    Piece,
    Prose,
    Remarks,
    Row,
    Section,
    count_row,
    figure_cell,
    metric_cell,
    metric_name,
    share_cell,
)
from personafit.reports.report import ReportPart
from personafit.reports.result import Figures, Result, when
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Status, Store, run_answers
from personafit.store import tables as t

if TYPE_CHECKING:
    from personafit.reports.plots import Panel

ORDERS = {1: "one (each answer is scored by itself)", 2: "both"}
PUBLISHED = "published"
NOT_MEASURED = "published, not measured here: "
"""Prefix of the note of a published figure; its source follows."""
HEADS = ("system", "system context", "rater", "context")
LineId = tuple[str | None, str | None, str | None, str | None]
"""System, system context, rater and context of a line, as in results."""
Column = tuple[str, str, Mapping[str, str]]
"""Heading, metric, and slice of a column."""
_NamedLine = tuple[list[str], Callable[[str, Mapping[str, str]], Result | None], str | None, str | None]
"""A line's names, a function that finds its results by metric and slice, its kind of control, and where it was published."""


class KindReport(ABC):
    """Base class for the report of one run. Subclasses add what is specific to their kind; the outline is the same for all."""

    margin: float = MARGIN
    """Equivalence margin: smaller differences count as none."""
    complete: bool = False
    """Whether to include analyses that go beyond the run's scores."""
    searched: ClassVar[Mapping[str, str]] = {}
    """Overrides of the item browser's texts: what the search covers, what raters are called, what is explained."""
    clustered: ClassVar[str] = "person and, where prompts recur, by prompt"
    """What intervals are clustered by."""
    asks_whether: ClassVar[str] = ""
    """The question that runs of this kind ask; it is the title where the benchmark's own is missing or about choices."""
    lines: Sequence[Line] = ()
    """The judged lines, if coverage is computed from them."""

    def __init__(self, store: Store, run: RunRecord, info: dict[str, Any], results: list[Result]) -> None:
        self.store = store
        self.record = run
        self.info = info
        """The benchmark's description of itself."""
        self.benchmark: str = self.info["name"]
        self.kind = str(run.config.get("kind", "choice"))
        self.coverage_bar: float = self.info["coverage_bar"]
        """Minimum coverage: a run whose worst coverage is below it fails."""
        self.results = results
        self.figures = Figures(results)

    # -- what a kind defines -------------------------------------------------------------------------------------------

    def title(self) -> str:
        """Return the title of the report: the benchmark's question."""
        own, about_choices = self.info["title"], self.info["metric"] in ("accuracy", "win_rate")
        if self.asks_whether and (about_choices or own in ("", None, self.benchmark)):
            own = f"{self.benchmark}: {self.asks_whether}"
        text = str(own or self.benchmark)
        return text[:1].upper() + text[1:]

    def sentences(self) -> list[str]:
        """Return the findings of the run besides its verdict, as sentences."""
        return []

    def worst_coverage(self) -> tuple[str, float] | None:
        """Return the line with the lowest coverage, and that coverage."""
        return worst_coverage(line_shares(self.lines))

    def counts(self) -> Sequence[str]:
        """Return the size of the run in short phrases, such as its items and people."""
        return ()

    def answered(self) -> tuple[int, int]:
        """Return the number of planned answers and the number of answers obtained."""
        frames = [line.frame for line in self.lines if line.control not in IN_DATA]
        asked, answered = (sum(int(one[name].sum()) for one in frames) for name in ("asked", "answered"))
        return asked, answered

    def warnings(self) -> Iterable[str]:
        """Yield warnings to read before trusting any number of the run."""
        asked, answered = self.answered()
        if self.record.finished is None:
            so_far = f" {answered:,} of {asked:,} planned answers are there." if asked else ""
            yield f"This run is not finished:{so_far} The same command continues it, and all numbers may still change."
        elif asked and answered / asked < self.coverage_bar:
            yield (
                f"Coverage is {100 * answered / asked:.1f} %, below the bar of {100 * self.coverage_bar:.0f} %: the missing answers may "
                "differ from the others. The section “Asks” shows how asks ended."
            )

    def picture(self) -> Picture | None:
        """Return the lead picture, which is never folded."""
        return None

    @abstractmethod
    def table(self) -> Grid:
        """Return the small lead table, which is never folded."""

    def sections(self) -> Iterable[Section]:
        """Return all other sections; those without pieces are left out of the report."""
        return ()

    def items(self) -> dict[str, Any] | None:
        """Return the data of the item browser; None if there are no items to show."""
        return None

    def browser(self) -> Browser | None:
        """Return the item browser, or None if there are no items to show."""
        from personafit.reports.report_page import browser_piece

        data = self.items()
        return None if data is None else browser_piece(self.record.name, data, **self.searched)

    def facts(self) -> Mapping[str, str]:
        """Return settings that affect the numbers, in addition to those listed for every run."""
        return {}

    def members(self) -> Iterable[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        """Yield each participant's role, entry in the run's record, and facts to show besides its settings."""
        for rater in self.record.config["raters"]:
            orders = (
                {"orders": ORDERS.get(rater["orders"], str(rater["orders"]))} if "orders" in rater else {}
            )
            yield f"{rater['kind']}, {'control' if rater['control'] else 'asked for'}", rater, orders

    def questions(self) -> Mapping[str, str] | None:
        """Return the question put to the raters, by name, if their settings do not contain it."""
        return None

    def notes(self) -> Iterable[str]:
        """Yield notes on oddities of the data and on lines, such as how scores were turned into answers."""
        yield from self.record.config.get("notes", [])
        yield from (f"{line.rater}: {note}." for line in self.lines for note in line.notes)

    # -- the same for all ----------------------------------------------------------------------------------------------

    def part(self) -> ReportPart:
        return replace(
            self.brief(),
            sections=[section for section in self.sections() if section.pieces],
            browser=[browser] if (browser := self.browser()) else [],
            instrument=self._instrument(),
        )

    def brief(self, pictured: bool = True) -> ReportPart:
        """Return the part without folded sections, items and instrument; a terminal needs no picture either."""
        lead: list[Piece] = [Prose(text, "warning") for text in self.warnings()]
        if pictured and (picture := self._picture) is not None:
            lead.append(picture)
        asked, answered = self.answered()
        covered = [f"coverage {100 * answered / asked:.1f} %"] if asked else []
        return ReportPart(
            self.record.name,
            self.title(),
            self.sentences(),
            [*lead, self.table()],
            facts=[
                f"{self.kind} run {self.record.name}",
                when(self.record.started),
                *self.counts(),
                *covered,
            ],
            about=str(self.info["description"]).strip(),
        )

    @cached_property
    def _picture(self) -> Picture | None:
        return self.picture()

    def asks(
        self,
        answers: pl.DataFrame,
        counted: str,
        planned: Callable[[Mapping[str, Any]], int] | None = None,
        who: str = "raters",
    ) -> Section:
        """Return a section on how the asks of each rater (or system) ended; `planned` gives the number planned for an entry."""
        ended = (
            (
                [rater["name"]],
                endings(answers, rater=rater["fingerprint"]),
                None if planned is None else planned(rater),
            )
            for rater in self.record.config[who]
        )
        return asks_section(ended, counted, (who.removesuffix("s"),))

    def agreement(self, opened: RunLines) -> Section:
        from personafit.reports.agree import agreement_section
        from personafit.reports.agree_ratings import lines_source

        found = agreement_section(lines_source(self.store, opened), self.margin)
        return found or Section("Agreement", [])

    # -- tables and pictures by line ------------------------------------------------------------------------------------

    def lines_of(self, metric: str) -> dict[LineId, str | None]:
        """Return the lines that have a total of `metric`, grouped by system, with their kind of control; controls come last."""
        found = {
            line_id(one): one.control
            for one in self.results
            if one.metric == metric and not one.slice and one.control != PUBLISHED
        }
        systems = [*dict.fromkeys(line[0] for line in found)]
        return dict(sorted(found.items(), key=lambda line: (line[1] is not None, systems.index(line[0][0]))))

    def grid(
        self,
        title: str,
        caption: str,
        lines: Mapping[LineId, str | None],
        columns: Sequence[Column],
        coverage: str | None = None,
        quoted: Sequence[Result] = (),
        note: str = "",
    ) -> Grid:
        """Build a table with a row per line, named by what distinguishes the lines; empty columns are dropped.

        `coverage` is the metric whose coverage is the last column; `quoted` are published figures, whose lines follow.
        """
        heads, every, same = self._named(lines, quoted)
        remarks, rows = Remarks(), []
        rules = {one["name"] for one in self.record.config.get("raters", ()) if one.get("control")}
        rater = heads.index("rater") if "rater" in heads else 0
        for names, find, control, source in every:
            cells = [remarks.cell(find(metric, where)) for _, metric, where in columns]
            if coverage is not None:
                whole = find(coverage, {})
                cells.append(share_cell(None if whole is None else whole.coverage))
            if source is None or any(cell.text for cell in cells):
                rows.append(Row(names, cells, control, source, rater if names[rater] in rules else 0))
        headings = [heading for heading, *_ in columns] + ([] if coverage is None else ["coverage, %"])
        caption = self._caption([same, caption], rows)
        return Grid(title, caption, heads, headings, rows, list(remarks), note).filled()

    def _caption(self, said: Sequence[str], rows: Sequence[Row]) -> str:
        """Return the caption of a table; it says what the intervals are if there are any."""
        shown = any(mark in cell.interval for row in rows for cell in row.cells for mark in ("–", " to "))
        intervals = f"Below each number its 95 % interval, clustered by {self.clustered}." if shown else ""
        return " ".join(filter(None, [*said, intervals]))

    def filled(
        self,
        title: str,
        caption: str,
        lines: Mapping[LineId, str | None],
        columns: Sequence[Column],
        note: str = "",
        quoted: Sequence[Result] = (),
    ) -> list[Piece]:
        """Return the table of `grid` in a list; empty if it has no numbers."""
        grid = self.grid(title, caption, lines, columns, None, quoted, note)
        return [grid] if grid.rows and grid.columns else []

    def plot(
        self,
        title: str,
        caption: str,
        lines: Mapping[LineId, str | None],
        panels: "Sequence[tuple[Panel, str, Mapping[str, str]]]",
        quoted: Sequence[Result] = (),
        people: Container[str | None] = (),
    ) -> Picture | None:
        """Plot a row of dots per line and a panel per metric (in percent for panels with one decimal); None if nothing has a value.

        The caption is followed by what bars and marks mean. `people` are the controls that are people.
        """
        from personafit.reports.plots import PlotRow, dot_of, marks_words, panels_figure

        rows = []
        for names, find, control, source in self._named(lines, quoted)[1]:
            dots = [
                dot_of(find(metric, where), 100.0 if one.digits == 1 else 1.0)
                for one, metric, where in panels
            ]
            is_person = control in people
            if source is None or any(dot.value is not None for dot in dots):
                called, ruled = " · ".join(filter(None, names)), control is not None and not is_person
                rows.append(PlotRow(called, dots, ruled, people=is_person, published=source is not None))
        kept = [
            place for place in range(len(panels)) if any(row.dots[place].value is not None for row in rows)
        ]
        if not kept or all(row.published for row in rows):
            return None
        drawn = [replace(row, dots=[row.dots[place] for place in kept]) for row in rows]
        figure = panels_figure(drawn, [panels[place][0] for place in kept])
        return Picture(title, caption + marks_words(drawn), figure)

    def differences(
        self, title: str, caption: str, metrics: Sequence[str], suffix: str = "difference", without: str = ""
    ) -> list[Piece]:
        """Return a table of differences between lines, a row per pair, without controls of kind `without`; empty if there are none."""
        pairs = dict.fromkeys(
            (line_id(one), one.slice["against"])
            for one in self.results
            if set(one.slice) == {"against"} and (not without or one.control != without)
        )
        judged = [pair for pair in pairs if pair[0][2] is not None] or [*pairs]
        places = name_places([line for line, _ in judged])
        rows = []
        for line, against in judged:
            where = {"against": against}
            cells = [metric_cell(_find(self.figures, line, f"{one}_{suffix}", where)) for one in metrics]
            if any(cell.text for cell in cells):
                rows.append(Row([*(line[place] or "" for place in places), against], cells))
        heads = [*(HEADS[place] for place in places), "against"]
        headings = [*map(metric_name, metrics)]
        return [Grid(title, self._caption([caption], rows), heads, headings, rows).filled()] if rows else []

    def _named(
        self, lines: Mapping[LineId, str | None], quoted: Sequence[Result]
    ) -> tuple[list[str], list[_NamedLine], str]:
        """Return the headings of the names, the lines (published ones last), and a sentence with what all lines share."""
        published = Figures(replace(one, control=None) for one in quoted)
        sources = {line_id(one): (one.note or "").removeprefix(NOT_MEASURED) for one in quoted}
        places = name_places([*lines, *sources])
        every: list[tuple[LineId, Figures, str | None, str | None]] = []
        every += [(line, self.figures, control, None) for line, control in lines.items()]
        every += [(line, published, None, source) for line, source in sources.items()]
        named: list[_NamedLine] = [
            ([line[place] or "" for place in places], partial(_find, figures, line), control, source)
            for line, figures, control, source in every
        ]
        same = [
            (HEADS[place], {line[place] for line in lines} - {None})
            for place in {*range(len(HEADS))} - {*places}
        ]
        shared = " ".join(f"{head.capitalize()}: {value}." for head, values in same for value in values)
        return [HEADS[place] for place in places], named, shared

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


# -- tables by line ----------------------------------------------------------------------------------------------------


def quote(
    metric: str,
    value: float,
    source: str,
    n: int = 0,
    slice: dict[str, str] | None = None,
    rater: str | None = None,
    context: str | None = None,
    system: str | None = None,
    system_context: str | None = None,
) -> Result:
    """Return a published figure as a result, to show beside measured ones."""
    found = Estimate(value, None, None, n, 0, f"{NOT_MEASURED}{source}")
    made = Result.of(found, metric=metric, slice=slice, control=PUBLISHED)
    return replace(made, rater=rater, context=context, system=system, system_context=system_context)


def line_id(one: Result) -> LineId:
    """Return the line that a result belongs to."""
    return one.system, one.system_context, one.rater, one.context


def _find(figures: Figures, line: LineId, metric: str, where: Mapping[str, str]) -> Result | None:
    """Return a line's result, or else the result of its system without a rater."""
    system, system_context, rater, context = line
    return figures.find(metric, rater, context, system, system_context, **where) or figures.find(
        metric, None, None, system, system_context, **where
    )


def name_places(lines: Sequence[LineId]) -> list[int]:
    """Return the positions of the names that distinguish the lines; if none does, that of the system or, without systems, the rater."""
    first = 0 if any(line[0] for line in lines) else 2
    differ = [place for place in range(len(HEADS)) if len({line[place] for line in lines} - {None}) > 1]
    return differ or [first]


# -- how asks ended ----------------------------------------------------------------------------------------------------

ERRORS_SHOWN = 3
LONGEST_ERROR = 400  # characters
LONGEST_EXAMPLE = 160


class Endings(NamedTuple):
    """Number of asks per `Status`, in its order, and the most frequent error messages."""

    counts: list[int]
    errors: list[tuple[str, str, int]]


def endings(answers: pl.DataFrame, **where: str) -> Endings:
    """Count how the asks ended, among the rows whose columns have these values."""
    if answers.is_empty():
        return Endings([0] * len(Status), [])
    rows = answers.filter(**where)
    counts = dict(rows["status"].value_counts().iter_rows())
    wrong = rows.filter((pl.col("status") != Status.OK.value) & pl.col("detail").is_not_null())
    detail = pl.col("detail").cast(pl.String).str.slice(0, LONGEST_ERROR)
    errors = wrong.group_by("status", detail, maintain_order=True).len()
    return Endings(
        [counts.get(status.value, 0) for status in Status],
        list(errors.sort("len", descending=True).head(ERRORS_SHOWN).iter_rows()),
    )


def lost_asks(store: Store, run: RunRecord) -> str:
    """Return the number of a run's asks without an answer, by status, with one reply as an example; empty if there are none."""
    raters = [rater["fingerprint"] for rater in run.config["raters"]]
    answers = run_answers(store, run.id)
    lost = answers.filter(pl.col("rater").is_in(raters) & (pl.col("status") != Status.OK.value)).unique(
        "ask", maintain_order=True
    )
    if lost.is_empty():
        return ""
    counts = dict(lost["status"].value_counts().iter_rows())
    listed = ", ".join(f"{counts[one.value]:,} {one.value}" for one in Status if one.value in counts)
    replied = lost.filter(pl.col("status").is_in([Status.UNPARSED.value, Status.REFUSED.value]))
    if replied.is_empty():  # the reasons of failed asks are shown where they failed
        return listed
    status, example = replied["status"][0], replied["ask"][0]
    reply = store.frame(select(t.asks.c.reply).where(t.asks.c.id == example))["reply"][0]
    return f"{listed}; a reply that was {status}: {_quoted(reply)}"


def _quoted(text: str | None) -> str:
    plain = printable(" ".join(str(text or "").split()))
    return f"'{plain if len(plain) <= LONGEST_EXAMPLE else plain[:LONGEST_EXAMPLE] + '…'}'"


def asks_section(
    ended: Iterable[tuple[Sequence[str], Endings, int | None]],
    counted: str,
    heads: Sequence[str] = ("rater",),
) -> Section:
    """Return a section on how asks ended, with the most frequent error messages.

    Args:
        ended: The names of each row, how its asks ended, and how many were planned, if known.
        counted: What is counted, as the table's caption.
        heads: The headings of the names.
    """
    rows, errors, told = [], [], False
    for names, (counts, wrong), planned in ended:
        told = told or planned is not None
        missing = [] if planned is None else [max(0, planned - sum(counts))]
        rows.append(count_row(names, [*counts, *missing]))
        if wrong:
            errors.append(Errors(" · ".join(names), wrong))
    columns = [*(status.value for status in Status), *(["not yet asked"] if told else [])]
    lead = "A failure is never counted as an answer and never dropped: it lowers coverage."
    return Section("Asks", [Grid("How asks ended", counted, heads, columns, rows), *errors], lead)


def shown_settings(store: Store) -> dict[str, dict[str, str]]:
    """Return the recorded settings of each rater or system, by fingerprint; those left to the provider are not listed."""
    frame = store.frame(select(t.raters.c.fingerprint, t.raters.c.settings))
    return {
        fingerprint: {key: _shown(value) for key, value in orjson.loads(text).items() if value is not None}
        for fingerprint, text in frame.iter_rows()
    }


def _shown(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


# -- kinds without a report of their own --------------------------------------------------------------------------------


class PlainReport(KindReport):
    """The report of a kind without its own report class, from its lines and metrics alone."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.opened = run_lines(store, run)
        self.lines = self.opened.lines
        super().__init__(store, run, dict(self.opened.info), results_of(self.opened))

    def sentences(self) -> list[str]:
        return lift_claims(self.results)

    def table(self) -> Grid:
        metrics = self.opened.metrics
        rows = []
        for line in self.lines:
            key = line.rater, line.context, line.system, line.system_context
            cells = [
                figure_cell(self.figures.find(one.name, *key), 100.0 if one.bounds == UNIT_SCALE else 1.0)
                for one in metrics
            ]
            rows.append(Row([str(line.rater), line.context or ""], cells, line.control))
        labels = [f"{metric.name}: {metric.label}." for metric in metrics if metric.label]
        headings = [metric_name(metric.name) for metric in metrics]
        return Grid("Metrics", self._caption(labels, rows), ["rater", "context"], headings, rows)


# -- simulated users -------------------------------------------------------------------------------------------------

STYLE = re.compile(r",style=\w+")


def user_style(user: Mapping[str, Any]) -> str:
    """Return the style of a simulated user from its entry in a run's record: `vanilla`, or `cot, told its history`."""
    return str(user.get("style", "")) + (", told its history" if user.get("history") == "yes" else "")


def same_but_style(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    """Return whether two simulated users are the same model but differ in style or in being told their history."""
    models = [STYLE.sub("", str(user.get("name"))) for user in (one, two)]
    return models[0] == models[1] and user_style(one) != user_style(two)
