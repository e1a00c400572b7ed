"""The report part of anything a report can be about: runs, studies, folders with votes, audits, extraction and training folders."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.reports.agree import agreement_part, agreements
from personafit.reports.agree_ratings import SIMULATED, Source
from personafit.reports.analysis import count_cell
from personafit.reports.audit import FILE as AUDIT
from personafit.reports.audit import read_audit
from personafit.reports.compare import compare_runs, comparison_part, fitted_notes, rank_runs
from personafit.reports.extraction import read_extraction
from personafit.reports.pieces import Cell, Grid, Piece, Prose, Row, Section, Sentences, percent_cell
from personafit.reports.report import ReportPart
from personafit.reports.run_report import open_report, run_bars, verdict_of, with_verdict
from personafit.reports.training import is_training, training_part
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

SIMULATED_RATERS = (
    "The raters of this study are simulated. They show that everything works and say nothing about people."
)
Status = Mapping[str, Any]
"""A study, as printed by `label status --json`."""


def study_part(status: Status, agreement: ReportPart) -> ReportPart:
    """Return the part on a human study: its progress, the agreement of its raters, and the raters."""
    warning: list[Piece] = [Prose(SIMULATED_RATERS, "warning")] if status["simulated"] else []
    raters = Section("Who rated", _rater_pieces(status), "The raters of the study, by pseudonym.")
    return replace(
        agreement,
        title=f"Study {status['study']}",
        sentences=[*agreement.sentences, *study_sentences(status)],
        lead=[*warning, *agreement.lead],
        sections=[raters, *agreement.sections],
    )


def study_sentences(status: Status) -> list[str]:
    """Return sentences on the progress of a study."""
    raters = sum(rater["done"] > 0 for rater in status["raters"])
    said = (
        f"{raters} {'rater' if raters == 1 else 'raters'} gave {status['votes']:,} answers (question “{status['form']}”); "
        f"{status['complete_pages']:,} of {status['pages']:,} pages have all their raters."
    )
    decided = status["adjudicated"]
    return [said + (f" {decided:,} answers were decided afterwards by one person." if decided else "")]


def _rater_pieces(status: Status) -> list[Piece]:
    pieces: list[Piece] = []
    took_part = [rater for rater in status["raters"] if rater["done"]]
    if took_part:
        columns = [
            *("pages", "seconds a page", "goes with the others", "known answers met"),
            *("attention checks met", "cannot tell", "flagged"),
        ]
        caption = "Shares in %, 95 % interval over people below; a page in seconds, the median."
        rows = [_rater_row(rater) for rater in took_part]
        pieces.append(Grid("Raters", caption, ["rater", "state"], columns, rows).filled())
    return pieces or [Sentences(["Nobody has rated yet."])]


def _rater_row(rater: Mapping[str, Any]) -> Row:
    others, seconds = rater["with_others"], rater["median_seconds"]
    name = f"{rater['rater']} (simulated)" if rater["kind"] == SIMULATED else str(rater["rater"])
    agrees = None if others is None else Estimate(others["value"], others["low"], others["high"], 0, 0)
    return Row(
        [name, str(rater["state"])],
        [
            count_cell(rater["done"]),
            Cell() if seconds is None else Cell(f"{seconds:.1f}", sort=seconds),
            percent_cell(agrees),
            _met(rater["gold"]),
            _met(rater["attention"]),
            count_cell(rater["cannot_tell"]),
            count_cell(rater["flags"]),
        ],
    )


def _met(checked: Mapping[str, int]) -> Cell:
    if not checked["answered"]:
        return Cell()
    return Cell(f"{checked['right']} of {checked['answered']}", sort=checked["right"] / checked["answered"])


def run_part(store: Store, run: RunRecord, margin: float = MARGIN) -> ReportPart:
    """Return the complete report part of a run."""
    report = open_report(store, run, margin)
    report.complete = True
    return with_verdict(report.part(), verdict_of(report, store, run, run_bars(run), margin))


def votes_part(source: Source, status: Status | None, margin: float = MARGIN) -> ReportPart:
    """Return the part on the votes in a folder, or in a study if its status is given."""
    part = agreement_part(source, agreements(source, margin))
    return part if status is None else study_part(status, part)


def folder_part(folder: Path) -> ReportPart | None:
    """Return the part on a folder written by `audit`, `extract` or `train`; None for other folders."""
    if is_training(folder):
        return training_part(folder)
    if (folder / AUDIT).is_file():
        return read_audit(folder / AUDIT)
    return read_extraction(folder)


def compared_part(store: Store, runs: Sequence[RunRecord], margin: float = MARGIN) -> ReportPart | None:
    """Return the comparison of runs on the same items; None if they cannot be compared."""
    if len(runs) < 2 or len({run.config.get("kind", "choice") for run in runs}) > 1:
        return None
    if len({run.dataset for run in runs}) > 1:
        return None
    try:
        opened = [run_lines(store, run) for run in runs]
        found = compare_runs(*opened, margin=margin)
    except UserError:  # different instruments, or nothing in common
        return None
    return comparison_part(found, rank_runs(opened, margin), fitted_notes(opened)) if found else None
