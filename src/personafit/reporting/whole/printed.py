"""The tables that commands print, as tables of a page: what is made for the terminal is not made a second time.

A console that shows nothing keeps what is printed to it. Of each cell the first line is the number and the rest its interval.
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit.reporting.number_tables import NumberRow
from personafit.reporting.sections import Cell
from personafit.reporting.whole.content import Grid, Piece, Sentences, text_cell, true_minus

WIDE = 600  # columns: nothing is broken or left out for want of room
LONG = 24  # rows beyond which a table is folded until it is wanted
INTERVAL = "95 % interval"  # a column of its own in the terminal, a line below the number on a page
PUBLISHED, UNDEFINED = "published", "undefined"
DIM = "dim"


class _Keeping(Console):
    """A console that keeps what is printed to it."""

    def __init__(self) -> None:
        super().__init__(file=StringIO(), width=WIDE)
        self.kept: list[Any] = []

    def print(self, *objects: Any, **_: Any) -> None:
        self.kept += objects


def printed_pieces(show: Callable[..., None], *arguments: Any) -> list[Piece]:
    """What a function prints to the console it gets first: sentences, then tables, then what is printed dim as notes."""
    console = _Keeping()
    show(console, *arguments)
    texts = [
        one if isinstance(one, Text) else Text.from_markup(str(one))
        for one in console.kept
        if not isinstance(one, Table)
    ]
    said = [true_minus(one.plain) for one in texts if one.style != DIM]
    notes = [one.plain for one in texts if one.style == DIM]
    return [
        *([Sentences(said)] if said else []),
        *(table_grid(one) for one in console.kept if isinstance(one, Table)),
        *([Sentences(notes, small=True)] if notes else []),
    ]


def table_grid(table: Table) -> Grid:
    """A printed table; columns that are not set to the right at the front are names."""
    columns = _columns(table)
    names = next((place for place, one in enumerate(columns) if one.number), len(columns))
    headings = [one.heading for one in columns]
    rows: list[NumberRow] = []
    source: str | None = None
    for texts in zip(*(one.texts for one in columns), strict=True):
        if texts[0].startswith(PUBLISHED) and not any(texts[names:]):
            source = " ".join(filter(None, texts[:names])).strip(": ")  # it heads the rows that are quoted
            continue
        rows.append(NumberRow(texts[:names], [_number(text) for text in texts[names:]], source=source))
    long = len(rows) > LONG
    return Grid(_plain(table.title or ""), "", headings[:names], headings[names:], rows, folded=long).filled()


@dataclass(frozen=True)
class _Column:
    heading: str
    number: bool
    texts: list[str]


def _columns(table: Table) -> list[_Column]:
    """The columns, a column of intervals joined to the numbers before it."""
    columns: list[_Column] = []
    for one in table.columns:
        heading = " ".join(_plain(one.header).split())
        texts = [_plain(cell) for cell in one.cells]
        if heading == INTERVAL and columns:
            before = columns.pop()
            pairs = zip(before.texts, texts, strict=True)
            joined = [f"{value}\n{interval}" if interval else value for value, interval in pairs]
            columns.append(_Column(before.heading, before.number, joined))
        else:
            columns.append(_Column(heading, one.justify == "right", texts))
    return columns


def _number(text: str) -> Cell:
    if text == UNDEFINED:
        return Cell("–")
    return text_cell(text) if text.strip("–") else Cell()


def _plain(cell: object) -> str:
    if isinstance(cell, Text):
        return cell.plain
    return Text.from_markup(str(cell)).plain if cell is not None else ""
