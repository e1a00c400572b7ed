"""The fitted matcher: from a prompt and a person's attributes to the probability that each one matters.

Each attribute is scored by itself, so a score does not depend on what else is on the list. A matcher holds vectors and
weights, no text of the training data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from personafit._hashing import content_hash, hash_text
from personafit.models.embeddings import Embedder, make_known_embedder
from personafit.raters.fitted.kernel import (
    Closeness,
    Floats,
    KernelSettings,
    Likeness,
    PairVectors,
    embed_pairs,
)
from personafit.raters.fitted.model import FittedModel

DIGITS = 6  # of a probability: the last bits of a sum depend on how many attributes are scored at once
_PRINTED = ("personafit.matcher", 1)  # part of the fingerprint, whatever the file's format is


@dataclass(frozen=True, eq=False)
class Matcher(FittedModel):
    """Everything needed to score attributes; at `threshold` and above an attribute counts as relevant."""

    settings: KernelSettings
    pairs: PairVectors
    closeness: Closeness
    pair_closeness: Floats
    weights: Floats
    base: float
    calibration: tuple[float, float]
    threshold: float
    embedder: str
    embedder_fingerprint: str

    answers = "relevance"
    array_names = ("prompts", "attributes", "topics", "prompt_of", "attribute_of", "closeness", "weights")

    def score(
        self, prompt: str, attributes: Sequence[str], reasons: Sequence[str | None] | None = None
    ) -> list[float]:
        """The probability that people call each attribute relevant to the prompt, in the order given.

        An empty prompt stands for whatever is usually asked. `reasons` are part of how raters are called. In one ablation
        on prompts left out they changed the ranking by .001 average precision and F1 by −.02: not distinguishable, so they
        are unused.
        """
        if not attributes:
            return []
        known = bool(prompt.strip())
        pairs = embed_pairs(self._embedder, [(prompt if known else "", text) for text in attributes])
        side = Likeness(pairs, self.closeness.of(pairs), prompt_known=known)
        fitted = Likeness(self.pairs, self.pair_closeness)
        raw = self.base + side.to(fitted, self.settings) @ self.weights
        return [round(float(value), DIGITS) for value in probabilities(raw, self.calibration)]

    @cached_property
    def _embedder(self) -> Embedder:
        return make_known_embedder(self.embedder, self.embedder_fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change a score or an answer."""
        arrays = [
            hash_text(name, np.ascontiguousarray(array).tobytes()) for name, array in self.arrays.items()
        ]
        return content_hash([*_PRINTED, self.numbers, arrays])

    @property
    def arrays(self) -> dict[str, Any]:
        """Vectors and weights, by name."""
        return {
            "prompts": self.pairs.prompts,
            "attributes": self.closeness.attributes,
            "topics": self.closeness.topics,
            "prompt_of": self.pairs.prompt_of.astype(np.int32),
            "attribute_of": self.pairs.attribute_of.astype(np.int32),
            "closeness": self.pair_closeness,
            "weights": self.weights,
        }

    @property
    def numbers(self) -> dict[str, Any]:
        """All that is not an array."""
        return {
            "settings": asdict(self.settings),
            "base": self.base,
            "calibration": list(self.calibration),
            "threshold": self.threshold,
            "closeness_means": self.closeness.means.tolist(),
            "closeness_scales": self.closeness.scales.tolist(),
            "embedder": self.embedder,
            "embedder_fingerprint": self.embedder_fingerprint,
        }

    @classmethod
    def of(cls, numbers: Mapping[str, Any], arrays: Mapping[str, Any], **kept: Any) -> "Matcher":
        """The matcher of what its files hold."""
        _check_arrays(arrays)
        nothing = arrays["prompts"][:0]
        pairs = PairVectors(
            prompts=arrays["prompts"],
            sentences=nothing,
            sentence_of=np.zeros(0, dtype=np.intp),
            attributes=arrays["attributes"],
            topics=arrays["topics"],
            lengths=np.zeros(0),
            prompt_of=arrays["prompt_of"].astype(np.intp),
            attribute_of=arrays["attribute_of"].astype(np.intp),
        )
        means, scales = (
            np.array(numbers[f"closeness_{name}"], dtype=np.float64) for name in ("means", "scales")
        )
        slope, intercept = (float(number) for number in numbers["calibration"])
        base, threshold = float(numbers["base"]), float(numbers["threshold"])
        if not math.isfinite(base + threshold + slope + intercept):
            raise ValueError("a number in it is not finite")
        return cls(
            settings=KernelSettings(**numbers["settings"]),
            pairs=pairs,
            closeness=Closeness(arrays["attributes"], arrays["topics"], means, scales),
            pair_closeness=arrays["closeness"],
            weights=arrays["weights"],
            base=base,
            calibration=(slope, intercept),
            threshold=threshold,
            embedder=str(numbers["embedder"]),
            embedder_fingerprint=str(numbers["embedder_fingerprint"]),
            **kept,
        )

    def check(self) -> None:
        """Its embedder must be there."""
        _ = self._embedder


def _check_arrays(arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that cannot belong to one matcher, or that would make every score no number."""
    prompts, attributes, prompt_of, attribute_of = (
        arrays[name] for name in ("prompts", "attributes", "prompt_of", "attribute_of")
    )
    shapes = {arrays[name].shape[:1] for name in ("prompt_of", "attribute_of", "closeness", "weights")}
    fits = len(shapes) == 1 and prompts.ndim == 2 and attributes.shape == arrays["topics"].shape
    for rows, places in ((prompts, prompt_of), (attributes, attribute_of)):
        fits = fits and bool(((places >= 0) & (places < len(rows))).all())
    if not fits or not all(np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("its arrays do not fit each other, or a number in them is not finite")


def probabilities(raw: Floats, calibration: tuple[float, float]) -> Floats:
    """Calibrated probabilities of raw scores."""
    logits = np.clip(calibration[0] * raw + calibration[1], -30, 30)
    chances: Floats = 1 / (1 + np.exp(-logits))
    return chances
