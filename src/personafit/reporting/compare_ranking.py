"""Ranking many contestants by Bradley–Terry strengths, and comparisons and rankings as a part of a report.

On each item two contestants both have an answer to, the higher score wins and equal scores are a tie. Systems are
ranked apart for each judge, because one judge's scores say nothing about another's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from personafit.kinds.lines import Metric, RunLines, paired_rows
from personafit.reporting.claims import POINTS, Pair, legend_for, no_claim, rank_claim
from personafit.reporting.compare import Comparison, Contestant, contestants, unit_of, wanted_metrics
from personafit.reporting.pieces import Cell, Grid, Picture, Piece, Row, Section, Sentences, tidy_cell
from personafit.reporting.plots import Dot, Panel, PlotRow, panels_figure
from personafit.reporting.report import ReportPart
from personafit.statistics import Estimate
from personafit.statistics.clusters import negated
from personafit.statistics.decisions import (
    MARGIN,
    Conclusion,
    Hypothesis,
    HypothesisTest,
    decide_together,
    log_odds_margin,
)
from personafit.statistics.ranking import Ranking, bradley_terry

HOW = (
    "The ranking counts who did better on each item, by however little, so it can tell two apart whose mean difference is not "
    "distinguishable. Its intervals and tests cluster by person and, where prompts recur, by prompt."
)
FEWEST = 3  # two are a comparison, not a ranking


@dataclass(frozen=True)
class RankContrast:
    """Two contestants by their places in the ranking, and the gap in log-odds tested beside all others."""

    first: int
    second: int
    tested: HypothesisTest
    met_people: tuple[str, ...] = ()
    """Those of the two that were fitted on people of the runs: nothing is claimed of them."""


@dataclass(frozen=True)
class Ranked:
    """Contestants by strength, the strongest first; unranked in the order given where strengths are undefined."""

    judge: str | None
    names: tuple[str, ...]
    strengths: tuple[Estimate, ...]
    contrasts: tuple[RankContrast, ...]
    note: str | None
    metric: str = "accuracy"
    place: str = ""
    """Where the metric is not the benchmark's own: ` on personalization`."""

    def sentences(self) -> list[str]:
        """Who is above whom, neighbour by neighbour, in words."""
        if self.note is not None and not self.contrasts:
            return [f"The ranking is {self.note}." if self.note.startswith("undefined") else _cap(self.note)]
        neighbours = [contrast for contrast in self.contrasts if contrast.second == contrast.first + 1]
        said = []
        for one in neighbours:
            pair = Pair(self.names[one.first], self.names[one.second], self.metric, self.place)
            if one.met_people:
                said.append(no_claim(pair, None, one.met_people))
            else:
                said.append(rank_claim(pair, one.tested))
        return said

    def as_dict(self) -> dict[str, Any]:
        """The ranking as a plain object."""
        return {
            "judge": self.judge,
            "metric": self.metric,
            "contestants": [
                {
                    "rank": None if e.value is None else place,
                    "name": name,
                    "strength": e.value,
                    "low": e.low,
                    "high": e.high,
                    "n": e.n,
                    "people": e.people,
                    "note": e.note,
                }
                for place, (name, e) in enumerate(zip(self.names, self.strengths, strict=True), 1)
            ],
            "contrasts": [
                {
                    "first": self.names[c.first],
                    "second": self.names[c.second],
                    "difference": c.tested.estimate.value,
                    "low": c.tested.estimate.low,
                    "high": c.tested.estimate.high,
                    "p_holm": c.tested.p_adjusted,
                    "distinguishable": None if c.met_people else c.tested.decided,
                    "equivalent": c.tested.verdict is Conclusion.EQUIVALENT,
                    "p_equivalent": c.tested.p_equivalent,
                    "margin": c.tested.margin,
                    "detectable": c.tested.detectable,
                }
                for c in self.contrasts
            ],
            "note": self.note,
            "words": self.sentences(),
        }

    def grid(self) -> Grid:
        """The ranking as a table."""
        judged = f", judged by {self.judge}" if self.judge else ""
        rows = []
        for name, e in zip(self.names, self.strengths, strict=True):
            interval = "" if e.low is None or e.high is None else f"{e.low:+.2f} to {e.high:+.2f}"
            strength = Cell("–") if e.value is None else Cell(f"{e.value:+.2f}", interval, e.value)
            rows.append(Row([name], [tidy_cell(strength), Cell(f"{e.n:,}", sort=float(e.n))]))
        caption = "Bradley–Terry strength in log-odds, mean 0, 95 % interval below."
        return Grid(
            f"Ranking{self.place}{judged}", caption, ["contestant"], ["strength", "comparisons"], rows
        )


def rank_runs(runs: Sequence[RunLines], margin: float = MARGIN, metric: str | None = None) -> list[Ranked]:
    """A ranking of everyone in the runs, or for systems one per judge; none for fewer than three contestants.

    `margin` is a difference in how often one does better than the other: at 0.05, choosing between them 55 to 45. A figure that
    no single item has, such as F1, ranks nobody.
    """
    once = {opened.run.name: opened for opened in runs}
    found = []
    for measured in wanted_metrics(runs[0], metric):
        if measured.values is not None or measured.better is None:
            continue
        groups: dict[str | None, list[Contestant]] = {}
        for opened in once.values():
            for one in contestants(opened, measured):
                groups.setdefault(None if measured.about == "rater" else one.rater, []).append(one)
        place = "" if measured.name == runs[0].info["metric"] else f" on {measured.name}"
        found += [
            replace(_rank(judge, measured, group, margin), place=place)
            for judge, group in groups.items()
            if len(group) >= FEWEST
        ]
    return found


