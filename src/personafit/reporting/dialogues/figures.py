"""The figures of a run of dialogues: what contexts do, turn by turn, and over worse histories."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from personafit.reporting.dialogues.effects import history_curve
from personafit.reporting.dialogues.tables import short
from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, draw_point, new_figure, svg
from personafit.reporting.figure_names import lined_name, shown
from personafit.reporting.figure_words import group_in_words
from personafit.reporting.figures import Drawn
from personafit.reporting.plots import Dot
from personafit.reporting.results import Result
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 16
SHAPES = "osD^vXP*"
PANELS = (
    ("completion, %", "completion", 100.0, (0.0, 100.0)),
    ("personalization, 1–4", "personalization", 1.0, (1.0, 4.0)),
    ("brought in first, %", "coverage_before", 100.0, (0.0, 100.0)),
)


@dataclass(frozen=True)
class Series:
    """One line of a curve."""

    name: str
    points: Sequence[tuple[float, float, float | None, float | None]]


def dialogue_figures(results: list[Result]) -> list[dict[str, str]]:
    """The pictures a run can give, each with how to read it."""
    return [
        {
            "name": name,
            "title": title,
            "caption": caption,
            "svg": svg(figure, f"plot-{name}"),
            "words": str(figure.get_label()),
        }
        for name, title, caption, figure in draw_dialogues(results)
    ]


def draw_dialogues(results: list[Result]) -> list[Drawn]:
    """The same as figures to be put or saved anywhere."""
    drawn = []
    if lines := _lines(results):
        caption = (
            "How to read it: one line per assistant, context and judge; bars are 95 % intervals over people and tasks, hollow marks are "
            "controls. The last panel is counted, not judged; its cross is what always naming the majority's preference would reach."
        )
        drawn.append(("contexts", "What the context does", caption, _dots(results, lines)))
    if turns := _turns(results):
        caption = "How to read it: marks of single turns. Later turns exist only in longer dialogues, so a curve over turns is also one over dialogues."
        drawn.append(
            (
                "turns",
                "Personalization turn by turn",
                caption,
                _curves(turns, "turn of the assistant", (1.0, 4.0)),
            )
        )
    for kind, series in _histories(results).items():
        caption = "How to read it: 0 is the full history; to the right it gets worse. A flat line means the history was not used."
        drawn.append(
            (
                f"history-{kind}",
                f"What the history is worth ({kind})",
                caption,
                _curves(series, kind, (1.0, 4.0)),
            )
        )
    return drawn


LineKey = tuple[str | None, str | None, str | None, str | None]


def _lines(results: Sequence[Result]) -> list[LineKey]:
    totals = [r for r in results if r.metric == "personalization" and not r.slice and r.value is not None]
    first = (
        totals[0].given if totals else None
    )  # a canned assistant does not listen: one of its contexts is enough
    kept = [r for r in totals if r.control != "canned assistant" or r.given == first]
    lines = list(dict.fromkeys((r.system, r.given, r.rater, r.view) for r in kept))
    return lines[:MOST_LINES]


def _dots(results: Sequence[Result], lines: Sequence[LineKey]) -> "Figure":
    figure, axes = _subplots(0.36 * len(lines) + 0.9, len(PANELS))
    totals = {(r.metric, r.system, r.given, r.rater, r.view): r for r in reversed(results) if not r.slice}
    said: list[str] = []
    names = _names(lines)
    for place, (title, metric, scale, limits) in enumerate(PANELS):
        axis = axes[place]
        dots: list[tuple[str, Dot]] = []
        _plain(axis)
        axis.set_title(title, loc="left", fontsize=9.5, color=INK, fontweight="bold", parse_math=False)
        axis.set_ylim(len(lines) - 0.4, -0.6)
        axis.set_xlim(limits[0] - 0.04 * (limits[1] - limits[0]), limits[1] + 0.04 * (limits[1] - limits[0]))
        axis.set_yticks([])
        for row, (system, given, rater, view) in enumerate(lines):
            judged = metric != "coverage_before"
            found = totals.get(
                (metric, system, given, rater, view) if judged else (metric, system, given, None, None)
            )
            if found is None and judged:  # asked once, under another view
                found = next(
                    (
                        r
                        for r in results
                        if not r.slice
                        and (r.metric, r.system, r.given, r.rater) == (metric, system, given, rater)
                    ),
                    None,
                )
            _dot(axis, row, found, scale)
            if found is not None:
                dots.append(
                    (names[row], Dot(*(_times(end, scale) for end in (found.value, found.low, found.high))))
                )
            guess = totals.get(("majority_coverage", system, given, None, None)) if not judged else None
            if guess is not None and guess.value is not None:
                axis.plot([100 * guess.value], [row], "x", color=MUTED, markersize=6)
        if group := group_in_words(dots, 1 if scale == 100 else 2):
            said.append(f"{title}: {group}.")
    axes[0].set_yticks(range(len(lines)), [lined_name(name) for name in names], parse_math=False)
    figure.set_label(" ".join(said))
    return figure


def _names(lines: Sequence[LineKey]) -> list[str]:
    """What tells the lines apart: the assistant and the judge only where there are several."""
    several = len({line[0] for line in lines}) > 1
    judges = len({line[2:] for line in lines}) > 1
    return [
        " · ".join(
            filter(
                None,
                [
                    short(system) if several else None,
                    str(given),
                    f"{short(rater)} ({view})" if judges else None,
                ],
            )
        )
        for system, given, rater, view in lines
    ]


def _times(value: float | None, scale: float) -> float | None:
    return None if value is None else scale * value


def _dot(axis: "Axes", row: int, found: Result | None, scale: float) -> None:
    if found is None or found.value is None:
        return
    colour, fill = (MUTED, PAPER) if found.control else (ACCENT, ACCENT)
    text = plain(scale * found.value, 1 if scale == 100 else 2)
    ends = [None if end is None else scale * end for end in (found.low, found.high)]
    mark = ("s" if found.control else "o", colour, fill)
    draw_point(axis, scale * found.value, row, mark, (ends[0], ends[1]), text)


def _turns(results: Sequence[Result]) -> list[Series]:
    series: dict[str, list[tuple[float, float, float | None, float | None]]] = {}
    for r in sorted(results, key=lambda one: one.control is not None):
        if set(r.slice) == {"turn"} and r.value is not None and r.control != "canned assistant":
            name = f"{short(r.system)} · {r.given} · {short(r.rater)} ({r.view})"
            series.setdefault(name, []).append((float(r.slice["turn"]), r.value, r.low, r.high))
    return [Series(name, points) for name, points in list(series.items())[: len(SHAPES)] if len(points) > 1]


def _histories(results: list[Result]) -> dict[str, list[Series]]:
    found: dict[str, dict[str, list[tuple[float, float, float | None, float | None]]]] = {}
    for point in history_curve(results):
        mark = point.personalization
        if mark is not None and mark.value is not None and mark.control is None:
            name = f"{short(point.system)} · {short(point.rater)}"
            found.setdefault(point.kind, {}).setdefault(name, []).append(
                (point.amount, mark.value, mark.low, mark.high)
            )
    return {kind: [Series(n, p) for n, p in lines.items()][: len(SHAPES)] for kind, lines in found.items()}


def _curves(series: Sequence[Series], label: str, limits: tuple[float, float]) -> "Figure":
    from matplotlib.ticker import MaxNLocator

    figure, (axis,) = _subplots(2.6 + 0.19 * len(series), 1)
    _plain(axis)
    axis.grid(axis="y", color=GRID, linewidth=0.7)
    axis.set_ylim(limits[0] - 0.1, limits[1] + 0.1)
    axis.tick_params(axis="y", colors=INK)
    step = 0.012 * max(p[0] for line in series for p in line.points)
    for place, line in enumerate(series):
        colour = ACCENT if place == 0 else MUTED
        across = [point[0] + place * step for point in line.points]
        style: Any = "-" if place == 0 else (0, (3, 1 + place))
        axis.plot(across, [p[1] for p in line.points], color=colour, linewidth=1.4, linestyle=style)
        for x, (_, value, low, high) in zip(across, line.points, strict=True):
            if low is not None and high is not None:
                axis.plot([x, x], [low, high], color=colour, linewidth=1.0)
            axis.plot(
                [x],
                [value],
                SHAPES[place],
                color=colour,
                markerfacecolor=colour if place % 2 == 0 else PAPER,
                markersize=6,
            )
        axis.plot(
            [],
            [],
            SHAPES[place],
            color=colour,
            markerfacecolor=colour if place % 2 == 0 else PAPER,
            label=_cut(line.name, 70),
        )
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
    return figure, list(figure.subplots(1, columns, squeeze=False)[0])


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
