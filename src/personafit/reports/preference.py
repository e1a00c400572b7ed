"""The report of a preference run: whether raters and people prefer the personalized answers, and what else pulls at them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import orjson
import polars as pl

from personafit.benchmarks.recentering.responses import INFO
from personafit.items.preference import HIGHEST, LOWEST, MIDDLE, PREFER
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.kinds.preference_scores import (
    RULE,
    VOTES,
    PreferenceScores,
    by_system,
    detectors,
    human_ceiling,
    load_preferences,
    once_an_item,
    opened_preferences,
    rated_units,
)
from personafit.reports.claims import (
    MARKS,
    TOO_FEW,
    interval_words,
    legend_for,
    null_words,
    people_words,
)
from personafit.reports.kind_report import NOT_MEASURED, PUBLISHED, Column, KindReport, LineId
from personafit.reports.line_results import (
    differences_of,
    line_coverage,
    record,
    results_of,
    worst_coverage,
)
from personafit.reports.pieces import Grid, Picture, Piece, Row, Section, metric_cell
from personafit.reports.result import Result, marked_met
from personafit.statistics import Estimate
from personafit.statistics.agreement import spearman
from personafit.statistics.decisions import MARGIN, Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

FEWEST_GENERATORS = 3
LABELS = "labels in the data"
PEOPLE = {"human": "people", "simulated": "simulated people"}
"""Whose marks they are that judges are held against."""
COLUMNS = {
    "rating": "rating",
    "no_better_items": "no better, %",
    "win_rate_length_controlled": "wins at equal length, %",
    "position_effect": "position",
    "mention_effect": "mention Δ",
    "spearman": "ρ with people",
    "kappa_weighted": "weighted kappa",
}
FEW_COLUMNS = ("rating", "no_better_items", "win_rate_length_controlled", "mention_effect", "spearman")
OF_PEOPLE = frozenset({*PEOPLE.values(), LABELS})
PULLS = {
    "position_effect": (
        "leans to the answer shown first by {}; both orders are averaged",
        "leans to the answer shown last by {}; both orders are averaged",
    ),
    "mention_effect": (
        "marks answers that name the attribute higher, by {}",
        "marks answers that name the attribute lower, by {}",
    ),
}
"""What pulls at a rater besides the person, in words: up, and down."""
SCALE = (
    "Marks run from 1 (generic) over 3 (neither) to 5 (personalized). Below each number its 95 % interval."
)
DEFINED = (
    "No better: answers whose mean mark over their attributes is 3 or lower. Wins at equal length: the share of marks above 3 (3 counts "
    "half) there would be if both answers were equally long. Position: the pull to the answer shown first; both orders are averaged "
    "everywhere else. Mention Δ: the mean mark where the answer names the attribute minus the others, by rule. ρ: Spearman; among single "
    "people it was published as .325."
)
SIMULATED = (
    "The ratings in these data are simulated. They show that the tables work and say nothing about people."
)
CAPTION = (
    "How to read it: left, the mean mark a rater gives personalized answers; at the dashed line it prefers neither. Right, how much "
    "higher it marks answers that name the attribute. Bars are 95 % intervals. Filled dots were asked here, hollow squares are rules, "
    "diamonds are people, crosses are published figures from other answers."
)

Index = dict[tuple[str | None, str], Result]


class PreferenceReport(KindReport):
    """A run in which raters marked a personalized answer against a generic one."""

    searched: ClassVar[Mapping[str, str]] = {"searched": "prompt, attribute, answer, person or raw reply"}

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_preferences(store, run)
        super().__init__(store, run, self.scores.info, preference_results(self.scores))
        self.lines = self.scores.lines

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return explain_preferences(self.scores, self.results)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater asked for with the least coverage, models that said what is named included."""
        units = self.scores.units
        shares = [
            (str(line.rater), line_coverage(line.frame), line.asked_for)
            for line in self.lines
            if line.control != VOTES
        ]
        for column, name in self.scores.detectors.items() if len(units) else ():
            shares.append((name, 1 - units[column].null_count() / len(units), True))
        return worst_coverage(shares)

    def counts(self) -> list[str]:
        """Pairs of answers, marks, people and prompts."""
        units = self.scores.units
        return [
            f"{units['item'].n_unique():,} pairs of answers, {len(units):,} marks each",
            f"{units['person'].n_unique():,} people",
            f"{units['prompt'].n_unique():,} prompts",
        ]

    def warnings(self) -> Iterator[str]:
        """What is missing, and where the ratings are no people's."""
        yield from super().warnings()
        if self.scores.people_are == "simulated":
            yield SIMULATED

    def picture(self) -> Picture | None:
        """Mean marks and mention effects side by side; None if nobody gave a mark."""
        from personafit.reports.plots import Panel

        panels = [
            (Panel("Mean mark, 1 generic to 5 personalized", float(MIDDLE), 2), "rating", {}),
            (Panel("Mention Δ, points", 0.0, 2), "mention_effect", {"detector": RULE}),
        ]
        title = "Marks, and what naming the attribute does to them"
        return self.plot(title, CAPTION, self._raters, panels, self._quoted, {*OF_PEOPLE})

    @property
    def _quoted(self) -> list[Result]:
        """The published figures of raters; the effect of mention is taken to be the rule's."""
        return [
            replace(one, slice={"detector": RULE} if one.metric == "mention_effect" else {})
            for one in self.results
            if one.control == PUBLISHED and one.rater
        ]

    @property
    def _raters(self) -> dict[LineId, str | None]:
        """Every rater over all systems' answers, people and votes in the data among them."""
        found = self.lines_of("rating")
        return {line: control for line, control in found.items() if line[0] is None}

    def table(self) -> Grid:
        """Marks and the effect of mention, those asked for beside people and rules."""
        columns = _columns(FEW_COLUMNS)
        return self.grid("Marks by rater", SCALE, self._raters, columns, "rating")

    def sections(self) -> Iterator[Section]:
        """Every figure, who wrote the answers, agreement and asks."""
        scores, results = self.scores, self.results
        every = "Every rater, people and published figures."
        columns = _columns(COLUMNS)
        grid = self.grid("Every rater", SCALE, self._raters, columns, "rating", self._quoted, DEFINED)
        yield Section("All figures of raters", [grid], every)
        caption = "What a system was told against what else it was told, paired by prompt and attribute."
        pieces = [*generator_grids(scores, results)]
        pieces += self.differences("Differences of mean marks", caption, ["rating"])
        lead = "How often answers name an attribute, how much longer they get, and how each rater marks them."
        yield Section("Who wrote the answers", pieces, lead)
        yield self.agreement(opened_preferences(scores))
        counted = "Marks by how they ended, both orders counted; a failed ask counts once."
        yield self.asks(scores.answers, counted)

    def items(self) -> dict[str, Any]:
        """Pairs of answers."""
        from personafit.reports.rated_items import preference_items

        return preference_items(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        """Whose marks raters are held against."""
        return {"people's marks": self.scores.people_are or "none"}

    def questions(self) -> dict[str, str]:
        """What raters were asked."""
        return {"preference": PREFER.task}


# -- figures -----------------------------------------------------------------------------------------------------------


def preference_results(scores: PreferenceScores) -> list[Result]:
    """Every number of a run."""
    opened = opened_preferences(scores)
    results = [
        *_mention_rates(scores),
        *results_of(opened),
        *differences_of(opened, _between_givens(scores.lines), covered=_coverage_of_rated),
        *_people(scores),
    ]
    results.append(mention_rate_against_effect(scores, results))
    if scores.info["version"] == INFO.version:
        results += list(published_results())
    return marked_met(scores.run, results)


def _mention_rates(scores: PreferenceScores) -> list[Result]:
    """How often answers name an attribute, by the rule and by every model that was asked, and how much longer they are."""
    made = rated_units(scores.made.with_columns(rating=pl.lit(None, pl.Float64))).with_columns(
        asked=pl.lit(1), longer=once_an_item(pl.col("longer"))
    )
    metrics: list[Metric] = []
    for detector, column in detectors(scores).items():
        named, under = pl.col(column).cast(pl.Float64), (("detector", detector),)
        items, known = f"{column} in items", f"{column} known"
        made = made.with_columns(
            named,
            once_an_item(named.max().over("item")).alias(items),
            named.is_not_null().alias(known),
        )
        metrics.append(Metric("mention_rate", column, under=under, answered=known))
        metrics.append(Metric("mention_rate_items", items, under=under, answered=known))
    metrics.append(Metric("length_difference", "longer", None, answered=""))
    line = Line(None, None, None, None, None, made)
    return results_of(RunLines(scores.run, scores.info, "preference", [line], metrics, by_system(made)))


def _people(scores: PreferenceScores) -> list[Result]:
    """People's own figures: their mean mark, how often they prefer neither, what mention does to them, and how far they agree."""
    if scores.people_are is None:
        return []
    frame = rated_units(scores.units.with_columns(rating=pl.col("human"))).with_columns(
        asked=pl.lit(1), answered=pl.col("human").is_not_null().cast(pl.Int64)
    )
    control = PEOPLE.get(scores.people_are, LABELS)
    notes = ("simulated raters, not people",) if scores.people_are == "simulated" else ()
    line = Line(scores.people_are, None, None, None, None, frame.drop("human"), control, False, notes)
    opened = replace(opened_preferences(scores), lines=[line])
    ceiling = (
        record(line, Metric(name), (), found, line_coverage(frame), False)
        for name, found in human_ceiling(scores)
    )
    return [*results_of(opened), *ceiling]


def _between_givens(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """What a system was told against what else it was told, paired by prompt and attribute."""
    for line in lines:
        rated = line.frame.filter(pl.col("rating").is_not_null() & (pl.col("given") != "")).with_columns(
            unit=pl.concat_str("group", "target", separator="|")
        )
        for system in rated["system"].unique(maintain_order=True):
            own = rated.filter(system=system)
            own = own.with_columns(covered=pl.lit(line_coverage(own), pl.Float64))
            told = [
                replace(line, system=system or None, given=given, frame=own.filter(given=given))
                for given in own["given"].unique(maintain_order=True)
            ]
            for first, second in combinations(told, 2):
                yield first, second, str(second.given)


def _coverage_of_rated(line: Line) -> float | None:
    """The share of asks that brought a mark, over whatever the system was told."""
    return float(line.frame["covered"][0]) if len(line.frame) else None


def mention_rate_against_effect(scores: PreferenceScores, results: Sequence[Result]) -> Result:
    """Whether models that name attributes as writers like it as judges: Spearman over the models that are both."""
    rates = {
        r.system: r.value
        for r in results
        if r.metric == "mention_rate_items"
        and r.system
        and r.slice == {"detector": RULE}
        and r.value is not None
    }
    pairs = []
    for line in scores.lines:
        if line.control not in (None, "votes in the data"):
            continue
        effect = next(
            r
            for r in results
            if r.metric == "mention_effect"
            and r.fingerprint == line.fingerprint
            and r.slice == {"detector": RULE}
        )
        own = [rate for generator, rate in rates.items() if same_model(str(line.rater), str(generator))]
        if effect.value is not None and own:
            pairs.append((float(np.mean(own)), effect.value))
    if len(pairs) < FEWEST_GENERATORS:
        note = f"undefined: {len(pairs)} of the judges wrote answers here too, and it takes {FEWEST_GENERATORS} such models"
        return Result.of(
            Estimate(None, None, None, len(pairs), 0), metric="mention_rate_against_effect", note=note
        )
    found = spearman(*map(np.array, zip(*pairs, strict=True)))
    note = found.note or "over models; no interval, as models are no sample"
    return Result.of(
        Estimate(found.value, None, None, len(pairs), 0), metric="mention_rate_against_effect", note=note
    )


def same_model(judge: str, generator: str) -> bool:
    """Whether a judge and a generator are one model, by name: 'openai:gpt-5.4@URL' and 'gpt-5.4' are."""
    one, other = (_model(name) for name in (judge, generator))
    return bool(one) and one == other


def _model(name: str) -> str:
    plain = name.split("@")[0].split(",")[0]
    for kind in ("openai:", "replay:", "embedded:", "python:"):
        plain = plain.removeprefix(kind)
    return plain.rsplit("/", 1)[-1].lower().replace("_", "-")


@lru_cache(1)
def published_figures() -> dict[str, Any]:
    """The published figures with their sources."""
    path = files("personafit.benchmarks.recentering") / "published_responses.json"
    body: dict[str, Any] = orjson.loads(path.read_bytes())
    return body


def published_results() -> Iterator[Result]:
    """Every published figure as a record."""
    body = published_figures()
    for row in body["judges"]:
        for metric in ("rating", "spearman", "mention_effect"):
            if metric in row:
                yield _quoted(metric, row[metric], row["source"], rater=row["model"])
    for row in body["generators"]:
        yield _quoted("rating", row["rating"], row["source"], system=row["model"])
        yield _quoted("mention_rate_items", row["mention_rate"], row["source"], system=row["model"])
    for metric in ("spearman", "kappa_weighted"):
        ceiling = body["ceiling"]
        yield _quoted(f"human_{metric}", ceiling[metric], ceiling["source"], rater="people")
    share = body["no_better_items"]
    yield _quoted("no_better_items", share["value"], share["source"], rater="people")
    against = body["mention_rate_against_effect"]
    yield _quoted("mention_rate_against_effect", against["value"], against["source"], n=against["n"])


def _quoted(
    metric: str, value: float, source: str, n: int = 0, rater: str | None = None, system: str | None = None
) -> Result:
    note = f"{NOT_MEASURED}{published_figures()['source']}, {source}"
    return Result.of(
        Estimate(value, None, None, n, 0),
        metric=metric,
        control=PUBLISHED,
        note=note,
        rater=rater,
        system=system,
    )


# -- tables ------------------------------------------------------------------------------------------------------------


def _columns(metrics: Iterable[str]) -> list[Column]:
    """The effect of mention is the rule's; what other detectors say stands in the results."""
    rule = {"detector": RULE}
    return [(COLUMNS[metric], metric, rule if metric == "mention_effect" else {}) for metric in metrics]


def generator_grids(scores: PreferenceScores, results: Sequence[Result]) -> list[Piece]:
    """Who wrote the answers: mention, length, and the mean mark by each rater."""
    rules = {"mention_rate_items": "answers that name any, %", "mention_rate": "attributes named, %"}
    headings: dict[tuple[str, str | None], str] = {}
    headings |= {(metric, RULE): heading for metric, heading in rules.items()}
    headings["length_difference", None] = "longer by, characters"
    headings |= {("mention_rate", name): f"named, by {name}, %" for name in scores.detectors.values()}
    headings |= {("rating", line.fingerprint): f"rating by {line.rater}" for line in scores.lines}
    if scores.people_are is not None:
        headings["rating", scores.people_are] = f"rating, {scores.people_are}"
    rows: dict[tuple[str, str, str | None], dict[tuple[str, str | None], Result]] = {}
    for r in results:
        quoted = r.control == PUBLISHED
        if r.metric in ("length_difference", "rating", *rules) and (r.system or not quoted):
            detector = r.slice.get("detector") or (RULE if quoted else None)
            who = detector if r.metric.startswith("mention") else r.fingerprint or r.rater
            key = r.system or "all", r.given or "", r.note if quoted else None
            rows.setdefault(key, {})[r.metric, who] = r
    caption = (
        "How often the personalized answer names an attribute, how much longer it is than the generic one, and its mean mark by each "
        "rater."
    )
    filled = [
        Row([name, given], [metric_cell(found.get(key)) for key in headings], source=source)
        for (name, given, source), found in rows.items()
    ]
    return [Grid("By system", caption, ["system", "system context"], list(headings.values()), filled)]


# -- sentences ---------------------------------------------------------------------------------------------------------


def explain_preferences(scores: PreferenceScores, results: Sequence[Result]) -> list[str]:
    """The sentences of a run, all claims tested together."""
    index: Index = {
        (r.fingerprint or r.rater, r.metric): r
        for r in results
        if r.system is None and r.control != "published" and r.slice in ({}, {"detector": RULE}) and r.rater
    }
    judges = [line for line in scores.lines if line.control not in ("longer answer", "mention")]
    lines = [(str(line.rater), str(line.fingerprint)) for line in judges]
    people = [] if scores.people_are is None else [(scores.people_are, scores.people_are)]
    found = _tested([key for _, key in (*lines, *people)], index)
    said: list[str] = []
    for name, key in lines:
        said += _preference(name, key, index, found)
        said += _agreement(scores, name, key, index)
    for name, key in people:
        said += _preference(name, key, index, found)
    if scores.people_are is None:
        said.append(
            "No ratings by people come with these answers: whether a judge is right cannot be said here."
        )
    return [*said, *legend_for(found.values())]


def _tested(keys: Sequence[str], index: Index) -> dict[tuple[str, str], HypothesisTest]:
    """Every mark against the middle of the scale, and every effect against none."""
    effects: dict[tuple[str, str], Hypothesis] = {}
    for key in keys:
        for metric, null in (("rating", float(MIDDLE)), ("position_effect", 0.0), ("mention_effect", 0.0)):
            row = index.get((key, metric))
            if row is not None and row.value is not None and not row.met_people:
                effects[key, metric] = Hypothesis(row, null, MARGIN * (HIGHEST - LOWEST))
    return dict(zip(effects, decide_together(list(effects.values())), strict=True))


def _preference(
    name: str, key: str, index: Index, found: dict[tuple[str, str], HypothesisTest]
) -> Iterator[str]:
    """The mean mark of personalized answers, and what pulls at it: the place of an answer, and naming the attribute."""
    mark, share = index[key, "rating"], index[key, "no_better_items"]
    if mark.value is None:
        yield f"{name} gave no mark that could be read."
        return
    tail = ""
    if share.value is not None:
        tail = f", and {100 * share.value:.0f} % of them no better than the generic ones"
    yield mean_mark(name, mark.value, found.get((key, "rating")), tail)
    for metric, (first, other) in PULLS.items():
        finding = found.get((key, metric))
        if finding is not None and finding.decided:
            said = first if finding.verdict is Conclusion.ABOVE else other
            yield f"{name} {said.format(MARKS.plain(abs(finding.estimate.value or 0.0)))}."


def mean_mark(name: str, value: float, finding: HypothesisTest | None, tail: str) -> str:
    """The mean mark of personalized answers beside generic ones; `finding` tests it against the middle of the scale."""
    said = f"{name} marks the personalized answers {value:.2f} on average"
    if finding is None or finding.decided or finding.verdict is Conclusion.CONSTANT:
        return f"{said}{tail}."
    if finding.verdict is Conclusion.TOO_FEW:
        return f"{said} over {people_words(finding.estimate.people)}, {TOO_FEW}{tail}."
    ends = interval_words(finding.estimate, MARKS, signed_figure=False).removeprefix(", ")
    could = null_words(finding, MARKS)
    return f"{said}, which cannot be told from no preference ({ends + '; ' if ends else ''}{could}){tail}."


def _agreement(scores: PreferenceScores, name: str, key: str, index: Index) -> Iterator[str]:
    found = index[key, "spearman"]
    ceiling = index.get((scores.people_are, "human_spearman"))
    if found.value is None:
        return
    beside = "; single raters' agreement is not known here"
    if ceiling is not None and ceiling.value is not None:
        beside = f"; two {scores.people_are} raters correlate at {ceiling.value:.2f}"
    yield f"{name} correlates with {scores.people_are} marks at {found.value:.2f}{beside}."
