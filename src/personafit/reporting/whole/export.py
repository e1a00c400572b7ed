"""The tables and figures of a collected report as files for papers: CSV and LaTeX, PNG and SVG, named by their chapter."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from personafit.reporting.drawing import save
from personafit.reporting.recentering_study.writing import inert
from personafit.reporting.whole.content import Chapter, Grid, Picture

LONGEST = 60  # characters of a file's name
ENDS = re.compile(r"[-+−–\d.,%\s]*(?:to [-+−\d.,%\s]*)?")  # of an interval: numbers, no formula
LATEX = {
    "\\": r"\textbackslash{}",
    "[": "{[}",  # after a row's end these two would be options of it
    "*": "{*}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "–": "--",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
    "τ": r"$\tau$",
    "ρ": r"$\rho$",
    "Δ": r"$\Delta$",
    "≠": r"$\neq$",
    "✓": r"$+$",
    "✗": r"$-$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def write_tables(chapters: Sequence[Chapter], folder: Path) -> int:
    """Every table as CSV and as LaTeX; returns how many tables there are."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, piece in _named(chapters):
        if isinstance(piece, Grid):
            _write_csv(piece, folder / f"{name}.csv")
            (folder / f"{name}.tex").write_text(latex(piece), encoding="utf-8")
            count += 1
    return count


def write_figures(chapters: Sequence[Chapter], folder: Path) -> int:
    """Every figure as PNG and as SVG; returns how many figures there are."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, piece in _named(chapters):
        if isinstance(piece, Picture):
            for ending in ("png", "svg"):
                save(piece.figure, folder / f"{name}.{ending}")
            count += 1
    return count


def latex(grid: Grid) -> str:
    """A table for booktabs; intervals stand small behind their number."""
    lines = [
        f"% {_line(grid.title)}. {_line(grid.caption)}",
        f"\\begin{{tabular}}{{{'l' * len(grid.heads)}{'r' * len(grid.columns)}}}",
        "\\toprule",
        " & ".join(_latex(heading) for heading in (*_heads(grid), *grid.columns)) + r" \\",
        "\\midrule",
    ]
    for row in grid.rows:
        marks = [f"control: {row.control}"] if row.control else []
        marks += ["published"] if row.source else []
        first = _latex(row.names[0]) + "".join(f" ({_latex(mark)})" for mark in marks)
        cells = [
            _latex(cell.text) + (f" {{\\scriptsize {_latex(cell.interval)}}}" if cell.interval else "")
            for cell in row.cells
        ]
        lines.append(" & ".join([first, *map(_latex, row.names[1:]), *cells]) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}"]
    lines += [f"% {_line(text)}" for text in (*grid.remarks, grid.note) if text]
    return "\n".join(lines) + "\n"


def _write_csv(grid: Grid, path: Path) -> None:
    """A column for each number as the page shows it, and one for its interval where it has any."""
    with_interval = [any(row.cells[n].interval for row in grid.rows) for n in range(len(grid.columns))]
    header = [*_heads(grid), "control", "published in"]
    for heading, wide in zip(grid.columns, with_interval, strict=True):
        header += [heading, f"{heading}, interval"] if wide else [heading]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(map(inert, header))
        for row in grid.rows:
            cells = [inert(text) for text in (*row.names, row.control or "", row.source or "")]
            for cell, wide in zip(row.cells, with_interval, strict=True):
                text = cell.text.replace("−", "-")
                cells.append(text if cell.sort is not None else inert(text))
                ends = cell.interval
                cells += [ends if ENDS.fullmatch(ends) else inert(ends)] if wide else []
            writer.writerow(cells)


def _heads(grid: Grid) -> list[str]:
    """The headings of the names; none is empty, as on the page."""
    return [heading or "of" for heading in grid.heads]


def _named(chapters: Sequence[Chapter]) -> Iterator[tuple[str, Grid | Picture]]:
    """Tables and figures with a name that says where they are from, none of them twice."""
    taken: set[tuple[type, str]] = set()
    for chapter in chapters:
        for group in chapter.groups:
            for piece in group.pieces:
                if not isinstance(piece, Grid | Picture):
                    continue
                plain = re.sub(r"[^a-z0-9]+", "-", f"{chapter.name} {piece.title}".lower()).strip("-")[
                    :LONGEST
                ]
                name, number = plain, 2
                while (type(piece), name) in taken:
                    name, number = f"{plain}-{number}", number + 1
                taken.add((type(piece), name))
                yield name, piece


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in _line(text))


def _line(text: str) -> str:
    return "".join(character for character in " ".join(text.split()) if character.isprintable())
