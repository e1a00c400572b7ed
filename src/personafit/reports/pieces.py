"""The pieces of a report: sentences, tables, figures, facts. The template lays them out, and exports are written from them.

A piece has content and no layout: the same table becomes HTML, CSV and LaTeX.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from markupsafe import Markup

from personafit.reports.claims import count_of, same_words
from personafit.reports.result import Result, plain
from personafit.reports.result import signed as signed_points
from personafit.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


CALLED = {"no view": "no context"}
"""Controls that are displayed under another name than the stored one."""
FROM_DATA = frozenset(
    {"published votes", "votes in the data", "people", "simulated people", "labels in the data"}
)
"""Controls whose judgments came with the data."""


@dataclass(frozen=True)
class Prose:
    """A paragraph in a style such as `lead` or `warning`."""

    kind: ClassVar[str] = "prose"
    text: str
    style: str = "lead"


@dataclass(frozen=True)
class Sentences:
    """Sentences, one per line; with `small`, they are notes."""

    kind: ClassVar[str] = "words"
    sentences: Sequence[str]
    small: bool = False


@dataclass(frozen=True)
class Cell:
    """One table cell: text, interval, sort key, and the numbers of its remarks."""

    text: str = ""
    interval: str = ""
    sort: float | None = None
    notes: Sequence[int] = ()


@dataclass(frozen=True)
class Row:
    """One row of a table: names, cells, its kind of control, and its source if published."""

    names: Sequence[str]
    cells: Sequence[Cell]
    control: str | None = None
    source: str | None = None
    named: int = 0
    """The place of the name that is the control."""

    @property
    def kind(self) -> str:
        """The displayed kind of control; empty for other rows."""
        return CALLED.get(self.control, self.control) if self.control else ""

    @property
    def tag(self) -> str:
        """The text beside the control's name, such as `control: longest answer`; empty for other rows."""
        return f"control: {self.kind}" if self.kind and self.control not in FROM_DATA else self.kind

    @property
    def called(self) -> list[str]:
        """The names, with the tag of the control."""
        return [
            f"{name} ({self.tag})" if self.tag and place == self.named else name
            for place, name in enumerate(self.names)
        ]


@dataclass(frozen=True)
class Grid:
    """A table: one column of names per head, then the columns of numbers."""

    kind: ClassVar[str] = "grid"
    title: str
    caption: str
    heads: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Row]
    remarks: Sequence[str] = ()
    """The remarks that cells refer to by number."""
    note: str = ""

    @property
    def textual(self) -> list[bool]:
        """Which columns hold text rather than numbers."""
        cells = [[row.cells[place] for row in self.rows] for place in range(len(self.columns))]
        said = [[one for one in column if one.text.strip("–")] for column in cells]
        return [bool(column) and all(one.sort is None for one in column) for column in said]

    def filled(self) -> "Grid":
        """Return the table without empty columns and the remarks that only they refer to."""
        kept = [
            place for place in range(len(self.columns)) if any(row.cells[place].text for row in self.rows)
        ]
        used = sorted({number for row in self.rows for place in kept for number in row.cells[place].notes})
        numbers = {number: place for place, number in enumerate(used, 1)}

        def renumbered(cell: Cell) -> Cell:
            return replace(cell, notes=tuple(numbers[number] for number in cell.notes))

        rows = [replace(row, cells=[renumbered(row.cells[place]) for place in kept]) for row in self.rows]
        remarks = [self.remarks[number - 1] for number in used]
        return replace(self, columns=[self.columns[place] for place in kept], rows=rows, remarks=remarks)


@dataclass(frozen=True)
class Picture:
    """A drawn figure, independent of where it is shown."""

    kind: ClassVar[str] = "picture"
    title: str
    caption: str
    figure: "Figure"
    words: str = "The numbers are in the tables of this page."
    """Alternative text of the figure."""


@dataclass(frozen=True)
class Participant:
    """A rater or system of the run, with all its settings."""

    name: str
    tag: str
    fingerprint: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Instrument:
    """How a part was made, and the command that reproduces it, if known."""

    kind: ClassVar[str] = "instrument"
    command: str | None
    facts: Mapping[str, str]
    members: Sequence[Participant] = ()
    asked: Mapping[str, str] | None = None
    """The question put to the raters, by name."""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Errors:
    """Error messages: status, message and count."""

    kind: ClassVar[str] = "errors"
    title: str
    errors: Sequence[tuple[str, str, int]]


@dataclass(frozen=True)
class Browser:
    """The item browser: markup, and the data read by its script."""

    kind: ClassVar[str] = "browser"
    name: str
    """The name of the run the items belong to."""
    markup: Markup
    data: Markup


Piece = Prose | Sentences | Grid | Picture | Instrument | Errors | Browser


@dataclass(frozen=True)
class Section:
    """A titled part of a report, folded on a page; `lead` says in one sentence what it shows."""

    title: str
    pieces: Sequence[Piece]
    lead: str = ""


