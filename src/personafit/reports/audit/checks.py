"""The measurements of an audit: rules by tier, fitted surface features, and leaks in the structure of the data.

Everything is read from one frame with a row per choice between two answers with gold. An audit looks at the data itself, not at a
run, so that nothing has to be judged first.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.benchmarks import Benchmark
from personafit.contexts import People, make_context
from personafit.people import facet_values, names_of
from personafit.raters.rules import RULES as EVERY_RULE
from personafit.raters.rules import rule_lead
from personafit.reports.analysis import mean_by_tier, tiers_in
from personafit.statistics import Estimate, mean_by_item
from personafit.statistics.influence import logistic
from personafit.store import Item

ALL = "all"
Estimates = dict[str, Estimate]
"""Estimates by part of the data (`ALL`, then tiers)."""


@dataclass(frozen=True)
class AuditPairs:
    """The pairs of a benchmark with their people, as input of the audit's checks."""

    name: str
    people: People
    frame: pl.DataFrame
    """item, person, prompt, chosen, rejected (texts), chosen_id, rejected_id and tier."""
    splits: dict[str, list[str]]


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


def credit(lead: pl.Expr) -> pl.Expr:
    """Return 1 where the chosen answer scores higher, ½ on a tie, 0 otherwise; null without a score."""
    return (lead.sign() + 1) / 2


# scores of simple rules: with the person, and with the wrong one

STRANGER = "overlap, wrong person"
RULES = EVERY_RULE["answer"]


def score_rules(pairs: AuditPairs, seed: int) -> pl.DataFrame:
    """Add a credit column per rule; `overlap` also with a wrong person, null where nobody shares the language."""
    contexts = {name: make_context(name, pairs.people, seed) for name in ("profile", "wrong:profile")}
    leads: dict[str, list[float | None]] = {name: [] for name in (*RULES, STRANGER)}
    for row in pairs.frame.iter_rows(named=True):
        person = pairs.people[row["person"]]
        item = Item(id=row["item"], prompt=row["prompt"], person=row["person"], products=[])
        texts, told = (row["chosen"], row["rejected"], row["prompt"]), contexts["profile"].build(person, item)
        for name in RULES:
            leads[name].append(rule_lead(name, *texts, told))
        wrong = None if person.id in pairs.people.alone else contexts["wrong:profile"].build(person, item)
        leads[STRANGER].append(None if wrong is None else rule_lead("overlap", *texts, wrong))
    scored = pairs.frame.with_columns(pl.Series(name, values, pl.Float64) for name, values in leads.items())
    return scored.with_columns(credit(pl.col(name)) for name in leads)


def rule_table(scored: pl.DataFrame) -> dict[str, Estimates]:
    """Return the score of every rule for all pairs and by tier."""
    return {name: mean_by_tier(scored, name) for name in (*RULES, STRANGER)}


def overlap_gain(scored: pl.DataFrame) -> Estimate:
    """Estimate how much more often overlap with the right profile is right than overlap with a stranger's, paired by pair."""
    gain = scored.with_columns((pl.col("overlap") - pl.col(STRANGER)).alias("gain"))
    return mean_by_item(gain, "gain", (-1.0, 1.0))


# surface features fitted on other people: the score reachable without understanding

FOLDS = 5
RIDGE = 1.0

Floats = NDArray[np.float64]

_COUNTED = {
    "sentences": r"[.。!！?？]",
    "questions": r"[?？]",
    "exclamations": r"[!！]",
    "commas": r"[,，、;；:：]",
    "you": r"\b(?:you|your|yours)\b|[你您]",
    "polite you": r"您",
    "we": r"\b(?:we|our|us)\b|我们|咱们",
    "bold": r"\*\*",
    "list items": r"(?m)^[^\S\n]*(?:[-*•]|\d+[.)、])\s",
    "headings": r"(?m)^#+\s",
    "line breaks": r"\n",
    "digits": r"\d",
    "latin letters": r"[A-Za-z]",
    "quotes": r"[\"“”‘’「」《》]",
    "brackets": r"[()（）]",
    "emoji": r"[\U0001F300-\U0001FAFF☀-➿]",
    "such as": r"\b(?:such as|for example|like)\b|比如|例如|像",
    "since": r"\b(?:since|because|given|as a)\b|考虑到|结合|根据|作为|由于",
    "try": r"\b(?:try|could|might|consider)\b|可以|不妨|建议|尝试",
    "hope": r"\b(?:hope|enjoy|feel free)\b|希望|祝|随时",
}
FEATURES = ("length", "log length", "distinct characters", "shared with the question", *_COUNTED)


def surface_scores(pairs: AuditPairs, seed: int) -> Estimates:
    """Return the accuracy of surface features fitted on other people, without the profile, for all pairs and by tier."""
    from threadpoolctl import threadpool_limits

    prompts, people = pairs.frame["prompt"].to_list(), pairs.frame["person"].to_list()
    style = _features(pairs.frame["chosen"], prompts) - _features(pairs.frame["rejected"], prompts)
    with threadpool_limits(1, "blas"):  # for such small steps, more threads mostly wait for each other
        credits = _cross_fit(style, people, seed)
    return mean_by_tier(pairs.frame.with_columns(credit=credits), "credit")


