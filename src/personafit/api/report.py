"""Reports of anything that has a name (runs, studies, folders) as a page, Markdown, tables, figures or JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

from personafit._errors import UserError, writing
from personafit.api.places import find_run, make_folder, require_judged
from personafit.api.reading import votes_source
from personafit.reports.files import markdown
from personafit.reports.pieces import Grid, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.terminal import print_pieces
from personafit.statistics.decisions import MARGIN
from personafit.store import Store

__all__ = [
    "MARGIN",
    "ReportFormat",
    "Sentences",
    "collect_parts",
    "is_other",
    "markdown",
    "parts_object",
    "print_pieces",
    "write_report",
]


class ReportFormat(StrEnum):
    """The format of a report."""

    HTML = "html"
    MD = "md"
    CSV = "csv"
    LATEX = "latex"
    FIGURES = "figures"
    JSON = "json"


def is_other(name: str, store: Store) -> bool:
    """Return whether a name belongs to a study or a folder, and not to a run."""
    from personafit.reports.collect import folder_part

    is_part = Path(name).is_dir() and folder_part(Path(name)) is not None
    return is_part or votes_source(name, store) is not None


def collect_parts(names: Sequence[str], store: Store, margin: float = MARGIN) -> list[ReportPart]:
    """Return the parts of a report, one for each name, preceded by a comparison of runs on the same items."""
    from personafit.reports.collect import compared_part, folder_part, run_part, votes_part

    folders = {name: part for name in names if Path(name).is_dir() and (part := folder_part(Path(name)))}
    sources = {
        name: source
        for name in names
        if name not in folders and (source := votes_source(name, store)) is not None
    }
    runs = {
        name: require_judged(find_run(store, name))
        for name in names
        if name not in folders and name not in sources
    }
    parts = [
        folders[name]
        if name in folders
        else _of_study(name, store, votes_part(sources[name], margin))
        if name in sources
        else run_part(store, runs[name], margin, len(runs) > 1)
        for name in names
    ]
    compared = compared_part(store, list(runs.values()), margin)
    return [compared, *parts] if compared is not None else parts


def _of_study(name: str, store: Store, votes: ReportPart) -> ReportPart:
    """Return the part on a study; that on its votes alone if they are in a folder."""
    from personafit.label.overview import status_pieces, study_overview
    from personafit.label.studies import Studies
    from personafit.reports.collect import study_part

    studies = Studies(store)
    if name not in studies.names():
        return votes
    found = study_overview(studies, name)
    return study_part(name, status_pieces(found), votes, found.study.config.simulated, found.adjudicated)


def write_report(parts: Sequence[ReportPart], out: Path, form: ReportFormat = ReportFormat.HTML) -> str:
    """Write parts to a file (HTML, Markdown, JSON) or to a folder (tables, figures), and return where they are."""
    from personafit.reports.files import write_figures, write_tables
    from personafit.reports.report_page import write_page

    with writing(out):
        if form in (ReportFormat.CSV, ReportFormat.LATEX):
            count = write_tables(parts, out, "csv" if form is ReportFormat.CSV else "tex")
            return f"{count} {'table' if count == 1 else 'tables'} in {out}"
        if form is ReportFormat.FIGURES:
            count = write_figures(parts, out)
            return f"{count} {'figure' if count == 1 else 'figures'} as PNG and SVG in {out}"
        if not out.suffix or out.is_dir():
            out = out / f"report.{form.value}"
        elif out.suffix.lower() != f".{form.value}":  # or a mistyped name could overwrite a file
            raise UserError(f"--out {out} does not end in .{form.value}: name such a file, or a folder.")
        make_folder(out.parent)
        if form is ReportFormat.HTML:
            write_page(parts, out)
        elif form is ReportFormat.MD:
            out.write_text(markdown(parts), encoding="utf-8")
        else:
            out.write_bytes(orjson.dumps(parts_object(parts)) + b"\n")
    return str(out)


def parts_object(parts: Sequence[ReportPart]) -> dict[str, Any]:
    """Return the verdicts and first tables of parts as one object."""
    return {
        "parts": [
            {
                "name": part.name,
                "title": part.title,
                "sentences": list(part.sentences),
                "subjects": [asdict(one) for one in part.subjects],
                "tables": [asdict(piece) for piece in part.lead if isinstance(piece, Grid)],
            }
            for part in parts
        ]
    }
