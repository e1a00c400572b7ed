"""The report part on training a reward model: its curves, and its quality on held-out people."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit.kinds.choice import TIERS
from personafit.reports.claims import people_words
from personafit.reports.pieces import (
    Cell,
    Grid,
    Instrument,
    Picture,
    Piece,
    Prose,
    Row,
    percent_cell,
)
from personafit.reports.plots import ACCENT, INK, MUTED, PAPER, figure_style, frame, new_figure
from personafit.reports.report import ReportPart
from personafit.reports.result import with_interval
from personafit.statistics import Estimate
from personafit.statistics.clusters import FEWEST_PEOPLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES, FACTS, STARTED = "curves.csv", "personafit.json", "started.json"
LOSS, HELD_OUT_LOSS, ACCURACY = "loss", "eval_loss", "eval_accuracy"
SHAPES = "osD^vXP*"
ALL = "all"
CAPTION = (
    "Left, the loss of the training batches and of the people held out. Right, how often the preferred answer of a pair gets the higher "
    "score, on people the model was not trained on, by tier; the dotted line is a coin toss. These are readings during training, without "
    "intervals; the table below has the result with intervals once training is finished."
)
# Measures of a trained model; those with a name are rules that read nothing.
MEASURES = {
    "accuracy": None,
    "gain_over_overlap": None,
    "overlap": "most overlap",
    "length": "longest answer",
}


@dataclass(frozen=True)
class Training:
    """The log of one training run, a row per step, and the facts on the model."""

    folder: Path
    steps: list[dict[str, float]]
    facts: dict[str, Any]
    started: dict[str, Any]
    """The settings recorded at the start, before training is finished."""

    @property
    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.facts.get("settings") or self.started
        return settings

    def points(self, name: str) -> list[tuple[float, float]]:
        """Return step and value of every logged reading."""
        return [(row["step"], row[name]) for row in self.steps if name in row]

    @property
    def tiers(self) -> list[str]:
        """The names of the logged accuracies: all pairs, then the tiers from easy to hard."""
        found = {name for row in self.steps for name in row if name.startswith(ACCURACY)}
        known = [ACCURACY, *(f"{ACCURACY}_{tier}" for tier in TIERS)]
        return sorted(found, key=lambda name: (known.index(name) if name in known else len(known), name))


def is_training(folder: Path) -> bool:
    """Return whether the folder holds the training of a reward model."""
    return (folder / CURVES).is_file()


def read_training(folder: Path) -> Training:
    """Read the curves and facts of a training folder."""
    path = folder / CURVES
    try:
        with path.open(encoding="utf-8", newline="") as file:
            steps = [
                {name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)
            ]
    except ValueError as error:
        raise UserError(
            f"{path} is no log of a training run ({error}); train again, or leave it out."
        ) from error
    kept = [_object(folder / name) for name in (FACTS, STARTED)]
    return Training(folder, [row for row in steps if "step" in row], *kept)


def tier_name(name: str) -> str:
    """Return the name of the pairs that a logged accuracy is on."""
    return name.removeprefix(ACCURACY).strip("_").replace("_", " ") or "all pairs"


def training_part(folder: Path) -> ReportPart:
    """Return the report part on the training of a reward model: its curves, and its quality on held-out people."""
    one, name = read_training(folder), folder.resolve().name
    lead: list[Piece] = []
    if (figure := training_figure(one)) is not None:
        lead.append(Picture("Loss and accuracy during training", CAPTION, figure))
    return ReportPart(
        name,
        f"Training of {name}",
        [*_result_words(name, one.facts), *training_words(one)],
        [*lead, *_quality(one.facts)],
        instrument=Instrument(None, _training_facts(one)),
    )


def training_words(one: Training) -> list[str]:
    """Return sentences on the last readings of the curves: accuracy on held-out people until there is a result, and the loss."""
    said = []
    reached = {tier_name(name): points[-1][1] for name in one.tiers if (points := one.points(name))}
    if reached and not one.facts.get("metrics"):
        listed = ", ".join(f"{name} {100 * value:.1f} %" for name, value in reached.items())
        said.append(f"Accuracy on people held out, at the last reading: {listed}.")
    if losses := one.points(LOSS):
        (first, before), (last, after) = losses[0], losses[-1]
        said.append(f"The loss went from {before:.3f} (step {first:,.0f}) to {after:.3f} (step {last:,.0f}).")
    return said or ["Nothing was logged yet."]


def _result_words(name: str, facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield how often the trained model prefers the right answer on held-out people, beside the rules that read nothing."""
    for kind, found in facts.get("metrics", {}).items():
        if (whole := _by_tier(found.get("accuracy", {})).get(ALL)) is None:
            continue
        share = with_interval(_estimate(whole), unit=f" % of {whole['n']:,} {kind} pairs")
        beside = [
            f"{control} alone reaches {100 * rule['value']:.1f} %"
            for measure, control in MEASURES.items()
            if control and (rule := _by_tier(found.get(measure, {})).get(ALL)) is not None
        ]
        said = f"{name} prefers the right answer in {share}, of {people_words(whole['people'])} it was not trained on"
        yield f"{'; '.join([said, *([', '.join(beside)] if beside else [])])}."


