"""Relevance: which attributes of a person matter for their prompt. An ask is about one attribute, a list, or part of a list.

A rater that gives scores only picks the top share of each list that has the best F1 on all other prompts.
`over_selection` is the share of pairs a rater calls relevant over the share people do, on the pairs it answered: 1 means as many,
2 twice as many. `average_precision` and `r_precision` (the hits among the top k of a list with k relevant ones) are those of each
list's ranking, averaged over the lists with anything relevant.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo, Controls
from personafit.benchmarks.recentering import INFO as PUBLISHED_INFO
from personafit.items.reading import Part, Question, QuestionSet, Shown
from personafit.items.relevance import (
    ALONE,
    ATTRIBUTES,
    CONTEXTS,
    EMPTY,
    GRADED,
    GRADES,
    LIST,
    MOST_LISTED,
    NO,
    PAIR,
    RELEVANCE,
    RELEVANT_GRADES,
    SHOWN_UNDER,
    YES,
    list_asks,
    list_name,
    with_parts,
)
from personafit.kinds.kind import Kind, RunPlan, ShownAgain, items_of
from personafit.kinds.lines import (
    Feature,
    Line,
    Metric,
    Reference,
    RunLines,
    control_of,
    over_median,
)
from personafit.raters import Rater
from personafit.statistics import Estimate
from personafit.statistics import detection as detecting
from personafit.statistics.detection import crossfit_threshold, standing
from personafit.store import Item, RunRecord, Status, Store, gold_answers, run_answers, run_items
from personafit.store import tables as t

HEDGED = re.compile(r"\b(?:may|might|likely)\b", re.IGNORECASE)
SIZES = ((20, "up to 20"), (30, "21 to 30"), (100, "31 to 100"))
SHORT_PROMPT = 60
PUBLISHED = "published votes"
CONTROL_RATERS = {
    "rule:always-yes": "always yes",
    "rule:bm25": "BM25",
    "rule:overlap": "shared words",
    "embedding": "most similar",
}

CROSSFIT = (
    "it gives scores only: of each list it picks the top share that has the best F1 on all other prompts"
)
SLICED: tuple[detecting.Metric, ...] = ("precision", "recall", "f1", "yes_rate", "over_selection")
COMPARED: tuple[detecting.Metric, ...] = ("f1", "precision", "recall", "over_selection")
SLICES = ("hedged", "list", "language", "prompt_name")
WHOLE: tuple[tuple[str, ...], ...] = ((),)
Ranking = Literal["average_precision", "r_precision"]
NEITHER = ("yes_rate", "over_selection")
"""Metrics for which neither higher nor lower is better."""
RANKED: tuple[Ranking, ...] = ("average_precision", "r_precision")
FEW_VALUES = 2  # scores with at most this many distinct values give no ranking
HOW = "interval linearised and clustered by person and prompt"


class RelevanceKind(Kind):
    """Which attributes matter for a prompt."""

    name = RELEVANCE
    asks: ClassVar[QuestionSet] = ATTRIBUTES
    own_contexts = SHOWN_UNDER
    controls: ClassVar[Controls | None] = PUBLISHED_INFO.controls

    bars: ClassVar[tuple[str, ...]] = ("f1", "precision", "recall", "accuracy", "kappa", "average_precision")
    computed_slices: ClassVar[tuple[str, ...]] = SLICES

    def default_contexts(self, info: BenchmarkInfo) -> list[str]:
        return ["none", ALONE]

    def sample(self, plan: RunPlan, rows: pl.DataFrame, limit: int) -> frozenset[str]:
        """Draw whole lists, one for each prompt before a second for any, up to `limit` items."""
        lists = rows.group_by("person", "grp", maintain_order=True).agg("item", pl.col("prompt").first())
        drawn = [hash_text("select", group, str(plan.config.seed)) for group in lists["grp"]]
        lists = lists.with_columns(pl.Series("drawn", drawn)).sort("drawn", maintain_order=True)
        lists = lists.with_columns(turn=pl.int_range(pl.len()).over("prompt")).sort(
            "turn", maintain_order=True
        )
        taken: list[str] = []
        for items in lists["item"].to_list():
            if not taken or len(taken) + len(items) <= limit:
                taken += items
        return frozenset(taken)

    def shown(self, plan: RunPlan, rater: Rater) -> Iterator[Shown]:
        """Yield everything the rater is shown, by person: whole lists, parts of long ones, or one attribute at a time."""
        if "reasons" not in plan.state:
            every = plan.store.items(plan.dataset)
            plan.state["reasons"] = attribute_reasons(plan.store, [item.products[0] for item in every])
        for _, items in groupby(plan.items(), key=lambda item: item.person):
            lists = _lists(plan.store, list(items), rater.questions[0], plan.state["reasons"])
            for name in contexts_for(plan, rater):
                for shown in _cut(lists, rater, name, plan.config.seed):
                    for sample in range(plan.config.samples):
                        yield replace(shown, sample=sample)

    def count(self, plan: RunPlan, rater: Rater) -> int:
        """Return the number of asks the rater gets; cached, since counting takes a pass over all lists."""
        counts: dict[str, int] = plan.state.setdefault("counts", {})
        if rater.record.fingerprint not in counts:
            counts[rater.record.fingerprint] = sum(1 for _ in self.shown(plan, rater))
        return counts[rater.record.fingerprint]

    def facts(self, plan: RunPlan) -> dict[str, Any]:
        """Return the kind and the question; the form of the question depends on the rater."""
        return {"kind": self.name, "question": RELEVANCE}

    def rater_facts(self, plan: RunPlan, rater: Rater) -> dict[str, Any]:
        return {"by_list": rater.most_parts != 1, "views": contexts_for(plan, rater)}

    def notes(self, plan: RunPlan, benchmark: Benchmark) -> Iterator[str]:
        for rater in plan.raters:
            if rater.most_parts in (None, 1):
                continue
            # It picks a few from each part, which are more than a few from the whole list.
            cut = {shown.about for shown in self.shown(plan, rater) if shown.place}
            if cut:
                yield (
                    f"{rater.record.name} got {len(cut)} lists in parts, because they have more than {rater.most_parts} "
                    "attributes; it picked from each part by itself."
                )
        yield from super().notes(plan, benchmark)

    def shown_again(self, store: Store, run: RunRecord) -> ShownAgain:
        """Return a function that rebuilds a list in its drawn order, or an attribute with all items it stands for."""
        ways = {question.fingerprint: question for question in (PAIR, LIST, GRADED)}
        asked = {
            row.fingerprint: ways.get(orjson.loads(row.settings).get("question", ""))
            for row in store.rows_among(
                select(t.raters.c.fingerprint, t.raters.c.settings),
                t.raters.c.fingerprint,
                [one["fingerprint"] for one in run.config["raters"]],
            )
        }
        lists: dict[str, dict[str, tuple[Part, ...]]] = {}

        def again(rows: Sequence[Any]) -> Shown | None:
            ask, question = rows[0], asked.get(rows[0].rater)
            if question is None:
                return None
            shown = Shown(question, ask.item, "", "", "", (), context=CONTEXTS[ask.context])
            if question is not LIST:
                items = dict.fromkeys(row.judged for row in rows if row.judged is not None)
                return replace(shown, parts=tuple(map(Part, items or (ask.item,))))
            if not lists:
                lists.update(_shown_lists(store, run))
            parts = lists.get(ask.item, {}).get(ask.order)
            return None if parts is None else replace(shown, parts=parts)

        return again

    def lines(self, store: Store, run: RunRecord) -> RunLines:
        """Return a line per rater and context, and one per rater whose votes came with the data."""
        return opened_relevance(load_relevance(store, run))


def contexts_for(plan: RunPlan, rater: Rater) -> list[str]:
    """Return the contexts that make sense for a rater."""
    return [name for name in plan.contexts if name != ALONE or not rater.needs_prompt]


def _lists(
    store: Store, items: Sequence[Item], question: Question, reasons: Mapping[str, str]
) -> list[Shown]:
    """Return the lists that contain the items, each with all of its attributes."""
    texts = store.texts({item.products[0] for item in items})
    lists: dict[tuple[str, str, str], list[Part]] = {}
    for item in items:  # a benchmark folder's group may hold several prompts; a list is about one
        key = item.person, list_name(item.group, item.person), item.prompt
        lists.setdefault(key, []).append(_part(item, texts, reasons))
    return [
        Shown(question, name, "", person, prompt, tuple(parts))
        for (person, name, prompt), parts in lists.items()
    ]


def _shown_lists(store: Store, run: RunRecord) -> dict[str, dict[str, tuple[Part, ...]]]:
    """Return the attributes of every list of a run, by the list's name and the part that was shown."""
    found: dict[str, dict[str, tuple[Part, ...]]] = {}
    for whole in _lists(store, list(items_of(store, run)), LIST, {}):
        for one in list_asks(whole, MOST_LISTED, run.config["seed"]):
            parts = tuple(part for part in one.parts if part.skip is None)
            found.setdefault(whole.about, {})[one.place] = parts
    return found


