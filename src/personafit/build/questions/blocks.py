"""Who is asked for, and where their questions end up.

Everything of one block of people is in memory and nothing else. What is made is kept with its lineage or rejected with the
reason, and is in the queue for people either way.
"""

from dataclasses import dataclass
from typing import Any

from personafit.build.bench import Bench
from personafit.build.candidates import INTERESTS, LEAVES
from personafit.build.quota import Quota
from personafit.build.rows import Review
from personafit.people import Person, facet_values, select_facets
from personafit.store import Product

SPECIFIC, GENERAL = "specific", "general"
DROPPED, ENOUGH = "dropped in review", "not needed: there are enough"


@dataclass(frozen=True, slots=True)
class BlockMember:
    """One person of a block."""

    place: int
    """Which in the order of all people, from 0."""
    person: Person

    @property
    def features(self) -> list[tuple[str, str]]:
        """What was inferred of them, as (id, text); where nothing was, what their own profile says, as (path, text)."""
        inferred = [(one.id, one.text) for one in self.person.attributes]
        if inferred:
            return inferred
        facets = select_facets(self.person.facets, [*LEAVES, INTERESTS])
        return [(path, text) for path, value in facets.items() for text in facet_values({path: value})]


class Keeping:
    """Takes in what was made and what was not."""

    def __init__(self, bench: Bench, review: Review) -> None:
        self._bench, self.review = bench, review
        self._queue = bench.scratch("queue")
        self._rows: list[tuple[int, str, int, dict[str, Any], dict[str, Any]]] = []

    def keep(
        self,
        key: str,
        member: BlockMember,
        number: int,
        product: Product,
        row: dict[str, Any],
        lineage: dict[str, Any],
    ) -> None:
        """Keep a question; `row` says its half, category, scenario and features."""
        person = member.person
        row = {
            "id": product.id,
            "person": person.id,
            "language": person.language,
            **row,
            "text": product.text,
            "maker": product.maker,
        }
        lineage = {"id": product.id, "key": key, "parents": product.parents, **lineage}
        self._rows.append((member.place, row["half"], number, row, lineage))
        self._bench.write(product, "products")
        self.queue(key, person.id, product.text, "")

    def reject(self, quota: Quota, key: str, member: BlockMember, text: str, reason: str, by: str) -> None:
        """Say why a question was not kept."""
        quota.reject(reason.partition(":")[0])
        self._bench.reject(key, reason, text, about=member.person.id, by=by)
        if text and reason != ENOUGH:
            self.queue(key, member.person.id, text, reason)

    def publish(self) -> None:
        """Write the questions of a block, person by person, general ones after specific ones."""
        for _, _, _, row, lineage in sorted(self._rows, key=lambda one: (one[0], one[1] == GENERAL, one[2])):
            self._bench.write(row)
            self._bench.write(lineage, "lineage")
        self._rows = []

    def close(self) -> None:
        """Write the queue for people."""
        self.review.write(self._queue)

    def queue(self, key: str, person: str, text: str, reason: str) -> None:
        """Put something before the people who review."""
        self._queue.add({"id": key, "rejected": reason, "person": person, "question": text})
