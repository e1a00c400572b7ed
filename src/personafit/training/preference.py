"""Fitting a head on marks from 1 to 5, and what it is worth on prompts and people left out, beside what explains its score more cheaply.

The answers alone, without the attribute the mark is about, are the control to beat; rules that nothing was fitted for, and always
saying the mean mark, stand below. Spearman says whether it puts answers in people's order, the mean error how far its marks are off.
People's own agreement bounds what can be reached; where single votes are known it stands beside.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark
from personafit.items.preference import GENERIC, PERSONAL
from personafit.items.reading import NOTHING, Unit
from personafit.models.embeddings import Embedder
from personafit.raters.fitted.head import (
    CLOSER_TO_ATTRIBUTE,
    CLOSER_TO_PROMPT,
    LONGER,
    NAMED,
    PreferenceHead,
    pair_features,
)
from personafit.raters.fitted.model import Floats, Rows
from personafit.statistics import Estimate, cluster_mean, prompts_recur
from personafit.statistics.agreement import spearman
from personafit.statistics.agreement_intervals import PairAgreement, pair_agreement
from personafit.training.cards import QualityMetric, card_table, show_estimate
from personafit.training.cross_fitting import group_split

ALPHAS = (30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
FOLDS = 5
FEWEST = 20  # marks; below this a fit says nothing

PROMPTS, PEOPLE, BOTH = "prompts left out", "people left out", "prompts and people left out"
ALONE, MEAN_MARK = "answers-alone", "mean-mark"
RULES = {"named": NAMED, "length": LONGER, "closeness": CLOSER_TO_ATTRIBUTE}
ALL = "all marks"  # where nothing is fitted there is nothing to leave out
SPEARMAN, GAIN, ERROR = "spearman", "spearman_gain", "mean_error"
PUBLISHED_CEILING = ".325"
_ROWS = {None: "head", ALONE: "answers alone", MEAN_MARK: "always the mean mark"}
_RULE_NAMES = {
    "named": "the answer names the attribute",
    "length": "how much longer the personalized answer is",
    "closeness": "how much closer it is to the attribute (cosine)",
}
_VOTERS = {"human": "people", "simulated": "simulated raters", "gold": "the benchmark's authors"}
_SPLITS = (PROMPTS, PEOPLE, BOTH)


@dataclass(frozen=True)
class MarkedPairs:
    """Pairs with people's mean mark for each of their attributes."""

    features: Floats
    marks: Floats
    people: NDArray[Any]
    prompts: NDArray[Any]
    ceiling: float | None
    """Mean Spearman over pairs of single raters; None where their votes are not known."""
    voters: str
    """Whose marks they are."""

    def __len__(self) -> int:
        return len(self.marks)


def load_marked(benchmark: Benchmark, embedder: Embedder) -> MarkedPairs:
    """The units of a benchmark of preferences that have a mark: people's votes, else simulated ones, else gold."""
    texts = {product.id: product.text for product in benchmark.products()}
    by_voter: dict[str, dict[tuple[str, str], dict[str, float]]] = {}
    for row in benchmark.gold():
        voter = str((row.extra or {}).get("voter") or "gold")
        if row.value is not None:
            by_voter.setdefault(voter, {}).setdefault((row.item, row.target), {})[row.rater] = float(
                row.value
            )
    voters = next((kind for kind in ("human", "simulated", "gold") if by_voter.get(kind)), "gold")
    said = by_voter.get(voters, {})
    pairs: list[Unit] = []
    marks, people, prompts = [], [], []
    for item in benchmark.items():
        known = [one for one in dict.fromkeys(item.products[PERSONAL + 1 :]) if (item.id, one) in said]
        answers = (texts[item.products[PERSONAL]], texts[item.products[GENERIC]])
        pairs += [Unit(texts[one], item.prompt, NOTHING, answers) for one in known]
        marks += [float(np.mean(list(said[item.id, target].values()))) for target in known]
        people += [item.person] * len(known)
        prompts += [item.prompt] * len(known)
    if len(marks) < FEWEST:
        raise ValueError(f"{len(marks)} marks are too few to fit anything on; it takes {FEWEST}.")
    features = pair_features(pairs, embedder)
    return MarkedPairs(
        features, np.array(marks), np.array(people), np.array(prompts), _ceiling(said.values()), voters
    )