def _part(item: Item, texts: Mapping[str, str], reasons: Mapping[str, str]) -> Part:
    text = texts[item.products[0]]
    skip = None if text.strip() else EMPTY
    return Part(item.id, "", text, reasons.get(item.products[0]), item.hash, skip)


def _cut(lists: Sequence[Shown], rater: Rater, name: str, seed: int) -> Iterator[Shown]:
    """Yield the lists of one person under one context, in parts of the size that the rater takes.

    Without the prompt an attribute is the same question in every list, so alone it is asked about once for all lists.
    """
    by_text: dict[str, list[Part]] = {}
    for whole in lists:
        shown = replace(whole, context=CONTEXTS[name], prompt="" if name == ALONE else whole.prompt)
        if rater.most_parts != 1:
            yield from list_asks(shown, rater.most_parts, seed)
        elif name == ALONE:
            for part in whole.parts:
                by_text.setdefault(part.text, []).append(part)
        else:
            for part in whole.parts:
                yield with_parts(replace(shown, about=part.item), (part,))
    for parts in by_text.values():
        shown = replace(lists[0], about=parts[0].item, prompt="", context=CONTEXTS[name])
        yield with_parts(shown, tuple(parts))


def attribute_reasons(store: Store, attributes: Iterable[str]) -> dict[str, str]:
    """Return the evidence for attributes, by the attribute's product id: the text of its parent product, if it has one."""
    query = select(t.products.c.id, t.products.c.parents)
    rows = store.rows_among(query, t.products.c.id, list(dict.fromkeys(attributes)))
    parents = {row.id: listed[0] for row in rows if (listed := orjson.loads(row.parents))}
    texts = store.texts(set(parents.values()))
    return {product: texts[parent] for product, parent in parents.items() if texts.get(parent)}


