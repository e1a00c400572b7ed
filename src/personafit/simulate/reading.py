"""Reading tasks and dialogues back from the store, a page at a time, for the simulator, judges and reports."""

from collections.abc import Iterator
from itertools import islice

import orjson
from sqlalchemy import ColumnElement, literal, select

from personafit.contexts import TaskItem, task_item
from personafit.people import Task
from personafit.simulate.records import DIALOGUE, QUESTIONS, Dialogue, stored_dialogue
from personafit.store import Status, Store
from personafit.store import tables as t

PAGE = 200
ROWS = 1000


def dialogues(store: Store, run: int) -> Iterator[Dialogue]:
    """Every dialogue of a run that has ended, in the order of slots; of several in one slot the one that counts."""
    ended: ColumnElement[str] = literal(DIALOGUE).concat(t.asks.c.id)
    query = (
        select(t.asks.c.status, t.asks.c.at, t.products.c.id, t.products.c.text)
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.products, t.products.c.id == ended
            )
        )
        .where(t.run_jobs.c.run == run, t.asks.c.question.in_(list(QUESTIONS.values())))
    )
    best: dict[str, tuple[tuple[bool, float], str]] = {}
    for rows in store.stream(query, ROWS):
        for row in rows:
            slot, rank = orjson.loads(row.text)["slot"], (row.status != Status.FAILED, row.at)
            if slot not in best or best[slot][0] < rank:
                best[slot] = (rank, row.id)
    ids = (best[slot][1] for slot in sorted(best))
    while page := list(islice(ids, PAGE)):
        yield from read_dialogues(store, page)


def read_dialogues(store: Store, ids: list[str]) -> Iterator[Dialogue]:
    """The dialogues of these ids, in that order; one that is unknown is left out."""
    bodies = {key: orjson.loads(text) for key, text in store.texts(ids).items()}
    wanted = {turn["product"] for body in bodies.values() for turn in body["turns"]}
    texts = store.texts(wanted | {body["task"] for body in bodies.values()})
    for key in ids:
        if key in bodies:
            yield stored_dialogue(key, bodies[key], texts)


def task_items(store: Store, dataset: str, selected: frozenset[str] | None = None) -> Iterator[TaskItem]:
    """The tasks of a data set as items, in the order of work; `selected` are ids of items, None for all."""
    items = (
        item
        for item in store.items(dataset)
        if item.kind == "task" and (selected is None or item.id in selected)
    )
    while page := list(islice(items, PAGE)):
        texts = store.texts(item.products[0] for item in page)
        for item in page:
            yield task_item(Task.model_validate_json(texts[item.products[0]]))
