"""The report of a preference run: whether raters and people prefer the personalized answers, and what else pulls at them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from personafit.items.preference import HIGHEST, LOWEST, MIDDLE, PREFER
from personafit.kinds.preference_scores import (
    RULE,
    VOTES,
    PreferenceScores,
    load_preferences,
    opened_preferences,
)
from personafit.reporting import claims
from personafit.reporting.agree_part import agreement_section
from personafit.reporting.agree_ratings import lines_source
from personafit.reporting.asked import asks_section, coverage_warnings, rater_instrument, when
from personafit.reporting.line_results import (
    line_coverage,
    worst_coverage,
)
from personafit.reporting.pieces import Cell, Grid, Picture, Piece, Prose, Row, Section, result_cell
from personafit.reporting.preference_results import (
    PUBLISHED,
    mention_figure,
    number_text,
    preference_figure,
    preference_results,
    rater_rows,
)
from personafit.reporting.rated_items import preference_items
from personafit.reporting.report import KindReport, ReportPart
from personafit.reporting.report_page import browser_piece
from personafit.reporting.result import Result
from personafit.reporting.written import plain
from personafit.statistics.decisions import MARGIN, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

if TYPE_CHECKING:
    pass

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
PERCENT = frozenset({"no_better_items", "win_rate_length_controlled", "mention_rate", "mention_rate_items"})
MARKS = (
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
SEARCHED = {"searched": "prompt, attribute, answer, person or raw reply"}
CAPTION = (
    "How to read it: left, the mean mark a rater gives personalized answers; at the dashed line it prefers neither. Right, how much "
    "higher it marks answers that name the attribute. Bars are 95 % intervals. Filled dots were asked here, hollow squares are rules, "
    "diamonds are people, crosses are published figures from other answers."
)

Index = dict[tuple[str | None, str], Result]
GeneratorKey = tuple[str, str | None]
"""Metric, and rater or detector."""


class PreferenceReport(KindReport):
    """A run in which raters marked a personalized answer against a generic one."""

    def __init__(self, store: Store, run: RunRecord) -> None:
        self._store = store
        self.scores = load_preferences(store, run)
        self.benchmark: str = self.scores.info["name"]
        self.coverage_bar: float = self.scores.info["coverage_bar"]
        self.results = preference_results(self.scores)

    def part(self) -> ReportPart:
        """Marks and the effect of mention, those asked for beside people and rules, and everything else folded."""
        return self._part

    @cached_property
    def _part(self) -> ReportPart:
        scores = self.scores
        run, items = scores.run, preference_items(self._store, scores)
        return replace(
            self.brief(),
            sections=list(self._sections()),
            browser=[browser_piece(run.name, "choice", data=items, values=SEARCHED)],
            instrument=rater_instrument(
                self._store,
                run,
                scores.info,
                {"people's marks": scores.people_are or "none"},
                [{"orders": ORDERS[int(rater["orders"])]} for rater in run.config["raters"]],
                {"preference": PREFER.task},
                _notes(scores),
            ),
        )

    def brief(self) -> ReportPart:
        """The same without what is folded, the items and the instrument."""
        return self._brief

    @cached_property
    def _brief(self) -> ReportPart:
        scores, results = self.scores, self.results
        run, info, units = scores.run, scores.info, scores.units
        own = [line for line in scores.lines if line.control != VOTES]
        asked, answered = (int(sum(line.frame[name].sum() for line in own)) for name in ("asked", "answered"))
        lead: list[Piece] = coverage_warnings(run, self.coverage_bar, asked, answered)
        if scores.people_are == "simulated":
            lead.append(Prose(SIMULATED, "warning"))
        if (figure := preference_figure(scores, results)) is not None:
            lead.append(Picture("Marks, and what naming the attribute does to them", CAPTION, figure))
        lead.append(rater_grid("Marks by rater", results, FEW_COLUMNS, published=False))
        return ReportPart(
            run.name,
            str(info["title"] or info["name"]),
            self.sentences(),
            lead,
            facts=[
                f"run {run.name}",
                when(run.started),
                f"{units['item'].n_unique():,} pairs of answers, {len(units):,} marks each",
                f"{units['person'].n_unique():,} people",
                f"{units['prompt'].n_unique():,} prompts",
                *([f"coverage {100 * answered / asked:.1f} %"] if asked else []),
            ],
        )

    def _sections(self) -> Iterator[Section]:
        scores, results = self.scores, self.results
        yield Section(
            "All figures of raters",
            [rater_grid("Every rater", results, list(COLUMNS))],
            "Every rater, people and published figures.",
        )
        writers = generator_grid(scores, results)
        differences = [
            Row([str(r.rater), r.system or "", r.given or "", r.slice["against"]], [_cell(r)])
            for r in results
            if r.metric == "rating_difference" and r.value is not None
        ]
        pieces: list[Piece] = [writers] if writers.rows else []
        if differences:
            caption = "What a system was told against what else it was told, paired by prompt and attribute."
            heads = ["rater", "system", "system context", "against"]
            pieces.append(Grid("Differences of mean marks", caption, heads, ["difference"], differences))
        pieces += mention_pictures(results)
        if pieces:
            lead = "How often answers name an attribute, how much longer they get, and how each rater marks them."
            yield Section("Who wrote the answers", pieces, lead)
        opened = opened_preferences(scores)
        if opened.references:
            yield agreement_section(lines_source(self._store, opened), opened, self.margin)
        counted = "Marks by how they ended, both orders counted; a failed ask counts once."
        yield asks_section(scores.run.config["raters"], scores.answers, {}, counted)

    def sentences(self) -> list[str]:
        """What the tables mean, a sentence each."""
        return explain_preferences(self.scores, self.results)

    def worst_coverage(self) -> tuple[str, float] | None:
        """The rater asked for with the least coverage, models that said what is named included."""
        scores = self.scores
        shares = [
            (str(line.rater), line_coverage(line.frame), line.asked_for)
            for line in scores.lines
            if line.control != VOTES
        ]
        count = len(scores.units)
        for column, name in scores.detectors.items() if count else ():
            shares.append((name, 1 - scores.units[column].null_count() / count, True))
        return worst_coverage(shares)


ORDERS = {1: "one: it looks at each answer by itself", 2: "both"}


def _notes(scores: PreferenceScores) -> list[str]:
    """What is odd in the data, and how scores became marks."""
    own = [f"{line.rater}: {note}." for line in scores.lines for note in line.notes]
    return list(dict.fromkeys([*scores.run.config["notes"], *own]))


def mention_pictures(results: Sequence[Result]) -> list[Piece]:
    """How often models name attributes as writers against how they mark naming as judges, where some are both."""
    figure = mention_figure(results)
    if figure is None:
        return []
    found = [r for r in results if r.metric == "mention_rate_against_effect" and r.value is not None]
    said = [
        f"Spearman {'published' if r.control == PUBLISHED else 'here'} {plain(r.value or 0.0, 2)} over {r.n} models"
        for r in found
    ]
    caption = "; ".join(
        [
            "How to read it: each mark is a model that wrote answers and judged them; crosses are published",
            *said,
        ]
    )
    return [Picture("Naming as a writer, liking it as a judge", f"{caption}.", figure)]


# -- tables ------------------------------------------------------------------------------------------------------------


def rater_grid(title: str, results: Sequence[Result], columns: Sequence[str], published: bool = True) -> Grid:
    """Every rater with its marks, those asked for first; people, votes in the data and published rows below."""
    remarks: dict[str, int] = {}
    rows = []
    every = sorted(rater_rows(results), key=lambda row: row[1] is not None)
    if not published:  # the small table: nothing that no rater has
        every = [row for row in every if row[1] != PUBLISHED]
        columns = [
            one
            for one in columns
            if any(one in found and found[one].value is not None for *_, found in every)
        ]
    for name, control, found in every:
        coverage = None if control == PUBLISHED else found["rating"].coverage
        cells = [Cell("" if coverage is None else plain(100 * coverage), sort=coverage)]
        for metric in columns:
            result = found.get(metric)
            why = result.note if result is not None and result.value is None and result.note else None
            own = [] if why is None else [remarks.setdefault(why.split("; ")[0], len(remarks) + 1)]
            cells.append(_cell(result, own))
        source = found["rating"].note if control == PUBLISHED else None
        rows.append(Row([name], cells, None if control == PUBLISHED else control, source))
    headings = ["coverage, %", *(COLUMNS[metric] for metric in columns)]
    return Grid(title, MARKS, ["rater"], headings, rows, list(remarks), DEFINED if published else "")


def generator_grid(scores: PreferenceScores, results: Sequence[Result]) -> Grid:
    """Who wrote the answers: mention, length, and the mean mark by each rater."""
    columns = _generator_columns(scores)
    rows = []
    for (name, given, control), found in _generators(results).items():
        source = next((r.note for r in found.values()), None) if control == PUBLISHED else None
        rows.append(Row([name, given], [_cell(found.get(key)) for key in columns], source=source))
    caption = (
        "How often the personalized answer names an attribute, how much longer it is than the generic one, and its mean mark by each "
        "rater."
    )
    heads = ["system", "system context"]
    return Grid("By system", caption, heads, list(columns.values()), rows)


def _generator_columns(scores: PreferenceScores) -> dict[GeneratorKey, str]:
    """Metric and rater (or detector) of each column, with its heading."""
    columns: dict[GeneratorKey, str] = {
        ("mention_rate_items", RULE): "answers that name any, %",
        ("mention_rate", RULE): "attributes named, %",
        ("length_difference", None): "longer by, characters",
    }
    for name in scores.detectors.values():
        columns["mention_rate", name] = f"named, by {name}, %"
    for line in scores.lines:
        columns["rating", line.fingerprint] = f"rating by {line.rater}"
    if scores.people_are is not None:
        columns["rating", scores.people_are] = f"rating, {scores.people_are}"
    return columns


def _generators(results: Sequence[Result]) -> dict[tuple[str, str, str | None], dict[GeneratorKey, Result]]:
    """Figures by system, what it was given, and whether they are published; all together first."""
    rows: dict[tuple[str, str, str | None], dict[GeneratorKey, Result]] = {}
    for r in results:
        if r.metric not in ("mention_rate", "mention_rate_items", "length_difference", "rating"):
            continue
        control = PUBLISHED if r.control == PUBLISHED else None
        if r.system is None and control:
            continue
        detector = r.slice.get("detector") or (RULE if control else None)
        who = detector if r.metric.startswith("mention") else r.fingerprint or r.rater
        rows.setdefault((r.system or "all", r.given or "", control), {})[r.metric, who] = r
    return rows


def _cell(result: Result | None, notes: Sequence[int] = ()) -> Cell:
    if result is None:
        return Cell(notes=notes)
    percent = result.metric in PERCENT
    return result_cell(result, lambda value: number_text(value, result.metric, percent), notes, " to ")


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
        said += _pulls(name, key, found)
        said += _agreement(scores, name, key, index)
    for name, key in people:
        said += _preference(name, key, index, found)
        said += _pulls(name, key, found)
    said += _rates(results)
    if scores.people_are is None:
        said.append(
            "No ratings by people come with these answers: whether a judge is right cannot be said here."
        )
    elif scores.people_are == "simulated":
        said.append(
            "The ratings that judges are held against are simulated: they show that the tables work, and nothing else."
        )
    return [*said, *claims.legend_for(found.values())]


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
    mark, share = index[key, "rating"], index[key, "no_better_items"]
    if mark.value is None:
        yield f"{name} gave no mark that could be read."
        return
    tail = (
        ""
        if share.value is None
        else f", and {100 * share.value:.0f} % of them no better than the generic ones"
    )
    yield claims.mean_mark(name, mark.value, found.get((key, "rating")), tail)


def _pulls(name: str, key: str, found: dict[tuple[str, str], HypothesisTest]) -> Iterator[str]:
    """What pulls at a rater besides the person: the place of an answer, and naming the attribute."""
    for metric, said in (("position_effect", claims.position_pull), ("mention_effect", claims.mention_pull)):
        if finding := found.get((key, metric)):
            yield from said(name, finding)


def _agreement(scores: PreferenceScores, name: str, key: str, index: Index) -> Iterator[str]:
    found = index[key, "spearman"]
    ceiling = index.get((scores.people_are, "human_spearman"))
    if found.value is None:
        return
    beside = "; single raters' agreement is not known here"
    if ceiling is not None and ceiling.value is not None:
        beside = f"; two {scores.people_are} raters correlate at {ceiling.value:.2f}"
    yield f"{name} correlates with {scores.people_are} marks at {found.value:.2f}{beside}."


def _rates(results: Sequence[Result]) -> Iterator[str]:
    rates = [
        r
        for r in results
        if r.metric == "mention_rate_items" and r.system and r.slice == {"detector": RULE} and not r.control
    ]
    if rates:
        listed = "; ".join(
            f"{r.system}{f' ({r.given})' if r.given else ''} {100 * (r.value or 0):.0f} %"
            for r in rates
            if r.value is not None
        )
        yield f"Answers that name at least one attribute, by rule: {listed}."