# -- scores -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RelevanceScores:
    """Results of a relevance run: pairs, and a line per rater and context."""

    run: RunRecord
    info: dict[str, Any]
    items: pl.DataFrame
    """Every pair of the run: item, person, prompt, list_name, attribute, relevant, hedged, list, prompt_name."""
    lines: list[Line]
    """One per rater and context, and per rater whose votes came with the data; frames have status, label, yes and score of every pair."""
    answers: pl.DataFrame
    """Every parsed answer, one row per sample."""
    attributes: dict[str, str]
    """Attribute product by item."""


def load_relevance(store: Store, run: RunRecord) -> RelevanceScores:
    """Load a relevance run."""
    info = store.dataset_info(run.dataset)
    products = _products(store, run.dataset)
    items = _items(store, run, info, products)
    answers = relevance_answers(store, run.id, items)
    samples = int(run.config["samples"])
    lines = []
    for rater in run.config["raters"]:
        for context in rater["views"]:
            mine = answers.filter(rater=rater["fingerprint"], context=context)
            frame, notes = _decided(items, mine, samples)
            control = control_of(rater["name"], context, CONTROL_RATERS, {ALONE: "attribute alone"})
            lines.append(Line.of(rater, context, frame, control, notes))
    lines += _published(store, run, info, items)
    return RelevanceScores(run, info, items, lines, answers, products)


def _products(store: Store, dataset: str) -> dict[str, str]:
    frame = store.frame(select(t.items.c.id, t.items.c.products).where(t.items.c.dataset == dataset))
    return {item: orjson.loads(products)[0] for item, products in frame.iter_rows()}


