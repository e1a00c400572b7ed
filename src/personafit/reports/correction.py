"""Estimates of people's verdict from few human labels and many machine judgments: prediction-powered correction of a run.

Human labels for a part of a run's items say how far the cheap score is off, and the rest is corrected by it. In a win rate the
cheap score is the judge's and the human one is whom people preferred. In an accuracy the cheap score is the rater against the
benchmark's gold, and the human one the rater against the people of the file. The interval is valid if the labelled part was
drawn at random from the run's items, or if labels carry the weights they were drawn by (`label --stratify`). Whether it was drawn
at random is tested over tier, slices, people and the machine's scores; labels of one tier only are not read as labels of all.

Of raters that say yes or no or give marks, the machine's score is the mean of their answers and the human one that of people's.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text
from personafit.items.relevance import NO, YES
from personafit.kinds import run_lines
from personafit.kinds.choice import RunScores, choice_lines, choices_of
from personafit.kinds.lines import UNIT_SCALE, Line, Reference, RunLines, sliced
from personafit.reports.analysis import (
    Analysis,
    answers_of,
    benchmark_of,
    choice_hints,
    count_cell,
    has_truth,
    judged_lines,
)
from personafit.reports.claims import line_name
from personafit.reports.line_results import line_result, share_of
from personafit.reports.pieces import Grid, Piece, Row, figure_cell, result_cell
from personafit.reports.report import ReportPart
from personafit.reports.result import Result, marked_met
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.ppi import Corrected, imbalances, ppi_mean
from personafit.store import TIE, Item, RunRecord, Store

WORDS = {YES: 1.0, NO: 0.0}
UnitKey = tuple[str, str]
"""An item, and the target judged in it; empty if the item itself was judged."""
EXAMPLE = (
    '{"item": "ITEM", "label": "LABEL"} (the name of an answer, the id of its text or tie; yes or no; a mark)'
)


@dataclass(frozen=True)
class HumanLabels:
    """Human labels of units of a run."""

    votes: Mapping[UnitKey, list[Any]]
    """Item and target → each voter's label: the position of an answer or a tie for choices, otherwise a number."""
    left_out: int = 0
    """Number of lines about unknown items, without an answer, or to another question."""
    weights: Mapping[UnitKey, float] = field(default_factory=dict)
    """Design weights of labelled units, if the file gives them: the inverse of their sampling probability."""
    question: str | None = None
    """The question people answered; None for choices."""
    options: Mapping[str, int] = field(default_factory=dict)
    """The number of answers of items that do not have two."""

    def beside(self, frame: pl.DataFrame, scores: Mapping[UnitKey, float]) -> pl.DataFrame:
        """Return the units of a frame with people's scores as `human_score`, and their `weight`."""
        rows = [(*key, value, self.weights.get(key)) for key, value in scores.items()]
        schema = {"item": pl.String, "target": pl.String, "human_score": pl.Float64, "weight": pl.Float64}
        said = pl.DataFrame(rows, schema=schema, orient="row")
        keys = ["item", "target"] if "target" in frame.columns else ["item"]
        rest = frame.drop("human_score", "weight", strict=False)
        return rest.join(
            said.select(*keys, "human_score", "weight"), on=keys, how="left", maintain_order="left"
        )


@dataclass(frozen=True)
class Correction:
    """One rater (and system) on one slice: the corrected figure and the two it combines."""

    line: Line
    metric: str
    slice: dict[str, str]
    found: Corrected
    worth: Estimate
    """The number of human labels that alone would give as short an interval."""
    coverage: float | None
    bounds: tuple[float, float] = UNIT_SCALE


def read_labels(path: Path, store: Store, scores: RunScores) -> HumanLabels:
    """Read labels of a run of choices: `{"item", "label"}` on each line of a JSONL file, or the votes of a study.

    A label names an answer: `answer`, `generic` or `wrong` in a run of answers, the id of its text anywhere, or its place in the
    order the store keeps.
    """
    wanted = set(scores.items["item"])
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in wanted}
    gold = {} if has_truth(scores) else dict(scores.items.select("item", "gold").iter_rows())

    def place(row: dict[str, Any], key: UnitKey, number: int) -> str | None:
        if row.get("question", scores.run.config["question"]) != scores.run.config["question"]:
            return None
        item, label = items[key[0]], required_text(row, "label", path, number)
        return _place(label, item, gold.get(item.id), path, number)

    labels = _read_votes(path, scores.run.name, {(item, "") for item in items}, place)
    options = {item: len(items[item].products) for item, _ in labels.votes if len(items[item].products) != 2}
    return replace(labels, options=options)


