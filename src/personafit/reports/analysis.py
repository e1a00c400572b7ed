"""The result of an analysis: sentences, figures as a frame, a report part, and the object that `--json` prints."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import orjson
import polars as pl
from rich.console import Console
from sqlalchemy import select

from personafit.kinds.choice import TIERS, RunScores
from personafit.kinds.lines import Line, Reference, RunLines
from personafit.reports.pieces import Cell, Grid, Picture, Section, Sentences
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, results_frame
from personafit.reports.terminal import print_pieces
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.decisions import Measured
from personafit.store import TIE, RunRecord, Store
from personafit.store import tables as t

AS_THEY_WERE = "Over the original choices, before the attack."


@dataclass(frozen=True)
class Analysis:
    """The result of `compare`, `agree`, `audit` and `analyze`; it can be printed and is displayed by notebooks."""

    benchmark: str
    figures: Sequence[Result]
    made: ReportPart | Callable[[bool], ReportPart]
    """The report part, or a function that builds it with or without pictures."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the `--json` output; all of it if there is no benchmark."""
    hints: Sequence[str] = ()
    """What was left out, printed to standard error."""
    rows: Sequence[Mapping[str, Any]] = ()
    """Rows of numbers that are not `Result`s, such as differences."""
    brief: bool = False
    """Whether a terminal shows only the lead tables."""

    @property
    def results(self) -> pl.DataFrame:
        """All figures, one per row."""
        return pl.DataFrame(self.rows, infer_schema_length=None) if self.rows else results_frame(self.figures)

    @property
    def sentences(self) -> list[str]:
        return list(self.part(pictures=False).sentences)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        results = [one.as_dict() for one in self.figures]
        return (
            {"benchmark": self.benchmark, "results": results, **self.more}
            if self.benchmark
            else {**self.more}
        )

    def part(self, pictures: bool = True) -> ReportPart:
        """Return the analysis as a report part; a terminal needs no pictures."""
        return self.made(pictures) if callable(self.made) else self.made

    def print(self, console: Console | None = None) -> None:
        """Print the sentences and tables; with `brief`, only the lead tables and where to find the others."""
        part, console = self.part(pictures=False), console or Console()
        if self.brief and part.sections:
            rest = ", ".join(f"“{section.title}”" for section in part.sections)
            more = Sentences([f"Also in --json and on the page of `personafit report`: {rest}."], small=True)
            part = replace(part, lead=[*part.lead, more], sections=(), instrument=None)
        print_part(part, console)

    def report(self, path: str | Path) -> Path:
        """Write the analysis as one self-contained page, and return its path."""
        from personafit.reports.report_page import write_page

        write_page([self.part()], Path(path))
        return Path(path)

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return said + self.results._repr_html_()


def section_of(title: str, part: ReportPart, lead: str) -> Section | None:
    """Return a part as a section of another; None if it has no table."""
    pieces = part.pieces()
    if not any(isinstance(piece, Grid) for piece in pieces):
        return None
    return Section(title, [Sentences(part.sentences), *pieces], lead)


def print_part(part: ReportPart, console: Console) -> None:
    """Print a part of a report: its sentences, then its tables and notes."""
    print_pieces([Sentences(part.sentences), *part.pieces()], console)


def choice_hints(scores: RunScores | None) -> list[str]:
    """Return a hint if the run has attacked choices, of which only the originals are analysed."""
    return [AS_THEY_WERE] if scores is not None and "base" in scores.items.columns else []


def answers_of(scores: RunScores, rater: Mapping[str, Any]) -> pl.DataFrame:
    """Return a rater's answers to the run's question under the headline context."""
    return scores.answers.filter(
        rater=rater["fingerprint"],
        context=scores.headline_context,
        question=scores.run.config["question"],
        target="",
        status="ok",
    )


def has_truth(scores: RunScores) -> bool:
    """Return whether gold says which answer is right, rather than only which one was tested."""
    return bool(scores.info["metric"] != "win_rate")


def vote_shares(store: Store, scores: RunScores) -> dict[str, float]:
    """Return the share of people's votes for product 0 by item, where gold has `votes` (label → count) or a `share`."""
    return gold_shares(store, scores.run.dataset, scores.info["gold"], ("0", "1"))


