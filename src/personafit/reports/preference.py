"""The report of a preference run: whether raters and people prefer the personalized answers, and what biases them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from personafit._errors import counted
from personafit.benchmarks.published import published_file
from personafit.benchmarks.responses import INFO
from personafit.items.preference import GENERIC, HIGHEST, LOWEST, MIDDLE, PERSONAL, PREFER
from personafit.kinds.lines import Line, Metric, RunLines
from personafit.kinds.preference import (
    RULE,
    RULES,
    PreferenceScores,
    by_system,
    human_ceiling,
    load_preferences,
    once_an_item,
    opened_preferences,
    rated_units,
)
from personafit.reports.browse import YES_NO, BrowserItem, PageTexts, pack_items, raw_replies
from personafit.reports.claims import MARKS, ClaimWords, claim, legend_for, people_words
from personafit.reports.kind_report import PUBLISHED, Column, KindReport, LineId, quote
from personafit.reports.line_results import (
    differences_of,
    line_coverage,
    line_shares,
    record,
    results_of,
    worst_coverage,
)
from personafit.reports.pieces import Grid, Picture, Section
from personafit.reports.result import Result, marked_met, plain
from personafit.statistics import Estimate
from personafit.statistics.agreement import spearman
from personafit.statistics.decisions import MARGIN, Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Store

FEWEST_GENERATORS = 3
LABELS = "labels in the data"
PEOPLE = {"human": "people", "simulated": "simulated people"}
"""Names of those whose marks judges are compared with."""
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
SCALE = "Marks run from 1 (generic) through 3 (neither) to 5 (personalized)."
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
    "Left, the mean mark that a rater gives personalized answers; at the dotted line it prefers neither. Right, how much higher it marks "
    "answers that name the attribute."
)

Index = dict[tuple[str | None, str], Result]


class PreferenceReport(KindReport):
    """The report of a run in which raters compared a personalized answer with a generic one."""

    searched: ClassVar[Mapping[str, str]] = {"searched": "prompt, attribute, answer, person or raw reply"}
    asks_whether: ClassVar[str] = "does using the attributes help?"

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_preferences(store, run)
        super().__init__(store, run, self.scores.info, preference_results(self.scores))
        self.lines = self.scores.lines

    def sentences(self) -> list[str]:
        return explain_preferences(self.scores, self.results)

    def worst_coverage(self) -> tuple[str, float] | None:
        """Return the rater asked for with the lowest coverage, including models that detect named attributes."""
        scores = self.scores
        models = [
            (name, 1 - scores.units[column].null_count() / (len(scores.units) or 1), True)
            for name, column in scores.detectors.items()
            if name != RULE
        ]
        return worst_coverage([*line_shares(self.lines), *models])

    def counts(self) -> list[str]:
        units = self.scores.units
        return [
            f"{counted(units['item'].n_unique(), 'pair', 'pairs')} of answers, marked by {counted(len(units), 'attribute', 'attributes')}",
            people_words(units["person"].n_unique()),
            counted(units["prompt"].n_unique(), "prompt", "prompts"),
        ]

    def warnings(self) -> Iterator[str]:
        """Yield what is missing, and whether the ratings are simulated."""
        yield from super().warnings()
        if self.scores.people_are == "simulated":
            yield SIMULATED

    def picture(self) -> Picture | None:
        from personafit.reports.plots import Panel

        panels = [
            (Panel("Mean mark, 1 generic to 5 personalized", float(MIDDLE), 2), "rating", {}),
            (Panel("Mention Δ, points", 0.0, 2), "mention_effect", {"detector": RULE}),
        ]
        title, quoted = "Marks, and the effect of naming the attribute", self._quoted("rater")
        return self.plot(title, CAPTION, self._raters(), panels, quoted, OF_PEOPLE)

    def _quoted(self, of: str) -> list[Result]:
        """Return the published figures of raters or of systems; mentions are taken to be by the rule."""
        return [
            replace(one, slice={"detector": RULE} if one.metric.startswith("mention") else {})
            for one in self.results
            if one.control == PUBLISHED and getattr(one, of)
        ]

    def _raters(self, by_system: bool = False) -> dict[LineId, str | None]:
        """Return every rater, including people and votes in the data, over all answers or by system."""
        found = self.lines_of("rating")
        return {line: control for line, control in found.items() if (line[0] is not None) == by_system}

    def table(self) -> Grid:
        return self.grid("Marks by rater", SCALE, self._raters(), _columns(FEW_COLUMNS), "rating")

    def sections(self) -> Iterator[Section]:
        quoted, columns = self._quoted("rater"), _columns(COLUMNS)
        grid = self.grid("Every rater", SCALE, self._raters(), columns, "rating", quoted, DEFINED)
        yield Section("All figures of raters", [grid], "Every rater, people and published figures.")
        systems = self._raters(by_system=True) or dict([*self._raters().items()][:1])
        grid = self.grid("By system", SCALE, systems, self._by_system(), None, self._quoted("system"))
        caption = "What a system was told against what else it was told, paired by prompt and attribute."
        differences = self.differences("Differences of mean marks", caption, ["rating"])
        lead = "How often answers name an attribute, how much longer they get, and how each rater marks them."
        yield Section("Who wrote the answers", [grid, *differences], lead)
        yield self.agreement(opened_preferences(self.scores))
        counted = "Marks by how they ended, both orders counted; a failed ask counts once."
        yield self.asks(self.scores.answers, counted)

    def _by_system(self) -> list[Column]:
        models = [name for name in self.scores.detectors if name != RULE]
        return [
            ("rating", "rating", {}),
            ("longer by, characters", "length_difference", {}),
            ("answers that name any, %", "mention_rate_items", {"detector": RULE}),
            ("attributes named, %", "mention_rate", {"detector": RULE}),
            *((f"named, by {name}, %", "mention_rate", {"detector": name}) for name in models),
        ]

    def items(self) -> dict[str, Any]:
        return preference_items(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        return {"people's marks": self.scores.people_are or "none"}

    def questions(self) -> dict[str, str]:
        return {"preference": PREFER.words["task"]}


# -- figures -----------------------------------------------------------------------------------------------------------


def preference_results(scores: PreferenceScores) -> list[Result]:
    """Return all results of a run."""
    opened = opened_preferences(scores)
    frames = {line.fingerprint: line.frame.drop_nulls("rating") for line in opened.lines}

    def covered(line: Line) -> float | None:
        """Return the share of answered asks about a system's marked answers, over all its contexts."""
        return line_coverage(frames[line.fingerprint].filter(system=line.system or ""))

    results = [
        *_mention_rates(scores),
        *results_of(opened),
        *differences_of(opened, _between_system_contexts(opened), covered=covered),
        *_people(scores),
    ]
    results.append(mention_rate_against_effect(scores, results))
    if scores.info["version"] == INFO.version:
        results += list(published_results())
    return marked_met(scores.run, results)


