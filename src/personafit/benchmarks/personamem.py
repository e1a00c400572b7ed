"""PersonaMem (arXiv 2504.14225), version 1: which of four replies suits what the person said over many sessions.

Reads the published layout: `questions_32k.csv` (or 128k, 1M) with options and the letter of the right one, and `shared_contexts_32k.jsonl`,
one history per line: `{ID: [{"role", "content"}, ...]}`. A question is asked at some point of a history and sees nothing beyond it. The
persona is the person, so questions about one persona form one cluster whatever their history.
"""

import ast
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field

from personafit._errors import UserError, located
from personafit.benchmarks.benchmark import Controls
from personafit.benchmarks.choices import ChoiceBenchmark, MultipleChoice, said
from personafit.benchmarks.lines import FilledText, PublishedLine, read_csv, read_lines, validated
from personafit.benchmarks.published import published_info
from personafit.items import MOST
from personafit.people import Memory, Person

# Token budgets by size, enough for whole histories. We count four letters per token where theirs have 5.6 (616,669 letters in
# 110,966 tokens), so that a history of 128,000 tokens is one of 178,000 here.
SIZES = {"32k": 48_000, "128k": 192_000, "1M": 1_500_000}
_OPTION = re.compile(r"\(([a-h])\)\s*", re.IGNORECASE)

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

    @property
    def until(self) -> int:
        """Number of turns of the history before the question."""
        return int(self.end_index_in_shared_context)


class _Turn(PublishedLine):
    role: Literal["user", "assistant", "system"]
    content: FilledText


class _History(PublishedLine):
    turns: list[_Turn]


class PersonaMem(ChoiceBenchmark):
    """The questions of one size of PersonaMem."""

    def __init__(self, data: Path) -> None:
        self._questions, self._size = _find(data)
        context = f"history:budget={SIZES[self._size]}"
        self.info = INFO.model_copy(
            update={"context": context, "controls": Controls(contexts=["none", f"wrong:{context}"])}
        )
        self._contexts = self._questions.with_name(f"shared_contexts_{self._size}.jsonl")
        if not self._contexts.is_file():
            raise UserError(f"{self._contexts} is not there; it belongs beside {self._questions.name}.")

    def people(self) -> Iterator[Person]:
        """Iterate over the personas, with all turns of the histories that are asked about."""
        asked: dict[str, dict[str, int]] = {}
        for _, row in self._rows:
            longest = asked.setdefault(row.persona_id, {})
            longest[row.shared_context_id] = max(row.until, longest.get(row.shared_context_id, 0))
        for persona, contexts in sorted(asked.items()):
            memories: list[Memory] = []
            for context, end in contexts.items():
                memories += said(self._histories[context][:end], context)
            yield Person(id=f"persona-{persona}", language="en", memories=memories)

    def read(self) -> Iterator[MultipleChoice]:
        seen: set[str] = set()
        for place, row in self._rows:
            right, wrong = _options(row, place)
            if row.question_id in seen:
                raise UserError(f"{place}, field 'question_id': '{row.question_id}' occurs twice.")
            seen.add(row.question_id)
            yield MultipleChoice(
                id=f"personamem/{self._size}/{row.question_id}",
                person=f"persona-{row.persona_id}",
                prompt=row.user_question_or_message,
                right=right,
                wrong=wrong,
                slices={
                    "type": row.question_type,
                    "topic": row.topic,
                    "size": self._size,
                    "history": row.shared_context_id,
                    "until": row.end_index_in_shared_context,
                },
            )

    def remarks(self) -> list[str]:
        others = (self._questions.with_name(f"questions_{size}.csv") for size in SIZES if size != self._size)
        return [
            f"Histories of the size {self._size}; the published scores are of models that were given them whole.",
            "Without any history a model was reported to choose 49.2 % right on the 128k questions (PersonaMem issue 41): what a "
            "score is worth is its lift over the context none.",
            *(f"{other.name} is there too: --data {other} reads it." for other in others if other.is_file()),
        ]

    @cached_property
    def _rows(self) -> list[tuple[str, _Question]]:
        rows = []
        for number, raw in read_csv(self._questions, tuple(_Question.model_fields)):
            row, place = validated(_Question, raw, self._questions, number), located(self._questions, number)
            history = self._histories.get(row.shared_context_id)
            if history is None:
                raise UserError(
                    f"{place}: there is no history '{row.shared_context_id[:16]}…' in {self._contexts.name}."
                )
            if row.until > len(history):
                raise UserError(
                    f"{place}, field 'end_index_in_shared_context': '{row.until}' is no place in a history of "
                    f"{len(history)} turns."
                )
            rows.append((place, row))
        if not rows:
            raise UserError(f"{self._questions} holds no questions.")
        return rows

    @cached_property
    def _histories(self) -> dict[str, list[tuple[str, str]]]:
        """The turns of every history that is asked about; nearly half of those of the 128k size are not."""
        rows = read_csv(self._questions, tuple(_Question.model_fields))
        asked = {str(row["shared_context_id"]) for _, row in rows}
        histories: dict[str, list[tuple[str, str]]] = {}
        for number, row in read_lines(self._contexts):
            for context in asked & row.keys():
                history = validated(_History, {"turns": row[context]}, self._contexts, number)
                histories[context] = [(turn.role, turn.content) for turn in history.turns]
        return histories


def _find(data: Path) -> tuple[Path, str]:
    """Return the questions file that --data names, or that its folder holds, and its size."""
    for size in SIZES:
        for path in (data, data / f"questions_{size}.csv"):
            if path.is_file() and path.name == f"questions_{size}.csv":
                return path, size
    raise UserError(
        f"{data} holds no PersonaMem questions: expected questions_32k.csv and shared_contexts_32k.jsonl, or 128k or 1M."
    )


def _options(row: _Question, place: str) -> tuple[str, tuple[str, ...]]:
    """Return the right reply and the others; the column holds a Python list literal."""
    try:
        listed = ast.literal_eval(row.all_options)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    marked = [_OPTION.match(str(option)) for option in listed] if isinstance(listed, list) else []
    replies = {match[1].lower(): match.string[match.end() :] for match in marked if match is not None}
    if not marked or len(replies) < len(marked) or not all(text.strip() for text in replies.values()):
        raise UserError(
            f"{place}, field 'all_options' must be a list of texts that each begin with a letter of their own, as in "
            "['(a) …', '(b) …']."
        )
    letter = row.correct_answer.strip().strip("()").lower()
    if letter not in replies or not 2 <= len(replies) <= MOST:
        raise UserError(f"{place}, field 'correct_answer': '{row.correct_answer}' is none of the options.")
    return replies.pop(letter), tuple(replies.values())
