"""People's verdict from few people and many machine judgments: prediction-powered correction of a run.

Human labels for a part of a run's items say how far the cheap score is off, and the rest is corrected by it. In a win rate the
cheap score is the judge's and the human one is whom people preferred. In an accuracy the cheap score is the rater against the
benchmark's gold, and the human one the rater against the people of the file. The interval is valid if the labelled part was
drawn at random from the run's items, or if labels carry the weights they were drawn by (`label --stratify`). Whether it was drawn
at random is tested over tier, slices, people and the machine's scores; labels of one tier only are not read as labels of all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError, located
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.kinds.lines import UNIT_SCALE, Line, Reference, RunLines, sliced
from personafit.reporting.graded import has_truth
from personafit.reporting.results import CONTROL_RATERS, SYSTEM_COLUMNS, Result, RunScores
from personafit.reporting.unit_labels import UnitLabels
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.balance import Imbalance, imbalances
from personafit.statistics.ppi import Corrected, ppi_mean
from personafit.store import TIE, Item, Judgment, Status, Store

VOTE_ONLY = frozenset(
    (
        "study",
        "kind",
        "why",
        "text",
        "note",
        "order",
        "seconds",
        "at",
        "client_time",
        "perspective",
        "generation",
    )
) | {"page", "role", "person", "weight"}
"""What a study's votes have beside a judgment."""


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
    weights: dict[str, float] = field(default_factory=dict)
    """Design weights of labelled items, where the file gives them: the inverse of the chance of being drawn."""
    numbered: int = 0
    """Lines that name an answer by its place in the stored order, and not by a name."""


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
    met_people: bool = False
    """Whether the rater was fitted on people of this run."""
    bounds: tuple[float, float] = UNIT_SCALE


def read_labels(path: Path, store: Store, scores: RunScores) -> HumanLabels:
    """Labels of a JSONL file, `{"item", "label"}` or votes of a study; several lines on one item are several voters.

    A label names an answer: `answer`, `generic` or `wrong` in a run of answers, the id of its text anywhere, or its place in the
    order the store keeps. A line that names its rater replaces an earlier one of the same rater on the same item. A `weight` is the
    inverse of the item's chance of being drawn.
    """
    if not path.is_file():
        raise UserError(f"{path} is not a file; --human takes a JSONL file of people's labels.")
    wanted = set(scores.items["item"])
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in wanted}
    gold = {} if has_truth(scores) else dict(scores.items.select("item", "gold").iter_rows())
    votes: dict[str, dict[object, str]] = {}
    weights: dict[str, float] = {}
    lines = elsewhere = unanswered = numbered = 0
    for number, row in read_lines(path):
        lines += 1
        item, label, voter = _vote(row, path, number, scores.run.config["question"])
        if item not in items:
            elsewhere += 1
        elif label is None:
            unanswered += 1
        else:
            place = _place(label, items[item], gold.get(item), path, number)
            numbered += "rater" not in row and label.isdecimal()
            votes.setdefault(item, {})[voter] = place
            if (weight := row.get("weight")) is not None:
                weights[item] = _weight(weight, path, number)
    if not lines:
        raise UserError(f"{path} holds no labels; each line is an object with 'item' and 'label'.")
    if not votes:
        example = next(iter(wanted), "none")
        raise UserError(
            f"{path} has no label for an item of {scores.run.name} ({lines} lines; the run's items are like '{example}')."
        )
    options = {item: len(items[item].products) for item in votes if len(items[item].products) != 2}
    said = {item: list(by_voter.values()) for item, by_voter in votes.items()}
    if weights and (without := next((item for item in said if item not in weights), None)):
        raise UserError(
            f"{path}: some labels have a 'weight' and that of '{without}' has none; give all a weight or none."
        )
    return HumanLabels(said, elsewhere, unanswered, options, weights, numbered)


def _vote(row: dict[str, Any], path: Path, number: int, question: str) -> tuple[str, str | None, object]:
    """Item, label (None where the line gives no answer) and voter of a line."""
    item = required_text(row, "item", path, number)
    if "rater" not in row:
        return item, required_text(row, "label", path, number), number
    extra = VOTE_ONLY if "study" in row else {"weight"}
    judgment = validated(Judgment, {k: v for k, v in row.items() if k not in extra}, path, number)
    answered = judgment.status == Status.OK and judgment.question == question
    if answered and judgment.label is None:
        raise UserError(f"{located(path, number, 'label')} is missing.")
    return item, judgment.label if answered else None, judgment.rater


