"""Print pieces in the terminal: sentences as lines, grids as tables that fit its width. Pictures and browsers are left out."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from personafit._errors import printable
from personafit.reports.pieces import Cell, Errors, Grid, Piece, Prose, Row, Sentences

NAME_WIDTH = 14  # minimum width of a column of names
PUBLISHED = "published, not measured here:"


def print_pieces(pieces: Iterable[Piece], console: Console) -> None:
    """Print sentences, tables and errors in order."""
    for piece in pieces:
        if isinstance(piece, Prose):
            _say(console, piece.text, piece.style == "small")
        elif isinstance(piece, Sentences):
            for sentence in piece.sentences:
                _say(console, sentence, piece.small)
        elif isinstance(piece, Grid):
            print_grid(piece, console)
        elif isinstance(piece, Errors):
            for status, detail, count in piece.errors:
                _say(console, f"{piece.title}: {status}, {count:,} times: {detail}")


def print_grid(grid: Grid, console: Console) -> None:
    """Print a table; a table that is too wide is split by columns, with the names repeated."""
    grid = grid.filled()
    for start, columns in enumerate(_parts(grid, console.width)):
        title = " ".join(filter(None, [f"{grid.title}." if grid.caption else grid.title, grid.caption]))
        if start == 0 and title:
            console.print(Text(plain(title), style="italic"))
        console.print(_table(grid, columns))
    for number, remark in enumerate(grid.remarks, 1):
        _say(console, f"[{number}] {remark}", dim=True)
    if grid.note:
        _say(console, grid.note, dim=True)


def _say(console: Console, text: str, dim: bool = False) -> None:
    """Print a sentence; in a pipe it stays on one line, for searching."""
    console.print(Text(plain(text), style="dim" if dim else ""), soft_wrap=not console.is_terminal)


def plain(text: str) -> str:
    """Remove backticks and control characters from a sentence."""
    return printable(text.replace("`", ""))


def _parts(grid: Grid, width: int) -> list[list[int]]:
    """Split the columns into groups that fit the width."""
    names = sum(max(NAME_WIDTH, len(head)) + 3 for head in grid.heads) + 1
    parts: list[list[int]] = [[]]
    used = names
    for place, heading in enumerate(grid.columns):
        needed = 3 + max(
            [*map(len, heading.split()), *(_width(row.cells[place]) for row in grid.rows)], default=0
        )
        if parts[-1] and used + needed > width:
            parts.append([])
            used = names
        parts[-1].append(place)
        used += needed
    return parts


def _width(cell: Cell) -> int:
    marks = sum(len(str(number)) + 2 for number in cell.notes)
    return max(min(len(cell.text) + marks, 32), len(cell.interval))


def _table(grid: Grid, columns: Sequence[int]) -> Table:
    table = Table()
    for heading in grid.heads:
        table.add_column(Text(heading), overflow="fold", min_width=min(NAME_WIDTH, max(7, len(heading))))
    textual = grid.textual
    for place in columns:
        words = textual[place]
        heading = "\n".join(printable(grid.columns[place]).split())
        table.add_column(Text(heading), justify="left" if words else "right", no_wrap=not words)
    shown = [row for row in grid.rows if any(row.cells[place].text for place in columns)]
    if len(columns) == len(grid.columns):  # only of a table that is split are empty rows left out
        shown = list(grid.rows)
    measured = [row for row in shown if not row.source]
    published = [row for row in shown if row.source]
    for row in measured:
        table.add_row(*_row(row, columns), style="dim" if row.control else "")
    if published:
        table.add_section()
        table.add_row(Text(PUBLISHED, style="italic"))
        for row in published:
            table.add_row(*_row(row, columns), style="dim")
    return table


def _row(row: Row, columns: Sequence[int]) -> list[Text]:
    names = [*map(printable, row.names)]
    if row.control:
        names[row.named] += f"\n({row.kind})"
    return [*map(Text, names), *(_text(row.cells[place]) for place in columns)]


def _text(cell: Cell) -> Text:
    marks = "".join(f" [{number}]" for number in cell.notes)
    text = Text(f"{printable(cell.text)}{marks}")
    if cell.interval:
        text.append(f"\n{cell.interval}", style="dim")
    return text