def gold_shares(store: Store, dataset: str, gold: str, labels: tuple[str, str]) -> dict[str, float]:
    """Return the share of people's votes for the first of two labels, by item."""
    rows = store.frame(
        select(t.judgments.c.item, t.judgments.c.label, t.judgments.c.extra).where(
            t.judgments.c.ask == f"{dataset}#{gold}", t.judgments.c.extra.is_not(None)
        )
    )
    shares = {item: _share(label, orjson.loads(extra), labels) for item, label, extra in rows.iter_rows()}
    return {item: share for item, share in shares.items() if share is not None}


def _share(label: str | None, extra: dict[str, Any], labels: tuple[str, str]) -> float | None:
    votes, share = extra.get("votes"), extra.get("share")
    first = labels[0]
    if isinstance(votes, dict) and set(votes) <= {*labels, TIE}:
        counts = [count for count in votes.values() if isinstance(count, int | float) and count >= 0]
        if len(counts) == len(votes) and sum(counts) > 0:
            return float((votes.get(first, 0) + votes.get(TIE, 0) / 2) / sum(counts))
    if isinstance(share, int | float) and 0 <= share <= 1 and label in labels:
        return float(share if label == first else 1 - share)
    return None


def tiers_in(rows: pl.DataFrame) -> list[str]:
    """Return the tiers that occur, easiest first."""
    found = rows["tier"].drop_nulls().unique(maintain_order=True) if "tier" in rows.columns else ()
    return sorted(found, key=lambda tier: TIERS.index(tier) if tier in TIERS else len(TIERS))


def mean_by_tier(rows: pl.DataFrame, column: str) -> dict[str, Estimate]:
    """Return the clustered mean of a column over `all` rows and by tier."""
    tiers = {tier: mean_by_item(rows.filter(tier=tier), column) for tier in tiers_in(rows)}
    return {"all": mean_by_item(rows, column), **tiers}


def judged_lines(opened: RunLines, reference: Reference) -> list[Line]:
    """Return the lines of a run's raters that answer the question of `reference`, under the headline context."""
    lines = [line for line in opened.lines if reference.answer in line.frame.columns]
    headline = opened.headline_context(lines)
    return [line for line in lines if line.context == headline and line.fingerprint in opened.rater_kinds]


def benchmark_of(store: Store, run: RunRecord) -> str:
    """Return the name of a run's benchmark."""
    return str(store.dataset_info(run.dataset)["name"])


def small_notes(notes: Iterable[str]) -> list[Sentences]:
    """Return the distinct notes as small sentences; empty if there are none."""
    said = list(dict.fromkeys(notes))
    return [Sentences(said, small=True)] if said else []


def grouped_reasons(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Group names by reason into sentences such as `a, b: nothing was answered`."""
    names: dict[str, list[str]] = {}
    for name, why in reasons:
        names.setdefault(why, []).append(name)
    return [f"{', '.join(dict.fromkeys(who))}: {why}." for why, who in names.items()]


def undefined(note: str | None) -> Estimate:
    """Return an estimate without a value, with the reason."""
    return Estimate(None, None, None, 0, 0, note)


def count_cell(count: int | None) -> Cell:
    """Return a count as a cell; empty if None."""
    return Cell() if count is None else Cell(f"{count:,}", sort=float(count))


def estimate_fields(found: Measured, *names: str) -> dict[str, Any]:
    """Return fields of an estimate for JSON; by default those that every figure has."""
    return {name: getattr(found, name) for name in names or ("value", "low", "high", "n", "people", "note")}


def matrix_picture(
    title: str,
    caption: str,
    names: Sequence[str],
    pairs: Mapping[tuple[str, str], Estimate],
    figure: str,
    labels: Sequence[str] = (),
) -> Picture:
    """Draw a symmetric matrix with shaded cells and the number in each; undefined pairs and the diagonal are empty."""
    from personafit.reports.plots import group_in_words, new_figure, shade_cells

    values = {pair: one.value for pair, one in pairs.items()}
    values |= {(two, one): value for (one, two), value in values.items()}
    drawn = new_figure(0.42 * len(names) + 1.7)
    axis = drawn.subplots()
    shade_cells(axis, [[values.get((one, two)) for two in names] for one in names])
    style: dict[str, Any] = {"fontsize": 8.5, "parse_math": False}
    shown = labels or names
    axis.set_xticks(range(len(names)), shown, rotation=30, ha="right", rotation_mode="anchor", **style)
    axis.set_yticks(range(len(names)), shown, **style)
    said = [(f"{one} and {two}", found) for (one, two), found in pairs.items()]
    drawn.set_label(f"{figure}, the highest first: {group_in_words(said, 2)}.")
    return Picture(title, caption, drawn)
