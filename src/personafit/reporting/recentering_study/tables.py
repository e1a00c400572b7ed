"""The tables of a study as plain rows: what the terminal shows and the CSV files hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from personafit.reporting.preference.results import RULE
from personafit.reporting.recentering_study.loading import StudyAnalysis
from personafit.reporting.results import Result

DETECTION = ("accuracy", "precision", "recall", "f1")
JUDGED = ("rating", "no_better", "no_better_items", "win_rate", "win_rate_length_controlled", "position_effect",
          "mention_effect", "spearman", "kappa_weighted")  # fmt: skip
WRITTEN = ("mention_rate", "mention_rate_items", "length_difference")


@dataclass(frozen=True)
class StudyTable:
    """One table: a file name, a title, headings, and rows; a cell is a text or a result."""

    name: str
    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str | Result | None]]


def study_tables(study: StudyAnalysis) -> list[StudyTable]:
    """The tables there is anything for."""
    results = study.results
    tables = []
    if study.relevance is not None:
        tables += [_blocks(results), _pairs(results), _yes_rates(results), _detection(results)]
    if study.preferences is not None:
        tables += [_judges(study), _generators(results), _ceiling(results)]
    return [table for table in tables if table.rows]


def _blocks(results: Sequence[Result]) -> StudyTable:
    rows = [
        (r.slice["first"], r.slice["second"], r.slice.get("pairs", ""), _source(r), r)
        for r in results
        if r.metric == "kappa_block"
    ]
    headings = ("first", "second", "pairs of raters", "source", "kappa")
    return StudyTable("kappa_blocks", "Mean kappa by kind of rater", headings, rows)


def _pairs(results: Sequence[Result]) -> StudyTable:
    rows = [
        (str(r.rater), r.slice["kind"], r.slice["other"], r.slice["other_kind"], r)
        for r in results
        if r.metric == "kappa" and "other" in r.slice
    ]
    return StudyTable(
        "kappa_pairs",
        "Kappa of every two raters",
        ("first", "kind", "second", "kind of second", "kappa"),
        rows,
    )


def _yes_rates(results: Sequence[Result]) -> StudyTable:
    rows = [
        (str(r.rater), r.slice["kind"], r) for r in results if r.metric == "yes_rate" and "kind" in r.slice
    ]
    return StudyTable("yes_rates", "How often each rater says yes", ("rater", "kind", "yes rate"), rows)


def _detection(results: Sequence[Result]) -> StudyTable:
    found: dict[tuple[str, str, str], dict[str, Result]] = {}
    for r in results:
        if r.metric in DETECTION and r.rater and ("against" in r.slice or r.control == "published"):
            found.setdefault((r.rater, r.slice.get("kind", ""), _source(r)), {})[r.metric] = r
    rows = [(*key, *(numbers.get(metric) for metric in DETECTION)) for key, numbers in found.items()]
    return StudyTable(
        "relevance_scores", "Against people's majority", ("rater", "kind", "source", *DETECTION), rows
    )


def _judges(study: StudyAnalysis) -> StudyTable:
    found: dict[tuple[str, str], dict[str, Result]] = {}
    for r in study.results:
        if r.metric in JUDGED and r.rater and r.system is None and r.slice in ({}, {"detector": RULE}):
            found.setdefault((r.rater, _role(r)), {}).setdefault(r.metric, r)
    rows = [(*key, *(n.get(metric) for metric in JUDGED)) for key, n in found.items() if "rating" in n]
    return StudyTable(
        "judges", "Marks of personalized against generic answers", ("rater", "what", *JUDGED), rows
    )


def _generators(results: Sequence[Result]) -> StudyTable:
    found: dict[tuple[str, str, str], dict[str, Result]] = {}
    raters: dict[str, None] = {}
    for r in results:
        if r.system is None:
            continue
        row = found.setdefault((r.system, r.given or "", _source(r)), {})
        if r.metric in WRITTEN and r.slice.get("detector", RULE) == RULE:
            row[r.metric] = r
        elif r.metric == "rating":
            column = f"rating by {r.rater}" if r.rater else "rating by people"
            raters[column] = None
            row[column] = r
    columns = (*WRITTEN, *raters)
    rows = [(*key, *(numbers.get(column) for column in columns)) for key, numbers in found.items() if numbers]
    headings = ("generator", "given", "source", *columns)
    return StudyTable("generators", "Who wrote the answers", headings, rows)


def _ceiling(results: Sequence[Result]) -> StudyTable:
    rows = [
        (r.metric, str(r.rater or ""), _source(r), r)
        for r in results
        if r.metric.startswith("human_") or r.metric == "mention_rate_against_effect"
    ]
    return StudyTable("ceilings", "How far people agree, and models' naming against their liking it", ("figure", "whose", "source", "value"), rows)  # fmt: skip


def _source(result: Result) -> str:
    return "published" if result.control == "published" else "here"


def _role(result: Result) -> str:
    return result.control or "asked here"
