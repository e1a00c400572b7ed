"""Marks with intervals on named lines, side by side, and named points: the figures that preferences, relevance and studies share.

Raters asked for are filled dots, controls hollow squares, people diamonds, published figures crosses; nothing is told by colour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, WIDTH, draw_point, new_figure
from personafit.reporting.figure_names import lined_name, short_name
from personafit.reporting.figure_words import group_in_words
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PUBLISHED = "published"


@dataclass(frozen=True)
class PanelMark:
    """One line of a panel: who, what kind of mark, and the number with its interval."""

    name: str
    control: str | None
    value: float | None
    low: float | None = None
    high: float | None = None


def dot_panels(
    panels: Sequence[tuple[str, float | None, Sequence[PanelMark]]], limits: tuple[float, float] | None = None
) -> "Figure":
    """Panels side by side that share their lines; each has a title and a dashed line where nothing would be."""
    lines = len(panels[0][2])
    figure = new_figure(max(2.2, 0.9 + 0.34 * lines))
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for place, (axis, (title, border, marks)) in enumerate(zip(axes, panels, strict=True)):
        for line, mark in enumerate(marks):
            draw_mark(axis, mark, line)
        axis.set_ylim(lines - 0.4, -0.6)
        names = [lined_name(mark.name) for mark in marks] if place == 0 else []
        axis.set_yticks(range(len(names)), names, parse_math=False)
        if limits is not None:
            axis.set_xlim(*limits)
        if border is not None:
            axis.axvline(border, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
        frame(axis, title)
    groups = [(title, group_in_words([(mark.name, mark) for mark in marks], 2)) for title, _, marks in panels]
    figure.set_label(" ".join(f"{title}: {group}." for title, group in groups if group))
    return figure


def draw_mark(axis: "Axes", mark: PanelMark, line: float) -> None:
    """One number with its interval on a line."""
    if mark.value is None:
        return
    label = plain(mark.value, 2)
    draw_point(axis, mark.value, line, shape_of(mark.control), (mark.low, mark.high), label)


def scatter_figure(
    points: Sequence[tuple[str, str | None, float, float]], title: str, across: str, up: str
) -> "Figure":
    """Named points: name, what kind, x and y."""
    figure = new_figure(3.8, WIDTH * 0.72)
    axis = figure.subplots()
    for name, control, x, y in points:
        shape, colour, fill = shape_of(control)
        axis.plot([x], [y], shape, markersize=7, color=colour, markerfacecolor=fill, markeredgewidth=1.3)
        axis.annotate(
            short_name(name),
            (x, y),
            (7, 4),
            textcoords="offset points",
            fontsize=8,
            color=INK,
            parse_math=False,
        )
    axis.axhline(0, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    axis.margins(0.18)
    axis.set_ylabel(up, color=MUTED, fontsize=9)
    frame(axis, title, across)
    said = [f"{name}: {across} {plain(x)}, {up} {plain(y, 2)}" for name, _, x, y in points]
    figure.set_label(f"{'; '.join(said)}.")
    return figure


def shape_of(control: str | None) -> tuple[str, str, str]:
    """Shape, colour and fill of a mark by what its number is."""
    if control == PUBLISHED:
        return "x", MUTED, MUTED
    if control in ("people", "simulated people", "labels in the data", "human", "simulated", "gold"):
        return "D", INK, PAPER
    return ("s", MUTED, PAPER) if control and control != "votes in the data" else ("o", ACCENT, ACCENT)


def frame(axis: "Axes", title: str, label: str = "") -> None:
    """A quiet frame with a title, and below it what is measured."""
    axis.set_facecolor("none")
    axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False)
    axis.set_xlabel(label, color=MUTED, fontsize=9)
    axis.tick_params(length=0, labelsize=8.5, colors=MUTED)
    axis.tick_params(axis="y", labelcolor=INK)
    axis.grid(color=GRID, linewidth=0.5, alpha=0.6)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GRID)
