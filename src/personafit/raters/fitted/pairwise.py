"""The fitted rater: which of two answers fits the person better, as an antisymmetric logit.

Two linear members are added up: surface features of the pair's difference, bounded so that no single feature can
decide alone, and short character n-grams of the answers.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit._hashing import hash_text
from personafit.raters.fitted.model import FittedModel
from personafit.raters.fitted.pairwise_features import answer_features
from personafit.raters.fitted.profiles import Facets, neighbours, profile_of

Floats = NDArray[np.float64]
PairToRate = tuple[Facets, str, str, str]

GRAM_DIGITS = 6  # decimals of a gram's weight
_SHARP = 4.0  # slope of the second bounded form of a feature; it tells mostly which answer has more


@dataclass(frozen=True)
class PairwiseModel(FittedModel):
    """Weights of both members; `blend` weighs them so that the margin is a calibrated logit."""

    feature_names: tuple[str, ...]
    scales: tuple[float, ...]
    soft_weights: tuple[float, ...]
    sharp_weights: tuple[float, ...]
    gram_weights: Mapping[str, float]
    blend: tuple[float, float]
    file_hash: str = field(default="", compare=False)
    """Fingerprint of a file of version 1, which was known by its bytes."""

    answers = "choice"

    def margin(self, facets: Facets, question: str, answer_a: str, answer_b: str) -> float:
        """Log odds that people choose A over B; swapping A and B negates it exactly."""
        return float(self.margins([(facets, question, answer_a, answer_b)])[0])

    def margins(self, pairs: Iterable[PairToRate]) -> Floats:
        """The margin of every (facets, question, answer A, answer B)."""
        differences, gram_differences = [], []
        for facets, question, answer_a, answer_b in pairs:
            differences.append(pair_difference(self.feature_names, facets, question, answer_a, answer_b))
            gram_differences.append(self._gram_score(answer_a) - self._gram_score(answer_b))
        if not differences:
            return np.zeros(0)
        bounded = bounded_forms(np.array(differences), np.array(self.scales))
        # A row's sum, unlike a matrix product, does not depend on which other pairs are rated with it.
        surface = (bounded * self._bounded_weights).sum(axis=1)
        margins: Floats = self.blend[0] * surface + self.blend[1] * np.array(gram_differences)
        return margins

    @cached_property
    def _bounded_weights(self) -> Floats:
        return np.array([*self.soft_weights, *self.sharp_weights])

    @cached_property
    def _gram_steps(self) -> dict[str, int]:
        # Whole numbers, because sets have no fixed order and a sum of floats would depend on it.
        return {gram: round(weight * 10**GRAM_DIGITS) for gram, weight in self.gram_weights.items()}

    @cached_property
    def _vocabulary(self) -> frozenset[str]:
        return frozenset(self.gram_weights)

    def _gram_score(self, answer: str) -> float:
        grams = answer_grams(answer)
        steps = sum(map(self._gram_steps.__getitem__, grams & self._vocabulary))
        return gram_value(grams) * steps * 10.0**-GRAM_DIGITS

    @cached_property
    def fingerprint(self) -> str:
        """Hash of what a file of version 1 held, the card included."""
        if self.file_hash:
            return self.file_hash
        card = {**self.card, "fitted_on": sorted(self.fitted_on)} if self.fitted_on else dict(self.card)
        document = {"format": "personafit.pairwise", "version": 1, "card": card, **self.numbers}
        return hash_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")

    @property
    def numbers(self) -> dict[str, Any]:
        """Both members, readable by name."""
        columns = (self.feature_names, self.scales, self.soft_weights, self.sharp_weights)
        return {
            "blend": {"surface": self.blend[0], "grams": self.blend[1]},
            "surface": {
                name: {"scale": scale, "soft": soft, "sharp": sharp}
                for name, scale, soft, sharp in zip(*columns, strict=True)
            },
            "grams": dict(self.gram_weights),
        }

    @classmethod
    def of(cls, numbers: Mapping[str, Any], arrays: Mapping[str, Any], **kept: Any) -> "PairwiseModel":
        """The model of what a file holds."""
        surface, blend = numbers["surface"], numbers["blend"]
        scales, soft, sharp = (
            tuple(_number(row[key]) for row in surface.values()) for key in ("scale", "soft", "sharp")
        )
        grams = {gram: _number(weight) for gram, weight in numbers["grams"].items()}
        if unknown := set(surface) - set(answer_features(profile_of({}), "", "")):
            raise ValueError(f"it uses features this program does not know: {', '.join(sorted(unknown))}")
        if min(scales, default=1.0) <= 0:
            raise ValueError("a feature's scale must be positive")
        weights = (_number(blend["surface"]), _number(blend["grams"]))
        return cls(tuple(surface), scales, soft, sharp, grams, weights, **kept)


def answer_grams(answer: str) -> frozenset[str]:
    """The distinct characters and pairs of neighbouring characters of an answer."""
    text = answer.lower()
    return neighbours(text)[1].union(text)


def gram_value(grams: frozenset[str]) -> float:
    """What one gram counts: less in a long answer, so that length alone is worth less, but not nothing."""
    return math.sqrt(math.sqrt(256 / max(1, len(grams))))


def pair_difference(
    names: Sequence[str], facets: Facets, question: str, answer_a: str, answer_b: str
) -> list[float]:
    """The features of A minus those of B."""
    for what, text in (("question", question), ("answer", answer_a), ("answer", answer_b)):
        if not isinstance(text, str):
            raise ValueError(f"The {what} must be a text, not {type(text).__name__}.")
    profile = profile_of(facets)
    of_a, of_b = answer_features(profile, question, answer_a), answer_features(profile, question, answer_b)
    return [of_a[name] - of_b[name] for name in names]


def bounded_forms(differences: Floats, scales: Floats) -> Floats:
    """Each scaled difference in a soft and a sharp form, both odd functions between -1 and 1."""
    scaled = differences / scales
    return np.concatenate([np.tanh(scaled), np.tanh(_SHARP * scaled)], axis=1)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)
