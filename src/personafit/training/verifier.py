"""Fit a verifier on labelled statements: a penalised logistic regression, and two thresholds.

A verifier meets people it has not seen. So its penalty and its thresholds come from scores of each training person's
statements by fits without that person: `suspect` is where F-beta with beta 2 is best (a false statement that slips through
weighs four times a true one that is looked at again), `reject` is where agreement beyond chance is.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from personafit.benchmarks.statements import Statements, turns_of
from personafit.models.embeddings import DEFAULT, Embedder
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.verifier import MODES, Verifier, VerifierWeights, statement_features
from personafit.statistics.detection import best_threshold
from personafit.training.cross_fitting import Bools, Split, fit_logistic, group_split, rows_by

BETA = 2.0
LOOSENESS = (0.01, 0.03, 0.1)  # of the weights: the inverse of the penalty
_DIGITS = 6
_MODE_LOOSENESS = 0.03


@dataclass(frozen=True)
class VerifierFit:
    """A linear fit with thresholds chosen on people left out one by one."""

    weights: VerifierWeights
    suspect: float
    reject: float

    def chances(self, rows: Floats) -> Floats:
        """Probabilities of rows of features."""
        return _chances(self.weights, rows)


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
    split = group_split(people)
    found = {looseness: _left_out(rows, problematic, looseness, split) for looseness in LOOSENESS}

    def loss(looseness: float) -> float:
        chance = np.clip(found[looseness], 1e-6, 1 - 1e-6)
        return -float(np.where(problematic, np.log(chance), np.log(1 - chance)).mean())

    best = min(LOOSENESS, key=loss)
    suspect = best_threshold(found[best], problematic, BETA)
    reject = max(suspect, _most_agreement(found[best], problematic))
    return VerifierFit(_logistic(rows, problematic, best), suspect, reject)


def _left_out(rows: Floats, truth: Bools, looseness: float, split: Split) -> Floats:
    """Probabilities of people's statements by fits without them."""
    chances = np.zeros(len(rows))
    for train, test in split:
        chances[test] = _chances(_logistic(rows[train], truth[train], looseness), rows[test])
    return chances


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
    return {mode: _logistic(rows[wrong], names[wrong] == mode, _MODE_LOOSENESS) for mode in MODES}


def _logistic(rows: Floats, truth: Bools, looseness: float) -> VerifierWeights:
    """Logistic regression on standardised features; of no rows nothing is learnt."""
    if not len(rows):
        width = rows.shape[1]
        return VerifierWeights((0.0,) * width, (1.0,) * width, (0.0,) * width, 0.0)
    means, scales = rows.mean(axis=0), rows.std(axis=0)
    scales = np.where(scales > 1e-9, scales, 1.0)
    weights, bias = fit_logistic((rows - means) / scales, truth, 1 / looseness)
    return VerifierWeights(tuple(means.tolist()), tuple(scales.tolist()), tuple(weights.tolist()), bias)


def _chances(weights: VerifierWeights, rows: Floats) -> Floats:
    chances: Floats = 1 / (1 + np.exp(-np.clip(weights.of(rows), -30, 30)))
    return chances


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
