"""Fit a verifier on labelled statements: a penalised logistic regression, and two thresholds.

A verifier meets people it has not seen. So its penalty and its thresholds come from scores of each training person's
statements by fits without that person: `suspect` is where F-beta with beta 2 is best (a false statement that slips through
weighs four times a true one that is looked at again), `reject` is where agreement beyond chance is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit.benchmarks.statements import Statements, turns_of
from personafit.models.embeddings import DEFAULT, Embedder
from personafit.raters.fitted.verifier import MODES, Verifier, VerifierWeights
from personafit.raters.fitted.verifier_features import Floats, statement_features
from personafit.statistics.detection import best_threshold
from personafit.training.matcher import rows_by

BETA = 2.0
PENALTIES = (0.01, 0.03, 0.1)  # how loose the weights are: the inverse of the penalty
_DIGITS = 6
_MODE_PENALTY = 0.03
_STEPS = 50

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class VerifierFit:
    """A linear fit with thresholds chosen on people left out one by one."""

    weights: VerifierWeights
    suspect: float
    reject: float

    def chances(self, rows: Floats) -> Floats:
        """Probabilities of rows of features."""
        chances: Floats = 1 / (1 + np.exp(-np.clip(self.weights.of(rows), -30, 30)))
        return chances


def feature_rows(statements: Statements, embedder: Embedder) -> Floats:
    """The features of every statement beside its conversation."""
    found: Floats | None = None
    for places in rows_by(statements.of):
        turns = turns_of(statements.conversations[statements.of[places[0]]])
        part = statement_features(turns, [statements.texts[place] for place in places], embedder)
        found = np.zeros((len(statements), part.shape[1])) if found is None else found
        found[places] = part
    assert found is not None  # there are statements: loading checks it
    return found


def fit_linear(rows: Floats, problematic: Bools, people: Sequence[str]) -> VerifierFit:
    """Fit on all rows; penalty and thresholds come from people left out one by one."""
    groups = rows_by(people)
    best: tuple[float, float, Floats] | None = None
    for penalty in PENALTIES:
        scores = np.zeros(len(rows))
        for out in groups:
            kept = np.setdiff1d(np.arange(len(rows)), out)
            if problematic[kept].all() or not problematic[kept].any():
                scores[out] = float(problematic[kept].mean())
                continue
            values = _logistic(rows[kept], problematic[kept], penalty).of(rows[out])
            scores[out] = 1 / (1 + np.exp(-np.clip(values, -30, 30)))
        chance = np.clip(scores, 1e-6, 1 - 1e-6)
        loss = -float(np.where(problematic, np.log(chance), np.log(1 - chance)).mean())
        if best is None or loss < best[0]:
            best = (loss, penalty, scores)
    assert best is not None
    _, penalty, scores = best
    suspect = best_threshold(scores, problematic, BETA)
    reject = max(suspect, _most_agreement(scores, problematic))
    return VerifierFit(_logistic(rows, problematic, penalty), suspect, reject)


def fit_verifier(statements: Statements, rows: Floats, embedder: Embedder, card: dict[str, Any]) -> Verifier:
    """The verifier of all statements; the default embedder made their rows."""
    fitted = fit_linear(rows, statements.problematic, statements.people)
    return Verifier(
        problem=_rounded(fitted.weights),
        modes={mode: _rounded(one) for mode, one in fit_modes(rows, statements.modes).items()},
        suspect=round(fitted.suspect, _DIGITS),
        reject=round(fitted.reject, _DIGITS),
        embedder=DEFAULT,
        embedder_fingerprint=embedder.fingerprint,
        card=card,
    )


def fit_modes(rows: Floats, modes: Sequence[str]) -> dict[str, VerifierWeights]:
    """One linear function for each way to be wrong, fitted on what is; a way that does not occur never wins."""
    names = np.array(modes)
    wrong = names != ""
    found = {}
    for mode in MODES:
        here = names[wrong] == mode
        if here.all() or not here.any():
            width = rows.shape[1]
            bias = 0.0 if here.all() else -30.0
            found[mode] = VerifierWeights((0.0,) * width, (1.0,) * width, (0.0,) * width, bias)
        else:
            found[mode] = _logistic(rows[wrong], here, _MODE_PENALTY)
    return found


def _logistic(rows: Floats, truth: Bools, penalty: float) -> VerifierWeights:
    """Logistic regression with a penalty on all weights but the bias, by Newton's steps: there are hundreds of fits to make."""
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    inputs = np.hstack([(rows - means) / scales, np.ones((len(rows), 1))])
    ridge = np.full(inputs.shape[1], 1 / penalty)
    ridge[-1] = 1e-9
    weights = np.zeros(inputs.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (truth - chance) - ridge * weights
        curve = (inputs * (chance * (1 - chance))[:, None]).T @ inputs + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return VerifierWeights(
        tuple(means.tolist()), tuple(scales.tolist()), tuple(weights[:-1].tolist()), float(weights[-1])
    )


def _rounded(weights: VerifierWeights) -> VerifierWeights:
    def short(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(round(value, _DIGITS) for value in values)

    scales = tuple(max(value, 10.0**-_DIGITS) for value in short(weights.scales))
    return VerifierWeights(short(weights.means), scales, short(weights.weights), round(weights.bias, _DIGITS))


def _most_agreement(scores: Floats, truth: Bools) -> float:
    """The score from which on flagging agrees best with people beyond chance (Cohen's kappa)."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    taken, wanted, count = np.arange(1, len(scores) + 1), int(truth.sum()), len(scores)
    agreed = (hits + (count - taken) - (wanted - hits)) / count
    chance = (taken * wanted + (count - taken) * (count - wanted)) / count**2
    kappa = (agreed - chance) / np.maximum(1 - chance, 1e-12)
    ends = np.append(ranked[:-1] != ranked[1:], True)
    return float(ranked[ends][np.argmax(kappa[ends])])
