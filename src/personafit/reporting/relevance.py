"""The report of a relevance run: how far raters pick the attributes that people call relevant, and how many more they pick."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import dist
from typing import TYPE_CHECKING, Any

import numpy as np

from personafit.benchmarks.recentering.labels import published_remarks
from personafit.items.relevance import ALONE, GRADES, VIEWS
from personafit.kinds.lines import Line
from personafit.kinds.relevance_scores import (
    COMPARED,
    PUBLISHED,
    RelevanceScores,
    load_relevance,
    opened_relevance,
)
from personafit.reporting import claims
from personafit.reporting.agree_part import agreement_section
from personafit.reporting.agree_ratings import lines_source
from personafit.reporting.asked import asks_section, coverage_warnings, rater_instrument, when
from personafit.reporting.drawing import ACCENT, GRID, INK, MUTED, PAPER, draw_point, new_figure
from personafit.reporting.line_results import (
    differences_of,
    line_coverage,
    line_shares,
    results_of,
    worst_coverage,
)
from personafit.reporting.naming import lined_name
from personafit.reporting.pieces import Cell, Grid, Instrument, Picture, Piece, Row, Section, result_cell
from personafit.reporting.plots import Dot, frame, group_in_words
from personafit.reporting.rated_items import relevance_items
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.report_page import browser_piece
from personafit.reporting.result import Result
from personafit.reporting.written import plain, signed
from personafit.statistics import Estimate
from personafit.statistics.decisions import Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COLUMNS = (
    "f1",
    "precision",
    "recall",
    "accuracy",
    "kappa",
    "yes_rate",
    "over_selection",
    "average_precision",
    "r_precision",
)
FEW_COLUMNS = ("f1", "precision", "recall", "kappa", "over_selection")
AS_THEY_ARE = frozenset({"kappa", "over_selection"})  # everything else is shown in percent
SLICED = {
    "hedged": "Hedged and plain attributes (may, might, likely)",
    "list": "By the number of attributes in the list",
    "language": "By language",
    "prompt": "By prompt",
}
QUOTED = "published, not measured here"
INTERVALS = "In %; kappa and over-selection as they are. Below each number its 95 % interval, clustered by person and prompt."
DEFINED = (
    "Over-selection: the share of pairs a rater calls relevant over the share people do, on the pairs it answered; 1 picks as many. "
    "Average precision: of the ranking of each list by score, averaged over lists with anything relevant. R-precision: the hits among "
    "the top k of a list that has k relevant attributes."
)
OVER = 1.2  # from here on a rater is said to pick too much
NEAR = 4.0  # points of %: raters nearer to each other than this are named together in the figure
SEARCHED = {"searched": "prompt, attribute, reason, person or raw reply"}
CAPTION = (
    "How to read it: left, each number is a rater; up is precise, right is complete, and along a thin curve F1 is the same. "
    "Hollow marks are controls, diamonds are published votes, crosses are published figures from other test sets. Right, how "
    "many times as many attributes a rater picks as people do; at the dashed line it picks as many. Bars are 95 % intervals."
)

Totals = dict[tuple[str | None, str | None, str], Result]
LineKey = tuple[str, str]
"""Rater and context."""
Key = tuple[str, str]
"""What is asked, and of which rater."""


class RelevanceReport(KindReport):
    """A run in which raters said which attributes matter."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.scores = load_relevance(store, run)
        self.benchmark: str = self.scores.info["name"]
        self.coverage_bar: float = self.scores.info["coverage_bar"]
        self.results = relevance_results(self.scores)

    def part(self) -> ReportPart:
        """Precision against recall, the scores of those asked for beside the controls, and everything else folded."""
        return self._part

    @cached_property
    def _part(self) -> ReportPart:
        items = relevance_items(self._store, self.scores)
        return replace(
            self.brief(),
            sections=list(self._sections()),
            browser=[browser_piece(self.scores.run.name, "choice", data=items, values=SEARCHED)],
            instrument=self._instrument(),
        )

    def brief(self) -> ReportPart:
        """The same without what is folded, the items and the instrument."""
        return self._brief

    @cached_property
    def _brief(self) -> ReportPart:
        scores, results = self.scores, self.results
        run, info, items = scores.run, scores.info, scores.items
        own = [line for line in scores.lines if line.control != PUBLISHED]
        asked, answered = (int(sum(line.frame[name].sum() for line in own)) for name in ("asked", "answered"))
        lead: list[Piece] = coverage_warnings(run, self.coverage_bar, asked, answered)
        if (figure := relevance_figure(scores, results)) is not None:
            lead.append(Picture("What is picked, and how much", CAPTION, figure))
        few = [line for line in own if line.view != ALONE] or own
        lead.append(score_grid(f"Agreement with {info['gold']}", few, results, FEW_COLUMNS))
        relevant = int(items["relevant"].sum() or 0)
        return ReportPart(
            run.name,
            str(info["title"] or info["name"]),
            self.sentences(),
            lead,
            facts=[
                f"run {run.name}",
                when(run.started),
                f"{len(items):,} pairs, {relevant:,} relevant",
                f"{items['person'].n_unique():,} people",
                f"{items['prompt'].n_unique():,} prompts",
                *([f"coverage {100 * answered / asked:.1f} %"] if asked else []),
            ],
        )

    def _sections(self) -> Iterator[Section]:
        scores, results = self.scores, self.results
        run = scores.run
        yield Section(
            "All scores",
            [score_grid("Every rater and context", scores.lines, results, COLUMNS, scores.info)],
            "Every figure of every rater, votes that came with the data and published figures included.",
        )
        if (grades := _grade_grid(results)) is not None:
            yield Section("Grades", [grades])
        if sliced := _sliced_grids(scores, results):
            yield Section("Slices", sliced, "F1 by hedging, by the length of the list, and by prompt.")
        if differences := _difference_grid(results):
            lead = "Each rater asked for against every other, and against itself without the prompt."
            yield Section("Differences", [differences], lead)
        opened = opened_relevance(scores)
        yield agreement_section(lines_source(self._store, opened), opened, self.margin)
        samples = int(run.config["samples"])
        planned = {
            rater["fingerprint"]: len(scores.items) * len(rater["views"]) * samples
            for rater in run.config["raters"]
        }
        yield asks_section(
            run.config["raters"],
            scores.answers,
            planned,
            "Pairs by how they ended, over all contexts of a rater.",
        )

    def _instrument(self) -> Instrument:
        run, info = self.scores.run, self.scores.info
        contexts = {f"context {name}": VIEWS[name] for name in run.config["views"]}
        shown = {True: "a whole list at a time", False: "one attribute at a time"}
        more = [{"shown": shown[bool(rater["by_list"])]} for rater in run.config["raters"]]
        facts = {"gold": info["gold"], **contexts}
        return rater_instrument(self._store, run, info, facts, more, notes=_notes(self.scores))

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return explain_relevance(self.scores, self.results)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater and context with the least coverage."""
        return worst_coverage(line_shares(self.scores.lines))


def _notes(scores: RelevanceScores) -> list[str]:
    """What is odd in the data, and how scores became answers."""
    own = [f"{line.rater}: {note}." for line in scores.lines for note in line.notes]
    return list(dict.fromkeys([*scores.run.config["notes"], *own]))


# -- figures -----------------------------------------------------------------------------------------------------------


def relevance_results(scores: RelevanceScores) -> list[Result]:
    """Every number of a run: its lines', the differences between raters, and the published ones."""
    opened = opened_relevance(scores)
    results = [*results_of(opened), *differences_of(opened, _pairs(scores.lines)), *_quoted(scores)]
    return [
        replace(one, slice={"prompt": one.slice["prompt_name"]}) if "prompt_name" in one.slice else one
        for one in results
    ]


