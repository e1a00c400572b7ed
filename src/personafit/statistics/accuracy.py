"""Aggregate single choices into one row per item: accuracy, position-debiased accuracy, and consistency across orders.

A tie, whether the rater's or the gold label's, scores 1 / (number of options), so ½ for a pair; an item without gold has no score.
Samples are averaged within an order first and orders afterwards. An item shown in two orders is scored only if both were answered:
one order alone would credit or blame the item for position bias. `accuracy` averages both orders. `debiased` is the sign of the
margins summed over both orders; only pairs have margins, so with more options it equals `accuracy`. If neither order has a margin,
`debiased` is the sign of the more frequent choice; if only one order has one, it is undefined. `consistent` is whether the majority
answer is the same in both orders. Asks without an answer count only in `asked`.
"""

from collections.abc import Sequence

import polars as pl

from personafit.statistics.clusters import Estimate, cluster_mean

TIE = "tie"
UNIT = (0.0, 1.0)
CANCELLED = 1e-9  # margins cancel out if their sum is at most this share of the sum of their sizes
PLACES = {
    letter: str(10 + place) for place, letter in enumerate("abcdefghij")
}  # an order string has one character per position


def choice_scores(answers: pl.DataFrame, by: Sequence[str] = ("item",)) -> pl.DataFrame:
    """Return one row per item (or per group of `by`) from rows with gold, order, sample, status, label and value.

    Adds accuracy, debiased, consistent, first (how often the answer shown first was chosen), asked and answered. An empty `order`
    marks a rater that order cannot affect; any other value is one of the two planned orders. Further columns (person, prompt,
    slices) are carried over. The column `option_count` holds the number of answers per item; without it every item has two.
    """
    options = pl.col("option_count") if "option_count" in answers.columns else pl.lit(2)
    answered = pl.col("status") == "ok"
    known = answered & pl.col("gold").is_not_null()
    right = (
        pl.when((pl.col("label") == TIE) | (pl.col("gold") == TIE))
        .then(1 / options)
        .otherwise((pl.col("label") == pl.col("gold")).cast(pl.Float64))
    )
    # `value` is the margin of product 0; flip its sign where needed so that a positive margin favours the gold answer.
    toward_gold = (
        pl.when(pl.col("gold") == TIE)
        .then(0.0)
        .when(pl.col("gold") == "0")
        .then(pl.col("value"))
        .otherwise(-pl.col("value"))
    )
    first = (
        pl.when(pl.col("label") == TIE)
        .then(1 / options)
        .otherwise(pl.col("label") == pl.col("order").str.head(1).replace(PLACES))
    ).cast(pl.Float64)
    carried = [name for name in answers.columns if name not in _CONSUMED and name not in by]
    rows = answers.select(
        *by,
        *carried,
        "order",
        options.cast(pl.Int64).alias("_options"),
        pl.when(known).then(right).alias("_right"),
        pl.when(known).then(toward_gold).alias("_margin"),
        pl.when(answered & (pl.col("order") != "")).then(first).alias("_first"),
        pl.when(answered).then(pl.col("label")).alias("_said"),
        pl.lit(1).alias("asked"),
        answered.cast(pl.Int64).alias("answered"),
    )
    sampled = "sample" not in answers.columns or answers["sample"].n_unique() > 1
    return (
        (_orders(rows, by, carried) if sampled else rows)
        .group_by(by, maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in carried),
            pl.when((pl.col("order") != "").any()).then(2).otherwise(1).alias("_planned"),
            *(pl.col(f"_{name}").mean().alias(name) for name in _MEANS),
            *(pl.col(f"_{name}").count().alias(f"_{name}s") for name in (*_MEANS, "margin", "said")),
            pl.col("_margin").sum().alias("_lead"),
            pl.col("_margin").abs().sum().alias("_spread"),
            pl.col("_options").first(),
            pl.col("_said").drop_nulls().n_unique().alias("_different"),
            pl.col("asked").sum(),
            pl.col("answered").sum(),
        )
        .with_columns(
            pl.when(pl.col(f"_{name}s") >= pl.col("_planned")).then(pl.col(name)).alias(name)
            for name in _MEANS
        )
        .with_columns(
            pl.col("right").alias("accuracy"),
            pl.when(pl.col("right").is_null() | (pl.col("_options") > 2))
            .then(pl.col("right"))
            .when(pl.col("_margins") >= pl.col("_planned"))
            .then(_half_step(pl.col("_lead"), CANCELLED * pl.col("_spread")))
            .when(pl.col("_margins") == 0)
            .then(_half_step(pl.col("right") - 0.5, pl.lit(CANCELLED)))
            .alias("debiased"),
            pl.when(pl.col("_saids") > 1)
            .then((pl.col("_different") == 1).cast(pl.Float64))
            .alias("consistent"),
        )
        .select(*by, *carried, "accuracy", "debiased", "consistent", "first", "asked", "answered")
    )


def _orders(rows: pl.DataFrame, by: Sequence[str], carried: Sequence[str]) -> pl.DataFrame:
    """Return one row per item and order: the means over samples and the majority answer."""
    keys = [*by, "order"]
    orders = rows.group_by(keys, maintain_order=True).agg(
        *(pl.col(name).first() for name in carried),
        pl.col("_options").first(),
        *(pl.col(f"_{name}").mean() for name in (*_MEANS, "margin")),
        pl.col("asked", "answered").sum(),
    )
    # A tie adds equally to all answers, so it does not change the majority.
    counts = rows.filter(pl.col("_said") != TIE).group_by(*keys, "_said").len("_count")
    leading = (
        counts.filter(pl.col("_count") == pl.col("_count").max().over(keys))
        .group_by(keys)
        .agg(pl.when(pl.len() == 1).then(pl.col("_said").first()).otherwise(pl.lit(TIE)).alias("_leading"))
    )
    joined = orders.join(leading, on=keys, how="left", maintain_order="left", nulls_equal=True)
    said = pl.when(pl.col("answered") > 0).then(pl.col("_leading").fill_null(TIE))
    return joined.with_columns(said.alias("_said")).drop("_leading")


def _half_step(lead: pl.Expr, tolerance: pl.Expr) -> pl.Expr:
    """Return 1 for a positive lead, 0 for a negative one, and ½ within `tolerance` of 0."""
    return pl.when(lead.abs() <= tolerance).then(0.5).otherwise((lead > 0).cast(pl.Float64))


_MEANS = ("right", "first")
_CONSUMED = frozenset({"order", "sample", "status", "label", "value", "gold", "option_count"})


def mean_by_item(items: pl.DataFrame, column: str, bounds: tuple[float, float] | None = UNIT) -> Estimate:
    """Return the clustered mean of a column of per-item scores; items without a score are left out."""
    scored = items.filter(pl.col(column).is_not_null())
    if scored.is_empty():
        return Estimate(None, None, None, 0, 0, "no item has an answer")
    people, prompts = scored["person"].to_numpy(), scored["prompt"].to_numpy()
    return cluster_mean(scored[column].to_numpy(), people, prompts, bounds)