def read_unit_labels(path: Path, opened: RunLines) -> HumanLabels:
    """Read labels of a run that is not of choices: `{"item", "label"}` and, if units have one, `"target"`; or the votes of a study.

    A label is `yes` or `no`, or a mark on the question's scale. A run that asks several questions needs `"question"` in each line.
    """
    known = {one.question: one for one in opened.references}
    asked: set[str] = set()
    units = {
        (item, target)
        for line in opened.lines
        for item, target in line.frame.select(
            "item", "target" if "target" in line.frame.columns else pl.lit("").alias("target")
        ).iter_rows()
        if item is not None
    }

    def value(row: dict[str, Any], key: UnitKey, number: int) -> float | None:
        question = str(row.get("question") or (next(iter(known)) if len(known) == 1 else ""))
        if not question:
            raise UserError(
                f"{located(path, number, 'question')} is missing; {opened.run.name} asks {', '.join(known)}."
            )
        if question not in known:
            return None
        asked.add(question)
        return _value(row, known[question], path, number)

    labels = _read_votes(path, opened.run.name, units, value)
    if len(asked) > 1:
        raise UserError(f"{path} answers several questions ({', '.join(sorted(asked))}); give one at a time.")
    return replace(labels, question=next(iter(asked)))


def _read_votes(
    path: Path, run: str, units: Set[UnitKey], read: Callable[[dict[str, Any], UnitKey, int], Any]
) -> HumanLabels:
    """Read the vote of each line; several on one unit are several voters, and a named rater's later vote replaces the earlier one."""
    if not path.is_file():
        raise UserError(f"{path} is not a file; --human takes a JSONL file with lines such as {EXAMPLE}.")
    items = {item for item, _ in units}
    votes: dict[UnitKey, dict[object, Any]] = {}
    weights: dict[UnitKey, float] = {}
    left_out = 0
    for number, row in read_lines(path):
        key = (required_text(row, "item", path, number), str(row.get("target") or ""))
        answered = key[0] in items and row.get("status", "ok") == "ok"
        said = read(row, key, number) if answered else None
        if said is None:
            left_out += 1
            continue
        if key not in units:
            raise UserError(
                f"{located(path, number, 'target')}: '{key[1]}' is nothing that was judged in '{key[0]}'."
            )
        votes.setdefault(key, {})[row.get("rater", number)] = said
        if (weight := row.get("weight")) is not None:
            if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
                raise UserError(f"{located(path, number, 'weight')} must be a number above 0.")
            weights[key] = float(weight)
    if not votes:
        raise UserError(f"{path} has no label for an item of {run}; write lines such as {EXAMPLE}.")
    if weights and (without := next((key for key in votes if key not in weights), None)):
        raise UserError(
            f"{path}: some labels have a 'weight' and that of '{without[0]}' has none; give all a weight or none."
        )
    said_of = {key: list(by_voter.values()) for key, by_voter in votes.items()}
    return HumanLabels(said_of, left_out, weights)


def _place(label: str, item: Item, tested: str | None, path: Path, number: int) -> str:
    """Return the position of the named answer in the stored order, or a tie."""
    places = {str(place): str(place) for place in range(len(item.products))}
    names = {product: str(place) for place, product in enumerate(item.products)}
    against = item.slices.get("against")
    if tested in places and against is not None and len(item.products) == 2:
        names |= {"answer": str(tested), against: str(1 - int(str(tested)))}
    known = {**names, **places, TIE: TIE}
    if label not in known:
        called = [name for name in ("answer", against) if name in names]
        raise UserError(
            f"{located(path, number, 'label')}: '{label}' is no answer to '{item.id}'; use "
            f"{', '.join([*map(str, called), *places])} or {TIE}, or the id of a text ({', '.join(item.products)})."
        )
    return known[label]