def headline_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines that are compared: everybody who saw the prompt, by the first such view of each rater."""
    chosen: dict[str, Line] = {}
    for line in lines:
        if line.view != ALONE:
            chosen.setdefault(str(line.fingerprint), line)
    return list(chosen.values())


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Each rater asked for against every other, and against itself without the prompt."""
    headline = headline_lines(lines)
    for place, first in enumerate(headline):
        if not first.asked_for:
            continue
        others = [line for line in headline[place + 1 :] if line.fingerprint != first.fingerprint]
        others += [line for line in lines if line.fingerprint == first.fingerprint and line.view == ALONE]
        for second in others:
            alone = second.view == ALONE
            yield first, second, f"{second.rater} ({ALONE})" if alone else str(second.rater)


def _quoted(scores: RelevanceScores) -> Iterator[Result]:
    """The published figures, each with its source."""
    for row in scores.info.get("published", []):
        for metric, percent in row["scores"].items():
            yield Result.of(
                Estimate(percent / 100, None, None, 0, 0),
                rater=row["model"],
                view=row["view"],
                metric=metric,
                control="published",
                note=f"{QUOTED}: {row['source']}",
            )


# -- tables ------------------------------------------------------------------------------------------------------------


def score_grid(
    title: str,
    lines: Sequence[Line],
    results: Sequence[Result],
    columns: Sequence[str],
    info: dict[str, Any] | None = None,
) -> Grid:
    """Scores of raters, those asked for first; with what the benchmark says of itself, published rows below."""
    index = _totals(results)
    remarks: dict[str, int] = {}
    rows = []
    for line in sorted(lines, key=lambda one: one.control is not None):
        coverage = line_coverage(line.frame)
        cells = [Cell("" if coverage is None else plain(100 * coverage), sort=coverage)]
        for name in columns:
            found = index[line.rater, line.view, name]
            why = found.note.split("; ")[0] if found.value is None and found.note else None
            own = [] if why is None else [remarks.setdefault(why, len(remarks) + 1)]
            cells.append(_cell(found, own))
        rows.append(Row([str(line.rater), str(line.view)], cells, line.control))
    published = [] if info is None else info.get("published", [])
    for row in published:
        quoted = [row["scores"].get(name) for name in columns]
        cells = [
            Cell() if percent is None else Cell(_write(name, percent / 100), sort=percent / 100)
            for name, percent in zip(columns, quoted, strict=True)
        ]
        rows.append(Row([row["model"], row["view"]], [Cell(), *cells], source=row["source"]))
    heads = ["rater", "context"]
    if info is None and len({line.view for line in lines}) == 1:  # the small table names one context once
        heads, rows = heads[:1], [replace(row, names=row.names[:1]) for row in rows]
    headings = ["coverage", *(name.replace("_", " ") for name in columns)]
    note = " ".join([DEFINED, *(published_remarks() if published else [])]) if info is not None else ""
    return Grid(title, INTERVALS, heads, headings, rows, list(remarks), note)


