"""Fit a matcher on judgments of relevance: kernel ridge regression, a calibration, and the threshold of the best F1; and what it is worth.

A matcher meets prompts it has not seen. So its calibration and its threshold come from scores of each training prompt
by a fit without that prompt. Fits without some of the pairs have a closed form in the inverse that the fit on all pairs
needs anyway, which is what makes cross-validation, with another such round inside each fold, a matter of seconds (a solver
such as scikit-learn's KernelRidge would be run some thousand times).

Only prompt, attribute and what most people said get this far: votes of models that stand beside the labels cannot leak in.

To measure it, prompts are dealt into folds several times over. In each fold everything learnt from labels, the threshold included, comes
from the other prompts; only the scale on which closeness is measured, which knows no labels, is that of all pairs. A second split leaves
out people as well: attributes of a person recur with other prompts, so a matcher that is split by prompt alone has met most of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from personafit._errors import UserError
from personafit._hashing import hash_text
from personafit.benchmarks import Benchmark
from personafit.models.embeddings import DEFAULT, Vectors, make_embedder
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
from personafit.statistics.detection import (
    Metric,
    average_precision,
    best_threshold,
    detection,
    pseudo_values,
)
from personafit.statistics.influence import influence_estimate
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

FEWEST_PROMPTS = 3  # one to test on, and two to choose a threshold by leaving one out
MOST_PAIRS = 10_000  # time grows with the cube of the pairs, memory with the square
_DIGITS = 8  # decimals kept of a weight: those after them depend on the threads of the machine

FOLDS = 10
REPEATS = 3
PROMPT_FOLDS, PERSON_FOLDS = 5, 4  # where both are left out
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


def load_judged_pairs(benchmark: Benchmark, say: Say, most: int | None = MOST_PAIRS) -> JudgedPairs:
    """Every labelled pair; `say` is told what was left out, and an error says what cannot be fitted on."""
    name, known = benchmark.info.name, benchmark.info.gold
    texts = {product.id: product.text for product in benchmark.products()}
    gold = {row.item: row.label == "yes" for row in benchmark.gold() if row.rater == known}
    labels: dict[tuple[str, str, str], bool] = {}
    unlabelled = repeated = 0
    for item in benchmark.items():
        attribute = texts[item.products[0]]
        key = (item.person, item.prompt, attribute)
        if item.id not in gold:
            unlabelled += 1
            continue
        if not attribute.strip():
            raise UserError(f"{name}: the attribute of {item.id} is empty; take the line out or fill it in.")
        repeated += key in labels
        if labels.setdefault(key, gold[item.id]) != gold[item.id]:
            raise UserError(
                f"{name}: '{attribute:.60}' of {item.person} is labelled yes and no for the same prompt ({item.id}); keep "
                "one of the lines."
            )
    if unlabelled:
        say(f"{unlabelled:,} pairs have no label and are left out.")
    if repeated:
        say(f"{repeated:,} pairs stand twice with the same label and count once.")
    people, prompts, attributes = (
        [list(column) for column in zip(*labels, strict=True)] if labels else ([], [], [])
    )
    pairs = JudgedPairs(people, prompts, attributes, np.array([*labels.values()], dtype=bool))
    _check(pairs, name, most)
    return pairs


def _check(pairs: JudgedPairs, name: str, most: int | None) -> None:
    count = len(set(pairs.prompts))
    having = len({prompt for prompt, yes in zip(pairs.prompts, pairs.relevant, strict=True) if yes})
    if not len(pairs):
        why = "has no labelled pairs of a prompt and an attribute: there is nothing to fit"
    elif count < FEWEST_PROMPTS:
        why = f"has labels on {count} prompts; a matcher is tested on prompts left out and needs at least {FEWEST_PROMPTS}"
    elif pairs.relevant.all() or not having:
        which = "relevant" if having else "irrelevant"
        why = f"has {len(pairs):,} pairs that are all labelled {which}; a matcher needs both kinds"
    elif having < FEWEST_PROMPTS:
        why = f"has a relevant attribute for {having} prompts only; a matcher needs at least {FEWEST_PROMPTS}"
    elif most is not None and len(pairs) > most:
        why = f"has {len(pairs):,} labelled pairs; a matcher takes up to {most:,}: leave out some prompts"
    else:
        return
    raise UserError(f"{name} {why}.")


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
    say: Say = lambda _: None,
) -> list[QualityMetric]:
    """Cross-validate the matcher of solved pairs, and its controls."""
    splits = [group_split(deal_folds(judged.prompts, folds, seed + one)) for one in range(repeats)]
    rows = len(judged)
    say(f"Cross-validating by prompt: {folds} folds, {repeats} times over ...")
    by_prompt = [answer_left_out(solved, split) for split in splits]
    figures = _figures(judged, by_prompt, BY_PROMPT)
    say("The same on the attribute alone ...")
    alone = solve_pairs(judged, solved.pairs, ATTRIBUTE_ALONE)
    by_prompt_alone = [answer_left_out(alone, split) for split in splits]
    figures += _figures(judged, by_prompt_alone, BY_PROMPT, "attribute-alone")
    figures.append(_gain(judged, by_prompt, by_prompt_alone, BY_PROMPT))
    say("The same on counted words ...")
    words = embed_pairs(CountedWords([*set(judged.prompts), *set(judged.attributes)]), judged.texts)
    by_words = [answer_left_out(solve_pairs(judged, words, solved.settings), splits[0])]
    figures += _figures(judged, by_words, BY_PROMPT, "tf-idf")
    figures += _figures(judged, [_by_cosine(solved, splits[0])], BY_PROMPT, "embedding")
    always = HeldOutPredictions(np.zeros(rows), np.ones(rows, dtype=bool))
    figures += _figures(judged, [always], BY_PROMPT, "always-yes")
    if len(set(judged.people)) >= 2:
        say("Cross-validating by prompt and person at once ...")
        both_split = group_split(
            deal_folds(judged.prompts, PROMPT_FOLDS, seed), deal_folds(judged.people, PERSON_FOLDS, seed + 1)
        )
        both, both_alone = ([answer_left_out(one, both_split)] for one in (solved, alone))
        figures += _figures(judged, both, BY_BOTH)
        figures += _figures(judged, both_alone, BY_BOTH, "attribute-alone")
        figures.append(_gain(judged, both, both_alone, BY_BOTH))
    return figures


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
    """The mean over repeats with its interval."""
    figures = [
        QualityMetric(metric, split, _over_repeats(judged, answers, metric), control) for metric in METRICS
    ]
    figures.append(QualityMetric("f1_mean_of_prompts", split, _mean_of_prompts(judged, answers), control))
    ranking = [average_precision(one.scores, judged.relevant) or 0.0 for one in answers]
    why = "pooled over prompts; no interval"
    average = Estimate(float(np.mean(ranking)), None, None, len(judged), len(set(judged.people)), why)
    figures.append(QualityMetric("average_precision", split, average, control))
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
    found = by_place(figures)
    metrics = (*METRICS, "f1_mean_of_prompts", "average_precision")
    heads = (*METRICS, "mean F1 of prompts", "average precision")
    splits = []
    for split, title in ((BY_PROMPT, "Prompts left out"), (BY_BOTH, "Prompts and people left out")):
        rows = [(name, split, one) for one, name in _ROWS.items() if (split, one, "f1") in found]
        if rows:
            gain = found[split, None, "f1_gain_over_attribute_alone"]
            splits.append((title, figure_table(found, rows, metrics, heads), gain))
    return render_card("matcher", matcher=matcher, source=source, splits=splits, **matcher.card)


def train_matcher(data: Path, out: Path, seed: int, say: Say) -> TrainedRater:
    """Fit a kernel rater of which attributes matter for a prompt, cross-validated by prompt, and write it."""
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
