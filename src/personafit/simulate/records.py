"""How a dialogue is kept in the store; what it is, is told in `items.dialogue`.

What is stored where:

- Each turn is made by a keyed job of its own and committed as it happens: an `Ask` (question `user turn` or
  `assistant turn`, `item` the task's item, `rater` the speaker's fingerprint, `view` and `context` what the speaker
  was told) and a `Product` of kind `turn`, whose maker is the speaker's fingerprint
  and whose id is `turn-` and the id of the ask.
- The ask that ends a dialogue, well or badly, also writes a `Product` of kind `dialogue`, whose id is
  `dialogue-` and the id of that ask, and whose text is the JSON of everything in `Dialogue` but the turns' texts. Its
  parents are the turns in order; its status is that of the last ask.
- The task is a `Product` of kind `task` (the JSON of a `Task`), the only product of the data set's item of kind `task`.
- What the assistant was told (`given`) and what the user agent was told (its brief) are products of kind `context`.

A slot is one dialogue that a run wants: person, task, systems, given, seed and sample. It can have several dialogues,
for failed ones are tried again; `simulate.reading.dialogues` gives the last of each slot, whole ones before failed ones.
Judgments are about a dialogue's id; `Dialogue.item` is the dialogue as something to be judged.
"""

from typing import Any

import orjson

from personafit.items.dialogue import Dialogue, DialogueTurn, Role, StopReason
from personafit.people import Task
from personafit.store import Product, Status

DIALOGUE = "dialogue-"  # and the id of the ask that ended it: the id of a dialogue
TURN = "turn-"  # and a hash of the ask it came from and its text: the id of a turn as a product
QUESTIONS: dict[Role, str] = {"user": "user turn", "assistant": "assistant turn"}


def turn_key(item: str, given: str, sample: int, place: int) -> str:
    """The name of a turn's request in recordings: the task's item, what was given, and the turn's place."""
    return f"{item}|{given}|{sample}|{place}"


def dialogue_product(dialogue: Dialogue, task: str, status: Status) -> Product:
    """The dialogue as it is stored; `task` is the id of the task's product."""
    body: dict[str, Any] = {
        name: getattr(dialogue, name)
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
        given=dialogue.context,
        about=dialogue.person,
        parents=[turn.product for turn in dialogue.turns],
        status=status,
        sample=dialogue.sample,
    )


def stored_dialogue(key: str, body: dict[str, Any], texts: dict[str, str]) -> Dialogue:
    """The dialogue from its stored body and the texts of its turns and task."""
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
    return Dialogue(id=key, **fields)


__all__ = [
    "DIALOGUE",
    "QUESTIONS",
    "TURN",
    "Dialogue",
    "DialogueTurn",
    "Role",
    "StopReason",
    "dialogue_product",
    "stored_dialogue",
    "turn_key",
]