def _sliced_grids(scores: RelevanceScores, results: Sequence[Result]) -> list[Piece]:
    found: list[Piece] = []
    for name, title in SLICED.items():
        index = {
            (r.rater, r.view, r.slice[name]): r
            for r in results
            if set(r.slice) == {name} and r.metric == "f1"
        }
        values = list(dict.fromkeys(value for *_, value in index))
        if values:
            rows = [
                Row(
                    [str(line.rater), str(line.view)],
                    [_cell(index[line.rater, line.view, value]) for value in values],
                    line.control,
                )
                for line in scores.lines
            ]
            found.append(Grid(title, "F1 in %.", ["rater", "context"], values, rows, folded=name == "prompt"))
    return found


def _grade_grid(results: Sequence[Result]) -> Grid | None:
    """How often each grade was given and relevant; None where nobody graded."""
    metrics = {"grade_share": "given", "relevant_share": "relevant"}
    index = {(r.rater, r.view, r.metric, r.slice["grade"]): r for r in results if r.metric in metrics}
    if not index:
        return None
    columns = [(metric, grade) for grade in GRADES for metric in metrics]
    rows = [
        Row([str(rater), str(view)], [_cell(index[rater, view, *column]) for column in columns])
        for rater, view in dict.fromkeys((rater, view) for rater, view, *_ in index)
    ]
    caption = "How often each grade was given, and how often people call such a pair relevant, in %."
    headings = [f"{grade}: {metrics[metric]}" for metric, grade in columns]
    return Grid("Grades", caption, ["rater", "context"], headings, rows)


def _difference_grid(results: Sequence[Result]) -> Grid | None:
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for r in results:
        if "against" in r.slice:
            metric = r.metric.removesuffix("_difference")
            cell = result_cell(r, partial(_write, metric, write=signed), to=" to ")
            found.setdefault((str(r.rater), r.slice["against"]), {})[metric] = cell
    told = {names: [cells[metric] for metric in COMPARED] for names, cells in found.items()}
    rows = [Row(names, cells) for names, cells in told.items() if any(cell.text for cell in cells)]
    if not rows:
        return None
    caption = (
        "Paired by the pairs that both answered: points of %, over-selection as it is; 95 % interval below, not adjusted for how many "
        "are compared."
    )
    headings = [metric.replace("_", " ") for metric in COMPARED]
    return Grid("Differences between raters", caption, ["rater", "against"], headings, rows)


def _cell(result: Result, notes: Sequence[int] = ()) -> Cell:
    return result_cell(result, lambda value: _write(result.metric, value), notes)


def _write(metric: str, value: float, write: Any = plain) -> str:
    return str(write(value, 2) if metric in AS_THEY_ARE else write(100 * value))


def _totals(results: Iterable[Result]) -> Totals:
    return {(r.rater, r.view, r.metric): r for r in results if not r.slice and r.control != "published"}


# -- sentences ---------------------------------------------------------------------------------------------------------


