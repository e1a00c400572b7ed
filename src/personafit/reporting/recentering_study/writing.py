"""A study as files: one CSV per table, every figure as PNG and SVG, and all numbers as flat JSON."""

import csv
from pathlib import Path
from unicodedata import category

import orjson

from personafit.reporting.drawing import save
from personafit.reporting.recentering_study.figures import study_figures
from personafit.reporting.recentering_study.loading import StudyAnalysis
from personafit.reporting.recentering_study.tables import StudyTable, study_tables
from personafit.reporting.results import Result

SUFFIXES = ("", "_low", "_high")
FORMULA = frozenset("=+-@＝＋－＠")  # what begins a formula; as in `store.export`
UNSEEN = ("Cc", "Cf")  # control and format characters


def write_study(study: StudyAnalysis, folder: Path) -> list[str]:
    """Write everything; returns the names of the files."""
    written = []
    for table in study_tables(study):
        path = folder / f"{table.name}.csv"
        _write_csv(table, path)
        written.append(path.name)
    for name, figure in study_figures(study).items():
        for suffix in (".png", ".svg"):
            save(figure, folder / f"{name}{suffix}")
            written.append(f"{name}{suffix}")
    body = {"benchmark": study.name, "results": [r.as_dict() for r in study.results], "notes": study.notes}
    (folder / "study.json").write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    return [*written, "study.json"]


def _write_csv(table: StudyTable, path: Path) -> None:
    """A number has three columns: value, low and high, as they are and not in percent."""
    numbers = [
        place
        for place in range(len(table.headings))
        if any(isinstance(row[place], Result) for row in table.rows)
    ]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        header: list[str] = []
        for place, heading in enumerate(table.headings):
            header += [f"{heading}{suffix}" for suffix in SUFFIXES] if place in numbers else [heading]
        writer.writerow(header)
        for row in table.rows:
            cells: list[object] = []
            for place, cell in enumerate(row):
                if isinstance(cell, Result):
                    cells += [cell.value, cell.low, cell.high]
                else:
                    cells += ["", "", ""] if place in numbers else [inert(cell)]
            writer.writerow(cells)


def inert(cell: str | None) -> str:
    """Names come from outside: none may be a formula in a spreadsheet, which looks past what is not seen."""
    text = cell or ""
    seen = next((one for one in text if not one.isspace() and category(one) not in UNSEEN), "")
    return f"'{text}" if seen in FORMULA or text[:1] in ("\t", "\r", "\n") else text