def percent_cell(found: Estimate | Result | None, signed: bool = False) -> Cell:
    """Return a share in percent, or with `signed` a difference in points; empty if undefined."""
    if found is None or found.value is None:
        return Cell()
    if isinstance(found, Result) and (few := count_of(found)):
        return Cell(*few, found.value)
    write = signed_points if signed else "{:.1f}".format
    interval = same_words(found, signed) or ""
    if found.low is not None and found.high is not None:
        interval = f"{write(100 * found.low)}{' to ' if signed else '–'}{write(100 * found.high)}"
    return Cell(write(100 * found.value), interval, found.value)


def result_cell(
    found: Estimate | Result | None, write: Callable[[float], str], notes: Sequence[int] = (), to: str = "–"
) -> Cell:
    """Return a figure formatted by `write`, with its interval; empty if undefined."""
    if found is None or found.value is None:
        return Cell(notes=notes)
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f"{write(found.low)}{to}{write(found.high)}"
    return Cell(write(found.value), interval, found.value, notes)


AS_THEY_ARE = frozenset(
    {
        *("kappa", "kappa_linear", "kappa_weighted", "spearman", "over_selection", "pull"),
        *("rating", "position_effect", "mention_effect", "human_spearman", "human_kappa_weighted"),
        *("personalization", "naturalness", "naturalness_user", "coherence", "coherence_user"),
        *("contradictions", "reasking", "invented_memories", "lost_after_switch", "carried_wrongly"),
        *("exchanges", "exchanges_to_completion"),
        *("regret", "worth", "questions", "re_asked", "collateral", "leaks", "unasked_needs"),
        *("malformed", "impossible", "steps", "attributes_per_person"),
    }
)
"""Metrics that are not shares: shown with two decimals, while shares are in percent with one."""
DIFFERENCES = (
    *("_effect", "_difference", "_change", "_lost_alone"),
    *("lift", "pull", "moved_beyond_placebo"),
)


NAMES = {
    "f1": "F1",
    "rouge_1": "ROUGE-1",
    "rouge_l": "ROUGE-L",
    "r_precision": "R-precision",
    "unmoved": "choices kept",
}


def metric_name(metric: str) -> str:
    """Return the display name of a metric."""
    return NAMES.get(metric, metric.replace("_", " "))


def metric_text(metric: str, value: float) -> str:
    """Format a value for tables: shares in percent, differences with their sign."""
    write = signed_points if metric.endswith(DIFFERENCES) else plain
    if metric == "length_difference":
        return write(value, 0)
    return write(value, 2) if is_as_it_is(metric) else write(100 * value)


SHARES = frozenset(
    {"accuracy", "win_rate", "f1", "lift", "completion", "success", "unmoved", "rouge_1", "rouge_l"}
)
"""Headline metrics shown in percent; those of other kinds may have any scale and are shown unscaled."""


def headline_text(metric: str, value: float) -> str:
    """Format a headline figure of any kind."""
    return metric_text(metric, value) if metric in SHARES or is_as_it_is(metric) else plain(value, 3)


def is_as_it_is(metric: str) -> bool:
    """Return whether a metric is not a share."""
    return any(
        metric.removesuffix(end) in AS_THEY_ARE for end in ("", "_effect", "_difference", "_by_person")
    )


def metric_cell(found: Result | None, notes: Sequence[int] = ()) -> Cell:
    """Return a result as a table cell with its interval; empty if undefined."""
    if found is None:
        return Cell(notes=notes)
    if few := count_of(found):
        return Cell(*few, found.value, notes)
    difference, negative = found.metric.endswith(DIFFERENCES), found.low is not None and found.low < 0
    to = " to " if difference or negative else "–"
    cell = result_cell(found, partial(metric_text, found.metric), notes, to)
    same = same_words(found, difference) if cell.text and not cell.interval else None
    return replace(cell, interval=same or cell.interval)


def share_cell(share: float | None) -> Cell:
    """Return a share in percent, without an interval."""
    return Cell() if share is None else Cell(plain(100 * share), sort=share)


class Remarks:
    """Numbered remarks below a table: each distinct reason for a missing number has one number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers(self, why: str | None) -> list[int]:
        """Return the number of a reason in a list; empty without a reason."""
        return [self._numbers.setdefault(why, len(self._numbers) + 1)] if why else []

    def cell(self, found: Result | None) -> Cell:
        """Return the result's cell, with the number of the remark if it has no value."""
        silent = found is not None and found.value is None and found.note
        return metric_cell(found, self.numbers(silent.split("; ")[0] if silent else None))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)


def count_row(names: Sequence[str], counts: Sequence[int]) -> Row:
    """Return a row of counts."""
    return Row(names, [Cell(f"{count:,}", sort=float(count)) for count in counts])


def true_minus(text: str) -> str:
    """Replace hyphens before numbers with true minus signs."""
    return re.sub(r"(?<![^\s(])-(?=[\d.])", "−", text)


def figure_cell(found: Estimate | Result | None, scale: float = 1.0, digits: int | None = None) -> Cell:
    """Format a figure with its interval: in percent with one decimal if `scale` is 100, otherwise with two; empty if undefined."""
    places = (1 if scale == 100 else 2) if digits is None else digits
    negative = found is not None and found.low is not None and found.low < 0
    return result_cell(found, lambda value: plain(scale * value, places), to=" to " if negative else "–")
