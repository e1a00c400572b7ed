"""From single choices to one row per item: right, right without order, and the same in both orders.

A tie between two scores ½, among more than two what guessing would, whether the rater or gold says so; without gold there is no
score. `accuracy` averages both orders; `debiased` takes the sign of the summed margins, which only pairs have: elsewhere it is the
accuracy. `consistent` says whether both orders gave the same answer. Asks without an answer count in `asked` and nowhere else.
"""

from collections.abc import Sequence

import polars as pl

from personafit.statistics.clusters import Estimate, cluster_mean, prompts_recur

TIE = "tie"
UNIT = (0.0, 1.0)
PLACES = {
    letter: str(10 + place) for place, letter in enumerate("abcdefghij")
}  # an order names its places by one character each


def choice_scores(answers: pl.DataFrame, by: Sequence[str] = ("item",)) -> pl.DataFrame:
    """One row per item (or whatever `by` tells apart) from rows with gold, order, sample, status, label and value.

    Adds accuracy, debiased, consistent, first (how often the answer shown first was chosen), asked and answered; further
    columns (person, prompt, slices) are carried over. A column `option_count` says how many answers each item has; without it they are two.
    """
    options = pl.col("option_count") if "option_count" in answers.columns else pl.lit(2)
    answered = pl.col("status") == "ok"
    known = answered & pl.col("gold").is_not_null()
    right = (
        pl.when((pl.col("label") == TIE) | (pl.col("gold") == TIE))
        .then(1 / options)
        .otherwise((pl.col("label") == pl.col("gold")).cast(pl.Float64))
    )
    # The margin is that of product 0; turned so that a positive one favours the gold answer.
    sign = pl.when(pl.col("gold") == "0").then(1.0).when(pl.col("gold") != TIE).then(-1.0).otherwise(0.0)
    first = (
        pl.when(pl.col("label") == TIE)
        .then(1 / options)
        .otherwise(pl.col("label") == pl.col("order").str.head(1).replace(PLACES))
    ).cast(pl.Float64)
    carried = [name for name in answers.columns if name not in _CONSUMED]
    return (
        answers.with_columns(
            pl.when(known).then(right).alias("right"),
            pl.when(known).then(sign * pl.col("value")).alias("toward_gold"),
            pl.when(answered).then(pl.col("label")).alias("said"),
        )
        .group_by(by, maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in carried if name not in by),
            pl.col("right").mean().alias("accuracy"),
            first.filter(answered & (pl.col("order") != "")).mean().alias("first"),
            pl.col("toward_gold").sum().alias("lead"),
            options.first().alias("_options"),
            pl.col("said").drop_nulls().n_unique().alias("different"),
            pl.col("order").filter(answered).n_unique().alias("orders_answered"),
            pl.len().alias("asked"),
            answered.sum().alias("answered"),
        )
        .with_columns(
            pl.when(pl.col("_options") > 2)
            .then(pl.col("accuracy"))
            .when(pl.col("accuracy").is_not_null())
            .then(pl.when(pl.col("lead") == 0).then(0.5).otherwise((pl.col("lead") > 0).cast(pl.Float64)))
            .alias("debiased"),
            pl.when(pl.col("orders_answered") > 1)
            .then((pl.col("different") == 1).cast(pl.Float64))
            .alias("consistent"),
        )
        .drop("lead", "_options", "different", "orders_answered")
    )


_CONSUMED = frozenset({"order", "sample", "status", "label", "value", "gold", "option_count"})


def mean_by_item(items: pl.DataFrame, column: str, bounds: tuple[float, float] | None = UNIT) -> Estimate:
    """The clustered mean of a column of per-item scores, items without one left out."""
    scored = items.filter(pl.col(column).is_not_null())
    if scored.is_empty():
        return Estimate(None, None, None, 0, 0, "no item has an answer")
    people, prompts = scored["person"].to_numpy(), scored["prompt"].to_numpy()
    two_way = prompts_recur(people, prompts)
    return cluster_mean(scored[column].to_numpy(), people, prompts if two_way else None, bounds)


def paired_difference(first: pl.DataFrame, second: pl.DataFrame, column: str) -> Estimate:
    """The clustered mean of first minus second over the items both have."""
    both = first.join(second.select("item", pl.col(column).alias("other")), on="item", how="inner")
    return mean_by_item(
        both.with_columns((pl.col(column) - pl.col("other")).alias("difference")), "difference", (-1.0, 1.0)
    )


def coverage(items: pl.DataFrame) -> float | None:
    """The share of asks that brought an answer."""
    asked = int(items["asked"].sum()) if len(items) else 0
    return int(items["answered"].sum()) / asked if asked else None
