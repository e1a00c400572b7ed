"""The tables of a run of dialogues in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.more_tables import audit_table, stop_table
from personafit.reporting.dialogues.tables import (
    ResultIndex,
    counted_table,
    effect_table,
    quality_table,
    score_table,
)
from personafit.reporting.number_tables import NumberRow, NumberTable
from personafit.reporting.results import Result
from personafit.reporting.sections import Cell

NAMES, NUMBER, TURNED = (
    16,
    13,
    26,
)  # characters a column of names, one of numbers, and one of a turned table needs


def print_dialogues(console: Console, run: DialogueRun, results: list[Result]) -> None:
    """Show the tables a reader needs first; the page has the rest."""
    others = (quality_table, effect_table, counted_table, audit_table, stop_table)
    index = ResultIndex(results)
    tables = [score_table(run, index), *(make(index) for make in others)]
    for table in tables:
        if table.rows:
            for part in _rich(table, console.width):
                console.print(part)


def _rich(table: NumberTable, width: int) -> list[RichTable]:
    """The table, or turned round and in parts where the terminal is too narrow for its columns."""
    if NAMES * len(table.heads) + NUMBER * len(table.columns) <= width:
        return [_upright(table)]
    fitting = max(1, (width - TURNED) // TURNED)
    parts = [table.rows[start : start + fitting] for start in range(0, len(table.rows), fitting)]
    return [_turned(table, part) for part in parts]


def _upright(table: NumberTable) -> RichTable:
    made = RichTable(title=table.title, title_justify="left")
    for name in table.heads:
        made.add_column(name, overflow="fold", min_width=8)
    for name in table.columns:
        made.add_column(Text(name), justify="right", overflow="fold")
    for row in table.rows:
        made.add_row(*map(Text, row.names), *map(_cell, row.cells), style=_style(row))
    return made


def _turned(table: NumberTable, rows: Sequence[NumberRow]) -> RichTable:
    made = RichTable(title=table.title, title_justify="left")
    made.add_column("", overflow="fold")
    for row in rows:
        made.add_column(Text("\n".join(row.names)), justify="right", overflow="fold", style=_style(row))
    for place, name in enumerate(table.columns):
        made.add_row(Text(name), *(_cell(row.cells[place]) for row in rows))
    return made


def _cell(cell: Cell) -> Text:
    return Text(f"{cell.text}\n{cell.interval}" if cell.interval else cell.text)


def _style(row: NumberRow) -> str:
    return "italic dim" if row.source else "dim" if row.control else ""
