"""The figures of a report: dots with interval bars, rows for raters; told apart by shape and fill, never by colour alone.

A dot was measured here, a hollow square is a control, a hollow diamond is people, a cross was published by others. Every figure
carries what it shows in words as its label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from personafit.reports.drawing import (
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
from personafit.reports.naming import lined_name, short_name
from personafit.reports.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FULLEST = 0.6  # of the colour, or the number would not be readable on it
MOST_SAID = 12  # numbers of one group; beyond that the highest and the lowest
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
    """A number with its interval, in percent unless the panel says otherwise, or nothing."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


class _Number(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def dot_of(found: _Number | None, scale: float = 100.0) -> Dot:
    """The dot of a figure."""
    if found is None:
        return Dot()
    return Dot(*(None if end is None else scale * end for end in (found.value, found.low, found.high)))


@dataclass(frozen=True)
class PlotRow:
    """One line of a figure: who, and one dot per panel or series."""

    name: str
    dots: Sequence[Dot]
    control: bool = False
    remark: str = ""
    people: bool = False
    published: bool = False

    @property
    def called(self) -> str:
        """Whose numbers, and of what kind."""
        return self.name + (" (control)" if self.control else " (published)" if self.published else "")

    @property
    def mark(self) -> tuple[str, str, str]:
        """Shape, colour and fill of its dots."""
        if self.published:
            return "x", MUTED, MUTED
        if self.people:
            return "D", INK, PAPER
        return ("s", MUTED, PAPER) if self.control else ("o", ACCENT, ACCENT)


@dataclass(frozen=True)
class Panel:
    """One of several frames side by side, with the value that guessing would give there."""

    title: str
    chance: float | None = None
    digits: int = 1
    """Decimals of its numbers; panels in percent, which have one, share their limits."""
    limits: tuple[float, float] | None = None


def panels_figure(rows: Sequence[PlotRow], panels: Sequence[Panel]) -> "Figure":
    """Panels side by side, raters as lines."""
    with figure_style():
        titles = max(panel.title.count("\n") for panel in panels)
        figure, axes = subplots(len(rows) * ROW + 0.9 + 0.2 * titles, len(panels))
        shared = _limits([dot for row in rows for dot in row.dots], panels[0].chance)
        said = []
        for place, (axis, panel) in enumerate(zip(axes, panels, strict=True)):
            own = [row.dots[place] for row in rows]
            limits = panel.limits or (shared if panel.digits == 1 else _limits(own, panel.chance, 0.1))
            frame(axis, panel.title)
            _lines(axis, rows if place == 0 else [], len(rows), limits, panel.chance)
            for line, (row, dot) in enumerate(zip(rows, own, strict=True)):
                if dot.value is not None:
                    draw_point(
                        axis,
                        dot.value,
                        line,
                        row.mark,
                        (dot.low, dot.high),
                        plain(dot.value, panel.digits),
                    )
            named = [(row.called, dot) for row, dot in zip(rows, own, strict=True)]
            if group := group_in_words(named, panel.digits):
                said.append(f"{' '.join(panel.title.split())}: {group}.")
        figure.set_label(" ".join(said))
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
        frame(axis)
        _lines(axis, rows, sum(rooms), limits, chance, centres)
        for line, row in enumerate(rows):
            there = [place for place, dot in enumerate(row.dots) if dot.value is not None]
            for turn, place in enumerate(there):
                at = centres[line] + (turn - (len(there) - 1) / 2) * step
                colour = ACCENT if place == 0 and not row.published else MUTED
                dot, size = row.dots[place], SMALL if row.published else LARGE
                draw_point(axis, dot.value or 0.0, at, _mark(place, colour), (dot.low, dot.high), size=size)
            across = axis.get_yaxis_transform()
            axis.text(
                1.015, centres[line], row.remark, transform=across, va="center", fontsize=9, parse_math=False
            )
            if line:
                axis.axhline(centres[line] - rooms[line] / 2, color=GRID, linewidth=0.7)
        _legend(axis, series)
        axis.set_xlabel(label, loc="left", color=MUTED, fontsize=9)
        groups = [(row.called, group_in_words(list(zip(series, row.dots, strict=True)))) for row in rows]
        figure.set_label(" ".join(f"{name}: {group}." for name, group in groups if group))
        return figure


def subplots(height: float, columns: int) -> tuple["Figure", Sequence["Axes"]]:
    """A figure of so many inches, and its frames side by side."""
    figure = new_figure(height)
    engine: Any = figure.get_layout_engine()
    engine.set(w_pad=0.08)  # or the last number below one panel touches the first below the next
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


def frame(axis: "Axes", title: str = "", label: str = "") -> None:
    """A quiet frame with a title, and below it what is measured."""
    axis.set_facecolor("none")
    axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False)
    axis.set_xlabel(label, loc="left", color=MUTED, fontsize=9)
    axis.tick_params(length=0, colors=MUTED)
    axis.tick_params(axis="y", labelcolor=INK)
    axis.grid(axis="x", color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GRID)


