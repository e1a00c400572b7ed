"""Round 2: no field of work, region, decade of age or interest may crowd out the others, and nobody may be there twice.

Counts are all that is held in memory. Near-duplicates are looked for among people of the same language, job, gender and
decade, since others differ in that already; what they are compared by is on disk.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any

from personafit.factory.near_duplicates import BlockDuplicates
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.drawing import Drawing, Drawn
from personafit.factory.people.elements import INTERESTS, LEAVES
from personafit.factory.rows import Scratch
from personafit.people import Person, facet_values, select_facets

CHUNK = 2_000


class Balance:
    """Lets people pass while their kind is not too frequent."""

    def __init__(self, section: PeopleSection, drawing: Drawing) -> None:
        self._drawing = drawing
        self._most = max(1, ceil(section.max_share * section.total))
        self._most_interest = max(1, ceil(section.max_interest_share * section.total))
        self._counts: dict[tuple[str, object], int] = {}
        self._duplicates = BlockDuplicates(section.similarity)

    def judged(self, passed: Scratch) -> Iterator[tuple[dict[str, Any], str]]:
        """Every row with the reason why it may not stay, or none; who has a reason counts for nothing later."""
        chunk: list[dict[str, Any]] = []
        for row in passed:
            chunk.append(row)
            if len(chunk) == CHUNK:
                yield from self._judge(chunk)
                chunk = []
        yield from self._judge(chunk)

    def _judge(self, chunk: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
        people = [Person.model_validate(row["person"]) for row in chunk]
        drawn = [self._drawing.draw(row["number"]) for row in chunk]
        self._duplicates.offer(
            [(_block(one), _habits(person)) for one, person in zip(drawn, people, strict=True)]
        )
        for place, (row, one) in enumerate(zip(chunk, drawn, strict=True)):
            reason = self._crowded(one)
            if not reason and (twin := self._duplicates.twin(place, one.id)) is not None:
                reason = f"near-duplicate of '{twin}'"
            if not reason:
                for key in self._keys(one):
                    self._counts[key] = self._counts.get(key, 0) + 1
            yield row, reason

    def _crowded(self, drawn: Drawn) -> str:
        for key in self._keys(drawn):
            most = self._most_interest if key[0] == "interest" else self._most
            if self._counts.get(key, 0) >= most:
                return f"enough people with {key[0]} '{key[1]}' already"
        return ""

    def _keys(self, drawn: Drawn) -> Iterator[tuple[str, object]]:
        yield "field of work", drawn.field
        yield "region", drawn.region
        yield "decade of age", drawn.decade
        for interest in drawn.interests:
            yield "interest", interest.text


def _block(drawn: Drawn) -> str:
    return f"{drawn.language}|{drawn.job.text}|{drawn.gender}|{drawn.decade}"


def _habits(person: Person) -> str:
    """What makes somebody this person and no other of the same job and age."""
    return " ".join(facet_values(select_facets(person.facets, [*LEAVES, INTERESTS, "Personality"])))
