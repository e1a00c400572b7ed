"""The figures of a report: dots with interval bars, rows for raters; told apart by shape and fill, never by colour alone.

A dot was measured here, a hollow square is a control, a hollow diamond is people, a cross was published by others. Every figure
carries what it shows in words as its label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from personafit.reporting.drawing import (
    ACCENT,
    GRID,
    INK,
    LARGE,
    MUTED,
    PAPER,
    draw_point,
    figure_style,
    new_figure,
)
from personafit.reporting.figure_names import lined_name, short_name
from personafit.reporting.figure_words import panels_in_words, series_in_words
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 0.36  # inches per line of dots
SMALL = 4.5  # points: a mark of a line that was published
LEGEND_WIDTH = 90  # characters

# Shape and fill of the first, second, ... series.
MARKS = (
    *(("o", True), ("o", False), ("X", True), ("s", True), ("D", False), ("^", True), ("v", False)),
    *(("P", True), ("s", False), ("*", True), ("h", False), (">", True), ("<", False)),
)


@dataclass(frozen=True)
class Dot:
    """A number with its interval, in percent, or nothing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PlotRow:
    """One line of a figure: who, and one dot per panel or series."""

    name: str
    dots: Sequence[Dot]
    control: bool = False
    remark: str = ""
    people: bool = False
    published: bool = False


@dataclass(frozen=True)
class Panel:
    """One of several frames side by side, with the value that guessing would give there."""

    title: str
    chance: float | None = None


def panels_figure(rows: Sequence[PlotRow], panels: Sequence[Panel]) -> "Figure":
    """Panels side by side, raters as lines."""
    with figure_style():
        titles = max(panel.title.count("\n") for panel in panels)
        figure, axes = subplots(len(rows) * ROW + 0.9 + 0.2 * titles, len(panels))
        limits = _limits([dot for row in rows for dot in row.dots], panels[0].chance)
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            _frame(axis, rows if place == 0 else [], len(rows), limits, panel.chance)
            axis.set_title(
                panel.title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False
            )
            for line, row in enumerate(rows):
                _draw(axis, line, row.dots[place], _row_mark(row), show_value=True)
        figure.set_label(panels_in_words([panel.title for panel in panels], rows))
        return figure


def series_figure(
    rows: Sequence[PlotRow], series: Sequence[str], chance: float | None, label: str
) -> "Figure":
    """All series of a rater on one line of one panel, each with its own mark; the remark stands at the right."""
    with figure_style():
        step = min(0.4, 0.62 / max(1, len(series) - 1))
        above = 0.2 * (len(series) / _legend_columns(series) - 1)  # inches of further lines in the legend
        full = _room(len(series))
        rooms = [_room(sum(dot.value is not None for dot in row.dots)) / full for row in rows]
        centres = [sum(rooms[:line]) + (room - 1) / 2 for line, room in enumerate(rooms)]
        figure, (axis,) = subplots(sum(rooms) * ROW * full + 1.2 + above, 1)
        limits = _limits([dot for row in rows for dot in row.dots], chance)
        _frame(axis, rows, sum(rooms), limits, chance, centres)
        for line, row in enumerate(rows):
            there = [place for place, dot in enumerate(row.dots) if dot.value is not None]
            for turn, place in enumerate(there):
                at = centres[line] + (turn - (len(there) - 1) / 2) * step
                colour = ACCENT if place == 0 and not row.published else MUTED
                _draw(axis, at, row.dots[place], _mark(place, colour), size=SMALL if row.published else LARGE)
            across = axis.get_yaxis_transform()
            axis.text(
                1.015, centres[line], row.remark, transform=across, va="center", fontsize=9, parse_math=False
            )
            if line:
                axis.axhline(centres[line] - rooms[line] / 2, color=GRID, linewidth=0.7)
        _legend(axis, series)
        axis.set_xlabel(label, loc="left", color=MUTED, fontsize=9)
        figure.set_label(series_in_words(series, rows))
        return figure


def subplots(height: float, columns: int) -> tuple["Figure", Sequence["Axes"]]:
    """A figure of so many inches, and its frames side by side."""
    figure = new_figure(height)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08)  # or the last number below one panel touches the first below the next
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def _room(marks: int) -> float:
    """How many lines a row with so many marks is high."""
    return max(1.6, 0.55 * marks)


def _frame(
    axis: "Axes",
    named: Sequence[PlotRow],
    lines: float,
    limits: tuple[float, float],
    chance: float | None,
    centres: Sequence[float] | None = None,
) -> None:
    axis.set_facecolor("none")
    axis.set_ylim(lines - 0.4, -0.6)
    axis.set_xlim(*limits)
    axis.set_yticks(centres or range(len(named)), [_name(row) for row in named], parse_math=False)
    axis.tick_params(length=0)
    axis.grid(axis="x", color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    if chance is not None:
        axis.axvline(chance, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))


def _draw(
    axis: "Axes",
    y: float,
    dot: Dot,
    mark: tuple[str, str, str],
    show_value: bool = False,
    size: float = LARGE,
) -> None:
    if dot.value is None:
        return
    label = plain(dot.value) if show_value else None
    draw_point(axis, dot.value, y, mark, (dot.low, dot.high), label, size)


def _row_mark(row: PlotRow) -> tuple[str, str, str]:
    if row.published:
        return "x", MUTED, MUTED
    if row.people:
        return "D", INK, PAPER
    return ("s", MUTED, PAPER) if row.control else ("o", ACCENT, ACCENT)


def _legend(axis: "Axes", series: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for place, name in enumerate(series):
        shape, colour, fill = _mark(place, ACCENT if place == 0 else MUTED)
        handles.append(
            Line2D(
                [],
                [],
                marker=shape,
                color=colour,
                markerfacecolor=fill,
                linewidth=1.6,
                label=short_name(name),
            )
        )
    axis.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=_legend_columns(series),
        frameon=False,
        fontsize=9,
    )


def _legend_columns(series: Sequence[str]) -> int:
    """As many names side by side as the figure is wide for; all of them where they are short."""
    return max(1, min(len(series), LEGEND_WIDTH // (max(len(short_name(name)) for name in series) + 6)))


def _mark(place: int, colour: str) -> tuple[str, str, str]:
    shape, filled = MARKS[place % len(MARKS)]
    return shape, colour, colour if filled else PAPER


def _limits(dots: Sequence[Dot], chance: float | None) -> tuple[float, float]:
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    ends += [chance] if chance is not None else []
    if not ends:
        return 0.0, 100.0
    low, high = min(ends), max(ends)
    margin = max(3.0, 0.08 * (high - low))
    return low - margin, high + margin


def _name(row: PlotRow) -> str:
    kind = " (control)" if row.control else " (published)" if row.published else ""
    return lined_name(row.name + kind)
