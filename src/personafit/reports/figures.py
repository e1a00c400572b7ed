"""The figures of a run of choices: from results to the rows and panels that `plots` draws, and how each is to be read."""

from collections.abc import Sequence

from personafit.kinds.choice_scores import HALVES, TIERS
from personafit.reports.naming import LineKey, LineNames, line_of
from personafit.reports.pieces import Picture
from personafit.reports.plots import Dot, Panel, PlotRow, dot_of, panels_figure, series_figure
from personafit.reports.result import Result
from personafit.reports.totals import RunTotals
from personafit.reports.written import signed

COIN = 50.0  # what a coin toss between two answers totals, in percent
MOST_PANELS = 8
NARROW = 4  # more panels than this leave no room for a title on one line
PLAIN_VIEWS = 3  # the person, nobody, the wrong person
CUSTOMARY = (*HALVES, *TIERS)


def guessing(totals: RunTotals) -> float | None:
    """What guessing totals, in percent: a coin toss, unless the benchmark has more than two answers and says otherwise.

    None where it says 0: its items have different numbers of answers.
    """
    share = float(totals.info.get("metrics", {}).get("chance", COIN / 100))
    return 100 * share or None


def choice_pictures(totals: RunTotals, results: Sequence[Result]) -> dict[str, Picture]:
    """Scores by slice, by context and by the order in which answers were shown, as far as the run has them."""
    view, metric = totals.headline_view, totals.info["metric"].replace("_", " ")
    drawn = {}
    if found := _by_slice(totals, results, view):
        caption = (
            f"{metric.capitalize()} in % by slice, context “{view}”, with 95 % intervals. Hollow squares are controls, the dotted line is "
            "guessing."
        )
        drawn["slices"] = Picture(f"{metric.capitalize()} by slice", caption, panels_figure(*found))
    if found_views := _by_view(totals, results, view):
        both = (
            "both other marks"
            if len(found_views[1]) <= PLAIN_VIEWS
            else "“none” and of the wrong person’s mark"
        )
        caption = (
            f"Filled: the right person. Unless it lies clearly to the right of {both}, the score does not come from knowing the "
            "person. Bars are 95 % intervals, the dotted line is guessing."
        )
        figure = series_figure(*found_views, guessing(totals), f"{metric} in %, all items here")
        drawn["views"] = Picture("With the person, without, and with the wrong one", caption, figure)
    if rows := _by_position(totals, view):
        caption = (
            "Left: how often the answer shown first was chosen (dotted: guessing). Right: how often both orders gave the same answer. "
            "Bars are 95 % intervals."
        )
        panels = [
            Panel("the first shown is chosen, %", guessing(totals)),
            Panel("the same answer in both orders, %"),
        ]
        drawn["position"] = Picture("Does the order matter?", caption, panels_figure(rows, panels))
    return drawn


def _by_slice(
    totals: RunTotals, results: Sequence[Result], view: str
) -> tuple[list[PlotRow], list[Panel]] | None:
    """Rows and panels of the finest slices that have numbers, in their customary order."""
    layout = totals.info["layout"]
    sliced_by = layout[0] if layout else []
    metric = [r for r in results if r.metric == totals.info["metric"] and r.view == view]
    sliced = [r for r in metric if sliced_by and set(r.slice) == set(sliced_by)]
    keys = list(dict.fromkeys(tuple(r.slice[name] for name in sliced_by) for r in sliced))
    keys.sort(key=lambda key: [(0, CUSTOMARY.index(v), "") if v in CUSTOMARY else (1, 0, v) for v in key])
    names, rows = LineNames(results), []
    for line, found in _lines(sliced).items():
        dots = {tuple(r.slice[name] for name in sliced_by): dot_of(r) for r in found}
        control = any(r.control for r in metric if line_of(r) == line)
        rows.append(PlotRow(_name(names, found[0]), [dots.get(key, Dot()) for key in keys], control))
    if not rows or len(keys) > MOST_PANELS:
        return None
    against = "against " if sliced_by == ["against"] else ""
    between = "\n" if len(keys) > NARROW else " "
    return rows, [Panel(against + between.join(key), guessing(totals)) for key in keys]


def _by_view(
    totals: RunTotals, results: Sequence[Result], view: str
) -> tuple[list[PlotRow], list[str]] | None:
    views = [view, *(other for other in totals.views if other != view)]
    whole = [r for r in results if not r.slice]
    names, rows = LineNames(results), []
    for found in _lines(whole).values():
        dots = {r.view: dot_of(r) for r in found if r.metric == totals.info["metric"]}
        lift = next((r for r in found if r.metric == "lift" and r.view == view and r.value is not None), None)
        remark = "" if lift is None else f"lift {signed(100 * (lift.value or 0))}"
        if lift is not None and lift.low is not None and lift.high is not None:
            ends = (signed(100 * end) for end in (lift.low, lift.high))
            remark += "\n" + " to ".join(ends)
        control = any(r.control for r in found if r.view == view)
        rows.append(
            PlotRow(_name(names, found[0]), [dots.get(name, Dot()) for name in views], control, remark)
        )
    return (
        (rows, views) if len(views) > 1 and any(d.value is not None for r in rows for d in r.dots) else None
    )


def _by_position(totals: RunTotals, view: str) -> list[PlotRow]:
    """Per rater asked in both orders: how often it took what was shown first, and how often the orders agreed."""
    rows = []
    for rater in totals.raters:
        first, same = (
            totals.of(rater["fingerprint"], view, name).estimate() for name in ("first", "consistent")
        )
        if rater["orders"] > 1 and first.value is not None:
            rows.append(PlotRow(rater["name"], [dot_of(e) for e in (first, same)]))
    return rows


def _name(names: LineNames, result: Result) -> str:
    return " on ".join(names.names(result))


def _lines(results: Sequence[Result]) -> dict[LineKey, list[Result]]:
    lines: dict[LineKey, list[Result]] = {}
    for result in results:
        lines.setdefault(line_of(result), []).append(result)
    return lines
