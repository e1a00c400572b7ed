"""Which items a run is of: those of the people, slices and limit that were asked for."""

import polars as pl

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.config import RunConfig, chosen_people


def select_items(rows: pl.DataFrame, limit: int, seed: int) -> frozenset[str]:
    """A fixed stratified sample of items: drawn by hash, spread over half, tier and language-like slices in proportion.

    `rows` has `item` and any columns to stratify by; the same seed gives the same sample on every machine.
    """
    strata = [name for name in rows.columns if name != "item"]
    ranked = rows.with_columns(
        pl.Series("rank", [hash_text("select", item, str(seed)) for item in rows["item"]])
    ).sort("rank")
    if not strata:
        return frozenset(ranked["item"].head(limit))
    # The k-th of n items in a stratum stands at (k + ½) / n: taking the lowest spreads the sample evenly.
    spread = ranked.with_columns(
        ((pl.int_range(pl.len()).over(strata) + 0.5) / pl.len().over(strata)).alias("place")
    ).sort("place", "rank")
    return frozenset(spread["item"].head(limit))


def rows_of_users(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """The rows about the people that `--people` selects; all of them without it."""
    if config.users is None:
        return rows
    present = sorted(set(rows["person"]))
    rows = rows.filter(pl.col("person").is_in(chosen_people(present, config.users, config.seed)))
    if rows.is_empty():
        raise UserError(f"--people {config.users} leaves nobody to evaluate.")
    return rows


def rows_where(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """The rows of the slices that --where means; all where it is not given."""
    for condition in config.where:
        name, _, value = condition.partition("=")
        names = [column for column in rows.columns if column not in ("item", "person", "prompt", "grp")]
        if name not in names:
            there = f"write NAME=VALUE with one of {', '.join(names)}" if names else "they have no slices"
            raise UserError(f"--where {condition}: items have no '{name}'; {there}.")
        rows = rows.filter(pl.col(name).cast(pl.String) == value)
        if rows.is_empty():
            raise UserError(f"--where {condition}: no item that is left has that; check the value.")
    return rows
