"""A run read a page at a time: some items, and every answer about them, in the order of persons or of prompts.

The database sorts, on disk where it must, so memory is that of a page however long the run is; a run of moderate size is one page.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import polars as pl
from sqlalchemy import ColumnElement, FromClause, Select, and_, func, select

from personafit.store import tables as t
from personafit.store.records import Status
from personafit.store.runs import RunRecord
from personafit.store.store import Store

ITEMS = 4_000
ANSWERS_A_PAGE = 400_000  # of items that were asked about often, fewer make a page
ANSWERS = 10_000
ASKS_AT_ONCE, ITEMS_AT_ONCE = 400_000, 40_000  # of a run that is one page: some 100 MB

_ITEM = {
    "position": pl.Int64,
    "item": pl.String,
    "person": pl.String,
    "prompt": pl.String,
    "products": pl.String,
    "slices": pl.String,
    "gold": pl.String,
    "extra": pl.String,
}
_SAID = {
    "job": pl.String,
    "ask": pl.String,
    "generation": pl.Int64,
    "rater": pl.String,
    "view": pl.String,
    "order": pl.String,
    "sample": pl.Int64,
    "ask_status": pl.String,
    "detail": pl.String,
    "at": pl.Float64,
    "parse": pl.Int64,
    "status": pl.String,
    "label": pl.String,
    "value": pl.Float64,
}
_ANSWER = {"position": pl.Int64} | _SAID


def run_pages(
    store: Store, run: RunRecord, gold: str, by: str = "person"
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Pages of items (with gold and tier), each with the answers about them; `by` is `person` or `prompt`.

    Items that the run left out are left out here. Of several tries or readings the one that counts is given, as in
    `run_answers`; products and slices stay JSON until somebody needs them. The answers of a page come in no particular order.
    """
    column, position = t.items.c[by], t.items.c.position
    ordered = _items(run, gold).order_by(column, position)
    count = store.count_items(run.dataset)
    if run.planned <= ASKS_AT_ONCE and count <= ITEMS_AT_ONCE:
        yield _at_once(store, run, store.frame(ordered, _ITEM))
        return
    # Joined to nothing, the column orders as before but no index gives that order: the answers must be sorted once and
    # not looked for item by item, which is what SQLite would choose.
    query = _answers(run).order_by(column.concat(""), position)
    answers = store.frames(query, _ANSWER, ANSWERS)
    ahead = pl.DataFrame(schema=_ANSWER)
    per_item = run.planned // max(1, count)
    size = max(1, min(ITEMS, ANSWERS_A_PAGE // max(1, per_item)))
    for page in store.frames(ordered, _ITEM, size):
        # Both come in the same order: once an answer is about an item of a later page, this page has all of its own.
        while ahead.is_empty() or ahead["position"][-1] in page["position"]:
            more = next(answers, None)
            if more is None:
                break
            ahead = pl.concat([ahead, more])
        here = pl.col("position").is_in(page["position"].implode())
        ours, ahead = ahead.filter(here), ahead.filter(~here)
        yield _selected(run, _with_tier(page)), _that_count(ours)


def _at_once(store: Store, run: RunRecord, items: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The only page of a run of moderate size: its answers in the order of their jobs, in which they are stored."""
    found = store.frame(_stored_answers(run).order_by(t.run_jobs.c.job), {"item": pl.String} | _SAID)
    answers = found.join(items.select("item", "position"), on="item", maintain_order="left")
    return _selected(run, _with_tier(items)), _that_count(answers.select("position", *_SAID))


def _selected(run: RunRecord, items: pl.DataFrame) -> pl.DataFrame:
    """Without the items that the run left out."""
    if run.config["selected"] is None:
        return items
    selected = frozenset(run.config["selected"])
    return items.filter(pl.Series([item in selected for item in items["item"]], dtype=pl.Boolean))


def any_prompt_recurs(store: Store, dataset: str) -> bool:
    """Whether some prompt of the data set was put by more than one person."""
    items = t.items.c
    query = (
        select(items.prompt)
        .where(items.dataset == dataset)
        .group_by(items.prompt)
        .having(func.min(items.person) != func.max(items.person))
        .limit(1)
    )
    return bool(len(store.frame(query)))


def _items(run: RunRecord, gold: str) -> Select[Any]:
    items, label = t.items, t.judgments
    of_gold = and_(label.c.ask == f"{run.dataset}#{gold}", label.c.item == items.c.id)
    columns = (items.c[name] for name in ("position", "id", "person", "prompt", "products", "slices"))
    return (
        select(*columns, label.c.label, label.c.extra)
        .select_from(items.outerjoin(label, of_gold))
        .where(items.c.dataset == run.dataset)
    )


def _answers(run: RunRecord) -> Select[Any]:
    items = t.items
    of_item = and_(items.c.dataset == run.dataset, items.c.id == t.asks.c.item)
    return _stored_answers(run, items.c.position, t.asks.join(items, of_item))


def _stored_answers(
    run: RunRecord, about: ColumnElement[Any] = t.asks.c.item, asks: FromClause = t.asks
) -> Select[Any]:
    """Every answer of the run, the last reading of every try, with what it is about."""
    ask, judgment = t.asks, t.judgments
    of_ask = and_(judgment.c.ask == ask.c.id, judgment.c.item == ask.c.item, judgment.c.target == "")
    asked = ("job", "id", "generation", "rater", "view", "order", "sample", "status", "detail", "at")
    return (
        select(
            about,
            *(ask.c[name] for name in asked),
            *(judgment.c[name] for name in ("parse", "status", "label", "value")),
        )
        .select_from(t.run_jobs.join(asks, ask.c.job == t.run_jobs.c.job).outerjoin(judgment, of_ask))
        .where(t.run_jobs.c.run == run.id, ask.c.question == run.config["question"])
    )


def _that_count(answers: pl.DataFrame) -> pl.DataFrame:
    """One row per job: a final answer wins over failures, a later try or reading over an earlier one."""
    filled = answers.with_columns(pl.col("status").fill_null(pl.col("ask_status")))
    if filled["job"].n_unique() == len(filled):
        return filled
    final = pl.col("ask_status") != Status.FAILED.value
    ranked = filled.sort("job", final, "generation", "at", pl.col("parse").fill_null(0))
    return ranked.unique("job", keep="last", maintain_order=True)


def _with_tier(page: pl.DataFrame) -> pl.DataFrame:
    tiers = [(orjson.loads(extra) if extra else {}).get("tier") for extra in page["extra"]]
    return page.drop("extra").with_columns(pl.Series("tier", tiers, dtype=pl.String))
