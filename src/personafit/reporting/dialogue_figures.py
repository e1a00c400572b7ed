"""The figures of a run of dialogues: assistants under each context, turn by turn, and with worse and worse histories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from personafit.kinds.dialogue_scores import SCORE_RANK
from personafit.reporting.dialogue_results import CurvePoint
from personafit.reporting.dialogue_tables import CANNED, LineKey, ResultIndex, counted_line, headline_lines
from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, draw_point, new_figure
from personafit.reporting.naming import lined_name, shown
from personafit.reporting.pieces import Picture
from personafit.reporting.plots import Dot, group_in_words
from personafit.reporting.result import Result
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 16
SHAPES = "osD^vXP*"
PANELS = (
    ("completion, %", "completion", 100.0, (0.0, 100.0)),
    ("personalization, 1–4", "personalization", 1.0, (1.0, 4.0)),
    ("rank on the same task, %", SCORE_RANK, 100.0, (0.0, 100.0)),
    ("brought in first, %", "coverage_before", 100.0, (0.0, 100.0)),
)


@dataclass(frozen=True)
class Series:
    """One line of a curve."""

    name: str
    points: Sequence[tuple[float, float, float | None, float | None]]


def context_picture(index: ResultIndex, view: str) -> Picture | None:
    """Each assistant, context and judge in a row, a panel for each headline metric."""
    lines = headline_lines(index, view)[:MOST_LINES]
    panels = [panel for panel in PANELS if any(_value(index, panel[1], line) for line in lines)]
    if not panels:
        return None
    counted = panels[-1][1] == "coverage_before"
    caption = (
        "One row per assistant, system context and judge; bars are 95 % intervals, hollow marks are controls."
    )
    if counted:
        caption += (
            " Brought in first is counted, not judged; its cross is what always naming the majority's "
            "preference would reach."
        )
    return Picture("Assistants under each context", caption, _dots(index, lines, panels))


def turn_picture(index: ResultIndex) -> Picture | None:
    """Personalization turn by turn."""
    series: dict[str, list[tuple[float, float, float | None, float | None]]] = {}
    for one in sorted(index.results, key=lambda one: one.control is not None):
        if set(one.slice) == {"turn"} and one.value is not None and one.control != CANNED:
            name = " · ".join(index.names((one.system, one.given, one.rater, one.view)))
            series.setdefault(name, []).append((float(one.slice["turn"]), one.value, one.low, one.high))
    kept = [Series(name, points) for name, points in series.items() if len(points) > 1][: len(SHAPES)]
    if not kept:
        return None
    caption = "Marks of single turns with 95 % intervals. Later turns exist only in longer dialogues."
    figure = _curves(kept, "turn of the assistant", (1.0, 4.0))
    return Picture("Personalization turn by turn", caption, figure)


def history_pictures(index: ResultIndex, curve: Sequence[CurvePoint]) -> list[Picture]:
    """Personalization as the history gets worse, a figure for each way in which it does."""
    found: dict[str, dict[str, list[tuple[float, float, float | None, float | None]]]] = {}
    for point in curve:
        mark = point.personalization
        if mark is not None and mark.value is not None and mark.control is None:
            name = f"{index.called(point.system)} · {index.called(point.rater)}"
            points = found.setdefault(point.kind, {}).setdefault(name, [])
            points.append((point.amount, mark.value, mark.low, mark.high))
    caption = (
        "0 is the full history; it gets worse to the right. A flat line means that the history was not used."
    )
    return [
        Picture(
            f"Personalization as the history gets worse ({kind})",
            caption,
            _curves([Series(*line) for line in lines.items()][: len(SHAPES)], kind, (1.0, 4.0)),
        )
        for kind, lines in found.items()
    ]


def _value(index: ResultIndex, metric: str, line: LineKey) -> Result | None:
    """The total of a metric; what is counted has no judge."""
    found = index.find(metric, counted_line(line) if metric == "coverage_before" else line)
    return None if found is None or found.value is None else found


def _dots(
    index: ResultIndex,
    lines: Sequence[LineKey],
    panels: Sequence[tuple[str, str, float, tuple[float, float]]],
) -> "Figure":
    figure, axes = _subplots(0.36 * len(lines) + 0.9, len(panels))
    names = _row_names(index, lines)
    said: list[str] = []
    for axis, (title, metric, scale, limits) in zip(axes, panels, strict=True):
        dots: list[tuple[str, Dot]] = []
        _plain(axis)
        axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False)
        axis.set_ylim(len(lines) - 0.4, -0.6)
        room = 0.04 * (limits[1] - limits[0])
        axis.set_xlim(limits[0] - room, limits[1] + room)
        axis.set_yticks([])
        for row, line in enumerate(lines):
            if metric == "coverage_before" and (guess := _guess(index, line)) is not None:
                axis.plot([100 * guess], [row], "x", color=MUTED, markersize=6)
            found = _value(index, metric, line)
            if found is None or found.value is None:
                continue
            value, low, high = (
                None if end is None else scale * end for end in (found.value, found.low, found.high)
            )
            colour, fill = (MUTED, PAPER) if found.control else (ACCENT, ACCENT)
            mark = ("s" if found.control else "o", colour, fill)
            text = plain(scale * found.value, 1 if scale == 100 else 2)
            draw_point(axis, scale * found.value, row, mark, (low, high), text)
            dots.append((names[row], Dot(value, low, high)))
        if group := group_in_words(dots, 1 if scale == 100 else 2):
            said.append(f"{title}: {group}.")
    axes[0].set_yticks(range(len(lines)), [lined_name(name) for name in names], parse_math=False)
    figure.set_label(" ".join(said))
    return figure


def _guess(index: ResultIndex, line: LineKey) -> float | None:
    found = index.find("majority_coverage", counted_line(line))
    return None if found is None else found.value


def _row_names(index: ResultIndex, lines: Sequence[LineKey]) -> list[str]:
    """What tells the rows apart: the assistant and the judge only where there are several."""
    several = len({line[0] for line in lines}) > 1
    judges = len({line[2:] for line in lines}) > 1
    return [
        " · ".join(
            [
                *([index.called(system)] if several else []),
                str(given),
                *([index.judge(rater, view)] if judges and rater else []),
            ]
        )
        for system, given, rater, view in lines
    ]


def _curves(series: Sequence[Series], label: str, limits: tuple[float, float]) -> "Figure":
    from matplotlib.ticker import MaxNLocator

    figure, (axis,) = _subplots(2.6 + 0.19 * len(series), 1)
    _plain(axis)
    axis.grid(axis="y", color=GRID, linewidth=0.7)
    axis.set_ylim(limits[0] - 0.1, limits[1] + 0.1)
    step = 0.012 * max(point[0] for line in series for point in line.points)
    for place, line in enumerate(series):
        colour = ACCENT if place == 0 else MUTED
        fill = colour if place % 2 == 0 else PAPER
        across = [point[0] + place * step for point in line.points]
        style: Any = "-" if place == 0 else (0, (3, 1 + place))
        axis.plot(across, [point[1] for point in line.points], color=colour, linewidth=1.4, linestyle=style)
        for x, (_, _, low, high) in zip(across, line.points, strict=True):
            if low is not None and high is not None:
                axis.plot([x, x], [low, high], color=colour, linewidth=1.0)
        heights = [point[1] for point in line.points]
        axis.plot(across, heights, SHAPES[place], color=colour, markerfacecolor=fill, markersize=6)
        axis.plot([], [], SHAPES[place], color=colour, markerfacecolor=fill, label=_cut(line.name, 70))
    axis.set_xlabel(label, loc="left", color=MUTED, fontsize=9)
    if all(float(point[0]).is_integer() for line in series for point in line.points):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend = axis.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=1, frameon=False, fontsize=8.5, labelcolor=INK
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    ends = [
        f"{line.name} goes from {plain(line.points[0][1], 2)} at {line.points[0][0]:g} to "
        f"{plain(line.points[-1][1], 2)} at {line.points[-1][0]:g}"
        for line in series
    ]
    figure.set_label(f"By {label}: {'; '.join(ends)}.")
    return figure


def _subplots(height: float, columns: int) -> tuple["Figure", Sequence["Axes"]]:
    figure = new_figure(height)
    return figure, list(figure.subplots(1, columns, squeeze=False, gridspec_kw={"wspace": 0.08})[0])


def _plain(axis: "Axes") -> None:
    axis.set_facecolor("none")
    axis.tick_params(length=0, colors=MUTED, labelsize=9)
    axis.tick_params(axis="y", colors=INK)
    axis.grid(axis="x", color=GRID, linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color(GRID)


def _cut(text: str, most: int) -> str:
    clean = shown(text)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"
