"""A relevance run read back: a row per pair, rater and context with the label people gave, and the figures taken from them.

Where a rater gave scores only, it picks the top share of each list, the one with the best F1 on all other prompts.
`over_selection` is the share of pairs a rater calls relevant over the share people do, on the pairs it answered: 1 picks as many,
2 twice as many. `average_precision` and `r_precision` (the hits among the top k of a list with k relevant ones) are those of each
list's ranking, averaged over the lists with anything relevant.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit.items.relevance import ALONE, GRADES, NO, RELEVANT_GRADES, YES, list_name
from personafit.kinds.lines import Feature, Line, Metric, Reference, RunLines, control_of
from personafit.statistics import Estimate
from personafit.statistics import detection as detecting
from personafit.statistics.detection import crossfit_threshold, standing
from personafit.store import RunRecord, Status, Store, gold_answers, run_items
from personafit.store import tables as t

HEDGED = re.compile(r"\b(?:may|might|likely)\b", re.IGNORECASE)
SIZES = ((20, "up to 20"), (30, "21 to 30"), (100, "31 to 100"))
SHORT_PROMPT = 60
PUBLISHED = "published votes"
CONTROLS = {
    "rule:always-yes": "always yes",
    "rule:bm25": "BM25",
    "rule:overlap": "shared words",
    "embedding": "embedding",
}

CROSSFIT = (
    "it gives scores only: of each list it picks the top share that has the best F1 on all other prompts"
)
SCHEMA = {
    "item": pl.String,
    "rater": pl.String,
    "view": pl.String,
    "sample": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
    "ask": pl.String,
    "detail": pl.String,
}
SLICED: tuple[detecting.Metric, ...] = ("precision", "recall", "f1", "yes_rate", "over_selection")
COMPARED: tuple[detecting.Metric, ...] = ("f1", "precision", "recall", "over_selection")
SLICES = ("hedged", "list", "language", "prompt_name")
WHOLE: tuple[tuple[str, ...], ...] = ((),)
Ranking = Literal["average_precision", "r_precision"]
NEITHER = ("yes_rate", "over_selection")
"""Figures that have no good end."""
RANKED: tuple[Ranking, ...] = ("average_precision", "r_precision")
FEW_VALUES = 2  # scores with no more values than this rank nothing
HOW = "interval linearised and clustered by person and prompt"


@dataclass(frozen=True)
class RelevanceScores:
    """A run with all of its lines."""

    run: RunRecord
    info: dict[str, Any]
    items: pl.DataFrame
    """Every pair of the run: item, person, prompt, list_name, attribute, relevant, hedged, list, prompt_name."""
    lines: list[Line]
    """One per rater and view, and per rater whose votes came with the data; frames have status, label, yes and score of every pair."""
    answers: pl.DataFrame
    """Every answer as read, samples apart."""
    attributes: dict[str, str] = field(default_factory=dict)
    """Attribute product by item."""


def load_relevance(store: Store, run: RunRecord) -> RelevanceScores:
    """Read a relevance run back."""
    info = store.dataset_info(run.dataset)
    if not info.get("published"):  # a folder's own title is about all that is in it
        info["title"] = f"{info['name']}: which attributes matter for a prompt?"
    products = _products(store, run.dataset)
    items = _items(store, run, info, products)
    answers = relevance_answers(store, run.id, items)
    samples = int(run.config["samples"])
    lines = []
    for rater in run.config["raters"]:
        for view in rater["views"]:
            mine = answers.filter((pl.col("rater") == rater["fingerprint"]) & (pl.col("view") == view))
            frame, notes = _decided(items, mine, samples)
            control = control_of(rater["name"], view, CONTROLS, {ALONE: "attribute alone"})
            lines.append(Line.of(rater, view, frame, control, notes))
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
    """The pairs with what was said of them; several samples are averaged, and half of them are enough for a yes."""
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
    if frame.select(
        graded.any()
    ).item():  # how often each grade was given, and how often people call such a pair relevant
        relevant = pl.col("relevant").cast(pl.Float64)
        for grade in GRADES:
            given = pl.col("label") == grade
            frame = frame.with_columns(
                pl.when(graded).then(given.cast(pl.Float64)).alias(f"given {grade}"),
                pl.when(given).then(relevant).alias(f"relevant {grade}"),
            )
    undecided = frame.filter(pl.col("score").is_not_null() & pl.col("yes").is_null())
    if undecided.is_empty():
        return frame, ()
    return _crossfitted(frame)


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
    """The votes of others that came with the data."""
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


# -- what was said ----------------------------------------------------------------------------------------------------------


def relevance_answers(store: Store, run: int, items: pl.DataFrame) -> pl.DataFrame:
    """Every pair a run has asked about, with the last answer to it.

    A list that failed left no judgments: what it still lacks counts as failed. A final answer wins over a failure, a
    later generation over an earlier one.
    """
    ask, judgment = t.asks, t.judgments
    asked = t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job)
    asks = store.frame(
        select(
            ask.c.job,
            ask.c.id.label("ask"),
            ask.c.generation,
            ask.c.item.label("about"),
            ask.c.rater,
            ask.c.view,
            ask.c.sample,
            ask.c.status.label("ask_status"),
            ask.c.detail,
            ask.c.at,
        )
        .select_from(asked)
        .where(t.run_jobs.c.run == run)
    )
    if asks.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    last = (
        asks.with_columns(
            (pl.col("ask_status") != Status.FAILED).alias("final"), pl.col("detail").cast(pl.String)
        )
        .sort("job", "final", "generation", "at")
        .unique("job", keep="last", maintain_order=True)
    )
    said = store.frame(
        select(
            judgment.c.ask,
            judgment.c.item,
            judgment.c.parse,
            judgment.c.status,
            judgment.c.label,
            judgment.c.value,
        )
        .select_from(asked.join(judgment, judgment.c.ask == ask.c.id))
        .where(t.run_jobs.c.run == run)
    )
    answered = _answered(last, said)
    return pl.concat([answered, _failed(last, answered, items)])


def _answered(last: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    if said.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    return (
        last.join(said.unique(["ask", "item", "parse"]), on="ask", how="inner", maintain_order="left")
        .sort("parse", maintain_order=True)
        .unique(["job", "item"], keep="last", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    )


def _failed(last: pl.DataFrame, answered: pl.DataFrame, items: pl.DataFrame) -> pl.DataFrame:
    """The pairs of failed asks: the item asked about, or whatever its list has no answer for yet."""
    failures = last.filter(~pl.col("final"))
    if failures.is_empty():
        return pl.DataFrame(schema=SCHEMA)
    members = pl.concat(
        [
            items.select(pl.col("item").alias("about"), "item"),
            items.select(pl.col("list_name").alias("about"), "item"),
        ]
    )
    keys = ["item", "rater", "view", "sample"]
    return (
        failures.join(members, on="about", how="inner", maintain_order="left")
        .join(answered, on=keys, how="anti")
        .unique(keys, keep="last", maintain_order=True)
        .with_columns(
            pl.lit(Status.FAILED.value).alias("status"),
            pl.lit(None, pl.String).alias("label"),
            pl.lit(None, pl.Float64).alias("value"),
        )
        .select(pl.col(name).cast(kind) for name, kind in SCHEMA.items())
    )


# -- figures ----------------------------------------------------------------------------------------------------------------


def opened_relevance(scores: RelevanceScores) -> RunLines:
    """The lines of a relevance run with their metrics, the slices that tell pairs apart, and what people said of the same pairs."""
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
    """Whether the list is longer than those that most attributes are on."""
    size = frame.select(pl.len().over("list_name")).to_series()
    return size > size.median()


def _detected(name: detecting.Metric) -> Metric:
    """A figure of yes-or-no answers: no mean, but compared by what each pair does to it."""

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
