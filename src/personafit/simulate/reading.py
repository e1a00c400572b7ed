"""Reading tasks and dialogues back from the store, a page at a time, for the simulator, judges and reports."""

from collections.abc import Iterator, Mapping
from itertools import islice

import orjson
from sqlalchemy import ColumnElement, literal, select

from personafit.contexts import TaskItem, task_item
from personafit.people import Task
from personafit.simulate.records import DIALOGUE, QUESTIONS, Dialogue, StopReason, stored_dialogue
from personafit.store import Status, Store
from personafit.store import tables as t

PAGE = 200
ROWS = 1000


class StoredDialogues:
    """Dialogues in the store: found once, read a page at a time and as often as wanted."""

    def __init__(self, store: Store, found: Mapping[str, StopReason]) -> None:
        self._store = store
        self._found = found

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Dialogue]:
        ids = iter(self._found)
        while page := list(islice(ids, PAGE)):
            yield from read_dialogues(self._store, page)

    @property
    def ended(self) -> "StoredDialogues":
        """Those that will not change any more: one that failed is held again by the same command."""
        ended = {key: stop for key, stop in self._found.items() if stop != StopReason.FAILED}
        return StoredDialogues(self._store, ended)


def dialogues(store: Store, run: int) -> StoredDialogues:
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
    best: dict[str, tuple[tuple[bool, float], str, StopReason]] = {}
    for rows in store.stream(query, ROWS):
        for row in rows:
            body, rank = orjson.loads(row.text), (row.status != Status.FAILED, row.at)
            slot = body["slot"]
            if slot not in best or best[slot][0] < rank:
                best[slot] = (rank, row.id, StopReason(body["stop"]))
    return StoredDialogues(store, {key: stop for _, (_, key, stop) in sorted(best.items())})


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