def _value(row: Mapping[str, Any], reference: Reference, path: Path, number: int) -> float:
    said = row.get("label") if row.get("label") is not None else row.get("value")
    low, high = reference.bounds
    try:
        found = WORDS[said] if isinstance(said, str) and said in WORDS else float(str(said))
    except ValueError:
        found = math.nan
    if not low <= found <= high or isinstance(said, bool):
        allowed = f"{YES} or {NO}" if reference.bounds == (0.0, 1.0) else f"a mark from {low:g} to {high:g}"
        raise UserError(f"{located(path, number, 'label')}: '{said}' is no answer; use {allowed}.")
    return found


def correct(scores: RunScores, labels: HumanLabels) -> list[Correction]:
    """Correct every rater of a run of choices under the headline context, by system and slice."""
    opened = choice_lines(scores)
    raters = {rater["fingerprint"]: rater for rater in scores.raters}
    factors = ["tier", *(name for names in opened.slices for name in names)]
    corrections: list[Correction] = []
    for line in opened.lines:
        if line.context != scores.headline_context:
            continue
        human = _people_scores(scores, raters[str(line.fingerprint)], labels)
        judged = line.frame.with_columns(pl.col("accuracy").alias("machine_score"))
        frame = labels.beside(judged, human)
        corrections += _corrections(opened, line, frame, scores.info["metric"], factors)
    return corrections


def correct_lines(opened: RunLines, labels: HumanLabels | None = None) -> list[Correction]:
    """Correct every rater of a run that is not of choices, by question, system and slice: the mean of its answers with people's.

    Without labels from elsewhere, people's answers are those that are known of the run's units already.
    """
    factors = [name for names in opened.slices for name in names]
    means = {key: float(np.mean(said)) for key, said in (labels.votes if labels else {}).items()}
    corrections: list[Correction] = []
    for reference in opened.references:
        if labels is not None and labels.question not in (None, reference.question):
            continue
        answered = opened.metric(reference.metric).answered
        for line in judged_lines(opened, reference):
            frame = line.frame.with_columns(
                pl.col(reference.answer).cast(pl.Float64).alias("machine_score"),
                pl.col(reference.people).cast(pl.Float64).alias("human_score"),
                pl.lit(None, pl.Float64).alias("weight"),
            )
            frame = frame if labels is None else labels.beside(frame, means)
            corrections += _corrections(
                opened, line, frame, reference.metric, factors, reference.bounds, answered
            )
    if not any(one.found.human.n for one in corrections):
        raise UserError(
            f"{opened.run.name}: people have not rated any of its items; give their labels with --human FILE."
            if opened.references
            else f"{opened.run.name} is a run of {opened.kind} items, {opened.why_no_people}: there is no judge to correct."
        )
    return corrections


def _corrections(
    opened: RunLines,
    line: Line,
    frame: pl.DataFrame,
    metric: str,
    factors: Sequence[str],
    bounds: tuple[float, float] = UNIT_SCALE,
    answered: str = "answered",
) -> Iterator[Correction]:
    """Yield the machine's mean corrected by people's labels, for all units of a line and by slice."""
    answered = answered if answered in frame.columns else "answered"
    for where, part in sliced(frame, opened.slices):
        rest = [name for name in dict.fromkeys(factors) if name in frame.columns and name not in where]
        found, worth = _combine(part, rest, bounds)
        coverage = share_of(int(part[answered].sum()), int(part["asked"].sum()))
        yield Correction(line, metric, where, found, worth, coverage, bounds)


def _people_scores(scores: RunScores, rater: dict[str, Any], labels: HumanLabels) -> dict[UnitKey, float]:
    """Return the score of each labelled item by people's labels: whether the tested answer won, or the rater's agreement."""
    votes = {item: said for (item, _), said in labels.votes.items()}
    if not has_truth(scores):
        gold = dict(scores.items.select("item", "gold").iter_rows())
        return {(item, ""): _agree([gold[item]], said) for item, said in votes.items() if gold[item]}
    said = answers_of(scores, rater).filter(pl.col("item").is_in(list(votes)))
    agreed: dict[str, list[float]] = {}
    for item, _, given in said.group_by("item", "order", maintain_order=True).agg("label").iter_rows():
        agreed.setdefault(item, []).append(_agree(given, votes[item], labels.options.get(item, 2)))
    # As in accuracy, samples are averaged within an order, and all orders are needed.
    return {
        (item, ""): float(np.mean(orders))
        for item, orders in agreed.items()
        if len(orders) >= rater["orders"]
    }


