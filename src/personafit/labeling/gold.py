"""From votes to a benchmark: majority gold, tiers, and a folder that `personafit run` takes.

An answer that was written to be worse, without the person or for another one, makes a pair Easy by construction. The others get their
tier from the votes (`statistics.tiers`). Where something was adjudicated, gold is `adjudicated`: the decision where there is one, and the
majority elsewhere; the majority stands beside it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks import BenchmarkInfo, Published, write_folder
from personafit.labeling.records import Role
from personafit.labeling.studies import ADJUDICATED, Studies
from personafit.labeling.votes import adjudicated_votes, study_votes
from personafit.people import Person
from personafit.statistics.tiers import HELD_OUT, Tiers, vote_tiers
from personafit.store import Item, Judgment, Product, Store

EASY_REJECTS = frozenset({"generic", "wrong-person"})
"""Kinds of rejected answer (an item's slice `reject`) that make a pair Easy by construction."""
BENCHMARKED = ("fit", "relevance", "preference")
"""Forms whose labels are answers to the items of a benchmark."""


@dataclass(frozen=True)
class StudyGold:
    """What a study's votes come to."""

    rater: str
    """Whose rows are the gold: `majority(STUDY)`, or `adjudicated` where something was."""
    rows: tuple[Judgment, ...]
    tiers: Tiers | None
    undecided: tuple[str, ...]
    """Items whose votes have no majority and that nobody has adjudicated."""
    sizes: dict[str, int]
    """Items by tier."""


def study_gold(studies: Studies, name: str) -> StudyGold:
    """The gold of a study: rows for each item (and target) that has a majority or a decision, with votes, share and tier."""
    votes = study_votes(studies, name).filter(pl.col("label").is_not_null())
    if votes.is_empty():
        raise UserError(f"{name} has no votes yet; `personafit label status {name}` says how far it is.")
    majority = f"majority({name})"
    items = {item.id: item for item in studies.store.items(studies.study(name).dataset)}
    decided = {
        (row["item"], row["question"], row["target"]): row
        for row in adjudicated_votes(studies, name).iter_rows(named=True)
    }
    tiers, tier_of = _tiers(votes, items, studies.study(name).config.seed)
    rows: list[Judgment] = []
    undecided: list[str] = []
    keys = ["item", "question", "target"]
    for (item, question, target), group in votes.group_by(keys, maintain_order=True):
        counted = group["label"].value_counts(sort=True)
        labels, counts = counted["label"].to_list(), counted["count"].to_list()
        tier = tier_of.get(str(item))
        extra = {"votes": dict(zip(labels, counts, strict=True)), "share": counts[0] / sum(counts)}
        extra |= {"tier": tier} if tier else {}
        settled = len(counts) == 1 or counts[0] > counts[1]
        unit = (str(item), str(question), str(target))
        value = group.filter(pl.col("label") == labels[0])["value"][0]
        by: dict[str, tuple[str, float | None]] = {majority: (labels[0], value)} if settled else {}
        if judged := decided.get(unit):
            by[ADJUDICATED] = judged["label"], judged["value"]
        elif settled and decided:
            by[ADJUDICATED] = by[majority]
        elif not settled:
            undecided.append(str(item))
        about = dict(zip(keys, unit, strict=True)) | {"extra": extra}
        rows += [
            Judgment(rater=rater, label=label, value=value, **about) for rater, (label, value) in by.items()
        ]
    sizes = (
        dict(pl.Series(list(tier_of.values()), dtype=pl.String).value_counts().iter_rows()) if tier_of else {}
    )
    return StudyGold(ADJUDICATED if decided else majority, tuple(rows), tiers, tuple(undecided), sizes)


def write_benchmark(store: Store, name: str, folder: Path) -> StudyGold:
    """Write the study as a benchmark folder: people, answers, items that have gold, the single votes, and a card."""
    studies = Studies(store)
    form = studies.study(name).form
    if form not in BENCHMARKED:
        raise UserError(
            f"{name} asks {form}, and gold is made of {', '.join(BENCHMARKED)}; --out DIR writes the votes."
        )
    gold = study_gold(studies, name)
    votes = study_votes(studies, name)
    benchmark = _StudyBenchmark(studies, name, gold, votes)
    if folder.is_dir() and any(folder.iterdir()):
        raise UserError(f"{folder} is there already and not empty; choose another with --benchmark.")
    write_folder(folder, benchmark, _card(studies, name, gold, votes))
    with (folder / "votes.jsonl").open("w", encoding="utf-8") as file:
        for row in votes.iter_rows(named=True):
            if row["item"] in benchmark.kept and row["why"] is None and row["text"] is None:
                file.write(_vote(row).model_dump_json(exclude_defaults=True) + "\n")
    return gold


class _StudyBenchmark:
    """A study as a benchmark."""

    def __init__(self, studies: Studies, name: str, gold: StudyGold, votes: pl.DataFrame) -> None:
        study = studies.study(name)
        self._studies, self._dataset = studies, study.dataset
        self._gold = gold
        self.kept = {row.item for row in gold.rows}
        kinds = {item.kind for item in self.items()}
        self.info = BenchmarkInfo(
            name=name,
            version="1",
            title=study.title,
            description=f"Gold is the majority of {_who(votes, 'raters')}{_but(gold)} (study {name}).",
            language=[study.config.language],
            gold=gold.rater,
            metric={"relevance": "f1", "preference": "rating"}.get(next(iter(kinds), "choice"), "accuracy"),
            view=study.config.view,
            layout=[["tier"]] if gold.sizes else [],
        )

    def people(self) -> Iterator[Person]:
        """Everyone: those the items are about, and those who may stand in as the wrong person."""
        return iter(self._studies.store.people(self._dataset).values())

    def items(self) -> Iterator[Item]:
        """The items that have gold."""
        return (item for item in self._studies.store.items(self._dataset) if item.id in self.kept)

    def products(self) -> Iterator[Product]:
        """What they show, without a word about who made it."""
        for item in self.items():
            texts = self._studies.store.texts(item.products)
            for kind, product in zip(_kinds(item), item.products, strict=True):
                yield Product(id=product, kind=kind, text=texts[product])

    def gold(self) -> Iterator[Judgment]:
        """The majority, and what was adjudicated."""
        return iter(self._gold.rows)

    def published(self) -> list[Published]:
        """None."""
        return []

    def notes(self) -> list[str]:
        """What the tiers could not be made to do."""
        return list(self._gold.tiers.warnings) if self._gold.tiers else []


def _kinds(item: Item) -> list[str]:
    if item.kind == "choice":
        return ["answer"] * len(item.products)
    if item.kind == "preference":
        return ["answer", "answer"] + ["attribute"] * (len(item.products) - 2)
    return ["attribute"] * len(item.products)


def _tiers(votes: pl.DataFrame, items: dict[str, Item], seed: int) -> tuple[Tiers | None, dict[str, str]]:
    """Tiers of the pairs among the items; None where there are none."""
    pairs = votes.filter(pl.col("question") == "fit")
    pairs = pairs.filter(
        pl.col("item").map_elements(
            lambda item: item in items and len(items[item].products) == 2, return_dtype=pl.Boolean
        )
    )
    if pairs.is_empty():
        return None, {}
    easy = {item for item in pairs["item"].unique() if items[item].slices.get("reject") in EASY_REJECTS}
    tier_of = dict.fromkeys(easy, "easy")
    asked = pairs.filter(~pl.col("item").is_in(list(easy)))
    if asked.is_empty():
        return None, tier_of
    units = asked["item"].unique(maintain_order=True).to_list()
    raters = asked["rater"].unique(maintain_order=True).to_list()
    codes = np.full((len(units), len(raters)), -1, dtype=np.int64)
    place, seat = {unit: n for n, unit in enumerate(units)}, {rater: n for n, rater in enumerate(raters)}
    for item, rater, label in asked.select("item", "rater", "label").iter_rows():
        if label in ("0", "1"):
            codes[place[item], seat[rater]] = int(label) ^ _turned(item, seed)
    tiers = vote_tiers(codes, [items[unit].person for unit in units], [items[unit].prompt for unit in units])
    for tier in (tiers.medium, tiers.hard):
        if tier is not None:
            tier_of |= {unit: tier.name for unit, member in zip(units, tier.members, strict=True) if member}
    return tiers, tier_of


def _turned(item: str, seed: int) -> int:
    """Whether an item's answers are coded the other way round: so that no code means 'the better one'."""
    return int(hash_text("code", str(seed), item), 16) & 1


def _vote(row: dict[str, Any]) -> Judgment:
    said = {name: row[name] for name in ("item", "question", "target", "status", "label", "value")}
    rater, perspective = f"{row['kind']}:{row['rater']}", {"perspective": row["perspective"]}
    return Judgment(rater=rater, extra=perspective, **said)


def _who(votes: pl.DataFrame, people: str) -> str:
    """How many raters voted, simulated ones apart: their votes may be imported into a study of people."""
    raters = votes.group_by("kind").agg(pl.col("rater").n_unique()).sort("kind")
    names = {"simulated": "simulated raters"}
    return " and ".join(f"{count} {names.get(kind, people)}" for kind, count in raters.iter_rows())


def _but(gold: StudyGold) -> str:
    return ", but for what was adjudicated" if gold.rater == ADJUDICATED else ""


def _card(studies: Studies, name: str, gold: StudyGold, votes: pl.DataFrame) -> str:
    study = studies.study(name)
    lines = [
        f"# {study.title}",
        "",
        f"Made by a study of {_who(votes, 'people')}: {len(studies.pages(name, (Role.ITEM,))):,} pages, {len(votes):,} votes, "
        f"{study.config.overlap} raters planned for each. Gold is the majority of the votes{_but(gold)}.",
        "",
    ]
    if set(votes["kind"]) == {"simulated"}:
        lines += ["**All votes are simulated.** Nothing here says what people think.", ""]
    if gold.sizes:
        lines += ["| tier | items | share of the majority | Fleiss' kappa, held out |", "|---|---|---|---|"]
        lines += [f"| easy | {gold.sizes['easy']} | by construction | |"] if "easy" in gold.sizes else []
        for tier in (gold.tiers.medium, gold.tiers.hard) if gold.tiers else ():
            if tier is not None:
                k = tier.kappa
                interval = (
                    f" ({k.low:.2f} to {k.high:.2f})" if k.low is not None and k.high is not None else ""
                )
                span = f"{tier.least:.2f} to {min(tier.below, 1):.2f}"
                kappa = "–" if k.value is None else f"{k.value:.2f}{interval}"
                lines.append(f"| {tier.name} | {gold.sizes.get(tier.name, 0)} | {span} | {kappa} |")
        lines.append("")
        if gold.tiers and (gold.tiers.medium or gold.tiers.hard):
            lines += [HELD_OUT, ""]
    lines += [f"- {warning}" for warning in (gold.tiers.warnings if gold.tiers else ())]
    if gold.undecided:
        lines.append(
            f"- {len(gold.undecided)} items have no majority and are left out; `personafit label adjudicate` decides them."
        )
    return "\n".join(lines) + "\n"
