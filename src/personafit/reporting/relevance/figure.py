"""The figure of a relevance run: where each rater stands between precision and recall, and how much more it picks than people.

Raters are numbered, since their names would cover each other; controls are hollow, published figures are crosses.
"""

from collections.abc import Sequence
from math import dist
from typing import TYPE_CHECKING

import numpy as np

from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, draw_point, new_figure
from personafit.reporting.figure_names import lined_name
from personafit.reporting.figure_words import group_in_words
from personafit.reporting.marks import frame
from personafit.reporting.plots import Dot
from personafit.reporting.relevance.scores import PUBLISHED, RelevanceScores
from personafit.reporting.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NEAR = 4.0  # points of %: raters nearer to each other than this are named together
CAPTION = (
    "How to read it: left, each number is a rater; up is precise, right is complete, and along a thin curve F1 is the same. "
    "Hollow marks are controls, diamonds are published votes, crosses are published figures from other test sets. Right, how "
    "many times as many attributes a rater picks as people do; at the dashed line it picks as many. Bars are 95 % intervals."
)


def relevance_figure(scores: RelevanceScores, results: Sequence[Result]) -> "Figure | None":
    """Precision against recall, and over-selection; None if no rater has both."""
    index = {(r.rater, r.view, r.metric): r for r in results if not r.slice and r.control != "published"}
    points = []
    for line in scores.lines:
        found = [index[line.rater, line.view, metric] for metric in ("recall", "precision", "over_selection")]
        if all(one.value is not None for one in found):
            name = str(line.rater) if line.view == "none" else f"{line.rater}, {line.view}"
            points.append((name, line.control, found))
    if not points:
        return None
    figure = new_figure(max(3.6, 1.1 + 0.34 * len(points)))
    left, right = figure.subplots(1, 2, width_ratios=[1.15, 1])
    _curves(left)
    for row in scores.info.get("published", []):
        if {"precision", "recall"} <= set(row["scores"]):
            left.plot([row["scores"]["recall"]], [row["scores"]["precision"]], "x", color=MUTED, markersize=5)
    for _, control, (recall, precision, _over) in points:
        _cross(left, recall, precision, control)
    for numbers, at in _numbered(points):
        left.annotate(
            numbers,
            at,
            (-6, 6),
            textcoords="offset points",
            ha="right",
            fontsize=9,
            color=INK,
            fontweight="bold",
        )
    frame(left, "Precision and recall, %", "recall")
    left.set_ylabel("precision", color=MUTED, fontsize=9)
    _over_selection(right, points)
    titles = ("recall, %", "precision, %", "picks, times as many as people")
    scales = (100, 100, 1)
    groups = [
        group_in_words([(name, _scaled(found[place], scale)) for name, _, found in points])
        for place, scale in enumerate(scales)
    ]
    figure.set_label(" ".join(f"{title}: {group}." for title, group in zip(titles, groups, strict=True)))
    return figure


def _numbered(
    points: Sequence[tuple[str, str | None, list[Result]]],
) -> list[tuple[str, tuple[float, float]]]:
    """The numbers of the raters and where each stands; those that stand together share a place."""
    places: list[tuple[list[int], tuple[float, float]]] = []
    for number, (_, _, (recall, precision, _over)) in enumerate(points, 1):
        at = (100 * (recall.value or 0), 100 * (precision.value or 0))
        near = next((them for them, place in places if dist(place, at) < NEAR), None)
        if near is None:
            places.append(([number], at))
        else:
            near.append(number)
    return [(", ".join(map(str, them)), at) for them, at in places]


def _scaled(result: Result, scale: float) -> Dot:
    return Dot(*(None if end is None else scale * end for end in (result.value, result.low, result.high)))


def _curves(axis: "Axes") -> None:
    axis.set_xlim(-4, 121)
    axis.set_ylim(0, 104)
    axis.set_xticks([0, 20, 40, 60, 80, 100])
    recall = np.linspace(1, 100, 200)
    for f1 in (20, 30, 40, 50, 60, 70, 80, 90):
        with np.errstate(divide="ignore"):
            precision = np.where(2 * recall > f1, f1 * recall / (2 * recall - f1), np.nan)
        precision[precision > 100] = np.nan
        axis.plot(recall, precision, color=GRID, linewidth=0.8, zorder=1)
        axis.annotate(
            f"F1 {f1}",
            (100, f1 * 100 / (200 - f1)),
            (9, 0),
            textcoords="offset points",
            fontsize=6.5,
            color=MUTED,
            va="center",
            annotation_clip=False,
        )


def _mark(control: str | None) -> tuple[str, str, str]:
    if control == PUBLISHED:
        return "D", MUTED, MUTED
    return ("s", MUTED, PAPER) if control else ("o", ACCENT, ACCENT)


def _cross(axis: "Axes", recall: Result, precision: Result, control: str | None) -> None:
    shape, colour, fill = _mark(control)
    x, y = 100 * (recall.value or 0), 100 * (precision.value or 0)
    if recall.low is not None and recall.high is not None:
        axis.plot([100 * recall.low, 100 * recall.high], [y, y], color=colour, linewidth=1.2, zorder=2)
    if precision.low is not None and precision.high is not None:
        axis.plot([x, x], [100 * precision.low, 100 * precision.high], color=colour, linewidth=1.2, zorder=2)
    draw_point(axis, x, y, (shape, colour, fill))


def _over_selection(axis: "Axes", points: Sequence[tuple[str, str | None, list[Result]]]) -> None:
    for place, (_, control, (_, _, over)) in enumerate(points):
        draw_point(axis, over.value or 0, place, _mark(control), (over.low, over.high), f"{over.value:.1f}")
    axis.set_ylim(len(points) - 0.4, -0.6)
    axis.set_xlim(left=0)
    axis.set_yticks(
        range(len(points)),
        [f"{number}  {lined_name(name)}" for number, (name, _, _) in enumerate(points, 1)],
        parse_math=False,
        fontsize=8.5,
        color=INK,
    )
    axis.axvline(1, color=MUTED, linewidth=1, linestyle=(0, (2, 2)))
    frame(axis, "Picks, times as many as people", "over-selection")