def _agree(given: list[str], votes: list[str], options: int = 2) -> float:
    """Return the mean agreement of answers with votes; if either is a tie they agree with the probability of guessing."""
    pairs = [(one, other) for one in given for other in votes]
    return float(np.mean([1 / options if TIE in pair else float(pair[0] == pair[1]) for pair in pairs]))


def _combine(
    part: pl.DataFrame, factors: Sequence[str], bounds: tuple[float, float] = UNIT_SCALE
) -> tuple[Corrected, Estimate]:
    """Combine people's and the machine's scores of a part; also return what the human labels are then worth."""
    judged = part.filter(pl.col("machine_score").is_not_null())
    labelled = judged.filter(pl.col("human_score").is_not_null())
    alone = judged.filter(pl.col("human_score").is_null())
    weighted = len(labelled) and not labelled["weight"].null_count()
    weights = labelled["weight"].to_numpy() if weighted else None
    found = ppi_mean(
        labelled["human_score"].to_numpy(),
        labelled["machine_score"].to_numpy(),
        alone["machine_score"].to_numpy(),
        labelled["person"].to_numpy(),
        alone["person"].to_numpy(),
        labelled["prompt"].to_numpy(),
        alone["prompt"].to_numpy(),
        weights,
    )
    worth = _worth(found, len(judged))
    human = mean_by_item(labelled, "human_score", bounds) if weights is None else _within(found.human, bounds)
    corrected = human if alone.is_empty() and weights is None else _within(found.corrected, bounds)
    if weights is None:
        corrected, worth = _checked(corrected, worth, judged, factors)
    return Corrected(corrected, human, mean_by_item(judged, "machine_score", bounds), found.weight), worth


def _within(estimate: Estimate, bounds: tuple[float, float]) -> Estimate:
    """Clip an estimate and its interval to the ends of the scale."""
    value, low, high = (
        None if number is None else float(np.clip(number, *bounds))
        for number in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)


def _worth(found: Corrected, items: int) -> Estimate:
    """Return the number of labels times the squared ratio of interval lengths, at most the number of items."""
    ours, theirs = found.corrected, found.human
    n, people = theirs.n, theirs.people
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return Estimate(None, None, None, n, people, ours.note or theirs.note)
    if ours.high == ours.low or theirs.high == theirs.low:
        return Estimate(None, None, None, n, people, "undefined: the human scores do not vary")
    worth = n * ((theirs.high - theirs.low) / (ours.high - ours.low)) ** 2
    return Estimate(min(worth, float(items)), None, None, n, people)


def _checked(
    corrected: Estimate, worth: Estimate, judged: pl.DataFrame, factors: Sequence[str]
) -> tuple[Estimate, Estimate]:
    """Add a warning if the labelled part does not look random, and remove the value if it leaves out a slice."""
    found = imbalances(
        judged["human_score"].is_not_null().to_numpy(),
        {name: judged[name].fill_null("").to_numpy() for name in (*factors, "person")},
        {"machine's score": judged["machine_score"].to_numpy()},
    )
    left_out = [one for one in found if one.absent and one.factor in factors]
    notes = [
        f"labels come only from {one.factor} {' and '.join(one.present)}, none from {' or '.join(one.absent)}: they say nothing of all "
        "items; read the slices they come from, or label a random part"
        for one in left_out
    ]
    if uneven := [one.factor for one in found if one not in left_out]:
        notes.append(
            f"the labelled part does not look drawn at random: it differs from the rest in {', '.join(uneven)}, so the correction may "
            "be off"
        )
    note = "; ".join(filter(None, [corrected.note, *notes])) or None
    if left_out:
        nothing = Estimate(None, None, None, corrected.n, corrected.people, note)
        return nothing, replace(nothing, note=notes[0])
    return replace(corrected, note=note), worth


