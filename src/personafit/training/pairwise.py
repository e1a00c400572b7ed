"""Fit a pairwise rater on human choices, with every choice about the fit made on people left out.

No person is ever on both sides of a split: people are dealt into folds, then their pairs follow.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from personafit.raters.fitted.pairwise import (
    GRAM_DIGITS,
    Floats,
    PairwiseModel,
    answer_grams,
    bounded_forms,
    gram_value,
    pair_difference,
)
from personafit.raters.fitted.pairwise_features import answer_features
from personafit.raters.fitted.profiles import Facets, profile_of
from personafit.raters.fitted.rater import fitted_mark

SURFACE_PENALTIES = (400.0, 200.0, 100.0, 50.0, 25.0)
GRAM_PENALTIES = (800.0, 400.0, 200.0, 100.0, 50.0)
INNER_FOLDS = 5
_LEAST_SHARE = 0.03  # grams in a smaller share of the answers say more about the topic than about the fit
_CALIBRATION_PENALTY = 0.001
_DIGITS = 6  # significant digits kept of a weight, for a file a person can read


@dataclass(frozen=True)
class PreferencePair:
    """Two answers to a person's question and which of them people chose; `tier` is for reports only, never an input."""

    person: str
    facets: Facets
    question: str
    chosen: str
    rejected: str
    tier: str = ""


class _Member(NamedTuple):
    """One linear part of the model and the penalties to choose from, strongest first."""

    inputs: Any  # dense or scipy sparse, one row per pair, chosen minus rejected
    penalties: tuple[float, ...]


@dataclass(frozen=True)
class _Fitted:
    model: PairwiseModel
    penalties: tuple[float, float]


def fit_pairwise(choices: Sequence[PreferencePair], *, seed: int = 0) -> PairwiseModel:
    """Fit on all choices; penalties and calibration come from folds by person inside them."""
    _check(choices)
    fitted = _fit(_Table(choices), np.arange(len(choices)), [c.person for c in choices], seed)
    tiers = Counter(choice.tier for choice in choices if choice.tier)
    card: dict[str, Any] = {
        "pairs": len(choices),
        "people": len({choice.person for choice in choices}),
        "tiers": dict(sorted(tiers.items())),
        "penalties": {"surface": fitted.penalties[0], "grams": fitted.penalties[1]},
        "seed": seed,
    }
    # So that a run can say when a rater meets the people it was fitted on.
    met = frozenset(fitted_mark(choice.person) for choice in choices)
    return replace(fitted.model, card=card, fitted_on=met)


def cross_fit(
    choices: Sequence[PreferencePair],
    *,
    folds: int = 10,
    seed: int = 0,
    groups: Sequence[Hashable] | None = None,
) -> Floats:
    """The margin of each choice under a model that saw nobody of its fold; above 0 the chosen answer wins.

    `groups` splits by something else than the person, such as the question, in the outer and the inner folds.
    """
    _check(choices)
    owners: Sequence[Hashable] = [choice.person for choice in choices] if groups is None else groups
    if len(owners) != len(choices):
        raise ValueError(f"There are {len(choices)} choices but {len(owners)} groups.")
    fold_of = deal_folds(owners, folds, seed)
    table = _Table(choices)
    margins = np.zeros(len(choices))
    for fold in range(int(fold_of.max()) + 1):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        model = _fit(table, train, owners, seed).model
        rows = [choices[row] for row in test.tolist()]
        margins[test] = model.margins((c.facets, c.question, c.chosen, c.rejected) for c in rows)
    return margins


def deal_folds(owners: Sequence[Hashable], folds: int, seed: int) -> NDArray[np.int64]:
    """A fold for every row such that all rows of an owner share it; fewer folds where owners are few."""
    distinct = list(dict.fromkeys(owners))
    if len(distinct) < 2 or folds < 2:
        raise ValueError(f"A split needs at least 2 people and 2 folds, not {len(distinct)} and {folds}.")
    order = np.random.default_rng(seed).permutation(len(distinct))
    fold_of = {distinct[int(owner)]: place % folds for place, owner in enumerate(order)}
    return np.array([fold_of[owner] for owner in owners], dtype=np.int64)


class _Table:
    """What does not depend on the split: feature differences and the grams of every answer."""

    def __init__(self, choices: Sequence[PreferencePair]) -> None:
        self.names = tuple(answer_features(profile_of({}), "", ""))
        self.differences = np.array(
            [pair_difference(self.names, c.facets, c.question, c.chosen, c.rejected) for c in choices]
        )
        self.grams = [(answer_grams(choice.chosen), answer_grams(choice.rejected)) for choice in choices]

    def vocabulary(self, rows: NDArray[np.int64]) -> list[str]:
        counts = Counter(gram for row in rows for grams in self.grams[row] for gram in grams)
        least = max(2.0, _LEAST_SHARE * 2 * len(rows))
        return sorted(gram for gram, count in counts.items() if count >= least and _writable(gram))

    def gram_differences(self, rows: NDArray[np.int64], vocabulary: Sequence[str]) -> Any:
        from scipy.sparse import csr_matrix

        column = {gram: place for place, gram in enumerate(vocabulary)}
        values: list[float] = []
        places: list[tuple[int, int]] = []
        for place, row in enumerate(rows):
            for sign, grams in zip((1.0, -1.0), self.grams[row], strict=True):
                known = [column[gram] for gram in grams if gram in column]
                values += [sign * gram_value(grams)] * len(known)
                places += [(place, gram) for gram in known]
        shape = (len(rows), len(vocabulary))
        return csr_matrix((values, np.array(places).reshape(-1, 2).T), shape=shape)


