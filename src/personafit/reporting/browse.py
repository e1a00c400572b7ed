"""The item browser's data: every item with its person, answers, verdicts and raw replies, compact enough to embed.

Texts occur in many items, so each is kept once and referred to by its place. What is too much for one page is left out
by fixed rules (wrong items stay, long replies are cut) and the page says so.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import orjson
import polars as pl
from sqlalchemy import or_, select

from personafit.people import Person, render_person
from personafit.reporting.results import RunScores
from personafit.store import Store
from personafit.store import tables as t

MAX_ITEMS = 10_000
MAX_REPLY = 4_000  # characters of one raw reply or reasoning
MAX_REPLIES = 40_000_000  # characters of all of them: beyond this browsers struggle to open the page
MAX_FACET = 20  # a slice with more values than this is no filter

NOT_FACETS = frozenset({"item", "person", "prompt", "grp", "gold", "length_difference"})


def browser_data(store: Store, scores: RunScores, view: str) -> dict[str, Any]:
    """All the page needs to list, filter, search and show items; verdicts are those under `view`."""
    verdicts = _verdicts(scores, view)
    kept = _kept(scores, verdicts)
    rows = scores.items.filter(pl.col("item").is_in(kept)) if len(kept) < len(scores.items) else scores.items
    facets = _facets(rows)
    products = _products(store, scores, set(kept))
    places = {product: place for place, product in enumerate(_unique(products.values()))}
    texts = store.texts(places)
    people = _profiles(store, scores, set(rows["person"]))
    asks = _asks(store, scores, set(kept))
    items = []
    for row in rows.iter_rows(named=True):
        item = row["item"]
        items.append(
            {
                "id": item,
                "person": row["person"],
                "question": row["prompt"],
                "answers": [places[product] for product in products[item]],
                "gold": row["gold"],
                "facets": [row[name] for name, _ in facets],
                "verdicts": [verdict.get(item) for verdict in verdicts],
                "asks": asks.get(item, []),
            }
        )
    return {
        "raters": [rater["name"] for rater in scores.raters],
        "views": scores.views,
        "view": scores.views.index(view),
        "facets": [{"name": name, "values": values} for name, values in facets],
        "texts": [texts.get(product, "") for product in places],
        "people": people,
        "items": items,
        "total": len(scores.items),
    }


def _verdicts(scores: RunScores, view: str) -> list[dict[str, float | None]]:
    """Per rater, item to the share of its orders that met the gold; None where nothing was answered."""
    found = []
    for rater in scores.raters:
        frame = scores.scores[rater["fingerprint"], view]
        found.append(dict(zip(frame["item"], frame["accuracy"], strict=True)))
    return found


def _kept(scores: RunScores, verdicts: list[dict[str, float | None]]) -> list[str]:
    """The items to embed: all, or first those that a rater asked for got wrong."""
    items = scores.items["item"].to_list()
    if len(items) <= MAX_ITEMS:
        return items
    asked_for = [v for v, r in zip(verdicts, scores.raters, strict=True) if not r["control"]] or verdicts

    def not_wrong(item: str) -> bool:
        return all((share := verdict.get(item)) is None or share >= 0.5 for verdict in asked_for)

    return sorted(items, key=not_wrong)[:MAX_ITEMS]


def _facets(rows: pl.DataFrame) -> list[tuple[str, list[str]]]:
    """The slices worth filtering by, tier and half first."""
    names = sorted(set(rows.columns) - NOT_FACETS, key=lambda name: (name != "tier", name != "half", name))
    facets = [(name, rows[name].drop_nulls().unique(maintain_order=True).to_list()) for name in names]
    return [(name, values) for name, values in facets if 2 <= len(values) <= MAX_FACET]


def _products(store: Store, scores: RunScores, kept: set[str]) -> dict[str, list[str]]:
    frame = store.frame(
        select(t.items.c.id, t.items.c.products).where(t.items.c.dataset == scores.run.dataset)
    )
    return {item: orjson.loads(products) for item, products in frame.iter_rows() if item in kept}


def _unique(groups: Iterable[list[str]]) -> dict[str, None]:
    return dict.fromkeys(product for group in groups for product in group)


def _profiles(store: Store, scores: RunScores, wanted: set[str]) -> dict[str, str]:
    people = store.people(scores.run.dataset)
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


def _asks(store: Store, scores: RunScores, kept: set[str]) -> dict[str, list[list[Any]]]:
    """Per item every ask: rater, view, order, sample, status, label, margin and, where there are any, its texts."""
    if scores.answers.is_empty():
        return {}
    raters = {rater["fingerprint"]: place for place, rater in enumerate(scores.raters)}
    views = {view: place for place, view in enumerate(scores.views)}
    columns = ["item", "rater", "view", "order", "sample", "status", "label", "value", "detail"]
    answers = scores.answers.filter(pl.col("question") == scores.run.config["question"])
    joined = answers.join(
        _replies(store, scores.run.id), on=["job", "ask"], how="left", maintain_order="left"
    )
    asks: dict[str, list[list[Any]]] = defaultdict(list)
    budget = MAX_REPLIES
    for item, rater, view, order, sample, status, label, value, *texts in joined.select(
        *columns, "reply", "reasoning"
    ).iter_rows():
        if item not in kept or rater not in raters or view not in views:
            continue
        ask = [raters[rater], views[view], order, sample, status, label, value]
        if any(texts):
            short = [_cut(text) for text in texts]
            budget -= sum(len(text or "") for text in short)
            ask += short if budget > 0 else [None, "left out: the page would grow too large", None]
        asks[item].append(ask)
    for rows in asks.values():
        rows.sort(key=lambda row: (row[0], row[1], row[3], row[2]))
    return asks


def _replies(store: Store, run: int) -> pl.DataFrame:
    ask = t.asks
    frame = store.frame(
        select(ask.c.job, ask.c.id.label("ask"), ask.c.reply, ask.c.reasoning)
        .select_from(t.run_jobs.join(ask, ask.c.job == t.run_jobs.c.job))
        .where(t.run_jobs.c.run == run, or_(ask.c.reply.is_not(None), ask.c.reasoning.is_not(None)))
    )
    return frame.cast(dict.fromkeys(frame.columns, pl.String))


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= MAX_REPLY:
        return text
    return f"{text[:MAX_REPLY]} … ({len(text) - MAX_REPLY:,} more characters in the store)"
