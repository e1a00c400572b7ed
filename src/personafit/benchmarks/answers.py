"""A system's own answers as a benchmark: personalized against generic, and against an answer for another person.

The system under test writes the answers. Raters who see the person choose, in both orders, between its answer and the same system's answer
without the person (generic) or with another person's profile (wrong). The item's gold is the tested answer, so the win rate is computed as
an accuracy.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Literal

import polars as pl
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from personafit._hashing import draw
from personafit.benchmarks.benchmark import BenchmarkInfo, HeldBenchmark
from personafit.benchmarks.spending import SPENT, spent_notes
from personafit.contexts.context import HISTORY, UNTIL
from personafit.items.choice import TESTED_ANSWER
from personafit.people import Person
from personafit.people.prompts import PROMPT_SCHEMA
from personafit.people.render import main_script
from personafit.store import UNMADE, Item, Judgment, Product, Status
from personafit.store.records import COPY, SCORED

TAKEN = SCORED | {UNMADE, COPY, HISTORY, UNTIL}
RESERVED = TAKEN | {"against", "expect", "system", "given"}
"""Slice names with a meaning of their own; a log field with such a name is renamed (`slice_name`)."""
TESTED = "tested"

INFO = BenchmarkInfo(
    name="answers",
    version="1",
    title="A system's own answers, judged for the person they were written for",
    description="Personalized answers against generic and wrong-person ones; no human gold: a win rate, not an accuracy.",
    licence="the user's own",
    gold=TESTED,
    metric="win_rate",
    layout=[["against"]],
)


class AnswerRow(BaseModel):
    """One line of an answer log."""

    model_config = ConfigDict(extra="allow")  # further fields of a log become the item's slices

    id: str | None = Field(None, description="Your own key; default is the line number.")
    person: str | dict[str, Any] = Field(
        description="Who asked: an object with whatever is known (and an 'id'), a description in words, or an id from "
        "people.jsonl (--data)."
    )
    question: str = Field(
        min_length=1,
        description="What the person asked: a text, or a list of messages with 'role' and 'content' that ends with the user's.",
        json_schema_extra=PROMPT_SCHEMA,
    )
    answer: str | None = Field(
        description="What your system answered, knowing the person; empty or null where it made no answer, which then "
        "loses to the answers it is compared with."
    )
    generic: str | None = Field(
        None,
        description="What it answered without knowing the person; empty where it was asked and made no answer, which "
        "leaves nothing to compare with and counts against coverage.",
    )
    wrong: str | None = Field(
        None,
        description="What it answered believing it was somebody else; default is the answer that another person of the "
        "same language and script in the log got to the same question.",
    )
    expect: Literal["personal", "generic"] = Field(
        "personal",
        description="'generic' where a good answer should not be personal; restraint is measured there.",
    )
    system: str | None = Field(None, description="Which system answered, if the log holds several.")
    system_context: str | None = Field(
        None,
        validation_alias=AliasChoices("system_context", "given"),
        description="What the system was told about the person, such as 'profile'.",
    )
    seconds: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="How long the system took to answer."
    )
    cost: float | None = Field(None, ge=0, allow_inf_nan=False, description="What the answer cost, in USD.")


FEWEST_QUESTIONS = 6  # with fewer that recur, intervals over questions rest on too few of them


class Answers(HeldBenchmark):
    """Answer rows as a benchmark of pairs."""

    def __init__(
        self, rows: Iterable[AnswerRow], people: dict[str, Person], seed: int, notes: list[str] | None = None
    ) -> None:
        languages = sorted({person.language for person in people.values()})
        self.rows = list(rows)
        """The answers under test."""
        self._wrong = _wrong_answers(self.rows, people, seed)
        self._pairs = list(self._make_pairs())
        items = (item for item, _, _ in self._pairs)
        products = (product for _, *both in self._pairs for product in both)
        info = INFO.model_copy(update={"language": languages})
        super().__init__(info, people.values(), items, products, notes or ())
        self._note_missing()
        self._note_questions()
        self._notes += spent_notes(self.spent)

    @property
    def spent(self) -> pl.DataFrame:
        """Seconds and cost of every answer, null if the log does not have them."""
        known = [(row.system, row.system_context, row.seconds, row.cost) for row in self.rows]
        return pl.DataFrame(known, schema=SPENT, orient="row")

    def gold(self) -> Iterator[Judgment]:
        for item, tested, _ in self._pairs:
            yield Judgment(item=item.id, rater=TESTED, label=str(item.products.index(tested.id)))

    def _make_pairs(self) -> Iterator[tuple[Item, Product, Product]]:
        """Yield the comparisons, with the answers in an order that reveals nothing, and their two answers, the tested one first."""
        for row in self.rows:
            person = _person_id(row)
            tested = _product(row.answer or "", row, person)
            wrong = self._wrong.get(row.id or "") if row.wrong is None else row.wrong
            for against, text in (("generic", row.generic), ("wrong", wrong)):
                if text is None:
                    continue
                other = _product(text, row, against)
                slices = _slices(row, against)
                if unmade := against if not text else TESTED_ANSWER if not row.answer else None:
                    slices[UNMADE] = unmade
                item = Item(
                    id=f"answers/{row.id}/{against}",
                    person=person,
                    prompt=row.question,
                    products=sorted((tested.id, other.id)),
                    slices=slices,
                )
                yield item, tested, other

    def _note_missing(self) -> None:
        if lost := sum(not row.answer for row in self.rows):
            self._notes.append(
                f"{lost:,} of {len(self.rows):,} personal answers were not made: they lose to every answer they are compared with."
            )
        compared = dict.fromkeys(("generic", "wrong"), 0)
        for item, _, _ in self._pairs:
            compared[item.slices["against"]] += 1
        other = {"generic": "generic answer", "wrong": "answer for another person"}
        for against, count in compared.items():
            if count < len(self.rows):
                alone = len(self.rows) - count
                self._notes.append(
                    f"{alone} of {len(self.rows)} answers have no {other[against]} to be compared with."
                )

    def _note_questions(self) -> None:
        """Add a note if so few questions are asked of several people that intervals over questions are wide."""
        questions = len({row.question for row in self.rows})
        if (
            1 < questions < FEWEST_QUESTIONS
            and len({(row.question, _person_id(row)) for row in self.rows}) > questions
        ):
            self._notes.append(
                f"There are only {questions} different questions, asked of several people: intervals also cover other questions that "
                "could have been asked, so they are wide. More questions narrow them, more people do not."
            )


def _product(text: str, row: AnswerRow, about: str) -> Product:
    """Return an answer as a product; an answer that was not made is empty, with status `failed`."""
    status = Status.OK if text else Status.FAILED
    return Product(kind="answer", text=text, maker=row.system, about=about, status=status)


def _slices(row: AnswerRow, against: str) -> dict[str, str]:
    """Return the slices of a comparison, and the log's further fields under their own names."""
    slices = {"against": against, "expect": row.expect, "system": row.system, "given": row.system_context}
    more = {slice_name(name): _metadata(value) for name, value in (row.model_extra or {}).items()}
    own = {name: value for name, value in slices.items() if value is not None}
    return {name: value for name, value in more.items() if value} | own