def _place(label: str, item: Item, tested: str | None, path: Path, number: int) -> str:
    """The place of the named answer in the stored order, or a tie."""
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
            f"{', '.join([*map(str, called), *places])} or {TIE}, or the id of a text."
        )
    return known[label]


def _weight(weight: object, path: Path, number: int) -> float:
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        raise UserError(f"{located(path, number, 'weight')} must be a number above 0.")
    return float(weight)


def correct(scores: RunScores, labels: HumanLabels) -> list[Correction]:
    """Every rater of the run under the headline view, by system and slice."""
    view = scores.headline_view
    corrections = []
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], view]
        human = _people_scores(scores, rater, view, labels)
        both = frame.with_columns(
            pl.col("item").replace_strict(found, default=None, return_dtype=pl.Float64).alias(name)
            for name, found in (("human_score", human), ("weight", labels.weights))
        )
        for row, where, part in _parts(scores, both):
            corrections.append(_correction(scores, rater, view, row, where, part))
    return corrections


def correct_lines(opened: RunLines, labels: UnitLabels | None = None) -> list[Correction]:
    """Every rater of a run that is no run of choices, by question, system and slice: the mean of its answers and of people's.

    Without labels from elsewhere, people's answers are those that are known of the run's units already.
    """
    corrections: list[Correction] = []
    for reference in opened.references:
        if labels is not None and labels.question not in (None, reference.question):
            continue
        lines = [line for line in opened.lines if reference.answer in line.frame.columns]
        headline = opened.headline_view(lines)
        for line in lines:
            if line.view == headline and line.fingerprint in opened.rater_kinds:
                corrections += _corrected_line(opened, reference, line, labels)
    if not any(one.found.human.n for one in corrections):
        raise UserError(
            f"{opened.run.name}: people have said nothing of what its raters judged; give their labels with --human FILE."
            if opened.references
            else f"{opened.run.name} is a {opened.kind} run, {opened.why_no_people}: there is no judge to correct."
        )
    return corrections


def _corrected_line(
    opened: RunLines, reference: Reference, line: Line, labels: UnitLabels | None
) -> Iterator[Correction]:
    human = pl.col(reference.people).cast(pl.Float64)
    frame = line.frame.with_columns(
        pl.col(reference.answer).cast(pl.Float64).alias("machine_score"), human.alias("human_score")
    )
    frame = frame.with_columns(pl.lit(None, pl.Float64).alias("weight"))
    if labels is not None:
        frame = labels.beside(frame)
    rater = {"name": line.rater, "fingerprint": line.fingerprint}
    metric = opened.metric(reference.metric)
    answered = metric.answered if metric.answered in frame.columns else "answered"
    factors = list(dict.fromkeys(name for names in opened.slices for name in names if name in frame.columns))
    for where, part in sliced(frame, opened.slices):
        rest = [name for name in factors if name not in where]
        found, worth = _combine(part, rest, reference.bounds)
        asked = int(part["asked"].sum())
        coverage = int(part[answered].sum()) / asked if asked else None
        met = line.fingerprint in opened.run.met_people
        yield Correction(
            rater,
            line.system,
            line.given,
            str(line.view),
            reference.metric,
            where,
            found,
            worth,
            coverage,
            met,
            reference.bounds,
        )


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
    agreed: dict[str, list[float]] = {}
    for item, _, given in said.group_by("item", "order", maintain_order=True).agg("label").iter_rows():
        agreed.setdefault(item, []).append(_agree(given, labels.votes[item], labels.options.get(item, 2)))
    # As in accuracy: samples are averaged within an order, and both orders are needed.
    return {item: float(np.mean(orders)) for item, orders in agreed.items() if len(orders) >= rater["orders"]}


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
        for where, piece in sliced(part, scores.info["layout"]):
            yield system, where, piece


def _correction(
    scores: RunScores,
    rater: dict[str, Any],
    view: str,
    system: dict[str, str],
    where: dict[str, str],
    part: pl.DataFrame,
) -> Correction:
    factors = dict.fromkeys(["tier", *(name for names in scores.info["layout"] for name in names)])
    rest = [name for name in factors if name in part.columns and name not in where]
    found, worth = _combine(part.rename({"accuracy": "machine_score"}), rest)
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
        rater["fingerprint"] in scores.run.met_people,
    )


