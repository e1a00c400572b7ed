"""The report of a relevance run: how far raters pick the attributes that people call relevant, and how many more they pick."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

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
from personafit.reporting.claims import (
    POINTS,
    TOO_FEW,
    ClaimWords,
    FigureUnit,
    claim,
    legend_for,
    null_words,
)
from personafit.reporting.kind_report import KindReport
from personafit.reporting.line_results import (
    differences_of,
    line_coverage,
    results_of,
)
from personafit.reporting.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Remarks,
    Row,
    Section,
    metric_cell,
    metric_text,
    share_cell,
)
from personafit.reporting.result import Figures, Result
from personafit.statistics import Estimate
from personafit.statistics.decisions import Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

HEADS = ("rater", "context")
TIMES = FigureUnit(1.0, "times", 2)
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
CAPTION = (
    "How to read it: precision is the share of what a rater picks that people call relevant, recall the share of what people call "
    "relevant that it picks; picks are how many times as many attributes it picks as people do, at the dashed line as many. Bars are "
    "95 % intervals, hollow squares are controls, crosses are published figures from other test sets."
)


class RelevanceReport(KindReport):
    """A run in which raters said which attributes matter."""

    searched: ClassVar[Mapping[str, str]] = {"searched": "prompt, attribute, reason, person or raw reply"}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_relevance(store, run)
        super().__init__(store, run, self.scores.info, relevance_results(self.scores))
        self.figures = Figures(self.results)
        self.lines = self.scores.lines

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return explain_relevance(self.scores, self.results, self.figures)

    def counts(self) -> list[str]:
        """Pairs, people and prompts."""
        items = self.scores.items
        return [
            f"{len(items):,} pairs, {int(items['relevant'].sum() or 0):,} relevant",
            f"{items['person'].n_unique():,} people",
            f"{items['prompt'].n_unique():,} prompts",
        ]

    def picture(self) -> Picture | None:
        """Precision, recall, and how much is picked."""
        from personafit.reporting.plots import Dot, Panel, PlotRow, dot_of, panels_figure

        rows = []
        for line in self.scores.lines:
            found = [self.figures.find(name, line.rater, line.view) for name in ("precision", "recall")]
            over = dot_of(self.figures.find("over_selection", line.rater, line.view), 1.0)
            if over.value is not None:
                name = str(line.rater) if line.view == "none" else f"{line.rater}, {line.view}"
                rows.append(PlotRow(name, [*map(dot_of, found), over], control=line.control is not None))
        if not rows:
            return None
        for row in self.info.get("published", []):
            if {"precision", "recall"} <= set(row["scores"]):
                quoted = [Dot(row["scores"][name]) for name in ("precision", "recall")]
                rows.append(PlotRow(row["model"], [*quoted, Dot()], published=True))
        percent = (-4.0, 104.0)
        panels = [Panel("Precision, %", limits=percent), Panel("Recall, %", limits=percent)]
        figure = panels_figure(rows, [*panels, Panel("Picks, times as many as people", 1.0, 2)])
        return Picture("What is picked, and how much", CAPTION, figure)

    def table(self) -> Grid:
        """The scores of those asked for beside the controls."""
        own = [line for line in self.lines if line.control != PUBLISHED]
        few = [line for line in own if line.view != ALONE] or own
        return score_grid(f"Agreement with {self.info['gold']}", few, self.figures, FEW_COLUMNS)

    def sections(self) -> Iterator[Section]:
        """Every score, grades, slices, differences, agreement and asks."""
        scores, results = self.scores, self.results
        yield Section(
            "All scores",
            [score_grid("Every rater and context", scores.lines, self.figures, COLUMNS, self.info)],
            "Every figure of every rater, votes that came with the data and published figures included.",
        )
        yield Section("Grades", _grade_grids(results))
        lead = "F1 by hedging, by the length of the list, and by prompt."
        yield Section("Slices", _sliced_grids(scores, results), lead)
        lead = "Each rater asked for against every other, and against itself without the prompt."
        yield Section("Differences", _difference_grids(results), lead)
        yield self.agreement(opened_relevance(scores))
        each = len(scores.items) * int(self.record.config["samples"])
        counted = "Pairs by how they ended, over all contexts of a rater."
        yield self.asks(scores.answers, counted, lambda rater: each * len(rater["views"]))

    def items(self) -> dict[str, Any]:
        """Lists of attributes."""
        from personafit.reporting.rated_items import relevance_items

        return relevance_items(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        """Whose votes are right, and what each context shows."""
        return {
            "gold": self.info["gold"],
            **{f"context {name}": VIEWS[name] for name in self.record.config["views"]},
        }

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        """The raters, with how much each was shown at a time."""
        for role, rater, _ in super().members():
            shown = "a whole list at a time" if rater["by_list"] else "one attribute at a time"
            yield role, rater, {"shown": shown}


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
    figures: Figures,
    columns: Sequence[str],
    info: dict[str, Any] | None = None,
) -> Grid:
    """Scores of raters, those asked for first; with what the benchmark says of itself, published rows below."""
    remarks = Remarks()
    rows = []
    for line in sorted(lines, key=lambda one: one.control is not None):
        cells = [remarks.cell(figures.find(name, line.rater, line.view)) for name in columns]
        rows.append(Row(_names(line), [share_cell(line_coverage(line.frame)), *cells], line.control))
    published = [] if info is None else info.get("published", [])
    for row in published:
        quoted = [row["scores"].get(name) for name in columns]
        cells = [
            Cell() if percent is None else Cell(metric_text(name, percent / 100), sort=percent / 100)
            for name, percent in zip(columns, quoted, strict=True)
        ]
        rows.append(Row([row["model"], row["view"]], [Cell(), *cells], source=row["source"]))
    headings = ["coverage", *(name.replace("_", " ") for name in columns)]
    note = " ".join([DEFINED, *(published_remarks() if published else [])]) if info is not None else ""
    grid = Grid(title, INTERVALS, HEADS, headings, rows, list(remarks), note)
    return grid if info is not None else grid.without_same_context()


def _names(line: Line) -> list[str]:
    return [str(line.rater), str(line.view)]


def _sliced_grids(scores: RelevanceScores, results: Sequence[Result]) -> list[Piece]:
    found: list[Piece] = []
    for name, title in SLICED.items():
        index = {
            (r.rater, r.view, r.slice[name]): r
            for r in results
            if set(r.slice) == {name} and r.metric == "f1"
        }
        values = list(dict.fromkeys(value for *_, value in index))
        rows = [
            Row(
                _names(line),
                [metric_cell(index[line.rater, line.view, value]) for value in values],
                line.control,
            )
            for line in scores.lines
        ]
        if values:
            found.append(Grid(title, "F1 in %.", HEADS, values, rows, folded=name == "prompt"))
    return found


def _grade_grids(results: Sequence[Result]) -> list[Piece]:
    """How often each grade was given and relevant; nothing where nobody graded."""
    metrics = {"grade_share": "given", "relevant_share": "relevant"}
    index = {(r.rater, r.view, r.metric, r.slice["grade"]): r for r in results if r.metric in metrics}
    columns = [(metric, grade) for grade in GRADES for metric in metrics]
    rows = [
        Row([str(rater), str(view)], [metric_cell(index[rater, view, *column]) for column in columns])
        for rater, view in dict.fromkeys((rater, view) for rater, view, *_ in index)
    ]
    caption = "How often each grade was given, and how often people call such a pair relevant, in %."
    headings = [f"{grade}: {metrics[metric]}" for metric, grade in columns]
    return [Grid("Grades", caption, HEADS, headings, rows)] if rows else []


def _difference_grids(results: Sequence[Result]) -> list[Piece]:
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for r in results:
        if "against" in r.slice:
            cells = found.setdefault((str(r.rater), r.slice["against"]), {})
            cells[r.metric.removesuffix("_difference")] = metric_cell(r)
    told = {names: [cells[metric] for metric in COMPARED] for names, cells in found.items()}
    rows = [Row(names, cells) for names, cells in told.items() if any(cell.text for cell in cells)]
    caption = (
        "Paired by the pairs that both answered: points of %, over-selection as it is; 95 % interval below, not adjusted for how many "
        "are compared."
    )
    headings = [metric.replace("_", " ") for metric in COMPARED]
    return [Grid("Differences between raters", caption, ["rater", "against"], headings, rows)] if rows else []


# -- sentences ---------------------------------------------------------------------------------------------------------


def explain_relevance(scores: RelevanceScores, results: Sequence[Result], figures: Figures) -> list[str]:
    """The sentences of a run, all claims tested together; of a rater that met prompts it was fitted on nothing is claimed."""
    totals = [
        r for r in results if r.metric == "f1" and not r.slice and r.view != ALONE and r.value is not None
    ]
    asked = [r for r in results if r.metric == "f1" and not r.slice and r.view != ALONE and r.control is None]
    own = list(dict.fromkeys((str(r.rater), str(r.view)) for r in asked))
    ruled = [r for r in totals if r.control not in (None, PUBLISHED, "published")]
    controls = [str(r.rater) for r in sorted(ruled, key=lambda r: -(r.value or 0.0))]
    met = {str(line.rater) for line in scores.lines if line.fingerprint in scores.run.met_people}
    listed = _listed(own)
    effects: dict[tuple[str, str], Hypothesis] = {}
    for rater, view in own:
        if rater in met:
            continue
        over = figures.find("over_selection", rater, view)
        if over is not None and over.value is not None:
            effects["over", rater] = Hypothesis(over, null=OVER if over.value > 1 else 1 / OVER)
        # The best of several controls is picked by the data.
        if controls and (found := figures.find("f1_difference", rater, view, against=controls[0])):
            effects["control", rater] = Hypothesis(found, picked_from=len(set(controls)))
        if found := figures.find("f1_difference", rater, view, against=f"{rater} ({ALONE})"):
            effects["prompt", rater] = Hypothesis(found)
    views = dict(reversed(own))  # the first view of each counts
    for rater, model in listed.items():
        found = figures.find("over_selection_difference", rater, views[rater], against=model)
        found = found or figures.find("over_selection_difference", model, views[model], against=rater)
        if found is not None and not {rater, model} & met:
            effects["list", rater] = Hypothesis(found)
    tested = dict(zip(effects, decide_together(list(effects.values())), strict=True))
    said: list[str] = []
    for rater, view in own:
        said.append(picks(rater, view, figures, tested.get(("over", rater))))
        if rater in met:
            said.append(f"{rater}: no claim, as it was fitted on prompts of this run.")
        if finding := tested.get(("control", rater)):
            said.append(against_control(rater, controls[0], finding))
        if finding := tested.get(("prompt", rater)):
            said += without_prompt(rater, finding)
    for rater, model in listed.items():
        if finding := tested.get(("list", rater)):
            two = [figures.value("over_selection", one, views[one]) for one in (rater, model)]
            if two[0] is not None and two[1] is not None:
                said.append(list_against_pairs(rater.removeprefix("list:"), two[0], two[1], finding))
    always = figures.value("f1", "rule:always-yes", "none")
    if not own and always is not None:
        said.append(
            f"Saying yes to everything has an F1 of {100 * always:.1f} %: a rater has to be well above that to know anything."
        )
    return [*said, *legend_for(tested.values())]


def _listed(own: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Raters asked for a list whose model is also asked pair by pair, with the latter."""
    names = {rater for rater, _ in own}
    found = {}
    for rater in dict.fromkeys(rater for rater, _ in own):
        name = rater.removeprefix("list:")
        model = name if name in names else f"pair:{name}"
        if name != rater and model in names:
            found[rater] = model
    return found


