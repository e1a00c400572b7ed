"""Which found statement says the same as which known one: a stated rule, because precision and recall rest on it.

Each statement loses its frame ("The user …"), the cosine of every found and every known statement of a person is taken, and
the one-to-one assignment with the greatest sum is made among pairs at `SAME` or above. `SAME` and what the rule is worth were
measured on our own labelled pairs (docs/measurements/extraction.md); it errs both ways, so recall and precision carry its error.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from personafit.models.embeddings import Embedder

SAME = 0.45  # cosine from which on two statements about one person may say the same
_FRAME = re.compile(r"^\s*(?:the|this) user(?:['’]s)?\s+|^\s*(?:该|这位|此)?用户的?", re.IGNORECASE)

Floats = NDArray[np.float64]


def likeness(found: Sequence[str], known: Sequence[str], embedder: Embedder) -> Floats:
    """The cosine of every found and every known statement, frames left off."""
    if not found or not known:
        return np.zeros((len(found), len(known)))
    bare = [_FRAME.sub("", text) or text for text in (*found, *known)]
    vectors = embedder.embed(bare).astype(np.float64)
    cosines: Floats = vectors[: len(found)] @ vectors[len(found) :].T
    return cosines


def assign(cosines: Floats, same: float = SAME) -> list[int | None]:
    """For each found statement the place of the known one it says the same as, if any; no known one is taken twice."""
    from scipy.optimize import linear_sum_assignment

    taken: list[int | None] = [None] * len(cosines)
    if cosines.size:
        worth = np.where(cosines >= same, cosines, 0.0)
        for row, column in zip(*linear_sum_assignment(worth, maximize=True), strict=True):
            if worth[row, column] > 0:
                taken[int(row)] = int(column)
    return taken


def match_known(found: Sequence[str], known: Sequence[str], embedder: Embedder) -> list[int | None]:
    """The rule on one person's statements."""
    return assign(likeness(found, known, embedder))
