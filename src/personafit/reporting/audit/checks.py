"""What an audit measures: rules by tier and by field, fitted surface features, and what the shape of the data gives away.

Everything is read from one frame with a row per choice between two answers with gold. An audit looks at the data itself, not at a
run, so that nothing has to be judged first.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from personafit._errors import UserError
from personafit._hashing import draw
from personafit.benchmarks import Benchmark
from personafit.contexts import Context, People, make_context
from personafit.items.reading import Unit
from personafit.people import FacetValue, facet_values, names_of
from personafit.raters.rules import RULES as EVERY_RULE
from personafit.raters.rules import Rule
from personafit.statistics import Estimate, mean_by_item
from personafit.store import Item

TIERS = ("easy", "medium", "hard")


@dataclass(frozen=True)
class AuditPairs:
    """The pairs of a benchmark with the people they are for, as the checks of an audit read them."""

    name: str
    people: People
    frame: pl.DataFrame
    """item, person, prompt, chosen, rejected (texts), chosen_id, rejected_id, tier and the slices."""
    splits: dict[str, list[str]]

    @property
    def parts(self) -> list[tuple[str, pl.DataFrame]]:
        """All pairs, then each tier by itself."""
        parts = [("all", self.frame)]
        if "tier" in self.frame.columns:
            found = self.frame["tier"].drop_nulls().unique(maintain_order=True).to_list()
            for tier in sorted(found, key=lambda tier: TIERS.index(tier) if tier in TIERS else len(TIERS)):
                parts.append((tier, self.frame.filter(pl.col("tier") == tier)))
        return parts


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
                **{f"slice_{name}": value for name, value in item.slices.items()},
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


def credit(chosen: pl.Expr, rejected: pl.Expr) -> pl.Expr:
    """1 where the chosen answer scores higher, ½ on a tie, 0 otherwise."""
    return pl.when(chosen > rejected).then(1.0).when(chosen == rejected).then(0.5).otherwise(0.0)


def accuracy(frame: pl.DataFrame, column: str) -> Estimate:
    """The clustered accuracy of a column of credits."""
    return mean_by_item(frame, column)


# what simple rules score: with the person, without, with the wrong one, by field group, and where they must fail

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


# surface features, fitted across people: the score a reader without understanding could reach

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
    "list items": r"(?m)^\s*(?:[-*•]|\d+[.)、])\s",
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


@dataclass(frozen=True)
class SurfaceScores:
    """Cross-fitted accuracies of surface features."""

    features: int
    blind: Estimate
    """Never shown the profile."""
    informed: Estimate
    """Overlap with the profile added."""
    by_part: dict[str, Estimate]
    """Blind accuracy for all pairs and by tier."""
    weights: dict[str, float]
    """Blind weights per standard deviation, largest first, fitted on everyone: what the labels reward."""


def surface_scores(pairs: AuditPairs, scored: pl.DataFrame, seed: int) -> SurfaceScores:
    """Fit and score, by person."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):  # threads that share out such small steps mostly wait for each other
        return _surface_scores(pairs, scored, seed)


def _surface_scores(pairs: AuditPairs, scored: pl.DataFrame, seed: int) -> SurfaceScores:
    prompts = pairs.frame["prompt"].to_list()
    style = _features(pairs.frame["chosen"], prompts) - _features(pairs.frame["rejected"], prompts)
    people = pairs.frame["person"].to_list()
    informed = np.column_stack([style, scored[LEAD].to_numpy()])
    blind = scored.with_columns(pl.Series("credit", _cross_fit(style, people, seed)))
    told = scored.with_columns(pl.Series("credit", _cross_fit(informed, people, seed)))
    weights = _fit(style / _scale(style))
    ranked = sorted(zip(FEATURES, weights, strict=True), key=lambda pair: -abs(pair[1]))
    return SurfaceScores(
        features=len(FEATURES),
        blind=accuracy(blind, "credit"),
        informed=accuracy(told, "credit"),
        by_part={
            part: accuracy(blind if part == "all" else blind.filter(pl.col("tier") == part), "credit")
            for part, _ in pairs.parts
        },
        weights={name: float(weight) for name, weight in ranked},
    )


def _features(answers: Iterable[str], prompts: list[str]) -> Floats:
    rows = []
    for answer, prompt in zip(answers, prompts, strict=True):
        shared = len(set(answer) & set(prompt))
        counts = [len(pattern.findall(answer)) for pattern in _PATTERNS]
        rows.append([len(answer), np.log1p(len(answer)), len(set(answer)), shared, *counts])
    return np.asarray(rows, dtype=np.float64)


