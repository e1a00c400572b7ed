"""Open a stored run of any kind as a report."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module

import polars as pl

from personafit.reports.claims import LEGEND
from personafit.reports.gate import MADE, Bar, read_bar
from personafit.reports.kind_report import KindReport, user_style
from personafit.reports.pieces import Prose, Section, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.result import Result
from personafit.reports.verdict import RunVerdict, name_users, run_verdict
from personafit.statistics import Estimate
from personafit.statistics.decisions import MARGIN
from personafit.store import UNMADE, RunRecord, Store, item_rows

REPORTS = {
    "choice": "personafit.reports.choice:ChoiceReport",
    "relevance": "personafit.reports.relevance:RelevanceReport",
    "preference": "personafit.reports.preference:PreferenceReport",
    "dialogue": "personafit.reports.dialogue:DialogueReport",
    "injection": "personafit.reports.injection:InjectionReport",
    "writing": "personafit.reports.writing:WritingReport",
    "episode": "personafit.reports.episode:EpisodeReport",
}
PLAIN = "personafit.reports.kind_report:PlainReport"
"""The report of kinds without their own."""
ANSWERS = "answers"
SLICES = ("system", "system_context", UNMADE)
PLAIN_USERS = "vanilla"
FIRST_FINDINGS = 3  # shown with the verdict; the rest are folded


def open_report(store: Store, run: RunRecord, margin: float = MARGIN) -> KindReport:
    """Open the report of a run by its kind; differences within `margin` count as none."""
    module, _, name = REPORTS.get(run.config.get("kind", "choice"), PLAIN).partition(":")
    report: KindReport = getattr(import_module(module), name)(store, run)
    report.margin = margin
    return report


def verdict_of(
    report: KindReport,
    store: Store,
    run: RunRecord,
    bars: Sequence[Bar] = (),
    margin: float = MARGIN,
    several: bool = False,
) -> RunVerdict:
    """Return the verdict on a run; beside `several` others, an assistant is called by its name."""
    kind = run.config.get("kind", "choice")
    made = made_results(store, run, report.results)
    named = frozenset(one["fingerprint"] for one in run.config.get("raters", ()) if not one.get("control"))
    verdict = run_verdict(
        run.name, kind, report.results, bars, margin, made, answers_sentence(run), named, several
    )
    users = user_style(run.config.get("user") or {})
    return verdict if users in ("", PLAIN_USERS) else name_users(verdict, users)


def run_bars(run: RunRecord) -> list[Bar]:
    """Return the bars that a run was started with."""
    return [read_bar(text) for text in run.config.get("gate", [])]


def answers_sentence(run: RunRecord) -> str:
    """Return how many answers a run's systems made and how many were reused; empty for runs without systems."""
    counts = run.config.get("answers")
    if not counts:
        return ""
    kind = run.config.get("kind", "")
    what = (kind if kind in ("dialogue", "episode") else "answer") + ("" if counts["made"] == 1 else "s")
    before = f" ({counts['resumed']:,} of them before an interruption)" if counts["resumed"] else ""
    return f"{counts['made']:,} {what} made{before}, {counts['reused']:,} reused."


def made_results(store: Store, run: RunRecord, results: Sequence[Result]) -> list[Result]:
    """Return, per system and system context, the share of its answers that were made.

    In a comparison both answers must exist: the system's own, and the generic or wrong person's it is compared with.
    """
    config = run.config
    if (shares := config.get("answers", {}).get("shares")) is not None:
        return [_made(system, told, asked, made, 0) for system, told, asked, made in shares]
    if config.get("kind", "choice") == "choice":
        if config["benchmark"] != ANSWERS:
            return []
        items = item_rows(store, run.dataset)
        if config["selected"] is not None:
            items = items.filter(pl.col("item").is_in(config["selected"]))
        lacking = [pl.lit(None, pl.String).alias(name) for name in SLICES if name not in items.columns]
        grouped = items.with_columns(lacking).group_by("system", "system_context", maintain_order=True)
        counted = grouped.agg(pl.len(), pl.col(UNMADE).null_count(), pl.col("person").n_unique())
        return [_made(*row) for row in counted.iter_rows()]
    head = results[0].metric if results else None
    return [
        replace(
            one, metric=MADE, rater=None, context=None, value=one.coverage, low=None, high=None, note=None
        )
        for one in results
        if one.system and one.control is None and one.metric == head and not one.slice
    ]


def _made(system: str | None, told: str | None, asked: int, made: int, people: int) -> Result:
    return Result.of(
        Estimate(made / asked if asked else None, None, None, asked, people),
        metric=MADE,
        system=system,
        system_context=told,
    )


def with_verdict(part: ReportPart, verdict: RunVerdict) -> ReportPart:
    """Add the verdict to a part, followed by the first findings; the others are folded, and the legend of the tests comes last."""
    told = [sentence for sentence in part.sentences if sentence != LEGEND]
    first, rest = told[:FIRST_FINDINGS], told[FIRST_FINDINGS:]
    further = [Section("Further findings", [Sentences(rest)])] if rest else []
    tested = [Section("How claims were tested", [Prose(LEGEND, "small")])] if LEGEND in part.sentences else []
    return replace(
        part,
        sentences=[one for one in verdict.sentences if one != verdict.answers],
        facts=[*part.facts, *filter(None, [verdict.answers.removesuffix(".")])],
        lead=[*([Sentences(first)] if first else []), *part.lead],
        sections=[*further, *part.sections, *tested],
        subjects=verdict.subjects,
    )
