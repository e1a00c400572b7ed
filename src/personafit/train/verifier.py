"""Fit a verifier on labelled statements: a penalised logistic regression with two thresholds, evaluated on held-out people.

A verifier is applied to people it has not seen, so its penalty and its thresholds come from scores of each training person's statements by
fits without that person: `suspect` maximises F-beta with beta 2 (a missed false statement costs four times as much as a true one reviewed
again), `reject` maximises Cohen's kappa.

For evaluation every person is held out in turn. The control is the statement alone, which uses its words and their embedding but not the
conversation: whatever it detects are artefacts of how the labels were written. The rule verifier of `personafit extract run` is reported
beside it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from personafit.benchmarks.statements import Statements, load_statements, turns_of
from personafit.extract.records import LABELS, ExtractedAttribute
from personafit.extract.verifying import RuleVerifier
from personafit.models.embeddings import DEFAULT, Embedder, make_embedder
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.verifier import (
    MODES,
    Verifier,
    VerifierWeights,
    alone_features,
    statement_features,
    weights_table,
)
from personafit.statistics import cluster_mean
from personafit.statistics.detection import Metric, best_threshold, detection_difference
from personafit.train.cards import (
    QualityMetric,
    Say,
    TrainedRater,
    by_place,
    detection_figures,
    figure_table,
    make_folder,
    render_card,
    write_rater,
)
from personafit.train.cross_fitting import Bools, Split, fit_logistic, group_split, rows_by

METRICS: tuple[Metric, ...] = ("f2", "precision", "recall", "kappa", "yes_rate")
BY_PERSON = "by person"
REJECTED = "rejected"  # figures at the upper threshold
DIRECTIONS = 24  # principal directions of the embedding in the statement-alone control
RULE, ALONE = "rule", "statement-alone"
BETA = 2.0
LOOSENESS = (0.01, 0.03, 0.1)  # inverse penalties of the weights
_DIGITS = 6
_MODE_LOOSENESS = 0.03

_ROWS = {
    (BY_PERSON, None): "verifier, anything from unsure on",
    (REJECTED, None): "verifier, rejected only",
    (BY_PERSON, RULE): "rule",
    (BY_PERSON, ALONE): "statement alone",
}


@dataclass(frozen=True)
class VerifierFit:
    """A linear fit with thresholds chosen by leaving out one person at a time."""

    weights: VerifierWeights
    suspect: float
    reject: float


def feature_rows(statements: Statements, embedder: Embedder) -> Floats:
    """Return the features of every statement together with its conversation."""
    rows: list[Floats] = [np.zeros(0)] * len(statements)
    for places in rows_by(statements.of):
        turns = turns_of(statements.conversations[statements.of[places[0]]])
        part = statement_features(turns, [statements.texts[place] for place in places], embedder)
        for place, row in zip(places.tolist(), part, strict=True):
            rows[place] = row
    return np.array(rows)


def fit_linear(rows: Floats, problematic: Bools, people: Sequence[str]) -> VerifierFit:
    """Fit on all rows; penalty and thresholds are chosen by leaving out one person at a time."""
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
    """Return the probability of each statement by a fit without its person."""
    chances = np.zeros(len(rows))
    for train, test in split:
        chances[test] = _chances(_logistic(rows[train], truth[train], looseness), rows[test])
    return chances


def fit_verifier(statements: Statements, rows: Floats, embedder: Embedder) -> Verifier:
    """Return the verifier fitted on all statements, whose rows must come from the default embedder."""
    fitted = fit_linear(rows, statements.problematic, statements.people)
    counts = Counter(statements.labels)
    facts = {
        "source": statements.source,
        "statements": len(statements),
        "people": len(set(statements.people)),
    }
    numbers = {
        "problem": weights_table(_rounded(fitted.weights)),
        "modes": {
            mode: weights_table(_rounded(one)) for mode, one in fit_modes(rows, statements.modes).items()
        },
        "suspect": round(fitted.suspect, _DIGITS),
        "reject": round(fitted.reject, _DIGITS),
        "embedder": DEFAULT,
        "embedder_fingerprint": embedder.fingerprint,
    }
    return Verifier(numbers, card=facts | {name: counts[name] for name in LABELS})


def fit_modes(rows: Floats, modes: Sequence[str]) -> dict[str, VerifierWeights]:
    """Fit one linear function for each failure mode on the problematic statements; a mode that does not occur never wins."""
    names = np.array(modes)
    wrong = names != ""
    return {mode: _logistic(rows[wrong], names[wrong] == mode, _MODE_LOOSENESS) for mode in MODES}


def _logistic(rows: Floats, truth: Bools, looseness: float) -> VerifierWeights:
    """Fit a logistic regression on standardised features; without rows, all weights are 0."""
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
    """Return the threshold whose flags agree best with people beyond chance (Cohen's kappa)."""
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(truth[order])
    taken, wanted, count = np.arange(1, len(scores) + 1), int(truth.sum()), len(scores)
    agreed = (hits + (count - taken) - (wanted - hits)) / count
    chance = (taken * wanted + (count - taken) * (count - wanted)) / count**2
    kappa = (agreed - chance) / np.maximum(1 - chance, 1e-12)
    ends = np.append(ranked[:-1] != ranked[1:], True)
    return float(ranked[ends][np.argmax(kappa[ends])])


def verifier_quality(statements: Statements, rows: Floats, embedder: Embedder) -> list[QualityMetric]:
    """Cross-validate by person: the verifier at both thresholds, the rule, and the statement alone."""
    truth, people, said_in = statements.problematic, statements.people, statements.of
    scores, suspect, reject = left_out(rows, truth, people)
    alone_scores, alone, _ = left_out(_alone_rows(statements, embedder), truth, people)
    figures = [_auc(statements, scores, None), _auc(statements, alone_scores, ALONE)]
    figures += detection_figures(suspect, truth, people, said_in, METRICS, BY_PERSON)
    figures += detection_figures(reject, truth, people, said_in, METRICS, REJECTED)
    for control, said in ((RULE, _rule_flags(statements, embedder)), (ALONE, alone)):
        figures += detection_figures(said, truth, people, said_in, METRICS, BY_PERSON, control)
        gain = detection_difference(suspect, said, truth, "f2", people, said_in)
        figures.append(QualityMetric("f2_gain", BY_PERSON, gain, control))
    return figures


def left_out(rows: Floats, truth: Bools, people: Sequence[str]) -> tuple[Floats, Bools, Bools]:
    """Return the score and both answers for every statement by fits without its person."""
    scores, suspect, reject = np.zeros(len(rows)), np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for kept, out in group_split(people):
        fitted = fit_linear(rows[kept], truth[kept], [people[row] for row in kept])
        scores[out] = _chances(fitted.weights, rows[out])
        suspect[out], reject[out] = scores[out] >= fitted.suspect, scores[out] >= fitted.reject
    return scores, suspect, reject


def _rule_flags(statements: Statements, embedder: Embedder) -> Bools:
    """Return which statements the rule verifier does not accept, with all the user's turns as evidence."""
    cases = []
    for place, text in enumerate(statements.texts):
        chat = statements.conversations[statements.of[place]]
        row = ExtractedAttribute(
            id=str(place), person=chat.person, text=text, confidence=1.0, conversation=chat.id
        )
        cases.append((row, [turn.text for turn in chat.turns if turn.role == "user"]))
    return np.array([verdict.label != "accepted" for verdict in RuleVerifier(embedder).verdicts(cases)])


def _alone_rows(statements: Statements, embedder: Embedder) -> Floats:
    surface = np.array([alone_features(text) for text in statements.texts])
    vectors = embedder.embed(statements.texts).astype(np.float64)
    vectors -= vectors.mean(axis=0)
    # The principal directions, found without labels; all 512 would only take longer.
    _, _, directions = np.linalg.svd(vectors, full_matrices=False)
    return np.hstack([surface, vectors @ directions[:DIRECTIONS].T])


def _auc(statements: Statements, scores: Floats, control: str | None) -> QualityMetric:
    """Estimate the area under the ROC curve: how often a problematic statement scores above one that is not."""
    truth = statements.problematic
    above, below = scores[truth], scores[~truth]
    higher = (above[:, None] > below[None]) + 0.5 * (above[:, None] == below[None])
    area = float(higher.mean())
    # Pseudo-values, whose mean is the area and whose spread gives its standard error.
    values = np.full(len(scores), area)
    values[truth] += len(scores) * (higher.mean(axis=1) - area) / len(above)
    values[~truth] += len(scores) * (higher.mean(axis=0) - area) / len(below)
    return QualityMetric("auc", BY_PERSON, cluster_mean(values, statements.people, None, (0.0, 1.0)), control)


def card(verifier: Verifier, figures: Sequence[QualityMetric]) -> str:
    """Render the card: what the verifier is, how it was fitted, and its held-out figures."""
    found = by_place(figures)
    rows = [(name, split, control) for (split, control), name in _ROWS.items()]
    gains = {_ROWS[BY_PERSON, control]: found[BY_PERSON, control, "f2_gain"] for control in (RULE, ALONE)}
    table = figure_table(found, rows, (*METRICS, "auc"))
    return render_card("verifier", verifier=verifier, figures=table, gains=gains, **verifier.card)


def train_verifier(data: str, out: Path, say: Say) -> TrainedRater:
    """Fit a verifier of statements about people, cross-validate it by person, and write it."""
    statements, embedder = load_statements(data), make_embedder()
    make_folder(out)
    people = len(set(statements.people))
    say(f"Reading {len(statements):,} statements about {people:,} people beside their conversations ...")
    rows = feature_rows(statements, embedder)
    fitted = fit_verifier(statements, rows, embedder)
    say("Leaving every person out in turn ...")
    figures = verifier_quality(statements, rows, embedder)
    return write_rater(out, fitted, figures, card(fitted, figures), statements.source)
