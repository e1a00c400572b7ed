"""Scores of candidate answers with what their length alone explains taken out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

LEAST_PROMPTS = 10  # with fewer, the line through the scores would follow the scores instead of the lengths


@dataclass(frozen=True)
class LengthControl:
    """The adjusted scores, and how scores go with length within a prompt."""

    adjusted: NDArray[np.float64]
    slope: float | None
    """Points of score per doubling of the length; None where too few prompts tell."""
    explained: float | None
    """Share of the scores' variance within prompts that length explains."""


def length_controlled(scores: ArrayLike, lengths: ArrayLike, prompts: ArrayLike) -> LengthControl:
    """Residuals of scores on the log of the length, one line for all prompts, each prompt around its own mean.

    Only differences within a prompt count: that some questions get longer and better answers is no bias.
    """
    score = np.asarray(scores, dtype=np.float64)
    size = np.log2(1.0 + np.asarray(lengths, dtype=np.float64))
    _, codes = np.unique(np.asarray(prompts), return_inverse=True)
    counts = np.bincount(codes)
    if int((counts > 1).sum()) < LEAST_PROMPTS:
        return LengthControl(score, None, None)
    apart = size - (np.bincount(codes, weights=size) / counts)[codes]
    around = score - (np.bincount(codes, weights=score) / counts)[codes]
    spread, both, varied = float(apart @ apart), float(apart @ around), float(around @ around)
    if spread == 0.0 or varied == 0.0:
        return LengthControl(score, 0.0, 0.0)
    slope = both / spread
    return LengthControl(score - slope * apart, slope, both**2 / (spread * varied))