def _mention_rates(scores: PreferenceScores) -> list[Result]:
    """Return how often answers name an attribute, by the rule and every model asked, and how much longer they are."""
    made = rated_units(scores.made.with_columns(rating=pl.lit(None, pl.Float64))).with_columns(
        asked=pl.lit(1), longer=once_an_item(pl.col("longer"))
    )
    metrics: list[Metric] = []
    for detector, column in scores.detectors.items():
        named, under = pl.col(column).cast(pl.Float64), (("detector", detector),)
        items, known = f"{column} in items", f"{column} known"
        made = made.with_columns(
            named, once_an_item(named.max().over("item")).alias(items), named.is_not_null().alias(known)
        )
        metrics.append(Metric("mention_rate", column, under=under, answered=known))
        metrics.append(Metric("mention_rate_items", items, under=under, answered=known))
    metrics.append(Metric("length_difference", "longer", None, answered=""))
    line = Line(None, None, None, None, None, made)
    return results_of(RunLines(scores.run, scores.info, "preference", [line], metrics, by_system(made)))


def _people(scores: PreferenceScores) -> list[Result]:
    """Return people's own results: mean mark, share of no preference, mention effect, and their agreement."""
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


def _between_system_contexts(opened: RunLines) -> Iterator[tuple[Line, Line, str]]:
    """Pair the contexts of a system with each other, for each rater, paired by prompt and attribute."""
    for first, second in combinations(opened.by_system().lines, 2):
        same = (first.fingerprint, first.system) == (second.fingerprint, second.system)
        if same and first.system_context and second.system_context:
            yield first, second, second.system_context


def mention_rate_against_effect(scores: PreferenceScores, results: Sequence[Result]) -> Result:
    """Correlate (Spearman) how often models name attributes as writers with how much they favour it as judges."""
    ruled = [r for r in results if r.slice == {"detector": RULE} and r.value is not None]
    rates = {r.system: r.value or 0.0 for r in ruled if r.metric == "mention_rate_items" and r.system}
    effects = {r.fingerprint: r.value for r in ruled if r.metric == "mention_effect"}
    pairs = []
    for line in scores.lines:
        own = [rate for generator, rate in rates.items() if same_model(str(line.rater), str(generator))]
        if line.control is None and own and line.fingerprint in effects:
            pairs.append((np.mean(own), effects[line.fingerprint]))
    value = None
    note = f"undefined: {len(pairs)} of the judges wrote answers here too, and it takes {FEWEST_GENERATORS} such models"
    if len(pairs) >= FEWEST_GENERATORS:
        found = spearman(*np.array(pairs, dtype=float).T)
        value, note = found.value, found.note or "over models; no interval, as models are no sample"
    estimate = Estimate(value, None, None, len(pairs), 0)
    return Result.of(estimate, metric="mention_rate_against_effect", note=note)


