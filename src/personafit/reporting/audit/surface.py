"""How far surface features go when they are fitted: the score a reader without understanding could reach.

A logistic regression on differences of a few dozen features, cross-fitted by person, so that nobody's own labels are used on
them. Once without the profile (style alone) and once with overlaps added. Needs no scikit-learn: it is a small convex fit.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit

from personafit._hashing import draw
from personafit.reporting.audit.pairs import AuditPairs, accuracy
from personafit.reporting.audit.shortcuts import LEAD
from personafit.statistics import Estimate

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
