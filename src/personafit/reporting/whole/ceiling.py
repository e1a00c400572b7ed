"""What people reach on the items of a run, by tier: one person against the others where their votes are known one by one,
or the share of voters who meet the gold where only counts are."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from personafit.reporting import plots
from personafit.reporting.agree_ratings import GOLD, HUMAN, Source
from personafit.reporting.agree_tables import rating_tables
from personafit.reporting.graded import has_truth, vote_shares
from personafit.reporting.number_tables import NumberRow
from personafit.reporting.results import CONTROL_RATERS
from personafit.reporting.tables import TIERS
from personafit.reporting.whole.collected import ChoiceRun, Collected
from personafit.reporting.whole.content import Grid, Picture, Piece, Prose, percent_cell
from personafit.statistics import Estimate
from personafit.statistics.preferences import clustered
from personafit.statistics.raters import panel_ceiling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL = "all"
UNIT = (0.0, 1.0)
COIN = 50.0
SIMULATED = "simulated"
PEOPLE = (HUMAN, SIMULATED)
OTHERS = "the majority of the others"
READING = (
    "How to read it: how often each goes with the people it is held against, tier by tier, on the items they voted on; bars are "
    "95 % intervals over people, the dotted line is a coin toss. Diamonds are people, hollow squares controls; what one person "
    "reaches is the ceiling."
)
NO_VOTES = (
    "The human ceiling is not in this report: the data hold no votes of single people. A study on the same items adds it: "
    "`personafit label new`, then name the study beside the run."
)


@dataclass(frozen=True)
class CeilingScore:
    """The agreement of one rater with people, by tier."""

    who: str
    against: str
    by_part: Mapping[str, Estimate | None]
    kind: str = HUMAN
    """Of rater: people, a rule, a model."""

    @property
    def control(self) -> str | None:
        """Which control it is, if it is one."""
        return CONTROL_RATERS.get(self.who) if self.kind not in PEOPLE else None


def ceiling_pieces(given: Collected, run: ChoiceRun) -> list[Piece]:
    """The ceiling by tier, or a sentence that says what would bring it."""
    parts = _tier_items(run)
    own = {rater["fingerprint"] for rater in run.run.config["raters"]}
    found = [
        line for source in given.agreement.values() for line in beside_people(_of_run(source, own), parts)
    ]
    found += _voters(run, parts)
    if not found:
        return [Prose(NO_VOTES, "small")]
    rows = [
        NumberRow(
            [line.who, line.against], [percent_cell(line.by_part.get(part)) for part in parts], line.control
        )
        for line in found
    ]
    grid = Grid(
        "What people reach on the same items",
        "Shares in %, 95 % intervals over people below.",
        ["who", "against"],
        list(parts),
        rows,
        note="A rater’s figures here are over the items that people voted on, and may differ from its score on all items.",
    )
    return [Picture("Beside one person", READING, _figure(list(parts), found)), grid]


def _tier_items(run: ChoiceRun) -> dict[str, set[str]]:
    items = run.scores.items
    parts = {ALL: set(items["item"])}
    if "tier" in items.columns:
        named = items["tier"].drop_nulls().unique().to_list()
        for tier in sorted(named, key=lambda one: TIERS.index(one) if one in TIERS else len(TIERS)):
            parts[str(tier)] = set(items.filter(pl.col("tier") == tier)["item"])
    return parts


def _of_run(source: Source, fingerprints: Collection[str]) -> Source:
    """The answers of people, gold and one run's raters; what other runs say on the same items stands with them."""
    raters = {
        key: rater
        for key, rater in source.raters.items()
        if rater.kind in (GOLD, HUMAN, SIMULATED) or key.partition("|")[0] in fingerprints
    }
    kept = [votes.filter(pl.col("rater").is_in(list(raters))) for votes in source.parts]
    return replace(source, raters=raters, parts=kept)


def beside_people(source: Source, parts: Mapping[str, Collection[str]]) -> list[CeilingScore]:
    """Everybody against the majority of the (other) people: one person first, then the machines."""
    found: dict[tuple[str, str], dict[str, Estimate | None]] = {}
    for part, wanted in parts.items():
        people = {item: person for item, person in source.people.items() if item in wanted}
        kept = [votes.filter(pl.col("item").is_in(list(people))) for votes in source.parts]
        for table in rating_tables(replace(source, people=people, parts=kept)):
            panel, called = table.columns(HUMAN), "person"
            if not panel:
                panel, called = table.columns(SIMULATED), "simulated person"
            if len(panel) < 2:
                continue
            ceiling = panel_ceiling(table.codes, panel, table.people, table.prompts, table.halves)
            found.setdefault((f"one {called} ({source.name})", HUMAN), {})[part] = ceiling.ceiling
            for rater, estimate in zip(table.raters, ceiling.raters, strict=True):
                if rater.kind not in (GOLD, *PEOPLE):
                    found.setdefault((rater.name, rater.kind), {})[part] = estimate
    return [CeilingScore(who, OTHERS, by_part, kind) for (who, kind), by_part in found.items()]


def _voters(run: ChoiceRun, parts: Mapping[str, Collection[str]]) -> list[CeilingScore]:
    """How many voters meet the gold, where the gold keeps their counts."""
    shares = vote_shares(run.store, run.scores) if has_truth(run.scores) else {}
    if not shares:
        return []
    rows = run.scores.items.filter(pl.col("gold").is_in(["0", "1"]), pl.col("item").is_in(list(shares)))
    by_part: dict[str, Estimate | None] = {}
    for name, wanted in parts.items():
        part = rows.filter(pl.col("item").is_in(list(wanted)))
        met = [
            shares[item] if gold == "0" else 1 - shares[item]
            for item, gold in part.select("item", "gold").iter_rows()
        ]
        people, prompts = part["person"].to_numpy(), part["prompt"].to_numpy()
        by_part[name] = clustered(np.array(met), people, prompts, UNIT) if met else None
    return [CeilingScore("a voter drawn at random", f"the gold, {run.scores.info['gold']}", by_part)]


def _figure(parts: Sequence[str], found: Sequence[CeilingScore]) -> "Figure":
    rows = [
        plots.PlotRow(
            line.who,
            [_dot(line.by_part.get(part)) for part in parts],
            control=line.control is not None,
            people=line.kind in PEOPLE,
        )
        for line in found
    ]
    return plots.panels_figure(rows, [plots.Panel(part, COIN) for part in parts])


def _dot(estimate: Estimate | None) -> plots.Dot:
    if estimate is None or estimate.value is None:
        return plots.Dot()
    return plots.Dot(
        *(None if end is None else 100 * end for end in (estimate.value, estimate.low, estimate.high))
    )
