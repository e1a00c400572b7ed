"""The people of a human study: who rated, and what one person reaches beside the others, by tier."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from personafit.kinds.choice_scores import TIERS, RunScores
from personafit.kinds.lines import CONTROL_RATERS
from personafit.reports.agree_ratings import GOLD, HUMAN, SIMULATED, Source, rating_tables
from personafit.reports.analysis import count_cell
from personafit.reports.calibration import has_truth, vote_shares
from personafit.reports.pieces import (
    Cell,
    Grid,
    Picture,
    Piece,
    Prose,
    Row,
    Section,
    Sentences,
    percent_cell,
)
from personafit.reports.plots import Panel, PlotRow, dot_of, panels_figure
from personafit.reports.report import ReportPart
from personafit.statistics import Estimate
from personafit.statistics.clusters import clustered
from personafit.statistics.raters import panel_ceiling
from personafit.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEOPLE = (HUMAN, SIMULATED)
SIMULATED_RATERS = (
    "The raters of this study are simulated. They show that everything works and say nothing about people."
)
PLACES = {"0", "1"}  # which answer of a pair, in the order of the data: how often says nothing
Status = Mapping[str, Any]
"""A study as `label status --json` prints it."""


def study_part(status: Status, agreement: ReportPart | None = None) -> ReportPart:
    """A human study: how far it got, how far its raters agree, and who they were."""
    warning: list[Piece] = [Prose(SIMULATED_RATERS, "warning")] if status["simulated"] else []
    raters = Section("Who rated", _rater_pieces(status), "The raters of the study, by pseudonym.")
    if agreement is None:
        return ReportPart(
            str(status["study"]), f"Study {status['study']}", study_sentences(status), warning, [raters]
        )
    return replace(
        agreement,
        title=f"Study {status['study']}",
        sentences=[*agreement.sentences, *study_sentences(status)],
        lead=[*warning, *agreement.lead],
        sections=[raters, *agreement.sections],
    )


def study_sentences(status: Status) -> list[str]:
    """How far a study got."""
    raters = sum(rater["done"] > 0 for rater in status["raters"])
    said = (
        f"{raters} {'rater' if raters == 1 else 'raters'} gave {status['votes']:,} answers on {status['pages']:,} pages (question “{status['form']}”); "
        f"{status['complete_pages']:,} pages have all the raters they were to have."
    )
    decided = status["adjudicated"]
    return [said + (f" {decided:,} answers were decided afterwards by one person." if decided else "")]


def _rater_pieces(status: Status) -> list[Piece]:
    pieces: list[Piece] = []
    took_part = [rater for rater in status["raters"] if rater["done"]]
    if took_part:
        columns = [
            *("pages", "seconds a page", "goes with the others", "known answers met"),
            *("attention checks met", "cannot tell", "flagged"),
        ]
        caption = "Shares in %, 95 % interval over people below; a page in seconds, the median."
        rows = [_rater_row(rater) for rater in took_part]
        pieces.append(Grid("Raters", caption, ["rater", "state"], columns, rows).filled())
    answers = [
        Row([row["question"], label], [count_cell(count)])
        for row in status["labels"]
        if not set(row["counts"]) <= PLACES
        for label, count in [*row["counts"].items(), ("cannot tell", row["cannot_tell"])]
        if count
    ]
    if answers:
        pieces.append(Grid("Answers given", "Counts.", ["question", "answer"], ["times"], answers))
    return pieces or [Sentences(["Nobody has rated yet."])]


def _rater_row(rater: Mapping[str, Any]) -> Row:
    others, seconds = rater["with_others"], rater["median_seconds"]
    name = f"{rater['rater']} (simulated)" if rater["kind"] == SIMULATED else str(rater["rater"])
    agrees = None if others is None else Estimate(others["value"], others["low"], others["high"], 0, 0)
    return Row(
        [name, str(rater["state"])],
        [
            count_cell(rater["done"]),
            Cell() if seconds is None else Cell(f"{seconds:.1f}", sort=seconds),
            percent_cell(agrees),
            _met(rater["gold"]),
            _met(rater["attention"]),
            count_cell(rater["cannot_tell"]),
            count_cell(rater["flags"]),
        ],
    )


def _met(checked: Mapping[str, int]) -> Cell:
    if not checked["answered"]:
        return Cell()
    return Cell(f"{checked['right']} of {checked['answered']}", sort=checked["right"] / checked["answered"])


ALL = "all"
COIN = 50.0
OTHERS = "the majority of the others"
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


def ceiling_pieces(store: Store, scores: RunScores, sources: Iterable[Source] = ()) -> list[Piece]:
    """What people reach on the items of a run of choices, by tier, from studies given as sources and from vote counts in the data."""
    parts = _tier_items(scores.items)
    own = {rater["fingerprint"] for rater in scores.run.config["raters"]}
    found = [line for source in sources for line in beside_people(_of_run(source, own), parts)]
    found += _voters(store, scores, parts)
    if not found:
        return [Prose(NO_VOTES, "small")]
    rows = [
        Row([line.who, line.against], [percent_cell(line.by_part.get(part)) for part in parts], line.control)
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
    caption = (
        "How to read it: how often each goes with the people it is held against, tier by tier, on the items they voted on; bars are "
        "95 % intervals over people, the dotted line is a coin toss. Diamonds are people, hollow squares controls; what one person "
        "reaches is the ceiling."
    )
    return [Picture("Beside one person", caption, _ceiling_figure(list(parts), found)), grid]


def _tier_items(items: pl.DataFrame) -> dict[str, set[str]]:
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


def _voters(store: Store, scores: RunScores, parts: Mapping[str, Collection[str]]) -> Iterator[CeilingScore]:
    """How many voters meet the gold, where the gold keeps their counts."""
    shares = vote_shares(store, scores) if has_truth(scores) else {}
    if not shares:
        return
    rows = scores.items.filter(pl.col("gold").is_in(["0", "1"]), pl.col("item").is_in(list(shares)))
    by_part: dict[str, Estimate | None] = {}
    for name, wanted in parts.items():
        part = rows.filter(pl.col("item").is_in(list(wanted)))
        met = [
            shares[item] if gold == "0" else 1 - shares[item]
            for item, gold in part.select("item", "gold").iter_rows()
        ]
        people, prompts = part["person"].to_numpy(), part["prompt"].to_numpy()
        by_part[name] = clustered(np.array(met), people, prompts, (0.0, 1.0)) if met else None
    yield CeilingScore("a voter drawn at random", f"the gold, {scores.info['gold']}", by_part)


def _ceiling_figure(parts: Sequence[str], found: Sequence[CeilingScore]) -> "Figure":
    rows = [
        PlotRow(
            line.who,
            [dot_of(line.by_part.get(part)) for part in parts],
            control=line.control is not None,
            people=line.kind in PEOPLE,
        )
        for line in found
    ]
    return panels_figure(rows, [Panel(part, COIN) for part in parts])
