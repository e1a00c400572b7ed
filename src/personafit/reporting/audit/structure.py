"""What the shape of a benchmark gives away: repeats, contradictions, answer counts, leakage between splits.

None of this needs a reader. If the number of pairs an answer occurs in predicts the gold, a model that sees many pairs at
once (or was trained on some of them) can score without understanding anything.
"""

from dataclasses import dataclass
from itertools import combinations

import polars as pl

from personafit.reporting.audit.pairs import AuditPairs, accuracy, credit
from personafit.statistics import Estimate


@dataclass(frozen=True)
class Repeats:
    """How often the same (person, prompt, two answers) stands in the data."""

    rows: int
    distinct: int
    repeated_rows: int
    """Rows whose unordered pair occurs in another row too."""
    contradictory_pairs: int
    """Unordered pairs that occur with either answer as gold."""
    by_tier: dict[str, tuple[int, int, int]]
    """Tier to rows, rows that repeat a pair of another tier, and of those the ones with opposite gold there."""


@dataclass(frozen=True)
class Leak:
    """What two splits share."""

    first: str
    second: str
    people: int
    prompts: int
    answers: int
    pairs: int


def repeats(pairs: AuditPairs) -> Repeats:
    """Count repeated and contradictory pairs."""
    frame = _keyed(pairs.frame)
    groups = frame.group_by("pair").agg(pl.len().alias("rows"), pl.col("winner").n_unique().alias("winners"))
    by_tier: dict[str, tuple[int, int, int]] = {}
    if "tier" in frame.columns:
        elsewhere = frame.select(
            "pair", pl.col("tier").alias("other_tier"), pl.col("winner").alias("other_winner")
        )
        crossed = frame.join(elsewhere, on="pair").filter(pl.col("tier") != pl.col("other_tier"))
        for tier in frame["tier"].drop_nulls().unique(maintain_order=True):
            here = crossed.filter(pl.col("tier") == tier)
            opposite = here.filter(pl.col("winner") != pl.col("other_winner"))
            rows = frame.filter(pl.col("tier") == tier).height
            by_tier[tier] = (rows, here["item"].n_unique(), opposite["item"].n_unique())
    return Repeats(
        rows=frame.height,
        distinct=groups.height,
        repeated_rows=int(groups.filter(pl.col("rows") > 1)["rows"].sum()),
        contradictory_pairs=groups.filter(pl.col("winners") > 1).height,
        by_tier=by_tier,
    )


def occurrence_counts(pairs: AuditPairs) -> dict[str, Estimate]:
    """How well "the answer that occurs in more (or fewer) pairs" predicts gold, for all pairs and by tier.

    Whichever direction predicts better over the whole part is taken: an audit asks what could be exploited. An answer is
    counted per person and prompt, over the whole benchmark.
    """
    uses = pl.concat(
        [
            pairs.frame.select("person", "prompt", pl.col(name).alias("answer"))
            for name in ("chosen_id", "rejected_id")
        ]
    )
    counts = uses.group_by("person", "prompt", "answer").len("uses")
    frame = pairs.frame
    for name in ("chosen", "rejected"):
        named = counts.rename({"answer": f"{name}_id", "uses": f"{name}_uses"})
        frame = frame.join(named, on=["person", "prompt", f"{name}_id"], how="left", maintain_order="left")
    frame = frame.with_columns(
        credit(pl.col("chosen_uses"), pl.col("rejected_uses")).alias("more"),
        credit(pl.col("rejected_uses"), pl.col("chosen_uses")).alias("fewer"),
    )
    found: dict[str, Estimate] = {}
    for part, _ in pairs.parts:
        rows = frame if part == "all" else frame.filter(pl.col("tier") == part)
        found[part] = max(
            (accuracy(rows, "more"), accuracy(rows, "fewer")), key=lambda estimate: estimate.value or 0.0
        )
    return found


def split_leaks(pairs: AuditPairs) -> list[Leak]:
    """What every two splits share; tiers count as splits when the benchmark declares none, since people mix them up."""
    parts = (
        {name: pairs.frame.filter(pl.col("person").is_in(people)) for name, people in pairs.splits.items()}
        if pairs.splits
        else dict(pairs.parts[1:])
    )
    leaks = []
    for (first, one), (second, two) in combinations(parts.items(), 2):
        leaks.append(
            Leak(
                first,
                second,
                people=len(set(one["person"]) & set(two["person"])),
                prompts=len(set(one["prompt"]) & set(two["prompt"])),
                answers=len(_answers(one) & _answers(two)),
                pairs=len(set(_keyed(one)["pair"]) & set(_keyed(two)["pair"])),
            )
        )
    return leaks


def _answers(frame: pl.DataFrame) -> set[str]:
    return {*frame["chosen_id"], *frame["rejected_id"]}


def _keyed(frame: pl.DataFrame) -> pl.DataFrame:
    low = pl.min_horizontal("chosen_id", "rejected_id")
    high = pl.max_horizontal("chosen_id", "rejected_id")
    pair = pl.concat_str(["person", "prompt", low, high], separator="\x1f")
    return frame.with_columns(pair.alias("pair"), pl.col("chosen_id").alias("winner"))
