"""Who is asked for, some people at a time, and where their questions end up.

Everything of one block of people is in memory and nothing else. What is made is kept with its lineage or rejected with the
reason, and is in the queue for people either way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from personafit.factory.bench import Bench
from personafit.factory.people.drawing import INTERESTS, LEAVES
from personafit.factory.people.step import TRAINING
from personafit.factory.quota import Quota
from personafit.factory.rows import Review, in_blocks
from personafit.factory.sections import PeopleSection, QuestionsSection
from personafit.people import Person, facet_values, select_facets
from personafit.store import Product

BENCHMARK_SPLIT, TRAINING_SPLIT = "benchmark", "training"
FIRST, BLOCK = 8, 1_000  # people at a time


@dataclass(frozen=True, slots=True)
class BlockMember:
    """One person of a block."""

    place: int
    """Which in the order of all people, from 0."""
    split: str
    person: Person

    @property
    def features(self) -> list[tuple[str, str]]:
        """What was inferred of them, as (id, text); where nothing was, what their own profile says, as (path, text)."""
        inferred = [(one.id, one.text) for one in self.person.attributes]
        if inferred:
            return inferred
        facets = select_facets(self.person.facets, [*LEAVES, INTERESTS])
        return [(path, text) for path, value in facets.items() for text in facet_values({path: value})]


def splits_of(section: QuestionsSection) -> dict[str, str]:
    """The splits questions are made for, each with the stream its people are in."""
    return {BENCHMARK_SPLIT: "people"} | ({TRAINING_SPLIT: TRAINING} if section.training else {})


def everyone(bench: Bench, section: QuestionsSection) -> Iterator[BlockMember]:
    """All people questions are made for, streamed."""
    place = 0
    for split, stream in splits_of(section).items():
        for person in bench.people(stream):
            yield BlockMember(place, split, person)
            place += 1


def blocks(bench: Bench, section: QuestionsSection) -> Iterator[list[BlockMember]]:
    """The same in blocks, a small one first."""
    return in_blocks(everyone(bench, section), FIRST, BLOCK)


def expected_people(bench: Bench, section: QuestionsSection) -> int:
    """How many people there will be, from the config alone."""
    people = bench.config.section(PeopleSection)
    return people.total if section.training else people.quota


SPECIFIC, GENERAL = "specific", "general"
REVIEWER = "a person"
DROPPED, ENOUGH = "dropped in review", "not needed: there are enough"


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
            "split": member.split,
        }
        lineage = {"id": product.id, "key": key, "parents": product.parents, **lineage}
        self._rows.append((member.place, row["half"], number, row, lineage))
        if member.split == BENCHMARK_SPLIT:  # the benchmark folder holds what its own items refer to
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
        for _, _, _, row, lineage in sorted(self._rows, key=_order):
            self._bench.write(row)
            self._bench.write(lineage, "lineage")
        self._rows = []

    def close(self) -> None:
        """Write the queue for people."""
        self.review.write(self._queue)

    def queue(self, key: str, person: str, text: str, reason: str) -> None:
        """Put something before the people who review."""
        self._queue.add({"id": key, "rejected": reason, "person": person, "question": text})


def _order(row: tuple[int, str, int, Any, Any]) -> tuple[int, bool, int]:
    return row[0], row[1] == GENERAL, row[2]
