"""The fitted verifier: from a conversation and statements about its user to the probability that each is problematic.

VerifierWeights of named features and two thresholds, no text of the training data. `starter` names the one that comes with the
package, fitted on the starter set.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from personafit._hashing import content_hash
from personafit.models.embeddings import DEFAULT, Embedder, make_known_embedder
from personafit.raters.fitted.model import FittedModel
from personafit.raters.fitted.verifier_features import FEATURES, Floats, Turn, statement_features

MODES = ("over-generalised", "missing-evidence", "task-context", "not-standalone")
DIGITS = 6  # of a probability: the last bits depend on how many texts are embedded at once
_PRINTED = ("personafit.verifier", 1)  # part of the fingerprint, whatever the file's format is

Label = Literal["accepted", "unsure", "rejected"]


@dataclass(frozen=True)
class VerifierWeights:
    """A linear function of scaled features."""

    means: tuple[float, ...]
    scales: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float

    def of(self, rows: Floats) -> Floats:
        """Its value for each row, which does not depend on the other rows."""
        scaled = (rows - np.array(self.means)) / np.array(self.scales)
        values: Floats = (scaled * np.array(self.weights)).sum(axis=1) + self.bias
        return values


@dataclass(frozen=True)
class Judged:
    """What a verifier says of one statement."""

    score: float
    """Probability that people would not simply accept it."""
    label: Label
    mode: str
    """What is likely wrong with it, whatever the label; one of `MODES`."""


@dataclass(frozen=True, eq=False)
class Verifier(FittedModel):
    """Statements are unsure from `suspect` on and rejected from `reject` on."""

    problem: VerifierWeights
    modes: Mapping[str, VerifierWeights]
    suspect: float
    reject: float
    embedder: str = DEFAULT
    embedder_fingerprint: str = ""

    answers = "attribute"

    def judge(self, turns: Sequence[Turn], statements: Sequence[str]) -> list[Judged]:
        """Judge statements about the user of one conversation, which must be whole: what the assistant said counts too."""
        return self.judge_rows(statement_features(turns, statements, self._embedder))

    def judge_rows(self, rows: Floats) -> list[Judged]:
        """Judge rows of features."""
        names = list(self.modes)
        likely = np.stack([self.modes[name].of(rows) for name in names]).argmax(axis=0) if len(rows) else []
        return [
            Judged(score, self.label(score), names[int(mode)])
            for score, mode in zip(self.scores(rows), likely, strict=True)
        ]

    def scores(self, rows: Floats) -> list[float]:
        """Probabilities of rows of features."""
        logits = np.clip(self.problem.of(rows), -30, 30)
        return [round(float(1 / (1 + math.exp(-value))), DIGITS) for value in logits]

    def label(self, score: float) -> Label:
        """What a score is called."""
        return "rejected" if score >= self.reject else "unsure" if score >= self.suspect else "accepted"

    @cached_property
    def _embedder(self) -> Embedder:
        return make_known_embedder(self.embedder, self.embedder_fingerprint)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that can change a verdict."""
        return content_hash([*_PRINTED, self.numbers])

    @property
    def numbers(self) -> dict[str, Any]:
        """VerifierWeights of named features and two thresholds."""
        return {
            "problem": _table(self.problem),
            "modes": {mode: _table(weights) for mode, weights in self.modes.items()},
            "suspect": self.suspect,
            "reject": self.reject,
            "embedder": self.embedder,
            "embedder_fingerprint": self.embedder_fingerprint,
        }

    @classmethod
    def of(cls, numbers: Mapping[str, Any], arrays: Mapping[str, Any], **kept: Any) -> "Verifier":
        """The verifier of what a file holds."""
        return cls(
            problem=_weights(numbers["problem"]),
            modes={str(mode): _weights(table) for mode, table in numbers["modes"].items()},
            suspect=float(numbers["suspect"]),
            reject=float(numbers["reject"]),
            embedder=str(numbers["embedder"]),
            embedder_fingerprint=str(numbers["embedder_fingerprint"]),
            **kept,
        )

    def check(self) -> None:
        """Its embedder must be there."""
        _ = self._embedder


def _table(weights: VerifierWeights) -> dict[str, Any]:
    rows = zip(FEATURES, weights.means, weights.scales, weights.weights, strict=True)
    features = {name: {"mean": mean, "scale": scale, "weight": weight} for name, mean, scale, weight in rows}
    return {"bias": weights.bias, "features": features}


def _weights(table: Mapping[str, Any]) -> VerifierWeights:
    features = table["features"]
    if tuple(features) != FEATURES:
        raise ValueError("its features are not those of this program")
    columns = [tuple(float(row[key]) for row in features.values()) for key in ("mean", "scale", "weight")]
    weights = VerifierWeights(columns[0], columns[1], columns[2], float(table["bias"]))
    numbers = (*weights.means, *weights.weights, weights.bias)
    if not all(map(math.isfinite, (*numbers, *weights.scales))) or min(weights.scales) <= 0:
        raise ValueError("a number in it is not finite or a scale is not positive")
    return weights
