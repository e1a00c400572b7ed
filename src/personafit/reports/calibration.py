"""Calibration: whether a rater's confidence matches its accuracy.

The two orders' margins are averaged, so position bias cancels, and read as log-odds: a confidence that can be compared
with gold (calibration, and accuracy without the least confident items) and, where people's votes are known, with the votes. A
rater that only names letters has no margin, so its confidence is undefined. Where raters say yes or no, the margin is that of
yes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from personafit._errors import UserError
from personafit.items.relevance import NO, YES
from personafit.kinds import run_lines
from personafit.kinds.choice import RunScores, choices_of
from personafit.kinds.lines import CONTROL_RATERS, Line, RunLines
from personafit.reports.analysis import (
    Analysis,
    answers_of,
    benchmark_of,
    choice_hints,
    count_cell,
    gold_shares,
    grouped_reasons,
    has_truth,
    judged_lines,
    mean_by_tier,
    small_notes,
    undefined,
    vote_shares,
)
from personafit.reports.line_results import line_result
from personafit.reports.pieces import Grid, Piece, Row, figure_cell, percent_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, marked_met
from personafit.statistics import Estimate
from personafit.statistics.agreement import Floats
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.statistics.calibration import (
    calibration_error,
    chance_error,
    choice_confidence,
    reliability_table,
)
from personafit.statistics.clusters import cluster_mean
from personafit.store import TIE, RunRecord, Store

KEPT = (1.0, 0.8, 0.5)  # shares of items at which selective accuracy is given
SIMULATED = 100
UNIT = (0.0, 1.0)
ONLY_LETTERS = "confidence is undefined: only letters were read from the replies, and a letter has no margin"
ONLY_WORDS = "confidence is undefined: only words were read from the replies, and a word has no probability"
GRADED = "its scores are grades, not probabilities"
NO_BORDER = "a rule's scores are not probabilities"
UNANSWERED = "nothing was answered"
ASKED = ("llm", "replay")  # raters that reply in text
NO_VOTES = "the gold has no votes and no share: there is nothing graded to compare with"


@dataclass(frozen=True)
class RaterMargins:
    """One rater's order-averaged margins under the headline context, one item per row."""

    line: Line
    kind: str
    """The kind of rater."""
    frame: pl.DataFrame
    """item, person, prompt, margin (log-odds of product 0), right (1, ½, 0 or null) and share (votes for 0 or null)."""
    planned: int
    """Number of items planned."""
    note: str | None = None
    """A caveat on these margins; if the frame is empty, why there are none."""


def ceiling_pieces(store: Store, scores: RunScores) -> list[Piece]:
    """Return how often one voter agrees with gold in a run of choices, by tier; empty if gold keeps no vote counts."""
    shares = vote_shares(store, scores) if has_truth(scores) else {}
    rows = scores.items.filter(pl.col("gold").is_in(["0", "1"]), pl.col("item").is_in(list(shares)))
    if rows.is_empty():
        return []
    share = pl.col("item").replace_strict(shares, return_dtype=pl.Float64)
    rows = rows.with_columns(pl.when(pl.col("gold") == "0").then(share).otherwise(1 - share).alias("met"))
    parts = mean_by_tier(rows, "met")
    cells = [percent_cell(met) for met in parts.values()]
    row = Row(["a voter drawn at random", f"the gold, {scores.info['gold']}"], cells)
    caption = "Shares in %, 95 % intervals over people below."
    return [Grid("What people reach on the same items", caption, ["who", "against"], list(parts), [row])]


