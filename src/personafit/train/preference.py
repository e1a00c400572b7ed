"""Fit a head on ratings from 1 to 5, and evaluate it on held-out prompts and people.

The control is the answers alone, without the attribute that the rating is about. Spearman measures whether the head ranks answers as people
do. Agreement between people bounds it, and is reported if individual votes are known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks.benchmark import Benchmark
from personafit.items.preference import GENERIC, PERSONAL
from personafit.items.reading import NOTHING, Unit
from personafit.models.embeddings import Embedder, make_embedder
from personafit.raters.fitted.head import CLOSER_TO_PROMPT, FEATURES, LONGER, PreferenceHead, pair_features
from personafit.raters.fitted.model import Floats, Rows
from personafit.statistics.agreement import spearman
from personafit.statistics.agreement_intervals import pair_agreement
from personafit.train.cards import (
    QualityMetric,
    Say,
    TrainedRater,
    by_place,
    card_table,
    make_folder,
    render_card,
    show_estimate,
    write_rater,
)
from personafit.train.cross_fitting import group_split

ALPHAS = (30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
FOLDS = 5
FEWEST = 20  # ratings; fewer are too few to fit on

PROMPTS, PEOPLE, BOTH = "prompts left out", "people left out", "prompts and people left out"
ALONE = "answers-alone"
SPEARMAN, GAIN = "spearman", "spearman_gain"
_VOTERS = {"human": "people", "simulated": "simulated raters", "gold": "the benchmark's authors"}


@dataclass(frozen=True)
class MarkedPairs:
    """Pairs with people's mean rating for each of their attributes."""

    features: Floats
    marks: Floats
    people: NDArray[Any]
    prompts: NDArray[Any]
    ceiling: float | None
    """Mean Spearman over pairs of individual raters; None if their votes are not known."""
    voters: str
    """Kind of raters that the ratings come from."""

    def __len__(self) -> int:
        return len(self.marks)


def load_marked(benchmark: Benchmark, embedder: Embedder) -> MarkedPairs:
    """Return the units of a preference benchmark that have a rating: people's votes, else simulated ones, else gold."""
    texts = {product.id: product.text for product in benchmark.products()}
    by_voter: dict[str, dict[tuple[str, str], dict[str, float]]] = {kind: {} for kind in _VOTERS}
    for row in benchmark.gold():
        if row.value is not None:
            units = by_voter.setdefault(str((row.extra or {}).get("voter") or "gold"), {})
            units.setdefault((row.item, row.target), {})[row.rater] = float(row.value)
    voters = next((kind for kind in _VOTERS if by_voter[kind]), "gold")
    votes = by_voter[voters]
    pairs: list[Unit] = []
    marks, people, prompts = [], [], []
    for item in benchmark.items():
        known = [one for one in dict.fromkeys(item.products[PERSONAL + 1 :]) if (item.id, one) in votes]
        answers = (texts[item.products[PERSONAL]], texts[item.products[GENERIC]])
        pairs += [Unit(texts[one], item.prompt, NOTHING, answers) for one in known]
        marks += [float(np.mean(list(votes[item.id, target].values()))) for target in known]
        people += [item.person] * len(known)
        prompts += [item.prompt] * len(known)
    if len(marks) < FEWEST:
        raise ValueError(f"{len(marks)} marks are too few to fit anything on; it takes {FEWEST}.")
    features, ceiling = pair_features(pairs, embedder), _ceiling(votes.values())
    return MarkedPairs(features, np.array(marks), np.array(people), np.array(prompts), ceiling, voters)