def same_model(judge: str, generator: str) -> bool:
    """Return whether a judge and a generator are the same model by name, such as `openai:gpt-5.4@URL` and `gpt-5.4`."""
    one, other = (_model(name) for name in (judge, generator))
    return bool(one) and one == other


def _model(name: str) -> str:
    plain = name.split("@")[0].split(",")[0]
    for kind in ("openai:", "replay:", "embedded:", "python:"):
        plain = plain.removeprefix(kind)
    return plain.rsplit("/", 1)[-1].lower().replace("_", "-")


def published_results() -> Iterator[Result]:
    """Yield every published figure as a result, with its source."""
    body = published_file("responses")

    def of(
        row: Mapping[str, Any],
        metric: str,
        field: str = "",
        rater: str | None = None,
        system: str | None = None,
    ) -> Result:
        source = f"{body['source']}, {row['source']}"
        return quote(metric, row[field or metric], source, row.get("n", 0), rater=rater, system=system)

    for row in body["judges"]:
        for metric in ("rating", "spearman", "mention_effect"):
            if metric in row:
                yield of(row, metric, rater=row["model"])
    for row in body["generators"]:
        yield of(row, "rating", system=row["model"])
        yield of(row, "mention_rate_items", "mention_rate", system=row["model"])
    for metric in ("spearman", "kappa_weighted"):
        yield of(body["ceiling"], f"human_{metric}", metric, rater="people")
    yield of(body["no_better_items"], "no_better_items", "value", rater="people")
    yield of(body["mention_rate_against_effect"], "mention_rate_against_effect", "value")


# -- tables ------------------------------------------------------------------------------------------------------------


def _columns(metrics: Iterable[str]) -> list[Column]:
    """Return the columns of these metrics; the mention effect is by the rule, other detectors are in the results only."""
    rule = {"detector": RULE}
    return [(COLUMNS[metric], metric, rule if metric == "mention_effect" else {}) for metric in metrics]


# -- sentences ---------------------------------------------------------------------------------------------------------


def explain_preferences(scores: PreferenceScores, results: Sequence[Result]) -> list[str]:
    """Return what raters and people prefer, all claims tested together."""
    index: Index = {
        (r.fingerprint or r.rater, r.metric): r
        for r in results
        if r.system is None and r.control != PUBLISHED and r.slice in ({}, {"detector": RULE}) and r.rater
    }
    judges = [line for line in scores.lines if line.control not in RULES.values()]
    names = {str(line.fingerprint): str(line.rater) for line in judges}
    if scores.people_are is not None:
        names[scores.people_are] = scores.people_are
    effects: dict[tuple[str, str], Hypothesis] = {}
    for key in names:
        for metric, null in (("rating", float(MIDDLE)), ("mention_effect", 0.0)):
            row = index.get((key, metric))
            if row is not None and row.value is not None and not row.met_people:
                effects[key, metric] = Hypothesis(row, null, MARGIN * (HIGHEST - LOWEST))
    tested = dict(zip(effects, decide_together(list(effects.values())), strict=True))
    said: list[str] = []
    for key, name in names.items():
        said += _preference(name, key, index, tested)
        said += _agreement(scores, name, index.get((key, "spearman")), index)
    if scores.people_are is None:
        said.append(
            "No ratings by people come with these answers: whether a judge is right cannot be said here."
        )
    return [*said, *legend_for(tested.values())]


def _preference(
    name: str, key: str, index: Index, tested: dict[tuple[str, str], HypothesisTest]
) -> Iterator[str]:
    """Yield the mean mark of personalized answers, and whether naming the attribute changes it."""
    mark, share = index[key, "rating"], index[key, "no_better_items"]
    if mark.value is None:
        yield f"{name} gave no mark that could be read."
        return
    tail = (
        f"{100 * (share.value or 0.0):.0f} % of the personalized answers are no better than the generic ones"
    )
    yield preferred(name, mark, tested.get((key, "rating")), tail if share.value is not None else "")
    naming = tested.get((key, "mention_effect"))
    if naming is not None and naming.decided:
        way = "higher" if naming.verdict is Conclusion.ABOVE else "lower"
        by = MARKS.plain(abs(naming.estimate.value or 0.0))
        yield f"{name} marks answers that name the attribute {way}, by {by}."


PREFERRED = ClaimWords(
    above="prefers the personalized answers",
    below="prefers the generic answers",
    unclear="no evidence that it prefers either answer",
    equivalent="prefers neither answer",
    constant="marks no answer above the other",
)


