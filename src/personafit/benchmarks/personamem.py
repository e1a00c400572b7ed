"""PersonaMem (arXiv 2504.14225), version 1: which of four replies suits what the person said over many sessions.

Reads two layouts. Published: `questions_32k.csv` (or 128k, 1M) with options and the letter of the right one, and
`shared_contexts_32k.jsonl`, one history per line: `{ID: [{"role", "content"}, ...]}`; a question is asked at some point of a history and sees
nothing beyond it. Republished for memory systems: `queries.jsonl`, whose questions hold their options, and `documents.jsonl` with the
sessions of each history; there a question sees all sessions, as the copy does not say where it was asked. The persona is the person, so
questions about one persona form one cluster whatever their history.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from personafit._errors import UserError, located, refuse_faults
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls, Published
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice, said
from personafit.benchmarks.lines import (
    FilledText,
    IdText,
    PublishedLine,
    read_csv,
    read_lines,
    read_records,
    validated,
)
from personafit.benchmarks.published import not_found, published_info
from personafit.contexts.context import HISTORY, UNTIL
from personafit.items import MOST
from personafit.people import Memory, Person

# Token budgets by size, enough for whole histories. We count four letters per token where theirs have 5.6 (616,669 letters in
# 110,966 tokens), so that a history of 128,000 tokens is one of 178,000 here.
SIZES = {"32k": 48_000, "128k": 192_000, "1M": 1_500_000}
QUERIES, DOCUMENTS = "queries.jsonl", "documents.jsonl"
_OPTION = re.compile(r"\(([a-h])\)\s*", re.IGNORECASE)
_NEXT_OPTION = re.compile(r"\n(?=\([a-h]\) )")
_SPOKEN = re.compile(r"(?:\A|\n\n)\[(SYSTEM|USER|ASSISTANT)\] ")

INFO = published_info("personamem")


class _Question(PublishedLine):
    persona_id: FilledText
    question_id: FilledText
    question_type: FilledText
    topic: FilledText
    user_question_or_message: FilledText
    correct_answer: FilledText
    all_options: FilledText
    shared_context_id: FilledText
    end_index_in_shared_context: str = Field(pattern=r"^[1-9][0-9]{0,8}$")


class _Turn(PublishedLine):
    role: Literal["user", "assistant", "system"]
    content: FilledText


class _History(PublishedLine):
    turns: list[_Turn]


class _QueryDetails(PublishedLine):
    persona_id: IdText
    question_type: FilledText
    topic: FilledText
    retrieval_query: FilledText


class _Query(PublishedLine):
    id: FilledText
    query: FilledText
    gold_answers: list[FilledText]
    user_id: FilledText
    meta: _QueryDetails


class _Document(PublishedLine):
    id: FilledText
    user_id: FilledText
    content: FilledText


Histories = dict[str, list[tuple[str, str]]]
"""The turns of each history, as role and text."""


class PersonaMem(ChoiceBenchmark):
    """The questions of one size of PersonaMem."""

    def __init__(self, data: Path) -> None:
        self._republished = (data / QUERIES).is_file() and (data / DOCUMENTS).is_file()
        self._source, self._size = (data / QUERIES, "") if self._republished else _find(data)

    @cached_property
    def info(self) -> BenchmarkInfo:  # type: ignore[override] # its context depends on the size
        context = f"history:budget={SIZES[self._size or _fitting(self._data[1])]}"
        controls = Controls(contexts=["none", f"wrong:{context}"])
        return INFO.model_copy(update={"context": context, "controls": controls})

    def people(self) -> Iterator[Person]:
        """Iterate over the personas, with all turns of the histories that are asked about."""
        choices, histories = self._data
        asked: dict[str, dict[str, int]] = {}
        for choice in choices:
            longest, history = asked.setdefault(choice.person, {}), choice.slices[HISTORY]
            until = int(choice.slices.get(UNTIL, len(histories[history])))
            longest[history] = max(until, longest.get(history, 0))
        for persona, ends in sorted(asked.items()):
            memories: list[Memory] = []
            for history, end in ends.items():
                memories += said(histories[history][:end], history)
            yield Person(id=persona, language="en", memories=memories)

    def read(self) -> list[MultipleChoice]:
        return self._data[0]

    def published(self) -> list[Published]:
        """Return the published scores; none of them is about questions that see whole histories."""
        return [] if self._republished else super().published()

    def remarks(self) -> list[str]:
        blind = (
            "Without any history a model was reported to choose 49.2 % right on the 128k questions (PersonaMem issue 41): what a "
            "score is worth is its lift over the context none."
        )
        if self._republished:
            return [
                "This copy does not say at which point of a history a question was asked: whole histories are given, with what was said "
                "later, so published scores are of another task and are not shown.",
                blind,
            ]
        others = (self._source.with_name(f"questions_{size}.csv") for size in SIZES if size != self._size)
        return [
            f"Histories of the size {self._size}; the published scores are of models that were given them whole.",
            blind,
            *(f"{other.name} is there too: --data {other} reads it." for other in others if other.is_file()),
        ]

    @cached_property
    def _data(self) -> tuple[list[MultipleChoice], Histories]:
        questions, histories = (_read_copy if self._republished else _read_published)(self._source)
        if not questions:
            raise UserError(f"{self._source} holds no questions.")
        return questions, histories


def _find(data: Path) -> tuple[Path, str]:
    """Return the questions file that --data names, or that its folder holds, and its size."""
    for size in SIZES:
        for path in (data, data / f"questions_{size}.csv"):
            if path.is_file() and path.name == f"questions_{size}.csv":
                if not (contexts := path.with_name(f"shared_contexts_{size}.jsonl")).is_file():
                    raise UserError(f"{contexts} is not there; it belongs beside {path.name}.")
                return path, size
    raise not_found("personamem", data)


def _fitting(histories: Histories) -> str:
    """Return the least size whose budget holds every history, at four letters per token."""
    longest = max(sum(len(text) for _, text in turns) for turns in histories.values())
    return next((size for size, budget in SIZES.items() if longest <= 4 * budget), "1M")


def _read_published(path: Path) -> tuple[list[MultipleChoice], Histories]:
    rows = [
        (validated(_Question, row, path, number), located(path, number))
        for number, row in read_csv(path, tuple(_Question.model_fields))
    ]
    size = path.stem.rpartition("_")[2]
    contexts = path.with_name(f"shared_contexts_{size}.jsonl")
    wanted = {row.shared_context_id for row, _ in rows}  # at 128k nearly half are not asked about
    histories: Histories = {}
    for number, line in read_lines(contexts):
        for name in wanted & line.keys():
            history = validated(_History, {"turns": line[name]}, contexts, number)
            histories[name] = [(turn.role, turn.content) for turn in history.turns]
    found: dict[str, MultipleChoice] = {}
    for row, place in rows:
        until, turns = int(row.end_index_in_shared_context), histories.get(row.shared_context_id)
        if turns is None:
            raise UserError(
                f"{place}: there is no history '{row.shared_context_id[:16]}…' in {contexts.name}."
            )
        if until > len(turns):
            raise UserError(
                f"{place}, field 'end_index_in_shared_context': '{until}' is no place in a history of {len(turns)} turns."
            )
        if row.question_id in found:
            raise UserError(f"{place}, field 'question_id': '{row.question_id}' occurs twice.")
        replies = _listed(row.all_options, place)
        letter = row.correct_answer.strip().strip("()").lower()
        if letter not in replies or not 2 <= len(replies) <= MOST:
            raise UserError(
                f"{place}, field 'correct_answer': '{row.correct_answer}' is none of the options."
            )
        slices = {"type": row.question_type, "topic": row.topic, "size": size, HISTORY: row.shared_context_id}
        found[row.question_id] = MultipleChoice(
            id=f"personamem/{size}/{row.question_id}",
            person=f"persona-{row.persona_id}",
            prompt=row.user_question_or_message,
            right=replies.pop(letter),
            wrong=tuple(replies.values()),
            slices={**slices, UNTIL: str(until)},
        )
    return list(found.values()), histories


def _listed(options: str, place: str) -> dict[str, str]:
    """Return the replies by letter; the column holds a Python list literal."""
    try:
        listed = ast.literal_eval(options)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    replies = _lettered(map(str, listed)) if isinstance(listed, list) else None
    if not replies:
        raise UserError(
            f"{place}, field 'all_options' must be a list of texts that each begin with a letter of their own, as in "
            "['(a) …', '(b) …']."
        )
    return replies


def _lettered(options: Iterable[str]) -> dict[str, str] | None:
    """Return the replies by letter; None if one is empty or has no letter of its own."""
    marked = [_OPTION.match(option) for option in options]
    replies = {match[1].lower(): match.string[match.end() :] for match in marked if match is not None}
    whole = len(replies) == len(marked) and all(text.strip() for text in replies.values())
    return replies if whole else None


def _read_copy(path: Path) -> tuple[list[MultipleChoice], Histories]:
    faults: list[str] = []
    documents = path.with_name(DOCUMENTS)
    sessions: list[tuple[str, int, list[tuple[str, str]]]] = []
    for number, document in read_records(documents, _Document, faults.append, key=lambda one: one.id):
        before, *turns = _SPOKEN.split(document.content)
        if before or not turns or not all(text.strip() for text in turns[1::2]):
            place = located(documents, number, "content")
            faults.append(f"{place} must be turns that begin with [SYSTEM], [USER] or [ASSISTANT].")
        nth = document.id.rpartition("_")[2]
        roles = (role.lower() for role in turns[::2])
        session = list(zip(roles, turns[1::2], strict=True))
        sessions.append((document.user_id, int(nth) if nth.isdecimal() else number, session))
    histories: Histories = {}
    for user, _, session in sorted(sessions, key=lambda one: one[1]):  # as their ids say
        histories.setdefault(user, []).extend(session)
    found: list[MultipleChoice] = []
    for number, row in read_records(path, _Query, faults.append, key=lambda one: one.id):
        prompt, options = row.meta.retrieval_query, row.query.removeprefix(row.meta.retrieval_query)
        replies = _lettered(_NEXT_OPTION.split(options.strip())) if options != row.query else None
        right = [
            letter for letter, text in (replies or {}).items() if f"({letter}) {text}" in row.gold_answers
        ]
        if replies is None or not 2 <= len(replies) <= MOST:
            faults.append(
                f"{located(path, number, 'query')} must be the question in meta.retrieval_query, then options: (a) …, (b) …."
            )
        elif len(right) != 1:
            faults.append(
                f"{located(path, number, 'gold_answers')} must hold one of the options of the query."
            )
        elif row.user_id not in histories:
            faults.append(
                f"{located(path, number, 'user_id')}: nothing in {DOCUMENTS} is of '{row.user_id}'."
            )
        else:
            slices = {"type": row.meta.question_type, "topic": row.meta.topic, HISTORY: row.user_id}
            reply, person = replies.pop(right[0]), f"persona-{row.meta.persona_id}"
            found.append(
                MultipleChoice(f"personamem/{row.id}", person, prompt, reply, tuple(replies.values()), slices)
            )
    refuse_faults(faults, path.parent)
    return found, histories
