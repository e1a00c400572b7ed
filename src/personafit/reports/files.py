"""Export a report: Markdown for pull requests, tables as CSV or LaTeX, figures as PNG and SVG."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from unicodedata import category

from personafit.reports.pieces import Grid, Picture, Piece
from personafit.reports.plots import save
from personafit.reports.report import ReportPart

FORMULA = frozenset("=+-@＝＋－＠")  # first characters of spreadsheet formulas, as in `store.export`
UNSEEN = ("Cc", "Cf")  # control and format characters
LONGEST = 60  # characters of a file name
ENDS = re.compile(r"[-+−–\d.,%\s]*(?:to [-+−\d.,%\s]*)?")  # of an interval: numbers, not a formula
LATEX = {
    "\\": r"\textbackslash{}",
    "[": "{[}",  # after the end of a row these two would be read as its options
    "*": "{*}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "–": "--",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "≠": r"$\neq$",
    "✓": r"$+$",
    "✗": r"$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def write_tables(parts: Sequence[ReportPart], folder: Path, ending: str) -> int:
    """Write every table as CSV or LaTeX (`ending` is `csv` or `tex`); return the number of tables."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = [(name, piece) for name, piece in _named(parts) if isinstance(piece, Grid)]
    for name, grid in tables:
        if ending == "csv":
            _write_csv(grid, folder / f"{name}.csv")
        else:
            (folder / f"{name}.tex").write_text(latex(grid), encoding="utf-8")
    return len(tables)


def write_figures(parts: Sequence[ReportPart], folder: Path) -> int:
    """Write every figure as PNG and SVG; return the number of figures."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = [(name, piece) for name, piece in _named(parts) if isinstance(piece, Picture)]
    for name, picture in pictures:
        for ending in ("png", "svg"):
            save(picture.figure, folder / f"{name}.{ending}")
    return len(pictures)


def markdown(parts: Sequence[ReportPart]) -> str:
    """Return the sentences and lead tables of every part as Markdown, for a comment on a pull request."""
    blocks = []
    for part in parts:
        blocks += [f"### {_markdown(part.title)}", *map(_markdown, part.sentences)]
        blocks += [_markdown_table(piece) for piece in part.lead if isinstance(piece, Grid)]
        blocks.append(f"<sub>{_markdown(' · '.join(part.facts))}</sub>")
    return "\n\n".join(blocks) + "\n"


def _markdown_table(grid: Grid) -> str:
    headings = [*_heads(grid), *grid.columns]
    rows = [
        [
            *map(_markdown, row.called),
            *(f"{one.text} ({one.interval})" if one.interval else one.text for one in row.cells),
        ]
        for row in grid.rows
    ]
    ruler = ["---"] * len(grid.heads) + ["---:"] * len(grid.columns)
    lines = [map(_markdown, headings), ruler, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown(text: str) -> str:
    """Escape external text for Markdown and HTML, on one line."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", _line(text))


def latex(grid: Grid) -> str:
    """Return a table as LaTeX with booktabs; intervals follow their number in small print."""
    lines = [
        f"% {_line(grid.title)}. {_line(grid.caption)}",
        f"\\begin{{tabular}}{{{'l' * len(grid.heads)}{'r' * len(grid.columns)}}}",
        "\\toprule",
        " & ".join(_latex(heading) for heading in (*_heads(grid), *grid.columns)) + r" \\",
        "\\midrule",
    ]
    for row in grid.rows:
        first, *others = row.called
        first = f"{first} (published)" if row.source else first
        cells = [
            _latex(cell.text) + (f" {{\\scriptsize {_latex(cell.interval)}}}" if cell.interval else "")
            for cell in row.cells
        ]
        lines.append(" & ".join([*map(_latex, (first, *others)), *cells]) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"% {_line(text)}" for text in (*grid.remarks, grid.note) if text]
    return "\n".join(lines) + "\n"


def _write_csv(grid: Grid, path: Path) -> None:
    """Write a table as CSV: a column for each number as displayed, and one for its interval if it has any."""
    with_interval = [any(row.cells[n].interval for row in grid.rows) for n in range(len(grid.columns))]
    header = [*_heads(grid), "control", "published in"]
    for heading, wide in zip(grid.columns, with_interval, strict=True):
        header += [heading, f"{heading}, interval"] if wide else [heading]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(map(inert, header))
        for row in grid.rows:
            cells = [inert(text) for text in (*row.names, row.kind, row.source or "")]
            for cell, wide in zip(row.cells, with_interval, strict=True):
                text, ends = cell.text.replace("−", "-"), cell.interval.replace("−", "-")
                if re.fullmatch(r"[\d,]+", text):
                    text = text.replace(",", "")
                cells.append(text if cell.sort is not None else inert(text))
                cells += [ends if ENDS.fullmatch(ends) else inert(ends)] if wide else []
            writer.writerow(cells)


def _heads(grid: Grid) -> list[str]:
    """Return the headings of the name columns; empty ones become `of`, as on the page."""
    return [heading or "of" for heading in grid.heads]


def _named(parts: Sequence[ReportPart]) -> Iterator[tuple[str, Piece]]:
    """Yield tables and figures, each with a unique file name made from its section and title."""
    taken: set[tuple[type, str]] = set()
    for part in parts:
        sections = [("", part.lead), *((section.title, section.pieces) for section in part.sections)]
        for section, pieces in sections:
            for piece in pieces:
                if not isinstance(piece, Grid | Picture):
                    continue
                of = f"{part.name} " if len(parts) > 1 else ""
                said = piece.title if piece.title.startswith(section) else f"{section} {piece.title}"
                plain = re.sub(r"[^a-z0-9]+", "-", f"{of}{said}".lower()).strip("-")[:LONGEST]
                name, number = plain, 2
                while (type(piece), name) in taken:
                    name, number = f"{plain}-{number}", number + 1
                taken.add((type(piece), name))
                yield name, piece


def inert(cell: str | None) -> str:
    """Quote text that a spreadsheet would read as a formula, since names come from outside."""
    text = cell or ""
    seen = next((one for one in text if not one.isspace() and category(one) not in UNSEEN), "")
    return f"'{text}" if seen in FORMULA or text[:1] in ("\t", "\r", "\n") else text


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in _line(text))


def _line(text: str) -> str:
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
