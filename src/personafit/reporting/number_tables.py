"""Tables of numbers, before they are shown in the terminal or on a page."""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.sections import Cell


@dataclass(frozen=True)
class NumberRow:
    """One row: its names, its cells, and whether it is a control or quoted."""

    names: Sequence[str]
    cells: Sequence[Cell]
    control: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class NumberTable:
    """A table with as many name columns as `heads`."""

    title: str
    heads: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[NumberRow]
    note: str = ""
