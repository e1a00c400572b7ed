"""Fit and evaluate a matcher of relevance judgments: kernel ridge regression, calibration and the best F1 threshold.

A matcher is applied to prompts it has not seen, so its calibration and its threshold come from scores of each training prompt by a fit
without that prompt. Fits without some of the pairs have a closed form in the inverse that the fit on all pairs needs anyway, so that nested
cross-validation takes seconds (a solver such as scikit-learn's KernelRidge would be run some thousand times).

The data are prompt, attribute and majority label only: votes of models stored beside the labels cannot leak in.

For evaluation, prompts are dealt into folds several times. In each fold everything learnt from labels, including the threshold, comes from
the other prompts; only the scale of closeness, which uses no labels, is that of all pairs. A second split holds out people as well:
attributes of a person recur with other prompts, so a matcher that is split by prompt alone has seen most of them.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks import Benchmark
from personafit.models.embeddings import DEFAULT, make_embedder
from personafit.raters.fitted.matcher import (
    ATTRIBUTE_ALONE,
    DIGITS,
    Closeness,
    KernelSettings,
    Likeness,
    Matcher,
    PairVectors,
    embed_pairs,
    probabilities,
)
from personafit.raters.fitted.model import Floats, Rows
from personafit.statistics import Estimate, cluster_mean
from personafit.statistics.detection import Metric, best_threshold, pseudo_values
from personafit.train.cards import (
    QualityMetric,
    Say,
    TrainedRater,
    by_place,
    figure_table,
    make_folder,
    render_card,
    write_rater,
)
from personafit.train.cross_fitting import Bools, Split, calibrate, deal_folds, group_split, rows_by

FEWEST_PROMPTS = 3  # one to test on, and two to choose a threshold by leave-one-out
MOST_PAIRS = 10_000  # time is cubic in the pairs, memory quadratic
_DIGITS = 8  # decimals kept of a weight; later ones depend on the number of threads

FOLDS = 10
REPEATS = 3
PROMPT_FOLDS, PERSON_FOLDS = 5, 4  # if both are held out
METRICS: tuple[Metric, ...] = ("f1", "precision", "recall", "accuracy", "kappa", "yes_rate")
BY_PROMPT, BY_BOTH = "by prompt", "by prompt and person"
ALONE, GAIN = "attribute-alone", "f1_gain_over_attribute_alone"


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs of prompt and attribute with labels, column by column."""

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


def load_judged_pairs(benchmark: Benchmark, say: Say, most: int | None = MOST_PAIRS) -> JudgedPairs:
    """Return every labelled pair once; raise `UserError` if they cannot be fitted on."""
    name, known = benchmark.info.name, benchmark.info.gold
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == known}
    labels: dict[tuple[str, str, str], bool] = {}
    unlabelled = 0
    for item in benchmark.items():
        attribute = texts[item.products[0]]
        if item.id not in gold:
            unlabelled += 1
            continue
        if not attribute.strip():
            raise UserError(f"{name}: the attribute of {item.id} is empty; take the line out or fill it in.")
        if labels.setdefault((item.person, item.prompt, attribute), gold[item.id]) != gold[item.id]:
            raise UserError(
                f"{name}: '{attribute:.60}' of {item.person} is labelled yes and no for the same prompt ({item.id}); keep "
                "one of the lines."
            )
    if unlabelled:
        say(f"{unlabelled:,} pairs have no label and are left out.")
    people, prompts, attributes = (
        [list(column) for column in zip(*labels, strict=True)] if labels else ([], [], [])
    )
    pairs = JudgedPairs(people, prompts, attributes, np.array([*labels.values()], dtype=bool))
    having = len({prompt for prompt, yes in zip(pairs.prompts, pairs.relevant, strict=True) if yes})
    if having < FEWEST_PROMPTS or pairs.relevant.all():
        raise UserError(
            f"{name} has {len(pairs):,} labelled pairs, {int(pairs.relevant.sum()):,} of them relevant, to {having:,} prompts; "
            f"a matcher needs both labels, and {FEWEST_PROMPTS} prompts with something relevant to be tested on prompts left out."
        )
    if most is not None and len(pairs) > most:
        raise UserError(
            f"{name} has {len(pairs):,} labelled pairs; a matcher takes up to {most:,}: leave out some prompts."
        )
    return pairs