_PATTERNS = [re.compile(pattern, re.IGNORECASE) for pattern in _COUNTED.values()]


def _cross_fit(differences: Floats, people: list[str], seed: int) -> Floats:
    """Credits of a model that never saw the person's own labels: 1, ½ or 0."""
    fold = np.array([draw("fold", person, seed, among=FOLDS) for person in people])
    credits = np.full(len(people), 0.5)
    for held_out in range(FOLDS):
        train, test = fold != held_out, fold == held_out
        if not train.any() or not test.any():
            continue
        scale = _scale(differences[train])
        lead = differences[test] / scale @ _fit(differences[train] / scale)
        credits[test] = np.where(lead > 0, 1.0, np.where(lead < 0, 0.0, 0.5))
    return credits


def _scale(differences: Floats) -> Floats:
    # Differences are antisymmetric, so they are scaled by their root mean square and never centred.
    scale: Floats = np.sqrt(np.square(differences).mean(axis=0))
    return np.where(scale > 0, scale, 1.0)


def _fit(differences: Floats) -> Floats:
    """Weights of a ridge logistic regression without intercept on chosen-minus-rejected differences."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        lead = differences @ weights
        value = float(np.logaddexp(0.0, -lead).sum()) + 0.5 * RIDGE * float(weights @ weights)
        return value, -differences.T @ expit(-lead) + RIDGE * weights

    from scipy.optimize import minimize

    found: Floats = minimize(loss, np.zeros(differences.shape[1]), jac=True, method="L-BFGS-B").x
    return found


# repeats, contradictions, answer counts and leakage between splits


@dataclass(frozen=True)
class Repeats:
    """How often the same (person, prompt, two answers) stands in the data."""

    rows: int
    distinct: int
    repeated_rows: int
    """Rows whose unordered pair occurs in an earlier row."""
    contradictory_pairs: int
    """Unordered pairs that occur with either answer as gold."""
    by_tier: dict[str, tuple[int, int, int]]
    """Tier to rows, rows that repeat a pair of another tier, and of those the ones with opposite gold there."""


@dataclass(frozen=True)
class Leak:
    """What two splits share."""

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
    by_tier: dict[str, tuple[int, int, int]] = {}
    if "tier" in frame.columns:
        elsewhere = frame.select(
            "pair", pl.col("tier").alias("other_tier"), pl.col("winner").alias("other_winner")
        )
        crossed = frame.join(elsewhere, on="pair").filter(pl.col("tier") != pl.col("other_tier"))
        for tier in frame["tier"].drop_nulls().unique(maintain_order=True):
            here = crossed.filter(pl.col("tier") == tier)
            opposite = here.filter(pl.col("winner") != pl.col("other_winner"))
            rows = frame.filter(pl.col("tier") == tier).height
            by_tier[tier] = (rows, here["item"].n_unique(), opposite["item"].n_unique())
    return Repeats(
        rows=frame.height,
        distinct=groups.height,
        repeated_rows=frame.height - groups.height,
        contradictory_pairs=groups.filter(pl.col("winners") > 1).height,
        by_tier=by_tier,
    )


COUNTINGS = 4
"""Ways of counting answers, of which the one that predicts best is taken."""


def occurrence_counts(pairs: AuditPairs) -> dict[str, Estimate]:
    """How well counting answers predicts gold, for all pairs and by tier.

    An answer is counted by the pairs of its person and prompt in which it occurs, and by the people to whom the same text was
    written, their names and what their profiles say taken out: a template. Either may give gold away, and so may more or fewer;
    whichever predicts best over the whole part is taken, since an audit asks what could be exploited.
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
        frame = frame.with_columns(
            credit(pl.col("chosen_uses"), pl.col("rejected_uses")).alias(f"more {name}"),
            credit(pl.col("rejected_uses"), pl.col("chosen_uses")).alias(f"fewer {name}"),
        )
    found: dict[str, Estimate] = {}
    for part, _ in pairs.parts:
        rows = frame if part == "all" else frame.filter(pl.col("tier") == part)
        scored = [accuracy(rows, f"{way} {name}") for name in countings for way in ("more", "fewer")]
        found[part] = max(scored, key=lambda estimate: estimate.value or 0.0)
    return found


def _templates(pairs: AuditPairs, side: str) -> list[str]:
    """The answers with what they take from the person's profile, digits and spacing left out."""

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
    """What every two splits share; tiers count as splits when the benchmark declares none, since people mix them up."""
    parts = (
        {name: pairs.frame.filter(pl.col("person").is_in(people)) for name, people in pairs.splits.items()}
        if pairs.splits
        else dict(pairs.parts[1:])
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
