"""Questions with their answers, what is voted on, and the folder that people vote from.

`personafit label new STUDY --from FOLDER` takes the folder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personafit._hashing import content_hash, draw
from personafit.benchmarks import Benchmark, BenchmarkInfo, write_folder
from personafit.build.bench import Bench
from personafit.people import Person
from personafit.store import Item, Product


@dataclass(frozen=True)
class AnsweredQuestion:
    """A question with who asks it and all its answers."""

    question: dict[str, Any]
    person: Person
    answers: tuple[dict[str, Any], ...]

    @property
    def id(self) -> str:
        return str(self.question["id"])


def answered_questions(bench: Bench) -> list[AnsweredQuestion]:
    """All of them, in the order of people."""
    people = {person.id: person for person in bench.people()}
    answers: dict[str, list[dict[str, Any]]] = {}
    for row in bench.read_rows("answers"):
        answers.setdefault(row["question"], []).append(row)
    return [
        AnsweredQuestion(row, people[row["person"]], tuple(answers.get(row["id"], ())))
        for row in bench.read_rows("questions")
    ]


@dataclass(frozen=True)
class Ballot:
    """An item with all a rater sees."""

    item: Item
    person: Person
    answers: tuple[dict[str, Any], ...]
    """Rows of the answers, in the order of the item's products."""

    @property
    def texts(self) -> list[str]:
        return [row["text"] for row in self.answers]


def ballot(study: str, asked: AnsweredQuestion, answers: Sequence[dict[str, Any]], bench: Bench) -> Ballot:
    """An item about some answers, in a drawn order; other answers make another item, so that no vote is taken for one on them."""
    name = f"{study}/{asked.id}/{content_hash(sorted(row['id'] for row in answers))[:8]}"
    key = ("shown", bench.seed, bench.take, name)
    shown = tuple(sorted(answers, key=lambda row: draw(*key, row["id"], among=2**63)))
    item = Item(
        id=name,
        person=asked.person.id,
        prompt=asked.question["text"],
        products=[row["id"] for row in shown],
        group=asked.id,
        slices={"half": asked.question["half"], "category": asked.question["category"]},
    )
    return Ballot(item, asked.person, shown)


def write_study(folder: Path, name: str, title: str, languages: list[str], ballots: Sequence[Ballot]) -> None:
    """A folder of items without gold, that says of no answer who made it or why."""
    write_folder(folder, _Study(name, title, languages, ballots), f"# {title}\n\n{len(ballots):,} items.\n")


class _Study(Benchmark):
    """Ballots as a benchmark that nobody has judged yet."""

    def __init__(self, name: str, title: str, languages: list[str], ballots: Sequence[Ballot]) -> None:
        self.info = BenchmarkInfo(name=name, version="1", title=title, language=languages)
        self._ballots = ballots

    def people(self) -> Iterator[Person]:
        return iter({one.person.id: one.person for one in self._ballots}.values())

    def products(self) -> Iterator[Product]:
        for one in self._ballots:
            for row in one.answers:
                yield Product(id=row["id"], kind="answer", text=row["text"])

    def items(self) -> Iterator[Item]:
        return (one.item for one in self._ballots)
