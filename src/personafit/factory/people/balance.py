"""Round 2: no field of work, region, decade of age or interest may crowd out the others, and nobody may be there twice.

Counts are all that is held in memory. Near-duplicates are looked for among people of the same language, job, gender and
decade, since others differ in that already; what they are compared by is on disk.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any

from personafit.factory.kept_texts import BlockDuplicates
from personafit.factory.people.config import PeopleSection
from personafit.factory.people.drawing import ProfileDraft
from personafit.factory.people.elements import INTERESTS, LEAVES, MBTI, VALUES
from personafit.factory.rows import Scratch
from personafit.people import Person, facet_values

CHUNK = 1_000
INTEREST = "interest"
HABITS = frozenset(
    (MBTI, VALUES, *LEAVES, INTERESTS)
)  # what makes somebody this person and no other of the same job


class PeopleBalancer:
    """Rejects candidates whose group is over its share, and near duplicates."""

    def __init__(self, section: PeopleSection) -> None:
        self._most = max(1, ceil(section.max_share * section.total))
        self._most_interest = max(1, ceil(section.max_interest_share * section.total))
        self._counts: dict[tuple[str, str], int] = {}
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
        self._duplicates.offer([(row["block"], row["habits"]) for row in chunk])
        for place, row in enumerate(chunk):
            keys = [(name, value) for name, value in row["kinds"]]
            reason = self._crowded(keys)
            if not reason and (twin := self._duplicates.twin(place, row["person"]["id"])) is not None:
                reason = f"near-duplicate of '{twin}'"
            if not reason:
                for key in keys:
                    self._counts[key] = self._counts.get(key, 0) + 1
            yield row, reason

    def _crowded(self, keys: list[tuple[str, str]]) -> str:
        for key in keys:
            most = self._most_interest if key[0] == INTEREST else self._most
            if self._counts.get(key, 0) >= most:
                return f"enough people with {key[0]} '{key[1]}' already"
        return ""


def told_apart(drawn: ProfileDraft, person: Person) -> dict[str, Any]:
    """What a candidate is weighed and compared by: a part of its row."""
    kinds = [("field of work", drawn.field), ("region", drawn.region), ("decade of age", str(drawn.decade))]
    kinds += [(INTEREST, interest.text) for interest in drawn.interests]
    habits = {path: value for path, value in person.facets.items() if path in HABITS}
    return {
        "kinds": kinds,
        "block": f"{drawn.language}|{drawn.job.text}|{drawn.gender}|{drawn.decade}",
        "habits": " ".join(facet_values(habits)),
    }
