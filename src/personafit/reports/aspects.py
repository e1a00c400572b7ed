"""Which aspects of an answer the gold rewards: accuracy by aspect and tier, and how the aspects correlate.

Reads the marks stored by an `aspects:` rater. Published figures (PersonaFeedback, Table 4) are shown beside ours and never mixed with
them: they are over all pairs, by another scorer, and have no interval.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit._errors import UserError
from personafit.benchmarks.published import published_file
from personafit.items.choice import ASPECTS
from personafit.kinds.choice import RunScores, choices_of, columns_of
from personafit.kinds.lines import Line
from personafit.reports.analysis import (
    Analysis,
    choice_hints,
    estimate_fields,
    has_truth,
    matrix_picture,
    undefined,
)
from personafit.reports.claims import people_words
from personafit.reports.line_results import line_coverage, line_result
from personafit.reports.pieces import Cell, Grid, Piece, Row, figure_cell, percent_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, with_interval
from personafit.statistics import Estimate, choice_scores, mean_by_item
from personafit.statistics.agreement_intervals import pearson
from personafit.store import TIE, RunRecord, Store
from personafit.store import tables as t

CHOSEN = "chosen"
VARIABLES = (CHOSEN, *ASPECTS)


@dataclass(frozen=True)
class Correlations:
    """Pearson's r between each two variables over the answers that one rater marked, with intervals over people and prompts."""

    rater: str
    context: str
    answers: int
    people: int
    pairs: dict[tuple[str, str], Estimate]

    def as_dict(self) -> dict[str, Any]:
        named = ("rater", "context", "answers", "people")
        pairs = [
            {"first": first, "second": second, **estimate_fields(r, "value", "low", "high", "note")}
            for (first, second), r in self.pairs.items()
        ]
        return {**{name: getattr(self, name) for name in named}, "pairs": pairs}


def aspect_raters(scores: RunScores) -> list[dict[str, Any]]:
    """Return the raters of a run that gave marks by aspect; raise `UserError` if there are none, or no gold."""
    if not has_truth(scores):
        raise UserError(
            f"{scores.run.name} has no gold that says which answer is right: aspects cannot be scored."
        )
    marked = set(scores.parts.filter(pl.col("target").is_in(ASPECTS))["rater"])
    found = [rater for rater in scores.raters if rater["fingerprint"] in marked]
    if not found:
        raise UserError(
            f"{scores.run.name} has no marks by aspect; run it with --rater aspects:SPEC, such as aspects:openai:MODEL@URL."
        )
    return found


def aspect_results(scores: RunScores) -> list[Result]:
    """Return the accuracy of choosing by each single aspect, by slice, under the headline context."""
    context = scores.headline_context
    results = []
    for rater in aspect_raters(scores):
        for aspect in ASPECTS:
            frame = _per_item(scores, rater, context, aspect)
            for _, where in columns_of(scores):
                part = frame.filter(*(pl.col(name) == value for name, value in where.items()))
                if part.is_empty():
                    continue
                line, slices = Line.of(rater, context, part, None), {"aspect": aspect, **where}
                estimate = mean_by_item(part, "accuracy")
                results.append(line_result(line, estimate, "accuracy", slices, line_coverage(part)))
    return results


def _of_rater(rows: pl.DataFrame, scores: RunScores, rater: dict[str, Any], context: str) -> pl.DataFrame:
    return rows.filter(rater=rater["fingerprint"], context=context, question=scores.run.config["question"])