def _combine(
    part: pl.DataFrame, factors: Sequence[str], bounds: tuple[float, float] = UNIT_SCALE
) -> tuple[Corrected, Estimate]:
    """People's and the machine's scores of some items made one, and what people's are then worth."""
    judged = part.filter(pl.col("machine_score").is_not_null())
    labelled = judged.filter(pl.col("human_score").is_not_null())
    alone = judged.filter(pl.col("human_score").is_null())
    if judged.is_empty():
        # Nothing to correct: the human labels stand for themselves.
        human = mean_by_item(part, "human_score", bounds)
        nothing = Estimate(None, None, None, 0, 0, "no item has both an answer and gold")
        found = Corrected(nothing if human.value is None else human, human, nothing, None)
        return found, _worth(found, len(judged))
    weights = None if labelled["weight"].null_count() else labelled["weight"].to_numpy()
    if labelled.is_empty():
        weights = None
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
        corrected, worth = _checked(corrected, worth, judged, factors, bounds)
    return Corrected(corrected, human, mean_by_item(judged, "machine_score", bounds), found.weight), worth


def _within(estimate: Estimate, bounds: tuple[float, float]) -> Estimate:
    """Cut at the ends of the scale: what lies beyond them cannot be."""
    value, low, high = (
        None if number is None else float(np.clip(number, *bounds))
        for number in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)


def _worth(found: Corrected, items: int) -> Estimate:
    """Human labels times how much shorter, squared, the interval became: variances fall with the number of labels.

    Labels on every item are the most there can be, so no more is said.
    """
    ours, theirs = found.corrected, found.human
    n, people = theirs.n, theirs.people
    if ours.low is None or ours.high is None or theirs.low is None or theirs.high is None:
        return Estimate(None, None, None, n, people, ours.note or theirs.note)
    if ours.high == ours.low or theirs.high == theirs.low:
        return Estimate(None, None, None, n, people, "undefined: the human scores do not vary")
    worth = n * ((theirs.high - theirs.low) / (ours.high - ours.low)) ** 2
    if worth < items:
        return Estimate(worth, None, None, n, people)
    return Estimate(items, None, None, n, people, "at most: as many as labels on every item would be")


def _checked(
    corrected: Estimate,
    worth: Estimate,
    judged: pl.DataFrame,
    factors: Sequence[str],
    bounds: tuple[float, float],
) -> tuple[Estimate, Estimate]:
    """Both with a warning where the labelled part does not look drawn at random, and without a value where it leaves out a slice."""
    drawn = judged["human_score"].is_not_null().to_numpy()
    found = imbalances(
        drawn,
        {name: judged[name].fill_null("").to_numpy() for name in (*factors, "person")},
        {"machine": judged["machine_score"].to_numpy()},
    )
    if not found:
        return corrected, worth
    left_out = [one for one in found if one.absent and one.factor in factors]
    sentences = [_only(one) for one in left_out]
    sentences += [_uneven(one, judged, bounds) for one in found if one not in left_out]
    note = "; ".join(filter(None, [corrected.note, *sentences]))
    if left_out:
        nothing = Estimate(None, None, None, corrected.n, corrected.people, note)
        return nothing, replace(nothing, note=sentences[0])
    return replace(corrected, note=note), worth


def _only(one: Imbalance) -> str:
    """The sentence on labels that leave out some slices altogether."""
    there, without = " and ".join(one.present), " or ".join(one.absent)
    return (
        f"labels come only from {one.factor} {there}, none from {without}: they say nothing of all items; read the slices "
        "they come from, or label a random part"
    )


def _uneven(one: Imbalance, judged: pl.DataFrame, bounds: tuple[float, float]) -> str:
    """The sentence on a labelled part that differs from a random one."""
    if one.factor == "machine":
        labelled = judged["human_score"].is_not_null().to_numpy()
        machine = judged["machine_score"].to_numpy()
        ours, rest = float(machine[labelled].mean()), float(machine[~labelled].mean())
        form = ".1%" if bounds == UNIT_SCALE else ".2f"
        why = f"it scores {ours:{form}} by machine and the rest {rest:{form}}"
    elif one.factor == "person":
        why = f"its items are not spread over people as a random part would be ({len(one.present):,} people)"
    else:
        why = f"it is not spread over {one.factor} as all items are"
    return f"the labelled part does not look drawn at random: {why}, so the correction may be off"


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
    result = Result.of(
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
    return replace(result, met_people=row.met_people)
