"""Time and cost of systems' answers."""

from typing import Any

import polars as pl

SPENT = {"system": pl.String, "system_context": pl.String, "seconds": pl.Float64, "cost": pl.Float64}
"""Columns with the time and cost of answers."""


def spending(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Summarize time and cost of the answers of each system under each context, as printed by `--json`.

    `rows` has a row per answer: `system`, `system_context`, `seconds` and `cost` in USD, null if unknown.
    The median, the mean and the sum are over the answers for which they are known: `timed` and `priced` count these.
    """
    return (
        rows.group_by("system", "system_context", maintain_order=True)
        .agg(
            pl.len().alias("answers"),
            pl.col("seconds").count().alias("timed"),
            pl.col("cost").count().alias("priced"),
            pl.col("seconds").median().alias("seconds_median"),
            pl.col("seconds").quantile(0.95, "higher").alias("seconds_p95"),
            pl.col("cost").mean().alias("cost_mean"),
            pl.when(pl.col("cost").count() > 0).then(pl.col("cost").sum()).alias("cost"),
        )
        .filter(pl.any_horizontal(pl.col("seconds_median", "cost").is_not_null()))
        .to_dicts()
    )


def spent_notes(rows: pl.DataFrame, what: str = "answers") -> list[str]:
    """Return a sentence on time and cost for each system for which they are known."""
    notes = []
    for one in spending(rows.with_columns(system_context=pl.lit(None, pl.String))):
        said: dict[int, list[str]] = {}  # by the number of answers that it is about
        if (one["seconds_median"] or 0) >= 0.01:
            middle, slow = one["seconds_median"], one["seconds_p95"]
            took = f"took {middle:.2g} s at the median, {slow:.2g} s at the 95th percentile"
            said.setdefault(one["timed"], []).append(took)
        if one["cost"]:
            cost = f"cost {one['cost_mean']:.2g} USD each, {one['cost']:.2g} USD in all"
            said.setdefault(one["priced"], []).append(cost)
        for count, parts in said.items():
            of_all = "" if count == one["answers"] else f" of {one['answers']:,}"
            notes.append(
                f"{count:,}{of_all} {what} of {one['system'] or 'the system'} {' and '.join(parts)}."
            )
    return notes
