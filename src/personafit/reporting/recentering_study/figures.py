"""The figures of a study: the matrix of kappas, yes-rates and scores, marks, and naming against liking it."""

from typing import TYPE_CHECKING

from personafit.reporting.drawing import new_figure
from personafit.reporting.figure_names import lined_name
from personafit.reporting.figure_words import group_in_words
from personafit.reporting.marks import PanelMark, dot_panels, scatter_figure
from personafit.reporting.preference.figure import preference_figure
from personafit.reporting.preference.results import RULE, same_model
from personafit.reporting.recentering_study.loading import StudyAnalysis
from personafit.reporting.results import Result
from personafit.reporting.shading import shade_cells

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST_POINTS = 2


def study_figures(study: StudyAnalysis) -> dict[str, "Figure"]:
    """File name to figure; those there is nothing for are absent."""
    figures: dict[str, Figure | None] = {}
    if study.relevance is not None:
        figures["kappa_matrix"] = _kappas(study)
        figures["yes_rates_and_scores"] = _scores(study)
    if study.preferences is not None:
        figures["marks"] = preference_figure(study.preferences, study.results)
        figures["mention"] = _mention(study)
    return {name: figure for name, figure in figures.items() if figure is not None}


def _kappas(study: StudyAnalysis) -> "Figure | None":
    pairs = [r for r in study.results if r.metric == "kappa" and "other" in r.slice]
    if not pairs:
        return None
    assert study.relevance is not None
    places = {(rater.name, rater.kind): place for place, rater in enumerate(study.relevance.raters)}
    known = {}
    for r in pairs:
        first, second = places[str(r.rater), r.slice["kind"]], places[r.slice["other"], r.slice["other_kind"]]
        known[first, second] = known[second, first] = r.value
    count = len(places)
    figure = new_figure(0.42 * count + 1.7)
    axis = figure.subplots()
    shade_cells(axis, [[known.get((row, column)) for column in range(count)] for row in range(count)], "")
    labels = [lined_name(f"{rater.name} ({rater.kind})") for rater in study.relevance.raters]
    axis.set_xticks(
        range(count), labels, rotation=30, ha="right", rotation_mode="anchor", fontsize=8.5, parse_math=False
    )
    axis.set_yticks(range(count), labels, fontsize=8.5, parse_math=False)
    said = [(f"{r.rater} and {r.slice['other']}", r) for r in pairs]
    figure.set_label(f"Kappa, the highest first: {group_in_words(said, 2)}.")
    return figure


def _scores(study: StudyAnalysis) -> "Figure | None":
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


def _mark(whose: Result, found: Result | None) -> PanelMark:
    kind = whose.slice["kind"]
    control = kind if kind in ("human", "simulated", "gold", "rule") else None
    name = f"{whose.rater} ({kind})"
    return (
        PanelMark(name, control, None)
        if found is None
        else PanelMark(name, control, found.value, found.low, found.high)
    )


def _mention(study: StudyAnalysis) -> "Figure | None":
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