def _features(answers: Iterable[str], prompts: list[str]) -> Floats:
    rows = []
    for answer, prompt in zip(answers, prompts, strict=True):
        shared = len(set(answer) & set(prompt))
        counts = [len(pattern.findall(answer)) for pattern in _PATTERNS]
        rows.append([len(answer), np.log1p(len(answer)), len(set(answer)), shared, *counts])
    return np.asarray(rows, dtype=np.float64)


_PATTERNS = [re.compile(pattern, re.IGNORECASE) for pattern in _COUNTED.values()]


def _cross_fit(differences: Floats, people: list[str], seed: int) -> Floats:
    """Return cross-validated credits (1, ½ or 0) of a model not fitted on the person's own labels."""
    fold = np.array([draw("fold", person, seed, among=FOLDS) for person in people])
    credits = np.full(len(people), 0.5)
    for held_out in range(FOLDS):
        train, test = fold != held_out, fold == held_out
        if not train.any() or not test.any():
            continue
        # Differences are antisymmetric: they are scaled by their root mean square, not centred, and have no intercept.
        scale = np.sqrt(np.square(differences[train]).mean(axis=0))
        scale[scale == 0] = 1.0
        weights, _ = logistic(differences[train] / scale, np.ones(int(train.sum())), RIDGE)
        credits[test] = (np.sign(differences[test] / scale @ weights) + 1) / 2
    return credits


# repeats, contradictions, answer counts and leakage between splits


@dataclass(frozen=True)
class Repeats:
    """How often the same (person, prompt, two answers) occurs in the data."""

    rows: int
    distinct: int
    repeated_rows: int
    """Rows whose unordered pair occurs in an earlier row."""
    contradictory_pairs: int
    """Unordered pairs that occur with either answer as gold."""


@dataclass(frozen=True)
class Leak:
    """The overlap of two splits."""

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
    return Repeats(
        rows=frame.height,
        distinct=groups.height,
        repeated_rows=frame.height - groups.height,
        contradictory_pairs=groups.filter(pl.col("winners") > 1).height,
    )


COUNTINGS = 4
"""Number of ways to count answers, of which the most predictive is taken."""


def occurrence_counts(pairs: AuditPairs) -> Estimates:
    """Estimate how well counting answers predicts gold, for all pairs and by tier.

    An answer is counted by the pairs of its person and prompt that it occurs in, and by the people who got the same template: its
    text without names and what the profile says. Either count may give gold away, whether more or fewer; the way that predicts best
    over the whole part is taken, since an audit asks what could be exploited.
    """
    frame = pairs.frame.with_columns(
        pl.Series(f"{side}_template", _templates(pairs, side)) for side in ("chosen", "rejected")
    )
    countings = {
        "id": (["person", "prompt", "answer"], pl.len()),
        "template": (["answer"], pl.n_unique("person")),
    }
    for name, (keys, counted) in countings.items():
        uses = pl.concat(
            frame.select("person", "prompt", pl.col(f"{side}_{name}").alias("answer"))
            for side in ("chosen", "rejected")
        )
        counts = uses.group_by(keys).agg(counted.alias("uses"))
        for side in ("chosen", "rejected"):
            named = counts.rename({"answer": f"{side}_{name}", "uses": f"{side}_uses"})
            on = [*(key for key in keys if key != "answer"), f"{side}_{name}"]
            frame = frame.drop(f"{side}_uses", strict=False).join(
                named, on=on, how="left", maintain_order="left"
            )
        more = credit(pl.col("chosen_uses").cast(pl.Int64) - pl.col("rejected_uses").cast(pl.Int64))
        frame = frame.with_columns(more.alias(f"more {name}"), (1 - more).alias(f"fewer {name}"))
    ways = [mean_by_tier(frame, f"{way} {name}") for name in countings for way in ("more", "fewer")]
    return {part: max((way[part] for way in ways), key=lambda found: found.value or 0.0) for part in ways[0]}


def _templates(pairs: AuditPairs, side: str) -> list[str]:
    """Return the answers without what they take from the person's profile, digits and spacing."""

    @lru_cache(None)
    def told(person: str) -> re.Pattern[str] | None:
        facets = pairs.people[person].facets
        values = {value.strip() for value in (*names_of(facets), *facet_values(facets))}
        longest = sorted((value for value in values if len(value) > 1), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest)), re.IGNORECASE) if longest else None

    found = []
    for person, text in pairs.frame.select("person", side).iter_rows():
        pattern = told(person)
        plain = pattern.sub("□", text) if pattern else text
        found.append(re.sub(r"[\s\d]+", " ", plain).casefold())
    return found


def split_leaks(pairs: AuditPairs) -> list[Leak]:
    """Return the overlap of every two splits; if the benchmark declares none, tiers count as splits, since people mix them up."""
    parts = (
        {name: pairs.frame.filter(pl.col("person").is_in(people)) for name, people in pairs.splits.items()}
        if pairs.splits
        else {tier: pairs.frame.filter(tier=tier) for tier in tiers_in(pairs.frame)}
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
