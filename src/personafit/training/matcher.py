"""Fit a matcher on judgments of relevance: kernel ridge regression, a calibration, and the threshold of the best F1.

A matcher meets prompts it has not seen. So its calibration and its threshold come from scores of each training prompt
by a fit without that prompt. Fits without some of the pairs have a closed form in the inverse that the fit on all pairs
needs anyway, which is what makes cross-validation, with another such round inside each fold, a matter of seconds.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from personafit._hashing import hash_text
from personafit.models.embeddings import DEFAULT, make_embedder
from personafit.raters.fitted.kernel import Closeness, Floats, KernelSettings, Likeness, PairVectors, Rows
from personafit.raters.fitted.matcher import DIGITS, Matcher, probabilities
from personafit.statistics.detection import best_threshold
from personafit.training.relevance_data import JudgedPairs

_CALIBRATION_PENALTY = 1e-3
_CALIBRATION_STEPS = 50
_DIGITS = 8  # decimals kept of a weight: those after them depend on the threads of the machine


@dataclass(frozen=True)
class Fold:
    """A fit without some of the pairs."""

    base: float
    weights: Floats
    """One for each pair that was kept."""
    scores: Floats
    """Of the pairs left out, by the fit on those kept."""
    inner_scores: Floats
    """Of each kept pair, by a fit that did without its prompt as well."""
    threshold: float
    """The score from which on saying yes gives the best F1 by the inner scores; nan if nothing kept is relevant."""


@dataclass(frozen=True)
class SolvedPairs:
    """Labelled pairs with the inverse of their kernel; `closeness` is measured on all of them, without labels."""

    settings: KernelSettings
    pairs: PairVectors
    closeness: Closeness
    pair_closeness: Floats
    inverse: Floats
    relevant: NDArray[np.bool_]
    prompts: Sequence[str]

    def without(self, out: Rows) -> Fold:
        """The fit on all pairs but these, which is exactly what fitting anew on the others would give."""
        kept = np.setdiff1d(np.arange(len(self.pairs)), out)
        labels = self.relevant.astype(np.float64)
        base = float(labels[kept].mean())
        product = self.inverse @ (labels - base)
        cut = self.inverse[np.ix_(out, kept)]
        # By the formula for the inverse of a matrix without some of its rows and columns.
        block = self.inverse[np.ix_(out, out)]
        correction = np.linalg.solve(block, np.column_stack([product[out], cut])) if len(out) else cut[:, :0]
        weights = product[kept] - (cut.T @ correction[:, 0] if len(out) else 0.0)
        inner = np.empty(len(kept))
        for rows in rows_by([self.prompts[row] for row in kept]):
            part = self.inverse[np.ix_(kept[rows], kept[rows])]
            if len(out):
                part = part - cut[:, rows].T @ correction[:, 1 + rows]
            inner[rows] = labels[kept[rows]] - np.linalg.solve(part, weights[rows])
        scores = labels[out] - correction[:, 0] if len(out) else np.zeros(0)
        return Fold(base, weights, scores, inner, best_threshold(inner, self.relevant[kept]))


def solve_pairs(judged: JudgedPairs, pairs: PairVectors, settings: KernelSettings) -> SolvedPairs:
    """Invert the kernel of the pairs, the one costly step: its time grows with the cube of their number."""
    from scipy.linalg.lapack import dpotrf, dpotri

    closeness = Closeness.fit(pairs)
    pair_closeness = closeness.of(pairs)
    side = Likeness(pairs, pair_closeness)
    kernel = side.to(side, settings)
    kernel[np.diag_indices_from(kernel)] += settings.noise
    factor, _ = dpotrf(np.asfortranarray(kernel), lower=1, overwrite_a=1)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return SolvedPairs(settings, pairs, closeness, pair_closeness, inverse, judged.relevant, judged.prompts)


def fit_matcher(judged: JudgedPairs, solved: SolvedPairs) -> Matcher:
    """The matcher of all pairs; the default embedder made their vectors."""
    fit = solved.without(np.zeros(0, dtype=np.intp))
    calibration = calibrate(fit.inner_scores, judged.relevant)
    chance = float(probabilities(np.array([fit.threshold]), calibration)[0])
    return Matcher(
        settings=solved.settings,
        pairs=solved.pairs,
        closeness=solved.closeness,
        pair_closeness=solved.pair_closeness.round(_DIGITS),
        weights=fit.weights.round(_DIGITS),
        base=fit.base,
        calibration=calibration,
        threshold=math.floor(chance * 10**DIGITS) / 10**DIGITS,  # cut where scores are cut
        embedder=DEFAULT,
        embedder_fingerprint=make_embedder(DEFAULT).fingerprint,
        fitted_on=frozenset(hash_text(prompt) for prompt in judged.prompts),
        card={
            "pairs": len(judged),
            "relevant": int(judged.relevant.sum()),
            "prompts": len(set(judged.prompts)),
            "people": len(set(judged.people)),
        },
    )


def calibrate(scores: Floats, relevant: NDArray[np.bool_]) -> tuple[float, float]:
    """Slope and intercept that turn scores into log odds, by logistic regression with a touch of penalty."""
    inputs = np.stack([scores, np.ones(len(scores))], axis=1)
    weights = np.zeros(2)
    for _ in range(_CALIBRATION_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (relevant - chance) - _CALIBRATION_PENALTY * weights
        curve = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + _CALIBRATION_PENALTY * np.eye(2)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    # A negative slope would turn the order of the scores around; it only occurs where there is nothing to learn.
    return max(float(weights[0]), 1e-6), float(weights[1])


def rows_by(labels: Sequence[Hashable]) -> list[Rows]:
    """The rows of each label, in the order in which the labels first occur."""
    places: dict[Hashable, list[int]] = {}
    for row, label in enumerate(labels):
        places.setdefault(label, []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in places.values()]
