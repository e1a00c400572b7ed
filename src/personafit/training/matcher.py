"""Fit a matcher on judgments of relevance: kernel ridge regression, a calibration, and the threshold of the best F1.

A matcher meets prompts it has not seen. So its calibration and its threshold come from scores of each training prompt
by a fit without that prompt. Fits without some of the pairs have a closed form in the inverse that the fit on all pairs
needs anyway, which is what makes cross-validation, with another such round inside each fold, a matter of seconds (a solver
such as scikit-learn's KernelRidge would be run some thousand times).

Only prompt, attribute and what most people said get this far: votes of models that stand beside the labels cannot leak in.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks import Benchmark
from personafit.models.embeddings import DEFAULT, make_embedder
from personafit.raters.fitted.matcher import (
    DIGITS,
    Closeness,
    KernelSettings,
    Likeness,
    Matcher,
    PairVectors,
    probabilities,
)
from personafit.raters.fitted.model import Floats, Rows
from personafit.statistics.detection import best_threshold
from personafit.training.cross_fitting import Bools, calibrate, rows_by

FEWEST_PROMPTS = 3  # one to test on, and two to choose a threshold by leaving one out
MOST_PAIRS = 10_000  # time grows with the cube of the pairs, memory with the square
_DIGITS = 8  # decimals kept of a weight: those after them depend on the threads of the machine


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs with labels, column by column."""

    people: list[str]
    prompts: list[str]
    attributes: list[str]
    relevant: Bools

    def __len__(self) -> int:
        return len(self.prompts)

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Prompt and attribute of every pair."""
        return list(zip(self.prompts, self.attributes, strict=True))


def load_judged_pairs(
    benchmark: Benchmark, note: Callable[[str], None], most: int | None = MOST_PAIRS
) -> JudgedPairs:
    """Every labelled pair; a sentence says what cannot be fitted on, and `note` takes what was left out."""
    name, known = benchmark.info.name, benchmark.info.gold
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == known}
    labels: dict[tuple[str, str, str], bool] = {}
    unlabelled = repeated = 0
    for item in benchmark.items():
        attribute = texts[item.products[0]]
        if item.id not in gold:
            unlabelled += 1
            continue
        if not attribute.strip():
            raise UserError(f"{name}: the attribute of {item.id} is empty; take the line out or fill it in.")
        key = (item.person, item.prompt, attribute)
        if labels.setdefault(key, gold[item.id]) != gold[item.id]:
            raise UserError(
                f"{name}: '{attribute:.60}' of {item.person} is labelled yes and no for the same prompt ({item.id}); keep "
                "one of the lines."
            )
        repeated += 1
    repeated -= len(labels)
    if unlabelled:
        note(f"{unlabelled:,} pairs have no label and are left out.")
    if repeated:
        note(f"{repeated:,} pairs stand twice with the same label and count once.")
    pairs = JudgedPairs(
        people=[person for person, _, _ in labels],
        prompts=[prompt for _, prompt, _ in labels],
        attributes=[attribute for _, _, attribute in labels],
        relevant=np.array(list(labels.values()), dtype=bool),
    )
    _check(pairs, name, most)
    return pairs


def _check(pairs: JudgedPairs, name: str, most: int | None) -> None:
    if not len(pairs):
        raise UserError(
            f"{name} has no labelled pairs of a prompt and an attribute: there is nothing to fit."
        )
    prompts = np.array(pairs.prompts)
    count = len(set(pairs.prompts))
    if count < FEWEST_PROMPTS:
        raise UserError(
            f"{name} has labels on {count} {'prompt' if count == 1 else 'prompts'}; a matcher is tested on prompts left out "
            f"and needs at least {FEWEST_PROMPTS}."
        )
    if pairs.relevant.all() or not pairs.relevant.any():
        which = "relevant" if pairs.relevant.all() else "irrelevant"
        raise UserError(f"{name}: all {len(pairs):,} pairs are labelled {which}; a matcher needs both kinds.")
    having = len(set(prompts[pairs.relevant].tolist()))
    if having < FEWEST_PROMPTS:
        raise UserError(
            f"{name}: only {having} prompts have a relevant attribute; a matcher needs at least {FEWEST_PROMPTS}."
        )
    if most is not None and len(pairs) > most:
        raise UserError(
            f"{name} has {len(pairs):,} labelled pairs; a matcher takes up to {most:,}: leave out some prompts."
        )


@dataclass(frozen=True)
class Fold:
    """A fit without some of the pairs."""

    base: float
    weights: Floats
    """One for each pair that was kept."""
    scores: Floats
    """Of the pairs left out, by the fit on those kept."""
    inner_scores: Floats
    """Of each kept pair, by a fit that did without its prompt as well."""
    threshold: float
    """The score from which on saying yes gives the best F1 by the inner scores; nan if nothing kept is relevant."""


@dataclass(frozen=True)
class SolvedPairs:
    """Labelled pairs with the inverse of their kernel; `closeness` is measured on all of them, without labels."""

    settings: KernelSettings
    pairs: PairVectors
    closeness: Closeness
    pair_closeness: Floats
    inverse: Floats
    relevant: Bools
    prompts: Sequence[str]

    def without(self, out: Rows) -> Fold:
        """The fit on all pairs but these, which is exactly what fitting anew on the others would give."""
        kept = np.setdiff1d(np.arange(len(self.pairs)), out)
        labels = self.relevant.astype(np.float64)
        base = float(labels[kept].mean())
        product = self.inverse @ (labels - base)
        cut = self.inverse[np.ix_(out, kept)]
        # By the formula for the inverse of a matrix without some of its rows and columns.
        block = self.inverse[np.ix_(out, out)]
        correction = np.linalg.solve(block, np.column_stack([product[out], cut])) if len(out) else cut[:, :0]
        weights = product[kept] - (cut.T @ correction[:, 0] if len(out) else 0.0)
        inner = np.empty(len(kept))
        for rows in rows_by([self.prompts[row] for row in kept]):
            part = self.inverse[np.ix_(kept[rows], kept[rows])]
            if len(out):
                part = part - cut[:, rows].T @ correction[:, 1 + rows]
            inner[rows] = labels[kept[rows]] - np.linalg.solve(part, weights[rows])
        scores = labels[out] - correction[:, 0] if len(out) else np.zeros(0)
        return Fold(base, weights, scores, inner, best_threshold(inner, self.relevant[kept]))


def solve_pairs(judged: JudgedPairs, pairs: PairVectors, settings: KernelSettings) -> SolvedPairs:
    """Invert the kernel of the pairs, the one costly step: its time grows with the cube of their number."""
    from scipy.linalg.lapack import dpotrf, dpotri

    closeness = Closeness.fit(pairs)
    pair_closeness = closeness.of(pairs)
    side = Likeness(pairs, pair_closeness)
    kernel = side.to(side, settings)
    kernel[np.diag_indices_from(kernel)] += settings.noise
    factor, _ = dpotrf(np.asfortranarray(kernel), lower=1, overwrite_a=1)
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return SolvedPairs(settings, pairs, closeness, pair_closeness, inverse, judged.relevant, judged.prompts)


def fit_matcher(judged: JudgedPairs, solved: SolvedPairs) -> Matcher:
    """The matcher of all pairs; the default embedder made their vectors."""
    fit = solved.without(np.zeros(0, dtype=np.intp))
    calibration = calibrate(fit.inner_scores, judged.relevant)
    chance = float(probabilities(np.array([fit.threshold]), calibration)[0])
    return Matcher(
        settings=solved.settings,
        pairs=solved.pairs,
        closeness=solved.closeness,
        pair_closeness=solved.pair_closeness.round(_DIGITS),
        weights=fit.weights.round(_DIGITS),
        base=fit.base,
        calibration=calibration,
        threshold=math.floor(chance * 10**DIGITS) / 10**DIGITS,  # cut where scores are cut
        embedder=DEFAULT,
        embedder_fingerprint=make_embedder(DEFAULT).fingerprint,
        fitted_on=frozenset(hash_text(prompt) for prompt in judged.prompts),
        card={
            "pairs": len(judged),
            "relevant": int(judged.relevant.sum()),
            "prompts": len(set(judged.prompts)),
            "people": len(set(judged.people)),
        },
    )
