"""The report of a relevance run: whether raters pick the attributes that people call relevant, and how many more they pick."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import polars as pl

from personafit._errors import counted
from personafit.benchmarks.recentering import published_remarks
from personafit.items.relevance import ALONE, GRADES, SHOWN_UNDER
from personafit.kinds.lines import Line
from personafit.kinds.relevance import (
    COMPARED,
    PUBLISHED,
    RelevanceScores,
    attribute_reasons,
    load_relevance,
    opened_relevance,
)
from personafit.reports.browse import YES_NO, BrowserItem, PageTexts, pack_items, raw_replies
from personafit.reports.claims import POINTS, ClaimWords, claim, legend_for, people_words
from personafit.reports.kind_report import PUBLISHED as QUOTED
from personafit.reports.kind_report import Column, KindReport, line_id, quote
from personafit.reports.line_results import differences_of, results_of
from personafit.reports.pieces import Grid, Picture, Piece, Section, metric_name
from personafit.reports.result import Figures, Result
from personafit.statistics.decisions import Conclusion, Hypothesis, HypothesisTest, decide_together
from personafit.store import RunRecord, Status, Store

COLUMNS = (
    *("f1", "precision", "recall", "accuracy", "kappa"),
    *("yes_rate", "over_selection", "average_precision", "r_precision"),
)
FEW_COLUMNS = ("f1", "precision", "recall", "kappa", "over_selection")
SLICED = {
    "hedged": "Hedged and plain attributes (may, might, likely)",
    "list": "By the number of attributes in the list",
    "language": "By language",
}
UNITS = "In %; kappa and over-selection as they are."
DEFINED = (
    "Over-selection: the share of pairs a rater calls relevant over the share people do, on the pairs it answered; 1 picks as many. "
    "Average precision: of the ranking of each list by score, averaged over lists with anything relevant. R-precision: the hits among "
    "the top k of a list that has k relevant attributes."
)
OVER = 1.2  # above this ratio a rater is reported to over-select
CAPTION = (
    "Precision is the share of the attributes a rater picks that people call relevant; recall is the share of the attributes people "
    "call relevant that it picks. On the right, how many attributes it picks for each one that people pick (dotted line: one)."
)


class RelevanceReport(KindReport):
    """The report of a run in which raters said which attributes matter."""

    clustered: ClassVar[str] = "person and by prompt"
    searched: ClassVar[Mapping[str, str]] = {"searched": "prompt, attribute, reason, person or raw reply"}
    asks_whether: ClassVar[str] = "which attributes matter for a prompt?"

    def __init__(self, store: Store, run: RunRecord) -> None:
        self.scores = load_relevance(store, run)
        super().__init__(store, run, self.scores.info, relevance_results(self.scores))
        self.lines = self.scores.lines

    def sentences(self) -> list[str]:
        return explain_relevance(self.scores, self.results, self.figures)

    def counts(self) -> list[str]:
        items = self.scores.items
        return [
            f"{counted(len(items), 'pair', 'pairs')}, {int(items['relevant'].sum() or 0):,} relevant",
            people_words(items["person"].n_unique()),
            counted(items["prompt"].n_unique(), "prompt", "prompts"),
        ]

    def picture(self) -> Picture | None:
        from personafit.reports.plots import Panel

        percent = (-4.0, 104.0)
        panels: list[tuple[Panel, str, dict[str, str]]] = [
            (Panel("Precision, %", limits=percent), "precision", {}),
            (Panel("Recall, %", limits=percent), "recall", {}),
            (Panel("Picks (people = 1)", 1.0, 2), "over_selection", {}),
        ]
        title = "Precision, recall and number of picks"
        return self.plot(title, CAPTION, self.lines_of("f1"), panels, self._quoted)

    @property
    def _quoted(self) -> list[Result]:
        return [one for one in self.results if one.control == QUOTED]

    def table(self) -> Grid:
        own = {line: one for line, one in self.lines_of("f1").items() if one != PUBLISHED}
        few = {line: one for line, one in own.items() if line[3] != ALONE} or own
        title = f"Agreement with {self.info['gold']}"
        return self.grid(title, UNITS, few, _columns(FEW_COLUMNS), "f1")

    def sections(self) -> Iterator[Section]:
        scores = self.scores
        note = " ".join([DEFINED, *(published_remarks() if self._quoted else [])])
        every, title = self.lines_of("f1"), "Every rater and context"
        yield Section(
            "All scores",
            [self.grid(title, UNITS, every, _columns(COLUMNS), "f1", self._quoted, note)],
            "Every figure of every rater, votes that came with the data and published figures included.",
        )
        yield Section("Grades", self._grades())
        lead = "F1 by hedging, by the length of the list, and by language; results.json has it by prompt too."
        slices = [
            (title, [(value, "f1", {name: value}) for value in dict.fromkeys(self._values(name))])
            for name, title in SLICED.items()
        ]
        grids = [self.grid(title, "F1 in %.", every, columns) for title, columns in slices if columns]
        yield Section("Slices", grids, lead)
        caption = "On the pairs that both answered: in points, over-selection as it is, not adjusted for the number of comparisons."
        lead = "Each rater asked for against every other, and against itself without the prompt."
        yield Section("Differences", self.differences("Differences between raters", caption, COMPARED), lead)
        yield self.agreement(opened_relevance(scores))
        each = len(scores.items) * int(self.record.config["samples"])
        counted = "Pairs by how they ended, over all contexts of a rater."
        yield self.asks(scores.answers, counted, lambda rater: each * len(rater["views"]))

    def _values(self, name: str) -> Iterator[str]:
        return (one.slice[name] for one in self.results if set(one.slice) == {name} and one.metric == "f1")

    def _grades(self) -> list[Piece]:
        """Return how often each grade was given and relevant; empty if nobody graded."""
        metrics = {"grade_share": "given", "relevant_share": "relevant"}
        graded = dict.fromkeys(line_id(one) for one in self.results if one.metric in metrics)
        columns = [
            (f"{grade}: {metrics[metric]}", metric, {"grade": grade})
            for grade in GRADES
            for metric in metrics
        ]
        caption = "How often each grade was given, and how often people call such a pair relevant, in %."
        return [self.grid("Grades", caption, graded, columns)] if graded else []

    def items(self) -> dict[str, Any]:
        return relevance_items(self.store, self.scores)

    def facts(self) -> dict[str, str]:
        return {
            "gold": self.info["gold"],
            **{f"context {name}": SHOWN_UNDER[name] for name in self.record.contexts},
        }

    def members(self) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, str]]]:
        for role, rater, _ in super().members():
            shown = "a whole list at a time" if rater["by_list"] else "one attribute at a time"
            yield role, rater, {"shown": shown}


def _columns(metrics: Sequence[str]) -> list[Column]:
    return [(metric_name(metric), metric, {}) for metric in metrics]


# -- figures -----------------------------------------------------------------------------------------------------------


def relevance_results(scores: RelevanceScores) -> list[Result]:
    """Return all results of a run: of its lines, the differences between raters, and published ones."""
    opened = opened_relevance(scores)
    results = [*results_of(opened), *differences_of(opened, _pairs(scores.lines)), *_quoted(scores)]
    return [
        replace(one, slice={"prompt": one.slice["prompt_name"]}) if "prompt_name" in one.slice else one
        for one in results
    ]


def _pairs(lines: Sequence[Line]) -> Iterator[tuple[Line, Line, str]]:
    """Pair each rater asked for, in its first context with the prompt, with every later rater and with itself without the prompt."""
    first_contexts: dict[str | None, Line] = {}
    for line in lines:
        if line.context != ALONE:
            first_contexts.setdefault(line.fingerprint, line)
    headline = list(first_contexts.values())
    for place, first in enumerate(headline):
        if first.asked_for:
            for second in headline[place + 1 :]:
                yield first, second, str(second.rater)
            for alone in lines:
                if (alone.fingerprint, alone.context) == (first.fingerprint, ALONE):
                    yield first, alone, f"{alone.rater} ({ALONE})"


def _quoted(scores: RelevanceScores) -> Iterator[Result]:
    """Yield the published figures with their sources."""
    for row in scores.info.get("published", []):
        for metric, percent in row["scores"].items():
            yield quote(metric, percent / 100, row["source"], rater=row["model"], context=row["view"])


# -- sentences ---------------------------------------------------------------------------------------------------------


def explain_relevance(scores: RelevanceScores, results: Sequence[Result], figures: Figures) -> list[str]:
    """Return the conclusions, all claims tested together; nothing is claimed about raters fitted on prompts of this run."""
    totals = [r for r in results if r.metric == "f1" and not r.slice and r.context != ALONE]
    own = list(dict.fromkeys((str(r.rater), str(r.context)) for r in totals if r.control is None))
    ruled = [r for r in totals if r.control not in (None, PUBLISHED, QUOTED) and r.value is not None]
    controls = [str(r.rater) for r in sorted(ruled, key=lambda r: -(r.value or 0.0))]
    met = {str(line.rater) for line in scores.lines if line.fingerprint in scores.run.met_people}
    effects: dict[tuple[str, str], Hypothesis] = {}
    for rater, context in own:
        if rater in met:
            continue
        over = figures.find("over_selection", rater, context)
        if over is not None and over.value is not None:
            effects["over", rater] = Hypothesis(over, null=OVER if over.value > 1 else 1 / OVER)
        # The best of several controls is selected by the data.
        if controls and (found := figures.find("f1_difference", rater, context, against=controls[0])):
            effects["control", rater] = Hypothesis(found, picked_from=len(set(controls)))
        if found := figures.find("f1_difference", rater, context, against=f"{rater} ({ALONE})"):
            effects["prompt", rater] = Hypothesis(found)
    tested = dict(zip(effects, decide_together(list(effects.values())), strict=True))
    said: list[str] = []
    for rater, context in own:
        said.append(picks(rater, context, figures, tested.get(("over", rater))))
        if rater in met:
            said.append(f"{rater}: no claim, as it was fitted on prompts of this run.")
        if finding := tested.get(("control", rater)):
            said.append(against_control(rater, controls[0], finding))
        if finding := tested.get(("prompt", rater)):
            said += without_prompt(rater, finding)
    always = figures.value("f1", "rule:always-yes", "none")
    if not own and always is not None:
        said.append(
            f"Saying yes to everything has an F1 of {100 * always:.1f} %: a rater has to be well above that to know anything."
        )
    return [*said, *legend_for(tested.values())]


def picks(rater: str, context: str, figures: Figures, finding: HypothesisTest | None) -> str:
    """Describe how many attributes a rater picks compared with people, and whether that is too many or too few."""
    times = figures.value("over_selection", rater, context)
    if times is None:
        return f"{rater} has no answer that could be compared with people's."
    much = f"{rater} picks {times:.1f} times as many attributes as people do"
    if finding is not None and finding.verdict is Conclusion.ABOVE and times > 1:
        return f"{much}: it over-selects."
    if finding is not None and finding.verdict is Conclusion.BELOW and times < 1:
        return f"{much}: it leaves out what people would use."
    return f"{much}."


def against_control(rater: str, control: str, finding: HypothesisTest) -> str:
    """Return the claim on whether a rater beats the best control."""
    words = ClaimWords(
        above=f"beats the best control, {control}",
        below=f"does worse than the control {control}",
        unclear=f"not distinguishable from the control {control}",
        equivalent=f"no better or worse than the control {control} by {POINTS.plain(finding.margin)}",
        constant=f"the same F1 as the control {control}",
    )
    return claim(rater, finding, words, "F1")


def without_prompt(rater: str, finding: HypothesisTest) -> list[str]:
    """Return the claim on whether a rater reads the prompt; empty if it is shown to."""
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


# -- the item browser --------------------------------------------------------------------------------------------------

MAX_PAIRS = 10_000  # attributes in lists
LIST_WORDS = {
    "right": "as people say",
    "wrong": "not as people say",
    "differ": "raters disagree",
    "chosen": "Who picked what",
    "cut": "",
}
LIST_VERDICTS = {
    "r": "as people say",
    "ob": "picked, but not relevant",
    "ub": "relevant, but not picked",
    "n": "no answer",
}
"""Filters of lists: letters → label; o picks too much, u misses something, b does both."""


def relevance_items(store: Store, scores: RelevanceScores) -> dict[str, Any]:
    """Return the item browser's data; an item is a list of attributes with every rater's picks, and the raw replies."""
    pairs = _kept(scores.items)
    first: dict[str, Line] = {}  # first line of each rater
    for line in scores.lines:
        first.setdefault(str(line.fingerprint), line)
    contexts = list(dict.fromkeys(str(line.context) for line in scores.lines))
    reasons = attribute_reasons(store, (scores.attributes[item] for item in pairs["item"]))
    asks = _list_replies(store, scores, pairs, list(first), contexts)
    said = [_picks(line) for line in scores.lines]
    letters = [_list_letters(line) for line in first.values()]
    texts, shown = PageTexts(), []
    for (name,), rows in pairs.group_by("list_name", maintain_order=True):
        marks = []
        for item, attribute, gold in rows.select("item", "attribute", "relevant").iter_rows():
            place = texts.place(attribute or "(empty)")
            reason = reasons.get(scores.attributes[item])
            cells = [[YES_NO[gold] or "–", False, None], *(one[item] for one in said)]
            marks.append([place, None if reason is None else texts.place(reason), cells])
        person = rows["person"][0]
        about = f"{len(rows)} attributes, {int(rows['relevant'].sum() or 0)} relevant"
        shown.append(
            BrowserItem(
                id=f"{person}, {about}",
                question=rows["prompt"][0],
                person=person,
                about=about,
                verdicts="".join(one.get(str(name), "n") for one in letters),
                asks=asks.get(str(name), []),
                marks=marks,
            )
        )
    named = [
        str(one.rater) if one.context == "none" else f"{one.rater}, {one.context}" for one in scores.lines
    ]
    return pack_items(
        store,
        scores.run,
        shown,
        texts,
        [str(line.rater) for line in first.values()],
        controls=[not line.asked_for for line in first.values()],
        contexts=contexts,
        words=LIST_WORDS,
        verdicts=LIST_VERDICTS,
        total=scores.items["list_name"].n_unique(),
        columns=["attribute", scores.info["gold"], *named],
    )


def _kept(items: pl.DataFrame) -> pl.DataFrame:
    """Return all pairs, or as many whole lists from the start as a page can hold; at least one."""
    sizes = items.group_by("list_name", maintain_order=True).len()
    kept = sizes.filter((pl.col("len").cum_sum() <= MAX_PAIRS) | (pl.int_range(pl.len()) == 0))
    return items.join(kept, on="list_name", how="semi", maintain_order="left")


def _picks(line: Line) -> dict[str, list[Any]]:
    """Return the table cell of each pair: yes or no with the grade or status, whether it differs from people, and the score."""
    found = {}
    columns = ("item", "yes", "relevant", "score", "label", "status")
    for item, yes, relevant, score, label, status in line.frame.select(columns).iter_rows():
        more = label if label in GRADES else "" if status == Status.OK.value else status
        text = " ".join(filter(None, [YES_NO[yes], f"({more})" if more else ""])) or "–"
        differs = None not in (yes, relevant) and yes != relevant
        found[item] = [text, differs, None if score is None else float(f"{score:.4g}")]
    return found


def _list_letters(line: Line) -> dict[str, str]:
    """Return the letter of each list, see `LIST_VERDICTS`."""
    yes, relevant = pl.col("yes"), pl.col("relevant")
    over, under = (yes & ~relevant).any(), (~yes & relevant).any()
    letter = (
        pl.when(over & under).then(pl.lit("b")).when(over).then(pl.lit("o")).when(under).then(pl.lit("u"))
    )
    known = line.frame.drop_nulls(["yes", "relevant"]).group_by("list_name")
    return dict(known.agg(letter.otherwise(pl.lit("r"))).iter_rows())


def _list_replies(
    store: Store, scores: RelevanceScores, pairs: pl.DataFrame, raters: Sequence[str], contexts: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Return raw replies by list: on the whole list or a part, and on one of its attributes."""
    lists = dict(pairs.select("item", "list_name").iter_rows())
    attributes = dict(pairs.select("item", "attribute").iter_rows())
    about = {**lists, **{name: name for name in lists.values()}}
    found = raw_replies(store, scores.run, about, raters, contexts)
    for ask in (ask for asks in found.values() for ask in asks):
        what = attributes[ask["item"]][:80] if ask["item"] in lists else "the list"
        part = ask.pop("order")
        ask["about"] = f"{what}, part {part}" if part else what
    return found