def _by_tier(figures: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return stored figures by tier; a figure that is not by tier is over all pairs."""
    return {ALL: figures} if "value" in figures else figures


def _estimate(found: Mapping[str, Any]) -> Estimate:
    """Return a stored figure, without its interval where people are too few for one."""
    people = found.get("people", FEWEST_PEOPLE)
    low, high = (found["low"], found["high"]) if people >= FEWEST_PEOPLE else (None, None)
    return Estimate(found["value"], low, high, found.get("n", 0), people)


def _quality(facts: Mapping[str, Any]) -> list[Piece]:
    """Return the final quality of the model on held-out people."""
    if not facts:
        return [Prose("The training is not finished: it has no personafit.json yet.", "small")]
    rows = []
    for kind, found in facts.get("metrics", {}).items():
        for name, control in MEASURES.items():
            if (figures := found.get(name)) is not None:
                rows.append(([f"{kind} pairs", name.replace("_", " ")], _by_tier(figures), control))
    there = dict.fromkeys(tier for _, by_tier, _ in rows for tier in by_tier)
    tiers = [tier for tier in (ALL, *TIERS) if tier in there]
    tiers += [tier for tier in there if tier not in tiers]
    filled = [
        Row(names, [_figure(by_tier.get(tier), "gain" in names[1]) for tier in tiers], control)
        for names, by_tier, control in rows
    ]
    caption = "On people the model was not trained on: shares in %, gains in points, 95 % intervals over people below (none for fewer than six)."
    return [Grid("The result", caption, ["pairs", "measure"], tiers, filled)] if filled else []


def _figure(found: Mapping[str, Any] | None, signed: bool) -> Cell:
    """Return a stored figure with its interval, or with its number of people where they are too few for one."""
    if found is None:
        return Cell()
    estimate = _estimate(found)
    cell = percent_cell(estimate, signed)
    few = estimate.people < FEWEST_PEOPLE and cell.text
    return replace(cell, interval=people_words(estimate.people)) if few else cell


def training_figure(training: Training) -> "Figure | None":
    """Plot loss on the left, accuracy by tier on the right; None if nothing was logged yet."""
    losses, held_out = training.points(LOSS), training.points(HELD_OUT_LOSS)
    if not losses and not held_out and not training.tiers:
        return None
    with figure_style():
        figure = new_figure(3.4)
        left, right = figure.subplots(1, 2)
    if losses:
        left.plot(*zip(*losses, strict=True), color=MUTED, linewidth=1.4, label="batches")
    if held_out:
        left.plot(*zip(*held_out, strict=True), "o-", color=ACCENT, markersize=5, label="held out")
    right.axhline(50, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    for place, name in enumerate(training.tiers):
        points = [(step, 100 * value) for step, value in training.points(name)]
        colour, fill = (ACCENT, ACCENT) if place == 0 else (MUTED, PAPER)
        style: dict[str, Any] = {"color": colour, "markerfacecolor": fill, "markersize": 5, "linewidth": 1.3}
        right.plot(
            *zip(*points, strict=True), f"{SHAPES[place % len(SHAPES)]}-", label=tier_name(name), **style
        )
    for axis, title in ((left, "loss"), (right, "accuracy on people held out, %")):
        frame(axis, title, "step")
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=9, labelcolor=INK)
    ends = [("loss of the batches", losses), ("loss held out", held_out)]
    ends += [(f"accuracy, {tier_name(name)}", training.points(name)) for name in training.tiers]
    said = [f"{name} from {one[0][1]:.3f} to {one[-1][1]:.3f}" for name, one in ends if one]
    figure.set_label(f"From the first reading to the last: {', '.join(said)}.")
    return figure


def _training_facts(training: Training) -> dict[str, str]:
    data, settings = training.facts.get("data", {}), training.settings
    facts = {
        **settings,
        "pairs": data.get("personal"),
        "people": data.get("people"),
        "people held out": data.get("people_held_out"),
        "fingerprint of the pairs": data.get("fingerprint") or settings.get("pairs"),
        "steps": training.facts.get("steps", "not finished"),
    }
    return {name: str(value) for name, value in facts.items() if value is not None}


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        body = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise UserError(f"{path} is no JSON ({error}); train again, or leave it out.") from error
    return body if isinstance(body, dict) else {}
