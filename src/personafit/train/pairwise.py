"""Fit and evaluate a pairwise rater of human choices, with all tuning done on held-out people.

The evaluation has accuracy with clustered intervals, subsets that control for length, and the gain over the overlap rule. No person is ever
on both sides of a split: people are dealt into folds, then their pairs follow.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from personafit._errors import UserError
from personafit.contexts import Context
from personafit.people import facet_values
from personafit.raters.fitted.model import Floats, Rows
from personafit.raters.fitted.pairwise import (
    GRAM_DIGITS,
    PairwiseModel,
    answer_features,
    answer_grams,
    bounded_forms,
    gram_value,
    pair_difference,
    profile_of,
)
from personafit.raters.rater import fitted_mark
from personafit.raters.rules import rule_lead
from personafit.statistics import Estimate, cluster_mean
from personafit.train.cards import Say, TrainedRater, card_table, render_card, show_estimate, write_rater
from personafit.train.cross_fitting import Bools, Split, blend, deal_folds, fit_choices, group_split
from personafit.train.pairs import PreferencePair, load_choices, open_choices

SURFACE_PENALTIES = (400.0, 200.0, 100.0, 50.0, 25.0)
GRAM_PENALTIES = (800.0, 400.0, 200.0, 100.0, 50.0)
INNER_FOLDS = 5
_LEAST_SHARE = 0.03  # least share of answers with a gram; rarer ones reflect the topic rather than the fit
_DIGITS = 6  # significant digits kept of a weight, for a readable file
MATCHED = 0.1  # lengths within this share of the longer answer count as matched


def fit_pairwise(choices: Sequence[PreferencePair], *, seed: int = 0) -> PairwiseModel:
    """Fit on all choices; penalties and calibration come from inner folds by person."""
    _check(choices)
    with threadpool_limits(1, "blas"):  # for such small steps, several threads mostly wait for each other
        model = _fit(_Table(choices), np.arange(len(choices)), [c.person for c in choices], seed)
    card: dict[str, Any] = {
        "pairs": len(choices),
        "people": len({choice.person for choice in choices}),
        "tiers": dict(sorted(Counter(choice.tier for choice in choices if choice.tier).items())),
        "penalties": model.card["penalties"],
        "seed": seed,
    }
    # Lets a run report when a rater judges for people it was fitted on.
    met = frozenset(fitted_mark(choice.person) for choice in choices)
    return replace(model, card=card, fitted_on=met)


def cross_fit(choices: Sequence[PreferencePair], *, folds: int = 10, seed: int = 0) -> Floats:
    """Return the margin of each choice by a model fitted without the people of its fold; above 0 the chosen answer wins."""
    _check(choices)
    owners = [choice.person for choice in choices]
    table = _Table(choices)
    margins = np.zeros(len(choices))
    for train, test in group_split(deal_folds(owners, folds, seed)):
        with threadpool_limits(1, "blas"):
            model = _fit(table, train, owners, seed)
        rows = [choices[row] for row in test.tolist()]
        margins[test] = model.margins((c.facets, c.question, c.chosen, c.rejected) for c in rows)
    return margins


class _Table:
    """What does not depend on the split: feature differences and the character n-grams of every answer."""

    def __init__(self, choices: Sequence[PreferencePair]) -> None:
        self.names = tuple(answer_features(profile_of({}), "", ""))
        self.differences = np.array(
            [pair_difference(self.names, c.facets, c.question, c.chosen, c.rejected) for c in choices]
        )
        self.grams = [(answer_grams(choice.chosen), answer_grams(choice.rejected)) for choice in choices]

    def vocabulary(self, rows: Rows) -> list[str]:
        counts = Counter(gram for row in rows for grams in self.grams[row] for gram in grams)
        least = max(2.0, _LEAST_SHARE * 2 * len(rows))
        return sorted(gram for gram, count in counts.items() if count >= least and _writable(gram))

    def gram_differences(self, rows: Rows, vocabulary: Sequence[str]) -> Any:
        from scipy.sparse import csr_matrix

        column = {gram: place for place, gram in enumerate(vocabulary)}
        values: list[float] = []
        places: list[tuple[int, int]] = []
        for place, row in enumerate(rows):
            for sign, grams in zip((1.0, -1.0), self.grams[row], strict=True):
                known = [column[gram] for gram in grams if gram in column]
                values += [sign * gram_value(grams)] * len(known)
                places += [(place, gram) for gram in known]
        shape = (len(rows), len(vocabulary))
        return csr_matrix((values, np.array(places).reshape(-1, 2).T), shape=shape)


def _fit(table: _Table, rows: Rows, owners: Sequence[str], seed: int) -> PairwiseModel:
    differences = table.differences[rows]
    scales = np.sqrt((differences**2).mean(axis=0))
    # A constant feature gets scale 1 instead of a division by zero.
    scales[scales < 1e-9] = 1.0
    vocabulary = table.vocabulary(rows)
    members = bounded_forms(differences, scales), table.gram_differences(rows, vocabulary)
    row_owners = [owners[row] for row in rows.tolist()]
    split = group_split(deal_folds(row_owners, INNER_FOLDS, seed + 1))
    penalties, weights = _choose(
        _left_out_scores(members[0], SURFACE_PENALTIES, split),
        _left_out_scores(members[1], GRAM_PENALTIES, split),
        row_owners,
    )
    surface, grams = (
        fit_choices(inputs, penalty) for inputs, penalty in zip(members, penalties, strict=True)
    )
    half = len(table.names)
    columns = (_rounded(values) for values in (scales, surface[:half], surface[half:]))
    blended = _rounded(weights)
    numbers = {
        "blend": {"surface": blended[0], "grams": blended[1]},
        "surface": {
            name: dict(zip(("scale", "soft", "sharp"), row, strict=True))
            for name, *row in zip(table.names, *columns, strict=True)
        },
        "grams": {
            gram: round(weight, GRAM_DIGITS) for gram, weight in zip(vocabulary, grams.tolist(), strict=True)
        },
    }
    card = {"penalties": {"surface": penalties[0], "grams": penalties[1]}}
    return PairwiseModel(numbers, card=card)


def _left_out_scores(inputs: Any, penalties: Sequence[float], split: Split) -> dict[float, Floats]:
    """Return for each penalty, strongest first, the scores of people by a fit without them."""
    scores = {penalty: np.zeros(inputs.shape[0]) for penalty in penalties}
    for train, test in split:
        weights: Floats | None = None
        for penalty in penalties:
            weights = fit_choices(inputs[train], penalty, weights)
            scores[penalty][test] = inputs[test] @ weights
    return scores


def _choose(
    surface: dict[float, Floats], grams: dict[float, Floats], owners: Sequence[str]
) -> tuple[tuple[float, float], Floats]:
    """Return the strongest penalties that are not clearly worse than the best on held-out people, and their calibration.

    "Not clearly" means within one standard error over people of the difference in log loss: the best of many candidates is partly luck, and
    a stronger penalty generalises better to unseen people.
    """
    blends: dict[tuple[float, float], Floats] = {}
    losses: dict[tuple[float, float], Floats] = {}
    for penalties in product(surface, grams):
        scores = np.stack([surface[penalties[0]], grams[penalties[1]]], axis=1)
        blends[penalties] = blend(scores)
        losses[penalties] = np.logaddexp(0, -scores @ blends[penalties])
    best = min(losses, key=lambda penalties: float(losses[penalties].mean()))
    place = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
    owner_of = np.array([place[owner] for owner in owners])
    for penalties in sorted(losses, key=lambda candidate: -candidate[0] * candidate[1]):
        excess = losses[penalties] - losses[best]
        by_owner = np.bincount(owner_of, weights=excess - excess.mean())
        if excess.mean() <= np.sqrt((by_owner**2).sum()) / len(excess):
            break
    return penalties, blends[penalties]


def _rounded(values: Floats) -> tuple[float, ...]:
    return tuple(float(f"{value:.{_DIGITS}g}") for value in values)


def _writable(gram: str) -> bool:
    """Return whether a gram can be encoded in UTF-8, which a lone surrogate cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in gram)


