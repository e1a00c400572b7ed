"""What a matcher is worth on prompts it has not seen, beside what explains its score more cheaply.

Prompts are dealt into folds several times over. In each fold everything learnt from labels, the threshold included, comes
from the other prompts; only the scale on which closeness is measured, which knows no labels, is that of all pairs. A second split leaves out people as well: attributes of a person recur with other prompts, so a matcher that is
split by prompt alone has met most attributes before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from personafit.models.embeddings import Vectors
from personafit.raters.fitted.matcher import ATTRIBUTE_ALONE, Matcher, embed_pairs
from personafit.raters.fitted.model import Floats
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.detection import (
    Metric,
    average_precision,
    best_threshold,
    detection,
    pseudo_values,
)
from personafit.statistics.influence import influence_estimate
from personafit.training.cards import QualityMetric, card_table, show_estimate
from personafit.training.cross_fitting import Bools, Split, deal_folds, group_split, rows_by
from personafit.training.matcher import JudgedPairs, SolvedPairs, solve_pairs

FOLDS = 10
REPEATS = 3
DISJOINT = (5, 4)  # folds of prompts and of people where both are left out
METRICS: tuple[Metric, ...] = ("f1", "precision", "recall", "accuracy", "kappa", "yes_rate")
BY_PROMPT, BY_BOTH = "by prompt", "by prompt and person"

_ROWS = {
    None: "matcher",
    "attribute-alone": "attribute alone",
    "tf-idf": "words counted (tf-idf)",
    "embedding": "cosine of embeddings",
    "always-yes": "always yes",
}


@dataclass(frozen=True)
class HeldOutPredictions:
    """Out-of-fold scores and yes-or-no answers: each pair is scored by a fit that saw neither its prompt nor its label."""

    scores: Floats
    said: Bools


def matcher_quality(
    judged: JudgedPairs,
    solved: SolvedPairs,
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    note: Callable[[str], None] = lambda _: None,
) -> list[QualityMetric]:
    """Cross-validate the matcher of solved pairs, and its controls."""
    splits = [prompt_split(judged, folds, seed + repeat) for repeat in range(repeats)]
    rows = len(judged)
    note(f"Cross-validating by prompt: {folds} folds, {repeats} times over ...")
    by_prompt = [answer_left_out(solved, split) for split in splits]
    figures = _figures(judged, by_prompt, BY_PROMPT)
    note("The same on the attribute alone ...")
    alone = solve_pairs(judged, solved.pairs, ATTRIBUTE_ALONE)
    by_prompt_alone = [answer_left_out(alone, split) for split in splits]
    figures += _figures(judged, by_prompt_alone, BY_PROMPT, "attribute-alone")
    figures.append(_gain(judged, by_prompt, by_prompt_alone, BY_PROMPT))
    note("The same on counted words ...")
    words = embed_pairs(CountedWords([*set(judged.prompts), *set(judged.attributes)]), judged.texts)
    by_words = [answer_left_out(solve_pairs(judged, words, solved.settings), splits[0])]
    figures += _figures(judged, by_words, BY_PROMPT, "tf-idf")
    figures += _figures(judged, [_by_cosine(solved, splits[0])], BY_PROMPT, "embedding")
    always = HeldOutPredictions(np.zeros(rows), np.ones(rows, dtype=bool))
    figures += _figures(judged, [always], BY_PROMPT, "always-yes")
    if len(set(judged.people)) >= 2:
        note("Cross-validating by prompt and person at once ...")
        both_split = disjoint_split(judged, *DISJOINT, seed)
        both, both_alone = ([answer_left_out(one, both_split)] for one in (solved, alone))
        figures += _figures(judged, both, BY_BOTH)
        figures += _figures(judged, both_alone, BY_BOTH, "attribute-alone")
        figures.append(_gain(judged, both, both_alone, BY_BOTH))
    return figures


def prompt_split(judged: JudgedPairs, folds: int, seed: int) -> Split:
    """Folds by prompt."""
    return group_split(deal_folds(judged.prompts, folds, seed))


def disjoint_split(judged: JudgedPairs, prompt_folds: int, person_folds: int, seed: int) -> Split:
    """Folds in which neither the prompt nor the person of a tested pair was trained on; every pair is tested once."""
    return group_split(
        deal_folds(judged.prompts, prompt_folds, seed), deal_folds(judged.people, person_folds, seed + 1)
    )


class CountedWords:
    """An embedder that counts words, weighed by how rare they are (tf-idf); it knows no synonyms."""

    fingerprint = "tf-idf"

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        words = r"\w+"
        self._words = TfidfVectorizer(token_pattern=words, sublinear_tf=True, min_df=2)
        try:
            self._words.fit(texts)
        except ValueError:  # no word stands in two texts
            self._words = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text; a text without a known word is a row of zeros."""
        if self._words is None:
            return np.zeros((len(texts), 1), dtype=np.float32)
        return np.asarray(self._words.transform(texts).toarray(), dtype=np.float32)