def correction_results(corrections: list[Correction]) -> Iterator[Result]:
    """Yield one record per number: corrected, human alone, machine alone, and the worth of the labels."""
    for row in corrections:
        weight = row.found.weight
        trust = None if weight is None else f"the machine's part counts {weight:.2f} of full"
        yield _result(row, f"{row.metric}_corrected", row.found.corrected, trust)
        yield _result(row, f"{row.metric}_human", row.found.human, "by human labels alone")
        yield _result(row, f"{row.metric}_machine", row.found.machine, "naive: no human labels used")
        yield _result(row, "effective_human_labels", row.worth, None)


def _result(row: Correction, metric: str, estimate: Estimate, remark: str | None) -> Result:
    note = "; ".join(filter(None, [estimate.note, remark])) or None
    return line_result(row.line, estimate, metric, row.slice, row.coverage, note)


# -- pieces ------------------------------------------------------------------------------------------------------------------


def analyze_correction(store: Store, run: RunRecord, human: Path | None = None) -> Analysis:
    """Correct a run of any kind by people's labels, from a file or, by default, from the store."""
    scores = choices_of(store, run)
    labels: HumanLabels | None = None
    if scores is not None:
        if human is None:
            raise UserError(
                f"{run.name} is a run of choices: give people's labels with --human FILE, with lines such as {EXAMPLE}."
            )
        labels = read_labels(human, store, scores)
        found = correct(scores, labels)
    else:
        opened = run_lines(store, run)
        labels = None if human is None or not opened.references else read_unit_labels(human, opened)
        found = correct_lines(opened, labels)
    hints = choice_hints(scores)
    if labels is not None and labels.left_out:
        lines = "1 line does" if labels.left_out == 1 else f"{labels.left_out:,} lines do"
        hints.append(f"{human}: {lines} not answer this run's question about one of its items.")
    results = marked_met(run, correction_results(found))
    return Analysis(benchmark_of(store, run), results, correction_part(run, found), hints=hints)


def correction_part(run: RunRecord, found: Sequence[Correction]) -> ReportPart:
    """Return the part on a correction: a sentence per rater on the worth of its labels, then a table per metric."""
    pieces: list[Piece] = [
        _grid([row for row in found if row.metric == metric])
        for metric in dict.fromkeys(row.metric for row in found)
    ]
    sentences = [_worth_in_words(row) for row in found if not row.slice]
    return ReportPart(run.name, f"{run.name}, corrected by people's labels", sentences, pieces)


def _grid(found: Sequence[Correction]) -> Grid:
    metric, bounds = found[0].metric, found[0].bounds
    share = bounds == UNIT_SCALE
    rows = []
    for row in found:
        name = line_name(row.line.rater, row.line.system, row.line.system_context)
        estimates = (row.found.corrected, row.found.human, row.found.machine)
        worth = result_cell(row.worth, "{:,.0f}".format)
        cells = [*(figure_cell(one, 100 if share else 1) for one in estimates), count_cell(row.found.human.n)]
        where = " ".join(row.slice.values()) or "all"
        rows.append(Row([name, where], [*cells, worth], row.line.control))
    scale = "in %" if share else f"from {bounds[0]:g} to {bounds[1]:g}"
    caption = f"{scale[0].upper()}{scale[1:]}, 95 % intervals below. Worth: the number of human labels that would give as short an interval without the machine."
    cheap = "against gold" if metric == "accuracy" else "judge alone"
    columns = ["corrected", "human alone", cheap, "human labels", "worth"]
    title = f"{metric.replace('_', ' ').capitalize()}, corrected by human labels"
    return Grid(title, caption, ["rater", "slice"], columns, rows)


def _worth_in_words(row: Correction) -> str:
    name = line_name(row.line.rater, row.line.system, row.line.system_context)
    corrected, share = row.found.corrected, row.bounds == UNIT_SCALE
    if not share or row.metric not in ("accuracy", "win_rate"):
        name = f"{name}, {row.metric}"
    if corrected.value is None:
        return f"{name}: {corrected.note}."
    if row.worth.value is None:
        shown = f"{100 * corrected.value:.1f} %" if share else f"{corrected.value:.2f}"
        return f"{name}: {shown} after correction; {row.worth.note}."
    labels = row.found.human.n
    said = f"{name}: {labels} human labels are worth {row.worth.value:.0f} with the machine's help"
    if row.worth.value <= labels:
        said = f"{name}: {labels} human labels gain nothing from the machine here"
    return f"{said}; {corrected.note}." if corrected.note else f"{said}."