def _check(choices: Sequence[PreferencePair]) -> None:
    for number, choice in enumerate(choices, 1):
        for what in ("person", "question", "chosen", "rejected"):
            text = getattr(choice, what)
            if not isinstance(text, str) or not text.strip():
                raise ValueError(
                    f"Choice {number}: its {what} must be a text that is not empty, not {text!r:.80}."
                )
        if choice.chosen == choice.rejected:
            raise ValueError(f"Choice {number}: the chosen and the rejected answer are the same text.")
    if (people := len({choice.person for choice in choices})) < 4:
        raise ValueError(f"Fitting splits by person twice and needs at least 4 people; there are {people}.")


@dataclass(frozen=True)
class QualityReport:
    """Held-out figures of the rater, as fractions. Subsets without pairs are left out."""

    accuracy: dict[str, Estimate]
    gain_over_overlap: dict[str, Estimate]
    overlap: Estimate
    length: Estimate


def quality(choices: Sequence[PreferencePair], margins: Floats) -> QualityReport:
    """Evaluate margins of chosen over rejected, made without the choice's person, as by `cross_fit`."""
    if len(choices) != len(margins) or not len(choices):
        raise ValueError(f"Quality needs one margin for each choice, not {len(margins)} for {len(choices)}.")
    if not np.isfinite(margins).all():
        raise ValueError("A margin is not a finite number.")
    people, questions = (np.array([getattr(c, name) for c in choices]) for name in ("owner", "question"))
    won = _won(margins)
    overlap, length = (_won(np.array([_lead(rule, c) for c in choices])) for rule in ("overlap", "length"))
    subsets = _subsets(choices)

    def mean(values: Floats, rows: Bools, least: float = 0.0) -> Estimate:
        return cluster_mean(values[rows], people[rows], questions[rows], bounds=(least, 1.0))

    return QualityReport(
        accuracy={name: mean(won, rows) for name, rows in subsets.items()},
        gain_over_overlap={name: mean(won - overlap, rows, -1.0) for name, rows in subsets.items()},
        overlap=mean(overlap, subsets["all"]),
        length=mean(length, subsets["all"]),
    )