def _rank(judge: str | None, metric: Metric, group: Sequence[Contestant], margin: float) -> Ranked:
    first, second, score, people, prompts = [], [], [], [], []
    toward = -1 if metric.better == "lower" else 1
    for i, j in combinations(range(len(group)), 2):
        both = paired_rows(group[i].line, group[j].line, metric)
        first += [i] * len(both)
        second += [j] * len(both)
        score.append((toward * np.sign(both["difference"].to_numpy()) + 1) / 2)
        people.append(both["person"].to_numpy().astype(str))
        prompts.append(both["prompt"].to_numpy().astype(str))
    found = bradley_terry(
        np.array(first),
        np.array(second),
        np.concatenate(score),
        np.concatenate(people),
        len(group),
        np.concatenate(prompts),
    )
    order = sorted(range(len(group)), key=lambda place: -(found.strengths[place].value or 0.0))
    return Ranked(
        judge=judge,
        metric=metric.name,
        names=_names(group, order),
        strengths=tuple(found.strengths[place] for place in order),
        contrasts=_contrasts(found, order, group, margin),
        note=found.note,
    )


def _names(group: Sequence[Contestant], order: Sequence[int]) -> tuple[str, ...]:
    plain = [contestant.name for contestant in group]
    told_apart = [
        f"{name} in {contestant.run}" if plain.count(name) > 1 else name
        for name, contestant in zip(plain, group, strict=True)
    ]
    return tuple(told_apart[place] for place in order)


def _contrasts(
    found: Ranking, order: Sequence[int], group: Sequence[Contestant], margin: float
) -> tuple[RankContrast, ...]:
    """The contrasts by rank, the higher ranked first, tested together."""
    rank = {place: position for position, place in enumerate(order)}
    gaps = {}
    for c in found.contrasts:
        one, two = rank[c.first], rank[c.second]
        gaps[min(one, two), max(one, two)] = c.gap if one < two else negated(c.gap)
    pairs = sorted(gaps)
    tested = decide_together([Hypothesis(gaps[pair], margin=log_odds_margin(margin)) for pair in pairs])
    met = [contestant.name if contestant.met_people else None for contestant in group]
    return tuple(
        RankContrast(one, two, finding, tuple(filter(None, (met[order[one]], met[order[two]]))))
        for (one, two), finding in zip(pairs, tested, strict=True)
    )


def _cap(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def comparison_part(
    comparisons: Sequence[Comparison], rankings: Sequence[Ranked], notes: Sequence[str], pictures: bool = True
) -> ReportPart:
    """Whether runs differ: a sentence and a row for each comparison, then the rankings."""
    runs = list(dict.fromkeys(name for one in comparisons for name in (one.first.run, one.second.run)))
    sentences = [one.sentence() for one in comparisons]
    legend = [*legend_for(one.tested for one in comparisons), *notes]
    drawn = _differences_picture(comparisons) if pictures else []
    lead: list[Piece] = [*drawn, _differences_grid(comparisons)]
    sections = [
        Section(ranking.grid().title, [ranking.grid(), Sentences(ranking.sentences())])
        for ranking in rankings
    ]
    if rankings:
        legend.append(HOW)
    items = max((one.difference.n for one in comparisons), default=0)
    return ReportPart(
        ", ".join(runs),
        f"Comparison of {', '.join(runs)}",
        sentences,
        [*lead, *([Sentences(legend, small=True)] if legend else [])],
        sections,
        facts=[f"{len(runs)} runs", f"{items:,} shared items"],
    )


def _differences_grid(comparisons: Sequence[Comparison]) -> Grid:
    rows = []
    for one in comparisons:
        unit, gap = unit_of(one.measured), one.difference
        interval = (
            ""
            if gap.low is None or gap.high is None
            else f"{unit.signed(gap.low)} to {unit.signed(gap.high)}"
        )
        value = Cell("–") if gap.value is None else Cell(unit.signed(gap.value), interval, gap.value)
        p = Cell("–") if one.p_holm is None else Cell(f"{one.p_holm:.3f}", sort=one.p_holm)
        counts = [Cell(f"{count:,}", sort=float(count)) for count in (gap.n, gap.people)]
        names = [one.first.name, one.second.name]
        if names[0] == names[1]:
            names = [f"{side.name} in {side.run}" for side in (one.first, one.second)]
        rows.append(Row(names, [Cell(one.metric), value, p, *counts]))
    return Grid(
        "Differences",
        "First minus second on the items both answered, in points or in the marks of the scale, 95 % interval below.",
        ["first", "second"],
        ["metric", "difference", "p (Holm)", "items", "people"],
        rows,
    )


def _differences_picture(comparisons: Sequence[Comparison]) -> list[Piece]:
    """The differences of shares as marks with intervals, where there is more than one to see together."""
    shown = [
        one for one in comparisons if unit_of(one.measured) == POINTS and one.difference.value is not None
    ]
    if len(shown) < 2:
        return []
    several = len({one.metric for one in shown}) > 1
    rows = [
        PlotRow(
            f"{one.first.name} − {one.second.name}" + (f", {one.metric}" if several else ""),
            [Dot(*(None if end is None else 100 * end for end in (gap.value, gap.low, gap.high)))],
        )
        for one in shown
        for gap in (one.difference,)
    ]
    caption = "How to read it: first minus second in points; bars are 95 % intervals, the dotted line is no difference."
    return [Picture("Differences", caption, panels_figure(rows, [Panel("first minus second, points", 0.0)]))]
