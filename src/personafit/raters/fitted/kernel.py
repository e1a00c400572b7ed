"""How alike two (prompt, attribute) pairs are: the matcher expects alike pairs to be judged alike.

Three kinds of likeness are added up: the attributes are alike (some matter for nearly every prompt, such as how
somebody likes to be answered); attributes and prompts are both alike; and the attribute is as close to its prompt in
topic as the other attribute is to its own, whatever the topic.

Each text is embedded once, however many pairs it stands in.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from personafit.models.embeddings import Embedder, Vectors

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|\n+")
_SHORTEST = 16  # characters; what is shorter is a heading or a stray mark rather than a sentence
_MOST_SENTENCES = 12
_WORD = re.compile(r"[\w'+#.-]+")
# What nearly every attribute has in common; without it the topic of one stands out.
_FRAME = frozenset(
    "a about an and appears are as at be been by could desire enjoy enjoys familiar for from has have in inclined "
    "interest interested into is it knowledge like likely likes may might not of on or other possibly potentially "
    "prefer prefers probably related seem seems some strong such than that the their them they to use user uses "
    "value values want wants who with work works".split()
)


@dataclass(frozen=True)
class PairVectors:
    """Pairs of a prompt and an attribute; `prompt_of` and `attribute_of` say which rows of the vectors a pair has."""

    prompts: Vectors
    sentences: Vectors
    sentence_of: Rows
    attributes: Vectors
    topics: Vectors
    lengths: Floats
    prompt_of: Rows
    attribute_of: Rows

    def __len__(self) -> int:
        return len(self.prompt_of)

    def take(self, rows: Rows) -> "PairVectors":
        """Some of the pairs; the vectors are shared."""
        return replace(self, prompt_of=self.prompt_of[rows], attribute_of=self.attribute_of[rows])


def embed_pairs(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> PairVectors:
    """The vectors of (prompt, attribute) pairs; a prompt is taken whole and sentence by sentence."""
    prompts = {prompt: place for place, prompt in enumerate(dict.fromkeys(prompt for prompt, _ in pairs))}
    attributes = {text: place for place, text in enumerate(dict.fromkeys(text for _, text in pairs))}
    sentences = [sentences_of(prompt) for prompt in prompts]
    return PairVectors(
        prompts=embedder.embed(list(prompts)),
        sentences=embedder.embed([sentence for part in sentences for sentence in part]),
        sentence_of=np.repeat(np.arange(len(prompts)), [len(part) for part in sentences]),
        attributes=embedder.embed(list(attributes)),
        topics=embedder.embed([topic_of(text) for text in attributes]),
        lengths=np.log([1.0 + len(text) for text in attributes]),
        prompt_of=np.array([prompts[prompt] for prompt, _ in pairs], dtype=np.intp),
        attribute_of=np.array([attributes[text] for _, text in pairs], dtype=np.intp),
    )


def sentences_of(prompt: str) -> list[str]:
    """The first sentences of a prompt: a long one rarely matches as a whole what one of its sentences matches."""
    parts = [part.strip() for part in _SENTENCE_END.split(prompt.strip())]
    return [part for part in parts if len(part) >= _SHORTEST][:_MOST_SENTENCES] or [prompt]


def topic_of(attribute: str) -> str:
    """An attribute without the words that frame it: 'Hindu mythology' where the user is interested in Hindu mythology."""
    words = [word.strip(".") for word in _WORD.findall(attribute)]
    return " ".join(word for word in words if word and word.lower() not in _FRAME) or attribute


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