def _lead(rule: str, choice: PreferencePair) -> float:
    told = Context("profile", "", tuple(facet_values(choice.facets)), choice.owner, choice.facets)
    return rule_lead(rule, choice.chosen, choice.rejected, choice.question, told)


def _won(margins: Floats) -> Floats:
    return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))


def _subsets(choices: Sequence[PreferencePair]) -> dict[str, Bools]:
    tiers = np.array([choice.tier for choice in choices])
    chosen, rejected = (np.array([len(getattr(c, side)) for c in choices]) for side in ("chosen", "rejected"))
    subsets = {"all": np.ones(len(choices), dtype=bool)}
    subsets |= {tier: tiers == tier for tier in dict.fromkeys(tiers.tolist()) if tier}
    subsets["length-matched"] = np.abs(chosen - rejected) <= MATCHED * np.maximum(chosen, rejected)
    subsets["shorter chosen"] = chosen < rejected
    return {name: rows for name, rows in subsets.items() if rows.any()}


def accuracy_table(report: QualityReport) -> str:
    """Render accuracy by subset, in percent, for a card."""
    rows = [
        (
            name,
            f"{one.n:,}",
            show_estimate(one, ".1f", 100),
            show_estimate(report.gain_over_overlap[name], "+.1f", 100),
        )
        for name, one in report.accuracy.items()
    ]
    return card_table(("pairs", "n", "accuracy", "gain over the overlap rule"), rows)


def train_pairwise(data: Path, out: Path, seed: int, say: Say) -> TrainedRater:
    """Fit a rater of choices between two answers, cross-validate it by person, and write it."""
    benchmark = open_choices(data)
    choices = load_choices(benchmark)
    people = len({choice.person for choice in choices})
    say(f"Cross-fitting {len(choices):,} choices of {people:,} people, then fitting on all of them ...")
    try:
        report = quality(choices, cross_fit(choices, seed=seed))
        model = fit_pairwise(choices, seed=seed)
    except ValueError as error:
        raise UserError(f"{data}: {error}") from error
    source = benchmark.info.name
    facts = {"pairs": len(choices), "people": people, "source": source}
    card = render_card("pairwise", report=report, accuracy=accuracy_table(report), **facts)
    return write_rater(out, model, report, card, source)
