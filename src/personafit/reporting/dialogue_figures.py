"""The figures of a run of dialogues: assistants under each context, turn by turn, and with worse and worse histories."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from personafit.kinds.dialogue_scores import SCORE_RANK
from personafit.reporting.dialogue_results import history_curves
from personafit.reporting.dialogue_tables import CANNED, DialogueTables, LineKey, counted_line
from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER
from personafit.reporting.naming import shown
from personafit.reporting.pieces import Picture
from personafit.reporting.plots import Dot, Panel, PlotRow, dot_of, frame, panels_figure, subplots
from personafit.reporting.written import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_LINES = 16
SHAPES = "osD^vXP*"
PANELS = (
    ("completion, %", "completion", 100.0, (-4.0, 104.0)),
    ("personalization, 1–4", "personalization", 1.0, (0.88, 4.12)),
    ("rank on the same task, %", SCORE_RANK, 100.0, (-4.0, 104.0)),
    ("brought in first, %", "coverage_before", 100.0, (-4.0, 104.0)),
)


Curve = list[tuple[float, Dot]]
"""Where along the axis, and the mark there."""


def context_picture(index: DialogueTables, view: str) -> Picture | None:
    """Each assistant, context and judge in a row, a panel for each headline metric."""
    lines = index.headline_lines(view)[:MOST_LINES]
    found = [[index.total(metric, line) for line in lines] for _, metric, *_ in PANELS]
    kept = [
        place for place, column in enumerate(found) if any(one and one.value is not None for one in column)
    ]
    if not kept:
        return None
    names = _row_names(index, lines)
    rows = [
        PlotRow(
            name,
            [dot_of(found[place][row], PANELS[place][2]) for place in kept],
            control=index.control(line) is not None,
        )
        for row, (name, line) in enumerate(zip(names, lines, strict=True))
    ]
    panels = [Panel(title, None, 1 if scale == 100 else 2, limits) for title, _, scale, limits in PANELS]
    figure = panels_figure(rows, [panels[place] for place in kept])
    caption = (
        "One row per assistant, system context and judge; bars are 95 % intervals, hollow marks are controls."
    )
    if PANELS[kept[-1]][1] == "coverage_before":
        caption += " Brought in first is counted, not judged; its cross is what always naming the majority's preference would reach."
        for row, line in enumerate(lines):
            guess = dot_of(index.find("majority_coverage", counted_line(line))).value
            if guess is not None:
                figure.axes[-1].plot([guess], [row], "x", color=MUTED, markersize=6)
    return Picture("Assistants under each context", caption, figure)


def turn_picture(index: DialogueTables) -> Picture | None:
    """Personalization turn by turn."""
    curves: dict[str, Curve] = {}
    for one in sorted(index.results, key=lambda one: one.control is not None):
        if set(one.slice) == {"turn"} and one.value is not None and one.control != CANNED:
            name = " · ".join(index.names((one.system, one.given, one.rater, one.view)))
            curves.setdefault(name, []).append((float(one.slice["turn"]), dot_of(one, 1.0)))
    kept = {name: points for name, points in curves.items() if len(points) > 1}
    if not kept:
        return None
    caption = "Marks of single turns with 95 % intervals. Later turns exist only in longer dialogues."
    return Picture("Personalization turn by turn", caption, _curves(kept, "turn of the assistant"))


def history_pictures(index: DialogueTables) -> list[Picture]:
    """Personalization as the history gets worse, a figure for each way in which it does."""
    caption = "0 is the full history; it gets worse to the right: sparse drops that share of its sentences, noise adds other people's, "
    caption += "contradict reverses that many preferences. A flat line means that the history was not used."
    pictures = []
    for kind, found in history_curves(index.results).items():
        curves = {
            " · ".join(map(index.called, names)): [(amount, dot_of(one, 1.0)) for amount, one in points]
            for names, points in found.items()
            if points[-1][1].control is None
        }
        if curves:
            title = f"Personalization as the history gets worse ({kind})"
            pictures.append(Picture(title, caption, _curves(curves, kind)))
    return pictures


def _row_names(index: DialogueTables, lines: Sequence[LineKey]) -> list[str]:
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


def _curves(curves: Mapping[str, Curve], label: str) -> "Figure":
    """Personalization along an axis, a line each, as far as there are shapes for them."""
    from matplotlib.ticker import MaxNLocator

    kept = list(curves.items())[: len(SHAPES)]
    figure, (axis,) = subplots(2.6 + 0.19 * len(kept), 1)
    frame(axis, label=label)
    axis.grid(axis="y", color=GRID, linewidth=0.7)
    axis.set_ylim(0.9, 4.1)
    places = [at for _, points in kept for at, _ in points]
    step = 0.012 * max(places)
    ends = []
    for place, (name, points) in enumerate(kept):
        colour = ACCENT if place == 0 else MUTED
        fill = colour if place % 2 == 0 else PAPER
        style: Any = "-" if place == 0 else (0, (3, 1 + place))
        across, heights = [at + place * step for at, _ in points], [dot.value or 0.0 for _, dot in points]
        axis.plot(across, heights, color=colour, linewidth=1.4, linestyle=style)
        for x, (_, dot) in zip(across, points, strict=True):
            if dot.low is not None and dot.high is not None:
                axis.plot([x, x], [dot.low, dot.high], color=colour, linewidth=1.0)
        called = shown(name)[:70]
        axis.plot(
            across, heights, SHAPES[place], color=colour, markerfacecolor=fill, markersize=6, label=called
        )
        (first, start), (last, end) = points[0], points[-1]
        ends.append(
            f"{name} goes from {plain(start.value or 0.0, 2)} at {first:g} to {plain(end.value or 0.0, 2)} at {last:g}"
        )
    if all(at.is_integer() for at in places):
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend = axis.legend(
        loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=1, frameon=False, fontsize=8.5, labelcolor=INK
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    figure.set_label(f"By {label}: {'; '.join(ends)}.")
    return figure
