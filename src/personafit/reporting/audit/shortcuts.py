"""What simple rules score: with the person, without, with the wrong one, by field group, and where they must fail."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import polars as pl

from personafit.contexts import Context, make_context
from personafit.items.reading import Unit
from personafit.people import FacetValue, facet_values
from personafit.raters.rules import RULES as EVERY_RULE
from personafit.raters.rules import Rule
from personafit.reporting.audit.pairs import AuditPairs, accuracy
from personafit.statistics import Estimate, mean_by_item
from personafit.store import Item

LENGTH_TOLERANCE = 0.10
STRANGER = "overlap, wrong person"
LEAD = "overlap lead"
RARE_FIELD = 0.02  # a field that fewer people have says nothing about the benchmark


RULES = EVERY_RULE["answer"]


@dataclass(frozen=True)
class RuleScores:
    """A rule's accuracy, for all pairs and by tier."""

    rule: str
    by_part: dict[str, Estimate]


@dataclass(frozen=True)
class Subset:
    """Pairs on which a shortcut says nothing or the wrong thing, and what every rule scores there."""

    name: str
    about: str
    pairs: int
    by_rule: dict[str, Estimate]


@dataclass(frozen=True)
class FieldGroup:
    """What the overlap rule scores when it knows one group of fields only, or all but that group."""

    group: str
    people: int
    only: Estimate
    without: Estimate


def score_rules(pairs: AuditPairs, seed: int) -> pl.DataFrame:
    """The pairs with a credit column per rule; `overlap` also under a wrong person, null where nobody shares the language."""
    views = {name: make_context(name, pairs.people, seed) for name in ("profile", "wrong:profile")}
    columns: dict[str, list[float | None]] = {name: [] for name in [*RULES, STRANGER, LEAD]}
    for row in pairs.frame.iter_rows(named=True):
        person = pairs.people[row["person"]]
        item = Item(id=row["item"], prompt=row["prompt"], person=row["person"], products=[])
        told = views["profile"].build(person, item)
        for name, rule in RULES.items():
            columns[name].append(_credit(rule, row, told))
        columns[LEAD].append(_lead(RULES["overlap"], row, told))
        columns[STRANGER].append(
            None
            if person.id in pairs.people.alone
            else _credit(RULES["overlap"], row, views["wrong:profile"].build(person, item))
        )
    return pairs.frame.with_columns(pl.Series(name, values, pl.Float64) for name, values in columns.items())


def rule_table(pairs: AuditPairs, scored: pl.DataFrame) -> list[RuleScores]:
    """Every rule for all pairs and by tier."""
    names = [*RULES, STRANGER]
    table = []
    for name in names:
        parts = {
            part: accuracy(scored if part == "all" else scored.filter(pl.col("tier") == part), name)
            for part, _ in pairs.parts
        }
        table.append(RuleScores(name, parts))
    return table


def overlap_gain(scored: pl.DataFrame) -> Estimate:
    """How much more often overlap with the right profile is right than overlap with a stranger's, paired by pair."""
    gain = scored.with_columns((pl.col("overlap") - pl.col(STRANGER)).alias("gain"))
    return mean_by_item(gain, "gain", (-1.0, 1.0))


def hard_subsets(scored: pl.DataFrame) -> list[Subset]:
    """Length-matched pairs, pairs whose shorter answer was chosen, and pairs on which every shortcut is wrong."""
    chosen, rejected = pl.col("chosen").str.len_chars(), pl.col("rejected").str.len_chars()
    longer = pl.max_horizontal(chosen, rejected)
    matched = (chosen.cast(pl.Int64) - rejected.cast(pl.Int64)).abs() <= LENGTH_TOLERANCE * longer
    # Naming and markup tie on most pairs: no rule may be right, and the two that nearly always speak must be wrong.
    misled = pl.all_horizontal(
        *(pl.col(name) <= 0.5 for name in RULES), *(pl.col(n) < 0.5 for n in ("length", "overlap"))
    )
    subsets = (
        ("length-matched", "lengths within 10 % of the longer answer", matched),
        ("shorter wins", "the shorter answer was chosen", chosen < rejected),
        (
            "every shortcut wrong",
            "no rule prefers the chosen answer; length and overlap prefer the other",
            misled,
        ),
    )
    found = []
    for name, about, keep in subsets:
        part = scored.filter(keep)
        found.append(Subset(name, about, part.height, {rule: accuracy(part, rule) for rule in RULES}))
    return found


def field_groups(pairs: AuditPairs) -> list[FieldGroup]:
    """The overlap rule with each group of fields alone and left out."""
    counts = Counter(
        group for person in pairs.people.values() for group in {_group(path) for path in person.facets}
    )
    found = []
    for group, have in counts.items():
        if have < RARE_FIELD * len(pairs.people):
            continue
        only = _overlap_with(pairs, partial(_in_group, group))
        without = _overlap_with(pairs, partial(_not_in_group, group))
        found.append(FieldGroup(group, have, only, without))
    return sorted(found, key=lambda one: -(one.only.value or 0.0))


def _in_group(group: str, path: str) -> bool:
    return _group(path) == group


def _not_in_group(group: str, path: str) -> bool:
    return _group(path) != group


def _overlap_with(pairs: AuditPairs, keep: Callable[[str], bool]) -> Estimate:
    @lru_cache(None)
    def told(person_id: str) -> Context:
        facets: dict[str, FacetValue] = {p: v for p, v in pairs.people[person_id].facets.items() if keep(p)}
        return Context("fields", "", tuple(facet_values(facets)), person_id)

    credits = [
        _credit(RULES["overlap"], row, told(row["person"])) for row in pairs.frame.iter_rows(named=True)
    ]
    return accuracy(pairs.frame.with_columns(pl.Series("credit", credits)), "credit")


def _group(path: str) -> str:
    """Demographics, personality and values as wholes; preferences by their second level."""
    parts = path.split(".")
    if re.match(r"(?i)prefer", parts[0]) and len(parts) > 1:
        return f"{parts[0]}.{parts[1]}"
    if len(parts) > 1 and re.search(r"(?i)value", parts[-1]):
        return f"{parts[0]}.{parts[-1]}"
    return parts[0]


def _credit(rule: Rule, row: dict[str, str], told: Context) -> float:
    lead = _lead(rule, row, told)
    return 1.0 if lead > 0 else 0.5 if lead == 0 else 0.0


def _lead(rule: Rule, row: dict[str, str], told: Context) -> float:
    chosen, rejected = rule.score([Unit(row[name], row["prompt"], told) for name in ("chosen", "rejected")])
    return chosen - rejected