def picks(rater: str, view: str, figures: Figures, finding: HypothesisTest | None) -> str:
    """How many attributes a rater picks beside people, and whether that is too many or too few."""
    times = figures.value("over_selection", rater, view)
    if times is None:
        return f"{rater} has no answer that could be held against people's."
    rest = [(name, figures.value(name, rater, view)) for name in ("precision", "recall")]
    shown = ", ".join(f"{name} {100 * value:.1f} %" for name, value in rest if value is not None)
    much = f"{rater} picks {times:.1f} times as many attributes as people do"
    if finding is not None and finding.verdict is Conclusion.ABOVE and times > 1:
        return f"{much}: it over-selects ({shown})."
    if finding is not None and finding.verdict is Conclusion.BELOW and times < 1:
        return f"{much}: it leaves out what people would use ({shown})."
    return f"{much} ({shown})."


def against_control(rater: str, control: str, finding: HypothesisTest) -> str:
    """Whether a rater beats the control that is hardest to beat."""
    words = ClaimWords(
        above=f"beats the best control, {control}",
        below=f"does worse than the control {control}",
        unclear=f"not distinguishable from the control {control}",
        equivalent=f"no better or worse than the control {control} by {POINTS.plain(finding.margin)}",
        constant=f"the same F1 as the control {control}",
    )
    return claim(rater, finding, words, "F1")


