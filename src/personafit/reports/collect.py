"""The report part of anything a report can be about: runs, studies, folders with votes, audits, extraction and training folders."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.reports.agree import agreement_part, agreements
from personafit.reports.agree_ratings import Source
from personafit.reports.audit import FILE as AUDIT
from personafit.reports.audit import read_audit
from personafit.reports.compare import compare_runs, comparison_part, fitted_notes, rank_runs
from personafit.reports.extraction import read_extraction
from personafit.reports.pieces import Grid, Piece, Prose, Section, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.run_report import open_report, run_bars, verdict_of, with_verdict
from personafit.reports.training import is_training, training_part
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

SIMULATED_RATERS = (
    "The raters of this study are simulated. They show that everything works and say nothing about people."
)


def study_part(
    name: str, standing: Sequence[Piece], agreement: ReportPart, simulated: bool, adjudicated: int
) -> ReportPart:
    """Return the part on a human study: the agreement of its raters, and its progress and raters as `label status` prints them."""
    warning: list[Piece] = [Prose(SIMULATED_RATERS, "warning")] if simulated else []
    decided = [f"{adjudicated:,} answers were decided afterwards by one person."] if adjudicated else []
    said = next(piece.sentences for piece in standing if isinstance(piece, Sentences))
    lead = "The raters of the study, by pseudonym."
    raters = Section("Who rated", [one for one in standing if isinstance(one, Grid)][:1], lead)
    return replace(
        agreement,
        title=f"Study {name}",
        sentences=[*agreement.sentences, *said, *decided],
        lead=[*warning, *agreement.lead],
        sections=[raters, *agreement.sections],
    )


def run_part(store: Store, run: RunRecord, margin: float = MARGIN, several: bool = False) -> ReportPart:
    """Return the complete report part of a run, one of `several` or the only one."""
    report = open_report(store, run, margin)
    report.complete = True
    return with_verdict(report.part(), verdict_of(report, store, run, run_bars(run), margin, several))


def votes_part(source: Source, margin: float = MARGIN) -> ReportPart:
    """Return the part on the votes in a folder or a study."""
    return agreement_part(source, agreements(source, margin))


def folder_part(folder: Path) -> ReportPart | None:
    """Return the part on a folder written by `audit`, `extract` or `train`; None for other folders."""
    if is_training(folder):
        return training_part(folder)
    if (folder / AUDIT).is_file():
        return read_audit(folder / AUDIT)
    return read_extraction(folder)


def compared_part(store: Store, runs: Sequence[RunRecord], margin: float = MARGIN) -> ReportPart | None:
    """Return the comparison of runs as `compare` makes it; None if they cannot be compared, or share no item."""
    if len(runs) < 2 or len({run.config.get("kind", "choice") for run in runs}) > 1:
        return None
    try:
        opened = [run_lines(store, run) for run in runs]
        found = compare_runs(*opened, margin=margin)
    except UserError:  # different data or instruments, or nothing in common
        return None
    if not any(one.difference.n for one in found):
        return None
    return comparison_part(found, rank_runs(opened, margin), fitted_notes(opened))