def preferred(name: str, mark: Result, finding: HypothesisTest | None, tail: str) -> str:
    """Return which answers a rater prefers; `finding` tests its mean mark against the middle of the scale."""
    if finding is None:
        return f"{name}: {tail or 'no claim'}."
    said = claim(name, finding, PREFERRED, "mean" if mark.control else "", MARKS, signed_figure=False)
    return f"{said.removesuffix('.')}; {tail}." if tail else said


def _agreement(scores: PreferenceScores, name: str, found: Result | None, index: Index) -> Iterator[str]:
    """Yield the correlation of a rater's marks with people's, and that among people."""
    ceiling = index.get((scores.people_are, "human_spearman"))
    if found is None or found.value is None or name == scores.people_are:
        return
    beside = "; how far single raters agree is not known here"
    if ceiling is not None and ceiling.value is not None:
        beside = f"; two {scores.people_are} raters correlate at {ceiling.value:.2f}"
    yield f"{name} correlates with {scores.people_are} marks at {plain(found.value, 2)}{beside}."


# -- the item browser --------------------------------------------------------------------------------------------------

MOST_ITEMS = 300  # pairs of answers, whose texts are nearly all of the page
PAIR_WORDS = {
    "right": "personalized better",
    "wrong": "generic better",
    "mixed": "neither better",
    "gold": "",
    "chosen": "Marks by attribute",
    "cut": ", from the beginning of the data",
}
MAKERS = ("generic", "personalized")
PAIR_ORDERS = {f"{GENERIC}{PERSONAL}": "generic first", f"{PERSONAL}{GENERIC}": "personalized first"}


def preference_items(store: Store, scores: PreferenceScores) -> dict[str, Any]:
    """Return the item browser's data; an item is a pair of answers with all marks for each attribute, and the raw replies."""
    kept = scores.units["item"].unique(maintain_order=True)[:MOST_ITEMS]
    items = {item.id: item for item in store.items(scores.run.dataset) if item.id in set(kept)}
    products = store.texts({one for item in items.values() for one in item.products[: PERSONAL + 1]})
    controls = {rater["fingerprint"]: bool(rater["control"]) for rater in scores.run.config["raters"]}
    names = {rater["fingerprint"]: rater["name"] for rater in scores.run.config["raters"]}
    names |= {str(line.fingerprint): str(line.rater) for line in scores.lines}
    frames = {str(line.fingerprint): line.frame for line in scores.lines}
    ratings = [
        {(item, target): mark for item, target, mark in frame.select("item", "target", "rating").iter_rows()}
        for frame in frames.values()
    ]
    letters = [_pair_letters(frames.get(key)) for key in names]
    replies = raw_replies(store, scores.run, {item: item for item in items}, list(names))
    for ask in (ask for asks in replies.values() for ask in asks):
        ask["about"] = PAIR_ORDERS.get(ask.pop("order"))
    texts, shown = PageTexts(), []
    for (item,), rows in scores.units.filter(pl.col("item").is_in(kept.implode())).group_by(
        "item", maintain_order=True
    ):
        marks = []
        for target, attribute, named, human in rows.select(
            "target", "attribute", "names", "human"
        ).iter_rows():
            given = [*([human] if scores.people_are else []), *(one[item, target] for one in ratings)]
            written = [YES_NO[named] or "–", *("–" if one is None else plain(one) for one in given)]
            marks.append([texts.place(attribute), None, [[one, False, None] for one in written]])
        system, told, prompt, person = rows.select("generator", "system_context", "prompt", "person").row(0)
        shown.append(
            BrowserItem(
                id=str(item),
                question=prompt,
                person=person,
                verdicts="".join(one.get(str(item), "n") for one in letters),
                facets={"system": system or "", "system context": told or ""},
                answers=[texts.place(products[one]) for one in items[str(item)].products[: PERSONAL + 1]],
                makers=[GENERIC, PERSONAL],
                asks=replies.get(str(item), []),
                marks=marks,
            )
        )
    whose = [scores.people_are] if scores.people_are else []
    return pack_items(
        store,
        scores.run,
        shown,
        texts,
        list(names.values()),
        controls=[controls.get(key, True) for key in names],
        contexts=["attributes"],
        words=PAIR_WORDS,
        makers=MAKERS,
        total=scores.units["item"].n_unique(),
        columns=["attribute", "named", *whose, *(str(line.rater) for line in scores.lines)],
    )


def _pair_letters(frame: pl.DataFrame | None) -> dict[str, str]:
    """Return a letter per pair that a rater marked: mean mark above, below or at the middle."""
    if frame is None:
        return {}
    mean = pl.col("rating").mean()
    letter = pl.when(mean > MIDDLE).then(pl.lit("r")).when(mean < MIDDLE).then(pl.lit("w"))
    return dict(frame.drop_nulls("rating").group_by("item").agg(letter.otherwise(pl.lit("m"))).iter_rows())
