"""The figures of a study: the matrix of kappas, yes-rates and scores, marks, and naming against liking it."""

from typing import TYPE_CHECKING

import numpy as np

from personafit.reporting.marks import Mark, dot_panels, frame, scatter_figure
from personafit.reporting.plots import ACCENT, GRID, INK, MUTED, PAPER, WIDTH, short_name
from personafit.reporting.preference.figure import preference_figure
from personafit.reporting.preference.results import RULE, same_model
from personafit.reporting.recentering_study.loading import Study
from personafit.reporting.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST_POINTS = 2


def study_figures(study: Study) -> dict[str, "Figure"]:
    """File name to figure; those there is nothing for are absent."""
    figures: dict[str, Figure | None] = {}
    if study.relevance is not None:
        figures["kappa_matrix"] = _kappas(study)
        figures["yes_rates_and_scores"] = _scores(study)
    if study.preferences is not None:
        figures["marks"] = preference_figure(study.preferences, study.results)
        figures["mention"] = _mention(study)
    return {name: figure for name, figure in figures.items() if figure is not None}


def _kappas(study: Study) -> "Figure | None":
    pairs = [r for r in study.results if r.metric == "kappa" and "other" in r.slice]
    if not pairs:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    assert study.relevance is not None
    names = [rater.name for rater in study.relevance.raters]
    places = {(rater.name, rater.kind): place for place, rater in enumerate(study.relevance.raters)}
    matrix = np.full((len(names), len(names)), np.nan)
    for r in pairs:
        first, second = places[str(r.rater), r.slice["kind"]], places[r.slice["other"], r.slice["other_kind"]]
        if r.value is not None:
            matrix[first, second] = matrix[second, first] = r.value
    size = max(3.0, 0.55 * len(names) + 1.6)
    figure = Figure(figsize=(min(WIDTH, size + 2.2), size), layout="constrained", facecolor="none")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    shades = LinearSegmentedColormap.from_list("kappa", [PAPER, ACCENT])
    axis.imshow(np.ma.masked_invalid(matrix), cmap=shades, vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            colour = PAPER if value > 0.55 else INK
            shown = f"{round(value, 2) + 0:.2f}".replace("-", "−")  # and no minus before nothing
            axis.text(column, row, shown, ha="center", va="center", fontsize=8.5, color=colour)
    labels = [short_name(f"{rater.name} ({rater.kind})") for rater in study.relevance.raters]
    axis.set_xticks(range(len(names)), labels, rotation=40, ha="right", parse_math=False)
    axis.set_yticks(range(len(names)), labels, parse_math=False)
    frame(axis, "Kappa of every two raters")
    axis.grid(visible=False)
    axis.set_xticks(np.arange(-0.5, len(names)), minor=True)
    axis.set_yticks(np.arange(-0.5, len(names)), minor=True)
    axis.grid(which="minor", color=GRID, linewidth=0.8)
    axis.tick_params(which="minor", length=0)
    axis.tick_params(axis="x", labelcolor=MUTED)
    return figure


def _scores(study: Study) -> "Figure | None":
    rates = [r for r in study.results if r.metric == "yes_rate" and "kind" in r.slice]
    if not rates:
        return None
    index = {
        (r.rater, r.slice["kind"], r.metric): r
        for r in study.results
        if "kind" in r.slice and "other" not in r.slice
    }
    panels = [
        (title, None, [_mark(rate, index.get((rate.rater, rate.slice["kind"], metric))) for rate in rates])
        for title, metric in (
            ("Says yes", "yes_rate"),
            ("Precision", "precision"),
            ("Recall", "recall"),
            ("F1", "f1"),
        )
    ]
    return dot_panels(panels, limits=(-0.04, 1.04))


def _mark(whose: Result, found: Result | None) -> Mark:
    kind = whose.slice["kind"]
    control = kind if kind in ("human", "simulated", "gold", "rule") else None
    name = f"{whose.rater} ({kind})"
    return (
        Mark(name, control, None)
        if found is None
        else Mark(name, control, found.value, found.low, found.high)
    )


def _mention(study: Study) -> "Figure | None":
    """Judges that wrote answers too, measured here and published."""
    points = []
    for published in (False, True):
        own = [r for r in study.results if (r.control == "published") == published]
        rates = {
            r.system: r.value for r in own if r.metric == "mention_rate_items" and r.system and _by_rule(r)
        }
        for r in own:
            if r.metric != "mention_effect" or r.rater is None or r.value is None or not _by_rule(r):
                continue
            for generator, rate in rates.items():
                if rate is not None and same_model(r.rater, str(generator)):
                    points.append((r.rater, "published" if published else None, 100 * rate, r.value))
    if len(points) < FEWEST_POINTS:
        return None
    return scatter_figure(
        points,
        "Naming as a writer, liking it as a judge (crosses: published)",
        "answers that name an attribute, %",
        "mention Δ, points",
    )


def _by_rule(result: Result) -> bool:
    return result.slice.get("detector", RULE) == RULE
