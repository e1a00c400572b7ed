"""Where questions end up: kept with their lineage, or rejected with the reason, and in the queue for people either way."""

from typing import Any

from personafit.factory.bench import Bench
from personafit.factory.questions.blocks import BENCHMARK_SPLIT, BlockMember
from personafit.factory.quota import Quota
from personafit.factory.review import Review
from personafit.store import Product

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
