"""People's verdict from few people and many machine judgments: prediction-powered correction of a run.

Human labels for a part of a run's items say how far the cheap score is off, and the rest is corrected by it. In a win rate the
cheap score is the judge's and the human one is whom people preferred. In an accuracy the cheap score is the rater against the
benchmark's gold, and the human one the rater against the people of the file. The interval is valid if the labelled part was
drawn at random from the run's items, which is checked as far as it can be.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.reporting.graded import has_truth
from personafit.reporting.results import CONTROL_RATERS, SYSTEM_COLUMNS, Result, RunScores
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.ppi import Corrected, ppi_mean
from personafit.statistics.preferences import clustered
from personafit.store import TIE, Item, Judgment, Status, Store


@dataclass(frozen=True)
class HumanLabels:
    """What people said about items of a run."""

    votes: dict[str, list[str]]
    """Item to the labels it got, one per voter."""
    elsewhere: int
    """Lines about items that the run does not have."""
    unanswered: int
    """Lines without an answer."""
    options: dict[str, int] = field(default_factory=dict)
    """How many answers an item has, where they are not two."""


@dataclass(frozen=True)
class Correction:
    """One rater (and system) on one slice: the corrected number beside the two it is made of."""

    rater: dict[str, Any]
    system: str | None
    given: str | None
    view: str
    metric: str
    slice: dict[str, str]
    found: Corrected
    worth: Estimate
    """How many human labels alone would give an interval as short."""
    coverage: float | None


def read_labels(path: Path, store: Store, scores: RunScores) -> HumanLabels:
    """Labels of a JSONL file, `{"item", "label"}` or judgment records; several lines on one item are several voters.

    A line that names its rater replaces an earlier one of the same rater on the same item.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file; --human takes a JSONL file of people's labels.")
    wanted = set(scores.items["item"])
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in wanted}
    votes: dict[str, dict[object, str]] = {}
    lines = elsewhere = unanswered = 0
    for number, row in read_lines(path):
        lines += 1
        item, label, voter = _vote(row, path, number, scores.run.config["question"])
        if item not in items:
            elsewhere += 1
        elif label is None:
            unanswered += 1
        else:
            _check_label(label, items[item], path, number)
            votes.setdefault(item, {})[voter] = label
    if not lines:
        raise UserError(f"{path} holds no labels; each line is an object with 'item' and 'label'.")
    if not votes:
        example = next(iter(wanted), "none")
        raise UserError(
            f"{path} has no label for an item of {scores.run.name} ({lines} lines; the run's items are like '{example}')."
        )
    options = {item: len(items[item].products) for item in votes if len(items[item].products) != 2}
    said = {item: list(by_voter.values()) for item, by_voter in votes.items()}
    return HumanLabels(said, elsewhere, unanswered, options)


def _vote(row: dict[str, Any], path: Path, number: int, question: str) -> tuple[str, str | None, object]:
    """Item, label (None where the line gives no answer) and voter of a line."""
    item = required_text(row, "item", path, number)
    if "rater" not in row:
        return item, required_text(row, "label", path, number), number
    judgment = validated(Judgment, row, path, number)
    answered = judgment.status == Status.OK and judgment.question == question
    if answered and judgment.label is None:
        raise UserError(f"{located(path, number, 'label')} is missing.")
    return item, judgment.label if answered else None, judgment.rater


def _check_label(label: str, item: Item, path: Path, number: int) -> None:
    known = [str(index) for index in range(len(item.products))]
    if label not in (*known, TIE):
        raise UserError(
            f"{located(path, number, 'label')}: '{label}' is no answer to '{item.id}'; use {', '.join(known)} or {TIE}."
        )


def correct(scores: RunScores, labels: HumanLabels) -> list[Correction]:
    """Every rater of the run under the headline view, by system and slice."""
    view = scores.headline_view
    corrections = []
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], view]
        human = _people_scores(scores, rater, view, labels)
        both = frame.with_columns(
            pl.col("item").replace_strict(human, default=None, return_dtype=pl.Float64).alias("human_score")
        )
        for row, where, part in _parts(scores, both):
            corrections.append(_correction(scores, rater, view, row, where, part))
    return corrections


def _people_scores(
    scores: RunScores, rater: dict[str, Any], view: str, labels: HumanLabels
) -> dict[str, float]:
    """Per labelled item the score by people's labels: whether the tested answer won, or how far the rater agrees."""
    if not has_truth(scores):
        gold = dict(scores.items.select("item", "gold").iter_rows())
        return {item: _agree([gold[item]], votes) for item, votes in labels.votes.items() if gold[item]}
    if scores.answers.is_empty():
        return {}
    said = scores.answers.filter(
        (pl.col("rater") == rater["fingerprint"])
        & (pl.col("view") == view)
        & (pl.col("question") == scores.run.config["question"])
        & (pl.col("status") == "ok")
        & pl.col("item").is_in(list(labels.votes))
    )
    groups = said.group_by("item", maintain_order=True).agg("label")
    return {
        item: _agree(given, labels.votes[item], labels.options.get(item, 2))
        for item, given in groups.iter_rows()
    }


def _agree(given: list[str], votes: list[str], options: int = 2) -> float:
    """The mean agreement of answers with votes; where either is a tie they agree as often as guessing would."""
    pairs = [(one, other) for one in given for other in votes]
    return float(np.mean([1 / options if TIE in pair else float(pair[0] == pair[1]) for pair in pairs]))


