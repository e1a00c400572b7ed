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
from personafit.reporting.naming import lined_name, short_name
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
from typing import TYPE_CHECKING

from personafit.reporting.drawing import WIDTH

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


FULLEST = 0.6  # of the colour, or the number would not be readable on it


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


MOST_SAID = 12  # numbers of one group; beyond that the highest and the lowest


class Number(Protocol):
    """A number with its interval."""

    @property
    def value(self) -> float | None:
        """The number, if there is one."""

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


class Named(Protocol):
    """A line of a figure."""

    @property
    def name(self) -> str:
        """Whose numbers they are."""

    @property
    def control(self) -> bool:
        """Whether it understands nothing."""

    @property
    def published(self) -> bool:
        """Whether others measured it."""

    @property
    def dots(self) -> Sequence[Number]:
        """One number a panel or series."""


def panels_in_words(titles: Sequence[str], rows: Sequence[Named]) -> str:
    """Panel by panel who is highest and who is lowest."""
    said = []
    for place, title in enumerate(titles):
        group = group_in_words([(line_name(row), row.dots[place]) for row in rows])
        if group:
            said.append(f"{' '.join(title.split())}: {group}.")
    return " ".join(said)


def series_in_words(names: Sequence[str], rows: Sequence[Named]) -> str:
    """Line by line which series is highest and which is lowest."""
    said = []
    for row in rows:
        group = group_in_words(list(zip(names, row.dots, strict=True)))
        if group:
            said.append(f"{line_name(row)}: {group}.")
    return " ".join(said)


def line_name(row: Named) -> str:
    """Whose numbers, and of what kind."""
    return row.name + (" (control)" if row.control else " (published)" if row.published else "")


def group_in_words(pairs: Sequence[tuple[str, Number]], digits: int = 1) -> str:
    """Names and numbers, the highest first; of many only those at the ends."""
    known = sorted(
        [(dot.value, name, dot) for name, dot in pairs if dot.value is not None], key=lambda one: -one[0]
    )
    said = [f"{name} {number_in_words(dot, digits)}" for _, name, dot in known]
    if len(said) > MOST_SAID:
        ends = MOST_SAID // 4
        said = [*said[:ends], f"then {len(said) - 2 * ends} more", *said[-ends:]]
    return ", ".join(said)


def number_in_words(dot: Number, digits: int = 1) -> str:
    """A number and its interval."""
    if dot.value is None:
        return "unknown"
    if dot.low is None or dot.high is None:
        return plain(dot.value, digits)
    return f"{plain(dot.value, digits)} ({plain(dot.low, digits)} to {plain(dot.high, digits)})"


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
