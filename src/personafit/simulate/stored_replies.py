"""What models said in a run of dialogues, read from the store: as lines for `replay:`, and read again with today's parser.

A recording holds all three roles, so that one `replay:FILE` can play user, assistant and judge of the same dialogues.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

from personafit._errors import UserError
from personafit.items.dialogue import Dialogue
from personafit.items.dialogue_questions import QUESTIONS_BY_NAME, DialogueQuestion, judge_key, turn_target
from personafit.simulate.reading import dialogues
from personafit.simulate.records import DIALOGUE, QUESTIONS, turn_key
from personafit.store import Judgment, RunRecord, Status, Store
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


def rescore_dialogues(store: Store, run: RunRecord) -> tuple[int, int]:
    """Read every judge's reply again; returns how many were read and how many now say something else."""
    asked = {one.id: one for one in dialogues(store, run.id)}
    before = _readings(store, run.id)
    read, changed, judgments = 0, 0, list[Judgment]()
    for row in _replies(store, run.id, list(QUESTIONS_BY_NAME)):
        if row.item not in asked:
            continue
        read += 1
        earlier = before.get(row.id, {})
        now = list(_reading(QUESTIONS_BY_NAME[row.question], row.reply, asked[row.item]))
        if {target: reading for target, *reading in now} == {key: said[1:] for key, said in earlier.items()}:
            continue
        changed += 1
        parse = 1 + max((said[0] for said in earlier.values()), default=-1)
        judgments += [
            Judgment(
                ask=row.id,
                item=row.item,
                question=row.question,
                rater=row.rater,
                target=target,
                parse=parse,
                status=status,
                label=label,
                value=None if label is None else float(label),
            )
            for target, status, label in now
        ]
    store.add_judgments(judgments)
    return read, changed


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


def _readings(store: Store, run: int) -> dict[str, dict[str, list[Any]]]:
    """By ask and target the last reading there is: its number, status and label."""
    judgment, found = t.judgments.c, dict[str, dict[str, list[Any]]]()
    query = (
        select(judgment.ask, judgment.target, judgment.parse, judgment.status, judgment.label)
        .select_from(
            t.run_jobs.join(t.asks, t.asks.c.job == t.run_jobs.c.job).join(
                t.judgments, judgment.ask == t.asks.c.id
            )
        )
        .where(t.run_jobs.c.run == run, judgment.question.in_(list(QUESTIONS_BY_NAME)))
        .order_by(judgment.parse)
    )
    for rows in store.stream(query, ROWS):
        for row in rows:
            found.setdefault(row.ask, {})[row.target] = [row.parse, Status(row.status), row.label]
    return found


def _reading(
    question: DialogueQuestion, reply: str, dialogue: Dialogue
) -> Iterator[tuple[str, Status, str | None]]:
    """What a reply says: target, status and label of each answer in it."""
    marks = question.parse(reply, dialogue)
    status = Status.UNPARSED if marks is None else Status.OK
    targets = [turn_target(turn) for turn in dialogue.turns if turn.role == "assistant"]
    for place, target in enumerate(targets if question.by_turn else [""]):
        yield target, status, str(marks[place]) if marks else None