def explain_relevance(scores: RelevanceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run, all claims tested together; of a rater that met prompts it was fitted on nothing is claimed."""
    totals = _totals(results)
    own = list(
        dict.fromkeys(
            (str(r.rater), str(r.view))
            for r in results
            if r.control is None and r.view != ALONE and r.metric == "f1" and not r.slice
        )
    )
    controls = _controls(results)
    met = {str(line.rater) for line in scores.lines if line.fingerprint in scores.run.met_people}
    effects = _effects(own, totals, results, controls, met)
    found = dict(zip(effects, decide_together(list(effects.values())), strict=True))
    sentences: list[str] = []
    for rater, view in own:
        sentences += _picks(rater, view, totals, found)
        if rater in met:
            sentences.append(claims.met_sentence(rater, "prompts"))
        if finding := found.get(("control", rater)):
            sentences.append(claims.against_control(rater, controls[0], finding))
        if finding := found.get(("prompt", rater)):
            sentences += claims.without_prompt(rater, finding)
    sentences += _lists(own, totals, found)
    if not own:
        sentences += _baseline(totals)
    return [*sentences, *claims.legend_for(found.values())]


def _effects(
    own: Sequence[LineKey],
    totals: Totals,
    results: Sequence[Result],
    controls: Sequence[str],
    met: set[str],
) -> dict[Key, Hypothesis]:
    """Everything that may be claimed of a run."""
    effects: dict[Key, Hypothesis] = {}
    for rater, view in own:
        if rater in met:
            continue
        over = totals.get((rater, view, "over_selection"))
        if over is not None and over.value is not None:
            effects["over", rater] = Hypothesis(over, null=OVER if over.value > 1 else 1 / OVER)
        # The best of several controls is picked by the data.
        if controls and (found := _difference(rater, "f1", controls[0], results)):
            effects["control", rater] = Hypothesis(found, picked_from=len(controls))
        if found := _difference(rater, "f1", f"{rater} ({ALONE})", results):
            effects["prompt", rater] = Hypothesis(found)
    for rater, model in _listed(own):
        found = _difference(rater, "over_selection", model, results) or _difference(
            model, "over_selection", rater, results
        )
        if found is not None and not {rater, model} & met:
            effects["list", rater] = Hypothesis(found)
    return effects


def _controls(results: Sequence[Result]) -> list[str]:
    """Controls by F1, the one that is hardest to beat first."""
    found = {
        str(r.rater): r.value
        for r in results
        if r.metric == "f1"
        and not r.slice
        and r.view != ALONE
        and r.control not in (None, PUBLISHED, "published")
        and r.value is not None
    }
    return sorted(found, key=lambda name: -found[name])


def _picks(rater: str, view: str, totals: Totals, found: dict[Key, HypothesisTest]) -> Iterator[str]:
    over, precision, recall = (
        totals.get((rater, view, m)) for m in ("over_selection", "precision", "recall")
    )
    if over is None or over.value is None:
        yield f"{rater} has no answer that could be held against people's."
        return
    shown = ", ".join(
        f"{name} {100 * one.value:.1f} %"
        for name, one in (("precision", precision), ("recall", recall))
        if one is not None and one.value is not None
    )
    yield claims.picks(rater, over.value, found.get(("over", rater)), shown)


def _listed(own: Sequence[LineKey]) -> Iterator[tuple[str, str]]:
    """Raters asked for a list whose model is also asked pair by pair."""
    names = {rater for rater, _ in own}
    for rater in dict.fromkeys(rater for rater, _ in own):
        name = rater.removeprefix("list:")
        model = name if name in names else f"pair:{name}"
        if name != rater and model in names:
            yield rater, model


def _lists(own: Sequence[LineKey], totals: Totals, found: dict[Key, HypothesisTest]) -> Iterator[str]:
    """The same model asked for a list and asked pair by pair."""
    views = dict(reversed(own))  # the first view of each counts
    for rater, model in _listed(own):
        listed, paired = (totals[one, views[one], "over_selection"].value for one in (rater, model))
        finding = found.get(("list", rater))
        if finding is not None and listed is not None and paired is not None:
            yield claims.list_against_pairs(rater.removeprefix("list:"), listed, paired, finding)


def _baseline(totals: Totals) -> Iterator[str]:
    always = totals.get(("rule:always-yes", "none", "f1"))
    if always is not None and always.value is not None:
        yield (
            f"Saying yes to everything has an F1 of {100 * always.value:.1f} %: a rater has to be well above that to know "
            "anything."
        )


def _difference(first: str, metric: str, second: str, results: Sequence[Result]) -> Result | None:
    return next(
        (
            r
            for r in results
            if r.rater == first and r.metric == f"{metric}_difference" and r.slice.get("against") == second
        ),
        None,
    )


# -- picture -----------------------------------------------------------------------------------------------------------


def relevance_figure(scores: RelevanceScores, results: Sequence[Result]) -> "Figure | None":
    """Precision against recall, and over-selection; None if no rater has both."""
    index = _totals(results)
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
