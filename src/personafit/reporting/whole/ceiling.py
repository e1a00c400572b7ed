"""What people reach on the items of a run, by tier: one person against the others where their votes are known one by one,
or the share of voters who meet the gold where only counts are."""

from dataclasses import replace

import numpy as np
import polars as pl

from personafit.reporting.agree_ratings import GOLD, HUMAN, Source
from personafit.reporting.agree_tables import rating_tables
from personafit.reporting.dialogues.tables import NumberRow
from personafit.reporting.graded import has_truth, vote_shares
from personafit.reporting.sections import Cell
from personafit.reporting.tables import TIERS
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import Grid, Piece, Prose
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.raters import panel_ceiling

RESAMPLES = 1000
ALL = "all"
UNIT = (0.0, 1.0)
NO_VOTES = (
    "The human ceiling is not in this report: the data hold no votes of single people. A study on the same items adds it: "
    "`personafit label new`, then name the study beside the run."
)


def ceiling_pieces(given: Collected, run: ChoiceRun) -> list[Piece]:
    """The ceiling by tier, or a sentence that says what would bring it."""
    parts = _tier_items(run)
    rows = [row for source in given.agreement.values() for row in panel_rows(source, parts)]
    rows += _voter_rows(run, parts)
    if not rows:
        return [Prose(NO_VOTES, "small")]
    grid = Grid(
        "What people reach on the same items",
        "Shares in %, 95 % intervals over people below.",
        ["who", "against"],
        list(parts),
        rows,
        note="A rater’s figures here are over the items that people voted on, and may differ from its score on all items.",
    )
    return [grid]


def _tier_items(run: ChoiceRun) -> dict[str, set[str]]:
    items = run.scores.items
    parts = {ALL: set(items["item"])}
    if "tier" in items.columns:
        named = items["tier"].drop_nulls().unique().to_list()
        for tier in sorted(named, key=lambda one: TIERS.index(one) if one in TIERS else len(TIERS)):
            parts[str(tier)] = set(items.filter(pl.col("tier") == tier)["item"])
    return parts


def panel_rows(source: Source, parts: dict[str, set[str]]) -> list[NumberRow]:
    """Everybody against the majority of the (other) people, machines beside them."""
    found: dict[str, dict[str, Estimate]] = {}
    for part, wanted in parts.items():
        people = {item: person for item, person in source.people.items() if item in wanted}
        kept = [votes.filter(pl.col("item").is_in(list(people))) for votes in source.parts]
        for table in rating_tables(replace(source, people=people, parts=kept)):
            panel = table.columns(HUMAN)
            if len(panel) < 2:
                continue
            ceiling = panel_ceiling(table.codes, panel, table.people, RESAMPLES)
            found.setdefault(f"one person ({source.name})", {})[part] = ceiling.ceiling
            for rater, estimate in zip(table.raters, ceiling.raters, strict=True):
                if rater.kind not in (GOLD, HUMAN):
                    found.setdefault(rater.name, {})[part] = estimate
    return [
        NumberRow([who, "the majority of the others"], [_cell(estimates.get(part)) for part in parts])
        for who, estimates in found.items()
    ]


def _voter_rows(run: ChoiceRun, parts: dict[str, set[str]]) -> list[NumberRow]:
    """How many voters meet the gold, where the gold keeps their counts."""
    shares = vote_shares(run.store, run.scores) if has_truth(run.scores) else {}
    if not shares:
        return []
    rows = run.scores.items.filter(pl.col("gold").is_in(["0", "1"]), pl.col("item").is_in(list(shares)))
    cells = []
    for wanted in parts.values():
        part = rows.filter(pl.col("item").is_in(list(wanted)))
        met = [
            shares[item] if gold == "0" else 1 - shares[item]
            for item, gold in part.select("item", "gold").iter_rows()
        ]
        people = part["person"].to_numpy()
        cells.append(_cell(cluster_mean(np.array(met), people, None, UNIT) if met else None))
    return [NumberRow(["a voter drawn at random", f"the gold, {run.scores.info['gold']}"], cells)]


def _cell(estimate: Estimate | None) -> Cell:
    if estimate is None or estimate.value is None:
        return Cell()
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f"{100 * estimate.low:.1f}–{100 * estimate.high:.1f}"
    return Cell(f"{100 * estimate.value:.1f}", interval, estimate.value)
