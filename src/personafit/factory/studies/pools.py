"""Questions of the benchmark with their answers, and which split each question is asked in.

Splits share neither people nor questions. People are set apart by a draw that goes on to those who share questions with the ones
drawn before; what is then still asked on both sides is left out of the smaller one.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from personafit._hashing import draw, hash_text
from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import BENCHMARK_SPLIT
from personafit.factory.questions.blocks import source as people_source
from personafit.factory.studies.config import StudiesSection
from personafit.people import Person

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
    people = bench.read(people_source(bench), Person, "people")
    answers = bench.read_rows("answers")
    person: Person | None = None
    answer = next(answers, None)
    for question in bench.read_rows("questions"):
        if question["split"] != BENCHMARK_SPLIT:
            break
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
        hashes = array("Q", (_asked(row) for row in _questions(bench)))
        found, counts = np.unique(np.frombuffer(hashes, dtype=np.uint64), return_counts=True)
        again = frozenset(found[counts > 1].tolist())
        asked: dict[str, list[int]] = {}
        """Everyone, and of their questions those that are asked more than once: only these tie people together."""
        by: dict[int, list[str]] = {}
        for row in _questions(bench):
            mine = asked.setdefault(row["person"], [])
            if (question := _asked(row)) in again:
                mine.append(question)
                by.setdefault(question, []).append(row["person"])
        order = sorted(asked, key=lambda one: draw("split", bench.seed, one, among=2**63))
        wanted = max(1, round(section.validation * len(order))) if section.validation else 0
        apart: dict[str, None] = {}
        waiting: list[str] = []
        for start in order:
            waiting.append(start)
            while waiting and len(apart) < wanted:
                one = waiting.pop(0)
                if one not in apart:
                    apart[one] = None
                    waiting += [
                        other for question in asked[one] for other in by[question] if other not in apart
                    ]
            if len(apart) >= wanted:
                break
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


def _questions(bench: Bench) -> Iterator[dict[str, Any]]:
    return (row for row in bench.read_rows("questions") if row["split"] == BENCHMARK_SPLIT)


def _asked(question: dict[str, Any]) -> int:
    return int(hash_text(question["text"].casefold().strip())[:16], 16)
