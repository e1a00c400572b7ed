"""How alike two (prompt, attribute) pairs are: the matcher expects alike pairs to be judged alike.

Three kinds of likeness are added up: the attributes are alike (some matter for nearly every prompt, such as how
somebody likes to be answered); attributes and prompts are both alike; and the attribute is as close to its prompt in
topic as the other attribute is to its own, whatever the topic.
"""

from dataclasses import dataclass

import numpy as np

from personafit.models.embeddings import Vectors
from personafit.raters.matcher.pairs import Floats, PairVectors


@dataclass(frozen=True)
class KernelSettings:
    """Weights of the three kinds of likeness, how fast each falls off, and how noisy a judgment is beside them."""

    attribute_weight: float = 1.0
    both_weight: float = 3.0
    closeness_weight: float = 1.0
    attribute_fall: float = 3.0
    prompt_fall: float = 2.0
    closeness_width: float = 2.0
    noise: float = 1.0


# What can be known from the attribute without the prompt.
ATTRIBUTE_ALONE = KernelSettings(both_weight=0.0, closeness_weight=0.0)


@dataclass(frozen=True)
class Closeness:
    """How close an attribute is to its prompt, as numbers that are comparable between prompts.

    The cosine of an attribute and a sentence is counted in standard deviations above the cosine of that sentence and the
    attributes of the training data: some sentences are close to everything.
    """

    attributes: Vectors
    topics: Vectors
    means: Floats
    scales: Floats

    @classmethod
    def fit(cls, pairs: PairVectors) -> "Closeness":
        """Take the measure of the pairs of the training data."""
        seen = np.unique(pairs.attribute_of)
        plain = cls(pairs.attributes[seen], pairs.topics[seen], np.zeros(3), np.ones(3))
        raw = plain.of(pairs)
        return cls(plain.attributes, plain.topics, raw.mean(axis=0), np.maximum(raw.std(axis=0), 1e-9))

    def of(self, pairs: PairVectors) -> Floats:
        """Three numbers a pair: closeness of the attribute, of its topic words, and its length."""
        columns = [
            _best_sentence(pairs, pairs.attributes, self.attributes),
            _best_sentence(pairs, pairs.topics, self.topics),
            pairs.lengths[pairs.attribute_of],
        ]
        scaled: Floats = (np.stack(columns, axis=1) - self.means) / self.scales
        return scaled


def _best_sentence(pairs: PairVectors, own: Vectors, others: Vectors) -> Floats:
    reference = pairs.sentences.astype(np.float64) @ others.T
    cosines = pairs.sentences.astype(np.float64) @ own.T
    spread = np.maximum(reference.std(axis=1, keepdims=True), 1e-9)
    standard = (cosines - reference.mean(axis=1, keepdims=True)) / spread
    best = np.full((len(pairs.prompts), len(own)), -np.inf)
    np.maximum.at(best, pairs.sentence_of, standard)
    closest: Floats = best[pairs.prompt_of, pairs.attribute_of]
    return closest


@dataclass(frozen=True)
class Likeness:
    """One side of a comparison: pairs with their closeness. A prompt of None stands for whatever is usually asked."""

    pairs: PairVectors
    closeness: Floats
    prompt_known: bool = True

    def to(self, other: "Likeness", settings: KernelSettings) -> Floats:
        """The likeness of each pair here to each pair of the other side."""
        attributes = _falling(self.pairs.attributes, other.pairs.attributes, settings.attribute_fall)
        alike = attributes[np.ix_(self.pairs.attribute_of, other.pairs.attribute_of)]
        total = settings.attribute_weight * alike
        if settings.both_weight:
            prompts = _falling(self.pairs.prompts, other.pairs.prompts, settings.prompt_fall)
            if not self.prompt_known:
                prompts = _falling(other.pairs.prompts, other.pairs.prompts, settings.prompt_fall)
                prompts = np.repeat(prompts.mean(axis=0, keepdims=True), len(self.pairs.prompts), axis=0)
            total += (
                settings.both_weight * alike * prompts[np.ix_(self.pairs.prompt_of, other.pairs.prompt_of)]
            )
        if settings.closeness_weight:
            here = self.closeness if self.prompt_known else np.zeros_like(self.closeness)
            total += settings.closeness_weight * _bell(here, other.closeness, settings.closeness_width)
        return total


def _falling(left: Vectors, right: Vectors, fall: float) -> Floats:
    """1 for equal unit vectors, less the wider their angle."""
    likeness: Floats = np.exp(-fall * (1.0 - left.astype(np.float64) @ right.T))
    return likeness


def _bell(left: Floats, right: Floats, width: float) -> Floats:
    squares = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1)[None] - 2 * left @ right.T
    bell: Floats = np.exp(-np.maximum(squares, 0.0) / (2 * width**2 * left.shape[1]))
    return bell
