"""What reports are made of: sentences, tables, figures, facts. The template lays them out, files are written from them.

A piece says what is there and nothing about where: the same table becomes HTML, CSV and LaTeX.
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
"""Controls whose stored name is not the one that is shown."""


@dataclass(frozen=True)
class Prose:
    """A paragraph; small ones explain, warnings warn."""

    kind: ClassVar[str] = "prose"
    text: str
    style: str = "lead"


@dataclass(frozen=True)
class Sentences:
    """Sentences, one a line; small ones are notes."""

    kind: ClassVar[str] = "words"
    sentences: Sequence[str]
    small: bool = False


@dataclass(frozen=True)
class Cell:
    """One number of a table as it is shown: text, interval, what columns are sorted by, and numbers of remarks."""

    text: str = ""
    interval: str = ""
    sort: float | None = None
    notes: Sequence[int] = ()


@dataclass(frozen=True)
class Row:
    """One row of a table: names, cells, why it is a control, and where it was published."""

    names: Sequence[str]
    cells: Sequence[Cell]
    control: str | None = None
    source: str | None = None

    @property
    def tag(self) -> str:
        """Why it is a control, as tables say it; empty where it is none."""
        return CALLED.get(self.control, self.control) if self.control else ""


@dataclass(frozen=True)
class Grid:
    """A table: as many name columns as `heads`, then numbers."""

    kind: ClassVar[str] = "grid"
    title: str
    caption: str
    heads: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Row]
    remarks: Sequence[str] = ()
    """What cells refer to by number."""
    note: str = ""
    folded: bool = False

    @property
    def textual(self) -> list[bool]:
        """Which columns hold words."""
        cells = [[row.cells[place] for row in self.rows] for place in range(len(self.columns))]
        said = [[one for one in column if one.text.strip("–")] for column in cells]
        return [bool(column) and all(one.sort is None for one in column) for column in said]

    def filled(self) -> "Grid":
        """The table without the columns that hold nothing, and without the remarks that only they refer to."""
        kept = [
            place for place in range(len(self.columns)) if any(row.cells[place].text for row in self.rows)
        ]
        used = sorted({number for row in self.rows for place in kept for number in row.cells[place].notes})
        numbers = {number: place for place, number in enumerate(used, 1)}
        rows = [
            replace(
                row,
                cells=[
                    replace(
                        row.cells[place], notes=tuple(numbers[number] for number in row.cells[place].notes)
                    )
                    for place in kept
                ],
            )
            for row in self.rows
        ]
        remarks = [self.remarks[number - 1] for number in used]
        return replace(self, columns=[self.columns[place] for place in kept], rows=rows, remarks=remarks)


@dataclass(frozen=True)
class Picture:
    """A figure, drawn but not yet put anywhere."""

    kind: ClassVar[str] = "picture"
    title: str
    caption: str
    figure: "Figure"
    words: str = "The numbers are in the tables of this page."
    """The figure for those who do not see it."""


@dataclass(frozen=True)
class Participant:
    """A rater or system of the run with all its settings."""

    name: str
    tag: str
    fingerprint: str
    settings: Mapping[str, str]


@dataclass(frozen=True)
class Instrument:
    """How a part was made, and the command that makes it again, where one is known."""

    kind: ClassVar[str] = "instrument"
    command: str | None
    facts: Mapping[str, str]
    members: Sequence[Participant] = ()
    asked: Mapping[str, str] | None = None
    """What raters were asked, by the name of the question."""
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Errors:
    """What went wrong in words: status, sentence and how often."""

    kind: ClassVar[str] = "errors"
    title: str
    errors: Sequence[tuple[str, str, int]]


@dataclass(frozen=True)
class Browser:
    """Items to search and look into: markup, and the data that its script reads."""

    kind: ClassVar[str] = "browser"
    name: str
    """The run whose items they are."""
    markup: Markup
    data: Markup


Piece = Prose | Sentences | Grid | Picture | Instrument | Errors | Browser


@dataclass(frozen=True)
class Section:
    """A titled part of a report, folded on a page; the lead says in a sentence what it shows."""

    title: str
    pieces: Sequence[Piece]
    lead: str = ""


def text_grid(title: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """A table of texts such as `61.0 (55.2 to 66.8)`: the first column is names, brackets are intervals."""
    made = [Row([row[0]], [text_cell(cell) for cell in row[1:]]) for row in rows]
    return Grid(title, caption, headings[:1], headings[1:], made)


def percent_cell(found: Estimate | Result | None, signed: bool = False) -> Cell:
    """A share in percent, or a difference in points with its sign; empty where there is none."""
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
    """A figure as `write` writes its value, with its interval; empty where there is none."""
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
        *("malformed", "impossible", "steps"),
    }
)
"""Metrics that are no shares: they are shown with two decimals, shares in percent with one."""
DIFFERENCES = ("_effect", "_difference", "lift", "pull", "moved_beyond_placebo")


NAMES = {"f1": "F1", "rouge_1": "ROUGE-1", "rouge_l": "ROUGE-L", "r_precision": "R-precision"}


def metric_name(metric: str) -> str:
    """A metric as tables and sentences call it."""
    return NAMES.get(metric, metric.replace("_", " "))


def metric_text(metric: str, value: float) -> str:
    """A value as tables show it: shares in percent, differences with their sign."""
    write = signed_points if metric.endswith(DIFFERENCES) else plain
    if metric == "length_difference":
        return write(value, 0)
    return write(value, 2) if is_as_it_is(metric) else write(100 * value)


SHARES = frozenset({"accuracy", "win_rate", "f1", "lift", "completion", "unmoved", "rouge_1", "rouge_l"})
"""Headline metrics in percent; those of other kinds may have any scale and are shown as they are."""


def headline_text(metric: str, value: float) -> str:
    """A headline figure of any kind."""
    return metric_text(metric, value) if metric in SHARES or is_as_it_is(metric) else plain(value, 3)


def is_as_it_is(metric: str) -> bool:
    """Whether a metric is no share."""
    return any(
        metric.removesuffix(end) in AS_THEY_ARE for end in ("", "_effect", "_difference", "_by_person")
    )


def metric_cell(found: Result | None, notes: Sequence[int] = ()) -> Cell:
    """A result as tables show it, with its interval; empty where there is none."""
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
    """A share without an interval, in percent."""
    return Cell() if share is None else Cell(plain(100 * share), sort=share)


class Remarks:
    """Why numbers are missing, each reason numbered once for the remarks below a table."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def numbers(self, why: str | None) -> list[int]:
        """The number of a reason, where there is one."""
        return [self._numbers.setdefault(why, len(self._numbers) + 1)] if why else []

    def cell(self, found: Result | None) -> Cell:
        """The result's cell, with the number of the reason why it has no value."""
        silent = found is not None and found.value is None and found.note
        return metric_cell(found, self.numbers(silent.split("; ")[0] if silent else None))

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)


