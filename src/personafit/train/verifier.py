"""Fit a verifier on labelled statements: a penalised logistic regression, and two thresholds; and what it is worth beside what explains
its score more cheaply.

A verifier meets people it has not seen. So its penalty and its thresholds come from scores of each training person's
statements by fits without that person: `suspect` is where F-beta with beta 2 is best (a false statement that slips through
weighs four times a true one that is looked at again), `reject` is where agreement beyond chance is.

Every person is left out in turn to measure it. The controls: flag everything, the rule verifier of `personafit extract run`, the cosine
alone, and the statement alone, which knows its words and their embedding but not the conversation. Whatever the last one finds are tells
of whoever wrote the labels. Prompted models are asked in the words of `personafit extract run` and stand beside it where named.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from personafit._hashing import content_hash, hash_text
from personafit.benchmarks.statements import Statements, load_statements, turns_of
from personafit.engine import Bars
from personafit.extract.asking import StageAsks, StagePrompt
from personafit.extract.records import LABELS, ExtractedAttribute
from personafit.extract.rules import RuleVerifier
from personafit.extract.session import Ended, Session
from personafit.extract.verifying import VERIFICATION, verify_prompt
from personafit.models import make_model
from personafit.models.embeddings import DEFAULT, Embedder, make_embedder
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.verifier import (
    FEATURES,
    MODES,
    Verifier,
    VerifierWeights,
    alone_features,
    statement_features,
)
from personafit.raters.text import HAN
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.detection import (
    Metric,
    average_precision,
    best_threshold,
    detection_difference,
)
from personafit.store import Store
from personafit.train.cards import (
    QualityMetric,
    Say,
    TrainedRater,
    by_place,
    card_table,
    detection_figures,
    figure_table,
    make_folder,
    render_card,
    write_rater,
)
from personafit.train.cross_fitting import Bools, Split, fit_logistic, group_split, rows_by

METRICS: tuple[Metric, ...] = ("f2", "precision", "recall", "f1", "accuracy", "kappa", "yes_rate")
BY_PERSON = "by person"
REJECTED = "rejected"  # the figures of the upper threshold
ASKED = "statements asked about"
DIRECTIONS = 24  # of the embedding that the statement alone is judged by
ALWAYS, RULE, COSINE, ALONE = "always-flag", "rule", "cosine", "statement-alone"
BETA = 2.0
LOOSENESS = (0.01, 0.03, 0.1)  # of the weights: the inverse of the penalty
_DIGITS = 6
_MODE_LOOSENESS = 0.03

_ROWS = {
    (BY_PERSON, None): "verifier, anything from unsure on",
    (REJECTED, None): "verifier, rejected only",
    (BY_PERSON, ALWAYS): "flag everything",
    (BY_PERSON, RULE): "rule",
    (BY_PERSON, COSINE): "closest sentence (cosine)",
    (BY_PERSON, ALONE): "statement alone",
}


@dataclass(frozen=True)
class VerifierFit:
    """A linear fit with thresholds chosen on people left out one by one."""

    weights: VerifierWeights
    suspect: float
    reject: float


def feature_rows(statements: Statements, embedder: Embedder) -> Floats:
    """The features of every statement beside its conversation."""
    rows: list[Floats] = [np.zeros(0)] * len(statements)
    for places in rows_by(statements.of):
        turns = turns_of(statements.conversations[statements.of[places[0]]])
        part = statement_features(turns, [statements.texts[place] for place in places], embedder)
        for place, row in zip(places.tolist(), part, strict=True):
            rows[place] = row
    return np.array(rows)


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


def fit_verifier(statements: Statements, rows: Floats, embedder: Embedder) -> Verifier:
    """The verifier of all statements; the default embedder made their rows."""
    fitted = fit_linear(rows, statements.problematic, statements.people)
    counts = Counter(statements.labels)
    facts = {
        "source": statements.source,
        "statements": len(statements),
        "people": len(set(statements.people)),
    }
    return Verifier(
        problem=_rounded(fitted.weights),
        modes={mode: _rounded(one) for mode, one in fit_modes(rows, statements.modes).items()},
        suspect=round(fitted.suspect, _DIGITS),
        reject=round(fitted.reject, _DIGITS),
        embedder=DEFAULT,
        embedder_fingerprint=embedder.fingerprint,
        card=facts | {name: counts[name] for name in LABELS},
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


def verifier_quality(statements: Statements, rows: Floats, embedder: Embedder) -> list[QualityMetric]:
    """Cross-validate by person: the verifier, its controls, and what it finds of each failure."""
    truth, people, said_in = statements.problematic, statements.people, statements.of
    scores, suspect, reject = left_out(rows, truth, people)
    alone_scores, alone, _ = left_out(_alone_rows(statements, embedder), truth, people)
    cosine_scores, cosine, _ = left_out(rows[:, [FEATURES.index("sentence")]], truth, people)
    figures = detection_figures(suspect, truth, people, said_in, METRICS, BY_PERSON)
    figures += detection_figures(reject, truth, people, said_in, METRICS, REJECTED)
    for control, said in (
        (ALWAYS, np.ones(len(truth), dtype=bool)),
        (RULE, _rule_flags(statements, embedder)),
        (COSINE, cosine),
        (ALONE, alone),
    ):
        figures += detection_figures(said, truth, people, said_in, METRICS, BY_PERSON, control)
        gain = detection_difference(suspect, said, truth, "f2", people, said_in)
        figures.append(QualityMetric("f2_gain", BY_PERSON, gain, control))
    figures += _ranking(statements, scores, None)
    figures += _ranking(statements, alone_scores, ALONE) + _ranking(statements, cosine_scores, COSINE)
    return [*figures, *_by_failure(statements, suspect, reject), *_modes(statements, rows)]


def left_out(rows: Floats, truth: Bools, people: Sequence[str]) -> tuple[Floats, Bools, Bools]:
    """Scores and both answers to every statement by fits that saw nothing of its person."""
    scores, suspect, reject = np.zeros(len(rows)), np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for kept, out in group_split(people):
        fitted = fit_linear(rows[kept], truth[kept], [people[row] for row in kept])
        scores[out] = _chances(fitted.weights, rows[out])
        suspect[out], reject[out] = scores[out] >= fitted.suspect, scores[out] >= fitted.reject
    return scores, suspect, reject


def _case(statements: Statements, place: int) -> tuple[ExtractedAttribute, list[str]]:
    """A statement as an extractor would have found it, with all the user's turns as its evidence."""
    conversation = statements.conversations[statements.of[place]]
    row = ExtractedAttribute(
        id=str(place),
        person=conversation.person,
        text=statements.texts[place],
        confidence=1.0,
        conversation=conversation.id,
    )
    return row, [turn.text for turn in conversation.turns if turn.role == "user"]