def slice_name(field: str, reserved: Collection[str] = RESERVED) -> str:
    """Return the slice name for a field of a log."""
    return f"log.{field}" if field in reserved else field


def _metadata(value: object) -> str:
    """Convert a field of a log to a slice value."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def _person_id(row: AnswerRow) -> str:
    return row.person if isinstance(row.person, str) else str(row.person["id"])


def _wrong_answers(rows: list[AnswerRow], people: Mapping[str, Person], seed: int) -> dict[str, str]:
    """Return for each row the answer to the same question for a randomly drawn other person of the same language and script.

    An answer in another language would lose for its language; rows without such an answer go without this control.
    """
    by_question: dict[tuple[str | None, str | None, str], list[AnswerRow]] = defaultdict(list)
    for row in rows:
        by_question[row.system, row.system_context, row.question].append(row)
    found: dict[str, str] = {}
    for row in rows:
        others = [
            other
            for other in by_question[row.system, row.system_context, row.question]
            if other.answer
            and _person_id(other) != _person_id(row)
            and people[_person_id(other)].language == people[_person_id(row)].language
            and main_script(other.answer) == main_script(row.answer or row.generic or row.question)
        ]
        if others:
            other = others[draw("wrong-answer", row.id or "", seed, among=len(others))]
            found[row.id or ""] = other.answer or ""
    return found