def count_row(names: Sequence[str], counts: Sequence[int], control: str | None = None) -> Row:
    """A row of counts."""
    return Row(names, [Cell(f"{count:,}", sort=float(count)) for count in counts], control)


def text_cell(text: str) -> Cell:
    """A number as it is printed, its interval in brackets or on a second line."""
    value, _, interval = text.partition("\n" if "\n" in text else " (")
    bare = value.replace("−", "-").replace(",", "").strip("+ >%")
    try:
        sort = float(bare)
    except ValueError:
        return Cell(text)
    if interval and not any(character.isdigit() for character in interval):
        return Cell(true_minus(text), sort=sort)  # no interval, but a letter that refers to a note
    return Cell(true_minus(value), true_minus(interval.rstrip(")").replace("\n", " ")), sort)


def true_minus(text: str) -> str:
    """Numbers with a true minus sign."""
    return re.sub(r"(?<![^\s(])-(?=[\d.])", "−", text)


def figure_cell(found: Estimate | Result | None, scale: float = 1.0, digits: int | None = None) -> Cell:
    """A figure with its interval: in percent with one decimal where the scale is 100, else with two; empty where there is none."""
    places = (1 if scale == 100 else 2) if digits is None else digits
    negative = found is not None and found.low is not None and found.low < 0
    return result_cell(found, lambda value: plain(scale * value, places), to=" to " if negative else "–")
