"""The fitted matcher: from a prompt and a person's attributes to the probability that each one matters.

Each attribute is scored by itself, so a score does not depend on what else is on the list. A matcher is a folder of two
files, `matcher.json` and `matcher.npz`; they hold vectors and weights, no text of the training data.
"""

import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from personafit._errors import UserError
from personafit._hashing import content_hash, hash_text
from personafit.models.embeddings import Embedder, make_known_embedder
from personafit.raters.matcher.kernel import Closeness, KernelSettings, Likeness
from personafit.raters.matcher.pairs import Floats, PairVectors, embed_pairs
from personafit.raters.reading import check_format, reading_fitted

FILE_FORMAT = "personafit.matcher"
FILE_VERSION = 1
DIGITS = 6  # of a probability: the last bits of a sum depend on how many attributes are scored at once
_ARRAYS = ("prompts", "attributes", "topics", "prompt_of", "attribute_of", "closeness", "weights")


@dataclass(frozen=True, eq=False)
class Matcher:
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
    fitted_on: frozenset[str] = frozenset()
    card: Mapping[str, Any] = field(default_factory=dict)

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
        embedder = make_known_embedder(self.embedder)
        if embedder.fingerprint != self.embedder_fingerprint:
            raise UserError(
                f"This matcher was fitted with another version of the embedder '{self.embedder}' than is installed; fit "
                "it again with `personafit train matcher`."
            )
        return embedder

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change a score or an answer."""
        arrays = [
            hash_text(name, np.ascontiguousarray(array).tobytes()) for name, array in self._arrays.items()
        ]
        return content_hash([FILE_FORMAT, FILE_VERSION, self._numbers, arrays])

    @property
    def _arrays(self) -> dict[str, Any]:
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
    def _numbers(self) -> dict[str, Any]:
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

    def save(self, folder: Path) -> None:
        """Write the two files; `load` gives back a matcher with the same scores and fingerprint."""
        folder.mkdir(parents=True, exist_ok=True)
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **self._arrays)
        head = {"format": FILE_FORMAT, "version": FILE_VERSION, "fingerprint": self.fingerprint}
        document = head | self._numbers | {"fitted_on": sorted(self.fitted_on), "card": dict(self.card)}
        (folder / "matcher.npz").write_bytes(buffer.getvalue())
        text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
        (folder / "matcher.json").write_text(text + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> "Matcher":
        """Read a folder that `personafit train matcher` wrote; its embedder must be there."""
        path = Path(folder).expanduser()
        path = path.parent if path.name == "matcher.json" else path
        with reading_fitted(path, "matcher", f"`personafit train matcher --out {path}` writes it"):
            document = json.loads((path / "matcher.json").read_text(encoding="utf-8"))
            with np.load(path / "matcher.npz", allow_pickle=False) as file:
                arrays = {name: file[name] for name in _ARRAYS}
            check_format(document, FILE_FORMAT, FILE_VERSION)
            matcher = cls._of(document, arrays)
            if matcher.fingerprint != document["fingerprint"]:
                raise ValueError("its two files do not belong together or were changed")
        _ = matcher._embedder
        return matcher

    @classmethod
    def _of(cls, document: Mapping[str, Any], arrays: Mapping[str, Any]) -> "Matcher":
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
            np.array(document[f"closeness_{name}"], dtype=np.float64) for name in ("means", "scales")
        )
        slope, intercept = (float(number) for number in document["calibration"])
        threshold = float(document["threshold"])
        if not math.isfinite(threshold + slope + intercept):
            raise ValueError("a number in matcher.json is not finite")
        return cls(
            settings=KernelSettings(**document["settings"]),
            pairs=pairs,
            closeness=Closeness(arrays["attributes"], arrays["topics"], means, scales),
            pair_closeness=arrays["closeness"],
            weights=arrays["weights"],
            base=float(document["base"]),
            calibration=(slope, intercept),
            threshold=threshold,
            embedder=str(document["embedder"]),
            embedder_fingerprint=str(document["embedder_fingerprint"]),
            fitted_on=frozenset(document.get("fitted_on", ())),
            card=dict(document.get("card", {})),
        )


def probabilities(raw: Floats, calibration: tuple[float, float]) -> Floats:
    """Calibrated probabilities of raw scores."""
    logits = np.clip(calibration[0] * raw + calibration[1], -30, 30)
    chances: Floats = 1 / (1 + np.exp(-logits))
    return chances
