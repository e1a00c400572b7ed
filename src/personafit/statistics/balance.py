"""Whether a part of some items looks drawn at random from all of them.

The test is by randomization: under a random draw without replacement the counts of a part over categories (and over scores) follow
the multivariate hypergeometric distribution, whatever the items are like and however they cluster. It is exact, up to the number of
draws, and needs no model. Several factors are tested together and their p-values are adjusted by Holm's method.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from personafit.statistics.decisions import holm

DRAWS = 1_999
LEVEL = 0.05
EXPECTED = 3.0  # labels a category should have had before it is said to have none


@dataclass(frozen=True)
class Imbalance:
    """One factor by which the part differs from a random draw."""

    factor: str
    p_value: float
    """Adjusted for all factors looked at."""
    present: tuple[str, ...]
    """Categories the part has items of."""
    absent: tuple[str, ...]
    """Categories of which a random draw would have brought several and the part has none."""


def imbalances(
    drawn: ArrayLike, factors: Mapping[str, ArrayLike], scores: Mapping[str, ArrayLike], seed: int = 0
) -> list[Imbalance]:
    """The factors (categories) and scores (numbers) over which the drawn items are not spread as a random draw spreads them.

    `drawn` says which items are in the part. A factor with one category, or a part that is empty or everything, tests nothing.
    """
    part = np.asarray(drawn, dtype=bool)
    size = int(part.sum())
    if not 0 < size < len(part):
        return []
    rng = np.random.default_rng(seed)
    found: list[tuple[str, float, tuple[str, ...], tuple[str, ...]]] = []
    for name, values in (*factors.items(), *scores.items()):
        categories, codes = np.unique(np.asarray(values), return_inverse=True)
        counts = np.bincount(codes)
        if len(counts) < 2:
            continue
        ours = np.bincount(codes[part], minlength=len(counts))
        draws = rng.multivariate_hypergeometric(counts, size, DRAWS, method="marginals")
        expected = size * counts / len(part)
        if name in scores:
            numbers = categories.astype(np.float64)
            distance = np.abs((draws - expected) @ numbers)
            own = abs(float((ours - expected) @ numbers))
        else:
            distance = ((draws - expected) ** 2 / expected).sum(axis=1)
            own = float(((ours - expected) ** 2 / expected).sum())
        p_value = (1 + int((distance >= own * (1 - 1e-9)).sum())) / (DRAWS + 1)
        present = tuple(str(one) for one in categories[ours > 0])
        absent = tuple(str(one) for one in categories[(ours == 0) & (expected >= EXPECTED)])
        found.append((name, p_value, present, absent))
    adjusted = holm([p_value for _, p_value, _, _ in found])
    return [
        Imbalance(name, p, present, absent)
        for (name, _, present, absent), p in zip(found, adjusted, strict=True)
        if p is not None and p < LEVEL
    ]