def answer_left_out(solved: SolvedPairs, split: Split) -> HeldOutPredictions:
    """Answer the tested pairs of every fold by the fit without them, from that fit's own threshold on."""
    count = len(solved.relevant)
    scores, said = np.full(count, -np.inf), np.zeros(count, dtype=bool)
    for train, test in split:
        out = np.setdiff1d(np.arange(count), train)
        if not solved.relevant[train].any():
            continue  # nothing to learn from: nothing is called relevant
        fold = solved.without(out)
        scores[test] = fold.scores[np.searchsorted(out, test)]
        said[test] = scores[test] >= fold.threshold
    return HeldOutPredictions(scores, said)


def _by_cosine(solved: SolvedPairs, split: Split) -> HeldOutPredictions:
    """How close each attribute is to its whole prompt; nothing but the threshold is learnt."""
    pairs, relevant = solved.pairs, solved.relevant
    products = pairs.prompts[pairs.prompt_of].astype(np.float64) * pairs.attributes[pairs.attribute_of]
    scores = products.sum(axis=1)
    said = np.zeros(len(relevant), dtype=bool)
    for train, test in split:
        if relevant[train].any():
            said[test] = scores[test] >= best_threshold(scores[train], relevant[train])
    return HeldOutPredictions(scores, said)


def _figures(
    judged: JudgedPairs, answers: Sequence[HeldOutPredictions], split: str, control: str | None = None
) -> list[QualityMetric]:
    """The mean over repeats with its interval; for the matcher also each repeat's F1, which shows the spread."""
    figures = [
        QualityMetric(metric, split, _over_repeats(judged, answers, metric), control) for metric in METRICS
    ]
    figures.append(QualityMetric("f1_mean_of_prompts", split, _mean_of_prompts(judged, answers), control))
    ranking = [average_precision(one.scores, judged.relevant) or 0.0 for one in answers]
    people = len(set(judged.people))
    average = Estimate(
        float(np.mean(ranking)), None, None, len(judged), people, "pooled over prompts; no interval"
    )
    figures.append(QualityMetric("average_precision", split, average, control))
    if len(answers) > 1:
        for repeat, one in enumerate(answers):
            estimate = detection(one.said, judged.relevant, "f1", judged.people, judged.prompts)
            figures.append(QualityMetric("f1", split, estimate, control, repeat))
    return figures


def _over_repeats(judged: JudgedPairs, answers: Sequence[HeldOutPredictions], metric: Metric) -> Estimate:
    if len(answers) == 1:
        return detection(answers[0].said, judged.relevant, metric, judged.people, judged.prompts)
    values = np.mean([pseudo_values(one.said, judged.relevant, metric) for one in answers], axis=0)
    return _clustered(judged, values, (-1.0, 1.0) if metric == "kappa" else (0.0, 1.0))


def _gain(
    judged: JudgedPairs, first: Sequence[HeldOutPredictions], second: Sequence[HeldOutPredictions], split: str
) -> QualityMetric:
    """How much F1 the prompt adds to the attribute alone, paired by pair."""
    values = [
        pseudo_values(one.said, judged.relevant, "f1") - pseudo_values(other.said, judged.relevant, "f1")
        for one, other in zip(first, second, strict=True)
    ]
    return QualityMetric(
        "f1_gain_over_attribute_alone", split, _clustered(judged, np.mean(values, axis=0), None)
    )


