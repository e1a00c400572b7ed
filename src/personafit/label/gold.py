"""Turn votes into a benchmark: majority gold, tiers, and a folder that `personafit run` can load.

A pair whose rejected answer was written to be worse, without the person or for another person, is Easy by construction. Other pairs get
their tier from the votes (`statistics.tiers`). If anything was adjudicated, gold is `adjudicated`: the decision where there is one, the
majority elsewhere; the majority is written beside it.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError, counted
from personafit._hashing import hash_text
from personafit.benchmarks import BenchmarkInfo, Published, write_folder
from personafit.label.records import Role
from personafit.label.studies import ADJUDICATED, Studies
from personafit.label.votes import UNIT, adjudicated_votes, study_votes, tally
from personafit.people import Person
from personafit.reports.pieces import result_cell
from personafit.statistics.tiers import HELD_OUT, Tiers, vote_tiers
from personafit.store import Item, Judgment, Product, Store

EASY_REJECTS = frozenset({"generic", "wrong-person"})
"""Kinds of rejected answer (an item's slice `reject`) that make a pair Easy by construction."""
BENCHMARKED = ("fit", "relevance", "preference")
"""Forms whose labels are answers to the items of a benchmark."""


@dataclass(frozen=True)
class StudyGold:
    """Gold, tiers and undecided items computed from a study's votes."""

    rater: str
    """The rater whose rows are the gold: `majority(STUDY)`, or `adjudicated` if anything was adjudicated."""
    rows: tuple[Judgment, ...]
    tiers: Tiers | None
    undecided: tuple[str, ...]
    """Items whose votes have no majority and that have not been adjudicated."""
    sizes: dict[str, int]
    """Number of items with gold by tier."""


def study_gold(studies: Studies, name: str) -> StudyGold:
    """Return the gold of a study: a row per item (and target) with a majority or decision, with votes, share and tier."""
    votes = study_votes(studies, name).filter(pl.col("label").is_not_null())
    if votes.is_empty():
        raise UserError(f"{name} has no votes yet; `personafit label status {name}` says how far it is.")
    majority = f"majority({name})"
    items = {item.id: item for item in studies.store.items(studies.study(name).dataset)}
    decisions = adjudicated_votes(studies, name).select(*UNIT, "label", "value").iter_rows()
    decided = {row[:3]: (row[3], row[4]) for row in decisions}
    tiers, tier_of = _tiers(votes, items, studies.study(name).config.seed)
    rows: list[Judgment] = []
    undecided: list[str] = []
    for unit, group in votes.group_by(UNIT, maintain_order=True):
        found, item = tally(group["label"]), str(unit[0])
        extra: dict[str, Any] = {"votes": found.counts, "share": found.share}
        extra |= {"tier": tier_of[item]} if item in tier_of else {}
        by: dict[str, tuple[str, float | None]] = {}
        if found.majority is not None:
            value = group.filter(pl.col("label") == found.majority)["value"][0]
            by[majority] = found.majority, value
        if unit in decided:
            by[ADJUDICATED] = decided[unit]
        elif by and decided:
            by[ADJUDICATED] = by[majority]
        elif not by:
            undecided.append(item)
        about = dict(zip(UNIT, map(str, unit), strict=True)) | {"extra": extra}
        rows += [
            Judgment(rater=rater, label=label, value=value, **about) for rater, (label, value) in by.items()
        ]
    rater = ADJUDICATED if decided else majority
    kept = {row.item for row in rows}
    sizes = Counter(tier for item, tier in tier_of.items() if item in kept)
    return StudyGold(rater, tuple(rows), tiers, tuple(undecided), dict(sizes))


def write_benchmark(store: Store, name: str, folder: Path) -> StudyGold:
    """Write the study as a benchmark folder: people, answers, items with gold, individual votes, and a card."""
    studies = Studies(store)
    form = studies.study(name).form
    if form not in BENCHMARKED:
        raise UserError(
            f"{name} asks {form}, and gold is made of {', '.join(BENCHMARKED)}; --out DIR writes the votes."
        )
    benchmark = _StudyBenchmark(studies, name)
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --benchmark.")
    write_folder(folder, benchmark, benchmark.card())
    with (folder / "votes.jsonl").open("w", encoding="utf-8") as file:
        for vote in benchmark.votes():
            file.write(vote.model_dump_json(exclude_defaults=True) + "\n")
    return benchmark.found


class _StudyBenchmark:
    """A study, read as a benchmark."""

    def __init__(self, studies: Studies, name: str) -> None:
        self._store, self._study, self.found = studies.store, studies.study(name), study_gold(studies, name)
        self._pages = len(studies.pages(name, (Role.ITEM,)))
        self._instructed = studies.form(name).instructed(self._study.config)
        self._votes = study_votes(studies, name)
        self._kept = {row.item for row in self.found.rows}
        self._but = ", but for what was adjudicated" if self.found.rater == ADJUDICATED else ""
        kind = next((item.kind for item in self.items()), "choice")
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=self._study.title,
            description=f"Gold is the majority of {self._who('rater', 'raters')}{self._but} (study {name}).",
            language=[self._study.config.language],
            gold=self.found.rater,
            metric={"relevance": "f1", "preference": "rating"}.get(kind, "accuracy"),
            context=self._study.config.context,
            layout=[["tier"]] if self.found.sizes else [],
        )

    def people(self) -> Iterator[Person]:
        """Iterate over all people: those the items are about, and those who may serve as the wrong person."""
        return iter(self._store.people(self._study.dataset).values())

    def items(self) -> Iterator[Item]:
        return (item for item in self._store.items(self._study.dataset) if item.id in self._kept)

    def products(self) -> Iterator[Product]:
        for item in self.items():
            answers = {"choice": len(item.products), "preference": 2}.get(item.kind, 0)
            texts = self._store.texts(item.products)
            for place, product in enumerate(item.products):
                yield Product(
                    id=product, kind="answer" if place < answers else "attribute", text=texts[product]
                )

    def gold(self) -> Iterator[Judgment]:
        return iter(self.found.rows)

    def published(self) -> list[Published]:
        return []

    def notes(self) -> list[str]:
        return list(self.found.tiers.warnings) if self.found.tiers else []

    def votes(self) -> Iterator[Judgment]:
        for row in self._votes.iter_rows(named=True):
            if row["item"] in self._kept and row["why"] is None and row["text"] is None:
                said = {name: row[name] for name in (*UNIT, "status", "label", "value")}
                extra = {"perspective": row["perspective"]}
                yield Judgment(rater=f"{row['kind']}:{row['rater']}", extra=extra, **said)

    def _who(self, one: str, many: str) -> str:
        """Return the number of raters as text, with simulated raters counted separately, since a human study may import them."""
        raters = self._votes.group_by("kind").agg(pl.col("rater").n_unique()).sort("kind")
        return " and ".join(
            counted(count, *(("simulated rater", "simulated raters") if kind == "simulated" else (one, many)))
            for kind, count in raters.iter_rows()
        )

    def card(self) -> str:
        """Return the card: number of voters, agreement within each tier, and items without gold."""
        gold, tiers = self.found, self.found.tiers
        lines = [
            f"# {self._study.title}",
            "",
            f"Made by a study of {self._who('person', 'people')}: {counted(self._pages, 'page', 'pages')}, "
            f"{counted(len(self._votes), 'vote', 'votes')}, {counted(self._study.config.overlap, 'rater', 'raters')} planned for each. Gold is the majority of the votes{self._but}. "
            f"{self._instructed}",
            "",
        ]
        if set(self._votes["kind"]) == {"simulated"}:
            lines += ["**All votes are simulated.** Nothing here says what people think.", ""]
        drawn = [tier for tier in (tiers.medium, tiers.hard) if tier is not None] if tiers else []
        if gold.sizes:
            lines += [
                "| tier | items | share of the majority | Fleiss' kappa, held out |",
                "|---|---|---|---|",
            ]
            lines += [f"| easy | {gold.sizes['easy']} | by construction | |"] if "easy" in gold.sizes else []
            for tier in drawn:
                kappa = result_cell(tier.kappa, "{:.2f}".format, to=" to ")
                interval = f" ({kappa.interval})" if kappa.interval else ""
                span = f"{tier.least:.2f} to {min(tier.below, 1):.2f}"
                lines.append(
                    f"| {tier.name} | {gold.sizes.get(tier.name, 0)} | {span} | {kappa.text or '–'}{interval} |"
                )
            lines += ["", HELD_OUT, ""] if drawn else [""]
        lines += [f"- {warning}" for warning in self.notes()]
        if gold.undecided:
            lines.append(
                f"- {counted(len(gold.undecided), 'item has no majority and is', 'items have no majority and are')} left out; "
                "`personafit label adjudicate` decides."
            )
        return "\n".join(lines) + "\n"


