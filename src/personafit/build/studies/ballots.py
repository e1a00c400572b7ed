"""Questions with their answers, the split each is asked in, what is voted on, and the folder that people vote from.

Splits share neither people nor questions. People are set apart by a draw that goes on to those who share questions with the ones
drawn before; what is then still asked on both sides is left out of the smaller one. `personafit label new STUDY --from FOLDER`
takes the folder.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from personafit._hashing import content_hash, draw, hash_text
from personafit.benchmarks import Benchmark, BenchmarkInfo, write_folder
from personafit.build.bench import Bench
from personafit.build.sections import StudiesSection
from personafit.people import Person
from personafit.store import Item, Product

TEST, VALIDATION = "test", "validation"


@dataclass(frozen=True)
class Pool:
    """A question with who asks it and all its answers."""

    question: dict[str, Any]
    person: Person
    answers: tuple[dict[str, Any], ...]

    @property
    def id(self) -> str:
        """The question's id."""
        return str(self.question["id"])

    @property
    def slices(self) -> dict[str, str]:
        """What results are reported by."""
        return {"half": self.question["half"], "category": self.question["category"]}


def pools(bench: Bench) -> Iterator[Pool]:
    """All of them, streamed: questions, answers and people are in one order."""
    people = bench.people()
    answers = bench.read_rows("answers")
    person: Person | None = None
    answer = next(answers, None)
    for question in bench.read_rows("questions"):
        while person is None or person.id != question["person"]:
            person = next(people)
        mine = []
        while answer is not None and answer["question"] == question["id"]:
            mine.append(answer)
            answer = next(answers, None)
        yield Pool(question, person, tuple(mine))


class Splits:
    """Who is set apart, and which questions are asked on both sides."""

    def __init__(self, bench: Bench) -> None:
        section = bench.config.section(StudiesSection)
        hashes = array("Q", (_asked(row) for row in bench.read_rows("questions")))
        found, counts = np.unique(np.frombuffer(hashes, dtype=np.uint64), return_counts=True)
        again = frozenset(found[counts > 1].tolist())
        asked: dict[str, list[int]] = {}
        """Everyone, and of their questions those that are asked more than once: only these tie people together."""
        by: dict[int, list[str]] = {}
        for row in bench.read_rows("questions"):
            mine = asked.setdefault(row["person"], [])
            if (question := _asked(row)) in again:
                mine.append(question)
                by.setdefault(question, []).append(row["person"])
        wanted = max(1, round(section.validation * len(asked))) if section.validation else 0
        apart: dict[str, None] = {}
        waiting = sorted(asked, key=lambda one: draw("split", bench.seed, one, among=2**63), reverse=True)
        while len(apart) < wanted:  # the next is who shares a question with the one before, if anybody does
            one = waiting.pop()
            if one not in apart:
                apart[one] = None
                waiting += [other for question in asked[one] for other in by[question][::-1]]
        self._apart = set(apart)
        self._both = {
            question
            for question, people in by.items()
            if len({person in self._apart for person in people}) == 2
        }
        self.people = {TEST: [one for one in asked if one not in apart]} | (
            {VALIDATION: [one for one in asked if one in apart]} if apart else {}
        )

    def straddles(self, pool: Pool) -> bool:
        """Whether the question is also asked by people of the larger split, and so not by this one."""
        return pool.person.id in self._apart and _asked(pool.question) in self._both


def _asked(question: dict[str, Any]) -> int:
    return int(hash_text(question["text"].casefold().strip())[:16], 16)


@dataclass(frozen=True)
class Ballot:
    """An item with all a rater sees."""

    item: Item
    person: Person
    answers: tuple[dict[str, Any], ...]
    """Rows of the answers, in the order of the item's products."""

    @property
    def texts(self) -> list[str]:
        """The answers in words."""
        return [row["text"] for row in self.answers]


Ballots = Callable[[], Iterator[Ballot]]
"""All of them, made anew each time they are gone through, always the same."""


def ballot(study: str, pool: Pool, answers: Sequence[dict[str, Any]], *seed: str | int) -> Ballot:
    """An item about some answers, in a drawn order; other answers make another item, so that no vote is taken for one on them."""
    name = f"{study}/{pool.id}/{content_hash(sorted(row['id'] for row in answers))[:8]}"
    shown = tuple(sorted(answers, key=lambda row: draw("shown", *seed, name, row["id"], among=2**63)))
    item = Item(
        id=name,
        person=pool.person.id,
        prompt=pool.question["text"],
        products=[row["id"] for row in shown],
        group=pool.id,
        slices=pool.slices,
    )
    return Ballot(item, pool.person, shown)


def write_study(
    folder: Path, name: str, title: str, languages: list[str], ballots: Ballots, count: int
) -> None:
    """A folder of items without gold, that says of no answer who made it or why."""
    write_folder(folder, _Study(name, title, languages, ballots), f"# {title}\n\n{count:,} items.\n")


class _Study(Benchmark):
    """Ballots as a benchmark that nobody has judged yet."""

    def __init__(self, name: str, title: str, languages: list[str], ballots: Ballots) -> None:
        self.info = BenchmarkInfo(name=name, version="1", title=title, language=languages)
        self._ballots = ballots

    def people(self) -> Iterator[Person]:
        """Those the items are about, who come one after the other; what a rater sees is the profile."""
        for _, mine in groupby(self._ballots(), key=lambda one: one.person.id):
            yield next(mine).person

    def products(self) -> Iterator[Product]:
        """The answers."""
        for one in self._ballots():
            for row in one.answers:
                yield Product(id=row["id"], kind="answer", text=row["text"])

    def items(self) -> Iterator[Item]:
        """What is voted on."""
        return (one.item for one in self._ballots())
