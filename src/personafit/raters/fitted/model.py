"""The fitted rater: which of two answers fits the person better, as an antisymmetric logit.

Two linear members are added up: surface features of the pair's difference, bounded so that no single feature can
decide alone, and short character n-grams of the answers. Everything fitted is in one readable JSON file.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from personafit.raters.fitted.features import answer_features
from personafit.raters.fitted.profiles import Facets, neighbours, profile_of

Floats = NDArray[np.float64]
PairToRate = tuple[Facets, str, str, str]

FILE_FORMAT = "personafit.pairwise"
FILE_VERSION = 1
GRAM_DIGITS = 6  # decimals of a gram's weight
_SHARP = 4.0  # slope of the second bounded form of a feature; it tells mostly which answer has more


@dataclass(frozen=True)
class PairwiseModel:
    """Weights of both members; `blend` weighs them so that the margin is a calibrated logit."""

    feature_names: tuple[str, ...]
    scales: tuple[float, ...]
    soft_weights: tuple[float, ...]
    sharp_weights: tuple[float, ...]
    gram_weights: Mapping[str, float]
    blend: tuple[float, float]
    card: Mapping[str, Any] = field(default_factory=dict)

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

    def save(self, path: str | Path) -> None:
        """Write everything needed to rate as JSON; `load` gives back an equal model."""
        surface = {
            name: {"scale": scale, "soft": soft, "sharp": sharp}
            for name, scale, soft, sharp in zip(
                self.feature_names, self.scales, self.soft_weights, self.sharp_weights, strict=True
            )
        }
        document = {
            "format": FILE_FORMAT,
            "version": FILE_VERSION,
            "card": dict(self.card),
            "blend": {"surface": self.blend[0], "grams": self.blend[1]},
            "surface": surface,
            "grams": dict(self.gram_weights),
        }
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        Path(path).write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "PairwiseModel":
        """Read a saved model; a ValueError says what is wrong with the file."""
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not a pairwise rater: {error}") from error
        if not isinstance(document, dict) or document.get("format") != FILE_FORMAT:
            raise ValueError(f'{path} is not a pairwise rater: it lacks "format": "{FILE_FORMAT}".')
        if document.get("version") != FILE_VERSION:
            raise ValueError(
                f"{path} has version {document.get('version')!r}; this program reads version {FILE_VERSION}."
            )
        try:
            surface, blend = document["surface"], document["blend"]
            model = cls(
                feature_names=tuple(surface),
                scales=tuple(_number(row["scale"]) for row in surface.values()),
                soft_weights=tuple(_number(row["soft"]) for row in surface.values()),
                sharp_weights=tuple(_number(row["sharp"]) for row in surface.values()),
                gram_weights={gram: _number(weight) for gram, weight in document["grams"].items()},
                blend=(_number(blend["surface"]), _number(blend["grams"])),
                card=dict(document.get("card", {})),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"{path} is a damaged pairwise rater: {error!r}") from error
        if unknown := set(model.feature_names) - set(answer_features(profile_of({}), "", "")):
            raise ValueError(
                f"{path} uses features this program does not know: {', '.join(sorted(unknown))}."
            )
        if min(model.scales, default=1.0) <= 0:
            raise ValueError(f"{path} is a damaged pairwise rater: a feature's scale must be positive.")
        return model


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
