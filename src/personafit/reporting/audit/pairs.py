"""The pairs of a benchmark in one frame: what every part of an audit looks at.

One row per choice between two answers with gold: the texts, who was chosen, the person and the slices. An audit looks at the
data itself, not at a run, so that nothing has to be judged first.
"""

from dataclasses import dataclass

import polars as pl

from personafit._errors import UserError
from personafit.benchmarks import Benchmark
from personafit.contexts import People
from personafit.statistics import Estimate
from personafit.statistics.accuracy import mean_by_item

TIERS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class AuditPairs:
    """The pairs of a benchmark with the people they are for, as the checks of an audit read them."""

    name: str
    people: People
    frame: pl.DataFrame
    """item, person, prompt, chosen, rejected (texts), chosen_id, rejected_id, tier and the slices."""
    splits: dict[str, list[str]]

    @property
    def parts(self) -> list[tuple[str, pl.DataFrame]]:
        """All pairs, then each tier by itself."""
        parts = [("all", self.frame)]
        if "tier" in self.frame.columns:
            found = self.frame["tier"].drop_nulls().unique(maintain_order=True).to_list()
            for tier in sorted(found, key=lambda tier: TIERS.index(tier) if tier in TIERS else len(TIERS)):
                parts.append((tier, self.frame.filter(pl.col("tier") == tier)))
        return parts


def load_pairs(benchmark: Benchmark) -> AuditPairs:
    """Read every decided pair of a benchmark."""
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row for row in benchmark.gold() if row.rater == benchmark.info.gold}
    rows = []
    for item in benchmark.items():
        label = gold[item.id].label if item.id in gold else None
        if len(item.products) != 2 or label not in ("0", "1"):
            continue
        chosen, rejected = item.products[int(label)], item.products[1 - int(label)]
        rows.append(
            {
                "item": item.id,
                "person": item.person,
                "prompt": item.prompt,
                "chosen": texts[chosen],
                "rejected": texts[rejected],
                "chosen_id": chosen,
                "rejected_id": rejected,
                "tier": (gold[item.id].extra or {}).get("tier"),
                **{f"slice_{name}": value for name, value in item.slices.items()},
            }
        )
    if not rows:
        raise UserError(
            f"{benchmark.info.name} has no choice between two answers with gold: there is nothing to audit."
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if frame["tier"].null_count() == len(frame):
        frame = frame.drop("tier")
    people = People({person.id: person for person in benchmark.people()})
    return AuditPairs(benchmark.info.name, people, frame, benchmark.info.splits)


def credit(chosen: pl.Expr, rejected: pl.Expr) -> pl.Expr:
    """1 where the chosen answer scores higher, ½ on a tie, 0 otherwise."""
    return pl.when(chosen > rejected).then(1.0).when(chosen == rejected).then(0.5).otherwise(0.0)


def accuracy(frame: pl.DataFrame, column: str) -> Estimate:
    """The clustered accuracy of a column of credits."""
    return mean_by_item(frame, column)
