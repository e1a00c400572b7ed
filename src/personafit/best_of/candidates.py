"""Questions with several candidate answers each, read from a file and compared in pairs.

Every candidate is compared with one and the same other, the one of middle length, so that any rater that chooses between two
answers gives each candidate a score: how far it is ahead of that one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from personafit._errors import UserError
from personafit.benchmarks.benchmark import Benchmark, BenchmarkInfo
from personafit.benchmarks.lines import read_lines, validated
from personafit.benchmarks.row_checks import RowChecks, inline_person
from personafit.people import Person
from personafit.store import Item, Product


class CandidateRow(BaseModel):
    """One line of the file."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = Field(None, min_length=1, description="Your own key; default is the line number.")
    person: str | dict[str, Any] = Field(
        description="Who asked: an id from people.jsonl (--data), or an object with 'id' and whatever is known."
    )
    question: str = Field(min_length=1, description="What the person asked.")
    answers: list[str] = Field(
        default_factory=list, description="The candidates; none where --system makes them."
    )


@dataclass(frozen=True)
class CandidateSet:
    """A question of a person with the candidate answers to it."""

    id: str
    person: str
    question: str
    answers: tuple[str, ...]

    @property
    def base(self) -> int:
        """The candidate that the others are compared with: the one of middle length."""
        order = sorted(range(len(self.answers)), key=lambda index: (len(self.answers[index]), index))
        return order[(len(order) - 1) // 2]

    def item_id(self, index: int) -> str:
        """The id of the comparison of a candidate with the base."""
        return f"best-of/{self.id}/{index}"


def read_candidates(path: Path, people: Mapping[str, Person]) -> tuple[list[CandidateSet], dict[str, Person]]:
    """The questions of a file and everyone in it."""
    checks, prompts = RowChecks(path, people), []
    for number, raw in read_lines(path, checks.faults.append):
        with checks.noted():
            row = validated(CandidateRow, raw, path, number)
            if not row.question.strip():
                checks.add(number, "question", "is empty.")
            for place, answer in enumerate(row.answers):
                if not answer.strip():
                    checks.add(number, f"answers.{place}", "is empty.")
            who = _meet(row.person, checks, number)
            checks.is_new(number, row.id or str(number), number)  # questions may recur: each gets its answer
            prompts.append(CandidateSet(row.id or str(number), who, row.question, tuple(row.answers)))
    checks.refuse()
    if not prompts:
        raise UserError(f"{path} holds no questions.")
    return prompts, checks.people


def _meet(named: str | dict[str, Any], checks: RowChecks, number: int) -> str:
    """The id of whom a line names or describes; who is described joins those known."""
    if isinstance(named, str):
        if named not in checks.people:
            checks.add(
                number,
                "person",
                f": nobody is called '{named}'; describe the person inline or give a folder with people.jsonl by --data.",
            )
        return named
    person = inline_person(named, checks.place, number)
    checks.meet(number, person)
    return person.id


class Comparisons(Benchmark):
    """The candidates as a benchmark of pairs: each with its prompt's base. There is no gold."""

    def __init__(self, prompts: list[CandidateSet], people: Mapping[str, Person]) -> None:
        self.info = BenchmarkInfo(
            name="best-of",
            version="1",
            title="Candidate answers, to be chosen among",
            licence="the user's own",
            language=sorted({person.language for person in people.values()}),
            layout=[],
        )
        self._prompts = prompts
        self._people = people

    def people(self) -> Iterator[Person]:
        """Everyone who asked, or may stand in as the wrong person."""
        yield from self._people.values()

    def products(self) -> Iterator[Product]:
        """The candidates."""
        for prompt in self._prompts:
            yield from (_product(prompt, index) for index in range(len(prompt.answers)))

    def items(self) -> Iterator[Item]:
        """Every candidate against the base."""
        for prompt in self._prompts:
            base = _product(prompt, prompt.base).id if prompt.answers else ""
            for index in range(len(prompt.answers)):
                if index != prompt.base:
                    yield Item(
                        id=prompt.item_id(index),
                        person=prompt.person,
                        prompt=prompt.question,
                        products=[base, _product(prompt, index).id],
                    )


class Questions(Comparisons):
    """The questions alone, for a system that is to answer them."""

    def __init__(self, prompts: list[CandidateSet], people: Mapping[str, Person]) -> None:
        super().__init__(prompts, people)
        self.info = self.info.model_copy(update={"name": "best-of-questions"})

    def products(self) -> Iterator[Product]:
        """None: they are about to be made."""
        yield from ()

    def items(self) -> Iterator[Item]:
        """The questions."""
        for prompt in self._prompts:
            yield Item(
                id=f"best-of/{prompt.id}",
                kind="prompt",
                person=prompt.person,
                prompt=prompt.question,
                products=[],
            )


def _product(prompt: CandidateSet, index: int) -> Product:
    return Product(kind="answer", text=prompt.answers[index], about=prompt.person)
