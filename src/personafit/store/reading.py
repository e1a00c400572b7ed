"""Reading a run back: one row per planned job, with its last ask and that ask's last reading."""

import orjson
import polars as pl
from sqlalchemy import ColumnElement, and_, func, select

from personafit.store import tables as t
from personafit.store.records import Status
from personafit.store.store import Store

SPENDING = ("tokens_in", "tokens_out", "tokens_reasoning", "cost", "seconds")


def run_answers(store: Store, run: int) -> pl.DataFrame:
    """Every job of a run that was tried: item, rater, view, order, sample, status, label, value, costs.

    A job whose last try failed appears as `failed`; a final answer wins over failures, a later generation over an
    earlier one, and a later reading of the same reply over an earlier one. An ask about a list, or about several targets,
    has a row for each.
    """
    ask, judgment = t.asks, t.judgments
    query = (
        select(
            ask.c.job,
            ask.c.id.label("ask"),
            ask.c.generation,
            func.coalesce(judgment.c.item, ask.c.item).label("item"),
            ask.c.question,
            ask.c.rater,
            ask.c.view,
            ask.c.context,
            ask.c.order,
            ask.c.sample,
            ask.c.status.label("ask_status"),
            ask.c.detail,
            ask.c.at,
            *(ask.c[name] for name in SPENDING),
            judgment.c.target,
            judgment.c.parse,
            judgment.c.status,
            judgment.c.label,
            judgment.c.value,
        )
        .select_from(
            t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job).outerjoin(
                judgment, judgment.c.ask == ask.c.id
            )
        )
        .where(t.run_jobs.c.run == run)
        .order_by(t.run_jobs.c.job)  # as they are stored
    )
    frame = store.frame(query)
    if frame.is_empty():
        return frame
    frame = frame.with_columns(
        pl.col("status").fill_null(pl.col("ask_status")),
        pl.col("target").fill_null(""),
        pl.col("parse").fill_null(0),
        pl.col("label").cast(pl.String),
        pl.col("value").cast(pl.Float64),
    )
    tried_once = frame["job"].n_unique() == len(frame)
    if not tried_once:  # or else there is nothing to choose from, and a long run need not be sorted
        final = pl.col("ask_status") != Status.FAILED
        ranked = frame.sort("job", final, "generation", "at", "parse")
        # Of an ask that was superseded nothing counts, not even what the later one said nothing about.
        counts = ranked.filter(pl.col("ask") == pl.col("ask").last().over("job"))
        frame = counts.unique(["job", "item", "target"], keep="last", maintain_order=True)
    return frame.drop("ask_status")


def gold_answers(store: Store, dataset: str, rater: str | None = None) -> pl.DataFrame:
    """The gold of a data set: item, rater, label, value and, opened up, its tier."""
    conditions: list[ColumnElement[bool]] = [t.judgments.c.ask.like(f"{dataset}#%")]
    if rater:
        conditions.append(t.judgments.c.rater == rater)
    frame = store.frame(
        select(
            t.judgments.c.item,
            t.judgments.c.rater.label("gold_rater"),
            t.judgments.c.label.label("gold"),
            t.judgments.c.value.label("gold_value"),
            t.judgments.c.extra,
        ).where(and_(*conditions))
    )
    tiers = [(orjson.loads(extra) if extra else {}).get("tier") for extra in frame["extra"]]
    # An empty frame has no types of its own, and nothing could be joined to it.
    texts = pl.col("item", "gold_rater", "gold").cast(pl.String)
    return frame.drop("extra").with_columns(texts, pl.Series("tier", tiers, dtype=pl.String))


def item_rows(store: Store, dataset: str) -> pl.DataFrame:
    """The items of a data set without their texts: id, person, prompt key, group and each slice as a column."""
    frame = store.frame(
        select(
            t.items.c.id.label("item"), t.items.c.person, t.items.c.prompt, t.items.c.grp, t.items.c.slices
        )
        .where(t.items.c.dataset == dataset)
        .order_by(t.items.c.position)
    )
    slices = [orjson.loads(value) for value in frame["slices"]]
    # A slice called item is no id.
    names = sorted({name for row in slices for name in row} - set(frame.columns))
    columns = [pl.Series(name, [row.get(name) for row in slices], dtype=pl.String) for name in names]
    return frame.drop("slices").with_columns(columns)


def option_counts(store: Store, dataset: str) -> pl.DataFrame:
    """Per item how many answers it has."""
    rows = store.frame(
        select(t.items.c.id.label("item"), t.items.c.products).where(t.items.c.dataset == dataset)
    )
    counts = pl.Series(
        "option_count", [len(orjson.loads(value)) for value in rows["products"]], dtype=pl.Int64
    )
    return rows.drop("products").with_columns(counts)


def pair_lengths(store: Store, dataset: str) -> pl.DataFrame:
    """Per item how many code points longer product 0 is than product 1."""
    pairs = store.frame(
        select(t.items.c.id.label("item"), t.items.c.products).where(t.items.c.dataset == dataset)
    )
    products = [orjson.loads(value) for value in pairs["products"]]
    lengths = store.lengths({product for pair in products for product in pair})
    longer = [lengths[pair[0]] - lengths[pair[1]] if len(pair) == 2 else None for pair in products]
    return pairs.select("item").with_columns(pl.Series("longer", longer, dtype=pl.Int64))


def count_status(store: Store, run: int) -> dict[str, int]:
    """How many asks of a run ended how, tries included."""
    query = (
        select(t.asks.c.status, func.count())
        .select_from(t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run)
        .group_by(t.asks.c.status)
    )
    return {row[0]: row[1] for row in store.frame(query).iter_rows()}
