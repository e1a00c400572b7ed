"""Why an attribute is believed of a person: a product of kind `reason`, named as the parent of the attribute's product."""

from collections.abc import Iterable

import orjson
from sqlalchemy import select

from personafit.store import Store
from personafit.store import tables as t

REASON = "reason"
CHUNK = 500  # values in one IN (...): below every database's limit on bound parameters


def attribute_reasons(store: Store, attributes: Iterable[str]) -> dict[str, str]:
    """The reasons of attributes, by the attribute's product id; those without one are absent."""
    parents: dict[str, str] = {}
    ids = list(dict.fromkeys(attributes))
    for start in range(0, len(ids), CHUNK):
        query = select(t.products.c.id, t.products.c.parents).where(
            t.products.c.id.in_(ids[start : start + CHUNK])
        )
        for product, names in store.frame(query).iter_rows():
            if listed := orjson.loads(names):
                parents[product] = listed[0]
    texts = store.texts(set(parents.values()))
    return {product: texts[parent] for product, parent in parents.items() if texts.get(parent)}
