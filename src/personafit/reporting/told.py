"""What raters were told, where that differs from item to item or was made by a model: memories found, kept, inferred."""

from collections import defaultdict
from typing import Any

import orjson
import polars as pl
from sqlalchemy import select

from personafit.contexts import is_remembered
from personafit.reporting.totals import RunTotals
from personafit.store import Store
from personafit.store import tables as t


def told_by_item(store: Store, totals: RunTotals) -> dict[int, list[list[Any]]]:
    """Per item of the sample and such view: the view's place, the text, how making it ended, and what it was made from."""
    views = {
        view: place for place, view in enumerate(totals.views) if is_remembered(view.removeprefix("wrong:"))
    }
    answers = totals.sample.answers
    if not views or answers.is_empty():
        return {}
    rows = answers.filter(pl.col("view").is_in(list(views))).unique(["position", "view"], maintain_order=True)
    contexts = _contexts(store, rows["job"].to_list())
    told: dict[int, list[list[Any]]] = defaultdict(list)
    for position, view, job in rows.select("position", "view", "job").iter_rows():
        if job in contexts:
            told[position].append([views[view], *contexts[job]])
    for entries in told.values():
        entries.sort(key=lambda entry: entry[0])
    return told


def _contexts(store: Store, jobs: list[str]) -> dict[str, tuple[str, str, list[str]]]:
    found: dict[str, tuple[str, str, list[str]]] = {}
    product = t.products.c
    query = select(t.asks.c.job, product.text, product.status, product.parents).select_from(
        t.asks.join(t.products, product.id == t.asks.c.context)
    )
    for row in store.rows_among(query, t.asks.c.job, jobs):
        found[row.job] = (row.text, row.status, orjson.loads(row.parents))
    return found