def _items(store: Store, run: RunRecord, info: dict[str, Any], products: dict[str, str]) -> pl.DataFrame:
    gold = gold_answers(store, run.dataset, info["gold"]).unique("item", keep="first", maintain_order=True)
    items = run_items(store, run).join(
        gold.select("item", "gold"), on="item", how="left", maintain_order="left"
    )
    texts = store.texts(set(products.values()))
    attributes = [texts.get(products[item], "") for item in items["item"]]
    number = pl.col("prompt_index") if "prompt_index" in items.columns else pl.lit(None, pl.String)
    return items.with_columns(
        pl.Series("attribute", attributes, dtype=pl.String),
        pl.Series("hedged", ["hedged" if HEDGED.search(text) else "plain" for text in attributes]),
        pl.when(pl.col("gold") == YES).then(True).when(pl.col("gold") == NO).then(False).alias("relevant"),
        pl.Series("list_name", map(list_name, items["grp"], items["person"]), dtype=pl.String),
        pl.len().over("person", "grp").map_elements(_size, return_dtype=pl.String).alias("list"),
        pl.col("item").alias("unit"),
        number.fill_null(pl.col("prompt").str.slice(0, SHORT_PROMPT)).alias("prompt_name"),
    )


def _size(count: int) -> str:
    return next((name for most, name in SIZES if count <= most), "over 100")