def _parts(
    scores: RunScores, frame: pl.DataFrame
) -> Iterator[tuple[dict[str, str], dict[str, str], pl.DataFrame]]:
    """Systems, and within each all items and then the benchmark's slices, without those that are all items again."""
    present = [name for name in SYSTEM_COLUMNS if name in frame.columns]
    systems: list[dict[str, str]] = [{}]
    if present:
        systems = frame.select(present).unique(maintain_order=True).to_dicts()
    for system in systems:
        part = frame.filter(pl.lit(True), *(pl.col(name).eq_missing(pl.lit(v)) for name, v in system.items()))
        yield system, {}, part
        for names in scores.info["layout"]:
            if all(name in part.columns for name in names):
                for row in part.select(names).drop_nulls().unique(maintain_order=True).to_dicts():
                    sliced = part.filter(pl.all_horizontal(*(pl.col(n) == v for n, v in row.items())))
                    if len(sliced) < len(part):
                        yield system, row, sliced


def _correction(
    scores: RunScores,
    rater: dict[str, Any],
    view: str,
    system: dict[str, str],
    where: dict[str, str],
    part: pl.DataFrame,
) -> Correction:
    found, worth = _combine(part)
    asked = int(part["asked"].sum())
    return Correction(
        rater,
        system.get("system"),
        system.get("given"),
        view,
        scores.info["metric"],
        where,
        found,
        worth,
        int(part["answered"].sum()) / asked if asked else None,
    )


def _combine(part: pl.DataFrame) -> tuple[Corrected, Estimate]:
    """People's and the machine's scores of some items made one, and what people's are then worth."""
    judged = part.filter(pl.col("accuracy").is_not_null())
    labelled = judged.filter(pl.col("human_score").is_not_null())
    alone = judged.filter(pl.col("human_score").is_null())
    if judged.is_empty():
        # Nothing to correct: the human labels stand for themselves.
        human = mean_by_item(part, "human_score")
        nothing = Estimate(None, None, None, 0, 0, "no item has both an answer and gold")
        found = Corrected(nothing if human.value is None else human, human, nothing, None)
        return found, _worth(found)
    found = ppi_mean(
        labelled["human_score"].to_numpy(),
        labelled["accuracy"].to_numpy(),
        alone["accuracy"].to_numpy(),
        labelled["person"].to_numpy(),
        alone["person"].to_numpy(),
        labelled["prompt"].to_numpy(),
        alone["prompt"].to_numpy(),
    )
    worth, human = _worth(found), mean_by_item(labelled, "human_score")
    corrected = human if alone.is_empty() else _within(found.corrected)
    if warning := _not_drawn(labelled, alone):
        corrected = replace(corrected, note="; ".join(filter(None, [corrected.note, warning])))
    return Corrected(corrected, human, mean_by_item(judged, "accuracy"), found.weight), worth


def _within(estimate: Estimate) -> Estimate:
    """Cut at the ends of the scale: a share beyond them cannot be."""
    value, low, high = (
        None if number is None else float(np.clip(number, 0.0, 1.0))
        for number in (estimate.value, estimate.low, estimate.high)
    )
    return Estimate(value, low, high, estimate.n, estimate.people, estimate.note)


def _worth(found: Corrected) -> Estimate:
    """Human labels times how much shorter, squared, the interval became: variances fall with the number of labels."""
    ours, theirs = found.corrected, found.human
    n, people = theirs.n, theirs.people
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return Estimate(None, None, None, n, people, ours.note or theirs.note)
    if ours.high == ours.low or theirs.high == theirs.low:
        return Estimate(None, None, None, n, people, "undefined: the human scores do not vary")
    return Estimate(n * ((theirs.high - theirs.low) / (ours.high - ours.low)) ** 2, None, None, n, people)


def _not_drawn(labelled: pl.DataFrame, alone: pl.DataFrame) -> str | None:
    """A warning where the judge scores the labelled part differently from the rest: it was not drawn at random."""
    if len(labelled) < 2 or len(alone) < 2:
        return None
    one, two = labelled["accuracy"].to_numpy(), alone["accuracy"].to_numpy()
    n, gap = len(one) + len(two), float(one.mean() - two.mean())
    # Each item's part in the difference of the two means, times n: its mean is that difference.
    parts = np.concatenate([(one - one.mean()) / len(one), -(two - two.mean()) / len(two)]) * n + gap
    both = pl.concat([labelled.select("person", "prompt"), alone.select("person", "prompt")])
    test = clustered(parts, both["person"].to_numpy(), both["prompt"].to_numpy())
    if test.low is None or test.high is None or test.low <= 0 <= test.high:
        return None
    return (
        f"the labelled part does not look drawn at random: it scores {one.mean():.1%} by machine and the rest {two.mean():.1%}, "
        "so the correction may be off"
    )


def correction_results(corrections: list[Correction]) -> Iterator[Result]:
    """One record per number: corrected, people's alone, the machine's alone, and what the labels are worth."""
    for row in corrections:
        weight = row.found.weight
        trust = None if weight is None else f"the machine's part counts {weight:.2f} of full"
        yield _result(row, f"{row.metric}_corrected", row.found.corrected, trust)
        yield _result(row, f"{row.metric}_human", row.found.human, "by human labels alone")
        yield _result(row, f"{row.metric}_machine", row.found.machine, "naive: no human labels used")
        yield _result(row, "effective_human_labels", row.worth, None)


def _result(row: Correction, metric: str, estimate: Estimate, remark: str | None) -> Result:
    return Result.of(
        estimate,
        rater=row.rater["name"],
        system=row.system,
        given=row.given,
        view=row.view,
        metric=metric,
        slice=row.slice,
        coverage=row.coverage,
        control=CONTROL_RATERS.get(row.rater["name"]),
        fingerprint=row.rater["fingerprint"],
        note="; ".join(filter(None, [estimate.note, remark])) or None,
    )
