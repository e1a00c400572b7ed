"""The transcript viewer's data: each dialogue with who knew what, its marks, its scores and how it ended.

Contexts occur in many dialogues, so each is kept once and referred to by its place. What is too much for one page is left
out by fixed rules (dialogues in which something went wrong stay) and the page says so.
"""

from collections import defaultdict
from typing import Any

import polars as pl
from sqlalchemy import select

from personafit.items.dialogue_questions import DIALOGUE_QUESTIONS
from personafit.people import render_person, select_facets
from personafit.raters.dialogues.counting import Counted, Mark
from personafit.reporting.dialogues.faults import FAULTS, SimulatorAudit
from personafit.reporting.dialogues.loading import DialogueRun
from personafit.reporting.dialogues.tables import short_names
from personafit.store import Store
from personafit.store import tables as t

MAX_DIALOGUES = 1_500
MAX_CHARACTERS = 30_000_000  # of turns: beyond this browsers struggle to open the page
MAX_TEXT = 8_000  # characters of one turn or reply
WRONG = ("contradicts", "reasks", "invents", "strays")

LABELS = {
    "contradicts": "goes against",
    "reasks": "asks again",
    "invents": "memory in no history",
    "states": "user says",
    "leaks": "user tells unasked",
    "strays": "user against profile",
}


def viewer_data(store: Store, run: DialogueRun, audit: SimulatorAudit) -> dict[str, Any]:
    """All the page needs to list, filter, search and show dialogues."""
    kept = _kept(run)
    roles = [*run.systems, *run.raters, run.run.config["user"]]
    called = short_names(one["name"] for one in roles)
    contexts: dict[str, int] = {}
    scores = _scores(run)
    turn_scores = _turn_scores(run)
    replies = _replies(store, run, kept)
    rows = []
    for item in kept:
        counted = run.counted[item]
        rows.append(
            _row(run, counted, contexts, called)
            | {
                "scores": scores.get(item, []),
                "turnScores": turn_scores.get(item, {}),
                "replies": replies.get(item, []),
                "faults": [FAULTS[kind] for kind in audit.faults[item].found] if item in audit.faults else [],
            }
        )
    return {
        "judges": [called[rater["name"]] for rater in run.raters],
        "questions": [question.name for question in DIALOGUE_QUESTIONS],
        "systems": [called[system["name"]] for system in run.systems],
        "givens": run.givens,
        "stops": sorted(set(run.units["stop"])),
        "texts": [run.given.get(context, "") for context in contexts],
        "marks": LABELS | {"before": "brought in first", "after": "brought in after the user"},
        "dialogues": rows,
        "total": len(run.counted),
    }


def _kept(run: DialogueRun) -> list[str]:
    """The dialogues to embed: all, or first those in which something went wrong, as far as the page can hold them."""
    items = list(run.counted)
    if len(items) > MAX_DIALOGUES:
        items.sort(key=lambda item: not run.counted[item].of(*WRONG))
    kept, room = [], MAX_CHARACTERS
    for item in items[:MAX_DIALOGUES]:
        room -= sum(min(len(turn.text), MAX_TEXT) for turn in run.counted[item].dialogue.turns)
        if room < 0:
            break
        kept.append(item)
    return kept


def _row(
    run: DialogueRun, counted: Counted, contexts: dict[str, int], called: dict[str, str]
) -> dict[str, Any]:
    one = counted.dialogue
    person = run.people[one.person]
    marks: dict[int, list[list[Any]]] = defaultdict(list)
    for mark in counted.marks:
        marks[mark.turn].append(_mark(mark))
    return {
        "id": one.id,
        "person": one.person,
        "task": one.task.id,
        "kind": one.task.kind,
        "domain": " + ".join(one.task.domains),
        "intent": one.task.intent,
        "goal": one.task.goal,
        "preferences": render_person(person, select_facets(person.facets, one.task.preferences)),
        "situation": "\n".join(f"{name}: {value}" for name, value in one.task.situation.items()),
        "system": called.get(one.system_name, one.system_name),
        "user": called.get(one.user_name, one.user_name),
        "given": one.given,
        "told": contexts.setdefault(one.context, len(contexts)),
        "brief": contexts.setdefault(one.brief, len(contexts)),
        "stop": one.stop.value,
        "detail": one.detail,
        "closing": one.closing,
        "switches": [turn + 1 for turn in counted.switches],
        "turns": [
            {
                "role": turn.role,
                "text": _cut(turn.text),
                "thought": _cut(turn.thought or ""),
                "marks": marks[turn.index],
            }
            for turn in one.turns
        ],
    }


def _mark(mark: Mark) -> list[Any]:
    kind = mark.when if mark.kind == "covers" else mark.kind
    return [mark.start, mark.end, kind, mark.path, mark.value]


def _scores(run: DialogueRun) -> dict[str, list[list[Any]]]:
    """Per dialogue: judge, view, question, mean mark, answered, asked."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in run.marks.iter_rows(named=True):
        if row["rater"] in judges:
            found[row["item"]].append(
                [
                    judges[row["rater"]],
                    row["view"],
                    row["question"],
                    row["value"],
                    row["answered"],
                    row["asked"],
                ]
            )
    return found


def _turn_scores(run: DialogueRun) -> dict[str, dict[str, list[list[Any]]]]:
    """Per dialogue and turn of the assistant: judge, view, mark."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    found: dict[str, dict[str, list[list[Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in run.turn_marks.iter_rows(named=True):
        if row["rater"] in judges:
            turn = str(2 * row["exchange"] - 1)
            found[row["item"]][turn].append([judges[row["rater"]], row["view"], row["value"]])
    return found


def _replies(store: Store, run: DialogueRun, kept: list[str]) -> dict[str, list[list[Any]]]:
    """Per dialogue every ask: judge, view, question, sample, status, detail, reply."""
    judges = {rater["fingerprint"]: place for place, rater in enumerate(run.raters)}
    asks = run.answers.unique("ask", maintain_order=True).filter(pl.col("item").is_in(kept))
    query = select(t.asks.c.id, t.asks.c.reply)
    texts = {row.id: row.reply for row in store.rows_among(query, t.asks.c.id, asks["ask"].to_list())}
    found: dict[str, list[list[Any]]] = defaultdict(list)
    for row in asks.iter_rows(named=True):
        if row["rater"] in judges:
            found[row["item"]].append(
                [
                    judges[row["rater"]],
                    row["view"],
                    row["question"],
                    row["sample"],
                    row["status"],
                    _cut(row["detail"] or ""),
                    _cut(texts.get(row["ask"]) or ""),
                ]
            )
    return found


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[:MAX_TEXT]} … ({len(text) - MAX_TEXT:,} more characters in the store)"
