"""Everything that a report can be about, by name: runs of any kind, studies, folders with votes, audits, extraction, training."""

from collections.abc import Sequence
from pathlib import Path

from personafit._errors import UserError
from personafit.kinds import run_lines
from personafit.reports.agree import agreements
from personafit.reports.agree_part import agreement_part
from personafit.reports.agree_ratings import Source
from personafit.reports.audit import FILE as AUDIT
from personafit.reports.audit import read_audit
from personafit.reports.compare import compare_runs, comparison_part, fitted_notes, rank_runs
from personafit.reports.extraction import read_extraction
from personafit.reports.report import ReportPart
from personafit.reports.run_report import open_report, run_bars, verdict_of, with_verdict
from personafit.reports.studies import Status, study_part
from personafit.reports.training import fitted_part, is_fitted, is_training, training_part
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store


def run_part(
    store: Store, run: RunRecord, margin: float = MARGIN, sources: Sequence[Source] = ()
) -> ReportPart:
    """A run as a part of a report; where `sources` hold people's votes on its items, they stand beside it."""
    report = open_report(store, run, margin)
    report.sources, report.complete = sources, True
    return with_verdict(report.part(), verdict_of(report, store, run, run_bars(run), margin))


def votes_part(source: Source, status: Status | None, margin: float = MARGIN) -> ReportPart:
    """What people (and machines) said in a study, given how far it got, or in a folder with votes."""
    part = agreement_part(source, agreements(source, margin))
    return part if status is None else study_part(status, part)


def folder_part(folder: Path) -> ReportPart | None:
    """A folder of `audit`, `extract` or `train`; None where it is none of these."""
    if is_training(folder):
        return training_part(folder)
    if is_fitted(folder):
        return fitted_part(folder)
    if (folder / AUDIT).is_file():
        return read_audit(folder / AUDIT)
    return read_extraction(folder)


def compared_part(store: Store, runs: Sequence[RunRecord], margin: float = MARGIN) -> ReportPart | None:
    """Whether runs on the same items differ; None where they cannot be compared."""
    if len(runs) < 2 or len({run.config.get("kind", "choice") for run in runs}) > 1:
        return None
    if len({run.dataset for run in runs}) > 1:
        return None
    try:
        opened = [run_lines(store, run) for run in runs]
        found = compare_runs(*opened, margin=margin)
    except UserError:  # other instruments, or nobody in common
        return None
    return comparison_part(found, rank_runs(opened, margin), fitted_notes(opened)) if found else None