@dataclass(frozen=True)
class Fold:
    """A fit without some of the pairs."""

    base: float
    weights: Floats
    """One weight for each kept pair."""
    scores: Floats
    """Scores of the held-out pairs."""
    inner_scores: Floats
    """Score of each kept pair, by a fit without the pairs of its prompt as well."""
    threshold: float
    """The lowest score that counts as yes, which gives the best F1 on the inner scores; nan if no kept pair is relevant."""


@dataclass(frozen=True)
class SolvedPairs:
    """Labelled pairs with the inverse of their kernel; `closeness` is computed on all of them, without labels."""

    settings: KernelSettings
    pairs: PairVectors
    closeness: Closeness
    pair_closeness: Floats
    inverse: Floats
    relevant: Bools
    prompts: Sequence[str]

    def without(self, out: Rows) -> Fold:
        """Return the fit on all pairs but these, exactly as refitting on the others would give."""
        kept = np.setdiff1d(np.arange(len(self.pairs)), out)
        labels = self.relevant.astype(np.float64)
        base = float(labels[kept].mean())
        product = self.inverse @ (labels - base)
        cut = self.inverse[np.ix_(out, kept)]
        # Inverse of a matrix without some of its rows and columns.
        block = self.inverse[np.ix_(out, out)]
        correction = np.linalg.solve(block, np.column_stack([product[out], cut]))
        weights = product[kept] - cut.T @ correction[:, 0]
        inner = np.empty(len(kept))
        for rows in rows_by([self.prompts[row] for row in kept]):
            part = self.inverse[np.ix_(kept[rows], kept[rows])] - cut[:, rows].T @ correction[:, 1 + rows]
            inner[rows] = labels[kept[rows]] - np.linalg.solve(part, weights[rows])
        scores = labels[out] - correction[:, 0]
        return Fold(base, weights, scores, inner, best_threshold(inner, self.relevant[kept]))


def solve_pairs(judged: JudgedPairs, pairs: PairVectors, settings: KernelSettings) -> SolvedPairs:
    """Invert the kernel of the pairs; this is the only expensive step, cubic in their number."""
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
    """Return the matcher fitted on all pairs, whose vectors must come from the default embedder."""
    fit = solved.without(np.zeros(0, dtype=np.intp))
    calibration = calibrate(fit.inner_scores, judged.relevant)
    chance = float(probabilities(np.array([fit.threshold]), calibration)[0])
    numbers = {
        "settings": asdict(solved.settings),
        "base": fit.base,
        "calibration": list(calibration),
        "threshold": math.floor(chance * 10**DIGITS) / 10**DIGITS,  # rounded down as scores are
        "closeness_means": solved.closeness.means.tolist(),
        "closeness_scales": solved.closeness.scales.tolist(),
        "embedder": DEFAULT,
        "embedder_fingerprint": make_embedder(DEFAULT).fingerprint,
    }
    arrays = {
        "prompts": solved.pairs.prompts,
        "attributes": solved.closeness.attributes,
        "topics": solved.closeness.topics,
        "prompt_of": solved.pairs.prompt_of.astype(np.int32),
        "attribute_of": solved.pairs.attribute_of.astype(np.int32),
        "closeness": solved.pair_closeness.round(_DIGITS),
        "weights": fit.weights.round(_DIGITS),
    }
    card = {
        "pairs": len(judged),
        "relevant": int(judged.relevant.sum()),
        "prompts": len(set(judged.prompts)),
        "people": len(set(judged.people)),
    }
    return Matcher(numbers, arrays, card, frozenset(hash_text(prompt) for prompt in judged.prompts))


