"""Which figures a run gives, and how each is to be read: from results to the rows and panels that `plots` draws."""

from collections.abc import Sequence

import polars as pl

from personafit.reporting import plots, sections
from personafit.reporting.plots import Dot, Panel, Row
from personafit.reporting.results import Result, RunScores
from personafit.reporting.tables import HALVES, TIERS
from personafit.statistics import mean_by_item
from personafit.store import TIE, Status

COIN = 50.0  # what a coin toss between two answers scores, in percent
MOST_PANELS = 8
NARROW = 4  # more panels than this leave no room for a title on one line
CUSTOMARY = (*HALVES, *TIERS)


def figures(scores: RunScores, results: Sequence[Result], view: str) -> list[dict[str, str]]:
    """The pictures that this run can give, each with how to read it."""
    metric = scores.info["metric"].replace("_", " ")
    drawn = []
    if found := _by_slice(scores, results, view):
        caption = (
            f"How to read it: each dot is a rater's {metric} in % on that slice when shown “{view}”, the bar its 95 % "
            "interval over people; hollow squares are controls that understand nothing, the dotted line is a coin toss."
        )
        drawn.append(("slices", f"{metric.capitalize()} by slice", caption, plots.panels_figure(*found)))
    if found_views := _by_view(scores, results, view):
        caption = (
            "How to read it: if the filled dot is not clearly to the right of both other marks, the rater scores as "
            "well without the person or with somebody else’s profile, and its score is not personalization."
        )
        figure = plots.series_figure(*found_views, COIN, f"{metric} in %, all items here")
        drawn.append(("views", "With the person, without, and with the wrong one", caption, figure))
    if rows := _by_position(scores, view):
        caption = (
            "How to read it: left, how often the answer shown first was chosen (50 % is unbiased, dotted); right, how "
            "often both orders gave the same answer (100 % is best); bars are 95 % intervals over people."
        )
        panels = [Panel("the first shown is chosen, %", COIN), Panel("the same answer in both orders, %")]
        drawn.append(("position", "Does the order matter?", caption, plots.panels_figure(rows, panels)))
    return [
        {"name": name, "title": title, "caption": caption, "svg": plots.svg(figure, f"plot-{name}")}
        for name, title, caption, figure in drawn
    ]


def _by_slice(
    scores: RunScores, results: Sequence[Result], view: str
) -> tuple[list[Row], list[Panel]] | None:
    """Rows and panels of the finest slices that have numbers, in their customary order."""
    layout = scores.info["layout"]
    names = layout[0] if layout else []
    metric = [r for r in results if r.metric == scores.info["metric"] and r.view == view]
    sliced = [r for r in metric if names and set(r.slice) == set(names)]
    keys = list(dict.fromkeys(tuple(r.slice[name] for name in names) for r in sliced))
    keys.sort(key=lambda key: [(0, CUSTOMARY.index(v), "") if v in CUSTOMARY else (1, 0, v) for v in key])
    rows = []
    for line, found in _lines(sliced).items():
        dots = {tuple(r.slice[name] for name in names): _dot(r) for r in found}
        control = any(r.control for r in metric if sections.line_of(r) == line)
        rows.append(Row(sections.line_name(found[0]), [dots.get(key, Dot()) for key in keys], control))
    if not rows or len(keys) > MOST_PANELS:
        return None
    against = "against " if names == ["against"] else ""
    between = "\n" if len(keys) > NARROW else " "
    return rows, [Panel(against + between.join(key), COIN) for key in keys]


def _by_view(scores: RunScores, results: Sequence[Result], view: str) -> tuple[list[Row], list[str]] | None:
    views = [view, *(other for other in scores.views if other != view)]
    totals = [r for r in results if not r.slice]
    rows = []
    for found in _lines(totals).values():
        dots = {r.view: _dot(r) for r in found if r.metric == scores.info["metric"]}
        lift = next((r for r in found if r.metric == "lift" and r.view == view and r.value is not None), None)
        remark = "" if lift is None else f"lift {sections.signed_points(100 * (lift.value or 0))}"
        if lift is not None and lift.low is not None and lift.high is not None:
            ends = (sections.signed_points(100 * end) for end in (lift.low, lift.high))
            remark += "\n" + " to ".join(ends)
        control = any(r.control for r in found if r.view == view)
        rows.append(
            Row(sections.line_name(found[0]), [dots.get(name, Dot()) for name in views], control, remark)
        )
    return (
        (rows, views) if len(views) > 1 and any(d.value is not None for r in rows for d in r.dots) else None
    )


def _by_position(scores: RunScores, view: str) -> list[Row]:
    """Per rater asked in both orders: how often it took what was shown first, and how often the orders agreed."""
    rows = []
    for rater in scores.raters:
        if rater["orders"] == 1 or scores.answers.is_empty():
            continue
        said = scores.answers.filter(
            (pl.col("rater") == rater["fingerprint"])
            & (pl.col("view") == view)
            & (pl.col("status") == Status.OK.value)
            & (pl.col("order") != "")
        )
        first = (
            pl.when(pl.col("label") == TIE)
            .then(0.5)
            .otherwise(pl.col("label") == pl.col("order").str.head(1))
        )
        shares = said.group_by("item").agg(first.cast(pl.Float64).mean().alias("first"))
        share = mean_by_item(scores.items.join(shares, on="item", how="left"), "first")
        same = mean_by_item(scores.scores[rater["fingerprint"], view], "consistent")
        if share.value is not None:
            dots = [_percent_dot(e.value, e.low, e.high) for e in (share, same)]
            rows.append(Row(rater["name"], dots))
    return rows


def _lines(results: Sequence[Result]) -> dict[sections.Line, list[Result]]:
    lines: dict[sections.Line, list[Result]] = {}
    for result in results:
        lines.setdefault(sections.line_of(result), []).append(result)
    return lines


def _dot(result: Result) -> Dot:
    return _percent_dot(result.value, result.low, result.high)


def _percent_dot(value: float | None, low: float | None, high: float | None) -> Dot:
    return Dot(*(None if number is None else 100 * number for number in (value, low, high)))
