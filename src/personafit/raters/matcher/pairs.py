"""Prompts and attributes as vectors: each text is embedded once, however many pairs it stands in."""

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