def shade_cells(
    axis: "Axes", cells: Sequence[Sequence[float | None]], unknown: str = "–", digits: int = 2
) -> None:
    """Draw the cells, shaded by how far each is from nothing towards 1."""
    size = len(cells)
    for row, values in enumerate(cells):
        for column, value in enumerate(values):
            axis.axhspan(
                row - 0.5,
                row + 0.5,
                column / size,
                (column + 1) / size,
                color=ACCENT,
                alpha=FULLEST * min(1.0, abs(value or 0.0)),
                linewidth=0,
            )
            text = unknown if value is None else plain(value, digits)
            axis.text(column, row, text, ha="center", va="center", fontsize=9, color=INK)
    axis.set_xlim(-0.5, size - 0.5)
    axis.set_ylim(size - 0.5, -0.5)
    axis.set_facecolor("none")
    axis.tick_params(length=0, labelcolor=INK)
    for side in axis.spines.values():
        side.set_visible(False)


def group_in_words(pairs: Sequence[tuple[str, _Number]], digits: int = 1) -> str:
    """Names and numbers, the highest first; of many only those at the ends."""
    known = sorted(
        [(dot.value, name, dot) for name, dot in pairs if dot.value is not None], key=lambda one: -one[0]
    )
    said = [f"{name} {_in_words(dot, digits)}" for _, name, dot in known]
    if len(said) > MOST_SAID:
        ends = MOST_SAID // 4
        said = [*said[:ends], f"then {len(said) - 2 * ends} more", *said[-ends:]]
    return ", ".join(said)


def _in_words(dot: _Number, digits: int) -> str:
    value = plain(dot.value or 0.0, digits)
    if dot.low is None or dot.high is None:
        return value
    return f"{value} ({plain(dot.low, digits)} to {plain(dot.high, digits)})"


def _room(marks: int) -> float:
    """How many lines a row with so many marks is high."""
    return max(1.6, 0.55 * marks)


def _lines(
    axis: "Axes",
    named: Sequence[PlotRow],
    lines: float,
    limits: tuple[float, float],
    chance: float | None,
    centres: Sequence[float] | None = None,
) -> None:
    """The lines of a panel with their names, and the value that guessing would give."""
    axis.set_ylim(lines - 0.4, -0.6)
    axis.set_xlim(*limits)
    names = [lined_name(row.called) for row in named]
    axis.set_yticks(centres or range(len(named)), names, parse_math=False)
    if chance is not None:
        axis.axvline(chance, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))


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


def _limits(dots: Sequence[Dot], chance: float | None, least: float = 3.0) -> tuple[float, float]:
    ends = [end for dot in dots for end in (dot.value, dot.low, dot.high) if end is not None]
    ends += [chance] if chance is not None else []
    if not ends:
        return 0.0, 100.0
    low, high = min(ends), max(ends)
    margin = max(least, 0.08 * (high - low))
    return low - margin, high + margin