def _tiers(votes: pl.DataFrame, items: dict[str, Item], seed: int) -> tuple[Tiers | None, dict[str, str]]:
    """Return the tiers of the pairs among the items and the tier of each item; the tiers are None if there are no votes on pairs."""
    pairs = [item for item in votes["item"].unique() if item in items and len(items[item].products) == 2]
    votes = votes.filter((pl.col("question") == "fit") & pl.col("item").is_in(pairs))
    if votes.is_empty():
        return None, {}
    easy = {item for item in votes["item"].unique() if items[item].slices.get("reject") in EASY_REJECTS}
    tier_of = dict.fromkeys(easy, "easy")
    asked = votes.filter(~pl.col("item").is_in(list(easy)))
    if asked.is_empty():
        return None, tier_of
    units = asked["item"].unique(maintain_order=True).to_list()
    raters = asked["rater"].unique(maintain_order=True).to_list()
    codes = np.full((len(units), len(raters)), -1, dtype=np.int64)
    place, seat = {unit: n for n, unit in enumerate(units)}, {rater: n for n, rater in enumerate(raters)}
    for item, rater, label in asked.select("item", "rater", "label").iter_rows():
        if label in ("0", "1"):
            # Codes are flipped at random per item, so that no code means 'the better answer'.
            codes[place[item], seat[rater]] = int(label) ^ int(hash_text("code", str(seed), item), 16) & 1
    tiers = vote_tiers(codes, [items[unit].person for unit in units], [items[unit].prompt for unit in units])
    for tier in (tiers.medium, tiers.hard):
        if tier is not None:
            tier_of |= {unit: tier.name for unit, member in zip(units, tier.members, strict=True) if member}
    return tiers, tier_of