def _clustered(judged: JudgedPairs, values: Floats, bounds: tuple[float, float] | None) -> Estimate:
    if np.isnan(values).any():
        return Estimate(
            None, None, None, len(judged), len(set(judged.people)), "undefined: it never says yes"
        )
    return cluster_mean(values, judged.people, judged.prompts, bounds)


def _mean_of_prompts(judged: JudgedPairs, answers: Sequence[HeldOutPredictions]) -> Estimate:
    """F1 of each prompt that has something relevant, averaged; clustered by person and prompt.

    A pair has its part in the F1 of its prompt, and the prompt, in equal shares of its pairs, in the mean.
    """
    counted = [rows for rows in rows_by(judged.prompts) if judged.relevant[rows].any()]
    found, parts = [], []
    for rows in counted:
        truth, own = judged.relevant[rows], np.zeros(len(rows))
        for one in answers:
            said = one.said[rows]
            hits, marked = 2.0 * (said & truth), said.astype(np.float64) + truth
            own += (hits - hits.sum() / marked.sum() * marked) / marked.sum()
            found.append(hits.sum() / marked.sum())
        parts.append(own / len(answers))
    each = np.array(found).reshape(len(counted), len(answers)).mean(axis=1)
    mean = float(each.mean())
    influence = np.concatenate(
        [own + (value - mean) / len(own) for own, value in zip(parts, each, strict=True)]
    )
    places = np.concatenate(counted)
    people, prompts = ([names[row] for row in places] for names in (judged.people, judged.prompts))
    estimate = influence_estimate(mean, influence / len(counted), people, prompts)
    if estimate.low is None or estimate.high is None:
        return replace(estimate, n=len(judged))
    return replace(estimate, low=max(0.0, estimate.low), high=min(1.0, estimate.high), n=len(judged))


def card(matcher: Matcher, figures: Sequence[QualityMetric], source: str) -> str:
    """What the matcher is, how it was fitted and what it is worth."""
    facts = matcher.card
    found = {
        (figure.split, figure.control, figure.metric): figure.estimate
        for figure in figures
        if figure.repeat is None
    }
    lines = [
        "# A fitted matcher",
        "",
        f"Fitted on {facts['pairs']:,} pairs of a prompt and an attribute from {source}, {facts['relevant']:,} of them "
        f"labelled relevant: {facts['prompts']:,} prompts, {facts['people']:,} people. It sees the prompt and "
        "the attribute, each attribute by itself.",
        "",
        f"It says yes from a probability of {matcher.threshold:.3f} on; a score right on it is a yes. Fingerprint "
        f"`{matcher.fingerprint}`.",
        "",
        "Cross-validated; the threshold of each fold comes from its training prompts alone. 95 % intervals are clustered by "
        "person and prompt.",
    ]
    for split, title in ((BY_PROMPT, "Prompts left out"), (BY_BOTH, "Prompts and people left out")):
        if (split, None, "f1") in found:
            lines += ["", f"## {title}", "", *_table(found, split), "", *_remarks(figures, found, split)]
    lines += [
        "",
        "The attribute alone is the control to beat: some attributes matter for nearly every prompt. Attributes of a person "
        "recur with other prompts, so only the second table is about people not met before.",
    ]
    return "\n".join(lines) + "\n"


def _table(found: dict[tuple[str, str | None, str], Estimate], split: str) -> list[str]:
    metrics = (*METRICS, "f1_mean_of_prompts", "average_precision")
    return card_table(
        ("", *METRICS, "mean F1 of prompts", "average precision"),
        [
            (name, *(show_estimate(found[split, control, metric]) for metric in metrics))
            for control, name in _ROWS.items()
            if (split, control, "f1") in found
        ],
    )


def _remarks(
    figures: Sequence[QualityMetric], found: dict[tuple[str, str | None, str], Estimate], split: str
) -> list[str]:
    gain = found[split, None, "f1_gain_over_attribute_alone"]
    lines = [f"F1 gained over the attribute alone, paired: {show_estimate(gain, '+.3f')}."]
    spread = [
        figure.estimate.value
        for figure in figures
        if figure.split == split and figure.control is None and figure.repeat is not None
    ]
    if spread:
        values = ", ".join(f"{value or 0:.3f}" for value in spread)
        lines.append(f"F1 with the prompts dealt into folds anew: {values}.")
    return lines
