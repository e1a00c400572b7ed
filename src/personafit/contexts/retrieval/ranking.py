"""From scores to places: the best few of many, and several rankings made into one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

RANK_OFFSET = 60  # of reciprocal rank fusion: how little the very first places are preferred


def best(scores: NDArray[Any], count: int) -> list[int]:
    """Places of the highest scores, best first; of equal scores the earlier place comes first."""
    if count >= len(scores):
        return [int(place) for place in np.lexsort((np.arange(len(scores)), -scores))]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    places = np.flatnonzero(scores >= least)
    return [int(place) for place in places[np.lexsort((places, -scores[places]))][:count]]


def fused(rankings: Sequence[Sequence[int]]) -> list[int]:
    """One ranking of several by reciprocal rank; of equal sums the earlier place comes first."""
    sums: dict[int, float] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking, 1):
            sums[place] = sums.get(place, 0.0) + 1.0 / (RANK_OFFSET + rank)
    return sorted(sums, key=lambda place: (-sums[place], place))