def _per_item(scores: RunScores, rater: dict[str, Any], context: str, aspect: str) -> pl.DataFrame:
    columns = ["item", "order", "sample", "status", "label", "value"]
    parts = _of_rater(scores.parts, scores, rater, context)
    marked = parts.filter(pl.col("target") == aspect).select("job", *columns)
    # Identical answers tie without an ask: they have a choice but no marks, and tie on every aspect.
    whole = _of_rater(scores.answers, scores, rater, context).join(marked.select("job"), on="job", how="anti")
    unasked = whole.filter((pl.col("status") != "ok") | (pl.col("label") == TIE)).select("job", *columns)
    joined = scores.items.join(
        pl.concat([marked, unasked]).drop("job"), on="item", how="inner", maintain_order="left"
    )
    asks = pl.lit(rater["orders"] * scores.run.config["samples"]).alias("asked")
    if joined.is_empty():
        return scores.items.with_columns(
            pl.lit(None, pl.Float64).alias("accuracy"), pl.lit(0).alias("answered"), asks
        )
    found = choice_scores(joined).select("item", "accuracy", "answered")
    scored = scores.items.join(found, on="item", how="left", maintain_order="left")
    return scored.with_columns(pl.col("answered").fill_null(0), asks)


def published_aspects(scores: RunScores) -> tuple[str, list[dict[str, Any]]]:
    """Return the source and rows of the benchmark's published table: half, tier (None for all) and accuracy by aspect."""
    if scores.info["name"] != "personafeedback":
        return "", []
    table = published_file("personafeedback")["aspects"]
    return str(table["source"]), list(table["rows"])


def aspect_correlations(store: Store, scores: RunScores) -> list[Correlations]:
    """Correlate, per rater, being chosen by gold and the five aspects; each answer of a pair is a row."""
    context = scores.headline_context
    found = []
    for rater in aspect_raters(scores):
        rows = _answer_rows(store, scores, rater, context)
        pairs = _pearson(rows) if len(rows) else {}
        found.append(Correlations(rater["name"], context, len(rows), rows["person"].n_unique(), pairs))
    return found


def _answer_rows(store: Store, scores: RunScores, rater: dict[str, Any], context: str) -> pl.DataFrame:
    """Return person, prompt, chosen (1 or 0) and the five marks for every answer of a decided pair, averaged over samples."""
    said = _of_rater(scores.parts, scores, rater, context).filter(
        pl.col("status") == "ok", pl.col("target").is_in(ASPECTS)
    )
    keys = ["ask", "item", "target", "parse"]
    judgment = t.judgments.c
    extra = store.frame(
        select(*(judgment[name] for name in keys), judgment.extra)
        .where(judgment.rater == rater["fingerprint"])
        .where(judgment.target.in_(ASPECTS), judgment.extra.is_not(None))
    )
    scored = [orjson.loads(text)["scores"] for text in extra["extra"]]
    marks = extra.select(
        pl.col(*keys[:3]).cast(pl.String),
        pl.col("parse").cast(pl.Int64),
        pl.Series("marks", scored, dtype=pl.List(pl.Float64)),
    )
    decided = scores.items.filter(pl.col("gold").is_in(["0", "1"])).select("item", "person", "prompt", "gold")
    return (
        said.select(keys)
        .join(marks, on=keys)
        .join(decided, on="item")
        .filter(pl.col("marks").list.len() == 2)
        .with_columns(pl.lit(["0", "1"]).alias("answer"))
        .explode("marks", "answer")
        .group_by("item", "person", "prompt", "gold", "answer", "target")
        .agg(pl.col("marks").mean())
        .pivot("target", index=["item", "person", "prompt", "gold", "answer"], values="marks")
        .with_columns((pl.col("answer") == pl.col("gold")).cast(pl.Float64).alias(CHOSEN))
        .pipe(lambda rows: rows if len(rows) else rows.with_columns(pl.lit(None).alias(a) for a in ASPECTS))
        .sort("item", "answer")
    )


def _pearson(rows: pl.DataFrame) -> dict[tuple[str, str], Estimate]:
    """Correlate every pair of variables, with intervals over people and, where they recur, prompts."""
    values = rows.select(VARIABLES).to_numpy().astype(np.float64)
    people, prompts = rows["person"].to_numpy(), rows["prompt"].to_numpy()
    constant = values.std(0) < 1e-9
    pairs = {}
    for i, j in combinations(range(len(VARIABLES)), 2):
        names = [VARIABLES[k] for k in (i, j) if constant[k]]
        pairs[VARIABLES[i], VARIABLES[j]] = (
            undefined(f"{' and '.join(names)} never varies")
            if names
            else pearson(values[:, i], values[:, j], people, prompts)
        )
    return pairs