def _rule_flags(statements: Statements, embedder: Embedder) -> Bools:
    """What the rule verifier does not accept."""
    cases = [_case(statements, place) for place in range(len(statements))]
    return np.array([verdict.label != "accepted" for verdict in RuleVerifier(embedder).verdicts(cases)])


def _alone_rows(statements: Statements, embedder: Embedder) -> Floats:
    surface = np.array([alone_features(text) for text in statements.texts])
    vectors = embedder.embed(statements.texts).astype(np.float64)
    vectors -= vectors.mean(axis=0)
    # The directions in which statements differ most, found without labels: all 512 would only take longer.
    _, _, directions = np.linalg.svd(vectors, full_matrices=False)
    return np.hstack([surface, vectors @ directions[:DIRECTIONS].T])


def _ranking(statements: Statements, scores: Floats, control: str | None) -> list[QualityMetric]:
    """How often a problematic statement scores above one that is not, and the average precision."""
    truth = statements.problematic
    above, below = scores[truth], scores[~truth]
    higher = (above[:, None] > below[None]) + 0.5 * (above[:, None] == below[None])
    area = float(higher.mean())
    # As for the other figures, pseudo-values whose mean is the area and whose spread is the area's.
    values = np.full(len(scores), area)
    values[truth] += len(scores) * (higher.mean(axis=1) - area) / len(above)
    values[~truth] += len(scores) * (higher.mean(axis=0) - area) / len(below)
    people = len(set(statements.people))
    precision = Estimate(average_precision(scores, truth), None, None, len(scores), people, "no interval")
    return [
        QualityMetric("auc", BY_PERSON, cluster_mean(values, statements.people, None, (0.0, 1.0)), control),
        QualityMetric("average_precision", BY_PERSON, precision, control),
    ]


def _by_failure(statements: Statements, suspect: Bools, reject: Bools) -> list[QualityMetric]:
    """The share flagged and the share rejected of each failure, and of what is only unsure."""
    failures = np.array(statements.failures)
    labels, people = np.array(statements.labels), np.array(statements.people)
    parts = {f"failure: {name}": failures == name for name in sorted(set(statements.failures) - {""})}
    parts |= {f"label: {label}": labels == label for label in LABELS}
    return [
        QualityMetric(metric, split, cluster_mean(said[here], people[here], None, (0.0, 1.0)))
        for split, here in parts.items()
        if here.any()
        for metric, said in (("flagged", suspect), (REJECTED, reject))
    ]


def _modes(statements: Statements, rows: Floats) -> list[QualityMetric]:
    """How often the failure mode named is the labelled one, of statements that have one, beside the commonest mode."""
    modes, people = np.array(statements.modes), np.array(statements.people)
    wrong = np.flatnonzero(modes != "")
    named, commonest = np.full(len(modes), "", dtype=modes.dtype), modes.copy()
    for others, out in group_split(people[wrong]):
        kept, here = wrong[others], wrong[out]
        found = fit_modes(rows[kept], modes[kept].tolist())
        names = np.array(list(found))
        named[here] = names[np.stack([one.of(rows[here]) for one in found.values()]).argmax(axis=0)]
        values, counts = np.unique(modes[kept], return_counts=True)
        commonest[here] = values[counts.argmax()]
    return [
        QualityMetric(
            "mode_accuracy", BY_PERSON, cluster_mean(right, people[wrong], None, (0.0, 1.0)), control
        )
        for control, right in (
            (None, named[wrong] == modes[wrong]),
            ("commonest-mode", commonest[wrong] == modes[wrong]),
        )
    ]


