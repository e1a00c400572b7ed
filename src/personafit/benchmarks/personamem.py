"""PersonaMem (arXiv 2504.14225), version 1: which of four replies suits what the person has said over many sessions.

Reads its published layout: `questions_32k.csv` (or 128k, 1M) with options and the letter of the right one, and
`shared_contexts_32k.jsonl`, a line per history: `{ID: [{"role", "content"}, ...]}`. A question is asked at some place of a history and
sees nothing beyond it. The persona is the person, so questions about one persona are one cluster whatever history they come from.
"""

import ast
import csv
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import BenchmarkInfo, Controls
from personafit.benchmarks.choices import SPEAKERS, ChoiceBenchmark, MultipleChoice, said
from personafit.benchmarks.lines import read_lines, required_text
from personafit.items import MOST
from personafit.people import Memory, Person

# Sizes, and how much of a history is told: all. Our count takes four letters for a token where theirs has 5.6 (616,669 letters in
# 110,966 tokens), so that a history of 128,000 tokens is one of 178,000 here.
SIZES = {"32k": 48_000, "128k": 192_000, "1M": 1_500_000}
COLUMNS = (
    "persona_id",
    "question_id",
    "question_type",
    "topic",
    "user_question_or_message",
    "correct_answer",
    "all_options",
    "shared_context_id",
    "end_index_in_shared_context",
)
_OPTION = re.compile(r"\(([a-h])\)\s*", re.IGNORECASE)

INFO = BenchmarkInfo(
    name="personamem",
    version="2504.14225",
    title="PersonaMem: which of four replies suits what the person has said?",
    description="Simulated people with evolving preferences; questions, replies and the right one were written by a model.",
    licence="MIT",
    language=["en"],
    gold="published",
    layout=[["type"]],
    metrics={"chance": 1 / 4},
)


class PersonaMem(ChoiceBenchmark):
    """PersonaMem's questions of one size."""

    def __init__(self, data: Path) -> None:
        self._questions, self._size = _find(data)
        view = f"history:budget={SIZES[self._size]}"
        self.info = INFO.model_copy(
            update={"view": view, "controls": Controls(views=["none", f"wrong:{view}"])}
        )
        self._contexts = self._questions.with_name(f"shared_contexts_{self._size}.jsonl")
        if not self._contexts.is_file():
            raise UserError(f"{self._contexts} is not there; it belongs beside {self._questions.name}.")
        there = [size for size in SIZES if self._questions.with_name(f"questions_{size}.csv").is_file()]
        self._others = [size for size in there if size != self._size]

    def people(self) -> Iterator[Person]:
        """The personas, with everything they ever said in any history that is asked about."""
        asked: dict[str, dict[str, int]] = {}
        for _, row in self._rows:
            longest = asked.setdefault(row["persona_id"], {})
            end = int(row["end_index_in_shared_context"])
            longest[row["shared_context_id"]] = max(end, longest.get(row["shared_context_id"], 0))
        for persona, contexts in sorted(asked.items()):
            memories: list[Memory] = []
            for context, end in contexts.items():
                memories += said(self._histories[context][:end], context)
            yield Person(id=f"persona-{persona}", language="en", memories=memories)

    def read(self) -> Iterator[MultipleChoice]:
        """One choice per question."""
        seen: set[str] = set()
        for number, row in self._rows:
            place = located(self._questions, number)
            right, wrong = _options(row, place)
            question = row["question_id"]
            if question in seen:
                raise UserError(f"{place}, field 'question_id': '{question}' occurs twice.")
            seen.add(question)
            yield MultipleChoice(
                id=f"personamem/{self._size}/{question}",
                person=f"persona-{row['persona_id']}",
                prompt=row["user_question_or_message"],
                right=right,
                wrong=wrong,
                slices={
                    "type": row["question_type"],
                    "topic": row["topic"],
                    "size": self._size,
                    "history": row["shared_context_id"],
                    "until": row["end_index_in_shared_context"],
                },
            )

    def remarks(self) -> list[str]:
        """Which size this is, and what a blind model scores on it."""
        others = [
            f"questions_{size}.csv is there too: --data {self._questions.with_name(f'questions_{size}.csv')} reads it."
            for size in self._others
        ]
        return [
            f"Histories of the size {self._size}; the published scores are of models that were given them whole.",
            "Without any history a model was reported to choose 49.2 % right on the 128k questions (PersonaMem issue 41): what a "
            "score is worth is its lift over the view none.",
            *others,
        ]

    @cached_property
    def _rows(self) -> list[tuple[int, dict[str, str]]]:
        rows = list(_read_csv(self._questions))
        for number, row in rows:
            place = located(self._questions, number)
            for column in COLUMNS:
                required_text(row, column, place)
            context, end = row["shared_context_id"], row["end_index_in_shared_context"]
            if context not in self._histories:
                raise UserError(f"{place}: there is no history '{context[:16]}…' in {self._contexts.name}.")
            if not end.isdecimal() or not 0 < int(end) <= len(self._histories[context]):
                raise UserError(
                    f"{place}, field 'end_index_in_shared_context': '{end}' is no place in a history of "
                    f"{len(self._histories[context])} turns."
                )
        if not rows:
            raise UserError(f"{self._questions} holds no questions.")
        return rows

    @cached_property
    def _histories(self) -> dict[str, list[tuple[str, str]]]:
        asked = {row["shared_context_id"] for _, row in _read_csv(self._questions)}
        histories: dict[str, list[tuple[str, str]]] = {}
        for number, row in read_lines(self._contexts):
            for context, turns in row.items():
                if context in asked:  # of the 128k size nearly half are not
                    histories[context] = _turns(turns, located(self._contexts, number))
        return histories


