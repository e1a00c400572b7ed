"""Training as curves: the loss, and accuracy by tier on people held out, from what `train reward` keeps while it trains."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from personafit._errors import UserError
from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVES, STATE, FACTS, STARTED = "curves.csv", "trainer_state.json", "personafit.json", "started.json"
LOSS, HELD_OUT_LOSS, ACCURACY = "loss", "eval_loss", "eval_accuracy"
SHAPES = "osD^vXP*"
CAPTION = (
    "How to read it: left, the loss of the batches (line) and of the people held out (marks); right, how often the preferred "
    "answer of a pair gets the higher number, on people the model was not trained on, by tier. The dotted line is a coin toss. "
    "No intervals: these are readings on the way; what the result is worth, with intervals, is in the table below once it is finished."
)


@dataclass(frozen=True)
class Training:
    """The log of one training run, a row a step, and what is known of the model."""

    folder: Path
    steps: list[dict[str, float]]
    facts: dict[str, Any]
    started: dict[str, Any]
    """What it was started with, known before it is finished."""

    @property
    def settings(self) -> dict[str, Any]:
        """What it was asked for."""
        settings: dict[str, Any] = self.facts.get("settings") or self.started
        return settings

    def points(self, name: str) -> list[tuple[float, float]]:
        """Step and value wherever that was logged."""
        return [(row["step"], row[name]) for row in self.steps if name in row]

    @property
    def tiers(self) -> list[str]:
        """The names of the accuracies that were logged, all pairs first."""
        return sorted({name for row in self.steps for name in row if name.startswith(ACCURACY)})


def is_training(folder: Path) -> bool:
    """Whether a reward model is or was trained here."""
    return (folder / CURVES).is_file() or bool(_states(folder))


def read_training(folder: Path) -> Training:
    """The curves of a folder; without a table, those of its last checkpoint."""
    path = folder / CURVES
    try:
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                steps = [
                    {name: float(value) for name, value in row.items() if value}
                    for row in csv.DictReader(file)
                ]
        else:
            path = _states(folder)[-1]
            steps = [
                {name: float(value) for name, value in entry.items() if isinstance(value, int | float)}
                for entry in orjson.loads(path.read_bytes())["log_history"]
            ]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is no log of a training run ({error}); train again, or leave it out."
        ) from error
    kept = [_object(folder / name) for name in (FACTS, STARTED)]
    return Training(folder, [row for row in steps if "step" in row], *kept)


def tier_name(name: str) -> str:
    """Which pairs a logged accuracy is of."""
    return name.removeprefix(ACCURACY).strip("_").replace("_", " ") or "all pairs"


def training_figure(training: Training) -> "Figure | None":
    """Loss at the left, accuracy by tier at the right; None where nothing was logged yet."""
    losses, held_out = training.points(LOSS), training.points(HELD_OUT_LOSS)
    if not losses and not held_out and not training.tiers:
        return None
    figure = new_figure(3.4)
    left, right = figure.subplots(1, 2)
    if losses:
        left.plot(*zip(*losses, strict=True), color=MUTED, linewidth=1.4, label="batches")
    if held_out:
        left.plot(*zip(*held_out, strict=True), "o-", color=ACCENT, markersize=5, label="held out")
    right.axhline(50, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    for place, name in enumerate(training.tiers):
        points = [(step, 100 * value) for step, value in training.points(name)]
        colour = ACCENT if place == 0 else MUTED
        shape = SHAPES[place % len(SHAPES)]
        fill = colour if place == 0 else PAPER
        right.plot(
            *zip(*points, strict=True),
            f"{shape}-",
            color=colour,
            markerfacecolor=fill,
            markersize=5,
            linewidth=1.3,
            label=tier_name(name),
        )
    for axis, title in ((left, "loss"), (right, "accuracy on people held out, %")):
        axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold")
        axis.set_xlabel("step", loc="left", color=MUTED, fontsize=9)
        axis.patch.set_alpha(0)
        axis.tick_params(length=0, labelcolor=INK)
        axis.grid(color=GRID, linewidth=0.7)
        axis.set_axisbelow(True)
        for side in axis.spines.values():
            side.set_visible(False)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=9, labelcolor=INK)
    ends = [("loss of the batches", losses), ("loss held out", held_out)]
    ends += [(f"accuracy, {tier_name(name)}", training.points(name)) for name in training.tiers]
    said = [f"{name} from {one[0][1]:.3f} to {one[-1][1]:.3f}" for name, one in ends if one]
    figure.set_label(f"From the first reading to the last: {', '.join(said)}.")
    return figure


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        body = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise UserError(f"{path} is no JSON ({error}); train again, or leave it out.") from error
    return body if isinstance(body, dict) else {}


def _states(folder: Path) -> list[Path]:
    """The logs of checkpoints, in the order of their steps; those named otherwise, such as the best, first."""
    found = [*folder.glob(f"checkpoint-*/{STATE}"), *folder.glob(f"*/checkpoint-*/{STATE}")]
    steps = {path: path.parent.name.rpartition("-")[2] for path in found}
    return sorted(found, key=lambda path: int(steps[path]) if steps[path].isdecimal() else -1)
