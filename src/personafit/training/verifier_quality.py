"""What a verifier is worth on people it has not seen, beside what explains its score more cheaply.

Every person is left out in turn; everything learnt from labels, penalty and thresholds included, comes from the others. The
controls: flag everything, the rule verifier of `personafit extract run`, the cosine alone, and the statement alone, which knows its
words and their embedding but not the conversation. Whatever the last one finds are tells of whoever wrote the labels.
"""

from collections.abc import Sequence

import numpy as np

from personafit.benchmarks.statements import Statements
from personafit.models.embeddings import Embedder, Vectors
from personafit.raters.fitted.model import Floats
from personafit.raters.fitted.verifier import FEATURES, Verifier, alone_features
from personafit.stages.records import ExtractedAttribute
from personafit.stages.rules import RuleVerifier
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.detection import Metric, average_precision, detection, detection_difference
from personafit.training.cards import QualityMetric, card_table, show_estimate
from personafit.training.cross_fitting import Bools, group_split
from personafit.training.verifier import fit_linear, fit_modes

METRICS: tuple[Metric, ...] = ("f2", "precision", "recall", "f1", "accuracy", "kappa", "yes_rate")
BY_PERSON = "by person"
REJECTED = "rejected"  # the figures of the upper threshold
DIRECTIONS = 24  # of the embedding that the statement alone is judged by
ALWAYS, RULE, COSINE, ALONE = "always-flag", "rule", "cosine", "statement-alone"

_ROWS = {
    (BY_PERSON, None): "verifier, anything from unsure on",
    (REJECTED, None): "verifier, rejected only",
    (BY_PERSON, ALWAYS): "flag everything",
    (BY_PERSON, RULE): "rule",
    (BY_PERSON, COSINE): "closest sentence (cosine)",
    (BY_PERSON, ALONE): "statement alone",
}


class Remembering:
    """An embedder that embeds each text once: the same turns stand beside many statements."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, Vectors] = {}

    @property
    def fingerprint(self) -> str:
        """That of the embedder."""
        return self._embedder.fingerprint

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return np.array([self._known[text] for text in texts])


def verifier_quality(statements: Statements, rows: Floats, embedder: Embedder) -> list[QualityMetric]:
    """Cross-validate by person: the verifier, its controls, and what it finds of each failure."""
    truth, people = statements.problematic, statements.people
    scores, suspect, reject = left_out(rows, truth, people)
    figures = detection_figures(statements, suspect, None)
    figures += _ranking(statements, scores, None)
    figures += [
        QualityMetric(one.metric, REJECTED, one.estimate)
        for one in detection_figures(statements, reject, None)
    ]
    alone_scores, alone, _ = left_out(_alone_rows(statements, embedder), truth, people)
    cosine_scores, cosine, _ = left_out(rows[:, [FEATURES.index("sentence")]], truth, people)
    for control, said in (
        (ALWAYS, np.ones(len(truth), dtype=bool)),
        (RULE, rule_flags(statements, embedder)),
        (COSINE, cosine),
        (ALONE, alone),
    ):
        figures += detection_figures(statements, said, control)
        gain = detection_difference(suspect, said, truth, "f2", people, statements.of)
        figures.append(QualityMetric("f2_gain", BY_PERSON, gain, control))
    figures += _ranking(statements, alone_scores, ALONE) + _ranking(statements, cosine_scores, COSINE)
    return [*figures, *_by_failure(statements, suspect, reject), *_modes(statements, rows)]


def left_out(rows: Floats, truth: Bools, people: Sequence[str]) -> tuple[Floats, Bools, Bools]:
    """Scores and both answers to every statement by fits that saw nothing of its person."""
    scores, suspect, reject = np.zeros(len(rows)), np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    for kept, out in group_split(people):
        fitted = fit_linear(rows[kept], truth[kept], [people[row] for row in kept])
        scores[out] = fitted.chances(rows[out])
        suspect[out], reject[out] = scores[out] >= fitted.suspect, scores[out] >= fitted.reject
    return scores, suspect, reject


def detection_figures(statements: Statements, said: Bools, control: str | None) -> list[QualityMetric]:
    """Every figure of flags, clustered by person."""
    truth, people = statements.problematic, statements.people
    return [
        QualityMetric(metric, BY_PERSON, detection(said, truth, metric, people, statements.of), control)
        for metric in METRICS
    ]


def rule_flags(statements: Statements, embedder: Embedder) -> Bools:
    """What the rule verifier does not accept, given all the user's turns as evidence."""
    said = np.zeros(len(statements), dtype=bool)
    verifier = RuleVerifier(Remembering(embedder))
    for place, (name, text) in enumerate(zip(statements.of, statements.texts, strict=True)):
        conversation = statements.conversations[name]
        own = [turn.text for turn in conversation.turns if turn.role == "user"]
        row = ExtractedAttribute(
            id=str(place), person=conversation.person, text=text, confidence=1.0, conversation=name
        )
        said[place] = verifier.verdicts([(row, own)])[0].label != "accepted"
    return said


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
    parts |= {f"label: {label}": labels == label for label in ("accepted", "unsure", "rejected")}
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
    facts = verifier.card
    found = {(figure.split, figure.control, figure.metric): figure.estimate for figure in figures}
    mode, commonest = (found[BY_PERSON, name, "mode_accuracy"] for name in (None, "commonest-mode"))
    lines = [
        "# A fitted verifier",
        "",
        f"Fitted on {facts['statements']:,} labelled statements about {facts['people']:,} people from {facts['source']}: "
        f"{facts['accepted']:,} accepted, {facts['unsure']:,} unsure, {facts['rejected']:,} rejected. It sees the statement and the "
        "whole conversation, not the evidence an extractor names.",
        "",
        f"A statement is unsure from a probability of {verifier.suspect:.3f} on, rejected from {verifier.reject:.3f} on. "
        f"Fingerprint `{verifier.fingerprint}`.",
        "",
        "Every person left out in turn, thresholds and penalty chosen on the others. What is looked for is a statement that people "
        "did not accept; 95 % intervals are clustered by person.",
        "",
        *_table(found, _ROWS, (*METRICS, "auc")),
        "",
        *(
            f"F2 gained over {_ROWS[BY_PERSON, control]}, paired: {show_estimate(found[BY_PERSON, control, 'f2_gain'], '+.3f')}."
            for control in (ALWAYS, RULE, COSINE, ALONE)
        ),
        "",
        "## By failure",
        "",
        *card_table(
            ("", "n", "flagged", "rejected"),
            [
                (split, f"{one.n:,}", show_estimate(one), show_estimate(found[split, None, REJECTED]))
                for (split, _, metric), one in found.items()
                if metric == "flagged"
            ],
        ),
        "",
        f"The failure mode it names is the labelled one for {show_estimate(mode)}; always naming the commonest: "
        f"{show_estimate(commonest)}.",
    ]
    models = {key[:2]: key[1] or "" for key in found if key[0].startswith("the ") and key[2] == "f2"}
    if models:
        lines += [
            "",
            "## Prompted models",
            "",
            f"On {next(iter(models))[0]}; what was not answered lowers coverage.",
            "",
        ]
        lines += _table(found, models, (*METRICS, "coverage"))
    return "\n".join(lines) + "\n"


def _table(
    found: dict[tuple[str, str | None, str], Estimate],
    rows: dict[tuple[str, str | None], str],
    metrics: Sequence[str],
) -> list[str]:
    return card_table(
        ("", *metrics),
        [
            (name, *(show_estimate(found.get((split, control, metric))) for metric in metrics))
            for (split, control), name in rows.items()
        ],
    )
