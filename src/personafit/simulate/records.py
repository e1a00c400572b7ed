"""Storage of dialogues; see `items.dialogue` for their contents.

What is stored where:

- Each turn is made by a keyed job of its own and committed as it happens: an `Ask` (question `user turn` or
  `assistant turn`, `item` the task's item, `rater` the speaker's fingerprint, `context` and `context_id` what the speaker
  was told) and a `Product` of kind `turn`, whose maker is the speaker's fingerprint
  and whose id is `turn-` and a hash of the ask's id and the text.
- The ask that ends a dialogue, successfully or not, also writes a `Product` of kind `dialogue`, whose id is
  `dialogue-` and the id of that ask, and whose text is the JSON of everything in `Dialogue` but the turns' texts. Its
  parents are the turns in order; its status is that of the last ask.
- The task is a `Product` of kind `task` (the JSON of a `Task`), the only product of the data set's item of kind `task`.
- What the assistant was told (its system context) and what the user agent was told (its brief) are products of kind `context`.

A slot is a dialogue that a run requires: person, task, systems, context, seed and sample. It can have several dialogues,
since failed ones are retried; `dialogues` returns the last of each slot, preferring those that did not fail.
Judgments refer to a dialogue's id; `Dialogue.item` is the dialogue as an item to judge.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import orjson

from personafit.contexts import TaskItem, task_item
from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.people import Task
from personafit.store import Product, Status, Store, ended_products

DIALOGUE = "dialogue-"  # prefix of a dialogue's id, before the id of the ask that ended it
TURN = "turn-"  # prefix of a turn's product id, before a hash of its ask and its text
STORED = {"system_context": "given", "system_context_id": "context"}
"""Fields of a dialogue that are stored under another name."""
QUESTIONS: dict[Role, str] = {"user": "user turn", "assistant": "assistant turn"}


def dialogue_product(dialogue: Dialogue, task: str, status: Status) -> Product:
    """Return the dialogue as a product; `task` is the id of the task's product."""
    body: dict[str, Any] = {
        STORED.get(name, name): getattr(dialogue, name)
        for name in Dialogue.__dataclass_fields__
        if name not in ("id", "task", "turns")
    }
    body["task"] = task
    body["turns"] = [
        {"role": turn.role, "ask": turn.ask, "product": turn.product}
        | ({"thought": turn.thought} if turn.thought else {})
        for turn in dialogue.turns
    ]
    return Product(
        id=dialogue.id,
        kind="dialogue",
        text=orjson.dumps(body).decode(),
        maker=dialogue.system,
        given=dialogue.system_context_id,
        about=dialogue.person,
        parents=[turn.product for turn in dialogue.turns],
        status=status,
        sample=dialogue.sample,
    )


def stored_dialogue(key: str, body: dict[str, Any], texts: dict[str, str]) -> Dialogue:
    """Return the dialogue from its stored body and the texts of its turns and task."""
    turns = tuple(
        DialogueTurn(
            role=turn["role"],
            text=texts[turn["product"]],
            index=index,
            ask=turn["ask"],
            product=turn["product"],
            thought=turn.get("thought"),
        )
        for index, turn in enumerate(body["turns"])
    )
    task = Task.model_validate_json(texts[body["task"]])
    fields = {**body, "task": task, "turns": turns, "stop": StopReason(body["stop"])}
    fields |= {name: fields.pop(stored) for name, stored in STORED.items()}
    return Dialogue(id=key, **fields)


PAGE = 200


class StoredDialogues:
    """Dialogues in the store: found once, then read page by page and as often as needed."""

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
        """The dialogues that are final, without failed ones, which the same command retries."""
        ended = {key: stop for key, stop in self._found.items() if stop != StopReason.FAILED}
        return StoredDialogues(self._store, ended)


def dialogues(store: Store, run: int) -> StoredDialogues:
    """Return the ended dialogues of a run, ordered by slot: in each slot the last one, preferring those that did not fail."""
    best: dict[str, tuple[tuple[bool, float], str, StopReason]] = {}
    for row in ended_products(store, run, DIALOGUE, QUESTIONS.values()):
        body, rank = orjson.loads(row.text), (row.status != Status.FAILED, row.at)
        slot = body["slot"]
        if slot not in best or best[slot][0] < rank:
            best[slot] = (rank, row.id, StopReason(body["stop"]))
    return StoredDialogues(store, {key: stop for _, (_, key, stop) in sorted(best.items())})


def read_dialogues(store: Store, ids: list[str]) -> Iterator[Dialogue]:
    """Yield the dialogues with these ids, in that order, skipping unknown ones."""
    bodies = {key: orjson.loads(text) for key, text in store.texts(ids).items()}
    wanted = {turn["product"] for body in bodies.values() for turn in body["turns"]}
    texts = store.texts(wanted | {body["task"] for body in bodies.values()})
    for key in ids:
        if key in bodies:
            yield stored_dialogue(key, bodies[key], texts)


def task_items(store: Store, dataset: str, selected: frozenset[str] | None = None) -> Iterator[TaskItem]:
    """Yield the tasks of a data set as items, in execution order; `selected` are ids of items, None for all."""
    items = (
        item
        for item in store.items(dataset)
        if item.kind == "task" and (selected is None or item.id in selected)
    )
    while page := list(islice(items, PAGE)):
        texts = store.texts(item.products[0] for item in page)
        for item in page:
            yield task_item(Task.model_validate_json(texts[item.products[0]]))
