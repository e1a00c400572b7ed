"""What a head on marks is worth on prompts and people left out, beside what explains its score more cheaply.

The answers alone, without the attribute the mark is about, are the control to beat; rules that nothing was fitted for, and always
saying the mean mark, stand below. Spearman says whether it puts answers in people's order, the mean error how far its marks are off.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from personafit.raters.fitted.head import CLOSER_TO_ATTRIBUTE, CLOSER_TO_PROMPT, LONGER, NAMED, Floats
from personafit.statistics import Estimate, cluster_mean, prompts_recur
from personafit.statistics.agreement_intervals import PairAgreement, pair_agreement
from personafit.training.matcher_quality import MatcherMetric
from personafit.training.preference_head import MarkedPairs, cross_fitted

PROMPTS, PEOPLE, BOTH = "prompts left out", "people left out", "prompts and people left out"
ALONE, MEAN_MARK = "answers-alone", "mean-mark"
RULES = {"named": NAMED, "length": LONGER, "closeness": CLOSER_TO_ATTRIBUTE}
ALL = "all marks"  # where nothing is fitted there is nothing to leave out
SPEARMAN, GAIN, ERROR = "spearman", "spearman_gain", "mean_error"


def head_quality(marked: MarkedPairs, embedder: str, seed: int = 0) -> list[MatcherMetric]:
    """Spearman with the marks and the mean distance from them, of the head and of its controls."""
    figures: list[MatcherMetric] = []
    alone = replace(marked, features=marked.features[:, [CLOSER_TO_PROMPT, LONGER]])
    nothing = replace(marked, features=np.zeros((len(marked), 1)))
    for split, groupings in (
        (PROMPTS, [marked.prompts]),
        (PEOPLE, [marked.people]),
        (BOTH, [marked.prompts, marked.people]),
    ):
        said = cross_fitted(marked, embedder, *groupings, seed=seed)
        without = cross_fitted(alone, embedder, *groupings, seed=seed)
        mean = cross_fitted(nothing, embedder, *groupings, seed=seed)
        figures += _ranked(marked, split, said, without)
        for control, marks in ((None, said), (ALONE, without), (MEAN_MARK, mean)):
            figures.append(MatcherMetric(ERROR, split, _error(marked, marks), control))
    for name, place in RULES.items():
        figures.append(
            MatcherMetric(SPEARMAN, ALL, _ranks(marked, marked.features[:, place]).interval(0), name)
        )
    return figures


def _ranked(marked: MarkedPairs, split: str, said: Floats, without: Floats) -> Iterator[MatcherMetric]:
    """Spearman of the head and of the answers alone, and what the head gains, on the same marks."""
    ranks = _ranks(marked, said, without)
    head, alone = ranks.pairs.index((0, 2)), ranks.pairs.index((1, 2))
    yield MatcherMetric(SPEARMAN, split, ranks.interval(head))
    yield MatcherMetric(SPEARMAN, split, ranks.interval(alone), ALONE)
    yield MatcherMetric(GAIN, split, ranks.difference(head, alone))


def _ranks(marked: MarkedPairs, *columns: Floats) -> PairAgreement:
    return pair_agreement(
        np.column_stack([*columns, marked.marks]), marked.people, marked.prompts, "spearman"
    )


def _error(marked: MarkedPairs, marks: Floats) -> Estimate:
    known = np.isfinite(marks)
    people, prompts = marked.people[known], marked.prompts[known]
    return cluster_mean(
        np.abs(marks - marked.marks)[known],
        people,
        prompts if known.any() and prompts_recur(people, prompts) else None,
        bounds=(0.0, 4.0),
    )
