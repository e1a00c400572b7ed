"""Selection of the items of a run that are judged: those that --people, --where and --limit select."""

import polars as pl

from personafit._errors import MOST_LISTED, UserError
from personafit._hashing import hash_text
from personafit.benchmarks.config import RunConfig, chosen_people
from personafit.store import slice_column


def select_items(rows: pl.DataFrame, limit: int, seed: int, nested: bool = False) -> frozenset[str]:
    """Draw a fixed stratified sample of items by hash, in proportion over slices such as half, tier and language.

    `rows` has `item` and any columns to stratify by; the same seed gives the same sample on every machine. If there are more strata
    than items to draw, the largest come first; `nested` keeps the values of the first column in proportion even then.
    """
    strata = [name for name in rows.columns if name != "item"]
    ranked = rows.with_columns(
        pl.Series("rank", [hash_text("select", item, str(seed)) for item in rows["item"]])
    ).sort("rank")
    if not strata:
        return frozenset(ranked["item"].head(limit))
    # The k-th of n items in a stratum stands at (k + ½) / n: taking the lowest spreads the sample evenly.
    for names in (strata, strata[:1]) if nested else (strata,):
        place = ((pl.int_range(pl.len()).over(names) + 0.5) / pl.len().over(names)).alias("place")
        ranked = ranked.with_columns(place).sort("place", "rank")
    return frozenset(ranked["item"].head(limit))


def rows_of_people(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """Return the rows about the people that `--people` selects; all of them without it."""
    if config.people is None:
        return rows
    present = sorted(set(rows["person"]))
    rows = rows.filter(pl.col("person").is_in(chosen_people(present, config.people, config.seed)))
    if rows.is_empty():
        raise UserError(f"--people {config.people} leaves nobody to evaluate.")
    return rows


def rows_where(rows: pl.DataFrame, config: RunConfig) -> pl.DataFrame:
    """Return the rows of the slices that --where selects; all if it is not given."""
    for condition in config.where:
        name, equals, value = condition.partition("=")
        name = slice_column(name)
        unsliced = ("item", "person", "prompt", "grp")
        names = [one for one in rows.columns if one not in unsliced and rows[one].null_count() < len(rows)]
        if name not in names:
            there = f"write NAME=VALUE with one of {', '.join(names)}" if names else "they have no slices"
            raise UserError(f"--where {condition}: items have no '{name}'; {there}.")
        values = sorted(rows[name].cast(pl.String).drop_nulls().unique())
        if not equals:
            raise UserError(f"--where {condition}: write NAME=VALUE, such as {name}={values[0]}.")
        rows = rows.filter(pl.col(name).cast(pl.String) == value)
        if rows.is_empty():
            listed = ", ".join(values[:MOST_LISTED]) + (", ..." if len(values) > MOST_LISTED else "")
            raise UserError(
                f"--where {condition}: no item that is left has {name}={value}; there are {listed}."
            )
    return rows