# -- pieces ------------------------------------------------------------------------------------------------------------------

LEAD = "Which of five aspects of an answer the gold rewards: choosing by one aspect alone, tier by tier, and how the aspects correlate."
HEAT = (
    "`chosen` is being the gold’s choice. The fuller the colour the stronger; the sign stands in the number."
)


def analyze_aspects(store: Store, run: RunRecord, scores: RunScores | None = None) -> Analysis:
    """Analyse accuracy by aspect and slice, and the correlation of aspects with being chosen."""
    scores = scores or choices_of(store, run)
    if scores is None:
        raise UserError(
            f"{run.name} is a run of {run.config['kind']} items: only raters that choose between answers mark them by aspect."
        )
    results, found = aspect_results(scores), aspect_correlations(store, scores)
    source, rows = published_aspects(scores)
    more = {
        "correlations": [one.as_dict() for one in found],
        "published": {"source": source, "rows": rows, "note": "no interval"} if rows else None,
    }
    title, pieces = f"Aspects of the answers of {run.name}", aspect_pieces(scores, results, found)
    part = ReportPart(run.name, title, _best_aspects(results), pieces)
    return Analysis(scores.info["name"], results, part, more, choice_hints(scores))


def _best_aspects(results: Sequence[Result]) -> list[str]:
    """Return a sentence per rater on the aspect that alone agrees with gold most often."""
    totals = [one for one in results if set(one.slice) == {"aspect"} and one.value is not None]
    best: dict[str | None, Result] = {}
    for one in sorted(totals, key=lambda one: one.value or 0.0):
        best[one.rater] = one
    return [
        f"{rater}: choosing by {one.slice['aspect']} alone agrees with gold most often, in "
        f"{with_interval(one, unit=' %')} of {one.n:,} choices."
        for rater, one in best.items()
    ]


def aspect_pieces(scores: RunScores, results: Sequence[Result], found: Sequence[Correlations]) -> list[Piece]:
    """Return the heat map of each rater, then accuracy by aspect with published rows last."""
    drawn = []
    for one in found:
        caption = f"Over {one.answers:,} answers of {people_words(one.people)}, shown “{one.context}”. {HEAT}"
        title = f"Pearson’s r of the marks of {one.rater}"
        drawn += [matrix_picture(title, caption, VARIABLES, one.pairs, "Pearson’s r")] if one.pairs else []
    return [*drawn, _accuracy_grid(scores, results, found)]


def _accuracy_grid(scores: RunScores, results: Sequence[Result], found: Sequence[Correlations]) -> Grid:
    halved = any("half" in layout for layout in scores.info["layout"])
    columns = [(name, where) for name, where in columns_of(scores) if name != "total" or not halved]
    index = {(one.rater, tuple(sorted(one.slice.items()))): one for one in results}
    rows = []
    for rater in dict.fromkeys(one.rater for one in results):
        for aspect in ASPECTS:
            keys = [(rater, tuple(sorted({"aspect": aspect, **where}.items()))) for _, where in columns]
            r = next((one.pairs.get((CHOSEN, aspect)) for one in found if one.rater == rater), None)
            cells = [*(percent_cell(index.get(key)) for key in keys), figure_cell(r)]
            rows.append(Row([str(rater), aspect], cells))
    source, published = published_aspects(scores)
    known = {(row["half"], row["tier"]): row["accuracy"] for row in published}
    for aspect in ASPECTS if known else ():
        values = [known[where.get("half"), where.get("tier")][aspect] for _, where in columns]
        cells = [Cell(f"{100 * value:.0f}", sort=value) for value in values]
        rows.append(Row([source, aspect], [*cells, Cell()], source=source))
    caption = "In %, 95 % intervals below; r is the correlation of the aspect’s marks with being chosen."
    headings = [*(name for name, _ in columns), "r with chosen"]
    return Grid("Accuracy of choosing by one aspect", caption, ["rater", "aspect"], headings, rows)
