"""The waterfall of an error flow: from people everywhere down to models everywhere, a drop for each stage."""

from typing import TYPE_CHECKING

from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, new_figure
from personafit.stages.error_flow import FlowFigures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CAPTION = (
    "How to read it: the end result is the F1 of the attributes a response takes account of against those that people call "
    "relevant. Left, people do every stage, which is 1 by construction; then one stage after the other is a model's. Filled bars "
    "are what remains, hollow boxes what the stage lost; the thin line is the 95 % interval over people."
)


def waterfall_figure(traced: FlowFigures) -> "Figure | None":
    """One bar a step; None where a figure is undefined."""
    if any(step.f1.value is None for step in traced.steps):
        return None
    figure = new_figure(3.8)
    axis = figure.subplots()
    before = None
    for place, step in enumerate(traced.steps):
        value = 100 * (step.f1.value or 0.0)
        axis.bar([place], [value], width=0.58, color=ACCENT, edgecolor=ACCENT, zorder=2)
        if before is not None:
            axis.bar(
                [place],
                [before - value],
                bottom=[value],
                width=0.58,
                facecolor="none",
                edgecolor=MUTED,
                linestyle="--",
                linewidth=1.1,
                zorder=2,
            )
            axis.plot(
                [place - 1 + 0.29, place - 0.29], [before, before], color=MUTED, linewidth=0.9, zorder=1
            )
        if step.f1.low is not None and step.f1.high is not None:
            ends = [100 * step.f1.low, 100 * step.f1.high]
            axis.plot([place + 0.2, place + 0.2], ends, color=INK, linewidth=1.3, zorder=3)
        lost = None if step.change is None else step.change.value
        text = f"{value:.0f}" if lost is None else f"{value:.0f}  ({100 * lost:+.0f})".replace("-", "−")
        top = max(value, before or 0.0, 100 * (step.f1.high or 0.0))
        axis.annotate(
            text, (place, top), (0, 5), textcoords="offset points", ha="center", fontsize=10, color=INK
        )
        before = value
    names = ["people everywhere"] + [f"{step.stage}\nby a model" for step in traced.steps[1:]]
    axis.set_xticks(range(len(names)), names, fontsize=9, color=INK)
    axis.set_ylim(0, 114)
    axis.set_yticks([0, 25, 50, 75, 100])
    axis.set_ylabel("F1, %", color=MUTED, fontsize=9)
    axis.tick_params(length=0, labelcolor=INK)
    axis.grid(axis="y", color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    axis.patch.set_alpha(0)
    for side in axis.spines.values():
        side.set_visible(False)
    left = [
        f"{name.replace(chr(10), ' ')} {100 * (step.f1.value or 0.0):.0f} %"
        for name, step in zip(names, traced.steps, strict=True)
    ]
    figure.set_label(f"F1 that is left: {', then '.join(left)}.")
    return figure