def _decided(
    items: pl.DataFrame, answers: pl.DataFrame, samples: int
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Return the pairs with a rater's answers; several samples are averaged, and half of them are enough for a yes."""
    ok = pl.col("status") == Status.OK.value
    said = pl.when(pl.col("label").is_in([YES, *RELEVANT_GRADES])).then(1.0).when(ok).then(0.0)
    per_item = (
        answers.with_columns(pl.when(ok & pl.col("label").is_not_null()).then(said).alias("share"))
        .group_by("item", maintain_order=True)
        .agg(
            pl.col("share").mean(),
            pl.col("value").filter(ok).mean().alias("score"),
            pl.col("label").drop_nulls().first(),
            pl.col("status").first(),
            ok.sum().cast(pl.Int64).alias("answered"),
        )
    )
    frame = items.join(per_item, on="item", how="left", maintain_order="left").with_columns(
        pl.col("answered").fill_null(0), pl.lit(samples).alias("asked"), (pl.col("share") >= 0.5).alias("yes")
    )
    graded = pl.col("label").is_in(list(GRADES))
    if frame.select(graded.any()).item():
        for grade in GRADES:  # how often each was given, and how often people call such a pair relevant
            given, relevant = pl.col("label") == grade, pl.col("relevant").cast(pl.Float64)
            frame = frame.with_columns(
                pl.when(graded).then(given.cast(pl.Float64)).alias(f"given {grade}"),
                pl.when(given).then(relevant).alias(f"relevant {grade}"),
            )
    undecided = frame.filter(pl.col("score").is_not_null() & pl.col("yes").is_null())
    return (frame, ()) if undecided.is_empty() else _crossfitted(frame)


def _crossfitted(frame: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    known = frame.filter(pl.col("score").is_not_null() & pl.col("relevant").is_not_null())
    places = standing(known["score"], known["list_name"])
    thresholds, why_not = crossfit_threshold(places, known["relevant"], known["prompt"])
    if why_not is not None:
        return frame, (why_not,)
    picked = pl.Series(
        "picked", [None if np.isnan(t) else bool(p >= t) for p, t in zip(places, thresholds, strict=True)]
    )
    decided = frame.join(
        known.select("item").with_columns(picked), on="item", how="left", maintain_order="left"
    )
    shares = 1 - thresholds[np.isfinite(thresholds)]
    where = ""
    if len(shares):
        share = " to ".join(dict.fromkeys(f"{100 * end:.0f}" for end in (shares.min(), shares.max())))
        where = f" (the top {share} %, equal scores together)"
    return decided.with_columns(pl.coalesce("yes", "picked").alias("yes")), (f"{CROSSFIT}{where}",)


def _published(store: Store, run: RunRecord, info: dict[str, Any], items: pl.DataFrame) -> list[Line]:
    """Return lines of the votes that came with the data."""
    votes = gold_answers(store, run.dataset)
    lines = []
    for name in votes["gold_rater"].unique(maintain_order=True).sort():
        if name == info["gold"]:
            continue
        mine = votes.filter(pl.col("gold_rater") == name).select(
            "item",
            pl.col("gold").alias("label"),
            pl.lit(Status.OK.value).alias("status"),
            pl.col("gold_value").cast(pl.Float64).alias("value"),
        )
        frame, _ = _decided(items, mine, 1)
        if frame["yes"].null_count() < len(frame):
            note = "votes published with the data; nobody was asked here"
            lines.append(Line(name, name, "none", None, None, frame, PUBLISHED, False, (note,)))
    return lines


# -- judgments --------------------------------------------------------------------------------------------------------------


def relevance_answers(store: Store, run: int, items: pl.DataFrame) -> pl.DataFrame:
    """Return every pair a run has asked about, with the last answer to it.

    A list whose ask failed has no judgments: its missing pairs count as failed.
    """
    answers = run_answers(store, run)
    failed = pl.col("status") == Status.FAILED.value
    answered = answers.filter(~failed).join(items, on="item", how="semi", maintain_order="left")
    about = pl.concat([items.select("item", about="item"), items.select("item", about="list_name")])
    keys = ["item", "rater", "context", "sample"]
    lost = answers.filter(failed).rename({"item": "about"}).join(about, on="about", maintain_order="left")
    lost = lost.join(answered, on=keys, how="anti").unique(keys, keep="last", maintain_order=True)
    return pl.concat([answered, lost.select(answered.columns)])


# -- metrics ----------------------------------------------------------------------------------------------------------------


def opened_relevance(scores: RelevanceScores) -> RunLines:
    """Return the lines of a relevance run with their metrics, the slices of pairs, and people's answers about the same pairs."""
    items = scores.items
    return RunLines(
        scores.run,
        scores.info,
        "relevance",
        scores.lines,
        RELEVANCE_METRICS,
        [(name,) for name in SLICES if name in items.columns and items[name].n_unique() > 1],
        references=[
            Reference("relevance", "yes_rate", "yes", "relevant", scores.info["gold"], margin="score")
        ],
        features=[
            Feature("hedged", "hedged attributes", lambda frame: frame["hedged"] == "hedged"),
            Feature("list_length", "attributes on long lists", _on_long_lists),
        ],
    )


def _on_long_lists(frame: pl.DataFrame) -> pl.Series:
    """Return whether the list is longer than the median row's list."""
    return over_median(frame.select(pl.len().over("list_name")).to_series())


def _detected(name: detecting.Metric) -> Metric:
    """Return a metric of yes-or-no answers, compared by pseudo-values since it is not a mean."""

    def estimate(rows: pl.DataFrame) -> Estimate:
        return detecting.detection(rows["yes"], rows["relevant"], name, rows["person"], rows["prompt"])

    def values(rows: pl.DataFrame) -> pl.Series:
        return pl.Series(detecting.pseudo_values(rows["yes"], rows["relevant"], name)).fill_nan(None)

    return Metric(
        name,
        "yes",
        (-1.0, 1.0) if name == "kappa" else None if name == "over_selection" else (0.0, 1.0),
        estimate=estimate,
        values=values,
        holds=("yes", "relevant"),
        by=None if name in SLICED else WHOLE,
        compared=name in COMPARED,
        how=HOW,
        better=None if name in NEITHER else "higher",
    )


def _ranking(figure: Ranking) -> Callable[[pl.DataFrame], Estimate]:
    def estimate(rows: pl.DataFrame) -> Estimate:
        if rows["score"].n_unique() <= FEW_VALUES:
            return Estimate(None, None, None, 0, 0, "it gives no scores to rank by")
        return detecting.mean_ranking(
            rows["score"], rows["relevant"], rows["list_name"], rows["person"], rows["prompt"], figure
        )

    return estimate


RELEVANCE_METRICS = [
    *map(_detected, detecting.METRICS),
    *(
        Metric(
            name,
            "score",
            estimate=_ranking(name),
            holds=("score", "relevant", "list_name"),
            by=WHOLE,
            noted=False,
        )
        for name in RANKED
    ),
    *(
        Metric(f"{name}_share", f"{column} {grade}", by=WHOLE, under=(("grade", grade),), noted=False)
        for grade in GRADES
        for name, column in (("grade", "given"), ("relevant", "relevant"))
    ),
]
