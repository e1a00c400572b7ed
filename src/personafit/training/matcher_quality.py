"""What a matcher is worth on prompts it has not seen, beside what explains its score more cheaply.

Prompts are dealt into folds several times over. In each fold everything learnt from labels, the threshold included, comes
from the other prompts; only the scale on which closeness is measured, which knows no labels, is that of all pairs. A second split leaves out people as well: attributes of a person recur with other prompts, so a matcher that is
split by prompt alone has met most attributes before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from personafit.raters.fitted.kernel import ATTRIBUTE_ALONE, Floats, Rows, embed_pairs
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.detection import (
    Metric,
    average_precision,
    best_threshold,
    detection,
    pseudo_values,
)
from personafit.statistics.influence import influence_estimate
from personafit.training.matcher import SolvedPairs, rows_by, solve_pairs
from personafit.training.matcher_controls import WordCounts, cosines
from personafit.training.pairwise import deal_folds
from personafit.training.relevance_data import JudgedPairs

FOLDS = 10
REPEATS = 3
DISJOINT = (5, 4)  # folds of prompts and of people where both are left out
METRICS: tuple[Metric, ...] = ("f1", "precision", "recall", "accuracy", "kappa", "yes_rate")
BY_PROMPT, BY_BOTH = "by prompt", "by prompt and person"

Split = list[tuple[Rows, Rows]]  # the rows trained on and the rows tested on, fold by fold


@dataclass(frozen=True)
class MatcherMetric:
    """One figure of the matcher or of a control."""

    metric: str
    split: str
    estimate: Estimate
    control: str | None = None
    repeat: int | None = None


@dataclass(frozen=True)
class HeldOutPredictions:
    """Out-of-fold scores and yes-or-no answers: each pair is scored by a fit that saw neither its prompt nor its label."""

    scores: Floats
    said: NDArray[np.bool_]


def matcher_quality(
    judged: JudgedPairs,
    solved: SolvedPairs,
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    note: Callable[[str], None] = lambda _: None,
) -> list[MatcherMetric]:
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
    words = embed_pairs(WordCounts([*set(judged.prompts), *set(judged.attributes)]), judged.texts)
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
    fold_of = deal_folds(judged.prompts, folds, seed)
    return [(np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)) for fold in np.unique(fold_of)]


def disjoint_split(judged: JudgedPairs, prompt_folds: int, person_folds: int, seed: int) -> Split:
    """Folds in which neither the prompt nor the person of a tested pair was trained on; every pair is tested once."""
    prompts = deal_folds(judged.prompts, prompt_folds, seed)
    people = deal_folds(judged.people, person_folds, seed + 1)
    split = []
    for prompt_fold in np.unique(prompts):
        for person_fold in np.unique(people):
            train = np.flatnonzero((prompts != prompt_fold) & (people != person_fold))
            test = np.flatnonzero((prompts == prompt_fold) & (people == person_fold))
            if len(test):
                split.append((train, test))
    return split


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
    scores, relevant = cosines(solved.pairs), solved.relevant
    said = np.zeros(len(relevant), dtype=bool)
    for train, test in split:
        if relevant[train].any():
            said[test] = scores[test] >= best_threshold(scores[train], relevant[train])
    return HeldOutPredictions(scores, said)


def _figures(
    judged: JudgedPairs, answers: Sequence[HeldOutPredictions], split: str, control: str | None = None
) -> list[MatcherMetric]:
    """The mean over repeats with its interval; for the matcher also each repeat's F1, which shows the spread."""
    figures = [
        MatcherMetric(metric, split, _over_repeats(judged, answers, metric), control) for metric in METRICS
    ]
    figures.append(MatcherMetric("f1_mean_of_prompts", split, _mean_of_prompts(judged, answers), control))
    ranking = [average_precision(one.scores, judged.relevant) or 0.0 for one in answers]
    people = len(set(judged.people))
    average = Estimate(
        float(np.mean(ranking)), None, None, len(judged), people, "pooled over prompts; no interval"
    )
    figures.append(MatcherMetric("average_precision", split, average, control))
    if len(answers) > 1:
        for repeat, one in enumerate(answers):
            estimate = detection(one.said, judged.relevant, "f1", judged.people, judged.prompts)
            figures.append(MatcherMetric("f1", split, estimate, control, repeat))
    return figures


def _over_repeats(judged: JudgedPairs, answers: Sequence[HeldOutPredictions], metric: Metric) -> Estimate:
    if len(answers) == 1:
        return detection(answers[0].said, judged.relevant, metric, judged.people, judged.prompts)
    values = np.mean([pseudo_values(one.said, judged.relevant, metric) for one in answers], axis=0)
    return _clustered(judged, values, (-1.0, 1.0) if metric == "kappa" else (0.0, 1.0))


def _gain(
    judged: JudgedPairs, first: Sequence[HeldOutPredictions], second: Sequence[HeldOutPredictions], split: str
) -> MatcherMetric:
    """How much F1 the prompt adds to the attribute alone, paired by pair."""
    values = [
        pseudo_values(one.said, judged.relevant, "f1") - pseudo_values(other.said, judged.relevant, "f1")
        for one, other in zip(first, second, strict=True)
    ]
    return MatcherMetric(
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