def _ceiling(units: Any) -> float | None:
    rows = list(units)
    raters = sorted({rater for row in rows for rater in row})
    table = np.array([[row.get(rater, np.nan) for rater in raters] for row in rows])
    found = [spearman(table[:, i], table[:, j]).value for i, j in combinations(range(len(raters)), 2)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None


def fit_head(marked: MarkedPairs, embedder: str, rows: Rows | None = None) -> PreferenceHead:
    """A ridge regression on standardised features; how strong is chosen by leaving single marks out."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    chosen = np.arange(len(marked)) if rows is None else rows
    scaler = StandardScaler()
    model = RidgeCV(alphas=ALPHAS).fit(scaler.fit_transform(marked.features[chosen]), marked.marks[chosen])
    met = frozenset(hash_text(prompt) for prompt in marked.prompts[chosen].tolist())
    facts = {"marks": len(chosen), "voters": marked.voters, "ceiling_spearman": marked.ceiling}
    weights, intercept = np.asarray(model.coef_), float(model.intercept_)
    return PreferenceHead(
        weights, intercept, scaler.mean_, scaler.scale_, embedder, fitted_on=met, card=facts
    )


def cross_fitted(marked: MarkedPairs, embedder: str, *groupings: NDArray[Any], seed: int = 0) -> Floats:
    """A mark for every unit by a head that saw nothing of its group, nor of its group in any further grouping."""
    marks = np.full(len(marked), np.nan)
    for train, test in group_split(*(_folds(groups.tolist(), seed) for groups in groupings)):
        if len(train):
            marks[test] = fit_head(marked, embedder, train).marks(marked.features[test])
    return marks


def _folds(groups: Sequence[str], seed: int) -> list[int]:
    """Folds that do not depend on the order of the marks: there are so few that figures would."""
    names = sorted(set(groups), key=lambda name: hash_text("fold", str(seed), str(name)))
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    return [fold[name] for name in groups]


def head_quality(marked: MarkedPairs, embedder: str, seed: int = 0) -> list[QualityMetric]:
    """Spearman with the marks and the mean distance from them, of the head and of its controls."""
    figures: list[QualityMetric] = []
    alone = replace(marked, features=marked.features[:, [CLOSER_TO_PROMPT, LONGER]])
    nothing = replace(marked, features=np.zeros((len(marked), 1)))
    for split, groupings in (
        (PROMPTS, [marked.prompts]),
        (PEOPLE, [marked.people]),
        (BOTH, [marked.prompts, marked.people]),
    ):
        said = cross_fitted(marked, embedder, *groupings, seed=seed)
        without = cross_fitted(alone, embedder, *groupings, seed=seed)
        mean = cross_fitted(nothing, embedder, *groupings, seed=seed)
        figures += _ranked(marked, split, said, without)
        for control, marks in ((None, said), (ALONE, without), (MEAN_MARK, mean)):
            figures.append(QualityMetric(ERROR, split, _error(marked, marks), control))
    for name, place in RULES.items():
        figures.append(
            QualityMetric(SPEARMAN, ALL, _ranks(marked, marked.features[:, place]).interval(0), name)
        )
    return figures


def _ranked(marked: MarkedPairs, split: str, said: Floats, without: Floats) -> Iterator[QualityMetric]:
    """Spearman of the head and of the answers alone, and what the head gains, on the same marks."""
    ranks = _ranks(marked, said, without)
    head, alone = ranks.pairs.index((0, 2)), ranks.pairs.index((1, 2))
    yield QualityMetric(SPEARMAN, split, ranks.interval(head))
    yield QualityMetric(SPEARMAN, split, ranks.interval(alone), ALONE)
    yield QualityMetric(GAIN, split, ranks.difference(head, alone))


def _ranks(marked: MarkedPairs, *columns: Floats) -> PairAgreement:
    return pair_agreement(
        np.column_stack([*columns, marked.marks]), marked.people, marked.prompts, "spearman"
    )


def _error(marked: MarkedPairs, marks: Floats) -> Estimate:
    known = np.isfinite(marks)
    people, prompts = marked.people[known], marked.prompts[known]
    return cluster_mean(
        np.abs(marks - marked.marks)[known],
        people,
        prompts if known.any() and prompts_recur(people, prompts) else None,
        bounds=(0.0, 4.0),
    )


def card(head: PreferenceHead, marked: MarkedPairs, figures: Sequence[QualityMetric], source: str) -> str:
    """What the head is, how it was fitted and what it is worth."""
    found = {
        (figure.metric, figure.split, figure.control): show_estimate(
            figure.estimate, "+.2f" if figure.metric == GAIN else ".2f"
        )
        for figure in figures
    }
    people, prompts = (len(set(groups.tolist())) for groups in (marked.people, marked.prompts))
    beside = (
        "Single votes are not known here, so there is no ceiling to hold it against"
        if marked.ceiling is None
        else f"Single raters correlate with each other at {marked.ceiling:.2f}, which bounds what can be reached"
    )
    lines = [
        "# A fitted head on marks",
        "",
        f"Fitted on {len(marked):,} marks from 1 (the generic answer is better) to 5 (the personalized one) from {source}: "
        f"{prompts:,} prompts, {people:,} people, marks of {_VOTERS.get(marked.voters, marked.voters)}. It sees the prompt, "
        "both answers and one attribute at a time.",
        "",
        f"A ridge regression on embeddings, on length and on mention. Fingerprint `{head.fingerprint}`.",
        "",
        f"{beside}; published for people (Re-Centering Humans): {PUBLISHED_CEILING}.",
        "",
        "Cross-fitted in five folds: every mark is by a head that saw nothing of its prompt, of its person, or of both. 95 % "
        "intervals are over people.",
        "",
        "## Spearman with the marks",
        "",
        *_table(found, SPEARMAN, (None, ALONE)),
        "",
        *(
            f"Spearman gained over the answers alone, paired, {split}: {found[GAIN, split, None]}."
            for split in _SPLITS
        ),
        *_uncovered(figures, len(marked)),
        "",
        "## Mean error in points",
        "",
        *_table(found, ERROR, (None, ALONE, MEAN_MARK)),
        "",
        "The nearer to 0 the better; who says the mean mark every time is what there is to beat.",
        "",
        "## Rules that nothing was fitted for",
        "",
        *card_table(("", "Spearman"), [(_RULE_NAMES[name], found[SPEARMAN, ALL, name]) for name in RULES]),
        "",
        "It may have learnt that naming an attribute or writing more is liked, and nothing about the person; the rules show how far "
        "that goes. Attributes of a person recur with other prompts, so only the last column above is about people and "
        "prompts not met before.",
    ]
    if marked.voters == "simulated":
        lines += [
            "",
            "The marks are simulated: the figures show that fitting works and say nothing about people.",
        ]
    return "\n".join(lines) + "\n"


def _table(
    found: dict[tuple[str, str, str | None], str], metric: str, rows: Sequence[str | None]
) -> list[str]:
    return card_table(
        ("", *_SPLITS),
        [(_ROWS[control], *(found[metric, split, control] for split in _SPLITS)) for control in rows],
    )


def _uncovered(figures: Sequence[QualityMetric], marks: int) -> list[str]:
    """Splits that leave nobody to be fitted on for some marks."""
    return [
        f"{figure.split.capitalize()}: only {figure.estimate.n:,} of {marks:,} marks had others left to be fitted on."
        for figure in figures
        if (figure.metric, figure.control) == (SPEARMAN, None) and figure.estimate.n < marks
    ]
