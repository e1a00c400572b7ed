"""Fitting a head on marks from 1 to 5, once on all of them or leaving groups of them out in turn.

People's own agreement bounds what can be reached; where single votes are known it stands beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark
from personafit.items.preference import GENERIC, PERSONAL
from personafit.items.reading import NOTHING, Unit
from personafit.models.embeddings import Embedder
from personafit.raters.fitted.head import Floats, PreferenceHead, pair_features
from personafit.statistics.agreement import spearman

ALPHAS = (30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
FOLDS = 5
FEWEST = 20  # marks; below this a fit says nothing


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


def fit_head(marked: MarkedPairs, embedder: str, rows: NDArray[np.bool_] | None = None) -> PreferenceHead:
    """A ridge regression on standardised features; how strong is chosen by leaving single marks out."""
    from sklearn.linear_model import RidgeCV

    chosen = np.ones(len(marked), dtype=bool) if rows is None else rows
    features, marks = marked.features[chosen], marked.marks[chosen]
    middle, spread = features.mean(0), features.std(0)
    spread = np.where(spread > 0, spread, 1.0)
    model = RidgeCV(alphas=ALPHAS).fit((features - middle) / spread, marks)
    met = frozenset(hash_text(prompt) for prompt in marked.prompts[chosen].tolist())
    return PreferenceHead(
        np.asarray(model.coef_), float(model.intercept_), middle, spread, embedder, fitted_on=met
    )


def cross_fitted(marked: MarkedPairs, embedder: str, *groupings: NDArray[Any], seed: int = 0) -> Floats:
    """A mark for every unit by a head that saw nothing of its group, nor of its group in any further grouping."""
    places = np.column_stack([_folds(groups, seed) for groups in groupings])
    marks = np.full(len(marked), np.nan)
    for place in np.unique(places, axis=0):
        left_out, others = (places == place).all(1), (places != place).all(1)
        if others.any():
            marks[left_out] = fit_head(marked, embedder, others).marks(marked.features[left_out])
    return marks


def _folds(groups: NDArray[Any], seed: int) -> NDArray[np.intp]:
    names: Sequence[str] = sorted(
        set(groups.tolist()), key=lambda name: hash_text("fold", str(seed), str(name))
    )
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    return np.array([fold[name] for name in groups.tolist()])