def card(verifier: Verifier, figures: Sequence[QualityMetric]) -> str:
    """What the verifier is, how it was fitted and what it is worth."""
    found = by_place(figures)
    models = [(name or "", split, name) for split, name, metric in found if (split, metric) == (ASKED, "f2")]
    controls = [(name, split, control) for (split, control), name in _ROWS.items()]
    flagged = [(split, one) for (split, _, metric), one in found.items() if metric == "flagged"]
    return render_card(
        "verifier",
        verifier=verifier,
        **verifier.card,
        figures=figure_table(found, controls, (*METRICS, "auc")),
        gains={
            _ROWS[BY_PERSON, control]: found[BY_PERSON, control, "f2_gain"]
            for control in (ALWAYS, RULE, COSINE, ALONE)
        },
        failures=card_table(
            ("", "n", "flagged", "rejected"),
            [(split, f"{one.n:,}", one, found[split, None, REJECTED]) for split, one in flagged],
        ),
        mode=found[BY_PERSON, None, "mode_accuracy"],
        commonest=found[BY_PERSON, "commonest-mode", "mode_accuracy"],
        asked=max((one.n for (_, _, metric), one in found.items() if metric == "coverage"), default=0),
        models=figure_table(found, models, (*METRICS, "coverage")) if models else "",
    )


def _drawn(statements: Statements, most: int | None, seed: int) -> list[int]:
    """The statements that models are asked about: all, or so many drawn by seed."""
    places = sorted(
        range(len(statements)),
        key=lambda place: hash_text(str(seed), statements.of[place], statements.texts[place]),
    )
    return sorted(places[:most])


async def _model_figures(
    statements: Statements, fitted: Bools, specs: Sequence[str], places: list[int], session: Session
) -> list[QualityMetric]:
    """What each model flags of the statements drawn, beside the fitted verifier on those it answered.

    `fitted` are the fitted verifier's flags by fits without the person. A model sees all the user's turns.
    """
    prompts: list[StagePrompt] = []
    for place in places:
        row, own = _case(statements, place)
        prompt = verify_prompt(row, own, "zh" if HAN.search(row.text) else "en")
        # The place is part of the name only: two people may be told the same.
        prompts.append(replace(prompt, name=f"{place}"))
    truth = statements.problematic[places]
    people, groups = ([names[place] for place in places] for names in (statements.people, statements.of))
    figures: list[QualityMetric] = []
    for spec in specs:
        model = make_model(spec)
        asker = StageAsks(session.store, model, VERIFICATION)
        try:
            await session.carry([asker.lane(lambda: prompts, len(prompts))])
        except Ended:
            pass  # what was answered is measured; coverage tells the rest
        finally:
            await model.close()
        said = np.array(
            [
                np.nan if answer.value is None else answer.value["label"] != "accepted"
                for _, answer in asker.answers(prompts)
            ],
            dtype=np.float64,
        )
        read = np.isfinite(said)
        own_flags = np.where(read, fitted[places], np.nan)
        beside = f"fitted, where {spec} answered"
        figures += detection_figures(said, truth, people, groups, METRICS, ASKED, spec)
        figures += detection_figures(own_flags, truth, people, groups, METRICS, ASKED, beside)[:-1]
        who, where = (np.array(names)[read] for names in (people, groups))
        gain = detection_difference(own_flags[read] == 1, said[read] == 1, truth[read], "f2", who, where)
        figures.append(QualityMetric("f2_gain", ASKED, gain, spec))
    return figures


def train_verifier(
    data: str, out: Path, raters: Sequence[str], limit: int | None, seed: int, say: Say
) -> TrainedRater:
    """Fit a verifier of statements about people, cross-validated by person, beside prompted models where `raters` names some."""
    statements, embedder = load_statements(data), make_embedder()
    make_folder(out)
    people = len(set(statements.people))
    say(f"Reading {len(statements):,} statements about {people:,} people beside their conversations ...")
    rows = feature_rows(statements, embedder)
    fitted = fit_verifier(statements, rows, embedder)
    say("Leaving every person out in turn ...")
    figures = verifier_quality(statements, rows, embedder)
    if raters:
        flags = left_out(rows, statements.problematic, statements.people)[1]
        with Store(out / "asks.db") as store, Bars() as progress:
            gone = store.forgotten(set(statements.people))
            places = [n for n in _drawn(statements, limit, seed) if statements.people[n] not in gone]
            config = {"kind": "verify", "specs": [*raters], "places": places, "source": statements.source}
            run = store.begin_run(f"verify-{content_hash(config)[:8]}", "verify", config, 0)
            session = Session(store, run, progress)
            figures += asyncio.run(_model_figures(statements, flags, raters, places, session))
    return write_rater(out, fitted, figures, card(fitted, figures), statements.source)
