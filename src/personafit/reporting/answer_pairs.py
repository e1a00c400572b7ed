"""The items of a run that have two answers, with the texts of both: what analyses of answers go through."""

from collections.abc import Iterator
from typing import NamedTuple

import orjson
from sqlalchemy import select

from personafit.reporting.scores import RunScores
from personafit.store import Store
from personafit.store import tables as t


class AnswerPair(NamedTuple):
    """An item of two answers."""

    item: str
    person: str
    prompt: str
    products: tuple[str, str]
    texts: tuple[str, str]


def answer_pairs(store: Store, scores: RunScores) -> Iterator[AnswerPair]:
    """The run's items of two answers, person by person."""
    items = t.items.c
    rows = store.frame(
        select(items.id, items.person, items.prompt, items.products)
        .where(items.dataset == scores.run.dataset)
        .order_by(items.person, items.position)
    )
    wanted = set(scores.items["item"])
    pairs = [
        (item, person, prompt, products)
        for item, person, prompt, text in rows.iter_rows()
        if item in wanted and len(products := orjson.loads(text)) == 2
    ]
    texts = store.texts({product for *_, products in pairs for product in products})
    for item, person, prompt, (one, two) in pairs:
        yield AnswerPair(item, person, prompt, (one, two), (texts[one], texts[two]))
