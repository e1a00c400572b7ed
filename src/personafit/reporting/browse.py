"""The item browser's data: every item with its person, answers, verdicts and raw replies, compact enough to embed.

Texts occur in many items, so each is kept once and referred to by its place. What is too much for one page is left out
by fixed rules (wrong items stay, long replies are cut) and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import orjson
import polars as pl

from personafit.people import Person, render_person
from personafit.reporting.told import told_by_item
from personafit.reporting.totals import RunTotals
from personafit.store import Store

MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 40_000_000  # characters of all of them: beyond this browsers struggle to open the page
MAX_FACET = 20  # a slice with more values than this is no filter

NOT_FACETS = frozenset({"position", "item", "person", "prompt", "products", "gold", "not_wrong"})


def browser_data(store: Store, totals: RunTotals) -> dict[str, Any]:
    """All the page needs to list, filter, search and show items; verdicts are those under the headline view."""
    rows = _opened(totals.sample.items)
    facets = _facets(rows)
    products = {row["item"]: orjson.loads(row["products"]) for row in rows.iter_rows(named=True)}
    places = {product: place for place, product in enumerate(_unique(products.values()))}
    texts = store.texts(places)
    verdicts = _verdicts(totals)
    asks = _asks(store, totals)
    told = told_by_item(store, totals)
    items = []
    for row in rows.iter_rows(named=True):
        position = row["position"]
        items.append(
            {
                "id": row["item"],
                "person": row["person"],
                "question": row["prompt"],
                "answers": [places[product] for product in products[row["item"]]],
                "gold": row["gold"],
                "facets": [row[name] for name, _ in facets],
                "verdicts": [verdict.get(position) for verdict in verdicts],
                "asks": asks.get(position, []),
                **({"told": told[position]} if position in told else {}),
            }
        )
    return {
        "raters": [rater["name"] for rater in totals.raters],
        "views": totals.views,
        "view": totals.views.index(totals.headline_view),
        "facets": [{"name": name, "values": values} for name, values in facets],
        "texts": [texts.get(product, "") for product in places],
        "people": _profiles(store, totals, set(rows["person"])),
        "items": items,
        "total": totals.items,
    }


def _opened(items: pl.DataFrame) -> pl.DataFrame:
    """The items with each slice as a column."""
    slices = [orjson.loads(text) for text in items["slices"]]
    names = sorted({name for row in slices for name in row})
    columns = [pl.Series(name, [row.get(name) for row in slices], dtype=pl.String) for name in names]
    return items.drop("slices").with_columns(columns)


def _verdicts(totals: RunTotals) -> list[dict[int, float | None]]:
    """Per rater, an item's place to the share of its orders that met the gold; None where nothing was answered."""
    scores = totals.sample.scores
    found = []
    for rater in totals.raters:
        ours = scores.filter(pl.col("rater") == rater["fingerprint"])
        found.append(dict(zip(ours["position"], ours["accuracy"], strict=True)))
    return found


def _facets(rows: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """The slices worth filtering by, tier and half first."""
    names = sorted(set(rows.columns) - NOT_FACETS, key=lambda name: (name != "tier", name != "half", name))
    facets = [(name, rows[name].drop_nulls().unique(maintain_order=True).to_list()) for name in names]
    return [(name, values) for name, values in facets if 2 <= len(values) <= MAX_FACET]


def _unique(groups: Iterable[list[str]]) -> dict[str, None]:
    return dict.fromkeys(product for group in groups for product in group)


def _profiles(store: Store, totals: RunTotals, wanted: set[str]) -> dict[str, str]:
    people = store.people(totals.run.dataset)
    return {person: _profile(people[person]) for person in sorted(wanted) if person in people}


def _profile(person: Person) -> str:
    """What is known of the person, the parts that a view may leave out included."""
    parts = [render_person(person)]
    for heading, lines in (
        ("Memories", [memory.text for memory in person.memories]),
        ("Attributes", [attribute.text for attribute in person.attributes]),
        ("Summaries", [f"{topic}: {text}" for topic, text in person.summaries.items()]),
    ):
        if lines:
            parts.append("\n".join([f"{heading}:", *(f"  {line}" for line in lines)]))
    return "\n".join(part for part in parts if part)


def _asks(store: Store, totals: RunTotals) -> dict[int, list[list[Any]]]:
    """Per item every ask: rater, view, order, sample, status, label, margin and, where there are any, its texts."""
    raters = {rater["fingerprint"]: place for place, rater in enumerate(totals.raters)}
    views = {view: place for place, view in enumerate(totals.views)}
    columns = ["position", "rater", "view", "order", "sample", "status", "label", "value", "detail"]
    answers = totals.sample.answers
    replies = store.replies(answers["job"])
    asks: dict[int, list[list[Any]]] = defaultdict(list)
    budget = MAX_REPLIES
    for ask_id, position, rater, view, order, sample, status, label, value, detail in answers.select(
        "ask", *columns
    ).iter_rows():
        if rater not in raters or view not in views:
            continue
        ask = [raters[rater], views[view], order, sample, status, label, value]
        texts = [detail, *replies.get(ask_id, (None, None))]
        if any(texts):
            short = [_cut(text) for text in texts]
            budget -= sum(len(text or "") for text in short)
            ask += short if budget > 0 else [None, "left out: the page would grow too large", None]
        asks[position].append(ask)
    for rows in asks.values():
        rows.sort(key=lambda row: (row[0], row[1], row[3], row[2]))
    return asks


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_REPLY:
        return text
    return f"{text[:MAX_REPLY]} … ({len(text) - MAX_REPLY:,} more characters in the store)"