def answer_left_out(solved: SolvedPairs, split: Split) -> Bools:
    """Return yes or no for every pair, by the fit without its fold and that fit's own threshold."""
    count = len(solved.relevant)
    said = np.zeros(count, dtype=bool)
    for train, test in split:
        out = np.setdiff1d(np.arange(count), train)
        if solved.relevant[train].any():  # otherwise nothing can be learnt, and no pair is called relevant
            fold = solved.without(out)
            said[test] = fold.scores[np.searchsorted(out, test)] >= fold.threshold
    return said


def matcher_quality(
    judged: JudgedPairs,
    solved: SolvedPairs,
    *,
    folds: int = FOLDS,
    repeats: int = REPEATS,
    seed: int = 0,
    say: Say = lambda _: None,
) -> list[QualityMetric]:
    """Cross-validate the matcher and the attribute-alone control, by prompt and by prompt and person."""
    alone = solve_pairs(judged, solved.pairs, ATTRIBUTE_ALONE)
    splits = {
        BY_PROMPT: [group_split(deal_folds(judged.prompts, folds, seed + one)) for one in range(repeats)]
    }
    if len(set(judged.people)) >= 2:
        prompts, people = (
            deal_folds(judged.prompts, PROMPT_FOLDS, seed),
            deal_folds(judged.people, PERSON_FOLDS, seed + 1),
        )
        splits[BY_BOTH] = [group_split(prompts, people)]
    figures: list[QualityMetric] = []
    for name, parts in splits.items():
        say(f"Cross-validating {name} ...")
        said, control = ([answer_left_out(one, part) for part in parts] for one in (solved, alone))
        figures += [QualityMetric(metric, name, _mean(judged, said, metric)) for metric in METRICS]
        figures += [QualityMetric(metric, name, _mean(judged, control, metric), ALONE) for metric in METRICS]
        figures.append(QualityMetric(GAIN, name, _mean(judged, said, "f1", minus=control)))
    return figures


def _mean(
    judged: JudgedPairs, said: Sequence[Bools], metric: Metric, minus: Sequence[Bools] | None = None
) -> Estimate:
    """Return a metric averaged over repeated splits, or its paired difference to other answers."""
    found = [pseudo_values(one, judged.relevant, metric) for one in said]
    if minus is not None:
        others = [pseudo_values(one, judged.relevant, metric) for one in minus]
        found = [one - other for one, other in zip(found, others, strict=True)]
    values = np.mean(found, axis=0)
    if np.isnan(values).any():
        why = "undefined: it never says yes"
        return Estimate(None, None, None, len(judged), len(set(judged.people)), why)
    bounds = None if minus is not None else (-1.0, 1.0) if metric == "kappa" else (0.0, 1.0)
    return cluster_mean(values, judged.people, judged.prompts, bounds)


def card(matcher: Matcher, figures: Sequence[QualityMetric], source: str) -> str:
    """Render the card: what the matcher is, how it was fitted, and its held-out figures."""
    found = by_place(figures)
    splits = [
        (
            title,
            figure_table(found, [("matcher", split, None), ("attribute alone", split, ALONE)], METRICS),
            found[split, None, GAIN],
        )
        for split, title in ((BY_PROMPT, "Prompts left out"), (BY_BOTH, "Prompts and people left out"))
        if (split, None, GAIN) in found
    ]
    return render_card("matcher", matcher=matcher, source=source, splits=splits, **matcher.card)


def train_matcher(data: Path, out: Path, seed: int, say: Say) -> TrainedRater:
    """Fit a kernel rater of which attributes are relevant to a prompt, cross-validate it by prompt, and write it."""
    from personafit.benchmarks.recentering import open_relevance

    benchmark = open_relevance(data)
    judged = load_judged_pairs(benchmark, say)
    embedder = make_embedder()
    make_folder(out)
    say(f"Fitting on {len(judged):,} pairs of {len(set(judged.prompts)):,} prompts ...")
    solved = solve_pairs(judged, embed_pairs(embedder, judged.texts), KernelSettings())
    fitted = fit_matcher(judged, solved)
    figures = matcher_quality(judged, solved, seed=seed, say=say)
    source = benchmark.info.name
    return write_rater(out, fitted, figures, card(fitted, figures, source), source)