def rater_margins(store: Store, scores: RunScores) -> list[RaterMargins]:
    """Return the margins of every rater of the run; raise `UserError` if its gold does not say which answer is right."""
    if not has_truth(scores):
        raise UserError(
            f"{scores.run.name} has no gold that says which answer is right, so confidence cannot be checked; "
            "`personafit analyze correct` takes people's labels for such a run."
        )
    if (scores.items["option_count"] > 2).any():
        raise UserError(
            f"{scores.run.name} has choices among more than two answers; confidence is read from the margin between two."
        )
    shares, items = vote_shares(store, scores), scores.items
    found = []
    for rater in scores.raters:
        margins, note = _order_averaged(scores, rater)
        frame = items.select("item", "person", "prompt", "gold").join(
            margins, on="item", how="inner", maintain_order="left"
        )
        if frame.is_empty():
            note = note or "no item was answered with a margin in both orders"
        control = CONTROL_RATERS.get(rater["name"])
        line = Line.of(rater, scores.headline_context, scores.items, control)
        found.append(_held(line, rater["kind"], frame, shares, len(items), note))
    return found


def _order_averaged(scores: RunScores, rater: dict[str, Any]) -> tuple[pl.DataFrame, str | None]:
    """Return the margin of each item the rater answered in all its orders, and a note on them."""
    nothing = pl.DataFrame(schema={"item": pl.String, "margin": pl.Float64})
    answered = answers_of(scores, rater).drop_nulls("value")
    if answered.is_empty():
        return nothing, UNANSWERED
    if answered["value"].abs().is_in([0.0, 1.0]).all():
        return nothing, ONLY_LETTERS
    note = {
        "rule": "a rule's margin is not a probability: only its order is used",
        "python": "the function's scores are read as log-odds, which holds only if it returns such",
    }.get(rater["kind"])
    if rater["kind"] in ASKED:
        # A reply that was parsed counts as exactly 1: a letter, not a confidence.
        read = answered.filter(pl.col("value").abs() != 1.0)
        if len(read) < len(answered):
            note = f"{len(answered) - len(read)} of {len(answered)} replies named a letter without a margin and are left out"
        answered = read
    margins = (
        answered.group_by("item", "order", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by("item", maintain_order=True)
        .agg(pl.col("value").mean().alias("margin"), pl.len().alias("orders"))
        # With one order alone the margin still includes position bias.
        .filter(pl.col("orders") == rater["orders"])
    )
    return margins.drop("orders"), note


def line_margins(store: Store, opened: RunLines) -> list[RaterMargins]:
    """Return the raters' margins (log-odds of yes) in a run that is not of choices, under the headline context.

    Only runs whose raters say yes or no, with scores, have margins; for other runs raise `UserError`.
    """
    scored = [one for one in opened.references if one.margin is not None]
    if not scored:
        why = "whose raters give marks and no probabilities" if opened.references else opened.why_no_people
        other = "agree" if opened.references else "compare"
        raise UserError(
            f"{opened.run.name} is a run of {opened.kind} items, {why}, so there is no confidence to calibrate; use `personafit {other}`."
        )
    reference = scored[0]
    shares = gold_shares(store, opened.run.dataset, str(reference.who), (YES, NO))
    gold = pl.when(reference.people).then(pl.lit("0")).when(~pl.col(reference.people)).then(pl.lit("1"))
    found = []
    for line in judged_lines(opened, reference):
        kind = opened.rater_kinds[str(line.fingerprint)]
        scored_units, odds, note = _yes_margins(line.frame, str(reference.margin), kind)
        frame = scored_units.select("item", "person", "prompt", odds.alias("margin"), gold.alias("gold"))
        found.append(_held(line, kind, frame, shares, len(line.frame), note))
    return found


def _yes_margins(frame: pl.DataFrame, margin: str, kind: str) -> tuple[pl.DataFrame, pl.Expr, str | None]:
    """Return the units whose score can be read as log-odds of yes, the log-odds, and a note on them."""
    odds, known = pl.col(margin), frame.drop_nulls(margin)
    read = known.filter(~odds.is_in([0.0, 1.0]))  # 0 and 1 are parsed words, not scores
    reasons = {
        UNANSWERED: known.is_empty(),
        NO_BORDER: kind == "rule",
        GRADED: not known["label"].is_in([YES, NO]).all(),
        ONLY_WORDS: read.is_empty(),
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    if why is not None:
        return frame.clear(), odds, why
    if kind not in ASKED:
        if read[margin].is_between(0.0, 1.0).all():
            return read, (odds / (1 - odds)).log(), "its scores are read as probabilities"
        return read, odds, "its scores are read as log-odds, which holds only if it gives such"
    left = len(known) - len(read)
    note = f"{left} of {len(known)} replies were a word without a score and are left out" if left else None
    return read, odds, note


def _held(
    line: Line, kind: str, frame: pl.DataFrame, shares: Mapping[str, float], planned: int, note: str | None
) -> RaterMargins:
    """Add agreement with gold and the share of votes to the margins."""
    voted = pl.col("item").replace_strict(shares, default=None, return_dtype=pl.Float64)
    margin, gold = pl.col("margin"), pl.col("gold")
    side = pl.when(margin > 0).then(pl.lit("0")).otherwise(pl.lit("1"))
    whole = pl.when((margin == 0) | (gold == TIE)).then(0.5).otherwise((side == gold).cast(pl.Float64))
    right = pl.when(gold.is_not_null()).then(whole).alias("right")
    return RaterMargins(line, kind, frame.with_columns(right, voted.alias("share")), planned, note)


def graded_results(rater: RaterMargins) -> list[Result]:
    """Return all results on one rater's margins: against gold, then against votes."""
    if rater.frame.is_empty():
        return [_result(rater, "ece", undefined(rater.note))]
    return [*_calibration(rater), *_against_votes(rater)]


def _calibration(rater: RaterMargins) -> Iterator[Result]:
    decided = rater.frame.filter(pl.col("right").is_not_null())
    if decided.is_empty():
        yield _result(rater, "ece", undefined("no item with a margin has gold"))
        return
    confidence, right = choice_confidence(decided["margin"].to_numpy()), decided["right"].to_numpy()
    if rater.kind == "rule":
        yield _result(rater, "ece", undefined(rater.note))
    else:
        error = calibration_error(confidence, right)
        luck = f"a perfectly calibrated rater would show about {chance_error(confidence, SIMULATED):.3f} here by chance"
        people = decided["person"].n_unique()
        yield _result(rater, "ece", Estimate(error.value, None, None, len(decided), people, luck))
        yield _result(rater, "overconfidence", _mean(decided, confidence - right, (-1.0, 1.0)))
        for number, part_of in enumerate(reliability_table(confidence, right), 1):
            inside = (confidence >= part_of.low) & (confidence <= part_of.high)
            held = _mean(decided.filter(pl.Series(inside)), right[inside], UNIT)
            label = {"bin": str(number), "confidence": f"{part_of.confidence:.3f}"}
            yield _result(rater, "reliability", held, label)
    # Rank by margin, not confidence: many large margins share a confidence of 1.
    strength = np.abs(decided["margin"].to_numpy())
    for share in KEPT:
        kept = strength >= np.sort(strength)[::-1][int(np.ceil(share * len(strength) - 1e-9)) - 1]
        estimate = _mean(decided.filter(pl.Series(kept)), right[kept], UNIT)
        yield _result(rater, "selective_accuracy", estimate, {"kept": f"{share:.0%}"})


def _against_votes(rater: RaterMargins) -> Iterator[Result]:
    voted = rater.frame.filter(pl.col("share").is_not_null())
    if voted.is_empty():
        yield _result(rater, "share_correlation", undefined(NO_VOTES))
        return
    margin, share = voted["margin"].to_numpy(), voted["share"].to_numpy()
    # Which answer is product 0 is arbitrary: both ways round are used, so the figure does not depend on it.
    both = np.column_stack([np.concatenate([margin, -margin]), np.concatenate([share, 1 - share])])
    people, prompts = (np.concatenate([voted[name].to_numpy()] * 2) for name in ("person", "prompt"))
    rank = pair_agreement(both, people, prompts, "spearman").interval(0)
    yield _result(rater, "share_correlation", replace(rank, n=len(voted)))
    if rater.kind != "rule":
        yield _result(rater, "brier_share", _mean(voted, np.square(expit(margin) - share), UNIT))


def _mean(frame: pl.DataFrame, values: Floats, bounds: tuple[float, float]) -> Estimate:
    return cluster_mean(values, frame["person"].to_numpy(), frame["prompt"].to_numpy(), bounds)


def _result(
    rater: RaterMargins, metric: str, estimate: Estimate, where: Mapping[str, str] | None = None
) -> Result:
    notes = dict.fromkeys(note for note in (estimate.note, rater.note) if note)
    covered = len(rater.frame) / rater.planned if rater.planned else None
    return line_result(rater.line, estimate, metric, dict(where or {}), covered, "; ".join(notes) or None)


# -- pieces ------------------------------------------------------------------------------------------------------------------


def analyze_calibration(store: Store, run: RunRecord) -> Analysis:
    """Analyse whether each rater's confidence matches gold and votes; for raters that choose, or say yes or no."""
    scores = choices_of(store, run)
    raters = line_margins(store, run_lines(store, run)) if scores is None else rater_margins(store, scores)
    groups = [marked_met(run, graded_results(rater)) for rater in raters]
    rows = [_row(group) for group in groups]
    kept = [f"accuracy keeping {share:.0%}" for share in KEPT]
    columns = ["items", "ECE", "over-confidence, points", *kept, "correlation with votes", "Brier, votes"]
    caption = (
        "Accuracy in %, 95 % intervals below; accuracy is also given for the most confident items alone."
    )
    grid = Grid("Confidence against gold", caption, ["rater"], columns, rows).filled()
    results = [result for group in groups for result in group]
    unknown = [one for one in results if one.value is None and one.note]
    notes = grouped_reasons((str(one.rater), why) for one in unknown for why in str(one.note).split("; "))
    said = [*run.met_people.values(), *_confidence_in_words(results)]
    if not said:
        said, notes = notes, []
    title = f"Calibration of the raters of {run.name}"
    part = ReportPart(run.name, title, said, [grid, *_reliability(results), *small_notes(notes)])
    return Analysis(benchmark_of(store, run), results, part, hints=choice_hints(scores))


def _confidence_in_words(results: Sequence[Result]) -> Iterator[str]:
    """Yield how far each rater's confidence is above its accuracy over all items, except controls and raters fitted on these people."""
    for one in results:
        if one.metric == "overconfidence" and not one.slice and not one.met_people and one.control is None:
            cell = figure_cell(one, 100)
            ends = f" ({cell.interval})" if cell.interval else ""
            yield f"{one.rater}: mean confidence minus accuracy is {cell.text} points{ends}."


def _row(group: Sequence[Result]) -> Row:
    here = {(one.metric, one.slice.get("kept")): one for one in group if "bin" not in one.slice}
    kept = [here.get(("selective_accuracy", f"{share:.0%}")) for share in KEPT]
    cells = [
        count_cell(0 if kept[0] is None else kept[0].n),
        figure_cell(here.get(("ece", None))),
        figure_cell(here.get(("overconfidence", None)), 100),
        *(figure_cell(one, 100) for one in kept),
        figure_cell(here.get(("share_correlation", None))),
        figure_cell(here.get(("brier_share", None))),
    ]
    return Row([str(group[0].rater)], cells, group[0].control)


def _reliability(results: Sequence[Result]) -> list[Piece]:
    """Tabulate accuracy against confidence, by bin."""
    rows = [
        Row(
            [str(one.rater), f"{100 * float(one.slice['confidence']):.1f}"],
            [figure_cell(one, 100), count_cell(one.n)],
            one.control,
        )
        for one in results
        if one.metric == "reliability"
    ]
    caption = "In %, in bins of equal size."
    heads = ["rater", "confidence"]
    return [Grid("Confidence and accuracy", caption, heads, ["accuracy", "items"], rows)] if rows else []
