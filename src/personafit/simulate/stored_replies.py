"""What models said in a run of dialogues, read from the store: as lines for `replay:`.

A recording holds all three roles, so that one `replay:FILE` can play user, assistant and judge of the same dialogues.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

from personafit._errors import UserError
from personafit.items.dialogue import Dialogue
from personafit.items.dialogue_questions import QUESTIONS_BY_NAME, judge_key
from personafit.simulate.reading import dialogues
from personafit.simulate.records import DIALOGUE, QUESTIONS, turn_key
from personafit.store import RunRecord, Status, Store
from personafit.store import tables as t

ROWS = 1000
AGAIN = "|again"  # after the key of a turn: the second try at it


def dialogue_recording(store: Store, run: RunRecord) -> list[dict[str, Any]]:
    """One row for each reply of a run; asks that failed or were refused are left out."""
    for role, found in (("system", run.config["systems"]), ("judge", run.config["raters"])):
        if len(found) != 1:
            named = ", ".join(one["name"] for one in found)
            raise UserError(f"{run.name} must have one {role} to be recorded; it has {named}.")
    lines: dict[str, dict[str, Any]] = {}
    asked = {one.id: one for one in dialogues(store, run.id)}
    turns = {ask: key for dialogue in asked.values() for ask, key in _turns(dialogue)}
    for row in _replies(store, run.id, [*QUESTIONS.values(), *QUESTIONS_BY_NAME]):
        if row.question in QUESTIONS_BY_NAME:
            judged = asked.get(row.item)
            key = judge_key(judged, row.view, row.question, row.sample) if judged else None
        else:
            key = turns.get(row.id)
        if key is None:
            continue  # a dialogue that is not over, or that was held again
        said = {"reply": row.reply} | ({"reasoning": row.reasoning} if row.reasoning else {})
        lines[key] = {"key": key, **said}
        if row.status == Status.UNPARSED and row.question not in QUESTIONS_BY_NAME:
            lines[key + AGAIN] = {"key": key + AGAIN, **said}  # the second try was no better
    return list(lines.values())


def _turns(dialogue: Dialogue) -> Iterator[tuple[str, str]]:
    """Each ask of a dialogue with the key its request had; the last one is that which ended it."""
    asks = [*(turn.ask for turn in dialogue.turns), dialogue.id.removeprefix(DIALOGUE)]
    item = f"{dialogue.person}/{dialogue.task.id}"
    for place, ask in enumerate(asks):
        yield ask, turn_key(item, dialogue.given, dialogue.sample, place)


def _replies(store: Store, run: int, questions: list[str]) -> Iterator[Any]:
    """The run's usable replies to these questions, earlier generations first."""
    ask = t.asks.c
    query = (
        select(ask.id, ask.item, ask.question, ask.rater, ask.view, ask.sample, ask.status, ask.reply, ask.reasoning)
        .select_from(t.run_jobs.join(t.asks, ask.job == t.run_jobs.c.job))
        .where(
            t.run_jobs.c.run == run,
            ask.question.in_(questions),
            ask.reply.is_not(None),
            ask.status.in_((Status.OK, Status.UNPARSED)),
        )
        .order_by(ask.item, ask.at, ask.generation)
    )  # fmt: skip
    for rows in store.stream(query, ROWS):
        yield from rows