def _ceiling(votes: Iterable[dict[str, float]]) -> float | None:
    """Return the mean Spearman over pairs of individual raters."""
    rows = list(votes)
    raters = sorted({rater for row in rows for rater in row})
    table = np.array([[row.get(rater, np.nan) for rater in raters] for row in rows])
    found = [spearman(table[:, i], table[:, j]).value for i, j in combinations(range(len(raters)), 2)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if known else None


def fit_head(marked: MarkedPairs, embedder: str, rows: Rows | None = None) -> PreferenceHead:
    """Fit a ridge regression on standardised features; its strength is chosen by leave-one-out."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    chosen = np.arange(len(marked)) if rows is None else rows
    scaler = StandardScaler()
    model = RidgeCV(alphas=ALPHAS).fit(scaler.fit_transform(marked.features[chosen]), marked.marks[chosen])
    met = frozenset(hash_text(prompt) for prompt in marked.prompts[chosen].tolist())
    facts = {"marks": len(chosen), "voters": marked.voters, "ceiling_spearman": marked.ceiling}
    numbers = {"features": FEATURES, "embedder_fingerprint": embedder}
    found = (model.coef_, model.intercept_, scaler.mean_, scaler.scale_)
    arrays = dict(zip(PreferenceHead.array_names, map(np.asarray, found), strict=True))
    return PreferenceHead(numbers, arrays, facts, met)


def cross_fitted(marked: MarkedPairs, embedder: str, *groupings: NDArray[Any], seed: int = 0) -> Floats:
    """Return a rating for every unit by a head fitted without its group in any of the groupings."""
    marks = np.full(len(marked), np.nan)
    for train, test in group_split(*(_folds(groups.tolist(), seed) for groups in groupings)):
        if len(train):
            marks[test] = fit_head(marked, embedder, train).marks(marked.features[test])
    return marks


def _folds(groups: Sequence[str], seed: int) -> list[int]:
    """Return folds that do not depend on the order of the ratings, since figures on so few would."""
    names = sorted(set(groups), key=lambda name: hash_text("fold", str(seed), str(name)))
    fold = {name: place % FOLDS for place, name in enumerate(names)}
    return [fold[name] for name in groups]


def head_quality(marked: MarkedPairs, embedder: str, seed: int = 0) -> list[QualityMetric]:
    """Estimate the Spearman of the head and of the answers alone with the ratings, and their difference."""
    figures: list[QualityMetric] = []
    alone = replace(marked, features=marked.features[:, [CLOSER_TO_PROMPT, LONGER]])
    for split, groupings in (
        (PROMPTS, [marked.prompts]),
        (PEOPLE, [marked.people]),
        (BOTH, [marked.prompts, marked.people]),
    ):
        said, without = (cross_fitted(one, embedder, *groupings, seed=seed) for one in (marked, alone))
        columns = np.column_stack([said, without, marked.marks])
        ranks = pair_agreement(columns, marked.people, marked.prompts, "spearman")
        own, control = ranks.pairs.index((0, 2)), ranks.pairs.index((1, 2))
        figures += [
            QualityMetric(SPEARMAN, split, ranks.interval(own)),
            QualityMetric(SPEARMAN, split, ranks.interval(control), ALONE),
            QualityMetric(GAIN, split, ranks.difference(own, control)),
        ]
    return figures


def card(head: PreferenceHead, marked: MarkedPairs, figures: Sequence[QualityMetric], source: str) -> str:
    """Render the card: what the head is, how it was fitted, and its held-out figures."""
    found = by_place(figures)
    rows = [
        (
            split,
            f"{found[split, None, SPEARMAN].n:,}",
            found[split, None, SPEARMAN],
            found[split, ALONE, SPEARMAN],
            show_estimate(found[split, None, GAIN], "+.2f"),
        )
        for split in (PROMPTS, PEOPLE, BOTH)
    ]
    return render_card(
        "preference",
        head=head,
        marked=marked,
        source=source,
        people=len(set(marked.people.tolist())),
        prompts=len(set(marked.prompts.tolist())),
        voters=_VOTERS.get(marked.voters, marked.voters),
        spearman=card_table(("", "marks", "head", "answers alone", "gain, paired"), rows, ".2f"),
    )


def train_preference(data: Path, out: Path, seed: int, say: Say) -> TrainedRater:
    """Fit a rater of preferences from 1 to 5, cross-validate it by prompt and person, and write it."""
    from personafit.benchmarks.responses import open_responses

    embedder, benchmark = make_embedder(), open_responses(data)
    try:
        marked = load_marked(benchmark, embedder)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    make_folder(out)
    say(f"Fitting on {len(marked):,} marks of {len(set(marked.people.tolist())):,} people ...")
    figures = head_quality(marked, embedder.fingerprint, seed)
    head = fit_head(marked, embedder.fingerprint)
    source = benchmark.info.name
    return write_rater(out, head, figures, card(head, marked, figures, source), source)