def without_prompt(rater: str, finding: HypothesisTest) -> list[str]:
    """Whether a rater reads the prompt; nothing is said where it is shown to."""
    if finding.verdict in (Conclusion.ABOVE, Conclusion.UNDEFINED):
        return []
    words = ClaimWords(
        above="uses the prompt",
        below="does worse with the prompt than without",
        unclear="no evidence that it uses the prompt: it may judge attributes, not relevance",
        equivalent=f"the prompt changes its F1 by less than {POINTS.plain(finding.margin)}: it judges attributes, not relevance",
        constant="the same F1 with and without the prompt: it judges attributes, not relevance",
    )
    return [claim(rater, finding, words, "F1")]


def list_against_pairs(model: str, listed: float, paired: float, finding: HypothesisTest) -> str:
    """Whether a model asked for a list picks fewer attributes than asked pair by pair."""
    estimate = finding.estimate
    gap = listed - paired
    turned = estimate.value is not None and estimate.value * gap < 0
    ends = ""
    if estimate.low is not None and estimate.high is not None:
        low, high = (-estimate.high, -estimate.low) if turned else (estimate.low, estimate.high)
        ends = f", {TIMES.signed(low)} to {TIMES.signed(high)}"
    middle = (
        f"it picks {listed:.2f} times as many as people, pair by pair {paired:.2f} times "
        f"(difference {TIMES.signed(gap)}{ends}"
    )
    if finding.verdict is Conclusion.CONSTANT:
        return f"Asked for a list, {model} picks as many: {middle})."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"Asked for a list, {model}: {middle}), {TOO_FEW}."
    if not finding.decided:
        return f"No evidence that a list changes how many {model} picks: {middle}; {null_words(finding, TIMES)})."
    if gap > 0:
        return f"Asked for a list, {model} picks more: {middle})."
    return f"Asked for a list, {model} {'over-selects less' if paired > 1 else 'picks fewer'}: {middle})."
