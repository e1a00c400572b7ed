"""A team's own answers: personalized against generic, and against what another person would have got.

Choosing is not generating. Here the system under test writes; judges who see the person choose, in both orders, between
its answer and the same system's answer without the person (generic) or with somebody else's profile (wrong).
The item's gold is simply "the tested answer", so a win rate is an accuracy.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError, located
from personafit._hashing import draw
from personafit.benchmarks.benchmark import BenchmarkInfo, Published
from personafit.benchmarks.lines import read_lines, required_text, validated
from personafit.people import Person, flatten
from personafit.people.script import main_script
from personafit.store import UNMADE, Item, Judgment, Product, Status

TESTED = "tested"
TESTED_ANSWER = "answer"  # what an item says is unmade where it is the system's own answer

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

    model_config = ConfigDict(extra="forbid")

    id: str | None = Field(None, description="Your own key; default is the line number.")
    person: str | dict[str, Any] = Field(
        description="Who asked: an id from people.jsonl (--data), or an object with 'id' and whatever is known."
    )
    question: str = Field(min_length=1, description="What the person asked.")
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
    given: str | None = Field(
        None, description="What the system was told about the person, such as 'profile'."
    )


class Answers:
    """Answer rows as a benchmark of pairs."""

    def __init__(
        self, rows: Iterable[AnswerRow], people: dict[str, Person], seed: int, notes: list[str] | None = None
    ) -> None:
        self.info = INFO.model_copy(
            update={"language": sorted({person.language for person in people.values()})}
        )
        self._rows = list(rows)
        self._people = people
        self._notes = list(notes or [])
        self._wrong = _wrong_answers(self._rows, people, seed)
        self._pairs = list(self._make_pairs())
        self._note_missing()

    def people(self) -> Iterator[Person]:
        """Everyone in the log."""
        yield from self._people.values()

    def products(self) -> Iterator[Product]:
        """Tested and opposing answers."""
        for _, tested, other in self._pairs:
            yield tested
            yield other

    def items(self) -> Iterator[Item]:
        """A pair per comparison, in an order that tells nothing."""
        for item, _, _ in self._pairs:
            yield item

    def gold(self) -> Iterator[Judgment]:
        """Which of the two is the tested answer."""
        for item, tested, _ in self._pairs:
            yield Judgment(item=item.id, rater=TESTED, label=str(item.products.index(tested.id)))

    def published(self) -> list[Published]:
        """Nobody has published on your answers."""
        return []

    def notes(self) -> list[str]:
        """What could not be compared."""
        return self._notes

    def _make_pairs(self) -> Iterator[tuple[Item, Product, Product]]:
        for row in self._rows:
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
        if lost := sum(not row.answer for row in self._rows):
            self._notes.append(
                f"{lost} of {len(self._rows)} answers were not made: they lose to every answer they are compared with."
            )
        compared = dict.fromkeys(("generic", "wrong"), 0)
        for item, _, _ in self._pairs:
            compared[item.slices["against"]] += 1
        for against, count in compared.items():
            if count < len(self._rows):
                self._notes.append(
                    f"{len(self._rows) - count} of {len(self._rows)} answers have no {against} answer."
                )


def read_log(path: Path, people: dict[str, Person]) -> tuple[list[AnswerRow], dict[str, Person]]:
    """The rows of a log and everyone in it; people given inline join those given with --data."""
    known, rows, ids = dict(people), [], set()
    for number, raw in read_lines(path):
        row = validated(AnswerRow, raw, path, number)
        required_text(raw, "question", path, number)
        row.answer, row.generic, row.wrong = (
            text if text is None or text.strip() else "" for text in (row.answer, row.generic, row.wrong)
        )
        row.id = row.id or str(number)
        if row.id in ids:
            raise UserError(f"{located(path, number, 'id')}: '{row.id}' occurs twice; ids must be unique.")
        ids.add(row.id)
        meet_person(row.person, known, path, number)
        rows.append(row)
    if not rows:
        raise UserError(f"{path} holds no answers.")
    return rows, known


def meet_person(named: str | dict[str, Any], known: dict[str, Person], path: Path, number: int) -> str:
    """The id of whom a line names or describes; who is described joins those known."""
    if isinstance(named, str):
        if named not in known:
            raise UserError(
                f"{located(path, number, 'person')}: nobody is called '{named}'; describe the person inline or "
                "give a folder with people.jsonl by --data."
            )
        return named
    person = inline_person(named, path, number)
    if person.id in known and known[person.id].version != person.version:
        raise UserError(
            f"{located(path, number, 'person')}: '{person.id}' was described differently before; "
            "give a person the same profile on every line."
        )
    known[person.id] = person
    return person.id


def inline_person(profile: dict[str, Any], path: Path, number: int) -> Person:
    """Somebody described within a line of a file."""
    person_id = profile.get("id")
    if not isinstance(person_id, str) or not person_id:
        raise UserError(f"{located(path, number, 'person.id')} is missing; an inline person needs an id.")
    facets = profile.get("facets")
    if not isinstance(facets, dict):
        facets = flatten({key: value for key, value in profile.items() if key not in ("id", "language")})
    language = profile.get("language", "und")
    return validated(Person, {"id": person_id, "language": language, "facets": facets}, path, number)


def _product(text: str, row: AnswerRow, about: str) -> Product:
    """An answer; one that was not made is empty and says so."""
    status = Status.OK if text else Status.FAILED
    return Product(kind="answer", text=text, maker=row.system, about=about, status=status)


def _slices(row: AnswerRow, against: str) -> dict[str, str]:
    slices = {"against": against, "expect": row.expect, "system": row.system, "given": row.given}
    return {name: value for name, value in slices.items() if value is not None}


def _person_id(row: AnswerRow) -> str:
    return row.person if isinstance(row.person, str) else str(row.person["id"])


def _wrong_answers(rows: list[AnswerRow], people: Mapping[str, Person], seed: int) -> dict[str, str]:
    """For each row the answer that a drawn other person of the same language got, in the same script, to the same question.

    An answer in another language would lose for its language; where there is no other, the row goes without this control.
    """
    by_question: dict[tuple[str | None, str | None, str], list[AnswerRow]] = defaultdict(list)
    for row in rows:
        by_question[row.system, row.given, row.question].append(row)
    found: dict[str, str] = {}
    for row in rows:
        others = [
            other
            for other in by_question[row.system, row.given, row.question]
            if other.answer
            and _person_id(other) != _person_id(row)
            and people[_person_id(other)].language == people[_person_id(row)].language
            and main_script(other.answer) == main_script(row.answer or row.generic or row.question)
        ]
        if others:
            other = others[draw("wrong-answer", row.id or "", seed, among=len(others))]
            found[row.id or ""] = other.answer or ""
    return found
