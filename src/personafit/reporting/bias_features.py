"""What can pull at a choice: how the two answers of an item differ in length, in mentioning the person, and in their makers.

All are product 0 minus product 1. Overlap and naming are the rules of the same name, counted on the whole profile whatever the
rater was shown, because the question is what is in the answers.
"""

import re
from typing import Any

import numpy as np
import polars as pl
from sqlalchemy import select

from personafit.contexts import Context
from personafit.people import facet_values
from personafit.raters.rule import name as times_named
from personafit.raters.rule import overlap
from personafit.reporting.results import RunScores
from personafit.store import Store
from personafit.store import tables as t

MODELS = ("llm", "reward")
CHUNK = 500
_ALIASES = {
    "o": "gpt",
    "chatgpt": "gpt",
    "mixtral": "mistral",
    "codellama": "llama",
    "qwq": "qwen",
    "medgemma": "gemma",
}


def pair_features(store: Store, scores: RunScores) -> pl.DataFrame:
    """The run's items of two answers with product 0 minus product 1 in each feature, per standard deviation."""
    people = {
        person.id: Context("", "", tuple(facet_values(person.facets)), person.id, person.facets)
        for person in store.people(scores.run.dataset).values()
    }
    wanted = set(scores.items["item"])
    pairs = [i for i in store.items(scores.run.dataset) if i.id in wanted and len(i.products) == 2]
    texts = store.texts({product for item in pairs for product in item.products})
    made = _makers(store, [product for item in pairs for product in item.products])
    rows = []
    for item in pairs:
        told, (one, two) = people[item.person], (texts[product] for product in item.products)
        rows.append(
            {
                "item": item.id,
                "length": float(np.log1p(len(one)) - np.log1p(len(two))),
                "mention": overlap(one, item.prompt, told) - overlap(two, item.prompt, told),
                "naming": float(times_named(one, item.prompt, told) > 0)
                - float(times_named(two, item.prompt, told) > 0),
                "makers": [made.get(product) for product in item.products],
            }
        )
    schema: dict[str, pl.DataType] = {
        "item": pl.String(),
        "length": pl.Float64(),
        "mention": pl.Float64(),
        "naming": pl.Float64(),
        "makers": pl.List(pl.String()),
    }
    frame = pl.DataFrame(rows, schema=schema)
    # Root mean square: the standard deviation about no difference, as which answer is product 0 tells nothing.
    scaled = [
        (
            pl.col(name)
            / pl.when(pl.col(name).pow(2).mean() > 0).then(pl.col(name).pow(2).mean().sqrt()).otherwise(1.0)
        )
        for name in ("length", "mention")
    ]
    # Slices may have any name, also that of a feature: they stay behind.
    items = scores.items.select("item", "person", "prompt", "gold")
    return items.join(frame.with_columns(scaled), on="item", how="inner", maintain_order="left")


def family_of(maker: str) -> str | None:
    """The family in a model's name: 'openai:org/Qwen2.5-7B@http://host' is of 'qwen', 'gpt-4o' of 'gpt'."""
    model = re.sub(r"^(?:openai|inspect|hf|reward|embedded):", "", maker.split("@")[0].split(",")[0])
    word = re.match(r"[a-z]+", re.sub(r"^meta-", "", model.rsplit("/", 1)[-1].lower()))
    return _ALIASES.get(word[0], word[0]) if word else None


def own_family(rater: dict[str, Any], rows: pl.DataFrame) -> tuple[list[float], str | None]:
    """Per row 1 where only product 0 is of the rater's family, −1 where only product 1 is; and why all are 0."""
    family = family_of(rater["name"]) if rater["kind"] in MODELS else None
    if family is None:
        return [0.0] * len(rows), f"{rater['name']} is no model with a family name"
    if not rows["makers"].explode().drop_nulls().str.len_bytes().sum():
        return [0.0] * len(rows), "the data do not say who made the answers"
    makers = rows["makers"].to_list()
    own = []
    for pair in makers:
        first, second = (None if maker is None else family_of(maker) == family for maker in pair)
        own.append(0.0 if first is None or second is None else float(first) - float(second))
    if any(own):
        return own, None
    return own, f"no pair has an answer of {family} beside one of another family"


def _makers(store: Store, products: list[str]) -> dict[str, str]:
    """Who made each product, by name where the maker is a rater or model the store knows."""
    names = dict(store.frame(select(t.raters.c.fingerprint, t.raters.c.name)).iter_rows())
    found: dict[str, str] = {}
    for start in range(0, len(products), CHUNK):
        chunk = products[start : start + CHUNK]
        query = select(t.products.c.id, t.products.c.maker).where(
            t.products.c.id.in_(chunk), t.products.c.maker.is_not(None)
        )
        found.update((product, names.get(maker, maker)) for product, maker in store.frame(query).iter_rows())
    return found