def _find(data: Path) -> tuple[Path, str]:
    if data.is_file():
        size = data.stem.removeprefix("questions_")
        if size in SIZES:
            return data, size
    for size in SIZES:
        if (data / f"questions_{size}.csv").is_file():
            return data / f"questions_{size}.csv", size
    raise UserError(
        f"{data} holds no PersonaMem questions: expected questions_32k.csv and shared_contexts_32k.jsonl, or 128k or 1M."
    )


def _read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            csv.field_size_limit(8 << 20)
            reader = csv.DictReader(line.replace("\x00", "\ufffd") for line in file)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or [])]:
                raise UserError(
                    f"{located(path, 1, missing[0])}: this column is missing; version 1 is wanted."
                )
            while True:
                first = reader.line_num + 1  # a question may run over several lines
                if (row := next(reader, None)) is None:
                    return
                yield first, row
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path} cannot be read ({error}).") from error


def _options(row: dict[str, str], place: str) -> tuple[str, tuple[str, ...]]:
    """The right reply and the others; the column is a list as Python writes one."""
    try:
        listed = ast.literal_eval(row["all_options"])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(isinstance(option, str) for option in listed):
        raise UserError(f"{place}, field 'all_options' must be a list of texts, as in ['(a) …', '(b) …'].")
    replies: dict[str, str] = {}
    for option in listed:
        if (match := _OPTION.match(option)) is None or not option[match.end() :].strip():
            raise UserError(
                f"{place}, field 'all_options': each option must begin with its letter, as in '(a) …'."
            )
        if (letter := match[1].lower()) in replies:
            raise UserError(f"{place}, field 'all_options': two options are called ({letter}).")
        replies[letter] = option[match.end() :]
    letter = row["correct_answer"].strip().strip("()").lower()
    if letter not in replies or not 2 <= len(replies) <= MOST:
        raise UserError(f"{place}, field 'correct_answer': '{row['correct_answer']}' is none of the options.")
    return replies.pop(letter), tuple(replies.values())


def _turns(turns: Any, place: str) -> list[tuple[str, str]]:
    if not isinstance(turns, list):
        raise UserError(f"{place} must be one history: an id with a list of turns.")
    found = []
    for number, turn in enumerate(turns):
        role = turn.get("role") if isinstance(turn, dict) else None
        if role not in SPEAKERS:
            raise UserError(f"{place}, turn {number}: role must be user, assistant or system, not {role!r}.")
        found.append((str(role), required_text(turn, "content", f"{place}, turn {number}")))
    return found
