"""A relevance run opened up: for every rater and view one row per pair, with the label people gave it.

Where a rater gave scores only, it picks the top share of each list, the one with the best F1 on all other prompts.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson
import polars as pl
from sqlalchemy import select

from personafit.items.relevance import ALONE, GRADES, NO, RELEVANT_GRADES, YES, list_name
from personafit.kinds.lines import Line, control_of
from personafit.reporting.relevance.reading import relevance_answers
from personafit.statistics.detection import crossfit_threshold, standing
from personafit.store import RunRecord, Status, Store, gold_answers, item_rows
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
            lines.append(
                Line(
                    rater["name"],
                    rater["fingerprint"],
                    view,
                    None,
                    None,
                    frame,
                    control_of(rater["name"], view, CONTROLS, {ALONE: "attribute alone"}),
                    not rater["control"],
                    notes,
                )
            )
    lines += _published(store, run, info, items)
    return RelevanceScores(run, info, items, lines, answers, products)


def _products(store: Store, dataset: str) -> dict[str, str]:
    frame = store.frame(select(t.items.c.id, t.items.c.products).where(t.items.c.dataset == dataset))
    return {item: orjson.loads(products)[0] for item, products in frame.iter_rows()}


def _items(store: Store, run: RunRecord, info: dict[str, Any], products: dict[str, str]) -> pl.DataFrame:
    gold = gold_answers(store, run.dataset, info["gold"]).unique("item", keep="first", maintain_order=True)
    items = item_rows(store, run.dataset).join(
        gold.select("item", "gold"), on="item", how="left", maintain_order="left"
    )
    if run.config["selected"] is not None:
        items = items.filter(pl.col("item").is_in(run.config["selected"]))
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