def _fit(table: _Table, rows: NDArray[np.int64], owners: Sequence[Hashable], seed: int) -> _Fitted:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):  # threads that share out such small steps mostly wait for each other
        return _fit_both(table, rows, owners, seed)


def _fit_both(table: _Table, rows: NDArray[np.int64], owners: Sequence[Hashable], seed: int) -> _Fitted:
    differences = table.differences[rows]
    scales = np.sqrt((differences**2).mean(axis=0))
    # A feature that never differs gets no say rather than a division by nothing.
    scales[scales < 1e-9] = 1.0
    vocabulary = table.vocabulary(rows)
    members = (
        _Member(bounded_forms(differences, scales), SURFACE_PENALTIES),
        _Member(table.gram_differences(rows, vocabulary), GRAM_PENALTIES),
    )
    row_owners = [owners[row] for row in rows.tolist()]
    fold_of = deal_folds(row_owners, INNER_FOLDS, seed + 1)
    surface_scores, gram_scores = (_left_out_scores(member, fold_of) for member in members)
    penalties, blend = _choose(surface_scores, gram_scores, row_owners)
    surface, grams = (
        _fit_weights(member.inputs, penalty) for member, penalty in zip(members, penalties, strict=True)
    )
    half = len(table.names)
    model = PairwiseModel(
        feature_names=table.names,
        scales=_rounded(scales),
        soft_weights=_rounded(surface[:half]),
        sharp_weights=_rounded(surface[half:]),
        gram_weights=dict(zip(vocabulary, _in_steps(grams), strict=True)),
        blend=(_rounded(blend)[0], _rounded(blend)[1]),
    )
    return _Fitted(model, penalties)


def _left_out_scores(member: _Member, fold_of: NDArray[np.int64]) -> dict[float, Floats]:
    """For each penalty, the scores of people by a member fitted without them."""
    scores = {penalty: np.zeros(len(fold_of)) for penalty in member.penalties}
    for fold in range(int(fold_of.max()) + 1):
        train, test = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        weights: Floats | None = None
        for penalty in member.penalties:
            weights = _fit_weights(member.inputs[train], penalty, weights)
            scores[penalty][test] = member.inputs[test] @ weights
    return scores


def _choose(
    surface: dict[float, Floats], grams: dict[float, Floats], owners: Sequence[Hashable]
) -> tuple[tuple[float, float], Floats]:
    """The strongest penalties that are not clearly worse than the best on people left out, and their calibration.

    "Not clearly" is one standard error over people of the difference in log loss: the best of many candidates is
    partly luck, and the stronger penalty carries over better to people not seen.
    """
    blends: dict[tuple[float, float], Floats] = {}
    losses: dict[tuple[float, float], Floats] = {}
    for penalties in product(surface, grams):
        scores = np.stack([surface[penalties[0]], grams[penalties[1]]], axis=1)
        # A member must not be weighed negatively: that would reward what it holds against an answer.
        blends[penalties] = _fit_weights(scores, _CALIBRATION_PENALTY, lowest=0.0)
        losses[penalties] = np.logaddexp(0, -scores @ blends[penalties])
    best = min(losses, key=lambda penalties: float(losses[penalties].mean()))
    place = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
    owner_of = np.array([place[owner] for owner in owners])
    for penalties in sorted(losses, key=lambda candidate: -candidate[0] * candidate[1]):
        excess = losses[penalties] - losses[best]
        by_owner = np.bincount(owner_of, weights=excess - excess.mean())
        if excess.mean() <= np.sqrt((by_owner**2).sum()) / len(excess):
            break
    return penalties, blends[penalties]


def _fit_weights(
    inputs: Any, penalty: float, start: Floats | None = None, lowest: float | None = None
) -> Floats:
    """Logistic regression without an intercept, which is what makes the margin antisymmetric."""
    from scipy.optimize import minimize

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = inputs @ weights
        wrong = np.exp(-np.logaddexp(0, margins))
        value = np.logaddexp(0, -margins).sum() + penalty / 2 * (weights @ weights)
        return float(value), penalty * weights - inputs.T @ wrong

    first = np.zeros(inputs.shape[1]) if start is None else start
    bounds = None if lowest is None else [(lowest, None)] * len(first)
    options = {"maxiter": 300, "ftol": 1e-8, "gtol": 1e-3}
    result = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    weights: Floats = np.asarray(result.x, dtype=np.float64)
    return weights


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{value:.{_DIGITS}g}") for value in values)


def _in_steps(weights: Floats) -> tuple[float, ...]:
    return tuple(round(float(weight), GRAM_DIGITS) for weight in weights)


def _writable(gram: str) -> bool:
    """Whether the gram can stand in a UTF-8 file: half of a broken surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in gram)


def _check(choices: Sequence[PreferencePair]) -> None:
    if not choices:
        raise ValueError("There are no choices to fit on.")
    for number, choice in enumerate(choices, 1):
        for what in ("person", "question", "chosen", "rejected"):
            text = getattr(choice, what)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"Choice {number}: its {what} must be a text that is not empty, not {text!r:.80}."
                )
        if choice.chosen == choice.rejected:
            raise ValueError(f"Choice {number}: the chosen and the rejected answer are the same text.")
    if (people := len({choice.person for choice in choices})) < 4:
        raise ValueError(f"Fitting splits by person twice and needs at least 4 people; there are {people}.")
