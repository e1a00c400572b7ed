"""Opening a stored run as a report, whatever its kind."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

from personafit.reporting.claims import LEGEND
from personafit.reporting.pieces import Section, Sentences
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.verdict import RunVerdict, run_verdict
from personafit.statistics.decisions import MARGIN
from personafit.store import RunRecord, Store

REPORTS = {
    "choice": "personafit.reporting.choice:ChoiceReport",
    "relevance": "personafit.reporting.relevance:RelevanceReport",
    "preference": "personafit.reporting.preference:PreferenceReport",
    "dialogue": "personafit.reporting.dialogue:DialogueReport",
    "injection": "personafit.reporting.injection:InjectionReport",
    "writing": "personafit.reporting.writing:WritingReport",
}
PLAIN = "personafit.reporting.plain_report:PlainReport"
"""For kinds that have no report of their own."""
FIRST_FINDINGS = 3  # beside the verdict; the rest are folded


def open_report(store: Store, run: RunRecord, margin: float = MARGIN) -> KindReport:
    """The report of a run, by the kind its record names; differences within the margin count as none."""
    module, _, name = REPORTS.get(run.config.get("kind", "choice"), PLAIN).partition(":")
    report: KindReport = getattr(import_module(module), name)(store, run)
    report.margin = margin
    return report


def verdict_of(
    report: KindReport, run: RunRecord, bars: Sequence[tuple[str, float]] = (), margin: float = MARGIN
) -> RunVerdict:
    """What can be said first about a run."""
    return run_verdict(run.name, run.config.get("kind", "choice"), report.results, None, bars, margin)


def with_verdict(part: ReportPart, verdict: RunVerdict) -> ReportPart:
    """The part with the verdict first, then the first of what else the run shows; the rest is folded."""
    told = [sentence for sentence in part.sentences if sentence != LEGEND]
    first, rest = (
        told[:FIRST_FINDINGS],
        [*told[FIRST_FINDINGS:], *(one for one in part.sentences if one == LEGEND)],
    )
    return replace(
        part,
        sentences=verdict.sentences,
        lead=[*([Sentences(first)] if first else []), *part.lead],
        sections=[*([Section("Further findings", [Sentences(rest)])] if rest else []), *part.sections],
        subjects=verdict.subjects,
    )
