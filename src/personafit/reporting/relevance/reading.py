"""Reading a relevance run back: one row per pair, rater, view and sample, however the pairs were asked about."""

import polars as pl
from sqlalchemy import select

from personafit.store import Status, Store
from personafit.store import tables as t

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
